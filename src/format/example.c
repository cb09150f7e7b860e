/* SPDX-License-Identifier: Apache-2.0 */
/* Reading tf.train.Example. Nothing here recurses: the depth of what we look into is fixed, and everything
 * else is skipped. */
#include "format/example_tags.h"

/* ----------------------------------------------------------------------------------------- entries */

typedef struct entry {
    leat__wire whole, key, feature; /* feature: the last one */
    int n_features;                 /* 2 stands for more     */
} entry;

static int fail_at(leat_error *err, const uint8_t *bytes, const leat__wire *w) {
    return leat__fail(err, LEAT_ERR_FORMAT, "Example: %s at byte %zu", w->why, (size_t)(w->at - bytes));
}

static int fail_in(leat_error *err, const uint8_t *bytes, const leat__wire *w, const entry *e) {
    char key[64];
    leat__printable(key, sizeof key, e->key.at, leat__wire_left(&e->key));
    return leat__fail(err, LEAT_ERR_FORMAT, "Example: %s at byte %zu, in feature '%s'", w->why,
                      (size_t)(w->at - bytes), key);
}

/* Splits a map entry; its key is empty when it has none, as protobuf has it. */
static bool split_entry(leat__wire *w, entry *e) {
    e->whole = *w;
    e->key = e->feature = leat__wire_over(w->at, 0);
    e->n_features = 0;
    while (w->at != w->end) {
        uint32_t tag;
        if (!leat__wire_tag(w, &tag)) return false;
        if (tag == ENTRY_KEY) {
            if (!leat__wire_bytes(w, &e->key)) return false;
        } else if (tag == ENTRY_FEATURE) {
            if (!leat__wire_bytes(w, &e->feature)) return false;
            if (e->n_features < 2) e->n_features++;
        } else if (!leat__wire_skip(w, tag)) {
            return false;
        }
    }
    return true;
}

static int next_entry(leat__example_iter *iter, entry *e, leat_error *err) {
    leat__wire *const features = &iter->features, *const example = &iter->example;
    uint32_t tag;
    for (;;) {
        if (features->at != features->end) {
            leat__wire inside;
            if (!leat__wire_tag(features, &tag)) return fail_at(err, iter->bytes, features);
            if (tag == FEATURES_ENTRY) {
                if (!leat__wire_bytes(features, &inside)) return fail_at(err, iter->bytes, features);
                return split_entry(&inside, e) ? 1 : fail_at(err, iter->bytes, &inside);
            }
            if (!leat__wire_skip(features, tag)) return fail_at(err, iter->bytes, features);
        } else if (example->at != example->end) {
            if (!leat__wire_tag(example, &tag)) return fail_at(err, iter->bytes, example);
            const bool known = tag == EXAMPLE_FEATURES;
            if (!(known ? leat__wire_bytes(example, features) : leat__wire_skip(example, tag)))
                return fail_at(err, iter->bytes, example);
        } else {
            return 0;
        }
    }
}

/* ------------------------------------------------------------------------------ what a Feature holds
 *
 * Feature is a oneof: the kind that comes last counts, and what came before of another kind is forgotten.
 * Messages of the same kind that follow one another are merged, that is, their values are put in a row. */

typedef struct verdict {
    leat__feature_kind kind;
    size_t seen[4]; /* list messages by kind                            */
    size_t skip;    /* of them, those before the last change of kind    */
    leat__wire last;
} verdict;

static bool look_into(leat__wire *feature, verdict *v) {
    while (feature->at != feature->end) {
        uint32_t tag;
        if (!leat__wire_tag(feature, &tag)) return false;
        const uint32_t number = tag >> 3;
        if (number > LEAT_FEATURE_INT64 || (tag & 7) != LEAT_WIRE_BYTES) {
            if (!leat__wire_skip(feature, tag)) return false;
            continue;
        }
        if (!leat__wire_bytes(feature, &v->last)) return false;
        if (number != v->kind) {
            v->kind = (leat__feature_kind)number;
            v->skip = v->seen[number];
        }
        v->seen[number]++;
    }
    return true;
}

static int classify(const uint8_t *bytes, entry *e, leat__feature *out, leat_error *err) {
    verdict v = {.kind = LEAT_FEATURE_NONE};
    if (e->n_features == 1) {
        if (!look_into(&e->feature, &v)) return fail_in(err, bytes, &e->feature, e);
    } else {
        leat__wire whole = e->whole;
        while (whole.at != whole.end) {
            uint32_t tag;
            leat__wire feature;
            if (!leat__wire_tag(&whole, &tag)) return fail_in(err, bytes, &whole, e);
            if (tag != ENTRY_FEATURE) {
                if (!leat__wire_skip(&whole, tag)) return fail_in(err, bytes, &whole, e);
                continue;
            }
            if (!leat__wire_bytes(&whole, &feature)) return fail_in(err, bytes, &whole, e);
            if (!look_into(&feature, &v)) return fail_in(err, bytes, &feature, e);
        }
    }
    out->kind = v.kind;
    out->merged = v.kind != LEAT_FEATURE_NONE && v.seen[v.kind] - v.skip > 1;
    out->skip = out->merged ? v.skip : 0;
    out->run = NULL;
    out->run_n = 0;
    const leat__wire list = out->merged ? e->whole : v.last;
    out->list = list.at;
    out->list_n = leat__wire_left(&list);
    return 0;
}

/* ------------------------------------------------------------------------------------------ iterate */

void leat__example_iter_init(leat__example_iter *iter, const uint8_t *bytes, size_t n) {
    iter->bytes = bytes;
    iter->example = leat__wire_over(bytes, n);
    iter->features = leat__wire_over(bytes, 0);
}

int leat__example_iter_next(leat__example_iter *iter, leat__feature *out, leat_error *err) {
    entry e;
    const leat__example_iter before = *iter;
    int rc = next_entry(iter, &e, err);
    if (rc > 0) {
        *out = (leat__feature){.key = (const char *)e.key.at, .key_n = leat__wire_left(&e.key)};
        const int bad = classify(iter->bytes, &e, out, err);
        if (bad < 0) rc = bad;
    }
    if (rc < 0) *iter = before; /* asked again, it fails again */
    return rc;
}

/* Which of the wanted keys is this? Examples of one file tend to have their keys in one order, so the key
 * after the last hit is tried first. Then a few are simply compared, one by one, and many (the columns of a
 * table) go through a hash table. It is made for each call, in less time than one pass over the Example. */

enum { FEW = 8, SLOTS_MAX = 4096 };

typedef struct finder {
    leat__feature *wanted;
    int n, next;
    uint32_t mask;            /* slots - 1; 0 = no table                                   */
    uint16_t slot[SLOTS_MAX]; /* a wanted key's number + 1, at its hash or some places on  */
} finder;

static uint32_t hash(const void *key, size_t n) {
    const uint8_t *p = key;
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < n; i++) h = (h ^ p[i]) * 16777619u; /* FNV-1a */
    return h ^ h >> 15;
}

static void finder_init(finder *fi, leat__feature *wanted, int n) {
    fi->wanted = wanted;
    fi->n = n;
    fi->next = 0;
    fi->mask = 0;
    if (n <= FEW || n > SLOTS_MAX / 2) return; /* more than 2048: one by one, slowly */
    uint32_t slots = 4 * FEW;
    while (slots < 2 * (uint32_t)n) slots *= 2;
    fi->mask = slots - 1;
    memset(fi->slot, 0, slots * sizeof fi->slot[0]);
    for (int i = 0; i < n; i++) {
        uint32_t at = hash(wanted[i].key, wanted[i].key_n) & fi->mask;
        while (fi->slot[at]) at = (at + 1) & fi->mask;
        fi->slot[at] = (uint16_t)(i + 1);
    }
}

static bool is_key(const leat__feature *wanted, const leat__wire *key) {
    return wanted->key_n == leat__wire_left(key) && memcmp(wanted->key, key->at, wanted->key_n) == 0;
}

/* The wanted feature of that key, or NULL. */
static leat__feature *finder_look(finder *fi, const leat__wire *key) {
    int hit = -1;
    if (fi->next < fi->n && is_key(&fi->wanted[fi->next], key)) {
        hit = fi->next;
    } else if (fi->mask) {
        uint32_t at = hash(key->at, leat__wire_left(key)) & fi->mask;
        for (; hit < 0 && fi->slot[at]; at = (at + 1) & fi->mask)
            if (is_key(&fi->wanted[fi->slot[at] - 1], key)) hit = fi->slot[at] - 1;
    } else {
        for (int i = 0; hit < 0 && i < fi->n; i++)
            if (is_key(&fi->wanted[i], key)) hit = i;
    }
    if (hit < 0) return NULL;
    fi->next = hit + 1;
    return &fi->wanted[hit];
}

/* ---------------------------------------------------------------------------------------------- form
 *
 * Where values lie follows from the tags, lengths and keys around them. So an Example of the same size with the
 * same bytes there holds its values at the same places. */

static void form_begin(leat__example_form *form) {
    form->n = 0;
    form->n_parts = 0;
    form->n_bytes = form->upto = 0;
}

/* Values begin at `at` and end at `end`: what lies between those before and them will be compared. */
static void form_note(leat__example_form *form, const uint8_t *bytes, const uint8_t *at, const uint8_t *end) {
    const uint32_t from = form->upto, n = (uint32_t)(at - bytes) - from;
    form->upto = (uint32_t)(end - bytes);
    if (n == 0 || form->n_parts < 0) return;
    if (form->n_parts == LEAT_FORM_PARTS || n > LEAT_FORM_BYTES - form->n_bytes) {
        form->n_parts = -1; /* too long to be kept */
        return;
    }
    form->part[form->n_parts].at = from;
    form->part[form->n_parts++].n = n;
    memcpy(form->bytes + form->n_bytes, bytes + from, n);
    form->n_bytes += n;
}

static void form_end(leat__example_form *form, const uint8_t *bytes, size_t n, const char *const *keys,
                     int n_keys, const leat__feature *found) {
    form_note(form, bytes, bytes + n, bytes + n); /* an Example without any feature is nothing but form */
    if (form->n_parts < 0) return;
    for (int i = 0; i < n_keys; i++) {
        form->found[i] = found[i];
        form->list[i] = found[i].list ? (size_t)(found[i].list - bytes) : 0;
        form->run[i] = found[i].run ? (size_t)(found[i].run - bytes) : 0;
    }
    form->keys = keys;
    form->n_keys = n_keys;
    form->n = n;
}

static bool form_fits(const leat__example_form *form, const uint8_t *bytes) {
    const uint8_t *was = form->bytes;
    for (int i = 0; i < form->n_parts; i++) {
        if (memcmp(bytes + form->part[i].at, was, form->part[i].n) != 0) return false;
        was += form->part[i].n;
    }
    return true;
}

static void form_take(const leat__example_form *form, const uint8_t *bytes, int n_keys, leat__feature *out) {
    for (int i = 0; i < n_keys; i++) {
        out[i] = form->found[i];
        out[i].list = form->list[i] ? bytes + form->list[i] : NULL;
        out[i].run = form->run[i] ? bytes + form->run[i] : NULL;
    }
}

/* ---------------------------------------------------------------------------------------------- find */

/* Whether a Feature is one list and nothing else. */
static inline bool is_one_list(leat__wire feature, leat__feature *out) {
    leat__wire list, run;
    if (feature.at == feature.end) return false;
    const uint32_t tag = *feature.at, number = tag >> 3;
    if (number < LEAT_FEATURE_BYTES || number > LEAT_FEATURE_INT64 || (tag & 7) != LEAT_WIRE_BYTES ||
        !leat__wire_plain(&feature, tag, &list) || feature.at != feature.end)
        return false;
    out->kind = (leat__feature_kind)number;
    out->list = list.at;
    out->list_n = leat__wire_left(&list);
    out->merged = false;
    out->skip = 0;
    const bool one = leat__wire_plain(&list, LIST_BYTES, &run) && list.at == list.end &&
                     (number != LEAT_FEATURE_FLOAT || leat__wire_left(&run) % 4 == 0);
    out->run = one ? run.at : NULL;
    out->run_n = one ? leat__wire_left(&run) : 0;
    return true;
}

/* Takes entries as long as they are what almost all are, a key and a Feature of one list; where it comes to another one. */
static const uint8_t *find_plain(finder *fi, const uint8_t *bytes, leat__wire features,
                                 leat__example_form *form) {
    for (;;) {
        leat__wire rest = features, inside, key, feature;
        if (!leat__wire_plain(&rest, FEATURES_ENTRY, &inside) ||
            !leat__wire_plain(&inside, ENTRY_KEY, &key) ||
            !leat__wire_plain(&inside, ENTRY_FEATURE, &feature) || inside.at != inside.end)
            return features.at;
        leat__feature *const wanted = finder_look(fi, &key);
        if (wanted && !is_one_list(feature, wanted)) return features.at;
        if (form) {
            const uint8_t *const values = !wanted ? feature.at : wanted->run ? wanted->run : wanted->list;
            form_note(form, bytes, values, feature.end);
        }
        features.at = rest.at;
    }
}

/* form: NULL, or what is to become what this Example looks like. */
static int find(leat__example_form *form, const uint8_t *bytes, size_t n, const char *const *keys, int n_keys,
                leat__feature *out, leat_error *err) {
    for (int i = 0; i < n_keys; i++) out[i] = (leat__feature){.key = keys[i], .key_n = strlen(keys[i])};
    finder fi;
    finder_init(&fi, out, n_keys);
    leat__example_iter iter;
    leat__example_iter_init(&iter, bytes, n);
    leat__wire_plain(&iter.example, EXAMPLE_FEATURES, &iter.features);
    iter.features.at = find_plain(&fi, bytes, iter.features, form);
    if (iter.features.at == iter.features.end && iter.example.at == iter.example.end) {
        if (form) form_end(form, bytes, n, keys, n_keys, out);
        return 0;
    }
    for (;;) {
        entry e;
        const int rc = next_entry(&iter, &e, err);
        if (rc <= 0) return rc;
        leat__feature *const wanted = finder_look(&fi, &e.key);
        if (wanted) LEAT_TRY(classify(bytes, &e, wanted, err));
        iter.features.at = find_plain(&fi, bytes, iter.features, NULL);
    }
}

int leat__example_find(const uint8_t *bytes, size_t n, const char *const *keys, int n_keys,
                       leat__feature *out, leat_error *err) {
    return find(NULL, bytes, n, keys, n_keys, out, err);
}

int leat__example_find_alike(leat__example_form *form, const uint8_t *bytes, size_t n,
                             const char *const *keys, int n_keys, leat__feature *out, leat_error *err) {
    if (form->n == n && n > 0 && form->keys == keys && form->n_keys == n_keys && form_fits(form, bytes)) {
        form_take(form, bytes, n_keys, out);
        return 0;
    }
    /* Worth noting when two of one size have come: sizes of compressed pictures are all different. */
    const bool note = n > 0 && n == form->n_last && n <= UINT32_MAX && n_keys <= LEAT_FORM_KEYS;
    form->n_last = n;
    if (note) form_begin(form);
    return find(note ? form : NULL, bytes, n, keys, n_keys, out, err);
}
