/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of the program that work on samples: filter and map. */
#ifndef LEAT_SAMPLE_CALLED_H
#define LEAT_SAMPLE_CALLED_H

#include "source/source.h"

typedef struct leat__called { /* a function of the program */
    char name[64];
    leat_filter_fn filter; /* one of the two is NULL */
    leat_map_fn map;
    void *user;
    bool thread_safe;
} leat__called;

typedef struct leat__inputs { /* the fields that a program's function gets */
    int n;
    int value[LEAT_FIELDS_MAX];
    const char *name[LEAT_FIELDS_MAX];
} leat__inputs;

typedef struct leat__plan leat__plan;

/* The fields of the sample as a function of the program sees them. */
void leat__inputs_fill(const leat__inputs *inputs, const leat__value *values, leat_tensor *tensors);
/* Calls that are not declared thread-safe come one at a time. */
void leat__called_enter(const leat__plan *plan, const leat__called *called);
void leat__called_leave(const leat__plan *plan, const leat__called *called);

#endif
