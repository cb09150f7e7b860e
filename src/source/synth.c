/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures made up on the spot: for practice sets, benchmarks and tests. Photo-like in what costs a decoder time
 * (smooth ground, edges, texture at several scales), and labelled so that a small network can learn them: the class
 * decides the shape and its colour. Integer arithmetic only, so they are the same everywhere. */
#include <stdio.h>

#include "base/hash.h"
#include "base/rng.h"
#include "source/source.h"

/* Value noise: random corners of a lattice, blended. Result in [0, 255]. */
static int lattice(uint64_t seed, int x, int y) {
    return (int)(leat__mix64(seed ^ ((uint64_t)(uint32_t)x << 32 | (uint32_t)y)) & 255);
}
/* One row of noise at lattice spacing 2^shift. */
static void noise_row(int *row, int width, int y, int shift, uint64_t seed) {
    const int cell = 1 << shift, fy = y & (cell - 1), y0 = y >> shift;
    for (int x0 = 0; x0 << shift < width; x0++) {
        const int a = lattice(seed, x0, y0), b = lattice(seed, x0 + 1, y0);
        const int c = lattice(seed, x0, y0 + 1), d = lattice(seed, x0 + 1, y0 + 1);
        const int left = a * (cell - fy) + c * fy, right = b * (cell - fy) + d * fy;
        const int end = LEAT_MIN(width - (x0 << shift), cell);
        for (int fx = 0; fx < end; fx++)
            row[(x0 << shift) + fx] += (left * (cell - fx) + right * fx) >> (2 * shift);
    }
}

/* Whether (x, y), in units of 1/256 of the shape's radius around its centre, lies inside the shape of a class. */
static bool inside(int shape, int64_t x, int64_t y) {
    const int64_t ax = x < 0 ? -x : x, ay = y < 0 ? -y : y, r2 = x * x + y * y;
    switch (shape) {
    case 0: return r2 < 256 * 256;                                    /* disc    */
    case 1: return ax < 200 && ay < 200;                              /* square  */
    case 2: return ax + ay < 256;                                     /* diamond */
    case 3: return (ax < 70 && ay < 250) || (ay < 70 && ax < 250);    /* cross   */
    case 4: return r2 < 256 * 256 && r2 > 150 * 150;                  /* ring    */
    case 5: return y > -200 && y < 200 && 2 * ax < y + 200;           /* triangle */
    case 6: return ax < 240 && (ay < 60 || (ay > 120 && ay < 200));   /* bars    */
    case 7: return ay < 240 && (ax < 60 || (ax > 120 && ax < 200));   /* columns */
    case 8: return ax < 230 && ay < 230 && (((x + 256) / 96 + (y + 256) / 96) & 1); /* chequers */
    default: return r2 < 256 * 256 && x * y > 0;                      /* two quarters */
    }
}

void leat__synth_paint(uint8_t *pixels, int height, int width, int channels, int label, uint64_t seed) {
    enum { ROW_MAX = 8192 };
    int noise[3][ROW_MAX];
    leat__rng rng = leat__rng_at(seed, (uint64_t)label, 0, 0);
    int ground[3], tint[3];
    for (int c = 0; c < 3; c++) ground[c] = 40 + (int)leat__rng_below(&rng, 150);
    /* The colour leans to the class too, so that some classes are easy. */
    for (int c = 0; c < 3; c++)
        tint[c] = (int)((leat__mix64((uint64_t)label * 3 + (uint64_t)c + 77) & 127) + 64 + leat__rng_below(&rng, 64));
    const int short_side = LEAT_MAX(LEAT_MIN(height, width), 1);
    const int radius = LEAT_MAX(short_side / 5 + (int)leat__rng_below(&rng, (uint64_t)short_side / 5 + 1), 1);
    const int cx = width / 4 + (int)leat__rng_below(&rng, (uint64_t)width / 2 + 1);
    const int cy = height / 4 + (int)leat__rng_below(&rng, (uint64_t)height / 2 + 1);
    const uint64_t texture = leat__rng_u64(&rng);
    for (int y = 0; y < height; y++) {
        uint8_t *out = pixels + (size_t)y * (size_t)width * (size_t)channels;
        for (int x_begin = 0; x_begin < width; x_begin += ROW_MAX) {
            const int n = LEAT_MIN(width - x_begin, ROW_MAX);
            for (int k = 0; k < 3; k++) memset(noise[k], 0, (size_t)n * sizeof(int));
            noise_row(noise[0], n, y, 6, texture + (uint64_t)x_begin);     /* light and shade */
            noise_row(noise[1], n, y, 3, texture + 1 + (uint64_t)x_begin); /* texture         */
            noise_row(noise[2], n, y, 1, texture + 2 + (uint64_t)x_begin); /* grain           */
            for (int x = 0; x < n; x++) {
                const int64_t dx = (int64_t)(x_begin + x - cx) * 256 / radius, dy = (int64_t)(y - cy) * 256 / radius;
                const bool in = inside(label % 10, dx, dy);
                const int shade = (noise[0][x] - 128) / 2 + (noise[1][x] - 128) / (in ? 10 : 4) + (noise[2][x] - 128) / 10;
                for (int c = 0; c < channels; c++) {
                    const int v = (in ? tint[c % 3] : ground[c % 3]) + shade;
                    out[(size_t)(x_begin + x) * (size_t)channels + (size_t)c] = (uint8_t)LEAT_CLAMP(v, 0, 255);
                }
            }
        }
    }
}

typedef struct synth {
    leat__source base;
    leat__synth_options options;
} synth;

static int read_made(const leat__source *source, leat__reader *reader, uint64_t sample, leat__value *values,
                     leat_error *err) {
    const leat__synth_options *o = &((const synth *)source)->options;
    const size_t bytes = (size_t)o->height * (size_t)o->width * (size_t)o->channels;
    if (!leat__buf_reserve(&reader->extra, bytes + sizeof(int64_t) + LEAT_MEM_PAD))
        return leat__fail_memory(err, bytes, "a synthetic picture");
    const int64_t label = (int64_t)(sample % (uint64_t)o->n_classes);
    leat__synth_paint(reader->extra.data, o->height, o->width, o->channels, (int)label, leat__mix64(o->seed) ^ sample);
    uint8_t *label_at = reader->extra.data + LEAT_ALIGN_UP(bytes, (size_t)8);
    memcpy(label_at, &label, sizeof label);
    values[0] = (leat__value){.data = reader->extra.data,
                              .bytes = bytes,
                              .dtype = LEAT_DTYPE_U8,
                              .ndim = 3,
                              .shape = {o->height, o->width, o->channels}};
    values[1] = (leat__value){.data = label_at, .bytes = sizeof label, .dtype = LEAT_DTYPE_I64};
    return 0;
}

static void describe(const leat__source *source, uint64_t sample, char *text, size_t cap) {
    (void)source;
    snprintf(text, cap, "synthetic picture %" PRIu64, sample);
}

static const leat__source_class synth_class = {.name = "synth", .read = read_made, .describe = describe};

int leat__synth_open(leat__source **out, const leat__synth_options *options, leat_error *err) {
    *out = NULL;
    synth *self = leat__alloc(LEAT_MEM_PLAN, sizeof *self);
    if (!self) return leat__fail_memory(err, sizeof *self, "a synthetic source");
    self->options = *options;
    leat__source *base = &self->base;
    base->class = &synth_class;
    base->n_samples = options->n;
    const int64_t shape[] = {options->height, options->width, options->channels};
    leat__source_field(base, "image", LEAT_DTYPE_U8, 3, shape);
    leat__source_field(base, "label", LEAT_DTYPE_I64, 0, NULL);
    base->bytes_max = (size_t)options->height * (size_t)options->width * (size_t)options->channels;
    const uint64_t facts[] = {options->n, options->seed, (uint64_t)options->n_classes, base->bytes_max};
    base->fingerprint = leat__hash(facts, sizeof facts, 0);
    snprintf(base->title, sizeof base->title, "%" PRIu64 " synthetic pictures %dx%dx%d in %d classes", options->n,
             options->height, options->width, options->channels, options->n_classes);
    *out = base;
    return 0;
}
