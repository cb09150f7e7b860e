/* SPDX-License-Identifier: Apache-2.0 */
/* WebP. Lossy pictures whose transparency is not wanted are decoded by our own decoder (webp_own.c), everything else by libwebp's
 * advanced API, straight into memory of ours. The moment our own decoder meets anything irregular, libwebp takes over
 * (take_over): it decodes the part from its beginning, and rows come out of that from then on. libwebp allocates for itself; what it
 * can take follows from the size of the picture, which is checked before.
 *
 * Of a part, libwebp reads no row below it. At the edges of what it is asked for, it makes up the colours that it
 * has not read, so it is asked for two pixels more, from even places: colours have half the size.
 *
 * Transparency that the caller does not want is not read: libwebp is given the picture's own chunk alone.
 *
 * libwebp alone refuses animations, so the container is walked here: the first ANMF chunk holds a
 * rectangle and an ordinary bitstream, which libwebp decodes into its place on a canvas of zeros. */
#include "decode/codec.h"
#include "decode/webp/webp_own.h"

#include <webp/decode.h>

typedef struct webp_state {
    const uint8_t *stream; /* what libwebp is given: the file, or the payload of the first frame */
    size_t stream_n;
    int left, top, width, height; /* where the frame lies                                               */
    bool framed;                  /* the frame is not the whole canvas                                  */
    leat__box part;               /* of the frame: what libwebp gives                                   */
    WebPDecoderConfig config;
    leat__webp_own *own;
    bool is_own;         /* it decodes this picture                            */
    leat__box box;       /* what rows are given of, if it does                 */
    int n_given;         /* rows of its                                        */
    uint8_t *line;       /* one of them in RGB, if that is not what is wanted  */
    const uint8_t *held; /* the rows that follow, by libwebp                   */
} webp_state;

enum { LOSSY = 1 }; /* WebPBitstreamFeatures.format */

static int fail(leat_error *err, VP8StatusCode status) {
    switch (status) {
    case VP8_STATUS_OUT_OF_MEMORY: return leat__fail(err, LEAT_ERR_MEMORY, "webp: no memory");
    case VP8_STATUS_UNSUPPORTED_FEATURE:
        return leat__fail(err, LEAT_ERR_UNSUPPORTED,
                          "webp: the file has a feature that libwebp does not know");
    case VP8_STATUS_SUSPENDED:
    case VP8_STATUS_NOT_ENOUGH_DATA: return leat__fail(err, LEAT_ERR_DECODE, "webp: " LEAT_TRUNCATED);
    case VP8_STATUS_BITSTREAM_ERROR: return leat__fail(err, LEAT_ERR_DECODE, "webp: the data is damaged");
    default: return leat__fail(err, LEAT_ERR_DECODE, "webp: libwebp says %d", (int)status);
    }
}

static int load24(const uint8_t *p) {
    return p[0] | p[1] << 8 | p[2] << 16;
}

/* Notes the first frame of an animation and the orientation. Chunks are padded to even sizes. */
static void walk_chunks(webp_state *s, leat__decode_job *job) {
    bool found = false;
    for (size_t at = 12; at < job->n && job->n - at >= 8;) {
        const uint8_t *chunk = job->bytes + at;
        const size_t length = leat__load_u32(chunk + 4);
        if (length > job->n - at - 8) break;
        if (memcmp(chunk, "EXIF", 4) == 0) {
            job->info.orientation = leat__exif_block_orientation(chunk + 8, length);
        } else if (memcmp(chunk, "ANMF", 4) == 0 && length >= 16 && !found) {
            found = true;
            s->left = 2 * load24(chunk + 8), s->top = 2 * load24(chunk + 11);
            s->width = load24(chunk + 14) + 1, s->height = load24(chunk + 17) + 1;
            s->stream = chunk + 24, s->stream_n = length - 16;
        }
        at += 8 + length + (length & 1);
    }
}

static int init(void *state, leat__arena *arena, leat_error *err) {
    webp_state *s = state;
    (void)arena;
    s->own = leat__webp_own_new();
    return s->own ? 0 : leat__fail_memory(err, sizeof *s, "decoder");
}

static void destroy(void *state) {
    leat__webp_own_free(((webp_state *)state)->own);
}

/* Why our own decoder does not take the file; NULL: it does. */
static const char *detour_of(const WebPBitstreamFeatures *canvas, int channels) {
    if (canvas->has_animation) return "animated";
    if (canvas->format != LOSSY) return "lossless";
    if (canvas->has_alpha && (channels == 0 || channels == 4)) return "transparency";
    return NULL;
}

static int header(void *state, leat__decode_job *job, leat_error *err) {
    webp_state *s = state;
    *s = (webp_state){.stream = job->bytes, .stream_n = job->n, .own = s->own};
    if (!WebPInitDecoderConfig(&s->config))
        return leat__fail(err, LEAT_ERR_UNSUPPORTED, "webp: libwebp is not the version leat was made for");
    VP8StatusCode status = WebPGetFeatures(job->bytes, job->n, &s->config.input);
    if (status != VP8_STATUS_OK) return fail(err, status);
    const WebPBitstreamFeatures canvas = s->config.input;
    walk_chunks(s, job);
    if (canvas.has_animation) {
        if (s->stream == job->bytes) return fail(err, VP8_STATUS_NOT_ENOUGH_DATA);
        status = WebPGetFeatures(s->stream, s->stream_n, &s->config.input);
        if (status != VP8_STATUS_OK) return fail(err, status);
        if (s->config.input.width != s->width || s->config.input.height != s->height ||
            s->width > canvas.width - s->left || s->height > canvas.height - s->top)
            return leat__fail(err, LEAT_ERR_DECODE, "webp: the first frame does not fit the canvas");
        s->framed = s->width != canvas.width || s->height != canvas.height;
    } else {
        s->stream = job->bytes, s->stream_n = job->n;
        s->width = canvas.width, s->height = canvas.height, s->left = s->top = 0;
    }
    job->info.width = canvas.width;
    job->info.height = canvas.height;
    job->info.stored_channels = job->info.channels = canvas.has_alpha ? 4 : 3;
    job->info.bits = 8;
    job->info.detour = detour_of(&canvas, job->options.channels);
    job->whole = true;
    return 0;
}

/* The chunk of a lossy picture, if the stream has it whole: its header and what it holds. */
static const uint8_t *find_lossy(const webp_state *s, size_t *n) {
    const bool is_file = s->stream_n >= 12 && memcmp(s->stream, "RIFF", 4) == 0;
    for (size_t at = is_file ? 12 : 0; at < s->stream_n && s->stream_n - at >= 8;) {
        const uint8_t *chunk = s->stream + at;
        const size_t length = leat__load_u32(chunk + 4);
        if (length > s->stream_n - at - 8) return NULL;
        *n = 8 + length;
        if (memcmp(chunk, "VP8 ", 4) == 0) return chunk;
        at += *n + (length & 1);
    }
    return NULL;
}

/* Still pictures that libwebp finds regular. What lies behind the chunk is not for our own decoder to see. */
static bool begin_own(webp_state *s, leat__decode_job *job) {
    size_t n;
    if (job->options.reference || job->info.detour) return false;
    const uint8_t *chunk = find_lossy(s, &n);
    if (!chunk || !leat__webp_own_begin(s->own, job, chunk + 8, n - 8)) return false;
    if (job->info.channels != 3) s->line = leat__arena_alloc(job->arena, 3 * (size_t)s->width);
    return job->info.channels == 3 || s->line;
}

static int begin(void *state, leat__decode_job *job, leat_error *err) {
    (void)err;
    webp_state *s = state;
    size_t n;
    s->part = s->box = (leat__box){.width = s->width, .height = s->height};
    s->is_own = begin_own(s, job);
    job->whole = !s->is_own;
    if (job->info.channels != 4 && s->config.input.has_alpha) {
        const uint8_t *chunk = find_lossy(s, &n);
        if (chunk) s->stream = chunk, s->stream_n = n;
    }
    return 0;
}

/* libwebp's part is the box and two pixels more, from even places. Our own decoder begins at an even column. */
static int region(void *state, leat__decode_job *job, const leat__box *box, leat__box *taken,
                  leat_error *err) {
    (void)job, (void)err;
    webp_state *s = state;
    if (s->framed) return 0; /* a small picture on a canvas: the rest of the canvas costs nothing */
    const int x = LEAT_MAX(box->x - 2, 0) & ~1, y = LEAT_MAX(box->y - 2, 0) & ~1;
    s->part = *taken = (leat__box){x, y, LEAT_MIN(box->x + box->width + 2, s->width) - x,
                                   LEAT_MIN(box->y + box->height + 2, s->height) - y};
    s->config.options.use_cropping = 1;
    s->config.options.crop_left = x, s->config.options.crop_top = y;
    s->config.options.crop_width = s->part.width, s->config.options.crop_height = s->part.height;
    if (!s->is_own) return 0;
    const int even = box->x & ~1;
    s->box = *taken = (leat__box){even, box->y, box->x + box->width - even, box->height};
    leat__webp_own_region(s->own, &s->box);
    return 0;
}

static int decode_frame(webp_state *s, uint8_t *dst, size_t stride, int channels, leat_error *err) {
    WebPDecBuffer *out = &s->config.output;
    const size_t bytes = stride * (size_t)(s->part.height - 1) + (size_t)s->part.width * (size_t)channels;
    out->colorspace = channels == 4 ? MODE_RGBA : MODE_RGB;
    out->is_external_memory = 1;
    out->u.RGBA.rgba = dst;
    out->u.RGBA.stride = (int)stride;
    out->u.RGBA.size = bytes;
    const VP8StatusCode status = WebPDecode(s->stream, s->stream_n, &s->config);
    WebPFreeDecBuffer(out);
    return status == VP8_STATUS_OK ? 0 : fail(err, status);
}

/* All rows of the part, or of the canvas. */
static int rows_of_libwebp(webp_state *s, leat__decode_job *job, uint8_t *dst, ptrdiff_t stride, int n_rows,
                           leat_error *err) {
    const int channels = job->info.channels;
    const size_t width = (size_t)job->info.width;
    if (s->framed)
        for (int y = 0; y < n_rows; y++) memset(dst + y * stride, 0, width * (size_t)channels);
    uint8_t *corner = dst + s->top * stride + s->left * channels;
    if (channels != 1) return decode_frame(s, corner, (size_t)stride, channels, err);

    const size_t rgb_stride = 3 * (size_t)s->part.width;
    uint8_t *rgb = leat__decode_alloc(job, rgb_stride, (size_t)s->part.height, err);
    if (!rgb) return err->code;
    LEAT_TRY(decode_frame(s, rgb, rgb_stride, 3, err));
    for (int y = 0; y < s->part.height; y++)
        leat__channels_convert(corner + y * stride, 1, rgb + (size_t)y * rgb_stride, 3,
                               (size_t)s->part.width);
    return 0;
}

/* From our own decoder, behind the rows that it gave: the part is decoded again. */
static int take_over(webp_state *s, leat__decode_job *job, leat_error *err) {
    s->is_own = false;
    const size_t stride = (size_t)s->part.width * (size_t)job->info.channels;
    uint8_t *held = leat__decode_alloc(job, stride, (size_t)s->part.height, err);
    if (!held) return err->code;
    LEAT_TRY(rows_of_libwebp(s, job, held, (ptrdiff_t)stride, s->part.height, err));
    s->held = held + (size_t)(s->box.y + s->n_given - s->part.y) * stride +
              (size_t)(s->box.x - s->part.x) * (size_t)job->info.channels;
    return 0;
}

static bool own_row(webp_state *s, int channels, uint8_t *dst) {
    if (!leat__webp_own_row(s->own, s->line ? s->line : dst)) return false;
    if (s->line) leat__channels_convert(dst, channels, s->line, 3, (size_t)s->box.width);
    s->n_given++;
    return true;
}

static int rows(void *state, leat__decode_job *job, uint8_t *dst, ptrdiff_t stride, int n_rows,
                leat_error *err) {
    webp_state *s = state;
    const size_t channels = (size_t)job->info.channels;
    if (job->whole) return rows_of_libwebp(s, job, dst, stride, n_rows, err);
    for (; s->is_own && n_rows > 0; n_rows--, dst += stride) {
        if (own_row(s, job->info.channels, dst)) continue;
        LEAT_TRY(take_over(s, job, err));
        break;
    }
    for (; n_rows > 0; n_rows--, dst += stride, s->held += (size_t)s->part.width * channels)
        memcpy(dst, s->held, (size_t)s->box.width * channels);
    return 0;
}

static int end(void *state, leat__decode_job *job, bool complete, leat_error *err) {
    (void)state, (void)job, (void)complete, (void)err;
    return 0;
}

const leat__codec_ops leat__codec_webp = {.name = "webp",
                                          .state_bytes = sizeof(webp_state),
                                          .init = init,
                                          .destroy = destroy,
                                          .header = header,
                                          .begin = begin,
                                          .region = region,
                                          .rows = rows,
                                          .end = end};
