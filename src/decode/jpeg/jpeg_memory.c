/* SPDX-License-Identifier: Apache-2.0 */
/* libjpeg asks an object of method pointers for all its memory. Its own calls malloc and free some dozens of
 * times a picture; this one hands out pieces of the worker's arena, so that after warm-up a JPEG costs none.
 *
 * Two managers take part:
 *   libjpeg's own   holds what jpeg_create_decompress makes (marker reader, input controller, master):
 *                   allocated once, lives as long as the decoder
 *   this one        holds everything asked for later, until the arena's reset
 *
 * libjpeg calls some of the later pieces permanent: the quantisation and Huffman tables that a file defines.
 * They end with the picture here, together with the pointers to them (jpeg.c restores the object as it was
 * created), because a file that lacks a table must fail, or get the standard's, whatever was decoded before.
 *
 * Virtual arrays (the coefficients of a progressive picture) always lie in memory as a whole; the arena's
 * limit is what keeps them small. Rows begin on 64 bytes and are padded to 64, which is what libjpeg-
 * turbo's SIMD code expects of a manager. */
#include "decode/jpeg/jpeg_memory.h"

#include <stdio.h>

#include <jpeglib.h>

#include <jerror.h>

/* Names given by jpeglib.h, which leaves the content to the manager. Rows from first_undefined on were never
 * written. */
struct jvirt_sarray_control {
    JSAMPARRAY rows; /* NULL until realised */
    JDIMENSION n_rows, samples_per_row, access_max, first_undefined;
    bool zeroed;
    jvirt_sarray_ptr next;
};
struct jvirt_barray_control {
    JBLOCKARRAY rows;
    JDIMENSION n_rows, blocks_per_row, access_max, first_undefined;
    bool zeroed;
    jvirt_barray_ptr next;
};

struct leat__jpeg_memory {
    struct jpeg_memory_mgr methods; /* first: libjpeg hands us a pointer to it */
    struct jpeg_memory_mgr *own;    /* libjpeg's                               */
    leat__arena *arena;
    size_t wanted;
    uint8_t *lent; /* handed out in front of the arena's */
    size_t n_lent;
    jvirt_sarray_ptr sample_arrays;
    jvirt_barray_ptr block_arrays;
};

static leat__jpeg_memory *memory_of(j_common_ptr jpeg) {
    return (leat__jpeg_memory *)jpeg->mem;
}

static void *take(j_common_ptr jpeg, size_t bytes) {
    leat__jpeg_memory *m = memory_of(jpeg);
    if (bytes <= m->n_lent) {
        void *piece = m->lent;
        const size_t used = LEAT_MIN(LEAT_ALIGN_UP(bytes, (size_t)LEAT_CACHE_LINE), m->n_lent);
        m->lent += used;
        m->n_lent -= used;
        return piece;
    }
    void *piece = leat__arena_alloc(m->arena, bytes);
    if (!piece) {
        m->wanted = bytes;
        ERREXIT1(jpeg, JERR_OUT_OF_MEMORY, 0);
    }
    return piece;
}

static void *alloc_piece(j_common_ptr jpeg, int pool, size_t bytes) {
    if (pool < 0 || pool >= JPOOL_NUMPOOLS) ERREXIT1(jpeg, JERR_BAD_POOL_ID, pool);
    return take(jpeg, bytes);
}

/* n_rows rows of row_bytes and an array of pointers to them. */
static void **alloc_rows(j_common_ptr jpeg, int pool, size_t row_bytes, JDIMENSION n_rows) {
    const size_t stride = LEAT_ALIGN_UP(row_bytes, (size_t)LEAT_CACHE_LINE);
    size_t bytes;
    if (stride < row_bytes || !leat__mul_size(stride, n_rows, &bytes)) bytes = SIZE_MAX;
    void **rows = alloc_piece(jpeg, pool, n_rows * sizeof *rows);
    uint8_t *pixels = alloc_piece(jpeg, pool, bytes);
    for (JDIMENSION i = 0; i < n_rows; i++) rows[i] = pixels + i * stride;
    return rows;
}

static JSAMPARRAY alloc_sarray(j_common_ptr jpeg, int pool, JDIMENSION samples_per_row, JDIMENSION n_rows) {
    return (JSAMPARRAY)alloc_rows(jpeg, pool, samples_per_row * sizeof(JSAMPLE), n_rows);
}

static JBLOCKARRAY alloc_barray(j_common_ptr jpeg, int pool, JDIMENSION blocks_per_row, JDIMENSION n_rows) {
    return (JBLOCKARRAY)alloc_rows(jpeg, pool, blocks_per_row * sizeof(JBLOCK), n_rows);
}

static jvirt_sarray_ptr request_sarray(j_common_ptr jpeg, int pool, boolean zeroed,
                                       JDIMENSION samples_per_row, JDIMENSION n_rows, JDIMENSION access_max) {
    leat__jpeg_memory *m = memory_of(jpeg);
    jvirt_sarray_ptr a = alloc_piece(jpeg, pool, sizeof *a);
    *a = (struct jvirt_sarray_control){.n_rows = n_rows,
                                       .samples_per_row = samples_per_row,
                                       .access_max = access_max,
                                       .zeroed = zeroed,
                                       .next = m->sample_arrays};
    return m->sample_arrays = a;
}

static jvirt_barray_ptr request_barray(j_common_ptr jpeg, int pool, boolean zeroed, JDIMENSION blocks_per_row,
                                       JDIMENSION n_rows, JDIMENSION access_max) {
    leat__jpeg_memory *m = memory_of(jpeg);
    jvirt_barray_ptr a = alloc_piece(jpeg, pool, sizeof *a);
    *a = (struct jvirt_barray_control){.n_rows = n_rows,
                                       .blocks_per_row = blocks_per_row,
                                       .access_max = access_max,
                                       .zeroed = zeroed,
                                       .next = m->block_arrays};
    return m->block_arrays = a;
}

static void realize_arrays(j_common_ptr jpeg) {
    leat__jpeg_memory *m = memory_of(jpeg);
    for (jvirt_sarray_ptr a = m->sample_arrays; a; a = a->next)
        if (!a->rows) a->rows = alloc_sarray(jpeg, JPOOL_IMAGE, a->samples_per_row, a->n_rows);
    for (jvirt_barray_ptr a = m->block_arrays; a; a = a->next)
        if (!a->rows) a->rows = alloc_barray(jpeg, JPOOL_IMAGE, a->blocks_per_row, a->n_rows);
}

/* Checks an access to rows [start, start + n) and returns where zeroing must begin (start + n for nowhere).
 * Rows become defined by writing, in order and without gaps: everything else is a mistake in libjpeg. */
static JDIMENSION open_rows(j_common_ptr jpeg, bool there, JDIMENSION start, JDIMENSION n, JDIMENSION n_rows,
                            JDIMENSION access_max, bool writable, bool zeroed, JDIMENSION *first_undefined) {
    const JDIMENSION end = start + n;
    if (!there || end < start || end > n_rows || n > access_max) ERREXIT(jpeg, JERR_BAD_VIRTUAL_ACCESS);
    if (end <= *first_undefined) return end;
    if (writable ? *first_undefined < start : !zeroed) ERREXIT(jpeg, JERR_BAD_VIRTUAL_ACCESS);
    const JDIMENSION from = LEAT_MAX(*first_undefined, start);
    if (writable) *first_undefined = end;
    return zeroed ? from : end;
}

static JSAMPARRAY access_sarray(j_common_ptr jpeg, jvirt_sarray_ptr a, JDIMENSION start, JDIMENSION n,
                                boolean writable) {
    const JDIMENSION zero_from = open_rows(jpeg, a->rows != NULL, start, n, a->n_rows, a->access_max,
                                           writable, a->zeroed, &a->first_undefined);
    for (JDIMENSION i = zero_from; i < start + n; i++)
        memset(a->rows[i], 0, a->samples_per_row * sizeof(JSAMPLE));
    return a->rows + start;
}

static JBLOCKARRAY access_barray(j_common_ptr jpeg, jvirt_barray_ptr a, JDIMENSION start, JDIMENSION n,
                                 boolean writable) {
    const JDIMENSION zero_from = open_rows(jpeg, a->rows != NULL, start, n, a->n_rows, a->access_max,
                                           writable, a->zeroed, &a->first_undefined);
    for (JDIMENSION i = zero_from; i < start + n; i++)
        memset(a->rows[i], 0, a->blocks_per_row * sizeof(JBLOCK));
    return a->rows + start;
}

/* The arena forgets the pieces; here only the lists that point to them end. */
static void free_pool(j_common_ptr jpeg, int pool) {
    leat__jpeg_memory *m = memory_of(jpeg);
    if (pool < 0 || pool >= JPOOL_NUMPOOLS) ERREXIT1(jpeg, JERR_BAD_POOL_ID, pool);
    if (pool != JPOOL_IMAGE) return;
    m->sample_arrays = NULL;
    m->block_arrays = NULL;
    m->n_lent = 0;
}

static void self_destruct(j_common_ptr jpeg) {
    leat__jpeg_memory *m = memory_of(jpeg);
    jpeg->mem = m->own;
    leat__free(m);
    jpeg->mem->self_destruct(jpeg);
}

leat__jpeg_memory *leat__jpeg_memory_attach(j_common_ptr jpeg, leat__arena *arena) {
    leat__jpeg_memory *m = leat__alloc(LEAT_MEM_WORKER, sizeof *m);
    if (!m) return NULL;
    *m = (leat__jpeg_memory){
        .methods = {.alloc_small = alloc_piece,
                    .alloc_large = alloc_piece,
                    .alloc_sarray = alloc_sarray,
                    .alloc_barray = alloc_barray,
                    .request_virt_sarray = request_sarray,
                    .request_virt_barray = request_barray,
                    .realize_virt_arrays = realize_arrays,
                    .access_virt_sarray = access_sarray,
                    .access_virt_barray = access_barray,
                    .free_pool = free_pool,
                    .self_destruct = self_destruct,
                    .max_memory_to_use = jpeg->mem->max_memory_to_use,
                    .max_alloc_chunk = jpeg->mem->max_alloc_chunk},
        .own = jpeg->mem,
        .arena = arena,
    };
    jpeg->mem = &m->methods;
    return m;
}

void leat__jpeg_memory_detach(leat__jpeg_memory *m, j_common_ptr jpeg) {
    if (!m) return;
    jpeg->mem = m->own;
    leat__free(m);
}

void leat__jpeg_memory_lend(leat__jpeg_memory *m, void *bytes, size_t n) {
    m->lent = bytes;
    m->n_lent = n;
}

size_t leat__jpeg_memory_wanted(const leat__jpeg_memory *m) {
    return m->wanted;
}
