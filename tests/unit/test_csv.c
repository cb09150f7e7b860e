/* SPDX-License-Identifier: Apache-2.0 */
/* Tables as text: rows and cells in every form that RFC 4180 knows and some that it does not, whole and in
 * pieces. */
#include "unit/testing.h"

#include "format/csv.h"

static leat__csv_cell cells[LEAT_CSV_CELLS_MAX];

/* The table as "a|b;c|d;": cells end with |, rows with ;. Handed over in pieces of `step` bytes. */
static int read_in_steps(const char *bytes, size_t n, char separator, size_t step, char *out, size_t cap,
                         leat_error *err) {
    leat__csv csv = {.separator = separator, .cell = cells};
    leat__buf text = {.kind = LEAT_MEM_TOOL};
    size_t at = 0, end = LEAT_MIN(step, n), used;
    int rc;
    for (;;) {
        rc = leat__csv_next(&csv, bytes + at, end - at, end == n, &used, err);
        for (int i = 0; i < csv.n_cells && rc > 0; i++) {
            assert_true(leat__csv_append(&cells[i], &text));
            assert_true(leat__buf_append(&text, i + 1 < csv.n_cells ? "|" : ";", 1));
        }
        assert_true(used <= end - at);
        at += used;
        if (rc < 0 || (rc == 0 && end == n)) break;
        if (rc == 0) end = LEAT_MIN(end + step, n);
    }
    snprintf(out, cap, "%.*s", (int)text.size, text.size ? (const char *)text.data : "");
    leat__buf_free(&text);
    return rc;
}

static void expect(const char *bytes, size_t n, char separator, const char *want) {
    char got[500];
    leat_error err = {0};
    for (size_t step = 1; step <= n + 1; step += step < 8 ? 1 : 7) {
        const int rc = read_in_steps(bytes, n, separator, step, got, sizeof got, &err);
        if (rc != 0) fail_msg("%s", err.message);
        assert_string_equal(got, want);
    }
}

static void refuse(const char *bytes, size_t n, const char *part) {
    char got[500];
    for (size_t step = 1; step <= n; step++) {
        leat_error err = {0};
        assert_int_equal(read_in_steps(bytes, n, ',', step, got, sizeof got, &err), LEAT_ERR_FORMAT);
        if (!strstr(err.message, part)) fail_msg("'%s' is not in: %s", part, err.message);
    }
}

#define EXPECT(text, want) expect(text, sizeof(text) - 1, ',', want)
#define REFUSE(text, part) refuse(text, sizeof(text) - 1, part)

static void test_rows(void **state) {
    (void)state;
    EXPECT("", "");
    EXPECT("a", "a;");
    EXPECT("a,b\nc,d", "a|b;c|d;");
    EXPECT("a,b\r\nc,d\r\n", "a|b;c|d;");
    EXPECT("a,b\rc,d\r", "a|b;c|d;");
    EXPECT("a,\n,b\n,", "a|;|b;|;");
    EXPECT("\n\r\n\na\n\n\r\rb\n\n", "a;b;");
    EXPECT("\xef\xbb\xbf"
           "a,b\n",
           "a|b;");
    EXPECT("\xef\xbb\xbf\n\na", "a;");
    EXPECT("\xef\xbb", "\xef\xbb;"); /* half a mark is text */
    EXPECT(" a , b \n", " a | b ;");
    expect("a;b,c\n", 6, ';', "a|b,c;");
    expect("a\tb", 3, '\t', "a|b;");
}

static void test_quotes(void **state) {
    (void)state;
    EXPECT("\"a\",\"b\"\n", "a|b;");
    EXPECT("\"a,b\",\"c\nd\",\"e\r\nf\"", "a,b|c\nd|e\r\nf;");
    EXPECT("\"\"\n", ";"); /* an empty cell in quotes is a row, a blank line is none */
    EXPECT("\"\",\"\"\"\",\"a\"\"b\"\"\"", "|\"|a\"b\";");
    EXPECT("a\"b,c\"\"d\n", "a\"b|c\"\"d;"); /* inside of a cell that does not begin with one they are text */
    EXPECT("\"a\"\r\n\"b\"\r", "a;b;");
    REFUSE("\"a", "never closed");
    REFUSE("x\ny,\"a\n\n", "line 2: a quote in this row is never closed");
    REFUSE("\"a\"b\n", "line 1: text follows");
    REFUSE("a\n\n\"a\"\"b\" ,c\n", "line 3: text follows");
    REFUSE("a\0b", "zero byte");
    REFUSE("\"a\0b\"", "zero byte");
    REFUSE("\xff\xfe"
           "a\0",
           "UTF-16");
    REFUSE("\xfe\xff\0a", "UTF-16");
}

static void test_lines(void **state) {
    (void)state;
    static const char text[] = "\n\"a\n\r\nb\"\n\nc\r\rd";
    leat__csv csv = {.separator = ',', .cell = cells};
    static const int lines[] = {2, 6, 8};
    size_t at = 0, used;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(leat__csv_next(&csv, text + at, sizeof text - 1 - at, true, &used, NULL), 1);
        at += used;
        assert_int_equal(csv.line, lines[i]);
        assert_int_equal(csv.row, i + 1);
    }
    assert_int_equal(leat__csv_next(&csv, text + at, sizeof text - 1 - at, true, &used, NULL), 0);
}

static void test_limits(void **state) {
    (void)state;
    const size_t n = LEAT_CSV_ROW_MAX + 10;
    char *text = malloc(n), got[500];
    leat_error err;
    memset(text, 'x', n);
    assert_int_equal(read_in_steps(text, n, ',', n, got, sizeof got, &err), LEAT_ERR_LIMIT);
    text[0] = '"'; /* never closed */
    assert_int_equal(read_in_steps(text, n, ',', 100000, got, sizeof got, &err), LEAT_ERR_LIMIT);
    memset(text, ',', LEAT_CSV_CELLS_MAX);
    assert_int_equal(read_in_steps(text, LEAT_CSV_CELLS_MAX, ',', n, got, sizeof got, &err), LEAT_ERR_LIMIT);
    assert_int_equal(read_in_steps(text, LEAT_CSV_CELLS_MAX - 1, ',', n, got, sizeof got, &err), 0);
    free(text);
}

static void test_is(void **state) {
    (void)state;
    const leat__csv_cell plain = {.text = "label", .n = 5},
                         doubled = {.text = "a\"\"b", .n = 4, .doubled = true};
    assert_true(leat__csv_is(&plain, "label") && !leat__csv_is(&plain, "labe") &&
                !leat__csv_is(&plain, "labels"));
    assert_true(leat__csv_is(&doubled, "a\"b") && !leat__csv_is(&doubled, "a\"\"b") &&
                !leat__csv_is(&doubled, "a"));
}

static void test_numbers(void **state) {
    (void)state;
    static const struct {
        const char *text;
        leat__csv_kind kind;
        int64_t whole;
        double number;
    } cases[] = {
        {"0", LEAT_CSV_WHOLE, 0, 0},
        {"-0", LEAT_CSV_WHOLE, 0, 0},
        {"007", LEAT_CSV_WHOLE, 7, 7},
        {"+12", LEAT_CSV_WHOLE, 12, 12},
        {" -3\t", LEAT_CSV_WHOLE, -3, -3},
        {"9223372036854775807", LEAT_CSV_WHOLE, INT64_MAX, 9223372036854775807.0},
        {"-9223372036854775808", LEAT_CSV_WHOLE, INT64_MIN, -9223372036854775808.0},
        {"00000000000000000000000000001", LEAT_CSV_WHOLE, 1, 1},
        {"9223372036854775808", LEAT_CSV_HUGE, 0, 0},
        {"-9223372036854775809", LEAT_CSV_HUGE, 0, 0},
        {"100000000000000000000", LEAT_CSV_HUGE, 0, 0},
        {"1.0", LEAT_CSV_NUMBER, 0, 1},
        {"1.", LEAT_CSV_NUMBER, 0, 1},
        {".5", LEAT_CSV_NUMBER, 0, 0.5},
        {"-0.1", LEAT_CSV_NUMBER, 0, -0.1},
        {"3.141592653589793", LEAT_CSV_NUMBER, 0, 3.141592653589793},
        {"1e3", LEAT_CSV_NUMBER, 0, 1000},
        {"1E-2", LEAT_CSV_NUMBER, 0, 0.01},
        {"1e+38", LEAT_CSV_NUMBER, 0, 1e38},
        {"1e39", LEAT_CSV_HUGE, 0, 0},
        {"1e999999999", LEAT_CSV_HUGE, 0, 0},
        {"0e999999999", LEAT_CSV_NUMBER, 0, 0},
        {"1e-999999999", LEAT_CSV_NUMBER, 0, 0},
        {"", LEAT_CSV_EMPTY, 0, 0},
        {" \t ", LEAT_CSV_EMPTY, 0, 0},
        {"-", LEAT_CSV_WORD, 0, 0},
        {".", LEAT_CSV_WORD, 0, 0},
        {"1e", LEAT_CSV_WORD, 0, 0},
        {"1e+", LEAT_CSV_WORD, 0, 0},
        {"1.2.3", LEAT_CSV_WORD, 0, 0},
        {"1,5", LEAT_CSV_WORD, 0, 0},
        {"1 2", LEAT_CSV_WORD, 0, 0},
        {"nan", LEAT_CSV_WORD, 0, 0},
        {"inf", LEAT_CSV_WORD, 0, 0},
        {"0x10", LEAT_CSV_WORD, 0, 0},
        {"cat", LEAT_CSV_WORD, 0, 0},
    };
    for (size_t i = 0; i < LEAT_COUNT(cases); i++) {
        const leat__csv_cell cell = {.text = cases[i].text, .n = strlen(cases[i].text)};
        int64_t whole = 0;
        double number = 0;
        const leat__csv_kind kind = leat__csv_number(&cell, &whole, &number);
        if (kind != cases[i].kind) fail_msg("'%s': %d", cases[i].text, kind);
        if (kind == LEAT_CSV_WHOLE && whole != cases[i].whole) fail_msg("'%s'", cases[i].text);
        if ((kind == LEAT_CSV_WHOLE || kind == LEAT_CSV_NUMBER) && number != cases[i].number)
            fail_msg("'%s': %.17g", cases[i].text, number);
    }
    /* As the C library reads them. */
    leat__rng rng = leat__rng_at(1, 0, 0, 0);
    for (int i = 0; i < 20000; i++) {
        char text[60];
        const double x = (leat__rng_unit(&rng) - 0.5) * (i % 2 ? 10 : 1e6);
        const int n = snprintf(text, sizeof text, "%.*g", 1 + i % 17, x);
        const leat__csv_cell cell = {.text = text, .n = (size_t)n};
        int64_t whole;
        double number;
        const leat__csv_kind kind = leat__csv_number(&cell, &whole, &number);
        assert_true(kind == LEAT_CSV_WHOLE || kind == LEAT_CSV_NUMBER);
        assert_true((float)number == strtof(text, NULL));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),   cmocka_unit_test(test_quotes), cmocka_unit_test(test_lines),
        cmocka_unit_test(test_limits), cmocka_unit_test(test_is),     cmocka_unit_test(test_numbers),
    };
    return cmocka_run_group_tests_name("csv", tests, NULL, NULL);
}
