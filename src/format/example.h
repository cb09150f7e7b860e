/* SPDX-License-Identifier: Apache-2.0 */
/* tf.train.Example: named lists of bytes, floats or integers, as protobuf.
 *
 *     Example  { 1: Features }
 *     Features { 1: entry { 1: key, 2: Feature } ... }
 *     Feature  { 1: BytesList { 1: bytes ... } or 2: FloatList { 1: f32 ... } or 3: Int64List { 1: int .. } }
 *
 * Reading copies nothing: everything found points into the caller's bytes and lives as long as they do.
 * Whatever protobuf allows is understood: lists packed, unpacked or both, fields in any order, unknown fields
 * and groups, messages in several pieces (which protobuf merges), and of two entries with one key the last
 * one counts. A feature is looked into only when it is asked for; damage inside of another one goes
 * unnoticed. */
#ifndef LEAT_FORMAT_EXAMPLE_H
#define LEAT_FORMAT_EXAMPLE_H

#include "base/mem.h"
#include "format/wire.h"

/* The numbers are those of Feature's fields. */
typedef enum {
    LEAT_FEATURE_NONE, /* missing, or a Feature that holds no list */
    LEAT_FEATURE_BYTES,
    LEAT_FEATURE_FLOAT,
    LEAT_FEATURE_INT64
} leat__feature_kind;

typedef struct leat__span {
    const void *data;
    size_t n;
} leat__span;

typedef struct leat__feature {
    const char *key; /* not terminated when it comes from an iterator */
    size_t key_n;
    leat__feature_kind kind;
    const uint8_t *list; /* bytes of the BytesList, FloatList or Int64List message */
    size_t list_n;
    bool merged;        /* rare: the list comes in several messages; list is the whole map entry then,  */
    size_t skip;        /* and this many list messages of the kind come before those that count         */
    const uint8_t *run; /* not NULL: the list is one string or packed numbers, and these are its bytes  */
    size_t run_n;
} leat__feature;

/* ------------------------------------------------------------------------------------------- read */

typedef struct leat__example_iter {
    const uint8_t *bytes;
    leat__wire example, features;
} leat__example_iter;

void leat__example_iter_init(leat__example_iter *iter, const uint8_t *bytes, size_t n);
/* The next entry in the order of the bytes; a key may come again, and then the later one counts.
 * 1 a feature, 0 the end, LEAT_ERR_FORMAT. */
int leat__example_iter_next(leat__example_iter *iter, leat__feature *out, leat_error *err);

/* Looks for n_keys keys, which must differ from one another; out[i].kind is LEAT_FEATURE_NONE when the i-th
 * is missing. Fastest when keys stand in the order of the Example (leat__example_write: bytewise); slow only
 * for more than 2048 keys in another order. 0, or LEAT_ERR_FORMAT. */
int leat__example_find(const uint8_t *bytes, size_t n, const char *const *keys, int n_keys,
                       leat__feature *out, leat_error *err);

/* The layout of an Example. The Examples of one file often differ in their values alone. Then it is enough to compare the
 * bytes around the values with those of the last Example, and no key is searched. Zeroed = nothing is known yet. */
#define LEAT_FORM_KEYS 32
#define LEAT_FORM_PARTS 64
#define LEAT_FORM_BYTES 2048
typedef struct leat__example_form {
    const char *const *keys; /* (n_keys) what was looked for                             */
    int n_keys;
    size_t n, n_last; /* bytes of that Example, 0 = none; of the last one that was none like it */
    int n_parts;
    uint32_t n_bytes, upto; /* bytes that are compared; where the next part begins     */
    struct {
        uint32_t at, n;
    } part[LEAT_FORM_PARTS];        /* what is compared, in the order of the bytes */
    uint8_t bytes[LEAT_FORM_BYTES]; /* what stood there, part behind part          */
    leat__feature found[LEAT_FORM_KEYS];
    size_t list[LEAT_FORM_KEYS], run[LEAT_FORM_KEYS]; /* where these begin; 0 = nowhere */
} leat__example_form;
/* The same result as leat__example_find, faster where the Example looks like the last ones. The texts of the keys must
 * stay as they are. */
int leat__example_find_alike(leat__example_form *form, const uint8_t *bytes, size_t n,
                             const char *const *keys, int n_keys, leat__feature *out, leat_error *err);

/* The values of a feature. A missing one has none; asking for another kind than it has is LEAT_ERR_TYPE.
 * Number of values, or LEAT_ERR_FORMAT; the whole list is checked. */
int64_t leat__feature_count(const leat__feature *f);
/* Number of values that there are, or LEAT_ERR_FORMAT. The first cap of them are written to dst. */
int64_t leat__feature_floats(const leat__feature *f, float *dst, size_t cap);
int64_t leat__feature_ints(const leat__feature *f, int64_t *dst, size_t cap);
int64_t leat__feature_spans(const leat__feature *f, leat__span *dst, size_t cap);
/* One value of a BytesList. 0; 1 when there is no such value; LEAT_ERR_FORMAT when the list is malformed before
 * it. Takes time in index: leat__feature_spans is for all of them. */
int leat__feature_bytes(const leat__feature *f, size_t index, const uint8_t **p, size_t *n);

/* ------------------------------------------------------------------------------------------ write */

typedef struct leat__feature_value {
    const char *key; /* UTF-8 */
    leat__feature_kind kind;
    size_t n;
    const void *values; /* BYTES: const leat__span *, FLOAT: const float *, INT64: const int64_t * */
} leat__feature_value;

/* Appends one Example to out, in the one form that TensorFlow writes when it is asked to be deterministic:
 * keys in bytewise order, lists packed. (Python's protobuf over upb differs when one key begins with another:
 * it puts the longer one first.) The values must not lie in out. 0; LEAT_ERR_ARGUMENT for a key that is used
 * twice or is not UTF-8; LEAT_ERR_LIMIT above 2 GiB, which no reader of protobuf takes; LEAT_ERR_MEMORY.
 * On failure out holds what it held. */
int leat__example_write(leat__buf *out, const leat__feature_value *values, int n, leat_error *err);

#endif
