/* SPDX-License-Identifier: Apache-2.0 */
/* The types of values: one table of names and sizes. leat_dtype_name and leat_dtype_size of leat.h read it too. */
#ifndef LEAT_BASE_DTYPE_H
#define LEAT_BASE_DTYPE_H

#include "base/macros.h"
#include "leat/leat.h"

/* The type of this name, of n bytes, in leat's words or in those of NumPy and TensorFlow; -1 if there is none. */
int leat__dtype_find(const char *name, size_t n);
/* The i-th of all names that it finds, NULL after the last. */
const char *leat__dtype_word(int i);

#endif
