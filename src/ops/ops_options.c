/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of the whole pipeline. The planner reads them before everything else (LEAT_OP_SETTINGS). */
#include "ops/ops_shared.h"
#include "plan/planner.h"

static int read_read_ahead(leat__plan *plan, const leat__use *use, leat_error *err) {
    const leat__arg_value *arg = leat__use_arg(use, "read_ahead");
    int64_t n = 0;
    if (!arg->given || strcmp(arg->text, "auto") == 0 || strcmp(arg->text, "-1") == 0) return 0;
    if (strcmp(arg->text, "off") != 0 && (!leat__parse_int(arg->text, &n) || n < 0 || n > LEAT_READING_MAX))
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "read_ahead must be auto, off or a number of threads up to 512, not '%s'",
                               arg->text);
    plan->read_ahead = (int)n;
    return 0;
}

/* "threads=2 slots=6 read_ahead=0 shards=1", as leat_pipeline_tuning writes it, or some of these. What the program or
 * another part of the text asks for counts more. */
static int read_tune(leat__planner *planner, const leat__use *use, leat_error *err) {
    const leat__arg_value *arg = leat__use_arg(use, "tune");
    leat__plan *plan = planner->plan;
    if (!arg->given || strcmp(arg->text, "auto") == 0) return 0;
    plan->fixed = true;
    if (strcmp(arg->text, "off") == 0) return 0;
    int read_ahead = -1, threads = 0;
    const struct {
        const char *name;
        int *to, min, max;
    } known[] = {{"threads", &threads, 1, 256},
                 {"slots", &planner->slots, 2, 1000},
                 {"read_ahead", &read_ahead, 0, LEAT_READING_MAX},
                 {"shards", &plan->shards, 1, 16}};
    const char *at = arg->text;
    while (*at) {
        const size_t n = strcspn(at, " ,"), name = strcspn(at, "=");
        char number[16];
        int64_t value = -1;
        size_t k = 0;
        while (k < LEAT_COUNT(known) &&
               (strlen(known[k].name) != name || memcmp(at, known[k].name, name) != 0))
            k++;
        if (name < n && n - name < sizeof number) {
            memcpy(number, at + name + 1, n - name - 1);
            number[n - name - 1] = 0;
            if (!leat__parse_int(number, &value)) value = -1;
        }
        if (k == LEAT_COUNT(known) || value < known[k].min || value > known[k].max)
            return leat__plan_fail(
                use, err, LEAT_ERR_ARGUMENT,
                "tune must be auto, off, or such as 'threads=2 slots=6 read_ahead=0 shards=1' "
                "with 1 to 256 threads, 2 to 1000 slots, 0 to 64 threads that read ahead and 1 "
                "to 16 shards, not '%s'",
                arg->text);
        *known[k].to = (int)value;
        at += n + strspn(at + n, " ,");
    }
    if (threads && planner->config->n_threads == 0) plan->n_threads = planner->open.n_threads = threads;
    if (read_ahead >= 0 && plan->read_ahead < 0) plan->read_ahead = read_ahead;
    return 0;
}

static int plan_options(leat__planner *planner, const leat__use *use, leat_error *err) {
    leat__plan *plan = planner->plan;
    if (leat__use_arg(use, "on_error")->given) plan->on_error = (int)leat__use_arg(use, "on_error")->i;
    if (leat__use_arg(use, "seed")->given) plan->seed = (uint64_t)leat__use_arg(use, "seed")->i;
    if (leat__use_arg(use, "max_bad")->given) plan->max_bad = leat__use_arg(use, "max_bad")->i;
    plan->fuse &= leat__use_arg(use, "fuse")->i != 0;
    plan->positions &= leat__use_arg(use, "positions")->i != 0;
    planner->fast |= leat__use_arg(use, "accuracy")->i != 0;
    if (leat__use_arg(use, "layout")->given || leat__use_arg(use, "unit")->given) planner->leaving = use;
    LEAT_TRY(read_read_ahead(plan, use, err));
    return read_tune(planner, use, err);
}

const leat__op leat__ops_options[] = {
    {.name = "options",
     .kind = LEAT_OP_BATCH,
     .help = "Settings of the whole pipeline; may stand anywhere.",
     .like =
         "tf.data.Options, tf.data.Dataset.ignore_errors, tf.random.set_seed, keras.utils.set_random_seed",
     .flags = LEAT_OP_SETTINGS | LEAT_OP_NO_BYTES | LEAT_OP_READS,
     .plan = plan_options,
     .arg = {{.name = "on_error",
              .kind = LEAT_ARG_WORD,
              .fallback = "",
              .words = "raise|skip|replace",
              .named = true,
              .help = "what a bad sample does"},
             {.name = "max_bad",
              .kind = LEAT_ARG_INT,
              .fallback = "",
              .max = 1e15,
              .named = true,
              .help = "bad samples of an epoch after which it fails all the same; 0: any number"},
             LEAT_ARG_SEED,
             {.name = "fuse",
              .kind = LEAT_ARG_BOOL,
              .fallback = "true",
              .named = true,
              .help = "off: every operation by itself, with the same results"},
             {.name = "positions",
              .was = "checkpoints",
              .kind = LEAT_ARG_BOOL,
              .fallback = "true",
              .named = true,
              .help = "off: where rows of a JPEG begin is not remembered for its next crop; same results"},
             {.name = "accuracy",
              .kind = LEAT_ARG_WORD,
              .fallback = "exact",
              .words = "exact|fast",
              .named = true,
              .help = "fast: libjpeg's fast IDCT, as TensorFlow decodes by default"},
             {.name = "layout",
              .kind = LEAT_ARG_WORD,
              .fallback = "nhwc",
              .words = "nhwc|nchw",
              .named = true,
              .help = "nchw: pictures and masks leave with channels first, whatever the operations before"},
             {.name = "unit",
              .kind = LEAT_ARG_WORD,
              .fallback = "off",
              .words = "off|f32|f16|bf16",
              .named = true,
              .help =
                  "pictures of bytes, 0 to 255, leave as this type from 0 to 1; not masks, nor what cast, "
                  "rescale or normalize has made"},
             {.name = "read_ahead",
              .kind = LEAT_ARG_TEXT,
              .fallback = "auto",
              .named = true,
              .help = "threads that read what comes next; auto: when storage is slow; off: none"},
             {.name = "tune",
              .kind = LEAT_ARG_TEXT,
              .fallback = "auto",
              .named = true,
              .help =
                  "off: nothing changes during the run; 'threads=2 slots=6 read_ahead=0': what a run before "
                  "has found, see leat_pipeline_tuning"}}},
    {0},
};
