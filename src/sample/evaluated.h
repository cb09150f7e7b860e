/* SPDX-License-Identifier: Apache-2.0 */
/* The operation `eval` in a plan: a program, the fields that it reads and those that it makes. */
#ifndef LEAT_SAMPLE_EVALUATED_H
#define LEAT_SAMPLE_EVALUATED_H

#include "image/eval/eval.h"
#include "source/source.h"

typedef struct leat__eval_plan {
    const leat__eval_program *program;
    uint32_t operation; /* its number in the text                     */
    int n_inputs;
    int input[LEAT_FIELDS_MAX]; /* (n_inputs) values that it reads            */
    int n;
    int value[LEAT_FIELDS_MAX]; /* (n) what it makes: one step for each, in a row */
    const char *name[LEAT_FIELDS_MAX];
} leat__eval_plan;

#endif
