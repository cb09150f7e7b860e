/* SPDX-License-Identifier: Apache-2.0 */
/* Progress of long work, log messages, Ctrl-C. */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

static volatile sig_atomic_t signals;

static void on_signal(int number) {
    (void)number;
    if (++signals >= 2) _exit(130);
}

void cli_catch_signals(void) {
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

bool cli_interrupted(void) {
    return signals > 0;
}

void cli_progress_begin(cli_progress *p, const char *what, const char *unit, uint64_t total, bool quiet) {
    *p = (cli_progress){.what = what, .quiet = quiet, .terminal = isatty(STDERR_FILENO) != 0, .total = total};
    snprintf(p->unit, sizeof p->unit, "%s", unit);
    p->began = p->last = cli_now();
}

static void draw_bar(const cli_progress *p, double rate) {
    enum { CELLS = 24 };
    char bar[CELLS * 3 + 1] = "";
    fprintf(stderr, "\r\033[K%s", p->what);
    if (p->total > 0) {
        const int full =
            (int)((double)CELLS * (double)(p->done < p->total ? p->done : p->total) / (double)p->total);
        for (int i = 0; i < CELLS; i++) strcat(bar, i < full ? "━" : "─");
        fprintf(stderr, " %s %3.0f%%", bar, 100.0 * (double)p->done / (double)p->total);
    }
    fprintf(stderr, "  %s %s, %s/s", cli_count(p->done), p->unit, cli_count((uint64_t)rate));
    if (p->total > p->done && rate > 0)
        fprintf(stderr, ", %s left", cli_time((double)(p->total - p->done) / rate));
    fflush(stderr);
}

void cli_progress_update(cli_progress *p, uint64_t done, uint64_t total) {
    const double now = cli_now();
    p->done = done;
    if (total) p->total = total;
    /* A bar ten times a second on a terminal; elsewhere a line every ten seconds. */
    if (p->quiet || now - p->last < (p->terminal ? 0.1 : 10)) return;
    p->last = now;
    const double rate = now > p->began ? (double)done / (now - p->began) : 0;
    if (p->terminal) {
        draw_bar(p, rate);
        p->shown = true;
    } else if (p->total) {
        fprintf(stderr, "%s: %s of %s %s, %s/s\n", p->what, cli_count(done), cli_count(p->total), p->unit,
                cli_count((uint64_t)rate));
    } else {
        fprintf(stderr, "%s: %s %s, %s/s\n", p->what, cli_count(done), p->unit, cli_count((uint64_t)rate));
    }
}

void cli_progress_end(cli_progress *p) {
    if (p->shown) fputs("\r\033[K", stderr);
    p->shown = false;
}

int cli_on_progress(void *user, const char *what, uint64_t done, uint64_t total) {
    cli_progress *p = user;
    if (p && what) {
        if (p->what != what) { /* the work has entered another phase */
            p->what = what;
            p->began = cli_now();
        }
        cli_progress_update(p, done, total);
    }
    return cli_interrupted();
}

void cli_on_log(void *user, int level, const char *message) {
    cli_progress *p = user;
    if (p && p->quiet && level < LEAT_LOG_WARNING) return;
    if (p) cli_progress_end(p);
    fprintf(stderr, "%s%s\n", level >= LEAT_LOG_WARNING ? "warning: " : "", message);
}
