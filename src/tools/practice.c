/* SPDX-License-Identifier: Apache-2.0 */
/* leat_synth: a labelled practice set, so that everything can be tried before one's own data is at hand.
 * Every file is a function of the config and its number alone; workers take the next number. */
#include <limits.h>
#include <stdio.h>

#include "base/rng.h"
#include "base/thread.h"
#include "tools/encode.h"
#include "tools/tools.h"

typedef struct painter { /* of one worker */
    leat__encoder *encoder;
    leat__buf pixels, file;
} painter;

typedef struct practice {
    const char *folder;
    const leat_tool_config *config;
    leat_synth_config synth; /* defaults filled in */
    int class_digits;
    painter *painter;
    atomic_uint_least64_t n_done;
} practice;

enum { WIDTH = 500, HEIGHT = 375, QUALITY_LOW = 90, QUALITY_HIGH = 96 };

/* Most photographs of a collection have one size; the others vary. One in four stands upright. */
static void pick_size(leat__rng *rng, int *width, int *height) {
    const bool usual = leat__rng_below(rng, 10) < 6;
    const int wide = usual ? WIDTH : 320 + (int)leat__rng_below(rng, 321);
    const uint64_t form = leat__rng_below(rng, 10);
    const int low = usual ? HEIGHT : form < 5 ? wide * 3 / 4 : form < 8 ? wide * 2 / 3 : wide;
    const bool upright = leat__rng_below(rng, 4) == 0;
    *width = upright ? low : wide;
    *height = upright ? wide : low;
}

static int paint_one(void *user, uint64_t item, int worker, leat_error *err) {
    practice *self = user;
    painter *p = &self->painter[worker];
    const leat_synth_config *synth = &self->synth;
    leat__rng rng = leat__rng_at(synth->seed, 0, item, 1);
    const int label = (int)(item % (uint64_t)synth->n_classes);
    leat__pixels picture = {.height = synth->height, .width = synth->width, .channels = 3};
    if (synth->width == 0) pick_size(&rng, &picture.width, &picture.height);
    const size_t bytes = (size_t)picture.height * (size_t)picture.width * 3;
    if (!leat__buf_reserve(&p->pixels, bytes)) return leat__fail_memory(err, bytes, "a picture");
    leat__synth_paint(p->pixels.data, picture.height, picture.width, 3, label,
                      leat__mix64(synth->seed) ^ item);
    picture.data = p->pixels.data;
    const int quality = synth->quality
                            ? synth->quality
                            : QUALITY_LOW + (int)leat__rng_below(&rng, QUALITY_HIGH - QUALITY_LOW + 1);
    const bool full_colour = leat__rng_below(&rng, 3) == 0;
    if (synth->format) LEAT_TRY(leat__encode_png(p->encoder, &p->file, &picture, err));
    else LEAT_TRY(leat__encode_jpeg(p->encoder, &p->file, &picture, quality, full_colour, err));
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/class_%0*d/%06" PRIu64 ".%s", self->folder, self->class_digits, label,
             item, synth->format ? "png" : "jpg");
    LEAT_TRY(leat__file_write(path, p->file.data, p->file.size, err));
    const uint64_t n_done = atomic_fetch_add(&self->n_done, 1) + 1;
    /* Worker 0 is the thread that called. */
    return worker == 0 ? leat__tool_progress(self->config, "painting", n_done, synth->n_images, err) : 0;
}

static int refuse_entry(void *user, const char *name, char kind, leat_error *err) {
    (void)name, (void)kind;
    char shown[600];
    const char *folder = user;
    return leat__fail(err, LEAT_ERR_STATE,
                      "%s is not empty: name a new folder, or use force to write into this one",
                      leat__printable(shown, sizeof shown, folder, strlen(folder)));
}

static int make_folders(const practice *self, leat_error *err) {
    leat__stat st;
    char path[PATH_MAX];
    if (strlen(self->folder) > PATH_MAX - 64)
        return leat__fail(err, LEAT_ERR_ARGUMENT, "the folder's name is too long");
    if (!self->synth.force && leat__file_stat(self->folder, &st, NULL) == 0 && st.is_dir)
        LEAT_TRY(leat__dir_list(self->folder, refuse_entry, (void *)self->folder, err));
    for (uint64_t i = 0; i < LEAT_MIN((uint64_t)self->synth.n_classes, self->synth.n_images); i++) {
        snprintf(path, sizeof path, "%s/class_%0*d", self->folder, self->class_digits, (int)i);
        LEAT_TRY(leat__dir_make(path, err));
    }
    return 0;
}

static int check_config(leat_synth_config *synth, leat_error *err) {
    if (!synth->n_images) synth->n_images = 1000;
    if (!synth->n_classes) synth->n_classes = 10;
    if (synth->n_images > 100000000 || synth->n_classes < 0 || synth->n_classes > 1000000)
        return leat__fail(err, LEAT_ERR_ARGUMENT,
                          "%" PRIu64 " images in %d classes: at most 100 million in 1 million",
                          synth->n_images, synth->n_classes);
    if ((synth->width == 0) != (synth->height == 0) || synth->width < 0 || synth->height < 0 ||
        synth->width > 16384 || synth->height > 16384)
        return leat__fail(err, LEAT_ERR_ARGUMENT,
                          "pictures of %d x %d: both sides must lie between 1 and 16384", synth->width,
                          synth->height);
    if (synth->quality < 0 || synth->quality > 100)
        return leat__fail(err, LEAT_ERR_ARGUMENT, "quality %d: it lies between 1 and 100", synth->quality);
    if (synth->format != 0 && synth->format != 1)
        return leat__fail(err, LEAT_ERR_ARGUMENT, "format %d: 0 is JPEG, 1 is PNG", synth->format);
    return 0;
}

int leat_synth(const char *folder, const leat_synth_config *synth, const leat_tool_config *config,
               leat_error *err) {
    leat__error_clear(err);
    if (!folder || !*folder)
        return leat__fail(err, LEAT_ERR_ARGUMENT, "leat_synth: the folder's name is empty");
    LEAT_TRY(leat__tool_config_check(config, err));
    if (synth) LEAT_TRY(LEAT_CHECK_RESERVED(leat_synth_config, synth, err));
    practice self = {.folder = folder, .config = config, .synth = synth ? *synth : (leat_synth_config){0}};
    LEAT_TRY(check_config(&self.synth, err));
    self.class_digits = 2;
    for (int n = self.synth.n_classes - 1; n >= 100; n /= 10) self.class_digits++;
    LEAT_TRY(make_folders(&self, err));
    const int n_threads = leat__tool_threads(config);
    self.painter = leat__alloc(LEAT_MEM_TOOL, (size_t)n_threads * sizeof *self.painter);
    int rc = self.painter ? 0 : leat__fail_memory(err, (size_t)n_threads * sizeof *self.painter, "painters");
    for (int i = 0; i < n_threads && rc == 0; i++) {
        self.painter[i].pixels.kind = self.painter[i].file.kind = LEAT_MEM_TOOL;
        self.painter[i].encoder = leat__encoder_new(err);
        if (!self.painter[i].encoder) rc = LEAT_ERR_MEMORY;
    }
    if (rc == 0) rc = leat__parallel(n_threads, self.synth.n_images, paint_one, &self, err);
    for (int i = 0; self.painter && i < n_threads; i++) {
        leat__encoder_free(&self.painter[i].encoder);
        leat__buf_free(&self.painter[i].pixels);
        leat__buf_free(&self.painter[i].file);
    }
    leat__free(self.painter);
    return rc;
}
