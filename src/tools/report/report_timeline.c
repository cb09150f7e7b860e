/* SPDX-License-Identifier: Apache-2.0 */
/* What each thread did in the last moments of the measurement, from the trace. */
#include "tools/report/report.h"

enum { WIDTH = 10000, HEIGHT = 20, WORKERS = 16, READERS = 8, SAMPLES = 60, SAMPLES_MAX = 150, BATCHES = 3 };

typedef struct span {
    uint64_t begin_ns, end_ns;
} span;

static bool is_consumer(const leat_event *event) {
    return event->kind == LEAT_EVENT_WAIT || event->kind == LEAT_EVENT_STEP;
}

/* So long a time that a worker has about SAMPLES in it, and the consumer some batches, unless that were too many samples. */
static span choose_span(const leat_doctor_report *report) {
    uint64_t first = UINT64_MAX, last = 0, samples = 0, batches = 0;
    int workers = 1;
    for (uint64_t i = 0; i < report->n_events; i++) {
        const leat_event *event = &report->events[i];
        first = LEAT_MIN(first, event->begin_ns);
        last = LEAT_MAX(last, event->end_ns);
        samples += event->kind == LEAT_EVENT_SAMPLE;
        batches += event->kind == LEAT_EVENT_WAIT;
        if (event->kind == LEAT_EVENT_SAMPLE) workers = LEAT_MAX(workers, event->thread + 1);
    }
    if (samples == 0 || last <= first) return (span){0};
    const double all = (double)(last - first), one = all * workers / (double)samples;
    const double some = BATCHES * all / (double)LEAT_MAX(batches, (uint64_t)1);
    const double length = LEAT_MIN(LEAT_MAX(SAMPLES * one, LEAT_MIN(some, SAMPLES_MAX * one)), all);
    return (span){last - (uint64_t)length, last};
}

static uint64_t to_x(const span *shown, uint64_t ns) {
    const uint64_t at = LEAT_CLAMP(ns, shown->begin_ns, shown->end_ns) - shown->begin_ns;
    return (uint64_t)((double)at / (double)(shown->end_ns - shown->begin_ns) * WIDTH);
}

static void put_block(leat__page *page, const span *shown, uint64_t begin_ns, uint64_t end_ns) {
    const uint64_t x = to_x(shown, begin_ns), end = to_x(shown, end_ns);
    if (end > x) leat__page_putf(page, "M%" PRIu64 " 0h%" PRIu64 "v%dH%" PRIu64 "z", x, end - x, HEIGHT, x);
}

/* Whether the event belongs to the row of that kind of thread. */
static bool in_row(const leat_event *event, int kind, int thread) {
    if (kind == LEAT_EVENT_WAIT) return is_consumer(event);
    if (kind == LEAT_EVENT_READ) return event->kind == LEAT_EVENT_READ && event->thread == thread;
    return event->kind != LEAT_EVENT_READ && !is_consumer(event) && event->thread == thread;
}

/* The blocks of one colour in one row: a stage of samples, or events of a kind. */
static void put_blocks(leat__page *page, const leat_doctor_report *report, const span *shown, int row,
                       int thread, int kind, int stage, const char *class) {
    leat__page_putf(page, "<path class=\"%s\" d=\"", class);
    for (uint64_t i = 0; i < report->n_events; i++) {
        const leat_event *event = &report->events[i];
        if (event->kind != kind || !in_row(event, row, thread) || event->end_ns <= shown->begin_ns) continue;
        uint64_t begin = event->begin_ns, end = event->end_ns;
        if (kind == LEAT_EVENT_SAMPLE) {
            for (int k = LEAT_STAGE_READ; k < stage; k++) begin += event->stage_ns[k];
            end = LEAT_MIN(begin + event->stage_ns[stage], event->end_ns);
        }
        put_block(page, shown, begin, end);
    }
    leat__page_put(page, "\"/>");
}

static void put_row(leat__page *page, const leat_doctor_report *report, const span *shown, int row,
                    int thread) {
    if (row == LEAT_EVENT_WAIT) leat__page_put(page, "<div>consumer</div>");
    else leat__page_putf(page, "<div>%s %d</div>", row == LEAT_EVENT_READ ? "reader" : "worker", thread);
    leat__page_putf(page,
                    "<svg viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect "
                    "class=\"track\" width=\"%d\" height=\"%d\"/>",
                    WIDTH, HEIGHT, WIDTH, HEIGHT);
    if (row == LEAT_EVENT_WAIT) {
        put_blocks(page, report, shown, row, 0, LEAT_EVENT_STEP, 0, "step");
        put_blocks(page, report, shown, row, 0, LEAT_EVENT_WAIT, 0, "wait");
    } else if (row == LEAT_EVENT_READ) {
        put_blocks(page, report, shown, row, thread, LEAT_EVENT_READ, 0, "s1");
    } else {
        for (int i = LEAT_STAGE_READ; i < LEAT_STAGE_COUNT; i++) {
            char class[8] = {'s', (char)('0' + i)};
            put_blocks(page, report, shown, row, thread, LEAT_EVENT_SAMPLE, i, class);
        }
        put_blocks(page, report, shown, row, thread, LEAT_EVENT_FINISH, 0, "finish");
        put_blocks(page, report, shown, row, thread, LEAT_EVENT_IDLE, 0, "idle");
    }
    leat__page_put(page, "</svg>\n");
}

static void put_legend(leat__page *page, const leat_doctor_report *report) {
    leat__page_put(page, "<p class=\"legend\">");
    for (int i = LEAT_STAGE_READ; i < LEAT_STAGE_COUNT; i++)
        if (report->stats.stage_s[i] > 0)
            leat__page_putf(page, "<span class=\"swatch s%d\"></span>%s ", i, leat_stage_name(i));
    leat__page_put(page,
                   "<span class=\"swatch idle\"></span>nothing to do <span class=\"swatch wait\"></span>the "
                   "consumer waits <span class=\"swatch step\"></span>it works</p>\n");
}

void leat__report_timeline(leat__page *page, const leat_doctor_report *report) {
    const span shown = choose_span(report);
    if (shown.end_ns == 0) return;
    int workers = 0, readers = 0;
    for (uint64_t i = 0; i < report->n_events; i++) {
        const leat_event *event = &report->events[i];
        if (event->end_ns <= shown.begin_ns || is_consumer(event)) continue;
        int *most = event->kind == LEAT_EVENT_READ ? &readers : &workers;
        *most = LEAT_MAX(*most, event->thread + 1);
    }
    leat__page_section(page, "What the threads did");
    leat__page_put(page, "<p>The last ");
    leat__page_time(page, (double)(shown.end_ns - shown.begin_ns) * 1e-9);
    leat__page_put(page,
                   " of a short run with a trace. Where a line is empty, the thread waited for a processor "
                   "or for a lock. The stages of a sample are drawn one behind the other; decoding and "
                   "transforming take turns in fact.</p>\n<div class=\"threads\">\n");
    put_row(page, report, &shown, LEAT_EVENT_WAIT, 0);
    for (int i = 0; i < LEAT_MIN(workers, (int)WORKERS); i++)
        put_row(page, report, &shown, LEAT_EVENT_SAMPLE, i);
    for (int i = 0; i < LEAT_MIN(readers, (int)READERS); i++)
        put_row(page, report, &shown, LEAT_EVENT_READ, i);
    leat__page_put(page, "</div>\n");
    if (workers > WORKERS || readers > READERS)
        leat__page_putf(page, "<p class=\"how\">%d workers and %d readers more are not shown.</p>\n",
                        LEAT_MAX(workers - WORKERS, 0), LEAT_MAX(readers - READERS, 0));
    put_legend(page, report);
    leat__page_section_end(page);
}
