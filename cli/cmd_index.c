/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

typedef struct index_output {
    cli_progress progress;
    char place[4200];
} index_output;

static void on_log(void *user, int level, const char *message) {
    index_output *out = user;
    if (level == LEAT_LOG_INFO) snprintf(out->place, sizeof out->place, "%s", message);
    else cli_on_log(&out->progress, level, message);
}

static int on_progress(void *user, const char *what, uint64_t done, uint64_t total) {
    index_output *out = user;
    return cli_on_progress(&out->progress, what, done, total);
}

static int run(int argc, char **argv) {
    bool beside = false, positions = false, quiet = false;
    int64_t threads = 0;
    const char *cache_dir = NULL;
    const cli_opt opts[] = {
        {"beside", 'b', CLI_FLAG, &beside, 0, 0, NULL,
         "keep it beside the data, as .NAME.leatidx, and not in the cache directory", NULL},
        {"positions", 'p', CLI_FLAG, &positions, 0, 0, NULL, "inside of JPEGs, too", NULL},
        {"threads", 't', CLI_INT, &threads, 0, 256, "N", "workers", "all cores this process may use"},
        {"cache-dir", 0, CLI_TEXT, &cache_dir, 0, 0, "DIR", "where indexes are kept", "~/.cache/leat"},
        {"quiet", 'q', CLI_FLAG, &quiet, 0, 0, NULL, "print nothing", NULL},
        {0},
    };
    const int rc = cli_options(&cli_index, opts, &argc, &argv);
    if (rc) return rc < 0 ? CLI_OK : rc;
    if (argc < 1) return cli_fail("index", CLI_USAGE, "which path? 'leat index --help' shows an example");
    if (beside && cache_dir) return cli_fail("index", CLI_USAGE, "--beside or --cache-dir, not both");
    index_output out = {0};
    cli_catch_signals();
    cli_progress_begin(&out.progress, "indexing", "", 0, quiet);
    const leat_tool_config config = {.n_threads = (int)threads,
                                     .cache_dir = cache_dir,
                                     .log = on_log,
                                     .progress = on_progress,
                                     .user = &out};
    const leat_index_config how = {.beside = beside, .positions = positions};
    leat_index_report report = {0};
    leat_error err;
    const double began = cli_now();
    const int failed = leat_index((const char *const *)argv, argc, &how, &report, &config, &err);
    cli_progress_end(&out.progress);
    if (failed < 0) return cli_fail_error("index", &err, NULL);
    if (quiet) return CLI_OK;
    printf("%s %s indexed", cli_count(report.n_samples), report.n_samples == 1 ? "sample" : "samples");
    if (positions)
        printf(", with positions of %s %s", cli_count(report.n_positions),
               report.n_positions == 1 ? "JPEG" : "JPEGs");
    printf(" in %s, %s\n", cli_time(cli_now() - began), out.place);
    return CLI_OK;
}

const cli_verb cli_index = {
    .name = "index",
    .help = "Make the index of a folder or of TFRecord files anew, and keep it.",
    .synopsis = "[OPTIONS] PATH...",
    .about =
        "An index lets a run begin at once: of a folder it holds the names and sizes of the images, of a "
        "TFRecord file where each record begins. leat makes one when it is missing or when the data has "
        "changed; this makes it anew, ahead of time, or beside the data, where every reader of the data "
        "finds it.\n\nWith --positions every JPEG is gone through as well, and where its rows begin in the "
        "bit stream is kept. Crops that are drawn before decoding begin there, and take less time. Without "
        "it a run notes what it reads, and only its later epochs and later runs are faster.",
    .example = "  leat index photos/train 'data/train-*.tfrecord'",
    .run = run,
};
