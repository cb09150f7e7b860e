/* SPDX-License-Identifier: Apache-2.0 */
/* The work of packing. A chunk is a run of consecutive entries of one shard, about a megabyte of records.
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

#include "base/clock.h"
#include "base/hash.h"
#include "base/thread.h"
#include "tools/pack/pack.h"

#define CHUNK_BYTES ((uint64_t)1 << 20)
#define SLOT_BYTES \
    (CHUNK_BYTES + CHUNK_BYTES / 4) /* to begin with: a chunk is as large as it was guessed to be */
enum { CHUNK_ENTRIES = 64, BAD_TOLD = 10, EXTREMES = 5 };

typedef struct chunk {
    uint64_t begin, end;
    uint64_t shard;
} chunk;

typedef struct slot {
    leat__buf bytes; /* whole records       */
    leat__buf note;  /* a line for each     */
    uint64_t n_samples, n_bad;
    bool ready;
} slot;

typedef struct bad_sample {
    uint64_t chunk; /* and place: the order of the pack */
    uint64_t place;
    char message[400];
} bad_sample;

typedef struct extreme { /* an input that was slow or large */
    uint64_t amount, sample;
} extreme;

typedef struct shard_out { /* of the shard that is being written */
    leat__out *out;
    leat__buf note;
    XXH3_state_t *digest;
} shard_out;

typedef struct work {
    leat__packing *packing;
    leat__packer *packer;
    int n_threads;
    chunk *chunk;
    uint64_t n_chunks, n_entries;
    atomic_uint_least64_t n_done, n_rejected, bytes_in;
    atomic_bool cancelled;
    leat__mutex large, finish;
    leat__mutex mutex; /* guards what follows  */
    leat__cond moved;
    slot *slot;
    uint64_t n_slots;
    uint64_t written;   /* chunks               */
    bool writing;       /* someone is at it     */
    shard_out out;      /* the writer's while writing */
    uint64_t failed_at; /* first chunk that failed; UINT64_MAX none */
    leat_error why;
    int n_bad_told;
    bad_sample bad[BAD_TOLD]; /* the first ones       */
    extreme slowest[EXTREMES], largest[EXTREMES];
    uint64_t began_ns;
    char what[100]; /* of the progress */
} work;

/* -------------------------------------------------------------------------------------------- entry */

/* What is wrong with a sample, by its name; the message of a failed read has it already. */
static void name_sample(const work *job, uint64_t sample, leat_error *err) {
    char name[600];
    leat__pack_input_name(job->packing, sample, name, sizeof name);
    leat__error_prefix(err, "%s: ", name);
}

static const char *short_name(const work *job, uint64_t sample, char *text, size_t cap) {
    if (!leat__pack_input_path(job->packing, sample, text, cap))
        job->packing->input.plan->source->class->describe(job->packing->input.plan->source, sample, text,
                                                          cap);
    return text;
}

static int pack_entry(work *job, leat__packer *packer, slot *s, const leat__pack_entry *entry,
                      leat_error *err) {
    const leat__packing *packing = job->packing;
    const leat__pack_input *input = &packing->input;
    leat__tools *tools = entry->copy ? packer->augment : packer->tools;
    const leat__where at = {
        .epoch = (uint64_t)entry->copy, .position = entry->position, .sample = entry->sample};
    LEAT_TRY(leat__run_sample(tools, &at, err));
    const int output = entry->copy ? input->augmented : input->image;
    leat__stored stored, *picture = output >= 0 ? &stored : NULL;
    int stage = LEAT_STAGE_STORE, rc = 0;
    if (picture)
        rc = leat__pack_store(packing, packer, &job->large, &tools->value[tools->plan->output[output].value],
                              entry->copy > 0, picture, &stage, err);
    if (rc == 0) rc = leat__pack_append(packing, packer, tools, entry, picture, &s->bytes, err);
    if (rc < 0) {
        name_sample(job, entry->sample, err);
        err->stage = stage;
        err->sample = entry->sample;
        return rc;
    }
    char name[PATH_MAX];
    int64_t label = 0;
    const bool labelled = leat__pack_label(packing, tools, &label);
    if (!leat__pack_note_sample(&s->note, entry, picture, labelled, label,
                                short_name(job, entry->sample, name, sizeof name)))
        return leat__fail_memory(err, s->note.size, "a note");
    atomic_fetch_add(&job->bytes_in, picture ? stored.bytes_in : 0);
    return 0;
}

/* Copies a file that is left out, for a person to look at. What cannot be read is in rejects.tsv alone. */
static int put_aside(const work *job, uint64_t sample, leat_error *err) {
    const leat__source *source = job->packing->input.plan->source;
    char from[PATH_MAX], name[PATH_MAX], to[2 * PATH_MAX];
    leat__buf bytes = {.kind = LEAT_MEM_TOOL};
    if (!job->packing->pack.quarantine || !source->class->opens ||
        !source->class->opens(source, sample, from, sizeof from) ||
        !leat__pack_input_path(job->packing, sample, name, sizeof name))
        return 0;
    int rc = 0;
    if (leat__file_read_all(from, &bytes, LEAT_RECORD_BYTES_MAX, NULL) == 0) {
        const char *inside = name + strspn(name, "./");
        snprintf(to, sizeof to, "%s/%s", job->packing->pack.quarantine, inside);
        char *slash = strrchr(to, '/');
        *slash = 0;
        rc = strstr(inside, "../") ? 0 : leat__dir_make(to, err);
        *slash = '/';
        if (rc == 0 && !strstr(inside, "../")) rc = leat__file_write(to, bytes.data, bytes.size, err);
    }
    leat__buf_free(&bytes);
    return rc;
}

/* The reason without the name, which stands beside it. */
static void reason_of(const work *job, uint64_t sample, const leat_error *err, char *why, size_t cap) {
    char name[600];
    leat__pack_input_name(job->packing, sample, name, sizeof name);
    leat__tool_reason(why, cap, err->message, name);
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

static void shard_path(const leat__packing *packing, uint64_t number, bool note, char *path, size_t cap) {
    const leat__pack_place place = leat__pack_place_of(packing);
    const leat__pack_set *set = &packing->set[packing->shard[number].set];
    leat__pack_shard_path(&place, set->name, number - set->first_shard, set->n_shards, note, path, cap);
}

static int write_chunk(work *job, uint64_t number, bool *finished, leat_error *err) {
    const chunk *c = &job->chunk[number];
    const slot *s = &job->slot[number % job->n_slots];
    leat__pack_shard *shard = &job->packing->shard[c->shard];
    shard_out *out = &job->out;
    char path[PATH_MAX];
    if (c->begin == shard->begin) {
        shard_path(job->packing, c->shard, false, path, sizeof path);
        LEAT_TRY(leat__out_open(&out->out, path, err));
        XXH3_128bits_reset(out->digest);
        out->note.size = 0;
    }
    LEAT_TRY(leat__out_write(out->out, s->bytes.data, s->bytes.size, err));
    XXH3_128bits_update(out->digest, s->bytes.data, s->bytes.size);
    if (s->note.size && !leat__buf_append(&out->note, s->note.data, s->note.size))
        return leat__fail_memory(err, s->note.size, "a note");
    shard->n_samples += s->n_samples;
    shard->n_bad += s->n_bad;
    *finished = c->end == shard->end;
    return 0;
}

/* The shard, its index, its note: only with the note it is finished. */
static int finish_shard(work *job, uint64_t number, leat__out *out, const leat__buf *note, const char *digest,
                        leat_error *err) {
    leat__pack_shard *shard = &job->packing->shard[number];
    leat__pack_head head = {.identity = job->packing->identity,
                            .n_samples = shard->n_samples,
                            .n_bad = shard->n_bad,
                            .bytes = leat__out_size(out)};
    snprintf(head.digest, sizeof head.digest, "%s", digest);
    char path[PATH_MAX];
    LEAT_TRY(leat__out_commit(&out, err));
    leat__lock(&job->finish);
    leat__pack_out_index(job->packing, number);
    leat__unlock(&job->finish);
    shard_path(job->packing, number, true, path, sizeof path);
    LEAT_TRY(leat__pack_note_write(path, &head, note, err));
    shard->bytes = head.bytes;
    return 0;
}

/* Takes the finished shard from the writer, so that the next one can be begun meanwhile. */
static void take_finished(work *job, leat__out **out, leat__buf *note, char *digest, size_t cap) {
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(job->out.digest));
    for (size_t i = 0; i < sizeof canonical.digest; i++)
        snprintf(digest + 2 * i, cap - 2 * i, "%02x", canonical.digest[i]);
    *out = job->out.out;
    *note = job->out.note;
    job->out.out = NULL;
    job->out.note = (leat__buf){.kind = LEAT_MEM_TOOL};
}

/* Under the mutex, which is given up while writing: writes what is due, unless another is at it. */
static void write_due(work *job) {
    while (!job->writing && job->written < job->n_chunks && job->written < job->failed_at &&
           job->slot[job->written % job->n_slots].ready) {
        const uint64_t due = job->written;
        leat_error err;
        leat__error_clear(&err);
        leat__out *out = NULL;
        leat__buf note = {.kind = LEAT_MEM_TOOL};
        char digest[40] = "";
        bool finished = false;
        job->writing = true;
        leat__unlock(&job->mutex);
        int rc = write_chunk(job, due, &finished, &err);
        if (finished) take_finished(job, &out, &note, digest, sizeof digest);
        leat__lock(&job->mutex);
        slot *s = &job->slot[due % job->n_slots];
        s->bytes.size = s->note.size = 0;
        s->ready = false;
        job->writing = false;
        job->written++;
        pthread_cond_broadcast(&job->moved);
        if (finished) {
            leat__unlock(&job->mutex);
            rc = finish_shard(job, job->chunk[due].shard, out, &note, digest, &err);
            leat__buf_free(&note);
            leat__lock(&job->mutex);
        }
        if (rc < 0) fail_at(job, due, &err);
    }
}

/* Only on the thread that called. The text stays where it is: who shows it compares addresses. */
static int tell_progress(work *job, leat_error *err) {
    const double seconds = (double)(leat__now_ns() - job->began_ns) * 1e-9;
    const uint64_t rejected = atomic_load(&job->n_rejected);
    const double rate = seconds > 0 ? (double)atomic_load(&job->bytes_in) / seconds / 1e6 : 0;
    if (rejected)
        snprintf(job->what, sizeof job->what, "packing, %.0f MB/s, %" PRIu64 " left out", rate, rejected);
    else snprintf(job->what, sizeof job->what, "packing, %.0f MB/s", rate);
    return leat__tool_progress(job->packing->config, job->what, atomic_load(&job->n_done), job->n_entries,
                               err);
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
        const int rc = tell_progress(job, &err);
        if (rc < 0) atomic_store(&job->cancelled, true);
        leat__lock(&job->mutex);
        if (rc < 0) fail_at(job, number, &err);
    }
    leat__unlock(&job->mutex);
    return wanted;
}

/* ------------------------------------------------------------------------------------------- chunk */

/* Keeps the first ones in the order of the pack. */
static void remember_bad(work *job, uint64_t number, uint64_t place, const leat_error *err) {
    leat__lock(&job->mutex);
    int i = LEAT_MIN(job->n_bad_told, BAD_TOLD - 1);
    const bad_sample *last = &job->bad[i];
    if (job->n_bad_told < BAD_TOLD) job->n_bad_told++;
    else if (number > last->chunk || (number == last->chunk && place > last->place)) i = -1;
    if (i >= 0) {
        for (; i > 0 && (job->bad[i - 1].chunk > number ||
                         (job->bad[i - 1].chunk == number && job->bad[i - 1].place > place));
             i--)
            job->bad[i] = job->bad[i - 1];
        job->bad[i].chunk = number;
        job->bad[i].place = place;
        snprintf(job->bad[i].message, sizeof job->bad[i].message, "%.399s", err->message);
    }
    leat__unlock(&job->mutex);
}

static void remember_extreme(extreme *list, uint64_t amount, uint64_t sample) {
    int i = EXTREMES - 1;
    if (amount <= list[i].amount) return;
    for (; i > 0 && list[i - 1].amount < amount; i--) list[i] = list[i - 1];
    list[i] = (extreme){.amount = amount, .sample = sample};
}

static int leave_out(work *job, slot *s, uint64_t number, uint64_t place, const leat__pack_entry *entry,
                     leat_error *err) {
    char name[PATH_MAX], why[900];
    s->n_bad++;
    atomic_fetch_add(&job->n_rejected, 1);
    remember_bad(job, number, place, err);
    reason_of(job, entry->sample, err, why, sizeof why);
    if (!leat__pack_note_reject(&s->note, short_name(job, entry->sample, name, sizeof name), why))
        return leat__fail_memory(err, s->note.size, "a note");
    return entry->copy == 0 ? put_aside(job, entry->sample, err) : 0;
}

static int make_chunk(work *job, uint64_t number, int worker, leat_error *err) {
    const chunk *c = &job->chunk[number];
    slot *s = &job->slot[number % job->n_slots];
    const int set = job->packing->shard[c->shard].set;
    extreme slow = {0}, large = {0}; /* of this chunk: one of each is enough */
    s->bytes.size = s->note.size = 0;
    s->n_samples = s->n_bad = 0;
    for (uint64_t place = c->begin; place < c->end; place++) {
        const leat__pack_entry entry = leat__pack_entry_at(job->packing, set, place);
        if (atomic_load(&job->cancelled)) return leat__fail(err, LEAT_ERR_CANCELLED, "packing was cancelled");
        const uint64_t began = leat__now_ns(), before = s->bytes.size;
        const int rc = pack_entry(job, &job->packer[worker], s, &entry, err);
        const uint64_t ns = leat__now_ns() - began;
        if (ns > slow.amount) slow = (extreme){.amount = ns, .sample = entry.sample};
        if (rc == 0 && s->bytes.size - before > large.amount)
            large = (extreme){.amount = s->bytes.size - before, .sample = entry.sample};
        if (rc == 0) s->n_samples++;
        else if (leat__error_is_fault(err)) return rc;
        else if (job->packing->pack.on_error == LEAT_ON_ERROR_SKIP) {
            LEAT_TRY(leave_out(job, s, number, place, &entry, err));
        } else {
            const size_t n = strlen(err->message);
            snprintf(err->message + n, sizeof err->message - n,
                     ": repair or remove it and run again, or use on_error=skip to leave such images out");
            return rc;
        }
        atomic_fetch_add(&job->n_done, 1);
        /* Worker 0 is the thread that called. */
        if (worker == 0) LEAT_TRY(tell_progress(job, err));
    }
    leat__lock(&job->mutex);
    remember_extreme(job->slowest, slow.amount, slow.sample);
    remember_extreme(job->largest, large.amount, large.sample);
    leat__unlock(&job->mutex);
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
        if (shard->kept || !shard->ours) continue;
        for (uint64_t place = shard->begin; place < shard->end;) {
            chunk c = {.begin = place, .shard = k};
            uint64_t bytes = 0;
            while (place < shard->end && place - c.begin < CHUNK_ENTRIES && bytes < CHUNK_BYTES) {
                const leat__pack_entry entry = leat__pack_entry_at(packing, shard->set, place++);
                bytes += leat__pack_bytes(packing, &entry);
            }
            c.end = place;
            if (!leat__buf_append(&chunks, &c, sizeof c)) {
                leat__buf_free(&chunks);
                return leat__fail_memory(err, sizeof c, "a list of chunks");
            }
        }
        job->n_entries += shard->end - shard->begin;
    }
    job->chunk = (chunk *)chunks.data;
    job->n_chunks = chunks.size / sizeof(chunk);
    return 0;
}

static int open_job(work *job, leat_error *err) {
    LEAT_TRY(cut_chunks(job, err));
    job->began_ns = leat__now_ns();
    job->n_threads = leat__tool_threads(job->packing->config);
    job->n_slots = 2 * (uint64_t)job->n_threads + 1;
    job->packer = leat__alloc(LEAT_MEM_TOOL, (size_t)job->n_threads * sizeof *job->packer);
    job->slot = leat__alloc(LEAT_MEM_TOOL, job->n_slots * sizeof *job->slot);
    job->out.digest = leat__alloc(LEAT_MEM_TOOL, sizeof *job->out.digest);
    job->out.note.kind = LEAT_MEM_TOOL;
    if (!job->packer || !job->slot || !job->out.digest)
        return leat__fail_memory(err, job->n_slots * sizeof *job->slot, "workers");
    for (uint64_t i = 0; i < job->n_slots; i++) {
        slot *s = &job->slot[i];
        s->bytes.kind = s->note.kind = LEAT_MEM_TOOL;
        if (!leat__buf_reserve(&s->bytes, SLOT_BYTES)) return leat__fail_memory(err, SLOT_BYTES, "records");
    }
    for (int i = 0; i < job->n_threads; i++)
        LEAT_TRY(leat__packer_init(&job->packer[i], job->packing, &job->large, err));
    return 0;
}

static void close_job(work *job) {
    leat__out_abort(&job->out.out);
    leat__buf_free(&job->out.note);
    leat__free(job->out.digest);
    for (int i = 0; job->packer && i < job->n_threads; i++) leat__packer_free(&job->packer[i]);
    for (uint64_t i = 0; job->slot && i < job->n_slots; i++) {
        leat__buf_free(&job->slot[i].bytes);
        leat__buf_free(&job->slot[i].note);
    }
    leat__free(job->packer);
    leat__free(job->slot);
    leat__free(job->chunk);
}

static void tell_extremes(const work *job) {
    const leat_tool_config *config = job->packing->config;
    if (!config || !config->log) return;
    for (int i = 0; i < 2 * EXTREMES; i++) {
        const bool slow = i < EXTREMES;
        const extreme *e = slow ? &job->slowest[i] : &job->largest[i - EXTREMES];
        char name[PATH_MAX], line[PATH_MAX + 60];
        if (!e->amount) continue;
        short_name(job, e->sample, name, sizeof name);
        if (slow) snprintf(line, sizeof line, "slowest: %.1f ms %s", (double)e->amount * 1e-6, name);
        else snprintf(line, sizeof line, "largest: %.1f KB %s", (double)e->amount * 1e-3, name);
        config->log(config->user, LEAT_LOG_INFO, line);
    }
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
    leat__mutex *const locks[] = {&job.mutex, &job.finish, &job.large};
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
        if (rc == 0) rc = tell_progress(&job, err); /* the last entry may have been another thread's */
        if (rc == 0) {
            tell_bad(&job);
            tell_extremes(&job);
        }
    }
    close_job(&job);
    while (n_locks > 0) leat__mutex_destroy(locks[--n_locks]);
    pthread_cond_destroy(&job.moved);
    return rc;
}
