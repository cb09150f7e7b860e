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

/* ------------------------------------------------------------------------------------- how to read it */

static bool is_slim(const cli_packed *p) {
    const char *features = p->pack.features ? p->pack.features : "";
    return strncmp(features, "tfds", 4) == 0 || strncmp(features, "slim", 4) == 0;
}

/* The name of a feature: as an option gives it, as --features does (`image=picture`), or the preset's. */
static const char *key_of(const cli_packed *p, const char *given, const char *role, const char *slim,
                          char room[100]) {
    const char *at = p->pack.features;
    if (given) return given;
    for (const size_t n = strlen(role); at; at = strchr(at, ' ') ? strchr(at, ' ') + 1 : NULL)
        if (strncmp(at, role, n) == 0 && at[n] == '=') {
            snprintf(room, 100, "%.*s", (int)strcspn(at + n + 1, " "), at + n + 1);
            return room;
        }
    return is_slim(p) ? slim : role;
}

/* A pipeline that reads the result, as one would type it. */
static void print_next(const cli_packed *p) {
    const leat_pack_config *pack = &p->pack;
    const char *quote = strpbrk(p->out, " \t|='") ? "'" : "";
    char image_room[100], label_room[100];
    const char *image = key_of(p, pack->image_key, "image", "image/encoded", image_room),
               *label = key_of(p, pack->label_key, "label", "image/class/label", label_room);
    const bool raw = pack->raw || (pack->store && strcmp(pack->store, "raw") == 0);
    char rest[400] = "";
    if (raw)
        snprintf(rest, sizeof rest, "decode_raw %.100s u8 | reshape %.100s %d %d 3 | ", image, image,
                 pack->height, pack->width);
    else if (pack->width && strcmp(image, "image") == 0) snprintf(rest, sizeof rest, "decode | ");
    else if (pack->width) snprintf(rest, sizeof rest, "decode %.100s | ", image);
    else if (strcmp(image, "image") == 0) snprintf(rest, sizeof rest, "decode | resize 224 224 | ");
    else snprintf(rest, sizeof rest, "decode %.100s | resize 224 224 field=%.100s | ", image, image);
    printf("try      leat bench \"tfrecord %s%s/%s%s-*.tfrecord%s | shuffle | parse %s:bytes", quote, p->out,
           prefix_of(p), pack->split ? "-train" : "", quote, image);
    if (p->report.n_classes > 0) printf(" %s:int64", label);
    printf(" | %sbatch 64\"\n", rest);
    const char *set = pack->split ? "-train" : "";
    const bool labelled = p->report.n_classes > 0;
    printf("try tf   tf.data.TFRecordDataset(tf.io.gfile.glob('%s/%s%s-*.tfrecord')).map(", p->out,
           prefix_of(p), set);
    printf("lambda record: tf.io.parse_single_example(record, {'%s': tf.io.FixedLenFeature([], "
           "tf.string)",
           image);
    if (labelled) printf(", '%s': tf.io.FixedLenFeature([], tf.int64)", label);
    printf("}))\ntry py   leat.from_tfrecord('%s/%s%s-*.tfrecord', {'%s': 'bytes'", p->out, prefix_of(p), set,
           image);
    if (labelled) printf(", '%s': 'int64'", label);
    if (raw)
        printf("}).decode_raw('%s', 'u8').reshape('%s', %d, %d, 3)", image, image, pack->height, pack->width);
    else {
        printf("}).decode('%s')", image);
        if (!pack->width) printf(".resize(224, 224, field='%s')", image);
    }
    printf(".batch(64).to_torch()\n");
}

/* --------------------------------------------------------------------------------------------- report */

typedef struct histogram {
    bool inside;
    int n;
} histogram;

/* Of the summary only what the report does not say otherwise: the classes. */
static int print_class(void *user, const char *line) {
    histogram *h = user;
    if (strncmp(line, "classes", 7) == 0) h->inside = true;
    else if (h->inside && h->n++ < 10) printf("       %s\n", line);
    return 0;
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
    leat_pack_summary(p->out, p->pack.prefix, print_class, &(histogram){0}, NULL);
    print_extremes(p);
    if (p->from) print_next(p);
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
