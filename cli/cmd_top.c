/* SPDX-License-Identifier: Apache-2.0 */
/* leat top: the running pipelines of this user, live. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "top.h"

static const double refresh_s = 1;

/* ---------------------------------------------------------------------------------------------- once */

static int fail_gone(int64_t pid) {
    if (kill((pid_t)pid, 0) != 0 && errno == ESRCH)
        return cli_fail("top", CLI_FAILED,
                        "there is no process %" PRId64 ": 'leat top' lists all pipelines that run", pid);
    return cli_fail("top", CLI_FAILED,
                    "process %" PRId64
                    " has no pipeline that runs for a second or longer, or it belongs to another "
                    "user, or LEAT_TOP=0 is in its environment",
                    pid);
}

static void print_json(const top_view *view) {
    printf("{\"pipelines\": [");
    for (int i = 0; i < view->n; i++) {
        if (i > 0) printf(",\n ");
        top_json(stdout, &view->row[i].now);
    }
    printf("], \"path\": ");
    cli_json_string(stdout, view->report.path);
    printf(", \"removed\": %" PRIu64 ", \"damaged\": %" PRIu64 ", \"foreign\": %" PRIu64 "}\n",
           view->report.n_removed, view->report.n_damaged, view->report.n_foreign);
}

static void print_once(const top_view *view) {
    top_paper paper = top_terminal_paper(stdout);
    if (view->n == 0) {
        printf("No pipeline runs.\n");
        return;
    }
    top_view all = *view;
    all.chosen = -1;
    top_draw_table(&all, &paper, 0);
    for (int i = 0; i < view->n; i++) {
        putchar('\n');
        top_draw_details(&view->row[i], &paper);
    }
}

/* ---------------------------------------------------------------------------------------------- live */

/* A new file in the current directory, with the report of the chosen pipeline. */
static void write_report(top_view *view, bool json) {
    char name[80], when[32] = "";
    const time_t now = time(NULL);
    struct tm local;
    if (view->n == 0) return;
    const top_row *row = &view->row[view->chosen];
    if (localtime_r(&now, &local)) strftime(when, sizeof when, "%Y%m%d-%H%M%S", &local);
    snprintf(name, sizeof name, "leat-top-%" PRId64 "-%s.%s", row->now.pid, when, json ? "json" : "txt");
    FILE *f = fopen(name, "wxe"); /* never over another file, never through a link */
    if (!f) {
        snprintf(view->note, sizeof view->note, "%s cannot be written: %s", name, strerror(errno));
        return;
    }
    const top_paper paper = {.out = f, .width = 80, .end = "\n"};
    if (json) top_json(f, &row->now), fputc('\n', f);
    else top_draw_details(row, &paper);
    const bool lost = ferror(f) != 0;
    if (fclose(f) != 0 || lost) snprintf(view->note, sizeof view->note, "%s cannot be written", name);
    else snprintf(view->note, sizeof view->note, "written: %s", name);
}

/* False: quit. */
static bool on_key(top_view *view, int key) {
    view->note[0] = 0;
    if (view->help && key != 'q') key = '?'; /* any key leaves the help */
    switch (key) {
    case 'q':
    case 'Q': return false;
    case 's':
        view->sort = (view->sort + 1) % TOP_SORTS;
        top_order(view);
        break;
    case TOP_KEY_UP:
    case 'p':
    case 'k': view->chosen -= view->chosen > 0; break;
    case TOP_KEY_DOWN:
    case 'n':
    case 'j': view->chosen += view->chosen < view->n - 1; break;
    case 'd': write_report(view, false); break;
    case 'D': write_report(view, true); break;
    case '?':
    case 'h': view->help = !view->help; break;
    }
    return true;
}

static int watch(top_view *view, leat_error *err) {
    int rc = CLI_OK;
    double next = cli_now() + refresh_s;
    top_terminal_enter();
    for (bool go_on = true; go_on && rc == CLI_OK && !ferror(stdout);) {
        const top_paper paper = top_terminal_paper(stdout);
        top_draw_screen(view, &paper);
        int key;
        const double left = next - cli_now();
        go_on = top_terminal_key(left > 0 ? left : 0, &key);
        if (go_on && key != TOP_KEY_NONE && key != TOP_KEY_RESIZE) go_on = on_key(view, key);
        if (cli_now() < next) continue;
        next = cli_now() + refresh_s;
        if (go_on) rc = top_refresh(view, err);
        if (view->pid && view->n == 0) break;
    }
    top_terminal_leave();
    clearerr(stdout);
    if (rc == CLI_OK && view->pid && view->n == 0)
        printf("process %" PRId64 " has no running pipeline any more\n", view->pid);
    return rc == CLI_OK ? CLI_OK : cli_fail_error("top", err, NULL);
}

/* ----------------------------------------------------------------------------------------------- run */

static bool read_pid(const char *text, int64_t *pid) {
    char *end;
    errno = 0;
    *pid = strtoll(text, &end, 10);
    return errno == 0 && end != text && *end == 0 && *pid > 0 && *pid <= INT32_MAX;
}

static int run(int argc, char **argv) {
    bool once = false, json = false;
    const char *sort = "rate";
    top_view view = {0};
    leat_error err = {0};
    const cli_opt opts[] = {
        {"once", 0, CLI_FLAG, &once, 0, 0, NULL,
         "print what runs now, and end; so does output that is no terminal", NULL},
        {"json", 0, CLI_FLAG, &json, 0, 0, NULL, "print what runs now as one JSON object, and end", NULL},
        {"sort", 0, CLI_TEXT, &sort, 0, 0, "WORD", "rate, waiting, memory, bad or pid", "rate"},
        {0},
    };
    int rc = cli_options(&cli_top, opts, &argc, &argv);
    if (rc) return rc < 0 ? CLI_OK : rc;
    if (argc > 1) return cli_fail("top", CLI_USAGE, "takes one process, but '%s' was given too", argv[1]);
    if (argc == 1 && !read_pid(argv[0], &view.pid))
        return cli_fail("top", CLI_USAGE, "'%s' is not the number of a process", argv[0]);
    while (view.sort < TOP_SORTS && strcmp(sort, top_sort_words[view.sort]) != 0) view.sort++;
    if (view.sort == TOP_SORTS)
        return cli_fail("top", CLI_USAGE, "--sort must be rate, waiting, memory, bad or pid, not '%s'", sort);
    rc = top_refresh(&view, &err);
    if (rc != CLI_OK) cli_fail_error("top", &err, NULL);
    else if (view.pid && view.n == 0) rc = fail_gone(view.pid);
    else if (json) print_json(&view);
    else if (once || !top_terminal_fits()) print_once(&view);
    else rc = watch(&view, &err);
    top_free(&view);
    return rc;
}

const cli_verb cli_top = {
    .name = "top",
    .help = "Show the pipelines that run now, live: rate, stages, waiting, what to change.",
    .synopsis = "[OPTIONS] [PID]",
    .about =
        "Shows every pipeline of this user that runs on this machine, of this command or of a program that "
        "uses leat, such as a training in Python; with PID those of one process. Figures are those of the "
        "last "
        "5 seconds.\n\nWAITS is the share of the time in which the program waited for a batch. Near 0 the "
        "input is fast enough.\n\nA pipeline reports once a second to a file that only its user can read: in "
        "$XDG_RUNTIME_DIR/leat, or in /tmp/leat-UID if that is not set. It names the data set without its "
        "folder. LEAT_TOP=0 in the environment of a program switches this off; LEAT_TOP=/a/folder uses "
        "another "
        "folder.",
    .more = "Keys: q quits, s sorts by the next column, n and p or the arrows choose a pipeline, d writes "
            "its report "
            "into a file, D as JSON, ? explains.",
    .example = "  leat top\n"
               "  leat top --once\n"
               "  leat top --json | jq '.pipelines[] | {name, samples_per_s, waiting}'",
    .run = run,
};
