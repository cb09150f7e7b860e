/* SPDX-License-Identifier: Apache-2.0 */
/* Planning what moves with a picture: which boxes and keypoints follow which picture, and from where to where. */
#include "plan/planner.h"

#include <stdio.h>

/* -------------------------------------------------------------------------------------------- plan */

static int count_moves(const leat__pass_plan *pass) {
    return (pass->crop.draw != NULL) + (pass->pad.draw != NULL) + (pass->resample != LEAT_RESAMPLE_NONE) +
           2 * (pass->warp.draw != NULL) + pass->n_flips;
}

int leat__coords_begin(leat__planner *planner, const leat__use *use, const leat__coords_field *follower,
                       leat_error *err) {
    leat__plan *plan = planner->plan;
    leat__plan_field *leader = &planner->field[follower->leader];
    if (planner->n_coords == LEAT_COORDS_MAX)
        return leat__plan_fail(use, err, LEAT_ERR_LIMIT, "more than %d fields that follow pictures",
                               LEAT_COORDS_MAX);
    if (!leader->trail && plan->n_trails == LEAT_TRAILS_MAX)
        return leat__plan_fail(use, err, LEAT_ERR_LIMIT, "more than %d pictures that something follows",
                               LEAT_TRAILS_MAX);
    if (!leader->trail) {
        leader->trail = ++plan->n_trails;
        if (leader->pass >= 0) { /* what it moves already will lie on the trail too */
            plan->step[leader->pass].trail = leader->trail;
            leader->n_moves = count_moves(plan->step[leader->pass].as.pass);
        }
    }
    leat__coords_field *added = &planner->coords[planner->n_coords++];
    *added = *follower;
    added->plan.trail = leader->trail - 1;
    added->plan.from = leader->n_moves;
    return 0;
}

int leat__coords_count(leat__planner *planner, const leat__use *use, int picture, int n, leat_error *err) {
    leat__plan_field *leader = &planner->field[picture];
    if (!leader->trail) return 0;
    leader->n_moves += n;
    if (leader->n_moves <= LEAT_MOVES_MAX) return 0;
    return leat__plan_fail(use, err, LEAT_ERR_LIMIT,
                           "field %s moves more than %d times, and something follows it", leader->info.name,
                           LEAT_MOVES_MAX);
}

static bool concerns(const leat__coords_field *f, int field) {
    if (field < 0 || f->value == field) return true;
    for (int i = 0; i < f->plan.n_labels; i++)
        if (f->label[i] == field) return true;
    return false;
}

static int settle(leat__planner *planner, const leat__use *use, leat__coords_field *f, leat_error *err) {
    f->plan.to = planner->field[f->leader].n_moves;
    if (!planner->live[f->value] || f->plan.to == f->plan.from) return 0;
    const leat__coords_plan *kept = leat__plan_keep(planner, &f->plan, sizeof f->plan, err);
    if (!kept) return LEAT_ERR_MEMORY;
    for (int part = 0; part <= (f->plan.removes ? f->plan.n_labels : 0); part++) {
        const int value = part ? f->label[part - 1] : f->value;
        leat__step *step =
            leat__plan_step_add(planner, use, LEAT_STEP_COORDINATES, LEAT_STAGE_TRANSFORM, value, err);
        if (!step) return LEAT_ERR_LIMIT;
        step->as.coords.plan = kept;
        step->as.coords.part = part;
    }
    f->plan.from = f->plan.to;
    return 0;
}

int leat__coords_settle(leat__planner *planner, const leat__use *use, int field, leat_error *err) {
    for (int i = 0; i < planner->n_coords; i++)
        if (concerns(&planner->coords[i], field)) LEAT_TRY(settle(planner, use, &planner->coords[i], err));
    return 0;
}

int leat__coords_need(leat__planner *planner, const leat__use *use, int picture, int field,
                      const leat__coords_plan **out, leat_error *err) {
    const leat__plan *plan = planner->plan;
    const leat__coords_field *f = NULL;
    for (int i = 0; i < planner->n_coords; i++)
        if (planner->coords[i].value == field && leat__coords_is_box(planner->coords[i].plan.format))
            f = &planner->coords[i];
    if (!f || f->leader != picture)
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "field %s holds no boxes of %s: write boxes %s format=... before",
                               planner->field[field].info.name, planner->field[picture].info.name,
                               planner->field[field].info.name);
    *out = leat__plan_keep(planner, &f->plan, sizeof f->plan, err);
    /* A pass that began before they were moved would see them as they were. */
    for (int i = 0; i < planner->n_fields; i++)
        for (int k = 0; (i == picture || planner->field[picture].masks >> i & 1) && k < plan->n_steps; k++)
            if (plan->step[k].kind == LEAT_STEP_COORDINATES && plan->step[k].value == field &&
                k > planner->field[i].pass)
                leat__plan_close_pass(planner, i);
    return *out ? 0 : LEAT_ERR_MEMORY;
}

/* A hidden field for a cache: the moves of a trail. */
static int keep_trail(leat__planner *planner, const leat__use *use, int picture, leat_error *err) {
    const leat__plan_field *leader = &planner->field[picture];
    if (planner->n_fields == LEAT_VALUES_MAX)
        return leat__plan_fail(use, err, LEAT_ERR_LIMIT, "more than %d fields", LEAT_VALUES_MAX);
    const int value = planner->n_fields++, n = leader->n_moves;
    leat__plan_field *field = &planner->field[value];
    *field =
        (leat__plan_field){.info = {.dtype = LEAT_DTYPE_F64, .ndim = 1, .shape = {n * LEAT_MOVE_NUMBERS}},
                           .pass = -1,
                           .trail_of = picture + 1};
    snprintf(field->info.name, sizeof field->info.name, "%.50s: moves", leader->info.name);
    planner->plan->n_values = planner->n_fields;
    leat__step *step = leat__plan_step_add(planner, use, LEAT_STEP_TRAIL, LEAT_STAGE_TRANSFORM, value, err);
    if (!step) return LEAT_ERR_LIMIT;
    step->as.kept.trail = leader->trail - 1;
    step->as.kept.n = n;
    return 0;
}

int leat__coords_keep(leat__planner *planner, const leat__use *use, leat_error *err) {
    const int n = planner->n_fields;
    for (int i = 0; i < n; i++)
        if (planner->field[i].trail && planner->field[i].n_moves) LEAT_TRY(keep_trail(planner, use, i, err));
    return 0;
}

int leat__coords_resume(leat__planner *planner, const leat__use *use, leat_error *err) {
    for (int i = 0; i < planner->n_fields; i++) {
        if (!planner->field[i].trail_of) continue;
        const leat__plan_field *leader = &planner->field[planner->field[i].trail_of - 1];
        leat__step *step = leat__plan_step_add(planner, use, LEAT_STEP_TRAIL, LEAT_STAGE_TRANSFORM, i, err);
        if (!step) return LEAT_ERR_LIMIT;
        step->as.kept.trail = leader->trail - 1;
        step->as.kept.n = leader->n_moves;
        step->as.kept.resumes = true;
    }
    return 0;
}
