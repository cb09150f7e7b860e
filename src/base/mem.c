/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"

#include "base/locks.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#define LEAT_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LEAT_ASAN 1
#endif
#endif
#ifdef LEAT_ASAN
#include <sanitizer/asan_interface.h>
#define POISON(p, n) __asan_poison_memory_region(p, n)
#define UNPOISON(p, n) __asan_unpoison_memory_region(p, n)
#define REDZONE 64
#define MAPPED_MIN SIZE_MAX /* never: a sanitizer finds reads behind blocks of its own allocator only */
#else
#define POISON(p, n) ((void)0)
#define UNPOISON(p, n) ((void)0)
#define REDZONE 0
#define MAPPED_MIN ((size_t)1 << 16)
#endif

/* In front of every block: what leat__free must know. As large as the alignment. */
typedef struct block_head {
    size_t bytes;
    leat__mem_kind kind;
    leat__account *account; /* NULL = none */
    size_t mapped;          /* of pages: bytes that are given back, not all of which may be counted; else 0 */
} LEAT_ALIGNED(LEAT_CACHE_LINE) block_head;

struct leat__account {
    atomic_uint_least64_t bytes;
    atomic_uint_least64_t refs; /* blocks, and one until it is closed */
    atomic_uint_least64_t retried;
    atomic_bool stopped;
};

static _Thread_local leat__account *current;

/* Tests only: leaks, and allocations that fail. */
static atomic_uint_least64_t held[LEAT_MEM_KINDS];
static atomic_uint_least64_t n_allocs; /* counts up to fail_at */
static atomic_uint_least64_t fail_at;

uint64_t leat__mem_fail_at(uint64_t n) {
    const uint64_t seen = atomic_exchange(&n_allocs, 0);
    atomic_store(&fail_at, n);
    return seen;
}

uint64_t leat__mem_held(leat__mem_kind kind) {
    return atomic_load(&held[kind]);
}

/* ----------------------------------------------------------------------------------------- accounts */

leat__account *leat__account_new(void) {
    leat__account *account = calloc(1, sizeof *account);
    if (account) atomic_store(&account->refs, 1);
    return account;
}

static void drop_account(leat__account *account) {
    if (account && atomic_fetch_sub(&account->refs, 1) == 1) free(account);
}

void leat__account_close(leat__account **account) {
    drop_account(*account);
    *account = NULL;
}

uint64_t leat__account_bytes(const leat__account *account) {
    return account ? atomic_load(&account->bytes) : 0;
}

leat__account *leat__account_use(leat__account *account) {
    leat__account *before = current;
    current = account;
    return before;
}

void leat__account_stop(leat__account *account) {
    atomic_store(&account->stopped, true);
}

bool leat__account_stopped(void) {
    return current && atomic_load_explicit(&current->stopped, memory_order_relaxed);
}

void leat__account_retried(void) {
    if (current) atomic_fetch_add_explicit(&current->retried, 1, memory_order_relaxed);
}

uint64_t leat__account_retries(const leat__account *account) {
    return atomic_load_explicit(&account->retried, memory_order_relaxed);
}

leat__account *leat__account_now(void) {
    return current;
}

static void count(block_head *head, leat__mem_kind kind, size_t bytes) {
    *head = (block_head){.bytes = bytes, .kind = kind, .account = current};
    atomic_fetch_add(&held[kind], bytes);
    if (!current) return;
    atomic_fetch_add(&current->bytes, bytes);
    atomic_fetch_add(&current->refs, 1);
}

static void uncount(const block_head *head) {
    atomic_fetch_sub(&held[head->kind], head->bytes);
    if (!head->account) return;
    atomic_fetch_sub(&head->account->bytes, head->bytes);
    drop_account(head->account);
}

/* ------------------------------------------------------------------------------------------- blocks */

static void *alloc_raw(leat__mem_kind kind, size_t bytes, bool zeroed) {
    size_t total;
    leat__lock_check_work();
    if (!leat__add_size(bytes, sizeof(block_head) + LEAT_MEM_PAD + LEAT_CACHE_LINE, &total)) return NULL;
    total = total / LEAT_CACHE_LINE * LEAT_CACHE_LINE;
    if (atomic_fetch_add(&n_allocs, 1) + 1 == atomic_load(&fail_at)) return NULL;
    /* A table of a pipeline has room for the most entries that there may be, and most runs use few of them. Pages from the
     * system are zero already, and those that the pipeline never touches take no time and no memory. */
    const bool mapped = zeroed && total >= MAPPED_MIN;
    block_head *head = mapped ? mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                              : aligned_alloc(LEAT_CACHE_LINE, total);
    if (!head || head == MAP_FAILED) return NULL;
    if (!zeroed) memset((uint8_t *)(head + 1) + bytes, 0, total - sizeof *head - bytes);
    else if (!mapped) memset(head, 0, total);
    count(head, kind, bytes);
    if (mapped) head->mapped = total;
    return head + 1;
}

void *leat__alloc(leat__mem_kind kind, size_t bytes) {
    return alloc_raw(kind, bytes, true);
}

void leat__free(void *block) {
    if (!block) return;
    block_head *head = (block_head *)block - 1;
    uncount(head);
    if (head->mapped) munmap(head, head->mapped);
    else free(head);
}

enum { PAGE = 4096 };

/* A page in front has the head; kernels may read past the end here too. */
static size_t page_bytes(size_t bytes) {
    return PAGE + LEAT_ALIGN_UP(bytes + LEAT_MEM_PAD, (size_t)PAGE);
}

void *leat__reserve_pages(size_t bytes, size_t used) {
    leat__lock_check_work();
    if (atomic_fetch_add(&n_allocs, 1) + 1 == atomic_load(&fail_at)) return NULL;
    uint8_t *pages =
        mmap(NULL, page_bytes(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) return NULL;
    madvise(pages, page_bytes(bytes), MADV_HUGEPAGE);
    block_head *head = (block_head *)(void *)pages;
    count(head, LEAT_MEM_SLOT, used);
    head->mapped = bytes;
    return pages + PAGE;
}

void *leat__alloc_pages(size_t bytes) {
    return leat__reserve_pages(bytes, bytes);
}

void leat__count_pages(void *block, size_t used) {
    block_head *head = (block_head *)(void *)((uint8_t *)block - PAGE);
    used = LEAT_MIN(used, head->mapped);
    if (used <= head->bytes) return;
    atomic_fetch_add(&held[head->kind], used - head->bytes);
    if (head->account) atomic_fetch_add(&head->account->bytes, used - head->bytes);
    head->bytes = used;
}

void leat__free_pages(void *block) {
    if (!block) return;
    uint8_t *pages = (uint8_t *)block - PAGE;
    const block_head *head = (const block_head *)(void *)pages;
    uncount(head);
    munmap(pages, page_bytes(head->mapped));
}

char *leat__strdup(leat__mem_kind kind, const char *text) {
    const size_t n = strlen(text) + 1;
    char *copy = alloc_raw(kind, n, false);
    return copy ? memcpy(copy, text, n) : NULL;
}

bool leat__buf_reserve(leat__buf *buf, size_t bytes) {
    if (bytes <= buf->cap) return true;
    const size_t cap = LEAT_MAX(buf->cap + buf->cap / 2, (size_t)4096);
    return leat__buf_reserve_exactly(buf, LEAT_MAX(cap, bytes));
}

bool leat__buf_reserve_exactly(leat__buf *buf, size_t cap) {
    if (cap <= buf->cap) return true;
    uint8_t *data = alloc_raw(buf->kind, cap, false);
    if (!data) return false;
    if (buf->size) memcpy(data, buf->data, buf->size);
    leat__free(buf->data);
    buf->data = data;
    buf->cap = cap;
    buf->grown++;
    return true;
}

bool leat__buf_append(leat__buf *buf, const void *bytes, size_t n) {
    size_t total;
    if (!leat__add_size(buf->size, n, &total) || !leat__buf_reserve(buf, total)) return false;
    if (n) memcpy(buf->data + buf->size, bytes, n);
    buf->size = total;
    return true;
}

void leat__buf_trim(leat__buf *buf) {
    if (buf->size == buf->cap || buf->size == 0) return;
    uint8_t *data = alloc_raw(buf->kind, buf->size, false);
    if (!data) return;
    memcpy(data, buf->data, buf->size);
    leat__free(buf->data);
    buf->data = data;
    buf->cap = buf->size;
}

void leat__buf_free(leat__buf *buf) {
    leat__free(buf->data);
    *buf = (leat__buf){.kind = buf->kind};
}

/* ------------------------------------------------------------------------------------------- arena
 *
 *     chunks -> [head | piece | redzone | piece | redzone | ... free ]  -> older chunk -> ...
 *
 * Redzones exist under AddressSanitizer only. */

struct leat__arena_chunk {
    leat__arena_chunk *older;
    size_t cap, used;
    LEAT_ALIGNED(LEAT_CACHE_LINE) uint8_t bytes[];
};

static bool add_chunk(leat__arena *arena, size_t cap) {
    leat__arena_chunk *chunk = alloc_raw(arena->kind, sizeof *chunk + cap, false);
    if (!chunk) return false;
    chunk->older = arena->chunks;
    chunk->cap = cap;
    chunk->used = 0;
    POISON(chunk->bytes, cap);
    arena->chunks = chunk;
    arena->grown++;
    return true;
}

static void drop_chunks(leat__arena *arena) {
    while (arena->chunks) {
        leat__arena_chunk *older = arena->chunks->older;
        UNPOISON(arena->chunks->bytes, arena->chunks->cap);
        leat__free(arena->chunks);
        arena->chunks = older;
    }
}

/* What a piece of so many bytes takes; SIZE_MAX if there is no such size. */
static size_t piece_bytes(size_t bytes) {
    size_t need;
    if (!leat__add_size(bytes, LEAT_CACHE_LINE - 1 + REDZONE, &need)) return SIZE_MAX;
    return need / LEAT_CACHE_LINE * LEAT_CACHE_LINE;
}

bool leat__arena_allows(const leat__arena *arena, size_t bytes) {
    const size_t need = piece_bytes(bytes);
    return !arena->limit || (need <= arena->limit && arena->used <= arena->limit - need);
}

void *leat__arena_alloc(leat__arena *arena, size_t bytes) {
    const size_t need = piece_bytes(bytes);
    if (!leat__arena_allows(arena, bytes)) {
        arena->refused = true;
        return NULL;
    }
    if (need == SIZE_MAX) return NULL;
    leat__arena_chunk *chunk = arena->chunks;
    if (!chunk || chunk->cap - chunk->used < need) {
        if (!add_chunk(arena, LEAT_MAX(need, (size_t)65536))) return NULL;
        chunk = arena->chunks;
    }
    uint8_t *piece = chunk->bytes + chunk->used;
    chunk->used += need;
    arena->used += need;
    if (arena->used > arena->high) arena->high = arena->used;
    UNPOISON(piece, bytes);
    return piece;
}

bool leat__arena_adopt(leat__arena *arena, size_t high) {
    assert(arena->used == 0);
    if (high > arena->high) arena->high = high;
    if (arena->chunks && !arena->chunks->older && arena->chunks->cap >= arena->high) return true;
    drop_chunks(arena);
    return arena->high == 0 || add_chunk(arena, arena->high);
}

void leat__arena_reset(leat__arena *arena) {
    arena->used = 0;
    /* Several chunks mean that this image was the largest so far: make one of them. Without memory for it
     * the arena stays empty and the next image starts again with small chunks. */
    if (arena->chunks && arena->chunks->older) leat__arena_adopt(arena, arena->high);
    if (!arena->chunks) return;
    arena->chunks->used = 0;
    POISON(arena->chunks->bytes, arena->chunks->cap);
}

void leat__arena_free(leat__arena *arena) {
    drop_chunks(arena);
    *arena = (leat__arena){.kind = arena->kind, .limit = arena->limit};
}
