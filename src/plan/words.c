/* SPDX-License-Identifier: Apache-2.0 */
/* Words and numbers of the pipeline text: looking up, guessing what was meant, the names that other libraries have (`like`
 * and `also` of the table), reading numbers without a locale. */
#include "plan/op.h"

#include <stdio.h>

#include "base/dtype.h"

const leat__op *leat__op_find(const char *name) {
    const leat__op *op;
    for (size_t i = 0; (op = leat__op_at(i)) != NULL; i++)
        if (strcmp(op->name, name) == 0) return op;
    return NULL;
}

const leat__arg *leat__op_arg(const leat__op *op, int i) {
    static const leat__arg seed = {.name = "seed",
                                   .kind = LEAT_ARG_INT,
                                   .fallback = "",
                                   .named = true,
                                   .help = "operations with equal seeds draw equally; left out: each has its "
                                           "own draws"};
    bool own = false;
    int n = 0;
    while (n < LEAT_ARGS_MAX && op->arg[n].name) own |= strcmp(op->arg[n++].name, seed.name) == 0;
    if (i < n) return &op->arg[i];
    assert(n < LEAT_ARGS_MAX || own || !op->random);
    return i == n && op->random && !own ? &seed : NULL;
}

/* More than 40 letters are not compared. */
int leat__edits(const char *a, const char *b) {
    enum { LETTERS = 40 };
    const int n = (int)strlen(a), m = (int)strlen(b);
    if (n > LETTERS || m > LETTERS) return LETTERS;
    int row[3][LETTERS + 1];
    for (int j = 0; j <= m; j++) row[0][j] = j;
    for (int i = 1; i <= n; i++) {
        int *now = row[i % 3], *above = row[(i + 2) % 3], *above2 = row[(i + 1) % 3];
        now[0] = i;
        for (int j = 1; j <= m; j++) {
            now[j] = LEAT_MIN(LEAT_MIN(above[j], now[j - 1]) + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = LEAT_MIN(now[j], above2[j - 2] + 1);
        }
    }
    return row[n % 3][m];
}

const char *leat__nearest(const char *word, const char *(*next)(const void *user, size_t i),
                          const void *user) {
    const char *best = NULL, *known;
    int best_distance = 1 + (int)strlen(word) / 3;
    for (size_t i = 0; (known = next(user, i)) != NULL; i++) {
        const int d = leat__edits(word, known);
        if (d <= best_distance && (!best || d < best_distance)) best = known, best_distance = d;
    }
    /* A word that was only begun, or that misses its first part: "flip_left_right". */
    for (size_t i = 0; !best && strlen(word) >= 3 && (known = next(user, i)) != NULL; i++)
        if (strstr(known, word)) best = known;
    return best;
}

static const char *op_name(const void *user, size_t i) {
    (void)user;
    const leat__op *op = leat__op_at(i);
    return op ? op->name : NULL;
}

const char *leat__op_nearest(const char *name) {
    return leat__nearest(name, op_name, NULL);
}

static const char *dtype_name(const void *user, size_t i) {
    (void)user;
    return leat__dtype_word((int)i);
}

const char *leat__dtype_nearest(const char *name) {
    return leat__nearest(name, dtype_name, NULL);
}

/* ------------------------------------------------------------------------------ names of other libraries */

enum { FOLDED_SIZE = 64 };

/* Without case and _, so that RandomHorizontalFlip and random_horizontal_flip are one; false if it is too long. */
static bool fold(char out[FOLDED_SIZE], const char *name, size_t n) {
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        if (name[i] == '_') continue;
        if (used == FOLDED_SIZE - 1) return false;
        out[used++] = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] + ('a' - 'A') : name[i]);
    }
    out[used] = 0;
    return used > 0;
}

static bool same(const char *folded, const char *name, size_t n) {
    char other[FOLDED_SIZE];
    return fold(other, name, n) && strcmp(folded, other) == 0;
}

/* Whether one of the names in `like` is meant: the last word of "tf.image.resize" or "torchvision Resize", or the
 * argument in "keras ImageDataGenerator(rescale)". */
static bool has_name(const char *like, const char *folded) {
    for (const char *word = like; *word;) {
        const size_t n = strcspn(word, " .,()");
        const char end = word[n];
        if ((end == ')' || end == ',' || end == 0) && same(folded, word, n)) return true;
        word += n + (end != 0);
    }
    return false;
}

bool leat__is_word_of(const char *words, const char *word) {
    const size_t n = strlen(word);
    while (words && *words) {
        const size_t len = strcspn(words, "|");
        if (len == n && memcmp(words, word, n) == 0) return true;
        words += len + (words[len] == '|');
    }
    return false;
}

const leat__op *leat__op_elsewhere(const char *name, const leat__arg **arg) {
    const leat__op *op, *best = NULL;
    char folded[FOLDED_SIZE];
    int best_edits = 0;
    *arg = NULL;
    if (!fold(folded, name, strlen(name))) return NULL;
    for (size_t i = 0; (op = leat__op_at(i)) != NULL; i++) {
        if (!has_name(op->like, folded) && !same(folded, op->name, strlen(op->name))) continue;
        /* Several may have it: keras.layers.Rescaling is cast and rescale. */
        const int edits = leat__edits(folded, op->name);
        if (!best || edits < best_edits) best = op, best_edits = edits;
    }
    for (size_t i = 0; !best && (op = leat__op_at(i)) != NULL; i++)
        for (int k = 0; !best && leat__op_arg(op, k); k++)
            if (leat__is_word_of(leat__op_arg(op, k)->also, name)) best = op, *arg = leat__op_arg(op, k);
    return best;
}

/* --------------------------------------------------------------------------------------------- numbers */

bool leat__parse_int(const char *text, int64_t *out) {
    static const struct {
        const char *suffix;
        int64_t factor;
    } units[] = {{"", 1}, {"k", 1000}, {"M", 1000000}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}};
    const bool negative = *text == '-';
    const char *c = text + (negative || *text == '+');
    if (*c < '0' || *c > '9') return false;
    int64_t value = 0;
    for (; *c >= '0' && *c <= '9'; c++)
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *c - '0', &value))
            return false;
    for (size_t i = 0; i < LEAT_COUNT(units); i++) {
        if (strcmp(c, units[i].suffix) != 0) continue;
        if (__builtin_mul_overflow(value, negative ? -units[i].factor : units[i].factor, out)) return false;
        return true;
    }
    return false;
}

/* A number as the sum of two doubles, the second one being what the first has lost by rounding. */
typedef struct exact {
    double high, low;
} exact;

/* The product of two doubles: each is cut into halves, whose products are exact. */
static exact product(double a, double b) {
    const double cut = 0x1p27 + 1, a_big = a * cut, b_big = b * cut;
    const double a1 = a_big - (a_big - a), a2 = a - a1, b1 = b_big - (b_big - b), b2 = b - b1, high = a * b;
    return (exact){high, ((a1 * b1 - high) + a1 * b2 + a2 * b1) + a2 * b2};
}

static exact sum(double high, double low) {
    return (exact){high + low, low - (high + low - high)};
}

static exact multiplied(exact x, double power) {
    const exact p = product(x.high, power);
    return sum(p.high, p.low + x.low * power);
}

static exact divided(exact x, double power) {
    const double q = x.high / power;
    const exact p = product(q, power);
    return sum(q, (((x.high - p.high) - p.low) + x.low) / power);
}

/* Digits, an optional fraction and exponent; 18 digits count. A double that was printed with 17 digits is read as that
 * double, unless it is below 1e-290: two doubles have the bits that tell a number from its neighbours. */
static bool parse_decimal(const char **text, double *out) {
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const char *c = *text;
    uint64_t digits = 0;
    int exponent = 0, seen = 0;
    for (bool fraction = false;; c++) {
        if (*c == '.' && !fraction) fraction = true;
        else if (*c >= '0' && *c <= '9') {
            seen++;
            if (digits < UINT64_C(100000000000000000))
                digits = digits * 10 + (uint64_t)(*c - '0'), exponent -= fraction;
            else exponent += !fraction;
        } else break;
    }
    if (seen == 0) return false;
    if (*c == 'e' || *c == 'E') {
        const bool minus = c[1] == '-';
        c += 1 + (c[1] == '-' || c[1] == '+');
        if (*c < '0' || *c > '9') return false;
        int e = 0;
        for (; *c >= '0' && *c <= '9'; c++)
            if (e < 1000) e = e * 10 + (*c - '0');
        exponent += minus ? -e : e;
    }
    const double rounded = (double)digits;
    exact value = {rounded, (double)(int64_t)(digits - (uint64_t)rounded)};
    /* The odd step comes first, so that no factor of a product is near the largest double. */
    for (int step; exponent > 0 && value.high != 0; exponent -= step) {
        step = exponent % 22 ? exponent % 22 : 22;
        value = multiplied(value, powers[step]);
        if (!(value.high <= 1.7e308)) return false;
    }
    for (int step; exponent < 0 && value.high != 0; exponent += step) {
        step = -exponent % 22 ? -exponent % 22 : 22;
        value = divided(value, powers[step]);
    }
    *text = c;
    *out = value.high;
    return true;
}

bool leat__parse_number(const char *text, double *out) {
    const bool negative = *text == '-';
    text += negative || *text == '+';
    double value, divisor = 1;
    if (!parse_decimal(&text, &value)) return false;
    if (*text == '/') {
        text++;
        if (!parse_decimal(&text, &divisor) || divisor == 0) return false;
    }
    if (*text) return false;
    value /= divisor;
    *out = negative ? -value : value;
    return value <= 1.7976931348623157e308; /* a quotient can be too large as well */
}

bool leat__next_number(const char **at, double *out, char part[64]) {
    const size_t n = strcspn(*at, ",");
    snprintf(part, 64, "%.*s", (int)LEAT_MIN(n, (size_t)63), *at);
    if (**at == 0 || !leat__parse_number(part, out)) return false;
    *at += n + ((*at)[n] == ',');
    return true;
}
