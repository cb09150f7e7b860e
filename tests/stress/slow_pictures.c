/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: no-tsan timeout=120 */
/* Pictures that are made to take long: as many scans as are allowed, interlacing, the densest noise. leat has no limit of processor time for
 * a sample: the limits of pixels and scans bound it. This measures what the slowest picture of a megapixel takes, and that a larger one
 * takes in proportion and not more. */
#include "unit/test_decode_inputs.h"

#include <time.h>

static double cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The least of three. */
static double seconds_of(const blob *file, int w, int h) {
    leat__decoder *d = new_decoder();
    double least = 1e9;
    for (int i = 0; i < 3; i++) {
        const double began = cpu_seconds();
        shot s = decode_all(d, file, (leat__decode_options){.channels = 3});
        const double took = cpu_seconds() - began;
        assert_int_equal(s.rc, 0);
        assert_int_equal(s.pixels.n, (size_t)w * (size_t)h * 3);
        least = took < least ? took : least;
        free(s.pixels.data);
    }
    leat__decoder_free(&d);
    return least;
}

enum { SMALL = 512, LARGE = 1024 };

static void test_bounds(const char *name, blob (*make)(int side)) {
    blob small = make(SMALL), large = make(LARGE);
    const double brief = seconds_of(&small, SMALL, SMALL), lengthy = seconds_of(&large, LARGE, LARGE);
    /* 134 million pixels are 128 such pictures. */
    print_message("# %s: %.2f s for a megapixel, %.0f s for the largest picture that is allowed; %.2f MB\n",
                  name, lengthy, lengthy * 128, (double)large.n * 1e-6);
    if (lengthy > 20) fail_msg("%s: %.1f s for a megapixel", name, lengthy);
    if (lengthy > 12 * brief + 0.1)
        fail_msg("%s: four times the pixels took %.2f s instead of %.2f", name, lengthy, brief);
    free(small.data);
    free(large.data);
}

static blob many_scans(int side) {
    return make_jpeg((jpeg_how){
        .w = side, .h = side, .in = JCS_RGB, .n_scans = LEAT_DECODE_SCANS_MAX, .wild = true, .quality = 100});
}
static blob noise(int side) {
    return make_jpeg((jpeg_how){.w = side, .h = side, .in = JCS_RGB, .wild = true, .quality = 100});
}
/* Scans with next to nothing in them: a small file that takes long. */
static blob empty_scans(int side) {
    return make_jpeg(
        (jpeg_how){.w = side, .h = side, .in = JCS_RGB, .n_scans = LEAT_DECODE_SCANS_MAX, .quality = 1});
}

static void test_many_scans(void **state) {
    (void)state;
    test_bounds("100 scans of noise", many_scans);
}
static void test_empty_scans(void **state) {
    (void)state;
    test_bounds("100 scans of little", empty_scans);
}
static void test_noise(void **state) {
    (void)state;
    test_bounds("noise in one scan", noise);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_many_scans), cmocka_unit_test(test_empty_scans),
                                       cmocka_unit_test(test_noise)};
    return cmocka_run_group_tests_name("slow_pictures", tests, NULL, NULL);
}
