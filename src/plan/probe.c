/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes that only the data knows (an image that is not resized, raw bytes that are not reshaped), and what a map makes: runs
 * the first sample that can be read through the plan and takes what it gets. The first by number, not by time, so that the plan
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

/* The shapes of a sample, where the plan does not know them. */
static int take_shapes(void *user, leat__tools *tools, const leat__where *at, leat_error *err) {
    leat__planner *planner = user;
    leat__plan *plan = planner->plan;
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

typedef struct probing {
    leat__plan *plan;
    leat__tools *tools;
    leat__preview *preview; /* of a stream */
    leat__probe_fn *take;
    void *user;
} probing;

/* Of a stream the samples come as they are read. 1 = there is no other. */
static int probe_next(const probing *p, leat__where *at, leat_error *err) {
    if (p->preview) {
        const int rc = leat__preview_next(p->preview, &at->piece, &at->n_pieces, err);
        if (rc == 1) leat__fail(err, LEAT_ERR_NOT_FOUND, "%s holds no record", p->plan->source->title);
        if (rc != 0) return rc;
    }
    LEAT_TRY(leat__run_sample(p->tools, at, err));
    return p->take(p->user, p->tools, at, err);
}

static int probe_all(const probing *p, leat_error *err) {
    leat__plan *plan = p->plan;
    /* If the order chooses samples, the first chosen one is read: samples left out may have other shapes. */
    int chosen = 0;
    for (int i = 0; i < plan->order.n_verbs; i++)
        if (plan->order.verb[i].kind == LEAT_ORDER_PICK || plan->order.verb[i].kind == LEAT_ORDER_BRANCH)
            chosen = i + 1;
    if (chosen) LEAT_TRY(leat__order_allocate(&plan->order, err));
    const uint64_t tries = LEAT_MIN((uint64_t)TRIES, plan->order.length[chosen]);
    if (tries == 0)
        return leat__fail(err, LEAT_ERR_NOT_FOUND, "no sample is left to look at: %s", plan->source->title);
    leat_error first = {0};
    for (uint64_t i = 0;; i++) {
        leat__where at = {.sample = leat__order_map_part(&plan->order, chosen, i)};
        leat_error now = {0};
        const int got = probe_next(p, &at, &now);
        if (i == 0) first = now;
        if (got == 0) return 0;
        if (i + 1 < tries && got != 1) continue;
        if (err) *err = first;
        return first.code;
    }
}

int leat__plan_probe_with(leat__planner *planner, leat__probe_fn *take, void *user, leat_error *err) {
    probing p = {
        .plan = planner->plan, .tools = leat__tools_new(planner->plan, err), .take = take, .user = user};
    int rc = p.tools ? 0 : LEAT_ERR_MEMORY;
    if (rc == 0 && p.plan->stream) rc = leat__preview_new(&p.preview, p.plan, err);
    if (rc == 0) rc = probe_all(&p, err);
    leat__preview_free(&p.preview);
    leat__tools_delete(&p.tools);
    return rc;
}

int leat__plan_probe(leat__planner *planner, leat_error *err) {
    return leat__plan_probe_with(planner, take_shapes, planner, err);
}
