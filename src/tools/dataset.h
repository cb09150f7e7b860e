/* SPDX-License-Identifier: Apache-2.0 */
/* What split and pack share: a data set as the user names it, as a text and as a plan. */
#ifndef LEAT_TOOLS_DATASET_H
#define LEAT_TOOLS_DATASET_H

#include "plan/select.h"
#include "tools/tools.h"

/* Appends words without a final 0; false without memory. */
bool leat__text_add(leat__buf *text, const char *words);
/* A value in quotes, whatever it holds: "it"'"'"s". */
bool leat__text_add_quoted(leat__buf *text, const char *value);

/* Whether it is the text of a pipeline: it has a '|', or begins with a source and its argument. */
bool leat__dataset_is_text(const char *dataset);

/* The config of a plan that a tool builds: as the tool's own, and bad samples do not stop it. */
leat_config leat__tool_pipeline_config(const leat_tool_config *tool);

/* Adds the operation `split` to the spec of a plan and tells the side of every position. The planner is left as the
 * operation saw it, for further questions. */
int leat__dataset_split(leat__planner *planner, leat__plan *plan, leat_spec *spec, const leat_config *config,
                        const leat__open_options *open, const char *split, leat__split *sides,
                        leat_error *err);

#endif
