/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a list of objects and as the body of a refusal: keys are texts of bounded length, and what is wrong is one line.
 * tries: base/remote/listing.c base/remote/refusal.* */
#include <stdlib.h>

#include "base/remote/refusal.h"
#include "base/remote/remote.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool truth) {
    if (!truth) abort();
}

static int take_key(void *user, const char *key, leat_error *err) {
    size_t *n = user;
    (void)err;
    *n += strlen(key) + 1;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char token[64], words[100];
    leat_error err = {0};
    size_t n = 0;
    const int rc = leat__listing_parse((const char *)data, size, take_key, &n, token, sizeof token, &err);
    require(strlen(token) < sizeof token && n <= size);
    if (rc < 0) require(err.message[0] && !strchr(err.message, '\n') && leat__error_is_fault(&err));
    require(strlen(leat__server_message((const char *)data, size, words, sizeof words)) < sizeof words);
    return 0;
}
