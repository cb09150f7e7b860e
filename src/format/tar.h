/* SPDX-License-Identifier: Apache-2.0 */
/* Tar archives: ustar, GNU and pax, and the old format without a magic word.
 *
 *     header, 512 bytes: name, size, checksum, type, ... | data, padded to a multiple of 512 | header | ... | 512 zero bytes
 *
 * A name that does not fit comes as the data of a member of type L before it (GNU), or in a text of type x (pax), which may
 * hold a size too. Sizes are octal digits, or binary where those do not suffice. */
#ifndef LEAT_FORMAT_TAR_H
#define LEAT_FORMAT_TAR_H

#include "base/error.h"

enum {
    LEAT_TAR_BLOCK = 512,
    LEAT_TAR_NAME_MAX = 4096,   /* bytes of a name, its end too */
    LEAT_TAR_PAX_MAX = 1 << 20, /* bytes of a pax header        */
};

/* n bytes at offset of the archive, where they are; NULL with a message if they cannot be read. Valid until the next call. */
typedef const uint8_t *leat__tar_look_fn(void *user, uint64_t offset, size_t n, leat_error *err);

typedef struct leat__tar_member {
    uint64_t begin; /* of its first header, which may be that of a long name */
    uint64_t data;  /* where its bytes begin                                 */
    uint64_t size;
    uint64_t next; /* where the next member begins, at most the end          */
    bool regular;  /* a file, not a folder, a link or a device               */
    /* NULL, or what is wrong with the member that begins here. Then only begin and cut_off are set. */
    const char *problem;
    bool cut_off; /* the archive ends inside of it */
    char name[LEAT_TAR_NAME_MAX];
} leat__tar_member;

/* The member that begins at offset `at` of an archive of `end` bytes: 1, also if there is a problem with it; 0 at the end of
 * the archive; < 0 if look fails. */
int leat__tar_next(leat__tar_look_fn *look, void *user, uint64_t at, uint64_t end, leat__tar_member *out,
                   leat_error *err);
/* Whether a block is a header with a right checksum. */
bool leat__tar_is_header(const uint8_t block[LEAT_TAR_BLOCK]);

#endif
