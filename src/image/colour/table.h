/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of 256 entries for what an operation does to a byte, each with the arithmetic of the library that
 * it is named after. Making a table costs less than computing every pixel of even a small picture, so all
 * tone operations on u8 are tables, built here once for a sample. */
#ifndef LEAT_IMAGE_COLOUR_TABLE_H
#define LEAT_IMAGE_COLOUR_TABLE_H

#include "base/macros.h"

void leat__table_identity(uint8_t table[256]);

/* Pillow's ImageOps, and with them torchvision: */
void leat__table_invert(uint8_t table[256]);
/* Keeps the highest bits, 0 to 8 of them. */
void leat__table_posterize(uint8_t table[256], int bits);
/* First the addition, clipped, then the inverse of what is not below the threshold. Pillow adds nothing;
 * keras.layers.Solarization does. */
void leat__table_solarize(uint8_t table[256], double threshold, int addition);
/* The smallest and the largest value of the channel are stretched to 0 and 255. */
void leat__table_autocontrast(uint8_t table[256], int low, int high);
void leat__table_equalize(uint8_t table[256], const uint32_t histogram[256]);

/* Pillow's ImageEnhance: factor 0 gives gray or black, 1 changes nothing. mean is that of the gray
 * picture, rounded: leat__table_pil_mean. */
void leat__table_pil_contrast(uint8_t table[256], int mean, float factor);
void leat__table_pil_brightness(uint8_t table[256], float factor);
/* gray: the sum of so many gray values. */
int leat__table_pil_mean(double gray, uint64_t count);

/* torchvision's autocontrast of tensors, which divides where Pillow multiplies. */
void leat__table_torch_autocontrast(uint8_t table[256], int low, int high);
/* keras.layers.Equalization with 256 bins. */
void leat__table_keras_equalize(uint8_t table[256], const uint32_t histogram[256]);

/* tf.image on u8: 0 to 255 become 0 to 1, and the result is multiplied by 255.5, clipped and cut off. mean
 * is that of the channel, from 0 to 255. */
void leat__table_tf_contrast(uint8_t table[256], double mean, float factor);
void leat__table_tf_brightness(uint8_t table[256], float delta);
/* gain * x ^ gamma, gamma not below 0. */
void leat__table_tf_gamma(uint8_t table[256], double gamma, double gain);

#endif
