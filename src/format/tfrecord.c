/* SPDX-License-Identifier: Apache-2.0 */
#include "format/tfrecord.h"

#include "format/crc32c.h"

bool leat__tfrecord_length(const uint8_t header[LEAT_TFRECORD_HEADER], uint64_t *length) {
    if (leat__load_u32(header + 8) != leat__crc32c_masked(header, 8)) return false;
    *length = leat__load_u64(header);
    return true;
}

bool leat__tfrecord_intact(const uint8_t *payload, size_t n, const uint8_t footer[LEAT_TFRECORD_FOOTER]) {
    return leat__load_u32(footer) == leat__crc32c_masked(payload, n);
}

void leat__tfrecord_write_header(uint8_t header[LEAT_TFRECORD_HEADER], uint64_t length) {
    leat__store_u64(header, length);
    leat__store_u32(header + 8, leat__crc32c_masked(header, 8));
}

void leat__tfrecord_write_footer(uint8_t footer[LEAT_TFRECORD_FOOTER], const void *payload, size_t n) {
    leat__store_u32(footer, leat__crc32c_masked(payload, n));
}

/* ------------------------------------------------------------------------------------------ resync
 *
 * Real damage has one or two plausible headers, and their payloads are simply checksummed. But a file can be
 * forged that has a right header every 12 bytes, each claiming the rest of the file, and then that is
 * quadratic. So when more than the whole window has been checksummed in vain, the checksums of its beginnings
 * are taken once, at MARKS places, and any payload's checksum follows from two of them. */

enum { MARKS = 8192 };

typedef struct window {
    const uint8_t *bytes;
    size_t n;
    size_t spent;         /* payload bytes checksummed so far                        */
    size_t step;          /* bytes from mark to mark, 0 = the marks are not set yet  */
    uint32_t mark[MARKS]; /* mark[i]: checksum of bytes[0, i * step)                 */
} window;

static void set_marks(window *w) {
    w->step = w->n / MARKS + 1;
    uint32_t crc = 0;
    for (size_t i = 0, at = 0; i < MARKS && at <= w->n; i++, at += w->step) {
        w->mark[i] = crc;
        crc = leat__crc32c_extend(crc, w->bytes + at, LEAT_MIN(w->step, w->n - at));
    }
}

/* Checksum of bytes[0, end). */
static uint32_t checksum_to(const window *w, size_t end) {
    const size_t i = end / w->step;
    return leat__crc32c_extend(w->mark[i], w->bytes + i * w->step, end - i * w->step);
}

static uint32_t checksum_of(window *w, size_t at, size_t size) {
    if (w->step == 0) {
        if (size <= w->n - w->spent) {
            w->spent += size;
            return leat__crc32c_extend(0, w->bytes + at, size);
        }
        set_marks(w);
    }
    if (size <= 2 * w->step) return leat__crc32c_extend(0, w->bytes + at, size);
    return checksum_to(w, at + size) ^ leat__crc32c_shift(checksum_to(w, at), size);
}

static bool record_at(window *w, size_t at) {
    uint64_t length;
    const size_t room = w->n - at - LEAT_TFRECORD_OVERHEAD;
    /* Most places are told apart without a checksum: what stands there is no size that fits. */
    if (leat__load_u64(w->bytes + at) > room || !leat__tfrecord_length(w->bytes + at, &length)) return false;
    const size_t payload = at + LEAT_TFRECORD_HEADER, size = (size_t)length;
    return leat__load_u32(w->bytes + payload + size) == leat__crc32c_mask(checksum_of(w, payload, size));
}

size_t leat__tfrecord_resync(const uint8_t *bytes, size_t n, size_t from) {
    if (n < LEAT_TFRECORD_OVERHEAD) return n;
    window w;
    w.bytes = bytes, w.n = n, w.spent = 0, w.step = 0;
    for (size_t at = from; at <= n - LEAT_TFRECORD_OVERHEAD; at++)
        if (record_at(&w, at)) return at;
    return n;
}
