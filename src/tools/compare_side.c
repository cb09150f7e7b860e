/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of a pipeline and batches in files look alike here: arrays with names. Files are named as `leat run --sink
 * npy:DIR` names them, NNNNNN_field.npy; batches come in the order of their numbers. */
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "format/npy.h"
#include "tools/compare.h"

/* No batch is larger; what a wrong header claims is compared with the size of the file in any case. */
#define FILE_BYTES_MAX ((size_t)1 << 36)

typedef struct entry { /* one file of a folder */
    uint64_t number;
    int digits; /* as written: 7, 007 and 000007 are one number */
    char name[80];
} entry;

struct leat__side {
    leat_spec *spec; /* a pipeline ... */
    leat_pipeline *pipeline;
    leat_batch batch;
    const char *folder; /* ... or a folder; the caller's text */
    leat__buf entries;  /* sorted by number and name */
    size_t n_entries, next;
    leat__buf bytes[LEAT_SIDE_ARRAYS];
    int n_arrays;
    leat__side_array array[LEAT_SIDE_ARRAYS];
};

/* --------------------------------------------------------------------------------------------- folder */

/* 000012_image.npy */
static bool read_name(const char *name, entry *out) {
    const size_t n = strlen(name);
    size_t digits = 0;
    out->number = 0;
    for (; digits < 19 && name[digits] >= '0' && name[digits] <= '9'; digits++)
        out->number = out->number * 10 + (uint64_t)(name[digits] - '0');
    if (digits == 0 || name[digits] != '_' || n < digits + 6 || strcmp(name + n - 4, ".npy") != 0)
        return false;
    const size_t length = n - digits - 5;
    out->digits = (int)digits;
    if (length >= sizeof out->name) return false;
    memcpy(out->name, name + digits + 1, length);
    out->name[length] = 0;
    return true;
}

static int take_file(void *user, const char *name, char kind, leat_error *err) {
    leat__side *side = user;
    entry found = {0};
    if (kind == 'd' || !read_name(name, &found)) return 0;
    if (!leat__buf_append(&side->entries, &found, sizeof found))
        return leat__fail_memory(err, side->entries.size, "names of files");
    side->n_entries++;
    return 0;
}

static int by_number(const void *a, const void *b) {
    const entry *x = a, *y = b;
    if (x->number != y->number) return x->number < y->number ? -1 : 1;
    return strcmp(x->name, y->name);
}

static int open_folder(leat__side *side, leat_error *err) {
    LEAT_TRY(leat__dir_list(side->folder, take_file, side, err));
    if (side->n_entries == 0)
        return leat__fail(
            err, LEAT_ERR_NOT_FOUND,
            "the folder %s holds no file such as 000000_image.npy: leat run --sink npy:%s writes them",
            side->folder, side->folder);
    qsort(side->entries.data, side->n_entries, sizeof(entry), by_number);
    return 0;
}

static int read_array(leat__side *side, const entry *file, leat_error *err) {
    char path[4096];
    leat__buf *bytes = &side->bytes[side->n_arrays];
    if ((size_t)snprintf(path, sizeof path, "%s/%0*" PRIu64 "_%s.npy", side->folder, file->digits,
                         file->number, file->name) >= sizeof path)
        return leat__fail(err, LEAT_ERR_LIMIT, "the name of the folder %.60s... is too long", side->folder);
    LEAT_TRY(leat__file_read_all(path, bytes, FILE_BYTES_MAX, err));
    leat__npy npy;
    int rc = leat__npy_read_header(&npy, bytes->data, bytes->size, err);
    if (rc == 0 && npy.data_bytes != bytes->size - npy.header)
        rc = leat__fail(err, LEAT_ERR_FORMAT, "npy: %zu bytes of values, its shape needs %zu",
                        bytes->size - npy.header, npy.data_bytes);
    if (rc == 0 && npy.fortran && npy.ndim > 1)
        rc = leat__fail(err, LEAT_ERR_UNSUPPORTED,
                        "npy: the first axis is the fastest: save numpy.ascontiguousarray of it");
    if (rc < 0) {
        leat__error_prefix(err, "%s: ", path);
        return rc;
    }
    leat__side_array *array = &side->array[side->n_arrays++];
    *array = (leat__side_array){.dtype = npy.dtype, .ndim = npy.ndim, .data = bytes->data + npy.header};
    memcpy(array->name, file->name, sizeof array->name);
    memcpy(array->shape, npy.shape, sizeof array->shape);
    const size_t rows = npy.ndim ? (size_t)npy.shape[0] : 1;
    array->row = rows ? npy.data_bytes / rows : 0;
    return 0;
}

static int next_files(leat__side *side, leat_error *err) {
    const entry *all = (const entry *)(const void *)side->entries.data;
    side->n_arrays = 0;
    if (side->next == side->n_entries) return LEAT_END;
    const uint64_t number = all[side->next].number;
    for (; side->next < side->n_entries && all[side->next].number == number; side->next++) {
        if (side->n_arrays == LEAT_SIDE_ARRAYS)
            return leat__fail(err, LEAT_ERR_LIMIT, "%s: more than %d files of batch %" PRIu64, side->folder,
                              LEAT_SIDE_ARRAYS, number);
        LEAT_TRY(read_array(side, &all[side->next], err));
    }
    return 0;
}

/* ------------------------------------------------------------------------------------------- pipeline */

/* Fields may be named like paths, files may not. */
static void name_array(leat__side_array *array, const char *field, const char *suffix) {
    snprintf(array->name, sizeof array->name, "%s%s", field, suffix);
    for (char *c = array->name; *c; c++)
        if (*c == '/' || (unsigned char)*c < 32) *c = '_';
}

static int next_batch(leat__side *side, leat_error *err) {
    leat_batch_release(&side->batch);
    side->n_arrays = 0;
    const int rc = leat_pipeline_next(side->pipeline, &side->batch, err);
    for (int i = 0; rc == 0 && i < side->batch.n_tensors; i++) {
        const leat_tensor *t = &side->batch.tensor[i];
        leat__side_array *array = &side->array[side->n_arrays++];
        *array = (leat__side_array){.dtype = t->dtype == LEAT_DTYPE_BYTES ? LEAT_DTYPE_U8 : t->dtype,
                                    .ndim = t->ndim,
                                    .data = t->data,
                                    .row = (size_t)t->stride[0]};
        name_array(array, t->name, "");
        memcpy(array->shape, t->shape, sizeof array->shape);
        if (!t->offsets) continue;
        array = &side->array[side->n_arrays++];
        *array = (leat__side_array){.dtype = LEAT_DTYPE_I64,
                                    .ndim = 1,
                                    .shape = {side->batch.n + 1},
                                    .data = (const uint8_t *)(const void *)t->offsets,
                                    .row = sizeof *t->offsets};
        name_array(array, t->name, "_offsets");
    }
    return rc;
}

/* --------------------------------------------------------------------------------------------- doors */

int leat__side_open(leat__side **out, const char *text, const leat_config *config, leat_error *err) {
    leat__side *side = *out = leat__alloc(LEAT_MEM_TOOL, sizeof *side);
    if (!side) return leat__fail_memory(err, sizeof *side, "a comparison");
    side->entries.kind = LEAT_MEM_TOOL;
    for (int i = 0; i < LEAT_SIDE_ARRAYS; i++) side->bytes[i].kind = LEAT_MEM_TOOL;
    leat__stat st;
    int rc;
    if (leat__file_stat(text, &st, NULL) == 0 && st.is_dir) {
        side->folder = text;
        rc = open_folder(side, err);
    } else {
        side->spec = leat_spec_new(text);
        rc = side->spec ? leat_pipeline_open(&side->pipeline, side->spec, config, err)
                        : leat__fail_memory(err, strlen(text), "a pipeline text");
    }
    if (rc < 0) leat__side_close(out);
    return rc;
}

int leat__side_next(leat__side *side, leat_error *err) {
    return side->folder ? next_files(side, err) : next_batch(side, err);
}

int leat__side_count(const leat__side *side) {
    return side->n_arrays;
}

const leat__side_array *leat__side_at(const leat__side *side, int i) {
    return &side->array[i];
}

void leat__side_close(leat__side **handle) {
    leat__side *side = *handle;
    if (!side) return;
    *handle = NULL;
    leat_batch_release(&side->batch);
    leat_pipeline_close(&side->pipeline);
    leat_spec_free(&side->spec);
    for (int i = 0; i < LEAT_SIDE_ARRAYS; i++) leat__buf_free(&side->bytes[i]);
    leat__buf_free(&side->entries);
    leat__free(side);
}
