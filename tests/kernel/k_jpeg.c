/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of the JPEG decoder. They have a table of their own, and their rows are padded on both sides. */
#include "kernel/harness.h"

#include "decode/jpeg/jpeg_huffman.h"
#include "decode/jpeg/jpeg_scan.h"

enum { BLOCKS = 12 };

static void tables(leat__jpeg_dsp *c, leat__jpeg_dsp *isa) {
    leat__jpeg_dsp_init(c, 0);
    leat__jpeg_dsp_init(isa, k_isa_flags());
    k_replace(isa, sizeof *isa);
}

static void init_table(void *table, unsigned flags) {
    leat__jpeg_dsp_init(table, flags);
}
const k_table k_jpeg_table = {"jpeg", sizeof(leat__jpeg_dsp), init_table};

/* n bytes with room to read on both sides; the pads differ from one call to the next. */
static uint8_t *padded(int slot, size_t n) {
    uint8_t *bytes = k_input(slot, n + 2 * LEAT_JPEG_PAD);
    k_fill(bytes, n + 2 * LEAT_JPEG_PAD);
    return bytes + LEAT_JPEG_PAD;
}

static size_t random_count(void) {
    return 1 + k_below(k_below(4) ? 80 : 700);
}

/* ------------------------------------------------------------------------------------------- blocks */

enum { N_BLOCKS = 24 };

/* A code of all symbols that blocks may have; short codes are for those that come first. */
static void random_code(uint8_t counts[17], uint8_t symbols[256], int size_max, int run_max) {
    int n = 0;
    for (int run = 0; run <= run_max; run++)
        for (int size = 0; size <= size_max; size++) symbols[n++] = (uint8_t)(run << 4 | size);
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

/* A scan of noise in front of each of them. */
static void begin_noise(leat__jpeg_scan scan[2], const leat__jpeg_dc_table *dc,
                        const leat__jpeg_ac_table *ac) {
    leat__jpeg_scan *s = &scan[0];
    memset(s, 0, sizeof *s);
    s->n_units = 3;
    for (int u = 0; u < 3; u++)
        s->unit[u] = (leat__jpeg_unit){.component = u, .wanted = u < 2 || k_below(2), .dc = dc, .ac = ac};
    k_fill(s->window, sizeof s->window);
    s->reader.next = s->window + LEAT_JPEG_HISTORY;
    s->end = s->window + 1024 + k_below(LEAT_JPEG_WINDOW - 1024);
    s->limit = s->end - LEAT_JPEG_BLOCK_BYTES;
    scan[1] = scan[0];
    scan[1].reader.next = scan[1].window + LEAT_JPEG_HISTORY;
    scan[1].limit = scan[1].window + (s->limit - s->window);
}

static void check_blocks(const leat__image_dsp *unused, const leat__image_dsp *unused_too, int skip) {
    (void)unused, (void)unused_too;
    static leat__jpeg_dc_table dc;
    static leat__jpeg_ac_table ac;
    static leat__jpeg_scan scan[2];
    const leat__jpeg_dsp *dsp[2];
    leat__jpeg_dsp c, isa;
    tables(&c, &isa);
    dsp[0] = &c, dsp[1] = &isa;
    for (int round = 0; round < K_ROUNDS; round++) {
        uint8_t counts[17], symbols[256];
        random_code(counts, symbols, LEAT_JPEG_DC_SIZE_MAX, 0);
        bool built = leat__jpeg_dc_build(&dc, counts, symbols);
        random_code(counts, symbols, LEAT_JPEG_AC_SIZE_MAX, 15);
        built &= leat__jpeg_ac_build(&ac, counts, symbols);
        leat__jpeg_ac_build_skip(&ac);
        begin_noise(scan, &dc, &ac);
        void *out[2];
        const size_t bytes = (64 * (N_BLOCKS + 1)) * sizeof(int16_t) + N_BLOCKS + sizeof(int64_t[5]);
        k_outputs(bytes, 0, &out[0], &out[1]);
        for (int i = 0; i < 2; i++) { /* coefficients, last ones, and where the reader stands */
            int16_t *blocks = out[i];
            uint8_t *last = (uint8_t *)(blocks + 64 * (N_BLOCKS + 1));
            memset(out[i], 0, bytes);
            int64_t state[5];
            if (skip) state[0] = dsp[i]->skip(&scan[i], 1, N_BLOCKS);
            else state[0] = dsp[i]->read(&scan[i], blocks, last, 1, N_BLOCKS);
            state[1] = (int64_t)scan[i].bad + (built ? 0 : 2 + i); /* then they differ */
            state[2] = scan[i].reader.next - scan[i].window;
            state[3] = scan[i].reader.count;
            state[4] = scan[i].prediction[0] + scan[i].prediction[1] + scan[i].prediction[2];
            memcpy(last + N_BLOCKS, state, sizeof state);
        }
        k_compare(bytes, 0, "built %d", built);
    }
}

/* Blocks and last coefficients of two runs, and where they ended. */
typedef struct two_runs {
    int16_t blocks[2][64 * (N_BLOCKS + 1)];
    uint8_t last[2][N_BLOCKS];
    int64_t bit[2], prediction[2], done, bad;
} two_runs;

static int64_t bit_of(const leat__jpeg_scan *scan, const leat__jpeg_bits *reader) {
    return 8 * (reader->next - scan->window) - (int64_t)reader->count;
}

static int64_t sum_of(const int prediction[3]) {
    return prediction[0] + 3 * prediction[1] + 9 * prediction[2];
}

static void run_two(const leat__jpeg_dsp *dsp, leat__jpeg_scan *scan, two_runs *out) {
    int16_t *const blocks[2] = {out->blocks[0], out->blocks[1]};
    uint8_t *const last[2] = {out->last[0], out->last[1]};
    out->done = dsp->read_two(scan, blocks, last, N_BLOCKS);
    out->bad = scan->bad;
    out->bit[0] = bit_of(scan, &scan->reader), out->bit[1] = bit_of(scan, &scan->second);
    out->prediction[0] = sum_of(scan->prediction), out->prediction[1] = sum_of(scan->second_prediction);
}

static void run_one_by_one(const leat__jpeg_dsp *dsp, leat__jpeg_scan *scan, two_runs *out) {
    out->done = true;
    for (int i = 0; i < 2; i++) {
        if (i == 1) leat__jpeg_scan_take_second(scan);
        out->done &= dsp->read(scan, out->blocks[i], out->last[i], 0, N_BLOCKS) == N_BLOCKS;
        out->bit[i] = bit_of(scan, &scan->reader);
        out->prediction[i] = sum_of(scan->prediction);
    }
    out->bad = scan->bad;
}

/* Two readers in turns, against plain C, and against one after the other if both reach their ends. */
static void check_read_two(const leat__image_dsp *unused, const leat__image_dsp *unused_too, int singly) {
    (void)unused, (void)unused_too;
    static leat__jpeg_dc_table dc;
    static leat__jpeg_ac_table ac;
    static leat__jpeg_scan scan[2];
    leat__jpeg_dsp c, isa;
    tables(&c, &isa);
    for (int round = 0; round < 4 * K_ROUNDS; round++) {
        uint8_t counts[17], symbols[256];
        random_code(counts, symbols, LEAT_JPEG_DC_SIZE_MAX, 0);
        bool built = leat__jpeg_dc_build(&dc, counts, symbols);
        random_code(counts, symbols, LEAT_JPEG_AC_SIZE_MAX, 15);
        built &= leat__jpeg_ac_build(&ac, counts, symbols);
        if (!built) continue;
        begin_noise(scan, &dc, &ac);
        const size_t apart = k_below(6000);
        for (int i = 0; i < 2; i++) {
            for (int u = 0; u < 3; u++) scan[i].unit[u].wanted = true;
            scan[i].second = (leat__jpeg_bits){.next = scan[i].reader.next + apart};
            for (int u = 0; u < 3; u++) scan[i].second_prediction[u] = 100 * u;
        }
        void *out[2];
        k_outputs(sizeof(two_runs), 0, &out[0], &out[1]);
        memset(out[0], 0, sizeof(two_runs));
        memset(out[1], 0, sizeof(two_runs));
        two_runs *one = out[0], *two = out[1];
        run_two(&isa, &scan[1], two);
        if (singly) run_one_by_one(&c, &scan[0], one);
        else run_two(&c, &scan[0], one);
        const int done = (int)two->done, bad = (int)two->bad;
        if (singly && (!done || bad)) { /* where runs stop that do not end does not matter */
            const int64_t ends = one->done && !one->bad;
            memset(out[0], 0, sizeof *one), memset(out[1], 0, sizeof *two);
            one->done = ends;
        }
        k_compare(sizeof *two, 0, "done %d, bad %d", done, bad);
    }
}

static void bench_read_two(const leat__image_dsp *unused, int arg, k_bench *bench) {
    (void)unused, (void)arg;
    static leat__jpeg_dc_table dc;
    static leat__jpeg_ac_table ac;
    static leat__jpeg_scan scan[2];
    static two_runs out;
    leat__jpeg_dsp isa;
    uint8_t counts[17], symbols[256];
    leat__jpeg_dsp_init(&isa, k_isa_flags());
    random_code(counts, symbols, LEAT_JPEG_DC_SIZE_MAX, 0);
    leat__jpeg_dc_build(&dc, counts, symbols);
    random_code(counts, symbols, LEAT_JPEG_AC_SIZE_MAX, 15);
    leat__jpeg_ac_build(&ac, counts, symbols);
    begin_noise(scan, &dc, &ac);
    const leat__jpeg_bits begin = scan[0].reader;
    for (k_bench_begin(bench, sizeof out.blocks); k_bench_go(bench);) {
        scan[0].reader = scan[0].second = begin;
        run_two(&isa, &scan[0], &out);
    }
}

/* Skipping ends where reading ends, block by block, and finds the same blocks bad. Once, steps of sixteen zeros in one entry
 * of the table added up to what looked like the end of a block: every second code stands for sixteen zeros here. */
static void check_skip_as_read(const leat__image_dsp *unused, const leat__image_dsp *unused_too, int odd) {
    (void)unused, (void)unused_too;
    static const uint8_t zeros[17] = {0, 1, 1, 1, 1, 1, 1},
                         zero_symbols[256] = {0xf0, 0xe1, 0x51, 0, 0x12, 0x0a};
    static leat__jpeg_dc_table dc;
    static leat__jpeg_ac_table ac;
    static leat__jpeg_scan scan[2];
    static int16_t blocks[64 * (N_BLOCKS + 1)];
    static uint8_t last[N_BLOCKS];
    leat__jpeg_dsp c, isa;
    tables(&c, &isa);
    for (int round = 0; round < 20 * K_ROUNDS; round++) {
        uint8_t counts[17], symbols[256];
        random_code(counts, symbols, LEAT_JPEG_DC_SIZE_MAX, 0);
        bool built = leat__jpeg_dc_build(&dc, counts, symbols);
        random_code(counts, symbols, LEAT_JPEG_AC_SIZE_MAX, 15);
        built &= leat__jpeg_ac_build(&ac, odd ? zeros : counts, odd ? zero_symbols : symbols);
        if (!built) continue;
        leat__jpeg_ac_build_skip(&ac);
        begin_noise(scan, &dc, &ac);
        for (int u = 0; u < 3; u++) scan[0].unit[u].wanted = true;
        for (int i = 0; i < N_BLOCKS && !scan[0].bad; i++) {
            void *out[2];
            k_outputs(sizeof(int64_t[3]), 0, &out[0], &out[1]);
            (round % 2 ? c : isa).read(&scan[0], blocks, last, i, i + 1);
            (round % 2 ? c : isa).skip(&scan[1], i, i + 1);
            for (int k = 0; k < 2; k++) { /* where a bad block ends does not matter */
                const int64_t bit =
                    8 * (scan[k].reader.next - scan[k].window) - (int64_t)scan[k].reader.count;
                const int64_t state[3] = {scan[k].bad, bit, scan[k].prediction[i % 3]};
                memcpy(out[k], state, scan[k].bad ? sizeof *state : sizeof state);
            }
            k_compare(scan[0].bad ? sizeof(int64_t) : sizeof(int64_t[3]), 2 * sizeof(int64_t), "block %d", i);
        }
    }
}

/* Noise as blocks of which nobody knows how long they are. */
static void bench_blocks(const leat__image_dsp *unused, int skip, k_bench *bench) {
    (void)unused;
    static leat__jpeg_dc_table dc;
    static leat__jpeg_ac_table ac;
    static leat__jpeg_scan scan[2];
    static int16_t blocks[64 * (N_BLOCKS + 1)];
    static uint8_t last[N_BLOCKS];
    leat__jpeg_dsp isa;
    uint8_t counts[17], symbols[256];
    leat__jpeg_dsp_init(&isa, k_isa_flags());
    random_code(counts, symbols, LEAT_JPEG_DC_SIZE_MAX, 0);
    leat__jpeg_dc_build(&dc, counts, symbols);
    random_code(counts, symbols, LEAT_JPEG_AC_SIZE_MAX, 15);
    leat__jpeg_ac_build(&ac, counts, symbols);
    leat__jpeg_ac_build_skip(&ac);
    begin_noise(scan, &dc, &ac);
    const leat__jpeg_bits begin = scan[0].reader;
    for (k_bench_begin(bench, sizeof blocks); k_bench_go(bench);) {
        scan[0].reader = begin;
        if (skip) isa.skip(&scan[0], 0, N_BLOCKS);
        else isa.read(&scan[0], blocks, last, 0, N_BLOCKS);
    }
}

/* --------------------------------------------------------------------------------------------- IDCT */

static const uint8_t zigzag[64] = {0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,
                                   12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28,
                                   35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
                                   58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

static int slot_of(int position) {
    return leat__jpeg_slot(zigzag[position] / 8, zigzag[position] % 8);
}

/* Blocks as photos have them: fewer and smaller values towards the end; now and then as large as can be coded. */
static void fill_blocks(int16_t *blocks, leat__jpeg_place *places, const leat__jpeg_quant *quant, int n,
                        bool wild) {
    memset(blocks, 0, (size_t)n * 64 * sizeof *blocks);
    for (int i = 0; i < n; i++) {
        static const int lasts[] = {0, 1, 5, 9, 10, 40, 63};
        const int last = lasts[k_below(LEAT_COUNT(lasts))];
        for (int k = 0; k <= last; k++) {
            const int most = wild ? 1024 : LEAT_MAX(600 / (k + 1) / quant->step[slot_of(k)], 1);
            blocks[64 * i + slot_of(k)] = (int16_t)((int)k_below((size_t)(2 * most)) - most);
        }
        places[i] = (leat__jpeg_place){.quant = quant, .last = last};
    }
}

static void fill_quant(leat__jpeg_quant *quant, int most) {
    for (int k = 0; k < 64; k++) {
        quant->step[k] = (int16_t)(1 + k_below((size_t)most));
        quant->most[k] = (uint16_t)(LEAT_JPEG_COEFFICIENT_MAX / quant->step[k]);
    }
}

/* Besides the last coefficient of all blocks: the fast transform, or one that makes 4x4, 2x2 or 1x1 samples. */
enum { FAST = 64, FOUR = 128, TWO = 256, ONE = 512 };

static bool inverse(const leat__jpeg_dsp *dsp, int arg, int16_t *blocks, const leat__jpeg_place *places,
                    int n) {
    if (arg & FOUR) return dsp->idct_4x4(blocks, places, n);
    if (arg & TWO) return dsp->idct_2x2(blocks, places, n);
    if (arg & ONE) return dsp->idct_1x1(blocks, places, n);
    return arg & FAST ? dsp->idct_fast(blocks, places, n) : dsp->idct(blocks, places, n);
}

static size_t side_of(int arg) {
    return arg & FOUR ? 4 : arg & TWO ? 2 : arg & ONE ? 1 : 8;
}

static void check_idct(const leat__image_dsp *unused, const leat__image_dsp *unused_too, int arg) {
    (void)unused, (void)unused_too;
    static LEAT_ALIGNED(64) int16_t blocks[2][64 * BLOCKS];
    leat__jpeg_dsp c, isa;
    tables(&c, &isa);
    for (int round = 0; round < 10 * K_ROUNDS; round++) {
        leat__jpeg_quant quant;
        leat__jpeg_place places[2][BLOCKS];
        const int n = 1 + (int)k_below(BLOCKS), steps[] = {1, 8, 40, arg & FAST ? INT16_MAX : 255};
        const size_t side = side_of(arg), stride = (size_t)n * side + side * k_below(5),
                     bytes = (side - 1) * stride + (size_t)n * side;
        fill_quant(&quant, steps[k_below(4)]);
        fill_blocks(blocks[0], places[0], &quant, n, round % 8 == 0);
        for (int i = 0; arg & ONE && i < n; i++) memset(blocks[0] + 64 * i + 1, 0, 63 * sizeof **blocks);
        memcpy(blocks[1], blocks[0], sizeof blocks[0]);
        memcpy(places[1], places[0], sizeof places[0]);
        void *out[2];
        k_outputs(bytes, side * k_below(8), &out[0], &out[1]);
        for (int i = 0; i < n; i++) {
            const bool wanted = k_below(10) > 0;
            for (int k = 0; k < 2; k++) {
                places[k][i].dst = wanted ? (uint8_t *)out[k] + side * (size_t)i : NULL;
                places[k][i].stride = stride;
            }
        }
        const bool good = inverse(&c, arg, blocks[0], places[0], n),
                   same = inverse(&isa, arg, blocks[1], places[1], n) == good;
        if (!good) memcpy(out[1], out[0], bytes); /* samples of no use */
        if (!same) ((uint8_t *)out[1])[0] ^= 1;
        static const int16_t zero[64 * BLOCKS];
        if (memcmp(blocks[1], zero, (size_t)n * 128) != 0) ((uint8_t *)out[1])[0] ^= 1;
        k_compare(bytes, 0, "%d blocks, good %d, agreed %d", n, good, same);
    }
}

static void bench_idct(const leat__image_dsp *unused, int arg, k_bench *bench) {
    (void)unused;
    const int last = arg & 63;
    static LEAT_ALIGNED(64) int16_t blocks[64 * BLOCKS], fresh[64 * BLOCKS];
    static uint8_t out[BLOCKS * 64];
    leat__jpeg_dsp isa;
    leat__jpeg_quant quant;
    leat__jpeg_place places[BLOCKS];
    leat__jpeg_dsp_init(&isa, k_isa_flags());
    fill_quant(&quant, 8);
    fill_blocks(fresh, places, &quant, BLOCKS, false);
    for (int i = 0; i < BLOCKS; i++) {
        for (int k = last + 1; k < 64; k++) fresh[64 * i + slot_of(k)] = 0;
        places[i].last = last;
        places[i].dst = out + side_of(arg) * (size_t)i;
        places[i].stride = side_of(arg) * BLOCKS;
    }
    for (k_bench_begin(bench, sizeof fresh + sizeof out); k_bench_go(bench);) {
        memcpy(blocks, fresh, sizeof blocks);
        inverse(&isa, arg, blocks, places, BLOCKS);
    }
}

/* --------------------------------------------------------------------------------- upsampling, colour */

enum { H2V1, H2V2, H1V2 };

static void upsample(const leat__jpeg_dsp *dsp, int how, uint8_t *dst, const uint8_t *near,
                     const uint8_t *far, size_t n, int bias) {
    static uint16_t scratch[1024 + LEAT_JPEG_PAD];
    if (how == H2V1) dsp->up_h2v1(dst, near, n);
    else if (how == H2V2) dsp->up_h2v2(dst, near, far, n, scratch);
    else dsp->up_h1v2(dst, near, far, n, bias);
}

static void check_up(const leat__image_dsp *unused, const leat__image_dsp *unused_too, int how) {
    (void)unused, (void)unused_too;
    leat__jpeg_dsp c, isa;
    tables(&c, &isa);
    for (int round = 0; round < K_ROUNDS; round++) {
        void *a, *b;
        const size_t n = random_count(), bytes = how == H1V2 ? n : 2 * n;
        const uint8_t *near = padded(0, n), *far = padded(1, n);
        const int bias = 1 + (int)k_below(2);
        k_outputs(bytes, k_below(64), &a, &b);
        upsample(&c, how, a, near, far, n, bias);
        upsample(&isa, how, b, near, far, n, bias);
        k_compare(bytes, LEAT_JPEG_PAD, "%zu samples", n);
    }
}

static void bench_up(const leat__image_dsp *unused, int how, k_bench *bench) {
    enum { N = 256 };
    (void)unused;
    static uint8_t out[2 * N + LEAT_JPEG_PAD];
    leat__jpeg_dsp isa;
    leat__jpeg_dsp_init(&isa, k_isa_flags());
    const uint8_t *near = padded(0, N), *far = padded(1, N);
    for (k_bench_begin(bench, how == H2V1 ? 3 * N : 4 * N); k_bench_go(bench);)
        upsample(&isa, how, out, near, far, N, 1);
}

static void check_rgb(const leat__image_dsp *unused, const leat__image_dsp *unused_too, int arg) {
    (void)unused, (void)unused_too, (void)arg;
    leat__jpeg_dsp c, isa;
    tables(&c, &isa);
    void *a, *b;
    for (int round = 0; round < K_ROUNDS; round++) {
        const size_t n = random_count();
        const uint8_t *y = padded(0, n), *cb = padded(1, n), *cr = padded(2, n);
        k_outputs(3 * n, k_below(64), &a, &b);
        c.rgb(a, y, cb, cr, n);
        isa.rgb(b, y, cb, cr, n);
        k_compare(3 * n, 0, "%zu pixels", n);
    }
    uint8_t *y = padded(0, 256), *cb = padded(1, 256), *cr = padded(2, 256);
    for (int luma = 0; luma < 256; luma += 15) /* every chroma */
        for (int blue = 0; blue < 256; blue++) {
            for (int i = 0; i < 256; i++) y[i] = (uint8_t)luma, cb[i] = (uint8_t)blue, cr[i] = (uint8_t)i;
            k_outputs(3 * 256, 0, &a, &b);
            c.rgb(a, y, cb, cr, 256);
            isa.rgb(b, y, cb, cr, 256);
            k_compare(3 * 256, 0, "luma %d, blue %d", luma, blue);
        }
}

static void bench_rgb(const leat__image_dsp *unused, int arg, k_bench *bench) {
    enum { N = 500 };
    (void)unused, (void)arg;
    static uint8_t out[3 * N];
    leat__jpeg_dsp isa;
    leat__jpeg_dsp_init(&isa, k_isa_flags());
    const uint8_t *y = padded(0, N), *cb = padded(1, N), *cr = padded(2, N);
    for (k_bench_begin(bench, 6 * N); k_bench_go(bench);) isa.rgb(out, y, cb, cr, N);
}

static void check_rgb_planes(const leat__image_dsp *unused, const leat__image_dsp *unused_too, int arg) {
    (void)unused, (void)unused_too, (void)arg;
    leat__jpeg_dsp c, isa;
    tables(&c, &isa);
    for (int round = 0; round < K_ROUNDS; round++) {
        void *a, *b;
        const size_t n = random_count(), apart = LEAT_ALIGN_UP(n, (size_t)32) + 32 * k_below(3);
        const uint8_t *y = padded(0, n), *cb = padded(1, n), *cr = padded(2, n);
        k_outputs(2 * apart + LEAT_ALIGN_UP(n, (size_t)32), k_below(64), &a, &b);
        c.rgb_planes(a, apart, y, cb, cr, n);
        isa.rgb_planes(b, apart, y, cb, cr, n);
        for (size_t k = 0; k < 3; k++) /* what lies behind a plane up to a multiple of 32 is anybody's */
            memcpy((uint8_t *)b + k * apart + n, (uint8_t *)a + k * apart + n,
                   LEAT_ALIGN_UP(n, (size_t)32) - n);
        k_compare(2 * apart + n, LEAT_ALIGN_UP(n, (size_t)32) - n, "%zu pixels, %zu apart", n, apart);
    }
}

static void bench_rgb_planes(const leat__image_dsp *unused, int arg, k_bench *bench) {
    enum { N = 500, APART = 512 };
    (void)unused, (void)arg;
    static uint8_t out[3 * APART];
    leat__jpeg_dsp isa;
    leat__jpeg_dsp_init(&isa, k_isa_flags());
    const uint8_t *y = padded(0, N), *cb = padded(1, N), *cr = padded(2, N);
    for (k_bench_begin(bench, 6 * N); k_bench_go(bench);) isa.rgb_planes(out, APART, y, cb, cr, N);
}

/* ---------------------------------------------------------------------------------------- unstuffing */

/* In pieces of any size: all of them together, and where they end, must be the same. */
static size_t unstuff_all(const leat__jpeg_dsp *dsp, uint8_t *dst, const uint8_t *src, size_t n, size_t room,
                          const uint8_t **stop) {
    const uint8_t *at = src;
    size_t total = 0, got;
    do {
        got = dsp->unstuff(dst + total, room, &at, src + n);
        total += got;
    } while (got > 0);
    *stop = at;
    return total;
}

static void check_unstuff(const leat__image_dsp *unused, const leat__image_dsp *unused_too, int arg) {
    (void)unused, (void)unused_too, (void)arg;
    leat__jpeg_dsp c, isa;
    tables(&c, &isa);
    for (int round = 0; round < 4 * K_ROUNDS; round++) {
        void *a, *b;
        const size_t n = 1 + k_below(k_below(3) ? 200 : 3000), often = 2 + k_below(60), stuffed = k_below(60);
        uint8_t *src = k_input(0, n);
        for (size_t i = 0; i < n; i++) src[i] = k_below(often) == 0 ? 0xff : (uint8_t)k_below(255);
        for (size_t i = 0; i + 1 < n; i++)
            if (src[i] == 0xff && k_below(64) < stuffed + 8) src[i + 1] = 0;
        k_outputs(n, k_below(64), &a, &b);
        const size_t room = 1 + k_below(n + 40);
        const uint8_t *stop[2];
        const size_t n_c = unstuff_all(&c, a, src, n, room, &stop[0]);
        const size_t n_isa = unstuff_all(&isa, b, src, n, 1 + k_below(n + 40), &stop[1]);
        const bool same = n_c == n_isa && stop[0] == stop[1];
        if (!same) ((uint8_t *)b)[0] = (uint8_t) ~((uint8_t *)a)[0];
        k_compare(same ? n_c : 1, LEAT_JPEG_PAD, "%zu bytes, %zu and %zu", n, n_c, n_isa);
    }
}

static void bench_unstuff(const leat__image_dsp *unused, int arg, k_bench *bench) {
    enum { N = 8192 };
    (void)unused, (void)arg;
    static uint8_t out[N + LEAT_JPEG_PAD];
    leat__jpeg_dsp isa;
    leat__jpeg_dsp_init(&isa, k_isa_flags());
    uint8_t *src = k_input(0, N);
    k_fill(src, N);
    for (size_t i = 0; i < N; i++) src[i] = k_below(150) ? (uint8_t)k_below(255) : 0xff;
    for (size_t i = 0; i + 1 < N; i++)
        if (src[i] == 0xff) src[i + 1] = 0;
    for (k_bench_begin(bench, 2 * N); k_bench_go(bench);) {
        const uint8_t *at = src;
        isa.unstuff(out, N, &at, src + N);
    }
}

const k_case k_jpeg_cases[] = {
    {"jpeg_read", 0, check_blocks, bench_blocks},
    {"jpeg_read_two", 0, check_read_two, bench_read_two},
    {"jpeg_read_two_singly", 1, check_read_two, NULL},
    {"jpeg_skip", 1, check_blocks, bench_blocks},
    {"jpeg_skip_as_read", 0, check_skip_as_read, NULL},
    {"jpeg_skip_as_read_zeros", 1, check_skip_as_read, NULL},
    {"jpeg_idct_flat", 0, check_idct, bench_idct},
    {"jpeg_idct_half", LEAT_JPEG_HALF, check_idct, bench_idct},
    {"jpeg_idct_full", 63, check_idct, bench_idct},
    {"jpeg_idct_fast_flat", FAST, check_idct, bench_idct},
    {"jpeg_idct_fast_half", FAST | LEAT_JPEG_HALF, check_idct, bench_idct},
    {"jpeg_idct_fast_full", FAST | 63, check_idct, bench_idct},
    {"jpeg_idct_4x4_half", FOUR | LEAT_JPEG_HALF, check_idct, bench_idct},
    {"jpeg_idct_4x4_full", FOUR | 63, check_idct, bench_idct},
    {"jpeg_idct_2x2_half", TWO | LEAT_JPEG_HALF, check_idct, bench_idct},
    {"jpeg_idct_2x2_full", TWO | 63, check_idct, bench_idct},
    {"jpeg_idct_1x1", ONE, check_idct, bench_idct},
    {"jpeg_up_h2v1", H2V1, check_up, bench_up},
    {"jpeg_up_h2v2", H2V2, check_up, bench_up},
    {"jpeg_up_h1v2", H1V2, check_up, bench_up},
    {"jpeg_rgb", 0, check_rgb, bench_rgb},
    {"jpeg_rgb_planes", 0, check_rgb_planes, bench_rgb_planes},
    {"jpeg_unstuff", 0, check_unstuff, bench_unstuff},
    {0},
};
