/* SPDX-License-Identifier: Apache-2.0 */
/* What another device does: behind on_device, operations are drawn here and done elsewhere. */
#include <stdio.h>

#include "ops/ops_shared.h"
#include "plan/planner.h"
#include "sample/device.h"
#include "sample/run.h"

#define NAME "drawn"

int leat__device_check(const leat__planner *planner, const leat__use *use, int at, leat_error *err) {
    const char *field = planner->field[at].info.name;
    if (!use->op->on_device)
        return leat__plan_fail(use, err, LEAT_ERR_UNSUPPORTED,
                               "field %s is on the device, which cannot do this: write it before on_device",
                               field);
    return 0;
}

int leat__device_add(leat__planner *planner, const leat__use *use, int at, const leat__device_part *part,
                     leat_error *err) {
    leat__plan_field *field = &planner->field[at];
    leat__device_plan *device = field->device;
    if (device->n_parts == LEAT_DEVICE_PARTS)
        return leat__plan_fail(use, err, LEAT_ERR_LIMIT, "more than %d operations on the device",
                               LEAT_DEVICE_PARTS);
    leat__device_part *added = &device->part[device->n_parts++];
    *added = *part;
    added->dtype = field->info.dtype;
    switch (part->kind) {
    case LEAT_DEVICE_IS_FLIP: added->numbers = LEAT_DEVICE_FLIP; break;
    case LEAT_DEVICE_IS_WARP:
        added->numbers = LEAT_DEVICE_WARP;
        if (part->as.warp.order > 0) field->info.dtype = LEAT_DTYPE_F32;
        break;
    default:
        added->numbers = use->op->on_device;
        if (added->numbers == LEAT_ON_DEVICE_AS_KIND) {
            added->kind = LEAT_DEVICE_IS_AFFINE;
            added->numbers = LEAT_DEVICE_AFFINE * part->as.point.n_points;
        }
        field->info.dtype = part->as.point.dtype;
    }
    device->n_numbers += added->numbers;
    planner->field[device->numbers].info.shape[0] = device->n_numbers;
    return 0;
}

int leat__device_settle(leat__planner *planner, leat_error *err) {
    for (int i = 0; i < planner->n_fields; i++) {
        leat__plan_field *field = &planner->field[i];
        if (!field->device) continue;
        if (field->nchw)
            return leat__fail(
                err, LEAT_ERR_UNSUPPORTED,
                "on_device: field %s is sent with channels last: leave layout=nchw out, the device "
                "changes the layout",
                field->info.name);
        field->info = field->device->sent;
    }
    return 0;
}

static int plan_on_device(leat__planner *planner, const leat__use *use, leat_error *err) {
    int at;
    if (planner->batched)
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX, "works on single samples: write it before batch");
    LEAT_TRY(leat__plan_find_picture(planner, use, LEAT_PICTURES_U8, &at, err));
    leat__plan_field *field = &planner->field[at];
    if (field->masks || field->trail)
        return leat__plan_fail(use, err, LEAT_ERR_UNSUPPORTED,
                               "masks, boxes and keypoints cannot follow to the device: leave on_device out");
    if (leat__plan_live(planner, NAME) >= 0)
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX, "there is a field " NAME " already");
    if (planner->n_fields == LEAT_VALUES_MAX)
        return leat__plan_fail(use, err, LEAT_ERR_LIMIT, "more than %d fields", LEAT_VALUES_MAX);
    leat__plan_close_pass(planner, at);
    const int numbers = planner->n_fields++;
    leat__device_plan *device = leat__arena_alloc(&planner->plan->memory, sizeof *device);
    if (!device) return leat__fail_memory(err, sizeof *device, "a plan");
    *device = (leat__device_plan){.picture = at, .numbers = numbers, .sent = field->info};
    planner->field[numbers] = (leat__plan_field){.info = {.dtype = LEAT_DTYPE_F32, .ndim = 1}, .pass = -1};
    snprintf(planner->field[numbers].info.name, sizeof planner->field[numbers].info.name, NAME);
    planner->live[numbers] = true;
    planner->plan->n_values = planner->n_fields;
    leat__step *step = leat__plan_step_add(planner, use, LEAT_STEP_DRAW, LEAT_STAGE_TRANSFORM, numbers, err);
    if (!step) return err ? err->code : LEAT_ERR_LIMIT;
    step->as.device = field->device = device;
    return 0;
}

const leat__op leat__ops_device[] = {
    {.name = "on_device",
     .kind = LEAT_OP_BATCH, /* it draws nothing and does not count among the operations that do */
     .help = "What follows for the picture is drawn but not done: the u8 picture goes out with a field "
             "`drawn` that "
             "tells another device what to do.",
     .like = "",
     .plan = plan_on_device,
     .arg = {LEAT_ARG_FIELD_NAMED}},
    {0},
};
