/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that runs out in the Python binding: a library that is loaded in front of the C library's. memory_fail(n) makes the n-th allocation
 * from then on fail, once: those of the interpreter while the binding runs, and those of the engine that is linked into it.
 *
 * The interpreter's allocators are replaced by memory_begin(), which Python calls by ctypes. An allocation of the engine is known by where
 * malloc was called from. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct allocator { /* PyMemAllocatorEx */
    void *context;
    void *(*malloc)(void *, size_t);
    void *(*calloc)(void *, size_t, size_t);
    void *(*realloc)(void *, void *, size_t);
    void (*free)(void *, void *);
} allocator;

enum { DOMAINS = 3 };
static allocator before[DOMAINS];
static atomic_long left, counter;
static atomic_bool armed;
static pthread_t arming; /* the thread that called memory_fail */
static uintptr_t engine_begin, engine_end;

static bool fails(void) {
    if (!armed) return false;
    atomic_fetch_add(&counter, 1);
    return atomic_fetch_sub(&left, 1) == 1;
}

static void *take(void *context, size_t n) {
    allocator *to = context;
    return fails() ? NULL : to->malloc(to->context, n);
}

/* Of a thread that comes to the interpreter for the first time: PyGILState_Ensure has no way to fail, and ends the process. */
static bool is_thread_state(const allocator *to) {
    return to == &before[0] && !pthread_equal(pthread_self(), arming);
}

static void *take_zeroed(void *context, size_t n, size_t size) {
    allocator *to = context;
    return !is_thread_state(to) && fails() ? NULL : to->calloc(to->context, n, size);
}

static void *take_again(void *context, void *old, size_t n) {
    allocator *to = context;
    return fails() ? NULL : to->realloc(to->context, old, n);
}

static void give(void *context, void *old) {
    allocator *to = context;
    to->free(to->context, old);
}

/* Where the code of the library of the binding lies. */
void memory_begin(uintptr_t begin, uintptr_t end) {
    void (*get)(int, allocator *) = (void (*)(int, allocator *))dlsym(RTLD_DEFAULT, "PyMem_GetAllocator");
    void (*set)(int, allocator *) = (void (*)(int, allocator *))dlsym(RTLD_DEFAULT, "PyMem_SetAllocator");
    engine_begin = begin, engine_end = end;
    for (int i = 0; i < DOMAINS; i++) {
        get(i, &before[i]);
        set(i, &(allocator){&before[i], take, take_zeroed, take_again, give});
    }
}

/* Arms it: the n-th allocation fails; 0 = none. */
void memory_fail(long n) {
    left = n > 0 ? n : INTPTR_MAX;
    counter = 0;
    arming = pthread_self();
    armed = true;
}

/* How many allocations there were since memory_fail. */
long memory_stop(void) {
    armed = false;
    return counter;
}

static bool of_engine(const void *caller) {
    return armed && (uintptr_t)caller >= engine_begin && (uintptr_t)caller < engine_end && fails();
}

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

void *malloc(size_t n) {
    return of_engine(__builtin_return_address(0)) ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size) {
    return of_engine(__builtin_return_address(0)) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *old, size_t n) {
    return of_engine(__builtin_return_address(0)) ? NULL : __libc_realloc(old, n);
}

void *aligned_alloc(size_t alignment, size_t n) {
    return of_engine(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, n);
}
