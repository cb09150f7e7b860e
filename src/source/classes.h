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
} leat__classes;

/* The number of the word that was appended to classes->text last and begins at `begin` there, with its
 * final zero; the text is taken away again if the word is known. LEAT_ERR_MEMORY, LEAT_ERR_LIMIT. */
int64_t leat__classes_number(leat__classes *classes, size_t begin, leat_error *err);
/* rank[i] = place of word i among all, sorted bytewise. rank has n places. */
int leat__classes_rank(const leat__classes *classes, uint32_t *rank, leat_error *err);
/* Gives the words to the source as the names of its classes, in the order of their ranks. */
int leat__classes_give(const leat__classes *classes, const uint32_t *rank, leat__source *source,
                       leat_error *err);
void leat__classes_free(leat__classes *classes);

#endif
