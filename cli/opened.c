/* SPDX-License-Identifier: Apache-2.0 */
#include "opened.h"

#include <string.h>

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

int cli_opened_open(cli_opened *o, const cli_pipeline_options *options) {
    /* The pipeline keeps pointing at the progress, and o must not move from here on. */
    o->config.progress = cli_on_progress;
    o->config.log = cli_on_log;
    o->config.user = &o->progress;
    cli_progress_begin(&o->progress, "opening", "done", 0, options->quiet);
    o->spec = leat_spec_new(o->text);
    if (!o->spec) return cli_fail(o->verb, CLI_FAILED, "no memory");
    const int rc = leat_pipeline_open(&o->pipeline, o->spec, &o->config, &o->err);
    cli_progress_end(&o->progress);
    if (rc == LEAT_ERR_CANCELLED) return CLI_INTERRUPTED;
    if (rc < 0) return cli_fail_error(o->verb, &o->err, o->text);
    leat_field first;
    o->images = leat_pipeline_fields(o->pipeline, &first, 1) > 0 && is_image(&first);
    return CLI_OK;
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
