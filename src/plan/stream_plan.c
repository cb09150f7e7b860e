/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/stream_plan.h"

#include "plan/planner.h"

int leat__stream_plan_new(leat__stream_plan **out, leat_error *err) {
    *out = leat__alloc(LEAT_MEM_PLAN, sizeof **out);
    if (!*out) return leat__fail_memory(err, sizeof **out, "a stream");
    (*out)->n_pieces = 1;
    return 0;
}

void leat__stream_plan_free(leat__stream_plan **handle) {
    leat__stream_plan *stream = *handle;
    if (!stream) return;
    for (int k = 0; k < stream->n_parts; k++) {
        stream->part[k].serial = NULL; /* that of the whole */
        leat__plan_free(&stream->part[k]);
    }
    leat__free(stream->part);
    leat__blend_free(&stream->blend);
    leat__shards_free(&stream->shards);
    leat__free(stream);
    *handle = NULL;
}

int leat__stream_plan_streams(const leat__plan *plan) {
    const leat__stream_plan *stream = plan->stream;
    int n = stream && stream->shards;
    for (int k = 0; stream && k < stream->n_parts; k++) n += leat__stream_plan_streams(&stream->part[k]);
    return n;
}

int leat__stream_plan_nodes(const leat__plan *plan) {
    const leat__stream_plan *stream = plan->stream;
    int n = 1;
    for (int k = 0; stream && k < stream->n_parts; k++) n += leat__stream_plan_nodes(&stream->part[k]);
    return n;
}

uint64_t leat__stream_plan_cycle(const leat__stream_plan *stream) {
    return LEAT_CLAMP(stream->cycle, UINT64_C(1), (uint64_t)leat__shards_count(stream->shards));
}

int leat__stream_plan_cycles(const leat__plan *plan) {
    const leat__stream_plan *stream = plan->stream;
    if (!stream) return 0;
    const uint64_t own = stream->shards ? leat__stream_plan_cycle(stream) : 0;
    int n = own > 1 ? (int)own : 0;
    for (int k = 0; k < stream->n_parts; k++) n += leat__stream_plan_cycles(&stream->part[k]);
    return n;
}

bool leat__stream_plan_fixed(const leat__plan *plan) {
    const leat__stream_plan *stream = plan->stream;
    bool fixed = !stream || !stream->blend || !leat__blend_redraws(stream->blend);
    for (int k = 0; stream && k < stream->n_parts; k++) {
        const leat__plan *part = &stream->part[k];
        fixed = fixed && !part->source->paired_anew && leat__stream_plan_fixed(part);
        for (int i = 0; i < part->order.n_verbs; i++)
            fixed = fixed && leat__order_fixed(&part->order.verb[i]);
    }
    return fixed;
}

bool leat__stream_plan_passes(const leat__stream_plan *stream, uint64_t n) {
    for (int i = 0; i < stream->n_before; i++) {
        const leat__order_verb *verb = &stream->before[i];
        if (verb->kind == LEAT_ORDER_TAKE && n >= verb->count) return false;
        if (verb->kind == LEAT_ORDER_SKIP && n < verb->count) return false;
        if (verb->kind == LEAT_ORDER_SHARD && n % verb->count != verb->index) return false;
        if (verb->kind == LEAT_ORDER_SKIP) n -= verb->count;
        if (verb->kind == LEAT_ORDER_SHARD) n /= verb->count;
    }
    return true;
}

uint64_t leat__stream_plan_wants(const leat__stream_plan *stream) {
    uint64_t n = LEAT_ENDLESS;
    for (int i = stream->n_before - 1; i >= 0; i--) {
        const leat__order_verb *verb = &stream->before[i];
        if (verb->kind == LEAT_ORDER_TAKE) n = LEAT_MIN(n, verb->count);
        if (n == LEAT_ENDLESS) continue;
        if (verb->kind == LEAT_ORDER_SKIP && __builtin_add_overflow(n, verb->count, &n)) n = LEAT_ENDLESS;
        if (verb->kind == LEAT_ORDER_SHARD && n > 0 &&
            (__builtin_mul_overflow(n - 1, verb->count, &n) ||
             __builtin_add_overflow(n, verb->index + 1, &n)))
            n = LEAT_ENDLESS;
    }
    return n;
}

int leat__stream_plan_refuse(const leat__use *use, leat_error *err, const char *what, const char *instead) {
    return leat__plan_fail(
        use, err, LEAT_ERR_UNSUPPORTED,
        "a stream such as compressed files is read one record after the other, so %s: %s, or "
        "give the records an index once with `leat pack`",
        what, instead);
}
