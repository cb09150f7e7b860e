/* SPDX-License-Identifier: Apache-2.0 */
/* A data set as the user names it: a path or the text of a pipeline; and which side of a split its samples are on. */
#include <stdio.h>

#include "tools/dataset.h"

bool leat__text_add(leat__buf *text, const char *words) {
    return leat__buf_append(text, words, strlen(words));
}

bool leat__text_add_quoted(leat__buf *text, const char *value) {
    bool fits = leat__text_add(text, "\"");
    for (const char *c = value; *c && fits; c++)
        fits = *c == '"' ? leat__text_add(text, "\"'\"'\"") : leat__buf_append(text, c, 1);
    return fits && leat__text_add(text, "\"");
}

bool leat__dataset_is_text(const char *dataset) {
    char word[32];
    const size_t n = strcspn(dataset, " \t\n|");
    if (strchr(dataset, '|')) return true;
    if (n >= sizeof word || dataset[n] == 0) return false;
    snprintf(word, sizeof word, "%.*s", (int)n, dataset);
    const leat__op *op = leat__op_find(word);
    return op && op->kind == LEAT_OP_SOURCE;
}

leat_config leat__tool_pipeline_config(const leat_tool_config *tool) {
    const leat__open_options open = leat__tool_open_options(tool);
    return (leat_config){.n_threads = open.n_threads,
                         .on_error = LEAT_ON_ERROR_SKIP,
                         .cache_dir = open.cache_dir,
                         .no_side_files = open.no_side_files,
                         .trust_cache = open.trust,
                         .progress = open.progress,
                         .user = open.user};
}

/* The fields of the batch, as plan functions see them. */
static void show_fields(leat__planner *planner) {
    const leat__plan *plan = planner->plan;
    planner->n_fields = plan->n_values;
    for (int i = 0; i < plan->n_outputs; i++) {
        const leat__output *out = &plan->output[i];
        planner->field[out->value] = (leat__plan_field){.info = out->field, .pass = -1};
        planner->live[out->value] = true;
    }
}

/* The tool added the operation split: its column says nothing to the user. */
static int without_column(int rc, leat_error *err) {
    if (rc == 0 || !err || err->column == 0) return rc;
    const char *colon = strstr(err->message, ": ");
    if (colon) memmove(err->message, colon + 2, strlen(colon + 2) + 1);
    err->column = 0;
    return rc;
}

int leat__dataset_split(leat__planner *planner, leat__plan *plan, leat_spec *spec, const leat_config *config,
                        const leat__open_options *open, const char *split, leat__split *sides,
                        leat_error *err) {
    leat_spec_add(spec, split);
    LEAT_TRY(without_column(leat_spec_error(spec, err), err));
    *planner = (leat__planner){.plan = plan, .spec = spec, .config = config, .open = *open};
    show_fields(planner);
    const int rc = without_column(leat__split_sides(planner, &spec->use[spec->n_uses - 1], sides, err), err);
    planner->config = NULL;
    return rc;
}
