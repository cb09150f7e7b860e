/* SPDX-License-Identifier: Apache-2.0 */
/* leat_split: what the operation `split` would do, as counts and lists, and what it would tear apart: equal content on
 * two sides, which makes a validation score too good. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/dataset.h"

typedef struct content {
    uint64_t hash;
    uint32_t at; /* position */
} content;

typedef struct work {
    const leat_split_config *split;
    const leat_tool_config *config;
    leat_split_report *report;
    leat_spec *spec;
    leat__plan plan;
    bool planned;
    leat__planner *planner;
    const leat__use *use; /* of split, in the spec but not in the plan */
    leat__split sides;
    leat__class_list classes; /* n_classes 0 = no labels */
    int label, image;         /* values; -1 = none       */
} work;

const char *leat_split_part(int part) {
    static const char *const names[LEAT_SPLIT_PARTS] = {"train", "validation", "test"};
    return part >= 0 && part < LEAT_SPLIT_PARTS ? names[part] : "?";
}

void leat_split_free(leat_split_report *report) {
    if (!report) return;
    leat__free(report->classes);
    *report = (leat_split_report){0};
}

/* ------------------------------------------------------------------------------------------ the text */

static bool ends_with(const char *text, const char *end) {
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static const char *name_or(const char *name, const char *other) {
    return name && *name ? name : other;
}

/* The data set as a pipeline. */
static bool write_source(leat__buf *text, const char *dataset, const leat_split_config *split) {
    leat__stat st;
    if (leat__dataset_is_text(dataset)) return leat__buf_append(text, dataset, strlen(dataset) + 1);
    const bool folder = leat__file_stat(dataset, &st, NULL) == 0 && st.is_dir;
    const bool list = ends_with(dataset, ".csv") || ends_with(dataset, ".tsv");
    bool fits = leat__text_add(text, folder ? "folder "
                                     : list ? "list "
                                            : "tfrecord ") &&
                leat__text_add_quoted(text, dataset);
    if (!folder) fits = fits && leat__text_add(text, " max_bytes=1"); /* no batch is ever made */
    if (!folder && !list)
        fits = fits && leat__text_add(text, " | parse ") &&
               leat__text_add(text, name_or(split->image, "image")) && leat__text_add(text, ":bytes ") &&
               leat__text_add(text, name_or(split->label, "label")) && leat__text_add(text, ":int64");
    return fits && leat__buf_append(text, "", 1);
}

static bool write_split(leat__buf *text, const leat_split_config *split) {
    char seed[64];
    snprintf(seed, sizeof seed, " seed=%" PRIu64, split->seed);
    return leat__text_add(text, "split part=train fractions=") &&
           leat__text_add_quoted(text, name_or(split->fractions, "0.8,0.2")) &&
           leat__text_add(text, " by=") && leat__text_add_quoted(text, name_or(split->by, "random")) &&
           leat__text_add(text, " group=") && leat__text_add_quoted(text, name_or(split->group, "")) &&
           leat__text_add(text, " field=") && leat__text_add_quoted(text, name_or(split->label, "label")) &&
           (!split->stratify || leat__text_add(text, " stratify=true")) &&
           (!split->seeded || leat__text_add(text, seed)) && leat__buf_append(text, "", 1);
}

/* ------------------------------------------------------------------------------------------- the plan */

/* Values by the names of their fields. */
static void find_fields(work *w) {
    w->label = w->image = -1;
    for (int i = 0; i < w->plan.n_outputs; i++) {
        const leat__output *out = &w->plan.output[i];
        if (strcmp(out->field.name, name_or(w->split->label, "label")) == 0) w->label = out->value;
        if (strcmp(out->field.name, name_or(w->split->image, "image")) == 0) w->image = out->value;
    }
}

static int plan_text(work *w, const char *dataset, leat_error *err) {
    leat__buf text = {.kind = LEAT_MEM_TOOL}, split = {.kind = LEAT_MEM_TOOL};
    const leat__open_options open = leat__tool_open_options(w->config);
    const leat_config config = leat__tool_pipeline_config(w->config);
    int rc = 0;
    if (!write_source(&text, dataset, w->split) || !write_split(&split, w->split) ||
        !(w->spec = leat_spec_new((const char *)text.data)))
        rc = leat__fail_memory(err, text.size, "a pipeline");
    if (rc == 0) rc = leat_spec_error(w->spec, err);
    if (rc == 0) rc = leat__plan_build(&w->plan, w->spec, &config, err);
    if (rc == 0) w->planned = true;
    if (rc == 0 && w->plan.stream)
        rc = leat__fail(
            err, LEAT_ERR_UNSUPPORTED,
            "compressed files are read one record after the other: unpack them to look at a split");
    if (rc == 0) {
        rc = leat__dataset_split(w->planner, &w->plan, w->spec, &config, &open, (const char *)split.data,
                                 &w->sides, err);
        w->use = &w->spec->use[w->spec->n_uses - 1];
        find_fields(w);
    }
    leat__buf_free(&text);
    leat__buf_free(&split);
    return rc;
}

static int ask(work *w, leat__question *question, uint64_t *answer, uint64_t *n_bad, leat_error *err) {
    LEAT_TRY(leat__question_prepare(w->planner, w->use, question, err));
    return leat__question_all(w->planner, w->use, question, w->sides.verb, w->sides.n, answer, n_bad, err);
}

/* -------------------------------------------------------------------------------------------- classes */

static int count_classes(work *w, uint64_t *answer, leat_error *err) {
    leat_split_report *report = w->report;
    const leat__source *source = w->plan.source;
    uint64_t n_bad;
    report->n_parts = w->sides.n_sides;
    for (uint64_t i = 0; i < w->sides.n; i++)
        ++*(w->sides.side[i] == LEAT_NO_SIDE ? &report->n_left_out : &report->n[w->sides.side[i]]);
    const leat_field *info = w->label >= 0 ? &w->planner->field[w->label].info : NULL;
    const bool whole =
        info && (info->dtype <= LEAT_DTYPE_I64 || info->dtype == LEAT_DTYPE_BOOL) && info->ndim == 0;
    if (!whole) return 0;
    leat__question question = {
        .kind = LEAT_ASK_NUMBER, .value = w->label, .values = UINT32_C(1) << w->label, .text = info->name};
    LEAT_TRY(ask(w, &question, answer, &n_bad, err));
    LEAT_TRY(leat__class_list_make(&w->classes, answer, w->sides.n, err));
    const leat__class_list *list = &w->classes;
    report->n_classes = list->n_classes;
    report->classes = leat__alloc(LEAT_MEM_TOOL, LEAT_MAX(list->n_classes, 1u) * sizeof *report->classes);
    if (!report->classes) return leat__fail_memory(err, list->n_classes * sizeof *report->classes, "classes");
    for (uint32_t c = 0; c < list->n_classes; c++) {
        leat_split_class *one = &report->classes[c];
        one->label = list->number[c];
        if (w->label < source->n_fields && one->label >= 0 && (uint64_t)one->label < source->n_classes)
            leat__printable(one->name, sizeof one->name, source->class_name[one->label],
                            strlen(source->class_name[one->label]));
    }
    for (uint64_t i = 0; i < w->sides.n; i++)
        if (list->class[i] != LEAT_NO_CLASS && w->sides.side[i] != LEAT_NO_SIDE)
            report->classes[list->class[i]].n[w->sides.side[i]]++;
    return 0;
}

/* ---------------------------------------------------------------------------------------------- leaks */

static int by_hash(const void *a, const void *b) {
    const content *x = a, *y = b;
    if (x->hash != y->hash) return x->hash < y->hash ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static uint64_t sample_at(work *w, uint64_t position) {
    return leat__order_map_part(&w->plan.order, w->sides.verb, position);
}

static void name_of(work *w, uint64_t sample, char *text, size_t cap) {
    const leat__source *source = w->plan.source;
    if (!source->class->path || !source->class->path(source, sample, text, cap))
        source->class->describe(source, sample, text, cap);
}

/* Equal contents that lie on several sides. The list is sorted, so that equal ones are neighbours. */
static int tell_leaks(work *w, const content *list, uint64_t n, int (*leak)(void *, const leat_split_leak *),
                      void *user, leat_error *err) {
    for (uint64_t i = 0, end; i < n; i = end) {
        bool several = false;
        for (end = i + 1; end < n && list[end].hash == list[i].hash; end++)
            several |= w->sides.side[list[end].at] != w->sides.side[list[i].at];
        if (!several) continue;
        for (uint64_t k = i; k < end && leak; k++) {
            char name[PATH_MAX];
            leat_split_leak one = {.content = w->report->n_leaks,
                                   .part = w->sides.side[list[k].at],
                                   .sample = sample_at(w, list[k].at),
                                   .name = name};
            name_of(w, one.sample, name, sizeof name);
            if (leak(user, &one))
                return leat__fail(err, LEAT_ERR_CANCELLED, "looking for leaks was cancelled");
        }
        w->report->n_leaks++;
        w->report->n_leaked += end - i;
    }
    return 0;
}

static int find_leaks(work *w, uint64_t *answer, int (*leak)(void *, const leat_split_leak *), void *user,
                      leat_error *err) {
    if (w->image < 0)
        return leat__fail(
            err, LEAT_ERR_NOT_FOUND,
            "there is no field '%s' whose content could be compared: name another one (--image)",
            name_or(w->split->image, "image"));
    leat__question question = {.kind = LEAT_ASK_HASH,
                               .value = w->image,
                               .values = UINT32_C(1) << w->image,
                               .text = w->planner->field[w->image].info.name};
    LEAT_TRY(ask(w, &question, answer, &w->report->n_bad, err));
    content *list = leat__alloc(LEAT_MEM_TOOL, LEAT_MAX(w->sides.n, (uint64_t)1) * sizeof *list);
    if (!list) return leat__fail_memory(err, w->sides.n * sizeof *list, "contents");
    uint64_t n = 0;
    for (uint64_t i = 0; i < w->sides.n; i++)
        if (w->sides.side[i] != LEAT_NO_SIDE) list[n++] = (content){.hash = answer[i], .at = (uint32_t)i};
    qsort(list, n, sizeof *list, by_hash);
    const int rc = tell_leaks(w, list, n, leak, user, err);
    leat__free(list);
    return rc;
}

/* ---------------------------------------------------------------------------------------------- lists */

static bool add_cell(leat__buf *row, const char *text) {
    if (!strpbrk(text, ",\"\r\n") && *text) return leat__text_add(row, text);
    bool fits = leat__text_add(row, "\"");
    for (const char *c = text; *c && fits; c++)
        fits = *c == '"' ? leat__text_add(row, "\"\"") : leat__buf_append(row, c, 1);
    return fits && leat__text_add(row, "\"");
}

/* Labels are numbers: a program that reads one part only would number names anew. */
static bool add_row(work *w, leat__buf *row, uint64_t position) {
    const leat__source *source = w->plan.source;
    char path[2 * PATH_MAX], label[32];
    if (!source->class->file(source, sample_at(w, position), path, sizeof path)) return false;
    bool fits = add_cell(row, path);
    if (w->classes.n_classes) {
        const uint32_t c = w->classes.class[position];
        snprintf(label, sizeof label, ",%" PRId64, c == LEAT_NO_CLASS ? -1 : w->classes.number[c]);
        fits = fits && leat__text_add(row, label);
    }
    return fits && leat__text_add(row, "\n");
}

static int write_list(work *w, int part, leat_error *err) {
    enum { FLUSH = 1 << 20 };
    leat__buf rows = {.kind = LEAT_MEM_TOOL};
    char path[PATH_MAX];
    leat__out *out = NULL;
    snprintf(path, sizeof path, "%s/%s.csv", w->split->write, leat_split_part(part));
    int rc = leat__out_open(&out, path, err);
    bool fits = leat__text_add(&rows, w->classes.n_classes ? "path,label\n" : "path\n");
    for (uint64_t i = 0; i <= w->sides.n && rc == 0 && fits; i++) {
        if (i < w->sides.n && w->sides.side[i] == part) fits = add_row(w, &rows, i);
        if (rows.size < FLUSH && i < w->sides.n) continue;
        rc = leat__out_write(out, rows.data, rows.size, err);
        rows.size = 0;
    }
    if (rc == 0 && !fits) rc = leat__fail_memory(err, rows.size, "a list");
    leat__buf_free(&rows);
    if (rc == 0) return leat__out_commit(&out, err);
    leat__out_abort(&out);
    return rc;
}

static int write_lists(work *w, leat_error *err) {
    if (!w->plan.source->class->file)
        return leat__fail(
            err, LEAT_ERR_UNSUPPORTED,
            "a list names files, and %s has none for each sample: write the operation split into the "
            "text of the pipeline instead",
            w->plan.source->class->name);
    LEAT_TRY(leat__dir_make(w->split->write, err));
    for (int part = 0; part < w->sides.n_sides; part++) LEAT_TRY(write_list(w, part, err));
    return 0;
}

/* ----------------------------------------------------------------------------------------------- door */

static int run(work *w, const char *dataset, int (*leak)(void *, const leat_split_leak *), void *user,
               leat_error *err) {
    w->planner = leat__alloc(LEAT_MEM_TOOL, sizeof *w->planner);
    if (!w->planner) return leat__fail_memory(err, sizeof *w->planner, "a plan");
    LEAT_TRY(plan_text(w, dataset, err));
    LEAT_TRY(leat__order_allocate(&w->plan.order, err));
    leat__tool_warn(w->config, w->plan.source);
    uint64_t *answer = leat__alloc(LEAT_MEM_TOOL, LEAT_MAX(w->sides.n, (uint64_t)1) * sizeof *answer);
    if (!answer) return leat__fail_memory(err, w->sides.n * sizeof *answer, "answers");
    int rc = count_classes(w, answer, err);
    if (rc == 0 && !w->split->no_leaks) rc = find_leaks(w, answer, leak, user, err);
    if (rc == 0 && w->split->write) rc = write_lists(w, err);
    leat__free(answer);
    return rc;
}

int leat_split(const char *dataset, const leat_split_config *split,
               int (*leak)(void *user, const leat_split_leak *leak), void *user, leat_split_report *report,
               const leat_tool_config *config, leat_error *err) {
    const leat_split_config defaults = {0};
    leat__error_clear(err);
    if (!dataset || !*dataset || !report)
        return leat__fail(err, LEAT_ERR_ARGUMENT, "leat_split: there is no data set or no report");
    *report = (leat_split_report){0};
    LEAT_TRY(leat__tool_config_check(config, err));
    if (split) LEAT_TRY(LEAT_CHECK_RESERVED(leat_split_config, split, err));
    work w = {.split = split ? split : &defaults, .config = config, .report = report};
    const int rc = run(&w, dataset, leak, user, err);
    leat__free(w.sides.side);
    leat__class_list_free(&w.classes);
    if (w.planned) leat__plan_free(&w.plan);
    leat__free(w.planner);
    leat_spec_free(&w.spec);
    if (rc < 0) leat_split_free(report);
    return rc;
}
