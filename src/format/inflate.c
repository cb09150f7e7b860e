/* SPDX-License-Identifier: Apache-2.0 */
#include "format/inflate.h"

#include "base/mem.h"
#include "format/tfrecord.h"

#include <zlib.h>

/* ------------------------------------------------------------------------------------------ detect */

/* A zlib stream begins with two bytes that are a multiple of 31, which one file in 500 does by chance, and
 * then a TFRecord with a damaged first header would be taken for one. So the first deflate block must make
 * sense too: there is no type 3, and a stored block says its size twice. */
static bool looks_like_zlib(const uint8_t *bytes, size_t n) {
    if (n < 2) return false;
    const unsigned cmf = bytes[0], flg = bytes[1];
    if ((cmf & 15) != 8 || cmf >> 4 > 7 || (cmf << 8 | flg) % 31 != 0 || flg & 0x20) return false;
    if (n < 3) return true;
    const unsigned type = bytes[2] >> 1 & 3;
    if (type == 0 && n >= 7) return (leat__load_u16(bytes + 3) ^ leat__load_u16(bytes + 5)) == 0xffff;
    return type != 3;
}

leat__compression leat__compression_detect(const uint8_t *bytes, size_t n) {
    uint64_t length;
    if (n >= LEAT_TFRECORD_HEADER && leat__tfrecord_length(bytes, &length)) return LEAT_COMPRESSION_NONE;
    if (n >= 3 && bytes[0] == 0x1f && bytes[1] == 0x8b && bytes[2] == 8) return LEAT_COMPRESSION_GZIP;
    if (looks_like_zlib(bytes, n)) return LEAT_COMPRESSION_ZLIB;
    return LEAT_COMPRESSION_NONE;
}

/* ----------------------------------------------------------------------------------------- inflate */

struct leat__inflate {
    z_stream z;
    leat__compression compression;
    bool inside;       /* in a stream: it has begun and not ended        */
    uint64_t position; /* in the compressed bytes, for messages          */
    uint64_t streams;  /* that have begun                                */
    int failed;        /* what the last run returned, if it was an error */
};

static void *z_alloc(void *user, unsigned count, unsigned size) {
    (void)user;
    size_t bytes;
    return leat__mul_size(count, size, &bytes) ? leat__alloc(LEAT_MEM_WINDOW, bytes) : NULL;
}

static void z_free(void *user, void *block) {
    (void)user;
    leat__free(block);
}

leat__inflate *leat__inflate_new(leat__compression compression, leat_error *err) {
    if (compression != LEAT_COMPRESSION_GZIP && compression != LEAT_COMPRESSION_ZLIB) {
        leat__fail(err, LEAT_ERR_ARGUMENT, "nothing to inflate: the compression is none");
        return NULL;
    }
    leat__inflate *z = leat__alloc(LEAT_MEM_WINDOW, sizeof *z);
    if (!z) {
        leat__fail_memory(err, sizeof *z, "an inflater");
        return NULL;
    }
    z->compression = compression;
    z->z.zalloc = z_alloc;
    z->z.zfree = z_free;
    const int gzip_only = 16; /* zlib's way to say so */
    if (inflateInit2(&z->z, MAX_WBITS + (compression == LEAT_COMPRESSION_GZIP ? gzip_only : 0)) != Z_OK) {
        leat__fail(err, LEAT_ERR_MEMORY, "no memory for an inflater");
        leat__free(z);
        return NULL;
    }
    return z;
}

void leat__inflate_free(leat__inflate **z) {
    if (!z || !*z) return;
    inflateEnd(&(*z)->z);
    leat__free(*z);
    *z = NULL;
}

int leat__inflate_reset(leat__inflate *z) {
    inflateReset(&z->z); /* fails for a broken object only */
    z->inside = false;
    z->position = z->streams = 0;
    z->failed = 0;
    return 0;
}

static int fail(leat__inflate *z, leat_error *err, int code, const char *what) {
    z->failed = code;
    const char *const name = z->compression == LEAT_COMPRESSION_GZIP ? "gzip" : "zlib";
    return leat__fail(err, code, "%s stream %" PRIu64 ", compressed byte %" PRIu64 ": %s", name, z->streams,
                      z->position, what);
}

/* One call of zlib, whose counters have 32 bits. */
static int inflate_some(leat__inflate *z, const uint8_t *in, size_t in_n, size_t *in_used, uint8_t *out,
                        size_t out_cap, size_t *out_made) {
    const size_t most = (size_t)1 << 30;
    const uInt in_now = (uInt)LEAT_MIN(in_n, most), out_now = (uInt)LEAT_MIN(out_cap, most);
    z->z.next_in = (Bytef *)(uintptr_t)in; /* its type is not const everywhere */
    z->z.avail_in = in_now;
    z->z.next_out = out;
    z->z.avail_out = out_now;
    const int rc = inflate(&z->z, Z_NO_FLUSH);
    *in_used = in_now - z->z.avail_in;
    *out_made = out_now - z->z.avail_out;
    z->z.next_in = z->z.next_out = NULL;
    z->position += *in_used;
    return rc;
}

/* Between two streams: passes over padding, and begins the next stream if something else is there. */
static void pass_padding(leat__inflate *z, const uint8_t *in, size_t in_n, size_t *in_used) {
    size_t at = *in_used;
    if (z->streams > 0)
        while (at < in_n && in[at] == 0) at++;
    z->position += at - *in_used;
    *in_used = at;
    if (at == in_n) return;
    inflateReset(&z->z);
    z->inside = true;
    z->streams++;
}

int leat__inflate_run(leat__inflate *z, const uint8_t *in, size_t in_n, size_t *in_used, uint8_t *out,
                      size_t out_cap, size_t *out_made, bool last_input, leat_error *err) {
    uint8_t nothing = 0; /* zlib wants an address even for no bytes */
    if (in_n == 0) in = &nothing;
    if (out_cap == 0) out = &nothing;
    *in_used = *out_made = 0;
    if (z->failed) return fail(z, err, z->failed, "failed before");
    for (;;) {
        if (!z->inside) {
            pass_padding(z, in, in_n, in_used);
            if (!z->inside) return last_input ? 1 : 0;
        }
        size_t took, made;
        const int rc = inflate_some(z, in + *in_used, in_n - *in_used, &took, out + *out_made,
                                    out_cap - *out_made, &made);
        *in_used += took;
        *out_made += made;
        switch (rc) {
        case Z_STREAM_END: z->inside = false; break;
        case Z_OK:
        case Z_BUF_ERROR: /* could do nothing: no input, or no room */
            if (*out_made == out_cap) return 0;
            if (*in_used < in_n && took + made > 0) break; /* more than zlib takes at once */
            if (*in_used < in_n) return fail(z, err, LEAT_ERR_FORMAT, "damaged");
            return last_input ? fail(z, err, LEAT_ERR_FORMAT, "truncated, it ends here") : 0;
        case Z_MEM_ERROR: return fail(z, err, LEAT_ERR_MEMORY, "no memory");
        case Z_NEED_DICT: return fail(z, err, LEAT_ERR_FORMAT, "needs a dictionary that is not in the file");
        default: return fail(z, err, LEAT_ERR_FORMAT, z->z.msg ? z->z.msg : "damaged");
        }
    }
}
