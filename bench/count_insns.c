/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin of QEMU's emulators: how many instructions a program executes, and in which functions. bench/arm.py compiles and
 * loads it. When the program ends, it writes to the standard error:
 *
 *     instructions 123456789
 *     in 23456789 read_block
 *     ...
 *
 * QEMU's header is not part of Debian's packages, so what is used of its interface, version 1, is declared here. Counts are
 * exact for programs of one thread. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t plugin_id;
typedef struct qemu_plugin_tb block; /* instructions that are translated and executed together */
typedef struct qemu_plugin_insn instruction;
enum { ADD_U64 = 0 };

extern void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, void (*translated)(plugin_id, block *));
extern void qemu_plugin_register_vcpu_tb_exec_inline(block *b, int operation, void *number, uint64_t value);
extern void qemu_plugin_register_atexit_cb(plugin_id id, void (*ended)(plugin_id, void *), void *data);
extern size_t qemu_plugin_tb_n_insns(const block *b);
extern instruction *qemu_plugin_tb_get_insn(const block *b, size_t i);
extern const char *qemu_plugin_insn_symbol(const instruction *i);

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

enum { FUNCTIONS_MAX = 16384, SHOWN = 40 };

typedef struct function {
    const char *name;
    uint64_t n;
} function;

static function functions[FUNCTIONS_MAX]; /* the last one gathers what finds no place */
static size_t n_functions;

static function *function_of(const char *name) {
    for (size_t i = 0; i < n_functions; i++)
        if (strcmp(functions[i].name, name) == 0) return &functions[i];
    if (n_functions == FUNCTIONS_MAX) return &functions[FUNCTIONS_MAX - 1];
    functions[n_functions].name = strdup(name);
    return &functions[n_functions++];
}

/* Blocks are translated under a lock of QEMU's. */
static void translated(plugin_id id, block *b) {
    (void)id;
    const char *name = qemu_plugin_insn_symbol(qemu_plugin_tb_get_insn(b, 0));
    function *f = function_of(name && *name ? name : "elsewhere");
    qemu_plugin_register_vcpu_tb_exec_inline(b, ADD_U64, &f->n, qemu_plugin_tb_n_insns(b));
}

static int by_number(const void *a, const void *b) {
    const uint64_t x = ((const function *)a)->n, y = ((const function *)b)->n;
    return (x < y) - (x > y);
}

static void ended(plugin_id id, void *data) {
    (void)id, (void)data;
    uint64_t sum = 0;
    for (size_t i = 0; i < n_functions; i++) sum += functions[i].n;
    fprintf(stderr, "instructions %llu\n", (unsigned long long)sum);
    qsort(functions, n_functions, sizeof *functions, by_number);
    for (size_t i = 0; i < n_functions && i < SHOWN; i++)
        fprintf(stderr, "in %llu %s\n", (unsigned long long)functions[i].n, functions[i].name);
}

__attribute__((visibility("default"))) int qemu_plugin_install(plugin_id id, const void *machine, int n,
                                                               char **words) {
    (void)machine, (void)n, (void)words;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, ended, NULL);
    return 0;
}
