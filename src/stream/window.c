/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/node.h"

/* A block that is filled to less than 1 / SMALL_PART is not kept for its records: they are copied to another block. */
enum { SMALL_PART = 4 };

typedef leat__stream_block block;

/* ------------------------------------------------------------------------------------------- blocks */

block *leat__block_take(leat__node *node) {
    block *b = node->spare;
    if (!b) return NULL;
    node->spare = b->next;
    node->n_spare--;
    return b;
}

block *leat__block_new(leat__node *node) {
    block *b = leat__alloc(LEAT_MEM_WINDOW, sizeof *b);
    if (!b) return NULL;
    b->node = node;
    b->content.bytes.kind = b->content.records.kind = b->content.errors.kind = LEAT_MEM_WINDOW;
    if (leat__buf_reserve(&b->content.bytes, node->block_bytes) &&
        leat__buf_reserve(&b->content.records, leat__block_room(node)))
        return b;
    leat__block_free(&b->content);
    leat__free(b);
    return NULL;
}

void leat__block_own(leat__node *node, block *b) {
    b->all = node->all;
    node->all = b;
    leat__block_count(node, b);
}

int leat__blocks_prepare(leat__node *node, int n, leat_error *err) {
    for (int i = 0; i < n; i++) {
        block *b = leat__block_new(node);
        if (!b) return leat__fail_memory(err, node->block_bytes, "records");
        leat__block_own(node, b);
        leat__block_recycle(node, b);
    }
    return 0;
}

void leat__block_count(leat__node *node, block *b) {
    const size_t held = b->content.bytes.cap + b->content.records.cap + b->content.errors.cap;
    node->bytes += held - b->held;
    b->held = held;
}

void leat__block_recycle(leat__node *node, block *b) {
    if (b->used) node->used -= b->held;
    b->used = b->open = false;
    /* A block that grew for a large record is freed if the node is over its budget. */
    if (node->bytes > node->bytes_max && b->held > 2 * node->block_bytes) {
        leat__block_free(&b->content);
        leat__block_count(node, b);
    }
    b->content.n = 0;
    b->next = node->spare;
    node->spare = b;
    node->n_spare++;
}

static void release(leat__node *node, block *b) {
    if (b->refs || b->open) return;
    leat__block_recycle(node, b);
    leat__stream_wake_readers(node->stream);
}

void leat__block_drop_ref(block *b) {
    leat__node *node = b->node;
    b->refs--;
    if (b->refs == 0 && b == node->gather) {
        node->gather = NULL;
        b->open = false;
    }
    release(node, b);
}

void leat__block_close(leat__node *node, block *b) {
    b->open = false;
    release(node, b);
}

/* Counts a block that has come into the window. */
static void use(leat__node *node, block *b) {
    if (b->used) return;
    b->used = true;
    node->used += b->held;
}

/* ------------------------------------------------------------------------------------------- window */

/* The block that records of small blocks are copied into, with room for a record. NULL: there is none, and the record stays
 * in its own block: only reader threads allocate memory, without the lock. */
static block *gather(leat__node *node, const block *from, size_t index) {
    block *to = node->gather;
    if (to && leat__block_copy(&to->content, &from->content, index)) return to;
    node->gather = NULL;
    if (to) leat__block_close(node, to);
    to = leat__block_take(node);
    if (!to) return NULL;
    leat__block_clear(&to->content);
    if (!leat__block_copy(&to->content, &from->content, index)) {
        leat__block_recycle(node, to);
        return NULL;
    }
    to->open = true;
    return node->gather = to;
}

bool leat__block_is_small(const leat__node *node, const block *b) {
    return b->payload < node->block_bytes / SMALL_PART && b->content.errors.size == 0;
}

void leat__window_add(leat__node *node, block *b, size_t index) {
    leat__block_at(&b->content, index)->origin = node->origin;
    if (node->run == node->at_run && node->next_record < node->floor) return; /* the order is farther */
    block *copy = leat__block_is_small(node, b) ? gather(node, b, index) : NULL;
    if (copy) {
        b = copy;
        index = b->content.n - 1;
    }
    use(node, b);
    b->refs++;
    node->window[node->head++ % node->window_max] =
        (leat__window_entry){.block = b, .run = node->run, .number = node->next_record, .index = index};
}

void leat__window_add_held(leat__node *node) {
    node->window[node->head++ % node->window_max] =
        (leat__window_entry){.run = node->run, .number = node->next_record};
}

static void drop_tail(leat__node *node) {
    const uint64_t i = node->tail++;
    if (!node->n_parts) leat__block_drop_ref(node->window[i % node->window_max].block);
    else leat__records_drop(node->held, (int)(i % node->window_max));
}

void leat__window_empty(leat__node *node) {
    while (node->tail < node->head) drop_tail(node);
}

void leat__window_free_tail(leat__node *node) {
    while (node->tail < node->head) {
        const leat__window_entry *record = &node->window[node->tail % node->window_max];
        if (record->run > node->at_run || (record->run == node->at_run && record->number >= node->floor))
            return;
        drop_tail(node);
    }
}

bool leat__window_full(const leat__node *node) {
    const size_t most = node->stream->pressed ? node->bytes_max : node->used_max;
    return node->head - node->tail >= node->window_max || node->used >= most;
}
