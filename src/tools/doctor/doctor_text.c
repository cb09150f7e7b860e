/* SPDX-License-Identifier: Apache-2.0 */
/* Changing the text of a pipeline by whole operations. */
#include <stdarg.h>
#include <stdio.h>

#include "tools/doctor/doctor.h"

static char *keep(leat__edit *edit, const char *text, size_t n) {
    char *copy = leat__arena_alloc(&edit->memory, n + 1);
    if (copy) {
        memcpy(copy, text, n);
        copy[n] = 0;
    }
    return copy;
}

int leat__edit_begin(leat__edit *edit, const leat_spec *spec, leat_error *err) {
    *edit = (leat__edit){.n = spec->n_uses, .memory.kind = LEAT_MEM_TOOL};
    const char *text = (const char *)spec->text.data;
    for (int i = 0; i < spec->n_uses; i++) {
        const size_t begin = (size_t)spec->use[i].column - 1;
        size_t end = i + 1 < spec->n_uses ? (size_t)spec->use[i + 1].column - 1 : strlen(text);
        while (end > begin && strchr(" \t\n|", text[end - 1])) end--;
        edit->op[i] = keep(edit, text + begin, end - begin);
        if (!edit->op[i]) return leat__fail_memory(err, end - begin, "a pipeline text");
    }
    return 0;
}

static char *format(leat__edit *edit, const char *fmt, va_list args) {
    char line[2400];
    const int n = vsnprintf(line, sizeof line, fmt, args);
    return n >= 0 && (size_t)n < sizeof line ? keep(edit, line, (size_t)n) : NULL;
}

bool leat__edit_set(leat__edit *edit, int at, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    edit->op[at] = format(edit, fmt, args);
    va_end(args);
    return edit->op[at] != NULL;
}

bool leat__edit_insert(leat__edit *edit, int at, const char *fmt, ...) {
    if (edit->n == LEAT_USES_MAX) return false;
    memmove(edit->op + at + 1, edit->op + at, (size_t)(edit->n - at) * sizeof *edit->op);
    edit->n++;
    va_list args;
    va_start(args, fmt);
    edit->op[at] = format(edit, fmt, args);
    va_end(args);
    return edit->op[at] != NULL;
}

void leat__edit_remove(leat__edit *edit, int at) {
    edit->n--;
    memmove(edit->op + at, edit->op + at + 1, (size_t)(edit->n - at) * sizeof *edit->op);
}

void leat__edit_move(leat__edit *edit, int from, int to) {
    char *op = edit->op[from];
    leat__edit_remove(edit, from);
    memmove(edit->op + to + 1, edit->op + to, (size_t)(edit->n - to) * sizeof *edit->op);
    edit->n++;
    edit->op[to] = op;
}

const char *leat__edit_text(leat__edit *edit) {
    size_t bytes = 1;
    for (int i = 0; i < edit->n; i++) {
        if (!edit->op[i]) return NULL;
        bytes += strlen(edit->op[i]) + 3;
    }
    char *text = leat__arena_alloc(&edit->memory, bytes), *to = text;
    for (int i = 0; text && i < edit->n; i++)
        to += snprintf(to, bytes - (size_t)(to - text), "%s%s", i ? " | " : "", edit->op[i]);
    return text;
}

void leat__edit_free(leat__edit *edit) {
    leat__arena_free(&edit->memory);
    *edit = (leat__edit){0};
}

void leat__edit_quote(char *out, size_t cap, const char *path) {
    const char *quote = !strpbrk(path, " \t|='\"") ? "" : strchr(path, '\'') ? "\"" : "'";
    snprintf(out, cap, "%s%s%s", quote, path, quote);
}
