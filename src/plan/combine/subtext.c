/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/combine/subtext.h"

#include <stdio.h>

#include "base/hash.h"
#include "sample/evaluated.h"
#include "sample/labels.h"

enum { CHILDREN_BITS = 6, NUMBER_BITS = 8 }; /* of leat__planner.inside, and of the number of an operation */
static_assert(LEAT_TEXTS_MAX < 1 << CHILDREN_BITS, "every text has a number of its own");

/* ---------------------------------------------------------------------------------------- what may stand */

/* around: the operation that combines; zip: it makes one sample of several. */
static int check_use(const leat__subtext *subtext, const leat__use *use, const leat__use *around, bool zip,
                     leat_error *err) {
    const char *name = around->op->name;
    if (use->op->kind == LEAT_OP_IMAGE && use->op->random && zip && !leat__use_arg(use, "seed")->given)
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                               "what it draws must fit the other fields of the sample: write it behind %s, "
                               "for all fields that move together, or give it the seed= that they have",
                               name);
    if (use->op->kind == LEAT_OP_BATCH)
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                               "it holds for the whole pipeline: write it behind %s", name);
    if (leat__use_asks_ranks(use))
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                               "ranks have their part of every batch of the whole pipeline: write shard auto "
                               "behind %s",
                               name);
    if (use->op->flags & LEAT_OP_PROGRAM && !subtext->part)
        return leat__plan_fail(use, err, LEAT_ERR_UNSUPPORTED,
                               "a text has no samples of the program: give them to %s as a part, with "
                               "leat_spec_part, and write @NAME",
                               name);
    return 0;
}

/* What a part does to its samples before they are together: nothing that is about the whole. */
static int check_step(const leat__step *step, const leat__use *use, const leat__use *around,
                      leat_error *err) {
    switch (step->kind) {
    case LEAT_STEP_PARSE:
    case LEAT_STEP_RAW:
    case LEAT_STEP_RESHAPE:
    case LEAT_STEP_CONVERT:
    case LEAT_STEP_PASS:
    case LEAT_STEP_PICTURE:
    case LEAT_STEP_CHOOSE:
    case LEAT_STEP_ONE_HOT:
    case LEAT_STEP_RELABEL:
    case LEAT_STEP_COPY:
    case LEAT_STEP_MAP:
    case LEAT_STEP_EVAL: return 0;
    default:
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                               "it is done when samples are together: write it behind %s", around->op->name);
    }
}

/* What operations leave in the planner for those behind them is lost when fields get other numbers. */
static int check_fields(const leat__planner *planner, const leat__use *use, const leat__use *around,
                        leat_error *err) {
    bool plain = planner->plan->n_meetings == 0;
    for (int i = 0; i < planner->n_fields; i++) plain = plain && !planner->field[i].nchw;
    if (plain) return 0;
    return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                           "it is about several fields or the whole batch: write it behind %s",
                           around->op->name);
}

/* --------------------------------------------------------------------------------------------- planning */

/* "image=folder a" has the key image; no operation has a name with an equal sign. */
static void read_key(leat__subtext *subtext) {
    size_t n = 0;
    const char *text = subtext->text;
    while ((text[n] >= 'a' && text[n] <= 'z') || (text[n] >= 'A' && text[n] <= 'Z') || text[n] == '_' ||
           (n > 0 && text[n] >= '0' && text[n] <= '9'))
        n++;
    if (n == 0 || text[n] != '=' || n >= sizeof subtext->key) return;
    memcpy(subtext->key, text, n);
    subtext->text += n + 1;
}

static void list_fields(leat__subtext *subtext) {
    const leat__plan *plan = &subtext->plan;
    const leat__planner *planner = &subtext->planner;
    bool taken[LEAT_VALUES_MAX] = {false};
    subtext->selected = plan->n_outputs > 0;
    for (int i = 0; i < plan->n_outputs; i++) { /* what select named, in its order */
        const int v = plan->output[i].value;
        if (planner->live[v]) subtext->value[subtext->n_fields++] = v;
        taken[v] = true;
    }
    for (int v = 0; v < planner->n_fields; v++)
        if (planner->live[v] && !taken[v]) subtext->value[subtext->n_fields++] = v;
}

/* Draws of one text must not be those of the next, unless both name the same seed. Then what else the texts of a zip do does
 * not matter: a folder of masks may be shuffled before decode, and that of pictures behind it. */
static void number_uses(leat__subtext *subtext, bool zip) {
    uint32_t n_orders = 1; /* as a shuffle behind the source is counted */
    for (int i = 0; i < subtext->spec->n_uses; i++) {
        leat__use *use = &subtext->spec->use[i];
        if (!use->op->random) continue;
        const bool orders = use->op->kind == LEAT_OP_ORDER;
        n_orders += orders;
        if (!leat__use_arg(use, "seed")->given) {
            use->number += subtext->planner.inside << NUMBER_BITS;
            use->draws += subtext->planner.inside << NUMBER_BITS;
        } else if (orders && zip) {
            use->number = n_orders;
        }
    }
}

static int run_text(leat__subtext *subtext, const leat__use *around, bool zip, leat_error *err) {
    leat__planner *planner = &subtext->planner;
    leat__plan *plan = &subtext->plan;
    for (int i = 0; i < subtext->spec->n_uses; i++) {
        const leat__use *use = &subtext->spec->use[i];
        const int n_steps = plan->n_steps;
        LEAT_TRY(check_use(subtext, use, around, zip, err));
        if (i == 0 && use->op->kind != LEAT_OP_SOURCE)
            return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                                   "a text inside of %s begins with a source, such as folder or tfrecord",
                                   around->op->name);
        LEAT_TRY(leat__plan_use(planner, use, err));
        for (int k = n_steps; k < plan->n_steps; k++) LEAT_TRY(check_step(&plan->step[k], use, around, err));
        LEAT_TRY(check_fields(planner, use, around, err));
    }
    list_fields(subtext);
    return 0;
}

static const char *part_name(const void *user, size_t i) {
    const leat_spec *spec = user;
    return i < (size_t)spec->n_parts ? spec->part[i].name : NULL;
}

static int fail_part(const leat__subtext *subtext, const leat_spec *around, const leat__use *use,
                     leat_error *err) {
    const char *name = subtext->text + 1, *near = leat__nearest(name, part_name, around);
    if (strpbrk(name, " |"))
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                               "'%.100s': @NAME stands alone: operations on a part are in its own text",
                               subtext->text);
    if (near)
        return leat__plan_fail(use, err, LEAT_ERR_NOT_FOUND, "there is no part '%.100s'; did you mean '%s'?",
                               name, near);
    return leat__plan_fail(
        use, err, LEAT_ERR_NOT_FOUND,
        "the program has no part '%.100s': call leat_spec_part before the pipeline is opened", name);
}

/* The operations of a text, or of the part that it names. Either sees what the program gave: a text to the spec around it,
 * a part to the part. */
static int read_text(leat__subtext *subtext, const leat_spec *around, const leat__use *use, leat_error *err) {
    leat_spec *spec = subtext->spec = leat_spec_new(NULL);
    if (!spec) return leat__fail_memory(err, sizeof *spec, "a pipeline text");
    read_key(subtext);
    if (subtext->text[0] != '@') {
        leat__spec_borrow(spec, around);
        return leat__spec_read(spec, subtext->text, subtext->column, err);
    }
    const leat_spec *part = leat__spec_part_find(around, subtext->text + 1);
    if (!part) return fail_part(subtext, around, use, err);
    subtext->part = true;
    leat__spec_borrow(spec, part);
    memcpy(spec->use, part->use, (size_t)part->n_uses * sizeof *spec->use);
    spec->n_uses = part->n_uses;
    return 0;
}

/* The planner of a text lives on the plan around it: the same settings, and memory that outlasts the text. */
static int plan_one(leat__subtext *subtext, leat__planner *around, const leat__use *use, bool zip, int number,
                    leat_error *err) {
    leat__plan *outer = around->plan;
    LEAT_TRY(read_text(subtext, around->spec, use, err));
    subtext->plan = (leat__plan){.batch = 1,
                                 .world = 1,
                                 .local = 1,
                                 .repeats = 1,
                                 .seed = outer->seed,
                                 .on_error = outer->on_error,
                                 .fuse = outer->fuse,
                                 .budget = outer->budget,
                                 .serial = outer->serial,
                                 .memory = outer->memory};
    subtext->planner = (leat__planner){
        .plan = &subtext->plan,
        .spec = subtext->spec,
        .config = around->config,
        .open = around->open,
        .fast = around->fast,
        .inside = (around->inside << CHILDREN_BITS) + (uint32_t)number + 1,
    };
    number_uses(subtext, zip);
    const int rc = run_text(subtext, use, zip, err);
    if (rc < 0 && subtext->part && err) { /* columns are those of the part's own text */
        leat__error_prefix(err, "part %s: ", subtext->text + 1);
        err->column = subtext->column;
    }
    outer->memory = subtext->plan.memory;
    outer->serial = subtext->plan.serial;
    subtext->plan.memory = (leat__arena){0};
    subtext->plan.serial = NULL;
    return rc;
}

int leat__subtext_plan(leat__planner *planner, const leat__use *use, bool zip, leat__subtext **out, int *n,
                       leat_error *err) {
    const leat__arg_value *texts = leat__use_arg(use, "texts");
    *out = NULL;
    *n = 0;
    if (texts->n > LEAT_TEXTS_MAX)
        return leat__plan_fail(use, err, LEAT_ERR_LIMIT, "more than %d texts", LEAT_TEXTS_MAX);
    if (planner->inside >> (LEAT_DEPTH_MAX - 1) * CHILDREN_BITS)
        return leat__plan_fail(use, err, LEAT_ERR_LIMIT, "more than %d texts inside of one another",
                               LEAT_DEPTH_MAX);
    *out = leat__alloc(LEAT_MEM_PLAN, (size_t)texts->n * sizeof **out);
    if (!*out) return leat__fail_memory(err, (size_t)texts->n * sizeof **out, "texts");
    *n = texts->n;
    for (int i = 0; i < texts->n; i++) {
        leat__subtext *subtext = &(*out)[i];
        subtext->text = texts->texts[i];
        subtext->column = (int)texts->ints[i];
        LEAT_TRY(plan_one(subtext, planner, use, zip, i, err));
        planner->plan->contents =
            leat__hash(&subtext->plan.contents, sizeof subtext->plan.contents, planner->plan->contents);
    }
    return 0;
}

void leat__subtext_free(leat__subtext **subtext, int n) {
    for (int i = 0; *subtext && i < n; i++) {
        leat__plan_free(&(*subtext)[i].plan);
        leat_spec_free(&(*subtext)[i].spec);
    }
    leat__free(*subtext);
    *subtext = NULL;
}

/* ------------------------------------------------------------------------------------------- taking over */

static bool write_normal(const leat__subtext *subtext, leat__buf *out) {
    bool fits = !subtext->key[0] ||
                (leat__buf_append(out, subtext->key, strlen(subtext->key)) && leat__buf_append(out, "=", 1));
    for (int i = 0; i < subtext->spec->n_uses && fits; i++) {
        const leat__use *use = &subtext->spec->use[i];
        const char *source = subtext->planner.source_text ? subtext->planner.source_text : use->op->name;
        if (i) fits = leat__buf_append(out, " | ", 3);
        fits = fits && (i == 0 ? leat__buf_append(out, source, strlen(source)) : leat__use_normal(use, out));
    }
    return fits && leat__buf_append(out, "", 1);
}

const char *leat__subtext_text(leat__planner *planner, const leat__use *use, leat__subtext *subtext, int n,
                               leat_error *err) {
    leat__buf all = {.kind = LEAT_MEM_PLAN};
    const char *texts[LEAT_TEXTS_MAX];
    leat__use normal = *use;
    bool fits = true;
    for (int i = 0; i < n && fits; i++) {
        all.size = 0;
        fits = write_normal(&subtext[i], &all) &&
               (texts[i] = leat__plan_keep(planner, all.data, all.size, err)) != NULL;
    }
    for (int i = 0; use->op->arg[i].name; i++)
        if (use->op->arg[i].kind == LEAT_ARG_TEXTS) normal.arg[i].texts = texts;
    all.size = 0;
    const char *out = NULL;
    if (fits && leat__use_normal(&normal, &all) && leat__buf_append(&all, "", 1))
        out = leat__plan_keep(planner, all.data, all.size, err);
    else leat__fail_memory(err, all.size, "a plan");
    leat__buf_free(&all);
    return out;
}

/* Filters of a stream go on asking with the steps that they had: the whole gets its own. */
static int copy_features(leat__planner *planner, leat__step *step, leat_error *err) {
    const int n = step->as.parse.n;
    leat__parse_feature *features =
        leat__plan_keep(planner, step->as.parse.feature, (size_t)n * sizeof *features, err);
    if (!features) return LEAT_ERR_MEMORY;
    for (int i = 0; i < n; i++) features[i].fallback = (leat__buf){.kind = LEAT_MEM_PLAN};
    const leat__parse_feature *was = step->as.parse.feature;
    step->as.parse.feature = features;
    for (int i = 0; i < n; i++)
        if (was[i].fallback.size &&
            !leat__buf_append(&features[i].fallback, was[i].fallback.data, was[i].fallback.size))
            return leat__fail_memory(err, was[i].fallback.size, "a feature");
    return 0;
}

/* The function sees the fields where they are in the whole. */
static int move_map(leat__planner *planner, leat__step *step, const int *slot, leat_error *err) {
    leat__map_plan *map = leat__plan_keep(planner, step->as.map.plan, sizeof *map, err);
    if (!map) return LEAT_ERR_MEMORY;
    for (int i = 0; i < map->n; i++) map->value[i] = slot[map->value[i]];
    for (int i = 0; i < map->inputs.n; i++) map->inputs.value[i] = slot[map->inputs.value[i]];
    step->as.map.plan = map;
    return 0;
}

static int move_eval(leat__planner *planner, leat__step *step, const int *slot, leat_error *err) {
    leat__eval_plan *eval = leat__plan_keep(planner, step->as.eval.plan, sizeof *eval, err);
    if (!eval) return LEAT_ERR_MEMORY;
    for (int i = 0; i < eval->n; i++) eval->value[i] = slot[eval->value[i]];
    for (int i = 0; i < eval->n_inputs; i++) eval->input[i] = slot[eval->input[i]];
    step->as.eval.plan = eval;
    return 0;
}

/* Choices are counted through all texts, and their steps have other numbers in the whole. */
static int move_choice(leat__planner *planner, leat__step *step, int first_choice, int first_step,
                       leat_error *err) {
    if (step->choice) step->choice += first_choice;
    if (step->kind != LEAT_STEP_CHOOSE) return 0;
    leat__chance *choice = leat__plan_keep(planner, step->as.choice, sizeof *choice, err);
    if (!choice) return LEAT_ERR_MEMORY;
    choice->number += first_choice;
    choice->end += first_step;
    step->as.choice = choice;
    return 0;
}

int leat__subtext_move_steps(leat__planner *planner, const leat__use *use, leat__subtext *subtext,
                             const int *slot, uint64_t parts, int shift, leat_error *err) {
    leat__plan *from = &subtext->plan, *to = planner->plan;
    if (to->n_steps + from->n_steps > LEAT_STEPS_MAX)
        return leat__plan_fail(use, err, LEAT_ERR_LIMIT, "more than %d steps", LEAT_STEPS_MAX);
    if (to->n_choices + from->n_choices > LEAT_CHANCES_MAX)
        return leat__plan_fail(use, err, LEAT_ERR_LIMIT, "more than %d of random_apply and random_choice",
                               LEAT_CHANCES_MAX);
    const int first_step = to->n_steps;
    for (int i = 0; i < from->n_steps; i++) {
        leat__step *step = &to->step[to->n_steps++];
        *step = from->step[i];
        LEAT_TRY(move_choice(planner, step, to->n_choices, first_step, err));
        if (from->stream && step->kind == LEAT_STEP_PARSE) LEAT_TRY(copy_features(planner, step, err));
        if (step->kind == LEAT_STEP_MAP) LEAT_TRY(move_map(planner, step, slot, err));
        if (step->kind == LEAT_STEP_EVAL) LEAT_TRY(move_eval(planner, step, slot, err));
        step->value = slot[step->value];
        step->parts = step->parts ? step->parts << shift : parts;
        for (int k = 0; step->kind == LEAT_STEP_PARSE && k < step->as.parse.n; k++)
            step->as.parse.feature[k].value = slot[step->as.parse.feature[k].value];
        for (int k = 0; step->kind == LEAT_STEP_STACK && k < step->as.stack.n; k++)
            step->as.stack.value[k] = slot[step->as.stack.value[k]];
        if (step->kind == LEAT_STEP_COPY) step->as.copy.from = slot[step->as.copy.from];
        to->parted |= step->parts != 0;
    }
    to->n_choices += from->n_choices;
    if (!from->stream) from->n_steps = 0;
    return 0;
}
