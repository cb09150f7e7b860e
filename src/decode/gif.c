/* SPDX-License-Identifier: Apache-2.0 */
/* GIF: the first frame, through giflib record by record (DGifSlurp would read and keep every frame). giflib
 * allocates for itself: some 50 KiB, whatever the file says.
 *
 * The blocks before the first frame are walked here, so that its place and its transparent colour are
 * known and checked before giflib sees the file. As TensorFlow does, the frame is drawn on a canvas of
 * zeros, transparent pixels leave it as it is, and an index past the end of the palette is an error. A
 * screen of 0 x 0 takes the size of the frame, a file without any palette is a gray ramp. Of what follows
 * the first frame only the end is looked for (ends.c). */
#include "decode/codec.h"

#include <gif_lib.h>

typedef struct gif_state {
    const leat__decode_job *job;
    size_t at;
    GifFileType *gif;
    int left, top, width, height;
    int transparent; /* index, -1 if none */
    uint8_t *line;
    uint8_t table[4 * 256];
    int n_colours;
} gif_state;

static int truncated(leat_error *err) {
    return leat__fail(err, LEAT_ERR_DECODE, "gif: " LEAT_TRUNCATED);
}

static int fail(leat_error *err, int status) {
    if (status == D_GIF_ERR_READ_FAILED) return truncated(err);
    if (status == D_GIF_ERR_NOT_ENOUGH_MEM) return leat__fail(err, LEAT_ERR_MEMORY, "gif: no memory");
    const char *words = GifErrorString(status);
    return leat__fail(err, LEAT_ERR_DECODE, "gif: %s", words ? words : "the data is damaged");
}

static int read_bytes(GifFileType *gif, GifByteType *dst, int n) {
    gif_state *s = gif->UserData;
    const size_t there = s->job->n - s->at;
    const size_t got = LEAT_MIN((size_t)LEAT_MAX(n, 0), there);
    memcpy(dst, s->job->bytes + s->at, got);
    s->at += got;
    return (int)got;
}

/* Walks to the first image descriptor and returns its offset; remembers the transparent colour. */
static int find_frame(gif_state *s, const leat__decode_job *job, size_t *frame, leat_error *err) {
    const uint8_t *b = job->bytes;
    const size_t n = job->n;
    if (n < 13) return truncated(err);
    size_t at = 13;
    if (b[10] & 0x80) at += (size_t)3 << ((b[10] & 7) + 1);
    while (at < n) {
        if (b[at] == 0x2c) { /* image descriptor */
            if (n - at < 10) break;
            *frame = at;
            return 0;
        }
        if (b[at] == 0x3b) return leat__fail(err, LEAT_ERR_DECODE, "gif: there is no picture in it");
        if (b[at] != 0x21) return leat__fail(err, LEAT_ERR_DECODE, "gif: no block begins with 0x%02x", b[at]);
        if (n - at < 3) break;
        if (b[at + 1] == 0xf9 && b[at + 2] >= 4 && n - at >= 7)
            s->transparent = b[at + 3] & 1 ? b[at + 6] : -1;
        at += 2;
        while (at < n && b[at] != 0) at += 1 + (size_t)b[at];
        at++;
    }
    return truncated(err);
}

static int header(void *state, leat__decode_job *job, leat_error *err) {
    gif_state *s = state;
    *s = (gif_state){.job = job, .transparent = -1};
    size_t frame = 0;
    LEAT_TRY(find_frame(s, job, &frame, err));
    const uint8_t *d = job->bytes + frame;
    const size_t codes = frame + 10 + (d[9] & 0x80 ? (size_t)3 << ((d[9] & 7) + 1) : 0);
    if (codes >= job->n) return truncated(err);
    if (job->bytes[codes] > 8) /* giflib would say that the file is truncated */
        return leat__fail(err, LEAT_ERR_DECODE, "gif: pixels of %d bits cannot be", job->bytes[codes]);
    s->left = leat__load_u16(d + 1), s->top = leat__load_u16(d + 3);
    s->width = leat__load_u16(d + 5), s->height = leat__load_u16(d + 7);
    job->info.width = leat__load_u16(job->bytes + 6);
    job->info.height = leat__load_u16(job->bytes + 8);
    if (job->info.width == 0) job->info.width = s->left + s->width;
    if (job->info.height == 0) job->info.height = s->top + s->height;
    job->info.stored_channels = job->info.channels = 3;
    job->info.bits = 8;
    job->info.progressive = (d[9] & 0x40) != 0;
    job->whole = true;
    return 0;
}

/* giflib up to the pixels of the first frame. */
static int open_frame(gif_state *s, leat_error *err) {
    int status = 0;
    s->gif = DGifOpen(s, read_bytes, &status);
    if (!s->gif) return fail(err, status);
    for (;;) {
        GifRecordType type;
        GifByteType *block = NULL;
        int code;
        if (DGifGetRecordType(s->gif, &type) == GIF_ERROR) return fail(err, s->gif->Error);
        if (type == IMAGE_DESC_RECORD_TYPE) break;
        if (type != EXTENSION_RECORD_TYPE) return fail(err, D_GIF_ERR_WRONG_RECORD);
        if (DGifGetExtension(s->gif, &code, &block) == GIF_ERROR) return fail(err, s->gif->Error);
        while (block)
            if (DGifGetExtensionNext(s->gif, &block) == GIF_ERROR) return fail(err, s->gif->Error);
    }
    if (DGifGetImageDesc(s->gif) == GIF_ERROR) return fail(err, s->gif->Error);
    const GifImageDesc *desc = &s->gif->Image;
    if (desc->Left != s->left || desc->Top != s->top || desc->Width != s->width || desc->Height != s->height)
        return leat__fail(err, LEAT_ERR_DECODE, "gif: the first frame cannot be found");
    return 0;
}

static void fill_table(gif_state *s, int channels) {
    const ColorMapObject *map = s->gif->Image.ColorMap ? s->gif->Image.ColorMap : s->gif->SColorMap;
    s->n_colours = map ? LEAT_MIN(map->ColorCount, 256) : 256;
    for (int i = 0; i < s->n_colours; i++) {
        uint8_t rgba[4] = {(uint8_t)i, (uint8_t)i, (uint8_t)i, 255};
        if (map) rgba[0] = map->Colors[i].Red, rgba[1] = map->Colors[i].Green, rgba[2] = map->Colors[i].Blue;
        leat__channels_pixel(s->table + 4 * i, channels, rgba);
    }
}

static int begin(void *state, leat__decode_job *job, leat_error *err) {
    gif_state *s = state;
    if (s->width < 1 || s->height < 1)
        return leat__fail(err, LEAT_ERR_DECODE, "gif: the first frame is %d x %d pixels", s->width,
                          s->height);
    /* A frame may be larger than the canvas, and then costs its own size in time. */
    const uint64_t pixels = (uint64_t)s->width * (uint64_t)s->height;
    if (pixels > job->options.pixels_max)
        return leat__fail(err, LEAT_ERR_LIMIT,
                          "gif: the first frame is %d x %d = %" PRIu64 " pixels; the limit is %" PRIu64,
                          s->width, s->height, pixels, job->options.pixels_max);
    LEAT_TRY(open_frame(s, err));
    fill_table(s, job->info.channels);
    s->line = leat__decode_alloc(job, (size_t)s->width, 1, err);
    return s->line ? 0 : err->code;
}

/* One line of the frame onto the canvas, clipped. */
static int draw_line(gif_state *s, const leat__decode_job *job, uint8_t *dst, ptrdiff_t stride, int y,
                     leat_error *err) {
    if (DGifGetLine(s->gif, s->line, s->width) == GIF_ERROR) return fail(err, s->gif->Error);
    for (int x = 0; x < s->width; x++)
        if (s->line[x] >= s->n_colours && s->line[x] != s->transparent)
            return leat__fail(err, LEAT_ERR_DECODE, "gif: colour %d of a palette of %d", s->line[x],
                              s->n_colours);
    const int channels = job->info.channels;
    const int width = LEAT_MIN(s->width, job->info.width - s->left);
    if (s->top + y >= job->info.height || width <= 0) return 0;
    uint8_t *out = dst + (s->top + y) * stride + s->left * channels;
    if (s->transparent < 0) {
        leat__channels_lookup(out, channels, s->line, s->table, (size_t)width);
        return 0;
    }
    for (int x = 0; x < width; x++, out += channels)
        if (s->line[x] != s->transparent) memcpy(out, s->table + 4 * s->line[x], (size_t)channels);
    return 0;
}

static int rows(void *state, leat__decode_job *job, uint8_t *dst, ptrdiff_t stride, int n_rows,
                leat_error *err) {
    static const int starts[] = {0, 4, 2, 1}, steps[] = {8, 8, 4, 2};
    gif_state *s = state;
    for (int y = 0; y < n_rows; y++)
        memset(dst + y * stride, 0, (size_t)job->info.width * (size_t)job->info.channels);
    if (!s->gif->Image.Interlace) {
        for (int y = 0; y < s->height; y++) LEAT_TRY(draw_line(s, job, dst, stride, y, err));
        return 0;
    }
    for (int pass = 0; pass < 4; pass++)
        for (int y = starts[pass]; y < s->height; y += steps[pass])
            LEAT_TRY(draw_line(s, job, dst, stride, y, err));
    return 0;
}

static int end(void *state, leat__decode_job *job, bool complete, leat_error *err) {
    gif_state *s = state;
    (void)job, (void)complete, (void)err;
    if (s->gif) DGifCloseFile(s->gif, NULL);
    s->gif = NULL;
    return 0;
}

const leat__codec_ops leat__codec_gif = {.name = "gif",
                                         .state_bytes = sizeof(gif_state),
                                         .header = header,
                                         .begin = begin,
                                         .rows = rows,
                                         .end = end};
