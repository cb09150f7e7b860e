/* SPDX-License-Identifier: Apache-2.0 */
/* A small reader of JSON: just enough to find a few names and numbers in a text from the environment (TF_CONFIG).
 * It allocates nothing; a value is a place in the text. Depth is bounded, numbers are whole, and escapes other than
 * \" \\ \/ in strings that are copied are refused. */
#ifndef LEAT_FORMAT_JSON_H
#define LEAT_FORMAT_JSON_H

#include "base/error.h"

typedef struct leat__json { /* a value: text from at, never past end              */
    const char *at, *end;
} leat__json;

/* Whether the n bytes are one JSON value and nothing else but white space; *out is that value. */
bool leat__json_open(leat__json *out, const char *text, size_t n);
/* 1 = the object has this key, and *out is its value (the last one, as in Python); 0 = it has not; -1 = no object. */
int leat__json_find(const leat__json *object, const char *key, leat__json *out);
/* The elements of an array one after the other: *at is NULL before the first. False at the end, or if it is none. */
bool leat__json_next(const leat__json *array, const char **at, leat__json *out);
/* The same for the members of an object. */
bool leat__json_member(const leat__json *object, const char **at, leat__json *key, leat__json *out);
/* A string without escapes but \" \\ and \/, with a final 0; false if it is none or does not fit. */
bool leat__json_text(const leat__json *value, char *text, size_t cap);
/* A whole number; a string of digits counts too, since many write "index": "0". */
bool leat__json_int(const leat__json *value, int64_t *out);

#endif
