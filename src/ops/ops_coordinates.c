/* SPDX-License-Identifier: Apache-2.0 */
/* What belongs to a picture and moves with it. From the operation on that declares it, a mask gets every part that moves
 * pixels of its picture, with the same draws (plan_image.c); boxes and keypoints are taken along its way (coordinates.h). */
#include <stdio.h>

#include "ops/ops_shared.h"
#include "plan/planner.h"

/* The picture that the argument `image` names, which must not be a follower itself. */
static int find_leader(leat__planner *planner, const leat__use *use, int field, int *leader,
                       leat_error *err) {
    if (planner->inside)
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                               "what moves together is said when samples are together: write it behind");
    LEAT_TRY(leat__plan_field_find(planner, use, "image", leader, err));
    const leat__plan_field *image = &planner->field[*leader];
    if (*leader == field)
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "field %s cannot follow itself: write image=NAME",
                               image->info.name);
    if (image->mask)
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "field %s is a mask of %s: name that picture instead", image->info.name,
                               planner->field[image->leader].info.name);
    return 0;
}

static int plan_mask(leat__planner *planner, const leat__use *use, leat_error *err) {
    int at, leader;
    LEAT_TRY(leat__plan_find_picture(planner, use, LEAT_PICTURES_ANY, &at, err));
    LEAT_TRY(find_leader(planner, use, at, &leader, err));
    leat__plan_field *field = &planner->field[at];
    const double fill = leat__use_arg(use, "fill")->x;
    const double most = field->info.dtype == LEAT_DTYPE_U8 ? 255 : 65535;
    if (field->mask || field->masks)
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX, "field %s %s", field->info.name,
                               field->mask ? "is a mask already" : "has masks of its own");
    if (field->info.dtype != LEAT_DTYPE_F32 && !(fill >= 0 && fill <= most && (double)(int)fill == fill))
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "fill=%g is no value of %s, of which the mask is",
                               fill, leat_dtype_name(field->info.dtype));
    field->mask = true;
    field->leader = leader;
    field->mask_fill = (float)fill;
    planner->field[leader].masks |= UINT32_C(1) << at;
    return 0;
}

/* ------------------------------------------------------------------------------------ boxes, keypoints */

/* Whether samples may have different numbers of them. */
static bool is_open(const leat__planner *planner, const leat_field *info) {
    bool padded = false;
    for (int i = 0; i < planner->spec->n_uses; i++)
        padded |= (planner->spec->use[i].op->flags & LEAT_OP_PADS) != 0;
    return info->ragged || (padded && info->ndim > 0 && info->shape[0] < 0);
}

/* Values of a sample, or -1 when only the data knows. */
static int64_t count_of(const leat_field *info) {
    int64_t n = 1;
    for (int i = 0; i < info->ndim; i++)
        if (info->shape[i] < 0 || __builtin_mul_overflow(n, info->shape[i], &n)) return -1;
    return n;
}

/* The field itself: numbers, so many for each of what it holds. */
static int find_values(leat__planner *planner, const leat__use *use, int each, leat__coords_field *f,
                       leat_error *err) {
    LEAT_TRY(leat__plan_field_find(planner, use, "field", &f->value, err));
    const leat_field *info = &planner->field[f->value].info;
    if (info->dtype == LEAT_DTYPE_BYTES || info->dtype == LEAT_DTYPE_BOOL)
        return leat__plan_fail(use, err, LEAT_ERR_TYPE, "field %s holds %s, not numbers", info->name,
                               leat_dtype_name(info->dtype));
    const int64_t last = info->ndim ? info->shape[info->ndim - 1] : 1, count = count_of(info);
    const bool fits = info->ndim > 1 ? last < 0 || last == each : count < 0 || count % each == 0;
    if (!fits || info->ndim == 0)
        return leat__plan_fail(use, err, LEAT_ERR_SHAPE,
                               "field %s must have %d numbers for each, as (..., %d) or one after the other",
                               info->name, each, each);
    for (int i = 0; i < planner->n_coords; i++)
        if (planner->coords[i].value == f->value)
            return leat__plan_fail(use, err, LEAT_ERR_SYNTAX, "field %s follows a picture already",
                                   info->name);
    f->plan.removes = is_open(planner, info);
    f->plan.name = leat__plan_keep(planner, info->name, strlen(info->name) + 1, err);
    if (!f->plan.name) return LEAT_ERR_MEMORY;
    LEAT_TRY(find_leader(planner, use, f->value, &f->leader, err));
    const leat_field *image = &planner->field[f->leader].info;
    if (image->dtype != LEAT_DTYPE_BYTES && image->ndim != 2 && image->ndim != 3)
        return leat__plan_fail(use, err, LEAT_ERR_SHAPE, "field %s is no picture that something could follow",
                               image->name);
    return 0;
}

/* Fields of which values are taken out together with what is lost, separated by commas. */
static int find_labels(leat__planner *planner, const leat__use *use, leat__coords_field *f, leat_error *err) {
    const char *text = leat__use_arg(use, "labels")->text;
    while (*text) {
        char name[sizeof planner->field[0].info.name];
        const size_t len = strcspn(text, ",");
        snprintf(name, sizeof name, "%.*s", (int)LEAT_MIN(len, sizeof name - 1), text);
        const int at = leat__plan_live(planner, name);
        if (at < 0 || at == f->value || at == f->leader)
            return leat__plan_fail(use, err, LEAT_ERR_NOT_FOUND, "labels: there is no field '%s' for them",
                                   name);
        if (f->plan.removes && !is_open(planner, &planner->field[at].info))
            return leat__plan_fail(
                use, err, LEAT_ERR_SHAPE,
                "field %s has a fixed number of values, but %s loses some: parse both with [*]", name,
                f->plan.name);
        if (f->plan.n_labels == LEAT_COORDS_LABELS)
            return leat__plan_fail(use, err, LEAT_ERR_LIMIT, "labels: more than %d fields",
                                   LEAT_COORDS_LABELS);
        f->label[f->plan.n_labels] = at;
        f->plan.label_name[f->plan.n_labels] = leat__plan_keep(planner, name, strlen(name) + 1, err);
        if (!f->plan.label_name[f->plan.n_labels++]) return LEAT_ERR_MEMORY;
        text += len + (text[len] == ',');
    }
    return 0;
}

/* Boxes in four fields become one field first. */
static int join_sides(leat__planner *planner, const leat__use *use, const char *sides, leat_error *err) {
    char name[4][sizeof planner->field[0].info.name];
    const char *field[4];
    int n = 0, at;
    for (; *sides && n < 4; n++) {
        const size_t len = strcspn(sides, ",");
        snprintf(name[n], sizeof name[n], "%.*s", (int)LEAT_MIN(len, sizeof name[n] - 1), sides);
        field[n] = name[n];
        sides += len + (sides[len] == ',');
    }
    if (n != 4 || *sides)
        return leat__plan_fail(
            use, err, LEAT_ERR_ARGUMENT,
            "of must name four fields in the order of format, such as of=xmin,ymin,xmax,ymax");
    return leat__plan_stack(planner, use, leat__use_arg(use, "field")->text, field, 4, &at, err);
}

static int plan_boxes(leat__planner *planner, const leat__use *use, leat_error *err) {
    leat__coords_field f = {.plan = {.format = (leat__coords_format)leat__use_arg(use, "format")->i,
                                     .normalized = leat__use_arg(use, "normalized")->i != 0,
                                     .min_area = leat__use_arg(use, "min_area")->x,
                                     .min_visible = leat__use_arg(use, "min_visible")->x}};
    const char *sides = leat__use_arg(use, "of")->text;
    if (*sides) LEAT_TRY(join_sides(planner, use, sides, err));
    LEAT_TRY(find_values(planner, use, 4, &f, err));
    LEAT_TRY(find_labels(planner, use, &f, err));
    return leat__coords_begin(planner, use, &f, err);
}

enum { OUTSIDE_KEEP, OUTSIDE_ZERO, OUTSIDE_REMOVE };

static int plan_keypoints(leat__planner *planner, const leat__use *use, leat_error *err) {
    const int64_t format = leat__use_arg(use, "format")->i, outside = leat__use_arg(use, "outside")->i;
    leat__coords_field f = {.plan = {.format = (leat__coords_format)(LEAT_COORDS_XY + format),
                                     .normalized = leat__use_arg(use, "normalized")->i != 0,
                                     .centred = leat__use_arg(use, "origin")->i == 1,
                                     .zeroes = outside == OUTSIDE_ZERO}};
    if (f.plan.normalized && f.plan.centred)
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "what is relative to the size begins at the corner: leave origin out");
    LEAT_TRY(find_values(planner, use, f.plan.format == LEAT_COORDS_XYV ? 3 : 2, &f, err));
    if (outside == OUTSIDE_REMOVE && !f.plan.removes)
        return leat__plan_fail(
            use, err, LEAT_ERR_SHAPE,
            "field %s has a fixed number of values: parse it with [*], or write outside=zero", f.plan.name);
    f.plan.removes = outside == OUTSIDE_REMOVE;
    LEAT_TRY(find_labels(planner, use, &f, err));
    return leat__coords_begin(planner, use, &f, err);
}

/* ------------------------------------------------------------------------------------------- the table */

#define LEADER_ARG                                                                   \
    {                                                                                \
        .name = "image", .kind = LEAT_ARG_FIELD, .fallback = "image", .named = true, \
        .help = "the picture that it belongs to"                                     \
    }

#define NORMALIZED_ARG                                                                   \
    {                                                                                    \
        .name = "normalized", .kind = LEAT_ARG_BOOL, .fallback = "false", .named = true, \
        .help = "relative to the size of the picture, before and behind"                 \
    }
#define LABELS_ARG                                                                            \
    {                                                                                         \
        .name = "labels", .kind = LEAT_ARG_TEXT, .fallback = "", .named = true,               \
        .help = "fields with values for each of them, which go with those that are taken out" \
    }

const leat__op leat__ops_coordinates[] = {
    {.name = "mask",
     .kind = LEAT_OP_SAMPLE,
     .help = "From here on this field moves with a picture, by nearest values: classes of pixels stay what "
             "they are.",
     .like = "torchvision tv_tensors.Mask",
     .flags = LEAT_OP_MASKS,
     .plan = plan_mask,
     .arg = {{.name = "field", .kind = LEAT_ARG_FIELD, .help = "the mask, decoded"},
             LEADER_ARG,
             {.name = "fill",
              .kind = LEAT_ARG_NUMBER,
              .fallback = "0",
              .named = true,
              .help = "its value where a border or a warp shows nothing of the picture"}}},
    {.name = "boxes",
     .kind = LEAT_OP_SAMPLE,
     .help =
         "From here on these boxes move with a picture; those that leave it are taken out, or become zeros.",
     .like = "torchvision tv_tensors.BoundingBoxes, torchvision SanitizeBoundingBoxes",
     .flags = LEAT_OP_BOXES,
     .plan = plan_boxes,
     .arg = {{.name = "field", .kind = LEAT_ARG_FIELD, .help = "four numbers a box"},
             {.name = "format",
              .kind = LEAT_ARG_WORD,
              .fallback = "xyxy",
              .words = "xyxy|xywh|yxyx|cxcywh",
              .named = true,
              .help = "two corners, a corner and the size, TensorFlow's order, the middle and the size"},
             NORMALIZED_ARG,
             LEADER_ARG,
             {.name = "min_area",
              .kind = LEAT_ARG_NUMBER,
              .fallback = "0",
              .max = 1e18,
              .named = true,
              .help = "in pixels of the result; what is smaller is lost"},
             {.name = "min_visible",
              .kind = LEAT_ARG_NUMBER,
              .fallback = "0",
              .max = 1,
              .named = true,
              .help = "share of a box; if less of it is left, it is lost"},
             LABELS_ARG,
             {.name = "of",
              .kind = LEAT_ARG_TEXT,
              .fallback = "",
              .named = true,
              .help =
                  "four fields that the boxes are made of, in the order of format: xmin,ymin,xmax,ymax"}}},
    {.name = "keypoints",
     .kind = LEAT_OP_SAMPLE,
     .help = "From here on these places move with a picture.",
     .like = "torchvision tv_tensors.KeyPoints",
     .plan = plan_keypoints,
     .arg = {{.name = "field", .kind = LEAT_ARG_FIELD, .help = "two or three numbers a place"},
             {.name = "format",
              .kind = LEAT_ARG_WORD,
              .fallback = "xy",
              .words = "xy|yx|xyv",
              .named = true,
              .help = "xyv: with a number that becomes 0 when the place leaves the picture, as COCO has it"},
             NORMALIZED_ARG,
             {.name = "origin",
              .kind = LEAT_ARG_WORD,
              .fallback = "corner",
              .words = "corner|centre",
              .named = true,
              .help = "where 0,0 lies in the first pixel; centre: whole numbers are pixels"},
             {.name = "outside",
              .kind = LEAT_ARG_WORD,
              .fallback = "keep",
              .words = "keep|zero|remove",
              .named = true,
              .help = "those that leave the picture: as they come, zeros, or taken out"},
             LEADER_ARG,
             LABELS_ARG}},
    {0},
};
