/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: no-tsan */
/* Values of two bytes against the conversions that work on any type, and by hand where the edges are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cpu.h"
#include "image/dsp.h"
#include "image/pass/convert.h"

static leat__image_dsp tables[2];

static float float_of(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static void make_tables(void) {
    leat__image_dsp_init(&tables[0], 0);
    leat__image_dsp_init(&tables[1], leat__cpu_flags());
}

/* One of every 4099 patterns of a float and its neighbours, which covers each exponent a hundred times. */
static void against_any_type(void **unused) {
    enum { N = 3072 };
    (void)unused;
    float src[N];
    uint16_t want[N], have[N];
    uint64_t bits = 0;
    while (bits < (uint64_t)1 << 32) {
        for (size_t i = 0; i < N; i += 3, bits += 4099) {
            const uint32_t middle = (uint32_t)bits & 0xfffff000; /* halfway between two halves, or near it */
            src[i] = float_of((uint32_t)bits), src[i + 1] = float_of(middle),
            src[i + 2] = float_of(middle + 1);
        }
        for (int brain = 0; brain < 2; brain++)
            for (int t = 0; t < 2; t++) {
                leat__convert(want, brain ? LEAT_DTYPE_BF16 : LEAT_DTYPE_F16, src, LEAT_DTYPE_F32, N, false,
                              0, 0);
                (brain ? tables[t].bf16_from_f32 : tables[t].half_from_f32)(have, src, N, false);
                assert_memory_equal(have, want, sizeof want);
            }
    }
}

static void edges(void **unused) {
    static const struct {
        uint32_t from;
        uint16_t half, brain;
    } cases[] = {
        {0x00000000, 0x0000, 0x0000}, {0x80000000, 0x8000, 0x8000}, /* zeros                         */
        {0x3f800000, 0x3c00, 0x3f80}, {0xc0000000, 0xc000, 0xc000}, /* 1 and -2                      */
        {0x477fe000, 0x7bff, 0x4780}, {0x477fefff, 0x7bff, 0x4780}, /* 65504 and the last below 65520 */
        {0x477ff000, 0x7c00, 0x4780}, {0xc77ff000, 0xfc00, 0xc780}, /* 65520                         */
        {0x7f7fffff, 0x7c00, 0x7f80}, {0x7f7f7fff, 0x7c00, 0x7f7f}, /* too large for bf16, and not    */
        {0x7f800000, 0x7c00, 0x7f80}, {0xff800000, 0xfc00, 0xff80}, /* infinities                    */
        {0x7fc00000, 0x7e00, 0x7fc0}, {0x7f800001, 0x7e00, 0x7fc0}, /* a quiet and a loud NaN         */
        {0x33800000, 0x0001, 0x3380}, {0x33000000, 0x0000, 0x3300}, /* 2^-24; half of it is even zero */
        {0x33000001, 0x0001, 0x3300}, {0x33c00000, 0x0002, 0x33c0}, /* more; one and a half           */
        {0x387fffff, 0x0400, 0x3880}, {0x38800000, 0x0400, 0x3880}, /* the smallest normal one        */
        {0x00000001, 0x0000, 0x0000}, {0x807fffff, 0x8000, 0x8080}, /* floats' own subnormals        */
        {0x3f801000, 0x3c00, 0x3f80}, {0x3f803000, 0x3c02, 0x3f80}, /* halfway: to even              */
        {0x3f808000, 0x3c04, 0x3f80}, {0x3f818000, 0x3c0c, 0x3f82},
    };
    (void)unused;
    for (int t = 0; t < 2; t++)
        for (size_t i = 0; i < LEAT_COUNT(cases); i++) {
            float src[40];
            uint16_t half[40], brain[40];
            for (int k = 0; k < 40; k++) src[k] = float_of(cases[i].from); /* in a vector and in its rest */
            tables[t].half_from_f32(half, src, 40, false);
            tables[t].bf16_from_f32(brain, src, 40, false);
            for (int k = 0; k < 40; k++) {
                assert_int_equal(half[k], cases[i].half);
                assert_int_equal(brain[k], cases[i].brain);
            }
        }
}

static void sixteen_bits(void **unused) {
    enum { PIXELS = 37, CHANNELS = 5 };
    (void)unused;
    uint16_t src[PIXELS * CHANNELS], planes[PIXELS * CHANNELS];
    float values[PIXELS * CHANNELS];
    leat__chain chain = {.n = 1, .channels = 1};
    for (int i = 0; i < LEAT_CHAIN_PERIOD + 4; i++)
        chain.mul[0][i] = 1.0f / 65535.0f, chain.add[0][i] = -0.0f;
    for (size_t i = 0; i < LEAT_COUNT(src); i++) src[i] = (uint16_t)(i * 40503u);
    src[0] = 65535;
    for (int t = 0; t < 2; t++) {
        tables[t].from_u16(values, src, LEAT_COUNT(src), &chain, false);
        assert_true(values[0] == 1.0f);
        for (size_t i = 0; i < LEAT_COUNT(src); i++)
            assert_true(values[i] == (float)src[i] * (1.0f / 65535.0f));
        for (int channels = 1; channels <= CHANNELS; channels++) {
            tables[t].planar_u16[leat__image_dsp_index(channels)](planes, PIXELS, src, PIXELS, channels);
            for (int i = 0; i < PIXELS; i++)
                for (int c = 0; c < channels; c++)
                    assert_int_equal(planes[c * PIXELS + i], src[i * channels + c]);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_any_type),
        cmocka_unit_test(edges),
        cmocka_unit_test(sixteen_bits),
    };
    make_tables();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
