/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a tf.train.Example. What iterating and finding say must agree, every way to take values must
 * agree with the count, and what was read is written and read again with the same result.
 * tries: format/example* format/wire.* */
#include "format/example.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 64 }; /* keys that are followed up */

static void require(bool truth) {
    if (!truth) abort();
}

static void require_message(const leat_error *err) {
    require(err->code == LEAT_ERR_FORMAT && memchr(err->message, 0, sizeof err->message) && err->message[0]);
}

/* All values of a feature in memory of exactly their size, NULL if the list is malformed. */
static void *take(const leat__feature *f, int64_t *count) {
    *count = leat__feature_count(f);
    const size_t cap = *count < 0 ? 100 : (size_t)*count;
    void *values = malloc(cap * sizeof(leat__span) + 1);
    require(values != NULL);
    int64_t n = 0;
    if (f->kind == LEAT_FEATURE_BYTES) n = leat__feature_spans(f, values, cap);
    if (f->kind == LEAT_FEATURE_FLOAT) n = leat__feature_floats(f, values, cap);
    if (f->kind == LEAT_FEATURE_INT64) n = leat__feature_ints(f, values, cap);
    if (*count >= 0) {
        require(n == *count);
        const uint8_t *p;
        size_t p_n;
        if (n > 0 && f->kind == LEAT_FEATURE_BYTES) {
            const leat__span *const last = (leat__span *)values + n - 1;
            require(leat__feature_bytes(f, (size_t)n - 1, &p, &p_n) == 0 && p == last->data &&
                    p_n == last->n);
            require(leat__feature_spans(f, values, (size_t)n - 1) == n);
        }
        if (n > 0 && f->kind == LEAT_FEATURE_FLOAT)
            require(leat__feature_floats(f, values, (size_t)n - 1) == n);
        if (n > 0 && f->kind == LEAT_FEATURE_INT64)
            require(leat__feature_ints(f, values, (size_t)n - 1) == n);
        return values;
    }
    require(n == LEAT_ERR_FORMAT);
    free(values);
    return NULL;
}

static bool same_values(const leat__feature *a, const leat__feature *b) {
    int64_t n, m;
    void *const x = take(a, &n), *const y = take(b, &m);
    require(x && y && n == m && a->kind == b->kind);
    bool same = true;
    if (a->kind == LEAT_FEATURE_BYTES) {
        const leat__span *const s = x, *const t = y;
        for (int64_t i = 0; i < n; i++) same &= s[i].n == t[i].n && memcmp(s[i].data, t[i].data, s[i].n) == 0;
    } else if (a->kind != LEAT_FEATURE_NONE) {
        same = memcmp(x, y, (size_t)n * (a->kind == LEAT_FEATURE_FLOAT ? 4 : 8)) == 0;
    }
    free(x);
    free(y);
    return same;
}

/* Writes what was found and reads it again. */
static void round_trip(const char *const *keys, int n, const leat__feature *found) {
    leat__feature_value values[MOST];
    leat__feature again[MOST];
    leat__buf out = {0};
    leat_error err = {0};
    for (int i = 0; i < n; i++) {
        int64_t count;
        void *const taken = take(&found[i], &count);
        require(taken != NULL);
        values[i] = (leat__feature_value){keys[i], found[i].kind, (size_t)count, taken};
    }
    const int rc = leat__example_write(&out, values, n, &err);
    if (rc == 0) {
        require(leat__example_find(out.data, out.size, keys, n, again, &err) == 0);
        for (int i = 0; i < n; i++) require(same_values(&found[i], &again[i]));
    } else {
        require(rc == LEAT_ERR_ARGUMENT && strstr(err.message, "UTF-8"));
    }
    for (int i = 0; i < n; i++) free((void *)(uintptr_t)values[i].values);
    leat__buf_free(&out);
}

/* A form that has seen these bytes, and what it says of them and of others that differ in one byte. */
static void require_alike(uint8_t *bytes, size_t size, const char *const *keys, int n) {
    leat__example_form form = {0};
    for (size_t i = 0; i < 3 + LEAT_MIN(size, (size_t)64); i++) {
        uint8_t *const changed = i < 3 ? NULL : bytes + (i - 3) * size / LEAT_MIN(size, (size_t)64);
        leat__feature a[MOST], b[MOST];
        leat_error err = {0}, told = {0};
        if (changed) *changed ^= (uint8_t)(1 + size % 255);
        const int rc = leat__example_find(bytes, size, keys, n, a, &err);
        require(leat__example_find_alike(&form, bytes, size, keys, n, b, &told) == rc);
        require(strcmp(err.message, told.message) == 0);
        for (int k = 0; rc == 0 && k < n; k++)
            require(a[k].kind == b[k].kind && a[k].list == b[k].list && a[k].list_n == b[k].list_n &&
                    (!b[k].run || (a[k].run == b[k].run && a[k].run_n == b[k].run_n)) &&
                    a[k].merged == b[k].merged);
        if (changed) *changed ^= (uint8_t)(1 + size % 255);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint8_t *const bytes = malloc(size ? size : 1);
    require(bytes != NULL);
    if (size) memcpy(bytes, data, size);

    char *keys[MOST];
    leat__feature last[MOST], found[MOST], f;
    int n = 0, rc;
    bool all_good = true;
    leat_error err = {0};
    leat__example_iter iter;
    leat__example_iter_init(&iter, bytes, size);
    while ((rc = leat__example_iter_next(&iter, &f, &err)) > 0) {
        require(f.kind == LEAT_FEATURE_NONE || (f.list >= bytes && f.list + f.list_n <= bytes + size));
        int64_t count;
        void *const values = take(&f, &count);
        free(values);
        if (memchr(f.key, 0, f.key_n)) continue; /* cannot be asked for */
        int i = 0;
        while (i < n && !(strlen(keys[i]) == f.key_n && memcmp(keys[i], f.key, f.key_n) == 0)) i++;
        if (i == MOST) continue;
        if (i == n) {
            keys[n] = calloc(1, f.key_n + 1);
            require(keys[n] != NULL);
            memcpy(keys[n++], f.key, f.key_n);
        }
        last[i] = f;
    }
    const char *const *const wanted = (const char *const *)keys;
    if (rc < 0) require_message(&err);
    const int find_rc = leat__example_find(bytes, size, wanted, n, found, &err);
    /* Finding looks into fewer features, so it may succeed where iterating fails. */
    if (rc == 0) require(find_rc == 0);
    if (find_rc < 0) require_message(&err);
    for (int i = 0; rc == 0 && i < n; i++) {
        require(found[i].kind == last[i].kind && found[i].merged == last[i].merged);
        require(found[i].kind == LEAT_FEATURE_NONE || found[i].list == last[i].list);
        all_good &= leat__feature_count(&found[i]) >= 0;
    }
    if (rc == 0 && all_good) round_trip(wanted, n, found);
    require_alike(bytes, size, wanted, n);
    while (n > 0) free(keys[--n]);
    free(bytes);
    return 0;
}
