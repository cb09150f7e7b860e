/* SPDX-License-Identifier: Apache-2.0 */
/* WebP through libwebp's advanced API, straight into memory of ours. libwebp allocates for itself; what it
 * can take follows from the size of the picture, which is checked before.
 *
 * libwebp alone refuses animations, so the container is walked here: the first ANMF chunk holds a
 * rectangle and an ordinary bitstream, which libwebp decodes into its place on a canvas of zeros. */
#include "decode/codec.h"

#include <webp/decode.h>

typedef struct webp_state {
    const uint8_t *stream; /* what libwebp is given: the file, or the payload of the first frame */
    size_t stream_n;
    int left, top, width, height; /* where the frame lies                                               */
    bool framed;                  /* the frame is not the whole canvas                                  */
    WebPDecoderConfig config;
} webp_state;

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

static int header(void *state, leat__decode_job *job, leat_error *err) {
    webp_state *s = state;
    *s = (webp_state){.stream = job->bytes, .stream_n = job->n};
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
    job->whole = true;
    return 0;
}

static int begin(void *state, leat__decode_job *job, leat_error *err) {
    (void)state, (void)job, (void)err;
    return 0;
}

static int decode_frame(webp_state *s, uint8_t *dst, size_t stride, int channels, leat_error *err) {
    WebPDecBuffer *out = &s->config.output;
    const size_t bytes = stride * (size_t)(s->height - 1) + (size_t)s->width * (size_t)channels;
    out->colorspace = channels == 4 ? MODE_RGBA : MODE_RGB;
    out->is_external_memory = 1;
    out->u.RGBA.rgba = dst;
    out->u.RGBA.stride = (int)stride;
    out->u.RGBA.size = bytes;
    const VP8StatusCode status = WebPDecode(s->stream, s->stream_n, &s->config);
    WebPFreeDecBuffer(out);
    return status == VP8_STATUS_OK ? 0 : fail(err, status);
}

static int rows(void *state, leat__decode_job *job, uint8_t *dst, ptrdiff_t stride, int n_rows,
                leat_error *err) {
    webp_state *s = state;
    const int channels = job->info.channels;
    const size_t width = (size_t)job->info.width;
    if (s->framed)
        for (int y = 0; y < n_rows; y++) memset(dst + y * stride, 0, width * (size_t)channels);
    uint8_t *corner = dst + s->top * stride + s->left * channels;
    if (channels != 1) return decode_frame(s, corner, (size_t)stride, channels, err);

    const size_t rgb_stride = 3 * (size_t)s->width;
    uint8_t *rgb = leat__decode_alloc(job, rgb_stride, (size_t)s->height, err);
    if (!rgb) return err->code;
    LEAT_TRY(decode_frame(s, rgb, rgb_stride, 3, err));
    for (int y = 0; y < s->height; y++)
        leat__channels_convert(corner + y * stride, 1, rgb + (size_t)y * rgb_stride, 3, (size_t)s->width);
    return 0;
}

static int end(void *state, leat__decode_job *job, bool complete, leat_error *err) {
    (void)state, (void)job, (void)complete, (void)err;
    return 0;
}

const leat__codec_ops leat__codec_webp = {.name = "webp",
                                          .state_bytes = sizeof(webp_state),
                                          .header = header,
                                          .begin = begin,
                                          .rows = rows,
                                          .end = end};
