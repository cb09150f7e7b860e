/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a PNG, by our own decoder and by libpng: both must say the same of it and give the same rows. Beside the bits of
 * both_decoders.h the first byte has
 *     bit 5  indices   bit 6  deep
 *     bit 7  checksums as they are; otherwise they are made right first, so that damage gets behind them
 * tries: decode/png/ decode/x86/png_* format/deflate/ */
#include "fuzz/both_decoders.h"
#include "fuzz/png_sums.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static leat__decoder *decoder;
    if (!decoder) decoder = leat__decoder_new(NULL);
    if (!decoder || size < HEAD + 8) return 0;
    const size_t n = size - HEAD;
    uint8_t *bytes = malloc(n);
    if (!bytes) abort();
    memcpy(bytes, data + HEAD, n);
    memcpy(bytes, "\x89PNG\r\n\x1a\n", 8);
    if (!(data[0] & 128)) repair_sums(bytes, n);
    leat__decode_options options = {.indices = data[0] >> 5 & 1, .deep = data[0] >> 6 & 1};
    const outcome own = decode(decoder, data, bytes, n, options, false);
    options.reference = true;
    const outcome libpng = decode(decoder, data, bytes, n, options, false);
    must_agree(&own, &libpng, data[0] & 4);
    free(bytes);
    return 0;
}
