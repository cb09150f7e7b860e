/* SPDX-License-Identifier: Apache-2.0 */
/* base/maths against the C library: near it everywhere, and the same bits as recorded here on every machine. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/maths.h"
#include "base/rng.h"

static double between(leat__rng *rng, double low, double high) {
    return low + (high - low) * leat__rng_unit(rng);
}

static void check_near(double got, double want, double x) {
    if (!(fabs(got - want) <= 4e-16 * fabs(want) + 1e-300)) fail_msg("f(%.17g) = %.17g, the C library says %.17g", x, got, want);
}

static void exp_is_near(void **state) {
    (void)state;
    leat__rng rng = leat__rng_at(1, 0, 0, 0);
    for (int i = 0; i < 200000; i++) {
        const double x = between(&rng, i & 1 ? -700 : -2, i & 1 ? 700 : 2);
        check_near(leat__exp(x), exp(x), x);
    }
    assert_true(leat__exp(0) == 1);
    assert_true(leat__exp(-1e9) == 0);
    assert_true(isinf(leat__exp(1e9)));
}

static void log_is_near(void **state) {
    (void)state;
    leat__rng rng = leat__rng_at(2, 0, 0, 0);
    for (int i = 0; i < 200000; i++) {
        const double x = i & 1 ? exp(between(&rng, -700, 700)) : between(&rng, 0.5, 2);
        const double got = leat__log(x), want = log(x);
        if (!(fabs(got - want) <= 4e-16 * fabs(want) + 2e-17)) fail_msg("log(%.17g) = %.17g, not %.17g", x, got, want);
    }
    assert_true(leat__log(1) == 0);
    check_near(leat__log(0x1p-1070), log(0x1p-1070), 0x1p-1070);
}

static void rounds_halves_to_even(void **state) {
    (void)state;
    leat__rng rng = leat__rng_at(3, 0, 0, 0);
    for (int i = -2000; i <= 2000; i++) assert_true(leat__round_even(i / 4.0) == nearbyint(i / 4.0));
    for (int i = 0; i < 100000; i++) {
        const double x = between(&rng, -1e9, 1e9);
        assert_true(leat__round_even(x) == nearbyint(x));
    }
}

/* A change of one bit anywhere changes augmentations: then this digest must be changed knowingly. */
static void bits_are_fixed(void **state) {
    (void)state;
    leat__rng rng = leat__rng_at(4, 0, 0, 0);
    uint64_t digest = 0;
    for (int i = 0; i < 10000; i++) {
        const double x = between(&rng, 0.01, 50), y[2] = {leat__exp(x), leat__log(x)};
        digest = leat__hash(y, sizeof y, digest);
    }
    assert_int_equal(digest, UINT64_C(0xa709aa6b150b5245));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exp_is_near),
        cmocka_unit_test(log_is_near),
        cmocka_unit_test(rounds_halves_to_even),
        cmocka_unit_test(bits_are_fixed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
