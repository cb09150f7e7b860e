/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a side file beside a folder or a shard, as they are or with a right header and with the
 * facts that make an index look fresh. Whatever it says, what is opened stays within the folder and the
 * shard.
 * tries: format/kept/sidefile.* source/side.* source/folder.* source/indexed/indexed.* */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "format/kept/sidefile.h"
#include "format/tfrecord.h"
#include "source/folder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char root[100];
static leat__stat top, sub, shard_facts;

static void require(bool truth) {
    if (!truth) abort();
}

static void clean_up(void) {
    static const char *const names[] = {"/photos/a/1.png",  "/photos/a",       "/photos", "/shard",
                                        "/.photos.leatidx", "/.shard.leatidx", ""};
    for (size_t i = 0; i < LEAT_COUNT(names); i++) {
        char path[200];
        snprintf(path, sizeof path, "%s%s", root, names[i]);
        if (unlink(path) != 0) rmdir(path);
    }
}

static void put(const char *name, const void *bytes, size_t n) {
    char path[200];
    snprintf(path, sizeof path, "%s/%s", root, name);
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    require(fd >= 0 && write(fd, bytes, n) == (ssize_t)n && close(fd) == 0);
}

static leat__stat look_at(const char *name) {
    char path[200];
    leat__stat st;
    snprintf(path, sizeof path, "%s/%s", root, name);
    require(leat__file_stat(path, &st, NULL) == 0);
    return st;
}

static void set_up(void) {
    char path[200];
    snprintf(root, sizeof root, "%s/leat-fuzz-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    require(mkdtemp(root) != NULL);
    atexit(clean_up);
    snprintf(path, sizeof path, "%s/photos", root);
    require(mkdir(path, 0777) == 0);
    snprintf(path, sizeof path, "%s/photos/a", root);
    require(mkdir(path, 0777) == 0);
    put("photos/a/1.png", "12345", 5);
    uint8_t shard[5 * 26];
    for (int i = 0; i < 5; i++) {
        uint8_t *at = shard + i * 26;
        leat__tfrecord_write_header(at, 10);
        memset(at + 12, i, 10);
        leat__tfrecord_write_footer(at + 22, at + 12, 10);
    }
    put("shard", shard, sizeof shard);
    sub = look_at("photos/a");
    top = look_at("photos");
    shard_facts = look_at("shard");
}

/* The header of a folder's index: eight numbers, then texts, folders and files. Sizes come from the input,
 * what makes it fresh does not. */
static void refresh_folder(uint8_t *payload, size_t n) {
    if (n < 64) return;
    uint64_t facts[8];
    memcpy(facts, payload, sizeof facts);
    const size_t rest = n - sizeof facts;
    facts[0] = 2;
    facts[1] = 0;
    facts[2] = INT64_MAX; /* long after the last change */
    facts[5] = facts[5] % (rest / sizeof(leat__folder_dir) + 1) * sizeof(leat__folder_dir);
    facts[6] = facts[6] % ((rest - facts[5]) / sizeof(leat__folder_file) + 1) * sizeof(leat__folder_file);
    facts[4] = rest - facts[5] - facts[6];
    memcpy(payload, facts, sizeof facts);
    for (uint64_t i = 0; i < facts[5] / sizeof(leat__folder_dir); i++) {
        leat__folder_dir dir;
        uint8_t *at = payload + sizeof facts + facts[4] + i * sizeof dir;
        memcpy(&dir, at, sizeof dir);
        const leat__stat *st = i ? &sub : &top;
        dir.mtime_ns = st->mtime_ns, dir.ctime_ns = st->ctime_ns, dir.inode = st->inode;
        memcpy(at, &dir, sizeof dir);
    }
}

static void open_folder(const leat__open_options *open) {
    char path[200];
    snprintf(path, sizeof path, "%s/photos", root);
    leat__source *source = NULL;
    leat_error err;
    for (int labels = LEAT_LABELS_AUTO; labels <= LEAT_LABELS_NONE; labels++) {
        const leat__folder_options options = {.path = path, .labels = labels};
        if (leat__folder_open(&source, &options, open, &err) < 0) continue;
        leat__reader reader = {.bytes.kind = LEAT_MEM_WORKER};
        for (uint64_t i = 0; i < LEAT_MIN(source->n_samples, (uint64_t)20); i++) {
            char text[4200];
            int64_t label;
            leat__value value[2];
            leat__folder_path(source, i, text, sizeof text, &label);
            require(label >= -1 && label < (int64_t)LEAT_MAX(source->n_classes, (size_t)1));
            require(text[0] != '/' && !strstr(text, "../") && strcmp(text, "..") != 0);
            if (source->class->read(source, &reader, i, value, &err) == 0) require(value[0].bytes == 5);
        }
        leat__reader_free(source, &reader);
        leat__source_free(&source);
    }
}

static void open_shard(const leat__open_options *open) {
    char path[200];
    snprintf(path, sizeof path, "%s/shard", root);
    const char *pattern = path;
    leat__source *source = NULL;
    leat_error err;
    require(leat__records_open(&source, &pattern, 1, open, &err) == 0);
    leat__reader reader = {.bytes.kind = LEAT_MEM_WORKER};
    int good = 0;
    for (uint64_t i = 0; i < source->n_samples; i++) {
        leat__value value;
        if (source->class->read(source, &reader, i, &value, &err) == 0) require(value.bytes == 10), good++;
    }
    require(good <= 5);
    leat__reader_free(source, &reader);
    leat__source_free(&source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!root[0]) set_up();
    if (size < 1) return 0;
    const int choice = data[0], kind = choice & 1 ? LEAT_SIDEFILE_FOLDER : LEAT_SIDEFILE_RECORDS;
    const size_t n = size - 1;
    uint8_t *file = malloc(LEAT_SIDEFILE_HEADER + n + 32), *payload = file + LEAT_SIDEFILE_HEADER;
    require(file);
    memcpy(payload, data + 1, n);
    if (choice & 2) {
        if (choice & 4 && kind == LEAT_SIDEFILE_FOLDER) refresh_folder(payload, n);
        if (choice & 4 && kind == LEAT_SIDEFILE_RECORDS && n >= 48) {
            const uint64_t facts[6] = {2, shard_facts.size, (uint64_t)shard_facts.mtime_ns,
                                       (uint64_t)shard_facts.ctime_ns, shard_facts.inode};
            memcpy(payload, facts, sizeof facts);
        }
        leat__sidefile_write_header(file, kind, payload, n);
        put(kind == LEAT_SIDEFILE_FOLDER ? ".photos.leatidx" : ".shard.leatidx", file,
            LEAT_SIDEFILE_HEADER + n);
    } else put(kind == LEAT_SIDEFILE_FOLDER ? ".photos.leatidx" : ".shard.leatidx", payload, n);
    free(file);
    /* A place where nothing can be kept: what is made anew stays in memory. */
    const leat__open_options open = {.n_threads = 1, .now_ns = leat__wall_ns(), .cache_dir = "/proc/leat"};
    if (kind == LEAT_SIDEFILE_FOLDER) open_folder(&open);
    else open_shard(&open);
    return 0;
}
