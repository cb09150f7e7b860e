/* SPDX-License-Identifier: Apache-2.0 */
/* Where a run can be read again from, noted at every so many records: by their number, so that a state is the same whoever
 * was faster. */
#include "stream/lanes.h"

enum { MARK_RECORDS = 256 };

int leat__marks_new(leat__feed *feed, leat_error *err) {
    const size_t n = (size_t)(feed->window_max / MARK_RECORDS + 4);
    feed->n_noted = n;
    feed->noted = leat__alloc(LEAT_MEM_WINDOW, n * sizeof *feed->noted);
    return feed->noted ? 0 : leat__fail_memory(err, n * sizeof *feed->noted, "a stream");
}

static leat__noted *noted_at(const leat__feed *feed, uint64_t i) {
    return &feed->noted[i % feed->n_noted];
}

static uint64_t first_of(const leat__feed *feed, const leat__noted *noted) {
    return noted->mark.node[feed->node].first;
}

bool leat__marks_due(uint64_t records) {
    return records % MARK_RECORDS == 0;
}

leat__mark *leat__marks_add(leat__feed *feed) {
    /* Of those that lie before everything that can be asked for, the last one is enough. */
    while (feed->noted_head - feed->noted_tail > 1) {
        const leat__noted *second = noted_at(feed, feed->noted_tail + 1);
        if (second->run > feed->at_run ||
            (second->run == feed->at_run && first_of(feed, second) > feed->floor))
            break;
        feed->noted_tail++;
    }
    leat__noted *noted = noted_at(feed, feed->noted_head++);
    noted->run = feed->run;
    noted->mark.node[feed->node] =
        (leat__mark_node){.set = true, .first = feed->next_record, .origin = feed->origin};
    return &noted->mark;
}

const leat__mark *leat__marks_find(const leat__feed *feed, uint64_t floor) {
    for (uint64_t i = feed->noted_head; i-- > feed->noted_tail;) {
        const leat__noted *noted = noted_at(feed, i);
        if (noted->run == feed->at_run && first_of(feed, noted) <= floor) return &noted->mark;
    }
    return NULL;
}
