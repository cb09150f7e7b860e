/* SPDX-License-Identifier: Apache-2.0 */
/* Plan functions of image operations, and the rule of fusion: an operation joins the field's open pass when the pass
 * can do it after what it does already, with the same rounding; otherwise it begins a pass of its own.
 *
 *     [decode] [crop] [resample] then tables on u8, then affine stages on f32, flips at any point, then the store */
#include <stdio.h>

#include "engine/plan.h"

static bool is_picture(const leat_field *info) {
    return (info->ndim == 3 || info->ndim == 2) &&
           (info->dtype == LEAT_DTYPE_U8 || info->dtype == LEAT_DTYPE_F32);
}

static leat__pass_plan *open_pass(leat__planner *planner, int field) {
    const int number = planner->field[field].pass;
    return number < 0 ? NULL : planner->plan->step[number].as.pass;
}

static leat__pass_plan *begin_pass(leat__planner *planner, const leat__use *use, int at, leat_error *err) {
    leat__plan_close_pass(planner, at);
    leat__pass_plan *pass = leat__arena_alloc(&planner->plan->memory, sizeof *pass);
    if (!pass) {
        leat__fail_memory(err, sizeof *pass, "a plan");
        return NULL;
    }
    leat__step *step = leat__plan_step_add(planner, use, LEAT_STEP_PASS, LEAT_STAGE_TRANSFORM, at, err);
    if (!step) return NULL;
    *pass = (leat__pass_plan){.dtype = planner->field[at].info.dtype};
    step->as.pass = pass;
    planner->field[at].pass = planner->plan->n_steps - 1;
    return pass;
}

/* The pass that an operation which may follow anything (a flip, a point operation) joins. */
static leat__pass_plan *join_pass(leat__planner *planner, const leat__use *use, int at, bool joinable,
                                  leat_error *err) {
    leat__pass_plan *pass = open_pass(planner, at);
    return pass && joinable && planner->plan->fuse ? pass : begin_pass(planner, use, at, err);
}

static void note(leat__pass_plan *pass, const leat__use *use) {
    const size_t n = strlen(pass->text);
    snprintf(pass->text + n, sizeof pass->text - n, "%s%s", n ? ", " : "", use->op->name);
}

static int find_picture(leat__planner *planner, const leat__use *use, int *at, leat_error *err) {
    LEAT_TRY(leat__plan_field_find(planner, use, "field", at, err));
    const leat_field *info = &planner->field[*at].info;
    if (info->dtype == LEAT_DTYPE_BYTES)
        return leat__plan_fail(use, err, LEAT_ERR_TYPE,
                               "field %s holds an undecoded file: write decode before", info->name);
    if (info->ndim != 3 && info->ndim != 2)
        return leat__plan_fail(
            use, err, LEAT_ERR_SHAPE,
            "field %s has %d axes, a picture has (height, width, channels): write reshape %s H W C before",
            info->name, info->ndim, info->name);
    if (!is_picture(info))
        return leat__plan_fail(use, err, LEAT_ERR_TYPE,
                               "works on u8 and f32 pictures, field %s holds %s: write cast %s f32 before",
                               info->name, leat_dtype_name(info->dtype), info->name);
    return 0;
}

int leat__plan_decode(leat__planner *planner, const leat__use *use, leat_error *err) {
    int at;
    LEAT_TRY(leat__plan_field_find(planner, use, "field", &at, err));
    leat__plan_field *field = &planner->field[at];
    if (field->info.dtype != LEAT_DTYPE_BYTES)
        return leat__plan_fail(use, err, LEAT_ERR_TYPE, "field %s holds %s, not an image file",
                               field->info.name, leat_dtype_name(field->info.dtype));
    const int channels = (int)leat__use_arg(use, "channels")->i;
    if (channels == 2) return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "channels must be 0, 1, 3 or 4");
    field->info.dtype = LEAT_DTYPE_U8;
    leat__pass_plan *pass = begin_pass(planner, use, at, err);
    if (!pass) return err ? err->code : LEAT_ERR_MEMORY;
    pass->decode = true;
    pass->decode_options.channels = channels;
    pass->decode_options.orient = leat__use_arg(use, "orient")->i != 0;
    for (int i = 0; i < planner->spec->n_uses; i++)
        if (planner->spec->use[i].op->plan == leat__plan_options)
            pass->decode_options.fast |= leat__use_arg(&planner->spec->use[i], "accuracy")->i != 0;
    note(pass, use);
    field->info.ndim = 3;
    field->info.ragged = 0;
    field->info.shape[0] = field->info.shape[1] = -1;
    field->info.shape[2] = channels ? channels : -1;
    return 0;
}

/* One number, or one for each channel, separated by commas. */
static int read_channels(const leat__use *use, const char *name, double out[4], int *n, leat_error *err) {
    const char *text = leat__use_arg(use, name)->text;
    char part[64];
    for (*n = 0; *text && *n < 4; ++*n) {
        const size_t len = strcspn(text, ",");
        snprintf(part, sizeof part, "%.*s", (int)LEAT_MIN(len, sizeof part - 1), text);
        if (!leat__parse_number(part, &out[*n]))
            return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                                   "%s must be numbers separated by commas, '%s' is none", name, part);
        text += len + (text[len] == ',');
    }
    if (*text) return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "%s has more than 4 numbers", name);
    return 0;
}

/* Cropping comes first in a pass too, in front of the resampling: what is not needed is not decoded. */
static int add_crop(leat__planner *planner, const leat__use *use, int at, leat__crop_plan crop,
                    leat_error *err) {
    leat__plan_field *field = &planner->field[at];
    leat__pass_plan *pass = open_pass(planner, at);
    const bool joinable = pass && pass->crop.kind == LEAT_CROP_NONE && pass->resample == LEAT_RESAMPLE_NONE &&
                          pass->n_points == 0 && pass->n_flips == 0;
    pass = join_pass(planner, use, at, joinable, err);
    if (!pass) return err ? err->code : LEAT_ERR_MEMORY;
    crop.op = use->number;
    pass->crop = crop;
    field->info.shape[0] = crop.height ? crop.height : -1;
    field->info.shape[1] = crop.width ? crop.width : -1;
    note(pass, use);
    return 0;
}

static void read_size(const leat__use *use, int *height, int *width) {
    const leat__arg_value *w = leat__use_arg(use, "width");
    *height = (int)leat__use_arg(use, "height")->i;
    *width = w->given ? (int)w->i : *height;
}

int leat__plan_central_crop(leat__planner *planner, const leat__use *use, leat_error *err) {
    int at;
    LEAT_TRY(find_picture(planner, use, &at, err));
    const double fraction = leat__use_arg(use, "fraction")->x;
    if (!(fraction > 0)) return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "fraction must be above 0");
    return add_crop(planner, use, at, (leat__crop_plan){.kind = LEAT_CROP_FRACTION, .fraction = fraction},
                    err);
}

static int plan_sized_crop(leat__planner *planner, const leat__use *use, leat__crop_kind kind,
                           leat_error *err) {
    int at;
    LEAT_TRY(find_picture(planner, use, &at, err));
    leat__crop_plan crop = {.kind = kind};
    read_size(use, &crop.height, &crop.width);
    return add_crop(planner, use, at, crop, err);
}

int leat__plan_center_crop(leat__planner *planner, const leat__use *use, leat_error *err) {
    return plan_sized_crop(planner, use, LEAT_CROP_CENTRE, err);
}

int leat__plan_random_crop(leat__planner *planner, const leat__use *use, leat_error *err) {
    return plan_sized_crop(planner, use, LEAT_CROP_RANDOM, err);
}

/* "low,high", both above 0. */
static int read_range(const leat__use *use, const char *name, double out[2], leat_error *err) {
    double numbers[4];
    int n;
    LEAT_TRY(read_channels(use, name, numbers, &n, err));
    if (n != 2 || !(numbers[0] > 0) || !(numbers[1] >= numbers[0]))
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "%s must be two numbers above 0, the smaller one first, such as 0.08,1", name);
    out[0] = numbers[0];
    out[1] = numbers[1];
    return 0;
}

/* Which methods a flavour has, by the words of the table of operations. */
static const struct {
    const char *name;
    leat__resample tf, tf_antialias, pil; /* NONE: it has no such method */
} methods[] = {
    {"nearest", LEAT_RESAMPLE_TF_NEAREST, LEAT_RESAMPLE_TF_NEAREST, LEAT_RESAMPLE_PIL_NEAREST},
    {"box", 0, 0, LEAT_RESAMPLE_PIL_BOX},
    {"bilinear", LEAT_RESAMPLE_TF_BILINEAR, LEAT_RESAMPLE_TF_BILINEAR_AA, LEAT_RESAMPLE_PIL_BILINEAR},
    {"hamming", 0, 0, LEAT_RESAMPLE_PIL_HAMMING},
    {"bicubic", LEAT_RESAMPLE_TF_BICUBIC, LEAT_RESAMPLE_TF_BICUBIC_AA, LEAT_RESAMPLE_PIL_BICUBIC},
    {"area", LEAT_RESAMPLE_TF_AREA, LEAT_RESAMPLE_TF_AREA, 0},
    {"lanczos", 0, 0, LEAT_RESAMPLE_PIL_LANCZOS},
    {"lanczos3", LEAT_RESAMPLE_TF_LANCZOS3, LEAT_RESAMPLE_TF_LANCZOS3_AA, 0},
    {"lanczos5", LEAT_RESAMPLE_TF_LANCZOS5, LEAT_RESAMPLE_TF_LANCZOS5_AA, 0},
    {"gaussian", LEAT_RESAMPLE_TF_GAUSSIAN, LEAT_RESAMPLE_TF_GAUSSIAN_AA, 0},
    {"mitchellcubic", LEAT_RESAMPLE_TF_MITCHELL, LEAT_RESAMPLE_TF_MITCHELL_AA, 0},
};

/* The method that the text asks for, checked against the flavour and the field. */
static int read_method(const leat__planner *planner, const leat__use *use, int at, bool pil, bool antialias,
                       leat__resample *out, leat_error *err) {
    const leat_field *info = &planner->field[at].info;
    const char *word = leat__use_arg(use, "method")->text;
    *out = LEAT_RESAMPLE_NONE;
    for (size_t i = 0; i < LEAT_COUNT(methods); i++)
        if (!strcmp(methods[i].name, word))
            *out = pil ? methods[i].pil : antialias ? methods[i].tf_antialias : methods[i].tf;
    if (*out == LEAT_RESAMPLE_NONE)
        return leat__plan_fail(
            use, err, LEAT_ERR_UNSUPPORTED, "method=%s is no method of flavour=%s: %s", word,
            pil ? "pil" : "tf",
            pil ? "take nearest, box, bilinear, hamming, bicubic or lanczos"
                : "take nearest, bilinear, bicubic, area, lanczos3, lanczos5, gaussian or mitchellcubic");
    if (pil && info->dtype != LEAT_DTYPE_U8)
        return leat__plan_fail(
            use, err, LEAT_ERR_TYPE,
            "flavour=pil works on u8, field %s holds %s: write it before cast and normalize", info->name,
            leat_dtype_name(info->dtype));
    return 0;
}

static int add_resize(leat__planner *planner, const leat__use *use, int at, leat__resample resample,
                      int height, int width, leat_error *err) {
    leat__plan_field *field = &planner->field[at];
    leat__pass_plan *pass = open_pass(planner, at);
    /* Resampling comes before points and flips in a pass. A crop of the same operation is part of it in any case. */
    const bool joinable =
        pass && pass->resample == LEAT_RESAMPLE_NONE && pass->n_points == 0 && pass->n_flips == 0;
    const bool own_crop = pass && pass->crop.kind != LEAT_CROP_NONE && pass->crop.op == use->number;
    if (!own_crop) pass = join_pass(planner, use, at, joinable, err);
    if (!pass) return err ? err->code : LEAT_ERR_MEMORY;
    pass->resample = resample;
    pass->height = height;
    pass->width = width;
    if (leat__resample_gives_f32(resample)) field->info.dtype = LEAT_DTYPE_F32;
    pass->dtype = field->info.dtype;
    field->info.shape[0] = height;
    field->info.shape[1] = width;
    if (!own_crop) note(pass, use);
    return 0;
}

int leat__plan_random_resized_crop(leat__planner *planner, const leat__use *use, leat_error *err) {
    int at, height, width;
    leat__resample resample;
    LEAT_TRY(find_picture(planner, use, &at, err));
    leat__crop_plan crop = {.kind = LEAT_CROP_RESIZED};
    LEAT_TRY(read_range(use, "scale", crop.scale, err));
    LEAT_TRY(read_range(use, "ratio", crop.ratio, err));
    read_size(use, &height, &width);
    LEAT_TRY(read_method(planner, use, at, leat__use_arg(use, "flavour")->i == 0, false, &resample, err));
    LEAT_TRY(add_crop(planner, use, at, crop, err));
    return add_resize(planner, use, at, resample, height, width, err);
}

int leat__plan_resize(leat__planner *planner, const leat__use *use, leat_error *err) {
    int at, height, width;
    leat__resample resample;
    LEAT_TRY(find_picture(planner, use, &at, err));
    const bool pil = leat__use_arg(use, "flavour")->i != 0;
    const leat__arg_value *antialias = leat__use_arg(use, "antialias");
    LEAT_TRY(read_method(planner, use, at, pil, antialias->i != 0, &resample, err));
    if (pil && antialias->given && !antialias->i && resample != LEAT_RESAMPLE_PIL_NEAREST)
        return leat__plan_fail(use, err, LEAT_ERR_UNSUPPORTED,
                               "flavour=pil always antialiases: leave antialias out, or take flavour=tf");
    read_size(use, &height, &width);
    return add_resize(planner, use, at, resample, height, width, err);
}

static int plan_flip(leat__planner *planner, const leat__use *use, bool vertical, leat_error *err) {
    int at;
    LEAT_TRY(find_picture(planner, use, &at, err));
    leat__pass_plan *pass = open_pass(planner, at);
    pass = join_pass(planner, use, at, pass && pass->n_flips < (int)LEAT_COUNT(pass->flip), err);
    if (!pass) return err ? err->code : LEAT_ERR_MEMORY;
    pass->flip[pass->n_flips++] =
        (leat__flip){.op = use->number, .vertical = vertical, .probability = leat__use_arg(use, "p")->x};
    note(pass, use);
    return 0;
}

int leat__plan_flip_x(leat__planner *planner, const leat__use *use, leat_error *err) {
    return plan_flip(planner, use, false, err);
}

int leat__plan_flip_y(leat__planner *planner, const leat__use *use, leat_error *err) {
    return plan_flip(planner, use, true, err);
}

/* Affine stages that a pass holds already: constant and drawn ones. */
static int count_stages(const leat__pass_plan *pass) {
    int n = 0;
    for (int i = 0; i < pass->n_points; i++) n += !pass->point[i].table;
    return n;
}

/* Adds a point operation that works on values of type `dtype`. A pass goes from u8 to f32 and not back. */
static int add_point(leat__planner *planner, const leat__use *use, int at, leat__point point, int dtype,
                     leat_error *err) {
    leat__plan_field *field = &planner->field[at];
    leat__pass_plan *pass = open_pass(planner, at);
    const bool joinable = pass && pass->n_points < LEAT_POINTS_MAX && count_stages(pass) < LEAT_PASS_STAGES &&
                          (pass->dtype == dtype || (pass->dtype == LEAT_DTYPE_U8 && dtype == LEAT_DTYPE_F32));
    pass = join_pass(planner, use, at, joinable, err);
    if (!pass) return err ? err->code : LEAT_ERR_MEMORY;
    point.op = use->number;
    point.table = dtype == LEAT_DTYPE_U8;
    pass->point[pass->n_points++] = point;
    pass->dtype = field->info.dtype = dtype;
    note(pass, use);
    return 0;
}

int leat__plan_brightness(leat__planner *planner, const leat__use *use, leat_error *err) {
    int at;
    LEAT_TRY(find_picture(planner, use, &at, err));
    leat__point point = {.kind = LEAT_POINT_BRIGHTNESS,
                         .delta_max = (float)leat__use_arg(use, "max_delta")->x};
    return add_point(planner, use, at, point, planner->field[at].info.dtype, err);
}

int leat__plan_normalize(leat__planner *planner, const leat__use *use, leat_error *err) {
    int at, n_mean, n_std;
    LEAT_TRY(find_picture(planner, use, &at, err));
    double mean[4], std[4], scale = leat__use_arg(use, "scale")->x;
    LEAT_TRY(read_channels(use, "mean", mean, &n_mean, err));
    LEAT_TRY(read_channels(use, "std", std, &n_std, err));
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
    leat__point point = {.kind = LEAT_POINT_AFFINE, .channels = channels > 1 ? channels : 0};
    for (int c = 0; c < 4; c++) {
        const double m = mean[c < n_mean ? c : 0], s = std[c < n_std ? c : 0];
        if (s == 0) return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "std must not be 0");
        point.affine.mul[c] = (float)(scale / s);
        point.affine.add[c] = (float)(-m / s);
    }
    const leat_field *info = &planner->field[at].info;
    const int64_t have = info->ndim == 2 ? 1 : info->shape[2];
    if (channels > 1 && have >= 0 && have != channels)
        return leat__plan_fail(use, err, LEAT_ERR_SHAPE,
                               "%d means or stds for a picture of %" PRId64 " channels", channels, have);
    if (leat__use_arg(use, "layout")->i) planner->field[at].nchw = true;
    return add_point(planner, use, at, point, LEAT_DTYPE_F32, err);
}

int leat__plan_cast(leat__planner *planner, const leat__use *use, leat_error *err) {
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
    if (leat__use_arg(use, "layout")->i) {
        if (field->info.ndim != 3)
            return leat__plan_fail(use, err, LEAT_ERR_SHAPE, "layout=nchw needs (height, width, channels)");
        field->nchw = true;
    }
    const bool picture = is_picture(&field->info);
    if (field->info.dtype == dtype && !affine) {
        /* Nothing to compute; but another layout needs a pass that stores it. */
        if (!field->nchw || open_pass(planner, at) || !picture) return 0;
        leat__pass_plan *pass = begin_pass(planner, use, at, err);
        if (!pass) return err ? err->code : LEAT_ERR_MEMORY;
        note(pass, use);
        return 0;
    }
    if (picture && (dtype == LEAT_DTYPE_F32 || dtype == LEAT_DTYPE_U8)) {
        leat__point point = {.kind = LEAT_POINT_AFFINE};
        for (int c = 0; c < 4; c++) {
            point.affine.mul[c] = (float)scale;
            point.affine.add[c] = offset == 0 ? -0.0f : (float)offset;
        }
        LEAT_TRY(add_point(planner, use, at, point, LEAT_DTYPE_F32, err));
        if (dtype == LEAT_DTYPE_F32) return 0;
        /* The store truncates; nothing can follow in this pass. */
        open_pass(planner, at)->dtype = field->info.dtype = LEAT_DTYPE_U8;
        leat__plan_close_pass(planner, at);
        return 0;
    }
    leat__plan_close_pass(planner, at);
    leat__step *step = leat__plan_step_add(planner, use, LEAT_STEP_CONVERT, LEAT_STAGE_TRANSFORM, at, err);
    if (!step) return err ? err->code : LEAT_ERR_LIMIT;
    step->as.convert.dtype = field->info.dtype = dtype;
    step->as.convert.affine = affine;
    step->as.convert.scale = scale;
    step->as.convert.offset = offset;
    return 0;
}
