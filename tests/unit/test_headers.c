/* SPDX-License-Identifier: Apache-2.0 */
/* The public headers: each compiles alone and twice, as C and as C++, without a warning; and the words
 * they promise. */
#include "unit/testing.h"

#include "leat/leat_tools.h"

static char include_dir[4300];

static void find_headers(void) {
    char here[4000];
    snprintf(here, sizeof here, "%s", __FILE__);
    char *slash = strrchr(here, '/');
    if (slash) *slash = 0;
    snprintf(include_dir, sizeof include_dir, "%s/../../include", slash ? here : ".");
    char header[4400];
    snprintf(header, sizeof header, "%s/leat/leat.h", include_dir);
    if (access(header, R_OK) != 0)
        fail_msg("%s is not where it was when this program was built: build it again", header);
}

static void test_compile(void **state) {
    (void)state;
    static const char *const headers[] = {"leat.h", "leat_tools.h"};
    static const struct {
        const char *compiler, *language, *standard;
    } ways[] = {{"cc", "c", "c99"},      {"cc", "c", "c11"},      {"clang", "c", "c11"},
                {"c++", "c++", "c++11"}, {"c++", "c++", "c++17"}, {"clang++", "c++", "c++17"}};
    find_headers();
    for (size_t w = 0; w < LEAT_COUNT(ways); w++) {
        char asked[200];
        snprintf(asked, sizeof asked, "%s --version >/dev/null 2>&1", ways[w].compiler);
        if (system(asked) != 0)
            fail_msg("there is no %s: scripts/install-deps installs it", ways[w].compiler);
        for (size_t h = 0; h < LEAT_COUNT(headers); h++) {
            char source[300], command[6000];
            snprintf(source, sizeof source,
                     "#include <leat/%s>\n#include <leat/%s>\nconst char *probe(void);\nconst char "
                     "*probe(void) { return leat_version(); }\n",
                     headers[h], headers[h]);
            write_file(in_dir("probe"), source, strlen(source));
            snprintf(command, sizeof command,
                     "%s -x %s -std=%s -Wall -Wextra -Werror -pedantic -Wstrict-aliasing -I'%s' -c -o '%s' "
                     "'%s' >'%s' 2>&1",
                     ways[w].compiler, ways[w].language, ways[w].standard, include_dir, in_dir("probe.o"),
                     in_dir("probe"), in_dir("probe.log"));
            if (system(command) != 0) {
                char log[800] = "";
                FILE *file = fopen(in_dir("probe.log"), "r");
                if (file) log[fread(log, 1, sizeof log - 1, file)] = 0, fclose(file);
                fail_msg("%s: %s", command, log);
            }
        }
    }
}

static void test_words(void **state) {
    (void)state;
    assert_string_equal(leat_version(), LEAT_VERSION);
    for (int i = 0; i < LEAT_DTYPE_COUNT; i++)
        assert_true(leat_dtype_size(i) >= 1 && strlen(leat_dtype_name(i)) >= 2);
    for (int i = 0; i < LEAT_STAGE_COUNT; i++) assert_true(strlen(leat_stage_name(i)) >= 4);
    assert_int_equal(leat_dtype_size(-1), 0);
    assert_int_equal(LEAT_ERR_ARGUMENT, -1); /* numbers that programs may have compiled in */
    assert_int_equal(LEAT_ERR_CANCELLED, -17);
    assert_true(sizeof(leat_error) <= 1056); /* it lies on the stack of callers */
}

/* A zeroed config is the default config. */
static void test_zero(void **state) {
    (void)state;
    tape a = record_spec(spec_of("synth 20 8 8 | shuffle | batch 3"), NULL);
    tape b = record_spec(spec_of("synth 20 8 8 | shuffle | batch 3"), &(leat_config){0});
    same_tape(&a, &b, "no config and a zeroed one");
    tape_free(&a);
    tape_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_compile), cmocka_unit_test(test_words),
                                       cmocka_unit_test(test_zero)};
    return cmocka_run_group_tests_name("headers", tests, begin_files, end_files);
}
