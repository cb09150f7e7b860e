/* SPDX-License-Identifier: Apache-2.0 */
/* Several sources as one: one after the other, where every sample is a sample of one part, or side by side (zip), where
 * it is made of one sample of each. The order decides which samples come, and when (order/branch.c). This file
 * splits the number of a sample into those of the parts, and puts their fields into the slots of the whole.
 *
 * A combined source may be a part of another one. Plain sources are numbered from the first to the last, at any depth,
 * so that operations of one part are run for its samples only. */
#include <stdio.h>

#include "base/hash.h"
#include "source/source.h"

typedef struct combined {
    leat__source base;
    leat__source_class class; /* without what one of the parts cannot do */
    bool zip, streams;
    leat__part *part;
    uint64_t *first; /* (n_parts) number of its first sample in the whole */
    int *leaf;       /* (n_parts) number of its first plain source        */
    uint32_t known;  /* bit i: the index of every part that fills slot i knows it */
} combined;

typedef struct part_reader {
    const leat__source *source;
    leat__reader reader;
} part_reader;

typedef struct reader_state {
    int n;
    part_reader part[];
} reader_state;

/* ------------------------------------------------------------------------------------------- numbers */

static int part_of(const combined *self, uint64_t sample) {
    int low = 0, high = self->base.n_parts;
    while (high - low > 1) {
        const int mid = low + (high - low) / 2;
        if (self->first[mid] <= sample) low = mid;
        else high = mid;
    }
    return low;
}

/* The part's own number of a sample that it has a share in. */
static uint64_t number_in(const combined *self, int k, uint64_t sample) {
    const leat__part *part = &self->part[k];
    if (!self->zip) return sample - self->first[k];
    if (part->stride) return sample / part->stride % part->source->n_samples;
    return part->pick ? part->pick[sample] : sample;
}

/* The parts of a sample are [*begin, *end). */
static void share(const combined *self, uint64_t sample, int *begin, int *end) {
    *begin = self->zip ? 0 : part_of(self, sample);
    *end = self->zip ? self->base.n_parts : *begin + 1;
}

static uint64_t parts(const leat__source *source, uint64_t sample) {
    const combined *self = (const combined *)source;
    int begin, end;
    uint64_t all = 0;
    share(self, sample, &begin, &end);
    for (int k = begin; k < end; k++) {
        const leat__source *part = self->part[k].source;
        const uint64_t own = part->class->parts ? part->class->parts(part, number_in(self, k, sample)) : 1;
        all |= own << self->leaf[k];
    }
    return all;
}

/* -------------------------------------------------------------------------------------------- reading */

static reader_state *state_of(const combined *self, leat__reader *reader, leat_error *err) {
    if (reader->state) return reader->state;
    const size_t bytes =
        sizeof(reader_state) + (size_t)self->base.n_parts * sizeof(((reader_state *)NULL)->part[0]);
    reader_state *state = reader->state = leat__alloc(LEAT_MEM_WORKER, bytes);
    if (!state) {
        leat__fail_memory(err, bytes, "a reader");
        return NULL;
    }
    state->n = self->base.n_parts;
    for (int k = 0; k < state->n; k++) {
        state->part[k].source = self->part[k].source;
        state->part[k].reader.bytes.kind = state->part[k].reader.extra.kind = LEAT_MEM_WORKER;
    }
    return state;
}

/* Slots that a sample does not fill must not keep the values of the sample before. */
static void clear_values(const leat__source *source, leat__value *values) {
    for (int i = 0; i < source->n_fields; i++) values[i] = (leat__value){.dtype = LEAT_DTYPE_BYTES};
}

static void put_values(const leat__part *part, const leat__value *own, leat__value *values) {
    for (int i = 0; i < part->source->n_fields; i++)
        if (part->slot[i] >= 0) values[part->slot[i]] = own[i];
}

static int read_combined(const leat__source *source, leat__reader *reader, uint64_t sample,
                         leat__value *values, leat_error *err) {
    const combined *self = (const combined *)source;
    reader_state *state = state_of(self, reader, err);
    leat__value own[LEAT_FIELDS_MAX];
    int begin, end;
    if (!state) return LEAT_ERR_MEMORY;
    clear_values(source, values);
    share(self, sample, &begin, &end);
    for (int k = begin; k < end; k++) {
        const leat__part *part = &self->part[k];
        leat__reader *its = &state->part[k].reader;
        const uint64_t before = its->bytes_read;
        LEAT_TRY(part->source->class->read(part->source, its, number_in(self, k, sample), own, err));
        reader->bytes_read += its->bytes_read - before;
        put_values(part, own, values);
    }
    return 0;
}

/* The pieces of part k among those of the whole: how many, from *piece on. */
static int pieces_of(const combined *self, int k, int leaf, const leat__piece **piece, int n) {
    const int begin = leaf + self->leaf[k], end = begin + leat__source_leaves(self->part[k].source);
    int first = 0, behind = 0;
    while (first < n && (*piece)[first].leaf < begin) first++;
    for (behind = first; behind < n && (*piece)[behind].leaf < end;) behind++;
    *piece += first;
    return behind - first;
}

static int gather(const leat__source *source, leat__reader *reader, int leaf, const leat__piece *all, int n,
                  leat__value *values, leat_error *err) {
    const combined *self = (const combined *)source;
    reader_state *state = state_of(self, reader, err);
    leat__value own[LEAT_FIELDS_MAX];
    if (!state) return LEAT_ERR_MEMORY;
    clear_values(source, values);
    for (int k = 0; k < source->n_parts; k++) {
        const leat__piece *piece = all;
        const int its_n = pieces_of(self, k, leaf, &piece, n);
        leat__reader *its = &state->part[k].reader;
        const uint64_t before = its->bytes_read;
        if (its_n == 0) continue;
        LEAT_TRY(leat__source_gather(source->part[k], its, leaf + self->leaf[k], piece, its_n, own, err));
        reader->bytes_read += its->bytes_read - before;
        put_values(&self->part[k], own, values);
    }
    return 0;
}

static void prepare(const leat__source *source, leat__reader *reader) {
    reader_state *state = state_of((const combined *)source, reader, NULL);
    for (int k = 0; state && k < state->n; k++) {
        const leat__source *part = state->part[k].source;
        if (part->class->prepare) part->class->prepare(part, &state->part[k].reader);
    }
}

static leat__reader *reader_at(const leat__reader *reader, int i) {
    reader_state *state = reader->state;
    return state && i < state->n ? &state->part[i].reader : NULL;
}

static void close_reader(leat__reader *reader) {
    reader_state *state = reader->state;
    for (int k = 0; state && k < state->n; k++)
        leat__reader_free(state->part[k].source, &state->part[k].reader);
    leat__free(state);
    reader->state = NULL;
}

/* ------------------------------------------------------------------------------------- what it knows */

/* Names are relative to the part. Of a zip all are named: any of them may be what a message is about. */
static void describe(const leat__source *source, uint64_t sample, char *text, size_t cap) {
    const combined *self = (const combined *)source;
    int begin, end;
    size_t n = 0;
    if (self->streams) {
        snprintf(text, cap, "sample %" PRIu64 " of %s", sample, source->class->name);
        return;
    }
    share(self, sample, &begin, &end);
    *text = 0;
    if (!self->zip) n = (size_t)snprintf(text, cap, "part %d: ", begin + 1);
    for (int k = begin; k < end && n + 8 < cap; k++) {
        const leat__source *part = self->part[k].source;
        if (k > begin) n += (size_t)snprintf(text + n, cap - n, " with ");
        part->class->describe(part, number_in(self, k, sample), text + n, (cap - n) / (size_t)(end - k));
        n += strlen(text + n);
    }
}

static void describe_pieces(const leat__source *source, int leaf, const leat__piece *all, int n, char *text,
                            size_t cap) {
    const combined *self = (const combined *)source;
    size_t length = 0;
    *text = 0;
    for (int k = 0; k < source->n_parts && length + 8 < cap; k++) {
        const leat__piece *piece = all;
        const int its_n = pieces_of(self, k, leaf, &piece, n);
        if (its_n == 0) continue;
        if (!self->zip) length += (size_t)snprintf(text, cap, "part %d: ", k + 1);
        else if (length) length += (size_t)snprintf(text + length, cap - length, " with ");
        leat__source_describe_pieces(source->part[k], leaf + self->leaf[k], piece, its_n, text + length,
                                     (cap - length) / (size_t)(self->zip ? source->n_parts - k : 1));
        length += strlen(text + length);
    }
}

static uint64_t parts_of_pieces(const leat__source *source, int leaf, const leat__piece *all, int n) {
    const combined *self = (const combined *)source;
    uint64_t parts = 0;
    for (int k = 0; k < source->n_parts; k++) {
        const leat__piece *piece = all;
        const int its_n = pieces_of(self, k, leaf, &piece, n);
        if (its_n) parts |= leat__source_parts_of(source->part[k], leaf + self->leaf[k], piece, its_n);
    }
    return parts;
}

/* The number of the field of part k that fills a slot, or -1. */
static int field_in(const leat__part *part, int slot) {
    for (int i = 0; i < part->source->n_fields; i++)
        if (part->slot[i] == slot) return i;
    return -1;
}

static bool known(const leat__source *source, uint64_t sample, int slot, leat__value *value, void *room) {
    const combined *self = (const combined *)source;
    int begin, end;
    if (!(self->known >> slot & 1)) return false;
    share(self, sample, &begin, &end);
    for (int k = begin; k < end; k++) {
        const leat__source *part = self->part[k].source;
        const int i = field_in(&self->part[k], slot);
        if (i >= 0) return part->class->known(part, number_in(self, k, sample), i, value, room);
    }
    return false;
}

/* Whether the index alone tells the slot, of every sample. */
static bool knows(const combined *self, int slot) {
    bool all = true;
    int fillers = 0;
    for (int k = 0; k < self->base.n_parts; k++) {
        const leat__source *part = self->part[k].source;
        leat__value value;
        uint64_t room;
        const int i = field_in(&self->part[k], slot);
        if (i < 0) continue;
        fillers++;
        all = all && part->class->known && part->class->known(part, 0, i, &value, &room);
    }
    return all && fillers == (self->zip ? 1 : self->base.n_parts);
}

static bool path(const leat__source *source, uint64_t sample, char *text, size_t cap) {
    const combined *self = (const combined *)source;
    int begin, end;
    share(self, sample, &begin, &end);
    const leat__source *part = self->part[begin].source;
    return part->class->path && part->class->path(part, number_in(self, begin, sample), text, cap);
}

static bool opens(const leat__source *source, uint64_t sample, char *text, size_t cap) {
    const combined *self = (const combined *)source;
    int begin, end;
    share(self, sample, &begin, &end);
    const leat__source *part = self->part[begin].source;
    return part->class->opens && part->class->opens(part, number_in(self, begin, sample), text, cap);
}

static uint64_t size(const leat__source *source, uint64_t sample) {
    const combined *self = (const combined *)source;
    uint64_t sum = 0;
    int begin, end;
    share(self, sample, &begin, &end);
    for (int k = begin; k < end; k++)
        sum += leat__source_size(self->part[k].source, number_in(self, k, sample));
    return sum;
}

/* If one part does not know its sizes, blocks are cut by counting samples. */
static uint64_t no_size(const leat__source *source, uint64_t sample) {
    (void)source, (void)sample;
    return 0;
}

static int version(const leat__source *source, int n_threads, bool exact, uint64_t *out, leat_error *err) {
    *out = 0;
    for (int k = 0; k < source->n_parts; k++) {
        uint64_t own;
        LEAT_TRY(source->part[k]->class->version(source->part[k], n_threads, exact, &own, err));
        *out = leat__hash(&own, sizeof own, *out);
    }
    return 0;
}

static void close_combined(leat__source *source) {
    combined *self = (combined *)source;
    for (int k = 0; k < source->n_parts; k++) {
        if (!self->streams) leat__source_free(&source->part[k]);
        leat__free(self->part[k].pick);
    }
    leat__free(source->part);
    leat__free(self->part);
    leat__free(self->first);
    leat__free(self->leaf);
}

/* --------------------------------------------------------------------------------------------- opening */

/* Names of classes are kept if all parts have the same; side by side, labels are those of the first. */
static int name_classes(combined *self, leat_error *err) {
    leat__source *base = &self->base;
    const leat__source *with = base->part[0];
    for (int k = 1; k < base->n_parts && !self->zip; k++) {
        const leat__source *part = base->part[k];
        if (with->n_classes == 0 || part->n_classes == 0) return 0;
        for (size_t i = 0; i < LEAT_MAX(with->n_classes, part->n_classes); i++) {
            const char *a = i < with->n_classes ? with->class_name[i] : "nothing",
                       *b = i < part->n_classes ? part->class_name[i] : "nothing";
            if (strcmp(a, b) == 0) continue;
            char shown[2][80];
            snprintf(base->warning, sizeof base->warning,
                     "%s: label %zu is %s in part 1 and %s in part %d: label_map can make them agree",
                     base->class->name, i, leat__printable(shown[0], sizeof shown[0], a, strlen(a)),
                     leat__printable(shown[1], sizeof shown[1], b, strlen(b)), k + 1);
            return 0;
        }
    }
    if (with->n_classes == 0) return 0;
    base->class_name = leat__alloc(LEAT_MEM_INDEX, with->n_classes * sizeof *base->class_name);
    if (!base->class_name) return leat__fail_memory(err, with->n_classes * 8, "class names");
    for (; base->n_classes < with->n_classes; base->n_classes++) {
        base->class_name[base->n_classes] = leat__strdup(LEAT_MEM_INDEX, with->class_name[base->n_classes]);
        if (!base->class_name[base->n_classes]) return leat__fail_memory(err, 64, "class names");
    }
    return 0;
}

static void write_title(leat__source *base) {
    size_t n =
        (size_t)snprintf(base->title, sizeof base->title, "%s of %d: ", base->class->name, base->n_parts);
    for (int k = 0; k < base->n_parts && n < sizeof base->title; k++)
        n += (size_t)snprintf(base->title + n, sizeof base->title - n, "%s%s", k ? "; " : "",
                              base->part[k]->title);
}

static void sum_up(combined *self, const leat__combining *options) {
    leat__source *base = &self->base;
    int leaf = 0;
    for (int k = 0; k < base->n_parts; k++) {
        const leat__source *part = base->part[k];
        self->first[k] = base->n_samples;
        self->leaf[k] = leaf;
        leaf += leat__source_leaves(part);
        base->n_samples += part->n_samples;
        base->bytes_max =
            self->zip ? base->bytes_max + part->bytes_max : LEAT_MAX(base->bytes_max, part->bytes_max);
        base->fingerprint = leat__hash(&part->fingerprint, sizeof part->fingerprint, base->fingerprint);
        base->paired_anew |= part->paired_anew || self->part[k].stride;
        base->no_read_ahead |= part->no_read_ahead;
        base->waits |= part->waits;
        base->n_readers = LEAT_MAX(base->n_readers, part->n_readers);
        if (!part->class->path && (k == 0 || !self->zip)) self->class.path = NULL;
        if (!part->class->opens && (k == 0 || !self->zip)) self->class.opens = NULL;
        if (!part->class->version) self->class.version = NULL;
        if (leat__source_size(part, 0) == 0) self->class.size = no_size;
        if (part->warning[0] && !base->warning[0])
            snprintf(base->warning, sizeof base->warning, "%s", part->warning);
    }
    if (self->zip) base->n_samples = options->n;
    if (self->streams) { /* samples have no numbers that could be taken apart */
        base->n_samples = UINT64_MAX;
        base->paired_anew |= options->drawn;
        self->class.known = NULL;
        self->class.path = self->class.opens = NULL;
        self->class.size = no_size;
    } else {
        self->class.gather = NULL;
    }
    for (int i = 0; i < options->n_fields; i++) {
        base->field[i] = options->field[i];
        if (!self->streams && knows(self, i)) self->known |= UINT32_C(1) << i;
    }
    base->n_fields = options->n_fields;
    write_title(base);
}

static const leat__source_class combined_class = {.read = read_combined,
                                                  .describe = describe,
                                                  .prepare = prepare,
                                                  .close_reader = close_reader,
                                                  .close = close_combined,
                                                  .version = version,
                                                  .known = known,
                                                  .path = path,
                                                  .opens = opens,
                                                  .size = size,
                                                  .part_reader = reader_at,
                                                  .parts = parts,
                                                  .gather = gather,
                                                  .describe_pieces = describe_pieces,
                                                  .parts_of_pieces = parts_of_pieces};

int leat__combine_open(leat__source **out, const leat__combining *options, leat_error *err) {
    const size_t n = (size_t)options->n_parts;
    *out = NULL;
    combined *self = leat__alloc(LEAT_MEM_PLAN, sizeof *self);
    leat__source *base = self ? &self->base : NULL;
    if (self) {
        self->class = combined_class;
        self->class.name = options->name;
        self->zip = options->zip;
        base->class = &self->class;
        base->part = leat__alloc(LEAT_MEM_INDEX, n * sizeof *base->part);
        self->part = leat__alloc(LEAT_MEM_INDEX, n * sizeof *self->part);
        self->first = leat__alloc(LEAT_MEM_INDEX, n * sizeof *self->first);
        self->leaf = leat__alloc(LEAT_MEM_INDEX, n * sizeof *self->leaf);
    }
    int rc = self && base->part && self->part && self->first && self->leaf
                 ? 0
                 : leat__fail_memory(err, sizeof *self + n * sizeof *self->part, "a source");
    bool streams = false;
    for (size_t k = 0; k < n; k++) streams |= options->part[k].source->class->gather != NULL;
    if (self) self->streams = streams;
    for (size_t k = 0; k < n; k++) {
        leat__part *part = &options->part[k];
        if (rc == 0) {
            self->part[k] = *part;
            base->part[base->n_parts++] = part->source;
        } else {
            if (!streams) leat__source_free(&part->source);
            leat__free(part->pick);
        }
    }
    if (rc == 0 && leat__source_leaves(base) > LEAT_PARTS_MAX)
        rc =
            leat__fail(err, LEAT_ERR_LIMIT, "%s: more than %d sources in all", options->name, LEAT_PARTS_MAX);
    if (rc == 0) {
        sum_up(self, options);
        if (options->classes) rc = name_classes(self, err);
    }
    if (rc < 0) leat__source_free(&base);
    else *out = base;
    return rc;
}
