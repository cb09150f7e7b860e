/* SPDX-License-Identifier: Apache-2.0 */
/* What binds a pipeline, told from counters that are made up for each case. */
#include "unit/testing.h"

#include "base/cpu.h"
#include "leat/leat_tools.h"

enum { SECONDS = 10 };

typedef struct scene {
    const char *text;
    int threads, stage; /* the stage that has three quarters of the work */
    double idle, cpu;   /* shares of the workers' time, as the next two  */
    double reading, queued;
    int bottleneck, percent;
    const char *sentence, *remedy;
} scene;

static void check(const scene *s) {
    leat_pipeline *pipeline =
        open_spec(spec_of("%s", s->text), &(leat_config){.no_side_files = 1, .synchronous = 1});
    const double all = (double)SECONDS * s->threads;
    leat_stats stats = {.n_threads = s->threads,
                        .full_s = s->idle * all,
                        .cpu_s = s->cpu * all,
                        .read_wait_s = s->reading * all,
                        .queue_s = s->queued * all};
    for (int i = LEAT_STAGE_READ; i < LEAT_STAGE_COUNT; i++) stats.stage_s[i] = i == s->stage ? 15 : 1;
    leat_diagnosis found;
    memset(&found, 0xff, sizeof found);
    assert_int_equal(leat_diagnose(&found, pipeline, &stats, SECONDS, NULL), 0);
    if (found.bottleneck != s->bottleneck || found.percent != s->percent ||
        !strstr(found.sentence, s->sentence) || !strstr(found.remedy, s->remedy))
        fail_msg("%s: %d, %d %%: %s %s", s->text, found.bottleneck, found.percent, found.sentence,
                 found.remedy);
    for (size_t i = 0; i < LEAT_COUNT(found.reserved); i++) assert_true(found.reserved[i] == 0);
    leat_pipeline_close(&pipeline);
}

static void test_verdicts(void **state) {
    (void)state;
    char folder[400], plain[400], packed[400];
    make_dir(in_dir("pictures"));
    make_dir(in_dir("pictures/a"));
    write_png(in_dir("pictures/a/1.png"), 8, 8, 1);
    write_samples(in_dir("plain.tfrecord"), 0, 3, 10);
    leat__buf shard = {0};
    for (int i = 0; i < 3; i++) add_sample(&shard, i, 10);
    write_deflated(in_dir("packed.tfrecord"), &shard, GZIP_BITS);
    snprintf(folder, sizeof folder, "folder %s | decode | resize 8 8 | batch 1", in_dir("pictures"));
    snprintf(plain, sizeof plain, "tfrecord %s | parse label:int64 | batch 1", in_dir("plain.tfrecord"));
    snprintf(packed, sizeof packed, "tfrecord %s | parse label:int64 | batch 1", in_dir("packed.tfrecord"));
    const int cores = leat__cpu_count(), many = cores * 2;
    const scene scenes[] = {
        {plain, 1, LEAT_STAGE_READ, 0.4, 0.6, 0, 0, LEAT_BOTTLENECK_CONSUMER, 40, "nothing to do 40 %",
         "larger batch"},
        {packed, 1, LEAT_STAGE_READ, 0.4, 0.6, 0, 0, LEAT_BOTTLENECK_STREAM, 40, "Inflating",
         "without compression"},
        {"synth 3 8 8 | batch 1", 1, LEAT_STAGE_READ, 0, 1, 0, 0, LEAT_BOTTLENECK_READ, 75, "Making up",
         "leat synth"},
        {folder, 1, LEAT_STAGE_READ, 0, 0.5, 0.5, 0, LEAT_BOTTLENECK_STORAGE, 50, "Storage", "-t 2"},
        {folder, 1, LEAT_STAGE_READ, 0, 0.5, 0, 0.5, LEAT_BOTTLENECK_OTHERS, 50, "Other work", "top -H"},
        {folder, 1, LEAT_STAGE_DECODE, 0, 0.5, 0, 0.5, LEAT_BOTTLENECK_OTHERS, 50, "Other work", "top -H"},
        {plain, 1, LEAT_STAGE_READ, 0.4, 0.1, 0, 0.5, LEAT_BOTTLENECK_OTHERS, 50, "Other work", "top -H"},
        {plain, 1, LEAT_STAGE_READ, 0.6, 0, 0, 0.4, LEAT_BOTTLENECK_CONSUMER, 60, "nothing to do 60 %", ""},
        {plain, 1, LEAT_STAGE_READ, 0, 0.9, 0, 0.1, LEAT_BOTTLENECK_READ, 75, "Reading", ""},
        {plain, 1, LEAT_STAGE_CALL, 0, 0.2, 0, 0, LEAT_BOTTLENECK_CALL, 75, "own functions", ""},
        {folder, 1, LEAT_STAGE_READ, 0, 1, 0, 0, LEAT_BOTTLENECK_READ, 75, "Reading", "leat pack"},
        {plain, cores, LEAT_STAGE_READ, 0, 1, 0, 0, LEAT_BOTTLENECK_READ, 75, "Reading", "smaller samples"},
        {folder, many, LEAT_STAGE_DECODE, 0, 0.5, 0, 0, LEAT_BOTTLENECK_CORES, 50, "threads share",
         "Try -t "},
        {folder, cores, LEAT_STAGE_DECODE, 0, 1, 0, 0, LEAT_BOTTLENECK_DECODE, 75, "Decoding",
         "Try smaller pictures"},
        {plain, cores, LEAT_STAGE_DECODE, 0, 1, 0, 0, LEAT_BOTTLENECK_DECODE, 75, "Decoding",
         "Try raw pixels"},
        {plain, cores, LEAT_STAGE_PARSE, 0, 1, 0, 0, LEAT_BOTTLENECK_PARSE, 75, "Parsing", "Try fewer"},
        {folder, cores, LEAT_STAGE_TRANSFORM, 0, 1, 0, 0, LEAT_BOTTLENECK_TRANSFORM, 75, "Transforming",
         "Try a smaller"},
        {plain, cores, LEAT_STAGE_STORE, 0, 1, 0, 0, LEAT_BOTTLENECK_STORE, 75, "Writing", "smaller type"},
        {plain, cores, LEAT_STAGE_CALL, 0, 1, 0, 0, LEAT_BOTTLENECK_CALL, 75, "own functions",
         "operations of leat"},
    };
    for (size_t i = 0; i < LEAT_COUNT(scenes); i++) check(&scenes[i]);
}

static void test_arguments(void **state) {
    (void)state;
    leat_pipeline *pipeline = open_spec(spec_of("synth 3 8 8 | batch 1"), NULL);
    leat_diagnosis found;
    leat_error err;
    assert_int_equal(leat_diagnose(NULL, pipeline, NULL, 1, &err), LEAT_ERR_ARGUMENT);
    assert_int_equal(leat_diagnose(&found, NULL, NULL, 1, &err), LEAT_ERR_ARGUMENT);
    assert_int_equal(leat_diagnose(&found, pipeline, NULL, 0, &err), LEAT_ERR_ARGUMENT);
    leat_batch b;
    while (leat_pipeline_next(pipeline, &b, NULL) == 0) leat_batch_release(&b);
    assert_int_equal(leat_diagnose(&found, pipeline, NULL, 0.5, &err), 0); /* its own counters */
    assert_true(found.bottleneck != LEAT_BOTTLENECK_NONE && found.sentence[0] && found.remedy[0]);
    leat_pipeline_close(&pipeline);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_verdicts), cmocka_unit_test(test_arguments)};
    return cmocka_run_group_tests(tests, begin_files, end_files);
}
