/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: timeout=120 */
/* Compressed TFRecords: whatever the order asks of a stream, it gives what the same records give when they
 * are not compressed; and damage costs what it must, and not more. */
#include "unit/testing.h"

#include "source/source.h"

static const char parse[] = "parse image:bytes label:int64 row:float[4] | decode_raw image u8";

/* Shards a, b, ... of n samples each; kind: 'p' plain, 'g' gzip, 'z' zlib. */
static const char *make_shards(const char *name, const char *kinds, int n, size_t bytes) {
    make_dir(in_dir("%s", name));
    for (int i = 0; kinds[i]; i++) {
        leat__buf shard = {0};
        for (int k = 0; k < n; k++) add_sample(&shard, (int64_t)i * n + k, bytes);
        const char *path = in_dir("%s/%c.tfrecord", name, 'a' + i);
        if (kinds[i] == 'p') write_buf(path, &shard);
        else write_deflated(path, &shard, kinds[i] == 'g' ? GZIP_BITS : ZLIB_BITS);
    }
    return in_dir("%s/*.tfrecord", name);
}

static void test_kinds(void **state) {
    (void)state;
    const tape plain =
        record_spec(spec_of("tfrecord %s | %s | batch 7", make_shards("plain", "ppp", 50, 12), parse), NULL);
    assert_int_equal(plain.n_samples, 150);
    static const char *const kinds[] = {"ggg", "zzz", "gzp", "pgp", "ppz"};
    for (size_t i = 0; i < LEAT_COUNT(kinds); i++)
        for (int threads = 0; threads < 4; threads++) {
            const leat_config config = {.n_threads = threads, .synchronous = threads == 0};
            tape t = record_spec(
                spec_of("tfrecord %s | %s | batch 7", make_shards("kinds", kinds[i], 50, 12), parse),
                &config);
            same_tape(&plain, &t, kinds[i]);
            tape_free(&t);
        }
    tape_free((tape *)&plain);
}

static void test_concatenated_members(void **state) {
    (void)state;
    leat__buf all = {.kind = LEAT_MEM_TOOL};
    for (int i = 0; i < 5; i++) {
        leat__buf shard = {0};
        for (int k = 0; k < 10; k++) add_sample(&shard, i * 10 + k, 40);
        leat__buf packed = deflated(shard.data, shard.size, GZIP_BITS);
        leat__buf_append(&all, packed.data, packed.size);
        leat__buf_free(&packed);
        leat__buf_free(&shard);
    }
    /* A member may begin in the middle of a record. */
    leat__buf shard = {0};
    add_sample(&shard, 50, 40);
    for (size_t at = 0; at < shard.size;) {
        const size_t n = LEAT_MIN((size_t)20, shard.size - at);
        leat__buf packed = deflated(shard.data + at, n, GZIP_BITS);
        leat__buf_append(&all, packed.data, packed.size);
        leat__buf_free(&packed);
        at += n;
    }
    leat__buf_free(&shard);
    write_buf(in_dir("members.gz"), &all);
    tape t = record_spec(spec_of("tfrecord %s | %s | batch 8", in_dir("members.gz"), parse), NULL);
    assert_int_equal(t.n_samples, 51);
    assert_int_equal(t.rc, LEAT_END);
    tape_free(&t);
}

/* ------------------------------------------------------------------------------------------- order */

/* Random chains on the same records, compressed and not. */
static void test_chains(void **state) {
    (void)state;
    make_shards("chain-p", "ppp", 41, 3);
    make_shards("chain-g", "gpz", 41, 3);
    leat__rng rng = leat__rng_at(8, 0, 0, 0);
    for (int round = 0; round < 250 / STRIDE; round++) {
        char text[1000] = "";
        bool repeated = false, endless = false;
        const int n_verbs = (int)leat__rng_below(&rng, 6);
        for (int i = 0; i < n_verbs; i++) {
            const size_t n = strlen(text);
            char *at = text + n;
            const int a = (int)leat__rng_below(&rng, 4), b = (int)leat__rng_below(&rng, 60);
            switch (leat__rng_below(&rng, 5)) {
            case 0:
                if (!repeated) snprintf(at, sizeof text - n, " | shuffle %d seed=%d", 1 + b, a);
                break;
            case 1: snprintf(at, sizeof text - n, " | take %d", 3 * b), endless &= b > 55; break;
            case 2: snprintf(at, sizeof text - n, " | skip %d", b); break;
            case 3: snprintf(at, sizeof text - n, " | shard %d/%d", a, a + 1 + b % 3); break;
            default:
                repeated = true;
                endless |= b > 50;
                snprintf(at, sizeof text - n, " | repeat %d", b > 50 ? -1 : 1 + a);
            }
        }
        const leat_config config = {
            .n_threads = 1 + round % 3, .n_epochs = 1 + round % 2, .seed = 5, .synchronous = round % 7 == 0};
        leat_spec *plain =
            spec_of("tfrecord %s | %s%s | batch %d", in_dir("chain-p/*"), parse, text, 1 + round % 9);
        leat_pipeline *pipeline = NULL;
        leat_error err;
        const int rc = leat_pipeline_open(&pipeline, plain, &config, &err);
        leat_spec_free(&plain);
        if (rc == LEAT_ERR_NOT_FOUND) continue; /* nothing is left: a stream cannot know that before */
        assert_int_equal(rc, 0);
        tape want = record(pipeline, 60), got;
        leat_pipeline_close(&pipeline);
        pipeline = open_spec(
            spec_of("tfrecord %s | %s%s | batch %d", in_dir("chain-g/*"), parse, text, 1 + round % 9),
            &config);
        got = record(pipeline, 60);
        leat_pipeline_close(&pipeline);
        same_tape(&want, &got, text);
        tape_free(&want);
        tape_free(&got);
    }
}

/* A length that only the end of the stream tells, asked for by a position that is not the first. */
static void test_length_found_late(void **state) {
    (void)state;
    make_shards("late-p", "p", 10, 3);
    make_shards("late-g", "g", 10, 3);
    static const char *const chains[] = {
        "take 15 | repeat 3 | skip 27",
        "take 15 | repeat | shard 1/2 | take 40",
        "repeat 5 | skip 33",
        "skip 4 | take 100 | repeat 4 | skip 20",
        "shuffle 4 | take 12 | repeat 9",
        "take 3 | repeat 5 | skip 7",
        "skip 9 | repeat 3",
        "shuffle 1000 | take 2 | repeat 40",
    };
    for (size_t i = 0; i < LEAT_COUNT(chains); i++)
        for (int threads = 0; threads < 3; threads++) {
            const leat_config config = {.n_threads = threads, .synchronous = threads == 0};
            tape want = record_spec(
                spec_of("tfrecord %s | %s | %s | batch 4", in_dir("late-p/*"), parse, chains[i]), &config);
            tape got = record_spec(
                spec_of("tfrecord %s | %s | %s | batch 4", in_dir("late-g/*"), parse, chains[i]), &config);
            same_tape(&want, &got, chains[i]);
            tape_free(&want);
            tape_free(&got);
        }
}

/* Windows over windows need more records at once than any of them; few slots leave no slack. */
static void test_windows_over_windows(void **state) {
    (void)state;
    make_shards("windows-p", "p", 3000, 3);
    make_shards("windows-g", "g", 3000, 3);
    static const char *const chains[] = {
        "shuffle 700 | shuffle 600 | shuffle 500 | shuffle 400",
        "shuffle 1000 | skip 500 | shuffle 1000 | skip 500 | shuffle 1000",
        "shuffle 100 | shard 3/7 | shuffle 100",
        "shuffle 900 | take 30 | repeat 20",
        "shuffle 100000",
    };
    for (size_t i = 0; i < LEAT_COUNT(chains); i++) {
        const leat_config config = {.n_threads = 2, .n_slots = 2};
        tape want = record_spec(
            spec_of("tfrecord %s | %s | %s | batch 64", in_dir("windows-p/*"), parse, chains[i]), &config);
        tape got = record_spec(
            spec_of("tfrecord %s | %s | %s | batch 64", in_dir("windows-g/*"), parse, chains[i]), &config);
        same_tape(&want, &got, chains[i]);
        tape_free(&want);
        tape_free(&got);
    }
}

static void test_windows(void **state) {
    (void)state;
    make_shards("window", "g", 100, 3);
    const leat_config config = {.n_epochs = 2};
    tape t =
        record_spec(spec_of("tfrecord %s | %s | shuffle 16 | batch 10", in_dir("window/*"), parse), &config);
    assert_int_equal(t.n_samples, 200);
    int moved = 0, differ = 0;
    for (int i = 0; i < 100; i++) {
        assert_true(t.sample[i] / 16 == (uint64_t)i / 16);
        moved += t.sample[i] != (uint64_t)i;
        differ += t.sample[i] != t.sample[100 + i];
    }
    assert_true(moved > 60 && differ > 60);
    tape_free(&t);
    /* Without a window there is one all the same; across repeats there can be none. */
    t = record_spec(spec_of("tfrecord %s | %s | shuffle | batch 10", in_dir("window/*"), parse), NULL);
    assert_int_equal(t.n_samples, 100);
    assert_true(t.sample[0] != 0 || t.sample[1] != 1);
    tape_free(&t);
    refuse_spec(spec_of("tfrecord %s | %s | shuffle 1000000000000 | batch 10", in_dir("window/*"), parse),
                NULL, LEAT_ERR_MEMORY, "window");
    refuse_spec(spec_of("tfrecord %s | batch 10", in_dir("window/*")), NULL, LEAT_ERR_SHAPE, "max_bytes");
}

static void test_length_becomes_known(void **state) {
    (void)state;
    make_shards("length", "g", 25, 3);
    leat_pipeline *pipeline =
        open_spec(spec_of("tfrecord %s | %s | take 20 | batch 8", in_dir("length/*"), parse), NULL);
    leat_pipeline_close(&pipeline);
    const leat_config config = {.n_epochs = 2, .synchronous = 1};
    pipeline = open_spec(spec_of("tfrecord %s | %s | batch 8", in_dir("length/*"), parse), &config);
    assert_int_equal(leat_pipeline_length(pipeline, 0), -1);
    assert_int_equal(leat_pipeline_samples(pipeline), -1);
    tape t = record(pipeline, -1);
    assert_int_equal(t.n_batches, 8);
    assert_int_equal(leat_pipeline_length(pipeline, 0), 4);
    assert_int_equal(leat_pipeline_samples(pipeline), 25);
    tape_free(&t);
    leat_pipeline_close(&pipeline);
}

static void test_nothing_in_it(void **state) {
    (void)state;
    leat__buf empty = {.kind = LEAT_MEM_TOOL};
    leat__buf_append(&empty, "", 1);
    empty.size = 0;
    write_deflated(in_dir("empty.gz"), &empty, GZIP_BITS);
    tape t =
        record_spec(spec_of("tfrecord %s | %s | reshape image 3 | batch 8", in_dir("empty.gz"), parse), NULL);
    assert_int_equal(t.rc, LEAT_ERR_NOT_FOUND);
    assert_non_null(strstr(t.message, "no record"));
    tape_free(&t);
    /* Beside others it is a shard without records. */
    make_shards("beside", "g", 5, 3);
    t = record_spec(spec_of("tfrecord %s %s | %s | batch 8", in_dir("empty.gz"), in_dir("beside/*"), parse),
                    NULL);
    assert_int_equal(t.n_samples, 5);
    tape_free(&t);
}

/* ------------------------------------------------------------------------------------------- shards */

/* Shards of very different sizes, some with one record, one with none in the compressed set. */
static int write_uneven(const char *name, bool packed) {
    static const int sizes[] = {3, 1, 40, 1, 1, 200, 7, 1, 90, 2, 33, 1};
    int64_t id = 0;
    make_dir(in_dir("%s", name));
    for (int i = 0; i < (int)LEAT_COUNT(sizes); i++) {
        leat__buf shard = {0};
        for (int k = 0; k < sizes[i]; k++, id++) add_sample(&shard, id, (size_t)(id % 7) * 900);
        if (packed) write_deflated(in_dir("%s/%02d", name, i), &shard, i % 3 ? GZIP_BITS : ZLIB_BITS);
        else write_buf(in_dir("%s/%02d", name, i), &shard);
    }
    leat__buf none = {.kind = LEAT_MEM_TOOL};
    leat__buf_reserve(&none, 1);
    if (packed) write_deflated(in_dir("%s/04-none", name), &none, GZIP_BITS);
    else leat__buf_free(&none);
    return (int)id;
}

static void test_shards_at_once(void **state) {
    (void)state;
    const int n = write_uneven("uneven-p", false);
    write_uneven("uneven-g", true);
    static const char *const chains[] = {
        "parse label:int64 | batch 7",
        "parse label:int64 row:float[4] | shuffle 50 | repeat 2 | batch 5",
        "parse label:int64 | filter \"label not in 1,5,7,300\" | shuffle 30 | batch 6",
        "parse label:int64 | split train by=hash | shard 1/2 | batch 3",
        "parse label:int64 | take 60 | repeat 5 | batch 8",
        "enumerate of=sample | parse label:int64 | filter \"index < 100\" | batch 8",
    };
    for (size_t i = 0; i < LEAT_COUNT(chains); i++) {
        tape want = record_spec(spec_of("tfrecord %s | %s", in_dir("uneven-p/*"), chains[i]),
                                &(leat_config){.n_epochs = 2});
        assert_int_equal(want.rc, LEAT_END);
        if (i == 0) assert_int_equal(want.n_samples, 2 * n);
        for (int threads = 0; threads <= 16; threads = threads ? threads * 2 : 1)
            for (int small = 0; small < 2; small++) {
                const leat_config config = {.n_epochs = 2,
                                            .n_threads = threads,
                                            .synchronous = !threads,
                                            .n_slots = 3,
                                            .memory_max_bytes = small ? 4 << 20 : 0};
                tape got = record_spec(spec_of("tfrecord %s | %s", in_dir("uneven-g/*"), chains[i]), &config);
                same_tape(&want, &got, chains[i]);
                tape_free(&got);
            }
        tape_free(&want);
    }
}

/* A state says where to read on: what lies before is not inflated again. */
static void test_restore_reads_the_rest_only(void **state) {
    (void)state;
    enum { SHARDS = 8, EACH = 40, BYTES = 20000 };
    char saved[1024];
    make_dir(in_dir("rest"));
    for (int i = 0; i < SHARDS; i++) {
        leat__buf shard = {0};
        for (int k = 0; k < EACH; k++) add_sample(&shard, i * EACH + k, BYTES);
        write_deflated(in_dir("rest/%d", i), &shard, GZIP_BITS);
    }
    static const char *const orders[] = {"batch 5", "shuffle 20 | batch 5", "filter label!=7 | batch 5",
                                         "take 310 | repeat 3 | batch 5"};
    for (size_t k = 0; k < LEAT_COUNT(orders); k++)
        for (int epoch = 0; epoch < 2; epoch++) {
            const leat_config config = {.synchronous = 1, .n_epochs = 3, .n_slots = 2};
            const int skipped = 48 + epoch * 64;
            leat_pipeline *pipeline = open_spec(
                spec_of("tfrecord %s | parse label:int64 | %s", in_dir("rest/*"), orders[k]), &config);
            tape before = record(pipeline, skipped);
            assert_int_equal(before.n_batches, skipped);
            assert_true(leat_pipeline_state(pipeline, saved, sizeof saved, NULL) == 0);
            tape want = record(pipeline, 3);
            leat_pipeline_close(&pipeline);
            pipeline = open_spec(spec_of("tfrecord %s | parse label:int64 | %s", in_dir("rest/*"), orders[k]),
                                 &config);
            assert_int_equal(leat_pipeline_restore(pipeline, saved, NULL), 0);
            tape got = record(pipeline, 3);
            same_tape(&want, &got, orders[k]);
            leat_stats stats;
            leat_pipeline_stats(pipeline, &stats);
            if (stats.bytes_read > 3 * EACH * BYTES)
                fail_msg("%s: %.1f MB were read again", orders[k], (double)stats.bytes_read / 1e6);
            leat_pipeline_close(&pipeline);
            tape_free(&before);
            tape_free(&want);
            tape_free(&got);
        }
}

/* What a state says of the stream may be anything: it is refused, or something else comes, never worse. */
static void test_forged_marks(void **state) {
    (void)state;
    write_uneven("forged", true);
    static const char *const orders[] = {"batch 4", "shuffle 30 | repeat 2 | batch 5",
                                         "take 90 | repeat 3 | batch 6"};
    leat__rng rng = leat__rng_at(77, 0, 0, 0);
    for (size_t k = 0; k < LEAT_COUNT(orders); k++) {
        leat_pipeline *pipeline =
            open_spec(spec_of("tfrecord %s | parse label:int64 | %s", in_dir("forged/*"), orders[k]),
                      &(leat_config){.n_threads = 2, .n_epochs = 2});
        char saved[1024], forged[1300];
        tape t = record(pipeline, 40);
        tape_free(&t);
        assert_true(leat_pipeline_state(pipeline, saved, sizeof saved, NULL) == 0);
        const char *at = strstr(saved, " stream="), *text = strstr(saved, " text=");
        assert_true(at && text);
        for (int i = 0; i < 150 / STRIDE; i++) {
            uint64_t n[5];
            for (int j = 0; j < 5; j++)
                n[j] = leat__rng_below(&rng, 9) ? leat__rng_below(&rng, i % 2 ? 20 : 400)
                                                : UINT64_MAX - leat__rng_below(&rng, 3);
            snprintf(forged, sizeof forged,
                     "%.*s stream=%" PRIu64 ":%" PRIu64 ":%" PRIu64 ":%" PRIu64 ":%" PRIu64 "%s",
                     (int)(at - saved), saved, n[0], n[1], n[2], n[3], n[4], text);
            leat_error err;
            if (leat_pipeline_restore(pipeline, forged, &err) != 0) {
                assert_int_equal(err.code, LEAT_ERR_STATE);
                continue;
            }
            t = record(pipeline, 5);
            tape_free(&t);
        }
        /* Nothing of it stays. */
        leat_pipeline_close(&pipeline);
    }
}

/* What is wrong with a record in later stages names the file and the record in it too. */
static void test_names(void **state) {
    (void)state;
    make_dir(in_dir("names"));
    for (int i = 0; i < 3; i++) {
        leat__buf shard = {0};
        for (int k = 0; k < 10; k++) {
            if (i == 1 && k == 7) add_record(&shard, "no example", 10);
            else add_sample(&shard, i * 10 + k, 5);
        }
        write_deflated(in_dir("names/%d.gz", i), &shard, GZIP_BITS);
    }
    const leat_config config = {.n_threads = 2, .on_error = LEAT_ON_ERROR_SKIP};
    leat_pipeline *pipeline =
        open_spec(spec_of("tfrecord %s | parse label:int64 | batch 4", in_dir("names/*")), &config);
    tape t = record(pipeline, -1);
    assert_int_equal(t.n_samples, 29);
    leat_bad bad;
    assert_int_equal(leat_pipeline_bad(pipeline, 0, &bad), 0);
    if (!strstr(bad.message, "names/1.gz: record 7: parse:")) fail_msg("%s", bad.message);
    char name[300];
    leat_pipeline_name(pipeline, 25, name, sizeof name);
    assert_non_null(strstr(name, "names/2.gz: record 5"));
    leat_pipeline_name(pipeline, bad.sample, name, sizeof name);
    assert_non_null(strstr(name, "names/1.gz: record 7"));
    leat_pipeline_close(&pipeline);
    tape_free(&t);
}

/* ------------------------------------------------------------------------------------------ damage */

typedef struct damaged {
    const char *name;
    int kept, bad; /* with on_error=skip */
    const char *says;
} damaged;

/* Two gzip shards of 30; the first is spoiled, before or after compression. */
static void make_damaged(int which) {
    make_dir(in_dir("damaged"));
    leat__buf shard = {0}, packed;
    size_t border[31];
    for (int i = 0; i < 30; i++) border[i] = shard.size, add_sample(&shard, i, 100);
    border[30] = shard.size;
    if (which == 0) shard.data[border[10] + 60] ^= 1; /* payload */
    if (which == 1) shard.data[border[10] + 2] ^= 1;  /* length */
    if (which == 2) leat__tfrecord_write_header(shard.data + border[10], UINT64_C(1) << 63);
    if (which == 3) leat__tfrecord_write_header(shard.data + border[10], UINT64_MAX);
    if (which == 4) leat__tfrecord_write_header(shard.data + border[10], 100000000);
    if (which == 5) shard.size = border[20] + 7;  /* within a header */
    if (which == 6) shard.size = border[20] + 50; /* within a payload */
    packed = deflated(shard.data, shard.size, GZIP_BITS);
    if (which == 7) packed.size = packed.size * 2 / 3;
    if (which == 8) memset(packed.data + packed.size / 2, 0xff, 16);
    if (which == 9) packed.data[packed.size - 6] ^= 1; /* the checksum of gzip itself */
    leat__buf_free(&shard);
    write_buf(in_dir("damaged/a"), &packed);
    for (int i = 30; i < 60; i++) add_sample(&shard, i, 100);
    write_deflated(in_dir("damaged/b"), &shard, GZIP_BITS);
}

static void test_damage(void **state) {
    (void)state;
    static const damaged cases[] = {
        {"payload", 59, 1, "checksum of its"},
        {"length", 59, 1, "checksum of its length is wrong"},
        {"length 2^63", 40, 1, "more than 256 MiB"},
        {"length 2^64-1", 40, 1, "more than 256 MiB"},
        {"length past the end", 40, 1, "ends within it"},
        {"cut in a header", 50, 1, "ends within a header"},
        {"cut in a payload", 50, 1, "ends within it"},
        {"gzip cut", -1, 1, "lost"},
        {"gzip damaged", -1, 1, "lost"},
        {"gzip checksum", -1, 1, "lost"},
    };
    for (size_t i = 0; i < LEAT_COUNT(cases); i++) {
        make_damaged((int)i);
        tape first = {0};
        for (int threads = 0; threads <= 8; threads = threads ? threads * 2 : 1) {
            const leat_config config = {.on_error = LEAT_ON_ERROR_SKIP,
                                        .n_threads = threads,
                                        .synchronous = !threads,
                                        .n_epochs = 2,
                                        .memory_max_bytes = threads > 2 ? 4 << 20 : 0};
            leat_pipeline *pipeline =
                open_spec(spec_of("tfrecord %s | %s | batch 7", in_dir("damaged/*"), parse), &config);
            tape t = record(pipeline, -1);
            leat_stats stats;
            leat_bad bad;
            leat_pipeline_stats(pipeline, &stats);
            assert_int_equal(t.rc, LEAT_END);
            assert_int_equal(stats.bad_samples, 2 * cases[i].bad);
            if (cases[i].kept >= 0) assert_int_equal(t.n_samples, 2 * cases[i].kept);
            else assert_true(IN(2 * 40, t.n_samples, 2 * 60)); /* what comes before the damage is kept */
            assert_int_equal(leat_pipeline_bad(pipeline, 0, &bad), 0);
            if (!strstr(bad.message, cases[i].says) || !strstr(bad.message, "damaged/a"))
                fail_msg("%s: %s", cases[i].name, bad.message);
            assert_int_equal(bad.stage, LEAT_STAGE_READ);
            leat_pipeline_close(&pipeline);
            if (threads == 0) first = t;
            else same_tape(&first, &t, cases[i].name), tape_free(&t);
        }
        tape_free(&first);
        /* Without that policy it is told when its batch is due, and the batches before are whole. */
        tape t = record_spec(spec_of("tfrecord %s | %s | batch 7", in_dir("damaged/*"), parse), NULL);
        assert_int_equal(t.rc, LEAT_ERR_CORRUPT);
        if (cases[i].kept >= 0)
            assert_int_equal(t.n_batches, cases[i].kept < 50 || cases[i].kept == 59 ? 1 : 2);
        assert_non_null(strstr(t.message, cases[i].says));
        tape_free(&t);
    }
}

/* Many bad records in a long stream: every one of them must be let go of again. */
static void test_many_bad(void **state) {
    (void)state;
    make_dir(in_dir("many"));
    leat__buf shard = {0};
    size_t bad = 0;
    for (int i = 0; i < 3000; i++) {
        const size_t at = shard.size;
        add_sample(&shard, i, 20);
        if (leat__mix64((uint64_t)i) % 5 == 0) shard.data[at + 30] ^= 1, bad++;
    }
    write_deflated(in_dir("many/a"), &shard, GZIP_BITS);
    for (int policy = LEAT_ON_ERROR_SKIP; policy <= LEAT_ON_ERROR_REPLACE; policy++) {
        tape first = {0};
        for (int threads = 1; threads <= 8; threads = threads < 3 ? threads + 1 : threads * 2 + 2) {
            const leat_config config = {
                .on_error = policy, .n_threads = threads, .n_slots = 3, .n_epochs = 2};
            leat_pipeline *pipeline = open_spec(
                spec_of("tfrecord %s | %s | shuffle 50 | batch 16", in_dir("many/*"), parse), &config);
            tape t = record(pipeline, -1);
            leat_stats stats;
            leat_pipeline_stats(pipeline, &stats);
            leat_pipeline_close(&pipeline);
            assert_int_equal(t.rc, LEAT_END);
            assert_int_equal(stats.bad_samples, 2 * bad);
            assert_int_equal(t.n_samples, policy == LEAT_ON_ERROR_SKIP ? 2 * (3000 - bad) : 6000);
            if (threads == 1) first = t;
            else same_tape(&first, &t, "threads"), tape_free(&t);
        }
        tape_free(&first);
    }
}

/* A batch of one has nobody to take the place of a bad record: the window has. */
static void test_replace_in_small_batches(void **state) {
    (void)state;
    make_dir(in_dir("small"));
    for (int i = 0; i < 4; i++) {
        leat__buf shard = {0};
        for (int k = 0; k < 60; k++) {
            const size_t at = shard.size;
            add_sample(&shard, i * 60 + k, 20);
            if (leat__mix64((uint64_t)(i * 60 + k)) % 4 == 0) shard.data[at + 30] ^= 1;
        }
        write_deflated(in_dir("small/%d", i), &shard, GZIP_BITS);
    }
    for (int batch = 1; batch <= 3; batch++) {
        tape want = {0};
        char saved[1024];
        for (int threads = 0; threads <= 4; threads += 2) {
            const leat_config config = {.on_error = LEAT_ON_ERROR_REPLACE,
                                        .n_threads = threads,
                                        .synchronous = !threads,
                                        .n_epochs = 2};
            leat_pipeline *pipeline = open_spec(
                spec_of("tfrecord %s | %s | shuffle 20 | batch %d", in_dir("small/*"), parse, batch),
                &config);
            tape t = record(pipeline, -1);
            if (t.rc != LEAT_END || t.n_samples != 480) fail_msg("%d samples: %s", t.n_samples, t.message);
            leat_pipeline_close(&pipeline);
            if (threads) same_tape(&want, &t, "threads"), tape_free(&t);
            else want = t;
        }
        /* The same ones after a restore. */
        const leat_config config = {.on_error = LEAT_ON_ERROR_REPLACE, .n_threads = 2, .n_epochs = 2};
        leat_pipeline *pipeline = open_spec(
            spec_of("tfrecord %s | %s | shuffle 20 | batch %d", in_dir("small/*"), parse, batch), &config);
        tape t = record(pipeline, 50);
        tape_free(&t);
        assert_true(leat_pipeline_state(pipeline, saved, sizeof saved, NULL) == 0);
        leat_pipeline_close(&pipeline);
        pipeline = open_spec(
            spec_of("tfrecord %s | %s | shuffle 20 | batch %d", in_dir("small/*"), parse, batch), &config);
        assert_int_equal(leat_pipeline_restore(pipeline, saved, NULL), 0);
        t = record(pipeline, -1);
        same_tail(&want, 50, &t, "restored");
        leat_pipeline_close(&pipeline);
        tape_free(&t);
        tape_free(&want);
    }
}

/* After a restore the places of bad records hold good ones. */
static void test_restore_forgets_bad(void **state) {
    (void)state;
    make_dir(in_dir("forget"));
    leat__buf shard = {0};
    for (int i = 0; i < 200; i++) {
        const size_t at = shard.size;
        add_sample(&shard, i, 20);
        if (i % 3 == 0) shard.data[at + 30] ^= 1;
    }
    write_deflated(in_dir("forget/a"), &shard, GZIP_BITS);
    const leat_config config = {.on_error = LEAT_ON_ERROR_SKIP, .n_threads = 1};
    leat_spec *spec = spec_of("tfrecord %s | %s | skip 1 | batch 16", in_dir("forget/*"), parse);
    leat_pipeline *pipeline = open_spec(spec, &config);
    char begin[1024], middle[1024];
    leat_error err;
    assert_true(leat_pipeline_state(pipeline, begin, sizeof begin, &err) == 0);
    tape all = record(pipeline, 5);
    assert_true(leat_pipeline_state(pipeline, middle, sizeof middle, &err) == 0);
    tape rest = record(pipeline, -1);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(leat_pipeline_restore(pipeline, begin, &err), 0);
        tape t = record(pipeline, 5);
        same_tail(&all, 0, &t, "from the beginning");
        tape_free(&t);
        assert_int_equal(leat_pipeline_restore(pipeline, middle, &err), 0);
        t = record(pipeline, -1);
        same_tape(&rest, &t, "from the middle");
        tape_free(&t);
    }
    leat_pipeline_close(&pipeline);
    tape_free(&all);
    tape_free(&rest);
}

/* ----------------------------------------------------------------------------------------- threads */

/* A full ring, emptied batch by batch: a wake-up that reaches the wrong thread would stop everything. */
static void test_wake_ups(void **state) {
    (void)state;
    make_shards("wake", "g", 4000, 3);
    for (int threads = 1; threads <= 3; threads++) {
        const leat_config config = {.n_threads = threads, .n_slots = 2};
        leat_pipeline *pipeline =
            open_spec(spec_of("tfrecord %s | %s | repeat 3 | batch 4", in_dir("wake/*"), parse), &config);
        leat_batch batch;
        int n = 0;
        for (; leat_pipeline_next(pipeline, &batch, NULL) == 0; n++) {
            if (n % 500 == 0) usleep(3000); /* all threads are asleep now */
            leat_batch_release(&batch);
        }
        assert_int_equal(n, 3000);
        leat_pipeline_close(&pipeline);
    }
}

static void test_changed_meanwhile(void **state) {
    (void)state;
    make_shards("changed", "g", 500, 3);
    const leat_config config = {.n_epochs = 3, .n_threads = 2, .n_slots = 2};
    for (int longer = 0; longer < 2; longer++) {
        leat_pipeline *pipeline = open_spec(
            spec_of("tfrecord %s | %s | shuffle 10 | batch 10", in_dir("changed/*"), parse), &config);
        tape t = record(pipeline, 10);
        tape_free(&t);
        leat__buf shard = {0};
        for (int i = 0; i < (longer ? 800 : 200); i++) add_sample(&shard, i, 3);
        write_deflated(in_dir("changed/new"), &shard, GZIP_BITS);
        rename(in_dir("changed/new"), in_dir("changed/a.tfrecord"));
        t = record(pipeline, -1);
        assert_int_equal(t.rc, LEAT_ERR_IO);
        assert_non_null(strstr(t.message, "changed"));
        tape_free(&t);
        leat_pipeline_close(&pipeline);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_concatenated_members),
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_length_becomes_known),
        cmocka_unit_test(test_nothing_in_it),
        cmocka_unit_test(test_shards_at_once),
        cmocka_unit_test(test_restore_reads_the_rest_only),
        cmocka_unit_test(test_forged_marks),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_many_bad),
        cmocka_unit_test(test_replace_in_small_batches),
        cmocka_unit_test(test_restore_forgets_bad),
        cmocka_unit_test(test_wake_ups),
        cmocka_unit_test(test_changed_meanwhile),
        cmocka_unit_test(test_length_found_late),
        cmocka_unit_test(test_windows_over_windows),
        cmocka_unit_test(test_chains),
    };
    return cmocka_run_group_tests_name("stream", tests, begin_files, end_files);
}
