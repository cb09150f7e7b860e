/* SPDX-License-Identifier: Apache-2.0 */
/* The work of packing. A chunk is a run of consecutive positions of one shard, about a megabyte of records.
 * Workers take the next chunk, make its bytes in a slot of a small ring, and the worker that finds that the oldest
 * chunk is ready writes it:
 *
 *     written                 taken
 *        v                      v
 *     [ready][ready][made][made][free]        ring of slots, chunk c in slot c mod n
 *
 * So the records of a shard follow one another in their fixed order, all threads work even on a single shard,
 * few shards are open at a time, and memory is bounded by the ring. A finished shard is synced and renamed by
 * the worker that wrote its last chunk while the others go on.
 *
 * The first chunk that fails, in the order of the pack and not of time, decides what is reported: chunks
 * before it are completed, those after it are given up. */
#include <limits.h>
#include <stdio.h>

#include "base/cpu.h"
#include "base/thread.h"
#include "format/example.h"
#include "format/tfrecord.h"
#include "image/pass/pass.h"
#include "tools/encode.h"
#include "tools/pack/pack.h"

#define CHUNK_BYTES ((uint64_t)1 << 20)
#define LARGE_PICTURE ((size_t)64 << 20) /* decoding that needs more takes turns */
enum { CHUNK_SAMPLES = 64, BAND_ROWS = 16, BAD_TOLD = 10 };

typedef struct packer { /* of one worker */
    leat__reader reader;
    leat__decoder *decoder;
    leat__encoder *encoder;
    leat__image_dsp dsp;
    leat__pass_scratch scratch;
    leat__buf band, pixels, file;
} packer;

typedef struct chunk {
    uint64_t begin, end;
    uint64_t shard;
} chunk;

typedef struct slot {
    leat__buf bytes; /* whole records */
    uint64_t n_samples, n_bad;
    bool ready;
} slot;

typedef struct bad_sample {
    uint64_t position;
    char message[400];
} bad_sample;

typedef struct work {
    leat__packing *packing;
    packer *packer;
    int n_threads;
    chunk *chunk;
    uint64_t n_chunks, n_samples;
    atomic_uint_least64_t n_done; /* samples              */
    atomic_bool cancelled;
    leat__mutex large, journal;
    leat__mutex mutex; /* guards what follows  */
    leat__cond moved;
    slot *slot;
    uint64_t n_slots;
    uint64_t written;   /* chunks               */
    bool writing;       /* someone is at it     */
    leat__out *out;     /* the shard being written, the writer's while writing */
    uint64_t failed_at; /* first chunk that failed; UINT64_MAX none */
    leat_error why;
    int n_bad_told;
    bad_sample bad[BAD_TOLD]; /* the first ones       */
} work;

/* ------------------------------------------------------------------------------------------- sample */

typedef struct decoding { /* rows on demand, in bands */
    packer *worker;
    int height, begin, end;
    size_t stride;
} decoding;

static int decode_row(leat__rows *rows, int y, const void **out, leat_error *err) {
    decoding *d = rows->user;
    while (y >= d->end) {
        d->begin = d->end;
        const int n = LEAT_MIN(BAND_ROWS, d->height - d->begin);
        LEAT_TRY(leat__decode_rows(d->worker->decoder, d->worker->band.data, (ptrdiff_t)d->stride, n, err));
        d->end += n;
    }
    *out = d->worker->band.data + (size_t)(y - d->begin) * d->stride;
    return 0;
}

/* To height x width x 3 in worker->pixels. */
static int shrink_within(const work *job, packer *worker, const leat__value *file, size_t memory_max,
                         leat_error *err) {
    const leat_pack_config *pack = &job->packing->pack;
    const leat__decode_options options = {.channels = 3, .memory_max = memory_max};
    leat__picture_info info;
    LEAT_TRY(leat__decode_begin(worker->decoder, file->data, file->bytes, &options, &info, err));
    decoding d = {.worker = worker, .height = info.height};
    d.stride = LEAT_ALIGN_UP((size_t)info.width * 3, (size_t)LEAT_CACHE_LINE);
    leat__rows rows = {.height = info.height,
                       .width = info.width,
                       .channels = 3,
                       .dtype = LEAT_DTYPE_U8,
                       .row = decode_row,
                       .user = &d};
    leat__pass pass = {.resample = LEAT_RESAMPLE_PIL_BILINEAR,
                       .height = pack->height,
                       .width = pack->width,
                       .dtype = LEAT_DTYPE_U8};
    const size_t bytes = (size_t)pack->height * (size_t)pack->width * 3;
    int rc = 0;
    if (!leat__buf_reserve(&worker->band, d.stride * BAND_ROWS))
        rc = leat__fail_memory(err, d.stride * BAND_ROWS, "rows");
    else if (!leat__buf_reserve(&worker->pixels, bytes)) rc = leat__fail_memory(err, bytes, "a picture");
    if (rc == 0) rc = leat__pass_run(&pass, &worker->dsp, &rows, worker->pixels.data, &worker->scratch, err);
    const void *row;
    /* What the pass had no use for must be sound too: this is the moment to find damage. */
    if (rc == 0 && d.end < d.height) rc = decode_row(&rows, d.height - 1, &row, err);
    leat_error end;
    const int ended = leat__decode_end(worker->decoder, &end);
    if (rc < 0 || ended == 0) return rc;
    *err = end;
    return ended;
}

static int shrink(work *job, packer *worker, const leat__value *file, leat_error *err) {
    const int rc = shrink_within(job, worker, file, LARGE_PICTURE, err);
    if (rc >= 0 || !leat__decoder_wants_more(worker->decoder)) return rc;
    leat__lock(&job->large);
    const int again = shrink_within(job, worker, file, 0, err);
    leat__decoder_trim(worker->decoder, LARGE_PICTURE);
    leat__unlock(&job->large);
    return again;
}

/* The bytes that go into the record; they live until the worker's next sample. */
static int make_image(work *job, packer *worker, const leat__value *file, leat__span *image, int *stage,
                      leat_error *err) {
    const leat_pack_config *pack = &job->packing->pack;
    *stage = LEAT_STAGE_DECODE;
    *image = (leat__span){.data = file->data, .n = file->bytes};
    if (!pack->width) {
        leat__picture_info info;
        /* A header that makes no sense is bad; a picture that this decoder cannot do may be good for
         * another. */
        const int rc = leat__decode_info(worker->decoder, file->data, file->bytes, NULL, &info, err);
        return rc == LEAT_ERR_DECODE ? rc : 0;
    }
    LEAT_TRY(shrink(job, worker, file, err));
    *image = (leat__span){.data = worker->pixels.data, .n = (size_t)pack->height * (size_t)pack->width * 3};
    if (pack->raw) return 0;
    *stage = LEAT_STAGE_STORE;
    const leat__pixels pixels = {
        .data = worker->pixels.data, .height = pack->height, .width = pack->width, .channels = 3};
    LEAT_TRY(
        leat__encode_jpeg(worker->encoder, &worker->file, &pixels, pack->quality, pack->quality >= 95, err));
    *image = (leat__span){.data = worker->file.data, .n = worker->file.size};
    return 0;
}

static int append_record(const work *job, leat__buf *bytes, const leat__span *image, int64_t label,
                         leat_error *err) {
    const leat_pack_config *pack = &job->packing->pack;
    const int64_t size[3] = {pack->height, pack->width, 3};
    leat__feature_value values[5] = {
        {.key = pack->image_key, .kind = LEAT_FEATURE_BYTES, .n = 1, .values = image},
    };
    int n = 1;
    if (job->packing->labelled)
        values[n++] = (leat__feature_value){
            .key = pack->label_key, .kind = LEAT_FEATURE_INT64, .n = 1, .values = &label};
    static const char *const keys[3] = {"height", "width", "channels"};
    for (int i = 0; i < 3 && pack->raw; i++)
        values[n++] =
            (leat__feature_value){.key = keys[i], .kind = LEAT_FEATURE_INT64, .n = 1, .values = &size[i]};
    const size_t before = bytes->size, at = before + LEAT_TFRECORD_HEADER;
    uint8_t header[LEAT_TFRECORD_HEADER] = {0}, footer[LEAT_TFRECORD_FOOTER];
    if (!leat__buf_append(bytes, header, sizeof header))
        return leat__fail_memory(err, sizeof header, "a record");
    int rc = leat__example_write(bytes, values, n, err);
    const size_t length = bytes->size - at;
    if (rc == 0 && length > LEAT_RECORD_BYTES_MAX)
        rc = leat__fail(err, LEAT_ERR_LIMIT, "a record of %zu bytes; the limit is %zu", length,
                        LEAT_RECORD_BYTES_MAX);
    if (rc == 0) {
        leat__tfrecord_write_header(bytes->data + before, length);
        leat__tfrecord_write_footer(footer, bytes->data + at, length);
        if (!leat__buf_append(bytes, footer, sizeof footer))
            rc = leat__fail_memory(err, sizeof footer, "a record");
    }
    if (rc < 0) bytes->size = before;
    return rc;
}

static int pack_sample(work *job, packer *worker, leat__buf *bytes, uint64_t sample, leat_error *err) {
    const leat__source *folder = job->packing->folder;
    leat__value values[2] = {{0}};
    leat__span image;
    int stage = LEAT_STAGE_READ;
    int rc = folder->class->read(folder, &worker->reader, sample, values, err);
    if (rc == 0) {
        rc = make_image(job, worker, &values[0], &image, &stage, err);
        int64_t label = 0;
        if (values[1].data) memcpy(&label, values[1].data, sizeof label);
        if (rc == 0) rc = append_record(job, bytes, &image, label, err);
        if (rc < 0) { /* the message of a failed read names the file already */
            char path[PATH_MAX], shown[500];
            leat__folder_path(folder, sample, path, sizeof path, NULL);
            leat__error_prefix(err, "%.300s/%s: ", job->packing->from,
                               leat__printable(shown, sizeof shown, path, strlen(path)));
        }
    }
    if (rc < 0) {
        err->stage = stage;
        err->sample = sample;
    }
    return rc;
}

/* -------------------------------------------------------------------------------------------- write */

/* Under the mutex. */
static void fail_at(work *job, uint64_t at, const leat_error *err) {
    if (at < job->failed_at) {
        job->failed_at = at;
        job->why = *err;
    }
    pthread_cond_broadcast(&job->moved);
}

static int write_chunk(work *job, uint64_t number, leat__out **finished, leat_error *err) {
    const chunk *c = &job->chunk[number];
    const slot *s = &job->slot[number % job->n_slots];
    leat__pack_shard *shard = &job->packing->shard[c->shard];
    char path[PATH_MAX];
    *finished = NULL;
    if (c->begin == shard->begin) {
        leat__pack_shard_path(job->packing, c->shard, path, sizeof path);
        LEAT_TRY(leat__out_open(&job->out, path, err));
    }
    LEAT_TRY(leat__out_write(job->out, s->bytes.data, s->bytes.size, err));
    shard->n_samples += s->n_samples;
    shard->n_bad += s->n_bad;
    if (c->end == shard->end) {
        *finished = job->out;
        job->out = NULL;
    }
    return 0;
}

static int finish_shard(work *job, uint64_t shard, leat__out *out, leat_error *err) {
    const uint64_t bytes = leat__out_size(out);
    LEAT_TRY(leat__out_commit(&out, err));
    job->packing->shard[shard].bytes = bytes;
    leat__lock(&job->journal);
    const int rc = leat__pack_out_finish(job->packing, shard, err);
    leat__unlock(&job->journal);
    return rc;
}

/* Under the mutex, which is given up while writing: writes what is due, unless another is at it. */
static void write_due(work *job) {
    while (!job->writing && job->written < job->n_chunks && job->written < job->failed_at &&
           job->slot[job->written % job->n_slots].ready) {
        const uint64_t due = job->written;
        leat_error err;
        leat__error_clear(&err);
        leat__out *finished;
        job->writing = true;
        leat__unlock(&job->mutex);
        int rc = write_chunk(job, due, &finished, &err);
        leat__lock(&job->mutex);
        slot *s = &job->slot[due % job->n_slots];
        s->bytes.size = 0;
        s->ready = false;
        job->writing = false;
        job->written++;
        pthread_cond_broadcast(&job->moved);
        if (finished) {
            leat__unlock(&job->mutex);
            rc = finish_shard(job, job->chunk[due].shard, finished, &err);
            leat__lock(&job->mutex);
        }
        if (rc < 0) fail_at(job, due, &err);
    }
}

/* Waits until the slot of a chunk is free. False: the chunk is not wanted any more. */
static bool wait_for_slot(work *job, uint64_t number, int worker) {
    bool wanted = true;
    leat_error err;
    leat__lock(&job->mutex);
    for (;;) {
        write_due(job);
        wanted = number < job->failed_at && !atomic_load(&job->cancelled);
        if (!wanted || number < job->written + job->n_slots) break;
        leat__cond_wait_for(&job->moved, &job->mutex, 100000000);
        if (worker != 0) continue;
        leat__unlock(&job->mutex);
        const int rc = leat__tool_progress(job->packing->config, "packing", atomic_load(&job->n_done),
                                           job->n_samples, &err);
        if (rc < 0) atomic_store(&job->cancelled, true);
        leat__lock(&job->mutex);
        if (rc < 0) fail_at(job, number, &err);
    }
    leat__unlock(&job->mutex);
    return wanted;
}

/* ------------------------------------------------------------------------------------------- chunk */

/* Keeps the first ones in the order of the pack. */
static void remember_bad(work *job, uint64_t position, const leat_error *err) {
    leat__lock(&job->mutex);
    int i = LEAT_MIN(job->n_bad_told, BAD_TOLD - 1);
    if (job->n_bad_told < BAD_TOLD) job->n_bad_told++;
    else if (position > job->bad[i].position) i = -1;
    if (i >= 0) {
        for (; i > 0 && job->bad[i - 1].position > position; i--) job->bad[i] = job->bad[i - 1];
        job->bad[i].position = position;
        snprintf(job->bad[i].message, sizeof job->bad[i].message, "%.399s", err->message);
    }
    leat__unlock(&job->mutex);
}

static int make_chunk(work *job, uint64_t number, int worker, leat_error *err) {
    const chunk *c = &job->chunk[number];
    slot *s = &job->slot[number % job->n_slots];
    s->bytes.size = 0;
    s->n_samples = s->n_bad = 0;
    for (uint64_t position = c->begin; position < c->end; position++) {
        const uint64_t sample = leat__pack_sample(job->packing, position);
        if (atomic_load(&job->cancelled)) return leat__fail(err, LEAT_ERR_CANCELLED, "packing was cancelled");
        const int rc = pack_sample(job, &job->packer[worker], &s->bytes, sample, err);
        if (rc == 0) s->n_samples++;
        else if (leat__error_is_fault(err)) return rc;
        else if (job->packing->pack.on_error == LEAT_ON_ERROR_SKIP) {
            s->n_bad++;
            remember_bad(job, position, err);
        } else {
            const size_t n = strlen(err->message);
            snprintf(err->message + n, sizeof err->message - n,
                     ": repair or remove it and run again, or use on_error=skip to leave such images out");
            return rc;
        }
        const uint64_t n_done = atomic_fetch_add(&job->n_done, 1) + 1;
        /* Worker 0 is the thread that called. */
        if (worker == 0)
            LEAT_TRY(leat__tool_progress(job->packing->config, "packing", n_done, job->n_samples, err));
    }
    return 0;
}

static int pack_chunk(void *user, uint64_t number, int worker, leat_error *err) {
    work *job = user;
    if (!wait_for_slot(job, number, worker)) return LEAT_ERR_CANCELLED;
    const int rc = make_chunk(job, number, worker, err);
    if (rc == LEAT_ERR_CANCELLED) atomic_store(&job->cancelled, true);
    leat__lock(&job->mutex);
    if (rc < 0) fail_at(job, number, err);
    else job->slot[number % job->n_slots].ready = true;
    write_due(job);
    leat__unlock(&job->mutex);
    return rc;
}

/* --------------------------------------------------------------------------------------------- job */

static int cut_chunks(work *job, leat_error *err) {
    const leat__packing *packing = job->packing;
    leat__buf chunks = {.kind = LEAT_MEM_TOOL};
    for (uint64_t k = 0; k < packing->n_shards; k++) {
        const leat__pack_shard *shard = &packing->shard[k];
        if (shard->kept) continue;
        for (uint64_t position = shard->begin; position < shard->end;) {
            chunk c = {.begin = position, .shard = k};
            uint64_t bytes = 0;
            while (position < shard->end && position - c.begin < CHUNK_SAMPLES && bytes < CHUNK_BYTES)
                bytes += leat__pack_bytes(packing, leat__pack_sample(packing, position++));
            c.end = position;
            if (!leat__buf_append(&chunks, &c, sizeof c)) {
                leat__buf_free(&chunks);
                return leat__fail_memory(err, sizeof c, "a list of chunks");
            }
        }
        job->n_samples += shard->end - shard->begin;
    }
    job->chunk = (chunk *)chunks.data;
    job->n_chunks = chunks.size / sizeof(chunk);
    return 0;
}

static int open_job(work *job, leat_error *err) {
    const leat_pack_config *pack = &job->packing->pack;
    LEAT_TRY(cut_chunks(job, err));
    job->n_threads = leat__tool_threads(job->packing->config);
    job->n_slots = 2 * (uint64_t)job->n_threads + 1;
    job->packer = leat__alloc(LEAT_MEM_TOOL, (size_t)job->n_threads * sizeof *job->packer);
    job->slot = leat__alloc(LEAT_MEM_TOOL, job->n_slots * sizeof *job->slot);
    if (!job->packer || !job->slot)
        return leat__fail_memory(err, job->n_slots * sizeof *job->slot, "workers");
    for (uint64_t i = 0; i < job->n_slots; i++) job->slot[i].bytes.kind = LEAT_MEM_TOOL;
    for (int i = 0; i < job->n_threads; i++) {
        packer *p = &job->packer[i];
        p->reader.bytes.kind = p->reader.extra.kind = p->band.kind = p->pixels.kind = p->file.kind =
            LEAT_MEM_TOOL;
        leat__image_dsp_init(&p->dsp, leat__cpu_flags());
        p->decoder = leat__decoder_new(err);
        if (!p->decoder) return LEAT_ERR_MEMORY;
        if (!pack->width || pack->raw) continue;
        p->encoder = leat__encoder_new(err);
        if (!p->encoder) return LEAT_ERR_MEMORY;
    }
    return 0;
}

static void close_job(work *job) {
    leat__out_abort(&job->out);
    for (int i = 0; job->packer && i < job->n_threads; i++) {
        packer *p = &job->packer[i];
        leat__reader_free(job->packing->folder, &p->reader);
        leat__decoder_free(&p->decoder);
        leat__encoder_free(&p->encoder);
        leat__pass_scratch_free(&p->scratch);
        leat__buf_free(&p->band);
        leat__buf_free(&p->pixels);
        leat__buf_free(&p->file);
    }
    for (uint64_t i = 0; job->slot && i < job->n_slots; i++) leat__buf_free(&job->slot[i].bytes);
    leat__free(job->packer);
    leat__free(job->slot);
    leat__free(job->chunk);
}

static void tell_bad(const work *job) {
    const leat_tool_config *config = job->packing->config;
    uint64_t n_bad = 0;
    for (uint64_t i = 0; i < job->packing->n_shards; i++)
        n_bad += job->packing->shard[i].kept ? 0 : job->packing->shard[i].n_bad;
    if (!config || !config->log) return;
    for (int i = 0; i < job->n_bad_told; i++) {
        char line[450];
        snprintf(line, sizeof line, "left out: %s", job->bad[i].message);
        config->log(config->user, LEAT_LOG_WARNING, line);
    }
    if (n_bad <= BAD_TOLD) return;
    char line[80];
    snprintf(line, sizeof line, "left out: %" PRIu64 " more", n_bad - BAD_TOLD);
    config->log(config->user, LEAT_LOG_WARNING, line);
}

int leat__pack_work(leat__packing *packing, leat_error *err) {
    work job = {.packing = packing, .failed_at = UINT64_MAX};
    leat__mutex *const locks[] = {&job.mutex, &job.journal, &job.large};
    static const leat__lock_rank rank[] = {LEAT_LOCK_TOOL, LEAT_LOCK_JOURNAL, LEAT_LOCK_LARGE};
    size_t n_locks = 0;
    int rc = leat__cond_init(&job.moved, err);
    if (rc < 0) return rc;
    while (n_locks < LEAT_COUNT(locks) && rc == 0) {
        rc = leat__mutex_init(locks[n_locks], rank[n_locks], err);
        n_locks += rc == 0;
    }
    if (rc == 0) rc = open_job(&job, err);
    if (rc == 0 && job.n_chunks > 0) {
        rc = leat__parallel(job.n_threads, job.n_chunks, pack_chunk, &job, NULL);
        if (job.failed_at != UINT64_MAX) { /* the last writer may have failed after its chunk was made */
            rc = job.why.code;
            *err = job.why;
        }
        if (rc == 0) tell_bad(&job);
    }
    close_job(&job);
    while (n_locks > 0) leat__mutex_destroy(locks[--n_locks]);
    pthread_cond_destroy(&job.moved);
    return rc;
}
