/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/rank.h"

#include <stdlib.h>

#include "format/json.h"

/* ------------------------------------------------------------------------------------- plain numbers */

/* A whole number and nothing else; -1 if it is none that fits. */
static int64_t read_number(const char *text) {
    int64_t n = 0;
    if (!*text) return -1;
    for (; *text; text++) {
        if (*text < '0' || *text > '9') return -1;
        n = n * 10 + (*text - '0');
        if (n > LEAT_WORLD_MAX) return -1;
    }
    return n;
}

static int fail_value(const char *name, const char *value, const char *want, leat_error *err) {
    char shown[80];
    return leat__fail(err, LEAT_ERR_ARGUMENT, "the environment's %s must be %s, not '%s'", name, want,
                      leat__printable(shown, sizeof shown, value, strlen(value)));
}

static int check(const leat__rank *found, const char *name, const char *world_name, leat_error *err) {
    if (found->rank < found->world) return 0;
    return leat__fail(err, LEAT_ERR_ARGUMENT,
                      "the environment (%s) says that this is rank %d of %d: ranks count from 0 (%s, %s)",
                      found->who, found->rank, found->world, name, world_name);
}

typedef struct launcher { /* sets environment variables of its own for its processes */
    const char *who, *rank, *world[3], *local[3];
} launcher;

static const launcher launchers[] = {
    {"torchrun", "RANK", {"WORLD_SIZE"}, {"LOCAL_WORLD_SIZE"}},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", {"OMPI_COMM_WORLD_SIZE"}, {"OMPI_COMM_WORLD_LOCAL_SIZE"}},
    {"JAX", "JAX_PROCESS_ID", {"JAX_NUM_PROCESSES", "JAX_PROCESS_COUNT"}, {"JAX_LOCAL_PROCESS_COUNT"}},
};
/* Asked after TF_CONFIG, which is set for one run: these variables are set in every job of the cluster. */
static const launcher systems[] = {
    {"MPICH", "PMI_RANK", {"PMI_SIZE"}, {"MPI_LOCALNRANKS", "SLURM_STEP_TASKS_PER_NODE"}},
    {"Slurm",
     "SLURM_PROCID",
     {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NPROCS"},
     {"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE", "SLURM_NTASKS_PER_NODE"}},
};

static const char *first_of(const char *const names[3], const char **name) {
    for (int i = 0; i < 3 && names[i]; i++) {
        *name = names[i];
        const char *value = getenv(names[i]);
        if (value && *value) return value;
    }
    *name = names[0];
    return NULL;
}

/* Slurm's "2(x3),1": so many tasks on each node, in the order of nodes. 0 if it cannot be read. */
static int tasks_on_node(const char *text, int64_t node) {
    for (;;) {
        char *end;
        const long long tasks = strtoll(text, &end, 10);
        long long times = 1;
        if (end == text || tasks < 1 || tasks > LEAT_WORLD_MAX) return 0;
        if (strncmp(end, "(x", 2) == 0) {
            text = end + 2;
            times = strtoll(text, &end, 10);
            if (end == text || *end++ != ')' || times < 1) return 0;
        }
        if (node < times) return (int)tasks;
        node -= times;
        if (*end != ',') return 0;
        text = end + 1;
    }
}

/* What is not told or not understood counts as one: it only decides how many threads are a fair share. */
static int local_of(const launcher *from) {
    const char *name, *value = first_of(from->local, &name), *node = getenv("SLURM_NODEID");
    if (!value) return 1;
    if (strncmp(name, "SLURM", 5) == 0)
        return LEAT_MAX(tasks_on_node(value, node ? LEAT_MAX(read_number(node), (int64_t)0) : 0), 1);
    return (int)LEAT_MAX(read_number(value), (int64_t)1);
}

/* 1 = it has spoken, 0 = it is not there. */
static int ask(const launcher *from, leat__rank *out, leat_error *err) {
    const char *rank = getenv(from->rank), *name, *world = first_of(from->world, &name);
    const bool has_rank = rank && *rank;
    /* Slurm tells the number of tasks to shells too, which are none of them. */
    if (!has_rank && (!world || strncmp(name, "SLURM", 5) == 0)) return 0;
    if (!has_rank || !world)
        return leat__fail(
            err, LEAT_ERR_ARGUMENT,
            "the environment has %s but not %s: %s sets both; unset it, or give rank and world_size",
            has_rank ? from->rank : name, has_rank ? from->world[0] : from->rank, from->who);
    const int64_t r = read_number(rank), n = read_number(world);
    if (r < 0) return fail_value(from->rank, rank, "a number from 0", err);
    if (n < 1) return fail_value(name, world, "a number from 1", err);
    *out = (leat__rank){.rank = (int)r, .world = (int)n, .local = local_of(from), .who = from->who};
    LEAT_TRY(check(out, from->rank, name, err));
    return 1;
}

/* ---------------------------------------------------------------------------------------- TF_CONFIG */

static int fail_tf(const char *what, leat_error *err) {
    return leat__fail(
        err, LEAT_ERR_ARGUMENT,
        "the environment's TF_CONFIG %s: it must be such as {\"cluster\": {\"worker\": [\"a:1\", "
        "\"b:1\"]}, \"task\": {\"type\": \"worker\", \"index\": 0}}",
        what);
}

/* Whether two addresses are on one machine. */
static bool same_host(const char *a, const char *b) {
    const char *end_a = strrchr(a, ':'), *end_b = strrchr(b, ':');
    const size_t n = end_a ? (size_t)(end_a - a) : strlen(a), m = end_b ? (size_t)(end_b - b) : strlen(b);
    return n == m && memcmp(a, b, n) == 0;
}

/* Processes of one kind: counts them, and those on `host` if that is not NULL; the index-th one's address goes into `own`. */
static int64_t count_tasks(const leat__json *cluster, const char *kind, const char *host, int *on_host,
                           int64_t index, char own[256]) {
    leat__json list, task;
    const char *at = NULL;
    int64_t n = 0;
    if (leat__json_find(cluster, kind, &list) != 1) return 0;
    for (; leat__json_next(&list, &at, &task); n++) {
        char address[256] = "";
        leat__json_text(&task, address, sizeof address);
        if (host && same_host(address, host)) ++*on_host;
        if (own && n == index) memcpy(own, address, sizeof address);
    }
    return n;
}

int leat__rank_tf_config(leat__rank *out, const char *text, size_t n, leat_error *err) {
    static const char *const kinds[] = {"chief", "master", "worker"}; /* the order in which they are ranked */
    leat__json all, cluster, task, part;
    char type[32], own[256] = "";
    int64_t index = 0, before = 0, world = 0, mine = 0;
    int local = 0;
    *out = (leat__rank){.world = 1, .local = 1, .who = "TF_CONFIG"};
    if (!leat__json_open(&all, text, n)) return fail_tf("is no JSON", err);
    const int has_cluster = leat__json_find(&all, "cluster", &cluster);
    if (has_cluster < 0) return fail_tf("is no object", err);
    if (has_cluster == 0) return 0; /* one machine, which is also told this way */
    if (*cluster.at != '{') return fail_tf("has a cluster that is no object", err);
    if (leat__json_find(&all, "task", &task) != 1 || leat__json_find(&task, "type", &part) != 1 ||
        !leat__json_text(&part, type, sizeof type))
        return fail_tf("has no task with a type", err);
    if (leat__json_find(&task, "index", &part) == 1 && (!leat__json_int(&part, &index) || index < 0))
        return fail_tf("has a task whose index is no number from 0", err);
    if (strcmp(type, "evaluator") == 0) return 0; /* an evaluator has no other ranks */
    for (size_t i = 0; i < LEAT_COUNT(kinds); i++) {
        const bool own_kind = strcmp(kinds[i], type) == 0;
        const int64_t count =
            count_tasks(&cluster, kinds[i], NULL, NULL, own_kind ? index : -1, own_kind ? own : NULL);
        if (own_kind) before = world, mine = count;
        world += count;
    }
    if (world > LEAT_WORLD_MAX) return fail_tf("has too many tasks", err);
    if (mine == 0) return fail_tf("has a task of a type that is no chief or worker of its cluster", err);
    if (index >= mine) return fail_tf("has a task whose index lies outside of its cluster", err);
    for (size_t i = 0; i < LEAT_COUNT(kinds); i++) count_tasks(&cluster, kinds[i], own, &local, -1, NULL);
    out->rank = (int)(before + index);
    out->world = (int)world;
    out->local = LEAT_MAX(local, 1);
    return 0;
}

/* --------------------------------------------------------------------------------------------- find */

int leat__rank_environment(leat__rank *out, leat_error *err) {
    *out = (leat__rank){.world = 1, .local = 1, .who = ""};
    for (size_t i = 0; i < LEAT_COUNT(launchers); i++) {
        const int spoke = ask(&launchers[i], out, err);
        if (spoke != 0) return LEAT_MIN(spoke, 0);
    }
    const char *tf = getenv("TF_CONFIG");
    if (tf && *tf) return leat__rank_tf_config(out, tf, strlen(tf), err);
    for (size_t i = 0; i < LEAT_COUNT(systems); i++) {
        const int spoke = ask(&systems[i], out, err);
        if (spoke != 0) return LEAT_MIN(spoke, 0);
    }
    return 0;
}

int leat__rank_find(leat__rank *out, const leat_config *config, bool automatic, leat_error *err) {
    leat_error ignored;
    const bool told = config->world_size > 0;
    const bool asked = !told && (config->world_size == -1 || automatic);
    const int rc = leat__rank_environment(out, asked ? err : &ignored);
    if (rc < 0 && asked) return rc;
    if (rc < 0) out->local = 1; /* ranks are not wanted: ignore what the environment says */
    if (config->world_size < -1 || config->world_size > LEAT_WORLD_MAX || config->local_world_size < 0)
        return leat__fail(
            err, LEAT_ERR_ARGUMENT,
            "world_size must be 0 (alone), -1 (from the environment) or a number of ranks up to %d, "
            "not %d",
            LEAT_WORLD_MAX, config->world_size);
    if (told ? config->rank < 0 || config->rank >= config->world_size : config->rank != 0)
        return leat__fail(err, LEAT_ERR_ARGUMENT, "rank %d of %d: ranks count from 0%s", config->rank,
                          LEAT_MAX(config->world_size, 0),
                          told ? "" : ", and world_size says how many there are");
    if (!asked) {
        out->rank = config->rank;
        out->world = told ? config->world_size : 1;
        out->who = told ? "the program" : "";
    }
    if (config->local_world_size > 0) out->local = config->local_world_size;
    return 0;
}
