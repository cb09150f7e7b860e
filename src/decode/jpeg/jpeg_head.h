/* SPDX-License-Identifier: Apache-2.0 */
/* Whether our own decoder can decode a JPEG, and the header values that it needs. libjpeg-turbo reads the headers of every
 * file, so that both decoders agree on irregular ones. */
#ifndef LEAT_DECODE_JPEG_JPEG_HEAD_H
#define LEAT_DECODE_JPEG_JPEG_HEAD_H

#include "decode/jpeg/jpeg_script.h"

#define LEAT_JPEG_TABLES 4

typedef struct leat__jpeg_component {
    int h, v;          /* blocks of an MCU: 1 or 2 in either direction; chroma 1 x 1 */
    int width, height; /* in samples                                                 */
    int size;          /* samples along the side of a block: 8, or less if scaled    */
    int blocks_across; /* that hold samples of the picture, and down; MCUs may have more */
    int blocks_down;
    bool doubled_x, doubled_y; /* a pixel has half a sample in that direction           */
    int dc, ac;                /* numbers of its tables                                      */
    uint16_t steps[64];        /* quantisation, in natural order                            */
} leat__jpeg_component;

typedef struct leat__jpeg_head {
    int width, height, n_components; /* pixels as they come out                        */
    bool fancy;                      /* doubled samples are interpolated, not repeated */
    int h_max, v_max;
    int mcus_across, mcus_down;
    int restart_interval;
    leat__jpeg_component component[3];
    /* NULL: no component uses it */
    const uint8_t *dc_counts[LEAT_JPEG_TABLES], *dc_symbols[LEAT_JPEG_TABLES];
    const uint8_t *ac_counts[LEAT_JPEG_TABLES], *ac_symbols[LEAT_JPEG_TABLES];
    const uint8_t *scan; /* its first byte; the file's bytes end at */
    const uint8_t *end;
    int n_passes; /* 0: the one scan holds everything in MCUs   */
    leat__jpeg_pass pass[LEAT_JPEG_PASSES_MAX];
} leat__jpeg_head;

struct jpeg_decompress_struct;
/* After jpeg_read_header with all of the file in the source's buffer. NULL: it is one for us, and head is filled in;
 * otherwise why not, in a few words. */
const char *leat__jpeg_head_read(leat__jpeg_head *head, const struct jpeg_decompress_struct *jpeg);
/* Afterwards, once: for the picture at 1 / scale, which is 2, 4 or 8. Blocks have fewer samples then, those of halved chroma
 * twice as many along a side as luma's where that makes upsampling needless. */
void leat__jpeg_head_scale(leat__jpeg_head *head, int scale);

#endif
