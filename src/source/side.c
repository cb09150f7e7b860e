/* SPDX-License-Identifier: Apache-2.0 */
#include "source/side.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

#include "base/hash.h"

bool leat__side_beside(const char *path, const char *suffix, char *out, size_t cap) {
    const char *name;
    const size_t n_name = leat__path_name(path, &name);
    if (leat__is_remote(path)) { /* what an address has behind its name belongs behind the new one too */
        const int used = snprintf(out, cap, "%.*s.%.*s%s%s", (int)(name - path), path, (int)n_name, name,
                                  suffix, name + n_name);
        return used > 0 && (size_t)used < cap;
    }
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') n--; /* "photos/" and "photos" are one folder */
    size_t folder = n;
    while (folder > 0 && path[folder - 1] != '/') folder--;
    const int used =
        snprintf(out, cap, "%.*s.%.*s%s", (int)folder, path, (int)(n - folder), path + folder, suffix);
    return used > 0 && (size_t)used < cap;
}

/* The file in the folder of the data set. make: the folder too, if it is missing. */
static bool name_cached(leat__sets *sets, const char *home, const char *path, bool make, char *out,
                        size_t cap, leat_error *err) {
    char folder[PATH_MAX];
    char *real = leat__real_path(path), *set = home ? leat__real_path(home) : NULL;
    bool named = false;
    if (real && (set || !home)) {
        const XXH128_hash_t h = XXH3_128bits(real, strlen(real));
        char *slash = strrchr(real, '/');
        if (slash) *slash = 0;
        if (leat__sets_folder(sets, set ? set : real, make, folder, sizeof folder, err) == 0) {
            const int used = snprintf(out, cap, "%s/%016" PRIx64 "%016" PRIx64 ".leatidx", folder,
                                      (uint64_t)h.high64, (uint64_t)h.low64);
            named = used > 0 && (size_t)used < cap;
        }
    }
    leat__free(real);
    leat__free(set);
    return named;
}

static bool cached_path(const char *home, const char *path, const leat__open_options *options, bool make,
                        char *out, size_t cap, leat_error *err) {
    leat__sets *sets = options->sets;
    if (!sets && leat__sets_open(&sets, options->cache_dir, err) < 0) return false;
    const bool named = name_cached(sets, home, path, make, out, cap, err);
    if (named && make) leat__sets_add(sets);
    if (!options->sets) leat__sets_close(&sets);
    return named;
}

static bool read_trusted(leat__side *out, uint32_t owner, bool trust, leat__buf *buf) {
    leat__file file;
    if (leat__file_open(&file, out->file, NULL) < 0) return false;
    out->refused = !trust && !leat__file_trusted(&file, owner);
    const bool good = !out->refused && file.size <= SIZE_MAX / 2 && leat__buf_reserve(buf, file.size) &&
                      leat__file_read_at(&file, buf->data, file.size, 0, out->file, NULL) == 0;
    if (good) buf->size = file.size;
    leat__file_close(&file);
    return good;
}

bool leat__side_load(leat__side *out, leat__side_place place, const char *home, const char *path, int kind,
                     const leat__open_options *options, leat__buf *buf) {
    leat__stat st = {.owner = LEAT_NO_OWNER};
    out->refused = false;
    if (options->no_side_files || options->refresh) return false;
    const bool remote = leat__is_remote(path);
    if (remote && place != LEAT_SIDE_BESIDE) return false;
    if (place == LEAT_SIDE_BESIDE && !remote && leat__file_stat(path, &st, NULL) < 0) return false;
    const bool named = place == LEAT_SIDE_BESIDE
                           ? leat__side_beside(path, ".leatidx", out->file, sizeof out->file)
                           : cached_path(home, path, options, false, out->file, sizeof out->file, NULL);
    const bool read = named && (remote ? leat__file_read_all(out->file, buf, SIZE_MAX / 2, NULL) == 0
                                       : read_trusted(out, st.owner, options->trust, buf));
    if (!read) return false;
    out->data = leat__sidefile_payload(buf->data, buf->size, kind, &out->n);
    return out->data != NULL;
}

int leat__side_remote(const char *path, leat_error *err) {
    char file[PATH_MAX];
    leat__file found;
    leat_error why;
    if (!leat__side_beside(path, ".leatidx", file, sizeof file)) return 0;
    const int rc = leat__file_open(&found, file, &why);
    if (rc == 0) leat__file_close(&found);
    if (rc == 0) return 1;
    const bool none = rc == LEAT_ERR_NOT_FOUND || why.sys == EACCES;
    if (!none && err) *err = why;
    return none ? 0 : rc;
}

bool leat__side_write(const char *file, int kind, const void *payload, size_t n, leat_error *why) {
    uint8_t header[LEAT_SIDEFILE_HEADER];
    leat__sidefile_write_header(header, kind, payload, n);
    leat__out *out;
    if (leat__out_open(&out, file, why) < 0) return false;
    leat__out_guard(out);
    int rc = leat__out_write(out, header, sizeof header, why);
    if (rc == 0) rc = leat__out_write(out, payload, n, why);
    if (rc == 0) return leat__out_commit(&out, why) == 0;
    leat__out_abort(&out);
    return false;
}

bool leat__side_store(const char *home, const char *path, int kind, const leat__open_options *options,
                      const void *payload, size_t n, leat_error *why) {
    char file[PATH_MAX];
    if (options->no_side_files) return true;
    if (options->beside) {
        if (!leat__side_beside(path, ".leatidx", file, sizeof file)) {
            leat__fail(why, LEAT_ERR_ARGUMENT, "the path has %zu bytes", strlen(path));
            return false;
        }
    } else if (!cached_path(home, path, options, true, file, sizeof file, why)) {
        return false;
    }
    return leat__side_write(file, kind, payload, n, why);
}
