/* SPDX-License-Identifier: Apache-2.0 */
/* From a spec to a plan: what plan functions see and call. The plan itself is data (sample/plan.h). */
#ifndef LEAT_PLAN_PLANNER_H
#define LEAT_PLAN_PLANNER_H

#include "plan/plan_image.h"
#include "plan/spec.h"
#include "plan/stream_plan.h"
#include "sample/plan.h"

/* What plan functions see: the plan, and what is known of the fields at this point of the text. */
typedef struct leat__plan_field {
    leat_field info;  /* dtype BYTES: not decoded yet                          */
    size_t count_max; /* of values when ragged, 0 = not known                  */
    int pass;         /* number of the step that can take further image operations, -1 = none */
    uint32_t noted;   /* number of the operation that stands last in the text of that step */
    bool nchw;        /* how the last pass will store it                        */
    bool valid;       /* no field of samples: which places of a batch are real  */
    bool bytes;       /* a picture that began as u8: values from 0 to 255, unless it is scaled */
    bool scaled;      /* cast, normalize or their like have said its type and range */
    int64_t classes;  /* labels that were renumbered: all lie below it; 0 = they are the source's */
    uint32_t masks;   /* bit i: field i is a mask that moves with this picture */
    bool mask;        /* it is one, of the picture `leader`                    */
    int leader;
    float mask_fill;
    bool by_bucket;            /* its size is that of the batch's bucket               */
    int trail;                 /* number, from 1, of its trail, if boxes or keypoints follow it; 0 = none */
    int n_moves;               /* that lie on it here                                                     */
    int trail_of;              /* not 0: this is the trail of that field, from 1, for a cache             */
    leat__device_plan *device; /* not NULL: a device applies its operations                    */
} leat__plan_field;

struct leat__planner {
    leat__plan *plan;
    const leat_spec *spec;
    const leat_config *config;
    leat__open_options open;
    uint64_t cache_bytes_max; /* of the cache directory */
    int n_fields;
    leat__plan_field field[LEAT_VALUES_MAX];
    bool live[LEAT_VALUES_MAX]; /* parse consumes its record                             */
    bool batched;
    bool fast; /* options accuracy=fast                                 */
    int slots; /* options tune=                                         */
    const leat__use
        *leaving; /* options layout= or unit=: how pictures leave; NULL = as the text makes them */
    const leat__use *padding; /* padded_batch, NULL = none                             */
    bool source_known;
    const char *source_text; /* what is combined, in its normal form; NULL: a plain source */
    uint32_t inside;         /* which of the texts inside texts this is, 0 = the whole       */
    bool several;            /* the operation works on several fields of a sample     */
    bool again;              /* ... and this is not the first of them                 */
    int choice, branch;      /* of the steps that are added: leat__step               */
    struct {
        uint32_t op;
        int part;
    } meeting[LEAT_MEETINGS_MAX]; /* (plan->n_meetings) which part of which operation  */
    int n_coords;
    leat__coords_field coords[LEAT_COORDS_MAX];
};

int leat__plan_build(leat__plan *plan, const leat_spec *spec, const leat_config *config, leat_error *err);
/* The fingerprint that it would have with that size of the batch on all ranks together. Only if plan->size_at is not 0. */
int leat__plan_fingerprint(const leat__plan *plan, uint64_t batch, uint64_t *out, leat_error *err);
void leat__plan_free(leat__plan *plan);
/* Lines of text for `leat plan`; snprintf's return value. */
size_t leat__plan_text(const leat__plan *plan, int n_threads, char *text, size_t cap);
/* Shows the headers of some pictures, spread evenly over the files, as the step that decodes would get them. */
typedef void leat__look_fn(void *user, const leat__picture_info *info);
void leat__plan_look(const leat__plan *plan, int pass, leat__look_fn *see, void *user);

/* Plans an operation, for each of its fields if it names several. */
int leat__plan_use(leat__planner *planner, const leat__use *use, leat_error *err);

/* For plan functions, in ops_*.c; plan_image.h has more for image operations. */
int leat__plan_fail(const leat__use *use, leat_error *err, int code, const char *fmt, ...) LEAT_PRINTF(4, 5);
/* Index of the live field of that name, or -1; name of the i-th live field, NULL behind the last (for leat__nearest). */
int leat__plan_live(const leat__planner *planner, const char *name);
const char *leat__plan_live_name(const void *planner, size_t i);
/* Index of the field that the argument `name` names; fails with the nearest name. */
int leat__plan_field_find(leat__planner *planner, const leat__use *use, const char *name, int *out,
                          leat_error *err);
/* A new field of that name, without type and shape. */
int leat__plan_field_add(leat__planner *planner, const leat__use *use, const char *name, int *out,
                         leat_error *err);
leat__step *leat__plan_step_add(leat__planner *planner, const leat__use *use, leat__step_kind kind, int stage,
                                int value, leat_error *err);
/* No further image operation may join the pass that is open for this field. */
void leat__plan_close_pass(leat__planner *planner, int field);
/* Whether the plan knows the length of every axis. */
bool leat__shape_known(const leat_field *field);
/* Finds sizes that the fields do not tell, from the first sample that can be read. In probe.c. */
int leat__plan_probe(leat__planner *planner, leat_error *err);
/* Runs samples through what is planned so far, the first ones by number, until `take` returns 0 for one; otherwise fails as
 * for the first sample. */
typedef int leat__probe_fn(void *user, leat__tools *tools, const leat__where *at, leat_error *err);
int leat__plan_probe_with(leat__planner *planner, leat__probe_fn *take, void *user, leat_error *err);

/* plan_source.c. A pipeline has one source. What opening it returned (rc); its fields become the first values. */
int leat__plan_source_begin(leat__planner *planner, const leat__use *use, leat_error *err);
int leat__plan_source_take(leat__planner *planner, int rc);
/* A mutex around callbacks of the program that are not thread-safe; the source owns it. */
int leat__plan_guard(leat__guard *out, leat_error *err);
/* The argument `seed`, or that of the pipeline. */
uint64_t leat__plan_seed(const leat__planner *planner, const leat__use *use);
int leat__plan_order_add(leat__planner *planner, leat__order_verb verb, leat_error *err);

/* plan_coordinates.c: boxes and keypoints that move with a picture (sample/coordinates.h). */
/* From here on `value` follows the picture `leader`. */
int leat__coords_begin(leat__planner *planner, const leat__use *use, const leat__coords_field *follower,
                       leat_error *err);
/* The picture has n moves more, if anything follows it. */
int leat__coords_count(leat__planner *planner, const leat__use *use, int picture, int n, leat_error *err);
/* An operation uses the values of a field at this point of the text: applies the moves of its picture so far to it.
 * field -1: to all fields that follow a picture. */
int leat__coords_settle(leat__planner *planner, const leat__use *use, int field, leat_error *err);
/* The next operation on the picture needs the boxes in that field as they are at this point: *out says how to read them. */
int leat__coords_need(leat__planner *planner, const leat__use *use, int picture, int field,
                      const leat__coords_plan **out, leat_error *err);
/* A cache: trails are kept as fields of their own, and taken up again behind it. */
int leat__coords_keep(leat__planner *planner, const leat__use *use, leat_error *err);
int leat__coords_resume(leat__planner *planner, const leat__use *use, leat_error *err);

/* In ops_cache.c: gives the cache its share of the budget and opens it, when everything else is planned. */
int leat__plan_open_cache(leat__planner *planner, leat_error *err);
/* ops_batch.c: whether an operation may stand behind buckets; when the text is planned, what batches they make; what the
 * outputs' sizes are. */
int leat__bucket_check(leat__planner *planner, const leat__use *use, leat_error *err);
void leat__bucket_resolve(leat__planner *planner);
int leat__bucket_outputs(leat__planner *planner, leat_error *err);
/* ops_mix.c. Once fields have become outputs and shapes are known: fills in what the text did not tell. */
int leat__group_resolve(leat__planner *planner, leat_error *err);
/* plan_padding.c. After the outputs were chosen: which of them differ in size, what is the largest, what they are filled up with. */
int leat__padding_resolve(leat__planner *planner, leat_error *err);
/* plan.c: slots that the text or the configuration asks for; 0 = automatic. */
int leat__plan_slots_asked(const leat__planner *planner);
/* plan_padding.c. Batches of one: which outputs keep the size of their sample; after probing, the number of slots and the
 * room for each, within the budget's share for slots. */
void leat__unsized_choose(leat__planner *planner);
int leat__unsized_fit(leat__planner *planner, leat_error *err);
/* ops/pictures.c: which fields are pictures, and where their channels are. An operation on pictures takes field `at`: an
 * error if its shape can only be (channels, height, width). */
int leat__picture_take(leat__planner *planner, const leat__use *use, int at, leat_error *err);
/* When the text is planned: pictures leave as `options layout=` and `unit=` say. */
int leat__pictures_leave(leat__planner *planner, leat_error *err);
/* A field of `layout=nchw` becomes an output: its last pass stores so. */
int leat__picture_store_nchw(leat__planner *planner, int at, leat_error *err);
/* ops_normalize.c: u8 pictures become dtype (f32, f16, bf16), from 0 to 1. */
int leat__plan_add_unit(leat__planner *planner, const leat__use *use, int at, int dtype, leat_error *err);

/* ops_device.c: what another device does (sample/device.h). Whether an operation may work on field `at`, which is the device's. */
int leat__device_check(const leat__planner *planner, const leat__use *use, int at, leat_error *err);
/* Adds a part to the device's list; leat__plan_add_* call it. op: as the parts have it, named. */
int leat__device_add(leat__planner *planner, const leat__use *use, int at, const leat__device_part *part,
                     leat_error *err);
/* When the text is planned: what goes out is the picture as it was. */
int leat__device_settle(leat__planner *planner, leat_error *err);

/* ops_batch.c: the operation as a single process would write it that does the work of all ranks: `batch 8` on four ranks is
 * `batch 32`. So a state can be resumed on any number of ranks. The group of mixed samples is written as the plan has it, because
 * it changes bytes: it may depend on the batch of one rank. */
typedef struct leat__batch_use {
    leat__use use;
    char size[24];
} leat__batch_use;
const leat__use *leat__batch_of_world(const leat__plan *plan, const leat__use *use, leat__batch_use *room);
/* Refuses unequal shares of the ranks where the plan needs equal ones. */
int leat__batch_check_shares(const leat__planner *planner, leat_error *err);

#endif
