/* SPDX-License-Identifier: Apache-2.0 */
/* leat-test: no-tsan */
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
    if (!(fabs(got - want) <= 4e-16 * fabs(want) + 1e-300))
        fail_msg("f(%.17g) = %.17g, the C library says %.17g", x, got, want);
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
        if (!(fabs(got - want) <= 4e-16 * fabs(want) + 2e-17))
            fail_msg("log(%.17g) = %.17g, not %.17g", x, got, want);
    }
    assert_true(leat__log(1) == 0);
    check_near(leat__log(0x1p-1070), log(0x1p-1070), 0x1p-1070);
}

static void pow_is_near(void **state) {
    (void)state;
    leat__rng rng = leat__rng_at(8, 0, 0, 0);
    for (int i = 0; i < 100000; i++) {
        const double x = between(&rng, 0, 20), y = between(&rng, -20, 20), want = pow(x, y);
        if (!(fabs(leat__pow(x, y) - want) <= 1e-13 * want)) fail_msg("pow(%.17g, %.17g)", x, y);
        const double whole = (double)((int)y), less = x - 10, turned = pow(less, whole);
        if (!(fabs(leat__pow(less, whole) - turned) <= 2e-14 * fabs(turned)))
            fail_msg("pow(%.17g, %g)", less, whole);
    }
    static const double odd[] = {0,  -0.0,     1,         -1,  0.5,   -0.5,  2,   3,
                                 -3, INFINITY, -INFINITY, NAN, 1e300, -1025, 1e19};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        for (size_t k = 0; k < sizeof odd / sizeof *odd; k++) {
            const double want = pow(odd[i], odd[k]), got = leat__pow(odd[i], odd[k]);
            if (isnan(want) != isnan(got) ||
                (!isnan(want) && fabs(want) < 1e290 && (want == 0 || fabs(want) > 1e-290) &&
                 !(fabs(got - want) <= 1e-12 * fabs(want))))
                fail_msg("pow(%g, %g) = %g, not %g", odd[i], odd[k], got, want);
        }
}

static void fmod_and_log_are_exact(void **state) {
    (void)state;
    leat__rng rng = leat__rng_at(9, 0, 0, 0);
    for (int i = 0; i < 100000; i++) {
        const double x = between(&rng, -1, 1) * exp(between(&rng, -300, 300)),
                     y = between(&rng, -1, 1) * exp(between(&rng, -30, 30));
        assert_true(leat__fmod(x, y) == fmod(x, y));
    }
    assert_true(isnan(leat__fmod(1, 0)) && isnan(leat__fmod(INFINITY, 2)) && leat__fmod(3, INFINITY) == 3);
    assert_true(leat__fmod(5e-324, 3e-310) == 5e-324 && leat__fmod(1e300, 5e-324) == 0);
    assert_true(isinf(leat__log_any(0)) && isnan(leat__log_any(-1)) && isinf(leat__log_any(INFINITY)));
}

static void sin_and_cos_are_near(void **state) {
    (void)state;
    leat__rng rng = leat__rng_at(5, 0, 0, 0);
    for (int i = 0; i < 400000; i++) {
        const double range = i % 4 == 0 ? 1e5 : i % 4 == 1 ? 0.8 : 20;
        double x = between(&rng, -range, range);
        if (i % 4 == 3) x = 1.5707963267948966 * (double)(int)x; /* where one of them is next to 0 */
        const double s = leat__sin(x), c = leat__cos(x);
        if (!(fabs(s - sin(x)) <= 4e-16 * fabs(sin(x))))
            fail_msg("sin(%.17g) = %.17g, not %.17g", x, s, sin(x));
        if (!(fabs(c - cos(x)) <= 4e-16 * fabs(cos(x))))
            fail_msg("cos(%.17g) = %.17g, not %.17g", x, c, cos(x));
    }
    assert_true(leat__sin(0) == 0 && leat__cos(0) == 1);
    assert_true(isnan(leat__sin(1e300)) && isnan(leat__cos(INFINITY)) && isnan(leat__sin(NAN)));
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
        const double x = between(&rng, 0.01, 50);
        const double y[4] = {leat__exp(x), leat__log(x), leat__sin(x), leat__cos(x)};
        digest = leat__hash(y, sizeof y, digest);
    }
    assert_int_equal(digest, UINT64_C(0xeddf11ea1b9cb7fe));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exp_is_near),          cmocka_unit_test(log_is_near),
        cmocka_unit_test(pow_is_near),          cmocka_unit_test(fmod_and_log_are_exact),
        cmocka_unit_test(sin_and_cos_are_near), cmocka_unit_test(rounds_halves_to_even),
        cmocka_unit_test(bits_are_fixed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
