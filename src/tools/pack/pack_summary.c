/* SPDX-License-Identifier: Apache-2.0 */
/* leat_pack_summary: a finished pack for a person, from its manifest. */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/pack/pack_reading.h"

#define MANIFEST_MAX ((size_t)1 << 30)
enum { CLASSES_SHOWN = 20, BAR = 30, NAME = 24 };

typedef struct class_sum {
    char name[80];
    int64_t n, label;
} class_sum;

typedef struct summing {
    leat__json manifest, recipe;
    leat_line_fn line;
    void *user;
    bool stopped;
} summing;

static void say(summing *s, const char *fmt, ...) LEAT_PRINTF(2, 3);
static void say(summing *s, const char *fmt, ...) {
    char text[1200];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    s->stopped = s->stopped || s->line(s->user, text) != 0;
}

static int64_t number(const leat__json *object, const char *key) {
    leat__json value;
    int64_t n = 0;
    return leat__json_find(object, key, &value) == 1 && leat__json_int(&value, &n) ? n : 0;
}

static const char *words(const leat__json *object, const char *key, char *text, size_t cap) {
    leat__json value;
    if (leat__json_find(object, key, &value) != 1 || !leat__json_text(&value, text, cap))
        snprintf(text, cap, "?");
    return text;
}

/* ------------------------------------------------------------------------------------------ sentences */

static void say_size(summing *s) {
    const double bytes = (double)number(&s->manifest, "bytes"),
                 before = (double)number(&s->manifest, "source_bytes");
    say(s, "samples   %" PRId64 ", of them %" PRId64 " augmented copies", number(&s->manifest, "samples"),
        number(&s->manifest, "copies"));
    if (before > 0)
        say(s, "bytes     %.1f MB, from %.1f MB: %.2f of it", bytes / 1e6, before / 1e6, bytes / before);
    else say(s, "bytes     %.1f MB", bytes / 1e6);
}

static void say_store(summing *s) {
    char store[16], version[32];
    const int64_t height = number(&s->recipe, "height"), width = number(&s->recipe, "width"),
                  quality = number(&s->recipe, "quality");
    char size[60] = "", jpeg[40] = "";
    if (height) snprintf(size, sizeof size, " %" PRId64 "x%" PRId64, height, width);
    if (quality) snprintf(jpeg, sizeof jpeg, ", quality %" PRId64, quality);
    say(s, "stored    %s%s%s, by leat %s", words(&s->recipe, "store", store, sizeof store), size, jpeg,
        words(&s->recipe, "leat", version, sizeof version));
}

static void say_sets(summing *s) {
    leat__json sets, set, shards, shard;
    const char *at = NULL;
    char name[16];
    if (leat__json_find(&s->manifest, "sets", &sets) != 1) return;
    while (leat__json_next(&sets, &at, &set)) {
        uint64_t n = 0;
        const char *k = NULL;
        if (leat__json_find(&set, "shards", &shards) == 1)
            while (leat__json_next(&shards, &k, &shard)) n++;
        words(&set, "name", name, sizeof name);
        say(s, "shards    %s%s%" PRIu64 " with %" PRId64 " samples, %.1f MB", name, *name ? ": " : "", n,
            number(&set, "samples"), (double)number(&set, "bytes") / 1e6);
    }
}

static void say_odd(summing *s) {
    leat__json kinds;
    char text[300] = "";
    if (leat__json_find(&s->manifest, "kinds", &kinds) == 1)
        for (int k = 0; k < LEAT_KIND_COUNT; k++) {
            const int64_t n = number(&kinds, leat__pack_kind_name(k));
            const size_t used = strlen(text);
            if (n)
                snprintf(text + used, sizeof text - used, "%s%" PRId64 " %s", used ? ", " : "", n,
                         leat__pack_kind_name(k));
        }
    if (*text) say(s, "pictures  %s", text);
    if (number(&s->manifest, "rejected"))
        say(s, "left out  %" PRId64 ": rejects.tsv", number(&s->manifest, "rejected"));
    if (number(&s->manifest, "duplicates"))
        say(s, "alike     %" PRId64 ", %" PRId64 " of them in another set: duplicates.tsv",
            number(&s->manifest, "duplicates"), number(&s->manifest, "duplicates_across_sets"));
}

/* ------------------------------------------------------------------------------------------ histogram */

static int by_count(const void *a, const void *b) {
    const class_sum *x = a, *y = b;
    if (x->n != y->n) return x->n < y->n ? 1 : -1;
    return x->label < y->label ? -1 : x->label > y->label;
}

static int64_t sum_of(const leat__json *one) {
    leat__json counts, count;
    const char *at = NULL;
    int64_t n, sum = 0;
    if (leat__json_find(one, "samples", &counts) != 1) return 0;
    while (leat__json_next(&counts, &at, &count))
        if (leat__json_int(&count, &n)) sum += n;
    return sum;
}

static void say_bars(summing *s, const class_sum *list, size_t n) {
    char bar[BAR + 1];
    memset(bar, '#', BAR);
    bar[BAR] = 0;
    for (size_t i = 0; i < LEAT_MIN(n, (size_t)CLASSES_SHOWN); i++) {
        const int length = list[0].n > 0 ? (int)(list[i].n * BAR / list[0].n) : 0;
        say(s, "  %-*.*s %9" PRId64 " %.*s", (int)NAME, (int)NAME, list[i].name, list[i].n, length, bar);
    }
    if (n > CLASSES_SHOWN) say(s, "  and %zu more classes", n - CLASSES_SHOWN);
}

static int say_classes(summing *s, leat_error *err) {
    leat__json classes, one;
    const char *at = NULL;
    leat__buf list = {.kind = LEAT_MEM_TOOL};
    int rc = 0;
    if (leat__json_find(&s->manifest, "classes", &classes) != 1) return 0;
    while (rc == 0 && leat__json_next(&classes, &at, &one)) {
        class_sum sum = {.n = sum_of(&one), .label = number(&one, "label")};
        words(&one, "name", sum.name, sizeof sum.name);
        if (strcmp(sum.name, "?") == 0) snprintf(sum.name, sizeof sum.name, "%" PRId64, sum.label);
        if (!leat__buf_append(&list, &sum, sizeof sum)) rc = leat__fail_memory(err, list.size, "classes");
    }
    const size_t n = list.size / sizeof(class_sum);
    if (rc == 0 && n > 0) {
        qsort(list.data, n, sizeof(class_sum), by_count);
        say(s, "classes   %zu", n);
        say_bars(s, (const class_sum *)(const void *)list.data, n);
    }
    leat__buf_free(&list);
    return rc;
}

/* ---------------------------------------------------------------------------------------------- door */

int leat_pack_summary(const char *out, const char *prefix, leat_line_fn line, void *user, leat_error *err) {
    leat_error own;
    if (!err) err = &own;
    leat__error_clear(err);
    const leat__pack_place place = {.out = out, .prefix = prefix ? prefix : LEAT_PACK_PREFIX};
    if (!out || !*out || !line || !leat__pack_prefix_allowed(place.prefix))
        return leat__fail(err, LEAT_ERR_ARGUMENT, "leat_pack_summary: an argument is missing");
    char path[PATH_MAX];
    leat__buf text = {.kind = LEAT_MEM_TOOL};
    summing s = {.line = line, .user = user};
    leat__pack_list_path(&place, "manifest.json", path, sizeof path);
    int rc = leat__file_read_all(path, &text, MANIFEST_MAX, err);
    if (rc == 0 && (!leat__json_open(&s.manifest, (const char *)text.data, text.size) ||
                    leat__json_find(&s.manifest, "recipe", &s.recipe) != 1))
        rc = leat__fail(err, LEAT_ERR_FORMAT, "%.500s is not the manifest of a pack", path);
    if (rc == 0) {
        say_size(&s);
        say_store(&s);
        say_sets(&s);
        say_odd(&s);
        rc = say_classes(&s, err);
        if (rc == 0 && !s.stopped) leat__pack_say_reading(&place, &s.recipe, line, user);
    }
    leat__buf_free(&text);
    return rc;
}
