/* SPDX-License-Identifier: Apache-2.0 */
/* A cache on disk: adding to it. Every worker gathers entries in a piece of its own, about a megabyte, takes room for it at
 * the end of the current segment and writes it there by itself; then the entries can be read, by this process. A segment
 * that is full gets a table of its entries and its final name, and then others read it too. Nothing is synced: checksums
 * tell what a power failure has spoiled, and a process that is killed loses what it has not written and nothing else. */
#include <stdio.h>

#include "base/clock.h"
#include "cache/cache_disk.h"

static size_t piece_bytes(const leat__cache *cache) {
    return LEAT_MIN(cache->options.segment_bytes / 4, (size_t)1 << 20);
}

/* No more is written in this run; why is said once. */
static void stop_writing(leat__cache *cache, const char *why) {
    atomic_store(&cache->disk->mode, LEAT_DISK_STOPPED);
    leat__cache_say(cache, "cache: %.700s: the run goes on without keeping more", why);
}

/* ---------------------------------------------------------------------------------------- segments */

/* Table, trailer and final name. On failure it stays as it is: what it holds is found again by looking at its entries. */
static int complete(leat__disk *disk, const leat__file *file, uint32_t number, leat__buf *table, uint64_t end,
                    leat_error *err) {
    char from[LEAT_DISK_PATH], to[LEAT_DISK_PATH];
    uint8_t trailer[LEAT_SEGMENT_TRAILER];
    leat__disk_path(disk, number, false, from);
    leat__disk_path(disk, number, true, to);
    leat__segment_write_trailer(trailer, table->data, table->size / LEAT_SEGMENT_PLACE);
    if (!leat__buf_append(table, trailer, sizeof trailer))
        return leat__fail_memory(err, table->size, "a cache");
    LEAT_TRY(leat__file_cut(file, end, from, err));
    LEAT_TRY(leat__file_write_at(file, table->data, table->size, end, from, err));
    LEAT_TRY(leat__file_settle(file, from, err));
    LEAT_TRY(leat__file_rename(from, to, err));
    disk->known[number / 8] |= (uint8_t)(1u << number % 8);
    return 0;
}

/* With the mutex held. */
static void complete_segment(leat__cache *cache, leat__disk_segment *segment) {
    leat__disk *disk = cache->disk;
    char path[LEAT_DISK_PATH];
    leat_error err;
    if (segment->table.size == 0) { /* nothing came of it */
        leat__disk_path(disk, segment->number, false, path);
        leat__file_remove(path, NULL);
    } else if (complete(disk, &segment->writer, segment->number, &segment->table, segment->end, &err) < 0) {
        stop_writing(cache, err.message);
    }
    leat__buf_free(&segment->table);
    if (segment->file.fd < 0) leat__file_close(&segment->writer);
    segment->writer.fd = -1;
}

static leat__disk_segment *begin_segment(leat__cache *cache, leat_error *err) {
    leat__disk *disk = cache->disk;
    char path[LEAT_DISK_PATH];
    uint8_t header[LEAT_SEGMENT_HEADER];
    int index;
    if (disk->number_max + 1 >= LEAT_DISK_NUMBERS || disk->n_segments == LEAT_DISK_SEGMENTS) {
        leat__fail(err, LEAT_ERR_LIMIT, "%s has too many segments", disk->folder);
        return NULL;
    }
    const uint32_t number = ++disk->number_max;
    leat__file file;
    leat__disk_path(disk, number, false, path);
    leat__segment_write_header(header, disk->key);
    if (leat__file_grow(&file, path, true, err) < 0) return NULL;
    leat__disk_segment *segment = NULL;
    if (leat__file_write_at(&file, header, sizeof header, 0, path, err) == 0 &&
        !(segment = leat__disk_segment_add(disk, number, &index)))
        leat__fail_memory(err, sizeof *segment, "a cache");
    if (!segment) {
        leat__file_close(&file);
        leat__file_remove(path, NULL);
        return NULL;
    }
    segment->writer = file;
    if (index < LEAT_DISK_KEEP_OPEN) segment->file = file;
    segment->end = LEAT_SEGMENT_HEADER;
    return segment;
}

/* ------------------------------------------------------------------------------------------- begin */

/* The directory and the lock; 1 if another process holds it. */
static int lock_folder(leat__cache *cache, leat_error *err) {
    leat__disk *disk = cache->disk;
    char path[LEAT_DISK_PATH];
    leat__buf content = {.kind = LEAT_MEM_PLAN};
    snprintf(path, sizeof path, "%s/lock", disk->folder);
    const int rc = leat__journal_open(&disk->lock, path, &content, err);
    leat__buf_free(&content);
    disk->locked = rc == 0;
    return rc == LEAT_ERR_STATE ? 1 : rc;
}

static int begin_writing(leat__cache *cache, leat_error *err) {
    leat__disk *disk = cache->disk;
    char path[LEAT_DISK_PATH];
    leat__stat st;
    LEAT_TRY(leat__dir_make(disk->folder, err));
    const int held = lock_folder(cache, err);
    LEAT_TRY(held);
    if (held) {
        disk->shared = true;
        atomic_store(&disk->look_ns, leat__now_ns());
        atomic_store(&disk->mode, LEAT_DISK_STOPPED);
        return 1;
    }
    snprintf(path, sizeof path, "%s/about.txt", disk->folder);
    if (leat__file_stat(path, &st, NULL) < 0)
        LEAT_TRY(leat__file_write(path, cache->options.about, strlen(cache->options.about), err));
    LEAT_TRY(leat__disk_look(cache, err)); /* what others have completed since we looked */
    atomic_store(&disk->mode, LEAT_DISK_WRITING);
    return 0;
}

static int recover_one(leat__cache *cache, uint32_t number) {
    leat__disk *disk = cache->disk;
    char path[LEAT_DISK_PATH];
    leat__file file;
    leat__buf table = {.kind = LEAT_MEM_INDEX};
    uint64_t end;
    leat__disk_path(disk, number, false, path);
    if (leat__file_grow(&file, path, false, NULL) < 0) return 0;
    if (!cache->options.trust && !leat__file_trusted(&file, LEAT_NO_OWNER)) {
        leat__file_close(&file);
        return 0;
    }
    int rc = leat__disk_walk(&file, path, disk->key, true, &table, &end);
    if (rc < 0 || table.size == 0) leat__file_remove(path, NULL);
    else if ((rc = complete(disk, &file, number, &table, end, NULL)) == 0)
        disk->known[number / 8] &= (uint8_t) ~(1u << number % 8); /* to be loaded as others are */
    leat__file_close(&file);
    leat__buf_free(&table);
    return rc == 0;
}

void leat__disk_recover(leat__cache *cache) {
    leat__disk *disk = cache->disk;
    leat_error ignored; /* a directory that cannot be written to is used as it is */
    if (lock_folder(cache, &ignored) != 0) return;
    const uint32_t *number = (const uint32_t *)disk->orphans.data;
    int n = 0;
    for (size_t i = 0; i < disk->orphans.size / sizeof *number; i++) n += recover_one(cache, number[i]);
    if (n) leat__disk_look(cache, &ignored);
    leat__journal_close(&disk->lock); /* other processes may write; the first put takes the lock again */
    disk->locked = false;
}

void leat__disk_finish(leat__cache *cache) {
    leat__disk *disk = cache->disk;
    while (disk->pieces) {
        leat__cache_piece *piece = disk->pieces;
        disk->pieces = piece->next;
        leat__disk_flush(cache, piece);
        leat__buf_free(&piece->bytes);
        leat__buf_free(&piece->places);
        leat__free(piece);
    }
    if (disk->current) complete_segment(cache, disk->current);
    disk->current = NULL;
    leat__journal_close(&disk->lock);
}

/* --------------------------------------------------------------------------------------------- put */

/* Room for n bytes at the end of the current segment, or of a new one; NULL: there is none. With the mutex held. */
static leat__disk_segment *take_room(leat__cache *cache, size_t n, uint64_t *offset) {
    leat__disk *disk = cache->disk;
    leat_error err;
    int rc = 0;
    if (atomic_load(&disk->mode) == LEAT_DISK_READY && (rc = begin_writing(cache, &err)) < 0)
        stop_writing(cache, err.message);
    if (atomic_load(&disk->mode) != LEAT_DISK_WRITING) return NULL;
    if (cache->options.bytes_max && leat__cache_bytes(cache) + n > cache->options.bytes_max) {
        atomic_store(&disk->mode,
                     LEAT_DISK_STOPPED); /* as large as the text allows: nothing to complain about */
        return NULL;
    }
    leat__disk_segment *segment = disk->current;
    if (segment && segment->end + n > cache->options.segment_bytes && segment->end > LEAT_SEGMENT_HEADER) {
        segment->full = true;
        disk->current = NULL;
        if (segment->pending == 0) complete_segment(cache, segment);
        segment = NULL;
    }
    if (!segment) segment = disk->current = begin_segment(cache, &err);
    if (!segment) {
        stop_writing(cache, err.message);
        return NULL;
    }
    *offset = segment->end;
    segment->end += n;
    segment->pending++;
    atomic_fetch_add(&cache->bytes, n);
    return segment;
}

/* Rows of the segment's table for the entries of a piece that was written at offset. */
static bool add_rows(leat__disk_segment *segment, const leat__cache_piece *piece, uint64_t offset) {
    const leat__segment_place *place = (const leat__segment_place *)piece->places.data;
    const size_t n = piece->places.size / sizeof *place;
    if (!leat__buf_reserve(&segment->table, segment->table.size + n * LEAT_SEGMENT_PLACE)) return false;
    for (size_t i = 0; i < n; i++) {
        leat__segment_place row = place[i];
        row.unit += (uint32_t)(offset / LEAT_SEGMENT_UNIT);
        leat__segment_write_place(segment->table.data + segment->table.size, &row);
        segment->table.size += LEAT_SEGMENT_PLACE;
    }
    return true;
}

static int index_of(const leat__disk *disk, const leat__disk_segment *segment) {
    int i = disk->n_segments - 1;
    while (i > 0 && disk->segment[i] != segment) i--;
    return i;
}

void leat__disk_flush(leat__cache *cache, leat__cache_piece *piece) {
    if (piece->places.size == 0) return;
    leat__disk *disk = cache->disk;
    char path[LEAT_DISK_PATH];
    leat_error err;
    uint64_t offset = 0;
    int index = 0;
    leat__lock(&cache->mutex);
    leat__disk_segment *segment = take_room(cache, piece->bytes.size, &offset);
    if (segment) index = index_of(disk, segment);
    leat__unlock(&cache->mutex);
    bool written = false;
    if (segment) {
        leat__disk_path(disk, segment->number, false, path);
        written = leat__file_write_at(&segment->writer, piece->bytes.data, piece->bytes.size, offset, path,
                                      &err) == 0;
        leat__lock(&cache->mutex);
        if (!written) stop_writing(cache, err.message);
        if (!written && segment->end == offset + piece->bytes.size) segment->end = offset;
        written = written && add_rows(segment, piece, offset);
        segment->pending--;
        if (segment->full && segment->pending == 0) complete_segment(cache, segment);
        leat__unlock(&cache->mutex);
    }
    const leat__segment_place *place = (const leat__segment_place *)piece->places.data;
    for (size_t i = 0; i < piece->places.size / sizeof *place; i++) {
        const uint64_t unit = place[i].unit + offset / LEAT_SEGMENT_UNIT;
        if (written)
            leat__cache_publish(cache, place[i].sample, (uint64_t)(index + 1) << 32 | unit, place[i].length);
        else leat__cache_unclaim(cache, place[i].sample);
    }
    piece->bytes.size = piece->places.size = 0;
}

static leat__cache_piece *new_piece(leat__cache *cache) {
    leat__cache_piece *piece = leat__alloc(LEAT_MEM_WORKER, sizeof *piece);
    if (!piece) return NULL;
    piece->bytes.kind = piece->places.kind = LEAT_MEM_WORKER;
    leat__lock(&cache->mutex);
    piece->next = cache->disk->pieces;
    cache->disk->pieces = piece;
    leat__unlock(&cache->mutex);
    return piece;
}

bool leat__disk_put(leat__cache *cache, leat__cache_hand *hand, uint64_t sample,
                    const leat__bundle_part *part, size_t bytes, const leat__value *values) {
    const leat__caching *plan = cache->options.plan;
    if (!hand->piece && !(hand->piece = new_piece(cache))) return false;
    leat__cache_piece *piece = hand->piece;
    const size_t n = (size_t)leat__segment_stride(bytes), most = piece_bytes(cache);
    if (piece->bytes.size && piece->bytes.size + n > most) leat__disk_flush(cache, piece);
    const leat__segment_place place = {.sample = (uint32_t)sample,
                                       .unit = (uint32_t)(piece->bytes.size / LEAT_SEGMENT_UNIT),
                                       .length = (uint32_t)bytes};
    if (!leat__buf_reserve_exactly(&piece->bytes, LEAT_MAX(most, piece->bytes.size + n)) ||
        !leat__buf_append(&piece->places, &place, sizeof place))
        return false;
    uint8_t *head = piece->bytes.data + piece->bytes.size, *bundle = head + LEAT_SEGMENT_HEAD;
    leat__bundle_begin(plan->field, plan->n_fields, part, bundle);
    for (int i = 0; i < plan->n_fields; i++)
        if (part[i].bytes) memcpy(bundle + part[i].offset, values[plan->value[i]].data, part[i].bytes);
    memset(bundle + bytes, 0, n - LEAT_SEGMENT_HEAD - bytes);
    const leat__segment_entry entry = {
        .sample = sample, .length = bytes, .checksum = leat__segment_checksum(sample, bundle, bytes)};
    leat__segment_write_head(head, &entry);
    piece->bytes.size += n;
    if (piece->bytes.size >= most) leat__disk_flush(cache, piece);
    return true;
}
