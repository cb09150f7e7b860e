/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of a stream that a batch or the window of a combination keeps: what each is made of. A sample of one stream is a
 * record in a block; one of combined data sets has a piece of each, and some of these have only a number. */
#include "stream/node.h"

typedef struct kept {
    int n; /* pieces; 0 = empty */
    uint64_t number;
    const leat_error *bad; /* of the first piece that is lost */
} kept;

struct leat__records {
    int n_pieces; /* of a sample, at the most */
    int n;
    kept *sample;               /* (n)           */
    leat__piece *piece;         /* (n, n_pieces) */
    leat__stream_block **block; /* (n, n_pieces) */
};

leat__records *leat__records_make(int n_pieces, uint64_t n, int kind) {
    leat__records *r = leat__alloc(kind, sizeof *r);
    if (!r) return NULL;
    r->n_pieces = n_pieces;
    r->n = (int)n;
    r->sample = leat__alloc(kind, n * sizeof *r->sample);
    r->piece = leat__alloc(kind, n * (size_t)n_pieces * sizeof *r->piece);
    r->block = leat__alloc(kind, n * (size_t)n_pieces * sizeof(leat__stream_block *));
    if (!r->sample || !r->piece || !r->block) leat__records_free(&r);
    return r;
}

leat__records *leat__records_new(const leat__plan *plan, int n) {
    return leat__records_make(plan->stream->n_pieces, (uint64_t)n, LEAT_MEM_SLOT);
}

void leat__records_free(leat__records **handle) {
    leat__records *r = *handle;
    if (!r) return;
    leat__free(r->sample);
    leat__free(r->piece);
    leat__free(r->block);
    leat__free(r);
    *handle = NULL;
}

int leat__records_size(const leat__records *r) {
    return r->n;
}

uint64_t leat__records_number(const leat__records *r, int i) {
    return r->sample[i].number;
}

void leat__records_set_number(leat__records *r, int i, uint64_t number) {
    r->sample[i].number = number;
}

bool leat__records_is_bad(const leat__records *r, int i) {
    return r->sample[i].bad != NULL;
}

int leat__records_find(const leat__records *r, int i, leat__where *at, leat_error *err) {
    const kept *sample = &r->sample[i];
    if (sample->bad) {
        *err = *sample->bad;
        err->stage = LEAT_STAGE_READ;
        err->sample = at->sample;
        return err->code;
    }
    at->piece = r->piece + (size_t)i * (size_t)r->n_pieces;
    at->n_pieces = sample->n;
    return 0;
}

void leat__records_add(leat__records *r, int i, const leat__record *piece) {
    kept *sample = &r->sample[i];
    const size_t at = (size_t)i * (size_t)r->n_pieces + (size_t)sample->n;
    if (sample->n++ == 0) sample->number = piece->origin;
    if (!sample->bad) sample->bad = piece->bad;
    r->piece[at] = piece->piece;
    r->block[at] = piece->block;
    if (piece->block) piece->block->refs++;
}

void leat__records_copy(leat__records *r, int i, const leat__records *from, int k) {
    const kept *sample = &from->sample[k];
    const size_t at = (size_t)k * (size_t)from->n_pieces;
    for (int p = 0; p < sample->n; p++)
        leat__records_add(r, i,
                          &(leat__record){.piece = from->piece[at + (size_t)p],
                                          .origin = sample->number,
                                          .bad = p == 0 ? sample->bad : NULL,
                                          .block = from->block[at + (size_t)p]});
}

bool leat__records_drop(leat__records *r, int i) {
    kept *sample = &r->sample[i];
    const int n = sample->n;
    const size_t at = (size_t)i * (size_t)r->n_pieces;
    *sample = (kept){0};
    for (int p = 0; p < n; p++)
        if (r->block[at + (size_t)p]) leat__block_drop_ref(r->block[at + (size_t)p]);
    return n > 0;
}
