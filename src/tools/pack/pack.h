/* SPDX-License-Identifier: Apache-2.0 */
/* Packing. A pack is a function of a data set and a recipe:
 *
 *     input      the data set as a plan: samples by position, the fields of a sample               pack_input.c
 *     recipe     everything that decides about bytes, as a text; recorded before the first shard   pack_record.c
 *     layout     a list of entries (position, copy) for each set (train, ...), cut into shards      pack_layout.c
 *     shard      a pure function of its entries: store each picture, write a record of features    pack_store.c,
 *                                                                                                  pack_features.c
 *     note       beside each finished shard: counts, digest, what was rejected                     pack_note.c
 *     manifest   a function of the record and the notes alone                                      pack_join.c
 *
 * pack_work.c makes shards with all threads, pack_out.c knows the names of files and takes hold of the folder. */
#ifndef LEAT_TOOLS_PACK_H
#define LEAT_TOOLS_PACK_H

#include "format/example.h"
#include "sample/run.h"
#include "tools/dataset.h"

/* ------------------------------------------------------------------------------------------- recipe */

typedef enum leat__store { LEAT_STORE_ORIGINAL, LEAT_STORE_JPEG, LEAT_STORE_RAW } leat__store;

typedef struct leat__storing { /* what becomes of a picture */
    leat__store store;
    int height, width; /* 0 = as it is */
    int quality;
} leat__storing;

/* What the features of a record stand for; fields of the data set beside these keep their names. */
typedef enum leat__role {
    LEAT_ROLE_IMAGE,
    LEAT_ROLE_LABEL,
    LEAT_ROLE_FORMAT,
    LEAT_ROLE_HEIGHT,
    LEAT_ROLE_WIDTH,
    LEAT_ROLE_CHANNELS,
    LEAT_ROLE_TEXT,
    LEAT_ROLE_FILENAME,
    LEAT_ROLE_COPY,
    LEAT_ROLE_COUNT
} leat__role;

typedef struct leat__pack_keys {
    char key[LEAT_ROLE_COUNT][256]; /* "" = no such feature */
} leat__pack_keys;

/* ------------------------------------------------------------------------------------------- layout */

#define LEAT_PACK_SETS LEAT_SPLIT_SIDES

typedef struct leat__pack_set {
    const char *name; /* "train", ...; "" = the data set is not split           */
    uint32_t *member; /* (n_members) positions; NULL = all                      */
    uint64_t n_members, n_entries;
    uint64_t copies; /* beside each original                                   */
    uint16_t *table; /* of the shuffle, when it is small enough for one        */
    uint64_t first_shard, n_shards;
} leat__pack_set;

typedef struct leat__pack_entry {
    uint64_t position, sample;
    int copy; /* 0 = the original */
} leat__pack_entry;

typedef struct leat__pack_shard {
    int set;
    uint64_t begin, end;              /* entries of its set                                   */
    uint64_t guessed;                 /* bytes of its file, before it is made                 */
    uint64_t n_samples, n_bad, bytes; /* what its file holds, and what was left out           */
    bool kept;                        /* finished by an earlier run                           */
    bool ours;                        /* of this part                                         */
} leat__pack_shard;

/* -------------------------------------------------------------------------------------------- input */

typedef struct leat__pack_input {
    leat_spec *spec, *augment_spec;
    leat__plan *plan;
    leat__plan *augment; /* NULL = no copies; its source is the same data                     */
    uint64_t n;          /* positions                                                         */
    uint32_t *sample;    /* (n) of each position; NULL = the same number                      */
    int image, label;    /* numbers of outputs, -1 = none                                     */
    int augmented;       /* the picture among the outputs of augment                          */
    bool pixels;         /* pictures come as u8, not as files                                 */
    uint64_t bytes_max;  /* of a sample                                                       */
} leat__pack_input;

/* ------------------------------------------------------------------------------------------ packing */

typedef struct leat__packing {
    const char *from, *out;
    const leat_tool_config *config;
    leat_pack_config pack; /* with defaults filled in */
    leat__storing storing;
    leat__pack_keys keys;
    leat__pack_input input;
    int n_sets;
    leat__pack_set set[LEAT_PACK_SETS];
    uint64_t n_shards;
    leat__pack_shard *shard;
    leat__buf decided; /* JSON: what --store auto measured; empty = nothing     */
    leat__buf record;  /* the record as it stands in the folder                 */
    uint64_t identity; /* hash of the recipe                                    */
    char *inflated;    /* the folder of records that were compressed; NULL = none */
    leat__journal lock;
    bool made;   /* the folder was not there before                       */
    bool opened; /* the folder is this pack's                             */
    bool warned; /* that an index could not be kept: once is enough       */
} leat__packing;

/* pack_input.c */
int leat__pack_input_open(leat__packing *packing, leat_error *err);
void leat__pack_input_close(leat__pack_input *input);
/* Where a sample comes from: a path that opens its file, or what describes it. */
void leat__pack_input_name(const leat__packing *packing, uint64_t sample, char *text, size_t cap);
/* The path as the data set names it; false if it has none. */
bool leat__pack_input_path(const leat__packing *packing, uint64_t sample, char *text, size_t cap);

/* pack_inflate.c: compressed records as plain ones, in the folder packing->inflated; and its end. */
int leat__pack_inflate(leat__packing *packing, const char *pattern, leat_error *err);
void leat__pack_inflate_end(leat__packing *packing);

/* pack_layout.c */
int leat__pack_lay_out(leat__packing *packing, leat_error *err);
void leat__pack_layout_free(leat__packing *packing);
leat__pack_entry leat__pack_entry_at(const leat__packing *packing, int set, uint64_t number);
/* What an entry will take in a shard: known for raw pixels and files as they are, otherwise a guess. */
uint64_t leat__pack_bytes(const leat__packing *packing, const leat__pack_entry *entry);

/* ---------------------------------------------------------------------------------- what is in a record */

/* Properties of pictures that are counted. */
enum { LEAT_KIND_CMYK, LEAT_KIND_DEEP, LEAT_KIND_TURNED, LEAT_KIND_GRAY, LEAT_KIND_ALPHA, LEAT_KIND_COUNT };
const char *leat__pack_kind_name(int kind);

typedef struct leat__stored { /* lives until the worker's next sample */
    leat__span image;
    const char *format; /* "jpeg", "png", ..., "raw"                */
    int height, width, channels;
    uint32_t kinds; /* bit i: LEAT_KIND_*                       */
    uint64_t hash;  /* of what came from the data set           */
    uint64_t bytes_in;
} leat__stored;

typedef struct leat__packer { /* of one worker; zeroed, then leat__packer_init */
    leat__tools *tools, *augment;
    leat__decoder *decoder;
    struct leat__encoder *encoder;
    leat__image_dsp dsp;
    leat__pass_scratch scratch;
    leat__buf band, pixels, file, wide;
} leat__packer;

/* pack_store.c */
int leat__packer_init(leat__packer *packer, const leat__packing *packing, leat__mutex *large,
                      leat_error *err);
void leat__packer_free(leat__packer *packer);
/* From a picture of the data set (made: one that leat has changed) to what is stored of it. large: the token for large pictures. */
int leat__pack_store(const leat__packing *packing, leat__packer *packer, leat__mutex *large,
                     const leat__value *image, bool made, leat__stored *out, int *stage, leat_error *err);

/* pack_features.c */
/* Keys from the preset and the options. */
int leat__pack_keys_read(leat__packing *packing, leat_error *err);
/* Which features records have, once the input is open; refuses names that are taken twice. */
int leat__pack_keys_settle(leat__packing *packing, leat_error *err);
/* The features of all records as a JSON object. */
bool leat__pack_schema(const leat__packing *packing, leat__buf *json);
/* Appends one TFRecord. tools: what has made the fields; stored: NULL if there is no picture. */
int leat__pack_append(const leat__packing *packing, leat__packer *packer, const leat__tools *tools,
                      const leat__pack_entry *entry, const leat__stored *stored, leat__buf *bytes,
                      leat_error *err);
/* The label of the sample that the tools have made; false if there is none. */
bool leat__pack_label(const leat__packing *packing, const leat__tools *tools, int64_t *label);

/* ------------------------------------------------------------------------------------- the output folder */

/* pack_out.c. A pack by the folder it lies in: enough for everything but making shards. */
typedef struct leat__pack_place {
    const char *out, *prefix; /* the prefix with its default */
} leat__pack_place;
leat__pack_place leat__pack_place_of(const leat__packing *packing);
#define LEAT_PACK_PREFIX "data"
bool leat__pack_prefix_allowed(const char *prefix);
/* .../data-train-00000-of-00004.tfrecord; note: the note beside it. */
void leat__pack_shard_path(const leat__pack_place *place, const char *set, uint64_t number, uint64_t n,
                           bool note, char *path, size_t cap);
/* .../manifest.json, or .../PREFIX-manifest.json if the prefix is not the default one. */
void leat__pack_list_path(const leat__pack_place *place, const char *name, char *path, size_t cap);
void leat__pack_classes_path(const leat__pack_place *place, char *path, size_t cap);
void leat__pack_record_path(const leat__pack_place *place, char *path, size_t cap);
const char *leat__pack_place_shown(const leat__pack_place *place, char *text, size_t cap);
/* Makes the folder, takes hold of it (not for a part), removes what a killed run left, records the recipe, marks the
 * shards that are finished. Refuses what belongs to another pack. */
int leat__pack_out_open(leat__packing *packing, leat_error *err);
void leat__pack_out_close(leat__packing *packing);
/* Removes every file of the pack, and the folder if this run has made it and nothing else is in it. */
void leat__pack_out_discard(leat__packing *packing);
/* The index of a shard that is in its place. */
void leat__pack_out_index(leat__packing *packing, uint64_t shard);

/* pack_record.c */
/* Writes the recipe into packing->record. */
int leat__pack_record_write(leat__packing *packing, leat_error *err);
/* Puts the record into its place unless there is one; then compares. 1 = it was there, 0 = it is new. */
int leat__pack_record_publish(leat__packing *packing, leat_error *err);
/* Takes what --store auto has decided from the record that is there: 1, 0 = there is none. */
int leat__pack_record_decided(leat__packing *packing, leat_error *err);

/* JSON by hand: text is appended; false without memory. */
bool leat__json_printf(leat__buf *out, const char *fmt, ...) LEAT_PRINTF(2, 3);
bool leat__json_string(leat__buf *out, const char *text);

/* pack_note.c */
/* The head of a note: what a shard's file is. */
typedef struct leat__pack_head {
    uint64_t identity, n_samples, n_bad, bytes;
    char digest[40]; /* XXH3 with 128 bits, as xxhsum -H2 prints it */
} leat__pack_head;
bool leat__pack_note_sample(leat__buf *note, const leat__pack_entry *entry, const leat__stored *stored,
                            bool labelled, int64_t label, const char *name);
bool leat__pack_note_reject(leat__buf *note, const char *name, const char *reason);
int leat__pack_note_write(const char *path, const leat__pack_head *head, const leat__buf *lines,
                          leat_error *err);
/* Reads a note into text, which is then zero-terminated; *lines begins behind the head. 1, 0 = there is none that counts, or a
 * fault of the machine. */
int leat__pack_note_read(const char *path, leat__buf *text, leat__pack_head *head, const char **lines,
                         leat_error *err);

/* A line of a note. */
typedef struct leat__pack_line {
    bool rejected;
    int copy;
    uint32_t kinds;
    uint64_t hash, bytes_in;
    char format[12];
    bool labelled;
    int64_t label;
    const char *name; /* up to the end of the line; of a rejected one with a tab and the reason */
    size_t name_n;
} leat__pack_line;
/* The line at *at, which moves on; false at the end. */
bool leat__pack_note_next(const char **at, leat__pack_line *line);

/* --------------------------------------------------------------------------------------- work and end */

/* pack_work.c: makes the shards that are ours and not kept. */
int leat__pack_work(leat__packing *packing, leat_error *err);

/* pack_auto.c: chooses packing->storing by measuring, and writes packing->decided. */
int leat__pack_decide(leat__packing *packing, leat_error *err);

/* pack_join.c: checks that all shards are there, writes rejects.tsv, duplicates.tsv and manifest.json. */
int leat__pack_join(const leat__pack_place *place, const leat_tool_config *config, leat_pack_report *report,
                    leat_error *err);

#endif
