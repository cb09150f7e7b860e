/* SPDX-License-Identifier: Apache-2.0 */
/* `kernel --photos DIR [N]`: all JPEGs of a folder from memory, by our own decoder and by libjpeg-turbo in turns. Both run
 * behind the same door, into the same rows, so that the ratio is that of the decoders. Pixels are compared first. */
#include "kernel/harness.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "decode/decode.h"

typedef struct photo {
    uint8_t *bytes;
    size_t n;
} photo;

static photo *photos;
static size_t n_photos;

static void must(bool fine, const char *what) {
    if (fine) return;
    fprintf(stderr, "photos: %s\n", what);
    exit(1);
}

static int add_photo(const char *path, const struct stat *st, int kind, struct FTW *walk) {
    (void)walk;
    if (kind != FTW_F || st->st_size < 3) return 0;
    FILE *file = fopen(path, "rb");
    must(file, "cannot open a file");
    photo p = {.bytes = malloc((size_t)st->st_size), .n = (size_t)st->st_size};
    must(p.bytes && fread(p.bytes, 1, p.n, file) == p.n, "cannot read a file");
    fclose(file);
    if (leat__codec_detect(p.bytes, p.n) != LEAT_CODEC_JPEG) {
        free(p.bytes);
        return 0;
    }
    photos = realloc(photos, (n_photos + 1) * sizeof *photos);
    must(photos, "no memory");
    photos[n_photos++] = p;
    return 0;
}

enum { WHOLE, CROPPED };

/* A part as random_resized_crop draws them, the same for both decoders. */
static leat__box draw_box(const leat__picture_info *info) {
    const double area = 0.08 + 0.92 * (double)k_below(1000) / 1000,
                 side = area < 0.3 ? area + 0.25 : 0.4 + 0.6 * area;
    leat__box box = {.width = (int)(info->width * side), .height = (int)(info->height * area / side)};
    box.width = LEAT_CLAMP(box.width, 1, info->width);
    box.height = LEAT_CLAMP(box.height, 1, info->height);
    box.x = (int)k_below((size_t)(info->width - box.width + 1));
    box.y = (int)k_below((size_t)(info->height - box.height + 1));
    return box;
}

/* Returns the bytes of the rows; 0 if the file is damaged. */
static size_t decode(leat__decoder *d, const photo *p, bool reference, int what, leat__buf *rows) {
    const leat__decode_options options = {.channels = 3, .reference = reference};
    leat__picture_info info;
    if (leat__decode_begin(d, p->bytes, p->n, &options, &info, NULL) < 0) return 0;
    int rc = 0;
    if (what == CROPPED) {
        const leat__box box = draw_box(&info);
        rc = leat__decode_region(d, &box, NULL);
        info.width = box.width, info.height = box.height;
    }
    const size_t stride = (size_t)info.width * 3, bytes = stride * (size_t)info.height;
    must(leat__buf_reserve(rows, bytes + LEAT_DECODE_SKEW), "no memory");
    if (rc == 0)
        rc = leat__decode_rows(d, rows->data + LEAT_DECODE_SKEW, (ptrdiff_t)stride, info.height, NULL);
    return leat__decode_end(d, NULL) == 0 && rc == 0 ? bytes : 0;
}

/* Of this thread, so that others on the machine disturb less. */
static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double time_all(leat__decoder *d, bool reference, int what, int round, leat__buf *rows) {
    const double begin = seconds();
    k_seed((uint64_t)round + 1);
    for (size_t i = 0; i < n_photos; i++) decode(d, &photos[i], reference, what, rows);
    return seconds() - begin;
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void check_equal(leat__decoder *d, leat__buf *rows) {
    leat__buf other = {.kind = LEAT_MEM_TOOL};
    size_t n_equal = 0;
    for (size_t i = 0; i < n_photos; i++)
        for (int what = WHOLE; what <= CROPPED; what++) {
            k_seed(i);
            const size_t n = decode(d, &photos[i], false, what, rows);
            k_seed(i);
            n_equal +=
                decode(d, &photos[i], true, what, &other) == n &&
                (n == 0 || memcmp(rows->data + LEAT_DECODE_SKEW, other.data + LEAT_DECODE_SKEW, n) == 0);
        }
    leat__buf_free(&other);
    printf("photos: %zu JPEGs, %zu of %zu decoded wholes and parts are equal\n", n_photos, n_equal,
           2 * n_photos);
    must(n_equal == 2 * n_photos, "pixels differ");
}

int k_photos(const char *folder, int rounds) {
    static const char *const names[] = {"whole", "cropped"};
    must(nftw(folder, add_photo, 16, FTW_PHYS) == 0 && n_photos > 0, "no JPEGs there");
    rounds = LEAT_CLAMP(rounds, 1, 99);
    leat_error err;
    leat__decoder *d = leat__decoder_new(&err);
    leat__buf rows = {.kind = LEAT_MEM_TOOL};
    must(d, "no memory");
    check_equal(d, &rows);
    printf("%-8s %14s %14s %7s %s\n", "what", "libjpeg-turbo", "leat", "ratio", "(from - to)");
    for (int what = WHOLE; what <= CROPPED; what++) {
        double theirs[99], ours[99], ratio[99];
        for (int i = 0; i < rounds; i++) {
            theirs[i] = time_all(d, true, what, i, &rows);
            ours[i] = time_all(d, false, what, i, &rows);
            ratio[i] = theirs[i] / ours[i];
        }
        qsort(theirs, (size_t)rounds, sizeof *theirs, compare);
        qsort(ours, (size_t)rounds, sizeof *ours, compare);
        qsort(ratio, (size_t)rounds, sizeof *ratio, compare);
        const double n = (double)n_photos;
        printf("%-8s %12.0f/s %12.0f/s %6.2fx (%.2f - %.2f)\n", names[what], n / theirs[rounds / 2],
               n / ours[rounds / 2], ratio[rounds / 2], ratio[0], ratio[rounds - 1]);
        fflush(stdout);
    }
    for (size_t i = 0; i < n_photos; i++) free(photos[i].bytes);
    free(photos);
    leat__buf_free(&rows);
    leat__decoder_free(&d);
    return 0;
}
