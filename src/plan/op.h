/* SPDX-License-Identifier: Apache-2.0 */
/* The table of operations. The pipeline text, leat_spec_add, `leat ops`, the planner and the reference page read it;
 * nothing else lists operations. Its rows stand in ops_*.c, a family a file, each beside the function that plans it;
 * plan_image.h says how to add one. */
#ifndef LEAT_PLAN_OP_H
#define LEAT_PLAN_OP_H

#include "base/error.h"

#define LEAT_ARGS_MAX 24

typedef enum leat__arg_kind {
    LEAT_ARG_INT,    /* 64, 4MiB                                            */
    LEAT_ARG_NUMBER, /* 0.2, 1/255, 1e-3                                    */
    LEAT_ARG_BOOL,   /* true, false                                         */
    LEAT_ARG_WORD,   /* one of arg.words                                    */
    LEAT_ARG_TEXT,
    LEAT_ARG_FIELD, /* the name of a field; may be left out in front        */
    LEAT_ARG_DTYPE, /* u8, f32, ...                                        */
    LEAT_ARG_TEXTS, /* the rest of the positional arguments                */
    LEAT_ARG_INTS
} leat__arg_kind;

typedef struct leat__arg {
    const char *name;
    leat__arg_kind kind;
    const char *fallback; /* text of the default; NULL = must be given           */
    const char *words;    /* LEAT_ARG_WORD: "raise|skip|replace"                 */
    double min, max;      /* both 0 = any                                        */
    const char *was;      /* the name it had before: an error that says the new one      */
    const char *also;     /* its names elsewhere, which are taken too: "num_classes|depth"       */
    bool named;           /* only as name=value                                  */
    bool pairs;           /* LEAT_ARG_TEXTS: name=value with an unknown name is one of them */
    const char *help;
} leat__arg;

typedef enum leat__op_kind {
    LEAT_OP_SOURCE, /* where samples come from; the first operation          */
    LEAT_OP_ORDER,  /* which sample comes next                               */
    LEAT_OP_SAMPLE, /* works on any field of a sample                        */
    LEAT_OP_IMAGE,  /* works on the pixels of a field                        */
    LEAT_OP_BATCH   /* puts samples together                                 */
} leat__op_kind;

/* leat__op.flags: what the planner and the tools have to know of an operation. They ask for these, and never compare names
 * or functions; scripts/check_rooms.py looks for that. */
enum {
    LEAT_OP_SETTINGS = 1 << 0,    /* of the whole text: planned before all other operations      */
    LEAT_OP_NO_BYTES = 1 << 1,    /* changes no byte of a batch, so does not identify a pipeline */
    LEAT_OP_FREEZES = 1 << 2,     /* ... unless freeze=true: samples keep their first draws      */
    LEAT_OP_PROGRAM = 1 << 3,     /* a source that gets its samples from the program             */
    LEAT_OP_RANKS = 1 << 4,       /* part=auto is about ranks: leat__use_asks_ranks              */
    LEAT_OP_REPEATS = 1 << 5,     /* behind batch it adds epochs, and chooses no samples         */
    LEAT_OP_SIZED = 1 << 6,       /* its first argument is the size of a batch of one rank       */
    LEAT_OP_PADS = 1 << 7,        /* a batch takes samples that differ in size                   */
    LEAT_OP_DIVIDES = 1 << 8,     /* puts the samples of batches together anew                   */
    LEAT_OP_READS = 1 << 9,       /* leads from stored bytes to values, or names fields          */
    LEAT_OP_DECODES = 1 << 10,    /* ... from an image file to pixels                            */
    LEAT_OP_RESHAPES = 1 << 11,   /* ... to a shape that the text gives                          */
    LEAT_OP_SCALES = 1 << 12,     /* x * scale + offset by its arguments of these names          */
    LEAT_OP_NORMALIZES = 1 << 13, /* (x * scale - mean) / std likewise                           */
    LEAT_OP_MASKS = 1 << 14,      /* its field is a mask of the picture that `image` names       */
    LEAT_OP_BOXES = 1 << 15,      /* its field is boxes of it                                    */
    LEAT_OP_GROUPED = 1 << 16,    /* works on groups of samples: group=0 is the plan's group     */
    LEAT_OP_COMBINES = 1 << 17,   /* its argument `texts` has pipelines, as texts or as @NAME    */
    LEAT_OP_EPOCHAL = 1 << 18,    /* draws nothing, but gives something else in every epoch      */
    LEAT_OP_RESIZES = 1 << 19,    /* resizes whole pictures to a size that the text gives        */
    LEAT_OP_SHARED = 1 << 20,     /* ... of SIZED: global_size= is the size of all ranks together */
    LEAT_OP_FITS =
        1 << 21, /* gives a size of the text, and shows what it would of a larger copy of the picture */
    LEAT_OP_CUTS = 1 << 22 /* shows a part, or adds a border, of a number of pixels       */
};

/* leat__op.on_device: the numbers that are drawn for a device are those of flips, warps or affine points. */
#define LEAT_ON_DEVICE_AS_KIND (-1)

typedef struct leat__planner leat__planner;
typedef struct leat__use leat__use;

typedef struct leat__op {
    const char *name;
    leat__op_kind kind;
    const char *help;             /* one sentence                                          */
    const char *like;             /* its names elsewhere, "" if none                       */
    bool random;                  /* it draws: it takes `seed=` too (leat__op_arg)                */
    unsigned flags;               /* LEAT_OP_SETTINGS, ...                                 */
    int on_device;                /* numbers that a device takes to do it, 0 = it cannot   */
    leat__arg arg[LEAT_ARGS_MAX]; /* ends with a NULL name                                 */
    int (*plan)(leat__planner *, const leat__use *, leat_error *);
} leat__op;

typedef struct leat__arg_value {
    bool given;
    int64_t i;        /* INT, BOOL, DTYPE, WORD (its number)                   */
    double x;         /* NUMBER                                                */
    const char *text; /* as written, without quotes                            */
    int column;       /* of its first character in the text, behind a quote; 0 = not given */
    const char **texts;
    int64_t *ints; /* INTS; of TEXTS the column of each, behind a quote and the name of a pair */
    int n;
} leat__arg_value;

struct leat__use { /* an operation as it stands in a spec */
    const leat__op *op;
    uint32_t number; /* in the text, from 1, batch operations not counted     */
    uint32_t draws;  /* part of the key of its draws: the number, 0 if it has a seed of its own */
    uint64_t stir;   /* the same: of that seed, 0 = it has none                                 */
    int column;      /* in the text, from 1                                   */
    leat__arg_value arg[LEAT_ARGS_MAX];
};

/* The i-th operation of all; NULL after the last. */
const leat__op *leat__op_at(size_t i);

/* The i-th argument of an operation; NULL after the last. Those of the row come first; `seed`, which all operations have that
 * draw, is the last one of a row that does not list its own. */
const leat__arg *leat__op_arg(const leat__op *op, int i);

/* NULL if there is none of that name. */
const leat__op *leat__op_find(const char *name);
/* The nearest known word, or NULL if none is near enough to be meant. next(user, i) gives the i-th, NULL at the end. */
const char *leat__nearest(const char *word, const char *(*next)(const void *user, size_t i),
                          const void *user);
const char *leat__op_nearest(const char *name);

/* The operation that another library calls so ("RandomHorizontalFlip"; case and _ do not matter), or the one with an
 * argument that is called so there ("rotation_range"): then *arg, else NULL. NULL if there is none. */
const leat__op *leat__op_elsewhere(const char *name, const leat__arg **arg);
/* Whether word is one of "a|b|c"; words may be NULL. */
bool leat__is_word_of(const char *words, const char *word);
/* Edits that turn a into b, a swap of neighbours counting as one. */
int leat__edits(const char *a, const char *b);
/* The type whose name is nearest, NULL if none is near. */
const char *leat__dtype_nearest(const char *name);

/* Readers of a number's text, free of locale: the whole text must be one. */
bool leat__parse_int(const char *text, int64_t *out);   /* with KiB, MiB, GiB, k, M */
bool leat__parse_number(const char *text, double *out); /* with a/b                 */
/* The next number of a list such as "0.8,0.2": false at its end, or where there is none; then part holds what is there
 * instead, and is empty at the end. */
bool leat__next_number(const char **at, double *out, char part[64]);

#endif
