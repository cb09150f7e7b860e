/* SPDX-License-Identifier: Apache-2.0 */
/* The screen of `leat top`: a table of the pipelines, and the details of one. Every line fits the width. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "opened.h"
#include "top.h"

/* ---------------------------------------------------------------------------------------------- text */

enum { BOLD = 1, DIM = 2, RED = 31, GREEN = 32, YELLOW = 33, CYAN = 36, REVERSE = 7 };

static void style(const top_paper *p, int code) {
    if (p->colours) fprintf(p->out, "\033[%dm", code);
}

/* Bytes of the character at s that may stand on a terminal; 0: it may not. */
static int character(const top_paper *p, const unsigned char *s) {
    if (s[0] < 0x80) return s[0] >= 32 && s[0] != 127;
    const int n = s[0] >= 0xc2 && s[0] < 0xe0   ? 2
                  : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
                  : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
                                                : 0;
    for (int i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    return p->letters && !(s[0] == 0xc2 && s[1] < 0xa0) ? n : 0; /* no control characters of 8 bits either */
}

static int columns_of(const char *text) {
    int n = 0;
    for (const char *s = text; *s; s++) n += (*s & 0xc0) != 0x80;
    return n;
}

/* Up to so many columns of a text; returns how many. */
static int put_text(const top_paper *p, const char *text, int columns) {
    int n = 0;
    for (const unsigned char *s = (const unsigned char *)text; *s && n < columns; n++) {
        const int bytes = character(p, s);
        if (bytes > 0) fwrite(s, 1, (size_t)bytes, p->out);
        else fputc('?', p->out);
        s += bytes > 0 ? bytes : 1;
    }
    return n;
}

static void put_padded(const top_paper *p, const char *text, int columns) {
    const int n = put_text(p, text, columns);
    fprintf(p->out, "%*s", columns - n, "");
}

static void end_line(const top_paper *p) {
    fputs(p->end, p->out);
}

/* Words, broken at the width; each line begins with `indent` blanks. */
static void put_wrapped(const top_paper *p, const char *text, int indent, int code) {
    while (*text) {
        int fits = 0, at = 0, used = 0; /* bytes up to the last blank that fits */
        const int room = p->width - indent > 10 ? p->width - indent : 10;
        for (; text[at] && used <= room; at++) {
            if (text[at] == ' ') fits = at;
            used += (text[at] & 0xc0) != 0x80;
        }
        if (!text[at] && used <= room) fits = at;
        if (fits == 0) { /* a word that is too long for a line */
            fits = at > 1 ? at - 1 : at;
            while (fits > 1 && (text[fits] & 0xc0) == 0x80) fits--; /* not inside of a character */
        }
        char line[400];
        snprintf(line, sizeof line, "%.*s", fits < 399 ? fits : 399, text);
        fprintf(p->out, "%*s", indent, "");
        style(p, code);
        put_text(p, line, p->width - indent);
        style(p, 0);
        end_line(p);
        text += fits + strspn(text + fits, " ");
    }
}

/* A bar of x (0 to 1) of so many columns, in eighths of a column. */
static void put_bar(const top_paper *p, double x, int columns, int code) {
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    const int n = (int)((x < 0 ? 0 : x > 1 ? 1 : x) * columns * 8 + 0.5);
    int used = n / 8;
    style(p, code);
    for (int i = 0; i < used; i++) fputs(p->letters ? "█" : "#", p->out);
    if (n % 8 && used < columns && (p->letters || n >= 4)) {
        fputs(p->letters ? eighths[n % 8] : n % 8 >= 4 ? "#" : " ", p->out);
        used++;
    }
    style(p, 0);
    fprintf(p->out, "%*s", columns - used, "");
}

/* --------------------------------------------------------------------------------------------- table */

static const char *percent(double x) {
    static char text[4][16];
    static int at;
    char *out = text[at++ % 4];
    snprintf(out, sizeof text[0], "%.0f %%", x * 100);
    return out;
}

static bool waits(const leat_running *r) {
    return top_waiting(r) >= 0.02;
}

static void put_row(const top_paper *p, const leat_running *r, bool chosen, bool several) {
    const bool wide = p->width >= 72, middle = p->width >= 54;
    int used = fprintf(p->out, "%s%7" PRId64, several && chosen ? ">" : " ", r->pid);
    if (r->age_s > 5) style(p, DIM);
    used += fprintf(p->out, " %9s", cli_rate(top_rate(r)));
    if (waits(r)) style(p, top_waiting(r) > 0.2 ? RED : YELLOW);
    used += fprintf(p->out, " %6s", percent(top_waiting(r)));
    style(p, 0);
    if (middle) used += fprintf(p->out, " %8s", cli_bytes((double)r->total.memory_bytes));
    if (wide) {
        if (r->total.bad_samples) style(p, RED);
        used += fprintf(p->out, " %5s", cli_count(r->total.bad_samples));
        style(p, 0);
    }
    fputs("  ", p->out);
    used += 2;
    const int left = p->width - used, name = wide ? left * 3 / 5 : left;
    style(p, chosen ? BOLD : 0);
    put_padded(p, r->name, name > 0 ? name : 0);
    style(p, 0);
    if (wide) {
        fputc(' ', p->out);
        put_text(p, r->program, left - name - 1);
    }
    end_line(p);
}

void top_draw_table(const top_view *view, const top_paper *p, int rows_max) {
    const bool wide = p->width >= 72, middle = p->width >= 54;
    char head[200];
    int n = snprintf(head, sizeof head, " %7s %9s %6s", "PID", "SAMPLES/S", "WAITS");
    if (middle) n += snprintf(head + n, sizeof head - (size_t)n, " %8s", "MEMORY");
    if (wide) n += snprintf(head + n, sizeof head - (size_t)n, " %5s", "BAD");
    const int left = p->width - n - 2, name = wide ? left * 3 / 5 : left;
    snprintf(head + n, sizeof head - (size_t)n, "  %-*.*s%s", name > 0 ? name : 0, name > 0 ? name : 0,
             "DATA", wide ? " PROGRAM" : "");
    style(p, DIM);
    put_text(p, head, p->width);
    style(p, 0);
    end_line(p);
    /* The chosen row stays in sight. */
    int first = rows_max > 0 && view->chosen >= rows_max ? view->chosen - rows_max + 1 : 0;
    for (int i = first; i < view->n && (rows_max <= 0 || i < first + rows_max); i++)
        put_row(p, &view->row[i].now, i == view->chosen, view->n > 1);
}

/* ------------------------------------------------------------------------------------------- details */

enum { LABEL = 11, NUMBER = 6, NOTE = 28, BAR_MAX = 40 }; /* columns of a line */

static void begin_line(const top_paper *p, const char *label) {
    fputc(' ', p->out);
    style(p, DIM);
    put_padded(p, label, LABEL - 1);
    style(p, 0);
}

static void line(const top_paper *p, const char *label, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void line(const top_paper *p, const char *label, const char *fmt, ...) {
    char text[300];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    begin_line(p, label);
    put_text(p, text, p->width - LABEL);
    end_line(p);
}

/* All bars of a width have one length, so that they can be compared; the note is there if there is room for one. */
static void bar_line(const top_paper *p, const char *label, double x, int code, const char *note) {
    const bool noted = p->width >= LABEL + NUMBER + NOTE + 16;
    const int room = p->width - LABEL - NUMBER - (noted ? NOTE : 0), bar = room < BAR_MAX ? room : BAR_MAX;
    begin_line(p, label);
    put_bar(p, x, bar > 0 ? bar : 0, code);
    fprintf(p->out, " %5s", percent(x));
    if (noted && *note) {
        fputs("  ", p->out);
        style(p, DIM);
        put_text(p, note, NOTE - 2);
        style(p, 0);
    }
    end_line(p);
}

static void rate_line(const top_row *row, const top_paper *p) {
    static const char *const levels[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char plain[] = "._-=+*#%";
    const char *now = cli_rate(top_rate(&row->now));
    double most = 0;
    begin_line(p, "samples/s");
    style(p, BOLD);
    fputs(now, p->out);
    style(p, 0);
    const int room = p->width - LABEL - (int)strlen(now) - 2;
    const int n = row->n_rates < room ? row->n_rates : room;
    for (int i = row->n_rates - n; i < row->n_rates && n > 1; i++)
        most = row->rate[i] > most ? row->rate[i] : most;
    if (n > 1) fputs("  ", p->out);
    style(p, CYAN);
    for (int i = row->n_rates - n; i < row->n_rates && n > 1; i++) {
        const int level = most > 0 ? (int)(row->rate[i] / most * 7 + 0.5) : 0;
        if (p->letters) fputs(levels[level], p->out);
        else fputc(plain[level], p->out);
    }
    style(p, 0);
    end_line(p);
}

static void place_line(const leat_running *r, const top_paper *p) {
    char text[120];
    int n = snprintf(text, sizeof text, "%s", cli_count(r->epoch));
    if (r->n_samples > 0)
        n += snprintf(text + n, sizeof text - (size_t)n, ", %s",
                      percent((double)r->position / (double)r->n_samples));
    snprintf(text + n, sizeof text - (size_t)n, ", open for %s", cli_time(r->open_s));
    line(p, "epoch", "%s", text);
}

static const char *sample_time(double s) {
    static char text[24];
    if (s >= 0.001) snprintf(text, sizeof text, "%.2f ms", s * 1e3);
    else snprintf(text, sizeof text, "%.*f us", s < 1e-5 ? 2 : s < 1e-4 ? 1 : 0, s * 1e6);
    return text;
}

static void stage_lines(const leat_running *r, const top_paper *p) {
    double total = 0;
    int most = LEAT_STAGE_READ;
    for (int i = LEAT_STAGE_READ; i < LEAT_STAGE_COUNT; i++) {
        total += r->recent.stage_s[i];
        if (r->recent.stage_s[i] > r->recent.stage_s[most]) most = i;
    }
    for (int i = LEAT_STAGE_READ; i < LEAT_STAGE_COUNT; i++) {
        const double spent = r->recent.stage_s[i];
        char note[40] = "";
        if (spent < 0.005 * total || spent <= 0) continue;
        if (r->recent.samples)
            snprintf(note, sizeof note, "%s a sample", sample_time(spent / (double)r->recent.samples));
        bar_line(p, leat_stage_name(i), spent / total, i == most ? CYAN : 0, note);
    }
}

static void title(const top_row *row, const top_paper *p) {
    const leat_running *r = &row->now;
    char text[240];
    snprintf(text, sizeof text, "%s%s%s", r->name, *r->what ? ": " : "", r->what);
    fputc(' ', p->out);
    style(p, BOLD);
    int used = 1 + put_text(p, text, p->width - 1);
    style(p, 0);
    snprintf(text, sizeof text, "%s, %" PRId64, *r->program ? r->program : "process", r->pid);
    if (used + 2 + columns_of(text) <= p->width) {
        fprintf(p->out, "%*s", p->width - used - columns_of(text), "");
        put_text(p, text, p->width);
    }
    end_line(p);
}

static void tuner_line(const leat_stats *s, const top_paper *p) {
    char text[160];
    int n = snprintf(text, sizeof text, "%d thread%s, %" PRIu64, s->n_threads, s->n_threads == 1 ? "" : "s",
                     s->slots);
    if (p->width >= 60 && s->slots_max)
        n += snprintf(text + n, sizeof text - (size_t)n, " of at most %d", s->slots_max);
    n += snprintf(text + n, sizeof text - (size_t)n, " slots, %d reader%s", s->n_readers,
                  s->n_readers == 1 ? "" : "s");
    if (p->width >= 60 && s->tuned)
        snprintf(text + n, sizeof text - (size_t)n, "; settled after %s", cli_time(s->tuned_s));
    line(p, "tuner", "%s", text);
}

void top_draw_details(const top_row *row, const top_paper *p) {
    const leat_running *r = &row->now;
    const leat_stats *s = &r->total;
    title(row, p);
    rate_line(row, p);
    if (*r->verdict) put_wrapped(p, r->verdict, 1, BOLD);
    if (*r->remedy) put_wrapped(p, r->remedy, 1, 0);
    place_line(r, p);
    const double waiting = top_waiting(r);
    bar_line(p, "waits", waiting, waiting > 0.2 ? RED : YELLOW, "the program, for a batch");
    stage_lines(r, p);
    bar_line(p, "idle", top_idle(r), GREEN, "workers, nothing to do");
    tuner_line(s, p);
    line(p, "memory", "%s of %s", cli_bytes((double)s->memory_bytes), cli_bytes((double)s->memory_max_bytes));
    if (s->cache_hits + s->cache_misses)
        line(p, "cache", "%s, %.0f %% of samples", cli_bytes((double)s->cache_bytes),
             100.0 * (double)s->cache_hits / (double)(s->cache_hits + s->cache_misses));
    if (s->bad_samples) {
        style(p, RED);
        line(p, "bad", "%s sample%s", cli_count(s->bad_samples), s->bad_samples == 1 ? "" : "s");
        style(p, 0);
    }
    if (r->age_s > 5) line(p, "silent", "no news for %s: is it stopped?", cli_time(r->age_s));
}

/* -------------------------------------------------------------------------------------------- screen */

static void draw_head(const top_view *view, const top_paper *p) {
    char text[200], clock[16] = "";
    double rate = 0;
    const time_t now = time(NULL);
    struct tm local;
    for (int i = 0; i < view->n; i++) rate += top_rate(&view->row[i].now);
    if (localtime_r(&now, &local)) strftime(clock, sizeof clock, "%H:%M:%S", &local);
    style(p, BOLD);
    int used = put_text(p, " leat top", p->width);
    style(p, 0);
    snprintf(text, sizeof text, "  %d pipeline%s, %s samples/s", view->n, view->n == 1 ? "" : "s",
             cli_rate(rate));
    if (view->n > 0) used += put_text(p, text, p->width - used);
    if (used + 10 <= p->width) fprintf(p->out, "%*s%s", p->width - used - 8, "", clock);
    end_line(p);
}

static void draw_keys(const top_view *view, const top_paper *p) {
    char text[400];
    if (*view->note) snprintf(text, sizeof text, " %s", view->note);
    else if (p->width >= 60)
        snprintf(text, sizeof text, " q quit   s sort: %-7s   %s choose   d report   ? help",
                 top_sort_words[view->sort], p->letters ? "↑↓" : "n p");
    else snprintf(text, sizeof text, " q quit  s %s  d report  ? help", top_sort_words[view->sort]);
    style(p, DIM);
    put_text(p, text, p->width);
    style(p, 0);
}

static void draw_help(const top_paper *p) {
    static const char *const lines[] = {
        "q            quit",
        "s            sort by the next: rate, waiting, memory, bad, pid",
        "n p, arrows  choose the pipeline that is shown in full",
        "d            write its report as text into a file here",
        "D            the same as JSON",
        "",
        "WAITS: of the last 5 seconds, how long the program waited for a batch. Near 0: the input is fast "
        "enough.",
        "IDLE: how long the workers had nothing to do. Near 0 while the program waits: leat is the limit.",
    };
    end_line(p);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (*lines[i]) put_wrapped(p, lines[i], 2, 0);
        else end_line(p);
}

static void draw_nothing(const top_view *view, const top_paper *p) {
    end_line(p);
    put_wrapped(p, "No pipeline runs.", 2, BOLD);
    put_wrapped(
        p, "A pipeline appears here when it is a second old, unless LEAT_TOP=0 is in its environment.", 2, 0);
    put_wrapped(p, view->report.path, 2, DIM);
}

/* The part of a line that fits the width; marks of style take no room. */
static void put_line(const top_paper *p, const char *line, size_t n) {
    int columns = 0;
    for (size_t i = 0; i < n; i++) {
        const bool mark = line[i] == '\033';
        const size_t end = mark ? i + strcspn(line + i, "m") : i;
        if (!mark && (line[i] & 0xc0) != 0x80) columns++;
        if (mark || columns <= p->width) fwrite(line + i, 1, end - i + 1, p->out);
        i = end;
    }
}

void top_draw_screen(const top_view *view, const top_paper *p) {
    char *text = NULL;
    size_t bytes = 0;
    /* Drawn into memory, so that what is longer than the screen can be cut. */
    top_paper page = *p;
    page.end = "\n";
    page.out = open_memstream(&text, &bytes);
    if (!page.out) return;
    draw_head(view, &page);
    if (view->help) draw_help(&page);
    else if (view->n == 0) draw_nothing(view, &page);
    else {
        const int room = p->height - 18, rows = room > 3 ? room : 3;
        top_draw_table(view, &page, rows);
        end_line(&page);
        top_draw_details(&view->row[view->chosen], &page);
    }
    fclose(page.out);
    fputs("\033[H", p->out);
    const char *at = text;
    for (int i = 0; i < p->height - 1; i++) {
        const size_t n = strcspn(at, "\n");
        put_line(p, at, n);
        fputs("\033[K\n", p->out);
        at += n + (at[n] == '\n');
    }
    draw_keys(view, p);
    fputs("\033[K\033[J", p->out);
    fflush(p->out);
    free(text);
}
