/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: no-tsan */
/* Examples are put together byte by byte here, from the inside out, so that every odd form can be made. */
#include "format/example.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* ------------------------------------------------------------------------------ making of messages */

typedef struct text { /* bytes with their number; literals may hold zeros */
    uint8_t *bytes;
    size_t n;
} text;

#define T(literal) ((text){(uint8_t *)(uintptr_t)("" literal), sizeof(literal) - 1})

static text made[2048]; /* freed after each test */
static int n_made;

static text new_text(size_t n) {
    assert_true(n_made < (int)LEAT_COUNT(made));
    return made[n_made++] = (text){malloc(n ? n : 1), n};
}

static int free_texts(void **state) {
    (void)state;
    while (n_made > 0) free(made[--n_made].bytes);
    return 0;
}

static text join(int count, const text *parts) {
    size_t n = 0;
    for (int i = 0; i < count; i++) n += parts[i].n;
    const text all = new_text(n);
    n = 0;
    for (int i = 0; i < count; i++) {
        if (parts[i].n) memcpy(all.bytes + n, parts[i].bytes, parts[i].n);
        n += parts[i].n;
    }
    return all;
}
#define JOIN(...) join((int)(sizeof((text[]){__VA_ARGS__}) / sizeof(text)), (text[]){__VA_ARGS__})

static text varint(uint64_t v) {
    const text out = new_text(10);
    size_t n = 0;
    for (; v >= 0x80; v >>= 7) out.bytes[n++] = (uint8_t)(v | 0x80);
    out.bytes[n++] = (uint8_t)v;
    return (text){out.bytes, n};
}

static text field(uint32_t number, text content) {
    return JOIN(varint(number << 3 | 2), varint(content.n), content);
}
static text bytes_list(text list) {
    return field(1, list);
}
static text float_list(text list) {
    return field(2, list);
}
static text int_list(text list) {
    return field(3, list);
}
static text entry(const char *key, text feature) {
    const text k = {(uint8_t *)(uintptr_t)key, strlen(key)};
    return field(1, JOIN(field(1, k), field(2, feature)));
}
static text example1(text entry1) {
    return field(1, entry1);
}

/* ---------------------------------------------------------------------------------------- looking */

static leat__feature find_in(text example, const char *key) {
    leat__feature f;
    leat_error err = {0};
    const int rc = leat__example_find(example.bytes, example.n, &key, 1, &f, &err);
    if (rc != 0) fail_msg("%s", err.message);
    return f;
}

static void expect_ints(text example, const char *key, int n, const int64_t *want) {
    const leat__feature f = find_in(example, key);
    int64_t *const got = malloc(sizeof(int64_t) * (size_t)(n + 1));
    assert_int_equal(f.kind, LEAT_FEATURE_INT64);
    assert_int_equal(leat__feature_count(&f), n);
    assert_int_equal(leat__feature_ints(&f, got, (size_t)n), n);
    if (n) assert_memory_equal(got, want, sizeof(int64_t) * (size_t)n);
    if (n) assert_int_equal(leat__feature_ints(&f, got, (size_t)n - 1), n);
    assert_int_equal(leat__feature_floats(&f, NULL, 0), LEAT_ERR_TYPE);
    assert_int_equal(leat__feature_spans(&f, NULL, 0), LEAT_ERR_TYPE);
    free(got);
}
#define EXPECT_INTS(example, key, ...) \
    expect_ints(example, key, (int)(sizeof((int64_t[]){__VA_ARGS__}) / 8), (int64_t[]){__VA_ARGS__})

static void expect_floats(text example, const char *key, int n, const float *want) {
    const leat__feature f = find_in(example, key);
    float *const got = malloc(sizeof(float) * (size_t)(n + 1));
    assert_int_equal(f.kind, LEAT_FEATURE_FLOAT);
    assert_int_equal(leat__feature_count(&f), n);
    assert_int_equal(leat__feature_floats(&f, got, (size_t)n), n);
    assert_memory_equal(got, want, sizeof(float) * (size_t)n);
    assert_int_equal(leat__feature_floats(&f, got, (size_t)n - 1), n);
    assert_int_equal(leat__feature_ints(&f, NULL, 0), LEAT_ERR_TYPE);
    free(got);
}

static void expect_bytes(text example, const char *key, int n, const text *want) {
    const leat__feature f = find_in(example, key);
    leat__span *const got = malloc(sizeof(leat__span) * (size_t)(n + 1));
    const uint8_t *p;
    size_t size;
    assert_int_equal(f.kind, LEAT_FEATURE_BYTES);
    assert_int_equal(leat__feature_count(&f), n);
    assert_int_equal(leat__feature_spans(&f, got, (size_t)n), n);
    for (int i = 0; i < n; i++) {
        assert_int_equal(leat__feature_bytes(&f, (size_t)i, &p, &size), 0);
        assert_int_equal(size, want[i].n);
        if (size) assert_memory_equal(p, want[i].bytes, size);
        assert_true(got[i].data == p && got[i].n == size);
    }
    assert_int_equal(leat__feature_bytes(&f, (size_t)n, &p, &size), 1);
    assert_int_equal(leat__feature_bytes(&f, SIZE_MAX, &p, &size), 1);
    if (n) assert_int_equal(leat__feature_spans(&f, got, (size_t)n - 1), n);
    free(got);
}
#define EXPECT_BYTES(example, key, ...) \
    expect_bytes(example, key, (int)(sizeof((text[]){__VA_ARGS__}) / sizeof(text)), (text[]){__VA_ARGS__})

/* Both ways of walking fail, with a message that says which byte, and go on failing. */
static void expect_bad(text example, const char *key, const char *word) {
    leat__example_iter iter;
    leat__feature f;
    leat_error err = {0}, again = {0};
    int rc;
    assert_int_equal(leat__example_find(example.bytes, example.n, &key, 1, &f, &err), LEAT_ERR_FORMAT);
    if (!strstr(err.message, word)) fail_msg("'%s' has no '%s'", err.message, word);
    assert_non_null(strstr(err.message, " at byte "));
    leat__example_iter_init(&iter, example.bytes, example.n);
    while ((rc = leat__example_iter_next(&iter, &f, &err)) > 0) {}
    assert_int_equal(rc, LEAT_ERR_FORMAT);
    assert_int_equal(leat__example_iter_next(&iter, &f, &again), LEAT_ERR_FORMAT);
    assert_string_equal(err.message, again.message);
    assert_int_equal(leat__example_iter_next(&iter, &f, NULL), LEAT_ERR_FORMAT);
}

/* The list's content is what is wrong, so finding succeeds and taking does not. */
static void expect_bad_list(text feature) {
    const leat__feature f = find_in(example1(entry("k", feature)), "k");
    int64_t ints[64];
    float floats[64];
    leat__span spans[64];
    assert_int_equal(leat__feature_count(&f), LEAT_ERR_FORMAT);
    if (f.kind == LEAT_FEATURE_INT64) assert_int_equal(leat__feature_ints(&f, ints, 64), LEAT_ERR_FORMAT);
    if (f.kind == LEAT_FEATURE_FLOAT) assert_int_equal(leat__feature_floats(&f, floats, 64), LEAT_ERR_FORMAT);
    if (f.kind == LEAT_FEATURE_BYTES) assert_int_equal(leat__feature_spans(&f, spans, 64), LEAT_ERR_FORMAT);
}

/* ------------------------------------------------------------------------------------------- tests */

static void plain_forms(void **state) {
    (void)state;
    const text ex = field(
        1, JOIN(entry("image", bytes_list(field(1, T("\x89PNG")))),
                entry("label", int_list(field(1, T("\x07")))),
                entry("box", float_list(field(1, T("\0\0\x80\x3f\0\0\0\xc0")))),
                entry("words", bytes_list(JOIN(field(1, T("a")), field(1, T("")), field(1, T("b\0c")))))));
    EXPECT_BYTES(ex, "image", T("\x89PNG"));
    EXPECT_INTS(ex, "label", 7);
    expect_floats(ex, "box", 2, (float[]){1, -2});
    EXPECT_BYTES(ex, "words", T("a"), T(""), T("b\0c"));
    assert_int_equal(find_in(ex, "imag").kind, LEAT_FEATURE_NONE);
    assert_int_equal(find_in(ex, "images").kind, LEAT_FEATURE_NONE);

    /* All at once, in another order than they stand, one missing. */
    static const char *const keys[] = {"words", "missing", "label", "image", "box"};
    static const leat__feature_kind kinds[] = {LEAT_FEATURE_BYTES, LEAT_FEATURE_NONE, LEAT_FEATURE_INT64,
                                               LEAT_FEATURE_BYTES, LEAT_FEATURE_FLOAT};
    leat__feature f[5];
    assert_int_equal(leat__example_find(ex.bytes, ex.n, keys, 5, f, NULL), 0);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(f[i].kind, kinds[i]);
        assert_string_equal(f[i].key, keys[i]);
    }
    assert_int_equal(leat__example_find(ex.bytes, ex.n, keys, 0, f, NULL), 0);

    leat__example_iter iter;
    int n = 0;
    leat__example_iter_init(&iter, ex.bytes, ex.n);
    while (leat__example_iter_next(&iter, &f[0], NULL) > 0) n++;
    assert_int_equal(n, 4);
    assert_int_equal(leat__example_iter_next(&iter, &f[0], NULL), 0);
}

static void nothing_in_it(void **state) {
    (void)state;
    static const char *const key = "k";
    leat__feature f;
    const uint8_t *p;
    size_t n;
    assert_int_equal(leat__example_find(NULL, 0, &key, 1, &f, NULL), 0);
    assert_int_equal(f.kind, LEAT_FEATURE_NONE);
    assert_int_equal(leat__feature_count(&f), 0);
    assert_int_equal(leat__feature_ints(&f, NULL, 0), 0);
    assert_int_equal(leat__feature_floats(&f, NULL, 0), 0);
    assert_int_equal(leat__feature_spans(&f, NULL, 0), 0);
    assert_int_equal(leat__feature_bytes(&f, 0, &p, &n), 1);
    assert_int_equal(find_in(field(1, T("")), "k").kind, LEAT_FEATURE_NONE);
    assert_int_equal(find_in(example1(entry("k", T(""))), "k").kind, LEAT_FEATURE_NONE); /* empty Feature */
    assert_int_equal(find_in(example1(field(1, field(1, T("k")))), "k").kind, LEAT_FEATURE_NONE);
    expect_ints(example1(entry("k", int_list(T("")))), "k", 0, NULL); /* an empty list is a list */
    expect_ints(example1(entry("k", int_list(field(1, T(""))))), "k", 0, NULL);
    EXPECT_INTS(example1(field(1, field(2, int_list(T("\x08\x05"))))), "", 5); /* no key: the empty key */
    EXPECT_INTS(example1(field(1, JOIN(field(2, int_list(T("\x08\x05"))), field(1, T("k"))))), "k", 5);
}

static void packed_and_unpacked(void **state) {
    (void)state;
    EXPECT_INTS(example1(entry("k", int_list(T("\x08\x01\x08\x02\x08\xff\x01")))), "k", 1, 2, 255);
    EXPECT_INTS(example1(entry("k", int_list(T("\x08\x01\x0a\x03\x02\xac\x02\x08\x03\x0a\x00\x0a\x01\x04")))),
                "k", 1, 2, 300, 3, 4);
    EXPECT_INTS(example1(entry("k", int_list(T("\x0a\x14\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
                                               "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01")))),
                "k", -1, INT64_MIN);
    /* Over-long forms are allowed up to ten bytes, and bits above the 64th are dropped. */
    EXPECT_INTS(
        example1(entry("k", int_list(T("\x0a\x0e\x81\x80\x80\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f")))),
        "k", 1, -1);
    /* Many small ones, with a large one at every place, to meet the fast path and its edges. */
    for (int large = 0; large < 40; large++) {
        int64_t want[40];
        text parts[41];
        for (int i = 0; i < 40; i++) {
            want[i] = i == large ? 1000 : i;
            parts[i] = varint((uint64_t)want[i]);
        }
        expect_ints(example1(entry("k", int_list(field(1, join(40, parts))))), "k", 40, want);
        free_texts(NULL);
    }
    expect_floats(
        example1(entry("k", float_list(T("\x0d\0\0\x80\x3f\x0a\x08\0\0\0\x40\0\0\x40\x40\x0d\0\0\x80\x40")))),
        "k", 4, (float[]){1, 2, 3, 4});
}

static void unknown_fields_and_groups(void **state) {
    (void)state;
    /* Every wire type, a large field number, a group with groups and all else in it. */
    const text group = T("\x3b\x08\x05\x43\x12\x01z\x44\x41"
                         "12345678\x0d"
                         "1234\x3c");
    const text junk = JOIN(T("\x78\xff\x01"), T("\x79\1\2\3\4\5\6\7\x08"), T("\x7a\x03xyz"),
                           T("\x7d\1\2\3\4"), T("\xf8\xff\xff\xff\x0f\x01"), group);
    const text list = JOIN(junk, T("\x08\x01"), junk, T("\x0a\x01\x02"), junk);
    const text feature = JOIN(junk, int_list(list), junk);
    const text in_entry = JOIN(junk, field(1, T("k")), junk, field(2, feature), junk);
    const text ex = JOIN(junk, field(1, JOIN(junk, field(1, in_entry), junk)), junk);
    EXPECT_INTS(ex, "k", 1, 2);
    /* A known number with another type is unknown. */
    const text odd = JOIN(T("\x08\x01"), T("\x0d\1\2\3\4"), T("\x0b\x0c"));
    EXPECT_INTS(
        JOIN(odd, field(1, JOIN(odd, entry("k", int_list(T("\x0d\1\2\3\4\x08\x09\x09\1\2\3\4\5\6\7\x08")))))),
        "k", 9);
    EXPECT_INTS(example1(field(1, JOIN(odd, T("\x10\x01"), field(1, T("k")),
                                       field(2, JOIN(odd, T("\x18\x01"), int_list(T("\x08\x09"))))))),
                "k", 9);
    /* A hundred groups in one another are a lot; one more is too many. */
    text deep[202];
    for (int i = 0; i < 101; i++) deep[i] = T("\x1b"), deep[201 - i] = T("\x1c");
    EXPECT_INTS(JOIN(join(200, deep + 1), example1(entry("k", int_list(T("\x08\x09"))))), "k", 9);
    expect_bad(join(202, deep), "k", "groups");
}

static void several_pieces(void **state) {
    (void)state;
    const text one = int_list(T("\x08\x01")), two = int_list(T("\x0a\x01\x02")),
               three = int_list(T("\x08\x03"));
    const text word = bytes_list(field(1, T("w")));
    /* Features blocks. */
    const text blocks = JOIN(example1(entry("a", one)), example1(T("")), example1(entry("b", two)));
    EXPECT_INTS(blocks, "a", 1);
    EXPECT_INTS(blocks, "b", 2);
    /* Keys that come again: the last one counts, in the same block, in another, of another kind, empty. */
    EXPECT_INTS(field(1, JOIN(entry("a", one), entry("b", two), entry("a", three))), "a", 3);
    EXPECT_INTS(JOIN(example1(entry("a", one)), example1(entry("a", three))), "a", 3);
    EXPECT_BYTES(field(1, JOIN(entry("a", one), entry("a", word))), "a", T("w"));
    assert_int_equal(find_in(field(1, JOIN(entry("a", one), entry("a", T("")))), "a").kind,
                     LEAT_FEATURE_NONE);
    EXPECT_INTS(example1(field(1, JOIN(field(1, T("x")), field(1, T("a")), field(2, one)))), "a", 1);
    /* Lists in one Feature: of one kind they are put in a row, of two kinds the last kind counts. */
    EXPECT_INTS(example1(entry("a", JOIN(one, two, three))), "a", 1, 2, 3);
    EXPECT_INTS(example1(entry("a", JOIN(word, one))), "a", 1);
    EXPECT_INTS(example1(entry("a", JOIN(one, word, two, three))), "a", 2, 3);
    EXPECT_INTS(example1(entry("a", JOIN(one, two, word, three))), "a", 3);
    EXPECT_BYTES(example1(entry("a", JOIN(word, word, one, word, word, word))), "a", T("w"), T("w"), T("w"));
    expect_floats(example1(entry("a", JOIN(float_list(T("\x0d\0\0\x80\x3f")), float_list(T("")),
                                           float_list(T("\x0a\x04\0\0\0\x40"))))),
                  "a", 2, (float[]){1, 2});
    /* Several Features in one entry are merged as well. */
    const text key = field(1, T("a"));
    EXPECT_INTS(example1(field(1, JOIN(key, field(2, one), field(2, T("")), field(2, two)))), "a", 1, 2);
    EXPECT_INTS(example1(field(1, JOIN(field(2, JOIN(one, word, two)), key, field(2, three)))), "a", 2, 3);
    EXPECT_INTS(example1(field(1, JOIN(field(2, word), key, field(2, three)))), "a", 3);
    EXPECT_BYTES(example1(field(1, JOIN(field(2, one), key, field(2, T("")), field(2, word)))), "a", T("w"));
}

static void malformed_structure(void **state) {
    (void)state;
    const text good = entry("k", int_list(T("\x08\x01")));
    expect_bad(T("\x0a"), "k", "end inside a number");
    expect_bad(T("\x0a\x80"), "k", "end inside a number");
    expect_bad(T("\x0a\x01"), "k", "past the end");
    expect_bad(T("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "k", "past the end");
    expect_bad(T("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f"), "k", "past the end");
    expect_bad(T("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "k", "more than 10 bytes");
    expect_bad(T("\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "k", "more than 10 bytes");
    expect_bad(T("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), "k", "more than 10 bytes");
    expect_bad(T("\x00\x01"), "k", "no field");                     /* number 0         */
    expect_bad(T("\x07\x01"), "k", "no field");                     /* number 0, type 7 */
    expect_bad(T("\x16\x01"), "k", "no field");                     /* type 6           */
    expect_bad(T("\xf8\xff\xff\xff\xff\x01\x01"), "k", "no field"); /* number too large */
    expect_bad(T("\x0c"), "k", "did not begin");
    expect_bad(T("\x1b"), "k", "inside a group");
    expect_bad(T("\x1b\x24"), "k", "did not begin");
    expect_bad(T("\x1b\x23\x1c\x24"), "k", "did not begin");
    expect_bad(T("\x15\1\2\3"), "k", "end inside a number");
    expect_bad(T("\x11\1\2\3\4\5\6\7"), "k", "end inside a number");
    /* At every level. */
    expect_bad(JOIN(example1(good), T("\x0a\x09")), "k", "past the end at byte 14");
    expect_bad(example1(JOIN(good, T("\x12\x01"))), "k", "past the end at byte 14");
    expect_bad(example1(field(1, T("\x0a\x05k"))), "k", "past the end at byte 5");
    expect_bad(example1(field(1, JOIN(field(1, T("k")), T("\x1c")))), "k", "did not begin");
    expect_bad(example1(entry("k", T("\x1a\x05"))), "k", "past the end at byte 10, in feature 'k'");
    expect_bad(example1(entry("k", T("\x22\x01"))), "k", "in feature 'k'");
    expect_bad(example1(field(1, JOIN(field(1, T("k")), field(2, T("\x1b")), field(2, T(""))))), "k",
               "in feature 'k'");
    /* Inside of a feature that nobody asked for, nobody looks. */
    const text ex = field(1, JOIN(entry("bad", T("\x1a\x05")), good));
    EXPECT_INTS(ex, "k", 1);
    expect_bad(ex, "bad", "feature 'bad'");
}

static void malformed_lists(void **state) {
    (void)state;
    expect_bad_list(int_list(T("\x08")));
    expect_bad_list(int_list(T("\x08\x80")));
    expect_bad_list(int_list(T("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")));
    expect_bad_list(int_list(T("\x0a\x02\x01\x80")));
    expect_bad_list(int_list(T("\x0a\x02\x01")));
    expect_bad_list(int_list(T("\x0a\x0b\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")));
    expect_bad_list(int_list(T("\x0a\x09\1\2\3\4\5\6\7\x08\x80")));
    expect_bad_list(int_list(T("\x08\x01\x13")));
    expect_bad_list(float_list(T("\x0d\1\2\3")));
    expect_bad_list(float_list(T("\x0a\x03\1\2\3")));
    expect_bad_list(float_list(T("\x0a\x05\1\2\3\4\5")));
    expect_bad_list(float_list(T("\x0a\x08\1\2\3\4")));
    expect_bad_list(bytes_list(T("\x0a\x05xy")));
    expect_bad_list(bytes_list(T("\x0a\x01x\x00")));
    expect_bad_list(JOIN(int_list(T("\x08\x01")), int_list(T("\x08")), int_list(T("\x08\x01"))));
    /* The value before the damage can be had. */
    const leat__feature f = find_in(example1(entry("k", bytes_list(T("\x0a\x01x\x0a\x05")))), "k");
    const uint8_t *p;
    size_t n;
    assert_int_equal(leat__feature_bytes(&f, 0, &p, &n), 0);
    assert_int_equal(leat__feature_bytes(&f, 1, &p, &n), LEAT_ERR_FORMAT);
}

/* Every truncation and every changed bit of a whole Example: any answer, but an answer. */
static void mutations(void **state) {
    (void)state;
    static const char *const keys[] = {"image", "label", "box"};
    const text ex =
        field(1, JOIN(entry("image", bytes_list(JOIN(field(1, T("\x89PNG")), field(1, T("more"))))),
                      entry("label", int_list(T("\x0a\x03\x07\xac\x02\x08\x01"))), T("\x1b\x08\x01\x1c"),
                      entry("box", JOIN(float_list(T("\x0d\0\0\x80\x3f")), float_list(T(""))))));
    for (size_t i = 0; i < 9 * ex.n; i++) {
        const size_t n = i < ex.n ? i : ex.n, bit = i - ex.n;
        uint8_t *const exact = malloc(n ? n : 1);
        if (n) memcpy(exact, ex.bytes, n);
        if (i >= ex.n) exact[bit / 8] ^= (uint8_t)(1 << bit % 8);
        leat__feature f[3];
        leat_error err = {0};
        const int rc = leat__example_find(exact, n, keys, 3, f, &err);
        if (rc != 0) assert_int_equal(rc, LEAT_ERR_FORMAT);
        for (int k = 0; rc == 0 && k < 3; k++) {
            int64_t ints[8];
            float floats[8];
            leat__span spans[8];
            const int64_t count = leat__feature_count(&f[k]);
            if (f[k].kind == LEAT_FEATURE_INT64) assert_int_equal(leat__feature_ints(&f[k], ints, 8), count);
            if (f[k].kind == LEAT_FEATURE_FLOAT)
                assert_int_equal(leat__feature_floats(&f[k], floats, 8), count);
            if (f[k].kind == LEAT_FEATURE_BYTES)
                assert_int_equal(leat__feature_spans(&f[k], spans, 8), count);
        }
        free(exact);
    }
}

/* ------------------------------------------------------------------------------------------- alike */

/* What a form says is what looking says, message included. */
static void expect_alike(leat__example_form *form, text ex, const char *const *keys, int n_keys) {
    leat__feature a[80], b[80];
    leat_error told = {0}, err = {0};
    const int want = leat__example_find(ex.bytes, ex.n, keys, n_keys, a, &err);
    assert_int_equal(leat__example_find_alike(form, ex.bytes, ex.n, keys, n_keys, b, &told), want);
    assert_string_equal(told.message, err.message);
    for (int i = 0; want == 0 && i < n_keys; i++) {
        assert_string_equal(b[i].key, a[i].key);
        assert_int_equal(b[i].key_n, a[i].key_n);
        assert_int_equal(b[i].kind, a[i].kind);
        assert_true(b[i].list == a[i].list && b[i].list_n == a[i].list_n);
        /* A list that was none of one run may be one now: it is read as any list is. */
        if (b[i].run) assert_true(b[i].run == a[i].run && b[i].run_n == a[i].run_n);
        assert_true(b[i].merged == a[i].merged && b[i].skip == a[i].skip);
    }
}

static text record(const char *key, text image, text label) {
    return field(1, JOIN(entry("depth", int_list(field(1, T("\x03")))),
                         entry(key, bytes_list(field(1, image))), entry("label", int_list(field(1, label))),
                         entry("words", bytes_list(JOIN(field(1, T("a")), field(1, T("bc")))))));
}

static void alike(void **state) {
    (void)state;
    static const char *const keys[] = {"image", "label", "none", "words"}, *const others[] = {"depth",
                                                                                              "label", "none",
                                                                                              "words"};
    leat__example_form form = {0};
    const text first = record("image", T("abcd"), T("\x05"));
    expect_alike(&form, first, keys, 4);
    assert_int_equal(form.n, 0); /* one of a size may be the only one */
    expect_alike(&form, record("image", T("efgh"), T("\x06")), keys, 4);
    assert_int_equal(form.n, first.n);
    /* Other values; values with other meanings; other sizes, after which it is still known. */
    expect_alike(&form, record("image", T("ijkl"), T("\x07")), keys, 4);
    expect_alike(&form, record("image", T("\x0a\x02\x0a\x00"), T("\x80")), keys, 4);
    expect_alike(&form, record("image", T("abc"), T("\x05")), keys, 4);
    expect_alike(&form, record("image", T("abc"), T("\x05\x06\x07")), keys, 4);
    assert_int_equal(form.n, first.n);
    /* The same size in another way. */
    expect_alike(&form, record("image", T("abc"), T("\x05\x06")), keys, 4);
    expect_alike(&form, record("imagE", T("abcd"), T("\x05")), keys, 4);
    expect_alike(&form, record("image", T("abcd"), T("\x05")), keys, 4);
    /* Asked for something else, or for less. */
    expect_alike(&form, first, others, 4);
    expect_alike(&form, first, others, 2);
    expect_alike(&form, first, keys, 1);
    expect_alike(&form, first, keys, 4);
}

/* Every changed bit of an Example that is known, and every shorter one. */
static void nearly_alike(void **state) {
    (void)state;
    static const char *const keys[] = {"label", "image", "words"};
    const text ex = record("image", T("abcd"), T("\x05"));
    for (size_t i = 0; i < 9 * ex.n; i++) {
        const size_t n = i < ex.n ? i : ex.n, bit = i - ex.n;
        leat__example_form form = {0};
        for (int k = 0; k < 2; k++) expect_alike(&form, ex, keys, 3);
        assert_int_equal(form.n, ex.n);
        uint8_t *const exact = malloc(n ? n : 1);
        if (n) memcpy(exact, ex.bytes, n);
        if (i >= ex.n) exact[bit / 8] ^= (uint8_t)(1 << bit % 8);
        for (int k = 0; k < 3; k++) expect_alike(&form, (text){exact, n}, keys, 3);
        free(exact);
    }
}

/* What has no form: nothing in it, lists in pieces, more features or more bytes than are kept. */
static void unlike(void **state) {
    (void)state;
    static const char *const key = "k";
    text many = T("");
    char name[1200], short_name[] = "k00";
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    for (int i = 0; i < 80; i++) {
        short_name[1] = (char)('0' + i / 10), short_name[2] = (char)('0' + i % 10);
        many = JOIN(many, entry(short_name, int_list(field(1, T("\x05")))));
    }
    const text long_names = JOIN(entry(name, int_list(field(1, T("\x05")))), entry(name, T("\x1a\x00")));
    const text one = entry("k", JOIN(int_list(field(1, T("\x05"))), int_list(field(1, T("\x06")))));
    const text forms[] = {field(1, many), field(1, long_names), field(1, one),
                          JOIN(field(1, entry("k", int_list(field(1, T("\x05"))))), field(7, T("x")))};
    for (size_t i = 0; i < LEAT_COUNT(forms); i++) {
        leat__example_form form = {0};
        for (int k = 0; k < 4; k++) expect_alike(&form, forms[i], &key, 1);
        assert_int_equal(form.n, 0);
    }
    /* An Example without any feature is all form. */
    leat__example_form form = {0};
    for (int k = 0; k < 3; k++) expect_alike(&form, T("\x0a\x80\x00"), &key, 1);
    assert_int_equal(form.n, 3);
    expect_alike(&form, T("\x0a\x80\x01"), &key, 1);
    expect_alike(&form, T("\x0a\x02\x0a"), &key, 1);
    /* More keys than it has room for. */
    char names[LEAT_FORM_KEYS + 1][4];
    const char *wanted[LEAT_FORM_KEYS + 1];
    for (int i = 0; i <= LEAT_FORM_KEYS; i++) {
        names[i][0] = 'k', names[i][1] = (char)('0' + i / 10), names[i][2] = (char)('0' + i % 10);
        names[i][3] = 0;
        wanted[i] = names[i];
    }
    const text two = field(1, entry("k02", int_list(field(1, T("\x05")))));
    for (int k = 0; k < 3; k++) expect_alike(&form, two, wanted, LEAT_FORM_KEYS + 1);
    assert_int_not_equal(form.n, two.n);
    for (int k = 0; k < 3; k++) expect_alike(&form, two, wanted, LEAT_FORM_KEYS);
    assert_int_equal(form.n, two.n);
}

/* Every number of wanted keys, in the order of the Example and in another, with some that are missing. */
static void many_wanted(void **state) {
    (void)state;
    enum { KEYS = 3000 };
    static const int counts[] = {1, 2, 7, 8, 9, 10, 15, 16, 17, 100, 1000, 2047, 2048, 2049, KEYS};
    char(*const names)[8] = malloc(KEYS * sizeof *names);
    leat__feature_value *const values = malloc(KEYS / 2 * sizeof *values);
    leat__feature *const found = malloc(KEYS * sizeof *found);
    const char **const keys = malloc(KEYS * sizeof *keys);
    int64_t numbers[KEYS / 2];
    for (int i = 0; i < KEYS; i++) { /* "0000" to "2999"; the even ones are there */
        for (int d = 3, left = i; d >= 0; d--, left /= 10) names[i][d] = (char)('0' + left % 10);
        names[i][4] = 0;
        numbers[i / 2] = i / 2 * 2;
        values[i / 2] = (leat__feature_value){names[i / 2 * 2], LEAT_FEATURE_INT64, 1, &numbers[i / 2]};
    }
    leat__buf out = {0};
    assert_int_equal(leat__example_write(&out, values, KEYS / 2, NULL), 0);
    for (size_t c = 0; c < LEAT_COUNT(counts); c++)
        for (int k = 0; k < 3; k++) {
            const int step = (int[]){1, 1331, 2999}[k]; /* without common factors with KEYS */
            for (int i = 0; i < counts[c]; i++) keys[i] = names[i * step % KEYS];
            assert_int_equal(leat__example_find(out.data, out.size, keys, counts[c], found, NULL), 0);
            for (int i = 0; i < counts[c]; i++) {
                const int want = i * step % KEYS;
                int64_t got = -1;
                assert_int_equal(leat__feature_ints(&found[i], &got, 1), want % 2 == 0);
                assert_int_equal(got, want % 2 == 0 ? want : -1);
            }
        }
    leat__buf_free(&out);
    free(names);
    free(values);
    free(found);
    free((void *)(uintptr_t)keys);
}

static void million_keys(void **state) {
    (void)state;
    enum { KEYS = 1000000, EACH = 18 };
    uint8_t *const features = malloc(KEYS * EACH + 16);
    size_t at = 6;
    for (int i = 0; i < KEYS; i++) {
        static const uint8_t form[EACH] = {0x0a, 16, 0x0a, 8,    'k', 0,    0, 0,    0,
                                           0,    0,  0,    0x12, 4,   0x1a, 2, 0x08, 5};
        memcpy(features + at, form, EACH);
        for (int d = 0, left = i; d < 7; d++, left /= 10)
            features[at + 11 - (size_t)d] = (uint8_t)('0' + left % 10);
        at += EACH;
    }
    const size_t n = at - 6;
    features[0] = 0x0a;
    for (int i = 0; i < 5; i++) features[1 + i] = (uint8_t)(n >> 7 * i | (i < 4 ? 0x80 : 0));
    const text ex = {features, at};
    EXPECT_INTS(ex, "k0000000", 5);
    EXPECT_INTS(ex, "k0999999", 5);
    assert_int_equal(find_in(ex, "k1000000").kind, LEAT_FEATURE_NONE);
    free(features);
}

/* ------------------------------------------------------------------------------------------ writer */

static void written_bytes(void **state) {
    (void)state;
    /* What protobuf's deterministic serialisation gives for these values. */
    static const uint8_t want[] =
        "\x0a\x73"
        "\x0a\x07\x0a\x01Z\x12\x02\x0a\x00"
        "\x0a\x0c\x0a\x01\x61\x12\x07\x0a\x05\x0a\x03\x00\x01\x02"
        "\x0a\x10\x0a\x02\x61\x61\x12\x0a\x0a\x08\x0a\x00\x0a\x04long"
        "\x0a\x13\x0a\x03\x62ox\x12\x0c\x12\x0a\x0a\x08\x00\x00\x80\x3f\x00\x00\x00\xc0"
        "\x0a\x08\x0a\x04none\x12\x00"
        "\x0a\x1e\x0a\x02\xc3\xa9\x12\x18\x1a\x16\x0a\x14\x00\x7f\x80\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff"
        "\x01"
        "\xff\xff\xff\xff\x0f\x01"
        "\x0a\x09\x0a\x03\xc3\xaa!\x12\x02\x1a\x00";
    const leat__span image = {"\x00\x01\x02", 3}, words[] = {{NULL, 0}, {"long", 4}};
    const float box[] = {1, -2};
    const int64_t ints[] = {0, 127, 128, -1, UINT32_MAX, 1};
    const leat__feature_value values[] = {
        {"\xc3\xaa!", LEAT_FEATURE_INT64, 0, NULL}, {"\xc3\xa9", LEAT_FEATURE_INT64, 6, ints},
        {"none", LEAT_FEATURE_NONE, 0, NULL},       {"box", LEAT_FEATURE_FLOAT, 2, box},
        {"aa", LEAT_FEATURE_BYTES, 2, words},       {"a", LEAT_FEATURE_BYTES, 1, &image},
        {"Z", LEAT_FEATURE_BYTES, 0, NULL},
    };
    leat__buf out = {0};
    leat_error err = {0};
    assert_true(leat__buf_append(&out, "before", 6));
    assert_int_equal(leat__example_write(&out, values, (int)LEAT_COUNT(values), &err), 0);
    assert_int_equal(out.size - 6, sizeof want - 1);
    assert_memory_equal(out.data, "before", 6);
    assert_memory_equal(out.data + 6, want, sizeof want - 1);
    out.size = 0;
    assert_int_equal(leat__example_write(&out, NULL, 0, &err), 0);
    assert_int_equal(out.size, 2);
    assert_memory_equal(out.data, "\x0a\x00", 2);
    leat__buf_free(&out);
}

static void written_is_read(void **state) {
    (void)state;
    enum { FEATURES = 500 };
    char keys[FEATURES][8];
    leat__feature_value values[FEATURES];
    int64_t ints[FEATURES];
    uint8_t *const image = malloc(3 << 20);
    for (int i = 0; i < 3 << 20; i++) image[i] = (uint8_t)(i * 7 >> 3);
    const leat__span span = {image, 3 << 20};
    for (int i = 0; i < FEATURES; i++) {
        const int shuffled = i * 263 % FEATURES;
        keys[i][0] = (char)('a' + shuffled % 26);
        keys[i][1] = (char)('0' + shuffled / 100), keys[i][2] = (char)('0' + shuffled / 10 % 10);
        keys[i][3] = (char)('0' + shuffled % 10), keys[i][4] = 0;
        ints[i] = (int64_t)((uint64_t)i << i % 64);
        values[i] = (leat__feature_value){keys[i], LEAT_FEATURE_INT64, 1, &ints[i]};
    }
    values[77].kind = LEAT_FEATURE_BYTES, values[77].values = &span;
    leat__buf out = {0};
    leat_error err = {0};
    assert_int_equal(leat__example_write(&out, values, FEATURES, &err), 0);
    assert_int_equal(out.grown, 1); /* reserved once */
    const text ex = {out.data, out.size};
    for (int i = 0; i < FEATURES; i++) {
        if (i == 77) EXPECT_BYTES(ex, keys[i], ((text){image, 3 << 20}));
        else EXPECT_INTS(ex, keys[i], ints[i]);
    }
    leat__example_iter iter;
    leat__feature f, last = {.key = ""};
    leat__example_iter_init(&iter, out.data, out.size);
    while (leat__example_iter_next(&iter, &f, &err) > 0) {
        assert_true(last.key_n == 0 || memcmp(last.key, f.key, 4) < 0);
        last = f;
    }
    /* In order already, or another order: the same bytes. */
    leat__buf again = {0};
    for (int i = 0; i < FEATURES / 2; i++) {
        const leat__feature_value swap = values[i];
        values[i] = values[FEATURES - 1 - i];
        values[FEATURES - 1 - i] = swap;
    }
    assert_int_equal(leat__example_write(&again, values, FEATURES, &err), 0);
    assert_int_equal(again.size, out.size);
    assert_memory_equal(again.data, out.data, out.size);
    leat__buf_free(&again);
    leat__buf_free(&out);
    free(image);
}

static void refused_values(void **state) {
    (void)state;
    leat__buf out = {0};
    leat_error err = {0};
    const int64_t one = 1;
    const leat__span huge[] = {{"x", (size_t)1 << 30}, {"x", (size_t)1 << 30}}, endless = {"x", SIZE_MAX};
    const struct {
        leat__feature_value values[2];
        int n, code;
        const char *word;
    } cases[] = {
        {{{"a", LEAT_FEATURE_INT64, 1, &one}, {"a", LEAT_FEATURE_INT64, 1, &one}},
         2,
         LEAT_ERR_ARGUMENT,
         "'a' is used twice"},
        {{{NULL, LEAT_FEATURE_INT64, 1, &one}}, 1, LEAT_ERR_ARGUMENT, "no key"},
        {{{"a", LEAT_FEATURE_INT64, 1, NULL}}, 1, LEAT_ERR_ARGUMENT, "feature 'a'"},
        {{{"a", LEAT_FEATURE_NONE, 1, &one}}, 1, LEAT_ERR_ARGUMENT, "no kind"},
        {{{"a", (leat__feature_kind)4, 1, &one}}, 1, LEAT_ERR_ARGUMENT, "no kind"},
        {{{"a\xff", LEAT_FEATURE_INT64, 1, &one}}, 1, LEAT_ERR_ARGUMENT, "UTF-8"},
        {{{"\xc0\xaf", LEAT_FEATURE_INT64, 1, &one}}, 1, LEAT_ERR_ARGUMENT, "UTF-8"},
        {{{"\xc3", LEAT_FEATURE_INT64, 1, &one}}, 1, LEAT_ERR_ARGUMENT, "UTF-8"},
        {{{"\xe2\x82", LEAT_FEATURE_INT64, 1, &one}}, 1, LEAT_ERR_ARGUMENT, "UTF-8"},
        {{{"\xed\xa0\x80", LEAT_FEATURE_INT64, 1, &one}}, 1, LEAT_ERR_ARGUMENT, "UTF-8"},
        {{{"\xf4\x90\x80\x80", LEAT_FEATURE_INT64, 1, &one}}, 1, LEAT_ERR_ARGUMENT, "UTF-8"},
        {{{"a", LEAT_FEATURE_BYTES, 2, huge}}, 1, LEAT_ERR_LIMIT, "2147483647"},
        {{{"a", LEAT_FEATURE_BYTES, 1, huge}, {"b", LEAT_FEATURE_BYTES, 1, huge}}, 2, LEAT_ERR_LIMIT, "'b'"},
        {{{"a", LEAT_FEATURE_BYTES, 1, &endless}}, 1, LEAT_ERR_LIMIT, "'a'"},
        {{{"a", LEAT_FEATURE_FLOAT, SIZE_MAX, &one}}, 1, LEAT_ERR_LIMIT, "'a'"},
        {{{"a", LEAT_FEATURE_FLOAT, (size_t)1 << 29, &one}}, 1, LEAT_ERR_LIMIT, "'a'"},
    };
    for (size_t i = 0; i < LEAT_COUNT(cases); i++) {
        assert_int_equal(leat__example_write(&out, cases[i].values, cases[i].n, &err), cases[i].code);
        if (!strstr(err.message, cases[i].word)) fail_msg("'%s' has no '%s'", err.message, cases[i].word);
        assert_int_equal(out.size, 0);
    }
    const leat__feature_value good = {"\xe2\x82\xac\xf0\x9f\x98\x80", LEAT_FEATURE_INT64, 1, &one};
    assert_int_equal(leat__example_write(&out, &good, 1, &err), 0);
    leat__buf_free(&out);
    /* Without memory: for the bytes, and for the sizes of many features. */
    char keys[40][3];
    leat__feature_value many[40];
    for (int i = 0; i < 40; i++) {
        keys[i][0] = (char)('a' + i / 10), keys[i][1] = (char)('0' + i % 10), keys[i][2] = 0;
        many[i] = (leat__feature_value){keys[i], LEAT_FEATURE_INT64, 1, &one};
    }
    for (uint64_t fail_at = 1; fail_at <= 2; fail_at++) {
        leat__mem_fail_at(fail_at);
        assert_int_equal(leat__example_write(&out, many, 40, &err), LEAT_ERR_MEMORY);
        assert_int_equal(out.size, 0);
    }
    leat__mem_fail_at(0);
    leat__buf_free(&out);
}

#define TEST(name) cmocka_unit_test_teardown(name, free_texts)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(plain_forms),         TEST(nothing_in_it),
        TEST(packed_and_unpacked), TEST(unknown_fields_and_groups),
        TEST(several_pieces),      TEST(malformed_structure),
        TEST(malformed_lists),     TEST(mutations),
        TEST(million_keys),        TEST(alike),
        TEST(nearly_alike),        TEST(unlike),
        TEST(many_wanted),         TEST(written_bytes),
        TEST(written_is_read),     TEST(refused_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
