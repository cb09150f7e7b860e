/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/feed.h"

#include "engine/select.h"
#include "source/shard.h"

#include <stdio.h>

/* Records that the window may be ahead of what is needed, at the most; bytes of a block. */
enum { AHEAD_MAX = 65536, BLOCK_BYTES = 1 << 18, BLOCK_BYTES_MIN = 1 << 14, BLOCK_RECORDS = 1024 };
enum { LANES_MAX = 16 };

typedef struct leat__feed_block block;
struct leat__feed_block {
    leat__block content;
    uint64_t run;   /* how often the stream was begun before, counted by this feed */
    uint64_t first; /* number of its first record in the run                       */
    size_t refs;    /* records that were taken and not given back                  */
    size_t held;    /* bytes of memory                                             */
    bool in_window;
    block *next; /* in its lane, or among those that are free */
    block *all;  /* the next of all there are                 */
};

typedef struct lane {
    leat__shard_reader *reader;
    leat__tools *tools; /* for filters; NULL without them                                  */
    uint64_t turn;      /* which shard of which run: run * n_shards + shard                */
    uint64_t version;   /* changes when the turn does                                      */
    bool begun, ended;  /* the shard; ended: its last block is among these                 */
    bool busy;          /* somebody reads                                                  */
    block *first, *last;
    size_t bytes; /* of these blocks                                                       */
} lane;

typedef struct shard_begin { /* records of a run before it; UINT64_MAX = not known yet */
    uint64_t first, origin;
} shard_begin;

struct leat__feed {
    leat__plan *plan;
    leat__cond idle; /* readers without work */
    int n_idle;
    bool idle_made;
    int n_lanes;
    lane lane[LANES_MAX]; /* lane[turn % n_lanes] for front <= turn < front + n_lanes */
    uint64_t front;       /* the turn whose blocks go into the window now             */
    uint64_t n_shards;
    shard_begin *begin; /* (n_shards) */
    uint64_t needs;     /* records of a run that the order can ask for at all */
    /* The window: block[i % cap] for tail <= i < head. */
    block **block;
    size_t cap;
    uint64_t tail, head;
    uint64_t n_window;   /* records in it             */
    uint64_t window_max; /* records ahead of the floor */
    block *spare, *all;
    /* Where the window ends. */
    uint64_t run, next_record;
    uint64_t origin; /* records of the run so far, those that a filter dropped too */
    bool run_ended;
    leat__mark from;     /* where the first run began         */
    uint64_t runs_total; /* LEAT_ENDLESS if so                */
    uint64_t seen;       /* most records that a run has shown so far */
    uint64_t to_see;     /* the order wants to know whether there are so many; 0 = it does not */
    /* The order's side: the run that positions are in. */
    uint64_t at_run, floor;
    uint64_t iteration; /* the order's name for that run */
    bool began;
    uint64_t awaited; /* the readers wake the workers at this record */
    uint64_t n_taken; /* records that were not given back yet */
    size_t block_bytes;
    size_t bytes_max;   /* of all blocks                                            */
    size_t used_max;    /* of those in the window or with records that were taken   */
    size_t ahead_max;   /* of those in one lane behind the front                    */
    size_t bytes, used; /* now                                                      */
    uint64_t bytes_read;
    leat_error broken; /* why nothing more can come */
};

/* ---------------------------------------------------------------------------------------------- new */

static uint64_t count_runs(const leat__plan *plan, const leat_config *config) {
    uint64_t runs = config->n_epochs < 0 || plan->turns < 0
                        ? LEAT_ENDLESS
                        : (uint64_t)LEAT_MAX(config->n_epochs, 1) * (uint64_t)plan->turns;
    for (int i = 0; i < plan->order.n_verbs; i++) {
        if (plan->order.verb[i].kind != LEAT_ORDER_REPEAT || runs == LEAT_ENDLESS) continue;
        if (__builtin_mul_overflow(runs, plan->order.verb[i].count, &runs)) runs = LEAT_ENDLESS;
    }
    return runs;
}

/* Whether a filter asks for the number of the record, which is known only when all shards before it were read. */
static bool filters_count(const leat__plan *plan) {
    for (int i = 0; i < plan->n_filters; i++) {
        const leat__question *question = plan->filter[i];
        if (question->kind == LEAT_ASK_PROGRAM || question->called_before) return true;
        for (int k = 0; k < plan->n_steps; k++)
            if (question->step[k] && plan->step[k].kind == LEAT_STEP_ENUMERATE) return true;
    }
    return false;
}

static void size_memory(leat__feed *feed, int n_readers) {
    feed->bytes_max = feed->plan->budget / 4;
    feed->block_bytes = LEAT_CLAMP(feed->bytes_max / 16, (size_t)BLOCK_BYTES_MIN, (size_t)BLOCK_BYTES);
    uint64_t lanes = LEAT_MIN((uint64_t)LEAT_CLAMP(n_readers, 1, LANES_MAX), feed->n_shards);
    /* Half is for the window, half for the shards behind the one that is due. */
    lanes = LEAT_MIN(lanes, feed->bytes_max / 2 / feed->block_bytes);
    if (filters_count(feed->plan)) lanes = 1;
    feed->n_lanes = (int)LEAT_MAX(lanes, (uint64_t)1);
    feed->used_max = feed->n_lanes > 1 ? feed->bytes_max / 2 : feed->bytes_max;
    feed->ahead_max = feed->n_lanes > 1 ? feed->bytes_max / 2 / ((size_t)feed->n_lanes - 1) : 0;
    feed->cap = feed->used_max / feed->block_bytes + 4;
}

static int allocate(leat__feed *feed, leat_error *err) {
    LEAT_TRY(leat__cond_init(&feed->idle, err));
    feed->idle_made = true;
    feed->block = leat__alloc(LEAT_MEM_WINDOW, feed->cap * sizeof *feed->block);
    feed->begin = leat__alloc(LEAT_MEM_WINDOW, feed->n_shards * sizeof *feed->begin);
    if (!feed->block || !feed->begin)
        return leat__fail_memory(err, feed->cap * sizeof *feed->block, "a stream");
    for (uint64_t i = 0; i < feed->n_shards; i++) feed->begin[i] = (shard_begin){UINT64_MAX, UINT64_MAX};
    for (int i = 0; i < feed->n_lanes; i++) {
        lane *l = &feed->lane[i];
        l->reader = leat__shard_reader_new(feed->plan->stream, err);
        if (!l->reader) return LEAT_ERR_MEMORY;
        if (!feed->plan->n_filters) continue;
        l->tools = leat__alloc(LEAT_MEM_WINDOW, sizeof *l->tools);
        if (!l->tools) return leat__fail_memory(err, sizeof *l->tools, "a filter");
        LEAT_TRY(leat__tools_init(l->tools, feed->plan, NULL, err));
    }
    return 0;
}

int leat__feed_new(leat__feed **out, leat__plan *plan, const leat_config *config, int n_readers,
                   leat_error *err) {
    *out = NULL;
    leat__feed *feed = leat__alloc(LEAT_MEM_WINDOW, sizeof *feed);
    if (!feed) return leat__fail_memory(err, sizeof *feed, "a stream");
    feed->plan = plan;
    feed->n_shards = leat__stream_shards(plan->stream);
    feed->runs_total = count_runs(plan, config);
    feed->needs = leat__order_needs(&plan->order);
    size_memory(feed, n_readers);
    /* What one position may need must fit at any time; what the next batches need should. */
    const uint64_t need = leat__order_reach(&plan->order, 1),
                   ahead = leat__order_reach(&plan->order, 2 * (uint64_t)plan->batch);
    int rc = 0;
    if (need >= feed->used_max / sizeof(leat__block_record))
        rc = leat__fail(err, LEAT_ERR_MEMORY,
                        "a window of %" PRIu64
                        " records does not fit into the budget: use a smaller shuffle window",
                        need);
    feed->window_max = need + LEAT_MIN(ahead, (uint64_t)AHEAD_MAX) + 64;
    if (rc == 0) rc = allocate(feed, err);
    if (rc < 0) leat__feed_free(&feed);
    else leat__feed_reset(feed, &(leat__cursor){0});
    *out = feed;
    return rc;
}

void leat__feed_free(leat__feed **handle) {
    leat__feed *feed = *handle;
    if (!feed) return;
    for (block *b = feed->all, *next; b; b = next) {
        next = b->all;
        leat__block_free(&b->content);
        leat__free(b);
    }
    for (int i = 0; i < feed->n_lanes; i++) {
        leat__shard_reader_free(&feed->lane[i].reader);
        if (feed->lane[i].tools) leat__tools_free(feed->lane[i].tools);
        leat__free(feed->lane[i].tools);
    }
    if (feed->idle_made) pthread_cond_destroy(&feed->idle);
    leat__free(feed->begin);
    leat__free(feed->block);
    leat__free(feed);
    *handle = NULL;
}

int leat__feed_readers(const leat__feed *feed) {
    return feed->n_lanes;
}

void leat__feed_wait(leat__feed *feed, leat__mutex *mutex) {
    feed->n_idle++;
    leat__cond_wait(&feed->idle, mutex);
    feed->n_idle--;
}

void leat__feed_wake(leat__feed *feed) {
    if (feed->n_idle) pthread_cond_broadcast(&feed->idle);
}

/* ------------------------------------------------------------------------------------------- blocks */

static block *new_block(leat__feed *feed) {
    block *b = feed->spare;
    if (b) {
        feed->spare = b->next;
        return b;
    }
    b = leat__alloc(LEAT_MEM_WINDOW, sizeof *b);
    if (!b) return NULL;
    b->content.bytes.kind = b->content.records.kind = b->content.errors.kind = LEAT_MEM_WINDOW;
    b->all = feed->all;
    feed->all = b;
    return b;
}

static void count_bytes(leat__feed *feed, block *b) {
    const size_t held = b->content.bytes.cap + b->content.records.cap + b->content.errors.cap;
    feed->bytes += held - b->held;
    b->held = held;
}

static void recycle(leat__feed *feed, block *b) {
    /* One that had to grow for a large record is not kept at the expense of others. */
    if (feed->bytes > feed->bytes_max && b->held > 2 * feed->block_bytes) {
        leat__block_free(&b->content);
        count_bytes(feed, b);
    }
    b->content.n = 0;
    b->next = feed->spare;
    feed->spare = b;
}

static void release(leat__feed *feed, block *b) {
    if (b->refs || b->in_window) return;
    feed->used -= b->held;
    recycle(feed, b);
    leat__feed_wake(feed);
}

static block *window_at(const leat__feed *feed, uint64_t i) {
    return feed->block[i % feed->cap];
}

static void drop_tail(leat__feed *feed) {
    block *b = window_at(feed, feed->tail++);
    b->in_window = false;
    feed->n_window -= b->content.n;
    release(feed, b);
}

/* Lets go of what no position can need any more. */
static void free_tail(leat__feed *feed) {
    while (feed->tail < feed->head) {
        const block *b = window_at(feed, feed->tail);
        if (b->run > feed->at_run || (b->run == feed->at_run && b->first + b->content.n > feed->floor))
            return;
        drop_tail(feed);
    }
}

/* -------------------------------------------------------------------------------------------- lanes */

static void set_turn(leat__feed *feed, lane *l, uint64_t turn) {
    for (block *b = l->first, *next; b; b = next) {
        next = b->next;
        recycle(feed, b);
    }
    l->first = l->last = NULL;
    l->bytes = 0;
    l->turn = turn;
    l->version++;
    l->begun = l->ended = false;
}

/* What lies before that turn is done with. */
static void move_front(leat__feed *feed, uint64_t front) {
    const uint64_t n = (uint64_t)feed->n_lanes, from = feed->front;
    feed->front = front;
    for (uint64_t turn = from; turn < from + n; turn++)
        if (turn < front) set_turn(feed, &feed->lane[turn % n], front + (turn % n + n - front % n) % n);
    leat__feed_wake(feed);
}

/* Reads a run once more, from where it began. */
static void begin_again(leat__feed *feed, uint64_t run, leat__mark from) {
    const uint64_t n = (uint64_t)feed->n_lanes;
    while (feed->tail < feed->head) drop_tail(feed);
    feed->front = run * feed->n_shards + from.shard;
    for (uint64_t turn = feed->front; turn < feed->front + n; turn++)
        set_turn(feed, &feed->lane[turn % n], turn);
    feed->run = run;
    feed->run_ended = false;
    feed->next_record = from.first;
    feed->origin = from.origin;
    feed->begin[from.shard] = (shard_begin){from.first, from.origin};
    leat__feed_wake(feed);
}

static bool length_known(const leat__feed *feed) {
    return feed->plan->order.length[0] != LEAT_ENDLESS;
}

static void learn_length(leat__feed *feed, uint64_t n) {
    feed->plan->source->n_samples = n;
    leat__order_set_source(&feed->plan->order, n);
}

void leat__feed_reset(leat__feed *feed, const leat__cursor *cursor) {
    const leat__mark *mark = &cursor->mark;
    feed->from = *mark;
    feed->at_run = feed->to_see = 0;
    feed->floor = mark->first;
    feed->iteration = mark->iteration;
    feed->began = mark->set;
    feed->broken = (leat_error){0};
    if (mark->records && !length_known(feed)) learn_length(feed, mark->records);
    /* The batch before could be made only because so much had been seen. */
    if (mark->set && cursor->position > 0)
        feed->seen = LEAT_MAX(feed->seen,
                              leat__order_span(&feed->plan->order, cursor->epoch, cursor->position - 1).seen);
    begin_again(feed, 0, *mark);
}

/* The order asks how much there is, and only reading tells. */
static bool counting(const leat__feed *feed) {
    return feed->to_see > feed->seen && !length_known(feed);
}

/* The window has no room for another block. */
static bool full(const leat__feed *feed) {
    uint64_t ahead = feed->n_window;
    if (feed->tail < feed->head) {
        const block *b = window_at(feed, feed->tail);
        if (b->run == feed->at_run && feed->floor > b->first)
            ahead -= LEAT_MIN(feed->floor - b->first, (uint64_t)b->content.n);
    }
    return ahead >= feed->window_max || feed->used >= feed->used_max || feed->head - feed->tail == feed->cap;
}

/* Whether a shard should be read before its turn. */
static bool worth_it(const leat__feed *feed, const lane *l) {
    if (counting(feed) || l->bytes + feed->block_bytes > feed->ahead_max) return false;
    const uint64_t first = feed->begin[l->turn % feed->n_shards].first;
    return feed->needs == LEAT_ENDLESS || (first != UINT64_MAX && first < feed->needs);
}

static lane *choose_lane(const leat__feed *feed) {
    const uint64_t runs = LEAT_MAX(feed->runs_total, feed->at_run + 1);
    if (feed->broken.code) return NULL;
    for (uint64_t turn = feed->front; turn < feed->front + (uint64_t)feed->n_lanes; turn++) {
        const lane *l = &feed->lane[turn % (uint64_t)feed->n_lanes];
        if (turn / feed->n_shards >= runs) break;
        if (l->busy || l->ended) continue;
        if (turn == feed->front ? counting(feed) || !full(feed) : worth_it(feed, l)) return (lane *)l;
    }
    return NULL;
}

bool leat__feed_hungry(const leat__feed *feed) {
    return choose_lane(feed) != NULL;
}

/* ------------------------------------------------------------------------------------------- window */

/* A run has ended: from the first time on the order knows how long the stream is. */
static void end_run(leat__feed *feed) {
    const leat__source *source = feed->plan->source;
    feed->run_ended = true;
    if (feed->next_record == 0 && feed->origin > 0)
        leat__fail(&feed->broken, LEAT_ERR_NOT_FOUND,
                   "no sample is left: %s, and filter keeps none of %" PRIu64 " records", source->title,
                   feed->origin);
    else if (feed->next_record == 0)
        leat__fail(&feed->broken, LEAT_ERR_NOT_FOUND, "%s holds no record", source->title);
    else if (!length_known(feed)) learn_length(feed, feed->next_record);
    else if (feed->plan->order.length[0] != feed->next_record)
        leat__fail(&feed->broken, LEAT_ERR_IO,
                   "%s: it had %" PRIu64 " records before and has %" PRIu64
                   " now: files changed while they were read",
                   source->title, feed->plan->order.length[0], feed->next_record);
}

/* Numbers the records of a block and makes it the window's last one. */
static void add_block(leat__feed *feed, block *b) {
    for (size_t i = 0; i < b->content.n; i++) leat__block_at(&b->content, i)->origin += feed->origin;
    feed->n_window += b->content.n;
    block *last = feed->tail < feed->head ? window_at(feed, feed->head - 1) : NULL;
    /* Small shards share a block. */
    if (last && last->run == feed->run && leat__block_append(&last->content, &b->content)) {
        recycle(feed, b);
        return;
    }
    b->run = feed->run;
    b->first = feed->next_record;
    b->in_window = true;
    feed->used += b->held;
    feed->block[feed->head++ % feed->cap] = b;
}

/* The front lane's shard is done. */
static void end_shard(leat__feed *feed) {
    move_front(feed, feed->front + 1);
    const uint64_t shard = feed->front % feed->n_shards;
    if (shard == 0) end_run(feed);
    else feed->begin[shard] = (shard_begin){feed->next_record, feed->origin};
}

static void begin_run(leat__feed *feed) {
    feed->run = feed->front / feed->n_shards;
    feed->run_ended = false;
    feed->next_record = feed->origin = 0;
    feed->begin[0] = (shard_begin){0, 0};
}

/* Puts blocks whose turn it is into the window. */
static void merge(leat__feed *feed) {
    while (!feed->broken.code) {
        lane *l = &feed->lane[feed->front % (uint64_t)feed->n_lanes];
        block *b = l->first;
        if (!b && !l->ended) return;
        const bool only_count = counting(feed);
        if (b && !only_count && full(feed)) return;
        if (feed->front / feed->n_shards != feed->run) begin_run(feed);
        if (!b) {
            end_shard(feed);
        } else {
            l->first = b->next;
            l->bytes -= b->held;
            const uint64_t n = b->content.n, n_read = b->content.n_read;
            if (n == 0 || only_count) recycle(feed, b);
            else add_block(feed, b);
            feed->next_record += n;
            feed->origin += n_read;
            feed->seen = LEAT_MAX(feed->seen, feed->next_record);
            free_tail(feed); /* the order may be farther already */
        }
        if (only_count && !counting(feed)) { /* that was it: now for the records themselves */
            begin_again(feed, feed->run, feed->run == 0 ? feed->from : (leat__mark){0});
            return;
        }
    }
}

/* -------------------------------------------------------------------------------------------- read */

/* Takes out what the filters do not want; base is the number of the block's first record. */
static int filter(lane *l, leat__block *content, uint64_t base, leat_error *err) {
    size_t kept = 0;
    for (size_t i = 0; i < content->n; i++) {
        const leat__block_record record = *leat__block_at(content, i);
        const leat__value value = {.data = content->bytes.data + record.offset,
                                   .bytes = record.size,
                                   .dtype = LEAT_DTYPE_BYTES,
                                   .ndim = 1,
                                   .shape = {(int64_t)record.size}};
        const leat__stream_place from = {.shard = record.shard, .record = record.record};
        const leat__where at = {.record = &value, .from = &from, .sample = base + i};
        const int keeps = record.bad ? 1 : leat__stream_keeps(l->tools, &at, err);
        if (keeps < 0) return keeps; /* nobody knows whether it counts */
        if (keeps) *leat__block_at(content, kept++) = record;
    }
    content->n = kept;
    return 0;
}

static int read_block(leat__feed *feed, lane *l, block *b, bool begin, uint64_t turn, uint64_t base,
                      leat_error *err) {
    leat__block *content = &b->content;
    if (!leat__buf_reserve(&content->records, BLOCK_RECORDS * sizeof(leat__block_record)))
        return leat__fail_memory(err, BLOCK_RECORDS * sizeof(leat__block_record), "records");
    if (begin) leat__shard_begin(l->reader, (size_t)(turn % feed->n_shards));
    const int rc = leat__shard_read(l->reader, content, feed->block_bytes, err);
    if (rc < 0) return rc;
    for (size_t i = 0; i < content->n; i++) leat__block_at(content, i)->origin = i;
    if (l->tools) LEAT_TRY(filter(l, content, base, err));
    return rc;
}

void leat__feed_read(leat__feed *feed, leat__mutex *mutex) {
    lane *l = choose_lane(feed);
    block *b = new_block(feed);
    leat_error err;
    if (!b) {
        leat__fail_memory(&feed->broken, sizeof *b, "records");
        return;
    }
    const bool begin = !l->begun;
    const uint64_t version = l->version, turn = l->turn, read_before = leat__shard_bytes_read(l->reader);
    /* Right for a feed with one lane only; with more nobody asks. */
    const uint64_t base = turn / feed->n_shards == feed->run && !feed->run_ended ? feed->origin : 0;
    l->begun = l->busy = true;
    leat__unlock(mutex);
    const int rc = read_block(feed, l, b, begin, turn, base, &err);
    leat__lock(mutex);
    l->busy = false;
    feed->bytes_read += leat__shard_bytes_read(l->reader) - read_before;
    count_bytes(feed, b);
    if (l->version != version || rc < 0) {
        recycle(feed, b);
        if (l->version == version && !feed->broken.code) feed->broken = err;
        leat__feed_wake(feed);
        return;
    }
    l->ended = rc == 1;
    b->next = NULL;
    if (l->first) l->last->next = b;
    else l->first = b;
    l->last = b;
    l->bytes += b->held;
    if (turn == feed->front) merge(feed);
}

/* -------------------------------------------------------------------------------------------- take */

static int look(leat__feed *feed, uint64_t epoch, uint64_t position, int n_own, leat_error *err) {
    const leat__span_of_order span = leat__order_span(&feed->plan->order, epoch, position);
    if (feed->began && span.iteration != feed->iteration) {
        feed->at_run++;
        feed->floor = 0;
        if (feed->front / feed->n_shards < feed->at_run) move_front(feed, feed->at_run * feed->n_shards);
    }
    feed->began = true;
    feed->iteration = span.iteration;
    feed->floor = LEAT_MAX(feed->floor, span.floor);
    feed->to_see = span.seen;
    if (feed->at_run == 0 && span.floor < feed->from.first)
        return leat__fail(err, LEAT_ERR_STATE,
                          "the state is damaged: it goes on with record %" PRIu64
                          " of a stream, and from a shard that begins with %" PRIu64,
                          span.floor, feed->from.first);
    free_tail(feed);
    merge(feed);
    if (feed->broken.code) {
        *err = feed->broken;
        return err->code;
    }
    if (counting(feed)) return 0;
    if (feed->run > feed->at_run ||
        (feed->run == feed->at_run && (feed->run_ended || feed->next_record >= span.ceil)))
        return 1;
    /* Batches that are being worked on will give memory back. */
    if (!full(feed) || feed->run < feed->at_run || feed->n_taken > (uint64_t)n_own) return 0;
    return leat__fail(err, LEAT_ERR_MEMORY,
                      "the records of a batch and its shuffle window take more than %.0f MB, the budget for "
                      "them: use a smaller window or raise memory_max_bytes (--memory)",
                      (double)feed->used_max / 1e6);
}

int leat__feed_ready(leat__feed *feed, uint64_t epoch, uint64_t position, int n_own, leat_error *err) {
    const bool known = length_known(feed);
    int rc = look(feed, epoch, position, n_own, err);
    /* It has just become known how long the stream is: the position may lead elsewhere. */
    if (rc >= 0 && length_known(feed) != known) rc = look(feed, epoch, position, n_own, err);
    if (feed->n_idle && leat__feed_hungry(feed)) leat__feed_wake(feed);
    return rc;
}

void leat__feed_await(leat__feed *feed, uint64_t epoch, uint64_t position) {
    const leat__span_of_order span = leat__order_span(&feed->plan->order, epoch, position);
    feed->awaited = span.iteration == feed->iteration ? span.ceil : LEAT_ENDLESS;
}

bool leat__feed_awaited(const leat__feed *feed) {
    if (feed->broken.code) return true;
    if (counting(feed)) return false;
    return feed->run > feed->at_run ||
           (feed->run == feed->at_run && (feed->run_ended || feed->next_record >= feed->awaited)) ||
           full(feed);
}

int leat__feed_take(leat__feed *feed, leat__place place, leat__record *out, leat_error *err) {
    /* Runs lie one after the other: look for the block by bisection on (run, record). */
    uint64_t low = feed->tail, high = feed->head;
    while (low < high) {
        const uint64_t mid = low + (high - low) / 2;
        const block *b = window_at(feed, mid);
        if (b->run < feed->at_run || (b->run == feed->at_run && b->first + b->content.n <= place.sample))
            low = mid + 1;
        else high = mid;
    }
    block *b = low < feed->head ? window_at(feed, low) : NULL;
    if (!b || b->run != feed->at_run || place.sample < b->first)
        return leat__fail(err, LEAT_ERR_STATE,
                          "the state is damaged: it leads to record %" PRIu64
                          " of a stream, which is not where it says",
                          place.sample);
    const size_t i = (size_t)(place.sample - b->first);
    const leat__block_record *record = leat__block_at(&b->content, i);
    *out = (leat__record){.data = b->content.bytes.data + record->offset,
                          .bytes = record->size,
                          .origin = record->origin,
                          .from = {.shard = record->shard, .record = record->record},
                          .bad = leat__block_error(&b->content, i),
                          .block = b};
    b->refs++;
    feed->n_taken++;
    return 0;
}

int leat__feed_take_others(leat__feed *feed, uint64_t epoch, uint64_t position, uint64_t draw,
                           leat__record *out, int n) {
    enum { LOOKS = 64 };
    const leat__order *order = &feed->plan->order;
    const leat__span_of_order span = leat__order_span(order, epoch, position);
    /* Where the stream has ended is known for certain here, or it does not end before the window. */
    const uint64_t ceil = LEAT_MIN(span.ceil, order->length[0]);
    if (ceil < span.floor + 2) return 0;
    const uint64_t size = ceil - span.floor;
    int taken = 0;
    for (uint64_t i = 0; i < LEAT_MIN(size, (uint64_t)LOOKS) && taken < n; i++) {
        const leat__place place = {.sample = span.floor + (draw % size + i) % size};
        if (leat__feed_take(feed, place, &out[taken], NULL) < 0) break;
        if (out[taken].bad) leat__feed_give(feed, &out[taken]);
        else taken++;
    }
    return taken;
}

void leat__feed_give(leat__feed *feed, leat__record *record) {
    block *b = record->block;
    *record = (leat__record){0};
    if (!b) return;
    feed->n_taken--;
    b->refs--;
    release(feed, b);
}

/* ------------------------------------------------------------------------------------------ where */

/* The last shard of the run that begins at or before a record; origin tells which number it is. */
static uint64_t shard_of(const leat__feed *feed, uint64_t low, uint64_t high, uint64_t number, bool origin) {
    while (high - low > 1) {
        const uint64_t mid = low + (high - low) / 2;
        const uint64_t first = origin ? feed->begin[mid].origin : feed->begin[mid].first;
        if (first <= number) low = mid;
        else high = mid;
    }
    return low;
}

leat__mark leat__feed_mark(const leat__feed *feed, uint64_t epoch, uint64_t position) {
    const leat__order *order = &feed->plan->order;
    const leat__span_of_order span = leat__order_span(order, epoch, position);
    const uint64_t low = feed->at_run == 0 ? feed->from.shard : 0;
    /* Shards that were not come to yet begin at UINT64_MAX, or where they did in an earlier run. */
    const uint64_t shard = shard_of(feed, low, feed->n_shards, span.floor, false);
    return (leat__mark){.set = true,
                        .iteration = span.iteration,
                        .shard = shard,
                        .first = feed->begin[shard].first,
                        .origin = feed->begin[shard].origin,
                        .records = leat__order_needs_length(order, epoch, position) ? order->length[0] : 0};
}

uint64_t leat__feed_bytes_read(const leat__feed *feed) {
    return feed->bytes_read;
}

void leat__feed_describe(const leat__feed *feed, uint64_t origin, char *text, size_t cap) {
    uint64_t low = 0;
    while (low < feed->n_shards && feed->begin[low].origin > origin) low++; /* what was never read */
    if (low == feed->n_shards) {
        feed->plan->source->class->describe(feed->plan->source, origin, text, cap);
        return;
    }
    const uint64_t shard = shard_of(feed, low, feed->n_shards, origin, true);
    leat__stream_describe(feed->plan->stream, (size_t)shard, origin - feed->begin[shard].origin, text, cap);
}
