/* SPDX-License-Identifier: Apache-2.0 */
/* leat pack: a data set to TFRecord shards. */
#include <stdlib.h>
#include <string.h>

#include "pack.h"

/* "256" or "HEIGHTxWIDTH" */
static bool read_size(const char *text, int *height, int *width) {
    int end = 0;
    if (sscanf(text, "%5d%n", height, &end) == 1 && text[end] == 0) *width = *height;
    else if (sscanf(text, "%5dx%5d%n", height, width, &end) != 2 || text[end] != 0) return false;
    return *height > 0 && *width > 0;
}

typedef struct wanted { /* options as they are read */
    int64_t quality, shards, shard_mb, seed, copies, rate;
    uint64_t max_bytes;
    const char *size, *on_error, *part, *split_by;
    bool raw, shuffle, force, stratify, orient, check, positions, join, verify;
    char store[80], split[400];
} wanted;

static int check_store(cli_packed *p, wanted *w) {
    leat_pack_config *pack = &p->pack;
    const char *store = pack->store;
    const bool automatic = store && strcmp(store, "auto") == 0;
    if (w->size && !read_size(w->size, &pack->height, &pack->width))
        return cli_fail("pack", CLI_USAGE,
                        "--size must be HEIGHTxWIDTH such as 256x256, or one number, not '%s'", w->size);
    if (w->raw && store) return cli_fail("pack", CLI_USAGE, "--raw is --store raw: give one of them");
    if ((w->raw || (store && strcmp(store, "raw") == 0)) && !w->size)
        return cli_fail("pack", CLI_USAGE, "--raw needs a --size: all records should have one shape");
    if (w->quality && !automatic && (w->raw || !(w->size || (store && strcmp(store, "jpeg") == 0))))
        return cli_fail("pack", CLI_USAGE,
                        "--quality is that of resized JPEGs: it goes with --size, and not with --raw");
    if ((w->rate || w->max_bytes) && !automatic)
        return cli_fail("pack", CLI_USAGE, "--target-rate and --max-bytes are goals of --store auto");
    if (automatic) {
        snprintf(w->store, sizeof w->store, "auto rate=%lld bytes=%llu", (long long)w->rate,
                 (unsigned long long)w->max_bytes);
        pack->store = w->store;
    }
    pack->raw = w->raw;
    pack->quality = (int)w->quality;
    return CLI_OK;
}

static int check_layout(cli_packed *p, wanted *w) {
    leat_pack_config *pack = &p->pack;
    int end = 0;
    if (w->shards && w->shard_mb)
        return cli_fail("pack", CLI_USAGE, "--shards and --shard-mb say the same in two ways: give one");
    if (w->part && (sscanf(w->part, "%6d/%6d%n", &pack->part, &pack->n_parts, &end) != 2 || w->part[end] ||
                    pack->n_parts < 1 || pack->part < 0 || pack->part >= pack->n_parts))
        return cli_fail("pack", CLI_USAGE, "--part must be 0/N to N-1/N, such as 0/4, not '%s'", w->part);
    if ((w->stratify || w->split_by) && !pack->split)
        return cli_fail("pack", CLI_USAGE, "--stratify and --split-by go with --split");
    if (pack->split) {
        snprintf(w->split, sizeof w->split, "%.200s by=%.40s%s seed=%lld", pack->split,
                 w->split_by   ? w->split_by
                 : w->stratify ? "random"
                               : "hash",
                 w->stratify ? " stratify=true" : "", (long long)w->seed);
        pack->split = w->split;
    }
    pack->n_shards = (int)w->shards;
    pack->shard_bytes = (uint64_t)w->shard_mb << 20;
    pack->shuffle = w->shuffle;
    pack->seed = (uint64_t)w->seed;
    pack->copies = (int)w->copies;
    pack->force = w->force;
    return CLI_OK;
}

static int check_policy(cli_packed *p, const wanted *w) {
    leat_pack_config *pack = &p->pack;
    if (strcmp(w->on_error, "skip") == 0) pack->on_error = LEAT_ON_ERROR_SKIP;
    else if (strcmp(w->on_error, "raise") != 0)
        return cli_fail("pack", CLI_USAGE, "--on-error must be raise or skip, not '%s'", w->on_error);
    pack->how = (w->orient ? LEAT_PACK_ORIENT : 0) | (w->check ? LEAT_PACK_CHECK : 0) |
                (w->positions ? LEAT_PACK_POSITIONS : 0);
    return CLI_OK;
}

/* --------------------------------------------------------------------------------------------- work */

static int on_bad(void *user, const leat_check_bad *bad) {
    cli_packed *p = user;
    cli_progress_end(&p->progress);
    fprintf(stderr, "%s", bad->path);
    if (bad->record != LEAT_NO_SAMPLE) fprintf(stderr, ": record %" PRIu64, bad->record);
    fprintf(stderr, ": %s\n", bad->reason);
    return cli_interrupted();
}

static int verify(cli_packed *p, const leat_tool_config *config) {
    leat_check_report report;
    leat_error err;
    const int rc = leat_pack_verify(p->out, p->pack.prefix, on_bad, p, &report, config, &err);
    cli_progress_end(&p->progress);
    if (rc == LEAT_ERR_CANCELLED) return CLI_INTERRUPTED;
    if (rc < 0) return cli_fail_error("pack", &err, NULL);
    if (report.n_bad > 0)
        return cli_fail("pack", CLI_FAILED, "%s: %s of %s samples or shards are bad", p->out,
                        cli_count(report.n_bad), cli_count(report.n_samples));
    if (!p->quiet && !p->json)
        printf("verified %s samples, %s: digests, checksums and every picture\n", cli_count(report.n_samples),
               cli_bytes((double)report.bytes));
    return CLI_OK;
}

static int make(cli_packed *p, bool join, const leat_tool_config *config) {
    leat_error err;
    const double began = cli_now();
    const int made = join ? leat_pack_join(p->out, p->pack.prefix, &p->report, config, &err)
                          : leat_pack(p->from, p->out, &p->pack, &p->report, config, &err);
    p->seconds = cli_now() - began;
    cli_progress_end(&p->progress);
    if (made == LEAT_ERR_CANCELLED) {
        fprintf(stderr, "leat pack: stopped; finished shards are kept, the same command goes on\n");
        return CLI_INTERRUPTED;
    }
    if (made < 0) return cli_fail_error("pack", &err, p->from && strchr(p->from, '|') ? p->from : NULL);
    if (p->json) cli_pack_print_json(p);
    else if (!p->quiet) cli_pack_print(p);
    return CLI_OK;
}

static int run(int argc, char **argv) {
    cli_packed p = {0};
    wanted w = {.on_error = "raise"};
    leat_pack_config *pack = &p.pack;
    cli_tool_options tool = {0};
    cli_opt opts[CLI_TOOL_OPTIONS + 32] = {
        {"store", 0, CLI_TEXT, &pack->store, 0, 0, "WORD",
         "original: files as they are; jpeg, raw: pixels of --size; auto: measured, see --target-rate",
         "original, with --size jpeg"},
        {"size", 0, CLI_TEXT, &w.size, 0, 0, "HxW or N",
         "decode and resize, as Pillow does (bilinear, antialiased); without it files are stored as they are",
         NULL},
        {"raw", 0, CLI_FLAG, &w.raw, 0, 0, NULL,
         "store u8 pixels and the features height, width, channels (with --size)", NULL},
        {"quality", 0, CLI_INT, &w.quality, 1, 100, "Q",
         "of resized JPEGs; from 95 on colour at full resolution", "95"},
        {"target-rate", 0, CLI_INT, &w.rate, 1, 1000000000, "N",
         "with --store auto: the smallest pack that gives N images/s here", NULL},
        {"max-bytes", 0, CLI_BYTES, &w.max_bytes, 0, 0, "BYTES",
         "with --store auto: the fastest pack of at most so many bytes, such as 20GiB", NULL},
        {"orient", 0, CLI_FLAG, &w.orient, 0, 0, NULL, "turn pictures as EXIF says, where they are resized",
         NULL},
        {"positions", 0, CLI_FLAG, &w.positions, 0, 0, NULL,
         "keep positions inside of JPEGs beside the shards: later crops are decoded faster", NULL},
        {"features", 0, CLI_TEXT, &pack->features, 0, 0, "LIST",
         "simple, tfds or slim, then ROLE=NAME for others: 'tfds filename=path'", "simple"},
        {"image-key", 0, CLI_TEXT, &pack->image_key, 0, 0, "KEY", "name of the feature", "image"},
        {"label-key", 0, CLI_TEXT, &pack->label_key, 0, 0, "KEY", "name of the feature", "label"},
        {"shards", 0, CLI_INT, &w.shards, 1, 99999, "N", "how many shards", NULL},
        {"shard-mb", 0, CLI_INT, &w.shard_mb, 1, 1000000, "MB", "or how large",
         "128, smaller for small sets"},
        {"prefix", 0, CLI_TEXT, &pack->prefix, 0, 0, "WORD", "how names of shards begin", "data"},
        {"shuffle", 0, CLI_FLAG, &w.shuffle, 0, 0, NULL,
         "in a shuffled order, so that every shard is a fair part of the set", NULL},
        {"split", 0, CLI_TEXT, &pack->split, 0, 0, "FRACTIONS",
         "train, validation and test as sets of shards of their own: 0.8,0.1,0.1", NULL},
        {"split-by", 0, CLI_TEXT, &w.split_by, 0, 0, "WORD",
         "hash: of the path, so that new files move no other; random, order", "hash, with --stratify random"},
        {"stratify", 0, CLI_FLAG, &w.stratify, 0, 0, NULL, "the same shares in every class", NULL},
        {"augment", 0, CLI_TEXT, &pack->augment, 0, 0, "TEXT",
         "operations that make the --copies: 'random_flip_left_right | random_rotation 10'", NULL},
        {"copies", 0, CLI_INT, &w.copies, 1, 1000, "K",
         "augmented versions beside each original, told by the feature copy (of train, with --split)", NULL},
        {"seed", 's', CLI_INT, &w.seed, 0, 0, "N", "another order, split and augmentation", "0"},
        {"on-error", 0, CLI_TEXT, &w.on_error, 0, 0, "WORD",
         "raise: stop at an image that cannot be used; skip: leave it out, rejects.tsv lists it", "raise"},
        {"quarantine", 0, CLI_TEXT, &pack->quarantine, 0, 0, "DIR",
         "skip, and copy files that are left out to DIR", NULL},
        {"check", 0, CLI_FLAG, &w.check, 0, 0, NULL,
         "decode every file that is stored as it is; without it header and end are looked at", NULL},
        {"part", 0, CLI_TEXT, &w.part, 0, 0, "I/N",
         "make shards I, I+N, ... only: many machines, any order, then --join", NULL},
        {"join", 0, CLI_FLAG, &w.join, 0, 0, NULL, "only OUT: all parts are done, write the manifest", NULL},
        {"verify", 0, CLI_FLAG, &w.verify, 0, 0, NULL,
         "read all shards again and check them; with OUT alone nothing is packed", NULL},
        {"json", 0, CLI_FLAG, &p.json, 0, 0, NULL, "the report as JSON", NULL},
        {"force", 0, CLI_FLAG, &w.force, 0, 0, NULL,
         "remove another pack of that prefix in OUT, and begin anew", NULL},
    };
    int n = 0;
    while (opts[n].name) n++;
    cli_tool_table(&tool, opts, n);
    cli_opt_help(opts, "quiet", "no progress, no report", NULL);
    const int rc = cli_options(&cli_pack, opts, &argc, &argv);
    if (rc != CLI_OK) return rc < 0 ? CLI_OK : rc;
    const bool only_out = w.join || (w.verify && argc == 1);
    if (only_out ? argc != 1 : argc != 2)
        return cli_fail("pack", CLI_USAGE,
                        only_out ? "--join works on a finished output: leat pack --join packed"
                                 : "a data set and a folder to write to are needed: leat pack "
                                   "photos packed");
    int ok = check_store(&p, &w);
    if (ok == CLI_OK) ok = check_layout(&p, &w);
    if (ok == CLI_OK) ok = check_policy(&p, &w);
    if (ok != CLI_OK) return ok;
    p.from = only_out ? NULL : argv[0];
    p.out = argv[argc - 1];
    p.quiet = tool.quiet;
    cli_catch_signals();
    cli_progress_begin(&p.progress, "packing", "images", 0, tool.quiet);
    leat_tool_config config = cli_tool_config(&tool, &p);
    config.log = cli_pack_on_log;
    if (w.join || !only_out) ok = make(&p, w.join, &config);
    if (ok == CLI_OK && w.verify) ok = verify(&p, &config);
    return ok;
}

const cli_verb cli_pack = {
    .name = "pack",
    .help = "Pack a data set into TFRecord shards that any framework reads.",
    .synopsis = "[OPTIONS] SRC OUT",
    .about =
        "Writes the samples of SRC as tf.train.Examples with the features image (bytes) and label "
        "(int64, the number of the sub-folder in sorted order) to OUT/data-00000-of-00016.tfrecord and "
        "so on, with an index beside each shard, manifest.json, rejects.tsv and duplicates.tsv. SRC is a "
        "folder of images, a .csv list, TFRecords, a .npy or CIFAR file, or the text of a pipeline. Shards "
        "appear whole. When it was interrupted, in whatever way, the same command goes on with the missing "
        "shards and gives the same bytes.",
    .example = "  leat pack photos/train packed --size 256x256 --shuffle\n"
               "  leat pack photos packed --features tfds --split 0.8,0.1,0.1 --stratify --quarantine bad",
    .run = run,
};
