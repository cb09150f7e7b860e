/* SPDX-License-Identifier: Apache-2.0 */
/* Remedies that write the data anew: packed files, smaller pictures, raw pixels, records that are not compressed. A trial
 * does it for some samples, spread evenly over the data set. */
#include <limits.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/file.h"
#include "plan/preview.h"
#include "tools/doctor/doctor.h"

static const uint64_t trial_bytes = (uint64_t)64 << 20;

typedef struct packed { /* how files are to be packed */
    int height, width;  /* 0 = as they are            */
    bool raw;
} packed;

/* ------------------------------------------------------------------------------------------- pack */

static bool reads(const leat__doctor *d) {
    const int b = d->report->verdict.bottleneck;
    return b == LEAT_BOTTLENECK_STORAGE || b == LEAT_BOTTLENECK_FILES || b == LEAT_BOTTLENECK_READ;
}

static bool can_pack(const leat__doctor *d) {
    const leat__source *source = leat__doctor_plan(d)->source;
    return source->class->tree && !leat__doctor_plan(d)->caching.wanted;
}

bool leat__pack_applies(const leat__doctor *d) {
    return can_pack(d) && reads(d);
}

/* The one decode of the text; -1 if there are several or none, or one of another field than `image`. */
static int find_decode(const leat_spec *spec) {
    int found = -1;
    for (int i = 0; i < spec->n_uses; i++) {
        if (!(spec->use[i].op->flags & LEAT_OP_DECODES)) continue;
        if (found >= 0 || strcmp(leat__use_arg(&spec->use[i], "field")->text, "image") != 0) return -1;
        found = i;
    }
    return found;
}

/* The operation that gives pictures their size, whatever theirs is. -1 if there is none, or if an operation in front of it counts
 * in pixels: it would show another part of a smaller picture. *whole: it resizes whole pictures. */
static int find_fit(const leat_spec *spec, bool *whole) {
    for (int i = 1; i < spec->n_uses; i++) {
        const unsigned flags = spec->use[i].op->flags;
        if (flags & LEAT_OP_CUTS) return -1;
        if (!(flags & LEAT_OP_FITS)) continue;
        *whole = flags & LEAT_OP_RESIZES;
        return i;
    }
    return -1;
}

/* A size that loses nothing that the text uses: that of the batch if it resizes whole pictures, somewhat more if it crops. */
static bool find_size(const leat__doctor *d, packed *out) {
    const leat__plan *plan = leat__doctor_plan(d);
    const leat_field *image = NULL;
    for (int i = 0; i < plan->n_outputs; i++)
        if (strcmp(plan->output[i].field.name, "image") == 0 && !plan->output[i].padded)
            image = &plan->output[i].field;
    if (!image || image->ndim != 3) return false;
    const int axis = image->layout == LEAT_LAYOUT_NCHW ? 1 : 0;
    int64_t height = image->shape[axis], width = image->shape[axis + 1];
    bool whole = false;
    if (find_fit(d->spec, &whole) < 0) return false;
    if (height < 1 || width < 1 || height > 16384 || width > 16384) return false;
    if (!whole) height = height * 8 / 7, width = width * 8 / 7;
    out->height = (int)height;
    out->width = (int)width;
    return true;
}

bool leat__pack_size_applies(const leat__doctor *d) {
    packed p = {0};
    return can_pack(d) && find_decode(d->spec) > 0 && find_size(d, &p) &&
           (reads(d) || d->report->verdict.bottleneck == LEAT_BOTTLENECK_DECODE);
}

bool leat__pack_raw_applies(const leat__doctor *d) {
    return leat__pack_size_applies(d) && d->report->verdict.bottleneck == LEAT_BOTTLENECK_DECODE;
}

static int copy_file(const char *from, char *to, leat__buf *bytes, leat_error *err) {
    char *slash = strrchr(to, '/');
    *slash = 0;
    LEAT_TRY(leat__dir_make(to, err));
    *slash = '/';
    LEAT_TRY(leat__file_read_all(from, bytes, (size_t)trial_bytes, err));
    return leat__file_write(to, bytes->data, bytes->size, err);
}

/* Some of the files, in folders as they are. */
static int copy_some(const leat__doctor *d, const leat__change *change, const char *to, leat_error *err) {
    const leat__source *source = leat__doctor_plan(d)->source;
    const uint64_t n = LEAT_MIN(change->limit, source->n_samples);
    const uint64_t until = leat__now_ns() + (uint64_t)(LEAT_MAX(d->doctor.seconds, 1) * 1e9);
    leat__buf bytes = {.kind = LEAT_MEM_TOOL};
    uint64_t total = 0, copied = 0;
    int rc = 0;
    for (uint64_t i = 0; i < n && rc == 0 && total < trial_bytes; i++) {
        char relative[PATH_MAX], from[PATH_MAX], path[PATH_MAX + 1];
        const uint64_t sample = (uint64_t)((__uint128_t)i * source->n_samples / n);
        leat__folder_path(source, sample, relative, sizeof relative, NULL);
        if (!source->class->opens(source, sample, from, sizeof from) ||
            (size_t)snprintf(path, sizeof path, "%s/%s", to, relative) >= sizeof path)
            continue;
        if (copied >= 32 && leat__now_ns() > until) break;
        bytes.size = 0;
        rc = copy_file(from, path, &bytes, err);
        total += bytes.size;
        copied++;
    }
    leat__buf_free(&bytes);
    return rc;
}

/* Packs into folder/packed: all files, or copies of some. */
static int pack_files(const leat__doctor *d, leat__change *change, const packed *how, leat_error *err) {
    const leat__source *source = leat__doctor_plan(d)->source;
    char some[PATH_MAX], out[PATH_MAX];
    const char *from = leat__use_arg(&d->spec->use[0], "path")->text;
    snprintf(out, sizeof out, "%s/packed", change->folder);
    if (change->limit < source->n_samples) {
        snprintf(some, sizeof some, "%s/some", change->folder);
        LEAT_TRY(copy_some(d, change, some, err));
        from = some;
    }
    const leat_pack_config pack = {.height = how->height,
                                   .width = how->width,
                                   .raw = how->raw,
                                   .on_error = LEAT_ON_ERROR_SKIP,
                                   .force = 1};
    const leat_tool_config tool = {.n_threads = d->config.n_threads,
                                   .no_side_files = 1,
                                   .progress = d->config.progress,
                                   .user = d->config.user};
    leat_pack_report report;
    LEAT_TRY(leat_pack(from, out, &pack, &report, &tool, err));
    change->written = report.bytes;
    change->samples = report.n_samples;
    change->write_bytes =
        (uint64_t)((double)report.bytes / (double)LEAT_MAX(report.n_samples, 1) * (double)source->n_samples);
    return report.n_samples > 0 ? 0 : LEAT_END;
}

/* The text that reads what was packed to OUT, or to where it lies. */
static int read_packed(const leat__doctor *d, leat__change *change, const packed *how, leat_error *err) {
    char path[PATH_MAX + 40], quoted[PATH_MAX + 50];
    const leat__source *source = leat__doctor_plan(d)->source;
    const int decode = find_decode(d->spec);
    leat__edit *edit = &change->edit;
    bool good = true;
    if (how->raw) {
        good = leat__edit_set(edit, decode, "decode_raw image u8") &&
               leat__edit_insert(edit, decode + 1, "reshape image %d %d 3", how->height, how->width);
    }
    good = good && leat__edit_set(edit, 0, "tfrecord OUT/data-*.tfrecord") &&
           leat__edit_insert(edit, 1, "parse image:bytes%s", source->n_classes > 0 ? " label:int64" : "");
    const char *text = good ? leat__edit_text(edit) : NULL;
    if (!text) return leat__fail_memory(err, 1000, "a pipeline text");
    leat__change_say(change, "%s", text);
    snprintf(path, sizeof path, "%s/packed/data-*.tfrecord", change->folder);
    leat__edit_quote(quoted, sizeof quoted, path);
    return leat__edit_set(edit, 0, "tfrecord %s", quoted) ? 0 : leat__fail_memory(err, 1000, "a text");
}

static int pack(const leat__doctor *d, leat__change *change, const packed *how, leat_error *err) {
    char from[PATH_MAX];
    leat__edit_quote(from, sizeof from, leat__use_arg(&d->spec->use[0], "path")->text);
    leat__change_bound(change, (uint64_t)how->height * (uint64_t)how->width * 3);
    LEAT_TRY(pack_files(d, change, how, err));
    leat__change_say(change, "leat pack %s OUT", from);
    if (how->height) leat__change_say(change, " --size %dx%d", how->height, how->width);
    leat__change_say(change, "%s\n", how->raw ? " --raw" : "");
    snprintf(change->how, sizeof change->how, "%" PRIu64 " samples that were packed", change->samples);
    return read_packed(d, change, how, err);
}

int leat__pack_change(const leat__doctor *d, leat__change *change, leat_error *err) {
    const packed how = {0};
    snprintf(change->title, sizeof change->title, "pack the files as they are");
    return pack(d, change, &how, err);
}

int leat__pack_size_change(const leat__doctor *d, leat__change *change, leat_error *err) {
    packed how = {0};
    if (!find_size(d, &how)) return LEAT_END;
    snprintf(change->title, sizeof change->title, "pack at %dx%d, JPEG", how.height, how.width);
    return pack(d, change, &how, err);
}

int leat__pack_raw_change(const leat__doctor *d, leat__change *change, leat_error *err) {
    packed how = {.raw = true};
    if (!find_size(d, &how)) return LEAT_END;
    snprintf(change->title, sizeof change->title, "pack at %dx%d, raw pixels", how.height, how.width);
    return pack(d, change, &how, err);
}

void leat__pack_cost(const leat__doctor *d, leat__change *change, const leat__measured *after) {
    (void)d, (void)after;
    char bytes[LEAT_BYTES_TEXT];
    snprintf(change->cost, sizeof change->cost, "%s on disk; no pixel changes",
             leat__bytes_text(bytes, (double)change->write_bytes));
}

void leat__pack_size_cost(const leat__doctor *d, leat__change *change, const leat__measured *after) {
    (void)after;
    char bytes[LEAT_BYTES_TEXT];
    bool whole = false;
    const int fit = find_fit(d->spec, &whole), decode = find_decode(d->spec);
    snprintf(change->cost, sizeof change->cost,
             "%s on disk; pictures are squeezed to this size once, for good%s",
             leat__bytes_text(bytes, (double)change->write_bytes),
             fit > decode + 1 ? ", before the operations that stand in front of the resize" : "");
}

/* ------------------------------------------------------------------------------ without compression */

bool leat__plain_applies(const leat__doctor *d) {
    const leat__plan *plan = leat__doctor_plan(d);
    return plan->stream && plan->stream->shards && !(d->spec->use[0].op->flags & LEAT_OP_PROGRAM) &&
           leat__op_has(d->spec->use[0].op, "files") && d->report->input_binds;
}

static int copy_records(leat__change *change, leat__plan *plan, leat_writer *writer, leat_error *err) {
    leat__preview *preview = NULL;
    const leat__piece *piece;
    int n, rc = leat__preview_new(&preview, plan, err);
    const bool some = change->limit != UINT64_MAX;
    while (rc == 0 && change->samples < change->limit && !(some && change->written > trial_bytes)) {
        rc = leat__preview_next(preview, &piece, &n, err);
        if (rc != 0) break;
        rc = leat_writer_add_record(writer, piece->data, piece->bytes, err);
        change->samples++;
        change->written += piece->bytes;
    }
    leat__preview_free(&preview);
    return rc < 0 ? rc : 0;
}

/* Writes the records of the first operation to a file. */
static int inflate_records(const leat__doctor *d, leat__change *change, const char *path, leat_error *err) {
    leat__plan *plan = leat__alloc(LEAT_MEM_TOOL, sizeof *plan);
    leat_spec *spec = leat_spec_new(change->edit.op[0]);
    leat_writer *writer = NULL;
    if (!plan || !spec) {
        leat__free(plan);
        leat_spec_free(&spec);
        return leat__fail_memory(err, sizeof *plan, "a plan");
    }
    int rc = leat__plan_build(plan, spec, &d->config, err);
    const bool built = rc == 0;
    if (rc == 0) rc = leat_writer_open(&writer, path, NULL, err);
    if (rc == 0) rc = copy_records(change, plan, writer, err);
    if (rc == 0) rc = leat_writer_close(&writer, err);
    leat_writer_abort(&writer);
    if (built) leat__plan_free(plan);
    leat__free(plan);
    leat_spec_free(&spec);
    return rc < 0 ? rc : change->samples > 0 ? 0 : LEAT_END;
}

int leat__plain_change(const leat__doctor *d, leat__change *change, leat_error *err) {
    char path[PATH_MAX], quoted[PATH_MAX + 10], from[PATH_MAX];
    const leat__arg_value *files = leat__use_arg(&d->spec->use[0], "files");
    snprintf(change->title, sizeof change->title, "records without compression");
    snprintf(path, sizeof path, "%s/plain.tfrecord", change->folder);
    LEAT_TRY(inflate_records(d, change, path, err));
    const double grown =
        (double)change->written / (double)LEAT_MAX(change->samples, 1) / LEAT_MAX(d->bytes_each, 1);
    leat__stat st;
    for (int i = 0; i < files->n; i++)
        if (leat__file_stat(files->texts[i], &st, NULL) == 0)
            change->write_bytes += (uint64_t)((double)st.size * LEAT_MAX(grown, 1));
    change->write_bytes = LEAT_MAX(change->write_bytes, change->written);
    leat__edit_quote(from, sizeof from, files->n > 0 ? files->texts[0] : "");
    leat__change_say(change,
                     "mkdir OUT; for f in %s; do gzip -dc \"$f\" > OUT/$(basename \"$f\" .gz); done\n", from);
    leat__edit_set(&change->edit, 0, "tfrecord OUT/*");
    const char *text = leat__edit_text(&change->edit);
    leat__edit_quote(quoted, sizeof quoted, path);
    if (!text || !leat__edit_set(&change->edit, 0, "tfrecord %s", quoted))
        return leat__fail_memory(err, 1000, "a pipeline text");
    leat__change_say(change, "%s", text);
    snprintf(change->how, sizeof change->how, "%" PRIu64 " records that were inflated", change->samples);
    return 0;
}
