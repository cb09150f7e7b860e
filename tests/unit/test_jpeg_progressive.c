/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: no-tsan timeout=120 */
/* JPEGs of several scans, progressive ones above all, by our own decoder and by libjpeg-turbo. */
#include "test_jpeg_twice.h"
#include "unit/testing_stride.h"

#define S(...) \
    { __VA_ARGS__ }

/* Scan scripts of three components as libjpeg takes them: components, first and last coefficient, high and low bit. */
static const jpeg_scan_info spectral[] = {/* no bit comes later */
                                          S(3, S(0, 1, 2), 0, 0, 0, 0), S(1, S(2), 1, 63, 0, 0),
                                          S(1, S(0), 1, 2, 0, 0),       S(1, S(0), 3, 62, 0, 0),
                                          S(1, S(1), 1, 63, 0, 0),      S(1, S(0), 63, 63, 0, 0)};
static const jpeg_scan_info deep[] = {/* five bits of luma come later, one after the other */
                                      S(1, S(0), 0, 0, 0, 3),  S(2, S(1, 2), 0, 0, 0, 1),
                                      S(1, S(0), 1, 63, 0, 5), S(1, S(0), 1, 63, 5, 4),
                                      S(1, S(1), 1, 63, 0, 0), S(1, S(0), 0, 0, 3, 2),
                                      S(1, S(0), 1, 63, 4, 3), S(1, S(0), 1, 63, 3, 2),
                                      S(1, S(0), 0, 0, 2, 1),  S(1, S(2), 1, 63, 0, 1),
                                      S(1, S(0), 1, 63, 2, 1), S(3, S(0, 1, 2), 0, 0, 1, 0),
                                      S(1, S(2), 1, 63, 1, 0), S(1, S(0), 1, 63, 1, 0)};
static const jpeg_scan_info mixed[] = {/* bands that are refined as others, the last one first */
                                       S(3, S(0, 1, 2), 0, 0, 0, 0), S(1, S(0), 20, 63, 0, 1),
                                       S(1, S(0), 1, 19, 0, 2),      S(1, S(0), 20, 40, 1, 0),
                                       S(1, S(0), 1, 7, 2, 1),       S(1, S(0), 8, 19, 2, 1),
                                       S(1, S(0), 1, 19, 1, 0),      S(1, S(0), 41, 63, 1, 0),
                                       S(1, S(1), 1, 63, 0, 0),      S(1, S(2), 1, 63, 0, 0)};
static const jpeg_scan_info one_each[] = {/* sequential */
                                          S(1, S(0), 0, 63, 0, 0), S(1, S(1), 0, 63, 0, 0),
                                          S(1, S(2), 0, 63, 0, 0)};
static const jpeg_scan_info turned[] = {S(1, S(2), 0, 63, 0, 0), S(1, S(0), 0, 63, 0, 0),
                                        S(1, S(1), 0, 63, 0, 0)};
/* For libjpeg-turbo. */
static const jpeg_scan_info chroma_together[] = {S(1, S(0), 0, 63, 0, 0), S(2, S(1, 2), 0, 63, 0, 0)};
static const jpeg_scan_info no_end_of_luma[] = {S(3, S(0, 1, 2), 0, 0, 0, 0), S(1, S(0), 1, 40, 0, 0),
                                                S(1, S(1), 1, 63, 0, 0), S(1, S(2), 1, 63, 0, 0)};
static const jpeg_scan_info rough[] = {/* smoothed by libjpeg-turbo */
                                       S(3, S(0, 1, 2), 0, 0, 0, 0), S(1, S(0), 1, 63, 0, 2),
                                       S(1, S(1), 1, 63, 0, 0), S(1, S(2), 1, 63, 0, 0)};
static const jpeg_scan_info dc_only[] = {S(3, S(0, 1, 2), 0, 0, 0, 0)};
static const jpeg_scan_info no_last_bit_of_dc[] = {S(3, S(0, 1, 2), 0, 0, 0, 1), S(1, S(0), 1, 63, 0, 0),
                                                   S(1, S(1), 1, 63, 0, 0), S(1, S(2), 1, 63, 0, 0)};
static const jpeg_scan_info deeper[] = {
    S(3, S(0, 1, 2), 0, 0, 0, 0), S(1, S(1), 1, 63, 0, 0), S(1, S(2), 1, 63, 0, 0), S(1, S(0), 1, 63, 0, 6),
    S(1, S(0), 1, 63, 6, 5),      S(1, S(0), 1, 63, 5, 4), S(1, S(0), 1, 63, 4, 3), S(1, S(0), 1, 63, 3, 2),
    S(1, S(0), 1, 63, 2, 1),      S(1, S(0), 1, 63, 1, 0)};

typedef struct script {
    const jpeg_scan_info *scans; /* NULL: libjpeg's own progression */
    int n;
    const char *detour;
} script;

#define SCRIPT(name, detour) \
    { name, (int)LEAT_COUNT(name), detour }
static const script scripts[] = {{NULL, 0, NULL},     SCRIPT(spectral, NULL), SCRIPT(deep, NULL),
                                 SCRIPT(mixed, NULL), SCRIPT(one_each, NULL), SCRIPT(turned, NULL)};
static const script others[] = {SCRIPT(chroma_together, "several scans"),
                                SCRIPT(no_end_of_luma, "incomplete scans"),
                                SCRIPT(rough, "incomplete scans"),
                                SCRIPT(dc_only, "incomplete scans"),
                                SCRIPT(no_last_bit_of_dc, "incomplete scans"),
                                SCRIPT(deeper, "odd scans")};

/* Gray files have libjpeg's progression. */
static blob make_file(size_t sampling, const script *how, jpeg_how jpeg) {
    jpeg = of_sampling(sampling, jpeg);
    jpeg.progressive = true;
    if (jpeg_samplings[sampling][0] && how->scans) jpeg.scans = how->scans, jpeg.n_scans = how->n;
    return make_jpeg(jpeg);
}

static void check_file(size_t sampling, const script *how, jpeg_how jpeg) {
    static const int channels[] = {3, 1, 4};
    blob file = make_file(sampling, how, jpeg);
    assert_null(detour_of(&file)); /* or nothing would be compared */
    for (size_t i = 0; i < LEAT_COUNT(channels); i++)
        decode_twice(&file, (leat__decode_options){.channels = channels[i], .fast = i == 2}, NULL);
    decode_twice(&file, (leat__decode_options){.channels = 3, .fast = true}, NULL);
    free(file.data);
}

static void who_decodes_what(void **state) {
    (void)state;
    for (size_t i = 0; i < LEAT_COUNT(others); i++) {
        blob file = make_file(3, &others[i], (jpeg_how){.w = 70, .h = 50});
        const char *detour = detour_of(&file);
        assert_string_equal(detour ? detour : "none", others[i].detour);
        for (int fast = 0; fast < 2; fast++)
            decode_twice(&file, (leat__decode_options){.channels = 3, .fast = fast}, NULL);
        decode_twice(&file, (leat__decode_options){.channels = 3}, &(leat__box){20, 20, 21, 11});
        free(file.data);
    }
    blob cut = make_file(0, &scripts[0], (jpeg_how){.w = 70, .h = 50});
    cut.n -= 2;
    assert_string_equal(detour_of(&cut), "no end mark");
    free(cut.data);
#ifdef D_ARITH_CODING_SUPPORTED
    blob coded =
        make_jpeg((jpeg_how){.w = 20, .h = 20, .in = JCS_RGB, .progressive = true, .arithmetic = true});
    assert_string_equal(detour_of(&coded), "arithmetic coding");
    free(coded.data);
#endif
}

static void every_size(void **state) {
    (void)state;
    static const int heights[] = {1, 2, 7, 8, 9, 16, 17, 33, 50};
    int n = 0;
    for (size_t i = 0; i < LEAT_COUNT(jpeg_samplings); i++)
        for (int w = 1; w <= 67; w += 1 + w / 18)
            for (size_t k = 0; k < LEAT_COUNT(heights); k++, n++)
                check_file(i, &scripts[(size_t)n % LEAT_COUNT(scripts)],
                           (jpeg_how){.w = n % 2 ? w : heights[k],
                                      .h = n % 2 ? heights[k] : w,
                                      .quality = 1 + n * 7 % 100,
                                      .restart = n % 3 == 0 ? 1 + n % 5 : 0,
                                      .wild = n % 5 == 0});
}

static void every_script_and_quality(void **state) {
    (void)state;
    for (size_t i = 0; i < LEAT_COUNT(jpeg_samplings); i++)
        for (size_t k = 0; k < LEAT_COUNT(scripts); k++)
            for (int quality = 1; quality <= 100; quality += 9)
                check_file(i, &scripts[k],
                           (jpeg_how){.w = 67, .h = 43, .quality = quality, .wild = quality % 2});
}

static void every_restart_interval(void **state) {
    (void)state;
    for (size_t i = 0; i < LEAT_COUNT(jpeg_samplings); i++)
        for (int restart = 1; restart <= 40; restart += 1 + restart / 8)
            check_file(i, &scripts[(size_t)restart % LEAT_COUNT(scripts)],
                       (jpeg_how){.w = 61, .h = 66, .restart = restart, .wild = restart % 2});
}

/* More than a window of entropy-coded bytes in a scan; runs of empty blocks over many rows. */
static void large_pictures(void **state) {
    (void)state;
    for (size_t i = 0; i < LEAT_COUNT(jpeg_samplings); i++)
        for (int kind = 0; kind < 4; kind++)
            check_file(i, &scripts[(i + (size_t)kind) % LEAT_COUNT(scripts)],
                       (jpeg_how){.w = 501 + 13 * kind,
                                  .h = 233 - 7 * kind,
                                  .quality = kind == 2 ? 3 : 60 + 13 * kind,
                                  .restart = kind == 3 ? 29 : 0,
                                  .wild = kind == 1});
    check_file(0, &scripts[0], (jpeg_how){.w = 65500, .h = 3});
    check_file(3, &scripts[0], (jpeg_how){.w = 3, .h = 65500});
}

static void parts(void **state) {
    (void)state;
    for (size_t i = 0; i < LEAT_COUNT(jpeg_samplings); i++)
        for (size_t k = 0; k < LEAT_COUNT(scripts); k++) {
            blob file = make_file(i, &scripts[k], (jpeg_how){.w = 201, .h = 177, .quality = 50 + 8 * (int)k});
            const leat__decode_options o = {.channels = k % 2 ? 3 : 1, .fast = i % 2};
            shot whole = decode_all(twice_decoder(), &file, o);
            leat__rng rng = leat__rng_at(i, k, 0, 0);
            for (int n = 0; n < 30 / STRIDE; n++) check_part(&file, o, &whole, random_box(&rng, 201, 177));
            free(whole.pixels.data);
            free(file.data);
        }
}

static void cut_at_every_byte(void **state) {
    (void)state;
    for (size_t i = 0; i < LEAT_COUNT(jpeg_samplings); i++) {
        blob file = make_file(i, &scripts[i], (jpeg_how){.w = 21, .h = 17, .restart = i == 3 ? 2 : 0});
        const size_t n = file.n;
        for (file.n = 3; file.n < n; file.n++)
            decode_twice(&file, (leat__decode_options){.channels = 3, .fast = file.n % 2}, NULL);
        free(file.data);
    }
}

/* Bytes that are too many, at every place from the first scan's header on: between scans, in their headers and tables. */
static void irregular_files(void **state) {
    (void)state;
    static const struct {
        const char *bytes;
        size_t n;
    } extra[] = {{"\xff\xff", 2}, {"\1\2\3", 3},       {"\xff\xd0", 2},         {"\xff\xfe\0\4ab", 6},
                 {"\xff", 1},     {"\xff\0\xff\0", 4}, {"\xff\xdd\0\4\0\7", 6}, {"\xff\xd9", 2}};
    for (size_t k = 0; k < 4; k++) {
        blob file = make_file(3, &scripts[k], (jpeg_how){.w = 34, .h = 20, .restart = k == 1 ? 2 : 0});
        const size_t scan = find_marker(&file, 0xda, 0);
        for (size_t i = 0; i < LEAT_COUNT(extra); i++)
            for (size_t at = scan + i % 3; at <= file.n; at += 3) {
                blob odd = copy_of(&file);
                insert(&odd, at, extra[i].bytes, extra[i].n);
                decode_twice(&odd, (leat__decode_options){.channels = 3, .fast = at % 2}, NULL);
                free(odd.data);
            }
        for (size_t at = scan; at < file.n; at++) /* each byte from there on, as a few others */
            for (unsigned bit = 0; bit < 8; bit += 1 + at % 3) {
                blob odd = copy_of(&file);
                odd.data[at] ^= (uint8_t)(1u << bit);
                decode_twice(&odd, (leat__decode_options){.channels = 3, .fast = bit % 2}, NULL);
                free(odd.data);
            }
        free(file.data);
    }
}

/* Whole scans that are missing, come twice, or in another order: an impossible progression, or one that libjpeg-turbo takes. */
static void scans_out_of_order(void **state) {
    (void)state;
    blob file = make_file(0, &scripts[0], (jpeg_how){.w = 40, .h = 30});
    size_t begin[16], n = 0;
    for (size_t at = find_marker(&file, 0xda, 0); at + 1 < file.n;
         at++) /* tables belong to the scan behind them */
        if (file.data[at] == 0xff &&
            (file.data[at + 1] == 0xc4 || file.data[at + 1] == 0xda || file.data[at + 1] == 0xd9) &&
            n < LEAT_COUNT(begin)) {
            const bool table = n > 0 && file.data[begin[n - 1] + 1] == 0xc4;
            if (!table || file.data[at + 1] != 0xda) begin[n++] = at;
        }
    assert_in_range(n, 9, LEAT_COUNT(begin));
    for (size_t i = 0; i + 1 < n; i++)
        for (size_t k = 0; k + 1 < n; k++) {
            blob scan = {0}, odd = copy_of(&file);
            put(&scan, file.data + begin[i], begin[i + 1] - begin[i]);
            if (i == k) drop(&odd, begin[i], scan.n);
            else insert(&odd, begin[k], scan.data, scan.n);
            decode_twice(&odd, (leat__decode_options){.channels = 3}, NULL);
            free(odd.data);
            free(scan.data);
        }
    free(file.data);
}

static void any_coefficients(void **state) {
    (void)state;
    static const int steps[] = {1, 16, 100, 255, 4000, 8191, 30000};
    for (uint64_t n = 0; n < 150; n++) {
        leat__rng rng = leat__rng_at(8, 0, n, 0);
        blob file =
            make_coefficients(&rng, n % LEAT_COUNT(jpeg_samplings), steps[n % LEAT_COUNT(steps)], true);
        for (int fast = 0; fast < 2; fast++)
            decode_twice(&file, (leat__decode_options){.channels = 3, .fast = fast}, NULL);
        free(file.data);
    }
}

/* A picture that libjpeg-turbo decodes again takes the memory of the coefficients that were there, whether the first scans
 * or the first rows showed that it must. */
static void memory_is_not_taken_twice(void **state) {
    (void)state;
    const jpeg_how how = {.w = 400, .h = 300, .quality = 95, .wild = true};
    blob coarse = make_file(0, &scripts[0], how), odd = copy_of(&coarse);
    memset(coarse.data + find_marker(&coarse, 0xdb, 0) + 5, 255,
           64);                           /* values that the transform does not take */
    insert(&odd, odd.n - 2, "\1\2\3", 3); /* harmless, and not regular */
    const blob *files[] = {&coarse, &odd};
    for (size_t i = 0; i < LEAT_COUNT(files); i++) {
        size_t high[2];
        assert_null(detour_of(files[i]));
        for (int reference = 0; reference < 2; reference++) {
            leat__decoder *d = new_decoder();
            shot s = decode_all(d, files[i], (leat__decode_options){.reference = reference});
            assert_int_equal(s.rc, 0);
            high[reference] = leat__decoder_high(d);
            free(s.pixels.data);
            leat__decoder_free(&d);
        }
        assert_in_range(high[0], high[1], high[1] + high[1] / 4);
    }
    free(coarse.data);
    free(odd.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_decodes_what),
        cmocka_unit_test(every_size),
        cmocka_unit_test(every_script_and_quality),
        cmocka_unit_test(every_restart_interval),
        cmocka_unit_test(large_pictures),
        cmocka_unit_test(parts),
        cmocka_unit_test(cut_at_every_byte),
        cmocka_unit_test(irregular_files),
        cmocka_unit_test(scans_out_of_order),
        cmocka_unit_test(any_coefficients),
        cmocka_unit_test(memory_is_not_taken_twice),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    twice_end();
    return failed;
}
