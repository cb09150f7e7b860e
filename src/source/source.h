/* SPDX-License-Identifier: Apache-2.0 */
/* Where bytes come from. A source knows how many samples it has and reads any of them by number; a stream can only
 * be read from its beginning (see leat__shards below). Code here is single-threaded: several workers read one source
 * at the same time, each with its own reader, and a source does not change after it was opened. */
#ifndef LEAT_SOURCE_SOURCE_H
#define LEAT_SOURCE_SOURCE_H

#include "base/file.h"
#include "base/foresee.h"
#include "base/sets.h"

#define LEAT_FIELDS_MAX 32
#define LEAT_PARTS_MAX 64 /* plain sources in a combined one, at any depth */
#define LEAT_DEPTH_MAX 4  /* of combined sources in combined ones          */
#define LEAT_READERS_MAX (LEAT_PARTS_MAX * LEAT_DEPTH_MAX + 1) /* of a source and everything in it */
#define LEAT_RECORD_BYTES_MAX ((size_t)256 << 20)
#define LEAT_PREPARE_BYTES_MAX ((size_t)8 << 20) /* larger samples are met unprepared */

typedef struct leat__value { /* one field of one sample, between two steps             */
    const uint8_t *data;     /* readable for LEAT_MEM_PAD bytes past the end            */
    size_t bytes;
    int dtype; /* LEAT_DTYPE_BYTES: an undecoded string of bytes          */
    int ndim;
    int64_t shape[LEAT_NDIM_MAX];
} leat__value;

typedef struct leat__reader { /* what one worker needs to read; zeroed = empty          */
    leat__buf bytes;          /* the file or record last read                           */
    leat__buf extra;          /* what a source gathers or makes                         */
    void *state;              /* the source's own, freed by close_reader                */
    uint64_t bytes_read;      /* from storage, counts up                                */
} leat__reader;

typedef struct leat__source leat__source;

/* Consecutive samples as they lie in memory. */
typedef struct leat__run {
    const uint8_t *data[LEAT_FIELDS_MAX]; /* of each field: its value in the first of them */
    ptrdiff_t apart[LEAT_FIELDS_MAX];     /* bytes from one sample to the next             */
} leat__run;
enum { LEAT_RUN_NONE = 1 }; /* the samples can only be read one by one */

/* The part of a stream's sample that comes from one plain source: a record in memory, or a sample read by its number. */
typedef struct leat__piece {
    int leaf;            /* which of the plain sources, counted through all parts     */
    bool numbered;       /* no record of a stream                                     */
    uint64_t number;     /* of the sample, or of the record in its shard              */
    size_t shard;        /* of a record                                               */
    const uint8_t *data; /* of a record, readable for LEAT_MEM_PAD bytes past the end */
    size_t bytes;
} leat__piece;

typedef struct leat__source_class {
    const char *name;
    bool sharded;        /* its records lie in shards, which leat__indexed_shards tells */
    bool calls;          /* reading calls a function of the program                     */
    bool tree;           /* a directory tree of image files, which leat pack takes      */
    double read_us;      /* what a read takes beyond moving the bytes: opening a file   */
    double bytes_per_us; /* ... or making them; 0 = they exist already                  */
    /* Fills values[0 .. n_fields). The memory is the reader's or the source's, valid until the reader's next read.
     * Messages name the file and the offset. */
    int (*read)(const leat__source *, leat__reader *, uint64_t sample, leat__value *values, leat_error *);
    /* Where a sample comes from, for messages: "cats/1.jpg", "a.tfrecord: record 3 at byte 4711". */
    void (*describe)(const leat__source *, uint64_t sample, char *text, size_t cap);
    /* Allocates the memory that the first reads need. Failure is no error: those reads allocate it then. May be NULL. */
    void (*prepare)(const leat__source *, leat__reader *);
    void (*close_reader)(leat__reader *); /* may be NULL */
    void (*close)(leat__source *);        /* frees everything but the struct itself */
    /* A hash of the paths of its files, their sizes and modification times. If it is equal, no file has changed, and what a
     * cache on disk holds is valid. exact: with their inodes and times of change too, which a program cannot set back, and which
     * a copy does not keep. NULL: the source cannot tell. */
    int (*version)(const leat__source *, int n_threads, bool exact, uint64_t *out, leat_error *);
    /* The value of a numeric field from the index alone, without reading the sample; false if the index does not hold it.
     * room has 8 bytes for the value. May be NULL. */
    bool (*known)(const leat__source *, uint64_t sample, int field, leat__value *value, void *room);
    /* The path of the sample's own file as the data set names it; false if it has none. May be NULL. */
    bool (*path)(const leat__source *, uint64_t sample, char *text, size_t cap);
    /* The same from the root directory on, for lists of files. NULL: samples have no files of their own. */
    bool (*file)(const leat__source *, uint64_t sample, char *text, size_t cap);
    /* A path that opens that file, as the program may want it in a batch; allocates nothing. NULL: there are no files. */
    bool (*opens)(const leat__source *, uint64_t sample, char *text, size_t cap);
    /* Combined sources; NULL for plain ones. part_reader: the readers of its parts, NULL behind the last. parts: bit i is set
     * if plain source number i has a part in the sample. */
    leat__reader *(*part_reader)(const leat__reader *, int i);
    uint64_t (*parts)(const leat__source *, uint64_t sample);
    /* These consecutive samples will be read soon: the system may fetch them with one long read. May be NULL. */
    void (*will_read)(const leat__source *, leat__reader *, uint64_t first, uint64_t last);
    /* Where the sample lies, or the beginning of its largest field, if that is in memory; the caller brings it into the caches
     * while it works on another one. May be NULL. */
    void (*foresee)(const leat__source *, uint64_t sample, leat__foreseen *out);
    /* Samples first to first + n - 1 at once, valid until the reader's next read: 0, LEAT_RUN_NONE or an error. NULL: none. */
    int (*run)(const leat__source *, leat__reader *, uint64_t first, uint64_t n, leat__run *, leat_error *);
    /* How many bytes of storage a sample takes, from the index alone. NULL: only reading tells. */
    uint64_t (*size)(const leat__source *, uint64_t sample);
    /* Streams, and combined sources with streams among their parts; NULL for all others. A sample is given as its pieces, in
     * the order of their leaves; the first plain source in this source has number `leaf`. gather: the values of the sample.
     * describe_pieces: where it comes from. parts_of_pieces: bit i is set if plain source number i has a piece. */
    int (*gather)(const leat__source *, leat__reader *, int leaf, const leat__piece *, int n,
                  leat__value *values, leat_error *);
    void (*describe_pieces)(const leat__source *, int leaf, const leat__piece *, int n, char *text,
                            size_t cap);
    uint64_t (*parts_of_pieces)(const leat__source *, int leaf, const leat__piece *, int n);
} leat__source_class;

struct leat__source {
    const leat__source_class *class;
    uint64_t n_samples; /* UINT64_MAX: a stream, not known                        */
    int n_fields;
    leat_field field[LEAT_FIELDS_MAX];
    size_t bytes_max;                  /* of the largest sample                                  */
    size_t field_max[LEAT_FIELDS_MAX]; /* bytes of the largest value of a ragged field; 0 = bytes_max tells */
    uint64_t fingerprint;              /* of relative names and sizes: the same data elsewhere is the same */
    size_t n_classes;
    char **class_name;
    char *home;          /* a real path that side files can be named after; NULL: none     */
    int n_parts;         /* of a combined one, else 0                              */
    leat__source **part; /* (n_parts) its own                                      */
    bool paired_anew;    /* which samples of its parts meet is drawn in every epoch */
    bool no_read_ahead;  /* only workers read                                      */
    int n_readers;       /* threads that read ahead from the first batch on; 0 = when storage is slow */
    bool waits;          /* every read waits for a network: read-ahead begins with the first batch */
    char title[256];     /* "folder photos: 1,281,167 images in 1,000 classes"     */
    char warning[1200];  /* what was ignored or could not be kept; empty if nothing */
};

typedef struct leat__open_options { /* what all sources share when they are opened         */
    int n_threads;
    int64_t now_ns;        /* wall clock: files changed just now may change again    */
    const char *cache_dir; /* where side files go, NULL = the user's cache directory */
    leat__sets *sets;      /* the data sets in use there; NULL: each is locked only while it is looked at */
    bool no_side_files;
    bool beside;  /* write side files beside the data                       */
    bool refresh; /* do not trust side files that are there                 */
    bool trust;   /* those of other users too, and those that others may write to */
    leat_progress_fn progress;
    void *user;
} leat__open_options;

/* dates.c, for class->version: folds where a file lies, its size and when it was written to into *hash. */
int leat__source_date(const char *path, uint64_t size, int64_t mtime_ns, bool exact, uint64_t *hash,
                      leat_error *err);
/* The same for the file of every sample, since a file that is overwritten in place changes neither its folder nor, perhaps,
 * its size. path gives the file of a sample. */
typedef bool leat__source_path_fn(const leat__source *source, uint64_t sample, char *text, size_t cap);
int leat__source_date_all(const leat__source *source, leat__source_path_fn *path, int n_threads, bool exact,
                          const char *root, uint64_t *out, leat_error *err);
void leat__source_free(leat__source **source);
/* Plain sources in it: 1, or those of its parts together. */
int leat__source_leaves(const leat__source *source);
void leat__reader_free(const leat__source *source, leat__reader *reader);
/* Bytes of a sample without reading it: from the index, or because all samples have the same size. 0: not known. */
uint64_t leat__source_size(const leat__source *source, uint64_t sample);
/* Call gather, describe_pieces and parts_of_pieces of the class. A source that is no stream has one piece, with a number. */
int leat__source_gather(const leat__source *source, leat__reader *reader, int leaf, const leat__piece *piece,
                        int n, leat__value *values, leat_error *err);
void leat__source_describe_pieces(const leat__source *source, int leaf, const leat__piece *piece, int n,
                                  char *text, size_t cap);
uint64_t leat__source_parts_of(const leat__source *source, int leaf, const leat__piece *piece, int n);
/* Appends a field description; asserts that there is room. */
leat_field *leat__source_field(leat__source *source, const char *name, int dtype, int ndim,
                               const int64_t *shape);

/* The bytes of an array that is not contiguous, in the order of its axes; strides in bytes. */
void leat__gather(uint8_t *dst, const uint8_t *src, const int64_t *shape, const int64_t *stride, int ndim,
                  size_t item);
/* The view (height, width, channels) of (channels, height, width). */
void leat__channels_last(int64_t shape[3], int64_t stride[3]);
/* Whether it is one of LEAT_LAYOUT_*. */
int leat__source_layout(const char *what, const char *name, int layout, leat_error *err);

/* folder.c: a directory tree of images. */
typedef struct leat__folder_options {
    const char *path;
    enum { LEAT_LABELS_AUTO, LEAT_LABELS_DIR, LEAT_LABELS_NONE } labels;
    bool follow_links;
    const char
        *classes; /* sub-directories in the order of their labels, see classes.h; NULL, "" = all, sorted */
} leat__folder_options;
int leat__folder_open(leat__source **out, const leat__folder_options *, const leat__open_options *,
                      leat_error *);
/* The path of a sample relative to the folder, and its label (-1 if there are none). */
const char *leat__folder_path(const leat__source *, uint64_t sample, char *text, size_t cap, int64_t *label);
uint64_t leat__folder_size(const leat__source *, uint64_t sample);

/* indexed/records.c: uncompressed TFRecord shards with an index; field "record". */
int leat__records_open(leat__source **out, const char *const *patterns, int n, const leat__open_options *,
                       leat_error *);

/* indexed/webdataset.c: tar archives; members with the same name up to the first dot are a sample. */
typedef struct leat__webdataset_options {
    const char *const *patterns;
    int n;
    const char *const *fields; /* "image=jpg,png", "label=cls", "key=__key__"                       */
    int n_fields; /* 0: image, from what can be decoded, and label, if the first sample has one */
} leat__webdataset_options;
int leat__webdataset_open(leat__source **out, const leat__webdataset_options *, const leat__open_options *,
                          leat_error *);

/* indexed/indexed.c: the shards of a source whose class says that it has some, and the number of samples in one. */
size_t leat__indexed_shards(const leat__source *);
uint64_t leat__indexed_length(const leat__source *, size_t shard);

/* arrays.c: the caller's memory. */
int leat__arrays_open(leat__source **out, const leat_tensor *arrays, int n, leat_error *err);

/* synth.c: pictures that are computed; fields "image" u8 (height, width, channels) and "label". */
typedef struct leat__synth_options {
    uint64_t n, seed;
    int height, width, channels, n_classes;
} leat__synth_options;
int leat__synth_open(leat__source **out, const leat__synth_options *, leat_error *err);
/* Paints a photo-like picture of the class into pixels (height, width, channels). */
void leat__synth_paint(uint8_t *pixels, int height, int width, int channels, int label, uint64_t seed);

/* list.c: a table of files with labels; fields "image", "label" or those of several columns, "weight". */
typedef struct leat__list_options { /* texts are "" where nothing was asked for */
    const char *path;
    const leat_tensor *arrays; /* not NULL: the table itself, paths first, and path is ""; see rows.h */
    int n_arrays;
    const char *column;  /* of paths, by name or number                              */
    const char *label;   /* columns of labels, separated by commas; "none"           */
    const char *weight;  /* a column of numbers                                      */
    const char *root;    /* what relative paths begin at; "" = the folder of the table */
    const char *classes; /* names of the classes in their order, see classes.h       */
    bool vector;         /* the columns of labels are one field                      */
    enum { LEAT_HEADER_AUTO, LEAT_HEADER_TRUE, LEAT_HEADER_FALSE } header;
    char separator;
    bool check;       /* look at every file now                */
    size_t max_bytes; /* of a file, 0 = not known              */
    /* Guesses a name, as leat__nearest (plan/op.h) does; may be NULL. */
    const char *(*nearest)(const char *word, const char *(*next)(const void *user, size_t i),
                           const void *user);
} leat__list_options;
int leat__list_open(leat__source **out, const leat__list_options *, const leat__open_options *, leat_error *);
/* The path of a sample's file; false if it is too long. Its class, -1 if there are none. */
bool leat__list_path(const leat__source *, uint64_t sample, char *text, size_t cap);
int64_t leat__list_class(const leat__source *, uint64_t sample);

/* csv_table.c: a table of numbers and words; fields as the text names them. */
typedef struct leat__csv_options { /* texts are "" where nothing was asked for */
    const char *path;
    const char *const *fields; /* NAME, NAME:TYPE, NAME=COLUMNS, NAME:TYPE=COLUMNS       */
    int n_fields;              /* 0: every column is one                                 */
    const char *classes;       /* of the field label: names in order, see classes.h      */
    const char *categories;    /* "city=Rome,Oslo;size=S,M": words in the order of their numbers */
    const char *missing;       /* "0", "age=0;city=none": what a missing cell counts as; "error" */
    int header;                /* LEAT_HEADER_*                                          */
    char separator;
    const char *(*nearest)(const char *word, const char *(*next)(const void *user, size_t i),
                           const void *user);
} leat__csv_options;
int leat__csv_open(leat__source **out, const leat__csv_options *, const leat__open_options *, leat_error *);

/* fixed.c: records of one length; field "record". */
typedef struct leat__fixed_options {
    const char *const *patterns;
    int n;
    size_t bytes; /* of a record, above 0 */
    uint64_t header, footer;
} leat__fixed_options;
int leat__fixed_open(leat__source **out, const leat__fixed_options *, leat_error *err);

/* cifar.c: kind 10 has "image" and "label", kind 100 "image", "coarse" and "fine". */
int leat__cifar_open(leat__source **out, const char *const *patterns, int n, int kind, leat_error *err);

/* npy_arrays.c: texts are "a.npy", "name=a.npy", "a.npz", "name=a.npz:member". */
int leat__npy_arrays_open(leat__source **out, const char *const *texts, int n, int layout, leat_error *err);

/* callback.c: samples that the program reads itself. */
typedef struct leat__guard { /* called around a callback that is not thread-safe; all may be NULL */
    void (*enter)(void *user);
    void (*leave)(void *user);
    void (*free)(void *user); /* when the source is closed */
    void *user;
} leat__guard;
/* Fails: the program gave no identity, which would tell its data from other data. */
int leat__fail_no_identity(const char *source, leat_error *err);
/* The source owns the guard from here on, also on failure. */
int leat__callback_open(leat__source **out, const leat_source_callbacks *callbacks, const leat__guard *guard,
                        leat_error *err);

/* combine.c: several sources as one. A sample has the fields that the caller names. Each part fills the slots of the fields
 * it has; the other slots stay empty, and steps of the part's own text fill them later. */
typedef struct leat__part {
    leat__source *source;
    int slot[LEAT_FIELDS_MAX]; /* of each of its fields; -1 = it is not wanted                     */
    uint32_t *pick;            /* zip: (n of the zip) its sample of each pair; NULL = of that number */
    uint64_t stride;           /* zip, not 0: it has sample / stride % n_samples of each pair      */
} leat__part;
typedef struct leat__combining {
    const char *name; /* of the operation; outlives the source                   */
    bool zip;         /* parts side by side; else one after the other            */
    uint64_t n;       /* zip: samples                                            */
    int n_parts;
    leat__part *part; /* (n_parts) */
    int n_fields;
    const leat_field *field;
    bool classes; /* labels are those of the parts, not renumbered; of a zip, of the first   */
    bool drawn;   /* with streams: which samples come, or meet, is drawn in every epoch      */
} leat__combining;
/* The source owns the tables of the parts from here on, also on failure. It owns the parts too, unless one of them is a
 * stream: then the caller keeps all parts, and they must outlive the source. */
int leat__combine_open(leat__source **out, const leat__combining *options, leat_error *err);

/* windows.c: windows over consecutive samples of a source whose fields all have a fixed shape. */
typedef struct leat__windowing {
    uint64_t first, n;            /* which samples of the source there are windows over                */
    uint64_t size, shift, stride; /* samples of a window; from one window to the next; between its samples */
    uint32_t targets;             /* bit i: field i is not stacked, but taken from one sample          */
    uint64_t target;              /* which one, counted from the first of the window                   */
} leat__windowing;
/* Replaces *source, which belongs to the new one from then on; on failure it stays as it was. */
int leat__window_open(leat__source **source, const leat__windowing *how, leat_error *err);

/* shards.c: TFRecord shards of which at least one is compressed, or records that the program gives: read from the
 * beginning, one record at a time. The readers of stream/ read several shards at once, see shard.h. */
typedef struct leat__shards leat__shards;
/* 1 if a file that the patterns match is compressed, or is remote and has no index beside it, else 0. */
int leat__shards_wanted(const char *const *patterns, int n, const leat__open_options *, leat_error *err);
int leat__shards_open(leat__shards **out, leat__source **source, const char *const *patterns, int n,
                      leat_error *err);
int leat__shards_open_program(leat__shards **out, leat__source **source,
                              const leat_stream_callbacks *callbacks, leat_error *err);
size_t leat__shards_count(const leat__shards *stream);
/* "a.gz: record 3", for messages. */
void leat__shards_describe(const leat__shards *stream, size_t shard, uint64_t record, char *text, size_t cap);
/* The next record into buf: 0; 1 at the end; < 0: that record (or the rest of its shard) is lost, and reading goes
 * on behind it. Positions of compressed shards are those of the inflated bytes. */
int leat__shards_next(leat__shards *stream, leat__buf *buf, leat_error *err);
/* Where the record that came last lies. */
void leat__shards_where(const leat__shards *stream, size_t *shard, uint64_t *record);
/* Back to the first record. */
void leat__shards_rewind(leat__shards *stream);
uint64_t leat__shards_bytes_read(const leat__shards *stream);
void leat__shards_free(leat__shards **stream);

#endif
