/* SPDX-License-Identifier: Apache-2.0 */
/* How large the cache directory may become: LEAT_CACHE_BYTES, or what base/sets.h says. */
#ifndef LEAT_PLAN_LIMIT_H
#define LEAT_PLAN_LIMIT_H

#include "base/sets.h"

int leat__cache_limit(const char *cache_dir, uint64_t *out, leat_error *err);

#endif
