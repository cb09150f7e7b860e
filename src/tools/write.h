/* SPDX-License-Identifier: Apache-2.0 */
/* What the two files of leat_writer share. */
#ifndef LEAT_TOOLS_WRITE_H
#define LEAT_TOOLS_WRITE_H

#include "base/mem.h"
#include "format/example.h"
#include "leat/leat_tools.h"

/* Makes Examples; its buffers grow and stay. Zeroed with the kinds set = empty. */
typedef struct leat__example_maker {
    leat__buf record; /* the bytes of the last Example                                        */
    leat__buf values; /* of leat__feature_value                                               */
    leat__buf spans;  /* of leat__span                                                        */
    leat__buf wide;   /* numbers of a batch as an Example holds them: int64 and float         */
} leat__example_maker;

void leat__example_maker_init(leat__example_maker *maker);
void leat__example_maker_free(leat__example_maker *maker);
/* maker->record becomes an Example of these features. */
int leat__example_make(leat__example_maker *maker, const leat_feature *features, int n, leat_error *err);
/* The same of sample i of a batch. */
int leat__example_of_sample(leat__example_maker *maker, const leat_batch *batch, int i, leat_error *err);

#endif
