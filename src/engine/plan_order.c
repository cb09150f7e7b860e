/* SPDX-License-Identifier: Apache-2.0 */
/* Plan functions of sources, order and batches. */
#include <stdio.h>

#include "engine/plan.h"

/* Streams cannot be shuffled as a whole; this many records at a time are, unless the text says otherwise. */
enum { STREAM_WINDOW = 4096 };

static int begin_source(leat__planner *planner, const leat__use *use, leat_error *err) {
    if (planner->source_known)
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX, "a pipeline has one source, and it comes first");
    planner->source_known = true;
    return 0;
}

/* The fields of the source become the first values. */
static int take_source(leat__planner *planner, int rc) {
    LEAT_TRY(rc);
    leat__plan *plan = planner->plan;
    const leat__source *source = plan->source;
    for (int i = 0; i < source->n_fields; i++) {
        planner->field[i] = (leat__plan_field){.info = source->field[i], .pass = -1};
        const size_t item = leat_dtype_size(source->field[i].dtype);
        if (source->field[i].ragged) planner->field[i].count_max = source->bytes_max / item;
        planner->live[i] = true;
    }
    planner->n_fields = plan->n_values = source->n_fields;
    leat__order_set_source(&plan->order, source->n_samples);
    return 0;
}

int leat__plan_folder(leat__planner *planner, const leat__use *use, leat_error *err) {
    LEAT_TRY(begin_source(planner, use, err));
    const leat__folder_options options = {
        .path = leat__use_arg(use, "path")->text,
        .labels = (int)leat__use_arg(use, "labels")->i,
        .follow_links = leat__use_arg(use, "follow_links")->i != 0,
    };
    return take_source(planner, leat__folder_open(&planner->plan->source, &options, &planner->open, err));
}

int leat__plan_tfrecord(leat__planner *planner, const leat__use *use, leat_error *err) {
    LEAT_TRY(begin_source(planner, use, err));
    const leat__arg_value *files = leat__use_arg(use, "files");
    leat__plan *plan = planner->plan;
    const int stream = leat__stream_wanted(files->texts, files->n, err);
    LEAT_TRY(stream);
    if (!stream)
        return take_source(planner,
                           leat__records_open(&plan->source, files->texts, files->n, &planner->open, err));
    LEAT_TRY(leat__stream_open(&plan->stream, &plan->source, files->texts, files->n, err));
    plan->source->bytes_max = (size_t)leat__use_arg(use, "max_bytes")->i;
    return take_source(planner, 0);
}

int leat__plan_arrays(leat__planner *planner, const leat__use *use, leat_error *err) {
    LEAT_TRY(begin_source(planner, use, err));
    if (!planner->spec->arrays)
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "the arrays come from the program: call leat_spec_arrays");
    return take_source(planner, leat__arrays_open(&planner->plan->source, planner->spec->arrays,
                                                  planner->spec->n_arrays, err));
}

static uint64_t seed_of(const leat__planner *planner, const leat__use *use) {
    const leat__arg_value *seed = leat__use_arg(use, "seed");
    return seed->given ? (uint64_t)seed->i : planner->plan->seed;
}

int leat__plan_synth(leat__planner *planner, const leat__use *use, leat_error *err) {
    LEAT_TRY(begin_source(planner, use, err));
    const leat__synth_options options = {
        .n = (uint64_t)leat__use_arg(use, "n")->i,
        .height = (int)leat__use_arg(use, "height")->i,
        .width = (int)leat__use_arg(use, "width")->i,
        .channels = (int)leat__use_arg(use, "channels")->i,
        .n_classes = (int)leat__use_arg(use, "classes")->i,
        .seed = seed_of(planner, use),
    };
    if ((size_t)options.height * (size_t)options.width * (size_t)options.channels > LEAT_RECORD_BYTES_MAX)
        return leat__plan_fail(use, err, LEAT_ERR_LIMIT, "a picture of %dx%dx%d has more than %zu bytes",
                               options.height, options.width, options.channels, LEAT_RECORD_BYTES_MAX);
    return take_source(planner, leat__synth_open(&planner->plan->source, &options, err));
}

static int add_order(leat__planner *planner, leat__order_verb verb, leat_error *err) {
    leat__order *order = &planner->plan->order;
    LEAT_TRY(leat__order_add(order, verb, err));
    leat__order_set_source(order, order->length[0]);
    return 0;
}

int leat__plan_shuffle(leat__planner *planner, const leat__use *use, leat_error *err) {
    leat__order_verb verb = {
        .kind = LEAT_ORDER_SHUFFLE,
        .window = (uint64_t)leat__use_arg(use, "window")->i,
        .seed = seed_of(planner, use),
        .op = use->number,
        .reshuffle = leat__use_arg(use, "reshuffle")->i != 0,
    };
    if (planner->batched)
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                               "whole batches are not shuffled: write shuffle before batch");
    for (int i = 0; planner->plan->stream && i < planner->plan->order.n_verbs; i++)
        if (planner->plan->order.verb[i].kind == LEAT_ORDER_REPEAT)
            return leat__plan_fail(
                use, err, LEAT_ERR_UNSUPPORTED,
                "compressed files cannot be shuffled across their repetitions: write shuffle before repeat");
    if (planner->plan->stream && verb.window == 0) verb.window = STREAM_WINDOW;
    if (leat__order_length(&planner->plan->order) == LEAT_ENDLESS && verb.window == 0)
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                               "what has no end cannot be shuffled as a whole: write shuffle before repeat, "
                               "or give it a window");
    return add_order(planner, verb, err);
}

/* take and skip after batch count batches; that is the same as counting their samples, except that batches of a
 * later epoch begin anew. */
static uint64_t samples_of(const leat__planner *planner, int64_t count) {
    uint64_t samples;
    if (count < 0) return LEAT_ENDLESS;
    const uint64_t each = planner->batched ? (uint64_t)planner->plan->batch : 1;
    return __builtin_mul_overflow((uint64_t)count, each, &samples) ? LEAT_ENDLESS : samples;
}

/* Repeating after batch means more epochs, and what follows it would have to count across them. */
static int before_turns(const leat__planner *planner, const leat__use *use, leat_error *err) {
    if (planner->plan->turns == 1) return 0;
    return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                           "after batch it holds for each epoch: write it before repeat");
}

int leat__plan_take(leat__planner *planner, const leat__use *use, leat_error *err) {
    LEAT_TRY(before_turns(planner, use, err));
    const uint64_t count = samples_of(planner, leat__use_arg(use, "count")->i);
    return add_order(planner, (leat__order_verb){.kind = LEAT_ORDER_TAKE, .count = count}, err);
}

int leat__plan_skip(leat__planner *planner, const leat__use *use, leat_error *err) {
    LEAT_TRY(before_turns(planner, use, err));
    const uint64_t count = samples_of(planner, leat__use_arg(use, "count")->i);
    if (count == LEAT_ENDLESS) return add_order(planner, (leat__order_verb){.kind = LEAT_ORDER_TAKE}, err);
    return add_order(planner, (leat__order_verb){.kind = LEAT_ORDER_SKIP, .count = count}, err);
}

int leat__plan_shard(leat__planner *planner, const leat__use *use, leat_error *err) {
    const char *text = leat__use_arg(use, "part")->text, *slash = strchr(text, '/');
    char first[32];
    int64_t index = 0, count = 0;
    if (slash && (size_t)(slash - text) < sizeof first) {
        snprintf(first, sizeof first, "%.*s", (int)(slash - text), text);
        if (!leat__parse_int(first, &index) || !leat__parse_int(slash + 1, &count)) count = 0;
    }
    if (count < 1 || index < 0 || index >= count)
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "must be i/n with 0 <= i < n, such as 0/4, not '%s'", text);
    if (planner->batched)
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                               "whole batches are not dealt out: write shard before batch");
    return add_order(
        planner,
        (leat__order_verb){.kind = LEAT_ORDER_SHARD, .count = (uint64_t)count, .index = (uint64_t)index},
        err);
}

int leat__plan_repeat(leat__planner *planner, const leat__use *use, leat_error *err) {
    const int64_t count = leat__use_arg(use, "count")->i;
    leat__plan *plan = planner->plan;
    if (!planner->batched)
        return add_order(planner,
                         (leat__order_verb){.kind = LEAT_ORDER_REPEAT,
                                            .count = count < 0 ? LEAT_ENDLESS : (uint64_t)count},
                         err);
    /* After batch an epoch ends with its own last batch: repeating is having more epochs. */
    if (count < 0 || plan->turns < 0) plan->turns = -1;
    else if (count > INT32_MAX || __builtin_mul_overflow(plan->turns, (int)count, &plan->turns))
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "%" PRId64 " turns are too many; -1 is without end", count);
    return 0;
}

int leat__plan_batch(leat__planner *planner, const leat__use *use, leat_error *err) {
    if (planner->batched)
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX, "there is a batch before: one is enough");
    planner->batched = true;
    planner->plan->batch = (int)leat__use_arg(use, "size")->i;
    planner->plan->drop_remainder = leat__use_arg(use, "drop_remainder")->i != 0;
    return 0;
}

int leat__plan_prefetch(leat__planner *planner, const leat__use *use, leat_error *err) {
    const char *text = leat__use_arg(use, "count")->text;
    int64_t count = 0;
    if (strcmp(text, "auto") != 0 && (!leat__parse_int(text, &count) || count < 1 || count > 1000))
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "must be auto or a number from 1 to 1000, not '%s'", text);
    planner->plan->prefetch = (int)count;
    return 0;
}

int leat__plan_options(leat__planner *planner, const leat__use *use, leat_error *err) {
    (void)planner, (void)use,
        (void)err; /* read before everything else, in plan.c: they hold for the whole text */
    return 0;
}
