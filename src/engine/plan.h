/* SPDX-License-Identifier: Apache-2.0 */
/* The plan: what a worker does to each sample, fixed before the first one is read.
 *
 * A plan is a source, an order, a list of steps, and the shape of a batch. A step works on one value (a field of the
 * sample) and leaves its result in the same value. All image operations between two points where pixels must lie in
 * memory are one step, a pass: decode, resample, point operations, flips and the store run over the rows together.
 * The last pass of a field writes into the batch itself. Fusing never changes a result: `options fuse=off` gives each
 * operation a pass of its own, with the same kernels. */
#ifndef LEAT_ENGINE_PLAN_H
#define LEAT_ENGINE_PLAN_H

#include "base/mem.h"
#include "decode/decode.h"
#include "engine/spec.h"
#include "image/pass.h"
#include "order/order.h"
#include "source/source.h"

#define LEAT_STEPS_MAX 64
#define LEAT_POINTS_MAX 16
#define LEAT_VALUES_MAX LEAT_FIELDS_MAX

typedef enum leat__step_kind {
    LEAT_STEP_PARSE, /* tf.train.Example to values              */
    LEAT_STEP_RAW,   /* bytes are values of a type              */
    LEAT_STEP_RESHAPE,
    LEAT_STEP_CONVERT, /* any type to any type, plain             */
    LEAT_STEP_PASS
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

typedef enum leat__point_kind {
    LEAT_POINT_AFFINE,     /* f32: x * mul + add, constant                    */
    LEAT_POINT_BRIGHTNESS, /* f32: x + d; u8: through a table; d drawn        */
} leat__point_kind;

typedef struct leat__point {
    leat__point_kind kind;
    uint32_t op;
    bool table;          /* BRIGHTNESS on u8: through a table, before the stages */
    leat__affine affine; /* AFFINE                                          */
    int channels;        /* 0 = the same for all, else the sample must match */
    float delta_max;     /* BRIGHTNESS                                      */
} leat__point;

typedef struct leat__flip {
    uint32_t op;
    bool vertical;
    double probability;
} leat__flip;

typedef enum leat__crop_kind {
    LEAT_CROP_NONE,
    LEAT_CROP_FRACTION, /* the middle: a share of each side                 */
    LEAT_CROP_CENTRE,   /* the middle: a given size                         */
    LEAT_CROP_RANDOM,   /* a given size at a drawn place                    */
    LEAT_CROP_RESIZED,  /* drawn area, aspect ratio and place               */
} leat__crop_kind;

typedef struct leat__crop_plan {
    leat__crop_kind kind;
    uint32_t op;
    double fraction;
    int height, width;
    double scale[2], ratio[2]; /* RESIZED: share of the area, width over height     */
} leat__crop_plan;

typedef struct leat__pass_plan {
    bool decode; /* the value is an image file                           */
    leat__decode_options decode_options;
    leat__crop_plan crop; /* drawn before decoding: only this part is decoded      */
    leat__resample resample;
    int height, width; /* of the output when resampling                        */
    int n_flips;
    leat__flip flip[8];
    int n_points;
    leat__point point[LEAT_POINTS_MAX];
    int dtype; /* of the output                                        */
    bool nchw;
    char text[200]; /* the operations it holds, for `leat plan`              */
} leat__pass_plan;

typedef struct leat__step {
    leat__step_kind kind;
    int stage;  /* LEAT_STAGE_*                                         */
    int value;  /* which one it works on                                */
    int output; /* number of the output it writes into, -1 = its own buffer */
    int column; /* of the operation in the text                         */
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
            int64_t shape[LEAT_NDIM_MAX]; /* one may be -1: what is left */
        } reshape;
        struct {
            int dtype;
            bool affine;
            double scale, offset;
        } convert;
        leat__pass_plan *pass;
    } as;
} leat__step;

typedef struct leat__output { /* a field of the batch                                 */
    leat_field field;
    int value;
    bool stored;   /* the last step writes it; else it is copied at the end */
    size_t item;   /* bytes of one value                                    */
    size_t stride; /* bytes from one sample to the next while filling        */
    size_t offset; /* of the field in a slot                                */
} leat__output;

typedef struct leat__plan {
    leat__source *source;
    leat__stream *stream; /* not NULL: records come one after the other           */
    leat__order order;
    int n_values;
    int n_steps;
    leat__step step[LEAT_STEPS_MAX];
    int n_outputs;
    leat__output output[LEAT_FIELDS_MAX];
    int batch;
    bool drop_remainder;
    int prefetch; /* 0 = automatic                                         */
    int turns;    /* epochs for each one asked for: `repeat` after `batch`; -1 = endless */
    uint64_t seed;
    int on_error;
    bool fuse;
    size_t slot_bytes;
    size_t budget;
    int n_slots; /* that there is memory for                               */
    int n_slots_begin;
    bool non_temporal;    /* the ring does not fit in the last-level cache           */
    int grain;            /* samples in a task                                      */
    uint64_t fingerprint; /* of the operations, without those that change nothing    */
    leat__buf text;       /* the operations in their normal form                     */
    leat__arena memory;   /* features, passes, names                                 */
} leat__plan;

/* What plan functions see: the plan, and what is known of the fields at this point of the text. */
typedef struct leat__plan_field {
    leat_field info;  /* dtype BYTES: not decoded yet                          */
    size_t count_max; /* of values when ragged, 0 = not known                  */
    int pass;         /* number of the step that can take further image operations, -1 = none */
    bool nchw;        /* how the last pass will store it                        */
} leat__plan_field;

struct leat__planner {
    leat__plan *plan;
    const leat_spec *spec;
    const leat_config *config;
    leat__open_options open;
    int n_fields;
    leat__plan_field field[LEAT_VALUES_MAX];
    bool live[LEAT_VALUES_MAX]; /* parse consumes its record                             */
    bool batched;
    bool source_known;
};

int leat__plan_build(leat__plan *plan, const leat_spec *spec, const leat_config *config, leat_error *err);
void leat__plan_free(leat__plan *plan);
/* Lines of text for `leat plan`; snprintf's return value. */
size_t leat__plan_text(const leat__plan *plan, int n_threads, char *text, size_t cap);

/* For plan functions (plan_order.c, plan_fields.c, plan_image.c): */
int leat__plan_fail(const leat__use *use, leat_error *err, int code, const char *fmt, ...) LEAT_PRINTF(4, 5);
/* Index of the field that the argument `name` names; fails with the nearest name. */
int leat__plan_field_find(leat__planner *planner, const leat__use *use, const char *name, int *out,
                          leat_error *err);
leat__step *leat__plan_step_add(leat__planner *planner, const leat__use *use, leat__step_kind kind, int stage,
                                int value, leat_error *err);
/* No further image operation may join what is planned for this field so far. */
void leat__plan_close_pass(leat__planner *planner, int field);
/* Sizes that the fields do not tell by themselves: asks the first sample that can be read. In probe.c. */
int leat__plan_probe(leat__planner *planner, leat_error *err);

/* The plan functions, in the order of the table. */
int leat__plan_folder(leat__planner *, const leat__use *, leat_error *);
int leat__plan_tfrecord(leat__planner *, const leat__use *, leat_error *);
int leat__plan_arrays(leat__planner *, const leat__use *, leat_error *);
int leat__plan_synth(leat__planner *, const leat__use *, leat_error *);
int leat__plan_shuffle(leat__planner *, const leat__use *, leat_error *);
int leat__plan_take(leat__planner *, const leat__use *, leat_error *);
int leat__plan_skip(leat__planner *, const leat__use *, leat_error *);
int leat__plan_shard(leat__planner *, const leat__use *, leat_error *);
int leat__plan_repeat(leat__planner *, const leat__use *, leat_error *);
int leat__plan_parse(leat__planner *, const leat__use *, leat_error *);
int leat__plan_decode_raw(leat__planner *, const leat__use *, leat_error *);
int leat__plan_reshape(leat__planner *, const leat__use *, leat_error *);
int leat__plan_cast(leat__planner *, const leat__use *, leat_error *);
int leat__plan_select(leat__planner *, const leat__use *, leat_error *);
int leat__plan_decode(leat__planner *, const leat__use *, leat_error *);
int leat__plan_central_crop(leat__planner *, const leat__use *, leat_error *);
int leat__plan_center_crop(leat__planner *, const leat__use *, leat_error *);
int leat__plan_random_crop(leat__planner *, const leat__use *, leat_error *);
int leat__plan_random_resized_crop(leat__planner *, const leat__use *, leat_error *);
int leat__plan_resize(leat__planner *, const leat__use *, leat_error *);
int leat__plan_flip_x(leat__planner *, const leat__use *, leat_error *);
int leat__plan_flip_y(leat__planner *, const leat__use *, leat_error *);
int leat__plan_brightness(leat__planner *, const leat__use *, leat_error *);
int leat__plan_normalize(leat__planner *, const leat__use *, leat_error *);
int leat__plan_batch(leat__planner *, const leat__use *, leat_error *);
int leat__plan_prefetch(leat__planner *, const leat__use *, leat_error *);
int leat__plan_options(leat__planner *, const leat__use *, leat_error *);

#endif
