/* SPDX-License-Identifier: Apache-2.0 */
#include "format/npy.h"

#include "base/error.h"

#include <stdio.h>

static const char *const descriptions[LEAT_DTYPE_COUNT] = {
    [LEAT_DTYPE_U8] = "|u1",   [LEAT_DTYPE_I8] = "|i1",   [LEAT_DTYPE_U16] = "<u2", [LEAT_DTYPE_I16] = "<i2",
    [LEAT_DTYPE_U32] = "<u4",  [LEAT_DTYPE_I32] = "<i4",  [LEAT_DTYPE_U64] = "<u8", [LEAT_DTYPE_I64] = "<i8",
    [LEAT_DTYPE_F16] = "<f2",  [LEAT_DTYPE_BF16] = "<V2", [LEAT_DTYPE_F32] = "<f4", [LEAT_DTYPE_F64] = "<f8",
    [LEAT_DTYPE_BOOL] = "|b1",
};

/* NumPy leaves so much room for the first dimension, so that a file can grow without moving its values. */
#define FIRST_DIMENSION_WIDTH 21

static const char magic[8] = {'\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0};

size_t leat__npy_header(char *out, size_t cap, int dtype, int ndim, const int64_t *shape) {
    enum { PREFIX = sizeof magic + 2, ALIGN = 64 };
    if (dtype < 0 || dtype >= LEAT_DTYPE_COUNT || !descriptions[dtype]) return 0;
    if (ndim < 0 || ndim > LEAT_NDIM_MAX) return 0;

    char text[LEAT_NPY_HEADER_MAX];
    size_t n = (size_t)snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                                descriptions[dtype]);
    size_t spare = 0;
    for (int i = 0; i < ndim; i++) {
        if (shape[i] < 0) return 0;
        const size_t digits = (size_t)snprintf(text + n, sizeof text - n, "%" PRId64, shape[i]);
        if (i == 0) spare = FIRST_DIMENSION_WIDTH - digits;
        n += digits;
        /* A tuple of one has its comma at the end, longer ones have theirs between. */
        const char *const comma = ndim == 1 ? "," : i < ndim - 1 ? ", " : "";
        n += (size_t)snprintf(text + n, sizeof text - n, "%s", comma);
    }
    n += (size_t)snprintf(text + n, sizeof text - n, "), }%*s", (int)spare, "");

    /* At least one space and always up to the next multiple: a whole line of spaces if it was one already. */
    const size_t total = ((size_t)PREFIX + n + 1) / ALIGN * ALIGN + ALIGN;
    assert(n < sizeof text && total <= LEAT_NPY_HEADER_MAX);
    if (cap < total) return 0;
    memcpy(out, magic, sizeof magic);
    leat__store_u16(out + sizeof magic, (uint16_t)(total - PREFIX));
    memcpy(out + PREFIX, text, n);
    memset(out + PREFIX + n, ' ', total - PREFIX - n - 1);
    out[total - 1] = '\n';
    return total;
}

/* ------------------------------------------------------------------------------------------- reading
 * The header is a Python dictionary of three entries, in any order and with any space:
 * {'descr': '<f4', 'fortran_order': False, 'shape': (64, 224, 224, 3), } */

typedef struct cursor {
    const char *at, *end;
} cursor;

static void skip_space(cursor *c) {
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\n' || *c->at == '\r')) c->at++;
}

static bool take(cursor *c, char sign) {
    skip_space(c);
    if (c->at == c->end || *c->at != sign) return false;
    c->at++;
    return true;
}

static bool take_word(cursor *c, const char *word) {
    const size_t n = strlen(word);
    skip_space(c);
    if ((size_t)(c->end - c->at) < n || memcmp(c->at, word, n) != 0) return false;
    c->at += n;
    return true;
}

/* A quoted text without escapes, which no header has. */
static bool take_text(cursor *c, const char **text, size_t *n) {
    skip_space(c);
    if (c->at == c->end || (*c->at != '\'' && *c->at != '"')) return false;
    const char quote = *c->at++;
    const char *close = memchr(c->at, quote, (size_t)(c->end - c->at));
    if (!close) return false;
    *text = c->at;
    *n = (size_t)(close - c->at);
    c->at = close + 1;
    return true;
}

static bool take_size(cursor *c, int64_t *out) {
    skip_space(c);
    const char *first = c->at;
    *out = 0;
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++)
        if (__builtin_mul_overflow(*out, 10, out) || __builtin_add_overflow(*out, *c->at - '0', out))
            return false;
    if (c->at > first && c->at < c->end && *c->at == 'L') c->at++; /* as Python 2 wrote it */
    return c->at > first;
}

static int find_dtype(const char *text, size_t n) {
    if (n != 3) return -1;
    for (int i = 0; i < LEAT_DTYPE_COUNT; i++) {
        /* Of single bytes, and of bytes without a meaning, any order is right. */
        const char *known = descriptions[i];
        if (!known || memcmp(known + 1, text + 1, 2) != 0) continue;
        if (known[0] == text[0] || text[2] == '1' || (text[1] == 'V' && text[0] == '|')) return i;
    }
    return -1;
}

static int read_shape(cursor *c, leat__npy *out, leat_error *err) {
    memset(out->shape, 0, sizeof out->shape); /* should it come twice */
    if (!take(c, '(')) return leat__fail(err, LEAT_ERR_FORMAT, "npy: the shape is no tuple");
    for (out->ndim = 0; !take(c, ')'); out->ndim++) {
        if (out->ndim == LEAT_NDIM_MAX)
            return leat__fail(err, LEAT_ERR_LIMIT, "npy: an array of more than %d axes", LEAT_NDIM_MAX);
        if (!take_size(c, &out->shape[out->ndim]))
            return leat__fail(err, LEAT_ERR_FORMAT, "npy: the shape holds something that is no size");
        if (!take(c, ',')) {
            out->ndim++;
            return take(c, ')') ? 0 : leat__fail(err, LEAT_ERR_FORMAT, "npy: the shape does not end");
        }
    }
    return 0;
}

static int read_entry(cursor *c, leat__npy *out, unsigned *seen, leat_error *err) {
    const char *key, *text;
    size_t key_n, n;
    if (!take_text(c, &key, &key_n) || !take(c, ':'))
        return leat__fail(err, LEAT_ERR_FORMAT, "npy: the header is no dictionary");
    if (key_n == 5 && memcmp(key, "descr", 5) == 0) {
        *seen |= 1;
        if (!take_text(c, &text, &n))
            return leat__fail(err, LEAT_ERR_TYPE, "npy: an array of structures cannot be read");
        out->dtype = find_dtype(text, n);
        if (out->dtype < 0) {
            char shown[24];
            return leat__fail(err, LEAT_ERR_TYPE,
                              "npy: values of type '%s' cannot be read: save little-endian numbers",
                              leat__printable(shown, sizeof shown, text, n));
        }
    } else if (key_n == 13 && memcmp(key, "fortran_order", 13) == 0) {
        *seen |= 2;
        out->fortran = take_word(c, "True");
        if (!out->fortran && !take_word(c, "False"))
            return leat__fail(err, LEAT_ERR_FORMAT, "npy: fortran_order is neither True nor False");
    } else if (key_n == 5 && memcmp(key, "shape", 5) == 0) {
        *seen |= 4;
        return read_shape(c, out, err);
    } else {
        return leat__fail(err, LEAT_ERR_FORMAT, "npy: the header has an entry of another name");
    }
    return 0;
}

int leat__npy_read_header(leat__npy *out, const void *bytes, size_t n, leat_error *err) {
    const uint8_t *b = bytes;
    *out = (leat__npy){0};
    if (n < 12 || memcmp(b, magic, 6) != 0 || b[6] < 1 || b[6] > 3)
        return leat__fail(err, LEAT_ERR_FORMAT, "npy: this is no .npy file");
    const size_t prefix = b[6] == 1 ? 10 : 12,
                 length = b[6] == 1 ? leat__load_u16(b + 8) : leat__load_u32(b + 8);
    if (length > n - prefix)
        return leat__fail(err, LEAT_ERR_FORMAT, "npy: the file ends inside of its header");
    out->header = prefix + length;
    cursor c = {.at = (const char *)b + prefix, .end = (const char *)b + out->header};
    unsigned seen = 0;
    if (!take(&c, '{')) return leat__fail(err, LEAT_ERR_FORMAT, "npy: the header is no dictionary");
    while (!take(&c, '}')) {
        LEAT_TRY(read_entry(&c, out, &seen, err));
        if (take(&c, ',')) continue;
        if (take(&c, '}')) break;
        return leat__fail(err, LEAT_ERR_FORMAT, "npy: the header is no dictionary");
    }
    if (seen != 7)
        return leat__fail(err, LEAT_ERR_FORMAT, "npy: the header lacks descr, fortran_order or shape");
    out->count = 1;
    for (int i = 0; i < out->ndim; i++)
        if (!leat__mul_size(out->count, (size_t)out->shape[i], &out->count))
            return leat__fail(err, LEAT_ERR_LIMIT, "npy: the shape has too many values");
    const size_t item = (size_t)(descriptions[out->dtype][2] - '0');
    if (!leat__mul_size(out->count, item, &out->data_bytes) || out->data_bytes > SIZE_MAX / 2)
        return leat__fail(err, LEAT_ERR_LIMIT, "npy: the shape has too many bytes");
    return 0;
}
