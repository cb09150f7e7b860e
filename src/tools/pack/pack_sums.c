/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over the notes of a pack, and the manifest as JSON. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/pack/pack_sums.h"

#define LABELS_MAX INT64_C(10000000)

typedef struct content {
    uint64_t hash;
    uint32_t ordinal;
} content;

typedef struct alike { /* an original whose content others have too */
    uint32_t ordinal, first;
    size_t name; /* in names */
} alike;

static int no_memory(leat_error *err) {
    return leat__fail_memory(err, sizeof(content), "sums");
}

/* ------------------------------------------------------------------------------------------- adding */

int leat__sums_shard(leat__pack_sums *sums, int s, const leat__pack_head *head, leat_error *err) {
    leat__set_sums *set = &sums->set[s];
    sums->heads.kind = sums->labels.kind = sums->contents.kind = sums->alike.kind = sums->names.kind =
        LEAT_MEM_TOOL;
    set->n_samples += head->n_samples;
    set->n_bad += head->n_bad;
    set->bytes += head->bytes;
    sums->n_bad += head->n_bad;
    sums->bytes += head->bytes;
    return leat__buf_append(&sums->heads, head, sizeof *head) ? 0 : no_memory(err);
}

static void count_format(leat__pack_sums *sums, const char *name) {
    int i = 0;
    while (i < sums->n_formats && strcmp(sums->format[i].name, name) != 0) i++;
    if (i == (int)LEAT_COUNT(sums->format)) return;
    if (i == sums->n_formats)
        snprintf(sums->format[sums->n_formats++].name, sizeof sums->format[i].name, "%s", name);
    sums->format[i].n++;
}

static int count_label(leat__pack_sums *sums, int set, int64_t label, leat_error *err) {
    sums->labelled = true;
    if (label < 0 || label >= LABELS_MAX) {
        sums->n_other++;
        return 0;
    }
    const size_t end = ((size_t)label + 1) * LEAT_PACK_SETS * sizeof(uint64_t);
    if (end > sums->labels.size) {
        if (!leat__buf_reserve(&sums->labels, end)) return no_memory(err);
        memset(sums->labels.data + sums->labels.size, 0, end - sums->labels.size);
        sums->labels.size = end;
    }
    ((uint64_t *)(void *)sums->labels.data)[(size_t)label * LEAT_PACK_SETS + (size_t)set]++;
    return 0;
}

int leat__sums_sample(leat__pack_sums *sums, int set, const leat__pack_line *line, leat_error *err) {
    sums->n_samples++;
    if (line->labelled) LEAT_TRY(count_label(sums, set, line->label, err));
    if (line->copy > 0) {
        sums->n_copies++;
        return 0;
    }
    sums->bytes_in += line->bytes_in;
    count_format(sums, line->format);
    for (int k = 0; k < LEAT_KIND_COUNT; k++) sums->kind[k] += line->kinds >> k & 1;
    const content one = {.hash = line->hash, .ordinal = (uint32_t)(sums->contents.size / sizeof one)};
    sums->set[set].end = one.ordinal + (uint64_t)1;
    return leat__buf_append(&sums->contents, &one, sizeof one) ? 0 : no_memory(err);
}

uint64_t leat__sums_shards(const leat__pack_sums *sums) {
    uint64_t n = 0;
    for (int s = 0; s < sums->n_sets; s++) n += sums->set[s].n_shards;
    return n;
}

/* --------------------------------------------------------------------------------------- duplicates */

static int by_hash(const void *a, const void *b) {
    const content *x = a, *y = b;
    if (x->hash != y->hash) return x->hash < y->hash ? -1 : 1;
    return x->ordinal < y->ordinal ? -1 : x->ordinal > y->ordinal;
}

static int by_ordinal(const void *a, const void *b) {
    const alike *x = a, *y = b;
    return x->ordinal < y->ordinal ? -1 : x->ordinal > y->ordinal;
}

static int set_of(const leat__pack_sums *sums, uint32_t ordinal) {
    int s = 0;
    while (s + 1 < sums->n_sets && ordinal >= sums->set[s].end) s++;
    return s;
}

int leat__sums_duplicates(leat__pack_sums *sums, leat_error *err) {
    content *list = (content *)(void *)sums->contents.data;
    const size_t n = sums->contents.size / sizeof *list;
    if (n) qsort(list, n, sizeof *list, by_hash);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && list[end].hash == list[i].hash;) end++;
        if (end == i + 1 || list[i].hash == 0) continue;
        for (size_t k = i; k < end; k++) {
            const alike one = {.ordinal = list[k].ordinal, .first = list[i].ordinal};
            if (!leat__buf_append(&sums->alike, &one, sizeof one)) return no_memory(err);
            sums->n_duplicates += k > i;
            sums->n_across += set_of(sums, one.ordinal) != set_of(sums, one.first);
        }
    }
    sums->n_alike = sums->alike.size / sizeof(alike);
    if (sums->n_alike) qsort(sums->alike.data, sums->n_alike, sizeof(alike), by_ordinal);
    return 0;
}

static alike *find_alike(const leat__pack_sums *sums, uint64_t ordinal) {
    const alike key = {.ordinal = (uint32_t)ordinal};
    return sums->n_alike ? bsearch(&key, sums->alike.data, sums->n_alike, sizeof(alike), by_ordinal) : NULL;
}

int leat__sums_name(leat__pack_sums *sums, uint64_t ordinal, const char *name, size_t n, leat_error *err) {
    alike *one = find_alike(sums, ordinal);
    if (!one) return 0;
    one->name = sums->names.size;
    if (leat__buf_append(&sums->names, name, n) && leat__buf_append(&sums->names, "", 1)) return 0;
    return no_memory(err);
}

bool leat__sums_duplicates_list(const leat__pack_sums *sums, leat__buf *out) {
    const char *names = (const char *)sums->names.data;
    const alike *list = (const alike *)(const void *)sums->alike.data;
    bool fits = leat__text_add(out, "path\tsame_as\n");
    for (uint64_t i = 0; i < sums->n_alike && fits; i++) {
        const alike *first = find_alike(sums, list[i].first);
        if (list[i].ordinal == list[i].first || !first) continue;
        fits = leat__text_add(out, names + list[i].name) && leat__text_add(out, "\t") &&
               leat__text_add(out, names + first->name) && leat__text_add(out, "\n");
    }
    return fits;
}

/* ------------------------------------------------------------------------------------------ manifest */

static bool add_counts(const leat__pack_sums *sums, leat__buf *json) {
    bool fits =
        leat__json_printf(json,
                          ",\n\"samples\": %" PRIu64 ",\n\"copies\": %" PRIu64 ",\n\"rejected\": %" PRIu64
                          ",\n\"duplicates\": %" PRIu64 ",\n\"duplicates_across_sets\": %" PRIu64,
                          sums->n_samples, sums->n_copies, sums->n_bad, sums->n_duplicates, sums->n_across) &&
        leat__json_printf(json, ",\n\"bytes\": %" PRIu64 ",\n\"source_bytes\": %" PRIu64 ",\n\"formats\": {",
                          sums->bytes, sums->bytes_in);
    for (int i = 0; i < sums->n_formats && fits; i++)
        fits = leat__json_printf(json, "%s\"%s\": %" PRIu64, i ? ", " : "", sums->format[i].name,
                                 sums->format[i].n);
    fits = fits && leat__json_printf(json, "},\n\"kinds\": {");
    for (int k = 0; k < LEAT_KIND_COUNT && fits; k++)
        fits = leat__json_printf(json, "%s\"%s\": %" PRIu64, k ? ", " : "", leat__pack_kind_name(k),
                                 sums->kind[k]);
    return fits && leat__json_printf(json, "}");
}

static bool add_class(const leat__pack_sums *sums, size_t label, const char *name, size_t n,
                      leat__buf *json) {
    const uint64_t *count = (const uint64_t *)(const void *)sums->labels.data + label * LEAT_PACK_SETS;
    const bool counted = (label + 1) * LEAT_PACK_SETS * sizeof *count <= sums->labels.size;
    char text[1100];
    snprintf(text, sizeof text, "%.*s", (int)LEAT_MIN(n, sizeof text - 1), name);
    bool fits = leat__json_printf(json, "%s\n  {\"label\": %zu, \"name\": ", label ? "," : "", label) &&
                (n ? leat__json_string(json, text) : leat__json_printf(json, "null")) &&
                leat__json_printf(json, ", \"samples\": [");
    for (int s = 0; s < sums->n_sets && fits; s++)
        fits = leat__json_printf(json, "%s%" PRIu64, s ? ", " : "", counted ? count[s] : 0);
    return fits && leat__json_printf(json, "]}");
}

static bool add_classes(const leat__pack_sums *sums, const char *names, leat__buf *json) {
    const size_t n_labels = sums->labels.size / (LEAT_PACK_SETS * sizeof(uint64_t));
    bool fits = leat__json_printf(json, ",\n\"classes\": [");
    size_t label = 0;
    for (const char *end; (end = strchr(names, '\n')) != NULL && fits; names = end + 1)
        fits = add_class(sums, label++, names, (size_t)(end - names), json);
    for (; label < n_labels && fits; label++) fits = add_class(sums, label, "", 0, json);
    return fits && leat__json_printf(json, "]");
}

static bool add_sets(const leat__pack_sums *sums, const leat__pack_place *place, leat__buf *json) {
    const leat__pack_head *head = (const leat__pack_head *)(const void *)sums->heads.data;
    bool fits = leat__json_printf(json, ",\n\"sets\": [");
    for (int s = 0; s < sums->n_sets && fits; s++) {
        const leat__set_sums *set = &sums->set[s];
        fits = leat__json_printf(json,
                                 "%s\n  {\"name\": \"%s\", \"samples\": %" PRIu64 ", \"rejected\": %" PRIu64
                                 ", \"bytes\": %" PRIu64 ", \"shards\": [",
                                 s ? "," : "", set->name, set->n_samples, set->n_bad, set->bytes);
        for (uint64_t k = 0; k < set->n_shards && fits; k++, head++) {
            char path[PATH_MAX];
            leat__pack_shard_path(place, set->name, k, set->n_shards, false, path, sizeof path);
            fits = leat__json_printf(json, "%s\n    {\"file\": ", k ? "," : "") &&
                   leat__json_string(json, path + strlen(place->out) + 1) &&
                   leat__json_printf(json,
                                     ", \"samples\": %" PRIu64 ", \"rejected\": %" PRIu64
                                     ", \"bytes\": %" PRIu64 ", \"xxh128\": \"%s\"}",
                                     head->n_samples, head->n_bad, head->bytes, head->digest);
        }
        fits = fits && leat__json_printf(json, "]}");
    }
    return fits && leat__json_printf(json, "]\n");
}

bool leat__sums_manifest(const leat__pack_sums *sums, const leat__pack_place *place, const char *classes,
                         leat__buf *json) {
    return add_counts(sums, json) && add_classes(sums, sums->labelled ? classes : "", json) &&
           add_sets(sums, place, json);
}

void leat__sums_report(const leat__pack_sums *sums, leat_pack_report *report) {
    report->n_samples = sums->n_samples;
    report->n_bad = sums->n_bad;
    report->n_shards = leat__sums_shards(sums);
    report->bytes = sums->bytes;
    report->source_bytes = sums->bytes_in;
    report->n_duplicates = sums->n_duplicates;
}

void leat__sums_free(leat__pack_sums *sums) {
    leat__buf_free(&sums->heads);
    leat__buf_free(&sums->labels);
    leat__buf_free(&sums->contents);
    leat__buf_free(&sums->alike);
    leat__buf_free(&sums->names);
}
