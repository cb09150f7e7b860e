/* SPDX-License-Identifier: Apache-2.0 */
/* --store auto: what to store, by measuring. Some samples are stored in each way, and read again as a training run would:
 * to u8 pixels of the asked size. The time of one thread times the threads of the machine, and the bytes over what the disk
 * of the output gives when it is cold, make the rate of each way. The smallest that reaches the asked rate is taken, or the
 * fastest within the asked bytes. All numbers of the table are whole, and it stands in the record. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "tools/pack/pack.h"

enum { SAMPLES = 64, SIDE = 224, WAYS = 3 };
#define SECONDS_NS UINT64_C(1500000000) /* of each measurement, at the most */

typedef struct way {
    leat__storing how;
    uint64_t bytes;        /* of the samples that were looked at, stored so */
    uint64_t ns;           /* one thread made pixels of them in this time   */
    uint64_t n;            /* samples in that time                          */
    uint64_t total;        /* bytes of the whole pack                       */
    uint64_t rate;         /* samples/s                                     */
    uint64_t decode, read; /* what cores and the disk would give      */
} way;

typedef struct deciding {
    leat__packing *packing;
    leat__packer packer;
    leat__mutex large;
    way way[WAYS];
    int n_ways;
    double rate, bytes; /* asked for; 0 = not */
    uint64_t disk;      /* bytes/s, cold      */
    int n_threads;
} deciding;

/* ----------------------------------------------------------------------------------------- measuring */

static leat__value value_of(const leat__stored *stored) {
    return (leat__value){.data = stored->image.data,
                         .bytes = stored->image.n,
                         .dtype = LEAT_DTYPE_BYTES,
                         .ndim = 1,
                         .shape = {(int64_t)stored->image.n}};
}

/* One sample in one way, and what a reader would do with it. False: it is a bad sample. */
static bool try_way(deciding *d, way *w, const leat__value *image, leat__buf *kept) {
    leat__packing *packing = d->packing;
    const leat__storing pixels = {
        .store = LEAT_STORE_RAW, .height = d->way[WAYS - 1].how.height, .width = d->way[WAYS - 1].how.width};
    leat__stored stored;
    int stage;
    leat_error ignored;
    packing->storing = w->how;
    if (leat__pack_store(packing, &d->packer, &d->large, image, false, &stored, &stage, &ignored) < 0)
        return false;
    kept->size = 0;
    if (!leat__buf_append(kept, stored.image.data, stored.image.n)) return false;
    w->bytes += stored.image.n;
    const bool raw = w->how.store == LEAT_STORE_RAW;
    stored.image.data = kept->data;
    leat__value again = value_of(&stored);
    packing->storing = pixels;
    const uint64_t began = leat__now_ns();
    if (raw) memcpy(d->packer.pixels.data, kept->data, kept->size);
    else if (leat__pack_store(packing, &d->packer, &d->large, &again, true, &stored, &stage, &ignored) < 0)
        return false;
    w->ns += leat__now_ns() - began;
    w->n++;
    return true;
}

static int measure_ways(deciding *d, leat_error *err) {
    const leat__pack_input *input = &d->packing->input;
    const uint64_t n = LEAT_MIN(input->n, (uint64_t)SAMPLES), began = leat__now_ns();
    leat__buf kept = {.kind = LEAT_MEM_TOOL};
    for (uint64_t i = 0; i < n && leat__now_ns() - began < WAYS * SECONDS_NS; i++) {
        const uint64_t position = i * input->n / n;
        const leat__where at = {.position = position,
                                .sample = input->sample ? input->sample[position] : position};
        if (leat__run_sample(d->packer.tools, &at, NULL) < 0) continue;
        const leat__value image = d->packer.tools->value[input->plan->output[input->image].value];
        for (int w = 0; w < d->n_ways; w++)
            if (!try_way(d, &d->way[w], &image, &kept)) break;
    }
    leat__buf_free(&kept);
    if (d->way[WAYS - 1].n > 0) return 0;
    return leat__fail(err, LEAT_ERR_DECODE, "%s: none of %" PRIu64 " pictures could be measured",
                      input->plan->source->title, n);
}

/* What the disk of the output gives when nothing is cached: a file is written, forgotten and read. */
static int measure_disk(deciding *d, leat_error *err) {
    enum { PIECE = 1 << 20, PIECES = 32 };
    char path[PATH_MAX];
    leat__stat there;
    const leat__pack_place place = leat__pack_place_of(d->packing);
    uint8_t *piece = leat__alloc(LEAT_MEM_TOOL, PIECE);
    leat__out *out = NULL;
    if (!piece) return leat__fail_memory(err, PIECE, "measuring");
    d->packing->made = leat__file_stat(place.out, &there, NULL) < 0;
    int rc = leat__dir_make(place.out, err);
    leat__pack_shard_path(&place, "", 0, 99999, false, path, sizeof path);
    snprintf(path + strlen(path) - 9, 10, ".measure");
    if (rc == 0) rc = leat__out_open(&out, path, err);
    for (int i = 0; i < PIECES && rc == 0; i++) {
        memset(piece, i, PIECE);
        rc = leat__out_write(out, piece, PIECE, err);
    }
    if (rc == 0) rc = leat__out_commit(&out, err);
    else leat__out_abort(&out);
    leat__file file;
    if (rc == 0 && leat__file_forget(path) && leat__file_open(&file, path, err) == 0) {
        const uint64_t began = leat__now_ns();
        for (int i = 0; i < PIECES && rc == 0; i++)
            rc = leat__file_read_at(&file, piece, PIECE, (uint64_t)i * PIECE, path, err);
        const uint64_t ns = LEAT_MAX(leat__now_ns() - began, (uint64_t)1);
        d->disk = (uint64_t)((double)PIECE * PIECES * 1e9 / (double)ns);
        leat__file_close(&file);
    }
    leat__file_remove(path, NULL);
    leat__free(piece);
    return rc;
}

/* ---------------------------------------------------------------------------------------- choosing */

static void rate_ways(deciding *d) {
    for (int i = 0; i < d->n_ways; i++) {
        way *w = &d->way[i];
        const uint64_t n = LEAT_MAX(w->n, (uint64_t)1);
        const double each = (double)w->bytes / (double)n;
        w->total = (uint64_t)(each * (double)d->packing->input.n * (double)(d->packing->pack.copies + 1));
        w->decode = (uint64_t)((double)n * 1e9 / (double)LEAT_MAX(w->ns, (uint64_t)1) * (double)d->n_threads);
        w->read = d->disk ? (uint64_t)((double)d->disk / LEAT_MAX(each, 1.0)) : UINT64_MAX;
        w->rate = LEAT_MIN(w->decode, w->read);
    }
}

static bool better(const deciding *d, const way *a, const way *b) {
    const bool fits_a = d->bytes == 0 || (double)a->total <= d->bytes,
               fits_b = d->bytes == 0 || (double)b->total <= d->bytes;
    if (fits_a != fits_b) return fits_a;
    const bool fast_a = d->rate > 0 && (double)a->rate >= d->rate,
               fast_b = d->rate > 0 && (double)b->rate >= d->rate;
    if (fast_a != fast_b) return fast_a;
    if (fast_a || (!fits_a && !fits_b)) return a->total < b->total;
    return a->rate > b->rate;
}

static int choose(const deciding *d) {
    int best = 0;
    for (int i = 1; i < d->n_ways; i++)
        if (better(d, &d->way[i], &d->way[best])) best = i;
    return best;
}

static void name_way(const way *w, char *text, size_t cap) {
    if (w->how.store == LEAT_STORE_ORIGINAL) snprintf(text, cap, "original");
    else if (w->how.store == LEAT_STORE_RAW) snprintf(text, cap, "raw %dx%d", w->how.height, w->how.width);
    else snprintf(text, cap, "jpeg %dx%d q%d", w->how.height, w->how.width, w->how.quality);
}

/* ---------------------------------------------------------------------------------------- telling */

static bool write_decided(deciding *d, int chosen) {
    leat__buf *json = &d->packing->decided;
    json->size = 0;
    bool fits = leat__json_printf(json,
                                  "{\"asked_rate\": %.0f, \"asked_bytes\": %.0f, \"threads\": %d, "
                                  "\"disk_bytes_per_s\": %" PRIu64 ", \"measured\": %" PRIu64 ", \"ways\": [",
                                  d->rate, d->bytes, d->n_threads, d->disk, d->way[WAYS - 1].n);
    for (int i = 0; i < d->n_ways && fits; i++) {
        const way *w = &d->way[i];
        char name[60];
        name_way(w, name, sizeof name);
        fits =
            leat__json_printf(json,
                              "%s{\"way\": \"%s\", \"bytes\": %" PRIu64 ", \"decode_per_s\": %" PRIu64
                              ", \"read_per_s\": %" PRIu64 ", \"chosen\": %s}",
                              i ? ", " : "", name, w->total, w->decode,
                              w->read == UINT64_MAX ? (uint64_t)0 : w->read, i == chosen ? "true" : "false");
    }
    return fits && leat__json_printf(json, "]}");
}

static void tell(const deciding *d, int chosen) {
    const leat_tool_config *config = d->packing->config;
    if (!config || !config->log) return;
    char line[200], name[60];
    snprintf(line, sizeof line, "%-22s %12s %14s %14s %12s", "store", "MB in all", "decode/s", "cold read/s",
             "images/s");
    config->log(config->user, LEAT_LOG_INFO, line);
    for (int i = 0; i < d->n_ways; i++) {
        const way *w = &d->way[i];
        name_way(w, name, sizeof name);
        snprintf(line, sizeof line, "%-22s %12.1f %14" PRIu64 " %14.0f %12" PRIu64 "%s", name,
                 (double)w->total / 1e6, w->decode, w->read == UINT64_MAX ? 0.0 : (double)w->read, w->rate,
                 i == chosen ? "  <- chosen" : "");
        config->log(config->user, LEAT_LOG_INFO, line);
    }
    if (d->rate > 0 && (double)d->way[chosen].rate < d->rate) {
        snprintf(line, sizeof line, "no way gives %.0f images/s here: the fastest that is allowed was taken",
                 d->rate);
        config->log(config->user, LEAT_LOG_WARNING, line);
    }
}

/* ---------------------------------------------------------------------------------------------- door */

static int read_asked(deciding *d, leat_error *err) {
    const char *text = d->packing->pack.store, *rate = strstr(text, " rate="),
               *bytes = strstr(text, " bytes=");
    if (rate) d->rate = strtod(rate + 6, NULL);
    if (bytes) d->bytes = strtod(bytes + 7, NULL);
    if (d->rate > 0 || d->bytes > 0) return 0;
    return leat__fail(err, LEAT_ERR_ARGUMENT,
                      "store auto needs a goal: a rate of images/s (--target-rate), or a number of bytes "
                      "(--max-bytes)");
}

static int decide(deciding *d, leat_error *err) {
    leat__packing *packing = d->packing;
    const int height = packing->pack.height ? packing->pack.height : SIDE,
              width = packing->pack.width ? packing->pack.width : SIDE;
    d->n_threads = leat__tool_threads(packing->config);
    d->n_ways = WAYS;
    d->way[0].how = (leat__storing){.store = LEAT_STORE_ORIGINAL, .quality = packing->pack.quality};
    d->way[1].how = (leat__storing){LEAT_STORE_JPEG, height, width, packing->pack.quality};
    d->way[2].how = (leat__storing){LEAT_STORE_RAW, height, width, packing->pack.quality};
    packing->storing = d->way[1].how; /* so that there is an encoder */
    LEAT_TRY(leat__packer_init(&d->packer, packing, &d->large, err));
    LEAT_TRY(measure_disk(d, err));
    LEAT_TRY(measure_ways(d, err));
    rate_ways(d);
    const int chosen = choose(d);
    packing->storing = d->way[chosen].how;
    tell(d, chosen);
    return write_decided(d, chosen) ? 0 : leat__fail_memory(err, packing->decided.size, "a record");
}

int leat__pack_decide(leat__packing *packing, leat_error *err) {
    deciding *d = leat__alloc(LEAT_MEM_TOOL, sizeof *d);
    if (!d) return leat__fail_memory(err, sizeof *d, "measuring");
    d->packing = packing;
    int rc = read_asked(d, err);
    if (rc == 0 && packing->input.pixels)
        rc = leat__fail(err, LEAT_ERR_UNSUPPORTED,
                        "store auto is for image files: arrays of pixels are stored as they are, or as jpeg");
    if (rc == 0 && !packing->pack.force) rc = leat__pack_record_decided(packing, err);
    if (rc == 0) {
        rc = leat__mutex_init(&d->large, LEAT_LOCK_LARGE, err);
        if (rc == 0) {
            rc = decide(d, err);
            leat__packer_free(&d->packer);
            leat__mutex_destroy(&d->large);
        }
    }
    leat__free(d);
    return rc < 0 ? rc : 0;
}
