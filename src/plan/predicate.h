/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions on the numbers of a sample, as `filter` has them:
 *
 *     condition  = both { "or" both }
 *     both       = simple { "and" simple }
 *     simple     = "not" simple | "(" condition ")" | comparison
 *     comparison = field ( "==" | "!=" | "<" | "<=" | ">" | ">=" ) constant
 *                | field [ "not" ] "in" constant { "," constant }
 *
 * A constant is a number or the name of a class. Names with spaces or signs stand in quotes. What was read is a short
 * program in postfix form. */
#ifndef LEAT_PLAN_PREDICATE_H
#define LEAT_PLAN_PREDICATE_H

#include "base/mem.h"
#include "source/source.h"

typedef struct leat__constant {
    bool whole; /* it is a whole number, compared exactly with whole numbers */
    int64_t i;
    double x;
} leat__constant;

typedef enum leat__condition_kind {
    LEAT_COND_EQUAL,
    LEAT_COND_UNEQUAL,
    LEAT_COND_BELOW,
    LEAT_COND_NOT_ABOVE,
    LEAT_COND_ABOVE,
    LEAT_COND_NOT_BELOW,
    LEAT_COND_IN,
    LEAT_COND_NOT,
    LEAT_COND_AND,
    LEAT_COND_OR
} leat__condition_kind;

typedef struct leat__condition {
    leat__condition_kind kind;
    int value;                      /* which one of the sample's */
    const leat__constant *constant; /* (n)                       */
    int n;
} leat__condition;

typedef struct leat__predicate {
    int n;
    leat__condition *condition;
    uint32_t values; /* bit i: value i is asked */
} leat__predicate;

typedef struct leat__names { /* what the words of a condition mean */
    const void *user;
    /* Number of the value of that name, one number in every sample; or < 0 after leat__fail. */
    int (*field)(const void *user, const char *name, leat_error *err);
    /* Number of the class of that name; or < 0 after leat__fail. */
    int64_t (*class)(const void *user, int value, const char *name, leat_error *err);
} leat__names;

/* Reads text; *at is the place in it that a message is about. Memory comes from the arena. */
int leat__predicate_read(leat__predicate *out, const char *text, const leat__names *names,
                         leat__arena *memory, size_t *at, leat_error *err);
/* Whether it holds. Every value that is asked must hold one number. */
bool leat__predicate_holds(const leat__predicate *predicate, const leat__value *values);

#endif
