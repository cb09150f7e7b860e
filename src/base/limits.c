/* SPDX-License-Identifier: Apache-2.0 */
/* A process is in one cgroup of each hierarchy: one of version 2, and one per controller of version 1.
 * /proc/self/cgroup names them, /proc/self/mountinfo says where their files are. A container sees a part of a hierarchy:
 * the mount's root is then the part's own path, which stands in front of the names in /proc/self/cgroup or, with a namespace
 * of its own, does not. */
#include "base/limits.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { LINE = 2 * PATH_MAX };

typedef struct limits {
    uint64_t memory;
    double cores;
    uint64_t throttled_ns;
    double pressure;
} limits;

typedef struct hierarchy {
    bool v2;
    char mount[PATH_MAX];  /* where its files are, with the root in front  */
    char within[PATH_MAX]; /* the part of the tree that is mounted there   */
    char path[PATH_MAX];   /* of this process in the tree; "" if not known */
} hierarchy;

/* ------------------------------------------------------------------------------------------ small files */

static FILE *open_at(const char *folder, const char *name) {
    char path[LINE];
    const int n = snprintf(path, sizeof path, "%s/%s", folder, name);
    return n > 0 && (size_t)n < sizeof path ? fopen(path, "re") : NULL;
}

/* Up to two numbers of a file; returns how many. The word "max" is UINT64_MAX, -1 too. */
static int read_numbers(const char *folder, const char *name, uint64_t out[2]) {
    FILE *file = open_at(folder, name);
    char word[2][32];
    if (!file) return 0;
    const int n = fscanf(file, "%31s %31s", word[0], word[1]);
    fclose(file);
    for (int i = 0; i < n; i++)
        out[i] = word[i][0] == 'm' || word[i][0] == '-' ? UINT64_MAX : strtoull(word[i], NULL, 10);
    return LEAT_MAX(n, 0);
}

/* The number behind a name in a file of lines "name number", 0 if it is not there. */
static uint64_t read_named(const char *folder, const char *name, const char *key) {
    FILE *file = open_at(folder, name);
    char line[128], word[64];
    unsigned long long value = 0, found = 0;
    while (file && !found && fgets(line, sizeof line, file))
        if (sscanf(line, "%63s %llu", word, &value) == 2 && strcmp(word, key) == 0) found = value;
    if (file) fclose(file);
    return (uint64_t)found;
}

/* ----------------------------------------------------------------------------------- where the files are */

/* Whether a word is in a list with commas. */
static bool lists(const char *list, const char *word) {
    const size_t n = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at += n)
        if ((at == list || at[-1] == ',') && (at[n] == 0 || at[n] == ',' || at[n] == '\n')) return true;
    return false;
}

/* The kernel writes blanks and backslashes of paths as \040. */
static void unescape(char *path) {
    char *to = path;
    for (const char *at = path; *at; to++) {
        if (at[0] == '\\' && at[1] >= '0' && at[1] <= '3' && at[2] && at[3]) {
            *to = (char)((at[1] - '0') * 64 + (at[2] - '0') * 8 + (at[3] - '0'));
            at += 4;
        } else {
            *to = *at++;
        }
    }
    *to = 0;
}

/* A line of mountinfo: "30 23 0:26 /part /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory". */
static bool take_mount(hierarchy *out, char *line, const char *root, const char *controller) {
    char kind[16], options[256], within[PATH_MAX], mount[PATH_MAX];
    const char *behind = strstr(line, " - ");
    if (!behind || sscanf(behind, " - %15s %*s %255s", kind, options) != 2) return false;
    const bool v2 = strcmp(kind, "cgroup2") == 0;
    if (!v2 && (strcmp(kind, "cgroup") != 0 || !lists(options, controller))) return false;
    if (sscanf(line, "%*s %*s %*s %4095s %4095s", within, mount) != 2) return false;
    unescape(within);
    unescape(mount);
    *out = (hierarchy){.v2 = v2};
    snprintf(out->within, sizeof out->within, "%s", strcmp(within, "/") == 0 ? "" : within);
    return snprintf(out->mount, sizeof out->mount, "%s%s", root, mount) < (int)sizeof out->mount;
}

/* The line of /proc/self/cgroup for a hierarchy: "4:memory:/a/b", of version 2 "0::/a/b". */
static void find_path(hierarchy *h, const char *root, const char *controller) {
    char line[LINE], list[256];
    FILE *file = open_at(root, "proc/self/cgroup");
    while (file && fgets(line, sizeof line, file)) {
        char *first = strchr(line, ':'), *second = first ? strchr(first + 1, ':') : NULL;
        if (!second) continue;
        snprintf(list, sizeof list, "%.*s", (int)(second - first - 1), first + 1);
        if (h->v2 ? *list != 0 : !lists(list, controller)) continue;
        second[strcspn(second, "\n")] = 0;
        snprintf(h->path, sizeof h->path, "%s", second + 1);
    }
    if (file) fclose(file);
    const size_t n = strlen(h->within);
    const bool below = strncmp(h->path, h->within, n) == 0 && (h->path[n] == '/' || h->path[n] == 0);
    if (!below || strstr(h->path, "/.."))
        h->path[0] = 0; /* outside of what is mounted: the mount's own level counts */
    else memmove(h->path, h->path + n, strlen(h->path + n) + 1);
    if (strcmp(h->path, "/") == 0) h->path[0] = 0;
}

/* ------------------------------------------------------------------------------------------------ levels */

static uint64_t left_of(uint64_t limit, uint64_t used, uint64_t inactive) {
    used -= LEAT_MIN(inactive, used);
    return limit == UINT64_MAX ? limit : limit > used ? limit - used : 0;
}

/* A cgroup of version 1 without a limit has one near the largest number. Its use is not read then: the kernel adds it up over all
 * cgroups below at every read. */
enum { UNLIMITED = 60 }; /* bits */

static void see_memory(const hierarchy *h, const char *folder, limits *out) {
    uint64_t limit[2], high[2] = {UINT64_MAX, 0}, used[2];
    if (read_numbers(folder, h->v2 ? "memory.max" : "memory.limit_in_bytes", limit) < 1) return;
    if (h->v2 && read_numbers(folder, "memory.high", high) < 1) high[0] = UINT64_MAX;
    if (LEAT_MIN(limit[0], high[0]) >> UNLIMITED ||
        read_numbers(folder, h->v2 ? "memory.current" : "memory.usage_in_bytes", used) < 1)
        return;
    const uint64_t inactive =
        read_named(folder, "memory.stat", h->v2 ? "inactive_file" : "total_inactive_file");
    out->memory = LEAT_MIN(out->memory, left_of(LEAT_MIN(limit[0], high[0]), used[0], inactive));
}

static void see_cores(const hierarchy *h, const char *folder, limits *out) {
    uint64_t quota[2] = {UINT64_MAX, 0};
    if (h->v2) {
        if (read_numbers(folder, "cpu.max", quota) < 2) return;
    } else {
        uint64_t period[2];
        if (read_numbers(folder, "cpu.cfs_quota_us", quota) < 1 ||
            read_numbers(folder, "cpu.cfs_period_us", period) < 1)
            return;
        quota[1] = period[0];
    }
    if (quota[0] == UINT64_MAX || quota[0] == 0 || quota[1] == 0 || quota[1] == UINT64_MAX) return;
    const double cores = (double)quota[0] / (double)quota[1];
    if (out->cores == 0 || cores < out->cores) out->cores = cores;
}

static void see_throttled(const hierarchy *h, const char *folder, limits *out) {
    const uint64_t n = h->v2 ? read_named(folder, "cpu.stat", "throttled_usec") * 1000
                             : read_named(folder, "cpu.stat", "throttled_time");
    out->throttled_ns = LEAT_MAX(out->throttled_ns, n);
}

/* A file of pressures: "some avg10=1.50 avg60=0.40 avg300=0.08 total=12345". */
static double read_pressure(const char *folder, const char *name) {
    FILE *file = open_at(folder, name);
    double found = 0;
    if (file && fscanf(file, "some avg10=%lf", &found) != 1) found = 0;
    if (file) fclose(file);
    return found;
}

static void see_pressure(const hierarchy *h, const char *folder, limits *out) {
    if (h->v2) out->pressure = LEAT_MAX(out->pressure, read_pressure(folder, "memory.pressure"));
}

/* Every level from the process's own up to the one that is mounted. */
static void see_levels(hierarchy *h, limits *out, void (*see)(const hierarchy *, const char *, limits *)) {
    char folder[LINE];
    for (;;) {
        snprintf(folder, sizeof folder, "%s%s", h->mount, h->path);
        see(h, folder, out);
        char *slash = strrchr(h->path, '/');
        if (!slash) return;
        *slash = 0;
    }
}

static void see_controller(const char *root, const char *controller, limits *out,
                           void (*see)(const hierarchy *, const char *, limits *)) {
    char line[LINE];
    hierarchy h;
    FILE *file = open_at(root, "proc/self/mountinfo");
    while (file && fgets(line, sizeof line, file)) {
        if (!take_mount(&h, line, root, controller)) continue;
        find_path(&h, root, controller);
        see_levels(&h, out, see);
    }
    if (file) fclose(file);
}

/* What RLIMIT_AS leaves of the address space. */
static uint64_t left_to_map(const char *root) {
    struct rlimit limit;
    uint64_t pages[2];
    const long page = sysconf(_SC_PAGESIZE);
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
    if (page <= 0 || read_numbers(root, "proc/self/statm", pages) < 1) return (uint64_t)limit.rlim_cur;
    return left_of((uint64_t)limit.rlim_cur, pages[0] * (uint64_t)page, 0);
}

uint64_t leat__limits_memory(const char *root) {
    limits found = {.memory = left_to_map(root)};
    see_controller(root, "memory", &found, see_memory);
    return found.memory;
}

double leat__limits_cores(const char *root) {
    limits found = {0};
    see_controller(root, "cpu", &found, see_cores);
    return found.cores;
}

uint64_t leat__limits_throttled(const char *root) {
    limits found = {0};
    see_controller(root, "cpu", &found, see_throttled);
    return found.throttled_ns;
}

uint64_t leat__limits_files(void) {
    struct rlimit files;
    return getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur != RLIM_INFINITY ? (uint64_t)files.rlim_cur
                                                                                    : UINT64_MAX;
}

double leat__limits_pressure(const char *root) {
    limits found = {.pressure = read_pressure(root, "proc/pressure/memory")};
    see_controller(root, "memory", &found, see_pressure);
    return found.pressure;
}
