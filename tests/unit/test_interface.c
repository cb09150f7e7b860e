/* SPDX-License-Identifier: Apache-2.0 */
/* What leat.h promises to programs that were compiled with it: structs that grow, versions that compare, leases that are
 * given back once, callbacks that know which sample they are called for, and one rule for return values. */
#include "unit/testing.h"

#include "base/clock.h"
#include "base/thread.h"
#include "leat/leat_tools.h"

/* --------------------------------------------------------------------------------------- reserved room */

/* A call with a word of `reserved` set must fail with one line that names the struct. */
#define REFUSES(type, call)                                                             \
    do {                                                                                \
        leat_error err = {.code = 1};                                                   \
        assert_int_equal((call), LEAT_ERR_ARGUMENT);                                    \
        assert_int_equal(err.code, LEAT_ERR_ARGUMENT);                                  \
        if (!strstr(err.message, #type ":") || !strstr(err.message, "zero the struct")) \
            fail_msg(#type ": %s", err.message);                                        \
    } while (0)

static int spec_fails(leat_spec *spec, leat_error *err) {
    const int rc = leat_spec_error(spec, err);
    leat_spec_free(&spec);
    return rc;
}

static int read_nothing(void *user, uint64_t i, leat_value_out *out, leat_error *err) {
    (void)i, (void)err;
    out->reserved[1] = user != NULL;
    *(int32_t *)out->room = 1;
    return 0;
}

static int begin_nothing(void *user, uint64_t shard, void **reader, leat_error *err) {
    (void)user, (void)shard, (void)err;
    *reader = NULL;
    return 0;
}

static int next_nothing(void *reader, const void **data, size_t *bytes, leat_error *err) {
    (void)reader, (void)data, (void)bytes, (void)err;
    return LEAT_END;
}

static void test_reserved_of_specs(void **state) {
    (void)state;
    int32_t numbers[4] = {0};
    leat_spec *spec = leat_spec_new(NULL);
    leat_tensor array = {.name = "x", .data = numbers, .dtype = LEAT_DTYPE_I32, .ndim = 1, .shape = {4}};
    array.reserved[0] = 1;
    assert_int_equal(leat_spec_arrays(spec, &array, 1), LEAT_ERR_ARGUMENT);
    REFUSES(leat_tensor, spec_fails(spec, &err));

    leat_field field = {.name = "x", .dtype = LEAT_DTYPE_I32, .ndim = 0};
    leat_source_callbacks source = {.n = 4, .n_fields = 1, .field = &field, .read_at = read_nothing};
    source.reserved[6] = 1;
    spec = leat_spec_new(NULL);
    leat_spec_source(spec, &source);
    REFUSES(leat_source_callbacks, spec_fails(spec, &err));
    source.reserved[6] = 0;
    field.reserved[0] = 1;
    spec = leat_spec_new(NULL);
    leat_spec_source(spec, &source);
    REFUSES(leat_field, spec_fails(spec, &err));

    leat_stream_callbacks stream = {.n_shards = 1, .begin = begin_nothing, .next = next_nothing};
    stream.reserved[0] = 1;
    spec = leat_spec_new(NULL);
    leat_spec_stream(spec, &stream);
    REFUSES(leat_stream_callbacks, spec_fails(spec, &err));
}

/* A callback of a later version may set words that this one does not know. */
static void test_reserved_of_values(void **state) {
    (void)state;
    for (int set = 0; set < 2; set++) {
        const leat_field field = {.name = "x", .dtype = LEAT_DTYPE_I32, .ndim = 0};
        leat_spec *spec = leat_spec_new(NULL);
        leat_spec_source(
            spec,
            &(leat_source_callbacks){
                .n = 4, .n_fields = 1, .field = &field, .read_at = read_nothing, .user = set ? &set : NULL});
        assert_int_equal(leat_spec_add(spec, "batch 2"), 0);
        leat_pipeline *pipeline = open_spec(spec, NULL);
        leat_batch b;
        if (set) REFUSES(leat_value_out, leat_pipeline_next(pipeline, &b, &err));
        else assert_int_equal(leat_pipeline_next(pipeline, &b, NULL), 0);
        if (!set) leat_batch_release(&b);
        leat_pipeline_close(&pipeline);
    }
}

static int no_line(void *user, const char *line) {
    (void)user, (void)line;
    return 0;
}

static void test_reserved_of_configs(void **state) {
    (void)state;
    const char *text = "synth 4 8 8 | batch 2", *path = "/nowhere";
    const leat_config config = {.reserved = {1}};
    const leat_tool_config tool = {.reserved = {[7] = 1}};
    leat_spec *spec = leat_spec_new(text);
    leat_pipeline *pipeline = NULL;
    leat_info info;
    leat_split_report split;
    leat_compare_report compared;
    leat_roofline roof;
    REFUSES(leat_config, leat_pipeline_open(&pipeline, spec, &config, &err));
    REFUSES(leat_config, leat_view(spec, path, NULL, &config, NULL, &err));
    REFUSES(leat_config, leat_compare(text, text, NULL, &config, &compared, &err));
    REFUSES(leat_config, leat_roofline_measure(&roof, spec, &config, 0.01, &err));
    REFUSES(leat_tool_config, leat_info_read(&info, path, 0, &tool, &err));
    REFUSES(leat_tool_config, leat_show(path, 0, 1, no_line, NULL, NULL, &tool, &err));
    REFUSES(leat_tool_config, leat_check(&path, 1, NULL, NULL, NULL, &tool, &err));
    REFUSES(leat_tool_config, leat_index(&path, 1, NULL, NULL, &tool, &err));
    REFUSES(leat_tool_config, leat_synth(path, NULL, &tool, &err));
    REFUSES(leat_tool_config, leat_pack(path, path, NULL, NULL, &tool, &err));
    REFUSES(leat_tool_config, leat_split(path, NULL, NULL, NULL, &split, &tool, &err));
    REFUSES(leat_tool_config, leat_cache_list(NULL, NULL, NULL, &tool, &err));
    REFUSES(leat_tool_config, leat_cache_prune(0, NULL, &tool, &err));
    REFUSES(leat_index_config, leat_index(&path, 1, &(leat_index_config){.reserved = {1}}, NULL, NULL, &err));
    REFUSES(leat_synth_config, leat_synth(path, &(leat_synth_config){.reserved = {1}}, NULL, &err));
    REFUSES(leat_pack_config, leat_pack(path, path, &(leat_pack_config){.reserved = {1}}, NULL, NULL, &err));
    REFUSES(leat_split_config,
            leat_split(path, &(leat_split_config){.reserved = {1}}, NULL, NULL, &split, NULL, &err));
    REFUSES(leat_view_config, leat_view(spec, path, &(leat_view_config){.reserved = {1}}, NULL, NULL, &err));
    REFUSES(leat_compare_config,
            leat_compare(text, text, &(leat_compare_config){.reserved = {1}}, NULL, &compared, &err));
    leat_spec_free(&spec);
    leat_writer *writer = NULL;
    REFUSES(leat_writer_config,
            leat_writer_open(&writer, in_dir("a.tfrecord"), &(leat_writer_config){.reserved = {1}}, &err));
    assert_int_equal(leat_writer_open(&writer, in_dir("a.tfrecord"), NULL, NULL), 0);
    const int64_t one = 1;
    REFUSES(
        leat_feature,
        leat_writer_add(
            writer,
            &(leat_feature){.name = "a", .dtype = LEAT_DTYPE_I64, .n = 1, .values = &one, .reserved = {1}}, 1,
            &err));
    leat_writer_abort(&writer);
}

#define ZERO(from)                                                          \
    for (size_t zero_i = 0; zero_i < LEAT_COUNT((from).reserved); zero_i++) \
    assert_true((from).reserved[zero_i] == 0)

/* What leat fills overwrites all of what was there. */
static void test_reserved_of_results(void **state) {
    (void)state;
    leat_pipeline *pipeline = open_spec(spec_of("synth 4 8 8 | batch 2"), NULL);
    leat_batch batch;
    leat_error err;
    leat_stats stats;
    leat_worker_stats worker;
    leat_latency latency;
    leat_field field[2];
    leat_op_info op;
    leat_bad bad;
    memset(&batch, 0xff, sizeof batch);
    memset(&stats, 0xff, sizeof stats);
    memset(&worker, 0xff, sizeof worker);
    memset(&latency, 0xff, sizeof latency);
    memset(field, 0xff, sizeof field);
    memset(&op, 0xff, sizeof op);
    assert_int_equal(leat_pipeline_next(pipeline, &batch, NULL), 0);
    ZERO(batch);
    for (int i = 0; i < batch.n_tensors; i++) ZERO(batch.tensor[i]);
    leat_pipeline_stats(pipeline, &stats);
    ZERO(stats);
    for (size_t i = LEAT_STAGE_COUNT; i < LEAT_COUNT(stats.stage_s); i++) assert_true(stats.stage_s[i] == 0);
    assert_true(leat_pipeline_workers(pipeline, &worker, 1) >= 1);
    ZERO(worker);
    leat_pipeline_latency(pipeline, &latency);
    ZERO(latency);
    assert_int_equal(leat_pipeline_fields(pipeline, field, 2), 2);
    ZERO(field[0]);
    ZERO(field[1]);
    assert_int_equal(leat_op_at(0, &op), 0);
    ZERO(op);
    for (size_t i = 0; i < LEAT_COUNT(op.arg); i++) ZERO(op.arg[i]);
    leat_batch_release(&batch);
    memset(&batch, 0xff, sizeof batch);
    assert_int_equal(leat_pipeline_sample(pipeline, 0, 1, &batch, NULL), 0);
    ZERO(batch);
    leat_batch_release(&batch);
    leat_pipeline_close(&pipeline);

    write_file(in_dir("broken.jpg"), "\xff\xd8\xff", 3);
    write_file(in_dir("broken.csv"), "path\nbroken.jpg\n", 16);
    pipeline = open_spec(spec_of("list %s | decode | resize 8 8 | batch 1", in_dir("broken.csv")),
                         &(leat_config){.no_side_files = 1});
    memset(&err, 0xff, sizeof err);
    assert_int_equal(leat_pipeline_next(pipeline, &batch, &err), LEAT_ERR_DECODE);
    ZERO(err);
    memset(&bad, 0xff, sizeof bad);
    assert_int_equal(leat_pipeline_bad(pipeline, 0, &bad), 0);
    ZERO(bad);
    leat_pipeline_close(&pipeline);
}

/* -------------------------------------------------------------------------------------------- versions */

static void test_versions(void **state) {
    (void)state;
    char text[40];
    snprintf(text, sizeof text, "%d.%d.%d", LEAT_VERSION_MAJOR, LEAT_VERSION_MINOR, LEAT_VERSION_PATCH);
    assert_string_equal(text, LEAT_VERSION);
    assert_int_equal(leat_version_number(), LEAT_VERSION_NUMBER);
#if LEAT_VERSION_NUMBER < LEAT_VERSION_MAKE(0, 1, 0) || \
    LEAT_VERSION_MAKE(1, 0, 0) <= LEAT_VERSION_MAKE(0, 999, 999)
    fail_msg("versions do not compare");
#endif
}

/* ---------------------------------------------------------------------------------------------- leases */

static void count_warning(void *user, int level, const char *message) {
    if (level == LEAT_LOG_WARNING && strstr(message, "was released before"))
        __atomic_add_fetch((int *)user, 1, __ATOMIC_SEQ_CST);
}

static void test_release_of_a_copy(void **state) {
    (void)state;
    int warnings = 0;
    const leat_config config = {
        .n_slots = 2, .n_epochs = -1, .params = 1, .log = count_warning, .user = &warnings, .tune = -1};
    leat_pipeline *pipeline = open_spec(spec_of("synth 64 8 8 | random_flip_left_right | batch 4"), &config);
    leat_batch b, copy, next, other;
    assert_int_equal(leat_pipeline_next(pipeline, &b, NULL), 0);
    copy = b;
    assert_true(*leat_batch_params(&copy, 0) != 0);
    leat_batch_release(&b);
    assert_int_equal(warnings, 0);
    leat_batch_release(&copy);
    assert_int_equal(warnings, 1);
    assert_null(copy.lease);
    leat_batch_release(&copy); /* a zeroed one is fine */
    assert_int_equal(warnings, 1);

    /* The slot is leased again: the old copy does not take it away from its new owner. */
    assert_int_equal(leat_pipeline_next(pipeline, &b, NULL), 0);
    copy = b;
    leat_batch_release(&b);
    assert_int_equal(leat_pipeline_next(pipeline, &next, NULL), 0);
    assert_int_equal(leat_pipeline_next(pipeline, &other, NULL), 0);
    assert_true(next.lease == copy.lease || other.lease == copy.lease);
    const uint64_t digest = leat__hash(next.tensor[0].data, 4 * 8 * 8 * 3, 0);
    assert_string_equal(leat_batch_params(&copy, 0), "");
    leat_batch_release(&copy);
    assert_int_equal(warnings, 2);
    leat__sleep_ns(20000000); /* a worker would fill the slot now */
    assert_true(leat__hash(next.tensor[0].data, 4 * 8 * 8 * 3, 0) == digest);

    /* A batch by itself is a lease, too; and closed pipelines have no log. */
    assert_int_equal(leat_pipeline_sample(pipeline, 0, 3, &b, NULL), 0);
    copy = b;
    leat_batch_release(&b);
    leat_batch_release(&copy);
    assert_int_equal(warnings, 3);
    copy = next;
    leat_pipeline_close(&pipeline);
    leat_batch_release(&next);
    leat_batch_release(&copy);
    assert_int_equal(warnings, 3);
    leat_batch_release(&other);
}

typedef struct releasing {
    leat_batch batch[100];
    int n_ready; /* written by the consumer */
} releasing;

static void *release_all(void *user) {
    releasing *r = user;
    for (int i = 0; i < 100; i++) {
        while (__atomic_load_n(&r->n_ready, __ATOMIC_ACQUIRE) <= i) leat__sleep_ns(1000);
        leat_batch_release(&r->batch[i]);
    }
    return NULL;
}

/* Two threads release the same batches while the consumer takes more: each lease ends once. */
static void test_release_from_threads(void **state) {
    (void)state;
    static releasing side[2];
    int warnings = 0;
    const leat_config config = {.n_slots = 3, .n_epochs = -1, .log = count_warning, .user = &warnings};
    leat_pipeline *pipeline = open_spec(spec_of("synth 64 8 8 | batch 4"), &config);
    pthread_t thread[2];
    memset(side, 0, sizeof side);
    for (int k = 0; k < 2; k++) assert_int_equal(pthread_create(&thread[k], NULL, release_all, &side[k]), 0);
    for (int i = 0; i < 100; i++) {
        leat_batch b;
        assert_int_equal(leat_pipeline_next(pipeline, &b, NULL), 0);
        assert_int_equal(b.step, (uint64_t)i % 16);
        for (int k = 0; k < 2; k++) {
            side[k].batch[i] = b;
            __atomic_store_n(&side[k].n_ready, i + 1, __ATOMIC_RELEASE);
        }
    }
    for (int k = 0; k < 2; k++) pthread_join(thread[k], NULL);
    assert_int_equal(warnings, 100);
    leat_batch b;
    assert_int_equal(leat_pipeline_next(pipeline, &b, NULL), 0);
    leat_batch_release(&b);
    leat_pipeline_close(&pipeline);
}

/* ------------------------------------------------------------------------------------------- callbacks */

/* A random number of its own, as a seeded function draws it. */
static int draw(void *user, const leat_sample_info *info, const leat_tensor *in, int n_in,
                const leat_tensor *out, int n_out, leat_error *err) {
    (void)in, (void)n_in, (void)n_out, (void)err;
    ZERO(*info);
    *(uint64_t *)out->data = leat__mix64(*(uint64_t *)user ^ leat__mix64(info->epoch << 32 | info->position));
    return 0;
}

static leat_spec *drawing(const char *fmt, uint64_t *seed) {
    leat_spec *spec = spec_of("%s", fmt);
    assert_int_equal(leat_spec_map(spec, "draw", draw, seed, 1), 0);
    return spec;
}

static const leat_tensor *drawn(const leat_batch *b) {
    for (int i = 0; i < b->n_tensors; i++)
        if (strcmp(b->tensor[i].name, "r") == 0) return &b->tensor[i];
    return NULL;
}

static void test_seeded_map(void **state) {
    (void)state;
    uint64_t seed = 42;
    const char *text = "synth 30 4 4 | shuffle seed=3 | map r:u64 callback=draw | batch 4";
    tape one = record_spec(drawing(text, &seed), &(leat_config){.n_threads = 1, .n_epochs = 3});
    tape many = record_spec(drawing(text, &seed), &(leat_config){.n_threads = 4, .n_epochs = 3});
    same_tape(&one, &many, "one thread and four");
    tape_free(&many);
    tape_free(&one);

    leat_pipeline *pipeline = open_spec(drawing(text, &seed), &(leat_config){.n_epochs = 2});
    leat_batch b, single;
    while (leat_pipeline_next(pipeline, &b, NULL) == 0) {
        for (int i = 0; i < b.n; i++) {
            const uint64_t want = leat__mix64(seed ^ leat__mix64(b.epoch << 32 | b.position[i]));
            assert_true(((const uint64_t *)drawn(&b)->data)[i] == want);
        }
        assert_int_equal(leat_pipeline_sample(pipeline, b.epoch, b.position[1], &single, NULL), 0);
        assert_true(*(const uint64_t *)drawn(&single)->data == ((const uint64_t *)drawn(&b)->data)[1]);
        leat_batch_release(&single);
        leat_batch_release(&b);
    }
    leat_pipeline_close(&pipeline);

    /* What a cache keeps is drawn for the sample alone: epochs do not differ. */
    pipeline = open_spec(drawing("synth 6 4 4 | map r:u64 callback=draw | cache | batch 6", &seed),
                         &(leat_config){.n_epochs = 2});
    while (leat_pipeline_next(pipeline, &b, NULL) == 0) {
        for (int i = 0; i < b.n; i++)
            assert_true(((const uint64_t *)drawn(&b)->data)[i] ==
                        leat__mix64(seed ^ leat__mix64(b.sample[i])));
        leat_batch_release(&b);
    }
    leat_pipeline_close(&pipeline);
}

/* ------------------------------------------------------------------------------------------ conventions */

/* Text functions return the whole length whatever the room, and cut with a final 0. */
static void test_text_lengths(void **state) {
    (void)state;
    char text[4096], cut[5];
    leat_spec *spec = leat_spec_new("synth 4 8 8 | batch 2");
    const size_t n = leat_spec_text(spec, text, sizeof text);
    assert_int_equal(n, strlen(text));
    assert_int_equal(leat_spec_text(spec, NULL, 0), n);
    assert_int_equal(leat_spec_text(spec, cut, sizeof cut), n);
    assert_int_equal(strlen(cut), 4);
    leat_pipeline *pipeline = open_spec(spec, NULL);
    const size_t plan = leat_pipeline_plan(pipeline, text, sizeof text);
    assert_int_equal(plan, strlen(text));
    assert_int_equal(leat_pipeline_plan(pipeline, NULL, 0), plan);
    assert_int_equal(leat_pipeline_plan(pipeline, cut, sizeof cut), plan);
    assert_int_equal(strlen(cut), 4);
    const size_t name = leat_pipeline_name(pipeline, 1, text, sizeof text);
    assert_int_equal(name, strlen(text));
    assert_int_equal(leat_pipeline_name(pipeline, 1, NULL, 0), name);
    leat_pipeline_close(&pipeline);
}

/* Every function that builds a spec tells its first mistake, also those that come after it. */
static void test_building_tells(void **state) {
    (void)state;
    leat_spec *spec = leat_spec_new(NULL);
    assert_int_equal(leat_spec_add(spec, "synth 4"), 0);
    assert_int_equal(leat_spec_add(spec, "nonsense"), LEAT_ERR_SYNTAX);
    assert_int_equal(leat_spec_add(spec, "batch 2"), LEAT_ERR_SYNTAX);
    assert_int_equal(leat_spec_map(spec, "f", draw, NULL, 1), LEAT_ERR_SYNTAX);
    assert_int_equal(leat_spec_filter(spec, "f", NULL, NULL, 1), LEAT_ERR_SYNTAX);
    assert_int_equal(leat_spec_arrays(spec, NULL, 1), LEAT_ERR_SYNTAX);
    assert_int_equal(leat_spec_error(spec, NULL), LEAT_ERR_SYNTAX);
    leat_spec_free(&spec);
    assert_int_equal(leat_spec_add(NULL, "synth"), LEAT_ERR_ARGUMENT);
    assert_int_equal(leat_spec_arrays(NULL, NULL, 1), LEAT_ERR_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reserved_of_specs),
        cmocka_unit_test(test_reserved_of_values),
        cmocka_unit_test(test_reserved_of_configs),
        cmocka_unit_test(test_reserved_of_results),
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_release_of_a_copy),
        cmocka_unit_test(test_release_from_threads),
        cmocka_unit_test(test_seeded_map),
        cmocka_unit_test(test_text_lengths),
        cmocka_unit_test(test_building_tells),
    };
    return cmocka_run_group_tests(tests, begin_files, end_files);
}
