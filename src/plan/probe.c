/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes that only the data knows (an image that is not resized, raw bytes that are not reshaped): runs the first sample
 * that can be read through the plan and takes the shapes it gets. The first by number, not by time, so that the plan
 * depends on text and data alone. Outputs that keep the size of their sample (plan_padding.c) take no shape from it, only an
 * estimate of their bytes. */
#include <stdio.h>

#include "plan/planner.h"
#include "plan/preview.h"

enum { TRIES = 16 };

/* For the message when another sample has another size. */
static int note_sample(leat__planner *planner, const leat__where *at, leat__output *out, leat_error *err) {
    char name[200];
    leat__run_describe(planner->plan, at, name, sizeof name);
    out->stacked = planner->plan->batch;
    out->probed_for = leat__plan_keep(planner, name, strlen(name) + 1, err);
    return out->probed_for ? 0 : LEAT_ERR_MEMORY;
}

static int probe_sample(leat__planner *planner, leat__tools *tools, const leat__where *at, leat_error *err) {
    leat__plan *plan = planner->plan;
    LEAT_TRY(leat__run_sample(tools, at, err));
    for (int i = 0; i < plan->n_outputs; i++) {
        leat_field *field = &plan->output[i].field;
        const leat__value *value = &tools->value[plan->output[i].value];
        if (plan->output[i].unsized) plan->output[i].usual = value->bytes;
        if (field->ragged || plan->output[i].padded || plan->output[i].by_bucket || plan->output[i].unsized)
            continue;
        if (!leat__shape_known(field)) LEAT_TRY(note_sample(planner, at, &plan->output[i], err));
        field->ndim = value->ndim;
        memcpy(field->shape, value->shape, sizeof field->shape);
    }
    return 0;
}

/* Of a stream the samples come as they are read. 1 = there is no other. */
static int probe_next(leat__planner *planner, leat__tools *tools, leat__preview *preview, leat__where *at,
                      leat_error *err) {
    if (preview) {
        const int rc = leat__preview_next(preview, &at->piece, &at->n_pieces, err);
        if (rc == 1) leat__fail(err, LEAT_ERR_NOT_FOUND, "%s holds no record", planner->plan->source->title);
        if (rc != 0) return rc;
    }
    return probe_sample(planner, tools, at, err);
}

int leat__plan_probe(leat__planner *planner, leat_error *err) {
    leat__plan *plan = planner->plan;
    leat__preview *preview = NULL;
    leat__tools *tools = leat__tools_new(plan, err);
    int rc = tools ? 0 : LEAT_ERR_MEMORY;
    if (rc == 0 && plan->stream) rc = leat__preview_new(&preview, plan, err);
    /* If the order chooses samples, the first chosen one is read: samples left out may have other shapes. */
    int chosen = 0;
    for (int i = 0; i < plan->order.n_verbs; i++)
        if (plan->order.verb[i].kind == LEAT_ORDER_PICK || plan->order.verb[i].kind == LEAT_ORDER_BRANCH)
            chosen = i + 1;
    if (chosen && rc == 0) rc = leat__order_allocate(&plan->order, err);
    const uint64_t tries = LEAT_MIN((uint64_t)TRIES, plan->order.length[chosen]);
    leat_error first = {0};
    for (uint64_t i = 0; i < tries && rc == 0; i++) {
        leat__where at = {.sample = leat__order_map_part(&plan->order, chosen, i)};
        leat_error now = {0};
        const int got = probe_next(planner, tools, preview, &at, &now);
        if (i == 0) first = now;
        if (got == 0) break;
        if (i + 1 == tries || got == 1) {
            if (err) *err = first;
            rc = first.code;
        }
    }
    leat__preview_free(&preview);
    leat__tools_delete(&tools);
    return rc;
}
