/* SPDX-License-Identifier: Apache-2.0 */
#include "base/dtype.h"

static const struct {
    const char *name;
    size_t size;          /* bytes of one value                          */
    const char *alias[2]; /* what NumPy and TensorFlow call it; NULL = no more */
} dtypes[LEAT_DTYPE_COUNT] = {
    [LEAT_DTYPE_U8] = {"u8", 1, {"uint8"}},
    [LEAT_DTYPE_I8] = {"i8", 1, {"int8"}},
    [LEAT_DTYPE_U16] = {"u16", 2, {"uint16"}},
    [LEAT_DTYPE_I16] = {"i16", 2, {"int16"}},
    [LEAT_DTYPE_U32] = {"u32", 4, {"uint32"}},
    [LEAT_DTYPE_I32] = {"i32", 4, {"int32"}},
    [LEAT_DTYPE_U64] = {"u64", 8, {"uint64"}},
    [LEAT_DTYPE_I64] = {"i64", 8, {"int64"}},
    [LEAT_DTYPE_F16] = {"f16", 2, {"float16", "half"}},
    [LEAT_DTYPE_BF16] = {"bf16", 2, {"bfloat16"}},
    [LEAT_DTYPE_F32] = {"f32", 4, {"float32", "float"}},
    [LEAT_DTYPE_F64] = {"f64", 8, {"float64", "double"}},
    [LEAT_DTYPE_BOOL] = {"bool", 1, {NULL}},
    [LEAT_DTYPE_BYTES] = {"bytes", 1, {"string"}},
};

const char *leat_dtype_name(int dtype) {
    return dtype >= 0 && dtype < LEAT_DTYPE_COUNT ? dtypes[dtype].name : "?";
}

size_t leat_dtype_size(int dtype) {
    return dtype >= 0 && dtype < LEAT_DTYPE_COUNT ? dtypes[dtype].size : 0;
}

static bool is(const char *word, const char *name, size_t n) {
    return word && strlen(word) == n && memcmp(word, name, n) == 0;
}

int leat__dtype_find(const char *name, size_t n) {
    for (int i = 0; i < LEAT_DTYPE_COUNT; i++)
        if (is(dtypes[i].name, name, n) || is(dtypes[i].alias[0], name, n) || is(dtypes[i].alias[1], name, n))
            return i;
    return -1;
}

const char *leat__dtype_word(int i) {
    for (int k = 0; k < LEAT_DTYPE_COUNT; k++) {
        const char *const words[] = {dtypes[k].name, dtypes[k].alias[0], dtypes[k].alias[1]};
        for (size_t j = 0; j < LEAT_COUNT(words); j++)
            if (words[j] && i-- == 0) return words[j];
    }
    return NULL;
}
