/* SPDX-License-Identifier: Apache-2.0 */
/* Zip archives as numpy.savez writes them: where the members lie, and how they are packed. ZIP64 too;
 * nothing that is encrypted or spread over several files. An archive is read from its end:
 *
 *     members, each behind a local header | directory | [ZIP64 end, its locator] | end record, comment */
#ifndef LEAT_FORMAT_ZIP_H
#define LEAT_FORMAT_ZIP_H

#include "base/mem.h"

/* So many bytes at the end of a file hold the end records, whatever the comment. */
#define LEAT_ZIP_TAIL ((size_t)65535 + 22 + 20 + 56)
#define LEAT_ZIP_LOCAL 30 /* bytes of a local header before its name */
#define LEAT_ZIP_DIRECTORY_MAX ((size_t)64 << 20)

typedef struct leat__zip {
    uint64_t n;         /* members, as the archive claims           */
    uint64_t directory; /* where it begins in the file              */
    uint64_t bytes;     /* of the directory: inside of the file, and not above the limit */
} leat__zip;

typedef struct leat__zip_member {
    const char *name; /* in the directory, not terminated            */
    size_t name_n;
    int method;      /* 0 stored, 8 deflated, others are not read   */
    uint32_t crc;    /* CRC-32 of the plain bytes                    */
    uint64_t packed; /* bytes in the file                            */
    uint64_t plain;  /* bytes of the member                          */
    uint64_t local;  /* where its local header begins                */
} leat__zip_member;

/* tail: the last n bytes, LEAT_ZIP_TAIL of them or all, of a file of `size` bytes. */
int leat__zip_open(leat__zip *out, const uint8_t *tail, size_t n, uint64_t size, leat_error *err);
/* The member at *at of the directory: 1, 0 at the end, LEAT_ERR_FORMAT or LEAT_ERR_UNSUPPORTED. */
int leat__zip_next(leat__zip_member *out, const uint8_t *directory, size_t n, size_t *at, leat_error *err);
/* Where the bytes of a member begin, by its local header; they end inside of a file of `size` bytes. */
int leat__zip_data(const leat__zip_member *member, const uint8_t header[LEAT_ZIP_LOCAL], uint64_t size,
                   uint64_t *data, leat_error *err);

/* A deflated member as GZIP: head, the member's bytes, foot. So the inflater (inflate.h) checks CRC and
 * length. */
enum { LEAT_ZIP_GZIP_HEAD = 10, LEAT_ZIP_GZIP_FOOT = 8 };
void leat__zip_gzip(const leat__zip_member *member, uint8_t head[LEAT_ZIP_GZIP_HEAD],
                    uint8_t foot[LEAT_ZIP_GZIP_FOOT]);

#endif
