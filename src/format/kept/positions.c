/* SPDX-License-Identifier: Apache-2.0 */
#include "format/kept/positions.h"

static const uint8_t key[LEAT_SEGMENT_KEY] = "JPEG positions 1";

void leat__positions_write_header(uint8_t out[LEAT_SEGMENT_HEADER]) {
    leat__segment_write_header(out, key);
}

bool leat__positions_check_header(const uint8_t header[LEAT_SEGMENT_HEADER]) {
    return leat__segment_check_header(header, key);
}

void leat__positions_write(uint8_t *out, const leat__positions_entry *entry) {
    const uint64_t length = 8 + (uint64_t)entry->cap;
    uint8_t *payload = out + LEAT_SEGMENT_HEAD;
    memset(payload, 0, leat__positions_stride(entry->cap) - LEAT_SEGMENT_HEAD);
    leat__store_u32(payload, entry->size);
    memcpy(payload + 8, entry->block, entry->size);
    const leat__segment_entry head = {.sample = entry->key,
                                      .length = length,
                                      .checksum = leat__segment_checksum(entry->key, payload, length)};
    leat__segment_write_head(out, &head);
}

/* Whether the entry whose head was read is one of ours, whole and undamaged. */
static bool read_payload(const leat__segment_entry *head, const uint8_t *payload,
                         leat__positions_entry *out) {
    *out = (leat__positions_entry){.key = head->sample,
                                   .cap = (uint32_t)(head->length - 8),
                                   .size = leat__load_u32(payload),
                                   .block = payload + 8};
    return out->size <= out->cap && leat__load_u32(payload + 4) == 0 &&
           leat__segment_checksum(head->sample, payload, head->length) == head->checksum;
}

bool leat__positions_next(const uint8_t *bytes, size_t n, bool last, size_t *at, leat__positions_entry *out) {
    for (; n - *at >= LEAT_SEGMENT_HEAD; *at += LEAT_SEGMENT_UNIT) {
        leat__segment_entry head;
        if (!leat__segment_read_head(bytes + *at, UINT64_MAX, &head)) continue;
        if (head.length < 16 || head.length > 8 + LEAT_POSITIONS_CAP || head.length % 8) continue;
        if (leat__segment_stride(head.length) > n - *at) {
            if (!last) return false;
        } else if (read_payload(&head, bytes + *at + LEAT_SEGMENT_HEAD, out)) {
            return true;
        }
    }
    return false;
}
