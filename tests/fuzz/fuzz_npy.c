/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the beginning of a .npy file: what its header says is possible, and is the same after writing it anew.
 * tries: format/npy.* */
#include <stdlib.h>

#include "base/macros.h"
#include "format/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool truth) {
    if (!truth) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    leat__npy npy, again;
    leat_error err = {0};
    const int rc = leat__npy_read_header(&npy, data, size, &err);
    if (rc < 0) {
        require(rc == LEAT_ERR_FORMAT || rc == LEAT_ERR_TYPE || rc == LEAT_ERR_LIMIT);
        require(err.code == rc && err.message[0]);
        return 0;
    }
    require(npy.header <= size && npy.ndim >= 0 && npy.ndim <= LEAT_NDIM_MAX);
    require(npy.data_bytes == npy.count * leat_dtype_size(npy.dtype));
    char text[LEAT_NPY_HEADER_MAX];
    const size_t n = leat__npy_header(text, sizeof text, npy.dtype, npy.ndim, npy.shape);
    require(n > 0 && leat__npy_read_header(&again, text, n, &err) == 0);
    require(again.dtype == npy.dtype && again.ndim == npy.ndim && again.count == npy.count);
    require(memcmp(again.shape, npy.shape, sizeof again.shape) == 0);
    return 0;
}
