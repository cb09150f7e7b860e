/* SPDX-License-Identifier: Apache-2.0 */
/* Shards with an index of borders: what TFRecord files and tar archives have in common.
 *
 * Entry i of a shard is what lies between border i and border i + 1. The index is made once by hopping from header to header,
 * and kept as a side file. Damage costs exactly one entry: where a header is damaged, the entry reaches to the next place where
 * a header is right, and where the file is cut off, to its end. Indexing never fails because of damage, and reading such an
 * entry says what is wrong with it.
 *
 * An index that was kept may not fit its file, whatever was compared when it was loaded. So a format looks whether an entry lies
 * between its borders whenever it reads one. If it does not, the borders of the shard are made anew, once: either the entry is
 * damaged, and they are the same, or the index was wrong, and from then on the new ones count. */
#ifndef LEAT_SOURCE_INDEXED_INDEXED_H
#define LEAT_SOURCE_INDEXED_INDEXED_H

#include "base/thread.h"
#include "source/source.h"

enum { LEAT_HOP_CHUNK = 1 << 16, LEAT_HOP_MAX = 4 << 20 };

typedef struct leat__indexed_shard {
    char *path;
    leat__file file; /* open as long as the source when there are few shards */
    uint64_t size;
    int64_t mtime_ns, ctime_ns;
    uint64_t inode;
    leat__buf border; /* of uint64_t, n + 1 */
    uint64_t n;
    uint64_t first;     /* number of its first entry in the source */
    bool kept;          /* the side file could be written, or was there */
    int sys;            /* errno: why not                               */
    bool refused;       /* a side file is there that is not trusted     */
    char *side;         /* the side file that the borders come from; NULL: they were made now */
    leat__once renewal; /* LEAT_RENEWAL_*: of borders from a side file */
    leat__buf renewed;  /* in place of border, if that was wrong */
} leat__indexed_shard;

enum { LEAT_RENEWAL_SAME = 1, LEAT_RENEWAL_OTHER, LEAT_RENEWAL_OTHER_NUMBER };

typedef struct leat__hopper { /* reads headers through a window, so that small entries share one read */
    const leat__indexed_shard *s;
    uint8_t *bytes;
    uint64_t begin;
    size_t n, cap;
    size_t ahead;   /* how much is read at once, at least; set by step   */
    uint64_t tried; /* bytes that were read to find out whether they are an entry: set by step */
} leat__hopper;

/* n bytes at offset, which must lie in the file, n <= LEAT_HOP_MAX; NULL with a message if they cannot be read. */
const uint8_t *leat__hopper_look(leat__hopper *h, uint64_t offset, size_t n, leat_error *err);

typedef struct leat__indexed_format {
    const leat__source_class *class;
    const char *entries; /* "records": what they are called      */
    int side_kind;       /* LEAT_SIDEFILE_*                      */
    uint64_t version;    /* of what the borders mean             */
    /* Moves *at from the beginning of an entry to the beginning of the next, at most to the end of the shard. 1: no entry
     * begins here any more. < 0: the file cannot be read, or is of another kind. */
    int (*step)(leat__hopper *h, uint64_t *at, leat_error *err);
} leat__indexed_format;

typedef struct leat__indexed {
    leat__source base;
    const leat__indexed_format *format;
    size_t n_shards;
    leat__indexed_shard *shard;
    bool keep_open;
    const leat__open_options *open; /* while opening */
} leat__indexed;

typedef struct leat__extent {
    uint64_t at, n;
} leat__extent;
/* Where entry i lies. Both borders come from one index, even if another thread puts a new one in its place meanwhile. */
static inline leat__extent leat__indexed_span(const leat__indexed_shard *s, uint64_t i) {
    const leat__buf *border = leat__once_result(&s->renewal) == LEAT_RENEWAL_OTHER ? &s->renewed : &s->border;
    const uint64_t *at = (const uint64_t *)(const void *)border->data + i;
    return (leat__extent){.at = at[0], .n = at[1] - at[0]};
}

/* Opens the shards that the patterns match. On failure the caller frees the source. */
int leat__indexed_open(leat__indexed *self, const leat__indexed_format *format, const char *const *patterns,
                       int n, const leat__open_options *open, leat_error *err);
/* The shard of an entry; the reader's last one is tried first. */
const leat__indexed_shard *leat__indexed_find(const leat__indexed *self, const leat__reader *reader,
                                              uint64_t sample);
/* n bytes at offset of the shard, from the reader's window if they are in it. Valid until the next call. */
int leat__indexed_read(const leat__indexed *self, const leat__indexed_shard *s, leat__reader *reader,
                       uint64_t sample, uint64_t at, size_t n, const uint8_t **out, leat_error *err);
/* An entry does not lie between its borders. 1: the index was wrong, and now there is another one: read again. 0: the index
 * is right, and the entry is damaged. LEAT_ERR_STATE: it was wrong, and the shard has another number of entries, so that
 * numbers of samples mean something else than this run assumes; the side file is right now. Any thread. */
int leat__indexed_doubt(const leat__indexed *self, const leat__indexed_shard *s, leat_error *err);
/* "a.tfrecord: record 3 at byte 4711". entry: "record". */
void leat__indexed_where(const leat__indexed *self, const char *entry, uint64_t sample, char *text,
                         size_t cap);

/* Functions for leat__source_class. */
uint64_t leat__indexed_size(const leat__source *source, uint64_t sample);
void leat__indexed_will_read(const leat__source *source, leat__reader *reader, uint64_t first, uint64_t last);
int leat__indexed_version(const leat__source *source, int n_threads, bool exact, uint64_t *out,
                          leat_error *err);
void leat__indexed_prepare(const leat__source *source, leat__reader *reader);
void leat__indexed_close_reader(leat__reader *reader);
void leat__indexed_close(leat__source *source);

#endif
