/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the room: the functions of a codec that decode.c calls, and what the codecs share. */
#ifndef LEAT_DECODE_CODEC_H
#define LEAT_DECODE_CODEC_H

#include "decode/decode.h"

#define LEAT_TRUNCATED "premature end of data: the file is truncated"

typedef struct leat__decode_job { /* one picture                                              */
    const uint8_t *bytes;
    size_t n;
    leat__decode_options options; /* every default filled in                                  */
    leat__picture_info info;      /* as stored, not turned                                    */
    leat__arena *arena;           /* lives until the picture ends                             */
    bool whole;                   /* the codec gives all rows in one call, with a stride > 0  */
    bool deep;                    /* its rows are u16; set only if options.deep asks for it   */
    size_t scan;                  /* JPEG: where the first scan begins, behind its header     */
    bool several;                 /* JPEG: that scan is not all of the picture                */
    bool ends;                    /* PNG: its chunks lead to IEND                             */
} leat__decode_job;

/* The life of a picture: header, [begin, rows...], end. A function that fails leaves the codec such that only
 * end may follow; a failed header needs no end. err is never NULL. */
typedef struct leat__codec_ops {
    const char *name;
    bool scales;        /* rows come at 1 / job->info.scale                     */
    size_t state_bytes; /* zeroed, one per decoder; 0 = none                    */
    int (*init)(void *state, leat__arena *arena, leat_error *err); /* may be NULL   */
    void (*destroy)(void *state);                                  /* may be NULL   */
    /* Fills in job->info (channels: what "as stored" means) and job->whole. Allocates nothing of a size that
     * the file gives: limits are checked afterwards. */
    int (*header)(void *state, leat__decode_job *job, leat_error *err);
    /* job->info.channels now holds what the rows shall have; width and height are divided by job->info.scale. */
    int (*begin)(void *state, leat__decode_job *job, leat_error *err);
    /* May be NULL. Before the first row: the codec skips what is outside the box, as far as it can. Sets *taken to the part
     * that rows will hold: no row above box->y, all rows from there on, columns that cover those of the box. A codec that
     * gives all rows in one call then gives those of *taken, which covers the box. */
    int (*region)(void *state, leat__decode_job *job, const leat__box *box, leat__box *taken,
                  leat_error *err);
    /* May be NULL. Before the first row, with 3 channels of u8: whether rows will be planes, so far apart. */
    bool (*planes)(void *state, leat__decode_job *job, size_t apart);
    int (*rows)(void *state, leat__decode_job *job, uint8_t *dst, ptrdiff_t stride, int n_rows,
                leat_error *err);
    /* complete: all rows were handed out, so the end of the file is checked. Releases everything in any case. */
    int (*end)(void *state, leat__decode_job *job, bool complete, leat_error *err);
} leat__codec_ops;

extern const leat__codec_ops leat__codec_jpeg, leat__codec_png, leat__codec_webp, leat__codec_gif,
    leat__codec_bmp;

/* A piece of the picture's arena for count * size bytes; NULL with a message: LEAT_ERR_LIMIT when
 * options.memory_max forbids it, LEAT_ERR_MEMORY when there is none. */
void *leat__decode_alloc(leat__decode_job *job, size_t count, size_t size, leat_error *err);
/* The message of that, for codecs that allocate through hooks of their own. */
int leat__decode_alloc_failed(const leat__arena *arena, const char *codec, size_t bytes, leat_error *err);

/* After the header: whether the file has its own end (ends.c). False: it was cut off, so it is damaged. */
bool leat__decode_has_end(const leat__decode_job *job);

/* The orientation (1 to 8) that a TIFF structure, as EXIF uses it, tells in its first directory; else 1. */
int leat__exif_orientation(const uint8_t *tiff, size_t n);
/* The same for the bytes of an EXIF block that may begin with "Exif\0\0". */
int leat__exif_block_orientation(const uint8_t *block, size_t n);

/* n pixels from src_channels (1 gray, 2 gray and alpha, 3, 4) to dst_channels (1, 3, 4); no overlap. */
void leat__channels_convert(uint8_t *dst, int dst_channels, const uint8_t *src, int src_channels, size_t n);
/* The same of u16 in the host's order, at any address. */
void leat__channels_convert_deep(uint8_t *dst, int dst_channels, const uint8_t *src, int src_channels,
                                 size_t n);
/* n RGB pixels to three planes that begin `apart` bytes after one another. */
void leat__channels_part(uint8_t *dst, size_t apart, const uint8_t *src, size_t n);
/* n bytes become n u16 in place, times 257: 255 becomes 65535. */
void leat__channels_widen(uint8_t *row, size_t n);
/* One opaque or transparent colour as dst_channels bytes. */
void leat__channels_pixel(uint8_t *dst, int dst_channels, const uint8_t rgba[4]);
/* n pixels from indices by a table of 256 entries of 4 bytes, of which the first dst_channels count: see
 * leat__channels_pixel. */
void leat__channels_lookup(uint8_t *dst, int dst_channels, const uint8_t *indices, const uint8_t *table,
                           size_t n);

static inline uint8_t leat__gray_of(unsigned r, unsigned g, unsigned b) {
    return (uint8_t)((19595 * r + 38470 * g + 7471 * b + 32768) >> 16);
}
static inline uint32_t leat__load_be32(const uint8_t *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

#endif
