/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a file of a cache, as they are or with right checksums: what is found in it lies inside of it, and the
 * values of a sample lie inside of its entry.
 * tries: format/kept/segment.* format/kept/bundle.* */
#include <stdlib.h>

#include "base/mem.h"
#include "format/crc32c.h"
#include "format/kept/bundle.h"
#include "format/kept/segment.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool truth) {
    if (!truth) abort();
}

static const uint8_t key[LEAT_SEGMENT_KEY] = "0123456789abcdef";
static const leat__bundle_field fields[] = {{.dtype = LEAT_DTYPE_U8, .ndim = 3, .shape = {-1, -1, 3}},
                                            {.dtype = LEAT_DTYPE_I64},
                                            {.dtype = LEAT_DTYPE_F32, .ndim = 2, .shape = {2, -1}},
                                            {.dtype = LEAT_DTYPE_BYTES, .ndim = 1, .shape = {-1}}};

static void open_bundle(const uint8_t *bytes, size_t n) {
    leat__bundle_part part[LEAT_COUNT(fields)];
    /* In memory of its own size: reading past its end is noticed. */
    uint8_t *copy = malloc(n + 1);
    require(copy);
    if (n) memcpy(copy, bytes, n);
    if (leat__bundle_open(fields, LEAT_COUNT(fields), copy, n, part))
        for (size_t i = 0; i < LEAT_COUNT(fields); i++) {
            require(part[i].offset <= n && part[i].bytes <= n - part[i].offset);
            size_t values = leat_dtype_size(fields[i].dtype);
            for (int k = 0; k < fields[i].ndim; k++) values *= (size_t)part[i].shape[k];
            require(values == part[i].bytes);
        }
    free(copy);
}

/* Puts checksums right, so that what stands behind them is reached. */
static void mend(uint8_t *file, size_t size) {
    if (size < LEAT_SEGMENT_HEADER) return;
    leat__segment_write_header(file, key);
    for (size_t at = LEAT_SEGMENT_HEADER; size - at >= LEAT_SEGMENT_HEAD;) {
        memcpy(file + at + 24, "ENTR", 4);
        leat__store_u32(file + at + 28, leat__crc32c_masked(file + at, 28));
        leat__segment_entry entry;
        if (!leat__segment_read_head(file + at, size - at, &entry)) break;
        at += (size_t)leat__segment_stride(entry.length);
    }
    uint8_t *trailer = file + size - LEAT_SEGMENT_TRAILER;
    const uint64_t n = leat__load_u64(trailer + 8);
    if (size < LEAT_SEGMENT_HEADER + LEAT_SEGMENT_TRAILER ||
        n > (size - LEAT_SEGMENT_HEADER - LEAT_SEGMENT_TRAILER) / LEAT_SEGMENT_PLACE)
        return;
    leat__segment_write_trailer(trailer, trailer - n * LEAT_SEGMENT_PLACE, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1) return 0;
    const size_t n = size - 1;
    uint8_t *file = malloc(n + 1);
    require(file);
    memcpy(file, data + 1, n);
    if (data[0] & 1) mend(file, n);
    if (n >= LEAT_SEGMENT_HEADER) {
        leat__segment_check_header(file, key);
        for (size_t at = LEAT_SEGMENT_HEADER; n - at >= LEAT_SEGMENT_HEAD;) {
            leat__segment_entry entry;
            if (!leat__segment_read_head(file + at, n - at, &entry)) break;
            require(leat__segment_stride(entry.length) <= n - at);
            const uint8_t *payload = file + at + LEAT_SEGMENT_HEAD;
            leat__segment_checksum(entry.sample, payload, (size_t)entry.length);
            open_bundle(payload, (size_t)entry.length);
            at += (size_t)leat__segment_stride(entry.length);
        }
    }
    uint64_t begin, count;
    if (n >= LEAT_SEGMENT_TRAILER &&
        leat__segment_read_trailer(file + n - LEAT_SEGMENT_TRAILER, n, &begin, &count) &&
        leat__segment_check_table(file + n - LEAT_SEGMENT_TRAILER, file + begin, begin, count))
        for (uint64_t i = 0; i < count; i++) {
            const leat__segment_place place = leat__segment_read_place(file + begin, i);
            const uint64_t at = (uint64_t)place.unit * LEAT_SEGMENT_UNIT;
            require(at + LEAT_SEGMENT_HEAD + place.length <= begin);
        }
    open_bundle(file, n);
    free(file);
    return 0;
}
