/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: long no-tsan timeout=900 */
/* Damaged lossy WebPs by the hundred thousand: our own decoder must say of each what libwebp says, in the same words, and give the
 * same pixels where there are any. N can be given as an argument. */
#include "unit/test_jpeg_twice.h"
#include "unit/test_webp_inputs.h"

enum { FILES = 100000, BASES = 40 };

static int n_files = FILES;

static blob make_base(int i) {
    return make_lossy((webp_how){.w = 3 + i * 11 % 90,
                                 .h = 5 + i * 17 % 70,
                                 .kind = i % WEBP_KINDS,
                                 .quality = (float)(i * 23 % 101),
                                 .method = i % 7,
                                 .segments = 1 + i % 4,
                                 .partitions = i / 3 % 4,
                                 .filter = i * 37 % 101,
                                 .sharpness = i % 8,
                                 .simple = i % 5 == 4,
                                 .alpha = i % 9 == 8});
}

static size_t below(leat__rng *rng, size_t n) {
    return (size_t)leat__rng_below(rng, (uint64_t)n);
}

static void flip(leat__rng *rng, blob *file, size_t from, size_t n) {
    file->data[from + below(rng, n)] ^= (uint8_t)(1u << below(rng, 8));
}

static void damage(leat__rng *rng, blob *file) {
    static const uint8_t bytes[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
    const size_t frame = find_frame(file), n = file->n - frame;
    switch (below(rng, 7)) {
    case 0: file->n = 12 + below(rng, file->n - 12); break;
    case 1: /* the header: filter, segments, steps, probabilities */
        flip(rng, file, frame + 10, LEAT_MIN(n - 10, (size_t)12));
        break;
    case 2: flip(rng, file, 12, frame + 10 - 12); break;
    case 3: /* a run of noise */
        for (size_t at = below(rng, n), k = below(rng, 60); k > 0 && at < n; at++, k--)
            file->data[frame + at] = (uint8_t)below(rng, 256);
        break;
    case 4: { /* the frame is shorter, and the container knows */
        const size_t less = below(rng, n);
        file->n -= less;
        leat__store_u32(file->data + frame - 4, (uint32_t)(n - less));
        leat__store_u32(file->data + 4, (uint32_t)(file->n - 8));
        break;
    }
    case 5: file->data[frame + below(rng, n)] = bytes[below(rng, sizeof bytes)]; break;
    default:
        for (size_t k = 1 + below(rng, 3); k > 0; k--) flip(rng, file, frame, n);
    }
}

static void same_word_on_each(void **state) {
    (void)state;
    blob bases[BASES];
    int n_good = 0;
    for (int i = 0; i < BASES; i++) bases[i] = make_base(i);
    for (int i = 0; i < n_files; i++) {
        leat__rng rng = leat__rng_at(11, 0, (uint64_t)i, 0);
        blob file = copy_of(&bases[below(&rng, BASES)]);
        damage(&rng, &file);
        static const int channels[] = {0, 1, 3, 4};
        const leat__decode_options o = {.channels = channels[below(&rng, 4)], .pixels_max = 1 << 20};
        n_good += decode_twice(&file, o, NULL);
        leat__picture_info info;
        if (i % 4 == 0 && leat__decode_info(twice_decoder(), file.data, file.n, &o, &info, NULL) == 0 &&
            (int64_t)info.width * info.height <= 1 << 20) {
            const leat__box box = random_box(&rng, info.width, info.height);
            decode_twice(&file, o, &box);
        }
        free(file.data);
    }
    print_message("# %d files, %d of them good enough for libwebp\n", n_files, n_good);
    for (int i = 0; i < BASES; i++) free(bases[i].data);
}

int main(int argc, char **argv) {
    if (argc > 1) n_files = atoi(argv[1]);
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_word_on_each)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    twice_end();
    return failed;
}
