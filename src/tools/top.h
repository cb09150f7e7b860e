/* SPDX-License-Identifier: Apache-2.0 */
/* What a report for `leat top` says about the speed of its pipeline: a leat__judge_fn (run/publish.h). */
#ifndef LEAT_TOOLS_TOP_H
#define LEAT_TOOLS_TOP_H

#include "leat/leat_tools.h"

void leat__top_judge(const leat_pipeline *pipeline, int cores, leat_running *report);

#endif
