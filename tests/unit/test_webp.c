/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: no-tsan timeout=180 */
/* Our own decoder of lossy WebP and libwebp, side by side: the same rows, the same errors, whatever the file. Everything goes
 * through the door of decode.h twice, once with options.reference. */
#include "test_jpeg_twice.h"
#include "test_webp_inputs.h"

#include "base/cpu.h"
#include "decode/webp/webp_own.h"

/* By our own decoder alone, every row: nothing may be left to libwebp. */
static void check_own(const blob *file, bool taken) {
    leat__webp_own *own = leat__webp_own_new();
    leat__arena arena = {.kind = LEAT_MEM_WORKER};
    leat__picture_info info;
    assert_non_null(own);
    assert_int_equal(leat__decode_info(twice_decoder(), file->data, file->n, NULL, &info, NULL), 0);
    leat__decode_job job = {.bytes = file->data, .n = file->n, .info = info, .arena = &arena};
    const size_t frame = find_frame(file), n = leat__load_u32(file->data + frame - 4);
    uint8_t *row = malloc(3 * (size_t)info.width);
    assert_non_null(row);
    bool good = leat__webp_own_begin(own, &job, file->data + frame, n);
    for (int y = 0; good && y < info.height; y++) good = leat__webp_own_row(own, row);
    if (good != taken) fail_msg("%d x %d: %s", info.width, info.height, good ? "taken" : "not taken");
    free(row);
    leat__arena_free(&arena);
    leat__webp_own_free(own);
}

static void check_parts(const blob *file, leat__decode_options o, int n) {
    leat__rng rng = leat__rng_at(file->n, 0, 0, 0);
    leat__picture_info info;
    assert_true(decode_twice(file, o, NULL));
    assert_int_equal(leat__decode_info(twice_decoder(), file->data, file->n, &o, &info, NULL), 0);
    shot whole = decode_part(file, o, NULL, 7);
    for (int i = 0; i < n; i++) {
        leat__box box = random_box(&rng, info.width, info.height);
        if (i % 3 == 1) box.width = 1 + (int)leat__rng_below(&rng, (uint64_t)LEAT_MIN(info.width - box.x, 4));
        if (i % 3 == 2)
            box.height = 1 + (int)leat__rng_below(&rng, (uint64_t)LEAT_MIN(info.height - box.y, 4));
        assert_true(decode_twice(file, o, &box));
        check_part(file, o, &whole, box);
    }
    free(whole.pixels.data);
}

static void check_file(webp_how how) {
    blob file = make_lossy(how);
    static const int channels[] = {0, 1, 3, 4};
    if (!how.alpha) check_own(&file, true);
    check_parts(&file, (leat__decode_options){.channels = channels[(how.w + how.h) % 4]}, 6);
    free(file.data);
}

static void small_sizes(void **state) {
    (void)state;
    for (int w = 1; w < 36; w += w % 16 == 4 ? 9 : 1)
        for (int h = 1; h < 36; h += h % 16 == 3 ? 10 : 1)
            check_file((webp_how){.w = w,
                                  .h = h,
                                  .kind = (w + h) % WEBP_KINDS,
                                  .quality = (float)(w * h % 101),
                                  .method = w % 3,
                                  .filter = w * 7 % 101,
                                  .simple = h % 3 == 0});
}

static void every_quality_and_method(void **state) {
    (void)state;
    for (int quality = 0; quality <= 100; quality += 10)
        for (int method = 0; method <= 6; method++)
            check_file((webp_how){.w = 70 + 3 * method,
                                  .h = 50 + quality / 2,
                                  .kind = (quality / 10 + method) % WEBP_KINDS,
                                  .quality = (float)quality,
                                  .method = method,
                                  .segments = 1 + method % 4,
                                  .filter = quality * 3 % 101,
                                  .sharpness = method});
}

static void every_filter(void **state) {
    (void)state;
    static const int strengths[] = {0, 1, 10, 30, 60, 100};
    for (size_t i = 0; i < LEAT_COUNT(strengths); i++)
        for (int sharpness = 0; sharpness <= 7; sharpness++)
            for (int simple = 0; simple < 2; simple++)
                check_file((webp_how){.w = 83,
                                      .h = 61 + sharpness,
                                      .kind = sharpness % WEBP_KINDS,
                                      .quality = (float)(10 + 12 * sharpness),
                                      .method = 2,
                                      .segments = 1 + sharpness % 4,
                                      .filter = strengths[i],
                                      .sharpness = sharpness,
                                      .simple = simple});
}

static void partitions_and_large_pictures(void **state) {
    (void)state;
    for (int partitions = 0; partitions < 4; partitions++)
        for (int kind = 0; kind < WEBP_KINDS; kind++)
            check_file((webp_how){.w = 300 + 31 * kind,
                                  .h = 200 + 47 * partitions,
                                  .kind = kind,
                                  .quality = (float)(20 + 25 * kind),
                                  .method = 2,
                                  .segments = 4,
                                  .partitions = partitions,
                                  .filter = 40});
    check_file((webp_how){.w = 5000, .h = 3, .kind = 2, .quality = 40, .method = 0, .filter = 20});
    check_file((webp_how){.w = 2, .h = 3000, .kind = 2, .quality = 40, .method = 0, .filter = 20});
}

static void transparency(void **state) {
    (void)state;
    blob file =
        make_lossy((webp_how){.w = 60, .h = 45, .kind = 2, .quality = 60, .method = 2, .alpha = true});
    check_own(&file, true);
    for (int channels = 0; channels <= 4; channels++)
        if (channels != 2) check_parts(&file, (leat__decode_options){.channels = channels}, 6);
    for (int orientation = 0; orientation < 2; orientation++)
        check_parts(&file, (leat__decode_options){.channels = 3, .orient = true, .deep = true}, 3);
    free(file.data);
}

static void detours(void **state) {
    (void)state;
    blob pixels = pattern(20, 20, 4);
    blob lossless = make_webp(&pixels, 20, 20, 3, true), lossy = make_webp(&pixels, 20, 20, 3, false);
    blob alpha = make_webp(&pixels, 20, 20, 4, false);
    assert_string_equal(detour_of(&lossless), "lossless");
    assert_null(detour_of(&lossy));
    assert_string_equal(detour_of(&alpha), "transparency");
    leat__picture_info info;
    const leat__decode_options rgb = {.channels = 3};
    assert_int_equal(leat__decode_info(twice_decoder(), alpha.data, alpha.n, &rgb, &info, NULL), 0);
    assert_null(info.detour);
    free(pixels.data), free(lossless.data), free(lossy.data), free(alpha.data);
}

/* ------------------------------------------------------------------------------------------- irregular */

/* The frame of a picture with so many bytes less, in a container that fits it. */
static blob cut_frame(const blob *file, size_t less) {
    blob cut = copy_of(file);
    const size_t frame = find_frame(file), n = leat__load_u32(file->data + frame - 4) - less;
    cut.n = frame + n;
    leat__store_u32(cut.data + frame - 4, (uint32_t)n);
    leat__store_u32(cut.data + 4, (uint32_t)(cut.n - 8));
    return cut;
}

/* The code has no end of its own: what is missing is met where it is needed. */
static void missing_bytes(void **state) {
    (void)state;
    for (int partitions = 0; partitions < 3; partitions++) {
        const webp_how how = {
            .w = 90, .h = 120, .kind = 2, .quality = 50, .method = 1, .partitions = partitions};
        blob file = make_lossy(how);
        const size_t n = file.n - find_frame(&file);
        int n_bad = 0;
        for (size_t less = 0; less < n; less += 1 + less / 8) {
            blob cut = cut_frame(&file, less);
            leat__picture_info info;
            if (leat__decode_info(twice_decoder(), cut.data, cut.n, NULL, &info, NULL) == 0) {
                n_bad += !decode_twice(&cut, (leat__decode_options){0}, NULL);
                for (int y = 0; y < 120; y += 13)
                    decode_twice(&cut, (leat__decode_options){0},
                                 &(leat__box){5, y, 40, LEAT_MIN(20, 120 - y)});
            }
            free(cut.data);
        }
        assert_true(n_bad > 20);
        free(file.data);
    }
}

/* The first byte of a code is never 255. libwebp goes on with such a code, which leaves the range. */
static void impossible_codes(void **state) {
    (void)state;
    for (int partitions = 0; partitions < 3; partitions++) {
        blob file = make_lossy(
            (webp_how){.w = 64, .h = 90, .kind = 2, .quality = 40, .method = 1, .partitions = partitions});
        const size_t frame = find_frame(&file), first = leat__load_u32(file.data + frame) >> 5 & 0x7ffff;
        const size_t begins[] = {frame + 10, frame + 10 + first + 3 * ((1u << partitions) - 1)};
        for (int i = 0; i < 2; i++) {
            blob odd = copy_of(&file);
            odd.data[begins[i]] = 255;
            check_own(&odd, false);
            decode_twice(&odd, (leat__decode_options){0}, NULL);
            free(odd.data);
        }
        free(file.data);
    }
}

/* Values that no encoder makes: sums of the inverse transform leave 16 bits, and its forms differ. Noise in the place of the values
 * has some, with steps as large as they can be. */
static void large_values(void **state) {
    (void)state;
    blob file = make_lossy((webp_how){.w = 64, .h = 64, .kind = 0, .quality = 0, .method = 0});
    const size_t frame = find_frame(&file), first = leat__load_u32(file.data + frame) >> 5 & 0x7ffff;
    const size_t values = frame + 10 + first;
    int n_left = 0;
    for (uint64_t seed = 0; seed < 300; seed++) {
        leat__rng rng = leat__rng_at(seed, 1, 2, 3);
        blob noise = copy_of(&file);
        const unsigned most = seed % 2 ? 256 : 16; /* small bytes: yes after yes */
        for (size_t i = values; i < noise.n; i++)
            noise.data[i] = (uint8_t)(255 - leat__rng_below(&rng, most));
        noise.data[values] = 254;
        leat__webp_own *own = leat__webp_own_new();
        leat__arena arena = {.kind = LEAT_MEM_WORKER};
        leat__decode_job job = {.info = {.width = 64, .height = 64}, .arena = &arena};
        uint8_t row[3 * 64];
        bool good = leat__webp_own_begin(own, &job, noise.data + frame, noise.n - frame);
        assert_true(good);
        for (int y = 0; y < 64 && good; y++) good = leat__webp_own_row(own, row);
        n_left += !good;
        decode_twice(&noise, (leat__decode_options){0}, NULL);
        leat__arena_free(&arena);
        leat__webp_own_free(own);
        free(noise.data);
    }
    assert_true(n_left > 0);
    free(file.data);
}

static void odd_containers(void **state) {
    (void)state;
    blob file = make_lossy((webp_how){.w = 30, .h = 20, .kind = 1, .quality = 70, .method = 2});
    const size_t frame = find_frame(&file);
    for (size_t at = 0; at < frame + 40; at++)
        for (int bit = 0; bit < 8; bit++) {
            blob odd = copy_of(&file);
            odd.data[at] ^= (uint8_t)(1u << bit);
            decode_twice(&odd, (leat__decode_options){.pixels_max = 1 << 20}, NULL);
            free(odd.data);
        }
    /* Bytes behind the frame are not the picture's, and neither is a chunk there. */
    blob more = copy_of(&file);
    put(&more, "EXIF\4\0\0\0abcd", 12);
    leat__store_u32(more.data + 4, (uint32_t)(more.n - 8));
    assert_true(decode_twice(&more, (leat__decode_options){0}, NULL));
    check_own(&more, true);
    free(more.data);
    free(file.data);
}

static void memory(void **state) {
    (void)state;
    leat__decoder *d = new_decoder();
    blob file =
        make_lossy((webp_how){.w = 400, .h = 900, .kind = 1, .quality = 50, .method = 2, .filter = 20});
    shot first = decode_steps(d, &file, (leat__decode_options){0}, 3);
    assert_int_equal(first.rc, 0);
    assert_true(leat__decoder_high(d) < 60000 + file.n); /* rows of macroblocks, not the picture */
    free(first.pixels.data);
    const uint32_t grown = leat__decoder_grown(d);
    for (int i = 0; i < 3; i++) {
        shot again = decode_steps(d, &file, (leat__decode_options){0}, 3);
        assert_int_equal(again.rc, 0);
        free(again.pixels.data);
    }
    assert_int_equal(leat__decoder_grown(d), grown);
    free(file.data);
    leat__decoder_free(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_sizes),   cmocka_unit_test(every_quality_and_method),
        cmocka_unit_test(every_filter),  cmocka_unit_test(partitions_and_large_pictures),
        cmocka_unit_test(transparency),  cmocka_unit_test(detours),
        cmocka_unit_test(missing_bytes), cmocka_unit_test(impossible_codes),
        cmocka_unit_test(large_values),  cmocka_unit_test(odd_containers),
        cmocka_unit_test(memory),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    twice_end();
    return failed;
}
