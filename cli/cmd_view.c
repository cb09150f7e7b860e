/* SPDX-License-Identifier: Apache-2.0 */
/* leat view: a contact sheet of what a pipeline makes. */
#include "opened.h"

static int run(int argc, char **argv) {
    cli_pipeline_options pipeline = {0};
    cli_opened on = {0};
    int64_t samples = 0, versions = 0, size = 0;
    bool strip = false;
    const char *out = NULL;
    cli_opt opts[CLI_PIPELINE_OPTIONS + 6] = {
        {"output", 'o', CLI_TEXT, &out, 0, 0, "FILE", "the PNG file that is written", NULL},
        {"samples", 'n', CLI_INT, &samples, 1, LEAT_VIEW_ROWS_MAX, "N", "rows, spread evenly over the epoch",
         "6"},
        {"versions", 'v', CLI_INT, &versions, 1, LEAT_VIEW_VERSIONS_MAX, "N", "of each sample", "5"},
        {"size", 0, CLI_INT, &size, 32, 2048, "N", "pixels of a picture's longer side", "160"},
        {"strip", 0, CLI_FLAG, &strip, 0, 0, NULL,
         "one row of samples as the pipeline makes them, and nothing else", NULL},
    };
    cli_pipeline_table(&pipeline, opts, 5);
    cli_opt_help(opts, "quiet", "errors only", NULL);
    int rc = cli_options(&cli_view, opts, &argc, &argv);
    if (rc != CLI_OK) return rc < 0 ? CLI_OK : rc;
    rc = cli_opened_text(&on, "view", argc, argv);
    if (rc != CLI_OK) return rc;
    if (!out) return cli_fail("view", CLI_USAGE, "where to? -o sheet.png names the file");
    rc = cli_pipeline_config(&pipeline, &on.config);
    if (rc != CLI_OK) return rc;
    leat_spec *spec = leat_spec_new(on.text);
    if (!spec) return cli_fail("view", CLI_FAILED, "no memory");
    cli_catch_signals();
    cli_progress_begin(&on.progress, "opening", "done", 0, pipeline.quiet);
    on.config.progress = cli_on_progress;
    on.config.log = cli_on_log;
    on.config.user = &on.progress;
    const leat_view_config view = {
        .n_samples = (int)samples, .n_versions = (int)versions, .size = (int)size, .strip = strip};
    leat_view_report report;
    const int failed = leat_view(spec, out, &view, &on.config, &report, &on.err);
    cli_progress_end(&on.progress);
    leat_spec_free(&spec);
    if (failed == LEAT_ERR_CANCELLED) return CLI_INTERRUPTED;
    if (failed < 0) return cli_fail_error("view", &on.err, on.text);
    if (!pipeline.quiet)
        fprintf(stderr, "%s: %d sample%s, %dx%d pixels\n", out, report.n_samples,
                report.n_samples == 1 ? "" : "s", report.width, report.height);
    return CLI_OK;
}

const cli_verb cli_view = {
    .name = "view",
    .help = "Draw a contact sheet: originals beside what the pipeline makes of them.",
    .synopsis = "[OPTIONS] \"PIPELINE\" -o SHEET.png",
    .about =
        "Draws samples as they are and, beside each, what the pipeline makes of it in one epoch after "
        "the other, with labels and what was drawn for it: what the model will see. A mask tints the picture "
        "it belongs to, boxes are frames. Values are mapped back to colours, and normalize is undone.",
    .example = "  leat view \"folder photos | shuffle | decode | random_resized_crop 224 | "
               "random_flip_left_right | batch 64\" -o sheet.png",
    .run = run,
};
