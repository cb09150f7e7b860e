/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of the whole pipeline. The planner reads them before everything else (LEAT_OP_SETTINGS). */
#include "ops/ops_shared.h"
#include "plan/planner.h"

static int read_read_ahead(leat__plan *plan, const leat__use *use, leat_error *err) {
    const leat__arg_value *arg = leat__use_arg(use, "read_ahead");
    int64_t n = 0;
    if (!arg->given || strcmp(arg->text, "auto") == 0) return 0;
    if (strcmp(arg->text, "off") != 0 && (!leat__parse_int(arg->text, &n) || n < 0 || n > 64))
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "read_ahead must be auto, off or a number of threads up to 64, not '%s'",
                               arg->text);
    plan->read_ahead = (int)n;
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
    return read_read_ahead(plan, use, err);
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
              .help = "threads that read what comes next; auto: when storage is slow; off: none"}}},
    {0},
};
