/* SPDX-License-Identifier: Apache-2.0 */
/* Where side files lie: beside the data as dot-files, or in the user's cache directory, in the folder of their data set
 * (base/sets.h), by hash of the real path.
 *
 * home is the path of the data set. NULL: the folder that path lies in.
 *
 * What they are compared with depends on the place. In the cache directory they belong to files of this machine, and are used
 * as long as sizes, times and inodes are the same; the time of change cannot be set back by a program. Beside the data they
 * travel with it: a copy has other times and inodes, and then sizes and digests decide. */
#ifndef LEAT_SOURCE_SIDE_H
#define LEAT_SOURCE_SIDE_H

#include <limits.h>

#include "format/kept/sidefile.h"
#include "source/source.h"

/* Files that changed less than this before they were looked at may change again within the same tick of the clock. */
#define LEAT_SIDE_GRAIN_NS 20000000

typedef enum leat__side_place { LEAT_SIDE_BESIDE, LEAT_SIDE_CACHED, LEAT_SIDE_PLACES } leat__side_place;

typedef struct leat__side {
    const uint8_t *data; /* the payload, in buf */
    size_t n;
    bool refused;        /* there is one, and it is not trusted */
    char file[PATH_MAX]; /* the side file itself */
} leat__side;

/* Loads the side file of path that lies in that place into buf. False: there is no undamaged one that is trusted. Beside the data
 * one of the data's owner is: that user can choose what is learned anyway. */
bool leat__side_load(leat__side *out, leat__side_place place, const char *home, const char *path, int kind,
                     const leat__open_options *options, leat__buf *buf);
/* Writes payload for the next run. Failure is no error, since the index stays in memory; why gets the reason. */
bool leat__side_store(const char *home, const char *path, int kind, const leat__open_options *options,
                      const void *payload, size_t n, leat_error *why);
/* The same in place of a side file that was loaded. */
bool leat__side_write(const char *file, int kind, const void *payload, size_t n, leat_error *why);
/* Whether there is a side file beside a remote file: 1, 0, or an error of network or server, which must not look like a missing
 * file. A bucket that does not let its objects be listed says of a missing one that it is forbidden. */
int leat__side_remote(const char *path, leat_error *err);
#define LEAT_SIDE_REMOTE_THREADS 16 /* that look at remote files at once while they are opened */
/* The dot-file beside path, whose name ends in `suffix`; false if that is too long. */
bool leat__side_beside(const char *path, const char *suffix, char *out, size_t cap);

#endif
