/* SPDX-License-Identifier: Apache-2.0 */
/* The factors of the inverse DCTs, for their plain and their vector forms: sums and differences of cosines, 8192 times for
 * the accurate one, 256 times for the fast one. The names tell the value, as in libjpeg. */
#ifndef LEAT_DECODE_JPEG_JPEG_IDCT_H
#define LEAT_DECODE_JPEG_JPEG_IDCT_H

enum {
    C0_298 = 2446,
    C0_390 = 3196,
    C0_541 = 4433,
    C0_765 = 6270,
    C0_899 = 7373,
    C1_175 = 9633,
    C1_501 = 12299,
    C1_847 = 15137,
    C1_961 = 16069,
    C2_053 = 16819,
    C2_562 = 20995,
    C3_072 = 25172
};

enum { F1_082 = 277, F1_414 = 362, F1_613 = 413, F1_847 = 473 };

#endif
