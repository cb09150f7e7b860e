/* SPDX-License-Identifier: Apache-2.0 */
#include "format/kept/segment.h"

#include "base/hash.h"
#include "format/crc32c.h"

static const char magic[8] = "LEATSEG1", last_magic[8] = "LEATSEND", entry_magic[4] = "ENTR";
static const uint32_t byte_order = 0x01020304;

/* Whether the last four of n bytes are the checksum of those before. */
static bool sealed(const uint8_t *bytes, size_t n) {
    return leat__load_u32(bytes + n - 4) == leat__crc32c_masked(bytes, n - 4);
}
static void seal(uint8_t *bytes, size_t n) {
    leat__store_u32(bytes + n - 4, leat__crc32c_masked(bytes, n - 4));
}

void leat__segment_write_header(uint8_t out[LEAT_SEGMENT_HEADER], const uint8_t key[LEAT_SEGMENT_KEY]) {
    memset(out, 0, LEAT_SEGMENT_HEADER);
    memcpy(out, magic, sizeof magic);
    memcpy(out + 8, &byte_order, sizeof byte_order);
    memcpy(out + 16, key, LEAT_SEGMENT_KEY);
    seal(out, LEAT_SEGMENT_HEADER);
}

bool leat__segment_check_header(const uint8_t header[LEAT_SEGMENT_HEADER],
                                const uint8_t key[LEAT_SEGMENT_KEY]) {
    uint8_t wanted[LEAT_SEGMENT_HEADER];
    leat__segment_write_header(wanted, key);
    return memcmp(header, wanted, sizeof wanted) == 0;
}

uint64_t leat__segment_checksum(uint64_t sample, const void *payload, size_t n) {
    return leat__hash(payload, n, sample);
}

void leat__segment_write_head(uint8_t out[LEAT_SEGMENT_HEAD], const leat__segment_entry *entry) {
    leat__store_u64(out, entry->sample);
    leat__store_u64(out + 8, entry->length);
    leat__store_u64(out + 16, entry->checksum);
    memcpy(out + 24, entry_magic, sizeof entry_magic);
    seal(out, LEAT_SEGMENT_HEAD);
}

bool leat__segment_read_head(const uint8_t head[LEAT_SEGMENT_HEAD], uint64_t room, leat__segment_entry *out) {
    if (memcmp(head + 24, entry_magic, sizeof entry_magic) != 0 || !sealed(head, LEAT_SEGMENT_HEAD))
        return false;
    *out = (leat__segment_entry){.sample = leat__load_u64(head),
                                 .length = leat__load_u64(head + 8),
                                 .checksum = leat__load_u64(head + 16)};
    return out->length <= UINT32_MAX && room >= leat__segment_stride(out->length);
}

void leat__segment_write_place(uint8_t out[LEAT_SEGMENT_PLACE], const leat__segment_place *place) {
    leat__store_u32(out, place->sample);
    leat__store_u32(out + 4, place->unit);
    leat__store_u32(out + 8, place->length);
}

leat__segment_place leat__segment_read_place(const uint8_t *table, uint64_t i) {
    const uint8_t *at = table + i * LEAT_SEGMENT_PLACE;
    return (leat__segment_place){
        .sample = leat__load_u32(at), .unit = leat__load_u32(at + 4), .length = leat__load_u32(at + 8)};
}

void leat__segment_write_trailer(uint8_t out[LEAT_SEGMENT_TRAILER], const void *table, uint64_t n) {
    memset(out, 0, LEAT_SEGMENT_TRAILER);
    memcpy(out, last_magic, sizeof last_magic);
    leat__store_u64(out + 8, n);
    leat__store_u64(out + 16, leat__hash(table, n * LEAT_SEGMENT_PLACE, 0));
    seal(out, LEAT_SEGMENT_TRAILER);
}

bool leat__segment_read_trailer(const uint8_t trailer[LEAT_SEGMENT_TRAILER], uint64_t size, uint64_t *table,
                                uint64_t *n) {
    if (memcmp(trailer, last_magic, sizeof last_magic) != 0 || !sealed(trailer, LEAT_SEGMENT_TRAILER))
        return false;
    *n = leat__load_u64(trailer + 8);
    if (size < LEAT_SEGMENT_HEADER + LEAT_SEGMENT_TRAILER) return false;
    const uint64_t room = size - LEAT_SEGMENT_HEADER - LEAT_SEGMENT_TRAILER;
    if (*n > room / LEAT_SEGMENT_PLACE) return false;
    *table = size - LEAT_SEGMENT_TRAILER - *n * LEAT_SEGMENT_PLACE;
    return true;
}

bool leat__segment_check_table(const uint8_t trailer[LEAT_SEGMENT_TRAILER], const uint8_t *table,
                               uint64_t begin, uint64_t n) {
    if (leat__load_u64(trailer + 16) != leat__hash(table, n * LEAT_SEGMENT_PLACE, 0)) return false;
    for (uint64_t i = 0; i < n; i++) {
        const leat__segment_place place = leat__segment_read_place(table, i);
        const uint64_t at = (uint64_t)place.unit * LEAT_SEGMENT_UNIT;
        if (at < LEAT_SEGMENT_HEADER || at > begin || begin - at < leat__segment_stride(place.length))
            return false;
    }
    return true;
}
