/* SPDX-License-Identifier: Apache-2.0 */
/* libjpeg's memory manager over an arena. */
#ifndef LEAT_DECODE_JPEG_JPEG_MEMORY_H
#define LEAT_DECODE_JPEG_JPEG_MEMORY_H

#include "base/mem.h"

typedef struct leat__jpeg_memory leat__jpeg_memory;
struct jpeg_common_struct;

/* Puts itself in the place of the manager that jpeg_create_decompress made. NULL without memory. */
leat__jpeg_memory *leat__jpeg_memory_attach(struct jpeg_common_struct *jpeg, leat__arena *arena);
/* Puts the first manager back, so that jpeg_destroy_decompress can free what it made. NULL is fine. */
void leat__jpeg_memory_detach(leat__jpeg_memory *memory, struct jpeg_common_struct *jpeg);
/* Memory that is handed out first, until the picture ends. */
void leat__jpeg_memory_lend(leat__jpeg_memory *memory, void *bytes, size_t n);
/* The size of the piece that could not be had. */
size_t leat__jpeg_memory_wanted(const leat__jpeg_memory *memory);

#endif
