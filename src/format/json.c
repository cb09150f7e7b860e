/* SPDX-License-Identifier: Apache-2.0 */
#include "format/json.h"

enum { DEPTH_MAX = 32 };

static const char *skip_space(const char *at, const char *end) {
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r')) at++;
    return at;
}

/* Each skip function gives the place behind what it skipped, or NULL. */
static const char *skip_string(const char *at, const char *end) {
    if (at == end || *at != '"') return NULL;
    for (at++; at < end && *at != '"'; at++) {
        if ((unsigned char)*at < 32) return NULL;
        if (*at == '\\' && ++at == end) return NULL;
    }
    return at < end ? at + 1 : NULL;
}

static bool is_scalar(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '+' || c == '-' || c == '.' || c == 'E';
}

static bool is_word(const char *at, size_t n, const char *word) {
    return n == strlen(word) && memcmp(at, word, n) == 0;
}

/* A number, true, false or null. What the digits of a number say is looked at when it is asked for. */
static const char *skip_scalar(const char *at, const char *end) {
    const char *first = at;
    while (at < end && is_scalar(*at)) at++;
    const size_t n = (size_t)(at - first);
    if (n == 0) return NULL;
    if (*first >= 'a' && *first <= 'z' && !is_word(first, n, "true") && !is_word(first, n, "false") &&
        !is_word(first, n, "null"))
        return NULL;
    return at;
}

static const char *skip_value(const char *at, const char *end, int depth) {
    at = skip_space(at, end);
    if (at == end || depth > DEPTH_MAX) return NULL;
    if (*at == '"') return skip_string(at, end);
    if (*at != '{' && *at != '[') return skip_scalar(at, end);
    const bool object = *at == '{';
    const char closing = object ? '}' : ']';
    at = skip_space(at + 1, end);
    if (at < end && *at == closing) return at + 1;
    for (;;) {
        if (object) {
            at = skip_string(skip_space(at, end), end);
            if (!at) return NULL;
            at = skip_space(at, end);
            if (at == end || *at++ != ':') return NULL;
        }
        at = skip_value(at, end, depth + 1);
        if (!at) return NULL;
        at = skip_space(at, end);
        if (at == end) return NULL;
        if (*at == closing) return at + 1;
        if (*at++ != ',') return NULL;
    }
}

bool leat__json_open(leat__json *out, const char *text, size_t n) {
    const char *end = text + n, *after = skip_value(text, end, 0);
    *out = (leat__json){.at = skip_space(text, end), .end = after};
    return after && skip_space(after, end) == end;
}

/* The members of a value that leat__json_open has seen to be whole: key is empty in an array. Begins behind the
 * bracket; false at the end. */
static bool next_member(const char **at, const char *end, bool object, leat__json *key, leat__json *value) {
    *at = skip_space(*at, end);
    if (*at < end && **at == ',') *at = skip_space(*at + 1, end);
    if (*at >= end || **at == '}' || **at == ']') return false;
    if (object) {
        *key = (leat__json){.at = *at, .end = skip_string(*at, end)};
        if (!key->end) return false;
        *at = skip_space(key->end, end);
        if (*at >= end || *(*at)++ != ':') return false;
    }
    *at = skip_space(*at, end);
    *value = (leat__json){.at = *at, .end = skip_value(*at, end, 0)};
    if (!value->end) return false;
    *at = value->end;
    return true;
}

int leat__json_find(const leat__json *object, const char *name, leat__json *out) {
    if (object->at >= object->end || *object->at != '{') return -1;
    const char *at = object->at + 1;
    leat__json key, value;
    int found = 0;
    while (next_member(&at, object->end, true, &key, &value)) {
        char text[64];
        if (!leat__json_text(&key, text, sizeof text) || strcmp(text, name) != 0) continue;
        *out = value;
        found = 1;
    }
    return found;
}

bool leat__json_next(const leat__json *array, const char **at, leat__json *out) {
    leat__json key;
    if (array->at >= array->end || *array->at != '[') return false;
    if (!*at) *at = array->at + 1;
    return next_member(at, array->end, false, &key, out);
}

bool leat__json_member(const leat__json *object, const char **at, leat__json *key, leat__json *out) {
    if (object->at >= object->end || *object->at != '{') return false;
    if (!*at) *at = object->at + 1;
    return next_member(at, object->end, true, key, out);
}

bool leat__json_text(const leat__json *value, char *text, size_t cap) {
    if (value->end - value->at < 2 || *value->at != '"') return false;
    size_t n = 0;
    for (const char *at = value->at + 1; at < value->end - 1; at++) {
        if (*at == '\\' && *++at != '"' && *at != '\\' && *at != '/') return false;
        if (*at == 0 || n + 1 >= cap) return false;
        text[n++] = *at;
    }
    text[n] = 0;
    return true;
}

bool leat__json_int(const leat__json *value, int64_t *out) {
    const char *at = value->at, *end = value->end;
    if (at < end && *at == '"') at++, end--;
    const bool negative = at < end && *at == '-';
    int64_t n = 0;
    at += negative;
    if (at >= end) return false;
    for (; at < end; at++)
        if (*at < '0' || *at > '9' || __builtin_mul_overflow(n, 10, &n) ||
            __builtin_add_overflow(n, *at - '0', &n))
            return false;
    *out = negative ? -n : n;
    return true;
}
