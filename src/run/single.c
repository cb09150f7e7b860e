/* SPDX-License-Identifier: Apache-2.0 */
/* One sample by itself: the same work as in its batch, done by the caller, into a slot that takes no part in the run. If
 * samples are mixed, its group is made with it, and then all others are taken out again. */
#include <unistd.h>

#include "run/pipeline.h"

void leat__single_free(leat_pipeline *pipeline) {
    if (pipeline->single) leat__tools_free(&pipeline->single->tools);
    leat__free(pipeline->single);
    pipeline->single = NULL;
}

/* The caller's own tools: workers may be busy with theirs. */
static int begin(leat_pipeline *pipeline, leat_error *err) {
    if (pipeline->single) return 0;
    pipeline->single = leat__alloc(LEAT_MEM_WORKER, sizeof *pipeline->single);
    if (!pipeline->single) return leat__fail_memory(err, sizeof *pipeline->single, "a worker");
    pipeline->single->pipeline = pipeline;
    int rc = leat__tools_init(&pipeline->single->tools, &pipeline->plan, &pipeline->large, err);
    if (rc == 0) rc = leat__group_init(pipeline->single->tools.group, &pipeline->plan, err);
    if (rc < 0) leat__single_free(pipeline);
    return rc;
}

/* A slot beyond those that take part; made when there is none. With the mutex held, which is released meanwhile. */
static leat__slot *spare_slot(leat_pipeline *pipeline, leat_error *err) {
    leat__ring *ring = pipeline->ring;
    for (int i = ring->n_used; i < ring->n_slots; i++)
        if (ring->slot[i]->state == LEAT_SLOT_FREE) return ring->slot[i];
    if ((size_t)(ring->n_slots + 1) > pipeline->plan.budget.slots / ring->slot_bytes) {
        leat__fail_memory(err, ring->slot_bytes, "one more batch within the budget");
        return NULL;
    }
    leat__unlock(&ring->mutex);
    const int rc = leat__ring_add(ring, err);
    leat__lock(&ring->mutex);
    return rc < 0 ? NULL : spare_slot(pipeline, err); /* unless another thread has taken it */
}

/* Takes a slot for the positions [first, first + n) of an epoch. With the mutex held. */
static leat__slot *open_slot(leat_pipeline *pipeline, uint64_t epoch, uint64_t first, int n,
                             leat_error *err) {
    leat__slot *slot = spare_slot(pipeline, err);
    if (!slot) return NULL;
    slot->state = LEAT_SLOT_FILLING;
    slot->begin = (leat__cursor){
        .epoch = epoch, .position = first, .step = first / leat__plan_global_batch(&pipeline->plan)};
    slot->bucket = 0;
    if (leat__order_bucket(&pipeline->plan.order)) {
        const leat__bucket_batch batch = leat__order_batch(&pipeline->plan.order, epoch, first);
        slot->begin.step = batch.step;
        slot->bucket = batch.bucket;
    }
    slot->n = slot->n_valid = slot->next_place = n;
    slot->n_global = (uint64_t)n;
    slot->fill = false;
    slot->n_done = slot->n_bad = 0;
    slot->error_place = -1;
    for (int i = 0; i < n; i++) {
        slot->sample[i] = leat__order_map(&pipeline->plan.order, epoch, first + (uint64_t)i).sample;
        slot->position[i] = first + (uint64_t)i;
        slot->dropped[i] = 0;
    }
    return slot;
}

/* What became of the place: an error of any sample of the group, if it would be raised, or that it was left out. */
static int check_place(const leat__slot *slot, int place, leat_error *err) {
    if (slot->error_place >= 0) {
        if (err) *err = slot->error;
        return slot->error.code;
    }
    if (!slot->dropped[place]) return 0;
    for (int i = 0; i < LEAT_MIN(slot->n_bad, LEAT_SLOT_BAD_MAX); i++)
        if (slot->bad[i].place == place)
            return leat__fail(err, slot->bad[i].bad.code, "%s", slot->bad[i].bad.message);
    return leat__fail(err, LEAT_ERR_NOT_FOUND, "the sample was left out");
}

static int single_sample(leat_pipeline *pipeline, uint64_t epoch, uint64_t position, leat_batch *batch,
                         leat_error *err) {
    leat__ring *ring = pipeline->ring;
    LEAT_TRY(begin(pipeline, err));
    leat__lock(&ring->mutex);
    const uint64_t length = leat__order_length(&pipeline->plan.order);
    const uint64_t group = (uint64_t)LEAT_MAX(pipeline->plan.group, 1), first = position / group * group;
    const int n = position < length ? (int)LEAT_MIN(group, length - first) : 0;
    leat__slot *slot = n ? open_slot(pipeline, epoch, first, n, err) : NULL;
    leat__unlock(&ring->mutex);
    if (n == 0)
        return leat__fail(err, LEAT_ERR_ARGUMENT,
                          "there is no position %" PRIu64 ": an epoch has %" PRIu64 " samples", position,
                          length);
    if (!slot) return LEAT_ERR_MEMORY;
    const int place = (int)(position - first);
    leat__sched_run_task(pipeline, pipeline->single, &(leat__task){.slot = slot, .n = n});
    const int rc = check_place(slot, place, err);
    for (int i = 0; i < n; i++) slot->dropped[i] = i != place;
    slot->holes = true; /* so that all others are closed as holes are */
    if (rc == 0) leat__slot_finish(slot);
    leat__lock(&ring->mutex);
    if (rc == 0) leat__ring_count(ring, slot);
    if (rc == 0) leat__slot_lease(slot, batch);
    else slot->state = LEAT_SLOT_FREE;
    leat__unlock(&ring->mutex);
    return rc;
}

int leat__pipeline_sample(leat_pipeline *pipeline, uint64_t epoch, uint64_t position, leat_batch *batch,
                          leat_error *err) {
    *batch = (leat_batch){0};
    if (pipeline->owner != getpid()) return leat__pipeline_fail_forked(err);
    if (pipeline->plan.stream)
        return leat__fail(err, LEAT_ERR_UNSUPPORTED,
                          "a sample of a stream such as compressed files cannot be had by itself: it is read "
                          "from its beginning");
    leat__account *before = leat__account_use(pipeline->account);
    const int rc = single_sample(pipeline, epoch, position, batch, err);
    leat__account_use(before);
    return rc;
}
