/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a whole archive: indexed as samples and read, in and out of order. Chance never makes a right checksum, so the
 * first byte of the input chooses how many headers are given one. What the index finds in one walk, reading must find again
 * sample by sample. The archive lies in memory and is opened by its descriptor's name.
 * tries: format/tar.* source/indexed/webdataset.c */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/rng.h"
#include "format/tar.h"
#include "source/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool truth) {
    if (!truth) abort();
}

typedef struct archive {
    const uint8_t *bytes;
    size_t n;
} archive;

static const uint8_t *look(void *user, uint64_t offset, size_t n, leat_error *err) {
    const archive *a = user;
    (void)err;
    require(offset <= a->n && n <= a->n - offset);
    return a->bytes + offset;
}

/* Gives headers right checksums, one after the other as a walk meets them. */
static void forge(uint8_t *bytes, size_t n, unsigned times) {
    archive a = {bytes, n};
    static leat__tar_member member;
    size_t at = 0;
    for (unsigned i = 0; i < times && n - at >= LEAT_TAR_BLOCK; i++) {
        unsigned sum = 8 * ' ';
        for (int k = 0; k < LEAT_TAR_BLOCK; k++) sum += k >= 148 && k < 156 ? 0 : bytes[at + (size_t)k];
        snprintf((char *)bytes + at + 148, 8, "%06o", sum & 0777777);
        const int rc = leat__tar_next(look, &a, at, n, &member, NULL);
        at += LEAT_TAR_BLOCK;
        if (rc == 1 && !member.problem) at = (size_t)member.next;
    }
}

/* Every member of a walk lies in the archive, behind the one before. */
static void walk(const uint8_t *bytes, size_t n) {
    archive a = {bytes, n};
    static leat__tar_member member;
    uint64_t at = 0;
    while (leat__tar_next(look, &a, at, n, &member, NULL) == 1 && !member.problem) {
        require(member.begin == at && member.next > at && member.next <= n);
        require(!member.regular || (member.data > at && member.data + member.size <= member.next));
        require(memchr(member.name, 0, sizeof member.name) != NULL);
        at = member.next;
    }
}

static void read_all(const char *path, const char *const *fields, int n_fields, uint64_t seed) {
    leat_error err;
    leat__source *source = NULL;
    const leat__open_options open = {.n_threads = 1, .no_side_files = true};
    const leat__webdataset_options options = {
        .patterns = &path, .n = 1, .fields = fields, .n_fields = n_fields};
    if (leat__webdataset_open(&source, &options, &open, &err) < 0) {
        require(err.message[0] && !strchr(err.message, '\n') && !source);
        return;
    }
    leat__reader reader = {.bytes.kind = LEAT_MEM_WORKER, .extra.kind = LEAT_MEM_WORKER};
    leat__value value[LEAT_FIELDS_MAX];
    volatile unsigned sum = 0;
    for (uint64_t i = 0; i < 2 * source->n_samples; i++) {
        const uint64_t sample = i < source->n_samples ? i : leat__mix64(seed + i) % source->n_samples;
        if (source->class->read(source, &reader, sample, value, &err) < 0) {
            require(err.message[0] && !strchr(err.message, '\n'));
            continue;
        }
        for (int k = 0; k < source->n_fields; k++)
            if (value[k].bytes) sum += value[k].data[0] + value[k].data[value[k].bytes - 1];
    }
    leat__reader_free(source, &reader);
    leat__source_free(&source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static int fd = -1;
    if (fd < 0) fd = memfd_create("archive", MFD_CLOEXEC);
    if (size < 1 || fd < 0) return 0;
    const size_t n = size - 1;
    uint8_t *bytes = malloc(n + 1);
    require(bytes);
    memcpy(bytes, data + 1, n);
    forge(bytes, n, data[0]);
    walk(bytes, n);
    require(ftruncate(fd, 0) == 0 && pwrite(fd, bytes, n, 0) == (ssize_t)n);
    free(bytes);
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    static const char *const fields[] = {"key=__key__", "label=cls,id", "text=txt,json"};
    read_all(path, NULL, 0, data[0]);
    read_all(path, fields, 3, data[0]);
    return 0;
}
