/* SPDX-License-Identifier: Apache-2.0 */
/* A cache on disk: finding what is there, and reading it. Any program can have written these files, so whatever does not check
 * out in every respect is not there, and its sample is made anew. */
#include "cache/cache_disk.h"

#include <stdio.h>

#include "base/hash.h"

/* Comparing a checksum takes half as long as reading what the system has in memory. So an entry is checked when it is
 * first read, afterwards once in so many reads, and always as soon as anything was found damaged. */
enum { CHECK_EVERY = 16 };

void leat__disk_path(const leat__disk *disk, uint32_t number, bool whole, char out[LEAT_DISK_PATH]) {
    snprintf(out, LEAT_DISK_PATH, "%s/segment-%06u.%s", disk->folder, number, whole ? "leatseg" : "open");
}

leat__disk_segment *leat__disk_segment_add(leat__disk *disk, uint32_t number, int *index) {
    if (disk->n_segments == LEAT_DISK_SEGMENTS) return NULL;
    leat__disk_segment *segment = leat__alloc(LEAT_MEM_INDEX, sizeof *segment);
    if (!segment) return NULL;
    segment->number = number;
    segment->file.fd = segment->writer.fd = -1;
    segment->table.kind = LEAT_MEM_INDEX;
    *index = disk->n_segments;
    disk->segment[disk->n_segments++] = segment;
    return segment;
}

/* ---------------------------------------------------------------------------------- what is there */

int leat__disk_walk(const leat__file *file, const char *path, const uint8_t key[LEAT_SEGMENT_KEY],
                    bool verify, leat__buf *table, uint64_t *end) {
    uint8_t header[LEAT_SEGMENT_HEADER], head[LEAT_SEGMENT_HEAD], row[LEAT_SEGMENT_PLACE];
    leat__buf payload = {.kind = LEAT_MEM_INDEX};
    uint64_t at = LEAT_MAX(*end, (uint64_t)LEAT_SEGMENT_HEADER);
    table->size = 0;
    if (file->size < at || leat__file_read_at(file, header, sizeof header, 0, path, NULL) < 0 ||
        !leat__segment_check_header(header, key))
        return LEAT_ERR_FORMAT;
    while (file->size - at >= LEAT_SEGMENT_HEAD && at / LEAT_SEGMENT_UNIT <= UINT32_MAX) {
        leat__segment_entry entry;
        if (leat__file_read_at(file, head, sizeof head, at, path, NULL) < 0 ||
            !leat__segment_read_head(head, file->size - at, &entry) || entry.sample > UINT32_MAX)
            break;
        if (verify &&
            (!leat__buf_reserve(&payload, (size_t)entry.length) ||
             leat__file_read_at(file, payload.data, (size_t)entry.length, at + sizeof head, path, NULL) < 0 ||
             leat__segment_checksum(entry.sample, payload.data, (size_t)entry.length) != entry.checksum))
            break;
        leat__segment_write_place(row, &(leat__segment_place){.sample = (uint32_t)entry.sample,
                                                              .unit = (uint32_t)(at / LEAT_SEGMENT_UNIT),
                                                              .length = (uint32_t)entry.length});
        if (!leat__buf_append(table, row, sizeof row)) break;
        at += leat__segment_stride(entry.length);
    }
    *end = at;
    leat__buf_free(&payload);
    return 0;
}

void leat__disk_publish(leat__cache *cache, int index, const uint8_t *table, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        const leat__segment_place place = leat__segment_read_place(table, i);
        if (place.length < LEAT_CACHE_CHECKED && leat__cache_chunk_of(cache, place.sample, true))
            leat__cache_publish(cache, place.sample, (uint64_t)(index + 1) << 32 | place.unit, place.length);
    }
}

bool leat__disk_writes(const leat__cache *cache) {
    return atomic_load_explicit(&cache->disk->mode, memory_order_relaxed) != LEAT_DISK_STOPPED;
}

/* -------------------------------------------------------------------------------------------- open */

static int count_other(void *user, const char *name, char kind, leat_error *err) {
    leat__disk *disk = user;
    (void)err;
    const char *slash = strrchr(disk->folder, '/');
    if (kind != 'f' && strlen(name) == 2 * LEAT_SEGMENT_KEY &&
        strspn(name, "0123456789abcdef") == 2 * LEAT_SEGMENT_KEY && strcmp(name, slash + 1) != 0)
        disk->n_others++;
    return 0;
}

/* Whether the directory is what its name says. */
static bool about_ok(const leat__cache *cache) {
    char path[LEAT_DISK_PATH];
    leat__buf text = {.kind = LEAT_MEM_PLAN};
    snprintf(path, sizeof path, "%s/about.txt", cache->disk->folder);
    const size_t n = strlen(cache->options.about);
    leat__stat st;
    const bool there = leat__file_stat(path, &st, NULL) == 0;
    const bool same = leat__file_read_all(path, &text, (size_t)1 << 24, NULL) == 0 && text.size == n &&
                      memcmp(text.data, cache->options.about, n) == 0;
    leat__buf_free(&text);
    return same || !there;
}

int leat__disk_open(leat__cache *cache, leat_error *err) {
    const char *path = cache->options.plan->path, *about = cache->options.about;
    leat__disk *disk = leat__alloc(LEAT_MEM_INDEX, sizeof *disk);
    const size_t cap = strlen(path) + 2 * LEAT_SEGMENT_KEY + 2;
    if (disk) disk->folder = leat__alloc(LEAT_MEM_PLAN, cap);
    cache->disk = disk;
    if (!disk || !disk->folder) return leat__fail_memory(err, sizeof *disk, "a cache");
    disk->lock.fd = -1;
    disk->open.kind = LEAT_MEM_INDEX;
    if (cap + 64 > LEAT_DISK_PATH)
        return leat__fail(err, LEAT_ERR_LIMIT, "cache: the path of the directory has more than %d bytes",
                          LEAT_DISK_PATH - 100);
    const XXH128_hash_t h = XXH3_128bits(about, strlen(about));
    leat__store_u64(disk->key, h.high64);
    leat__store_u64(disk->key + 8, h.low64);
    snprintf(disk->folder, cap, "%s/%016" PRIx64 "%016" PRIx64, path, (uint64_t)h.high64, (uint64_t)h.low64);
    leat__dir_list(path, count_other, disk, NULL);
    if (!about_ok(cache)) {
        snprintf(disk->trouble, sizeof disk->trouble, "not used: about.txt there tells of something else");
        leat__cache_say(cache,
                        "cache: %.600s is not used: about.txt there tells of something else: remove it",
                        disk->folder);
        atomic_store(&disk->mode, LEAT_DISK_STOPPED);
        return 0;
    }
    leat_error ignored; /* that it is not there is no trouble, and what else is the first write will tell */
    leat__disk_recover(cache);
    if (leat__disk_look(cache, &ignored) == 0) leat__temporaries_remove(disk->folder);
    disk->n_found = atomic_load(&cache->n_kept);
    disk->found_bytes = leat__cache_bytes(cache);
    return 0;
}

void leat__disk_close(leat__cache *cache) {
    leat__disk *disk = cache->disk;
    if (!disk) return;
    leat__disk_finish(cache);
    for (int i = 0; i < disk->n_segments; i++) {
        leat__file_close(&disk->segment[i]->file);
        leat__buf_free(&disk->segment[i]->table);
        leat__free(disk->segment[i]);
    }
    leat__buf_free(&disk->open);
    leat__free(disk->folder);
    leat__free(disk);
    cache->disk = NULL;
}

void leat__disk_describe(leat__cache *cache, char *text, size_t cap) {
    const leat__disk *disk = cache->disk;
    char shown[500];
    leat__printable(shown, sizeof shown, disk->folder, strlen(disk->folder));
    size_t n = (size_t)snprintf(text, cap, "on disk in %s: ", shown);
    const uint64_t kept = disk->n_found;
    if (*disk->trouble) n += (size_t)snprintf(text + n, n < cap ? cap - n : 0, "%s", disk->trouble);
    else if (cache->options.n_samples == UINT64_MAX)
        n += (size_t)snprintf(text + n, n < cap ? cap - n : 0, "%" PRIu64 " samples are there", kept);
    else
        n += (size_t)snprintf(text + n, n < cap ? cap - n : 0, "%" PRIu64 " of %" PRIu64 " samples are there",
                              kept, cache->options.n_samples);
    if (kept && n < cap)
        n += (size_t)snprintf(text + n, cap - n, ", %.1f MB", (double)disk->found_bytes / 1e6);
    if (disk->n_others && n < cap)
        snprintf(text + n, cap - n, "; %d of other data, pipelines or versions beside it", disk->n_others);
}

/* -------------------------------------------------------------------------------------------- take */

static const leat__file *segment_file(const leat__disk *disk, const leat__disk_segment *segment,
                                      leat__cache_hand *hand) {
    if (segment->file.fd > 0) return &segment->file;
    const uint32_t i = segment->number % LEAT_HAND_FILES;
    leat__file *file = &hand->open[i].file;
    if (file->fd > 0 && hand->open[i].number == segment->number) return file;
    char path[LEAT_DISK_PATH];
    leat__file_close(file);
    hand->open[i].number = segment->number;
    for (int whole = 1; whole >= 0; whole--) {
        leat__disk_path(disk, segment->number, whole, path);
        if (leat__file_open(file, path, NULL) == 0) return file;
    }
    return NULL;
}

/* Reads head and bundle, the bundle to a multiple of 64; its address, or NULL. */
static const uint8_t *read_whole(const leat__disk *disk, const leat__file *file, leat__cache_hand *hand,
                                 uint64_t at, uint64_t sample, uint32_t length, bool check) {
    leat__segment_entry entry;
    const size_t n = (size_t)LEAT_SEGMENT_HEAD + length;
    if (!leat__buf_reserve(&hand->bytes, n + LEAT_SEGMENT_HEAD)) return NULL;
    uint8_t *head = hand->bytes.data + LEAT_CACHE_LINE - LEAT_SEGMENT_HEAD,
            *bundle = head + LEAT_SEGMENT_HEAD;
    if (leat__file_read_at(file, head, n, at, disk->folder, NULL) < 0 ||
        !leat__segment_read_head(head, UINT64_MAX, &entry) || entry.sample != sample ||
        entry.length != length || (check && leat__segment_checksum(sample, bundle, length) != entry.checksum))
        return NULL;
    return bundle;
}

/* Reads an entry of which every part has its place already: fields into theirs, what lies between into the hand's. */
static bool read_apart(const leat__cache *cache, const leat__file *file, leat__cache_hand *hand, uint64_t at,
                       uint64_t sample, bool check, uint8_t *const *into, leat__value *values) {
    const leat__caching *plan = cache->options.plan;
    leat__file_part part[1 + 2 * LEAT_FIELDS_MAX];
    if (!leat__buf_reserve(&hand->bytes, LEAT_CACHE_LINE + plan->bytes)) return false;
    uint8_t *head = hand->bytes.data + LEAT_CACHE_LINE - LEAT_SEGMENT_HEAD,
            *bundle = head + LEAT_SEGMENT_HEAD;
    int n = 0;
    size_t done = 0;
    part[n++] = (leat__file_part){head, LEAT_SEGMENT_HEAD};
    for (int i = 0; i < plan->n_fields; i++) {
        const leat__bundle_part *p = &plan->part[i];
        if (p->offset > done) part[n++] = (leat__file_part){bundle + done, p->offset - done};
        if (p->bytes) part[n++] = (leat__file_part){into[i] ? into[i] : bundle + p->offset, p->bytes};
        done = p->offset + p->bytes;
    }
    leat__segment_entry entry;
    if (leat__file_read_parts(file, part, n, at, cache->disk->folder, NULL) < 0 ||
        !leat__segment_read_head(head, UINT64_MAX, &entry) || entry.sample != sample ||
        entry.length != plan->bytes)
        return false;
    if (check) {
        XXH3_state_t sum;
        XXH3_INITSTATE(&sum); /* or a reset to the seed that was there by chance would keep half a secret */
        XXH3_64bits_reset_withSeed(&sum, sample);
        for (int i = 1; i < n; i++) XXH3_64bits_update(&sum, part[i].to, part[i].n);
        if (XXH3_64bits_digest(&sum) != entry.checksum) return false;
    }
    leat__cache_unpack(plan, bundle, plan->part, values);
    for (int i = 0; i < plan->n_fields; i++)
        if (into[i]) values[plan->value[i]].data = into[i];
    return true;
}

bool leat__disk_take(leat__cache *cache, leat__cache_hand *hand, uint64_t sample, uint64_t place,
                     uint32_t length, uint8_t *const *into, leat__value *values) {
    const leat__caching *plan = cache->options.plan;
    leat__disk *disk = cache->disk;
    const uint64_t at = (place & UINT32_MAX) * LEAT_SEGMENT_UNIT;
    const leat__file *file = segment_file(disk, disk->segment[(place >> 32) - 1], hand);
    leat__cache_chunk *chunk = leat__cache_chunk_of(cache, sample, false);
    leat__bundle_part part[LEAT_FIELDS_MAX];
    const uint8_t *bundle;
    bool good = false;
    const bool first = !(length & LEAT_CACHE_CHECKED),
               check = first || hand->hits % CHECK_EVERY == 0 ||
                       atomic_load_explicit(&disk->doubtful, memory_order_relaxed);
    length &= ~LEAT_CACHE_CHECKED;
    if (file && into && plan->fixed) {
        good = length == plan->bytes && read_apart(cache, file, hand, at, sample, check, into, values);
    } else if (file && (bundle = read_whole(disk, file, hand, at, sample, length, check)) != NULL &&
               leat__bundle_open(plan->field, plan->n_fields, bundle, length, part)) {
        leat__cache_unpack(plan, bundle, part, values);
        good = true;
    }
    if (good && first)
        atomic_fetch_or_explicit(&chunk->length[sample % LEAT_CACHE_CHUNK], LEAT_CACHE_CHECKED,
                                 memory_order_relaxed);
    if (good) return true;
    /* Damaged, or gone: it is made anew, and written anew if this process writes. */
    hand->bad++;
    atomic_store(&disk->doubtful, true);
    uint_least64_t expected = place;
    if (atomic_compare_exchange_strong(&chunk->place[sample % LEAT_CACHE_CHUNK], &expected, 0))
        atomic_fetch_sub(&cache->n_kept, 1);
    leat__cache_say(cache, "cache: entries in %.600s are damaged or cannot be read: they are made anew",
                    disk->folder);
    return false;
}
