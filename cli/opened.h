/* SPDX-License-Identifier: Apache-2.0 */
/* A pipeline that a verb has opened from the text and the options of its command line. */
#ifndef LEAT_CLI_OPENED_H
#define LEAT_CLI_OPENED_H

#include "cli.h"

enum { CLI_INTERRUPTED = 130 }; /* exit code after Ctrl-C */

typedef struct cli_opened {
    const char *verb, *text;
    leat_config config;
    leat_spec *spec;
    leat_pipeline *pipeline;
    cli_progress progress;
    leat_error err;
    bool images; /* the first field is a picture */
} cli_opened;

/* The one word that is left after the options: the pipeline. CLI_OK, or CLI_USAGE after a message. */
int cli_opened_text(cli_opened *o, const char *verb, int argc, char **argv);
/* CLI_OK, or an exit code after a message; CLI_INTERRUPTED (no message) when it was stopped. */
int cli_opened_open(cli_opened *o, const cli_pipeline_options *options);
/* Tells o->err, which leat_pipeline_next gave, and what can be done about a bad sample. Returns the exit
 * code. */
int cli_opened_fail(const cli_opened *o);
void cli_opened_close(cli_opened *o);
/* 12.3 or 1,234 */
const char *cli_rate(double per_s);

#endif
