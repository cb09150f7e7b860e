/* SPDX-License-Identifier: Apache-2.0 */
/* The order of operations and the precision of each line are those of the libraries: a table is right only
 * if all of its 256 entries are. */
#include "image/colour/table.h"

#include "base/maths.h"
#include "image/pass/point.h"

void leat__table_identity(uint8_t table[256]) {
    for (int i = 0; i < 256; i++) table[i] = (uint8_t)i;
}

void leat__table_invert(uint8_t table[256]) {
    for (int i = 0; i < 256; i++) table[i] = (uint8_t)(255 - i);
}

void leat__table_posterize(uint8_t table[256], int bits) {
    const int mask = ~((1 << (8 - LEAT_CLAMP(bits, 0, 8))) - 1);
    for (int i = 0; i < 256; i++) table[i] = (uint8_t)(i & mask);
}

void leat__table_solarize(uint8_t table[256], double threshold, int addition) {
    addition = LEAT_CLAMP(addition, -255, 255);
    for (int i = 0; i < 256; i++) {
        const int x = LEAT_CLAMP(i + addition, 0, 255);
        table[i] = (uint8_t)(x < threshold ? x : 255 - x);
    }
}

void leat__table_autocontrast(uint8_t table[256], int low, int high) {
    if (high <= low) {
        leat__table_identity(table);
        return;
    }
    const double scale = 255.0 / (high - low), offset = -low * scale;
    for (int i = 0; i < 256; i++) {
        const double x = i * scale + offset;
        table[i] = (uint8_t)(x <= 0 ? 0 : x >= 255 ? 255 : (int)x);
    }
}

void leat__table_torch_autocontrast(uint8_t table[256], int low, int high) {
    if (high <= low) {
        leat__table_identity(table);
        return;
    }
    const float unit = (float)(high - low) * (float)(1.0 / 255.0);
    for (int i = 0; i < 256; i++) table[i] = leat__u8_from_f32((float)(i - low) / unit);
}

/* How many values there are, how many different ones, and how many of the largest of them. */
static uint64_t count(const uint32_t histogram[256], int *n_different, uint32_t *n_last) {
    uint64_t n = 0;
    *n_different = 0;
    *n_last = 0;
    for (int i = 0; i < 256; i++) {
        if (!histogram[i]) continue;
        n += histogram[i];
        ++*n_different;
        *n_last = histogram[i];
    }
    return n;
}

void leat__table_equalize(uint8_t table[256], const uint32_t histogram[256]) {
    int n_different;
    uint32_t n_last;
    const uint64_t n = count(histogram, &n_different, &n_last);
    const uint64_t step = (n - n_last) / 255;
    if (step == 0) { /* also with one value only */
        leat__table_identity(table);
        return;
    }
    uint64_t below = step / 2;
    for (int i = 0; i < 256; i++) {
        table[i] = (uint8_t)LEAT_MIN(below / step, (uint64_t)255);
        below += histogram[i];
    }
}

/* The layer divides each value by 255 and multiplies it by 255 again, which takes some of them to the one
 * below. */
static int keras_bin(int value) {
    return (int)((float)value / 255.0f * 255.0f);
}

void leat__table_keras_equalize(uint8_t table[256], const uint32_t histogram[256]) {
    int n_different;
    uint32_t n_last;
    uint8_t bin[256];
    const uint64_t n = count(histogram, &n_different, &n_last);
    if (n_different <= 1) {
        leat__table_identity(table);
        return;
    }
    uint64_t first = 0, below = 0;
    for (int i = 0; i < 256 && !first; i++) first = histogram[i];
    for (int i = 0; i < 256; i++) {
        below += histogram[i];
        const double x = below <= first ? 0 : (double)((below - first) * 255) / (double)(n - first);
        bin[i] = (uint8_t)leat__round_even(x);
    }
    for (int i = 0; i < 256; i++) table[i] = bin[keras_bin(i)];
}

/* Between two bytes, or beyond them. */
static uint8_t blend(int from, int to, float factor) {
    const float x = (float)from + factor * (float)(to - from);
    return leat__u8_from_f32(x);
}

void leat__table_pil_contrast(uint8_t table[256], int mean, float factor) {
    for (int i = 0; i < 256; i++) table[i] = blend(mean, i, factor);
}

void leat__table_pil_brightness(uint8_t table[256], float factor) {
    for (int i = 0; i < 256; i++) table[i] = blend(0, i, factor);
}

int leat__table_pil_mean(double gray, uint64_t n) {
    return n ? (int)(gray / (double)n + 0.5) : 0;
}

static const float unit = (float)(1.0 / 255.0);

void leat__table_tf_contrast(uint8_t table[256], double mean, float factor) {
    const float middle = (float)(mean * (double)unit);
    for (int i = 0; i < 256; i++) {
        const float x = ((float)i * unit - middle) * factor + middle;
        table[i] = leat__u8_from_f32(x * 255.5f);
    }
}

void leat__table_tf_brightness(uint8_t table[256], float delta) {
    for (int i = 0; i < 256; i++) table[i] = leat__u8_from_f32(((float)i * unit + delta) * 255.5f);
}

void leat__table_tf_gamma(uint8_t table[256], double gamma, double gain) {
    for (int i = 0; i < 256; i++) {
        const double x = (double)((float)i * unit), to = (double)(float)gamma;
        const float power = i == 0 ? (to == 0 ? 1.0f : 0.0f) : (float)leat__exp(to * leat__log(x));
        table[i] = leat__u8_from_f32((float)gain * power * 255.5f);
    }
}
