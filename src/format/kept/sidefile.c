/* SPDX-License-Identifier: Apache-2.0 */
#include "format/kept/sidefile.h"

#include "base/hash.h"

static const char magic[8] = "LEATIDX1";
static const uint32_t byte_order = 0x01020304;

void leat__sidefile_write_header(uint8_t header[LEAT_SIDEFILE_HEADER], int kind, const void *payload,
                                 size_t n) {
    memcpy(header, magic, sizeof magic);
    leat__store_u32(header + 8, (uint32_t)kind);
    memcpy(header + 12, &byte_order, sizeof byte_order);
    leat__store_u64(header + 16, n);
    leat__store_u64(header + 24, leat__hash(payload, n, 0));
}

const uint8_t *leat__sidefile_payload(const uint8_t *bytes, size_t n, int kind, size_t *payload_n) {
    if (n < LEAT_SIDEFILE_HEADER || memcmp(bytes, magic, sizeof magic) != 0) return NULL;
    if (leat__load_u32(bytes + 8) != (uint32_t)kind ||
        memcmp(bytes + 12, &byte_order, sizeof byte_order) != 0)
        return NULL;
    const uint8_t *payload = bytes + LEAT_SIDEFILE_HEADER;
    *payload_n = n - LEAT_SIDEFILE_HEADER;
    if (leat__load_u64(bytes + 16) != *payload_n) return NULL;
    return leat__load_u64(bytes + 24) == leat__hash(payload, *payload_n, 0) ? payload : NULL;
}
