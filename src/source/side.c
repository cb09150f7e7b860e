/* SPDX-License-Identifier: Apache-2.0 */
#include "source/side.h"

#include <limits.h>
#include <stdio.h>

#include "base/hash.h"

static bool beside_path(char *out, size_t cap, const char *path) {
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') n--; /* "photos/" and "photos" are one folder */
    size_t folder = n;
    while (folder > 0 && path[folder - 1] != '/') folder--;
    const int used =
        snprintf(out, cap, "%.*s.%.*s.leatidx", (int)folder, path, (int)(n - folder), path + folder);
    return used > 0 && (size_t)used < cap;
}

static bool cached_path(char *out, size_t cap, const char *path, const leat__open_options *options) {
    char folder[PATH_MAX];
    if (options->cache_dir) snprintf(folder, sizeof folder, "%s", options->cache_dir);
    else if (!leat__cache_dir(folder, sizeof folder)) return false;
    char *real = leat__real_path(path);
    if (!real) return false;
    const XXH128_hash_t h = XXH3_128bits(real, strlen(real));
    leat__free(real);
    const int used = snprintf(out, cap, "%s/index/%016" PRIx64 "%016" PRIx64 ".leatidx", folder,
                              (uint64_t)h.high64, (uint64_t)h.low64);
    return used > 0 && (size_t)used < cap;
}

static const uint8_t *load_one(const char *path, int kind, size_t bytes_max, leat__buf *buf, size_t *n) {
    if (leat__file_read_all(path, buf, bytes_max, NULL) < 0) return NULL;
    return leat__sidefile_payload(buf->data, buf->size, kind, n);
}

bool leat__side_load_most(const char *path, int kind, const leat__open_options *options, size_t bytes_max,
                          leat__buf *buf, const uint8_t **data, size_t *n) {
    char place[PATH_MAX];
    *data = NULL;
    if (options->no_side_files || options->refresh) return false;
    if (beside_path(place, sizeof place, path)) *data = load_one(place, kind, bytes_max, buf, n);
    if (!*data && cached_path(place, sizeof place, path, options))
        *data = load_one(place, kind, bytes_max, buf, n);
    return *data != NULL;
}

bool leat__side_load(const char *path, int kind, const leat__open_options *options, leat__buf *buf,
                     const uint8_t **data, size_t *n) {
    return leat__side_load_most(path, kind, options, SIZE_MAX / 2, buf, data, n);
}

bool leat__side_store_parts(const char *path, int kind, const leat__open_options *options,
                            const leat__sidefile_part *part, size_t n_parts, leat_error *why) {
    char place[PATH_MAX];
    if (options->no_side_files) return true;
    const bool named = options->beside ? beside_path(place, sizeof place, path)
                                       : cached_path(place, sizeof place, path, options);
    if (!named) {
        leat__fail(why, LEAT_ERR_NOT_FOUND, "there is no cache directory: set HOME or XDG_CACHE_HOME");
        return false;
    }
    if (!options->beside) {
        char folder[PATH_MAX];
        snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(place, '/') - place), place);
        if (leat__dir_make(folder, why) < 0) return false;
    }
    uint8_t header[LEAT_SIDEFILE_HEADER];
    leat__sidefile_write_header(header, kind, part, n_parts);
    leat__out *out;
    if (leat__out_open(&out, place, why) < 0) return false;
    int rc = leat__out_write(out, header, sizeof header, why);
    for (size_t i = 0; i < n_parts && rc == 0; i++) rc = leat__out_write(out, part[i].bytes, part[i].n, why);
    if (rc == 0) return leat__out_commit(&out, why) == 0;
    leat__out_abort(&out);
    return false;
}

bool leat__side_store(const char *path, int kind, const leat__open_options *options, const void *payload,
                      size_t n, leat_error *why) {
    return leat__side_store_parts(path, kind, options, &(leat__sidefile_part){payload, n}, 1, why);
}
