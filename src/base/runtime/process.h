/* SPDX-License-Identifier: Apache-2.0 */
/* Processes: whether one still runs, told by its number and the time when it started, since numbers are used again. */
#ifndef LEAT_BASE_PROCESS_H
#define LEAT_BASE_PROCESS_H

#include "base/macros.h"

/* When a process started, in ticks since the machine was; 0: there is none of that number, or it has ended. */
uint64_t leat__process_start(int64_t pid);
/* Where numbers and start times of processes can be compared: a hash of this boot of the machine and of the namespace of
 * process numbers, which a container has for itself. */
uint64_t leat__process_place(void);
/* The name of its program, or of the script that a Python runs: "train.py". "" if that cannot be told. */
void leat__process_name(int64_t pid, char *out, size_t cap);

#endif
