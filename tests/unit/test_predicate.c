/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions of filter against what they mean, and where a wrong one is pointed at. */
#include "unit/testing.h"

#include "plan/predicate.h"

typedef struct words {
    int64_t i;
    float f;
} words;

static int find_field(const void *user, const char *name, leat_error *err) {
    (void)user;
    if (strcmp(name, "i") == 0) return 0;
    if (strcmp(name, "f") == 0) return 1;
    return leat__fail(err, LEAT_ERR_NOT_FOUND, "no field %s", name);
}

static int64_t find_class(const void *user, int value, const char *name, leat_error *err) {
    (void)user, (void)value;
    return strcmp(name, "big cat") == 0 ? 3 : leat__fail(err, LEAT_ERR_NOT_FOUND, "no class %s", name);
}

static const leat__names names = {.field = find_field, .class = find_class};

static bool holds(const char *text, words w) {
    leat__arena memory = {.kind = LEAT_MEM_PLAN};
    leat__predicate predicate;
    leat_error err;
    size_t at;
    if (leat__predicate_read(&predicate, text, &names, &memory, &at, &err) != 0)
        fail_msg("%s: at %zu: %s", text, at, err.message);
    const leat__value values[] = {{.data = (const uint8_t *)&w.i, .bytes = 8, .dtype = LEAT_DTYPE_I64},
                                  {.data = (const uint8_t *)&w.f, .bytes = 4, .dtype = LEAT_DTYPE_F32}};
    const bool result = leat__predicate_holds(&predicate, values);
    leat__arena_free(&memory);
    return result;
}

static void test_conditions(void **state) {
    (void)state;
    for (int64_t i = -2; i < 6; i++) {
        const words w = {.i = i, .f = (float)i / 2};
        assert_int_equal(holds("i == 3", w), i == 3);
        assert_int_equal(holds("i==3", w), i == 3);
        assert_int_equal(holds("i != 'big cat'", w), i != 3);
        assert_int_equal(holds("i<3", w), i < 3);
        assert_int_equal(holds("i <= 3", w), i <= 3);
        assert_int_equal(holds("i > -1", w), i > -1);
        assert_int_equal(holds("i >= 2.5", w), i >= 3);
        assert_int_equal(holds("i in 1,2, 5", w), i == 1 || i == 2 || i == 5);
        assert_int_equal(holds("i not in (1 , \"big cat\")", w), i != 1 && i != 3);
        assert_int_equal(holds("f == 1/2", w), i == 1);
        assert_int_equal(holds("not i == 1 and f < 2 or i == 5", w), (i != 1 && i < 4) || i == 5);
        assert_int_equal(holds("not (i == 1 and f < 2 or i == 5)", w), !(i == 1 || i == 5));
        assert_int_equal(holds("i == 0 or i == 1 and f > 7", w), i == 0);
        assert_int_equal(holds("(i == 0 or i == 1) and not not f > 0", w), i == 1);
    }
    assert_true(holds("f == 0.1", (words){.f = 0.1f}));
    assert_false(holds("f > 0.1", (words){.f = 0.1f}));
    const float nan = __builtin_nanf("");
    assert_false(holds("f <= 1 or f > 1", (words){.f = nan}));
    assert_true(holds("f != 1", (words){.f = nan}));
    /* Whole numbers that no double can hold. */
    assert_false(holds("i == 9007199254740992", (words){.i = 9007199254740993}));
    assert_true(holds("i > 9007199254740992", (words){.i = 9007199254740993}));
}

static void refuse(const char *text, size_t where, const char *part) {
    leat__arena memory = {.kind = LEAT_MEM_PLAN};
    leat__predicate predicate;
    leat_error err;
    size_t at;
    const int rc = leat__predicate_read(&predicate, text, &names, &memory, &at, &err);
    if (rc >= 0 || at != where || !strstr(err.message, part))
        fail_msg("'%s': %d at %zu: %s", text, rc, at, rc < 0 ? err.message : "");
    leat__arena_free(&memory);
}

static void test_wrong_conditions(void **state) {
    (void)state;
    refuse("", 0, "field is missing");
    refuse("i", 1, "missing");
    refuse("i ==", 4, "missing");
    refuse("i = 3", 2, "==");
    refuse("i == 3 i", 7, "and, or");
    refuse("j == 3", 0, "no field j");
    refuse("i == 3 and", 10, "missing");
    refuse("(i == 3", 7, ") is missing");
    refuse("i == 3)", 6, "')'");
    refuse("i == dog", 5, "no class dog");
    refuse("i == 'dog", 5, "never closed");
    refuse("i in 1,", 7, "missing");
    refuse("i in (1 2)", 8, "'2'");
    refuse("i not == 3", 6, "in must");
    refuse("3 == i", 0, "no field 3");
    refuse("i == == 3", 5, "number");
    char deep[4000] = "";
    for (int i = 0; i < 100; i++) strcat(deep, "(");
    refuse(deep, 60, "deep");
    strcpy(deep, "i == 0");
    for (int i = 0; i < 58; i++) { /* nothing is held while conditions follow one another */
        strcat(deep, " or i == 1 and i == 2");
    }
    assert_true(holds(deep, (words){0}));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conditions),
        cmocka_unit_test(test_wrong_conditions),
    };
    return cmocka_run_group_tests_name("predicate", tests, NULL, NULL);
}
