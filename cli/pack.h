/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of `leat pack` share. */
#ifndef LEAT_CLI_PACK_H
#define LEAT_CLI_PACK_H

#include "opened.h"

enum { CLI_PACK_EXTREMES = 10 };

typedef struct cli_packed {
    cli_progress progress; /* first: it is the user of the progress callback as well */
    const char *from, *out;
    leat_pack_config pack;
    leat_pack_report report;
    double seconds;
    bool json, quiet;
    int n_extremes;
    char extreme[CLI_PACK_EXTREMES][300]; /* "slowest: ...", "largest: ..." */
} cli_packed;

/* A leat_log_fn: keeps what the slowest and the largest inputs were for the report. */
void cli_pack_on_log(void *user, int level, const char *message);
void cli_pack_print(const cli_packed *p);
void cli_pack_print_json(const cli_packed *p);

#endif
