/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: timeout=60 */
/* The table of positions inside JPEG files: what is kept, for how many files, by several threads at once, and from run to run. */
#include "unit/testing.h"

#include <sys/wait.h>

#include "base/sets.h"
#include "base/thread.h"
#include "cache/jpeg_store.h"

enum { FILES = 20, WIDTH = 160, HEIGHT = 120 };

static leat__buf file[FILES];

static int begin_all(void **state) {
    for (int i = 0; i < FILES; i++) file[i] = make_jpeg(HEIGHT, WIDTH, 3, (unsigned)i);
    return begin_files(state);
}

static int end_all(void **state) {
    for (int i = 0; i < FILES; i++) leat__buf_free(&file[i]);
    return end_files(state);
}

static uint64_t cache_bytes_max = UINT64_C(1) << 30;
static bool trust;
static char said[1000];
static int n_said;

static void on_log(void *user, int level, const char *message) {
    (void)user, (void)level;
    snprintf(said, sizeof said, "%s", message);
    n_said++;
}

static leat__jpeg_store *open_notes(size_t bytes_max, uint64_t n_files, bool side) {
    const leat__open_options open = {
        .n_threads = 1, .cache_dir = side ? in_dir("cache") : NULL, .no_side_files = !side, .trust = trust};
    const leat__jpeg_store_options options = {.bytes_max = bytes_max,
                                              .n_files = n_files,
                                              .home = in_dir("photos"),
                                              .open = &open,
                                              .cache_bytes_max = cache_bytes_max,
                                              .log = on_log};
    leat__jpeg_store *store = NULL;
    leat_error err;
    if (leat__jpeg_store_open(&store, &options, &err) != 0) fail_msg("%s", err.message);
    return store;
}

/* Decodes a part of file i with what is known; returns the bytes that were known. */
static size_t use(leat__jpeg_store *store, leat__decoder *decoder, leat__buf *block, int i, int x, int y) {
    leat__decode_positions noted;
    uint8_t pixels[3 * 8 * 8], plain[3 * 8 * 8];
    leat__picture_info info;
    const leat__box box = {x, y, 8, 8};
    const bool taken = leat__jpeg_store_take(store, file[i].data, file[i].size, block, &noted);
    const size_t known = taken ? block->size : 0;
    for (int round = 0; round < 2; round++) {
        const leat__decode_options options = {.channels = 3,
                                              .positions = round == 0 && taken ? &noted : NULL};
        if (leat__decode_begin(decoder, file[i].data, file[i].size, &options, &info, NULL) != 0 ||
            leat__decode_region(decoder, &box, NULL) != 0 ||
            leat__decode_rows(decoder, round ? plain : pixels, 24, 8, NULL) != 0 ||
            leat__decode_end(decoder, NULL) != 0)
            return SIZE_MAX;
    }
    if (memcmp(pixels, plain, sizeof pixels) != 0) return SIZE_MAX;
    if (taken) leat__jpeg_store_put(store, &noted);
    return known;
}

static void kept_and_extended(void **state) {
    (void)state;
    leat__jpeg_store *store = open_notes(1 << 20, FILES, false);
    leat__decoder *decoder = leat__decoder_new(NULL);
    leat__buf block = {0};
    assert_int_equal(use(store, decoder, &block, 3, 100, 20), 0);
    const size_t some = use(store, decoder, &block, 3, 140, 110);
    assert_true(some > 0);
    const size_t more = use(store, decoder, &block, 3, 10, 10);
    assert_true(more > some);
    assert_int_equal(use(store, decoder, &block, 3, 140, 110), more);
    assert_int_equal(use(store, decoder, &block, 4, 0, 0), 0); /* another file knows nothing of it */
    assert_int_equal(leat__jpeg_store_facts_of(store).n_files, 2);
    leat__decode_positions unused;
    assert_false(leat__jpeg_store_take(store, (const uint8_t *)"\x89PNG\r\n\x1a\n", 8, &block, &unused));
    leat__buf_free(&block);
    leat__decoder_free(&decoder);
    leat__jpeg_store_close(&store);
    assert_null(store);
    leat__jpeg_store_close(&store);
}

/* When memory is used up, further files are decoded without. */
static void little_memory(void **state) {
    (void)state;
    leat__jpeg_store *store = open_notes(2000, UINT64_MAX, false);
    leat__decoder *decoder = leat__decoder_new(NULL);
    leat__buf block = {0};
    int n = 0;
    for (int i = 0; i < FILES; i++) use(store, decoder, &block, i, 150, 110);
    for (int i = 0; i < FILES; i++) n += use(store, decoder, &block, i, 10, 110) > 0;
    assert_true(n > 0 && n < FILES);
    assert_int_equal(leat__jpeg_store_facts_of(store).n_files, n);
    leat__jpeg_store_close(&store);
    store = open_notes(1 << 20, 1 << 20, false); /* many files: less is noted of each */
    assert_true(leat__jpeg_store_facts_of(store).rows_only);
    use(store, decoder, &block, 0, 150, 110);
    assert_int_equal(use(store, decoder, &block, 0, 150, 110), 24 + 10 * ((HEIGHT + 15) / 16));
    leat__jpeg_store_close(&store);
    leat__buf_free(&block);
    leat__decoder_free(&decoder);
}

static void start(leat__jpeg_store *store) {
    leat_error err;
    if (leat__jpeg_store_start(store, &err) != 0) fail_msg("%s", err.message);
}

static void flush(leat__jpeg_store *store) {
    leat_error err;
    const int rc = leat__jpeg_store_flush(store, UINT64_C(20000000000), &err);
    if (rc != 0) fail_msg("%d: %s", rc, rc < 0 ? err.message : "not all is written");
}

/* The file of positions of "photos". */
static const char *kept_file(void) {
    static char path[600];
    leat__sets *sets;
    leat_error err;
    char *home = leat__real_path(in_dir("photos"));
    assert_int_equal(leat__sets_open(&sets, in_dir("cache"), &err), 0);
    assert_int_equal(leat__sets_folder(sets, home, true, path, sizeof path, &err), 0);
    leat__sets_close(&sets);
    leat__free(home);
    strcat(path, "/positions.leatseg");
    return path;
}

static leat__buf read_kept(void) {
    leat__buf bytes = {0};
    leat_error err;
    if (leat__file_read_all(kept_file(), &bytes, 1 << 20, &err) < 0) fail_msg("%s", err.message);
    return bytes;
}

static uint64_t n_loaded(size_t bytes_max) {
    leat__jpeg_store *store = open_notes(bytes_max, FILES, true);
    const uint64_t n = leat__jpeg_store_facts_of(store).n_loaded;
    leat__jpeg_store_close(&store);
    return n;
}

static void from_run_to_run(void **state) {
    (void)state;
    leat__decoder *decoder = leat__decoder_new(NULL);
    leat__buf block = {0};
    size_t known[FILES];
    for (int run = 0; run < 4; run++) { /* each brings five more */
        leat__jpeg_store *store = open_notes(1 << 20, FILES, true);
        assert_int_equal(leat__jpeg_store_facts_of(store).n_loaded, 5 * run);
        start(store);
        for (int i = 0; i < 5 * run; i++) assert_int_equal(use(store, decoder, &block, i, 30, 100), known[i]);
        flush(store); /* nothing new: nothing happens */
        for (int i = 5 * run; i < 5 * run + 5; i++) {
            use(store, decoder, &block, i, 100, 20 + 4 * i);
            if (i % 2) flush(store);                  /* then it is written twice, to one place */
            use(store, decoder, &block, i, 100, 110); /* more of it */
            known[i] = use(store, decoder, &block, i, 0, 0);
        }
        if (run % 2) flush(store);
        leat__jpeg_store_close(&store); /* writes the little that is left */
    }
    assert_in_range(n_loaded(3000), 1, FILES - 1); /* too little memory for all of them */
    leat__buf kept = read_kept();
    size_t wanted = 64;
    for (int i = 0; i < FILES; i++)
        wanted += LEAT_ALIGN_UP(32 + 8 + LEAT_ALIGN_UP(known[i], (size_t)8), (size_t)32);
    assert_int_equal(kept.size, wanted); /* every file has one place */
    leat__buf_free(&kept);
    leat__buf_free(&block);
    leat__decoder_free(&decoder);
}

/* Each entry of a damaged file counts for itself. */
static void damaged(void **state) {
    (void)state;
    leat__buf kept = read_kept();
    assert_int_equal(n_loaded(1 << 20), FILES);
    uint64_t before = UINT64_MAX;
    for (size_t n = kept.size; n > 64; n -= LEAT_MIN(n - 64, (size_t)401)) {
        write_file(kept_file(), kept.data, n);
        const uint64_t now = n_loaded(1 << 20);
        assert_true(now <= before);
        before = now;
    }
    assert_in_range(before, 0, 1);
    for (size_t i = 0; i < kept.size; i += 97) {
        kept.data[i] ^= 1;
        write_file(kept_file(), kept.data, kept.size);
        const uint64_t now = n_loaded(1 << 20);
        if (i < 64) assert_int_equal(now, 0);
        else assert_in_range(now, FILES - 1, FILES); /* FILES: it hit the zeros between two entries */
        kept.data[i] ^= 1;
    }
    /* A run over a damaged file adds to it, or begins anew if its header is bad. */
    leat__decoder *decoder = leat__decoder_new(NULL);
    leat__buf block = {0};
    for (int header = 0; header < 2; header++) {
        kept.data[header ? 3 : 150] ^= 1;
        write_file(kept_file(), kept.data, kept.size - 1);
        kept.data[header ? 3 : 150] ^= 1;
        leat__jpeg_store *store = open_notes(1 << 20, FILES, true);
        start(store);
        for (int i = 0; i < FILES; i++) use(store, decoder, &block, i, 100, 110);
        flush(store);
        leat__jpeg_store_close(&store);
        assert_int_equal(n_loaded(1 << 20), FILES);
    }
    assert_int_equal(n_said, 0);
    leat__buf_free(&kept);
    leat__buf_free(&block);
    leat__decoder_free(&decoder);
}

/* A worker that adds to what is known, with a writer that takes it: no allocation. */
static void nothing_allocated(void **state) {
    (void)state;
    remove_tree(in_dir("cache"));
    leat__decoder *decoder = leat__decoder_new(NULL);
    leat__buf block = {0};
    leat__jpeg_store *warm = open_notes(1 << 20, FILES, false), *store = open_notes(1 << 20, FILES, true);
    start(store);
    for (int i = 0; i < FILES; i++) {
        use(warm, decoder, &block, i, 100, 110);
        use(store, decoder, &block, i, 100, 20);
    }
    flush(store);
    leat__mem_fail_at(0);
    for (int i = 0; i < FILES; i++) use(store, decoder, &block, i, 100, 110);
    flush(store);
    assert_int_equal(leat__mem_fail_at(0), 0);
    leat__jpeg_store_close(&store);
    leat__jpeg_store_close(&warm);
    assert_int_equal(n_loaded(1 << 20), FILES);
    leat__buf_free(&block);
    leat__decoder_free(&decoder);
}

/* Two that write at once add to one file, and learn from each other. */
static void several_writers(void **state) {
    (void)state;
    remove_tree(in_dir("cache"));
    leat__decoder *decoder = leat__decoder_new(NULL);
    leat__buf block = {0};
    leat__jpeg_store *a = open_notes(1 << 20, FILES, true), *b = open_notes(1 << 20, FILES, true);
    start(a);
    start(b);
    use(a, decoder, &block, 1, 100, 110);
    flush(a);
    use(b, decoder, &block, 2, 100, 110);
    flush(b);
    use(a, decoder, &block, 3, 100, 110);
    flush(a);
    assert_true(use(b, decoder, &block, 1, 0, 0) > 0); /* it has learned that when it wrote */
    assert_true(use(a, decoder, &block, 2, 0, 0) > 0);
    /* One knows little of a file, the other much: much stays, whoever writes last. */
    use(a, decoder, &block, 5, 0, 0);
    flush(a);
    use(b, decoder, &block, 6, 0, 0); /* b learns of 5 */
    flush(b);
    use(a, decoder, &block, 5, 150, 112);
    flush(a);
    use(b, decoder, &block, 5, 0, 60);
    flush(b);
    leat__jpeg_store_close(&a);
    leat__jpeg_store_close(&b);
    a = open_notes(1 << 20, FILES, true);
    assert_int_equal(leat__jpeg_store_facts_of(a).n_loaded, 5);
    const size_t all = use(a, decoder, &block, 5, 0, 0);
    assert_true(all > use(a, decoder, &block, 6, 0, 0));
    use(a, decoder, &block, 6, 150, 112);
    assert_int_equal(use(a, decoder, &block, 6, 0, 0), all); /* pictures of one size have equally many */
    leat__jpeg_store_close(&a);
    leat__buf kept = read_kept();
    size_t n = 64;
    for (int i = 0; i < 5; i++) n += LEAT_ALIGN_UP(32 + 8 + LEAT_ALIGN_UP(all, (size_t)8), (size_t)32);
    assert_int_equal(kept.size, n); /* no file is in it twice */
    leat__buf_free(&kept);
    /* A file that was made anew meanwhile: places of the old one are forgotten. */
    a = open_notes(1 << 20, FILES, true);
    start(a);
    use(a, decoder, &block, 7, 100, 110);
    flush(a);
    unlink(kept_file());
    b = open_notes(1 << 20, FILES, true);
    start(b);
    use(b, decoder, &block, 8, 100, 110);
    flush(b);
    use(a, decoder, &block, 9, 100, 110);
    flush(a);
    leat__jpeg_store_close(&a);
    leat__jpeg_store_close(&b);
    assert_int_equal(n_loaded(1 << 20), 2);
    assert_int_equal(n_said, 0);
    leat__buf_free(&block);
    leat__decoder_free(&decoder);
}

/* A process that does not let go of the file: closing is finite, and nothing is said. */
static void a_lock_that_stays(void **state) {
    (void)state;
    remove_tree(in_dir("cache"));
    leat__decoder *decoder = leat__decoder_new(NULL);
    leat__buf block = {0};
    write_file(kept_file(), "", 0);
    leat__file other;
    assert_int_equal(leat__file_grow(&other, kept_file(), false, NULL), 0);
    assert_true(leat__file_lock(&other));
    leat__jpeg_store *store = open_notes(1 << 20, FILES, true);
    start(store);
    use(store, decoder, &block, 1, 100, 110);
    assert_int_equal(leat__jpeg_store_flush(store, 50000000, NULL), 1);
    leat__jpeg_store_close(&store);
    leat__file_close(&other);
    assert_int_equal(n_loaded(1 << 20), 0);
    assert_int_equal(n_said, 0);
    leat__buf_free(&block);
    leat__decoder_free(&decoder);
}

/* Many processes at once: every file is there once. */
static void many_processes(void **state) {
    (void)state;
    enum { RANKS = 4 };
    remove_tree(in_dir("cache"));
    pid_t pid[RANKS];
    for (int rank = 0; rank < RANKS; rank++) {
        pid[rank] = fork();
        if (pid[rank]) continue;
        leat__decoder *decoder = leat__decoder_new(NULL);
        leat__buf block = {0};
        leat__jpeg_store *store = open_notes(1 << 20, FILES, true);
        if (leat__jpeg_store_start(store, NULL) != 0) _exit(1);
        for (int i = rank; i < FILES; i += RANKS) {
            use(store, decoder, &block, i, 10, 20);
            if (leat__jpeg_store_flush(store, UINT64_C(20000000000), NULL) != 0) _exit(2);
            use(store, decoder, &block, i, 150, 112);
        }
        if (leat__jpeg_store_flush(store, UINT64_C(20000000000), NULL) != 0) _exit(3);
        leat__jpeg_store_close(&store);
        _exit(n_said);
    }
    for (int rank = 0; rank < RANKS; rank++) {
        int status;
        waitpid(pid[rank], &status, 0);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    assert_int_equal(n_loaded(1 << 20), FILES);
    leat__buf kept = read_kept();
    /* A run over all that writes nothing. */
    struct stat before, after;
    assert_int_equal(stat(kept_file(), &before), 0);
    leat__decoder *decoder = leat__decoder_new(NULL);
    leat__buf block = {0};
    leat__jpeg_store *store = open_notes(1 << 20, FILES, true);
    start(store);
    for (int i = 0; i < FILES; i++) use(store, decoder, &block, i, 140, 110);
    flush(store);
    leat__jpeg_store_close(&store);
    assert_int_equal(stat(kept_file(), &after), 0);
    assert_true(ns_of(before.st_mtim) == ns_of(after.st_mtim) && before.st_ino == after.st_ino);
    leat__buf again = read_kept();
    assert_int_equal(again.size, kept.size);
    leat__buf_free(&again);
    leat__buf_free(&kept);
    leat__buf_free(&block);
    leat__decoder_free(&decoder);
}

/* A file that others may write to is not believed, and the writer puts one of its own in its place. */
static void not_trusted(void **state) {
    (void)state;
    leat__decoder *decoder = leat__decoder_new(NULL);
    leat__buf block = {0};
    assert_int_equal(n_loaded(1 << 20), FILES);
    n_said = 0;
    chmod(kept_file(), 0664);
    assert_int_equal(n_loaded(1 << 20), 0);
    assert_int_equal(n_said, 1);
    assert_non_null(strstr(said, "others may write to it"));
    trust = true;
    assert_int_equal(n_loaded(1 << 20), FILES);
    trust = false;
    leat__jpeg_store *store = open_notes(1 << 20, FILES, true);
    start(store);
    use(store, decoder, &block, 3, 100, 110);
    flush(store);
    leat__jpeg_store_close(&store);
    n_said = 0;
    assert_int_equal(n_loaded(1 << 20), 1);
    assert_int_equal(n_said, 0);
    leat__buf_free(&block);
    leat__decoder_free(&decoder);
}

/* A cache directory that is full, and one that cannot be written to: said once, and the run goes on. */
static void not_kept(void **state) {
    (void)state;
    leat__decoder *decoder = leat__decoder_new(NULL);
    leat__buf block = {0};
    leat_error err;
    remove_tree(in_dir("cache"));
    cache_bytes_max = 3000;
    leat__jpeg_store *store = open_notes(1 << 20, FILES, true);
    start(store);
    for (int i = 0; i < FILES; i++) use(store, decoder, &block, i, 100, 110);
    assert_int_equal(leat__jpeg_store_flush(store, UINT64_C(20000000000), &err), LEAT_ERR_LIMIT);
    for (int i = 0; i < FILES; i++) use(store, decoder, &block, i, 0, 0);
    use(store, decoder, &block, 0, 30, 112); /* a worker says it */
    leat__jpeg_store_close(&store);
    assert_int_equal(n_said, 1);
    assert_non_null(strstr(said, "LEAT_CACHE_BYTES"));
    cache_bytes_max = UINT64_C(1) << 30;
    assert_true(n_loaded(1 << 20) < FILES);
    struct stat st;
    assert_int_equal(stat(kept_file(), &st), 0);
    assert_true(st.st_size <= 3000);
    remove_tree(in_dir("cache"));
    write_file(in_dir("cache"), "a file", 6);
    store = open_notes(1 << 20, FILES, true);
    assert_true(leat__jpeg_store_start(store, &err) < 0);
    use(store, decoder, &block, 0, 30, 112);
    leat__jpeg_store_close(&store);
    assert_int_equal(n_said, 1); /* that is for the caller of start to say */
    leat__buf_free(&block);
    leat__decoder_free(&decoder);
}

typedef struct crowd {
    leat__jpeg_store *store;
    leat__decoder *decoder[4];
    leat__buf block[4];
} crowd;

static int use_one(void *user, uint64_t item, int worker, leat_error *err) {
    crowd *c = user;
    const int i = (int)(item * 7 % 5), x = (int)(item * 37 % (WIDTH - 8)),
              y = (int)(item * 53 % (HEIGHT - 8));
    if (use(c->store, c->decoder[worker], &c->block[worker], i, x, y) != SIZE_MAX) return 0;
    return leat__fail(err, LEAT_ERR_DECODE, "pixels of file %d at %d, %d differ", i, x, y);
}

static void by_several_threads(void **state) {
    (void)state;
    remove_tree(in_dir("cache"));
    unlink(in_dir("cache"));
    crowd c = {.store = open_notes(1 << 20, FILES, true)};
    leat_error err;
    start(c.store);
    for (int i = 0; i < 4; i++) c.decoder[i] = leat__decoder_new(NULL);
    if (leat__parallel(4, 2000, use_one, &c, &err) < 0) fail_msg("%s", err.message);
    assert_int_equal(leat__jpeg_store_facts_of(c.store).n_files, 5);
    leat__jpeg_store_close(&c.store);
    assert_int_equal(n_loaded(1 << 20), 5);
    for (int i = 0; i < 4; i++) {
        leat__decoder_free(&c.decoder[i]);
        leat__buf_free(&c.block[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kept_and_extended),  cmocka_unit_test(little_memory),
        cmocka_unit_test(from_run_to_run),    cmocka_unit_test(damaged),
        cmocka_unit_test(nothing_allocated),  cmocka_unit_test(several_writers),
        cmocka_unit_test(a_lock_that_stays),  cmocka_unit_test(many_processes),
        cmocka_unit_test(not_trusted),        cmocka_unit_test(not_kept),
        cmocka_unit_test(by_several_threads),
    };
    return cmocka_run_group_tests(tests, begin_all, end_all);
}
