/* SPDX-License-Identifier: Apache-2.0 */
/* Every kernel of every instruction set against its plain C version, bit for bit; and how fast it is.
 *
 * Inputs end at an unmapped page, so that reading one byte too far is a crash. Outputs lie between guard
 * bytes and begin at random offsets from a cache line. */
#ifndef LEAT_TESTS_KERNEL_HARNESS_H
#define LEAT_TESTS_KERNEL_HARNESS_H

#include "image/dsp.h"

#define K_ROUNDS k_rounds /* random cases of one kernel */
#define K_GUARD 128       /* bytes before and after an output */
extern int k_rounds;

typedef struct k_isa {
    const char *name;
    unsigned flags;
    leat__image_dsp dsp;
} k_isa;

typedef struct k_bench {
    size_t bytes; /* read and written by one call */
    double best;  /* ns a call                    */
    uint64_t left, batch, begin;
    int rounds;
} k_bench;

typedef struct k_case {
    const char *name;
    int arg; /* channels, or what the kernel's file makes of it */
    void (*check)(const leat__image_dsp *c, const leat__image_dsp *isa, int arg);
    void (*bench)(const leat__image_dsp *isa, int arg, k_bench *bench);
} k_case;

/* Kernels that are filled in together. The table is memory of as many bytes, with functions at addresses of 8 bytes. */
typedef struct k_table {
    const char *name;
    size_t bytes;
    void (*init)(void *table, unsigned flags);
} k_table;

typedef struct k_group { /* cases, and the flag that every instruction set with kernels for them has */
    const k_case *cases;
    unsigned flags;
    const k_table *table;
} k_group;

extern const k_table k_jpeg_table, k_png_table, k_webp_table, k_crc32c_table, k_checksum_table, k_eval_table;
extern const k_case k_resample_cases[], k_point_cases[], k_planar_cases[], k_line_cases[], k_colour_cases[];
extern const k_case k_half_cases[];
extern const k_case k_stats_cases[];
extern const k_case k_mix_cases[];
extern const k_case k_jpeg_cases[];
extern const k_case k_png_cases[];
extern const k_case k_webp_cases[];
extern const k_case k_passes_cases[];
extern const k_case k_eval_cases[];
extern const k_case k_warp_cases[];
extern const k_case k_crc32c_cases[];
extern const k_case k_checksum_cases[];

/* Flags of the instruction set whose turn it is, for kernels that are not in the table of the image room. */
unsigned k_isa_flags(void);

/* Runs one case with a table of its own; false if it failed. */
bool k_run_case(const k_case *c, unsigned flags, int rounds);
/* Whether every kernel of a table has a case that fails when the kernel does nothing; else which have none. */
bool k_complete(const k_group *groups, size_t n_groups, const k_table *table, unsigned flags, char *reason,
                size_t cap);
/* Puts a function that does nothing into the table if one of its kernels is being replaced: after each init. */
void k_replace(void *table, size_t bytes);

/* kernel --photos. */
int k_photos(const char *folder, int rounds);

/* Random numbers of this run's seed; k_below(n) is 0 to n - 1. */
uint64_t k_random(void);
void k_seed(uint64_t first);
size_t k_below(size_t n);
void k_fill(void *bytes, size_t n);
/* Floats as pictures have them, and a few that they should not have. */
void k_fill_f32(float *values, size_t n);
void k_fill_chain(leat__chain *chain, int n, int channels);

/* Memory of n bytes that ends at an unmapped page; slot 0 to 15. Valid until the slot is asked for again. */
void *k_input(int slot, size_t n);
/* Two equal outputs of n bytes, `align` bytes after a cache line, for the C version and the other. */
void k_outputs(size_t n, size_t align, void **c, void **isa);
/* After both ran: the first n bytes must be equal; beyond n + pad nothing may have changed. */
void k_compare(size_t n, size_t pad, const char *fmt, ...) LEAT_PRINTF(3, 4);

/* for (k_bench_begin(bench, bytes); k_bench_go(bench);) kernel(...); */
void k_bench_begin(k_bench *bench, size_t bytes);
bool k_bench_more(k_bench *bench);
static inline bool k_bench_go(k_bench *bench) {
    return bench->left-- > 0 || k_bench_more(bench);
}

#endif
