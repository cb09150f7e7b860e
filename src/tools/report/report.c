/* SPDX-License-Identifier: Apache-2.0 */
/* leat_doctor_html: one page with everything in it. It needs no script, no network and no other file. */
#include "tools/report/report.h"

#include <time.h>

#include "base/clock.h"
#include "base/file.h"

static const char *unit_of(const leat_doctor_report *report) {
    return report->images ? "images" : "samples";
}

static void put_verdict(leat__page *page, const leat_doctor_report *report) {
    leat__page_put(page, "<p class=\"kind\">leat doctor</p>\n<h1>");
    leat__page_rate(page, report->rate);
    leat__page_putf(page, " %s/s. ", unit_of(report));
    leat__page_prose(page, report->verdict.sentence);
    leat__page_put(page, "</h1>\n");
    if (*report->verdict.remedy) {
        leat__page_put(page, "<p>");
        leat__page_prose(page, report->verdict.remedy);
        leat__page_put(page, "</p>\n");
    }
    if (report->text) {
        leat__page_put(page, "<pre>");
        leat__page_paths(page, report->text);
        leat__page_put(page, "</pre>\n");
    }
}

static void put_figures(leat__page *page, const leat_doctor_report *report) {
    const leat_stats *s = &report->stats;
    leat__page_put(page, "<div class=\"figures\">\n<div><b>");
    leat__page_rate(page, report->rate);
    leat__page_putf(page, "</b><span>%s a second</span></div>\n<div><b>", unit_of(report));
    leat__page_percent(page, report->wait);
    leat__page_put(page, "</b><span>of the time the consumer waited</span></div>\n");
    if (report->epoch_samples > 0 && report->rate > 0) {
        leat__page_put(page, "<div><b>");
        leat__page_time(page, (double)report->epoch_samples / report->rate);
        leat__page_put(page, "</b><span>an epoch of ");
        leat__page_count(page, (uint64_t)report->epoch_samples);
        leat__page_putf(page, " %s</span></div>\n", unit_of(report));
    }
    leat__page_putf(page, "<div><b>%d</b><span>thread%s, %d reader%s</span></div>\n", s->n_threads,
                    s->n_threads == 1 ? "" : "s", s->n_readers, s->n_readers == 1 ? "" : "s");
    leat__page_put(page, "<div><b>");
    leat__page_size(page, (double)s->memory_bytes);
    leat__page_put(page, "</b><span>of memory, of a budget of ");
    leat__page_size(page, (double)s->memory_max_bytes);
    leat__page_put(page, "</span></div>\n</div>\n");
}

/* ------------------------------------------------------------------------------------------ remedies */

static void put_remedy(leat__page *page, const leat_doctor_report *report, const leat_remedy *remedy) {
    leat__page_put(page, "<li><div class=\"title\">");
    if (remedy->gain > 0) {
        leat__page_put(page, "<span class=\"gain\">&times;");
        leat__page_number(page, remedy->gain, remedy->gain < 10 ? 2 : 0);
        leat__page_put(page, "</span>");
    }
    leat__page_put(page, "<b>");
    leat__page_prose(page, remedy->title);
    leat__page_put(page, "</b>");
    if (remedy->rate > 0) {
        leat__page_put(page, "<span>");
        leat__page_rate(page, remedy->rate);
        leat__page_putf(page, " %s/s</span>", unit_of(report));
    }
    leat__page_put(page, "</div>\n");
    if (*remedy->cost) {
        leat__page_put(page, "<div>Costs: ");
        leat__page_prose(page, remedy->cost);
        leat__page_put(page, "</div>\n");
    }
    if (remedy->command && *remedy->command) {
        leat__page_put(page, "<pre class=\"copy\">");
        leat__page_paths(page, remedy->command);
        leat__page_put(page, "</pre>\n");
    }
    if (*remedy->how) {
        leat__page_put(page, "<div class=\"how\">");
        leat__page_prose(page, remedy->how);
        if (remedy->spread > 0) {
            leat__page_put(page, "; the rounds differed by ");
            leat__page_percent(page, remedy->spread);
        }
        leat__page_put(page, "</div>\n");
    }
    leat__page_put(page, "</li>\n");
}

static void put_remedies(leat__page *page, const leat_doctor_report *report) {
    leat__page_section(page, "Remedies");
    if (report->n_remedies == 0) leat__page_put(page, "<p>None of those that were tried would help.</p>\n");
    else leat__page_put(page, "<ol>\n");
    for (int i = 0; i < report->n_remedies; i++) put_remedy(page, report, &report->remedies[i]);
    if (report->n_remedies) leat__page_put(page, "</ol>\n");
    if (*report->note) {
        leat__page_put(page, "<p class=\"how\">");
        leat__page_prose(page, report->note);
        leat__page_put(page, "</p>\n");
    }
    if (!page->whole_paths && report->n_remedies)
        leat__page_put(
            page,
            "<p class=\"how\">A click on a command selects all of it. Paths are shown by their last name, "
            "because reports are passed around: the output of leat doctor has them whole.</p>\n");
    leat__page_section_end(page);
}

/* ------------------------------------------------------------------------------------------- details */

static void put_row(leat__page *page, const char *name) {
    leat__page_putf(page, "</td></tr>\n<tr><th>%s</th><td class=\"n\">", name);
}

static void put_details(leat__page *page, const leat_doctor_report *report) {
    const leat_stats *s = &report->stats;
    leat__page_put(
        page, "<section><details><summary>Counters</summary>\n<table><tr><th>measured</th><td class=\"n\">");
    leat__page_time(page, report->seconds);
    put_row(page, "samples");
    leat__page_count(page, s->samples);
    put_row(page, "batches");
    leat__page_count(page, s->batches);
    put_row(page, "read");
    leat__page_size(page, (double)s->bytes_read);
    put_row(page, "written into batches");
    leat__page_size(page, (double)s->bytes_out);
    put_row(page, "processor time of the workers");
    leat__page_time(page, s->cpu_s);
    put_row(page, "workers had nothing to do");
    leat__page_time(page, s->full_s);
    put_row(page, "consumer waited");
    leat__page_time(page, s->wait_s);
    put_row(page, "first batch after");
    leat__page_time(page, s->first_batch_s);
    put_row(page, "batches in memory");
    leat__page_count(page, s->slots);
    put_row(page, "samples that the cache had");
    leat__page_count(page, s->cache_hits);
    put_row(page, "bad samples");
    leat__page_count(page, s->bad_samples);
    leat__page_put(page, "</td></tr></table></details></section>\n");
}

static void put_footer(leat__page *page) {
    const time_t now = (time_t)(leat__wall_ns() / 1000000000);
    struct tm utc = {0};
    gmtime_r(&now, &utc);
    leat__page_putf(
        page,
        "<footer>leat %s, %04d-%02d-%02d %02d:%02d UTC. This page is complete in itself: it loads "
        "nothing and runs no script.</footer>\n",
        LEAT_VERSION, utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min);
}

static int put_page(leat__page *page, const leat_doctor_report *report, const leat_html_config *config,
                    leat_error *err) {
    leat__page_put(page, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\n<meta "
                         "name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<meta "
                         "http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
                         "'unsafe-inline'; img-src data:\"/>\n<title>leat doctor</title>\n<style>\n");
    leat__page_put(page, leat__report_style);
    leat__page_put(page, "</style></head>\n<body><main>\n");
    put_verdict(page, report);
    put_figures(page, report);
    leat__report_stages(page, report);
    leat__report_ceilings(page, report);
    put_remedies(page, report);
    leat__report_waiting(page, report);
    leat__report_latency(page, report);
    leat__report_timeline(page, report);
    if (config->pictures) LEAT_TRY(leat__report_pictures(page, config->spec, config->pipeline, err));
    put_details(page, report);
    put_footer(page);
    leat__page_put(page, "</main></body></html>\n");
    return page->full ? leat__fail_memory(err, page->html.size, "a report") : 0;
}

int leat_doctor_html(const leat_doctor_report *report, const char *path, const leat_html_config *config,
                     leat_error *err) {
    const leat_html_config plain = {0};
    leat__error_clear(err);
    if (!report || !path) return leat__fail(err, LEAT_ERR_ARGUMENT, "leat_doctor_html: an argument is NULL");
    if (!config) config = &plain;
    LEAT_TRY(LEAT_CHECK_RESERVED(leat_html_config, config, err));
    if (config->pictures && !config->spec)
        return leat__fail(err, LEAT_ERR_ARGUMENT, "leat_doctor_html: pictures need the spec");
    leat__page page = {.whole_paths = config->pictures != 0};
    leat__out *out = NULL;
    int rc = leat__out_open(&out, path, err); /* before pictures are made that could not be written */
    if (rc == 0) rc = put_page(&page, report, config, err);
    if (rc == 0) rc = leat__out_write(out, page.html.data, page.html.size, err);
    if (rc == 0) rc = leat__out_commit(&out, err);
    else leat__out_abort(&out);
    leat__buf_free(&page.html);
    return rc;
}
