/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the positions inside a JPEG. The first byte chooses, two more place a part of the picture, the rest are what
 * follows the header of a file of positions:
 *     bit 0  the first entry is made to be of this picture, and its block sealed: then all of it reaches the decoder, and
 *            pixels may be wrong, but nothing else; otherwise pixels are those that come without
 *     bit 1  the block's sizes are made to fit as well
 *     bit 2  checksums of entries are made right from the second one on too
 * tries: cache/jpeg_store* format/kept/positions.* format/kept/segment.* decode/jpeg/jpeg_positions.* */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jpeglib.h>

#include "base/hash.h"
#include "cache/jpeg_store.h"
#include "format/kept/positions.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WIDTH = 203, HEIGHT = 90, CHOICES = 3, ENTRY = LEAT_SEGMENT_HEAD + 8, BLOCK = 24, NOTE = 10 };

static char root[100];
static unsigned char *picture;
static unsigned long picture_n;
static leat__decoder *decoder;

static void require(bool truth) {
    if (!truth) abort();
}

static const char *path_of(const char *name) {
    static char path[200];
    snprintf(path, sizeof path, "%s/%s", root, name);
    return path;
}

static void clean_up(void) {
    unlink(path_of(".photos.positions.leatseg"));
    rmdir(root);
    leat__decoder_free(&decoder);
    free(picture);
}

/* Noise, so that there is something to go past; chroma of half the size. */
static void set_up(void) {
    snprintf(root, sizeof root, "%s/leat-fuzz-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    require(mkdtemp(root) != NULL);
    atexit(clean_up);
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_compress(&jpeg);
    jpeg_mem_dest(&jpeg, &picture, &picture_n);
    jpeg.image_width = WIDTH;
    jpeg.image_height = HEIGHT;
    jpeg.input_components = 3;
    jpeg.in_color_space = JCS_RGB;
    jpeg_set_defaults(&jpeg);
    jpeg_start_compress(&jpeg, TRUE);
    uint32_t noise = 1;
    uint8_t row[3 * WIDTH], *rows[1] = {row};
    while (jpeg.next_scanline < HEIGHT) {
        for (size_t i = 0; i < sizeof row; i++)
            row[i] = (uint8_t)((noise = noise * 1664525 + 1013904223) >> 24);
        jpeg_write_scanlines(&jpeg, rows, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    decoder = leat__decoder_new(NULL);
    require(decoder != NULL);
}

/* Right checksums for the entry at the beginning of n bytes, whatever it holds; the bytes of it, 0 if it does not fit. */
static size_t mend(uint8_t *entry, size_t n) {
    if (n < ENTRY + 8) return 0;
    const uint64_t length =
        LEAT_MIN(leat__load_u64(entry + 8), (n - LEAT_SEGMENT_HEAD) / 32 * 32) & ~UINT64_C(7);
    const leat__segment_entry head = {
        .sample = leat__load_u64(entry),
        .length = length,
        .checksum = leat__segment_checksum(leat__load_u64(entry), entry + LEAT_SEGMENT_HEAD, length)};
    leat__segment_write_head(entry, &head);
    const size_t stride = (size_t)leat__segment_stride(length);
    return stride <= n ? stride : 0;
}

/* The first entry becomes one of this picture. */
static void adopt(uint8_t *entry, size_t n, bool fit) {
    const uint64_t key = leat__jpeg_store_key(picture, picture_n);
    if (n < ENTRY + BLOCK + 8) return;
    memcpy(entry, &key, sizeof key);
    memset(entry + LEAT_SEGMENT_HEAD + 4, 0, 4);
    const size_t room = (n - LEAT_SEGMENT_HEAD) / 32 * 32 - 8;
    uint32_t size = (uint32_t)LEAT_MIN((size_t)leat__load_u32(entry + LEAT_SEGMENT_HEAD), room);
    uint8_t *block = entry + ENTRY;
    if (fit && size >= BLOCK) {
        const uint16_t across = (WIDTH + 15) / 16, down = (HEIGHT + 15) / 16,
                       step = (uint16_t)(1 + block[12] % across);
        const uint32_t all = (uint32_t)(across + step - 1) / step * down;
        const uint32_t count = LEAT_MIN((size - BLOCK) / NOTE, all);
        memcpy(block + 8, &across, 2);
        memcpy(block + 10, &down, 2);
        memcpy(block + 12, &step, 2);
        memcpy(block + 16, &count, 4);
        size = BLOCK + count * NOTE;
    }
    leat__store_u32(entry + LEAT_SEGMENT_HEAD, size);
    if (size >= BLOCK) {
        const uint64_t seal = leat__hash(block + 8, size - 8, key);
        memcpy(block, &seal, sizeof seal);
    }
    mend(entry, n);
}

static void put_file(const uint8_t *entries, size_t n) {
    uint8_t header[LEAT_SEGMENT_HEADER];
    leat__positions_write_header(header);
    const int fd = open(path_of(".photos.positions.leatseg"), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    require(fd >= 0 && write(fd, header, sizeof header) == (ssize_t)sizeof header);
    require(write(fd, entries, n) == (ssize_t)n && close(fd) == 0);
}

/* What the parser finds lies inside of the bytes, and it goes on. In memory of its own size. */
static void parse(const uint8_t *entries, size_t n) {
    for (int last = 0; last < 2; last++) {
        leat__positions_entry entry;
        size_t at = 0;
        while (leat__positions_next(entries, n, last, &at, &entry)) {
            require(at % LEAT_SEGMENT_UNIT == 0 && entry.size <= entry.cap &&
                    entry.cap <= LEAT_POSITIONS_CAP);
            require(entry.block >= entries + at && entry.block + entry.size <= entries + n);
            at += leat__positions_stride(entry.cap);
            require(at <= n);
        }
        require(at <= n);
    }
}

static int decode(const leat__box *box, leat__decode_positions *store, uint8_t *rows) {
    const leat__decode_options options = {.positions = store};
    leat__picture_info info;
    require(leat__decode_begin(decoder, picture, picture_n, &options, &info, NULL) == 0);
    int rc = leat__decode_region(decoder, box, NULL);
    if (rc == 0) rc = leat__decode_rows(decoder, rows, 3 * (ptrdiff_t)box->width, box->height, NULL);
    leat__decode_end(decoder, NULL);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static uint8_t with[3 * WIDTH * HEIGHT], without[3 * WIDTH * HEIGHT];
    if (!root[0]) set_up();
    if (size < CHOICES) return 0;
    const size_t n = size - CHOICES;
    uint8_t *entries = malloc(n ? n : 1);
    require(entries);
    if (n) memcpy(entries, data + CHOICES, n);
    if (data[0] & 1) adopt(entries, n, data[0] & 2);
    if (data[0] & 4)
        for (size_t at = 0, step = 1; step; at += step) step = mend(entries + at, n - at);
    put_file(entries, n);
    parse(entries, n);
    free(entries);
    const leat__open_options open = {.n_threads = 1, .cache_dir = "/proc/leat"};
    const leat__jpeg_store_options options = {
        .bytes_max = 1 << 20, .n_files = 10, .home = path_of("photos"), .open = &open};
    leat__jpeg_store *store;
    leat__decode_positions noted;
    leat__buf block = {.kind = LEAT_MEM_WORKER};
    require(leat__jpeg_store_open(&store, &options, NULL) == 0);
    const leat__box box = {WIDTH * data[1] / 256, HEIGHT * data[2] / 256, WIDTH - WIDTH * data[1] / 256,
                           1 + (HEIGHT - HEIGHT * data[2] / 256 - 1) / 2};
    for (int round = 0; round < 2; round++) {
        if (!leat__jpeg_store_take(store, picture, picture_n, &block, &noted)) continue;
        const int rc = decode(&box, &noted, with);
        if (rc == 0) leat__jpeg_store_put(store, &noted);
        if (data[0] & 1) continue;
        require(rc == 0 && decode(&box, NULL, without) == 0);
        require(memcmp(with, without, 3 * (size_t)box.width * (size_t)box.height) == 0);
    }
    require(leat__jpeg_store_start(store, NULL) < 0); /* nothing can be kept there */
    leat__buf_free(&block);
    leat__jpeg_store_close(&store);
    return 0;
}
