/* SPDX-License-Identifier: Apache-2.0 */
/* The table of remedies: a row each. A row says when it may help, makes the changed pipeline, and tells what it costs. Most
 * are tried: the changed pipeline runs in turns with the one that there is, on a sample of the data where something must be
 * written or kept first. What leat cannot try is advice, with a prediction from the counters where they allow one. */
#include <stdarg.h>
#include <stdio.h>

#include "base/cpu.h"
#include "base/file.h"
#include "tools/doctor/doctor.h"

static bool bound_by(const leat__doctor *d, unsigned long causes) {
    return (causes >> d->report->verdict.bottleneck) & 1;
}
#define CAUSE(name) (1ul << LEAT_BOTTLENECK_##name)
#define READING (CAUSE(STORAGE) | CAUSE(FILES) | CAUSE(READ))
#define WORKING (READING | CAUSE(PARSE) | CAUSE(DECODE) | CAUSE(STREAM) | CAUSE(CALL) | CAUSE(BUDGET))

void leat__change_say(leat__change *change, const char *fmt, ...) {
    char line[3000];
    va_list args;
    va_start(args, fmt);
    const int n = vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    if (n > 0) leat__buf_append(&change->command, line, LEAT_MIN((size_t)n, sizeof line - 1));
}

void leat__change_bound(leat__change *change, uint64_t bytes_each) {
    const uint64_t most = ((uint64_t)256 << 20) / LEAT_MAX(bytes_each, (uint64_t)1);
    if (change->limit != UINT64_MAX) change->limit = LEAT_CLAMP(most, (uint64_t)1, change->limit);
}

const char *leat__bytes_text(char out[LEAT_BYTES_TEXT], double bytes) {
    static const char *const units[] = {"bytes", "KB", "MB", "GB", "TB"};
    int u = 0;
    for (; bytes >= 999.5 && u < 4; u++) bytes /= 1000;
    snprintf(out, LEAT_BYTES_TEXT, u == 0 || bytes >= 9.95 ? "%.0f %s" : "%.1f %s", bytes, units[u]);
    return out;
}

static int say_text(leat__change *change, leat_error *err) {
    const char *text = leat__edit_text(&change->edit);
    if (!text) return leat__fail_memory(err, 1000, "a pipeline text");
    leat__change_say(change, "%s", text);
    return 0;
}

static void set_title(leat__change *change, const char *fmt, ...) LEAT_PRINTF(2, 3);
static void set_title(leat__change *change, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    vsnprintf(change->title, sizeof change->title, fmt, args);
    va_end(args);
}

/* The first operation that works on pixels or fields and draws, or the first one behind all of those. */
static int first_random(const leat_spec *spec) {
    int at = 1;
    for (; at < spec->n_uses; at++) {
        const leat__op *op = spec->use[at].op;
        const bool works = op->kind == LEAT_OP_SAMPLE || op->kind == LEAT_OP_IMAGE;
        if (works && (op->random || op->flags & LEAT_OP_EPOCHAL)) break;
        if (op->kind == LEAT_OP_BATCH && !(op->flags & (LEAT_OP_SETTINGS | LEAT_OP_FREEZES))) break;
    }
    return at;
}

static int find_flag(const leat_spec *spec, unsigned flag) {
    for (int i = 0; i < spec->n_uses; i++)
        if (spec->use[i].op->flags & flag) return i;
    return -1;
}

/* ------------------------------------------------------------------------------------------- options */

static bool threads_apply(const leat__doctor *d) {
    return d->now.stats.n_threads != d->cores && !d->config.synchronous;
}

static int threads_change(const leat__doctor *d, leat__change *change, leat_error *err) {
    (void)err;
    change->config.n_threads = d->cores;
    set_title(change, "%d threads, not %d", d->cores, d->now.stats.n_threads);
    leat__change_say(change, "--threads %d    (leat_config.n_threads; 0 = as many as there are cores)",
                     d->cores);
    return 0;
}

/* `prefetch` is the operation of batches that changes no byte and sets nothing else. */
static int find_prefetch(const leat_spec *spec) {
    for (int i = 0; i < spec->n_uses; i++) {
        const leat__op *op = spec->use[i].op;
        if (op->kind == LEAT_OP_BATCH && op->flags & LEAT_OP_NO_BYTES &&
            !(op->flags & (LEAT_OP_SETTINGS | LEAT_OP_FREEZES)))
            return i;
    }
    return -1;
}

static bool slots_apply(const leat__doctor *d) {
    return (d->config.n_slots > 0 || leat__doctor_plan(d)->prefetch > 0) && bound_by(d, CAUSE(SLOTS));
}

/* Room for all that the consumer takes at once, and for those that are being made meanwhile. */
static int slots_change(const leat__doctor *d, leat__change *change, leat_error *err) {
    const int n = LEAT_MAX(d->consumer.at_once, 1) * 2 + 2, at = find_prefetch(d->spec);
    set_title(change, "%d batches made ahead", n - 2);
    if (d->config.n_slots > 0) {
        change->config.n_slots = n;
        leat__change_say(change, "--slots %d    (leat_config.n_slots; 0 = automatic)", n);
        return 0;
    }
    if (at >= 0 && leat__edit_set(&change->edit, at, "prefetch %d", n - 2)) return say_text(change, err);
    return LEAT_END;
}

static void slots_cost(const leat__doctor *d, leat__change *change, const leat__measured *after) {
    const double more = (double)after->stats.memory_bytes - (double)d->now.stats.memory_bytes;
    char bytes[LEAT_BYTES_TEXT];
    snprintf(change->cost, sizeof change->cost, "%s more memory", leat__bytes_text(bytes, LEAT_MAX(more, 0)));
}

static bool budget_applies(const leat__doctor *d) {
    return d->config.memory_max_bytes > 0 && bound_by(d, CAUSE(BUDGET)) &&
           leat__memory_available() / 4 > d->config.memory_max_bytes;
}

static int budget_change(const leat__doctor *d, leat__change *change, leat_error *err) {
    (void)err;
    change->config.memory_max_bytes = 0;
    char large[LEAT_BYTES_TEXT], small[LEAT_BYTES_TEXT];
    set_title(change, "a larger byte budget: %s, not %s",
              leat__bytes_text(large, (double)leat__memory_available() / 4),
              leat__bytes_text(small, (double)d->config.memory_max_bytes));
    leat__change_say(
        change, "without --memory    (leat_config.memory_max_bytes = 0: a quarter of what is available)");
    return 0;
}

static void budget_cost(const leat__doctor *d, leat__change *change, const leat__measured *after) {
    (void)d;
    char most[LEAT_BYTES_TEXT], held[LEAT_BYTES_TEXT];
    snprintf(change->cost, sizeof change->cost, "up to %s of memory; %s held in the trial",
             leat__bytes_text(most, (double)after->stats.memory_max_bytes),
             leat__bytes_text(held, (double)after->stats.memory_bytes));
}

static bool frugal_applies(const leat__doctor *d) {
    return bound_by(d, CAUSE(PRESSURE));
}

/* What less memory brings cannot be tried while the machine has none: the trial itself takes some. */
static int frugal_change(const leat__doctor *d, leat__change *change, leat_error *err) {
    (void)err;
    const double half = (double)d->now.stats.memory_max_bytes / 2e6;
    set_title(change, "less memory: half of the byte budget, or fewer other programs");
    leat__change_say(change, "--memory %.0fMB    (leat_config.memory_max_bytes)", half);
    snprintf(change->cost, sizeof change->cost, "a cache keeps less, fewer batches are made ahead");
    return 0;
}

/* ---------------------------------------------------------------------------------------------- text */

static bool reader_applies(const leat__doctor *d) {
    const leat__plan *plan = leat__doctor_plan(d);
    return !plan->stream && !plan->source->no_read_ahead && plan->source->class->size != NULL &&
           bound_by(d, CAUSE(STORAGE) | CAUSE(FILES) | CAUSE(THREADS));
}

static int reader_change(const leat__doctor *d, leat__change *change, leat_error *err) {
    (void)d;
    const int at = find_flag(d->spec, LEAT_OP_SETTINGS);
    set_title(change, "16 threads that read ahead");
    if (at >= 0 && leat__use_arg(&d->spec->use[at], "read_ahead")->given) return LEAT_END;
    if (!leat__edit_insert(&change->edit, change->edit.n, "options read_ahead=16")) return LEAT_END;
    return say_text(change, err);
}

static bool cache_applies(const leat__doctor *d) {
    const leat__plan *plan = leat__doctor_plan(d);
    return !plan->caching.wanted && d->report->epoch_samples > 0 && bound_by(d, WORKING);
}

/* What the samples of an epoch take at that point of the text; 0 = only a trial tells. */
static uint64_t cached_bytes(const leat__doctor *d, leat__edit *edit) {
    const char *text = leat__edit_text(edit);
    leat__plan *plan = leat__alloc(LEAT_MEM_TOOL, sizeof *plan);
    leat_spec *spec = leat_spec_new(NULL);
    uint64_t bytes = 0;
    if (text && plan && spec) {
        leat__spec_borrow(spec, d->spec);
        leat_spec_add(spec, text);
        if (leat__plan_build(plan, spec, &d->config, NULL) == 0) {
            if (plan->caching.fixed)
                bytes = (uint64_t)plan->caching.bytes * (uint64_t)d->report->epoch_samples;
            leat__plan_free(plan);
        }
    }
    leat_spec_free(&spec);
    leat__free(plan);
    return bytes;
}

static int cache_change(const leat__doctor *d, leat__change *change, leat_error *err) {
    const int at = first_random(d->spec);
    if (!leat__edit_insert(&change->edit, at, "cache")) return LEAT_END;
    const uint64_t bytes = cached_bytes(d, &change->edit);
    const size_t room = leat__doctor_plan(d)->budget.slots;
    const bool disk = bytes > room / 2;
    leat__change_bound(change, bytes / (uint64_t)d->report->epoch_samples);
    change->write_bytes = disk ? bytes : 0;
    set_title(change, "cache %s", at == d->spec->n_uses || at < 2 ? "the samples" : "what does not change");
    if (disk) {
        char folder[1200];
        leat__edit_quote(folder, sizeof folder, change->folder);
        set_title(change, "cache on disk what does not change");
        leat__edit_set(&change->edit, at, "cache DIR");
        LEAT_TRY(say_text(change, err));
        leat__edit_set(&change->edit, at, "cache %s", folder);
    } else {
        LEAT_TRY(say_text(change, err));
    }
    /* A trial keeps the first samples only, so that it soon has all of them. */
    if (change->limit < (uint64_t)d->report->epoch_samples &&
        !leat__edit_insert(&change->edit, 1, "take %" PRIu64, change->limit))
        return LEAT_END;
    snprintf(change->how, sizeof change->how, "later epochs, measured on %" PRIu64 " samples that were kept",
             LEAT_MIN(change->limit, (uint64_t)d->report->epoch_samples));
    return 0;
}

static void cache_cost(const leat__doctor *d, leat__change *change, const leat__measured *after) {
    const uint64_t n = LEAT_MIN(change->limit, (uint64_t)d->report->epoch_samples);
    const double each = (double)after->stats.cache_bytes / (double)LEAT_MAX(n, 1);
    char bytes[LEAT_BYTES_TEXT];
    snprintf(change->cost, sizeof change->cost, "%s of %s; the first epoch is as now",
             leat__bytes_text(bytes, each * (double)d->report->epoch_samples),
             change->write_bytes ? "disk" : "memory");
}

/* The last operation on pixels or fields. */
static int last_work(const leat_spec *spec) {
    int last = -1;
    for (int i = 1; i < spec->n_uses; i++)
        if (spec->use[i].op->kind == LEAT_OP_IMAGE || spec->use[i].op->kind == LEAT_OP_SAMPLE) last = i;
    return last;
}

static bool bytes_apply(const leat__doctor *d) {
    const int last = last_work(d->spec);
    const leat__plan *plan = leat__doctor_plan(d);
    return last > 0 && d->spec->use[last].op->flags & (LEAT_OP_SCALES | LEAT_OP_NORMALIZES) &&
           plan->n_outputs > 0 && leat_dtype_size(plan->output[0].field.dtype) > 1 && d->report->input_binds;
}

static int bytes_change(const leat__doctor *d, leat__change *change, leat_error *err) {
    const int last = last_work(d->spec);
    set_title(change, "u8 pictures to the device, floats made there");
    snprintf(change->cost, sizeof change->cost, "the model begins with %.60s; a quarter of the bytes moves",
             change->edit.op[last]);
    leat__edit_remove(&change->edit, last);
    return say_text(change, err);
}

/* What is not u8 then has been made a float by an operation before, and rounding would change values. */
static bool is_bytes(const leat_pipeline *pipeline) {
    return pipeline->plan.n_outputs > 0 && pipeline->plan.output[0].field.dtype == LEAT_DTYPE_U8;
}

static bool batch_applies(const leat__doctor *d) {
    const leat__plan *plan = leat__doctor_plan(d);
    return find_flag(d->spec, LEAT_OP_SIZED) >= 0 && plan->batch < 64 && d->consumer.step_ns == 0 &&
           !plan->group && bound_by(d, CAUSE(CONSUMER));
}

static int batch_change(const leat__doctor *d, leat__change *change, leat_error *err) {
    const int at = find_flag(d->spec, LEAT_OP_SIZED);
    const leat__arg_value *size = &d->spec->use[at].arg[0];
    const int n = leat__doctor_plan(d)->batch * 8;
    if (!size->given || size->column <= d->spec->use[at].column) return LEAT_END;
    const int before = size->column - d->spec->use[at].column;
    const char *op = change->edit.op[at];
    set_title(change, "batches of %d, not %d", n, leat__doctor_plan(d)->batch);
    snprintf(change->cost, sizeof change->cost,
             "another batch size trains differently: adapt the learning rate");
    if (!leat__edit_set(&change->edit, at, "%.*s%d%s", before, op, n, op + before + strlen(size->text)))
        return LEAT_END;
    return say_text(change, err);
}

/* The first shuffle of samples as a whole. */
static int find_shuffle(const leat_spec *spec) {
    for (int i = 1; i < spec->n_uses; i++) {
        const leat__use *use = &spec->use[i];
        if (use->op->kind == LEAT_OP_ORDER && leat__op_has(use->op, "block") &&
            leat__op_has(use->op, "window"))
            return leat__use_arg(use, "block")->i || leat__use_arg(use, "window")->i ? -1 : i;
    }
    return -1;
}

static bool block_applies(const leat__doctor *d) {
    return find_shuffle(d->spec) > 0 && d->cold > 0 && d->cold < d->now.rate &&
           d->cold_sequential > 1.2 * d->cold;
}

static int block_change(const leat__doctor *d, leat__change *change, leat_error *err) {
    const int at = find_shuffle(d->spec);
    set_title(change, "shuffle by blocks while storage is cold");
    snprintf(change->cost, sizeof change->cost, "neighbours in a file come near one another in the epoch");
    snprintf(change->how, sizeof change->how,
             "from cold storage: %.0f samples/s in random order, %.0f in blocks", d->cold,
             d->cold_sequential);
    if (!leat__edit_set(&change->edit, at, "%s block=4MiB", change->edit.op[at])) return LEAT_END;
    return say_text(change, err);
}

/* Cold, the storage's ceiling is the rate. */
static double block_predict(const leat__doctor *d, leat__change *change) {
    (void)change;
    return d->now.rate * LEAT_MIN(d->cold_sequential, d->now.rate) / d->cold;
}

/* A resize of whole pictures that stands behind other operations on pixels, which could work on the small picture: its
 * number, and that of the first of those. -1 if there is none. */
static int late_resize(const leat_spec *spec, int *first) {
    *first = -1;
    for (int i = 1; i < spec->n_uses; i++) {
        const leat__op *op = spec->use[i].op;
        if (op->kind != LEAT_OP_IMAGE || op->flags & LEAT_OP_READS) *first = -1;
        else if (*first < 0) *first = i;
        if (op->flags & LEAT_OP_RESIZES) return i > *first ? i : -1;
    }
    return -1;
}

static bool order_applies(const leat__doctor *d) {
    int first;
    return late_resize(d->spec, &first) > 0 && bound_by(d, CAUSE(TRANSFORM) | CAUSE(DECODE));
}

static int order_change(const leat__doctor *d, leat__change *change, leat_error *err) {
    int first;
    const int at = late_resize(d->spec, &first);
    if (at - first == 1) set_title(change, "resize first, then the operation in front of it");
    else set_title(change, "resize first, then the %d operations in front of it", at - first);
    snprintf(change->cost, sizeof change->cost, "amounts in pixels (blur, crop) mean the small picture then");
    leat__edit_move(&change->edit, at, first);
    return say_text(change, err);
}

/* -------------------------------------------------------------------------------------------- advice */

static bool function_applies(const leat__doctor *d) {
    return bound_by(d, CAUSE(CALL));
}

static int function_change(const leat__doctor *d, leat__change *change, leat_error *err) {
    (void)d, (void)err;
    set_title(change, "operations of leat in place of the function");
    snprintf(change->cost, sizeof change->cost, "the function must be one that leat's operations can say");
    snprintf(change->how, sizeof change->how,
             "the time of all other stages, from the counters: at most this");
    leat__change_say(change, "Python: leat.tf traces map functions; `leat ops` lists the operations");
    return 0;
}

/* The workers do the rest in the time that the rest took. */
static double function_predict(const leat__doctor *d, leat__change *change) {
    (void)change;
    double share;
    leat__doctor_top(d, &share);
    return d->now.rate / LEAT_MAX(1 - share, 0.01);
}

static bool quota_applies(const leat__doctor *d) {
    return bound_by(d, CAUSE(QUOTA));
}

static int quota_change(const leat__doctor *d, leat__change *change, leat_error *err) {
    (void)err;
    set_title(change, "a larger processor quota than %.2g cores", d->quota_cores);
    snprintf(change->cost, sizeof change->cost, "cores that others have now");
    snprintf(change->how, sizeof change->how, "the time that the kernel stopped the threads");
    leat__change_say(change, "cpu.max of the cgroup (docker --cpus, resources.limits.cpu)");
    return 0;
}

static double quota_predict(const leat__doctor *d, leat__change *change) {
    (void)change;
    return d->now.rate / (1 - LEAT_MIN(d->throttled, 0.99));
}

static bool lift_applies(const leat__doctor *d) {
    return !d->report->input_binds;
}

static int lift_change(const leat__doctor *d, leat__change *change, leat_error *err) {
    (void)d, (void)err;
    set_title(change, "augmentation layers out of the model, into the input");
    snprintf(change->cost, sizeof change->cost, "helps if the model begins with Random* layers");
    leat__change_say(change,
                     "Python: leat.keras.lift(model, ds); leat.keras.Doctor() tells what the step does");
    return 0;
}

static double no_number(const leat__doctor *d, leat__change *change) {
    (void)d, (void)change;
    return 0;
}

/* --------------------------------------------------------------------------------------------- table */

static const leat__remedy_row rows[] = {
    {.name = "threads", .kind = LEAT_REMEDY_OPTION, .applies = threads_apply, .change = threads_change},
    {.name = "prefetch",
     .kind = LEAT_REMEDY_OPTION,
     .applies = slots_apply,
     .change = slots_change,
     .cost = slots_cost},
    {.name = "budget",
     .kind = LEAT_REMEDY_OPTION,
     .applies = budget_applies,
     .change = budget_change,
     .cost = budget_cost},
    {.name = "readers", .kind = LEAT_REMEDY_TEXT, .applies = reader_applies, .change = reader_change},
    {.name = "pack",
     .kind = LEAT_REMEDY_COMMAND,
     .writes = true,
     .applies = leat__pack_applies,
     .change = leat__pack_change,
     .cost = leat__pack_cost},
    {.name = "pack-size",
     .kind = LEAT_REMEDY_COMMAND,
     .writes = true,
     .applies = leat__pack_size_applies,
     .change = leat__pack_size_change,
     .cost = leat__pack_size_cost},
    {.name = "pack-raw",
     .kind = LEAT_REMEDY_COMMAND,
     .writes = true,
     .applies = leat__pack_raw_applies,
     .change = leat__pack_raw_change,
     .cost = leat__pack_size_cost},
    {.name = "plain",
     .kind = LEAT_REMEDY_COMMAND,
     .writes = true,
     .applies = leat__plain_applies,
     .change = leat__plain_change,
     .cost = leat__pack_cost},
    {.name = "cache",
     .kind = LEAT_REMEDY_TEXT,
     .writes = true,
     .applies = cache_applies,
     .change = cache_change,
     .cost = cache_cost},
    {.name = "u8",
     .kind = LEAT_REMEDY_TEXT,
     .applies = bytes_apply,
     .change = bytes_change,
     .accepts = is_bytes},
    {.name = "batch", .kind = LEAT_REMEDY_TEXT, .applies = batch_applies, .change = batch_change},
    {.name = "block",
     .kind = LEAT_REMEDY_TEXT,
     .applies = block_applies,
     .change = block_change,
     .predict = block_predict},
    {.name = "scale", .kind = LEAT_REMEDY_TEXT, .applies = leat__scale_applies, .change = leat__scale_change},
    {.name = "order", .kind = LEAT_REMEDY_TEXT, .applies = order_applies, .change = order_change},
    {.name = "function",
     .kind = LEAT_REMEDY_ADVICE,
     .applies = function_applies,
     .change = function_change,
     .predict = function_predict},
    {.name = "quota",
     .kind = LEAT_REMEDY_ADVICE,
     .applies = quota_applies,
     .change = quota_change,
     .predict = quota_predict},
    {.name = "frugal",
     .kind = LEAT_REMEDY_ADVICE,
     .applies = frugal_applies,
     .change = frugal_change,
     .predict = no_number},
    {.name = "lift",
     .kind = LEAT_REMEDY_ADVICE,
     .applies = lift_applies,
     .change = lift_change,
     .predict = no_number},
};

const leat__remedy_row *leat__remedy_at(int i) {
    return (size_t)i < LEAT_COUNT(rows) ? &rows[i] : NULL;
}

void leat__change_free(leat__change *change) {
    leat__edit_free(&change->edit);
    leat__buf_free(&change->command);
}
