/* SPDX-License-Identifier: Apache-2.0 */
/* The sinks: nothing, one digest over every byte, a digest of each sample, the numbers of the samples, or files for
 * numpy. */
#include "sink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

struct cli_sink {
    const char *verb;
    int (*take)(cli_sink *, const leat_batch *, uint64_t number);
    XXH3_state_t *digest;
    const char *dir;
};

static size_t row_bytes(const leat_tensor *t) {
    size_t bytes = leat_dtype_size(t->dtype);
    for (int i = 1; i < t->ndim; i++) bytes *= (size_t)t->shape[i];
    return bytes;
}

/* Calls piece for the values of a tensor, in order and without gaps. */
static bool each_piece(const leat_tensor *t, bool (*piece)(void *user, const void *bytes, size_t n),
                       void *user) {
    const size_t row = row_bytes(t), n = t->ndim > 0 ? (size_t)t->shape[0] : 1;
    if (n < 2 || (size_t)t->stride[0] == row) return n * row == 0 || piece(user, t->data, n * row);
    for (size_t i = 0; i < n; i++)
        if (!piece(user, (const char *)t->data + (ptrdiff_t)i * t->stride[0], row)) return false;
    return true;
}

/* --------------------------------------------------------------------------- null, digest, samples, ids */

static int take_null(cli_sink *sink, const leat_batch *batch, uint64_t number) {
    (void)sink, (void)batch, (void)number;
    return CLI_OK;
}

static bool digest_bytes(void *user, const void *bytes, size_t n) {
    XXH3_128bits_update(user, bytes, n);
    return true;
}

static void digest_number(XXH3_state_t *digest, int64_t x) {
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++) bytes[i] = (uint8_t)((uint64_t)x >> 8 * i);
    XXH3_128bits_update(digest, bytes, sizeof bytes);
}

/* For every batch n; for every tensor its name with the final 0, dtype, ndim, shape, offsets if it is ragged,
 * and its values. Numbers are 8 bytes, little-endian. */
static int take_digest(cli_sink *sink, const leat_batch *batch, uint64_t number) {
    (void)number;
    digest_number(sink->digest, batch->n);
    for (int i = 0; i < batch->n_tensors; i++) {
        const leat_tensor *t = &batch->tensor[i];
        XXH3_128bits_update(sink->digest, t->name, strlen(t->name) + 1);
        digest_number(sink->digest, t->dtype);
        digest_number(sink->digest, t->ndim);
        for (int k = 0; k < t->ndim; k++) digest_number(sink->digest, t->shape[k]);
        for (int k = 0; t->offsets && k <= batch->n; k++) digest_number(sink->digest, t->offsets[k]);
        each_piece(t, digest_bytes, sink->digest);
    }
    return CLI_OK;
}

/* The bytes of one sample: its rows of all fields. */
static uint64_t sample_digest(const leat_batch *batch, int i) {
    uint64_t digest = 0;
    for (int k = 0; k < batch->n_tensors; k++) {
        const leat_tensor *t = &batch->tensor[k];
        const int64_t row = (int64_t)row_bytes(t);
        const char *data = t->data;
        digest = t->offsets
                     ? XXH3_64bits_withSeed(data + t->offsets[i] * row,
                                            (size_t)((t->offsets[i + 1] - t->offsets[i]) * row), digest)
                     : XXH3_64bits_withSeed(data + i * t->stride[0], (size_t)row, digest);
    }
    return digest;
}

static int take_samples(cli_sink *sink, const leat_batch *batch, uint64_t number) {
    (void)sink, (void)number;
    for (int i = 0; i < batch->n_valid; i++)
        printf("%" PRIu64 ":%" PRIu64 " %" PRIu64 " %016" PRIx64 "\n", batch->epoch, batch->position[i],
               batch->sample[i], sample_digest(batch, i));
    return CLI_OK;
}

static int take_ids(cli_sink *sink, const leat_batch *batch, uint64_t number) {
    (void)sink, (void)number;
    printf("%" PRIu64 " %" PRIu64 ":", batch->epoch, batch->step);
    for (int i = 0; i < batch->n_valid; i++) printf(" %" PRIu64, batch->sample[i]);
    putchar('\n');
    return CLI_OK;
}

/* ----------------------------------------------------------------------------------------------- npy */

/* numpy has no bfloat16: two opaque bytes. */
static const char *const npy_types[LEAT_DTYPE_COUNT] = {
    [LEAT_DTYPE_U8] = "|u1",   [LEAT_DTYPE_I8] = "|i1",    [LEAT_DTYPE_U16] = "<u2", [LEAT_DTYPE_I16] = "<i2",
    [LEAT_DTYPE_U32] = "<u4",  [LEAT_DTYPE_I32] = "<i4",   [LEAT_DTYPE_U64] = "<u8", [LEAT_DTYPE_I64] = "<i8",
    [LEAT_DTYPE_F16] = "<f2",  [LEAT_DTYPE_BF16] = "|V2",  [LEAT_DTYPE_F32] = "<f4", [LEAT_DTYPE_F64] = "<f8",
    [LEAT_DTYPE_BOOL] = "|b1", [LEAT_DTYPE_BYTES] = "|u1",
};

static bool write_bytes(void *user, const void *bytes, size_t n) {
    return fwrite(bytes, 1, n, user) == n;
}

/* Version 1.0 of the format: magic, length, a Python dictionary padded to 64 bytes, the values. */
static void write_header(FILE *f, const leat_tensor *t) {
    char text[320];
    int n = snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                     npy_types[t->dtype]);
    for (int i = 0; i < t->ndim; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, t->ndim == 1 ? "%" PRId64 "," : "%" PRId64 ", ",
                      t->shape[i]);
    n += snprintf(text + n, sizeof text - (size_t)n, "), }");
    const int whole = (10 + n + 1 + 63) / 64 * 64;
    fwrite("\x93NUMPY\x01\x00", 1, 8, f);
    fputc((whole - 10) & 255, f);
    fputc((whole - 10) >> 8, f);
    fprintf(f, "%s%*s\n", text, whole - 10 - n - 1, "");
}

static int write_npy(const cli_sink *sink, uint64_t number, const char *field, const char *suffix,
                     const leat_tensor *t) {
    char name[80], path[4096];
    snprintf(name, sizeof name, "%s", field);
    for (char *c = name; *c; c++) /* keys of Examples may be paths */
        if (*c == '/' || (unsigned char)*c < 32) *c = '_';
    if ((size_t)snprintf(path, sizeof path, "%s/%06" PRIu64 "_%s%s.npy", sink->dir, number, name, suffix) >=
        sizeof path)
        return cli_fail(sink->verb, CLI_FAILED, "the name of the folder %.60s... is too long", sink->dir);
    FILE *f = fopen(path, "wb");
    if (!f) return cli_fail(sink->verb, CLI_FAILED, "%s: %s", path, strerror(errno));
    write_header(f, t);
    bool good = each_piece(t, write_bytes, f) && !ferror(f);
    good = fclose(f) == 0 && good;
    return good ? CLI_OK
                : cli_fail(sink->verb, CLI_FAILED, "%s cannot be written: %s", path, strerror(errno));
}

static int take_npy(cli_sink *sink, const leat_batch *batch, uint64_t number) {
    for (int i = 0; i < batch->n_tensors; i++) {
        const leat_tensor *t = &batch->tensor[i];
        int rc = write_npy(sink, number, t->name, "", t);
        if (rc == CLI_OK && t->offsets) {
            const leat_tensor offsets = {.data = (void *)t->offsets,
                                         .dtype = LEAT_DTYPE_I64,
                                         .ndim = 1,
                                         .shape = {batch->n + 1},
                                         .stride = {8}};
            rc = write_npy(sink, number, t->name, "_offsets", &offsets);
        }
        if (rc != CLI_OK) return rc;
    }
    return CLI_OK;
}

/* -------------------------------------------------------------------------------------------- doors */

int cli_sink_new(cli_sink **out, const char *verb, const char *word) {
    cli_sink *sink = *out = calloc(1, sizeof *sink);
    if (!sink) return cli_fail(verb, CLI_FAILED, "no memory");
    sink->verb = verb;
    if (strcmp(word, "null") == 0) {
        sink->take = take_null;
    } else if (strcmp(word, "samples") == 0) {
        sink->take = take_samples;
    } else if (strcmp(word, "ids") == 0) {
        sink->take = take_ids;
    } else if (strcmp(word, "digest") == 0) {
        sink->take = take_digest;
        sink->digest = XXH3_createState();
        if (!sink->digest) return cli_fail(verb, CLI_FAILED, "no memory");
        XXH3_128bits_reset(sink->digest);
    } else if (strncmp(word, "npy:", 4) == 0 && word[4]) {
        sink->take = take_npy;
        sink->dir = word + 4;
    } else {
        return cli_fail(verb, CLI_USAGE, "--sink must be null, digest, samples, ids or npy:DIR, not '%s'",
                        word);
    }
    return CLI_OK;
}

/* A reader that has gone wants no more, and needs no message. */
static int fail_output(const cli_sink *sink) {
    return errno == EPIPE ? CLI_FAILED
                          : cli_fail(sink->verb, CLI_FAILED, "stdout cannot be written: %s", strerror(errno));
}

int cli_sink_take(cli_sink *sink, const leat_batch *batch, uint64_t number) {
    if (sink->dir && mkdir(sink->dir, 0777) != 0 && errno != EEXIST)
        return cli_fail(sink->verb, CLI_FAILED, "the folder %s cannot be made: %s", sink->dir,
                        strerror(errno));
    const int rc = sink->take(sink, batch, number);
    return rc == CLI_OK && ferror(stdout) ? fail_output(sink) : rc;
}

int cli_sink_finish(cli_sink *sink) {
    if (sink->digest) {
        XXH128_canonical_t hash;
        XXH128_canonicalFromHash(&hash, XXH3_128bits_digest(sink->digest));
        printf("digest ");
        for (size_t i = 0; i < sizeof hash.digest; i++) printf("%02x", hash.digest[i]);
        putchar('\n');
    }
    return fflush(stdout) != 0 || ferror(stdout) ? fail_output(sink) : CLI_OK;
}

void cli_sink_free(cli_sink **sink) {
    if (*sink) XXH3_freeState((*sink)->digest);
    free(*sink);
    *sink = NULL;
}
