/* SPDX-License-Identifier: Apache-2.0 */
/* The folder that a pack is written to:
 *
 *     data-00000-of-00004.tfrecord             a shard; appears whole, by rename
 *     .data-00000-of-00004.tfrecord.leatidx    its index
 *     data-classes.txt                         names of the classes; line number - 1 is the label
 *     .data.leatpack                           the journal: what is packed, then a line a shard
 *
 * A process holds the journal while it packs. Killed at any instant, it leaves a journal that is right (a
 * last line without its end does not count), whole shards, of which some may have no line and are made again,
 * and files with .tmp- in their names, which the next run removes. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/pack/pack.h"

void leat__pack_shard_path(const leat__packing *self, uint64_t shard, char *path, size_t cap) {
    snprintf(path, cap, "%s/%s-%05" PRIu64 "-of-%05" PRIu64 ".tfrecord", self->out, self->pack.prefix, shard,
             self->n_shards);
}

static void journal_path(const leat__packing *self, char *path, size_t cap) {
    snprintf(path, cap, "%s/.%s.leatpack", self->out, self->pack.prefix);
}

static const char *shown_place(const leat__packing *self, char *text, size_t cap) {
    char path[PATH_MAX];
    const int n = snprintf(path, sizeof path, "%s/%s", self->out, self->pack.prefix);
    return leat__printable(text, cap, path, (size_t)n);
}

/* ---------------------------------------------------------------------------------- files of a pack */

typedef enum entry { ENTRY_OTHER, ENTRY_SHARD, ENTRY_INDEX, ENTRY_CLASSES, ENTRY_TEMPORARY } entry;

/* Past the text, or past one or more digits if text is NULL; NULL if they are not there. */
static const char *skip(const char *at, const char *text) {
    if (!at) return NULL;
    const size_t n = text ? strlen(text) : strspn(at, "0123456789");
    return n > 0 && (!text || strncmp(at, text, n) == 0) ? at + n : NULL;
}

static entry entry_of(const char *name, const char *prefix) {
    const size_t dots = strspn(name, ".");
    const char *rest = skip(skip(name + dots, prefix), "-"), *shard, *classes;
    shard = skip(skip(skip(skip(rest, NULL), "-of-"), NULL), ".tfrecord");
    classes = skip(rest, "classes.txt");
    const char *end = shard ? shard : classes;
    if (!end) return ENTRY_OTHER;
    const char *index = shard ? skip(shard, ".leatidx") : NULL;
    if (dots > 0 && leat__temporary_of(name) && skip(index ? index : end, ".tmp-")) return ENTRY_TEMPORARY;
    if (dots == 1 && index && !*index) return ENTRY_INDEX;
    if (dots == 0 && !*end) return shard ? ENTRY_SHARD : ENTRY_CLASSES;
    return ENTRY_OTHER;
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

/* ------------------------------------------------------------------------------------------ journal */

/* A line of the title that a journal begins with, without its first word. */
static void title_line(char *out, size_t cap, const char *title, int number) {
    for (; number > 0 && title; number--) {
        title = strchr(title, '\n');
        if (title) title++;
    }
    const char *begin = title ? strchr(title, ' ') : NULL, *end = begin ? strchr(begin, '\n') : NULL;
    if (end) leat__printable(out, cap, begin + 1, (size_t)(end - begin - 1));
    else snprintf(out, cap, "?");
}

static int refuse_other(const leat__packing *self, const char *journal, leat_error *err) {
    char place[300], was[260], asked[260];
    shown_place(self, place, sizeof place);
    title_line(was, sizeof was, journal, 1);
    title_line(asked, sizeof asked, self->title, 1);
    const bool other_data = strcmp(was, asked) != 0;
    if (!other_data) {
        title_line(was, sizeof was, journal, 2);
        title_line(asked, sizeof asked, self->title, 2);
    }
    return leat__fail(err, LEAT_ERR_STATE,
                      "%s-* is a pack of other %s (there: %s; asked for: %s): name another folder or prefix, "
                      "or use force to "
                      "replace it",
                      place, other_data ? "images" : "options", was, asked);
}

/* Marks the shards that the journal knows and that still have the size they had. */
static void keep_finished(leat__packing *self, const char *lines) {
    for (const char *line = lines, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        uint64_t n[4];
        if (sscanf(line, "done %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " ", &n[0], &n[1], &n[2],
                   &n[3]) != 4 ||
            n[0] >= self->n_shards)
            continue;
        char path[PATH_MAX];
        leat__stat st;
        leat__pack_shard *shard = &self->shard[n[0]];
        leat__pack_shard_path(self, n[0], path, sizeof path);
        if (leat__file_stat(path, &st, NULL) < 0 || !st.is_file || st.size != n[3]) continue;
        shard->n_samples = n[1];
        shard->n_bad = n[2];
        shard->bytes = n[3];
        shard->kept = true;
    }
}

static int begin_journal(leat__packing *self, const char *path, leat__buf *content, leat_error *err) {
    /* A 0 at the end makes it a text; a journal with one inside is damaged, and then not ours. */
    if (!leat__buf_append(content, "", 1)) return leat__fail_memory(err, content->size, "a journal");
    const char *text = (const char *)content->data;
    const size_t n = strlen(self->title);
    const bool begun = strstr(text, "\n--\n") != NULL, same = strncmp(text, self->title, n) == 0;
    cleaning clean = {.self = self, .all = self->pack.force};
    if (begun && !same && !self->pack.force) return refuse_other(self, text, err);
    LEAT_TRY(leat__dir_list(self->out, clean_entry, &clean, err));
    if (same && !self->pack.force) {
        keep_finished(self, text + n);
        /* A line that a killed process did not end must not swallow the next one. */
        return text[content->size - 2] == '\n' ? 0 : leat__journal_append(&self->journal, "\n", path, err);
    }
    if (clean.n_shards > 0 && !self->pack.force) {
        char place[300];
        return leat__fail(
            err, LEAT_ERR_STATE,
            "%s-*: %" PRIu64
            " shards are there, but not the journal of a pack: name another folder or prefix, or "
            "use force to replace them",
            shown_place(self, place, sizeof place), clean.n_shards);
    }
    LEAT_TRY(leat__journal_clear(&self->journal, path, err));
    return leat__journal_append(&self->journal, self->title, path, err);
}

static int write_classes(const leat__packing *self, leat_error *err) {
    char path[PATH_MAX], name[1024];
    snprintf(path, sizeof path, "%s/%s-classes.txt", self->out, self->pack.prefix);
    leat__out *out;
    LEAT_TRY(leat__out_open(&out, path, err));
    int rc = 0;
    for (size_t i = 0; i < self->folder->n_classes && rc == 0; i++) {
        leat__printable(name, sizeof name - 1, self->folder->class_name[i],
                        strlen(self->folder->class_name[i]));
        strcat(name, "\n");
        rc = leat__out_write(out, name, strlen(name), err);
    }
    if (rc == 0) return leat__out_commit(&out, err);
    leat__out_abort(&out);
    return rc;
}

int leat__pack_out_open(leat__packing *self, leat_error *err) {
    char path[PATH_MAX], place[300];
    leat__buf content = {.kind = LEAT_MEM_TOOL};
    journal_path(self, path, sizeof path);
    leat__stat there;
    self->made = leat__file_stat(self->out, &there, NULL) < 0;
    LEAT_TRY(leat__dir_make(self->out, err));
    int rc = leat__journal_open(&self->journal, path, &content, err);
    if (rc == LEAT_ERR_STATE)
        rc = leat__fail(err, rc,
                        "another process is packing %s-*: wait for it, or name another folder or prefix",
                        shown_place(self, place, sizeof place));
    if (rc == 0) {
        rc = begin_journal(self, path, &content, err);
        /* What was refused stays as it was found. */
        if (rc < 0 && self->journal.size == 0) leat__file_remove(path, NULL);
    }
    leat__buf_free(&content);
    if (rc == 0 && self->labelled) rc = write_classes(self, err);
    return rc;
}

void leat__pack_out_close(leat__packing *self) {
    leat__journal_close(&self->journal);
}

void leat__pack_out_discard(leat__packing *self) {
    char path[PATH_MAX];
    cleaning clean = {.self = self, .all = true};
    leat__dir_list(self->out, clean_entry, &clean, NULL);
    journal_path(self, path, sizeof path);
    leat__file_remove(path, NULL);
    if (self->made) leat__dir_remove_empty(self->out);
}

int leat__pack_out_finish(leat__packing *self, uint64_t number, leat_error *err) {
    char path[PATH_MAX], line[PATH_MAX + 120];
    const leat__pack_shard *shard = &self->shard[number];
    leat__pack_shard_path(self, number, path, sizeof path);
    leat__open_options open = leat__tool_open_options(self->config);
    open.n_threads = 1;
    open.progress = NULL;
    open.beside = open.refresh = true;
    open.now_ns = INT64_MAX; /* the files do not change any more */
    const char *const pattern = path;
    leat__source *records;
    /* Only to leave an index; without one the first reader makes it. */
    if (!open.no_side_files && shard->n_samples > 0 &&
        leat__records_open(&records, &pattern, 1, &open, NULL) == 0) {
        if (records->warning[0] && !self->warned) leat__tool_warn(self->config, records);
        self->warned |= records->warning[0] != 0;
        leat__source_free(&records);
    }
    snprintf(line, sizeof line, "done %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %s\n", number,
             shard->n_samples, shard->n_bad, shard->bytes, strrchr(path, '/') + 1);
    journal_path(self, path, sizeof path);
    return leat__journal_append(&self->journal, line, path, err);
}
