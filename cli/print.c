/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers for people, JSON for programs. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"

/* A few buffers in turn, so that one line may print several numbers. */
static char *next_buffer(void) {
    static char buffers[8][48];
    static int at;
    return buffers[at++ % 8];
}

const char *cli_count(uint64_t n) {
    char digits[32], *out = next_buffer();
    const int len = snprintf(digits, sizeof digits, "%" PRIu64, n);
    int k = 0;
    for (int i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0) out[k++] = ',';
        out[k++] = digits[i];
    }
    out[k] = 0;
    return out;
}

const char *cli_bytes(double bytes) {
    static const char *const units[] = {"bytes", "KB", "MB", "GB", "TB"};
    int u = 0;
    for (; bytes >= 1000 && u < 4; u++) bytes /= 1000;
    char *out = next_buffer();
    snprintf(out, 48, u == 0 || bytes >= 100 ? "%.0f %s" : "%.1f %s", bytes, units[u]);
    return out;
}

const char *cli_time(double s) {
    char *out = next_buffer();
    if (s < 0.001) snprintf(out, 48, "%.0f us", s * 1e6);
    else if (s < 1) snprintf(out, 48, "%.0f ms", s * 1e3);
    else if (s < 60) snprintf(out, 48, "%.1f s", s);
    else if (s < 3600) snprintf(out, 48, "%d:%02d min", (int)s / 60, (int)s % 60);
    else snprintf(out, 48, "%d:%02d h", (int)(s / 3600), (int)(s / 60) % 60);
    return out;
}

bool cli_letters(void) {
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *word = getenv(names[i]);
        if (word && *word)
            return strstr(word, "UTF-8") || strstr(word, "utf-8") || strstr(word, "UTF8") ||
                   strstr(word, "utf8");
    }
    return false;
}

static bool colours(FILE *f) {
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(fileno(f)) && !(no && *no) && !(term && strcmp(term, "dumb") == 0);
}
const char *cli_bold(FILE *f) {
    return colours(f) ? "\033[1m" : "";
}
const char *cli_red(FILE *f) {
    return colours(f) ? "\033[31m" : "";
}
const char *cli_green(FILE *f) {
    return colours(f) ? "\033[32m" : "";
}
const char *cli_plain(FILE *f) {
    return colours(f) ? "\033[0m" : "";
}

double cli_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Length of the UTF-8 sequence at s, 0 if it is not one. */
static int utf8_length(const unsigned char *s) {
    const int n = s[0] < 0x80                   ? 1
                  : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
                  : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
                  : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
                                                : 0;
    for (int i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    return n;
}

void cli_json_string(FILE *f, const char *text) {
    fputc('"', f);
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        const int n = utf8_length(s);
        if (n == 0) fputs("\\ufffd", f), s++;
        else if (*s == '"' || *s == '\\') fprintf(f, "\\%c", *s++);
        else if (*s < 32) fprintf(f, "\\u%04x", *s++);
        else {
            fwrite(s, 1, (size_t)n, f);
            s += n;
        }
    }
    fputc('"', f);
}
