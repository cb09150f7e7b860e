/* SPDX-License-Identifier: Apache-2.0 */
/* The one thing we want from EXIF. Reads at most the first directory of the TIFF structure, follows no
 * further offset and so cannot loop; whatever does not fit means "upright". */
#include "decode/codec.h"

enum { TAG_ORIENTATION = 0x0112, TYPE_BYTE = 1, TYPE_SHORT = 3, TYPE_LONG = 4 };

static uint32_t load16(const uint8_t *p, bool big) {
    return big ? (uint32_t)p[0] << 8 | p[1] : (uint32_t)p[1] << 8 | p[0];
}

static uint32_t load32(const uint8_t *p, bool big) {
    return big ? leat__load_be32(p) : leat__load_u32(p);
}

int leat__exif_orientation(const uint8_t *tiff, size_t n) {
    if (n < 8) return 1;
    const bool big = tiff[0] == 'M';
    if (memcmp(tiff, big ? "MM" : "II", 2) != 0 || load16(tiff + 2, big) != 42) return 1;
    const size_t at = load32(tiff + 4, big);
    if (at > n - 2) return 1;
    const size_t n_there = (n - at - 2) / 12;
    const size_t n_entries = LEAT_MIN((size_t)load16(tiff + at, big), n_there);
    for (size_t i = 0; i < n_entries; i++) {
        const uint8_t *entry = tiff + at + 2 + 12 * i;
        if (load16(entry, big) != TAG_ORIENTATION) continue;
        const uint32_t type = load16(entry + 2, big);
        uint32_t value = 1;
        if (load32(entry + 4, big) != 1) return 1;
        if (type == TYPE_SHORT) value = load16(entry + 8, big);
        else if (type == TYPE_LONG) value = load32(entry + 8, big);
        else if (type == TYPE_BYTE) value = entry[8];
        return value >= 1 && value <= 8 ? (int)value : 1;
    }
    return 1;
}

int leat__exif_block_orientation(const uint8_t *block, size_t n) {
    /* The sixth byte is 0 by the standard, but some writers put 0xff there. */
    if (n >= 6 && memcmp(block, "Exif\0", 5) == 0) return leat__exif_orientation(block + 6, n - 6);
    return leat__exif_orientation(block, n);
}
