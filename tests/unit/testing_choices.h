/* SPDX-License-Identifier: Apache-2.0 */
/* A folder, records, the same as a stream, and damaged ones: what the tests of choices and of functions share. */
#pragma once

#include "unit/testing.h"

enum { N = 60 };

static char folder[400], records[400], stream[400], damaged[400];

static int begin(void **state) {
    if (begin_files(state) != 0) return -1;
    leat__buf shard = {0}, bad = {0};
    make_dir(in_dir("photos"));
    for (int i = 0; i < N; i++) {
        static const char *const names[] = {"ant", "bee", "big cat"};
        const char *name = names[i < 36 ? 0 : i < 54 ? 1 : 2];
        make_dir(in_dir("photos/%s", name));
        make_dir(in_dir("photos/%s/%d", name, i / 4));
        write_png(in_dir("photos/%s/%d/%02d.png", name, i / 4, i), 4, 4, (unsigned)i);
        const int64_t label = i % 5, width = 100 + i, group = i / 4;
        const float weight = (float)i / 10;
        const leat__feature_value values[] = {
            {.key = "label", .kind = LEAT_FEATURE_INT64, .n = 1, .values = &label},
            {.key = "image/width", .kind = LEAT_FEATURE_INT64, .n = 1, .values = &width},
            {.key = "group", .kind = LEAT_FEATURE_INT64, .n = 1, .values = &group},
            {.key = "weight", .kind = LEAT_FEATURE_FLOAT, .n = 1, .values = &weight}};
        add_example(&shard, values, 4);
        const size_t at = bad.size;
        add_example(&bad, values, 4);
        if (i == 7 || i == 30) bad.data[at + 20] ^= 1;
    }
    write_file(in_dir("a.tfrecord"), shard.data, shard.size);
    write_deflated(in_dir("a.gz"), &shard, GZIP_BITS);
    write_buf(in_dir("bad.tfrecord"), &bad);
    make_old(in_dir("a.tfrecord"), 100);
    make_old(in_dir("bad.tfrecord"), 100);
    static const char parse[] = "parse label:int64 image/width:int64 group:int64 weight:float";
    snprintf(folder, sizeof folder, "folder %s", in_dir("photos"));
    snprintf(records, sizeof records, "tfrecord %s | %s", in_dir("a.tfrecord"), parse);
    snprintf(stream, sizeof stream, "tfrecord %s | %s", in_dir("a.gz"), parse);
    snprintf(damaged, sizeof damaged, "tfrecord %s | %s", in_dir("bad.tfrecord"), parse);
    return 0;
}

/* The numbers of the samples of one epoch, in order, as text: "1 2 3". */
static char *samples_of(leat_spec *spec, const leat_config *config) {
    static char texts[4][8192];
    static unsigned next;
    char *text = texts[next++ % 4];
    size_t n = 0;
    tape t = record_spec(spec, config);
    if (t.rc != LEAT_END) fail_msg("%s", t.message);
    text[0] = 0;
    for (int i = 0; i < t.n_samples && n < sizeof texts[0] - 24; i++)
        n += (size_t)snprintf(text + n, sizeof texts[0] - n, "%s%llu", i ? " " : "",
                              (unsigned long long)t.sample[i]);
    tape_free(&t);
    return text;
}
