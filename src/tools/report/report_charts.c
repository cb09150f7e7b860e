/* SPDX-License-Identifier: Apache-2.0 */
/* Charts as SVG. Widths are per cent of the page and words have the size of the page's words, so that a phone shows the same
 * chart narrower, not smaller. */
#include "tools/report/report.h"

static const char *unit_of(const leat_doctor_report *report) {
    return report->images ? "images" : "samples";
}

/* " x="12.34%"", for attributes of SVG. */
static void put_percent(leat__page *page, const char *name, double share) {
    leat__page_putf(page, " %s=\"", name);
    leat__page_number(page, share * 100, 2);
    leat__page_put(page, "%\"");
}

/* -------------------------------------------------------------------------------------------- stages */

static double stages_total(const leat_doctor_report *report) {
    double total = 0;
    for (int i = LEAT_STAGE_READ; i < LEAT_STAGE_COUNT; i++) total += report->stats.stage_s[i];
    return total;
}

static void put_stage_name(leat__page *page, int stage) {
    leat__page_putf(page, "<span class=\"swatch s%d\"></span>%s", stage, leat_stage_name(stage));
}

static void put_stage_blocks(leat__page *page, const leat_doctor_report *report, double total) {
    double at = 0;
    leat__page_put(page, "<svg class=\"pipe\" role=\"img\" aria-label=\"time of each stage\">\n");
    for (int i = LEAT_STAGE_READ; i < LEAT_STAGE_COUNT; i++) {
        const double share = report->stats.stage_s[i] / total;
        if (!(share > 0)) continue;
        leat__page_putf(page, "<rect class=\"s%d\" y=\"0\" height=\"64\"", i);
        put_percent(page, "x", at);
        put_percent(page, "width", share);
        leat__page_putf(page, "><title>%s: ", leat_stage_name(i));
        leat__page_percent(page, share);
        leat__page_put(page, "</title></rect>\n");
        if (share >= 0.25) { /* there is room on a phone too */
            leat__page_put(page, "<text class=\"on\" text-anchor=\"middle\" y=\"29\"");
            put_percent(page, "x", at + share / 2);
            leat__page_putf(page, ">%s</text>\n<text class=\"on small\" text-anchor=\"middle\" y=\"48\"",
                            leat_stage_name(i));
            put_percent(page, "x", at + share / 2);
            leat__page_put(page, ">");
            leat__page_percent(page, share);
            leat__page_put(page, "</text>\n");
        }
        at += share;
    }
    leat__page_put(page, "</svg>\n");
}

void leat__report_stages(leat__page *page, const leat_doctor_report *report) {
    const double total = stages_total(report);
    const uint64_t n = report->stats.samples;
    if (!(total > 0) || n == 0) return;
    leat__page_section(page, "Where the time goes");
    leat__page_put(page, "<p>One sample takes ");
    leat__page_time(page, total / (double)n);
    leat__page_put(page, " of a worker. The width of a stage is its part of that time.</p>\n");
    put_stage_blocks(page, report, total);
    leat__page_put(page,
                   "<table><tr><th>stage</th><th class=\"n\">a sample</th><th class=\"n\">share</th></tr>\n");
    for (int i = LEAT_STAGE_READ; i < LEAT_STAGE_COUNT; i++) {
        if (!(report->stats.stage_s[i] > 0)) continue;
        leat__page_put(page, "<tr><td>");
        put_stage_name(page, i);
        leat__page_put(page, "</td><td class=\"n\">");
        leat__page_time(page, report->stats.stage_s[i] / (double)n);
        leat__page_put(page, "</td><td class=\"n\">");
        leat__page_percent(page, report->stats.stage_s[i] / total);
        leat__page_put(page, "</td></tr>\n");
    }
    leat__page_put(page, "</table>\n");
    leat__page_section_end(page);
}

/* ------------------------------------------------------------------------------------------ ceilings */

/* Bars end here: a ceiling far above the rate need not be compared with others. */
static double scale_of(const leat_doctor_report *report) {
    enum { TIMES = 6 };
    double most = report->rate;
    for (int i = 0; i < report->n_ceilings; i++) most = LEAT_MAX(most, report->ceiling[i].rate);
    return LEAT_MIN(most, report->rate * TIMES);
}

static void put_ceiling(leat__page *page, const leat_doctor_report *report, int i, double scale) {
    const leat_ceiling *ceiling = &report->ceiling[i];
    const bool binds = i == report->binding, cut = ceiling->rate > scale;
    leat__page_putf(page, "<div class=\"bar%s\"><div class=\"name\">", binds ? " binds" : "");
    leat__page_text(page, ceiling->name);
    if (binds) leat__page_put(page, " <b>binds</b>");
    leat__page_put(page, "</div><div class=\"value\">");
    leat__page_rate(page, ceiling->rate);
    leat__page_put(page,
                   " /s</div><svg role=\"img\" aria-hidden=\"true\"><rect class=\"track\" width=\"100%\" "
                   "height=\"14\"/><rect class=\"fill\" height=\"14\"");
    put_percent(page, "width", LEAT_CLAMP(ceiling->rate / scale, 0.002, 1.0));
    leat__page_put(page, "/>");
    if (cut) /* the bar goes on */
        leat__page_put(page, "<rect class=\"cut\" x=\"94%\" width=\"4\" height=\"14\"/><rect class=\"cut\" "
                             "x=\"96.5%\" width=\"4\" height=\"14\"/>");
    leat__page_put(page, "<rect class=\"now\" width=\"2\" height=\"14\"");
    put_percent(page, "x", LEAT_CLAMP(report->rate / scale, 0.0, 0.995));
    leat__page_put(page, "/></svg>");
    if (*ceiling->how) {
        leat__page_put(page, "<div class=\"how\">");
        leat__page_prose(page, ceiling->how);
        leat__page_put(page, "</div>");
    }
    leat__page_put(page, "</div>\n");
}

void leat__report_ceilings(leat__page *page, const leat_doctor_report *report) {
    if (report->n_ceilings == 0 || !(report->rate > 0)) return;
    leat__page_section(page, "Ceilings");
    leat__page_putf(page,
                    "<p>The %s a second if there were nothing else to do. The line marks the rate now: ",
                    unit_of(report));
    leat__page_rate(page, report->rate);
    leat__page_put(page, " /s. Bars that are cut off go on.</p>\n<div class=\"bars\">\n");
    const double scale = scale_of(report);
    for (int i = 0; i < report->n_ceilings; i++) put_ceiling(page, report, i, scale);
    leat__page_put(page, "</div>\n");
    leat__page_section_end(page);
}

/* ------------------------------------------------------------------------------------------- waiting */

enum { PLOT_W = 1000, PLOT_H = 100 };

/* The area below a line of steps, one for each moment; waiting or idling. */
static void put_area(leat__page *page, const leat_doctor_report *report, bool waiting) {
    const double all = report->moments[report->n_moments - 1].at_s;
    leat__page_putf(page, "<path class=\"%s\" d=\"M0 %d", waiting ? "wait" : "idle", PLOT_H);
    for (int i = 0; i < report->n_moments; i++) {
        const leat_moment *m = &report->moments[i];
        const double share = LEAT_CLAMP(waiting ? m->wait : m->idle, 0.0, 1.0);
        leat__page_put(page, "V");
        leat__page_number(page, PLOT_H - share * PLOT_H, 1);
        leat__page_put(page, "H");
        leat__page_number(page, m->at_s / all * PLOT_W, 1);
    }
    leat__page_putf(page, "V%dZ\"/>\n", PLOT_H);
}

void leat__report_waiting(leat__page *page, const leat_doctor_report *report) {
    if (report->n_moments < 2 || !(report->moments[report->n_moments - 1].at_s > 0)) return;
    leat__page_section(page, "Waiting over time");
    leat__page_put(page, "<p>The consumer waited for batches ");
    leat__page_percent(page, report->wait);
    leat__page_put(page,
                   " of the time.</p>\n<div class=\"plot\"><div class=\"axis\"><span>100 %</span><span>0 "
                   "%</span></div>\n");
    leat__page_putf(
        page,
        "<svg viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"waiting "
        "over time\">\n<rect class=\"track\" width=\"%d\" height=\"%d\"/>\n",
        PLOT_W, PLOT_H, PLOT_W, PLOT_H);
    put_area(page, report, false);
    put_area(page, report, true);
    leat__page_put(page, "</svg>\n<div></div><div class=\"axis across\"><span>0 s</span><span>");
    leat__page_time(page, report->moments[report->n_moments - 1].at_s);
    leat__page_put(page,
                   "</span></div></div>\n<p class=\"legend\"><span class=\"swatch wait\"></span>the consumer "
                   "waited <span class=\"swatch idle\"></span>the workers had nothing to do</p>\n");
    leat__page_section_end(page);
}

/* ------------------------------------------------------------------------------------------- latency */

/* Upper end of the class in which so large a part of the batches has come. */
static double latency_of(const leat_doctor_report *report, double share, uint64_t total) {
    uint64_t so_far = 0;
    for (int i = 0; i < LEAT_LATENCY_COUNT; i++) {
        so_far += report->latency.count[i];
        if ((double)so_far >= share * (double)total) return (double)(UINT64_C(2) << i) * 1e-6;
    }
    return 0;
}

static void put_columns(leat__page *page, const leat_doctor_report *report, int first, int last) {
    enum { HEIGHT = 110, LABELS = 5 };
    const int n = last - first + 1, every = (n + LABELS - 1) / LABELS;
    uint64_t most = 1;
    for (int i = first; i <= last; i++) most = LEAT_MAX(most, report->latency.count[i]);
    leat__page_put(page, "<svg class=\"columns\" role=\"img\" aria-label=\"histogram of latency\">\n");
    for (int i = first; i <= last; i++) {
        const double height = (double)report->latency.count[i] / (double)most * HEIGHT;
        const int shown = report->latency.count[i] ? LEAT_MAX((int)height, 2) : 0;
        leat__page_putf(page, "<rect class=\"fill\" y=\"%d\" height=\"%d\"", HEIGHT - shown, shown);
        put_percent(page, "x", (i - first + 0.06) / n);
        put_percent(page, "width", 0.88 / n);
        leat__page_put(page, "><title>below ");
        leat__page_time(page, (double)(UINT64_C(2) << i) * 1e-6);
        leat__page_put(page, ": ");
        leat__page_count(page, report->latency.count[i]);
        leat__page_put(page, "</title></rect>\n");
        if ((i - first) % every) continue;
        leat__page_putf(page, "<text class=\"small\" text-anchor=\"middle\" y=\"%d\"", HEIGHT + 18);
        put_percent(page, "x", (i - first + 0.5) / n);
        leat__page_put(page, ">");
        leat__page_time(page, (double)(UINT64_C(2) << i) * 1e-6);
        leat__page_put(page, "</text>\n");
    }
    leat__page_put(page, "</svg>\n");
}

void leat__report_latency(leat__page *page, const leat_doctor_report *report) {
    int first = -1, last = -1;
    uint64_t total = 0;
    for (int i = 0; i < LEAT_LATENCY_COUNT; i++) {
        if (report->latency.count[i] == 0) continue;
        if (first < 0) first = i;
        last = i;
        total += report->latency.count[i];
    }
    if (total == 0) return;
    /* A single column says nothing of what lies beside it. */
    first = LEAT_MAX(LEAT_MIN(first, last - 5), 0);
    last = LEAT_MAX(last, LEAT_MIN(first + 5, LEAT_LATENCY_COUNT - 1));
    leat__page_section(page, "How long a batch is waited for");
    leat__page_put(page, "<p>Of ");
    leat__page_count(page, total);
    leat__page_put(page, " batches half came in less than ");
    leat__page_time(page, latency_of(report, 0.5, total));
    leat__page_put(page, ", and 99 % in less than ");
    leat__page_time(page, latency_of(report, 0.99, total));
    leat__page_put(page, ". Each column stands for twice the time of the one before.</p>\n");
    put_columns(page, report, first, last);
    leat__page_section_end(page);
}
