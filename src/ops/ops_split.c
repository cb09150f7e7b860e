/* SPDX-License-Identifier: Apache-2.0 */
/* Samples divided for training, validation and test: the same text with another part gives the rest. Every sample is put on
 * a side by a rule that knows nothing of the part asked for; then the samples of one side are kept. With fold=i/k there are
 * k equal sides: side i is for validation, the others are for training. */
#include <stdio.h>
#include <stdlib.h>

#include "ops/ops_shared.h"
#include "plan/select.h"

enum { SIDES = LEAT_SPLIT_SIDES, NO_SIDE = LEAT_NO_SIDE, FOLDS = 64 };
enum { TRAIN, VALIDATION };
enum { BY_RANDOM, BY_HASH, BY_ORDER, BY_KERAS_FIRST, BY_KERAS_LAST };
/* Splits are keyed by their seed alone, so that they are equal wherever they stand in a text. */
#define SPLIT_OPERATION UINT32_C(0x73706c74)

typedef struct entry {
    uint64_t key;
    uint32_t at;
} entry;

typedef struct splitting {
    leat__planner *planner;
    const leat__use *use;
    int by, part, n_sides, verb; /* verb: the one it comes in front of */
    int fold;                    /* the side for validation; -1 = sides are parts */
    double fraction[FOLDS];
    uint64_t seed, n;
    bool seeded, stratify;
    const char *group; /* "" = none */
    entry *sequence;   /* (n) positions in the order in which sides are filled */
    uint8_t *side;     /* (n) of each position                                 */
} splitting;

static int fail(const splitting *s, leat_error *err, const char *what) {
    return leat__plan_fail(s->use, err, LEAT_ERR_ARGUMENT, "%s", what);
}

static int read_fractions(splitting *s, leat_error *err) {
    const char *text = leat__use_arg(s->use, "fractions")->text, *at = text;
    double sum = 0;
    while (*at) {
        char part[64];
        double x = 0;
        if (s->n_sides == SIDES || !leat__next_number(&at, &x, part) || !(x >= 0 && x <= 1))
            return leat__plan_fail(
                s->use, err, LEAT_ERR_ARGUMENT,
                "fractions must be two or three numbers from 0 to 1 for train, validation and "
                "test, such as 0.8,0.1,0.1, not '%s'",
                text);
        s->fraction[s->n_sides++] = x;
        sum += x;
    }
    if (s->n_sides < 2) return fail(s, err, "fractions must be two or three numbers, such as 0.8,0.2");
    if (sum > 1 + 1e-9) return fail(s, err, "fractions come to more than 1");
    if (s->part >= s->n_sides)
        return fail(s, err,
                    "there is no test part of two fractions: write three, such as fractions=0.8,0.1,0.1");
    if (s->by >= BY_KERAS_FIRST && (s->n_sides != 2 || sum < 1 - 1e-9))
        return fail(s, err, "Keras has two parts: write two fractions that come to 1, such as 0.8,0.2");
    return 0;
}

/* "0/5": the first of five sides of one size. */
static int read_fold(splitting *s, leat_error *err) {
    const char *text = leat__use_arg(s->use, "fold")->text;
    int64_t fold = -1, n = 0;
    char number[24];
    const size_t len = strcspn(text, "/");
    snprintf(number, sizeof number, "%.*s", (int)LEAT_MIN(len, sizeof number - 1), text);
    if (!text[len] || !leat__parse_int(number, &fold) || !leat__parse_int(text + len + 1, &n) || n < 2 ||
        n > FOLDS || fold < 0 || fold >= n)
        return leat__plan_fail(s->use, err, LEAT_ERR_ARGUMENT,
                               "fold must be such as 0/5, up to 4/5, with 2 to %d folds, not '%s'", FOLDS,
                               text);
    if (leat__use_arg(s->use, "fractions")->given)
        return fail(s, err, "folds have one size: leave out fractions");
    if (s->part > VALIDATION) return fail(s, err, "folds have no test part: write train or validation");
    if (s->by >= BY_KERAS_FIRST) return fail(s, err, "Keras has no folds: write by=random, hash or order");
    if (s->planner->plan->stream)
        return fail(s, err, "a stream has no folds: leat pack writes records that can be divided");
    s->fold = (int)fold;
    s->n_sides = (int)n;
    for (int i = 0; i < s->n_sides; i++) s->fraction[i] = 1.0 / (double)n;
    return 0;
}

static int check(const splitting *s, leat_error *err) {
    if (s->stratify && *s->group)
        return fail(
            s, err,
            "groups are kept together, so shares cannot be kept in every class: leave out stratify or "
            "group");
    if (s->stratify && s->by == BY_HASH)
        return fail(s, err,
                    "by=hash decides about each sample by itself, so shares cannot be kept in every class: "
                    "write by=random, or leave out stratify");
    if ((s->stratify || *s->group) && s->by >= BY_KERAS_FIRST)
        return fail(s, err, "Keras knows neither stratify nor group");
    if (strcmp(s->group, "dir") == 0 && !s->planner->plan->source->class->path)
        return fail(s, err, "group=dir needs a source of files: folder or list");
    if (s->planner->plan->stream && s->by != BY_HASH)
        return fail(s, err, "how many records a stream holds is not known before: write by=hash");
    return 0;
}

/* ---------------------------------------------------------------------------------------------- sides */

/* Shares of the hash's range. */
static uint64_t border(const splitting *s, int side) {
    double sum = 0;
    for (int i = 0; i < side; i++) sum += s->fraction[i];
    return sum > 1 - 1e-9 ? UINT64_MAX : (uint64_t)(sum * 0x1p64);
}

static uint8_t side_of_hash(const splitting *s, uint64_t h) {
    for (int i = 0; i < s->n_sides; i++)
        if (h < border(s, i + 1) || border(s, i + 1) == UINT64_MAX) return (uint8_t)i;
    return NO_SIDE;
}

static int by_key(const void *a, const void *b) {
    const entry *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* How many samples each side gets, of one class or of all. Folds differ by one sample at the most, over all classes too:
 * what is left of a class goes to the folds behind those that got what was left of the class before it. */
static void share(const splitting *s, uint64_t size, uint64_t *left_before, uint64_t *count) {
    if (s->fold < 0) {
        leat__shares(s->fraction, s->n_sides, size, count);
        return;
    }
    const uint64_t n = (uint64_t)s->n_sides, left = size % n;
    for (uint64_t i = 0; i < n; i++) count[i] = size / n + ((i + n - *left_before % n) % n < left);
    *left_before += left;
}

/* Fills the sides one after the other. */
static void fill_sides(splitting *s) {
    uint64_t count[FOLDS], left = 0;
    share(s, s->n, &left, count);
    int side = 0;
    for (uint64_t i = 0; i < s->n; i++) {
        const uint32_t at = s->sequence[i].at;
        while (side < s->n_sides && count[side] == 0) side++;
        s->side[at] = side < s->n_sides ? (uint8_t)side : NO_SIDE;
        if (side < s->n_sides) count[side]--;
    }
}

/* The same for all classes at once: each has its own shares. */
static int fill_classes(splitting *s, leat_error *err) {
    leat__class_list list;
    LEAT_TRY(leat__classes_ask(s->planner, s->use, "field", s->verb, &list, err));
    uint64_t(*count)[FOLDS] = leat__alloc(LEAT_MEM_INDEX, list.n_classes * sizeof *count), left = 0;
    if (!count) {
        leat__class_list_free(&list);
        return leat__fail_memory(err, list.n_classes * sizeof *count, "classes");
    }
    for (uint32_t c = 0; c < list.n_classes; c++) share(s, list.size[c], &left, count[c]);
    for (uint64_t i = 0; i < s->n; i++) {
        const uint32_t at = s->sequence[i].at, c = list.class[at];
        int side = 0;
        while (c != LEAT_NO_CLASS && side < s->n_sides && count[c][side] == 0) side++;
        if (c == LEAT_NO_CLASS || side == s->n_sides) continue;
        s->side[at] = (uint8_t)side;
        count[c][side]--;
    }
    leat__free(count);
    leat__class_list_free(&list);
    return 0;
}

/* A hash of what keeps samples together, or of the sample itself; to be freed. */
static int ask_hashes(splitting *s, leat__question *question, uint64_t **out, leat_error *err) {
    uint64_t n_bad;
    LEAT_TRY(leat__question_prepare(s->planner, s->use, question, err));
    *out = leat__alloc(LEAT_MEM_INDEX, LEAT_MAX(s->n, (uint64_t)1) * sizeof **out);
    if (!*out) return leat__fail_memory(err, s->n * sizeof **out, "hashes");
    return leat__question_all(s->planner, s->use, question, s->verb, s->n, *out, &n_bad, err);
}

/* Puts each group as a whole on one side: the side whose share contains the middle of the group. */
static int fill_groups(splitting *s, uint64_t *hash, leat_error *err) {
    leat__class_list list;
    for (uint64_t i = 0; i < s->n; i++)
        if (hash[i] == LEAT_ANSWER_NONE) hash[i] = 0; /* a group like any other */
    LEAT_TRY(leat__class_list_make(&list, hash, s->n, err));
    entry *group = leat__alloc(LEAT_MEM_INDEX, LEAT_MAX(list.n_classes, 1u) * sizeof *group);
    uint8_t *side = leat__alloc(LEAT_MEM_INDEX, LEAT_MAX(list.n_classes, 1u));
    int rc = group && side ? 0 : leat__fail_memory(err, list.n_classes * sizeof *group, "groups");
    if (rc == 0) {
        for (uint32_t g = 0; g < list.n_classes; g++) group[g] = (entry){.key = UINT64_MAX, .at = g};
        for (uint64_t i = s->n; i-- > 0;) /* by=order: as they first appear; by=random: by their hash */
            group[list.class[i]].key =
                s->by == BY_ORDER ? i : leat__mix64((uint64_t)list.number[list.class[i]]);
        qsort(group, list.n_classes, sizeof *group, by_key);
        uint64_t before = 0;
        for (uint32_t g = 0; g < list.n_classes; g++) {
            const uint64_t size = list.size[group[g].at];
            const double middle = ((double)before + (double)size / 2) / (double)s->n;
            double share = 0;
            side[group[g].at] = NO_SIDE;
            for (int k = 0; k < s->n_sides && side[group[g].at] == NO_SIDE; k++)
                if (middle < (share += s->fraction[k]) + 1e-12) side[group[g].at] = (uint8_t)k;
            before += size;
        }
        for (uint64_t i = 0; i < s->n; i++) s->side[i] = side[list.class[i]];
    }
    leat__free(group);
    leat__free(side);
    leat__class_list_free(&list);
    return rc;
}

static int group_question(splitting *s, leat__question *question, leat_error *err) {
    question->kind = strcmp(s->group, "dir") == 0 ? LEAT_ASK_FOLDER : LEAT_ASK_HASH;
    if (question->kind == LEAT_ASK_FOLDER) return 0;
    LEAT_TRY(leat__plan_field_find(s->planner, s->use, "group", &question->value, err));
    question->values = UINT32_C(1) << question->value;
    return 0;
}

static int fill_by_hash(splitting *s, leat_error *err) {
    leat__question question = {.kind = LEAT_ASK_PATH, .value = -1, .seed = s->seed, .text = s->group};
    uint64_t *hash = NULL;
    int rc = *s->group ? group_question(s, &question, err) : 0;
    if (rc == 0) rc = ask_hashes(s, &question, &hash, err);
    if (rc == 0 && *s->group && s->by != BY_HASH) rc = fill_groups(s, hash, err);
    else
        for (uint64_t i = 0; i < s->n && rc == 0; i++) s->side[i] = side_of_hash(s, hash[i]);
    leat__free(hash);
    return rc;
}

/* --------------------------------------------------------------------------------------------- Keras */

/* ImageDataGenerator: the first part of every class is for validation. */
static int fill_keras_first(splitting *s, leat_error *err) {
    leat__class_list list;
    LEAT_TRY(leat__classes_ask(s->planner, s->use, "field", s->verb, &list, err));
    uint64_t *left = list.size; /* of each class, for validation */
    for (uint32_t c = 0; c < list.n_classes; c++) left[c] = (uint64_t)(s->fraction[1] * (double)list.size[c]);
    for (uint64_t i = 0; i < s->n; i++) {
        const uint32_t c = list.class[i];
        if (c == LEAT_NO_CLASS) continue;
        s->side[i] = left[c] > 0;
        left[c] -= left[c] > 0;
    }
    leat__class_list_free(&list);
    return 0;
}

/* image_dataset_from_directory: the last part of all, which are shuffled before if there is a seed. */
static int fill_keras_last(splitting *s, leat_error *err) {
    if (s->seed > UINT32_MAX) return fail(s, err, "NumPy's seeds lie below 4294967296");
    if (s->seeded) {
        uint32_t *order = leat__alloc(LEAT_MEM_INDEX, LEAT_MAX(s->n, (uint64_t)1) * sizeof *order);
        if (!order) return leat__fail_memory(err, s->n * sizeof *order, "a split");
        for (uint64_t i = 0; i < s->n; i++) order[i] = (uint32_t)i;
        leat__numpy_shuffle(order, (uint32_t)s->n, (uint32_t)s->seed);
        for (uint64_t i = 0; i < s->n; i++) s->sequence[i].at = order[i];
        leat__free(order);
    }
    const uint64_t n_validation = (uint64_t)(s->fraction[1] * (double)s->n);
    for (uint64_t i = 0; i < s->n; i++) s->side[s->sequence[i].at] = i >= s->n - n_validation;
    return 0;
}

/* ---------------------------------------------------------------------------------------------- plan */

static int fill(splitting *s, leat_error *err) {
    for (uint64_t i = 0; i < s->n; i++) {
        leat__rng rng = leat__rng_at(s->seed, 0, i, SPLIT_OPERATION);
        s->sequence[i] = (entry){.key = s->by == BY_RANDOM ? leat__rng_u64(&rng) : i, .at = (uint32_t)i};
        s->side[i] = NO_SIDE;
    }
    if (s->by == BY_KERAS_FIRST) return fill_keras_first(s, err);
    if (s->by == BY_KERAS_LAST) return fill_keras_last(s, err);
    if (s->by == BY_HASH || *s->group) return fill_by_hash(s, err);
    if (s->by == BY_RANDOM) qsort(s->sequence, s->n, sizeof *s->sequence, by_key);
    if (s->stratify) return fill_classes(s, err);
    fill_sides(s);
    return 0;
}

/* Samples keep their order, except that Keras's are in that of Keras. */
static int keep_side(splitting *s, leat_error *err) {
    uint64_t kept = 0;
    for (uint64_t i = 0; i < s->n; i++) kept += s->side[i] == s->part;
    if (kept == 0)
        return leat__plan_fail(s->use, err, LEAT_ERR_NOT_FOUND,
                               "no sample is left: of %" PRIu64 " none is in this part", s->n);
    uint32_t *pick = leat__alloc(LEAT_MEM_INDEX, kept * sizeof *pick);
    if (!pick) return leat__fail_memory(err, kept * sizeof *pick, "a split");
    kept = 0;
    for (uint64_t i = 0; i < s->n; i++) {
        const uint32_t at = s->by == BY_KERAS_LAST ? s->sequence[i].at : (uint32_t)i;
        if (s->side[at] == s->part) pick[kept++] = at;
    }
    return leat__choice_insert(s->planner, s->verb,
                               (leat__order_verb){.kind = LEAT_ORDER_PICK, .count = kept, .pick = pick}, err);
}

static int split_stream(splitting *s, leat_error *err) {
    leat__question question = {.value = -1, .seed = s->seed, .text = ""};
    if (*s->group) LEAT_TRY(group_question(s, &question, err));
    question.kind = LEAT_ASK_PART;
    question.from = border(s, s->part);
    question.to = border(s, s->part + 1);
    return leat__filter_add(s->planner, s->use, &question, s->verb, err);
}

static int begin(splitting *s, leat__planner *planner, const leat__use *use, leat_error *err) {
    *s = (splitting){.planner = planner,
                     .use = use,
                     .fold = -1,
                     .part = (int)leat__use_arg(use, "part")->i,
                     .by = (int)leat__use_arg(use, "by")->i,
                     .stratify = leat__use_arg(use, "stratify")->i != 0,
                     .group = leat__use_arg(use, "group")->text,
                     .seeded = leat__use_arg(use, "seed")->given,
                     .seed = (uint64_t)leat__use_arg(use, "seed")->i};
    LEAT_TRY(*leat__use_arg(use, "fold")->text ? read_fold(s, err) : read_fractions(s, err));
    LEAT_TRY(check(s, err));
    return leat__choice_place(planner, use, (leat__choice_rule){.past_shuffle = true}, &s->verb, err);
}

static int find_sides(splitting *s, leat_error *err) {
    s->n = s->planner->plan->order.length[s->verb];
    s->sequence = leat__alloc(LEAT_MEM_INDEX, LEAT_MAX(s->n, (uint64_t)1) * sizeof *s->sequence);
    s->side = leat__alloc(LEAT_MEM_INDEX, LEAT_MAX(s->n, (uint64_t)1));
    if (!s->sequence || !s->side) return leat__fail_memory(err, s->n * sizeof *s->sequence, "a split");
    LEAT_TRY(fill(s, err));
    if (s->fold < 0) return 0;
    for (uint64_t i = 0; i < s->n; i++)
        if (s->side[i] != NO_SIDE) s->side[i] = s->side[i] == s->fold ? VALIDATION : TRAIN;
    s->n_sides = 2;
    return 0;
}

static int plan_split(leat__planner *planner, const leat__use *use, leat_error *err) {
    splitting s;
    LEAT_TRY(begin(&s, planner, use, err));
    if (planner->plan->stream) return split_stream(&s, err);
    int rc = find_sides(&s, err);
    if (rc == 0) rc = keep_side(&s, err);
    leat__free(s.sequence);
    leat__free(s.side);
    return rc;
}

int leat__split_sides(leat__planner *planner, const leat__use *use, leat__split *out, leat_error *err) {
    splitting s;
    *out = (leat__split){0};
    LEAT_TRY(begin(&s, planner, use, err));
    const int rc = find_sides(&s, err);
    leat__free(s.sequence);
    if (rc < 0) leat__free(s.side);
    else *out = (leat__split){.verb = s.verb, .n_sides = s.n_sides, .n = s.n, .side = s.side};
    return rc;
}

const leat__op leat__ops_split[] = {
    {.name = "split",
     .kind = LEAT_OP_ORDER,
     .help = "One part of the samples; the same text with another part gives the rest.",
     .like = "keras.utils.split_dataset, keras.utils.image_dataset_from_directory(validation_split), keras "
             "ImageDataGenerator(validation_split), torch.utils.data.random_split",
     .plan = plan_split,
     .arg = {{.name = "part", .kind = LEAT_ARG_WORD, .words = "train|validation|test", .help = "which one"},
             {.name = "fractions",
              .kind = LEAT_ARG_TEXT,
              .fallback = "0.8,0.2",
              .named = true,
              .help = "shares of train, validation and test"},
             {.name = "fold",
              .kind = LEAT_ARG_TEXT,
              .fallback = "",
              .named = true,
              .help = "instead of fractions: 0/5 to 4/5 are five folds, of which one is for validation"},
             {.name = "by",
              .kind = LEAT_ARG_WORD,
              .fallback = "random",
              .words = "random|hash|order|keras_first|keras_last",
              .named = true,
              .help = "hash: of the path or the record, stable when files are added; order: the first are "
                      "for train"},
             {.name = "stratify",
              .kind = LEAT_ARG_BOOL,
              .fallback = "false",
              .named = true,
              .help = "keep the shares in every class"},
             {.name = "group",
              .kind = LEAT_ARG_TEXT,
              .fallback = "",
              .named = true,
              .help = "a field whose equal values stay together; dir: files of one folder do"},
             {.name = "field",
              .kind = LEAT_ARG_FIELD,
              .fallback = "label",
              .named = true,
              .help = "the classes of stratify"},
             {.name = "seed",
              .kind = LEAT_ARG_INT,
              .fallback = "",
              .named = true,
              .help = "its own seed, 0 if left out: the pipeline's seed does not count"}}},
    {0},
};
