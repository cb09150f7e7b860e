/* SPDX-License-Identifier: Apache-2.0 */
/* The header of a VP8 key frame: RFC 6386, sections 9.2 to 9.11. */
#include "decode/webp/webp_head.h"

typedef struct segments {
    bool used, absolute;
    int quantizer[LEAT_WEBP_SEGMENTS], level[LEAT_WEBP_SEGMENTS];
} segments;

static int signed_number(leat__webp_bits *r, int n) {
    const int v = leat__webp_number(r, n);
    return leat__webp_flag(r, 128) ? -v : v;
}

static int optional_number(leat__webp_bits *r, int n) {
    return leat__webp_flag(r, 128) ? signed_number(r, n) : 0;
}

static segments read_segments(leat__webp_head *head, leat__webp_bits *r) {
    segments s = {.used = leat__webp_flag(r, 128), .absolute = true};
    memset(head->segment_probs, 255, sizeof head->segment_probs);
    head->segmented = s.used && leat__webp_flag(r, 128);
    if (!s.used) return s;
    if (leat__webp_flag(r, 128)) {
        s.absolute = leat__webp_flag(r, 128);
        for (int i = 0; i < LEAT_WEBP_SEGMENTS; i++) s.quantizer[i] = optional_number(r, 7);
        for (int i = 0; i < LEAT_WEBP_SEGMENTS; i++) s.level[i] = optional_number(r, 6);
    }
    for (int i = 0; i < 3 && head->segmented; i++)
        if (leat__webp_flag(r, 128)) head->segment_probs[i] = (uint8_t)leat__webp_number(r, 8);
    return s;
}

static leat__webp_strength strength_of(int level, int sharpness) {
    level = LEAT_CLAMP(level, 0, 63);
    if (level == 0) return (leat__webp_strength){0};
    int inner = level;
    if (sharpness > 0) inner = LEAT_MIN(inner >> (sharpness > 4 ? 2 : 1), 9 - sharpness);
    inner = LEAT_MAX(inner, 1);
    return (leat__webp_strength){.limit = (uint8_t)(2 * level + inner),
                                 .inner_limit = (uint8_t)inner,
                                 .sharp = level >= 40   ? 2
                                          : level >= 15 ? 1
                                                        : 0};
}

static void read_filter(leat__webp_head *head, leat__webp_bits *r, const segments *s) {
    const bool simple = leat__webp_flag(r, 128);
    const int level = leat__webp_number(r, 6), sharpness = leat__webp_number(r, 3);
    int by_frame[4] = {0}, by_mode[4] = {0}; /* of which a key frame has one each */
    const bool differ = leat__webp_flag(r, 128);
    if (differ && leat__webp_flag(r, 128)) {
        for (int i = 0; i < 4; i++) by_frame[i] = optional_number(r, 6);
        for (int i = 0; i < 4; i++) by_mode[i] = optional_number(r, 6);
    }
    head->filter = level == 0 ? LEAT_WEBP_UNFILTERED : simple ? LEAT_WEBP_SIMPLE : LEAT_WEBP_NORMAL;
    for (int i = 0; i < LEAT_WEBP_SEGMENTS; i++) {
        const int own = !s->used ? level : s->absolute ? s->level[i] : level + s->level[i];
        head->strengths[i][0] = strength_of(own + by_frame[0], sharpness);
        head->strengths[i][1] = strength_of(own + by_frame[0] + by_mode[0], sharpness);
    }
}

static int dc_step(int q, int most) {
    return leat__webp_dc_steps[LEAT_CLAMP(q, 0, most)];
}

static int ac_step(int q) {
    return leat__webp_ac_steps[LEAT_CLAMP(q, 0, 127)];
}

static void read_steps(leat__webp_head *head, leat__webp_bits *r, const segments *s) {
    const int q = leat__webp_number(r, 7);
    const int y_dc = optional_number(r, 4), first_dc = optional_number(r, 4),
              first_ac = optional_number(r, 4), uv_dc = optional_number(r, 4), uv_ac = optional_number(r, 4);
    for (int i = 0; i < LEAT_WEBP_SEGMENTS; i++) {
        const int own = !s->used ? q : s->absolute ? s->quantizer[i] : q + s->quantizer[i];
        head->steps[i] = (leat__webp_steps){
            .y = {(int16_t)dc_step(own + y_dc, 127), (int16_t)ac_step(own)},
            .first = {(int16_t)(2 * dc_step(own + first_dc, 127)),
                      (int16_t)LEAT_MAX(ac_step(own + first_ac) * 155 / 100, 8)},
            .uv = {(int16_t)dc_step(own + uv_dc, 117), (int16_t)ac_step(own + uv_ac)},
        };
    }
}

/* The file has probabilities of eight bands of places; here each place has its own. */
static void read_probs(leat__webp_head *head, leat__webp_bits *r) {
    static const uint8_t band[17] = {0, 1, 2, 3, 6, 4, 5, 6, 6, 6, 6, 6, 6, 6, 6, 7, 0};
    uint8_t probs[8][3][16] = {0};
    for (int kind = 0; kind < LEAT_WEBP_KINDS; kind++) {
        for (int b = 0; b < 8; b++)
            for (int c = 0; c < 3; c++)
                for (int i = 0; i < 11; i++)
                    probs[b][c][i] = leat__webp_flag(r, leat__webp_probs_change[kind][b][c][i])
                                         ? (uint8_t)leat__webp_number(r, 8)
                                         : leat__webp_probs_before[kind][b][c][i];
        for (int place = 0; place < 17; place++)
            memcpy(head->probs[kind][place], probs[band[place]], sizeof probs[0]);
    }
}

static size_t load24(const uint8_t *p) {
    return (size_t)p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16;
}

/* Their lengths, but for that of the last one, and then the partitions themselves. */
static bool find_partitions(leat__webp_head *head, const uint8_t *bytes, size_t n) {
    const size_t lengths = 3 * (size_t)(head->n_partitions - 1);
    if (n <= lengths) return false;
    const uint8_t *at = bytes + lengths;
    size_t left = n - lengths;
    for (int i = 0; i < head->n_partitions; i++) {
        const size_t length = i + 1 < head->n_partitions ? load24(bytes + 3 * i) : left;
        if (length > left || !leat__webp_bits_can_be(at, length)) return false;
        head->values[i] = leat__webp_bits_begin(at, length);
        at += length;
        left -= length;
    }
    return head->values[head->n_partitions - 1].n > 0;
}

bool leat__webp_head_read(leat__webp_head *head, const uint8_t *frame, size_t n) {
    enum { HEAD = 10 };
    if (n < HEAD || memcmp(frame + 3, "\x9d\x01\x2a", 3) != 0) return false;
    const size_t tag = load24(frame), first = tag >> 5;
    if ((tag & 1) != 0 || (tag >> 1 & 7) > 3 || (tag & 16) == 0 || first > n - HEAD) return false;
    if (!leat__webp_bits_can_be(frame + HEAD, first)) return false;
    head->width = leat__load_u16(frame + 6) & 0x3fff;
    head->height = leat__load_u16(frame + 8) & 0x3fff;
    leat__webp_bits r = leat__webp_bits_begin(frame + HEAD, first);
    leat__webp_number(&r, 2); /* of no meaning for these pixels: colour space, and whether to clamp */
    const segments s = read_segments(head, &r);
    read_filter(head, &r, &s);
    head->n_partitions = 1 << leat__webp_number(&r, 2);
    if (!find_partitions(head, frame + HEAD + first, n - HEAD - first)) return false;
    read_steps(head, &r, &s);
    leat__webp_flag(&r, 128); /* whether probabilities are for later frames */
    read_probs(head, &r);
    head->skips = leat__webp_flag(&r, 128);
    head->skip_prob = head->skips ? (uint8_t)leat__webp_number(&r, 8) : 0;
    head->modes = r;
    return !leat__webp_bits_over(&r);
}
