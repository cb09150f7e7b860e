/* SPDX-License-Identifier: Apache-2.0 */
/* The closing summary of `leat pack`. */
#include <string.h>

#include "pack.h"

void cli_pack_on_log(void *user, int level, const char *message) {
    cli_packed *p = user;
    const bool extreme = strncmp(message, "slowest: ", 9) == 0 || strncmp(message, "largest: ", 9) == 0;
    if (level != LEAT_LOG_INFO || !extreme) {
        cli_on_log(&p->progress, level, message);
        return;
    }
    if (p->n_extremes < CLI_PACK_EXTREMES)
        snprintf(p->extreme[p->n_extremes++], sizeof p->extreme[0], "%.299s", message);
}

static const char *prefix_of(const cli_packed *p) {
    return p->pack.prefix ? p->pack.prefix : "data";
}

static const char *list_prefix(const cli_packed *p, char *text, size_t cap) {
    snprintf(text, cap, "%s%s", strcmp(prefix_of(p), "data") == 0 ? "" : prefix_of(p),
             strcmp(prefix_of(p), "data") == 0 ? "" : "-");
    return text;
}

/* --------------------------------------------------------------------------------------------- report */

enum { CLASSES_SHOWN = 10, WAYS = 3 };

typedef struct told { /* of the summary: what the report does not say otherwise */
    bool in_classes;
    int n_classes;
    char way[WAYS][6000]; /* a pipeline, TensorFlow, Python: how it is read */
} told;

/* The text behind a word at the beginning of a line, NULL if it has another one. */
static const char *after_word(const char *line, const char *word) {
    const size_t n = strlen(word);
    return strncmp(line, word, n) == 0 && line[n] == ' ' ? line + n + strspn(line + n, " ") : NULL;
}

/* Classes are printed, and ways to read are kept for the end. */
static int take_line(void *user, const char *line) {
    static const char *const words[WAYS] = {"text", "tf", "py"};
    told *t = user;
    for (int i = 0; i < WAYS; i++) {
        const char *way = after_word(line, words[i]);
        if (way) snprintf(t->way[i], sizeof t->way[i], "%s", way);
    }
    if (after_word(line, "classes")) t->in_classes = true;
    else if (*line != ' ') t->in_classes = false;
    else if (t->in_classes && t->n_classes++ < CLASSES_SHOWN) printf("       %s\n", line);
    return 0;
}

static void print_ways(const told *t) {
    if (*t->way[0]) printf("try      leat bench \"%s\"\n", t->way[0]);
    if (*t->way[1]) printf("try tf   %s\n", t->way[1]);
    if (*t->way[2]) printf("try py   %s\n", t->way[2]);
}

static void print_extremes(const cli_packed *p) {
    for (int i = 0; i < p->n_extremes; i++) {
        const char *word = p->extreme[i];
        const bool first = i == 0 || strncmp(word, p->extreme[i - 1], 8) != 0;
        if (first) printf("%-8.7s %.85s\n", word, word + 9);
    }
}

static void print_part(const cli_packed *p) {
    const leat_pack_report *r = &p->report;
    printf("part     %d of %d: %s images in %s shards, %s, in %s\n", p->pack.part, p->pack.n_parts,
           cli_count(r->n_samples), cli_count(r->n_shards), cli_bytes((double)r->bytes),
           cli_time(p->seconds));
    printf("then     leat pack --join %s%s%s\n", p->out, p->pack.prefix ? " --prefix " : "",
           p->pack.prefix ? p->pack.prefix : "");
}

static void print_rate(const cli_packed *p) {
    const leat_pack_report *r = &p->report;
    if (r->n_classes > 0) printf(" of %s classes", cli_count((uint64_t)r->n_classes));
    printf(" in %s", cli_time(p->seconds));
    if (p->from && r->n_kept == 0 && p->seconds > 0)
        printf(", %s images/s", cli_rate((double)r->n_samples / p->seconds));
    fputc('\n', stdout);
}

void cli_pack_print(const cli_packed *p) {
    const leat_pack_report *r = &p->report;
    const char *prefix = prefix_of(p), *bold = cli_bold(stdout), *plain = cli_plain(stdout);
    char lists[200];
    list_prefix(p, lists, sizeof lists);
    if (p->pack.n_parts > 0) {
        print_part(p);
        return;
    }
    printf("packed   %s%s images%s", bold, cli_count(r->n_samples), plain);
    if (p->from && r->n_kept == r->n_shards)
        printf(": all %s shards were there already\n", cli_count(r->n_shards));
    else print_rate(p);
    printf("into     %s, %s shard%s: %s/%s-*.tfrecord\n", cli_bytes((double)r->bytes), cli_count(r->n_shards),
           r->n_shards == 1 ? "" : "s", p->out, prefix);
    if (r->source_bytes > 0) printf("from     %s\n", cli_bytes((double)r->source_bytes));
    if (r->n_kept > 0 && r->n_kept < r->n_shards)
        printf("         %s of them were there already\n", cli_count(r->n_kept));
    if (r->n_classes > 0) printf("classes  %s/%s-classes.txt\n", p->out, prefix);
    printf("all      %s/%smanifest.json\n", p->out, lists);
    if (r->n_duplicates > 0)
        printf("alike    %s images have the content of others: %s/%sduplicates.tsv\n",
               cli_count(r->n_duplicates), p->out, lists);
    if (r->n_bad > 0)
        printf("%sleft out %s image%s that could not be used%s: %s/%srejects.tsv\n", cli_red(stdout),
               cli_count(r->n_bad), r->n_bad == 1 ? "" : "s", plain, p->out, lists);
    told t = {0};
    leat_pack_summary(p->out, p->pack.prefix, take_line, &t, NULL);
    print_extremes(p);
    print_ways(&t);
}

void cli_pack_print_json(const cli_packed *p) {
    const leat_pack_report *r = &p->report;
    char lists[200];
    printf("{\"samples\": %" PRIu64 ", \"rejected\": %" PRIu64 ", \"duplicates\": %" PRIu64
           ", \"shards\": %" PRIu64 ", \"kept_shards\": %" PRIu64 ", \"bytes\": %" PRIu64
           ", \"source_bytes\": %" PRIu64 ", \"seconds\": %.3f, \"out\": ",
           r->n_samples, r->n_bad, r->n_duplicates, r->n_shards, r->n_kept, r->bytes, r->source_bytes,
           p->seconds);
    cli_json_string(stdout, p->out);
    printf(", \"extremes\": [");
    for (int i = 0; i < p->n_extremes; i++) {
        if (i) printf(", ");
        cli_json_string(stdout, p->extreme[i]);
    }
    printf("], \"manifest\": ");
    char path[5000];
    snprintf(path, sizeof path, "%s/%smanifest.json", p->out, list_prefix(p, lists, sizeof lists));
    if (p->pack.n_parts > 0) printf("null");
    else cli_json_string(stdout, path);
    printf("}\n");
}
