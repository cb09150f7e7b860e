/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/jpeg/jpeg_head.h"

#include <stdio.h>

#include <jpeglib.h>

#include "decode/jpeg/jpeg_dsp.h"

/* With a larger step every coefficient but 0 would be outside of the range that our own decoder takes. */
static bool read_steps(uint16_t steps[64], const JQUANT_TBL *table) {
    if (!table) return false;
    for (int i = 0; i < 64; i++) {
        if (table->quantval[i] < 1 || table->quantval[i] > LEAT_JPEG_COEFFICIENT_MAX) return false;
        steps[i] = table->quantval[i];
    }
    return true;
}

static const char *read_component(leat__jpeg_head *head, const struct jpeg_decompress_struct *jpeg, int i) {
    const jpeg_component_info *from = &jpeg->comp_info[i];
    leat__jpeg_component *c = &head->component[i];
    c->h = c->v = 1;
    if (head->n_components == 3) { /* alone, a component is coded block by block whatever its factors say */
        c->h = from->h_samp_factor;
        c->v = from->v_samp_factor;
        if (i == 0 ? c->h > 2 || c->v > 2 : c->h != 1 || c->v != 1) return "unusual sampling";
    }
    if (from->quant_tbl_no < 0 || from->quant_tbl_no >= NUM_QUANT_TBLS ||
        !read_steps(c->steps, jpeg->quant_tbl_ptrs[from->quant_tbl_no]))
        return "quantisation tables";
    return NULL;
}

/* The tables of the one scan that holds everything. */
static const char *read_codes(leat__jpeg_head *head, const struct jpeg_decompress_struct *jpeg, int i) {
    const jpeg_component_info *from = &jpeg->comp_info[i];
    leat__jpeg_component *c = &head->component[i];
    if (jpeg->cur_comp_info[i] != from) return "components in another order";
    c->dc = from->dc_tbl_no;
    c->ac = from->ac_tbl_no;
    if (c->dc < 0 || c->dc >= LEAT_JPEG_TABLES || c->ac < 0 || c->ac >= LEAT_JPEG_TABLES)
        return "table numbers";
    const JHUFF_TBL *dc = jpeg->dc_huff_tbl_ptrs[c->dc], *ac = jpeg->ac_huff_tbl_ptrs[c->ac];
    if (!dc || !ac) return "no Huffman tables of its own";
    head->dc_counts[c->dc] = dc->bits, head->dc_symbols[c->dc] = dc->huffval;
    head->ac_counts[c->ac] = ac->bits, head->ac_symbols[c->ac] = ac->huffval;
    return NULL;
}

static const char *read_scans(leat__jpeg_head *head, const struct jpeg_decompress_struct *jpeg) {
    if (jpeg->progressive_mode || jpeg->comps_in_scan != jpeg->num_components)
        return leat__jpeg_script_read(head->pass, &head->n_passes, jpeg);
    if (jpeg->Ss != 0 || jpeg->Se != DCTSIZE2 - 1 || jpeg->Ah != 0 || jpeg->Al != 0) return "odd scan header";
    for (int i = 0; i < head->n_components; i++) {
        const char *why = read_codes(head, jpeg, i);
        if (why) return why;
    }
    return NULL;
}

const char *leat__jpeg_head_read(leat__jpeg_head *head, const struct jpeg_decompress_struct *jpeg) {
    *head = (leat__jpeg_head){.width = (int)jpeg->image_width,
                              .height = (int)jpeg->image_height,
                              .n_components = jpeg->num_components,
                              .restart_interval = (int)jpeg->restart_interval,
                              .scan = jpeg->src->next_input_byte};
    head->end = head->scan + jpeg->src->bytes_in_buffer;
    if (jpeg->arith_code) return "arithmetic coding";
    if (jpeg->data_precision != 8) return "not 8 bits";
    if (jpeg->num_components == 4) return "CMYK";
    const J_COLOR_SPACE space = jpeg->jpeg_color_space;
    if (!(jpeg->num_components == 1 && space == JCS_GRAYSCALE) &&
        !(jpeg->num_components == 3 && space == JCS_YCbCr))
        return "neither gray nor YCbCr";
    for (int i = 0; i < head->n_components; i++) {
        const char *why = read_component(head, jpeg, i);
        if (why) return why;
    }
    head->h_max = head->component[0].h;
    head->v_max = head->component[0].v;
    head->mcus_across = (head->width + 8 * head->h_max - 1) / (8 * head->h_max);
    head->mcus_down = (head->height + 8 * head->v_max - 1) / (8 * head->v_max);
    for (int i = 0; i < head->n_components; i++) {
        leat__jpeg_component *c = &head->component[i];
        c->blocks_across = ((head->width * c->h + head->h_max - 1) / head->h_max + 7) / 8;
        c->blocks_down = ((head->height * c->v + head->v_max - 1) / head->v_max + 7) / 8;
    }
    leat__jpeg_head_scale(head, 1);
    return read_scans(head, jpeg);
}

void leat__jpeg_head_scale(leat__jpeg_head *head, int scale) {
    const int size = 8 / scale;
    head->fancy = size > 1;
    for (int i = 0; i < head->n_components; i++) {
        leat__jpeg_component *c = &head->component[i];
        const bool halved = 2 * c->h <= head->h_max && 2 * c->v <= head->v_max;
        c->size = halved && size < 8 ? 2 * size : size;
        const int x = c->h * c->size, y = c->v * c->size, x_max = 8 * head->h_max, y_max = 8 * head->v_max;
        c->width = (head->width * x + x_max - 1) / x_max;
        c->height = (head->height * y + y_max - 1) / y_max;
        c->doubled_x = x < size * head->h_max;
        c->doubled_y = y < size * head->v_max;
    }
    head->width = (head->width + scale - 1) / scale;
    head->height = (head->height + scale - 1) / scale;
}
