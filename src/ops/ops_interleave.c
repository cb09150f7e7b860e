/* SPDX-License-Identifier: Apache-2.0 */
/* The order of shards: interleave deals out their records in turn, flat_map leaves them one after the other. */
#include "plan/planner.h"

static int fail_late(const leat__use *use, leat_error *err) {
    return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                           "it is the order in which shards are read: write it before other verbs of order");
}

/* Of compressed files nobody knows how many records they have: they are dealt out as they are read. */
static int interleave_stream(leat__planner *planner, const leat__use *use, uint64_t cycle, uint64_t block,
                             leat_error *err) {
    leat__plan *plan = planner->plan;
    leat__stream_plan *stream = plan->stream;
    if (!stream->shards || plan->order.n_verbs > 0 || stream->n_before > 0 || stream->n_filters > 0 ||
        stream->cycle > 0)
        return fail_late(use, err);
    if (cycle > LEAT_CYCLE_MAX)
        return leat__plan_fail(
            use, err, LEAT_ERR_LIMIT,
            "at most %d shards of a stream can take turns: write a smaller cycle, or unpack them",
            LEAT_CYCLE_MAX);
    if (cycle == 1) return 0; /* they come so already */
    stream->cycle = cycle;
    stream->cycle_block = block;
    return 0;
}

static int interleave(leat__planner *planner, const leat__use *use, uint64_t cycle, uint64_t block,
                      leat_error *err) {
    leat__plan *plan = planner->plan;
    if (plan->stream) return interleave_stream(planner, use, cycle, block, err);
    if (strcmp(plan->source->class->name, "tfrecord") != 0)
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                               "it is about the shards of tfrecord, and %s has none",
                               plan->source->class->name);
    if (plan->order.n_verbs > 0) return fail_late(use, err);
    if (cycle == 1) return 0; /* they come so already */
    const size_t n = leat__records_shards(plan->source);
    uint64_t *length = leat__alloc(LEAT_MEM_INDEX, n * sizeof *length), bytes;
    if (!length) return leat__fail_memory(err, n * sizeof *length, "an order");
    for (size_t i = 0; i < n; i++) leat__records_shard(plan->source, i, &length[i], &bytes);
    leat__order_verb verb = {.kind = LEAT_ORDER_INTERLEAVE, .count = LEAT_MIN(cycle, (uint64_t)n)};
    leat_error why;
    const int rc = leat__interleave_new(&verb.interleave, length, n, cycle, block, &why);
    leat__free(length);
    if (rc < 0) return leat__plan_fail(use, err, rc, "%s", why.message);
    LEAT_TRY(leat__order_insert(&plan->order, 0, verb, err));
    leat__order_set_source(&plan->order, plan->source->n_samples);
    return 0;
}

static int plan_interleave(leat__planner *planner, const leat__use *use, leat_error *err) {
    return interleave(planner, use, (uint64_t)leat__use_arg(use, "cycle")->i,
                      (uint64_t)leat__use_arg(use, "block")->i, err);
}

static int plan_flat_map(leat__planner *planner, const leat__use *use, leat_error *err) {
    return interleave(planner, use, 1, 1, err);
}

const leat__op leat__ops_interleave[] = {
    {.name = "interleave",
     .kind = LEAT_OP_ORDER,
     .help = "Records of several shards in turn: so many shards at a time, so many records of each.",
     .like = "tf.data.Dataset.interleave, tf.data.TFRecordDataset(num_parallel_reads)",
     .plan = plan_interleave,
     .arg = {{.name = "cycle",
              .kind = LEAT_ARG_INT,
              .fallback = "16",
              .min = 1,
              .max = LEAT_INTERLEAVE_CYCLE_MAX,
              .help = "shards at a time"},
             {.name = "block",
              .kind = LEAT_ARG_INT,
              .fallback = "1",
              .min = 1,
              .max = LEAT_INTERLEAVE_BLOCK_MAX,
              .help = "records of each in turn"}}},
    {.name = "flat_map",
     .kind = LEAT_OP_ORDER,
     .help = "Shards one after the other, which is the order without it: interleave cycle=1.",
     .like = "tf.data.Dataset.flat_map, torch.utils.data.ChainDataset",
     .plan = plan_flat_map},
    {0},
};
