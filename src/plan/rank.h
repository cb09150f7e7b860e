/* SPDX-License-Identifier: Apache-2.0 */
/* The rank of this process among those that train together, their number, and how many of them share this machine. The
 * program may set them in its config; otherwise they come from the launcher's environment variables. */
#ifndef LEAT_PLAN_RANK_H
#define LEAT_PLAN_RANK_H

#include "base/error.h"

#define LEAT_WORLD_MAX (1 << 20)

typedef struct leat__rank {
    int rank, world; /* 0 <= rank < world                                     */
    int local;       /* ranks on this machine, at least 1                     */
    const char *who; /* what set them: "torchrun", "TF_CONFIG", "the program", ...; "" = nothing */
} leat__rank;

/* What the environment says: torchrun, Open MPI, JAX, TF_CONFIG, MPICH and Slurm are asked in this order. Rank 0
 * of 1 if none of them is set. An incomplete or invalid setting is LEAT_ERR_ARGUMENT. */
int leat__rank_environment(leat__rank *out, leat_error *err);
/* What the config says (world_size > 0); or what the environment says if that is asked for (world_size -1, or `automatic`:
 * the text has `shard auto`); else rank 0 of 1. The local number comes from the environment unless the config has one. */
int leat__rank_find(leat__rank *out, const leat_config *config, bool automatic, leat_error *err);
/* The value of TF_CONFIG, by itself for the tests. */
int leat__rank_tf_config(leat__rank *out, const char *text, size_t n, leat_error *err);

#endif
