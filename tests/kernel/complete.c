/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the cases would notice: each vector kernel is replaced by a function that does nothing, and at least one case of
 * its table must fail. A kernel without a case, or with a case that compares nothing, is named. */
#include "kernel/harness.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KERNELS_MAX = 256, ROUNDS = 12, SECONDS_MAX = 60 };

static uintptr_t replaced;

/* Called with the arguments of any kernel. */
static uintptr_t nothing(void) {
    return 0;
}

void k_replace(void *table, size_t bytes) {
    if (!replaced) return;
    for (size_t at = 0; at + sizeof replaced <= bytes; at += sizeof replaced) {
        const uintptr_t with = (uintptr_t)nothing;
        if (memcmp((char *)table + at, &replaced, sizeof replaced) == 0)
            memcpy((char *)table + at, &with, sizeof with);
    }
}

/* Functions of a table of this instruction set that plain C does not have, each once. Other values do not lie among the
 * functions of this program. */
static int list_kernels(const k_table *table, unsigned flags, uintptr_t kernels[KERNELS_MAX]) {
    extern const char __executable_start[], etext[];
    uintptr_t c[KERNELS_MAX] = {0}, isa[KERNELS_MAX] = {0};
    int n = 0;
    if (table->bytes > sizeof c) return -1;
    table->init(c, 0);
    table->init(isa, flags);
    for (size_t i = 0; i < table->bytes / sizeof *c; i++) {
        bool known = isa[i] == c[i] || isa[i] < (uintptr_t)__executable_start || isa[i] >= (uintptr_t)etext;
        for (int k = 0; k < n && !known; k++) known = kernels[k] == isa[i];
        if (!known) kernels[n++] = isa[i];
    }
    return n;
}

/* What the linker calls it, or where it lies if there is no nm. */
static void name_of(uintptr_t kernel, char *text, size_t cap) {
    char line[400], name[300];
    unsigned long address, base = 0, best = 0;
    extern const char __executable_start[];
    snprintf(text, cap, "the function at %#lx", (unsigned long)kernel);
    snprintf(line, sizeof line, "nm /proc/%d/exe 2>/dev/null", (int)getpid());
    for (int pass = 0; pass < 2; pass++) { /* the base first: nm does not know where the program was loaded */
        FILE *pipe = popen(line, "r");
        char row[400];
        while (pipe && fgets(row, sizeof row, pipe)) {
            if (sscanf(row, "%lx %*c %299s", &address, name) != 2) continue;
            if (pass == 0 && strcmp(name, "__executable_start") == 0)
                base = (unsigned long)(uintptr_t)__executable_start - address;
            if (pass == 1 && address + base <= kernel && address + base > best) {
                best = address + base;
                if (best == kernel) snprintf(text, cap, "%s", name);
            }
        }
        if (pipe) pclose(pipe);
    }
}

static bool unnoticed(const k_group *groups, size_t n_groups, const k_table *table, uintptr_t kernel,
                      unsigned flags) {
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        const int nowhere = open("/dev/null", O_WRONLY);
        dup2(nowhere, 1), dup2(nowhere, 2);
        alarm(SECONDS_MAX);
        replaced = kernel;
        for (size_t g = 0; g < n_groups; g++)
            for (const k_case *c = groups[g].cases; groups[g].table == table && c->name; c++)
                if (!k_run_case(c, flags, ROUNDS)) _exit(1);
        _exit(0);
    }
    int status = -1;
    if (child < 0 || waitpid(child, &status, 0) != child) return true;
    return status == 0; /* a crash is noticed too */
}

bool k_complete(const k_group *groups, size_t n_groups, const k_table *table, unsigned flags, char *reason,
                size_t cap) {
    uintptr_t kernels[KERNELS_MAX];
    const int n = list_kernels(table, flags, kernels);
    int n_bad = 0;
    if (n <= 0) snprintf(reason, cap, "no kernels of this instruction set were found");
    for (int k = 0; k < n; k++) {
        char name[300];
        if (!unnoticed(groups, n_groups, table, kernels[k], flags)) continue;
        name_of(kernels[k], name, sizeof name);
        const size_t used = n_bad++ ? strlen(reason) : 0;
        snprintf(reason + used, cap - used, "%s%s", used ? ", " : "no case fails without ", name);
    }
    return n > 0 && n_bad == 0;
}
