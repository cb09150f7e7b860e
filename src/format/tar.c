/* SPDX-License-Identifier: Apache-2.0 */
#include "format/tar.h"

enum { NAME = 0, NAME_N = 100, SIZE = 124, SIZE_N = 12, CHECKSUM = 148, CHECKSUM_N = 8 };
enum { TYPE = 156, MAGIC = 257, PREFIX = 345, PREFIX_N = 155 };

/* Spaces, octal digits, and behind them a space, a zero byte or the end of the field. No digit at all is 0. */
static bool read_octal(const uint8_t *field, size_t n, uint64_t *out) {
    size_t i = 0;
    uint64_t value = 0;
    while (i < n && field[i] == ' ') i++;
    for (; i < n && field[i] >= '0' && field[i] <= '7'; i++) {
        if (value >> 61) return false;
        value = value << 3 | (uint64_t)(field[i] - '0');
    }
    *out = value;
    return i == n || field[i] == ' ' || field[i] == 0;
}

/* A size that octal digits cannot hold is big-endian, and the first bit of its field is set. */
static bool read_size(const uint8_t field[SIZE_N], uint64_t *out) {
    if (!(field[0] & 0x80)) return read_octal(field, SIZE_N, out);
    for (size_t i = 0; i < SIZE_N - 8; i++) /* negative, or more than 63 bits */
        if (field[i] != (i == 0 ? 0x80 : 0)) return false;
    *out = 0;
    for (size_t i = SIZE_N - 8; i < SIZE_N; i++) *out = *out << 8 | field[i];
    return *out >> 63 == 0;
}

/* Old programs summed signed bytes. */
bool leat__tar_is_header(const uint8_t block[LEAT_TAR_BLOCK]) {
    uint64_t wanted;
    uint32_t sum = CHECKSUM_N * ' ', high = 0;
    if (!read_octal(block + CHECKSUM, CHECKSUM_N, &wanted)) return false;
    for (int i = 0; i < LEAT_TAR_BLOCK; i++) {
        if (i >= CHECKSUM && i < CHECKSUM + CHECKSUM_N) continue;
        sum += block[i];
        high += block[i] >> 7;
    }
    return wanted == sum || (int64_t)wanted == (int64_t)sum - 256 * (int64_t)high;
}

static bool is_zero(const uint8_t *bytes, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (bytes[i]) return false;
    return true;
}

static size_t length_of(const uint8_t *field, size_t max) {
    const uint8_t *end = memchr(field, 0, max);
    return end ? (size_t)(end - field) : max;
}

/* False if it has a zero byte or is too long. */
static bool set_name(leat__tar_member *out, const uint8_t *name, size_t n) {
    if (n == 0 || n >= sizeof out->name || memchr(name, 0, n)) return false;
    memcpy(out->name, name, n);
    out->name[n] = 0;
    return true;
}

/* The name in the header itself: of ustar, that of its folder may stand apart. */
static void read_short_name(const uint8_t *block, leat__tar_member *out) {
    size_t n = 0;
    if (memcmp(block + MAGIC, "ustar", 6) == 0 && block[PREFIX]) {
        n = length_of(block + PREFIX, PREFIX_N);
        memcpy(out->name, block + PREFIX, n);
        out->name[n++] = '/';
    }
    const size_t rest = length_of(block + NAME, NAME_N);
    memcpy(out->name + n, block + NAME, rest);
    out->name[n + rest] = 0;
}

typedef struct extended { /* what members before the real one say about it */
    bool name, size;
    uint64_t bytes;
} extended;

static bool read_decimal(const uint8_t *text, size_t n, uint64_t *out) {
    *out = 0;
    for (size_t i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9' || *out > (INT64_MAX - 9) / 10) return false;
        *out = *out * 10 + (uint64_t)(text[i] - '0');
    }
    return n > 0;
}

/* Lines of "length key=value\n", where the length is that of the whole line. */
static bool read_pax(const uint8_t *text, size_t n, extended *ext, leat__tar_member *out) {
    while (n > 0 && *text) {
        const uint8_t *space = memchr(text, ' ', LEAT_MIN(n, (size_t)10));
        uint64_t line;
        if (!space || !read_decimal(text, (size_t)(space - text), &line) || line > n) return false;
        const size_t head = (size_t)(space - text) + 1;
        if (line <= head || text[line - 1] != '\n') return false;
        const uint8_t *key = space + 1, *end = text + line - 1,
                      *equals = memchr(key, '=', (size_t)(end - key));
        if (!equals) return false;
        const size_t key_n = (size_t)(equals - key), value_n = (size_t)(end - equals) - 1;
        if (key_n == 4 && memcmp(key, "path", 4) == 0) {
            if (!set_name(out, equals + 1, value_n)) return false;
            ext->name = true;
        } else if (key_n == 4 && memcmp(key, "size", 4) == 0) {
            if (!read_decimal(equals + 1, value_n, &ext->bytes)) return false;
            ext->size = true;
        }
        text += line;
        n -= line;
    }
    return true;
}

static int fail(leat__tar_member *out, const char *problem) {
    out->problem = problem;
    return 1;
}

/* Whether data of that size fits between the header at `at` and the end; *next is where it ends, padded. The last member may
 * lack its padding. */
static bool data_fits(uint64_t at, uint64_t size, uint64_t end, uint64_t *next) {
    const uint64_t room = end - at - LEAT_TAR_BLOCK;
    if (size > room) return false;
    const uint64_t padded = LEAT_ALIGN_UP(size, (uint64_t)LEAT_TAR_BLOCK);
    *next = at + LEAT_TAR_BLOCK + LEAT_MIN(padded, room);
    return true;
}

/* Whether a member only tells more about the next one: its name, its size, the target of a link. */
static bool is_extension(int type) {
    return type && strchr("LKxX", type);
}

static int read_extension(leat__tar_look_fn *look, void *user, int type, uint64_t data, uint64_t size,
                          extended *ext, leat__tar_member *out, leat_error *err) {
    if (type == 'K') return 1;
    if (type == 'L' && size > LEAT_TAR_NAME_MAX) return fail(out, "its name has more than 4096 bytes");
    if (size > LEAT_TAR_PAX_MAX) return fail(out, "its pax header has more than 1 MiB");
    if (size == 0) return fail(out, "its extended header is empty");
    const uint8_t *bytes = look(user, data, (size_t)size, err);
    if (!bytes) return LEAT_ERR_IO;
    if (type == 'L') ext->name = set_name(out, bytes, length_of(bytes, (size_t)size));
    if (type == 'L' ? !ext->name : !read_pax(bytes, (size_t)size, ext, out))
        return fail(out, "its extended header is damaged");
    return 1;
}

/* The member itself. */
static int read_member(const uint8_t *block, uint64_t at, uint64_t end, uint64_t size, const extended *ext,
                       leat__tar_member *out) {
    const int type = block[TYPE];
    if (!ext->name) read_short_name(block, out);
    if (type == 'S') return fail(out, "it is a sparse file: make the archive without --sparse");
    if (ext->size) size = ext->bytes;
    /* Links, devices and folders have no data, whatever their size says. */
    if (type && strchr("123456", type)) size = 0;
    out->cut_off = !data_fits(at, size, end, &out->next);
    if (out->cut_off) return fail(out, "it is cut off");
    const size_t n = strlen(out->name);
    out->regular = (type == '0' || type == 0 || type == '7') && n > 0 && out->name[n - 1] != '/';
    out->data = at + LEAT_TAR_BLOCK;
    out->size = size;
    return 1;
}

int leat__tar_next(leat__tar_look_fn *look, void *user, uint64_t at, uint64_t end, leat__tar_member *out,
                   leat_error *err) {
    extended ext = {0};
    out->begin = at;
    out->problem = NULL;
    out->regular = out->cut_off = false;
    out->name[0] = 0;
    for (;;) {
        const size_t n = (size_t)LEAT_MIN(end - at, (uint64_t)LEAT_TAR_BLOCK);
        const uint8_t *block = n ? look(user, at, n, err) : NULL;
        if (n && !block) return LEAT_ERR_IO;
        if (at == out->begin && (n == 0 || is_zero(block, n))) return 0;
        out->cut_off = n < LEAT_TAR_BLOCK;
        if (out->cut_off) return fail(out, "it is cut off");
        uint64_t size, next;
        if (!leat__tar_is_header(block)) return fail(out, "the checksum of its header is wrong");
        if (!read_size(block + SIZE, &size)) return fail(out, "its size is no number");
        const int type = block[TYPE];
        if (!is_extension(type)) return read_member(block, at, end, size, &ext, out);
        out->cut_off = !data_fits(at, size, end, &next);
        if (out->cut_off) return fail(out, "it is cut off");
        const int rc = read_extension(look, user, type, at + LEAT_TAR_BLOCK, size, &ext, out, err);
        if (rc < 0 || out->problem) return rc;
        at = next;
    }
}
