/* SPDX-License-Identifier: Apache-2.0 */
/* The plan: what a worker does to each sample, fixed before the first one is read.
 *
 * A plan is a source, an order, a list of steps, and the shape of a batch. A step works on one value (a field of the
 * sample) and leaves its result in the same value. All image operations between two points where pixels must lie in
 * memory are one step, a pass: decode, resample, point operations, flips and the store run over the rows together.
 * The last pass of a field writes into the batch itself. Fusing never changes a result: `options fuse=off` gives each
 * operation a pass of its own, with the same kernels. */
#ifndef LEAT_SAMPLE_PLAN_H
#define LEAT_SAMPLE_PLAN_H

#include "base/mem.h"
#include "base/thread.h"
#include "cache/cache.h"
#include "cache/jpeg_store.h"
#include "order/branch.h"
#include "sample/chance.h"
#include "sample/coordinates.h"
#include "sample/device.h"
#include "sample/draw.h"
#include "sample/group.h"
#include "sample/image_op.h"
#include "source/source.h"

#define LEAT_STEPS_MAX 64
#define LEAT_VALUES_MAX LEAT_FIELDS_MAX

typedef enum leat__step_kind {
    LEAT_STEP_PARSE, /* tf.train.Example to values              */
    LEAT_STEP_RAW,   /* bytes are values of a type              */
    LEAT_STEP_RESHAPE,
    LEAT_STEP_CONVERT, /* any type to any type, plain             */
    LEAT_STEP_PASS,
    LEAT_STEP_PICTURE,     /* a picture in memory to another one      */
    LEAT_STEP_ONE_HOT,     /* a label to a number for each class      */
    LEAT_STEP_ENUMERATE,   /* the place in the epoch, or the number   */
    LEAT_STEP_STACK,       /* fields of equal length side by side     */
    LEAT_STEP_COPY,        /* what another value is at this point     */
    LEAT_STEP_PATH,        /* the path of the sample's file           */
    LEAT_STEP_RELABEL,     /* one whole number for another            */
    LEAT_STEP_MAP,         /* a function of the program               */
    LEAT_STEP_EVAL,        /* expressions                             */
    LEAT_STEP_COORDINATES, /* boxes and keypoints move with a picture */
    LEAT_STEP_TRAIL,       /* how a picture has moved, for a cache    */
    LEAT_STEP_DRAW,        /* what a device is to do with a picture   */
    LEAT_STEP_CHOOSE,      /* which of the steps behind it are run    */
} leat__step_kind;

typedef struct leat__parse_feature {
    int value;        /* where it goes                                       */
    const char *name; /* key in the Example                                  */
    int dtype;        /* BYTES, F32 or I64                                   */
    bool ragged;      /* any number of values, up to the field's maximum     */
    size_t count;     /* values of a fixed one                               */
    size_t count_max; /* of a ragged one                                     */
    int ndim;
    int64_t shape[LEAT_NDIM_MAX];
    bool has_fallback;
    leat__buf fallback; /* count values, or the bytes                          */
} leat__parse_feature;

struct leat__step {
    leat__step_kind kind;
    int stage;      /* LEAT_STAGE_*                                         */
    int value;      /* which one it works on                                */
    int output;     /* number of the output it writes into, -1 = its own buffer */
    int column;     /* of the operation in the text                         */
    uint64_t parts; /* bit i: it is for samples of part i of a combined source; 0 = all */
    int choice;     /* number, from 1, of the choice that it depends on; 0 = it is run for every sample */
    int branch;     /* for which it is run                                  */
    int trail; /* passes and pictures: number, from 1, of the trail where it says how pixels move; 0 = nowhere */
    union {
        struct {
            int n;
            leat__parse_feature *feature;
            const char **key;
        } parse;
        struct {
            int dtype;
        } raw;
        struct {
            int ndim;
            int64_t shape[LEAT_NDIM_MAX]; /* one may be -1: what is left   */
            int64_t known;                /* values along the other axes   */
            int open;                     /* that one; -1 = there is none  */
            bool planes; /* it is (channels, height, width), and becomes (height, width, channels) */
        } reshape;
        struct {
            int dtype;
            bool affine;
            double scale, offset;
        } convert;
        leat__pass_plan *pass;
        leat__picture_plan *picture;
        struct {
            int n;
            float on, off;
        } one_hot;
        struct {
            bool position; /* in the epoch; false: the sample's number */
        } enumerate;
        leat__source_path_fn *path;
        struct {
            int n;
            int value[LEAT_VALUES_MAX]; /* the columns of the result */
        } stack;
        struct {
            int from;
        } copy;
        const struct leat__relabel *relabel; /* labels.h */
        struct {
            const struct leat__map_plan *plan; /* called.h */
            int part; /* 0: calls the function, which makes all fields; other parts only stand for their fields */
        } map;
        struct {
            const struct leat__eval_plan *plan; /* evaluated.h */
            int part;                           /* as of a map */
        } eval;
        struct {
            const leat__coords_plan *plan;
            int part; /* 0: moves the field; other parts remove from their fields the entries that part 0 has lost */
        } coords;
        struct {
            int trail, n; /* so many moves                  */
            bool resumes; /* takes them up again            */
        } kept;
        const leat__device_plan *device;
        const leat__chance *choice;
    } as;
};

typedef struct leat__output { /* a field of the batch                                 */
    leat_field field;
    int value;
    bool stored;   /* the last step writes it; else it is copied at the end */
    bool valid;    /* which places are real: written when the batch is finished */
    size_t item;   /* bytes of one value; of a ragged field, of one entry     */
    size_t stride; /* bytes from one sample to the next while filling        */
    size_t offset; /* of the field in a slot                                */
    /* Fields of differing sizes that are filled up; field.shape has -1 where a batch has the size of its largest. */
    bool padded;
    int64_t most[LEAT_NDIM_MAX]; /* the largest shape there is room for                     */
    uint8_t padding[8];          /* one value of what fills up                              */
    /* A batch of one whose sample keeps its own size: field.shape has -1 where samples differ, stride is the room for the
     * largest (plan_padding.c). */
    bool unsized;
    size_t usual; /* bytes of one sample: stride, or if unsized those of the probed sample */
    const char
        *probed_for; /* the sample whose size the plan has taken for all; NULL: the text tells the size */
    int stacked;     /* with it: samples of a batch                                                      */
    /* Pictures whose size is that of the batch's bucket; field.shape has -1 there, and stride is that of the largest. */
    bool by_bucket;
    int height_axis; /* the width is the next one */
    struct {
        int height, width;
        size_t stride;
    } bucket[LEAT_BUCKETS_MAX];
} leat__output;

/* Values of one entry along the first axis of a ragged field: 4 of boxes (n, 4), 1 of tokens (n). */
static inline size_t leat__ragged_inner(const leat_field *field) {
    size_t n = 1;
    for (int i = 1; i < field->ndim; i++) n *= (size_t)field->shape[i];
    return n;
}

/* Where a sample's values lie in the memory of a batch of this bucket. */
static inline size_t leat__output_stride(const leat__output *out, int bucket) {
    return out->by_bucket ? out->bucket[bucket].stride : out->stride;
}
static inline size_t leat__output_at(const leat__output *out, int bucket, int place) {
    return out->offset + (size_t)place * leat__output_stride(out, bucket);
}
/* The length of an axis of one sample. */
static inline int64_t leat__output_length(const leat__output *out, int bucket, int axis) {
    if (!out->by_bucket || axis < out->height_axis || axis > out->height_axis + 1)
        return out->field.shape[axis];
    return axis == out->height_axis ? out->bucket[bucket].height : out->bucket[bucket].width;
}

/* The most that is read ahead, whatever the budget. */
#define LEAT_READ_AHEAD_BYTES_MAX ((size_t)64 << 20)
/* Threads that read ahead: from a network from the first batch on; at most; at most from a disk if the tuner decides. A network of
 * 100 ms brings ten samples a second to each. */
enum { LEAT_READING_FIRST = 128, LEAT_READING_MAX = 512, LEAT_READING_DISK_MAX = 64 };

/* The bytes that a pipeline may hold. All shares come from the whole and add up to it (plan.c). */
typedef struct leat__budget {
    size_t whole;
    size_t slots;      /* batches, those that are added later too; a cache in memory takes from it     */
    size_t cache;      /* what it took                                                                 */
    size_t window;     /* of streams: records, and the input of their readers                          */
    size_t positions;  /* in JPEG files                                                                */
    size_t read_ahead; /* samples that were read before workers asked for them                         */
    size_t reading;    /* buffers of the threads that read ahead from a network                        */
    size_t scratch;    /* buffers of workers                                                           */
    size_t picture;    /* of scratch, what one worker takes for a picture; larger pictures take turns  */
} leat__budget;

typedef struct leat__stream_plan leat__stream_plan; /* plan/stream_plan.h */

typedef struct leat__plan {
    leat__source *source;
    leat__stream_plan *stream; /* not NULL: records come one after the other (plan/stream_plan.h) */
    leat__order order;
    bool parted; /* some steps are for samples of some parts of the source only */
    int n_values;
    int n_steps;
    leat__step step[LEAT_STEPS_MAX];
    int n_outputs;
    leat__output output[LEAT_FIELDS_MAX];
    int batch;
    int global_batch; /* samples of a batch on all ranks together, if the text says it; 0 = batch * world */
    bool drop_remainder;
    bool pad_remainder; /* a last batch that is not full is filled up with repeated samples  */
    int rank, world;    /* this process has the rank-th part of every batch, leat__plan_share */
    int local;          /* processes that share this machine                                 */
    int n_threads;      /* that were asked for, or this process's share of the cores         */
    int64_t max_bad;    /* 0 = any number                                                    */
    int prefetch;       /* 0 = automatic                                         */
    int read_ahead;     /* threads that read ahead; -1 = when storage is slow, 0 = never */
    int shards;         /* of a stream, read at once; 0 = automatic              */
    bool fixed;         /* nothing is tuned                                      */
    int repeats;        /* epochs for each one asked for: `repeat` after `batch`; -1 = endless */
    uint64_t seed;
    int on_error;
    bool fuse;
    bool positions; /* of JPEG files are wanted */
    size_t slot_bytes;
    leat__budget budget;
    int n_slots; /* that there is memory for                               */
    int n_slots_begin;
    bool non_temporal; /* the ring does not stay in the last-level cache          */
    int grain;         /* samples in a task                                      */
    bool calls;        /* a function of the program makes fields                 */
    int group;         /* samples in a group, which one task mixes; 0 = none      */
    int n_group_ops;
    leat__group_op group_op[LEAT_GROUP_OPS_MAX];
    leat__bucket_sizes bucket_sizes; /* what resize_to_bucket resizes to                  */
    int n_trails;                    /* pictures that boxes or keypoints follow                */
    int n_choices;                   /* random_apply and random_choice                         */
    int n_meetings;                  /* where pictures that move together compare their sizes  */
    leat__caching caching;           /* the operation `cache`                                  */
    leat__cache *cache;              /* NULL: none, or not yet                                 */
    leat__jpeg_store *jpeg_store;    /* positions in JPEG files; NULL: none                    */
    leat__sets *sets;                /* data sets of the cache directory in use; NULL: none    */
    leat__mutex *serial;             /* functions of the program that are not thread-safe; NULL: none */
    uint64_t contents;               /* of files that operations read, as a hash                */
    uint64_t fingerprint;            /* of the operations, without those that change nothing    */
    leat__buf text;                  /* the operations in their normal form                     */
    size_t size_at;     /* where the size of its batch stands; 0 = it has several, or counts batches */
    leat__arena memory; /* features, passes, names                                 */
} leat__plan;

/* Samples of a batch on all ranks together. */
static inline uint64_t leat__plan_global_batch(const leat__plan *plan) {
    return plan->global_batch ? (uint64_t)plan->global_batch : (uint64_t)plan->batch * (uint64_t)plan->world;
}
/* Which places of a global batch are those of this rank. Shares differ by one where ranks do not divide it; plan->batch is the
 * largest. */
typedef struct leat__share {
    uint64_t first, n;
} leat__share;
static inline leat__share leat__plan_share(const leat__plan *plan) {
    const uint64_t all = leat__plan_global_batch(plan), world = (uint64_t)plan->world;
    const uint64_t first = (uint64_t)plan->rank * all / world;
    return (leat__share){.first = first, .n = ((uint64_t)plan->rank + 1) * all / world - first};
}
/* Whether all batches have the same number of places. Always with several ranks: all of them must have equally many batches
 * of the same size. */
static inline bool leat__plan_pads(const leat__plan *plan) {
    return plan->world > 1 || plan->pad_remainder;
}

#endif
