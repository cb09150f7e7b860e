/* SPDX-License-Identifier: Apache-2.0 */
/* leat: one command, a table of verbs. */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "cli.h"

static const cli_verb *const verbs[] = {
    &cli_run,   &cli_bench, &cli_doctor, &cli_plan, &cli_ops,     &cli_info,  &cli_show,  &cli_check,
    &cli_index, &cli_synth, &cli_pack,   &cli_view, &cli_compare, &cli_split, &cli_cache, &cli_top};
enum { N_VERBS = sizeof verbs / sizeof verbs[0] };

static void print_help(FILE *f) {
    fprintf(f,
            "leat feeds training: images and records to finished batches.\n\n"
            "Usage: leat VERB [OPTIONS] [ARGUMENTS]      leat VERB --help shows options and an example\n\n");
    for (int i = 0; i < N_VERBS; i++)
        fprintf(f, "  %s%-8s%s %s\n", cli_bold(f), verbs[i]->name, cli_plain(f), verbs[i]->help);
    fprintf(f, "\nA pipeline is one line of text, operations separated by '|':\n"
               "  leat bench \"folder photos/train | shuffle | decode | resize 224 224 | batch 64\"\n"
               "'leat ops' lists all operations.\n");
}

/* Letters to add, take away or change until a is b; verbs are short. */
static int unlike(const char *a, const char *b) {
    if (!*a || !*b) return (int)(strlen(a) + strlen(b));
    if (*a == *b) return unlike(a + 1, b + 1);
    const int add = unlike(a, b + 1), take = unlike(a + 1, b), change = unlike(a + 1, b + 1);
    return 1 + (add < take ? (add < change ? add : change) : (take < change ? take : change));
}

static int run(int argc, char **argv) {
    if (strcmp(leat_version(), LEAT_VERSION) != 0)
        fprintf(stderr, "leat: this command is %s, the library it found is %s\n", LEAT_VERSION,
                leat_version());
    if (argc < 2) {
        print_help(stderr);
        return CLI_USAGE;
    }
    const char *word = argv[1];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
        print_help(stdout);
        return CLI_OK;
    }
    if (strcmp(word, "--version") == 0 || strcmp(word, "version") == 0) {
        printf("leat %s\n", leat_version());
        return CLI_OK;
    }
    const cli_verb *near = NULL;
    for (int i = 0; i < N_VERBS; i++) {
        if (strcmp(verbs[i]->name, word) == 0) return verbs[i]->run(argc - 1, argv + 1);
        if (strlen(word) < 10 && unlike(verbs[i]->name, word) <= 2 &&
            (!near || unlike(verbs[i]->name, word) < unlike(near->name, word)))
            near = verbs[i];
    }
    if (near) fprintf(stderr, "leat: there is no verb '%s'; did you mean '%s'?\n", word, near->name);
    else fprintf(stderr, "leat: there is no verb '%s': 'leat --help' lists them\n", word);
    return CLI_USAGE;
}

/* Output that is lost is an error: a full disk tells of it when the last lines are written. */
static int close_output(int code) {
    const bool lost = ferror(stdout) != 0;
    errno = 0;
    if ((fclose(stdout) == 0 && !lost) || code != CLI_OK) return code;
    if (errno != EPIPE)
        fprintf(stderr, "leat: stdout cannot be written: %s\n", errno ? strerror(errno) : "a write failed");
    return CLI_FAILED;
}

int main(int argc, char **argv) {
    /* A reader that has gone, and a limit on the size of files, are errors of a write and end no work that goes elsewhere. */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    return close_output(run(argc, argv));
}
