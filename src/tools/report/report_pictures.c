/* SPDX-License-Identifier: Apache-2.0 */
/* Samples before and after, as `leat view` shows them, each a JPEG inside of the page. */
#include "tools/encode.h"
#include "tools/report/report.h"
#include "tools/view/view.h"

enum { ROWS = 4, VERSIONS = 5, SIZE = 160, QUALITY = 85 };

typedef struct showing {
    leat__page *page;
    leat__encoder *encoder;
    leat__buf rgb, file;
} showing;

static int put_image(showing *s, const leat__view_cell *cell, leat_error *err) {
    const leat__view_picture *picture = &cell->picture;
    const size_t stride = (size_t)picture->width * 3, bytes = stride * (size_t)picture->height;
    if (!leat__buf_reserve(&s->rgb, bytes)) return leat__fail_memory(err, bytes, "a picture");
    for (int y = 0; y < picture->height; y++)
        leat__view_row(s->rgb.data + (size_t)y * stride, picture, y, cell->range);
    const leat__pixels pixels = {
        .data = s->rgb.data, .height = picture->height, .width = picture->width, .channels = 3};
    LEAT_TRY(leat__encode_jpeg(s->encoder, &s->file, &pixels, QUALITY, true, err));
    leat__page_putf(s->page, "<img width=\"%d\" height=\"%d\" alt=\"\" src=\"data:image/jpeg;base64,",
                    picture->width, picture->height);
    leat__page_base64(s->page, s->file.data, s->file.size);
    leat__page_put(s->page, "\"/>");
    return 0;
}

static int put_cell(void *user, int row, int column, const leat__view_cell *cell, leat_error *err) {
    showing *s = user;
    if (column == 0)
        leat__page_put(s->page, row ? "</div>\n<div class=\"pictures\">\n" : "<div class=\"pictures\">\n");
    leat__page_put(s->page, "<figure>");
    if (cell->picture.height) LEAT_TRY(put_image(s, cell, err));
    leat__page_put(s->page, "<figcaption>");
    if (*cell->label) {
        leat__page_put(s->page, "<b>");
        leat__page_text(s->page, cell->label);
        leat__page_put(s->page, "</b> ");
    }
    leat__page_text(s->page, column == 0 || !*cell->words ? cell->detail : cell->words);
    if (*cell->key && !cell->picture.height) leat__page_text(s->page, cell->key);
    leat__page_put(s->page, "</figcaption></figure>\n");
    return 0;
}

int leat__report_pictures(leat__page *page, const leat_spec *spec, const leat_config *pipeline,
                          leat_error *err) {
    const leat_view_config view = {.n_samples = ROWS, .n_versions = VERSIONS, .size = SIZE};
    showing s = {.page = page, .rgb.kind = LEAT_MEM_TOOL, .file.kind = LEAT_MEM_TOOL};
    s.encoder = leat__encoder_new(err);
    if (!s.encoder) return LEAT_ERR_MEMORY;
    leat__page_section(page, "Samples before and after");
    leat__page_put(page,
                   "<p>The original, and what the pipeline makes of it in one epoch after the other.</p>\n");
    const int rc = leat__view_cells(spec, &view, pipeline, put_cell, &s, err);
    leat__page_put(page, "</div>\n");
    leat__page_section_end(page);
    leat__encoder_free(&s.encoder);
    leat__buf_free(&s.rgb);
    leat__buf_free(&s.file);
    return rc;
}
