/* SPDX-License-Identifier: Apache-2.0 */
/* How many slots take part. The tuner sees numbers only.
 *
 * A consumer that waits although the workers were idle because all slots were full has met a burst: then more slots
 * help. A consumer that waits while the workers are always busy needs more work done, not more slots. */
#ifndef LEAT_RUN_TUNE_H
#define LEAT_RUN_TUNE_H

#include "base/macros.h"

typedef struct leat__tuner { /* zeroed = ready */
    uint64_t last_ns, last_wait_ns, last_full_ns, last_batches;
} leat__tuner;

/* Called at each hand-over with running totals; returns how many slots to use from now on. */
int leat__tune_slots(leat__tuner *tuner, uint64_t now_ns, uint64_t wait_ns, uint64_t full_ns,
                     uint64_t batches, int used, int most);

#endif
