/* SPDX-License-Identifier: Apache-2.0 */
/* libjpeg's compressor works like its decompressor in jpeg.c: its memory is an arena, every picture meets the
 * object as it was created, and trouble jumps to the one setjmp. */
#include "decode/jpeg/reencode.h"

#include "decode/codec.h"
#include "decode/jpeg/jpeg_memory.h"

#include <setjmp.h>
#include <stdio.h>

#include <jpeglib.h>

#include <jerror.h>

enum { ROWS_AT_ONCE = 16 };

struct leat__reencoder {
    struct jpeg_compress_struct jpeg;
    struct jpeg_compress_struct fresh; /* as created                            */
    struct jpeg_error_mgr errors;
    struct jpeg_destination_mgr target;
    leat__jpeg_memory *memory;
    leat__arena *arena;
    leat__buf *out;
    jmp_buf jump;
    leat_error *err; /* of the call now under guarded()       */
    int code;
    /* what the step is to do */
    const uint8_t *src;
    size_t row_bytes;
    int height, width, channels, quality;
};

static void on_error(j_common_ptr jpeg) {
    leat__reencoder *r = jpeg->client_data;
    if (jpeg->err->msg_code == JERR_OUT_OF_MEMORY) {
        const size_t wanted = r->memory ? leat__jpeg_memory_wanted(r->memory) : 0;
        r->code = leat__fail_memory(r->err,
                                    wanted   ? wanted
                                    : r->out ? r->out->cap + 1
                                             : sizeof *r,
                                    "a picture to be encoded");
    } else {
        char words[JMSG_LENGTH_MAX];
        jpeg->err->format_message(jpeg, words);
        r->code = leat__fail(r->err, LEAT_ERR_UNSUPPORTED, "jpeg: %s", words);
    }
    longjmp(r->jump, 1);
}

static void print_nothing(j_common_ptr jpeg) {
    (void)jpeg;
}

static void on_message(j_common_ptr jpeg, int level) {
    (void)jpeg, (void)level;
}

static void place(leat__reencoder *r) {
    r->target.next_output_byte = r->out->data + r->out->size;
    r->target.free_in_buffer = r->out->cap - r->out->size;
}

static void open_target(j_compress_ptr jpeg) {
    place(jpeg->client_data);
}

/* libjpeg has filled all of the buffer. */
static boolean grow_target(j_compress_ptr jpeg) {
    leat__reencoder *r = jpeg->client_data;
    r->out->size = r->out->cap;
    if (!leat__buf_reserve(r->out, r->out->cap + 1)) ERREXIT1(jpeg, JERR_OUT_OF_MEMORY, 0);
    place(r);
    return TRUE;
}

static void close_target(j_compress_ptr jpeg) {
    leat__reencoder *r = jpeg->client_data;
    r->out->size = r->out->cap - r->target.free_in_buffer;
}

/* Steps take what they need from r, so that no local variable lives across the jump. */
static int guarded(leat__reencoder *r, void (*step)(leat__reencoder *), leat_error *err) {
    r->err = err;
    r->code = 0;
    if (setjmp(r->jump) == 0) step(r);
    return r->code;
}

static void create_step(leat__reencoder *r) {
    jpeg_create_compress(&r->jpeg);
}

static void encode_step(leat__reencoder *r) {
    struct jpeg_compress_struct *jpeg = &r->jpeg;
    jpeg->image_width = (JDIMENSION)r->width;
    jpeg->image_height = (JDIMENSION)r->height;
    jpeg->input_components = r->channels;
    jpeg->in_color_space = r->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(jpeg);
    jpeg_set_quality(jpeg, r->quality, TRUE);
    jpeg_start_compress(jpeg, TRUE);
    while (jpeg->next_scanline < jpeg->image_height) {
        JSAMPROW rows[ROWS_AT_ONCE];
        const JDIMENSION n = LEAT_MIN(jpeg->image_height - jpeg->next_scanline, (JDIMENSION)ROWS_AT_ONCE);
        for (JDIMENSION i = 0; i < n; i++)
            rows[i] = (JSAMPROW)(r->src + (size_t)(jpeg->next_scanline + i) * r->row_bytes);
        jpeg_write_scanlines(jpeg, rows, n);
    }
    jpeg_finish_compress(jpeg);
}

leat__reencoder *leat__reencoder_new(leat__arena *arena, leat_error *err) {
    leat__reencoder *r = leat__alloc(LEAT_MEM_WORKER, sizeof *r);
    if (!r) {
        leat__fail_memory(err, sizeof *r, "an encoder");
        return NULL;
    }
    r->arena = arena;
    r->jpeg.err = jpeg_std_error(&r->errors);
    r->errors.error_exit = on_error;
    r->errors.emit_message = on_message;
    r->errors.output_message = print_nothing;
    r->jpeg.client_data = r;
    if (guarded(r, create_step, err) == 0) {
        r->memory = leat__jpeg_memory_attach((j_common_ptr)&r->jpeg, arena);
        if (!r->memory) leat__fail_memory(err, sizeof *r, "an encoder");
    }
    if (!r->memory) {
        jpeg_destroy_compress(&r->jpeg); /* half of one is fine */
        leat__free(r);
        return NULL;
    }
    r->target = (struct jpeg_destination_mgr){.init_destination = open_target,
                                              .empty_output_buffer = grow_target,
                                              .term_destination = close_target};
    r->jpeg.dest = &r->target;
    r->fresh = r->jpeg;
    return r;
}

void leat__reencoder_free(leat__reencoder **reencoder) {
    leat__reencoder *r = *reencoder;
    if (!r) return;
    r->jpeg = r->fresh;
    leat__jpeg_memory_detach(r->memory, (j_common_ptr)&r->jpeg);
    jpeg_destroy_compress(&r->jpeg);
    leat__free(r);
    *reencoder = NULL;
}

static int decode_again(leat__decoder *decoder, const leat__reencoder *r, uint8_t *dst, bool fast,
                        leat_error *err) {
    const leat__decode_options options = {.channels = r->channels, .fast = fast};
    leat__picture_info info;
    LEAT_TRY(leat__decode_begin(decoder, r->out->data, r->out->size, &options, &info, err));
    const int rc = leat__decode_rows(decoder, dst, (ptrdiff_t)r->row_bytes, r->height, err);
    const int end = leat__decode_end(decoder, rc < 0 ? NULL : err);
    return rc < 0 ? rc : end;
}

/* Most pictures fit, whatever they show, so that the buffer depends on sizes alone; grow_target is for the
 * rest. */
static size_t usual_bytes(const leat__reencoder *r) {
    return ((size_t)r->height + 16) * ((size_t)r->width + 16) * (size_t)r->channels + 2048;
}

int leat__reencode_jpeg(leat__decoder *decoder, leat__buf *scratch, uint8_t *dst, const uint8_t *src,
                        int height, int width, int channels, int quality, bool fast, leat_error *err) {
    leat__reencoder *r = leat__decoder_reencoder(decoder);
    if (!r) return leat__fail(err, LEAT_ERR_ARGUMENT, "jpeg: the decoder is busy with another picture");
    if ((channels != 1 && channels != 3) || height < 1 || width < 1 || height > JPEG_MAX_DIMENSION ||
        width > JPEG_MAX_DIMENSION)
        return leat__fail(
            err, LEAT_ERR_SHAPE,
            "a picture of %dx%d pixels (height x width) with %d channels cannot be stored as JPEG: 1 or 3 "
            "channels and sides of up to %d can",
            height, width, channels, (int)JPEG_MAX_DIMENSION);
    r->src = src;
    r->row_bytes = (size_t)width * (size_t)channels;
    r->height = height, r->width = width, r->channels = channels;
    r->quality = LEAT_CLAMP(quality, 1, 100);
    r->out = scratch;
    r->out->size = 0;
    if (!leat__buf_reserve(r->out, usual_bytes(r)))
        return leat__fail_memory(err, usual_bytes(r), "an encoded picture");
    r->jpeg = r->fresh;
    r->arena->limit = 0;
    const int rc = guarded(r, encode_step, err);
    jpeg_abort_compress(&r->jpeg);
    leat__arena_reset(r->arena);
    LEAT_TRY(rc);
    return decode_again(decoder, r, dst, fast, err);
}
