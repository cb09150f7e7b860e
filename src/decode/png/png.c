/* SPDX-License-Identifier: Apache-2.0 */
/* PNG. The header is read by ourselves, so that sizes are checked before any decoder sees the file. What is regular and not
 * interlaced is decoded by our own decoder (png_own.c), everything else by libpng's row-by-row reader. The moment our own
 * decoder meets anything irregular, libpng takes over (take_over): it decodes the file from its beginning, the rows that were
 * given out already are dropped, and from there on rows and messages are its own.
 *
 * Whatever decodes a file, and whatever part of it is wanted: IEND must be there, and the checksums of all pixels, of IEND
 * and of critical chunks between them must be right. This is found before the first row.
 *
 * libpng (and zlib under it) allocates from the picture's arena; its structs live for one picture. libpng unfilters, unpacks,
 * drops the low byte of 16 unless all are wanted, and turns a transparent colour into alpha when alpha is wanted; palettes
 * and channels are ours. Chunks that do not say what the pixels are (profiles, text, gamma, EXIF) are skipped unread, so
 * that none of them can inflate into anything. An index past the end of the palette is black; with options.indices it is
 * given out as it is. libpng's warnings are ignored (they are about ancillary chunks and surplus data). A wrong checksum of
 * a critical chunk, a missing end chunk and too little data are errors. */
#include "decode/codec.h"
#include "decode/png/png_own.h"

#include <setjmp.h>

#include <png.h>

typedef struct png_state {
    png_structp png;
    png_infop info;
    leat__decode_job *job;
    size_t at; /* next byte to read                              */
    jmp_buf jump;
    leat_error *err;
    int code;
    size_t wanted; /* bytes that could not be had                    */
    bool indexed;
    int raw_channels; /* of what either decoder gives; 1 if indexed     */
    size_t raw_stride;
    uint8_t *raw;           /* a row, or all rows if interlaced, or NULL when
                                 libpng can write into dst                      */
    uint8_t table[4 * 256]; /* the palette in the channels wanted             */
    leat__png_chunks chunks;
    leat__png_own *own;
    bool is_own;   /* it decodes this picture                        */
    int n_given;   /* rows of its                                    */
    leat__box box; /* what rows are given of                         */
    uint8_t *dst;  /* what rows_step is to do                        */
    ptrdiff_t stride;
    int n_rows;
} png_state;

/* ----------------------------------------------------------------------------------------- callbacks */

static PNG_NORETURN void on_error(png_structp png, png_const_charp words) {
    png_state *s = png_get_error_ptr(png);
    if (s->wanted) s->code = leat__decode_alloc_failed(s->job->arena, "png", s->wanted, s->err);
    else s->code = leat__fail(s->err, LEAT_ERR_DECODE, "png: %s", words);
    longjmp(s->jump, 1);
}

static void on_warning(png_structp png, png_const_charp words) {
    (void)png, (void)words;
}

static png_voidp take(png_structp png, png_alloc_size_t bytes) {
    png_state *s = png_get_mem_ptr(png);
    void *piece = leat__arena_alloc(s->job->arena, bytes);
    if (!piece) s->wanted = bytes;
    return piece;
}

static void give_back(png_structp png, png_voidp piece) {
    (void)png, (void)piece; /* the arena's reset does it */
}

static void read_bytes(png_structp png, png_bytep dst, size_t n) {
    png_state *s = png_get_io_ptr(png);
    if (n > s->job->n - s->at) png_error(png, LEAT_TRUNCATED);
    memcpy(dst, s->job->bytes + s->at, n);
    s->at += n;
}

/* Runs a step; whatever goes wrong in libpng ends here. */
static int guarded(png_state *s, void (*step)(png_state *), leat_error *err) {
    s->err = err;
    s->code = 0;
    if (setjmp(s->jump) == 0) step(s);
    return s->code;
}

/* ---------------------------------------------------------------------------------------------- steps */

/* palette: n_colours times red, green and blue. */
static void fill_table(png_state *s, const uint8_t *palette, int n_colours, const uint8_t *alpha,
                       int n_alpha) {
    for (int i = 0; i < 256; i++) {
        uint8_t rgba[4] = {0, 0, 0, 255};
        if (i < n_colours) memcpy(rgba, palette + 3 * i, 3);
        if (i < n_alpha) rgba[3] = alpha[i];
        leat__channels_pixel(s->table + 4 * i, s->job->info.channels, rgba);
    }
}

static void fill_table_from_libpng(png_state *s) {
    png_colorp palette = NULL;
    png_bytep alpha = NULL;
    int n_colours = 0, n_alpha = 0;
    png_get_PLTE(s->png, s->info, &palette, &n_colours);
    png_get_tRNS(s->png, s->info, &alpha, &n_alpha, NULL);
    static_assert(sizeof *palette == 3, "libpng's colours are three bytes");
    fill_table(s, (const uint8_t *)palette, n_colours, alpha, n_alpha);
}

/* PNG's samples are big-endian. */
static bool little_endian(void) {
    const uint16_t one = 1;
    uint8_t first;
    memcpy(&first, &one, 1);
    return first == 1;
}

static void begin_step(png_state *s) {
    const leat__decode_job *job = s->job;
    s->png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, s, on_error, on_warning, s, take, give_back);
    if (!s->png) { /* libpng has called on_warning, or nothing */
        if (s->wanted) s->code = leat__decode_alloc_failed(job->arena, "png", s->wanted, s->err);
        else
            s->code =
                leat__fail(s->err, LEAT_ERR_UNSUPPORTED, "png: libpng is not the version leat was made for");
        return;
    }
    s->info = png_create_info_struct(s->png);
    if (!s->info) png_error(s->png, "no memory");
    png_set_read_fn(s->png, s, read_bytes);
    png_set_user_limits(s->png, (png_uint_32)job->info.width, (png_uint_32)job->info.height);
    /* A negative count means all chunks but IHDR, PLTE, tRNS, IDAT and IEND. */
    png_set_keep_unknown_chunks(s->png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
    png_set_check_for_invalid_index(s->png, 0);
    png_set_option(s->png, PNG_MAXIMUM_INFLATE_WINDOW, PNG_OPTION_ON);
    png_read_info(s->png, s->info);

    const int colour = png_get_color_type(s->png, s->info), bits = png_get_bit_depth(s->png, s->info);
    s->indexed = colour == PNG_COLOR_TYPE_PALETTE && !job->options.indices;
    if (s->indexed) fill_table_from_libpng(s);
    if (colour == PNG_COLOR_TYPE_PALETTE) {
        png_set_packing(s->png);
    } else {
        if (bits < 8) png_set_expand_gray_1_2_4_to_8(s->png);
        if (job->info.channels == 4 && png_get_valid(s->png, s->info, PNG_INFO_tRNS))
            png_set_tRNS_to_alpha(s->png);
        if (bits == 16 && !job->deep) png_set_strip_16(s->png);
        if (job->deep && little_endian()) png_set_swap(s->png);
    }
    png_set_interlace_handling(s->png);
    png_read_update_info(s->png, s->info);

    s->raw_channels = png_get_channels(s->png, s->info);
    s->raw_stride = png_get_rowbytes(s->png, s->info);
    if (s->raw_stride != ((size_t)job->info.width * (size_t)s->raw_channels) << job->deep)
        png_error(s->png, "rows are not of the size that the header tells");
}

/* raw: the part of a row that is wanted. */
static void give_row(png_state *s, uint8_t *dst, const uint8_t *raw) {
    const int channels = s->job->info.channels;
    const size_t width = (size_t)s->box.width;
    if (s->indexed) leat__channels_lookup(dst, channels, raw, s->table, width);
    else if (s->job->deep) leat__channels_convert_deep(dst, channels, raw, s->raw_channels, width);
    else leat__channels_convert(dst, channels, raw, s->raw_channels, width);
}

static void rows_step(png_state *s) {
    const size_t skipped = ((size_t)s->box.x * (size_t)s->raw_channels) << s->job->deep;
    for (int i = 0; i < s->n_rows; i++) {
        uint8_t *dst = s->dst + i * s->stride;
        png_read_row(s->png, s->raw ? s->raw : dst, NULL);
        if (s->raw) give_row(s, dst, s->raw + skipped);
    }
}

static void skip_step(png_state *s) {
    for (int i = 0; i < s->n_rows; i++) png_read_row(s->png, s->raw, NULL);
}

/* Seven passes over the picture, each of which fills in its pixels. */
static void interlaced_step(png_state *s) {
    uint8_t *base = s->raw ? s->raw : s->dst;
    const ptrdiff_t stride = s->raw ? (ptrdiff_t)s->raw_stride : s->stride;
    for (int pass = 0; pass < PNG_INTERLACE_ADAM7_PASSES; pass++)
        for (int y = 0; y < s->n_rows; y++) png_read_row(s->png, base + y * stride, NULL);
    if (!s->raw) return;
    for (int y = 0; y < s->n_rows; y++) give_row(s, s->dst + y * s->stride, s->raw + y * stride);
}

static void finish_step(png_state *s) {
    png_read_end(s->png, NULL);
}

/* ---------------------------------------------------------------------------------------------- codec */

static int init(void *state, leat__arena *arena, leat_error *err) {
    png_state *s = state;
    (void)arena;
    s->own = leat__png_own_new();
    return s->own ? 0 : leat__fail_memory(err, sizeof *s, "decoder");
}

static void destroy(void *state) {
    leat__png_own_free(((png_state *)state)->own);
}

static int header(void *state, leat__decode_job *job, leat_error *err) {
    png_state *s = state;
    *s = (png_state){.job = job, .own = s->own};
    if (job->n < 33) return leat__fail(err, LEAT_ERR_DECODE, "png: " LEAT_TRUNCATED);
    const uint8_t *ihdr = job->bytes + 8;
    if (leat__load_be32(ihdr) != 13 || memcmp(ihdr + 4, "IHDR", 4) != 0)
        return leat__fail(err, LEAT_ERR_DECODE, "png: the first chunk is not IHDR");
    const uint32_t width = leat__load_be32(ihdr + 8), height = leat__load_be32(ihdr + 12);
    if (width > INT32_MAX || height > INT32_MAX)
        return leat__fail(err, LEAT_ERR_DECODE, "png: %" PRIu32 " x %" PRIu32 " pixels cannot be", width,
                          height);
    job->info.width = (int)width;
    job->info.height = (int)height;
    job->info.bits = ihdr[16];
    job->deep = job->options.deep && job->info.bits == 16;
    job->info.progressive = job->whole = ihdr[20] != 0;
    leat__png_chunks_walk(&s->chunks, job->bytes, job->n);
    if (s->chunks.exif)
        job->info.orientation = leat__exif_block_orientation(job->bytes + s->chunks.exif, s->chunks.n_exif);
    job->info.detour = s->chunks.detour;
    job->ends = s->chunks.end > 0;
    switch (ihdr[17]) {
    case PNG_COLOR_TYPE_GRAY: job->info.stored_channels = 1, job->info.channels = 1; break;
    case PNG_COLOR_TYPE_GRAY_ALPHA: job->info.stored_channels = 2, job->info.channels = 4; break;
    case PNG_COLOR_TYPE_RGB_ALPHA: job->info.stored_channels = 4, job->info.channels = 4; break;
    /* As TensorFlow: a palette with transparency is RGBA, one transparent colour does not make it so. */
    case PNG_COLOR_TYPE_PALETTE:
        job->info.stored_channels = job->info.channels = s->chunks.alpha ? 4 : 3;
        if (job->options.indices) job->info.channels = 1;
        break;
    case PNG_COLOR_TYPE_RGB: job->info.stored_channels = 3, job->info.channels = 3; break;
    default: return leat__fail(err, LEAT_ERR_DECODE, "png: colour type %d is none", ihdr[17]);
    }
    return 0;
}

/* What is an error whatever part of the picture is wanted, and whatever decodes it. IEND is there: see ends.c. */
static int check_chunks(const png_state *s, leat_error *err) {
    const size_t wrong = leat__png_chunks_check(&s->chunks, s->job->bytes);
    if (!wrong) return 0;
    return leat__fail(err, LEAT_ERR_DECODE, "png: %.4s: CRC error", (const char *)s->job->bytes + wrong + 4);
}

static bool begin_own(png_state *s) {
    const leat__png_chunks *c = &s->chunks;
    const uint8_t *bytes = s->job->bytes;
    if (s->job->options.reference || c->detour || !leat__png_chunks_check_head(c, bytes)) return false;
    if (!leat__png_own_begin(s->own, s->job, c)) return false;
    s->raw_channels = leat__png_own_channels(s->own);
    s->indexed = c->colour == PNG_COLOR_TYPE_PALETTE && !s->job->options.indices;
    if (s->indexed)
        fill_table(s, bytes + c->palette, (int)(c->n_palette / 3), bytes + c->alpha, (int)c->n_alpha);
    return true;
}

static int begin_libpng(png_state *s, leat__decode_job *job, bool through_raw, leat_error *err) {
    LEAT_TRY(guarded(s, begin_step, err));
    if (through_raw || s->indexed || s->raw_channels != job->info.channels) {
        s->raw = leat__decode_alloc(job, s->raw_stride, job->whole ? (size_t)job->info.height : 1, err);
        if (!s->raw) return err->code;
    }
    return 0;
}

static int begin(void *state, leat__decode_job *job, leat_error *err) {
    png_state *s = state;
    s->box = (leat__box){.width = job->info.width, .height = job->info.height};
    LEAT_TRY(check_chunks(s, err));
    s->is_own = begin_own(s);
    return s->is_own ? 0 : begin_libpng(s, job, false, err);
}

/* From our own decoder, behind the rows that it gave. */
static int take_over(png_state *s, leat__decode_job *job, leat_error *err) {
    s->is_own = false;
    LEAT_TRY(begin_libpng(s, job, true, err));
    s->n_rows = s->box.y + s->n_given;
    return guarded(s, skip_step, err);
}

/* Rows of libpng come whole, those of our own decoder need not. */
static int region(void *state, leat__decode_job *job, const leat__box *box, leat__box *taken,
                  leat_error *err) {
    png_state *s = state;
    (void)job, (void)err;
    if (!s->is_own) return 0;
    s->box = *taken = *box;
    leat__png_own_region(s->own, box);
    return 0;
}

static int rows(void *state, leat__decode_job *job, uint8_t *dst, ptrdiff_t stride, int n_rows,
                leat_error *err) {
    png_state *s = state;
    for (; s->is_own && n_rows > 0; n_rows--, dst += stride) {
        const uint8_t *raw = leat__png_own_row(s->own);
        if (!raw) {
            LEAT_TRY(take_over(s, job, err));
            break;
        }
        give_row(s, dst, raw);
        s->n_given++;
    }
    if (s->is_own) return 0;
    s->dst = dst, s->stride = stride, s->n_rows = n_rows;
    return guarded(s, job->whole ? interlaced_step : rows_step, err);
}

static int end(void *state, leat__decode_job *job, bool complete, leat_error *err) {
    png_state *s = state;
    (void)job;
    const int rc = complete && !s->is_own ? guarded(s, finish_step, err) : 0;
    if (s->png) png_destroy_read_struct(&s->png, &s->info, NULL);
    return rc;
}

const leat__codec_ops leat__codec_png = {.name = "png",
                                         .state_bytes = sizeof(png_state),
                                         .init = init,
                                         .destroy = destroy,
                                         .header = header,
                                         .begin = begin,
                                         .region = region,
                                         .rows = rows,
                                         .end = end};
