/* SPDX-License-Identifier: Apache-2.0 */
/* Writing tf.train.Example. Every message is preceded by its size, so sizes come first, from the inside out;
 * then the buffer is made large enough once, and everything is copied once. */
#include "format/example.h"

#define EXAMPLE_MAX ((size_t)INT32_MAX) /* protobuf's own limit */

enum { TAG_1 = LEAT_WIRE_TAG(1, LEAT_WIRE_BYTES), TAG_2 = LEAT_WIRE_TAG(2, LEAT_WIRE_BYTES) };

typedef struct piece {
    const leat__feature_value *value;
    size_t key_n;
    size_t packed_n; /* numbers without tag and size    */
    size_t list_n;   /* the List message                */
    size_t feature_n;
    size_t entry_n;
} piece;

static size_t varint_n(uint64_t v) {
    return (size_t)(70 - __builtin_clzll(v | 1)) / 7;
}

/* A field of type LEAT_WIRE_BYTES with a one-byte tag. */
static size_t field_n(size_t n) {
    return 1 + varint_n(n) + n;
}

static uint8_t *put_varint(uint8_t *at, uint64_t v) {
    for (; v >= 0x80; v >>= 7) *at++ = (uint8_t)(v | 0x80);
    *at++ = (uint8_t)v;
    return at;
}

static uint8_t *put_field(uint8_t *at, uint8_t tag, size_t n) {
    *at++ = tag;
    return put_varint(at, n);
}

static uint8_t *put_bytes(uint8_t *at, const void *bytes, size_t n) {
    if (n) memcpy(at, bytes, n);
    return at + n;
}

/* ------------------------------------------------------------------------------------------- sizes */

/* Sizes of one entry; false when it is too large for protobuf. All sums stay far from overflow, since each
 * summand is at most EXAMPLE_MAX and each sum is looked at before the next. */
static bool measure(piece *p) {
    const leat__feature_value *const v = p->value;
    p->key_n = strlen(v->key);
    if (p->key_n > EXAMPLE_MAX) return false;
    p->packed_n = p->list_n = p->feature_n = 0;
    if (v->kind == LEAT_FEATURE_BYTES) {
        const leat__span *const spans = v->values;
        for (size_t i = 0; i < v->n; i++) {
            if (spans[i].n > EXAMPLE_MAX) return false;
            p->list_n += field_n(spans[i].n);
            if (p->list_n > EXAMPLE_MAX) return false;
        }
    } else if (v->kind == LEAT_FEATURE_FLOAT) {
        if (v->n > EXAMPLE_MAX / 4) return false;
        p->packed_n = 4 * v->n;
    } else if (v->kind == LEAT_FEATURE_INT64) {
        const int64_t *const numbers = v->values;
        for (size_t i = 0; i < v->n; i++) {
            p->packed_n += varint_n((uint64_t)numbers[i]);
            if (p->packed_n > EXAMPLE_MAX) return false;
        }
    }
    if (p->packed_n) p->list_n = field_n(p->packed_n);
    if (v->kind != LEAT_FEATURE_NONE) p->feature_n = field_n(p->list_n);
    p->entry_n = field_n(p->key_n) + field_n(p->feature_n);
    return p->entry_n <= EXAMPLE_MAX;
}

/* ------------------------------------------------------------------------------------------- order */

static int compare(const piece *a, const piece *b) {
    return strcmp(a->value->key, b->value->key); /* of unsigned bytes, as C has it */
}

static void sift(piece *heap, int at, int n) {
    for (int child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && compare(&heap[child], &heap[child + 1]) < 0) child++;
        if (compare(&heap[at], &heap[child]) >= 0) return;
        const piece swap = heap[at];
        heap[at] = heap[child];
        heap[child] = swap;
    }
}

/* Heapsort: qsort may allocate. Callers that write many Examples mostly give their keys in order. */
static void sort(piece *pieces, int n) {
    int sorted = 1;
    while (sorted < n && compare(&pieces[sorted - 1], &pieces[sorted]) < 0) sorted++;
    if (sorted >= n) return;
    for (int i = n / 2; i-- > 0;) sift(pieces, i, n);
    for (int end = n - 1; end > 0; end--) {
        const piece largest = pieces[0];
        pieces[0] = pieces[end];
        pieces[end] = largest;
        sift(pieces, 0, end);
    }
}

/* ------------------------------------------------------------------------------------------- check */

/* Readers refuse a key that is not UTF-8: no surrogates, nothing over-long, nothing above U+10FFFF. */
static bool is_utf8(const char *text) {
    const uint8_t *p = (const uint8_t *)text;
    while (*p) {
        const uint8_t lead = *p++;
        if (lead < 0x80) continue;
        const int more = lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
        if (lead < 0xc2 || lead > 0xf4) return false;
        const uint8_t low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
        const uint8_t high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
        if (*p < low || *p > high) return false;
        for (int i = 0; i < more; i++, p++)
            if ((*p & 0xc0) != 0x80) return false;
    }
    return true;
}

static int check(const leat__feature_value *v, int i, leat_error *err) {
    char key[64];
    if (!v->key) return leat__fail(err, LEAT_ERR_ARGUMENT, "Example: feature %d has no key", i);
    leat__printable(key, sizeof key, v->key, strlen(v->key));
    if (!is_utf8(v->key))
        return leat__fail(err, LEAT_ERR_ARGUMENT, "Example: the key '%s' is not UTF-8", key);
    if ((unsigned)v->kind > LEAT_FEATURE_INT64 || (v->kind == LEAT_FEATURE_NONE && v->n > 0))
        return leat__fail(err, LEAT_ERR_ARGUMENT, "Example: feature '%s' has values of no kind", key);
    if (v->n > 0 && !v->values)
        return leat__fail(err, LEAT_ERR_ARGUMENT, "Example: feature '%s' has no place of its values", key);
    return 0;
}

static int fail_limit(leat_error *err, const leat__feature_value *v) {
    char key[64];
    leat__printable(key, sizeof key, v->key, strlen(v->key));
    return leat__fail(err, LEAT_ERR_LIMIT, "Example: feature '%s' makes it larger than the %zu bytes allowed",
                      key, EXAMPLE_MAX);
}

/* ------------------------------------------------------------------------------------------- write */

static uint8_t *put_floats(uint8_t *at, const float *values, size_t n) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return put_bytes(at, values, 4 * n);
#else
    for (size_t i = 0; i < n; i++, at += 4) {
        uint32_t bits;
        memcpy(&bits, values + i, 4);
        leat__store_u32(at, bits);
    }
    return at;
#endif
}

static uint8_t *put_entry(uint8_t *at, const piece *p) {
    const leat__feature_value *const v = p->value;
    at = put_field(at, TAG_1, p->entry_n);
    at = put_field(at, TAG_1, p->key_n);
    at = put_bytes(at, v->key, p->key_n);
    at = put_field(at, TAG_2, p->feature_n);
    if (v->kind == LEAT_FEATURE_NONE) return at;
    at = put_field(at, (uint8_t)LEAT_WIRE_TAG(v->kind, LEAT_WIRE_BYTES), p->list_n);
    if (v->n == 0) return at;
    if (v->kind == LEAT_FEATURE_BYTES) {
        const leat__span *const spans = v->values;
        for (size_t i = 0; i < v->n; i++) {
            at = put_field(at, TAG_1, spans[i].n);
            at = put_bytes(at, spans[i].data, spans[i].n);
        }
        return at;
    }
    at = put_field(at, TAG_1, p->packed_n);
    if (v->kind == LEAT_FEATURE_FLOAT) return put_floats(at, v->values, v->n);
    const int64_t *const numbers = v->values;
    for (size_t i = 0; i < v->n; i++) at = put_varint(at, (uint64_t)numbers[i]);
    return at;
}

static int write_pieces(leat__buf *out, piece *pieces, const leat__feature_value *values, int n,
                        leat_error *err) {
    size_t features_n = 0;
    for (int i = 0; i < n; i++) {
        LEAT_TRY(check(&values[i], i, err));
        pieces[i].value = &values[i];
        if (!measure(&pieces[i])) return fail_limit(err, &values[i]);
        features_n += field_n(pieces[i].entry_n);
        if (features_n > EXAMPLE_MAX || field_n(features_n) > EXAMPLE_MAX) return fail_limit(err, &values[i]);
    }
    sort(pieces, n);
    for (int i = 1; i < n; i++) {
        if (compare(&pieces[i - 1], &pieces[i]) != 0) continue;
        char key[64];
        leat__printable(key, sizeof key, pieces[i].value->key, pieces[i].key_n);
        return leat__fail(err, LEAT_ERR_ARGUMENT, "Example: the key '%s' is used twice", key);
    }
    size_t total;
    if (!leat__add_size(out->size, field_n(features_n), &total) || !leat__buf_reserve(out, total))
        return leat__fail_memory(err, field_n(features_n), "an Example");
    uint8_t *at = put_field(out->data + out->size, TAG_1, features_n);
    for (int i = 0; i < n; i++) at = put_entry(at, &pieces[i]);
    assert(at == out->data + total);
    (void)at;
    out->size = total;
    return 0;
}

int leat__example_write(leat__buf *out, const leat__feature_value *values, int n, leat_error *err) {
    piece few[32];
    if (n <= (int)LEAT_COUNT(few)) return write_pieces(out, few, values, n, err);
    const size_t bytes = (size_t)n * sizeof(piece);
    piece *const many = leat__alloc(out->kind, bytes);
    if (!many) return leat__fail_memory(err, bytes, "the sizes of an Example");
    const int rc = write_pieces(out, many, values, n, err);
    leat__free(many);
    return rc;
}
