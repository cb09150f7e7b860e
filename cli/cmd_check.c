/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

typedef struct check_output {
    cli_progress progress; /* first: it is the user of the progress callback as well */
    bool json, quiet;
    char end;   /* of a path, when only paths are printed */
    char *last; /* path printed last                      */
    FILE *list; /* JSON is printed whole or not at all    */
    uint64_t n;
} check_output;

static void add_json(check_output *out, const leat_check_bad *bad) {
    fprintf(out->list, "%s{\"path\": ", out->n++ ? ", " : "");
    cli_json_string(out->list, bad->path);
    if (bad->record != LEAT_NO_SAMPLE) fprintf(out->list, ", \"record\": %" PRIu64, bad->record);
    fprintf(out->list, ", \"stage\": \"%s\", \"code\": \"%s\", \"reason\": ", leat_stage_name(bad->stage),
            leat_error_name(bad->code));
    cli_json_string(out->list, bad->reason);
    fputc('}', out->list);
}

/* A path may hold line breaks and escape codes; a terminal must not obey them. */
static void print_path(const char *path) {
    for (const unsigned char *c = (const unsigned char *)path; *c; c++)
        putchar(*c < 32 || *c == 127 ? '?' : *c);
}

static int on_bad(void *user, const leat_check_bad *bad) {
    check_output *out = user;
    if (out->json) {
        add_json(out, bad);
    } else if (out->quiet) {
        if (!out->last || strcmp(out->last, bad->path) != 0) {
            fputs(bad->path, stdout);
            putchar(out->end);
        }
        free(out->last);
        out->last = strdup(bad->path);
    } else {
        cli_progress_end(&out->progress);
        fputs(cli_bold(stdout), stdout);
        print_path(bad->path);
        printf("%s: %s: %s\n", cli_plain(stdout), leat_stage_name(bad->stage), bad->reason);
    }
    return cli_interrupted();
}

/* Checking counts bytes, which are too many to read; what comes before counts folders. */
static int on_progress(void *user, const char *what, uint64_t done, uint64_t total) {
    check_output *out = user;
    const bool bytes = strcmp(what, "checking") == 0;
    snprintf(out->progress.unit, sizeof out->progress.unit, "%s", bytes ? "MB" : "");
    return cli_on_progress(&out->progress, what, bytes ? done / 1000000 : done,
                           bytes ? total / 1000000 : total);
}

static void on_log(void *user, int level, const char *message) {
    check_output *out = user;
    cli_on_log(&out->progress, level, message);
}

static void print_summary(const leat_check_report *report, double seconds) {
    if (report->n_bad)
        printf("%s%s of %s bad%s", cli_red(stdout), cli_count(report->n_bad), cli_count(report->n_samples),
               cli_plain(stdout));
    else printf("%sall %s good%s", cli_green(stdout), cli_count(report->n_samples), cli_plain(stdout));
    printf("  (%s in %s)\n", cli_bytes((double)report->bytes), cli_time(seconds));
}

static int check_paths(const char *const *paths, int n, check_output *out, const leat_tool_config *config) {
    char *text = NULL;
    size_t length = 0;
    leat_check_report report;
    leat_error err;
    const double began = cli_now();
    out->list = open_memstream(&text, &length);
    if (!out->list) return cli_fail("check", CLI_FAILED, "there is no memory");
    cli_catch_signals();
    cli_progress_begin(&out->progress, "checking", "MB", 0, out->quiet);
    const int rc = leat_check(paths, n, on_bad, out, &report, config, &err);
    cli_progress_end(&out->progress);
    fclose(out->list);
    if (rc == 0 && out->json)
        printf("{\"files\": %" PRIu64 ", \"samples\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"bad\": %" PRIu64
               ", \"list\": [%s]}\n",
               report.n_files, report.n_samples, report.bytes, report.n_bad, text);
    else if (rc == 0 && !out->quiet) print_summary(&report, cli_now() - began);
    free(text);
    free(out->last);
    if (rc < 0) return cli_fail_error("check", &err, NULL);
    return report.n_bad ? CLI_FAILED : CLI_OK;
}

static int run(int argc, char **argv) {
    bool json = false, null = false;
    cli_tool_options tool = {0};
    cli_opt opts[CLI_TOOL_OPTIONS + 3] = {
        {"json", 0, CLI_FLAG, &json, 0, 0, NULL, "one JSON object: counts, and a list of the bad ones", NULL},
        {"null", '0', CLI_FLAG, &null, 0, 0, NULL,
         "only the paths of bad files, each ended by a 0 byte, for xargs -0", NULL},
    };
    cli_tool_table(&tool, opts, 2);
    cli_opt_help(opts, "quiet", "only the paths of bad files, one a line", NULL);
    const int rc = cli_options(&cli_check, opts, &argc, &argv);
    if (rc) return rc < 0 ? CLI_OK : rc;
    if (argc < 1) return cli_fail("check", CLI_USAGE, "which path? 'leat check --help' shows an example");
    check_output out = {.json = json, .quiet = tool.quiet || null, .end = null ? 0 : '\n'};
    leat_tool_config config = cli_tool_config(&tool, &out);
    config.log = on_log;
    config.progress = on_progress;
    return check_paths((const char *const *)argv, argc, &out, &config);
}

const cli_verb cli_check = {
    .name = "check",
    .help = "Check every checksum, decode every image, and name what is bad.",
    .synopsis = "[OPTIONS] PATH...",
    .about = "Reads everything below the paths (folders of images, TFRecord files, patterns in quotes, lists "
             "(.csv), images), checks every checksum and decodes every image, those inside of records too. "
             "Each bad one is a line: path, stage, reason. The exit code is 1 if anything is bad. Files of a "
             "folder whose names do not end as an image's are ignored.",
    .example =
        "  leat check photos/train 'data/*.tfrecord'\n  leat check --null photos/train | xargs -0 mv -t bad/",
    .run = run,
};
