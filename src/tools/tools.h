/* SPDX-License-Identifier: Apache-2.0 */
/* What the tools share: a caller's config as the rooms want it, what a path turns out to be, and which bytes inside
 * of records are images. */
#ifndef LEAT_TOOLS_TOOLS_H
#define LEAT_TOOLS_TOOLS_H

#include "decode/decode.h"
#include "format/example.h"
#include "format/inflate.h"
#include "leat/leat_tools.h"
#include "source/source.h"

#define LEAT_TOOL_THREADS_MAX 64

/* ------------------------------------------------------------------------------------------ config
 * Everywhere config may be NULL. */

/* 0, or LEAT_ERR_ARGUMENT if the caller has not zeroed it. */
int leat__tool_config_check(const leat_tool_config *config, leat_error *err);
int leat__tool_threads(const leat_tool_config *config);
leat__open_options leat__tool_open_options(const leat_tool_config *config);
/* 0, or LEAT_ERR_CANCELLED when the caller wants to stop. Only on the thread that called the tool. */
int leat__tool_progress(const leat_tool_config *config, const char *what, uint64_t done, uint64_t total,
                        leat_error *err);
/* Passes on what a source has to say. */
void leat__tool_warn(const leat_tool_config *config, const leat__source *source);

/* A message that names a path, without it: "cannot open a.jpg: reason" becomes "cannot open: reason". */
void leat__tool_reason(char *out, size_t cap, const char *message, const char *path);

/* ----------------------------------------------------------------------------------------- targets */

typedef enum leat__target_kind {
    LEAT_TARGET_FOLDER,  /* of images, already open                    */
    LEAT_TARGET_RECORDS, /* a TFRecord file                            */
    LEAT_TARGET_IMAGE,   /* an image file                              */
    LEAT_TARGET_LIST,    /* a table of image files, already open       */
    LEAT_TARGET_TAR,     /* a tar archive with samples, as webdataset reads it */
    LEAT_TARGET_OTHER    /* nothing that leat reads, or not readable   */
} leat__target_kind;

typedef struct leat__target {
    char *path;
    leat__target_kind kind;
    leat__compression compression; /* of a TFRecord file                         */
    bool certain;                  /* its first header is right                  */
    uint64_t bytes;                /* of the file, or of all files of the folder */
    leat__source *source;          /* of a folder or a list                      */
    int code;                      /* LEAT_TARGET_OTHER: LEAT_ERR_*              */
    char why[200];                 /* and one line without the path              */
} leat__target;

typedef struct leat__targets { /* zeroed = none */
    leat__target *at;
    size_t n, cap;
    uint64_t bytes;
} leat__targets;

/* What the paths are: each a folder, a file, or a pattern. A folder without images but with TFRecord files stands for
 * those. Content decides; a name only when the content says nothing. A path that does not exist is an error. */
int leat__targets_open(leat__targets *out, const char *const *paths, int n, int labels,
                       const leat__open_options *options, leat_error *err);
void leat__targets_free(leat__targets *targets);
/* The failure that a target of another kind than wanted is: "README.md is ...: ...". */
int leat__target_refuse(const leat__target *target, const char *wanted, leat_error *err);

/* ------------------------------------------------------------------------------------ images inside */

/* Whether bytes are an image for certain enough that failing to decode them is damage: two letters, which are all
 * that a BMP file begins with, also begin many a text. */
bool leat__image_like(const uint8_t *bytes, size_t n);
/* "jpeg", "jpeg gray progressive", "png rgba 16-bit". */
void leat__image_words(const leat__picture_info *info, char *text, size_t cap);

/* sequence.c: the lists of a tf.train.SequenceExample, whose context is an Example of its own. */
typedef struct leat__sequence {
    leat__wire message, lists;
} leat__sequence;
leat__sequence leat__sequence_over(const uint8_t *bytes, size_t n);
/* The next list, of which steps are the time steps: 1, 0 at the end, LEAT_ERR_FORMAT. */
int leat__sequence_next(leat__sequence *s, leat__span *key, leat__wire *steps);
/* The Feature of the next time step, without its key: 1, 0 at the end, LEAT_ERR_FORMAT. */
int leat__sequence_step(leat__wire *steps, leat__feature *out);

/* index_positions.c: those of all JPEGs of a folder, or in records; adds the number of files that have them to *n_noted. */
int leat__tool_checkpoints(const leat__source *source, bool records, const leat__open_options *open,
                           const leat_tool_config *config, uint64_t *n_noted, leat_error *err);

/* diagnose.c: as leat_diagnose, for a machine with so many cores for this process. Allocates nothing, reads no file. */
void leat__diagnose(leat_diagnosis *out, const leat_pipeline *pipeline, const leat_stats *stats,
                    double seconds, int cores);

/* What a worker of a tool has. */
typedef struct leat__tool_worker {
    leat__reader reader; /* of one source: free it with that source */
    leat__decoder *decoder;
    leat__buf pixels, spans;
} leat__tool_worker;

/* n workers; NULL with a message. */
leat__tool_worker *leat__tool_workers_new(int n, leat_error *err);
void leat__tool_readers_free(leat__tool_worker *workers, int n, const leat__source *source);
void leat__tool_workers_free(leat__tool_worker **workers, int n);

#endif
