/* SPDX-License-Identifier: Apache-2.0 */
/* Where side files lie: beside the data as dot-files, or in the user's cache directory by hash of the real path. */
#ifndef LEAT_SOURCE_SIDE_H
#define LEAT_SOURCE_SIDE_H

#include "format/sidefile.h"
#include "source/source.h"

/* Loads the payload of the side file of path into buf; data points into buf. False: there is none that is whole. */
bool leat__side_load(const char *path, int kind, const leat__open_options *options, leat__buf *buf,
                     const uint8_t **data, size_t *n);
/* The same, but a file of more than bytes_max counts as none. */
bool leat__side_load_most(const char *path, int kind, const leat__open_options *options, size_t bytes_max,
                          leat__buf *buf, const uint8_t **data, size_t *n);
/* Keeps payload for the next time. Failing is not an error: the index stays in memory; why gets the reason. */
bool leat__side_store(const char *path, int kind, const leat__open_options *options, const void *payload,
                      size_t n, leat_error *why);
/* The same of a payload in parts. */
bool leat__side_store_parts(const char *path, int kind, const leat__open_options *options,
                            const leat__sidefile_part *part, size_t n_parts, leat_error *why);

#endif
