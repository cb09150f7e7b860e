/* SPDX-License-Identifier: Apache-2.0 */
/* A cache on disk: what lies in its directory, and what other processes add to it while this one runs.
 *
 * Complete segments are read by their table. A segment that another process is writing is followed: its entries are there from
 * the beginning up to the first place that has no head, since a piece of entries gets its first head when all the rest is written. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "cache/cache_disk.h"

static const uint64_t look_again_ns = 500000000;

/* The table of a complete segment, as its end tells. */
static bool read_table(const leat__file *file, const char *path, const uint8_t key[LEAT_SEGMENT_KEY],
                       leat__buf *table) {
    uint8_t header[LEAT_SEGMENT_HEADER], trailer[LEAT_SEGMENT_TRAILER];
    uint64_t begin, n;
    if (file->size < sizeof header + sizeof trailer ||
        leat__file_read_at(file, header, sizeof header, 0, path, NULL) < 0 ||
        !leat__segment_check_header(header, key) ||
        leat__file_read_at(file, trailer, sizeof trailer, file->size - sizeof trailer, path, NULL) < 0 ||
        !leat__segment_read_trailer(trailer, file->size, &begin, &n))
        return false;
    const size_t bytes = (size_t)n * LEAT_SEGMENT_PLACE;
    if (!leat__buf_reserve(table, bytes) ||
        leat__file_read_at(file, table->data, bytes, begin, path, NULL) < 0 ||
        !leat__segment_check_table(trailer, table->data, begin, n))
        return false;
    table->size = bytes;
    return true;
}

/* Whether others' segments may be used; said once if they may not. */
static bool may_use(leat__cache *cache, const leat__file *file, const char *path) {
    if (cache->options.trust || leat__file_trusted(file, LEAT_NO_OWNER)) return true;
    leat__cache_say(cache, "cache: %.600s " LEAT_NOT_TRUSTED, path);
    return false;
}

static void load_segment(leat__cache *cache, uint32_t number) {
    leat__disk *disk = cache->disk;
    char path[LEAT_DISK_PATH];
    leat__disk_path(disk, number, true, path);
    leat__file file;
    leat__buf table = {.kind = LEAT_MEM_INDEX};
    uint64_t end = 0;
    int index;
    leat__disk_segment *segment = NULL;
    if (leat__file_open(&file, path, NULL) < 0) return;
    if (!may_use(cache, &file, path)) {
        leat__file_close(&file);
        return;
    }
    /* Without a good table the entries themselves tell. */
    const bool good = read_table(&file, path, disk->key, &table) ||
                      leat__disk_walk(&file, path, disk->key, false, &table, &end) == 0;
    if (good && (segment = leat__disk_segment_add(disk, number, &index)) != NULL) {
        if (index < LEAT_DISK_KEEP_OPEN) segment->file = file;
        leat__disk_publish(cache, index, table.data, table.size / LEAT_SEGMENT_PLACE);
        atomic_fetch_add(&cache->bytes, file.size);
    }
    if (!segment || segment->file.fd < 0) leat__file_close(&file);
    leat__buf_free(&table);
}

/* --------------------------------------------------------------------------------- segments that grow */

/* Takes what has been added since the last look. index: in the list of segments, -1 = it is not there yet; entries behind *seen. */
static void follow(leat__cache *cache, uint32_t number, bool whole, int *index, uint64_t *seen) {
    leat__disk *disk = cache->disk;
    char path[LEAT_DISK_PATH];
    leat__file file;
    leat__buf table = {.kind = LEAT_MEM_INDEX};
    uint64_t end = *seen;
    leat__disk_path(disk, number, whole, path);
    if (leat__file_open(&file, path, NULL) < 0) return; /* it has just got its final name, or is gone */
    const bool known = *index >= 0;
    if ((known || may_use(cache, &file, path)) &&
        leat__disk_walk(&file, path, disk->key, false, &table, &end) == 0 && table.size > 0 &&
        (known || leat__disk_segment_add(disk, number, index))) {
        leat__disk_publish(cache, *index, table.data, table.size / LEAT_SEGMENT_PLACE);
        atomic_fetch_add(&cache->bytes, end - *seen);
        *seen = end;
    }
    leat__file_close(&file);
    leat__buf_free(&table);
}

static bool is_open(const leat__disk *disk, uint32_t number) {
    const uint32_t *open = (const uint32_t *)disk->open.data;
    for (size_t i = 0; i < disk->open.size / sizeof *open; i++)
        if (open[i] == number) return true;
    return false;
}

static void follow_all(leat__cache *cache) {
    leat__disk *disk = cache->disk;
    const uint32_t *open = (const uint32_t *)disk->open.data;
    for (int i = 0; i < disk->n_segments; i++) {
        leat__disk_segment *segment = disk->segment[i];
        if (!segment->followed) continue;
        const bool grows = is_open(disk, segment->number);
        follow(cache, segment->number, !grows, &i, &segment->end);
        segment->followed = grows;
    }
    for (size_t i = 0; i < disk->open.size / sizeof *open; i++) {
        uint64_t seen = 0;
        int index = -1;
        if (disk->known[open[i] / 8] >> open[i] % 8 & 1)
            continue; /* followed already, or this process writes it */
        follow(cache, open[i], false, &index, &seen);
        if (index < 0) continue;
        disk->known[open[i] / 8] |= (uint8_t)(1u << open[i] % 8);
        disk->segment[index]->followed = true;
        disk->segment[index]->end = seen;
    }
}

/* --------------------------------------------------------------------------------------------- look */

typedef struct listing {
    leat__disk *disk;
    leat__buf numbers; /* of uint32_t, complete ones that are new */
} listing;

bool leat__disk_read_name(const char *name, uint32_t *number, bool *whole) {
    unsigned found;
    char ending[16];
    if (sscanf(name, "segment-%6u.%15s", &found, ending) != 2 || found >= LEAT_DISK_NUMBERS) return false;
    *number = found;
    *whole = strcmp(ending, "leatseg") == 0;
    return *whole || strcmp(ending, "open") == 0;
}

static int take_name(void *user, const char *name, char kind, leat_error *err) {
    listing *list = user;
    leat__disk *disk = list->disk;
    uint32_t number;
    bool whole;
    (void)kind;
    if (!leat__disk_read_name(name, &number, &whole)) return 0;
    disk->number_max = LEAT_MAX(disk->number_max, number);
    if (whole && disk->known[number / 8] >> number % 8 & 1) return 0;
    if (whole) disk->known[number / 8] |= (uint8_t)(1u << number % 8);
    return leat__buf_append(whole ? &list->numbers : &disk->open, &number, sizeof number)
               ? 0
               : leat__fail_memory(err, 4096, "a cache");
}

static int by_number(const void *a, const void *b) {
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

int leat__disk_look(leat__cache *cache, leat_error *err) {
    listing list = {.disk = cache->disk, .numbers.kind = LEAT_MEM_INDEX};
    cache->disk->open.size = 0;
    atomic_store(&cache->disk->look_ns, leat__now_ns() + look_again_ns);
    const int rc = leat__dir_list(cache->disk->folder, take_name, &list, err);
    uint32_t *number = (uint32_t *)list.numbers.data;
    const size_t n = list.numbers.size / sizeof *number;
    /* In the order of writing: of two entries of a sample the later one counts. */
    if (n) qsort(number, n, sizeof *number, by_number);
    for (size_t i = 0; i < n; i++) load_segment(cache, number[i]);
    follow_all(cache);
    leat__buf_free(&list.numbers);
    return rc;
}

void leat__disk_refresh(leat__cache *cache) {
    leat__disk *disk = cache->disk;
    uint_least64_t due = atomic_load_explicit(&disk->look_ns, memory_order_relaxed);
    const uint64_t now = leat__now_ns();
    if (due == 0 || now < due || !atomic_compare_exchange_strong(&disk->look_ns, &due, now + look_again_ns))
        return;
    leat__lock(&cache->mutex);
    leat__disk_look(cache, NULL);
    leat__unlock(&cache->mutex);
}

/* -------------------------------------------------------------------------------------------- bytes */

typedef struct weighing {
    const leat__disk *disk;
    uint64_t bytes;
} weighing;

static int weigh(void *user, const char *name, char kind, leat_error *err) {
    weighing *self = user;
    char path[LEAT_DISK_PATH];
    uint32_t number;
    bool whole;
    leat__stat st;
    (void)kind, (void)err;
    if (!leat__disk_read_name(name, &number, &whole)) return 0;
    for (int i = whole; i < 2; i++) { /* it may just have got its final name */
        leat__disk_path(self->disk, number, i, path);
        if (leat__file_stat(path, &st, NULL) < 0) continue;
        self->bytes += st.size;
        break;
    }
    return 0;
}

uint64_t leat__disk_weigh(const leat__disk *disk) {
    weighing self = {.disk = disk};
    leat_error ignored;
    leat__dir_list(disk->folder, weigh, &self, &ignored);
    return self.bytes;
}
