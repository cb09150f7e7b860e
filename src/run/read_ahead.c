/* SPDX-License-Identifier: Apache-2.0 */
#include "run/read_ahead.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/limits.h"
#include "run/pipeline.h"

enum {
    CELLS = 2 * LEAT_READING_MAX,
    PIECES = 2 * CELLS + 2,
    JOINED_MAX = 32,
    JOINED_BYTES = 1 << 20,
    FILES_EACH = 4,
    NETWORK_STACK = 1 << 20
};

typedef enum cell_state {
    CELL_READING,
    CELL_READY,
    CELL_TAKEN, /* a worker looks at it                                      */
    CELL_GONE,  /* could not be read, or did not fit: the worker's own to do */
    CELL_DONE   /* its worker has been here                                  */
} cell_state;

struct leat__read_ahead_cell {
    cell_state state;
    uint64_t epoch, position;
    uint64_t estimate; /* bytes it was counted with */
    uint64_t piece;    /* number of its piece of the ring */
    bool has_piece;
    bool wanted;        /* a worker waits until it has been read */
    leat__value *value; /* (n_fields) */
};

typedef struct piece { /* a run of bytes of the ring, in the order in which they were handed out */
    size_t begin, end;
    bool free;
} piece;

typedef struct helper { /* one thread */
    leat__read_ahead *read_ahead;
    int number;
    leat__reader reader;
    uint64_t high_version; /* of the high-water mark it has adopted; UINT64_MAX before it is ready */
    uint64_t bytes_read;   /* as others may see it */
    leat__waits waits;
} helper;

struct leat__read_ahead {
    leat_pipeline *pipeline;
    /* Helpers: there may be something to read; they take part again; workers: something was read. */
    leat__cond room, parked, done;
    bool made;
    int n_active; /* helpers with a number below it read */
    int n_started;
    int n_affordable; /* their buffers fit the budget */
    int n_idle;       /* active helpers that wait for room */
    helper helper[LEAT_READING_MAX];
    /* What comes next: place `place` of the batch that begins there. */
    leat__cursor batch;
    int place;
    bool begun;
    leat__read_ahead_cell
        *cell; /* [CELLS]: cell[i % CELLS] for tail <= i < head, in the order of positions */
    uint64_t tail, head;
    leat__value *values;
    uint8_t *bytes; /* the ring */
    size_t cap;
    size_t write; /* where the next piece begins */
    piece piece[PIECES];
    uint64_t piece_tail, piece_head;
    uint64_t group_iteration, group; /* of a shuffle by blocks, that storage was told of last */
    bool told;
    uint64_t estimated;  /* bytes of all cells, as far as one can tell before they are read */
    uint64_t mean_bytes; /* of samples lately */
    uint64_t taken;
    uint64_t n_reads, read_ns, blocked_ns;
};

/* ---------------------------------------------------------------------------------------- open, close */

int leat__read_ahead_new(leat__read_ahead **out, leat_pipeline *pipeline, leat_error *err) {
    *out = NULL;
    if (pipeline->plan.stream || pipeline->plan.read_ahead == 0 || pipeline->plan.source->no_read_ahead ||
        pipeline->config.synchronous)
        return 0;
    leat__read_ahead *a = leat__alloc(LEAT_MEM_WORKER, sizeof *a);
    if (!a) return leat__fail_memory(err, sizeof *a, "read-ahead");
    a->pipeline = pipeline;
    a->cap = pipeline->plan.budget.read_ahead;
    a->n_affordable = LEAT_READING_MAX;
    leat__cond *const conds[] = {&a->room, &a->parked, &a->done};
    for (int i = 0; i < (int)LEAT_COUNT(conds); i++) {
        const int rc = leat__cond_init(conds[i], err);
        if (rc == 0) continue;
        while (i-- > 0) pthread_cond_destroy(conds[i]);
        leat__free(a);
        return rc;
    }
    *out = a;
    return 0;
}

void leat__read_ahead_free(leat__read_ahead **handle) {
    leat__read_ahead *a = *handle;
    if (!a) return;
    for (int i = 0; i < LEAT_READING_MAX; i++)
        if (a->helper[i].read_ahead) leat__reader_free(a->pipeline->plan.source, &a->helper[i].reader);
    if (a->bytes) leat__free_pages(a->bytes);
    leat__free(a->values);
    leat__free(a->cell);
    pthread_cond_destroy(&a->room);
    pthread_cond_destroy(&a->parked);
    pthread_cond_destroy(&a->done);
    leat__free(a);
    *handle = NULL;
}

/* Memory is not there before the first thread is. */
static bool make_room(leat__read_ahead *a) {
    if (a->made) return true;
    const size_t n_fields = (size_t)a->pipeline->plan.source->n_fields;
    if (!a->cell) a->cell = leat__alloc(LEAT_MEM_WORKER, CELLS * sizeof *a->cell);
    if (!a->values) a->values = leat__alloc(LEAT_MEM_WORKER, CELLS * n_fields * sizeof *a->values);
    if (!a->bytes) a->bytes = leat__alloc_pages(a->cap);
    a->made = a->cell && a->values && a->bytes;
    for (size_t i = 0; i < CELLS && a->made; i++) a->cell[i].value = a->values + i * n_fields;
    return a->made;
}

void leat__read_ahead_clear(leat__read_ahead *a) {
    a->begun = a->told = false;
    a->tail = a->head = a->piece_tail = a->piece_head = 0;
    a->write = 0;
    a->estimated = 0;
    leat__read_ahead_wake(a);
}

void leat__read_ahead_wake(leat__read_ahead *a) {
    pthread_cond_broadcast(&a->room);
    pthread_cond_broadcast(&a->parked);
}

/* ------------------------------------------------------------------------------------------ the ring */

static piece *piece_at(leat__read_ahead *a, uint64_t i) {
    return &a->piece[i % PIECES];
}

static void push_piece(leat__read_ahead *a, size_t begin, size_t end, bool free) {
    *piece_at(a, a->piece_head++) = (piece){begin, end, free};
    a->write = end;
}

/* Bytes one behind the other; false if there is no room for them now. */
static bool take_bytes(leat__read_ahead *a, size_t n, uint64_t *number) {
    if (a->piece_tail == a->piece_head) a->write = 0;
    const bool any = a->piece_tail < a->piece_head;
    const size_t oldest = any ? piece_at(a, a->piece_tail)->begin : 0;
    if (n > a->cap || a->piece_head - a->piece_tail + 2 > PIECES) return false;
    if (!any || a->write > oldest) {
        if (a->cap - a->write < n) { /* what is left at the end stays empty */
            if (oldest <= n) return false;
            push_piece(a, a->write, a->cap, true);
            a->write = 0;
        }
    } else if (oldest - a->write <= n) return false; /* a full ring must not look like an empty one */
    *number = a->piece_head;
    push_piece(a, a->write, a->write + n, false);
    return true;
}

static void free_bytes(leat__read_ahead *a, uint64_t number) {
    piece_at(a, number)->free = true;
    while (a->piece_tail < a->piece_head && piece_at(a, a->piece_tail)->free) a->piece_tail++;
}

/* ------------------------------------------------------------------------------------------- what next */

/* Places of this rank in the batch that begins there. */
static uint64_t places_of(leat_pipeline *pipeline, leat__cursor at, uint64_t *n_global) {
    const leat__plan *plan = &pipeline->plan;
    const leat__share own = leat__plan_share(plan);
    int bucket;
    *n_global = leat__steps_batch(pipeline, at, &bucket);
    if (plan->drop_remainder && *n_global < leat__plan_global_batch(plan)) *n_global = 0;
    return *n_global > own.first ? LEAT_MIN(*n_global - own.first, own.n) : 0;
}

static int compare(uint64_t a, uint64_t b) {
    return (a > b) - (a < b);
}

/* Where the workers are: the first place that none of them has. */
static void catch_up(leat__read_ahead *a) {
    const leat_pipeline *pipeline = a->pipeline;
    const leat__cursor at = pipeline->dealing ? pipeline->dealing->begin : pipeline->cursor;
    const int place = pipeline->dealing ? pipeline->dealing->next_place : 0;
    int order = compare(a->batch.epoch, at.epoch);
    if (order == 0) order = compare(a->batch.position, at.position);
    if (order == 0) order = a->place - place;
    if (a->begun && order >= 0) return;
    a->batch = at;
    a->place = place;
    a->begun = true;
}

/* The next position to read; false when there is none any more. */
static bool next_position(leat__read_ahead *a, uint64_t *position) {
    catch_up(a);
    for (int tries = 0; tries < 4; tries++) {
        uint64_t n_global;
        if (a->batch.epoch >= a->pipeline->n_epochs) return false;
        const uint64_t n = places_of(a->pipeline, a->batch, &n_global);
        if (n_global == 0) return false;
        if ((uint64_t)a->place < n) {
            *position = a->batch.position + leat__plan_share(&a->pipeline->plan).first + (uint64_t)a->place;
            return true;
        }
        a->batch = leat__steps_next(a->pipeline, leat__steps_behind(a->batch, n_global));
        a->batch = leat__steps_own(a->pipeline, a->batch);
        a->place = 0;
    }
    return false; /* this rank has nothing of several batches one after the other */
}

static uint64_t estimate(const leat__read_ahead *a, uint64_t sample) {
    const uint64_t known = leat__source_size(a->pipeline->plan.source, sample);
    return (known ? known : a->mean_bytes) + 4 * LEAT_MEM_PAD;
}

static void pass_tail(leat__read_ahead *a) {
    while (a->tail < a->head && a->cell[a->tail % CELLS].state == CELL_DONE) a->tail++;
}

/* Wakes one helper if there seems to be room for one more sample. That helper does the same once it has taken its sample, so
 * only the last one that is woken finds no room. */
static void offer_room(leat__read_ahead *a) {
    const bool empty = a->tail == a->head;
    const bool fits = a->head - a->tail < CELLS && a->estimated + a->mean_bytes <= a->cap - a->cap / 8;
    if (a->n_idle && (empty || fits)) pthread_cond_signal(&a->room);
}

/* A cell for the next sample that is worth reading, or NULL. only: for this sample and no other. */
static leat__read_ahead_cell *claim(leat__read_ahead *a, uint64_t *sample, const uint64_t *only) {
    leat_pipeline *pipeline = a->pipeline;
    for (;;) {
        uint64_t position;
        pass_tail(a);
        if (a->head - a->tail == CELLS || !next_position(a, &position)) return NULL;
        *sample = leat__order_map(&pipeline->plan.order, a->batch.epoch, position).sample;
        const uint64_t bytes = estimate(a, *sample);
        const bool skip =
            bytes > a->cap / 4 || (pipeline->plan.cache && leat__cache_holds(pipeline->plan.cache, *sample));
        if (!skip && a->estimated + bytes > a->cap - a->cap / 8) return NULL;
        if (only && (skip || *sample != *only)) return NULL;
        leat__read_ahead_cell *cell = &a->cell[a->head++ % CELLS];
        leat__value *const value = cell->value;
        *cell = (leat__read_ahead_cell){.state = skip ? CELL_GONE : CELL_READING,
                                        .epoch = a->batch.epoch,
                                        .position = position,
                                        .estimate = skip ? 0 : bytes,
                                        .value = value};
        a->place++;
        a->estimated += cell->estimate;
        if (!skip) return cell;
    }
}

/* Samples that come one after the other and lie so in storage: where every read waits for a network they are read with one
 * request. Returns how many; their numbers begin with *first. */
static int claim_joined(leat__read_ahead *a, leat__read_ahead_cell **cell, uint64_t *first) {
    const leat__source *source = a->pipeline->plan.source;
    cell[0] = claim(a, first, NULL);
    if (!cell[0]) return 0;
    uint64_t bytes = cell[0]->estimate;
    int n = 1;
    if (!source->waits || !source->class->will_read) return n;
    for (; n < JOINED_MAX && bytes < JOINED_BYTES; n++) {
        const uint64_t next = *first + (uint64_t)n;
        uint64_t sample;
        cell[n] = claim(a, &sample, &next);
        if (!cell[n]) break;
        bytes += cell[n]->estimate;
    }
    return n;
}

/* ----------------------------------------------------------------------------------------------- read */

enum { RUNS_MAX = 64 };

typedef struct runs { /* of samples that storage can bring in one go */
    int n;
    uint64_t first[RUNS_MAX], last[RUNS_MAX];
} runs;

/* A shuffle by blocks has come to another group: its blocks. */
static void list_runs(leat__read_ahead *a, const leat__read_ahead_cell *cell, runs *out) {
    leat__order *order = &a->pipeline->plan.order;
    leat__order_group group;
    out->n = 0;
    if (!a->pipeline->plan.source->class->will_read ||
        !leat__order_group_of(order, cell->epoch, cell->position, &group))
        return;
    if (a->told && a->group_iteration == group.iteration && a->group == group.number) return;
    a->told = true;
    a->group_iteration = group.iteration;
    a->group = group.number;
    for (uint64_t i = 0; i < LEAT_MIN(group.n_runs, (uint64_t)RUNS_MAX); i++)
        out->n += leat__order_group_run(order, &group, i, &out->first[out->n], &out->last[out->n]);
}

static size_t padded(size_t bytes) {
    return LEAT_ALIGN_UP(bytes, (size_t)LEAT_MEM_PAD) + LEAT_MEM_PAD;
}

/* Copies what was read into the ring. With the mutex held, which is released meanwhile. */
static bool keep(leat__read_ahead *a, leat__read_ahead_cell *cell, const leat__value *values) {
    const int n_fields = a->pipeline->plan.source->n_fields;
    size_t total = 0;
    for (int i = 0; i < n_fields; i++) total += padded(values[i].bytes);
    a->mean_bytes = a->mean_bytes ? (a->mean_bytes * 15 + total) / 16 : total;
    if (!take_bytes(a, total, &cell->piece)) return false;
    cell->has_piece = true;
    uint8_t *to = a->bytes + piece_at(a, cell->piece)->begin;
    leat__unlock(&a->pipeline->ring->mutex);
    for (int i = 0; i < n_fields; i++) {
        cell->value[i] = values[i];
        cell->value[i].data = to;
        if (values[i].bytes) memcpy(to, values[i].data, values[i].bytes);
        to += padded(values[i].bytes);
    }
    leat__lock(&a->pipeline->ring->mutex);
    return true;
}

/* A read from a network is blocked nearly all the time that it takes: the clock tells enough. */
static leat__moment moment(const leat__source *source, const helper *me) {
    return source->waits ? (leat__moment){.now_ns = leat__now_ns()} : leat__waits_now(&me->waits);
}

/* Reads a sample into its cell. With the mutex held, which is released meanwhile. */
static void read_cell(leat__read_ahead *a, helper *me, leat__read_ahead_cell *cell, uint64_t sample) {
    leat_pipeline *pipeline = a->pipeline;
    const leat__source *source = pipeline->plan.source;
    leat__value values[LEAT_FIELDS_MAX];
    leat_error ignored; /* the worker that needs the sample reads it again and reports the error */
    leat__unlock(&pipeline->ring->mutex);
    if (pipeline->trace) leat__trace_reading(pipeline->trace, me->number);
    const leat__moment began = moment(source, me);
    const int rc = source->class->read(source, &me->reader, sample, values, &ignored);
    const leat__moment ended = moment(source, me);
    if (pipeline->trace) leat__trace_read(pipeline->trace, me->number, sample);
    leat__lock(&pipeline->ring->mutex);
    a->n_reads++;
    a->read_ns += ended.now_ns - began.now_ns;
    a->blocked_ns += source->waits ? ended.now_ns - began.now_ns : leat__waits_between(&began, &ended);
    me->bytes_read = me->reader.bytes_read;
    if (leat__reader_raise(source, &me->reader, &pipeline->high)) leat__sched_mark_rose(pipeline);
    cell->state = rc == 0 && keep(a, cell, values) ? CELL_READY : CELL_GONE;
    if (cell->wanted) pthread_cond_broadcast(&a->done);
}

static bool help(leat__read_ahead *a, helper *me) {
    leat_pipeline *pipeline = a->pipeline;
    const leat__source *source = pipeline->plan.source;
    leat__account_use(pipeline->account);
    leat__read_ahead_cell *cell[JOINED_MAX];
    uint64_t first;
    if (pipeline->plan.cache) { /* what other processes have kept need not be read */
        leat__unlock(&pipeline->ring->mutex);
        leat__cache_refresh(pipeline->plan.cache);
        leat__lock(&pipeline->ring->mutex);
    }
    if (pipeline->pause) return false;
    const int n = claim_joined(a, cell, &first);
    if (n == 0) return false;
    offer_room(a);
    runs soon = {0};
    if (!source->waits) list_runs(a, cell[0], &soon);
    else if (n > 1) soon = (runs){.n = 1, .first = {first}, .last = {first + (uint64_t)n - 1}};
    pipeline->n_busy++;
    leat__unlock(&pipeline->ring->mutex);
    for (int i = 0; i < soon.n; i++)
        source->class->will_read(source, &me->reader, soon.first[i], soon.last[i]);
    leat__lock(&pipeline->ring->mutex);
    for (int i = 0; i < n; i++) read_cell(a, me, cell[i], first + (uint64_t)i);
    pipeline->n_busy--;
    if (pipeline->pause && pipeline->n_busy == 0) pthread_cond_broadcast(&pipeline->ring->progress);
    return true;
}

/* Makes the buffers as large as the largest that any thread has needed to read: false if they are. Where hundreds of threads wait for a
 * network, only as many take part from then on as the budget has such buffers for. With the mutex held, which is released meanwhile. */
static bool adopt(leat__read_ahead *a, helper *me) {
    leat_pipeline *pipeline = a->pipeline;
    if (me->high_version == pipeline->high_version) return false;
    const leat__high_water high = pipeline->high;
    const uint64_t version = pipeline->high_version;
    const leat__source *source = pipeline->plan.source;
    const size_t bytes = leat__reader_high(source, &me->reader, &high);
    if (source->waits && bytes)
        a->n_affordable =
            (int)LEAT_CLAMP(pipeline->plan.budget.reading / bytes, (size_t)1, (size_t)LEAT_READING_MAX);
    if (me->number < a->n_affordable) {
        leat__unlock(&pipeline->ring->mutex);
        leat__reader_adopt(source, &me->reader, &high);
        leat__lock(&pipeline->ring->mutex);
    }
    me->high_version = version;
    return true;
}

bool leat__read_ahead_settled(const leat__read_ahead *a) {
    for (int i = 0; i < a->n_started; i++)
        if (a->helper[i].high_version != a->pipeline->high_version) return false;
    return true;
}

static void *helper_main(void *argument) {
    helper *me = argument;
    leat__read_ahead *a = me->read_ahead;
    leat_pipeline *pipeline = a->pipeline;
    const leat__source *source = pipeline->plan.source;
    if (source->class->prepare) source->class->prepare(source, &me->reader);
    if (!source->waits) leat__waits_open(&me->waits);
    leat__lock(&pipeline->ring->mutex);
    while (!pipeline->stop) {
        if (adopt(a, me)) continue;
        if (me->number >= LEAT_MIN(a->n_active, a->n_affordable)) {
            offer_room(a); /* this helper may have been woken in the place of an active one */
            leat__cond_wait(&a->parked, &pipeline->ring->mutex);
        } else if (!help(a, me)) {
            a->n_idle++;
            leat__cond_wait(&a->room, &pipeline->ring->mutex);
            a->n_idle--;
        }
    }
    if (!source->waits) leat__waits_close(&me->waits);
    pipeline->n_running--;
    pthread_cond_broadcast(&pipeline->ring->progress);
    leat__unlock(&pipeline->ring->mutex);
    return NULL;
}

/* ----------------------------------------------------------------------------------------------- take */

static leat__read_ahead_cell *find(leat__read_ahead *a, uint64_t epoch, uint64_t position) {
    uint64_t low = a->tail, high = a->head;
    while (low < high) {
        const uint64_t mid = low + (high - low) / 2;
        const leat__read_ahead_cell *cell = &a->cell[mid % CELLS];
        int order = compare(cell->epoch, epoch);
        if (order == 0) order = compare(cell->position, position);
        if (order == 0) return &a->cell[mid % CELLS];
        if (order < 0) low = mid + 1;
        else high = mid;
    }
    return NULL;
}

static void finish(leat__read_ahead *a, leat__read_ahead_cell *cell) {
    if (cell->has_piece) free_bytes(a, cell->piece);
    a->estimated -= cell->estimate;
    cell->state = CELL_DONE;
    pass_tail(a);
    offer_room(a);
}

bool leat__read_ahead_in_use(const leat__read_ahead *a) {
    return a->n_active > 0 || a->tail < a->head;
}

const leat__value *leat__read_ahead_take(leat__read_ahead *a, uint64_t epoch, uint64_t position,
                                         leat__read_ahead_cell **out) {
    leat__read_ahead_cell *cell = find(a, epoch, position);
    *out = NULL;
    if (!cell) return NULL;
    while (cell->state == CELL_READING) {
        cell->wanted = true;
        leat__cond_wait(&a->done, &a->pipeline->ring->mutex);
    }
    if (cell->state != CELL_READY) {
        finish(a, cell);
        return NULL;
    }
    cell->state = CELL_TAKEN;
    a->taken++;
    *out = cell;
    return cell->value;
}

void leat__read_ahead_give(leat__read_ahead *a, leat__read_ahead_cell *cell) {
    finish(a, cell);
}

leat__read_ahead_facts leat__read_ahead_facts_of(const leat__read_ahead *a) {
    leat__read_ahead_facts facts = {.n_active = a->n_active,
                                    .taken = a->taken,
                                    .reads = a->n_reads,
                                    .read_ns = a->read_ns,
                                    .blocked_ns = a->blocked_ns};
    for (int i = 0; i < a->n_started; i++) facts.bytes_read += a->helper[i].bytes_read;
    return facts;
}

/* -------------------------------------------------------------------------------------------- threads */

/* Each has a connection of its own, for which libcurl opens up to three files. A quarter of those that the process may have is left to
 * others. */
static int most_readers(const leat__source *source) {
    if (!source->waits) return LEAT_READING_MAX;
    return (int)LEAT_CLAMP(leat__limits_files() / FILES_EACH, (uint64_t)1, (uint64_t)LEAT_READING_MAX);
}

int leat__read_ahead_set(leat__read_ahead *a, int n) {
    leat_pipeline *pipeline = a->pipeline;
    n = LEAT_MIN(n, most_readers(pipeline->plan.source));
    if (n > 0 && !make_room(a)) return a->n_active;
    /* Hundreds of threads that wait for a network need no large stacks. */
    const size_t stack_bytes = pipeline->plan.source->waits ? NETWORK_STACK : 0;
    while (a->n_started < n) {
        helper *one = &a->helper[a->n_started];
        char name[32];
        one->read_ahead = a;
        one->number = a->n_started;
        one->reader.bytes.kind = one->reader.extra.kind = LEAT_MEM_WORKER;
        one->high_version = UINT64_MAX;
        snprintf(name, sizeof name, "leat-ahead-%d", one->number);
        if (leat__thread_start_sized(&pipeline->reader[pipeline->n_readers], stack_bytes, helper_main, one,
                                     name, NULL) < 0)
            break;
        pipeline->n_readers++;
        pipeline->n_running++;
        a->n_started++;
    }
    a->n_active = LEAT_MIN(n, a->n_started);
    leat__read_ahead_wake(a);
    return a->n_active;
}
