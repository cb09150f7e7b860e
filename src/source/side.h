/* SPDX-License-Identifier: Apache-2.0 */
/* Where side files lie: beside the data as dot-files, or in the user's cache directory, in the folder of their data set
 * (base/sets.h), by hash of the real path.
 *
 * home is the path of the data set. NULL: the folder that path lies in. */
#ifndef LEAT_SOURCE_SIDE_H
#define LEAT_SOURCE_SIDE_H

#include "format/kept/sidefile.h"
#include "source/source.h"

/* Loads the payload of the side file of path into buf; data points into buf. False: there is no undamaged side file. */
bool leat__side_load(const char *home, const char *path, int kind, const leat__open_options *options,
                     leat__buf *buf, const uint8_t **data, size_t *n);
/* Writes payload for the next run. Failure is no error, since the index stays in memory; why gets the reason. */
bool leat__side_store(const char *home, const char *path, int kind, const leat__open_options *options,
                      const void *payload, size_t n, leat_error *why);
/* The dot-file beside path, whose name ends in `suffix`; false if that is too long. */
bool leat__side_beside(const char *path, const char *suffix, char *out, size_t cap);

#endif
