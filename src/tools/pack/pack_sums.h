/* SPDX-License-Identifier: Apache-2.0 */
/* What the notes of a pack come to: sums for the manifest, and content that is there more than once. */
#ifndef LEAT_TOOLS_PACK_SUMS_H
#define LEAT_TOOLS_PACK_SUMS_H

#include "tools/pack/pack.h"

typedef struct leat__set_sums {
    char name[16];
    uint64_t n_shards;
    uint64_t n_samples, n_bad, bytes;
    uint64_t end; /* ordinal behind its last original */
} leat__set_sums;

typedef struct leat__format_sum {
    char name[12];
    uint64_t n;
} leat__format_sum;

typedef struct leat__pack_sums { /* zeroed = empty */
    int n_sets;
    leat__set_sums set[LEAT_PACK_SETS];
    uint64_t n_samples, n_copies, n_bad, bytes, bytes_in;
    uint64_t kind[LEAT_KIND_COUNT];
    int n_formats;
    leat__format_sum format[8];
    leat__buf heads;  /* of leat__pack_head, shard by shard                              */
    leat__buf labels; /* of uint64_t, (label, set): samples                               */
    uint64_t n_other; /* labels that are negative or very large                            */
    bool labelled;
    leat__buf contents;              /* of content: those of originals                                 */
    uint64_t n_alike;                /* originals whose content others have too                        */
    uint64_t n_duplicates, n_across; /* behind the first of their content; in another set than it */
    leat__buf alike;                 /* of alike, by ordinal                                           */
    leat__buf names;                 /* zero-terminated                                                */
} leat__pack_sums;

int leat__sums_shard(leat__pack_sums *sums, int set, const leat__pack_head *head, leat_error *err);
int leat__sums_sample(leat__pack_sums *sums, int set, const leat__pack_line *line, leat_error *err);
uint64_t leat__sums_shards(const leat__pack_sums *sums);
/* After all samples: finds contents that are there more than once. Ordinals count the originals in the order of shards. */
int leat__sums_duplicates(leat__pack_sums *sums, leat_error *err);
/* The name of an original, which is kept if it is one of those; ordinals rise. */
int leat__sums_name(leat__pack_sums *sums, uint64_t ordinal, const char *name, size_t n, leat_error *err);
/* The content of duplicates.tsv. */
bool leat__sums_duplicates_list(const leat__pack_sums *sums, leat__buf *out);
/* The members of the manifest behind the recipe, each with a comma in front. classes: names, a line each. */
bool leat__sums_manifest(const leat__pack_sums *sums, const leat__pack_place *place, const char *classes,
                         leat__buf *json);
void leat__sums_report(const leat__pack_sums *sums, leat_pack_report *report);
void leat__sums_free(leat__pack_sums *sums);

#endif
