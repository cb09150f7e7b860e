/* SPDX-License-Identifier: Apache-2.0 */
/* leat_pack_verify: a finished pack against its manifest. Files are there and have their digests, records their checksums,
 * pictures can be decoded, and there are as many as the manifest says. */
#include <limits.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/thread.h"
#include "format/json.h"
#include "tools/pack/pack.h"

#define MANIFEST_MAX ((size_t)1 << 30)
enum { PIECE = 1 << 20 };

typedef struct listed { /* a shard of the manifest */
    char *path;
    char digest[40];
    int64_t bytes;
    char wrong[200]; /* "" = nothing */
} listed;

typedef struct verifying {
    listed *shard;
    size_t n, cap;
    uint64_t n_samples;
    const leat_tool_config *config;
    int (*bad)(void *user, const leat_check_bad *bad);
    void *user;
} verifying;

/* ------------------------------------------------------------------------------------------ manifest */

static bool take_shard(verifying *v, const char *out, const leat__json *json) {
    leat__json value;
    char name[400], path[PATH_MAX];
    if (v->n == v->cap) {
        const size_t cap = v->cap ? 2 * v->cap : 64;
        listed *grown = leat__alloc(LEAT_MEM_TOOL, cap * sizeof *grown);
        if (!grown) return false;
        if (v->n) memcpy(grown, v->shard, v->n * sizeof *grown);
        leat__free(v->shard);
        v->shard = grown;
        v->cap = cap;
    }
    listed *one = &v->shard[v->n];
    if (leat__json_find(json, "file", &value) != 1 || !leat__json_text(&value, name, sizeof name) ||
        strchr(name, '/') || leat__json_find(json, "xxh128", &value) != 1 ||
        !leat__json_text(&value, one->digest, sizeof one->digest) ||
        leat__json_find(json, "bytes", &value) != 1 || !leat__json_int(&value, &one->bytes))
        return false;
    snprintf(path, sizeof path, "%s/%s", out, name);
    one->path = leat__strdup(LEAT_MEM_TOOL, path);
    v->n += one->path != NULL;
    return one->path != NULL;
}

static int read_manifest(verifying *v, const leat__pack_place *place, leat_error *err) {
    char path[PATH_MAX];
    leat__buf text = {.kind = LEAT_MEM_TOOL};
    leat__json manifest, sets, set, shards, shard, value;
    const char *s = NULL, *k;
    int64_t n = 0;
    leat__pack_list_path(place, "manifest.json", path, sizeof path);
    const int rc = leat__file_read_all(path, &text, MANIFEST_MAX, err);
    if (rc < 0) {
        if (rc == LEAT_ERR_NOT_FOUND) leat__error_prefix(err, "the pack is not finished: ");
        leat__buf_free(&text);
        return rc;
    }
    bool good = leat__json_open(&manifest, (const char *)text.data, text.size) &&
                leat__json_find(&manifest, "sets", &sets) == 1 &&
                leat__json_find(&manifest, "samples", &value) == 1 && leat__json_int(&value, &n);
    while (good && leat__json_next(&sets, &s, &set)) {
        k = NULL;
        good = leat__json_find(&set, "shards", &shards) == 1;
        while (good && leat__json_next(&shards, &k, &shard)) good = take_shard(v, place->out, &shard);
    }
    v->n_samples = (uint64_t)n;
    leat__buf_free(&text);
    return good ? 0 : leat__fail(err, LEAT_ERR_FORMAT, "%.500s is damaged", path);
}

/* ------------------------------------------------------------------------------------------- digests */

static int hash_file(const char *path, uint8_t *piece, XXH3_state_t *state, char *digest, uint64_t *bytes,
                     leat_error *err) {
    leat__file file;
    LEAT_TRY(leat__file_open(&file, path, err));
    int rc = 0;
    *bytes = file.size;
    XXH3_128bits_reset(state);
    for (uint64_t at = 0; at < file.size && rc == 0; at += PIECE) {
        const size_t n = (size_t)LEAT_MIN(file.size - at, (uint64_t)PIECE);
        rc = leat__file_read_at(&file, piece, n, at, path, err);
        if (rc == 0) XXH3_128bits_update(state, piece, n);
    }
    leat__file_close(&file);
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state));
    for (size_t i = 0; i < sizeof canonical.digest; i++) sprintf(digest + 2 * i, "%02x", canonical.digest[i]);
    return rc;
}

static int verify_shard(void *user, uint64_t i, int worker, leat_error *err) {
    verifying *v = user;
    listed *one = &v->shard[i];
    uint8_t *piece = leat__alloc(LEAT_MEM_TOOL, PIECE);
    XXH3_state_t *state = leat__alloc(LEAT_MEM_TOOL, sizeof *state);
    char digest[40];
    uint64_t bytes;
    leat_error why;
    int rc = piece && state ? 0 : leat__fail_memory(err, PIECE, "reading");
    if (rc == 0 && hash_file(one->path, piece, state, digest, &bytes, &why) < 0)
        leat__tool_reason(one->wrong, sizeof one->wrong, why.message, one->path);
    else if (rc == 0 && bytes != (uint64_t)one->bytes)
        snprintf(one->wrong, sizeof one->wrong, "it has %" PRIu64 " bytes, the manifest says %" PRId64, bytes,
                 one->bytes);
    else if (rc == 0 && strcmp(digest, one->digest) != 0)
        snprintf(one->wrong, sizeof one->wrong, "its digest is %s, the manifest says %s", digest,
                 one->digest);
    leat__free(piece);
    leat__free(state);
    if (rc == 0 && worker == 0) rc = leat__tool_progress(v->config, "reading shards", i + 1, v->n, err);
    return rc;
}

/* ------------------------------------------------------------------------------------------- records */

static int tell(verifying *v, const char *path, const char *reason, leat_check_report *report,
                leat_error *err) {
    const leat_check_bad bad = {.path = path,
                                .record = LEAT_NO_SAMPLE,
                                .stage = LEAT_STAGE_READ,
                                .code = LEAT_ERR_CORRUPT,
                                .reason = reason};
    report->n_bad++;
    if (v->bad && v->bad(v->user, &bad))
        return leat__fail(err, LEAT_ERR_CANCELLED, "verifying was cancelled");
    return 0;
}

static int check_records(verifying *v, leat_check_report *report, leat_error *err) {
    const char **paths = leat__alloc(LEAT_MEM_TOOL, LEAT_MAX(v->n, (size_t)1) * sizeof *paths);
    if (!paths) return leat__fail_memory(err, v->n * sizeof *paths, "file names");
    int n = 0;
    leat__stat st;
    for (size_t i = 0; i < v->n; i++)
        if (leat__file_stat(v->shard[i].path, &st, NULL) == 0 && st.size > 0) paths[n++] = v->shard[i].path;
    const int rc = n ? leat_check(paths, n, v->bad, v->user, report, v->config, err) : 0;
    leat__free(paths);
    return rc;
}

static int verify(verifying *v, const leat__pack_place *place, leat_check_report *report, leat_error *err) {
    char path[PATH_MAX], reason[120];
    LEAT_TRY(read_manifest(v, place, err));
    LEAT_TRY(leat__parallel(leat__tool_threads(v->config), v->n, verify_shard, v, err));
    LEAT_TRY(check_records(v, report, err));
    for (size_t i = 0; i < v->n; i++)
        if (v->shard[i].wrong[0]) LEAT_TRY(tell(v, v->shard[i].path, v->shard[i].wrong, report, err));
    if (report->n_samples == v->n_samples) return 0;
    leat__pack_list_path(place, "manifest.json", path, sizeof path);
    snprintf(reason, sizeof reason, "it says %" PRIu64 " samples, the shards hold %" PRIu64, v->n_samples,
             report->n_samples);
    return tell(v, path, reason, report, err);
}

int leat_pack_verify(const char *out, const char *prefix, int (*bad)(void *user, const leat_check_bad *bad),
                     void *user, leat_check_report *report, const leat_tool_config *config, leat_error *err) {
    leat_error own;
    leat_check_report unwanted;
    if (!err) err = &own;
    leat__error_clear(err);
    if (!report) report = &unwanted;
    *report = (leat_check_report){0};
    const leat__pack_place place = {.out = out, .prefix = prefix ? prefix : LEAT_PACK_PREFIX};
    if (!out || !*out || !leat__pack_prefix_allowed(place.prefix))
        return leat__fail(err, LEAT_ERR_ARGUMENT,
                          "leat_pack_verify: the name of the folder or the prefix is wrong");
    LEAT_TRY(leat__tool_config_check(config, err));
    verifying v = {.config = config, .bad = bad, .user = user};
    const int rc = verify(&v, &place, report, err);
    for (size_t i = 0; i < v.n; i++) leat__free(v.shard[i].path);
    leat__free(v.shard);
    return rc;
}
