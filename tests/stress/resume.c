/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: timeout=120 */
/* Random pipelines, interrupted at random places again and again, each time continued from the saved state
 * with other threads, slots and delays: together they give what one uninterrupted run gives. */
#include "unit/testing.h"

#include "unit/testing_npy.h"
#include "unit/testing_scenes.h"

enum { RUNS = 450, BATCHES_MAX = 50 };

static char base[21][1400];

static int begin(void **state) {
    if (begin_files(state) != 0) return -1;
    make_dir(in_dir("photos"));
    leat__buf shard = {0}, bad = {0};
    for (int i = 0; i < 37; i++) {
        make_dir(in_dir("photos/%d", i / 20));
        if (i % 2) write_png(in_dir("photos/%d/%d.png", i / 20, i), 9, 9, (unsigned)i);
        else write_jpeg(in_dir("photos/%d/%d.jpg", i / 20, i), 9, 9, (unsigned)i);
        add_sample(&shard, i, 27);
        const size_t at = bad.size;
        add_sample(&bad, i, 27);
        if (i % 8 == 1) bad.data[at + 35] ^= 1;
    }
    write_file(in_dir("a.tfrecord"), shard.data, shard.size);
    write_deflated(in_dir("a.gz"), &shard, GZIP_BITS);
    write_file(in_dir("bad.tfrecord"), bad.data, bad.size);
    write_deflated(in_dir("bad.gz"), &bad, ZLIB_BITS);
    static const char parse[] = "parse image:bytes label:int64 row:float[*9] | decode_raw u8 | reshape 3 3 3";
    snprintf(base[0], sizeof base[0], "synth 37 9 9");
    snprintf(base[1], sizeof base[1], "folder %s | decode", in_dir("photos"));
    snprintf(base[2], sizeof base[2], "tfrecord %s | %s", in_dir("a.tfrecord"), parse);
    snprintf(base[3], sizeof base[3], "tfrecord %s | %s", in_dir("a.gz"), parse);
    snprintf(base[4], sizeof base[4], "options on_error=skip | tfrecord %s | %s", in_dir("bad.tfrecord"),
             parse);
    /* The picture files as a table with a file that is missing, and bytes of all kinds as records. */
    FILE *table = fopen(in_dir("list.csv"), "w");
    assert_non_null(table);
    for (int i = 0; i < 37; i++)
        fprintf(table, "photos/%d/%d.%s,%d,%s\n", i / 20, i == 11 ? 99 : i, i % 2 ? "png" : "jpg", i * i,
                i % 3 ? "cat" : "ant");
    fclose(table);
    uint8_t raw[37][3073];
    leat__rng rng = leat__rng_at(3, 0, 0, 0);
    for (int i = 0; i < 37; i++)
        for (int k = 0; k < 3073; k++) raw[i][k] = (uint8_t)leat__rng_below(&rng, k ? 256 : 10);
    write_file(in_dir("raw.bin"), raw, sizeof raw);
    leat__buf npy = make_npy(raw, 4, (int64_t[]){37, 7, 7, 3});
    write_buf(in_dir("image.npy"), &npy);
    snprintf(base[6], sizeof base[6], "options on_error=replace | list %s label=1,2 | decode",
             in_dir("list.csv"));
    snprintf(base[7], sizeof base[7], "cifar %s", in_dir("raw.bin"));
    snprintf(base[8], sizeof base[8], "fixed %s bytes=3072 header=37 | decode_raw record u8",
             in_dir("raw.bin"));
    snprintf(base[9], sizeof base[9], "npy %s label=%s", in_dir("image.npy"), in_dir("image.npy"));
    write_samples(in_dir("b.tfrecord"), 3, 9, 27);
    const char *a = in_dir("a.tfrecord"), *b = in_dir("b.tfrecord"), *photos = in_dir("photos");
    snprintf(
        base[10], sizeof base[10],
        "sample_from 'tfrecord %s | %s | shuffle' 'tfrecord %s | shuffle | %s' weights=3,1 rerandomize=true",
        a, parse, b, parse);
    snprintf(base[11], sizeof base[11],
             "zip image='folder %s | shuffle' x='synth 40 9 9 | shuffle | take 37' | decode", photos);
    snprintf(base[12], sizeof base[12],
             "concatenate 'synth 20 9 9 | skip 2' 'synth 30 9 9 seed=2 | shard 1/3'");
    snprintf(base[13], sizeof base[13], "tfrecord %s %s | interleave 2 3 | %s", a, b, parse);
    snprintf(
        base[14], sizeof base[14],
        "choose_from 'synth 20 9 9 | repeat 2' \"concatenate 'synth 5 9 9' 'synth 9 9 9'\" pattern=0,0,1 "
        "stop_on_empty=false");
    make_dir(in_dir("shards"));
    for (int i = 0, id = 0; id < 37; i++) {
        leat__buf part = {0};
        for (int k = 0; k <= i * 5 % 7 && id < 37; k++) add_sample(&part, id++, 27);
        write_deflated(in_dir("shards/%d", i), &part, i % 2 ? GZIP_BITS : ZLIB_BITS);
    }
    snprintf(base[15], sizeof base[15], "tfrecord %s | %s", in_dir("shards/*"), parse);
    write_scenes(in_dir("scenes.tfrecord"), 37, 9, 14);
    snprintf(base[16], sizeof base[16], "tfrecord %s | " SCENE_PARSE " | resize 9 9 flavour=pil",
             in_dir("scenes.tfrecord"));
    snprintf(base[17], sizeof base[17], "tfrecord %s | " SCENE_PARSE " | random_resized_crop 8 | rot90",
             in_dir("scenes.tfrecord"));
    snprintf(base[5], sizeof base[5], "options on_error=replace | tfrecord %s | %s", in_dir("bad.gz"), parse);
    /* Combined streams: fixed ones, and others that are another list in every epoch. */
    snprintf(base[18], sizeof base[18],
             "concatenate 'tfrecord %s | skip 2' 'tfrecord %s | interleave 2' | %s", in_dir("a.gz"),
             in_dir("shards/*"), parse);
    snprintf(base[19], sizeof base[19],
             "options on_error=skip | sample_from 'tfrecord %s | shuffle 9' 'tfrecord %s | interleave 3 2 | "
             "repeat 2' weights=2,1 rerandomize=true | %s",
             in_dir("bad.gz"), in_dir("shards/*"), parse);
    snprintf(base[20], sizeof base[20],
             "zip image='tfrecord %s | %s | shuffle 11' x='tfrecord %s | %s | repeat 3' stop=shortest",
             in_dir("shards/*"), parse, in_dir("a.gz"), parse);
    return 0;
}

static void random_text(char *out, size_t cap, leat__rng *rng) {
    static const char *const images[] = {
        "random_flip_left_right", "random_brightness 0.3", "resize 5 6",
        "random_resized_crop 5",  "random_crop 2 3",       "cast f32 scale=1/255"};
    const int source = (int)leat__rng_below(rng, LEAT_COUNT(base));
    /* Records are no pictures; and pairs that are drawn anew are not kept. */
    bool repeated = false, pictured = source == 8;
    size_t n = (size_t)snprintf(out, cap, "%s", base[source]);
    const bool stream = source == 3 || source == 5 || source == 15 || source >= 18,
               labelled =
                   (stream && source < 18) || source < 6 || source == 7 || (source >= 12 && source < 16);
    bool shuffled = source == 10 || source == 11; /* they are another list in every epoch */
    /* The first is for streams only, the next two for all. */
    static const char *const choices[] = {
        "label_map 5=0,8=0,13=0,21=0 default=1 | rejection_resample initial=1,7 target=1,4",
        "filter \"label not in 1,3\"",
        "split train by=hash",
        "split train seed=5",
        "balance n=50",
        "oversample",
        "rejection_resample"};
    if (labelled && leat__rng_below(rng, 2)) {
        const size_t choice =
            stream ? leat__rng_below(rng, 3) : 1 + leat__rng_below(rng, LEAT_COUNT(choices) - 1);
        n += (size_t)snprintf(out + n, cap - n, " | %s", choices[choice]);
        shuffled = choice == 4 || choice == 6; /* they draw an order of their own */
    }
    for (int i = (int)leat__rng_below(rng, 5); i > 0; i--) {
        const int a = (int)leat__rng_below(rng, 3), b = (int)leat__rng_below(rng, 30);
        switch (leat__rng_below(rng, 6)) {
        case 0:
            if (!repeated && !shuffled && !stream && b % 3 == 0)
                n += (size_t)snprintf(out + n, cap - n, " | shuffle block=%d group=%d", 1 + 30 * b, 1 + a);
            else if (!repeated) n += (size_t)snprintf(out + n, cap - n, " | shuffle %d seed=%d", 1 + b, a);
            shuffled = true;
            break;
        case 1: n += (size_t)snprintf(out + n, cap - n, " | take %d", 10 + 3 * b); break;
        case 2: n += (size_t)snprintf(out + n, cap - n, " | skip %d", b / 4); break;
        case 3: n += (size_t)snprintf(out + n, cap - n, " | shard %d/%d", a, a + 1 + b % 2); break;
        case 4:
            repeated = true;
            n += (size_t)snprintf(out + n, cap - n, " | repeat %d", b % 4 ? 1 + a : -1);
            break;
        default:
            if (pictured) break;
            pictured = true;
            n +=
                (size_t)snprintf(out + n, cap - n, " | %s", images[leat__rng_below(rng, LEAT_COUNT(images))]);
        }
    }
    /* Sometimes kept: in memory, a part of it, or in a directory that all runs of the text share. */
    static const char *const kept[] = {" | cache freeze=true", " | cache freeze=true max=1k",
                                       " | cache freeze=true %s"};
    const uint64_t cache = leat__rng_below(rng, 9);
    if (cache < LEAT_COUNT(kept) && source != 11 && source < 19)
        n += (size_t)snprintf(out + n, cap - n, kept[cache], in_dir("kept"));
    snprintf(out + n, cap - n, " | batch %d%s%s", 1 + (int)leat__rng_below(rng, 9),
             (const char *[]){"", " drop_remainder=true", " pad_remainder=true"}[leat__rng_below(rng, 3)],
             leat__rng_below(rng, 3) ? "" : " | repeat 2");
}

static leat_pipeline *open_some(const char *text, leat__rng *rng, int n_epochs) {
    const leat_config config = {.n_threads = 1 + (int)leat__rng_below(rng, 4),
                                .synchronous = leat__rng_below(rng, 5) == 0,
                                .n_slots = leat__rng_below(rng, 2) ? 0 : 2 + (int)leat__rng_below(rng, 5),
                                .n_epochs = n_epochs,
                                .tune = leat__rng_below(rng, 2) ? -1 : 0};
    leat_spec *spec = leat_spec_new(text);
    leat_pipeline *pipeline = NULL;
    leat_error err;
    const int rc = leat_pipeline_open(&pipeline, spec, &config, &err);
    leat_spec_free(&spec);
    if (rc == LEAT_ERR_NOT_FOUND && strstr(err.message, "no sample is left")) return NULL;
    if (rc != 0) fail_msg("%s: %s", text, err.message);
    return pipeline;
}

static void test_resume(void **state) {
    (void)state;
    for (uint64_t run = 0; run < RUNS; run += STRIDE) {
        leat__rng rng = leat__rng_at(20, run, 0, 0);
        char text[2000], saved[1024];
        random_text(text, sizeof text, &rng);
        if (run % 10 == 0)
            setenv("LEAT_STALL", run % 20 ? "0" : "300", 1); /* now and then tasks are held up by chance */
        const int n_epochs = 1 + (int)leat__rng_below(&rng, 3);
        leat_pipeline *pipeline = open_some(text, &rng, n_epochs);
        if (!pipeline) continue;
        tape want = record(pipeline, BATCHES_MAX), got = {0};
        leat_pipeline_close(&pipeline);
        /* A stream takes replacements from the same batch, where there may be none. */
        if (want.rc < 0 && !strstr(want.message, "no usable sample")) fail_msg("%s: %s", text, want.message);
        for (int part = 0; got.n_batches < want.n_batches; part++) {
            pipeline = open_some(text, &rng, n_epochs);
            leat_error err;
            if (part > 0 && leat_pipeline_restore(pipeline, saved, &err) != 0)
                fail_msg("%s: %s", text, err.message);
            leat_batch b;
            for (int n = (int)leat__rng_below(&rng, 12); n >= 0 && got.n_batches < want.n_batches; n--) {
                if (leat_pipeline_next(pipeline, &b, &err) != 0)
                    fail_msg("%s: it ends after %d batches", text, got.n_batches);
                tape_add(&got, &b);
                leat_batch_release(&b);
            }
            assert_true(leat_pipeline_state(pipeline, saved, sizeof saved, NULL) == 0);
            leat_pipeline_close(&pipeline);
        }
        got.rc = want.rc;
        same_tail(&want, 0, &got, text);
        tape_free(&want);
        tape_free(&got);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_resume)};
    return cmocka_run_group_tests_name("resume", tests, begin, end_files);
}
