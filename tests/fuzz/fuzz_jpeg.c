/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a JPEG, by our own decoder and by libjpeg-turbo: both must say the same of it and give the same rows. A part is decoded once
 * more from the positions that the whole picture has left. Beside the bits of both_decoders.h the first byte has
 *     bit 5  our own decoder's rows as planes   bit 6  the fast inverse transform
 *     bit 7  at 1/2, 1/4 or 1/8, by the next byte
 * tries: decode/jpeg/ decode/x86/jpeg_* decode/arm/ */
#include "fuzz/both_decoders.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int take_scale(void *user, const leat__picture_info *info, leat_error *err) {
    (void)info, (void)err;
    return 2 << *(const uint8_t *)user % 3;
}

/* The verdict and the rows of a part do not depend on what earlier visits have noted. */
static void must_agree_with_positions(leat__decoder *decoder, const uint8_t *data, const uint8_t *bytes,
                                      size_t n, leat__decode_options options, const outcome *own) {
    const uint8_t whole[HEAD] = {(uint8_t)(data[0] & ~4)};
    leat__buf block = {.kind = LEAT_MEM_WORKER};
    leat__decode_positions positions = {
        .key = leat__jpeg_store_key(bytes, n), .block = &block, .bytes_max = SIZE_MAX};
    options.positions = &positions;
    outcome first = decode(decoder, whole, bytes, n, options, data[0] & 32);
    outcome again = decode(decoder, data, bytes, n, options, data[0] & 32);
    if (positions.refused || again.rc != own->rc || again.n != own->n ||
        (own->rc < 0 ? strcmp(again.err.message, own->err.message) != 0
                     : memcmp(again.rows, own->rows, own->n) != 0))
        abort();
    free(first.rows);
    free(again.rows);
    leat__buf_free(&block);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static leat__decoder *decoder;
    if (!decoder) decoder = leat__decoder_new(NULL);
    if (!decoder || size < HEAD + 3) return 0;
    const uint8_t *bytes = data + HEAD;
    const size_t n = size - HEAD;
    if (leat__codec_detect(bytes, n) != LEAT_CODEC_JPEG) return 0;
    uint8_t shape = data[1];
    leat__decode_options options = {.scans_max = 10,
                                    .fast = data[0] >> 6 & 1,
                                    .scale = data[0] & 128 ? take_scale : NULL,
                                    .scale_user = &shape};
    const outcome own = decode(decoder, data, bytes, n, options, data[0] & 32);
    if (data[0] & 4) must_agree_with_positions(decoder, data, bytes, n, options, &own);
    options.reference = true;
    const outcome turbo = decode(decoder, data, bytes, n, options, false);
    must_agree(&own, &turbo, data[0] & 4);
    return 0;
}
