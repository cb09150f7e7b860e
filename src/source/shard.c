/* SPDX-License-Identifier: Apache-2.0 */
/* A damaged record costs that record; damage of the compressed bytes costs the rest of the shard, because nothing behind
 * it can be inflated. Either is told, and reading goes on. */
#include "source/shard.h"

#include <stdio.h>

#include "format/inflate.h"
#include "format/tfrecord.h"

enum { GROW_BYTES = 1 << 18, LOOK_BYTES = 1 << 20, RESYNC_BYTES = 16 << 20 };

struct leat__shard_reader {
    const leat__shards *stream;
    size_t shard;
    bool open;
    void *program; /* the program's reader, instead of all that follows but record and bytes_read */
    leat__file file;
    int compression;
    leat__inflate *inflate[2]; /* GZIP and ZLIB, kept for the next shard                    */
    uint64_t in_offset;        /* file position behind what was read last                   */
    leat__buf in;              /* compressed bytes; [in_at, in.size) are not used yet       */
    size_t in_at;
    bool inflated_all;
    leat_error damage;   /* of the compressed bytes behind what was inflated; code 0 = none */
    leat__buf tail;      /* the beginning of a record that did not fit into the last block */
    uint64_t out_offset; /* position of the block's first byte in the inflated shard       */
    uint64_t record;     /* number of the next record                                      */
    uint64_t bytes_read;
};

/* -------------------------------------------------------------------------------------------- blocks */

const leat_error *leat__block_error(const leat__block *block, size_t i) {
    const uint32_t bad = leat__block_at(block, i)->bad;
    return bad ? &((const leat_error *)(const void *)block->errors.data)[bad - 1] : NULL;
}

void leat__block_free(leat__block *block) {
    leat__buf_free(&block->bytes);
    leat__buf_free(&block->records);
    leat__buf_free(&block->errors);
}

static int add_record(leat__block *block, const leat__block_record *record, leat_error *err) {
    block->records.size = block->n * sizeof *record;
    if (!leat__buf_append(&block->records, record, sizeof *record))
        return leat__fail_memory(err, block->records.size, "records");
    block->n++;
    return 0;
}

void leat__block_clear(leat__block *block) {
    block->n = block->bytes.size = block->records.size = block->errors.size = 0;
}

bool leat__block_copy(leat__block *to, const leat__block *from, size_t index) {
    /* Workers read records of the block meanwhile: neither records nor errors may move, and the LEAT_MEM_PAD bytes behind
     * the last record, which kernels may read, must not change. */
    leat__block_record record = *leat__block_at(from, index);
    const size_t base = LEAT_ALIGN_UP(to->bytes.size + LEAT_MEM_PAD, (size_t)LEAT_CACHE_LINE);
    if (base > to->bytes.cap || to->bytes.cap - base < record.size || record.bad ||
        to->records.cap < (to->n + 1) * sizeof record)
        return false;
    memcpy(to->bytes.data + base, from->bytes.data + record.offset, record.size);
    to->bytes.size = base + record.size;
    record.offset = base;
    return add_record(to, &record, NULL) == 0;
}

/* -------------------------------------------------------------------------------------------- reader */

leat__shard_reader *leat__shard_reader_new(const leat__shards *stream, size_t input, leat_error *err) {
    leat__shard_reader *r = leat__alloc(LEAT_MEM_WINDOW, sizeof *r);
    if (r) {
        r->stream = stream;
        r->in.kind = r->tail.kind = LEAT_MEM_WINDOW;
        r->file.fd = -1;
    }
    if (!r || (!leat__shards_program(stream) && !leat__buf_reserve_exactly(&r->in, input))) {
        leat__shard_reader_free(&r);
        leat__fail_memory(err, input, "a stream");
    }
    return r;
}

static void close_shard(leat__shard_reader *r) {
    const leat_stream_callbacks *program = leat__shards_program(r->stream);
    if (r->open && !program) leat__file_close(&r->file);
    if (r->open && program && program->end) program->end(r->program);
    r->open = false;
}

void leat__shard_reader_free(leat__shard_reader **handle) {
    leat__shard_reader *r = *handle;
    if (!r) return;
    close_shard(r);
    leat__inflate_free(&r->inflate[0]);
    leat__inflate_free(&r->inflate[1]);
    leat__buf_free(&r->in);
    leat__buf_free(&r->tail);
    leat__free(r);
    *handle = NULL;
}

void leat__shard_begin(leat__shard_reader *r, size_t shard) {
    close_shard(r);
    r->inflated_all = false;
    r->shard = shard;
    r->in.size = r->in_at = r->tail.size = 0;
    r->in_offset = r->out_offset = r->record = 0;
    leat__error_clear(&r->damage);
}

uint64_t leat__shard_bytes_read(const leat__shard_reader *r) {
    return r->bytes_read;
}

static leat__inflate **inflater(leat__shard_reader *r) {
    return &r->inflate[r->compression == LEAT_COMPRESSION_ZLIB];
}

static int open_shard(leat__shard_reader *r, leat_error *err) {
    LEAT_TRY(leat__shards_detect(leat__shards_path(r->stream, r->shard), &r->compression, &r->file, err));
    r->open = true;
    LEAT_TRY(leat__shards_check(r->stream, r->shard, &r->file, err));
    leat__file_will_read(&r->file, 0, 0);
    if (r->compression == LEAT_COMPRESSION_NONE) return 0;
    leat__inflate **z = inflater(r);
    if (*z) return leat__inflate_reset(*z);
    *z = leat__inflate_new(r->compression, err);
    return *z ? 0 : LEAT_ERR_MEMORY;
}

static int refill_input(leat__shard_reader *r, leat_error *err) {
    const size_t n = (size_t)LEAT_MIN((uint64_t)r->in.cap, r->file.size - r->in_offset);
    LEAT_TRY(leat__file_read_at(&r->file, r->in.data, n, r->in_offset, leat__shards_path(r->stream, r->shard),
                                err));
    r->in.size = n;
    r->in_at = 0;
    r->in_offset += n;
    r->bytes_read += n;
    return 0;
}

/* Adds inflated bytes to the block: 1, or 0 if the shard has no more. */
static int more(leat__shard_reader *r, leat__block *block, leat_error *err) {
    leat__buf *out = &block->bytes;
    if (r->inflated_all) return 0;
    if (r->damage.code) {
        *err = r->damage;
        return err->code;
    }
    /* A forged length must not reserve memory: the buffer grows as bytes arrive. */
    if (out->cap - out->size < LEAT_MIN(out->cap / 16, (size_t)GROW_BYTES) &&
        !leat__buf_reserve(out, out->size + GROW_BYTES))
        return leat__fail_memory(err, out->size + GROW_BYTES, "a record");
    const size_t room = out->cap - out->size;
    if (r->in_at == r->in.size && r->in_offset < r->file.size) LEAT_TRY(refill_input(r, err));
    const bool last = r->in_offset == r->file.size;
    size_t used = LEAT_MIN(r->in.size - r->in_at, room), made = used;
    if (r->compression == LEAT_COMPRESSION_NONE) {
        memcpy(out->data + out->size, r->in.data + r->in_at, used);
        r->inflated_all = last && r->in_at + used == r->in.size;
    } else {
        const int rc = leat__inflate_run(*inflater(r), r->in.data + r->in_at, r->in.size - r->in_at, &used,
                                         out->data + out->size, room, &made, last, err);
        if (rc < 0 && made == 0) return rc;
        if (rc < 0) r->damage = *err; /* what comes before it is whole */
        r->inflated_all = rc == 1;
    }
    r->in_at += used;
    out->size += made;
    return 1;
}

/* ------------------------------------------------------------------------------------------- damage */

static int add_bad(leat__shard_reader *r, leat__block *block, const leat_error *why, leat_error *err) {
    if (!leat__buf_append(&block->errors, why, sizeof *why))
        return leat__fail_memory(err, sizeof *why, "a message");
    return add_record(block,
                      &(leat__block_record){.bad = (uint32_t)(block->errors.size / sizeof *why),
                                            .record = r->record++,
                                            .shard = r->shard},
                      err);
}

/* Remembers what is wrong with the record that begins at `at` of the block. */
static int spoil(leat__shard_reader *r, leat__block *block, size_t at, const char *what, leat_error *err) {
    char name[400];
    leat_error why;
    leat__error_clear(&why);
    const char *path = leat__shards_path(r->stream, r->shard);
    leat__fail(&why, LEAT_ERR_CORRUPT, "%s: record %" PRIu64 " at %sbyte %" PRIu64 ": %s",
               leat__printable(name, sizeof name, path, strlen(path)), r->record,
               r->compression == LEAT_COMPRESSION_NONE ? "" : "inflated ", r->out_offset + at, what);
    return add_bad(r, block, &why, err);
}

/* The shard ends here, for us. */
static int lose_rest(leat__shard_reader *r, leat__block *block, size_t at, const char *what,
                     leat_error *err) {
    char text[700];
    snprintf(text, sizeof text, "%.600s; the rest of this shard is lost", what);
    LEAT_TRY(spoil(r, block, at, text, err));
    return 1;
}

/* A fault of the machine is no damage of the shard: it ends the stream, whatever the policy. */
static int pass_on(leat_error *err, const leat_error *cause) {
    if (err) *err = *cause;
    return cause->code;
}

/* The length of the record at *at is damaged: on to the next place where a record begins for certain. 0, or 1 if there is
 * none. */
static int skip_damage(leat__shard_reader *r, leat__block *block, size_t *at, leat_error *err) {
    leat_error cause;
    int rc = 1;
    for (size_t look = LOOK_BYTES;; look *= 2) {
        while (rc == 1 && block->bytes.size - *at < look) rc = more(r, block, &cause);
        if (rc < 0 && leat__error_is_fault(&cause)) return pass_on(err, &cause);
        if (rc < 0)
            return lose_rest(r, block, *at,
                             "its length is damaged, and so are the compressed bytes behind it", err);
        const size_t n = block->bytes.size - *at;
        const size_t found = leat__tfrecord_resync(block->bytes.data + *at, n, 1);
        if (found < n) {
            char text[100];
            snprintf(text, sizeof text, "the checksum of its length is wrong, %zu bytes are lost", found);
            LEAT_TRY(spoil(r, block, *at, text, err));
            *at += found;
            return 0;
        }
        if (rc == 0 || n > RESYNC_BYTES)
            return lose_rest(r, block, *at,
                             "the checksum of its length is wrong and no later record is whole", err);
    }
}

/* --------------------------------------------------------------------------------------------- read */

/* The record at *at, which is there as a whole. */
static int take_record(leat__shard_reader *r, leat__block *block, size_t *at, size_t n, leat_error *err) {
    const size_t begin = *at;
    const uint8_t *payload = block->bytes.data + begin + LEAT_TFRECORD_HEADER;
    *at += n + LEAT_TFRECORD_OVERHEAD;
    if (!leat__tfrecord_intact(payload, n, payload + n)) {
        char text[100];
        snprintf(text, sizeof text, "the checksum of its %zu bytes is wrong", n);
        return spoil(r, block, begin, text, err);
    }
    return add_record(block,
                      &(leat__block_record){.offset = begin + LEAT_TFRECORD_HEADER,
                                            .size = (uint32_t)n,
                                            .record = r->record++,
                                            .shard = r->shard},
                      err);
}

/* Cuts records off what is in the block, and inflates more until it is full. 0; 1 at the end of the shard. */
static int cut(leat__shard_reader *r, leat__block *block, size_t *at, size_t bytes, leat_error *err) {
    for (;;) {
        const size_t have = block->bytes.size - *at;
        size_t need = LEAT_TFRECORD_HEADER;
        uint64_t length = 0;
        if (have >= need) {
            if (!leat__tfrecord_length(block->bytes.data + *at, &length)) {
                const int rc = skip_damage(r, block, at, err);
                if (rc != 0) return rc;
                continue;
            }
            if (length > LEAT_RECORD_BYTES_MAX)
                return lose_rest(r, block, *at, "it claims more than 256 MiB", err);
            need = (size_t)length + LEAT_TFRECORD_OVERHEAD;
        }
        if (have >= need) {
            LEAT_TRY(take_record(r, block, at, (size_t)length, err));
            continue;
        }
        if (block->n > 0 && block->bytes.size >= bytes - bytes / 16) return 0;
        leat_error cause;
        const int rc = more(r, block, &cause);
        if (rc < 0 && leat__error_is_fault(&cause)) return pass_on(err, &cause);
        if (rc < 0) return lose_rest(r, block, *at, cause.message, err);
        if (rc == 1) continue;
        if (have == 0) return 1;
        return lose_rest(
            r, block, *at,
            have < LEAT_TFRECORD_HEADER ? "the shard ends within a header" : "the shard ends within it", err);
    }
}

/* ------------------------------------------------------------------------------ records of the program */

/* What the program says of a record, or of the shard as a whole. */
static int lose_program(leat__shard_reader *r, leat__block *block, int rc, leat_error *said,
                        leat_error *err) {
    char name[100], text[sizeof said->message];
    leat_error why;
    leat__error_clear(&why);
    said->message[sizeof said->message - 1] = 0;
    leat__shards_describe(r->stream, r->shard, r->record, name, sizeof name);
    const int code = rc >= LEAT_ERR_CANCELLED && rc < 0 ? rc : LEAT_ERR_IO;
    leat__printable(text, sizeof text, said->message, strlen(said->message));
    leat__fail(&why, code, "%s: %.800s; the rest of this shard is lost", name,
               *text ? text : leat_error_text(code));
    LEAT_TRY(add_bad(r, block, &why, err));
    return 1;
}

static int read_program(leat__shard_reader *r, leat__block *block, size_t bytes, leat_error *err) {
    const leat_stream_callbacks *program = leat__shards_program(r->stream);
    leat_error said;
    leat__error_clear(&said);
    if (!r->open) {
        const int rc = program->begin(program->user, r->shard, &r->program, &said);
        if (rc != 0) return lose_program(r, block, rc, &said, err);
        r->open = true;
    }
    while (block->n == 0 || block->bytes.size < bytes - bytes / 16) {
        const void *data = NULL;
        size_t n = 0;
        const int rc = program->next(r->program, &data, &n, &said);
        if (rc == LEAT_END) return 1;
        if (rc != 0) return lose_program(r, block, rc, &said, err);
        if (n > LEAT_RECORD_BYTES_MAX || (n && !data)) {
            snprintf(said.message, sizeof said.message,
                     n > LEAT_RECORD_BYTES_MAX ? "it has more than 256 MiB" : "its data is NULL");
            return lose_program(r, block, LEAT_ERR_LIMIT, &said, err);
        }
        const leat__block_record record = {
            .offset = block->bytes.size, .size = (uint32_t)n, .record = r->record++, .shard = r->shard};
        if (n && !leat__buf_append(&block->bytes, data, n)) return leat__fail_memory(err, n, "a record");
        LEAT_TRY(add_record(block, &record, err));
        r->bytes_read += n;
    }
    return 0;
}

/* ----------------------------------------------------------------------------------------------------- */

int leat__shard_read(leat__shard_reader *r, leat__block *block, size_t bytes, leat_error *err) {
    leat__block_clear(block);
    if (!leat__buf_reserve(&block->bytes, bytes)) return leat__fail_memory(err, bytes, "records");
    int rc = 0;
    if (leat__shards_program(r->stream)) {
        rc = read_program(r, block, bytes, err);
        if (rc == 1) close_shard(r);
        return rc;
    }
    if (!r->open) {
        leat_error why;
        rc = open_shard(r, &why);
        if (rc == LEAT_ERR_MEMORY) return leat__fail(err, rc, "%s", why.message);
        if (rc < 0) rc = add_bad(r, block, &why, err) < 0 ? LEAT_ERR_MEMORY : 1;
    }
    size_t at = 0;
    if (!leat__buf_append(&block->bytes, r->tail.data, r->tail.size))
        return leat__fail_memory(err, r->tail.size, "a record");
    r->tail.size = 0;
    if (rc == 0) rc = cut(r, block, &at, bytes, err);
    if (rc == 0 && !leat__buf_append(&r->tail, block->bytes.data + at, block->bytes.size - at))
        rc = leat__fail_memory(err, block->bytes.size - at, "a record");
    r->out_offset += at;
    block->bytes.size = at;
    if (rc == 1) close_shard(r);
    return rc;
}
