/* SPDX-License-Identifier: Apache-2.0 */
/* Uncompressed TFRecord shards as one source with random access. An entry of the index is one record; where a length is
 * damaged, it reaches to the next place where a record begins for certain. Both checksums are checked at every read. */
#include <stdio.h>

#include "format/kept/sidefile.h"
#include "format/tfrecord.h"
#include "source/indexed/indexed.h"

enum { LARGE_RECORD = 1 << 20 };

typedef leat__indexed_shard shard;

/* ------------------------------------------------------------------------------------------- index */

/* Whether a whole record with right checksums begins at offset. */
static int is_record(leat__hopper *h, uint64_t offset, leat__buf *payload, leat_error *err) {
    uint64_t length;
    const uint8_t *header = leat__hopper_look(h, offset, LEAT_TFRECORD_HEADER, err);
    if (!header) return LEAT_ERR_IO;
    if (!leat__tfrecord_length(header, &length) || length > LEAT_RECORD_BYTES_MAX) return 0;
    if (length + LEAT_TFRECORD_OVERHEAD > h->s->size - offset) return 0;
    /* Real damage has few headers that look right. A file in which every other place claims to be a long record was made
     * to keep us busy: what is left of it is lost. */
    if (h->tried > 4 * h->s->size + LEAT_HOP_MAX) return 0;
    h->tried += length;
    const size_t n = (size_t)length + LEAT_TFRECORD_FOOTER;
    if (!leat__buf_reserve(payload, n)) return leat__fail_memory(err, n, "a record");
    LEAT_TRY(
        leat__file_read_at(&h->s->file, payload->data, n, offset + LEAT_TFRECORD_HEADER, h->s->path, err));
    return leat__tfrecord_intact(payload->data, (size_t)length, payload->data + length);
}

/* The first offset from `from` on where a record begins, or the end of the file; *found says which. */
static int resync(leat__hopper *h, uint64_t *offset, uint64_t end, leat_error *err) {
    leat__buf payload = {.kind = LEAT_MEM_INDEX};
    int rc = 0;
    h->ahead = LEAT_HOP_MAX;
    for (; *offset + LEAT_TFRECORD_OVERHEAD <= end; ++*offset) {
        rc = is_record(h, *offset, &payload, err);
        if (rc != 0) break;
    }
    leat__buf_free(&payload);
    if (rc == 0) *offset = end;
    return rc;
}

/* Where the length at *at is damaged. */
static int step_over_damage(leat__hopper *h, uint64_t *at, leat_error *err) {
    const bool first = *at == 0;
    uint64_t next = *at + 1;
    const uint64_t size = h->s->size, end = first ? LEAT_MIN(size, (uint64_t)1 << 20) : size;
    const int rc = resync(h, &next, end, err);
    h->ahead = LEAT_HOP_CHUNK;
    if (rc < 0) return rc;
    if (rc == 0 && first) {
        char shown[500];
        return leat__fail(err, LEAT_ERR_FORMAT,
                          "%s is not a TFRecord file: no record begins in its first %" PRIu64 " bytes",
                          leat__printable(shown, sizeof shown, h->s->path, strlen(h->s->path)), end);
    }
    *at = next; /* without a record: the end */
    return 0;
}

static int step(leat__hopper *h, uint64_t *at, leat_error *err) {
    const uint64_t left = h->s->size - *at;
    uint64_t length = 0;
    if (left < LEAT_TFRECORD_HEADER) { /* a tail too short for a header */
        *at = h->s->size;
        return 0;
    }
    const uint8_t *header = leat__hopper_look(h, *at, LEAT_TFRECORD_HEADER, err);
    if (!header) return LEAT_ERR_IO;
    if (!leat__tfrecord_length(header, &length)) return step_over_damage(h, at, err);
    /* A record that reaches past the end is a truncated one: it takes the rest. */
    *at = length > left || left - length < LEAT_TFRECORD_OVERHEAD ? h->s->size
                                                                  : *at + length + LEAT_TFRECORD_OVERHEAD;
    /* Large records: the bytes in between are not worth reading. */
    h->ahead = length < 16384 ? LEAT_HOP_CHUNK : LEAT_TFRECORD_HEADER;
    return 0;
}

/* -------------------------------------------------------------------------------------------- read */

/* Says what is wrong with entry i of a shard, of which n bytes were read. */
static int fail_record(const shard *s, uint64_t i, leat__extent place, const uint8_t *bytes, size_t n,
                       leat_error *err) {
    const uint64_t at = place.at, span = place.n;
    char where[500], name[400];
    snprintf(where, sizeof where, "%s: record %" PRIu64 " at byte %" PRIu64,
             leat__printable(name, sizeof name, s->path, strlen(s->path)), i, at);
    uint64_t length;
    if (n < LEAT_TFRECORD_HEADER)
        return leat__fail(err, LEAT_ERR_CORRUPT, "%s is cut off: the file ends after %zu bytes of it", where,
                          n);
    if (!leat__tfrecord_length(bytes, &length))
        return leat__fail(err, LEAT_ERR_CORRUPT,
                          "%s: the checksum of its length is wrong, %" PRIu64 " bytes are lost", where, span);
    if (length > LEAT_RECORD_BYTES_MAX && length <= span)
        return leat__fail(err, LEAT_ERR_LIMIT, "%s has %" PRIu64 " bytes, the limit is %zu", where, length,
                          LEAT_RECORD_BYTES_MAX);
    if (length > span || span - length != LEAT_TFRECORD_OVERHEAD)
        return leat__fail(err, LEAT_ERR_CORRUPT,
                          "%s is cut off: %" PRIu64 " bytes promised, the file ends after %" PRIu64, where,
                          length, span - LEAT_TFRECORD_HEADER);
    return leat__fail(err, LEAT_ERR_CORRUPT, "%s: the checksum of its %" PRIu64 " bytes is wrong", where,
                      length);
}

/* Whether a record whose header is there takes exactly n bytes. */
static bool has_its_place(const uint8_t *header, uint64_t n, uint64_t *length) {
    return leat__tfrecord_length(header, length) && *length <= n && n - *length == LEAT_TFRECORD_OVERHEAD;
}

/* Reads what lies between the borders of entry i, or only the beginning if that is no record: a hole of any size must not cost
 * memory. *n_read of place->n bytes are in *out. *fits: they are one record, as its length says. */
static int read_entry(const leat__indexed *self, const shard *s, leat__reader *reader, uint64_t sample,
                      leat__extent place, const uint8_t **out, size_t *n_read, bool *fits, leat_error *err) {
    size_t n = (size_t)LEAT_MIN(place.n, (uint64_t)LEAT_RECORD_BYTES_MAX + LEAT_TFRECORD_OVERHEAD);
    uint64_t length = 0;
    *n_read = n > LARGE_RECORD ? LEAT_TFRECORD_HEADER : n;
    LEAT_TRY(leat__indexed_read(self, s, reader, sample, place.at, *n_read, out, err));
    *fits = n >= LEAT_TFRECORD_HEADER && has_its_place(*out, place.n, &length);
    if (n <= LARGE_RECORD || !*fits || length > LEAT_RECORD_BYTES_MAX) return 0;
    *n_read = n;
    return leat__indexed_read(self, s, reader, sample, place.at, n, out, err);
}

static int read_record(const leat__source *source, leat__reader *reader, uint64_t sample, leat__value *values,
                       leat_error *err) {
    const leat__indexed *self = (const leat__indexed *)source;
    const shard *s = leat__indexed_find(self, reader, sample);
    const uint64_t i = sample - s->first;
    leat__extent place = leat__indexed_span(s, i);
    const uint8_t *bytes = NULL;
    size_t n;
    bool fits;
    LEAT_TRY(read_entry(self, s, reader, sample, place, &bytes, &n, &fits, err));
    if (!fits) {
        const int other = leat__indexed_doubt(self, s, err);
        LEAT_TRY(other);
        place = leat__indexed_span(s, i);
        if (other) LEAT_TRY(read_entry(self, s, reader, sample, place, &bytes, &n, &fits, err));
    }
    const uint8_t *payload = bytes + LEAT_TFRECORD_HEADER;
    const size_t length = (size_t)place.n - LEAT_TFRECORD_OVERHEAD;
    if (!fits || n < place.n || !leat__tfrecord_intact(payload, length, payload + length))
        return fail_record(s, i, place, bytes, n, err);
    values[0] = (leat__value){
        .data = payload, .bytes = length, .dtype = LEAT_DTYPE_BYTES, .ndim = 1, .shape = {(int64_t)length}};
    return 0;
}

static void describe(const leat__source *source, uint64_t sample, char *text, size_t cap) {
    leat__indexed_where((const leat__indexed *)source, "record", sample, text, cap);
}

static const leat__source_class records_class = {.name = "tfrecord",
                                                 .sharded = true,
                                                 .size = leat__indexed_size,
                                                 .will_read = leat__indexed_will_read,
                                                 .version = leat__indexed_version,
                                                 .read = read_record,
                                                 .describe = describe,
                                                 .prepare = leat__indexed_prepare,
                                                 .close_reader = leat__indexed_close_reader,
                                                 .close = leat__indexed_close};

static const leat__indexed_format records_format = {.class = &records_class,
                                                    .entries = "records",
                                                    .side_kind = LEAT_SIDEFILE_RECORDS,
                                                    .version = 2,
                                                    .step = step};

int leat__records_open(leat__source **out, const char *const *patterns, int n, const leat__open_options *open,
                       leat_error *err) {
    *out = NULL;
    leat__indexed *self = leat__alloc(LEAT_MEM_PLAN, sizeof *self);
    if (!self) return leat__fail_memory(err, sizeof *self, "shards");
    leat__source *base = &self->base;
    const int rc = leat__indexed_open(self, &records_format, patterns, n, open, err);
    if (rc < 0) {
        leat__source_free(&base);
        return rc;
    }
    const int64_t any = -1;
    leat__source_field(base, "record", LEAT_DTYPE_BYTES, 1, &any);
    *out = base;
    return 0;
}
