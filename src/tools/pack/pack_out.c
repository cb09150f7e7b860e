/* SPDX-License-Identifier: Apache-2.0 */
/* The folder that a pack is written to:
 *
 *     data-00000-of-00004.tfrecord             a shard; appears whole, by rename. With a split data-train-...
 *     .data-00000-of-00004.tfrecord.leatidx    its index
 *     .data-00000-of-00004.tfrecord.leatnote   its note, see pack_note.c
 *     data-classes.txt                         names of the classes; line number - 1 is the label
 *     manifest.json rejects.tsv duplicates.tsv with another prefix than data: PREFIX-manifest.json
 *     .data.leatrecord                         the recipe, see pack_record.c
 *     .data.leatpack                           held by a process that packs all parts; says which one
 *
 * Killed at any instant, a process leaves whole shards, of which some may have no note and are made again, and files with
 * .tmp- in their names, which the next run removes. */
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "tools/pack/pack.h"

bool leat__pack_prefix_allowed(const char *text) {
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c < 32 || *c == '/' || *c == 127) return false;
    return *text != 0 && *text != '.' && strlen(text) <= 150;
}

leat__pack_place leat__pack_place_of(const leat__packing *self) {
    return (leat__pack_place){.out = self->out, .prefix = self->pack.prefix};
}

void leat__pack_shard_path(const leat__pack_place *place, const char *set, uint64_t number, uint64_t n,
                           bool note, char *path, size_t cap) {
    snprintf(path, cap, "%s/%s%s%s%s-%05" PRIu64 "-of-%05" PRIu64 ".tfrecord%s", place->out, note ? "." : "",
             place->prefix, *set ? "-" : "", set, number, n, note ? ".leatnote" : "");
}

void leat__pack_list_path(const leat__pack_place *place, const char *name, char *path, size_t cap) {
    if (strcmp(place->prefix, LEAT_PACK_PREFIX) == 0) snprintf(path, cap, "%s/%s", place->out, name);
    else snprintf(path, cap, "%s/%s-%s", place->out, place->prefix, name);
}

void leat__pack_classes_path(const leat__pack_place *place, char *path, size_t cap) {
    snprintf(path, cap, "%s/%s-classes.txt", place->out, place->prefix);
}

void leat__pack_record_path(const leat__pack_place *place, char *path, size_t cap) {
    snprintf(path, cap, "%s/.%s.leatrecord", place->out, place->prefix);
}

static void lock_path(const leat__packing *self, char *path, size_t cap) {
    snprintf(path, cap, "%s/.%s.leatpack", self->out, self->pack.prefix);
}

const char *leat__pack_place_shown(const leat__pack_place *place, char *text, size_t cap) {
    char path[PATH_MAX];
    const int n = snprintf(path, sizeof path, "%s/%s", place->out, place->prefix);
    return leat__printable(text, cap, path, (size_t)n);
}

/* ---------------------------------------------------------------------------------- files of a pack */

typedef enum entry { ENTRY_OTHER, ENTRY_SHARD, ENTRY_SIDE, ENTRY_LIST, ENTRY_TEMPORARY } entry;

/* Past the text, or past one or more digits if text is NULL; NULL if they are not there. */
static const char *skip(const char *at, const char *text) {
    if (!at) return NULL;
    const size_t n = text ? strlen(text) : strspn(at, "0123456789");
    return n > 0 && (!text || strncmp(at, text, n) == 0) ? at + n : NULL;
}

/* Past the name of a shard behind its prefix. */
static const char *skip_shard(const char *rest) {
    for (int s = -1; s < LEAT_PACK_SETS; s++) {
        const char *at = s < 0 ? rest : skip(skip(rest, leat_split_part(s)), "-");
        at = skip(skip(skip(skip(at, NULL), "-of-"), NULL), ".tfrecord");
        if (at) return at;
    }
    return NULL;
}

/* Past the name of a list or a record; *dots: how many dots it begins with. */
static const char *skip_list(const char *name, const char *prefix, size_t *dots) {
    static const char *const lists[] = {"manifest.json", "rejects.tsv", "duplicates.tsv"};
    const bool plain = strcmp(prefix, LEAT_PACK_PREFIX) == 0;
    *dots = 0;
    for (size_t i = 0; i < LEAT_COUNT(lists); i++) {
        const char *end = skip(plain ? name : skip(skip(name, prefix), "-"), lists[i]);
        if (end) return end;
    }
    const char *classes = skip(skip(name, prefix), "-classes.txt");
    if (classes) return classes;
    *dots = 1;
    return skip(skip(name, prefix), ".leatrecord");
}

static entry entry_of(const char *name, const char *prefix) {
    const size_t dots = strspn(name, ".");
    const bool temporary = dots > 0 && leat__temporary_of(name) > 0;
    const char *shard = skip_shard(skip(skip(name + dots, prefix), "-"));
    if (shard) {
        const char *side = skip(shard, ".leatidx");
        if (!side) side = skip(shard, ".leatnote");
        if (temporary && skip(side ? side : shard, ".tmp-")) return ENTRY_TEMPORARY;
        if (dots == 1 && side && !*side) return ENTRY_SIDE;
        return dots == 0 && !*shard ? ENTRY_SHARD : ENTRY_OTHER;
    }
    size_t own;
    const char *list = skip_list(name + dots, prefix, &own);
    if (list && temporary && skip(list, ".tmp-")) return ENTRY_TEMPORARY;
    return list && dots == own && !*list ? ENTRY_LIST : ENTRY_OTHER;
}

typedef struct cleaning {
    const leat__packing *self;
    bool all; /* not only temporary files */
    uint64_t n_shards;
} cleaning;

static int clean_entry(void *user, const char *name, char kind, leat_error *err) {
    (void)kind;
    cleaning *c = user;
    const entry e = entry_of(name, c->self->pack.prefix);
    c->n_shards += e == ENTRY_SHARD;
    if (e == ENTRY_OTHER || (e != ENTRY_TEMPORARY && !c->all)) return 0;
    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof path, "%s/%s", c->self->out, name) >= sizeof path) return 0;
    return leat__file_remove(path, err);
}

static int count_entry(void *user, const char *name, char kind, leat_error *err) {
    (void)kind, (void)err;
    cleaning *c = user;
    c->n_shards += entry_of(name, c->self->pack.prefix) == ENTRY_SHARD;
    return 0;
}

/* --------------------------------------------------------------------------------------------- hold */

static int refuse_second(const leat__packing *self, leat_error *err) {
    char path[PATH_MAX], shown[300], who[200] = "";
    const leat__pack_place place = leat__pack_place_of(self);
    leat__buf holder = {.kind = LEAT_MEM_TOOL};
    lock_path(self, path, sizeof path);
    if (leat__file_read_all(path, &holder, 4096, NULL) == 0 && holder.size > 0) {
        const size_t n = LEAT_MIN(holder.size, sizeof who - 8);
        who[0] = ' ';
        who[1] = '(';
        leat__printable(who + 2, sizeof who - 4, holder.data, holder.data[n - 1] == '\n' ? n - 1 : n);
        strcat(who, ")");
    }
    leat__buf_free(&holder);
    return leat__fail(err, LEAT_ERR_STATE,
                      "another process is packing %s-*%s: wait for it, or name another folder or prefix",
                      leat__pack_place_shown(&place, shown, sizeof shown), who);
}

/* One process that makes all shards holds the folder. Parts do not: they only make what others would make alike. */
static int take_hold(leat__packing *self, leat_error *err) {
    char path[PATH_MAX];
    leat__buf content = {.kind = LEAT_MEM_TOOL};
    lock_path(self, path, sizeof path);
    const int rc = leat__journal_open(&self->lock, path, &content, err);
    leat__buf_free(&content);
    return rc == LEAT_ERR_STATE ? refuse_second(self, err) : rc;
}

/* For the message that a second process gets. */
static int say_who(leat__packing *self, leat_error *err) {
    char path[PATH_MAX], who[160], host[100] = "this machine";
    lock_path(self, path, sizeof path);
    gethostname(host, sizeof host - 1);
    snprintf(who, sizeof who, "process %ld on %s\n", (long)getpid(), host);
    LEAT_TRY(leat__journal_clear(&self->lock, path, err));
    return leat__journal_append(&self->lock, who, path, err);
}

static void let_go(leat__packing *self, bool remove) {
    char path[PATH_MAX];
    if (self->lock.fd <= 0) return;
    lock_path(self, path, sizeof path);
    if (remove) leat__file_remove(path, NULL);
    leat__journal_close(&self->lock);
}

/* --------------------------------------------------------------------------------------------- open */

/* Marks the shards whose note fits them. */
static int keep_finished(leat__packing *self, leat_error *err) {
    const leat__pack_place place = leat__pack_place_of(self);
    leat__buf text = {.kind = LEAT_MEM_TOOL};
    int rc = 0;
    for (uint64_t k = 0; k < self->n_shards && rc >= 0; k++) {
        leat__pack_shard *shard = &self->shard[k];
        const leat__pack_set *set = &self->set[shard->set];
        char path[PATH_MAX];
        leat__pack_head head;
        const char *lines;
        leat__stat st;
        leat__pack_shard_path(&place, set->name, k - set->first_shard, set->n_shards, true, path,
                              sizeof path);
        rc = shard->ours ? leat__pack_note_read(path, &text, &head, &lines, err) : 0;
        if (rc <= 0 || head.identity != self->identity) continue;
        leat__pack_shard_path(&place, set->name, k - set->first_shard, set->n_shards, false, path,
                              sizeof path);
        if (leat__file_stat(path, &st, NULL) < 0 || !st.is_file || st.size != head.bytes) continue;
        shard->n_samples = head.n_samples;
        shard->n_bad = head.n_bad;
        shard->bytes = head.bytes;
        shard->kept = true;
    }
    leat__buf_free(&text);
    return LEAT_MIN(rc, 0);
}

static int write_classes(const leat__packing *self, leat_error *err) {
    char path[PATH_MAX], name[1024];
    const leat__pack_place place = leat__pack_place_of(self);
    const leat__source *source = self->input.plan->source;
    if (self->input.label < 0 || source->n_classes == 0) return 0;
    leat__pack_classes_path(&place, path, sizeof path);
    leat__out *out;
    LEAT_TRY(leat__out_open(&out, path, err));
    int rc = 0;
    for (size_t i = 0; i < source->n_classes && rc == 0; i++) {
        leat__printable(name, sizeof name - 1, source->class_name[i], strlen(source->class_name[i]));
        strcat(name, "\n");
        rc = leat__out_write(out, name, strlen(name), err);
    }
    if (rc == 0) return leat__out_commit(&out, err);
    leat__out_abort(&out);
    return rc;
}

static int refuse_files(const leat__packing *self, const char *what, leat_error *err) {
    char shown[300];
    const leat__pack_place place = leat__pack_place_of(self);
    return leat__fail(
        err, LEAT_ERR_STATE,
        "%s-*: %s, but not the record of a pack: name another folder or prefix, or use force to "
        "replace it",
        leat__pack_place_shown(&place, shown, sizeof shown), what);
}

/* Whether there is a manifest that no pack has written. */
static bool foreign_manifest(const leat__packing *self) {
    static const char ours[] = "{\n\"recipe\": {";
    char path[PATH_MAX], begin[sizeof ours];
    const leat__pack_place place = leat__pack_place_of(self);
    leat__file file;
    leat__pack_list_path(&place, "manifest.json", path, sizeof path);
    if (leat__file_open(&file, path, NULL) < 0) return false;
    const bool same = file.size > sizeof ours &&
                      leat__file_read_at(&file, begin, sizeof ours - 1, 0, path, NULL) == 0 &&
                      memcmp(begin, ours, sizeof ours - 1) == 0;
    leat__file_close(&file);
    return !same;
}

/* Without a record, shards and a manifest are not ours to replace. Notes and lists are what is left of a pack that was being
 * removed. */
static int check_alone(const leat__packing *self, leat_error *err) {
    char path[PATH_MAX], what[60];
    const leat__pack_place place = leat__pack_place_of(self);
    cleaning count = {.self = self}, clean = {.self = self, .all = true};
    leat__stat st;
    leat__pack_record_path(&place, path, sizeof path);
    if (leat__file_stat(path, &st, NULL) == 0) return 0;
    LEAT_TRY(leat__dir_list(self->out, count_entry, &count, err));
    snprintf(what, sizeof what, "%" PRIu64 " shards are there", count.n_shards);
    if (count.n_shards > 0) return refuse_files(self, what, err);
    if (foreign_manifest(self)) return refuse_files(self, "a manifest.json is there", err);
    if (self->pack.n_parts > 0) return 0; /* another part may have written its record just now */
    return leat__dir_list(self->out, clean_entry, &clean, err);
}

/* The record goes first when another pack is removed: what is left of it then belongs to no pack. */
static int remove_other(leat__packing *self, leat_error *err) {
    char path[PATH_MAX];
    const leat__pack_place place = leat__pack_place_of(self);
    cleaning clean = {.self = self, .all = true};
    leat__pack_record_path(&place, path, sizeof path);
    LEAT_TRY(leat__file_remove(path, err));
    return leat__dir_list(self->out, clean_entry, &clean, err);
}

static int prepare(leat__packing *self, leat_error *err) {
    const bool part = self->pack.n_parts > 0;
    cleaning clean = {.self = self};
    if (self->pack.force) LEAT_TRY(remove_other(self, err));
    LEAT_TRY(check_alone(self, err));
    LEAT_TRY(leat__pack_record_publish(self, err));
    if (!part) LEAT_TRY(say_who(self, err));
    /* No other process works here; parts leave alone what a living process may have begun. */
    if (!part) LEAT_TRY(leat__dir_list(self->out, clean_entry, &clean, err));
    LEAT_TRY(keep_finished(self, err));
    return write_classes(self, err);
}

int leat__pack_out_open(leat__packing *self, leat_error *err) {
    leat__stat there;
    self->made |= leat__file_stat(self->out, &there, NULL) < 0;
    LEAT_TRY(leat__dir_make(self->out, err));
    if (self->pack.n_parts == 0) LEAT_TRY(take_hold(self, err));
    const int rc = prepare(self, err);
    self->opened = rc == 0;
    if (rc == LEAT_ERR_STATE) { /* what was refused stays as it was found */
        char path[PATH_MAX];
        const leat__pack_place place = leat__pack_place_of(self);
        leat__pack_record_path(&place, path, sizeof path);
        let_go(self, leat__file_stat(path, &there, NULL) < 0);
    }
    return rc;
}

void leat__pack_out_close(leat__packing *self) {
    let_go(self, false);
}

void leat__pack_out_discard(leat__packing *self) {
    if (self->pack.n_parts > 0) return; /* other parts may have found something */
    remove_other(self, NULL);
    let_go(self, true);
    if (self->made) leat__dir_remove_empty(self->out);
}

/* -------------------------------------------------------------------------------------------- index */

void leat__pack_out_index(leat__packing *self, uint64_t number) {
    char path[PATH_MAX];
    const leat__pack_place place = leat__pack_place_of(self);
    const leat__pack_shard *shard = &self->shard[number];
    const leat__pack_set *set = &self->set[shard->set];
    leat__pack_shard_path(&place, set->name, number - set->first_shard, set->n_shards, false, path,
                          sizeof path);
    leat__open_options open = leat__tool_open_options(self->config);
    open.n_threads = 1;
    open.progress = NULL;
    open.beside = open.refresh = true;
    open.now_ns = INT64_MAX; /* the files do not change any more */
    const char *const pattern = path;
    leat__source *records;
    /* Without an index the first reader makes it. */
    if (open.no_side_files || shard->n_samples == 0 ||
        leat__records_open(&records, &pattern, 1, &open, NULL) < 0)
        return;
    if (records->warning[0] && !self->warned) leat__tool_warn(self->config, records);
    self->warned |= records->warning[0] != 0;
    leat__source_free(&records);
}
