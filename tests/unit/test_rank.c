/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: timeout=120 */
/* Ranks: who we are by the words of launchers, and that all ranks together hand over exactly what one process does, byte for
 * byte, also when they are begun anew in another number. */
#include "unit/testing.h"

#include "base/cpu.h"
#include "plan/rank.h"

/* -------------------------------------------------------------------------------------- environment */

static const char *const variables[] = {"RANK",
                                        "WORLD_SIZE",
                                        "LOCAL_WORLD_SIZE",
                                        "OMPI_COMM_WORLD_RANK",
                                        "OMPI_COMM_WORLD_SIZE",
                                        "OMPI_COMM_WORLD_LOCAL_SIZE",
                                        "JAX_PROCESS_ID",
                                        "JAX_NUM_PROCESSES",
                                        "TF_CONFIG",
                                        "PMI_RANK",
                                        "PMI_SIZE",
                                        "MPI_LOCALNRANKS",
                                        "SLURM_PROCID",
                                        "SLURM_NTASKS",
                                        "SLURM_NODEID",
                                        "SLURM_STEP_NUM_TASKS",
                                        "SLURM_STEP_TASKS_PER_NODE",
                                        "SLURM_TASKS_PER_NODE",
                                        "SLURM_NTASKS_PER_NODE"};

/* "NAME=value NAME=value": the whole environment that is looked at. A value has no spaces. */
static void environment(const char *words) {
    char text[2000];
    for (size_t i = 0; i < LEAT_COUNT(variables); i++) unsetenv(variables[i]);
    snprintf(text, sizeof text, "%s", words);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
        char *equals = strchr(word, '=');
        *equals = 0;
        setenv(word, equals + 1, 1);
    }
}

static void test_environment(void **state) {
    (void)state;
    static const struct {
        const char *words;
        int rank, world, local;
    } good[] = {
        {"", 0, 1, 1},
        {"RANK=3 WORLD_SIZE=8 LOCAL_WORLD_SIZE=4", 3, 8, 4},
        {"RANK=0 WORLD_SIZE=1", 0, 1, 1},
        {"OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=3 OMPI_COMM_WORLD_LOCAL_SIZE=3", 2, 3, 3},
        {"JAX_PROCESS_ID=1 JAX_NUM_PROCESSES=2", 1, 2, 1},
        {"PMI_RANK=1 PMI_SIZE=4 MPI_LOCALNRANKS=2", 1, 4, 2},
        {"SLURM_PROCID=5 SLURM_NTASKS=7 SLURM_TASKS_PER_NODE=2(x3),1 SLURM_NODEID=2", 5, 7, 2},
        {"SLURM_PROCID=6 SLURM_NTASKS=7 SLURM_TASKS_PER_NODE=2(x3),1 SLURM_NODEID=3", 6, 7, 1},
        {"SLURM_PROCID=0 SLURM_NTASKS=64 SLURM_STEP_NUM_TASKS=8 SLURM_STEP_TASKS_PER_NODE=4(x2)", 0, 8, 4},
        {"SLURM_PROCID=0 SLURM_NTASKS=2 SLURM_TASKS_PER_NODE=x", 0, 2, 1},
        {"SLURM_NTASKS=8", 0, 1, 1}, /* a shell inside of a job */
        /* One launcher inside of another: the inner one knows. */
        {"RANK=3 WORLD_SIZE=4 SLURM_PROCID=0 SLURM_NTASKS=2", 3, 4, 1},
        {"OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 PMI_RANK=0 PMI_SIZE=9", 1, 2, 1},
        {"TF_CONFIG={\"cluster\":{\"worker\":[\"a:1\",\"b:1\",\"b:2\"]},\"task\":{\"type\":\"worker\","
         "\"index\":1}}",
         1, 3, 2},
        {"TF_CONFIG={\"cluster\":{\"chief\":[\"a:1\"],\"worker\":[\"b:1\",\"c:1\"],\"ps\":[\"d:1\"]},"
         "\"task\":{\"type\":"
         "\"worker\",\"index\":\"1\"}}",
         2, 3, 1},
        {"TF_CONFIG={\"cluster\":{\"chief\":[\"a:1\"],\"worker\":[\"b:1\"]},\"task\":{\"type\":\"chief\","
         "\"index\":0}}",
         0, 2, 1},
        {"TF_CONFIG={\"cluster\":{\"worker\":[\"a:1\"]},\"task\":{\"type\":\"evaluator\",\"index\":0}}", 0, 1,
         1},
        {"TF_CONFIG={}", 0, 1, 1},
    };
    for (size_t i = 0; i < LEAT_COUNT(good); i++) {
        leat__rank found;
        leat_error err;
        environment(good[i].words);
        if (leat__rank_environment(&found, &err) != 0) fail_msg("%s: %s", good[i].words, err.message);
        if (found.rank != good[i].rank || found.world != good[i].world || found.local != good[i].local)
            fail_msg("%s: rank %d of %d, %d here", good[i].words, found.rank, found.world, found.local);
    }
    static const struct {
        const char *words, *part;
    } bad[] = {
        {"RANK=4 WORLD_SIZE=4", "rank 4 of 4"},
        {"RANK=x WORLD_SIZE=4", "RANK must be a number from 0, not 'x'"},
        {"RANK=-1 WORLD_SIZE=4", "RANK must be"},
        {"RANK=1 WORLD_SIZE=0", "WORLD_SIZE must be a number from 1"},
        {"RANK=1 WORLD_SIZE=99999999999999999999", "WORLD_SIZE must be"},
        {"RANK=1", "RANK but not WORLD_SIZE"},
        {"WORLD_SIZE=2", "WORLD_SIZE but not RANK"},
        {"OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE"},
        {"SLURM_PROCID=1", "SLURM_PROCID"},
        {"TF_CONFIG=nonsense", "is no JSON"},
        {"TF_CONFIG=[]", "is no object"},
        {"TF_CONFIG={\"cluster\":[]}", "cluster that is no object"},
        {"TF_CONFIG={\"cluster\":{}}", "no task with a type"},
        {"TF_CONFIG={\"cluster\":{\"worker\":[\"a\"]},\"task\":{\"type\":\"worker\",\"index\":1}}",
         "outside"},
        {"TF_CONFIG={\"cluster\":{\"worker\":[\"a\"]},\"task\":{\"type\":\"worker\",\"index\":-1}}",
         "no number from 0"},
        {"TF_CONFIG={\"cluster\":{\"worker\":[\"a\"]},\"task\":{\"type\":\"ps\",\"index\":0}}",
         "no chief or worker"},
        {"TF_CONFIG={\"cluster\":{\"worker\":[\"a\"", "is no JSON"},
    };
    for (size_t i = 0; i < LEAT_COUNT(bad); i++) {
        leat__rank found;
        leat_error err;
        environment(bad[i].words);
        assert_int_equal(leat__rank_environment(&found, &err), LEAT_ERR_ARGUMENT);
        if (!strstr(err.message, bad[i].part)) fail_msg("%s: %s", bad[i].words, err.message);
        refuse_spec(spec_of("synth 9 4 4 | shard auto | batch 2"), NULL, LEAT_ERR_ARGUMENT, bad[i].part);
        refuse_spec(spec_of("synth 9 4 4 | batch 2"), &(leat_config){.world_size = -1}, LEAT_ERR_ARGUMENT,
                    bad[i].part);
        /* Whoever does not ask is not told. */
        leat_pipeline *pipeline = open_spec(spec_of("synth 9 4 4 | batch 2"), NULL);
        leat_pipeline_close(&pipeline);
        pipeline = open_spec(spec_of("synth 9 4 4 | shard auto | batch 2"),
                             &(leat_config){.rank = 1, .world_size = 2});
        assert_int_equal(leat_pipeline_length(pipeline, 0), 3);
        leat_pipeline_close(&pipeline);
    }
    environment("");
}

static void test_config(void **state) {
    (void)state;
    const leat_config wrong[] = {{.rank = 2, .world_size = 2},
                                 {.rank = -1, .world_size = 2},
                                 {.rank = 1},
                                 {.world_size = -2},
                                 {.world_size = INT32_MAX},
                                 {.local_world_size = -1},
                                 {.rank = 1, .world_size = -1},
                                 {.max_bad = -1}};
    for (size_t i = 0; i < LEAT_COUNT(wrong); i++)
        refuse_spec(spec_of("synth 9 4 4 | batch 2"), &wrong[i], LEAT_ERR_ARGUMENT, "");
    /* Threads and memory are divided by the ranks on this machine, whoever they are. */
    leat_stats one, many;
    leat_pipeline *pipeline = open_spec(spec_of("synth 9 4 4 | batch 2"), NULL);
    leat_pipeline_stats(pipeline, &one);
    leat_pipeline_close(&pipeline);
    environment("RANK=0 WORLD_SIZE=8 LOCAL_WORLD_SIZE=4");
    pipeline = open_spec(spec_of("synth 9 4 4 | batch 2"), NULL);
    leat_pipeline_stats(pipeline, &many);
    leat_pipeline_close(&pipeline);
    environment("");
    assert_int_equal(many.n_threads, LEAT_MAX(one.n_threads / 4, 1));
    assert_true(many.memory_max_bytes < one.memory_max_bytes / 3 &&
                many.memory_max_bytes > one.memory_max_bytes / 5);
    assert_true(leat__cpu_share(1) == leat__cpu_count() && leat__cpu_share(100000) == 1);
}

/* ------------------------------------------------------------------------------------- what is handed over */

typedef struct place { /* one sample of a run */
    uint64_t epoch, step, sample, position, digest;
} place;

typedef struct run { /* the real samples in their order; what was repeated is compared and left out */
    int n, n_batches, rc;
    place *place;
    char message[1000];
} run;

static uint64_t digest_of(const leat_batch *b, int i) {
    uint64_t h = 1;
    for (int k = 0; k < b->n_tensors; k++) {
        const leat_tensor *t = &b->tensor[k];
        size_t bytes = leat_dtype_size(t->dtype);
        for (int d = 1; d < t->ndim; d++) bytes *= (size_t)t->shape[d];
        const uint8_t *from = t->data;
        if (t->offsets) {
            from += (size_t)t->offsets[i] * bytes;
            bytes *= (size_t)(t->offsets[i + 1] - t->offsets[i]);
        } else from += i * t->stride[0];
        h = leat__hash(from, bytes, h);
    }
    return h;
}

static void add_place(run *r, const leat_batch *b, int i) {
    r->place = realloc(r->place, (size_t)(r->n + 1) * sizeof *r->place);
    r->place[r->n++] = (place){b->epoch, b->step, b->sample[i], b->position[i], digest_of(b, i)};
}

/* All ranks, one after the other in each step, as one. With a state they go on from there; states[i], if not NULL, gets that
 * of rank i % world before batch i. */
static run run_ranks(const char *source, int world, int global, const char *more, const char *from,
                     char (*states)[1024], const leat_config *base) {
    run all = {0};
    leat_pipeline *pipeline[8] = {0};
    leat_error err;
    for (int r = 0; r < world; r++) {
        leat_config config = *base;
        config.rank = r;
        config.world_size = world;
        config.n_threads = 1 + r % 3;
        config.synchronous = r % 4 == 3;
        pipeline[r] = open_spec(spec_of("%s | batch %d %s", source, global / world, more), &config);
        if (from && leat_pipeline_restore(pipeline[r], from, &err) != 0)
            fail_msg("%s: %s", source, err.message);
    }
    while (all.rc == 0 && all.n_batches < 60) {
        bool full = true;
        char first[1024], other[1024];
        leat_pipeline_state(pipeline[0], first, sizeof first, NULL);
        for (int r = 0; r < world; r++) {
            leat_batch b;
            leat_pipeline_state(pipeline[r], other, sizeof other, NULL);
            if (strcmp(first, other) != 0) fail_msg("%s: states differ: %s and %s", source, first, other);
            if (states && r == all.n_batches % world) memcpy(states[all.n_batches], other, sizeof other);
            const int rc = leat_pipeline_next(pipeline[r], &b, &err);
            if (rc < 0) snprintf(all.message, sizeof all.message, "%s", err.message);
            if (r > 0 && rc != all.rc && all.rc >= 0 && rc >= 0)
                fail_msg("%s: rank %d ends by itself", source, r);
            all.rc = all.rc < 0 ? all.rc : rc;
            if (rc != 0) continue;
            if (world > 1 && b.n != global / world) fail_msg("%s: rank %d has %d samples", source, r, b.n);
            if (!full && b.n_valid > 0 && base->on_error == LEAT_ON_ERROR_RAISE)
                fail_msg("%s: a gap", source);
            full = b.n_valid == global / world;
            const int begin = all.n;
            for (int i = 0; i < b.n_valid; i++) add_place(&all, &b, i);
            /* Those that fill up are samples of this batch, with the same bytes. */
            for (int i = b.n_valid; i < b.n; i++) {
                if (b.sample[i] == LEAT_NO_SAMPLE) continue;
                bool found = false;
                for (int k = all.n - 1;
                     k >= 0 && all.place[k].step == b.step && all.place[k].epoch == b.epoch; k--)
                    found |= all.place[k].position == b.position[i] && all.place[k].sample == b.sample[i] &&
                             all.place[k].digest == digest_of(&b, i);
                if (!found && begin >= 0) fail_msg("%s: place %d of rank %d repeats nothing", source, i, r);
            }
            leat_batch_release(&b);
        }
        all.n_batches += all.rc == 0;
    }
    for (int r = 0; r < world; r++) leat_pipeline_close(&pipeline[r]);
    return all;
}

static void same_run(const run *a, const run *b, int skip_batches, const char *what) {
    int from = 0;
    uint64_t step = 0, epoch = 0;
    for (int batch = 0; from < a->n; from++) {
        if (from > 0 && (a->place[from].step != step || a->place[from].epoch != epoch)) batch++;
        if (batch == skip_batches) break;
        step = a->place[from].step;
        epoch = a->place[from].epoch;
    }
    if (a->n - from != b->n || a->rc != b->rc)
        fail_msg("%s: %d samples then %s, expected %d then %s (%s)", what, b->n, leat_error_name(b->rc),
                 a->n - from, leat_error_name(a->rc), b->message);
    for (int i = 0; i < b->n; i++)
        if (memcmp(&a->place[from + i], &b->place[i], sizeof(place)) != 0)
            fail_msg("%s: sample %d is %" PRIu64 " in step %" PRIu64 ", not %" PRIu64 " in step %" PRIu64,
                     what, i, b->place[i].sample, b->place[i].step, a->place[from + i].sample,
                     a->place[from + i].step);
}

static char folder_text[700], record_text[700], stream_text[700], damaged_text[700];

static int begin_rank(void **state) {
    if (begin_files(state) != 0) return -1;
    environment("");
    make_dir(in_dir("photos"));
    leat__buf shard = {0}, bad = {0};
    for (int i = 0; i < 41; i++) {
        make_dir(in_dir("photos/%d", i / 15));
        write_png(in_dir("photos/%d/%02d.png", i / 15, i), 6, 7, (unsigned)i);
        add_sample(&shard, i, 12);
        const size_t at = bad.size;
        add_sample(&bad, i, 12);
        if (i % 5 == 2 || (i > 11 && i < 18)) bad.data[at + 40] ^= 1;
    }
    write_file(in_dir("a.tfrecord"), shard.data, shard.size);
    write_file(in_dir("bad.tfrecord"), bad.data, bad.size);
    write_deflated(in_dir("a.gz"), &shard, GZIP_BITS);
    write_deflated(in_dir("bad.gz"), &bad, GZIP_BITS);
    static const char parse[] =
        "parse image:bytes label:int64 row:float[*9] | decode_raw u8 | reshape 2 2 3 | random_brightness 0.4";
    snprintf(folder_text, sizeof folder_text, "folder %s | decode | random_crop 4 | random_brightness 0.3",
             in_dir("photos"));
    snprintf(record_text, sizeof record_text, "tfrecord %s | %s", in_dir("a.tfrecord"), parse);
    snprintf(stream_text, sizeof stream_text, "tfrecord %s | %s", in_dir("a.gz"), parse);
    snprintf(damaged_text, sizeof damaged_text, "%s | %s", in_dir("bad"), parse);
    return 0;
}

static const char *const sources[] = {
    "synth 41 6 7 | random_flip_left_right | cast f32 scale=1/255 | random_brightness 0.2", folder_text,
    record_text, stream_text};

static const char *const orders[] = {
    "",        "| shuffle 6 seed=4", "| skip 3 | take 31 | shuffle 4", "| shuffle 8 | repeat 2", "| take 24",
    "| take 5"};

static void test_union(void **state) {
    (void)state;
    static const char *const mores[] = {"", "drop_remainder=true", "| repeat 2", "| skip 1 | take 2"};
    const leat_config base = {.n_epochs = 2, .n_slots = 3, .no_side_files = 1};
    for (size_t s = 0; s < LEAT_COUNT(sources); s++)
        for (size_t o = 0; o < LEAT_COUNT(orders); o++)
            for (size_t m = (s + o) % STRIDE; m < LEAT_COUNT(mores); m += STRIDE) {
                char text[1500], what[1700];
                snprintf(text, sizeof text, "%s %s", sources[s], orders[o]);
                leat_spec *spec = spec_of("%s | batch 12 %s", text, mores[m]);
                leat_pipeline *pipeline = NULL;
                const int opens = leat_pipeline_open(&pipeline, spec, &base, NULL);
                leat_pipeline_close(&pipeline);
                leat_spec_free(&spec);
                if (opens != 0) continue; /* nothing is left */
                run one = run_ranks(text, 1, 12, mores[m], NULL, NULL, &base);
                for (int world = 2; world <= 6; world += world == 4 ? 2 : 1) {
                    snprintf(what, sizeof what, "%s %s, %d ranks", text, mores[m], world);
                    run many = run_ranks(text, world, 12, mores[m], NULL, NULL, &base);
                    same_run(&one, &many, 0, what);
                    assert_int_equal(one.n_batches, many.n_batches);
                    free(many.place);
                }
                free(one.place);
            }
}

/* A state that any rank has saved is gone on from by any other number of ranks. */
static void test_resume(void **state) {
    (void)state;
    static char states[64][1024];
    const leat_config base = {.n_epochs = 2, .n_slots = 3, .no_side_files = 1};
    static const int worlds[] = {1, 2, 3, 6};
    for (size_t s = 0; s < LEAT_COUNT(sources); s++)
        for (size_t o = s % STRIDE; o < 4; o += STRIDE) {
            char text[1500], what[1700];
            snprintf(text, sizeof text, "%s %s", sources[s], orders[o]);
            const char *more = o % 2 ? "drop_remainder=true" : "";
            run all = run_ranks(text, worlds[(s + o) % 4], 12, more, NULL, states, &base);
            for (int i = 0; i < all.n_batches; i++) {
                const int world = worlds[(size_t)i % 4];
                snprintf(what, sizeof what, "%s from %d with %d ranks: %s", text, i, world, states[i]);
                run tail = run_ranks(text, world, 12, more, states[i], NULL, &base);
                same_run(&all, &tail, i, what);
                free(tail.place);
            }
            free(all.place);
        }
    /* Another global batch is another run. */
    leat_pipeline *pipeline =
        open_spec(spec_of("synth 41 4 4 | batch 4"), &(leat_config){.rank = 1, .world_size = 3});
    leat_pipeline_state(pipeline, states[0], sizeof states[0], NULL);
    leat_pipeline_close(&pipeline);
    leat_error err;
    pipeline = open_spec(spec_of("synth 41 4 4 | batch 4"), &(leat_config){.rank = 1, .world_size = 2});
    assert_int_equal(leat_pipeline_restore(pipeline, states[0], &err), LEAT_ERR_STATE);
    if (!strstr(err.message, "batch size=12") || !strstr(err.message, "batch size=8"))
        fail_msg("%s", err.message);
    leat_pipeline_close(&pipeline);
}

/* Bad samples leave their holes where they are, and all ranks still have equally many batches of one size. */
static void test_bad_samples(void **state) {
    (void)state;
    for (int k = 0; k < 3; k++) {
        const leat_config base = {.n_epochs = 2,
                                  .n_slots = 3,
                                  .no_side_files = 1,
                                  .on_error = k == 2 ? LEAT_ON_ERROR_REPLACE : LEAT_ON_ERROR_SKIP};
        char text[1500];
        const char *dot = strchr(damaged_text, ' ');
        snprintf(text, sizeof text, "tfrecord %.*s.%s%s", (int)(dot - damaged_text), damaged_text,
                 k == 1 ? "gz" : "tfrecord", dot);
        run one = run_ranks(text, 1, 12, "", NULL, NULL, &base);
        for (int world = 2; world <= 6; world += world == 4 ? 2 : 1) {
            run many = run_ranks(text, world, 12, "", NULL, NULL, &base);
            same_run(&one, &many, 0, text);
            free(many.place);
        }
        free(one.place);
    }
}

static void test_max_bad(void **state) {
    (void)state;
    char text[1500];
    const char *dot = strchr(damaged_text, ' ');
    snprintf(text, sizeof text, "tfrecord %.*s.tfrecord%s", (int)(dot - damaged_text), damaged_text, dot);
    /* 2 7 12 13 14 15 16 17 22 27 32 37 of 41 are bad: each epoch has as many, and each is counted by itself. */
    tape t = record_spec(spec_of("%s | batch 5 | options on_error=skip max_bad=12", text),
                         &(leat_config){.n_epochs = 3});
    assert_true(t.rc == LEAT_END && t.n_samples == 3 * 29);
    tape_free(&t);
    for (int k = 0; k < 2; k++) {
        const leat_config config = {.n_epochs = 3, .on_error = 1 + k, .max_bad = 3};
        leat_error err;
        leat_batch b;
        leat_pipeline *pipeline = open_spec(spec_of("%s | batch 5", text), &config);
        t = record(pipeline, -1);
        /* The third batch holds the numbers 12 to 14. */
        assert_true(t.rc == LEAT_ERR_LIMIT && t.n_batches == 2);
        static const char *const parts[] = {"5 samples of epoch 0", "max_bad allows 3", "record 2 ",
                                            "record 7 ", "record 12"};
        for (size_t i = 0; i < LEAT_COUNT(parts); i++)
            if (!strstr(t.message, parts[i])) fail_msg("'%s' is not in: %s", parts[i], t.message);
        assert_int_equal(leat_pipeline_next(pipeline, &b, &err), LEAT_ERR_LIMIT); /* it stays */
        leat_pipeline_close(&pipeline);
        tape_free(&t);
    }
    refuse_spec(spec_of("synth | options max_bad=x"), NULL, LEAT_ERR_SYNTAX, "max_bad");
}

/* Groups are inside of a rank's batch, so mixing does not depend on ranks either. */
static void test_groups(void **state) {
    (void)state;
    const leat_config base = {.n_epochs = 2, .n_slots = 3};
    static const char text[] = "synth 41 6 6 | shuffle | one_hot label 10 | cast image f32";
    run one = run_ranks(text, 1, 12, "| mixup group=2 | cutmix group=2", NULL, NULL, &base);
    for (int world = 2; world <= 6; world += world == 3 ? 3 : 1) {
        leat_pipeline *pipeline[8];
        run many = {0};
        leat_batch b;
        for (int r = 0; r < world; r++)
            pipeline[r] =
                open_spec(spec_of("%s | batch %d | mixup group=2 | cutmix group=2", text, 12 / world),
                          &(leat_config){.rank = r, .world_size = world, .n_epochs = 2});
        while (many.rc == 0)
            for (int r = 0; r < world; r++) {
                many.rc = leat_pipeline_next(pipeline[r], &b, NULL);
                for (int i = 0; many.rc == 0 && i < b.n_valid; i++) add_place(&many, &b, i);
                leat_batch_release(&b);
            }
        for (int r = 0; r < world; r++) leat_pipeline_close(&pipeline[r]);
        same_run(&one, &many, 0, text);
        free(many.place);
    }
    free(one.place);
}

/* The default group depends on the batch of one rank. A state of other groups is refused and names them; equal groups go on. */
static void test_group_of_ranks(void **state) {
    (void)state;
    static const struct {
        int world;
        const char *tail, *wrong;
    } cases[] = {
        {2, "mixup", NULL},      /* 12 samples: the same 12 */
        {3, "mixup", "group=8"}, /* 8 */
        {3, "mixup group=4", "group=4"},
    };
    static const char text[] = "synth 72 6 6 | shuffle | one_hot label 10 | cast image f32";
    leat_pipeline *one = open_spec(spec_of("%s | batch 24 | mixup", text), NULL);
    leat_batch b;
    char saved[2048];
    assert_int_equal(leat_pipeline_next(one, &b, NULL), 0);
    leat_batch_release(&b);
    assert_int_equal(leat_pipeline_state(one, saved, sizeof saved, NULL), 0);
    leat_pipeline_close(&one);
    for (size_t i = 0; i < LEAT_COUNT(cases); i++) {
        const leat_config config = {.rank = 1, .world_size = cases[i].world};
        leat_pipeline *other =
            open_spec(spec_of("%s | batch %d | %s", text, 24 / cases[i].world, cases[i].tail), &config);
        leat_error err = {0};
        assert_int_equal(leat_pipeline_restore(other, saved, &err), cases[i].wrong ? LEAT_ERR_STATE : 0);
        if (cases[i].wrong && (!strstr(err.message, "group=12") || !strstr(err.message, cases[i].wrong)))
            fail_msg("%s", err.message);
        leat_pipeline_close(&other);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_environment), cmocka_unit_test(test_config),
        cmocka_unit_test(test_union),       cmocka_unit_test(test_resume),
        cmocka_unit_test(test_bad_samples), cmocka_unit_test(test_max_bad),
        cmocka_unit_test(test_groups),      cmocka_unit_test(test_group_of_ranks),
    };
    return cmocka_run_group_tests_name("rank", tests, begin_rank, end_files);
}
