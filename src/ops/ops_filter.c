/* SPDX-License-Identifier: Apache-2.0 */
/* Which samples are kept, by what they hold, and classes in other proportions. */
#include "ops/ops_shared.h"
#include "plan/select.h"
#include "sample/labels.h"

/* --------------------------------------------------------------------------------------------- filter */

/* The words of a condition with single spaces between them, as the column of a mistake is counted. */
static char *join(leat__planner *planner, const leat__arg_value *words, leat_error *err) {
    size_t n = 1;
    for (int i = 0; i < words->n; i++) n += strlen(words->texts[i]) + 1;
    char *text = leat__arena_alloc(&planner->plan->memory, n), *at = text;
    if (!text) {
        leat__fail_memory(err, n, "a condition");
        return NULL;
    }
    for (int i = 0; i < words->n; i++) {
        if (i > 0) *at++ = ' ';
        at = stpcpy(at, words->texts[i]);
    }
    *at = 0;
    return text;
}

static int field_of(const void *user, const char *name, leat_error *err) {
    return leat__number_field(user, name, err);
}

static int64_t class_of(const void *user, int value, const char *name, leat_error *err) {
    return leat__class_number(user, value, name, err);
}

static int read_condition(leat__planner *planner, const leat__use *use, leat__question *question,
                          leat_error *err) {
    const leat__arg_value *words = leat__use_arg(use, "where");
    const leat__names names = {.user = planner, .field = field_of, .class = class_of};
    const char *text = join(planner, words, err);
    size_t at;
    leat_error why;
    if (!text) return LEAT_ERR_MEMORY;
    question->kind = LEAT_ASK_CONDITION;
    question->text = text;
    const int rc =
        leat__predicate_read(&question->predicate, text, &names, &planner->plan->memory, &at, &why);
    question->values = question->predicate.values;
    if (rc == 0) return 0;
    const leat__use here = {.op = use->op, .column = words->column + (int)at};
    return leat__plan_fail(&here, err, rc, "%s", why.message);
}

/* A table of the positions that have an answer other than 0. */
static int keep_positions(leat__planner *planner, const leat__use *use, int at, const uint64_t *answer,
                          uint64_t n, leat_error *err) {
    uint64_t kept = 0;
    for (uint64_t i = 0; i < n; i++) kept += answer[i] != 0;
    if (kept == 0)
        return leat__plan_fail(use, err, LEAT_ERR_NOT_FOUND,
                               "no sample is left: of %" PRIu64 " none is wanted", n);
    uint32_t *pick = leat__alloc(LEAT_MEM_INDEX, kept * sizeof *pick);
    if (!pick) return leat__fail_memory(err, kept * sizeof *pick, "a choice");
    kept = 0;
    for (uint64_t i = 0; i < n; i++)
        if (answer[i]) pick[kept++] = (uint32_t)i;
    return leat__choice_insert(planner, at,
                               (leat__order_verb){.kind = LEAT_ORDER_PICK, .count = kept, .pick = pick}, err);
}

/* Answers of all positions before verb number `at`; to be freed. */
static int ask_all(leat__planner *planner, const leat__use *use, const leat__question *question, int at,
                   uint64_t **answer, uint64_t *n_bad, leat_error *err) {
    const uint64_t n = planner->plan->order.length[at];
    *answer = leat__alloc(LEAT_MEM_INDEX, LEAT_MAX(n, (uint64_t)1) * sizeof **answer);
    if (!*answer) return leat__fail_memory(err, n * sizeof **answer, "answers");
    return leat__question_all(planner, use, question, at, n, *answer, n_bad, err);
}

/* Verbs in front of a stream's first filter count every record: the reader thread knows its number. */
static int count_before(leat__planner *planner, const leat__use *use, int n_verbs, leat_error *err) {
    leat__stream_plan *stream = planner->plan->stream;
    leat__order *order = &planner->plan->order;
    bool countable = stream->n_filters == 0 && stream->n_before + n_verbs <= LEAT_BEFORE_MAX;
    for (int i = 0; i < n_verbs; i++)
        countable =
            countable && (order->verb[i].kind == LEAT_ORDER_TAKE || order->verb[i].kind == LEAT_ORDER_SKIP ||
                          order->verb[i].kind == LEAT_ORDER_SHARD);
    if (!countable)
        return leat__stream_plan_refuse(use, err, "a filter cannot follow verbs that follow another filter",
                                        "write all filters before take, skip and shard");
    memcpy(stream->before + stream->n_before, order->verb, (size_t)n_verbs * sizeof *order->verb);
    stream->n_before += n_verbs;
    order->n_verbs -= n_verbs;
    memmove(order->verb, order->verb + n_verbs, (size_t)order->n_verbs * sizeof *order->verb);
    leat__order_set_source(order, planner->plan->source->n_samples);
    return 0;
}

/* A record of a stream is asked when it is read. */
static int filter_stream(leat__planner *planner, const leat__use *use, const leat__question *question, int at,
                         leat_error *err) {
    leat__stream_plan *stream = planner->plan->stream;
    if (!stream->shards)
        return leat__stream_plan_refuse(use, err, "samples that were combined are not asked again",
                                        "write it into the texts that are combined");
    if (stream->n_filters == LEAT_FILTERS_MAX)
        return leat__plan_fail(use, err, LEAT_ERR_LIMIT, "more than %d filters of compressed files",
                               LEAT_FILTERS_MAX);
    if (stream->cycle && leat__question_counts(planner->plan, question))
        return leat__stream_plan_refuse(use, err,
                                        "the number of a record, which a function of the program and "
                                        "enumerate get, is not known yet when "
                                        "interleaved shards are read",
                                        "leave interleave out");
    if (at > 0) LEAT_TRY(count_before(planner, use, at, err));
    stream->filter[stream->n_filters] = leat__plan_keep(planner, question, sizeof *question, err);
    if (!stream->filter[stream->n_filters]) return LEAT_ERR_MEMORY;
    stream->n_filters++;
    return 0;
}

int leat__filter_add(leat__planner *planner, const leat__use *use, leat__question *question, int at,
                     leat_error *err) {
    leat__plan *plan = planner->plan;
    LEAT_TRY(leat__question_prepare(planner, use, question, err));
    if (plan->stream) return filter_stream(planner, use, question, at, err);
    uint64_t *answer, n_bad = 0;
    int rc = ask_all(planner, use, question, at, &answer, &n_bad, err);
    if (rc == 0) rc = keep_positions(planner, use, at, answer, plan->order.length[at], err);
    leat__free(answer);
    return rc;
}

static int plan_filter(leat__planner *planner, const leat__use *use, leat_error *err) {
    leat__question question = {.value = -1};
    const bool calls = leat__use_arg(use, "callback")->given;
    int at;
    if (calls == (leat__use_arg(use, "where")->n > 0))
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                               "needs a condition, such as \"label == 3\", or else callback=NAME");
    LEAT_TRY(leat__choice_place(planner, use, (leat__choice_rule){.past_shuffle = true, .past_repeat = true},
                                &at, err));
    if (!calls) LEAT_TRY(read_condition(planner, use, &question, err));
    if (calls) {
        question.kind = LEAT_ASK_PROGRAM;
        question.op = use->number;
        question.text = "";
        LEAT_TRY(leat__called_find(planner, use, false, &question.called, err));
        LEAT_TRY(leat__inputs_list(planner, true, &question.inputs, err));
        for (int i = 0; i < question.inputs.n; i++)
            question.values |= UINT32_C(1) << question.inputs.value[i];
    }
    return leat__filter_add(planner, use, &question, at, err);
}

/* -------------------------------------------------------------------------------------------- classes */

/* Compressed files are read once, from the beginning: their classes are not known before. */
static int refuse_stream(const leat__planner *planner, const leat__use *use, leat_error *err) {
    if (!planner->plan->stream) return 0;
    return leat__plan_fail(
        use, err, LEAT_ERR_UNSUPPORTED,
        "it must know all samples before the first, and streams such as compressed files are read one record "
        "after the other: write rejection_resample initial=0.9,0.1, or sample_from of a text for each class, "
        "such as 'tfrecord a.gz | parse label:int64 | filter label==0 | repeat', or unpack them");
}

/* The field that the argument names; its values are classes. */
static int find_classes(leat__planner *planner, const leat__use *use, const char *arg,
                        leat__question *question, leat_error *err) {
    const char *name = leat__use_arg(use, arg)->text;
    leat_error why;
    question->value = leat__number_field(planner, name, &why);
    if (question->value < 0) return leat__plan_fail(use, err, question->value, "%s", why.message);
    const int dtype = planner->field[question->value].info.dtype;
    if (dtype > LEAT_DTYPE_I64 && dtype != LEAT_DTYPE_BOOL)
        return leat__plan_fail(use, err, LEAT_ERR_TYPE, "field %s holds %s: classes are whole numbers", name,
                               leat_dtype_name(dtype));
    question->text = leat__plan_keep(planner, name, strlen(name) + 1, err);
    question->values = UINT32_C(1) << question->value;
    return question->text ? 0 : LEAT_ERR_MEMORY;
}

/* Asks for the class of every sample, by the field that the argument `field` names. */
int leat__classes_ask(leat__planner *planner, const leat__use *use, const char *arg, int at,
                      leat__class_list *list, leat_error *err) {
    leat__question question = {.kind = LEAT_ASK_NUMBER};
    LEAT_TRY(find_classes(planner, use, arg, &question, err));
    LEAT_TRY(leat__question_prepare(planner, use, &question, err));
    uint64_t *answer, n_bad = 0;
    int rc = ask_all(planner, use, &question, at, &answer, &n_bad, err);
    if (rc == 0) rc = leat__class_list_make(list, answer, planner->plan->order.length[at], err);
    leat__free(answer);
    if (rc == 0 && n_bad)
        leat__choice_warn(planner, "%" PRIu64 " samples cannot be read and have no class: %s leaves them out",
                          n_bad, use->op->name);
    if (rc == 0 && list->n_classes == 0) {
        leat__class_list_free(list);
        rc = leat__plan_fail(use, err, LEAT_ERR_NOT_FOUND, "no sample is left whose class is known");
    }
    return rc;
}

/* One number for each class, by rising label: "0.5,0.3,0.2". The first `most` go into out; *count is how many there are. */
static int read_numbers(const leat__use *use, const char *arg, double *out, uint32_t most, uint32_t *count,
                        leat_error *err) {
    const char *text = leat__use_arg(use, arg)->text;
    uint32_t n = 0;
    double sum = 0;
    for (const char *at = text; *at; n++) {
        char part[64];
        double x = 0;
        if (!leat__next_number(&at, &x, part) || !(x >= 0) || x > 1e15)
            return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                                   "%s must be numbers that are not below 0, separated by commas, not '%s'",
                                   arg, part);
        if (n < most) out[n] = x;
        sum += x;
    }
    *count = n;
    if (n > 0 && !(sum > 0))
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "%s: all of them are 0", arg);
    return 0;
}

static int read_weights(const leat__use *use, const char *arg, const leat__class_list *list, double *out,
                        leat_error *err) {
    uint32_t n;
    LEAT_TRY(read_numbers(use, arg, out, list->n_classes, &n, err));
    if (n != list->n_classes)
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "%s: %u numbers for %u classes (labels %" PRId64 " to %" PRId64
                               ", in rising order)",
                               arg, n, list->n_classes, list->number[0], list->number[list->n_classes - 1]);
    return 0;
}

typedef struct mixture { /* what classes become */
    leat__class_list list;
    double *weight;  /* (n_classes) */
    uint64_t *quota; /* (n_classes) */
    uint64_t largest;
} mixture;

static void free_mixture(mixture *m) {
    leat__class_list_free(&m->list);
    leat__free(m->weight);
    leat__free(m->quota);
}

static int begin_mixture(leat__planner *planner, const leat__use *use, bool drawn, int *at, mixture *m,
                         leat_error *err) {
    const leat__order *order = &planner->plan->order;
    LEAT_TRY(refuse_stream(planner, use, err));
    if (drawn && order->n_verbs > 0 && order->verb[order->n_verbs - 1].kind == LEAT_ORDER_SHUFFLE)
        return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                               "it draws an order by itself: leave out the shuffle before it");
    LEAT_TRY(leat__choice_place(planner, use, (leat__choice_rule){.past_shuffle = !drawn}, at, err));
    LEAT_TRY(leat__classes_ask(planner, use, "field", *at, &m->list, err));
    const uint32_t n = m->list.n_classes;
    m->weight = leat__alloc(LEAT_MEM_INDEX, n * sizeof *m->weight);
    m->quota = leat__alloc(LEAT_MEM_INDEX, n * sizeof *m->quota);
    if (!m->weight || !m->quota) return leat__fail_memory(err, n * 16, "classes");
    for (uint32_t c = 0; c < n; c++) {
        m->largest = LEAT_MAX(m->largest, m->list.size[c]);
        m->weight[c] = 1;
    }
    return 0;
}

static int end_mixture(leat__planner *planner, const leat__use *use, bool drawn, int at, const mixture *m,
                       uint64_t length, leat_error *err) {
    const leat__arg_value *seed = drawn ? leat__use_arg(use, "seed") : NULL;
    leat__order_verb verb = {.kind = LEAT_ORDER_BALANCE,
                             .count = length,
                             .seed = seed && seed->given ? (uint64_t)seed->i : planner->plan->seed,
                             .op = use->number,
                             .reshuffle = true};
    LEAT_TRY(leat__balance_new(&verb.balance, m->list.class, planner->plan->order.length[at],
                               m->list.n_classes, m->quota, drawn, err));
    return leat__choice_insert(planner, at, verb, err);
}

static int mix_balance(leat__planner *planner, const leat__use *use, mixture *m, leat_error *err) {
    int at;
    LEAT_TRY(begin_mixture(planner, use, true, &at, m, err));
    if (leat__use_arg(use, "weights")->given)
        LEAT_TRY(read_weights(use, "weights", &m->list, m->weight, err));
    leat_error why;
    const int rc = leat__balance_quotas(m->weight, m->list.n_classes, m->quota, &why);
    if (rc < 0) return leat__plan_fail(use, err, rc, "%s", why.message);
    const uint64_t n = (uint64_t)leat__use_arg(use, "n")->i;
    return end_mixture(planner, use, true, at, m, n ? n : m->largest * m->list.n_classes, err);
}

static int mix_oversample(leat__planner *planner, const leat__use *use, mixture *m, leat_error *err) {
    int at;
    LEAT_TRY(begin_mixture(planner, use, false, &at, m, err));
    for (uint32_t c = 0; c < m->list.n_classes; c++) m->quota[c] = 1;
    return end_mixture(planner, use, false, at, m, m->largest * m->list.n_classes, err);
}

/* As many of each class as there can be when proportions are to be exact and none comes twice. */
static int mix_rejection(leat__planner *planner, const leat__use *use, mixture *m, leat_error *err) {
    int at;
    if (leat__use_arg(use, "initial")->given)
        return leat__plan_fail(
            use, err, LEAT_ERR_ARGUMENT,
            "the classes of this source are counted: leave out initial, which is for streams");
    LEAT_TRY(begin_mixture(planner, use, true, &at, m, err));
    if (leat__use_arg(use, "target")->given) LEAT_TRY(read_weights(use, "target", &m->list, m->weight, err));
    double most = 0;
    uint64_t length = 0;
    for (uint32_t c = 0; c < m->list.n_classes; c++)
        most = LEAT_MAX(most, m->weight[c] / (double)m->list.size[c]);
    for (uint32_t c = 0; c < m->list.n_classes; c++) {
        m->quota[c] = LEAT_MIN((uint64_t)(m->weight[c] / most + 1e-6), m->list.size[c]);
        length += m->quota[c];
    }
    return end_mixture(planner, use, true, at, m, length, err);
}

static int run_mixture(leat__planner *planner, const leat__use *use,
                       int (*mix)(leat__planner *, const leat__use *, mixture *, leat_error *),
                       leat_error *err) {
    mixture m = {0};
    const int rc = mix(planner, use, &m, err);
    free_mixture(&m);
    return rc;
}

static int plan_balance(leat__planner *planner, const leat__use *use, leat_error *err) {
    return run_mixture(planner, use, mix_balance, err);
}

static int plan_oversample(leat__planner *planner, const leat__use *use, leat_error *err) {
    return run_mixture(planner, use, mix_oversample, err);
}

/* -------------------------------------------------------------------------------- classes of a stream */

/* How likely a record of each class is kept: so that as few as possible are left out, those of one class all stay. */
static int find_chances(leat__planner *planner, const leat__use *use, leat__question *question,
                        leat_error *err) {
    const char *text = leat__use_arg(use, "initial")->text;
    if (!*text)
        return leat__plan_fail(
            use, err, LEAT_ERR_ARGUMENT,
            "a stream is not counted before it is read: give the proportions of the classes in it, by label "
            "from 0, such as initial=0.9,0.1; or choose with filter, or sample_from of a text for each "
            "class");
    uint32_t most = 1, n, n_target;
    for (const char *c = text; *c; c++) most += *c == ',';
    double *initial = leat__arena_alloc(&planner->plan->memory, most * sizeof *initial);
    double *chance = leat__arena_alloc(&planner->plan->memory, most * sizeof *chance);
    if (!initial || !chance) return leat__fail_memory(err, most * 2 * sizeof *chance, "classes");
    LEAT_TRY(read_numbers(use, "initial", initial, most, &n, err));
    for (uint32_t c = 0; c < n; c++) chance[c] = 1;
    if (leat__use_arg(use, "target")->given) {
        LEAT_TRY(read_numbers(use, "target", chance, n, &n_target, err));
        if (n_target != n)
            return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "target: %u numbers for the %u of initial",
                                   n_target, n);
    }
    double largest = 0;
    for (uint32_t c = 0; c < n; c++) {
        if (chance[c] > 0 && !(initial[c] > 0))
            return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                                   "class %u is wanted, and initial says that there is none", c);
        if (chance[c] > 0) chance[c] /= initial[c];
        largest = LEAT_MAX(largest, chance[c]);
    }
    for (uint32_t c = 0; c < n; c++) chance[c] /= largest;
    question->n_chances = n;
    question->chance = chance;
    return 0;
}

/* Records are kept or left out one by one, as they are read. */
static int reject_stream(leat__planner *planner, const leat__use *use, leat_error *err) {
    const leat__arg_value *seed = leat__use_arg(use, "seed");
    leat__question question = {.kind = LEAT_ASK_CHANCE,
                               .seed = seed->given ? (uint64_t)seed->i : planner->plan->seed,
                               .op = use->number};
    int at;
    LEAT_TRY(leat__choice_place(planner, use, (leat__choice_rule){.past_shuffle = true, .past_repeat = true},
                                &at, err));
    LEAT_TRY(find_classes(planner, use, "field", &question, err));
    LEAT_TRY(find_chances(planner, use, &question, err));
    LEAT_TRY(leat__filter_add(planner, use, &question, at, err));
    leat__step *step =
        leat__plan_step_add(planner, use, LEAT_STEP_RELABEL, LEAT_STAGE_TRANSFORM, question.value, err);
    if (!step) return err ? err->code : LEAT_ERR_LIMIT;
    const leat__relabel same = {.n = question.n_chances};
    step->as.relabel = leat__plan_keep(planner, &same, sizeof same, err);
    return step->as.relabel ? 0 : LEAT_ERR_MEMORY;
}

static int plan_rejection(leat__planner *planner, const leat__use *use, leat_error *err) {
    if (planner->plan->stream) return reject_stream(planner, use, err);
    return run_mixture(planner, use, mix_rejection, err);
}

/* ------------------------------------------------------------------------------------------ the table */

#define ARG_CLASS_FIELD                                               \
    {                                                                 \
        .name = "field", .kind = LEAT_ARG_FIELD, .fallback = "label", \
        .help = "the field whose values are the classes"              \
    }

const leat__op leat__ops_filter[] = {
    {.name = "filter",
     .kind = LEAT_OP_ORDER,
     .help = "Keeps the samples for which a condition on their numbers holds.",
     .like = "tf.data.Dataset.filter, torch.utils.data.Subset",
     .plan = plan_filter,
     .arg = {{.name = "where",
              .kind = LEAT_ARG_TEXTS,
              .fallback = "",
              .help = "such as label == 3, \"label in 1,2,5\", \"width >= 200 and not (label == 0 or label "
                      "== cats)\""},
             {.name = "callback",
              .kind = LEAT_ARG_TEXT,
              .fallback = "",
              .named = true,
              .help = "a function that the program gave with leat_spec_filter, instead of a condition"}}},
    {.name = "balance",
     .kind = LEAT_OP_ORDER,
     .help = "Every class equally often, or by weights, each going through its own samples in its own drawn "
             "order.",
     .like = "torch.utils.data.WeightedRandomSampler",
     .random = true,
     .plan = plan_balance,
     .arg = {ARG_CLASS_FIELD,
             {.name = "weights",
              .kind = LEAT_ARG_TEXT,
              .fallback = "",
              .named = true,
              .help = "how often each class comes, by rising label: 0.5,0.3,0.2"},
             {.name = "n",
              .kind = LEAT_ARG_INT,
              .fallback = "0",
              .max = 1e15,
              .named = true,
              .help = "samples in an epoch; 0: the size of the largest class times the number of classes"},
             LEAT_ARG_SEED}},
    {.name = "oversample",
     .kind = LEAT_OP_ORDER,
     .help = "Classes in turn, each repeated up to the size of the largest.",
     .like = "",
     .plan = plan_oversample,
     .arg = {ARG_CLASS_FIELD}},
    {.name = "rejection_resample",
     .kind = LEAT_OP_ORDER,
     .help = "Leaves out samples so that classes come in the proportions of target.",
     .like = "tf.data.Dataset.rejection_resample",
     .random = true,
     .plan = plan_rejection,
     .arg = {ARG_CLASS_FIELD,
             {.name = "target",
              .kind = LEAT_ARG_TEXT,
              .fallback = "",
              .named = true,
              .help = "proportions by rising label, such as 0.5,0.5; left out: all equal"},
             {.name = "initial",
              .kind = LEAT_ARG_TEXT,
              .fallback = "",
              .named = true,
              .help =
                  "streams need it, others count and refuse it: the proportions that are there, for labels "
                  "from 0"},
             LEAT_ARG_SEED}},
    {0},
};
