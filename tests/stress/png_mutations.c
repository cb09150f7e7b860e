/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: long no-tsan timeout=900 */
/* Damaged PNGs by the hundred thousand: our own decoder must say of each what libpng says, in the same words, and give the same
 * pixels where there are any. Most get right checksums after the damage, so that it reaches what is behind them. N can be given
 * as an argument. */
#include "unit/test_jpeg_twice.h"
#include "unit/test_png_inputs.h"

enum { FILES = 100000, BASES = 30 };

static int n_files = FILES;

static blob make_base(int i) {
    static const struct {
        int colour, bits;
    } kinds[] = {
        {PNG_COLOR_TYPE_RGB, 8},     {PNG_COLOR_TYPE_GRAY, 8},        {PNG_COLOR_TYPE_RGB_ALPHA, 8},
        {PNG_COLOR_TYPE_PALETTE, 8}, {PNG_COLOR_TYPE_GRAY_ALPHA, 8},  {PNG_COLOR_TYPE_RGB, 16},
        {PNG_COLOR_TYPE_GRAY, 16},   {PNG_COLOR_TYPE_GRAY_ALPHA, 16}, {PNG_COLOR_TYPE_PALETTE, 4},
        {PNG_COLOR_TYPE_GRAY, 1},
    };
    const int kind = i % 10;
    const bool palette = kinds[kind].colour == PNG_COLOR_TYPE_PALETTE;
    return make_png((png_how){.w = 7 + i * 5 % 60,
                              .h = 9 + i * 7 % 40,
                              .colour = kinds[kind].colour,
                              .bits = kinds[kind].bits,
                              .n_alpha = palette ? i % 3 : 0,
                              .key = !palette && i % 3 == 0 && samples_of(kinds[kind].colour) % 2,
                              .filters = i % 5 ? PNG_ALL_FILTERS : 0,
                              .smooth = i % 4 > 0,
                              .level = i % 7 == 6 ? 1 : 0,
                              .strategy = i % 6 == 5 ? Z_FIXED : Z_DEFAULT_STRATEGY,
                              .piece = i % 2 ? 50 + 13 * i : 0});
}

static size_t below(leat__rng *rng, size_t n) {
    return (size_t)leat__rng_below(rng, (uint64_t)n);
}

/* A chunk of the file, as an offset. */
static size_t some_chunk(leat__rng *rng, const blob *file) {
    size_t at = 8;
    for (size_t k = below(rng, 12); k > 0 && at + 24 + chunk_bytes(file, at) <= file->n; k--)
        at += 12 + chunk_bytes(file, at);
    return at;
}

static void damage(leat__rng *rng, blob *file) {
    static const uint8_t bytes[] = {0x00, 0x01, 0x7f, 0x80, 0xff, 0x78, 0x9c};
    const size_t n = file->n, chunk = some_chunk(rng, file), pixels = find_chunk(file, "IDAT", 0);
    const size_t inside = pixels + 8 + below(rng, n - pixels - 8);
    switch (below(rng, 8)) {
    case 0: file->n = 8 + below(rng, n - 8); break;
    case 1:
    case 2: /* bits of the pixels */
        for (size_t k = 1 + below(rng, 3); k > 0; k--)
            file->data[pixels + 8 + below(rng, n - pixels - 8)] ^= (uint8_t)(1u << below(rng, 8));
        break;
    case 3: /* the beginning of the stream: its header and its tables */
        file->data[pixels + 8 + below(rng, LEAT_MIN(n - pixels - 8, (size_t)60))] ^=
            (uint8_t)(1u << below(rng, 8));
        break;
    case 4: file->data[8 + below(rng, n - 8)] = bytes[below(rng, sizeof bytes)]; break;
    case 5: file->data[chunk + below(rng, 8)] ^= (uint8_t)(1u << below(rng, 8)); break;
    case 6: { /* a chunk is missing, or comes once more elsewhere */
        blob copy = {0};
        const size_t all = LEAT_MIN(12 + chunk_bytes(file, chunk), n - chunk);
        put(&copy, file->data + chunk, all);
        if (below(rng, 2)) drop(file, chunk, all);
        else insert(file, some_chunk(rng, file), copy.data, copy.n);
        free(copy.data);
        break;
    }
    default: /* bytes are missing, or come twice */
        if (below(rng, 2)) drop(file, inside, 1 + below(rng, LEAT_MIN(n - inside, (size_t)40)));
        else {
            blob copy = {0};
            put(&copy, file->data + inside, 1 + below(rng, LEAT_MIN(n - inside, (size_t)40)));
            insert(file, inside, copy.data, copy.n);
            free(copy.data);
        }
    }
}

static void same_word_on_each(void **state) {
    (void)state;
    blob bases[BASES];
    int n_good = 0;
    for (int i = 0; i < BASES; i++) bases[i] = make_base(i);
    for (int i = 0; i < n_files; i++) {
        leat__rng rng = leat__rng_at(9, 0, (uint64_t)i, 0);
        blob file = copy_of(&bases[below(&rng, BASES)]);
        damage(&rng, &file);
        if (below(&rng, 4)) repair_sums(file.data, file.n);
        static const int channels[] = {0, 1, 3, 4};
        const leat__decode_options o = {
            .channels = channels[below(&rng, 4)], .pixels_max = 1 << 20, .deep = i % 3 == 0};
        n_good += decode_twice(&file, o, NULL);
        leat__picture_info info;
        if (leat__decode_info(twice_decoder(), file.data, file.n, &o, &info, NULL) == 0 && i % 4 == 0) {
            const leat__box box = random_box(&rng, info.width, info.height);
            decode_twice(&file, o, &box);
        }
        free(file.data);
    }
    print_message("# %d files, %d of them good enough for libpng\n", n_files, n_good);
    for (int i = 0; i < BASES; i++) free(bases[i].data);
}

int main(int argc, char **argv) {
    if (argc > 1) n_files = atoi(argv[1]);
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_word_on_each)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    twice_end();
    return failed;
}
