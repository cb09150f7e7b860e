/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `leat top`: what runs, how it is drawn, the terminal. */
#ifndef LEAT_CLI_TOP_H
#define LEAT_CLI_TOP_H

#include "cli.h"

enum { TOP_RATES = 60 };

typedef struct top_row {
    leat_running now;
    double rate[TOP_RATES]; /* samples a second, by report, oldest first; those of this view only */
    int n_rates;
} top_row;

typedef enum top_sort { TOP_RATE, TOP_WAITING, TOP_MEMORY, TOP_BAD, TOP_PID, TOP_SORTS } top_sort;
extern const char *const top_sort_words[TOP_SORTS];

typedef struct top_view {
    top_row *row;
    int n, chosen; /* chosen: the row whose details are shown */
    int64_t pid;   /* of this process only; 0 = all */
    top_sort sort;
    bool help;
    char note[300]; /* the last line, instead of the keys */
    leat_top_report report;
} top_view;

/* top_rows.c: reads what is published now; rates seen before and the choice stay. CLI_OK, or CLI_FAILED with a message in
 * err. */
int top_refresh(top_view *view, leat_error *err);
void top_order(top_view *view);
void top_free(top_view *view);
double top_rate(const leat_running *r);
/* Of the time of the last seconds, from 0 to 1: the program waited, workers had nothing to do. */
double top_waiting(const leat_running *r), top_idle(const leat_running *r);

/* top_draw.c */
typedef struct top_paper { /* what is drawn on */
    FILE *out;
    int width, height;     /* height 0: as many lines as it takes */
    bool colours, letters; /* letters: beyond ASCII               */
    const char *end;       /* of a line                           */
} top_paper;
void top_draw_screen(const top_view *view, const top_paper *paper);
void top_draw_table(const top_view *view, const top_paper *paper, int rows_max);
void top_draw_details(const top_row *row, const top_paper *paper);
void top_json(FILE *out, const leat_running *r);

/* top_terminal.c: the whole screen, keys without Enter. Whatever ends the program, the terminal is as before. */
enum { TOP_KEY_NONE, TOP_KEY_UP = 256, TOP_KEY_DOWN, TOP_KEY_RESIZE };
void top_terminal_enter(void);
void top_terminal_leave(void);
/* Whether stdout is a terminal with a cursor that can be moved. */
bool top_terminal_fits(void);
top_paper top_terminal_paper(FILE *out);
/* Waits for a key for up to so long. False: Ctrl-C, or the terminal is gone. */
bool top_terminal_key(double seconds, int *key);

#endif
