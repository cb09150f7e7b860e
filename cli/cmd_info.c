/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

enum { CLASSES_SHOWN = 20, NAME_COLUMNS = 24 };

static int by_size(const void *a, const void *b) {
    const leat_class_count *x = a, *y = b;
    return x->n != y->n ? x->n < y->n ? 1 : -1 : strcmp(x->name, y->name);
}

static void print_title(const leat_info *info, const char *path) {
    static const struct {
        const char *kind, *one, *many;
    } words[] = {
        {"folder", "a folder of images", "a folder of images"},
        {"tfrecord", "a TFRecord file", "TFRecord files"},
        {"tfrecord gzip", "a TFRecord file, compressed by GZIP",
         "TFRecord files, some or all compressed by GZIP"},
        {"tfrecord zlib", "a TFRecord file, compressed by ZLIB",
         "TFRecord files, some or all compressed by ZLIB"},
        {"list", "a list of image files", "a list of image files"},
        {"image", "an image", "an image"},
        {"images", "images", "images"},
    };
    const char *what = info->kind;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(words[i].kind, info->kind) == 0) what = info->n_files == 1 ? words[i].one : words[i].many;
    printf("%s%s%s: %s\n", cli_bold(stdout), path, cli_plain(stdout), what);
}

static void print_label(const char *label) {
    printf("  %-9s ", label);
}

static void print_range(int from, int to, const char *word) {
    if (from == to) printf("%d %s, ", from, word);
    else printf("%d to %d %s, ", from, to, word);
}

static void print_sizes(const leat_info *info) {
    const bool one = info->n_samples == 1, compressed = strncmp(info->kind, "tfrecord ", 9) == 0;
    print_label("bytes");
    printf("%s", cli_bytes((double)info->bytes));
    if (!one || compressed) {
        printf(", %s", compressed ? "records of " : "");
        if (info->sample_bytes_min < info->sample_bytes_max)
            printf("%s to ", cli_bytes((double)info->sample_bytes_min));
        printf("%s%s", cli_bytes((double)info->sample_bytes_max), compressed ? " when inflated" : " each");
    }
    if (!one && !compressed && info->n_samples > 0)
        printf(", %s on average", cli_bytes((double)info->bytes / (double)info->n_samples));
    putchar('\n');
    if (info->width_max == 0) return;
    print_label("pixels");
    if (info->width_min == info->width_max && info->height_min == info->height_max) {
        printf("%d x %d%s\n", info->width_min, info->height_min, one ? "" : ", all alike");
        return;
    }
    print_range(info->width_min, info->width_max, "wide");
    print_range(info->height_min, info->height_max, "high");
    printf("%.0f x %.0f on average\n", info->width_mean, info->height_mean);
}

static void print_formats(const leat_info *info) {
    const bool records = strncmp(info->kind, "tfrecord", 8) == 0;
    const uint64_t good = info->n_looked_at - info->n_bad;
    int widest = NAME_COLUMNS;
    for (int i = 0; i < info->n_formats; i++)
        if ((int)strlen(info->formats[i].name) > widest) widest = (int)strlen(info->formats[i].name);
    for (int i = 0; i < info->n_formats; i++) {
        const leat_format_count *f = &info->formats[i];
        print_label(i > 0 ? "" : records ? "keys" : "formats");
        if (info->n_samples == 1 || (records && f->n == good)) printf("%s\n", f->name);
        else if (records)
            printf("%-*s  in %s of %s records\n", widest, f->name, cli_count(f->n), cli_count(good));
        else printf("%-*s %10s\n", widest, f->name, cli_count(f->n));
    }
}

/* Of JPEGs, PNGs and WebPs: what takes the fast way, and why the rest does not. */
static void print_decoders(const leat_info *info) {
    if (info->n_own) {
        print_label("decoder");
        if (info->n_samples == 1) printf("leat's own\n");
        else printf("%-*s %10s\n", NAME_COLUMNS, "leat's own", cli_count(info->n_own));
    }
    for (int i = 0; i < info->n_detours; i++) {
        print_label(i > 0 || info->n_own ? "" : "decoder");
        if (info->n_samples == 1) printf("%s\n", info->detours[i].name);
        else printf("%-*s %10s\n", NAME_COLUMNS, info->detours[i].name, cli_count(info->detours[i].n));
    }
}

static void print_classes(const leat_info *info, bool all) {
    int shown = info->n_classes;
    if (!all && shown > CLASSES_SHOWN + 1) shown = CLASSES_SHOWN; /* "and 1 more" would save nothing */
    size_t widest = NAME_COLUMNS;
    for (int i = 0; i < shown; i++)
        widest = strlen(info->classes[i].name) > widest ? strlen(info->classes[i].name) : widest;
    if (widest > 60) widest = 60;
    for (int i = 0; i < shown; i++) {
        print_label(i > 0 ? "" : "classes");
        printf("%-*s %10s\n", (int)widest, info->classes[i].name, cli_count(info->classes[i].n));
    }
    if (shown == info->n_classes) return;
    print_label("");
    printf("and %s more (--all lists them)\n", cli_count((uint64_t)(info->n_classes - shown)));
}

static void print_text(const leat_info *info, const char *path, bool all) {
    const bool records = strncmp(info->kind, "tfrecord", 8) == 0;
    print_title(info, path);
    if (strcmp(info->kind, "image") != 0) {
        print_label(records ? "records" : "images");
        printf("%s", cli_count(info->n_samples));
        if (records && info->n_files > 1) printf(" in %s files", cli_count(info->n_files));
        if (info->n_classes == 1) printf(" in 1 class");
        else if (info->n_classes > 1) printf(" in %s classes", cli_count((uint64_t)info->n_classes));
        putchar('\n');
    }
    print_sizes(info);
    print_formats(info);
    print_decoders(info);
    if (info->n_looked_at < info->n_samples) {
        print_label("");
        printf("(pixels and %s of %s %s, spread evenly; --look-at -1 takes all)\n",
               records ? "keys" : "formats", cli_count(info->n_looked_at), records ? "records" : "images");
    }
    if (info->n_bad) {
        print_label("bad");
        printf("%s%s of %s could not be read%s: 'leat check %s' names them\n", cli_red(stdout),
               cli_count(info->n_bad), cli_count(info->n_looked_at), cli_plain(stdout), path);
    }
    print_classes(info, all);
}

static void print_count(const char *name, uint64_t n, int i) {
    printf("%s{\"name\": ", i ? ", " : "");
    cli_json_string(stdout, name);
    printf(", \"n\": %" PRIu64 "}", n);
}

static void print_json(const leat_info *info, const char *path) {
    printf("{\"path\": ");
    cli_json_string(stdout, path);
    printf(", \"kind\": ");
    cli_json_string(stdout, info->kind);
    printf(", \"samples\": %" PRIu64 ", \"files\": %" PRIu64 ", \"bytes\": %" PRIu64, info->n_samples,
           info->n_files, info->bytes);
    printf(", \"sample_bytes_min\": %" PRIu64 ", \"sample_bytes_max\": %" PRIu64, info->sample_bytes_min,
           info->sample_bytes_max);
    printf(", \"looked_at\": %" PRIu64 ", \"bad\": %" PRIu64, info->n_looked_at, info->n_bad);
    printf(", \"width_min\": %d, \"width_max\": %d, \"width_mean\": %.2f", info->width_min, info->width_max,
           info->width_mean);
    printf(", \"height_min\": %d, \"height_max\": %d, \"height_mean\": %.2f", info->height_min,
           info->height_max, info->height_mean);
    printf(", \"formats\": [");
    for (int i = 0; i < info->n_formats; i++) print_count(info->formats[i].name, info->formats[i].n, i);
    printf("], \"own_decoder\": %" PRIu64 ", \"detours\": [", info->n_own);
    for (int i = 0; i < info->n_detours; i++) print_count(info->detours[i].name, info->detours[i].n, i);
    printf("], \"classes\": [");
    for (int i = 0; i < info->n_classes; i++) print_count(info->classes[i].name, info->classes[i].n, i);
    printf("]}\n");
}

typedef struct packed {
    int n_lines;
    bool printed;
    char text[6000]; /* the pipeline that reads it; "" = none */
} packed;

static int take_pack_line(void *user, const char *line) {
    packed *p = user;
    if (strncmp(line, "text ", 5) == 0)
        snprintf(p->text, sizeof p->text, "%s", line + strspn(line + 5, " ") + 5);
    if (!p->printed) return 0;
    if (p->n_lines++ == 0) printf("  %spack%s\n", cli_bold(stdout), cli_plain(stdout));
    printf("  %s\n", line);
    return 0;
}

/* What the manifest of a pack says, if there is one. */
static void print_pack(packed *p, const char *path) {
    if (leat_pack_summary(path, NULL, take_pack_line, p, NULL) == 0 && *p->text && p->printed)
        printf("  sheet     leat info %s --sheet sheet.png\n", path);
}

/* Pictures of a pack as they are stored. */
static int draw_sheet(const packed *p, const char *path, const char *sheet) {
    if (!*p->text)
        return cli_fail("info", CLI_FAILED,
                        "%s is no finished pack of pictures: leat view draws what a pipeline gives", path);
    const leat_view_config view = {.n_samples = 32, .strip = 4};
    leat_view_report report;
    leat_error err;
    leat_spec *spec = leat_spec_new(p->text);
    if (!spec) return cli_fail("info", CLI_FAILED, "no memory");
    const int failed = leat_view(spec, sheet, &view, NULL, &report, &err);
    leat_spec_free(&spec);
    if (failed < 0) return cli_fail_error("info", &err, p->text);
    fprintf(stderr, "%s: %d sample%s, %dx%d pixels\n", sheet, report.n_samples,
            report.n_samples == 1 ? "" : "s", report.width, report.height);
    return CLI_OK;
}

static int run(int argc, char **argv) {
    bool all = false, json = false;
    const char *sheet = NULL;
    int64_t look_at = 0;
    cli_tool_options tool = {0};
    cli_opt opts[CLI_TOOL_OPTIONS + 5] = {
        {"all", 'a', CLI_FLAG, &all, 0, 0, NULL, "all classes, not only the 20 largest", NULL},
        {"look-at", 0, CLI_INT, &look_at, -1, INT64_MAX, "N",
         "open N samples for pixels, formats and keys; -1 opens all", "1000"},
        {"sheet", 0, CLI_TEXT, &sheet, 0, 0, "FILE.png",
         "draw a contact sheet: pictures of a pack as they are stored", NULL},
        {"json", 0, CLI_FLAG, &json, 0, 0, NULL, "one JSON object", NULL},
    };
    cli_tool_table(&tool, opts, 4);
    const int rc = cli_options(&cli_info, opts, &argc, &argv);
    if (rc) return rc < 0 ? CLI_OK : rc;
    if (argc != 1)
        return cli_fail("info", CLI_USAGE,
                        argc == 0 ? "which path? 'leat info --help' shows an example"
                                  : "one path at a time; put a pattern in quotes");
    cli_progress progress;
    cli_catch_signals();
    cli_progress_begin(&progress, "looking", "", 0, tool.quiet);
    const leat_tool_config config = cli_tool_config(&tool, &progress);
    leat_info info;
    leat_error err;
    const int failed = leat_info_read(&info, argv[0], look_at, &config, &err);
    cli_progress_end(&progress);
    if (failed < 0) return cli_fail_error("info", &err, NULL);
    if (info.n_classes) qsort(info.classes, (size_t)info.n_classes, sizeof *info.classes, by_size);
    if (json) print_json(&info, argv[0]);
    else print_text(&info, argv[0], all);
    packed pack = {.printed = !json};
    print_pack(&pack, argv[0]);
    leat_info_free(&info);
    return sheet ? draw_sheet(&pack, argv[0], sheet) : CLI_OK;
}

const cli_verb cli_info = {
    .name = "info",
    .help = "Say what a folder, a TFRecord file or an image is: counts, classes, sizes, formats.",
    .synopsis = "[OPTIONS] PATH",
    .about = "Says what PATH is: a folder of images, a TFRecord file, a pattern in quotes, a list of images "
             "(.csv), an image. Counts and classes are exact; pixels, formats and keys are those of 1000 "
             "samples, spread evenly, unless you ask for more. Of a folder that 'leat pack' has written, the "
             "manifest is shown too.",
    .example = "  leat info photos/train\n  leat info packed --sheet sheet.png",
    .run = run,
};
