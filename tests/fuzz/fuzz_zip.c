/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a zip archive: its directory is walked, and then its members are opened as arrays and read.
 * The archive lies in memory and is opened by its descriptor's name.
 * tries: format/zip.* format/npy.* source/npy_file.* */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/zip.h"
#include "source/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool truth) {
    if (!truth) abort();
}

static void walk(const uint8_t *data, size_t size) {
    leat__zip zip;
    leat__zip_member m;
    leat_error err = {0};
    const size_t tail = LEAT_MIN(size, LEAT_ZIP_TAIL);
    if (leat__zip_open(&zip, data + size - tail, tail, size, &err) < 0) {
        require(err.message[0] != 0);
        return;
    }
    require(zip.directory <= size && zip.bytes <= size - zip.directory);
    size_t at = 0;
    int rc;
    while ((rc = leat__zip_next(&m, data + zip.directory, (size_t)zip.bytes, &at, &err)) > 0) {
        require(at <= zip.bytes);
        require((const uint8_t *)m.name >= data && (const uint8_t *)m.name + m.name_n <= data + size);
        uint64_t begin;
        if (m.local > size || size - m.local < LEAT_ZIP_LOCAL) continue;
        if (leat__zip_data(&m, data + m.local, size, &begin, &err) == 0)
            require(begin <= size && m.packed <= size - begin);
    }
    require(rc == 0 || err.message[0]);
}

static void open_arrays(const uint8_t *data, size_t size) {
    static int fd = -1;
    if (fd < 0) fd = memfd_create("archive", MFD_CLOEXEC);
    require(fd >= 0 && ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const char *text = path;
    leat__source *source = NULL;
    leat_error err = {0};
    if (leat__npy_arrays_open(&source, &text, 1, LEAT_LAYOUT_NONE, &err) < 0) {
        require(!source && err.message[0] && !strchr(err.message, '\n'));
        return;
    }
    leat__reader reader = {.bytes.kind = LEAT_MEM_WORKER};
    leat__value values[LEAT_FIELDS_MAX];
    uint64_t sum = 0;
    for (uint64_t i = 0; i < LEAT_MIN(source->n_samples, (uint64_t)50); i++) {
        const uint64_t sample = i % 2 ? source->n_samples - 1 - i : i;
        require(source->class->read(source, &reader, LEAT_MIN(sample, source->n_samples - 1), values, &err) ==
                0);
        for (int k = 0; k < source->n_fields; k++)
            for (size_t b = 0; b < values[k].bytes; b += 97) sum += values[k].data[b];
    }
    require(sum != UINT64_MAX);
    leat__reader_free(source, &reader);
    leat__source_free(&source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    walk(data, size);
    open_arrays(data, size);
    return 0;
}
