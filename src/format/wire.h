/* SPDX-License-Identifier: Apache-2.0 */
/* The protobuf wire format, as much of it as reading needs: a cursor over memory that never looks past its
 * end.
 *
 * A message is a row of fields; a field is a tag (number and wire type in one varint) and a value. Readers
 * take the fields they know and hand all others to leat__wire_skip. Functions return false at the first thing
 * that no protobuf writer writes; the cursor then stands at it and `why` says what it is. */
#ifndef LEAT_FORMAT_WIRE_H
#define LEAT_FORMAT_WIRE_H

#include "base/macros.h"

enum {
    LEAT_WIRE_VARINT = 0,
    LEAT_WIRE_FIXED64 = 1,
    LEAT_WIRE_BYTES = 2, /* strings, messages, packed lists */
    LEAT_WIRE_GROUP = 3,
    LEAT_WIRE_GROUP_END = 4,
    LEAT_WIRE_FIXED32 = 5,
};
#define LEAT_WIRE_TAG(number, type) ((uint32_t)(number) << 3 | (type))
#define LEAT_WIRE_VARINT_MAX 10  /* bytes                                    */
#define LEAT_WIRE_GROUPS_MAX 100 /* nested; what other implementations allow */

typedef struct leat__wire {
    const uint8_t *at, *end;
    const char *why; /* NULL until something failed */
} leat__wire;

static inline leat__wire leat__wire_over(const uint8_t *bytes, size_t n) {
    return (leat__wire){.at = bytes, .end = bytes ? bytes + n : bytes};
}
static inline size_t leat__wire_left(const leat__wire *w) {
    return (size_t)(w->end - w->at);
}

static inline bool leat__wire_fail(leat__wire *w, const char *why) {
    w->why = why;
    return false;
}

bool leat__wire_varint_long(leat__wire *w, uint64_t *value);

/* Bits above the 64th are dropped, as everywhere. */
static inline bool leat__wire_varint(leat__wire *w, uint64_t *value) {
    if (LEAT_LIKELY(w->at != w->end && *w->at < 0x80)) {
        *value = *w->at++;
        return true;
    }
    return leat__wire_varint_long(w, value);
}

/* The next field's tag; its number is not 0 and its type is one of the six. */
static inline bool leat__wire_tag(leat__wire *w, uint32_t *tag) {
    const uint8_t *const start = w->at;
    uint64_t value;
    if (!leat__wire_varint(w, &value)) return false;
    if (LEAT_UNLIKELY(value < 8 || value > UINT32_MAX || (value & 7) > LEAT_WIRE_FIXED32)) {
        w->at = start;
        return leat__wire_fail(w, "no field starts like this");
    }
    *tag = (uint32_t)value;
    return true;
}

/* The value of a field of type LEAT_WIRE_BYTES as a cursor of its own. */
static inline bool leat__wire_bytes(leat__wire *w, leat__wire *inside) {
    const uint8_t *const start = w->at;
    uint64_t n;
    if (!leat__wire_varint(w, &n)) return false;
    if (LEAT_UNLIKELY(n > leat__wire_left(w))) {
        w->at = start;
        return leat__wire_fail(w, "a length that reaches past the end");
    }
    *inside = (leat__wire){.at = w->at, .end = w->at + n};
    w->at += n;
    return true;
}

/* The next field if it is one of bytes that looks as almost all do: with this tag of one byte, a length of one or two and
 * its value all there. Otherwise false, and nothing has happened: the functions above say what it is. */
static inline bool leat__wire_plain(leat__wire *w, uint32_t tag, leat__wire *inside) {
    const uint8_t *at = w->at, *const end = w->end;
    if (end - at < 3 || at[0] != tag) return false;
    size_t n = at[1];
    at += 2;
    if (n >= 0x80) {
        if (*at >= 0x80) return false;
        n = (n & 0x7f) | (size_t)*at++ << 7;
    }
    if (n > (size_t)(end - at)) return false;
    inside->at = at;
    w->at = inside->end = at + n;
    inside->why = NULL;
    return true;
}

/* Passes over the value of a field with this tag, whole groups included. */
bool leat__wire_skip(leat__wire *w, uint32_t tag);

#endif
