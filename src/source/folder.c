/* SPDX-License-Identifier: Apache-2.0 */
/* A directory tree of images: one file a sample, its label the top-level sub-directory.
 *
 * The index is a few flat arrays (about 20 bytes and the file's name for each image), the same in memory and in its
 * side file. It is trusted as long as no directory of the tree has changed since. A file that was overwritten in place is
 * noticed when it is read: it is read as it is now, and the side file goes. The scan itself is in scan.c. */
#include "source/folder.h"

#include <limits.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/thread.h"
#include "format/kept/sidefile.h"
#include "source/classes.h"
#include "source/side.h"

typedef struct folder {
    leat__source base;
    leat__folder_index index;
    char *root;
    bool labelled;
    char *side;       /* the side file that the index comes from; NULL: the folder was scanned now */
    leat__once stale; /* the side file was removed */
} folder;

void leat__folder_index_free(leat__folder_index *index) {
    leat__buf_free(&index->pool);
    leat__buf_free(&index->dirs);
    leat__buf_free(&index->files);
    *index = (leat__folder_index){0};
}

static const leat__folder_dir *dir_of(const leat__folder_index *index, const leat__folder_file *file) {
    return (const leat__folder_dir *)index->dirs.data + file->dir;
}
static const leat__folder_file *file_at(const leat__folder_index *index, uint64_t i) {
    return (const leat__folder_file *)index->files.data + i;
}
static const char *text_at(const leat__folder_index *index, uint64_t offset) {
    return (const char *)index->pool.data + offset;
}

/* Opening a folder writes the path of each file: without snprintf, which takes longer than all the rest. */
static size_t write_path(const folder *self, const leat__folder_file *file, char *text, size_t cap) {
    const char *dir = text_at(&self->index, dir_of(&self->index, file)->path),
               *name = text_at(&self->index, file->name);
    const size_t n_dir = strlen(dir), n_name = strlen(name), slash = n_dir > 0;
    if (n_dir + slash + n_name >= cap) { /* what fits, as snprintf does */
        snprintf(text, cap, "%s%s%s", dir, slash ? "/" : "", name);
        return strlen(text);
    }
    memcpy(text, dir, n_dir);
    text[n_dir] = '/';
    memcpy(text + n_dir + slash, name, n_name + 1);
    return n_dir + slash + n_name;
}

const char *leat__folder_path(const leat__source *source, uint64_t sample, char *text, size_t cap,
                              int64_t *label) {
    const folder *self = (const folder *)source;
    const leat__folder_file *file = file_at(&self->index, sample);
    write_path(self, file, text, cap);
    if (label) *label = self->labelled ? dir_of(&self->index, file)->label : -1;
    return text;
}

uint64_t leat__folder_size(const leat__source *source, uint64_t sample) {
    return file_at(&((const folder *)source)->index, sample)->size;
}

static int remove_side(void *user, leat_error *err) {
    (void)err;
    leat__file_remove(user, NULL);
    return 1;
}

/* What to do with a file of another size than the index says. */
static int meet_other_size(const folder *self, const char *path, uint64_t expected, uint64_t found,
                           leat_error *err) {
    char shown[400];
    if (self->side) return leat__once_do(&((folder *)self)->stale, remove_side, self->side, err), 0;
    return leat__fail(err, LEAT_ERR_IO,
                      "%s had %" PRIu64 " bytes when this run began and has %" PRIu64
                      " now: it is still being written",
                      leat__printable(shown, sizeof shown, path, strlen(path)), expected, found);
}

static int read_file(const leat__source *source, leat__reader *reader, uint64_t sample, leat__value *values,
                     leat_error *err) {
    const folder *self = (const folder *)source;
    char path[PATH_MAX], relative[PATH_MAX];
    leat__folder_path(source, sample, relative, sizeof relative, NULL);
    if ((size_t)snprintf(path, sizeof path, "%s/%s", self->root, relative) >= sizeof path)
        return leat__fail(err, LEAT_ERR_LIMIT, "a path longer than %d bytes below %s", PATH_MAX, self->root);
    leat__file file;
    LEAT_TRY(leat__file_open(&file, path, err));
    const uint64_t expected = file_at(&self->index, sample)->size;
    int rc = file.size == expected ? 0 : meet_other_size(self, path, expected, file.size, err);
    char shown[400];
    if (rc == 0 && file.size > LEAT_RECORD_BYTES_MAX) {
        rc = leat__fail(err, LEAT_ERR_LIMIT, "%s has %" PRIu64 " bytes, the limit is %zu",
                        leat__printable(shown, sizeof shown, path, strlen(path)), file.size,
                        LEAT_RECORD_BYTES_MAX);
    } else if (rc == 0 && !leat__buf_reserve(&reader->bytes, file.size)) {
        rc = leat__fail_memory(err, file.size, path);
    } else if (rc == 0) {
        rc = leat__file_read_at(&file, reader->bytes.data, file.size, 0, path, err);
        reader->bytes_read += file.size;
    }
    leat__file_close(&file);
    if (rc < 0) return rc;
    values[0] = (leat__value){.data = reader->bytes.data,
                              .bytes = file.size,
                              .dtype = LEAT_DTYPE_BYTES,
                              .ndim = 1,
                              .shape = {(int64_t)file.size}};
    if (self->labelled)
        values[1] = (leat__value){
            .data = (const uint8_t *)&dir_of(&self->index, file_at(&self->index, sample))->label,
            .bytes = sizeof(int64_t),
            .dtype = LEAT_DTYPE_I64};
    return 0;
}

static void describe(const leat__source *source, uint64_t sample, char *text, size_t cap) {
    char relative[PATH_MAX], shown[500];
    leat__folder_path(source, sample, relative, sizeof relative, NULL);
    snprintf(text, cap, "%s", leat__printable(shown, sizeof shown, relative, strlen(relative)));
}

static void close_folder(leat__source *source) {
    folder *self = (folder *)source;
    leat__folder_index_free(&self->index);
    leat__once_destroy(&self->stale);
    leat__free(self->side);
    leat__free(self->root);
}

static void prepare(const leat__source *source, leat__reader *reader) {
    leat__buf_reserve_exactly(&reader->bytes, LEAT_MIN(source->bytes_max, LEAT_PREPARE_BYTES_MAX));
}

static bool known(const leat__source *source, uint64_t sample, int field, leat__value *value, void *room) {
    const folder *self = (const folder *)source;
    (void)room;
    if (field != 1) return false;
    *value =
        (leat__value){.data = (const uint8_t *)&dir_of(&self->index, file_at(&self->index, sample))->label,
                      .bytes = sizeof(int64_t),
                      .dtype = LEAT_DTYPE_I64};
    return true;
}

static bool relative_path(const leat__source *source, uint64_t sample, char *text, size_t cap) {
    leat__folder_path(source, sample, text, cap, NULL);
    return true;
}

static bool full_path(const leat__source *source, uint64_t sample, char *text, size_t cap) {
    const folder *self = (const folder *)source;
    char relative[PATH_MAX];
    leat__folder_path(source, sample, relative, sizeof relative, NULL);
    return (size_t)snprintf(text, cap, "%s/%s", self->root, relative) < cap;
}

static int version(const leat__source *source, int n_threads, bool exact, uint64_t *out, leat_error *err) {
    return leat__source_date_all(source, full_path, n_threads, exact, ((const folder *)source)->root, out,
                                 err);
}

static const leat__source_class folder_class = {.name = "folder",
                                                .tree = true,
                                                .read_us = 30,
                                                .version = version,
                                                .read = read_file,
                                                .describe = describe,
                                                .prepare = prepare,
                                                .close = close_folder,
                                                .known = known,
                                                .size = leat__folder_size,
                                                .path = relative_path,
                                                .file = full_path,
                                                .opens = full_path};

/* ---------------------------------------------------------------------------------------- side file
 * Payload: version, labels and links as asked for, time of the scan, then the three buffers with their lengths. */

enum { INDEX_VERSION = 2, INDEX_FACTS = 8 };

static void index_facts(uint64_t facts[INDEX_FACTS], const leat__folder_index *index,
                        const leat__folder_options *options) {
    const uint64_t all[INDEX_FACTS] = {INDEX_VERSION,     options->follow_links, (uint64_t)index->scanned_ns,
                                       index->n_classes,  index->pool.size,      index->dirs.size,
                                       index->files.size, index->n_ignored};
    memcpy(facts, all, sizeof all);
}

typedef struct freshness {
    const leat__folder_index *index;
    const char *root;
    leat__side_place place;
} freshness;

static int check_dir(void *user, uint64_t item, int worker, leat_error *err) {
    (void)worker;
    const freshness *check = user;
    const leat__folder_dir *dir = (const leat__folder_dir *)check->index->dirs.data + item;
    char path[PATH_MAX];
    leat__stat st;
    snprintf(path, sizeof path, "%s/%s", check->root, text_at(check->index, dir->path));
    LEAT_TRY(leat__file_stat(path, &st, err));
    /* A change within the clock's grain of the scan could have been missed by it. */
    const bool same = st.mtime_ns == dir->mtime_ns && st.ctime_ns == dir->ctime_ns &&
                      st.inode == dir->inode &&
                      LEAT_MAX(st.mtime_ns, st.ctime_ns) < check->index->scanned_ns - LEAT_SIDE_GRAIN_NS;
    if (same) return 0;
    uint64_t names;
    if (check->place != LEAT_SIDE_BESIDE) return LEAT_ERR_STATE;
    LEAT_TRY(leat__folder_names(path, &names, err));
    return names == dir->names ? 0 : LEAT_ERR_STATE;
}

/* Names that lead out of the folder are not ours. */
static bool stays_inside(const char *path) {
    for (;;) {
        const size_t n = strcspn(path, "/");
        if (n == 0 || (n <= 2 && memcmp(path, "..", n) == 0)) return false;
        if (path[n] == 0) return true;
        path += n + 1;
    }
}

/* Whether an index read from a side file is consistent. The checksum does not prove that: a hostile file can have a right one. */
static bool index_ok(const leat__folder_index *index) {
    const uint64_t end = index->pool.size;
    const leat__folder_dir *dir = (const leat__folder_dir *)index->dirs.data;
    const uint64_t n_dirs = index->dirs.size / sizeof *dir,
                   n_files = index->files.size / sizeof(leat__folder_file);
    if (end == 0 || index->pool.data[end - 1] != 0 || index->n_classes > n_dirs) return false;
    for (uint64_t i = 0; i < n_dirs; i++) {
        if (dir[i].path >= end || dir[i].label < -1 || dir[i].label >= (int64_t)index->n_classes)
            return false;
        if (*text_at(index, dir[i].path) && !stays_inside(text_at(index, dir[i].path))) return false;
    }
    for (uint64_t i = 0; i < n_files; i++) {
        const leat__folder_file *file = file_at(index, i);
        if (file->name >= end || file->dir >= n_dirs || strchr(text_at(index, file->name), '/')) return false;
    }
    return true;
}

static bool load_from(leat__folder_index *index, leat__side *side, leat__side_place place,
                      const leat__folder_options *options, const leat__open_options *open, leat__buf *buf) {
    uint64_t facts[INDEX_FACTS];
    if (!leat__side_load(side, place, options->path, options->path, LEAT_SIDEFILE_FOLDER, open, buf) ||
        side->n < sizeof facts)
        return false;
    const uint8_t *data = side->data + sizeof facts;
    const size_t n = side->n - sizeof facts;
    memcpy(facts, side->data, sizeof facts);
    if (facts[0] != INDEX_VERSION || facts[1] != options->follow_links || facts[4] > n || facts[5] > n ||
        facts[6] > n || facts[4] + facts[5] + facts[6] != n || facts[5] % sizeof(leat__folder_dir) != 0 ||
        facts[6] % sizeof(leat__folder_file) != 0)
        return false;
    *index = (leat__folder_index){
        .pool.kind = LEAT_MEM_INDEX, .dirs.kind = LEAT_MEM_INDEX, .files.kind = LEAT_MEM_INDEX};
    index->scanned_ns = (int64_t)facts[2];
    index->n_classes = facts[3];
    index->n_ignored = facts[7];
    freshness check = {.index = index, .root = options->path, .place = place};
    const bool good =
        leat__buf_append(&index->pool, data, facts[4]) &&
        leat__buf_append(&index->dirs, data + facts[4], facts[5]) &&
        leat__buf_append(&index->files, data + facts[4] + facts[5], facts[6]) && index_ok(index) &&
        leat__parallel(open->n_threads, facts[5] / sizeof(leat__folder_dir), check_dir, &check, NULL) == 0;
    if (!good) leat__folder_index_free(index);
    return good;
}

static bool load_index(folder *self, const leat__folder_options *options, const leat__open_options *open) {
    leat__buf buf = {.kind = LEAT_MEM_INDEX};
    leat__side side;
    bool good = false;
    for (int place = 0; place < LEAT_SIDE_PLACES && !good; place++) {
        good = load_from(&self->index, &side, place, options, open, &buf);
        if (side.refused)
            snprintf(self->base.warning, sizeof self->base.warning, "%.700s " LEAT_NOT_TRUSTED, side.file);
    }
    leat__buf_free(&buf);
    if (good) self->side = leat__strdup(LEAT_MEM_INDEX, side.file);
    return good;
}

static void store_index(folder *self, const leat__folder_options *options, const leat__open_options *open) {
    leat__buf payload = {.kind = LEAT_MEM_INDEX};
    uint64_t facts[INDEX_FACTS];
    leat_error why;
    leat__error_clear(&why);
    const leat__folder_index *index = &self->index;
    index_facts(facts, index, options);
    const bool kept = leat__buf_append(&payload, facts, sizeof facts) &&
                      leat__buf_append(&payload, index->pool.data, index->pool.size) &&
                      leat__buf_append(&payload, index->dirs.data, index->dirs.size) &&
                      leat__buf_append(&payload, index->files.data, index->files.size) &&
                      leat__side_store(options->path, options->path, LEAT_SIDEFILE_FOLDER, open, payload.data,
                                       payload.size, &why);
    if (!kept)
        snprintf(self->base.warning, sizeof self->base.warning, "the index of %.80s is not kept: %.1000s",
                 options->path, why.message);
    leat__buf_free(&payload);
}

/* -------------------------------------------------------------------------------------------- open */

/* Labels are per directory; without labels every file of the tree counts, with them those in the root do not. */
static int choose_labels(folder *self, const leat__folder_options *options, leat_error *err) {
    leat__folder_index *index = &self->index;
    const uint64_t n_files = index->files.size / sizeof(leat__folder_file);
    uint64_t in_root = 0;
    for (uint64_t i = 0; i < n_files; i++) in_root += dir_of(index, file_at(index, i))->label < 0;
    self->labelled =
        options->labels == LEAT_LABELS_DIR || (options->labels == LEAT_LABELS_AUTO && in_root < n_files);
    uint64_t kept = 0;
    leat__folder_file *file = (leat__folder_file *)index->files.data;
    for (uint64_t i = 0; i < n_files; i++)
        if (!self->labelled || dir_of(index, &file[i])->label >= 0) file[kept++] = file[i];
    index->files.size = kept * sizeof *file;
    if (kept < n_files)
        snprintf(self->base.warning, sizeof self->base.warning,
                 "%" PRIu64
                 " images lie in %.150s itself and have no label: they are left out (labels=none takes them)",
                 n_files - kept, options->path);
    if (kept > 0) return 0;
    char shown[500];
    leat__printable(shown, sizeof shown, options->path, strlen(options->path));
    if (self->labelled && n_files > 0)
        return leat__fail(err, LEAT_ERR_NOT_FOUND,
                          "folder %s has %" PRIu64
                          " images but no sub-folders to take labels from: use labels=none",
                          shown, n_files);
    return leat__fail(
        err, LEAT_ERR_NOT_FOUND,
        "folder %s has no images: names must end in .jpg .jpeg .png .webp .gif or .bmp (%" PRIu64
        " other files seen)",
        shown, index->n_ignored);
}

static int name_classes(folder *self, leat_error *err) {
    const leat__folder_index *index = &self->index;
    leat__source *base = &self->base;
    if (!self->labelled) return 0;
    base->class_name =
        leat__alloc(LEAT_MEM_INDEX, LEAT_MAX(index->n_classes, (uint64_t)1) * sizeof *base->class_name);
    if (!base->class_name) return leat__fail_memory(err, index->n_classes * 8, "class names");
    const leat__folder_dir *dir = (const leat__folder_dir *)index->dirs.data;
    /* Directories are sorted, so the first one with a new label is the top-level one itself. */
    for (uint64_t i = 0; i < index->dirs.size / sizeof *dir; i++) {
        if (dir[i].label != (int64_t)base->n_classes) continue;
        base->class_name[base->n_classes] = leat__strdup(LEAT_MEM_INDEX, text_at(index, dir[i].path));
        if (!base->class_name[base->n_classes]) return leat__fail_memory(err, 64, "class names");
        base->n_classes++;
    }
    return 0;
}

/* label[i] = the new label of class i, -1 if it is left out. Every given name must be that of a class. */
static int match_classes(const folder *self, const leat__classes *given, int64_t *label, leat_error *err) {
    const leat__source *base = &self->base;
    uint32_t found = 0;
    for (size_t i = 0; i < base->n_classes; i++)
        found += (label[i] = leat__classes_find(given, base->class_name[i])) >= 0;
    for (uint32_t i = 0; i < given->n && found < given->n; i++) {
        const char *name = leat__classes_at(given, i);
        bool there = false;
        char shown[100], root[300];
        for (size_t k = 0; k < base->n_classes; k++) there |= label[k] == (int64_t)i;
        if (!there)
            return leat__fail(
                err, LEAT_ERR_NOT_FOUND,
                "folder %s has no sub-directory '%s', which classes names: there are %zu, such as '%.80s'",
                leat__printable(root, sizeof root, self->root, strlen(self->root)),
                leat__printable(shown, sizeof shown, name, strlen(name)), base->n_classes,
                base->n_classes ? base->class_name[0] : "");
    }
    return 0;
}

/* The given sub-directories alone, in the given order. */
static int choose_classes(folder *self, const leat__folder_options *options, leat_error *err) {
    leat__folder_index *index = &self->index;
    leat__source *base = &self->base;
    leat__classes given = {0};
    if (!options->classes || !*options->classes) return 0;
    if (!self->labelled)
        return leat__fail(err, LEAT_ERR_ARGUMENT,
                          "folder: classes are names of sub-directories, and there are none with images");
    int64_t *label = leat__alloc(LEAT_MEM_INDEX, LEAT_MAX(base->n_classes, (size_t)1) * sizeof *label);
    int rc = label ? leat__classes_order(&given, options->classes, err)
                   : leat__fail_memory(err, base->n_classes * sizeof *label, "class names");
    if (rc == 0) rc = match_classes(self, &given, label, err);
    leat__folder_dir *dir = (leat__folder_dir *)index->dirs.data;
    leat__folder_file *file = (leat__folder_file *)index->files.data;
    size_t kept = 0;
    for (size_t i = 0; i < index->dirs.size / sizeof *dir && rc == 0; i++)
        if (dir[i].label >= 0) dir[i].label = label[dir[i].label];
    for (size_t i = 0; i < index->files.size / sizeof *file && rc == 0; i++)
        if (dir_of(index, &file[i])->label >= 0) file[kept++] = file[i];
    if (rc == 0) index->files.size = kept * sizeof *file;
    if (rc == 0) rc = leat__classes_give(&given, NULL, base, err);
    leat__free(label);
    leat__classes_free(&given);
    return rc;
}

static void take_fingerprint(folder *self) {
    const leat__folder_index *index = &self->index;
    leat__source *base = &self->base;
    base->n_samples = index->files.size / sizeof(leat__folder_file);
    char text[PATH_MAX];
    for (uint64_t i = 0; i < base->n_samples; i++) {
        const leat__folder_file *file = file_at(index, i);
        const size_t n = write_path(self, file, text, sizeof text);
        const uint64_t size = file->size;
        const uint64_t facts[] = {size, (uint64_t)(self->labelled ? dir_of(index, file)->label : -1)};
        base->fingerprint = leat__hash(facts, sizeof facts, leat__hash(text, n, base->fingerprint));
        if (size > base->bytes_max && size <= LEAT_RECORD_BYTES_MAX)
            base->bytes_max = size; /* more is not read */
    }
}

int leat__folder_open(leat__source **out, const leat__folder_options *options, const leat__open_options *open,
                      leat_error *err) {
    *out = NULL;
    if (!*options->path)
        return leat__fail(err, LEAT_ERR_NOT_FOUND, "the name of the folder is empty: write . for this one");
    char url[400];
    if (leat__is_remote(options->path))
        return leat__fail(
            err, LEAT_ERR_UNSUPPORTED,
            "%s: a folder is read from this machine's disks only: pack the pictures into records and "
            "upload those (`leat pack FOLDER OUT`, then tfrecord), or give a list of files",
            leat__printable(url, sizeof url, options->path, strlen(options->path)));
    folder *self = leat__alloc(LEAT_MEM_PLAN, sizeof *self);
    if (!self) return leat__fail_memory(err, sizeof *self, "a folder");
    leat__source *base = &self->base;
    base->class = &folder_class;
    self->root = leat__real_path(options->path);
    int rc = leat__once_init(&self->stale, err);
    if (rc == 0 && !self->root) rc = leat__fail_memory(err, PATH_MAX, "a path");
    if (rc == 0 && !load_index(self, options, open)) {
        rc = leat__folder_scan(&self->index, options, open, err);
        if (rc == 0 && self->index.files.size > 0) store_index(self, options, open);
    }
    if (rc == 0) rc = choose_labels(self, options, err);
    if (rc == 0) rc = name_classes(self, err);
    if (rc == 0) rc = choose_classes(self, options, err);
    if (rc < 0) {
        leat__source_free(&base);
        return rc;
    }
    take_fingerprint(self);
    base->home = leat__strdup(LEAT_MEM_INDEX, self->root);
    const int64_t any = -1;
    leat__source_field(base, "image", LEAT_DTYPE_BYTES, 1, &any);
    if (self->labelled) leat__source_field(base, "label", LEAT_DTYPE_I64, 0, NULL);
    char shown[120];
    leat__printable(shown, sizeof shown, options->path, strlen(options->path));
    if (self->labelled)
        snprintf(base->title, sizeof base->title, "folder %s: %" PRIu64 " images in %zu classes", shown,
                 base->n_samples, base->n_classes);
    else snprintf(base->title, sizeof base->title, "folder %s: %" PRIu64 " images", shown, base->n_samples);
    *out = base;
    return 0;
}
