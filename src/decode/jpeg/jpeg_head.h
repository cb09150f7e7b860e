/* SPDX-License-Identifier: Apache-2.0 */
/* Whether our own decoder can decode a JPEG, and the header values that it needs. libjpeg-turbo reads the headers of every
 * file, so that both decoders agree on irregular ones. */
#ifndef LEAT_DECODE_JPEG_JPEG_HEAD_H
#define LEAT_DECODE_JPEG_JPEG_HEAD_H

#include "base/macros.h"

#define LEAT_JPEG_TABLES 4

typedef struct leat__jpeg_component {
    int h, v;           /* blocks of an MCU: 1 or 2 in either direction; chroma 1 x 1 */
    int width, height;  /* in samples                                                 */
    int dc, ac;         /* numbers of its tables                                      */
    uint16_t steps[64]; /* quantisation, in natural order                            */
} leat__jpeg_component;

typedef struct leat__jpeg_head {
    int width, height, n_components;
    int h_max, v_max;
    int mcus_across, mcus_down;
    int restart_interval;
    leat__jpeg_component component[3];
    /* NULL: no component uses it */
    const uint8_t *dc_counts[LEAT_JPEG_TABLES], *dc_symbols[LEAT_JPEG_TABLES];
    const uint8_t *ac_counts[LEAT_JPEG_TABLES], *ac_symbols[LEAT_JPEG_TABLES];
    const uint8_t *scan; /* its first byte; the file's bytes end at */
    const uint8_t *end;
} leat__jpeg_head;

struct jpeg_decompress_struct;
/* After jpeg_read_header with all of the file in the source's buffer. NULL: it is one for us, and head is filled in;
 * otherwise why not, in a few words. */
const char *leat__jpeg_head_read(leat__jpeg_head *head, const struct jpeg_decompress_struct *jpeg);

#endif
