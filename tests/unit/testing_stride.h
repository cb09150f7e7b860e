/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LEAT_TEST_STRIDE_H
#define LEAT_TEST_STRIDE_H

/* Of many cases of one kind a sanitizer runs every so many-th; the release build runs all. */
#if defined(__SANITIZE_THREAD__) /* starting threads takes it long, and a race shows in any of the cases */
enum { STRIDE = 8 };
#elif defined(__SANITIZE_ADDRESS__)
enum { STRIDE = 3 };
#else
enum { STRIDE = 1 };
#endif

#endif
