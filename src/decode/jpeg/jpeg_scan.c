/* SPDX-License-Identifier: Apache-2.0 */
/* The window and what leads through it: restarts, jumps and spots. The loops over blocks are in jpeg_blocks.h. */
#include "decode/jpeg/jpeg_scan.h"

/* ------------------------------------------------------------------------------------------- window */

/* An empty window, to be filled from src on. */
static void begin_window(leat__jpeg_scan *scan) {
    scan->end = scan->window + LEAT_JPEG_HISTORY + 1;
    scan->reader = (leat__jpeg_bits){.next = scan->end};
    scan->limit = scan->end - 1; /* nothing is there yet: the first block asks for more */
    scan->final = false;
    scan->mark = scan->end;
    scan->mark_at = (uint64_t)(scan->src - scan->first);
}

static void begin_segment(leat__jpeg_scan *scan) {
    begin_window(scan);
    memset(scan->prediction, 0, sizeof scan->prediction);
    scan->to_restart = scan->restart_interval;
    scan->empty = 0;
}

/* The mark to the byte that holds the next bit. Each 0xff in the window has lost a zero. */
static void move_mark(leat__jpeg_scan *scan) {
    const uint8_t *const to = scan->reader.next - (scan->reader.count + 7) / 8;
    scan->mark_at += (uint64_t)(to - scan->mark);
    for (const uint8_t *p = scan->mark; p < to && (p = memchr(p, 0xff, (size_t)(to - p))); p++)
        scan->mark_at++;
    scan->mark = to;
}

/* Keeps what was not read and unstuffs more behind it. False when there is no more, or the file ends without a marker:
 * where libjpeg-turbo notices that is its own affair. */
static bool slide_window(leat__jpeg_scan *scan) {
    if (scan->final) return false;
    if (scan->tracked) move_mark(scan);
    const uint8_t *const from = scan->reader.next - LEAT_JPEG_HISTORY;
    const size_t kept = (size_t)(scan->end - from); /* the reader is at most at the end */
    memmove(scan->window, from, kept);
    scan->reader.next = scan->window + LEAT_JPEG_HISTORY;
    if (scan->tracked) scan->mark = scan->window + (scan->mark - from);
    uint8_t *const at = scan->window + kept;
    uint8_t *const end =
        at + scan->dsp->unstuff(at, LEAT_JPEG_WINDOW - LEAT_JPEG_PAD - kept, &scan->src, scan->src_end);
    scan->end = end;
    if (scan->src_end - scan->src < 2) return false;
    if (scan->src[0] == 0xff && scan->src[1] != 0) {
        scan->final = true;
        memset(end, 0, LEAT_JPEG_BLOCK_BYTES);
        scan->limit = end + 8; /* as far as loading ahead can lead */
    } else {
        scan->limit = end - LEAT_JPEG_BLOCK_BYTES;
    }
    return true;
}

/* Bits of the window that a reader did not use; negative when it used some that are not there. */
static int64_t bits_behind(const leat__jpeg_scan *scan, const leat__jpeg_bits *reader) {
    return (scan->end - reader->next) * 8 + (int64_t)reader->count;
}
static int64_t bits_left(const leat__jpeg_scan *scan) {
    return bits_behind(scan, &scan->reader);
}

static bool is_good(const leat__jpeg_scan *scan) {
    return !scan->bad && (!scan->final || bits_left(scan) >= 0);
}

/* Whether only padding is left in front of the next marker. */
static bool is_at_marker(leat__jpeg_scan *scan) {
    while (!scan->final)
        if (bits_left(scan) >= 8 * LEAT_JPEG_BLOCK_BYTES || !slide_window(scan)) return false;
    return bits_left(scan) >= 0 && bits_left(scan) < 8;
}

/* Between two intervals only padding and the right marker are allowed. */
static bool restart(leat__jpeg_scan *scan) {
    if (!is_at_marker(scan)) return false;
    if (scan->src[1] != 0xd0 + scan->next_restart) return false;
    scan->next_restart = (scan->next_restart + 1) & 7;
    scan->src += 2;
    begin_segment(scan);
    return true;
}

/* How many of the wanted MCUs come before the next restart, which is made if it is due; 0 if it went wrong. */
static int64_t before_restart(leat__jpeg_scan *scan, int64_t n_mcus) {
    if (scan->restart_interval == 0) return n_mcus;
    if (scan->to_restart == 0 && !restart(scan)) return 0;
    const int64_t n = LEAT_MIN(n_mcus, (int64_t)scan->to_restart);
    scan->to_restart -= (int)n;
    return n;
}

/* To behind the n-th restart marker from here, without a look at what lies between; they must come in their order. */
static bool jump(leat__jpeg_scan *scan, int64_t n) {
    const uint8_t *s = scan->src;
    while (n > 0) {
        s = memchr(s, 0xff, (size_t)(scan->src_end - s));
        if (!s || scan->src_end - s < 2) return false;
        if (s[1] != 0) {
            if (s[1] != 0xd0 + scan->next_restart) return false;
            scan->next_restart = (scan->next_restart + 1) & 7;
            n--;
        }
        s += 2;
    }
    scan->src = s;
    begin_segment(scan);
    return true;
}

/* ------------------------------------------------------------------------------------------- spots */

bool leat__jpeg_scan_spot(leat__jpeg_scan *scan, leat__jpeg_spot *out) {
    move_mark(scan);
    if (scan->mark_at > UINT32_MAX / 8) return false;
    *out = (leat__jpeg_spot){.bit = (uint32_t)scan->mark_at * 8 + (-scan->reader.count & 7)};
    for (int i = 0; i < 3; i++) out->prediction[i] = (int16_t)scan->prediction[i];
    return true;
}

/* The byte that is n bytes of the file behind the mark, if it lies in the window with enough behind it to load bits. */
static const uint8_t *in_window(const leat__jpeg_scan *scan, uint64_t n) {
    const uint8_t *p = scan->mark, *const end = scan->final ? scan->end : scan->end - LEAT_JPEG_BLOCK_BYTES;
    while (p < end && n > 0) {
        const size_t look = (size_t)LEAT_MIN(n, (uint64_t)(end - p));
        const uint8_t *stuffed = memchr(p, 0xff, look);
        if (!stuffed) {
            p += look;
            n -= look;
        } else if (n < (uint64_t)(stuffed - p) + 2) {
            return NULL; /* no MCU begins with a stuffed zero */
        } else {
            n -= (uint64_t)(stuffed - p) + 2;
            p = stuffed + 1;
        }
    }
    return p < end ? p : NULL;
}

static leat__jpeg_bits reader_at(const uint8_t *p, unsigned used) {
    if (used == 0) return (leat__jpeg_bits){.next = p};
    return (leat__jpeg_bits){/* what is left of a byte */
                             .bits = (uint64_t)(uint8_t)(*p << used) << 56,
                             .count = 8 - used,
                             .next = p + 1};
}

bool leat__jpeg_scan_go(leat__jpeg_scan *scan, const leat__jpeg_spot *spot) {
    const uint64_t at = spot->bit / 8;
    move_mark(scan);
    if (at < scan->mark_at || at >= (uint64_t)(scan->src_end - scan->first)) return false;
    const uint8_t *p = in_window(scan, at - scan->mark_at);
    if (!p) {
        scan->src = scan->first + at;
        begin_window(scan);
        if (!slide_window(scan)) return false;
        p = scan->reader.next;
    }
    scan->mark = p;
    scan->mark_at = at;
    scan->reader = reader_at(p, spot->bit & 7);
    for (int i = 0; i < 3; i++) scan->prediction[i] = spot->prediction[i];
    return true;
}

/* Behind the mark. NULL: not in the window. */
static const uint8_t *byte_of(const leat__jpeg_scan *scan, const leat__jpeg_spot *spot) {
    const uint64_t at = spot->bit / 8;
    return at < scan->mark_at ? NULL : in_window(scan, at - scan->mark_at);
}

bool leat__jpeg_scan_second(leat__jpeg_scan *scan, const leat__jpeg_spot *spot, const leat__jpeg_spot *end) {
    for (int round = 0; round < 2; round++) {
        move_mark(scan);
        const uint8_t *p = byte_of(scan, spot);
        if (p && (end ? byte_of(scan, end) != NULL : scan->final)) {
            scan->second = reader_at(p, spot->bit & 7);
            for (int i = 0; i < 3; i++) scan->second_prediction[i] = spot->prediction[i];
            return true;
        }
        if (round == 0 && !slide_window(scan)) break;
    }
    return false;
}

/* -------------------------------------------------------------------------------------------- doors */

void leat__jpeg_scan_begin(leat__jpeg_scan *scan, const uint8_t *src, const uint8_t *end) {
    scan->src = scan->first = src;
    scan->src_end = end;
    scan->next_restart = 0;
    scan->bad = false;
    begin_segment(scan);
}

bool leat__jpeg_scan_read(leat__jpeg_scan *scan, int16_t *blocks, uint8_t *last, int n_mcus) {
    while (n_mcus > 0) {
        const int n = (int)before_restart(scan, n_mcus), n_blocks = n * scan->n_units;
        if (n == 0) return false;
        for (int i = 0; (i = scan->dsp->read(scan, blocks, last, i, n_blocks)) < n_blocks;)
            if (!is_good(scan) || !slide_window(scan)) return false;
        if (!is_good(scan)) return false;
        blocks += 64 * (ptrdiff_t)n_blocks;
        last += n_blocks;
        n_mcus -= n;
    }
    return true;
}

bool leat__jpeg_scan_read_two(leat__jpeg_scan *scan, int16_t *const blocks[2], uint8_t *const last[2],
                              int n_mcus) {
    return scan->dsp->read_two(scan, blocks, last, n_mcus * scan->n_units) && is_good(scan) &&
           (!scan->final || bits_behind(scan, &scan->second) >= 0);
}

void leat__jpeg_scan_take_second(leat__jpeg_scan *scan) {
    scan->reader = scan->second;
    memcpy(scan->prediction, scan->second_prediction, sizeof scan->prediction);
}

bool leat__jpeg_scan_pass(leat__jpeg_scan *scan, LEAT_FN_JPEG_PASS((*run)), const leat__jpeg_strip *strip,
                          int n_mcus) {
    for (int at = 0; at < n_mcus;) {
        const int to = at + (int)before_restart(scan, n_mcus - at);
        if (to == at) return false;
        while ((at = run(scan, strip, at, to)) < to)
            if (!is_good(scan) || !slide_window(scan)) return false;
        if (!is_good(scan)) return false;
    }
    return true;
}

bool leat__jpeg_scan_done(leat__jpeg_scan *scan, const uint8_t *marker) {
    return is_at_marker(scan) && scan->src == marker;
}

bool leat__jpeg_scan_skip(leat__jpeg_scan *scan, int64_t n_mcus) {
    if (scan->restart_interval > 0 && n_mcus > 0 && n_mcus >= scan->to_restart) {
        const int64_t n_whole = (n_mcus - scan->to_restart) / scan->restart_interval;
        n_mcus -= scan->to_restart + n_whole * scan->restart_interval;
        if (!jump(scan, 1 + n_whole)) return false;
    }
    while (n_mcus > 0) {
        const int64_t n = before_restart(scan, n_mcus), n_blocks = n * scan->n_units;
        if (n == 0) return false;
        for (int64_t i = 0; (i = scan->dsp->skip(scan, i, n_blocks)) < n_blocks;)
            if (!is_good(scan) || !slide_window(scan)) return false;
        if (!is_good(scan)) return false;
        n_mcus -= n;
    }
    return true;
}

bool leat__jpeg_scan_ends(const leat__jpeg_scan *scan) {
    const uint8_t *s = scan->src;
    while ((s = memchr(s, 0xff, (size_t)(scan->src_end - s)))) {
        while (s < scan->src_end && *s == 0xff) s++; /* fill bytes */
        if (s == scan->src_end) return false;
        if (*s != 0) return *s == 0xd9;
        s++;
    }
    return false;
}
