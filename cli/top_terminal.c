/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "top.h"

static struct termios before; /* of the terminal, as the shell had it */
static bool keys;             /* stdin is a terminal                  */
static volatile sig_atomic_t entered, ended, suspended, resized;

static void put(const char *text, size_t n) {
    while (n > 0) {
        const ssize_t done = write(STDOUT_FILENO, text, n);
        if (done < 0 && errno != EINTR && errno != EAGAIN) return;
        if (done > 0) text += done, n -= (size_t)done;
    }
}

/* Also from a signal handler: tcsetattr and write are allowed there. */
void top_terminal_leave(void) {
    static const char back[] = "\033[0m\033[?25h\033[?1049l";
    if (!entered) return;
    entered = 0;
    put(back, sizeof back - 1);
    if (keys) tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
}

static void on_end(int number) {
    (void)number;
    if (++ended < 2) return;
    top_terminal_leave(); /* the program hangs: the terminal must not suffer */
    _exit(130);
}

static void on_suspend(int number) {
    (void)number;
    suspended = 1;
}

static void on_resize(int number) {
    (void)number;
    resized = 1;
}

static void catch_signals(void) {
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    struct sigaction action = {.sa_handler = on_end}; /* without SA_RESTART: waiting ends */
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) sigaction(ends[i], &action, NULL);
    action.sa_handler = on_suspend;
    sigaction(SIGTSTP, &action, NULL);
    action.sa_handler = on_resize;
    sigaction(SIGWINCH, &action, NULL);
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, NULL);
}

static void take_screen(void) {
    static const char all[] = "\033[?1049h\033[?25l\033[2J";
    struct termios raw = before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO); /* Ctrl-C and Ctrl-Z stay signals */
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    entered = 1;
    if (keys) tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw);
    put(all, sizeof all - 1);
}

void top_terminal_enter(void) {
    /* A job in the background may not change the terminal: it would be stopped, and can still show. */
    keys =
        isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) == getpgrp() && tcgetattr(STDIN_FILENO, &before) == 0;
    catch_signals();
    take_screen();
}

bool top_terminal_fits(void) {
    const char *term = getenv("TERM");
    return isatty(STDOUT_FILENO) && term && *term && strcmp(term, "dumb") != 0;
}

/* Terminals that are known to have no colours; all others have some. */
static bool has_colours(void) {
    static const char *const plain[] = {"vt52", "vt100", "vt102", "vt220", "xterm-mono"};
    const char *term = getenv("TERM"), *no = getenv("NO_COLOR");
    if (!top_terminal_fits() || (no && *no)) return false;
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strcmp(term, plain[i]) == 0) return false;
    return true;
}

top_paper top_terminal_paper(FILE *out) {
    struct winsize size = {0};
    const bool screen = isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
    return (top_paper){.out = out,
                       .width = screen && size.ws_col > 0 ? size.ws_col : 80,
                       .height = screen && size.ws_row > 0 ? size.ws_row : 24,
                       .colours = has_colours(),
                       .letters = cli_letters(),
                       .end = "\n"};
}

/* The shell gets its terminal back, and when it continues this program the screen is taken again. */
static void suspend(void) {
    suspended = 0;
    top_terminal_leave();
    raise(SIGSTOP);
    take_screen();
}

/* The next byte that was typed; -1: there is none yet. */
static int read_byte(void) {
    unsigned char byte;
    const ssize_t n = read(STDIN_FILENO, &byte, 1);
    if (n < 0 && errno != EINTR && errno != EAGAIN) ended = 1; /* the terminal is gone */
    return n == 1 ? byte : -1;
}

static int read_key(void) {
    const int first = read_byte();
    if (first < 0) return TOP_KEY_NONE;
    if (first != '\033') return first;
    const int second = read_byte(); /* an arrow is three bytes, which come together */
    if (second != '[' && second != 'O') return TOP_KEY_NONE;
    const int third = read_byte();
    return third == 'A' ? TOP_KEY_UP : third == 'B' ? TOP_KEY_DOWN : TOP_KEY_NONE;
}

bool top_terminal_key(double seconds, int *key) {
    const double until = cli_now() + seconds;
    *key = TOP_KEY_NONE;
    while (!ended) {
        if (suspended) {
            suspend();
            *key = TOP_KEY_RESIZE;
            return true;
        }
        if (resized) {
            resized = 0;
            *key = TOP_KEY_RESIZE;
            return true;
        }
        const double left = until - cli_now();
        if (left <= 0) return true;
        /* In slices, since a signal may come right before poll. */
        struct pollfd fd = {.fd = STDIN_FILENO, .events = POLLIN};
        const int n = poll(&fd, keys, left < 0.2 ? (int)(left * 1000) + 1 : 200);
        if (n > 0 && fd.revents & (POLLHUP | POLLERR | POLLNVAL)) ended = 1; /* the terminal is gone */
        else if (n > 0 && (*key = read_key()) != TOP_KEY_NONE) return !ended;
    }
    return false;
}
