/* SPDX-License-Identifier: Apache-2.0 */
/* tf.train.SequenceExample: an Example whose second field holds lists of Features, one a time step, as video has them.
 *
 *     SequenceExample { 1: Features (as in an Example), 2: FeatureLists }
 *     FeatureLists    { 1: entry { 1: key, 2: FeatureList } ... }
 *     FeatureList     { 1: Feature ... } */
#include "tools/tools.h"

enum {
    FIRST = LEAT_WIRE_TAG(1, LEAT_WIRE_BYTES),
    SECOND = LEAT_WIRE_TAG(2, LEAT_WIRE_BYTES),
};

/* The next field with this tag; the others are passed over. 1, 0 at the end, LEAT_ERR_FORMAT. */
static int next_field(leat__wire *w, uint32_t wanted, leat__wire *inside) {
    uint32_t tag;
    while (w->at != w->end) {
        if (!leat__wire_tag(w, &tag)) return LEAT_ERR_FORMAT;
        if (tag == wanted) return leat__wire_bytes(w, inside) ? 1 : LEAT_ERR_FORMAT;
        if (!leat__wire_skip(w, tag)) return LEAT_ERR_FORMAT;
    }
    return 0;
}

leat__sequence leat__sequence_over(const uint8_t *bytes, size_t n) {
    return (leat__sequence){.message = leat__wire_over(bytes, n), .lists = leat__wire_over(bytes, 0)};
}

int leat__sequence_next(leat__sequence *s, leat__span *key, leat__wire *steps) {
    leat__wire entry;
    int rc;
    while ((rc = next_field(&s->lists, FIRST, &entry)) == 0) {
        rc = next_field(&s->message, SECOND, &s->lists);
        if (rc <= 0) return rc;
    }
    if (rc < 0) return rc;
    leat__wire again = entry, name = leat__wire_over(entry.at, 0);
    *steps = name;
    while ((rc = next_field(&entry, FIRST, &name)) > 0) continue;
    if (rc == 0)
        while ((rc = next_field(&again, SECOND, steps)) > 0) continue;
    *key = (leat__span){name.at, leat__wire_left(&name)};
    return rc < 0 ? rc : 1;
}

int leat__sequence_step(leat__wire *steps, leat__feature *out) {
    leat__wire feature, list;
    uint32_t tag;
    const int rc = next_field(steps, FIRST, &feature);
    if (rc <= 0) return rc;
    out->kind = LEAT_FEATURE_NONE;
    out->merged = false;
    out->skip = out->list_n = 0;
    out->list = feature.at;
    while (feature.at != feature.end) { /* of several lists the last one counts */
        if (!leat__wire_tag(&feature, &tag)) return LEAT_ERR_FORMAT;
        if (tag >> 3 > LEAT_FEATURE_INT64 || (tag & 7) != LEAT_WIRE_BYTES) {
            if (!leat__wire_skip(&feature, tag)) return LEAT_ERR_FORMAT;
            continue;
        }
        if (!leat__wire_bytes(&feature, &list)) return LEAT_ERR_FORMAT;
        out->kind = (leat__feature_kind)(tag >> 3);
        out->list = list.at;
        out->list_n = leat__wire_left(&list);
    }
    return 1;
}
