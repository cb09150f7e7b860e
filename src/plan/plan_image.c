/* SPDX-License-Identifier: Apache-2.0 */
/* The rule of fusion: a part of an operation joins the field's open pass when the pass can do it after what it does
 * already, with the same rounding; otherwise it begins a pass of its own.
 *
 *     [decode] [crop] [pad] [resample or warp] then points, flips at any point, then the store */
#include "plan/plan_image.h"

#include <stdio.h>

#include "plan/planner.h"

static leat__pass_plan *open_pass(leat__planner *planner, int field) {
    const int number = planner->field[field].pass;
    return number < 0 ? NULL : planner->plan->step[number].as.pass;
}

void *leat__plan_keep(leat__planner *planner, const void *bytes, size_t n, leat_error *err) {
    void *kept = leat__arena_alloc(&planner->plan->memory, n);
    if (!kept) {
        leat__fail_memory(err, n, "a plan");
        return NULL;
    }
    return memcpy(kept, bytes, n);
}

static leat__pass_plan *begin_pass(leat__planner *planner, const leat__use *use, int at, leat_error *err) {
    leat__plan_close_pass(planner, at);
    const leat__pass_plan fresh = {.dtype = planner->field[at].info.dtype};
    leat__pass_plan *pass = leat__plan_keep(planner, &fresh, sizeof fresh, err);
    leat__step *step =
        pass ? leat__plan_step_add(planner, use, LEAT_STEP_PASS, LEAT_STAGE_TRANSFORM, at, err) : NULL;
    if (!step) return NULL;
    step->as.pass = pass;
    step->trail = planner->field[at].trail;
    planner->field[at].pass = planner->plan->n_steps - 1;
    return pass;
}

/* With decode scale=auto, what is decoded depends on the crop and the resize behind it: they are one pass in any case. */
static bool wants_resize(const leat__pass_plan *pass) {
    return pass->scaled && pass->resample == LEAT_RESAMPLE_NONE;
}

/* The open pass if it can take the part and may, otherwise a new one. The operation is noted in its text. */
static leat__pass_plan *join_pass(leat__planner *planner, const leat__use *use, int at, bool joinable,
                                  leat_error *err) {
    leat__pass_plan *pass = open_pass(planner, at);
    const bool may = planner->plan->fuse || (pass && wants_resize(pass));
    if (!pass || !joinable || !may) pass = begin_pass(planner, use, at, err);
    if (!pass) return NULL;
    const size_t n = strlen(pass->text);
    if (n == 0 || planner->field[at].noted != use->number) /* it may add several parts */
        snprintf(pass->text + n, sizeof pass->text - n, "%s%s", n ? ", " : "", use->op->name);
    planner->field[at].noted = use->number;
    return pass;
}

/* What a fused pass would ask of its decoder: with fuse=off, pass does what could have joined the pass `before`. */
static leat__needed_plan *needed_of(const leat__pass_plan *before, const leat__pass_plan *pass,
                                    bool joinable) {
    return joinable && before != pass ? before->needed : NULL;
}

static int failed(const leat_error *err) {
    return err && err->code < 0 ? err->code : LEAT_ERR_MEMORY;
}

void leat__image_op_name(leat__image_op *op, const leat__use *use) {
    op->name = use->op->name;
    op->number = use->number;
    op->draws = use->draws;
    op->stir = use->stir;
}

static leat__image_op named(const leat__planner *planner, const leat__image_op *op, const leat__use *use,
                            int at) {
    leat__image_op out = *op;
    leat__image_op_name(&out, use);
    out.quiet = planner->again;
    out.mask = planner->field[at].mask;
    out.mask_fill = planner->field[at].mask_fill;
    return out;
}

const leat_field *leat__plan_picture(const leat__planner *planner, int at) {
    return &planner->field[at].info;
}

void leat__plan_set_nchw(leat__planner *planner, int at) {
    planner->field[at].nchw = true;
}

int leat__plan_find_picture(leat__planner *planner, const leat__use *use, unsigned types, int *at,
                            leat_error *err) {
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
    const bool taken = (info->dtype == LEAT_DTYPE_U8 && types & LEAT_PICTURES_U8) ||
                       (info->dtype == LEAT_DTYPE_U16 && types & LEAT_PICTURES_U16) ||
                       (info->dtype == LEAT_DTYPE_F32 && types & LEAT_PICTURES_F32);
    if (taken) return leat__picture_take(planner, use, *at, err);
    if (types == LEAT_PICTURES_U8)
        return leat__plan_fail(
            use, err, LEAT_ERR_TYPE,
            "works on u8 pictures, field %s holds %s: write it before cast, normalize and resize; "
            "resize flavour=pil keeps u8",
            info->name, leat_dtype_name(info->dtype));
    if (info->dtype == LEAT_DTYPE_F16 || info->dtype == LEAT_DTYPE_BF16)
        return leat__plan_fail(use, err, LEAT_ERR_TYPE, "field %s is %s already: write the cast to it last",
                               info->name, leat_dtype_name(info->dtype));
    return leat__plan_fail(use, err, LEAT_ERR_TYPE,
                           "works on u8 and f32 pictures, field %s holds %s: write cast %s f32 before",
                           info->name, leat_dtype_name(info->dtype), info->name);
}

/* ------------------------------------------------------------------------------------------- arguments */

int leat__plan_read_numbers(const leat__use *use, const char *name, double *out, int max, int *n,
                            leat_error *err) {
    const char *text = leat__use_arg(use, name)->text;
    char part[64];
    for (*n = 0; *text && *n < max; ++*n) {
        const size_t len = strcspn(text, ",");
        snprintf(part, sizeof part, "%.*s", (int)LEAT_MIN(len, sizeof part - 1), text);
        if (!leat__parse_number(part, &out[*n]))
            return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                                   "%s must be numbers separated by commas, '%s' is none", name, part);
        text += len + (text[len] == ',');
    }
    if (*text)
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "%s has more than %d number%s", name, max,
                               max > 1 ? "s" : "");
    return 0;
}

int leat__plan_read_range(const leat__use *use, const char *name, double out[2], leat_error *err) {
    int n;
    LEAT_TRY(leat__plan_read_numbers(use, name, out, 2, &n, err));
    if (n == 1) out[1] = out[0];
    if (n == 0 || !(out[1] >= out[0]))
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "%s must be one number, or two with the smaller one first, such as 0.5,1.5",
                               name);
    return 0;
}

void leat__plan_read_size(const leat__use *use, int *height, int *width) {
    const leat__arg_value *w = leat__use_arg(use, "width");
    *height = (int)leat__use_arg(use, "height")->i;
    *width = w->given ? (int)w->i : *height;
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
int leat__plan_read_method(const leat__planner *planner, const leat__use *use, int at, bool pil,
                           bool antialias, leat__resample *out, leat_error *err) {
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
            "flavour=pil works on u8, field %s holds %s: write it before cast, normalize and resize; "
            "resize flavour=pil keeps u8",
            info->name, leat_dtype_name(info->dtype));
    return 0;
}

/* ------------------------------------------------------------------------------- pictures that move together */

enum { PART_CROP, PART_PAD, PART_WARP, PART_PICTURE };

/* Where fields compare their sizes: each part of each operation that works on several has a place of its own. */
static int find_meeting(leat__planner *planner, const leat__use *use, int part, leat__image_op *op, int at,
                        leat_error *err) {
    leat__plan *plan = planner->plan;
    if (!planner->several) return 0;
    const char *name = planner->field[at].info.name;
    op->field = leat__plan_keep(planner, name, strlen(name) + 1, err);
    if (!op->field) return LEAT_ERR_MEMORY;
    for (op->meeting = 0; op->meeting < plan->n_meetings; op->meeting++)
        if (planner->meeting[op->meeting].op == use->number && planner->meeting[op->meeting].part == part)
            return 0;
    if (plan->n_meetings == LEAT_MEETINGS_MAX)
        return leat__plan_fail(use, err, LEAT_ERR_LIMIT, "more than %d operations on several pictures",
                               LEAT_MEETINGS_MAX);
    planner->meeting[plan->n_meetings].op = use->number;
    planner->meeting[plan->n_meetings++].part = part;
    return 0;
}

/* Adds one part to one field. */
typedef int add_fn(leat__planner *planner, const leat__use *use, int at, const void *part, leat_error *err);

typedef struct move { /* a part that moves pixels */
    add_fn *add;
    const void *part;
    int n_moves;    /* of what follows the picture                  */
    bool for_masks; /* a mask can have it by itself, without its picture */
} move;

/* Adds it to the picture and to its masks. */
static int add_to_all(leat__planner *planner, const leat__use *use, int at, const move *moving,
                      leat_error *err) {
    const leat__plan_field *field = &planner->field[at];
    const bool several = planner->several, again = planner->again;
    if (field->mask && !moving->for_masks)
        return leat__plan_fail(
            use, err, LEAT_ERR_SYNTAX,
            "field %s is a mask and moves with %s by itself: leave it out, or write this before mask",
            field->info.name, planner->field[field->leader].info.name);
    planner->several |= field->masks != 0;
    int rc = moving->add(planner, use, at, moving->part, err);
    planner->again = true;
    for (int i = 0; i < planner->n_fields && rc == 0; i++)
        if (field->masks >> i & 1 && planner->live[i]) rc = moving->add(planner, use, i, moving->part, err);
    planner->several = several;
    planner->again = again;
    return rc < 0 ? rc : leat__coords_count(planner, use, at, moving->n_moves, err);
}

leat__resample leat__plan_nearest(leat__resample resample, int dtype) {
    const bool pil = resample >= LEAT_RESAMPLE_PIL_NEAREST;
    return pil && dtype == LEAT_DTYPE_U8 ? LEAT_RESAMPLE_PIL_NEAREST : LEAT_RESAMPLE_TF_NEAREST;
}

/* ---------------------------------------------------------------------------------------- parts of passes */

/* Points of all operations that a pass holds already. */
static int count_points(const leat__pass_plan *pass) {
    int n = pass->warp.n_points;
    for (int i = 0; i < pass->n_points; i++) n += pass->point[i].n_points;
    return n;
}

/* Tables that they may need: only what leaves u8 has any. */
static int count_tables(const leat__pass_plan *pass) {
    int n = 0;
    for (int i = 0; i < pass->n_points; i++)
        if (pass->point[i].dtype == LEAT_DTYPE_U8) n += pass->point[i].n_points;
    return n;
}

static bool has_positional(const leat__pass_plan *pass) {
    for (int i = 0; i < pass->n_points; i++)
        if (pass->point[i].positional) return true;
    return false;
}

/* A picture in memory that reaches the points as it is. Flips do not matter to what is measured in whole numbers. */
static bool is_untouched(const leat__pass_plan *pass, int dtype) {
    return !pass->decode && !pass->crop.draw && !pass->pad.draw && !pass->warp.draw &&
           (!pass->n_flips || dtype == LEAT_DTYPE_U8) && pass->resample == LEAT_RESAMPLE_NONE;
}

static bool is_bare(const leat__pass_plan *pass) {
    return pass->resample == LEAT_RESAMPLE_NONE && !pass->warp.draw && !pass->n_points && !pass->n_flips;
}

int leat__plan_add_point(leat__planner *planner, const leat__use *use, int at, const leat__point_plan *point,
                         leat_error *err) {
    leat__plan_field *field = &planner->field[at];
    if (field->device) {
        leat__device_part part = {.kind = LEAT_DEVICE_IS_COLOUR, .as.point = *point};
        part.as.point.op = named(planner, &point->op, use, at);
        return leat__device_add(planner, use, at, &part, err);
    }
    leat__pass_plan *pass = open_pass(planner, at);
    const bool joinable =
        pass && pass->n_points < LEAT_POINTS_MAX &&
        count_points(pass) + point->n_points <= LEAT_PASS_POINTS &&
        (point->dtype != LEAT_DTYPE_U8 || count_tables(pass) + point->n_points <= LEAT_PASS_TABLES) &&
        (!point->measured || is_untouched(pass, field->info.dtype)) && (!point->positional || !pass->n_flips);
    pass = join_pass(planner, use, at, joinable, err);
    if (!pass) return failed(err);
    leat__point_plan *added = &pass->point[pass->n_points++];
    *added = *point;
    added->op = named(planner, &point->op, use, at);
    pass->dtype = field->info.dtype = point->dtype;
    return 0;
}

static int add_flip(leat__planner *planner, const leat__use *use, int at, const void *part, leat_error *err) {
    const leat__flip *flip = part;
    if (planner->field[at].device) {
        leat__device_part added = {.kind = LEAT_DEVICE_IS_FLIP, .as.flip = *flip};
        added.as.flip.op = named(planner, &flip->op, use, at);
        return leat__device_add(planner, use, at, &added, err);
    }
    leat__pass_plan *pass = open_pass(planner, at);
    const bool joinable = pass && pass->n_flips < (int)LEAT_COUNT(pass->flip) && !has_positional(pass);
    pass = join_pass(planner, use, at, joinable, err);
    if (!pass) return failed(err);
    leat__flip *added = &pass->flip[pass->n_flips++];
    *added = *flip;
    added->op = named(planner, &flip->op, use, at);
    return 0;
}

int leat__plan_add_flip(leat__planner *planner, const leat__use *use, int at, const leat__flip *flip,
                        leat_error *err) {
    return add_to_all(planner, use, at, &(move){add_flip, flip, .n_moves = 1}, err);
}

static int add_crop(leat__planner *planner, const leat__use *use, int at, const void *part, leat_error *err) {
    const leat__crop_plan *crop = part;
    leat__plan_field *field = &planner->field[at];
    const leat__pass_plan *before = open_pass(planner, at);
    const bool joinable = before && is_bare(before) && !before->crop.draw && !before->pad.draw;
    leat__pass_plan *pass = join_pass(planner, use, at, joinable, err);
    if (!pass) return failed(err);
    pass->crop = *crop;
    pass->crop.op = named(planner, &crop->op, use, at);
    leat__needed_plan *needed = needed_of(before, pass, joinable);
    if (needed) needed->crop = pass->crop;
    if (needed) pass->needed = needed;
    field->by_bucket = false;
    field->info.shape[0] = crop->height ? crop->height : -1;
    field->info.shape[1] = crop->width ? crop->width : -1;
    return find_meeting(planner, use, PART_CROP, &pass->crop.op, at, err);
}

int leat__plan_add_crop(leat__planner *planner, const leat__use *use, int at, const leat__crop_plan *crop,
                        leat_error *err) {
    return add_to_all(planner, use, at, &(move){add_crop, crop, .n_moves = 1}, err);
}

static int add_pad(leat__planner *planner, const leat__use *use, int at, const void *part, leat_error *err) {
    const leat__pad_plan *pad = part;
    leat__plan_field *field = &planner->field[at];
    const leat__pass_plan *before = open_pass(planner, at);
    const bool streams = pad->mode == LEAT_PAD_CONSTANT || (before && !before->decode && !before->needed);
    const bool joinable = before && is_bare(before) && !before->pad.draw && streams;
    leat__pass_plan *pass = join_pass(planner, use, at, joinable, err);
    if (!pass) return failed(err);
    pass->pad = *pad;
    pass->pad.op = named(planner, &pad->op, use, at);
    leat__needed_plan *needed = needed_of(before, pass, joinable);
    if (needed) needed->pad = pass->pad;
    field->by_bucket = false;
    field->info.shape[0] = pad->height ? pad->height : -1;
    field->info.shape[1] = pad->width ? pad->width : -1;
    return find_meeting(planner, use, PART_PAD, &pass->pad.op, at, err);
}

int leat__plan_add_pad(leat__planner *planner, const leat__use *use, int at, const leat__pad_plan *pad,
                       leat_error *err) {
    return add_to_all(planner, use, at, &(move){add_pad, pad, .n_moves = 1}, err);
}

typedef struct resize_part {
    leat__resample resample;
    int height, width;
    const leat__size_plan *size; /* NULL = height and width */
} resize_part;

static int add_resize(leat__planner *planner, const leat__use *use, int at, const void *part,
                      leat_error *err) {
    const resize_part *resize = part;
    leat__plan_field *field = &planner->field[at];
    leat__pass_plan *pass = open_pass(planner, at);
    pass = join_pass(planner, use, at, pass && is_bare(pass), err);
    if (!pass) return failed(err);
    pass->resample = field->mask ? leat__plan_nearest(resize->resample, field->info.dtype) : resize->resample;
    pass->height = resize->height;
    pass->width = resize->width;
    if (resize->size) {
        pass->size = *resize->size;
        pass->size.op = named(planner, &resize->size->op, use, at);
    }
    if (leat__resample_gives_f32(pass->resample)) field->info.dtype = LEAT_DTYPE_F32;
    pass->dtype = field->info.dtype;
    field->by_bucket = resize->size && resize->size->by_bucket;
    field->info.shape[0] = resize->height;
    field->info.shape[1] = resize->width;
    return 0;
}

int leat__plan_add_resize(leat__planner *planner, const leat__use *use, int at, leat__resample resample,
                          int height, int width, leat_error *err) {
    const resize_part resize = {.resample = resample, .height = height, .width = width};
    return add_to_all(planner, use, at, &(move){add_resize, &resize, .n_moves = 1, .for_masks = true}, err);
}

int leat__plan_add_resize_by(leat__planner *planner, const leat__use *use, int at, leat__resample resample,
                             const leat__size_plan *size, leat_error *err) {
    const resize_part resize = {.resample = resample, .height = -1, .width = -1, .size = size};
    return add_to_all(planner, use, at, &(move){add_resize, &resize, .n_moves = 1, .for_masks = true}, err);
}

static int add_warp(leat__planner *planner, const leat__use *use, int at, const void *part, leat_error *err) {
    leat__warp_plan plan = *(const leat__warp_plan *)part, *warp = &plan;
    leat__plan_field *field = &planner->field[at];
    if (field->mask) warp->order = warp->dtype = warp->n_points = 0;
    if (field->mask && field->info.dtype != LEAT_DTYPE_U8 && field->info.dtype != LEAT_DTYPE_F32)
        return leat__plan_fail(use, err, LEAT_ERR_TYPE,
                               "works on u8 and f32, the mask %s holds %s: cast it before", field->info.name,
                               leat_dtype_name(field->info.dtype));
    if (field->device) {
        leat__device_part added = {.kind = LEAT_DEVICE_IS_WARP, .as.warp = *warp};
        added.as.warp.op = named(planner, &warp->op, use, at);
        return leat__device_add(planner, use, at, &added, err);
    }
    leat__pass_plan *pass = join_pass(planner, use, at, false, err);
    if (!pass) return failed(err);
    pass->warp = *warp;
    pass->warp.op = named(planner, &warp->op, use, at);
    if (warp->order > 0) field->info.dtype = LEAT_DTYPE_F32;
    if (warp->dtype) field->info.dtype = warp->dtype;
    pass->dtype = field->info.dtype;
    field->by_bucket &= !warp->height && !warp->width;
    if (warp->height) field->info.shape[0] = warp->height;
    if (warp->width) field->info.shape[1] = warp->width;
    return find_meeting(planner, use, PART_WARP, &pass->warp.op, at, err);
}

int leat__plan_add_warp(leat__planner *planner, const leat__use *use, int at, const leat__warp_plan *warp,
                        leat_error *err) {
    const leat__plan_field *field = &planner->field[at];
    if (warp->elastic && field->trail)
        return leat__plan_fail(
            use, err, LEAT_ERR_UNSUPPORTED,
            "boxes and keypoints cannot follow it, and field %s has some: take affine with perspective, or "
            "leave boxes and keypoints out",
            field->info.name);
    /* It may turn its picture as well: those are two moves. */
    return add_to_all(planner, use, at, &(move){add_warp, warp, .n_moves = 2}, err);
}

static int add_picture(leat__planner *planner, const leat__use *use, int at, const void *part,
                       leat_error *err) {
    const leat__picture_plan *picture = part;
    leat__plan_field *field = &planner->field[at];
    if (field->mask && picture->takes == LEAT_PICTURES_U8 && field->info.dtype != LEAT_DTYPE_U8)
        return leat__plan_fail(use, err, LEAT_ERR_TYPE, "works on u8, the mask %s holds %s", field->info.name,
                               leat_dtype_name(field->info.dtype));
    leat__plan_close_pass(planner, at);
    leat__picture_plan *kept = leat__plan_keep(planner, picture, sizeof *picture, err);
    leat__step *step =
        kept ? leat__plan_step_add(planner, use, LEAT_STEP_PICTURE, LEAT_STAGE_TRANSFORM, at, err) : NULL;
    if (!step) return failed(err);
    kept->op = named(planner, &picture->op, use, at);
    if (field->mask && picture->moves) kept->dtype = 0;
    step->as.picture = kept;
    if (picture->moves) step->trail = field->trail;
    if (kept->dtype) field->info.dtype = kept->dtype;
    field->by_bucket &= !picture->height && !picture->width && !picture->turned;
    if (picture->height) field->info.shape[0] = picture->height;
    if (picture->width) field->info.shape[1] = picture->width;
    if (picture->channels && field->info.ndim == 3) field->info.shape[2] = picture->channels;
    if (picture->turned) {
        const int64_t height = field->info.shape[0];
        field->info.shape[0] = field->info.shape[1];
        field->info.shape[1] = height;
    }
    return picture->moves ? find_meeting(planner, use, PART_PICTURE, &kept->op, at, err) : 0;
}

int leat__plan_add_picture(leat__planner *planner, const leat__use *use, int at,
                           const leat__picture_plan *picture, leat_error *err) {
    const leat__plan_field *field = &planner->field[at];
    if (!picture->moves) return add_picture(planner, use, at, picture, err);
    if (!picture->map && (field->masks || field->trail))
        return leat__plan_fail(
            use, err, LEAT_ERR_UNSUPPORTED,
            "it moves pixels in ways of its own, which nothing can follow: field %s has something that "
            "does; take affine and color_jitter, or leave mask, boxes and keypoints out",
            field->info.name);
    return add_to_all(planner, use, at, &(move){add_picture, picture, .n_moves = 1}, err);
}

int leat__plan_add_hole(leat__planner *planner, const leat__use *use, int at, const leat__hole_plan *hole,
                        leat_error *err) {
    leat__pass_plan *pass = open_pass(planner, at);
    pass = join_pass(planner, use, at, pass != NULL, err);
    if (!pass) return failed(err);
    pass->hole = *hole;
    pass->hole.op = named(planner, &hole->op, use, at);
    leat__plan_close_pass(planner, at); /* it is cut into what the pass has stored: nothing can follow */
    return 0;
}

int leat__plan_store_as(leat__planner *planner, const leat__use *use, int at, int dtype, leat_error *err) {
    if (planner->field[at].device)
        return leat__plan_fail(use, err, LEAT_ERR_UNSUPPORTED,
                               "the device works in f32: leave %s out, and convert there",
                               leat_dtype_name(dtype));
    leat__pass_plan *pass = open_pass(planner, at);
    pass = join_pass(planner, use, at, pass != NULL, err);
    if (!pass) return failed(err);
    pass->dtype = planner->field[at].info.dtype = dtype;
    leat__plan_close_pass(planner, at);
    return 0;
}

int leat__plan_add_decode(leat__planner *planner, const leat__use *use, int at,
                          const leat__decode_options *options, bool scaled, leat_error *err) {
    planner->field[at].info.dtype = options->deep ? LEAT_DTYPE_U16 : LEAT_DTYPE_U8;
    leat__pass_plan *pass = join_pass(planner, use, at, false, err);
    if (!pass) return failed(err);
    pass->decode = true;
    pass->decode_options = *options;
    pass->scaled = scaled;
    if (planner->plan->fuse || scaled) return 0;
    static const leat__needed_plan all;
    pass->needed = leat__plan_keep(planner, &all, sizeof all, err);
    return pass->needed ? 0 : failed(err);
}

int leat__plan_check_scaled(const leat__planner *planner, leat_error *err) {
    const leat__plan *plan = planner->plan;
    for (int i = 0; i < plan->n_steps; i++) {
        const leat__step *step = &plan->step[i];
        const leat__pass_plan *pass = step->kind == LEAT_STEP_PASS ? step->as.pass : NULL;
        if (!pass || !(wants_resize(pass) || (pass->scaled && pass->pad.draw))) continue;
        const leat__use *use = planner->spec->use, *last = use + planner->spec->n_uses - 1;
        while (use < last && use->column != step->column) use++;
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                               "scale=auto wants a resize, or a crop and a resize, directly behind it: write "
                               "resize or random_resized_crop there, or leave scale=auto out");
    }
    return 0;
}
