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
    bool images;       /* the first field is a picture */
    const char *trace; /* where cli_opened_trace writes, NULL = nowhere */
} cli_opened;

enum { CLI_TRACE_EVENTS = 32768 };
/* The option of verbs that can write a trace. */
#define CLI_TRACE_OPTION(o)                                                                                \
    {                                                                                                      \
        "trace", 0, CLI_TEXT, &(o)->trace, 0, 0, "FILE",                                                   \
            "write what every thread did, as JSON for ui.perfetto.dev: the newest 32,768 samples at most", \
            NULL                                                                                           \
    }

/* The one word that is left after the options: the pipeline. CLI_OK, or CLI_USAGE after a message. */
int cli_opened_text(cli_opened *o, const char *verb, int argc, char **argv);
/* CLI_OK, or an exit code after a message; CLI_INTERRUPTED (no message) when it was stopped. */
int cli_opened_open(cli_opened *o, const cli_pipeline_options *options);
/* Tells o->err, which leat_pipeline_next gave, and what can be done about a bad sample. Returns the exit
 * code. */
int cli_opened_fail(const cli_opened *o);
/* Hours of work should not end at a file that cannot be written: CLI_OK, or CLI_FAILED after a message. */
int cli_check_writable(const char *verb, const char *path);
/* Writes the trace if one was asked for: CLI_OK, or CLI_FAILED after a message. */
int cli_opened_trace(cli_opened *o);
void cli_opened_close(cli_opened *o);
/* print_counters.c: all counters of a pipeline, as a JSON object. */
void cli_print_counters(const leat_pipeline *pipeline);
void cli_print_latency(const leat_latency *latency);
/* Those of leat_stats alone, as members of an object that the caller opens and closes; `between` comes behind each comma. */
void cli_print_stats(FILE *f, const leat_stats *s, const char *between);
/* 12.3 or 1,234 */
const char *cli_rate(double per_s);

#endif
