/* SPDX-License-Identifier: Apache-2.0 */
/* Samples that are kept: where cache may stand, what is kept there, and what that depends on. */
#include <stdarg.h>
#include <stdio.h>

#include "cache/cache.h"
#include "plan/planner.h"
#include "sample/evaluated.h"

/* The last random operation on samples before this one, or NULL. */
static const char *drawn_before(const leat__planner *planner, const leat__use *use) {
    const char *name = NULL;
    for (const leat__use *u = planner->spec->use; u < use; u++)
        if ((u->op->random || u->op->flags & LEAT_OP_EPOCHAL) &&
            (u->op->kind == LEAT_OP_SAMPLE || u->op->kind == LEAT_OP_IMAGE))
            name = u->op->name;
    const leat__plan *plan = planner->plan; /* of eval the expressions tell */
    for (int i = 0; i < plan->n_steps; i++)
        if (plan->step[i].kind == LEAT_STEP_EVAL && plan->step[i].as.eval.plan->program->random)
            name = "eval";
    return name;
}

/* What steps before it make must depend on the sample alone; on disk also on nothing that the text does not name. */
static int check_steps(const leat__planner *planner, const leat__use *use, bool disk, leat_error *err) {
    const leat__plan *plan = planner->plan;
    for (int i = 0; i < plan->n_steps; i++) {
        const leat__step *step = &plan->step[i];
        if (step->kind == LEAT_STEP_ENUMERATE && step->as.enumerate.position)
            return leat__plan_fail(
                use, err, LEAT_ERR_SYNTAX,
                "the place in the epoch is another one each time: write enumerate behind cache");
        if (step->kind == LEAT_STEP_PASS && step->as.pass->scaled)
            return leat__plan_fail(
                use, err, LEAT_ERR_SYNTAX,
                "decode scale=auto makes pixels for one crop and one size only: write cache "
                "before decode, or decode without scale=auto");
        if (step->kind == LEAT_STEP_DRAW)
            return leat__plan_fail(
                use, err, LEAT_ERR_SYNTAX,
                "what is drawn for the device is another one each time: write cache before on_device");
        if (step->kind == LEAT_STEP_MAP && disk)
            return leat__plan_fail(
                use, err, LEAT_ERR_UNSUPPORTED,
                "a cache on disk cannot notice that a function of the program has changed: write "
                "cache before map, or without a path");
    }
    return 0;
}

static int plan_cache(leat__planner *planner, const leat__use *use, leat_error *err) {
    leat__plan *plan = planner->plan;
    leat__caching *caching = &plan->caching;
    const char *path = leat__use_arg(use, "path")->text, *drawn = drawn_before(planner, use);
    if (plan->n_group_ops > 0) /* behind batch, samples are kept as they come into batches */
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                               "it keeps samples before they are mixed: write it before mixup and cutmix");
    if (caching->wanted)
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                               "there is a cache before: one is enough, the later one");
    if (plan->source->paired_anew)
        return leat__plan_fail(
            use, err, LEAT_ERR_SYNTAX,
            "what meets in a sample, or comes at a number, is different in every epoch, so "
            "keeping it is of no use: write shuffle behind what is combined, or leave out "
            "cache");
    LEAT_TRY(check_steps(planner, use, *path != 0, err));
    const bool freeze = leat__use_arg(use, "freeze")->i != 0;
    if (drawn && !freeze)
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                               "what %s draws would stay the same in every epoch: write cache before it, or "
                               "cache freeze=true if that is what you want",
                               drawn);
    LEAT_TRY(leat__coords_keep(planner, use, err));
    *caching = (leat__caching){.wanted = true,
                               .freeze = freeze && drawn,
                               .step = plan->n_steps,
                               .max = (uint64_t)leat__use_arg(use, "max")->i,
                               .contents = plan->contents,
                               .last_use = (int)(use - planner->spec->use)};
    if (*path && !(caching->path = leat__plan_keep(planner, path, strlen(path) + 1, err)))
        return LEAT_ERR_MEMORY;
    if (!*path && leat__use_arg(use, "path")->given)
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "the path is empty: leave it out to keep samples in memory");
    for (int i = 0; i < planner->n_fields; i++) {
        if (!planner->live[i] && !planner->field[i].trail_of) continue;
        const leat_field *info = &planner->field[i].info;
        leat__bundle_field *field = &caching->field[caching->n_fields];
        leat__plan_close_pass(planner, i); /* it must lie in memory here */
        *field = (leat__bundle_field){.dtype = info->dtype, .ndim = info->ndim};
        for (int k = 0; k < info->ndim; k++) field->shape[k] = info->ragged && k == 0 ? -1 : info->shape[k];
        caching->value[caching->n_fields] = i;
        snprintf(caching->name[caching->n_fields], sizeof caching->name[0], "%s", info->name);
        caching->n_fields++;
    }
    return leat__coords_resume(planner, use, err);
}

/* ------------------------------------------------------------------------------------------- finish */

/* How the fields lie in memory at this point: whether channels come first is known only when all passes are. */
static void settle_fields(leat__plan *plan) {
    leat__caching *caching = &plan->caching;
    caching->fixed = true;
    for (int i = 0; i < caching->n_fields; i++) {
        leat__bundle_field *field = &caching->field[i];
        for (int k = 0; k < caching->step; k++) {
            const leat__step *step = &plan->step[k];
            if (step->value != caching->value[i]) continue;
            if (step->kind == LEAT_STEP_PASS) caching->nchw[i] = step->as.pass->nchw;
            else if (step->kind == LEAT_STEP_PICTURE) caching->nchw[i] = false;
        }
        if (caching->nchw[i] && field->ndim == 3) {
            const int64_t hwc[3] = {field->shape[0], field->shape[1], field->shape[2]};
            field->shape[0] = hwc[2], field->shape[1] = hwc[0], field->shape[2] = hwc[1];
        }
        caching->fixed &= leat__bundle_fixed(field);
        memcpy(caching->part[i].shape, field->shape, sizeof field->shape);
    }
    caching->fixed = caching->fixed &&
                     leat__bundle_lay_out(caching->field, caching->n_fields, caching->part, &caching->bytes);
}

/* Fields that go into the batch as they are: they need not lie anywhere else before. */
static void find_direct(leat__plan *plan) {
    leat__caching *caching = &plan->caching;
    for (int i = 0; i < caching->n_fields; i++) {
        caching->output[i] = -1;
        for (int k = 0; caching->fixed && k < plan->n_outputs; k++) {
            const leat__output *out = &plan->output[k];
            if (out->value == caching->value[i] && !out->stored && !out->field.ragged &&
                caching->part[i].bytes == out->stride)
                caching->output[i] = k;
        }
        for (int k = caching->step; k < plan->n_steps; k++)
            if (plan->step[k].value == caching->value[i]) caching->output[i] = -1;
        caching->direct |= caching->output[i] >= 0;
    }
}

static bool add(leat__buf *text, const char *fmt, ...) LEAT_PRINTF(2, 3);
static bool add(leat__buf *text, const char *fmt, ...) {
    char line[300];
    va_list args;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    return leat__buf_append(text, line, strlen(line));
}

/* All that the kept values depend on, as text. Order operations do not change the values of a sample, but they are counted:
 * draws depend on the number of an operation. */
static bool write_about(leat__planner *planner, uint64_t version, leat__buf *text) {
    const leat__plan *plan = planner->plan;
    const leat__caching *caching = &plan->caching;
    bool fits =
        add(text, "leat-cache 1\nleat %s\ndata %016" PRIx64 " %016" PRIx64 "\ncontents %016" PRIx64 "\n",
            LEAT_VERSION, plan->source->fingerprint, version, caching->contents);
    if (caching->freeze) fits = fits && add(text, "seed %" PRIu64 "\n", plan->seed);
    if (plan->stream && plan->stream->cycle) /* the numbers of a stream's records depend on it */
        fits = fits &&
               add(text, "in turn %" PRIu64 " %" PRIu64 "\n", plan->stream->cycle, plan->stream->cycle_block);
    for (int i = 0; i < caching->n_fields; i++) {
        const leat__bundle_field *field = &caching->field[i];
        fits = fits && add(text, "field %s %s%s", caching->name[i], leat_dtype_name(field->dtype),
                           caching->nchw[i] ? " nchw" : "");
        for (int k = 0; k < field->ndim; k++) fits = fits && add(text, " %" PRId64, field->shape[k]);
        fits = fits && add(text, "\n");
    }
    for (int i = 0; i < planner->spec->n_uses; i++) {
        const leat__use *use = &planner->spec->use[i];
        if (use->op->flags & LEAT_OP_SETTINGS && leat__use_arg(use, "accuracy")->i)
            fits = fits && add(text, "accuracy fast\n");
        if (i >= caching->last_use || (use->op->kind == LEAT_OP_ORDER && !caching->freeze) ||
            use->op->kind == LEAT_OP_BATCH)
            continue;
        fits = fits && leat__use_normal(use, text) && add(text, "\n");
    }
    return fits && leat__buf_append(text, "", 1);
}

static int describe_data(leat__planner *planner, leat__buf *text, leat_error *err) {
    leat__plan *plan = planner->plan;
    const leat__use *use = &planner->spec->use[plan->caching.last_use];
    uint64_t version = 0;
    if (plan->source->class->version)
        LEAT_TRY(plan->source->class->version(plan->source, planner->open.n_threads, false, &version, err));
    else
        return leat__plan_fail(
            use, err, LEAT_ERR_UNSUPPORTED,
            "%s cannot tell when its data changes, so a cache on disk could be out of date: write "
            "cache without a path, which keeps samples in memory",
            plan->source->class->name);
    return write_about(planner, version, text) ? 0 : leat__fail_memory(err, text->size, "a plan");
}

/* Memory: what the text says or half of the budget, but batches come first. */
static uint64_t memory_share(leat__plan *plan) {
    leat__budget *b = &plan->budget;
    const uint64_t left =
        b->slots - (size_t)plan->n_slots * plan->slot_bytes; /* fit_memory has compared them */
    const uint64_t wanted = plan->caching.max ? plan->caching.max : b->whole / 2;
    b->cache = (size_t)LEAT_MIN(wanted, left);
    b->slots -= b->cache;
    return b->cache;
}

/* Ranks, and pipelines that share the steps of a rank, make different samples of an epoch. */
static uint64_t maker_of(const leat__plan *plan, const leat_config *config) {
    return (uint64_t)plan->rank * LEAT_MAX(config->step_stride, (uint64_t)1) + config->step_first;
}

int leat__plan_open_cache(leat__planner *planner, leat_error *err) {
    leat__plan *plan = planner->plan;
    leat__caching *caching = &plan->caching;
    if (!caching->wanted) return 0;
    settle_fields(plan);
    find_direct(plan);
    leat__buf about = {.kind = LEAT_MEM_PLAN};
    int rc = caching->path ? describe_data(planner, &about, err) : 0;
    char *kept = rc == 0 && about.size ? leat__plan_keep(planner, about.data, about.size, err) : NULL;
    if (rc == 0 && about.size && !kept) rc = LEAT_ERR_MEMORY;
    leat__buf_free(&about);
    LEAT_TRY(rc);
    const leat__cache_options options = {.plan = caching,
                                         .n_samples = plan->source->n_samples,
                                         .bytes_max = caching->path ? caching->max : memory_share(plan),
                                         .about = kept,
                                         .maker = maker_of(plan, planner->config),
                                         .trust = planner->open.trust,
                                         .log = planner->config->log,
                                         .user = planner->config->user};
    return leat__cache_open(&plan->cache, &options, err);
}

const leat__op leat__ops_cache[] = {
    {.name = "cache",
     .kind = LEAT_OP_BATCH, /* it draws nothing and does not count among the operations that do */
     .help = "Keeps the samples as they are here, by their numbers, in memory or in a directory; later "
             "epochs take them "
             "from there.",
     .like = "tf.data.Dataset.cache, tf.data.Dataset.snapshot",
     .flags = LEAT_OP_NO_BYTES | LEAT_OP_FREEZES,
     .plan = plan_cache,
     .arg = {{.name = "path",
              .also = "filename",
              .kind = LEAT_ARG_TEXT,
              .fallback = "",
              .help = "a directory, which is made; left out: in memory"},
             {.name = "max",
              .kind = LEAT_ARG_INT,
              .fallback = "0",
              .max = 1e18,
              .named = true,
              .help = "bytes, such as 4GiB; 0: half of the memory budget, or as much as the disk has"},
             {.name = "freeze",
              .kind = LEAT_ARG_BOOL,
              .fallback = "false",
              .named = true,
              .help =
                  "true: random operations may stand before it; they draw once for each sample, for ever"}}},
    {0},
};
