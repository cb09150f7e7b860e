/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures made up on the spot: for practice sets, benchmarks and tests. A landscape (sky, three ranges of
 * hills, some poles) with one large figure in front of it. Photo-like in what costs a decoder time: smooth
 * and rough areas, soft edges, detail at several scales, grain. Labelled so that a small network can learn
 * them: the class decides the figure's shape, its pattern and the colour that it leans to. Integer arithmetic
 * only, so they are the same everywhere.
 *
 * A picture is painted in blocks of columns, row by row:
 *
 *     layers (what is there) -> smoothed over 2 x 3 pixels -> light, texture and grain -> pixels */
#include <stdio.h>

#include "base/hash.h"
#include "base/rng.h"
#include "source/source.h"

/* BLOCK is a multiple of the largest lattice cell, so that blocks meet without a seam. */
enum { BLOCK = 1024, EDGE = 1, HILLS = 3, POLES = 4 };
/* Scales of detail, each with a purpose. */
enum { LIGHT, COLOUR, ROUGH, COARSE, FINE, OCTAVES };

/* ------------------------------------------------------------------------------------------- noise
 * Value noise: random corners of a lattice of cells of 2^shift pixels, blended. Around 0, in [-128, 127]. */

typedef struct noise {
    uint64_t seed;
    int shift, x_begin, n; /* of the block                                  */
    int row;               /* of the lattice, that corner[0] holds; -1 none */
    int16_t corner[2][BLOCK / 2 + 4];
} noise;

static void noise_begin(noise *self, uint64_t seed, int shift, int x_begin, int n) {
    self->seed = leat__mix64(seed + (uint64_t)shift);
    self->shift = shift;
    self->x_begin = x_begin;
    self->n = n;
    self->row = -1;
}

static void fill_corners(const noise *self, int16_t *corner, int row) {
    const int first = self->x_begin >> self->shift, n = ((self->n - 1) >> self->shift) + 2;
    const uint64_t key = self->seed ^ leat__mix64((uint64_t)(uint32_t)row);
    for (int i = 0; i < n; i++) {
        const uint64_t at = (uint64_t)(uint32_t)(first + i);
        corner[i] = (int16_t)((int)(leat__mix64(key + at * UINT64_C(0x9e3779b97f4a7c15)) & 255) - 128);
    }
}

/* row[i] = noise in the i-th column of the block. */
static void noise_row(noise *self, int16_t *row, int y) {
    const int shift = self->shift, cell = 1 << shift, lattice = y >> shift, fy = y & (cell - 1);
    if (lattice != self->row) {
        if (lattice == self->row + 1 && self->row >= 0)
            memcpy(self->corner[0], self->corner[1], sizeof self->corner[0]);
        else fill_corners(self, self->corner[0], lattice);
        fill_corners(self, self->corner[1], lattice + 1);
        self->row = lattice;
    }
    int left = self->corner[0][0] * (cell - fy) + self->corner[1][0] * fy;
    for (int x = 0, i = 1; x < self->n; i++) {
        const int right = self->corner[0][i] * (cell - fy) + self->corner[1][i] * fy;
        const int end = LEAT_MIN(x + cell, self->n), step = right - left;
        for (int v = left * cell; x < end; x++, v += step) row[x] = (int16_t)(v >> (2 * shift));
        left = right;
    }
}

/* Grain: nothing smooth about it. */
static void grain_row(int16_t *row, int n, uint64_t key) {
    for (int x = 0; x < n; x += 8) {
        uint64_t bits = leat__mix64(key + (uint64_t)x * UINT64_C(0x9e3779b97f4a7c15));
        for (int i = x; i < LEAT_MIN(x + 8, n); i++, bits >>= 8)
            row[i] = (int16_t)((int)(bits & 15) + (int)(bits >> 4 & 15) - 15);
    }
}

/* ------------------------------------------------------------------------------------------- scene */

typedef struct scene {
    int height, width;
    int sky[2][3]; /* at the top, at the horizon */
    int hill[HILLS][3], hill_top[HILLS], hill_high[HILLS];
    struct {
        int x, slant, wide, top, colour[3];
    } pole[POLES];
    int tint[3], shape, pattern;
    int cx, cy, radius; /* of the figure */
    int contrast;       /* of the light  */
    uint64_t texture;
} scene;

static int between(leat__rng *rng, int low, int high) {
    return low + (int)leat__rng_below(rng, (uint64_t)LEAT_MAX(high - low, 0) + 1);
}

/* Muted, as most of what one photographs. */
static void pick_colour(leat__rng *rng, int colour[3], int low, int high) {
    const int gray = between(rng, low, high);
    for (int c = 0; c < 3; c++) colour[c] = gray + between(rng, -32, 32);
}

static void make_scene(scene *s, int height, int width, int label, uint64_t seed) {
    leat__rng rng = leat__rng_at(seed, (uint64_t)label, 0, 0);
    *s = (scene){.height = height, .width = width, .shape = label % 10, .pattern = label / 10 % 4};
    pick_colour(&rng, s->sky[0], 70, 190);
    pick_colour(&rng, s->sky[1], 140, 230);
    for (int i = 0, top = height / 4; i < HILLS; i++) {
        pick_colour(&rng, s->hill[i], 40, 180);
        s->hill_top[i] = top += between(&rng, height / 16, height / 5);
        s->hill_high[i] = between(&rng, height / 16, height / 4);
    }
    for (int i = 0; i < POLES; i++) {
        pick_colour(&rng, s->pole[i].colour, 20, 200);
        s->pole[i].x = between(&rng, 0, width);
        s->pole[i].slant = between(&rng, -90, 90);
        s->pole[i].wide = between(&rng, width / 100, width / 16) + 1;
        s->pole[i].top = between(&rng, 0, height);
    }
    for (int c = 0; c < 3; c++)
        s->tint[c] =
            (int)(leat__mix64((uint64_t)label * 3 + (uint64_t)c + 77) & 127) + 48 + between(&rng, 0, 56);
    const int side = LEAT_MIN(height, width);
    s->radius = LEAT_MAX(between(&rng, side / 4, side * 2 / 5), 1);
    s->cx = between(&rng, width / 3, width * 2 / 3);
    s->cy = between(&rng, height / 3, height * 2 / 3);
    s->contrast = between(&rng, 50, 110);
    s->texture = leat__rng_u64(&rng);
}

/* Whether (x, y), in units of 1/256 of the figure's radius around its centre, lies inside a shape. */
static bool inside(int shape, int x, int y) {
    const int ax = x < 0 ? -x : x, ay = y < 0 ? -y : y, r2 = x * x + y * y;
    switch (shape) {
    case 0: return r2 < 256 * 256;                                                  /* disc         */
    case 1: return ax < 200 && ay < 200;                                            /* square       */
    case 2: return ax + ay < 256;                                                   /* diamond      */
    case 3: return (ax < 70 && ay < 250) || (ay < 70 && ax < 250);                  /* cross        */
    case 4: return r2 < 256 * 256 && r2 > 150 * 150;                                /* ring         */
    case 5: return y > -200 && y < 200 && 2 * ax < y + 200;                         /* triangle     */
    case 6: return ax < 240 && (ay < 60 || (ay > 120 && ay < 200));                 /* bars         */
    case 7: return ay < 240 && (ax < 60 || (ax > 120 && ax < 200));                 /* columns      */
    case 8: return ax < 240 && ay < 240 && (((x + 240) / 96 + (y + 240) / 96) & 1); /* chequers */
    default: return r2 < 256 * 256 && x * y > 0;                                    /* two quarters */
    }
}

/* Classes beyond the tenth have a pattern on their figure. */
static int pattern_at(int pattern, int x, int y) {
    switch (pattern) {
    case 1: return (y & 63) < 20 ? -50 : 0;
    case 2: return (x & 63) < 20 ? -50 : 0;
    case 3: return ((x + y) & 63) < 20 ? 50 : 0;
    default: return 0;
    }
}

/* ------------------------------------------------------------------------------------------- layers */

typedef struct block {
    const scene *scene;
    int x_begin, n;
    int hill[HILLS][BLOCK];        /* where its ridge runs                                */
    int16_t tone[2][3][BLOCK + 2]; /* layers of this row and the one above; one pixel of edge */
    uint8_t rough[BLOCK];          /* how much texture there is                            */
    noise octave[OCTAVES];
    int16_t value[OCTAVES][BLOCK];
    int16_t grain[BLOCK];
} block;

static void begin_block(block *b, const scene *s, int x_begin, int n) {
    static const int shifts[OCTAVES] = {7, 6, 5, 3, 1};
    b->scene = s;
    b->x_begin = x_begin;
    b->n = n;
    for (int i = 0; i < OCTAVES; i++)
        noise_begin(&b->octave[i], s->texture + (uint64_t)i * 977, shifts[i], x_begin, n);
    for (int i = 0; i < HILLS; i++) {
        noise ridge, stones;
        noise_begin(&ridge, s->texture + 31 + (uint64_t)i, 6, x_begin, n);
        noise_begin(&stones, s->texture + 57 + (uint64_t)i, 3, x_begin, n);
        noise_row(&ridge, b->value[0], 0);
        noise_row(&stones, b->value[1], 0);
        for (int x = 0; x < n; x++)
            b->hill[i][x] = s->hill_top[i] + (b->value[0][x] * s->hill_high[i] >> 7) + (b->value[1][x] >> 5);
    }
}

static void put_colour(int16_t tone[3][BLOCK + 2], int x, const int colour[3]) {
    for (int c = 0; c < 3; c++) tone[c][x + EDGE] = (int16_t)colour[c];
}

static void paint_figure(block *b, int16_t tone[3][BLOCK + 2], int y) {
    const scene *s = b->scene;
    const int unit = (256 << 12) / s->radius; /* of 1/4096 */
    const int dy = (int)((int64_t)(y - s->cy) * unit >> 12);
    if (dy < -260 || dy > 260) return;
    const int first = LEAT_MAX(s->cx - s->radius - b->x_begin, 0),
              last = LEAT_MIN(s->cx + s->radius - b->x_begin, b->n - 1);
    for (int x = first; x <= last; x++) {
        const int dx = (int)((int64_t)(b->x_begin + x - s->cx) * unit >> 12);
        if (!inside(s->shape, dx, dy)) continue;
        /* Lit from above on the left. */
        const int light = -(dx + dy) / 12 + pattern_at(s->pattern, dx + 512, dy + 512);
        for (int c = 0; c < 3; c++) tone[c][x + EDGE] = (int16_t)(s->tint[c] + light);
        b->rough[x] = (uint8_t)(b->rough[x] / 3 + 20);
    }
}

static void paint_layers(block *b, int16_t tone[3][BLOCK + 2], int y) {
    const scene *s = b->scene;
    const int down = y * 256 / LEAT_MAX(s->height, 1);
    int sky[3];
    for (int c = 0; c < 3; c++) sky[c] = s->sky[0][c] + ((s->sky[1][c] - s->sky[0][c]) * down >> 8);
    for (int x = 0; x < b->n; x++) {
        const int *colour = sky, base = b->value[ROUGH][x] + 128;
        int rough = base / 5;
        for (int i = 0; i < HILLS; i++)
            if (y > b->hill[i][x]) colour = s->hill[i], rough = 40 + base * (i + 1) / 4;
        put_colour(tone, x, colour);
        b->rough[x] = (uint8_t)LEAT_MIN(rough, 255);
    }
    for (int i = 0; i < POLES; i++) {
        const int at = s->pole[i].x + (y * s->pole[i].slant >> 8) - b->x_begin;
        if (y < s->pole[i].top) continue;
        for (int x = LEAT_MAX(at, 0); x < LEAT_MIN(at + s->pole[i].wide, b->n); x++)
            put_colour(tone, x, s->pole[i].colour);
    }
    paint_figure(b, tone, y);
    for (int c = 0; c < 3; c++) tone[c][0] = tone[c][EDGE], tone[c][b->n + EDGE] = tone[c][b->n];
}

static void paint_block(block *b, uint8_t *pixels, int channels) {
    const scene *s = b->scene;
    for (int y = 0; y < s->height; y++) {
        for (int i = 0; i < OCTAVES; i++) noise_row(&b->octave[i], b->value[i], y);
        grain_row(b->grain, b->n, s->texture ^ leat__mix64((uint64_t)y * 65536 + (uint64_t)b->x_begin));
        paint_layers(b, b->tone[y & 1], y);
        if (y == 0) memcpy(b->tone[1], b->tone[0], sizeof b->tone[0]);
        uint8_t *out = pixels + ((size_t)y * (size_t)s->width + (size_t)b->x_begin) * (size_t)channels;
        int16_t shade[BLOCK];
        for (int x = 0; x < b->n; x++)
            shade[x] = (int16_t)((b->value[LIGHT][x] * s->contrast >> 8) +
                                 ((b->value[COARSE][x] + 2 * b->value[FINE][x]) * b->rough[x] >> 9) +
                                 b->grain[x] * 5 / 8);
        for (int c = 0; c < channels; c++) {
            const int16_t *above = b->tone[~y & 1][c % 3], *here = b->tone[y & 1][c % 3];
            const int warm = c % 3 == 0 ? 24 : c % 3 == 2 ? -24 : 0;
            for (int x = 0; x < b->n; x++) {
                const int soft =
                    above[x] + 2 * above[x + 1] + above[x + 2] + here[x] + 2 * here[x + 1] + here[x + 2];
                const int v = (soft >> 3) + shade[x] + (b->value[COLOUR][x] * warm >> 7);
                out[(size_t)x * (size_t)channels + (size_t)c] = (uint8_t)LEAT_CLAMP(v, 0, 255);
            }
        }
    }
}

void leat__synth_paint(uint8_t *pixels, int height, int width, int channels, int label, uint64_t seed) {
    scene s;
    block b;
    make_scene(&s, height, width, label, seed);
    for (int x = 0; x < width; x += BLOCK) {
        begin_block(&b, &s, x, LEAT_MIN(width - x, BLOCK));
        paint_block(&b, pixels, channels);
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
    leat__synth_paint(reader->extra.data, o->height, o->width, o->channels, (int)label,
                      leat__mix64(o->seed) ^ sample);
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

static bool known(const leat__source *source, uint64_t sample, int field, leat__value *value, void *room) {
    const int64_t label = (int64_t)(sample % (uint64_t)((const synth *)source)->options.n_classes);
    if (field != 1) return false;
    memcpy(room, &label, sizeof label);
    *value = (leat__value){.data = room, .bytes = sizeof label, .dtype = LEAT_DTYPE_I64};
    return true;
}

/* It changes with its numbers alone, and those are its fingerprint. */
static int version(const leat__source *source, int n_threads, bool exact, uint64_t *out, leat_error *err) {
    (void)n_threads, (void)exact, (void)err;
    *out = source->fingerprint;
    return 0;
}

static const leat__source_class synth_class = {.version = version,
                                               .name = "synth",
                                               .bytes_per_us = 100,
                                               .read = read_made,
                                               .describe = describe,
                                               .known = known};

int leat__synth_open(leat__source **out, const leat__synth_options *options, leat_error *err) {
    *out = NULL;
    synth *self = leat__alloc(LEAT_MEM_PLAN, sizeof *self);
    if (!self) return leat__fail_memory(err, sizeof *self, "a synthetic source");
    self->options = *options;
    leat__source *base = &self->base;
    base->class = &synth_class;
    base->n_samples = options->n;
    const int64_t shape[] = {options->height, options->width, options->channels};
    leat__source_field(base, "image", LEAT_DTYPE_U8, 3, shape)->layout = LEAT_LAYOUT_NHWC;
    leat__source_field(base, "label", LEAT_DTYPE_I64, 0, NULL);
    base->bytes_max = (size_t)options->height * (size_t)options->width * (size_t)options->channels;
    const uint64_t facts[] = {options->n,
                              options->seed,
                              (uint64_t)options->n_classes,
                              (uint64_t)options->height,
                              (uint64_t)options->width,
                              (uint64_t)options->channels};
    base->fingerprint = leat__hash(facts, sizeof facts, 0);
    snprintf(base->title, sizeof base->title, "%" PRIu64 " synthetic pictures %dx%dx%d in %d classes",
             options->n, options->height, options->width, options->channels, options->n_classes);
    *out = base;
    return 0;
}
