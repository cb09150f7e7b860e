/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli.h"

static int print_line(void *user, const char *line) {
    cli_progress_end(user);
    const bool title = line[0] != ' ', damaged = title && strstr(line, ", damaged");
    if (title)
        printf("%s%s%s%s\n", cli_bold(stdout), damaged ? cli_red(stdout) : "", line, cli_plain(stdout));
    else puts(line);
    return cli_interrupted() || ferror(stdout);
}

static int run(int argc, char **argv) {
    bool no_side_files = false, trust_cache = false, quiet = false;
    int64_t records = 5, skip = 0;
    const char *cache_dir = NULL;
    const cli_opt opts[] = {
        {"records", 'n', CLI_INT, &records, -1, INT64_MAX, "N", "how many; -1 shows all", "5"},
        {"skip", 0, CLI_INT, &skip, 0, INT64_MAX, "K", "begin with record K, counted from 0", NULL},
        {"cache-dir", 0, CLI_TEXT, &cache_dir, 0, 0, "DIR", "where indexes are kept", NULL},
        {"no-side-files", 0, CLI_FLAG, &no_side_files, 0, 0, NULL, "neither read nor write indexes", NULL},
        {"trust-cache", 0, CLI_FLAG, &trust_cache, 0, 0, NULL,
         "use indexes of other users too, and those that others may write to", NULL},
        {"quiet", 'q', CLI_FLAG, &quiet, 0, 0, NULL, "no progress", NULL},
        {0},
    };
    const int rc = cli_options(&cli_show, opts, &argc, &argv);
    if (rc) return rc < 0 ? CLI_OK : rc;
    if (argc != 1)
        return cli_fail("show", CLI_USAGE,
                        argc == 0 ? "which TFRecord file? 'leat show --help' shows an example"
                                  : "one file at a time; put a pattern in quotes");
    cli_progress progress;
    cli_catch_signals();
    cli_progress_begin(&progress, "reading", "records", 0, quiet);
    const leat_tool_config config = {.cache_dir = cache_dir,
                                     .no_side_files = no_side_files,
                                     .trust_cache = trust_cache,
                                     .log = cli_on_log,
                                     .progress = cli_on_progress,
                                     .user = &progress};
    leat_error err;
    leat_show_report report;
    const int failed =
        leat_show(argv[0], (uint64_t)skip, records, print_line, &progress, &report, &config, &err);
    cli_progress_end(&progress);
    if (failed < 0) return cli_fail_error("show", &err, NULL);
    return report.n_damaged ? CLI_FAILED : CLI_OK;
}

const cli_verb cli_show = {
    .name = "show",
    .help = "Print the records of a TFRecord file: keys, kinds, counts, values.",
    .synopsis = "[OPTIONS] FILE",
    .about = "Prints records of a TFRecord file, GZIP and ZLIB ones too: of each tf.train.Example the keys, "
             "their kinds, the number of values and the first of them. Damaged records are named, and "
             "showing goes on; then the exit code is 1.",
    .example = "  leat show --records 3 data/train-00000-of-00004.tfrecord",
    .run = run,
};
