/* SPDX-License-Identifier: Apache-2.0 */
/* Chains of image operations of which each sample gets one, or none, by chance. sample/chance.h says how they are run. */
#include <stdio.h>

#include "ops/ops_shared.h"
#include "plan/planner.h"

enum { LEVELS = 2 }; /* a choice may stand inside of a branch: the number of an operation has room for that */

typedef struct branching { /* while the branches of one choice are planned */
    leat__planner *planner;
    const leat__use *use;
    int level; /* 0: not inside of another choice */
    leat__chance *choice;
    int first; /* step of the first branch         */
    leat__plan_field before[LEAT_VALUES_MAX];
    bool live[LEAT_VALUES_MAX];
    int n_fields;
} branching;

/* ---------------------------------------------------------------------------------------- what may stand */

static int check_use(const branching *b, const leat__use *use, leat_error *err) {
    const bool works = use->op->kind == LEAT_OP_IMAGE || use->op->flags & LEAT_OP_SCALES;
    if (works && !(use->op->flags & LEAT_OP_READS)) return 0;
    return leat__plan_fail(use, err, LEAT_ERR_SYNTAX,
                           "it is not an operation on pictures, which some samples can do without: write it "
                           "in front of %s or behind",
                           b->use->op->name);
}

/* Whether the result of the step has another size than what it gets, or may have. */
static bool resizes(const leat__step *step) {
    if (step->kind == LEAT_STEP_PICTURE) {
        const leat__picture_plan *picture = step->as.picture;
        return picture->height || picture->width || picture->channels || picture->turned;
    }
    if (step->kind != LEAT_STEP_PASS) return false;
    const leat__pass_plan *pass = step->as.pass;
    return pass->crop.draw || pass->pad.draw || pass->resample != LEAT_RESAMPLE_NONE || pass->warp.height ||
           pass->warp.width;
}

static bool is_known(const leat__plan_field *field) {
    for (int i = 0; i < field->info.ndim; i++)
        if (field->info.shape[i] < 0) return false;
    return true;
}

/* The steps that one operation has added. */
static int check_steps(const branching *b, const leat__use *use, int from, leat_error *err) {
    const leat__plan *plan = b->planner->plan;
    for (int i = from; i < plan->n_steps; i++) {
        const leat__step *step = &plan->step[i];
        if (step->kind != LEAT_STEP_PASS && step->kind != LEAT_STEP_PICTURE && step->kind != LEAT_STEP_CHOOSE)
            return leat__plan_fail(
                use, err, LEAT_ERR_SYNTAX,
                "it works on pictures only inside of %s: write it in front of it or behind",
                b->use->op->name);
        if (resizes(step) && !is_known(&b->before[step->value]))
            return leat__plan_fail(
                use, err, LEAT_ERR_SHAPE,
                "it changes the size, and the size of field %s is not known in front of %s: resize it before",
                b->before[step->value].info.name, b->use->op->name);
    }
    return 0;
}

static void write_shape(const leat_field *info, char text[80]) {
    int n = snprintf(text, 80, "%s", leat_dtype_name(info->dtype));
    for (int i = 0; i < info->ndim && n < 80; i++)
        n += snprintf(text + n, (size_t)(80 - n), "%s%" PRId64, i ? "x" : " ", info->shape[i]);
}

/* A branch leaves every field as it was. */
static int check_fields(const branching *b, const leat__use *last, leat_error *err) {
    const leat__planner *planner = b->planner;
    for (int i = 0; i < planner->n_fields; i++) {
        const leat__plan_field *now = &planner->field[i], *was = &b->before[i];
        if (i >= b->n_fields || planner->live[i] != b->live[i])
            return leat__plan_fail(last, err, LEAT_ERR_SYNTAX,
                                   "it changes which fields there are: write it "
                                   "in front of %s or behind",
                                   b->use->op->name);
        if (!planner->live[i]) continue;
        bool same = now->info.ndim == was->info.ndim && now->by_bucket == was->by_bucket;
        for (int k = 0; same && k < now->info.ndim; k++) same = now->info.shape[k] == was->info.shape[k];
        if (same && now->info.dtype == LEAT_DTYPE_F32 && was->info.dtype == LEAT_DTYPE_U8)
            return leat__plan_fail(
                last, err, LEAT_ERR_TYPE,
                "field %s is f32 behind it, and u8 for samples that come without it: write "
                "cast f32 in front of %s, or cast u8 at the end of this text",
                was->info.name, b->use->op->name);
        char before[80], behind[80];
        write_shape(&was->info, before);
        write_shape(&now->info, behind);
        if (!same || now->info.dtype != was->info.dtype)
            return leat__plan_fail(last, err, LEAT_ERR_SHAPE,
                                   "field %s is %s behind it, and %s for samples that come without it: %s "
                                   "takes operations that keep size and type",
                                   was->info.name, behind, before, b->use->op->name);
        if (now->nchw != was->nchw)
            return leat__plan_fail(last, err, LEAT_ERR_SYNTAX, "write layout behind %s", b->use->op->name);
    }
    return 0;
}

/* --------------------------------------------------------------------------------------------- planning */

/* What comes next begins a pass: a pass belongs to one branch. */
static void close_passes(leat__planner *planner) {
    for (int i = 0; i < planner->n_fields; i++) leat__plan_close_pass(planner, i);
}

static int run_text(branching *b, leat_spec *spec, int number, leat_error *err) {
    leat__planner *planner = b->planner;
    for (int i = 0; i < spec->n_uses; i++) {
        leat__use *use = &spec->use[i];
        const int from = planner->plan->n_steps;
        if (i >= LEAT_BRANCHES_MAX)
            return leat__plan_fail(use, err, LEAT_ERR_LIMIT, "more than %d operations in a text",
                                   LEAT_BRANCHES_MAX);
        use->number = leat__number_inside(b->use->number, b->level, number, i);
        if (!use->stir) { /* then it draws as the choice does */
            use->draws = leat__number_inside(b->use->draws, b->level, number, i);
            use->stir = b->use->stir;
        }
        LEAT_TRY(check_use(b, use, err));
        LEAT_TRY(leat__plan_use(planner, use, err));
        LEAT_TRY(check_steps(b, use, from, err));
    }
    return check_fields(b, &spec->use[spec->n_uses - 1], err);
}

static int plan_branch(branching *b, int number, const char *text, int column, leat_error *err) {
    leat__planner *planner = b->planner;
    leat_spec *spec = leat_spec_new(NULL);
    if (!spec) return leat__fail_memory(err, sizeof *spec, "a pipeline text");
    int rc = leat__spec_read(spec, text, column, err);
    spec->n_called = planner->spec->n_called;
    memcpy(spec->called, planner->spec->called, sizeof spec->called);
    planner->branch = number;
    close_passes(planner);
    if (rc == 0) rc = run_text(b, spec, number, err);
    close_passes(planner);
    leat_spec_free(&spec);
    for (int i = 0; rc == 0 && i < planner->n_fields; i++) {
        const int trail = planner->field[i].trail;
        if (!trail) continue;
        b->choice->branch[number].n_moves[trail - 1] = planner->field[i].n_moves - b->before[i].n_moves;
        b->before[i].n_moves = planner->field[i].n_moves;
    }
    return rc;
}

/* Fields that no branch works on go on with the pass that they had. */
static void reopen_passes(const branching *b) {
    leat__planner *planner = b->planner;
    for (int i = 0; i < b->n_fields; i++) {
        bool touched = false;
        for (int k = b->first; k < planner->plan->n_steps; k++) touched |= planner->plan->step[k].value == i;
        if (!touched) planner->field[i].pass = b->before[i].pass;
    }
}

static int begin(branching *b, leat__planner *planner, const leat__use *use, int n, leat_error *err) {
    leat__plan *plan = planner->plan;
    *b = (branching){.planner = planner, .use = use, .n_fields = planner->n_fields};
    memcpy(b->before, planner->field, sizeof b->before);
    memcpy(b->live, planner->live, sizeof b->live);
    for (int i = 0; i < planner->n_fields; i++)
        if (planner->live[i] && planner->field[i].device)
            return leat__plan_fail(use, err, LEAT_ERR_UNSUPPORTED,
                                   "a device does the same operations for all samples: write it before "
                                   "on_device");
    for (uint32_t inside = use->number >> LEAT_NUMBER_BITS; inside; inside >>= 2 * LEAT_INSIDE_BITS)
        b->level++;
    if (b->level == LEVELS)
        return leat__plan_fail(use, err, LEAT_ERR_LIMIT,
                               "choices stand inside of one another more than %d deep", LEVELS);
    if (plan->n_choices == LEAT_CHANCES_MAX)
        return leat__plan_fail(use, err, LEAT_ERR_LIMIT, "more than %d of random_apply and random_choice",
                               LEAT_CHANCES_MAX);
    if (n > LEAT_BRANCHES_MAX)
        return leat__plan_fail(use, err, LEAT_ERR_LIMIT, "more than %d texts", LEAT_BRANCHES_MAX);
    leat__chance choice = {.applies = n == 1, .number = plan->n_choices++, .n = n};
    leat__image_op_name(&choice.op, use);
    b->choice = leat__plan_keep(planner, &choice, sizeof choice, err);
    if (b->choice)
        b->choice->branch = leat__arena_alloc(&plan->memory, (size_t)n * sizeof(leat__chance_branch));
    if (!b->choice || !b->choice->branch) return leat__fail_memory(err, sizeof choice, "a choice");
    memset(b->choice->branch, 0, (size_t)n * sizeof(leat__chance_branch));
    return 0;
}

/* texts and columns: (n); weight: (n) that come to 1, or less if there may be none. */
static int plan_choice(leat__planner *planner, const leat__use *use, const char *const *texts,
                       const int64_t *columns, const double *weight, int n, leat_error *err) {
    leat__plan *plan = planner->plan;
    branching b;
    LEAT_TRY(begin(&b, planner, use, n, err));
    leat__step *step = leat__plan_step_add(planner, use, LEAT_STEP_CHOOSE, LEAT_STAGE_TRANSFORM, 0, err);
    if (!step) return LEAT_ERR_LIMIT;
    step->as.choice = b.choice;
    b.first = plan->n_steps;
    const int choice = planner->choice, branch = planner->branch;
    planner->choice = b.choice->number + 1;
    int rc = 0;
    double until = 0;
    for (int i = 0; i < n && rc == 0; i++) {
        b.choice->branch[i].until = until += weight[i];
        rc = plan_branch(&b, i, texts[i], (int)columns[i], err);
    }
    planner->choice = choice;
    planner->branch = branch;
    LEAT_TRY(rc);
    if (plan->n_steps == b.first) return leat__plan_fail(use, err, LEAT_ERR_SYNTAX, "no text does anything");
    step->value = plan->step[b.first].value;
    b.choice->end = plan->n_steps;
    b.choice->n_trails = plan->n_trails;
    for (int i = 0; i < planner->n_fields; i++)
        if (planner->field[i].trail) b.choice->picture[planner->field[i].trail - 1] = i;
    reopen_passes(&b);
    return 0;
}

static int plan_random_apply(leat__planner *planner, const leat__use *use, leat_error *err) {
    const leat__arg_value *text = leat__use_arg(use, "text");
    const double p = leat__use_arg(use, "p")->x;
    const int64_t column = text->column;
    return plan_choice(planner, use, (const char *const[]){text->text}, &column, &p, 1, err);
}

static int read_weights(const leat__use *use, int n, double *weight, leat_error *err) {
    int given;
    double sum = 0;
    LEAT_TRY(leat__plan_read_numbers(use, "weights", weight, LEAT_BRANCHES_MAX, &given, err));
    for (int i = given; given == 0 && i < n; i++) weight[i] = 1;
    if (given && given != n)
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "there are %d texts and %d weights", n, given);
    for (int i = 0; i < n; i++) {
        if (!(weight[i] >= 0 && weight[i] < 1e300))
            return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "weights are numbers from 0");
        sum += weight[i];
    }
    if (!(sum > 0 && sum < 1e300))
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "one weight at least must be above 0");
    for (int i = 0; i < n; i++) weight[i] /= sum;
    return 0;
}

static int plan_random_choice(leat__planner *planner, const leat__use *use, leat_error *err) {
    const leat__arg_value *texts = leat__use_arg(use, "texts");
    double weight[LEAT_BRANCHES_MAX];
    if (texts->n < 2)
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "there is nothing to choose from one text: write two, or random_apply");
    if (texts->n > LEAT_BRANCHES_MAX)
        return leat__plan_fail(use, err, LEAT_ERR_LIMIT, "more than %d texts", LEAT_BRANCHES_MAX);
    LEAT_TRY(read_weights(use, texts->n, weight, err));
    return plan_choice(planner, use, texts->texts, texts->ints, weight, texts->n, err);
}

const leat__op leat__ops_chance[] = {
    {.name = "random_apply",
     .kind = LEAT_OP_IMAGE,
     .help =
         "Applies the image operations of a text to some samples, drawn one by one; the others stay as they "
         "are.",
     .like = "torchvision RandomApply",
     .random = true,
     .plan = plan_random_apply,
     .arg = {{.name = "p", .kind = LEAT_ARG_NUMBER, .max = 1, .help = "how likely"},
             {.name = "text",
              .kind = LEAT_ARG_TEXT,
              .help =
                  "operations on pictures that keep size and type, in quotes: 'gaussian_blur 3 | invert'"}}},
    {.name = "random_choice",
     .kind = LEAT_OP_IMAGE,
     .help = "Applies the image operations of one of several texts, drawn for each sample.",
     .like = "torchvision RandomChoice",
     .random = true,
     .plan = plan_random_choice,
     .arg =
         {{.name = "texts",
           .kind = LEAT_ARG_TEXTS,
           .help =
               "operations on pictures that keep size and type, each in quotes: 'gaussian_blur 3' 'invert'"},
          {.name = "weights",
           .kind = LEAT_ARG_TEXT,
           .fallback = "",
           .named = true,
           .help = "how likely each of them is, such as 2,1; left out: all alike"}}},
    {0},
};
