/* SPDX-License-Identifier: Apache-2.0 */
/* What the system allows this process: the limits of its cgroups and of the process itself. */
#ifndef LEAT_BASE_LIMITS_H
#define LEAT_BASE_LIMITS_H

#include "base/macros.h"

typedef struct leat__limits {
    uint64_t memory; /* bytes that may still be taken; UINT64_MAX if nothing sets a limit       */
    double cores;    /* processor time in cores, of the tightest quota; 0 if there is no quota */
} leat__limits;

/* Looks at every level of the cgroup tree from the process's own up to the root, version 1 and 2. A level leaves its limit
 * less what is used there. Pages of files that were not used lately do not count as used: the kernel gives them back. The
 * level that leaves least counts. `root` stands in front of /proc and of the mount points; "" is the running system. */
leat__limits leat__limits_read(const char *root);

#endif
