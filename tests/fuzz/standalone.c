/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target without libFuzzer: over files, folders of files, and simple mutations of them.
 *
 *     fuzz_tfrecord [--mutate N SEED] PATH...
 *
 * Every input is copied to a block of exactly its size, so that AddressSanitizer sees a read one byte past the
 * end. A mutation depends on SEED, its number and the bytes of the files alone: what failed once fails again. The
 * input under work when a run dies is kept as crash-HASH in the current folder. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define INPUT_MAX ((size_t)16 << 20)
#define RUN_SECONDS 20

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
__attribute__((weak)) int LLVMFuzzerInitialize(int *argc, char ***argv);
__attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)(void));

typedef struct input {
    char *name;
    uint8_t *data;
    size_t size;
} input;

static input *inputs;
static size_t n_inputs;
static uint64_t n_runs;

/* What is under work, for the last words of a process that dies. */
static const uint8_t *now_data;
static size_t now_size;
static const char *now_name = "(none)";
static uint64_t now_mutation;

static uint64_t hash(const uint8_t *data, size_t size) {
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < size; i++) h = (h ^ data[i]) * 0x100000001b3u;
    return h;
}

static void last_words(void) {
    if (!now_data) return; /* a leak, told at the end: no input is to blame */
    char text[600], path[40];
    const uint64_t h = hash(now_data, now_size);
    snprintf(path, sizeof path, "crash-%016llx", (unsigned long long)h);
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    bool kept = fd >= 0;
    if (kept) kept = write(fd, now_data, now_size) == (ssize_t)now_size && close(fd) == 0;
    const int n = snprintf(
        text, sizeof text, "standalone: died on %.400s, mutation %llu (%zu bytes), %s %s\n", now_name,
        (unsigned long long)now_mutation, now_size, kept ? "kept as" : "not kept as", path);
    if (write(STDERR_FILENO, text, (size_t)n) < 0) return;
}

static void on_signal(int number) {
    last_words();
    signal(number, SIG_DFL);
    raise(number == SIGALRM ? SIGABRT : number);
}

static void *must(void *block) {
    if (block) return block;
    fprintf(stderr, "standalone: no memory\n");
    exit(2);
}

static void run(const char *name, uint64_t mutation, const uint8_t *data, size_t size) {
    uint8_t *exact = must(malloc(size ? size : 1));
    if (size) memcpy(exact, data, size);
    now_data = exact, now_size = size, now_name = name, now_mutation = mutation;
    alarm(RUN_SECONDS);
    LLVMFuzzerTestOneInput(exact, size);
    alarm(0);
    n_runs++;
    now_data = NULL, now_size = 0, now_name = "(none)";
    free(exact);
}

/* ------------------------------------------------------------------------------------------ inputs */

static void add_input(const char *name, const uint8_t *data, size_t size) {
    inputs = must(realloc(inputs, (n_inputs + 1) * sizeof *inputs));
    input *in = &inputs[n_inputs++];
    *in = (input){.name = must(strdup(name)), .data = must(malloc(size + 1)), .size = size};
    if (size) memcpy(in->data, data, size);
}

static int add_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) {
        fprintf(stderr, "standalone: %s: %s\n", path, strerror(errno));
        return -1;
    }
    uint8_t *data = must(malloc(INPUT_MAX));
    const size_t size = fread(data, 1, INPUT_MAX, file);
    fclose(file);
    add_input(path, data, size);
    free(data);
    return 0;
}

static int add_path(const char *path) {
    struct stat info;
    if (stat(path, &info) != 0) {
        fprintf(stderr, "standalone: %s: %s\n", path, strerror(errno));
        return -1;
    }
    if (!S_ISDIR(info.st_mode)) return add_file(path);
    struct dirent **names;
    const int n = scandir(path, &names, NULL, alphasort);
    int rc = n < 0 ? -1 : 0;
    for (int i = 0; i < n; i++) {
        if (names[i]->d_name[0] != '.') {
            char *child = NULL;
            if (asprintf(&child, "%s/%s", path, names[i]->d_name) < 0) must(NULL);
            if (add_path(child) != 0) rc = -1;
            free(child);
        }
        free(names[i]);
    }
    if (n >= 0) free(names);
    return rc;
}

/* --------------------------------------------------------------------------------------- mutations */

typedef struct random_state {
    uint64_t x;
} random_state;

static uint64_t draw(random_state *r) {
    uint64_t z = r->x += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static size_t below(random_state *r, size_t n) {
    return n ? (size_t)(draw(r) % n) : 0;
}

/* A place in the input: half of the time near its head, where the headers are. */
static size_t place(random_state *r, size_t size) {
    return draw(r) & 1 ? below(r, size) : below(r, size < 64 ? size : 64);
}

static size_t flip_bits(random_state *r, uint8_t *data, size_t size) {
    for (size_t n = 1 + below(r, 8); n > 0 && size > 0; n--)
        data[place(r, size)] ^= (uint8_t)(1u << below(r, 8));
    return size;
}

static size_t set_extremes(random_state *r, uint8_t *data, size_t size) {
    static const uint8_t extremes[] = {0x00, 0x01, 0x7f, 0x80, 0xfe, 0xff};
    for (size_t n = 1 + below(r, 4); n > 0 && size > 0; n--)
        data[place(r, size)] = extremes[below(r, sizeof extremes)];
    return size;
}

/* Numbers that break sums and products, 2, 4 or 8 bytes wide, in either byte order. */
static size_t set_number(random_state *r, uint8_t *data, size_t size) {
    static const uint64_t numbers[] = {0,          1,          0x7fff,        0x8000,         0xffff,
                                       0x7fffffff, 0x80000000, 0xffffffff,    0x100000001ull, INT64_MAX,
                                       1ull << 63, UINT64_MAX, UINT64_MAX - 3};
    const size_t width = (size_t)2 << below(r, 3);
    if (size < width) return size;
    const size_t at = place(r, size - width + 1);
    const uint64_t v = numbers[below(r, sizeof numbers / sizeof *numbers)] + (draw(r) % 8 == 0 ? size : 0);
    const bool big = draw(r) & 1;
    for (size_t i = 0; i < width; i++) data[at + (big ? width - 1 - i : i)] = (uint8_t)(v >> 8 * i);
    return size;
}

static size_t cut_out(random_state *r, uint8_t *data, size_t size) {
    const size_t at = place(r, size), n = below(r, size - at + 1);
    memmove(data + at, data + at + n, size - at - n);
    return size - n;
}

static size_t repeat_run(random_state *r, uint8_t *data, size_t size, size_t cap) {
    const size_t at = place(r, size), room = cap - size;
    size_t n = below(r, size - at + 1);
    if (n > room) n = room;
    memmove(data + at + n, data + at, size - at);
    return size + n;
}

/* The head of this input and the tail of another. */
static size_t join_other(random_state *r, uint8_t *data, size_t size, size_t cap) {
    const input *other = &inputs[below(r, n_inputs)];
    const size_t head = below(r, size + 1), from = below(r, other->size + 1);
    size_t n = other->size - from;
    if (n > cap - head) n = cap - head;
    if (n) memcpy(data + head, other->data + from, n);
    return head + n;
}

static size_t mutate(random_state *r, uint8_t *data, size_t size, size_t cap) {
    switch (draw(r) % 8) {
    case 0: return below(r, size + 1); /* a truncation */
    case 1: return set_extremes(r, data, size);
    case 2: return set_number(r, data, size);
    case 3: return cut_out(r, data, size);
    case 4: return repeat_run(r, data, size, cap);
    case 5: return join_other(r, data, size, cap);
    default: return flip_bits(r, data, size);
    }
}

static void run_mutations(const input *in, uint64_t n, uint64_t seed) {
    const size_t cap = in->size * 2 + 4096;
    uint8_t *data = must(malloc(cap));
    const uint64_t key = hash(in->data, in->size);
    for (uint64_t i = 1; i <= n; i++) {
        random_state r = {key ^ seed * 0xd1342543de82ef95u ^ i << 32};
        size_t size = in->size;
        memcpy(data, in->data, size);
        /* The first quarter cuts the input at evenly spread places; the rest stacks one to four changes. */
        if (i <= n / 4) {
            size = (size_t)((double)size * (double)(i - 1) / (double)(n / 4));
        } else {
            for (size_t k = 1 + below(&r, 4); k > 0; k--) size = mutate(&r, data, size, cap);
        }
        run(in->name, i, data, size);
    }
    free(data);
}

/* ------------------------------------------------------------------------------------------- main */

static void install_handlers(void) {
    static const int always[] = {SIGABRT, SIGALRM}, plain[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    for (size_t i = 0; i < sizeof always / sizeof *always; i++) signal(always[i], on_signal);
    if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(last_words);
    else
        for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) signal(plain[i], on_signal);
}

int main(int argc, char **argv) {
    const char *const name = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
    uint64_t mutations = 0, seed = 0;
    int i = 1, rc = 0;
    if (i < argc && strcmp(argv[i], "--mutate") == 0 && argc >= i + 3) {
        mutations = strtoull(argv[i + 1], NULL, 0);
        seed = strtoull(argv[i + 2], NULL, 0);
        i += 3;
    }
    if (i < argc && argv[i][0] == '-') {
        fprintf(stderr, "usage: %s [--mutate N SEED] PATH...\n", name);
        return 2;
    }
    if (LLVMFuzzerInitialize) LLVMFuzzerInitialize(&argc, &argv);
    install_handlers();

    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (; i < argc; i++)
        if (add_path(argv[i]) != 0) rc = 2;
    const size_t n_files = n_inputs;
    run("(empty)", 0, NULL, 0);
    if (n_files == 0) { /* nothing to start from: noise */
        uint8_t noise[1024];
        random_state r = {seed};
        for (size_t k = 0; k < sizeof noise; k++) noise[k] = (uint8_t)draw(&r);
        add_input("(noise)", noise, sizeof noise);
    }
    for (size_t k = 0; k < n_inputs; k++) {
        run(inputs[k].name, 0, inputs[k].data, inputs[k].size);
        run_mutations(&inputs[k], mutations, seed);
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    const double seconds = (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9;
    printf("%s: %zu files, %llu inputs run, %.2f s\n", name, n_files, (unsigned long long)n_runs, seconds);
    for (size_t k = 0; k < n_inputs; k++) {
        free(inputs[k].name);
        free(inputs[k].data);
    }
    free(inputs);
    return rc;
}
