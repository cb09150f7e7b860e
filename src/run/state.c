/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a pipeline as text: a few words and numbers on one line,
 *
 *     leat-state 2 check=HEX epoch=2 position=640 step=10 seed=0 batch=64 pipeline=HEX dataset=HEX text=...
 *
 * In an epoch whose batches had another size before, ` from=192 from_step=6` tells where they began to have this one.
 *
 * `check` is the hash of what follows it, so that a state that was cut or changed is refused and never goes on elsewhere.
 * White space at the end does not count: programs write a line.
 *
 * That of a stream has ` stream=...` before the text: its resume mark (stream/marks.c).
 *
 * It is the same on all ranks: positions and batches are those of all of them together, so that another number of ranks
 * can go on from it.
 *
 * Of combined data there is a short hash of each part (parts=HEX,HEX) behind that of the whole, so that a part that has
 * changed can be named.
 *
 * Hashes decide whether it belongs to a pipeline; the text, which may be cut, tells a person what it belonged to. */
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "plan/planner.h"
#include "run/pipeline.h"

#define BEGINS "leat-state 2 check="
enum { HEAD = sizeof BEGINS - 1 + 16 + 1 }; /* "leat-state 2 check=0123456789abcdef " */
enum { TEXT_MAX = 640, PARTS_ROOM = 800, STREAM_MAX = 1024, PART_DIGITS = 8 };

static uint32_t part_hash(const leat__source *part) {
    return (uint32_t)(part->fingerprint ^ part->fingerprint >> 32);
}

/* The head that a state must have, for what follows it; the state is at least as long. */
static void write_head(const char *text, char head[HEAD + 1]) {
    size_t n = strlen(text);
    while (n > HEAD && strchr(" \t\r\n", text[n - 1])) n--;
    snprintf(head, HEAD + 1, BEGINS "%016" PRIx64 " ", leat__hash(text + HEAD, n - HEAD, 0));
}

/* " parts=1234abcd,..." of combined data; its length. There is room for 63 of them. */
static int write_parts(const leat__source *source, char text[TEXT_MAX]) {
    int n = 0;
    text[0] = 0;
    for (int i = 0; i < source->n_parts; i++)
        n += snprintf(text + n, (size_t)(TEXT_MAX - n), "%s%0*" PRIx32, i ? "," : " parts=", PART_DIGITS,
                      part_hash(source->part[i]));
    return n;
}

/* " stream=..." of a stream; nothing and 0 without a mark or at its beginning. */
static int write_mark(const leat_pipeline *pipeline, const leat__mark *mark, char text[STREAM_MAX]) {
    static const char key[] = " stream=";
    const int n = (int)sizeof key - 1;
    text[0] = 0;
    const int length = mark ? leat__mark_text(pipeline->stream, mark, text + n, STREAM_MAX - sizeof key) : 0;
    if (length) memcpy(text, key, (size_t)n);
    return length ? n + length : 0;
}

/* Where batches of the present size begin in an epoch. */
static leat__cursor sized_from(const leat_pipeline *pipeline, uint64_t epoch) {
    return pipeline->sized.epoch == epoch ? pipeline->sized : (leat__cursor){.epoch = epoch};
}

/* " from=... from_step=..."; nothing and 0 where all batches of the epoch have one size. */
static int write_sized(leat__cursor from, char text[64]) {
    text[0] = 0;
    if (from.position == 0) return 0;
    return snprintf(text, 64, " from=%" PRIu64 " from_step=%" PRIu64, from.position, from.step);
}

int leat__state_write(const leat_pipeline *pipeline, leat__cursor at, const leat__mark *mark, char *text,
                      size_t cap, leat_error *err) {
    const leat__plan *plan = &pipeline->plan;
    char parts[TEXT_MAX], stream[STREAM_MAX], sized[64];
    const int n_sized = write_sized(sized_from(pipeline, at.epoch), sized);
    const int n_stream = write_mark(pipeline, mark, stream);
    int n_parts = write_parts(plan->source, parts);
    if (n_parts + n_stream > PARTS_ROOM)
        parts[n_parts = 0] = 0; /* where to go on is more than what has changed */
    const int left = TEXT_MAX - n_parts - n_stream - n_sized;
    if (n_stream >= STREAM_MAX - 1)
        return leat__fail(err, LEAT_ERR_LIMIT, "the state is longer than 1024 bytes: combine fewer streams");
    const int n =
        snprintf(text, cap,
                 BEGINS "%016d epoch=%" PRIu64 " position=%" PRIu64 " step=%" PRIu64 " seed=%" PRIu64
                        " batch=%" PRIu64 "%s pipeline=%016" PRIx64 " dataset=%016" PRIx64 "%s%s text=%.*s",
                 0, at.epoch, at.position, at.step, plan->seed, leat__plan_global_batch(plan), sized,
                 plan->fingerprint, plan->source->fingerprint, stream, parts, LEAT_MAX(left, 0),
                 (const char *)plan->text.data);
    if (n < 0 || (size_t)n >= cap)
        return leat__fail(err, LEAT_ERR_LIMIT, "the state needs %d bytes, there are %zu", n + 1, cap);
    char head[HEAD + 1];
    write_head(text, head);
    memcpy(text, head, HEAD);
    return 0;
}

/* The number after " name=", or false. */
static bool number_of(const char *text, const char *name, int base, uint64_t *out) {
    char key[32];
    snprintf(key, sizeof key, " %s=", name);
    const char *at = strstr(text, key), *value = at ? at + strlen(key) : NULL;
    if (!value || !((*value >= '0' && *value <= '9') || (base == 16 && *value >= 'a' && *value <= 'f')))
        return false;
    char *end;
    *out = strtoull(value, &end, base);
    return *end == ' ' || *end == 0;
}

/* What it says of a stream; false if that cannot be. */
static bool read_mark(const leat_pipeline *pipeline, const char *text, const char *end, uint64_t position,
                      leat__mark *mark) {
    static const char key[] = " stream=";
    const char *at = strstr(text, key);
    if (!at || at >= end) at = end; /* from its beginning */
    else at += sizeof key - 1;
    if (!pipeline->stream) return at == end;
    return leat__mark_parse(pipeline->stream, at, at == end ? at : at + strcspn(at, " "), position, mark);
}

/* Where two texts begin to differ: at the beginning of an operation. */
static size_t difference(const char *a, const char *b) {
    size_t begin = 0;
    for (size_t i = 0; a[i] && a[i] == b[i]; i++)
        if (strncmp(a + i, " | ", 3) == 0 && strncmp(b + i, " | ", 3) == 0) begin = i + 3;
    return begin;
}

/* Whether batches may have another size from that place on, in a pipeline that is otherwise the same. */
static int check_resized(const leat__plan *plan, uint64_t batch, uint64_t position, uint64_t *fingerprint,
                         leat_error *err) {
    if (plan->size_at == 0 || leat__order_bucket(&plan->order))
        return leat__fail(err, LEAT_ERR_STATE,
                          "the state was saved with batches of %" PRIu64
                          ", and operations behind batch, or buckets, count "
                          "batches: go on with that size",
                          batch);
    if (plan->group && position % (uint64_t)plan->group)
        return leat__fail(err, LEAT_ERR_STATE,
                          "the state was saved at sample %" PRIu64
                          ", in the middle of a group of %d samples that are mixed: "
                          "go on with batches of %" PRIu64 " up to the end of the epoch",
                          position, plan->group, batch);
    return leat__plan_fingerprint(plan, batch, fingerprint, err);
}

static int check_pipeline(const leat__plan *plan, uint64_t pipeline, uint64_t batch, uint64_t position,
                          bool resize, const char *was, leat_error *err) {
    const uint64_t global = leat__plan_global_batch(plan);
    uint64_t fingerprint = plan->fingerprint;
    if (batch != global && resize) LEAT_TRY(check_resized(plan, batch, position, &fingerprint, err));
    if (pipeline == fingerprint) return 0;
    const char *is = (const char *)plan->text.data;
    if (batch != global && !resize)
        return leat__fail(
            err, LEAT_ERR_STATE,
            "the state was saved with batch size=%" PRIu64 " on all ranks together, this pipeline has batch "
            "size=%" PRIu64 " (%d on each of %d): its batches would begin elsewhere; resize_batch goes on "
            "at the same sample all the same",
            batch, global, plan->batch, plan->world);
    const size_t from = difference(was, is);
    return leat__fail(
        err, LEAT_ERR_STATE,
        "the state belongs to another pipeline: it goes on with '%.300s', this one with '%.300s'", was + from,
        is + from);
}

static int fail_data(const leat__source *source, const char *state, leat_error *err) {
    const char *was = strstr(state, " parts=");
    if (was) was += strlen(" parts=");
    for (int i = 0; was && i < source->n_parts; i++) {
        char *end;
        const uint64_t hash = strtoull(was, &end, 16);
        if (end != was + PART_DIGITS) break;
        if (hash != part_hash(source->part[i]))
            return leat__fail(
                err, LEAT_ERR_STATE,
                "the state belongs to other data: files of part %d were added, removed or changed "
                "since; now it is %s",
                i + 1, source->part[i]->title);
        was = end + (*end == ',');
    }
    return leat__fail(
        err, LEAT_ERR_STATE,
        "the state belongs to other data: files were added, removed or changed since; now it is %s",
        source->title);
}

/* Where batch number `step` of an epoch begins, whose batches have that size from a place on that is not behind it; the end of
 * the epoch if it has fewer. */
static uint64_t position_of(leat_pipeline *pipeline, leat__cursor from, uint64_t batch, uint64_t step) {
    leat__order *order = &pipeline->plan.order;
    const uint64_t length = leat__order_length(order), epoch = from.epoch, n = step - from.step;
    if (!leat__order_bucket(order))
        return n <= (length - from.position) / batch ? from.position + n * batch : length;
    uint64_t low = 0,
             high = length; /* positions before low belong to earlier batches, high and behind do not */
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (leat__order_batch(order, epoch, middle).step < step) low = middle + 1;
        else high = middle;
    }
    return low;
}

int leat__state_cursor(leat_pipeline *pipeline, uint64_t epoch, uint64_t step, leat__cursor *out,
                       leat_error *err) {
    *out = (leat__cursor){.epoch = epoch};
    if (step == 0) return 0;
    const leat__cursor from = sized_from(pipeline, epoch);
    const uint64_t batches = leat__state_batches(pipeline, epoch),
                   batch = leat__plan_global_batch(&pipeline->plan);
    if (step > batches)
        return leat__fail(err, LEAT_ERR_ARGUMENT,
                          "there is no place behind batch %" PRIu64 ": an epoch has %" PRIu64, step, batches);
    if (step < from.step)
        return leat__fail(err, LEAT_ERR_ARGUMENT,
                          "where batch %" PRIu64 " of the epoch began is not known: before batch %" PRIu64
                          " they had another size",
                          step, from.step);
    *out = from;
    if (step == from.step) return 0;
    *out = (leat__cursor){epoch, position_of(pipeline, from, batch, step - 1), step - 1};
    *out = leat__steps_behind(*out, position_of(pipeline, from, batch, step) - out->position);
    *out = leat__steps_next(pipeline, *out);
    return 0;
}

uint64_t leat__state_batches(const leat_pipeline *pipeline, uint64_t epoch) {
    const leat__plan *plan = &pipeline->plan;
    const leat__cursor from = sized_from(pipeline, epoch);
    const uint64_t n = leat__order_length(&plan->order), batch = leat__plan_global_batch(plan);
    if (from.position == 0 || n == LEAT_ENDLESS) return leat__steps_batches(pipeline);
    const uint64_t left = n - from.position;
    return from.step + left / batch + (!plan->drop_remainder && left % batch > 0);
}

/* Whether a place can be one between two batches. The end of a stream is found by reading it, so its last batch may be
 * smaller than the rest. */
static bool fits(leat_pipeline *pipeline, leat__cursor from, uint64_t batch, leat__cursor at) {
    if (batch == 0 || (from.position == 0) != (from.step == 0) || from.position > at.position ||
        from.step > at.step)
        return false;
    if (!pipeline->stream)
        return from.position <= leat__order_length(&pipeline->plan.order) &&
               at.position == position_of(pipeline, from, batch, at.step);
    const uint64_t n = at.position - from.position;
    return n / batch + (n % batch > 0) == at.step - from.step;
}

static int fail_damaged(leat_error *err, const char *what) {
    return leat__fail(err, LEAT_ERR_STATE, "the state is damaged: %s; take one that was saved earlier", what);
}

int leat__state_read(leat_pipeline *pipeline, const char *text, leat__state *out, leat_error *err) {
    const leat__plan *plan = &pipeline->plan;
    const bool resize = pipeline->config.resize_batch != 0;
    leat__cursor *at = &out->at, from = {0};
    uint64_t seed, batch, made_of, dataset;
    if (strncmp(text, "leat-state 1 ", 13) == 0)
        return leat__fail(
            err, LEAT_ERR_STATE,
            "the state is of an older leat, whose states had no checksum: begin the epoch anew");
    const char *was = strstr(text, " text=");
    if (strncmp(text, BEGINS, sizeof BEGINS - 1) != 0)
        return leat__fail(err, LEAT_ERR_STATE,
                          "this is not the state of a pipeline: it must begin with 'leat-state 2 check='");
    char head[HEAD + 1];
    if (strlen(text) >= HEAD) write_head(text, head);
    if (strlen(text) < HEAD || memcmp(text, head, HEAD) != 0)
        return fail_damaged(err, "it was cut or changed");
    if (!was || !number_of(text, "epoch", 10, &at->epoch) ||
        !number_of(text, "position", 10, &at->position) || !number_of(text, "step", 10, &at->step) ||
        !number_of(text, "seed", 10, &seed) || !number_of(text, "batch", 10, &batch) ||
        !number_of(text, "pipeline", 16, &made_of) || !number_of(text, "dataset", 16, &dataset))
        return fail_damaged(err, "a number is missing");
    from.epoch = at->epoch;
    if (number_of(text, "from", 10, &from.position) != number_of(text, "from_step", 10, &from.step))
        return fail_damaged(err, "a number is missing");
    if (seed != plan->seed)
        return leat__fail(err, LEAT_ERR_STATE,
                          "the state was saved with seed %" PRIu64 ", this pipeline has seed %" PRIu64, seed,
                          plan->seed);
    LEAT_TRY(check_pipeline(plan, made_of, batch, at->position, resize, was + 6, err));
    if (dataset != plan->source->fingerprint) return fail_data(plan->source, text, err);
    if (!read_mark(pipeline, text, was, at->position, out->mark))
        return fail_damaged(err, "what it says of the stream cannot be");
    const bool same = batch == leat__plan_global_batch(plan);
    if ((!same && !resize) || !fits(pipeline, from, batch, *at))
        return fail_damaged(err, "its position, step and batch do not fit together");
    out->sized = same ? from : *at;
    return 0;
}
