/* SPDX-License-Identifier: Apache-2.0 */
#include "format/kept/top_record.h"

#include "base/hash.h"

static const char magic[8] = "LEATTOP1";
enum { ORDER = 0x01020304, SUM = 16, PLACE = 24, START = 32, WRITTEN = 40 };

void leat__top_record_write(uint8_t out[LEAT_TOP_RECORD_BYTES], const leat__top_record *record) {
    const uint32_t order = ORDER;
    memcpy(out, magic, sizeof magic);
    memcpy(out + 8, &order, sizeof order);
    leat__store_u32(out + 12, (uint32_t)LEAT_TOP_RECORD_BYTES);
    leat__store_u64(out + PLACE, record->place);
    leat__store_u64(out + START, record->start);
    leat__store_u64(out + WRITTEN, (uint64_t)record->written_ns);
    memcpy(out + LEAT_TOP_RECORD_HEAD, &record->running, sizeof record->running);
    leat__store_u64(out + SUM, leat__hash(out + PLACE, LEAT_TOP_RECORD_BYTES - PLACE, 0));
}

static void mend_text(char *text, size_t cap) {
    text[cap - 1] = 0;
    for (char *c = text; *c; c++)
        if ((uint8_t)*c < 32 || *c == 127) *c = '?';
}

static void mend_time(double *x) {
    if (!(*x >= 0)) *x = 0; /* nan too */
    if (*x > 1e15) *x = 1e15;
}

static void mend_stats(leat_stats *s) {
    double *const times[] = {&s->wait_s,         &s->full_s,      &s->cpu_s,        &s->first_batch_s,
                             &s->open_s,         &s->read_wait_s, &s->slots_full_s, &s->readers_s,
                             &s->readers_wait_s, &s->tuned_s,     &s->queue_s};
    int *const numbers[] = {&s->n_threads, &s->n_readers, &s->shards, &s->slots_max};
    for (size_t i = 0; i < LEAT_COUNT(times); i++) mend_time(times[i]);
    for (size_t i = 0; i < LEAT_COUNT(s->stage_s); i++) mend_time(&s->stage_s[i]);
    for (size_t i = 0; i < LEAT_COUNT(numbers); i++) *numbers[i] = LEAT_CLAMP(*numbers[i], 0, 100000);
}

bool leat__top_record_read(const uint8_t *bytes, size_t n, leat__top_record *out) {
    const uint32_t order = ORDER;
    if (n != LEAT_TOP_RECORD_BYTES || memcmp(bytes, magic, sizeof magic) != 0 ||
        memcmp(bytes + 8, &order, sizeof order) != 0 || leat__load_u32(bytes + 12) != LEAT_TOP_RECORD_BYTES ||
        leat__load_u64(bytes + SUM) != leat__hash(bytes + PLACE, n - PLACE, 0))
        return false;
    out->place = leat__load_u64(bytes + PLACE);
    out->start = leat__load_u64(bytes + START);
    out->written_ns = (int64_t)leat__load_u64(bytes + WRITTEN);
    leat_running *r = &out->running;
    memcpy(r, bytes + LEAT_TOP_RECORD_HEAD, sizeof *r);
    mend_text(r->program, sizeof r->program);
    mend_text(r->name, sizeof r->name);
    mend_text(r->what, sizeof r->what);
    mend_text(r->verdict, sizeof r->verdict);
    mend_text(r->remedy, sizeof r->remedy);
    mend_text(r->tuning, sizeof r->tuning);
    mend_time(&r->age_s);
    mend_time(&r->open_s);
    mend_time(&r->recent_s);
    mend_stats(&r->total);
    mend_stats(&r->recent);
    r->n_samples = LEAT_MAX(r->n_samples, (int64_t)-1);
    return true;
}
