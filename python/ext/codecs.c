/* SPDX-License-Identifier: Apache-2.0 */
/* Codecs from the distribution's static libraries inside a shared one. They are compiled for programs, where a variable of
 * the C library can be reached directly; in a shared library it cannot. The only such variable is stderr, which libpng's and
 * libjpeg's own error functions name (ours are used instead of them). The linker gives them this one (--wrap=stderr). */
#include "binding.h"

#ifdef LEAT_STATIC_CODECS
extern FILE *__real_stderr;
__attribute__((visibility("hidden"))) FILE *__wrap_stderr;

__attribute__((constructor)) static void set_stderr(void) {
    __wrap_stderr = __real_stderr;
}
#endif
