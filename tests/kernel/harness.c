/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/harness.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "base/cpu.h"

static uint64_t seed = 1, state;
static bool failed;
static char reason[1000];

enum { ROUNDS = 300 };
int k_rounds = ROUNDS;

uint64_t k_random(void) {
    state += 0x9e3779b97f4a7c15u;
    uint64_t z = state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

void k_seed(uint64_t first) {
    state = first;
}

size_t k_below(size_t n) {
    return (size_t)(k_random() % n);
}

void k_fill(void *bytes, size_t n) {
    uint8_t *out = bytes;
    const uint64_t mode = k_random() % 8; /* now and then extremes only */
    for (size_t i = 0; i < n; i++) {
        const uint64_t r = k_random();
        out[i] = mode == 0 ? 255 : mode == 1 ? (r & 1 ? 255 : 0) : (uint8_t)r;
    }
}

void k_fill_f32(float *values, size_t n) {
    static const uint32_t odd[] = {0x00000000, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0x00000001,
                                   0x437effff, 0x437f0000, 0x437f8000, 0xbf7fffff, 0x3f7fffff, 0x7f7fffff};
    const bool strange = k_below(4) == 0;
    for (size_t i = 0; i < n; i++) {
        float x = (float)(int64_t)(k_random() >> 40) / 32768.0f - 128.0f;
        if (strange && k_below(8) == 0) memcpy(&x, &odd[k_below(LEAT_COUNT(odd))], sizeof x);
        memcpy(values + i, &x, sizeof x);
    }
}

void k_fill_chain(leat__chain *chain, int n, int channels) {
    chain->n = n;
    chain->channels = channels;
    for (int s = 0; s < n; s++)
        for (int i = 0; i < LEAT_CHAIN_PERIOD + 4; i++) {
            const bool first = i < channels;
            chain->mul[s][i] =
                first ? (float)(int)k_below(2001) / 1000.0f - 1.0f : chain->mul[s][i - channels];
            chain->add[s][i] =
                first ? (float)(int)k_below(2001) / 7.0f - 100.0f : chain->add[s][i - channels];
        }
}

static void die(const char *what) {
    printf("Bail out! %s\n", what);
    exit(1);
}

void *k_input(int slot, size_t n) {
    static struct {
        uint8_t *base;
        size_t bytes;
    } slots[16];
    const size_t page = 4096, need = LEAT_ALIGN_UP(n + 1, page);
    if (slots[slot].bytes < need) {
        if (slots[slot].base) munmap(slots[slot].base, slots[slot].bytes + page);
        uint8_t *base = mmap(NULL, need + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (base == MAP_FAILED || mprotect(base + need, page, PROT_NONE)) die("no memory");
        slots[slot].base = base;
        slots[slot].bytes = need;
    }
    return slots[slot].base + slots[slot].bytes - n;
}

static uint8_t *output[2];
static size_t output_bytes, output_at;

void k_outputs(size_t n, size_t align, void **c, void **isa) {
    output_at = K_GUARD + align;
    output_bytes = output_at + n + K_GUARD + 64;
    for (int i = 0; i < 2; i++) {
        free(output[i]);
        output[i] = aligned_alloc(64, LEAT_ALIGN_UP(output_bytes, 64));
        if (!output[i]) die("no memory");
        for (size_t k = 0; k < output_bytes; k++) output[i][k] = (uint8_t)(k * 37 + 11);
    }
    *c = output[0] + output_at;
    *isa = output[1] + output_at;
}

void k_compare(size_t n, size_t pad, const char *fmt, ...) {
    if (failed) return;
    size_t bad = SIZE_MAX;
    const char *what = "differs at byte";
    for (size_t k = 0; k < output_bytes && bad == SIZE_MAX; k++) {
        if (k >= output_at && k < output_at + n) {
            if (output[0][k] != output[1][k]) bad = k - output_at;
        } else if (k < output_at || k >= output_at + n + pad) {
            if (output[1][k] == (uint8_t)(k * 37 + 11)) continue;
            what = k < output_at ? "wrote before its output; bytes" : "wrote past its output, at byte";
            bad = k < output_at ? output_at - k : k - output_at;
        }
    }
    if (bad == SIZE_MAX) return;
    failed = true;
    char where[100];
    va_list args;
    va_start(args, fmt);
    vsnprintf(where, sizeof where, fmt, args);
    va_end(args);
    snprintf(reason, sizeof reason, "%s %zu; %s", what, bad, where);
}

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void k_bench_begin(k_bench *bench, size_t bytes) {
    *bench = (k_bench){.bytes = bytes, .batch = 1, .best = 1e30, .begin = now(), .left = 1};
}

bool k_bench_more(k_bench *bench) {
    const uint64_t end = now(), ns = end - bench->begin;
    if (ns < 500000) {
        bench->batch *= 2;
    } else {
        bench->best = LEAT_MIN(bench->best, (double)ns / (double)bench->batch);
        if (++bench->rounds == 20) return false;
    }
    bench->left = bench->batch - 1;
    bench->begin = now();
    return true;
}

static void init_image(void *table, unsigned flags) {
    leat__image_dsp_init(table, flags);
}
static const k_table image_table = {"image", sizeof(leat__image_dsp), init_image};

enum {
    IMAGES = LEAT_CPU_AVX2 | LEAT_CPU_NEON
}; /* instruction sets with kernels of all tables but the checksums' */
static const k_group groups[] = {
    {k_resample_cases, IMAGES, &image_table},
    {k_point_cases, IMAGES, &image_table},
    {k_planar_cases, IMAGES, &image_table},
    {k_line_cases, IMAGES, &image_table},
    {k_colour_cases, IMAGES, &image_table},
    {k_stats_cases, IMAGES, &image_table},
    {k_mix_cases, IMAGES, &image_table},
    {k_half_cases, IMAGES, &image_table},
    {k_warp_cases, IMAGES, &image_table},
    {k_crc32c_cases, LEAT_CPU_SSE42 | LEAT_CPU_VPCLMUL | LEAT_CPU_ARM_CRC, &k_crc32c_table},
    {k_checksum_cases, LEAT_CPU_SSE42 | LEAT_CPU_VPCLMUL | LEAT_CPU_ARM_CRC | IMAGES, &k_checksum_table},
    {k_passes_cases, LEAT_CPU_PDEP | IMAGES, &k_jpeg_table},
    {k_jpeg_cases, IMAGES, &k_jpeg_table},
    {k_png_cases, IMAGES, &k_png_table},
    {k_webp_cases, IMAGES, &k_webp_table},
    {k_eval_cases, IMAGES, &k_eval_table},
};

/* What an instruction set adds to those below it. Plain C has all kernels. */
static bool has_kernels(const k_isa *isa, size_t group) {
    return isa->flags == 0 || groups[group].flags & 1u << (31 - __builtin_clz(isa->flags));
}

static unsigned isa_flags;

unsigned k_isa_flags(void) {
    return isa_flags;
}

static int run_bench(const k_isa *isas, size_t n_isas, const char *only) {
    printf("%-22s %-7s %12s %8s %7s\n", "kernel", "isa", "ns", "GB/s", "ratio");
    for (size_t g = 0; g < LEAT_COUNT(groups); g++)
        for (const k_case *c = groups[g].cases; c->name; c++) {
            if (!c->bench || (only && !strstr(c->name, only))) continue;
            double base = 0;
            for (size_t i = 0; i < n_isas; i++) {
                if (!has_kernels(&isas[i], g)) continue;
                k_bench bench = {0};
                state = seed;
                isa_flags = isas[i].flags;
                c->bench(&isas[i].dsp, c->arg, &bench);
                if (i == 0) base = bench.best;
                printf("%-22s %-7s %12.1f %8.2f %7.2f\n", c->name, isas[i].name, bench.best,
                       (double)bench.bytes / bench.best, base / bench.best);
                fflush(stdout);
            }
        }
    return 0;
}

bool k_run_case(const k_case *c, unsigned flags, int rounds) {
    leat__image_dsp plain, isa;
    leat__image_dsp_init(&plain, 0);
    leat__image_dsp_init(&isa, flags);
    k_replace(&isa, sizeof isa);
    failed = false;
    state = seed;
    isa_flags = flags;
    k_rounds = rounds;
    c->check(&plain, &isa, c->arg);
    return !failed;
}

static int n_cases, n_failed;

static void report(const char *name, const char *isa) {
    printf("%sok %d - %s_%s\n", failed ? "not " : "", ++n_cases, name, isa);
    if (failed) printf("# %s; seed %" PRIu64 "\n", reason, seed);
    fflush(stdout);
    n_failed += failed;
}

/* The groups that begin a table: tables are checked for completeness once. */
static bool begins_table(size_t group) {
    return group == 0 || groups[group].table != groups[group - 1].table;
}

static int run_checks(const k_isa *isas, size_t n_isas) {
    int n = 0;
    for (size_t g = 0; g < LEAT_COUNT(groups); g++)
        for (size_t k = 1; k < n_isas; k++) {
            if (!has_kernels(&isas[k], g)) continue;
            n += begins_table(g);
            for (const k_case *c = groups[g].cases; c->name; c++) n++;
        }
    if (n == 0) {
        printf("1..0 # SKIP this machine has plain C only\n");
        return 0;
    }
    printf("1..%d\n", n);
    for (size_t g = 0; g < LEAT_COUNT(groups); g++)
        for (size_t k = 1; k < n_isas; k++) {
            if (!has_kernels(&isas[k], g)) continue;
            for (const k_case *c = groups[g].cases; c->name; c++) {
                k_run_case(c, isas[k].flags, ROUNDS);
                report(c->name, isas[k].name);
            }
            if (!begins_table(g)) continue;
            failed = !k_complete(groups, LEAT_COUNT(groups), groups[g].table, isas[k].flags, reason,
                                 sizeof reason);
            char name[40];
            snprintf(name, sizeof name, "complete_%s", groups[g].table->name);
            report(name, isas[k].name);
        }
    return n_failed != 0;
}

int main(int argc, char **argv) {
    k_isa isas[] = {{.name = "c", .flags = 0},
                    {.name = "avx2", .flags = LEAT_CPU_AVX2},
                    {.name = "pdep", .flags = LEAT_CPU_AVX2 | LEAT_CPU_PDEP},
                    {.name = "sse42", .flags = LEAT_CPU_SSE42},
                    {.name = "vpclmul", .flags = LEAT_CPU_SSE42 | LEAT_CPU_VPCLMUL},
                    {.name = "neon", .flags = LEAT_CPU_NEON},
                    {.name = "arm_crc", .flags = LEAT_CPU_ARM_CRC}};
    size_t n_isas = 0;
    const char *only = NULL;
    bool bench = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--bench") == 0) bench = true;
        else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) seed = strtoull(argv[++i], NULL, 0);
        else if (strcmp(argv[i], "--photos") == 0 && i + 1 < argc)
            return k_photos(argv[i + 1], i + 2 < argc ? atoi(argv[i + 2]) : 5);
        else only = argv[i];
    }
    for (size_t i = 0; i < LEAT_COUNT(isas); i++) {
        if ((leat__cpu_flags() & isas[i].flags) != isas[i].flags) continue;
        isas[n_isas] = isas[i];
        leat__image_dsp_init(&isas[n_isas].dsp, isas[n_isas].flags);
        n_isas++;
    }
    const int rc = bench ? run_bench(isas, n_isas, only) : run_checks(isas, n_isas);
    free(output[0]);
    free(output[1]);
    return rc;
}
