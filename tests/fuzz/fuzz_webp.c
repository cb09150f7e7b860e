/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a lossy WebP, by our own decoder and by libwebp: both must say the same of it and give the same rows, of a part too.
 * Beside the bits of both_decoders.h the first byte has
 *     bit 7  the bytes are a file; otherwise they are a frame, and a container is made for it
 * tries: decode/webp/ decode/x86/webp_* */
#include "fuzz/both_decoders.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CONTAINER = 20 };

static void make_container(uint8_t *bytes, size_t n) {
    memcpy(bytes, "RIFF....WEBPVP8 ", 16);
    leat__store_u32(bytes + 4, (uint32_t)(n - 8));
    leat__store_u32(bytes + 16, (uint32_t)(n - CONTAINER));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static leat__decoder *decoder;
    if (!decoder) decoder = leat__decoder_new(NULL);
    if (!decoder || size < HEAD) return 0;
    const bool is_file = data[0] & 128;
    const size_t before = is_file ? 0 : CONTAINER, n = before + size - HEAD;
    uint8_t *bytes = malloc(n + 1);
    if (!bytes) abort();
    memcpy(bytes + before, data + HEAD, size - HEAD);
    if (!is_file) make_container(bytes, n);
    leat__decode_options options = {0};
    const outcome own = decode(decoder, data, bytes, n, options, false);
    options.reference = true;
    const outcome libwebp = decode(decoder, data, bytes, n, options, false);
    must_agree(&own, &libwebp, false);
    free(bytes);
    return 0;
}
