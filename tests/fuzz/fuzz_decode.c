/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as an image. The first byte chooses options, the rest is the file:
 *     bits 0-1  channels   bit 2  orient   bit 3  fast   bits 4-5  rows per call   bit 6  end early   bit 7  deep
 * One decoder serves all inputs, as in a worker, so that damage left behind by one file shows in the
 * next. A file that decodes must decode to the same pixels a second time, whatever the rows per call.
 * tries: decode/[a-z]*.[ch] */
#include "decode/decode.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Decodes into exactly as much memory as the rows take. Returns the pixels or NULL. */
static uint8_t *decode(leat__decoder *decoder, const uint8_t *bytes, size_t n,
                       const leat__decode_options *options, int step, bool early, size_t *n_bytes) {
    leat__picture_info info, told;
    leat_error err;
    const int info_rc = leat__decode_info(decoder, bytes, n, options, &told, &err);
    if (leat__decode_begin(decoder, bytes, n, options, &info, &err) < 0) {
        if (err.code >= 0 || !memchr(err.message, 0, sizeof err.message) || !err.message[0]) abort();
        return NULL;
    }
    if (info_rc != 0 || info.codec != told.codec || info.width != told.width || info.height != told.height ||
        info.channels != told.channels || info.orientation != told.orientation)
        abort();
    if (info.dtype != (options->deep ? LEAT_DTYPE_U16 : LEAT_DTYPE_U8)) abort();
    const size_t stride = ((size_t)info.width * (size_t)info.channels) << options->deep;
    *n_bytes = stride * (size_t)info.height;
    uint8_t *pixels = malloc(*n_bytes);
    if (!pixels) abort();
    const int last = early ? info.height / 2 : info.height;
    if (step == 0) step = info.height;
    bool ok = true;
    for (int y = 0; ok && y < last; y += step)
        ok = leat__decode_rows(decoder, pixels + (size_t)y * stride, (ptrdiff_t)stride,
                               LEAT_MIN(step, last - y), &err) == 0;
    const int rc = leat__decode_end(decoder, &err);
    if (!ok && rc == 0) abort();
    if (rc == 0 && !early) return pixels;
    free(pixels);
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const int channels[] = {0, 1, 3, 4}, steps[] = {0, 1, 5, 16};
    static leat__decoder *decoder;
    if (!decoder) decoder = leat__decoder_new(NULL);
    if (!decoder || size < 1) return 0;
    const unsigned o = data[0];
    const leat__decode_options options = {.channels = channels[o & 3],
                                          .orient = o >> 2 & 1,
                                          .fast = o >> 3 & 1,
                                          .deep = o >> 7 & 1,
                                          .indices = (o & 11) == 9,
                                          .pixels_max = 1 << 17,
                                          .side_max = 20000,
                                          .scans_max = 12,
                                          .memory_max = 16 << 20};
    const bool early = o >> 6 & 1;
    size_t n_first = 0, n_second = 0;
    uint8_t *first = decode(decoder, data + 1, size - 1, &options, steps[o >> 4 & 3], early, &n_first);
    if (!early) {
        uint8_t *second = decode(decoder, data + 1, size - 1, &options, 3, false, &n_second);
        if (!first != !second || (first && (n_first != n_second || memcmp(first, second, n_first) != 0)))
            abort();
        free(second);
    }
    free(first);
    return 0;
}
