/* SPDX-License-Identifier: Apache-2.0 */
/* leat synth: a practice set. */
#include <string.h>

#include "opened.h"

/* "500x375" */
static bool read_size(const char *text, int *a, int *b) {
    int end = 0;
    return sscanf(text, "%5dx%5d%n", a, b, &end) == 2 && text[end] == 0 && *a > 0 && *b > 0;
}

static int run(int argc, char **argv) {
    int64_t images = 1000, classes = 10, quality = 0, seed = 0, threads = 0;
    const char *size = NULL, *format = "jpeg";
    bool force = false, quiet = false;
    const cli_opt opts[] = {
        {"images", 'n', CLI_INT, &images, 1, 100000000, "N", "how many", "1000"},
        {"classes", 0, CLI_INT, &classes, 1, 1000000, "K", "in how many classes", "10"},
        {"size", 0, CLI_TEXT, &size, 0, 0, "WxH", "all of one size", "different sizes around 500x375"},
        {"quality", 0, CLI_INT, &quality, 1, 100, "Q", "of JPEG, 1 to 100", "between 90 and 96"},
        {"format", 0, CLI_TEXT, &format, 0, 0, "WORD", "jpeg or png", "jpeg"},
        {"seed", 's', CLI_INT, &seed, 0, 0, "N", "other pictures", "0"},
        {"threads", 't', CLI_INT, &threads, 0, 64, "N", "workers", "all cores this process may use"},
        {"force", 0, CLI_FLAG, &force, 0, 0, NULL,
         "also into a folder that is not empty; same names are overwritten", NULL},
        {"quiet", 'q', CLI_FLAG, &quiet, 0, 0, NULL, "no progress, no report", NULL},
        {0},
    };
    const int rc = cli_options(&cli_synth, opts, &argc, &argv);
    if (rc != CLI_OK) return rc < 0 ? CLI_OK : rc;
    if (argc != 1)
        return cli_fail("synth", CLI_USAGE, "one folder to write to is needed: leat synth DIR --images 1000");
    leat_synth_config synth = {.n_images = (uint64_t)images,
                               .n_classes = (int)classes,
                               .quality = (int)quality,
                               .seed = (uint64_t)seed,
                               .force = force};
    if (size && !read_size(size, &synth.width, &synth.height))
        return cli_fail("synth", CLI_USAGE, "--size must be WIDTHxHEIGHT such as 500x375, not '%s'", size);
    if (strcmp(format, "png") == 0) synth.format = 1;
    else if (strcmp(format, "jpeg") != 0 && strcmp(format, "jpg") != 0)
        return cli_fail("synth", CLI_USAGE, "--format must be jpeg or png, not '%s'", format);
    cli_progress progress;
    cli_catch_signals();
    cli_progress_begin(&progress, "painting", "images", synth.n_images, quiet);
    const leat_tool_config config = {
        .n_threads = (int)threads, .log = cli_on_log, .progress = cli_on_progress, .user = &progress};
    leat_error err;
    const double began = cli_now();
    const int made = leat_synth(argv[0], &synth, &config, &err);
    cli_progress_end(&progress);
    if (made == LEAT_ERR_CANCELLED) {
        fprintf(stderr, "leat synth: stopped; what is there can be deleted, or completed with --force\n");
        return CLI_INTERRUPTED;
    }
    if (made < 0) return cli_fail_error("synth", &err, NULL);
    if (quiet) return CLI_OK;
    const double took = cli_now() - began;
    printf("made  %s%s images%s in %s classes: %s/class_*/*.%s\n", cli_bold(stdout),
           cli_count(synth.n_images), cli_plain(stdout),
           cli_count((uint64_t)(images < classes ? images : classes)), argv[0], synth.format ? "png" : "jpg");
    printf("      %s, %s images/s\n", cli_time(took),
           cli_rate((double)synth.n_images / (took > 1e-9 ? took : 1e-9)));
    printf("try   leat bench \"folder %s | shuffle | decode | resize 224 224 | batch 64\"\n", argv[0]);
    return CLI_OK;
}

const cli_verb cli_synth = {
    .name = "synth",
    .help = "Make a labelled practice set of photo-like images.",
    .synopsis = "[OPTIONS] DIR",
    .about = "Paints pictures that are like photographs in what they cost to decode, one folder a class: "
             "DIR/class_00/000000.jpg and so on. A small network can learn to tell the classes apart. The "
             "same options give the same files.",
    .example = "  leat synth practice --images 3000 --classes 10",
    .run = run,
};
