/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/jpeg/jpeg_script.h"

#include <stdio.h>

#include <jpeglib.h>

enum { TABLES = 4, DHT = 0xc4, EOI = 0xd9, SOS = 0xda, DRI = 0xdd };

typedef struct walk { /* from marker to marker, up to the end mark */
    const struct jpeg_decompress_struct *jpeg;
    const uint8_t *at, *end;
    leat__jpeg_code_bytes dc[TABLES], ac[TABLES]; /* as the next scan would find them      */
    int restart_interval;
    int8_t missing[3][DCTSIZE2]; /* bits of coefficients; -1: nothing came */
} walk;

static walk begin_walk(const struct jpeg_decompress_struct *jpeg) {
    walk w = {.jpeg = jpeg,
              .at = jpeg->src->next_input_byte,
              .end = jpeg->src->next_input_byte + jpeg->src->bytes_in_buffer,
              .restart_interval = (int)jpeg->restart_interval};
    for (int i = 0; i < TABLES; i++) {
        const JHUFF_TBL *dc = jpeg->dc_huff_tbl_ptrs[i], *ac = jpeg->ac_huff_tbl_ptrs[i];
        if (dc) w.dc[i] = (leat__jpeg_code_bytes){dc->bits, dc->huffval};
        if (ac) w.ac[i] = (leat__jpeg_code_bytes){ac->bits, ac->huffval};
    }
    memset(w.missing, -1, sizeof w.missing);
    return w;
}

/* To the marker behind a scan's bytes, past those of restarts. */
static bool find_end(walk *w) {
    const uint8_t *s = w->at;
    while ((s = memchr(s, 0xff, (size_t)(w->end - s)))) {
        if (w->end - s < 2) return false;
        if (s[1] != 0 && (s[1] < 0xd0 || s[1] > 0xd7)) {
            w->at = s;
            return true;
        }
        s += 2;
    }
    return false;
}

static bool read_codes(walk *w, const uint8_t *s, const uint8_t *end) {
    while (end - s >= 17) {
        size_t n = 0;
        for (int i = 1; i <= 16; i++) n += s[i];
        if (n > 256 || n > (size_t)(end - s) - 17 || s[0] >> 4 > 1 || (s[0] & 15) >= TABLES) return false;
        (s[0] >> 4 ? w->ac : w->dc)[s[0] & 15] = (leat__jpeg_code_bytes){s, s + 17};
        s += 17 + n;
    }
    return s == end;
}

/* Components in the order of the frame, each with the tables that the scan needs. */
static bool read_scan_component(const walk *w, leat__jpeg_pass *pass, int id, int tables) {
    const int n = pass->n_components++;
    int found = -1, n_found = 0;
    for (int i = 0; i < w->jpeg->num_components; i++)
        if (w->jpeg->comp_info[i].component_id == id) found = i, n_found++;
    if (n_found != 1 || (n > 0 && found <= pass->component[n - 1])) return false;
    pass->component[n] = found;
    if (tables >> 4 >= TABLES || (tables & 15) >= TABLES) return false;
    pass->dc[n] = w->dc[tables >> 4];
    pass->ac = w->ac[tables & 15];
    return true;
}

static bool read_scan_header(walk *w, leat__jpeg_pass *pass, const uint8_t *s, const uint8_t *end) {
    const int n = end > s ? s[0] : 0;
    if (n < 1 || n > 3 || end - s != 4 + 2 * n) return false;
    *pass = (leat__jpeg_pass){.restart_interval = w->restart_interval, .src = end};
    for (int i = 0; i < n; i++)
        if (!read_scan_component(w, pass, s[1 + 2 * i], s[2 + 2 * i])) return false;
    s += 1 + 2 * n;
    pass->first = s[0], pass->last = s[1], pass->high = s[2] >> 4, pass->low = s[2] & 15;
    return true;
}

/* The first scan's header was read by libjpeg-turbo. */
static bool take_scan_header(walk *w, leat__jpeg_pass *pass) {
    const struct jpeg_decompress_struct *jpeg = w->jpeg;
    *pass = (leat__jpeg_pass){.restart_interval = w->restart_interval,
                              .first = jpeg->Ss,
                              .last = jpeg->Se,
                              .high = jpeg->Ah,
                              .low = jpeg->Al,
                              .src = w->at};
    for (int i = 0; i < jpeg->comps_in_scan; i++) {
        const jpeg_component_info *c = jpeg->cur_comp_info[i];
        const int dc = c->dc_tbl_no, ac = c->ac_tbl_no;
        if (dc < 0 || dc >= TABLES || ac < 0 || ac >= TABLES) return false;
        if (!read_scan_component(w, pass, c->component_id, dc << 4 | ac)) return false;
    }
    return true;
}

/* Whether the scan continues where the others have left each of its coefficients. */
static bool take_bits(walk *w, const leat__jpeg_pass *pass) {
    for (int i = 0; i < pass->n_components; i++) {
        int8_t *missing = w->missing[pass->component[i]];
        if (pass->first > 0 && missing[0] < 0) return false;
        for (int k = pass->first; k <= pass->last; k++) {
            if (missing[k] != (pass->high ? pass->high : -1)) return false;
            missing[k] = (int8_t)pass->low;
        }
    }
    return true;
}

static bool is_progressive_pass(const leat__jpeg_pass *pass) {
    if (pass->low > LEAT_JPEG_LOW_MAX || (pass->high && pass->high != pass->low + 1)) return false;
    if (pass->first > 0) return pass->n_components == 1 && pass->last <= 63 && pass->ac.counts;
    if (pass->last > 0) return false;
    for (int i = 0; i < pass->n_components && !pass->high; i++)
        if (!pass->dc[i].counts) return false;
    return true;
}

static bool is_sequential_pass(const leat__jpeg_pass *pass) {
    return pass->n_components == 1 && pass->first == 0 && pass->last == 63 && !pass->high && !pass->low &&
           pass->dc[0].counts && pass->ac.counts;
}

static bool is_regular(walk *w, const leat__jpeg_pass *pass) {
    if (pass->first > pass->last || pass->last > 63) return false;
    return (w->jpeg->progressive_mode ? is_progressive_pass(pass) : is_sequential_pass(pass)) &&
           take_bits(w, pass);
}

static bool are_all_exact(const walk *w) {
    for (int i = 0; i < w->jpeg->num_components; i++)
        for (int k = 0; k < DCTSIZE2; k++)
            if (w->missing[i][k] != 0) return false;
    return true;
}

/* From behind a scan to behind the next one's header. 1: there is none; < 0: anything that is not regular. */
static int next_scan(walk *w, leat__jpeg_pass *pass) {
    while (w->end - w->at >= 4 || (w->end - w->at >= 2 && w->at[1] == EOI)) {
        const int marker = w->at[1];
        if (w->at[0] != 0xff) return -1;
        if (marker == EOI) return 1;
        const uint8_t *s = w->at + 4;
        const size_t length = (size_t)w->at[2] << 8 | w->at[3];
        if (length < 2 || length - 2 > (size_t)(w->end - s)) return -1;
        w->at = s + length - 2;
        if (marker == SOS) return read_scan_header(w, pass, s, w->at) ? 0 : -1;
        if (marker == DRI && length == 4) w->restart_interval = s[0] << 8 | s[1];
        else if (marker != DHT || !read_codes(w, s, w->at)) return -1;
    }
    return -1;
}

const char *leat__jpeg_script_read(leat__jpeg_pass passes[LEAT_JPEG_PASSES_MAX], int *n,
                                   const struct jpeg_decompress_struct *jpeg) {
    const char *const irregular = jpeg->progressive_mode ? "odd scans" : "several scans";
    walk w = begin_walk(jpeg);
    int rc = take_scan_header(&w, &passes[0]) ? 0 : -1;
    for (*n = 1; rc == 0; (*n)++) {
        leat__jpeg_pass *pass = &passes[*n - 1];
        if (!is_regular(&w, pass)) return irregular;
        if (!find_end(&w)) return "no end mark";
        pass->end = w.at;
        if (*n == LEAT_JPEG_PASSES_MAX) return "many scans";
        rc = next_scan(&w, &passes[*n]);
        if (rc > 0) return are_all_exact(&w) ? NULL : jpeg->progressive_mode ? "incomplete scans" : irregular;
    }
    return irregular;
}
