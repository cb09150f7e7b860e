/* SPDX-License-Identifier: Apache-2.0 */
/* A picture of the data set to what is stored of it.
 *
 *     original   the bytes of the file, as they are. Its header must make sense and its end be there, as a training run asks;
 *                with LEAT_PACK_CHECK all of it is decoded. Pixels of arrays are stored as they are, too
 *     jpeg, raw  decoded whole, resized as Pillow does (bilinear, antialiased), RGB of 8 bits: gray is replicated, alpha
 *                dropped, CMYK converted, 16 bits cut to their upper 8, EXIF's turn applied with LEAT_PACK_ORIENT alone
 *
 * A picture that a training run would refuse is a bad sample. */
#include <stdio.h>

#include "base/cpu.h"
#include "base/hash.h"
#include "tools/encode.h"
#include "tools/pack/pack.h"

#define LARGE_PICTURE ((size_t)64 << 20) /* decoding that needs more takes turns */
enum { BAND_ROWS = 16, COPY_QUALITY = 95, FULL_COLOUR = 95 };

const char *leat__pack_kind_name(int kind) {
    static const char *const names[LEAT_KIND_COUNT] = {"cmyk", "16-bit", "exif-turned", "gray", "alpha"};
    return names[kind];
}

static uint32_t kinds_of(const leat__picture_info *info) {
    const bool jpeg = info->codec == LEAT_CODEC_JPEG;
    const int c = info->stored_channels;
    return (uint32_t)(jpeg && c == 4) << LEAT_KIND_CMYK | (uint32_t)(info->bits == 16) << LEAT_KIND_DEEP |
           (uint32_t)(info->orientation > 1) << LEAT_KIND_TURNED |
           (uint32_t)(c == 1 || c == 2) << LEAT_KIND_GRAY |
           (uint32_t)(!jpeg && (c == 2 || c == 4)) << LEAT_KIND_ALPHA;
}

/* -------------------------------------------------------------------------------------------- rows */

typedef struct picture_rows { /* rows on demand: decoded in bands, or as they lie in memory */
    leat__packer *packer;
    const uint8_t *pixels; /* NULL = they are decoded */
    int height, begin, end;
    size_t stride;
} picture_rows;

static int give_row(leat__rows *rows, int y, const void **out, leat_error *err) {
    picture_rows *p = rows->user;
    if (p->pixels) {
        *out = p->pixels + (size_t)y * p->stride;
        return 0;
    }
    while (y >= p->end) {
        p->begin = p->end;
        const int n = LEAT_MIN(BAND_ROWS, p->height - p->begin);
        LEAT_TRY(leat__decode_rows(p->packer->decoder, p->packer->band.data, (ptrdiff_t)p->stride, n, err));
        p->end += n;
    }
    *out = p->packer->band.data + (size_t)(y - p->begin) * p->stride;
    return 0;
}

/* To how->height x how->width (0 = its own size) in packer->pixels. */
static int resample(leat__packer *packer, const leat__storing *how, picture_rows *p, int width, int channels,
                    leat__stored *out, leat_error *err) {
    leat__rows rows = {.height = p->height,
                       .width = width,
                       .channels = channels,
                       .dtype = LEAT_DTYPE_U8,
                       .row = give_row,
                       .user = p};
    out->height = how->height ? how->height : p->height;
    out->width = how->width ? how->width : width;
    out->channels = channels;
    leat__pass pass = {.resample = LEAT_RESAMPLE_PIL_BILINEAR,
                       .height = out->height,
                       .width = out->width,
                       .dtype = LEAT_DTYPE_U8};
    const size_t bytes = (size_t)out->height * (size_t)out->width * (size_t)channels;
    if (!leat__buf_reserve(&packer->pixels, bytes)) return leat__fail_memory(err, bytes, "a picture");
    LEAT_TRY(leat__pass_run(&pass, &packer->dsp, &rows, packer->pixels.data, &packer->scratch, err));
    out->image = (leat__span){.data = packer->pixels.data, .n = bytes};
    const void *row;
    /* What the pass had no use for must be sound too: this is the moment to find damage. */
    return !p->pixels && p->end < p->height ? give_row(&rows, p->height - 1, &row, err) : 0;
}

/* ----------------------------------------------------------------------------------------- image files */

typedef struct opening { /* of an image file */
    const leat__packing *packing;
    const leat__value *file;
    bool decode; /* all of it */
    bool shrink; /* to the size that is stored */
} opening;

static int decode_within(const opening *o, leat__packer *packer, size_t memory_max, leat__stored *out,
                         leat_error *err) {
    const bool orient = o->shrink && o->packing->pack.how & LEAT_PACK_ORIENT;
    const leat__decode_options options = {
        .channels = o->shrink ? 3 : 0, .orient = orient, .memory_max = memory_max};
    leat__picture_info info;
    LEAT_TRY(leat__decode_begin(packer->decoder, o->file->data, o->file->bytes, &options, &info, err));
    out->kinds = kinds_of(&info);
    out->format = leat__codec_name(info.codec);
    picture_rows p = {.packer = packer, .height = info.height};
    p.stride = LEAT_ALIGN_UP((size_t)info.width * (size_t)info.channels, (size_t)LEAT_CACHE_LINE);
    int rc = 0;
    if (o->decode && !leat__buf_reserve(&packer->band, p.stride * BAND_ROWS))
        rc = leat__fail_memory(err, p.stride * BAND_ROWS, "rows");
    if (rc == 0 && o->shrink) {
        rc = resample(packer, &o->packing->storing, &p, info.width, 3, out, err);
    } else {
        leat__rows rows = {.user = &p};
        const void *row;
        out->height = info.height;
        out->width = info.width;
        out->channels = info.stored_channels;
        if (rc == 0 && o->decode) rc = give_row(&rows, info.height - 1, &row, err);
    }
    leat_error end;
    const int ended = leat__decode_end(packer->decoder, &end);
    if (rc < 0 || ended == 0) return rc;
    *err = end;
    return ended;
}

static int decode(const opening *o, leat__packer *packer, leat__mutex *large, leat__stored *out,
                  leat_error *err) {
    const int rc = decode_within(o, packer, LARGE_PICTURE, out, err);
    if (rc >= 0 || !leat__decoder_wants_more(packer->decoder)) return rc;
    leat__lock(large);
    const int again = decode_within(o, packer, 0, out, err);
    leat__decoder_trim(packer->decoder, LARGE_PICTURE);
    leat__unlock(large);
    return again;
}

/* --------------------------------------------------------------------------------------------- pixels */

static int take_pixels(leat__packer *packer, const leat__storing *how, const leat__value *image,
                       leat__stored *out, leat_error *err) {
    const int channels = image->ndim == 3 ? (int)image->shape[2] : 1;
    if (image->dtype != LEAT_DTYPE_U8 || image->ndim < 2 || image->ndim > 3 || image->shape[0] < 1 ||
        image->shape[1] < 1 || image->shape[0] > LEAT_DECODE_SIDE_MAX ||
        image->shape[1] > LEAT_DECODE_SIDE_MAX || channels < 1 || channels > 4)
        return leat__fail(err, LEAT_ERR_SHAPE,
                          "the picture is not u8 pixels (height, width, 1 to 4 channels)");
    out->kinds = (uint32_t)(channels < 3) << LEAT_KIND_GRAY | (uint32_t)(channels == 2 || channels == 4)
                                                                  << LEAT_KIND_ALPHA;
    out->format = "raw";
    out->height = (int)image->shape[0];
    out->width = (int)image->shape[1];
    out->channels = channels;
    if (!how->height) return 0;
    picture_rows p = {.packer = packer,
                      .pixels = image->data,
                      .height = out->height,
                      .stride = (size_t)out->width * (size_t)channels};
    return resample(packer, how, &p, out->width, channels, out, err);
}

/* ---------------------------------------------------------------------------------------------- door */

static int encode(leat__packer *packer, int quality, leat__stored *out, leat_error *err) {
    const leat__pixels pixels = {
        .data = out->image.data, .height = out->height, .width = out->width, .channels = out->channels};
    if (out->channels != 1 && out->channels != 3)
        return leat__fail(err, LEAT_ERR_UNSUPPORTED,
                          "a picture of %d channels cannot be a JPEG: store it raw, or as it is",
                          out->channels);
    LEAT_TRY(
        leat__encode_jpeg(packer->encoder, &packer->file, &pixels, quality, quality >= FULL_COLOUR, err));
    out->image = (leat__span){.data = packer->file.data, .n = packer->file.size};
    out->format = "jpeg";
    return 0;
}

int leat__pack_store(const leat__packing *packing, leat__packer *packer, leat__mutex *large,
                     const leat__value *image, bool made, leat__stored *out, int *stage, leat_error *err) {
    const leat__storing *how = &packing->storing;
    *out = (leat__stored){.image = {.data = image->data, .n = image->bytes}, .bytes_in = image->bytes};
    *stage = LEAT_STAGE_DECODE;
    if (!made) out->hash = leat__hash(image->data, image->bytes, 0);
    if (image->dtype == LEAT_DTYPE_BYTES) {
        const opening o = {.packing = packing,
                           .file = image,
                           .shrink = how->store != LEAT_STORE_ORIGINAL,
                           .decode = how->store != LEAT_STORE_ORIGINAL ||
                                     (packing->pack.how & LEAT_PACK_CHECK) != 0};
        LEAT_TRY(decode(&o, packer, large, out, err));
    } else {
        LEAT_TRY(take_pixels(packer, how, image, out, err));
    }
    if (how->store == LEAT_STORE_RAW) out->format = "raw";
    /* A copy of a file that is kept as it is cannot be kept so. */
    const bool copy = made && how->store == LEAT_STORE_ORIGINAL && !packing->input.pixels;
    if (how->store != LEAT_STORE_JPEG && !copy) return 0;
    *stage = LEAT_STAGE_STORE;
    return encode(packer, copy ? COPY_QUALITY : how->quality, out, err);
}

int leat__packer_init(leat__packer *packer, const leat__packing *packing, leat__mutex *large,
                      leat_error *err) {
    const leat__pack_input *input = &packing->input;
    packer->band.kind = packer->pixels.kind = packer->file.kind = packer->wide.kind = LEAT_MEM_TOOL;
    leat__image_dsp_init(&packer->dsp, leat__cpu_flags());
    packer->tools = leat__tools_new(input->plan, err);
    if (!packer->tools) return LEAT_ERR_MEMORY;
    packer->tools->large = large;
    if (input->augment) {
        packer->augment = leat__tools_new(input->augment, err);
        if (!packer->augment) return LEAT_ERR_MEMORY;
        packer->augment->large = large;
    }
    packer->decoder = leat__decoder_new(err);
    if (!packer->decoder) return LEAT_ERR_MEMORY;
    if (packing->storing.store != LEAT_STORE_JPEG && !input->augment) return 0;
    packer->encoder = leat__encoder_new(err);
    return packer->encoder ? 0 : LEAT_ERR_MEMORY;
}

void leat__packer_free(leat__packer *packer) {
    leat__tools_delete(&packer->tools);
    leat__tools_delete(&packer->augment);
    leat__decoder_free(&packer->decoder);
    leat__encoder_free(&packer->encoder);
    leat__pass_scratch_free(&packer->scratch);
    leat__buf_free(&packer->band);
    leat__buf_free(&packer->pixels);
    leat__buf_free(&packer->file);
    leat__buf_free(&packer->wide);
}
