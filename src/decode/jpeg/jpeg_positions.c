/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/jpeg/jpeg_positions.h"

#include "base/hash.h"

enum {
    NOTE = 10,
    APART =
        64, /* pixels between two positions of a row: skipping half of that costs less than more positions would */
    NOTES_MAX = 16384 /* of a picture; a larger one has those at the beginnings of rows */
};

typedef struct head {
    uint64_t seal;
    uint16_t across, down, step, zero;
    uint32_t n, zeros;
} head;

uint64_t leat__jpeg_store_key(const uint8_t *bytes, size_t n) {
    return leat__hash(bytes, n, 0);
}

static size_t block_bytes(uint32_t n) {
    return sizeof(head) + (size_t)n * NOTE;
}

static uint64_t seal_of(const uint8_t *block, size_t n, uint64_t key) {
    return leat__hash(block + sizeof(uint64_t), n - sizeof(uint64_t), key);
}

static void set_step(leat__jpeg_positions *positions, int step, int down) {
    positions->step = step;
    positions->per_row = (positions->across + step - 1) / step;
    positions->n_all = (uint32_t)positions->per_row * (uint32_t)down;
}

static void choose_step(leat__jpeg_positions *positions, const leat__jpeg_head *of) {
    set_step(positions, LEAT_MIN(APART / (8 * of->h_max), of->mcus_across), of->mcus_down);
    if (positions->n_all > NOTES_MAX || block_bytes(positions->n_all) > positions->asked->bytes_max)
        set_step(positions, of->mcus_across, of->mcus_down);
}

/* Whether the block was made from this file. */
static bool take_known(leat__jpeg_positions *positions, const leat__jpeg_head *of) {
    const leat__buf *block = positions->asked->block;
    head known;
    if (block->size < sizeof known) return false;
    memcpy(&known, block->data, sizeof known);
    if (known.seal != seal_of(block->data, block->size, positions->asked->key)) return false;
    if (known.across != of->mcus_across || known.down != of->mcus_down || known.step < 1 ||
        known.step > known.across)
        return false;
    set_step(positions, known.step, of->mcus_down);
    positions->n = known.n;
    return known.n <= positions->n_all && positions->n_all <= NOTES_MAX &&
           block->size == block_bytes(known.n);
}

void leat__jpeg_positions_begin(leat__jpeg_positions *positions, const leat__jpeg_head *of,
                                leat__decode_positions *asked) {
    *positions = (leat__jpeg_positions){0};
    if (!asked) return;
    asked->changed = asked->refused = false;
    asked->bytes_all = 0;
    if (of->n_passes > 0) return;         /* all scans are always read */
    if (of->restart_interval > 0) return; /* restart markers are as good, and cost nothing */
    *positions = (leat__jpeg_positions){.asked = asked, .across = of->mcus_across};
    if (!take_known(positions, of)) {
        asked->refused = asked->block->size > 0;
        asked->block->size = 0;
        positions->n = 0;
        choose_step(positions, of);
    }
    positions->n_before = positions->n;
    asked->bytes_all = block_bytes(positions->n_all);
    if (!leat__buf_reserve(asked->block, asked->bytes_all)) positions->asked = NULL;
}

void leat__jpeg_positions_add(leat__jpeg_positions *positions, const leat__jpeg_spot *spot) {
    uint8_t *to = positions->asked->block->data + block_bytes(positions->n++);
    memcpy(to, &spot->bit, sizeof spot->bit);
    memcpy(to + sizeof spot->bit, spot->prediction, sizeof spot->prediction);
}

bool leat__jpeg_positions_find(const leat__jpeg_positions *positions, int64_t mcu, int64_t from, int64_t *at,
                               leat__jpeg_spot *spot) {
    if (!positions->asked || positions->n == 0) return false;
    const int64_t row = mcu / positions->across, column = mcu % positions->across / positions->step;
    const int64_t i = LEAT_MIN(row * positions->per_row + column, (int64_t)positions->n - 1);
    *at = i / positions->per_row * positions->across + i % positions->per_row * positions->step;
    if (*at <= from) return false;
    const uint8_t *note = positions->asked->block->data + block_bytes((uint32_t)i);
    memcpy(&spot->bit, note, sizeof spot->bit);
    memcpy(spot->prediction, note + sizeof spot->bit, sizeof spot->prediction);
    return true;
}

void leat__jpeg_positions_seal(leat__jpeg_positions *positions) {
    if (!positions->asked || positions->n == positions->n_before) return;
    leat__buf *block = positions->asked->block;
    head made = {.across = (uint16_t)positions->across,
                 .down = (uint16_t)(positions->n_all / (uint32_t)positions->per_row),
                 .step = (uint16_t)positions->step,
                 .n = positions->n};
    block->size = block_bytes(positions->n);
    memcpy(block->data, &made, sizeof made);
    made.seal = seal_of(block->data, block->size, positions->asked->key);
    memcpy(block->data, &made, sizeof made);
    positions->asked->changed = true;
}
