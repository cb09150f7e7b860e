/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: timeout=240 */
/* Pictures of compressed files, sorted into buckets as they are read, make the batches that the same pictures make when
 * all of them are known. */
#include "unit/testing_labels.h"

/* p/ holds what g/ holds compressed: a hundred pictures of many shapes. */
static void write_pictures(void) {
    enum { SHARDS = 5, EACH = 21 };
    make_dir(in_dir("p"));
    make_dir(in_dir("g"));
    for (int shard = 0; shard < SHARDS; shard++) {
        leat__buf records = {.kind = LEAT_MEM_TOOL}, copy = {.kind = LEAT_MEM_TOOL};
        for (int64_t i = shard * EACH; i < (shard + 1) * EACH; i++) {
            const int height = 3 + (int)(leat__mix64((uint64_t)i) % 9), width = 3 + (int)(i * i % 7);
            leat__buf file = make_png(height, width, 3, (unsigned)i);
            if (i == 60) file.size = 20; /* a picture that is none */
            const leat__span span = {file.data, file.size};
            const leat__feature_value values[] = {
                {.key = "image", .kind = LEAT_FEATURE_BYTES, .n = 1, .values = &span},
                {.key = "label", .kind = LEAT_FEATURE_INT64, .n = 1, .values = &i}};
            add_example(&records, values, 2);
            leat__buf_free(&file);
        }
        leat__buf_append(&copy, records.data, records.size);
        write_deflated(in_dir("g/%d", shard), &records, GZIP_BITS);
        write_buf(in_dir("p/%d", shard), &copy);
    }
}

#define PARSE "parse image:bytes label:int64"
#define BUCKETS "bucket_by_aspect_ratio 0.6,0.9,1.3,2 sizes=8x4,6x5,5x5,5x6,4x8"
#define RESIZE "decode channels=3 | resize_to_bucket | random_brightness 0.1 | select label image"

/* @ stands for the folder. */
static const char *const texts[] = {
    "tfrecord @/* | " PARSE " | " BUCKETS " | " RESIZE " | batch 4",
    "tfrecord @/* | " PARSE " | shuffle 30 | " BUCKETS " | " RESIZE " | batch 3 drop_remainder=true",
    "tfrecord @/* | " PARSE " | filter \"label not in 3,9\" | repeat 2 | " BUCKETS " | " RESIZE
    " | batch 5 pad_remainder=true",
    "tfrecord @/* | " PARSE " | skip 7 | shard 0/2 | shuffle 9 | " BUCKETS " | " RESIZE
    " | batch 2 | repeat 2",
    "tfrecord @/* | interleave 3 2 | " PARSE " | take 40 | repeat 3 | " BUCKETS " | " RESIZE " | batch 4",
    "concatenate 'tfrecord @/[01] | shuffle 10 reshuffle=false' 'tfrecord @/[234]' | " PARSE " | " BUCKETS
    " | " RESIZE " | batch 4",
    "tfrecord @/* | " PARSE " | " BUCKETS " | decode channels=3 | select label image | "
    "padded_batch 6 max=image:20x20x3",
};

static const char *text_of(const char *folder, const char *pattern) {
    static char text[2][3000];
    static int turn;
    char *out = text[turn = !turn];
    size_t n = (size_t)snprintf(out, 3000, "options on_error=skip | ");
    for (const char *at = pattern; *at; at++) {
        if (*at != '@') out[n++] = *at;
        else n += (size_t)snprintf(out + n, 3000 - n, "%s", in_dir("%s", folder));
    }
    out[n] = 0;
    return out;
}

static void test_same_batches(void **state) {
    (void)state;
    write_pictures();
    for (size_t i = 0; i < LEAT_COUNT(texts); i += STRIDE)
        assert_true(check_like_plain(text_of("p", texts[i]), text_of("g", texts[i])) > 60);
}

/* Not only labels: shapes and pixels too. */
static void test_same_pixels(void **state) {
    (void)state;
    write_pictures();
    for (size_t i = 0; i < LEAT_COUNT(texts); i += STRIDE) {
        if (strstr(texts[i], "interleave")) continue; /* numbers of samples are those of the turns */
        const leat_config config = {.n_epochs = 2, .n_threads = 3};
        leat_pipeline *plain = open_spec(spec_of("%s", text_of("p", texts[i])), &config),
                      *packed = open_spec(spec_of("%s", text_of("g", texts[i])), &config);
        assert_true(leat_pipeline_length(plain) > 0);
        assert_int_equal(leat_pipeline_length(packed), -1);
        leat_batch a, b;
        int rc;
        while ((rc = leat_pipeline_next(plain, &a, NULL)) == 0) {
            assert_int_equal(leat_pipeline_next(packed, &b, NULL), 0);
            assert_int_equal(a.n, b.n);
            assert_true(a.epoch == b.epoch && a.step == b.step);
            for (int t = 0; t < a.n_tensors; t++) {
                assert_memory_equal(a.tensor[t].shape, b.tensor[t].shape, sizeof a.tensor[t].shape);
                assert_memory_equal(a.tensor[t].data, b.tensor[t].data,
                                    (size_t)a.tensor[t].stride[0] * (size_t)a.n);
            }
            leat_batch_release(&a);
            leat_batch_release(&b);
        }
        assert_int_equal(rc, LEAT_END);
        assert_int_equal(leat_pipeline_next(packed, &b, NULL), LEAT_END);
        leat_pipeline_close(&plain);
        leat_pipeline_close(&packed);
    }
}

static void test_restore_everywhere(void **state) {
    (void)state;
    write_pictures();
    for (size_t i = 0; i < LEAT_COUNT(texts); i += STRIDE) check_restore_everywhere(text_of("g", texts[i]));
}

static void test_forged_states(void **state) {
    (void)state;
    write_pictures();
    leat_pipeline *feed =
        open_spec(spec_of("%s", text_of("g", texts[3])), &(leat_config){.n_threads = 2, .n_epochs = 2});
    char saved[1024];
    free(read_labels(feed, 12));
    assert_true(leat_pipeline_state(feed, saved, sizeof saved, NULL) > 0);
    assert_non_null(strstr(saved, "+"));
    check_forged(feed, saved, "0123456789abc:.-/@!+ x");
    leat_pipeline_close(&feed);
}

/* What waits long in a bucket that fills up rarely does not keep the memory of all that was read since. */
static void test_rare(void **state) {
    (void)state;
    enum { N = 20000, EVERY = 200 };
    leat__buf records = {.kind = LEAT_MEM_TOOL};
    leat__buf shape[2] = {make_png(9, 4, 3, 1), make_png(4, 9, 3, 2)};
    for (int64_t i = 0; i < N; i++) {
        const leat__buf *png = &shape[i % EVERY == 0];
        const leat__span span = {png->data, png->size};
        const leat__feature_value values[] = {
            {.key = "image", .kind = LEAT_FEATURE_BYTES, .n = 1, .values = &span},
            {.key = "label", .kind = LEAT_FEATURE_INT64, .n = 1, .values = &i}};
        add_example(&records, values, 2);
    }
    for (int i = 0; i < 2; i++) leat__buf_free(&shape[i]);
    write_deflated(in_dir("rare.gz"), &records, GZIP_BITS);
    const leat_config config = {.n_threads = 2, .n_slots = 2, .memory_max_bytes = 6 << 20};
    leat_pipeline *feed =
        open_spec(spec_of("tfrecord %s | " PARSE " | bucket_by_aspect_ratio 1 sizes=4x2,2x4 | decode "
                          "channels=3 | resize_to_bucket | select label image | batch 64",
                          in_dir("rare.gz")),
                  &config);
    leat_batch batch;
    leat_error err;
    int rc, rare = 0, n = 0;
    while ((rc = leat_pipeline_next(feed, &batch, &err)) == 0) {
        rare += batch.tensor[1].shape[2] == 4 ? batch.n : 0;
        n += batch.n;
        leat_batch_release(&batch);
    }
    if (rc != LEAT_END) fail_msg("%s", err.message);
    assert_int_equal(n, N);
    assert_int_equal(rare, N / EVERY);
    leat_pipeline_close(&feed);
}

/* Ranks have their places of every batch. */
static void test_ranks(void **state) {
    (void)state;
    write_pictures();
    for (int drop = 0; drop < 2; drop++) {
        const char *end = drop ? " drop_remainder=true" : "";
        char whole[3000], part[3000];
        snprintf(whole, sizeof whole, "%s | batch 6%s",
                 text_of("g", "tfrecord @/* | " PARSE " | shuffle 30 | " BUCKETS " | " RESIZE), end);
        snprintf(part, sizeof part, "%s | batch 3%s",
                 text_of("g", "tfrecord @/* | " PARSE " | shuffle 30 | " BUCKETS " | " RESIZE), end);
        leat_pipeline *all = open_spec(spec_of("%s", whole), NULL), *rank[2];
        for (int r = 0; r < 2; r++)
            rank[r] =
                open_spec(spec_of("%s", part), &(leat_config){.rank = r, .world_size = 2, .n_threads = 2});
        leat_batch a, b[2];
        while (leat_pipeline_next(all, &a, NULL) == 0) {
            const int64_t *want = a.tensor[0].data;
            for (int r = 0; r < 2; r++) {
                assert_int_equal(leat_pipeline_next(rank[r], &b[r], NULL), 0);
                const int64_t *got = b[r].tensor[0].data;
                if (a.n < 6) continue; /* filled up with others, or a bad one is missing */
                for (int k = 0; k < 3; k++) assert_int_equal(got[k], want[3 * r + k]);
            }
            for (int r = 0; r < 2; r++) leat_batch_release(&b[r]);
            leat_batch_release(&a);
        }
        for (int r = 0; r < 2; r++) {
            assert_int_equal(leat_pipeline_next(rank[r], &b[r], NULL), LEAT_END);
            leat_pipeline_close(&rank[r]);
        }
        leat_pipeline_close(&all);
    }
}

static void test_messages(void **state) {
    (void)state;
    write_pictures();
    static const struct {
        const char *text, *says;
        int code;
    } cases[] = {
        {"tfrecord @/* | " PARSE " | " BUCKETS " | shuffle 3 | decode | resize_to_bucket | batch 2",
         "write it before", LEAT_ERR_SYNTAX},
        {"concatenate 'tfrecord @/*' 'tfrecord @/../p/*' | " PARSE " | " BUCKETS " | decode | batch 2",
         "not together with other sources", LEAT_ERR_UNSUPPORTED},
        {"tfrecord @/* | " PARSE " | " BUCKETS " | " RESIZE " | batch 99 drop_remainder=true",
         "no bucket has a full batch of 99", LEAT_ERR_NOT_FOUND},
    };
    for (size_t i = 0; i < LEAT_COUNT(cases); i++) {
        leat_spec *spec = spec_of("%s", text_of("g", cases[i].text));
        leat_pipeline *feed = NULL;
        leat_error err;
        leat_batch batch;
        int rc = leat_pipeline_open(&feed, spec, NULL, &err);
        if (rc == 0) rc = leat_pipeline_next(feed, &batch, &err);
        if (rc != cases[i].code || !strstr(err.message, cases[i].says))
            fail_msg("%s: %s: %s", cases[i].text, leat_error_name(rc), err.message);
        leat_pipeline_close(&feed);
        leat_spec_free(&spec);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_batches),
        cmocka_unit_test(test_same_pixels),
        cmocka_unit_test(test_restore_everywhere),
        cmocka_unit_test(test_forged_states),
        cmocka_unit_test(test_rare),
        cmocka_unit_test(test_ranks),
        cmocka_unit_test(test_messages),
    };
    return cmocka_run_group_tests_name("sort", tests, begin_files, end_files);
}
