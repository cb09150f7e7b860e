/* SPDX-License-Identifier: Apache-2.0 */
/* The counters of a pipeline as JSON, with the names that Dataset.stats() has in Python. */
#include <stdlib.h>

#include "opened.h"

enum { WORKERS_MAX = 256 };

static void print_stages(FILE *f, const double *stage_s) {
    fprintf(f, "\"stages\": {");
    for (int i = LEAT_STAGE_READ; i < LEAT_STAGE_COUNT; i++)
        fprintf(f, "%s\"%s\": %.6f", i > LEAT_STAGE_READ ? ", " : "", leat_stage_name(i), stage_s[i]);
    fprintf(f, "}");
}

void cli_print_latency(const leat_latency *latency) {
    printf("\"latency\": {\"mean_s\": %.9f, \"max_s\": %.9f, \"below_s\": [",
           latency->batches ? latency->sum_s / (double)latency->batches : 0, latency->max_s);
    double below_s = 2e-6;
    const char *between = "";
    for (int i = 0; i < LEAT_LATENCY_COUNT; i++, below_s *= 2) {
        if (latency->count[i] == 0) continue;
        printf("%s[%g, %" PRIu64 "]", between, below_s, latency->count[i]);
        between = ", ";
    }
    printf("]}");
}

static void print_workers(const leat_pipeline *pipeline) {
    leat_worker_stats *workers = calloc(WORKERS_MAX, sizeof *workers);
    const int n = leat_pipeline_workers(pipeline, workers, WORKERS_MAX);
    printf("\"workers\": [");
    for (int i = 0; workers && i < n && i < WORKERS_MAX; i++) {
        const leat_worker_stats *w = &workers[i];
        printf("%s\n      {\"samples\": %" PRIu64 ", \"bytes_read\": %" PRIu64
               ", \"cpu_s\": %.6f, \"idle_s\": %.6f, \"read_wait_s\": %.6f, \"queue_s\": %.6f, ",
               i ? "," : "", w->samples, w->bytes_read, w->cpu_s, w->idle_s, w->read_wait_s, w->queue_s);
        print_stages(stdout, w->stage_s);
        printf("}");
    }
    printf("]");
    free(workers);
}

void cli_print_stats(FILE *f, const leat_stats *s, const char *between) {
    const struct {
        const char *name;
        uint64_t count;
    } counts[] = {{"samples", s->samples},
                  {"samples_made", s->samples_made},
                  {"batches", s->batches},
                  {"bytes_read", s->bytes_read},
                  {"bytes_out", s->bytes_out},
                  {"bad_samples", s->bad_samples},
                  {"slots", s->slots},
                  {"slots_added", s->slots_added},
                  {"slots_max", (uint64_t)s->slots_max},
                  {"retries", s->retries},
                  {"threads", (uint64_t)s->n_threads},
                  {"readers", (uint64_t)s->n_readers},
                  {"shards", (uint64_t)s->shards},
                  {"grown", s->grown},
                  {"read_ahead", s->read_ahead},
                  {"memory_bytes", s->memory_bytes},
                  {"memory_max_bytes", s->memory_max_bytes},
                  {"cache_hits", s->cache_hits},
                  {"cache_misses", s->cache_misses},
                  {"cache_bad", s->cache_bad},
                  {"cache_bytes", s->cache_bytes},
                  {"tuned", s->tuned}};
    const struct {
        const char *name;
        double seconds;
    } times[] = {{"open_s", s->open_s},
                 {"first_batch_s", s->first_batch_s},
                 {"wait_s", s->wait_s},
                 {"full_s", s->full_s},
                 {"slots_full_s", s->slots_full_s},
                 {"cpu_s", s->cpu_s},
                 {"read_wait_s", s->read_wait_s},
                 {"queue_s", s->queue_s},
                 {"readers_s", s->readers_s},
                 {"readers_wait_s", s->readers_wait_s},
                 {"tuned_s", s->tuned_s}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        fprintf(f, "\"%s\": %" PRIu64 ",%s", counts[i].name, counts[i].count, between);
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        fprintf(f, "\"%s\": %.6f,%s", times[i].name, times[i].seconds, between);
    print_stages(f, s->stage_s);
}

void cli_print_counters(const leat_pipeline *pipeline) {
    leat_stats s;
    char tuning[200];
    leat_pipeline_stats(pipeline, &s);
    leat_pipeline_tuning(pipeline, tuning, sizeof tuning);
    printf("{\n    \"tuning\": ");
    cli_json_string(stdout, tuning);
    printf(",\n    ");
    cli_print_stats(stdout, &s, "\n    ");
    printf(",\n    ");
    leat_latency latency;
    leat_pipeline_latency(pipeline, &latency);
    cli_print_latency(&latency);
    printf(",\n    ");
    print_workers(pipeline);
    printf("\n  }");
}
