/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: no-tsan */
/* Pipeline text: how it is read, what is said when it cannot be, and that its normal form means the same. */
#include "unit/testing.h"

#include <locale.h>

#include "base/dtype.h"
#include "base/rng.h"
#include "plan/spec.h"

static void refuse(const char *text, int code, int column, const char *part) {
    leat_spec *spec = leat_spec_new(text);
    leat_error err;
    assert_non_null(spec);
    const int rc = leat_spec_error(spec, &err);
    assert_int_equal(rc, err.code);
    if (err.code != code || err.column != column || !strstr(err.message, part))
        fail_msg("'%.100s': %s in column %d: %s", text, leat_error_name(err.code), err.column, err.message);
    if (strpbrk(err.message, "\n\r\t\x1b")) fail_msg("not one line: %s", err.message);
    char place[40];
    snprintf(place, sizeof place, "column %d: ", column);
    if (column) assert_memory_equal(err.message, place, strlen(place));
    leat_spec_free(&spec);
}

static leat_spec *accept(const char *text) {
    leat_spec *spec = leat_spec_new(text);
    leat_error err;
    assert_non_null(spec);
    if (leat_spec_error(spec, &err) != 0) fail_msg("'%.200s': %s", text, err.message);
    return spec;
}

static const leat__arg_value *arg(const leat_spec *spec, int use, const char *name) {
    assert_true(use < spec->n_uses);
    return leat__use_arg(&spec->use[use], name);
}

static void test_reading(void **state) {
    (void)state;
    leat_spec *spec =
        accept("  synth height=16 100 32\n|\tresize 8 width=9|batch 4 drop_remainder=true | prefetch");
    assert_int_equal(spec->n_uses, 4);
    /* Named arguments leave their places to the positional ones that follow. */
    assert_int_equal(arg(spec, 0, "n")->i, 100);
    assert_int_equal(arg(spec, 0, "height")->i, 16);
    assert_int_equal(arg(spec, 0, "width")->i, 32);
    assert_int_equal(arg(spec, 1, "height")->i, 8);
    assert_int_equal(arg(spec, 1, "width")->i, 9);
    assert_int_equal(arg(spec, 2, "drop_remainder")->i, 1);
    assert_string_equal(arg(spec, 3, "count")->text, "auto");
    leat_spec_free(&spec);
    spec = accept("arrays | cast f32 scale=1/255 | cast label i32 | reshape 2 3 -1 | reshape label 6");
    assert_string_equal(arg(spec, 1, "field")->text, "image");
    assert_true(arg(spec, 1, "scale")->x == 1.0 / 255);
    assert_string_equal(arg(spec, 2, "field")->text, "label");
    assert_int_equal(arg(spec, 3, "shape")->n, 3);
    assert_int_equal(arg(spec, 3, "shape")->ints[2], -1);
    assert_int_equal(arg(spec, 4, "shape")->n, 1);
    leat_spec_free(&spec);
}

static void test_quotes(void **state) {
    (void)state;
    static const char *const same[][2] = {
        {"folder 'a b|c=d'", "a b|c=d"}, {"folder \"a'b\"", "a'b"},
        {"folder 'a\"b'", "a\"b"},       {"folder a' 'b", "a b"},
        {"folder path='x y'", "x y"},    {"folder 'path=x'", "path=x"},
        {"folder /a/b=c", "/a/b=c"},     {"folder ''", ""},
        {"folder 'a'\"b\"c", "abc"},     {"folder path=a=b", "a=b"},
        {"folder 1=2", "1=2"},
    };
    for (size_t i = 0; i < LEAT_COUNT(same); i++) {
        leat_spec *spec = accept(same[i][0]);
        assert_string_equal(arg(spec, 0, "path")->text, same[i][1]);
        leat_spec_free(&spec);
    }
    refuse("folder 'abc", LEAT_ERR_SYNTAX, 8, "never closed");
    refuse("folder a\"b 'c'", LEAT_ERR_SYNTAX, 9, "never closed");
    refuse("folder 'a' b=\"", LEAT_ERR_SYNTAX, 14, "never closed");
}

static void test_mistakes(void **state) {
    (void)state;
    refuse("", LEAT_ERR_SYNTAX, 1, "missing");
    refuse("   ", LEAT_ERR_SYNTAX, 4, "missing");
    refuse("synth |", LEAT_ERR_SYNTAX, 8, "missing");
    refuse("synth || batch 2", LEAT_ERR_SYNTAX, 8, "missing");
    refuse("| synth", LEAT_ERR_SYNTAX, 1, "missing");
    refuse("synth | resise 3", LEAT_ERR_SYNTAX, 9, "did you mean 'resize'?");
    refuse("synth | flip_left_right", LEAT_ERR_SYNTAX, 9, "random_flip_left_right");
    refuse("synth | shufle", LEAT_ERR_SYNTAX, 9, "'shuffle'");
    refuse("synth | hsuffle", LEAT_ERR_SYNTAX, 9, "'shuffle'");
    refuse("synth | xyzzyplugh", LEAT_ERR_SYNTAX, 9, "'leat ops' lists all");
    refuse("synth | batch=3", LEAT_ERR_SYNTAX, 9, "write 'batch 3'");
    refuse("synth | resize 3 flavor=pil", LEAT_ERR_SYNTAX, 18, "did you mean 'flavour'?");
    refuse("synth | resize 3 3 3", LEAT_ERR_SYNTAX, 20, "one argument too many");
    refuse("synth | resize", LEAT_ERR_SYNTAX, 9, "needs height");
    refuse("synth | resize 3 height=3", LEAT_ERR_SYNTAX, 18, "given twice");
    refuse("synth | resize height=3 height=3", LEAT_ERR_SYNTAX, 25, "given twice");
    refuse("synth | resize three", LEAT_ERR_SYNTAX, 16, "a whole number");
    refuse("synth | resize height=three", LEAT_ERR_SYNTAX, 23, "a whole number");
    refuse("synth | resize 0", LEAT_ERR_ARGUMENT, 16, "between 1 and 65535");
    refuse("synth | resize 65536", LEAT_ERR_ARGUMENT, 16, "between 1 and 65535");
    refuse("synth | resize 3 method=cubic", LEAT_ERR_SYNTAX, 25, "bilinear|nearest");
    refuse("synth | batch 2 drop_remainder=yes", LEAT_ERR_SYNTAX, 32, "true or false");
    refuse("synth | cast floaty", LEAT_ERR_SYNTAX, 14, "not 'floaty'; did you mean 'float'?");
    refuse("synth | cast image flot32", LEAT_ERR_SYNTAX, 20, "did you mean 'float32'?");
    refuse("synth | cast pixels", LEAT_ERR_SYNTAX, 9, "needs dtype");
    refuse("synth | RandomHorizontalFlip", LEAT_ERR_SYNTAX, 9, "leat calls it 'random_flip_left_right'");
    refuse("synth | rotation_range 3", LEAT_ERR_SYNTAX, 9, "'image_data_generator rotation=...'");
    refuse("synth | image_data_generator zca_whitening=true", LEAT_ERR_SYNTAX, 30, "of its own, 'zca'");
    refuse("synth | batch 3 batch_size=4", LEAT_ERR_SYNTAX, 17, "size is given twice");
    refuse("tfrecord", LEAT_ERR_SYNTAX, 1, "needs files");
    refuse("synth | batch 2 true 'a\nb\x1b'", LEAT_ERR_SYNTAX, 22,
           "one argument too many"); /* still one line */
    refuse("synth | 'a\nb'", LEAT_ERR_SYNTAX, 9, "unknown operation");
    refuse("synth | resize 2 'x\ny'=3", LEAT_ERR_SYNTAX, 18, "");
}

static void test_numbers(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } whole[] = {{"0", 0},       {"-1", -1},        {"+7", 7},
                 {"4KiB", 4096}, {"2MiB", 2 << 20}, {"3GiB", INT64_C(3) << 30},
                 {"5k", 5000},   {"1M", 1000000},   {"9223372036854775807", INT64_MAX},
                 {"-2k", -2000}, {"007", 7}};
    for (size_t i = 0; i < LEAT_COUNT(whole); i++) {
        int64_t got;
        assert_true(leat__parse_int(whole[i].text, &got));
        assert_int_equal(got, whole[i].value);
    }
    static const char *const no_int[] = {"",
                                         "-",
                                         "+",
                                         "1.5",
                                         "1e3",
                                         "0x10",
                                         "9223372036854775808",
                                         "99999999999999999999999",
                                         "1 ",
                                         " 1",
                                         "1K",
                                         "1kib",
                                         "9007199254740993GiB",
                                         "--1",
                                         "nan",
                                         "1_000",
                                         "\xd9\xa1"};
    for (size_t i = 0; i < LEAT_COUNT(no_int); i++) {
        int64_t got;
        if (leat__parse_int(no_int[i], &got)) fail_msg("'%s' is no whole number", no_int[i]);
    }
    static const char *const exact[] = {"0",
                                        "1",
                                        "-1",
                                        "0.5",
                                        "1e-3",
                                        ".25",
                                        "5.",
                                        "1E5",
                                        "123456789.125",
                                        "0.1",
                                        "3.14159",
                                        "1e22",
                                        "2.2250738585072014e-308",
                                        "1.7e308",
                                        "-0.0",
                                        "1e-300",
                                        "0.30000000000000004",
                                        "17000000000000000e292",
                                        "72.599999999999994"};
    for (size_t i = 0; i < LEAT_COUNT(exact); i++) {
        double got;
        assert_true(leat__parse_number(exact[i], &got));
        const double want = strtod(exact[i], NULL), off = __builtin_fabs(got - want);
        if (off > 0 && !(want > 0 && want < 1e-290 && off <= want * 1e-15))
            fail_msg("%s is %.17g, not %.17g", exact[i], got, want);
    }
    double got;
    /* What 17 digits say is that very double: drawn numbers are printed so, and may be written into a text. */
    leat__rng rng = {.key = 3};
    for (int i = 0; i < 100000; i++) {
        char text[40];
        const double want = (leat__rng_unit(&rng) - 0.5) * (i % 3 ? 1e-6 : i % 5 ? 1e5 : 1e30);
        snprintf(text, sizeof text, "%.17g", want);
        assert_true(leat__parse_number(text, &got) && got == want);
    }
    assert_true(leat__parse_number("1/255", &got) && got == 1.0 / 255);
    assert_true(leat__parse_number("-3/4", &got) && got == -0.75);
    static const char *const none[] = {"",
                                       "nan",
                                       "inf",
                                       "-inf",
                                       "NaN",
                                       "infinity",
                                       "1e400",
                                       "1/0",
                                       "1/0.0",
                                       "/2",
                                       "1/",
                                       "1/2/3",
                                       "e5",
                                       "1e",
                                       "1e+",
                                       "0x1p3",
                                       ".",
                                       "1,5",
                                       "1 /2",
                                       "-",
                                       "1e309",
                                       "1e300/1e-300",
                                       "1e200/1e-200",
                                       "--1",
                                       "1/-2",
                                       "1e99999999999",
                                       "1.2.3"};
    for (size_t i = 0; i < LEAT_COUNT(none); i++)
        if (leat__parse_number(none[i], &got)) fail_msg("'%s' is no number, but gave %g", none[i], got);
    refuse("synth | cast f32 scale=nan", LEAT_ERR_SYNTAX, 24, "a number");
    refuse("synth 99999999999999999999", LEAT_ERR_SYNTAX, 7, "a whole number");
    refuse("synth | random_brightness nan", LEAT_ERR_SYNTAX, 27, "a number");
    refuse("synth | random_brightness -0.1", LEAT_ERR_ARGUMENT, 27, "between 0 and");
}

/* Numbers are read and written with a point wherever the program runs. */
static void test_locale(void **state) {
    (void)state;
    static const char *const commas[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE", "nl_NL.UTF-8"};
    /* Where none of them is installed this is one more test with the plain one. */
    for (size_t i = 0; i < LEAT_COUNT(commas); i++)
        if (setlocale(LC_ALL, commas[i])) break;
    leat_spec *spec = accept("synth 8 | cast f32 scale=0.5 | random_brightness 0.25 | batch 2");
    assert_true(arg(spec, 1, "scale")->x == 0.5);
    char text[2000];
    leat_spec_text(spec, text, sizeof text);
    assert_non_null(strstr(text, "scale=0.5"));
    leat_pipeline *pipeline = open_spec(spec, NULL);
    assert_true(leat_pipeline_state(pipeline, text, sizeof text, NULL) == 0);
    assert_int_equal(leat_pipeline_restore(pipeline, text, NULL), 0);
    leat_pipeline_close(&pipeline);
    refuse("synth | cast f32 scale=0,5", LEAT_ERR_SYNTAX, 24, "a number");
    setlocale(LC_ALL, "C");
}

/* What leat_spec_text gives is read again as the same operations, and its text is then the same. */
static void test_round_trip(void **state) {
    (void)state;
    static const char *const texts[] = {
        "synth 100 32 32 | shuffle seed=7 | resize 8 9 method=nearest | random_flip_left_right 0.3 | batch 4",
        "folder 'a b|c=d' labels=none | decode channels=1 | resize 5 | batch 2 drop_remainder=1 | prefetch 3",
        "folder 'it'\"'\"'s \"quoted\"' | decode | batch 2",
        "folder \"a'b\"'c\"d' | decode",
        "folder '' | decode",
        "tfrecord 'a b' c=d* 'e=f' \"g'h\" | parse image:bytes 'x=y:int64=3' label:int64=-1 'b "
        "c:float[2,3]=0.5' | batch 3",
        "arrays | reshape x 2 -1 | cast x f16 scale=1/3 offset=-1e-3 | select x y | repeat | take 5 | skip 2 "
        "| shard 1/3",
        "options seed=3 on_error=skip fuse=off | synth | normalize imagenet layout=nchw | batch 1",
        "synth | normalize mean=0.5,0.4,0.3 std=1,2,3 scale=1/255 | batch 8",
    };
    for (size_t i = 0; i < LEAT_COUNT(texts); i++) {
        leat_spec *spec =
            texts[i][0] == 't'
                ? leat_spec_new("tfrecord 'a b' 'c=d*' 'e=f' \"g'h\" | parse image:bytes 'x=y:int64=3'"
                                " label:int64=-1 'b c:float[2,3]=0.5' | batch 3")
                : accept(texts[i]);
        char once[4000], twice[4000];
        const size_t n = leat_spec_text(spec, once, sizeof once);
        assert_int_equal(n, strlen(once));
        leat_spec *again = accept(once);
        leat_spec_text(again, twice, sizeof twice);
        assert_string_equal(once, twice);
        assert_int_equal(spec->n_uses, again->n_uses);
        for (int u = 0; u < spec->n_uses; u++) {
            assert_ptr_equal(spec->use[u].op, again->use[u].op);
            for (int k = 0; k < LEAT_ARGS_MAX && spec->use[u].op->arg[k].name; k++) {
                const leat__arg_value *a = &spec->use[u].arg[k], *b = &again->use[u].arg[k];
                if (a->i != b->i || a->x != b->x || a->n != b->n)
                    fail_msg("%s: %s", once, spec->use[u].op->arg[k].name);
                if (a->text && b->text) assert_string_equal(a->text, b->text);
                for (int t = 0; t < a->n; t++) assert_string_equal(a->texts[t], b->texts[t]);
            }
        }
        char cut[10];
        assert_int_equal(leat_spec_text(spec, cut, sizeof cut), n);
        assert_memory_equal(cut, once, 9);
        assert_int_equal(leat_spec_text(spec, NULL, 0), n);
        leat_spec_free(&spec);
        leat_spec_free(&again);
    }
}

static void test_added_pieces(void **state) {
    (void)state;
    leat_spec *spec = leat_spec_new(NULL);
    leat_spec_add(spec, "synth 10");
    leat_spec_add(spec, "resize 4 | batch 2");
    assert_int_equal(spec->n_uses, 3);
    leat_spec_add(spec, "prefetch no=1");
    leat_spec_add(spec, "nonsense"); /* the first mistake stays */
    leat_error err;
    assert_int_equal(leat_spec_error(spec, &err), LEAT_ERR_SYNTAX);
    assert_int_equal(err.column, (int)strlen("synth 10 | resize 4 | batch 2 | prefetch ") + 1);
    assert_non_null(strstr(err.message, "prefetch has no argument 'no'"));
    leat_pipeline *pipeline;
    assert_int_equal(leat_pipeline_open(&pipeline, spec, NULL, &err), LEAT_ERR_SYNTAX);
    leat_spec_free(&spec);
    leat_spec_free(&spec);
    spec = leat_spec_new(NULL);
    leat_spec_add(spec, NULL);
    assert_int_equal(leat_spec_error(spec, NULL), LEAT_ERR_ARGUMENT);
    leat_spec_free(&spec);
    assert_int_equal(leat_spec_error(NULL, &err), LEAT_ERR_ARGUMENT);
    leat_spec_add(NULL, "x");
    leat_spec_free(NULL);
    refuse_spec(leat_spec_new(NULL), NULL, LEAT_ERR_SYNTAX, "empty");
    assert_int_equal(leat_pipeline_open(&pipeline, NULL, NULL, &err), LEAT_ERR_ARGUMENT);
    assert_int_equal(leat_pipeline_open(NULL, NULL, NULL, &err), LEAT_ERR_ARGUMENT);
}

/* A million of anything is read or refused, and soon. */
static void test_huge_texts(void **state) {
    (void)state;
    enum { BYTES = 1000000 };
    char *text = malloc(BYTES + 100000);
    static const char *const patterns[] = {"a ",     "'' ", "|",       "x=1 ", "\"", "'a'",
                                           "synth|", "= ",  "take 1|", "a",    "1/", "skip 1 | "};
    static const char *const begins[] = {
        "", "tfrecord ", "synth | parse ", "synth | reshape ", "synth | select ", "folder "};
    for (size_t b = 0; b < LEAT_COUNT(begins); b++)
        for (size_t i = 0; i < LEAT_COUNT(patterns); i++) {
            size_t n = (size_t)snprintf(text, 100, "%s", begins[b]);
            const size_t each = strlen(patterns[i]);
            for (; n + each < BYTES; n += each) memcpy(text + n, patterns[i], each);
            text[n] = 0;
            leat_spec *spec = leat_spec_new(text);
            leat_error err;
            if (leat_spec_error(spec, &err) < 0) assert_true(strlen(err.message) > 10);
            leat_spec_text(spec, text, BYTES);
            leat_spec_free(&spec);
        }
    memset(text, 'x', BYTES + 90000);
    text[BYTES + 90000] = 0;
    refuse(text, LEAT_ERR_LIMIT, 0, "more than a megabyte");
    free(text);
}

static void test_table(void **state) {
    (void)state;
    const leat__op *op;
    for (size_t i = 0; (op = leat__op_at(i)) != NULL; i++) {
        assert_ptr_equal(leat__op_find(op->name), op);
        assert_true(op->plan && strlen(op->help) > 10 && op->help[strlen(op->help) - 1] == '.');
        assert_non_null(op->like);
        for (int k = 0; k < LEAT_ARGS_MAX && op->arg[k].name; k++) {
            assert_true(strlen(op->arg[k].help) > 3);
            for (int m = 0; m < k; m++) assert_string_not_equal(op->arg[k].name, op->arg[m].name);
        }
        for (size_t k = 0; k < i; k++) assert_string_not_equal(op->name, leat__op_at(k)->name);
    }
    static const char *const types[][2] = {
        {"u8", "uint8"}, {"f32", "float"}, {"f64", "double"}, {"f16", "half"}, {"bytes", "string"}};
    for (size_t i = 0; i < LEAT_COUNT(types); i++)
        assert_int_equal(leat__dtype_find(types[i][0], strlen(types[i][0])),
                         leat__dtype_find(types[i][1], strlen(types[i][1])));
    assert_int_equal(leat__dtype_find("u8x", 3), -1);
    assert_int_equal(leat__dtype_find("u8x", 2), LEAT_DTYPE_U8);
    assert_int_equal(leat__dtype_find("", 0), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reading),      cmocka_unit_test(test_quotes),
        cmocka_unit_test(test_mistakes),     cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_locale),       cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_added_pieces), cmocka_unit_test(test_huge_texts),
        cmocka_unit_test(test_table),
    };
    return cmocka_run_group_tests_name("spec", tests, begin_files, end_files);
}
