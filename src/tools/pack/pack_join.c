/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a pack: all shards are there, and the record and the notes become manifest.json, rejects.tsv and
 * duplicates.tsv. Nothing else is read, so the manifest does not depend on which processes made the shards, nor on how many parts there were. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "format/json.h"
#include "tools/pack/pack.h"
#include "tools/pack/pack_sums.h"

#define RECORD_MAX ((size_t)1 << 20)
#define CLASSES_MAX ((size_t)256 << 20)

typedef struct joining {
    const leat__pack_place *place;
    const leat_tool_config *config;
    leat__buf record; /* text, zero-terminated */
    uint64_t identity;
    bool positions;
    leat__pack_sums sums;
    leat__out *rejects;
    uint64_t n_missing;
    char missing[PATH_MAX]; /* the first one */
} joining;

/* -------------------------------------------------------------------------------------------- record */

static int damaged_record(const joining *j, leat_error *err) {
    char shown[300];
    return leat__fail(err, LEAT_ERR_FORMAT,
                      "%s-*: the record of the pack is damaged: pack it anew with force",
                      leat__pack_place_shown(j->place, shown, sizeof shown));
}

static bool read_sets(joining *j, const leat__json *record) {
    leat__json sets, one, value;
    const char *at = NULL;
    if (leat__json_find(record, "sets", &sets) != 1) return false;
    while (leat__json_next(&sets, &at, &one)) {
        leat__set_sums *set = &j->sums.set[j->sums.n_sets];
        int64_t n;
        if (j->sums.n_sets == LEAT_PACK_SETS || leat__json_find(&one, "name", &value) != 1 ||
            !leat__json_text(&value, set->name, sizeof set->name) ||
            leat__json_find(&one, "shards", &value) != 1 || !leat__json_int(&value, &n) || n < 0 || n > 99999)
            return false;
        set->n_shards = (uint64_t)n;
        j->sums.n_sets++;
    }
    return j->sums.n_sets > 0;
}

static int read_record(joining *j, leat_error *err) {
    char path[PATH_MAX], shown[300];
    leat__pack_record_path(j->place, path, sizeof path);
    leat_error why;
    const int rc = leat__file_read_all(path, &j->record, RECORD_MAX, &why);
    if (rc == LEAT_ERR_NOT_FOUND)
        return leat__fail(err, LEAT_ERR_NOT_FOUND, "%s-*: there is no pack",
                          leat__pack_place_shown(j->place, shown, sizeof shown));
    if (rc < 0) {
        *err = why;
        return rc;
    }
    leat__json record;
    const bool whole = leat__json_open(&record, (const char *)j->record.data, j->record.size);
    if (!leat__buf_append(&j->record, "", 1)) return leat__fail_memory(err, j->record.size, "a record");
    const char *from = strstr((const char *)j->record.data, ",\n  \"from\": ");
    if (!whole || !from || !read_sets(j, &record)) return damaged_record(j, err);
    j->identity = leat__hash(j->record.data, (size_t)(from - (const char *)j->record.data), 0);
    j->positions = strstr((const char *)j->record.data, "\n  \"positions\": true") != NULL;
    j->record.size--;
    return 0;
}

/* --------------------------------------------------------------------------------------------- notes */

static void miss(joining *j, const char *path) {
    const char *base = strrchr(path, '/');
    if (j->n_missing++ == 0) snprintf(j->missing, sizeof j->missing, "%s", base ? base + 1 : path);
}

static int sum_shard(joining *j, int s, uint64_t number, leat__buf *text, leat_error *err) {
    const leat__set_sums *set = &j->sums.set[s];
    char path[PATH_MAX], note[PATH_MAX];
    leat__pack_head head;
    const char *lines;
    leat__stat st;
    leat__pack_line line;
    leat__pack_shard_path(j->place, set->name, number, set->n_shards, false, path, sizeof path);
    leat__pack_shard_path(j->place, set->name, number, set->n_shards, true, note, sizeof note);
    const int noted = leat__pack_note_read(note, text, &head, &lines, err);
    LEAT_TRY(noted);
    if (!noted || head.identity != j->identity || leat__file_stat(path, &st, NULL) < 0 ||
        st.size != head.bytes) {
        miss(j, path);
        return 0;
    }
    LEAT_TRY(leat__sums_shard(&j->sums, s, &head, err));
    while (leat__pack_note_next(&lines, &line)) {
        if (!line.rejected) {
            LEAT_TRY(leat__sums_sample(&j->sums, s, &line, err));
            continue;
        }
        LEAT_TRY(leat__out_write(j->rejects, line.name, line.name_n + 1, err)); /* with the end of its line */
    }
    return 0;
}

static int sum_notes(joining *j, leat_error *err) {
    char path[PATH_MAX];
    static const char title[] = "path\treason\n";
    leat__buf text = {.kind = LEAT_MEM_TOOL};
    leat__pack_list_path(j->place, "rejects.tsv", path, sizeof path);
    LEAT_TRY(leat__out_open(&j->rejects, path, err));
    int rc = leat__out_write(j->rejects, title, sizeof title - 1, err);
    for (int s = 0; s < j->sums.n_sets && rc == 0; s++)
        for (uint64_t k = 0; k < j->sums.set[s].n_shards && rc == 0; k++) rc = sum_shard(j, s, k, &text, err);
    leat__buf_free(&text);
    if (rc == 0 && j->n_missing)
        rc = leat__fail(
            err, LEAT_ERR_STATE,
            "%" PRIu64 " of %" PRIu64
            " shards are not there yet, the first is %.200s: run the parts that make them, then join "
            "again",
            j->n_missing, leat__sums_shards(&j->sums), j->missing);
    if (rc == 0) return leat__out_commit(&j->rejects, err);
    leat__out_abort(&j->rejects);
    return rc;
}

/* --------------------------------------------------------------------------------------- duplicates */

/* Names of the samples that have the content of others, from the notes again. */
static int name_duplicates(joining *j, leat_error *err) {
    leat__buf text = {.kind = LEAT_MEM_TOOL};
    uint64_t ordinal = 0;
    int rc = 0;
    for (int s = 0; s < j->sums.n_sets && j->sums.n_alike && rc == 0; s++)
        for (uint64_t k = 0; k < j->sums.set[s].n_shards && rc == 0; k++) {
            char note[PATH_MAX];
            leat__pack_head head;
            const char *lines;
            leat__pack_line line;
            leat__pack_shard_path(j->place, j->sums.set[s].name, k, j->sums.set[s].n_shards, true, note,
                                  sizeof note);
            rc = LEAT_MIN(leat__pack_note_read(note, &text, &head, &lines, err), 0);
            while (rc == 0 && leat__pack_note_next(&lines, &line))
                if (!line.rejected && line.copy == 0)
                    rc = leat__sums_name(&j->sums, ordinal++, line.name, line.name_n, err);
        }
    leat__buf_free(&text);
    return rc;
}

static int write_duplicates(joining *j, leat_error *err) {
    char path[PATH_MAX];
    leat__buf list = {.kind = LEAT_MEM_TOOL};
    LEAT_TRY(leat__sums_duplicates(&j->sums, err));
    LEAT_TRY(name_duplicates(j, err));
    leat__pack_list_path(j->place, "duplicates.tsv", path, sizeof path);
    leat__out *out = NULL;
    int rc = leat__sums_duplicates_list(&j->sums, &list) ? leat__out_open(&out, path, err)
                                                         : leat__fail_memory(err, list.size, "duplicates");
    if (rc == 0) rc = leat__out_write(out, list.data, list.size, err);
    leat__buf_free(&list);
    if (rc == 0) return leat__out_commit(&out, err);
    leat__out_abort(&out);
    return rc;
}

/* ------------------------------------------------------------------------------------------ manifest */

static int write_manifest(joining *j, leat_error *err) {
    char path[PATH_MAX];
    leat__buf json = {.kind = LEAT_MEM_TOOL}, classes = {.kind = LEAT_MEM_TOOL};
    leat__pack_classes_path(j->place, path, sizeof path);
    leat_error why;
    const int read = leat__file_read_all(path, &classes, CLASSES_MAX, &why);
    if (read < 0 && read != LEAT_ERR_NOT_FOUND) {
        *err = why;
        return read;
    }
    bool fits = leat__buf_append(&classes, "", 1) && leat__json_printf(&json, "{\n\"recipe\": ") &&
                leat__buf_append(&json, j->record.data, j->record.size - 1) &&
                leat__sums_manifest(&j->sums, j->place, (const char *)classes.data, &json) &&
                leat__json_printf(&json, "}\n");
    leat__pack_list_path(j->place, "manifest.json", path, sizeof path);
    leat__out *out = NULL;
    int rc = fits ? leat__out_open(&out, path, err) : leat__fail_memory(err, json.size, "a manifest");
    if (rc == 0) rc = leat__out_write(out, json.data, json.size, err);
    leat__buf_free(&json);
    leat__buf_free(&classes);
    if (rc == 0) return leat__out_commit(&out, err);
    leat__out_abort(&out);
    return rc;
}

/* ----------------------------------------------------------------------------------------- positions */

static int note_positions(const joining *j, leat_error *err) {
    char path[PATH_MAX];
    uint64_t n = 0;
    leat__open_options open = leat__tool_open_options(j->config);
    if (!j->positions || open.no_side_files) return 0;
    open.beside = true;
    open.now_ns = INT64_MAX;
    snprintf(path, sizeof path, "%s/%s-*.tfrecord", j->place->out, j->place->prefix);
    const char *const pattern = path;
    leat__source *records;
    LEAT_TRY(leat__records_open(&records, &pattern, 1, &open, err));
    const int rc = leat__tool_checkpoints(records, true, &open, j->config, &n, err);
    leat__source_free(&records);
    return rc;
}

/* ---------------------------------------------------------------------------------------------- door */

static int join(joining *j, leat_error *err) {
    char path[PATH_MAX];
    leat__stat st;
    LEAT_TRY(read_record(j, err));
    LEAT_TRY(sum_notes(j, err));
    LEAT_TRY(write_duplicates(j, err));
    leat__pack_list_path(j->place, "manifest.json", path, sizeof path);
    if (leat__file_stat(path, &st, NULL) < 0) LEAT_TRY(note_positions(j, err));
    return write_manifest(j, err);
}

int leat__pack_join(const leat__pack_place *place, const leat_tool_config *config, leat_pack_report *report,
                    leat_error *err) {
    joining j = {.place = place, .config = config, .record.kind = LEAT_MEM_TOOL};
    const int rc = join(&j, err);
    if (rc == 0) leat__sums_report(&j.sums, report);
    leat__sums_free(&j.sums);
    leat__buf_free(&j.record);
    return rc;
}

int leat_pack_join(const char *out, const char *prefix, leat_pack_report *report,
                   const leat_tool_config *config, leat_error *err) {
    leat_error own;
    leat_pack_report unwanted;
    if (!err) err = &own;
    leat__error_clear(err);
    if (!report) report = &unwanted;
    *report = (leat_pack_report){0};
    const leat__pack_place place = {.out = out, .prefix = prefix ? prefix : LEAT_PACK_PREFIX};
    if (!out || !*out || !leat__pack_prefix_allowed(place.prefix))
        return leat__fail(err, LEAT_ERR_ARGUMENT,
                          "leat_pack_join: the name of the folder or the prefix is wrong");
    LEAT_TRY(leat__tool_config_check(config, err));
    return leat__pack_join(&place, config, report, err);
}
