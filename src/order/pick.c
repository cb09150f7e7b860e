/* SPDX-License-Identifier: Apache-2.0 */
#include "order/pick.h"

#include "order/permute.h"

/* ------------------------------------------------------------------------------------------- balance */

void leat__balance_free(leat__balance **balance) {
    if (*balance) {
        leat__free((*balance)->begin);
        leat__free((*balance)->member);
        leat__free((*balance)->place);
    }
    leat__free(*balance);
    *balance = NULL;
}

int leat__balance_new(leat__balance **out, const uint32_t *class, uint64_t n, uint32_t n_classes,
                      const uint64_t *quota, bool drawn, leat_error *err) {
    leat__balance *b = *out = leat__alloc(LEAT_MEM_INDEX, sizeof *b);
    if (!b) return leat__fail_memory(err, sizeof *b, "classes");
    b->n_classes = n_classes;
    b->drawn = drawn;
    const size_t bytes = ((size_t)n_classes + 1) * sizeof *b->begin;
    uint64_t n_members = 0;
    for (uint64_t i = 0; i < n; i++) n_members += class[i] != LEAT_NO_CLASS;
    b->begin = leat__alloc(LEAT_MEM_INDEX, bytes);
    b->place = leat__alloc(LEAT_MEM_INDEX, bytes);
    b->member = leat__alloc(LEAT_MEM_INDEX, LEAT_MAX(n_members, (uint64_t)1) * sizeof *b->member);
    if (!b->begin || !b->place || !b->member) {
        leat__balance_free(out);
        return leat__fail_memory(err, bytes + n_members * sizeof *b->member, "classes");
    }
    for (uint32_t c = 0; c < n_classes; c++) b->place[c + 1] = b->place[c] + quota[c];
    /* Counting sort: begin[c] moves from the beginning of its class to the end, and is put back afterwards. */
    for (uint64_t i = 0; i < n; i++)
        if (class[i] != LEAT_NO_CLASS) b->begin[class[i] + 1]++;
    for (uint32_t c = 0; c < n_classes; c++) b->begin[c + 1] += b->begin[c];
    for (uint64_t i = 0; i < n; i++)
        if (class[i] != LEAT_NO_CLASS) b->member[b->begin[class[i]]++] = (uint32_t)i;
    memmove(b->begin + 1, b->begin, n_classes * sizeof *b->begin);
    b->begin[0] = 0;
    return 0;
}

/* The class that this place of a block belongs to. */
static uint32_t class_at(const leat__balance *b, uint64_t place) {
    uint32_t low = 0, high = b->n_classes; /* place[low] <= place < place[high] */
    while (high - low > 1) {
        const uint32_t mid = low + (high - low) / 2;
        if (b->place[mid] <= place) low = mid;
        else high = mid;
    }
    return low;
}

enum { SMALL_CLASS = 20 }; /* 20! is less than 2^64 */

/* As leat__permute_cipher, but few members come in every order equally often, which the cipher does not give them: the
 * key is a fraction of the number of all orders. */
static uint64_t permute(uint64_t at, uint64_t n, uint64_t key) {
    uint8_t member[SMALL_CLASS] = {0};
    if (n > SMALL_CLASS) return leat__permute_cipher(at, n, key);
    for (uint8_t i = 0; i < n; i++) {
        const __uint128_t product = (__uint128_t)key * (i + 1u);
        const uint64_t k = (uint64_t)(product >> 64);
        key = (uint64_t)product;
        member[i] = member[k];
        member[k] = i;
    }
    return member[at];
}

uint64_t leat__balance_member(const leat__balance *b, uint64_t seed, uint64_t iteration, uint32_t op,
                              uint64_t block, uint64_t place) {
    const uint32_t c = class_at(b, place);
    const uint64_t each = b->place[c + 1] - b->place[c], n = b->begin[c + 1] - b->begin[c];
    const uint64_t use = block * each + (place - b->place[c]), turn = use / n;
    uint64_t at = use % n;
    if (b->drawn) {
        /* Blocks are keyed by their number from 0 on; turns of classes are counted down from the other end. */
        leat__rng rng = leat__rng_at(seed, iteration, UINT64_MAX - (turn * b->n_classes + c), op);
        at = permute(at, n, leat__rng_u64(&rng));
    }
    return b->member[b->begin[c] + at];
}

/* -------------------------------------------------------------------------------------------- shares */

void leat__shares(const double *share, int n, uint64_t total, uint64_t *out) {
    double sum = 0;
    uint64_t given = 0;
    for (int i = 0; i < n; i++) {
        const double exact = share[i] * (double)total;
        out[i] = LEAT_MIN((uint64_t)(exact + 1e-9), total - given); /* 0.29 * 100 is 28.999999999999996 */
        given += out[i];
        sum += share[i];
    }
    const uint64_t want = LEAT_MIN((uint64_t)(sum * (double)total + 0.5), total);
    while (given < want) {
        int best = 0;
        double most = -1;
        for (int i = 0; i < n; i++) {
            const double left = share[i] * (double)total - (double)out[i];
            if (left > most + 1e-9) most = left, best = i;
        }
        out[best]++;
        given++;
    }
}

enum { EXACT_BLOCK_MAX = 4096, PLACES_EACH = 16 };

/* Whether a block of this size gives every class its weight. */
static bool fits(const double *weight, uint32_t n, double sum, uint64_t block, uint64_t *quota) {
    for (uint32_t c = 0; c < n; c++) {
        const double exact = weight[c] / sum * (double)block;
        quota[c] = (uint64_t)(exact + 0.5);
        const double off = exact - (double)quota[c];
        if (off > 1e-6 || off < -1e-6 || (quota[c] == 0 && weight[c] > 0)) return false;
    }
    return true;
}

int leat__balance_quotas(const double *weight, uint32_t n_classes, uint64_t *quota, leat_error *err) {
    double sum = 0;
    for (uint32_t c = 0; c < n_classes; c++) sum += weight[c];
    for (uint64_t block = 1; block <= LEAT_MAX((uint64_t)EXACT_BLOCK_MAX, (uint64_t)n_classes); block++)
        if (fits(weight, n_classes, sum, block, quota)) return 0;
    /* No small block is exact: a larger one, in which every class has its share rounded down or up. */
    const uint64_t block = LEAT_MAX((uint64_t)EXACT_BLOCK_MAX, (uint64_t)n_classes * PLACES_EACH);
    uint64_t given = 0;
    for (uint32_t c = 0; c < n_classes; c++) {
        quota[c] = (uint64_t)(weight[c] / sum * (double)block);
        given += quota[c];
    }
    for (; given < block; given++) {
        uint32_t best = 0;
        double most = -1;
        for (uint32_t c = 0; c < n_classes; c++) {
            const double left = weight[c] / sum * (double)block - (double)quota[c];
            if (left > most + 1e-9) most = left, best = c;
        }
        quota[best]++;
    }
    for (uint32_t c = 0; c < n_classes; c++)
        if (weight[c] > 0 && quota[c] == 0)
            return leat__fail(err, LEAT_ERR_LIMIT,
                              "the weight of class number %u is less than one in %" PRIu64 ": write 0 for it",
                              c, block);
    return 0;
}

/* --------------------------------------------------------------------------------------------- NumPy
 * MT19937 as Matsumoto and Nishimura seed it with one number; items are exchanged from the last down, each with one
 * that masked draws, repeated until they are small enough, choose. */

enum { MT_N = 624, MT_M = 397 };

typedef struct twister {
    uint32_t word[MT_N];
    int next;
} twister;

static void twist(twister *mt) {
    for (int i = 0; i < MT_N; i++) {
        const uint32_t y = (mt->word[i] & 0x80000000u) | (mt->word[(i + 1) % MT_N] & 0x7fffffffu);
        mt->word[i] = mt->word[(i + MT_M) % MT_N] ^ y >> 1 ^ (y & 1 ? 0x9908b0dfu : 0);
    }
    mt->next = 0;
}

static uint32_t twister_next(twister *mt) {
    if (mt->next == MT_N) twist(mt);
    uint32_t y = mt->word[mt->next++];
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680u;
    y ^= y << 15 & 0xefc60000u;
    return y ^ y >> 18;
}

void leat__numpy_shuffle(uint32_t *items, uint32_t n, uint32_t seed) {
    twister mt = {.next = MT_N};
    mt.word[0] = seed;
    for (uint32_t i = 1; i < MT_N; i++)
        mt.word[i] = 1812433253u * (mt.word[i - 1] ^ mt.word[i - 1] >> 30) + i;
    for (uint32_t i = n; i-- > 1;) {
        const uint32_t mask = UINT32_MAX >> __builtin_clz(i);
        uint32_t j;
        do j = twister_next(&mt) & mask;
        while (j > i);
        const uint32_t item = items[i];
        items[i] = items[j];
        items[j] = item;
    }
}
