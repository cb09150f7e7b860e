/* SPDX-License-Identifier: Apache-2.0 */
#include "base/runtime/process.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/hash.h"

/* The beginning of a small file of /proc, with a 0 behind it; the number of bytes, 0 if it cannot be read. */
static size_t read_small(const char *path, char *out, size_t cap) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    const ssize_t n = fd >= 0 ? read(fd, out, cap - 1) : 0;
    if (fd >= 0) close(fd);
    out[LEAT_MAX(n, (ssize_t)0)] = 0;
    return (size_t)LEAT_MAX(n, (ssize_t)0);
}

uint64_t leat__process_start(int64_t pid) {
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%" PRId64 "/stat", pid);
    if (pid <= 0 || read_small(path, text, sizeof text) == 0) return 0;
    /* "7 (name) S ...": the name may hold blanks and brackets, so fields are counted from its end on. */
    const char *at = strrchr(text, ')');
    if (!at || at[1] != ' ' || at[2] == 'Z' || at[2] == 'X') return 0;
    enum { STATE = 3, START = 22 };
    at += 2;
    for (int field = STATE; field < START; field++) {
        at = strchr(at, ' ');
        if (!at) return 0;
        at++;
    }
    return strtoull(at, NULL, 10);
}

uint64_t leat__process_place(void) {
    char text[256];
    struct stat st;
    const size_t n = read_small("/proc/sys/kernel/random/boot_id", text, sizeof text);
    const uint64_t space = stat("/proc/self/ns/pid", &st) == 0 ? (uint64_t)st.st_ino : 0;
    return leat__hash(text, n, space);
}

static const char *base_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

void leat__process_name(int64_t pid, char *out, size_t cap) {
    char path[64], text[4096];
    *out = 0;
    snprintf(path, sizeof path, "/proc/%" PRId64 "/cmdline", pid);
    const size_t n = read_small(path, text, sizeof text); /* the arguments, each with a 0 behind it */
    const char *name = base_of(text), *end = text + n;
    if (strncmp(name, "python", 6) == 0) {
        const char *at = text + strlen(text) + 1;
        bool module = false;
        while (at < end && *at == '-' &&
               !module) { /* options; a module comes behind -m, and -c has no file */
            const bool pair = strcmp(at, "-X") == 0 || strcmp(at, "-W") == 0;
            module = strcmp(at, "-m") == 0;
            at = strcmp(at, "-c") == 0 ? end : at + strlen(at) + 1;
            if (pair && at < end) at += strlen(at) + 1;
        }
        if (at < end && *at) name = module ? at : base_of(at);
    }
    leat__printable(out, cap, name, strlen(name));
}
