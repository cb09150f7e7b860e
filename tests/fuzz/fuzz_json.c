/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as JSON, and as TF_CONFIG: what is found lies inside of the text, and a rank is one that there can be.
 * tries: format/json.* plan/rank.* */
#include <stdlib.h>

#include "format/json.h"
#include "plan/rank.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool truth) {
    if (!truth) abort();
}

static void walk(const leat__json *value, const char *text, size_t size, int depth) {
    leat__json inner;
    const char *at = NULL;
    int64_t number;
    char word[16];
    require(value->at >= text && value->at < value->end && value->end <= text + size);
    if (leat__json_text(value, word, sizeof word)) require(strlen(word) < sizeof word);
    leat__json_int(value, &number);
    if (depth > 3) return;
    for (int i = 0; i < 8 && leat__json_next(value, &at, &inner); i++) walk(&inner, text, size, depth + 1);
    leat__json key;
    at = NULL;
    for (int i = 0; i < 8 && leat__json_member(value, &at, &key, &inner); i++) {
        walk(&key, text, size, depth + 1);
        walk(&inner, text, size, depth + 1);
    }
    if (leat__json_find(value, "cluster", &inner) == 1) walk(&inner, text, size, depth + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = malloc(size ? size : 1); /* of its very size: reading past it is seen */
    leat__json all;
    leat__rank rank;
    leat_error err = {0};
    if (!text) return 0;
    memcpy(text, data, size);
    const bool good = leat__json_open(&all, text, size);
    if (good) walk(&all, text, size, 0);
    const int rc = leat__rank_tf_config(&rank, text, size, &err);
    require(rc == 0 ? good : rc == LEAT_ERR_ARGUMENT && err.message[0]);
    if (rc == 0)
        require(rank.rank >= 0 && rank.rank < rank.world && rank.local >= 1 && rank.local <= rank.world);
    free(text);
    return 0;
}
