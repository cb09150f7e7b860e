/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the arrays in .npy and .npz files. Values of small arrays are read at once, since labels are needed
 * as often as pictures; large arrays stay in their files. A deflated array has no random access: it is
 * inflated into memory. */
#include "source/npy_file.h"

#include <stdio.h>

#include "base/cpu.h"
#include "format/inflate.h"
#include "format/zip.h"

enum { HEAD_MAX = (1 << 16) + 64, PIECE = 1 << 18 };
#define HELD_MAX ((size_t)32 << 20)

void leat__npy_array_free(leat__npy_array *array) {
    leat__free(array->path);
    leat__buf_free(&array->held);
    leat__file_close(&array->file);
}

static int fail_array(const leat__npy_array *array, leat_error *err, int code, const char *what) {
    char shown[400];
    return leat__fail(err, code, "%s %s",
                      leat__printable(shown, sizeof shown, array->path, strlen(array->path)), what);
}

/* Reads and judges a header of which n bytes are there; bytes is what the file has from the header on. */
static int read_header(leat__npy_array *array, const uint8_t *head, size_t n, uint64_t bytes,
                       leat_error *err) {
    leat__npy *info = &array->info;
    const int rc = leat__npy_read_header(info, head, n, err);
    if (rc < 0) {
        char shown[400];
        leat__error_prefix(err,
                           "%s: ", leat__printable(shown, sizeof shown, array->path, strlen(array->path)));
        return rc;
    }
    if (info->ndim == 0)
        return fail_array(array, err, LEAT_ERR_SHAPE, "holds a single value: there are no slices to take");
    if (info->fortran && info->ndim > 1)
        return fail_array(array, err, LEAT_ERR_UNSUPPORTED,
                          "is in Fortran order: save it with np.save(path, np.ascontiguousarray(x))");
    if (info->data_bytes > bytes - info->header)
        return fail_array(array, err, LEAT_ERR_FORMAT,
                          "is cut off: there are fewer values than its header says");
    if (info->shape[0] == 0) return fail_array(array, err, LEAT_ERR_NOT_FOUND, "is empty: it has no slices");
    array->slice = info->data_bytes / (size_t)info->shape[0];
    if (array->slice > LEAT_RECORD_BYTES_MAX)
        return fail_array(array, err, LEAT_ERR_LIMIT, "has slices of more than 256 MiB");
    return 0;
}

/* An array whose bytes lie in a file as they are, `bytes` of them from `begin` on. The file becomes the
 * array's. */
static int open_plain(leat__npy_array *array, uint64_t begin, uint64_t bytes, leat_error *err) {
    uint8_t *head = leat__alloc(LEAT_MEM_INDEX, HEAD_MAX);
    if (!head) return leat__fail_memory(err, HEAD_MAX, "an array");
    const size_t n = (size_t)LEAT_MIN(bytes, (uint64_t)HEAD_MAX);
    int rc = leat__file_read_at(&array->file, head, n, begin, array->path, err);
    if (rc == 0) rc = read_header(array, head, n, bytes, err);
    leat__free(head);
    LEAT_TRY(rc);
    array->begin = begin + array->info.header;
    const size_t all = array->info.data_bytes;
    if (all > HELD_MAX) return 0;
    if (!leat__buf_reserve_exactly(&array->held, all)) return leat__fail_memory(err, all, "an array");
    LEAT_TRY(leat__file_read_at(&array->file, array->held.data, all, array->begin, array->path, err));
    array->held.size = all;
    leat__file_close(&array->file);
    return 0;
}

/* ------------------------------------------------------------------------------------ deflated members */

/* Inflates what piece holds; 1 = the end was reached. More than the member's size is an error. */
static int inflate_piece(leat__npy_array *array, leat__inflate *z, const uint8_t *piece, size_t n, bool last,
                         uint64_t plain, leat_error *err) {
    size_t at = 0;
    int rc = 0;
    while (rc == 0) {
        size_t used, made;
        if (!leat__buf_reserve(&array->held, array->held.size + PIECE))
            return leat__fail_memory(err, array->held.size + PIECE, "an array");
        const size_t room = array->held.cap - array->held.size;
        rc = leat__inflate_run(z, piece + at, n - at, &used, array->held.data + array->held.size, room, &made,
                               last, err);
        at += used;
        array->held.size += made;
        if (array->held.size > plain)
            return leat__fail(err, LEAT_ERR_FORMAT, "more bytes than the archive says");
        if (rc == 0 && at == n && made < room && !last) return 0;
    }
    return rc;
}

static int inflate_member(leat__npy_array *array, const leat__zip_member *m, uint64_t begin, leat__inflate *z,
                          uint8_t *piece, leat_error *err) {
    uint8_t head[LEAT_ZIP_GZIP_HEAD], foot[LEAT_ZIP_GZIP_FOOT];
    leat__zip_gzip(m, head, foot);
    /* A claim: what is far above the usual is believed as it arrives. */
    const uint64_t usual = LEAT_MIN(m->plain, m->packed * 8) + PIECE;
    if (!leat__buf_reserve_exactly(&array->held, (size_t)usual))
        return leat__fail_memory(err, (size_t)usual, "an array");
    LEAT_TRY(inflate_piece(array, z, head, sizeof head, false, m->plain, err));
    for (uint64_t at = 0; at < m->packed;) {
        const size_t n = (size_t)LEAT_MIN((uint64_t)PIECE, m->packed - at);
        LEAT_TRY(leat__file_read_at(&array->file, piece, n, begin + at, array->path, err));
        LEAT_TRY(inflate_piece(array, z, piece, n, false, m->plain, err));
        at += n;
    }
    const int rc = inflate_piece(array, z, foot, sizeof foot, true, m->plain, err);
    if (rc < 0) return rc;
    return array->held.size == m->plain
               ? 0
               : leat__fail(err, LEAT_ERR_FORMAT, "fewer bytes than the archive says");
}

static int open_deflated(leat__npy_array *array, const leat__zip_member *m, uint64_t begin, leat_error *err) {
    char shown[400];
    leat__printable(shown, sizeof shown, array->path, strlen(array->path));
    if (m->plain > leat__memory_available() / 2)
        return leat__fail(err, LEAT_ERR_MEMORY,
                          "%s is compressed and has %" PRIu64
                          " MB when inflated, which do not fit into memory: save it with np.savez or np.save",
                          shown, m->plain >> 20);
    leat__inflate *z = leat__inflate_new(LEAT_COMPRESSION_GZIP, err);
    uint8_t *piece = leat__alloc(LEAT_MEM_INDEX, PIECE);
    int rc = !z ? LEAT_ERR_MEMORY : !piece ? leat__fail_memory(err, PIECE, "an array") : 0;
    if (rc == 0) {
        rc = inflate_member(array, m, begin, z, piece, err);
        if (rc == LEAT_ERR_FORMAT) leat__error_prefix(err, "%s is damaged: ", shown);
    }
    leat__inflate_free(&z);
    leat__free(piece);
    LEAT_TRY(rc);
    LEAT_TRY(read_header(array, array->held.data, array->held.size, array->held.size, err));
    /* Values at the beginning of their memory are aligned, whatever their type. */
    memmove(array->held.data, array->held.data + array->info.header, array->info.data_bytes);
    array->held.size = array->info.data_bytes;
    leat__file_close(&array->file);
    return 0;
}

/* --------------------------------------------------------------------------------------------- files */

/* A new array of that name, with a file of its own. member: NULL for an .npy file. */
static int begin_array(leat__npy_array *arrays, int *n, const char *name, size_t name_n, const char *path,
                       const char *member, size_t member_n, leat_error *err) {
    char shown[70];
    leat__printable(shown, sizeof shown, name, name_n);
    if (*n == LEAT_FIELDS_MAX)
        return leat__fail(err, LEAT_ERR_LIMIT, "more than %d arrays: choose some, as in npy x=%.200s:%s",
                          LEAT_FIELDS_MAX, path, shown);
    if (name_n == 0 || name_n >= sizeof arrays->name || memchr(name, 0, name_n))
        return leat__fail(err, LEAT_ERR_LIMIT,
                          "'%s' cannot be the name of a field (1 to 63 bytes): give one, as in npy x=%.200s",
                          shown, path);
    leat__npy_array *array = &arrays[*n];
    *array = (leat__npy_array){.file.fd = -1, .held.kind = LEAT_MEM_INDEX};
    memcpy(array->name, name, name_n);
    const size_t path_n = strlen(path);
    array->path = leat__alloc(LEAT_MEM_INDEX, path_n + member_n + 2);
    if (!array->path) return leat__fail_memory(err, path_n, "a path");
    memcpy(array->path, path, path_n);
    if (member) {
        array->path[path_n] = ':';
        memcpy(array->path + path_n + 1, member, member_n);
    }
    ++*n;
    for (int i = 0; i + 1 < *n; i++)
        if (strcmp(arrays[i].name, array->name) == 0)
            return leat__fail(err, LEAT_ERR_ARGUMENT,
                              "two arrays have the name %s: give names, as in npy x=%.200s", shown, path);
    return leat__file_open(&array->file, path, err);
}

static int open_member(leat__npy_array *array, const leat__zip_member *m, leat_error *err) {
    uint8_t header[LEAT_ZIP_LOCAL];
    uint64_t begin = 0;
    const uint64_t size = array->file.size;
    int rc = 0;
    if (m->local > size || size - m->local < sizeof header)
        rc = leat__fail(err, LEAT_ERR_FORMAT, "zip: a member begins past the end of the file");
    if (rc == 0)
        LEAT_TRY(leat__file_read_at(&array->file, header, sizeof header, m->local, array->path, err));
    if (rc == 0) rc = leat__zip_data(m, header, size, &begin, err);
    if (rc < 0) {
        char shown[400];
        leat__error_prefix(err,
                           "%s: ", leat__printable(shown, sizeof shown, array->path, strlen(array->path)));
        return rc;
    }
    return m->method == 0 ? open_plain(array, begin, m->plain, err) : open_deflated(array, m, begin, err);
}

/* wanted: NULL = all members. */
static int open_members(leat__npy_array *arrays, int *n, const char *name, const char *path,
                        const char *wanted, const uint8_t *directory, size_t directory_n, leat_error *err) {
    leat__zip_member m;
    size_t at = 0;
    int rc, n_found = 0;
    char all[300] = "", shown[400];
    leat__printable(shown, sizeof shown, path, strlen(path));
    while ((rc = leat__zip_next(&m, directory, directory_n, &at, err)) > 0) {
        const bool npy = m.name_n > 4 && memcmp(m.name + m.name_n - 4, ".npy", 4) == 0;
        const size_t stem = m.name_n - (npy ? 4 : 0);
        char one[70];
        const size_t used = strlen(all);
        snprintf(all + used, sizeof all - used, "%s%s", used ? ", " : "",
                 leat__printable(one, sizeof one, m.name, stem));
        if (wanted && (strlen(wanted) != stem || memcmp(wanted, m.name, stem) != 0)) continue;
        if (++n_found > 1 && name) break;
        LEAT_TRY(begin_array(arrays, n, name ? name : m.name, name ? strlen(name) : stem, path, m.name, stem,
                             err));
        LEAT_TRY(open_member(&arrays[*n - 1], &m, err));
        if (wanted) return 0;
    }
    if (rc < 0) {
        leat__error_prefix(err, "%s: ", shown);
        return rc;
    }
    if (n_found == 0)
        return leat__fail(err, LEAT_ERR_NOT_FOUND, "%s holds no array%s%.100s: there are %s", shown,
                          wanted ? " " : "", wanted ? wanted : "", *all ? all : "none");
    if (name && n_found > 1)
        return leat__fail(err, LEAT_ERR_ARGUMENT, "%s holds several arrays, name one: %s=%.200s:%.*s", shown,
                          name, path, (int)strcspn(all, ","), all);
    return 0;
}

static int open_archive(leat__npy_array *arrays, int *n, const char *name, const char *path,
                        const char *wanted, leat__file *file, leat_error *err) {
    const size_t tail_n = (size_t)LEAT_MIN(file->size, (uint64_t)LEAT_ZIP_TAIL);
    leat__buf bytes = {.kind = LEAT_MEM_INDEX};
    leat__zip zip = {0};
    if (!leat__buf_reserve(&bytes, tail_n)) return leat__fail_memory(err, tail_n, "an archive");
    int rc = leat__file_read_at(file, bytes.data, tail_n, file->size - tail_n, path, err);
    if (rc == 0) {
        rc = leat__zip_open(&zip, bytes.data, tail_n, file->size, err);
        char shown[400];
        if (rc < 0) leat__error_prefix(err, "%s: ", leat__printable(shown, sizeof shown, path, strlen(path)));
    }
    if (rc == 0 && !leat__buf_reserve(&bytes, (size_t)zip.bytes))
        rc = leat__fail_memory(err, (size_t)zip.bytes, "an archive");
    if (rc == 0) rc = leat__file_read_at(file, bytes.data, (size_t)zip.bytes, zip.directory, path, err);
    if (rc == 0) rc = open_members(arrays, n, name, path, wanted, bytes.data, (size_t)zip.bytes, err);
    leat__buf_free(&bytes);
    return rc;
}

/* The file of "a.npz:x", and behind it the member; NULL if text does not end so. */
static const char *split_member(const char *text, char *path, size_t cap) {
    const char *name, *colon = strrchr(text, ':');
    leat__path_name(text, &name);
    if (!colon || colon < name || !colon[1] || (size_t)(colon - text) >= cap) return NULL;
    snprintf(path, cap, "%.*s", (int)(colon - text), text);
    return colon + 1;
}

int leat__npy_file_open(leat__npy_array *arrays, int *n, const char *name, const char *text,
                        leat_error *err) {
    char archive[4096];
    leat__file file;
    leat__stat st;
    const char *path = text, *member = NULL;
    if (leat__file_stat(text, &st, NULL) < 0 &&
        (member = split_member(text, archive, sizeof archive)) != NULL)
        path = archive;
    LEAT_TRY(leat__file_open(&file, path, err));
    uint8_t magic[2] = {0};
    int rc = leat__file_read_at(&file, magic, (size_t)LEAT_MIN(file.size, (uint64_t)2), 0, path, err);
    if (rc == 0 && magic[0] == 'P' && magic[1] == 'K') {
        rc = open_archive(arrays, n, name, path, member, &file, err);
    } else if (rc == 0) {
        const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
        const size_t stem = dot && dot > base ? (size_t)(dot - base) : strlen(base);
        rc = begin_array(arrays, n, name ? name : base, name ? strlen(name) : stem, path, NULL, 0, err);
        if (rc == 0) rc = open_plain(&arrays[*n - 1], 0, file.size, err);
    }
    leat__file_close(&file);
    return rc;
}
