/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a compressed file. The first byte chooses the kind and the sizes of the pieces in which input
 * comes and output goes:  bit 0  zlib   bits 1-3  input   bits 4-6  output
 * Pieces of any size must give what one piece gives.
 * tries: format/inflate.* format/deflate/ format/checksum/ */
#include "base/mem.h"
#include "format/inflate.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { OUT_MAX = 1 << 20 }; /* a bomb may go on, we do not */

static void require(bool truth) {
    if (!truth) abort();
}

/* Returns what run returned at last, 0 if OUT_MAX was reached. */
static int inflate_all(leat__inflate *z, const uint8_t *in, size_t n, size_t in_step, size_t out_step,
                       leat__buf *out) {
    size_t at = 0;
    leat_error err = {0};
    out->size = 0;
    while (out->size < OUT_MAX) {
        const size_t give = LEAT_MIN(in_step, n - at);
        const bool last = at + give == n;
        size_t used, made;
        require(leat__buf_reserve(out, out->size + out_step));
        const int rc =
            leat__inflate_run(z, in + at, give, &used, out->data + out->size, out_step, &made, last, &err);
        require(used <= give && made <= out_step);
        at += used;
        out->size += made;
        if (rc < 0) require(err.code == rc && err.message[0]);
        if (rc == 1) require(at == n);
        if (rc != 0) return rc;
        require(used + made > 0 || !last); /* always forward */
        require(used == give || made == out_step);
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const size_t steps[8] = {1, 2, 3, 17, 100, 1000, 4096, 65536};
    if (size < 1) return 0;
    const unsigned choice = data[0];
    const size_t n = size - 1;
    uint8_t *const bytes = malloc(n ? n : 1);
    require(bytes != NULL);
    if (n) memcpy(bytes, data + 1, n);
    (void)leat__compression_detect(bytes, n);

    leat__inflate *z = leat__inflate_new(choice & 1 ? LEAT_COMPRESSION_ZLIB : LEAT_COMPRESSION_GZIP, NULL);
    leat__buf whole = {0}, pieces = {0};
    require(z != NULL);
    const int want = inflate_all(z, bytes, n, n ? n : 1, 65536, &whole);
    require(leat__inflate_reset(z) == 0);
    const int got = inflate_all(z, bytes, n, steps[choice >> 1 & 7], steps[choice >> 4 & 7], &pieces);
    const size_t common = LEAT_MIN(whole.size, pieces.size);
    require(common == 0 || memcmp(whole.data, pieces.data, common) == 0);
    if (want != 0 && got != 0) require(want == got && (want < 0 || whole.size == pieces.size));
    leat__inflate_free(&z);
    leat__buf_free(&whole);
    leat__buf_free(&pieces);
    free(bytes);
    require(leat__mem_held(LEAT_MEM_WINDOW) == 0);
    return 0;
}
