/* SPDX-License-Identifier: Apache-2.0
 *
 * leat.h: feeding training. The whole public API for feeding; leat_tools.h has what the commands do.
 *
 * Describe a pipeline in one line of text, open it, take batches, give them back:
 *
 *     #include <leat/leat.h>
 *
 *     leat_spec     *spec = leat_spec_new("folder photos/train | shuffle seed=7 | decode"
 *                                         " | resize 224 224 | random_flip_left_right | batch 64");
 *     leat_pipeline *pipeline = NULL;
 *     leat_batch     batch;
 *     leat_error     err;
 *     int            rc = leat_pipeline_open(&pipeline, spec, NULL, &err);
 *
 *     while (rc == 0 && (rc = leat_pipeline_next(pipeline, &batch, &err)) == 0) {
 *         train(batch.tensor[0].data, batch.tensor[1].data, batch.n);  // (n,224,224,3) f32, (n) i64
 *         leat_batch_release(&batch);
 *     }
 *     if (rc < 0) fprintf(stderr, "%s\n", err.message);               // LEAT_END (1) is no error
 *     leat_pipeline_close(&pipeline);
 *     leat_spec_free(&spec);
 *
 * Rules that hold everywhere:
 *  - A zeroed config is a valid config: every field says what 0 means.
 *  - Structs grow without breaking programs that were compiled before. `reserved` is room for that. The caller zeroes
 *    the structs that it fills: words of `reserved` that are not 0 are refused with LEAT_ERR_ARGUMENT. In structs that
 *    leat fills they are 0.
 *  - A batch is a lease: its memory is valid until leat_batch_release, and is never reused before.
 *  - Nothing is global: two pipelines know nothing of one another.
 *  - The same text, data and seed give the same bytes, whatever the threads, slots, CPU or restarts.
 *
 * What functions return:
 *  - A function that can fail returns an int: 0, a positive word such as LEAT_END that is no error, or a negative
 *    LEAT_ERR_*. The message goes to the caller's leat_error, which may be NULL.
 *  - A function that cannot fail and writes text returns a size_t, as snprintf does: the length without the final 0,
 *    also if cap is smaller. The text is cut to cap and ends with a 0. text may be NULL if cap is 0.
 *  - A function that counts returns the number; -1 = not known, or without end.
 *  - A function that returns a const char * gives text that leat owns. Its comment says how long it lives.
 *  - Every other function returns void and cannot fail.
 * Switches are an int, 0 or 1. Counts of things in one struct are an int, counts of samples and bytes in a file are
 * uint64_t, bytes in memory are size_t.
 */
#ifndef LEAT_H
#define LEAT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LEAT_VERSION "0.1.0"
#define LEAT_VERSION_MAJOR 0
#define LEAT_VERSION_MINOR 1
#define LEAT_VERSION_PATCH 0
/* 1000 for 0.1.0: later versions have larger numbers. #if LEAT_VERSION_NUMBER >= LEAT_VERSION_MAKE(0, 2, 0) ... */
#define LEAT_VERSION_MAKE(major, minor, patch) ((major)*1000000 + (minor)*1000 + (patch))
#define LEAT_VERSION_NUMBER LEAT_VERSION_MAKE(LEAT_VERSION_MAJOR, LEAT_VERSION_MINOR, LEAT_VERSION_PATCH)
#define LEAT_API_MAJOR 0 /* of the shared library: programs compiled for another number do not start */

#if defined(__GNUC__)
#define LEAT_API __attribute__((visibility("default")))
#else
#define LEAT_API
#endif

/* ------------------------------------------------------------------------------------------ words */

#define LEAT_END 1 /* from leat_pipeline_next: the epochs asked for are over */

/* One list gives the codes, their names and their sentences (leat_error_name, leat_error_text). */
#define LEAT_ERROR_MAP(X)                                           \
    X(ARGUMENT, -1, "a wrong argument")                             \
    X(SYNTAX, -2, "the pipeline text cannot be read")               \
    X(NOT_FOUND, -3, "a file, folder or field does not exist")      \
    X(IO, -4, "the operating system refused to read or write")      \
    X(MEMORY, -5, "no memory, or the byte budget is used up")       \
    X(FORMAT, -6, "the bytes are not what they should be")          \
    X(CORRUPT, -7, "a checksum does not match")                     \
    X(DECODE, -8, "an image cannot be decoded")                     \
    X(SHAPE, -9, "shapes do not fit together")                      \
    X(TYPE, -10, "types do not fit together")                       \
    X(LIMIT, -11, "something is larger than a limit allows")        \
    X(SLOTS_HELD, -12, "the caller holds all batches")              \
    X(STATE, -13, "a saved state does not belong to this pipeline") \
    X(FORKED, -14, "the pipeline was opened in another process")    \
    X(THREAD, -15, "a thread could not be started")                 \
    X(UNSUPPORTED, -16, "this cannot be done here")                 \
    X(CANCELLED, -17, "the caller asked to stop")

enum {
#define LEAT_X(name, code, text) LEAT_ERR_##name = code,
    LEAT_ERROR_MAP(LEAT_X)
#undef LEAT_X
};

/* Where in the life of a sample something happened, in the order in which a sample lives. CALL stands at the end: functions
 * of the program are called in several places. */
typedef enum leat_stage {
    LEAT_STAGE_NONE,
    LEAT_STAGE_READ,
    LEAT_STAGE_PARSE,
    LEAT_STAGE_DECODE,
    LEAT_STAGE_TRANSFORM,
    LEAT_STAGE_STORE,
    LEAT_STAGE_CALL, /* functions of the program: those of map and filter; in leat_stats also a source's read_at */
    LEAT_STAGE_COUNT
} leat_stage;

typedef enum leat_dtype {
    LEAT_DTYPE_U8,
    LEAT_DTYPE_I8,
    LEAT_DTYPE_U16,
    LEAT_DTYPE_I16,
    LEAT_DTYPE_U32,
    LEAT_DTYPE_I32,
    LEAT_DTYPE_U64,
    LEAT_DTYPE_I64,
    LEAT_DTYPE_F16,
    LEAT_DTYPE_BF16,
    LEAT_DTYPE_F32,
    LEAT_DTYPE_F64,
    LEAT_DTYPE_BOOL,
    LEAT_DTYPE_BYTES, /* strings of bytes; always ragged, one u8 a byte */
    LEAT_DTYPE_COUNT
} leat_dtype;

enum { LEAT_ON_ERROR_RAISE = 0, LEAT_ON_ERROR_SKIP = 1, LEAT_ON_ERROR_REPLACE = 2 };
enum { LEAT_LOG_INFO, LEAT_LOG_WARNING };

/* Where the channels of a picture are. NONE: it was not said, or the field is no picture. A sample has no batch axis:
 * NHWC is (height, width, channels), NCHW is (channels, height, width). */
enum { LEAT_LAYOUT_NONE = 0, LEAT_LAYOUT_NHWC = 1, LEAT_LAYOUT_NCHW = 2 };

#define LEAT_NDIM_MAX 6
#define LEAT_NO_SAMPLE UINT64_MAX

/* ------------------------------------------------------------------------------------ plain structs */

typedef struct leat_error { /* the caller's; nothing in it is allocated                    */
    int code;               /* LEAT_ERR_*, 0 if none                                       */
    int sys;                /* errno when the operating system said so, else 0             */
    int stage;              /* LEAT_STAGE_*                                                */
    int column;             /* column of the pipeline text, from 1; 0 if not about a text  */
    uint64_t sample;        /* number of the sample, LEAT_NO_SAMPLE if none                */
    char message[1000];     /* one line: what, where, what to do                           */
    uint64_t reserved[4];   /* 0                                                           */
} leat_error;

/* May be called from any thread of the pipeline; must not call back into it. */
typedef void (*leat_log_fn)(void *user, int level, const char *message);
/* Long work before the first batch (scanning, indexing); total is 0 while unknown. Return non-zero to
 * cancel: the call that was working returns LEAT_ERR_CANCELLED. */
typedef int (*leat_progress_fn)(void *user, const char *what, uint64_t done, uint64_t total);
/* Asked about twenty times a second while next waits, on the thread that called next and without any lock: whether it
 * shall go on. Non-zero: that call returns LEAT_ERR_CANCELLED; nothing is lost, and the next call goes on. It must not
 * call into the pipeline. */
typedef int (*leat_waiting_fn)(void *user);
/* Memory for slots from the caller, e.g. pinned; alignment is 4096. Called only in open and in next. With it batches of one
 * have one size too, see leat_batch. */
typedef void *(*leat_slot_alloc_fn)(void *user, size_t bytes, size_t alignment);
typedef void (*leat_slot_free_fn)(void *user, void *memory, size_t bytes);

typedef struct leat_config { /* zeroed = sensible defaults                                          */
    int n_threads;           /* workers; 0 = a fair share of the cores this process may use         */
    int n_slots;             /* batches in memory at once; 0 = what `prefetch` says, else automatic */
    int synchronous;         /* 1 = no threads: everything runs in the caller of next               */
    int on_error;            /* LEAT_ON_ERROR_*; 0 = raise                                          */
    int n_epochs;            /* 0 = one epoch, -1 = without end                                     */
    int tune;             /* 0 = slots in use and read-ahead follow what the consumer waits for, -1 = fixed */
    int rank;             /* of this process among world_size that train together, from 0        */
    int world_size;       /* 0 = alone, -1 = rank and number as the launcher's environment says  */
    int local_world_size; /* of them on this machine, which threads and memory are divided by; 0 =
                                      as the environment says                                             */
    int64_t max_bad;      /* bad samples of an epoch after which it fails; 0 = any number        */
    uint64_t seed;        /* for every random operation that has none of its own                 */
    size_t memory_max_bytes;   /* 0 = a quarter of what is available                                  */
    const char *cache_dir;     /* indexes go here, see leat_cache_list; NULL = the user's cache directory */
    int no_side_files;         /* 1 = neither read nor write indexes on disk                          */
    int params;                /* 1 = batches tell what was drawn: leat_batch_params                  */
    leat_log_fn log;           /* NULL = silence                                                      */
    leat_progress_fn progress; /* NULL = none                                                         */
    leat_slot_alloc_fn slot_alloc; /* NULL = leat's own                                               */
    leat_slot_free_fn slot_free;
    leat_waiting_fn waiting; /* NULL = next waits without asking                                          */
    void *user;              /* passed to the callbacks above                                             */
    int top; /* 0 = `leat top` shows it, unless LEAT_TOP=0 is in the environment; -1 = it does not */
    /* 1 = indexes, positions and caches of any owner and with any permissions are used; 0 = only those of this user, of root
     * and, beside the data, of the owner of the data, to which neither group nor others may write. */
    int trust_cache;
    uint64_t trace_events; /* so many are kept for leat_trace_events (leat_tools.h); 0 = no trace       */
    /* 1 = leat_pipeline_restore takes states of batches of another size too, on all ranks together: it goes on at the same
     * sample, and every sample of the epoch comes once. */
    int resize_batch;
    /* Several pipelines can make the batches of one: each makes the steps step_first, step_first + step_stride, ... of every
     * epoch, with the same bytes. Lengths and states are those of one pipeline that makes all. stride 0 = 1 = every step. Not for
     * streams and buckets. */
    uint64_t step_first, step_stride;
    uint64_t reserved[3]; /* must be 0                                                                  */
} leat_config;

typedef struct leat_tensor { /* one field of a batch, or of memory given by the caller            */
    const char *name;        /* "image", "label", ...                                             */
    void *data;
    int dtype; /* LEAT_DTYPE_*                                                      */
    int ndim;
    /* shape[0] is the batch; of a ragged field the number of entries, or what a caller gives: of slices. */
    int64_t shape[LEAT_NDIM_MAX];
    int64_t stride[LEAT_NDIM_MAX]; /* in bytes; all zero in what a caller gives = contiguous            */
    const int64_t *offsets;        /* ragged: sample i has entries [offsets[i], offsets[i+1]); else NULL */
    /* Of what a caller gives, ragged: sample i has entries [offsets[i], ends[i]), so that samples may lie anywhere behind
     * data, in any order, and shape[0] is the number of both. NULL = offsets[i+1]. */
    const int64_t *ends;
    /* LEAT_LAYOUT_*, in what a caller gives: of pictures (n, channels, height, width) NCHW. They are used where they lie,
     * as pictures (height, width, channels). In a batch it is 0: leat_pipeline_fields tells the layout. */
    int layout;
    uint64_t reserved[1]; /* must be 0 in what a caller gives                                           */
} leat_tensor;

/* All samples of a batch have one shape. When the batch size is 1 (no `batch`, or `batch 1`) there is nothing to stack: a
 * picture or another field whose size the text does not fix has the shape of that very sample, so look at tensor[i].shape of
 * each batch. leat_pipeline_fields says -1 for such axes. */
typedef struct leat_batch { /* a lease on a slot                                                 */
    int n;                  /* samples in it                                                     */
    int n_valid; /* the first so many are real: n, unless a batch was filled up with repeated ones */
    int n_left;  /* so many more can be held beside it; 0: next waits until one is released, see SLOTS_HELD */
    int n_tensors;
    const leat_tensor *tensor; /* in the order of the fields: images first, then labels, ...        */
    const uint64_t *sample;    /* (n) numbers of the samples in the dataset                         */
    const uint64_t *position;  /* (n) their positions in the epoch: part of the key of their draws  */
    uint64_t epoch;            /* which epoch it belongs to, from 0                                 */
    uint64_t step;             /* which batch of that epoch, from 0                                 */
    void *lease;               /* ours                                                              */
    uint64_t generation;       /* ours: tells this lease from later ones on the same memory         */
    uint64_t reserved[4];      /* 0                                                                 */
} leat_batch;

typedef struct leat_field { /* what a batch will hold, known before the first one                */
    char name[64];
    int dtype;
    int ndim;
    int64_t shape[LEAT_NDIM_MAX]; /* of one sample; -1 = differs from sample to sample                 */
    int ragged;
    int mask;   /* 1 = classes of pixels: a field of `mask`, or of decode palette=index; leat fills it */
    int layout; /* LEAT_LAYOUT_* of a picture; a caller may give NHWC: pixels are written so    */
    uint64_t reserved[1]; /* must be 0 in what a caller gives                                          */
} leat_field;

/* One field of one sample, filled in by leat_source_callbacks.read_at. */
typedef struct leat_value_out {
    void *room;        /* leat's memory: write the value here ...                                 */
    size_t room_bytes; /* as many as a fixed field has, else max_bytes of the callbacks           */
    const void *data;  /* ... or point to your own memory, which is copied; NULL = it is in room  */
    size_t bytes;      /* of the value; those of a fixed field are set already                    */
    int64_t shape[LEAT_NDIM_MAX]; /* as declared; set the axes that were declared as -1           */
    uint64_t reserved[2];         /* 0; must stay so                                              */
} leat_value_out;

/* Samples that the program reads itself. Everything here but what `user` points to is copied by leat_spec_source. */
typedef struct leat_source_callbacks {
    uint64_t n;   /* samples, above 0                                                        */
    int n_fields; /* 1 to 32                                                                 */
    /* (n_fields) Name, dtype and shape of one sample; -1 = that axis differs from sample to sample. Ragged: the first
     * axis has any length, as of tokens (n) and boxes (n, 4). Bytes (files to decode) are always ragged. */
    const leat_field *field;
    /* Bytes of the largest value of a field whose size differs; 0 = not known: then there is no room for it, read_at
     * points to memory of its own, and it cannot go into a batch undecoded. */
    size_t max_bytes;
    /* Fills out[0 .. n_fields) with sample i, the same whenever it is asked for: 0, or a negative LEAT_ERR_* with a
     * line in err->message (err is never NULL) of what is wrong with this sample. Memory that it points to must stay
     * as it is until the next call on the same thread or, if it is not thread-safe, until the next call at all. It must
     * not call into the pipeline. */
    int (*read_at)(void *user, uint64_t i, leat_value_out *out, leat_error *err);
    int thread_safe; /* 1 = several threads may call it at once; 0 = one call at a time      */
    /* 1 = no thread of its own reads ahead, however long read_at takes: calls go on at once in n_threads at the most. */
    int no_read_ahead;
    /* A number of your own that tells this data from other data: states of one are refused by the other. */
    uint64_t identity;
    void *user; /* passed to read_at; must outlive every pipeline on this spec              */
    uint64_t
        n_readers; /* so many threads read ahead from the first batch on, up to 192; 0 = when reading is slow */
    uint64_t reserved[7]; /* must be 0                                                       */
} leat_source_callbacks;

/* Records that the program reads itself, one after the other, when their number is not known. Several readers are open
 * at once, of several shards, and of the same one where an epoch ends and the next begins; each is used by one thread at a
 * time. Everything here but what `user` points to is copied by leat_spec_stream. */
typedef struct leat_stream_callbacks {
    uint64_t
        n_shards; /* that can be read on their own, above 0: parts, files, connections                   */
    /* Begins with the first record of a shard; what *reader is set to goes to the others. 0, or a negative LEAT_ERR_* with
     * a line in err->message (err is never NULL): the shard is lost. */
    int (*begin)(void *user, uint64_t shard, void **reader, leat_error *err);
    /* The next record, which must stay as it is until the next call with this reader: 0; LEAT_END if there is none; or a
     * negative LEAT_ERR_*: the rest of the shard is lost. A shard gives the same records whenever it is begun: it is
     * begun in every epoch, after a restore, and once when the pipeline is opened. */
    int (*next)(void *reader, const void **data, size_t *bytes, leat_error *err);
    void (*end)(void *reader); /* Behind every begin that did not fail; NULL = there is nothing to do. */
    size_t max_bytes;     /* of the largest record; 0 = not known: it cannot go into a batch as it is     */
    uint64_t identity;    /* as above                                                                     */
    void *user;           /* passed to begin; must outlive every pipeline on this spec                    */
    uint64_t reserved[8]; /* must be 0                                                               */
} leat_stream_callbacks;

/* Which sample a function of the program is called for. Random numbers that are a function of a seed and of these come
 * out the same with any number of threads, after a restart, and on any number of ranks. */
typedef struct leat_sample_info {
    uint64_t epoch;       /* from 0                                                              */
    uint64_t position;    /* in the epoch, before batching: as leat_batch.position               */
    uint64_t sample;      /* number in the dataset: as leat_batch.sample                         */
    uint64_t seed;        /* of the pipeline                                                     */
    uint64_t operation;   /* number of the operation in the text: with it, two maps draw differently */
    void *call;           /* ours, for leat_map_make; NULL for a filter                          */
    uint64_t reserved[2]; /* 0                                                                   */
} leat_sample_info;

/* Whether a sample is kept, for `filter callback=NAME`: 1 = it is, 0 = it is not, or a negative LEAT_ERR_* with a line in
 * err->message (never NULL): the sample is bad. fields: (n) what the sample has before it is decoded, each with the shape
 * of one sample, valid during the call. The answer must be a function of the sample and of info: it holds for all epochs,
 * so info->epoch is 0 and info->position is the number of the sample. It must not call into the pipeline. */
typedef int (*leat_filter_fn)(void *user, const leat_sample_info *info, const leat_tensor *fields, int n,
                              leat_error *err);
/* Makes new fields of those that a sample has, for `map callback=NAME`. in: (n_in) all fields of the sample, valid during
 * the call. out: (n_out) those that the text names, in its order; data points to memory for the declared shape, which
 * must be filled. The sizes of axes that the text declares as `*` are the function's to choose: shape has -1 there, data is
 * NULL, and leat_map_make gives the memory. If the text has `*` in place of a field, the function makes further fields with
 * leat_map_make, any number of them. It is called once when the pipeline is opened, with n_out as in the text, and the
 * names, types and numbers of axes that it makes for that sample are those that it must make for all: they come behind the
 * declared ones in out. 0, or a negative LEAT_ERR_* as above. It must be a function of the sample and of info. In front of
 * `cache` what it makes is kept for all epochs, and in front of `filter` it is asked for all epochs: there info is as for
 * a filter. */
typedef int (*leat_map_fn)(void *user, const leat_sample_info *info, const leat_tensor *in, int n_in,
                           const leat_tensor *out, int n_out, leat_error *err);

typedef struct leat_stats {
    uint64_t samples;          /* handed over                                                       */
    uint64_t batches;          /* handed over                                                       */
    uint64_t bytes_read;       /* from storage                                                      */
    uint64_t bytes_out;        /* written into handed-over batches                                  */
    uint64_t bad_samples;      /* counted whatever the policy                                       */
    uint64_t slots;            /* in use now                                                        */
    uint64_t slots_added;      /* because the caller held all of them                               */
    uint64_t grown;            /* times a worker's buffer had to grow                               */
    uint64_t memory_bytes;     /* held now: slots, buffers, indexes                                 */
    uint64_t memory_max_bytes; /* the budget                                                        */
    int n_threads;
    double wait_s;         /* the consumer waited for leat this long                            */
    double full_s;         /* the workers had nothing to do this long, summed over workers      */
    double cpu_s;          /* processor time of the workers                                     */
    double first_batch_s;  /* from open to the first batch                                      */
    double stage_s[16];    /* [LEAT_STAGE_*] wall time of the workers, estimated; it only grows */
    uint64_t cache_hits;   /* samples that `cache` had                                          */
    uint64_t cache_misses; /* samples that were made                                            */
    uint64_t cache_bad;    /* entries on disk that were damaged: made anew                      */
    uint64_t cache_bytes;  /* of its entries, in memory or on disk                              */
    uint64_t read_ahead;   /* samples that reader threads had read when a worker came to them   */
    int n_readers;         /* threads that read ahead now, or inflate compressed files          */
    int shards;            /* of a stream: shards that are open at once; else 0                 */
    uint64_t samples_made; /* by workers: those in batches that wait are not handed over yet    */
    double open_s;         /* since the pipeline was opened                                     */
    double
        read_wait_s; /* workers were blocked in reading, summed over workers: storage kept them waiting, not other
                              programs that use the cores. Estimated by sampling                */
    double
        slots_full_s; /* every slot was full and no worker had anything to do: leat was ahead of the consumer */
    double readers_s;      /* reader threads read, inflated or filtered, summed over threads    */
    double readers_wait_s; /* of that, they were blocked                                        */
    double tuned_s;        /* from open to the last change that the tuner made; 0 = none        */
    uint64_t tuned;        /* changes that the tuner made                                       */
    int slots_max;         /* slots that the tuner may use                                      */
    uint64_t retries;      /* requests for remote files that were sent again                    */
    double queue_s;        /* workers could have run and had no core, summed over workers: 0 if not known */
    uint64_t reserved[5];  /* 0                                                                 */
} leat_stats;

typedef struct leat_bad { /* a sample that could not be used                                   */
    uint64_t sample;
    uint64_t epoch;
    int stage;
    int code;
    char message[400];
    uint64_t reserved[4]; /* 0                                                               */
} leat_bad;

typedef struct leat_spec leat_spec;         /* what to do: built once, then only read         */
typedef struct leat_pipeline leat_pipeline; /* doing it: threads, memory, position            */

/* ------------------------------------------------------------------------------------------- build */

/* A spec from pipeline text, or an empty one if text is NULL. A file to read may be an address, https://, http:// or
 * s3://bucket/key (docs/remote.md). NULL only without memory. The caller frees it. Not for two
 * threads at once; afterwards any number of pipelines may read it.
 *
 * The functions that build a spec remember its first mistake, and do nothing after it. They return its code, as
 * leat_spec_error does: a program may look once, at the end, or leave it to leat_pipeline_open. */
LEAT_API leat_spec *leat_spec_new(const char *text);
/* Adds one or more operations: leat_spec_add(spec, "resize 224 224"). The text is copied. Data sets that are combined are
 * parts (leat_spec_part), or texts in quotes inside of it: leat_spec_add(spec, "zip image='folder images' mask=@masks"). */
LEAT_API int leat_spec_add(leat_spec *spec, const char *text);
/* A source of slices along axis 0 of the caller's arrays, as tf.data's from_tensor_slices: must be the first
 * operation. The n descriptions are copied, the memory is not: it must outlive every pipeline on this spec and
 * not change meanwhile. All shape[0] must be equal. */
LEAT_API int leat_spec_arrays(leat_spec *spec, const leat_tensor *arrays, int n);
/* The table of `list`, in memory: leat_spec_add(spec, "list check=true") then needs no file. The first array has the paths of
 * the files, as bytes with offsets. Each of the others is a field: numbers (n) or (n, k), numbers with offsets (boxes of a
 * picture), or words as bytes with offsets, which become labels. The descriptions are copied; the memory is copied when a
 * pipeline is opened. */
LEAT_API int leat_spec_table(leat_spec *spec, const leat_tensor *arrays, int n);
/* A source of samples that the program reads itself: must be the first operation. */
LEAT_API int leat_spec_source(leat_spec *spec, const leat_source_callbacks *callbacks);
/* A source of records that the program reads one after the other, with one field, `record`: must be the first
 * operation. */
LEAT_API int leat_spec_stream(leat_spec *spec, const leat_stream_callbacks *callbacks);
/* Functions of the program that the text calls by name: `filter callback=NAME`, `map callback=NAME ...`. The name is
 * copied; user must outlive every pipeline on this spec. thread_safe: 1 = several workers may call it at once, 0 = one
 * call at a time in a pipeline, from any thread. Filters of an indexed source are called while it is opened. */
LEAT_API int leat_spec_filter(leat_spec *spec, const char *name, leat_filter_fn fn, void *user,
                              int thread_safe);
LEAT_API int leat_spec_map(leat_spec *spec, const char *name, leat_map_fn fn, void *user, int thread_safe);
/* A data set that `concatenate`, `sample_from`, `choose_from` and `zip` combine with others. The text calls it @NAME:
 * leat_spec_add(spec, "zip image=@photos mask=@masks"). A part has everything that a spec can have: arrays, callbacks,
 * functions, parts of its own. The name (letters, digits, _) and the part are copied, so the part may be freed or changed
 * afterwards. What the part refers to (arrays, user pointers) must outlive every pipeline on this spec. Functions of a part
 * are found in the part itself. A map function there is told the epoch and the numbers of the whole pipeline. A read_at that
 * is not thread-safe is called once at a time in each part: two parts must not share what it changes. */
LEAT_API int leat_spec_part(leat_spec *spec, const char *name, const leat_spec *part);
/* For a leat_map_fn: memory for a field, by its name, type and shape, to be filled before the function returns. A field
 * that was declared, or made for the first sample, must have the same type and number of axes, and the sizes that are fixed.
 * If it is called again for the same field, the last memory counts. info: as the function got it, on its thread. NULL if the
 * field does not fit or there is no memory: err says why, and the function should return err->code. */
LEAT_API void *leat_map_make(const leat_sample_info *info, const leat_field *field, leat_error *err);
/* 0, or the code of the first mistake, which is copied to err. */
LEAT_API int leat_spec_error(const leat_spec *spec, leat_error *err);
/* The spec as pipeline text in its normal form, its parts as texts in quotes; returns the length without the final 0, as
 * snprintf does. What only the program has (arrays, callbacks) is the one word arrays, source or stream. */
LEAT_API size_t leat_spec_text(const leat_spec *spec, char *text, size_t cap);
/* Frees and nulls; NULL is fine. Pipelines that were opened from it go on. */
LEAT_API void leat_spec_free(leat_spec **spec);

/* --------------------------------------------------------------------------------------------- run */

/* Checks, plans, allocates everything and starts the workers. config may be NULL. On failure *out is NULL. */
LEAT_API int leat_pipeline_open(leat_pipeline **out, const leat_spec *spec, const leat_config *config,
                                leat_error *err);
/* Waits for the next batch in order and leases it to the caller. Returns 0, LEAT_END when the epochs asked
 * for are over, or an error. An error of a sample (on_error=raise) surfaces when its batch is due, and stays.
 * One thread at a time. */
LEAT_API int leat_pipeline_next(leat_pipeline *pipeline, leat_batch *batch, leat_error *err);
/* Gives the batch's memory back and zeroes *batch. Any thread, also after leat_pipeline_close (the memory
 * then goes with the last batch). NULL and a zeroed batch are fine. A copy of a batch that was released already gives
 * nothing back, and the log says so. That holds as long as the pipeline is open or another of its batches is held. */
LEAT_API void leat_batch_release(leat_batch *batch);
/* One sample by itself, with the bytes that it has in its batch: draws are a function of epoch and position. It is a
 * batch of one, to be released; the pipeline's own position stays where it is. What is mixed (mixup, cutmix) is made
 * with its whole group. LEAT_ERR_UNSUPPORTED: compressed files are read from their beginning only. Same thread as next. */
LEAT_API int leat_pipeline_sample(leat_pipeline *pipeline, uint64_t epoch, uint64_t position,
                                  leat_batch *batch, leat_error *err);
/* What was drawn for the i-th sample, in the order of the text: "random_flip_left_right flip=1; random_brightness
 * delta=0.037". "" without leat_config.params. Lives as long as the batch is held. */
LEAT_API const char *leat_batch_params(const leat_batch *batch, int i);
/* Where a sample comes from, by its number: "cats/1.jpg", "a.tfrecord: record 3 at byte 4711"; snprintf's return
 * value. Any thread. */
LEAT_API size_t leat_pipeline_name(const leat_pipeline *pipeline, uint64_t sample, char *text, size_t cap);
/* Number of batches of an epoch, or -1 if unknown (streams, before they were read once) or endless. All epochs have the same,
 * except one in which leat_config.resize_batch has changed the size. */
LEAT_API int64_t leat_pipeline_length(const leat_pipeline *pipeline, uint64_t epoch);
/* Number of samples in one epoch, on all ranks together; -1 as above. */
LEAT_API int64_t leat_pipeline_samples(const leat_pipeline *pipeline);
/* Epochs in one run through the text: 1, more if `repeat` stands after `batch`, -1 if that is without end. Any thread. */
LEAT_API int leat_pipeline_repeats(const leat_pipeline *pipeline);
/* Number of fields; fields[i] as long as i < cap. Axes that differ from batch to batch are -1. Any thread. */
LEAT_API int leat_pipeline_fields(const leat_pipeline *pipeline, leat_field *fields, int cap);
/* Names of the classes (folder sources): the i-th, or NULL past the end or when there are none. Lives as
 * long as the pipeline. */
LEAT_API const char *leat_pipeline_class(const leat_pipeline *pipeline, int i);
/* The position after the last batch handed over, as text of under 1 KiB. Same thread as next. 0, or
 * LEAT_ERR_LIMIT if cap is too small. */
LEAT_API int leat_pipeline_state(const leat_pipeline *pipeline, char *text, size_t cap, leat_error *err);
/* The same of another place: behind the first `step` batches of an epoch. Any thread. LEAT_ERR_ARGUMENT if the epoch has
 * fewer. A stream is read from its beginning up to there when it is restored. */
LEAT_API int leat_pipeline_state_at(leat_pipeline *pipeline, uint64_t epoch, uint64_t step, char *text,
                                    size_t cap, leat_error *err);
/* Continues where that text was taken; refuses the state of another pipeline or dataset and says what
 * differs, and one that was cut or changed. Batches that the caller holds stay valid. Same thread as next. */
LEAT_API int leat_pipeline_restore(leat_pipeline *pipeline, const char *text, leat_error *err);
/* What has happened so far. Any thread, any time. */
LEAT_API void leat_pipeline_stats(const leat_pipeline *pipeline, leat_stats *stats);
/* The i-th bad sample in the order of batches (the first 1,000 are kept): 0, or LEAT_END. Any thread. */
LEAT_API int leat_pipeline_bad(const leat_pipeline *pipeline, uint64_t i, leat_bad *bad);
/* What will run, what was fused, the memory it takes, as lines of text; snprintf's return value. */
LEAT_API size_t leat_pipeline_plan(const leat_pipeline *pipeline, char *text, size_t cap);
/* Makes a waiting next return LEAT_ERR_CANCELLED, now and from then on. Any thread, also a signal handler. */
LEAT_API void leat_pipeline_cancel(leat_pipeline *pipeline);
/* Stops the workers, frees, nulls. Finite from any state; leased batches stay valid until released.
 * NULL is fine. Not at the same time as next. */
LEAT_API void leat_pipeline_close(leat_pipeline **pipeline);

/* ------------------------------------------------------------------------------------------- words */

/* Of the library that runs, as text and as LEAT_VERSION_NUMBER: the macros tell what a program was compiled with. */
LEAT_API const char *leat_version(void);
LEAT_API int leat_version_number(void);
/* "ARGUMENT" for LEAT_ERR_ARGUMENT; a sentence for it; "read", "decode", ...; "u8", "f32", ... */
LEAT_API const char *leat_error_name(int code);
LEAT_API const char *leat_error_text(int code);
LEAT_API const char *leat_stage_name(int stage);
LEAT_API const char *leat_dtype_name(int dtype);
/* Bytes of one value. */
LEAT_API size_t leat_dtype_size(int dtype);

#ifdef __cplusplus
}
#endif
#endif
