/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: timeout=180 */
/* A cache shows in no batch: not where it stands, not where it keeps samples, not how much of them, not whether what it has
 * kept was damaged, and not whether others use it at the same time. */
#include "unit/testing.h"

#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>

#include "cache/cache.h"

enum { SAMPLES = 23, EPOCHS = 3 };

static char folder_text[500], record_text[700], stream_text[700];

static int begin_cache(void **state) {
    if (begin_files(state) != 0) return -1;
    make_dir(in_dir("photos"));
    leat__buf shard = {0};
    for (int i = 0; i < SAMPLES; i++) {
        make_dir(in_dir("photos/%d", i / 10));
        if (i % 2) write_png(in_dir("photos/%d/%02d.png", i / 10, i), 6 + i, 30 - i, (unsigned)i);
        else write_jpeg(in_dir("photos/%d/%02d.jpg", i / 10, i), 6 + i, 30 - i, (unsigned)i);
        add_sample(&shard, i, 75);
    }
    write_file(in_dir("a.tfrecord"), shard.data, shard.size);
    write_deflated(in_dir("a.gz"), &shard, GZIP_BITS);
    snprintf(folder_text, sizeof folder_text, "folder %s", in_dir("photos"));
    snprintf(record_text, sizeof record_text, "tfrecord %s", in_dir("a.tfrecord"));
    snprintf(stream_text, sizeof stream_text, "tfrecord %s", in_dir("a.gz"));
    return 0;
}

/* "a | % | b | %" with the n-th mark replaced by what, the others left out. */
static void put_mark(char *out, size_t cap, const char *text, int n, const char *what) {
    size_t used = 0;
    for (; *text && used + 1 < cap; text++) {
        if (*text != '%') out[used++] = *text;
        else if (n-- == 0) used += (size_t)snprintf(out + used, cap - used, "| %s ", what);
    }
    out[LEAT_MIN(used, cap - 1)] = 0;
}

typedef struct outcome {
    tape tape;
    leat_stats stats;
} outcome;

static char said[1000];
static void listen(void *user, int level, const char *message) {
    (void)user;
    if (level == LEAT_LOG_WARNING) snprintf(said, sizeof said, "%s", message);
}

static outcome run_text(const char *text, const leat_config *config) {
    outcome out;
    leat_config listening = *config;
    listening.log = listen;
    leat_pipeline *pipeline = open_spec(spec_of("%s", text), &listening);
    out.tape = record(pipeline, -1);
    if (out.tape.rc < 0) fail_msg("%s: %s", text, out.tape.message);
    leat_pipeline_stats(pipeline, &out.stats);
    leat_pipeline_close(&pipeline);
    return out;
}

static void check_points(const char *source, const char *marked, const char *what) {
    char text[2000], whole[1500];
    snprintf(whole, sizeof whole, "%s %s", source, marked);
    put_mark(text, sizeof text, whole, -1, "");
    outcome want = run_text(text, &(leat_config){.n_threads = 2, .n_epochs = EPOCHS});
    int marks = 0;
    for (const char *at = whole; (at = strchr(at, '%')) != NULL; at++) marks++;
    for (int i = 0; i < marks; i++) {
        put_mark(text, sizeof text, whole, i, what);
        for (int threads = 0; threads <= 4; threads += 2) {
            outcome got = run_text(
                text, &(leat_config){.n_threads = threads, .synchronous = threads == 0, .n_epochs = EPOCHS});
            same_tape(&want.tape, &got.tape, text);
            const leat_stats *s = &got.stats;
            const uint64_t all = (uint64_t)want.tape.n_samples;
            if (s->cache_hits + s->cache_misses != all) fail_msg("%s: %d looks", text, (int)all);
            if (s->cache_hits == 0 || s->cache_bad != 0 || s->cache_bytes == 0)
                fail_msg("%s: nothing was kept with %d threads: %d hits, %d misses, %d bad, %d bytes; %s",
                         text, threads, (int)s->cache_hits, (int)s->cache_misses, (int)s->cache_bad,
                         (int)s->cache_bytes, said);
            if (!strstr(what, "/") && threads < 2 && s->cache_misses > SAMPLES)
                fail_msg("%s: %d samples were made", text, (int)s->cache_misses);
            tape_free(&got.tape);
        }
    }
    tape_free(&want.tape);
}

static const char *const marked[][2] = {
    {folder_text, "% | shuffle seed=3 % | decode % | resize 9 8 % | random_flip_left_right | batch 4"},
    {folder_text, "| decode % | resize 8 8 flavour=pil % | cast f32 scale=1/255 layout=nchw % | batch 5"},
    {folder_text,
     "| decode % | resize 8 8 | random_brightness 0.2 | normalize imagenet layout=nchw | batch 5"},
    {record_text,
     "% | parse image:bytes label:int64 row:float[*9] % | decode_raw u8 % | reshape 5 5 3 % | shuffle | "
     "one_hot label 23 % | random_contrast 0.5 1.5 | batch 4 | mixup group=2"},
    {stream_text,
     "% | shuffle 7 | parse image:bytes label:int64 row:float[4] % | decode_raw u8 % | reshape 5 5 3 % | "
     "cast f16 % | batch 4"},
    {folder_text, "| decode % | resize_shorter 9 % | padded_batch 4 image=40x60x3 padding=7"},
    {"synth 23 6 7", "| filter label!=3 % | label_map 0=5,5=0 default=1 % | enumerate | shuffle | batch 4"},
    {"synth 23 6 7",
     "% | adjust_contrast 1.3 % | adjust_sharpness 2 % | select label image % | repeat 2 | batch 4"},
};

static void test_points(void **state) {
    (void)state;
    for (size_t i = 0; i < LEAT_COUNT(marked); i++) check_points(marked[i][0], marked[i][1], "cache");
}

static void test_points_on_disk(void **state) {
    (void)state;
    char what[400];
    snprintf(what, sizeof what, "cache %s", in_dir("points"));
    for (size_t i = 0; i < LEAT_COUNT(marked); i += STRIDE) check_points(marked[i][0], marked[i][1], what);
    /* Everything is there now, and nothing of another point was taken for it. */
    for (size_t i = 0; i < LEAT_COUNT(marked); i += STRIDE) {
        char text[2000], whole[1500];
        snprintf(whole, sizeof whole, "%s %s", marked[i][0], marked[i][1]);
        put_mark(text, sizeof text, whole, 0, what);
        outcome got = run_text(text, &(leat_config){.n_threads = 2, .n_epochs = EPOCHS});
        assert_int_equal(got.stats.cache_misses, 0);
        tape_free(&got.tape);
    }
}

/* Less room than samples: what fits stays, and the rest is made anew. */
static void test_part_that_fits(void **state) {
    (void)state;
    const char *plain = "synth 400 16 16 | shuffle | random_flip_left_right | batch 16";
    const char *cached = "synth 400 16 16 | cache max=100k | shuffle | random_flip_left_right | batch 16";
    outcome want = run_text(plain, &(leat_config){.n_epochs = EPOCHS});
    for (int threads = 1; threads <= 4; threads++) {
        outcome got = run_text(cached, &(leat_config){.n_epochs = EPOCHS, .n_threads = threads});
        same_tape(&want.tape, &got.tape, cached);
        assert_true(got.stats.cache_bytes <= 100000 && got.stats.cache_bytes > 90000);
        /* Each of them is taken in two epochs, but for a few that are still on their way. */
        assert_true(
            IN(2 * (100000 / 896) - (threads > 1 ? 20 : 0), (int)got.stats.cache_hits, 2 * (100000 / 896)));
        tape_free(&got.tape);
    }
    /* A budget that batches need almost all of. */
    outcome tight = run_text("synth 400 16 16 | cache | shuffle | random_flip_left_right | batch 16",
                             &(leat_config){.n_epochs = EPOCHS, .memory_max_bytes = 200000});
    same_tape(&want.tape, &tight.tape, "a tight budget");
    assert_true(tight.stats.cache_bytes < 150000);
    tape_free(&tight.tape);
    tape_free(&want.tape);
}

static void test_refused(void **state) {
    (void)state;
    static uint8_t pixels[4][2][2][3];
    const leat_tensor array = {
        .name = "image", .data = pixels, .dtype = LEAT_DTYPE_U8, .ndim = 4, .shape = {4, 2, 2, 3}};
    refuse_spec(
        spec_of("synth | random_flip_left_right | cache | batch 4"), NULL, LEAT_ERR_SYNTAX,
        "what random_flip_left_right draws would stay the same in every epoch: write cache before it, or "
        "cache freeze=true");
    refuse_spec(spec_of("synth | one_hot label 10 | batch 16 | mixup | cache"), NULL, LEAT_ERR_SYNTAX,
                "write it before mixup");
    refuse_spec(spec_of("synth | cache | resize 4 4 | cache | batch 4"), NULL, LEAT_ERR_SYNTAX,
                "one is enough");
    refuse_spec(spec_of("synth | cache '' | batch 4"), NULL, LEAT_ERR_ARGUMENT, "the path is empty");
    refuse_spec(spec_of("cache | synth | batch 4"), NULL, LEAT_ERR_SYNTAX, "begins with a source");
    refuse_spec(spec_of("synth | enumerate | cache | batch 4"), NULL, LEAT_ERR_SYNTAX,
                "write enumerate behind cache");
    leat_spec *spec = leat_spec_new(NULL);
    leat_spec_arrays(spec, &array, 1);
    char more[400];
    snprintf(more, sizeof more, "cache %s | batch 2", in_dir("arrays"));
    leat_spec_add(spec, more);
    refuse_spec(spec, NULL, LEAT_ERR_UNSUPPORTED, "write cache without a path");
    /* Shuffling is random too, but it draws no values. */
    outcome fine = run_text("synth 10 4 4 | shuffle | cache | batch 4", &(leat_config){0});
    tape_free(&fine.tape);
}

/* ----------------------------------------------------------------------------------------- freeze */

static uint64_t pixels_of(leat_pipeline *pipeline, uint64_t sample, uint64_t epoch) {
    leat_batch b;
    leat_error err;
    for (uint64_t position = 0;; position++) { /* shuffled: look for it */
        if (leat_pipeline_sample(pipeline, epoch, position, &b, &err) != 0) fail_msg("%s", err.message);
        const bool found = b.sample[0] == sample;
        const uint64_t h = leat__hash(b.tensor[0].data, 6 * 7 * 3, 0);
        leat_batch_release(&b);
        if (found) return h;
    }
}

static void test_freeze(void **state) {
    (void)state;
    const char *text =
        "synth 23 6 7 | shuffle | random_flip_left_right | random_brightness 0.4 | cache freeze=true "
        "max=%d %s | batch 4";
    char plan[4000];
    leat_pipeline *whole =
        open_spec(spec_of(text, 1000000, ""), &(leat_config){.n_epochs = EPOCHS, .n_threads = 3});
    leat_pipeline *nothing = open_spec(spec_of(text, 1, ""), &(leat_config){.n_epochs = EPOCHS, .params = 1});
    leat_pipeline *disk =
        open_spec(spec_of(text, 0, in_dir("frozen")), &(leat_config){.n_epochs = EPOCHS, .n_threads = 2});
    leat_pipeline_plan(whole, plan, sizeof plan);
    assert_non_null(strstr(plan, "drawn once for each sample"));
    tape a = record(whole, -1), b = record(nothing, -1), c = record(disk, -1);
    same_tape(&a, &b, "frozen, nothing kept");
    same_tape(&a, &c, "frozen on disk");
    /* Each epoch has another order and the same pictures. */
    for (uint64_t sample = 0; sample < SAMPLES; sample += 11)
        assert_int_equal(pixels_of(nothing, sample, 0), pixels_of(nothing, sample, 2));
    leat_stats stats;
    leat_pipeline_stats(whole, &stats);
    assert_true(stats.cache_misses < 2 * SAMPLES); /* the second epoch may ask for what is still on its way */
    leat_pipeline_close(&whole);
    leat_pipeline_close(&nothing);
    leat_pipeline_close(&disk);
    /* What was drawn can still be asked for. */
    leat_pipeline *asked = open_spec(spec_of(text, 1000000, ""), &(leat_config){.n_epochs = 2, .params = 1});
    leat_batch batch;
    while (leat_pipeline_next(asked, &batch, NULL) == 0) {
        for (int i = 0; i < batch.n; i++)
            assert_non_null(strstr(leat_batch_params(&batch, i), "random_brightness delta="));
        leat_batch_release(&batch);
    }
    leat_pipeline_close(&asked);
    /* Another seed draws anew, and another pipeline does not take this one's state. */
    outcome seeded = run_text(
        "options seed=9 | synth 23 6 7 seed=0 | random_flip_left_right | cache freeze=true | batch 4",
        &(leat_config){0});
    tape_free(&seeded.tape);
    tape_free(&a);
    tape_free(&b);
    tape_free(&c);
}

/* A cache that freezes nothing is no part of a pipeline's identity; one that does is. */
static void test_identity(void **state) {
    (void)state;
    char saved[1024];
    leat_error err;
    const char *plain = "synth 23 6 7 | random_flip_left_right | batch 4";
    leat_pipeline *pipeline = open_spec(spec_of("%s", plain), NULL);
    tape first = record(pipeline, 2), rest = record(pipeline, -1);
    leat_pipeline_close(&pipeline);
    pipeline = open_spec(spec_of("synth 23 6 7 | cache | random_flip_left_right | batch 4"), NULL);
    tape begun = record(pipeline, 2);
    assert_true(leat_pipeline_state(pipeline, saved, sizeof saved, &err) == 0);
    leat_pipeline_close(&pipeline);
    pipeline = open_spec(spec_of("%s", plain), NULL);
    if (leat_pipeline_restore(pipeline, saved, &err) != 0) fail_msg("%s", err.message);
    tape tail = record(pipeline, -1);
    same_tape(&rest, &tail, "a state with a cache, continued without");
    leat_pipeline_close(&pipeline);
    pipeline =
        open_spec(spec_of("synth 23 6 7 | random_flip_left_right | cache freeze=true | batch 4"), NULL);
    assert_int_equal(leat_pipeline_restore(pipeline, saved, &err), LEAT_ERR_STATE);
    leat_pipeline_close(&pipeline);
    tape_free(&first);
    tape_free(&rest);
    tape_free(&begun);
    tape_free(&tail);
}

/* ------------------------------------------------------------------------------------------- disk */

/* Paths of the files below a directory whose names end so; their number. */
static char found[64][400];
static int n_found;
static const char *ending;
static int take_path(const char *path, const struct stat *st, int kind, struct FTW *walk) {
    (void)st, (void)walk;
    const size_t n = strlen(path), m = strlen(ending);
    if (kind == FTW_F && n > m && strcmp(path + n - m, ending) == 0 && n_found < 64)
        snprintf(found[n_found++], sizeof found[0], "%s", path);
    return 0;
}
static int find_files(const char *path, const char *end) {
    n_found = 0;
    ending = end;
    nftw(path, take_path, 16, FTW_PHYS);
    return n_found;
}

static void flip_bit(const char *path, long at) {
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, at, at < 0 ? SEEK_END : SEEK_SET), 0);
    const int c = fgetc(f);
    assert_int_equal(fseek(f, -1, SEEK_CUR), 0);
    assert_int_equal(fputc(c ^ 4, f), c ^ 4);
    fclose(f);
}

static void test_damage(void **state) {
    (void)state;
    char text[700];
    snprintf(text, sizeof text, "synth 40 16 16 | cache %s | shuffle | random_flip_left_right | batch 8",
             in_dir("damage"));
    outcome want = run_text(text, &(leat_config){0});
    assert_int_equal(find_files(in_dir("damage"), ".leatseg"), 1);
    struct stat st;
    assert_int_equal(stat(found[0], &st), 0);
    leat__buf kept = {.kind = LEAT_MEM_TOOL};
    assert_int_equal(leat__file_read_all(found[0], &kept, 1 << 20, NULL), 0);
    char segment[400];
    snprintf(segment, sizeof segment, "%s", found[0]);
    /* A byte anywhere: in the header, a head, a payload, the table, the trailer. */
    for (long at = 3; at < (long)kept.size; at += 997 * STRIDE) {
        write_file(segment, kept.data, kept.size);
        flip_bit(segment, at);
        outcome got = run_text(text, &(leat_config){.n_threads = 2});
        same_tape(&want.tape, &got.tape, "damaged");
        assert_true(got.stats.cache_misses <= (at < 64 ? 40 : 1));
        tape_free(&got.tape);
        for (int i = find_files(in_dir("damage"), "leatseg") - 1; i >= 0; i--) unlink(found[i]);
    }
    /* Of any length. */
    for (size_t n = 0; n < kept.size; n += 1500 * STRIDE) {
        write_file(segment, kept.data, n);
        outcome got = run_text(text, &(leat_config){.n_threads = 2});
        same_tape(&want.tape, &got.tape, "cut");
        tape_free(&got.tape);
        for (int i = find_files(in_dir("damage"), "leatseg") - 1; i >= 0; i--) unlink(found[i]);
    }
    /* Damaged entries are counted, said once, and written anew: then all is well. One thread, since two may find the same entry
     * damaged, one at the end of an epoch and one at the beginning of the next. */
    write_file(segment, kept.data, kept.size);
    for (long at = 64 + 100; at < 64 + 100 + 832 * 7; at += 832) flip_bit(segment, at);
    said[0] = 0;
    outcome hurt = run_text(text, &(leat_config){.n_epochs = 2, .n_threads = 1});
    same_tail(
        &hurt.tape, 5,
        &(tape){.n_batches = hurt.tape.n_batches - 5, .rc = hurt.tape.rc, .digest = hurt.tape.digest + 5},
        "itself");
    assert_int_equal(hurt.stats.cache_bad, 7);
    assert_non_null(strstr(said, "are damaged"));
    outcome healed = run_text(text, &(leat_config){0});
    same_tape(&want.tape, &healed.tape, "healed");
    assert_int_equal(healed.stats.cache_bad + healed.stats.cache_misses, 0);
    tape_free(&hurt.tape);
    tape_free(&healed.tape);
    /* A directory that is something else by the same name is not used. */
    assert_int_equal(find_files(in_dir("damage"), "about.txt"), 1);
    write_file(found[0], "something else\n", 15);
    outcome foreign = run_text(text, &(leat_config){0});
    same_tape(&want.tape, &foreign.tape, "foreign");
    assert_int_equal(foreign.stats.cache_hits, 0);
    assert_non_null(strstr(said, "tells of something else"));
    tape_free(&foreign.tape);
    tape_free(&want.tape);
    leat__buf_free(&kept);
}

/* What the data, the text or the version was is part of the name of the directory. */
static void test_never_stale(void **state) {
    (void)state;
    char text[900], plan[4000];
    make_dir(in_dir("changing"));
    for (int i = 0; i < 5; i++) write_png(in_dir("changing/%d.png", i), 8, 8, (unsigned)i);
    snprintf(text, sizeof text, "folder %s | decode | cache %s | batch 2", in_dir("changing"),
             in_dir("stale"));
    outcome first = run_text(text, &(leat_config){0});
    outcome again = run_text(text, &(leat_config){0});
    same_tape(&first.tape, &again.tape, "again");
    assert_int_equal(again.stats.cache_misses, 0);
    /* The same name, the same size, other pixels: the index of the folder does not notice, the cache does. */
    leat__buf a = make_png(8, 8, 3, 77), b = {.kind = LEAT_MEM_TOOL};
    assert_int_equal(leat__file_read_all(in_dir("changing/3.png"), &b, 1 << 20, NULL), 0);
    while (a.size < b.size) leat__buf_append(&a, "", 1);
    FILE *f = fopen(in_dir("changing/3.png"), "r+b");
    fwrite(a.data, 1, a.size, f);
    fclose(f);
    const bool same_size = a.size == b.size;
    leat__buf_free(&a);
    leat__buf_free(&b);
    if (same_size) {
        outcome changed = run_text(text, &(leat_config){0});
        assert_int_equal(changed.stats.cache_hits, 0);
        assert_int_not_equal(changed.tape.digest[1], first.tape.digest[1]);
        tape_free(&changed.tape);
    }
    snprintf(text, sizeof text, "folder %s | decode | resize 4 4 | cache %s | batch 2", in_dir("changing"),
             in_dir("stale"));
    outcome other = run_text(text, &(leat_config){0});
    assert_int_equal(other.stats.cache_hits, 0);
    leat_pipeline *pipeline = open_spec(spec_of("%s", text), NULL);
    leat_pipeline_plan(pipeline, plan, sizeof plan);
    assert_non_null(strstr(plan, "5 of 5 samples are there"));
    assert_non_null(strstr(plan, "of other data, pipelines or versions beside it"));
    leat_pipeline_close(&pipeline);
    tape_free(&first.tape);
    tape_free(&again.tape);
    tape_free(&other.tape);
}

/* A path that cannot be a directory: said once, and the run goes on. */
static void test_unwritable(void **state) {
    (void)state;
    char text[600];
    write_file(in_dir("file"), "x", 1);
    snprintf(text, sizeof text, "synth 40 8 8 | cache %s | batch 8", in_dir("file/below"));
    outcome want = run_text("synth 40 8 8 | batch 8", &(leat_config){.n_epochs = 2});
    said[0] = 0;
    outcome got = run_text(text, &(leat_config){.n_epochs = 2});
    same_tape(&want.tape, &got.tape, "unwritable");
    if (!strstr(said, "the run goes on")) fail_msg("%s", said);
    assert_int_equal(got.stats.cache_hits, 0);
    tape_free(&got.tape);
    tape_free(&want.tape);
}

/* A process that is killed leaves a cache that is used as far as it is whole. */
static void test_orphan(void **state) {
    (void)state;
    char text[600];
    snprintf(text, sizeof text, "synth 60 200 200 | cache %s | batch 4", in_dir("orphan"));
    const pid_t child = fork();
    if (child == 0) {
        leat_pipeline *pipeline = NULL;
        leat_batch batch;
        leat_spec *spec = leat_spec_new(text);
        if (leat_pipeline_open(&pipeline, spec, &(leat_config){.n_threads = 2}, NULL) == 0)
            while (leat_pipeline_next(pipeline, &batch, NULL) == 0) leat_batch_release(&batch);
        kill(getpid(), SIGKILL);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(find_files(in_dir("orphan"), ".open"), 1);
    outcome want = run_text("synth 60 200 200 | batch 4", &(leat_config){0});
    outcome got = run_text(text, &(leat_config){0});
    same_tape(&want.tape, &got.tape, "after a kill");
    if (got.stats.cache_hits < 30) fail_msg("%d hits", (int)got.stats.cache_hits);
    assert_int_equal(find_files(in_dir("orphan"), ".open"), 0);
    outcome again = run_text(text, &(leat_config){0});
    assert_int_equal(again.stats.cache_misses, 0);
    tape_free(&want.tape);
    tape_free(&got.tape);
    tape_free(&again.tape);
}

/* Two at once on one directory: one writes, the other reads what is complete, and both are right. */
static void test_two_at_once(void **state) {
    (void)state;
    char text[600];
    snprintf(text, sizeof text, "synth 60 64 64 | cache %s | shuffle | batch 4", in_dir("both"));
    outcome want = run_text("synth 60 64 64 | shuffle | batch 4", &(leat_config){.n_epochs = 2});
    leat_pipeline *a = open_spec(spec_of("%s", text), &(leat_config){.n_epochs = 2});
    leat_pipeline *b = open_spec(spec_of("%s", text), &(leat_config){.n_epochs = 2});
    tape first = {0}, second = {0};
    for (;;) {
        leat_batch batch;
        const int x = leat_pipeline_next(a, &batch, NULL);
        if (x == 0) tape_add(&first, &batch);
        leat_batch_release(&batch);
        const int y = leat_pipeline_next(b, &batch, NULL);
        if (y == 0) tape_add(&second, &batch);
        leat_batch_release(&batch);
        first.rc = x, second.rc = y;
        if (x != 0 && y != 0) break;
    }
    same_tape(&want.tape, &first, "the first");
    same_tape(&want.tape, &second, "the second");
    leat_pipeline_close(&a);
    leat_pipeline_close(&b);
    outcome after = run_text(text, &(leat_config){.n_epochs = 2});
    same_tape(&want.tape, &after.tape, "afterwards");
    assert_int_equal(after.stats.cache_misses, 0);
    tape_free(&want.tape);
    tape_free(&first);
    tape_free(&second);
    tape_free(&after.tape);
}

/* -------------------------------------------------------------------------------- the cache alone */

static void value_of(uint64_t sample, uint8_t *bytes, size_t n) {
    for (size_t i = 0; i < n; i++) bytes[i] = (uint8_t)leat__mix64(sample * 977 + i);
}

typedef struct crowd {
    leat__cache *cache;
    int worker, n;
    bool fixed;
    uint64_t hits;
} crowd;

static void *visit(void *argument) {
    crowd *self = argument;
    leat__cache_hand hand = {.bytes.kind = LEAT_MEM_WORKER};
    uint8_t bytes[4096], want[4096];
    for (int turn = 0; turn < 4; turn++)
        for (int i = 0; i < self->n; i++) {
            const uint64_t sample = (uint64_t)((i * 37 + self->worker * 11 + turn) % self->n);
            const size_t n = self->fixed ? 3000 : 1 + (size_t)(leat__mix64(sample) % 4000);
            leat__value value = {0};
            value_of(sample, want, n);
            if (leat__cache_take(self->cache, &hand, sample, NULL, &value)) {
                assert_int_equal(value.bytes, n);
                assert_memory_equal(value.data, want, n);
                continue;
            }
            memcpy(bytes, want, n);
            value = (leat__value){
                .data = bytes, .bytes = n, .dtype = LEAT_DTYPE_U8, .ndim = 1, .shape = {(int64_t)n}};
            leat__cache_put(self->cache, &hand, sample, &value);
        }
    self->hits = hand.hits;
    leat__cache_hand_free(&hand);
    return NULL;
}

static uint64_t visit_all(const leat__cache_options *options, bool fixed) {
    enum { WORKERS = 4 };
    leat__cache *cache;
    leat_error err;
    if (leat__cache_open(&cache, options, &err) != 0) fail_msg("%s", err.message);
    crowd all[WORKERS];
    pthread_t thread[WORKERS];
    uint64_t hits = 0;
    for (int i = 0; i < WORKERS; i++) {
        all[i] = (crowd){.cache = cache, .worker = i, .n = (int)options->n_samples, .fixed = fixed};
        assert_int_equal(pthread_create(&thread[i], NULL, visit, &all[i]), 0);
    }
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(thread[i], NULL);
        hits += all[i].hits;
    }
    leat__cache_close(&cache);
    return hits;
}

/* Many threads, many small segments, again and again. */
static void test_crowd(void **state) {
    (void)state;
    const uint64_t before = memory_held();
    for (int fixed = 0; fixed < 2; fixed++)
        for (int disk = 0; disk < 2; disk++) {
            leat__caching plan = {
                .wanted = true,
                .n_fields = 1,
                .field = {{.dtype = LEAT_DTYPE_U8, .ndim = 1, .shape = {fixed ? 3000 : -1}}},
                .path = disk ? in_dir("crowd%d", fixed) : NULL,
                .fixed = fixed,
                .part = {{.shape = {3000}, .offset = 0, .bytes = 3000}},
                .bytes = 3000};
            char path[300] = "";
            if (disk) plan.path = strcpy(path, in_dir("crowd%d", fixed));
            const leat__cache_options options = {.plan = &plan,
                                                 .n_samples = 3000,
                                                 .bytes_max = disk ? 0 : 1 << 28,
                                                 .about = "a crowd",
                                                 .segment_bytes = 300000};
            const uint64_t first = visit_all(&options, fixed);
            assert_true(first > 3000 * 4);
            if (!disk) continue;
            find_files(plan.path, ".leatseg");
            assert_true(n_found >= 20);
            assert_int_equal(visit_all(&options, fixed), 4 * 4 * 3000);
        }
    assert_int_equal(memory_held(), before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_orphan),         cmocka_unit_test(test_points),
        cmocka_unit_test(test_points_on_disk), cmocka_unit_test(test_part_that_fits),
        cmocka_unit_test(test_refused),        cmocka_unit_test(test_freeze),
        cmocka_unit_test(test_identity),       cmocka_unit_test(test_damage),
        cmocka_unit_test(test_never_stale),    cmocka_unit_test(test_unwritable),
        cmocka_unit_test(test_two_at_once),    cmocka_unit_test(test_crowd),
    };
    return cmocka_run_group_tests_name("cache", tests, begin_cache, end_files);
}
