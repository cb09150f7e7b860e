/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime folder: small files by which running processes tell about themselves to other processes of the same user.
 *
 *     $LEAT_TOP, if that is a path; else $XDG_RUNTIME_DIR/leat; else /tmp/leat-UID
 *     FOLDER/PID-ID.leattop     one report, written again in place; ID tells the reports of a process apart
 *
 * The folder has mode 0700 and files have 0600. What belongs to another user, and what is a link, is neither used nor
 * removed. */
#ifndef LEAT_BASE_RUNTIME_H
#define LEAT_BASE_RUNTIME_H

#include "base/error.h"

#define LEAT_RUNTIME_BYTES_MAX 8192 /* of a report */

/* Whether the environment says that nothing is to be reported: LEAT_TOP=0. */
bool leat__runtime_off(void);
/* The i-th folder to look at, from 0; false behind the last. A report goes to the first that can be used. */
bool leat__runtime_path(int i, char *out, size_t cap);

typedef struct leat__runtime_file {
    int folder, fd; /* -1: closed */
    char name[64];
} leat__runtime_file;

/* Makes the folder, if there is none, and an empty file of this process. False: no folder can be used. */
bool leat__runtime_create(leat__runtime_file *file, int64_t pid, uint64_t id);
/* Writes the whole report in place. False: it cannot be written, or the file is gone; it is closed then. */
bool leat__runtime_write(leat__runtime_file *file, const void *bytes, size_t n);
/* Removes and closes it; a file that is closed already is fine. */
void leat__runtime_remove(leat__runtime_file *file);

typedef struct leat__runtime_entry {
    int64_t pid; /* as the name says */
    const uint8_t *bytes;
    size_t n;
    double age_s; /* since it was written */
    bool again;   /* it may be read once more, since the process may have been writing it */
} leat__runtime_entry;
enum { LEAT_RUNTIME_KEEP, LEAT_RUNTIME_REMOVE, LEAT_RUNTIME_AGAIN };
/* Calls see for each report of a folder, which answers with what to do about it. Counts in *n_foreign what it does not look
 * at, and in *n_removed what it removed. A missing folder has no reports. */
int leat__runtime_list(const char *path, int (*see)(void *user, const leat__runtime_entry *entry), void *user,
                       uint64_t *n_foreign, uint64_t *n_removed, leat_error *err);

#endif
