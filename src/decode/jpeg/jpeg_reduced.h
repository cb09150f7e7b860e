/* SPDX-License-Identifier: Apache-2.0 */
/* The factors of the inverse DCTs with fewer outputs, for their plain and their vector forms: sums of cosines times sqrt(2),
 * 8192 times. The names tell the value, as in libjpeg. */
#ifndef LEAT_DECODE_JPEG_JPEG_REDUCED_H
#define LEAT_DECODE_JPEG_JPEG_REDUCED_H

enum { /* four outputs */
       R0_211 = 1730,
       R0_509 = 4176,
       R0_601 = 4926,
       R0_765 = 6270,
       R0_899 = 7373,
       R1_061 = 8697,
       R1_451 = 11893,
       R1_847 = 15137,
       R2_172 = 17799,
       R2_562 = 20995
};

enum { R0_720 = 5906, R0_850 = 6967, R1_272 = 10426, R3_624 = 29692 }; /* two */

#endif
