/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of an image file to rows of u8 or u16 pixels: JPEG, PNG, WebP, GIF and BMP behind one door.
 *
 *     begin -> rows, rows, ... -> end         one picture at a time, one decoder per worker
 *
 * Baseline JPEG, plain PNG, lossy WebP and plain BMP stream: no whole picture is held. Interlaced PNG, other WebP, GIF, RLE BMP
 * and pictures that must be turned are decoded whole into the decoder's arena first, or straight into the
 * caller's memory when the first call asks for all rows.
 *
 * What a row holds: gray (1), RGB (3) or RGBA (4), 8 bits a channel, top row first.
 *   gray from RGB    (19595 R + 38470 G + 7471 B + 32768) >> 16; for a YCbCr JPEG its Y plane
 *   RGB from gray    replicated
 *   alpha            dropped for 1 and 3 channels, never blended; 255 where the file has none
 *   16 bits          the high byte; with options.deep all of it, as u16 in the host's order, with the same rules for
 *                    channels. Files of 8 bits are then widened by 257, so that a mixed folder is of one type
 *   CMYK             r = k c / 255 with an Adobe marker, else (255 - k)(255 - c) / 255
 *   animations       the first frame, on a canvas of zeros
 *   options.indices  what a PNG with a palette stores, and gray pictures as they are: the numbers of classes that masks
 *                    hold. Colours without a palette, and palettes of other formats, are refused
 *
 * Damage is an error (LEAT_ERR_DECODE), never a warning and a gray area; a file that ends before its own end
 * mark is damaged, and begin refuses it (ends.c). What a valid file needs and a codec lacks is LEAT_ERR_UNSUPPORTED. Messages are one line
 * that begins with the codec's name and holds no file name. */
#ifndef LEAT_DECODE_DECODE_H
#define LEAT_DECODE_DECODE_H

#include "base/mem.h"

#define LEAT_DECODE_PIXELS_MAX ((uint64_t)1 << 27) /* 134 million */
#define LEAT_DECODE_SIDE_MAX 65535
#define LEAT_DECODE_SCANS_MAX 100
#define LEAT_DECODE_MEMORY_MAX ((size_t)1 << 30)

typedef enum leat__codec {
    LEAT_CODEC_UNKNOWN,
    LEAT_CODEC_JPEG,
    LEAT_CODEC_PNG,
    LEAT_CODEC_WEBP,
    LEAT_CODEC_GIF,
    LEAT_CODEC_BMP,
    LEAT_CODEC_COUNT
} leat__codec;

/* By content; a file's name does not matter. */
leat__codec leat__codec_detect(const uint8_t *bytes, size_t n);
/* "jpeg", "png", ...; "unknown". */
const char *leat__codec_name(leat__codec codec);
/* The library that decodes what our own decoder of this codec does not take; NULL: we have none. */
const char *leat__codec_library(leat__codec codec);

/* Notes on a JPEG that our own decoder decodes: where in its scan some MCUs begin. With them a region of the picture is
 * decoded without reading what lies above and beside it. They are a block of bytes with a hash over the block and the whole
 * file (jpeg_positions.h). A block that is damaged, cut off or made for another file is ignored, and pixels are the same with
 * positions and without. */
typedef struct leat__decode_positions {
    uint64_t key;     /* leat__jpeg_store_key of the file's bytes                                    */
    leat__buf *block; /* what is known, size 0 = nothing. When the picture ends, with what was found out */
    size_t bytes_max; /* of a block that says all; only the beginnings of rows if more would be more     */
    /* Set when the picture ends: */
    bool changed;     /* positions were added to the block                                          */
    bool refused;     /* the block was damaged or made for another file                         */
    size_t bytes_all; /* of a block that says all; 0: this picture has no use for positions         */
} leat__decode_positions;
/* Two files with the same key are the same file. */
uint64_t leat__jpeg_store_key(const uint8_t *bytes, size_t n);

typedef struct leat__picture_info leat__picture_info;
/* Called once, when the size of a picture is known: 1, 2, 4 or 8, or a negative code with its message. A JPEG then comes as
 * libjpeg-turbo makes it at 1/1, 1/2, 1/4 or 1/8, sizes rounded up. Pictures of other formats stay as they are. */
typedef int leat__decode_scale_fn(void *user, const leat__picture_info *info, leat_error *err);

typedef struct leat__decode_options {  /* zeroed = defaults                                         */
    int channels;                      /* 0 = as stored (1, 3 or 4), 1, 3, 4                        */
    bool orient;                       /* apply the EXIF orientation; default off                   */
    bool fast;                         /* JPEG: the fast integer IDCT, as TensorFlow; default off   */
    bool deep;                         /* rows of u16, two bytes a channel; default off             */
    bool reference;                    /* JPEG, PNG, WebP: by their libraries alone; default off    */
    bool indices;                      /* one channel: a PNG's palette is left alone; default off   */
    uint64_t pixels_max;               /* 0 = LEAT_DECODE_PIXELS_MAX                                */
    int side_max;                      /* 0 = LEAT_DECODE_SIDE_MAX                                  */
    int scans_max;                     /* 0 = LEAT_DECODE_SCANS_MAX; of a progressive JPEG          */
    size_t memory_max;                 /* 0 = LEAT_DECODE_MEMORY_MAX; of the arena, for one picture */
    leat__decode_positions *positions; /* NULL = none; lives as long as the picture                 */
    leat__decode_scale_fn *scale;      /* NULL = 1; not asked by leat__decode_info                  */
    void *scale_user;
} leat__decode_options;

struct leat__picture_info {
    leat__codec codec;
    int width, height;   /* as the rows come out: turned if options.orient, scaled    */
    int scale;           /* sizes were divided by it: 1, 2, 4 or 8                    */
    int channels;        /* of the rows                                               */
    int dtype;           /* of the rows: LEAT_DTYPE_U8, or LEAT_DTYPE_U16 if options.deep */
    int stored_channels; /* 1 gray, 2 gray and alpha, 3 RGB, 4 RGBA or CMYK           */
    int bits;            /* of one stored channel, or of a palette's index            */
    int orientation;     /* what EXIF says, 1 to 8; 1 if nothing; told even if unused */
    bool progressive;    /* progressive JPEG, interlaced PNG or GIF                   */
    const char *detour; /* why its header keeps a JPEG, PNG or WebP from our own decoder, or NULL; lives on */
};

typedef struct leat__decoder leat__decoder;

/* Created once per worker and reused for every image: what a picture decodes to does not depend on the
 * pictures before it. NULL without memory. */
leat__decoder *leat__decoder_new(leat_error *err);
/* Frees and nulls; NULL is fine, and so is a picture that was not ended. */
void leat__decoder_free(leat__decoder **decoder);

/* Reads the header only. Not between begin and end. options may be NULL. */
int leat__decode_info(leat__decoder *decoder, const uint8_t *bytes, size_t n,
                      const leat__decode_options *options, leat__picture_info *info, leat_error *err);
/* Begins a picture; bytes stay valid until end. After a failure there is nothing to end. */
int leat__decode_begin(leat__decoder *decoder, const uint8_t *bytes, size_t n,
                       const leat__decode_options *options, leat__picture_info *info, leat_error *err);
/* Where rows are best written that are read again at once: libjpeg-turbo stores past the caches when a row begins at a
 * multiple of 16, and the reader then waits for memory. */
#define LEAT_DECODE_SKEW 8

typedef struct leat__box {
    int x, y, width, height;
} leat__box;
/* After begin and before the first row: only this part of the picture is wanted. Rows are then those of the box, and
 * byte for byte what cutting it out of the whole picture would give. What lies below it is not read, and what lies
 * above and beside it is decoded only as far as the codec must. */
int leat__decode_region(leat__decoder *decoder, const leat__box *box, leat_error *err);
/* After begin and region, before the first row: may rows of three channels of u8 come as planes, which begin `apart` bytes
 * after one another, a multiple of 32 and no less than the width? Bytes between the planes may then be written. Where it
 * says no, which is for all but JPEGs of our own decoder, rows are as always. */
bool leat__decode_planes(leat__decoder *decoder, size_t apart);
/* The next n_rows rows, in order, the first at dst. After a failure the picture's content is lost: further
 * calls fail in the same way, and so does end. */
int leat__decode_rows(leat__decoder *decoder, uint8_t *dst, ptrdiff_t stride, int n_rows, leat_error *err);
/* Always called after a successful begin. When all rows were read it also checks that the file ends as it
 * should; otherwise what lies below the rows that were read is not looked at. */
int leat__decode_end(leat__decoder *decoder, leat_error *err);

/* The arena's high-water mark and growth, see base/mem.h. Adopt only while no picture is open. */
size_t leat__decoder_high(const leat__decoder *decoder);
bool leat__decoder_adopt(leat__decoder *decoder, size_t high);
/* Gives memory back that pictures of more than most bytes have left behind. Only while no picture is open. */
void leat__decoder_trim(leat__decoder *decoder, size_t most);
/* Whether memory_max was too small for the last picture: with more of it, decoding may succeed. */
bool leat__decoder_wants_more(const leat__decoder *decoder);
uint32_t leat__decoder_grown(const leat__decoder *decoder);

#endif
