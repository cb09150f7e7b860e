/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/select.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/hash.h"
#include "format/kept/sidefile.h"
#include "image/pass/convert.h"
#include "sample/called.h"
#include "sample/evaluated.h"
#include "source/side.h"

enum { ITEM = 256, FACTS = 8, VERSION = 2, THREADS_MAX = 64 };

/* ------------------------------------------------------------------------------------------ questions */

static bool makes_one_of(const leat__step *step, uint32_t values) {
    if (step->kind == LEAT_STEP_MAP) {
        for (int i = 0; i < step->as.map.plan->n; i++)
            if (values >> step->as.map.plan->value[i] & 1) return true;
        return false;
    }
    if (step->kind == LEAT_STEP_EVAL) {
        for (int i = 0; i < step->as.eval.plan->n; i++)
            if (values >> step->as.eval.plan->value[i] & 1) return true;
        return false;
    }
    if (step->kind != LEAT_STEP_PARSE) return values >> step->value & 1;
    for (int i = 0; i < step->as.parse.n; i++)
        if (values >> step->as.parse.feature[i].value & 1) return true;
    return false;
}

/* What the step itself needs. */
static uint32_t step_inputs(const leat__step *step) {
    uint32_t values = UINT32_C(1) << step->value;
    if (step->kind == LEAT_STEP_MAP)
        for (int i = 0; i < step->as.map.plan->inputs.n; i++)
            values |= UINT32_C(1) << step->as.map.plan->inputs.value[i];
    for (int i = 0; step->kind == LEAT_STEP_EVAL && i < step->as.eval.plan->n_inputs; i++)
        values |= UINT32_C(1) << step->as.eval.plan->input[i];
    for (int i = 0; step->kind == LEAT_STEP_STACK && i < step->as.stack.n; i++)
        values |= UINT32_C(1) << step->as.stack.value[i];
    if (step->kind == LEAT_STEP_COPY) values |= UINT32_C(1) << step->as.copy.from;
    return values;
}

int leat__question_prepare(leat__planner *planner, const leat__use *use, leat__question *question,
                           leat_error *err) {
    const leat__plan *plan = planner->plan;
    const leat__source *source = plan->source;
    uint32_t values = question->values;
    for (int i = plan->n_steps - 1; i >= 0; i--) {
        const leat__step *step = &plan->step[i];
        question->step[i] = makes_one_of(step, values);
        if (!question->step[i]) continue;
        if (step->kind == LEAT_STEP_PASS || step->kind == LEAT_STEP_PICTURE ||
            step->kind == LEAT_STEP_COORDINATES || step->kind == LEAT_STEP_DRAW ||
            step->kind == LEAT_STEP_CHOOSE)
            return leat__plan_fail(
                use, err, LEAT_ERR_UNSUPPORTED,
                "it looks at samples before they are decoded, and field %s is decoded or has moved here: "
                "write %s before decode",
                planner->field[step->value].info.name, use->op->name);
        if (step->kind == LEAT_STEP_ENUMERATE && step->as.enumerate.position)
            return leat__plan_fail(
                use, err, LEAT_ERR_UNSUPPORTED,
                "field %s is a place in the finished order, which is not known here: take, "
                "skip and shard choose by it",
                planner->field[step->value].info.name);
        if (step->kind == LEAT_STEP_EVAL && step->as.eval.plan->program->random)
            return leat__plan_fail(
                use, err, LEAT_ERR_UNSUPPORTED,
                "field %s is drawn anew in every epoch, and samples are chosen once: write %s "
                "before eval",
                planner->field[step->value].info.name, use->op->name);
        question->called_before |= step->kind == LEAT_STEP_MAP;
        if (step->kind == LEAT_STEP_PARSE) values |= UINT32_C(1) << step->value;
        else values |= step_inputs(step);
    }
    if (question->kind == LEAT_ASK_PATH || question->kind == LEAT_ASK_FOLDER) return 0;
    leat__value value;
    uint64_t room;
    question->known = values & (source->n_fields < 32 ? (UINT32_C(1) << source->n_fields) - 1 : UINT32_MAX);
    for (int i = 0; i < source->n_fields; i++)
        if (values >> i & 1 && (plan->stream || !source->class->known || source->n_samples == 0 ||
                                !source->class->known(source, 0, i, &value, &room)))
            question->known = 0;
    return 0;
}

bool leat__question_counts(const leat__plan *plan, const leat__question *question) {
    if (question->kind == LEAT_ASK_PROGRAM || question->called_before) return true;
    for (int i = 0; i < plan->n_steps; i++)
        if (question->step[i] && plan->step[i].kind == LEAT_STEP_ENUMERATE) return true;
    return false;
}

static uint64_t hash_value(const leat__value *value, uint64_t seed) {
    return leat__hash(value->data, value->bytes, seed + value->bytes);
}

/* -1: the sample has no file of its own. */
static int hash_path(const leat__question *question, const leat__source *source, uint64_t sample,
                     uint64_t *out) {
    char path[PATH_MAX];
    if (!source->class->path || !source->class->path(source, sample, path, sizeof path)) return -1;
    if (question->kind == LEAT_ASK_FOLDER) {
        char *slash = strrchr(path, '/');
        *(slash ? slash : path) = 0;
    }
    *out = leat__hash(path, strlen(path), question->seed);
    return 0;
}

static int ask_program(leat__tools *tools, const leat__question *question, const leat__where *at,
                       uint64_t *answer, leat_error *err) {
    leat_tensor tensors[LEAT_VALUES_MAX];
    leat__inputs_fill(&question->inputs, tools->value, tensors);
    leat__error_clear(err);
    leat__run_stage(tools, LEAT_STAGE_CALL);
    leat__called_enter(tools->plan, question->called);
    const leat_sample_info info = {
        .position = at->sample, .sample = at->sample, .seed = tools->plan->seed, .operation = question->op};
    const int rc = question->called->filter(question->called->user, &info, tensors, question->inputs.n, err);
    leat__called_leave(tools->plan, question->called);
    leat__run_stage(tools, LEAT_STAGE_NONE);
    *answer = rc > 0;
    if (rc >= 0) return 0;
    char where[300], said[500];
    const char *why = err->message[0] ? err->message : "it did not say why";
    leat__run_describe(tools->plan, at, where, sizeof where);
    leat__printable(said, sizeof said, why, strnlen(why, sizeof err->message));
    return leat__fail(err, rc, "%s: filter callback=%s: %s", where, question->called->name, said);
}

static uint64_t hash_fields(const leat__tools *tools, const leat__question *question) {
    if (question->value >= 0) return hash_value(&tools->value[question->value], question->seed);
    uint64_t h = question->seed;
    for (int i = 0; i < tools->plan->source->n_fields; i++) h = hash_value(&tools->value[i], h);
    return h;
}

/* The label as a whole number. */
static int64_t number_of(const leat__tools *tools, const leat__question *question) {
    const leat__value *value = &tools->value[question->value];
    int64_t number;
    leat__convert(&number, LEAT_DTYPE_I64, value->data, value->dtype, 1, false, 1, 0);
    return number;
}

/* The draw depends on where the record lies and not on its number in the stream, which is not known when shards are read
 * at once; nor on the epoch, since a stream has one length. A label that is no class passes: the worker reports it. */
static bool is_drawn(const leat__question *question, const leat__piece *piece, int64_t label) {
    if (label < 0 || (uint64_t)label >= question->n_chances) return true;
    const uint64_t shard = piece->shard ^ (uint64_t)piece->leaf << 48;
    leat__rng rng = leat__rng_at(question->seed, shard, piece->number, question->op);
    return leat__rng_unit(&rng) < question->chance[label];
}

static int ask_size(leat__tools *tools, const leat__question *question, uint64_t sample, uint64_t *answer,
                    leat_error *err) {
    const leat__value *value = &tools->value[question->value];
    const leat__decode_options options = {.orient = question->from != 0};
    leat__picture_info info;
    if (value->dtype != LEAT_DTYPE_BYTES) {
        *answer = (uint64_t)value->shape[0] << 32 | (uint32_t)value->shape[1];
        return 0;
    }
    const int rc = leat__decode_info(tools->decoder, value->data, value->bytes, &options, &info, err);
    if (rc == 0) *answer = (uint64_t)info.height << 32 | (uint32_t)info.width;
    if (rc == 0) return 0;
    char where[300];
    tools->plan->source->class->describe(tools->plan->source, sample, where, sizeof where);
    leat__error_prefix(err, "%s: ", where);
    return rc;
}

int leat__question_answer(leat__tools *tools, const leat__question *question, const leat__where *at,
                          uint64_t *answer, leat_error *err) {
    const bool by_path = question->kind == LEAT_ASK_PATH || question->kind == LEAT_ASK_FOLDER;
    if (by_path && hash_path(question, tools->plan->source, at->sample, answer) == 0) return 0;
    tools->only = question->step;
    tools->known = question->known;
    const int rc = leat__run_sample(tools, at, err);
    tools->only = NULL;
    tools->known = 0;
    if (rc < 0) return rc;
    switch (question->kind) {
    case LEAT_ASK_CONDITION: *answer = leat__predicate_holds(&question->predicate, tools->value); break;
    case LEAT_ASK_PROGRAM: return ask_program(tools, question, at, answer, err);
    case LEAT_ASK_NUMBER: *answer = (uint64_t)number_of(tools, question); break;
    case LEAT_ASK_CHANCE: *answer = is_drawn(question, at->piece, number_of(tools, question)); break;
    case LEAT_ASK_PART: {
        const uint64_t h = hash_fields(tools, question);
        *answer = h >= question->from && (h < question->to || question->to == UINT64_MAX);
        break;
    }
    case LEAT_ASK_SIZE: return ask_size(tools, question, at->sample, answer, err);
    case LEAT_ASK_HASH:
    case LEAT_ASK_PATH:
    case LEAT_ASK_FOLDER: *answer = hash_fields(tools, question); break;
    }
    return 0;
}

int leat__filters_keep(leat__tools *tools, const leat__where *at, leat_error *err) {
    const leat__stream_plan *stream = tools->plan->stream;
    for (int i = 0; i < stream->n_filters; i++) {
        uint64_t answer;
        const int rc = leat__question_answer(tools, stream->filter[i], at, &answer, err);
        if (rc < 0) return rc == LEAT_ERR_MEMORY ? rc : 1;
        if (!answer) return 0;
    }
    return 1;
}

/* --------------------------------------------------------------------------------------- all samples */

static bool yes_or_no(const leat__question *question) {
    return question->kind == LEAT_ASK_CONDITION || question->kind == LEAT_ASK_PROGRAM ||
           question->kind == LEAT_ASK_PART;
}

static uint64_t answer_of_bad(const leat__question *question, uint64_t sample) {
    if (yes_or_no(question)) return LEAT_ANSWER_BAD;
    if (question->kind == LEAT_ASK_SIZE) return 0;
    return question->kind == LEAT_ASK_NUMBER ? LEAT_ANSWER_NONE : leat__mix64(sample);
}

typedef struct asking {
    const leat__planner *planner;
    const leat__use *use;
    const leat__question *question;
    const uint32_t *sample; /* (n); NULL: position i is sample i */
    uint64_t n;
    uint64_t *answer;
    leat__tools *tools; /* (THREADS_MAX), each made when its worker begins */
    uint64_t *n_bad;    /* (THREADS_MAX)                                   */
} asking;

static int ask_one(const asking *a, int worker, uint64_t i, leat_error *err) {
    const leat__where at = {.sample = a->sample ? a->sample[i] : i};
    leat_error why;
    const int rc = leat__question_answer(&a->tools[worker], a->question, &at, &a->answer[i], &why);
    if (rc >= 0) return 0;
    const bool fault = leat__error_is_fault(&why);
    if (a->planner->plan->on_error == LEAT_ON_ERROR_RAISE || fault)
        return leat__plan_fail(a->use, err, rc, "it must look at every sample: %.600s%s", why.message,
                               fault ? "" : "; with on_error=skip it goes on");
    a->answer[i] = answer_of_bad(a->question, at.sample);
    a->n_bad[worker]++;
    return 0;
}

static int ask_item(void *user, uint64_t item, int worker, leat_error *err) {
    const asking *a = user;
    const leat__open_options *open = &a->planner->open;
    const uint64_t begin = item * ITEM, end = LEAT_MIN(begin + ITEM, a->n);
    if (!a->tools[worker].plan) LEAT_TRY(leat__tools_init(&a->tools[worker], a->planner->plan, NULL, err));
    for (uint64_t i = begin; i < end; i++) LEAT_TRY(ask_one(a, worker, i, err));
    if (worker == 0 && open->progress && open->progress(open->user, "looking at samples", end, a->n))
        return leat__fail(err, LEAT_ERR_CANCELLED, "looking at samples was cancelled");
    return 0;
}

static int ask_everybody(asking *a, uint64_t *n_bad, leat_error *err) {
    const bool quick = a->question->known != 0;
    const int n_threads = quick ? 1 : LEAT_CLAMP(a->planner->open.n_threads, 1, THREADS_MAX);
    a->tools = leat__alloc(LEAT_MEM_WORKER, (size_t)n_threads * sizeof *a->tools);
    a->n_bad = leat__alloc(LEAT_MEM_WORKER, (size_t)n_threads * sizeof *a->n_bad);
    int rc = a->tools && a->n_bad ? leat__parallel(n_threads, (a->n + ITEM - 1) / ITEM, ask_item, a, err)
                                  : leat__fail_memory(err, (size_t)n_threads * sizeof *a->tools, "workers");
    for (int i = 0; i < n_threads; i++) {
        if (a->tools) leat__tools_free(&a->tools[i]);
        if (a->n_bad) *n_bad += a->n_bad[i];
    }
    leat__free(a->tools);
    leat__free(a->n_bad);
    return rc;
}

/* ---------------------------------------------------------------------------------------- side files
 * Payload: the facts that the answers belong to, then the answers: one byte each if they are yes or no, else eight. */

/* Answers depend on the data, on the operations before, and on the question. */
static bool take_facts(const leat__planner *planner, const leat__use *use, const leat__question *question,
                       uint64_t n, uint64_t facts[FACTS]) {
    const leat__plan *plan = planner->plan;
    uint64_t version;
    if (!plan->source->class->version ||
        plan->source->class->version(plan->source, planner->open.n_threads, true, &version, NULL) < 0)
        return false;
    leat__buf text = {.kind = LEAT_MEM_PLAN};
    bool fits = true;
    for (const leat__use *u = planner->spec->use; u < use && fits; u++)
        if (u->op->kind != LEAT_OP_SOURCE && u->op->kind != LEAT_OP_BATCH)
            fits = leat__use_normal(u, &text) && leat__buf_append(&text, " | ", 3);
    fits = fits && leat__buf_append(&text, question->text, strlen(question->text));
    const uint64_t keys[] = {
        question->kind,           question->seed, question->from, question->to, plan->seed, plan->contents, n,
        (uint64_t)question->value};
    facts[0] = VERSION;
    facts[1] = plan->source->fingerprint;
    facts[2] = version;
    facts[3] = fits ? leat__hash(text.data, text.size, 1) : 0;
    facts[4] = leat__hash(keys, sizeof keys, 2);
    facts[5] = n;
    facts[6] = facts[7] = 0; /* bad samples; free */
    leat__buf_free(&text);
    return fits;
}

/* No file has this name: the place of a side file is a hash of it. */
static void side_name(char *out, size_t cap, const uint64_t facts[FACTS]) {
    snprintf(out, cap, "/leat-answers/%016" PRIx64 "%016" PRIx64 "%016" PRIx64, facts[1], facts[3], facts[4]);
}

/* The data set that answers are kept with. A source without a path of its own goes by its title. */
static const char *home_of(const leat__source *source) {
    const leat__source *with = source;
    while (with && !with->home) with = with->n_parts ? with->part[0] : NULL;
    return with ? with->home : source->title;
}

static bool load_answers(leat__planner *planner, const leat__question *question, const uint64_t facts[FACTS],
                         uint64_t *answer, uint64_t *n_bad) {
    leat__buf buf = {.kind = LEAT_MEM_INDEX};
    leat__side side;
    uint64_t kept[FACTS];
    char name[128];
    const size_t item = yes_or_no(question) ? 1 : 8;
    const uint64_t n = facts[5];
    side_name(name, sizeof name, facts);
    bool good = leat__side_load(&side, LEAT_SIDE_CACHED, home_of(planner->plan->source), name,
                                LEAT_SIDEFILE_ANSWERS, &planner->open, &buf) &&
                side.n >= sizeof kept && (side.n - sizeof kept) / item == n &&
                (side.n - sizeof kept) % item == 0;
    if (good) memcpy(kept, side.data, sizeof kept);
    good = good && memcmp(kept, facts, 6 * sizeof facts[0]) == 0 &&
           (kept[6] == 0 || planner->plan->on_error != LEAT_ON_ERROR_RAISE);
    for (uint64_t i = 0; i < n && good; i++) {
        if (item == 8) memcpy(&answer[i], side.data + sizeof kept + i * 8, 8);
        else answer[i] = side.data[sizeof kept + i];
        if (item == 1) good = answer[i] <= LEAT_ANSWER_BAD;
    }
    if (good) *n_bad = kept[6];
    leat__buf_free(&buf);
    if (side.refused) leat__choice_warn(planner, "%.300s " LEAT_NOT_TRUSTED, side.file);
    return good;
}

static void store_answers(leat__planner *planner, const leat__question *question, uint64_t facts[FACTS],
                          const uint64_t *answer, uint64_t n_bad) {
    leat__buf payload = {.kind = LEAT_MEM_INDEX};
    char name[128];
    leat_error why;
    leat__error_clear(&why);
    const size_t item = yes_or_no(question) ? 1 : 8;
    side_name(name, sizeof name, facts);
    facts[6] = n_bad;
    bool kept = leat__buf_reserve(&payload, FACTS * sizeof facts[0] + facts[5] * item) &&
                leat__buf_append(&payload, facts, FACTS * sizeof facts[0]);
    for (uint64_t i = 0; i < facts[5] && kept; i++) {
        const uint8_t byte = (uint8_t)answer[i];
        kept = leat__buf_append(&payload, item == 1 ? (const void *)&byte : &answer[i], item);
    }
    kept = kept && leat__side_store(home_of(planner->plan->source), name, LEAT_SIDEFILE_ANSWERS,
                                    &planner->open, payload.data, payload.size, &why);
    if (!kept)
        leat__choice_warn(planner, "what was found out about the samples is not kept: %.150s", why.message);
    leat__buf_free(&payload);
}

static int map_samples(leat__planner *planner, int n_verbs, uint64_t n, uint32_t **out, leat_error *err) {
    leat__order *order = &planner->plan->order;
    *out = NULL;
    if (n_verbs == 0) return 0;
    *out = leat__alloc(LEAT_MEM_INDEX, LEAT_MAX(n, (uint64_t)1) * sizeof **out);
    if (!*out) return leat__fail_memory(err, n * sizeof **out, "an order");
    LEAT_TRY(leat__order_allocate(order, err));
    for (uint64_t i = 0; i < n; i++) (*out)[i] = (uint32_t)leat__order_map_part(order, n_verbs, i);
    return 0;
}

int leat__question_all(leat__planner *planner, const leat__use *use, const leat__question *question,
                       int n_verbs, uint64_t n, uint64_t *answer, uint64_t *n_bad, leat_error *err) {
    uint64_t facts[FACTS];
    *n_bad = 0;
    const bool is_read = question->known == 0 && question->kind != LEAT_ASK_FOLDER &&
                         !(question->kind == LEAT_ASK_PATH && planner->plan->source->class->path);
    const bool keep = is_read && !planner->open.no_side_files && question->kind != LEAT_ASK_PROGRAM &&
                      !question->called_before && take_facts(planner, use, question, n, facts);
    if (keep && load_answers(planner, question, facts, answer, n_bad)) return 0;
    asking a = {.planner = planner, .use = use, .question = question, .n = n, .answer = answer};
    uint32_t *samples;
    int rc = map_samples(planner, n_verbs, n, &samples, err);
    a.sample = samples;
    if (rc == 0) rc = ask_everybody(&a, n_bad, err);
    leat__free(samples);
    if (rc == 0 && keep) store_answers(planner, question, facts, answer, *n_bad);
    return rc;
}

/* ------------------------------------------------------------------------- functions of the program */

int leat__called_find(leat__planner *planner, const leat__use *use, bool map, const leat__called **out,
                      leat_error *err) {
    const leat_spec *spec = planner->spec;
    const char *name = leat__use_arg(use, "callback")->text;
    for (int i = 0; i < spec->n_called; i++) {
        const leat__called *called = &spec->called[i];
        if (strcmp(called->name, name) != 0 || (map ? !called->map : !called->filter)) continue;
        leat__plan *plan = planner->plan;
        *out = leat__plan_keep(planner, called, sizeof *called, err);
        if (!*out) return LEAT_ERR_MEMORY;
        if (called->thread_safe || plan->serial) return 0;
        leat__mutex *serial = leat__alloc(LEAT_MEM_PLAN, sizeof *serial);
        if (!serial) return leat__fail_memory(err, sizeof *serial, "a callback");
        const int rc = leat__mutex_init(serial, LEAT_LOCK_CALLS, err);
        if (rc < 0) leat__free(serial);
        else plan->serial = serial;
        return rc;
    }
    return leat__plan_fail(
        use, err, LEAT_ERR_NOT_FOUND,
        "the program has no function '%s' for it: call leat_spec_%s before the pipeline is "
        "opened",
        name, map ? "map" : "filter");
}

static bool has_pixels(const leat__planner *planner, int value) {
    for (int i = 0; i < planner->plan->n_steps; i++) {
        const leat__step *step = &planner->plan->step[i];
        if (step->value == value && (step->kind == LEAT_STEP_PASS || step->kind == LEAT_STEP_PICTURE))
            return true;
    }
    return false;
}

int leat__inputs_list(leat__planner *planner, bool undecoded, leat__inputs *inputs, leat_error *err) {
    *inputs = (leat__inputs){0};
    for (int i = 0; i < planner->n_fields; i++) {
        if (!planner->live[i] || (undecoded && has_pixels(planner, i))) continue;
        const char *name = planner->field[i].info.name;
        char *copy = leat__arena_alloc(&planner->plan->memory, strlen(name) + 1);
        if (!copy) return leat__fail_memory(err, strlen(name), "a field");
        inputs->name[inputs->n] = strcpy(copy, name);
        inputs->value[inputs->n++] = i;
    }
    return 0;
}

/* ------------------------------------------------------------------------------------------- choices */

int leat__choice_place(const leat__planner *planner, const leat__use *use, leat__choice_rule rule, int *at,
                       leat_error *err) {
    const leat__order *order = &planner->plan->order;
    const char *name = use->op->name;
    if (planner->batched)
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX, "works on single samples: write it before batch");
    *at = order->n_verbs;
    for (; *at > 0; --*at) {
        const leat__order_verb *verb = &order->verb[*at - 1];
        if (!(rule.past_shuffle && verb->kind == LEAT_ORDER_SHUFFLE && !verb->unit) &&
            !(rule.past_repeat && verb->kind == LEAT_ORDER_REPEAT))
            break;
    }
    for (int i = 0; i < *at; i++) {
        const leat__order_verb *verb = &order->verb[i];
        if (verb->kind == LEAT_ORDER_REPEAT)
            return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                                   "what is repeated is chosen once: write %s before repeat", name);
        if (verb->kind == LEAT_ORDER_BRANCH && !leat__order_fixed(verb))
            return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                                   "what it could choose from is different in every epoch: write %s into the "
                                   "texts that are combined, before shuffle, and shuffle behind them",
                                   name);
        if (!leat__order_fixed(verb))
            return leat__plan_fail(
                use, err, LEAT_ERR_SYNTAX,
                "what it could choose from is different in every epoch: write %s before %s", name,
                verb->kind == LEAT_ORDER_SHUFFLE ? "shuffle" : "balance or rejection_resample");
    }
    const uint64_t n = order->length[*at];
    if (!planner->plan->stream && n > UINT32_MAX)
        return leat__plan_fail(use, err, LEAT_ERR_LIMIT, "more than %u samples to choose from", UINT32_MAX);
    return 0;
}

int leat__choice_insert(leat__planner *planner, int at, leat__order_verb verb, leat_error *err) {
    leat__plan *plan = planner->plan;
    if (verb.pick) plan->contents = leat__hash(verb.pick, verb.count * sizeof *verb.pick, plan->contents);
    if (verb.balance) {
        const leat__balance *b = verb.balance;
        plan->contents = leat__hash(b->member, b->begin[b->n_classes] * sizeof *b->member, plan->contents);
        plan->contents = leat__hash(b->place, (b->n_classes + (size_t)1) * sizeof *b->place, plan->contents);
    }
    LEAT_TRY(leat__order_insert(&plan->order, at, verb, err));
    leat__order_set_source(&plan->order, plan->order.length[0]);
    return 0;
}

void leat__choice_warn(leat__planner *planner, const char *fmt, ...) {
    char *warning = planner->plan->source->warning;
    const size_t cap = sizeof planner->plan->source->warning, n = strlen(warning);
    va_list args;
    if (n + 3 >= cap) return;
    if (n) memcpy(warning + n, "; ", 3);
    va_start(args, fmt);
    vsnprintf(warning + n + (n ? 2 : 0), cap - n - (n ? 2 : 0), fmt, args);
    va_end(args);
}
