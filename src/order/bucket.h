/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of similar samples. Every sample belongs to a bucket. The samples of an epoch are put into their buckets in their
 * order, and a bucket that holds a full batch emits it. So batches come in the order in which they become full, as with
 * tf.data's bucket_by_sequence_length. Samples left at the end come as smaller batches, the lowest bucket first.
 *
 * The order of samples is a permutation of the epoch, computed when its first position is mapped. It takes 32 bits for each
 * sample, for two epochs, since the end of one and the beginning of the next are mapped together. The number of batches and
 * their sizes are the same in every epoch, because the samples are the same. */
#ifndef LEAT_ORDER_BUCKET_H
#define LEAT_ORDER_BUCKET_H

#include "base/error.h"

#define LEAT_BUCKETS_MAX 16

typedef struct leat__bucket_table { /* of one iteration */
    uint64_t iteration;
    bool made;
    uint32_t *at;   /* (n) positions before the verb         */
    uint8_t *batch; /* (n_full) the bucket of each batch     */
} leat__bucket_table;

typedef struct leat__bucket {
    int n_buckets;
    int base;      /* number of the verb in front of which positions have their buckets  */
    uint64_t n_of; /* positions there                                                    */
    uint8_t *of;   /* (n_of) the bucket of each                                          */
    uint64_t n;    /* positions in front of this verb                                    */
    uint64_t batch;
    bool drop;                        /* what is left at the end does not come */
    uint64_t count[LEAT_BUCKETS_MAX]; /* samples of each in an epoch                      */
    uint64_t n_full;                  /* batches that are full                            */
    leat__bucket_table table[2];
    uint32_t *waiting; /* samples that no batch has yet, bucket by bucket */
} leat__bucket;

typedef struct leat__bucket_batch { /* to which a position belongs */
    uint64_t step;                  /* its number                                  */
    uint64_t left;                  /* samples of it from the position on          */
    int bucket;
} leat__bucket_batch;

/* The bucket of a picture, by its width over its height: edges are rising, one fewer than buckets. Without a height, the
 * first. */
int leat__bucket_of(const double *edge, int n_edges, double height, double width);

/* Takes over `of`, also on failure. */
int leat__bucket_new(leat__bucket **out, int n_buckets, uint8_t *of, uint64_t n_of, int base,
                     leat_error *err);
void leat__bucket_free(leat__bucket **bucket);
/* Before positions are mapped: how many there are, a multiple of n_of, and how large batches are. */
void leat__bucket_set(leat__bucket *bucket, uint64_t n, uint64_t batch, bool drop);
int leat__bucket_allocate(leat__bucket *bucket, leat_error *err);
/* Samples, and batches, of an epoch. */
uint64_t leat__bucket_length(const leat__bucket *bucket);
uint64_t leat__bucket_batches(const leat__bucket *bucket);
/* before(user, iteration, i): which position in front of the verb `base` the i-th of this verb's own comes from. */
typedef uint64_t leat__bucket_before(void *user, uint64_t iteration, uint64_t i);
uint64_t leat__bucket_map(leat__bucket *bucket, uint64_t iteration, uint64_t position,
                          leat__bucket_before *before, void *user);
leat__bucket_batch leat__bucket_batch_of(leat__bucket *bucket, uint64_t iteration, uint64_t position,
                                         leat__bucket_before *before, void *user);

#endif
