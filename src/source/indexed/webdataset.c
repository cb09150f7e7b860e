/* SPDX-License-Identifier: Apache-2.0 */
/* WebDataset archives as one source with random access: tar files in which members with the same key, one after the other, are a
 * sample. The key is the name up to the first dot of its last part, what follows is the extension.
 *
 * An entry of the index is a sample: from the header of its first member to that of the next sample. Where its members lie is
 * read from their headers together with the sample, so an index serves any choice of fields. Damage is an entry of its own, from a
 * damaged header to the next one that is right: no whole sample is lost with it, and nothing is lost unnoticed. */
#include <stdio.h>

#include "format/kept/sidefile.h"
#include "format/tar.h"
#include "source/indexed/indexed.h"

enum {
    WHOLE_MAX = 1 << 20,  /* a larger sample is read member by member, and only those that are wanted */
    HEADERS_AHEAD = 4096, /* of large members: a header, and one of a long name before it              */
    TEXT_MAX = 32,        /* bytes of a member that holds a number                                     */
    NUMBERS = LEAT_FIELDS_MAX * 8,
    ROOM = NUMBERS + LEAT_TAR_NAME_MAX, /* of reader->extra: numbers, the key; members follow */
};

typedef enum kind { BYTES, NUMBER, KEY } kind;

typedef struct wanted {
    char extensions[200]; /* in lower case, between commas: ",jpg,jpeg," */
    kind kind;
} wanted;

typedef struct webdataset {
    leat__indexed indexed;
    wanted wanted[LEAT_FIELDS_MAX];
} webdataset;

/* --------------------------------------------------------------------------------------------- names */

/* Length of the key; 0 if the member belongs to no sample: no file, hidden, without an extension, or in a folder such as
 * __meta__. */
static size_t key_of(const leat__tar_member *member) {
    const char *slash = strrchr(member->name, '/'), *base = slash ? slash + 1 : member->name;
    const char *dot = strchr(base, '.');
    if (!member->regular || !dot || dot == base) return 0;
    const size_t first = strcspn(member->name, "/");
    const bool meta =
        first >= 4 && strncmp(member->name, "__", 2) == 0 && strncmp(member->name + first - 2, "__", 2) == 0;
    return meta ? 0 : (size_t)(dot - member->name);
}

/* Whether ",a,b," has the extension, in any case of letters. */
static bool has_extension(const char *list, const char *extension) {
    char word[64];
    size_t n = 0;
    word[n++] = ',';
    for (; *extension; extension++) {
        if (n + 2 >= sizeof word || *extension == ',') return false;
        word[n++] = (char)(*extension >= 'A' && *extension <= 'Z' ? *extension - 'A' + 'a' : *extension);
    }
    word[n++] = ',';
    word[n] = 0;
    return strstr(list, word) != NULL;
}

/* --------------------------------------------------------------------------------------------- index */

static const uint8_t *look_in_file(void *user, uint64_t offset, size_t n, leat_error *err) {
    return leat__hopper_look(user, offset, n, err);
}

static int fail_no_tar(leat__hopper *h, leat_error *err) {
    static const struct {
        const char *magic, *name, *remedy;
    } packed[] = {{"\x1f\x8b", "gzip", "gunzip"},
                  {"BZh", "bzip2", "bunzip2"},
                  {"\x28\xb5\x2f\xfd", "zstd", "unzstd"},
                  {"\xfd"
                   "7zXZ",
                   "xz", "unxz"}};
    char shown[400];
    leat__printable(shown, sizeof shown, h->s->path, strlen(h->s->path));
    const size_t n = (size_t)LEAT_MIN(h->s->size, (uint64_t)8);
    const uint8_t *head = leat__hopper_look(h, 0, n, err);
    if (!head) return LEAT_ERR_IO;
    for (size_t i = 0; i < LEAT_COUNT(packed); i++) {
        const size_t length = strlen(packed[i].magic);
        if (n >= length && memcmp(head, packed[i].magic, length) == 0)
            return leat__fail(
                err, LEAT_ERR_UNSUPPORTED,
                "%s is compressed by %s, and its samples cannot be read in any order: unpack it "
                "(%s), or extract its pictures into a folder and run leat pack",
                shown, packed[i].name, packed[i].remedy);
    }
    return leat__fail(err, LEAT_ERR_FORMAT, "%s is not a tar archive: no header begins in its first MiB",
                      shown);
}

/* The next block from *at on that is a header, or the end. */
static int resync(leat__hopper *h, uint64_t *at, uint64_t end, leat_error *err) {
    h->ahead = LEAT_HOP_MAX;
    for (; end - *at >= LEAT_TAR_BLOCK; *at += LEAT_TAR_BLOCK) {
        const uint8_t *block = leat__hopper_look(h, *at, LEAT_TAR_BLOCK, err);
        if (!block) return LEAT_ERR_IO;
        if (leat__tar_is_header(block)) return 0;
    }
    *at = end;
    return 0;
}

static int step_over_damage(leat__hopper *h, const leat__tar_member *member, uint64_t *at, leat_error *err) {
    const uint64_t begin = member->begin, size = h->s->size;
    const uint64_t end = begin == 0 ? LEAT_MIN(size, (uint64_t)1 << 20) : size;
    *at = size;
    if (member->cut_off && size >= LEAT_TAR_BLOCK) return 0;
    if (end - begin > LEAT_TAR_BLOCK) {
        *at = begin + LEAT_TAR_BLOCK;
        LEAT_TRY(resync(h, at, end, err));
        h->ahead = LEAT_HOP_CHUNK;
    }
    return begin == 0 && *at == end ? fail_no_tar(h, err) : 0;
}

/* From the first member of a sample to that of the next, or to damage; from there to the next header. */
static int step(leat__hopper *h, uint64_t *at, leat_error *err) {
    leat__tar_member member;
    char key[LEAT_TAR_NAME_MAX];
    size_t key_n = 0;
    int rc;
    while ((rc = leat__tar_next(look_in_file, h, *at, h->s->size, &member, err)) > 0) {
        if (member.problem && key_n == 0) return step_over_damage(h, &member, at, err);
        const size_t n = member.problem ? 0 : key_of(&member);
        if (member.problem || (n > 0 && key_n > 0 && (n != key_n || memcmp(key, member.name, n) != 0))) {
            *at = member.begin;
            return 0;
        }
        if (n > 0) memcpy(key, member.name, key_n = n);
        h->ahead = member.size < 16384 ? LEAT_HOP_CHUNK : HEADERS_AHEAD;
        *at = member.next;
    }
    if (rc < 0) return rc;
    *at = h->s->size;
    return key_n == 0;
}

/* ---------------------------------------------------------------------------------------------- read */

typedef struct place { /* of a member that is wanted */
    bool found;
    uint64_t at;
    size_t n;
} place;

typedef struct entry { /* a sample that is being read */
    const leat__indexed *self;
    const leat__indexed_shard *s;
    leat__reader *reader;
    uint64_t sample, begin, end;
    const uint8_t *whole; /* its bytes, if it is small */
    bool misplaced; /* they are not the members of one sample: they are damaged, or the index is wrong */
} entry;

static const uint8_t *look_in_entry(void *user, uint64_t offset, size_t n, leat_error *err) {
    const entry *e = user;
    const uint8_t *bytes = e->whole ? e->whole + (offset - e->begin) : NULL;
    if (!bytes && leat__indexed_read(e->self, e->s, e->reader, e->sample, offset, n, &bytes, err) < 0)
        return NULL;
    return bytes;
}

static void describe(const leat__source *source, uint64_t sample, char *text, size_t cap) {
    leat__indexed_where((const leat__indexed *)source, "sample", sample, text, cap);
}

static int fail_at(const entry *e, leat_error *err, int code, const char *what) {
    char where[500];
    describe(&e->self->base, e->sample, where, sizeof where);
    return leat__fail(err, code, "%s: %s", where, what);
}

static int open_entry(entry *e, const leat__indexed *self, leat__reader *reader, uint64_t sample,
                      leat_error *err) {
    const leat__indexed_shard *s = leat__indexed_find(self, reader, sample);
    const leat__extent span = leat__indexed_span(s, sample - s->first);
    *e = (entry){
        .self = self, .s = s, .reader = reader, .sample = sample, .begin = span.at, .end = span.at + span.n};
    const uint64_t n = e->end - e->begin;
    if (n > WHOLE_MAX) return 0;
    return leat__indexed_read(self, s, reader, sample, e->begin, (size_t)n, &e->whole, err);
}

/* Appends ", jpg" to a list for a message. */
static void list_extension(char *list, size_t cap, const char *extension) {
    const size_t used = strlen(list);
    char shown[40];
    snprintf(list + used, cap - used, "%s%s", used ? ", " : "",
             leat__printable(shown, sizeof shown, extension, strlen(extension)));
}

static int fail_missing(const entry *e, const webdataset *self, const place *places, const char *key,
                        const char *has, leat_error *err) {
    char text[700], shown[200], extensions[200];
    int i = 0;
    while (places[i].found) i++;
    snprintf(extensions, sizeof extensions, "%.*s", (int)strlen(self->wanted[i].extensions) - 2,
             self->wanted[i].extensions + 1);
    snprintf(text, sizeof text, "the sample '%s' has no member %s for the field %s: it has %s",
             leat__printable(shown, sizeof shown, key, strlen(key)), extensions, e->self->base.field[i].name,
             *has ? has : "none");
    return fail_at(e, err, LEAT_ERR_FORMAT, text);
}

static int fail_damaged(const entry *e, const leat__tar_member *member, leat_error *err) {
    char text[200];
    snprintf(text, sizeof text, "the member at byte %" PRIu64 " is damaged: %s", member->begin,
             member->problem);
    return fail_at(e, err, LEAT_ERR_CORRUPT, text);
}

/* Takes a member for the fields that want it; the first of several counts. Returns how many. */
static int take_member(const webdataset *self, const leat__tar_member *member, const char *extension,
                       place *places) {
    int n = 0;
    for (int i = 0; i < self->indexed.base.n_fields; i++) {
        if (places[i].found || self->wanted[i].kind == KEY ||
            !has_extension(self->wanted[i].extensions, extension))
            continue;
        places[i] = (place){.found = true, .at = member->data, .n = (size_t)member->size};
        n++;
    }
    return n;
}

/* Where the members of a sample lie that are wanted. key gets LEAT_TAR_NAME_MAX bytes. */
static int find_members(entry *e, const webdataset *self, place *places, char *key, leat_error *err) {
    leat__tar_member member;
    char has[200] = "";
    uint64_t at = e->begin;
    int missing = 0, rc;
    for (int i = 0; i < e->self->base.n_fields; i++) {
        places[i] = (place){.found = self->wanted[i].kind == KEY};
        missing += !places[i].found;
    }
    key[0] = 0;
    while ((missing > 0 || !key[0]) &&
           (rc = leat__tar_next(look_in_entry, e, at, e->end, &member, err)) != 0) {
        if (rc < 0) return rc;
        e->misplaced = member.problem != NULL;
        if (member.problem) return fail_damaged(e, &member, err);
        at = member.next;
        const size_t key_n = key_of(&member);
        if (key_n == 0) continue;
        if (!key[0]) memcpy(key, member.name, key_n), key[key_n] = 0;
        e->misplaced = strncmp(key, member.name, key_n) != 0 || key[key_n] != 0;
        if (e->misplaced) return fail_at(e, err, LEAT_ERR_CORRUPT, "it has members of two samples");
        const char *extension = member.name + key_n + 1;
        const int taken = take_member(self, &member, extension, places);
        missing -= taken;
        if (taken && member.size > LEAT_RECORD_BYTES_MAX) {
            char text[100];
            snprintf(text, sizeof text, "a member has %" PRIu64 " bytes, the limit is %zu", member.size,
                     LEAT_RECORD_BYTES_MAX);
            return fail_at(e, err, LEAT_ERR_LIMIT, text);
        }
        list_extension(has, sizeof has, extension);
    }
    e->misplaced = missing > 0; /* perhaps they lie in front of the border */
    return missing ? fail_missing(e, self, places, key, has, err) : 0;
}

/* Opens a sample and finds its members, a second time if the index was wrong. */
static int find_sample(entry *e, const webdataset *self, leat__reader *reader, uint64_t sample, place *places,
                       char *key, leat_error *err) {
    for (int round = 0;; round++) {
        LEAT_TRY(open_entry(e, &self->indexed, reader, sample, err));
        const int rc = find_members(e, self, places, key, err);
        if (rc == 0 || !e->misplaced || round > 0) return rc;
        leat_error why;
        const int other = leat__indexed_doubt(&self->indexed, e->s, &why);
        if (other < 0 && err) *err = why;
        if (other <= 0) return other < 0 ? other : rc;
    }
}

/* Copies the members of a large sample into reader->extra, behind its first ROOM bytes. */
static int copy_members(entry *e, const place *places, leat__value *values, leat_error *err) {
    leat__reader *reader = e->reader;
    const int n = e->self->base.n_fields;
    size_t room = ROOM;
    for (int i = 0; i < n; i++) {
        if (!leat__add_size(room, LEAT_ALIGN_UP(places[i].n, LEAT_MEM_PAD) + LEAT_MEM_PAD, &room))
            return fail_at(e, err, LEAT_ERR_LIMIT, "its members are too large");
    }
    reader->extra.size = ROOM;
    if (!leat__buf_reserve(&reader->extra, room)) return leat__fail_memory(err, room, "a sample");
    size_t used = ROOM;
    for (int i = 0; i < n; i++) {
        const uint8_t *bytes;
        values[i].data = reader->extra.data; /* of an empty member */
        if (places[i].n == 0) continue;
        LEAT_TRY(
            leat__indexed_read(e->self, e->s, reader, e->sample, places[i].at, places[i].n, &bytes, err));
        memcpy(reader->extra.data + used, bytes, places[i].n);
        values[i].data = reader->extra.data + used;
        used += LEAT_ALIGN_UP(places[i].n, LEAT_MEM_PAD) + LEAT_MEM_PAD;
    }
    return 0;
}

/* An integer between spaces. */
static bool read_number(const uint8_t *text, size_t n, int64_t *out) {
    while (n > 0 && strchr(" \t\r\n", text[n - 1]) && text[n - 1]) n--;
    while (n > 0 && strchr(" \t\r\n", *text) && *text) text++, n--;
    const bool negative = n > 0 && *text == '-';
    if (n > 0 && (*text == '-' || *text == '+')) text++, n--;
    if (n == 0 || n > 18) return false;
    int64_t value = 0;
    for (size_t i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9') return false;
        value = value * 10 + (text[i] - '0');
    }
    *out = negative ? -value : value;
    return true;
}

/* Makes a number of the text of field i. */
static int take_number(const entry *e, int i, leat__value *value, leat_error *err) {
    int64_t *number = (int64_t *)(void *)e->reader->extra.data + i;
    if (value->bytes > TEXT_MAX || !read_number(value->data, value->bytes, number)) {
        char text[200], shown[50];
        snprintf(text, sizeof text, "the member for the field %s is no integer: '%s'",
                 e->self->base.field[i].name,
                 leat__printable(shown, sizeof shown, value->data, value->bytes));
        return fail_at(e, err, LEAT_ERR_FORMAT, text);
    }
    *value = (leat__value){.data = (const uint8_t *)number, .bytes = sizeof *number, .dtype = LEAT_DTYPE_I64};
    return 0;
}

static int read_sample(const leat__source *source, leat__reader *reader, uint64_t sample, leat__value *values,
                       leat_error *err) {
    const webdataset *self = (const webdataset *)source;
    entry e;
    place places[LEAT_FIELDS_MAX];
    if (!leat__buf_reserve(&reader->extra, ROOM)) return leat__fail_memory(err, ROOM, "a sample");
    LEAT_TRY(find_sample(&e, self, reader, sample, places, (char *)reader->extra.data + NUMBERS, err));
    if (!e.whole) LEAT_TRY(copy_members(&e, places, values, err));
    const char *key = (const char *)reader->extra.data + NUMBERS;
    for (int i = 0; i < source->n_fields; i++) {
        const bool is_key = self->wanted[i].kind == KEY;
        const size_t n = is_key ? strlen(key) : places[i].n;
        const uint8_t *bytes = is_key    ? (const uint8_t *)key
                               : e.whole ? e.whole + (places[i].at - e.begin)
                                         : values[i].data;
        values[i] = (leat__value){
            .data = bytes, .bytes = n, .dtype = LEAT_DTYPE_BYTES, .ndim = 1, .shape = {(int64_t)n}};
        if (self->wanted[i].kind == NUMBER) LEAT_TRY(take_number(&e, i, &values[i], err));
    }
    return 0;
}

static void prepare(const leat__source *source, leat__reader *reader) {
    leat__indexed_prepare(source, reader);
    leat__buf_reserve_exactly(&reader->extra, ROOM);
}

static const leat__source_class webdataset_class = {.name = "webdataset",
                                                    .sharded = true,
                                                    .size = leat__indexed_size,
                                                    .will_read = leat__indexed_will_read,
                                                    .version = leat__indexed_version,
                                                    .read = read_sample,
                                                    .describe = describe,
                                                    .prepare = prepare,
                                                    .close_reader = leat__indexed_close_reader,
                                                    .close = leat__indexed_close};

static const leat__indexed_format tar_format = {.class = &webdataset_class,
                                                .entries = "samples",
                                                .side_kind = LEAT_SIDEFILE_TAR,
                                                .version = 2,
                                                .step = step};

/* --------------------------------------------------------------------------------------------- fields */

/* Extensions whose text is an integer, as the webdataset package decodes them. */
static const char numbers[] = ",cls,cls2,class,count,index,inx,id,";
static const char pictures[] = "image=jpg,jpeg,png,webp,gif,bmp";

static int add_field(webdataset *self, const char *text, leat_error *err) {
    leat__source *base = &self->indexed.base;
    const size_t name_n = strcspn(text, "=");
    wanted *w = &self->wanted[base->n_fields];
    const char *list = text + name_n + 1;
    char name[sizeof base->field[0].name];
    if (base->n_fields == LEAT_FIELDS_MAX)
        return leat__fail(err, LEAT_ERR_LIMIT, "more than %d fields", LEAT_FIELDS_MAX);
    if (name_n >= sizeof name || strlen(list) + 3 > sizeof w->extensions || !*list)
        return leat__fail(err, LEAT_ERR_ARGUMENT,
                          "'%.60s': a field is given by its name and its extensions, such as image=jpg,png",
                          text);
    snprintf(name, sizeof name, "%.*s", (int)name_n, text);
    for (int i = 0; i < base->n_fields; i++)
        if (strcmp(base->field[i].name, name) == 0)
            return leat__fail(err, LEAT_ERR_ARGUMENT, "the field %s is given twice", name);
    snprintf(w->extensions, sizeof w->extensions, ",%s,", list);
    int n = 0, n_numbers = 0;
    char word[64];
    for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',') {
        const size_t length = strcspn(at, ",");
        if (length == 0 || length >= sizeof word - 2)
            return leat__fail(err, LEAT_ERR_ARGUMENT, "'%.100s': an extension is empty or too long", text);
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        n++;
        n_numbers += has_extension(numbers, word);
    }
    for (char *c = w->extensions; *c; c++)
        if (*c >= 'A' && *c <= 'Z') *c = (char)(*c - 'A' + 'a');
    if (n_numbers && n_numbers < n)
        return leat__fail(err, LEAT_ERR_ARGUMENT,
                          "'%.100s': some of these extensions are integers, the others are bytes", text);
    const int64_t any = -1;
    w->kind = strcmp(list, "__key__") == 0 ? KEY : n_numbers ? NUMBER : BYTES;
    if (n_numbers) leat__source_field(base, name, LEAT_DTYPE_I64, 0, NULL);
    else leat__source_field(base, name, LEAT_DTYPE_BYTES, 1, &any);
    return 0;
}

/* Whether the sample has all members that are wanted. */
static bool is_whole(const webdataset *self, leat__reader *reader, uint64_t sample, leat_error *why) {
    entry e;
    place places[LEAT_FIELDS_MAX];
    char key[LEAT_TAR_NAME_MAX];
    return find_sample(&e, self, reader, sample, places, key, why) == 0;
}

/* A label, if the sample has one. */
static int add_label(webdataset *self, leat__reader *reader, uint64_t sample, leat_error *err) {
    leat_error why;
    LEAT_TRY(add_field(self, "label=cls", err));
    if (!is_whole(self, reader, sample, &why)) self->indexed.base.n_fields--;
    return 0;
}

/* Without a choice: the picture, and the label if the first sample with a picture has one. */
static int choose_fields(webdataset *self, leat_error *err) {
    leat__source *base = &self->indexed.base;
    leat__reader reader = {.bytes.kind = LEAT_MEM_INDEX};
    leat_error why, other;
    const uint64_t n = LEAT_MIN(base->n_samples, (uint64_t)100);
    int rc = add_field(self, pictures, err);
    uint64_t i = 0;
    while (rc == 0 && i < n && !is_whole(self, &reader, i, i == 0 ? &why : &other)) i++;
    if (rc == 0 && i < n) rc = add_label(self, &reader, i, err);
    else if (rc == 0)
        rc = leat__fail(err, why.code, "%.700s; say which fields are wanted, such as text=txt label=cls",
                        why.message);
    leat__reader_free(base, &reader);
    return rc;
}

int leat__webdataset_open(leat__source **out, const leat__webdataset_options *options,
                          const leat__open_options *open, leat_error *err) {
    *out = NULL;
    webdataset *self = leat__alloc(LEAT_MEM_PLAN, sizeof *self);
    if (!self) return leat__fail_memory(err, sizeof *self, "archives");
    leat__source *base = &self->indexed.base;
    base->class = &webdataset_class;
    int rc = 0;
    for (int i = 0; i < options->n_fields && rc == 0; i++) rc = add_field(self, options->fields[i], err);
    if (rc == 0)
        rc = leat__indexed_open(&self->indexed, &tar_format, options->patterns, options->n, open, err);
    if (rc == 0 && options->n_fields == 0) rc = choose_fields(self, err);
    if (rc < 0) leat__source_free(&base);
    else *out = base;
    return rc;
}
