/* SPDX-License-Identifier: Apache-2.0 */
/* From the channels a file has to the channels that are wanted. One loop per pair, so that the compiler
 * sees constant strides. */
#include "decode/codec.h"

static void gray_to_rgb(uint8_t *dst, const uint8_t *src, size_t src_step, size_t n) {
    for (size_t i = 0; i < n; i++, dst += 3, src += src_step) dst[0] = dst[1] = dst[2] = src[0];
}

static void gray_to_rgba(uint8_t *dst, const uint8_t *src, size_t n) {
    for (size_t i = 0; i < n; i++, dst += 4) {
        dst[0] = dst[1] = dst[2] = src[i];
        dst[3] = 255;
    }
}

static void gray_alpha_to_rgba(uint8_t *dst, const uint8_t *src, size_t n) {
    for (size_t i = 0; i < n; i++, dst += 4, src += 2) {
        dst[0] = dst[1] = dst[2] = src[0];
        dst[3] = src[1];
    }
}

static void colour_to_gray(uint8_t *dst, const uint8_t *src, size_t src_step, size_t n) {
    for (size_t i = 0; i < n; i++, src += src_step) dst[i] = leat__gray_of(src[0], src[1], src[2]);
}

static void rgb_to_rgba(uint8_t *dst, const uint8_t *src, size_t n) {
    for (size_t i = 0; i < n; i++, dst += 4, src += 3) {
        dst[0] = src[0], dst[1] = src[1], dst[2] = src[2];
        dst[3] = 255;
    }
}

static void rgba_to_rgb(uint8_t *dst, const uint8_t *src, size_t n) {
    for (size_t i = 0; i < n; i++, dst += 3, src += 4) dst[0] = src[0], dst[1] = src[1], dst[2] = src[2];
}

void leat__channels_convert(uint8_t *dst, int dst_channels, const uint8_t *src, int src_channels, size_t n) {
    switch (src_channels * 10 + dst_channels) {
    case 21:
        for (size_t i = 0; i < n; i++) dst[i] = src[2 * i];
        break;
    case 13: gray_to_rgb(dst, src, 1, n); break;
    case 23: gray_to_rgb(dst, src, 2, n); break;
    case 14: gray_to_rgba(dst, src, n); break;
    case 24: gray_alpha_to_rgba(dst, src, n); break;
    case 31: colour_to_gray(dst, src, 3, n); break;
    case 41: colour_to_gray(dst, src, 4, n); break;
    case 34: rgb_to_rgba(dst, src, n); break;
    case 43: rgba_to_rgb(dst, src, n); break;
    default: assert(src_channels == dst_channels); memcpy(dst, src, n * (size_t)dst_channels);
    }
}

void leat__channels_part(uint8_t *dst, size_t apart, const uint8_t *src, size_t n) {
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < 3; c++) dst[c * apart + i] = src[3 * i + c];
}

static unsigned load_deep(const uint8_t *p) {
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* One value at a time: files of 16 bits are few, and inflating them takes far longer. */
void leat__channels_convert_deep(uint8_t *dst, int dst_channels, const uint8_t *src, int src_channels,
                                 size_t n) {
    if (src_channels == dst_channels) {
        memcpy(dst, src, 2 * n * (size_t)dst_channels);
        return;
    }
    for (size_t i = 0; i < n; i++, src += 2 * src_channels) {
        uint16_t out[4] = {0, 0, 0, 65535};
        const uint8_t *const alpha = src + 2 * (src_channels - 1);
        const int green = src_channels < 3 ? 0 : 2, blue = src_channels < 3 ? 0 : 4;
        const uint32_t r = load_deep(src), g = load_deep(src + green), b = load_deep(src + blue);
        out[0] = (uint16_t)r, out[1] = (uint16_t)g, out[2] = (uint16_t)b;
        if (src_channels % 2 == 0) out[3] = (uint16_t)load_deep(alpha);
        if (dst_channels == 1) out[0] = (uint16_t)((19595 * r + 38470 * g + 7471 * b + 32768) >> 16);
        memcpy(dst, out, 2 * (size_t)dst_channels);
        dst += 2 * dst_channels;
    }
}

void leat__channels_widen(uint8_t *row, size_t n) {
    while (n-- > 0) row[2 * n] = row[2 * n + 1] = row[n];
}

void leat__channels_pixel(uint8_t *dst, int dst_channels, const uint8_t rgba[4]) {
    /* A gray colour stays what it is: the weights of gray add up to 65536. */
    leat__channels_convert(dst, dst_channels, rgba, 4, 1);
}

void leat__channels_lookup(uint8_t *dst, int dst_channels, const uint8_t *indices, const uint8_t *table,
                           size_t n) {
    switch (dst_channels) {
    case 1:
        for (size_t i = 0; i < n; i++) dst[i] = table[4 * indices[i]];
        break;
    case 3:
        for (size_t i = 0; i < n; i++, dst += 3) {
            const uint8_t *entry = table + 4 * indices[i];
            dst[0] = entry[0], dst[1] = entry[1], dst[2] = entry[2];
        }
        break;
    default:
        for (size_t i = 0; i < n; i++) memcpy(dst + 4 * i, table + 4 * indices[i], 4);
    }
}
