/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/report/page.h"

#include <stdarg.h>
#include <stdio.h>

#include "plan/op.h"

void leat__page_bytes(leat__page *page, const void *bytes, size_t n) {
    page->html.kind = LEAT_MEM_TOOL;
    if (n > 0 && !leat__buf_append(&page->html, bytes, n)) page->full = true;
}

void leat__page_put(leat__page *page, const char *html) {
    leat__page_bytes(page, html, strlen(html));
}

void leat__page_putf(leat__page *page, const char *format, ...) {
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    leat__page_put(page, text);
}

void leat__page_section(leat__page *page, const char *title) {
    leat__page_put(page, "<section><h2>");
    leat__page_text(page, title);
    leat__page_put(page, "</h2>\n");
}

void leat__page_section_end(leat__page *page) {
    leat__page_put(page, "</section>\n");
}

/* ------------------------------------------------------------------------------------------- numbers */

void leat__page_number(leat__page *page, double value, int digits) {
    uint64_t scale = 1;
    for (int i = 0; i < digits; i++) scale *= 10;
    const bool negative = value < 0;
    const double size = negative ? -value : value;
    if (!(size < 1e15)) { /* infinity and NaN too */
        leat__page_put(page, "?");
        return;
    }
    const uint64_t units = (uint64_t)(size * (double)scale + 0.5);
    leat__page_putf(page, "%s%" PRIu64, negative && units ? "-" : "", units / scale);
    if (digits) leat__page_putf(page, ".%0*" PRIu64, digits, units % scale);
}

void leat__page_count(leat__page *page, uint64_t n) {
    char digits[24];
    const int length = snprintf(digits, sizeof digits, "%" PRIu64, n);
    for (int i = 0; i < length; i++)
        leat__page_putf(page, "%s%c", i > 0 && (length - i) % 3 == 0 ? "," : "", digits[i]);
}

void leat__page_rate(leat__page *page, double per_s) {
    if (per_s >= 100 && per_s < 1e15) leat__page_count(page, (uint64_t)(per_s + 0.5));
    else leat__page_number(page, per_s, 1);
}

void leat__page_percent(leat__page *page, double share) {
    leat__page_number(page, LEAT_CLAMP(share, 0.0, 1.0) * 100, 0);
    leat__page_put(page, " %");
}

static void put_unit(leat__page *page, double value, const char *unit) {
    const uint64_t tenths = value < 9.95 ? (uint64_t)(value * 10 + 0.5) : 0;
    leat__page_number(page, value, tenths % 10 ? 1 : 0);
    leat__page_putf(page, " %s", unit);
}

void leat__page_time(leat__page *page, double seconds) {
    static const struct {
        double below, factor;
        const char *unit;
    } units[] = {{1e-3, 1e6, "us"},
                 {1, 1e3, "ms"},
                 {100, 1, "s"},
                 {6000, 1.0 / 60, "min"},
                 {172800, 1.0 / 3600, "h"},
                 {1e300, 1.0 / 86400, "days"}};
    size_t i = 0;
    while (i + 1 < LEAT_COUNT(units) && seconds >= units[i].below) i++;
    put_unit(page, seconds * units[i].factor, units[i].unit);
}

void leat__page_size(leat__page *page, double bytes) {
    static const char *const units[] = {"bytes", "KB", "MB", "GB", "TB"};
    size_t i = 0;
    for (; i + 1 < LEAT_COUNT(units) && bytes >= 1000; i++) bytes /= 1000;
    if (i == 0) leat__page_putf(page, "%" PRIu64 " bytes", (uint64_t)bytes);
    else put_unit(page, bytes, units[i]);
}

/* ---------------------------------------------------------------------------------------------- text */

/* Length of the character at text, whose code goes to *code; 0 if it is not UTF-8. */
static size_t read_utf8(const uint8_t *text, size_t n, uint32_t *code) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const uint8_t c = text[0];
    const size_t length = c < 0x80 ? 1 : c >> 5 == 6 ? 2 : c >> 4 == 14 ? 3 : c >> 3 == 30 ? 4 : 0;
    if (length == 0 || length > n) return 0;
    *code = length == 1 ? c : c & (0xffu >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if (text[i] >> 6 != 2) return 0;
        *code = *code << 6 | (text[i] & 0x3f);
    }
    const bool valid = *code >= least[length] && *code <= 0x10ffff && !(*code >= 0xd800 && *code < 0xe000);
    return valid ? length : 0;
}

/* Characters that show nothing, or turn the text behind them round. */
static bool is_hidden(uint32_t code) {
    return (code < 0x20 && code != '\n' && code != '\t') || (code >= 0x7f && code < 0xa0) ||
           (code >= 0x200b && code <= 0x200f) || (code >= 0x202a && code <= 0x202e) ||
           (code >= 0x2060 && code <= 0x2069) || code == 0x61c || code == 0xfeff || (code & 0xfffe) == 0xfffe;
}

static void put_escaped(leat__page *page, const char *text, size_t n) {
    const uint8_t *at = (const uint8_t *)text, *end = at + n;
    while (at < end) {
        uint32_t code = 0;
        const size_t length = read_utf8(at, (size_t)(end - at), &code);
        if (length == 0 || is_hidden(code)) leat__page_put(page, "\xef\xbf\xbd");
        else if (code == '&') leat__page_put(page, "&amp;");
        else if (code == '<') leat__page_put(page, "&lt;");
        else if (code == '>') leat__page_put(page, "&gt;");
        else if (code == '"') leat__page_put(page, "&quot;");
        else if (code == '\'') leat__page_put(page, "&#39;");
        else leat__page_bytes(page, at, length);
        at += LEAT_MAX(length, (size_t)1);
    }
}

void leat__page_text(leat__page *page, const char *text) {
    put_escaped(page, text, strlen(text));
}

/* --------------------------------------------------------------------------------------------- paths */

static bool is_end(char c) {
    return c == 0 || strchr(" \t\n|='\"", c) != NULL;
}

static bool has_letter(const char *text, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)text[i];
        if (((c | 32) >= 'a' && (c | 32) <= 'z') || c >= 0x80) return true;
    }
    return false;
}

/* How many bytes of a word stand in front of its last name; 0 if it is no path. */
static size_t folder_of(const char *word, size_t n, bool formula) {
    while (n > 1 && word[n - 1] == '/') n--;
    size_t name = n;
    while (name > 0 && word[name - 1] != '/') name--;
    const bool rooted =
        word[0] == '/' || word[0] == '~' || strncmp(word, "./", 2) == 0 || strncmp(word, "../", 3) == 0;
    const bool placeholder = strncmp(word, "OUT/", 4) == 0; /* for a folder that the reader chooses */
    if (name == 0 || name == n || placeholder) return 0;
    return rooted || (!formula && has_letter(word + name, n - name)) ? name : 0;
}

static const leat__op *operation_at(const char *text, size_t n) {
    char name[64];
    if (n >= sizeof name) return NULL;
    memcpy(name, text, n);
    name[n] = 0;
    return leat__op_find(name);
}

/* What is in quotes is one word, unless it is a text of its own that begins with an operation. */
static size_t word_length(const char *text, char quote) {
    const char *end = quote ? strchr(text, quote) : NULL;
    size_t n = 0;
    while (!is_end(text[n])) n++;
    const size_t quoted = end ? (size_t)(end - text) : n;
    return operation_at(text, n) || memchr(text, '|', quoted) ? n : quoted;
}

/* prose: no operations, and units such as GB/s. */
static void put_paths(leat__page *page, const char *text, bool prose) {
    bool formula = prose, begins = !prose; /* of an operation */
    char quote = 0;
    while (*text) {
        const size_t n = word_length(text, quote);
        if (n == 0) {
            quote = *text == '\'' || *text == '"' ? *text : 0;
            begins |= !prose && (*text == '|' || *text == '\n');
            put_escaped(page, text++, 1);
            continue;
        }
        const leat__op *op = begins || (quote && !prose) ? operation_at(text, n) : NULL;
        if (begins || op) formula = op && op->kind != LEAT_OP_SOURCE;
        begins = false;
        quote = 0;
        const size_t cut = page->whole_paths ? 0 : folder_of(text, n, formula);
        put_escaped(page, text + cut, n - cut);
        text += n;
    }
}

void leat__page_paths(leat__page *page, const char *text) {
    put_paths(page, text, false);
}

void leat__page_prose(leat__page *page, const char *text) {
    put_paths(page, text, true);
}

/* -------------------------------------------------------------------------------------------- base64 */

void leat__page_base64(leat__page *page, const uint8_t *bytes, size_t n) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char line[1024];
    size_t filled = 0;
    for (size_t i = 0; i < n; i += 3) {
        const size_t have = LEAT_MIN(n - i, (size_t)3);
        const uint32_t bits = (uint32_t)bytes[i] << 16 | (have > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                              (have > 2 ? bytes[i + 2] : 0);
        for (size_t k = 0; k < 4; k++) line[filled++] = k <= have ? digits[bits >> (18 - 6 * k) & 63] : '=';
        if (filled == sizeof line || i + 3 >= n) {
            leat__page_bytes(page, line, filled);
            filled = 0;
        }
    }
}
