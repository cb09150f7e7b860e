/* SPDX-License-Identifier: Apache-2.0 */
#include "base/remote/remote.h"

#include <errno.h>
#include <strings.h>

#include "base/hash.h"
#include "base/remote/request.h"

enum { HEAD = 512 }; /* tells what kind of file it is, without another request */

/* Never changes while the file is open: any number of threads read it. */
struct leat__remote {
    char etag[LEAT_ETAG_BYTES];
    size_t head_n;
    uint8_t head[HEAD];
    bool ranges;
    char url[]; /* zero-terminated */
};

bool leat__is_remote(const char *path) {
    if ((path[0] | 32) != 'h' && (path[0] | 32) != 's') return false;
    return strncasecmp(path, "https://", 8) == 0 || strncasecmp(path, "http://", 7) == 0 ||
           strncasecmp(path, "s3://", 5) == 0;
}

int leat__remote_open(leat__file *file, const char *url, leat_error *err) {
    const size_t n_url = strlen(url) + 1;
    leat__answer answer;
    leat__remote *remote = leat__alloc(LEAT_MEM_INDEX, sizeof *remote + n_url);
    *file = (leat__file){.fd = -1};
    if (!remote) return leat__fail_memory(err, sizeof *remote + n_url, "a remote file");
    memcpy(remote->url, url, n_url);
    const int rc = leat__request(&(leat__ask){.url = url, .into = remote->head, .n = HEAD}, &answer, err);
    if (rc < 0) {
        leat__free(remote);
        return rc;
    }
    remote->head_n = answer.n;
    remote->ranges = answer.ranges;
    memcpy(remote->etag, answer.etag, sizeof remote->etag);
    const uint64_t hash = leat__hash(answer.etag, strlen(answer.etag), 0);
    *file = (leat__file){.fd = -1,
                         .remote = remote,
                         .size = answer.size,
                         .mtime_ns = answer.date_s * 1000000000 + (int64_t)(hash % 1000000000),
                         .inode = hash};
    return 0;
}

int leat__remote_read_at(const leat__file *file, void *dst, size_t n, uint64_t offset, leat_error *err) {
    const leat__remote *remote = file->remote;
    if (n == 0) return 0;
    if (offset + n <= remote->head_n) {
        memcpy(dst, remote->head + offset, n);
        return 0;
    }
    if (offset + n > file->size) {
        char shown[600];
        return leat__fail(err, LEAT_ERR_IO, "%s: ends at byte %" PRIu64 ", %" PRIu64 " bytes short",
                          leat__printable(shown, sizeof shown, remote->url, strlen(remote->url)), file->size,
                          offset + n - file->size);
    }
    leat__answer answer;
    return leat__request(&(leat__ask){.url = remote->url,
                                      .into = dst,
                                      .n = n,
                                      .offset = offset,
                                      .etag = remote->etag,
                                      .size = file->size},
                         &answer, err);
}

int leat__remote_read_all(const char *url, leat__buf *buf, size_t bytes_max, leat_error *err) {
    leat__answer answer;
    return leat__request(&(leat__ask){.url = url, .all = buf, .bytes_max = bytes_max}, &answer, err);
}

void leat__remote_close(leat__file *file) {
    leat__free(file->remote);
    file->remote = NULL;
}
