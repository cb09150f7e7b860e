/* SPDX-License-Identifier: Apache-2.0 */
/* How a finished pack is read. */
#ifndef LEAT_TOOLS_PACK_READING_H
#define LEAT_TOOLS_PACK_READING_H

#include "format/json.h"
#include "tools/pack/pack.h"

/* Calls line with "text      PIPELINE", "tf        CODE" and "py        CODE" for a pack of pictures; non-zero from it stops and
 * is returned. */
int leat__pack_say_reading(const leat__pack_place *place, const leat__json *recipe, leat_line_fn line,
                           void *user);

#endif
