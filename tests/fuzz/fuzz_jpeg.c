/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a JPEG, by our own decoder and by libjpeg-turbo: both must say the same of it and give the same rows. The
 * first byte chooses options, the next four a part of the picture, the rest is the file:
 *     bits 0-1  channels   bit 2  only a part   bits 3-4  rows per call   bit 5  our own decoder's rows as planes */
#include "decode/decode.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD = 5 };

typedef struct outcome {
    int rc;
    leat_error err;
    uint8_t *rows;
    size_t n;
} outcome;

/* n rows as planes, put together as pixels. */
static int read_planes(leat__decoder *decoder, uint8_t *dst, size_t apart, int width, int n,
                       leat_error *err) {
    uint8_t *rows = malloc(3 * apart * (size_t)n);
    if (!rows) abort();
    const int rc = leat__decode_rows(decoder, rows, (ptrdiff_t)(3 * apart), n, err);
    for (size_t i = 0; rc == 0 && i < (size_t)n * (size_t)width; i++)
        for (size_t c = 0; c < 3; c++)
            dst[3 * i + c] = rows[(3 * (i / (size_t)width) + c) * apart + i % (size_t)width];
    free(rows);
    return rc;
}

static outcome decode(leat__decoder *decoder, const uint8_t *head, const uint8_t *bytes, size_t n,
                      bool reference) {
    static const int channels[] = {0, 1, 3, 4}, steps[] = {1, 3, 16, 1000};
    /* Small pictures only: large ones are as good, and slow. */
    const leat__decode_options options = {
        .channels = channels[head[0] & 3], .pixels_max = 1 << 18, .scans_max = 10, .reference = reference};
    const int step = steps[head[0] >> 3 & 3];
    leat__picture_info info;
    outcome o = {0};
    o.rc = leat__decode_begin(decoder, bytes, n, &options, &info, &o.err);
    if (o.rc < 0) return o;
    if (head[0] & 4) {
        const leat__box box = {.x = info.width * head[1] / 256,
                               .y = info.height * head[2] / 256,
                               .width = 1 + (info.width - info.width * head[1] / 256 - 1) * head[3] / 255,
                               .height = 1 + (info.height - info.height * head[2] / 256 - 1) * head[4] / 255};
        if (leat__decode_region(decoder, &box, &o.err) < 0 && o.err.code == LEAT_ERR_ARGUMENT) abort();
        info.width = box.width, info.height = box.height;
    }
    const size_t stride = (size_t)info.width * (size_t)info.channels;
    o.n = stride * (size_t)info.height;
    o.rows = calloc(o.n, 1);
    if (!o.rows) abort();
    const size_t apart = LEAT_ALIGN_UP((size_t)info.width, (size_t)32);
    const bool planes =
        head[0] & 32 && !reference && info.channels == 3 && leat__decode_planes(decoder, apart);
    for (int y = 0; o.rc == 0 && y < info.height; y += step) {
        uint8_t *dst = o.rows + (size_t)y * stride;
        const int n_rows = LEAT_MIN(step, info.height - y);
        if (planes) o.rc = read_planes(decoder, dst, apart, info.width, n_rows, &o.err);
        else o.rc = leat__decode_rows(decoder, dst, (ptrdiff_t)stride, n_rows, &o.err);
    }
    leat_error err;
    const int rc = leat__decode_end(decoder, &err);
    if (o.rc == 0 && rc < 0) o.err = err;
    if (o.rc == 0) o.rc = rc;
    return o;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static leat__decoder *decoder;
    if (!decoder) decoder = leat__decoder_new(NULL);
    if (!decoder || size < HEAD + 3) return 0;
    const uint8_t *bytes = data + HEAD;
    const size_t n = size - HEAD;
    if (leat__codec_detect(bytes, n) != LEAT_CODEC_JPEG) return 0;
    outcome own = decode(decoder, data, bytes, n, false), other = decode(decoder, data, bytes, n, true);
    /* Of a part libjpeg-turbo reads somewhat more than it must, and may find damage there. */
    const bool part = data[0] & 4;
    if (!part && own.rc != other.rc) abort();
    if (own.rc < 0 && (own.rc != other.rc || strcmp(own.err.message, other.err.message) != 0)) abort();
    if (own.rc == 0 && other.rc == 0 && (own.n != other.n || memcmp(own.rows, other.rows, own.n) != 0))
        abort();
    free(own.rows);
    free(other.rows);
    return 0;
}
