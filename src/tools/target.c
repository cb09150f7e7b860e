/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "format/tar.h"
#include "format/tfrecord.h"
#include "tools/tools.h"

int leat__tool_config_check(const leat_tool_config *config, leat_error *err) {
    return config ? LEAT_CHECK_RESERVED(leat_tool_config, config, err) : 0;
}

int leat__tool_threads(const leat_tool_config *config) {
    const int n = config && config->n_threads > 0 ? config->n_threads : leat__cpu_count();
    return LEAT_CLAMP(n, 1, LEAT_TOOL_THREADS_MAX);
}

leat__open_options leat__tool_open_options(const leat_tool_config *config) {
    leat__open_options options = {.n_threads = leat__tool_threads(config), .now_ns = leat__wall_ns()};
    if (!config) return options;
    options.cache_dir = config->cache_dir;
    options.no_side_files = config->no_side_files != 0;
    options.trust = config->trust_cache != 0;
    options.progress = config->progress;
    options.user = config->user;
    return options;
}

int leat__tool_progress(const leat_tool_config *config, const char *what, uint64_t done, uint64_t total,
                        leat_error *err) {
    if (!config || !config->progress || !config->progress(config->user, what, done, total)) return 0;
    return leat__fail(err, LEAT_ERR_CANCELLED, "%s was cancelled", what);
}

void leat__tool_warn(const leat_tool_config *config, const leat__source *source) {
    if (config && config->log && source->warning[0])
        config->log(config->user, LEAT_LOG_WARNING, source->warning);
}

/* ---------------------------------------------------------------------------------------- what is it */

/* What people keep data in that leat does not read; naming it saves a search. */
static const struct {
    uint16_t at, n;
    const char *magic, *what;
} foreign[] = {
    {0, 4, "PK\3\4", "a zip archive: unpack it first, or read an .npz with npy"},
    {0, 6, "7z\xbc\xaf\x27\x1c", "a 7z archive: unpack it first"},
    {0, 4, "Rar!", "a rar archive: unpack it first"},
    {0, 6, "\x93NUMPY", "a NumPy file, which a pipeline reads with npy"},
    {0, 8, "\x89HDF\r\n\x1a\n", "an HDF5 file, and no TFRecord file"},
    {0, 4, "PAR1", "a Parquet file, and no TFRecord file"},
    {0, 6, "ARROW1", "an Arrow file, and no TFRecord file"},
    {0, 4, "\x28\xb5\x2f\xfd", "compressed by zstd: TFRecords may be GZIP or ZLIB"},
    {0, 3, "BZh", "compressed by bzip2: TFRecords may be GZIP or ZLIB"},
    {0, 4, "II*\0", "a TIFF file: leat decodes JPEG, PNG, WebP, GIF and BMP"},
    {0, 4, "MM\0*", "a TIFF file: leat decodes JPEG, PNG, WebP, GIF and BMP"},
    {4, 8, "ftypavif", "an AVIF file: leat decodes JPEG, PNG, WebP, GIF and BMP"},
    {4, 7, "ftyphei", "a HEIF file: leat decodes JPEG, PNG, WebP, GIF and BMP"},
};

static void set_other(leat__target *target, int code, const char *why) {
    target->kind = LEAT_TARGET_OTHER;
    target->code = code;
    snprintf(target->why, sizeof target->why, "%s", why);
}

static void classify(leat__target *target, const uint8_t *head, size_t n) {
    const char *slash = strrchr(target->path, '/'), *name = slash ? slash + 1 : target->path;
    const bool named = strstr(name, ".tfrec") != NULL;
    uint64_t length;
    target->kind = LEAT_TARGET_RECORDS;
    target->certain = n >= LEAT_TFRECORD_HEADER && leat__tfrecord_length(head, &length);
    if (target->certain) return;
    if (leat__codec_detect(head, n) != LEAT_CODEC_UNKNOWN && !named) {
        target->kind = LEAT_TARGET_IMAGE;
        return;
    }
    if (n >= LEAT_TAR_BLOCK && leat__tar_is_header(head)) {
        target->kind = LEAT_TARGET_TAR;
        return;
    }
    target->compression = leat__compression_detect(head, n);
    if (target->compression != LEAT_COMPRESSION_NONE || named) return;
    if (n == 0) {
        set_other(target, LEAT_ERR_FORMAT, "the file is empty");
        return;
    }
    for (size_t i = 0; i < LEAT_COUNT(foreign); i++) {
        if (n < (size_t)foreign[i].at + foreign[i].n ||
            memcmp(head + foreign[i].at, foreign[i].magic, foreign[i].n) != 0)
            continue;
        set_other(target, LEAT_ERR_UNSUPPORTED, "");
        snprintf(target->why, sizeof target->why, "it is %s", foreign[i].what);
        return;
    }
    const char *dot = strrchr(name, '.');
    if (dot && (strcmp(dot, ".csv") == 0 || strcmp(dot, ".tsv") == 0)) {
        target->kind = LEAT_TARGET_LIST;
        return;
    }
    set_other(target, LEAT_ERR_FORMAT,
              "it is neither a TFRecord file nor a JPEG, PNG, WebP, GIF or BMP image");
}

void leat__tool_reason(char *out, size_t cap, const char *message, const char *path) {
    char shown[400]; /* as leat__printable shows it in the messages of sources */
    leat__printable(shown, sizeof shown, path, strlen(path));
    const char *at = strstr(message, shown);
    const char *after = at ? at + strlen(shown) : message;
    if (at == message) {
        after += *after == ':';
        after += *after == ' ';
    }
    const int before = at > message ? (int)(at - message) - 1 : 0;
    snprintf(out, cap, "%.*s%s", before, message, after);
}

static void look_at(leat__target *target) {
    uint8_t head[LEAT_TAR_BLOCK];
    leat__file file;
    leat__stat st;
    leat_error err;
    if (leat__file_stat(target->path, &st, NULL) == 0 && !st.is_file) {
        set_other(target, LEAT_ERR_UNSUPPORTED, "it is not a regular file");
        return;
    }
    int rc = leat__file_open(&file, target->path, &err);
    const size_t n = rc < 0 ? 0 : (size_t)LEAT_MIN(file.size, (uint64_t)sizeof head);
    if (rc == 0) {
        target->bytes = file.size;
        rc = leat__file_read_at(&file, head, n, 0, target->path, &err);
        leat__file_close(&file);
    }
    if (rc == 0) {
        classify(target, head, n);
    } else {
        set_other(target, rc, "");
        leat__tool_reason(target->why, sizeof target->why, err.message, target->path);
    }
}

/* ----------------------------------------------------------------------------------------- the list */

static leat__target *add_target(leat__targets *targets, const char *path, leat_error *err) {
    if (targets->n == targets->cap) {
        const size_t cap = targets->cap ? targets->cap * 2 : 16;
        leat__target *grown = leat__alloc(LEAT_MEM_TOOL, cap * sizeof *grown);
        if (!grown) {
            leat__fail_memory(err, cap * sizeof *grown, "file names");
            return NULL;
        }
        if (targets->n) memcpy(grown, targets->at, targets->n * sizeof *grown);
        leat__free(targets->at);
        targets->at = grown;
        targets->cap = cap;
    }
    leat__target *target = &targets->at[targets->n];
    *target = (leat__target){.path = leat__strdup(LEAT_MEM_TOOL, path)};
    if (!target->path) {
        leat__fail_memory(err, strlen(path), "file names");
        return NULL;
    }
    targets->n++;
    return target;
}

static int add_file(leat__targets *targets, const char *path, leat_error *err) {
    leat__target *target = add_target(targets, path, err);
    if (!target) return LEAT_ERR_MEMORY;
    look_at(target);
    targets->bytes += target->bytes;
    return 0;
}

/* A file, and if it is a table, its source: what is wrong with one is told like any other thing that cannot be used. */
static int add_file_or_list(leat__targets *targets, const char *path, const leat__open_options *options,
                            leat_error *err) {
    LEAT_TRY(add_file(targets, path, err));
    leat__target *target = &targets->at[targets->n - 1];
    if (target->kind != LEAT_TARGET_LIST) return 0;
    const leat__list_options list = {.path = path,
                                     .column = "",
                                     .label = "",
                                     .weight = "",
                                     .root = "",
                                     .separator = path[strlen(path) - 3] == 't' ? '\t' : ','};
    leat_error why;
    const int rc = leat__list_open(&target->source, &list, options, &why);
    if (rc == LEAT_ERR_CANCELLED || rc == LEAT_ERR_MEMORY) {
        if (err) *err = why;
        return rc;
    }
    if (rc == 0) return 0;
    set_other(target, rc, "");
    leat__tool_reason(target->why, sizeof target->why, why.message, path);
    return 0;
}

typedef struct record_files {
    const char *folder;
    leat__targets *targets;
} record_files;

static int take_record_file(void *user, const char *name, char kind, leat_error *err) {
    const record_files *files = user;
    if (name[0] == '.' || kind == 'd' || !strstr(name, ".tfrec")) return 0;
    char path[PATH_MAX];
    const size_t n = strlen(files->folder);
    const char *slash = n > 0 && files->folder[n - 1] == '/' ? "" : "/";
    if (snprintf(path, sizeof path, "%s%s%s", files->folder, slash, name) >= (int)sizeof path) return 0;
    return add_file(files->targets, path, err);
}

static int by_path(const void *a, const void *b) {
    return strcmp(((const leat__target *)a)->path, ((const leat__target *)b)->path);
}

static int add_folder(leat__targets *targets, const char *path, int labels, const leat__open_options *options,
                      leat_error *err) {
    const leat__folder_options folder = {.path = path, .labels = labels};
    leat__source *source;
    const int rc = leat__folder_open(&source, &folder, options, err);
    if (rc == LEAT_ERR_NOT_FOUND) { /* no images: perhaps it holds shards */
        const size_t before = targets->n;
        record_files files = {.folder = path, .targets = targets};
        leat_error ignored;
        LEAT_TRY(leat__dir_list(path, take_record_file, &files, &ignored) < 0 ? rc : 0);
        if (targets->n == before) return rc;
        qsort(targets->at + before, targets->n - before, sizeof *targets->at, by_path);
        return 0;
    }
    if (rc < 0) return rc;
    leat__target *target = add_target(targets, path, err);
    if (!target) {
        leat__source_free(&source);
        return LEAT_ERR_MEMORY;
    }
    target->kind = LEAT_TARGET_FOLDER;
    target->source = source;
    for (uint64_t i = 0; i < source->n_samples; i++) target->bytes += leat__folder_size(source, i);
    targets->bytes += target->bytes;
    return 0;
}

static int add_path(leat__targets *targets, const char *path, int labels, const leat__open_options *options,
                    leat_error *err) {
    leat__stat st;
    const int rc = leat__file_stat(path, &st, err);
    if (rc == 0)
        return st.is_dir ? add_folder(targets, path, labels, options, err)
                         : add_file_or_list(targets, path, options, err);
    if (!strpbrk(path, "*?[{")) return rc;
    leat__paths found;
    LEAT_TRY(leat__glob(&found, &path, 1, err));
    int all = 0;
    for (size_t i = 0; i < found.n && all == 0; i++) {
        if (leat__file_stat(found.path[i], &st, NULL) == 0 && st.is_dir)
            all = add_folder(targets, found.path[i], labels, options, err);
        else all = add_file_or_list(targets, found.path[i], options, err);
    }
    leat__paths_free(&found);
    return all;
}

int leat__targets_open(leat__targets *out, const char *const *paths, int n, int labels,
                       const leat__open_options *options, leat_error *err) {
    *out = (leat__targets){0};
    for (int i = 0; i < n; i++) {
        const int rc = paths[i] && *paths[i] ? add_path(out, paths[i], labels, options, err)
                                             : leat__fail(err, LEAT_ERR_ARGUMENT, "the path is empty");
        if (rc < 0) {
            leat__targets_free(out);
            return rc;
        }
    }
    return 0;
}

void leat__targets_free(leat__targets *targets) {
    for (size_t i = 0; i < targets->n; i++) {
        leat__source_free(&targets->at[i].source);
        leat__free(targets->at[i].path);
    }
    leat__free(targets->at);
    *targets = (leat__targets){0};
}

int leat__target_refuse(const leat__target *target, const char *wanted, leat_error *err) {
    static const char *const words[] = {"a folder of images", "a TFRecord file", "an image",
                                        "a list of files", "a tar archive"};
    char shown[500];
    leat__printable(shown, sizeof shown, target->path, strlen(target->path));
    if (target->kind == LEAT_TARGET_OTHER)
        return leat__fail(err, target->code, "%s cannot be used: %s", shown, target->why);
    const bool packed = target->kind == LEAT_TARGET_RECORDS && target->compression != LEAT_COMPRESSION_NONE;
    return leat__fail(err, LEAT_ERR_UNSUPPORTED, "%s is %s: %s", shown,
                      packed ? "a compressed TFRecord file" : words[target->kind], wanted);
}

/* ------------------------------------------------------------------------------------ images inside */

bool leat__image_like(const uint8_t *bytes, size_t n) {
    const leat__codec codec = leat__codec_detect(bytes, n);
    if (codec != LEAT_CODEC_BMP) return codec != LEAT_CODEC_UNKNOWN;
    static const uint32_t header_sizes[] = {12, 16, 40, 52, 56, 64, 108, 124};
    if (n < 26) return false;
    for (size_t i = 0; i < LEAT_COUNT(header_sizes); i++)
        if (leat__load_u32(bytes + 14) == header_sizes[i]) return true;
    return false;
}

void leat__image_words(const leat__picture_info *info, char *text, size_t cap) {
    static const char *const channels[] = {"", " gray", " gray+alpha", "", " rgba"};
    const int c = LEAT_CLAMP(info->stored_channels, 0, 4);
    const bool cmyk = info->codec == LEAT_CODEC_JPEG && c == 4;
    snprintf(text, cap, "%s%s%s%s", leat__codec_name(info->codec), cmyk ? " cmyk" : channels[c],
             info->bits == 16 ? " 16-bit" : "",
             info->progressive ? info->codec == LEAT_CODEC_JPEG ? " progressive" : " interlaced" : "");
}

leat__tool_worker *leat__tool_workers_new(int n, leat_error *err) {
    leat__tool_worker *workers = leat__alloc(LEAT_MEM_TOOL, (size_t)n * sizeof *workers);
    if (!workers) {
        leat__fail_memory(err, (size_t)n * sizeof *workers, "workers");
        return NULL;
    }
    for (int i = 0; i < n; i++) {
        leat__tool_worker *worker = &workers[i];
        worker->reader.bytes.kind = worker->reader.extra.kind = LEAT_MEM_TOOL;
        worker->pixels.kind = worker->spans.kind = LEAT_MEM_TOOL;
        worker->decoder = leat__decoder_new(err);
        if (!worker->decoder) {
            leat__tool_workers_free(&workers, n);
            return NULL;
        }
    }
    return workers;
}

void leat__tool_readers_free(leat__tool_worker *workers, int n, const leat__source *source) {
    for (int i = 0; i < n; i++) {
        leat__reader_free(source, &workers[i].reader);
        workers[i].reader = (leat__reader){.bytes.kind = LEAT_MEM_TOOL, .extra.kind = LEAT_MEM_TOOL};
    }
}

void leat__tool_workers_free(leat__tool_worker **handle, int n) {
    leat__tool_worker *workers = *handle;
    if (!workers) return;
    leat__tool_readers_free(workers, n, NULL);
    for (int i = 0; i < n; i++) {
        leat__decoder_free(&workers[i].decoder);
        leat__buf_free(&workers[i].pixels);
        leat__buf_free(&workers[i].spans);
    }
    leat__free(workers);
    *handle = NULL;
}
