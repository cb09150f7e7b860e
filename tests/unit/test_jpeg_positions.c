/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: no-tsan timeout=120 */
/* Parts of JPEGs with notes and without: the same pixels and the same errors, whatever the notes say. */
#include "test_jpeg_twice.h"
#include "unit/testing_stride.h"

#include "base/hash.h"

static const int samplings[][2] = {{1, 1}, {2, 1}, {1, 2}, {2, 2}, {0, 0} /* gray */};

static blob make_file(size_t i, jpeg_how how) {
    how.in = samplings[i][0] ? JCS_RGB : JCS_GRAYSCALE;
    how.h_samp = samplings[i][0];
    how.v_samp = samplings[i][1];
    return make_jpeg(how);
}

static leat__decode_positions notes_on(const blob *file, leat__buf *block) {
    return (leat__decode_positions){
        .key = leat__jpeg_store_key(file->data, file->n), .block = block, .bytes_max = SIZE_MAX};
}

/* Decodes the part with and without the block, which grows by what is noted. Positions know nothing of the inverse
 * transform: those of one serve the other. */
static leat__decode_positions compare(const blob *file, leat__box box, leat__buf *block) {
    leat__decode_options o = {.channels = 3, .fast = FAST_IS_ALIKE && box.x % 2};
    shot plain = decode_part(file, o, &box, 7);
    leat__decode_positions positions = notes_on(file, block);
    o.positions = &positions;
    shot noted = decode_part(file, o, &box, 7);
    if (plain.rc != noted.rc || (plain.rc && strcmp(plain.err.message, noted.err.message) != 0))
        fail_msg("%d (%s) with notes, %d (%s) without", noted.rc, noted.rc ? noted.err.message : "good",
                 plain.rc, plain.rc ? plain.err.message : "good");
    if (plain.rc == 0 && memcmp(plain.pixels.data, noted.pixels.data, plain.pixels.n) != 0)
        fail_msg("%d x %d at %d, %d differs with notes", box.width, box.height, box.x, box.y);
    free(plain.pixels.data);
    free(noted.pixels.data);
    return positions;
}

/* All that can be noted: the way to the last pixel leads past everything. */
static void note_all(const blob *file, int w, int h, leat__buf *block) {
    const leat__decode_positions positions = compare(file, (leat__box){w - 1, h - 1, 1, 1}, block);
    assert_true(positions.changed);
    assert_false(positions.refused);
    assert_int_equal(block->size, positions.bytes_all);
}

static void every_part_of_a_small_picture(void **state) {
    (void)state;
    enum { W = 147, H = 37 };
    for (size_t i = 0; i < LEAT_COUNT(samplings); i++) {
        blob file = make_file(i, (jpeg_how){.w = W, .h = H, .wild = true, .quality = 60 + 10 * (int)i});
        leat__buf all = {0}, some = {0};
        note_all(&file, W, H, &all);
        for (int y = 0; y < H; y += 3)
            for (int x = 0; x < W; x += 5) {
                const leat__box box = {x, y, 1 + (W - x - 1) * (x % 4) / 3, 1 + (H - y - 1) * (y % 4) / 3};
                assert_false(compare(&file, box, &all).changed);
                if (x % 25 == 0) some.size = 0; /* begins anew: what others note is what this one uses */
                assert_false(compare(&file, box, &some).refused);
            }
        leat__buf_free(&all);
        leat__buf_free(&some);
        free(file.data);
    }
}

/* Much more than a window of entropy-coded bytes: near spots and far ones, every channel count. */
static void parts_of_large_pictures(void **state) {
    (void)state;
    for (size_t i = 0; i < LEAT_COUNT(samplings); i++)
        for (int kind = 0; kind < 3; kind++) {
            const int w = 903 - 100 * kind, h = 711 + 30 * kind;
            blob file = make_file(
                i, (jpeg_how){
                       .w = w, .h = h, .quality = 40 + 25 * kind, .optimised = kind == 1, .wild = kind == 2});
            leat__buf block = {0};
            leat__rng rng = leat__rng_at(i, (uint64_t)kind, 5, 0);
            size_t known = 0;
            for (int n = 0; n < 12; n++) {
                const leat__decode_positions positions = compare(&file, random_box(&rng, w, h), &block);
                assert_false(positions.refused);
                assert_int_equal(positions.changed, block.size > known);
                known = block.size;
                for (int channels = 1; channels <= 4; channels += 3) {
                    const leat__box box = random_box(&rng, w, h);
                    leat__decode_positions asked = notes_on(&file, &block);
                    leat__decode_options o = {
                        .channels = channels, .fast = FAST_IS_ALIKE && n % 2, .positions = &asked};
                    shot own = decode_part(&file, o, &box, 9);
                    o.reference = true;
                    o.positions = NULL;
                    shot other = decode_part(&file, o, &box, 9);
                    assert_int_equal(own.rc, 0);
                    assert_memory_equal(own.pixels.data, other.pixels.data, own.pixels.n);
                    free(own.pixels.data);
                    free(other.pixels.data);
                    known = block.size;
                }
            }
            leat__buf_free(&block);
            free(file.data);
        }
}

static void files_without_notes(void **state) {
    (void)state;
    static const jpeg_how how[] = {{.w = 90, .h = 90, .restart = 3}, {.w = 90, .h = 90, .progressive = true}};
    for (size_t i = 0; i < LEAT_COUNT(how); i++) {
        blob file = make_file(3, how[i]);
        leat__buf block = {0};
        const leat__decode_positions positions = compare(&file, (leat__box){50, 60, 20, 20}, &block);
        assert_false(positions.changed);
        assert_int_equal(positions.bytes_all, 0);
        assert_int_equal(block.size, 0);
        leat__buf_free(&block);
        free(file.data);
    }
}

/* As in a motion photo. */
static void bytes_behind_the_end(void **state) {
    (void)state;
    enum { W = 200, H = 90 };
    blob file = make_file(3, (jpeg_how){.w = W, .h = H, .wild = true});
    for (unsigned i = 0; i < 5000; i++) put8(&file, i * i >> 4);
    leat__buf block = {0};
    note_all(&file, W, H, &block);
    assert_false(compare(&file, (leat__box){70, 40, 60, 30}, &block).changed);
    leat__buf_free(&block);
    free(file.data);
}

static void few_bytes_for_notes(void **state) {
    (void)state;
    blob file = make_file(0, (jpeg_how){.w = 300, .h = 80});
    leat__buf block = {0};
    leat__decode_positions positions = notes_on(&file, &block);
    positions.bytes_max = 0;
    const leat__decode_options o = {.channels = 3, .positions = &positions};
    shot first = decode_part(&file, o, &(leat__box){290, 70, 9, 9}, 3);
    assert_int_equal(first.rc, 0);
    assert_true(positions.changed);
    assert_int_equal(block.size, 24 + 10 * 10); /* one a row of MCUs */
    free(first.pixels.data);
    assert_false(compare(&file, (leat__box){100, 43, 150, 30}, &block).changed);
    leat__buf_free(&block);
    free(file.data);
}

/* Whatever happened to a block, it is noticed, and the pixels are right. */
static void damaged_notes(void **state) {
    (void)state;
    enum { W = 200, H = 90 };
    blob file = make_file(3, (jpeg_how){.w = W, .h = H, .wild = true});
    blob twin = make_file(3, (jpeg_how){.w = W, .h = H, .wild = true, .quality = 91});
    leat__buf good = {0}, block = {0}, other = {0};
    note_all(&file, W, H, &good);
    note_all(&twin, W, H, &other);
    assert_int_equal(good.size, other.size);
    const leat__box box = {70, 40, 60, 30};
    for (size_t bit = 0; bit < 8 * good.size; bit += 7) {
        block.size = 0;
        leat__buf_append(&block, good.data, good.size);
        block.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        const leat__decode_positions positions = compare(&file, box, &block);
        assert_true(positions.refused);
        assert_true(positions.changed);
    }
    for (size_t n = 1; n < good.size; n += 3) {
        block.size = 0;
        leat__buf_append(&block, good.data, n);
        assert_true(compare(&file, box, &block).refused);
    }
    block.size = 0;
    leat__buf_append(&block, other.data, other.size);
    assert_true(compare(&file, box, &block).refused);
    block.size = 0; /* the file was written over, with as many bytes */
    leat__buf_append(&block, good.data, good.size);
    file.data[file.n / 2] ^= 4;
    assert_true(compare(&file, box, &block).refused);
    leat__buf_free(&good);
    leat__buf_free(&block);
    leat__buf_free(&other);
    free(file.data);
    free(twin.data);
}

/* Somebody made notes up and sealed them. Pixels are then anybody's guess, but memory is safe. */
static void notes_that_were_made_up(void **state) {
    (void)state;
    enum { W = 330, H = 250 };
    for (size_t i = 0; i < LEAT_COUNT(samplings); i++) {
        blob file = make_file(i, (jpeg_how){.w = W, .h = H, .wild = i % 2, .quality = 95});
        leat__buf good = {0}, block = {0};
        note_all(&file, W, H, &good);
        leat__rng rng = leat__rng_at(i, 1, 2, 3);
        for (int n = 0; n < 200 / STRIDE; n++) {
            block.size = 0;
            leat__buf_append(&block, good.data, good.size);
            for (int k = 0; k < 1 + n % 60; k++) {
                const size_t at = 24 + (size_t)leat__rng_below(&rng, good.size - 24);
                block.data[at] = (uint8_t)leat__rng_below(&rng, 256);
            }
            leat__decode_positions positions = notes_on(&file, &block);
            const uint64_t seal = leat__hash(block.data + 8, block.size - 8, positions.key);
            memcpy(block.data, &seal, 8);
            const leat__box box = random_box(&rng, W, H);
            shot s =
                decode_part(&file, (leat__decode_options){.channels = 3, .positions = &positions}, &box, 16);
            assert_false(positions.refused);
            free(s.pixels.data);
        }
        leat__buf_free(&good);
        leat__buf_free(&block);
        free(file.data);
    }
}

/* Damaged files: notes neither hide what is wrong nor bring it about. */
/* Damage in the rows of a part counts in whatever column it lies: a narrow part is refused where one of the same rows and all
 * columns is. The marker comes to every place of the scan. */
static void columns_do_not_matter(void **state) {
    (void)state;
    enum { W = 150, H = 90 };
    for (size_t i = 0; i < LEAT_COUNT(samplings); i++) {
        blob file = make_file(i, (jpeg_how){.w = W, .h = H, .quality = 50});
        const size_t scan = find_marker(&file, 0xda, 0), begin = scan + segment_bytes(&file, scan);
        int n_good = 0, n_bad = 0;
        for (size_t at = begin; at + 4 < file.n; at += 13) {
            blob odd = copy_of(&file);
            memcpy(odd.data + at, "\xff\xfe", 2);
            for (int y = 30; y <= 70; y += 40) { /* the last rows, too */
                shot wide =
                    decode_part(&odd, (leat__decode_options){.channels = 3}, &(leat__box){0, y, W, 20}, 16);
                leat__buf block = {0};
                for (int x = 0; x <= 140; x += 70) {
                    shot narrow = decode_part(&odd, (leat__decode_options){.channels = 3},
                                              &(leat__box){x, y, 10, 20}, 16);
                    if (narrow.rc != wide.rc)
                        fail_msg("sampling %zu, marker at %zu of %zu, row %d, column %d: %d, not %d", i, at,
                                 file.n, y, x, narrow.rc, wide.rc);
                    free(narrow.pixels.data);
                    compare(&odd, (leat__box){x, y, 10, 20}, &block);
                }
                n_good += wide.rc == 0;
                n_bad += wide.rc != 0;
                leat__buf_free(&block);
                free(wide.pixels.data);
            }
            free(odd.data);
        }
        assert_true(n_good > 20 && n_bad > 20);
        free(file.data);
    }
}

static void damaged_files(void **state) {
    (void)state;
    enum { W = 180, H = 120 };
    for (size_t i = 0; i < LEAT_COUNT(samplings); i++) {
        blob file = make_file(i, (jpeg_how){.w = W, .h = H, .wild = true});
        leat__rng rng = leat__rng_at(i, 9, 9, 9);
        for (int n = 0; n < 60 / STRIDE; n++) {
            blob odd = copy_of(&file);
            if (n % 3 == 0) odd.n -= 1 + (size_t)leat__rng_below(&rng, odd.n / 2);
            else odd.data[700 + leat__rng_below(&rng, odd.n - 700)] ^= (uint8_t)(1 << n % 8);
            leat__buf block = {0};
            for (int k = 0; k < 5; k++) compare(&odd, random_box(&rng, W, H), &block);
            leat__buf_free(&block);
            free(odd.data);
        }
        free(file.data);
    }
}

static int end_all(void **state) {
    (void)state;
    twice_end();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_part_of_a_small_picture),
        cmocka_unit_test(parts_of_large_pictures),
        cmocka_unit_test(files_without_notes),
        cmocka_unit_test(bytes_behind_the_end),
        cmocka_unit_test(few_bytes_for_notes),
        cmocka_unit_test(damaged_notes),
        cmocka_unit_test(notes_that_were_made_up),
        cmocka_unit_test(columns_do_not_matter),
        cmocka_unit_test(damaged_files),
    };
    return cmocka_run_group_tests(tests, NULL, end_all);
}
