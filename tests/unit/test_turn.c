/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: no-tsan */
/* Turned pictures, pixel by pixel, in every size of a pixel that passes have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "image/warp/turn.h"

static void every_turn(void **unused) {
    static const int sizes[][2] = {{1, 1}, {1, 40}, {33, 1}, {16, 16}, {17, 31}, {48, 50}};
    (void)unused;
    for (size_t s = 0; s < LEAT_COUNT(sizes); s++)
        for (size_t pixel = 1; pixel <= 16; pixel++)
            for (int turn = LEAT_TURN_TRANSPOSE; turn <= LEAT_TURN_RIGHT; turn++) {
                const int height = sizes[s][0], width = sizes[s][1];
                const size_t bytes = (size_t)(height * width) * pixel;
                uint8_t *src = malloc(bytes), *dst = malloc(bytes); /* exact, for the sanitizers */
                assert_true(src && dst);
                for (size_t i = 0; i < bytes; i++) src[i] = (uint8_t)(i * 2654435761u >> 11);
                leat__image_turn(dst, src, height, width, pixel, (leat__turn)turn);
                for (int y = 0; y < width; y++)
                    for (int x = 0; x < height; x++) {
                        const int from_y = turn == LEAT_TURN_RIGHT ? height - 1 - x : x;
                        const int from_x = turn == LEAT_TURN_LEFT ? width - 1 - y : y;
                        assert_memory_equal(dst + (size_t)(y * height + x) * pixel,
                                            src + (size_t)(from_y * width + from_x) * pixel, pixel);
                    }
                free(src), free(dst);
            }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_turn)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
