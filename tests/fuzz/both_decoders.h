/* SPDX-License-Identifier: Apache-2.0 */
/* For targets that decode a picture twice, by our own decoder and by the library. The first byte of an input chooses options, the next
 * four a part of the picture, the rest is the file. Bits of the first byte, of which the targets use others themselves:
 *     bits 0-1  channels   bit 2  only a part   bits 3-4  rows per call */
#ifndef LEAT_FUZZ_BOTH_DECODERS_H
#define LEAT_FUZZ_BOTH_DECODERS_H

#include "decode/decode.h"

#include <stdlib.h>

enum { HEAD = 5 };

typedef struct outcome {
    int rc;
    leat_error err;
    uint8_t *rows;
    size_t n;
} outcome;

/* n rows as planes, put together as pixels. */
static inline int read_planes(leat__decoder *decoder, uint8_t *dst, size_t apart, int width, int n,
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

/* Small pictures only: large ones are as good, and slow. planes: rows as planes where the decoder has them. */
static inline outcome decode(leat__decoder *decoder, const uint8_t *head, const uint8_t *bytes, size_t n,
                             leat__decode_options options, bool planes) {
    static const int channels[] = {0, 1, 3, 4}, steps[] = {1, 3, 16, 1000};
    const int step = steps[head[0] >> 3 & 3];
    options.channels = channels[head[0] & 3];
    options.pixels_max = 1 << 18;
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
    const size_t stride = ((size_t)info.width * (size_t)info.channels) << options.deep;
    o.n = stride * (size_t)info.height;
    o.rows = calloc(o.n, 1);
    if (!o.rows) abort();
    const size_t apart = LEAT_ALIGN_UP((size_t)info.width, (size_t)32);
    planes = planes && info.channels == 3 && leat__decode_planes(decoder, apart);
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

/* Both say the same of the file and have the same rows. Of a part the library reads somewhat more than it must, and may find damage
 * there. Frees the rows. */
static inline void must_agree(const outcome *own, const outcome *library, bool part) {
    if (!part && own->rc != library->rc) abort();
    if (own->rc < 0 && (own->rc != library->rc || strcmp(own->err.message, library->err.message) != 0))
        abort();
    if (own->rc == 0 && library->rc == 0 &&
        (own->n != library->n || memcmp(own->rows, library->rows, own->n) != 0))
        abort();
    free(own->rows);
    free(library->rows);
}

#endif
