/* SPDX-License-Identifier: Apache-2.0 */
/* From words to labels. Each different word gets a number when it first occurs. In the end labels are the ranks of the
 * words in sorted order, so they depend on the words alone and not on the order of rows. */
#ifndef LEAT_SOURCE_CLASSES_H
#define LEAT_SOURCE_CLASSES_H

#include "source/source.h"

#define LEAT_CLASSES_MAX 1000000

typedef struct leat__classes { /* zeroed = empty */
    leat__buf text;            /* the words, zero-terminated, one after the other */
    leat__buf begin;           /* (n) of uint64_t: where each begins              */
    leat__buf slot;            /* of uint32_t: 1 + number of a word, by hash      */
    uint32_t n;
    uint32_t
        n_ordered; /* not 0: the first so many have the order that was asked for, and there may be no others */
} leat__classes;

/* The next of the names in a list, and its length. Commas separate them; a list that begins with a semicolon or a line end
 * is separated by that, since names may hold commas. *at is the list, then its rest, and NULL at its end; *separator is 0
 * before the first call. */
const char *leat__classes_split(const char **at, char *separator, size_t *n);
/* Begins with the names of a list, which keep their order; "" = none. LEAT_ERR_ARGUMENT: one is empty or there twice. */
int leat__classes_order(leat__classes *classes, const char *list, leat_error *err);

/* The number of the word that was appended to classes->text last and begins at `begin` there, with its
 * final zero; the text is taken away again if the word is known. LEAT_ERR_MEMORY, LEAT_ERR_LIMIT. */
int64_t leat__classes_number(leat__classes *classes, size_t begin, leat_error *err);
/* Word number i. */
const char *leat__classes_at(const leat__classes *classes, uint32_t i);
/* The number of a word; -1 if it is not among them. */
int64_t leat__classes_find(const leat__classes *classes, const char *word);
/* rank[i] = place of word i among all: sorted bytewise, or the order that was asked for. rank has n places. */
int leat__classes_rank(const leat__classes *classes, uint32_t *rank, leat_error *err);
/* Gives the words to the source as the names of its classes, in the order of their ranks; rank NULL: in their own. Names that
 * it had before are gone. */
int leat__classes_give(const leat__classes *classes, const uint32_t *rank, leat__source *source,
                       leat_error *err);
void leat__classes_free(leat__classes *classes);

#endif
