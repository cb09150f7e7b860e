/* SPDX-License-Identifier: Apache-2.0 */
/* What the verbs of the command share. Verbs see the public headers only. */
#ifndef LEAT_CLI_H
#define LEAT_CLI_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "leat/leat.h"
#include "leat/leat_tools.h"

/* Exit codes: 0 good; 1 the work failed, or something was found bad; 2 the command line is wrong. */
enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

typedef struct cli_verb {
    const char *name;
    const char *help;                  /* one line                                     */
    const char *synopsis;              /* what follows the verb: "[OPTIONS] PATH..."   */
    const char *about;                 /* paragraphs, with an empty line between them  */
    const char *more;                  /* behind the options; NULL = nothing           */
    const char *example;               /* lines as they are                            */
    int (*run)(int argc, char **argv); /* argv[0] is the verb                          */
} cli_verb;

extern const cli_verb cli_run, cli_bench, cli_plan, cli_ops, cli_info, cli_show, cli_check, cli_index,
    cli_synth, cli_pack, cli_view, cli_compare, cli_split, cli_cache, cli_doctor, cli_top;

/* opts.c: one table of options a verb, which parsing and --help are made of. */
/* CLI_AUTO: a whole number, or auto, which is 0. */
typedef enum cli_opt_kind { CLI_FLAG, CLI_INT, CLI_AUTO, CLI_NUMBER, CLI_TEXT, CLI_BYTES } cli_opt_kind;
typedef struct cli_opt { /* ends with a NULL name                        */
    const char *name;    /* "threads" for --threads                      */
    char letter;         /* 't' for -t, 0 if none                        */
    cli_opt_kind kind;
    void *to;             /* bool *, int64_t *, double *, const char **, uint64_t * (bytes: 4GiB) */
    int64_t min, max;     /* of CLI_INT and CLI_AUTO; both 0 = any        */
    const char *arg;      /* what stands for the value in --help; NULL = a flag */
    const char *help;     /* what it does; a new line where it has one    */
    const char *fallback; /* what holds without it; NULL = nothing to say */
} cli_opt;
/* Other words for the help of an option, where a verb means something of its own by one that several have. */
void cli_opt_help(cli_opt *opts, const char *name, const char *help, const char *fallback);
/* Reads options; *argc and *argv are left with the other words. Returns CLI_OK, or CLI_USAGE after a message, or -1
 * after printing the help. */
int cli_options(const cli_verb *verb, const cli_opt *opts, int *argc, char ***argv);
/* The options that every verb which opens a pipeline has: threads, seed, memory, on-error, slots, cache-dir, ... */
typedef struct cli_pipeline_options {
    int64_t threads, seed, slots, epochs, max_bad;
    uint64_t memory;
    const char *on_error, *cache_dir, *rank, *tune;
    bool synchronous, no_side_files, trust_cache, quiet;
} cli_pipeline_options;
#define CLI_PIPELINE_OPTIONS 14
/* Appends them to a table at opts[n]; returns the new n. */
int cli_pipeline_table(cli_pipeline_options *o, cli_opt *opts, int n);
/* CLI_OK, or CLI_USAGE after a message. */
int cli_pipeline_config(const cli_pipeline_options *o, leat_config *config);

/* The options of verbs that look through data without a pipeline: threads, cache-dir, no-side-files, trust-cache, quiet. */
typedef struct cli_tool_options {
    int64_t threads;
    const char *cache_dir;
    bool no_side_files, trust_cache, quiet;
} cli_tool_options;
#define CLI_TOOL_OPTIONS 5
int cli_tool_table(cli_tool_options *o, cli_opt *opts, int n);
/* With a cli_progress for the callbacks. */
leat_tool_config cli_tool_config(const cli_tool_options *o, void *progress);

/* "leat run: " and a message to stderr; returns code. */
int cli_fail(const char *verb, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* The message of err, with the pipeline text and a mark under the column if it has one. Returns CLI_FAILED, or
 * CLI_USAGE for a mistake in the text. */
int cli_fail_error(const char *verb, const leat_error *err, const char *spec_text);

/* progress.c: a bar with rate and time left on a terminal, a plain line now and then otherwise. */
typedef struct cli_progress {
    const char *what;
    bool quiet, terminal, shown;
    double began, last;
    uint64_t done, total;
    char unit[16];
} cli_progress;
void cli_progress_begin(cli_progress *p, const char *what, const char *unit, uint64_t total, bool quiet);
void cli_progress_update(cli_progress *p, uint64_t done, uint64_t total);
/* Removes the bar. */
void cli_progress_end(cli_progress *p);
/* A leat_progress_fn whose user is a cli_progress; cancels when Ctrl-C was pressed. */
int cli_on_progress(void *user, const char *what, uint64_t done, uint64_t total);
/* A leat_log_fn: warnings and information to stderr. */
void cli_on_log(void *user, int level, const char *message);
/* Ctrl-C and SIGTERM: after cli_catch_signals cli_interrupted() tells whether one came; a second one ends the program. */
void cli_catch_signals(void);
bool cli_interrupted(void);

/* print.c: numbers for people, JSON for programs; colours only on a terminal and without NO_COLOR. */
const char *cli_count(uint64_t n);   /* 1,281,167   (one of several static buffers) */
const char *cli_bytes(double bytes); /* 110 KB                                       */
const char *cli_time(double seconds);
const char *cli_bold(FILE *f), *cli_red(FILE *f), *cli_green(FILE *f), *cli_plain(FILE *f);
/* Whether the locale has letters beyond ASCII, such as the blocks of a bar. */
bool cli_letters(void);
double cli_now(void);
/* A JSON string with quotes and escapes; invalid UTF-8 becomes U+FFFD. */
void cli_json_string(FILE *f, const char *text);

#endif
