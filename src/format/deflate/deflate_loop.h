/* SPDX-License-Identifier: Apache-2.0 */
/* The loop that decodes nearly all symbols of a stream. It runs where input and room cannot end within a turn, so it checks
 * both once a turn. deflate_read.c decodes the few symbols that are left, one by one. */
#ifndef LEAT_FORMAT_DEFLATE_LOOP_H
#define LEAT_FORMAT_DEFLATE_LOOP_H

#include "format/deflate_read.h"

/* Bytes that a turn may look at, three loads that are seven bytes apart; and bytes that it may write, a few literals, a match of
 * 258 bytes, and what a copy in steps of 16 bytes writes behind it. */
enum { LEAT_DEFLATE_IN_SLACK = 24, LEAT_DEFLATE_OUT_SLACK = 320 };

typedef enum {
    LEAT_DEFLATE_LOOP_SHORT,    /* of input or room                  */
    LEAT_DEFLATE_LOOP_END,      /* of the block                      */
    LEAT_DEFLATE_LOOP_LITERAL,  /* an invalid literal or length      */
    LEAT_DEFLATE_LOOP_DISTANCE, /* an invalid distance               */
    LEAT_DEFLATE_LOOP_FAR,      /* a distance that is too large      */
} leat__deflate_loop_end;

/* There must be room and input for a turn. */
leat__deflate_loop_end leat__deflate_loop(leat__deflate_state *z, leat__deflate_io *io);

#endif
