/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of the whole pipeline. */
#include "ops/ops_shared.h"
#include "plan/planner.h"

int leat__plan_options(leat__planner *planner, const leat__use *use, leat_error *err) {
    (void)planner, (void)use,
        (void)err; /* read before everything else, in plan.c: they hold for the whole text */
    return 0;
}

const leat__op leat__ops_options[] = {
    {.name = "options",
     .kind = LEAT_OP_BATCH,
     .help = "Settings of the whole pipeline; may stand anywhere.",
     .like =
         "tf.data.Options, tf.data.Dataset.ignore_errors, tf.random.set_seed, keras.utils.set_random_seed",
     .plan = leat__plan_options,
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
             {.name = "checkpoints",
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
             {.name = "read_ahead",
              .kind = LEAT_ARG_TEXT,
              .fallback = "auto",
              .named = true,
              .help = "threads that read what comes next; auto: when storage is slow; off: none"}}},
    {0},
};
