/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a pipeline as text: a few words and numbers on one line,
 *
 *     leat-state 1 epoch=2 position=640 step=10 seed=0 batch=64 pipeline=HEX dataset=HEX text=...
 *
 * That of a stream has ` stream=RUN:SHARD:FIRST:ORIGIN:RECORDS` before the text: from which shard to read on, and what
 * was counted before it (leat__mark). So only shards that are still needed are inflated again. Of shards that take turns,
 * SHARD is the next to begin, and behind RECORDS follow `:AT:IN_TURN:SHARD.DEALT:SHARD.DEALT:-`, a word for each place.
 * Of combined streams there is `RUN:FIRST:ORIGIN:RECORDS` and for each part `/POSITION`, the number of its samples before,
 * with `!` if it has no more, or else with `@` and what there is of a stream. Where samples are sorted into buckets,
 * `+SKIP.SKIP` before the part says how many of each come no more.
 *
 * It is the same on all ranks: positions and batches are those of all of them together, so that another number of ranks
 * can go on from it.
 *
 * Of combined data there is a short hash of each part (parts=HEX,HEX) behind that of the whole, so that a part that has
 * changed can be named.
 *
 * Hashes decide whether it belongs to a pipeline; the text, which may be cut, tells a person what it belonged to. */
#include <stdarg.h>
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

typedef struct writer { /* of what there is of a stream */
    char *text;
    int n; /* characters that it would have */
} writer;

static void put(writer *w, const char *fmt, ...) LEAT_PRINTF(2, 3);
static void put(writer *w, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    const bool fits = w->n < STREAM_MAX;
    w->n += vsnprintf(fits ? w->text + w->n : NULL, fits ? (size_t)(STREAM_MAX - w->n) : 0, fmt, args);
    va_end(args);
}

static void write_places(writer *w, const leat__mark_node *node, const leat__mark_open *open, uint64_t n) {
    put(w, ":%" PRIu64 ":%" PRIu64, node->at, node->in_turn);
    for (uint64_t i = 0; i < n; i++) {
        if (open[i].shard == UINT64_MAX) put(w, ":-");
        else put(w, ":%" PRIx64 ".%" PRIx64, open[i].shard, open[i].dealt);
    }
}

/* Writes the nodes of a plan; *node and *open are its first, and behind its last afterwards. */
static void write_nodes(writer *w, const leat__plan *plan, const leat__mark *mark, int *node, int *open) {
    const leat__mark_node *own = &mark->node[(*node)++];
    const uint64_t places = plan->stream ? leat__plan_places(plan) : 0;
    put(w, "%" PRIu64 ":", own->iteration);
    if (plan->stream) put(w, "%" PRIu64 ":", own->shard);
    put(w, "%" PRIu64 ":%" PRIu64 ":%" PRIu64, own->first, own->origin, own->records);
    if (own->turns) write_places(w, own, mark->open + *open, places);
    if (places > 1) *open += (int)places;
    for (int b = 0; b < plan->joining.n_buckets; b++) put(w, "%c%" PRIx64, b ? '.' : '+', mark->skip[b]);
    for (int k = 0; k < plan->n_parts; k++) {
        const leat__plan *part = &plan->part[k];
        const leat__mark_node *its = &mark->node[*node];
        put(w, "/%" PRIu64 "%s", its->position, its->ended ? "!" : its->set ? "@" : "");
        if (!its->ended && its->set) write_nodes(w, part, mark, node, open);
        else *node += leat__plan_nodes(part), *open += leat__plan_turns(part);
    }
}

/* What there is of a stream, or nothing; its length. */
static int write_mark(const leat__plan *plan, const leat__mark *mark, char text[STREAM_MAX]) {
    writer w = {.text = text};
    int node = 0, open = 0;
    text[0] = 0;
    if (!mark->node[0].set) return 0;
    put(&w, " stream=");
    write_nodes(&w, plan, mark, &node, &open);
    return w.n;
}

int leat__state_write(const leat_pipeline *feed, char *text, size_t cap, leat_error *err) {
    const leat__plan *plan = &feed->plan;
    char parts[TEXT_MAX], stream[STREAM_MAX];
    const int n_stream = write_mark(plan, &feed->handed.mark, stream);
    int n_parts = write_parts(plan->source, parts);
    if (n_parts + n_stream > PARTS_ROOM)
        parts[n_parts = 0] = 0; /* where to go on is more than what has changed */
    const int left = TEXT_MAX - n_parts - n_stream;
    if (n_stream >= STREAM_MAX)
        return leat__fail(err, LEAT_ERR_LIMIT, "the state is longer than 1024 bytes: combine fewer streams");
    const int n =
        snprintf(text, cap,
                 "leat-state 1 epoch=%" PRIu64 " position=%" PRIu64 " step=%" PRIu64 " seed=%" PRIu64
                 " batch=%" PRIu64 " pipeline=%016" PRIx64 " dataset=%016" PRIx64 "%s%s text=%.*s",
                 feed->handed.epoch, feed->handed.position, feed->handed.step, plan->seed,
                 leat__plan_global_batch(plan), plan->fingerprint, plan->source->fingerprint, stream, parts,
                 LEAT_MAX(left, 0), (const char *)plan->text.data);
    if (n < 0 || (size_t)n >= cap)
        return leat__fail(err, LEAT_ERR_LIMIT, "the state needs %d bytes, there are %zu", n + 1, cap);
    return n;
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

/* A number and what stands behind it; false if there is none. */
static bool take_number(const char **at, int base, uint64_t *out, char *behind) {
    const bool digit = (**at >= '0' && **at <= '9') || (base == 16 && **at >= 'a' && **at <= 'f');
    char *end;
    if (!digit) return false;
    *out = strtoull(*at, &end, base);
    *behind = *end;
    *at = end + (*end != 0);
    return true;
}

/* The places of shards that take turns; false if they cannot be so. */
static bool read_places(const leat__plan *plan, const char **at, leat__mark_node *node, leat__mark_open *open,
                        char *behind) {
    const uint64_t cycle = leat__plan_places(plan);
    if (!take_number(at, 10, &node->at, behind) || *behind != ':' ||
        !take_number(at, 10, &node->in_turn, behind) || *behind != ':')
        return false;
    for (uint64_t i = 0; i < cycle; i++) {
        if (**at == '-') {
            open[i] = (leat__mark_open){.shard = UINT64_MAX};
            *behind = (*at)[1];
            *at += 1 + (*behind != 0);
        } else if (!take_number(at, 16, &open[i].shard, behind) || *behind != '.' ||
                   !take_number(at, 16, &open[i].dealt, behind) || open[i].shard >= node->shard) {
            return false;
        }
        for (uint64_t k = 0; k < i && open[i].shard != UINT64_MAX; k++)
            if (open[k].shard == open[i].shard) return false;
        if (i + 1 < cycle && *behind != ':') return false;
    }
    node->turns = true;
    return node->at < cycle && node->in_turn < plan->cycle_block && open[node->at].shard != UINT64_MAX;
}

static bool possible(const leat__plan *plan, const leat__mark_node *node) {
    const uint64_t known = plan->order.length[0];
    if (node->first > node->origin || node->origin == UINT64_MAX || node->records == LEAT_ENDLESS)
        return false;
    if (node->records && (node->first > node->records || (known != LEAT_ENDLESS && known != node->records)))
        return false;
    if (!plan->stream) return true;
    const uint64_t n_shards = leat__stream_shards(plan->stream);
    const bool turns = leat__plan_places(plan) > 1, none = node->shard == 0 && node->origin == 0;
    return node->shard < n_shards + node->turns && (node->turns || none || (!turns && node->shard > 0));
}

static bool read_nodes(const leat__plan *plan, const char **at, leat__mark *mark, int *node, int *open,
                       char *behind);

/* The parts of a combination: as many samples of them were dealt as of the whole. */
static bool read_parts(const leat__plan *plan, const char **at, leat__mark *mark, uint64_t origin, int *node,
                       int *open, char *behind) {
    const bool zip = plan->joining.kind == LEAT_BRANCH_ZIP;
    uint64_t sum = 0;
    for (int k = 0; k < plan->n_parts; k++) {
        const leat__plan *part = &plan->part[k];
        leat__mark_node *its = &mark->node[*node];
        const uint64_t length = leat__order_length(&part->order);
        uint64_t position;
        if (*behind != '/' || !take_number(at, 10, &position, behind)) return false;
        const bool goes_on = *behind == '@', ended = *behind == '!';
        if (goes_on && (!leat__plan_streams(part) || (position == 0 && !plan->joining.size))) return false;
        if (!goes_on && !ended && leat__plan_streams(part) && position > 0) return false;
        if (position > length || (zip && (position != origin || ended))) return false;
        if (!leat__plan_streams(part) && ended && position != length) return false;
        if (goes_on) {
            if (!read_nodes(part, at, mark, node, open, behind)) return false;
        } else {
            *node += leat__plan_nodes(part);
            *open += leat__plan_turns(part);
        }
        if (ended) {
            *behind = **at;
            *at += **at != 0;
        }
        its->position = position;
        its->ended = ended;
        sum += position;
    }
    return zip || plan->joining.size || sum == origin;
}

/* Samples that the buckets gave already. */
static bool read_skips(const leat__plan *plan, const char **at, leat__mark *mark, char *behind) {
    for (int b = 0; b < plan->joining.n_buckets; b++)
        if (*behind != (b ? '.' : '+') || !take_number(at, 16, &mark->skip[b], behind)) return false;
    return true;
}

/* As write_nodes; behind: the character behind it. False if it cannot be. */
static bool read_nodes(const leat__plan *plan, const char **at, leat__mark *mark, int *node, int *open,
                       char *behind) {
    leat__mark_node *own = &mark->node[(*node)++];
    uint64_t *const numbers[] = {&own->iteration, &own->shard, &own->first, &own->origin, &own->records};
    const uint64_t places = plan->stream ? leat__plan_places(plan) : 0;
    *behind = ':';
    for (size_t i = 0; i < LEAT_COUNT(numbers); i++) {
        if (i == 1 && !plan->stream) continue;
        if (*behind != ':' || !take_number(at, 10, numbers[i], behind)) return false;
    }
    own->set = true;
    if (*behind == ':' && (places < 2 || !read_places(plan, at, own, mark->open + *open, behind)))
        return false;
    if (places > 1) *open += (int)places;
    if (!possible(plan, own) || !read_skips(plan, at, mark, behind)) return false;
    return !plan->n_parts || read_parts(plan, at, mark, own->origin, node, open, behind);
}

/* What it says of a stream; false if that cannot be. */
static bool read_mark(const leat_pipeline *feed, const char *text, const char *end, leat__mark *mark) {
    static const char key[] = " stream=";
    const char *at = strstr(text, key);
    int node = 0, open = 0;
    char behind;
    *mark = (leat__mark){0};
    if (!at || at >= end) return true; /* from its beginning */
    at += sizeof key - 1;
    return feed->stream && read_nodes(&feed->plan, &at, mark, &node, &open, &behind) && behind == ' ';
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

int leat__state_read(const leat_pipeline *feed, const char *text, leat__cursor *out, leat_error *err) {
    const leat__plan *plan = &feed->plan;
    uint64_t seed, batch, pipeline, dataset;
    const char *was = strstr(text, " text=");
    if (strncmp(text, "leat-state 1 ", 13) != 0 || !was || !number_of(text, "epoch", 10, &out->epoch) ||
        !number_of(text, "position", 10, &out->position) || !number_of(text, "step", 10, &out->step) ||
        !number_of(text, "seed", 10, &seed) || !number_of(text, "batch", 10, &batch) ||
        !number_of(text, "pipeline", 16, &pipeline) || !number_of(text, "dataset", 16, &dataset))
        return leat__fail(err, LEAT_ERR_STATE,
                          "this is not the state of a pipeline: it must begin with 'leat-state 1 epoch='");
    if (seed != plan->seed)
        return leat__fail(err, LEAT_ERR_STATE,
                          "the state was saved with seed %" PRIu64 ", this pipeline has seed %" PRIu64, seed,
                          plan->seed);
    LEAT_TRY(check_pipeline(plan, pipeline, batch, was + 6, err));
    if (dataset != plan->source->fingerprint) return fail_data(plan->source, text, err);
    const uint64_t length = leat__order_length(&plan->order);
    if (!read_mark(feed, text, was, &out->mark))
        return leat__fail(err, LEAT_ERR_STATE, "the state is damaged: what it says of the stream cannot be");
    if (out->position > length || out->step > out->position)
        return leat__fail(err, LEAT_ERR_STATE, "the state is damaged: position %" PRIu64 " of %" PRIu64,
                          out->position, length);
    return 0;
}
