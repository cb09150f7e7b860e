/* SPDX-License-Identifier: Apache-2.0 */
/* The data set of a pack: what the user named becomes the text of a pipeline, and the text a plan. From there on a
 * folder, a list, records and a pipeline are alike: samples by position, each with named fields. */
#include <limits.h>
#include <stdio.h>

#include "tools/pack/pack.h"

enum { LOOK_AT = 100, PROBED = 8, FEATURES_MAX = LEAT_FIELDS_MAX };

static bool ends_with(const char *text, const char *end) {
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* -------------------------------------------------------------------------------- features of records */

typedef struct seen_feature {
    char name[256];
    leat__feature_kind kind;
    int64_t count; /* of values; -1 = differs */
    uint64_t n;    /* records that have it    */
} seen_feature;

typedef struct seen {
    int n;
    seen_feature feature[FEATURES_MAX];
} seen;

static int see_feature(seen *all, const leat__feature *f, leat_error *err) {
    const int64_t count = leat__feature_count(f);
    char name[256];
    snprintf(name, sizeof name, "%.*s", (int)LEAT_MIN(f->key_n, sizeof name - 1), f->key);
    int i = 0;
    while (i < all->n && strcmp(all->feature[i].name, name) != 0) i++;
    seen_feature *one = &all->feature[i];
    if (count < 0 || f->kind == LEAT_FEATURE_NONE) return 0;
    if (i == all->n) {
        if (all->n == FEATURES_MAX)
            return leat__fail(err, LEAT_ERR_LIMIT,
                              "records of more than %d features: name those that are wanted in a text, "
                              "\"tfrecord ... | parse image:bytes label:int64\"",
                              (int)FEATURES_MAX);
        all->n++;
        *one = (seen_feature){.kind = f->kind, .count = count};
        memcpy(one->name, name, sizeof name);
    }
    if (one->kind == LEAT_FEATURE_BYTES && count != 1)
        return leat__fail(err, LEAT_ERR_UNSUPPORTED,
                          "feature '%.200s' is a list of %" PRId64
                          " strings: name the features that are wanted in a text, \"tfrecord ... | parse "
                          "image:bytes label:int64\"",
                          name, count);
    if (one->count != count) one->count = -1;
    one->n++;
    return 0;
}

/* Records spread over the data set tell which features there are. */
static int see_records(const leat__source *records, seen *all, uint64_t *looked, leat_error *err) {
    leat__reader reader = {.bytes.kind = LEAT_MEM_TOOL, .extra.kind = LEAT_MEM_TOOL};
    const uint64_t n = LEAT_MIN(records->n_samples, (uint64_t)LOOK_AT);
    int rc = 0;
    *looked = 0;
    for (uint64_t i = 0; i < n && rc == 0; i++) {
        leat__value record;
        leat__example_iter iter;
        leat__feature f;
        leat_error why;
        if (records->class->read(records, &reader, i * records->n_samples / n, &record, &why) < 0) {
            if (!leat__error_is_fault(&why)) continue;
            *err = why;
            rc = why.code;
            break;
        }
        leat__example_iter_init(&iter, record.data, record.bytes);
        ++*looked;
        while (rc == 0 && leat__example_iter_next(&iter, &f, NULL) > 0) rc = see_feature(all, &f, err);
    }
    leat__reader_free(records, &reader);
    if (rc == 0 && all->n == 0)
        rc = leat__fail(err, LEAT_ERR_FORMAT, "%s: no record is a tf.train.Example with features",
                        records->title);
    return rc;
}

static bool write_parse(leat__buf *text, const seen *all, uint64_t looked) {
    static const char *const types[] = {"", "bytes", "float", "int64"};
    bool fits = leat__text_add(text, " | parse");
    for (int i = 0; i < all->n && fits; i++) {
        const seen_feature *f = &all->feature[i];
        char word[330], shape[32] = "";
        const bool always = f->n == looked;
        if (f->kind == LEAT_FEATURE_BYTES) snprintf(shape, sizeof shape, "%s", always ? "" : "=");
        else if (f->count < 0 || !always) snprintf(shape, sizeof shape, "[*]");
        else if (f->count != 1) snprintf(shape, sizeof shape, "[%" PRId64 "]", f->count);
        snprintf(word, sizeof word, "%s:%s%s", f->name, types[f->kind], shape);
        fits = leat__text_add(text, " ") && leat__text_add_quoted(text, word);
    }
    return fits;
}

static int records_text(leat__packing *self, const char *pattern, leat__buf *text, leat_error *err) {
    const leat__open_options open = leat__tool_open_options(self->config);
    const int compressed = leat__shards_wanted(&pattern, 1, &open, err);
    char inflated[PATH_MAX];
    LEAT_TRY(compressed);
    if (compressed) {
        LEAT_TRY(leat__pack_inflate(self, pattern, err));
        snprintf(inflated, sizeof inflated, "%s/*", self->inflated);
        pattern = inflated;
    }
    leat__source *records;
    seen *all = leat__alloc(LEAT_MEM_TOOL, sizeof *all);
    if (!all) return leat__fail_memory(err, sizeof *all, "features");
    uint64_t looked;
    int rc = leat__records_open(&records, &pattern, 1, &open, err);
    if (rc == 0) {
        rc = see_records(records, all, &looked, err);
        leat__source_free(&records);
    }
    if (rc == 0 && (!leat__text_add(text, "tfrecord ") || !leat__text_add_quoted(text, pattern) ||
                    !write_parse(text, all, looked)))
        rc = leat__fail_memory(err, text->size, "a pipeline");
    leat__free(all);
    return rc;
}

/* --------------------------------------------------------------------------------------------- text */

typedef struct found_in {
    bool records, cifar10, cifar100;
} found_in;

static int look_at_name(void *user, const char *name, char kind, leat_error *err) {
    (void)kind, (void)err;
    found_in *found = user;
    if (name[0] == '.') return 0;
    found->records |= strstr(name, ".tfrec") != NULL;
    found->cifar10 |= strncmp(name, "data_batch_", 11) == 0 && ends_with(name, ".bin");
    found->cifar100 |= strcmp(name, "train.bin") == 0;
    return 0;
}

static int quoted_text(leat__buf *text, const char *before, const char *path, const char *behind,
                       leat_error *err) {
    if (leat__text_add(text, before) && leat__text_add_quoted(text, path) && leat__text_add(text, behind))
        return 0;
    return leat__fail_memory(err, text->size, "a pipeline");
}

static int folder_text(leat__packing *self, leat__buf *text, leat_error *err) {
    found_in found = {0};
    char path[PATH_MAX];
    LEAT_TRY(leat__dir_list(self->from, look_at_name, &found, err));
    if (found.records) {
        snprintf(path, sizeof path, "%s/*.tfrec*", self->from);
        return records_text(self, path, text, err);
    }
    if (found.cifar10 || found.cifar100) {
        snprintf(path, sizeof path, "%s/%s", self->from, found.cifar10 ? "data_batch_*.bin" : "train.bin");
        return quoted_text(text, "cifar ", path, found.cifar10 ? "" : " kind=100", err);
    }
    return quoted_text(text, "folder ", self->from, "", err);
}

static int file_text(leat__packing *self, leat__buf *text, leat_error *err) {
    const char *path = self->from, *base = strrchr(path, '/');
    base = base ? base + 1 : path;
    if (ends_with(path, ".csv") || ends_with(path, ".tsv"))
        return quoted_text(text, "list ", path, " max_bytes=1", err);
    if (ends_with(path, ".npz")) return quoted_text(text, "npy ", path, "", err);
    if (ends_with(path, ".npy")) {
        char field[PATH_MAX + 8];
        snprintf(field, sizeof field, "image=%s", path);
        return quoted_text(text, "npy ", field, "", err);
    }
    if (ends_with(path, ".tar")) return quoted_text(text, "webdataset ", path, "", err);
    if (strcmp(base, "train.bin") == 0 || strcmp(base, "test.bin") == 0)
        return quoted_text(text, "cifar ", path, " kind=100", err);
    if (ends_with(path, ".bin")) return quoted_text(text, "cifar ", path, "", err);
    const leat__open_options open = leat__tool_open_options(self->config);
    leat__targets targets;
    LEAT_TRY(leat__targets_open(&targets, &path, 1, LEAT_LABELS_AUTO, &open, err));
    const leat__target *first = targets.n ? &targets.at[0] : NULL;
    int rc = 0;
    if (!first) rc = leat__fail(err, LEAT_ERR_NOT_FOUND, "%.500s: there is no such file", path);
    else if (first->kind != LEAT_TARGET_RECORDS)
        rc = leat__target_refuse(first,
                                 "leat pack takes a folder of images, a .csv list, TFRecords, .npy and "
                                 "CIFAR files, or the text of a pipeline",
                                 err);
    leat__targets_free(&targets);
    return rc < 0 ? rc : records_text(self, path, text, err);
}

static int write_text(leat__packing *self, leat__buf *text, leat_error *err) {
    leat__stat st;
    int rc;
    if (leat__dataset_is_text(self->from)) rc = leat__text_add(text, self->from) ? 0 : LEAT_ERR_MEMORY;
    else if (leat__file_stat(self->from, &st, NULL) == 0 && st.is_dir) rc = folder_text(self, text, err);
    else rc = file_text(self, text, err);
    if (rc == 0 && !leat__buf_append(text, "", 1)) rc = LEAT_ERR_MEMORY;
    return rc == LEAT_ERR_MEMORY ? leat__fail_memory(err, text->size, "a pipeline") : rc;
}

/* -------------------------------------------------------------------------------------------- plans */

static int build(const leat__packing *self, const char *text, leat_spec **spec, leat__plan **plan,
                 leat_error *err) {
    leat_config config = leat__tool_pipeline_config(self->config);
    config.seed = self->pack.seed;
    config.memory_max_bytes = (size_t)1 << 40; /* no batch is ever made */
    config.log = NULL;
    *spec = leat_spec_new(text);
    *plan = leat__alloc(LEAT_MEM_TOOL, sizeof **plan);
    int rc = *spec && *plan ? leat_spec_error(*spec, err) : leat__fail_memory(err, sizeof **plan, "a plan");
    if (rc == 0) rc = leat__plan_build(*plan, *spec, &config, err);
    if (rc < 0) {
        leat__free(*plan);
        *plan = NULL;
    }
    return rc;
}

static int refuse(const char *what, const char *remedy, leat_error *err) {
    return leat__fail(err, LEAT_ERR_UNSUPPORTED, "%s cannot be packed: %s", what, remedy);
}

static int check_plan(const leat__plan *plan, leat_error *err) {
    if (plan->stream)
        return refuse("a stream inside of a text",
                      "pack the compressed files by themselves first, then this text of the pack", err);
    if (plan->batch != 1 || plan->group) return refuse("a batch", "leave batch and what follows out", err);
    if (plan->caching.wanted) return refuse("a cache", "leave cache out of the text", err);
    const uint64_t n = leat__order_length(&plan->order);
    if (n == LEAT_ENDLESS) return refuse("a data set without end", "leave repeat out, or add take", err);
    if (n == 0) return leat__fail(err, LEAT_ERR_NOT_FOUND, "%s: there are no samples", plan->source->title);
    if (n > UINT32_MAX) return leat__fail(err, LEAT_ERR_LIMIT, "%" PRIu64 " samples: pack them in parts", n);
    return 0;
}

/* Orders are not for several threads, so positions are mapped now. */
static int map_order(leat__pack_input *input, leat_error *err) {
    leat__order *order = &input->plan->order;
    input->n = leat__order_length(order);
    if (order->n_verbs == 0) return 0;
    LEAT_TRY(leat__order_allocate(order, err));
    input->sample = leat__alloc(LEAT_MEM_INDEX, input->n * sizeof *input->sample);
    if (!input->sample) return leat__fail_memory(err, input->n * sizeof *input->sample, "an order");
    for (uint64_t i = 0; i < input->n; i++) input->sample[i] = (uint32_t)leat__order_map(order, 0, i).sample;
    return 0;
}

/* ------------------------------------------------------------------------------------------- fields */

static int output_named(const leat__plan *plan, const char *const *names, bool image) {
    for (; *names; names++)
        for (int i = 0; i < plan->n_outputs; i++) {
            const leat_field *f = &plan->output[i].field;
            if (strcmp(f->name, *names) != 0) continue;
            const bool whole = f->dtype <= LEAT_DTYPE_I64 && f->ndim == 0 && !f->ragged;
            const bool picture =
                f->dtype == LEAT_DTYPE_BYTES || (f->dtype == LEAT_DTYPE_U8 && (f->ndim == 2 || f->ndim == 3));
            if (image ? picture : whole) return i;
        }
    return -1;
}

/* Which fields of bytes hold image files: some samples tell. */
static int see_pictures(const leat__packing *self, bool *picture, leat_error *err) {
    const leat__pack_input *input = &self->input;
    leat__tools *tools = leat__tools_new(input->plan, err);
    if (!tools) return LEAT_ERR_MEMORY;
    int rc = 0;
    for (uint64_t i = 0; i < LEAT_MIN(input->n, (uint64_t)PROBED); i++) {
        const uint64_t position = i * input->n / LEAT_MIN(input->n, (uint64_t)PROBED);
        const leat__where at = {.position = position,
                                .sample = input->sample ? input->sample[position] : position};
        leat_error why;
        if (leat__run_sample(tools, &at, &why) < 0) {
            if (!leat__error_is_fault(&why)) continue;
            *err = why;
            rc = why.code;
            break;
        }
        for (int k = 0; k < input->plan->n_outputs; k++) {
            const leat__value *v = &tools->value[input->plan->output[k].value];
            if (v->dtype == LEAT_DTYPE_BYTES) picture[k] |= leat__image_like(v->data, v->bytes);
        }
    }
    leat__tools_delete(&tools);
    return rc;
}

static int find_fields(leat__packing *self, leat_error *err) {
    static const char *const images[] = {"image", "image/encoded", "img", "picture",
                                         "jpg",   "jpeg",          "png", NULL};
    static const char *const labels[] = {"label", "image/class/label", "class", "fine", NULL};
    leat__pack_input *input = &self->input;
    const leat__plan *plan = input->plan;
    bool picture[LEAT_FIELDS_MAX] = {false};
    input->image = output_named(plan, images, true);
    input->label = output_named(plan, labels, false);
    /* The pictures of files are files, good or bad; other bytes are pictures if they look like some. */
    if (!plan->source->class->path) LEAT_TRY(see_pictures(self, picture, err));
    const leat_field *named = input->image >= 0 ? &plan->output[input->image].field : NULL;
    if (named && named->dtype == LEAT_DTYPE_BYTES && !plan->source->class->path && !picture[input->image])
        input->image = -1;
    for (int i = 0; i < plan->n_outputs && input->image < 0; i++)
        if (picture[i]) input->image = i;
    input->pixels = input->image >= 0 && plan->output[input->image].field.dtype != LEAT_DTYPE_BYTES;
    return 0;
}

/* The column of a mistake in augment says nothing to the user, who wrote only the end of that text. */
static int blame_augment(int rc, leat_error *err) {
    const char *colon = rc < 0 && err->column ? strstr(err->message, ": ") : NULL;
    if (!colon) return rc;
    memmove(err->message, colon + 2, strlen(colon + 2) + 1);
    leat__error_prefix(err, "augment: ");
    err->column = 0;
    return rc;
}

static int open_augment(leat__packing *self, const leat__buf *text, leat_error *err) {
    leat__pack_input *input = &self->input;
    if (input->image < 0)
        return leat__fail(err, LEAT_ERR_NOT_FOUND, "there are no pictures that augment could change");
    const char *field = input->plan->output[input->image].field.name;
    leat__buf whole = {.kind = LEAT_MEM_TOOL};
    bool fits = leat__text_add(&whole, (const char *)text->data);
    if (!input->pixels)
        fits = fits && leat__text_add(&whole, " | decode ") && leat__text_add_quoted(&whole, field) &&
               (!(self->pack.how & LEAT_PACK_ORIENT) || leat__text_add(&whole, " orient=true"));
    fits = fits && leat__text_add(&whole, " | ") && leat__text_add(&whole, self->pack.augment) &&
           leat__buf_append(&whole, "", 1);
    int rc = fits
                 ? blame_augment(
                       build(self, (const char *)whole.data, &input->augment_spec, &input->augment, err), err)
                 : leat__fail_memory(err, whole.size, "a pipeline");
    leat__buf_free(&whole);
    if (rc == 0) rc = check_plan(input->augment, err);
    if (rc < 0) return rc;
    input->augmented = -1;
    for (int i = 0; i < input->augment->n_outputs; i++)
        if (strcmp(input->augment->output[i].field.name, field) == 0) input->augmented = i;
    if (input->augmented < 0 || input->augment->output[input->augmented].field.dtype != LEAT_DTYPE_U8)
        return leat__fail(err, LEAT_ERR_TYPE,
                          "augment must leave u8 pixels in %s, which are stored: write cast %s u8 behind it",
                          field, field);
    if (leat__order_length(&input->augment->order) != input->n)
        return leat__fail(err, LEAT_ERR_ARGUMENT,
                          "augment must not change which samples there are: write such operations into the "
                          "text of the data set");
    return 0;
}

/* --------------------------------------------------------------------------------------------- door */

int leat__pack_input_open(leat__packing *self, leat_error *err) {
    leat__pack_input *input = &self->input;
    leat__buf text = {.kind = LEAT_MEM_TOOL};
    int rc = write_text(self, &text, err);
    if (rc == 0) rc = build(self, (const char *)text.data, &input->spec, &input->plan, err);
    if (rc == 0) {
        leat__tool_warn(self->config, input->plan->source);
        rc = check_plan(input->plan, err);
    }
    if (rc == 0) rc = map_order(input, err);
    if (rc == 0) rc = find_fields(self, err);
    if (rc == 0 && self->pack.copies > 0) rc = open_augment(self, &text, err);
    leat__buf_free(&text);
    return rc;
}

void leat__pack_input_close(leat__pack_input *input) {
    leat__plan *const plans[] = {input->plan, input->augment};
    for (size_t i = 0; i < LEAT_COUNT(plans); i++) {
        if (plans[i]) leat__plan_free(plans[i]);
        leat__free(plans[i]);
    }
    leat_spec_free(&input->spec);
    leat_spec_free(&input->augment_spec);
    leat__free(input->sample);
}

bool leat__pack_input_path(const leat__packing *self, uint64_t sample, char *text, size_t cap) {
    const leat__source *source = self->input.plan->source;
    return source->class->path && source->class->path(source, sample, text, cap);
}

void leat__pack_input_name(const leat__packing *self, uint64_t sample, char *text, size_t cap) {
    const leat__source *source = self->input.plan->source;
    char path[PATH_MAX];
    if (source->class->opens && source->class->opens(source, sample, path, sizeof path))
        leat__printable(text, cap, path, strlen(path));
    else source->class->describe(source, sample, text, cap);
}
