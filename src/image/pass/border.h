/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a picture with a border around it. No picture is made: a row is put together when it is asked for. */
#ifndef LEAT_IMAGE_PASS_BORDER_H
#define LEAT_IMAGE_PASS_BORDER_H

#include "base/mem.h"
#include "image/image.h"

typedef enum leat__pad_mode {
    LEAT_PAD_CONSTANT,
    LEAT_PAD_EDGE,      /* a a | a b c | c c */
    LEAT_PAD_REFLECT,   /* c b | a b c | b a */
    LEAT_PAD_SYMMETRIC, /* b a | a b c | c b */
} leat__pad_mode;

typedef struct leat__border {     /* of one sample                               */
    int top, bottom, left, right; /* below 0: so much is cut off                 */
    float fill[4];                /* a channel, in the units of the picture      */
} leat__border;

typedef struct leat__bordered { /* what the rows of a picture with a border need; lives as long as they do */
    leat__rows *inner;
    leat__border border;
    leat__pad_mode mode;
    size_t pixel;         /* bytes of one                                    */
    uint8_t *row, *blank; /* one that is put together, and one of fill alone */
} leat__bordered;

/* The rows of inner with a border; all modes but the constant one want inner in memory, since they go back in it. memory:
 * for two rows, grows only. LEAT_ERR_SHAPE if no picture is left, or one of more than 65535 pixels a side. */
int leat__border_rows(leat__rows *outer, leat__bordered *b, leat__rows *inner, const leat__border *border,
                      leat__pad_mode mode, leat__buf *memory, leat_error *err);

#endif
