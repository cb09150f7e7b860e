/* SPDX-License-Identifier: Apache-2.0 */
/* A picture through JPEG and back, for the noise that compression leaves: encoded in memory by libjpeg-turbo
 * with its defaults (accurate DCT, chroma at half size, standard Huffman tables), as
 * tf.image.adjust_jpeg_quality does, and decoded again. libjpeg's memory is the decoder's arena. */
#ifndef LEAT_DECODE_JPEG_REENCODE_H
#define LEAT_DECODE_JPEG_REENCODE_H

#include "decode/decode.h"

/* dst and src: contiguous u8 pictures of 1 or 3 channels; dst may be src. quality 1 to 100. fast: decode with
 * the fast inverse transform. scratch grows to hold the encoded picture. Not between begin and end. */
int leat__reencode_jpeg(leat__decoder *decoder, leat__buf *scratch, uint8_t *dst, const uint8_t *src,
                        int height, int width, int channels, int quality, bool fast, leat_error *err);

/* Inside the room: the part of a decoder that encodes. NULL without memory. */
typedef struct leat__reencoder leat__reencoder;
leat__reencoder *leat__reencoder_new(leat__arena *arena, leat_error *err);
void leat__reencoder_free(leat__reencoder **reencoder);
/* NULL while a picture is open. */
leat__reencoder *leat__decoder_reencoder(leat__decoder *decoder);

#endif
