/* SPDX-License-Identifier: Apache-2.0 */
/* leat compare: how far apart two pipelines are, or a pipeline and the files of another program. */
#include <string.h>

#include "opened.h"

static void print_place(const leat_compare_field *f) {
    printf("at batch %" PRIu64 ", place %" PRIu64, f->batch, f->place);
    for (int i = 0; i < f->n_index; i++) printf(i ? ",%" PRId64 : ", (%" PRId64, f->index[i]);
    printf("%s: %.9g and %.9g", f->n_index ? ")" : "", f->a, f->b);
}

static void print_field(const leat_compare_field *f, int width) {
    printf("%s%-*s%s  ", cli_bold(stdout), width, f->name, cli_plain(stdout));
    if (f->dtype_a == f->dtype_b) printf("%s  ", leat_dtype_name(f->dtype_a));
    else printf("%s and %s  ", leat_dtype_name(f->dtype_a), leat_dtype_name(f->dtype_b));
    if (f->n_differ == 0) {
        printf("%s values, all equal\n", cli_count(f->n_values));
        return;
    }
    printf("%s of %s values differ, mean %.3g, largest %.3g ", cli_count(f->n_differ), cli_count(f->n_values),
           f->mean, f->max);
    print_place(f);
    putchar('\n');
}

static int print_report(const leat_compare_report *report, double max) {
    int width = 0;
    uint64_t differ = 0;
    for (int i = 0; i < report->n_fields; i++) {
        const int n = (int)strlen(report->field[i].name);
        width = n > width ? n : width;
    }
    for (int i = 0; i < report->n_fields; i++) {
        print_field(&report->field[i], width);
        differ += report->field[i].n_differ;
    }
    const bool good = differ == 0 || report->max <= max;
    printf("%s%s%s: %s sample%s in %s batch%s", good ? cli_green(stdout) : cli_red(stdout),
           differ == 0 ? "equal"
           : good      ? "near enough"
                       : "different",
           cli_plain(stdout), cli_count(report->n_samples), report->n_samples == 1 ? "" : "s",
           cli_count(report->n_batches), report->n_batches == 1 ? "" : "es");
    if (differ && max > 0) printf(", the largest difference is %.3g, %.3g is allowed", report->max, max);
    putchar('\n');
    return good ? CLI_OK : CLI_FAILED;
}

static int fail(const leat_compare_report *report, leat_error *err, char **texts) {
    if (report->side == 0) return cli_fail_error("compare", err, NULL);
    char message[sizeof err->message];
    memcpy(message, err->message, sizeof message);
    snprintf(err->message, sizeof err->message, "%c: %.980s", report->side == 1 ? 'A' : 'B', message);
    return cli_fail_error("compare", err, texts[report->side - 1]);
}

static int run(int argc, char **argv) {
    cli_pipeline_options pipeline = {0};
    leat_compare_config compare = {0};
    int64_t batches = 0;
    double max = 0;
    cli_opt opts[CLI_PIPELINE_OPTIONS + 4] = {
        {"batches", 'n', CLI_INT, &batches, 0, INT64_MAX, "N", "compare the first N batches only", NULL},
        {"max", 0, CLI_NUMBER, &max, 0, 0, "X", "differences up to X are near enough",
         "0, every value must be equal"},
        {"field", 'f', CLI_TEXT, &compare.field, 0, 0, "NAME", "compare this field only", NULL},
    };
    cli_pipeline_table(&pipeline, opts, 3);
    cli_opt_help(opts, "quiet", "no messages but errors and the result", NULL);
    int rc = cli_options(&cli_compare, opts, &argc, &argv);
    if (rc != CLI_OK) return rc < 0 ? CLI_OK : rc;
    if (argc != 2)
        return cli_fail(
            "compare", CLI_USAGE,
            "two things are compared, %d were given: put each pipeline in quotes; 'leat compare --help' "
            "shows an example",
            argc);
    leat_config config;
    rc = cli_pipeline_config(&pipeline, &config);
    if (rc != CLI_OK) return rc;
    if (!(max >= 0)) return cli_fail("compare", CLI_USAGE, "--max must be 0 or more");
    compare.n_batches = (uint64_t)batches;
    cli_progress progress = {0};
    cli_catch_signals();
    cli_progress_begin(&progress, "opening", "done", 0, pipeline.quiet);
    config.progress = cli_on_progress;
    config.log = pipeline.quiet ? NULL : cli_on_log;
    config.user = &progress;
    leat_compare_report report;
    leat_error err;
    const int failed = leat_compare(argv[0], argv[1], &compare, &config, &report, &err);
    cli_progress_end(&progress);
    if (failed == LEAT_ERR_CANCELLED) return CLI_INTERRUPTED;
    if (failed < 0) return fail(&report, &err, argv);
    return print_report(&report, max);
}

const cli_verb cli_compare = {
    .name = "compare",
    .help = "How far apart two pipelines are, or a pipeline and a folder of .npy files.",
    .synopsis = "[OPTIONS] A B",
    .about = "A and B are each a pipeline or a folder of files NNNNNN_field.npy, as 'leat run --sink "
             "npy:DIR' writes them. Compares them batch by batch: how many values of each field differ, by "
             "how much, and where the largest difference is. Shapes must be equal; types may differ.",
    .more = "Exit codes: 0 equal or near enough, 1 different or an error, 2 wrong command line.",
    .example = "  leat compare \"folder photos | decode | resize 64 64 | batch 8\" \\\n               "
               "\"folder photos | decode | resize 64 64 method=area | batch 8\"\n  leat compare \"synth | "
               "random_flip_left_right | batch 32\" made_elsewhere --max 0.001",
    .run = run,
};
