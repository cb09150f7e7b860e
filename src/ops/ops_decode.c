/* SPDX-License-Identifier: Apache-2.0 */
/* From bytes to pixels, and JPEG once more, for the noise that it leaves. */
#include "decode/jpeg/reencode.h"
#include "ops/ops_shared.h"
#include "plan/planner.h"

static int plan_decode(leat__planner *planner, const leat__use *use, leat_error *err) {
    int at;
    LEAT_TRY(leat__plan_field_find(planner, use, "field", &at, err));
    leat_field *info = &planner->field[at].info;
    if (info->dtype != LEAT_DTYPE_BYTES)
        return leat__plan_fail(use, err, LEAT_ERR_TYPE, "field %s holds %s, not an image file", info->name,
                               leat_dtype_name(info->dtype));
    leat__decode_options options = {.channels = (int)leat__use_arg(use, "channels")->i,
                                    .orient = leat__use_arg(use, "orient")->i != 0,
                                    .deep = leat__use_arg(use, "depth")->i == 1,
                                    .indices = leat__use_arg(use, "palette")->i == 1,
                                    .fast = planner->fast};
    if (options.channels == 2)
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "channels must be 0, 1, 3 or 4");
    if (options.indices && (options.deep || (leat__use_arg(use, "channels")->given && options.channels != 1)))
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "palette=index gives one channel of u8: leave channels and depth out");
    if (options.indices) options.channels = 1;
    const bool scaled = leat__use_arg(use, "scale")->i == 1;
    LEAT_TRY(leat__plan_add_decode(planner, use, at, &options, scaled, err));
    info->ndim = 3;
    info->ragged = 0;
    info->shape[0] = info->shape[1] = -1;
    info->shape[2] = options.channels ? options.channels : -1;
    info->layout = LEAT_LAYOUT_NHWC;
    info->mask = options.indices;
    return 0;
}

static int plan_decode_raw(leat__planner *planner, const leat__use *use, leat_error *err) {
    int at;
    LEAT_TRY(leat__plan_field_find(planner, use, "field", &at, err));
    leat__plan_field *field = &planner->field[at];
    const int dtype = (int)leat__use_arg(use, "dtype")->i;
    if (field->info.dtype != LEAT_DTYPE_BYTES)
        return leat__plan_fail(use, err, LEAT_ERR_TYPE, "field %s holds %s, not bytes", field->info.name,
                               leat_dtype_name(field->info.dtype));
    if (dtype == LEAT_DTYPE_BYTES) return leat__plan_fail(use, err, LEAT_ERR_TYPE, "bytes are bytes already");
    leat__step *step = leat__plan_step_add(planner, use, LEAT_STEP_RAW, LEAT_STAGE_DECODE, at, err);
    if (!step) return err ? err->code : LEAT_ERR_LIMIT;
    step->as.raw.dtype = dtype;
    field->info.dtype = dtype;
    field->info.ndim = 1;
    field->info.shape[0] = -1;
    field->info.ragged = 0; /* of one length, unless the data says otherwise */
    return 0;
}

/* --------------------------------------------------------------------------------------- JPEG quality */

enum { QUALITY, QUALITY_END, FAST };

/* tf.image's way: floats of 0 to 1 become bytes by 255.5, and bytes floats by 1/255. */
static void bytes_of(uint8_t *dst, const float *src, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const float x = src[i] * 255.5f;
        dst[i] = (uint8_t)(int)(!(x > 0.0f) ? 0.0f : x < 255.0f ? x : 255.0f);
    }
}

static void floats_of(float *dst, const uint8_t *src, size_t n) {
    for (size_t i = 0; i < n; i++) dst[i] = (float)src[i] * (1.0f / 255.0f);
}

static int run_jpeg(const leat__image_op *op, leat__drawing *d, const leat__picture_tools *tools,
                    const leat__picture *in, void *out, leat_error *err) {
    const int low = (int)op->arg[QUALITY], span = (int)op->arg[QUALITY_END] - low;
    const int quality = low + (span > 1 ? (int)leat__rng_below(&d->rng, (uint64_t)span) : 0);
    const size_t n = (size_t)in->height * (size_t)in->width * (size_t)in->channels;
    const bool fast = op->arg[FAST] != 0;
    if (span > 1) leat__params_add(d, "quality", quality);
    if (in->dtype == LEAT_DTYPE_U8)
        return leat__reencode_jpeg(tools->decoder, &tools->buf[0], out, in->data, in->height, in->width,
                                   in->channels, quality, fast, err);
    if (!leat__buf_reserve(&tools->buf[1], n)) return leat__fail_memory(err, n, "a picture of bytes");
    uint8_t *bytes = tools->buf[1].data;
    bytes_of(bytes, in->data, n);
    LEAT_TRY(leat__reencode_jpeg(tools->decoder, &tools->buf[0], bytes, bytes, in->height, in->width,
                                 in->channels, quality, fast, err));
    floats_of(out, bytes, n);
    return 0;
}

static int add_jpeg(leat__planner *planner, const leat__use *use, int64_t low, int64_t end, leat_error *err) {
    int at;
    LEAT_TRY(leat__plan_find_picture(planner, use, LEAT_PICTURES_POINT, &at, err));
    const leat_field *info = leat__plan_picture(planner, at);
    const int64_t channels = info->ndim == 2 ? 1 : info->shape[2];
    if (channels >= 0 && channels != 1 && channels != 3)
        return leat__plan_fail(use, err, LEAT_ERR_SHAPE,
                               "JPEG has 1 or 3 channels, field %s has %" PRId64 ": write decode channels=3",
                               info->name, channels);
    const leat__picture_plan picture = {
        .op.arg = {[QUALITY] = (double)low, [QUALITY_END] = (double)end, [FAST] = planner->fast},
        .run = run_jpeg};
    return leat__plan_add_picture(planner, use, at, &picture, err);
}

static int plan_adjust_jpeg(leat__planner *planner, const leat__use *use, leat_error *err) {
    const int64_t quality = leat__use_arg(use, "quality")->i;
    return add_jpeg(planner, use, quality, quality, err);
}

static int plan_random_jpeg(leat__planner *planner, const leat__use *use, leat_error *err) {
    const int64_t low = leat__use_arg(use, "lower")->i, end = leat__use_arg(use, "upper")->i;
    if (end < low) return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "upper must not be below lower");
    return add_jpeg(planner, use, low, end, err);
}

/* ------------------------------------------------------------------------------------------ the table */

#define ARG_QUALITY(name_, help_) \
    { .name = name_, .kind = LEAT_ARG_INT, .max = 100, .help = help_ }

const leat__op leat__ops_decode[] = {
    {.name = "decode",
     .kind = LEAT_OP_IMAGE,
     .help = "An image file (JPEG, PNG, WebP, GIF, BMP, told by content) to u8 or u16 pixels.",
     .like = "tf.io.decode_image, tf.io.decode_jpeg, tf.io.decode_png, tf.io.decode_gif, tf.io.decode_bmp, "
             "tf.io.decode_webp, tf.io.decode_and_crop_jpeg, keras.utils.load_img, torchvision "
             "io.decode_image, PIL.Image.open",
     .flags = LEAT_OP_READS | LEAT_OP_DECODES,
     .plan = plan_decode,
     .arg = {LEAT_ARG_FIELD_OR("image"),
             {.name = "channels",
              .kind = LEAT_ARG_INT,
              .fallback = "3",
              .max = 4,
              .named = true,
              .help = "1 gray, 3 RGB, 4 RGBA, 0 as stored"},
             {.name = "orient",
              .kind = LEAT_ARG_BOOL,
              .fallback = "false",
              .named = true,
              .help = "turn the picture as its EXIF data says"},
             {.name = "depth",
              .kind = LEAT_ARG_WORD,
              .fallback = "8",
              .words = "8|16",
              .named = true,
              .help = "16: u16 pixels; files of 8 bits are multiplied by 257"},
             {.name = "palette",
              .kind = LEAT_ARG_WORD,
              .fallback = "colour",
              .words = "colour|index",
              .named = true,
              .help = "index: the numbers that a PNG with a palette stores, one channel; for masks"},
             {.name = "scale",
              .kind = LEAT_ARG_WORD,
              .fallback = "1",
              .words = "1|auto",
              .named = true,
              .help = "auto: JPEGs at 1/2, 1/4 or 1/8 where the crop and the resize behind it leave no more; "
                      "other pixels than exact decoding"}}},
    {.name = "decode_raw",
     .kind = LEAT_OP_SAMPLE,
     .help = "Takes bytes as values of a type, little-endian.",
     .like = "tf.io.decode_raw",
     .flags = LEAT_OP_READS,
     .plan = plan_decode_raw,
     .arg = {LEAT_ARG_FIELD_OR("image"),
             {.name = "dtype", .kind = LEAT_ARG_DTYPE, .help = "type of the values"}}},
    {.name = "adjust_jpeg_quality",
     .kind = LEAT_OP_IMAGE,
     .help = "Encodes as JPEG and decodes again, for the noise that this leaves.",
     .like = "tf.image.adjust_jpeg_quality, torchvision functional.jpeg",
     .plan = plan_adjust_jpeg,
     .arg = {ARG_QUALITY("quality", "0 to 100"), LEAT_ARG_FIELD_NAMED}},
    {.name = "random_jpeg_quality",
     .kind = LEAT_OP_IMAGE,
     .help = "The same with a whole number drawn from [lower, upper).",
     .like = "tf.image.random_jpeg_quality, tf.image.stateless_random_jpeg_quality, torchvision JPEG, "
             "albumentations ImageCompression",
     .random = true,
     .plan = plan_random_jpeg,
     .arg = {ARG_QUALITY("lower", "least quality"), ARG_QUALITY("upper", "above the best quality"),
             LEAT_ARG_FIELD_NAMED}},
    {0},
};
