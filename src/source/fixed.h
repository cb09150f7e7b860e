/* SPDX-License-Identifier: Apache-2.0 */
/* Records of one length in files: the source itself, and what others that stand on it need. */
#ifndef LEAT_SOURCE_FIXED_H
#define LEAT_SOURCE_FIXED_H

#include "source/source.h"

/* For classes that read through a fixed source of their own with the reader that they are given. */
void leat__fixed_prepare(const leat__source *fixed, leat__reader *reader);
void leat__fixed_close_reader(leat__reader *reader);

#endif
