/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that the C library computes differently from version to version and from processor to processor: here they
 * are plain arithmetic on doubles, so that the same input gives the same bits everywhere. Good to about one unit in the
 * last place; special cases only as far as the callers need them. */
#ifndef LEAT_BASE_MATHS_H
#define LEAT_BASE_MATHS_H

/* e to the x; 0 below -708, infinity above 709. */
double leat__exp(double x);
/* Natural logarithm of x > 0. */
double leat__log(double x);
/* The same for any x: of 0 minus infinity, below 0 NaN. */
double leat__log_any(double x);
/* x to the y, to a few units in the last place where y is whole, else to about |y log x| of them. Special cases as in IEEE 754. */
double leat__pow(double x, double y);
/* What is left of x when y is taken away as often as possible, exactly; it has the sign of x. */
double leat__fmod(double x, double y);
/* For -1e6 < x < 1e6; NaN otherwise. */
double leat__sin(double x);
double leat__cos(double x);
/* Square roots are exact by IEEE 754: every processor rounds them alike. */
static inline double leat__sqrt(double x) {
    return __builtin_sqrt(x);
}
/* To the nearest whole number, halves to even, as Python's round() and lrint() in its default mode. */
double leat__round_even(double x);

#endif
