/* SPDX-License-Identifier: Apache-2.0 */
#include "opened.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int cli_opened_text(cli_opened *o, const char *verb, int argc, char **argv) {
    o->verb = verb;
    if (argc == 1) {
        o->text = argv[0];
        return CLI_OK;
    }
    if (argc > 1) return cli_fail(verb, CLI_USAGE, "the pipeline must be one argument: put it in quotes");
    return cli_fail(verb, CLI_USAGE, "the pipeline is missing: 'leat %s --help' shows an example", verb);
}

static bool is_image(const leat_field *field) {
    const int64_t *s = field->shape;
    return strcmp(field->name, "image") == 0 ||
           (field->ndim == 3 && ((s[2] >= 1 && s[2] <= 4) || (s[0] >= 1 && s[0] <= 4)));
}

static int on_waiting(void *user) {
    (void)user;
    return cli_interrupted();
}

int cli_opened_open(cli_opened *o, const cli_pipeline_options *options) {
    /* The pipeline keeps pointing at the progress, and o must not move from here on. */
    o->config.progress = cli_on_progress;
    o->config.waiting = on_waiting;
    o->config.log = cli_on_log;
    o->config.user = &o->progress;
    o->config.trace_events = o->trace ? CLI_TRACE_EVENTS : 0;
    if (o->trace && cli_check_writable(o->verb, o->trace) != CLI_OK) return CLI_FAILED;
    cli_progress_begin(&o->progress, "opening", "done", 0, options->quiet);
    o->spec = leat_spec_new(o->text);
    if (!o->spec) return cli_fail(o->verb, CLI_FAILED, "no memory");
    if (options->tune && leat_spec_error(o->spec, NULL) == 0) {
        char text[300];
        snprintf(text, sizeof text, "options tune='%.250s'", options->tune);
        leat_spec_add(o->spec, text);
    }
    const int rc = leat_pipeline_open(&o->pipeline, o->spec, &o->config, &o->err);
    cli_progress_end(&o->progress);
    if (rc == LEAT_ERR_CANCELLED) return CLI_INTERRUPTED;
    if (rc < 0) return cli_fail_error(o->verb, &o->err, o->text);
    leat_field first;
    o->images = leat_pipeline_fields(o->pipeline, &first, 1) > 0 && is_image(&first);
    return CLI_OK;
}

int cli_check_writable(const char *verb, const char *path) {
    struct stat st;
    const char *slash = strrchr(path, '/');
    char folder[4096] = ".";
    if (slash) snprintf(folder, sizeof folder, "%.*s", (int)(slash - path) + 1, path);
    int why = 0;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) why = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
    else if (access(folder, W_OK | X_OK) != 0) why = errno;
    return why ? cli_fail(verb, CLI_FAILED, "cannot write %s: %s", path, strerror(why)) : CLI_OK;
}

int cli_opened_trace(cli_opened *o) {
    if (!o->trace) return CLI_OK;
    leat_error err;
    uint64_t n =
        leat_trace_events(o->pipeline, NULL, 0) + CLI_TRACE_EVENTS; /* workers may add some meanwhile */
    leat_event *events = malloc((size_t)n * sizeof *events);
    if (!events) return cli_fail(o->verb, CLI_FAILED, "no memory for the trace");
    const uint64_t there = leat_trace_events(o->pipeline, events, n);
    const int rc = leat_trace_write(events, there < n ? there : n, o->trace, &err);
    free(events);
    return rc < 0 ? cli_fail(o->verb, CLI_FAILED, "the trace: %s", err.message) : CLI_OK;
}

int cli_opened_fail(const cli_opened *o) {
    leat_error err = o->err;
    const size_t n = strlen(err.message);
    const bool damaged = err.code == LEAT_ERR_DECODE || err.code == LEAT_ERR_CORRUPT ||
                         err.code == LEAT_ERR_FORMAT || err.code == LEAT_ERR_IO;
    if (damaged && err.sample != LEAT_NO_SAMPLE)
        snprintf(err.message + n, sizeof err.message - n,
                 "; --on-error skip leaves bad samples out, 'leat check' finds all of them");
    return cli_fail_error(o->verb, &err, o->text);
}

const char *cli_rate(double per_s) {
    static char small[2][32];
    static int turn;
    if (per_s >= 100) return cli_count((uint64_t)(per_s + 0.5));
    snprintf(small[turn ^= 1], sizeof small[0], "%.1f", per_s);
    return small[turn];
}

void cli_opened_close(cli_opened *o) {
    leat_pipeline_close(&o->pipeline);
    leat_spec_free(&o->spec);
}
