/* SPDX-License-Identifier: Apache-2.0 */
/* The values of a feature.
 *
 * A run is a stretch of bytes that holds values and nothing else: one string, packed numbers, or one number
 * that was not packed. A list is a row of runs, and mostly it is one. */
#include "format/example_tags.h"

typedef struct runs {
    leat__feature_kind kind;
    leat__wire list; /* where we are                              */
    bool merged;
    leat__wire entry, feature; /* and what it came from, if it was merged   */
    size_t skip;
} runs;

/* Fields that only merged features use are not set in the others. */
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
    if (LEAT_LIKELY(f->run)) {
        const size_t count = f->run_n / 4;
        if (count && cap) copy_floats(dst, f->run, LEAT_MIN(count, cap));
        return (int64_t)count;
    }
    runs r;
    leat__wire run;
    begin_runs(&r, f);
    size_t n = 0;
    int rc;
    while ((rc = next_run(&r, &run)) > 0) {
        const size_t more = leat__wire_left(&run) / 4;
        const size_t fits = LEAT_MIN(more, cap - n);
        if (fits) copy_floats(dst + n, run.at, fits);
        if (more > fits) return leat__feature_count(f);
        n += more;
    }
    return rc < 0 ? rc : (int64_t)n;
}

/* Behind the n that are there already; how many there are now, cap + 1 if there is no room, or LEAT_ERR_FORMAT. */
static int64_t add_ints(leat__wire run, int64_t *dst, size_t cap, size_t n) {
    while (run.at != run.end) {
        if (cap - n >= 8 && eight_small(&run)) {
            for (int i = 0; i < 8; i++) dst[n + (size_t)i] = run.at[i];
            run.at += 8;
            n += 8;
            continue;
        }
        uint64_t value;
        if (!leat__wire_varint(&run, &value)) return LEAT_ERR_FORMAT;
        if (n == cap) return (int64_t)cap + 1;
        dst[n++] = (int64_t)value;
    }
    return (int64_t)n;
}

int64_t leat__feature_ints(const leat__feature *f, int64_t *dst, size_t cap) {
    if (f->kind != LEAT_FEATURE_INT64) return f->kind == LEAT_FEATURE_NONE ? 0 : LEAT_ERR_TYPE;
    int64_t n = 0;
    if (LEAT_LIKELY(f->run)) {
        n = add_ints(leat__wire_over(f->run, f->run_n), dst, cap, 0);
        return n > (int64_t)cap ? leat__feature_count(f) : n;
    }
    runs r;
    leat__wire run;
    begin_runs(&r, f);
    int rc;
    while ((rc = next_run(&r, &run)) > 0) {
        n = add_ints(run, dst, cap, (size_t)n);
        if (n < 0 || n > (int64_t)cap) return n < 0 ? n : leat__feature_count(f);
    }
    return rc < 0 ? rc : n;
}

int64_t leat__feature_spans(const leat__feature *f, leat__span *dst, size_t cap) {
    if (f->kind != LEAT_FEATURE_BYTES) return f->kind == LEAT_FEATURE_NONE ? 0 : LEAT_ERR_TYPE;
    if (LEAT_LIKELY(f->run)) {
        if (cap > 0) *dst = (leat__span){f->run, f->run_n};
        return 1;
    }
    runs r;
    leat__wire run;
    begin_runs(&r, f);
    size_t n = 0;
    int rc;
    while ((rc = next_run(&r, &run)) > 0) {
        if (n == cap) return leat__feature_count(f);
        dst[n++] = (leat__span){run.at, leat__wire_left(&run)};
    }
    return rc < 0 ? rc : (int64_t)n;
}

int leat__feature_bytes(const leat__feature *f, size_t index, const uint8_t **p, size_t *n) {
    if (f->kind != LEAT_FEATURE_BYTES) return f->kind == LEAT_FEATURE_NONE ? 1 : LEAT_ERR_TYPE;
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
    return rc < 0 ? rc : 1;
}
