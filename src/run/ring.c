/* SPDX-License-Identifier: Apache-2.0 */
#include "run/ring.h"

#include <stdio.h>
#include <unistd.h>

#include "sample/padding.h"

static void slot_free(leat__slot *slot) {
    leat__ring *ring = slot->ring;
    /* What the caller allocated is the caller's to free; without a function for it, it stays. */
    if (ring->alloc && ring->free) ring->free(ring->user, slot->memory, ring->slot_bytes);
    else if (!ring->alloc) leat__free_pages(slot->memory);
    for (int i = 0; i < ring->n_outputs && slot->count; i++) leat__free(slot->count[i]);
    for (int i = 0; i < ring->n_outputs && slot->offsets; i++) leat__free(slot->offsets[i]);
    leat__free(slot->count);
    leat__free(slot->offsets);
    leat__free(slot->sample);
    leat__free(slot->position);
    leat__free(slot->params);
    leat__free(slot->params_text);
    leat__records_free(&slot->records);
    leat__free(slot->mark);
    leat__free(slot->dropped);
    leat__free(slot);
}

static void ring_free(leat__ring *ring) {
    for (int i = 0; i < ring->n_slots; i++) slot_free(ring->slot[i]);
    leat__mutex_destroy(&ring->mutex);
    pthread_cond_destroy(&ring->work);
    pthread_cond_destroy(&ring->progress);
    leat__free(ring);
}

static bool slot_params(leat__slot *slot) {
    const size_t batch = (size_t)slot->ring->batch;
    slot->params = leat__alloc(LEAT_MEM_SLOT, batch * sizeof *slot->params);
    slot->params_text = leat__alloc(LEAT_MEM_SLOT, batch * LEAT_PARAMS_BYTES);
    if (!slot->params || !slot->params_text) return false;
    for (size_t i = 0; i < batch; i++) {
        slot->params[i].text = slot->params_text + i * LEAT_PARAMS_BYTES;
        slot->params[i].cap = LEAT_PARAMS_BYTES;
    }
    return true;
}

/* Numbers that tell the size of one sample of a field: how many values, or how many along each axis. */
static int counts_of(const leat__output *out) {
    return out->field.ragged ? 1 : out->padded || out->unsized ? out->field.ndim : 0;
}

static void copy_counts(int64_t *count, const leat__output *out, int to, int from) {
    const int n = counts_of(out);
    for (int i = 0; i < n; i++) count[to * n + i] = from < 0 ? 0 : count[from * n + i];
}

static bool slot_arrays(leat__slot *slot) {
    const leat__ring *ring = slot->ring;
    const size_t batch = (size_t)ring->batch, n = (size_t)ring->n_outputs;
    slot->sample = leat__alloc(LEAT_MEM_SLOT, batch * sizeof *slot->sample);
    slot->position = leat__alloc(LEAT_MEM_SLOT, batch * sizeof *slot->position);
    slot->dropped = leat__alloc(LEAT_MEM_SLOT, batch);
    slot->count = leat__alloc(LEAT_MEM_SLOT, n * sizeof *slot->count);
    slot->offsets = leat__alloc(LEAT_MEM_SLOT, n * sizeof *slot->offsets);
    if (!slot->sample || !slot->position || !slot->dropped || !slot->count || !slot->offsets) return false;
    if (ring->stream) {
        slot->records = leat__records_new(ring->stream, ring->n_records + ring->n_others);
        slot->mark = leat__mark_new();
        if (!slot->records || !slot->mark) return false;
    }
    if (ring->params && !slot_params(slot)) return false;
    for (size_t i = 0; i < n; i++) {
        const leat__output *out = &ring->output[i];
        const size_t counts = batch * (size_t)counts_of(out);
        if (counts == 0) continue;
        slot->count[i] = leat__alloc(LEAT_MEM_SLOT, counts * sizeof(int64_t));
        if (!slot->count[i]) return false;
        if (!out->field.ragged) continue;
        slot->offsets[i] = leat__alloc(LEAT_MEM_SLOT, (batch + 1) * sizeof(int64_t));
        if (!slot->offsets[i]) return false;
    }
    return true;
}

/* A slot that the ring does not know yet; NULL without memory. */
static leat__slot *slot_new(leat__ring *ring) {
    leat__slot *slot = leat__alloc(LEAT_MEM_SLOT, sizeof *slot);
    if (!slot) return NULL;
    slot->ring = ring;
    slot->memory = ring->alloc ? ring->alloc(ring->user, ring->slot_bytes, 4096)
                               : leat__reserve_pages(ring->slot_bytes, ring->slot_used);
    if (!slot->memory) {
        leat__free(slot);
        return NULL;
    }
    if (slot_arrays(slot)) return slot;
    slot_free(slot);
    return NULL;
}

int leat__ring_add(leat__ring *ring, leat_error *err) {
    leat__slot *slot = slot_new(ring);
    if (!slot) return leat__fail_memory(err, ring->slot_bytes, "a batch");
    leat__lock(&ring->mutex);
    const bool fits = ring->n_slots < LEAT_SLOTS_MAX;
    if (fits) ring->slot[ring->n_slots++] = slot; /* from here on the ring frees it */
    leat__unlock(&ring->mutex);
    if (fits) return 0;
    slot_free(slot);
    return leat__fail(err, LEAT_ERR_LIMIT, "more than %d batches in memory", LEAT_SLOTS_MAX);
}

int leat__ring_new(leat__ring **out, const leat__plan *plan, const leat_config *config, leat_error *err) {
    *out = NULL;
    leat__ring *ring = leat__alloc(LEAT_MEM_SLOT, sizeof *ring);
    if (!ring) return leat__fail_memory(err, sizeof *ring, "the ring of batches");
    int rc = leat__mutex_init(&ring->mutex, LEAT_LOCK_SCHED, err);
    if (rc == 0) rc = leat__cond_init(&ring->work, err);
    if (rc == 0) rc = leat__cond_init(&ring->progress, err);
    if (rc < 0) {
        leat__free(ring);
        return rc;
    }
    ring->batch = plan->batch;
    ring->n_outputs = plan->n_outputs;
    memcpy(ring->output, plan->output, sizeof ring->output);
    ring->slot_bytes = ring->slot_used = LEAT_MAX(plan->slot_bytes, (size_t)4096);
    for (int i = 0; i < plan->n_outputs; i++)
        if (plan->output[i].unsized) ring->slot_used -= plan->output[i].stride - plan->output[i].usual;
    ring->stream = plan->stream ? plan : NULL;
    const bool spares = leat__plan_pads(plan) && !plan->drop_remainder && plan->rank > 0;
    ring->n_records = plan->batch * (spares ? 2 : 1);
    if (ring->stream && plan->on_error == LEAT_ON_ERROR_REPLACE && plan->batch < LEAT_OTHERS)
        ring->n_others = LEAT_OTHERS;
    ring->params = config->params != 0;
    ring->owner = getpid();
    ring->alloc = config->slot_alloc;
    ring->free = config->slot_free;
    ring->log = config->log;
    ring->user = config->user;
    ring->n_used = plan->n_slots_begin;
    for (int i = 0; i < plan->n_slots && rc == 0; i++) rc = leat__ring_add(ring, err);
    if (rc < 0) ring_free(ring);
    else *out = ring;
    return rc;
}

void leat__ring_close(leat__ring **handle) {
    leat__ring *ring = *handle;
    if (!ring) return;
    *handle = NULL;
    leat__lock(&ring->mutex);
    ring->orphan = true;
    const bool last = ring->n_leased == 0;
    leat__unlock(&ring->mutex);
    if (last) ring_free(ring);
}

leat__slot *leat__ring_free_slot(leat__ring *ring) {
    for (int i = 0; i < ring->n_used; i++)
        if (ring->slot[i]->state == LEAT_SLOT_FREE) return ring->slot[i];
    return NULL;
}

void leat__slot_lease(leat__slot *slot, leat_batch *batch) {
    leat__ring *ring = slot->ring;
    slot->state = LEAT_SLOT_LEASED;
    slot->generation = ++ring->generations;
    ring->n_leased++;
    *batch = (leat_batch){.n = slot->n,
                          .n_valid = slot->n_valid,
                          .n_tensors = ring->n_outputs,
                          .tensor = slot->tensor,
                          .sample = slot->sample,
                          .position = slot->position,
                          .epoch = slot->begin.epoch,
                          .step = slot->begin.step,
                          .lease = slot,
                          .generation = slot->generation};
}

void leat_batch_release(leat_batch *batch) {
    if (!batch || !batch->lease) return;
    leat__slot *slot = batch->lease;
    leat__ring *ring = slot->ring;
    const uint64_t generation = batch->generation;
    *batch = (leat_batch){0};
    /* In a forked child the mutex may be held for ever; its copy of the memory goes with the child. */
    if (ring->owner != getpid()) return;
    leat__lock(&ring->mutex);
    const bool held = slot->state == LEAT_SLOT_LEASED && slot->generation == generation;
    const bool last = held && --ring->n_leased == 0 && ring->orphan;
    const leat_log_fn say = held || ring->orphan ? NULL : ring->log;
    void *user = ring->user;
    if (held) {
        slot->state = LEAT_SLOT_FREE;
        pthread_cond_signal(&ring->work);
        pthread_cond_signal(&ring->progress); /* a consumer may wait because all were held */
    }
    leat__unlock(&ring->mutex);
    if (last) ring_free(ring);
    if (say)
        say(user, LEAT_LOG_WARNING,
            "leat_batch_release: this batch was released before, as another copy of the struct; nothing was "
            "done");
}

const char *leat_batch_params(const leat_batch *batch, int i) {
    const leat__slot *slot = batch ? batch->lease : NULL;
    const bool held = slot && slot->generation == batch->generation;
    return held && slot->params && i >= 0 && i < batch->n ? slot->params[i].text : "";
}

void leat__ring_count(leat__ring *ring, const leat__slot *slot) {
    size_t used = ring->slot_bytes;
    for (int i = 0; i < ring->n_outputs; i++)
        if (ring->output[i].unsized)
            used -= ring->output[i].stride - (size_t)(slot->tensor[i].shape[0] * slot->tensor[i].stride[0]);
    if (used <= ring->slot_used) return;
    ring->slot_used = used;
    for (int i = 0; i < ring->n_slots; i++) leat__count_pages(ring->slot[i]->memory, used);
}

/* ------------------------------------------------------------------------------------------- finish */

void leat__slot_note_bad(leat__slot *slot, int place, const leat_error *err) {
    const leat_bad bad = {
        .sample = err->sample, .epoch = slot->begin.epoch, .stage = err->stage, .code = err->code};
    int at = slot->n_bad < LEAT_SLOT_BAD_MAX ? slot->n_bad : -1;
    slot->n_bad++;
    /* When there are too many, those of the lowest places stay, in whichever order they came. */
    for (int i = 0; at < 0 && i < LEAT_SLOT_BAD_MAX; i++) {
        int highest = i;
        for (int k = i + 1; k < LEAT_SLOT_BAD_MAX; k++)
            if (slot->bad[k].place > slot->bad[highest].place) highest = k;
        if (slot->bad[highest].place <= place) return;
        at = highest;
    }
    slot->bad[at].place = place;
    slot->bad[at].bad = bad;
    leat__printable(slot->bad[at].bad.message, sizeof slot->bad[at].bad.message, err->message,
                    strlen(err->message));
}

int leat__slot_record(const leat__slot *slot, int place) {
    const leat__ring *ring = slot->ring;
    if (place < slot->n_valid) return place;
    return ring->n_records - ring->batch + place % (int)LEAT_MIN(slot->n_global, (uint64_t)ring->batch);
}

/* Each keeps a text of its own. */
static void swap_params(leat__params *a, leat__params *b) {
    const leat__params kept = *a;
    *a = *b;
    *b = kept;
}

static void close_holes(leat__slot *slot) {
    const leat__ring *ring = slot->ring;
    int kept = 0, valid = 0;
    for (int i = 0; i < slot->n; i++) {
        if (slot->dropped[i]) continue;
        valid += i < slot->n_valid;
        if (kept != i) {
            slot->sample[kept] = slot->sample[i];
            slot->position[kept] = slot->position[i];
            if (slot->params) swap_params(&slot->params[kept], &slot->params[i]);
            for (int k = 0; k < ring->n_outputs; k++) {
                const leat__output *out = &ring->output[k];
                memmove(slot->memory + leat__output_at(out, slot->bucket, kept),
                        slot->memory + leat__output_at(out, slot->bucket, i),
                        leat__output_stride(out, slot->bucket));
                copy_counts(slot->count[k], out, kept, i);
            }
        }
        kept++;
    }
    slot->n = kept;
    slot->n_valid = valid;
}

/* Zeros in the only place of a field whose size is that of its sample: of length 1 along the axes that differ. */
static void zero_unsized(leat__slot *slot, int k) {
    const leat__output *out = &slot->ring->output[k];
    size_t bytes = out->item;
    if (out->field.ragged) {
        slot->count[k][0] = 0;
        return;
    }
    for (int i = 0; i < out->field.ndim; i++) {
        slot->count[k][i] = out->field.shape[i] < 0 ? 1 : out->field.shape[i];
        bytes *= (size_t)slot->count[k][i];
    }
    memset(slot->memory + out->offset, 0, LEAT_MIN(bytes, out->stride));
}

/* Every place again has a sample, or zeros if none is left: all ranks hand over batches of one size. */
static void fill_places(leat__slot *slot) {
    const leat__ring *ring = slot->ring;
    const int kept = slot->n;
    for (; slot->n < ring->batch; slot->n++) {
        const int to = slot->n, from = kept ? to % kept : to;
        slot->sample[to] = kept ? slot->sample[from] : LEAT_NO_SAMPLE;
        slot->position[to] = kept ? slot->position[from] : slot->begin.position;
        if (slot->params) leat__params_clear(&slot->params[to]);
        for (int k = 0; k < ring->n_outputs; k++) {
            const leat__output *out = &ring->output[k];
            const size_t stride = leat__output_stride(out, slot->bucket);
            uint8_t *place = slot->memory + leat__output_at(out, slot->bucket, to);
            if (out->unsized) {
                zero_unsized(slot, k);
                continue;
            }
            if (kept) memcpy(place, slot->memory + leat__output_at(out, slot->bucket, from), stride);
            else memset(place, 0, stride);
            copy_counts(slot->count[k], out, to, kept ? from : -1);
        }
    }
}

static void pack_ragged(leat__slot *slot, int k) {
    const leat__output *out = &slot->ring->output[k];
    uint8_t *base = slot->memory + out->offset;
    int64_t total = 0;
    for (int i = 0; i < slot->n; i++) {
        slot->offsets[k][i] = total;
        const size_t bytes = (size_t)slot->count[k][i] * out->item;
        memmove(base + (size_t)total * out->item, base + (size_t)i * out->stride, bytes);
        total += slot->count[k][i];
    }
    slot->offsets[k][slot->n] = total;
}

void leat__slot_finish(leat__slot *slot) {
    const leat__ring *ring = slot->ring;
    if (slot->holes) close_holes(slot);
    if (slot->holes && slot->fill) fill_places(slot);
    for (int i = 0; slot->params && i < slot->n; i++) leat__params_finish(&slot->params[i]);
    for (int k = 0; k < ring->n_outputs; k++) {
        const leat__output *out = &ring->output[k];
        leat_tensor *t = &slot->tensor[k];
        for (int i = 0; out->valid && i < slot->n; i++)
            slot->memory[leat__output_at(out, slot->bucket, i)] = i < slot->n_valid;
        *t = (leat_tensor){
            .name = out->field.name, .data = slot->memory + out->offset, .dtype = out->field.dtype};
        if (out->field.ragged) {
            pack_ragged(slot, k);
            t->ndim = out->field.ndim;
            t->shape[0] = slot->offsets[k][slot->n];
            t->stride[0] = (int64_t)out->item;
            for (int i = 1; i < t->ndim; i++) {
                t->shape[i] = out->field.shape[i];
                t->stride[i] = t->stride[i - 1] / LEAT_MAX(t->shape[i], (int64_t)1);
            }
            t->offsets = slot->offsets[k];
            continue;
        }
        if (out->padded) {
            leat__padding_apply(out, slot->memory + out->offset, slot->count[k], slot->n, t);
            continue;
        }
        t->ndim = out->field.ndim + 1;
        t->shape[0] = slot->n;
        int64_t stride = (int64_t)out->item;
        for (int i = out->field.ndim; i >= 1; i--) {
            t->shape[i] =
                out->unsized ? slot->count[k][i - 1] : leat__output_length(out, slot->bucket, i - 1);
            t->stride[i] = stride;
            stride *= t->shape[i];
        }
        t->stride[0] = stride;
    }
}
