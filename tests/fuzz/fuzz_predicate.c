/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a condition on numbers: what can be read is true or false for any numbers, and its reverse is the other.
 * tries: plan/predicate.* */
#include <stdio.h>
#include <stdlib.h>

#include "plan/predicate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool truth) {
    if (!truth) abort();
}

/* Fields are called a, b and c; classes are words that begin with x. */
static int find_field(const void *user, const char *name, leat_error *err) {
    (void)user;
    if (name[0] >= 'a' && name[0] <= 'c' && !name[1]) return name[0] - 'a';
    return leat__fail(err, LEAT_ERR_NOT_FOUND, "no field");
}

static int64_t find_class(const void *user, int value, const char *name, leat_error *err) {
    (void)user;
    if (name[0] == 'x') return value + 1;
    return leat__fail(err, LEAT_ERR_NOT_FOUND, "no class");
}

static int read_text(leat__predicate *out, const char *text, leat__arena *memory) {
    const leat__names names = {.field = find_field, .class = find_class};
    leat_error err = {0};
    size_t at;
    const int rc = leat__predicate_read(out, text, &names, memory, &at, &err);
    require(at <= strlen(text));
    if (rc < 0) require(err.code == rc && err.message[0]);
    return rc;
}

static void compare(const leat__predicate *once, const leat__predicate *reverse) {
    static const int64_t whole[] = {INT64_MIN, -1, 0, 1, 2, INT64_MAX};
    static const float number[] = {-1e30f, -0.0f, 0.5f, 1, 1e30f, __builtin_inff(), __builtin_nanf("")};
    for (size_t i = 0; i < LEAT_COUNT(whole); i++)
        for (size_t k = 0; k < LEAT_COUNT(number); k++) {
            const uint8_t byte = (uint8_t)(i * 51);
            const leat__value values[] = {
                {.data = (const uint8_t *)&whole[i], .bytes = 8, .dtype = LEAT_DTYPE_I64},
                {.data = (const uint8_t *)&number[k], .bytes = 4, .dtype = LEAT_DTYPE_F32},
                {.data = &byte, .bytes = 1, .dtype = LEAT_DTYPE_U8}};
            require(leat__predicate_holds(once, values) != leat__predicate_holds(reverse, values));
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    leat__arena memory = {.kind = LEAT_MEM_PLAN};
    leat__predicate once, reverse;
    char *text = malloc(size + 16);
    require(text);
    const int n = snprintf(text, 8, "not (");
    memcpy(text + n, data, size);
    text[(size_t)n + size] = 0;
    const size_t length = strlen(text);
    if (read_text(&once, text + n, &memory) == 0) {
        require(once.n > 0 && once.values && once.values < 8);
        strcpy(text + length, ")");
        const int rc = read_text(&reverse, text, &memory);
        require(rc == 0 || rc == LEAT_ERR_LIMIT); /* it is one pair of parentheses deeper, and longer */
        if (rc == 0) compare(&once, &reverse);
    }
    leat__arena_free(&memory);
    free(text);
    return 0;
}
