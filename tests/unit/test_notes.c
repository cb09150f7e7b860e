/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: timeout=60 */
/* The table of checkpoints: what is kept, for how many files, by several threads at once, and from run to run. */
#include "unit/testing.h"

#include "base/thread.h"
#include "cache/notes.h"

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

static leat__notes *open_notes(size_t bytes_max, uint64_t n_files, bool side) {
    const leat__open_options open = {
        .n_threads = 1, .cache_dir = side ? in_dir("cache") : NULL, .no_side_files = !side};
    const leat__notes_options options = {
        .bytes_max = bytes_max, .n_files = n_files, .home = in_dir("photos"), .open = &open};
    leat__notes *notes = NULL;
    leat_error err;
    if (leat__notes_open(&notes, &options, &err) != 0) fail_msg("%s", err.message);
    return notes;
}

/* Decodes a part of file i with what is known; returns the bytes that were known. */
static size_t use(leat__notes *notes, leat__decoder *decoder, leat__buf *block, int i, int x, int y) {
    leat__decode_notes noted;
    uint8_t pixels[3 * 8 * 8], plain[3 * 8 * 8];
    leat__picture_info info;
    const leat__box box = {x, y, 8, 8};
    const bool taken = leat__notes_take(notes, file[i].data, file[i].size, block, &noted);
    const size_t known = taken ? block->size : 0;
    for (int round = 0; round < 2; round++) {
        const leat__decode_options options = {.channels = 3, .notes = round == 0 && taken ? &noted : NULL};
        if (leat__decode_begin(decoder, file[i].data, file[i].size, &options, &info, NULL) != 0 ||
            leat__decode_region(decoder, &box, NULL) != 0 ||
            leat__decode_rows(decoder, round ? plain : pixels, 24, 8, NULL) != 0 ||
            leat__decode_end(decoder, NULL) != 0)
            return SIZE_MAX;
    }
    if (memcmp(pixels, plain, sizeof pixels) != 0) return SIZE_MAX;
    if (taken) leat__notes_put(notes, &noted);
    return known;
}

static void kept_and_extended(void **state) {
    (void)state;
    leat__notes *notes = open_notes(1 << 20, FILES, false);
    leat__decoder *decoder = leat__decoder_new(NULL);
    leat__buf block = {0};
    assert_int_equal(use(notes, decoder, &block, 3, 100, 20), 0);
    const size_t some = use(notes, decoder, &block, 3, 140, 110);
    assert_true(some > 0);
    const size_t more = use(notes, decoder, &block, 3, 10, 10);
    assert_true(more > some);
    assert_int_equal(use(notes, decoder, &block, 3, 140, 110), more);
    assert_int_equal(use(notes, decoder, &block, 4, 0, 0), 0); /* another file knows nothing of it */
    assert_int_equal(leat__notes_facts_of(notes).n_files, 2);
    leat__decode_notes unused;
    assert_false(leat__notes_take(notes, (const uint8_t *)"\x89PNG\r\n\x1a\n", 8, &block, &unused));
    leat__buf_free(&block);
    leat__decoder_free(&decoder);
    leat__notes_close(&notes);
    assert_null(notes);
    leat__notes_close(&notes);
}

/* When memory is used up, further files are decoded without. */
static void little_memory(void **state) {
    (void)state;
    leat__notes *notes = open_notes(2000, UINT64_MAX, false);
    leat__decoder *decoder = leat__decoder_new(NULL);
    leat__buf block = {0};
    int n = 0;
    for (int i = 0; i < FILES; i++) use(notes, decoder, &block, i, 150, 110);
    for (int i = 0; i < FILES; i++) n += use(notes, decoder, &block, i, 10, 110) > 0;
    assert_true(n > 0 && n < FILES);
    assert_int_equal(leat__notes_facts_of(notes).n_files, n);
    leat__notes_close(&notes);
    notes = open_notes(1 << 20, 1 << 20, false); /* many files: less is noted of each */
    assert_true(leat__notes_facts_of(notes).rows_only);
    use(notes, decoder, &block, 0, 150, 110);
    assert_int_equal(use(notes, decoder, &block, 0, 150, 110), 24 + 10 * ((HEIGHT + 15) / 16));
    leat__notes_close(&notes);
    leat__buf_free(&block);
    leat__decoder_free(&decoder);
}

static void from_run_to_run(void **state) {
    (void)state;
    leat__decoder *decoder = leat__decoder_new(NULL);
    leat__buf block = {0};
    size_t known[FILES];
    leat_error err;
    for (int run = 0; run < 4; run++) { /* each brings five more */
        leat__notes *notes = open_notes(1 << 20, FILES, true);
        assert_int_equal(leat__notes_facts_of(notes).n_loaded, 5 * run);
        for (int i = 0; i < 5 * run; i++) assert_int_equal(use(notes, decoder, &block, i, 30, 100), known[i]);
        assert_int_equal(leat__notes_store(notes, &err), 0); /* nothing new: nothing happens */
        for (int i = 5 * run; i < 5 * run + 5; i++) {
            use(notes, decoder, &block, i, 100, 20 + 4 * i);
            use(notes, decoder, &block, i, 100, 110); /* more of it */
            known[i] = use(notes, decoder, &block, i, 0, 0);
        }
        assert_int_equal(leat__notes_store(notes, &err), 0);
        leat__notes_close(&notes);
    }
    leat__notes *notes = open_notes(600, FILES, true); /* too little memory to load them */
    assert_int_equal(leat__notes_facts_of(notes).n_loaded, 0);
    leat__notes_close(&notes);
    leat__buf_free(&block);
    leat__decoder_free(&decoder);
}

typedef struct crowd {
    leat__notes *notes;
    leat__decoder *decoder[4];
    leat__buf block[4];
} crowd;

static int use_one(void *user, uint64_t item, int worker, leat_error *err) {
    crowd *c = user;
    const int i = (int)(item * 7 % 5), x = (int)(item * 37 % (WIDTH - 8)),
              y = (int)(item * 53 % (HEIGHT - 8));
    if (use(c->notes, c->decoder[worker], &c->block[worker], i, x, y) != SIZE_MAX) return 0;
    return leat__fail(err, LEAT_ERR_DECODE, "pixels of file %d at %d, %d differ", i, x, y);
}

static void by_several_threads(void **state) {
    (void)state;
    crowd c = {.notes = open_notes(1 << 20, FILES, false)};
    leat_error err;
    for (int i = 0; i < 4; i++) c.decoder[i] = leat__decoder_new(NULL);
    if (leat__parallel(4, 2000, use_one, &c, &err) < 0) fail_msg("%s", err.message);
    assert_int_equal(leat__notes_facts_of(c.notes).n_files, 5);
    leat__notes_close(&c.notes);
    for (int i = 0; i < 4; i++) {
        leat__decoder_free(&c.decoder[i]);
        leat__buf_free(&c.block[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kept_and_extended),
        cmocka_unit_test(little_memory),
        cmocka_unit_test(from_run_to_run),
        cmocka_unit_test(by_several_threads),
    };
    return cmocka_run_group_tests(tests, begin_all, end_all);
}
