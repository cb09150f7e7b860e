/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32C with carry-less multiplications of 256 bits and the processor's own instruction at the same time.
 *
 * The instruction takes eight bytes a cycle and no more, however many stretches run side by side
 * (crc32c_sse42.c). Multiplications are done by another unit, which would stand idle meanwhile. So a block is
 * cut in two: its front is folded by multiplications, its back goes through the instruction in three lanes.
 *
 *     | front, crc so far   | lane 0, from 0      | lane 1, from 0      | lane 2, from 0      |
 *       turns * 96 bytes      turns * 40 bytes      turns * 40 bytes      turns * 40 bytes
 *
 * One turn of the loop takes 96 bytes of the front, in three sums of 32, and five words of every lane. Of the
 * shares that were measured (Zen 3, gcc 12) this was the fastest, by 3 % or more; with clang 14 some were
 * level.
 *
 * All constants are powers of x modulo P. To move a value on by n bits is to multiply it by x^n. A carry-less
 * product of 64 reflected bits and 32 reflected bits, read as 128 reflected bits, has a factor x^33 too many,
 * hence x^(n - 33); so it has when it is fed to the instruction, as crc32c_sse42.c explains. Folding moves a
 * sum of 16 bytes on by some distance and adds what lies there; the first eight bytes of the sum have 64 bits
 * farther to go than the last eight. tests/unit/test_crc32c.c computes every constant anew. */
#if defined(__x86_64__)

#include "format/crc32c.h"
#include "format/x86/fold_256.h"

enum {
    FRONT = 96, /* bytes of the front in one turn: three registers      */
    WORDS = 5,  /* words of a lane in one turn, spelled out in the loop */
    TURN = FRONT + 3 * 8 * WORDS,
    TURNS_MAX = LEAT_COUNT(leat__crc32c_lane_power) / 3,
    LEAST = 2 * TURN, /* bytes; below, joining costs what is gained */
};

/* For 96, 32 and 16 bytes: x^(8 bytes + 64 - 33), x^(8 bytes - 33). */
const uint32_t leat__crc32c_fold_power[3][2] = {
    {0xc49f4f67, 0x0715ce53},
    {0x3da6d0cb, 0xba4fc28e},
    {0xf20c0dfe, 0x493c7d27},
};

/* [i]: x^(320 (i + 1) - 33), which moves on by i + 1 times the 40 bytes that a lane takes in a turn; three
 * lanes of 64 turns are the farthest. As any number of turns is in it, one last block takes nearly all that is
 * left. Blocks of more turns gain nothing. */
const uint32_t leat__crc32c_lane_power[192] = {
    0x3da6d0cb, 0x39d3b296, 0x2ad91c30, 0x878a92a7, 0xa87ab8a8, 0x299847d5, 0xf37c5aee, 0xbac2fd7b,
    0xa00457f7, 0xc619809d, 0xe0e9f351, 0xb3e32c28, 0xbd6f81f8, 0xc7a68855, 0xa3c6f37a, 0x6b749fb2,
    0xe417f38a, 0x8227bb8a, 0x61ff0e01, 0x0167d312, 0xd8d26619, 0x49c3cc9c, 0xdde8f5b9, 0x3771e98f,
    0xdf99fc11, 0x444dd413, 0x29f268b4, 0xf872e54c, 0x63ae91e6, 0xa90fd27a, 0xccc4a1b9, 0xdd66cbbb,
    0xa1962329, 0x3f70cc6f, 0x88eb3c07, 0x2342001e, 0x6ef22b23, 0x995a5724, 0x8ec52396, 0x2664fd8b,
    0x79afdf1c, 0x135c83fd, 0xe0a22e29, 0x17f27698, 0xde8a97f8, 0x59f229bc, 0x72cbfcdb, 0xf48642e9,
    0x72675ce8, 0xa563905d, 0xae1175c2, 0x80f2886b, 0xd2fd8e3c, 0x8e1450f7, 0x650ef6c5, 0xdefba41c,
    0x9fd51b88, 0xeca08ffe, 0xe9bbf648, 0xd6c3a807, 0xea1cb6e7, 0x13184649, 0x8b9be230, 0x22c3799f,
    0x5e5dcd95, 0x2e7d11a7, 0x141e8512, 0x5aa1f3cf, 0x9948a7d2, 0x60bf0a6a, 0x1c4b4b66, 0x465a4eee,
    0xbe4437af, 0xd0a37f43, 0x25381aa9, 0x51aeef66, 0xdada9a0b, 0x469aef86, 0xcaa30fb6, 0xf8448640,
    0x6c7202d4, 0x91de6176, 0x03dc067e, 0xaeb3e622, 0x3f11b791, 0xde42c92a, 0x9decdda2, 0x4ac726eb,
    0x1e30c7cc, 0x997157e1, 0x3d25fd90, 0xd1a9427c, 0x29e80783, 0x83c2df88, 0x6fcb00e8, 0x23d5e7e5,
    0x073855cd, 0xea6dd7dc, 0x13608e53, 0xcecfcd43, 0x9c1de0de, 0xcf067065, 0x7991d01d, 0xc4cedd32,
    0xb386e264, 0xe622aaca, 0xfc70c770, 0xf36d84e2, 0xa85f6c41, 0xfb3bb2c8, 0x11828553, 0x4de20a7c,
    0x9d55d9e5, 0x032a8058, 0x72364779, 0x3f2e57b1, 0x89be7362, 0x1fb48d12, 0x0fcf00e5, 0xf6e6d69e,
    0x7a02a1dd, 0xf206e4b8, 0x58d6e906, 0x93189d18, 0x7249e576, 0xab819fbb, 0x25b7e932, 0xca110698,
    0xa174826f, 0x60bced33, 0x472b181f, 0x7959fe2a, 0xe5aa48c5, 0x007ca0f9, 0x6a80acf0, 0xfa0f2bd0,
    0x80a2e9d2, 0x618e0996, 0x8739b695, 0x71cc89e8, 0xc52ab50d, 0x0fe9df58, 0x910981f5, 0x6bce9345,
    0x5da46601, 0x0f89d165, 0xc299c464, 0x6c5364c0, 0xce5bee64, 0x734fe0e4, 0x340348bb, 0xc6e71129,
    0x82275685, 0x1141a2d7, 0xc82f08a3, 0xc7962554, 0x8776d18e, 0x9e969082, 0x64a61466, 0xdbf6533d,
    0x092c4ea6, 0x9f65f23f, 0xd533c56a, 0xff509ad0, 0xcb955ea4, 0x91462c41, 0xc94c32d3, 0xfc160434,
    0x3fc3a949, 0xf94b6383, 0x28b9b30b, 0xe12cf4f1, 0xf3513434, 0x54aba205, 0x014d65ac, 0xfa96021e,
    0x0165fb80, 0x1a8cbb49, 0x510c86a8, 0xe917069f, 0xb7edfa75, 0x1fd5f56e, 0x9677aa52, 0x6dad97a6,
    0xcf7b8bd0, 0x26cf5ba2, 0x88369769, 0xa3aeb795, 0xb9a70e06, 0xa934549e, 0xa9fe82af, 0xf7ac8f1f,
};

static inline uint64_t load(const uint8_t *p) {
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline uint64_t product(uint64_t crc, uint32_t power) {
    const __m128i a = _mm_cvtsi64_si128((long long)crc), b = _mm_cvtsi64_si128((long long)power);
    return (uint64_t)_mm_cvtsi128_si64(_mm_clmulepi64_si128(a, b, 0));
}

/* The sums stand for 96 bytes, one after the other: their checksum, from 0. */
static inline uint64_t reduce(__m256i s0, __m256i s1, __m256i s2) {
    const __m256i by32 = _mm256_broadcastsi128_si256(leat__fold_powers(leat__crc32c_fold_power[1]));
    const __m256i sum = leat__fold(leat__fold(s0, by32, s1), by32, s2);
    const __m128i end = leat__fold_halves(sum, leat__fold_powers(leat__crc32c_fold_power[2]));
    const uint64_t crc = _mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(end));
    return _mm_crc32_u64(crc, (uint64_t)_mm_extract_epi64(end, 1));
}

/* Word i of every lane. */
static inline void step(uint64_t crc[3], const uint8_t *const lane[3], size_t i) {
    crc[0] = _mm_crc32_u64(crc[0], load(lane[0] + 8 * i));
    crc[1] = _mm_crc32_u64(crc[1], load(lane[1] + 8 * i));
    crc[2] = _mm_crc32_u64(crc[2], load(lane[2] + 8 * i));
}

/* One block; turns is 2 to TURNS_MAX. */
static inline uint64_t block(uint64_t crc, const uint8_t *p, size_t turns) {
    const __m256i by96 = _mm256_broadcastsi128_si256(leat__fold_powers(leat__crc32c_fold_power[0]));
    const size_t lane_bytes = turns * 8 * WORDS;
    const uint8_t *const end = p + turns * FRONT;
    /* Three pointers, not one and two distances, and words between the folds, not after them: compilers keep
     * what is written here, and it is worth 6 to 11 %. */
    const uint8_t *lane[3] = {end, end + lane_bytes, end + 2 * lane_bytes};
    uint64_t c[3] = {0, 0, 0};
    __m256i s0 = leat__fold_load(p), s1 = leat__fold_load(p + 32), s2 = leat__fold_load(p + 64);
    s0 = _mm256_xor_si256(s0, _mm256_zextsi128_si256(_mm_cvtsi64_si128((long long)crc)));
    for (p += FRONT; p < end; p += FRONT) {
        s0 = leat__fold(s0, by96, leat__fold_load(p));
        step(c, lane, 0);
        step(c, lane, 1);
        s1 = leat__fold(s1, by96, leat__fold_load(p + 32));
        step(c, lane, 2);
        step(c, lane, 3);
        s2 = leat__fold(s2, by96, leat__fold_load(p + 64));
        step(c, lane, 4);
        for (int k = 0; k < 3; k++) lane[k] += 8 * WORDS;
    }
    /* The front was one turn ahead: it is reduced while the lanes take their last words. The very last word of
     * lane 2 waits for the rest, which is added to it: that saves a step, as in crc32c_sse42.c. */
    const uint64_t front = reduce(s0, s1, s2);
    for (size_t i = 0; i < WORDS - 1; i++) step(c, lane, i);
    const size_t last = 8 * (WORDS - 1);
    c[0] = _mm_crc32_u64(c[0], load(lane[0] + last));
    c[1] = _mm_crc32_u64(c[1], load(lane[1] + last));
    const uint64_t moved = product(front, leat__crc32c_lane_power[3 * turns - 1]) ^
                           product(c[0], leat__crc32c_lane_power[2 * turns - 1]) ^
                           product(c[1], leat__crc32c_lane_power[turns - 1]);
    return _mm_crc32_u64(c[2], load(lane[2] + last) ^ moved);
}

uint32_t leat__crc32c_extend_vpclmul(uint32_t crc, const void *bytes, size_t n) {
    const uint8_t *p = bytes;
    uint64_t c = (uint32_t)~crc;
    while (n >= LEAST) {
        const size_t turns = LEAT_MIN(n / TURN, (size_t)TURNS_MAX);
        c = block(c, p, turns);
        p += turns * TURN;
        n -= turns * TURN;
    }
    return leat__crc32c_extend_sse42(~(uint32_t)c, p, n);
}

#else
typedef int leat__no_x86; /* an empty file is not C */
#endif
