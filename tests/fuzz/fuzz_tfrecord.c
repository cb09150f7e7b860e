/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a file of TFRecords, read as a reader does: record by record, and on after damage. Chance
 * never makes a right checksum, so the first byte of the input chooses how many headers and footers are given
 * one. What resync finds is compared with the plain definition of it.
 * tries: format/tfrecord.* format/checksum/crc32c.c format/x86/crc32c_* format/arm/ */
#include "format/crc32c.h"
#include "format/tfrecord.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool truth) {
    if (!truth) abort();
}

static bool is_record(const uint8_t *bytes, size_t n, size_t at) {
    uint64_t length;
    if (n - at < LEAT_TFRECORD_OVERHEAD || !leat__tfrecord_length(bytes + at, &length)) return false;
    if (length > n - at - LEAT_TFRECORD_OVERHEAD) return false;
    const uint8_t *payload = bytes + at + LEAT_TFRECORD_HEADER;
    return leat__tfrecord_intact(payload, (size_t)length, payload + length);
}

static size_t plain_resync(const uint8_t *bytes, size_t n, size_t from) {
    for (size_t at = from; at < n; at++)
        if (is_record(bytes, n, at)) return at;
    return n;
}

/* Writes right checksums at places that the bytes themselves choose. */
static void forge(uint8_t *bytes, size_t n, unsigned times) {
    size_t at = 0;
    for (unsigned i = 0; i < times && n - at >= LEAT_TFRECORD_OVERHEAD; i++) {
        const unsigned choice = bytes[at + 8];
        uint64_t length = leat__load_u64(bytes + at);
        if (choice & 1) length = length % (n - at);
        leat__tfrecord_write_header(bytes + at, length);
        const size_t room = n - at - LEAT_TFRECORD_OVERHEAD;
        if (choice & 2 && length <= room) {
            uint8_t *const payload = bytes + at + LEAT_TFRECORD_HEADER;
            leat__tfrecord_write_footer(payload + length, payload, (size_t)length);
        }
        at += choice & 4 && length <= room ? LEAT_TFRECORD_OVERHEAD + (size_t)length : 12 + choice / 16;
        if (at > n) break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1) return 0;
    const size_t n = size - 1;
    uint8_t *const bytes = malloc(n ? n : 1); /* exact: a look past the end is seen */
    require(bytes != NULL);
    if (n) memcpy(bytes, data + 1, n);
    forge(bytes, n, data[0]);

    for (size_t at = 0; at < n;) {
        const size_t found = leat__tfrecord_resync(bytes, n, at);
        require(found == plain_resync(bytes, n, at));
        if (found == n) break;
        uint64_t length = 0;
        require(leat__tfrecord_length(bytes + found, &length));
        at = found + LEAT_TFRECORD_OVERHEAD + (size_t)length;
    }
    /* The checksum itself, cut at a place that the input chooses. */
    const size_t cut = n ? data[0] * n / 256 : 0;
    const uint32_t whole = leat__crc32c_extend_c(0, bytes, n), front = leat__crc32c_extend(0, bytes, cut);
    require(leat__crc32c_extend(front, bytes + cut, n - cut) == whole);
    require((leat__crc32c_shift(front, n - cut) ^ leat__crc32c_extend(0, bytes + cut, n - cut)) == whole);
    free(bytes);
    return 0;
}
