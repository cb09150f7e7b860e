/* SPDX-License-Identifier: Apache-2.0 */
/* leat ops: the table of operations, for people and for programs. */
#include <string.h>

#include "cli.h"

static const struct {
    const char *kind, *title;
} kinds[] = {
    {"source", "Sources: where samples come from; the first operation"},
    {"order", "Order: which sample comes next"},
    {"sample", "Fields: any field of a sample"},
    {"image", "Images: the pixels of a field"},
    {"batch", "Batches and settings"},
};
enum { N_KINDS = sizeof kinds / sizeof kinds[0], WIDTH = 96 };

/* Prints text in lines of at most WIDTH columns, all but the first indented. */
static void print_wrapped(const char *text, int column, int indent) {
    for (const char *word = text; *word;) {
        const int n = (int)strcspn(word, " ");
        if (column + n + 1 > WIDTH && column > indent) column = printf("\n%*s", indent, "") - 1;
        else if (word != text) column += printf(" ");
        column += printf("%.*s", n, word);
        word += n;
        while (*word == ' ') word++;
    }
    putchar('\n');
}

/* One argument as it is written: NAME must be given, [NAME] may be, [name=default] only by name. */
static int format_arg(char *text, size_t cap, const leat_arg_info *arg) {
    const bool many = strcmp(arg->type, "texts") == 0 || strcmp(arg->type, "ints") == 0;
    char shown[64];
    const char *value = arg->fallback && *arg->fallback ? arg->fallback : "...";
    size_t i = 0;
    for (; arg->name[i] && i < sizeof shown - 1; i++)
        shown[i] = (char)(arg->name[i] >= 'a' && arg->name[i] <= 'z' ? arg->name[i] - 32 : arg->name[i]);
    shown[i] = 0;
    if (!arg->fallback)
        return snprintf(text, cap, arg->named ? " %s=%s" : " %s%s", arg->named ? arg->name : shown,
                        many ? "..." : "");
    if (arg->named || *arg->fallback) return snprintf(text, cap, " [%s=%s]", arg->name, value);
    return snprintf(text, cap, " [%s]", shown);
}

static void print_signature(const leat_op_info *op, int indent) {
    char text[128];
    int column = indent + (int)strlen(op->name);
    printf("%*s%s%s%s", indent, "", cli_bold(stdout), op->name, cli_plain(stdout));
    for (int i = 0; i < op->n_args; i++) {
        const int n = format_arg(text, sizeof text, &op->arg[i]);
        if (column + n > WIDTH) column = printf("\n%*s", indent + 7, "") - 1;
        column += printf("%s", text);
    }
    putchar('\n');
}

static void print_table(void) {
    for (int k = 0; k < N_KINDS; k++) {
        leat_op_info op;
        printf("%s%s%s\n", k ? "\n" : "", cli_green(stdout), kinds[k].title);
        printf("%s", cli_plain(stdout));
        for (int i = 0; leat_op_at(i, &op) == 0; i++) {
            if (strcmp(op.kind, kinds[k].kind) != 0) continue;
            print_signature(&op, 2);
            printf("      ");
            print_wrapped(op.help, 6, 6);
        }
    }
    printf("\nUPPER CASE must be given; [name=value] has this default; 'leat ops NAME' explains one.\n");
}

/* a|b|c reads better as a, b, c. */
static int format_words(char *text, size_t cap, const char *words) {
    int n = 0;
    for (const char *c = words; c && *c && n < 200; c++)
        n += snprintf(text + n, cap - (size_t)n, *c == '|' ? ", " : "%c", *c);
    return n;
}

static void print_one(const leat_op_info *op) {
    print_signature(op, 0);
    print_wrapped(op->help, 0, 0);
    if (*op->like) printf("Elsewhere: %s\n", op->like);
    if (op->random) printf("Random: the same seed gives the same result.\n");
    if (op->n_args > 0) putchar('\n');
    for (int i = 0; i < op->n_args; i++) {
        const leat_arg_info *arg = &op->arg[i];
        printf("  %s%-15s%s ", cli_bold(stdout), arg->name, cli_plain(stdout));
        char text[400];
        int n = snprintf(text, sizeof text, "%s", arg->help);
        n += snprintf(text + n, sizeof text - (size_t)n, " (%s", arg->words ? "" : arg->type);
        n += format_words(text + n, sizeof text - (size_t)n, arg->words);
        if (arg->min != 0 || arg->max != 0)
            n += snprintf(text + n, sizeof text - (size_t)n, " from %.15g to %.15g", arg->min, arg->max);
        if (!arg->fallback) n += snprintf(text + n, sizeof text - (size_t)n, "; must be given");
        else if (*arg->fallback)
            n += snprintf(text + n, sizeof text - (size_t)n, "; default %s", arg->fallback);
        if (arg->named) n += snprintf(text + n, sizeof text - (size_t)n, "; only as %s=...", arg->name);
        if (arg->also) n += snprintf(text + n, sizeof text - (size_t)n, "; also called ");
        n += format_words(text + n, sizeof text - (size_t)n, arg->also);
        snprintf(text + n, sizeof text - (size_t)n, ")");
        print_wrapped(text, 18, 18);
    }
}

/* --------------------------------------------------------------------------------------------- JSON */

static void json_text(const char *key, const char *value, const char *after) {
    printf("\"%s\": ", key);
    if (value) cli_json_string(stdout, value);
    else printf("null");
    printf("%s", after);
}

/* "a|b|c" as an array, NULL as null. */
static void json_words(const char *words) {
    if (!words) {
        printf("null");
        return;
    }
    putchar('[');
    for (const char *word = words; *word;) {
        const int n = (int)strcspn(word, "|");
        printf("%s\"%.*s\"", word == words ? "" : ", ", n, word);
        word += n + (word[n] == '|');
    }
    putchar(']');
}

static void json_arg(const leat_arg_info *arg) {
    printf("      {");
    json_text("name", arg->name, ", ");
    json_text("type", arg->type, ", ");
    json_text("default", arg->fallback, ", ");
    printf("\"words\": ");
    json_words(arg->words);
    if (arg->min != 0 || arg->max != 0) printf(", \"min\": %.17g, \"max\": %.17g", arg->min, arg->max);
    else printf(", \"min\": null, \"max\": null");
    printf(", \"named\": %s, \"also\": ", arg->named ? "true" : "false");
    json_words(arg->also);
    printf(", ");
    json_text("help", arg->help, "}");
}

static void json_op(const leat_op_info *op) {
    printf("  {");
    json_text("name", op->name, ", ");
    json_text("kind", op->kind, ", ");
    printf("\"random\": %s,\n    ", op->random ? "true" : "false");
    json_text("help", op->help, ",\n    ");
    json_text("like", op->like, ",\n    ");
    printf("\"args\": [");
    for (int i = 0; i < op->n_args; i++) {
        printf("%s\n", i ? "," : "");
        json_arg(&op->arg[i]);
    }
    printf("]}");
}

/* ---------------------------------------------------------------------------------------------- run */

static int run(int argc, char **argv) {
    bool json = false;
    const cli_opt opts[] = {
        {"json", 0, CLI_FLAG, &json, 0, 0, NULL, "an array of objects with everything that is known", NULL},
        {0}};
    const int rc = cli_options(&cli_ops, opts, &argc, &argv);
    if (rc != CLI_OK) return rc < 0 ? CLI_OK : rc;
    if (argc > 1) return cli_fail("ops", CLI_USAGE, "one name at a time: 'leat ops %s'", argv[0]);
    const char *name = argc ? argv[0] : NULL;
    leat_op_info op;
    bool found = false;
    if (!name && !json) {
        print_table();
        return CLI_OK;
    }
    for (int i = 0; leat_op_at(i, &op) == 0; i++) {
        if (name && strcmp(op.name, name) != 0) continue;
        if (json) {
            printf(found ? ",\n" : "[\n");
            json_op(&op);
        } else {
            print_one(&op);
        }
        found = true;
    }
    if (!found) {
        const char *near = leat_op_near(name);
        return cli_fail("ops", CLI_USAGE, "there is no operation '%s'%s%s%s 'leat ops' lists them", name,
                        near ? "; did you mean '" : ":", near ? near : "", near ? "'?" : "");
    }
    if (json) printf("\n]\n");
    return CLI_OK;
}

const cli_verb cli_ops = {
    .name = "ops",
    .help = "List the operations a pipeline can have, with arguments and defaults.",
    .synopsis = "[OPTIONS] [NAME]",
    .about = "Lists all operations with arguments, defaults and one sentence; with NAME explains one.",
    .example = "  leat ops resize",
    .run = run,
};
