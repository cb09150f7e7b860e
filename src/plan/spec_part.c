/* SPDX-License-Identifier: Apache-2.0 */
/* Specs as parts of others. A combining operation calls its data sets @NAME, or has them as texts in quotes. Text cannot
 * carry arrays, callbacks and functions of the program: a part can. */
#include <stdio.h>

#include "plan/spec.h"

void *leat__spec_keep(leat_spec *spec, const void *from, size_t bytes, const char *what) {
    void *copy = leat__arena_alloc(&spec->memory, bytes);
    if (copy) memcpy(copy, from, bytes);
    else leat__fail_memory(&spec->error, bytes, what);
    return copy;
}

/* ------------------------------------------------------------------------------------------- copying */

static bool copy_arrays(leat_spec *to, const leat_spec *from) {
    const size_t n = (size_t)from->n_arrays;
    if (!from->arrays) return true;
    to->arrays = leat__spec_keep(to, from->arrays, n * sizeof *from->arrays, "arrays");
    to->n_arrays = from->n_arrays;
    for (size_t i = 0; i < n && to->arrays; i++) {
        const char *name = from->arrays[i].name;
        to->arrays[i].name = leat__spec_keep(to, name, strlen(name) + 1, "arrays");
        if (!to->arrays[i].name) return false;
    }
    return to->arrays != NULL;
}

static bool copy_callbacks(leat_spec *to, const leat_spec *from) {
    if (from->callbacks) {
        const leat_field *field = from->callbacks->field;
        const size_t n = (size_t)from->callbacks->n_fields;
        to->callbacks = leat__spec_keep(to, from->callbacks, sizeof *from->callbacks, "callbacks");
        field = leat__spec_keep(to, field, n * sizeof *field, "callbacks");
        if (!to->callbacks || !field) return false;
        to->callbacks->field = field;
    }
    if (from->stream) to->stream = leat__spec_keep(to, from->stream, sizeof *from->stream, "callbacks");
    memcpy(to->called, from->called, sizeof to->called);
    to->n_called = from->n_called;
    return !from->stream || to->stream;
}

/* A spec of its own that says the same. If it holds an error, there was no memory. NULL likewise. */
static leat_spec *copy_spec(const leat_spec *from) {
    leat_spec *to = leat_spec_new(NULL);
    if (!to || !from->text.size) return to;
    if (!leat__buf_append(&to->text, from->text.data, from->text.size)) {
        leat__fail_memory(&to->error, from->text.size, "a pipeline text");
        return to;
    }
    leat__spec_read(to, (const char *)to->text.data, 1, &to->error);
    if (to->error.code || !copy_arrays(to, from) || !copy_callbacks(to, from)) return to;
    for (int i = 0; i < from->n_parts && !to->error.code; i++)
        leat__spec_part_add(to, from->part[i].name, from->part[i].spec);
    return to;
}

/* --------------------------------------------------------------------------------------------- parts */

static bool is_name(const char *name) {
    size_t n = 0;
    while ((name[n] >= 'a' && name[n] <= 'z') || (name[n] >= 'A' && name[n] <= 'Z') || name[n] == '_' ||
           (name[n] >= '0' && name[n] <= '9'))
        n++;
    return n > 0 && name[n] == 0 && n < sizeof((leat__spec_part *)NULL)->name;
}

void leat__spec_part_add(leat_spec *spec, const char *name, const leat_spec *part) {
    leat_error *err = &spec->error;
    if (!name || !is_name(name)) {
        leat__fail(err, LEAT_ERR_ARGUMENT, "leat_spec_part: a name is 1 to %zu letters, digits and _",
                   sizeof spec->part[0].name - 1);
    } else if (part->error.code) {
        *err = part->error;
        err->column = 0; /* of another text */
        leat__error_prefix(err, "part %s: ", name);
    } else if (part->n_uses == 0) {
        leat__fail(err, LEAT_ERR_ARGUMENT, "part %s is empty: it begins with a source, such as folder", name);
    } else if (leat__spec_part_find(spec, name)) {
        leat__fail(err, LEAT_ERR_ARGUMENT, "leat_spec_part: there is a part %s already", name);
    } else if (spec->n_parts == LEAT_PARTS_MAX) {
        leat__fail(err, LEAT_ERR_LIMIT, "leat_spec_part: more than %d parts", LEAT_PARTS_MAX);
    } else {
        leat__spec_part *added = &spec->part[spec->n_parts];
        added->spec = copy_spec(part);
        if (!added->spec) {
            leat__fail_memory(err, sizeof *spec, "a part");
            return;
        }
        snprintf(added->name, sizeof added->name, "%s", name);
        spec->n_parts++;
        if (added->spec->error.code) *err = added->spec->error;
    }
}

const leat_spec *leat__spec_part_find(const leat_spec *spec, const char *name) {
    for (int i = 0; i < spec->n_parts; i++)
        if (strcmp(spec->part[i].name, name) == 0) return spec->part[i].spec;
    return NULL;
}

void leat__spec_borrow(leat_spec *spec, const leat_spec *from) {
    spec->arrays = from->arrays;
    spec->n_arrays = from->n_arrays;
    spec->callbacks = from->callbacks;
    spec->stream = from->stream;
    spec->n_called = from->n_called;
    memcpy(spec->called, from->called, sizeof spec->called);
    spec->n_parts = from->n_parts;
    memcpy(spec->part, from->part, sizeof spec->part);
    spec->borrows = true;
}

/* ---------------------------------------------------------------------------------------------- text */

/* The text of a combining operation with its part spelled out: "image=@a" becomes "image=folder path=photos". */
static bool append_part(const leat_spec *spec, const char *text, leat__buf *out) {
    const char *at = strchr(text, '@');
    const bool whole =
        at && (at == text || (at[-1] == '=' && strcspn(text, " =") == (size_t)(at - text - 1)));
    const leat_spec *part = whole ? leat__spec_part_find(spec, at + 1) : NULL;
    if (!part) return leat__buf_append(out, text, strlen(text) + 1);
    return leat__buf_append(out, text, (size_t)(at - text)) && leat__spec_normal(part, out) &&
           leat__buf_append(out, "", 1);
}

static bool append_combining(const leat_spec *spec, const leat__use *use, leat__buf *out) {
    const leat__arg_value *texts = leat__use_arg(use, "texts");
    leat__buf all = {.kind = LEAT_MEM_PLAN};
    size_t at[LEAT_TEXTS_MAX]; /* of each text in `all` */
    const char *spelled[LEAT_TEXTS_MAX];
    const int n = texts->n;
    leat__use normal = *use;
    bool fits = true;
    if (n > LEAT_TEXTS_MAX) return leat__use_normal(use, out); /* it cannot be opened */
    for (int i = 0; i < n && fits; i++) {
        at[i] = all.size;
        fits = append_part(spec, texts->texts[i], &all);
    }
    for (int i = 0; i < n && fits; i++) spelled[i] = (const char *)all.data + at[i];
    normal.arg[texts - use->arg].texts = spelled;
    fits = fits && leat__use_normal(&normal, out);
    leat__buf_free(&all);
    return fits;
}

bool leat__spec_normal(const leat_spec *spec, leat__buf *out) {
    bool fits = true;
    for (int i = 0; i < spec->n_uses && fits; i++) {
        const leat__use *use = &spec->use[i];
        const bool combines = (use->op->flags & LEAT_OP_COMBINES) != 0;
        fits = (i == 0 || leat__buf_append(out, " | ", 3)) &&
               (combines ? append_combining(spec, use, out) : leat__use_normal(use, out));
    }
    return fits;
}
