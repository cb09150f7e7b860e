/* SPDX-License-Identifier: Apache-2.0 */
/* JPEG by libjpeg-turbo and PNG by libpng, both into a buffer that grows. Neither has another way to report
 * an error than to jump, so each picture is a step that runs under a setjmp and keeps all it has in the
 * encoder. */
#include "tools/encode.h"

#include <setjmp.h>
#include <stdio.h>

#include <jpeglib.h>

#include <jerror.h>
#include <png.h>

/* Fast, and nearly as small as the default on photographs. */
enum { PNG_LEVEL = 3, PNG_FILTER = PNG_FILTER_UP, OUT_FIRST = 1 << 16 };

struct leat__encoder {
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr jpeg_errors;
    struct jpeg_destination_mgr jpeg_out;
    leat__arena arena; /* of libpng                        */
    png_structp png;
    jmp_buf jump;
    int code;
    size_t wanted; /* bytes that could not be had      */
    leat_error *err;
    leat__buf *out; /* what the step is to do           */
    const leat__pixels *pixels;
    ptrdiff_t stride;
    int quality;
    bool full_colour;
};

/* Runs a step; whatever goes wrong in a codec ends here. */
static int guarded(leat__encoder *e, void (*step)(leat__encoder *), leat_error *err) {
    e->err = err;
    e->code = 0;
    e->wanted = 0;
    if (setjmp(e->jump) == 0) step(e);
    return e->code;
}

static int check_pixels(const leat__pixels *p, int channels_max, int side_max, const char *what,
                        leat_error *err) {
    if (p->height >= 1 && p->width >= 1 && p->height <= side_max && p->width <= side_max &&
        p->channels >= 1 && p->channels <= channels_max)
        return 0;
    return leat__fail(err, LEAT_ERR_LIMIT,
                      "a picture of %d x %d pixels with %d channels cannot be stored as %s", p->width,
                      p->height, p->channels, what);
}

static ptrdiff_t stride_of(const leat__pixels *p) {
    return p->stride ? p->stride : (ptrdiff_t)p->width * p->channels;
}

/* --------------------------------------------------------------------------------------------- jpeg */

static void on_jpeg_error(j_common_ptr jpeg) {
    leat__encoder *e = jpeg->client_data;
    char words[JMSG_LENGTH_MAX];
    jpeg->err->format_message(jpeg, words);
    e->code = e->wanted ? leat__fail_memory(e->err, e->wanted, "an encoded picture")
                        : leat__fail(e->err, LEAT_ERR_UNSUPPORTED, "jpeg: %s", words);
    longjmp(e->jump, 1);
}

static void on_jpeg_message(j_common_ptr jpeg) {
    (void)jpeg;
}

static void place_jpeg(leat__encoder *e) {
    e->jpeg_out.next_output_byte = e->out->data + e->out->size;
    e->jpeg_out.free_in_buffer = e->out->cap - e->out->size;
}

static void begin_jpeg(j_compress_ptr jpeg) {
    place_jpeg(jpeg->client_data);
}

/* libjpeg has filled all of the buffer. */
static boolean grow_jpeg(j_compress_ptr jpeg) {
    leat__encoder *e = jpeg->client_data;
    e->out->size = e->out->cap;
    if (!leat__buf_reserve(e->out, e->out->cap + 1)) {
        e->wanted = e->out->cap + 1;
        ERREXIT1(jpeg, JERR_OUT_OF_MEMORY, 0);
    }
    place_jpeg(e);
    return TRUE;
}

static void end_jpeg(j_compress_ptr jpeg) {
    leat__encoder *e = jpeg->client_data;
    e->out->size = e->out->cap - e->jpeg_out.free_in_buffer;
}

static void create_jpeg_step(leat__encoder *e) {
    jpeg_create_compress(&e->jpeg);
}

static void jpeg_step(leat__encoder *e) {
    struct jpeg_compress_struct *jpeg = &e->jpeg;
    const leat__pixels *p = e->pixels;
    jpeg->dest = &e->jpeg_out;
    jpeg->image_width = (JDIMENSION)p->width;
    jpeg->image_height = (JDIMENSION)p->height;
    jpeg->input_components = p->channels;
    jpeg->in_color_space = p->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(jpeg);
    jpeg_set_quality(jpeg, e->quality, TRUE);
    if (e->full_colour) jpeg->comp_info[0].h_samp_factor = jpeg->comp_info[0].v_samp_factor = 1;
    jpeg_start_compress(jpeg, TRUE);
    while (jpeg->next_scanline < jpeg->image_height) {
        JSAMPROW row = (JSAMPROW)(p->data + (ptrdiff_t)jpeg->next_scanline * e->stride);
        jpeg_write_scanlines(jpeg, &row, 1);
    }
    jpeg_finish_compress(jpeg);
}

int leat__encode_jpeg(leat__encoder *e, leat__buf *out, const leat__pixels *pixels, int quality,
                      bool full_colour, leat_error *err) {
    LEAT_TRY(check_pixels(pixels, 3, JPEG_MAX_DIMENSION, "JPEG", err));
    if (pixels->channels == 2)
        return leat__fail(err, LEAT_ERR_LIMIT, "a picture with 2 channels cannot be stored as JPEG");
    out->size = 0;
    if (!leat__buf_reserve(out, OUT_FIRST)) return leat__fail_memory(err, OUT_FIRST, "an encoded picture");
    e->out = out;
    e->pixels = pixels;
    e->stride = stride_of(pixels);
    e->quality = LEAT_CLAMP(quality, 1, 100);
    e->full_colour = full_colour;
    const int rc = guarded(e, jpeg_step, err);
    if (rc < 0) jpeg_abort_compress(&e->jpeg);
    return rc;
}

/* ---------------------------------------------------------------------------------------------- png */

static PNG_NORETURN void on_png_error(png_structp png, png_const_charp words) {
    leat__encoder *e = png_get_error_ptr(png);
    e->code = e->wanted ? leat__fail_memory(e->err, e->wanted, "an encoded picture")
                        : leat__fail(e->err, LEAT_ERR_UNSUPPORTED, "png: %s", words);
    longjmp(e->jump, 1);
}

static void on_png_warning(png_structp png, png_const_charp words) {
    (void)png, (void)words;
}

static png_voidp take(png_structp png, png_alloc_size_t bytes) {
    leat__encoder *e = png_get_mem_ptr(png);
    void *piece = leat__arena_alloc(&e->arena, bytes);
    if (!piece) e->wanted = bytes;
    return piece;
}

static void give_back(png_structp png, png_voidp piece) {
    (void)png, (void)piece; /* the arena's reset does it */
}

static void put_png(png_structp png, png_bytep bytes, size_t n) {
    leat__encoder *e = png_get_io_ptr(png);
    if (leat__buf_append(e->out, bytes, n)) return;
    e->wanted = n;
    png_error(png, "no memory");
}

static void flush_png(png_structp png) {
    (void)png;
}

static void png_step(leat__encoder *e) {
    static const int colours[] = {0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                  PNG_COLOR_TYPE_RGBA};
    const leat__pixels *p = e->pixels;
    e->png =
        png_create_write_struct_2(PNG_LIBPNG_VER_STRING, e, on_png_error, on_png_warning, e, take, give_back);
    if (!e->png) {
        e->code = e->wanted ? leat__fail_memory(e->err, e->wanted, "an encoded picture")
                            : leat__fail(e->err, LEAT_ERR_UNSUPPORTED,
                                         "png: libpng is not the version leat was made for");
        return;
    }
    const png_infop info = png_create_info_struct(e->png);
    if (!info) png_error(e->png, "no memory");
    png_set_write_fn(e->png, e, put_png, flush_png);
    png_set_compression_level(e->png, PNG_LEVEL);
    png_set_filter(e->png, PNG_FILTER_TYPE_BASE, PNG_FILTER);
    png_set_IHDR(e->png, info, (png_uint_32)p->width, (png_uint_32)p->height, 8, colours[p->channels],
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(e->png, info);
    for (int y = 0; y < p->height; y++) png_write_row(e->png, p->data + (ptrdiff_t)y * e->stride);
    png_write_end(e->png, NULL);
}

int leat__encode_png(leat__encoder *e, leat__buf *out, const leat__pixels *pixels, leat_error *err) {
    LEAT_TRY(check_pixels(pixels, 4, 1000000, "PNG", err)); /* libpng's own limit of a side */
    out->size = 0;
    e->out = out;
    e->pixels = pixels;
    e->stride = stride_of(pixels);
    const int rc = guarded(e, png_step, err);
    e->png = NULL; /* all of it lies in the arena */
    leat__arena_reset(&e->arena);
    return rc;
}

/* ---------------------------------------------------------------------------------------- lifetime */

leat__encoder *leat__encoder_new(leat_error *err) {
    leat__encoder *e = leat__alloc(LEAT_MEM_TOOL, sizeof *e);
    if (!e) {
        leat__fail_memory(err, sizeof *e, "an encoder");
        return NULL;
    }
    e->arena.kind = LEAT_MEM_TOOL;
    e->jpeg.err = jpeg_std_error(&e->jpeg_errors);
    e->jpeg_errors.error_exit = on_jpeg_error;
    e->jpeg_errors.output_message = on_jpeg_message;
    e->jpeg.client_data = e;
    if (guarded(e, create_jpeg_step, err) < 0) {
        leat__encoder_free(&e);
        return NULL;
    }
    e->jpeg_out = (struct jpeg_destination_mgr){
        .init_destination = begin_jpeg, .empty_output_buffer = grow_jpeg, .term_destination = end_jpeg};
    return e;
}

void leat__encoder_free(leat__encoder **encoder) {
    leat__encoder *e = *encoder;
    if (!e) return;
    jpeg_destroy_compress(&e->jpeg);
    leat__arena_free(&e->arena);
    leat__free(e);
    *encoder = NULL;
}
