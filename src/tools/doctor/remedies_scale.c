/* SPDX-License-Identifier: Apache-2.0 */
/* The remedy `scale`: large JPEGs that a resize makes small anyway are decoded at 1/2, 1/4 or 1/8. */
#include <stdio.h>

#include "sample/draw.h"
#include "tools/doctor/doctor.h"

/* The step whose decode may have scale=auto: a resize follows, and no cache keeps what it makes. -1 if there is none. */
static int find_step(const leat__plan *plan) {
    for (int i = 0; i < plan->n_steps && !plan->caching.wanted; i++) {
        const leat__pass_plan *pass = plan->step[i].kind == LEAT_STEP_PASS ? plan->step[i].as.pass : NULL;
        if (pass && pass->decode && !pass->scaled && !pass->pad.draw && pass->resample != LEAT_RESAMPLE_NONE)
            return i;
    }
    return -1;
}

/* Its operation, unless the text says already at what scale. */
static int find_use(const leat__doctor *d) {
    const leat__plan *plan = leat__doctor_plan(d);
    const int step = find_step(plan);
    for (int i = 0; step >= 0 && i < d->spec->n_uses; i++) {
        const leat__use *use = &d->spec->use[i];
        if (use->op->flags & LEAT_OP_DECODES && use->column == plan->step[step].column)
            return leat__use_arg(use, "scale")->given ? -1 : i;
    }
    return -1;
}

typedef struct seen {
    const leat__pass_plan *pass;
    int n, n_large;
} seen;

static void see(void *user, const leat__picture_info *info) {
    seen *s = user;
    const leat__box whole = {.width = info->width, .height = info->height};
    const leat__draw_key key = {0};
    int height = info->height, width = info->width;
    s->n++;
    if (info->codec != LEAT_CODEC_JPEG || leat__draw_size(s->pass, &key, &height, &width, NULL) < 0) return;
    s->n_large += leat__scale_for(&whole, height, width) > 1;
}

bool leat__scale_applies(const leat__doctor *d) {
    const leat__plan *plan = leat__doctor_plan(d);
    if (d->report->verdict.bottleneck != LEAT_BOTTLENECK_DECODE || find_use(d) < 0) return false;
    const int step = find_step(plan);
    seen s = {.pass = plan->step[step].as.pass};
    leat__plan_look(plan, step, see, &s);
    return 2 * s.n_large > s.n;
}

int leat__scale_change(const leat__doctor *d, leat__change *change, leat_error *err) {
    const int at = find_use(d);
    snprintf(change->title, sizeof change->title, "decode large JPEGs at 1/2, 1/4 or 1/8");
    snprintf(change->cost, sizeof change->cost,
             "other pixels than exact decoding: 'leat compare' with the text of now shows how many levels");
    if (!leat__edit_set(&change->edit, at, "%s scale=auto", change->edit.op[at])) return LEAT_END;
    const char *text = leat__edit_text(&change->edit);
    if (!text) return leat__fail_memory(err, 1000, "a pipeline text");
    leat__change_say(change, "%s", text);
    return 0;
}
