/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

typedef struct split_output {
    cli_progress progress; /* first: it is the user of the progress callback as well */
    bool json, quiet;
    uint64_t last; /* content printed last                    */
    uint64_t n;
    char *text; /* leaks, which are printed after the counts */
    size_t length;
    FILE *list;
} split_output;

/* A path may hold line breaks and escape codes; a terminal must not obey them. */
static void print_name(FILE *f, const char *name) {
    for (const unsigned char *c = (const unsigned char *)name; *c; c++)
        fputc(*c < 32 || *c == 127 ? '?' : *c, f);
}

static int on_leak(void *user, const leat_split_leak *leak) {
    split_output *out = user;
    const bool first = out->n == 0 || leak->content != out->last;
    if (out->json) {
        fprintf(out->list, "%s{\"part\": \"%s\", \"sample\": %" PRIu64 ", \"name\": ",
                first ? (out->n ? "], [" : "[") : ", ", leat_split_part(leak->part), leak->sample);
        cli_json_string(out->list, leak->name);
        fputc('}', out->list);
    } else {
        fprintf(out->list, "%s  %-11s ", first && out->n ? "\n" : "", leat_split_part(leak->part));
        print_name(out->list, leak->name);
        fputc('\n', out->list);
    }
    out->last = leak->content;
    out->n++;
    return cli_interrupted();
}

static void print_json(const split_output *out, const leat_split_report *report) {
    printf("{\"parts\": {");
    for (int i = 0; i < report->n_parts; i++)
        printf("%s\"%s\": %" PRIu64, i ? ", " : "", leat_split_part(i), report->n[i]);
    printf("}, \"left_out\": %" PRIu64 ", \"bad\": %" PRIu64 ", \"classes\": [", report->n_left_out,
           report->n_bad);
    for (uint64_t c = 0; c < report->n_classes; c++) {
        const leat_split_class *one = &report->classes[c];
        printf("%s{\"label\": %" PRId64 ", \"name\": ", c ? ", " : "", one->label);
        if (one->name[0]) cli_json_string(stdout, one->name);
        else printf("null");
        for (int i = 0; i < report->n_parts; i++) printf(", \"%s\": %" PRIu64, leat_split_part(i), one->n[i]);
        printf("}");
    }
    printf("], \"leaks\": [%s%s]}\n", out->text, out->n ? "]" : "");
}

static void print_counts(const leat_split_report *report) {
    int width = 5;
    for (uint64_t c = 0; c < report->n_classes; c++) {
        const int n = (int)strlen(report->classes[c].name);
        if (n > width) width = n;
    }
    printf("%s%-*s", cli_bold(stdout), width, "");
    for (int i = 0; i < report->n_parts; i++) printf(" %12s", leat_split_part(i));
    printf("%s\n", cli_plain(stdout));
    for (uint64_t c = 0; c < report->n_classes; c++) {
        const leat_split_class *one = &report->classes[c];
        if (one->name[0]) printf("%-*s", width, one->name);
        else printf("%-*" PRId64, width, one->label);
        for (int i = 0; i < report->n_parts; i++) printf(" %12s", cli_count(one->n[i]));
        putchar('\n');
    }
    printf("%-*s", width, "all");
    for (int i = 0; i < report->n_parts; i++) printf(" %12s", cli_count(report->n[i]));
    putchar('\n');
    if (report->n_left_out)
        printf("%s are on no side: fractions come to less than 1\n", cli_count(report->n_left_out));
    if (report->n_bad) printf("%s cannot be read: 'leat check' names them\n", cli_count(report->n_bad));
}

static void print_leaks(const split_output *out, const leat_split_report *report) {
    if (report->n_leaks == 0) {
        printf("%sno content lies on more than one side%s\n", cli_green(stdout), cli_plain(stdout));
        return;
    }
    printf("%s%s content%s on more than one side, %s samples:%s\n%s", cli_red(stdout),
           cli_count(report->n_leaks), report->n_leaks > 1 ? "s lie" : " lies", cli_count(report->n_leaked),
           cli_plain(stdout), out->text);
}

static int split(const char *dataset, const leat_split_config *config, split_output *out,
                 const leat_tool_config *tool) {
    leat_split_report report;
    leat_error err;
    out->list = open_memstream(&out->text, &out->length);
    if (!out->list) return cli_fail("split", CLI_FAILED, "there is no memory");
    cli_catch_signals();
    cli_progress_begin(&out->progress, "looking at samples", "", 0, out->quiet);
    const int rc = leat_split(dataset, config, on_leak, out, &report, tool, &err);
    cli_progress_end(&out->progress);
    fclose(out->list);
    int code = CLI_OK;
    if (rc < 0) {
        code = cli_fail_error("split", &err, NULL);
    } else {
        if (out->json) print_json(out, &report);
        else print_counts(&report);
        if (!out->json && !config->no_leaks) print_leaks(out, &report);
        code = report.n_leaks ? CLI_FAILED : CLI_OK;
        leat_split_free(&report);
    }
    free(out->text);
    return code;
}

static int run(int argc, char **argv) {
    bool json = false, stratify = false, no_leaks = false;
    int64_t seed = -1;
    leat_split_config config = {0};
    cli_tool_options tool = {0};
    cli_opt opts[CLI_TOOL_OPTIONS + 11] = {
        {"fractions", 'f', CLI_TEXT, &config.fractions, 0, 0, "A,B,C", "of train, validation, test",
         "0.8,0.2"},
        {"by", 'b', CLI_TEXT, &config.by, 0, 0, "RULE", "random, hash, order, keras_first or keras_last",
         "random"},
        {"group", 'g', CLI_TEXT, &config.group, 0, 0, "FIELD",
         "equal values of it stay on one side; dir: files of one folder do", NULL},
        {"stratify", 0, CLI_FLAG, &stratify, 0, 0, NULL, "keep the shares in every class", NULL},
        {"seed", 0, CLI_INT, &seed, 0, INT64_MAX, "N",
         "of random and hash; keras_last shuffles only if it is given", "0"},
        {"label", 0, CLI_TEXT, &config.label, 0, 0, "FIELD", "the classes", "label"},
        {"image", 0, CLI_TEXT, &config.image, 0, 0, "FIELD", "what is compared", "image"},
        {"write", 'w', CLI_TEXT, &config.write, 0, 0, "DIR",
         "write DIR/train.csv, DIR/validation.csv, ... which 'list' reads", NULL},
        {"no-leaks", 0, CLI_FLAG, &no_leaks, 0, 0, NULL,
         "only count, read nothing that counting does not need", NULL},
        {"json", 0, CLI_FLAG, &json, 0, 0, NULL, "one JSON object: counts, and a list of leaks", NULL},
    };
    cli_tool_table(&tool, opts, 10);
    const int rc = cli_options(&cli_split, opts, &argc, &argv);
    if (rc) return rc < 0 ? CLI_OK : rc;
    if (argc != 1)
        return cli_fail("split", CLI_USAGE,
                        argc ? "one data set at a time: a pipeline is one word in quotes"
                             : "which data set? 'leat split --help' shows an example");
    config.stratify = stratify;
    config.no_leaks = no_leaks;
    config.seeded = seed >= 0;
    config.seed = seed >= 0 ? (uint64_t)seed : 0;
    split_output out = {.json = json, .quiet = tool.quiet};
    const leat_tool_config tool_config = cli_tool_config(&tool, &out.progress);
    return split(argv[0], &config, &out, &tool_config);
}

const cli_verb cli_split = {
    .name = "split",
    .help = "Count the classes of train, validation and test, and find content that lies on two sides.",
    .synopsis = "[OPTIONS] DATASET",
    .about = "Splits a data set as the operation 'split' does, prints how many samples of each class are on "
             "each side, and reads everything once to find leaks: equal content on more than one side. The "
             "exit code is 1 if there are any. DATASET is a folder of images, a .csv list, TFRecord files "
             "(image:bytes and label:int64 are parsed), or a pipeline up to before decode.",
    .example = "  leat split photos --fractions 0.8,0.1,0.1 --stratify --write lists\n  leat run \"list "
               "lists/train.csv | shuffle | decode | resize 224 224 | batch 64\"\n  leat split \"tfrecord "
               "scans-*.tfrecord | parse image:bytes label:int64 patient:int64\" --group patient",
    .run = run,
};
