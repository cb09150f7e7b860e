/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/jpeg/jpeg_notes.h"

#include "base/hash.h"

enum {
    NOTE = 10,
    APART =
        64, /* pixels between two notes of a row: skipping half of that costs less than more notes would */
    NOTES_MAX = 16384 /* of a picture; a larger one has those at the beginnings of rows */
};

typedef struct head {
    uint64_t seal;
    uint16_t across, down, step, zero;
    uint32_t n, zeros;
} head;

uint64_t leat__notes_key(const uint8_t *bytes, size_t n) {
    return leat__hash(bytes, n, 0);
}

static size_t block_bytes(uint32_t n) {
    return sizeof(head) + (size_t)n * NOTE;
}

static uint64_t seal_of(const uint8_t *block, size_t n, uint64_t key) {
    return leat__hash(block + sizeof(uint64_t), n - sizeof(uint64_t), key);
}

static void set_step(leat__jpeg_notes *notes, int step, int down) {
    notes->step = step;
    notes->per_row = (notes->across + step - 1) / step;
    notes->n_all = (uint32_t)notes->per_row * (uint32_t)down;
}

static void choose_step(leat__jpeg_notes *notes, const leat__jpeg_head *of) {
    set_step(notes, LEAT_MIN(APART / (8 * of->h_max), of->mcus_across), of->mcus_down);
    if (notes->n_all > NOTES_MAX || block_bytes(notes->n_all) > notes->asked->bytes_max)
        set_step(notes, of->mcus_across, of->mcus_down);
}

/* Whether the block was made from this file. */
static bool take_known(leat__jpeg_notes *notes, const leat__jpeg_head *of) {
    const leat__buf *block = notes->asked->block;
    head known;
    if (block->size < sizeof known) return false;
    memcpy(&known, block->data, sizeof known);
    if (known.seal != seal_of(block->data, block->size, notes->asked->key)) return false;
    if (known.across != of->mcus_across || known.down != of->mcus_down || known.step < 1 ||
        known.step > known.across)
        return false;
    set_step(notes, known.step, of->mcus_down);
    notes->n = known.n;
    return known.n <= notes->n_all && notes->n_all <= NOTES_MAX && block->size == block_bytes(known.n);
}

/* Whether the scan ends somewhere in front of the file's end. Where it does not, how far one reads ahead may decide whether
 * a part of the picture is complete: then it shall not depend on notes. */
static bool has_end(const leat__jpeg_head *of) {
    enum { TAIL = 256 };
    const uint8_t *first = of->end - of->scan > TAIL ? of->end - TAIL : of->scan;
    for (const uint8_t *p = of->end - 2; p >= first; p--)
        if (p[0] == 0xff && p[1] == 0xd9) return true;
    return false;
}

void leat__jpeg_notes_begin(leat__jpeg_notes *notes, const leat__jpeg_head *of, leat__decode_notes *asked) {
    *notes = (leat__jpeg_notes){0};
    if (!asked) return;
    asked->changed = asked->refused = false;
    asked->bytes_all = 0;
    if (of->restart_interval > 0) return; /* restart markers are as good, and cost nothing */
    if (!has_end(of)) return;
    *notes = (leat__jpeg_notes){.asked = asked, .across = of->mcus_across};
    if (!take_known(notes, of)) {
        asked->refused = asked->block->size > 0;
        asked->block->size = 0;
        notes->n = 0;
        choose_step(notes, of);
    }
    notes->n_before = notes->n;
    asked->bytes_all = block_bytes(notes->n_all);
    if (!leat__buf_reserve(asked->block, asked->bytes_all)) notes->asked = NULL;
}

void leat__jpeg_notes_add(leat__jpeg_notes *notes, const leat__jpeg_spot *spot) {
    uint8_t *to = notes->asked->block->data + block_bytes(notes->n++);
    memcpy(to, &spot->bit, sizeof spot->bit);
    memcpy(to + sizeof spot->bit, spot->prediction, sizeof spot->prediction);
}

bool leat__jpeg_notes_find(const leat__jpeg_notes *notes, int64_t mcu, int64_t from, int64_t *at,
                           leat__jpeg_spot *spot) {
    if (!notes->asked || notes->n == 0) return false;
    const int64_t row = mcu / notes->across, column = mcu % notes->across / notes->step;
    const int64_t i = LEAT_MIN(row * notes->per_row + column, (int64_t)notes->n - 1);
    *at = i / notes->per_row * notes->across + i % notes->per_row * notes->step;
    if (*at <= from) return false;
    const uint8_t *note = notes->asked->block->data + block_bytes((uint32_t)i);
    memcpy(&spot->bit, note, sizeof spot->bit);
    memcpy(spot->prediction, note + sizeof spot->bit, sizeof spot->prediction);
    return true;
}

void leat__jpeg_notes_seal(leat__jpeg_notes *notes) {
    if (!notes->asked || notes->n == notes->n_before) return;
    leat__buf *block = notes->asked->block;
    head made = {.across = (uint16_t)notes->across,
                 .down = (uint16_t)(notes->n_all / (uint32_t)notes->per_row),
                 .step = (uint16_t)notes->step,
                 .n = notes->n};
    block->size = block_bytes(notes->n);
    memcpy(block->data, &made, sizeof made);
    made.seal = seal_of(block->data, block->size, notes->asked->key);
    memcpy(block->data, &made, sizeof made);
    notes->asked->changed = true;
}
