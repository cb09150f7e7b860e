/* SPDX-License-Identifier: Apache-2.0 */
/* The type, the mean and the spread that a model wants. Means and deviations are numbers of the text, or of each picture,
 * or a whole matrix in a file. */
#include "base/file.h"
#include "base/hash.h"
#include "base/maths.h"
#include "format/npy.h"
#include "image/colour/zca.h"
#include "ops/ops_shared.h"
#include "plan/planner.h"

/* ----------------------------------------------------------------------------------- by given numbers */

typedef struct affine_plan {
    leat__affine affine;
    int channels; /* 0 = the same for all, else the sample must match */
} affine_plan;

static int draw_affine(const leat__image_op *op, leat__drawing *d, leat__pass *pass, leat_error *err) {
    const affine_plan *plan = op->more;
    if (plan->channels && plan->channels != d->channels)
        return leat__fail(err, LEAT_ERR_SHAPE, "%s has %d means or stds, the picture has %d channels",
                          op->name, plan->channels, d->channels);
    leat__pass_add_affine(pass, &plan->affine);
    return 0;
}

static int add_affine(leat__planner *planner, const leat__use *use, int at, const affine_plan *plan,
                      leat_error *err) {
    const leat__point_plan point = {.op.more = leat__plan_keep(planner, plan, sizeof *plan, err),
                                    .n_points = 1,
                                    .dtype = LEAT_DTYPE_F32,
                                    .draw = draw_affine};
    return point.op.more ? leat__plan_add_point(planner, use, at, &point, err) : LEAT_ERR_MEMORY;
}

static int plan_normalize(leat__planner *planner, const leat__use *use, leat_error *err) {
    int at, n_mean, n_std;
    LEAT_TRY(leat__plan_find_picture(planner, use, LEAT_PICTURES_ANY, &at, err));
    planner->field[at].scaled = true;
    double mean[4], std[4], scale = leat__use_arg(use, "scale")->x;
    LEAT_TRY(leat__plan_read_numbers(use, "mean", mean, 4, &n_mean, err));
    LEAT_TRY(leat__plan_read_numbers(use, "std", std, 4, &n_std, err));
    if (leat__use_arg(use, "name")->i == 1) {
        static const double imagenet_mean[] = {0.485, 0.456, 0.406}, imagenet_std[] = {0.229, 0.224, 0.225};
        if (leat__use_arg(use, "mean")->given || leat__use_arg(use, "std")->given ||
            leat__use_arg(use, "scale")->given)
            return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                                   "imagenet brings its own mean, std and scale");
        memcpy(mean, imagenet_mean, sizeof imagenet_mean);
        memcpy(std, imagenet_std, sizeof imagenet_std);
        n_mean = n_std = 3;
        scale = 1.0 / 255;
    }
    const int channels = LEAT_MAX(n_mean, n_std);
    if ((n_mean != 1 && n_mean != channels) || (n_std != 1 && n_std != channels))
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "mean has %d numbers and std %d", n_mean, n_std);
    affine_plan plan = {.channels = channels > 1 ? channels : 0};
    for (int c = 0; c < 4; c++) {
        const double m = mean[c < n_mean ? c : 0], s = std[c < n_std ? c : 0];
        if (s == 0) return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "std must not be 0");
        plan.affine.mul[c] = (float)(scale / s);
        plan.affine.add[c] = (float)(-m / s);
    }
    const leat_field *info = leat__plan_picture(planner, at);
    const int64_t have = info->ndim == 2 ? 1 : info->shape[2];
    if (channels > 1 && have >= 0 && have != channels)
        return leat__plan_fail(use, err, LEAT_ERR_SHAPE,
                               "%d means or stds for a picture of %" PRId64 " channels", channels, have);
    if (leat__use_arg(use, "layout")->i) leat__plan_set_nchw(planner, at);
    LEAT_TRY(add_affine(planner, use, at, &plan, err));
    static const int stored[] = {LEAT_DTYPE_F32, LEAT_DTYPE_F16, LEAT_DTYPE_BF16};
    const int dtype = stored[leat__use_arg(use, "dtype")->i];
    return dtype == LEAT_DTYPE_F32 ? 0 : leat__plan_store_as(planner, use, at, dtype, err);
}

/* Whether a pass can make this type of the field's values, and store it. */
static bool pass_makes(const leat_field *info, int dtype, bool affine) {
    const bool picture = info->ndim == 3 || info->ndim == 2;
    const bool from = info->dtype == LEAT_DTYPE_U8 || info->dtype == LEAT_DTYPE_F32 ||
                      (info->dtype == LEAT_DTYPE_U16 && (dtype != LEAT_DTYPE_U8 || affine));
    const bool to = dtype == LEAT_DTYPE_F32 || dtype == LEAT_DTYPE_U8 || dtype == LEAT_DTYPE_F16 ||
                    dtype == LEAT_DTYPE_BF16 || (dtype == LEAT_DTYPE_U16 && info->dtype == dtype && !affine);
    return picture && from && to;
}

static int plan_cast(leat__planner *planner, const leat__use *use, leat_error *err) {
    int at;
    LEAT_TRY(leat__plan_field_find(planner, use, "field", &at, err));
    leat__plan_field *field = &planner->field[at];
    const int dtype = (int)leat__use_arg(use, "dtype")->i;
    const double scale = leat__use_arg(use, "scale")->x, offset = leat__use_arg(use, "offset")->x;
    const bool affine = scale != 1 || offset != 0;
    if (field->info.dtype == LEAT_DTYPE_BYTES || dtype == LEAT_DTYPE_BYTES)
        return leat__plan_fail(use, err, LEAT_ERR_TYPE,
                               "bytes are not numbers: write decode or decode_raw %s u8 before",
                               field->info.name);
    if (field->device && dtype != LEAT_DTYPE_F32)
        return leat__plan_fail(use, err, LEAT_ERR_UNSUPPORTED,
                               "the device works in f32: write this before on_device, or convert there");
    if (leat__use_arg(use, "layout")->i) {
        if (field->info.ndim != 3)
            return leat__plan_fail(use, err, LEAT_ERR_SHAPE, "layout=nchw needs (height, width, channels)");
        leat__plan_set_nchw(planner, at);
    }
    field->scaled = true;
    const bool same = field->info.dtype == dtype && !affine;
    if (same && !field->nchw) return 0;
    if (pass_makes(&field->info, dtype, affine)) {
        /* Another layout of the same values needs a pass too, which is there already if one is open. */
        if (same) return field->pass >= 0 ? 0 : leat__plan_store_as(planner, use, at, dtype, err);
        affine_plan plan = {.channels = 0};
        for (int c = 0; c < 4; c++) {
            plan.affine.mul[c] = (float)scale;
            plan.affine.add[c] = offset == 0 ? -0.0f : (float)offset;
        }
        if (affine || dtype == LEAT_DTYPE_F32) LEAT_TRY(add_affine(planner, use, at, &plan, err));
        return dtype == LEAT_DTYPE_F32 ? 0 : leat__plan_store_as(planner, use, at, dtype, err);
    }
    if (same) return 0; /* the layout is refused where outputs are chosen */
    leat__plan_close_pass(planner, at);
    leat__step *step = leat__plan_step_add(planner, use, LEAT_STEP_CONVERT, LEAT_STAGE_TRANSFORM, at, err);
    if (!step) return err ? err->code : LEAT_ERR_LIMIT;
    step->as.convert.dtype = field->info.dtype = dtype;
    step->as.convert.affine = affine;
    step->as.convert.scale = scale;
    step->as.convert.offset = offset;
    return 0;
}

int leat__plan_add_unit(leat__planner *planner, const leat__use *use, int at, int dtype, leat_error *err) {
    affine_plan plan = {.channels = 0};
    for (int c = 0; c < 4; c++) plan.affine.mul[c] = (float)(1.0 / 255), plan.affine.add[c] = -0.0f;
    LEAT_TRY(add_affine(planner, use, at, &plan, err));
    return dtype == LEAT_DTYPE_F32 ? 0 : leat__plan_store_as(planner, use, at, dtype, err);
}

static int draw_rescale(const leat__image_op *op, leat__drawing *d, leat__pass *pass, leat_error *err) {
    (void)d, (void)err;
    leat__pass_add_scale(pass, (float)op->arg[0], (float)op->arg[1]);
    return 0;
}

static int plan_rescale(leat__planner *planner, const leat__use *use, leat_error *err) {
    int at;
    LEAT_TRY(leat__plan_find_picture(planner, use, LEAT_PICTURES_POINT, &at, err));
    planner->field[at].scaled = true;
    const leat__point_plan point = {
        .op.arg = {leat__use_arg(use, "scale")->x, leat__use_arg(use, "offset")->x},
        .n_points = 1,
        .dtype = LEAT_DTYPE_F32,
        .draw = draw_rescale};
    return leat__plan_add_point(planner, use, at, &point, err);
}

typedef struct two_stages {
    leat__affine first, second;
    int channels; /* 0 = the same for all, else the sample must match */
} two_stages;

static int draw_stages(const leat__image_op *op, leat__drawing *d, leat__pass *pass, leat_error *err) {
    const two_stages *stages = op->more;
    if (stages->channels && stages->channels != d->channels)
        return leat__fail(err, LEAT_ERR_SHAPE, "%s has %d means or stds, the picture has %d channels",
                          op->name, stages->channels, d->channels);
    leat__pass_add_affine(pass, &stages->first);
    leat__pass_add_affine(pass, &stages->second);
    return 0;
}

static int plan_featurewise(leat__planner *planner, const leat__use *use, leat_error *err) {
    int at, n_mean, n_std;
    double mean[4] = {0}, std[4] = {0};
    LEAT_TRY(leat__plan_find_picture(planner, use, LEAT_PICTURES_POINT, &at, err));
    planner->field[at].scaled = true;
    LEAT_TRY(leat__plan_read_numbers(use, "mean", mean, 4, &n_mean, err));
    LEAT_TRY(leat__plan_read_numbers(use, "std", std, 4, &n_std, err));
    const int channels = LEAT_MAX(n_mean, n_std);
    if (n_mean == 0 || (n_mean != 1 && n_mean != channels) || (n_std > 1 && n_std != channels))
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "mean has %d numbers and std %d: give one, or one a channel", n_mean, n_std);
    two_stages stages = {.channels = channels > 1 ? channels : 0};
    for (int c = 0; c < 4; c++) {
        /* Keras holds both as f32. */
        const float m = (float)mean[c < n_mean ? c : 0], s = (float)std[c < n_std ? c : 0] + 1e-6f;
        if (!(s > 0)) return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "std must not be below 0");
        stages.first.mul[c] = 1, stages.first.add[c] = -m;
        stages.second.mul[c] = n_std ? (float)(1 / (double)s) : 1, stages.second.add[c] = -0.0f;
    }
    const leat_field *info = leat__plan_picture(planner, at);
    const int64_t have = info->ndim == 2 ? 1 : info->shape[2];
    if (channels > 1 && have >= 0 && have != channels)
        return leat__plan_fail(use, err, LEAT_ERR_SHAPE,
                               "%d means or stds for a picture of %" PRId64 " channels", channels, have);
    const leat__point_plan point = {.op.more = leat__plan_keep(planner, &stages, sizeof stages, err),
                                    .n_points = 2,
                                    .dtype = LEAT_DTYPE_F32,
                                    .draw = draw_stages};
    return point.op.more ? leat__plan_add_point(planner, use, at, &point, err) : LEAT_ERR_MEMORY;
}

/* ------------------------------------------------------------------------------------- by the picture */

/* (x - mean) * factor: two points. */
static void centre(leat__pass *pass, int i, float mean, double factor) {
    leat__affine *first = &pass->point[i].as.affine, *second = &pass->point[i + 1].as.affine;
    for (int c = 0; c < 4; c++) first->add[c] = -mean, second->mul[c] = (float)factor;
}

/* tf.image: the deviation is at least that of a picture in which one of all values differs by one. */
static void solve_per_image(leat__pass *pass, int i, const leat__stats *stats) {
    const double n = (double)stats->count * leat__stats_apart(stats->channels);
    const double least = 1 / leat__sqrt(n), deviation = leat__stats_deviation(stats, -1);
    centre(pass, i, (float)leat__stats_mean(stats, -1), 1 / (deviation > least ? deviation : least));
}

static int draw_per_image(const leat__image_op *op, leat__drawing *d, leat__pass *pass, leat_error *err) {
    (void)op, (void)d, (void)err;
    leat__pass_add_measured(pass, LEAT_STATS_SQUARES, 2, false, solve_per_image, NULL);
    return 0;
}

static void solve_samplewise(leat__pass *pass, int i, const leat__stats *stats) {
    const bool scale = pass->point[i].given[0] != 0;
    centre(pass, i, (float)leat__stats_mean(stats, -1),
           scale ? 1 / (leat__stats_deviation(stats, -1) + 1e-6) : 1);
}

void leat__tone_add_samplewise(leat__pass *pass, bool scale) {
    const double given[4] = {scale};
    leat__pass_add_measured(pass, scale ? LEAT_STATS_SQUARES : LEAT_STATS_SUM, 2, false, solve_samplewise,
                            given);
}

static int draw_samplewise(const leat__image_op *op, leat__drawing *d, leat__pass *pass, leat_error *err) {
    (void)d, (void)err;
    leat__tone_add_samplewise(pass, op->arg[0] != 0);
    return 0;
}

static int add_measured(leat__planner *planner, const leat__use *use, double arg, leat__draw_point *draw,
                        leat_error *err) {
    int at;
    LEAT_TRY(leat__plan_find_picture(planner, use, LEAT_PICTURES_POINT, &at, err));
    planner->field[at].scaled = true;
    const leat__point_plan point = {.op.arg = {arg},
                                    .n_points = LEAT_TONE_POINTS,
                                    .dtype = LEAT_DTYPE_F32,
                                    .measured = true,
                                    .draw = draw};
    return leat__plan_add_point(planner, use, at, &point, err);
}

static int plan_per_image(leat__planner *planner, const leat__use *use, leat_error *err) {
    return add_measured(planner, use, 0, draw_per_image, err);
}

static int plan_samplewise(leat__planner *planner, const leat__use *use, leat_error *err) {
    const bool scale = leat__use_arg(use, "std")->i != 0;
    if (!scale && !leat__use_arg(use, "center")->i)
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "center=false std=false changes nothing: leave the operation out");
    return add_measured(planner, use, scale, draw_samplewise, err);
}

/* ---------------------------------------------------------------------------------------- by a matrix */

typedef struct zca_plan {
    size_t n;
    const float *matrix;
} zca_plan;

static int run_zca(const leat__image_op *op, leat__drawing *d, const leat__picture_tools *tools,
                   const leat__picture *in, void *out, leat_error *err) {
    (void)d;
    const zca_plan *zca = op->more;
    const size_t n = (size_t)in->height * (size_t)in->width * (size_t)in->channels;
    if (n != zca->n)
        return leat__fail(err, LEAT_ERR_SHAPE,
                          "the matrix of zca is for %zu values, the picture has %dx%dx%d: resize it before",
                          zca->n, in->height, in->width, in->channels);
    const float *values = in->data;
    if (in->dtype == LEAT_DTYPE_U8) {
        static const leat__chain none = {.n = 0, .channels = 1};
        if (!leat__buf_reserve(&tools->buf[0], n * sizeof *values))
            return leat__fail_memory(err, n * sizeof *values, "a picture");
        float *made = (float *)(void *)tools->buf[0].data;
        tools->dsp->from_u8(made, in->data, n, &none, false);
        values = made;
    }
    leat__zca_apply(out, values, zca->matrix, n);
    return 0;
}

/* The values of a file as floats in C order, in the plan's memory. */
static int take_matrix(leat__planner *planner, const leat__npy *info, const uint8_t *bytes, zca_plan *zca,
                       leat_error *err) {
    const size_t n = (size_t)info->shape[0];
    float *matrix = leat__arena_alloc(&planner->plan->memory, n * n * sizeof *matrix);
    if (!matrix) return leat__fail_memory(err, n * n * sizeof *matrix, "the matrix of zca");
    for (size_t i = 0; i < n * n; i++) {
        const size_t from = info->fortran ? i % n * n + i / n : i;
        if (info->dtype == LEAT_DTYPE_F32) {
            memcpy(matrix + i, bytes + from * sizeof(float), sizeof(float));
        } else {
            double x;
            memcpy(&x, bytes + from * sizeof x, sizeof x);
            matrix[i] = (float)x;
        }
    }
    planner->plan->contents = leat__hash(matrix, n * n * sizeof *matrix, planner->plan->contents);
    *zca = (zca_plan){.n = n, .matrix = matrix};
    return 0;
}

static int read_matrix(leat__planner *planner, const leat__use *use, const char *path, leat__buf *file,
                       zca_plan *zca, leat_error *err) {
    leat__npy info;
    const size_t bytes_max = (size_t)LEAT_ZCA_MAX * LEAT_ZCA_MAX * sizeof(double) + 65536;
    LEAT_TRY(leat__file_read_all(path, file, bytes_max, err));
    const int rc = leat__npy_read_header(&info, file->data, file->size, err);
    if (rc < 0) {
        leat__error_prefix(err, "%s: ", path);
        return rc;
    }
    if (info.dtype != LEAT_DTYPE_F32 && info.dtype != LEAT_DTYPE_F64)
        return leat__plan_fail(use, err, LEAT_ERR_TYPE, "%s holds %s: save the matrix as float32", path,
                               leat_dtype_name(info.dtype));
    if (info.ndim != 2 || info.shape[0] != info.shape[1] || info.shape[0] < 1 || info.shape[0] > LEAT_ZCA_MAX)
        return leat__plan_fail(use, err, LEAT_ERR_SHAPE,
                               "%s is not a square matrix of at most %dx%d: save zca_whitening_matrix", path,
                               LEAT_ZCA_MAX, LEAT_ZCA_MAX);
    if (file->size < info.header || file->size - info.header < info.data_bytes)
        return leat__plan_fail(use, err, LEAT_ERR_FORMAT, "%s ends too early: save it again", path);
    return take_matrix(planner, &info, file->data + info.header, zca, err);
}

static int plan_zca(leat__planner *planner, const leat__use *use, leat_error *err) {
    int at;
    zca_plan zca;
    leat__buf file = {.kind = LEAT_MEM_PLAN};
    LEAT_TRY(leat__plan_find_picture(planner, use, LEAT_PICTURES_POINT, &at, err));
    planner->field[at].scaled = true;
    const int rc = read_matrix(planner, use, leat__use_arg(use, "file")->text, &file, &zca, err);
    leat__buf_free(&file);
    LEAT_TRY(rc);
    const leat_field *info = leat__plan_picture(planner, at);
    const int64_t channels = info->ndim == 2 ? 1 : info->shape[2];
    if (info->shape[0] > 0 && info->shape[1] > 0 && channels > 0 &&
        (uint64_t)info->shape[0] * (uint64_t)info->shape[1] * (uint64_t)channels != zca.n)
        return leat__plan_fail(use, err, LEAT_ERR_SHAPE,
                               "the matrix is for %zu values, the picture has %" PRId64 "x%" PRId64
                               "x%" PRId64 ": resize it before",
                               zca.n, info->shape[0], info->shape[1], channels);
    const leat__picture_plan picture = {
        .op.more = leat__plan_keep(planner, &zca, sizeof zca, err), .dtype = LEAT_DTYPE_F32, .run = run_zca};
    return picture.op.more ? leat__plan_add_picture(planner, use, at, &picture, err) : LEAT_ERR_MEMORY;
}

/* ------------------------------------------------------------------------------------------ the table */

const leat__op leat__ops_normalize[] = {
    {.name = "normalize",
     .kind = LEAT_OP_IMAGE,
     .help = "(x * scale - mean) / std for each channel, as f32; imagenet gives the usual means, stds and "
             "scale 1/255.",
     .like = "keras.layers.Normalization, "
             "keras.applications.imagenet_utils.preprocess_input(mode=\"torch\"), torchvision Normalize, "
             "albumentations Normalize",
     .flags = LEAT_OP_NORMALIZES,
     .on_device = LEAT_ON_DEVICE_AS_KIND,
     .plan = plan_normalize,
     .arg = {{.name = "name",
              .kind = LEAT_ARG_WORD,
              .fallback = "given",
              .words = "given|imagenet",
              .help = "known numbers"},
             {.name = "mean",
              .kind = LEAT_ARG_TEXT,
              .fallback = "0",
              .named = true,
              .help = "one number, or one a channel: 0.5,0.4,0.3"},
             {.name = "std", .kind = LEAT_ARG_TEXT, .fallback = "1", .named = true, .help = "the same"},
             {.name = "scale",
              .kind = LEAT_ARG_NUMBER,
              .fallback = "1",
              .named = true,
              .help = "factor before, such as 1/255"},
             {.name = "dtype",
              .kind = LEAT_ARG_WORD,
              .fallback = "f32",
              .words = "f32|f16|bf16",
              .named = true,
              .help = "of the result; f16 and bf16 are made of f32 when it is stored"},
             LEAT_ARG_LAYOUT,
             LEAT_ARG_FIELD_NAMED}},
    {.name = "cast",
     .kind = LEAT_OP_SAMPLE,
     .help = "Another type, and x * scale + offset on the way; to whole numbers it truncates and saturates.",
     .like = "tf.cast, tf.image.convert_image_dtype, keras.ops.cast, keras.layers.Rescaling, torchvision "
             "ToDtype, torchvision ToTensor, albumentations ToFloat, albumentations pytorch.ToTensorV2",
     .flags = LEAT_OP_SCALES,
     .on_device = LEAT_ON_DEVICE_AS_KIND,
     .plan = plan_cast,
     .arg = {LEAT_ARG_FIELD_OR("image"),
             {.name = "dtype", .kind = LEAT_ARG_DTYPE, .help = "the type"},
             {.name = "scale",
              .kind = LEAT_ARG_NUMBER,
              .fallback = "1",
              .named = true,
              .help = "factor, such as 1/255"},
             {.name = "offset",
              .kind = LEAT_ARG_NUMBER,
              .fallback = "0",
              .named = true,
              .help = "added afterwards"},
             LEAT_ARG_LAYOUT}},
    {.name = "rescale",
     .kind = LEAT_OP_IMAGE,
     .help = "x * scale + offset, as f32.",
     .like = "keras.layers.Rescaling, keras ImageDataGenerator(rescale)",
     .flags = LEAT_OP_SCALES,
     .on_device = LEAT_ON_DEVICE_AS_KIND,
     .plan = plan_rescale,
     .arg = {{.name = "scale", .kind = LEAT_ARG_NUMBER, .help = "factor, such as 1/255"},
             {.name = "offset", .kind = LEAT_ARG_NUMBER, .fallback = "0", .help = "added afterwards"},
             LEAT_ARG_FIELD_NAMED}},
    {.name = "per_image_standardization",
     .kind = LEAT_OP_IMAGE,
     .help = "Mean 0 and standard deviation 1 for each picture, as f32.",
     .like = "tf.image.per_image_standardization",
     .plan = plan_per_image,
     .arg = {LEAT_ARG_FIELD_NAMED}},
    {.name = "samplewise",
     .kind = LEAT_OP_IMAGE,
     .help = "Minus the picture's mean, divided by its standard deviation, as f32.",
     .like = "keras ImageDataGenerator(samplewise_center), keras "
             "ImageDataGenerator(samplewise_std_normalization)",
     .plan = plan_samplewise,
     .arg = {{.name = "center",
              .kind = LEAT_ARG_BOOL,
              .fallback = "true",
              .named = true,
              .help = "subtract the mean; std does so in any case"},
             {.name = "std",
              .kind = LEAT_ARG_BOOL,
              .fallback = "true",
              .named = true,
              .help = "divide by the standard deviation + 1e-6"},
             LEAT_ARG_FIELD_NAMED}},
    {.name = "featurewise",
     .kind = LEAT_OP_IMAGE,
     .help = "(x - mean) / (std + 1e-6) with numbers that were fitted on a data set, as f32.",
     .like = "keras ImageDataGenerator(featurewise_center), keras "
             "ImageDataGenerator(featurewise_std_normalization)",
     .plan = plan_featurewise,
     .arg = {{.name = "mean",
              .kind = LEAT_ARG_TEXT,
              .named = true,
              .help = "one number, or one a channel: 120.7,113.9,103.1"},
             {.name = "std",
              .kind = LEAT_ARG_TEXT,
              .fallback = "",
              .named = true,
              .help = "the same; without it the values are centred only"},
             LEAT_ARG_FIELD_NAMED}},
    {.name = "zca",
     .kind = LEAT_OP_IMAGE,
     .help = "A small picture as one row of values, times a matrix from an .npy file, as f32.",
     .like = "keras ImageDataGenerator(zca_whitening), torchvision LinearTransformation",
     .plan = plan_zca,
     .arg = {{.name = "file",
              .kind = LEAT_ARG_TEXT,
              .named = true,
              .help = "square matrix of float32 or float64, at most 4096 x 4096"},
             LEAT_ARG_FIELD_NAMED}},
    {0},
};
