/* SPDX-License-Identifier: Apache-2.0 */
/* Where `leat run` puts its batches. */
#ifndef LEAT_CLI_SINK_H
#define LEAT_CLI_SINK_H

#include "cli.h"

typedef struct cli_sink cli_sink;

/* Reads the word of --sink: null, digest, samples, ids or npy:DIR. CLI_OK, or CLI_USAGE after a message. Touches
 * nothing yet. */
int cli_sink_new(cli_sink **out, const char *verb, const char *word);
/* Takes one batch, whose number counts from 0. CLI_OK, or CLI_FAILED after a message. */
int cli_sink_take(cli_sink *sink, const leat_batch *batch, uint64_t number);
/* Says what is left to say, such as the digest. CLI_OK, or CLI_FAILED after a message. */
int cli_sink_finish(cli_sink *sink);
/* Frees and nulls; NULL is fine. */
void cli_sink_free(cli_sink **sink);

#endif
