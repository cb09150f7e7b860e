/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a bare deflate stream, decoded by leat and by zlib: the same bytes, the same verdict, the same end. The first
 * byte chooses the pieces:  bits 0-2  input   bits 3-5  output   bit 6  what was made before lies elsewhere
 * tries: format/deflate_read.h format/deflate/ */
#include "base/macros.h"
#include "format/deflate_read.h"

#include <stdlib.h>
#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ROOM = 1 << 18 }; /* a bomb may go on, we do not */

static uint8_t want[ROOM], got[ROOM], before[LEAT_DEFLATE_WINDOW];
static leat__deflate_state state;

static void require(bool truth) {
    if (!truth) abort();
}

/* 1: ended, -1: damaged, 0: input or room is missing. */
static int by_zlib(const uint8_t *in, size_t n, size_t *used, size_t *made) {
    z_stream z = {0};
    require(inflateInit2(&z, -15) == Z_OK);
    z.next_in = (Bytef *)(uintptr_t)in, z.avail_in = (uInt)n, z.next_out = want, z.avail_out = ROOM;
    const int rc = inflate(&z, Z_FINISH);
    *used = z.total_in, *made = z.total_out;
    inflateEnd(&z);
    return rc == Z_STREAM_END ? 1 : rc == Z_DATA_ERROR ? -1 : 0;
}

static int by_leat(const uint8_t *in, size_t n, size_t in_step, size_t out_step, bool apart, size_t *used,
                   size_t *made) {
    leat__deflate_io io = {.base = got, .out = got};
    size_t at = 0;
    leat__deflate_begin(&state);
    for (;;) {
        const size_t give = LEAT_MIN(in_step, n - at), room = (size_t)(got + ROOM - io.out);
        uint8_t *const piece = malloc(give ? give : 1); /* reading behind it is noticed */
        require(piece != NULL);
        if (give) memcpy(piece, in + at, give);
        io.in = piece, io.in_end = piece + give;
        io.out_end = io.out + LEAT_MIN(out_step, room);
        if (apart) {
            io.before = before;
            io.before_n = LEAT_MIN((size_t)(io.out - got), sizeof before);
            memcpy(before, io.out - io.before_n, io.before_n);
            io.base = io.out;
        }
        const char *why = NULL;
        const int rc = leat__deflate_read(&state, &io, &why);
        require(rc == 1 || (rc == 0 && (io.in == io.in_end || io.out == io.out_end)) ||
                (rc == LEAT_ERR_FORMAT && why));
        const bool stuck = io.in == piece && io.out == got + ROOM;
        at += (size_t)(io.in - piece);
        free(piece);
        *used = at, *made = (size_t)(io.out - got);
        if (rc != 0) return rc < 0 ? -1 : 1;
        if (stuck || (at == n && io.out < io.out_end)) return 0;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const size_t steps[8] = {1, 2, 7, 33, 400, 5000, 70000, ROOM};
    if (size < 1) return 0;
    const unsigned choice = data[0];
    size_t used[2], made[2];
    const int a = by_zlib(data + 1, size - 1, &used[0], &made[0]);
    const int b = by_leat(data + 1, size - 1, steps[choice & 7], steps[choice >> 3 & 7], choice >> 6 & 1,
                          &used[1], &made[1]);
    require(a == b && made[0] == made[1] && memcmp(want, got, made[0]) == 0);
    if (a == 1) require(used[0] == used[1]);
    return 0;
}
