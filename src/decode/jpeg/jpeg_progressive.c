/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/jpeg/jpeg_progressive.h"

static int rows_of(const leat__jpeg_head *head, int i) {
    return head->mcus_down * head->component[i].v;
}

/* Behind the blocks of each component lies one more, for kernels that write the value behind a block. */
bool leat__jpeg_stored_take(leat__jpeg_stored *stored, const leat__jpeg_head *head, leat__arena *arena) {
    size_t n_blocks = 0, n[3];
    for (int i = 0; i < head->n_components; i++) {
        stored->across[i] = head->mcus_across * head->component[i].h;
        n[i] = (size_t)stored->across[i] * (size_t)rows_of(head, i) + 1;
        n_blocks += n[i];
    }
    const size_t block = 64 * sizeof(int16_t);
    stored->bytes = n_blocks * (block + sizeof(uint64_t));
    stored->memory = leat__arena_alloc(arena, stored->bytes);
    if (!stored->memory) return false;
    int16_t *blocks = stored->memory;
    uint64_t *sets = (uint64_t *)(void *)((uint8_t *)stored->memory + n_blocks * block);
    memset(sets, 0, n_blocks * sizeof *sets);
    for (int i = 0; i < head->n_components; i++) {
        stored->blocks[i] = blocks;
        stored->sets[i] = sets;
        blocks += 64 * n[i];
        sets += n[i];
    }
    return true;
}

/* -------------------------------------------------------------------------------------------- one scan */

/* DC of one component or several, block by block or in MCUs. */
static bool read_dc(leat__jpeg_stored *stored, const leat__jpeg_head *head, leat__jpeg_scan *scan,
                    const leat__jpeg_pass *pass) {
    const bool alone = pass->n_components == 1;
    const leat__jpeg_component *only = &head->component[pass->component[0]];
    const int across = alone ? only->blocks_across : head->mcus_across;
    const int down = alone ? only->blocks_down : head->mcus_down;
    leat__jpeg_strip strip = {.low = pass->low};
    for (int y = 0; y < down; y++) {
        for (int k = 0, u = 0; k < pass->n_components; k++) {
            const int i = pass->component[k], h = alone ? 1 : head->component[i].h,
                      v = alone ? 1 : head->component[i].v;
            for (int n = 0; n < h * v; n++, u++) {
                const ptrdiff_t row = y * v + n / h;
                strip.blocks[u] = stored->blocks[i] + 64 * (row * stored->across[i] + n % h);
                strip.step[u] = 64 * h;
            }
        }
        if (!leat__jpeg_scan_pass(scan, pass->high ? scan->dsp->dc_refine : scan->dsp->dc_first, &strip,
                                  across))
            return false;
    }
    return true;
}

static void lay_out_dc(leat__jpeg_scan *scan, const leat__jpeg_head *head, const leat__jpeg_pass *pass,
                       const leat__jpeg_dc_table dc[LEAT_JPEG_TABLES]) {
    scan->n_units = 0;
    for (int k = 0; k < pass->n_components; k++) {
        const int i = pass->component[k],
                  n = pass->n_components == 1 ? 1 : head->component[i].h * head->component[i].v;
        for (int u = 0; u < n; u++)
            scan->unit[scan->n_units++] = (leat__jpeg_unit){.component = i, .dc = &dc[k]};
    }
}

/* A band of one component's AC coefficients. */
static bool read_ac(leat__jpeg_stored *stored, const leat__jpeg_head *head, leat__jpeg_scan *scan,
                    const leat__jpeg_pass *pass, const leat__jpeg_ac_table *ac) {
    const int i = pass->component[0];
    const leat__jpeg_component *c = &head->component[i];
    leat__jpeg_strip strip = {.first = pass->first,
                              .last = pass->last,
                              .low = pass->low,
                              .band = UINT64_MAX >> pass->first & UINT64_MAX << (63 - pass->last),
                              .ac = ac,
                              .code = &stored->refined};
    leat__jpeg_band_slots(strip.slots, pass->last);
    scan->n_units = 1;
    for (int y = 0; y < c->blocks_down; y++) {
        const ptrdiff_t at = (ptrdiff_t)y * stored->across[i];
        strip.blocks[0] = stored->blocks[i] + 64 * at;
        strip.sets = stored->sets[i] + at;
        if (!leat__jpeg_scan_pass(scan, pass->high ? scan->dsp->ac_refine : scan->dsp->ac_first, &strip,
                                  c->blocks_across))
            return false;
    }
    return true;
}

/* All of a component at once: the scan of a sequential file. */
static bool read_all(leat__jpeg_stored *stored, const leat__jpeg_head *head, leat__jpeg_scan *scan,
                     const leat__jpeg_pass *pass, const leat__jpeg_dc_table *dc,
                     const leat__jpeg_ac_table *ac) {
    enum { AT_ONCE = 64 };
    uint8_t last[AT_ONCE];
    const int i = pass->component[0];
    const leat__jpeg_component *c = &head->component[i];
    scan->n_units = 1;
    scan->unit[0] = (leat__jpeg_unit){.component = i, .wanted = true, .dc = dc, .ac = ac};
    memset(stored->blocks[i], 0, 64 * sizeof(int16_t) * (size_t)stored->across[i] * (size_t)rows_of(head, i));
    for (int y = 0; y < c->blocks_down; y++)
        for (int x = 0, n; x < c->blocks_across; x += n) {
            const ptrdiff_t at = (ptrdiff_t)y * stored->across[i] + x;
            n = LEAT_MIN((int)AT_ONCE, c->blocks_across - x);
            if (!leat__jpeg_scan_read(scan, stored->blocks[i] + 64 * at, last, n)) return false;
            for (int k = 0; k < n; k++) stored->sets[i][at + k] = last[k] ? (uint64_t)1 << (63 - last[k]) : 0;
        }
    return true;
}

/* --------------------------------------------------------------------------------------------- all scans */

static bool build_dc(const leat__jpeg_pass *pass, leat__jpeg_dc_table dc[LEAT_JPEG_TABLES]) {
    for (int k = 0; k < pass->n_components; k++)
        if (!leat__jpeg_dc_build(&dc[k], pass->dc[k].counts, pass->dc[k].symbols)) return false;
    return true;
}

static bool read_pass(leat__jpeg_stored *stored, const leat__jpeg_head *head, leat__jpeg_scan *scan,
                      const leat__jpeg_pass *pass, leat__jpeg_dc_table dc[LEAT_JPEG_TABLES],
                      leat__jpeg_ac_table *ac) {
    const leat__jpeg_code_bytes code = pass->ac;
    if (pass->first == 0 && !pass->high && !build_dc(pass, dc)) return false;
    if (pass->last == 0) {
        lay_out_dc(scan, head, pass, dc);
        return read_dc(stored, head, scan, pass);
    }
    if (pass->high ? !leat__jpeg_refine_build(&stored->refined, code.counts, code.symbols)
                   : !leat__jpeg_ac_build(ac, code.counts, code.symbols))
        return false;
    if (pass->first > 0) return read_ac(stored, head, scan, pass, ac);
    return read_all(stored, head, scan, pass, dc, ac);
}

bool leat__jpeg_stored_read(leat__jpeg_stored *stored, const leat__jpeg_head *head, leat__jpeg_scan *scan,
                            leat__jpeg_dc_table dc[LEAT_JPEG_TABLES],
                            leat__jpeg_ac_table ac[LEAT_JPEG_TABLES]) {
    scan->tracked = false;
    for (int n = 0; n < head->n_passes; n++) {
        const leat__jpeg_pass *pass = &head->pass[n];
        scan->restart_interval = pass->restart_interval;
        leat__jpeg_scan_begin(scan, pass->src, head->end);
        if (!read_pass(stored, head, scan, pass, dc, &ac[0])) return false;
        if (!leat__jpeg_scan_done(scan, pass->end)) return false;
    }
    return true;
}
