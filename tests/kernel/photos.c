/* SPDX-License-Identifier: Apache-2.0 */
/* `kernel --photos DIR [N]`: all JPEGs and PNGs of a folder from memory, by our own decoders and by libjpeg-turbo and libpng in
 * turns. Both run behind the same door, into the same rows, so that the ratio is that of the decoders. Pixels are compared
 * first. Of JPEGs both inverse transforms are tried, the accurate one and the fast one, and pictures made smaller as for an output
 * of 224x224 (decode scale=auto). The limit of that is entropy decoding alone: our own decoder skips all blocks up to the end of
 * the same parts. Of PNGs also a part of half the height is tried. These two are compared with our own decoder's wholes. Then the
 * JPEGs are made progressive, coefficient by coefficient, and tried again. */
#include "kernel/harness.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <jpeglib.h>

#include "decode/decode.h"
#include "sample/draw.h"

typedef struct photo {
    uint8_t *bytes;
    size_t n;
    leat__codec codec;
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
    p.codec = leat__codec_detect(p.bytes, p.n);
    if (p.codec != LEAT_CODEC_JPEG && p.codec != LEAT_CODEC_PNG) {
        free(p.bytes);
        return 0;
    }
    photos = realloc(photos, (n_photos + 1) * sizeof *photos);
    must(photos, "no memory");
    photos[n_photos++] = p;
    return 0;
}

/* With libjpeg's own progression. A damaged file ends the program with libjpeg's message. */
static void make_progressive(photo *p) {
    struct jpeg_decompress_struct from;
    struct jpeg_compress_struct to;
    struct jpeg_error_mgr errors;
    unsigned char *bytes = NULL;
    unsigned long n = 0;
    from.err = to.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&from);
    jpeg_create_compress(&to);
    jpeg_mem_src(&from, p->bytes, (unsigned long)p->n);
    jpeg_mem_dest(&to, &bytes, &n);
    jpeg_read_header(&from, TRUE);
    jvirt_barray_ptr *blocks = jpeg_read_coefficients(&from);
    jpeg_copy_critical_parameters(&from, &to);
    jpeg_simple_progression(&to);
    jpeg_write_coefficients(&to, blocks);
    jpeg_finish_compress(&to);
    jpeg_destroy_compress(&to);
    jpeg_destroy_decompress(&from);
    free(p->bytes);
    p->bytes = bytes;
    p->n = n;
}

/* Only the JPEGs are left. */
static void make_all_progressive(void) {
    size_t n = 0;
    for (size_t i = 0; i < n_photos; i++) {
        if (photos[i].codec != LEAT_CODEC_JPEG) {
            free(photos[i].bytes);
            continue;
        }
        photos[n] = photos[i];
        make_progressive(&photos[n++]);
    }
    n_photos = n;
}

enum { WHOLE, CROPPED, HALF, ENTROPY };
enum { OUTPUT = 224 };

static const struct way {
    leat__codec codec;
    const char *name;
    int part;
    bool fast;
    bool scaled;
    bool itself; /* compared with our own decoder's wholes, not with the library */
} ways[] = {
    {LEAT_CODEC_JPEG, "JPEG", .part = WHOLE},
    {LEAT_CODEC_JPEG, "JPEG, cropped", .part = CROPPED},
    {LEAT_CODEC_JPEG, "JPEG, fast", .part = WHOLE, .fast = true},
    {LEAT_CODEC_JPEG, "JPEG, fast, cropped", .part = CROPPED, .fast = true},
    {LEAT_CODEC_JPEG, "JPEG, scaled", .part = WHOLE, .scaled = true},
    {LEAT_CODEC_JPEG, "JPEG, scaled, cropped", .part = CROPPED, .scaled = true},
    {LEAT_CODEC_JPEG, "JPEG, scaled, fast, cropped", .part = CROPPED, .scaled = true, .fast = true},
    {LEAT_CODEC_JPEG, "JPEG, cropped, entropy decoding alone", .part = ENTROPY, .itself = true},
    {LEAT_CODEC_PNG, "PNG", .part = WHOLE},
    {LEAT_CODEC_PNG, "PNG, cropped", .part = CROPPED},
    {LEAT_CODEC_PNG, "PNG, half the height, of its own whole", .part = HALF, .itself = true},
};

/* A part as random_resized_crop draws them, or one of half the height; the same for both decoders. */
static leat__box draw_box(const leat__picture_info *info, int part) {
    const double area = 0.08 + 0.92 * (double)k_below(1000) / 1000,
                 side = area < 0.3 ? area + 0.25 : 0.4 + 0.6 * area;
    leat__box box = {.width = (int)(info->width * side), .height = (int)(info->height * area / side)};
    if (part == HALF) box.width = info->width, box.height = info->height / 2;
    box.width = LEAT_CLAMP(box.width, 1, info->width);
    box.height = LEAT_CLAMP(box.height, 1, info->height);
    box.x = (int)k_below((size_t)(info->width - box.width + 1));
    box.y = (int)k_below((size_t)(info->height - box.height + 1));
    return box;
}

typedef struct taken {
    int part;
    bool scaled;
    leat__box box;
} taken;

static int draw(void *user, const leat__picture_info *info, leat_error *err) {
    taken *drawn = user;
    (void)err;
    drawn->box = (leat__box){.width = info->width, .height = info->height};
    if (drawn->part != WHOLE) drawn->box = draw_box(info, drawn->part);
    return drawn->scaled ? leat__scale_for(&drawn->box, OUTPUT, OUTPUT) : 1;
}

/* Returns the bytes of the rows; 0 if the file is damaged. */
static size_t decode(leat__decoder *d, const photo *p, bool reference, const struct way *way, int part,
                     leat__buf *rows) {
    taken drawn = {.part = part, .scaled = way->scaled};
    const leat__decode_options options = {
        .channels = 3, .reference = reference, .fast = way->fast, .scale = draw, .scale_user = &drawn};
    leat__picture_info info;
    if (leat__decode_begin(d, p->bytes, p->n, &options, &info, NULL) < 0) return 0;
    int rc = 0;
    if (part != WHOLE) {
        leat__box box = leat__box_scaled(&drawn.box, info.scale, info.height, info.width);
        if (part == ENTROPY) /* its last pixel */
            box = (leat__box){box.x + box.width - 1, box.y + box.height - 1, 1, 1};
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

static double time_all(leat__decoder *d, const struct way *way, bool first, int round, leat__buf *rows) {
    const bool reference = first && !way->itself;
    const int part = first && way->itself ? WHOLE : way->part;
    const double begin = seconds();
    k_seed((uint64_t)round + 1);
    for (size_t i = 0; i < n_photos; i++)
        if (photos[i].codec == way->codec) decode(d, &photos[i], reference, way, part, rows);
    return seconds() - begin;
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void check_equal(leat__decoder *d, leat__buf *rows) {
    leat__buf other = {.kind = LEAT_MEM_TOOL};
    size_t n_all = 0, n_equal = 0;
    for (size_t i = 0; i < n_photos; i++)
        for (size_t w = 0; w < LEAT_COUNT(ways); w++) {
            if (photos[i].codec != ways[w].codec) continue;
            k_seed(i);
            const size_t n = decode(d, &photos[i], false, &ways[w], ways[w].part, rows);
            k_seed(i);
            n_equal +=
                decode(d, &photos[i], true, &ways[w], ways[w].part, &other) == n &&
                (n == 0 || memcmp(rows->data + LEAT_DECODE_SKEW, other.data + LEAT_DECODE_SKEW, n) == 0);
            n_all++;
        }
    leat__buf_free(&other);
    printf("photos: %zu pictures, %zu of %zu decoded wholes and parts are equal\n", n_photos, n_equal, n_all);
    must(n_equal == n_all, "pixels differ");
}

static void measure(leat__decoder *d, int rounds, leat__buf *rows) {
    printf("%-40s %12s %12s %7s %s\n", "what", "library", "leat", "ratio", "(from - to)");
    for (size_t w = 0; w < LEAT_COUNT(ways); w++) {
        double theirs[99], ours[99], ratio[99], n = 0;
        for (size_t i = 0; i < n_photos; i++) n += photos[i].codec == ways[w].codec;
        for (int i = 0; i < rounds && n > 0; i++) {
            theirs[i] = time_all(d, &ways[w], true, i, rows);
            ours[i] = time_all(d, &ways[w], false, i, rows);
            ratio[i] = theirs[i] / ours[i];
        }
        if (n == 0) continue;
        qsort(theirs, (size_t)rounds, sizeof *theirs, compare);
        qsort(ours, (size_t)rounds, sizeof *ours, compare);
        qsort(ratio, (size_t)rounds, sizeof *ratio, compare);
        printf("%-40s %10.1f/s %10.1f/s %6.2fx (%.2f - %.2f)\n", ways[w].name, n / theirs[rounds / 2],
               n / ours[rounds / 2], ratio[rounds / 2], ratio[0], ratio[rounds - 1]);
        fflush(stdout);
    }
}

int k_photos(const char *folder, int rounds) {
    must(nftw(folder, add_photo, 16, FTW_PHYS) == 0 && n_photos > 0, "no JPEGs or PNGs there");
    leat_error err;
    leat__decoder *d = leat__decoder_new(&err);
    leat__buf rows = {.kind = LEAT_MEM_TOOL};
    must(d, "no memory");
    for (int progressive = 0; progressive < 2; progressive++) {
        if (progressive) make_all_progressive();
        if (n_photos == 0) break;
        if (progressive) printf("JPEGs made progressive:\n");
        check_equal(d, &rows);
        measure(d, LEAT_CLAMP(rounds, 1, 99), &rows);
    }
    for (size_t i = 0; i < n_photos; i++) free(photos[i].bytes);
    free(photos);
    leat__buf_free(&rows);
    leat__decoder_free(&d);
    return 0;
}
