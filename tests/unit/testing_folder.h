/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the folder source share. */
#ifndef LEAT_TESTS_UNIT_TESTING_FOLDER_H
#define LEAT_TESTS_UNIT_TESTING_FOLDER_H

#include "unit/testing.h"

#include "source/folder.h"

static leat__open_options options_now(const char *cache) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (leat__open_options){.n_threads = 3,
                                .now_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec,
                                .cache_dir = cache,
                                .no_side_files = !cache};
}

static leat__source *open_folder(const char *path, int labels, bool follow, const char *cache) {
    const leat__open_options open = options_now(cache);
    const leat__folder_options options = {.path = path, .labels = labels, .follow_links = follow};
    leat__source *source = NULL;
    leat_error err;
    if (leat__folder_open(&source, &options, &open, &err) != 0) fail_msg("%s", err.message);
    return source;
}

/* Relative paths with their labels: "a/1.png:0 b/2.png:1". */
static const char *listing(leat__source *source) {
    static char text[8000];
    text[0] = 0;
    for (uint64_t i = 0; i < source->n_samples; i++) {
        char path[4200];
        int64_t label;
        leat__folder_path(source, i, path, sizeof path, &label);
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s:%d", i ? " " : "", path, (int)label);
    }
    leat__source_free(&source);
    return text;
}

static void touch(const char *path) {
    write_file(path, path, strlen(path));
}

#endif
