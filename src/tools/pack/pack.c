/* SPDX-License-Identifier: Apache-2.0 */
/* leat_pack: a data set to sharded TFRecords. Checks the options and calls the parts of pack.h one after the other. */
#include "tools/pack/pack.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

enum { QUALITY = 95, SHARDS_MAX = 99999, SIDE_MAX = 16384, COPIES_MAX = 1000, PARTS_MAX = 99999 };
/* What a pack takes on a disk besides records: of each entry in note and index; of each shard in three files and at the end
 * in some lists, whose last block is not full. */
enum { NOTE_BYTES = 80, SHARD_FILES = 3, LIST_FILES = 8, BLOCK_BYTES = 4096 };

/* ------------------------------------------------------------------------------------------ options */

static bool is_word(const char *text, const char *word) {
    const size_t n = strlen(word);
    return strncmp(text, word, n) == 0 && (text[n] == 0 || text[n] == ' ');
}

static int read_store(leat__packing *self, leat_error *err) {
    const leat_pack_config *pack = &self->pack;
    leat__storing *how = &self->storing;
    *how = (leat__storing){.height = pack->height, .width = pack->width, .quality = pack->quality};
    how->store = pack->raw ? LEAT_STORE_RAW : pack->width ? LEAT_STORE_JPEG : LEAT_STORE_ORIGINAL;
    if (!pack->store || is_word(pack->store, "auto")) return 0;
    if (strcmp(pack->store, "original") == 0) how->store = LEAT_STORE_ORIGINAL;
    else if (strcmp(pack->store, "jpeg") == 0) how->store = LEAT_STORE_JPEG;
    else if (strcmp(pack->store, "raw") == 0) how->store = LEAT_STORE_RAW;
    else
        return leat__fail(err, LEAT_ERR_ARGUMENT, "store is original, jpeg, raw or auto, not '%.100s'",
                          pack->store);
    if (how->store == LEAT_STORE_ORIGINAL && (pack->width || pack->raw))
        return leat__fail(
            err, LEAT_ERR_ARGUMENT,
            "files that are stored as they are keep their size: leave the size out, or store jpeg "
            "or raw");
    return 0;
}

static int check_numbers(const leat_pack_config *pack, leat_error *err) {
    if ((pack->width == 0) != (pack->height == 0) || pack->width < 0 || pack->height < 0 ||
        pack->width > SIDE_MAX || pack->height > SIDE_MAX)
        return leat__fail(err, LEAT_ERR_ARGUMENT, "a size of %d x %d: both sides must lie between 1 and %d",
                          pack->width, pack->height, (int)SIDE_MAX);
    if (pack->quality < 1 || pack->quality > 100)
        return leat__fail(err, LEAT_ERR_ARGUMENT, "quality %d: it lies between 1 and 100", pack->quality);
    if (pack->n_shards < 0 || pack->n_shards > SHARDS_MAX)
        return leat__fail(err, LEAT_ERR_ARGUMENT, "%d shards: at most %d", pack->n_shards, (int)SHARDS_MAX);
    if (pack->n_parts < 0 || pack->n_parts > PARTS_MAX || pack->part < 0 ||
        pack->part >= LEAT_MAX(pack->n_parts, 1))
        return leat__fail(err, LEAT_ERR_ARGUMENT, "part %d of %d: parts are 0/N to N-1/N", pack->part,
                          pack->n_parts);
    if (pack->copies < 0 || pack->copies > COPIES_MAX || (pack->copies > 0) != (pack->augment != NULL))
        return leat__fail(err, LEAT_ERR_ARGUMENT,
                          "augment and copies go together: what makes the copies, and 1 to %d of them",
                          (int)COPIES_MAX);
    return 0;
}

static int check_options(leat__packing *self, leat_error *err) {
    leat_pack_config *pack = &self->pack;
    if (!pack->prefix) pack->prefix = LEAT_PACK_PREFIX;
    if (!pack->quality) pack->quality = QUALITY;
    if (pack->quarantine) pack->on_error = LEAT_ON_ERROR_SKIP;
    if (!leat__pack_prefix_allowed(pack->prefix))
        return leat__fail(err, LEAT_ERR_ARGUMENT,
                          "the prefix must be the beginning of a file name, without '/' and not hidden");
    LEAT_TRY(check_numbers(pack, err));
    LEAT_TRY(read_store(self, err));
    if (self->storing.store == LEAT_STORE_RAW && !pack->width)
        return leat__fail(err, LEAT_ERR_ARGUMENT,
                          "raw pixels need a size: all records of a set should have one shape");
    if (pack->on_error != LEAT_ON_ERROR_RAISE && pack->on_error != LEAT_ON_ERROR_SKIP)
        return leat__fail(err, LEAT_ERR_ARGUMENT,
                          "on_error must be raise or skip: a pack holds every sample once");
    if (pack->n_parts && pack->force)
        return leat__fail(
            err, LEAT_ERR_ARGUMENT,
            "force removes what other parts have made: remove the folder before the parts begin");
    return leat__pack_keys_read(self, err);
}

/* ------------------------------------------------------------------------------------------- places */

/* An output inside of a folder of images would become part of it, one more class at least. */
static int check_places(const leat__packing *self, leat_error *err) {
    char probe[PATH_MAX];
    leat__stat st;
    if ((size_t)snprintf(probe, sizeof probe, "%s", self->out) >= sizeof probe - 512)
        return leat__fail(err, LEAT_ERR_ARGUMENT, "the name of the output folder is too long");
    if (!self->input.plan->source->class->tree || leat__file_stat(self->from, &st, NULL) < 0) return 0;
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

static int check_input(const leat__packing *self, leat_error *err) {
    const leat__pack_input *input = &self->input;
    if (input->image < 0 && (self->storing.store != LEAT_STORE_ORIGINAL || self->pack.store))
        return leat__fail(
            err, LEAT_ERR_NOT_FOUND,
            "%s: there are no pictures that could be stored in another way: leave size and store "
            "out",
            input->plan->source->title);
    if (self->pack.quarantine && !input->plan->source->class->opens)
        return leat__fail(
            err, LEAT_ERR_UNSUPPORTED,
            "only files can be put aside, and %s has none for each sample: rejects.tsv names what "
            "is left out",
            input->plan->source->class->name);
    return 0;
}

/* --------------------------------------------------------------------------------------------- run */

/* Bytes that the shards which are left still take. Those that are finished tell how good the guess was. */
static uint64_t bytes_left(const leat__packing *self, uint64_t *n_left) {
    uint64_t made = 0, made_guess = 0, left_guess = 0, entries = 0;
    *n_left = 0;
    for (uint64_t i = 0; i < self->n_shards; i++) {
        const leat__pack_shard *shard = &self->shard[i];
        if (!shard->ours) continue;
        made += shard->bytes;
        if (shard->bytes) {
            made_guess += shard->guessed;
        } else {
            left_guess += shard->guessed;
            entries += shard->end - shard->begin;
            ++*n_left;
        }
    }
    const double scale = made_guess ? (double)made / (double)made_guess : 1;
    return (uint64_t)((double)left_guess * scale) + entries * NOTE_BYTES +
           (SHARD_FILES * *n_left + LIST_FILES) * BLOCK_BYTES;
}

static bool disk_is_full(const leat_error *err) {
    return err->sys == ENOSPC || err->sys == EDQUOT;
}

/* What was begun is removed by now, so its bytes count as free. A quota is not told: then all that is left counts as missing. */
static void explain_full_disk(const leat__packing *self, leat_error *err) {
    char message[sizeof err->message];
    const int sys = err->sys;
    uint64_t n_left;
    const uint64_t left = bytes_left(self, &n_left), room = sys == ENOSPC ? leat__dir_free(self->out) : 0;
    const uint64_t missing = left > room ? left - room : BLOCK_BYTES;
    memcpy(message, err->message, sizeof message);
    leat__fail(err, err->code,
               "%.700s: about %" PRIu64 " bytes (%.1f MB) are missing for the %" PRIu64 " of %" PRIu64
               " shards that are left; finished shards are kept: make room and run it again",
               message, missing, (double)missing / 1e6, n_left, self->n_shards);
    err->sys = sys;
}

static int settle(leat__packing *self, leat_error *err) {
    LEAT_TRY(leat__pack_keys_settle(self, err));
    LEAT_TRY(leat__pack_lay_out(self, err));
    LEAT_TRY(leat__pack_record_write(self, err));
    return leat__pack_out_open(self, err);
}

/* Parts that begin at once may measure different things. The first record counts, and the others follow it. */
static int settle_auto(leat__packing *self, leat_error *err) {
    const leat__pack_keys keys = self->keys;
    int rc = LEAT_ERR_STATE;
    for (int i = 0; i < 2 && rc == LEAT_ERR_STATE; i++) {
        leat__pack_layout_free(self);
        self->keys = keys;
        LEAT_TRY(leat__pack_decide(self, err));
        rc = settle(self, err);
    }
    return rc;
}

static int run(leat__packing *self, leat_error *err) {
    LEAT_TRY(leat__pack_input_open(self, err));
    LEAT_TRY(check_places(self, err));
    LEAT_TRY(check_input(self, err));
    const bool decides = self->pack.store && is_word(self->pack.store, "auto");
    LEAT_TRY(decides ? settle_auto(self, err) : settle(self, err));
    return leat__pack_work(self, err);
}

static void sum_up(const leat__packing *self, leat_pack_report *told) {
    const leat__plan *plan = self->input.plan;
    told->n_classes = plan && self->input.label >= 0 ? (int)plan->source->n_classes : 0;
    for (uint64_t i = 0; self->shard && i < self->n_shards; i++) {
        told->n_samples += self->shard[i].n_samples;
        told->n_bad += self->shard[i].n_bad;
        told->n_kept += self->shard[i].kept;
        told->n_shards += self->shard[i].ours;
        told->bytes += self->shard[i].bytes;
    }
}

static int finish(leat__packing *self, leat_pack_report *told, int rc, leat_error *err) {
    sum_up(self, told);
    if (rc == 0 && told->n_samples == 0 && self->pack.n_parts == 0)
        rc = leat__fail(err, LEAT_ERR_DECODE, "not one of the %" PRIu64 " images in %.600s could be packed",
                        told->n_bad, self->from);
    /* Pictures that cannot be used, and not one that can: an empty pack would look like a finished one. */
    if (rc < 0 && rc != LEAT_ERR_IO && self->opened && !leat__error_is_fault(err) && told->n_samples == 0 &&
        told->n_kept == 0)
        leat__pack_out_discard(self);
    if (rc == 0 && self->pack.n_parts == 0) {
        const leat__pack_place place = leat__pack_place_of(self);
        rc = leat__pack_join(&place, self->config, told, err);
    }
    if (rc < 0 && self->shard && disk_is_full(err)) explain_full_disk(self, err);
    return rc;
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
    leat__packing *self = leat__alloc(LEAT_MEM_TOOL, sizeof *self);
    if (!self) return leat__fail_memory(err, sizeof *self, "packing");
    *self = (leat__packing){.from = source, .out = out, .config = config, .lock.fd = -1};
    self->record.kind = self->decided.kind = LEAT_MEM_TOOL;
    if (pack) self->pack = *pack;
    int rc = check_options(self, err);
    if (rc == 0) rc = finish(self, told, run(self, err), err);
    leat__pack_out_close(self);
    leat__pack_layout_free(self);
    leat__pack_input_close(&self->input);
    leat__pack_inflate_end(self);
    leat__buf_free(&self->record);
    leat__buf_free(&self->decided);
    leat__free(self);
    return rc;
}
