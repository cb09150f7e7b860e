/* SPDX-License-Identifier: Apache-2.0 */
/* Finding out about samples before the first one is handed out.
 *
 * filter, balance and split evaluate one question for every sample when the plan is built. The answers become a table of
 * positions, so that order stays arithmetic (order.h). If the index knows the answer, nothing is read. Otherwise samples are
 * read and parsed, in parallel, but never decoded, and the answers are kept in a side file. For a stream the question is
 * evaluated when a record is read (stream/shard_readers.c). */
#ifndef LEAT_PLAN_SELECT_H
#define LEAT_PLAN_SELECT_H

#include "plan/planner.h"
#include "plan/predicate.h"
#include "sample/run.h"

typedef enum leat__question_kind {
    LEAT_ASK_CONDITION, /* 1 = it holds, else 0                                             */
    LEAT_ASK_PROGRAM,   /* 1 = the program's function wants it, else 0                      */
    LEAT_ASK_PART,      /* 1 = a hash of the value lies in [from, to)                       */
    LEAT_ASK_NUMBER,    /* the value as a whole number                                      */
    LEAT_ASK_HASH,      /* of the value                                                     */
    LEAT_ASK_PATH,      /* a hash of its path, of all fields of the source if it has none   */
    LEAT_ASK_FOLDER,    /* a hash of the folder that its file lies in                       */
    LEAT_ASK_CHANCE,    /* of a stream: 1 = a draw of the record's own keeps one of its class */
    LEAT_ASK_SIZE /* of a picture, by its header: height in the upper half, width in the lower; from: turned as EXIF says */
} leat__question_kind;

/* The answer of a sample that is bad, where on_error allows bad samples. */
#define LEAT_ANSWER_BAD ((uint64_t)2)          /* to questions of yes and no       */
#define LEAT_ANSWER_NONE ((uint64_t)INT64_MIN) /* to LEAT_ASK_NUMBER               */

typedef struct leat__question {
    leat__question_kind kind;
    int value; /* PART, NUMBER, HASH, CHANCE; -1 = all fields of the source */
    leat__predicate predicate;
    const leat__called *called;
    leat__inputs inputs;
    uint64_t seed, from, to;   /* PART, HASH, PATH, FOLDER; seed: CHANCE                 */
    uint32_t op, n_chances;    /* CHANCE, PROGRAM: the number of the operation; CHANCE: the classes */
    const double *chance;      /* (n_chances) of being kept, by label, from 0            */
    const char *text;          /* tells questions apart that have the same text before them */
    uint32_t values;           /* bit i: value i must be there                           */
    bool step[LEAT_STEPS_MAX]; /* the steps that make them                              */
    uint32_t known;            /* bit i: the index knows value i; 0 = samples are read   */
    bool called_before;        /* a step calls a function of the program                 */
} leat__question;

/* Fills in which steps the question needs: those that stand in the text so far. Refuses what is decoded. */
int leat__question_prepare(leat__planner *planner, const leat__use *use, leat__question *question,
                           leat_error *err);
/* Whether the answer depends on the number of the sample. In a stream that is known only after all records before it. */
bool leat__question_counts(const leat__plan *plan, const leat__question *question);
/* Asks one sample: 0 and the answer, or why it cannot be read. */
int leat__question_answer(leat__tools *tools, const leat__question *question, const leat__where *at,
                          uint64_t *answer, leat_error *err);
/* Asks all n positions that the first n_verbs verbs of the order give. answer: (n). Bad samples are an error unless
 * on_error says otherwise; *n_bad counts them. */
int leat__question_all(leat__planner *planner, const leat__use *use, const leat__question *question,
                       int n_verbs, uint64_t n, uint64_t *answer, uint64_t *n_bad, leat_error *err);
/* Whether a record of a stream passes all filters: 1, 0, or LEAT_ERR_MEMORY. A record that cannot be parsed passes: the
 * worker that runs it reports the error. */
int leat__filters_keep(leat__tools *tools, const leat__where *at, leat_error *err);

/* All fields that are live here; undecoded: without those that have pixels. */
int leat__inputs_list(leat__planner *planner, bool undecoded, leat__inputs *inputs, leat_error *err);
/* A function of the program, by the argument `callback`; a copy that lives as long as the plan. */
int leat__called_find(leat__planner *planner, const leat__use *use, bool map, const leat__called **out,
                      leat_error *err);

/* Where in the order a choice belongs: *at is the number of the verb that it comes in front of. A choice that gives the same
 * samples before shuffle or repeat as behind it goes in front of them (past_shuffle, past_repeat). */
typedef struct leat__choice_rule {
    bool past_shuffle, past_repeat;
} leat__choice_rule;
int leat__choice_place(const leat__planner *planner, const leat__use *use, leat__choice_rule rule, int *at,
                       leat_error *err);
/* Puts a verb there, which owns its table, and makes the table part of what identifies the pipeline. */
int leat__choice_insert(leat__planner *planner, int at, leat__order_verb verb, leat_error *err);
/* Adds to the warning that the pipeline says when it is opened. */
void leat__choice_warn(leat__planner *planner, const char *fmt, ...) LEAT_PRINTF(2, 3);

/* Classes by the answers to LEAT_ASK_NUMBER: number[c] is the label of class c, in rising order; class[i] that of
 * position i, LEAT_NO_CLASS if its answer is none. Both are to be freed. */
typedef struct leat__class_list {
    uint32_t n_classes;
    int64_t *number; /* (n_classes)                                                   */
    uint64_t *size;  /* (n_classes)                                                   */
    uint32_t *class; /* (n)                                                           */
} leat__class_list;
int leat__class_list_make(leat__class_list *out, const uint64_t *answer, uint64_t n, leat_error *err);
void leat__class_list_free(leat__class_list *list);

/* Number of the live field of that name that holds one number a sample, or < 0; number of a class of that name, or < 0. */
int leat__number_field(const leat__planner *planner, const char *name, leat_error *err);
int64_t leat__class_number(const leat__planner *planner, int value, const char *name, leat_error *err);

/* In ops_filter.c, for other choices too. */
/* Keeps the positions before verb number `at` that have an answer other than 0. For a
 * stream, adds the question to its filters. */
int leat__filter_add(leat__planner *planner, const leat__use *use, leat__question *question, int at,
                     leat_error *err);
/* The classes of all positions before verb number `at`, by the field that an argument names. */
int leat__classes_ask(leat__planner *planner, const leat__use *use, const char *arg, int at,
                      leat__class_list *list, leat_error *err);

/* In ops_split.c: which side every position is on, for the tool. side is to be freed. */
enum { LEAT_SPLIT_SIDES = 3, LEAT_NO_SIDE = 255 };
typedef struct leat__split {
    int verb; /* of the order in front of which it stands */
    int n_sides;
    uint64_t n;
    uint8_t *side; /* (n) */
} leat__split;
int leat__split_sides(leat__planner *planner, const leat__use *use, leat__split *out, leat_error *err);

#endif
