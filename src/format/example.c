/* SPDX-License-Identifier: Apache-2.0 */
/* Reading tf.train.Example. Nothing here recurses: the depth of what we look into is fixed, and everything
 * else is skipped. */
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
    const leat__wire list = out->merged ? e->whole : v.last;
    out->list = list.at;
    out->list_n = leat__wire_left(&list);
    return 0;
}

/* ------------------------------------------------------------------------------------ iterate, find */

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

/* Whether a Feature is one list and nothing else. */
static inline bool is_one_list(leat__wire feature, leat__feature *out) {
    leat__wire list;
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
    return true;
}

/* Takes entries as long as they are what almost all are, a key and a Feature of one list; where it comes to another one. */
static const uint8_t *find_plain(finder *fi, leat__wire features) {
    for (;;) {
        leat__wire rest = features, inside, key, feature;
        if (!leat__wire_plain(&rest, FEATURES_ENTRY, &inside) ||
            !leat__wire_plain(&inside, ENTRY_KEY, &key) ||
            !leat__wire_plain(&inside, ENTRY_FEATURE, &feature) || inside.at != inside.end)
            return features.at;
        leat__feature *const wanted = finder_look(fi, &key);
        if (wanted && !is_one_list(feature, wanted)) return features.at;
        features.at = rest.at;
    }
}

int leat__example_find(const uint8_t *bytes, size_t n, const char *const *keys, int n_keys,
                       leat__feature *out, leat_error *err) {
    for (int i = 0; i < n_keys; i++) out[i] = (leat__feature){.key = keys[i], .key_n = strlen(keys[i])};
    finder fi;
    finder_init(&fi, out, n_keys);
    leat__example_iter iter;
    leat__example_iter_init(&iter, bytes, n);
    leat__wire_plain(&iter.example, EXAMPLE_FEATURES, &iter.features);
    for (;;) {
        entry e;
        iter.features.at = find_plain(&fi, iter.features);
        const int rc = next_entry(&iter, &e, err);
        if (rc <= 0) return rc;
        leat__feature *const wanted = finder_look(&fi, &e.key);
        if (wanted) LEAT_TRY(classify(bytes, &e, wanted, err));
    }
}

/* ------------------------------------------------------------------------------------------ values
 *
 * A run is a stretch of bytes that holds values and nothing else: one string, packed numbers, or one number
 * that was not packed. A list is a row of runs. */

typedef struct runs {
    leat__feature_kind kind;
    leat__wire list; /* where we are                              */
    bool merged;
    leat__wire entry, feature; /* and what it came from, if it was merged   */
    size_t skip;
} runs;

/* What only merged ones have is left alone in the others. */
static inline void begin_runs(runs *r, const leat__feature *f) {
    r->kind = f->kind;
    r->merged = f->merged;
    r->list = leat__wire_over(f->list, f->merged ? 0 : f->list_n);
    if (LEAT_LIKELY(!f->merged)) return;
    r->entry = leat__wire_over(f->list, f->list_n);
    r->feature = leat__wire_over(f->list, 0);
    r->skip = f->skip;
}

/* The next list message of a merged feature: 1, 0 at the end, or LEAT_ERR_FORMAT. */
static int next_list(runs *r) {
    uint32_t tag;
    for (;;) {
        if (r->feature.at != r->feature.end) {
            if (!leat__wire_tag(&r->feature, &tag)) return LEAT_ERR_FORMAT;
            if (tag != LEAT_WIRE_TAG(r->kind, LEAT_WIRE_BYTES)) {
                if (!leat__wire_skip(&r->feature, tag)) return LEAT_ERR_FORMAT;
                continue;
            }
            leat__wire list;
            if (!leat__wire_bytes(&r->feature, &list)) return LEAT_ERR_FORMAT;
            if (r->skip > 0) {
                r->skip--;
                continue;
            }
            r->list = list;
            return 1;
        }
        if (r->entry.at == r->entry.end) return 0;
        if (!leat__wire_tag(&r->entry, &tag)) return LEAT_ERR_FORMAT;
        const bool known = tag == ENTRY_FEATURE;
        if (!(known ? leat__wire_bytes(&r->entry, &r->feature) : leat__wire_skip(&r->entry, tag)))
            return LEAT_ERR_FORMAT;
    }
}

static int any_run(runs *r, leat__wire *run) {
    for (;;) {
        leat__wire *const list = &r->list;
        if (list->at == list->end) {
            const int rc = r->merged ? next_list(r) : 0;
            if (rc <= 0) return rc;
            continue; /* it may be empty */
        }
        uint32_t tag;
        if (!leat__wire_tag(list, &tag)) return LEAT_ERR_FORMAT;
        if (tag == LIST_BYTES) {
            if (!leat__wire_bytes(list, run)) return LEAT_ERR_FORMAT;
            return r->kind == LEAT_FEATURE_FLOAT && leat__wire_left(run) % 4 ? LEAT_ERR_FORMAT : 1;
        }
        run->at = list->at;
        if (!leat__wire_skip(list, tag)) return LEAT_ERR_FORMAT;
        run->end = list->at;
        if (tag == LIST_FLOAT && r->kind == LEAT_FEATURE_FLOAT) return 1;
        if (tag == LIST_INT64 && r->kind == LEAT_FEATURE_INT64) return 1;
    }
}

/* 1 and a run; 0 at the end; LEAT_ERR_FORMAT. */
static inline int next_run(runs *r, leat__wire *run) {
    if (r->list.at == r->list.end && !r->merged) return 0;
    if (!leat__wire_plain(&r->list, LIST_BYTES, run)) return any_run(r, run);
    return r->kind == LEAT_FEATURE_FLOAT && leat__wire_left(run) % 4 ? LEAT_ERR_FORMAT : 1;
}

/* Eight one-byte varints in a row? Small numbers are what most integer lists hold. */
static bool eight_small(const leat__wire *run) {
    return leat__wire_left(run) >= 8 && (leat__load_u64(run->at) & 0x8080808080808080u) == 0;
}

/* Number of varints in a run, or LEAT_ERR_FORMAT. */
static int64_t count_varints(leat__wire run) {
    int64_t count = 0;
    uint64_t value;
    while (run.at != run.end) {
        if (eight_small(&run)) {
            run.at += 8;
            count += 8;
        } else {
            if (!leat__wire_varint(&run, &value)) return LEAT_ERR_FORMAT;
            count++;
        }
    }
    return count;
}

int64_t leat__feature_count(const leat__feature *f) {
    runs r;
    leat__wire run;
    begin_runs(&r, f);
    int64_t count = 0;
    int rc;
    while ((rc = next_run(&r, &run)) > 0) {
        if (f->kind == LEAT_FEATURE_BYTES) {
            count++;
        } else if (f->kind == LEAT_FEATURE_FLOAT) {
            count += (int64_t)(leat__wire_left(&run) / 4);
        } else {
            const int64_t more = count_varints(run);
            if (more < 0) return more;
            count += more;
        }
    }
    return rc < 0 ? rc : count;
}

static void copy_floats(float *dst, const uint8_t *src, size_t n) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(dst, src, 4 * n);
#else
    for (size_t i = 0; i < n; i++) {
        const uint32_t bits = leat__load_u32(src + 4 * i);
        memcpy(dst + i, &bits, 4);
    }
#endif
}

int64_t leat__feature_floats(const leat__feature *f, float *dst, size_t cap) {
    if (f->kind != LEAT_FEATURE_FLOAT) return f->kind == LEAT_FEATURE_NONE ? 0 : LEAT_ERR_TYPE;
    runs r;
    leat__wire run;
    begin_runs(&r, f);
    size_t n = 0;
    int rc;
    while ((rc = next_run(&r, &run)) > 0) {
        const size_t more = leat__wire_left(&run) / 4;
        if (more > cap - n) return LEAT_ERR_LIMIT;
        if (more) copy_floats(dst + n, run.at, more);
        n += more;
    }
    return rc < 0 ? rc : (int64_t)n;
}

int64_t leat__feature_ints(const leat__feature *f, int64_t *dst, size_t cap) {
    if (f->kind != LEAT_FEATURE_INT64) return f->kind == LEAT_FEATURE_NONE ? 0 : LEAT_ERR_TYPE;
    runs r;
    leat__wire run;
    begin_runs(&r, f);
    size_t n = 0;
    int rc;
    while ((rc = next_run(&r, &run)) > 0) {
        while (run.at != run.end) {
            if (cap - n >= 8 && eight_small(&run)) {
                for (int i = 0; i < 8; i++) dst[n + (size_t)i] = run.at[i];
                run.at += 8;
                n += 8;
                continue;
            }
            uint64_t value;
            if (!leat__wire_varint(&run, &value)) return LEAT_ERR_FORMAT;
            if (n == cap) return LEAT_ERR_LIMIT;
            dst[n++] = (int64_t)value;
        }
    }
    return rc < 0 ? rc : (int64_t)n;
}

int64_t leat__feature_spans(const leat__feature *f, leat__span *dst, size_t cap) {
    if (f->kind != LEAT_FEATURE_BYTES) return f->kind == LEAT_FEATURE_NONE ? 0 : LEAT_ERR_TYPE;
    runs r;
    leat__wire run;
    begin_runs(&r, f);
    size_t n = 0;
    int rc;
    while ((rc = next_run(&r, &run)) > 0) {
        if (n == cap) return LEAT_ERR_LIMIT;
        dst[n++] = (leat__span){run.at, leat__wire_left(&run)};
    }
    return rc < 0 ? rc : (int64_t)n;
}

int leat__feature_bytes(const leat__feature *f, size_t index, const uint8_t **p, size_t *n) {
    if (f->kind != LEAT_FEATURE_BYTES) return f->kind == LEAT_FEATURE_NONE ? LEAT_ERR_LIMIT : LEAT_ERR_TYPE;
    runs r;
    leat__wire run;
    begin_runs(&r, f);
    int rc;
    while ((rc = next_run(&r, &run)) > 0) {
        if (index-- > 0) continue;
        *p = run.at;
        *n = leat__wire_left(&run);
        return 0;
    }
    return rc < 0 ? rc : LEAT_ERR_LIMIT;
}
