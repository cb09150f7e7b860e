/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of a stream sorted into buckets: each waits in its own, and a bucket that has a batch full gives it away, as
 * order/bucket.c calculates it where all samples are known. Behind it batches come as one stream.
 *
 * A sample that waits is copied into memory of its bucket: where it was read, it would keep the block that it lies in, with
 * all its neighbours, for as long as it waits.
 *
 * To go on from a state, the stream is read again from the first sample that waited. Of those behind it that had come
 * already, each bucket leaves out as many as it had given: they were its first. */
#include "plan/select.h"
#include "stream/lanes.h"

typedef struct bucket {
    uint64_t n;              /* samples that wait                                             */
    leat__feed_block *block; /* where the next is copied to; NULL: none yet           */
    uint64_t taken;          /* samples of it so far                                          */
    uint64_t skip;           /* of the next ones: they came before a restore                  */
    /* Of the first that waits: */
    uint64_t position;                 /* in the part                                        */
    uint64_t before[LEAT_BUCKETS_MAX]; /* samples of each bucket before it                   */
    leat__mark mark;                   /* where the part can be read again                   */
} bucket;

struct leat__sorting {
    int n_buckets;
    uint64_t batch;
    leat__tools *tools;
    leat__record *waiting; /* (n_buckets, batch, n_pieces) */
    bucket bucket[LEAT_BUCKETS_MAX];
};

int leat__sort_new(leat__feed *feed, leat_error *err) {
    const leat__joining *joining = &feed->plan->joining;
    leat__sorting *sorting = feed->sorting = leat__alloc(LEAT_MEM_WINDOW, sizeof *sorting);
    if (!sorting) return leat__fail_memory(err, sizeof *sorting, "buckets");
    sorting->n_buckets = joining->n_buckets;
    sorting->batch = leat__plan_global_batch(feed->plan);
    const size_t n = (size_t)sorting->n_buckets * sorting->batch * (size_t)feed->n_pieces;
    sorting->waiting = leat__alloc(LEAT_MEM_WINDOW, n * sizeof *sorting->waiting);
    if (!sorting->waiting) return leat__fail_memory(err, n * sizeof *sorting->waiting, "buckets");
    sorting->tools = leat__tools_new(feed->plan, err);
    if (!sorting->tools) return LEAT_ERR_MEMORY;
    /* One for each bucket and for each batch on its way, as far as half of the memory goes. */
    const size_t blocks = (size_t)(sorting->n_buckets + feed->plan->n_slots + LEAT_SPARE_BLOCKS);
    return leat__blocks_prepare(feed, (int)LEAT_MIN(blocks, feed->used_max / 2 / feed->block_bytes), err);
}

static leat__record *waiting_at(const leat__feed *feed, int b, uint64_t i) {
    const leat__sorting *sorting = feed->sorting;
    return sorting->waiting + ((uint64_t)b * sorting->batch + i) * (uint64_t)feed->n_pieces;
}

void leat__sort_free(leat__feed *feed) {
    leat__sorting *sorting = feed->sorting;
    if (!sorting) return;
    leat__tools_delete(&sorting->tools);
    leat__free(sorting->waiting);
    leat__free(sorting);
    feed->sorting = NULL;
}

static void close_block(leat__feed *feed, bucket *own) {
    if (own->block) leat__block_close(feed, own->block);
    own->block = NULL;
}

void leat__sort_begin(leat__feed *feed, const leat__mark *mark) {
    leat__sorting *sorting = feed->sorting;
    for (int b = 0; b < sorting->n_buckets; b++) {
        bucket *own = &sorting->bucket[b];
        for (uint64_t i = 0; i < own->n; i++)
            for (int k = 0; k < feed->n_pieces; k++) leat__record_drop(&waiting_at(feed, b, i)[k]);
        close_block(feed, own);
        own->n = own->taken = 0;
        own->skip = mark ? mark->skip[b] : 0;
    }
}

/* -------------------------------------------------------------------------------------------- marks */

/* Behind the batch that was given last: from the first sample that waits, or from where the part is. */
static void note(leat__feed *feed) {
    const leat__sorting *sorting = feed->sorting;
    const leat__feed_part *part = &feed->part[0];
    const bucket *first = NULL;
    leat__mark *mark = leat__marks_add(feed);
    const leat__mark_node own = mark->node[feed->node];
    for (int b = 0; b < sorting->n_buckets; b++) {
        const bucket *it = &sorting->bucket[b];
        if (it->n && (!first || it->position < first->position)) first = it;
    }
    *mark = (leat__mark){0};
    if (first) *mark = first->mark;
    else if (part->dealt > 0 && !part->ended)
        leat__feed_write_mark(part->feed, feed->iteration, part->dealt - 1, mark);
    mark->node[feed->node] = own;
    mark->node[part->node].position = first ? first->position : part->dealt;
    mark->node[part->node].ended = !first && part->ended;
    for (int b = 0; b < sorting->n_buckets; b++) {
        const bucket *it = &sorting->bucket[b];
        mark->skip[b] = it->skip + (first ? it->taken - it->n - first->before[b] : 0);
    }
}

/* --------------------------------------------------------------------------------------------- deal */

/* A picture that cannot be read goes to the first: whoever decodes it tells. < 0: without memory. */
static int ask_bucket(leat__feed *feed, const leat__record *record) {
    const leat__joining *joining = &feed->plan->joining;
    leat__piece piece[LEAT_NODES_MAX];
    const leat_error *bad;
    const int n = leat__record_pieces(record, feed->n_pieces, piece, &bad);
    const leat__where at = {.piece = piece, .n_pieces = n, .sample = record->origin};
    uint64_t size;
    leat_error why;
    if (bad) return 0;
    const int rc = leat__question_answer(feed->sorting->tools, joining->size, &at, &size, &why);
    if (rc == 0)
        return leat__bucket_of(joining->edge, joining->n_buckets - 1, (double)(size >> 32),
                               (double)(uint32_t)size);
    if (rc != LEAT_ERR_MEMORY) return 0;
    feed->broken = why;
    return rc;
}

/* Memory of the bucket for so many bytes; NULL: there is none, or they are many. */
static leat__feed_block *block_for(leat__feed *feed, bucket *own, size_t bytes) {
    leat__feed_block *block = own->block;
    if (bytes > feed->block_bytes / 2) return NULL;
    if (block && block->content.bytes.size + bytes <= feed->block_bytes) return block;
    close_block(feed, own);
    block = leat__block_new(feed);
    if (!block) return NULL;
    leat__block_clear(&block->content);
    if (!leat__buf_reserve(&block->content.bytes, feed->block_bytes)) {
        leat__block_recycle(feed, block);
        return NULL;
    }
    leat__block_count(feed, block);
    leat__block_use(feed, block);
    block->open = true;
    return own->block = block;
}

/* The record moves to the bucket's memory; without any it stays where it is. */
static void move_record(leat__feed *feed, bucket *own, leat__record *record) {
    leat__piece *piece = &record->piece;
    if (!record->block || record->bad) return;
    leat__feed_block *to = block_for(feed, own, piece->bytes);
    if (!to) return;
    leat__buf *bytes = &to->content.bytes;
    if (piece->bytes) memcpy(bytes->data + bytes->size, piece->data, piece->bytes);
    piece->data = bytes->data + bytes->size;
    bytes->size += piece->bytes;
    to->refs++;
    leat__block_drop_ref(record->block);
    record->block = to;
}

/* What waits in a bucket becomes a batch. */
static void give_batch(leat__feed *feed, int b) {
    bucket *own = &feed->sorting->bucket[b];
    const uint64_t n = own->n;
    own->n = 0;
    close_block(feed, own);
    for (uint64_t i = 0; i < n; i++) {
        leat__record *record = waiting_at(feed, b, i), *out = leat__window_pieces(feed, feed->head);
        const bool stays = feed->next_record >= feed->floor; /* the order may be farther */
        if (stays) {
            memcpy(out, record, (size_t)feed->n_pieces * sizeof *out);
            memset(record, 0, (size_t)feed->n_pieces * sizeof *out);
            leat__window_add_held(feed, b, i + 1 == n);
        }
        for (int k = 0; k < feed->n_pieces && !stays; k++) leat__record_drop(&record[k]);
        feed->next_record++;
        feed->origin++;
    }
    note(feed);
}

/* At the end: what is left comes as smaller batches, the lowest bucket first, unless it is dropped. */
static void give_rest(leat__feed *feed) {
    const leat__sorting *sorting = feed->sorting;
    for (int b = 0; b < sorting->n_buckets && !feed->plan->drop_remainder; b++)
        if (sorting->bucket[b].n) {
            give_batch(feed, b);
            return;
        }
    if (feed->next_record == 0 && feed->part[0].dealt > 0)
        leat__fail(&feed->broken, LEAT_ERR_NOT_FOUND,
                   "no sample is left: no bucket has a full batch of %" PRIu64
                   ", and drop_remainder=true leaves out what is not full",
                   sorting->batch);
    else leat__feed_end_run(feed);
}

bool leat__sort_deal_one(leat__feed *feed, uint64_t wanted) {
    leat__sorting *sorting = feed->sorting;
    leat__feed_part *part = &feed->part[0];
    leat__record *record = leat__window_pieces(feed, feed->head);
    feed->waits_full = feed->used >= feed->used_max;
    if (feed->waits_full || !leat__join_look_at(feed, 0, wanted)) return false;
    if (part->ended) {
        give_rest(feed);
        return true;
    }
    const uint64_t position = part->dealt++;
    const leat__place place = leat__order_map(part->order, feed->iteration, position);
    if (leat__feed_hold(part->feed, place, record, &feed->broken) < 0) return false;
    const int b = ask_bucket(feed, record);
    bucket *own = &sorting->bucket[LEAT_MAX(b, 0)];
    if (b < 0 || own->skip) {
        for (int k = 0; k < feed->n_pieces; k++) leat__record_drop(&record[k]);
        if (b < 0) return false;
        own->skip--;
        own->taken++;
        return true;
    }
    if (own->n == 0) {
        own->position = position;
        own->mark = (leat__mark){0};
        leat__feed_write_mark(part->feed, feed->iteration, position, &own->mark);
        for (int i = 0; i < sorting->n_buckets; i++) own->before[i] = sorting->bucket[i].taken;
    }
    for (int k = 0; k < feed->n_pieces; k++) move_record(feed, own, &record[k]);
    memcpy(waiting_at(feed, b, own->n++), record, (size_t)feed->n_pieces * sizeof *record);
    memset(record, 0, (size_t)feed->n_pieces * sizeof *record);
    own->taken++;
    if (own->n == sorting->batch) give_batch(feed, b);
    return true;
}
