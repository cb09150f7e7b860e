/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a plan: runs the plan function of every operation, asks the data for sizes that the text does not tell, lays
 * out the batch, and sizes memory within the budget. */
#include "plan/planner.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/hash.h"
#include "plan/limit.h"
#include "plan/rank.h"
#include "sample/padding.h"
#include "sample/run.h"

int leat__plan_fail(const leat__use *use, leat_error *err, int code, const char *fmt, ...) {
    char what[850], shown[850];
    va_list args;
    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    leat__fail(err, code, "column %d: %s: %s", use->column, use->op->name,
               leat__printable(shown, sizeof shown, what, strlen(what)));
    if (err) err->column = use->column;
    return code;
}

int leat__plan_live(const leat__planner *planner, const char *name) {
    for (int i = 0; i < planner->n_fields; i++)
        if (planner->live[i] && strcmp(planner->field[i].info.name, name) == 0) return i;
    return -1;
}

const char *leat__plan_live_name(const void *user, size_t i) {
    const leat__planner *planner = user;
    for (int k = 0; k < planner->n_fields; k++)
        if (planner->live[k] && i-- == 0) return planner->field[k].info.name;
    return NULL;
}

int leat__plan_field_find(leat__planner *planner, const leat__use *use, const char *arg, int *out,
                          leat_error *err) {
    const char *name = leat__use_arg(use, arg)->text;
    *out = leat__plan_live(planner, name);
    if (*out >= 0) {
        if (planner->field[*out].device) LEAT_TRY(leat__device_check(planner, use, *out, err));
        return leat__coords_settle(planner, use, *out, err);
    }
    char all[300] = "";
    const char *known;
    for (size_t i = 0; (known = leat__plan_live_name(planner, i)) != NULL; i++) {
        const size_t n = strlen(all);
        snprintf(all + n, sizeof all - n, "%s%s", i ? ", " : "", known);
    }
    const char *near = leat__nearest(name, leat__plan_live_name, planner);
    if (strcmp(name, "image") == 0 && planner->n_fields == 1 &&
        strcmp(planner->field[0].info.name, "record") == 0)
        return leat__plan_fail(use, err, LEAT_ERR_NOT_FOUND,
                               "there is no field 'image' yet: write parse image:bytes label:int64 before");
    if (near)
        return leat__plan_fail(use, err, LEAT_ERR_NOT_FOUND,
                               "there is no field '%s' here; did you mean '%s'?", name, near);
    return leat__plan_fail(use, err, LEAT_ERR_NOT_FOUND, "there is no field '%s' here: there are %s", name,
                           all);
}

int leat__plan_field_add(leat__planner *planner, const leat__use *use, const char *name, int *out,
                         leat_error *err) {
    if (!*name || strlen(name) >= sizeof planner->field[0].info.name)
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "the name of a field has 1 to 63 bytes");
    if (planner->n_fields == LEAT_VALUES_MAX)
        return leat__plan_fail(use, err, LEAT_ERR_LIMIT, "more than %d fields", LEAT_VALUES_MAX);
    *out = planner->n_fields++;
    planner->field[*out] = (leat__plan_field){.pass = -1};
    snprintf(planner->field[*out].info.name, sizeof planner->field[*out].info.name, "%s", name);
    planner->live[*out] = true;
    planner->plan->n_values = planner->n_fields;
    return 0;
}

leat__step *leat__plan_step_add(leat__planner *planner, const leat__use *use, leat__step_kind kind, int stage,
                                int value, leat_error *err) {
    leat__plan *plan = planner->plan;
    if (plan->n_steps == LEAT_STEPS_MAX) {
        leat__plan_fail(use, err, LEAT_ERR_LIMIT, "more than %d steps", LEAT_STEPS_MAX);
        return NULL;
    }
    leat__step *step = &plan->step[plan->n_steps++];
    *step = (leat__step){.kind = kind,
                         .stage = stage,
                         .value = value,
                         .output = -1,
                         .column = use->column,
                         .choice = planner->choice,
                         .branch = planner->branch};
    return step;
}

void leat__plan_close_pass(leat__planner *planner, int field) {
    planner->field[field].pass = -1;
}

/* ------------------------------------------------------------------------------------------ outputs */

static int choose_outputs(leat__planner *planner, leat_error *err) {
    leat__plan *plan = planner->plan;
    /* What select named comes first, in its order; then what has come since, in order of appearance. */
    int n = 0;
    bool taken[LEAT_VALUES_MAX] = {false};
    for (int i = 0; i < plan->n_outputs; i++)
        if (planner->live[plan->output[i].value]) {
            plan->output[n++].value = plan->output[i].value;
            taken[plan->output[n - 1].value] = true;
        }
    for (int i = 0; i < planner->n_fields; i++)
        if (planner->live[i] && !taken[i]) plan->output[n++].value = i;
    plan->n_outputs = n;
    for (int i = 0; i < n; i++) {
        leat__output *out = &plan->output[i];
        if (planner->field[out->value].nchw) LEAT_TRY(leat__picture_store_nchw(planner, out->value, err));
        out->field = planner->field[out->value].info;
        out->valid = out->stored = planner->field[out->value].valid;
        /* The last step writes into the batch if it makes new memory anyway. */
        for (int k = plan->n_steps - 1; k >= 0; k--) {
            leat__step *step = &plan->step[k];
            if (step->value != out->value || step->kind == LEAT_STEP_CHOOSE) continue;
            if (step->parts || step->choice) break;                    /* other samples come without it */
            if (plan->caching.wanted && k < plan->caching.step) break; /* it goes into the cache first */
            out->stored = step->kind == LEAT_STEP_PASS || step->kind == LEAT_STEP_CONVERT ||
                          step->kind == LEAT_STEP_PICTURE || step->kind == LEAT_STEP_ONE_HOT ||
                          step->kind == LEAT_STEP_ENUMERATE || step->kind == LEAT_STEP_RELABEL ||
                          step->kind == LEAT_STEP_DRAW || step->kind == LEAT_STEP_PATH ||
                          step->kind == LEAT_STEP_STACK || step->kind == LEAT_STEP_EVAL;
            if (out->stored) step->output = i;
            break;
        }
    }
    return 0;
}

bool leat__shape_known(const leat_field *field) {
    for (int i = 0; i < field->ndim; i++)
        if (field->shape[i] < 0) return false;
    return true;
}

static int largest_bucket(const leat__plan *plan, const leat__output *out) {
    int largest = 0;
    for (int b = 1; out->by_bucket && b < plan->bucket_sizes.n; b++)
        if ((int64_t)out->bucket[b].height * out->bucket[b].width >
            (int64_t)out->bucket[largest].height * out->bucket[largest].width)
            largest = b;
    return largest;
}

static int lay_out_slot(leat__planner *planner, leat_error *err) {
    leat__plan *plan = planner->plan;
    size_t total = 0;
    for (int i = 0; i < plan->n_outputs; i++) {
        leat__output *out = &plan->output[i];
        out->item = leat_dtype_size(out->field.dtype);
        size_t count = 1, bytes;
        if (out->unsized) {
            count = out->stride / out->item; /* leat__unsized_fit has found it */
        } else if (out->field.ragged) {
            const size_t inner = leat__ragged_inner(&out->field);
            out->item *= inner;
            count = planner->field[out->value].count_max / LEAT_MAX(inner, (size_t)1);
            if (count == 0)
                return leat__fail(
                    err, LEAT_ERR_SHAPE,
                    "field %s: how many bytes it can have is not known before it is read: decode "
                    "it, leave it out with select, or give the source max_bytes=N",
                    out->field.name);
        } else {
            const int largest = largest_bucket(plan, out);
            for (int k = 0; k < out->field.ndim; k++)
                if (!leat__mul_size(
                        count, (size_t)(out->padded ? out->most[k] : leat__output_length(out, largest, k)),
                        &count))
                    return leat__fail(err, LEAT_ERR_SHAPE, "field %s has too many values", out->field.name);
        }
        if (!leat__mul_size(count, out->item, &out->stride) ||
            !leat__mul_size(out->stride, (size_t)plan->batch, &bytes) || bytes > SIZE_MAX / 2 ||
            !leat__add_size(total, LEAT_ALIGN_UP(bytes, (size_t)4096) + 4096, &total))
            return leat__fail(err, LEAT_ERR_SHAPE, "a batch of field %s has too many bytes", out->field.name);
        out->offset = total - LEAT_ALIGN_UP(bytes, (size_t)4096) - 4096;
        if (!out->unsized) out->usual = out->stride;
        for (int b = 0; out->by_bucket && b < plan->bucket_sizes.n; b++) { /* none is more than the largest */
            out->bucket[b].stride = out->item;
            for (int k = 0; k < out->field.ndim; k++)
                out->bucket[b].stride *= (size_t)leat__output_length(out, b, k);
        }
    }
    plan->slot_bytes = total;
    return 0;
}

/* ------------------------------------------------------------------------------------------- memory */

/* Positions in JPEG files are useful only if a pass decodes regions. */
static bool wants_positions(const leat__plan *plan) {
    bool wanted = false;
    for (int i = 0; i < plan->n_steps; i++) {
        const leat__step *step = &plan->step[i];
        if (step->kind == LEAT_STEP_PASS) wanted |= leat__pass_uses_positions(step->as.pass);
    }
    return wanted && plan->positions;
}

/* Slots get what no other share of this plan needs. */
static void share_budget(leat__planner *planner) {
    leat__plan *plan = planner->plan;
    leat__budget *b = &plan->budget;
    if (plan->source->n_readers && plan->read_ahead < 0)
        plan->read_ahead = LEAT_MIN(plan->source->n_readers, LEAT_READING_MAX);
    if (plan->fixed && plan->read_ahead < 0) plan->read_ahead = plan->source->waits ? LEAT_READING_FIRST : 0;
    const bool reads_ahead = !plan->stream && plan->read_ahead != 0 && !plan->source->no_read_ahead;
    b->scratch = b->whole / 4;
    b->window = plan->stream ? b->whole / 4 : 0;
    b->positions =
        wants_positions(plan) ? LEAT_MIN(b->whole / LEAT_JPEG_STORE_PART, LEAT_JPEG_STORE_BYTES_MAX) : 0;
    b->read_ahead = reads_ahead ? LEAT_MIN(b->whole / 16, LEAT_READ_AHEAD_BYTES_MAX) : 0;
    b->reading = reads_ahead && plan->source->waits ? b->whole / 16 : 0;
    b->slots = b->whole - b->scratch - b->window - b->positions - b->read_ahead - b->reading;
    b->picture = LEAT_CLAMP(b->scratch / (size_t)LEAT_MAX(planner->open.n_threads, 1), (size_t)1 << 20,
                            LEAT_LARGE_PICTURE);
}

int leat__plan_slots_asked(const leat__planner *planner) {
    const int prefetch = planner->plan->prefetch;
    return planner->config->n_slots ? planner->config->n_slots : prefetch ? prefetch + 2 : planner->slots;
}

enum {
    SLOTS_ENOUGH = 8,
    SLOTS_MOST = 16
}; /* when nothing is asked for; the tuner adds some if the consumer meets bursts */

static int fit_memory(leat__planner *planner, leat_error *err) {
    leat__plan *plan = planner->plan;
    const size_t slot = LEAT_MAX(plan->slot_bytes, (size_t)1);
    const size_t fit = plan->budget.slots / slot;
    const int asked = leat__plan_slots_asked(planner);
    /* Files that are read, and other processes, use the last-level cache too: count on half of it. */
    const size_t cache = leat__cpu_cache_bytes() / 2;
    if (plan->n_slots) {
        /* leat__unsized_fit has divided the budget */
    } else if (asked) {
        plan->n_slots = plan->n_slots_begin = LEAT_MAX(asked, 2);
    } else {
        /* Small batches: more of them, so that handing over stays cheap beside the work, but no more than stay in the cache
         * if those are enough. */
        const size_t cached = cache / slot,
                     most = cached >= SLOTS_ENOUGH ? LEAT_MIN(cached, SLOTS_MOST) : SLOTS_MOST;
        plan->n_slots_begin = (int)LEAT_CLAMP(((size_t)64 << 20) / slot, (size_t)3, most);
        plan->n_slots = plan->fixed ? plan->n_slots_begin : plan->n_slots_begin + 5;
        if ((size_t)plan->n_slots > fit) plan->n_slots = (int)fit;
        if (plan->n_slots_begin > plan->n_slots) plan->n_slots_begin = plan->n_slots;
    }
    if (plan->n_slots < 2 || (size_t)plan->n_slots > fit)
        return leat__fail(
            err, LEAT_ERR_MEMORY,
            "%d batches of %.1f MB do not fit into the budget of %.1f MB, of which batches have %.1f: "
            "use a smaller batch, fewer slots, or raise memory_max_bytes (--memory)",
            LEAT_MAX(asked, 2), (double)slot / 1e6, (double)plan->budget.whole / 1e6,
            (double)plan->budget.slots / 1e6);
    /* Batches that are mixed or padded are read again, so they are stored normally. */
    size_t touched = 0;
    for (int i = 0; i < plan->n_outputs; i++) touched += plan->output[i].usual * (size_t)plan->batch;
    plan->non_temporal =
        cache > 0 && (size_t)plan->n_slots_begin * touched > cache && !plan->group && !planner->padding;
    return 0;
}

/* What reading takes beyond moving the bytes. */
static double read_us(const leat__source *source) {
    double us = 0;
    for (int i = 0; i < source->n_parts; i++) us = LEAT_MAX(us, read_us(source->part[i]));
    us = LEAT_MAX(us, source->class->read_us);
    if (source->class->bytes_per_us > 0) us += (double)source->bytes_max / source->class->bytes_per_us;
    return us;
}

/* A task is at least 100 us of work, by a rough estimate that depends on the plan alone. */
static void size_task(leat__plan *plan) {
    double us = 0.3 + (double)plan->source->bytes_max / 8000 + read_us(plan->source);
    for (int i = 0; i < plan->n_outputs; i++) us += (double)plan->output[i].usual / 8000;
    for (int i = 0; i < plan->n_steps; i++) {
        if (plan->step[i].kind == LEAT_STEP_PASS && plan->step[i].as.pass->decode) us += 500;
        if (plan->step[i].kind == LEAT_STEP_MAP) us += 30; /* most such functions are Python's */
        plan->calls |= plan->step[i].kind == LEAT_STEP_MAP;
    }
    plan->grain = (int)LEAT_CLAMP(100 / us + 0.5, 1.0, (double)plan->batch);
    if (plan->group) plan->grain = LEAT_ALIGN_UP(plan->grain, plan->group);
}

/* --------------------------------------------------------------------------------------------- build */

/* The rank decides which part of each batch this process makes, and its share of the machine. */
static int find_rank(leat__planner *planner, leat_error *err) {
    leat__plan *plan = planner->plan;
    leat__rank found;
    bool automatic = false;
    for (int i = 0; i < planner->spec->n_uses; i++) automatic |= leat__use_asks_ranks(&planner->spec->use[i]);
    LEAT_TRY(leat__rank_find(&found, planner->config, automatic, err));
    plan->rank = found.rank;
    plan->world = found.world;
    plan->local = found.local;
    if (planner->open.n_threads <= 0) planner->open.n_threads = leat__cpu_share(found.local);
    plan->n_threads = planner->open.n_threads;
    return 0;
}

static int read_options(leat__planner *planner, leat_error *err) {
    leat__plan *plan = planner->plan;
    LEAT_TRY(find_rank(planner, err));
    const size_t given = planner->config->memory_max_bytes;
    /* Holds for what is probed too. */
    plan->budget.whole = given ? given : (size_t)(leat__memory_available() / 4 / (uint64_t)plan->local);
    plan->max_bad = planner->config->max_bad;
    plan->seed = planner->config->seed;
    plan->on_error = planner->config->on_error;
    plan->fuse = plan->positions = true;
    plan->read_ahead = -1;
    plan->fixed = planner->config->tune < 0;
    for (int i = 0; i < planner->spec->n_uses; i++) {
        const leat__use *use = &planner->spec->use[i];
        if (use->op->flags & LEAT_OP_SETTINGS) LEAT_TRY(use->op->plan(planner, use, err));
    }
    if (plan->on_error < 0 || plan->on_error > LEAT_ON_ERROR_REPLACE)
        return leat__fail(err, LEAT_ERR_ARGUMENT, "on_error must be raise, skip or replace");
    if (plan->max_bad < 0)
        return leat__fail(err, LEAT_ERR_ARGUMENT, "max_bad must be a number of samples, 0 for any number");
    return 0;
}

/* Behind the name of an operation that was just written: notes where the size of the batch stands. An operation behind batch
 * that counts batches, or divides them anew, makes another order if they have another size. */
static void note_size(leat__plan *plan, const leat__op *op, size_t at, bool *sized) {
    static const char key[] = " size=";
    const bool counts = *sized && op->kind == LEAT_OP_ORDER && !(op->flags & LEAT_OP_REPEATS);
    if (counts || (*sized && op->flags & (LEAT_OP_SIZED | LEAT_OP_DIVIDES))) plan->size_at = 0;
    else if (op->flags & LEAT_OP_SIZED) plan->size_at = at + strlen(op->name) + sizeof key - 1;
    *sized |= (op->flags & LEAT_OP_SIZED) != 0;
}

static uint64_t fingerprint_of(const leat__plan *plan, const leat__buf *text) {
    return leat__hash(&plan->seed, sizeof plan->seed, leat__hash(text->data, text->size, plan->contents));
}

int leat__plan_fingerprint(const leat__plan *plan, uint64_t batch, uint64_t *out, leat_error *err) {
    const char *text = (const char *)plan->text.data, *behind = text + plan->size_at;
    leat__buf other = {.kind = LEAT_MEM_PLAN};
    char size[24];
    const int n = snprintf(size, sizeof size, "%" PRIu64, batch);
    behind += strspn(behind, "0123456789");
    const bool fits = leat__buf_append(&other, text, plan->size_at) &&
                      leat__buf_append(&other, size, (size_t)n) &&
                      leat__buf_append(&other, behind, strlen(behind) + 1);
    if (fits) *out = fingerprint_of(plan, &other);
    leat__buf_free(&other);
    return fits ? 0 : leat__fail_memory(err, plan->text.size, "a state");
}

static int write_normal_text(leat__planner *planner, leat_error *err) {
    leat__plan *plan = planner->plan;
    plan->text.kind = LEAT_MEM_PLAN;
    plan->size_at = 0;
    bool fits = true, sized = false;
    for (int i = 0; i < planner->spec->n_uses && fits; i++) {
        const leat__use *use = &planner->spec->use[i];
        /* Operations that change no byte are no part of a pipeline's identity, nor is the path of its data. Nor is on_error:
         * a user whose run was stopped by a bad sample must be able to resume with on_error=skip. */
        if (use->op->flags & LEAT_OP_FREEZES && plan->caching.freeze)
            fits = leat__buf_append(&plan->text, " | cache freeze=true", 20);
        if (use->op->flags & LEAT_OP_NO_BYTES) continue;
        leat__batch_use whole;
        const char *source = planner->source_text ? planner->source_text : use->op->name;
        if (plan->text.size) fits = leat__buf_append(&plan->text, " | ", 3);
        note_size(plan, use->op, plan->text.size, &sized);
        fits = fits && (use->op->kind == LEAT_OP_SOURCE
                            ? leat__buf_append(&plan->text, source, strlen(source))
                            : leat__use_normal(leat__batch_of_world(plan, use, &whole), &plan->text));
    }
    static const char accuracy[] = " | options accuracy=fast"; /* the one option that changes pixels */
    if (planner->fast) fits = fits && leat__buf_append(&plan->text, accuracy, strlen(accuracy));
    if (!fits || !leat__buf_append(&plan->text, "", 1))
        return leat__fail_memory(err, plan->text.size, "a plan");
    plan->fingerprint = fingerprint_of(plan, &plan->text);
    return 0;
}

/* Whether a list of names, separated by commas, has this one more than once. */
static bool is_named_twice(const char *list, const char *name) {
    const size_t n = strlen(name);
    int found = 0;
    for (;;) {
        const size_t len = strcspn(list, ",");
        found += len == n && memcmp(list, name, n) == 0;
        if (!list[len]) return found > 1;
        list += len + 1;
    }
}

/* An operation on samples whose `field` is a list, image,mask, is planned for each of them. Its draws are the same for all:
 * they depend on its number. */
static int plan_each(leat__planner *planner, const leat__use *use, int arg, leat_error *err) {
    char *name = leat__plan_keep(planner, use->arg[arg].text, strlen(use->arg[arg].text) + 1, err);
    leat__use *each = leat__plan_keep(planner, use, sizeof *use, err);
    if (!name || !each) return LEAT_ERR_MEMORY;
    planner->several = true;
    int rc = 0;
    for (char *end; name && rc == 0; name = end ? end + 1 : NULL, planner->again = true) {
        end = strchr(name, ',');
        if (end) *end = 0;
        each->arg[arg].text = name;
        if (is_named_twice(use->arg[arg].text, name))
            rc = leat__plan_fail(use, err, LEAT_ERR_SYNTAX, "field %s is named twice", name);
        else rc = use->op->plan(planner, each, err);
    }
    planner->several = planner->again = false;
    return rc;
}

int leat__plan_use(leat__planner *planner, const leat__use *use, leat_error *err) {
    const leat__op *op = use->op;
    LEAT_TRY(leat__bucket_check(planner, use, err));
    const bool on_samples = op->kind == LEAT_OP_SAMPLE || op->kind == LEAT_OP_IMAGE;
    for (int i = 0; on_samples && i < LEAT_ARGS_MAX && op->arg[i].name; i++) {
        const char *text = use->arg[i].text;
        if (op->arg[i].kind == LEAT_ARG_FIELD && strcmp(op->arg[i].name, "field") == 0 && strchr(text, ',') &&
            leat__plan_live(planner, text) < 0)
            return plan_each(planner, use, i, err);
    }
    return op->plan(planner, use, err);
}

static int run_operations(leat__planner *planner, leat_error *err) {
    for (int i = 0; i < planner->spec->n_uses; i++) {
        const leat__use *use = &planner->spec->use[i];
        if (use->op->flags & LEAT_OP_SETTINGS) continue; /* read_options has planned it */
        if (!planner->source_known && use->op->kind != LEAT_OP_SOURCE)
            return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                                   "a pipeline begins with a source, such as folder, list, tfrecord or npy");
        if (planner->batched && (use->op->kind == LEAT_OP_SAMPLE || use->op->kind == LEAT_OP_IMAGE))
            return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                                   "works on single samples: write it before batch");
        LEAT_TRY(leat__plan_use(planner, use, err));
    }
    if (!planner->source_known)
        return leat__fail(err, LEAT_ERR_SYNTAX,
                          "the pipeline is empty: begin with a source, such as folder photos/train");
    return 0;
}

static int open_jpeg_store(leat__planner *planner, leat_error *err) {
    leat__plan *plan = planner->plan;
    if (!wants_positions(plan)) return 0;
    leat__open_options open = planner->open;
    open.refresh = false; /* positions fit the bytes that they were made from, whatever became of an index */
    const leat__jpeg_store_options options = {.bytes_max = plan->budget.positions,
                                              .n_files = plan->source->n_samples,
                                              .home = plan->source->home,
                                              .open = &open,
                                              .cache_bytes_max = planner->cache_bytes_max,
                                              .log = planner->config->log,
                                              .user = planner->config->user};
    return leat__jpeg_store_open(&plan->jpeg_store, &options, err);
}

static int build(leat__planner *planner, leat_error *err) {
    leat__plan *plan = planner->plan;
    LEAT_TRY(read_options(planner, err));
    LEAT_TRY(run_operations(planner, err));
    LEAT_TRY(leat__plan_check_scaled(planner, err));
    LEAT_TRY(leat__coords_settle(planner, &planner->spec->use[planner->spec->n_uses - 1], -1, err));
    LEAT_TRY(leat__device_settle(planner, err));
    LEAT_TRY(leat__pictures_leave(planner, err));
    leat__bucket_resolve(planner);
    LEAT_TRY(choose_outputs(planner, err));
    LEAT_TRY(leat__bucket_outputs(planner, err));
    LEAT_TRY(leat__padding_resolve(planner, err));
    if (plan->n_outputs == 0) return leat__fail(err, LEAT_ERR_SYNTAX, "no field is left for the batch");
    leat__unsized_choose(planner);
    bool known = true;
    for (int i = 0; i < plan->n_outputs; i++)
        known &= plan->output[i].field.ragged || plan->output[i].padded || plan->output[i].by_bucket ||
                 leat__shape_known(&plan->output[i].field);
    if (leat__order_length(&plan->order) == 0)
        return leat__fail(err, LEAT_ERR_NOT_FOUND,
                          "no sample is left: %s, and take, skip and shard leave none of them",
                          plan->source->title);
    if (!known) LEAT_TRY(leat__plan_probe(planner, err));
    share_budget(planner);
    LEAT_TRY(leat__unsized_fit(planner, err));
    LEAT_TRY(lay_out_slot(planner, err));
    LEAT_TRY(leat__group_resolve(planner, err));
    LEAT_TRY(leat__batch_check_shares(planner, err));
    LEAT_TRY(fit_memory(planner, err));
    LEAT_TRY(leat__plan_open_cache(planner, err));
    LEAT_TRY(open_jpeg_store(planner, err));
    size_task(plan);
    LEAT_TRY(write_normal_text(planner, err));
    return leat__order_allocate(&plan->order, err);
}

/* Without a home there is no cache directory: each attempt to keep something says so. */
static int open_cache_dir(leat__planner *planner, leat_error *err) {
    const char *cache_dir = planner->open.cache_dir;
    char path[PATH_MAX];
    if (planner->open.no_side_files) return 0;
    LEAT_TRY(leat__cache_limit(cache_dir, &planner->cache_bytes_max, err));
    if (leat__sets_path(cache_dir, path, sizeof path, NULL) < 0) return 0;
    LEAT_TRY(leat__sets_open(&planner->plan->sets, cache_dir, err));
    planner->open.sets = planner->plan->sets;
    return 0;
}

/* refresh: indexes are made anew. */
static int build_plan(leat__plan *plan, const leat_spec *spec, const leat_config *config, bool refresh,
                      leat_error *err) {
    *plan = (leat__plan){.batch = 1, .world = 1, .local = 1, .repeats = 1, .memory.kind = LEAT_MEM_PLAN};
    leat__planner planner = {
        .plan = plan,
        .spec = spec,
        .config = config,
        .open = {.n_threads = config->n_threads,
                 .now_ns = leat__wall_ns(),
                 .cache_dir = config->cache_dir,
                 .no_side_files = config->no_side_files != 0,
                 .refresh = refresh,
                 .trust = config->trust_cache != 0,
                 .progress = config->progress,
                 .user = config->user},
    };
    int rc = open_cache_dir(&planner, err);
    if (rc == 0) rc = build(&planner, err);
    if (rc == LEAT_ERR_STATE && !planner.open.refresh && !planner.open.no_side_files) {
        /* An index that was kept did not fit its file, which samples that are read while planning have shown. */
        leat__plan_free(plan);
        return build_plan(plan, spec, config, true, err);
    }
    if (rc < 0) leat__plan_free(plan);
    /* Indexes were added: other data sets may have to go. A directory that cannot be pruned is no reason to fail. */
    else if (plan->sets && leat__sets_added(plan->sets))
        leat__sets_prune(config->cache_dir, planner.cache_bytes_max, NULL, NULL);
    return rc;
}

int leat__plan_build(leat__plan *plan, const leat_spec *spec, const leat_config *config, leat_error *err) {
    return build_plan(plan, spec, config, false, err);
}

void leat__plan_free(leat__plan *plan) {
    for (int i = 0; i < plan->n_steps; i++)
        for (int k = 0; plan->step[i].kind == LEAT_STEP_PARSE && k < plan->step[i].as.parse.n; k++)
            leat__buf_free(&plan->step[i].as.parse.feature[k].fallback);
    leat__cache_close(&plan->cache);
    leat__jpeg_store_close(&plan->jpeg_store);
    leat__sets_close(&plan->sets);
    leat__source_free(&plan->source);
    if (plan->serial) leat__mutex_destroy(plan->serial);
    leat__free(plan->serial);
    leat__stream_plan_free(&plan->stream);
    leat__order_free(&plan->order);
    leat__buf_free(&plan->text);
    leat__arena_free(&plan->memory);
    *plan = (leat__plan){0};
}
