/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/chance.h"

#include "sample/run.h"

static int draw(leat__tools *tools, const leat__chance *choice, const leat__where *at) {
    const leat__draw_key key = leat__run_draw_key(tools, at);
    leat__drawing d = leat__drawing_at(&key, &choice->op, 0, 0, 0, 0);
    const double u = leat__rng_unit(&d.rng);
    int drawn = 0;
    while (drawn < choice->n && u >= choice->branch[drawn].until) drawn++;
    if (choice->applies) leat__params_add(&d, "applied", drawn < choice->n);
    else leat__params_add(&d, "choice", drawn);
    return drawn < choice->n ? drawn : -1;
}

/* A trail has as many moves as the plan has counted, whatever was drawn: branches that are left out move nothing. */
static void add_moves(leat__tools *tools, const leat__chance *choice, int drawn) {
    for (int t = 0; t < choice->n_trails; t++) {
        const leat__value *picture = &tools->value[choice->picture[t]];
        leat__trail *trail = &tools->trail[t];
        leat__move stay = {.m = {1, 0, 0, 0, 1, 0, 0, 0, 1},
                           .height_before = (int)picture->shape[0],
                           .width_before = (int)picture->shape[1]};
        stay.height = stay.height_before;
        stay.width = stay.width_before;
        for (int b = 0; b < choice->n; b++)
            for (int i = 0; b != drawn && i < choice->branch[b].n_moves[t]; i++) {
                assert(trail->n < LEAT_MOVES_MAX); /* the plan has counted them */
                trail->move[trail->n++] = stay;
            }
    }
}

/* Runs every branch once and forgets what it made: buffers have grown then, and a branch that is taken rarely allocates
 * nothing later. An error is told when the branch is drawn. */
static void rehearse(leat__tools *tools, const leat__chance *choice, int first, const leat__where *at) {
    leat__value before[LEAT_VALUES_MAX];
    int moves[LEAT_TRAILS_MAX];
    leat__where quiet = *at;
    leat_error ignored;
    quiet.slot = NULL;
    quiet.params = NULL;
    memcpy(before, tools->value, sizeof before);
    for (int t = 0; t < choice->n_trails; t++) moves[t] = tools->trail[t].n;
    for (int b = 0; b < choice->n; b++) {
        tools->chosen.branch[choice->number] = b;
        (void)leat__run_range(tools, &quiet, first, choice->end, &ignored);
        memcpy(tools->value, before, sizeof before);
        for (int t = 0; t < choice->n_trails; t++) tools->trail[t].n = moves[t];
    }
}

int leat__run_chance(leat__tools *tools, const leat__step *step, const leat__where *at, leat_error *err) {
    (void)err;
    const leat__chance *choice = step->as.choice;
    const uint32_t bit = UINT32_C(1) << choice->number;
    if (!(tools->chosen.rehearsed & bit)) {
        tools->chosen.rehearsed |= bit;
        rehearse(tools, choice, (int)(step - tools->plan->step) + 1, at);
    }
    const int drawn = draw(tools, choice, at);
    tools->chosen.branch[choice->number] = drawn;
    add_moves(tools, choice, drawn);
    return 0;
}
