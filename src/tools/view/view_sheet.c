/* SPDX-License-Identifier: Apache-2.0 */
/* A page of pictures in rows, dark words on a light ground. Lengths are in pixels; letters are on a grid of their own
 * width, so a column of 160 pixels holds 26 of them. */
#include <stdio.h>

#include "tools/view/view.h"
#include "tools/view/view_font.h"

enum {
    MARGIN = 28,
    GAP = 14,       /* between pictures of a row                       */
    GAP_FIRST = 26, /* between the original and the others             */
    ROW_GAP = 22,
    LINE = 12,       /* from one line of words to the next              */
    TEXT_TOP = 8,    /* from a picture to the words below it            */
    CHARS_MAX = 240, /* of a line                                       */
    LINES_MAX = 24,  /* below a picture                                 */
    BYTES_MAX = 1 << 30,
};

typedef struct colour {
    uint8_t r, g, b;
} colour;

static const colour ground = {250, 250, 248}, card = {238, 240, 242}, frame = {208, 212, 217},
                    ink = {24, 28, 34}, faded = {104, 112, 122}, accent = {176, 64, 32};
/* Of classes and boxes, such that neighbours differ for most eyes. */
static const colour palette[] = {{120, 94, 240}, {230, 97, 0},   {26, 133, 255}, {212, 17, 89},
                                 {0, 158, 115},  {255, 194, 10}, {93, 58, 155},  {64, 176, 166}};

typedef struct canvas {
    uint8_t *rgb;
    int height, width;
} canvas;

typedef struct words { /* lines below a picture */
    int n;
    struct {
        char text[CHARS_MAX + 1];
        bool bold;
        colour colour;
    } line[LINES_MAX];
} words;

/* ------------------------------------------------------------------------------------------ drawing */

static void fill(canvas *page, int x, int y, int width, int height, colour c) {
    for (int row = LEAT_MAX(y, 0); row < LEAT_MIN(y + height, page->height); row++)
        for (int column = LEAT_MAX(x, 0); column < LEAT_MIN(x + width, page->width); column++) {
            uint8_t *at = page->rgb + ((size_t)row * (size_t)page->width + (size_t)column) * 3;
            at[0] = c.r, at[1] = c.g, at[2] = c.b;
        }
}

/* The column behind the last letter. */
static int write_text(canvas *page, int x, int y, const char *text, colour c, int scale, bool bold) {
    for (const unsigned char *letter = (const unsigned char *)text; *letter;
         letter++, x += LEAT_FONT_STEP * scale + bold) {
        const int number = *letter < LEAT_FONT_FIRST || *letter > LEAT_FONT_LAST ? '?' : *letter;
        for (int row = 0; row < LEAT_FONT_HEIGHT; row++)
            for (int column = 0; column < LEAT_FONT_WIDTH; column++)
                if (leat__font[number - LEAT_FONT_FIRST][row] >> (LEAT_FONT_WIDTH - 1 - column) & 1)
                    fill(page, x + column * scale, y + row * scale, scale + bold, scale, c);
    }
    return x;
}

/* ASCII for every letter: what takes several bytes becomes one sign. */
static void plain(char *out, size_t cap, const char *text) {
    size_t n = 0;
    for (const unsigned char *c = (const unsigned char *)text; *c && n + 1 < cap; c++)
        if (*c < 0x80 || *c >= 0xc0) out[n++] = *c >= 32 && *c < 127 ? (char)*c : *c < 32 ? ' ' : '?';
    out[n] = 0;
}

/* Half of the colour of its class over each pixel; 0 is the ground. */
static void tint_row(uint8_t *rgb, const uint8_t *classes, int width) {
    for (int x = 0; x < width; x++) {
        if (!classes[x]) continue;
        const colour c = palette[classes[x] % LEAT_COUNT(palette)];
        rgb[x * 3] = (uint8_t)((rgb[x * 3] + c.r) / 2);
        rgb[x * 3 + 1] = (uint8_t)((rgb[x * 3 + 1] + c.g) / 2);
        rgb[x * 3 + 2] = (uint8_t)((rgb[x * 3 + 2] + c.b) / 2);
    }
}

/* Where a part of a side of n pixels lies, within them. */
static int place_of(float part, int n) {
    return !(part > 0) ? 0 : part >= 1 ? n - 1 : (int)(part * (float)n);
}

/* Frames of two pixels, with the class above the upper edge or, where there is no room, below it. Boxes of zeros fill up a
 * batch and are left out. */
static void draw_boxes(canvas *page, int left, int top, const leat__view_cell *cell) {
    const leat__view_picture *p = &cell->picture;
    const leat__view_box *box = (const leat__view_box *)(const void *)cell->boxes.data;
    for (size_t i = 0; i < leat__view_n_boxes(cell); i++, box++) {
        if (!(box->x1 > box->x0) || !(box->y1 > box->y0)) continue;
        const colour c = palette[1 + i % (LEAT_COUNT(palette) - 1)];
        const int x0 = place_of(box->x0, p->width), x1 = place_of(box->x1, p->width);
        const int y0 = place_of(box->y0, p->height), y1 = place_of(box->y1, p->height);
        const int x = left + x0, y = top + y0, w = x1 - x0 + 1, h = y1 - y0 + 1;
        fill(page, x, y, w, LEAT_MIN(2, h), c);
        fill(page, x, y + LEAT_MAX(h - 2, 0), w, LEAT_MIN(2, h), c);
        fill(page, x, y, LEAT_MIN(2, w), h, c);
        fill(page, x + LEAT_MAX(w - 2, 0), y, LEAT_MIN(2, w), h, c);
        if (!*box->label) continue;
        char label[sizeof box->label];
        plain(label, sizeof label, box->label);
        const int room = (p->width - x0) / LEAT_FONT_STEP;
        if (room < 3) continue;
        label[LEAT_MIN((size_t)room, sizeof label - 1)] = 0;
        const int at = y0 >= LINE ? y - LINE + 1 : y + 2;
        fill(page, x, at, (int)strlen(label) * LEAT_FONT_STEP + 2, LINE - 1, c);
        write_text(page, x + 2, at + 2, label, ground, 1, false);
    }
}

static void draw_picture(canvas *page, int x, int y, int size, const leat__view_cell *cell) {
    const leat__view_picture *p = &cell->picture;
    fill(page, x - 1, y - 1, size + 2, size + 2, frame);
    fill(page, x, y, size, size, card);
    if (!p->height) return;
    const int left = x + (size - p->width) / 2, top = y + (size - p->height) / 2;
    for (int row = 0; row < p->height; row++) {
        uint8_t *rgb = page->rgb + ((size_t)(top + row) * (size_t)page->width + (size_t)left) * 3;
        leat__view_row(rgb, p, row, cell->range);
        if (cell->tint.size) tint_row(rgb, cell->tint.data + (size_t)row * (size_t)p->width, p->width);
    }
    draw_boxes(page, left, top, cell);
}

/* -------------------------------------------------------------------------------------------- words */

static void add_line(words *w, const char *text, size_t n, bool bold, colour c) {
    if (w->n == LINES_MAX) return;
    n = LEAT_MIN(n, (size_t)CHARS_MAX);
    memcpy(w->line[w->n].text, text, n);
    w->line[w->n].text[n] = 0;
    w->line[w->n].bold = bold;
    w->line[w->n++].colour = c;
}

/* Breaks text into lines of at most `chars` letters, at a space if there is one; lines after the first are indented. */
static void add_wrapped(words *w, const char *text, int chars, int indent, bool bold, colour c) {
    char line[CHARS_MAX + 1], clean[1200];
    plain(clean, sizeof clean, text);
    const char *at = clean;
    for (int first = 1; *at; first = 0) {
        while (*at == ' ') at++;
        const int lead = first ? 0 : indent, room = LEAT_MAX(LEAT_MIN(chars, (int)CHARS_MAX) - lead, 4);
        int n = (int)strlen(at);
        if (n > room) {
            n = room;
            for (int k = room; k > room / 4; k--)
                if (at[k] == ' ') {
                    n = k;
                    break;
                }
        }
        const int length = snprintf(line, sizeof line, "%*s%.*s", lead, "", n, at);
        add_line(w, line, (size_t)LEAT_MAX(length, 0), bold, c);
        at += n;
    }
}

/* "random_brightness delta=0.0371482912" to "brightness delta=0.0371". */
static void shorten(char *out, size_t cap, const char *part, size_t n) {
    size_t m = 0;
    char word[120];
    while (n > 0 && *part == ' ') part++, n--;
    if (n > 7 && memcmp(part, "random_", 7) == 0) part += 7, n -= 7;
    while (n > 0) {
        size_t length = 0;
        while (length < n && part[length] != ' ') length++;
        snprintf(word, sizeof word, "%.*s", (int)LEAT_MIN(length, sizeof word - 1), part);
        char *value = strchr(word, '=');
        double x;
        if (value && leat__parse_number(value + 1, &x)) {
            const size_t room = sizeof word - (size_t)(value + 1 - word);
            snprintf(value + 1, room, "%.3g", x);
        }
        const int k = snprintf(out + m, cap - m, "%s%s", m ? " " : "", word);
        m = LEAT_MIN(m + (size_t)LEAT_MAX(k, 0), cap - 1);
        part += length, n -= length;
        while (n > 0 && *part == ' ') part++, n--;
    }
}

/* The label left and the key right. */
static bool in_one_line(const leat__view_cell *cell, int size) {
    const int label = (int)strlen(cell->label), key = (int)strlen(cell->key);
    return label > 0 && label * (LEAT_FONT_STEP + 1) + key * LEAT_FONT_STEP + GAP <= size;
}

static void words_of(words *w, const leat__view_cell *cell, int size) {
    const int chars = size / LEAT_FONT_STEP;
    w->n = 0;
    add_wrapped(w, cell->label, size / (LEAT_FONT_STEP + 1), 1, true, ink);
    if (!in_one_line(cell, size)) add_wrapped(w, cell->key, chars, 1, false, accent);
    add_wrapped(w, cell->detail, chars, 0, false, faded);
    for (const char *at = cell->words; *at;) {
        char part[700];
        const size_t n = strcspn(at, ";");
        shorten(part, sizeof part, at, n);
        add_wrapped(w, part, chars, 2, false, faded);
        at += n + (at[n] == ';');
    }
}

static void write_words(canvas *page, int x, int y, const words *w, const leat__view_cell *cell, int size) {
    if (in_one_line(cell, size))
        write_text(page, x + size + 1 - (int)strlen(cell->key) * LEAT_FONT_STEP, y, cell->key, accent, 1,
                   false);
    for (int i = 0; i < w->n; i++, y += LINE)
        write_text(page, x, y, w->line[i].text, w->line[i].colour, 1, w->line[i].bold);
}

/* --------------------------------------------------------------------------------------------- page */

static int column_x(const leat__view_sheet *sheet, int column) {
    if (sheet->strip) return 1 + column * (sheet->size + GAP);
    return MARGIN + column * (sheet->size + GAP) + (column > 0 ? GAP_FIRST - GAP : 0);
}

/* Lines below the tallest cell of a row. */
static int row_lines(const leat__view_sheet *sheet, int row) {
    words w;
    int most = 0;
    for (int i = 0; i < sheet->n_columns; i++) {
        words_of(&w, &sheet->cell[row * sheet->n_columns + i], sheet->size);
        most = LEAT_MAX(most, w.n);
    }
    return most;
}

/* Title, text and note, if page is not NULL; the height that they take. */
static int draw_head(canvas *page, const leat__view_sheet *sheet, int width) {
    if (sheet->strip) return 1;
    words w = {0};
    const int chars = (width - 2 * MARGIN) / LEAT_FONT_STEP;
    int y = MARGIN;
    add_wrapped(&w, sheet->text, chars, 2, false, ink);
    const int n_text = w.n;
    add_wrapped(&w, sheet->note, chars, 2, false, faded);
    if (page) write_text(page, MARGIN, y, sheet->title, ink, 2, true);
    y += 2 * LEAT_FONT_HEIGHT + 10;
    for (int i = 0; i < w.n; i++, y += LINE) {
        if (i == n_text) y += LINE / 2;
        if (page) write_text(page, MARGIN, y, w.line[i].text, w.line[i].colour, 1, false);
    }
    y += LINE / 2;
    if (page) fill(page, MARGIN, y, width - 2 * MARGIN, 1, frame);
    return y + 1 + ROW_GAP;
}

static void draw_rows(canvas *page, const leat__view_sheet *sheet, int y) {
    words w;
    for (int row = 0; row < sheet->n_rows; row++) {
        for (int i = 0; i < sheet->n_columns; i++) {
            const leat__view_cell *cell = &sheet->cell[row * sheet->n_columns + i];
            const int x = column_x(sheet, i);
            words_of(&w, cell, sheet->size);
            draw_picture(page, x, y, sheet->size, cell);
            write_words(page, x, y + sheet->size + TEXT_TOP, &w, cell, sheet->size);
        }
        y += sheet->size + TEXT_TOP + row_lines(sheet, row) * LINE + ROW_GAP;
    }
}

int leat__view_draw(leat__buf *out, int *height, int *width, const leat__view_sheet *sheet, leat_error *err) {
    const int margin = sheet->strip ? 1 : MARGIN;
    *width = column_x(sheet, sheet->n_columns - 1) + sheet->size + margin;
    const int head = draw_head(NULL, sheet, *width);
    int64_t total = head + margin - ROW_GAP;
    for (int row = 0; row < sheet->n_rows; row++)
        total += sheet->size + TEXT_TOP + row_lines(sheet, row) * LINE + ROW_GAP;
    if (total * *width * 3 > BYTES_MAX)
        return leat__fail(err, LEAT_ERR_LIMIT,
                          "a sheet of %d x %" PRId64
                          " pixels is too large: take fewer samples, versions or pixels",
                          *width, total);
    *height = (int)total;
    const size_t bytes = (size_t)*height * (size_t)*width * 3;
    if (!leat__buf_reserve(out, bytes)) return leat__fail_memory(err, bytes, "a sheet");
    out->size = bytes;
    canvas page = {.rgb = out->data, .height = *height, .width = *width};
    fill(&page, 0, 0, page.width, page.height, ground);
    draw_head(&page, sheet, page.width);
    draw_rows(&page, sheet, head);
    return 0;
}
