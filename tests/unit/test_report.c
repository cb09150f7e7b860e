/* SPDX-License-Identifier: Apache-2.0 */
/* The page of a report, from findings that are made up: what is in it, what is escaped, and which paths it shows. That a page is
 * sound HTML, and what a browser makes of it, is tested by tests/cli/test_report.py. */
#include "unit/testing.h"

#include "base/file.h"
#include "leat/leat_tools.h"
#include "tools/report/page.h"

enum { MOMENTS = 30, EVENTS = 900 };

#define HOSTILE "<script>alert(1)<b>\"' onload=x & \x01\xff\xe2\x80\xae"

static leat_moment moments[MOMENTS];
static leat_event events[EVENTS];
static leat_remedy remedies[2];

static leat_doctor_report made_up(void) {
    leat_doctor_report r = {
        .text = "folder /home/jo/photos/train | decode | resize 224 224 | batch 64",
        .images = 1,
        .epoch_samples = 1281167,
        .rate = 1912.4,
        .seconds = 3,
        .wait = 0.62,
        .input_binds = 1,
        .binding = 1,
        .n_ceilings = 3,
        .ceiling = {{.name = "storage, warm", .rate = 21400, .how = "4,000 files at 2.1 GB/s"},
                    {.name = "decode", .rate = 2350, .how = "of /home/jo/photos/1.jpg"},
                    {.name = "consumer", .rate = 3000}},
        .n_remedies = 2,
        .remedies = remedies,
        .n_moments = MOMENTS,
        .moments = moments,
        .n_events = EVENTS,
        .events = events,
        .latency = {.batches = 73, .count = {[2] = 4, [6] = 60, [11] = 9}}};
    r.stats =
        (leat_stats){.samples = 5737, .batches = 90, .n_threads = 2, .stage_s = {0, 0.4, 0, 4.5, 0.9, 0.05}};
    snprintf(r.verdict.sentence, sizeof r.verdict.sentence, "Decoding binds: 81 %% of the work.");
    remedies[0] = (leat_remedy){.kind = LEAT_REMEDY_COMMAND,
                                .title = "pack at 256x256",
                                .rate = 5900,
                                .gain = 3.09,
                                .cost = "1.2 GB",
                                .command = "leat pack /home/jo/photos/train out/packed --size 256x256"};
    remedies[1] = (leat_remedy){.kind = LEAT_REMEDY_ADVICE, .title = "a faster disk"};
    for (int i = 0; i < MOMENTS; i++)
        moments[i] = (leat_moment){.at_s = 0.1 * (i + 1), .rate = 1900, .wait = 0.5 + 0.01 * i, .idle = 0.02};
    for (uint64_t i = 0; i < EVENTS; i++)
        events[i] = (leat_event){.kind = i < 100   ? i % 2 ? LEAT_EVENT_STEP : LEAT_EVENT_WAIT
                                         : i < 110 ? LEAT_EVENT_READ
                                                   : LEAT_EVENT_SAMPLE,
                                 .thread = i < 110 ? 0 : (int)(i % 2),
                                 .begin_ns = i * 1000000,
                                 .end_ns = (i + 1) * 1000000,
                                 .stage_ns = {0, 100000, 0, 600000, 200000}};
    return r;
}

/* The page as text, to be freed. */
static char *page_of(const leat_doctor_report *report, const leat_html_config *config) {
    leat_error err;
    leat__buf file = {0};
    if (leat_doctor_html(report, in_dir("report.html"), config, &err) != 0) fail_msg("%s", err.message);
    assert_int_equal(leat__file_read_all(in_dir("report.html"), &file, 1 << 24, &err), 0);
    char *text = malloc(file.size + 1);
    assert_non_null(text);
    memcpy(text, file.data, file.size);
    text[file.size] = 0;
    leat__buf_free(&file);
    return text;
}

static void has(const char *page, const char *part) {
    if (!strstr(page, part)) fail_msg("'%s' is not in the page", part);
}

static void has_not(const char *page, const char *part) {
    const char *at = strstr(page, part);
    if (at) fail_msg("'%s' is in the page: %.60s", part, at);
}

static void test_what_is_in_it(void **state) {
    (void)state;
    const leat_doctor_report r = made_up();
    char *page = page_of(&r, NULL);
    const char *const parts[] = {"<h1>1,912 images/s. Decoding binds: 81 % of the work.</h1>",
                                 "folder train | decode | resize 224 224 | batch 64",
                                 "leat pack train packed --size 256x256",
                                 "&times;3.09",
                                 "5,900 images/s",
                                 "Costs: 1.2 GB",
                                 "decode <b>binds</b>",
                                 "21,400 /s",
                                 "Waiting over time",
                                 "How long a batch is waited for",
                                 "half came in less than 128 us, and 99 % in less than 4.1 ms",
                                 "What the threads did",
                                 "<div>worker 1</div>",
                                 "an epoch of 1,281,167",
                                 "11 min",
                                 "of 1.jpg",
                                 "4,000 files at 2.1 GB/s"};
    for (size_t i = 0; i < LEAT_COUNT(parts); i++) has(page, parts[i]);
    has_not(page, "/home");
    has_not(page, "<script");
    has_not(page, "http:");
    has_not(page, "https:");
    has_not(page, "<img");
    free(page);
}

static void test_hostile_names(void **state) {
    (void)state;
    leat_doctor_report r = made_up();
    r.text = "folder '/home/jo/" HOSTILE "' | batch 2";
    remedies[0].command = HOSTILE;
    snprintf(remedies[1].title, sizeof remedies[1].title, HOSTILE);
    snprintf(r.ceiling[0].name, sizeof r.ceiling[0].name, "<b>x</b>");
    snprintf(r.ceiling[0].how, sizeof r.ceiling[0].how, HOSTILE);
    snprintf(r.verdict.sentence, sizeof r.verdict.sentence, HOSTILE);
    snprintf(r.note, sizeof r.note, HOSTILE);
    char *page = page_of(&r, NULL);
    has_not(page, "<script");
    has_not(page, "<b>x");
    has_not(page, "\x01");
    has_not(page, "\xff");
    has_not(page, "\xe2\x80\xae"); /* turns the text behind it round */
    has(page, "&lt;script&gt;alert(1)&lt;b&gt;&quot;&#39; onload=x &amp; "
              "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    free(page);
}

/* Whatever is missing or nonsense: a page, and no crash. */
static void test_findings_that_are_missing(void **state) {
    (void)state;
    const leat_doctor_report none = {.binding = -1};
    char *page = page_of(&none, NULL);
    has(page, "None of those that were tried would help");
    has_not(page, "Ceilings");
    has_not(page, "What the threads did");
    free(page);
    leat_doctor_report r = made_up();
    r.rate = r.ceiling[0].rate = 1e300;
    r.ceiling[1].rate = -5;
    r.wait = 77;
    r.stats.stage_s[1] = 1e-30;
    for (int i = 0; i < EVENTS; i++) events[i].begin_ns = events[i].end_ns = UINT64_MAX / 2;
    for (int i = 0; i < LEAT_LATENCY_COUNT; i++) r.latency.count[i] = i == 31;
    page = page_of(&r, NULL);
    has_not(page, "nan");
    has_not(page, "inf");
    free(page);
}

static void test_pictures(void **state) {
    (void)state;
    leat_doctor_report r = made_up();
    leat_spec *spec = leat_spec_new("synth 5 20 30 | random_flip_left_right | batch 2");
    char *page = page_of(&r, &(leat_html_config){.pictures = 1, .spec = spec});
    int images = 0;
    for (const char *at = page; (at = strstr(at, "<img ")); at++) images++;
    assert_int_equal(images, 4 * 6);
    has(page, "src=\"data:image/jpeg;base64,/9j/");
    has(page, "random_flip_left_right flip=");
    has(page, "/home/jo/photos/train"); /* the program wanted everything to be shown */
    free(page);
    leat_spec_free(&spec);
}

static void test_arguments(void **state) {
    (void)state;
    const leat_doctor_report r = made_up();
    leat_error err;
    const char *path = in_dir("no.html");
    assert_int_equal(leat_doctor_html(NULL, path, NULL, &err), LEAT_ERR_ARGUMENT);
    assert_int_equal(leat_doctor_html(&r, NULL, NULL, &err), LEAT_ERR_ARGUMENT);
    assert_int_equal(leat_doctor_html(&r, path, &(leat_html_config){.pictures = 1}, &err), LEAT_ERR_ARGUMENT);
    assert_int_equal(leat_doctor_html(&r, path, &(leat_html_config){.reserved = {1}}, &err),
                     LEAT_ERR_ARGUMENT);
    assert_int_equal(leat_doctor_html(&r, in_dir("none/no.html"), NULL, &err), LEAT_ERR_NOT_FOUND);
    leat_spec *spec = leat_spec_new("synth 5 | batch 2 | nothing");
    assert_int_equal(leat_doctor_html(&r, path, &(leat_html_config){.pictures = 1, .spec = spec}, &err),
                     LEAT_ERR_SYNTAX);
    leat_spec_free(&spec);
    assert_int_not_equal(access(path, F_OK), 0);
}

/* Without memory there is an error, no file, and nothing is lost. */
static void test_without_memory(void **state) {
    (void)state;
    const leat_doctor_report r = made_up();
    const char *path = in_dir("none.html");
    const uint64_t before = memory_held();
    leat_error err;
    int rc = -1;
    for (uint64_t n = 1; n < 200 && rc < 0; n++) {
        leat__mem_fail_at(n);
        rc = leat_doctor_html(&r, path, NULL, &err);
        leat__mem_fail_at(0);
        assert_true(rc == 0 || rc == LEAT_ERR_MEMORY);
        assert_true(rc == 0 || access(path, F_OK) != 0);
        assert_int_equal(memory_held(), before);
    }
    assert_int_equal(rc, 0);
}

static void test_paths(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"folder /a/b | batch 2", "folder b | batch 2"},
        {"folder /a/b/ | batch 2", "folder b/ | batch 2"},
        {"folder '/home/jo smith/x y' | cast image f32 scale=1/255",
         "folder &#39;x y&#39; | cast image f32 scale=1/255"},
        {"folder \"my jo/train set\"", "folder &quot;train set&quot;"},
        {"tfrecord a/b-*.tfrecord c/d", "tfrecord b-*.tfrecord d"},
        {"zip image='folder /x/a | decode' mask='folder y/b'",
         "zip image=&#39;folder a | decode&#39; mask=&#39;folder b&#39;"},
        {"eval image='image/label' | cache /tmp/me/c", "eval image=&#39;image/label&#39; | cache c"},
        {"leat pack ~/photos ../out/b --size 4x4", "leat pack photos b --size 4x4"},
        {"leat run --cache-dir=/home/jo/c", "leat run --cache-dir=c"},
        {"/ and // and a/b/", "/ and // and b/"},
        {"tfrecord OUT/data-*.tfrecord", "tfrecord OUT/data-*.tfrecord"},
        {"", ""}};
    for (size_t i = 0; i < LEAT_COUNT(cases); i++) {
        leat__page page = {0};
        leat__page_paths(&page, cases[i][0]);
        if (page.html.size != strlen(cases[i][1]) ||
            (page.html.size && memcmp(page.html.data, cases[i][1], page.html.size) != 0))
            fail_msg("%s: %.*s", cases[i][0], (int)page.html.size, page.html.data);
        leat__buf_free(&page.html);
    }
}

static void test_base64(void **state) {
    (void)state;
    static const char *const cases[] = {"", "Zg==", "Zm8=", "Zm9v", "Zm9vYg=="};
    for (size_t i = 0; i < LEAT_COUNT(cases); i++) {
        leat__page page = {0};
        leat__page_base64(&page, (const uint8_t *)"foobar", i);
        assert_int_equal(page.html.size, strlen(cases[i]));
        if (i) assert_memory_equal(page.html.data, cases[i], page.html.size);
        leat__buf_free(&page.html);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_in_it),
        cmocka_unit_test(test_hostile_names),
        cmocka_unit_test(test_findings_that_are_missing),
        cmocka_unit_test(test_pictures),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_without_memory),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_base64),
    };
    return cmocka_run_group_tests(tests, begin_files, end_files);
}
