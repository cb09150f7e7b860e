/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays in files: one in an .npy file, several in an .npz archive. npy_file.c finds them, npy_arrays.c
 * serves their samples. */
#ifndef LEAT_SOURCE_NPY_FILE_H
#define LEAT_SOURCE_NPY_FILE_H

#include "format/npy.h"
#include "source/source.h"

typedef struct leat__npy_array { /* zeroed with file.fd = -1 = none                            */
    char name[64];               /* of the field                                               */
    char *path;                  /* of its file, and in an archive ":" and its member          */
    leat__npy info;
    size_t slice;    /* bytes of one                                              */
    bool planes;     /* a slice is (channels, height, width); info has it as (height, width, channels) */
    leat__buf held;  /* all values, if they are in memory                         */
    leat__file file; /* else they are read from here                              */
    uint64_t begin;  /* where they begin in the file                              */
} leat__npy_array;

/* Appends the array of an .npy file, or those of an .npz archive, or the member of one ("a.npz:x"), to
 * arrays[*n], of which there are LEAT_FIELDS_MAX. name: of the field, NULL = as the file or the member is
 * called. */
int leat__npy_file_open(leat__npy_array *arrays, int *n, const char *name, const char *path, leat_error *err);
void leat__npy_array_free(leat__npy_array *array);

#endif
