/* SPDX-License-Identifier: Apache-2.0 */
#include "format/deflate.h"

#include "base/mem.h"

#include <zlib.h>

struct leat__deflate {
    z_stream z;
};

static void *z_alloc(void *user, unsigned count, unsigned size) {
    (void)user;
    size_t bytes;
    return leat__mul_size(count, size, &bytes) ? leat__alloc(LEAT_MEM_TOOL, bytes) : NULL;
}

static void z_free(void *user, void *block) {
    (void)user;
    leat__free(block);
}

leat__deflate *leat__deflate_new(leat__compression compression, int level, leat_error *err) {
    leat__deflate *z = leat__alloc(LEAT_MEM_TOOL, sizeof *z);
    if (!z) {
        leat__fail_memory(err, sizeof *z, "a compressor");
        return NULL;
    }
    z->z.zalloc = z_alloc;
    z->z.zfree = z_free;
    const int gzip =
        16; /* zlib's way to ask for a GZIP header; it holds no date, so equal input gives equal bytes */
    const int window = MAX_WBITS + (compression == LEAT_COMPRESSION_GZIP ? gzip : 0);
    const int memory = 8; /* zlib's default */
    if (deflateInit2(&z->z, level ? level : Z_DEFAULT_COMPRESSION, Z_DEFLATED, window, memory,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
        leat__fail(err, LEAT_ERR_MEMORY, "no memory for a compressor");
        leat__free(z);
        return NULL;
    }
    return z;
}

void leat__deflate_free(leat__deflate **z) {
    if (!z || !*z) return;
    deflateEnd(&(*z)->z);
    leat__free(*z);
    *z = NULL;
}

int leat__deflate_run(leat__deflate *z, const uint8_t *in, size_t in_n, size_t *in_used, uint8_t *out,
                      size_t out_cap, size_t *out_made, bool last) {
    const size_t most = (size_t)1 << 30; /* zlib counts in 32 bits */
    const unsigned give = (unsigned)(in_n < most ? in_n : most),
                   room = (unsigned)(out_cap < most ? out_cap : most);
    z->z.next_in = (Bytef *)(uintptr_t)in; /* zlib's type lacks the const */
    z->z.avail_in = give;
    z->z.next_out = out;
    z->z.avail_out = room;
    const int rc = deflate(&z->z, last && give == in_n ? Z_FINISH : Z_NO_FLUSH);
    *in_used = give - z->z.avail_in;
    *out_made = room - z->z.avail_out;
    return rc == Z_STREAM_END;
}
