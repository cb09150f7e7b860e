/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a pipeline as text: a few words and numbers on one line,
 *
 *     leat-state 1 epoch=2 position=640 step=10 seed=0 batch=64 pipeline=HEX dataset=HEX text=...
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

#include "run/pipeline.h"

enum { TEXT_MAX = 640, PARTS_ROOM = 800, STREAM_MAX = 1024, PART_DIGITS = 8 };

static uint32_t part_hash(const leat__source *part) {
    return (uint32_t)(part->fingerprint ^ part->fingerprint >> 32);
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

/* " stream=..." of a stream that is not at its beginning; its length. */
static int write_mark(const leat_pipeline *pipeline, char text[STREAM_MAX]) {
    static const char key[] = " stream=";
    const int n = (int)sizeof key - 1;
    text[0] = 0;
    const int length = pipeline->stream ? leat__mark_text(pipeline->stream, pipeline->handed_mark, text + n,
                                                          STREAM_MAX - sizeof key)
                                        : 0;
    if (length) memcpy(text, key, (size_t)n);
    return length ? n + length : 0;
}

int leat__state_write(const leat_pipeline *pipeline, char *text, size_t cap, leat_error *err) {
    const leat__plan *plan = &pipeline->plan;
    char parts[TEXT_MAX], stream[STREAM_MAX];
    const int n_stream = write_mark(pipeline, stream);
    int n_parts = write_parts(plan->source, parts);
    if (n_parts + n_stream > PARTS_ROOM)
        parts[n_parts = 0] = 0; /* where to go on is more than what has changed */
    const int left = TEXT_MAX - n_parts - n_stream;
    if (n_stream >= STREAM_MAX - 1)
        return leat__fail(err, LEAT_ERR_LIMIT, "the state is longer than 1024 bytes: combine fewer streams");
    const int n =
        snprintf(text, cap,
                 "leat-state 1 epoch=%" PRIu64 " position=%" PRIu64 " step=%" PRIu64 " seed=%" PRIu64
                 " batch=%" PRIu64 " pipeline=%016" PRIx64 " dataset=%016" PRIx64 "%s%s text=%.*s",
                 pipeline->handed.epoch, pipeline->handed.position, pipeline->handed.step, plan->seed,
                 leat__plan_global_batch(plan), plan->fingerprint, plan->source->fingerprint, stream, parts,
                 LEAT_MAX(left, 0), (const char *)plan->text.data);
    if (n < 0 || (size_t)n >= cap)
        return leat__fail(err, LEAT_ERR_LIMIT, "the state needs %d bytes, there are %zu", n + 1, cap);
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

static int check_pipeline(const leat__plan *plan, uint64_t pipeline, uint64_t batch, const char *was,
                          leat_error *err) {
    if (pipeline == plan->fingerprint) return 0;
    const char *is = (const char *)plan->text.data;
    if (batch != leat__plan_global_batch(plan))
        return leat__fail(err, LEAT_ERR_STATE,
                          "the state was saved with batch size=%" PRIu64
                          " on all ranks together, this pipeline has batch "
                          "size=%" PRIu64 " (%d on each of %d): its batches would begin elsewhere",
                          batch, leat__plan_global_batch(plan), plan->batch, plan->world);
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

int leat__state_read(const leat_pipeline *pipeline, const char *text, leat__cursor *out, leat__mark *mark,
                     leat_error *err) {
    const leat__plan *plan = &pipeline->plan;
    uint64_t seed, batch, made_of, dataset;
    const char *was = strstr(text, " text=");
    if (strncmp(text, "leat-state 1 ", 13) != 0 || !was || !number_of(text, "epoch", 10, &out->epoch) ||
        !number_of(text, "position", 10, &out->position) || !number_of(text, "step", 10, &out->step) ||
        !number_of(text, "seed", 10, &seed) || !number_of(text, "batch", 10, &batch) ||
        !number_of(text, "pipeline", 16, &made_of) || !number_of(text, "dataset", 16, &dataset))
        return leat__fail(err, LEAT_ERR_STATE,
                          "this is not the state of a pipeline: it must begin with 'leat-state 1 epoch='");
    if (seed != plan->seed)
        return leat__fail(err, LEAT_ERR_STATE,
                          "the state was saved with seed %" PRIu64 ", this pipeline has seed %" PRIu64, seed,
                          plan->seed);
    LEAT_TRY(check_pipeline(plan, made_of, batch, was + 6, err));
    if (dataset != plan->source->fingerprint) return fail_data(plan->source, text, err);
    const uint64_t length = leat__order_length(&plan->order);
    if (!read_mark(pipeline, text, was, out->position, mark))
        return leat__fail(err, LEAT_ERR_STATE, "the state is damaged: what it says of the stream cannot be");
    if ((!pipeline->stream && out->position > length) || out->step > out->position)
        return leat__fail(err, LEAT_ERR_STATE, "the state is damaged: position %" PRIu64 " of %" PRIu64,
                          out->position, length);
    return 0;
}
