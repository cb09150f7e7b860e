/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a table: read whole and in pieces, which must give the same rows or the same mistake; then as a list of
 * files and as a table of numbers and words, with columns that the first byte chooses. The table lies in memory and is
 * opened by its descriptor's name.
 * tries: format/csv.* source/rows*.[ch] source/csv_table.c source/list.c */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/hash.h"
#include "format/csv.h"
#include "source/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool truth) {
    if (!truth) abort();
}

typedef struct result {
    int rc;
    uint64_t digest, rows, line;
} result;

static result read_in_steps(const char *bytes, size_t n, char separator, size_t step) {
    static leat__csv_cell cells[LEAT_CSV_CELLS_MAX];
    leat__csv csv = {.separator = separator, .cell = cells};
    leat__buf text = {.kind = LEAT_MEM_TOOL};
    result r = {0};
    size_t at = 0, end = LEAT_MIN(step, n), used;
    for (;;) {
        leat_error err = {0};
        r.rc = leat__csv_next(&csv, bytes + at, end - at, end == n, &used, &err);
        require(used <= end - at);
        if (r.rc < 0) require(err.message[0] && !strchr(err.message, '\n'));
        for (int i = 0; i < csv.n_cells && r.rc > 0; i++) {
            const leat__csv_cell *c = &cells[i];
            require(c->text >= bytes + at && c->text + c->n <= bytes + at + used);
            text.size = 0;
            require(leat__csv_append(c, &text) && leat__buf_append(&text, "", 1));
            require(text.size - 1 <= c->n && leat__csv_is(c, (const char *)text.data));
            int64_t whole = 0;
            double number = 0;
            const leat__csv_kind kind = leat__csv_number(c, &whole, &number);
            require(kind != LEAT_CSV_NUMBER || (number <= 3.5e38 && number >= -3.5e38));
            r.digest = leat__hash(text.data, text.size, r.digest + (uint64_t)kind);
        }
        at += used;
        if (r.rc < 0 || (r.rc == 0 && end == n)) break;
        if (r.rc == 0) end = LEAT_MIN(end + step, n);
    }
    r.rows = csv.row;
    r.line = csv.lines;
    leat__buf_free(&text);
    return r;
}

static const char *file_of(const uint8_t *bytes, size_t n) {
    static int fd = -1;
    static char path[40];
    if (fd < 0) fd = memfd_create("table", MFD_CLOEXEC);
    require(fd >= 0 && ftruncate(fd, 0) == 0 && pwrite(fd, bytes, n, 0) == (ssize_t)n);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return path;
}

static void open_table(const char *path, unsigned choice) {
    static const char *const fields[][3] = {{"*"},         {"x:f32=*"},      {"x=0,1", "y:bytes=0"},
                                            {"a", "b"},    {"label", "x=*"}, {"a:f64", "b:i64"},
                                            {"x=a,", "*"}, {"0:bytes"}};
    static const char *const missing[] = {"", "0", "error", "a=1;b=none"};
    int n_fields = 0;
    while (n_fields < 3 && fields[choice & 7][n_fields]) n_fields++;
    const leat__csv_options options = {.path = path,
                                       .fields = fields[choice & 7],
                                       .n_fields = choice & 8 ? 0 : n_fields,
                                       .classes = choice & 16 ? "cat,dog" : "",
                                       .categories = choice & 64 ? "a=x,y;b=0" : "",
                                       .missing = missing[choice >> 4 & 3],
                                       .header = (int)(choice >> 5 & 3) % 3,
                                       .separator = choice & 128 ? ';' : ','};
    const leat__open_options open = {.n_threads = 1, .no_side_files = true};
    leat__source *source = NULL;
    leat_error err = {0};
    if (leat__csv_open(&source, &options, &open, &err) < 0) {
        require(!source && err.message[0] && !strchr(err.message, '\n'));
        return;
    }
    require(source->n_samples > 0 && source->n_fields >= 1);
    leat__reader reader = {.bytes.kind = LEAT_MEM_WORKER};
    leat__value values[LEAT_FIELDS_MAX];
    uint64_t digest = 0;
    for (uint64_t i = 0; i < source->n_samples; i++) {
        require(source->class->read(source, &reader, i, values, &err) == 0);
        for (int k = 0; k < source->n_fields; k++)
            digest = leat__hash(values[k].data, values[k].bytes, digest);
    }
    require(source->n_classes == 0 || source->class_name[0]);
    leat__reader_free(source, &reader);
    leat__source_free(&source);
}

static void open_list(const char *path, unsigned choice) {
    static const char *const labels[] = {"", "none", "label", "1", "1,2", "a,b", "0", "label,0"};
    const leat__list_options options = {.path = path,
                                        .column = choice & 8 ? "path" : "",
                                        .label = labels[choice & 7],
                                        .weight = choice & 16 ? "w" : "",
                                        .root = "/nowhere",
                                        .classes = choice & 4 ? "" : "x;y",
                                        .vector = choice & 2,
                                        .header = choice >> 5 & 3 ? (int)(choice >> 5 & 3) - 1 : 0,
                                        .separator = choice & 128 ? ';' : ',',
                                        .check = choice & 64};
    const leat__open_options open = {.n_threads = 1, .no_side_files = true};
    leat__source *source = NULL;
    leat_error err = {0};
    if (leat__list_open(&source, &options, &open, &err) < 0) {
        require(!source && err.message[0] && !strchr(err.message, '\n'));
        return;
    }
    require(source->n_samples > 0 && source->n_fields >= 1);
    leat__reader reader = {.bytes.kind = LEAT_MEM_WORKER};
    leat__value values[LEAT_FIELDS_MAX];
    for (uint64_t i = 0; i < LEAT_MIN(source->n_samples, (uint64_t)20); i++) {
        char text[300];
        source->class->describe(source, i, text, sizeof text);
        const int64_t label = leat__list_class(source, i);
        require(label >= -1 && label < (int64_t)LEAT_MAX(source->n_classes, (size_t)1));
        source->class->read(source, &reader, i, values, &err);
    }
    leat__reader_free(source, &reader);
    leat__source_free(&source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1) return 0;
    const char separator = data[0] & 128 ? ';' : ',';
    const char *text = (const char *)data + 1;
    const size_t n = size - 1;
    const result whole = read_in_steps(text, n, separator, n + 1),
                 some = read_in_steps(text, n, separator, 1 + n / 7);
    require(whole.rc == some.rc && whole.digest == some.digest && whole.rows == some.rows);
    require(whole.rc < 0 || whole.line == some.line);
    const char *path = file_of(data + 1, n);
    open_list(path, data[0]);
    open_table(path, data[0]);
    return 0;
}
