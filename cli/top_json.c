/* SPDX-License-Identifier: Apache-2.0 */
#include "opened.h"
#include "top.h"

static void print_text(FILE *f, const char *name, const char *text) {
    fprintf(f, ", \"%s\": ", name);
    cli_json_string(f, text);
}

static void print_counters(FILE *f, const char *name, const leat_stats *s) {
    fprintf(f, ", \"%s\": {", name);
    cli_print_stats(f, s, " ");
    fputc('}', f);
}

void top_json(FILE *f, const leat_running *r) {
    fprintf(f, "{\"pid\": %" PRId64 ", \"id\": %" PRIu64 ", \"sequence\": %" PRIu64, r->pid, r->id,
            r->sequence);
    print_text(f, "program", r->program);
    print_text(f, "name", r->name);
    print_text(f, "what", r->what);
    fprintf(f, ", \"age_s\": %.3f, \"open_s\": %.3f, \"recent_s\": %.3f", r->age_s, r->open_s, r->recent_s);
    fprintf(f, ", \"samples_per_s\": %.6g, \"waiting\": %.4f, \"idle\": %.4f", top_rate(r), top_waiting(r),
            top_idle(r));
    fprintf(f, ", \"epoch\": %" PRIu64 ", \"position\": %" PRIu64 ", \"samples_per_epoch\": ", r->epoch,
            r->position);
    if (r->n_samples < 0) fputs("null", f);
    else fprintf(f, "%" PRId64, r->n_samples);
    print_text(f, "tuning", r->tuning);
    print_text(f, "verdict", r->verdict);
    print_text(f, "remedy", r->remedy);
    print_counters(f, "total", &r->total);
    print_counters(f, "recent", &r->recent);
    fputc('}', f);
}
