/* SPDX-License-Identifier: Apache-2.0 */
/* Fingerprints are XXH3-64, a public hash that other tools can compute too. */
#ifndef LEAT_BASE_HASH_H
#define LEAT_BASE_HASH_H

#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

#include "base/macros.h"

static inline uint64_t leat__hash(const void *bytes, size_t n, uint64_t seed) {
    return XXH3_64bits_withSeed(bytes, n, seed);
}

#endif
