/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/limit.h"

#include <stdlib.h>

#include "plan/op.h"

int leat__cache_limit(const char *cache_dir, uint64_t *out, leat_error *err) {
    const char *text = getenv("LEAT_CACHE_BYTES");
    int64_t bytes;
    char shown[100];
    *out = leat__sets_default(cache_dir);
    if (!text || !*text) return 0;
    if (!leat__parse_int(text, &bytes) || bytes < 0)
        return leat__fail(err, LEAT_ERR_ARGUMENT,
                          "LEAT_CACHE_BYTES must be a number of bytes such as 4GiB or 500MiB, not '%s'",
                          leat__printable(shown, sizeof shown, text, strlen(text)));
    *out = (uint64_t)bytes;
    return 0;
}
