/* SPDX-License-Identifier: Apache-2.0 */
/* The record of a pack: the recipe as JSON, a line for each thing that decides about bytes. It is put into the folder
 * before the first shard, by a link that fails if another process was first; a process that comes later must have the same recipe.
 * What --store auto has measured is in it, so that it is decided once. */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/hash.h"
#include "format/json.h"
#include "tools/pack/pack.h"

#define RECORD_MAX ((size_t)1 << 20)

/* ---------------------------------------------------------------------------------------------- JSON */

bool leat__json_printf(leat__buf *out, const char *fmt, ...) {
    char text[2000];
    va_list args;
    va_start(args, fmt);
    const int n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return n >= 0 && leat__buf_append(out, text, LEAT_MIN((size_t)n, sizeof text - 1));
}

/* Bytes of the character at c, 0 if it is not UTF-8. */
static size_t character(const unsigned char *c) {
    const size_t n = *c < 0x80                 ? 1
                     : *c >= 0xc2 && *c < 0xe0 ? 2
                     : (*c & 0xf0) == 0xe0     ? 3
                     : *c >= 0xf0 && *c < 0xf5 ? 4
                                               : 0;
    for (size_t i = 1; i < n; i++)
        if ((c[i] & 0xc0) != 0x80) return 0;
    const bool long_form = (*c == 0xe0 && c[1] < 0xa0) || (*c == 0xf0 && c[1] < 0x90);
    const bool beyond = (*c == 0xed && c[1] >= 0xa0) || (*c == 0xf4 && c[1] >= 0x90);
    return n && (long_form || beyond) ? 0 : n;
}

/* Names of files are any bytes; what is no UTF-8 becomes U+FFFD. */
bool leat__json_string(leat__buf *out, const char *text) {
    bool fits = leat__buf_append(out, "\"", 1);
    for (const unsigned char *c = (const unsigned char *)text; *c && fits;) {
        const size_t n = character(c);
        if (*c == '"' || *c == '\\') fits = leat__json_printf(out, "\\%c", *c);
        else if (*c < 32 || *c == 127) fits = leat__json_printf(out, "\\u%04x", *c);
        else if (n == 0) fits = leat__json_printf(out, "\\ufffd");
        else fits = leat__buf_append(out, c, n);
        c += LEAT_MAX(n, (size_t)1);
    }
    return fits && leat__buf_append(out, "\"", 1);
}

/* --------------------------------------------------------------------------------------------- write */

static bool add_text(leat__buf *out, const char *key, const char *text) {
    return leat__json_printf(out, ",\n  \"%s\": ", key) &&
           (text ? leat__json_string(out, text) : leat__json_printf(out, "null"));
}

static const char *store_name(leat__store store) {
    static const char *const names[] = {"original", "jpeg", "raw"};
    return names[store];
}

static bool add_storing(const leat__packing *self, leat__buf *out) {
    const leat__storing *how = &self->storing;
    return add_text(out, "store", store_name(how->store)) &&
           leat__json_printf(out, ",\n  \"height\": %d,\n  \"width\": %d,\n  \"quality\": %d", how->height,
                             how->width, how->store == LEAT_STORE_JPEG ? how->quality : 0) &&
           leat__json_printf(out, ",\n  \"orient\": %s,\n  \"check\": %s",
                             self->pack.how & LEAT_PACK_ORIENT ? "true" : "false",
                             self->pack.how & LEAT_PACK_CHECK ? "true" : "false");
}

static bool add_layout(const leat__packing *self, leat__buf *out) {
    bool fits = leat__json_printf(out, ",\n  \"shuffle\": %s,\n  \"seed\": %" PRIu64,
                                  self->pack.shuffle ? "true" : "false",
                                  self->pack.shuffle || self->pack.copies ? self->pack.seed : 0) &&
                add_text(out, "split", self->pack.split) && add_text(out, "augment", self->pack.augment) &&
                leat__json_printf(out, ",\n  \"copies\": %d,\n  \"sets\": [", self->pack.copies);
    for (int s = 0; s < self->n_sets && fits; s++)
        fits = leat__json_printf(out, "%s{\"name\": \"%s\", \"shards\": %" PRIu64 "}", s ? ", " : "",
                                 self->set[s].name, self->set[s].n_shards);
    return fits && leat__json_printf(out, "]");
}

/* The lines behind "from" may differ without making another pack. */
int leat__pack_record_write(leat__packing *self, leat_error *err) {
    const leat__plan *plan = self->input.plan;
    leat__buf *out = &self->record;
    out->size = 0;
    bool fits =
        leat__json_printf(out, "{\n  \"leat\": \"%s\",\n  \"format\": \"leat pack 2\"", leat_version()) &&
        leat__json_printf(out, ",\n  \"samples\": %" PRIu64 ",\n  \"data\": \"%016" PRIx64 "\"",
                          self->input.n, plan->source->fingerprint) &&
        leat__json_printf(out, ",\n  \"plan\": \"%016" PRIx64 "\"", plan->fingerprint) &&
        add_text(out, "text", (const char *)plan->text.data) && add_storing(self, out) &&
        leat__json_printf(out, ",\n  \"features\": ") && leat__pack_schema(self, out) &&
        add_layout(self, out) &&
        leat__json_printf(out, ",\n  \"labels\": %s", self->input.label >= 0 ? "true" : "false") &&
        leat__json_printf(out, ",\n  \"positions\": %s",
                          self->pack.how & LEAT_PACK_POSITIONS ? "true" : "false");
    if (fits) self->identity = leat__hash(out->data, out->size, 0);
    fits = fits && add_text(out, "from", self->from) && leat__json_printf(out, ",\n  \"decided\": ") &&
           (self->decided.size ? leat__buf_append(out, self->decided.data, self->decided.size)
                               : leat__json_printf(out, "null")) &&
           leat__json_printf(out, "\n}\n") && leat__buf_append(out, "", 1);
    if (!fits) return leat__fail_memory(err, out->size, "a record");
    out->size--;
    return 0;
}

/* ------------------------------------------------------------------------------------------- compare */

/* Text of a line without what ends it; returns the next line, NULL behind the last. */
static const char *line_of(const char *at, char *text, size_t cap) {
    const size_t n = strcspn(at, "\n"), end = n > 0 && at[n - 1] == ',' ? n - 1 : n;
    const size_t lead = strspn(at, " ");
    leat__printable(text, cap, at + LEAT_MIN(lead, end), end - LEAT_MIN(lead, end));
    return at[n] ? at + n + 1 : NULL;
}

static uint64_t number_in(const char *record, const char *key) {
    const char *at = strstr(record, key);
    uint64_t n = 0;
    if (at) sscanf(at + strlen(key), "%" SCNu64, &n);
    return n;
}

static int refuse_other(const leat__packing *self, const char *there, leat_error *err) {
    const leat__pack_place place = leat__pack_place_of(self);
    const char *a = there, *b = (const char *)self->record.data;
    char shown[300], was[260] = "", asked[260] = "";
    leat__pack_place_shown(&place, shown, sizeof shown);
    while (a && b && strcmp(was, asked) == 0) {
        a = line_of(a, was, sizeof was);
        b = line_of(b, asked, sizeof asked);
    }
    const bool data = strncmp(was, "\"samples\"", 9) == 0 || strncmp(was, "\"data\"", 6) == 0;
    if (data) {
        snprintf(was, sizeof was, "%" PRIu64 " images", number_in(there, "\"samples\": "));
        snprintf(asked, sizeof asked, "%" PRIu64 " images", self->input.n);
    }
    return leat__fail(err, LEAT_ERR_STATE,
                      "%s-* is a pack of other %s (there: %s; asked for: %s): name another folder or prefix, "
                      "or use force to replace it",
                      shown, data ? "images" : "options", was, asked);
}

/* Up to the line "from" both must be equal. */
static bool same_recipe(const char *a, const char *b) {
    const char *end = strstr(b, ",\n  \"from\": ");
    const size_t n = end ? (size_t)(end - b) : strlen(b);
    return strncmp(a, b, n) == 0;
}

static int read_record(const leat__packing *self, leat__buf *text, leat_error *err) {
    char path[PATH_MAX];
    const leat__pack_place place = leat__pack_place_of(self);
    leat__pack_record_path(&place, path, sizeof path);
    LEAT_TRY(leat__file_read_all(path, text, RECORD_MAX, err));
    return leat__buf_append(text, "", 1) ? 0 : leat__fail_memory(err, text->size, "a record");
}

/* What is there is taken as it is: the manifest holds it. */
static int compare(leat__packing *self, leat__buf *there, leat_error *err) {
    LEAT_TRY(read_record(self, there, err));
    if (!same_recipe((const char *)there->data, (const char *)self->record.data))
        return refuse_other(self, (const char *)there->data, err);
    self->record.size = 0;
    if (!leat__buf_append(&self->record, there->data, there->size))
        return leat__fail_memory(err, there->size, "a record");
    self->record.size--;
    return 1;
}

int leat__pack_record_publish(leat__packing *self, leat_error *err) {
    char path[PATH_MAX];
    const leat__pack_place place = leat__pack_place_of(self);
    leat__buf there = {.kind = LEAT_MEM_TOOL};
    leat__stat st;
    leat__pack_record_path(&place, path, sizeof path);
    int rc = leat__file_stat(path, &st, NULL) == 0 ? 1 : 0;
    if (rc == 0) rc = leat__file_write_new(path, self->record.data, self->record.size, err);
    if (rc > 0) rc = compare(self, &there, err);
    leat__buf_free(&there);
    return rc;
}

/* ------------------------------------------------------------------------------------------- decided */

static bool read_storing(const char *text, size_t n, leat__storing *how, leat__buf *decided) {
    leat__json record, value;
    char store[16];
    int64_t number[3];
    static const char *const keys[3] = {"height", "width", "quality"};
    if (!leat__json_open(&record, text, n) || leat__json_find(&record, "store", &value) != 1 ||
        !leat__json_text(&value, store, sizeof store))
        return false;
    for (int i = 0; i < 3; i++)
        if (leat__json_find(&record, keys[i], &value) != 1 || !leat__json_int(&value, &number[i]) ||
            number[i] < 0 || number[i] > 16384)
            return false;
    for (int s = LEAT_STORE_ORIGINAL; s <= LEAT_STORE_RAW; s++)
        if (strcmp(store, store_name((leat__store)s)) == 0) how->store = (leat__store)s;
    how->height = (int)number[0];
    how->width = (int)number[1];
    how->quality = (int)number[2];
    if (leat__json_find(&record, "decided", &value) != 1 || *value.at != '{') return false;
    const char *end = value.end;
    while (end > value.at && end[-1] != '}') end--;
    decided->size = 0;
    return leat__buf_append(decided, value.at, (size_t)(end - value.at));
}

int leat__pack_record_decided(leat__packing *self, leat_error *err) {
    leat__buf there = {.kind = LEAT_MEM_TOOL};
    char path[PATH_MAX];
    leat__stat st;
    const leat__pack_place place = leat__pack_place_of(self);
    leat__pack_record_path(&place, path, sizeof path);
    if (leat__file_stat(path, &st, NULL) < 0) return 0;
    int rc = read_record(self, &there, err);
    if (rc == 0) rc = read_storing((const char *)there.data, there.size - 1, &self->storing, &self->decided);
    leat__buf_free(&there);
    return rc;
}
