/* SPDX-License-Identifier: Apache-2.0 */
/* What plan functions of sources and of the order have in common. */
#include "base/thread.h"
#include "plan/planner.h"

int leat__plan_source_begin(leat__planner *planner, const leat__use *use, leat_error *err) {
    if (planner->source_known)
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX, "a pipeline has one source, and it comes first");
    planner->source_known = true;
    return 0;
}

int leat__plan_source_take(leat__planner *planner, int rc) {
    LEAT_TRY(rc);
    leat__plan *plan = planner->plan;
    const leat__source *source = plan->source;
    for (int i = 0; i < source->n_fields; i++) {
        planner->field[i] = (leat__plan_field){.info = source->field[i], .pass = -1};
        const size_t item = leat_dtype_size(source->field[i].dtype);
        if (source->field[i].ragged)
            planner->field[i].count_max =
                (source->field_max[i] ? source->field_max[i] : source->bytes_max) / item;
        planner->live[i] = true;
    }
    planner->n_fields = plan->n_values = source->n_fields;
    leat__order_set_source(&plan->order, source->n_samples);
    return 0;
}

uint64_t leat__plan_seed(const leat__planner *planner, const leat__use *use) {
    const leat__arg_value *seed = leat__use_arg(use, "seed");
    return seed->given ? (uint64_t)seed->i : planner->plan->seed;
}

int leat__plan_order_add(leat__planner *planner, leat__order_verb verb, leat_error *err) {
    leat__order *order = &planner->plan->order;
    LEAT_TRY(leat__order_add(order, verb, err));
    leat__order_set_source(order, order->length[0]);
    return 0;
}

static void enter(void *user) {
    leat__lock(user);
}

static void leave(void *user) {
    leat__unlock(user);
}

static void free_mutex(void *user) {
    leat__mutex_destroy(user);
    leat__free(user);
}

int leat__plan_guard(leat__guard *out, leat_error *err) {
    leat__mutex *mutex = leat__alloc(LEAT_MEM_PLAN, sizeof *mutex);
    if (!mutex) return leat__fail_memory(err, sizeof *mutex, "a source");
    const int rc = leat__mutex_init(mutex, LEAT_LOCK_CALLS, err);
    if (rc < 0) leat__free(mutex);
    else *out = (leat__guard){.enter = enter, .leave = leave, .free = free_mutex, .user = mutex};
    return rc;
}
