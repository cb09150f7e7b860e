/* SPDX-License-Identifier: Apache-2.0 */
/* Tags of the fields of tf.train.Example and its nested messages, for example.c and example_values.c. */
#ifndef LEAT_FORMAT_EXAMPLE_TAGS_H
#define LEAT_FORMAT_EXAMPLE_TAGS_H

#include "format/example.h"

enum {
    EXAMPLE_FEATURES = LEAT_WIRE_TAG(1, LEAT_WIRE_BYTES),
    FEATURES_ENTRY = LEAT_WIRE_TAG(1, LEAT_WIRE_BYTES),
    ENTRY_KEY = LEAT_WIRE_TAG(1, LEAT_WIRE_BYTES),
    ENTRY_FEATURE = LEAT_WIRE_TAG(2, LEAT_WIRE_BYTES),
    LIST_BYTES = LEAT_WIRE_TAG(1, LEAT_WIRE_BYTES), /* a value of bytes, or numbers packed */
    LIST_FLOAT = LEAT_WIRE_TAG(1, LEAT_WIRE_FIXED32),
    LIST_INT64 = LEAT_WIRE_TAG(1, LEAT_WIRE_VARINT),
};

#endif
