/* SPDX-License-Identifier: Apache-2.0 */
/* The page of `leat doctor --html`: what its parts share. report.c puts them together, report_charts.c draws stages, ceilings,
 * waiting and latency, report_timeline.c what the threads did, report_pictures.c samples before and after. */
#ifndef LEAT_TOOLS_REPORT_H
#define LEAT_TOOLS_REPORT_H

#include "leat/leat_tools.h"
#include "tools/report/page.h"

extern const char leat__report_style[]; /* CSS */

/* Each adds a section, or nothing if there is nothing to show. */
void leat__report_stages(leat__page *page, const leat_doctor_report *report);
void leat__report_ceilings(leat__page *page, const leat_doctor_report *report);
void leat__report_waiting(leat__page *page, const leat_doctor_report *report);
void leat__report_latency(leat__page *page, const leat_doctor_report *report);
void leat__report_timeline(leat__page *page, const leat_doctor_report *report);
int leat__report_pictures(leat__page *page, const leat_spec *spec, const leat_config *pipeline,
                          leat_error *err);

#endif
