/* SPDX-License-Identifier: Apache-2.0 */
/* Where batches begin. The order is a map, so the place of any batch of an epoch is arithmetic: a pipeline that makes every
 * fourth batch only (leat_config.step_stride) goes from one to the next without looking at those between. */
#include "run/pipeline.h"

static leat__cursor epoch_after(leat__cursor at) {
    return (leat__cursor){.epoch = at.epoch + 1};
}

leat__cursor leat__steps_behind(leat__cursor at, uint64_t n) {
    at.position += n;
    at.step++;
    return at;
}

leat__cursor leat__steps_next(const leat_pipeline *pipeline, leat__cursor at) {
    const uint64_t length = leat__order_length(&pipeline->plan.order);
    const uint64_t left = length == LEAT_ENDLESS ? LEAT_ENDLESS : length - at.position;
    if (left == 0 || (pipeline->plan.drop_remainder && left < leat__plan_global_batch(&pipeline->plan)))
        at = epoch_after(at);
    return at;
}

leat__cursor leat__steps_own(const leat_pipeline *pipeline, leat__cursor at) {
    const uint64_t stride = pipeline->config.step_stride, first = pipeline->config.step_first;
    if (stride <= 1) return at;
    const uint64_t skip = (first + stride - at.step % stride) % stride;
    if (at.step + skip < leat__state_batches(pipeline, at.epoch)) {
        at.step += skip;
        at.position += skip * leat__plan_global_batch(&pipeline->plan);
        return at;
    }
    if (first >= leat__steps_batches(pipeline)) return (leat__cursor){.epoch = pipeline->n_epochs};
    at = epoch_after(at);
    at.step = first;
    at.position = first * leat__plan_global_batch(&pipeline->plan);
    return at;
}

uint64_t leat__steps_batches(const leat_pipeline *pipeline) {
    const leat__plan *plan = &pipeline->plan;
    const uint64_t n = leat__order_length(&plan->order), batch = leat__plan_global_batch(plan);
    const leat__bucket *bucket = leat__order_bucket(&plan->order);
    if (n == LEAT_ENDLESS) return LEAT_ENDLESS;
    return bucket ? leat__bucket_batches(bucket) : n / batch + (!plan->drop_remainder && n % batch > 0);
}

uint64_t leat__steps_batch(leat_pipeline *pipeline, leat__cursor at, int *bucket) {
    leat__order *order = &pipeline->plan.order;
    const uint64_t length = leat__order_length(order), left = length > at.position ? length - at.position : 0;
    *bucket = 0;
    if (left == 0 || !leat__order_bucket(order))
        return LEAT_MIN(left, leat__plan_global_batch(&pipeline->plan));
    const leat__bucket_batch batch = leat__order_batch(order, at.epoch, at.position);
    *bucket = batch.bucket;
    return batch.left;
}

int leat__steps_open(leat_pipeline *pipeline, leat_error *err) {
    const uint64_t stride = pipeline->config.step_stride, first = pipeline->config.step_first;
    if (stride == 0 ? first > 0 : first >= stride)
        return leat__fail(err, LEAT_ERR_ARGUMENT,
                          "step_first must be less than step_stride, which is %" PRIu64 ", not %" PRIu64,
                          stride, first);
    if (stride <= 1) return 0;
    if (pipeline->plan.stream)
        return leat__fail(
            err, LEAT_ERR_UNSUPPORTED,
            "several pipelines share the batches (step_stride=%" PRIu64
            "), and records of a stream come one after the other: `leat pack` makes records with an "
            "index of them",
            stride);
    if (leat__order_bucket(&pipeline->plan.order))
        return leat__fail(err, LEAT_ERR_UNSUPPORTED,
                          "several pipelines share the batches (step_stride=%" PRIu64
                          "), and where a batch of a bucket begins depends on all those before: leave "
                          "bucket_by_aspect_ratio out",
                          stride);
    pipeline->cursor = leat__steps_own(pipeline, pipeline->cursor);
    return 0;
}
