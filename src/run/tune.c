/* SPDX-License-Identifier: Apache-2.0 */
#include "run/tune.h"

enum { EVERY_BATCHES = 16 };

int leat__tune_slots(leat__tuner *tuner, uint64_t now_ns, uint64_t wait_ns, uint64_t full_ns,
                     uint64_t batches, int used, int most) {
    if (tuner->last_ns == 0) {
        *tuner = (leat__tuner){now_ns, wait_ns, full_ns, batches};
        return used;
    }
    if (batches - tuner->last_batches < EVERY_BATCHES) return used;
    const uint64_t elapsed = now_ns - tuner->last_ns;
    const bool waited = (wait_ns - tuner->last_wait_ns) * 50 > elapsed; /* over 2 % of the time */
    const bool idled = (full_ns - tuner->last_full_ns) * 50 > elapsed;
    *tuner = (leat__tuner){now_ns, wait_ns, full_ns, batches};
    return waited && idled && used < most ? used + 1 : used;
}
