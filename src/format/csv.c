/* SPDX-License-Identifier: Apache-2.0 */
#include "format/csv.h"

typedef struct reader {
    leat__csv *csv;
    const char *bytes;
    size_t at, n;
    bool last;
    uint64_t lines; /* that end inside of the row so far */
    leat_error *err;
} reader;

enum {
    MORE = 0,
    CELL = 1,
    END = 2
}; /* more bytes are needed; a cell, and another one follows; the last one of its row */

static int fail(const reader *r, int code, const char *what) {
    return leat__fail(r->err, code, "line %" PRIu64 ": %s", r->csv->lines + 1, what);
}

/* Passes over the line end at r->at: CELL and END as above, by what stands there. */
static int pass_end(reader *r) {
    if (r->at == r->n) return r->last ? END : MORE;
    const char c = r->bytes[r->at];
    if (c == r->csv->separator) {
        r->at++;
        return CELL;
    }
    if (c == '\r') {
        if (r->at + 1 == r->n && !r->last) return MORE; /* a line feed may follow */
        r->at += r->at + 1 < r->n && r->bytes[r->at + 1] == '\n';
    }
    r->at++;
    r->lines++;
    return END;
}

static int plain_cell(reader *r, leat__csv_cell *cell) {
    const char separator = r->csv->separator, *begin = r->bytes + r->at, *end = r->bytes + r->n, *c = begin;
    while (c < end && *c != separator && *c != '\n' && *c != '\r' && *c) c++;
    if (c < end && *c == 0)
        return fail(r, LEAT_ERR_FORMAT, "a zero byte: this is no text file (save it as CSV in UTF-8)");
    if (c == end && !r->last) return MORE;
    *cell = (leat__csv_cell){.text = begin, .n = (size_t)(c - begin)};
    r->at = (size_t)(c - r->bytes);
    return pass_end(r);
}

static int quoted_cell(reader *r, leat__csv_cell *cell) {
    const char *begin = r->bytes + r->at + 1, *end = r->bytes + r->n, *c = begin;
    *cell = (leat__csv_cell){.text = begin};
    for (;; c++) {
        if (c == end) return r->last ? fail(r, LEAT_ERR_FORMAT, "a quote in this row is never closed") : MORE;
        if (*c == '"') {
            if (c + 1 == end && !r->last) return MORE; /* the first of two? */
            if (c + 1 == end || c[1] != '"') break;
            cell->doubled = true;
            c++;
        } else if (*c == 0) {
            return fail(r, LEAT_ERR_FORMAT, "a zero byte: this is no text file (save it as CSV in UTF-8)");
        } else {
            r->lines += *c == '\n' || (*c == '\r' && c + 1 < end && c[1] != '\n');
        }
    }
    cell->n = (size_t)(c - begin);
    r->at = (size_t)(c + 1 - r->bytes);
    if (r->at < r->n && r->bytes[r->at] != r->csv->separator && r->bytes[r->at] != '\n' &&
        r->bytes[r->at] != '\r')
        return fail(r, LEAT_ERR_FORMAT,
                    "text follows a closing quote: quotes inside of quotes are written twice");
    return pass_end(r);
}

/* The mark that some programs write in front: 1 = passed or none, 0 = more bytes are needed. */
static int pass_mark(reader *r) {
    static const char mark[] = {'\xef', '\xbb', '\xbf'};
    if (r->n < sizeof mark && !r->last) return 0;
    if (r->n >= 2 && ((r->bytes[0] == '\xff' && r->bytes[1] == '\xfe') ||
                      (r->bytes[0] == '\xfe' && r->bytes[1] == '\xff')))
        return fail(r, LEAT_ERR_FORMAT, "this is UTF-16: save it as CSV in UTF-8");
    if (r->n >= sizeof mark && memcmp(r->bytes, mark, sizeof mark) == 0) r->at = sizeof mark;
    r->csv->begun = true;
    return 1;
}

int leat__csv_next(leat__csv *csv, const char *bytes, size_t n, bool last, size_t *used, leat_error *err) {
    reader r = {.csv = csv, .bytes = bytes, .n = n, .last = last, .err = err};
    *used = 0;
    if (!csv->begun) {
        const int rc = pass_mark(&r);
        if (rc <= 0) return rc;
        *used = r.at;
    }
    /* Blank lines. A carriage return at the very end of what is there waits for its line feed. */
    while (r.at < n && (bytes[r.at] == '\n' || bytes[r.at] == '\r')) {
        if (pass_end(&r) == MORE) return 0;
        csv->lines += r.lines;
        r.lines = 0;
        *used = r.at;
    }
    if (r.at == n) return 0;
    const size_t first = r.at;
    if (n - first > LEAT_CSV_ROW_MAX + 1) { /* so that what is said does not depend on how much is there */
        r.n = first + LEAT_CSV_ROW_MAX + 1;
        r.last = false;
    }
    csv->n_cells = 0;
    int more = CELL;
    while (more == CELL) {
        if (csv->n_cells == LEAT_CSV_CELLS_MAX)
            return fail(&r, LEAT_ERR_LIMIT, "a row of more than 4096 cells");
        leat__csv_cell *cell = &csv->cell[csv->n_cells++];
        more = r.at < r.n && bytes[r.at] == '"' ? quoted_cell(&r, cell) : plain_cell(&r, cell);
        if (more < 0) return more;
        if (more == MORE ? r.n - first > LEAT_CSV_ROW_MAX : r.at - first > LEAT_CSV_ROW_MAX)
            return fail(&r, LEAT_ERR_LIMIT, "a row of more than a megabyte: is a quote never closed?");
    }
    if (more == MORE) return 0;
    csv->line = csv->lines + 1;
    csv->lines += r.lines;
    csv->row++;
    *used = r.at;
    return 1;
}

bool leat__csv_append(const leat__csv_cell *cell, leat__buf *out) {
    if (!cell->doubled) return leat__buf_append(out, cell->text, cell->n);
    for (size_t at = 0; at < cell->n;) {
        const char *quote = memchr(cell->text + at, '"', cell->n - at);
        const size_t end = quote ? (size_t)(quote - cell->text) + 1 : cell->n;
        if (!leat__buf_append(out, cell->text + at, end - at)) return false;
        at = end + (quote != NULL); /* the second of the two */
    }
    return true;
}

bool leat__csv_is(const leat__csv_cell *cell, const char *word) {
    size_t at = 0;
    for (; *word; word++) {
        if (at >= cell->n || cell->text[at] != *word) return false;
        at += 1 + (cell->doubled && *word == '"');
    }
    return at >= cell->n;
}

/* ------------------------------------------------------------------------------------------- numbers */

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* digits * 10^exponent. One rounding up to 15 digits and powers of 22, which is all that people write; a
 * few more beyond, far below the last place of an f32. */
static double scaled(uint64_t digits, int exponent) {
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    double x = (double)digits;
    for (; exponent > 0 && x <= 1e300 && x != 0; exponent -= LEAT_MIN(exponent, 22))
        x *= powers[LEAT_MIN(exponent, 22)];
    for (; exponent < 0 && x != 0; exponent += LEAT_MIN(-exponent, 22)) x /= powers[LEAT_MIN(-exponent, 22)];
    return exponent > 0 && x != 0 ? 1e301 : x; /* too large for an f32 either way */
}

leat__csv_kind leat__csv_number(const leat__csv_cell *cell, int64_t *whole, double *number) {
    const char *c = cell->text, *end = cell->text + cell->n;
    while (c < end && (*c == ' ' || *c == '\t')) c++;
    while (end > c && (end[-1] == ' ' || end[-1] == '\t')) end--;
    if (c == end) return LEAT_CSV_EMPTY;
    const bool negative = *c == '-';
    c += negative || *c == '+';
    uint64_t digits = 0;
    int exponent = 0, seen = 0;
    bool fraction = false, overflow = false;
    for (; c < end && (is_digit(*c) || (*c == '.' && !fraction)); c++) {
        if (*c == '.') {
            fraction = true;
            continue;
        }
        seen++;
        if (digits < UINT64_C(1000000000000000000)) {
            digits = digits * 10 + (uint64_t)(*c - '0');
            exponent -= fraction;
        } else {
            overflow = true;
            exponent += !fraction;
        }
    }
    if (seen == 0) return LEAT_CSV_WORD;
    const bool integer = !fraction && c == end;
    if (c < end && (*c == 'e' || *c == 'E')) {
        c++;
        const bool minus = c < end && *c == '-';
        c += c < end && (*c == '-' || *c == '+');
        if (c == end) return LEAT_CSV_WORD;
        int e = 0;
        for (; c < end && is_digit(*c); c++)
            if (e < 100000) e = e * 10 + (*c - '0');
        exponent = LEAT_CLAMP(exponent + (minus ? -e : e), -100000, 100000);
    }
    if (c != end) return LEAT_CSV_WORD;
    const double x = scaled(digits, exponent);
    *number = negative ? -x : x;
    if (!integer) return x > 3.4028234e38 ? LEAT_CSV_HUGE : LEAT_CSV_NUMBER;
    if (overflow || digits > (uint64_t)INT64_MAX + negative) return LEAT_CSV_HUGE;
    *whole = negative ? (int64_t)(0 - digits) : (int64_t)digits;
    return LEAT_CSV_WHOLE;
}
