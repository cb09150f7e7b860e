/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: no-tsan timeout=120 */
/* Our own PNG decoder and libpng, side by side: the same rows, the same errors, whatever the file. Everything goes through the
 * door of decode.h twice, once with options.reference. */
#include "test_jpeg_twice.h"
#include "test_png_inputs.h"

#include "decode/png/png_own.h"

static const struct {
    int colour, bits;
} kinds[] = {
    {PNG_COLOR_TYPE_GRAY, 1},        {PNG_COLOR_TYPE_GRAY, 2},       {PNG_COLOR_TYPE_GRAY, 4},
    {PNG_COLOR_TYPE_GRAY, 8},        {PNG_COLOR_TYPE_GRAY, 16},      {PNG_COLOR_TYPE_GRAY_ALPHA, 8},
    {PNG_COLOR_TYPE_GRAY_ALPHA, 16}, {PNG_COLOR_TYPE_RGB, 8},        {PNG_COLOR_TYPE_RGB, 16},
    {PNG_COLOR_TYPE_RGB_ALPHA, 8},   {PNG_COLOR_TYPE_RGB_ALPHA, 16}, {PNG_COLOR_TYPE_PALETTE, 1},
    {PNG_COLOR_TYPE_PALETTE, 2},     {PNG_COLOR_TYPE_PALETTE, 4},    {PNG_COLOR_TYPE_PALETTE, 8},
};
static const int filters[] = {
    0, PNG_FILTER_NONE, PNG_FILTER_SUB, PNG_FILTER_UP, PNG_FILTER_AVG, PNG_FILTER_PAETH, PNG_ALL_FILTERS};

/* By our own decoder alone, every row: nothing may be left to libpng. */
static void check_own(const blob *file, leat__decode_options o) {
    leat__png_own *own = leat__png_own_new();
    leat__arena arena = {.kind = LEAT_MEM_WORKER};
    leat__picture_info info;
    leat__png_chunks chunks;
    assert_non_null(own);
    assert_int_equal(leat__decode_info(twice_decoder(), file->data, file->n, &o, &info, NULL), 0);
    leat__decode_job job = {.bytes = file->data,
                            .n = file->n,
                            .options = o,
                            .info = info,
                            .arena = &arena,
                            .deep = o.deep && info.bits == 16};
    leat__png_chunks_walk(&chunks, file->data, file->n);
    assert_null(chunks.detour);
    assert_true(leat__png_chunks_check(&chunks, file->data) == 0 &&
                leat__png_chunks_check_head(&chunks, file->data));
    assert_true(leat__png_own_begin(own, &job, &chunks));
    for (int y = 0; y < info.height; y++)
        if (!leat__png_own_row(own)) fail_msg("row %d of %d x %d", y, info.width, info.height);
    leat__arena_free(&arena);
    leat__png_own_free(own);
}

static void check_options(const blob *file, leat__decode_options o) {
    leat__rng rng = leat__rng_at(file->n, 0, 0, 0);
    leat__picture_info info;
    check_own(file, o);
    assert_int_equal(leat__decode_info(twice_decoder(), file->data, file->n, &o, &info, NULL), 0);
    assert_true(decode_twice(file, o, NULL));
    for (int i = 0; i < 3; i++) {
        const leat__box box = random_box(&rng, info.width, info.height);
        assert_true(decode_twice(file, o, &box));
    }
}

static void check_file(png_how how) {
    blob file = make_png(how);
    for (int channels = 0; channels <= 4; channels++)
        for (int deep = 0; deep < 2; deep++)
            if (channels != 2)
                check_options(&file, (leat__decode_options){.channels = channels, .deep = deep});
    if (how.colour == PNG_COLOR_TYPE_PALETTE) {
        check_options(&file, (leat__decode_options){.indices = true});
        check_options(&file, (leat__decode_options){.indices = true, .channels = 3});
    }
    free(file.data);
}

static void every_kind_and_filter(void **state) {
    (void)state;
    static const int sizes[][2] = {{1, 1}, {1, 9}, {2, 3}, {5, 2}, {17, 11}, {67, 23}};
    int n = 0;
    for (size_t k = 0; k < LEAT_COUNT(kinds); k++)
        for (size_t f = 0; f < LEAT_COUNT(filters); f++)
            for (size_t i = 0; i < LEAT_COUNT(sizes); i++, n++) {
                png_how how = {.w = sizes[i][0],
                               .h = sizes[i][1],
                               .colour = kinds[k].colour,
                               .bits = kinds[k].bits,
                               .filters = filters[f],
                               .smooth = n % 2};
                check_file(how);
                if (how.colour == PNG_COLOR_TYPE_PALETTE) how.n_alpha = 2;
                else if (how.colour != PNG_COLOR_TYPE_GRAY && how.colour != PNG_COLOR_TYPE_RGB) continue;
                else how.key = true;
                check_file(how);
            }
}

/* Several windows of rows, in pieces of any size, compressed in every way. */
static void large_pictures(void **state) {
    (void)state;
    static const int strategies[] = {Z_DEFAULT_STRATEGY, Z_FILTERED, Z_HUFFMAN_ONLY, Z_RLE, Z_FIXED};
    static const int levels[] = {0, 1, 2, 10}, pieces[] = {0, 7, 300, 1 << 20};
    int n = 0;
    for (size_t s = 0; s < LEAT_COUNT(strategies); s++)
        for (size_t l = 0; l < LEAT_COUNT(levels); l++, n++) {
            const png_how how = {.w = 300 + n,
                                 .h = 200 + 13 * n,
                                 .colour = kinds[3 + n % 12].colour,
                                 .bits = kinds[3 + n % 12].bits,
                                 .filters = filters[n % 7],
                                 .smooth = n % 3,
                                 .level = levels[l],
                                 .strategy = strategies[s],
                                 .piece = pieces[n % 4]};
            blob file = make_png(how);
            check_options(&file, (leat__decode_options){.deep = n % 2});
            free(file.data);
        }
}

/* ------------------------------------------------------------------------------------ irregular files */

enum { W = 40, H = 30 };

static blob usual(int colour) {
    return make_png((png_how){.w = W,
                              .h = H,
                              .colour = colour,
                              .bits = 8,
                              .filters = PNG_ALL_FILTERS,
                              .key = colour == PNG_COLOR_TYPE_RGB,
                              .n_alpha = colour == PNG_COLOR_TYPE_PALETTE ? 3 : 0,
                              .piece = 200});
}

static void put_at(blob *file, size_t at, const char *type, const void *bytes, size_t n) {
    blob chunk = {0};
    put_chunk(&chunk, type, bytes, n);
    insert(file, at, chunk.data, chunk.n);
    free(chunk.data);
}

static void drop_chunk(blob *file, size_t at) {
    drop(file, at, 12 + chunk_bytes(file, at));
}

/* The bytes of all IDATs in place of those of the file, in pieces. */
static void put_pixels(blob *file, const void *stream, size_t n, size_t piece) {
    const size_t at = find_chunk(file, "IDAT", 0);
    while (memcmp(file->data + at + 4, "IDAT", 4) == 0) drop_chunk(file, at);
    for (size_t i = 0; i < n; i += piece) {
        const size_t from = n - i > piece ? n - i - piece : 0; /* from the last one on */
        put_at(file, at, "IDAT", (const uint8_t *)stream + from, n - i - from);
    }
}

/* Rows of a gray picture of W x H with one filter, and more or fewer bytes than it has. */
static blob gray_of(int filter, int bytes, size_t extra, uint32_t adler_xor) {
    static uint8_t rows[2 * H * (W + 1)];
    blob file = usual(PNG_COLOR_TYPE_GRAY), stream = {0};
    for (int i = 0; i < bytes; i++) rows[i] = (uint8_t)(i % (W + 1) ? i * 7 : filter);
    uLongf n = compressBound((uLong)bytes);
    uint8_t *packed = malloc(n + extra);
    assert_non_null(packed);
    assert_int_equal(compress2(packed, &n, rows, (uLong)bytes, 6), Z_OK);
    packed[n - 1] ^= (uint8_t)adler_xor;
    memset(packed + n, 0x5a, extra);
    put(&stream, packed, n + extra);
    put_pixels(&file, stream.data, stream.n, 77);
    free(packed), free(stream.data);
    return file;
}

typedef struct odd {
    const char *what;
    const char *detour; /* NULL: our own decoder begins it */
    bool good;
} odd;

/* Both ways the same word, on the whole and on parts; and what the word is. Takes the file. */
static void expect(blob file, odd want) {
    static const leat__box boxes[] = {{0, 0, W, 1}, {3, 5, 20, 9}, {0, H - 2, W, 2}};
    leat__picture_info info;
    for (int channels = 0; channels <= 4; channels += 4) {
        const leat__decode_options o = {.channels = channels};
        assert_int_equal(leat__decode_info(twice_decoder(), file.data, file.n, &o, &info, NULL), 0);
        if (want.detour ? !info.detour || strcmp(info.detour, want.detour) != 0 : info.detour != NULL)
            fail_msg("%s: %s", want.what, info.detour ? info.detour : "no detour");
        if (decode_twice(&file, o, NULL) != want.good)
            fail_msg("%s: %s", want.what, want.good ? "bad" : "good");
        for (size_t i = 0; i < LEAT_COUNT(boxes); i++) decode_twice(&file, o, &boxes[i]);
    }
    free(file.data);
}

static void odd_chunks(void **state) {
    (void)state;
    blob f = usual(PNG_COLOR_TYPE_RGB);
    expect(copy_of(&f), (odd){"as it is", NULL, true});
    put_at(&f, 33, "teXt", "hello", 5);
    f.data[33 + 12] ^= 1;
    expect(f, (odd){"an ancillary chunk with a wrong sum", NULL, true});
    f = usual(PNG_COLOR_TYPE_RGB);
    uint8_t *large = calloc(1, 9000000);
    assert_non_null(large);
    put_at(&f, 33, "zzZz", large, 9000000);
    free(large);
    expect(f, (odd){"a large ancillary chunk", NULL, true});
    f = usual(PNG_COLOR_TYPE_RGB);
    f.data[find_chunk(&f, "tRNS", 0) + 8 + 6] ^= 1;
    expect(f, (odd){"tRNS with a wrong sum", NULL, true});
    f = usual(PNG_COLOR_TYPE_RGB);
    put_at(&f, find_chunk(&f, "tRNS", 0), "tRNS", "\0\1\0\2\0\3", 6);
    expect(f, (odd){"tRNS twice", "chunks out of order", true});
    f = usual(PNG_COLOR_TYPE_RGB);
    put_at(&f, find_chunk(&f, "IEND", 0), "tRNS", "\0\1\0\2\0\3", 6);
    expect(f, (odd){"tRNS behind the pixels too", NULL, true});
    f = usual(PNG_COLOR_TYPE_RGB);
    drop_chunk(&f, find_chunk(&f, "tRNS", 0));
    put_at(&f, 33, "tRNS", "\0\1\1\2\0\3", 6);
    expect(f, (odd){"tRNS of a colour that cannot be", "odd transparency", true});
    f = usual(PNG_COLOR_TYPE_RGB);
    drop_chunk(&f, find_chunk(&f, "tRNS", 0));
    put_at(&f, 33, "tRNS", "\0\1\0\2", 4);
    expect(f, (odd){"tRNS that is too short", "odd transparency", true});
    f = usual(PNG_COLOR_TYPE_RGB_ALPHA);
    put_at(&f, 33, "tRNS", "\0\1\0\2\0\3", 6);
    expect(f, (odd){"tRNS beside alpha", "odd transparency", true});
    f = usual(PNG_COLOR_TYPE_RGB_ALPHA);
    put_at(&f, 33, "tRNS", "", 0);
    expect(f, (odd){"empty tRNS beside alpha", "odd transparency", true});
    f = usual(PNG_COLOR_TYPE_GRAY_ALPHA);
    put_at(&f, 33, "tRNS", "", 0);
    expect(f, (odd){"empty tRNS beside gray and alpha", "odd transparency", true});
    f = usual(PNG_COLOR_TYPE_RGB);
    put_at(&f, 33, "PLTE", "\0\1\0\2\0\3", 6);
    expect(f, (odd){"a palette that RGB does not need", NULL, true});
    f = usual(PNG_COLOR_TYPE_RGB);
    put_at(&f, find_chunk(&f, "IDAT", 0), "PLTE", "\0\1\0\2\0\3", 6);
    expect(f, (odd){"the same behind tRNS", "chunks out of order", true});
    f = usual(PNG_COLOR_TYPE_GRAY);
    put_at(&f, 33, "PLTE", "\0\1\0\2\0\3", 6);
    expect(f, (odd){"a palette of gray", "odd palette", true});
    f = usual(PNG_COLOR_TYPE_RGB);
    put_at(&f, 33, "ABCd", "x", 1);
    expect(f, (odd){"an unknown critical chunk", "unknown critical chunk", false});
    f = usual(PNG_COLOR_TYPE_RGB);
    put_at(&f, find_chunk(&f, "IEND", 0), "ABCd", "x", 1);
    expect(f, (odd){"the same behind the pixels", "unknown critical chunk", true});
    f = usual(PNG_COLOR_TYPE_RGB);
    put_at(&f, find_chunk(&f, "IEND", 0), "a\1cd", "x", 1);
    expect(f, (odd){"a chunk without a name", "no end", false});
    f = usual(PNG_COLOR_TYPE_RGB);
    f.data[8 + 8 + 13] ^= 1;
    expect(f, (odd){"IHDR with a wrong sum", NULL, false});
    f = usual(PNG_COLOR_TYPE_RGB);
    put_at(&f, 33, "IHDR", f.data + 16, 13);
    expect(f, (odd){"IHDR twice", "unknown critical chunk", false});
    f = usual(PNG_COLOR_TYPE_RGB);
    f.data[8 + 8 + 11] = 1; /* a filter method that is none */
    repair_sums(f.data, f.n);
    expect(f, (odd){"an odd header", "odd header", false});
    f = usual(PNG_COLOR_TYPE_PALETTE);
    f.data[8 + 8 + 8] = 200; /* bits */
    repair_sums(f.data, f.n);
    expect(f, (odd){"bits that cannot be", "odd header", false});
}

static void odd_palettes(void **state) {
    (void)state;
    blob f = usual(PNG_COLOR_TYPE_PALETTE);
    expect(copy_of(&f), (odd){"as it is", NULL, true});
    put_at(&f, 33, "PLTE", "\0\1\0\2\0\3", 6);
    expect(f, (odd){"a palette twice", "chunks out of order", false});
    f = usual(PNG_COLOR_TYPE_PALETTE);
    drop_chunk(&f, find_chunk(&f, "PLTE", 0));
    expect(f, (odd){"no palette", "chunks out of order", false});
    f = usual(PNG_COLOR_TYPE_PALETTE);
    f.data[find_chunk(&f, "PLTE", 0) + 8] ^= 1;
    expect(f, (odd){"a palette with a wrong sum", NULL, false});
    static const uint8_t colours[800];
    static const size_t sizes[] = {0, 4, 771};
    for (size_t i = 0; i < LEAT_COUNT(sizes); i++) {
        f = usual(PNG_COLOR_TYPE_PALETTE);
        drop_chunk(&f, find_chunk(&f, "PLTE", 0));
        put_at(&f, 33, "PLTE", colours, sizes[i]);
        expect(f, (odd){"a palette of an odd size", "odd palette", false});
    }
    f = usual(PNG_COLOR_TYPE_PALETTE);
    drop_chunk(&f, find_chunk(&f, "PLTE", 0));
    put_at(&f, 33, "PLTE", "\1\2\3\4\5\6", 6);
    expect(f, (odd){"more alpha than colours", "odd transparency", true});
    f = usual(PNG_COLOR_TYPE_PALETTE);
    drop_chunk(&f, find_chunk(&f, "tRNS", 0));
    put_at(&f, 33, "tRNS", "\0\1", 2);
    expect(f, (odd){"alpha before colours", "chunks out of order", true});
}

static void odd_pixels(void **state) {
    (void)state;
    blob f = usual(PNG_COLOR_TYPE_RGB);
    put_at(&f, find_chunk(&f, "IDAT", 1), "teXt", "x", 1);
    expect(f, (odd){"pixels in two places", "chunks out of order", false});
    f = usual(PNG_COLOR_TYPE_RGB);
    for (int i = 0; i < 3; i++) put_at(&f, find_chunk(&f, "IDAT", i), "IDAT", "", 0);
    put_at(&f, find_chunk(&f, "IEND", 0), "IDAT", "", 0);
    expect(f, (odd){"empty pieces", NULL, true});
    f = usual(PNG_COLOR_TYPE_RGB);
    put_at(&f, find_chunk(&f, "IEND", 0), "IDAT", "extra", 5);
    expect(f, (odd){"a piece behind the stream", NULL, true});
    f = usual(PNG_COLOR_TYPE_RGB);
    drop_chunk(&f, find_chunk(&f, "IDAT", 2));
    expect(f, (odd){"a piece is missing", NULL, false});
    f = usual(PNG_COLOR_TYPE_RGB);
    while (memcmp(f.data + find_chunk(&f, "tRNS", 0) + 12 + 6 + 4, "IDAT", 4) == 0)
        drop_chunk(&f, find_chunk(&f, "IDAT", 0));
    expect(f, (odd){"no pixels", "no pixels", false});
    const int all = H * (W + 1);
    for (int filter = 0; filter <= 4; filter++)
        expect(gray_of(filter, all, 0, 0), (odd){"a filter", NULL, true});
    expect(gray_of(5, all, 0, 0), (odd){"a filter that is none", NULL, false});
    expect(gray_of(1, all - 1, 0, 0), (odd){"too few bytes", NULL, false});
    expect(gray_of(1, all + 1, 0, 0), (odd){"a byte too many", NULL, true});
    expect(gray_of(1, 2 * all, 0, 0), (odd){"twice the bytes", NULL, true});
    expect(gray_of(1, all, 5, 0), (odd){"bytes behind the stream", NULL, true});
    expect(gray_of(1, all, 0, 1), (odd){"a wrong Adler-32", NULL, false});
    static const uint8_t heads[][2] = {{0x78, 0x02}, {0x79, 0x01}, {0x88, 0x1c}, {0x78, 0x20}};
    for (size_t i = 0; i < LEAT_COUNT(heads); i++) {
        f = usual(PNG_COLOR_TYPE_RGB);
        memcpy(f.data + find_chunk(&f, "IDAT", 0) + 8, heads[i], 2);
        repair_sums(f.data, f.n);
        expect(f, (odd){"a zlib header that is none", NULL, false});
    }
    f = gray_of(1, all, 0, 0);
    memcpy(f.data + find_chunk(&f, "IDAT", 0) + 8, "\x08\x1d",
           2); /* it says 256 bytes; there are farther matches */
    repair_sums(f.data, f.n);
    expect(f, (odd){"a window smaller than the distances", NULL, true});
}

/* ------------------------------------------------------------------------------- the same word on parts */

/* Rows above the damage are right; but whatever is wanted, the file must be whole. */
static void expect_refused(const blob *file, const char *words) {
    static const leat__box top = {0, 0, W, 2};
    for (int reference = 0; reference < 2; reference++) {
        const leat__decode_options o = {.reference = reference};
        shot part = decode_part(file, o, &top, 1), whole = decode_part(file, o, NULL, 1);
        assert_int_equal(part.rc, LEAT_ERR_DECODE);
        assert_string_equal(part.err.message, words);
        assert_int_equal(whole.rc, LEAT_ERR_DECODE);
        assert_string_equal(whole.err.message, words);
        free(part.pixels.data), free(whole.pixels.data);
    }
}

static void damage_below_a_part(void **state) {
    (void)state;
    for (int interlaced = 0; interlaced < 2; interlaced++) {
        blob file = make_png((png_how){.w = W,
                                       .h = 20 * H,
                                       .colour = PNG_COLOR_TYPE_RGB,
                                       .bits = 8,
                                       .piece = 300,
                                       .interlaced = interlaced});
        const size_t end = find_chunk(&file, "IEND", 0);
        file.data[end - 20] ^= 1;
        expect_refused(&file, "png: IDAT: CRC error");
        file.data[end - 20] ^= 1;
        file.data[end + 9] ^= 1;
        expect_refused(&file, "png: IEND: CRC error");
        file.data[end + 9] ^= 1;
        for (size_t cut = 1; cut < 30; cut += 7) {
            blob less = file;
            less.n -= cut;
            expect_refused(&less, "png: premature end of data: the file is truncated");
        }
        /* Damage that no sum tells of counts in the rows that are wanted. */
        file.data[end - 200] ^= 1;
        repair_sums(file.data, file.n);
        shot part = decode_part(&file, (leat__decode_options){0}, &(leat__box){0, 0, W, 2}, 1);
        assert_int_equal(part.rc, interlaced ? LEAT_ERR_DECODE : 0);
        assert_false(decode_twice(&file, (leat__decode_options){0}, NULL));
        free(part.pixels.data);
        free(file.data);
    }
}

/* ---------------------------------------------------------------------------------------------- memory */

static void memory(void **state) {
    (void)state;
    leat__decoder *d = new_decoder();
    blob file =
        make_png((png_how){.w = 400, .h = 900, .colour = PNG_COLOR_TYPE_RGB, .bits = 8, .smooth = true});
    shot first = decode_steps(d, &file, (leat__decode_options){0}, 3);
    assert_int_equal(first.rc, 0);
    assert_true(leat__decoder_high(d) < 120000); /* rows, and what deflate refers to */
    free(first.pixels.data);
    const uint32_t grown = leat__decoder_grown(d);
    for (int i = 0; i < 3; i++) {
        shot again = decode_steps(d, &file, (leat__decode_options){0}, 3);
        assert_int_equal(again.rc, 0);
        free(again.pixels.data);
    }
    assert_int_equal(leat__decoder_grown(d), grown);
    shot less = decode_steps(d, &file, (leat__decode_options){.memory_max = 1000}, 3);
    assert_int_equal(less.rc, LEAT_ERR_LIMIT);
    free(less.pixels.data);
    free(file.data);
    leat__decoder_free(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_and_filter),
        cmocka_unit_test(large_pictures),
        cmocka_unit_test(odd_chunks),
        cmocka_unit_test(odd_palettes),
        cmocka_unit_test(odd_pixels),
        cmocka_unit_test(damage_below_a_part),
        cmocka_unit_test(memory),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    twice_end();
    return failed;
}
