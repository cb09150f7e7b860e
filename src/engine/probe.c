/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes that only the data knows (an image that is not resized, raw bytes that are not reshaped): runs the first sample
 * that can be read through the plan and takes the shapes it gets. The first by number, not by time, so that the plan
 * depends on text and data alone. */
#include <stdio.h>

#include "engine/select.h"

enum { TRIES = 16 };

static int probe_sample(leat__planner *planner, leat__tools *tools, const leat__where *at, leat_error *err) {
    leat__plan *plan = planner->plan;
    LEAT_TRY(leat__run_sample(tools, at, err));
    for (int i = 0; i < plan->n_outputs; i++) {
        leat_field *field = &plan->output[i].field;
        const leat__value *value = &tools->value[plan->output[i].value];
        if (field->ragged || plan->output[i].padded || plan->output[i].by_bucket) continue;
        field->ndim = value->ndim;
        memcpy(field->shape, value->shape, sizeof field->shape);
    }
    return 0;
}

int leat__plan_probe(leat__planner *planner, leat_error *err) {
    leat__plan *plan = planner->plan;
    leat__tools *tools = leat__alloc(LEAT_MEM_PLAN, sizeof *tools);
    if (!tools) return leat__fail_memory(err, sizeof *tools, "a plan");
    int rc = leat__tools_init(tools, plan, NULL, err);
    leat__buf record = {.kind = LEAT_MEM_WINDOW};
    /* Of samples that were chosen the first is asked, since others may have other shapes. */
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
        int got = 0;
        bool ended = false;
        leat__value value;
        leat__stream_place from;
        if (plan->stream) {
            got = leat__stream_next(plan->stream, &record, &now);
            value = (leat__value){.data = record.data,
                                  .bytes = record.size,
                                  .dtype = LEAT_DTYPE_BYTES,
                                  .ndim = 1,
                                  .shape = {(int64_t)record.size}};
            at.record = &value;
            if (got == 0) {
                leat__stream_where(plan->stream, &from.shard, &from.record);
                at.from = &from;
            }
            const int kept = got == 0 ? leat__stream_keeps(tools, &at, &now) : 1;
            if (kept < 0) got = kept;
            if (kept == 0) {
                i--; /* it does not count */
                continue;
            }
            ended = got == 1;
            if (ended) got = leat__fail(&now, LEAT_ERR_NOT_FOUND, "%s holds no record", plan->source->title);
        }
        if (got == 0) got = probe_sample(planner, tools, &at, &now);
        if (i == 0) first = now;
        if (got == 0) break;
        if (i + 1 == tries || ended) {
            if (err) *err = first;
            rc = first.code;
        }
    }
    leat__buf_free(&record);
    leat__tools_free(tools);
    leat__free(tools);
    if (plan->stream) leat__stream_rewind(plan->stream);
    return rc;
}
