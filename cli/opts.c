/* SPDX-License-Identifier: Apache-2.0 */
/* Command line options, from a table. */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

enum { OPTS_MAX = 48, HELP = 1000, FIRST = 1001 };

int cli_fail(const char *verb, int code, const char *fmt, ...) {
    va_list args;
    fflush(stdout);
    fprintf(stderr, "%sleat %s:%s ", cli_red(stderr), verb, cli_plain(stderr));
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
    return code;
}

int cli_fail_error(const char *verb, const leat_error *err, const char *spec_text) {
    cli_fail(verb, 0, "%s", err->message);
    if (err->column > 0 && spec_text && strlen(spec_text) < 500 && !strpbrk(spec_text, "\n\t"))
        fprintf(stderr, "  %s\n  %*s^\n", spec_text, err->column - 1, "");
    return err->code == LEAT_ERR_SYNTAX ? CLI_USAGE : CLI_FAILED;
}

static bool read_int(const char *text, int64_t *out) {
    char *end;
    errno = 0;
    *out = strtoll(text, &end, 10);
    return errno == 0 && end != text && *end == 0;
}

static bool read_bytes(const char *text, uint64_t *out) {
    static const struct {
        const char *unit;
        double factor;
    } units[] = {{"", 1},       {"B", 1},         {"KB", 1e3},        {"MB", 1e6},
                 {"GB", 1e9},   {"K", 1024},      {"M", 1048576},     {"G", 1073741824},
                 {"KiB", 1024}, {"MiB", 1048576}, {"GiB", 1073741824}};
    char *end;
    const double x = strtod(text, &end);
    if (end == text || !(x >= 0) || x > 1e18) return false;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(end, units[i].unit) == 0) return *out = (uint64_t)(x * units[i].factor), true;
    return false;
}

static int set_option(const cli_verb *verb, const cli_opt *opt, const char *text) {
    int64_t i;
    char *end;
    switch (opt->kind) {
    case CLI_FLAG: *(bool *)opt->to = true; return CLI_OK;
    case CLI_TEXT: *(const char **)opt->to = text; return CLI_OK;
    case CLI_AUTO:
    case CLI_INT:
        if (opt->kind == CLI_AUTO && strcmp(text, "auto") == 0) i = 0;
        else if (!read_int(text, &i))
            return cli_fail(verb->name, CLI_USAGE, "--%s must be a whole number, not '%s'", opt->name, text);
        if ((opt->min || opt->max) && (i < opt->min || i > opt->max))
            return cli_fail(verb->name, CLI_USAGE,
                            "--%s must lie between %" PRId64 " and %" PRId64 ", not %s", opt->name, opt->min,
                            opt->max, text);
        *(int64_t *)opt->to = i;
        return CLI_OK;
    case CLI_NUMBER:
        *(double *)opt->to = strtod(text, &end);
        if (end == text || *end || !(*(double *)opt->to >= 0) || *(double *)opt->to > 1e9)
            return cli_fail(verb->name, CLI_USAGE, "--%s must be a number of at least 0, not '%s'", opt->name,
                            text);
        return CLI_OK;
    case CLI_BYTES:
        if (!read_bytes(text, opt->to))
            return cli_fail(verb->name, CLI_USAGE, "--%s must be a size such as 512MiB or 4GB, not '%s'",
                            opt->name, text);
        return CLI_OK;
    }
    return CLI_OK;
}

/* --------------------------------------------------------------------------------------------- help */

enum { HELP_COLUMNS = 100 };

/* Words from column `indent` on, of which the first line has its indent already; a new line in the text is kept. */
static void print_wrapped(const char *text, int indent) {
    int column = indent;
    while (*text) {
        const size_t n = strcspn(text, " \n"), spaces = strspn(text + n, " ");
        if (column > indent && column + (int)n > HELP_COLUMNS) {
            printf("\n%*s", indent, "");
            column = indent;
        }
        printf("%.*s", (int)n, text);
        column += (int)n;
        text += n;
        if (*text == '\n') {
            printf("\n%*s", text[1] == '\n' ? 0 : indent, "");
            column = indent;
            text++;
        } else if (*text) {
            const char *next = text + spaces;
            const bool breaks = column + (int)spaces + (int)strcspn(next, " \n") > HELP_COLUMNS;
            if (!breaks) printf("%*s", (int)spaces, "");
            column += (int)spaces;
            text = next;
        }
    }
    putchar('\n');
}

/* "  -t, --threads N" */
static int left_part(const cli_opt *opt, char *text, size_t cap) {
    char letter[8] = "    ";
    if (opt->letter) snprintf(letter, sizeof letter, "-%c, ", opt->letter);
    return snprintf(text, cap, "  %s--%s%s%s", letter, opt->name, opt->arg ? " " : "",
                    opt->arg ? opt->arg : "");
}

static void print_help(const cli_verb *verb, const cli_opt *opts) {
    char left[80], help[1200];
    int column = 0;
    printf("Usage: leat %s %s\n\n", verb->name, verb->synopsis);
    print_wrapped(verb->about, 0);
    putchar('\n');
    for (const cli_opt *opt = opts; opt->name; opt++) {
        const int n = left_part(opt, left, sizeof left) + 2;
        column = n > column ? n : column;
    }
    for (const cli_opt *opt = opts; opt->name; opt++) {
        left_part(opt, left, sizeof left);
        printf("%-*s", column, left);
        snprintf(help, sizeof help, opt->fallback ? "%s (default: %s)" : "%s", opt->help, opt->fallback);
        print_wrapped(help, column);
    }
    printf("%-*sthis text\n", column, "  -h, --help");
    if (verb->more) {
        putchar('\n');
        print_wrapped(verb->more, 0);
    }
    printf("\nExample:\n%s\n", verb->example);
}

void cli_opt_help(cli_opt *opts, const char *name, const char *help, const char *fallback) {
    for (; opts->name; opts++)
        if (strcmp(opts->name, name) == 0) opts->help = help, opts->fallback = fallback;
}

/* ------------------------------------------------------------------------------------------- parsing */

/* Options that had another name: before, now. */
static const char *const renamed[][2] = {{"--checkpoints", "--positions"}, {"--no-tune", "--tune off"}};

int cli_options(const cli_verb *verb, const cli_opt *opts, int *argc, char ***argv) {
    struct option longs[OPTS_MAX + 2] = {{"help", no_argument, NULL, HELP}};
    char shorts[2 * OPTS_MAX + 4] = ":h";
    int n = 0;
    size_t at = 2;
    for (; opts[n].name && n < OPTS_MAX; n++) {
        const int has = opts[n].kind == CLI_FLAG ? no_argument : required_argument;
        longs[n + 1] = (struct option){opts[n].name, has, NULL, FIRST + n};
        if (!opts[n].letter) continue;
        shorts[at++] = opts[n].letter;
        if (has) shorts[at++] = ':';
    }
    shorts[at] = 0;
    opterr = 0;
    optind = 1;
    for (int c; (c = getopt_long(*argc, *argv, shorts, longs, NULL)) != -1;) {
        if (c == HELP || c == 'h') {
            print_help(verb, opts);
            return -1;
        }
        if (c == ':')
            return cli_fail(verb->name, CLI_USAGE, "%s needs a value: 'leat %s --help' explains it",
                            (*argv)[optind - 1], verb->name);
        const cli_opt *found = NULL;
        for (int i = 0; i < n; i++)
            if (c == FIRST + i || (c == opts[i].letter && opts[i].letter)) found = &opts[i];
        for (size_t i = 0; !found && i < sizeof renamed / sizeof *renamed; i++)
            if (strcmp((*argv)[optind - 1], renamed[i][0]) == 0)
                return cli_fail(verb->name, CLI_USAGE, "the option %s is called %s now", renamed[i][0],
                                renamed[i][1]);
        if (!found)
            return cli_fail(verb->name, CLI_USAGE, "there is no option %s: 'leat %s --help' lists them",
                            (*argv)[optind - 1], verb->name);
        const int rc = set_option(verb, found, optarg);
        if (rc) return rc;
    }
    *argc -= optind;
    *argv += optind;
    return CLI_OK;
}

int cli_pipeline_table(cli_pipeline_options *o, cli_opt *opts, int n) {
    const cli_opt table[CLI_PIPELINE_OPTIONS] = {
        {"threads", 't', CLI_AUTO, &o->threads, 0, 256, "N", "workers; auto: a fair share of the cores",
         "auto"},
        {"seed", 's', CLI_INT, &o->seed, 0, 0, "N", "of everything random", "0"},
        {"slots", 0, CLI_AUTO, &o->slots, 0, 1000, "N",
         "batches in memory at once; auto: they follow what the consumer waits for", "auto"},
        {"epochs", 'e', CLI_INT, &o->epochs, -1, 1000000000, "N",
         "how often the data is gone through; -1: without end", "1"},
        {"memory", 'm', CLI_BYTES, &o->memory, 0, 0, "SIZE", "byte budget, such as 2GiB",
         "a quarter of what is available"},
        {"on-error", 0, CLI_TEXT, &o->on_error, 0, 0, "WORD",
         "a bad sample: raise stops, skip leaves it out, replace takes another", "raise"},
        {"max-bad", 0, CLI_INT, &o->max_bad, 0, INT64_MAX, "N",
         "more bad samples than N in an epoch are an error all the same", NULL},
        {"rank", 0, CLI_TEXT, &o->rank, 0, 0, "I/N",
         "the part of every batch that process I of N has; auto: as the environment of torchrun, mpirun, "
         "srun, TF_CONFIG or JAX says",
         NULL},
        {"cache-dir", 0, CLI_TEXT, &o->cache_dir, 0, 0, "DIR", "where indexes are kept",
         "the user's cache directory"},
        {"synchronous", 0, CLI_FLAG, &o->synchronous, 0, 0, NULL,
         "no threads: everything in the caller, for debugging", NULL},
        {"no-side-files", 0, CLI_FLAG, &o->no_side_files, 0, 0, NULL, "neither read nor write indexes", NULL},
        {"trust-cache", 0, CLI_FLAG, &o->trust_cache, 0, 0, NULL,
         "use indexes and caches of other users too, and those that others may write to", NULL},
        {"quiet", 'q', CLI_FLAG, &o->quiet, 0, 0, NULL,
         "no progress and no report: errors and bad samples only", NULL},
        {"tune", 0, CLI_TEXT, &o->tune, 0, 0, "TEXT",
         "off: nothing changes during the run; 'threads=2 slots=6 read_ahead=0': as 'leat bench' has found, "
         "and "
         "fixed",
         "auto"},
    };
    memcpy(opts + n, table, sizeof table);
    opts[n + CLI_PIPELINE_OPTIONS] = (cli_opt){0};
    return n + CLI_PIPELINE_OPTIONS;
}

/* "2/4", or "auto": as the environment says. */
static bool read_rank(const char *text, leat_config *config) {
    int end = 0;
    if (strcmp(text, "auto") == 0) return config->world_size = -1, true;
    return sscanf(text, "%d/%d%n", &config->rank, &config->world_size, &end) == 2 && end > 0 && !text[end] &&
           config->world_size > 0 && config->rank >= 0 && config->rank < config->world_size;
}

int cli_pipeline_config(const cli_pipeline_options *o, leat_config *config) {
    *config = (leat_config){
        .n_threads = (int)o->threads,
        .n_slots = (int)o->slots,
        .n_epochs = (int)o->epochs,
        .seed = (uint64_t)o->seed,
        .memory_max_bytes = o->memory,
        .synchronous = o->synchronous,
        .no_side_files = o->no_side_files,
        .trust_cache = o->trust_cache,
        .cache_dir = o->cache_dir,
        .max_bad = o->max_bad,
    };
    if (o->rank && !read_rank(o->rank, config)) {
        fprintf(stderr, "leat: --rank must be I/N with 0 <= I < N, such as 0/4, or auto, not '%s'\n",
                o->rank);
        return CLI_USAGE;
    }
    static const char *const words[] = {"raise", "skip", "replace"};
    for (int i = 0; o->on_error && i < 3; i++) {
        if (strcmp(o->on_error, words[i]) == 0) {
            config->on_error = i;
            return CLI_OK;
        }
    }
    if (!o->on_error) return CLI_OK;
    fprintf(stderr, "leat: --on-error must be raise, skip or replace, not '%s'\n", o->on_error);
    return CLI_USAGE;
}

int cli_tool_table(cli_tool_options *o, cli_opt *opts, int n) {
    const cli_opt table[CLI_TOOL_OPTIONS] = {
        {"threads", 't', CLI_INT, &o->threads, 0, 256, "N", "workers", "all cores this process may use"},
        {"cache-dir", 0, CLI_TEXT, &o->cache_dir, 0, 0, "DIR", "where indexes are kept",
         "the user's cache directory"},
        {"no-side-files", 0, CLI_FLAG, &o->no_side_files, 0, 0, NULL, "neither read nor write indexes", NULL},
        {"trust-cache", 0, CLI_FLAG, &o->trust_cache, 0, 0, NULL,
         "use indexes and caches of other users too, and those that others may write to", NULL},
        {"quiet", 'q', CLI_FLAG, &o->quiet, 0, 0, NULL, "no progress", NULL},
    };
    memcpy(opts + n, table, sizeof table);
    opts[n + CLI_TOOL_OPTIONS] = (cli_opt){0};
    return n + CLI_TOOL_OPTIONS;
}

leat_tool_config cli_tool_config(const cli_tool_options *o, void *progress) {
    return (leat_tool_config){.n_threads = (int)o->threads,
                              .cache_dir = o->cache_dir,
                              .no_side_files = o->no_side_files,
                              .trust_cache = o->trust_cache,
                              .log = cli_on_log,
                              .progress = cli_on_progress,
                              .user = progress};
}
