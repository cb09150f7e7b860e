/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the record of a running pipeline. The first byte: 0 = the rest as it is; otherwise the rest is the content of
 * a record of the right size with a right checksum. A record that is accepted can be shown on a terminal: texts end and have no
 * control characters, times are finite. Written again it is read as the same.
 * tries: format/kept/top_record.* */
#include <stdlib.h>

#include "base/hash.h"
#include "format/kept/top_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool truth) {
    if (!truth) abort();
}

static void require_text(const char *text, size_t cap) {
    const char *end = memchr(text, 0, cap);
    require(end != NULL);
    for (const char *c = text; c < end; c++) require((uint8_t)*c >= 32 && *c != 127);
}

static void require_stats(const leat_stats *s) {
    require(s->wait_s >= 0 && s->full_s >= 0 && s->cpu_s >= 0 && s->first_batch_s >= 0 && s->wait_s <= 1e15);
    for (size_t i = 0; i < LEAT_COUNT(s->stage_s); i++) require(s->stage_s[i] >= 0 && s->stage_s[i] <= 1e15);
    require(s->open_s >= 0 && s->read_wait_s >= 0 && s->readers_s >= 0 && s->tuned_s >= 0);
    require(s->n_threads >= 0 && s->n_readers >= 0 && s->shards >= 0 && s->slots_max >= 0);
}

static void require_good(const leat_running *r) {
    require_text(r->program, sizeof r->program);
    require_text(r->name, sizeof r->name);
    require_text(r->what, sizeof r->what);
    require_text(r->verdict, sizeof r->verdict);
    require_text(r->remedy, sizeof r->remedy);
    require_text(r->tuning, sizeof r->tuning);
    require(r->recent_s >= 0 && r->open_s >= 0 && r->age_s >= 0 && r->n_samples >= -1);
    require_stats(&r->total);
    require_stats(&r->recent);
}

/* In memory of its own size: reading past its end is noticed. */
static bool read_copy(const uint8_t *bytes, size_t n, leat__top_record *out) {
    uint8_t *copy = malloc(n + 1);
    require(copy);
    if (n) memcpy(copy, bytes, n);
    const bool good = leat__top_record_read(copy, n, out);
    free(copy);
    return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static leat__top_record record, again;
    static uint8_t bytes[LEAT_TOP_RECORD_BYTES];
    if (size < 1) return 0;
    if (data[0] == 0) {
        if (!read_copy(data + 1, size - 1, &record)) return 0;
    } else {
        const size_t n = LEAT_MIN(size - 1, sizeof record.running);
        memset(&record, 0, sizeof record);
        memcpy(&record.running, data + 1, n);
        leat__top_record_write(bytes, &record);
        require(read_copy(bytes, sizeof bytes, &record));
    }
    require_good(&record.running);
    leat__top_record_write(bytes, &record);
    require(read_copy(bytes, sizeof bytes, &again));
    require(memcmp(&record, &again, sizeof record) == 0);
    return 0;
}
