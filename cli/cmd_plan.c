/* SPDX-License-Identifier: Apache-2.0 */
/* leat plan: what would run. */
#include <stdlib.h>

#include "opened.h"

static int print_plan(cli_opened *on) {
    const size_t n = leat_pipeline_plan(on->pipeline, NULL, 0);
    char *text = malloc(n + 1);
    if (!text) return cli_fail("plan", CLI_FAILED, "no memory");
    leat_pipeline_plan(on->pipeline, text, n + 1);
    for (const char *line = text; *line;) { /* the first word of a line is its title */
        const char *end = line;
        while (*end && *end != '\n') end++;
        const int head = *line == ' ' || end - line < 10 ? 0 : 10;
        printf("%s%.*s%s%.*s\n", head ? cli_bold(stdout) : "", head, line, head ? cli_plain(stdout) : "",
               (int)(end - line) - head, line + head);
        line = *end ? end + 1 : end;
    }
    free(text);
    return CLI_OK;
}

static int run(int argc, char **argv) {
    cli_opened on = {0};
    cli_pipeline_options pipeline = {0};
    cli_opt opts[CLI_PIPELINE_OPTIONS + 1];
    cli_pipeline_table(&pipeline, opts, 0);
    int rc = cli_options(&cli_plan, opts, &argc, &argv);
    if (rc != CLI_OK) return rc < 0 ? CLI_OK : rc;
    rc = cli_opened_text(&on, "plan", argc, argv);
    if (rc == CLI_OK) rc = cli_pipeline_config(&pipeline, &on.config);
    if (rc != CLI_OK) return rc;
    cli_catch_signals();
    pipeline.quiet = true; /* the first line of the plan says what the source is */
    rc = cli_opened_open(&on, &pipeline);
    if (rc == CLI_OK) rc = print_plan(&on);
    cli_opened_close(&on);
    return rc;
}

const cli_verb cli_plan = {
    .name = "plan",
    .help = "Show what a pipeline will do: steps, what was fused, shapes, memory.",
    .synopsis = "[OPTIONS] \"PIPELINE\"",
    .about =
        "Opens the pipeline and prints what would run, without running it: the source, the order, every step "
        "and what was fused into it, the fields of a sample, the batch, memory, threads and the seed.",
    .example =
        "  leat plan \"folder photos/train | decode | resize 224 224 | normalize imagenet | batch 64\"",
    .run = run,
};
