/* SPDX-License-Identifier: Apache-2.0 */
#include "format/wire.h"

bool leat__wire_varint_long(leat__wire *w, uint64_t *value) {
    const size_t n = LEAT_MIN(leat__wire_left(w), (size_t)LEAT_WIRE_VARINT_MAX);
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum |= (uint64_t)(w->at[i] & 0x7f) << 7 * i;
        if (w->at[i] < 0x80) {
            w->at += i + 1;
            *value = sum;
            return true;
        }
    }
    const bool endless = n == LEAT_WIRE_VARINT_MAX;
    return leat__wire_fail(w, endless ? "a number of more than 10 bytes" : "the end inside a number");
}

static bool skip_fixed(leat__wire *w, size_t n) {
    if (leat__wire_left(w) < n) return leat__wire_fail(w, "the end inside a number");
    w->at += n;
    return true;
}

/* What a type holds in itself, that is, all but groups. */
static bool skip_plain(leat__wire *w, uint32_t tag) {
    uint64_t number;
    leat__wire inside;
    switch (tag & 7) {
    case LEAT_WIRE_VARINT: return leat__wire_varint(w, &number);
    case LEAT_WIRE_FIXED64: return skip_fixed(w, 8);
    case LEAT_WIRE_BYTES: return leat__wire_bytes(w, &inside);
    case LEAT_WIRE_FIXED32: return skip_fixed(w, 4);
    default: return leat__wire_fail(w, "a group ends that did not begin");
    }
}

bool leat__wire_skip(leat__wire *w, uint32_t tag) {
    if (LEAT_LIKELY((tag & 7) != LEAT_WIRE_GROUP)) return skip_plain(w, tag);
    uint32_t open[LEAT_WIRE_GROUPS_MAX]; /* numbers of the groups we are in */
    int depth = 0;
    open[depth++] = tag >> 3;
    while (depth > 0) {
        const uint8_t *const start = w->at;
        if (w->at == w->end) return leat__wire_fail(w, "the end inside a group");
        if (!leat__wire_tag(w, &tag)) return false;
        if ((tag & 7) == LEAT_WIRE_GROUP) {
            if (depth == LEAT_WIRE_GROUPS_MAX) {
                w->at = start;
                return leat__wire_fail(w, "more than 100 groups in one another");
            }
            open[depth++] = tag >> 3;
        } else if ((tag & 7) == LEAT_WIRE_GROUP_END) {
            if (open[--depth] != tag >> 3) {
                w->at = start;
                return leat__wire_fail(w, "a group ends that did not begin");
            }
        } else if (!skip_plain(w, tag)) {
            return false;
        }
    }
    return true;
}
