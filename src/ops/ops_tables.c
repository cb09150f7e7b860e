/* SPDX-License-Identifier: Apache-2.0 */
/* Tables: files that a table lists, and tables of numbers and words. */
#include "ops/ops_shared.h"
#include "plan/planner.h"

static int read_separator(const leat__use *use, char *out, leat_error *err) {
    const char *text = leat__use_arg(use, "separator")->text;
    *out = strcmp(text, "tab") == 0 ? '\t' : text[0];
    if (*out && strchr("\"\r\n", *out) == NULL && (*out == '\t' || text[1] == 0)) return 0;
    return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                           "separator must be one character other than a quote, or the word tab, not '%s'",
                           text);
}

static int plan_list(leat__planner *planner, const leat__use *use, leat_error *err) {
    LEAT_TRY(leat__plan_source_begin(planner, use, err));
    const bool in_memory = !*leat__use_arg(use, "file")->text;
    if (in_memory && !planner->spec->arrays)
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "needs file (the table), or a table of the program: call leat_spec_table");
    leat__list_options options = {
        .arrays = in_memory ? planner->spec->arrays : NULL,
        .n_arrays = planner->spec->n_arrays,
        .classes = leat__use_arg(use, "classes")->text,
        .vector = leat__use_arg(use, "vector")->i != 0,
        .path = leat__use_arg(use, "file")->text,
        .column = leat__use_arg(use, "path")->text,
        .label = leat__use_arg(use, "label")->text,
        .weight = leat__use_arg(use, "weight")->text,
        .root = leat__use_arg(use, "root")->text,
        .header = (int)leat__use_arg(use, "header")->i,
        .check = leat__use_arg(use, "check")->i != 0,
        .max_bytes = (size_t)leat__use_arg(use, "max_bytes")->i,
        .nearest = leat__nearest,
    };
    LEAT_TRY(read_separator(use, &options.separator, err));
    return leat__plan_source_take(planner,
                                  leat__list_open(&planner->plan->source, &options, &planner->open, err));
}

static int plan_csv(leat__planner *planner, const leat__use *use, leat_error *err) {
    LEAT_TRY(leat__plan_source_begin(planner, use, err));
    const leat__arg_value *fields = leat__use_arg(use, "fields");
    leat__csv_options options = {
        .path = leat__use_arg(use, "file")->text,
        .fields = fields->texts,
        .n_fields = fields->n,
        .classes = leat__use_arg(use, "classes")->text,
        .categories = leat__use_arg(use, "categories")->text,
        .missing = leat__use_arg(use, "missing")->text,
        .header = (int)leat__use_arg(use, "header")->i,
        .nearest = leat__nearest,
    };
    LEAT_TRY(read_separator(use, &options.separator, err));
    return leat__plan_source_take(planner,
                                  leat__csv_open(&planner->plan->source, &options, &planner->open, err));
}

#define SEPARATOR_ARG                                                               \
    {                                                                               \
        .name = "separator", .kind = LEAT_ARG_TEXT, .fallback = ",", .named = true, \
        .help = "of cells: one character, or tab"                                   \
    }

const leat__op leat__ops_tables[] = {
    {.name = "list",
     .kind = LEAT_OP_SOURCE,
     .help = "Files that a CSV table names, one row a sample, with columns of labels and weights.",
     .like = "keras ImageDataGenerator.flow_from_dataframe, tf.data.experimental.make_csv_dataset, "
             "tf.data.experimental.CsvDataset",
     .plan = plan_list,
     .arg =
         {{.name = "file",
           .kind = LEAT_ARG_TEXT,
           .fallback = "",
           .help = "the table; without it, that of leat_spec_table"},
          {.name = "path",
           .kind = LEAT_ARG_TEXT,
           .fallback = "",
           .named = true,
           .help = "column of the paths, by name or number from 0; else path, file, filename, image or the "
                   "first"},
          {.name = "label",
           .kind = LEAT_ARG_TEXT,
           .fallback = "",
           .named = true,
           .help = "columns of labels, separated by commas, or none; else label or class, without a header "
                   "the second"},
          {.name = "vector",
           .kind = LEAT_ARG_BOOL,
           .fallback = "false",
           .named = true,
           .help = "the columns of labels are one field, label, with a value for each"},
          LEAT_ARG_CLASSES("names of the classes in the order of their labels; else words are sorted"),
          {.name = "weight",
           .kind = LEAT_ARG_TEXT,
           .fallback = "",
           .named = true,
           .help = "column of weights, numbers"},
          {.name = "root",
           .kind = LEAT_ARG_TEXT,
           .fallback = "",
           .named = true,
           .help = "where relative paths begin; else the folder of the table"},
          {.name = "header",
           .kind = LEAT_ARG_WORD,
           .fallback = "auto",
           .words = "auto|true|false",
           .named = true,
           .help =
               "whether the first row holds names; auto: if columns are named, or its path is no file name"},
          SEPARATOR_ARG,
          {.name = "check",
           .kind = LEAT_ARG_BOOL,
           .fallback = "false",
           .named = true,
           .help = "look for every file when the pipeline is opened"},
          {.name = "max_bytes",
           .kind = LEAT_ARG_INT,
           .fallback = "0",
           .max = 256 << 20,
           .named = true,
           .help =
               "bytes of the largest file, when undecoded bytes go into the batch; check=true finds out"}}},
    {.name = "csv",
     .kind = LEAT_OP_SOURCE,
     .help = "Rows of a CSV table of numbers and words: columns become fields, or the values of one field.",
     .like = "tf.data.experimental.make_csv_dataset, tf.data.experimental.CsvDataset",
     .plan = plan_csv,
     .arg = {{.name = "file", .kind = LEAT_ARG_TEXT, .help = "the table"},
             {.name = "fields",
              .kind = LEAT_ARG_TEXTS,
              .fallback = "",
              .pairs = true,
              .help = "columns, such as age, age:f32, x=age,income (one field), x:f32=* (all that no other "
                      "names); else all"},
             LEAT_ARG_CLASSES("words of the field label in the order of their numbers"),
             {.name = "categories",
              .kind = LEAT_ARG_TEXT,
              .fallback = "",
              .named = true,
              .help =
                  "words of columns in the order of their numbers: 'city=Rome,Oslo;size=S,M,L'; else sorted"},
             {.name = "missing",
              .kind = LEAT_ARG_TEXT,
              .fallback = "",
              .named = true,
              .help = "what a missing cell counts as: 0, 'age=0;city=none', or error; else numbers are NaN"},
             {.name = "header",
              .kind = LEAT_ARG_WORD,
              .fallback = "auto",
              .words = "auto|true|false",
              .named = true,
              .help = "whether the first row holds names; auto: if no cell of it is a number"},
             SEPARATOR_ARG}},
    {0},
};
