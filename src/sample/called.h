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

typedef struct leat__map_plan { /* a map: what its function gets and makes */
    const leat__called *called;
    leat__inputs inputs;
    uint32_t operation; /* its number in the text                                                  */
    int n;
    int value[LEAT_FIELDS_MAX];        /* (n) what it makes: one step for each, in a row                 */
    leat_field field[LEAT_FIELDS_MAX]; /* -1: the function chooses the size                              */
    size_t count_max[LEAT_FIELDS_MAX]; /* values of a ragged one                                         */
} leat__map_plan;

typedef struct
    leat__map_found { /* what the function has made for the first sample, beyond the declared fields */
    int n;
    leat_field field[LEAT_FIELDS_MAX];
    leat__buf memory[LEAT_FIELDS_MAX]; /* of the declared ones too */
} leat__map_found;

typedef struct leat__plan leat__plan;
typedef struct leat__tools leat__tools;
typedef struct leat__where leat__where;

/* While a plan is made: calls the function for a sample that has been run up to here, to learn what it makes. */
int leat__map_find(leat__tools *tools, const leat__map_plan *map, const leat__where *at,
                   leat__map_found *found, leat_error *err);
/* leat_map_make; call: of leat_sample_info. err is not NULL. */
void *leat__map_make(void *call, const leat_field *field, leat_error *err);
/* The fields of the sample as a function of the program sees them. */
void leat__inputs_fill(const leat__inputs *inputs, const leat__value *values, leat_tensor *tensors);
/* Calls that are not declared thread-safe come one at a time. */
void leat__called_enter(const leat__plan *plan, const leat__called *called);
void leat__called_leave(const leat__plan *plan, const leat__called *called);

#endif
