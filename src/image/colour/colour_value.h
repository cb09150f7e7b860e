/* SPDX-License-Identifier: Apache-2.0 */
/* Gamma and noise: what happens to values without regard to their neighbours. Blocks of lanes in plain
 * loops, which a compiler turns into whatever vectors the file that includes this is compiled for. Only
 * sums, products, quotients and square roots, each rounded by itself, so all of them give the same bits. */
#ifndef LEAT_IMAGE_COLOUR_COLOUR_VALUE_H
#define LEAT_IMAGE_COLOUR_COLOUR_VALUE_H

#include "image/dsp.h"

#define LEAT_GAMMA_LANES 16
#define LEAT_NOISE_LANES 16
#define LEAT_NOISE_BLOCK (4 * LEAT_NOISE_LANES)

/* In front of a short loop that shall become vectors: unrolled, it would be taken for single numbers. */
#if defined(__clang__)
#define LEAT_KEEP_LOOP
#else
#define LEAT_KEEP_LOOP _Pragma("GCC unroll 1")
#endif

static inline uint64_t leat__bits_f64(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double leat__f64_of(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint32_t leat__bits_f32(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float leat__f32_of(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* x to the gamma for x > 0 is 2 to the gamma times its logarithm, to about 2^-38 of it: a float has its
 * last bit right but for the closest calls. */
static inline double leat__log_two(double x) {
    /* x = m * 2^e with m from sqrt(1/2) to sqrt(2); e becomes a double by way of its bits. */
    const uint64_t half_root = UINT64_C(0x3fe6a09e667f3bcd), one = UINT64_C(0x3ff0000000000000);
    const uint64_t up = leat__bits_f64(x) + (one - half_root);
    const double e = leat__f64_of((up >> 52) | UINT64_C(0x4330000000000000)) - (0x1p52 + 1023);
    const double m = leat__f64_of((up & UINT64_C(0xfffffffffffff)) + half_root);
    const double f = (m - 1.0) / (m + 1.0), s = f * f;
    double sum = 1.0 / 13;
    sum = sum * s + 1.0 / 11;
    sum = sum * s + 1.0 / 9;
    sum = sum * s + 1.0 / 7;
    sum = sum * s + 1.0 / 5;
    sum = sum * s + 1.0 / 3;
    return e + (f + f * s * sum) * (2 / 0.69314718055994530942);
}

static inline double leat__two_to(double t) { /* -1000 to 1000 */
    const double shifted = t + 0x1.8p52, r = (t - (shifted - 0x1.8p52)) * 0.69314718055994530942;
    double y = 1.0 / 3628800;
    y = y * r + 1.0 / 362880;
    y = y * r + 1.0 / 40320;
    y = y * r + 1.0 / 5040;
    y = y * r + 1.0 / 720;
    y = y * r + 1.0 / 120;
    y = y * r + 1.0 / 24;
    y = y * r + 1.0 / 6;
    y = y * r + 0.5;
    y = y * r + 1.0;
    y = y * r + 1.0;
    return leat__f64_of(leat__bits_f64(y) + (leat__bits_f64(shifted) << 52));
}

/* gain * x^gamma as C's pow defines it, for values of both signs. */
static inline void leat__gamma_values(float *values, size_t n, float gamma, float gain) {
    const bool whole = gamma == 0.0f || gamma >= 0x1p24f || (float)(int32_t)gamma == gamma;
    const bool odd = whole && gamma < 0x1p24f && ((int32_t)gamma & 1);
    const float at_zero = gamma == 0.0f ? 1.0f : 0.0f;
    for (size_t i = 0; i < n; i += LEAT_GAMMA_LANES) {
        float x[LEAT_GAMMA_LANES], y[LEAT_GAMMA_LANES];
        double t[LEAT_GAMMA_LANES];
        const size_t m = LEAT_MIN(n - i, (size_t)LEAT_GAMMA_LANES);
        for (size_t k = 0; k < LEAT_GAMMA_LANES; k++) x[k] = 1.0f;
        memcpy(x, values + i, m * sizeof(float));
        for (size_t k = 0; k < LEAT_GAMMA_LANES; k++) {
            const float size = leat__f32_of(leat__bits_f32(x[k]) & 0x7fffffff);
            t[k] = leat__log_two(size) * (double)gamma;
        }
        for (size_t k = 0; k < LEAT_GAMMA_LANES; k++)
            t[k] = LEAT_CLAMP(t[k], -1000.0, 1000.0); /* beyond a float */
        for (size_t k = 0; k < LEAT_GAMMA_LANES; k++) y[k] = (float)leat__two_to(t[k]);
        for (size_t k = 0; k < LEAT_GAMMA_LANES; k++) {
            const float below = odd ? -y[k] : whole ? y[k] : __builtin_nanf("");
            float z = x[k] < 0.0f ? below : y[k];
            z = x[k] == 0.0f ? at_zero : z;
            z = x[k] == x[k] || gamma == 0.0f ? z : __builtin_nanf("");
            y[k] = gain * z;
        }
        memcpy(values + i, y, m * sizeof(float));
    }
}

/* Two normal numbers of two uniform ones, by Box and Muller: a radius of the first, a direction of the
 * second. */
static inline void leat__normal_pair(float *a, float *b, uint32_t u, uint32_t v) {
    /* Minus twice the logarithm of (u/2 + 1/2) / 2^31, of its exponent and by the series of the rest. */
    const float x = (float)(int32_t)(u >> 1) + 0.5f;
    const uint32_t up = leat__bits_f32(x) + (0x3f800000u - 0x3f3504f3u);
    const float e = 158.0f - (float)(int32_t)(up >> 23);
    const float m = leat__f32_of((up & 0x7fffff) + 0x3f3504f3u);
    const float f = (m - 1.0f) / (m + 1.0f), s = f * f;
    float sum = 1.0f / 9;
    sum = sum * s + 1.0f / 7;
    sum = sum * s + 1.0f / 5;
    sum = sum * s + 1.0f / 3;
    const float depth = e * 1.38629436f - 4.0f * (f + f * s * sum);
    const float radius = __builtin_sqrtf(depth > 0.0f ? depth : 0.0f);
    /* A quarter of the circle by the highest two bits, and an angle of an eighth to either side. */
    const float angle = (float)(int32_t)(v << 2) * 0x1.921fb6p-32f, t = angle * angle;
    float sine = 2.75573192e-6f;
    sine = sine * t - 1.98412698e-4f;
    sine = sine * t + 8.33333333e-3f;
    sine = sine * t - 0.166666667f;
    sine = angle + angle * t * sine;
    float cosine = 2.48015873e-5f;
    cosine = cosine * t - 1.38888889e-3f;
    cosine = cosine * t + 4.16666667e-2f;
    cosine = cosine * t - 0.5f;
    cosine = 1.0f + t * cosine;
    const bool turned = v & 0x40000000;
    const uint32_t sign = v & 0x80000000;
    const float along = turned ? sine : cosine, across = turned ? cosine : sine;
    *a = radius * leat__f32_of(leat__bits_f32(along) ^ sign);
    *b = radius * leat__f32_of(leat__bits_f32(across) ^ sign);
}

/* The block's normal numbers, a function of key and number alone. */
static inline void leat__noise_block(float normal[LEAT_NOISE_BLOCK], uint64_t number, uint64_t key) {
    uint32_t c0[LEAT_NOISE_LANES], c1[LEAT_NOISE_LANES], c2[LEAT_NOISE_LANES], c3[LEAT_NOISE_LANES];
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int i = 0; i < LEAT_NOISE_LANES; i++) {
        c0[i] = (uint32_t)number;
        c1[i] = (uint32_t)(number >> 32);
        c2[i] = (uint32_t)i;
        c3[i] = 0;
    }
    for (int round = 0; round < 10; round++) { /* Philox4x32, as in base/rng.h */
        LEAT_KEEP_LOOP
        for (int i = 0; i < LEAT_NOISE_LANES; i++) {
            const uint64_t p0 = (uint64_t)c0[i] * 0xD2511F53u, p1 = (uint64_t)c2[i] * 0xCD9E8D57u;
            c0[i] = (uint32_t)(p1 >> 32) ^ c1[i] ^ k0;
            c1[i] = (uint32_t)p1;
            c2[i] = (uint32_t)(p0 >> 32) ^ c3[i] ^ k1;
            c3[i] = (uint32_t)p0;
        }
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    for (int i = 0; i < LEAT_NOISE_LANES; i++)
        leat__normal_pair(&normal[i], &normal[i + LEAT_NOISE_LANES], c0[i], c1[i]);
    for (int i = 0; i < LEAT_NOISE_LANES; i++)
        leat__normal_pair(&normal[i + 2 * LEAT_NOISE_LANES], &normal[i + 3 * LEAT_NOISE_LANES], c2[i], c3[i]);
}

/* n values, the first of which is number `first` of the picture. */
static inline void leat__noise_values(float *values, size_t n, uint64_t first, const leat__pixel_args *args) {
    const float mean = args->p[0], deviation = args->p[1], low = args->p[2], high = args->p[3];
    float normal[LEAT_NOISE_BLOCK];
    for (size_t i = 0; i < n;) {
        const size_t at = (first + i) % LEAT_NOISE_BLOCK, m = LEAT_MIN(n - i, LEAT_NOISE_BLOCK - at);
        leat__noise_block(normal, (first + i) / LEAT_NOISE_BLOCK, args->key);
        for (size_t k = 0; k < m; k++) {
            float x = values[i + k] + (mean + normal[at + k] * deviation);
            x = x > low ? x : low;
            values[i + k] = x < high ? x : high;
        }
        i += m;
    }
}

/* The same on bytes: noise is cut to whole numbers before it is added. */
static inline void leat__noise_bytes(uint8_t *values, size_t n, uint64_t first,
                                     const leat__pixel_args *args) {
    const float mean = args->p[0], deviation = args->p[1];
    float normal[LEAT_NOISE_BLOCK];
    for (size_t i = 0; i < n;) {
        const size_t at = (first + i) % LEAT_NOISE_BLOCK, m = LEAT_MIN(n - i, LEAT_NOISE_BLOCK - at);
        leat__noise_block(normal, (first + i) / LEAT_NOISE_BLOCK, args->key);
        for (size_t k = 0; k < m; k++) {
            float x = mean + normal[at + k] * deviation;
            x = x > -256.0f ? x : -256.0f;
            x = x < 256.0f ? x : 256.0f;
            const int y = values[i + k] + (int)x;
            values[i + k] = (uint8_t)LEAT_CLAMP(y, 0, 255);
        }
        i += m;
    }
}

#endif
