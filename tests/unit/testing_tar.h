/* SPDX-License-Identifier: Apache-2.0 */
/* Tar archives for tests. */
#ifndef LEAT_TESTS_TESTING_TAR_H
#define LEAT_TESTS_TESTING_TAR_H

#include "unit/testing.h"

static inline void set_checksum(uint8_t *h) {
    unsigned sum = 8 * ' ';
    for (int i = 0; i < 512; i++) sum += i >= 148 && i < 156 ? 0 : h[i];
    char text[8];
    snprintf(text, sizeof text, "%06o", sum & 0777777);
    memcpy(h + 148, text, 7);
    h[155] = ' ';
}

static inline void pad(leat__buf *tar) {
    static const uint8_t zeros[1024];
    leat__buf_append(tar, zeros, (512 - tar->size % 512) % 512);
}

static inline void add_header(leat__buf *tar, const char *name, char type, const char *size) {
    uint8_t h[512] = {0};
    memcpy(h, name, LEAT_MIN(strlen(name), (size_t)100));
    memcpy(h + 124, size, 11);
    h[156] = (uint8_t)type;
    memcpy(h + 257, "ustar", 6);
    set_checksum(h);
    leat__buf_append(tar, h, sizeof h);
}

static inline void add_typed(leat__buf *tar, const char *name, char type, const void *data, size_t n) {
    char size[30];
    snprintf(size, sizeof size, "%011zo", n);
    add_header(tar, name, type, size);
    leat__buf_append(tar, data, n);
    pad(tar);
}

static inline void add_file(leat__buf *tar, const char *name, const char *text) {
    add_typed(tar, name, '0', text, strlen(text));
}

static inline void add_end(leat__buf *tar) {
    static const uint8_t zeros[1024];
    leat__buf_append(tar, zeros, sizeof zeros);
}

#endif
