/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a page of HTML into memory. Text that comes from outside (file names, pipeline texts, messages) goes through
 * leat__page_text or leat__page_paths, which escape it; everything else is leat's own. */
#ifndef LEAT_TOOLS_PAGE_H
#define LEAT_TOOLS_PAGE_H

#include "base/mem.h"

typedef struct leat__page { /* zeroed = empty */
    leat__buf html;
    bool full;        /* there was no memory: the page is worth nothing      */
    bool whole_paths; /* leat__page_paths leaves them as they are            */
} leat__page;

/* As it is. */
void leat__page_put(leat__page *page, const char *html);
void leat__page_bytes(leat__page *page, const void *bytes, size_t n);
/* Formatted, for leat's own words and whole numbers: printf writes fractions as the locale of the program says. */
void leat__page_putf(leat__page *page, const char *format, ...) LEAT_PRINTF(2, 3);
/* A number with so many digits behind a point. */
void leat__page_number(leat__page *page, double value, int digits);
/* 1,912; 28.3 */
void leat__page_rate(leat__page *page, double per_s);
void leat__page_count(leat__page *page, uint64_t n);
/* 12 us, 3.4 ms, 1.2 s, 14 min, 3.1 h, 9.8 days */
void leat__page_time(leat__page *page, double seconds);
/* 110 KB */
void leat__page_size(leat__page *page, double bytes);
/* 81 %, of a share between 0 and 1 */
void leat__page_percent(leat__page *page, double share);
/* Text from outside: &, <, >, quotes become entities. Control characters, characters that turn the direction of text round,
 * and bytes that are not UTF-8 become U+FFFD. */
void leat__page_text(leat__page *page, const char *text);
/* The same for a text with paths in it, such as a pipeline or a command: of each path its last name is shown, unless
 * whole_paths is set. Operations other than sources may have formulas with a /: there only paths from the root are
 * shortened. */
void leat__page_paths(leat__page *page, const char *text);
/* The same for sentences: only paths from the root are shortened. */
void leat__page_prose(leat__page *page, const char *text);
/* <h2>title</h2> in a new section, and its end. */
void leat__page_section(leat__page *page, const char *title);
void leat__page_section_end(leat__page *page);
void leat__page_base64(leat__page *page, const uint8_t *bytes, size_t n);

#endif
