/* SPDX-License-Identifier: Apache-2.0 */
/* How image operations become steps.
 *
 * Adding an image operation: a row of the table, its plan function and its draw function stand together in one
 * ops_*.c file. The plan function reads the arguments once, into a leat__image_op, and adds the operation to the plan
 * with one of the functions below. The draw function runs for each sample: it draws what is random from d->rng,
 * records it with leat__params_add, and says what this sample gets. It must be a function of its arguments alone.
 *
 *     points     leat__plan_add_point     each value or pixel by itself: joins the field's open pass
 *     measured   the same                 points that need to know the picture first (its mean, its histogram):
 *                                         draw adds them with leat__pass_add_measured; begins a pass of its own unless
 *                                         the open one has the picture in memory, unturned
 *     flips      leat__plan_add_flip      by the order of writing
 *     crops      leat__plan_add_crop      drawn before decoding; only that part is decoded
 *     pads       leat__plan_add_pad       rows with a border, in front of everything but the crop
 *     resizing   leat__plan_add_resize
 *     warps      leat__plan_add_warp      one inverse map, one sampling; begins a pass, since it wants a whole picture
 *     holes      leat__plan_add_hole      an erased rectangle (image/pass/erase.h), cut into what the pass stored
 *     pictures   leat__plan_add_picture   anything else: from a whole picture in memory to another one
 *
 * An operation may add several of these; they share its number, and with it its draws: give each a `first_draw` of its
 * own. `options fuse=off` makes every call begin a pass, with equal bytes.
 *
 * What moves pixels (flips, crops, pads, resizing, warps, and pictures that say so) is added to the masks of the picture
 * too, by these functions themselves; see ops_coordinates.c. */
#ifndef LEAT_PLAN_PLAN_IMAGE_H
#define LEAT_PLAN_PLAN_IMAGE_H

#include "plan/op.h"
#include "sample/image_op.h"

/* Whose part it is, for its draws and its messages: leat__plan_add_* call it. */
void leat__image_op_name(leat__image_op *op, const leat__use *use);
/* The field that the argument `field` names: it must hold pictures. types: LEAT_PICTURES_*. */
enum {
    LEAT_PICTURES_U8 = 1,
    LEAT_PICTURES_F32 = 2,
    LEAT_PICTURES_U16 = 4,
    LEAT_PICTURES_POINT = 3,
    LEAT_PICTURES_ANY = 7
};
int leat__plan_find_picture(leat__planner *planner, const leat__use *use, unsigned types, int *at,
                            leat_error *err);
/* The field's type and shape as they are at this point of the text: u8 or f32; -1 = not known before data is read. */
const leat_field *leat__plan_picture(const leat__planner *planner, int at);
/* Memory that lives as long as the plan. */
void *leat__plan_keep(leat__planner *planner, const void *bytes, size_t n, leat_error *err);

/* Numbers separated by commas in the argument `name`: at most max of them. */
int leat__plan_read_numbers(const leat__use *use, const char *name, double *out, int max, int *n,
                            leat_error *err);
/* "low,high" with low <= high, or one number x for both. */
int leat__plan_read_range(const leat__use *use, const char *name, double out[2], leat_error *err);
/* height and width of the arguments of these names; width as height if left out. */
void leat__plan_read_size(const leat__use *use, int *height, int *width);
/* The resampling that method, flavour (pil or tf) and antialias ask for; checked against the field. */
int leat__plan_read_method(const leat__planner *planner, const leat__use *use, int at, bool pil,
                           bool antialias, leat__resample *out, leat_error *err);

int leat__plan_add_point(leat__planner *planner, const leat__use *use, int at, const leat__point_plan *point,
                         leat_error *err);
int leat__plan_add_flip(leat__planner *planner, const leat__use *use, int at, const leat__flip *flip,
                        leat_error *err);
int leat__plan_add_crop(leat__planner *planner, const leat__use *use, int at, const leat__crop_plan *crop,
                        leat_error *err);
int leat__plan_add_pad(leat__planner *planner, const leat__use *use, int at, const leat__pad_plan *pad,
                       leat_error *err);
int leat__plan_add_resize(leat__planner *planner, const leat__use *use, int at, leat__resample resample,
                          int height, int width, leat_error *err);
/* The same to a size that depends on the picture. */
int leat__plan_add_resize_by(leat__planner *planner, const leat__use *use, int at, leat__resample resample,
                             const leat__size_plan *size, leat_error *err);
int leat__plan_add_warp(leat__planner *planner, const leat__use *use, int at, const leat__warp_plan *warp,
                        leat_error *err);
int leat__plan_add_picture(leat__planner *planner, const leat__use *use, int at,
                           const leat__picture_plan *picture, leat_error *err);
int leat__plan_add_hole(leat__planner *planner, const leat__use *use, int at, const leat__hole_plan *hole,
                        leat_error *err);
/* The method of the same flavour that makes no new values. */
leat__resample leat__plan_nearest(leat__resample resample, int dtype);
int leat__plan_add_decode(leat__planner *planner, const leat__use *use, int at,
                          const leat__decode_options *options, bool scaled, leat_error *err);
/* When the text is planned: every decode scale=auto has its resize. */
int leat__plan_check_scaled(const leat__planner *planner, leat_error *err);
/* The next operation begins a pass: its values are stored as dtype (u8, u16, f32, f16, bf16). */
int leat__plan_store_as(leat__planner *planner, const leat__use *use, int at, int dtype, leat_error *err);
/* The last pass of the field stores planes. */
void leat__plan_set_nchw(leat__planner *planner, int at);

#endif
