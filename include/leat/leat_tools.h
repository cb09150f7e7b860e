/* SPDX-License-Identifier: Apache-2.0
 *
 * leat_tools.h: what the commands do, for programs: describe operations, look into data, check it, index it, look after
 * the cache directory, make a practice set, pack a folder, write records, measure a ceiling, tell why a pipeline is
 * slow, list what runs. Feeding itself is leat.h.
 *
 * Functions with a leat_tool_config, which may be NULL, work in parallel and call back on the thread that called them
 * only. What they return, and what `reserved` is for, is told at the top of leat.h: *_config structs must be zeroed
 * before they are filled, reports come with 0 in it. */
#ifndef LEAT_TOOLS_H
#define LEAT_TOOLS_H

#include "leat/leat.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct leat_tool_config { /* zeroed = sensible defaults                                   */
    int n_threads;                /* 0 = all cores this process may use                           */
    const char *cache_dir;        /* of indexes; NULL = the user's cache directory                */
    int no_side_files;            /* 1 = neither read nor write indexes                           */
    int trust_cache;              /* as in leat_config                                            */
    leat_log_fn log;              /* NULL = silence                                               */
    leat_progress_fn progress;    /* NULL = none; non-zero cancels with LEAT_ERR_CANCELLED        */
    void *user;
    uint64_t reserved[8]; /* must be 0 */
} leat_tool_config;

/* --------------------------------------------------------------------------------------- operations */

typedef struct leat_arg_info {
    const char *name;
    const char *type;     /* "int", "number", "bool", "word", "text", "field", "dtype", "texts", "ints" */
    const char *fallback; /* default as text; NULL = must be given                                 */
    const char *words;    /* of a "word": "raise|skip|replace"; else NULL                           */
    double min, max;      /* both 0 = any                                                           */
    int named;            /* only as name=value                                                     */
    const char *help;
    const char *also;     /* other names of it that are taken, "num_classes|depth"; NULL = none     */
    uint64_t reserved[3]; /* 0 */
} leat_arg_info;

typedef struct leat_op_info {
    const char *name;
    const char *kind; /* "source", "order", "sample", "image", "batch"                          */
    const char *help; /* one sentence                                                           */
    const char *like; /* its names elsewhere                                                    */
    int random;
    int n_args;
    leat_arg_info arg[32];
    uint64_t reserved[8]; /* 0 */
} leat_op_info;

/* The i-th operation of the table: 0, or LEAT_END past the last. Texts live for ever. */
LEAT_API int leat_op_at(int i, leat_op_info *op);
/* The operation that another library calls so, such as "RandomHorizontalFlip" (case and _ do not matter), or that has an
 * argument which is called so there, such as "rotation_range"; NULL if there is none. argument, which may be NULL, is set
 * to leat's name of that argument, or to NULL. */
LEAT_API const char *leat_op_elsewhere(const char *name, const char **argument);
/* The operation whose name is nearest to a wrong one, NULL if none is near. */
LEAT_API const char *leat_op_near(const char *name);

/* --------------------------------------------------------------------------------------- look inside */

typedef struct leat_class_count {
    const char *name;
    uint64_t n;
    uint64_t reserved[2]; /* 0 */
} leat_class_count;

typedef struct leat_format_count { /* image formats, or keys of Examples                         */
    char name[72];                 /* "jpeg", "png" ...; for records "label: int64[1]"           */
    uint64_t n;
    uint64_t reserved[2]; /* 0 */
} leat_format_count;

typedef struct leat_info { /* zeroed before; free with leat_info_free                     */
    char kind[32];         /* "folder", "tfrecord", "tfrecord gzip", "list", "image", ... */
    uint64_t n_samples;    /* images or records                                           */
    uint64_t n_files;
    uint64_t bytes;
    int n_classes;
    leat_class_count *classes;
    int n_formats;
    leat_format_count *formats;
    uint64_t n_looked_at; /* images or records that sizes and formats were taken from     */
    uint64_t n_bad;       /* of those: could not be read                                  */
    int width_min, width_max, height_min, height_max;
    double width_mean, height_mean;
    uint64_t sample_bytes_min, sample_bytes_max;
    uint64_t n_own; /* JPEGs, PNGs and WebPs of those that are for leat's own decoders   */
    int n_detours;
    leat_format_count *detours; /* whose others are, and why: "libjpeg-turbo: CMYK", "libpng: interlaced" */
    void *memory;               /* ours                                                        */
    uint64_t reserved[16];      /* 0 */
} leat_info;

/* What a path is: a folder of images, a TFRecord file or pattern, a list of images (.csv), an image. look_at: how
 * many samples are opened for sizes and formats, spread evenly; 0 = 1000, -1 = all. */
LEAT_API int leat_info_read(leat_info *info, const char *path, int64_t look_at,
                            const leat_tool_config *config, leat_error *err);
LEAT_API void leat_info_free(leat_info *info);

typedef struct leat_show_report {
    uint64_t n_damaged;
    uint64_t reserved[8]; /* 0 */
} leat_show_report;
typedef int (*leat_line_fn)(void *user, const char *line);
/* Calls line for each line of a readable form of the records [first, first + count) of a TFRecord file; a damaged record
 * gives a line that says so, and counts in the report. Non-zero from line stops. count < 0: all. report may be NULL. */
LEAT_API int leat_show(const char *path, uint64_t first, int64_t count, leat_line_fn line, void *user,
                       leat_show_report *report, const leat_tool_config *config, leat_error *err);

typedef struct leat_check_report {
    uint64_t n_files, n_samples, n_bad, bytes;
    uint64_t reserved[8]; /* 0 */
} leat_check_report;

typedef struct leat_check_bad { /* texts live until the callback returns                       */
    const char *path;           /* of the file                                                 */
    uint64_t record;            /* its number in the file; LEAT_NO_SAMPLE: the file itself     */
    int stage;                  /* LEAT_STAGE_*                                                */
    int code;                   /* LEAT_ERR_*                                                  */
    const char *reason;         /* one line, without the path                                  */
    uint64_t reserved[4];       /* 0 */
} leat_check_bad;

/* Checks every checksum and decodes every image below the paths (folders, TFRecords, lists, images; the images inside
 * records too). bad is called once for each bad one, in order; non-zero from it stops. Progress counts bytes. Returns 0 whether
 * or not something is bad. */
LEAT_API int leat_check(const char *const *paths, int n, int (*bad)(void *user, const leat_check_bad *bad),
                        void *user, leat_check_report *report, const leat_tool_config *config,
                        leat_error *err);

typedef struct leat_index_config { /* zeroed = an index in the cache directory               */
    int beside;                    /* keep it beside the data                                */
    int positions;                 /* of JPEGs too: later crops are decoded faster           */
    uint64_t reserved[8];          /* must be 0 */
} leat_index_config;
typedef struct leat_index_report {
    uint64_t n_samples;
    uint64_t n_positions; /* JPEGs that have them */
    uint64_t reserved[8]; /* 0 */
} leat_index_report;
/* Makes the index of a folder or of TFRecords anew and keeps it. how and report may be NULL. */
LEAT_API int leat_index(const char *const *paths, int n, const leat_index_config *how,
                        leat_index_report *report, const leat_tool_config *config, leat_error *err);

/* ------------------------------------------------------------------------------ the cache directory
 *
 * Indexes, answers to questions about samples and positions inside JPEG files are kept from run to run, in a folder for each
 * data set. Together they have at most LEAT_CACHE_BYTES (the environment variable, such as 500MiB), by default 4 GiB or 5 %
 * of the disk if that is less. Whenever something is added, the data sets that were not used for longest are removed until
 * the rest fits. A data set that a process uses stays. */

typedef struct leat_cache_set { /* what is kept of one data set; texts live until the callback returns */
    const char *path;           /* of the data set; "" if that is not known                            */
    const char *folder;         /* where it is kept                                                    */
    uint64_t bytes, n_files;
    int64_t used_s; /* when it was last used, in seconds since 1970                                */
    int in_use;     /* a process uses it now                                                       */
    const char
        *foreign; /* a file in the folder that leat did not make: then nothing in it is removed; or NULL */
    uint64_t reserved[4]; /* 0 */
} leat_cache_set;

typedef struct leat_cache_report {
    char path[1024];        /* the cache directory                                                */
    uint64_t n_sets, bytes; /* that are there, or are left                                        */
    uint64_t bytes_max;     /* the limit                                                          */
    uint64_t n_removed, bytes_removed;
    uint64_t n_in_use, n_foreign; /* of those that are left: in use; with files that leat did not make  */
    uint64_t reserved[8];         /* 0 */
} leat_cache_report;

/* Calls set for each data set, least recently used first; non-zero from it stops. set and report may be NULL. */
LEAT_API int leat_cache_list(int (*set)(void *user, const leat_cache_set *set), void *user,
                             leat_cache_report *report, const leat_tool_config *config, leat_error *err);
#define LEAT_CACHE_LIMIT UINT64_MAX
/* Removes data sets, least recently used first, until they have bytes_max bytes or less; LEAT_CACHE_LIMIT: until they are
 * within the limit, 0: all. Data sets in use stay, and so does whatever leat did not make: links are not followed. Removes
 * also what older versions and killed processes have left. report may be NULL. */
LEAT_API int leat_cache_prune(uint64_t bytes_max, leat_cache_report *report, const leat_tool_config *config,
                              leat_error *err);

/* --------------------------------------------------------------------------------------------- make */

typedef struct leat_synth_config { /* zeroed = the defaults named here                       */
    uint64_t n_images;             /* 0 = 1000                                               */
    int n_classes;                 /* 0 = 10                                                 */
    int width, height;             /* 0 = sizes around 500x375, as in photo collections      */
    int quality;                   /* of JPEG; 0 = 90 to 96, as in photo collections         */
    int format;                    /* 0 = JPEG, 1 = PNG                                      */
    uint64_t seed;
    int force;            /* 1 = also into a folder that is not empty                                   */
    uint64_t reserved[8]; /* must be 0 */
} leat_synth_config;

/* Writes a labelled practice set: folder/class_K/NNNNNN.jpg. The same config gives the same files. A folder that is not
 * empty is refused (LEAT_ERR_STATE) without force. */
LEAT_API int leat_synth(const char *folder, const leat_synth_config *synth, const leat_tool_config *config,
                        leat_error *err);

/* What leat_pack_config.how is a sum of. */
enum {
    LEAT_PACK_ORIENT = 1,   /* turn pictures as EXIF says, where they are stored anew               */
    LEAT_PACK_CHECK = 2,    /* decode every picture, also where files are stored as they are        */
    LEAT_PACK_POSITIONS = 4 /* note positions in JPEGs too, beside the shards                       */
};

typedef struct leat_pack_config { /* zeroed = the defaults named here                       */
    int width, height;            /* 0 = as they are; else resized                          */
    int raw;                      /* 1 = u8 pixels; 0 = image files. store says more        */
    int quality;                  /* 0 = 95, of resized JPEGs                               */
    int n_shards;                 /* 0 = as many as shard_bytes says                        */
    uint64_t shard_bytes;         /* 0 = about 128 MB; less for small sets, for 16 shards   */
    const char *prefix;           /* NULL = "data": data-00000-of-00004.tfrecord            */
    const char *image_key;        /* NULL = as the preset of features says                  */
    const char *label_key;        /* the same                                               */
    int shuffle;                  /* 1 = samples in a shuffled order over the shards        */
    uint64_t seed;                /* of that order, and of augment                          */
    int on_error;                 /* LEAT_ON_ERROR_RAISE or _SKIP                           */
    int force;                    /* 1 = removes another pack of that prefix, and begins anew */
    /* A preset, then roles and their names: NULL = "simple"; "tfds", "slim"; "simple filename=path". Roles are image, label,
     * format, height, width, channels, text, filename, copy. */
    const char *features;
    /* "original", "jpeg", "raw", or "auto rate=5000", "auto bytes=20e9": measured, the smallest that gives the rate, or the
     * fastest within the bytes. NULL = as width, height and raw say. */
    const char *store;
    const char *split;      /* NULL = one set; "0.8,0.1,0.1 by=hash": arguments of the operation split */
    const char *quarantine; /* a folder that files which are left out are copied to; NULL = none      */
    const char *augment;    /* operations that make the copies, which end in u8 pixels; NULL = none    */
    int copies;             /* augmented ones beside each original, of train alone if there is a split */
    int part, n_parts;      /* this process makes shards part, part + n_parts, ...; n_parts 0 = all     */
    int how;                /* LEAT_PACK_*                                            */
    uint64_t reserved[1];   /* must be 0 */
} leat_pack_config;

typedef struct leat_pack_report {
    uint64_t n_samples, n_bad, n_shards, n_kept; /* kept: whole shards of an earlier run      */
    uint64_t bytes;
    int n_classes;         /* 0 = no labels                                                            */
    uint64_t source_bytes; /* that the stored samples had in the data set                              */
    uint64_t n_duplicates; /* samples whose content an earlier one has too                             */
    uint64_t reserved[6];  /* 0 */
} leat_pack_report;

/* A data set to sharded TFRecords of tf.train.Examples. source: a folder of images, a .csv list, TFRecords, .npy and CIFAR
 * files, or the text of a pipeline without batch. Beside the shards there are their indexes, manifest.json, rejects.tsv and
 * duplicates.tsv (docs/pack.md). Shards appear whole, by rename; running again after an interruption goes on with the missing
 * ones and gives the same bytes. LEAT_ERR_STATE: another pack is there, or another process is packing there. log tells which
 * inputs were slowest and largest. */
LEAT_API int leat_pack(const char *source, const char *out, const leat_pack_config *pack,
                       leat_pack_report *report, const leat_tool_config *config, leat_error *err);
/* After all parts: checks that every shard is there and writes the manifest. prefix as in leat_pack_config. LEAT_ERR_STATE:
 * a shard is missing. */
LEAT_API int leat_pack_join(const char *out, const char *prefix, leat_pack_report *report,
                            const leat_tool_config *config, leat_error *err);
/* A finished pack for a person, from its manifest: calls line for each line; non-zero from it stops. LEAT_ERR_NOT_FOUND: there is
 * none. The last lines tell how it is read: "text      " and a pipeline, "tf        " and "py        " and code. */
LEAT_API int leat_pack_summary(const char *out, const char *prefix, leat_line_fn line, void *user,
                               leat_error *err);
/* Reads a finished pack again: digests of shards, checksums of records, and every picture is decoded. bad as for leat_check,
 * may be NULL. Returns 0 whether or not something is bad: n_bad of the report tells. */
LEAT_API int leat_pack_verify(const char *out, const char *prefix,
                              int (*bad)(void *user, const leat_check_bad *bad), void *user,
                              leat_check_report *report, const leat_tool_config *config, leat_error *err);

typedef struct leat_feature { /* one feature of a tf.train.Example                      */
    const char *name;         /* UTF-8                                                  */
    int dtype;                /* LEAT_DTYPE_BYTES, _I64 or _F32                         */
    size_t n;                 /* number of values; of one string, its length            */
    const void *values;
    const int64_t *offsets; /* BYTES: (n + 1) where each of n strings begins in values; NULL = one string */
    uint64_t reserved[1];   /* must be 0 */
} leat_feature;

enum { LEAT_WRITE_PLAIN = 0, LEAT_WRITE_GZIP = 1, LEAT_WRITE_ZLIB = 2 };
#define LEAT_WRITE_SHARDS_MAX 1024

typedef struct leat_writer_config { /* zeroed = one file that is not compressed                       */
    int compression;                /* LEAT_WRITE_*                                                   */
    int level;                      /* of the compression: 1 fast to 9 small, 0 = 6                   */
    /* More than 1: records go in turn to so many files, train.tfrecord is train-00000-of-00004.tfrecord and so on. */
    int n_shards;
    uint64_t reserved[8]; /* must be 0 */
} leat_writer_config;

typedef struct leat_writer leat_writer;

/* A tf.train.Example of n features, whose names must differ: its length, and its bytes if cap is enough. */
LEAT_API int64_t leat_example(const leat_feature *features, int n, void *bytes, size_t cap, leat_error *err);
/* Begins a TFRecord file, or several. They lie under other names until the writer is closed. config may be NULL. One
 * thread at a time. */
LEAT_API int leat_writer_open(leat_writer **out, const char *path, const leat_writer_config *config,
                              leat_error *err);
/* Adds one record: a tf.train.Example of n features. Everything is copied. A failure stays: further calls return it
 * again. */
LEAT_API int leat_writer_add(leat_writer *writer, const leat_feature *features, int n, leat_error *err);
/* Adds one record of these bytes, whatever they are. */
LEAT_API int leat_writer_add_record(leat_writer *writer, const void *bytes, size_t n, leat_error *err);
/* Adds the samples of a batch, those that are real, an Example each: a field is a feature of its name. Strings, and arrays
 * of u8 and u16, are one string of bytes (`decode_raw` reads it); other integers are int64, f32 and f64 are float. Fields
 * of u64, f16 and bf16 are LEAT_ERR_TYPE. */
LEAT_API int leat_writer_add_batch(leat_writer *writer, const leat_batch *batch, leat_error *err);
/* Syncs the files and moves them to their places; after a failure removes them and returns that failure. Frees and nulls
 * whatever happens; NULL is fine. */
LEAT_API int leat_writer_close(leat_writer **writer, leat_error *err);
/* Removes what was written. Frees and nulls; NULL is fine. */
LEAT_API void leat_writer_abort(leat_writer **writer);

/* -------------------------------------------------------------------------------------------- split */

#define LEAT_SPLIT_PARTS 3     /* train, validation, test */
#define LEAT_SPLIT_PARTS_MAX 8 /* room in the structs     */

typedef struct leat_split_config { /* zeroed = the defaults named here; as the operation `split` has them */
    const char *fractions;         /* NULL = "0.8,0.2"                                       */
    const char *by;                /* NULL = "random"                                        */
    const char *group;             /* NULL = none                                            */
    const char *label;             /* the field with classes; NULL = "label"                 */
    const char *image;             /* the field whose equal bytes are a leak; NULL = "image" */
    int stratify;
    int seeded; /* 1 = seed is given: by=keras_last shuffles with it, others have 0 without  */
    uint64_t seed;
    int no_leaks;         /* 1 = nothing is read to find equal content                          */
    const char *write;    /* a folder for train.csv, validation.csv, test.csv; NULL = none      */
    uint64_t reserved[8]; /* must be 0 */
} leat_split_config;

typedef struct leat_split_class {
    char name[80]; /* "" = it has none                                                       */
    int64_t label;
    uint64_t n[LEAT_SPLIT_PARTS_MAX];
    uint64_t reserved[2]; /* 0 */
} leat_split_class;

typedef struct leat_split_report { /* free with leat_split_free                              */
    int n_parts;
    uint64_t n[LEAT_SPLIT_PARTS_MAX];
    uint64_t n_left_out;
    uint64_t n_bad; /* could not be read: they are on a side, but their content is not compared */
    uint64_t n_classes;
    leat_split_class *classes; /* (n_classes), by label; NULL = no labels                    */
    uint64_t n_leaks;          /* contents that lie on more than one side                    */
    uint64_t n_leaked;         /* samples that have one of them                              */
    uint64_t reserved[8];      /* 0 */
} leat_split_report;

typedef struct leat_split_leak { /* a sample whose content lies on more than one side         */
    uint64_t content;            /* number of the content, from 0: equal ones come one after the other */
    int part;
    uint64_t sample;
    const char *name;     /* lives until the callback returns                                    */
    uint64_t reserved[4]; /* 0 */
} leat_split_leak;

/* Splits a data set into train, validation and test, counts classes on each side, and finds content that lies on more
 * than one. dataset: a folder of images, a .csv list, TFRecord files (a name or a pattern; image:bytes and label:int64 are
 * parsed), or the text of a pipeline up to before decode. leak, which may be NULL, is called for each leaked sample;
 * non-zero from it stops. Returns 0 whether or not there are leaks. */
LEAT_API int leat_split(const char *dataset, const leat_split_config *split,
                        int (*leak)(void *user, const leat_split_leak *leak), void *user,
                        leat_split_report *report, const leat_tool_config *config, leat_error *err);
LEAT_API void leat_split_free(leat_split_report *report);
/* "train", "validation", "test". */
LEAT_API const char *leat_split_part(int part);

/* --------------------------------------------------------------------------------------------- look */

#define LEAT_VIEW_ROWS_MAX 100
#define LEAT_VIEW_VERSIONS_MAX 20

typedef struct leat_view_config { /* zeroed = the defaults named here                       */
    int n_samples;                /* rows; 0 = 6                                            */
    int n_versions;               /* of each sample; 0 = 5                                  */
    int size;                     /* of a picture's longer side in pixels; 0 = 160          */
    int strip; /* N: samples as the pipeline makes them, in N rows, with labels, and nothing else */
    uint64_t reserved[8]; /* must be 0 */
} leat_view_config;

typedef struct leat_view_report {
    int n_samples; /* rows: fewer than asked for if there are no more                      */
    int width, height;
    uint64_t reserved[8]; /* 0 */
} leat_view_report;

/* Draws a contact sheet and writes it as a PNG: samples as they are, and beside each what the pipeline makes of it in
 * one epoch after the other, with labels and drawn parameters. The mask and the boxes that the text declares for the picture
 * are drawn over it. pipeline, which may be NULL, is the config of the pipeline,
 * which runs in the calling thread. report may be NULL. */
LEAT_API int leat_view(const leat_spec *spec, const char *path, const leat_view_config *view,
                       const leat_config *pipeline, leat_view_report *report, leat_error *err);

/* ------------------------------------------------------------------------------------------ compare */

#define LEAT_COMPARE_FIELDS 64

typedef struct leat_compare_config { /* zeroed = the defaults named here                       */
    uint64_t n_batches;              /* 0 = all                                                */
    const char *field;               /* NULL = all                                             */
    uint64_t reserved[8];            /* must be 0 */
} leat_compare_config;

typedef struct leat_compare_field {
    char name[80];        /* a ragged field is two: NAME and NAME_offsets                      */
    int dtype_a, dtype_b; /* may differ: values are compared as numbers                        */
    uint64_t n_values;
    uint64_t n_differ;
    double max, mean; /* of the absolute differences; infinite where a number meets a NaN      */
    uint64_t batch;   /* where the largest is: which batch, which place in it, and where there */
    uint64_t place;
    int n_index;
    int64_t index[LEAT_NDIM_MAX];
    double a, b;          /* the two values                                                         */
    uint64_t reserved[4]; /* 0 */
} leat_compare_field;

typedef struct leat_compare_report {
    uint64_t n_batches, n_samples;
    int n_fields;
    double max; /* of all fields                                                          */
    int side;   /* 1 or 2: the error is about A or B; 0: about both, or none              */
    leat_compare_field field[LEAT_COMPARE_FIELDS];
    uint64_t reserved[8]; /* 0 */
} leat_compare_report;

/* Compares two streams of batches. Each is the text of a pipeline, or a folder of NNNNNN_field.npy files as `leat run
 * --sink npy:DIR` writes them. pipeline, which may be NULL, is the config of the pipelines. Returns 0 whether or not
 * something differs; LEAT_ERR_SHAPE if shapes or the numbers of batches do. The report holds what was compared before
 * an error too. */
LEAT_API int leat_compare(const char *a, const char *b, const leat_compare_config *compare,
                          const leat_config *pipeline, leat_compare_report *report, leat_error *err);

/* ------------------------------------------------------------------------------------------ measure */

typedef struct leat_roofline {
    double samples_per_s; /* of the bare loop                                          */
    double bytes_per_s;
    uint64_t samples;
    char what[120];       /* "libjpeg-turbo decoding 200 files in full, from memory"   */
    uint64_t reserved[8]; /* 0 */
} leat_roofline;

/* The ceiling for a pipeline, measured by a bare loop on the same data with the same number of threads for about
 * `seconds`: for encoded images, full decoding of the files from memory with libjpeg-turbo; for records and arrays, memcpy
 * of the bytes of a sample, out of memory as large as the source (256 MiB at most), to as many as its output has, in a ring as
 * large as the pipeline's. */
LEAT_API int leat_roofline_measure(leat_roofline *out, const leat_spec *spec, const leat_config *pipeline,
                                   double seconds, leat_error *err);

/* Counters beside leat_pipeline_stats, for tools that show a run. Always on, as those are. */
typedef struct leat_worker_stats { /* of one worker                                                      */
    uint64_t samples;              /* that it made                                                       */
    uint64_t bytes_read;
    double cpu_s;         /* its processor time, looked at several times a second               */
    double idle_s;        /* it had nothing to do                                               */
    double read_wait_s;   /* it was blocked in reading, estimated by sampling                   */
    double stage_s[16];   /* [LEAT_STAGE_*] wall time, estimated by sampling                    */
    double queue_s;       /* it could have run and had no core                                  */
    uint64_t reserved[7]; /* 0                                                                  */
} leat_worker_stats;
/* The number of workers; workers[i] as long as i < cap. Any thread, any time. */
LEAT_API int leat_pipeline_workers(const leat_pipeline *pipeline, leat_worker_stats *workers, int cap);

#define LEAT_LATENCY_COUNT 32
typedef struct leat_latency { /* how long leat_pipeline_next took, of all batches that were handed over   */
    uint64_t batches;
    double sum_s, max_s;
    uint64_t
        count[LEAT_LATENCY_COUNT]; /* [i]: 2^i to 2^(i+1) microseconds; [0]: less than 2; the last: more */
    uint64_t reserved[4];          /* 0                                                                  */
} leat_latency;
LEAT_API void leat_pipeline_latency(const leat_pipeline *pipeline, leat_latency *latency);
/* What the tuner has chosen, as text: "threads=2 slots=6 read_ahead=0". `options tune='...'` in a text takes it back: then
 * nothing is tuned. snprintf's return value. Any thread, any time. */
LEAT_API size_t leat_pipeline_tuning(const leat_pipeline *pipeline, char *text, size_t cap);

/* What binds a pipeline. */
typedef enum leat_bottleneck {
    LEAT_BOTTLENECK_NONE,
    LEAT_BOTTLENECK_CONSUMER, /* batches are not taken as fast as they are made      */
    LEAT_BOTTLENECK_STREAM,   /* inflating compressed files, which the workers wait for */
    LEAT_BOTTLENECK_STORAGE,  /* the workers wait for files                          */
    LEAT_BOTTLENECK_CORES,    /* there are more workers than cores                   */
    LEAT_BOTTLENECK_READ,     /* a stage, and so are those below                     */
    LEAT_BOTTLENECK_PARSE,
    LEAT_BOTTLENECK_DECODE,
    LEAT_BOTTLENECK_TRANSFORM,
    LEAT_BOTTLENECK_STORE,
    LEAT_BOTTLENECK_CALL, /* functions of the program */
    /* leat_doctor tells these too; it knows more than counters. */
    LEAT_BOTTLENECK_THREADS,  /* there are more cores than workers                   */
    LEAT_BOTTLENECK_FILES,    /* opening many small files                            */
    LEAT_BOTTLENECK_SLOTS,    /* the consumer takes more batches at once than may wait for it */
    LEAT_BOTTLENECK_BUDGET,   /* the byte budget is too small for the cache or the batches     */
    LEAT_BOTTLENECK_QUOTA,    /* the processor quota of the cgroup                   */
    LEAT_BOTTLENECK_PRESSURE, /* the machine is short of memory                     */
    LEAT_BOTTLENECK_OTHERS /* other threads, of this program or others, have the cores, or a quota stops the workers */
} leat_bottleneck;

typedef struct leat_diagnosis {
    int bottleneck;       /* LEAT_BOTTLENECK_*                                              */
    int percent;          /* of the work if it is a stage, else of the workers' time        */
    char sentence[160];   /* "Decoding is the bottleneck: 74 % of the work."                */
    char remedy[200];     /* "Try smaller pictures: ..."                                    */
    uint64_t reserved[8]; /* 0 */
} leat_diagnosis;

/* Why a pipeline is as fast as it is, and what to try. stats are counters of `seconds` of its run: what leat_pipeline_stats
 * gave at the end less what it gave at the beginning (wall times, processor times and stages count); NULL = since it was
 * opened. */
LEAT_API int leat_diagnose(leat_diagnosis *out, const leat_pipeline *pipeline, const leat_stats *stats,
                           double seconds, leat_error *err);
/* "decode", "storage", "consumer", ...: one word for a LEAT_BOTTLENECK_*. */
LEAT_API const char *leat_bottleneck_name(int bottleneck);

/* -------------------------------------------------------------------------------------------- trace */

/* What a thread of a pipeline did. */
typedef enum leat_event_kind {
    LEAT_EVENT_SAMPLE, /* a worker made a sample                                              */
    LEAT_EVENT_FINISH, /* a worker had made the last sample of a batch, and finished the batch */
    LEAT_EVENT_IDLE,   /* a worker had nothing to do: all slots were full, or a stream had no records */
    LEAT_EVENT_READ,   /* a reader thread read a sample ahead, or a block of records of a stream */
    LEAT_EVENT_WAIT,   /* the consumer waited for the batch                                   */
    LEAT_EVENT_STEP    /* what the consumer did between two batches, before it asked for this one */
} leat_event_kind;

typedef struct leat_event {
    int kind;                  /* LEAT_EVENT_*                                                       */
    int thread;                /* number of the worker or of the reader thread; 0 = the consumer     */
    uint64_t begin_ns, end_ns; /* since the pipeline was opened                                      */
    uint64_t sample;           /* its number, or LEAT_NO_SAMPLE                                      */
    uint64_t epoch, batch;     /* as leat_batch.epoch and leat_batch.step; 0 for LEAT_EVENT_READ     */
    uint64_t n_ready;          /* of LEAT_EVENT_WAIT: batches that were ready behind this one        */
    uint64_t stage_ns[8];      /* [LEAT_STAGE_*] of LEAT_EVENT_SAMPLE: the time in each stage        */
    uint64_t reserved[2];      /* 0 */
} leat_event;

/* The trace of a pipeline that was opened with leat_config.trace_events: the newest events of all threads, from one time
 * on. They come thread by thread (the consumer, workers, readers), each in the order of time. Returns how many there are, and
 * copies those that fit; 0 without a trace. trace_events samples are kept of all workers together, divided evenly. A run with
 * a trace reads the clock for every sample. Any thread, any time. */
LEAT_API uint64_t leat_trace_events(const leat_pipeline *pipeline, leat_event *events, uint64_t cap);
/* Writes events as a trace in Chrome's JSON format, for ui.perfetto.dev and chrome://tracing. It names no files. The stages
 * of a sample are drawn one behind the other, though decoding and transforming take turns. The file appears whole or not
 * at all. */
LEAT_API int leat_trace_write(const leat_event *events, uint64_t n, const char *path, leat_error *err);

/* ------------------------------------------------------------------------------------------- doctor */

#define LEAT_DOCTOR_CEILINGS 12
#define LEAT_DOCTOR_REMEDIES 24

typedef struct leat_doctor_config { /* zeroed = the defaults named here                       */
    double seconds; /* of the measurement; trials of remedies take about as long again each; 0 = 3 */
    double step_ms; /* the consumer works so long on a batch; 0 = it takes batches as fast as it can */
    int at_once;    /* batches that it takes before it works on all of them (steps_per_execution); 0 = 1 */
    const char *folder;   /* where samples are packed for trials; NULL = $TMPDIR, else /tmp */
    int no_trials;        /* 1 = only the verdict and the ceilings                   */
    uint64_t reserved[8]; /* must be 0 */
} leat_doctor_config;

typedef struct leat_ceiling { /* samples/s if this were all there is to do                    */
    char name[24]; /* "storage, cold", "storage, warm", "parse", "decode", "transform", "store", "call",
                                     "memory", "consumer"                                          */
    double rate;
    char how[120];        /* what was measured                                                */
    uint64_t reserved[4]; /* 0 */
} leat_ceiling;

enum {
    LEAT_REMEDY_TEXT,    /* another text of the pipeline                                      */
    LEAT_REMEDY_OPTION,  /* another option of the command, a field of leat_config             */
    LEAT_REMEDY_COMMAND, /* a command that writes files, and a text that reads them           */
    LEAT_REMEDY_ADVICE   /* what leat cannot do by itself                                     */
};

typedef struct leat_remedy {
    char name[24]; /* one word for programs: "threads", "pack", "cache", ...                  */
    int kind;      /* LEAT_REMEDY_*                                                           */
    char title[80];
    double rate; /* predicted samples/s; 0 = cannot be told                          */
    double gain; /* rate over the rate now                                           */
    double
        spread; /* of the gain between rounds of the trial, as a share of it; 0 = one round, or not measured */
    char how[120];        /* what the prediction was measured on                              */
    char cost[160];       /* bytes, quality; "" = nothing                                     */
    const char *command;  /* lines: the exact command, or the changed text; lives as long as the report */
    uint64_t write_bytes; /* what leat_doctor_apply would write                               */
    uint64_t reserved[8]; /* 0 */
} leat_remedy;

typedef struct leat_moment { /* a part of the measured time                                   */
    double at_s;             /* its end, from the beginning of the measurement                */
    double rate;
    double wait;          /* share of its time that the consumer waited                       */
    double idle;          /* share of its time that the workers had nothing to do             */
    uint64_t reserved[2]; /* 0 */
} leat_moment;

typedef struct leat_doctor_report { /* free with leat_doctor_free                             */
    const char *text;               /* of the pipeline                                        */
    int images;                     /* 1 = samples are pictures                               */
    int64_t epoch_samples;          /* of an epoch; -1 = not known                            */
    double rate;                    /* samples/s handed over                                  */
    double seconds;                 /* measured                                               */
    double wait;                    /* share of the time that the consumer waited             */
    int input_binds;                /* 0 = the consumer is served: the input is not the problem */
    leat_stats stats;               /* counters of the measured seconds; what is not a sum, as at their end */
    leat_diagnosis verdict;
    int binding; /* number of the ceiling that binds; -1 = none of them          */
    int n_ceilings;
    leat_ceiling ceiling[LEAT_DOCTOR_CEILINGS];
    int n_remedies; /* by gain, the best first; advice without a number comes last */
    leat_remedy *remedies;
    int n_moments;
    leat_moment *moments;
    leat_latency latency;  /* of the batches in that time                                      */
    uint64_t n_events;     /* what the threads did, of a short run of its own; 0 unless trace_events is set */
    leat_event *events;    /* as leat_trace_events gives them */
    char note[300];        /* why something was not tried; "" = nothing to say */
    void *memory;          /* ours                                              */
    uint64_t reserved[30]; /* 0 */
} leat_doctor_report;

/* Why a pipeline is as fast as it is, measured: runs it without end for some seconds with a consumer that takes step_ms for
 * each batch, measures the ceilings, and tries each remedy that may help on a sample of the data, in turns with the
 * pipeline as it is. pipeline, which may be NULL, is its config; progress of it is called during all that, and may cancel.
 * doctor may be NULL. Temporary files are removed. */
LEAT_API int leat_doctor(leat_doctor_report *report, const leat_spec *spec, const leat_config *pipeline,
                         const leat_doctor_config *doctor, leat_error *err);
/* Frees what the report holds, and zeroes it. */
LEAT_API void leat_doctor_free(leat_doctor_report *report);

typedef struct leat_doctor_applied { /* what a remedy has brought                              */
    double rate_before, rate_after;  /* medians of rounds in turns                             */
    double gain;                     /* median of what each round gave                         */
    double spread;                   /* of the gain between rounds, as a share of it           */
    uint64_t written_bytes;
    char folder[1000];    /* holds what was written; "" = nothing was. The caller keeps or removes it */
    const char *text;     /* of the pipeline with the remedy; lives as long as the report          */
    uint64_t reserved[7]; /* 0 */
} leat_doctor_applied;

/* Carries out remedy number `which` of a report (from 0) for the whole data set, in a new folder below doctor->folder, and
 * measures. The other arguments as leat_doctor got them. LEAT_ERR_UNSUPPORTED: it is advice. */
LEAT_API int leat_doctor_apply(leat_doctor_applied *out, const leat_doctor_report *report, int which,
                               const leat_spec *spec, const leat_config *pipeline,
                               const leat_doctor_config *doctor, leat_error *err);

typedef struct leat_html_config { /* zeroed = a page that can be passed around               */
    int pictures;                 /* 1 = also some samples before and after, and whole paths */
    const leat_spec *spec;        /* with pictures: what leat_doctor got                     */
    const leat_config *pipeline;  /* the same; may be NULL                                   */
    uint64_t reserved[8];         /* must be 0 */
} leat_html_config;

/* Writes the report as one page of HTML that loads nothing and needs no script. Without pictures, paths in it are shortened to
 * their last name. config may be NULL. The file appears whole or not at all. */
LEAT_API int leat_doctor_html(const leat_doctor_report *report, const char *path,
                              const leat_html_config *config, leat_error *err);

/* ------------------------------------------------------------------------------- running pipelines */

/* A pipeline of this user that runs now, as it tells about itself once a second. */
typedef struct leat_running {
    int64_t pid;
    uint64_t id;       /* tells the pipelines of one process apart                                  */
    uint64_t sequence; /* of its reports, from 0                                                    */
    double age_s;      /* of this report; a program that is stopped has an old one                  */
    double open_s;     /* since the pipeline was opened                                             */
    double recent_s;   /* what `recent` covers, up to 5 s                                           */
    uint64_t epoch;    /* of the last batch handed over                                             */
    uint64_t position; /* samples of that epoch that were handed over, on all ranks together        */
    int64_t n_samples; /* of an epoch, -1 = not known                                               */
    char program[64];  /* "train.py"                                                                */
    char name[64];     /* of the data set, without its folder: "folder train"                       */
    char what[80];     /* "1281167 images in 1000 classes"                                          */
    char verdict[200]; /* a sentence: what limits the speed                                         */
    char remedy[200];  /* what to try; "" = nothing                                                 */
    char tuning[96];   /* what the tuner has chosen: leat_pipeline_tuning                           */
    leat_stats total;  /* since it was opened                                                       */
    leat_stats
        recent; /* counters and times of the last recent_s seconds; what is no counter is as in total */
    uint64_t reserved[16]; /* 0 */
} leat_running;

typedef struct leat_top_report {
    char path[1024]; /* the folder where pipelines of this environment report                   */
    uint64_t n_running;
    uint64_t n_removed;   /* reports of processes that have ended                                    */
    uint64_t n_damaged;   /* reports that cannot be read, or of another version of leat              */
    uint64_t n_foreign;   /* files of other users, links, and what leat did not write: left alone    */
    uint64_t reserved[8]; /* 0 */
} leat_top_report;

/* Calls running for each pipeline of this user that runs on this machine for a second or longer; non-zero from it stops.
 * Removes the reports of processes that have ended. running and report may be NULL. */
LEAT_API int leat_top_list(int (*running)(void *user, const leat_running *one), void *user,
                           leat_top_report *report, leat_error *err);

#ifdef __cplusplus
}
#endif
#endif
