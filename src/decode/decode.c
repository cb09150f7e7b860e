/* SPDX-License-Identifier: Apache-2.0 */
/* The entry to the room: chooses the codec, checks the limits, and gives rows in the order and orientation asked
 * for. A codec either streams its rows or gives all of them in one call (job.whole); in the second case, and
 * when the picture must be turned, the picture, or what the codec gives for the part of it, is held in the arena.
 *
 * The first failure of a picture is kept, because the caller may meet it again at end; codecs therefore
 * always have a place for their message. */
#include "decode/codec.h"
#include "decode/jpeg/reencode.h"

#include <limits.h>
#include <stdlib.h>

static const leat__codec_ops *const codecs[LEAT_CODEC_COUNT] = {
    [LEAT_CODEC_JPEG] = &leat__codec_jpeg, [LEAT_CODEC_PNG] = &leat__codec_png,
    [LEAT_CODEC_WEBP] = &leat__codec_webp, [LEAT_CODEC_GIF] = &leat__codec_gif,
    [LEAT_CODEC_BMP] = &leat__codec_bmp,
};

struct leat__decoder {
    leat__arena arena;
    void *state[LEAT_CODEC_COUNT];
    leat__reencoder *reencoder;
    const leat__codec_ops *ops; /* of the open picture, NULL when there is none      */
    leat__decode_job job;
    leat__picture_info shown; /* job.info as the caller sees it: turned            */
    int orientation;          /* to apply: 1 unless options.orient                 */
    int next_row;
    uint8_t *picture; /* in the arena, taken as stored; NULL until it is needed */
    bool boxed;       /* only box is wanted                                */
    leat__box box;
    leat__box taken; /* what the codec's rows hold, as stored: at least the box's columns */
    int skipped;     /* rows above the box that are still to be read      */
    uint8_t *line;   /* in the arena: one row of what is taken            */
    leat_error failure;
};

/* ------------------------------------------------------------------------------------------ what is it */

leat__codec leat__codec_detect(const uint8_t *bytes, size_t n) {
    if (n >= 3 && memcmp(bytes, "\xff\xd8\xff", 3) == 0) return LEAT_CODEC_JPEG;
    if (n >= 8 && memcmp(bytes, "\x89PNG\r\n\x1a\n", 8) == 0) return LEAT_CODEC_PNG;
    if (n >= 12 && memcmp(bytes, "RIFF", 4) == 0 && memcmp(bytes + 8, "WEBP", 4) == 0) return LEAT_CODEC_WEBP;
    if (n >= 6 && (memcmp(bytes, "GIF87a", 6) == 0 || memcmp(bytes, "GIF89a", 6) == 0)) return LEAT_CODEC_GIF;
    if (n >= 2 && memcmp(bytes, "BM", 2) == 0) return LEAT_CODEC_BMP;
    return LEAT_CODEC_UNKNOWN;
}

const char *leat__codec_name(leat__codec codec) {
    return codec > LEAT_CODEC_UNKNOWN && codec < LEAT_CODEC_COUNT ? codecs[codec]->name : "unknown";
}

const char *leat__codec_library(leat__codec codec) {
    static const char *const libraries[LEAT_CODEC_COUNT] = {
        [LEAT_CODEC_JPEG] = "libjpeg-turbo", [LEAT_CODEC_PNG] = "libpng", [LEAT_CODEC_WEBP] = "libwebp"};
    return libraries[codec];
}

/* People meet these in folders of images; naming them saves a search. */
static const struct {
    const char *name;
    uint8_t at, n;
    const char *magic;
} foreign[] = {
    {"TIFF", 0, 4, "II*\0"},   {"TIFF", 0, 4, "MM\0*"},     {"AVIF", 4, 8, "ftypavif"},
    {"HEIF", 4, 7, "ftyphei"}, {"HEIF", 4, 8, "ftypmif1"},  {"JPEG XL", 0, 2, "\xff\x0a"},
    {"JPEG XL", 4, 4, "JXL "}, {"JPEG 2000", 4, 4, "jP  "}, {"Photoshop", 0, 4, "8BPS"},
    {"PDF", 0, 5, "%PDF-"},    {"icon", 0, 4, "\0\0\1\0"},  {"gzip", 0, 2, "\x1f\x8b"},
    {"zip", 0, 4, "PK\3\4"},   {"HTML", 0, 9, "<!DOCTYPE"}, {"HTML", 0, 5, "<html"},
    {"SVG", 0, 4, "<svg"},
};

static int fail_unknown(const uint8_t *bytes, size_t n, leat_error *err) {
    if (n == 0) return leat__fail(err, LEAT_ERR_DECODE, "not an image: the file is empty");
    for (size_t i = 0; i < LEAT_COUNT(foreign); i++) {
        if (n >= (size_t)foreign[i].at + foreign[i].n &&
            memcmp(bytes + foreign[i].at, foreign[i].magic, foreign[i].n) == 0)
            return leat__fail(err, LEAT_ERR_UNSUPPORTED,
                              "this is a %s file; leat decodes JPEG, PNG, WebP, GIF and BMP",
                              foreign[i].name);
    }
    char hex[3 * 8 + 1] = "";
    for (size_t i = 0; i < LEAT_MIN(n, (size_t)8); i++) {
        static const char digits[] = "0123456789abcdef";
        hex[3 * i] = ' ', hex[3 * i + 1] = digits[bytes[i] >> 4], hex[3 * i + 2] = digits[bytes[i] & 15];
    }
    return leat__fail(err, LEAT_ERR_DECODE, "not a JPEG, PNG, WebP, GIF or BMP file: it begins with%s", hex);
}

/* --------------------------------------------------------------------------------------------- memory */

int leat__decode_alloc_failed(const leat__arena *arena, const char *codec, size_t bytes, leat_error *err) {
    if (!leat__arena_allows(arena, bytes))
        return leat__fail(err, LEAT_ERR_LIMIT,
                          "%s: the picture needs %zu bytes and %zu more; the limit is %zu", codec,
                          arena->used, bytes, arena->limit);
    leat__fail_memory(err, bytes, "pixels");
    leat__error_prefix(err, "%s: ", codec);
    return LEAT_ERR_MEMORY;
}

void *leat__decode_alloc(leat__decode_job *job, size_t count, size_t size, leat_error *err) {
    size_t bytes;
    if (!leat__mul_size(count, size, &bytes)) bytes = SIZE_MAX;
    void *piece = leat__arena_alloc(job->arena, bytes);
    if (!piece) leat__decode_alloc_failed(job->arena, leat__codec_name(job->info.codec), bytes, err);
    return piece;
}

leat__decoder *leat__decoder_new(leat_error *err) {
    leat__decoder *decoder = leat__alloc(LEAT_MEM_WORKER, sizeof *decoder);
    if (!decoder) {
        leat__fail_memory(err, sizeof *decoder, "decoder");
        return NULL;
    }
    decoder->arena.kind = LEAT_MEM_WORKER;
    for (int i = LEAT_CODEC_UNKNOWN + 1; i < LEAT_CODEC_COUNT; i++) {
        const leat__codec_ops *ops = codecs[i];
        if (!ops->state_bytes) continue;
        void *state = leat__alloc(LEAT_MEM_WORKER, ops->state_bytes);
        if (!state) {
            leat__fail_memory(err, ops->state_bytes, "decoder");
            goto fail;
        }
        if (ops->init && ops->init(state, &decoder->arena, &decoder->failure) < 0) {
            if (err) *err = decoder->failure;
            leat__free(state);
            goto fail;
        }
        decoder->state[i] = state;
    }
    decoder->reencoder = leat__reencoder_new(&decoder->arena, err);
    if (!decoder->reencoder) goto fail;
    return decoder;
fail:
    leat__decoder_free(&decoder);
    return NULL;
}

void leat__decoder_free(leat__decoder **decoder) {
    leat__decoder *d = *decoder;
    if (!d) return;
    if (d->ops) leat__decode_end(d, NULL);
    for (int i = LEAT_CODEC_UNKNOWN + 1; i < LEAT_CODEC_COUNT; i++) {
        if (d->state[i] && codecs[i]->destroy) codecs[i]->destroy(d->state[i]);
        leat__free(d->state[i]);
    }
    leat__reencoder_free(&d->reencoder);
    leat__arena_free(&d->arena);
    leat__free(d);
    *decoder = NULL;
}

size_t leat__decoder_high(const leat__decoder *decoder) {
    return decoder->arena.high;
}

bool leat__decoder_adopt(leat__decoder *decoder, size_t high) {
    return decoder->ops ? false : leat__arena_adopt(&decoder->arena, high);
}

void leat__decoder_trim(leat__decoder *decoder, size_t most) {
    if (!decoder->ops && decoder->arena.high > most) leat__arena_free(&decoder->arena);
}

bool leat__decoder_wants_more(const leat__decoder *decoder) {
    return decoder->arena.refused;
}

uint32_t leat__decoder_grown(const leat__decoder *decoder) {
    return decoder->arena.grown;
}

leat__reencoder *leat__decoder_reencoder(leat__decoder *decoder) {
    return decoder->ops ? NULL : decoder->reencoder;
}

/* ------------------------------------------------------------------------------------- begin and end */

static int check_options(const leat__decode_options *options, leat_error *err) {
    const int c = options->channels;
    if (c != 0 && c != 1 && c != 3 && c != 4)
        return leat__fail(err, LEAT_ERR_ARGUMENT, "decode: channels must be 0, 1, 3 or 4, not %d", c);
    if (options->side_max < 0 || options->scans_max < 0)
        return leat__fail(err, LEAT_ERR_ARGUMENT, "decode: a limit is negative");
    return 0;
}

static leat__decode_options with_defaults(leat__decode_options o) {
    if (!o.pixels_max) o.pixels_max = LEAT_DECODE_PIXELS_MAX;
    if (!o.side_max) o.side_max = LEAT_DECODE_SIDE_MAX;
    if (!o.scans_max) o.scans_max = LEAT_DECODE_SCANS_MAX;
    if (!o.memory_max) o.memory_max = LEAT_DECODE_MEMORY_MAX;
    return o;
}

static int check_size(const leat__decode_job *job, leat_error *err) {
    const char *name = leat__codec_name(job->info.codec);
    const int w = job->info.width, h = job->info.height;
    if (w < 1 || h < 1)
        return leat__fail(err, LEAT_ERR_DECODE, "%s: the picture is %d x %d pixels", name, w, h);
    if (w > job->options.side_max || h > job->options.side_max)
        return leat__fail(err, LEAT_ERR_LIMIT, "%s: %d x %d pixels; the limit is %d a side", name, w, h,
                          job->options.side_max);
    if ((uint64_t)w * (uint64_t)h > job->options.pixels_max)
        return leat__fail(err, LEAT_ERR_LIMIT, "%s: %d x %d = %" PRIu64 " pixels; the limit is %" PRIu64,
                          name, w, h, (uint64_t)w * (uint64_t)h, job->options.pixels_max);
    return 0;
}

/* Ends the open picture whatever its condition, and gives its memory back. */
static int close_picture(leat__decoder *d, bool complete, leat_error *err) {
    const leat__codec_ops *ops = d->ops;
    d->ops = NULL;
    const int rc = ops->end(d->state[d->job.info.codec], &d->job, complete, err);
    d->picture = NULL;
    leat__arena_reset(&d->arena);
    return rc;
}

/* Until a region is asked for. */
static void take_all(leat__decoder *d) {
    d->box = (leat__box){.width = d->shown.width, .height = d->shown.height};
    d->taken = (leat__box){.width = d->job.info.width, .height = d->job.info.height};
}

/* Up to the header and the limits. On success the picture is open. */
static int open_picture(leat__decoder *d, const uint8_t *bytes, size_t n, const leat__decode_options *options,
                        leat_error *err) {
    static const leat__decode_options defaults;
    if (!options) options = &defaults;
    assert(!d->ops);
    LEAT_TRY(check_options(options, err));
    const leat__codec codec = leat__codec_detect(bytes, n);
    if (codec == LEAT_CODEC_UNKNOWN) return fail_unknown(bytes, n, err);

    leat__arena_reset(&d->arena);
    d->job =
        (leat__decode_job){.bytes = bytes, .n = n, .options = with_defaults(*options), .arena = &d->arena};
    d->job.info.codec = codec;
    d->job.info.orientation = d->job.info.scale = 1;
    d->arena.limit = d->job.options.memory_max;
    d->arena.refused = false;
    const int rc = codecs[codec]->header(d->state[codec], &d->job, err);
    if (rc < 0) {
        leat__arena_reset(&d->arena);
        return rc;
    }
    d->ops = codecs[codec];
    int checked = check_size(&d->job, err);
    if (checked == 0 && d->job.options.indices && d->job.info.channels != 1)
        checked =
            leat__fail(err, LEAT_ERR_UNSUPPORTED,
                       "%s: palette=index wants a gray picture or a PNG with a palette, this one has colours",
                       leat__codec_name(codec));
    if (checked < 0) {
        leat_error ignored;
        close_picture(d, false, &ignored);
        return checked;
    }
    if (options->channels) d->job.info.channels = options->channels;
    d->job.info.dtype = options->deep ? LEAT_DTYPE_U16 : LEAT_DTYPE_U8;
    d->shown = d->job.info;
    d->orientation = options->orient ? d->job.info.orientation : 1;
    if (d->orientation >= 5) {
        d->shown.width = d->job.info.height;
        d->shown.height = d->job.info.width;
    }
    d->next_row = 0;
    d->boxed = false;
    take_all(d);
    leat__error_clear(&d->failure);
    return 0;
}

int leat__decode_info(leat__decoder *d, const uint8_t *bytes, size_t n, const leat__decode_options *options,
                      leat__picture_info *info, leat_error *err) {
    leat_error local;
    if (!err) err = &local;
    LEAT_TRY(open_picture(d, bytes, n, options, err));
    *info = d->shown;
    return close_picture(d, false, err);
}

static void scale_down(leat__picture_info *info, int scale) {
    info->width = (info->width + scale - 1) / scale;
    info->height = (info->height + scale - 1) / scale;
    info->scale = scale;
}

static int choose_scale(leat__decoder *d, leat_error *err) {
    const leat__decode_options *options = &d->job.options;
    if (!options->scale) return 0;
    const int scale = options->scale(options->scale_user, &d->shown, err);
    if (scale < 0 || !d->ops->scales) return LEAT_MIN(scale, 0);
    assert(scale == 1 || scale == 2 || scale == 4 || scale == 8);
    scale_down(&d->job.info, scale);
    scale_down(&d->shown, scale);
    take_all(d);
    return 0;
}

int leat__decode_begin(leat__decoder *d, const uint8_t *bytes, size_t n, const leat__decode_options *options,
                       leat__picture_info *info, leat_error *err) {
    leat_error local;
    if (!err) err = &local;
    LEAT_TRY(open_picture(d, bytes, n, options, err));
    int rc = leat__decode_has_end(&d->job)
                 ? choose_scale(d, err)
                 : leat__fail(err, LEAT_ERR_DECODE, "%s: " LEAT_TRUNCATED, d->ops->name);
    if (rc == 0) rc = d->ops->begin(d->state[d->job.info.codec], &d->job, err);
    if (rc < 0) {
        close_picture(d, false, &d->failure);
        return rc;
    }
    *info = d->shown;
    return 0;
}

/* As the codec gives it: widening comes last. */
static size_t pixel_bytes(const leat__decoder *d) {
    return (size_t)d->job.info.channels << d->job.deep;
}

/* Where a pixel of the picture as it is shown lies in the picture as it is stored. */
static void stored_place(const leat__decoder *d, int x, int y, int *stored_x, int *stored_y) {
    const int right = d->job.info.width - 1, bottom = d->job.info.height - 1, o = d->orientation;
    const int across = o >= 5 ? y : x, down = o >= 5 ? x : y;
    *stored_x = o == 2 || o == 3 || o == 7 || o == 8 ? right - across : across;
    *stored_y = o == 3 || o == 4 || o == 6 || o == 7 ? bottom - down : down;
}

static leat__box stored_box(const leat__decoder *d, const leat__box *box) {
    int x0, y0, x1, y1;
    stored_place(d, box->x, box->y, &x0, &y0);
    stored_place(d, box->x + box->width - 1, box->y + box->height - 1, &x1, &y1);
    return (leat__box){LEAT_MIN(x0, x1), LEAT_MIN(y0, y1), abs(x1 - x0) + 1, abs(y1 - y0) + 1};
}

int leat__decode_region(leat__decoder *d, const leat__box *box, leat_error *err) {
    leat_error local;
    if (!err) err = &local;
    assert(d->ops && d->next_row == 0 && !d->boxed);
    if (box->x < 0 || box->y < 0 || box->width < 1 || box->height < 1 ||
        box->width > d->shown.width - box->x || box->height > d->shown.height - box->y)
        return leat__fail(err, LEAT_ERR_ARGUMENT,
                          "decode: the part %d x %d at %d, %d does not lie in %d x %d pixels", box->width,
                          box->height, box->x, box->y, d->shown.width, d->shown.height);
    const bool streams = d->orientation == 1 && !d->job.whole;
    const leat__box stored = stored_box(d, box);
    if (d->ops->region) {
        const int rc = d->ops->region(d->state[d->job.info.codec], &d->job, &stored, &d->taken, &d->failure);
        if (rc < 0) {
            *err = d->failure;
            return rc;
        }
    }
    if (!d->job.whole) d->taken.height = stored.y + stored.height - d->taken.y;
    d->line = NULL;
    if (streams && (d->taken.y < box->y || d->taken.x < box->x || d->taken.width > box->width)) {
        d->line = leat__decode_alloc(&d->job, (size_t)d->taken.width + LEAT_DECODE_SKEW, pixel_bytes(d),
                                     &d->failure);
        if (!d->line) {
            *err = d->failure;
            return d->failure.code;
        }
        d->line += LEAT_DECODE_SKEW;
    }
    d->boxed = true;
    d->box = *box;
    d->skipped = box->y - d->taken.y;
    d->shown.width = box->width;
    d->shown.height = box->height;
    return 0;
}

bool leat__decode_planes(leat__decoder *d, size_t apart) {
    assert(d->ops && d->next_row == 0);
    if (d->failure.code) return false; /* of the region: no row will come */
    assert(apart % 32 == 0 && apart >= (size_t)d->shown.width);
    const bool plain = d->orientation == 1 && !d->job.whole && !d->job.options.deep && !(d->boxed && d->line);
    return plain && d->job.info.channels == 3 && d->ops->planes &&
           d->ops->planes(d->state[d->job.info.codec], &d->job, apart);
}

int leat__decode_end(leat__decoder *d, leat_error *err) {
    assert(d->ops);
    const bool failed = d->failure.code != 0;
    leat_error ignored;
    const int rc = close_picture(d, !failed && !d->boxed && d->next_row == d->shown.height,
                                 failed ? &ignored : &d->failure);
    if (!failed && rc >= 0) return 0;
    if (err) *err = d->failure;
    return d->failure.code;
}

/* ------------------------------------------------------------------------------------------------ rows */

/* Where row y of the box begins in what is held, and how far the next pixel of that row is. */
static const uint8_t *held_row(const leat__decoder *d, int y, ptrdiff_t *step) {
    const ptrdiff_t pixel = (ptrdiff_t)pixel_bytes(d), wide = d->taken.width;
    int x0, y0, x1, y1;
    stored_place(d, d->box.x, d->box.y + y, &x0, &y0);
    stored_place(d, d->box.x + 1, d->box.y + y, &x1, &y1);
    *step = ((y1 - y0) * wide + (x1 - x0)) * pixel;
    return d->picture + ((y0 - d->taken.y) * wide + (x0 - d->taken.x)) * pixel;
}

static void copy_row(uint8_t *dst, const uint8_t *src, ptrdiff_t step, int width, size_t pixel) {
    if (step == (ptrdiff_t)pixel) {
        memcpy(dst, src, (size_t)width * pixel);
        return;
    }
    switch (pixel) {
    case 1:
        for (int x = 0; x < width; x++, src += step) dst[x] = src[0];
        break;
    case 3:
        for (int x = 0; x < width; x++, src += step, dst += 3)
            dst[0] = src[0], dst[1] = src[1], dst[2] = src[2];
        break;
    case 4:
        for (int x = 0; x < width; x++, src += step, dst += 4) memcpy(dst, src, 4);
        break;
    default:
        for (int x = 0; x < width; x++, src += step, dst += pixel) memcpy(dst, src, pixel);
    }
}

/* Memory is taken for the whole picture at full size, of which the part uses the beginning: what a worker needs then does not depend
 * on the draw. */
static int load_picture(leat__decoder *d, leat_error *err) {
    const leat__picture_info *info = &d->job.info;
    const size_t stride = (size_t)d->taken.width * pixel_bytes(d), scale = (size_t)LEAT_MAX(info->scale, 1);
    uint8_t *picture = leat__decode_alloc(&d->job, (size_t)info->width * scale * pixel_bytes(d),
                                          (size_t)info->height * scale, err);
    if (!picture) return err->code;
    LEAT_TRY(
        d->ops->rows(d->state[d->job.info.codec], &d->job, picture, (ptrdiff_t)stride, d->taken.height, err));
    d->picture = picture;
    return 0;
}

/* Rows of a box, as the codec streams them: what is above and beside is dropped. */
static int read_box(leat__decoder *d, uint8_t *dst, ptrdiff_t stride, int n_rows, leat_error *err) {
    void *state = d->state[d->job.info.codec];
    for (; d->skipped > 0; d->skipped--) LEAT_TRY(d->ops->rows(state, &d->job, d->line, 0, 1, err));
    if (d->taken.x == d->box.x && d->taken.width == d->box.width)
        return d->ops->rows(state, &d->job, dst, stride, n_rows, err);
    const size_t pixel = pixel_bytes(d);
    for (int i = 0; i < n_rows; i++) {
        LEAT_TRY(d->ops->rows(state, &d->job, d->line, 0, 1, err));
        memcpy(dst + i * stride, d->line + (size_t)(d->box.x - d->taken.x) * pixel,
               (size_t)d->box.width * pixel);
    }
    return 0;
}

static int read_rows(leat__decoder *d, uint8_t *dst, ptrdiff_t stride, int n_rows, leat_error *err) {
    if (d->boxed && d->line) return read_box(d, dst, stride, n_rows, err);
    const bool all =
        !d->boxed && d->next_row == 0 && n_rows == d->shown.height && stride > 0 && stride <= INT_MAX;
    if (d->orientation == 1 && !d->picture && (!d->job.whole || all))
        return d->ops->rows(d->state[d->job.info.codec], &d->job, dst, stride, n_rows, err);
    if (!d->picture) LEAT_TRY(load_picture(d, err));
    for (int i = 0; i < n_rows; i++) {
        ptrdiff_t step;
        const uint8_t *src = held_row(d, d->next_row + i, &step);
        copy_row(dst + i * stride, src, step, d->shown.width, pixel_bytes(d));
    }
    return 0;
}

int leat__decode_rows(leat__decoder *d, uint8_t *dst, ptrdiff_t stride, int n_rows, leat_error *err) {
    assert(d->ops);
    if (d->failure.code == 0) {
        if (n_rows < 0 || n_rows > d->shown.height - d->next_row)
            return leat__fail(err, LEAT_ERR_ARGUMENT, "decode: %d rows wanted, %d are left", n_rows,
                              d->shown.height - d->next_row);
        if (n_rows == 0 || read_rows(d, dst, stride, n_rows, &d->failure) >= 0) {
            if (d->job.options.deep && !d->job.deep)
                for (int i = 0; i < n_rows; i++)
                    leat__channels_widen(dst + i * stride,
                                         (size_t)d->shown.width * (size_t)d->shown.channels);
            d->next_row += n_rows;
            return 0;
        }
    }
    if (err) *err = d->failure;
    return d->failure.code;
}
