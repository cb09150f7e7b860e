/* SPDX-License-Identifier: Apache-2.0 */
/* The positions of all JPEGs of a source, ahead of their first epoch. To get to the last pixel of a picture, a decoder
 * goes past everything else and notes it on the way, without making any pixels of it. */
#include "base/cpu.h"
#include "base/thread.h"
#include "cache/jpeg_store.h"
#include "plan/limit.h"
#include "tools/tools.h"

typedef struct noting {
    const leat__source *source;
    bool records; /* tf.train.Examples with JPEGs in them; else samples are images */
    leat__jpeg_store *store;
    leat__tool_worker *workers;
    const leat_tool_config *config;
    atomic_uint_least64_t done, n_noted;
} noting;

/* What cannot be decoded has no positions; `leat check` says what is wrong with it. */
static void note_image(noting *job, leat__tool_worker *worker, const uint8_t *bytes, size_t n) {
    leat__decode_positions noted;
    leat__picture_info info;
    uint8_t pixel[8];
    if (!leat__jpeg_store_take(job->store, bytes, n, &worker->pixels, &noted)) return;
    const leat__decode_options options = {.positions = &noted};
    if (leat__decode_begin(worker->decoder, bytes, n, &options, &info, NULL) < 0) return;
    int rc = info.detour ? LEAT_ERR_UNSUPPORTED : 0;
    const leat__box last = {info.width - 1, info.height - 1, 1, 1};
    if (rc == 0) rc = leat__decode_region(worker->decoder, &last, NULL);
    if (rc == 0) rc = leat__decode_rows(worker->decoder, pixel, sizeof pixel, 1, NULL);
    if (leat__decode_end(worker->decoder, NULL) < 0 || rc < 0) return;
    leat__jpeg_store_put(job->store, &noted);
    if (noted.bytes_all) atomic_fetch_add(&job->n_noted, 1);
}

static void note_record(noting *job, leat__tool_worker *worker, const uint8_t *bytes, size_t n) {
    leat__example_iter iter;
    leat__feature f;
    leat_error ignored;
    leat__example_iter_init(&iter, bytes, n);
    while (leat__example_iter_next(&iter, &f, &ignored) > 0) {
        const uint8_t *image;
        size_t image_n;
        const int64_t count = f.kind == LEAT_FEATURE_BYTES ? leat__feature_count(&f) : 0;
        for (int64_t i = 0; i < count; i++)
            if (leat__feature_bytes(&f, (size_t)i, &image, &image_n) == 0)
                note_image(job, worker, image, image_n);
    }
}

static int note_sample(void *user, uint64_t sample, int number, leat_error *err) {
    noting *job = user;
    leat__tool_worker *worker = &job->workers[number];
    leat__value values[LEAT_FIELDS_MAX];
    if (job->source->class->read(job->source, &worker->reader, sample, values, NULL) == 0) {
        if (job->records) note_record(job, worker, values[0].data, values[0].bytes);
        else note_image(job, worker, values[0].data, values[0].bytes);
    }
    const uint64_t done = atomic_fetch_add(&job->done, 1) + 1;
    if (number != 0) return 0;
    return leat__tool_progress(job->config, "finding positions", done, job->source->n_samples, err);
}

/* Waits for the writer: a position that is not kept is of no use here. */
static int keep_all(noting *job, leat_error *err) {
    int rc = 1;
    while (rc > 0) {
        rc = leat__jpeg_store_flush(job->store, 100000000, err);
        if (rc > 0)
            LEAT_TRY(leat__tool_progress(job->config, "writing positions", atomic_load(&job->done),
                                         job->source->n_samples, err));
    }
    if (rc < 0) leat__error_prefix(err, "the positions are not kept: ");
    return rc;
}

int leat__tool_checkpoints(const leat__source *source, bool records, const leat__open_options *open,
                           const leat_tool_config *config, uint64_t *n_noted, leat_error *err) {
    const int n_threads = leat__tool_threads(config);
    leat__open_options options = *open;
    options.refresh =
        !source->class->sharded; /* shards of one folder share them, and this may be some of the shards */
    uint64_t cache_bytes_max;
    LEAT_TRY(leat__cache_limit(open->cache_dir, &cache_bytes_max, err));
    const leat__jpeg_store_options how = {/* as much as a pipeline with its usual budget can load */
                                          .bytes_max =
                                              (size_t)(leat__memory_available() / 4 / LEAT_JPEG_STORE_PART),
                                          .n_files = source->n_samples,
                                          .home = source->home,
                                          .open = &options,
                                          .cache_bytes_max = cache_bytes_max};
    noting job = {.source = source, .records = records, .config = config};
    LEAT_TRY(leat__jpeg_store_open(&job.store, &how, err));
    int rc = leat__jpeg_store_start(job.store, err);
    if (rc == 0 && !(job.workers = leat__tool_workers_new(n_threads, err))) rc = LEAT_ERR_MEMORY;
    if (rc == 0) rc = leat__parallel(n_threads, source->n_samples, note_sample, &job, err);
    if (job.workers) leat__tool_readers_free(job.workers, n_threads, source);
    leat__tool_workers_free(&job.workers, n_threads);
    if (rc == 0) rc = keep_all(&job, err);
    leat__jpeg_store_close(&job.store);
    *n_noted += atomic_load(&job.n_noted);
    return rc;
}
