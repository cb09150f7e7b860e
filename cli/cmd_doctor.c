/* SPDX-License-Identifier: Apache-2.0 */
/* leat doctor: why a pipeline is slow, and what to do, with a number for each remedy. */
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "opened.h"

enum { WIDTH_MIN = 40, WIDTH_MAX = 100, GAIN_TEXT = 24 };
static const double ask_bytes = 1073741824.0;

typedef struct doctor {
    const char *text;
    leat_spec *spec;
    leat_config config;
    leat_doctor_config doctor;
    cli_pipeline_options pipeline;
    leat_doctor_report report;
    leat_doctor_applied applied;
    int64_t apply; /* number of a remedy, from 1; 0 = none */
    bool yes, json, images;
    const char *html, *trace;
    leat_error err;
} doctor;

static int columns(void) {
    struct winsize size = {0};
    const bool known =
        isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    const int n = known ? size.ws_col : WIDTH_MAX;
    return n < WIDTH_MIN ? WIDTH_MIN : n > WIDTH_MAX ? WIDTH_MAX : n;
}

static int on_progress(void *user, const char *what, uint64_t done, uint64_t total) {
    const doctor *d = user;
    static double last;
    if (!d->pipeline.quiet && isatty(STDERR_FILENO) && cli_now() - last > 0.1) {
        last = cli_now();
        fprintf(stderr, "\r\033[K%s", what);
        if (total > 0) fprintf(stderr, " %.0f %%", 100.0 * (double)done / (double)total);
        fflush(stderr);
    }
    return cli_interrupted();
}

static void unsay(const doctor *d) {
    if (!d->pipeline.quiet && isatty(STDERR_FILENO)) fputs("\r\033[K", stderr);
}

/* ------------------------------------------------------------------------------------------ for people */

/* Words, with `indent` blanks in front of each line. */
static void print_wrapped(const char *text, int indent) {
    const int width = columns();
    int column = 0;
    while (*text) {
        const int n = (int)strcspn(text, " \n");
        if (column == 0) column = printf("%*s", indent, "");
        else if (column + 1 + n > width) {
            putchar('\n');
            column = printf("%*s", indent, "");
        } else column += printf(" ");
        column += printf("%.*s", n, text);
        text += n;
        if (*text == '\n') {
            putchar('\n');
            column = 0;
        }
        if (*text) text++;
    }
    putchar('\n');
}

/* A line of text that may be copied: never broken. */
static void print_lines(const char *text, int indent) {
    while (*text) {
        const int n = (int)strcspn(text, "\n");
        printf("%*s%.*s\n", indent, "", n, text);
        text += n + (text[n] == '\n');
    }
}

static void print_ceilings(const doctor *d) {
    const leat_doctor_report *r = &d->report;
    const int width = columns();
    const char *block = cli_letters() ? "█" : "#";
    double most = r->rate;
    for (int i = 0; i < r->n_ceilings; i++)
        if (r->ceiling[i].rate > most) most = r->ceiling[i].rate;
    printf("\nCeilings, %s/s of each part alone\n", r->images ? "images" : "samples");
    for (int i = 0; i < r->n_ceilings; i++) {
        const leat_ceiling *c = &r->ceiling[i];
        const int used = printf("  %-14s %10s ", c->name, cli_rate(c->rate));
        const int room = width - used - (i == r->binding ? 9 : 0);
        const int cells = (int)(c->rate / most * (room < 30 ? room : 30) + 0.5);
        for (int k = 0; k < (cells > 0 ? cells : 1); k++) fputs(block, stdout);
        if (i == r->binding) printf(" %s<- binds%s", cli_bold(stdout), cli_plain(stdout));
        putchar('\n');
    }
}

/* Digits that the measurement carries: x1.32, x13.1, x1,073. */
static const char *gain_text(char out[GAIN_TEXT], double gain) {
    if (gain >= 99.5) snprintf(out, GAIN_TEXT, "x%s", cli_rate(gain));
    else snprintf(out, GAIN_TEXT, gain < 9.995 ? "x%.2f" : "x%.1f", gain);
    return out;
}

/* Rounds of a trial that differ by more than this are told. */
static const double unsteady = 0.2;

static void print_remedy(const leat_remedy *m, int number) {
    char line[400], times[40] = "", gain[GAIN_TEXT];
    if (m->gain > 0) snprintf(times, sizeof times, ": %s, %s/s", gain_text(gain, m->gain), cli_rate(m->rate));
    else if (m->rate > 0) snprintf(times, sizeof times, ": %s/s", cli_rate(m->rate));
    snprintf(line, sizeof line, "%d  %s%s", number, m->title, times);
    printf("%s", cli_bold(stdout));
    print_wrapped(line, 2);
    printf("%s", cli_plain(stdout));
    if (*m->cost) print_wrapped(m->cost, 5);
    snprintf(line, sizeof line, "predicted from: %s", m->how);
    if (m->rate > 0 && m->spread > unsteady)
        snprintf(line + strlen(line), sizeof line - strlen(line), "; rounds differed by %.0f %%",
                 m->spread * 100);
    if (m->rate > 0) print_wrapped(line, 5);
    print_lines(m->command, 5);
}

static void print_report(const doctor *d) {
    const leat_doctor_report *r = &d->report;
    char line[400];
    snprintf(line, sizeof line, "%s %s/s. %s", cli_rate(r->rate), r->images ? "images" : "samples",
             r->verdict.sentence);
    printf("%s", cli_bold(stdout));
    print_wrapped(line, 0);
    printf("%s", cli_plain(stdout));
    if (!r->input_binds)
        print_wrapped("A faster input changes nothing: the time is in the consumer's step.", 0);
    else if (d->doctor.step_ms == 0)
        print_wrapped("No consumer was given: --step-ms 35 tells how long one works on a batch.", 0);
    print_ceilings(d);
    if (r->n_remedies > 0) printf("\nRemedies, by gain\n");
    for (int i = 0; i < r->n_remedies; i++) print_remedy(&r->remedies[i], i + 1);
    if (r->n_remedies == 0 && r->input_binds) printf("\nNo remedy that was tried makes it faster by 5 %%.\n");
    if (*r->note) {
        putchar('\n');
        print_wrapped(r->note, 0);
    }
}

static void print_applied(const doctor *d) {
    const leat_remedy *m = &d->report.remedies[d->apply - 1];
    const leat_doctor_applied *a = &d->applied;
    printf("\nApplied: %s\n", m->title);
    printf("  before     %s/s\n", cli_rate(a->rate_before));
    printf("  after      %s/s\n", cli_rate(a->rate_after));
    char gain[GAIN_TEXT];
    printf("  predicted  %s\n", m->gain > 0 ? gain_text(gain, m->gain) : "nothing");
    printf("  measured   %s\n", gain_text(gain, a->gain));
    if (*a->folder) printf("  written    %s to %s\n", cli_bytes((double)a->written_bytes), a->folder);
    if (strcmp(a->text, d->report.text) != 0) printf("  measured with\n     %s\n", a->text);
}

/* ----------------------------------------------------------------------------------------- for programs */

static void print_string(const char *key, const char *text) {
    printf("\"%s\": ", key);
    cli_json_string(stdout, text);
}

static void print_json_lists(const leat_doctor_report *r) {
    static const char *const kinds[] = {"text", "option", "command", "advice"};
    printf(",\n  \"ceilings\": [");
    for (int i = 0; i < r->n_ceilings; i++) {
        printf("%s\n    {\"name\": \"%s\", \"rate\": %.6g, ", i ? "," : "", r->ceiling[i].name,
               r->ceiling[i].rate);
        print_string("how", r->ceiling[i].how);
        printf("}");
    }
    printf("],\n  \"remedies\": [");
    for (int i = 0; i < r->n_remedies; i++) {
        const leat_remedy *m = &r->remedies[i];
        printf("%s\n    {\"name\": \"%s\", \"kind\": \"%s\", ", i ? "," : "", m->name, kinds[m->kind]);
        print_string("title", m->title);
        printf(", \"rate\": %.6g, \"gain\": %.4g, \"spread\": %.4g, \"write_bytes\": %" PRIu64 ", ", m->rate,
               m->gain, m->spread, m->write_bytes);
        print_string("cost", m->cost);
        printf(", ");
        print_string("how", m->how);
        printf(", ");
        print_string("command", m->command);
        printf("}");
    }
    printf("],\n  \"moments\": [");
    for (int i = 0; i < r->n_moments; i++)
        printf("%s[%.3f, %.6g, %.3f, %.3f]", i ? ", " : "", r->moments[i].at_s, r->moments[i].rate,
               r->moments[i].wait, r->moments[i].idle);
    printf("],\n  ");
    cli_print_latency(&r->latency);
}

static void print_json(const doctor *d) {
    const leat_doctor_report *r = &d->report;
    const leat_doctor_applied *a = &d->applied;
    printf("{\n  ");
    print_string("spec", r->text);
    printf(",\n  \"samples_per_s\": %.6g,\n  \"seconds\": %.4f,\n  \"wait\": %.4f,\n", r->rate, r->seconds,
           r->wait);
    printf("  \"input_binds\": %s,\n  \"cause\": \"%s\",\n  \"percent\": %d,\n  ",
           r->input_binds ? "true" : "false", leat_bottleneck_name(r->verdict.bottleneck),
           r->verdict.percent);
    print_string("sentence", r->verdict.sentence);
    printf(",\n  \"binding\": ");
    if (r->binding >= 0) cli_json_string(stdout, r->ceiling[r->binding].name);
    else printf("null");
    printf(",\n  \"threads\": %d,\n  ", r->stats.n_threads);
    print_string("note", r->note);
    print_json_lists(r);
    if (d->apply) {
        printf(",\n  \"applied\": {\"remedy\": %d, \"before\": %.6g, \"after\": %.6g, \"gain\": %.4g, "
               "\"spread\": %.4g, "
               "\"written_bytes\": %" PRIu64 ", ",
               (int)d->apply, a->rate_before, a->rate_after, a->gain, a->spread, a->written_bytes);
        print_string("folder", a->folder);
        printf(", ");
        print_string("spec", a->text);
        printf("}");
    }
    printf("\n}\n");
}

/* ---------------------------------------------------------------------------------------------- run */

/* Before much is written, the user is asked. */
static bool may_write(const doctor *d, const leat_remedy *m) {
    char answer[16] = "";
    if (d->yes || (double)m->write_bytes <= ask_bytes) return true;
    if (!isatty(STDIN_FILENO)) return false;
    fprintf(stderr, "%s writes %s below %s. Go on? [y/N] ", m->title, cli_bytes((double)m->write_bytes),
            d->doctor.folder ? d->doctor.folder : "the temporary folder");
    return fgets(answer, sizeof answer, stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

static int apply(doctor *d) {
    const leat_doctor_report *r = &d->report;
    if (d->apply > r->n_remedies)
        return cli_fail("doctor", CLI_FAILED, "there is no remedy %d: %d %s found", (int)d->apply,
                        r->n_remedies, r->n_remedies == 1 ? "was" : "were");
    const leat_remedy *m = &r->remedies[d->apply - 1];
    if (!may_write(d, m))
        return cli_fail("doctor", CLI_FAILED,
                        "'%s' would write %s, so it was not carried out: --yes allows it", m->title,
                        cli_bytes((double)m->write_bytes));
    const int rc =
        leat_doctor_apply(&d->applied, r, (int)d->apply - 1, d->spec, &d->config, &d->doctor, &d->err);
    unsay(d);
    if (rc == LEAT_ERR_CANCELLED) return CLI_INTERRUPTED;
    return rc < 0 ? cli_fail_error("doctor", &d->err, NULL) : CLI_OK;
}

/* --html and --trace. */
static int write_files(doctor *d) {
    const leat_html_config html = {.pictures = d->images, .spec = d->spec, .pipeline = &d->config};
    int rc = d->html ? leat_doctor_html(&d->report, d->html, &html, &d->err) : 0;
    if (rc >= 0 && d->trace) rc = leat_trace_write(d->report.events, d->report.n_events, d->trace, &d->err);
    if (rc == LEAT_ERR_CANCELLED) return CLI_INTERRUPTED;
    return rc < 0 ? cli_fail_error("doctor", &d->err, NULL) : CLI_OK;
}

static int examine(doctor *d) {
    const int rc = leat_doctor(&d->report, d->spec, &d->config, &d->doctor, &d->err);
    unsay(d);
    if (rc == LEAT_ERR_CANCELLED) return CLI_INTERRUPTED;
    if (rc < 0) return cli_fail_error("doctor", &d->err, d->text);
    if (!d->json) print_report(d);
    int code = write_files(d);
    unsay(d);
    if (d->apply && code == CLI_OK) {
        fflush(stdout);
        code = apply(d);
    }
    if (d->json && code == CLI_OK) print_json(d);
    else if (d->apply && code == CLI_OK) print_applied(d);
    return code;
}

static int run(int argc, char **argv) {
    doctor d = {0};
    int64_t at_once = 0;
    cli_opt opts[CLI_PIPELINE_OPTIONS + 11] = {
        {"step-ms", 0, CLI_NUMBER, &d.doctor.step_ms, 0, 0, "MS",
         "how long the consumer (a training step) works on a batch", "it takes batches as fast as it can"},
        {"steps-per-execution", 0, CLI_INT, &at_once, 1, 1000, "N",
         "the consumer takes N batches one after the other, and works on all of them then", "1"},
        {"seconds", 0, CLI_NUMBER, &d.doctor.seconds, 0, 0, "N",
         "how long to measure; each remedy that is tried takes about as long again", "3"},
        {"apply", 0, CLI_INT, &d.apply, 1, LEAT_DOCTOR_REMEDIES, "N",
         "carry out remedy N for the whole data set, in a new temporary folder, and measure", NULL},
        {"yes", 'y', CLI_FLAG, &d.yes, 0, 0, NULL, "do not ask before more than 1 GiB is written", NULL},
        {"folder", 0, CLI_TEXT, &d.doctor.folder, 0, 0, "DIR",
         "where files are written for trials and by --apply", "$TMPDIR, or /tmp"},
        {"json", 0, CLI_FLAG, &d.json, 0, 0, NULL, "print one JSON object", NULL},
        {"html", 0, CLI_TEXT, &d.html, 0, 0, "FILE",
         "also write the report as one page for a browser, with charts; paths in it are shortened to their "
         "last "
         "name",
         NULL},
        {"images", 0, CLI_FLAG, &d.images, 0, 0, NULL,
         "the page of --html has some pictures before and after augmentation too, and whole paths", NULL},
        CLI_TRACE_OPTION(&d),
    };
    cli_pipeline_table(&d.pipeline, opts, 10);
    cli_opt_help(opts, "epochs", "has no meaning here: the pipeline runs without end", NULL);
    cli_opt_help(opts, "quiet", "no progress", NULL);
    int rc = cli_options(&cli_doctor, opts, &argc, &argv);
    if (rc != CLI_OK) return rc < 0 ? CLI_OK : rc;
    cli_opened on = {0};
    rc = cli_opened_text(&on, "doctor", argc, argv);
    if (rc == CLI_OK) rc = cli_pipeline_config(&d.pipeline, &d.config);
    if (rc != CLI_OK) return rc;
    if (d.images && !d.html) return cli_fail("doctor", CLI_USAGE, "--images is for the page of --html FILE");
    if ((d.html && cli_check_writable("doctor", d.html) != CLI_OK) ||
        (d.trace && cli_check_writable("doctor", d.trace) != CLI_OK))
        return CLI_FAILED;
    d.config.trace_events = d.html || d.trace ? CLI_TRACE_EVENTS : 0;
    d.text = on.text;
    d.doctor.at_once = (int)at_once;
    d.config.progress = on_progress;
    d.config.user = &d;
    cli_catch_signals();
    d.spec = leat_spec_new(d.text);
    if (!d.spec) return cli_fail("doctor", CLI_FAILED, "no memory");
    rc = examine(&d);
    leat_doctor_free(&d.report);
    leat_spec_free(&d.spec);
    return rc == CLI_INTERRUPTED ? cli_fail("doctor", rc, "stopped before the measurement was over") : rc;
}

const cli_verb cli_doctor = {
    .name = "doctor",
    .help = "Say why a pipeline is slow, and what to do: remedies with their measured gain.",
    .synopsis = "[OPTIONS] \"PIPELINE\"",
    .about = "Runs the pipeline for some seconds, measures the ceilings of storage, decoding, transforming, "
             "memory and "
             "the consumer, and names the one that binds. Then it tries what may help on a sample of the "
             "data, in turns "
             "with the pipeline as it is, and lists the remedies with predicted rate, cost, and the exact "
             "command or "
             "text. Temporary files are removed; only --apply leaves what it wrote, and says where.",
    .example =
        "  leat doctor \"folder photos/train | shuffle | decode | resize 224 224 | batch 64\" --step-ms 35\n"
        "  leat doctor \"folder photos/train | decode | resize 224 224 | batch 64\" --apply 1",
    .run = run,
};
