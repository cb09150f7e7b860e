/* SPDX-License-Identifier: Apache-2.0 */
/* A program that uses signals of its own: a library that is loaded in front of the C library's. SIGUSR1, SIGCHLD, SIGALRM and SIGIO are
 * handled, without SA_RESTART, so that system calls come back with EINTR. A timer sends SIGALRM every STORM_US microseconds. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>

static void on_signal(int number) {
    (void)number;
}

__attribute__((constructor)) static void begin(void) {
    static const int numbers[] = {SIGUSR1, SIGCHLD, SIGALRM, SIGIO};
    const struct sigaction action = {.sa_handler = on_signal};
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++) sigaction(numbers[i], &action, NULL);
    const char *text = getenv("STORM_US");
    const long us = text ? atol(text) : 0;
    const struct itimerval timer = {{us / 1000000, us % 1000000}, {us / 1000000, us % 1000000}};
    if (us > 0) setitimer(ITIMER_REAL, &timer, NULL);
}
