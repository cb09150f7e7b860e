/* SPDX-License-Identifier: Apache-2.0 */
/* The families of operations, in the order in which a pipeline usually has them: the one list of them. Family x is the table
 * leat__ops_x in ops_x.c; a table ends with a row without a name. */
#include "plan/op.h"

#define FAMILIES(FAMILY)         \
    FAMILY(sources)              \
    FAMILY(tables)               \
    FAMILY(combine)              \
    FAMILY(order)                \
    FAMILY(filter)               \
    FAMILY(split)                \
    FAMILY(window)               \
    FAMILY(fields)               \
    FAMILY(map)                  \
    FAMILY(eval)                 \
    FAMILY(labels)               \
    FAMILY(decode)               \
    FAMILY(resize)               \
    FAMILY(crop)                 \
    FAMILY(pad)                  \
    FAMILY(flip_rotate)          \
    FAMILY(warp)                 \
    FAMILY(affine)               \
    FAMILY(brightness_contrast)  \
    FAMILY(colour)               \
    FAMILY(tone)                 \
    FAMILY(blur)                 \
    FAMILY(erase)                \
    FAMILY(normalize)            \
    FAMILY(augment)              \
    FAMILY(chance)               \
    FAMILY(image_data_generator) \
    FAMILY(coordinates)          \
    FAMILY(mix)                  \
    FAMILY(batch)                \
    FAMILY(device)               \
    FAMILY(cache)                \
    FAMILY(options)

#define DECLARED(name) extern const leat__op leat__ops_##name[];
#define LISTED(name) leat__ops_##name,

FAMILIES(DECLARED)

static const leat__op *const families[] = {FAMILIES(LISTED)};

const leat__op *leat__op_at(size_t i) {
    for (size_t f = 0; f < LEAT_COUNT(families); f++)
        for (const leat__op *op = families[f]; op->name; op++)
            if (i-- == 0) return op;
    return NULL;
}
