/* SPDX-License-Identifier: Apache-2.0 */
/* leat run: feeds a pipeline to a sink. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opened.h"
#include "sink.h"

enum { STATE_MAX = 4096, BAD_SHOWN = 10 };

typedef struct running {
    cli_opened on;
    cli_pipeline_options pipeline;
    int64_t batches;
    const char *sink_word, *state, *one; /* one: the sample of --sample */
    bool params, json, resize_batch;
    cli_sink *sink;
    double began;
    uint64_t samples, n_batches; /* of this run */
    int64_t left;                /* samples that this run will have, -1 = not known */
} running;

/* ------------------------------------------------------------------------------------------- state */

/* 1 = the pipeline goes on from it, 0 = there is none yet, < 0 = it is unusable, after a message. */
static int load_state(running *r) {
    FILE *f = fopen(r->state, "rb");
    if (!f && errno == ENOENT) return 0;
    char text[STATE_MAX] = "";
    const size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    const bool failed = !f || ferror(f);
    if (failed) cli_fail("run", 0, "the state %s cannot be read: %s", r->state, strerror(errno));
    if (f) fclose(f);
    if (failed) return -1;
    text[n] = 0;
    text[strcspn(text, "\n")] = 0;
    if (leat_pipeline_restore(r->on.pipeline, text, &r->on.err) == 0) return 1;
    cli_fail("run", 0, "%s: %s; delete the file to begin anew", r->state, r->on.err.message);
    return -1;
}

static bool write_fully(int fd, const char *text, size_t n) {
    while (n > 0) {
        const ssize_t put = write(fd, text, n);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return false;
        text += put, n -= (size_t)put;
    }
    return true;
}

/* Beside its place, synced, renamed: a reader of the file sees the old state or the new one. An empty text only
 * tries. */
static int write_state(const char *path, const char *text, size_t n) {
    char part[4096];
    if ((size_t)snprintf(part, sizeof part, "%s.%ld.part", path, (long)getpid()) >= sizeof part)
        return cli_fail("run", CLI_FAILED, "the name of the state %.60s... is too long", path);
    const int fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    bool good = fd >= 0 && write_fully(fd, text, n) && (n == 0 || fsync(fd) == 0);
    int why = errno;
    if (fd >= 0 && close(fd) != 0 && good) good = false, why = errno;
    if (good && n > 0 && rename(part, path) != 0) good = false, why = errno;
    if (fd >= 0 && (!good || n == 0)) unlink(part);
    return good ? CLI_OK
                : cli_fail("run", CLI_FAILED, "the state %s cannot be written: %s", path, strerror(why));
}

static int save_state(running *r) {
    char text[STATE_MAX];
    leat_error err;
    if (leat_pipeline_state(r->on.pipeline, text, sizeof text - 1, &err) < 0)
        return cli_fail_error("run", &err, r->on.text);
    const size_t n = strlen(text);
    text[n] = '\n';
    return write_state(r->state, text, n + 1);
}

/* ------------------------------------------------------------------------------------------ batches */

/* How many samples are still to come, guessed from the first batch: for the bar. */
static void size_progress(running *r, const leat_batch *first) {
    const int64_t epoch = leat_pipeline_samples(r->on.pipeline);
    const int64_t epochs = r->pipeline.epochs < 0 ? -1 : r->pipeline.epochs ? r->pipeline.epochs : 1;
    int64_t left = -1;
    if (epoch > 0 && epochs > 0 && epoch < INT64_MAX / epochs)
        left = epoch * epochs - (int64_t)first->epoch * epoch - (int64_t)first->step * first->n;
    if (r->batches && (left < 0 || r->batches < left / first->n)) left = r->batches * first->n;
    r->left = left;
}

/* A number for each batch that a run which goes on from a state does not use again. */
static uint64_t number_of(const running *r, const leat_batch *batch) {
    const int64_t length = leat_pipeline_length(r->on.pipeline, 0);
    if (batch->epoch == 0) return batch->step;
    return length > 0 ? batch->epoch * (uint64_t)length + batch->step : r->n_batches;
}

/* A line a sample: what --sample takes to make it again, where it is and comes from, and what was drawn for it. */
static void print_params(const running *r, const leat_batch *batch, uint64_t number) {
    char name[4200];
    for (int i = 0; i < batch->n_valid; i++) {
        leat_pipeline_name(r->on.pipeline, batch->sample[i], name, sizeof name);
        printf("%" PRIu64 ":%" PRIu64 "\tbatch %" PRIu64 "\tplace %d\tsample %" PRIu64 "\t%s\t%s\n",
               batch->epoch, batch->position[i], number, i, batch->sample[i], name,
               leat_batch_params(batch, i));
    }
}

static int take(running *r, const leat_batch *batch, uint64_t number) {
    if (r->params) print_params(r, batch, number);
    r->samples += (uint64_t)batch->n_valid;
    r->n_batches++;
    return cli_sink_take(r->sink, batch, number);
}

static int feed_one(running *r) {
    uint64_t epoch, position;
    int end = 0;
    leat_batch batch;
    if (sscanf(r->one, "%" SCNu64 ":%" SCNu64 "%n", &epoch, &position, &end) != 2 || r->one[end] ||
        *r->one == '-')
        return cli_fail("run", CLI_USAGE, "--sample must be EPOCH:POSITION, such as 0:35, not '%s'", r->one);
    if (leat_pipeline_sample(r->on.pipeline, epoch, position, &batch, &r->on.err) < 0) return CLI_FAILED;
    const int rc = take(r, &batch, position);
    leat_batch_release(&batch);
    return rc;
}

static int feed_sink(running *r) {
    int rc = CLI_OK;
    while (rc == CLI_OK && !cli_interrupted() && !(r->batches && r->n_batches == (uint64_t)r->batches)) {
        leat_batch batch;
        const int got = leat_pipeline_next(r->on.pipeline, &batch, &r->on.err);
        if (got == LEAT_END || (got == LEAT_ERR_CANCELLED && cli_interrupted())) break;
        if (got < 0) return CLI_FAILED; /* told at the end, below the report */
        if (r->n_batches == 0) size_progress(r, &batch);
        rc = take(r, &batch, number_of(r, &batch));
        leat_batch_release(&batch);
        if (r->left >= 0 && r->samples > (uint64_t)r->left)
            r->left = -1, r->on.progress.total = 0; /* the guess was wrong */
        cli_progress_update(&r->on.progress, r->samples, r->left > 0 ? (uint64_t)r->left : 0);
    }
    return rc;
}

/* ------------------------------------------------------------------------------------------- report */

static void report_bad(const running *r) {
    leat_stats stats;
    leat_bad bad;
    leat_pipeline_stats(r->on.pipeline, &stats);
    fprintf(stderr, "%s%s bad sample%s:%s\n", cli_red(stderr), cli_count(stats.bad_samples),
            stats.bad_samples == 1 ? "" : "s", cli_plain(stderr));
    uint64_t shown = 0;
    for (; shown < BAD_SHOWN && leat_pipeline_bad(r->on.pipeline, shown, &bad) == 0; shown++)
        fprintf(stderr, "  %s\n", bad.message);
    if (shown < stats.bad_samples) fprintf(stderr, "  and %s more\n", cli_count(stats.bad_samples - shown));
}

static void report(const running *r) {
    const double seconds = cli_now() - r->began;
    if (r->pipeline.quiet) return;
    fprintf(stderr, "%s%s samples%s in %s batch%s, %s: %s%s %s/s%s\n", cli_bold(stderr),
            cli_count(r->samples), cli_plain(stderr), cli_count(r->n_batches), r->n_batches == 1 ? "" : "es",
            cli_time(seconds), cli_bold(stderr), cli_rate(seconds > 0 ? (double)r->samples / seconds : 0),
            r->on.images ? "images" : "samples", cli_plain(stderr));
}

/* ---------------------------------------------------------------------------------------------- run */

static int interrupted(const running *r, bool saved) {
    if (saved)
        return cli_fail(
            "run", CLI_INTERRUPTED,
            "stopped after %s batches; the position is in %s: the same command goes on from there",
            cli_count(r->n_batches), r->state);
    return cli_fail("run", CLI_INTERRUPTED, "stopped after %s batches%s", cli_count(r->n_batches),
                    r->state ? "" : "; with --state FILE the next run could go on from here");
}

/* For programs; behind what a sink prints there is no place for it. */
static void report_json(const running *r) {
    printf("{\n  \"spec\": ");
    cli_json_string(stdout, r->on.text);
    printf(",\n  \"samples\": %" PRIu64 ",\n  \"batches\": %" PRIu64
           ",\n  \"wall_s\": %.6f,\n  \"counters\": ",
           r->samples, r->n_batches, cli_now() - r->began);
    cli_print_counters(r->on.pipeline);
    printf("\n}\n");
}

static int run_all(running *r) {
    int rc = cli_pipeline_config(&r->pipeline, &r->on.config);
    const bool prints =
        r->params || (strcmp(r->sink_word, "null") != 0 && strncmp(r->sink_word, "npy:", 4) != 0);
    if (r->json && prints)
        return cli_fail("run", CLI_USAGE,
                        "--json prints to the same place as --params and this sink: use --sink null");
    if (r->one && r->state) return cli_fail("run", CLI_USAGE, "--sample or --state, not both");
    if (r->resize_batch && strncmp(r->sink_word, "npy:", 4) == 0)
        return cli_fail("run", CLI_USAGE,
                        "files of npy are numbered by batches of one size: leave --resize-batch out, or use "
                        "another sink");
    r->on.config.params = r->params;
    r->on.config.resize_batch = r->resize_batch;
    if (r->one) r->on.config.synchronous = 1; /* nothing else is to run */
    if (rc == CLI_OK) rc = cli_sink_new(&r->sink, "run", r->sink_word);
    if (rc == CLI_OK) rc = cli_opened_open(&r->on, &r->pipeline);
    if (rc != CLI_OK) return rc == CLI_INTERRUPTED ? interrupted(r, false) : rc;

    /* Hours of work should not end at a folder that cannot be written. */
    if (r->state && write_state(r->state, "", 0) != CLI_OK) return CLI_FAILED;
    const int restored = r->state ? load_state(r) : 0;
    if (restored < 0) return CLI_FAILED;
    r->began = cli_now();
    cli_progress_begin(&r->on.progress, "feeding", r->on.images ? "images" : "samples", 0, r->pipeline.quiet);
    rc = r->one ? feed_one(r) : feed_sink(r);
    cli_progress_end(&r->on.progress);
    const bool raised = rc == CLI_FAILED && r->on.err.code < 0, stopped = cli_interrupted();
    /* What the sink could not take is not behind us: the old state stays. */
    if (rc == CLI_OK) rc = cli_sink_finish(r->sink);
    const bool save = r->state && (rc == CLI_OK || raised);
    const int saved = save ? save_state(r) : CLI_OK;
    if (restored && r->n_batches == 0 && rc == CLI_OK && !stopped)
        fprintf(stderr,
                "nothing is left: %s is at the end; ask for more with --epochs, or delete it to begin anew\n",
                r->state);
    else if (r->n_batches > 0 || !raised) report(r);
    if (r->json) report_json(r);
    /* The one that was raised is named by its error; those before it were left out or replaced. */
    leat_bad bad;
    if (leat_pipeline_bad(r->on.pipeline, 0, &bad) == 0 && !(raised && bad.sample == r->on.err.sample))
        report_bad(r);
    if (raised) cli_opened_fail(&r->on);
    if (rc == CLI_OK) rc = saved;
    const int traced = cli_opened_trace(&r->on);
    if (rc == CLI_OK) rc = traced;
    return stopped && rc == CLI_OK ? interrupted(r, save) : rc;
}

static int run(int argc, char **argv) {
    running r = {.sink_word = "null", .left = -1};
    cli_opt opts[CLI_PIPELINE_OPTIONS + 9] = {
        {"batches", 'n', CLI_INT, &r.batches, 0, INT64_MAX, "N", "stop after N batches", NULL},
        {"sink", 0, CLI_TEXT, &r.sink_word, 0, 0, "SINK",
         "null     throws batches away\ndigest   prints one digest over every byte of every batch, in "
         "order\nsamples  prints 'EPOCH:POSITION number digest' for each sample\nids      prints 'epoch "
         "step: number number ...' for each batch\nnpy:DIR  writes DIR/NNNNNN_field.npy, and _offsets.npy "
         "for ragged fields",
         "null"},
        {"state", 0, CLI_TEXT, &r.state, 0, 0, "FILE",
         "go on from FILE if it exists; the position is written to it at the end and on Ctrl-C", NULL},
        {"resize-batch", 0, CLI_FLAG, &r.resize_batch, 0, 0, NULL,
         "go on from the state at the same sample, also if the batch of all ranks together has another size "
         "now",
         NULL},
        {"sample", 0, CLI_TEXT, &r.one, 0, 0, "E:P",
         "only the sample at position P of epoch E, as a batch of one, with the bytes that it has in its "
         "batch",
         NULL},
        {"params", 0, CLI_FLAG, &r.params, 0, 0, NULL,
         "print a line for each sample: EPOCH:POSITION, batch, place, sample number, file or record, and "
         "what every random operation drew for it",
         NULL},
        {"json", 0, CLI_FLAG, &r.json, 0, 0, NULL, "print the counters as one JSON object at the end", NULL},
        CLI_TRACE_OPTION(&r.on),
    };
    cli_pipeline_table(&r.pipeline, opts, 8);
    int rc = cli_options(&cli_run, opts, &argc, &argv);
    if (rc != CLI_OK) return rc < 0 ? CLI_OK : rc;
    rc = cli_opened_text(&r.on, "run", argc, argv);
    if (rc != CLI_OK) return rc;
    cli_catch_signals();
    rc = run_all(&r);
    cli_sink_free(&r.sink);
    cli_opened_close(&r.on);
    return rc;
}

const cli_verb cli_run = {
    .name = "run",
    .help = "Feed a pipeline to a sink: nothing, digests, the sample numbers, or .npy files.",
    .synopsis = "[OPTIONS] \"PIPELINE\"",
    .about = "Runs the pipeline and hands every batch to a sink.",
    .more = "Exit codes: 0 good, 1 an error was raised, 2 wrong command line, 130 stopped by Ctrl-C.",
    .example = "  leat run \"synth 100 | random_flip_left_right | batch 8\" --params --batches 1\n  leat run "
               "\"synth 100 | random_flip_left_right | batch 8\" --sample 0:35 --sink npy:one\n  leat run "
               "\"folder photos/train | shuffle seed=7 | decode | resize 224 224 | batch 64\" --sink digest",
    .run = run,
};
