/* SPDX-License-Identifier: Apache-2.0 */
#include "base/maths.h"

#include <stdbool.h>
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

double leat__log_any(double x) {
    if (x > 0 && x < __builtin_inf()) return leat__log(x);
    return x == 0 ? -__builtin_inf() : x > 0 ? x : __builtin_nan("");
}

static bool is_whole(double x) {
    return !(x > -0x1p52 && x < 0x1p52) || x == leat__round_even(x);
}

static bool is_odd(double x) {
    return x > -0x1p53 && x < 0x1p53 && is_whole(x) && ((int64_t)x & 1);
}

static double whole_power(double x, double y) {
    double power = 1;
    for (int64_t n = (int64_t)(y < 0 ? -y : y); n > 0; n >>= 1, x *= x)
        if (n & 1) power *= x;
    return y < 0 ? 1 / power : power;
}

double leat__pow(double x, double y) {
    const double size = x < 0 ? -x : x, infinite = __builtin_inf();
    if (y == 0 || x == 1) return 1;
    if (x != x || y != y) return __builtin_nan("");
    if (y > -1024 && y < 1024 && is_whole(y)) return whole_power(x, y);
    if (y == 0.5 && x >= 0 && x < infinite) return leat__sqrt(x);
    if (y == infinite || y == -infinite) return size == 1 ? 1 : (size > 1) == (y > 0) ? infinite : 0;
    if (x < 0 && x > -infinite && !is_whole(y)) return __builtin_nan("");
    const double sign = x < 0 && is_odd(y) ? -1 : 1;
    if (size == 0 || size == infinite) return (size == 0) == (y < 0) ? sign * infinite : 0 * sign;
    return sign * leat__exp(y * leat__log(size));
}

double leat__fmod(double x, double y) {
    double left = x < 0 ? -x : x;
    const double size = y < 0 ? -y : y;
    if (!(left < __builtin_inf()) || size == 0 || y != y) return __builtin_nan("");
    if (size == __builtin_inf()) return x;
    /* Each difference of neighbours in size is exact. */
    while (left >= size) {
        double part = size;
        uint64_t a, b;
        memcpy(&a, &left, sizeof a);
        memcpy(&b, &part, sizeof b);
        const int apart = (int)(a >> 52) - (int)(b >> 52);
        for (int k = apart; k > 0; k -= 1000) part *= power_of_two(k < 1000 ? k : 1000);
        if (part > left) part /= 2;
        while (part <= left - part) part *= 2; /* a subnormal one is smaller than its exponent says */
        left -= part;
    }
    return x < 0 ? -left : left;
}

/* pi/2 in three parts; products of the first two with whole numbers below a million are exact. */
static const double half_pi_high = 0x1.921fb544p+0, half_pi_middle = 0x1.0b4611a6p-34,
                    half_pi_low = 0x1.3198a2e037073p-69;

/* Sine and cosine for |x| <= pi/4, by their series; the largest terms are added last. */
static double sine_series(double x) {
    const double s = x * x;
    double sum = 0;
    for (int i = 16; i >= 2; i -= 2) sum = (1 - sum) * s / (i * (i + 1));
    return x - x * sum;
}

static double cosine_series(double x) {
    const double s = x * x;
    double sum = 0;
    for (int i = 17; i >= 3; i -= 2) sum = (1 - sum) * s / (i * (i + 1));
    return 1 - (s / 2 - s / 2 * sum);
}

/* The sine of x plus so many quarters of a turn. */
static double turned_sine(double x, int quarters) {
    const double k = leat__round_even(x * 0x1.45f306dc9c883p-1);
    const double r = x - k * half_pi_high - k * half_pi_middle - k * half_pi_low;
    const int quadrant = (int)((int64_t)k + quarters) & 3;
    const double y = quadrant & 1 ? cosine_series(r) : sine_series(r);
    return quadrant & 2 ? -y : y;
}

double leat__sin(double x) {
    return x > -1e6 && x < 1e6 ? turned_sine(x, 0) : __builtin_nan("");
}

double leat__cos(double x) {
    return x > -1e6 && x < 1e6 ? turned_sine(x, 1) : __builtin_nan("");
}
