/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a whole shard: indexed and read record by record, in and out of order, and read once more
 * as a stream. Both must find the same records. Chance never makes a right checksum, so the first byte of
 * the input chooses how many headers and footers are given one. The shard lies in memory and is opened by
 * its descriptor's name.
 * tries: format/tfrecord.* source/shard*.[ch] source/indexed/indexed.* source/indexed/records.c */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/rng.h"
#include "format/tfrecord.h"
#include "source/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool truth) {
    if (!truth) abort();
}

/* Writes right checksums at places that the bytes themselves choose. */
static void forge(uint8_t *bytes, size_t n, unsigned times) {
    size_t at = 0;
    for (unsigned i = 0; i < times && at <= n && n - at >= LEAT_TFRECORD_OVERHEAD; i++) {
        const unsigned choice = bytes[at + 8];
        const size_t room = n - at - LEAT_TFRECORD_OVERHEAD;
        uint64_t length = leat__load_u64(bytes + at);
        if (choice & 1) length %= room + 20;
        leat__tfrecord_write_header(bytes + at, length);
        uint8_t *payload = bytes + at + LEAT_TFRECORD_HEADER;
        if (choice & 2 && length <= room)
            leat__tfrecord_write_footer(payload + length, payload, (size_t)length);
        at += choice & 4 && length <= room ? LEAT_TFRECORD_OVERHEAD + (size_t)length : 12 + choice / 16;
    }
}

typedef struct tally {
    uint64_t good, bad, digest;
} tally;

static void count(tally *t, int rc, const void *bytes, size_t n, const leat_error *err) {
    if (rc == 0) {
        t->good++;
        t->digest = leat__hash(bytes, n, t->digest);
    } else {
        t->bad++;
        require(err->message[0] && !strchr(err->message, '\n'));
    }
}

static tally by_index(const char *path, uint64_t seed) {
    tally t = {0};
    leat_error err;
    leat__source *source = NULL;
    const leat__open_options open = {.n_threads = 1, .no_side_files = true};
    if (leat__records_open(&source, &path, 1, &open, &err) < 0) {
        require(err.message[0] != 0 && !source);
        return t;
    }
    leat__reader reader = {.bytes.kind = LEAT_MEM_WORKER};
    leat__value value;
    for (uint64_t i = 0; i < source->n_samples; i++) {
        const int rc = source->class->read(source, &reader, i, &value, &err);
        count(&t, rc, value.data, value.bytes, &err);
        const uint64_t other =
            leat__mix64(seed + i) % source->n_samples; /* moves the window elsewhere now and then */
        if (other % 3 == 0) source->class->read(source, &reader, other, &value, &err);
    }
    leat__reader_free(source, &reader);
    leat__source_free(&source);
    return t;
}

static tally by_stream(const char *path) {
    tally t = {0};
    leat_error err;
    leat__shards *stream = NULL;
    leat__source *source = NULL;
    leat__buf record = {.kind = LEAT_MEM_WINDOW};
    require(leat__shards_open(&stream, &source, &path, 1, &err) == 0);
    for (int run = 0; run < 2; run++) {
        tally now = {0};
        int rc;
        while ((rc = leat__shards_next(stream, &record, &err)) != 1)
            count(&now, rc, record.data, record.size, &err);
        if (run) require(now.good == t.good && now.bad == t.bad && now.digest == t.digest);
        t = now;
        leat__shards_rewind(stream);
    }
    leat__shards_free(&stream);
    leat__source_free(&source);
    leat__buf_free(&record);
    return t;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static int fd = -1;
    if (fd < 0) fd = memfd_create("shard", MFD_CLOEXEC);
    if (size < 1 || fd < 0) return 0;
    const size_t n = size - 1;
    uint8_t *bytes = malloc(n + 1);
    require(bytes);
    memcpy(bytes, data + 1, n);
    forge(bytes, n, data[0]);
    require(ftruncate(fd, 0) == 0 && pwrite(fd, bytes, n, 0) == (ssize_t)n);
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const char *pattern = path;
    const int packed = leat__shards_wanted(&pattern, 1, &(leat__open_options){0}, NULL);
    const tally indexed = by_index(path, data[0]), streamed = by_stream(path);
    if (packed == 0) require(indexed.good == streamed.good && indexed.digest == streamed.digest);
    free(bytes);
    return 0;
}
