/* SPDX-License-Identifier: Apache-2.0 */
/* Buckets by aspect ratio: bucket_by_aspect_ratio says which samples make a batch together (order/bucket.h), and
 * resize_to_bucket gives the pictures of each batch the size of its bucket. */
#include <stdio.h>

#include "base/hash.h"
#include "ops/ops_args.h"
#include "plan/select.h"

/* --------------------------------------------------------------------------------------------- order */

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
        if (strcmp(u->op->name, "decode") == 0 && has_name(leat__use_arg(u, "field")->text, name) &&
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
    const bool whole =
        (planner->batched && strcmp(op->name, "repeat") == 0) || /* more epochs, and the ranks */
        (op->plan == leat__plan_shard && strcmp(leat__use_arg(use, "part")->text, "auto") == 0);
    if (op->kind == LEAT_OP_ORDER && !whole)
        return leat__plan_fail(
            use, err, LEAT_ERR_SYNTAX,
            "which samples make a batch is settled by bucket_by_aspect_ratio: write it before");
    if (op->kind == LEAT_OP_BATCH &&
        (op->random || strcmp(op->name, "unbatch") == 0 || strcmp(op->name, "rebatch") == 0))
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

/* --------------------------------------------------------------------------------------------- sizes */

static int draw_size(const leat__image_op *op, leat__drawing *d, int *height, int *width, leat_error *err) {
    const leat__bucket_sizes *sizes = op->more;
    (void)err;
    *height = sizes->height[d->bucket];
    *width = sizes->width[d->bucket];
    return 0;
}

static int plan_resize_to_bucket(leat__planner *planner, const leat__use *use, leat_error *err) {
    int at;
    leat__resample resample;
    const leat__bucket_sizes *sizes = &planner->plan->bucket_sizes;
    LEAT_TRY(leat__plan_find_picture(planner, use, LEAT_PICTURES_ANY, &at, err));
    if (!sizes->n)
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                               "there are no sizes: write bucket_by_aspect_ratio edges=... sizes=... before");
    const bool pil = leat__use_arg(use, "flavour")->i == 0,
               antialias = leat__use_arg(use, "antialias")->i != 0;
    LEAT_TRY(leat__plan_read_method(planner, use, at, pil, antialias, &resample, err));
    sizes = leat__plan_keep(planner, sizes, sizeof *sizes, err);
    if (!sizes) return LEAT_ERR_MEMORY;
    LEAT_TRY(leat__plan_fit_aspect(planner, use, at, 0, 0, sizes, err));
    const leat__size_plan size = {.op.more = sizes, .draw = draw_size, .by_bucket = true};
    return leat__plan_add_resize_by(planner, use, at, resample, &size, err);
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

const leat__op leat__ops_bucket[] = {
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
    {.name = "resize_to_bucket",
     .kind = LEAT_OP_IMAGE,
     .help = "The size that bucket_by_aspect_ratio gives to the batch of the picture.",
     .like = "",
     .plan = plan_resize_to_bucket,
     .arg = {LEAT_ARG_METHOD,
             {.name = "flavour",
              .kind = LEAT_ARG_WORD,
              .fallback = "pil",
              .words = "pil|tf",
              .named = true,
              .help = "whose resize: Pillow's, antialiased, u8; or tf.image.resize, f32"},
             LEAT_ARG_ANTIALIAS,
             LEAT_ARGS_ASPECT_RATIO,
             LEAT_ARG_BORDER_FILL,
             LEAT_ARG_FIELD_NAMED}},
    {0},
};
