/* SPDX-License-Identifier: Apache-2.0 */
/* Plain TFRecord shards: damage costs one entry and is named, hostile lengths cost nothing, indexes are
 * used as long as they are right, and hundreds of shards are as good as one. */
#include "unit/testing.h"

#include "base/clock.h"
#include "format/kept/sidefile.h"
#include "source/source.h"

static leat__open_options options_now(const char *cache) {
    return (leat__open_options){
        .n_threads = 3, .now_ns = leat__wall_ns(), .cache_dir = cache, .no_side_files = !cache};
}

static leat__source *open_records(const char *pattern, const char *cache) {
    const leat__open_options open = options_now(cache);
    leat__source *source = NULL;
    leat_error err;
    if (leat__records_open(&source, &pattern, 1, &open, &err) != 0) fail_msg("%s", err.message);
    return source;
}

typedef struct read_out {
    int n, good, bad;
    char first[1000]; /* the first message */
    uint64_t digest;  /* of the good ones */
    size_t reserved;  /* by the reader */
} read_out;

static read_out read_all(leat__source *source) {
    read_out r = {.n = (int)source->n_samples};
    leat__reader reader = {.bytes.kind = LEAT_MEM_WORKER};
    for (uint64_t i = 0; i < source->n_samples; i++) {
        leat__value value;
        leat_error err;
        char where[600];
        source->class->describe(source, i, where, sizeof where);
        if (source->class->read(source, &reader, i, &value, &err) == 0) {
            r.good++;
            r.digest = leat__hash(value.data, value.bytes, r.digest);
        } else {
            if (r.bad++ == 0) snprintf(r.first, sizeof r.first, "%s", err.message);
            if (err.code != LEAT_ERR_STATE) assert_int_equal(strncmp(err.message, where, strlen(where)), 0);
            if (strchr(err.message, '\n')) fail_msg("not one line: %s", err.message);
        }
    }
    r.reserved = reader.bytes.cap;
    leat__reader_free(source, &reader);
    leat__source_free(&source);
    return r;
}

/* ------------------------------------------------------------------------------------------ damage */

enum { N = 30, PAYLOAD = 100, STEP = PAYLOAD + 16 };

static leat__buf make_shard(int n) {
    leat__buf shard = {0};
    for (int i = 0; i < n; i++) {
        uint8_t payload[PAYLOAD];
        for (int k = 0; k < PAYLOAD; k++) payload[k] = (uint8_t)(i * 31 + k);
        add_record(&shard, payload, PAYLOAD);
    }
    return shard;
}

static read_out read_shard(leat__buf *shard) {
    write_buf(in_dir("shard"), shard);
    return read_all(open_records(in_dir("shard"), NULL));
}

static void expect(read_out r, int good, int bad, const char *part) {
    if (r.good != good || r.bad != bad || !strstr(r.first, part))
        fail_msg("%d good and %d bad: %s", r.good, r.bad, r.first);
}

static void test_damage(void **state) {
    (void)state;
    leat__buf s = make_shard(N);
    expect(read_shard(&s), N, 0, "");
    /* Every byte of one record in turn: that record alone is lost. */
    for (int at = 0; at < STEP; at++) {
        s = make_shard(N);
        s.data[10 * STEP + at] ^= 0x10;
        expect(read_shard(&s), N - 1, 1,
               at < 12 ? "record 10 at byte 1160: the checksum of its length is wrong, 116 bytes are lost"
                       : "record 10 at byte 1160: the checksum of its 100 bytes is wrong");
    }
    /* The first and the last. */
    for (int at = 0; at < STEP; at += 5) {
        s = make_shard(N);
        s.data[at] ^= 1;
        expect(read_shard(&s), N - 1, 1, "record 0 at byte 0");
        s = make_shard(N);
        s.data[(N - 1) * STEP + at] ^= 1;
        expect(read_shard(&s), N - 1, 1, "record 29 at byte 3364");
    }
    /* Cut anywhere. */
    for (int cut = 1; cut < STEP; cut++) {
        s = make_shard(N);
        s.size -= (size_t)cut;
        expect(read_shard(&s), N - 1, 1, "cut off");
    }
    /* Something in between, and something before. */
    for (size_t junk = 1; junk < 40; junk += 6) {
        leat__buf all = make_shard(3), more = make_shard(4);
        leat__buf_append(&all, "this is not a record, it is only a text", junk);
        leat__buf_append(&all, more.data, more.size);
        leat__buf_free(&more);
        expect(read_shard(&all), 7, 1, "record 3 at byte 348");
        leat__buf before = {.kind = LEAT_MEM_TOOL};
        more = make_shard(4);
        leat__buf_append(&before, "this is not a record, it is only a text", junk);
        leat__buf_append(&before, more.data, more.size);
        leat__buf_free(&more);
        expect(read_shard(&before), 4, 1, "record 0 at byte 0");
    }
    /* Two neighbours are one hole. */
    s = make_shard(N);
    s.data[10 * STEP] ^= 1, s.data[11 * STEP] ^= 1;
    expect(read_shard(&s), N - 2, 1, "232 bytes are lost");
}

static void test_hostile_lengths(void **state) {
    (void)state;
    static const uint64_t lengths[] = {
        UINT64_C(1) << 63,       UINT64_MAX, UINT64_MAX - 3, UINT64_MAX - 15,      UINT64_MAX - 16,
        (UINT64_C(1) << 32) + 1, 1 << 30,    N * STEP,       (N - 10) * STEP - 15, (N - 10) * STEP - 16 + 1};
    const uint64_t before = memory_held();
    for (size_t i = 0; i < LEAT_COUNT(lengths); i++) {
        leat__buf s = make_shard(N);
        leat__tfrecord_write_header(s.data + 10 * STEP, lengths[i]);
        const read_out r = read_shard(&s);
        expect(r, 10, 1, "record 10 at byte 1160");
        assert_int_equal(memory_held(), before);
    }
    /* A length that just fits takes the rest as its payload, whose checksum is wrong. */
    leat__buf s = make_shard(N);
    leat__tfrecord_write_header(s.data + 10 * STEP, (N - 10) * STEP - 16);
    expect(read_shard(&s), 10, 1, "checksum of its 2304 bytes");
    /* No bytes at all are a record too. */
    leat__buf empty = {0};
    for (int i = 0; i < 1000; i++) add_record(&empty, "", 0);
    expect(read_shard(&empty), 1000, 0, "");
    /* Larger than anything may be, in a file that has the bytes (they are a hole): told, not read. */
    uint8_t header[12];
    leat__tfrecord_write_header(header, UINT64_C(1) << 32);
    write_file(in_dir("shard"), header, 12);
    if (truncate(in_dir("shard"), ((off_t)1 << 32) + 16) == 0) {
        const read_out r = read_all(open_records(in_dir("shard"), NULL));
        expect(r, 0, 1, "the limit is 268435456");
        assert_true(r.reserved < 1 << 20);
    }
    unlink(in_dir("shard"));
}

/* A header every 12 bytes, each with a right checksum and each claiming all that follows: not quadratic. */
static void test_forged_headers(void **state) {
    (void)state;
    for (int begin = 0; begin < 2; begin++) {
        leat__buf s = make_shard(begin);
        const size_t first = s.size, n = (size_t)6 << 20;
        s.kind = LEAT_MEM_TOOL;
        leat__buf_reserve(&s, n);
        memset(s.data + first, 0x55, n - first);
        for (size_t at = first + 5; at + 16 < n; at += 12)
            leat__tfrecord_write_header(s.data + at, n - at - 16);
        s.size = n;
        write_buf(in_dir("shard"), &s);
        const uint64_t began = leat__now_ns();
        const char *pattern = in_dir("shard");
        const leat__open_options open = options_now(NULL);
        leat__source *source;
        if (leat__records_open(&source, &pattern, 1, &open, NULL) == 0) read_all(source);
        assert_true(leat__now_ns() - began < UINT64_C(20000000000));
    }
}

static void test_tails(void **state) {
    (void)state;
    static const int tails[] = {1, 11, 12, 15};
    for (size_t i = 0; i < LEAT_COUNT(tails); i++) {
        leat__buf s = make_shard(3);
        static const uint8_t zero[16];
        leat__buf_append(&s, zero, (size_t)tails[i]);
        expect(read_shard(&s), 3, 1, "record 3 at byte 348");
        write_file(in_dir("shard"), zero, (size_t)tails[i]); /* nothing else in it */
        const char *pattern = in_dir("shard");
        const leat__open_options open = options_now(NULL);
        leat__source *source = NULL;
        if (leat__records_open(&source, &pattern, 1, &open, NULL) == 0)
            assert_int_equal(read_all(source).good, 0);
    }
}

static void test_no_records(void **state) {
    (void)state;
    leat__buf jpeg = make_jpeg(200, 200, 3, 1), tar = {.kind = LEAT_MEM_TOOL};
    leat__buf_reserve(&tar, 10240);
    memset(tar.data, 0, tar.size = 10240);
    memcpy(tar.data, "photos/1.jpg", 12);
    memcpy(tar.data + 257, "ustar", 5);
    char text[3000];
    for (size_t i = 0; i < sizeof text; i++) text[i] = "all work and no play\n"[i % 21];
    write_buf(in_dir("no-jpeg"), &jpeg);
    write_buf(in_dir("no-tar"), &tar);
    write_file(in_dir("no-text"), text, sizeof text);
    write_file(in_dir("no-name\nwith a line"), text, sizeof text);
    static const char *const names[] = {"no-jpeg", "no-tar", "no-text", "no-name\nwith a line"};
    for (size_t i = 0; i < LEAT_COUNT(names); i++) {
        const char *pattern = in_dir("%s", names[i]);
        const leat__open_options open = options_now(NULL);
        leat__source *source;
        leat_error err;
        assert_int_equal(leat__records_open(&source, &pattern, 1, &open, &err), LEAT_ERR_FORMAT);
        assert_true(strstr(err.message, "not a TFRecord file") && !strchr(err.message, '\n'));
    }
    write_file(in_dir("no-bytes"), "", 0);
    refuse_spec(spec_of("tfrecord %s", in_dir("no-bytes")), NULL, LEAT_ERR_NOT_FOUND, "holds no record");
    make_dir(in_dir("no-folder"));
    refuse_spec(spec_of("tfrecord %s", in_dir("no-folder")), NULL, LEAT_ERR_IO, "no-folder");
    refuse_spec(spec_of("tfrecord %s", in_dir("no-*-such")), NULL, LEAT_ERR_NOT_FOUND, "no file matches");
    assert_int_equal(mkfifo(in_dir("no-fifo"), 0666), 0);
    refuse_spec(spec_of("tfrecord %s", in_dir("no-fifo")), NULL, LEAT_ERR_IO, "regular file");
}

/* ------------------------------------------------------------------------------------------- index */

/* What a side file was when it was last looked at: one that is used stays as it is. */
static struct stat side_before;
static bool is_untouched(const char *path) {
    struct stat now;
    assert_int_equal(stat(path, &now), 0);
    const bool same = now.st_ino == side_before.st_ino && ns_of(now.st_mtim) == ns_of(side_before.st_mtim);
    side_before = now;
    return same;
}

/* Writes a shard in place of another of the same size, and sets the time back. */
static void replace_shard(const char *path, int n, size_t payload) {
    struct stat st;
    uint8_t bytes[1000];
    leat__buf s = {0};
    assert_int_equal(stat(path, &st), 0);
    for (int i = 0; i < n; i++) {
        memset(bytes, 200 - i, payload);
        add_record(&s, bytes, payload);
    }
    assert_int_equal(s.size, st.st_size);
    write_buf(path, &s);
    const struct timespec times[2] = {st.st_atim, st.st_mtim};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    usleep(25000);
}

static void copy_file(const char *from, const char *to) {
    leat__buf bytes = {.kind = LEAT_MEM_TOOL};
    assert_int_equal(leat__file_read_all(from, &bytes, 1 << 20, NULL), 0);
    write_buf(to, &bytes);
}

static void test_index(void **state) {
    (void)state;
    char cache[400], side[4300];
    snprintf(cache, sizeof cache, "%s", in_dir("cache"));
    leat__buf s = make_shard(N);
    write_buf(in_dir("kept"), &s);
    /* Just written: it may still be growing, so nothing is kept. */
    expect(read_all(open_records(in_dir("kept"), cache)), N, 0, "");
    assert_int_equal(find_side_files(cache, NULL, 0), 0);
    make_old(in_dir("kept"), 100);
    expect(read_all(open_records(in_dir("kept"), cache)), N, 0, "");
    assert_int_equal(find_side_files(cache, side, sizeof side), 1);
    is_untouched(side);
    expect(read_all(open_records(in_dir("kept"), cache)), N, 0, "");
    assert_true(is_untouched(side));
    /* Other records, at the same size and time. */
    replace_shard(in_dir("kept"), N / 2, 2 * STEP - 16);
    expect(read_all(open_records(in_dir("kept"), cache)), N / 2, 0, "");
    assert_false(is_untouched(side));
    expect(read_all(open_records(in_dir("kept"), cache)), N / 2, 0, "");
    assert_true(is_untouched(side));
    /* Another file under the name. */
    s = make_shard(N + 5);
    write_buf(in_dir("kept"), &s);
    make_old(in_dir("kept"), 50);
    expect(read_all(open_records(in_dir("kept"), cache)), N + 5, 0, "");
    expect(read_all(open_records(in_dir("kept"), cache)), N + 5, 0, "");
    /* Damage does not make the index doubtful for long: it is looked at once, and stays. */
    FILE *file = fopen(in_dir("kept"), "r+b");
    fseek(file, 10 * STEP, SEEK_SET);
    fputc(0xee, file);
    fclose(file);
    make_old(in_dir("kept"), 50);
    is_untouched(side);
    expect(read_all(open_records(in_dir("kept"), cache)), N + 4, 1, "116 bytes are lost");
    assert_false(is_untouched(side));
    expect(read_all(open_records(in_dir("kept"), cache)), N + 4, 1, "116 bytes are lost");
    assert_true(is_untouched(side));
    /* A place that cannot be written to: said once, and it works. */
    write_file(in_dir("occupied"), "", 0);
    leat__source *source = open_records(in_dir("kept"), in_dir("occupied"));
    assert_non_null(strstr(source->warning, "could not be kept"));
    expect(read_all(source), N + 4, 1, "");
}

/* An index beside the data is copied with it, and used. */
static void test_index_travels(void **state) {
    (void)state;
    leat__buf s = make_shard(1000);
    write_buf(in_dir("stay"), &s);
    make_old(in_dir("stay"), 100);
    leat__open_options open = options_now(in_dir("travel-cache"));
    open.beside = true;
    const char *pattern = in_dir("stay");
    leat__source *source;
    assert_int_equal(leat__records_open(&source, &pattern, 1, &open, NULL), 0);
    expect(read_all(source), 1000, 0, "");
    make_dir(in_dir("there"));
    copy_file(in_dir("stay"), in_dir("there/stay"));
    copy_file(in_dir(".stay.leatidx"), in_dir("there/.stay.leatidx"));
    usleep(25000);
    is_untouched(in_dir("there/.stay.leatidx"));
    expect(read_all(open_records(in_dir("there/stay"), in_dir("travel-cache"))), 1000, 0, "");
    assert_true(is_untouched(in_dir("there/.stay.leatidx")));
    assert_int_equal(find_side_files(in_dir("travel-cache"), NULL, 0), 0); /* none was needed */
    /* With other bytes it is not: then one in the cache directory is made, and used. */
    replace_shard(in_dir("there/stay"), 500, 2 * STEP - 16);
    char side[4300];
    for (int round = 0; round < 2; round++) {
        expect(read_all(open_records(in_dir("there/stay"), in_dir("travel-cache"))), 500, 0, "");
        assert_int_equal(find_side_files(in_dir("travel-cache"), side, sizeof side), 1);
        assert_int_equal(is_untouched(side), round);
    }
}

/* A side file that looks as if it belonged to the shard: borders are as given. */
static void forge_index(const char *shard, const char *side, const uint64_t *border, size_t n) {
    struct stat st;
    assert_int_equal(stat(shard, &st), 0);
    const uint64_t facts[6] = {2,
                               (uint64_t)st.st_size,
                               (uint64_t)ns_of(st.st_mtim),
                               (uint64_t)ns_of(st.st_ctim),
                               (uint64_t)st.st_ino,
                               0};
    leat__buf payload = {.kind = LEAT_MEM_TOOL}, whole = {.kind = LEAT_MEM_TOOL};
    leat__buf_append(&payload, facts, sizeof facts);
    leat__buf_append(&payload, border, n * sizeof *border);
    uint8_t header[LEAT_SIDEFILE_HEADER];
    leat__sidefile_write_header(header, LEAT_SIDEFILE_RECORDS, payload.data, payload.size);
    leat__buf_append(&whole, header, sizeof header);
    leat__buf_append(&whole, payload.data, payload.size);
    leat__buf_free(&payload);
    write_buf(side, &whole);
}

/* Indexes that check out but lie: whatever they say, reading stays within the file. */
static void test_forged_index(void **state) {
    (void)state;
    leat__buf s = make_shard(4);
    const size_t size = s.size;
    write_buf(in_dir("lied"), &s);
    make_old(in_dir("lied"), 100);
    leat__rng rng = leat__rng_at(2, 0, 0, 0);
    for (int round = 0; round < 300; round++) {
        uint64_t border[9] = {0};
        const size_t n = 2 + leat__rng_below(&rng, 8);
        for (size_t i = 0; i < n; i++)
            border[i] = round % 3 ? size * i / (n - 1) : leat__rng_u64(&rng) >> leat__rng_below(&rng, 64);
        if (round % 3 == 1) border[leat__rng_below(&rng, n)] += leat__rng_below(&rng, 40);
        forge_index(in_dir("lied"), in_dir(".lied.leatidx"), border, n);
        const read_out r = read_all(open_records(in_dir("lied"), in_dir("lied-cache")));
        assert_true(r.good <= 4);
        unlink(in_dir(".lied.leatidx"));
    }
}

/* An index that does not fit, which only reading shows: it is made anew, once, and every record is right. */
static void test_misplaced(void **state) {
    (void)state;
    uint64_t border[N + 1];
    leat__buf s = make_shard(N);
    write_buf(in_dir("doubt"), &s);
    make_old(in_dir("doubt"), 100);
    const uint64_t digest = read_all(open_records(in_dir("doubt"), NULL)).digest;
    for (int first = 0; first < N - 1; first += 7) { /* from there on borders are wrong */
        for (int i = 0; i <= N; i++) border[i] = (uint64_t)(i * STEP + (i > first && i < N ? 5 : 0));
        forge_index(in_dir("doubt"), in_dir(".doubt.leatidx"), border, N + 1);
        for (int round = 0; round < 2; round++) {
            const read_out r = read_all(open_records(in_dir("doubt"), in_dir("doubt-cache")));
            expect(r, N, 0, "");
            assert_true(r.digest == digest);
            /* The side file is right now. */
            assert_int_equal(is_untouched(in_dir(".doubt.leatidx")), round);
        }
    }
    assert_int_equal(find_side_files(in_dir("doubt-cache"), NULL, 0), 0);
    /* By several workers at once. */
    for (int i = 0; i <= N; i++) border[i] = (uint64_t)(i * STEP + (i > 0 && i < N ? 5 : 0));
    for (int round = 0; round < 20; round++) {
        forge_index(in_dir("doubt"), in_dir(".doubt.leatidx"), border, N + 1);
        leat_pipeline *pipeline =
            open_spec(spec_of("tfrecord %s | decode_raw record u8 | batch 1", in_dir("doubt")),
                      &(leat_config){.n_threads = 4, .cache_dir = in_dir("doubt-cache")});
        tape t = record(pipeline, -1);
        assert_int_equal(t.rc, LEAT_END);
        assert_int_equal(t.n_samples, N);
        tape_free(&t);
        leat_pipeline_close(&pipeline);
    }
}

/* The same where the number of records is another: planning begins again; a run that has begun stops, whatever the policy. */
static void test_misplaced_number(void **state) {
    (void)state;
    static const char *const rest[] = {"parse label:int64 | filter label>=0", "parse label:int64"};
    write_samples(in_dir("number"), 0, N, 20);
    make_old(in_dir("number"), 100);
    for (int running = 0; running < 2; running++) { /* a filter reads while it is planned */
        uint64_t border[N + 1] = {0};
        leat__buf bytes = {.kind = LEAT_MEM_TOOL};
        assert_int_equal(leat__file_read_all(in_dir("number"), &bytes, 1 << 20, NULL), 0);
        for (int i = 0; i < N; i++) border[i + 1] = border[i] + leat__load_u64(bytes.data + border[i]) + 16;
        border[N - 1] = bytes.size; /* two records as one */
        leat__buf_free(&bytes);
        forge_index(in_dir("number"), in_dir(".number.leatidx"), border, N);
        const leat_config config = {
            .n_threads = 2, .on_error = LEAT_ON_ERROR_SKIP, .cache_dir = in_dir("number-cache")};
        for (int round = 0; round < 2; round++) { /* the next run is right in any case */
            leat_pipeline *pipeline =
                open_spec(spec_of("tfrecord %s | %s | batch 1", in_dir("number"), rest[running]), &config);
            tape t = record(pipeline, -1);
            assert_int_equal(t.rc, running && round == 0 ? LEAT_ERR_STATE : LEAT_END);
            if (t.rc < 0)
                assert_non_null(strstr(t.message, "has 30 records, its index had 29 and did not fit"));
            else assert_int_equal(t.n_samples, N);
            tape_free(&t);
            leat_pipeline_close(&pipeline);
        }
    }
}

static void test_many_shards(void **state) {
    (void)state;
    make_dir(in_dir("many"));
    int64_t id = 0;
    for (int i = 0; i < 300; i++) {
        const int n = i % 7; /* some are empty */
        write_samples(in_dir("many/%03d", i), id, n, 20);
        id += n;
    }
    for (int threads = 1; threads <= 8; threads *= 2) {
        const leat_config config = {.n_threads = threads, .no_side_files = 1, .n_epochs = 2};
        leat_pipeline *pipeline = open_spec(
            spec_of("tfrecord %s | shuffle | parse label:int64 | batch 16", in_dir("many/*")), &config);
        leat_batch b;
        int64_t n = 0;
        while (leat_pipeline_next(pipeline, &b, NULL) == 0) {
            for (int i = 0; i < b.n; i++) assert_int_equal(((int64_t *)b.tensor[0].data)[i], b.sample[i]);
            n += b.n;
            leat_batch_release(&b);
        }
        assert_int_equal(n, 2 * id);
        leat_pipeline_close(&pipeline);
    }
    /* Memory follows the number of records: a shard of a few takes no pages. */
    enum { SHARDS = 300, BYTES_A_SHARD = 600 };
    leat_pipeline *small = open_spec(spec_of("tfrecord %s | parse label:int64 | batch 16", in_dir("many/*")),
                                     &(leat_config){.no_side_files = 1, .synchronous = 1});
    assert_true(leat__mem_held(LEAT_MEM_INDEX) < (uint64_t)SHARDS * BYTES_A_SHARD);
    leat_pipeline_close(&small);
    int open_files = 0;
    for (int fd = 3; fd < 2000; fd++) open_files += fcntl(fd, F_GETFD) >= 0;
    assert_true(open_files < 20); /* none stays open */
    /* One changes while it is closed. */
    leat_pipeline *pipeline =
        open_spec(spec_of("tfrecord %s | parse label:int64 | batch 16", in_dir("many/*")),
                  &(leat_config){.no_side_files = 1, .synchronous = 1});
    write_samples(in_dir("many/006"), 0, 60, 20);
    tape t = record(pipeline, -1);
    assert_int_equal(t.rc, LEAT_ERR_IO);
    assert_non_null(strstr(t.message, "006 has changed"));
    tape_free(&t);
    leat_pipeline_close(&pipeline);
}

/* A shard that shrinks under an open pipeline. */
static void test_shrinking(void **state) {
    (void)state;
    write_samples(in_dir("shrink"), 0, 2000, 200);
    const leat_config config = {
        .synchronous = 1, .on_error = LEAT_ON_ERROR_SKIP, .no_side_files = 1, .n_slots = 2};
    leat_pipeline *pipeline =
        open_spec(spec_of("tfrecord %s | parse label:int64 | batch 10", in_dir("shrink")), &config);
    tape t = record(pipeline, 20);
    tape_free(&t);
    assert_int_equal(truncate(in_dir("shrink"), 100000), 0);
    t = record(pipeline, -1);
    assert_int_equal(t.rc, LEAT_END);
    leat_bad bad;
    assert_int_equal(leat_pipeline_bad(pipeline, 0, &bad), 0);
    assert_non_null(strstr(bad.message, "shrank"));
    tape_free(&t);
    leat_pipeline_close(&pipeline);
}

/* Records in sequence share reads; in any other order, and with damage between them, the bytes are the
 * same. */
static void test_reads_agree(void **state) {
    (void)state;
    leat__buf s = {0};
    leat__rng rng = leat__rng_at(3, 0, 0, 0);
    for (int64_t i = 0; i < 3000; i++) add_sample(&s, i, (size_t)leat__rng_below(&rng, i % 50 ? 300 : 40000));
    for (int i = 0; i < 40; i++) s.data[leat__rng_below(&rng, s.size)] ^= 1;
    write_buf(in_dir("agree"), &s);
    leat__source *source = open_records(in_dir("agree"), NULL);
    leat__reader reader = {.bytes.kind = LEAT_MEM_WORKER};
    const size_t n = source->n_samples;
    uint64_t *digest = calloc(n, sizeof *digest);
    for (int round = 0; round < 4; round++)
        for (size_t k = 0; k < n; k++) {
            const size_t i = round == 0   ? k
                             : round == 1 ? n - 1 - k
                             : round == 2 ? leat__rng_below(&rng, n)
                                          : k ^ (k % 5 == 0);
            leat__value value;
            leat_error err;
            if (i >= n) continue;
            const int rc = source->class->read(source, &reader, i, &value, &err);
            const uint64_t d = rc == 0 ? leat__hash(value.data, value.bytes, 1) : (uint64_t)(int64_t)rc;
            if (round == 0) digest[i] = d;
            else assert_true(digest[i] == d);
        }
    free(digest);
    leat__reader_free(source, &reader);
    leat__source_free(&source);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_damage),           cmocka_unit_test(test_hostile_lengths),
        cmocka_unit_test(test_forged_headers),   cmocka_unit_test(test_tails),
        cmocka_unit_test(test_no_records),       cmocka_unit_test(test_index),
        cmocka_unit_test(test_index_travels),    cmocka_unit_test(test_misplaced),
        cmocka_unit_test(test_misplaced_number), cmocka_unit_test(test_forged_index),
        cmocka_unit_test(test_many_shards),      cmocka_unit_test(test_shrinking),
        cmocka_unit_test(test_reads_agree),
    };
    return cmocka_run_group_tests_name("records", tests, begin_files, end_files);
}
