/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <strings.h>

static void write_message(leat_error *err, int code, int sys, const char *fmt, va_list args) {
    if (!err) return;
    *err = (leat_error){.code = code, .sys = sys, .sample = LEAT_NO_SAMPLE};
    vsnprintf(err->message, sizeof err->message, fmt, args);
}

int leat__fail(leat_error *err, int code, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    write_message(err, code, 0, fmt, args);
    va_end(args);
    return code;
}

int leat__fail_sys(leat_error *err, int code, int sys, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    write_message(err, code, sys, fmt, args);
    va_end(args);
    if (err) {
        char words[128];
        const size_t n = strlen(err->message);
        /* The GNU form of strerror_r: it needs no lock and never fails. */
        snprintf(err->message + n, sizeof err->message - n, ": %s", strerror_r(sys, words, sizeof words));
    }
    return code;
}

int leat__fail_memory(leat_error *err, size_t bytes, const char *what) {
    return leat__fail(err, LEAT_ERR_MEMORY, "no memory for %zu bytes of %s", bytes, what);
}

void leat__error_prefix(leat_error *err, const char *fmt, ...) {
    if (!err) return;
    char text[sizeof err->message];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    n = LEAT_CLAMP(n, 0, (int)sizeof text - 1);
    snprintf(text + n, sizeof text - (size_t)n, "%s", err->message);
    memcpy(err->message, text, sizeof text);
}

void leat__error_clear(leat_error *err) {
    if (err) *err = (leat_error){.sample = LEAT_NO_SAMPLE};
}

int leat__check_reserved(const uint64_t *words, size_t n, const char *type, leat_error *err) {
    for (size_t i = 0; i < n; i++)
        if (words[i])
            return leat__fail(err, LEAT_ERR_ARGUMENT,
                              "%s: a reserved word is not 0: zero the struct first; if it is zeroed, the "
                              "program was compiled for a later version than " LEAT_VERSION ", which runs",
                              type);
    return 0;
}

/* What may stand in a message of the text: of an address neither its query, which may be a signature, nor a name and password in
 * front of the host, which lie between *from and *to. */
static size_t without_secrets(const char *text, size_t n, size_t *from, size_t *to) {
    const size_t scheme = n > 8 && strncasecmp(text, "https://", 8) == 0  ? 8
                          : n > 7 && strncasecmp(text, "http://", 7) == 0 ? 7
                                                                          : 0;
    *from = *to = 0;
    if (!scheme) return n;
    size_t slash = scheme, end = scheme;
    while (slash < n && text[slash] != '/' && text[slash] != '?' && text[slash] != '#') slash++;
    for (size_t i = scheme; i < slash; i++)
        if (text[i] == '@') *from = scheme, *to = i;
    while (end < n && text[end] != '?' && text[end] != '#') end++;
    return end;
}

const char *leat__printable(char *out, size_t cap, const void *text, size_t n) {
    static const char dots[] = "...";
    const uint8_t *in = text;
    size_t from, to;
    n = without_secrets(text, n, &from, &to);
    const size_t hidden = to - from;
    if (hidden) { /* the host first, and then as any other text */
        char plain[1024];
        const size_t rest = LEAT_MIN(n - to - 1, sizeof plain - from);
        memcpy(plain, in, from);
        memcpy(plain + from, in + to + 1, rest);
        return leat__printable(out, cap, plain, from + rest);
    }
    const bool whole = n < cap;
    const size_t head = whole ? n : (cap - sizeof dots) / 2;
    size_t used = 0;
    for (size_t i = 0; i < head; i++) out[used++] = in[i] < 32 || in[i] == 127 ? '?' : (char)in[i];
    if (!whole) {
        memcpy(out + used, dots, sizeof dots - 1);
        used += sizeof dots - 1;
        for (size_t i = n - (cap - 1 - used); i < n; i++)
            out[used++] = in[i] < 32 || in[i] == 127 ? '?' : (char)in[i];
    }
    out[used] = 0;
    return out;
}

const char *leat_error_name(int code) {
    switch (code) {
    case 0: return "OK";
    case LEAT_END: return "END";
#define LEAT_X(name, number, text) \
    case number: return #name;
        LEAT_ERROR_MAP(LEAT_X)
#undef LEAT_X
    default: return "UNKNOWN";
    }
}

const char *leat_error_text(int code) {
    switch (code) {
    case 0: return "no error";
    case LEAT_END: return "the end";
#define LEAT_X(name, number, text) \
    case number: return text;
        LEAT_ERROR_MAP(LEAT_X)
#undef LEAT_X
    default: return "an unknown code";
    }
}

const char *leat_stage_name(int stage) {
    static const char *const names[LEAT_STAGE_COUNT] = {"none",      "read",  "parse", "decode",
                                                        "transform", "store", "call"};
    return stage >= 0 && stage < LEAT_STAGE_COUNT ? names[stage] : "?";
}

/* What the file itself is to blame for: it is gone, it is no file, this user may not read it, it is shorter than it was. */
static bool is_the_files(int sys) {
    static const int those[] = {0,      ENOENT, ENOTDIR,      EACCES,    EPERM, EISDIR,
                                EINVAL, ELOOP,  ENAMETOOLONG, EOVERFLOW, ENXIO};
    for (size_t i = 0; i < LEAT_COUNT(those); i++)
        if (sys == those[i]) return true;
    return false;
}

bool leat__error_is_fault(const leat_error *err) {
    switch (err->code) {
    case LEAT_ERR_MEMORY:
    case LEAT_ERR_THREAD:
    case LEAT_ERR_FORKED:
    case LEAT_ERR_STATE: /* an index that did not fit: every number of a sample is in doubt */
    case LEAT_ERR_CANCELLED: return true;
    case LEAT_ERR_IO: return !is_the_files(err->sys);
    default: return false;
    }
}
