/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <time.h>

#include "cli.h"

typedef struct cache_output {
    bool json;
    uint64_t n;
} cache_output;

/* A path may hold line breaks and escape codes; a terminal must not obey them. */
static void print_path(FILE *f, const char *path) {
    for (const unsigned char *c = (const unsigned char *)path; *c; c++)
        fputc(*c < 32 || *c == 127 ? '?' : *c, f);
}

static int on_set(void *user, const leat_cache_set *set) {
    cache_output *out = user;
    if (out->json) {
        printf("%s{\"path\": ", out->n++ ? ", " : "");
        cli_json_string(stdout, set->path);
        printf(", \"folder\": ");
        cli_json_string(stdout, set->folder);
        printf(", \"bytes\": %" PRIu64 ", \"files\": %" PRIu64 ", \"used\": %" PRId64
               ", \"in_use\": %s, \"foreign\": ",
               set->bytes, set->n_files, set->used_s, set->in_use ? "true" : "false");
        if (set->foreign) cli_json_string(stdout, set->foreign);
        else printf("null");
        putchar('}');
        return 0;
    }
    char when[40] = "";
    struct tm local;
    const time_t used = (time_t)set->used_s;
    if (localtime_r(&used, &local)) strftime(when, sizeof when, "%Y-%m-%d %H:%M", &local);
    printf("%10s  %s  ", cli_bytes((double)set->bytes), set->in_use ? "in use          " : when);
    fputs(cli_bold(stdout), stdout);
    print_path(stdout, set->path[0] ? set->path : "(not known)");
    printf("%s\n", cli_plain(stdout));
    return 0;
}

/* Names each folder that was left alone because of what is in it. */
static int on_foreign(void *user, const leat_cache_set *set) {
    (void)user;
    if (!set->foreign) return 0;
    fprintf(stderr, "leat cache: left alone, since leat did not make ");
    print_path(stderr, set->foreign);
    fprintf(stderr, " in ");
    print_path(stderr, set->folder);
    fputc('\n', stderr);
    return 0;
}

static void print_end(const leat_cache_report *report) {
    printf("%s data set%s, %s of at most %s, in %s\n", cli_count(report->n_sets),
           report->n_sets == 1 ? "" : "s", cli_bytes((double)report->bytes),
           cli_bytes((double)report->bytes_max), report->path);
}

static int list_sets(bool json, const leat_tool_config *config) {
    cache_output out = {.json = json};
    leat_cache_report report;
    leat_error err;
    int rc = leat_cache_list(NULL, NULL, &report, config, &err); /* nothing is printed if it fails */
    if (rc < 0) return cli_fail_error("cache", &err, NULL);
    if (json) printf("{\"sets\": [");
    rc = leat_cache_list(on_set, &out, &report, config, &err);
    if (rc < 0) return cli_fail_error("cache", &err, NULL);
    if (!json) {
        print_end(&report);
        return CLI_OK;
    }
    printf("], \"path\": ");
    cli_json_string(stdout, report.path);
    printf(", \"bytes\": %" PRIu64 ", \"bytes_max\": %" PRIu64 "}\n", report.bytes, report.bytes_max);
    return CLI_OK;
}

static int remove_sets(uint64_t bytes_max, bool json, const leat_tool_config *config) {
    leat_cache_report report;
    leat_error err, ignored;
    const int rc = leat_cache_prune(bytes_max, &report, config, &err);
    if (rc < 0) return cli_fail_error("cache", &err, NULL);
    if (json) {
        printf("{\"removed\": %" PRIu64 ", \"bytes_removed\": %" PRIu64 ", \"left\": %" PRIu64
               ", \"in_use\": %" PRIu64 ", \"foreign\": %" PRIu64 ", \"path\": ",
               report.n_removed, report.bytes_removed, report.n_sets, report.n_in_use, report.n_foreign);
        cli_json_string(stdout, report.path);
        printf(", \"bytes\": %" PRIu64 ", \"bytes_max\": %" PRIu64 "}\n", report.bytes, report.bytes_max);
    } else {
        printf("%s data set%s removed, %s\n", cli_count(report.n_removed), report.n_removed == 1 ? "" : "s",
               cli_bytes((double)report.bytes_removed));
        if (report.n_in_use) printf("%s in use: not removed\n", cli_count(report.n_in_use));
        print_end(&report);
    }
    if (bytes_max > 0 || report.n_foreign == 0) return CLI_OK;
    leat_cache_list(on_foreign, NULL, NULL, config, &ignored);
    return CLI_FAILED;
}

static int run(int argc, char **argv) {
    bool json = false, prune = false, clear = false;
    uint64_t bytes_max = LEAT_CACHE_LIMIT;
    const char *cache_dir = NULL;
    const cli_opt opts[] = {
        {"prune", 0, CLI_FLAG, &prune, 0, 0, NULL,
         "remove data sets until the rest is within the limit, least recently used first", NULL},
        {"max-bytes", 0, CLI_BYTES, &bytes_max, 0, 0, "N",
         "with --prune: until they have so many bytes, such as 500MiB", NULL},
        {"clear", 0, CLI_FLAG, &clear, 0, 0, NULL,
         "remove all of them; exit code 1 if a folder holds files that leat did not make", NULL},
        {"json", 0, CLI_FLAG, &json, 0, 0, NULL, "one JSON object", NULL},
        {"cache-dir", 0, CLI_TEXT, &cache_dir, 0, 0, "DIR", "another cache directory", "~/.cache/leat"},
        {0},
    };
    const int rc = cli_options(&cli_cache, opts, &argc, &argv);
    if (rc) return rc < 0 ? CLI_OK : rc;
    if (argc > 0)
        return cli_fail("cache", CLI_USAGE, "takes no path, but '%s' was given: see 'leat cache --help'",
                        argv[0]);
    if (prune && clear) return cli_fail("cache", CLI_USAGE, "--prune or --clear, not both");
    if (bytes_max != LEAT_CACHE_LIMIT && !prune)
        return cli_fail("cache", CLI_USAGE, "--max-bytes belongs to --prune");
    const leat_tool_config config = {.cache_dir = cache_dir};
    if (prune || clear) return remove_sets(clear ? 0 : bytes_max, json, &config);
    return list_sets(json, &config);
}

const cli_verb cli_cache = {
    .name = "cache",
    .help = "List what is kept of data sets from run to run, and remove it.",
    .synopsis = "[OPTIONS]",
    .about =
        "Lists the data sets of the cache directory: size, last use, path. For each of them it holds the "
        "index, answers to questions about the samples, and positions inside JPEG files. All of it can be "
        "removed at any time; the next run makes it again.\n\nThe directory has at most 4 GiB, or 5 % of "
        "the disk if that is less; LEAT_CACHE_BYTES=500MiB in the environment sets another limit. When "
        "something is added, the data sets that were not used for longest are removed. A data set that is "
        "in use stays.",
    .example =
        "  leat cache\n"
        "  leat cache --prune --max-bytes 1GiB\n"
        "  LEAT_CACHE_BYTES=20GiB leat run \"folder photos | shuffle | decode | random_resized_crop 224 "
        "| batch 64\"",
    .run = run,
};
