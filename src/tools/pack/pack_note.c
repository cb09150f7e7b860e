/* SPDX-License-Identifier: Apache-2.0 */
/* A note beside each finished shard: what its file must be, and a line for each entry that went into it or was left out.
 * Shard and note appear by rename, the note last: a shard whose note fits it is finished, and any other is made again. So
 * the notes are the journal of the pack, of all its parts, and no process waits for another.
 *
 *     leat note 1 IDENTITY SAMPLES BAD BYTES DIGEST
 *     + COPY KINDS FORMAT HASH BYTES LABEL NAME         LABEL is - without one; KINDS and HASH are hexadecimal
 *     - NAME <tab> REASON
 *     end */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/pack/pack.h"

#define NOTE_MAX ((size_t)1 << 31)
#define HEAD "leat note 1 %016" PRIx64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %39s"

bool leat__pack_note_sample(leat__buf *note, const leat__pack_entry *entry, const leat__stored *stored,
                            bool labelled, int64_t label, const char *name) {
    char shown[PATH_MAX], number[24] = "-", line[160];
    if (labelled) snprintf(number, sizeof number, "%" PRId64, label);
    leat__printable(shown, sizeof shown, name, strlen(name));
    snprintf(line, sizeof line, "+ %d %x %s %016" PRIx64 " %" PRIu64 " %s ", entry->copy,
             stored ? stored->kinds : 0, stored ? stored->format : "none", stored ? stored->hash : 0,
             stored ? stored->bytes_in : 0, number);
    return leat__text_add(note, line) && leat__text_add(note, shown) && leat__text_add(note, "\n");
}

bool leat__pack_note_reject(leat__buf *note, const char *name, const char *reason) {
    char shown[PATH_MAX], why[1000];
    leat__printable(shown, sizeof shown, name, strlen(name));
    leat__printable(why, sizeof why, reason, strlen(reason));
    return leat__text_add(note, "- ") && leat__text_add(note, shown) && leat__text_add(note, "\t") &&
           leat__text_add(note, why) && leat__text_add(note, "\n");
}

int leat__pack_note_write(const char *path, const leat__pack_head *head, const leat__buf *lines,
                          leat_error *err) {
    leat__buf text = {.kind = LEAT_MEM_TOOL};
    char first[200];
    snprintf(first, sizeof first, HEAD "\n", head->identity, head->n_samples, head->n_bad, head->bytes,
             head->digest);
    const bool fits = leat__text_add(&text, first) &&
                      (!lines->size || leat__buf_append(&text, lines->data, lines->size)) &&
                      leat__text_add(&text, "end\n");
    const int rc = fits ? leat__file_write(path, text.data, text.size, err)
                        : leat__fail_memory(err, text.size, "a note");
    leat__buf_free(&text);
    return rc;
}

int leat__pack_note_read(const char *path, leat__buf *text, leat__pack_head *head, const char **lines,
                         leat_error *err) {
    text->size = 0;
    leat_error why;
    const int rc = leat__file_read_all(path, text, NOTE_MAX, &why);
    if (rc < 0) {
        if (!leat__error_is_fault(&why)) return 0;
        *err = why;
        return rc;
    }
    if (!leat__buf_append(text, "", 1)) return leat__fail_memory(err, text->size, "a note");
    const char *begin = (const char *)text->data, *end = strchr(begin, '\n');
    if (!end || text->size < 6 || memcmp(text->data + text->size - 6, "\nend\n", 6) != 0) return 0;
    *lines = end + 1;
    return sscanf(begin, "leat note 1 %" SCNx64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %39s", &head->identity,
                  &head->n_samples, &head->n_bad, &head->bytes, head->digest) == 5;
}

bool leat__pack_note_next(const char **at, leat__pack_line *line) {
    const char *begin = *at, *end = strchr(begin, '\n');
    if (!end || (begin[0] != '+' && begin[0] != '-') || begin[1] != ' ') return false;
    *at = end + 1;
    *line = (leat__pack_line){.rejected = begin[0] == '-', .name = begin + 2};
    if (!line->rejected) {
        int n = 0;
        char label[24];
        if (sscanf(begin, "+ %d %" SCNx32 " %11s %" SCNx64 " %" SCNu64 " %23s%n", &line->copy, &line->kinds,
                   line->format, &line->hash, &line->bytes_in, label, &n) != 6 ||
            begin + n >= end)
            return false;
        line->labelled = label[0] != '-' || label[1] != 0;
        if (line->labelled) line->label = strtoll(label, NULL, 10);
        line->name = begin + n + 1;
    }
    line->name_n = (size_t)(end - line->name);
    return true;
}
