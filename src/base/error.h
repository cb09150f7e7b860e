/* SPDX-License-Identifier: Apache-2.0 */
/* How errors are reported: a function returns a negative code. The function that knows the cause writes the message, once. */
#ifndef LEAT_BASE_ERROR_H
#define LEAT_BASE_ERROR_H

#include "base/macros.h"
#include "leat/leat.h"

/* Forwards a negative result; the message was already written below. */
#define LEAT_TRY(expr)                           \
    do {                                         \
        int leat_try_rc = (expr);                \
        if (leat_try_rc < 0) return leat_try_rc; \
    } while (0)

/* Writes code and message into err (which may be NULL) and returns code. Clears sys, stage, column, sample. */
int leat__fail(leat_error *err, int code, const char *fmt, ...) LEAT_PRINTF(3, 4);
/* The same with ": " and the operating system's message for sys (an errno) at the end. */
int leat__fail_sys(leat_error *err, int code, int sys, const char *fmt, ...) LEAT_PRINTF(4, 5);
/* Out of memory: says how much was wanted and for what. */
int leat__fail_memory(leat_error *err, size_t bytes, const char *what);
/* Puts text in front of the message that err holds. */
void leat__error_prefix(leat_error *err, const char *fmt, ...) LEAT_PRINTF(2, 3);
void leat__error_clear(leat_error *err);
/* Whether the machine is at fault and not the data: no memory, no descriptors, a disk that fails. The same data may be read
 * well at another time, so on_error does not apply to it. */
bool leat__error_is_fault(const leat_error *err);

/* Whether the words that a caller's struct keeps for later versions are 0, as in LEAT_CHECK_RESERVED(leat_config, config,
 * err): else LEAT_ERR_ARGUMENT. The caller has not zeroed the struct, or was compiled for a version that uses them. */
#define LEAT_CHECK_RESERVED(type, from, err) \
    leat__check_reserved((from)->reserved, LEAT_COUNT((from)->reserved), #type, err)
int leat__check_reserved(const uint64_t *words, size_t n, const char *type, leat_error *err);

/* Copies text that came from outside (a path, a key) so that it can stand in a one-line message: control
 * characters become '?', and a text longer than cap - 1 is shortened in the middle. Returns out. */
const char *leat__printable(char *out, size_t cap, const void *text, size_t n);

#endif
