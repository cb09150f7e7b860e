/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/combine/combination.h"

#include <stdio.h>

#include "base/hash.h"

/* --------------------------------------------------------------------------------------------- fields */

static void print_field(char *out, size_t cap, const leat_field *field) {
    size_t n = (size_t)snprintf(out, cap, "%s", leat_dtype_name(field->dtype));
    if (field->dtype == LEAT_DTYPE_BYTES) return;
    if (field->ragged) {
        n += (size_t)snprintf(out + n, cap - n, " of any length");
        for (int i = 1; i < field->ndim && n < cap; i++)
            n += (size_t)snprintf(out + n, cap - n, " x %" PRId64, field->shape[i]);
        return;
    }
    for (int i = 0; i < field->ndim && n < cap; i++)
        n += (size_t)snprintf(out + n, cap - n, "%s%" PRId64, i ? ", " : " (", field->shape[i]);
    if (field->ndim && n < cap) snprintf(out + n, cap - n, ")");
}

static int add_slot(leat__combination *c, int k, int value, leat_error *err) {
    if (c->n_slots == LEAT_VALUES_MAX)
        return leat__plan_fail(c->use, err, LEAT_ERR_LIMIT, "more than %d fields", LEAT_VALUES_MAX);
    c->slot[k][value] = c->n_slots++;
    return 0;
}

static int add_field(leat__combination *c, int k, int value, const char *name, leat_error *err) {
    for (int i = 0; i < c->n_fields; i++)
        if (strcmp(c->field[i].info.name, name) == 0)
            return leat__plan_fail(
                c->use, err, LEAT_ERR_SYNTAX,
                "two data sets have a field %s: name them, as in image='...' mask=@NAME, or choose "
                "fields with select",
                name);
    LEAT_TRY(add_slot(c, k, value, err));
    leat__plan_field *field = &c->field[c->n_fields++];
    *field = c->subtext[k].planner.field[value];
    field->pass = -1;
    snprintf(field->info.name, sizeof field->info.name, "%s", name);
    return 0;
}

/* The value of a text that has this name, or -1. */
static int named(const leat__subtext *subtext, const char *name) {
    for (int i = 0; i < subtext->n_fields; i++)
        if (strcmp(subtext->planner.field[subtext->value[i]].info.name, name) == 0) return subtext->value[i];
    return -1;
}

static int fail_field(const leat__combination *c, int k, const char *name, leat_error *err, const char *is,
                      const char *other) {
    return leat__plan_fail(
        c->use, err, LEAT_ERR_TYPE,
        "field %s is %s in '%.100s' and %s in '%.100s': fields must agree (select, cast, decode and "
        "reshape inside of a part can make them)",
        name, is, c->subtext[0].text, other, c->subtext[k].text);
}

/* Makes the field of another text one with that of the first. */
static int join_field(leat__combination *c, int k, int i, leat_error *err) {
    leat__plan_field *field = &c->field[i];
    const int value = named(&c->subtext[k], field->info.name);
    char is[200], other[200];
    print_field(is, sizeof is, &field->info);
    if (value < 0) return fail_field(c, k, field->info.name, err, is, "not there");
    const leat__plan_field *its = &c->subtext[k].planner.field[value];
    print_field(other, sizeof other, &its->info);
    bool same = field->info.dtype == its->info.dtype && field->info.ragged == its->info.ragged &&
                field->info.ndim == its->info.ndim;
    for (int a = 0; same && a < field->info.ndim; a++) {
        const int64_t x = field->info.shape[a], y = its->info.shape[a];
        same = x == y || x < 0 || y < 0; /* what only the data knows, a batch compares */
        field->info.shape[a] = x < 0 || y < 0 ? -1 : x;
    }
    if (!same) return fail_field(c, k, field->info.name, err, is, other);
    field->count_max = field->count_max && its->count_max ? LEAT_MAX(field->count_max, its->count_max) : 0;
    c->slot[k][value] = i;
    return 0;
}

static int join_fields(leat__combination *c, leat_error *err) {
    const leat__subtext *first = &c->subtext[0];
    for (int i = 0; i < first->n_fields; i++)
        LEAT_TRY(add_field(c, 0, first->value[i], first->planner.field[first->value[i]].info.name, err));
    for (int k = 1; k < c->n; k++) {
        const leat__subtext *subtext = &c->subtext[k];
        for (int i = 0; i < c->n_fields; i++) LEAT_TRY(join_field(c, k, i, err));
        for (int i = 0; i < subtext->n_fields; i++) {
            const leat_field *info = &subtext->planner.field[subtext->value[i]].info;
            char is[200];
            print_field(is, sizeof is, info);
            if (named(first, info->name) < 0) return fail_field(c, k, info->name, err, "not there", is);
        }
    }
    return 0;
}

/* zip: a text with a key gives its picture under that name: the field of that name, or image, or its first. What else it
 * has keeps its name if it is the first text, and is named KEY_name if the text has a select; else it is left out. */
static int pair_fields(leat__combination *c, leat_error *err) {
    for (int k = 0; k < c->n; k++) {
        const leat__subtext *subtext = &c->subtext[k];
        const char *key = subtext->key;
        int main = named(subtext, key);
        if (main < 0) main = named(subtext, "image");
        if (main < 0) main = subtext->value[0];
        for (int i = 0; i < subtext->n_fields; i++) {
            const int value = subtext->value[i];
            char name[160];
            snprintf(name, sizeof name, "%s", subtext->planner.field[value].info.name);
            if (*key && value == main) snprintf(name, sizeof name, "%s", key);
            else if (*key && k > 0) {
                if (!subtext->selected) continue;
                snprintf(name, sizeof name, "%s_%s", key, subtext->planner.field[value].info.name);
            }
            if (strlen(name) >= sizeof c->field[0].info.name)
                return leat__plan_fail(c->use, err, LEAT_ERR_LIMIT, "the name %.70s is longer than 63 bytes",
                                       name);
            LEAT_TRY(add_field(c, k, value, name, err));
        }
    }
    return 0;
}

/* How many classes the labels of a text can have, 0 = not known. */
static int64_t bound(const leat__subtext *subtext, int value) {
    const int64_t renumbered = subtext->planner.field[value].classes;
    return renumbered                               ? renumbered
           : value < subtext->plan.source->n_fields ? (int64_t)subtext->plan.source->n_classes
                                                    : 0;
}

/* The number of classes of texts that have no class names in common. */
static void count_classes(leat__combination *c) {
    bool any = false;
    c->classes = c->zip;
    for (int i = 0; i < c->n_fields && !c->zip; i++) {
        int64_t most = 0;
        bool all = true, renumbered = false;
        for (int k = 0; k < c->n; k++) {
            const int value = named(&c->subtext[k], c->field[i].info.name);
            const int64_t n = bound(&c->subtext[k], value);
            all = all && n > 0;
            most = LEAT_MAX(most, n);
            renumbered |= c->subtext[k].planner.field[value].classes != 0;
        }
        c->field[i].classes = all && renumbered ? most : 0;
        any |= renumbered;
        c->classes |= all && c->field[i].info.dtype != LEAT_DTYPE_BYTES;
    }
    if (any) c->classes = false;
}

/* Slots for values that only the steps of a text use. A sample has those of one text, or of all texts if zipped. */
static int add_hidden(leat__combination *c, leat_error *err) {
    int most = c->n_slots;
    for (int k = 0; k < c->n; k++) {
        if (!c->zip) c->n_slots = c->n_fields;
        for (int v = 0; v < c->subtext[k].planner.n_fields; v++)
            if (c->slot[k][v] < 0) LEAT_TRY(add_slot(c, k, v, err));
        most = LEAT_MAX(most, c->n_slots);
    }
    c->n_slots = most;
    return 0;
}

/* The planner knows the whole from here on. */
static void take_fields(leat__combination *c) {
    leat__planner *planner = c->planner;
    for (int i = 0; i < c->n_slots; i++) {
        if (i < c->n_fields) planner->field[i] = c->field[i];
        else planner->field[i] = (leat__plan_field){.info.dtype = LEAT_DTYPE_BYTES, .pass = -1};
        planner->live[i] = i < c->n_fields;
    }
    planner->n_fields = planner->plan->n_values = c->n_slots;
}

/* ---------------------------------------------------------------------------------------- a leat__combination */

int leat__combination_begin(leat__combination *c, leat__planner *planner, const leat__use *use, bool zip,
                            leat_error *err) {
    *c = (leat__combination){.planner = planner, .use = use, .zip = zip};
    LEAT_TRY(leat__plan_source_begin(planner, use, err));
    LEAT_TRY(leat__subtext_plan(planner, use, zip, &c->subtext, &c->n, err));
    const size_t n = (size_t)c->n;
    c->part = leat__alloc(LEAT_MEM_PLAN, n * sizeof *c->part);
    c->slot = leat__alloc(LEAT_MEM_PLAN, n * sizeof *c->slot);
    c->order = leat__alloc(LEAT_MEM_PLAN, n * sizeof *c->order);
    c->first = leat__alloc(LEAT_MEM_PLAN, n * sizeof *c->first);
    c->length = leat__alloc(LEAT_MEM_PLAN, n * sizeof *c->length);
    if (!c->part || !c->slot || !c->order || !c->first || !c->length)
        return leat__fail_memory(err, n * sizeof *c->slot, "texts");
    uint64_t sum = 0;
    for (int k = 0; k < c->n; k++) {
        for (int v = 0; v < LEAT_VALUES_MAX; v++) c->slot[k][v] = -1;
        c->order[k] = &c->subtext[k].plan.order;
        c->length[k] = leat__order_length(c->order[k]);
        c->streams |= c->subtext[k].plan.stream != NULL;
    }
    for (int k = 0; k < c->n && !c->streams; k++) {
        c->first[k] = sum;
        if (__builtin_add_overflow(sum, c->subtext[k].plan.source->n_samples, &sum) || sum > UINT64_MAX / 4)
            return leat__plan_fail(use, err, LEAT_ERR_LIMIT, "there are too many samples to number them");
    }
    LEAT_TRY(zip ? pair_fields(c, err) : join_fields(c, err));
    count_classes(c);
    return add_hidden(c, err);
}

/* A stream's text is kept as a plan of its own: its order, its filters, and the steps that these need. */
static void keep_text(leat__combination *c, int k) {
    leat__plan *plan = c->planner->plan, *part = &plan->stream->part[plan->stream->n_parts++];
    *part = c->subtext[k].plan;
    c->subtext[k].plan = (leat__plan){0};
    part->serial = plan->serial;
    c->part[k].source = part->source;
}

/* Their steps become the plan's, and their sources parts of one. */
static int take_texts(leat__combination *c, leat_error *err) {
    int leaf = 0;
    for (int k = 0; k < c->n; k++) {
        leat__part *part = &c->part[k];
        leat__subtext *subtext = &c->subtext[k];
        const int n_leaves = leat__source_leaves(subtext->plan.source);
        int rc = 0;
        memcpy(part->slot, c->slot[k], sizeof part->slot);
        if (leaf + n_leaves <= LEAT_PARTS_MAX) { /* more are refused when they are opened */
            const uint64_t own = (UINT64_MAX >> (64 - n_leaves)) << leaf;
            rc = leat__subtext_move_steps(c->planner, c->use, subtext, c->slot[k], c->zip ? 0 : own, leaf,
                                          err);
        }
        if (c->streams) {
            keep_text(c, k);
        } else {
            part->source = subtext->plan.source;
            subtext->plan.source = NULL; /* the whole's, whatever happens */
        }
        for (int i = 0; i <= k && rc < 0 && !c->streams; i++) leat__source_free(&c->part[i].source);
        LEAT_TRY(rc);
        leaf += n_leaves;
    }
    return 0;
}

int leat__combination_finish(leat__combination *c, uint64_t n, leat_error *err) {
    leat__planner *planner = c->planner;
    leat__plan *plan = planner->plan;
    leat_field field[LEAT_VALUES_MAX];
    take_fields(c);
    for (int i = 0; i < c->n_slots; i++) field[i] = planner->field[i].info;
    planner->source_text = leat__subtext_text(planner, c->use, c->subtext, c->n, err);
    if (!planner->source_text) return LEAT_ERR_MEMORY;
    plan->contents = leat__hash(planner->source_text, strlen(planner->source_text), plan->contents);
    LEAT_TRY(take_texts(c, err));
    const leat__combining options = {.name = c->use->op->name,
                                     .zip = c->zip,
                                     .n = n,
                                     .n_parts = c->n,
                                     .part = c->part,
                                     .n_fields = c->n_slots,
                                     .field = field,
                                     .classes = c->classes,
                                     .drawn = c->streams && !leat__stream_plan_fixed(plan)};
    const int rc = leat__combine_open(&plan->source, &options, err);
    for (int k = 0; k < c->n; k++) c->part[k].source = NULL, c->part[k].pick = NULL;
    LEAT_TRY(rc);
    leat__order_set_source(&plan->order, plan->source->n_samples);
    return 0;
}

int leat__combination_order(leat__combination *c, leat__branch_kind kind, leat__blend *blend,
                            leat_error *err) {
    leat__order_verb verb = {.kind = LEAT_ORDER_BRANCH};
    LEAT_TRY(leat__branch_new(&verb.branch, kind, c->n, c->order, c->first, blend, err));
    verb.count = verb.branch->length;
    return leat__order_insert(&c->planner->plan->order, 0, verb, err);
}

/* A state says of each of them where it goes on. */
static int check_state(const leat__combination *c, leat_error *err) {
    int n_nodes = 1, n_cycles = 0;
    for (int k = 0; k < c->n; k++) {
        n_nodes += leat__stream_plan_nodes(&c->subtext[k].plan);
        n_cycles += leat__stream_plan_cycles(&c->subtext[k].plan);
    }
    if (n_nodes > LEAT_STREAMS_MAX)
        return leat__plan_fail(c->use, err, LEAT_ERR_LIMIT,
                               "more than %d data sets with streams such as compressed files among them: "
                               "unpack these, or combine fewer",
                               LEAT_STREAMS_MAX - 1);
    if (n_cycles > LEAT_CYCLE_MAX)
        return leat__plan_fail(c->use, err, LEAT_ERR_LIMIT,
                               "more than %d shards of streams take turns: write smaller cycles",
                               LEAT_CYCLE_MAX);
    return 0;
}

int leat__combination_stream(leat__combination *c, leat__branch_kind kind, leat__blend *blend, bool equal,
                             leat_error *err) {
    leat__plan *plan = c->planner->plan;
    const int rc = leat__stream_plan_new(&plan->stream, err);
    if (rc < 0) {
        leat__blend_free(&blend);
        return rc;
    }
    leat__stream_plan *stream = plan->stream;
    stream->kind = kind;
    stream->blend = blend;
    stream->equal = equal;
    LEAT_TRY(check_state(c, err));
    stream->part = leat__alloc(LEAT_MEM_PLAN, (size_t)c->n * sizeof *stream->part);
    if (!stream->part) return leat__fail_memory(err, (size_t)c->n * sizeof *stream->part, "texts");
    stream->n_pieces = 0;
    for (int k = 0; k < c->n; k++) {
        const leat__stream_plan *part = c->subtext[k].plan.stream;
        const int n = part ? part->n_pieces : 1;
        stream->n_pieces = kind == LEAT_BRANCH_ZIP ? stream->n_pieces + n : LEAT_MAX(stream->n_pieces, n);
    }
    return leat__combination_finish(c, 0, err);
}

void leat__combination_end(leat__combination *c) {
    for (int k = 0; c->part && k < c->n; k++) leat__free(c->part[k].pick);
    leat__subtext_free(&c->subtext, c->n);
    leat__free(c->part);
    leat__free(c->slot);
    leat__free(c->order);
    leat__free(c->first);
    leat__free(c->length);
}
