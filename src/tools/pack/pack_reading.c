/* SPDX-License-Identifier: Apache-2.0 */
/* How a finished pack is read, from its manifest: the text of a pipeline and a line of code for TensorFlow and for Python. What
 * was stored and under which names is not what was asked for, but what was settled. */
#include <limits.h>
#include <stdio.h>

#include "tools/pack/pack_reading.h"

enum { KEY = 200, SIDE = 224 }; /* of pictures that have many sizes */

typedef struct reading {
    char image[KEY], label[KEY]; /* names of features; "" = there is none */
    bool pixels;                 /* not image files                       */
    int64_t height, width;       /* 0 = many                              */
    char files[PATH_MAX];        /* a pattern                             */
} reading;

static bool is_text(const leat__json *object, const char *key, const char *wanted) {
    leat__json value;
    char text[40];
    return leat__json_find(object, key, &value) == 1 && leat__json_text(&value, text, sizeof text) &&
           strcmp(text, wanted) == 0;
}

static void read_features(reading *r, const leat__json *recipe) {
    leat__json features, key, feature;
    const char *at = NULL;
    if (leat__json_find(recipe, "features", &features) != 1) return;
    while (leat__json_member(&features, &at, &key, &feature)) {
        const bool pixels = is_text(&feature, "holds", "u8 pixels");
        if (pixels || is_text(&feature, "holds", "image file")) {
            if (!leat__json_text(&key, r->image, sizeof r->image)) r->image[0] = 0;
            r->pixels = pixels;
        } else if (is_text(&feature, "holds", "label") && !leat__json_text(&key, r->label, sizeof r->label)) {
            r->label[0] = 0;
        }
    }
}

static int64_t number_of(const leat__json *recipe, const char *key) {
    leat__json value;
    int64_t n = 0;
    return leat__json_find(recipe, key, &value) == 1 && leat__json_int(&value, &n) ? n : 0;
}

/* The files of train, where there is a split. */
static void name_files(reading *r, const leat__pack_place *place, const leat__json *recipe) {
    leat__json split;
    const bool is_split = leat__json_find(recipe, "split", &split) == 1 && *split.at != 'n';
    snprintf(r->files, sizeof r->files, "%s/%s%s-*.tfrecord", place->out, place->prefix,
             is_split ? "-train" : "");
}

static void write_pipeline(const reading *r, char *text, size_t cap) {
    const char *quote = strpbrk(r->files, " \t|='") ? "'" : "";
    const bool plain = strcmp(r->image, "image") == 0; /* what operations take by themselves */
    char rest[4 * KEY] = "";
    if (r->pixels && r->width)
        snprintf(rest, sizeof rest, " | decode_raw %s u8 | reshape %s %" PRId64 " %" PRId64 " 3", r->image,
                 r->image, r->height, r->width);
    else if (!r->pixels && r->width)
        snprintf(rest, sizeof rest, " | decode%s%s", plain ? "" : " ", plain ? "" : r->image);
    else if (!r->pixels)
        snprintf(rest, sizeof rest, " | decode%s%s | resize %d %d%s%s", plain ? "" : " ",
                 plain ? "" : r->image, SIDE, SIDE, plain ? "" : " field=", plain ? "" : r->image);
    snprintf(text, cap, "tfrecord %s%s%s | shuffle | parse %s:bytes%s%s%s%s | batch 64", quote, r->files,
             quote, r->image, *r->label ? " " : "", r->label, *r->label ? ":int64" : "", rest);
}

static void write_tensorflow(const reading *r, char *text, size_t cap) {
    snprintf(text, cap,
             "tf.data.TFRecordDataset(tf.io.gfile.glob('%s')).map(lambda record: "
             "tf.io.parse_single_example(record, {'%s': tf.io.FixedLenFeature([], tf.string)%s%s%s}))",
             r->files, r->image, *r->label ? ", '" : "", r->label,
             *r->label ? "': tf.io.FixedLenFeature([], tf.int64)" : "");
}

static void write_python(const reading *r, char *text, size_t cap) {
    char rest[4 * KEY] = "";
    if (r->pixels && r->width)
        snprintf(rest, sizeof rest, ".decode_raw('%s', 'u8').reshape('%s', %" PRId64 ", %" PRId64 ", 3)",
                 r->image, r->image, r->height, r->width);
    else if (!r->pixels && r->width) snprintf(rest, sizeof rest, ".decode('%s')", r->image);
    else if (!r->pixels)
        snprintf(rest, sizeof rest, ".decode('%s').resize(%d, %d, field='%s')", r->image, SIDE, SIDE,
                 r->image);
    snprintf(text, cap, "leat.from_tfrecord('%s', {'%s': 'bytes'%s%s%s})%s.batch(64).to_torch()", r->files,
             r->image, *r->label ? ", '" : "", r->label, *r->label ? "': 'int64'" : "", rest);
}

int leat__pack_say_reading(const leat__pack_place *place, const leat__json *recipe, leat_line_fn line,
                           void *user) {
    static const struct {
        const char *name;
        void (*write)(const reading *r, char *text, size_t cap);
    } ways[] = {{"text", write_pipeline}, {"tf", write_tensorflow}, {"py", write_python}};
    reading r = {.height = number_of(recipe, "height"), .width = number_of(recipe, "width")};
    read_features(&r, recipe);
    name_files(&r, place, recipe);
    int stopped = 0;
    for (size_t i = 0; *r.image && i < LEAT_COUNT(ways) && !stopped; i++) {
        char text[PATH_MAX + 8 * KEY], said[PATH_MAX + 8 * KEY + 20];
        ways[i].write(&r, text, sizeof text);
        snprintf(said, sizeof said, "%-9s %s", ways[i].name, text);
        stopped = line(user, said);
    }
    return stopped;
}
