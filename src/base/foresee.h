/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that will be read soon, fetched into the caches during other work. A processor forgets fetches beyond some fifty at once, so
 * they are made in pieces, with work in between. Nothing depends on them but time. */
#ifndef LEAT_BASE_FORESEE_H
#define LEAT_BASE_FORESEE_H

#include "base/macros.h"

#define LEAT_FORESEE_PIECE ((size_t)3072) /* bytes of one piece */

typedef struct leat__foreseen { /* what is still to be fetched */
    const uint8_t *data;
    size_t bytes;
} leat__foreseen;

static inline void leat__foresee(leat__foreseen *next) {
    const size_t n = LEAT_MIN(next->bytes, LEAT_FORESEE_PIECE);
    for (size_t at = 0; at < n; at += LEAT_CACHE_LINE) __builtin_prefetch(next->data + at, 0, 3);
    next->data += n;
    next->bytes -= n;
}

#endif
