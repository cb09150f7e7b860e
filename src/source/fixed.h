/* SPDX-License-Identifier: Apache-2.0 */
/* Records of one length in files: functions for sources that are built on `fixed`. */
#ifndef LEAT_SOURCE_FIXED_H
#define LEAT_SOURCE_FIXED_H

#include "source/source.h"

/* For source classes that own a fixed source and read through it with the reader they are given. */
void leat__fixed_prepare(const leat__source *fixed, leat__reader *reader);
void leat__fixed_close_reader(leat__reader *reader);

#endif
