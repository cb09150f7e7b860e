/* SPDX-License-Identifier: Apache-2.0 */
/* The features of a record: roles with names that a preset or the user gives, and the other fields of the data set under
 * their own names. A role wins over a field of the same name. */
#include <limits.h>
#include <stdio.h>

#include "format/tfrecord.h"
#include "image/pass/convert.h"
#include "tools/pack/pack.h"

enum { VALUES_MAX = LEAT_ROLE_COUNT + LEAT_FIELDS_MAX };

static const char *const role_name[LEAT_ROLE_COUNT] = {"image",    "label", "format",   "height", "width",
                                                       "channels", "text",  "filename", "copy"};

typedef struct preset {
    const char *name;
    const char *key[LEAT_ROLE_COUNT]; /* NULL = only where it is needed to read pixels, under `spare` */
    const char *spare[LEAT_ROLE_COUNT];
} preset;

#define SLIM_KEYS                                                                            \
    .key = {[LEAT_ROLE_IMAGE] = "image/encoded",    [LEAT_ROLE_LABEL] = "image/class/label", \
            [LEAT_ROLE_FORMAT] = "image/format",    [LEAT_ROLE_HEIGHT] = "image/height",     \
            [LEAT_ROLE_WIDTH] = "image/width",      [LEAT_ROLE_TEXT] = "image/class/text",   \
            [LEAT_ROLE_FILENAME] = "image/filename"},                                        \
    .spare = {[LEAT_ROLE_CHANNELS] = "image/channels", [LEAT_ROLE_COPY] = "image/copy"}

static const preset presets[] = {
    {.name = "simple",
     .key = {[LEAT_ROLE_IMAGE] = "image", [LEAT_ROLE_LABEL] = "label"},
     .spare = {[LEAT_ROLE_HEIGHT] = "height",
               [LEAT_ROLE_WIDTH] = "width",
               [LEAT_ROLE_CHANNELS] = "channels",
               [LEAT_ROLE_COPY] = "copy"}},
    {.name = "tfds", SLIM_KEYS},
    {.name = "slim", SLIM_KEYS},
};

/* --------------------------------------------------------------------------------------------- names */

static int set_key(leat__pack_keys *keys, leat__role role, const char *name, size_t n, leat_error *err) {
    if (n == 0 || n > 250)
        return leat__fail(err, LEAT_ERR_ARGUMENT, "the key of a feature is %s", n ? "too long" : "empty");
    snprintf(keys->key[role], sizeof keys->key[role], "%.*s", (int)n, name);
    return 0;
}

static int read_word(leat__pack_keys *keys, const char *word, size_t n, leat_error *err) {
    const char *equals = memchr(word, '=', n);
    for (int r = 0; equals && r < LEAT_ROLE_COUNT; r++)
        if (strlen(role_name[r]) == (size_t)(equals - word) &&
            memcmp(role_name[r], word, (size_t)(equals - word)) == 0)
            return set_key(keys, (leat__role)r, equals + 1, n - (size_t)(equals + 1 - word), err);
    return leat__fail(err, LEAT_ERR_ARGUMENT,
                      "features: '%.*s' is neither a preset (simple, tfds, slim) nor ROLE=NAME with image, "
                      "label, format, height, width, channels, text, filename or copy",
                      (int)LEAT_MIN(n, (size_t)100), word);
}

static const preset *preset_named(const char *word, size_t n) {
    for (size_t i = 0; i < LEAT_COUNT(presets); i++)
        if (strlen(presets[i].name) == n && memcmp(presets[i].name, word, n) == 0) return &presets[i];
    return NULL;
}

static const preset *preset_of(const leat_pack_config *pack) {
    const char *at = pack->features ? pack->features : "";
    at += strspn(at, " ,");
    const preset *named = preset_named(at, strcspn(at, " ,"));
    return named ? named : &presets[0];
}

int leat__pack_keys_read(leat__packing *self, leat_error *err) {
    const leat_pack_config *pack = &self->pack;
    const preset *p = preset_of(pack);
    for (int r = 0; r < LEAT_ROLE_COUNT; r++)
        if (p->key[r]) snprintf(self->keys.key[r], sizeof self->keys.key[r], "%s", p->key[r]);
    bool first = true;
    for (const char *at = pack->features ? pack->features : ""; *at; first = false) {
        at += strspn(at, " ,");
        const size_t n = strcspn(at, " ,");
        if (n && !(first && preset_named(at, n))) LEAT_TRY(read_word(&self->keys, at, n, err));
        at += n;
    }
    if (pack->image_key)
        LEAT_TRY(set_key(&self->keys, LEAT_ROLE_IMAGE, pack->image_key, strlen(pack->image_key), err));
    if (pack->label_key)
        LEAT_TRY(set_key(&self->keys, LEAT_ROLE_LABEL, pack->label_key, strlen(pack->label_key), err));
    return 0;
}

static bool has_pixels(const leat__packing *self) {
    return self->storing.store == LEAT_STORE_RAW ||
           (self->storing.store == LEAT_STORE_ORIGINAL && self->input.pixels);
}

static bool role_possible(const leat__packing *self, int role) {
    const leat__source *source = self->input.plan->source;
    switch (role) {
    case LEAT_ROLE_LABEL: return self->input.label >= 0;
    case LEAT_ROLE_TEXT: return self->input.label >= 0 && source->n_classes > 0;
    case LEAT_ROLE_FILENAME: return source->class->path != NULL;
    case LEAT_ROLE_COPY: return self->pack.copies > 0;
    default: return self->input.image >= 0;
    }
}

/* Whether a field of the data set is stored under its own name. */
static bool passes(const leat__packing *self, int output) {
    const leat__pack_input *input = &self->input;
    if (output == input->image || output == input->label) return false;
    const char *name = input->plan->output[output].field.name;
    for (int r = 0; r < LEAT_ROLE_COUNT; r++)
        if (self->keys.key[r][0] && strcmp(self->keys.key[r], name) == 0) return false;
    return true;
}

static leat__feature_kind kind_of_role(int role) {
    return role == LEAT_ROLE_IMAGE || role == LEAT_ROLE_FORMAT || role == LEAT_ROLE_TEXT ||
                   role == LEAT_ROLE_FILENAME
               ? LEAT_FEATURE_BYTES
               : LEAT_FEATURE_INT64;
}

static leat__feature_kind kind_of_field(const leat_field *f) {
    if (f->dtype == LEAT_DTYPE_BYTES) return LEAT_FEATURE_BYTES;
    if ((f->dtype == LEAT_DTYPE_U8 || f->dtype == LEAT_DTYPE_U16) && f->ndim > 0) return LEAT_FEATURE_BYTES;
    return f->dtype <= LEAT_DTYPE_I64 || f->dtype == LEAT_DTYPE_BOOL ? LEAT_FEATURE_INT64
                                                                     : LEAT_FEATURE_FLOAT;
}

int leat__pack_keys_settle(leat__packing *self, leat_error *err) {
    const preset *p = preset_of(&self->pack);
    leat__pack_keys *keys = &self->keys;
    for (int r = 0; r < LEAT_ROLE_COUNT; r++) {
        const bool needed = r == LEAT_ROLE_COPY || has_pixels(self);
        if (!keys->key[r][0] && needed && p->spare[r])
            snprintf(keys->key[r], sizeof keys->key[r], "%s", p->spare[r]);
        if (!role_possible(self, r)) keys->key[r][0] = 0;
    }
    /* An empty record finds out what is wrong with the keys before any picture is blamed for it. */
    leat__feature_value values[VALUES_MAX];
    leat__buf record = {.kind = LEAT_MEM_TOOL};
    int n = 0;
    for (int r = 0; r < LEAT_ROLE_COUNT; r++)
        if (keys->key[r][0]) values[n++] = (leat__feature_value){.key = keys->key[r]};
    for (int i = 0; i < self->input.plan->n_outputs; i++)
        if (passes(self, i))
            values[n++] = (leat__feature_value){.key = self->input.plan->output[i].field.name};
    const int rc = leat__example_write(&record, values, n, err);
    leat__buf_free(&record);
    return rc;
}

/* -------------------------------------------------------------------------------------------- schema */

static const char *const kind_name[] = {"", "bytes", "float", "int64"};

static bool add_schema(leat__buf *json, const char *key, leat__feature_kind kind, const leat_field *field,
                       const char *holds) {
    bool fits = leat__json_printf(json, "%s", json->size && json->data[json->size - 1] == '}' ? ", " : "") &&
                leat__json_string(json, key) &&
                leat__json_printf(json, ": {\"type\": \"%s\", \"holds\": \"%s\"", kind_name[kind], holds);
    if (field && field->ndim > 0 && field->dtype != LEAT_DTYPE_BYTES) {
        fits = fits &&
               leat__json_printf(json, ", \"dtype\": \"%s\", \"shape\": [", leat_dtype_name(field->dtype));
        for (int i = 0; i < field->ndim && fits; i++)
            fits = leat__json_printf(json, "%s%" PRId64, i ? ", " : "",
                                     field->ragged && i == 0 ? (int64_t)-1 : field->shape[i]);
        fits = fits && leat__json_printf(json, "]");
    }
    return fits && leat__json_printf(json, "}");
}

bool leat__pack_schema(const leat__packing *self, leat__buf *json) {
    const leat__plan *plan = self->input.plan;
    bool fits = leat__json_printf(json, "{");
    for (int r = 0; r < LEAT_ROLE_COUNT && fits; r++) {
        const char *holds = r != LEAT_ROLE_IMAGE ? role_name[r]
                            : has_pixels(self)   ? "u8 pixels"
                                                 : "image file";
        if (self->keys.key[r][0]) fits = add_schema(json, self->keys.key[r], kind_of_role(r), NULL, holds);
    }
    for (int i = 0; i < plan->n_outputs && fits; i++)
        if (passes(self, i))
            fits = add_schema(json, plan->output[i].field.name, kind_of_field(&plan->output[i].field),
                              &plan->output[i].field, "field");
    return fits && leat__json_printf(json, "}");
}

/* -------------------------------------------------------------------------------------------- record */

bool leat__pack_label(const leat__packing *self, const leat__tools *tools, int64_t *label) {
    if (self->input.label < 0) return false;
    /* Outputs of the plan and of the one with augment are found by their names. */
    const char *name = self->input.plan->output[self->input.label].field.name;
    for (int i = 0; i < tools->plan->n_outputs; i++) {
        const leat__output *out = &tools->plan->output[i];
        if (strcmp(out->field.name, name) != 0) continue;
        const leat__value *v = &tools->value[out->value];
        return leat__convert(label, LEAT_DTYPE_I64, v->data, v->dtype, 1, false, 1, 0) == 0;
    }
    return false;
}

typedef struct making { /* one record */
    leat__feature_value value[VALUES_MAX];
    leat__span span[VALUES_MAX];
    int64_t number[LEAT_ROLE_COUNT];
    char path[PATH_MAX];
    int n;
} making;

static void add_span(making *m, const char *key, const void *data, size_t n) {
    m->span[m->n] = (leat__span){.data = data, .n = n};
    m->value[m->n] =
        (leat__feature_value){.key = key, .kind = LEAT_FEATURE_BYTES, .n = 1, .values = &m->span[m->n]};
    m->n++;
}

static void add_roles(const leat__packing *self, making *m, const leat__pack_entry *entry,
                      const leat__stored *stored, bool labelled, int64_t label) {
    const leat__source *source = self->input.plan->source;
    const char(*key)[256] = self->keys.key;
    const int64_t numbers[LEAT_ROLE_COUNT] = {[LEAT_ROLE_LABEL] = label,
                                              [LEAT_ROLE_HEIGHT] = stored ? stored->height : 0,
                                              [LEAT_ROLE_WIDTH] = stored ? stored->width : 0,
                                              [LEAT_ROLE_CHANNELS] = stored ? stored->channels : 0,
                                              [LEAT_ROLE_COPY] = entry->copy};
    const char *text =
        labelled && label >= 0 && (uint64_t)label < source->n_classes ? source->class_name[label] : "";
    for (int r = 0; r < LEAT_ROLE_COUNT; r++) {
        if (!key[r][0]) continue;
        if (r == LEAT_ROLE_IMAGE) add_span(m, key[r], stored->image.data, stored->image.n);
        else if (r == LEAT_ROLE_FORMAT) add_span(m, key[r], stored->format, strlen(stored->format));
        else if (r == LEAT_ROLE_TEXT) add_span(m, key[r], text, strlen(text));
        else if (r == LEAT_ROLE_FILENAME) {
            if (!leat__pack_input_path(self, entry->sample, m->path, sizeof m->path)) m->path[0] = 0;
            add_span(m, key[r], m->path, strlen(m->path));
        } else {
            m->number[r] = numbers[r];
            m->value[m->n++] = (leat__feature_value){
                .key = key[r], .kind = LEAT_FEATURE_INT64, .n = 1, .values = &m->number[r]};
        }
    }
}

/* Numbers are written to room as an Example has them: int64 and float. */
static int add_field(making *m, const leat_field *field, const leat__value *v, int64_t *room,
                     leat_error *err) {
    const leat__feature_kind kind = kind_of_field(field);
    if (kind == LEAT_FEATURE_BYTES) {
        add_span(m, field->name, v->data, v->bytes);
        return 0;
    }
    const size_t n = v->bytes / leat_dtype_size(v->dtype);
    const int to = kind == LEAT_FEATURE_INT64 ? LEAT_DTYPE_I64 : LEAT_DTYPE_F32;
    if (leat__convert(room, to, v->data, v->dtype, n, false, 1, 0) < 0)
        return leat__fail(err, LEAT_ERR_TYPE, "field %s cannot be a feature of numbers", field->name);
    m->value[m->n++] = (leat__feature_value){.key = field->name, .kind = kind, .n = n, .values = room};
    return 0;
}

static int add_fields(const leat__packing *self, leat__packer *packer, const leat__tools *tools, making *m,
                      leat_error *err) {
    const leat__plan *plan = tools->plan;
    size_t wide = 0;
    for (int i = 0; i < plan->n_outputs; i++)
        wide += tools->value[plan->output[i].value].bytes / leat_dtype_size(plan->output[i].field.dtype) + 1;
    if (!leat__buf_reserve(&packer->wide, wide * sizeof(int64_t)))
        return leat__fail_memory(err, wide * sizeof(int64_t), "a record");
    int64_t *room = (int64_t *)(void *)packer->wide.data;
    const leat__plan *base = self->input.plan;
    for (int i = 0; i < base->n_outputs; i++) {
        if (!passes(self, i)) continue;
        for (int k = 0; k < plan->n_outputs; k++) {
            const leat__output *out = &plan->output[k];
            if (strcmp(out->field.name, base->output[i].field.name) != 0) continue;
            const leat__value *v = &tools->value[out->value];
            LEAT_TRY(add_field(m, &out->field, v, room, err));
            room += v->bytes / leat_dtype_size(out->field.dtype) + 1;
        }
    }
    return 0;
}

static int append_record(leat__buf *bytes, const making *m, leat_error *err) {
    const size_t before = bytes->size, at = before + LEAT_TFRECORD_HEADER;
    uint8_t header[LEAT_TFRECORD_HEADER] = {0}, footer[LEAT_TFRECORD_FOOTER];
    if (!leat__buf_append(bytes, header, sizeof header))
        return leat__fail_memory(err, sizeof header, "a record");
    int rc = leat__example_write(bytes, m->value, m->n, err);
    const size_t length = bytes->size - at;
    if (rc == 0 && length > LEAT_RECORD_BYTES_MAX)
        rc = leat__fail(err, LEAT_ERR_LIMIT, "a record of %zu bytes; the limit is %zu", length,
                        LEAT_RECORD_BYTES_MAX);
    if (rc == 0) {
        leat__tfrecord_write_header(bytes->data + before, length);
        leat__tfrecord_write_footer(footer, bytes->data + at, length);
        if (!leat__buf_append(bytes, footer, sizeof footer))
            rc = leat__fail_memory(err, sizeof footer, "a record");
    }
    if (rc < 0) bytes->size = before;
    return rc;
}

int leat__pack_append(const leat__packing *self, leat__packer *packer, const leat__tools *tools,
                      const leat__pack_entry *entry, const leat__stored *stored, leat__buf *bytes,
                      leat_error *err) {
    making m;
    m.n = 0;
    int64_t label = 0;
    const bool labelled = leat__pack_label(self, tools, &label);
    add_roles(self, &m, entry, stored, labelled, label);
    LEAT_TRY(add_fields(self, packer, tools, &m, err));
    return append_record(bytes, &m, err);
}
