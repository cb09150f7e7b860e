/* SPDX-License-Identifier: Apache-2.0 */
/* leat_writer: a TFRecord file of tf.train.Examples, record by record.
 *
 * The file appears whole or not at all. A failure stays: a file in which a record is missing must not look like a
 * whole one, so closing after a failure removes what was written and tells that failure again. */
#include "base/file.h"
#include "format/example.h"
#include "format/tfrecord.h"
#include "leat/leat_tools.h"
#include "source/source.h"

struct leat_writer {
    leat__out *out;
    leat__buf record;
    leat__buf values; /* of leat__feature_value */
    leat__buf spans;  /* of leat__span          */
    uint64_t n;       /* records so far         */
    leat_error failed;
};

int leat_writer_open(leat_writer **out, const char *path, leat_error *err) {
    leat__error_clear(err);
    if (!out) return leat__fail(err, LEAT_ERR_ARGUMENT, "leat_writer_open: out is NULL");
    *out = NULL;
    if (!path || !*path) return leat__fail(err, LEAT_ERR_ARGUMENT, "leat_writer_open: the path is empty");
    leat_writer *writer = leat__alloc(LEAT_MEM_TOOL, sizeof *writer);
    if (!writer) return leat__fail_memory(err, sizeof *writer, "a writer");
    writer->record.kind = writer->values.kind = writer->spans.kind = LEAT_MEM_TOOL;
    const int rc = leat__out_open(&writer->out, path, err);
    if (rc < 0) leat__free(writer);
    else *out = writer;
    return rc;
}

static int take_features(leat_writer *writer, const leat_feature *features, int n, leat_error *err) {
    if (!features || n < 1)
        return leat__fail(err, LEAT_ERR_ARGUMENT, "leat_writer_add: a record needs a feature");
    const size_t count = (size_t)n;
    if (!leat__buf_reserve(&writer->values, count * sizeof(leat__feature_value)) ||
        !leat__buf_reserve(&writer->spans, count * sizeof(leat__span)))
        return leat__fail_memory(err, count * sizeof(leat__feature_value), "a record");
    leat__feature_value *value = (leat__feature_value *)writer->values.data;
    leat__span *span = (leat__span *)writer->spans.data;
    for (int i = 0; i < n; i++) {
        const leat_feature *f = &features[i];
        LEAT_TRY(LEAT_CHECK_RESERVED(leat_feature, f, err));
        if (!f->name || !*f->name)
            return leat__fail(err, LEAT_ERR_ARGUMENT, "leat_writer_add: feature %d has no name", i);
        if (!f->values && f->n)
            return leat__fail(err, LEAT_ERR_ARGUMENT, "leat_writer_add: feature %s has no values", f->name);
        value[i] = (leat__feature_value){.key = f->name, .n = f->n, .values = f->values};
        switch (f->dtype) {
        case LEAT_DTYPE_F32: value[i].kind = LEAT_FEATURE_FLOAT; break;
        case LEAT_DTYPE_I64: value[i].kind = LEAT_FEATURE_INT64; break;
        case LEAT_DTYPE_BYTES:
            span[i] = (leat__span){.data = f->values ? f->values : "", .n = f->n};
            value[i] =
                (leat__feature_value){.key = f->name, .kind = LEAT_FEATURE_BYTES, .n = 1, .values = &span[i]};
            break;
        default:
            return leat__fail(err, LEAT_ERR_TYPE,
                              "leat_writer_add: feature %s is %s: an Example holds bytes, i64 or f32",
                              f->name, leat_dtype_name(f->dtype));
        }
    }
    return 0;
}

static int add_record(leat_writer *writer, const leat_feature *features, int n, leat_error *err) {
    LEAT_TRY(take_features(writer, features, n, err));
    leat__buf *record = &writer->record;
    record->size = 0;
    LEAT_TRY(leat__example_write(record, (const leat__feature_value *)writer->values.data, n, err));
    if (record->size > LEAT_RECORD_BYTES_MAX)
        return leat__fail(err, LEAT_ERR_LIMIT,
                          "leat_writer_add: record %" PRIu64 " has %zu bytes, the limit is %zu", writer->n,
                          record->size, LEAT_RECORD_BYTES_MAX);
    uint8_t header[LEAT_TFRECORD_HEADER], footer[LEAT_TFRECORD_FOOTER];
    leat__tfrecord_write_header(header, record->size);
    leat__tfrecord_write_footer(footer, record->data, record->size);
    LEAT_TRY(leat__out_write(writer->out, header, sizeof header, err));
    LEAT_TRY(leat__out_write(writer->out, record->data, record->size, err));
    LEAT_TRY(leat__out_write(writer->out, footer, sizeof footer, err));
    writer->n++;
    return 0;
}

int leat_writer_add(leat_writer *writer, const leat_feature *features, int n, leat_error *err) {
    leat__error_clear(err);
    if (!writer) return leat__fail(err, LEAT_ERR_ARGUMENT, "leat_writer_add: the writer is NULL");
    if (writer->failed.code == 0) add_record(writer, features, n, &writer->failed);
    if (err && writer->failed.code) *err = writer->failed;
    return writer->failed.code;
}

static void writer_free(leat_writer *writer) {
    leat__out_abort(&writer->out);
    leat__buf_free(&writer->record);
    leat__buf_free(&writer->values);
    leat__buf_free(&writer->spans);
    leat__free(writer);
}

int leat_writer_close(leat_writer **handle, leat_error *err) {
    leat__error_clear(err);
    if (!handle || !*handle) return 0;
    leat_writer *writer = *handle;
    *handle = NULL;
    int rc = writer->failed.code;
    if (rc == 0) rc = leat__out_commit(&writer->out, err);
    else if (err) *err = writer->failed;
    writer_free(writer);
    return rc;
}

void leat_writer_abort(leat_writer **handle) {
    if (!handle || !*handle) return;
    writer_free(*handle);
    *handle = NULL;
}
