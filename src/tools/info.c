/* SPDX-License-Identifier: Apache-2.0 */
/* leat_info: what a path is, in numbers.
 *
 * Counts, bytes and classes come from the index. Sizes and formats come from the headers of some samples, spread
 * evenly; each worker keeps a summary of its own, and adding them up gives the same whatever the number of workers.
 * A compressed file must be read to its end to be counted, so all of it is looked at. */
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/thread.h"
#include "tools/tools.h"

enum { LOOK_AT = 1000, TALLIES_MAX = 1000, KEY_MAX = 44, DETOURS_MAX = 24 };

typedef struct tally { /* an image format, or a key of Examples with its kind */
    uint64_t hash;
    uint64_t n;
    char name[KEY_MAX];
    leat__feature_kind kind; /* NONE for what has no count                  */
    int64_t count_min, count_max;
    int64_t steps_max; /* of a list of a SequenceExample; 0 = no list */
    unsigned codecs;   /* 1 << codec, of the images that are its values */
} tally;

typedef struct summary {
    leat__buf tallies;
    uint64_t n_looked_at, n_bad; /* bad: could not be read, or its header could not   */
    uint64_t n_sized, n_images;  /* samples that were read; images whose size is known */
    uint64_t width_sum, height_sum;
    int width_min, width_max, height_min, height_max;
    uint64_t bytes_min, bytes_max;
    bool lost; /* no memory for a tally */
    uint64_t n_own;
    int n_detours;
    struct {
        const char *library, *why;
        uint64_t n;
    } detour[DETOURS_MAX]; /* there are fewer reasons than that */
} summary;

typedef struct look {
    const leat_tool_config *config;
    const leat__source *source;   /* of a folder or of records       */
    const leat__targets *targets; /* of images                       */
    leat__tool_worker *workers;
    summary *summary; /* one a worker                    */
    uint64_t n, n_samples;
    atomic_uint_least64_t done;
} look;

/* ----------------------------------------------------------------------------------------- summaries */

static tally *tally_of(summary *s, const char *name, size_t n, leat__feature_kind kind) {
    tally *all = (tally *)s->tallies.data;
    const size_t count = s->tallies.size / sizeof *all;
    const uint64_t hash = leat__hash(name, n, (uint64_t)kind);
    for (size_t i = 0; i < count; i++)
        if (all[i].hash == hash) return &all[i];
    if (count > TALLIES_MAX) return &all[TALLIES_MAX];
    tally fresh = {.hash = hash, .kind = kind, .count_min = INT64_MAX};
    if (count == TALLIES_MAX) { /* every record has keys of its own */
        fresh = (tally){.count_min = INT64_MAX, .hash = ~(uint64_t)0};
        snprintf(fresh.name, sizeof fresh.name, "keys after the first %d", TALLIES_MAX);
    } else {
        leat__printable(fresh.name, sizeof fresh.name, name, n);
    }
    if (!leat__buf_append(&s->tallies, &fresh, sizeof fresh)) {
        s->lost = true;
        return NULL;
    }
    return (tally *)s->tallies.data + count;
}

static void add_image_size(summary *s, const leat__picture_info *info) {
    const bool first = s->n_images++ == 0;
    if (first || info->width < s->width_min) s->width_min = info->width;
    if (first || info->height < s->height_min) s->height_min = info->height;
    s->width_max = LEAT_MAX(s->width_max, info->width);
    s->height_max = LEAT_MAX(s->height_max, info->height);
    s->width_sum += (uint64_t)info->width;
    s->height_sum += (uint64_t)info->height;
}

static void add_detour(summary *s, const char *library, const char *why, uint64_t n) {
    int i = 0;
    while (i < s->n_detours &&
           (strcmp(s->detour[i].why, why) != 0 || strcmp(s->detour[i].library, library) != 0))
        i++;
    if (i == DETOURS_MAX) return;
    if (i == s->n_detours) s->n_detours++, s->detour[i].why = why, s->detour[i].library = library;
    s->detour[i].n += n;
}

static void add_decoder(summary *s, const leat__picture_info *info) {
    const char *library = leat__codec_library(info->codec);
    if (!library) return;
    if (info->detour) add_detour(s, library, info->detour, 1);
    else s->n_own++;
}

static void add_sample_bytes(summary *s, uint64_t bytes) {
    if (s->n_sized++ == 0 || bytes < s->bytes_min) s->bytes_min = bytes;
    s->bytes_max = LEAT_MAX(s->bytes_max, bytes);
}

static int add_image(summary *s, leat__tool_worker *worker, const uint8_t *bytes, size_t n, leat_error *err) {
    leat__picture_info info;
    char words[64];
    add_sample_bytes(s, n);
    const int rc = leat__decode_info(worker->decoder, bytes, n, NULL, &info, err);
    if (rc < 0) return rc;
    leat__image_words(&info, words, sizeof words);
    tally *t = tally_of(s, words, strlen(words), LEAT_FEATURE_NONE);
    if (t) t->n++;
    add_image_size(s, &info);
    add_decoder(s, &info);
    return 0;
}

/* f: a feature of an Example, or the first of the steps of a list. */
static void add_feature(summary *s, leat__tool_worker *worker, const leat__feature *f, int64_t steps) {
    tally *t = tally_of(s, f->key, f->key_n, f->kind);
    const int64_t count = leat__feature_count(f);
    if (!t || count < 0) return;
    t->n++;
    t->count_min = LEAT_MIN(t->count_min, count);
    t->count_max = LEAT_MAX(t->count_max, count);
    t->steps_max = LEAT_MAX(t->steps_max, steps);
    const uint8_t *bytes;
    size_t n;
    leat__picture_info info;
    if (f->kind != LEAT_FEATURE_BYTES || leat__feature_bytes(f, 0, &bytes, &n) != 0 ||
        !leat__image_like(bytes, n))
        return;
    if (leat__decode_info(worker->decoder, bytes, n, NULL, &info, NULL) < 0) return;
    t->codecs |= 1u << info.codec;
    add_image_size(s, &info);
    add_decoder(s, &info);
}

static void add_lists(summary *s, leat__tool_worker *worker, const uint8_t *bytes, size_t n) {
    leat__sequence lists = leat__sequence_over(bytes, n);
    leat__span key;
    leat__wire steps;
    while (leat__sequence_next(&lists, &key, &steps) > 0) {
        leat__feature first = {.key = key.data, .key_n = key.n}, other;
        int64_t count = leat__sequence_step(&steps, &first) > 0;
        while (count > 0 && leat__sequence_step(&steps, &other) > 0) count++;
        if (count > 0) add_feature(s, worker, &first, count);
    }
}

static void add_record(summary *s, leat__tool_worker *worker, const uint8_t *bytes, size_t n) {
    leat__example_iter iter;
    leat__feature f;
    leat_error ignored;
    int rc;
    add_sample_bytes(s, n);
    leat__example_iter_init(&iter, bytes, n);
    while ((rc = leat__example_iter_next(&iter, &f, &ignored)) > 0) continue;
    if (rc == 0) {
        leat__example_iter_init(&iter, bytes, n);
        while (leat__example_iter_next(&iter, &f, &ignored) > 0) add_feature(s, worker, &f, 0);
        add_lists(s, worker, bytes, n);
        return;
    }
    static const char name[] = "(not an Example)";
    tally *t = tally_of(s, name, sizeof name - 1, LEAT_FEATURE_NONE);
    if (t) t->n++;
}

static void add_up(summary *to, const summary *from) {
    const tally *all = (const tally *)from->tallies.data;
    for (size_t i = 0; i < from->tallies.size / sizeof *all; i++) {
        tally *t = NULL;
        tally *have = (tally *)to->tallies.data;
        for (size_t k = 0; k < to->tallies.size / sizeof *have && !t; k++)
            if (have[k].hash == all[i].hash) t = &have[k];
        if (!t) {
            to->lost |= !leat__buf_append(&to->tallies, &all[i], sizeof all[i]);
            continue;
        }
        t->n += all[i].n;
        t->count_min = LEAT_MIN(t->count_min, all[i].count_min);
        t->count_max = LEAT_MAX(t->count_max, all[i].count_max);
        t->steps_max = LEAT_MAX(t->steps_max, all[i].steps_max);
        t->codecs |= all[i].codecs;
    }
    if (from->n_sized && (!to->n_sized || from->bytes_min < to->bytes_min)) to->bytes_min = from->bytes_min;
    if (from->n_images && (!to->n_images || from->width_min < to->width_min)) to->width_min = from->width_min;
    if (from->n_images && (!to->n_images || from->height_min < to->height_min))
        to->height_min = from->height_min;
    to->bytes_max = LEAT_MAX(to->bytes_max, from->bytes_max);
    to->width_max = LEAT_MAX(to->width_max, from->width_max);
    to->height_max = LEAT_MAX(to->height_max, from->height_max);
    to->width_sum += from->width_sum;
    to->height_sum += from->height_sum;
    to->n_images += from->n_images;
    to->n_sized += from->n_sized;
    to->n_looked_at += from->n_looked_at;
    to->n_bad += from->n_bad;
    to->n_own += from->n_own;
    for (int i = 0; i < from->n_detours; i++)
        add_detour(to, from->detour[i].library, from->detour[i].why, from->detour[i].n);
    to->lost |= from->lost;
}

/* ------------------------------------------------------------------------------------------- looking */

static int look_at_one(void *user, uint64_t item, int number, leat_error *err) {
    look *l = user;
    summary *s = &l->summary[number];
    leat__tool_worker *worker = &l->workers[number];
    /* Spread evenly, without overflow. */
    const uint64_t sample = (uint64_t)((double)item * ((double)l->n_samples / (double)l->n));
    leat_error cause;
    leat__value values[LEAT_FIELDS_MAX];
    int rc;
    if (l->source) {
        rc = l->source->class->read(l->source, &worker->reader, LEAT_MIN(sample, l->n_samples - 1), values,
                                    &cause);
        if (rc == 0 && l->targets) rc = add_image(s, worker, values[0].data, values[0].bytes, &cause);
        else if (rc == 0) add_record(s, worker, values[0].data, values[0].bytes);
    } else {
        leat__buf *buf = &worker->pixels;
        const char *path = l->targets->at[LEAT_MIN(sample, l->n_samples - 1)].path;
        rc = leat__file_read_all(path, buf, (size_t)1 << 40, &cause);
        if (rc == 0) rc = add_image(s, worker, buf->data, buf->size, &cause);
        if (rc < 0 && l->n_samples == 1) { /* a single image: then the reason is what counts */
            char reason[sizeof cause.message], shown[400];
            leat__tool_reason(reason, sizeof reason, cause.message, path);
            return leat__fail(err, rc, "%s: %.500s", leat__printable(shown, sizeof shown, path, strlen(path)),
                              reason);
        }
    }
    s->n_looked_at++;
    s->n_bad += rc < 0;
    const uint64_t done = atomic_fetch_add(&l->done, 1) + 1;
    return number == 0 ? leat__tool_progress(l->config, "looking at samples", done, l->n, err) : 0;
}

static int look_at_samples(look *l, int n_threads, uint64_t n_samples, int64_t look_at, leat_error *err) {
    l->n_samples = n_samples;
    l->n = look_at < 0 ? n_samples : LEAT_MIN(n_samples, look_at ? (uint64_t)look_at : LOOK_AT);
    const int rc = leat__parallel(n_threads, l->n, look_at_one, l, err);
    if (l->source) leat__tool_readers_free(l->workers, n_threads, l->source);
    return rc;
}

static int look_at_stream(look *l, const char *const *paths, int n, uint64_t bytes, leat_info *info,
                          leat_error *err) {
    leat__shards *stream;
    leat__source *source;
    leat__buf record = {.kind = LEAT_MEM_TOOL};
    LEAT_TRY(leat__shards_open(&stream, &source, paths, n, err));
    int rc = 0;
    for (leat_error cause;;) {
        const int got = leat__shards_next(stream, &record, &cause);
        if (got > 0) break;
        info->n_samples++;
        l->summary[0].n_looked_at++;
        if (got < 0) l->summary[0].n_bad++;
        else add_record(&l->summary[0], &l->workers[0], record.data, record.size);
        if (info->n_samples % 256 == 0)
            rc = leat__tool_progress(l->config, "reading", LEAT_MIN(leat__shards_bytes_read(stream), bytes),
                                     bytes, err);
        if (rc < 0) break;
    }
    leat__buf_free(&record);
    leat__shards_free(&stream);
    leat__source_free(&source);
    return rc;
}

/* --------------------------------------------------------------------------------------------- kinds */

/* The size of a sample's file, 0 if it is missing; *label is -1 if it has none. */
static uint64_t size_and_label(const leat__source *source, bool folder, uint64_t i, int64_t *label) {
    char text[4096];
    leat__stat st = {0};
    if (folder) {
        leat__folder_path(source, i, text, sizeof text, label);
        return leat__folder_size(source, i);
    }
    *label = leat__list_class(source, i);
    return leat__list_path(source, i, text, sizeof text) && leat__file_stat(text, &st, NULL) == 0 ? st.size
                                                                                                  : 0;
}

static int count_classes(leat_info *info, const leat__source *source, bool folder, leat_error *err) {
    leat__arena *arena = info->memory;
    if (source->n_classes) {
        info->classes = leat__arena_alloc(arena, source->n_classes * sizeof *info->classes);
        if (!info->classes)
            return leat__fail_memory(err, source->n_classes * sizeof *info->classes, "classes");
    }
    for (size_t i = 0; i < source->n_classes; i++) {
        const size_t n = strlen(source->class_name[i]) + 1;
        char *name = leat__arena_alloc(arena, n);
        if (!name) return leat__fail_memory(err, n, "classes");
        info->classes[i] = (leat_class_count){.name = memcpy(name, source->class_name[i], n)};
    }
    info->n_classes = (int)source->n_classes;
    info->bytes = 0; /* of the files, not of the list that names them */
    for (uint64_t i = 0; i < source->n_samples; i++) {
        int64_t label;
        const uint64_t bytes = size_and_label(source, folder, i, &label);
        info->bytes += bytes;
        if (i == 0 || bytes < info->sample_bytes_min) info->sample_bytes_min = bytes;
        info->sample_bytes_max = LEAT_MAX(info->sample_bytes_max, bytes);
        if (label >= 0 && label < info->n_classes) info->classes[label].n++;
    }
    return 0;
}

static int read_samples(leat_info *info, look *l, leat__source *source, int64_t look_at, leat_error *err) {
    leat__tool_warn(l->config, source);
    l->source = source;
    info->n_samples = source->n_samples;
    const int rc = look_at_samples(l, leat__tool_threads(l->config), source->n_samples, look_at, err);
    leat__source_free(&source);
    return rc;
}

/* TFRecord files or tar archives. */
static int read_shards(leat_info *info, look *l, const leat__targets *targets, int64_t look_at,
                       leat_error *err) {
    const char **paths = leat__alloc(LEAT_MEM_TOOL, targets->n * sizeof *paths);
    if (!paths) return leat__fail_memory(err, targets->n * sizeof *paths, "file names");
    leat__compression packed = LEAT_COMPRESSION_NONE;
    for (size_t i = 0; i < targets->n; i++) {
        paths[i] = targets->at[i].path;
        packed = LEAT_MAX(packed, targets->at[i].compression);
    }
    const bool tar = targets->at[0].kind == LEAT_TARGET_TAR;
    static const char *const names[] = {"tfrecord", "tfrecord gzip", "tfrecord zlib"};
    snprintf(info->kind, sizeof info->kind, "%s", tar ? "webdataset" : names[packed]);
    const leat__open_options options = leat__tool_open_options(l->config);
    leat__source *source;
    int rc;
    if (tar) {
        const leat__webdataset_options archives = {.patterns = paths, .n = (int)targets->n};
        l->targets = targets; /* the first field is a picture */
        rc = leat__webdataset_open(&source, &archives, &options, err);
        if (rc == 0) rc = read_samples(info, l, source, look_at, err);
    } else if (packed != LEAT_COMPRESSION_NONE) {
        rc = look_at_stream(l, paths, (int)targets->n, targets->bytes, info, err);
        if (rc == 0 && l->summary[0].n_sized == 0 && info->n_samples > 0)
            rc = leat__fail(err, LEAT_ERR_FORMAT, "%s is compressed, but no whole record is in it", paths[0]);
    } else {
        rc = leat__records_open(&source, paths, (int)targets->n, &options, err);
        if (rc == 0) rc = read_samples(info, l, source, look_at, err);
    }
    leat__free(paths);
    return rc;
}

static int read_images(leat_info *info, look *l, const leat__targets *targets, int64_t look_at,
                       leat_error *err) {
    const bool folder = targets->at[0].kind == LEAT_TARGET_FOLDER,
               list = targets->at[0].kind == LEAT_TARGET_LIST;
    l->targets = targets;
    if (folder || list) {
        l->source = targets->at[0].source;
        leat__tool_warn(l->config, l->source);
        LEAT_TRY(count_classes(info, l->source, folder, err));
    }
    info->n_samples = info->n_files = l->source ? l->source->n_samples : targets->n;
    snprintf(info->kind, sizeof info->kind, "%s",
             folder            ? "folder"
             : list            ? "list"
             : targets->n == 1 ? "image"
                               : "images");
    return look_at_samples(l, leat__tool_threads(l->config), info->n_samples, look_at, err);
}

/* -------------------------------------------------------------------------------------------- result */

static int by_count(const void *a, const void *b) {
    const leat_format_count *x = a, *y = b;
    return x->n != y->n ? x->n < y->n ? 1 : -1 : strcmp(x->name, y->name);
}
static int by_name(const void *a, const void *b) {
    return strcmp(((const leat_format_count *)a)->name, ((const leat_format_count *)b)->name);
}

/* "image: bytes[1] jpeg", "tokens: int64[3..120]". */
static void name_tally(leat_format_count *out, const tally *t) {
    static const char *const kinds[] = {"empty", "bytes", "float", "int64"};
    out->n = t->n;
    if (t->kind == LEAT_FEATURE_NONE && t->count_max == 0 && t->count_min == INT64_MAX) {
        snprintf(out->name, sizeof out->name, "%s", t->name);
        return;
    }
    int used = snprintf(out->name, sizeof out->name, "%s: %s[%" PRId64, t->name, kinds[t->kind],
                        LEAT_MIN(t->count_min, t->count_max));
    if (t->count_max > t->count_min && used < (int)sizeof out->name)
        used += snprintf(out->name + used, sizeof out->name - (size_t)used, "..%" PRId64, t->count_max);
    if (used < (int)sizeof out->name)
        used += snprintf(out->name + used, sizeof out->name - (size_t)used, "]");
    const char *before = " ";
    for (int codec = 1; codec < LEAT_CODEC_COUNT && used < (int)sizeof out->name; codec++) {
        if (!(t->codecs >> codec & 1)) continue;
        used += snprintf(out->name + used, sizeof out->name - (size_t)used, "%s%s", before,
                         leat__codec_name(codec));
        before = "/";
    }
    if (t->steps_max > 0 && used < (int)sizeof out->name)
        snprintf(out->name + used, sizeof out->name - (size_t)used, ", up to %" PRId64 " steps",
                 t->steps_max);
}

static int finish(leat_info *info, const summary *s, bool records, leat_error *err) {
    const tally *all = (const tally *)s->tallies.data;
    const size_t n = s->tallies.size / sizeof *all;
    info->n_bad = s->n_bad;
    info->n_looked_at = s->n_looked_at;
    info->width_min = s->width_min, info->width_max = s->width_max;
    info->height_min = s->height_min, info->height_max = s->height_max;
    if (s->n_images) {
        info->width_mean = (double)s->width_sum / (double)s->n_images;
        info->height_mean = (double)s->height_sum / (double)s->n_images;
    }
    if (info->sample_bytes_max == 0)
        info->sample_bytes_min = s->bytes_min, info->sample_bytes_max = s->bytes_max;
    if (s->lost) return leat__fail_memory(err, s->tallies.size, "formats");
    info->n_own = s->n_own;
    if (s->n_detours) {
        const size_t bytes = (size_t)s->n_detours * sizeof *info->detours;
        info->detours = leat__arena_alloc(info->memory, bytes);
        if (!info->detours) return leat__fail_memory(err, bytes, "formats");
        memset(info->detours, 0, bytes);
        info->n_detours = s->n_detours;
        for (int i = 0; i < s->n_detours; i++) {
            snprintf(info->detours[i].name, sizeof info->detours[i].name, "%s: %s", s->detour[i].library,
                     s->detour[i].why);
            info->detours[i].n = s->detour[i].n;
        }
        qsort(info->detours, (size_t)s->n_detours, sizeof *info->detours, by_count);
    }
    if (n == 0) return 0;
    info->formats = leat__arena_alloc(info->memory, n * sizeof *info->formats);
    if (!info->formats) return leat__fail_memory(err, n * sizeof *info->formats, "formats");
    memset(info->formats, 0, n * sizeof *info->formats);
    for (size_t i = 0; i < n; i++) name_tally(&info->formats[i], &all[i]);
    info->n_formats = (int)n;
    qsort(info->formats, n, sizeof *info->formats, records ? by_name : by_count);
    return 0;
}

/* One kind of thing, and one folder only. */
static int one_kind(const leat__targets *targets, const char *path, leat_error *err) {
    for (size_t i = 0; i < targets->n; i++) {
        const leat__target *target = &targets->at[i];
        if (target->kind == LEAT_TARGET_OTHER) return leat__target_refuse(target, "", err);
        if (target->kind != targets->at[0].kind)
            return leat__fail(err, LEAT_ERR_ARGUMENT,
                              "%s matches different kinds of data, such as %s and %s: ask for one", path,
                              targets->at[0].path, target->path);
        if (i > 0 && target->kind == LEAT_TARGET_LIST)
            return leat__fail(err, LEAT_ERR_ARGUMENT, "%s matches %zu lists: ask for one", path, targets->n);
        if (i > 0 && target->kind == LEAT_TARGET_FOLDER)
            return leat__fail(err, LEAT_ERR_ARGUMENT,
                              "%s matches %zu folders: ask for one, or for the one they lie in", path,
                              targets->n);
    }
    return 0;
}

int leat_info_read(leat_info *info, const char *path, int64_t look_at, const leat_tool_config *config,
                   leat_error *err) {
    leat__error_clear(err);
    if (!info || !path) return leat__fail(err, LEAT_ERR_ARGUMENT, "leat_info_read: info or path is NULL");
    *info = (leat_info){0};
    LEAT_TRY(leat__tool_config_check(config, err));
    const leat__open_options options = leat__tool_open_options(config);
    const int n_threads = leat__tool_threads(config);
    leat__targets targets;
    LEAT_TRY(leat__targets_open(&targets, &path, 1, LEAT_LABELS_AUTO, &options, err));
    summary total = {.tallies.kind = LEAT_MEM_TOOL};
    look l = {.config = config};
    int rc = one_kind(&targets, path, err);
    if (rc == 0) {
        info->memory = leat__alloc(LEAT_MEM_TOOL, sizeof(leat__arena));
        l.summary = leat__alloc(LEAT_MEM_TOOL, (size_t)n_threads * sizeof *l.summary);
        if (!info->memory || !l.summary) rc = leat__fail_memory(err, sizeof(leat__arena), "a summary");
        else if (!(l.workers = leat__tool_workers_new(n_threads, err))) rc = LEAT_ERR_MEMORY;
    }
    const bool records = targets.at[0].kind == LEAT_TARGET_RECORDS;
    if (rc == 0) {
        ((leat__arena *)info->memory)->kind = LEAT_MEM_TOOL;
        for (int i = 0; i < n_threads; i++) l.summary[i].tallies.kind = LEAT_MEM_TOOL;
        info->bytes = targets.bytes;
        info->n_files = targets.n;
        rc = records || targets.at[0].kind == LEAT_TARGET_TAR ? read_shards(info, &l, &targets, look_at, err)
                                                              : read_images(info, &l, &targets, look_at, err);
    }
    for (int i = 0; i < n_threads && l.summary; i++) {
        add_up(&total, &l.summary[i]);
        leat__buf_free(&l.summary[i].tallies);
    }
    if (rc == 0) rc = finish(info, &total, records, err);
    leat__buf_free(&total.tallies);
    leat__free(l.summary);
    leat__tool_workers_free(&l.workers, n_threads);
    leat__targets_free(&targets);
    if (rc < 0) leat_info_free(info);
    return rc;
}

void leat_info_free(leat_info *info) {
    if (!info) return;
    if (info->memory) leat__arena_free(info->memory);
    leat__free(info->memory);
    *info = (leat_info){0};
}
