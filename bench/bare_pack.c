/* SPDX-License-Identifier: Apache-2.0 */
/* The least that a pack of resized JPEGs has to do: read, decode, resize and encode, with the functions and the threads that
 * leat pack has; no records, checksums, digests or notes, and nothing is written. bench/pack.py builds it with the library of
 * build/release and compares.
 *
 *     bare_pack THREADS SIZE QUALITY < list of files, a line each */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/file.h"
#include "base/thread.h"
#include "decode/decode.h"
#include "image/pass/pass.h"
#include "tools/encode.h"

enum { BAND_ROWS = 16, THREADS_MAX = 256, FILES_MAX = 1 << 20, FILE_BYTES_MAX = 1 << 30 };

typedef struct bench {
    int size, quality;
    char **path;
} bench;

typedef struct worker {
    leat__decoder *decoder;
    leat__encoder *encoder;
    leat__image_dsp dsp;
    leat__pass_scratch scratch;
    leat__buf file, band, pixels, jpeg;
    uint64_t bytes;
    int height, begin, end; /* of the picture, and of the rows in the band */
    size_t stride;
} worker;

static worker workers[THREADS_MAX];

static int give_row(leat__rows *rows, int y, const void **out, leat_error *err) {
    worker *w = rows->user;
    while (y >= w->end) {
        w->begin = w->end;
        const int n = LEAT_MIN(BAND_ROWS, w->height - w->begin);
        LEAT_TRY(leat__decode_rows(w->decoder, w->band.data, (ptrdiff_t)w->stride, n, err));
        w->end += n;
    }
    *out = w->band.data + (size_t)(y - w->begin) * w->stride;
    return 0;
}

static int resize(const bench *b, worker *w, const leat__picture_info *info, leat_error *err) {
    leat__rows rows = {.height = info->height,
                       .width = info->width,
                       .channels = 3,
                       .dtype = LEAT_DTYPE_U8,
                       .row = give_row,
                       .user = w};
    leat__pass pass = {
        .resample = LEAT_RESAMPLE_PIL_BILINEAR, .height = b->size, .width = b->size, .dtype = LEAT_DTYPE_U8};
    w->height = info->height;
    w->begin = w->end = 0;
    w->stride = LEAT_ALIGN_UP((size_t)info->width * 3, (size_t)LEAT_CACHE_LINE);
    if (!leat__buf_reserve(&w->band, w->stride * BAND_ROWS) ||
        !leat__buf_reserve(&w->pixels, (size_t)b->size * (size_t)b->size * 3))
        return leat__fail_memory(err, w->stride * BAND_ROWS, "rows");
    return leat__pass_run(&pass, &w->dsp, &rows, w->pixels.data, &w->scratch, err);
}

static int run_one(void *user, uint64_t i, int number, leat_error *err) {
    const bench *b = user;
    worker *w = &workers[number];
    const leat__decode_options options = {.channels = 3};
    leat__picture_info info;
    LEAT_TRY(leat__file_read_all(b->path[i], &w->file, FILE_BYTES_MAX, err));
    LEAT_TRY(leat__decode_begin(w->decoder, w->file.data, w->file.size, &options, &info, err));
    LEAT_TRY(resize(b, w, &info, err));
    LEAT_TRY(leat__decode_end(w->decoder, err));
    const leat__pixels pixels = {.data = w->pixels.data, .height = b->size, .width = b->size, .channels = 3};
    LEAT_TRY(leat__encode_jpeg(w->encoder, &w->jpeg, &pixels, b->quality, b->quality >= 95, err));
    w->bytes += w->jpeg.size;
    return 0;
}

static uint64_t read_list(bench *b) {
    char line[PATH_MAX];
    uint64_t n = 0;
    b->path = calloc(FILES_MAX, sizeof *b->path);
    while (b->path && n < FILES_MAX && fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        b->path[n++] = strdup(line);
    }
    return n;
}

int main(int argc, char **argv) {
    leat_error err;
    const int threads = argc == 4 ? atoi(argv[1]) : 0;
    bench b = {.size = argc == 4 ? atoi(argv[2]) : 0, .quality = argc == 4 ? atoi(argv[3]) : 0};
    if (threads < 1 || threads > THREADS_MAX || b.size < 1 || b.quality < 1) {
        fprintf(stderr, "usage: bare_pack THREADS SIZE QUALITY < files\n");
        return 2;
    }
    for (int i = 0; i < threads; i++) {
        workers[i].decoder = leat__decoder_new(&err);
        workers[i].encoder = leat__encoder_new(&err);
        leat__image_dsp_init(&workers[i].dsp, leat__cpu_flags());
        if (!workers[i].decoder || !workers[i].encoder) return 1;
    }
    const uint64_t n = read_list(&b);
    if (leat__parallel(threads, n, run_one, &b, &err) < 0) {
        fprintf(stderr, "bare_pack: %s\n", err.message);
        return 1;
    }
    uint64_t bytes = 0;
    for (int i = 0; i < threads; i++) bytes += workers[i].bytes;
    printf("%llu files, %llu bytes\n", (unsigned long long)n, (unsigned long long)bytes);
    return 0;
}
