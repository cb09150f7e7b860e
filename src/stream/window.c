/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/lanes.h"

/* A block that is filled to less than this part of its room is not kept for the sake of its records: they are copied. */
enum { SMALL_PART = 4 };

typedef leat__feed_block block;

/* ------------------------------------------------------------------------------------------- blocks */

block *leat__block_new(leat__feed *feed) {
    block *b = feed->spare;
    if (b) {
        feed->spare = b->next;
        feed->n_spare--;
        return b;
    }
    b = leat__alloc(LEAT_MEM_WINDOW, sizeof *b);
    if (!b) return NULL;
    b->feed = feed;
    b->content.bytes.kind = b->content.records.kind = b->content.errors.kind = LEAT_MEM_WINDOW;
    b->all = feed->all;
    feed->all = b;
    return b;
}

int leat__blocks_prepare(leat__feed *feed, int n, leat_error *err) {
    block *made = NULL, *next;
    for (int i = 0; i < n; i++) {
        block *b = leat__block_new(feed);
        if (!b || !leat__buf_reserve(&b->content.bytes, feed->block_bytes) ||
            !leat__buf_reserve(&b->content.records, leat__block_room(feed)))
            return leat__fail_memory(err, feed->block_bytes, "records");
        leat__block_count(feed, b);
        b->next = made;
        made = b;
    }
    for (; made; made = next) {
        next = made->next;
        leat__block_recycle(feed, made);
    }
    return 0;
}

void leat__block_count(leat__feed *feed, block *b) {
    const size_t held = b->content.bytes.cap + b->content.records.cap + b->content.errors.cap;
    feed->bytes += held - b->held;
    b->held = held;
}

void leat__block_recycle(leat__feed *feed, block *b) {
    if (b->used) feed->used -= b->held;
    b->used = b->open = false;
    /* One that had to grow for a large record is not kept at the expense of others. */
    if (feed->bytes > feed->bytes_max && b->held > 2 * feed->block_bytes) {
        leat__block_free(&b->content);
        leat__block_count(feed, b);
    }
    b->content.n = 0;
    b->next = feed->spare;
    feed->spare = b;
    feed->n_spare++;
}

static void release(leat__feed *feed, block *b) {
    if (b->refs || b->open) return;
    leat__block_recycle(feed, b);
    leat__feed_wake(feed);
}

void leat__block_drop_ref(block *b) {
    leat__feed *feed = b->feed;
    b->refs--;
    if (b->refs == 0 && b == feed->gather) {
        feed->gather = NULL;
        b->open = false;
    }
    release(feed, b);
}

void leat__block_close(leat__feed *feed, block *b) {
    b->open = false;
    release(feed, b);
}

void leat__block_use(leat__feed *feed, block *b) {
    if (b->used) return;
    b->used = true;
    feed->used += b->held;
}

/* ------------------------------------------------------------------------------------------- window */

/* The block that small ones are copied into, with room for a record. NULL: without memory. */
static block *gather(leat__feed *feed, const block *from, size_t index) {
    block *to = feed->gather;
    if (to && leat__block_copy(&to->content, &from->content, index)) return to;
    feed->gather = NULL;
    if (to) leat__block_close(feed, to);
    to = leat__block_new(feed);
    if (!to) return NULL;
    leat__block_clear(&to->content);
    const bool fits = leat__buf_reserve(&to->content.bytes, feed->block_bytes) &&
                      leat__buf_reserve(&to->content.records, leat__block_room(feed)) &&
                      leat__block_copy(&to->content, &from->content, index);
    leat__block_count(feed, to);
    if (!fits) {
        leat__block_recycle(feed, to);
        return NULL;
    }
    to->open = true;
    return feed->gather = to;
}

static bool is_small(const leat__feed *feed, const block *b) {
    return b->content.bytes.size < feed->block_bytes / SMALL_PART && b->content.errors.size == 0;
}

void leat__window_add(leat__feed *feed, block *b, size_t index) {
    leat__block_at(&b->content, index)->origin = feed->origin;
    if (feed->run == feed->at_run && feed->next_record < feed->floor) return; /* the order is farther */
    block *copy = is_small(feed, b) ? gather(feed, b, index) : NULL;
    if (copy) {
        b = copy;
        index = b->content.n - 1;
    }
    leat__block_use(feed, b);
    b->refs++;
    feed->window[feed->head++ % feed->window_max] =
        (leat__window_record){.block = b, .run = feed->run, .number = feed->next_record, .index = index};
}

leat__record *leat__window_pieces(const leat__feed *feed, uint64_t i) {
    return feed->held + (size_t)(i % feed->window_max) * (size_t)feed->n_pieces;
}

void leat__window_add_held(leat__feed *feed, int bucket, bool last) {
    feed->window[feed->head++ % feed->window_max] =
        (leat__window_record){.run = feed->run, .number = feed->next_record, .bucket = bucket, .last = last};
}

static void drop_tail(leat__feed *feed) {
    const uint64_t i = feed->tail++;
    if (!feed->n_parts) leat__block_drop_ref(feed->window[i % feed->window_max].block);
    for (int k = 0; feed->n_parts && k < feed->n_pieces; k++)
        leat__record_drop(&leat__window_pieces(feed, i)[k]);
}

void leat__window_empty(leat__feed *feed) {
    while (feed->tail < feed->head) drop_tail(feed);
}

void leat__window_free_tail(leat__feed *feed) {
    while (feed->tail < feed->head) {
        const leat__window_record *record = &feed->window[feed->tail % feed->window_max];
        if (record->run > feed->at_run || (record->run == feed->at_run && record->number >= feed->floor))
            return;
        drop_tail(feed);
    }
}

bool leat__window_full(const leat__feed *feed) {
    return feed->head - feed->tail >= feed->window_max || feed->used >= feed->used_max;
}
