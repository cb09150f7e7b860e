/* SPDX-License-Identifier: Apache-2.0 */
/* The interface: opening and closing, the reader threads, and the samples of batches. */
#include <stdio.h>

#include "base/clock.h"
#include "stream/node.h"

/* ------------------------------------------------------------------------------------------ threads */

void leat__stream_wake_readers(leat__stream *stream) {
    if (stream->n_idle) pthread_cond_broadcast(&stream->idle);
}

/* The only threads that inflate. */
static void *reader_main(void *argument) {
    leat__stream *stream = argument;
    leat__waits waits;
    leat__account_use(stream->account);
    leat__waits_open(&waits);
    leat__lock(&stream->mutex);
    const int number = stream->n_begun++;
    while (!stream->stop) {
        if (!leat__node_hungry(stream->root)) {
            stream->n_idle++;
            leat__cond_wait(&stream->idle, &stream->mutex);
            stream->n_idle--;
            continue;
        }
        const leat__moment began = leat__waits_now(&waits);
        if (stream->options.reading) stream->options.reading(stream->options.user, number, true);
        leat__node_read(stream->root);
        if (stream->options.reading) stream->options.reading(stream->options.user, number, false);
        const leat__moment ended = leat__waits_now(&waits);
        stream->read_ns += ended.now_ns - began.now_ns;
        stream->blocked_ns += leat__waits_between(&began, &ended);
        if (!stream->waiting || !leat__node_awaited(stream->root)) continue;
        stream->waiting = false;
        leat__unlock(&stream->mutex);
        stream->options.wake(stream->options.user);
        leat__lock(&stream->mutex);
    }
    leat__waits_close(&waits);
    stream->n_running--;
    pthread_cond_broadcast(&stream->stopped);
    leat__unlock(&stream->mutex);
    return NULL;
}

/* Fewer threads than asked for are slower, not wrong. */
static int start_readers(leat__stream *stream, leat_error *err) {
    for (int i = 0; i < LEAT_MIN(stream->root->n_readers, LEAT_INFLATERS_MAX); i++) {
        char name[32];
        snprintf(name, sizeof name, "leat-reader-%d", i);
        leat__lock(&stream->mutex);
        const int rc = leat__thread_start(&stream->thread[i], reader_main, stream, name, err);
        stream->n_running += rc == 0;
        stream->n_threads += rc == 0;
        leat__unlock(&stream->mutex);
        if (rc < 0) return i == 0 ? rc : 0;
    }
    return 0;
}

bool leat__stream_stop(leat__stream *stream, uint64_t until_ns) {
    leat__lock(&stream->mutex);
    stream->stop = true;
    pthread_cond_broadcast(&stream->idle);
    while (stream->n_running > 0) {
        const uint64_t now = leat__now_ns();
        if (now >= until_ns) break;
        leat__cond_wait_for(&stream->stopped, &stream->mutex, until_ns - now);
    }
    const bool all = stream->n_running == 0;
    leat__unlock(&stream->mutex);
    for (int i = 0; i < stream->n_threads; i++) {
        if (all) pthread_join(stream->thread[i], NULL);
        else pthread_detach(stream->thread[i]);
    }
    stream->n_threads = 0;
    return all;
}

/* --------------------------------------------------------------------------------------- open, close */

static int make(leat__stream *stream, leat__plan *plan, leat_error *err) {
    const leat__node_options options = {
        .stream = stream,
        .runs = stream->options.n_epochs,
        .bytes_max = plan->budget.window / (size_t)leat__stream_plan_streams(plan),
        .n_readers = stream->options.n_readers,
        .batch = (uint64_t)plan->batch,
    };
    LEAT_TRY(leat__node_new(&stream->root, plan, &options, &(leat__node_numbers){0}, err));
    const leat__mark beginning = {0};
    leat__node_reset(stream->root, 0, 0, &beginning);
    return stream->options.synchronous ? 0 : start_readers(stream, err);
}

int leat__stream_open(leat__stream **out, leat__plan *plan, const leat__stream_options *options,
                      leat_error *err) {
    leat__stream *stream = *out = leat__alloc(LEAT_MEM_WINDOW, sizeof *stream);
    if (!stream) return leat__fail_memory(err, sizeof *stream, "a stream");
    stream->options = *options;
    stream->account = leat__account_now();
    int rc = leat__mutex_init(&stream->mutex, LEAT_LOCK_STREAM, err);
    if (rc == 0) rc = leat__cond_init(&stream->idle, err);
    if (rc == 0) rc = leat__cond_init(&stream->stopped, err);
    if (rc < 0) {
        leat__free(stream);
        *out = NULL;
        return rc;
    }
    return make(stream, plan, err);
}

void leat__stream_close(leat__stream **handle) {
    leat__stream *stream = *handle;
    if (!stream) return;
    leat__node_free(&stream->root);
    pthread_cond_destroy(&stream->stopped);
    pthread_cond_destroy(&stream->idle);
    leat__mutex_destroy(&stream->mutex);
    leat__free(stream);
    *handle = NULL;
}

void leat__stream_reset(leat__stream *stream, uint64_t epoch, uint64_t position, const leat__mark *mark) {
    const leat__mark beginning = {0};
    leat__lock(&stream->mutex);
    stream->waiting = stream->pressed = false;
    leat__node_reset(stream->root, epoch, position, mark ? mark : &beginning);
    leat__unlock(&stream->mutex);
}

/* -------------------------------------------------------------------------------------------- take */

/* As leat__node_look; a batch that has n_own samples already and a full window cannot go on. */
static int is_ready(leat__stream *stream, const leat__stream_batch *batch, uint64_t position,
                    leat_error *err) {
    leat__node *root = stream->root;
    int rc = leat__node_look(root, batch->epoch, position, err);
    const bool alone = stream->n_taken <= batch->taken;
    /* How much memory a window keeps for few records depends on which blocks they lie in, and so a little on timing: the limit
     * of the window alone must not end a run. */
    if (rc == LEAT_NODE_FULL && alone && !stream->pressed) {
        stream->pressed = true;
        rc = leat__node_look(root, batch->epoch, position, err);
    }
    if (rc == 1) stream->pressed = false;
    if (stream->n_idle && leat__node_hungry(root)) leat__stream_wake_readers(stream);
    if (rc != LEAT_NODE_FULL) return rc;
    if (!alone) return 0; /* batches that are being worked on will give memory back */
    return leat__fail(err, LEAT_ERR_MEMORY,
                      "the records of a batch and its shuffle window take more than %.0f MB, the budget for "
                      "them: use a smaller window or raise memory_max_bytes (--memory)",
                      (double)root->bytes_max / 1e6);
}

static int take(leat__stream *stream, leat__stream_batch *batch, leat_error *err) {
    leat__node *root = stream->root;
    leat__order *order = &root->plan->order;
    for (; batch->walked < batch->n; batch->walked++) {
        const uint64_t at = batch->walked, position = batch->position + at;
        leat__node_sync(root);
        if (position >= leat__order_length(order)) return 1;
        const int ready = is_ready(stream, batch, position, err);
        if (ready == 0) leat__node_await(root, batch->epoch, batch->position + batch->n - 1);
        if (ready <= 0) return ready;
        if (position >= leat__order_length(order)) return 1; /* where the stream ends was not known before */
        const bool mine = at >= batch->first && at - batch->first < batch->n_own;
        if (!mine && at >= batch->n_spare) continue;
        const int i = (int)(mine ? at - batch->first : batch->n_own + at);
        LEAT_TRY(
            leat__node_keep(root, leat__order_map(order, batch->epoch, position), batch->records, i, err));
        batch->taken++;
        stream->n_taken++;
    }
    return 1;
}

int leat__stream_take(leat__stream *stream, leat__stream_batch *batch, leat_error *err) {
    leat__lock(&stream->mutex);
    const int rc = take(stream, batch, err);
    stream->waiting = rc == 0;
    leat__unlock(&stream->mutex);
    return rc;
}

int leat__stream_take_others(leat__stream *stream, uint64_t epoch, uint64_t position, uint64_t draw,
                             leat__records *records, int at, int n) {
    enum { LOOKS = 64 };
    const leat__order *order = &stream->root->plan->order;
    int taken = 0;
    leat__lock(&stream->mutex);
    const leat__span_of_order span = leat__order_span(order, epoch, position);
    /* The position was taken, so the stream is known up to ceil or to its end. */
    const uint64_t ceil = LEAT_MIN(span.ceil, order->length[0]);
    const uint64_t size = ceil < span.floor + 2 ? 0 : ceil - span.floor;
    for (uint64_t i = 0; i < LEAT_MIN(size, (uint64_t)LOOKS) && taken < n; i++) {
        const leat__place place = {.sample = span.floor + (draw % size + i) % size};
        if (leat__node_keep(stream->root, place, records, at + taken, NULL) < 0) break;
        if (leat__records_is_bad(records, at + taken)) leat__records_drop(records, at + taken);
        else taken++;
    }
    stream->n_taken += (uint64_t)taken;
    leat__unlock(&stream->mutex);
    return taken;
}

void leat__stream_give(leat__stream *stream, leat__records *records) {
    leat__lock(&stream->mutex);
    for (int i = 0; i < leat__records_size(records); i++) stream->n_taken -= leat__records_drop(records, i);
    leat__unlock(&stream->mutex);
}

void leat__stream_mark(leat__stream *stream, uint64_t epoch, uint64_t position, leat__mark *out) {
    leat__lock(&stream->mutex);
    *out = (leat__mark){0};
    leat__node_mark(stream->root, epoch, position, out);
    leat__unlock(&stream->mutex);
}

/* ------------------------------------------------------------------------------------------- others */

bool leat__stream_read(leat__stream *stream) {
    leat__lock(&stream->mutex);
    const bool hungry = leat__node_hungry(stream->root);
    if (hungry) leat__node_read(stream->root);
    leat__unlock(&stream->mutex);
    return hungry;
}

void leat__stream_describe(leat__stream *stream, uint64_t number, char *text, size_t cap) {
    leat__lock(&stream->mutex);
    leat__node_describe(stream->root, number, text, cap);
    leat__unlock(&stream->mutex);
}

void leat__stream_stats(leat__stream *stream, leat_stats *stats) {
    leat__lock(&stream->mutex);
    leat__node_stats(stream->root, stats);
    stats->n_readers = stream->n_threads;
    stats->readers_s = (double)stream->read_ns * 1e-9;
    stats->readers_wait_s = (double)stream->blocked_ns * 1e-9;
    const leat__shards *shards = stream->root->what->shards;
    if (shards && leat__shards_program(shards)) stats->stage_s[LEAT_STAGE_CALL] += stats->readers_s;
    leat__unlock(&stream->mutex);
}
