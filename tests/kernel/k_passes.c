/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of progressive JPEG scans, on noise that is read as codes. Noise makes a block of no meaning sooner or later.
 * Up to there, and on that it is so, both forms must agree. */
#include "kernel/harness.h"

#include "decode/jpeg/jpeg_huffman.h"
#include "decode/jpeg/jpeg_scan.h"

enum { N_BLOCKS = 24, DC_FIRST, DC_REFINE, AC_FIRST, AC_REFINE };

typedef struct pass {
    leat__jpeg_dc_table dc;
    leat__jpeg_ac_table ac;
    leat__jpeg_code code;
    leat__jpeg_scan scan[2];
    leat__jpeg_strip strip[2];
} pass;

/* Symbols of these runs and sizes in any order, which decides how long their codes are. */
static void random_code(uint8_t counts[17], uint8_t symbols[256], int size_max, int run_max) {
    int n = 0;
    for (int run = 0; run <= 15; run++)
        for (int size = 0; size <= size_max; size++)
            if (run <= run_max || (size == 0 && run_max)) symbols[n++] = (uint8_t)(run << 4 | size);
    for (int i = 0; i < n; i++) {
        const size_t k = k_below((size_t)n);
        const uint8_t kept = symbols[i];
        symbols[i] = symbols[k];
        symbols[k] = kept;
    }
    memset(counts, 0, 17);
    for (int length = 1, left = n, room = 2; length <= 16; length++, room *= 2) { /* codes that are free */
        const int most = length == 16 ? left : (int)k_below((size_t)(room / 3) + 1);
        counts[length] = (uint8_t)LEAT_MIN(most, left);
        left -= counts[length];
        room -= counts[length];
    }
}

/* Coefficients of a band that a scan refines, or of what is not in the band that a first one reads. */
static void fill_stored(pass *p, int kind, int16_t *blocks, uint64_t *sets) {
    const leat__jpeg_strip *strip = &p->strip[0];
    uint8_t slots[256];
    leat__jpeg_band_slots(slots, 63);
    memset(blocks, 0, 64 * (N_BLOCKS + 1) * sizeof *blocks);
    for (int i = 0; i < N_BLOCKS; i++) {
        const size_t often = 1 + k_below(8);
        sets[i] = 0;
        blocks[64 * i] = (int16_t)(k_below(2000) << (strip->low + 1));
        for (int k = 1; k < 64; k++) {
            const uint64_t bit = (uint64_t)1 << (63 - k);
            const int value = ((int)k_below(65) - 32) * (2 << strip->low);
            if (k_below(often) || value == 0 || (kind == AC_FIRST && strip->band & bit)) continue;
            blocks[64 * i + slots[k]] = (int16_t)value;
            sets[i] |= bit;
        }
    }
}

static void begin_pass(pass *p, int kind) {
    leat__jpeg_scan *scan = &p->scan[0];
    uint8_t counts[17], symbols[256];
    memset(p, 0, sizeof *p);
    random_code(counts, symbols, LEAT_JPEG_DC_SIZE_MAX, 0);
    leat__jpeg_dc_build(&p->dc, counts, symbols);
    random_code(counts, symbols, LEAT_JPEG_AC_SIZE_MAX, 1 + (int)k_below(15));
    leat__jpeg_ac_build(&p->ac, counts, symbols);
    random_code(counts, symbols, 1, 1 + (int)k_below(4));
    leat__jpeg_refine_build(&p->code, counts, symbols);
    scan->n_units = kind <= DC_REFINE ? 3 : 1;
    for (int u = 0; u < 3; u++) scan->unit[u] = (leat__jpeg_unit){.component = u, .dc = &p->dc};
    k_fill(scan->window, sizeof scan->window);
    scan->reader.next = scan->window + LEAT_JPEG_HISTORY;
    scan->empty = k_below(3) ? 0 : (unsigned)k_below(6);
    p->scan[1] = p->scan[0];
    p->scan[1].reader.next = p->scan[1].window + LEAT_JPEG_HISTORY;
    const size_t limit = 1024 + k_below(LEAT_JPEG_WINDOW - 1024);
    for (int i = 0; i < 2; i++) p->scan[i].limit = p->scan[i].window + limit;
    const int first = 1 + (int)k_below(63), last = first + (int)k_below((size_t)(64 - first));
    p->strip[0] = (leat__jpeg_strip){.first = first,
                                     .last = last,
                                     .low = (int)k_below(4),
                                     .band = UINT64_MAX >> first & UINT64_MAX << (63 - last),
                                     .ac = &p->ac,
                                     .code = &p->code};
    leat__jpeg_band_slots(p->strip[0].slots, last);
}

static int run(const leat__jpeg_dsp *dsp, int kind, pass *p, int i, int from, int to) {
    switch (kind) {
    case DC_FIRST: return dsp->dc_first(&p->scan[i], &p->strip[i], from, to);
    case DC_REFINE: return dsp->dc_refine(&p->scan[i], &p->strip[i], from, to);
    case AC_FIRST: return dsp->ac_first(&p->scan[i], &p->strip[i], from, to);
    default: return dsp->ac_refine(&p->scan[i], &p->strip[i], from, to);
    }
}

typedef struct state { /* all that a kernel changes */
    int64_t came, next, count, empty, prediction, bad;
    uint64_t sets[N_BLOCKS];
    int16_t blocks[64 * (N_BLOCKS + 1)];
} state;

static void point_strip(leat__jpeg_strip *strip, int kind, state *s) {
    for (int u = 0; u < 3; u++) {
        strip->blocks[u] = s->blocks + (kind <= DC_REFINE ? 64 * u : 0);
        strip->step[u] = 64 * 3;
    }
    strip->sets = s->sets;
}

static void check_pass(const leat__image_dsp *unused, const leat__image_dsp *unused_too, int kind) {
    (void)unused, (void)unused_too;
    static pass p;
    leat__jpeg_dsp dsp[2];
    leat__jpeg_dsp_init(&dsp[0], 0);
    leat__jpeg_dsp_init(&dsp[1], k_isa_flags());
    k_replace(&dsp[1], sizeof dsp[1]);
    const int n = kind <= DC_REFINE ? N_BLOCKS / 3 : N_BLOCKS;
    for (int round = 0; round < 4 * K_ROUNDS; round++) {
        void *out[2];
        k_outputs(sizeof(state), 0, &out[0], &out[1]);
        begin_pass(&p, kind);
        state *s[2] = {out[0], out[1]};
        fill_stored(&p, kind, s[0]->blocks, s[0]->sets);
        memcpy(s[1], s[0], sizeof *s[0]);
        p.strip[1] = p.strip[0];
        const int step = 1 + (int)k_below((size_t)n);
        int came = 0;
        bool bad = false;
        for (int from = 0; from < n && came == from && !bad; from += step) {
            for (int i = 0; i < 2; i++) {
                point_strip(&p.strip[i], kind, s[i]);
                const leat__jpeg_scan *scan = &p.scan[i];
                s[i]->came = run(&dsp[i], kind, &p, i, from, LEAT_MIN(from + step, n));
                s[i]->next = scan->reader.next - scan->window;
                s[i]->count = scan->reader.count;
                s[i]->empty = scan->empty;
                s[i]->prediction = scan->prediction[0] + scan->prediction[1] + scan->prediction[2];
                s[i]->bad = scan->bad;
            }
            came = (int)s[0]->came;
            bad = s[0]->bad && s[1]->bad;
        }
        if (bad) memcpy(s[1], s[0], sizeof *s[0]); /* of no use */
        k_compare(sizeof(state), 0, "%d of %d, band %d to %d, bad %d", came, n, p.strip[0].first,
                  p.strip[0].last, bad);
    }
}

static void bench_pass(const leat__image_dsp *unused, int kind, k_bench *bench) {
    (void)unused;
    static pass p;
    static state fresh, s;
    leat__jpeg_dsp isa;
    leat__jpeg_dsp_init(&isa, k_isa_flags());
    begin_pass(&p, kind);
    p.strip[0].low = 0;
    fill_stored(&p, kind, fresh.blocks, fresh.sets);
    point_strip(&p.strip[0], kind, &s);
    const leat__jpeg_bits begin = p.scan[0].reader;
    for (k_bench_begin(bench, sizeof s.blocks); k_bench_go(bench);) {
        memcpy(&s, &fresh, sizeof s);
        p.scan[0].reader = begin;
        p.scan[0].empty = 0;
        run(&isa, kind, &p, 0, 0, kind <= DC_REFINE ? N_BLOCKS / 3 : N_BLOCKS);
    }
}

const k_case k_passes_cases[] = {
    {"jpeg_dc_first", DC_FIRST, check_pass, bench_pass},
    {"jpeg_dc_refine", DC_REFINE, check_pass, bench_pass},
    {"jpeg_ac_first", AC_FIRST, check_pass, bench_pass},
    {"jpeg_ac_refine", AC_REFINE, check_pass, bench_pass},
    {0},
};
