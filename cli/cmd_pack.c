/* SPDX-License-Identifier: Apache-2.0 */
/* leat pack: a folder of images to TFRecord shards. */
#include <string.h>

#include "opened.h"

/* "256" or "HEIGHTxWIDTH" */
static bool read_size(const char *text, int *height, int *width) {
    int end = 0;
    if (sscanf(text, "%5d%n", height, &end) == 1 && text[end] == 0) *width = *height;
    else if (sscanf(text, "%5dx%5d%n", height, width, &end) != 2 || text[end] != 0) return false;
    return *height > 0 && *width > 0;
}

typedef struct packed {
    const char *from, *out;
    leat_pack_config pack;
    leat_pack_report report;
    double seconds;
} packed;

/* A pipeline that reads the result, as one would type it. */
static void print_next(const packed *p) {
    const leat_pack_config *pack = &p->pack;
    const char *quote = strpbrk(p->out, " \t|='") ? "'" : "";
    const char *image = pack->image_key ? pack->image_key : "image",
               *label = pack->label_key ? pack->label_key : "label";
    char rest[400] = "";
    if (pack->raw)
        snprintf(rest, sizeof rest, "decode_raw %.100s u8 | reshape %.100s %d %d 3 | ", image, image,
                 pack->height, pack->width);
    else if (pack->width && strcmp(image, "image") == 0) snprintf(rest, sizeof rest, "decode | ");
    else if (pack->width) snprintf(rest, sizeof rest, "decode %.100s | ", image);
    else if (strcmp(image, "image") == 0) snprintf(rest, sizeof rest, "decode | resize 224 224 | ");
    else snprintf(rest, sizeof rest, "decode %.100s | resize 224 224 field=%.100s | ", image, image);
    printf("try      leat bench \"tfrecord %s%s/%s-*.tfrecord%s | shuffle | parse %s:bytes", quote, p->out,
           pack->prefix ? pack->prefix : "data", quote, image);
    if (p->report.n_classes > 0) printf(" %s:int64", label);
    printf(" | %sbatch 64\"\n", rest);
}

static void print_report(const packed *p) {
    const leat_pack_report *r = &p->report;
    const char *prefix = p->pack.prefix ? p->pack.prefix : "data", *bold = cli_bold(stdout),
               *plain = cli_plain(stdout);
    if (r->n_kept == r->n_shards) {
        printf("packed   %s%s images%s: all %s shards were there already\n", bold, cli_count(r->n_samples),
               plain, cli_count(r->n_shards));
    } else {
        printf("packed   %s%s images%s", bold, cli_count(r->n_samples), plain);
        if (r->n_classes > 0) printf(" of %s classes", cli_count((uint64_t)r->n_classes));
        printf(" in %s", cli_time(p->seconds));
        if (r->n_kept == 0 && p->seconds > 0)
            printf(", %s images/s", cli_rate((double)r->n_samples / p->seconds));
        fputc('\n', stdout);
    }
    printf("into     %s, %s shard%s: %s/%s-*.tfrecord\n", cli_bytes((double)r->bytes), cli_count(r->n_shards),
           r->n_shards == 1 ? "" : "s", p->out, prefix);
    if (r->n_kept > 0 && r->n_kept < r->n_shards)
        printf("         %s of them were there already\n", cli_count(r->n_kept));
    if (r->n_classes > 0) printf("classes  %s/%s-classes.txt\n", p->out, prefix);
    if (r->n_bad > 0)
        printf("%sleft out %s image%s that could not be read%s: 'leat check %s' lists them\n",
               cli_red(stdout), cli_count(r->n_bad), r->n_bad == 1 ? "" : "s", plain, p->from);
    print_next(p);
}

static int run(int argc, char **argv) {
    packed p = {0};
    leat_pack_config *pack = &p.pack;
    int64_t quality = 0, shards = 0, shard_mb = 0, seed = 0;
    const char *size = NULL, *on_error = "raise";
    bool raw = false, shuffle = false, force = false;
    cli_tool_options tool = {0};
    cli_opt opts[CLI_TOOL_OPTIONS + 13] = {
        {"size", 0, CLI_TEXT, &size, 0, 0, "HxW or N",
         "decode and resize, as Pillow does (bilinear, antialiased); without it files are stored as they are",
         NULL},
        {"raw", 0, CLI_FLAG, &raw, 0, 0, NULL,
         "store u8 pixels and the features height, width, channels (with --size)", NULL},
        {"quality", 0, CLI_INT, &quality, 1, 100, "Q",
         "of resized JPEGs; from 95 on colour at full resolution", "95"},
        {"shards", 0, CLI_INT, &shards, 1, 99999, "N", "how many shards", NULL},
        {"shard-mb", 0, CLI_INT, &shard_mb, 1, 1000000, "MB", "or how large", "128, smaller for small sets"},
        {"prefix", 0, CLI_TEXT, &pack->prefix, 0, 0, "WORD", "how names of shards begin", "data"},
        {"image-key", 0, CLI_TEXT, &pack->image_key, 0, 0, "KEY", "name of the feature", "image"},
        {"label-key", 0, CLI_TEXT, &pack->label_key, 0, 0, "KEY", "name of the feature", "label"},
        {"shuffle", 0, CLI_FLAG, &shuffle, 0, 0, NULL,
         "in a shuffled order, so that every shard is a fair part of the set", NULL},
        {"seed", 's', CLI_INT, &seed, 0, 0, "N", "another shuffled order", "0"},
        {"on-error", 0, CLI_TEXT, &on_error, 0, 0, "WORD",
         "raise: stop at an image that cannot be used; skip: leave it out and count it", "raise"},
        {"force", 0, CLI_FLAG, &force, 0, 0, NULL,
         "remove another pack of that prefix in OUT, and begin anew", NULL},
    };
    cli_tool_table(&tool, opts, 12);
    cli_opt_help(opts, "quiet", "no progress, no report", NULL);
    const int rc = cli_options(&cli_pack, opts, &argc, &argv);
    if (rc != CLI_OK) return rc < 0 ? CLI_OK : rc;
    if (argc != 2)
        return cli_fail("pack", CLI_USAGE,
                        "a folder of images and a folder to write to are needed: leat pack photos packed");
    if (size && !read_size(size, &pack->height, &pack->width))
        return cli_fail("pack", CLI_USAGE,
                        "--size must be HEIGHTxWIDTH such as 256x256, or one number, not '%s'", size);
    if (raw && !size)
        return cli_fail("pack", CLI_USAGE, "--raw needs a --size: all records should have one shape");
    if (quality && (raw || !size))
        return cli_fail("pack", CLI_USAGE,
                        "--quality is that of resized JPEGs: it goes with --size, and not with --raw");
    if (shards && shard_mb)
        return cli_fail("pack", CLI_USAGE, "--shards and --shard-mb say the same in two ways: give one");
    if (strcmp(on_error, "skip") == 0) pack->on_error = LEAT_ON_ERROR_SKIP;
    else if (strcmp(on_error, "raise") != 0)
        return cli_fail("pack", CLI_USAGE, "--on-error must be raise or skip, not '%s'", on_error);
    p.from = argv[0];
    p.out = argv[1];
    pack->raw = raw;
    pack->quality = (int)quality;
    pack->n_shards = (int)shards;
    pack->shard_bytes = (uint64_t)shard_mb << 20;
    pack->shuffle = shuffle;
    pack->seed = (uint64_t)seed;
    pack->force = force;
    cli_progress progress;
    cli_catch_signals();
    cli_progress_begin(&progress, "packing", "images", 0, tool.quiet);
    const leat_tool_config config = cli_tool_config(&tool, &progress);
    leat_error err;
    const double began = cli_now();
    const int made = leat_pack(p.from, p.out, pack, &p.report, &config, &err);
    p.seconds = cli_now() - began;
    cli_progress_end(&progress);
    if (made == LEAT_ERR_CANCELLED) {
        fprintf(stderr, "leat pack: stopped; finished shards are kept, the same command goes on\n");
        return CLI_INTERRUPTED;
    }
    if (made < 0) return cli_fail_error("pack", &err, NULL);
    if (!tool.quiet) print_report(&p);
    return CLI_OK;
}

const cli_verb cli_pack = {
    .name = "pack",
    .help = "Pack a folder of images into TFRecord shards that any framework reads.",
    .synopsis = "[OPTIONS] SRC OUT",
    .about = "Writes the images below SRC as tf.train.Examples with the features image (bytes) and label "
             "(int64, the number of the sub-folder in sorted order) to OUT/data-00000-of-00016.tfrecord and "
             "so on. Shards appear whole. When it was interrupted, in whatever way, the same command goes on "
             "with the missing shards and gives the same bytes.",
    .example = "  leat pack photos/train packed --size 256x256 --shuffle",
    .run = run,
};
