/* SPDX-License-Identifier: Apache-2.0 */
#include "format/zip.h"

enum { END = 22, LOCATOR = 20, END64 = 56, ENTRY = 46 };
enum { STORED = 0, DEFLATED = 8 };
/* Deflate makes at most 1032 bytes of one. */
#define RATIO_MAX 1032

static int fail(leat_error *err, const char *what) {
    return leat__fail(err, LEAT_ERR_FORMAT, "zip: %s", what);
}

/* The end record of an archive larger than 32 bits can say, if there is a locator for it. */
static int read_end64(leat__zip *out, const uint8_t *tail, size_t end, uint64_t tail_begin, leat_error *err) {
    static const uint8_t locator_magic[] = {'P', 'K', 6, 7}, magic[] = {'P', 'K', 6, 6};
    if (end < LOCATOR || memcmp(tail + end - LOCATOR, locator_magic, 4) != 0) return 0;
    const uint64_t at = leat__load_u64(tail + end - LOCATOR + 8);
    if (at < tail_begin || end - LOCATOR < END64 || at - tail_begin > end - LOCATOR - END64 ||
        memcmp(tail + (at - tail_begin), magic, 4) != 0)
        return fail(err, "the ZIP64 end record is not where it should be: the file is damaged");
    const uint8_t *record = tail + (at - tail_begin);
    out->n = leat__load_u64(record + 32);
    out->bytes = leat__load_u64(record + 40);
    out->directory = leat__load_u64(record + 48);
    return 0;
}

int leat__zip_open(leat__zip *out, const uint8_t *tail, size_t n, uint64_t size, leat_error *err) {
    static const uint8_t magic[] = {'P', 'K', 5, 6};
    *out = (leat__zip){0};
    if (n < END || n > size) return fail(err, "this is no zip archive");
    /* The last one whose comment reaches exactly to the end of the file. */
    size_t at = n - END;
    while (memcmp(tail + at, magic, 4) != 0 || leat__load_u16(tail + at + 20) != n - at - END)
        if (at-- == 0) return fail(err, "this is no zip archive, or it is cut off");
    const uint8_t *end = tail + at;
    if (leat__load_u16(end + 4) != 0 || leat__load_u16(end + 6) != 0)
        if (leat__load_u16(end + 4) != 0xffff) return fail(err, "a part of an archive of several files");
    out->n = leat__load_u16(end + 10);
    out->bytes = leat__load_u32(end + 12);
    out->directory = leat__load_u32(end + 16);
    LEAT_TRY(read_end64(out, tail, at, size - n, err));
    const uint64_t before = size - n + at;
    if (out->directory > before || out->bytes > before - out->directory)
        return fail(err, "the directory does not lie in the file: it is damaged or cut off");
    if (out->bytes > LEAT_ZIP_DIRECTORY_MAX)
        return leat__fail(err, LEAT_ERR_LIMIT, "zip: a directory of %" PRIu64 " bytes", out->bytes);
    return 0;
}

/* Numbers that do not fit 32 bits stand in an extra field of kind 1, in this order, and only those. */
static int read_extra(leat__zip_member *m, const uint8_t *extra, size_t n, leat_error *err) {
    uint64_t *const wanted[] = {m->plain == UINT32_MAX ? &m->plain : NULL,
                                m->packed == UINT32_MAX ? &m->packed : NULL,
                                m->local == UINT32_MAX ? &m->local : NULL};
    while (n >= 4) {
        const size_t kind = leat__load_u16(extra), bytes = leat__load_u16(extra + 2);
        extra += 4, n -= 4;
        if (bytes > n) return fail(err, "an extra field is longer than its entry");
        if (kind == 1) {
            size_t at = 0;
            for (size_t i = 0; i < LEAT_COUNT(wanted); i++) {
                if (!wanted[i]) continue;
                if (at + 8 > bytes) return fail(err, "a ZIP64 field is too short");
                *wanted[i] = leat__load_u64(extra + at);
                at += 8;
            }
            return 0;
        }
        extra += bytes, n -= bytes;
    }
    return 0;
}

int leat__zip_next(leat__zip_member *out, const uint8_t *directory, size_t n, size_t *at, leat_error *err) {
    static const uint8_t magic[] = {'P', 'K', 1, 2};
    *out = (leat__zip_member){0};
    if (*at >= n) return 0;
    const uint8_t *entry = directory + *at;
    const size_t left = n - *at;
    if (left < ENTRY || memcmp(entry, magic, 4) != 0) return fail(err, "the directory is damaged");
    const size_t name_n = leat__load_u16(entry + 28), extra_n = leat__load_u16(entry + 30),
                 total = ENTRY + name_n + extra_n + leat__load_u16(entry + 32);
    if (total > left) return fail(err, "the directory is cut off");
    out->name = (const char *)entry + ENTRY;
    out->name_n = name_n;
    out->method = leat__load_u16(entry + 10);
    out->crc = leat__load_u32(entry + 16);
    out->packed = leat__load_u32(entry + 20);
    out->plain = leat__load_u32(entry + 24);
    out->local = leat__load_u32(entry + 42);
    LEAT_TRY(read_extra(out, entry + ENTRY + name_n, extra_n, err));
    char name[100];
    leat__printable(name, sizeof name, out->name, name_n);
    if (leat__load_u16(entry + 8) & 1)
        return leat__fail(err, LEAT_ERR_UNSUPPORTED, "zip: %s is encrypted: unpack the archive first", name);
    if (out->method != STORED && out->method != DEFLATED)
        return leat__fail(err, LEAT_ERR_UNSUPPORTED,
                          "zip: %s is packed by method %d: numpy.savez and savez_compressed write others",
                          name, out->method);
    uint64_t most;
    if (out->method == STORED
            ? out->plain != out->packed
            : __builtin_mul_overflow(out->packed, (uint64_t)RATIO_MAX, &most) || out->plain > most)
        return leat__fail(err, LEAT_ERR_FORMAT, "zip: the sizes of %s contradict each other", name);
    *at += total;
    return 1;
}

int leat__zip_data(const leat__zip_member *member, const uint8_t header[LEAT_ZIP_LOCAL], uint64_t size,
                   uint64_t *data, leat_error *err) {
    static const uint8_t magic[] = {'P', 'K', 3, 4};
    if (memcmp(header, magic, 4) != 0) return fail(err, "a member is not where the directory says");
    const uint64_t skip =
        (uint64_t)LEAT_ZIP_LOCAL + leat__load_u16(header + 26) + leat__load_u16(header + 28);
    if (member->local > size || skip > size - member->local || member->packed > size - member->local - skip)
        return fail(err, "a member reaches past the end of the file");
    *data = member->local + skip;
    return 0;
}

void leat__zip_gzip(const leat__zip_member *member, uint8_t head[LEAT_ZIP_GZIP_HEAD],
                    uint8_t foot[LEAT_ZIP_GZIP_FOOT]) {
    static const uint8_t plain_head[LEAT_ZIP_GZIP_HEAD] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255};
    memcpy(head, plain_head, sizeof plain_head);
    leat__store_u32(foot, member->crc);
    leat__store_u32(foot + 4, (uint32_t)member->plain);
}
