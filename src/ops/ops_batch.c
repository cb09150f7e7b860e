/* SPDX-License-Identifier: Apache-2.0 */
/* Which samples make a batch, and how many batches may wait. A batch is an address, so that unbatch and rebatch cost
 * nothing: they say which samples belong together after all. bucket_by_aspect_ratio says it by the shape of pictures
 * (order/bucket.h); resize_to_bucket is in ops_resize.c. */
#include <stdio.h>

#include "base/hash.h"
#include "ops/ops_shared.h"
#include "plan/select.h"

static int add_valid(leat__planner *planner, const leat__use *use, leat_error *err) {
    const char *name = leat__use_arg(use, "valid")->text;
    int at;
    if (!*name) return 0;
    if (leat__plan_live(planner, name) >= 0)
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                               "there is a field %s already: give valid another name", name);
    LEAT_TRY(leat__plan_field_add(planner, use, name, &at, err));
    planner->field[at].info.dtype = LEAT_DTYPE_BOOL;
    planner->field[at].valid = true;
    return 0;
}

/* The size that the text gives is that of one rank, or of all of them together. */
static int read_size(leat__plan *plan, const leat__use *use, leat_error *err) {
    const leat__arg_value *size = leat__use_arg(use, "size");
    const leat__arg_value *all = use->op->flags & LEAT_OP_SHARED ? leat__use_arg(use, "global_size") : NULL;
    plan->batch = (int)size->i;
    plan->global_batch = 0;
    if (!all || !all->given)
        return size->given ? 0
                           : leat__plan_fail(use, err, LEAT_ERR_SYNTAX, "needs size, the samples in a batch");
    if (size->given)
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "size is for one rank and global_size for all of them: give one of the two");
    if (all->i < plan->world)
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "global_size=%" PRId64
                               " leaves some of %d ranks without a sample: it must be %d or more",
                               all->i, plan->world, plan->world);
    plan->global_batch = (int)all->i;
    plan->batch = (plan->global_batch + plan->world - 1) / plan->world;
    return 0;
}

static int begin_batch(leat__planner *planner, const leat__use *use, leat_error *err) {
    leat__plan *plan = planner->plan;
    LEAT_TRY(read_size(plan, use, err));
    plan->drop_remainder = leat__use_arg(use, "drop_remainder")->i != 0;
    plan->pad_remainder = leat__use_arg(use, "pad_remainder")->i != 0;
    planner->batched = true;
    if (plan->drop_remainder && plan->pad_remainder)
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "a last batch that is not full is either left out or filled up, not both");
    return add_valid(planner, use, err);
}

static int plan_batch(leat__planner *planner, const leat__use *use, leat_error *err) {
    if (planner->batched)
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                               "there is a batch before: write rebatch %s for batches of another size",
                               leat__use_arg(use, "size")->text);
    return begin_batch(planner, use, err);
}

static int plan_padded_batch(leat__planner *planner, const leat__use *use, leat_error *err) {
    planner->padding = use; /* fields are looked at when they have become outputs, in plan_padding.c */
    return plan_batch(planner, use, err);
}

/* ------------------------------------------------------------------------------------- batches undone */

static bool endless(const leat__order *order) {
    for (int i = 0; i < order->n_verbs; i++)
        if (order->verb[i].kind == LEAT_ORDER_REPEAT && order->verb[i].count == LEAT_ENDLESS) return true;
    return false;
}

/* What batches, as far as they were planned, say about samples is written as verbs of order: a remainder that was dropped,
 * and epochs that `repeat` after batch has added. */
static int undo_batch(leat__planner *planner, const leat__use *use, leat_error *err) {
    leat__plan *plan = planner->plan;
    if (!planner->batched)
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                               "there is no batch before it: write batch, or leave it out");
    if (planner->padding)
        return leat__plan_fail(
            use, err, LEAT_ERR_SYNTAX,
            "batches of one size each cannot be divided anew: write the size into padded_batch");
    if (plan->pad_remainder)
        return leat__plan_fail(
            use, err, LEAT_ERR_SYNTAX,
            "a batch that was filled up would leave repeated samples: write pad_remainder at the last batch");
    const uint64_t length = leat__order_length(&plan->order), rest = length % leat__plan_global_batch(plan);
    if (plan->drop_remainder && length == LEAT_ENDLESS && !endless(&plan->order))
        return leat__plan_fail(
            use, err, LEAT_ERR_UNSUPPORTED,
            "how many samples a remainder has is not known before a stream was read: write "
            "drop_remainder=true at the last batch only");
    if (plan->drop_remainder && length != LEAT_ENDLESS && rest > 0)
        LEAT_TRY(leat__plan_order_add(
            planner, (leat__order_verb){.kind = LEAT_ORDER_TAKE, .count = length - rest}, err));
    if (plan->repeats != 1)
        LEAT_TRY(leat__plan_order_add(
            planner,
            (leat__order_verb){.kind = LEAT_ORDER_REPEAT,
                               .count = plan->repeats < 0 ? LEAT_ENDLESS : (uint64_t)plan->repeats},
            err));
    plan->repeats = 1;
    for (int i = 0; i < planner->n_fields; i++) planner->live[i] &= !planner->field[i].valid;
    return 0;
}

static int plan_unbatch(leat__planner *planner, const leat__use *use, leat_error *err) {
    leat__plan *plan = planner->plan;
    LEAT_TRY(undo_batch(planner, use, err));
    if (plan->n_group_ops)
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                               "samples that were mixed stay in their batches: write %s after the last batch",
                               plan->group_op[0].op.name);
    planner->batched = false;
    plan->batch = 1;
    plan->global_batch = 0;
    plan->drop_remainder = false;
    return 0;
}

static int plan_rebatch(leat__planner *planner, const leat__use *use, leat_error *err) {
    leat__plan *plan = planner->plan;
    LEAT_TRY(undo_batch(planner, use, err));
    LEAT_TRY(begin_batch(planner, use, err));
    if (plan->group && plan->batch % plan->group)
        return leat__plan_fail(
            use, err, LEAT_ERR_ARGUMENT,
            "a batch of %d is no whole number of groups of %d, in which samples are mixed: write rebatch %d",
            plan->batch, plan->group, (plan->batch + plan->group - 1) / plan->group * plan->group);
    return 0;
}

/* ---------------------------------------------------------------------------------------------- ranks */

const leat__use *leat__batch_of_world(const leat__plan *plan, const leat__use *use, leat__batch_use *room) {
    const bool sized = use->op->flags & LEAT_OP_SIZED;
    if (!sized && !(use->op->flags & LEAT_OP_GROUPED)) return use;
    room->use = *use;
    const ptrdiff_t arg = leat__use_arg(use, sized ? "size" : "group") - use->arg;
    int64_t size = sized ? use->arg[arg].i * plan->world : plan->group;
    if (use->op->flags & LEAT_OP_SHARED) {
        leat__arg_value *all = &room->use.arg[leat__use_arg(use, "global_size") - use->arg];
        if (all->given) size = all->i;
        *all = (leat__arg_value){.text = ""};
    }
    snprintf(room->size, sizeof room->size, "%" PRId64, size);
    room->use.arg[arg].text = room->size;
    return &room->use;
}

int leat__batch_check_shares(const leat__planner *planner, leat_error *err) {
    const leat__plan *plan = planner->plan;
    const uint64_t all = leat__plan_global_batch(plan), world = (uint64_t)plan->world;
    const char *what = plan->stream                       ? "a stream"
                       : plan->group                      ? "samples that are mixed in groups"
                       : leat__order_bucket(&plan->order) ? "batches by buckets"
                                                          : NULL;
    if (!what || all % world == 0) return 0;
    return leat__fail(err, LEAT_ERR_UNSUPPORTED,
                      "batch global_size=%" PRIu64 ": %s cannot be divided among %d ranks in unequal shares: "
                      "write global_size=%" PRIu64,
                      all, what, plan->world, LEAT_ALIGN_UP(all, world));
}

/* -------------------------------------------------------------------------------------------- buckets */

static int read_edges(const leat__use *use, double *edge, int *n, leat_error *err) {
    LEAT_TRY(leat__plan_read_numbers(use, "edges", edge, LEAT_BUCKETS_MAX - 1, n, err));
    for (int i = 0; i < *n; i++)
        if (!(edge[i] > 0 && edge[i] < 1e6 && (i == 0 || edge[i] > edge[i - 1])))
            return leat__plan_fail(
                use, err, LEAT_ERR_ARGUMENT,
                "edges must be rising numbers above 0, width over height, such as 0.75,1.33");
    return 0;
}

/* "480x320,384x384,320x480": height and width for each bucket. */
static int read_sizes(const leat__use *use, int n_buckets, leat__bucket_sizes *sizes, leat_error *err) {
    const char *text = leat__use_arg(use, "sizes")->text;
    while (*text) {
        const size_t len = strcspn(text, ",");
        char part[32];
        int64_t height = 0, width = 0;
        snprintf(part, sizeof part, "%.*s", (int)LEAT_MIN(len, sizeof part - 1), text);
        char *cross = strchr(part, 'x');
        if (cross) *cross = 0;
        if (!cross || !leat__parse_int(part, &height) || !leat__parse_int(cross + 1, &width) || height < 1 ||
            width < 1 || height > 65535 || width > 65535)
            return leat__plan_fail(
                use, err, LEAT_ERR_ARGUMENT,
                "sizes must be HEIGHTxWIDTH for each bucket, such as 480x320,384x384,320x480");
        if (sizes->n == n_buckets) break;
        sizes->height[sizes->n] = (int)height;
        sizes->width[sizes->n++] = (int)width;
        text += len + (text[len] == ',');
    }
    if (*text || (sizes->n && sizes->n != n_buckets))
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "%d edges make %d buckets, and sizes must have one for each of them",
                               n_buckets - 1, n_buckets);
    return 0;
}

/* Whether a list, image,mask, has the name. */
static bool has_name(const char *list, const char *name) {
    for (;;) {
        const size_t len = strcspn(list, ",");
        if (len == strlen(name) && memcmp(list, name, len) == 0) return true;
        if (!list[len]) return false;
        list += len + 1;
    }
}

/* Whether the picture will be turned as its EXIF data says: the decode that follows tells. */
static bool is_oriented(const leat__planner *planner, const leat__use *use, const char *name) {
    for (const leat__use *u = use; u < planner->spec->use + planner->spec->n_uses; u++) {
        if (u->op->flags & LEAT_OP_DECODES && has_name(leat__use_arg(u, "field")->text, name) &&
            leat__use_arg(u, "orient")->i)
            return true;
    }
    return false;
}

/* The question for the size of a picture. */
static int size_question(leat__planner *planner, const leat__use *use, leat__question *question,
                         leat_error *err) {
    *question = (leat__question){.kind = LEAT_ASK_SIZE, .text = "size of the picture"};
    LEAT_TRY(leat__plan_field_find(planner, use, "field", &question->value, err));
    const leat_field *info = &planner->field[question->value].info;
    if (info->dtype != LEAT_DTYPE_BYTES && info->ndim != 2 && info->ndim != 3)
        return leat__plan_fail(use, err, LEAT_ERR_SHAPE, "field %s is no picture", info->name);
    question->from = is_oriented(planner, use, info->name);
    question->values = UINT32_C(1) << question->value;
    return leat__question_prepare(planner, use, question, err);
}

/* Asks all pictures for their sizes. */
static int find_buckets(leat__planner *planner, const leat__use *use, int at, uint8_t *of, leat_error *err) {
    double edge[LEAT_BUCKETS_MAX];
    int n_edges;
    leat__question question;
    const uint64_t n = planner->plan->order.length[at];
    uint64_t n_bad;
    LEAT_TRY(read_edges(use, edge, &n_edges, err));
    LEAT_TRY(size_question(planner, use, &question, err));
    uint64_t *answer = leat__alloc(LEAT_MEM_INDEX, LEAT_MAX(n, (uint64_t)1) * sizeof *answer);
    if (!answer) return leat__fail_memory(err, n * sizeof *answer, "buckets");
    const int rc = leat__question_all(planner, use, &question, at, n, answer, &n_bad, err);
    for (uint64_t i = 0; i < n && rc == 0; i++)
        of[i] =
            (uint8_t)leat__bucket_of(edge, n_edges, (double)(answer[i] >> 32), (double)(uint32_t)answer[i]);
    leat__free(answer);
    return rc;
}

static int plan_bucket(leat__planner *planner, const leat__use *use, leat_error *err) {
    leat__plan *plan = planner->plan;
    double edge[LEAT_BUCKETS_MAX];
    int at, n_edges;
    if (planner->inside)
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX, "batches are made of the whole: write it behind");
    LEAT_TRY(read_edges(use, edge, &n_edges, err));
    LEAT_TRY(read_sizes(use, n_edges + 1, &plan->bucket_sizes, err));
    if (plan->stream)
        return leat__stream_plan_refuse(use, err, "sizes of pictures are not known before",
                                        "resize them to one size, or write padded_batch");
    LEAT_TRY(leat__choice_place(planner, use, (leat__choice_rule){.past_shuffle = true, .past_repeat = true},
                                &at, err));
    const uint64_t n = plan->order.length[at], all = leat__order_length(&plan->order);
    if (all > UINT32_MAX)
        return leat__plan_fail(use, err, all == LEAT_ENDLESS ? LEAT_ERR_SYNTAX : LEAT_ERR_LIMIT,
                               all == LEAT_ENDLESS
                                   ? "what has no end has no last batches: write repeat behind batch"
                                   : "more than 4294967295 samples in an epoch");
    uint8_t *of = leat__alloc(LEAT_MEM_INDEX, LEAT_MAX(n, (uint64_t)1));
    if (!of) return leat__fail_memory(err, n, "buckets");
    const int rc = find_buckets(planner, use, at, of, err);
    if (rc < 0) {
        leat__free(of);
        return rc;
    }
    plan->contents = leat__hash(of, n, plan->contents);
    leat__order_verb verb = {.kind = LEAT_ORDER_BUCKET};
    LEAT_TRY(leat__bucket_new(&verb.bucket, n_edges + 1, of, n, at, err));
    leat__bucket_set(verb.bucket, all, 1, false);
    LEAT_TRY(leat__order_insert(&plan->order, plan->order.n_verbs, verb, err));
    leat__order_set_source(&plan->order, plan->order.length[0]);
    return 0;
}

int leat__bucket_check(leat__planner *planner, const leat__use *use, leat_error *err) {
    const leat__op *op = use->op;
    if (!leat__order_bucket(&planner->plan->order)) return 0;
    const bool whole = (planner->batched && op->flags & LEAT_OP_REPEATS) || leat__use_asks_ranks(use);
    if (op->kind == LEAT_OP_ORDER && !whole)
        return leat__plan_fail(
            use, err, LEAT_ERR_SYNTAX,
            "which samples make a batch is settled by bucket_by_aspect_ratio: write it before");
    if (op->kind == LEAT_OP_BATCH && (op->random || op->flags & LEAT_OP_DIVIDES))
        return leat__plan_fail(use, err, LEAT_ERR_UNSUPPORTED,
                               "batches of bucket_by_aspect_ratio differ in size and are left as they are");
    return 0;
}

void leat__bucket_resolve(leat__planner *planner) {
    leat__plan *plan = planner->plan;
    leat__bucket *bucket = leat__order_bucket(&plan->order);
    if (!bucket) return;
    leat__bucket_set(bucket, bucket->n, leat__plan_global_batch(plan), plan->drop_remainder);
    leat__order_set_source(&plan->order, plan->order.length[0]);
}

int leat__bucket_outputs(leat__planner *planner, leat_error *err) {
    leat__plan *plan = planner->plan;
    const leat__bucket_sizes *sizes = &plan->bucket_sizes;
    for (int i = 0; i < plan->n_outputs; i++) {
        leat__output *out = &plan->output[i];
        const leat__plan_field *field = &planner->field[out->value];
        if (!field->by_bucket) continue;
        out->by_bucket = true;
        out->height_axis = field->nchw ? 1 : 0;
        for (int b = 0; b < sizes->n; b++) {
            out->bucket[b].height = sizes->height[b];
            out->bucket[b].width = sizes->width[b];
        }
        if (out->field.ndim == 3 && out->field.shape[field->nchw ? 0 : 2] < 0)
            return leat__fail(
                err, LEAT_ERR_SHAPE,
                "field %s: how many channels it has is not known before: write decode channels=3",
                out->field.name);
    }
    return 0;
}

/* ------------------------------------------------------------------------------------------- prefetch */

static int plan_prefetch(leat__planner *planner, const leat__use *use, leat_error *err) {
    const char *text = leat__use_arg(use, "count")->text;
    int64_t count = 0;
    const bool chosen = strcmp(text, "auto") == 0 || strcmp(text, "-1") == 0; /* -1 is tf.data.AUTOTUNE */
    if (!chosen && (!leat__parse_int(text, &count) || count < 1 || count > 1000))
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "must be auto or a number from 1 to 1000, not '%s'", text);
    planner->plan->prefetch = (int)count;
    return 0;
}

/* ------------------------------------------------------------------------------------------ the table */

#define SIZE_ARG                                                                              \
    {                                                                                         \
        .name = "size", .also = "batch_size", .kind = LEAT_ARG_INT, .min = 1, .max = 1 << 24, \
        .help = "samples in a batch, of one rank"                                             \
    }

/* Of a batch that may be given by the size for all ranks instead. */
#define ONE_RANK_ARG                                                                          \
    {                                                                                         \
        .name = "size", .also = "batch_size", .kind = LEAT_ARG_INT, .min = 1, .max = 1 << 24, \
        .fallback = "", .help = "samples in a batch, of one rank"                             \
    }
#define ALL_RANKS_ARG                                                                                       \
    {                                                                                                       \
        .name = "global_size", .also = "global_batch_size", .kind = LEAT_ARG_INT, .min = 1, .max = 1 << 24, \
        .fallback = "", .named = true,                                                                      \
        .help = "in place of size: samples in a batch of all ranks together, which they divide "            \
                "among them"                                                                                \
    }

#define REMAINDER_ARGS(by_name)                                                                  \
    {.name = "drop_remainder",                                                                   \
     .also = "drop_last",                                                                        \
     .kind = LEAT_ARG_BOOL,                                                                      \
     .fallback = "false",                                                                        \
     .named = (by_name),                                                                         \
     .help = "leave out a last batch that is not full"},                                         \
        {.name = "pad_remainder",                                                                \
         .kind = LEAT_ARG_BOOL,                                                                  \
         .fallback = "false",                                                                    \
         .named = true,                                                                          \
         .help = "fill it up with repeated samples; so with several ranks in any case"},         \
    {                                                                                            \
        .name = "valid", .kind = LEAT_ARG_TEXT, .fallback = "", .named = true,                   \
        .help = "name of a field that is true for real samples and false for those that fill up" \
    }

const leat__op leat__ops_batch[] = {
    {.name = "batch",
     .kind = LEAT_OP_BATCH,
     .help = "Puts consecutive samples together.",
     .like = "tf.data.Dataset.batch, tf.data.Dataset.ragged_batch, "
             "keras.utils.image_dataset_from_directory(batch_size), torch.utils.data.BatchSampler, "
             "torch.utils.data.DataLoader(batch_size)",
     .flags = LEAT_OP_SIZED | LEAT_OP_SHARED,
     .plan = plan_batch,
     .arg = {ONE_RANK_ARG, REMAINDER_ARGS(false), ALL_RANKS_ARG}},
    {.name = "padded_batch",
     .kind = LEAT_OP_BATCH,
     .help =
         "A batch of fields that differ in size, filled up to the largest of the batch or to a given size.",
     .like = "tf.data.Dataset.padded_batch",
     .flags = LEAT_OP_SIZED | LEAT_OP_SHARED | LEAT_OP_PADS,
     .plan = plan_padded_batch,
     .arg = {ONE_RANK_ARG,
             {.name = "shapes",
              .also = "padded_shapes",
              .kind = LEAT_ARG_TEXTS,
              .fallback = "",
              .pairs = true,
              .help = "fields of one size in all batches: image=640x640x3; * is the largest of the batch"},
             {.name = "padding",
              .also = "padding_values",
              .kind = LEAT_ARG_TEXT,
              .fallback = "0",
              .named = true,
              .help = "what fills up: a number, or such as image:255,ids:-1"},
             {.name = "max",
              .kind = LEAT_ARG_TEXT,
              .fallback = "",
              .named = true,
              .help = "the largest size there can be, where neither text nor index tells it: 2000x2000x3, "
                      "or image:2000x2000x3"},
             REMAINDER_ARGS(true),
             ALL_RANKS_ARG}},
    {.name = "unbatch",
     .kind = LEAT_OP_BATCH,
     .help = "Takes batches apart into samples.",
     .like = "tf.data.Dataset.unbatch",
     .flags = LEAT_OP_DIVIDES,
     .plan = plan_unbatch},
    {.name = "rebatch",
     .kind = LEAT_OP_BATCH,
     .help = "The samples of batches in batches of another size.",
     .like = "tf.data.Dataset.rebatch",
     .flags = LEAT_OP_SIZED | LEAT_OP_DIVIDES,
     .plan = plan_rebatch,
     .arg = {SIZE_ARG, REMAINDER_ARGS(false)}},
    {.name = "bucket_by_aspect_ratio",
     .kind = LEAT_OP_ORDER,
     .help = "Batches of pictures of like shape: buckets by width over height, batches as they become full.",
     .like = "tf.data.Dataset.bucket_by_sequence_length",
     .plan = plan_bucket,
     .arg = {{.name = "edges", .kind = LEAT_ARG_TEXT, .help = "width over height between buckets: 0.75,1.33"},
             {.name = "sizes",
              .kind = LEAT_ARG_TEXT,
              .fallback = "",
              .named = true,
              .help = "for resize_to_bucket, height x width of each: 480x320,384x384,320x480"},
             LEAT_ARG_FIELD_NAMED}},
    {.name = "prefetch",
     .kind = LEAT_OP_BATCH,
     .help = "How many finished batches may wait; auto follows the consumer.",
     .like = "tf.data.Dataset.prefetch, torch.utils.data.DataLoader(prefetch_factor)",
     .flags = LEAT_OP_NO_BYTES,
     .plan = plan_prefetch,
     .arg = {{.name = "count",
              .also = "buffer_size",
              .kind = LEAT_ARG_TEXT,
              .fallback = "auto",
              .help = "a number, or auto; -1 is auto"}}},
    {0},
};
