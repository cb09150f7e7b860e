/* SPDX-License-Identifier: Apache-2.0 */
/* Which sample comes next, and the order of shards. */
#include <stdio.h>

#include "ops/ops_shared.h"
#include "plan/planner.h"

/* Repeating after batch means more epochs, and what follows it would have to count across them. */
static int before_turns(const leat__planner *planner, const leat__use *use, leat_error *err) {
    if (planner->plan->repeats == 1) return 0;
    return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                           "after batch it holds for each epoch: write it before repeat");
}

/* -------------------------------------------------------------------------------------------- shuffle */

/* Streams cannot be shuffled as a whole; this many records at a time are, unless the text says otherwise. */
enum { STREAM_WINDOW = 4096 };

/* Blocks are of samples that lie one behind the other, so they must come the same way in every epoch. */
static int check_blocks(const leat__planner *planner, const leat__use *use, leat_error *err) {
    const leat__plan *plan = planner->plan;
    if (leat__use_arg(use, "window")->i)
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                               "window and block are two ways to shuffle: write one of them");
    if (plan->stream)
        return leat__plan_fail(use, err, LEAT_ERR_UNSUPPORTED,
                               "streams such as compressed files are read from their beginning, so their "
                               "blocks cannot be: write window=");
    if (leat__order_length(&plan->order) == LEAT_ENDLESS)
        return leat__plan_fail(
            use, err, LEAT_ERR_SYNTAX,
            "what has no end cannot be cut into blocks and shuffled: write shuffle before repeat");
    for (int i = 0; i < plan->order.n_verbs; i++)
        if (!leat__order_fixed(&plan->order.verb[i]))
            return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                                   "what was shuffled before does not lie in blocks any more: write this one "
                                   "first");
    return 0;
}

static uint64_t source_bytes(const void *user, uint64_t sample) {
    return leat__source_size(user, sample);
}

static int add_blocks(leat__planner *planner, const leat__use *use, leat__order_verb verb, leat_error *err) {
    leat__order *order = &planner->plan->order;
    LEAT_TRY(check_blocks(planner, use, err));
    if (leat__source_size(planner->plan->source, 0) > 0) {
        order->bytes = source_bytes;
        order->bytes_user = planner->plan->source;
    }
    LEAT_TRY(leat__blocks_new(&verb.blocks, (uint64_t)leat__use_arg(use, "block")->i,
                              (uint64_t)leat__use_arg(use, "group")->i, err));
    LEAT_TRY(
        leat__order_insert(order, order->n_verbs, verb, err)); /* which owns the blocks whatever happens */
    leat__order_set_source(order, order->length[0]);
    return 0;
}

/* Behind batch, batches are shuffled, as in tf.data. The last one stays where it is if it is smaller. */
static int keep_batches(const leat__planner *planner, const leat__use *use, leat__order_verb *verb,
                        leat_error *err) {
    if (planner->plan->stream)
        return leat__stream_plan_refuse(use, err, "batches cannot be taken in another order",
                                        "write shuffle before batch");
    if (leat__use_arg(use, "block")->i)
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                               "blocks are made of samples: write it before batch");
    verb->unit = leat__plan_global_batch(planner->plan);
    return 0;
}

/* A window of a stream ends with its repetition. So repetitions that are written in front come behind: each of them is shuffled
 * by itself, and no sample comes for the second time before all have come once. */
static int add_to_stream(leat__planner *planner, const leat__use *use, leat__order_verb verb,
                         leat_error *err) {
    leat__order *order = &planner->plan->order;
    int at = order->n_verbs;
    while (at > 0 && order->verb[at - 1].kind == LEAT_ORDER_REPEAT) at--;
    for (int i = 0; i < at; i++)
        if (order->verb[i].kind == LEAT_ORDER_REPEAT)
            return leat__stream_plan_refuse(use, err,
                                            "a window does not reach from one repetition into the next",
                                            "write shuffle before repeat");
    if (verb.window == 0) verb.window = STREAM_WINDOW;
    LEAT_TRY(leat__order_insert(order, at, verb, err));
    leat__order_set_source(order, order->length[0]);
    return 0;
}

static int plan_shuffle(leat__planner *planner, const leat__use *use, leat_error *err) {
    leat__order_verb verb = {
        .kind = LEAT_ORDER_SHUFFLE,
        .window = (uint64_t)leat__use_arg(use, "window")->i,
        .seed = leat__plan_seed(planner, use),
        .op = use->number,
        .reshuffle = leat__use_arg(use, "reshuffle")->i != 0,
    };
    LEAT_TRY(before_turns(planner, use, err));
    if (planner->batched) LEAT_TRY(keep_batches(planner, use, &verb, err));
    if (leat__use_arg(use, "block")->i) return add_blocks(planner, use, verb, err);
    if (leat__use_arg(use, "group")->given)
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX, "group counts blocks: write block= too");
    const bool endless = leat__order_length(&planner->plan->order) == LEAT_ENDLESS;
    if (verb.window == 0 && (planner->plan->stream || endless))
        verb.window = (uint64_t)leat__use_arg(use, "buffer_size")->i;
    if (planner->plan->stream) return add_to_stream(planner, use, verb, err);
    if (endless && verb.window == 0)
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                               "what has no end cannot be shuffled as a whole: write shuffle before repeat, "
                               "or give it a window");
    return leat__plan_order_add(planner, verb, err);
}

/* -------------------------------------------------------------------------- take, skip, shard, repeat */

/* take and skip after batch count batches; that is the same as counting their samples, except that batches of a
 * later epoch begin anew. */
static uint64_t samples_of(const leat__planner *planner, int64_t count) {
    uint64_t samples;
    if (count < 0) return LEAT_ENDLESS;
    const uint64_t each = planner->batched ? leat__plan_global_batch(planner->plan) : 1;
    return __builtin_mul_overflow((uint64_t)count, each, &samples) ? LEAT_ENDLESS : samples;
}

static int plan_take(leat__planner *planner, const leat__use *use, leat_error *err) {
    LEAT_TRY(before_turns(planner, use, err));
    const uint64_t count = samples_of(planner, leat__use_arg(use, "count")->i);
    return leat__plan_order_add(planner, (leat__order_verb){.kind = LEAT_ORDER_TAKE, .count = count}, err);
}

static int plan_skip(leat__planner *planner, const leat__use *use, leat_error *err) {
    LEAT_TRY(before_turns(planner, use, err));
    const uint64_t count = samples_of(planner, leat__use_arg(use, "count")->i);
    if (count == LEAT_ENDLESS)
        return leat__plan_order_add(planner, (leat__order_verb){.kind = LEAT_ORDER_TAKE}, err);
    return leat__plan_order_add(planner, (leat__order_verb){.kind = LEAT_ORDER_SKIP, .count = count}, err);
}

static int plan_shard(leat__planner *planner, const leat__use *use, leat_error *err) {
    const char *text = leat__use_arg(use, "part")->text, *slash = strchr(text, '/');
    if (leat__use_asks_ranks(use)) return 0; /* ranks have their part of each batch, see plan.c */
    char first[32];
    int64_t index = 0, count = 0;
    if (slash && (size_t)(slash - text) < sizeof first) {
        snprintf(first, sizeof first, "%.*s", (int)(slash - text), text);
        if (!leat__parse_int(first, &index) || !leat__parse_int(slash + 1, &count)) count = 0;
    }
    if (count < 1 || index < 0 || index >= count)
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "must be i/n with 0 <= i < n, such as 0/4, or auto, not '%s'", text);
    if (planner->batched)
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                               "whole batches are not dealt out: write shard before batch");
    return leat__plan_order_add(
        planner,
        (leat__order_verb){.kind = LEAT_ORDER_SHARD, .count = (uint64_t)count, .index = (uint64_t)index},
        err);
}

static int plan_repeat(leat__planner *planner, const leat__use *use, leat_error *err) {
    const int64_t count = leat__use_arg(use, "count")->i;
    leat__plan *plan = planner->plan;
    if (!planner->batched)
        return leat__plan_order_add(planner,
                                    (leat__order_verb){.kind = LEAT_ORDER_REPEAT,
                                                       .count = count < 0 ? LEAT_ENDLESS : (uint64_t)count},
                                    err);
    /* After batch an epoch ends with its own last batch: repeating is having more epochs. */
    if (count < 0 || plan->repeats < 0) plan->repeats = -1;
    else if (count > INT32_MAX || __builtin_mul_overflow(plan->repeats, (int)count, &plan->repeats))
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "%" PRId64 " turns are too many; -1 is without end", count);
    return 0;
}

/* -------------------------------------------------------------------------------- the order of shards */

static int fail_late(const leat__use *use, leat_error *err) {
    return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                           "it is the order in which shards are read: write it before other verbs of order");
}

/* How many records compressed files have is not known: the stream interleaves them as they are read. */
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
    if (!plan->source->class->sharded)
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                               "it is about the shards of tfrecord and webdataset, and %s has none",
                               plan->source->class->name);
    if (plan->order.n_verbs > 0) return fail_late(use, err);
    if (cycle == 1) return 0; /* they come so already */
    const size_t n = leat__indexed_shards(plan->source);
    uint64_t *length = leat__alloc(LEAT_MEM_INDEX, n * sizeof *length);
    if (!length) return leat__fail_memory(err, n * sizeof *length, "an order");
    for (size_t i = 0; i < n; i++) length[i] = leat__indexed_length(plan->source, i);
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

/* ------------------------------------------------------------------------------------------ the table */

const leat__op leat__ops_order[] = {
    {.name = "shuffle",
     .kind = LEAT_OP_ORDER,
     .help = "Another order in every epoch: of all samples, within windows of consecutive ones, or by "
             "blocks; behind "
             "batch, of batches.",
     .like = "tf.data.Dataset.shuffle, keras.utils.image_dataset_from_directory(shuffle), keras "
             "ImageDataGenerator.flow(shuffle), torch.utils.data.RandomSampler, "
             "torch.utils.data.DataLoader(shuffle)",
     .random = true,
     .plan = plan_shuffle,
     .arg = {{.name = "window",
              .kind = LEAT_ARG_INT,
              .fallback = "0",
              .max = 1e15,
              .help = "0: all samples at once (streams: 4096); else this many at a time"},
             {.name = "block",
              .kind = LEAT_ARG_INT,
              .fallback = "0",
              .max = 1e15,
              .named = true,
              .help = "for storage that wants to be read in order: bytes of consecutive samples that stay "
                      "together, such as 4MiB; 0: none do"},
             {.name = "group",
              .kind = LEAT_ARG_INT,
              .fallback = "16",
              .min = 1,
              .max = 1e9,
              .named = true,
              .help = "with block: so many blocks are shuffled together"},
             {.name = "buffer_size",
              .kind = LEAT_ARG_INT,
              .fallback = "0",
              .max = 1e15,
              .named = true,
              .help =
                  "of tf.data: the window of a stream, and behind a repeat without end; elsewhere taken and "
                  "not needed, since all samples are shuffled"},
             LEAT_ARG_SEED,
             {.name = "reshuffle",
              .also = "reshuffle_each_iteration",
              .kind = LEAT_ARG_BOOL,
              .fallback = "true",
              .named = true,
              .help = "false: the same order in every epoch"}}},
    {.name = "take",
     .kind = LEAT_OP_ORDER,
     .help = "The first samples only.",
     .like = "tf.data.Dataset.take, torch.utils.data.Subset",
     .plan = plan_take,
     .arg = {{.name = "count", .kind = LEAT_ARG_INT, .min = -1, .max = 1e18, .help = "how many; -1: all"}}},
    {.name = "skip",
     .kind = LEAT_OP_ORDER,
     .help = "All but the first samples.",
     .like = "tf.data.Dataset.skip, torch.utils.data.Subset",
     .plan = plan_skip,
     .arg = {{.name = "count",
              .kind = LEAT_ARG_INT,
              .min = -1,
              .max = 1e18,
              .help = "how many to leave out; -1: all"}}},
    {.name = "shard",
     .kind = LEAT_OP_ORDER,
     .help =
         "Every n-th sample, beginning with number i: shard i/n; shard auto: this rank's part of each batch.",
     .like = "tf.data.Dataset.shard, torch.utils.data.DistributedSampler",
     .flags = LEAT_OP_RANKS,
     .plan = plan_shard,
     .arg = {{.name = "part",
              .kind = LEAT_ARG_TEXT,
              .help = "such as 0/4; auto: as the launcher's environment says"}}},
    {.name = "repeat",
     .kind = LEAT_OP_ORDER,
     .help = "Begins again, count times or without end.",
     .like = "tf.data.Dataset.repeat",
     .flags = LEAT_OP_REPEATS,
     .plan = plan_repeat,
     .arg = {{.name = "count",
              .kind = LEAT_ARG_INT,
              .fallback = "-1",
              .min = -1,
              .max = 1e15,
              .help = "-1: without end"}}},
    {.name = "interleave",
     .kind = LEAT_OP_ORDER,
     .help = "Records of several shards in turn: so many shards at a time, so many records of each.",
     .like = "tf.data.Dataset.interleave, tf.data.TFRecordDataset(num_parallel_reads)",
     .plan = plan_interleave,
     .arg = {{.name = "cycle",
              .also = "cycle_length",
              .kind = LEAT_ARG_INT,
              .fallback = "16",
              .min = 1,
              .max = LEAT_INTERLEAVE_CYCLE_MAX,
              .help = "shards at a time"},
             {.name = "block",
              .also = "block_length",
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
