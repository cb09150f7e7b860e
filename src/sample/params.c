/* SPDX-License-Identifier: Apache-2.0 */
/* What was drawn for a sample, as text. Draw functions run in the order that suits a pass and not in that of the
 * pipeline's text, so pieces are noted as they come and put in order at the end. */
#include <stdio.h>
#include <stdlib.h>

#include "sample/image_op.h"

void leat__params_clear(leat__params *params) {
    params->n = 0;
    params->n_parts = 0;
    if (params->cap) params->text[0] = 0;
}

void leat__params_add_word(leat__drawing *d, const char *key, const char *word) {
    leat__params *params = d->params;
    if (!params) return;
    /* A caller that draws again sets n back: drop the pieces noted behind it. */
    while (params->n_parts > 0 && params->part[params->n_parts - 1].begin >= params->n) params->n_parts--;
    if (params->n_parts == LEAT_PARAMS_PARTS || params->n >= params->cap) return;
    const int n = snprintf(params->text + params->n, params->cap - params->n, " %s=%s", key, word);
    if (n < 0) return;
    params->part[params->n_parts++] =
        (leat__params_part){.op = d->op->number, .name = d->op->name, .begin = (uint32_t)params->n};
    params->n = LEAT_MIN(params->n + (size_t)n, params->cap);
}

/* As many digits as it takes to read the same number again, with a point in every locale. */
void leat__params_add(leat__drawing *d, const char *key, double value) {
    char text[40];
    if (!d->params) return;
    for (int digits = 9; digits <= 17; digits += digits < 15 ? 6 : 1) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    char *comma = strchr(text, ',');
    if (comma) *comma = '.';
    leat__params_add_word(d, key, text);
}

/* The part of the lowest operation above `after` in the text, the first one that it noted. */
static int next_operation(const leat__params *params, uint32_t after) {
    int best = -1;
    for (int i = 0; i < params->n_parts; i++) {
        const uint32_t place = leat__number_place(params->part[i].op);
        if (place > after && (best < 0 || place < leat__number_place(params->part[best].op))) best = i;
    }
    return best;
}

void leat__params_finish(leat__params *params) {
    char out[LEAT_PARAMS_BYTES] = "";
    size_t n = 0;
    for (int i = next_operation(params, 0); i >= 0;
         i = next_operation(params, leat__number_place(params->part[i].op))) {
        n += (size_t)snprintf(out + n, sizeof out - n, "%s%s", n ? "; " : "", params->part[i].name);
        for (int k = i; k < params->n_parts && n < sizeof out; k++) {
            const leat__params_part *part = &params->part[k];
            const size_t end = k + 1 < params->n_parts ? part[1].begin : params->n;
            if (part->op != params->part[i].op) continue;
            n += (size_t)snprintf(out + n, sizeof out - n, "%.*s", (int)(end - part->begin),
                                  params->text + part->begin);
        }
        if (n >= sizeof out) break;
    }
    const bool cut = params->n >= params->cap || n >= sizeof out || params->n_parts == LEAT_PARAMS_PARTS;
    n = LEAT_MIN(n, sizeof out - 4);
    memcpy(out + n, cut ? "..." : "", cut ? 4 : 1);
    memcpy(params->text, out, n + (cut ? 4 : 1));
}
