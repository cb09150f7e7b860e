/* SPDX-License-Identifier: Apache-2.0 */
/* Reads pipeline text.
 *
 *     text  = verb { "|" verb }
 *     verb  = name { argument }
 *     argument = value | name "=" value
 *
 * Arguments are separated by white space. Quotes, single or double, take away the meaning of white space, "|" and "="
 * up to the next same quote; there is no escape character. A name in front of "=" is a letter followed by letters,
 * digits and "_", so that "label:int64=0" is a value. */
#include "plan/spec.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/dtype.h"
#include "base/rng.h"

typedef struct token {
    const char *key;   /* NULL for a positional argument */
    const char *value; /* without quotes                 */
    int column;        /* of the token                   */
    int value_column;
    int text_column; /* of its text, which is a part of the value when that is a pair; behind a quote */
} token;

typedef struct lexer {
    leat_spec *spec;
    const char *begin, *at;
    char *room; /* where tokens are written: twice the text is enough for all of them */
    int column; /* of *begin */
    leat_error *err;
} lexer;

static int fail_at(leat_error *err, int code, int column, const char *fmt, ...) LEAT_PRINTF(4, 5);
static int fail_at(leat_error *err, int code, int column, const char *fmt, ...) {
    char what[800], shown[800];
    va_list args;
    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    leat__fail(err, code, "column %d: %s", column, leat__printable(shown, sizeof shown, what, strlen(what)));
    if (err) err->column = column;
    return code;
}

static int column_of(const lexer *lex, const char *at) {
    return lex->column + (int)(at - lex->begin);
}

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}
static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= '0' && c <= '9');
}

/* The next token of a verb: 1, 0 at its end ("|" or the end of the text, not consumed), or an error. */
static int next_token(lexer *lex, token *out) {
    while (is_space(*lex->at)) lex->at++;
    if (*lex->at == 0 || *lex->at == '|') return 0;
    const char *first = lex->at;
    char *text = lex->room;
    *out = (token){.value = text, .column = column_of(lex, first), .value_column = column_of(lex, first)};
    size_t n = 0;
    bool may_be_key = !(*first >= '0' && *first <= '9');
    char quote = 0;
    const char *opened = NULL;
    for (; *lex->at && (quote || (!is_space(*lex->at) && *lex->at != '|')); lex->at++) {
        const char c = *lex->at;
        if (quote && c == quote) quote = 0;
        else if (!quote && (c == '\'' || c == '"')) {
            quote = c;
            opened = lex->at;
            may_be_key = false;
        } else if (!quote && c == '=' && may_be_key && n > 0 && lex->at[1] != '=') { /* label==3 is no key */
            text[n++] = 0;
            out->key = text;
            out->value = text + n;
            out->value_column = column_of(lex, lex->at + 1);
            may_be_key = false;
        } else {
            if (!is_word(c)) may_be_key = false;
            text[n++] = c;
        }
    }
    if (quote)
        return fail_at(lex->err, LEAT_ERR_SYNTAX, column_of(lex, opened), "the quote %c is never closed",
                       quote);
    text[n] = 0;
    lex->room += n + 1;
    const char quoted = lex->begin[out->value_column - lex->column];
    out->text_column = out->value_column + (quoted == '\'' || quoted == '"');
    return 1;
}

static const char *arg_name(const void *user, size_t i) {
    const leat__arg *arg = leat__op_arg(user, (int)i);
    return arg ? arg->name : NULL;
}

static int word_number(const char *words, const char *text) {
    const size_t n = strlen(text);
    for (int i = 0;; i++) {
        const size_t len = strcspn(words, "|");
        if (len == n && memcmp(words, text, n) == 0) return i;
        if (words[len] == 0) return -1;
        words += len + 1;
    }
}

static const char *kind_words(const leat__arg *arg) {
    switch (arg->kind) {
    case LEAT_ARG_INT:
    case LEAT_ARG_INTS: return "a whole number";
    case LEAT_ARG_NUMBER: return "a number";
    case LEAT_ARG_BOOL: return "true or false";
    case LEAT_ARG_WORD: return arg->words;
    case LEAT_ARG_DTYPE: return "a type such as u8, f32 or i64";
    case LEAT_ARG_FIELD: return "the name of a field";
    case LEAT_ARG_TEXT:
    case LEAT_ARG_TEXTS: return "a text";
    }
    return "";
}

/* Whether text can be a value of arg; if so and out is not NULL, reads it. */
static bool read_value(const leat__arg *arg, const char *text, leat__arg_value *out) {
    int64_t i = 0;
    double x = 0;
    switch (arg->kind) {
    case LEAT_ARG_INT:
    case LEAT_ARG_INTS:
        if (!leat__parse_int(text, &i)) return false;
        break;
    case LEAT_ARG_NUMBER:
        if (!leat__parse_number(text, &x)) return false;
        break;
    case LEAT_ARG_BOOL:
        i = word_number("false|true", text);
        if (i < 0) i = word_number("off|on", text);
        if (i < 0) i = word_number("0|1", text);
        break;
    case LEAT_ARG_WORD: i = word_number(arg->words, text); break;
    case LEAT_ARG_DTYPE: i = leat__dtype_find(text, strlen(text)); break;
    case LEAT_ARG_FIELD: break;
    case LEAT_ARG_TEXT:
    case LEAT_ARG_TEXTS: break;
    }
    const bool number =
        arg->kind == LEAT_ARG_INT || arg->kind == LEAT_ARG_INTS || arg->kind == LEAT_ARG_NUMBER;
    if (!number && i < 0) return false;
    if (out) out->i = i, out->x = arg->kind == LEAT_ARG_NUMBER ? x : (double)i, out->text = text;
    return true;
}

static int fail_dtype(lexer *lex, const leat__op *op, const leat__arg *arg, const char *text, int column) {
    const char *near = leat__dtype_nearest(text);
    return fail_at(lex->err, LEAT_ERR_SYNTAX, column, "%s: %s must be %s, not '%s'%s%s%s", op->name,
                   arg->name, kind_words(arg), text, near ? "; did you mean '" : "", near ? near : "",
                   near ? "'?" : "");
}

static int set_value(lexer *lex, leat__use *use, int number, const token *t) {
    const leat__arg *arg = leat__op_arg(use->op, number);
    leat__arg_value *v = &use->arg[number];
    const bool list = arg->kind == LEAT_ARG_TEXTS || arg->kind == LEAT_ARG_INTS;
    if (v->given && !list)
        return fail_at(lex->err, LEAT_ERR_SYNTAX, t->column, "%s: %s is given twice", use->op->name,
                       arg->name);
    leat__arg_value read = {0};
    if (!read_value(arg, t->value, &read)) {
        if (arg->kind == LEAT_ARG_DTYPE) return fail_dtype(lex, use->op, arg, t->value, t->value_column);
        return fail_at(lex->err, LEAT_ERR_SYNTAX, t->value_column, "%s: %s must be %s, not '%s'",
                       use->op->name, arg->name, kind_words(arg), t->value);
    }
    if ((arg->min != 0 || arg->max != 0) && (read.x < arg->min || read.x > arg->max))
        return fail_at(lex->err, LEAT_ERR_ARGUMENT, t->value_column,
                       "%s: %s must lie between %.15g and %.15g, not %s", use->op->name, arg->name, arg->min,
                       arg->max, t->value);
    if (!v->given) v->column = t->text_column;
    v->given = true;
    if (!list) {
        v->i = read.i, v->x = read.x, v->text = read.text;
        return 0;
    }
    /* Lists double their room: the arena keeps the old pieces until the spec ends. */
    if ((v->n & (v->n - 1)) == 0) {
        const size_t cap = (size_t)LEAT_MAX(v->n, 1) * 2;
        const char **texts = leat__arena_alloc(&lex->spec->memory, cap * sizeof *texts);
        int64_t *ints = leat__arena_alloc(&lex->spec->memory, cap * sizeof *ints);
        if (!texts || !ints) return leat__fail_memory(lex->err, cap * 16, "a pipeline text");
        if (v->n)
            memcpy(texts, v->texts, (size_t)v->n * sizeof *texts),
                memcpy(ints, v->ints, (size_t)v->n * sizeof *ints);
        v->texts = texts;
        v->ints = ints;
    }
    v->texts[v->n] = read.text;
    v->ints[v->n++] = arg->kind == LEAT_ARG_INTS ? read.i : t->text_column;
    return 0;
}

static int place_positional(lexer *lex, leat__use *use, int *next, const token *t) {
    const leat__op *op = use->op;
    for (;; ++*next) {
        const leat__arg *arg = &op->arg[*next];
        if (*next == LEAT_ARGS_MAX || !arg->name || arg->named)
            return fail_at(lex->err, LEAT_ERR_SYNTAX, t->column,
                           "%s: '%s' is one argument too many: 'leat ops %s' shows them", op->name, t->value,
                           op->name);
        if (use->arg[*next].given && arg->kind != LEAT_ARG_TEXTS && arg->kind != LEAT_ARG_INTS) continue;
        /* A leading field may be left out: "cast f32" is "cast image f32". */
        if (arg->kind == LEAT_ARG_FIELD && arg->fallback && op->arg[*next + 1].name &&
            !op->arg[*next + 1].named && read_value(&op->arg[*next + 1], t->value, NULL))
            continue;
        const int number = *next;
        if (arg->kind != LEAT_ARG_TEXTS && arg->kind != LEAT_ARG_INTS) ++*next;
        return set_value(lex, use, number, t);
    }
}

static int place_named(lexer *lex, leat__use *use, const token *t) {
    const leat__op *op = use->op;
    const leat__arg *named;
    for (int i = 0; (named = leat__op_arg(op, i)) != NULL; i++)
        if (strcmp(named->name, t->key) == 0 || leat__is_word_of(named->also, t->key))
            return set_value(lex, use, i, t);
    for (int i = 0; i < LEAT_ARGS_MAX && op->arg[i].name; i++) {
        if (!op->arg[i].pairs) continue;
        const token pair = {
            .value = t->key, .column = t->column, .value_column = t->column, .text_column = t->text_column};
        ((char *)t->value)[-1] = '='; /* as it was written */
        return set_value(lex, use, i, &pair);
    }
    for (const leat__arg *arg = op->arg; arg < op->arg + LEAT_ARGS_MAX && arg->name; arg++)
        if (arg->was && strcmp(arg->was, t->key) == 0)
            return fail_at(lex->err, LEAT_ERR_SYNTAX, t->column, "%s: the argument '%s' is called '%s' now",
                           op->name, t->key, arg->name);
    const leat__arg *arg;
    const leat__op *own = leat__op_elsewhere(t->key, &arg);
    if (own && !arg) /* image_data_generator zca_whitening=true */
        return fail_at(lex->err, LEAT_ERR_SYNTAX, t->column,
                       "%s has no argument '%s': it is an operation of its own, '%s'", op->name, t->key,
                       own->name);
    const char *near = leat__nearest(t->key, arg_name, op);
    if (near)
        return fail_at(lex->err, LEAT_ERR_SYNTAX, t->column, "%s has no argument '%s'; did you mean '%s'?",
                       op->name, t->key, near);
    return fail_at(lex->err, LEAT_ERR_SYNTAX, t->column, "%s has no argument '%s': 'leat ops %s' shows them",
                   op->name, t->key, op->name);
}

static int fill_defaults(lexer *lex, leat__use *use) {
    const leat__arg *arg;
    for (int i = 0; (arg = leat__op_arg(use->op, i)) != NULL; i++) {
        if (use->arg[i].given) continue;
        /* "cast flot32": what was taken for a field was meant as the type. */
        if (!arg->fallback && arg->kind == LEAT_ARG_DTYPE && i > 0 && use->arg[i - 1].given &&
            leat__dtype_nearest(use->arg[i - 1].text))
            return fail_dtype(lex, use->op, arg, use->arg[i - 1].text, use->arg[i - 1].column);
        if (!arg->fallback)
            return fail_at(lex->err, LEAT_ERR_SYNTAX, use->column, "%s needs %s (%s)", use->op->name,
                           arg->name, arg->help);
        const bool list = arg->kind == LEAT_ARG_TEXTS || arg->kind == LEAT_ARG_INTS;
        if (!list && *arg->fallback && !read_value(arg, arg->fallback, &use->arg[i]))
            assert(!"a default of the table");
        if (!use->arg[i].text) use->arg[i].text = arg->fallback;
    }
    return 0;
}

static int fail_unknown(lexer *lex, const token *t) {
    const char *name = t->key ? t->key : t->value, *near = leat__op_nearest(name);
    const leat__arg *arg;
    const leat__op *op = leat__op_elsewhere(name, &arg);
    char shown[80];
    leat__printable(shown, sizeof shown, name, strlen(name));
    if (t->key && leat__op_find(name))
        return fail_at(lex->err, LEAT_ERR_SYNTAX, t->column,
                       "an operation begins with its name: write '%s %s'", shown, t->value);
    if (op && arg)
        return fail_at(lex->err, LEAT_ERR_SYNTAX, t->column,
                       "unknown operation '%s': leat has it as an argument, '%s %s=...'", shown, op->name,
                       arg->name);
    if (op)
        return fail_at(lex->err, LEAT_ERR_SYNTAX, t->column, "unknown operation '%s': leat calls it '%s'",
                       shown, op->name);
    if (near)
        return fail_at(lex->err, LEAT_ERR_SYNTAX, t->column, "unknown operation '%s'; did you mean '%s'?",
                       shown, near);
    return fail_at(lex->err, LEAT_ERR_SYNTAX, t->column, "unknown operation '%s': 'leat ops' lists all",
                   shown);
}

/* A seed of its own takes the place of the number in the key of its draws. That of an operation on the order is read by its
 * plan function. */
static void read_draws(leat__use *use) {
    const bool orders = use->op->kind == LEAT_OP_ORDER || use->op->kind == LEAT_OP_SOURCE;
    const leat__arg_value *seed = use->op->random && !orders ? leat__use_arg(use, "seed") : NULL;
    use->draws = use->number;
    if (!seed || !seed->given) return;
    use->draws = 0;
    use->stir = LEAT_MAX(leat__mix64((uint64_t)seed->i + UINT64_C(0x9e3779b97f4a7c15)), (uint64_t)1);
}

static int read_verb(lexer *lex) {
    leat_spec *spec = lex->spec;
    token t;
    const int rc = next_token(lex, &t);
    if (rc < 0) return rc;
    if (rc == 0)
        return fail_at(lex->err, LEAT_ERR_SYNTAX, column_of(lex, lex->at), "an operation is missing here");
    const leat__op *op = t.key ? NULL : leat__op_find(t.value);
    if (!op) return fail_unknown(lex, &t);
    if (spec->n_uses == LEAT_USES_MAX)
        return fail_at(lex->err, LEAT_ERR_LIMIT, t.column, "more than %d operations", LEAT_USES_MAX);
    leat__use *use = &spec->use[spec->n_uses];
    *use = (leat__use){.op = op, .number = 1, .column = t.column};
    /* Batch operations draw nothing: adding prefetch or options must not change the draws of other operations. */
    for (int i = 0; i < spec->n_uses; i++)
        use->number += spec->use[i].op->kind != LEAT_OP_BATCH || spec->use[i].op->random;
    int next = 0, more;
    while ((more = next_token(lex, &t)) > 0) {
        if (t.key) LEAT_TRY(place_named(lex, use, &t));
        else LEAT_TRY(place_positional(lex, use, &next, &t));
    }
    if (more < 0) return more;
    LEAT_TRY(fill_defaults(lex, use));
    read_draws(use);
    spec->n_uses++;
    return 0;
}

int leat__spec_read(leat_spec *spec, const char *text, int column, leat_error *err) {
    if (strlen(text) > (1 << 20))
        return leat__fail(err, LEAT_ERR_LIMIT, "a pipeline text of more than a megabyte");
    lexer lex = {.spec = spec, .begin = text, .at = text, .column = column, .err = err};
    lex.room = leat__arena_alloc(&spec->memory, 2 * strlen(text) + 2);
    if (!lex.room) return leat__fail_memory(err, 2 * strlen(text), "a pipeline text");
    for (;;) {
        LEAT_TRY(read_verb(&lex));
        if (*lex.at == 0) return 0;
        lex.at++; /* the bar */
    }
}

const leat__arg_value *leat__use_arg(const leat__use *use, const char *name) {
    const leat__arg *arg;
    for (int i = 0; (arg = leat__op_arg(use->op, i)) != NULL; i++)
        if (strcmp(arg->name, name) == 0) return &use->arg[i];
    assert(!"an argument of the table");
    return NULL;
}

bool leat__use_asks_ranks(const leat__use *use) {
    return use->op->flags & LEAT_OP_RANKS && strcmp(leat__use_arg(use, "part")->text, "auto") == 0;
}

static bool append(leat__buf *out, const char *text) {
    return leat__buf_append(out, text, strlen(text));
}

/* Quoted where it must be; a value with both kinds of quotes is written in pieces, "it"'"'"s". */
static bool append_value(leat__buf *out, const char *text) {
    if (*text && !strpbrk(text, " \t\r\n|='\"")) return append(out, text);
    if (!*text) return append(out, "\"\"");
    for (bool fits = true;; text += strspn(text, "\"")) {
        const size_t plain = strcspn(text, "\"");
        if (plain) fits = append(out, "\"") && leat__buf_append(out, text, plain) && append(out, "\"");
        text += plain;
        const size_t quotes = strspn(text, "\"");
        if (quotes)
            fits = fits && append(out, "'") && leat__buf_append(out, text, quotes) && append(out, "'");
        if (!fits || !text[quotes]) return fits;
    }
}

bool leat__use_normal(const leat__use *use, leat__buf *out) {
    bool fits = append(out, use->op->name);
    const leat__arg *arg;
    for (int i = 0; fits && (arg = leat__op_arg(use->op, i)) != NULL; i++) {
        const leat__arg_value *v = &use->arg[i];
        if (arg->kind == LEAT_ARG_TEXTS || arg->kind == LEAT_ARG_INTS) {
            for (int k = 0; k < v->n && fits; k++) fits = append(out, " ") && append_value(out, v->texts[k]);
        } else if (v->text && (v->given || *v->text)) {
            fits =
                append(out, " ") && append(out, arg->name) && append(out, "=") && append_value(out, v->text);
        }
    }
    return fits;
}
