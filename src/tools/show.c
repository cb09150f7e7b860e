/* SPDX-License-Identifier: Apache-2.0 */
/* leat_show: records of a TFRecord file as lines for people.
 *
 *     record 0, 110,238 bytes
 *       image  bytes  [1]  JPEG 500x375, 110 KB
 *       label  int64  [1]  7
 *
 * A line is made to fit 100 columns; keys are sorted, because the order in an Example means nothing and changes from
 * record to record. Whatever a file holds, a line holds no control characters. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/tools.h"

enum {
    COLUMNS = 100,
    VALUES_SHOWN = 8,
    FEATURES_MAX = 10000,
    KEY_COLUMNS = 40,
    HEX_SHOWN = 16,
    TEXT_LOOK = 4096
};

static const char *const kinds[] = {"empty", "bytes", "float", "int64"};

typedef struct show {
    leat__decoder *decoder;
    leat__buf features; /* of leat__feature */
    leat__buf numbers;
    leat_line_fn line;
    void *user;
    leat_show_report *report;
    char text[1024]; /* the line being made */
    size_t used;
} show;

/* ------------------------------------------------------------------------------------------- lines */

static void put(show *s, const char *fmt, ...) LEAT_PRINTF(2, 3);
static void put(show *s, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    const int n = vsnprintf(s->text + s->used, sizeof s->text - s->used, fmt, args);
    va_end(args);
    if (n > 0) s->used = LEAT_MIN(s->used + (size_t)n, sizeof s->text - 1);
}

static int end_line(show *s, leat_error *err) {
    while (s->used > 0 && s->text[s->used - 1] == ' ') s->text[--s->used] = 0;
    const int stop = s->line(s->user, s->text);
    s->used = 0;
    s->text[0] = 0;
    return stop ? leat__fail(err, LEAT_ERR_CANCELLED, "showing was cancelled") : 0;
}

static void put_count(show *s, uint64_t n) {
    char digits[24];
    const int len = snprintf(digits, sizeof digits, "%" PRIu64, n);
    for (int i = 0; i < len; i++) put(s, "%s%c", i > 0 && (len - i) % 3 == 0 ? "," : "", digits[i]);
}

static void put_bytes(show *s, size_t n) {
    static const char *const units[] = {"bytes", "KB", "MB", "GB"};
    double x = (double)n;
    int u = 0;
    for (; x >= 1000 && u < 3; u++) x /= 1000;
    put(s, u == 0 || x >= 100 ? "%.0f %s" : "%.1f %s", x, n == 1 ? "byte" : units[u]);
}

static void put_hex(show *s, const uint8_t *bytes, size_t n) {
    for (size_t i = 0; i < LEAT_MIN(n, (size_t)HEX_SHOWN); i++) put(s, "%s%02x", i ? " " : "", bytes[i]);
    if (n > HEX_SHOWN) put(s, " ...");
    put(s, "  ");
    put_bytes(s, n);
}

/* Bytes of the character at p, 0 if it cannot be shown. */
static size_t character(const uint8_t *p, size_t n) {
    if (p[0] < 0x80) return p[0] >= 32 ? p[0] != 127 : p[0] == '\n' || p[0] == '\t' || p[0] == '\r';
    const size_t size = p[0] >= 0xf0 && p[0] < 0xf5   ? 4
                        : p[0] >= 0xe0 && p[0] < 0xf0 ? 3
                        : p[0] >= 0xc2 && p[0] < 0xe0 ? 2
                                                      : 0;
    if (size == 0 || size > n) return 0;
    for (size_t i = 1; i < size; i++)
        if ((p[i] & 0xc0) != 0x80) return 0;
    if (p[0] == 0xc2 && p[1] < 0xa0) return 0; /* more control characters */
    if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] >= 0xa0)) return 0;
    if ((p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] >= 0x90)) return 0;
    return size;
}

/* Long values are judged by their beginning, where the last character may be cut off. */
static bool is_text(const uint8_t *bytes, size_t n) {
    const size_t look = LEAT_MIN(n, (size_t)TEXT_LOOK);
    for (size_t i = 0; i < look;) {
        const size_t size = character(bytes + i, n - i);
        if (size == 0) return false;
        i += size;
    }
    return true;
}

static void put_text(show *s, const uint8_t *bytes, size_t n, size_t columns) {
    size_t at = 0;
    put(s, "\"");
    for (size_t shown = 0; at < n && shown < columns; shown++) {
        const size_t size = character(bytes + at, n - at);
        if (size == 0) break;
        const char *escape = bytes[at] == '\n'   ? "\\n"
                             : bytes[at] == '\t' ? "\\t"
                             : bytes[at] == '\r' ? "\\r"
                             : bytes[at] == '"'  ? "\\\""
                             : bytes[at] == '\\' ? "\\\\"
                                                 : NULL;
        if (escape) put(s, "%s", escape), shown++;
        else put(s, "%.*s", (int)size, (const char *)bytes + at);
        at += size;
    }
    put(s, "\"");
    if (at == n) return;
    put(s, "...  ");
    put_bytes(s, n);
}

/* ------------------------------------------------------------------------------------------ values */

/* A value of bytes in about so many columns: what image it is, a text, or hex. */
static void put_value(show *s, const uint8_t *bytes, size_t n, size_t columns) {
    leat__picture_info info;
    leat_error err;
    if (!leat__image_like(bytes, n)) {
        if (is_text(bytes, n)) put_text(s, bytes, n, columns);
        else put_hex(s, bytes, n);
        return;
    }
    const int rc = leat__decode_info(s->decoder, bytes, n, NULL, &info, &err);
    char words[64], *c = words;
    if (rc == 0) leat__image_words(&info, words, sizeof words);
    else snprintf(words, sizeof words, "%s", leat__codec_name(leat__codec_detect(bytes, n)));
    for (; *c && *c != ' '; c++)
        if (*c >= 'a' && *c <= 'z') *c = (char)(*c - 32);
    const size_t name = (size_t)(c - words);
    put(s, "%.*s ", (int)name, words);
    if (rc == 0) put(s, "%dx%d%s, ", info.width, info.height, words + name);
    else put(s, "that cannot be read (%.60s), ", err.message);
    put_bytes(s, n);
}

static void put_bytes_list(show *s, const leat__feature *f, int64_t count) {
    leat__span first[VALUES_SHOWN];
    int64_t n = leat__feature_spans(f, first, VALUES_SHOWN);
    if (n < 0) n = LEAT_MIN(count, VALUES_SHOWN); /* there are more */
    const size_t room = s->used < COLUMNS - 30 ? COLUMNS - 15 - s->used : 15;
    const size_t begin = s->used;
    for (int64_t i = 0; i < n; i++) {
        if (i > 0) put(s, ", ");
        if (i > 0 && s->used - begin > room / 2) break;
        put_value(s, first[i].data, first[i].n, count == 1 ? room : LEAT_MIN(room / 2, (size_t)30));
        if (i + 1 == n && n == count) return;
    }
    if (n > 1) put(s, s->text[s->used - 2] == ',' ? "..." : ", ...");
}

static bool next_number(show *s, int i, const char *text) {
    if (i > 0 && s->used + strlen(text) > COLUMNS - 6) return false;
    put(s, "%s%s", i > 0 ? "  " : "", text);
    return true;
}

static void put_numbers(show *s, const leat__feature *f, int64_t count) {
    char text[32];
    const int n = (int)LEAT_MIN(count, VALUES_SHOWN);
    int i = 0;
    if (f->kind == LEAT_FEATURE_INT64) {
        int64_t first[VALUES_SHOWN] = {0};
        leat__feature_ints(f, first, VALUES_SHOWN);
        for (; i < n; i++) {
            snprintf(text, sizeof text, "%" PRId64, first[i]);
            if (!next_number(s, i, text)) break;
        }
    } else if (leat__buf_reserve(&s->numbers, (size_t)count * sizeof(float))) {
        const float *value = (const float *)s->numbers.data;
        leat__feature_floats(f, (float *)s->numbers.data, (size_t)count);
        for (; i < n; i++) {
            snprintf(text, sizeof text, "%.6g", (double)value[i]);
            if (!next_number(s, i, text)) break;
        }
    }
    if (i < count) put(s, "  ...");
}

/* ----------------------------------------------------------------------------------------- records */

static int by_key(const void *a, const void *b) {
    const leat__feature *x = a, *y = b;
    const size_t n = LEAT_MIN(x->key_n, y->key_n);
    const int order = n ? memcmp(x->key, y->key, n) : 0;
    if (order) return order;
    if (x->key_n != y->key_n) return x->key_n < y->key_n ? -1 : 1;
    return x->key < y->key ? -1 : x->key > y->key; /* of equal keys the later one counts */
}

static bool same_key(const leat__feature *a, const leat__feature *b) {
    return a->key_n == b->key_n && memcmp(a->key, b->key, a->key_n) == 0;
}

/* 1 when there are more than are kept, 0, or < 0: this is no Example. */
static int gather(show *s, const uint8_t *bytes, size_t n, size_t *count) {
    leat__example_iter iter;
    leat__feature f;
    leat_error err;
    int rc;
    size_t seen = 0;
    s->features.size = 0;
    leat__example_iter_init(&iter, bytes, n);
    while ((rc = leat__example_iter_next(&iter, &f, &err)) > 0) {
        if (seen++ < FEATURES_MAX && !leat__buf_append(&s->features, &f, sizeof f)) return LEAT_ERR_MEMORY;
    }
    if (rc < 0) return rc;
    leat__feature *all = (leat__feature *)s->features.data;
    size_t kept = s->features.size / sizeof f, unique = 0;
    if (kept) qsort(all, kept, sizeof f, by_key);
    for (size_t i = 0; i < kept; i++)
        if (i + 1 == kept || !same_key(&all[i], &all[i + 1])) all[unique++] = all[i];
    *count = unique;
    return seen > FEATURES_MAX;
}

static size_t key_width(const leat__feature *f) {
    return LEAT_MIN(f->key_n, (size_t)KEY_COLUMNS);
}

static int show_feature(show *s, const leat__feature *f, int key_columns, int count_columns,
                        leat_error *err) {
    char key[KEY_COLUMNS + 1], counted[32];
    const int64_t count = leat__feature_count(f);
    leat__printable(key, sizeof key, f->key, f->key_n);
    snprintf(counted, sizeof counted, "[%" PRId64 "]", count);
    put(s, "  %-*s  %s  %-*s  ", key_columns, key, kinds[f->kind], count_columns,
        count < 0 ? "[?]" : counted);
    if (count < 0) put(s, "malformed");
    else if (count > 0 && f->kind == LEAT_FEATURE_BYTES) put_bytes_list(s, f, count);
    else if (count > 0) put_numbers(s, f, count);
    return end_line(s, err);
}

/* The lists of a SequenceExample, each by its first time step. */
static int show_lists(show *s, const uint8_t *bytes, size_t n, int key_columns, leat_error *err) {
    leat__sequence lists = leat__sequence_over(bytes, n);
    leat__span key;
    leat__wire steps;
    for (int shown = 0; shown < FEATURES_MAX && leat__sequence_next(&lists, &key, &steps) > 0; shown++) {
        char name[KEY_COLUMNS + 1];
        leat__feature first = {.key = key.data, .key_n = key.n}, other;
        int64_t n_steps = leat__sequence_step(&steps, &first) > 0;
        while (n_steps > 0 && leat__sequence_step(&steps, &other) > 0) n_steps++;
        leat__printable(name, sizeof name, key.data, key.n);
        put(s, "  %-*s  %" PRId64 " %s", key_columns, name, n_steps, n_steps == 1 ? "step" : "steps");
        const int64_t count = n_steps > 0 ? leat__feature_count(&first) : 0;
        if (n_steps > 0) put(s, " of %s  [%" PRId64 "]  ", kinds[first.kind], LEAT_MAX(count, 0));
        if (count > 0 && first.kind == LEAT_FEATURE_BYTES) put_bytes_list(s, &first, count);
        else if (count > 0) put_numbers(s, &first, count);
        LEAT_TRY(end_line(s, err));
    }
    return 0;
}

static int show_record(show *s, uint64_t number, const uint8_t *bytes, size_t n, leat_error *err) {
    size_t count = 0;
    put(s, "record %" PRIu64 ", ", number);
    put_count(s, n);
    put(s, n == 1 ? " byte" : " bytes");
    const int more = gather(s, bytes, n, &count);
    if (more < 0) {
        put(s, ", not an Example");
        LEAT_TRY(end_line(s, err));
        put(s, "  ");
        put_value(s, bytes, n, COLUMNS - 20);
        return end_line(s, err);
    }
    if (count == 0) put(s, n ? ", an Example without features" : ", empty");
    LEAT_TRY(end_line(s, err));
    const leat__feature *f = (const leat__feature *)s->features.data;
    size_t widest = 0;
    int counted = 3;
    for (size_t i = 0; i < count; i++) {
        char text[32];
        widest = LEAT_MAX(widest, key_width(&f[i]));
        counted = LEAT_MAX(counted, snprintf(text, sizeof text, "[%" PRId64 "]", leat__feature_count(&f[i])));
    }
    leat__sequence lists = leat__sequence_over(bytes, n);
    leat__span name;
    leat__wire steps;
    while (leat__sequence_next(&lists, &name, &steps) > 0)
        widest = LEAT_MAX(widest, LEAT_MIN(name.n, (size_t)KEY_COLUMNS));
    for (size_t i = 0; i < count; i++) LEAT_TRY(show_feature(s, &f[i], (int)widest, counted, err));
    if (!more) return show_lists(s, bytes, n, (int)widest, err);
    put(s, "  and more: only the first %d features are shown", FEATURES_MAX);
    return end_line(s, err);
}

/* -------------------------------------------------------------------------------------------- file */

typedef struct
    cursor { /* one record after the other: by number where there is an index, else from the beginning */
    leat__source *source;
    leat__shards *stream;
    leat__reader reader;
    uint64_t next;
} cursor;

static void close_cursor(cursor *c) {
    leat__reader_free(c->stream ? NULL : c->source, &c->reader);
    leat__shards_free(&c->stream);
    leat__source_free(&c->source);
}

/* The first records of a large file are shown at once, without an index; to skip many, the index pays. */
static int open_cursor(cursor *c, const leat__targets *targets, uint64_t first,
                       const leat_tool_config *config, leat_error *err) {
    const char **paths = leat__alloc(LEAT_MEM_TOOL, targets->n * sizeof *paths);
    if (!paths) return leat__fail_memory(err, targets->n * sizeof *paths, "file names");
    bool stream = first == 0;
    for (size_t i = 0; i < targets->n; i++) {
        paths[i] = targets->at[i].path;
        stream = stream || targets->at[i].compression != LEAT_COMPRESSION_NONE;
    }
    const leat__open_options options = leat__tool_open_options(config);
    *c = (cursor){.reader.bytes.kind = LEAT_MEM_TOOL, .reader.extra.kind = LEAT_MEM_TOOL};
    const int rc = stream ? leat__shards_open(&c->stream, &c->source, paths, (int)targets->n, err)
                          : leat__records_open(&c->source, paths, (int)targets->n, &options, err);
    leat__free(paths);
    return rc;
}

/* 0 and a record; 1 at the end; < 0: a damaged one. */
static int next_record(cursor *c, const uint8_t **bytes, size_t *n, leat_error *err) {
    leat__error_clear(err);
    if (c->stream) {
        const int rc = leat__shards_next(c->stream, &c->reader.bytes, err);
        c->next += rc <= 0;
        *bytes = c->reader.bytes.data;
        *n = c->reader.bytes.size;
        return rc;
    }
    if (c->next >= c->source->n_samples) return 1;
    leat__value value;
    const int rc = c->source->class->read(c->source, &c->reader, c->next++, &value, err);
    if (rc < 0) return rc;
    *bytes = value.data;
    *n = value.bytes;
    return 0;
}

static int show_damage(show *s, uint64_t number, const leat_error *cause, const char *path, leat_error *err) {
    char reason[sizeof cause->message];
    leat__tool_reason(reason, sizeof reason, cause->message, path);
    put(s, "record %" PRIu64 ", damaged", number);
    const size_t title = strcspn(s->text, ",") + 1; /* the reason may begin with the same number */
    const bool again = strncmp(reason, s->text, title - 1) == 0 && reason[title - 1] == ' ';
    LEAT_TRY(end_line(s, err));
    put(s, "  ");
    const char *rest = again ? reason + title : reason;
    leat__printable(s->text + s->used, sizeof s->text - s->used, rest, strlen(rest));
    s->used = strlen(s->text);
    return end_line(s, err);
}

typedef struct range {
    uint64_t first;
    int64_t count;
} range;

static int show_records(show *s, cursor *c, const leat__target *target, range wanted,
                        const leat_tool_config *config, leat_error *err) {
    const char *path = target->path;
    const uint8_t *bytes = NULL;
    size_t n = 0;
    leat_error cause, beginning;
    int rc = 0;
    bool held = false; /* damage at the very beginning waits for a whole record: there may be none at all */
    if (!c->stream) c->next = wanted.first;
    for (int64_t shown = 0; wanted.count < 0 || shown < wanted.count;) {
        const uint64_t number = c->next;
        rc = next_record(c, &bytes, &n, &cause);
        if (rc > 0) break;
        if (number < wanted.first) {
            if (number % 1024 == 0)
                LEAT_TRY(leat__tool_progress(config, "skipping records", number, wanted.first, err));
            continue;
        }
        shown++;
        s->report->n_damaged += rc < 0;
        if (held) LEAT_TRY(show_damage(s, 0, &beginning, path, err));
        held = rc < 0 && number == 0;
        if (held) beginning = cause;
        else
            LEAT_TRY(rc < 0 ? show_damage(s, number, &cause, path, err)
                            : show_record(s, number, bytes, n, err));
    }
    const uint64_t total = c->stream ? c->next : c->source->n_samples;
    if (rc > 0 && held && !target->certain)
        return leat__fail(err, LEAT_ERR_FORMAT, "%s is not a TFRecord file: no whole record is in it", path);
    if (held) LEAT_TRY(show_damage(s, 0, &beginning, path, err));
    if (rc > 0 && total == 0)
        return leat__fail(err, LEAT_ERR_NOT_FOUND, "%s holds no record: is it still being written?", path);
    if (rc > 0 && wanted.first >= total)
        return leat__fail(err, LEAT_ERR_NOT_FOUND, "%s has only %" PRIu64 " %s: skip fewer", path, total,
                          total == 1 ? "record" : "records");
    return 0;
}

static int find_records(leat__targets *targets, const char *path, const leat__open_options *options,
                        leat_error *err) {
    leat__stat st;
    if (leat__file_stat(path, &st, NULL) == 0 && st.is_dir)
        return leat__fail(err, LEAT_ERR_UNSUPPORTED,
                          "%s is a folder: 'leat show' takes TFRecord files, 'leat info' describes folders",
                          path);
    LEAT_TRY(leat__targets_open(targets, &path, 1, LEAT_LABELS_NONE, options, err));
    for (size_t i = 0; i < targets->n; i++) {
        if (targets->at[i].kind == LEAT_TARGET_RECORDS) continue;
        const int rc =
            leat__target_refuse(&targets->at[i], "'leat show' takes TFRecord files, try 'leat info'", err);
        leat__targets_free(targets);
        return rc;
    }
    return 0;
}

int leat_show(const char *path, uint64_t first, int64_t count, leat_line_fn line, void *user,
              leat_show_report *report, const leat_tool_config *config, leat_error *err) {
    leat_show_report unwanted;
    leat__error_clear(err);
    if (!report) report = &unwanted;
    *report = (leat_show_report){0};
    if (!path || !line) return leat__fail(err, LEAT_ERR_ARGUMENT, "leat_show: path or line is NULL");
    LEAT_TRY(leat__tool_config_check(config, err));
    const leat__open_options options = leat__tool_open_options(config);
    leat__targets targets;
    LEAT_TRY(find_records(&targets, path, &options, err));
    show s = {.line = line,
              .user = user,
              .report = report,
              .features.kind = LEAT_MEM_TOOL,
              .numbers.kind = LEAT_MEM_TOOL};
    cursor c = {0};
    s.decoder = leat__decoder_new(err);
    int rc = s.decoder ? open_cursor(&c, &targets, first, config, err) : LEAT_ERR_MEMORY;
    if (rc >= 0) rc = show_records(&s, &c, &targets.at[0], (range){first, count}, config, err);
    close_cursor(&c);
    leat__decoder_free(&s.decoder);
    leat__buf_free(&s.features);
    leat__buf_free(&s.numbers);
    leat__targets_free(&targets);
    return rc;
}
