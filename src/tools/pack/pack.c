/* SPDX-License-Identifier: Apache-2.0 */
/* leat_pack: a folder of images to sharded TFRecords.
 *
 * Which sample goes to which place of which shard is fixed here, by the folder's index and the options alone,
 * before any work begins. So threads, interruptions and restarts cannot change a byte. */
#include "tools/pack/pack.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/rng.h"
#include "format/example.h"
#include "order/permute.h"

enum { SHARDS_SMALL = 16, SHARDS_MAX = 99999, QUALITY = 95 };
#define SHARD_BYTES ((uint64_t)128 << 20)
#define SHARD_BYTES_SMALL ((uint64_t)4 << 20) /* a small set is cut up no further than this */
#define RECORD_OVERHEAD 64                    /* of TFRecord and Example, about */

uint64_t leat__pack_sample(const leat__packing *self, uint64_t position) {
    if (!self->pack.shuffle) return position;
    if (self->table) return self->table[position];
    return leat__permute_cipher(position, self->folder->n_samples, leat__rng_key(self->pack.seed, 0));
}

uint64_t leat__pack_bytes(const leat__packing *self, uint64_t sample) {
    const uint64_t pixels = (uint64_t)self->pack.width * (uint64_t)self->pack.height;
    if (!pixels) return leat__folder_size(self->folder, sample) + RECORD_OVERHEAD;
    /* Photographs take about these bytes a pixel. */
    const uint64_t percent = self->pack.raw             ? 300
                             : self->pack.quality >= 95 ? 80
                             : self->pack.quality >= 85 ? 35
                                                        : 20;
    return pixels * percent / 100 + RECORD_OVERHEAD;
}

/* ------------------------------------------------------------------------------------------ options */

static bool is_word(const char *text) {
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c < 32 || *c == '/' || *c == 127) return false;
    return *text != 0 && *text != '.' && strlen(text) <= 150;
}

/* An empty record finds out what is wrong with the keys before any image is blamed for it. */
static int check_keys(const leat_pack_config *pack, leat_error *err) {
    leat__feature_value values[] = {{.key = pack->image_key},
                                    {.key = pack->label_key},
                                    {.key = "height"},
                                    {.key = "width"},
                                    {.key = "channels"}};
    leat__buf record = {.kind = LEAT_MEM_TOOL};
    for (int i = 0; i < 2; i++)
        if (!*values[i].key || strlen(values[i].key) > 250)
            return leat__fail(err, LEAT_ERR_ARGUMENT, "the key of a feature is %s",
                              *values[i].key ? "too long" : "empty");
    const int rc = leat__example_write(&record, values, pack->raw ? 5 : 2, err);
    leat__buf_free(&record);
    return rc;
}

static int check_options(leat_pack_config *pack, leat_error *err) {
    if (!pack->prefix) pack->prefix = "data";
    if (!pack->image_key) pack->image_key = "image";
    if (!pack->label_key) pack->label_key = "label";
    if (!pack->quality) pack->quality = QUALITY;
    if (!is_word(pack->prefix))
        return leat__fail(err, LEAT_ERR_ARGUMENT,
                          "the prefix must be the beginning of a file name, without '/' and not hidden");
    if ((pack->width == 0) != (pack->height == 0) || pack->width < 0 || pack->height < 0 ||
        pack->width > 16384 || pack->height > 16384)
        return leat__fail(err, LEAT_ERR_ARGUMENT,
                          "a size of %d x %d: both sides must lie between 1 and 16384", pack->width,
                          pack->height);
    if (pack->raw && !pack->width)
        return leat__fail(err, LEAT_ERR_ARGUMENT,
                          "raw pixels need a size: all records of a set should have one shape");
    if (pack->quality < 1 || pack->quality > 100)
        return leat__fail(err, LEAT_ERR_ARGUMENT, "quality %d: it lies between 1 and 100", pack->quality);
    if (pack->n_shards < 0 || pack->n_shards > SHARDS_MAX)
        return leat__fail(err, LEAT_ERR_ARGUMENT, "%d shards: at most %d", pack->n_shards, SHARDS_MAX);
    if (pack->on_error != LEAT_ON_ERROR_RAISE && pack->on_error != LEAT_ON_ERROR_SKIP)
        return leat__fail(err, LEAT_ERR_ARGUMENT,
                          "on_error must be raise or skip: a pack holds every sample once");
    return check_keys(pack, err);
}

/* An output inside of the source would become part of it, one more class at least. */
static int check_places(const leat__packing *self, leat_error *err) {
    char probe[PATH_MAX];
    leat__stat st;
    if ((size_t)snprintf(probe, sizeof probe, "%s", self->out) >= sizeof probe - 512)
        return leat__fail(err, LEAT_ERR_ARGUMENT, "the name of the output folder is too long");
    while (leat__file_stat(probe, &st, NULL) < 0) { /* up to what exists already */
        char *slash = strrchr(probe, '/');
        if (!slash || slash == probe) {
            snprintf(probe, sizeof probe, "%s", slash ? "/" : ".");
            break;
        }
        *slash = 0;
    }
    char *from = leat__real_path(self->from), *out = leat__real_path(probe);
    const size_t n = from ? strlen(from) : 0;
    int rc = from && out ? 0 : leat__fail_memory(err, PATH_MAX, "a path");
    if (rc == 0 && strncmp(out, from, n) == 0 && (out[n] == 0 || out[n] == '/'))
        rc = leat__fail(err, LEAT_ERR_ARGUMENT,
                        "the output lies inside of the source and would become part of it: name a folder "
                        "outside of %.600s",
                        self->from);
    leat__free(from);
    leat__free(out);
    return rc;
}

/* -------------------------------------------------------------------------------------------- plan */

static int plan_order(leat__packing *self, leat_error *err) {
    const uint64_t n = self->folder->n_samples;
    if (!self->pack.shuffle || n > LEAT_PERMUTE_TABLE_MAX) return 0;
    self->table = leat__alloc(LEAT_MEM_TOOL, n * sizeof *self->table);
    if (!self->table) return leat__fail_memory(err, n * sizeof *self->table, "a shuffled order");
    leat__permute_table(self->table, (uint32_t)n, leat__rng_at(self->pack.seed, 0, 0, 0));
    return 0;
}

/* Ranges of positions with about the same bytes each, none of them empty. */
static int plan_shards(leat__packing *self, leat_error *err) {
    const uint64_t n = self->folder->n_samples;
    uint64_t total = 0;
    for (uint64_t i = 0; i < n; i++) total += leat__pack_bytes(self, i);
    self->bytes_expected = total;
    uint64_t n_shards = (uint64_t)self->pack.n_shards;
    if (n_shards > n)
        return leat__fail(err, LEAT_ERR_ARGUMENT, "%" PRIu64 " images are too few for %" PRIu64 " shards", n,
                          n_shards);
    if (!n_shards && self->pack.shard_bytes) n_shards = total / self->pack.shard_bytes + 1;
    if (!n_shards)
        n_shards =
            LEAT_MAX(total / SHARD_BYTES + 1, LEAT_MIN(total / SHARD_BYTES_SMALL, (uint64_t)SHARDS_SMALL));
    self->n_shards = n_shards = LEAT_MIN(LEAT_MIN(n_shards, n), (uint64_t)SHARDS_MAX);
    self->shard = leat__alloc(LEAT_MEM_TOOL, n_shards * sizeof *self->shard);
    if (!self->shard) return leat__fail_memory(err, n_shards * sizeof *self->shard, "shards");
    uint64_t position = 0, bytes = 0;
    for (uint64_t k = 0; k < n_shards; k++) {
        const uint64_t target = (uint64_t)((__uint128_t)total * (k + 1) / n_shards),
                       last = n - (n_shards - k - 1);
        self->shard[k].begin = position;
        do bytes += leat__pack_bytes(self, leat__pack_sample(self, position++));
        while (position < last &&
               (k + 1 == n_shards ||
                bytes + leat__pack_bytes(self, leat__pack_sample(self, position)) / 2 <= target));
        self->shard[k].end = position;
    }
    return 0;
}

/* What makes two packs the same; on_error does not: what a finished shard holds was good. */
static void write_title(leat__packing *self) {
    const leat_pack_config *p = &self->pack;
    char how[80] = "files as they are", order[60] = "in order", image[300], label[300];
    if (p->raw) snprintf(how, sizeof how, "%dx%d raw pixels", p->width, p->height);
    else if (p->width) snprintf(how, sizeof how, "%dx%d jpeg quality %d", p->width, p->height, p->quality);
    if (p->shuffle) snprintf(order, sizeof order, "shuffled with seed %" PRIu64, p->seed);
    snprintf(self->title, sizeof self->title,
             "leat pack 1\nsource %" PRIu64 " images, fingerprint %016" PRIx64 "\nstored %s, %s, %" PRIu64
             " shards, keys '%s' and '%s'\n--\n",
             self->folder->n_samples, self->folder->fingerprint, how, order, self->n_shards,
             leat__printable(image, sizeof image, p->image_key, strlen(p->image_key)),
             leat__printable(label, sizeof label, p->label_key, strlen(p->label_key)));
}

/* --------------------------------------------------------------------------------------------- run */

static void explain_full_disk(const leat__packing *self, leat_error *err) {
    char message[sizeof err->message];
    const int sys = err->sys;
    uint64_t done = 0;
    for (uint64_t i = 0; i < self->n_shards; i++) done += self->shard[i].bytes;
    memcpy(message, err->message, sizeof message);
    const double missing = self->bytes_expected > done ? (double)(self->bytes_expected - done) : 0;
    leat__fail(err, err->code,
               "%.700s: about %.0f MB more are needed; finished shards are kept: make room and run it again",
               message, missing / 1e6 + 1);
    err->sys = sys;
}

static int run(leat__packing *self, leat_error *err) {
    const leat__folder_options folder = {.path = self->from};
    const leat__open_options open = leat__tool_open_options(self->config);
    LEAT_TRY(leat__folder_open(&self->folder, &folder, &open, err));
    leat__tool_warn(self->config, self->folder);
    self->labelled = self->folder->n_fields > 1;
    LEAT_TRY(check_places(self, err));
    LEAT_TRY(plan_order(self, err));
    LEAT_TRY(plan_shards(self, err));
    write_title(self);
    LEAT_TRY(leat__pack_out_open(self, err));
    return leat__pack_work(self, err);
}

int leat_pack(const char *source, const char *out, const leat_pack_config *pack, leat_pack_report *report,
              const leat_tool_config *config, leat_error *err) {
    leat_error own;
    if (!err) err = &own;
    leat__error_clear(err);
    leat_pack_report unwanted, *told = report ? report : &unwanted;
    *told = (leat_pack_report){0};
    if (!source || !*source || !out || !*out)
        return leat__fail(err, LEAT_ERR_ARGUMENT, "leat_pack: the name of a folder is empty");
    LEAT_TRY(leat__tool_config_check(config, err));
    if (pack) LEAT_TRY(LEAT_CHECK_RESERVED(leat_pack_config, pack, err));
    leat__packing self = {.from = source, .out = out, .config = config, .journal.fd = -1};
    if (pack) self.pack = *pack;
    LEAT_TRY(check_options(&self.pack, err));
    int rc = run(&self, err);
    if (rc < 0 && (err->sys == ENOSPC || err->sys == EDQUOT)) explain_full_disk(&self, err);
    told->n_shards = self.n_shards;
    told->n_classes = self.labelled ? (int)self.folder->n_classes : 0;
    for (uint64_t i = 0; self.shard && i < self.n_shards; i++) {
        told->n_samples += self.shard[i].n_samples;
        told->n_bad += self.shard[i].n_bad;
        told->n_kept += self.shard[i].kept;
        told->bytes += self.shard[i].bytes;
    }
    if (rc == 0 && told->n_samples == 0)
        rc = leat__fail(err, LEAT_ERR_DECODE, "not one of the %" PRIu64 " images in %.600s could be packed",
                        told->n_bad, source);
    /* Pictures that cannot be used, and not one that can: an empty pack would look like a finished one. */
    if ((rc == LEAT_ERR_DECODE || rc == LEAT_ERR_CORRUPT) && told->n_samples == 0 && told->n_kept == 0)
        leat__pack_out_discard(&self);
    leat__pack_out_close(&self);
    leat__source_free(&self.folder);
    leat__free(self.table);
    leat__free(self.shard);
    return rc;
}
