/* SPDX-License-Identifier: Apache-2.0 */
/* A spec: the list of operations that text and calls have built. */
#ifndef LEAT_PLAN_SPEC_H
#define LEAT_PLAN_SPEC_H

#include "base/mem.h"
#include "plan/op.h"
#include "sample/called.h"

#define LEAT_USES_MAX 128
#define LEAT_CALLED_MAX 16

struct leat_spec {
    leat_error error;   /* the first mistake; code 0 = none */
    leat__buf text;     /* everything added so far, joined by " | ", zero-terminated */
    leat__arena memory; /* arguments */
    leat_tensor *arrays;
    int n_arrays;
    leat_source_callbacks *callbacks; /* of `source`, NULL = none */
    leat_stream_callbacks *stream;    /* of `stream`, NULL = none */
    int n_called;
    leat__called called[LEAT_CALLED_MAX]; /* of `filter` and `map` */
    int n_uses;
    leat__use use[LEAT_USES_MAX];
};

/* Reads text, whose first character has the given column, and appends its operations. */
int leat__spec_read(leat_spec *spec, const char *text, int column, leat_error *err);
/* Number of the argument of that name, for the plan functions; asserts that it exists. */
const leat__arg_value *leat__use_arg(const leat__use *use, const char *name);
/* shard auto: not a choice of samples, but every rank's part of each batch. */
bool leat__use_asks_ranks(const leat__use *use);
/* Appends "name arg=value ..." with every argument spelled out, defaults too: equal specs have equal texts. */
bool leat__use_normal(const leat__use *use, leat__buf *out);

#endif
