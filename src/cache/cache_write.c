/* SPDX-License-Identifier: Apache-2.0 */
/* A cache on disk: adding to it. Every worker gathers entries in a piece of its own, about a megabyte or a second's, takes room
 * for it at the end of the current segment and writes it there by itself; then the entries can be read, by this process and by
 * others that follow the segment (cache_look.c). A segment that is full gets a table of its entries and its final name. Nothing is
 * synced: checksums tell what a power failure has spoiled, and a process that is killed loses what it has not written and nothing
 * else.
 *
 * Every process writes segments of its own, and holds a lock on the one that it is writing. An open segment without a lock is what
 * a killed process has left. Processes that make the same samples take turns: one of them writes (leat__cache_options.maker). */
#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "cache/cache_disk.h"

/* Entries wait so long in a piece at most before others see them, as long as their worker works. */
static const uint64_t piece_waits_ns = 1000000000;
/* Of the room that is left under a limit, one part in so many is taken at a time. */
enum { ROOM_PART = 16, ROOM_TRIES = 100 };

/* Small under a small limit, so that it can be used up. */
static size_t piece_bytes(const leat__cache *cache) {
    const size_t most = LEAT_MIN(cache->options.segment_bytes / 4, (size_t)1 << 20);
    return cache->options.bytes_max ? (size_t)LEAT_MIN((uint64_t)most, cache->options.bytes_max / ROOM_PART)
                                    : most;
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

/* Whether this process has the lock of an open segment that still has its name: then it is no other process's. */
static bool owns(leat__file *file, const char *path) {
    leat__stat st;
    if (!leat__file_lock(file) || leat__file_stat(path, &st, NULL) < 0 || st.inode != file->inode)
        return false;
    file->size = st.size;
    return true;
}

/* A new file with a number that no other process uses. */
static int make_file(leat__disk *disk, leat__file *file, uint32_t *number, leat_error *err) {
    char path[LEAT_DISK_PATH], whole[LEAT_DISK_PATH];
    leat__stat st;
    while (disk->number_max + 1 < LEAT_DISK_NUMBERS && disk->n_segments < LEAT_DISK_SEGMENTS) {
        *number = ++disk->number_max;
        leat__disk_path(disk, *number, false, path);
        leat__disk_path(disk, *number, true, whole);
        const int rc = leat__file_grow(file, path, true, err);
        if (rc < 0 && err->sys == EEXIST) continue;
        LEAT_TRY(rc);
        const bool own = owns(file, path);
        if (own && leat__file_stat(whole, &st, NULL) < 0) {
            disk->known[*number / 8] |= (uint8_t)(1u << *number % 8);
            return 0;
        }
        if (own) leat__file_remove(path, NULL); /* another process has completed one of this number */
        leat__file_close(file);
    }
    return leat__fail(err, LEAT_ERR_LIMIT, "%s has too many segments", disk->folder);
}

static leat__disk_segment *begin_segment(leat__cache *cache, leat_error *err) {
    leat__disk *disk = cache->disk;
    char path[LEAT_DISK_PATH];
    uint8_t header[LEAT_SEGMENT_HEADER];
    int index;
    uint32_t number = 0;
    leat__file file;
    leat__segment_write_header(header, disk->key);
    if (make_file(disk, &file, &number, err) < 0) return NULL;
    leat__disk_path(disk, number, false, path);
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
    segment->end = segment->room = LEAT_SEGMENT_HEADER;
    return segment;
}

/* ------------------------------------------------------------------------------------------- begin */

/* Takes one of the directory's locks; 1 if another process holds it. */
static int lock_file(const leat__disk *disk, const char *name, leat__journal *lock, leat_error *err) {
    char path[LEAT_DISK_PATH];
    leat__buf content = {.kind = LEAT_MEM_PLAN};
    snprintf(path, sizeof path, "%s/%s", disk->folder, name);
    const int rc = leat__journal_open(lock, path, &content, err);
    leat__buf_free(&content);
    return rc == LEAT_ERR_STATE ? 1 : rc;
}

/* The lock of those who make the same samples as this process. */
static int lock_maker(leat__cache *cache, leat_error *err) {
    char name[40] = "lock";
    if (cache->options.maker) snprintf(name, sizeof name, "lock-%" PRIu64, cache->options.maker);
    return lock_file(cache->disk, name, &cache->disk->lock, err);
}

static int begin_writing(leat__cache *cache, leat_error *err) {
    leat__disk *disk = cache->disk;
    char path[LEAT_DISK_PATH];
    leat__stat st;
    LEAT_TRY(leat__dir_make(disk->folder, err));
    const int held = lock_maker(cache, err);
    LEAT_TRY(held);
    if (held) {
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

static void recover(leat__cache *cache, uint32_t number) {
    leat__disk *disk = cache->disk;
    char path[LEAT_DISK_PATH];
    leat__file file;
    leat__buf table = {.kind = LEAT_MEM_INDEX};
    uint64_t end = 0;
    leat__disk_path(disk, number, false, path);
    if (leat__file_grow(&file, path, false, NULL) < 0) return;
    if ((!cache->options.trust && !leat__file_trusted(&file, LEAT_NO_OWNER)) || !owns(&file, path)) {
        leat__file_close(&file);
        return;
    }
    int rc = leat__disk_walk(&file, path, disk->key, true, &table, &end);
    if (rc < 0 || table.size == 0) leat__file_remove(path, NULL);
    else if ((rc = complete(disk, &file, number, &table, end, NULL)) == 0)
        disk->known[number / 8] &= (uint8_t) ~(1u << number % 8); /* to be loaded as others are */
    leat__file_close(&file);
    leat__buf_free(&table);
}

static int recover_open(void *user, const char *name, char kind, leat_error *err) {
    uint32_t number;
    bool whole;
    (void)kind, (void)err;
    if (leat__disk_read_name(name, &number, &whole) && !whole) recover(user, number);
    return 0;
}

void leat__disk_recover(leat__cache *cache) {
    leat_error ignored; /* a directory that cannot be written to is used as it is */
    leat__dir_list(cache->disk->folder, recover_open, cache, &ignored);
}

void leat__disk_finish(leat__cache *cache) {
    leat__disk *disk = cache->disk;
    while (disk->pieces) {
        leat__cache_piece *piece = disk->pieces;
        disk->pieces = piece->next;
        leat__disk_flush(cache, piece);
        leat__buf_free(&piece->bytes);
        leat__buf_free(&piece->places);
        leat__mutex_destroy(&piece->mutex);
        leat__free(piece);
    }
    if (disk->current) complete_segment(cache, disk->current);
    disk->current = NULL;
    leat__journal_close(&disk->lock);
}

/* --------------------------------------------------------------------------------------------- put */

/* Makes a segment's file as long as needed under the limit of the text. Its length tells other processes what is taken, and one of
 * them looks at a time. 1: there is room; 0: another process looks just now; else it is full. With the mutex held. */
static int ask_room(leat__cache *cache, leat__disk_segment *segment, uint64_t end) {
    leat__disk *disk = cache->disk;
    char path[LEAT_DISK_PATH];
    leat__journal lock;
    leat_error err;
    if (end <= segment->room) return 1;
    int held = 1;
    for (int i = 0; i < ROOM_TRIES && held > 0; i++) {
        if (i) leat__sleep_ns(1000000);
        held = lock_file(disk, "room", &lock, &err);
    }
    if (held > 0) return 0;
    if (held < 0) return held;
    const uint64_t most = cache->options.bytes_max, used = leat__disk_weigh(disk),
                   left = most > used ? most - used : 0, needed = end - segment->room,
                   segment_left = cache->options.segment_bytes > segment->room
                                      ? cache->options.segment_bytes - segment->room
                                      : 0;
    const uint64_t taken = LEAT_MAX(needed, LEAT_MIN(left / ROOM_PART, segment_left));
    int rc = LEAT_ERR_LIMIT;
    leat__disk_path(disk, segment->number, false, path);
    if (needed <= left && leat__file_cut(&segment->writer, segment->room + taken, path, &err) == 0) {
        segment->room += taken;
        rc = 1;
    }
    leat__journal_close(&lock);
    return rc;
}

/* Room for n bytes with n_entries at the end of the current segment, or of a new one; NULL: there is none. With the mutex held. */
static leat__disk_segment *take_room(leat__cache *cache, size_t n, size_t n_entries, uint64_t *offset) {
    leat__disk *disk = cache->disk;
    leat_error err;
    int rc = 0;
    if (atomic_load(&disk->mode) == LEAT_DISK_READY && (rc = begin_writing(cache, &err)) < 0)
        stop_writing(cache, err.message);
    if (atomic_load(&disk->mode) != LEAT_DISK_WRITING) return NULL;
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
    segment->n_taken += n_entries;
    const uint64_t behind = segment->n_taken * LEAT_SEGMENT_PLACE + LEAT_SEGMENT_TRAILER;
    if (cache->options.bytes_max && (rc = ask_room(cache, segment, segment->end + n + behind)) != 1) {
        segment->n_taken -= n_entries;
        if (rc < 0) /* as large as the text allows: nothing to complain about */
            atomic_store(&disk->mode, LEAT_DISK_STOPPED);
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

/* The first head comes last: processes that follow the segment see all of the piece or nothing. */
static int write_piece(const leat__disk_segment *segment, const leat__cache_piece *piece, uint64_t offset,
                       const char *path, leat_error *err) {
    const leat__file *file = &segment->writer;
    LEAT_TRY(leat__file_write_at(file, piece->bytes.data + LEAT_SEGMENT_HEAD,
                                 piece->bytes.size - LEAT_SEGMENT_HEAD, offset + LEAT_SEGMENT_HEAD, path,
                                 err));
    return leat__file_write_at(file, piece->bytes.data, LEAT_SEGMENT_HEAD, offset, path, err);
}

/* With the piece's mutex held. */
static void flush(leat__cache *cache, leat__cache_piece *piece) {
    if (piece->places.size == 0) return;
    leat__disk *disk = cache->disk;
    char path[LEAT_DISK_PATH];
    leat_error err;
    uint64_t offset = 0;
    int index = 0;
    leat__lock(&cache->mutex);
    leat__disk_segment *segment =
        take_room(cache, piece->bytes.size, piece->places.size / sizeof(leat__segment_place), &offset);
    if (segment) index = index_of(disk, segment);
    leat__unlock(&cache->mutex);
    bool written = false;
    if (segment) {
        leat__disk_path(disk, segment->number, false, path);
        written = write_piece(segment, piece, offset, path, &err) == 0;
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

void leat__disk_flush(leat__cache *cache, leat__cache_piece *piece) {
    leat__lock(&piece->mutex);
    flush(cache, piece);
    leat__unlock(&piece->mutex);
}

void leat__disk_flush_all(leat__cache *cache) {
    leat__lock(&cache->mutex);
    leat__cache_piece *piece = cache->disk->pieces; /* further ones come in front of it */
    leat__unlock(&cache->mutex);
    for (; piece; piece = piece->next) leat__disk_flush(cache, piece);
}

void leat__disk_flush_old(leat__cache *cache, leat__cache_piece *piece) {
    leat__lock(&piece->mutex);
    if (piece->places.size && leat__now_ns() - piece->begun_ns >= piece_waits_ns) flush(cache, piece);
    leat__unlock(&piece->mutex);
}

static leat__cache_piece *new_piece(leat__cache *cache) {
    leat__cache_piece *piece = leat__alloc(LEAT_MEM_WORKER, sizeof *piece);
    if (!piece) return NULL;
    if (leat__mutex_init(&piece->mutex, LEAT_LOCK_PIECE, NULL) < 0) {
        leat__free(piece);
        return NULL;
    }
    piece->bytes.kind = piece->places.kind = LEAT_MEM_WORKER;
    leat__lock(&cache->mutex);
    piece->next = cache->disk->pieces;
    cache->disk->pieces = piece;
    leat__unlock(&cache->mutex);
    return piece;
}

/* With the piece's mutex held. */
static bool add_entry(leat__cache *cache, leat__cache_piece *piece, uint64_t sample,
                      const leat__bundle_part *part, size_t bytes, const leat__value *values) {
    const leat__caching *plan = cache->options.plan;
    const size_t n = (size_t)leat__segment_stride(bytes), most = piece_bytes(cache);
    if (piece->bytes.size && piece->bytes.size + n > most) flush(cache, piece);
    if (piece->bytes.size == 0) piece->begun_ns = leat__now_ns();
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
    if (piece->bytes.size >= most || leat__now_ns() - piece->begun_ns >= piece_waits_ns) flush(cache, piece);
    return true;
}

bool leat__disk_put(leat__cache *cache, leat__cache_hand *hand, uint64_t sample,
                    const leat__bundle_part *part, size_t bytes, const leat__value *values) {
    if (!hand->piece && !(hand->piece = new_piece(cache))) return false;
    leat__lock(&hand->piece->mutex);
    const bool kept = add_entry(cache, hand->piece, sample, part, bytes, values);
    leat__unlock(&hand->piece->mutex);
    return kept;
}
