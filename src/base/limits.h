/* SPDX-License-Identifier: Apache-2.0 */
/* What the system allows this process: the limits of its cgroups and of the process itself. */
#ifndef LEAT_BASE_LIMITS_H
#define LEAT_BASE_LIMITS_H

#include "base/macros.h"

/* Both look at every level of the cgroup tree from the process's own up to the root, version 1 and 2. `root` stands in front
 * of /proc and of the mount points; "" is the running system. They read a dozen small files, which takes longer than all else
 * when a small pipeline is opened: ask once. */

/* Bytes that may still be taken; UINT64_MAX if nothing sets a limit. A level leaves its limit less what is used there. Pages of
 * files that were not used lately do not count as used: the kernel gives them back. The level that leaves least counts. */
uint64_t leat__limits_memory(const char *root);
/* Processor time in cores, of the tightest quota; 0 if there is no quota. */
double leat__limits_cores(const char *root);
/* Nanoseconds that a quota has kept threads of this cgroup, or of those above it, from running: counts up. Several
 * processors at once count each. */
uint64_t leat__limits_throttled(const char *root);
/* Files and sockets that this process may have open at once. */
uint64_t leat__limits_files(void);
/* The share of the last ten seconds, in percent, in which some thread waited for memory: of the machine, or of a cgroup of
 * this process if it is worse there. */
double leat__limits_pressure(const char *root);

#endif
