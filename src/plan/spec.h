/* SPDX-License-Identifier: Apache-2.0 */
/* A spec: the list of operations that text and calls have built. */
#ifndef LEAT_PLAN_SPEC_H
#define LEAT_PLAN_SPEC_H

#include "base/mem.h"
#include "plan/op.h"
#include "sample/called.h"

#define LEAT_USES_MAX 128
#define LEAT_CALLED_MAX 16
#define LEAT_TEXTS_MAX 63 /* data sets of one combining operation */

typedef struct leat__spec_part { /* another spec, which a combining operation names as @NAME */
    char name[64];
    leat_spec *spec;
} leat__spec_part;

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
    int n_parts;
    leat__spec_part part[LEAT_PARTS_MAX];
    bool borrows; /* the parts are another spec's, which lives longer */
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
/* Room for what a spec copies from its caller; NULL after remembering that there is none. */
void *leat__spec_keep(leat_spec *spec, const void *from, size_t bytes, const char *what);

/* spec_part.c: specs as parts of others. */
/* Adds a copy of part under that name; the spec remembers a mistake. */
void leat__spec_part_add(leat_spec *spec, const char *name, const leat_spec *part);
/* NULL if there is none of that name. */
const leat_spec *leat__spec_part_find(const leat_spec *spec, const char *name);
/* What the program gave to a spec, and its parts, for another spec that lives shorter: both see the same memory. */
void leat__spec_borrow(leat_spec *spec, const leat_spec *from);
/* Appends the operations in their normal form; parts are spelled out as texts in quotes. */
bool leat__spec_normal(const leat_spec *spec, leat__buf *out);

#endif
