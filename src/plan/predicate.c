/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/predicate.h"

#include <stdio.h>

#include "image/pass/convert.h"
#include "plan/op.h"

/* DEPTH_MAX is also the number of bits of the stack that a program runs on. */
enum { TEXT_MAX = 65536, DEPTH_MAX = 60 };

typedef struct reader {
    const char *text, *at; /* at: behind the current word                     */
    const char *begin;     /* of the current word                             */
    char word[256];        /* "" at the end                                   */
    bool quoted;           /* a name, whatever it looks like                  */
    const leat__names *names;
    leat__predicate *out;
    leat__constant *next; /* where the next constant goes                    */
    int depth;            /* of parentheses and nots                         */
    int held;             /* results that the program holds at this place     */
    leat_error *err;
} reader;

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The next word: a name or a number, or one of the signs. */
static int advance(reader *r) {
    while (is_space(*r->at)) r->at++;
    r->begin = r->at;
    r->quoted = *r->at == '\'' || *r->at == '"';
    size_t n;
    if (r->quoted) {
        const char *first = ++r->at, *end = strchr(first, *r->begin);
        if (!end) return leat__fail(r->err, LEAT_ERR_SYNTAX, "the quote %c is never closed", *r->begin);
        n = (size_t)(end - first);
        if (n < sizeof r->word) memcpy(r->word, first, n);
        r->at = end + 1;
    } else {
        n = strcspn(r->at, " \t\r\n()<>=!,'\"");
        if (n == 0 && *r->at) n = 1 + (strchr("<>=!", *r->at) && r->at[1] == '=');
        if (n < sizeof r->word) memcpy(r->word, r->at, n);
        r->at += n;
    }
    if (n >= sizeof r->word)
        return leat__fail(r->err, LEAT_ERR_LIMIT, "a word of more than %zu bytes", sizeof r->word - 1);
    r->word[n] = 0;
    return 0;
}

static bool is(const reader *r, const char *word) {
    return !r->quoted && strcmp(r->word, word) == 0;
}

static bool is_name(const reader *r) {
    return r->quoted || (r->word[0] && !strchr("()<>=!,", r->word[0]));
}

static int fail_here(reader *r, const char *wanted) {
    if (!r->word[0] && !r->quoted)
        return leat__fail(r->err, LEAT_ERR_SYNTAX, "%s is missing at the end", wanted);
    return leat__fail(r->err, LEAT_ERR_SYNTAX, "%s must stand here, not '%s'", wanted, r->word);
}

static int emit(reader *r, leat__condition condition) {
    const bool two = condition.kind == LEAT_COND_AND || condition.kind == LEAT_COND_OR;
    if (two) r->held--;
    else if (condition.kind != LEAT_COND_NOT) r->held++;
    if (r->held > DEPTH_MAX)
        return leat__fail(r->err, LEAT_ERR_LIMIT, "parentheses more than %d deep", DEPTH_MAX);
    r->out->condition[r->out->n++] = condition;
    return 0;
}

static int read_constant(reader *r, int value) {
    if (!is_name(r)) return fail_here(r, "a number or the name of a class");
    leat__constant *c = r->next;
    *c = (leat__constant){0};
    if (!r->quoted && leat__parse_int(r->word, &c->i)) {
        c->whole = true;
        c->x = (double)c->i;
    } else if (r->quoted || !leat__parse_number(r->word, &c->x)) {
        c->i = r->names->class(r->names->user, value, r->word, r->err);
        if (c->i < 0) return (int)c->i;
        c->whole = true;
        c->x = (double)c->i;
    }
    r->next++;
    return advance(r);
}

static int read_list(reader *r, leat__condition *condition) {
    condition->kind = LEAT_COND_IN;
    const bool bracket = is(r, "(");
    if (bracket) LEAT_TRY(advance(r));
    for (;;) {
        LEAT_TRY(read_constant(r, condition->value));
        condition->n++;
        if (!is(r, ",")) break;
        LEAT_TRY(advance(r));
    }
    if (!bracket) return 0;
    if (!is(r, ")")) return fail_here(r, ", or )");
    return advance(r);
}

static int read_comparison(reader *r) {
    static const char *const signs[] = {"==", "!=", "<", "<=", ">", ">="};
    if (!is_name(r)) return fail_here(r, "the name of a field");
    leat__condition condition = {.constant = r->next};
    condition.value = r->names->field(r->names->user, r->word, r->err);
    LEAT_TRY(condition.value);
    LEAT_TRY(advance(r));
    const bool reversed = is(r, "not");
    if (reversed) LEAT_TRY(advance(r));
    if (is(r, "in")) {
        LEAT_TRY(advance(r));
        LEAT_TRY(read_list(r, &condition));
    } else {
        int sign = -1;
        for (int i = 0; i < (int)LEAT_COUNT(signs) && !reversed; i++)
            if (is(r, signs[i])) sign = i;
        if (is(r, "=")) return leat__fail(r->err, LEAT_ERR_SYNTAX, "equal is written ==, not =");
        if (sign < 0) return fail_here(r, reversed ? "in" : "one of == != < <= > >= in");
        condition.kind = (leat__condition_kind)sign;
        condition.n = 1;
        LEAT_TRY(advance(r));
        LEAT_TRY(read_constant(r, condition.value));
    }
    r->out->values |= UINT32_C(1) << condition.value;
    LEAT_TRY(emit(r, condition));
    return reversed ? emit(r, (leat__condition){.kind = LEAT_COND_NOT}) : 0;
}

static int read_condition(reader *r);

static int read_simple(reader *r) {
    const bool reversed = is(r, "not");
    if (!reversed && !is(r, "(")) return read_comparison(r);
    if (++r->depth > DEPTH_MAX)
        return leat__fail(r->err, LEAT_ERR_LIMIT, "parentheses more than %d deep", DEPTH_MAX);
    LEAT_TRY(advance(r));
    if (reversed) {
        LEAT_TRY(read_simple(r));
        LEAT_TRY(emit(r, (leat__condition){.kind = LEAT_COND_NOT}));
    } else {
        LEAT_TRY(read_condition(r));
        if (!is(r, ")")) return fail_here(r, "and, or, or )");
        LEAT_TRY(advance(r));
    }
    r->depth--;
    return 0;
}

static int read_both(reader *r) {
    LEAT_TRY(read_simple(r));
    while (is(r, "and")) {
        LEAT_TRY(advance(r));
        LEAT_TRY(read_simple(r));
        LEAT_TRY(emit(r, (leat__condition){.kind = LEAT_COND_AND}));
    }
    return 0;
}

static int read_condition(reader *r) {
    LEAT_TRY(read_both(r));
    while (is(r, "or")) {
        LEAT_TRY(advance(r));
        LEAT_TRY(read_both(r));
        LEAT_TRY(emit(r, (leat__condition){.kind = LEAT_COND_OR}));
    }
    return 0;
}

static int read_all(reader *r) {
    LEAT_TRY(advance(r));
    LEAT_TRY(read_condition(r));
    return r->word[0] || r->quoted ? fail_here(r, "and, or, or the end") : 0;
}

int leat__predicate_read(leat__predicate *out, const char *text, const leat__names *names,
                         leat__arena *memory, size_t *at, leat_error *err) {
    const size_t n = strlen(text);
    *at = 0;
    *out = (leat__predicate){0};
    if (n > TEXT_MAX) return leat__fail(err, LEAT_ERR_LIMIT, "a condition of more than %d bytes", TEXT_MAX);
    /* A part of a program has at least one character of the text, and so has a constant. */
    out->condition = leat__arena_alloc(memory, (n + 1) * sizeof *out->condition);
    leat__constant *constants = leat__arena_alloc(memory, (n + 1) * sizeof *constants);
    if (!out->condition || !constants) return leat__fail_memory(err, n * sizeof *constants, "a condition");
    reader r = {
        .text = text, .at = text, .begin = text, .names = names, .out = out, .next = constants, .err = err};
    const int rc = read_all(&r);
    *at = (size_t)(r.begin - text);
    return rc;
}

/* ---------------------------------------------------------------------------------------------- holds */

static bool is_whole(int dtype) {
    return dtype <= LEAT_DTYPE_I64 || dtype == LEAT_DTYPE_BOOL;
}

/* -1, 0, 1, or 2 if they cannot be compared: one is no number. */
static int compare(const leat__value *value, const leat__constant *c) {
    if (is_whole(value->dtype) && c->whole) {
        int64_t i = 0;
        leat__convert(&i, LEAT_DTYPE_I64, value->data, value->dtype, 1, false, 1, 0);
        return i < c->i ? -1 : i > c->i;
    }
    double x = 0, y = c->x;
    leat__convert(&x, LEAT_DTYPE_F64, value->data, value->dtype, 1, false, 1, 0);
    if (!is_whole(value->dtype)) { /* 0.1 means the nearest number that the field can hold */
        uint64_t held = 0;
        leat__convert(&held, value->dtype, &c->x, LEAT_DTYPE_F64, 1, false, 1, 0);
        leat__convert(&y, LEAT_DTYPE_F64, &held, value->dtype, 1, false, 1, 0);
    }
    return x < y ? -1 : x > y ? 1 : x == y ? 0 : 2;
}

static bool condition_holds(const leat__condition *condition, const leat__value *value) {
    if (condition->kind == LEAT_COND_IN) {
        for (int i = 0; i < condition->n; i++)
            if (compare(value, &condition->constant[i]) == 0) return true;
        return false;
    }
    const int order = compare(value, condition->constant);
    switch (condition->kind) {
    case LEAT_COND_EQUAL: return order == 0;
    case LEAT_COND_UNEQUAL: return order != 0;
    case LEAT_COND_BELOW: return order == -1;
    case LEAT_COND_NOT_ABOVE: return order == -1 || order == 0;
    case LEAT_COND_ABOVE: return order == 1;
    default: return order == 1 || order == 0;
    }
}

bool leat__predicate_holds(const leat__predicate *predicate, const leat__value *values) {
    uint64_t stack = 0; /* one bit a result, the newest lowest */
    for (int i = 0; i < predicate->n; i++) {
        const leat__condition *c = &predicate->condition[i];
        switch (c->kind) {
        case LEAT_COND_NOT: stack ^= 1; break;
        case LEAT_COND_AND: stack = stack >> 1 & (stack | ~UINT64_C(1)); break;
        case LEAT_COND_OR: stack = stack >> 1 | (stack & 1); break;
        default: stack = stack << 1 | condition_holds(c, &values[c->value]);
        }
    }
    return stack & 1;
}
