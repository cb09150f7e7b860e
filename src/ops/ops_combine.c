/* SPDX-License-Identifier: Apache-2.0 */
/* Several data sets combined to one; combination.h says how. */
#include <stdio.h>

#include "ops/ops_shared.h"
#include "plan/combine/combination.h"

/* Choices are drawn in blocks of about so many: proportions are exact in each, and neighbours look independent. */
enum { DRAWN_BLOCK = 4096 };

/* --------------------------------------------------------------------------------- one after the other */

static int concatenate(leat__combination *c, leat_error *err) {
    bool plain = true;
    for (int k = 0; k < c->n; k++) {
        plain = plain && c->order[k]->n_verbs == 0;
        if (leat__order_endless(c->order[k]) && k + 1 < c->n)
            return leat__plan_fail(
                c->use, err, LEAT_ERR_SYNTAX,
                "'%.100s' has no end, so what follows it never comes: give repeat a number",
                c->subtext[k].text);
    }
    if (c->streams) return leat__combination_stream(c, LEAT_BRANCH_CONCAT, NULL, false, err);
    if (!plain) LEAT_TRY(leat__combination_order(c, LEAT_BRANCH_CONCAT, NULL, err));
    return leat__combination_finish(c, 0, err);
}

static int plan_concatenate(leat__planner *planner, const leat__use *use, leat_error *err) {
    leat__combination c;
    int rc = leat__combination_begin(&c, planner, use, false, err);
    if (rc == 0) rc = concatenate(&c, err);
    leat__combination_end(&c);
    return rc;
}

/* ----------------------------------------------------------------------------------------------- mixed */

static int mix(leat__combination *c, leat__blend_options options, leat_error *err) {
    leat__blend *blend;
    options.n = c->n;
    options.length = c->length;
    options.stop = leat__use_arg(c->use, "stop_on_empty")->i != 0;
    LEAT_TRY(leat__blend_new(&blend, &options, err));
    if (c->streams) return leat__combination_stream(c, LEAT_BRANCH_BLEND, blend, false, err);
    LEAT_TRY(leat__combination_order(c, LEAT_BRANCH_BLEND, blend, err));
    return leat__combination_finish(c, 0, err);
}

static int sample_from(leat__combination *c, leat_error *err) {
    const char *text = leat__use_arg(c->use, "weights")->text, *at = text;
    double weight[LEAT_BLEND_MAX], x, sum = 0;
    uint64_t quota[LEAT_BLEND_MAX], block = 0;
    char part[64];
    int n = 0;
    for (; *at; n++) {
        if (!leat__next_number(&at, &x, part) || !(x >= 0) || x > 1e15)
            return leat__plan_fail(
                c->use, err, LEAT_ERR_ARGUMENT,
                "weights must be numbers that are not below 0, separated by commas, not '%s'", part);
        if (n < c->n) weight[n] = x;
        sum += x;
    }
    for (; *text == 0 && n < c->n; n++) sum += weight[n] = 1;
    if (n != c->n)
        return leat__plan_fail(c->use, err, LEAT_ERR_ARGUMENT, "weights: %d numbers for %d texts", n, c->n);
    if (!(sum > 0)) return leat__plan_fail(c->use, err, LEAT_ERR_ARGUMENT, "weights: all of them are 0");
    if (leat__balance_quotas(weight, (uint32_t)n, quota, NULL) < 0)
        return leat__plan_fail(c->use, err, LEAT_ERR_LIMIT,
                               "a weight is less than one in %d of all: write 0, or a larger one",
                               DRAWN_BLOCK);
    for (int k = 0; k < n; k++) block += quota[k];
    for (int k = 0; k < n; k++) quota[k] *= LEAT_MAX(DRAWN_BLOCK / block, (uint64_t)1);
    const bool redraw = leat__use_arg(c->use, "rerandomize")->i != 0;
    if (redraw && leat__use_arg(c->use, "stop_on_empty")->i)
        return leat__plan_fail(c->use, err, LEAT_ERR_SYNTAX,
                               "with stop_on_empty=true every epoch would have another length: leave out "
                               "rerandomize, or write repeat into the texts and take behind");
    return mix(c,
               (leat__blend_options){.quota = quota,
                                     .redraw = redraw,
                                     .seed = leat__plan_seed(c->planner, c->use),
                                     .op = c->use->number},
               err);
}

static int plan_sample_from(leat__planner *planner, const leat__use *use, leat_error *err) {
    leat__combination c;
    int rc = leat__combination_begin(&c, planner, use, false, err);
    if (rc == 0) rc = sample_from(&c, err);
    leat__combination_end(&c);
    return rc;
}

static int read_pattern(const leat__combination *c, uint16_t *pattern, uint64_t *quota, uint32_t *n,
                        leat_error *err) {
    const char *at = leat__use_arg(c->use, "pattern")->text;
    char part[64] = "";
    double x;
    bool good = *at != 0;
    for (*n = 0; *at; ++*n) {
        if (*n == LEAT_BLEND_BLOCK_MAX)
            return leat__plan_fail(c->use, err, LEAT_ERR_LIMIT, "pattern: more than %d numbers",
                                   LEAT_BLEND_BLOCK_MAX);
        good = leat__next_number(&at, &x, part) && x >= 0 && x < c->n && x == (double)(int)x;
        if (!good) break;
        pattern[*n] = (uint16_t)x;
        quota[(int)x]++;
    }
    if (good) return 0;
    return leat__plan_fail(c->use, err, LEAT_ERR_ARGUMENT,
                           "pattern must be numbers of texts from 0 to %d, separated by commas, not '%s'",
                           c->n - 1, part);
}

static int choose_from(leat__combination *c, leat_error *err) {
    uint64_t quota[LEAT_BLEND_MAX] = {0};
    uint32_t n;
    uint16_t *pattern = leat__alloc(LEAT_MEM_PLAN, LEAT_BLEND_BLOCK_MAX * sizeof *pattern);
    if (!pattern) return leat__fail_memory(err, LEAT_BLEND_BLOCK_MAX * sizeof *pattern, "a pattern");
    int rc = read_pattern(c, pattern, quota, &n, err);
    if (rc == 0) rc = mix(c, (leat__blend_options){.quota = quota, .pattern = pattern}, err);
    leat__free(pattern);
    return rc;
}

static int plan_choose_from(leat__planner *planner, const leat__use *use, leat_error *err) {
    leat__combination c;
    int rc = leat__combination_begin(&c, planner, use, false, err);
    if (rc == 0) rc = choose_from(&c, err);
    leat__combination_end(&c);
    return rc;
}

/* ---------------------------------------------------------------------------------------- side by side */

static int pair_lengths(const leat__combination *c, uint64_t *shortest, leat_error *err) {
    int least = 0;
    for (int k = 1; k < c->n; k++)
        if (c->length[k] < c->length[least]) least = k;
    *shortest = c->length[least];
    for (int k = 0; k < c->n && leat__use_arg(c->use, "stop")->i == 0; k++) {
        char has[40] = "no end";
        if (c->length[k] == *shortest) continue;
        if (c->length[k] != LEAT_ENDLESS) snprintf(has, sizeof has, "%" PRIu64 " samples", c->length[k]);
        return leat__plan_fail(
            c->use, err, LEAT_ERR_SHAPE,
            "'%.100s' has %s and '%.100s' has %" PRIu64
            " samples: what belongs together must be equally long; stop=shortest leaves out "
            "the rest",
            c->subtext[k].text, has, c->subtext[least].text, *shortest);
    }
    return 0;
}

/* Which sample of text k every pair has, if that is not simply its own number. */
static int list_pairs(leat__combination *c, int k, uint64_t n, leat_error *err) {
    leat__order *order = c->order[k];
    if (order->n_verbs == 0) return 0;
    uint32_t *pick = c->part[k].pick = leat__alloc(LEAT_MEM_INDEX, LEAT_MAX(n, (uint64_t)1) * sizeof *pick);
    if (!pick) return leat__fail_memory(err, n * sizeof *pick, "pairs");
    LEAT_TRY(leat__order_allocate(order, err));
    for (uint64_t i = 0; i < n; i++) pick[i] = (uint32_t)leat__order_map(order, 0, i).sample;
    return 0;
}

/* Pairs that are the same in every epoch are numbered one after the other. If a text is shuffled by itself, any two
 * samples may meet, and a pair has a number among all that there could be. */
static int zip(leat__combination *c, leat_error *err) {
    uint64_t n;
    bool fixed = true, plain = true;
    if (c->streams)
        return leat__combination_stream(c, LEAT_BRANCH_ZIP, NULL, leat__use_arg(c->use, "stop")->i == 0, err);
    LEAT_TRY(pair_lengths(c, &n, err));
    for (int k = 0; k < c->n; k++) {
        for (int i = 0; i < c->order[k]->n_verbs; i++)
            fixed = fixed && leat__order_fixed(&c->order[k]->verb[i]);
        plain = plain && (c->order[k]->n_verbs == 0 || c->subtext[k].plan.source->n_samples <= UINT32_MAX);
    }
    if (fixed && plain && n <= UINT32_MAX) {
        for (int k = 0; k < c->n; k++) LEAT_TRY(list_pairs(c, k, n, err));
        return leat__combination_finish(c, n, err);
    }
    uint64_t all = 1;
    for (int k = 0; k < c->n; k++) {
        c->part[k].stride = c->first[k] = all;
        if (__builtin_mul_overflow(all, c->subtext[k].plan.source->n_samples, &all) || all > UINT64_MAX / 4)
            return leat__plan_fail(c->use, err, LEAT_ERR_LIMIT,
                                   "there are too many pairs to number them: write shuffle behind zip");
    }
    LEAT_TRY(leat__combination_order(c, LEAT_BRANCH_ZIP, NULL, err));
    return leat__combination_finish(c, all, err);
}

static int plan_zip(leat__planner *planner, const leat__use *use, leat_error *err) {
    leat__combination c;
    int rc = leat__combination_begin(&c, planner, use, true, err);
    if (rc == 0) rc = zip(&c, err);
    leat__combination_end(&c);
    return rc;
}

#define TEXTS                                                                                        \
    {                                                                                                \
        .name = "texts", .kind = LEAT_ARG_TEXTS,                                                     \
        .help = "pipelines in quotes, such as 'folder a | take 100', or parts of the program: @NAME" \
    }

const leat__op leat__ops_combine[] = {
    {.name = "concatenate",
     .kind = LEAT_OP_SOURCE,
     .help = "Several data sets with the same fields, one after the other.",
     .like = "tf.data.Dataset.concatenate, torch.utils.data.ConcatDataset",
     .flags = LEAT_OP_COMBINES,
     .plan = plan_concatenate,
     .arg = {TEXTS}},
    {.name = "sample_from",
     .kind = LEAT_OP_SOURCE,
     .help = "Several data sets mixed by drawing, each with its weight and in its own order.",
     .like = "tf.data.Dataset.sample_from_datasets",
     .random = true,
     .flags = LEAT_OP_COMBINES,
     .plan = plan_sample_from,
     .arg = {TEXTS,
             {.name = "weights",
              .kind = LEAT_ARG_TEXT,
              .fallback = "",
              .named = true,
              .help = "one number for each, such as 0.7,0.3; else all alike"},
             {.name = "stop_on_empty",
              .kind = LEAT_ARG_BOOL,
              .fallback = "false",
              .named = true,
              .help = "true: the end is where one that has no more would come; else the others go on alone"},
             {.name = "rerandomize",
              .kind = LEAT_ARG_BOOL,
              .fallback = "false",
              .named = true,
              .help = "true: other choices in every epoch"},
             LEAT_ARG_SEED}},
    {.name = "choose_from",
     .kind = LEAT_OP_SOURCE,
     .help = "Several data sets mixed by a pattern, each in its own order.",
     .like = "tf.data.Dataset.choose_from_datasets",
     .flags = LEAT_OP_COMBINES,
     .plan = plan_choose_from,
     .arg = {TEXTS,
             {.name = "pattern",
              .kind = LEAT_ARG_TEXT,
              .named = true,
              .help = "numbers of data sets from 0 on, such as 0,0,1, again and again"},
             {.name = "stop_on_empty",
              .kind = LEAT_ARG_BOOL,
              .fallback = "true",
              .named = true,
              .help =
                  "true: the end is where one that has no more would come; else the others go on alone"}}},
    {.name = "zip",
     .kind = LEAT_OP_SOURCE,
     .help = "Samples made of one sample of each of several data sets, such as pictures and their masks.",
     .like = "tf.data.Dataset.zip, torch.utils.data.StackDataset",
     .flags = LEAT_OP_COMBINES,
     .plan = plan_zip,
     .arg =
         {{.name = "texts",
           .kind = LEAT_ARG_TEXTS,
           .pairs = true,
           .help =
               "such as image='folder images' mask='folder masks', or image=@NAME for a part of the program"},
          {.name = "stop",
           .kind = LEAT_ARG_WORD,
           .fallback = "equal",
           .words = "equal|shortest",
           .named = true,
           .help = "equal: lengths must be; shortest: what others have more is left out"}}},
    {0},
};
