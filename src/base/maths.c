/* SPDX-License-Identifier: Apache-2.0 */
#include "base/maths.h"

#include <stdint.h>
#include <string.h>

/* ln 2 in two parts: the first has so few bits that its product with a small whole number is exact. */
static const double ln2_high = 0x1.62e42feep-1, ln2_low = 0x1.a39ef35793c76p-33;

/* 2 to the k for -1022 <= k <= 1023. */
static double power_of_two(int k) {
    const uint64_t bits = (uint64_t)(k + 1023) << 52;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

double leat__round_even(double x) {
    const double magic = 0x1.8p52; /* pushes the fraction out of the mantissa */
    if (!(x > -0x1p51 && x < 0x1p51)) return x;
    volatile double shifted = x + magic; /* must really be rounded to a double */
    return shifted - magic;
}

double leat__exp(double x) {
    if (x > 709) return __builtin_inf();
    if (!(x > -708)) return x != x ? x : 0;
    const double k = leat__round_even(x * 0x1.71547652b82fep0);
    const double r = x - k * ln2_high - k * ln2_low;
    /* |r| < 0.347: the series to the 13th power leaves less than 1e-17. */
    double sum = 1;
    for (int i = 13; i >= 1; i--) sum = 1 + sum * r / i;
    return sum * power_of_two((int)k);
}

double leat__log(double x) {
    uint64_t bits;
    int exponent = 0;
    if (x < 0x1p-1022) x *= 0x1p54, exponent = -54;
    memcpy(&bits, &x, sizeof bits);
    exponent += (int)(bits >> 52) - 1023;
    bits = (bits & UINT64_C(0xfffffffffffff)) | UINT64_C(1023) << 52;
    double m;
    memcpy(&m, &bits, sizeof m);
    if (m > 0x1.6a09e667f3bcdp0) m /= 2, exponent++;
    /* log m = 2 artanh f, |f| < 0.172: terms up to the 23rd power. */
    const double f = (m - 1) / (m + 1), s = f * f;
    double sum = 0;
    for (int i = 23; i >= 3; i -= 2) sum = (sum + 1.0 / i) * s;
    const double fraction = 2 * f + 2 * f * sum;
    return exponent * ln2_high + (fraction + exponent * ln2_low);
}
