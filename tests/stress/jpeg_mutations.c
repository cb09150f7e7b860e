/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: long no-tsan timeout=900 */
/* Damaged JPEGs by the hundred thousand: our own decoder must say of each what libjpeg-turbo says, in the same words, and
 * give the same pixels where there are any. N can be given as an argument. */
#include "unit/test_jpeg_twice.h"

enum { FILES = 100000, BASES = 20 };

static int n_files = FILES;

static blob make_base(int i) {
    static const int samplings[][2] = {{1, 1}, {2, 1}, {1, 2}, {2, 2}, {0, 0}};
    const int *sampling = samplings[i % 5];
    return make_jpeg((jpeg_how){.w = 17 + i * 5 % 60,
                                .h = 23 + i * 7 % 40,
                                .in = sampling[0] ? JCS_RGB : JCS_GRAYSCALE,
                                .h_samp = sampling[0],
                                .v_samp = sampling[1],
                                .quality = 20 + i * 37 % 80,
                                .restart = i % 3 == 0 ? 1 + i % 7 : 0,
                                .progressive = i % 3 == 1,
                                .optimised = i % 2,
                                .wild = i % 4 == 1});
}

static size_t below(leat__rng *rng, size_t n) {
    return (size_t)leat__rng_below(rng, (uint64_t)n);
}

/* Where the scan begins: headers and scan are damaged equally often. */
static size_t body_of(const blob *file) {
    const size_t scan = find_marker(file, 0xda, 0);
    return scan == SIZE_MAX ? file->n / 2 : scan + segment_bytes(file, scan);
}

static size_t some_place(leat__rng *rng, const blob *file, size_t body, bool in_scan) {
    if (in_scan && body < file->n) return body + below(rng, file->n - body);
    return 2 + below(rng, body - 2);
}

static void damage(leat__rng *rng, blob *file, size_t body) {
    static const uint8_t bytes[] = {0x00, 0x01, 0x7f, 0x80, 0xff, 0xd0, 0xd9};
    const size_t n = file->n;
    switch (below(rng, 7)) {
    case 0: file->n = 3 + below(rng, n - 3); break;
    case 1: /* the file ends early, but it has its end */
        file->n = body + below(rng, n - body);
        put(file, "\xff\xd9", 2);
        break;
    case 2:
    case 3: /* bits of the scan */
        for (size_t k = 1 + below(rng, 3); k > 0; k--)
            file->data[some_place(rng, file, body, true)] ^= (uint8_t)(1u << below(rng, 8));
        break;
    case 4: /* bits of the headers */
        file->data[some_place(rng, file, body, false)] ^= (uint8_t)(1u << below(rng, 8));
        break;
    case 5: /* bytes anywhere */
        file->data[some_place(rng, file, body, below(rng, 2))] = bytes[below(rng, sizeof bytes)];
        break;
    default: { /* something is missing, or comes twice */
        const size_t at = some_place(rng, file, body, below(rng, 4) > 0), most = LEAT_MIN(n - at, (size_t)40);
        if (below(rng, 2)) drop(file, at, 1 + below(rng, most));
        else {
            blob copy = {0};
            put(&copy, file->data + at, 1 + below(rng, most));
            insert(file, at, copy.data, copy.n);
            free(copy.data);
        }
    }
    }
}

static int take_scale(void *user, const leat__picture_info *info, leat_error *err) {
    (void)info, (void)err;
    return *(const int *)user;
}

static void same_word_on_each(void **state) {
    (void)state;
    blob bases[BASES];
    size_t bodies[BASES];
    int n_good = 0;
    for (int i = 0; i < BASES; i++) {
        bases[i] = make_base(i);
        bodies[i] = body_of(&bases[i]);
    }
    for (int i = 0; i < n_files; i++) {
        leat__rng rng = leat__rng_at(6, 0, (uint64_t)i, 0);
        const size_t which = below(&rng, BASES);
        blob file = copy_of(&bases[which]);
        damage(&rng, &file, bodies[which]);
        static const int channels[] = {3, 3, 1, 4};
        int scale = 1 << below(&rng, 4);
        const leat__decode_options o = {.channels = channels[below(&rng, 4)],
                                        .pixels_max = 1 << 20,
                                        .fast = i % 2,
                                        .scale = take_scale,
                                        .scale_user = &scale};
        n_good += decode_twice(&file, o, NULL);
        leat__picture_info info;
        if (leat__decode_info(twice_decoder(), file.data, file.n, &o, &info, NULL) == 0 && i % 4 == 0) {
            const leat__box box =
                random_box(&rng, (info.width + scale - 1) / scale, (info.height + scale - 1) / scale);
            decode_twice(&file, o, &box);
        }
        free(file.data);
    }
    print_message("# %d files, %d of them good enough for libjpeg-turbo\n", n_files, n_good);
    for (int i = 0; i < BASES; i++) free(bases[i].data);
}

int main(int argc, char **argv) {
    if (argc > 1) n_files = atoi(argv[1]);
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_word_on_each)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    twice_end();
    return failed;
}
