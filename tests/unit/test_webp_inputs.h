/* SPDX-License-Identifier: Apache-2.0 */
/* Lossy WebPs by libwebp's encoder, with every tool of the format that it has a switch for. */
#ifndef LEAT_TEST_WEBP_INPUTS_H
#define LEAT_TEST_WEBP_INPUTS_H

#include "test_decode_inputs.h"

#include "base/rng.h"

typedef struct webp_how {
    int w, h;
    int kind; /* noise, a gradient, patches of both, black and white   */
    float quality;
    int method, segments;
    int partitions;        /* 0 to 3; with methods of more than 2 there is one   */
    int filter, sharpness; /* strength; 0 to 7                                */
    bool simple;
    bool alpha;
} webp_how;

enum { WEBP_KINDS = 4 };

static inline uint8_t webp_sample(leat__rng *rng, int kind, int x, int y, int c) {
    const int noise = (int)leat__rng_below(rng, 256);
    switch (kind) {
    case 0: return (uint8_t)noise;
    case 1: return (uint8_t)(2 * x + y * (c + 1) + 30 * c);
    case 2: return (uint8_t)((x / 24 + y / 40) % 2 ? noise / 3 + 20 * c : 3 * x - y + noise / 16);
    default: return (x / 5 + y / 7 + x * y / 90) % 2 ? 255 : 0;
    }
}

static inline blob make_lossy(webp_how how) {
    WebPConfig config;
    WebPPicture picture;
    WebPMemoryWriter writer;
    leat__rng rng = leat__rng_at((uint64_t)how.kind, 0, (uint64_t)how.w, (uint64_t)how.h);
    uint8_t *pixels = malloc(4 * (size_t)how.w * (size_t)how.h);
    assert_non_null(pixels);
    for (int y = 0; y < how.h; y++)
        for (int x = 0; x < how.w; x++)
            for (int c = 0; c < 4; c++)
                pixels[4 * ((size_t)y * (size_t)how.w + (size_t)x) + (size_t)c] =
                    webp_sample(&rng, how.kind, x, y, c);
    assert_true(WebPConfigInit(&config) && WebPPictureInit(&picture));
    config.quality = how.quality;
    config.method = how.method;
    config.segments = LEAT_MAX(how.segments, 1);
    config.partitions = how.partitions;
    config.filter_strength = how.filter;
    config.filter_sharpness = how.sharpness;
    config.filter_type = !how.simple;
    picture.width = how.w, picture.height = how.h;
    if (how.alpha) assert_true(WebPPictureImportRGBA(&picture, pixels, 4 * how.w));
    else assert_true(WebPPictureImportRGBX(&picture, pixels, 4 * how.w));
    WebPMemoryWriterInit(&writer);
    picture.writer = WebPMemoryWrite;
    picture.custom_ptr = &writer;
    assert_true(WebPEncode(&config, &picture));
    blob b = {0};
    put(&b, writer.mem, writer.size);
    WebPMemoryWriterClear(&writer);
    WebPPictureFree(&picture);
    free(pixels);
    return b;
}

/* Where the bytes of the chunk "VP8 " begin. */
static inline size_t find_frame(const blob *file) {
    size_t at = 12;
    while (memcmp(file->data + at, "VP8 ", 4) != 0) {
        const size_t n = leat__load_u32(file->data + at + 4);
        at += 8 + n + (n & 1);
        assert_true(at + 8 < file->n);
    }
    return at + 8;
}

#endif
