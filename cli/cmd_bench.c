/* SPDX-License-Identifier: Apache-2.0 */
/* leat bench: how fast a pipeline is, where the time goes, and what to try.
 *
 * After a warm-up the consumer takes batches and throws them away. With --roofline the pipeline and the bare
 * loop take turns in short slices, because the machine they share is never equally fast for long: each slice
 * is compared with the one beside it, and medians are reported. */
#include <math.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "opened.h"

enum { ROUNDS_MIN = 3, ROUNDS_MAX = 9, FILL_SECONDS = 60 };

typedef struct bench {
    cli_opened on;
    cli_pipeline_options pipeline;
    double seconds, step_ms;
    bool roofline, json;
    int rounds;
    double rate[ROUNDS_MAX], roof_rate[ROUNDS_MAX], ratios[ROUNDS_MAX];
    leat_roofline roof;
    /* Sums over the slices. */
    double wall_s, wait_s, full_s, cpu_s, read_wait_s, queue_s, stage_s[LEAT_STAGE_COUNT];
    uint64_t samples, batches, bytes_read, bytes_out;
    double samples_per_s, roof_per_s, ratio; /* medians when there are several slices */
    double peak_rss;
    leat_stats last;
} bench;

static double median(const double *x, int n) {
    double sorted[ROUNDS_MAX];
    for (int i = 0; i < n; i++) {
        int k = i;
        for (; k > 0 && sorted[k - 1] > x[i]; k--) sorted[k] = sorted[k - 1];
        sorted[k] = x[i];
    }
    return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

/* The kernel's peak would count the files that the bare loop keeps in memory: once that has run, take what is
 * there now. */
static void note_rss(bench *b, bool loop_has_run) {
    struct rusage usage;
    double bytes = 0;
    unsigned long pages;
    if (!loop_has_run && getrusage(RUSAGE_SELF, &usage) == 0) bytes = (double)usage.ru_maxrss * 1024;
    FILE *f = loop_has_run ? fopen("/proc/self/statm", "r") : NULL;
    if (f && fscanf(f, "%*u %lu", &pages) == 1) bytes = (double)pages * (double)sysconf(_SC_PAGESIZE);
    if (f) fclose(f);
    if (bytes > b->peak_rss) b->peak_rss = bytes;
}

/* On a terminal, what is going on now. */
static void say(const bench *b, const char *what, double rate) {
    if (b->pipeline.quiet || b->json || !isatty(STDERR_FILENO)) return;
    fprintf(stderr, "\r\033[K%s", what);
    if (rate > 0)
        fprintf(stderr, ": %s %s/s", cli_count((uint64_t)rate), b->on.images ? "images" : "samples");
    fflush(stderr);
}

static void unsay(const bench *b) {
    if (!b->pipeline.quiet && !b->json && isatty(STDERR_FILENO)) fputs("\r\033[K", stderr);
}

/* ------------------------------------------------------------------------------------------- slices */

static int take_one(bench *b, uint64_t *samples) {
    leat_batch batch;
    const int rc = leat_pipeline_next(b->on.pipeline, &batch, &b->on.err);
    if (rc == LEAT_END) {
        unsay(b);
        return cli_fail("bench", CLI_FAILED, "the pipeline ended: nothing is left to measure");
    }
    if (rc == LEAT_ERR_CANCELLED && cli_interrupted()) return CLI_INTERRUPTED;
    if (rc < 0) {
        unsay(b);
        return cli_opened_fail(&b->on);
    }
    if (samples) *samples += (uint64_t)batch.n;
    if (b->step_ms > 0) {
        const struct timespec step = {.tv_sec = (time_t)(b->step_ms / 1000),
                                      .tv_nsec = (long)(fmod(b->step_ms, 1000) * 1e6)};
        nanosleep(&step, NULL);
    }
    leat_batch_release(&batch);
    return cli_interrupted() ? CLI_INTERRUPTED : CLI_OK;
}

/* Batches finished before the clock started would inflate the rate: drop them. */
static int drain(bench *b) {
    leat_stats stats;
    leat_pipeline_stats(b->on.pipeline, &stats);
    for (uint64_t i = 0; i <= stats.slots; i++) {
        const int rc = take_one(b, NULL);
        if (rc != CLI_OK) return rc;
    }
    return CLI_OK;
}

static int warm_up(bench *b) {
    const int64_t epoch = leat_pipeline_samples(b->on.pipeline);
    const double until = cli_now() + 1;
    uint64_t samples = 0;
    leat_stats stats = {0};
    /* A cache is measured when it has what it can keep, unless that takes too long. */
    while ((cli_now() < until || (stats.cache_misses > 0 && cli_now() < until + FILL_SECONDS)) &&
           (epoch < 0 || samples < (uint64_t)epoch)) {
        const int rc = take_one(b, &samples);
        if (rc != CLI_OK) return rc;
        leat_pipeline_stats(b->on.pipeline, &stats);
    }
    return drain(b);
}

/* From one hand-over to another: whole batches only. */
static int run_slice(bench *b, double seconds, double *rate) {
    leat_stats from, to;
    uint64_t samples = 0;
    leat_pipeline_stats(b->on.pipeline, &from);
    const double begin = cli_now();
    double now = begin, said = begin;
    do {
        const int rc = take_one(b, &samples);
        if (rc != CLI_OK) return rc;
        now = cli_now();
        if (now - said < 0.2) continue;
        said = now;
        say(b, "measuring the pipeline", (double)samples / (now - begin));
    } while (now - begin < seconds);
    leat_pipeline_stats(b->on.pipeline, &to);
    *rate = (double)samples / (now - begin);
    b->wall_s += now - begin;
    b->samples += samples;
    b->batches += to.batches - from.batches;
    b->bytes_read += to.bytes_read - from.bytes_read;
    b->bytes_out += to.bytes_out - from.bytes_out;
    b->wait_s += to.wait_s - from.wait_s;
    b->full_s += to.full_s - from.full_s;
    b->cpu_s += to.cpu_s - from.cpu_s;
    b->read_wait_s += to.read_wait_s - from.read_wait_s;
    b->queue_s += to.queue_s - from.queue_s;
    for (int i = 0; i < LEAT_STAGE_COUNT; i++) b->stage_s[i] += to.stage_s[i] - from.stage_s[i];
    b->last = to;
    note_rss(b, b->roof.samples > 0);
    return CLI_OK;
}

static double process_cpu(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Waits until the workers have filled the ring and sleep, so that they take no time from the bare loop. */
static void wait_for_rest(void) {
    const struct timespec pause = {.tv_nsec = 20000000};
    for (int i = 0, calm = 0; i < 1000 && calm < 2 && !cli_interrupted(); i++) {
        const double before = process_cpu();
        nanosleep(&pause, NULL);
        calm = process_cpu() - before < 0.004 ? calm + 1 : 0;
    }
}

/* Only stops: the loop's own progress is of no interest beside the pipeline's. */
static int on_roof_progress(void *user, const char *what, uint64_t done, uint64_t total) {
    (void)user, (void)what, (void)done, (void)total;
    return cli_interrupted();
}

static int measure_roof(bench *b, double seconds, double *rate) {
    leat_config config = b->on.config;
    config.progress = on_roof_progress;
    config.log = NULL;
    wait_for_rest();
    say(b, "measuring the ceiling", 0);
    const int rc = leat_roofline_measure(&b->roof, b->on.spec, &config, seconds, &b->on.err);
    if (rc == LEAT_ERR_CANCELLED) return CLI_INTERRUPTED;
    if (rc < 0) {
        unsay(b);
        return cli_fail_error("bench", &b->on.err, b->on.text);
    }
    *rate = b->roof.samples_per_s;
    return CLI_OK;
}

static int measure(bench *b) {
    int rc = warm_up(b);
    if (!b->roofline) {
        b->rounds = 1;
        if (rc == CLI_OK) rc = run_slice(b, b->seconds, &b->samples_per_s);
        return rc;
    }
    b->rounds = b->seconds < ROUNDS_MIN   ? ROUNDS_MIN
                : b->seconds > ROUNDS_MAX ? ROUNDS_MAX
                                          : (int)b->seconds | 1;
    const double slice = b->seconds / b->rounds;
    for (int i = 0; i < b->rounds && rc == CLI_OK; i++) {
        if (i > 0) rc = drain(b);
        if (rc == CLI_OK) rc = run_slice(b, slice, &b->rate[i]);
        if (rc == CLI_OK) rc = measure_roof(b, slice, &b->roof_rate[i]);
        if (rc == CLI_OK) b->ratios[i] = b->rate[i] / b->roof_rate[i];
    }
    if (rc != CLI_OK) return rc;
    b->samples_per_s = median(b->rate, b->rounds);
    b->roof_per_s = median(b->roof_rate, b->rounds);
    b->ratio = median(b->ratios, b->rounds);
    return rc;
}

/* ------------------------------------------------------------------------------------------ for people */

static double share(double part, double whole) {
    const double x = whole > 0 ? part / whole : 0;
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

static double stages_total(const bench *b) {
    double total = 0;
    for (int i = LEAT_STAGE_READ; i < LEAT_STAGE_COUNT; i++) total += b->stage_s[i];
    return total;
}

static void print_bar(double x) {
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    const int n = (int)(x * 40 * 8 + 0.5);
    for (int i = 0; i < n / 8; i++) fputs("█", stdout);
    fputs(eighths[n % 8], stdout);
}

static void print_stages(const bench *b) {
    const double total = stages_total(b);
    printf("\n  stage        a sample   share\n");
    for (int i = LEAT_STAGE_READ; i < LEAT_STAGE_COUNT; i++) {
        if (b->stage_s[i] <= 0) continue;
        const double one = b->samples ? b->stage_s[i] / (double)b->samples : 0,
                     part = share(b->stage_s[i], total);
        char text[24];
        if (one >= 0.001) snprintf(text, sizeof text, "%.2f ms", one * 1e3);
        else snprintf(text, sizeof text, "%.*f us", one < 1e-5 ? 2 : one < 1e-4 ? 1 : 0, one * 1e6);
        printf("  %-10s %10s   %3.0f %%  ", leat_stage_name(i), text, part * 100);
        print_bar(part);
        putchar('\n');
    }
}

/* One sentence: what binds, and what to try. */
static void print_advice(const bench *b) {
    leat_stats spent = {.n_threads = b->last.n_threads,
                        .full_s = b->full_s,
                        .cpu_s = b->cpu_s,
                        .read_wait_s = b->read_wait_s,
                        .queue_s = b->queue_s};
    leat_diagnosis found;
    for (int i = 0; i < LEAT_STAGE_COUNT; i++) spent.stage_s[i] = b->stage_s[i];
    if (leat_diagnose(&found, b->on.pipeline, &spent, b->wall_s, NULL) == 0)
        printf("\n%s%s%s\n%s\n", cli_bold(stdout), found.sentence, cli_plain(stdout), found.remedy);
}

static void print_report(const bench *b) {
    const char *unit = b->on.images ? "images" : "samples";
    const leat_stats *s = &b->last;
    printf("%s%s %s/s%s   %s/s read   %s/s into batches\n", cli_bold(stdout), cli_rate(b->samples_per_s),
           unit, cli_plain(stdout), cli_bytes((double)b->bytes_read / b->wall_s),
           cli_bytes((double)b->bytes_out / b->wall_s));
    if (b->roofline)
        printf("%s%.2f of the ceiling: %s%s (%s %s/s)\n", cli_bold(stdout), b->ratio, b->roof.what,
               cli_plain(stdout), cli_rate(b->roof_per_s), unit);
    print_stages(b);
    printf("\n  consumer     waited %.0f %% of the time, workers were idle %.0f %%\n",
           share(b->wait_s, b->wall_s) * 100, share(b->full_s, b->wall_s * s->n_threads) * 100);
    printf("  work         %d thread%s, %.1f s of processor in %.1f s; %s %s in %s batches\n", s->n_threads,
           s->n_threads == 1 ? "" : "s", b->cpu_s, b->wall_s, cli_count(b->samples), unit,
           cli_count(b->batches));
    printf("  first batch  %s after opening\n", cli_time(s->first_batch_s));
    printf("  memory       %" PRIu64 " batches in use, %s of a budget of %s; the process peaked at %s\n",
           s->slots, cli_bytes((double)s->memory_bytes), cli_bytes((double)s->memory_max_bytes),
           cli_bytes(b->peak_rss));
    char tuning[200];
    leat_pipeline_tuning(b->on.pipeline, tuning, sizeof tuning);
    printf("  tuning       %s%s%s\n", tuning, s->tuned ? ", changed last after " : "",
           s->tuned ? cli_time(s->tuned_s) : "");
    if (s->cache_hits + s->cache_misses)
        printf("  cache        had %s of %s samples that were asked for; it holds %s\n",
               cli_count(s->cache_hits), cli_count(s->cache_hits + s->cache_misses),
               cli_bytes((double)s->cache_bytes));
    if (s->cache_bad) printf("               %s damaged ones were made anew\n", cli_count(s->cache_bad));
    if (s->bad_samples)
        printf("  %sbad%s          %s samples: 'leat run' names them\n", cli_red(stdout), cli_plain(stdout),
               cli_count(s->bad_samples));
    print_advice(b);
}

/* ----------------------------------------------------------------------------------------- for programs */

static void print_json(const bench *b) {
    const leat_stats *s = &b->last;
    printf("{\n  \"spec\": ");
    cli_json_string(stdout, b->on.text);
    printf(",\n  \"samples_per_s\": %.6g,\n  \"bytes_per_s\": %.6g,\n", b->samples_per_s,
           (double)b->bytes_out / b->wall_s);
    printf("  \"wall_s\": %.6f,\n  \"cpu_s\": %.6f,\n  \"wait_s\": %.6f,\n  \"idle_s\": %.6f,\n", b->wall_s,
           b->cpu_s, b->wait_s, b->full_s);
    printf("  \"samples\": %" PRIu64 ",\n  \"batches\": %" PRIu64 ",\n", b->samples, b->batches);
    printf("  \"bytes_read\": %" PRIu64 ",\n  \"bytes_out\": %" PRIu64 ",\n", b->bytes_read, b->bytes_out);
    printf("  \"bad_samples\": %" PRIu64 ",\n  \"threads\": %d,\n  \"slots\": %" PRIu64 ",\n", s->bad_samples,
           s->n_threads, s->slots);
    printf("  \"cache_hits\": %" PRIu64 ",\n  \"cache_misses\": %" PRIu64 ",\n  \"cache_bad\": %" PRIu64
           ",\n  \"cache_bytes\": %" PRIu64 ",\n",
           s->cache_hits, s->cache_misses, s->cache_bad, s->cache_bytes);
    printf("  \"first_batch_s\": %.6f,\n  \"peak_rss_bytes\": %.0f,\n", s->first_batch_s, b->peak_rss);
    printf("  \"memory_bytes\": %" PRIu64 ",\n  \"memory_max_bytes\": %" PRIu64 ",\n  \"stages\": {",
           s->memory_bytes, s->memory_max_bytes);
    for (int i = LEAT_STAGE_READ; i < LEAT_STAGE_COUNT; i++)
        printf("%s\"%s\": %.6f", i > LEAT_STAGE_READ ? ", " : "", leat_stage_name(i), b->stage_s[i]);
    printf("}");
    if (b->roofline) {
        printf(",\n  \"roofline_samples_per_s\": %.6g,\n  \"roofline_what\": ", b->roof_per_s);
        cli_json_string(stdout, b->roof.what);
        printf(",\n  \"ratio\": %.4f,\n  \"rounds\": [", b->ratio);
        for (int i = 0; i < b->rounds; i++)
            printf("%s[%.6g, %.6g]", i ? ", " : "", b->rate[i], b->roof_rate[i]);
        printf("]");
    }
    printf(",\n  \"counters\": ");
    cli_print_counters(b->on.pipeline);
    printf("\n}\n");
}

/* ---------------------------------------------------------------------------------------------- run */

static int run(int argc, char **argv) {
    bench b = {.seconds = 5};
    cli_opt opts[CLI_PIPELINE_OPTIONS + 6] = {
        {"seconds", 0, CLI_NUMBER, &b.seconds, 0, 0, "N",
         "how long to measure, after a warm-up of at most a second", "5"},
        {"roofline", 'r', CLI_FLAG, &b.roofline, 0, 0, NULL,
         "also measure a ceiling on the same data, with the same threads, in turns with the pipeline: for "
         "images, bare libjpeg-turbo decoding them in full from memory; for everything else, memcpy of the "
         "output; with a cache, memcpy of its samples, gathered in no order",
         NULL},
        {"step-ms", 0, CLI_NUMBER, &b.step_ms, 0, 0, "N",
         "the consumer keeps every batch for N milliseconds, as a training step on a device does", "0"},
        {"json", 0, CLI_FLAG, &b.json, 0, 0, NULL, "print one JSON object", NULL},
        CLI_TRACE_OPTION(&b.on),
    };
    cli_pipeline_table(&b.pipeline, opts, 5);
    cli_opt_help(opts, "epochs", "measure at most N epochs", "without end");
    cli_opt_help(opts, "quiet", "no progress", NULL);
    int rc = cli_options(&cli_bench, opts, &argc, &argv);
    if (rc != CLI_OK) return rc < 0 ? CLI_OK : rc;
    rc = cli_opened_text(&b.on, "bench", argc, argv);
    if (rc == CLI_OK) rc = cli_pipeline_config(&b.pipeline, &b.on.config);
    if (rc != CLI_OK) return rc;
    if (b.pipeline.epochs == 0) b.on.config.n_epochs = -1;
    cli_catch_signals();
    rc = cli_opened_open(&b.on, &b.pipeline);
    if (rc == CLI_OK) {
        say(&b, "warming up", 0);
        rc = measure(&b);
        unsay(&b);
    }
    if (rc == CLI_OK) {
        if (b.json) print_json(&b);
        else print_report(&b);
        rc = cli_opened_trace(&b.on);
    }
    cli_opened_close(&b.on);
    return rc == CLI_INTERRUPTED ? cli_fail("bench", rc, "stopped before the measurement was over") : rc;
}

const cli_verb cli_bench = {
    .name = "bench",
    .help = "Measure a pipeline: images per second, where the time goes, what to try.",
    .synopsis = "[OPTIONS] \"PIPELINE\"",
    .about = "Runs the pipeline without end, throws the batches away, and says how fast it was and where the "
             "time went.",
    .example = "  leat bench \"folder photos/train | decode | resize 224 224 | batch 64\" --roofline",
    .run = run,
};
