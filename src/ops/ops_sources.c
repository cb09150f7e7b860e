/* SPDX-License-Identifier: Apache-2.0 */
/* Where samples come from. Combined sources are in ops_combine.c, tables in ops_tables.c. */
#include "ops/ops_shared.h"
#include "plan/planner.h"

static int plan_folder(leat__planner *planner, const leat__use *use, leat_error *err) {
    LEAT_TRY(leat__plan_source_begin(planner, use, err));
    const leat__folder_options options = {
        .path = leat__use_arg(use, "path")->text,
        .labels = (int)leat__use_arg(use, "labels")->i,
        .follow_links = leat__use_arg(use, "follow_links")->i != 0,
        .classes = leat__use_arg(use, "classes")->text,
    };
    return leat__plan_source_take(planner,
                                  leat__folder_open(&planner->plan->source, &options, &planner->open, err));
}

static int plan_tfrecord(leat__planner *planner, const leat__use *use, leat_error *err) {
    LEAT_TRY(leat__plan_source_begin(planner, use, err));
    const leat__arg_value *files = leat__use_arg(use, "files");
    leat__plan *plan = planner->plan;
    const int stream = leat__shards_wanted(files->texts, files->n, &planner->open, err);
    LEAT_TRY(stream);
    if (!stream)
        return leat__plan_source_take(
            planner, leat__records_open(&plan->source, files->texts, files->n, &planner->open, err));
    LEAT_TRY(leat__stream_plan_new(&plan->stream, err));
    LEAT_TRY(leat__shards_open(&plan->stream->shards, &plan->source, files->texts, files->n, err));
    plan->source->bytes_max = (size_t)leat__use_arg(use, "max_bytes")->i;
    return leat__plan_source_take(planner, 0);
}

/* "image=jpg" gives a field, anything else is a file. */
static bool is_field(const char *text) {
    const size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    return n > 0 && text[n] == '=';
}

static int plan_webdataset(leat__planner *planner, const leat__use *use, leat_error *err) {
    LEAT_TRY(leat__plan_source_begin(planner, use, err));
    const leat__arg_value *files = leat__use_arg(use, "files");
    const char **texts = leat__alloc(LEAT_MEM_PLAN, (size_t)files->n * sizeof *texts);
    if (!texts) return leat__fail_memory(err, (size_t)files->n * sizeof *texts, "arguments");
    leat__webdataset_options options = {0};
    for (int i = 0; i < files->n; i++)
        if (!is_field(files->texts[i])) texts[options.n++] = files->texts[i];
    options.patterns = texts;
    options.fields = texts + options.n;
    for (int i = 0; i < files->n; i++)
        if (is_field(files->texts[i])) texts[options.n + options.n_fields++] = files->texts[i];
    const int rc = options.n == 0
                       ? leat__plan_fail(use, err, LEAT_ERR_ARGUMENT, "there is no file, such as train-*.tar")
                       : leat__webdataset_open(&planner->plan->source, &options, &planner->open, err);
    leat__free(texts);
    return leat__plan_source_take(planner, rc);
}

static int plan_arrays(leat__planner *planner, const leat__use *use, leat_error *err) {
    LEAT_TRY(leat__plan_source_begin(planner, use, err));
    if (!planner->spec->arrays)
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "the arrays come from the program: call leat_spec_arrays");
    return leat__plan_source_take(planner, leat__arrays_open(&planner->plan->source, planner->spec->arrays,
                                                             planner->spec->n_arrays, err));
}

static int plan_synth(leat__planner *planner, const leat__use *use, leat_error *err) {
    LEAT_TRY(leat__plan_source_begin(planner, use, err));
    const leat__synth_options options = {
        .n = (uint64_t)leat__use_arg(use, "n")->i,
        .height = (int)leat__use_arg(use, "height")->i,
        .width = (int)leat__use_arg(use, "width")->i,
        .channels = (int)leat__use_arg(use, "channels")->i,
        .n_classes = (int)leat__use_arg(use, "classes")->i,
        .seed = leat__plan_seed(planner, use),
    };
    if ((size_t)options.height * (size_t)options.width * (size_t)options.channels > LEAT_RECORD_BYTES_MAX)
        return leat__plan_fail(use, err, LEAT_ERR_LIMIT, "a picture of %dx%dx%d has more than %zu bytes",
                               options.height, options.width, options.channels, LEAT_RECORD_BYTES_MAX);
    return leat__plan_source_take(planner, leat__synth_open(&planner->plan->source, &options, err));
}

static int plan_cifar(leat__planner *planner, const leat__use *use, leat_error *err) {
    LEAT_TRY(leat__plan_source_begin(planner, use, err));
    const leat__arg_value *files = leat__use_arg(use, "files");
    const int kind = leat__use_arg(use, "kind")->i ? 100 : 10;
    return leat__plan_source_take(
        planner, leat__cifar_open(&planner->plan->source, files->texts, files->n, kind, err));
}

static int plan_fixed(leat__planner *planner, const leat__use *use, leat_error *err) {
    LEAT_TRY(leat__plan_source_begin(planner, use, err));
    const leat__arg_value *files = leat__use_arg(use, "files");
    const leat__fixed_options options = {.patterns = files->texts,
                                         .n = files->n,
                                         .bytes = (size_t)leat__use_arg(use, "bytes")->i,
                                         .header = (uint64_t)leat__use_arg(use, "header")->i,
                                         .footer = (uint64_t)leat__use_arg(use, "footer")->i};
    return leat__plan_source_take(planner, leat__fixed_open(&planner->plan->source, &options, err));
}

static int plan_npy(leat__planner *planner, const leat__use *use, leat_error *err) {
    LEAT_TRY(leat__plan_source_begin(planner, use, err));
    const leat__arg_value *files = leat__use_arg(use, "files");
    const int layout = leat__source_layout_of(use);
    return leat__plan_source_take(
        planner, leat__npy_arrays_open(&planner->plan->source, files->texts, files->n, layout, err));
}

/* ------------------------------------------------------------------------------------------ callbacks */

static int plan_source(leat__planner *planner, const leat__use *use, leat_error *err) {
    LEAT_TRY(leat__plan_source_begin(planner, use, err));
    const leat_source_callbacks *callbacks = planner->spec->callbacks;
    if (!callbacks)
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "the samples come from the program: call leat_spec_source");
    leat__guard guard = {0};
    if (!callbacks->thread_safe) LEAT_TRY(leat__plan_guard(&guard, err));
    return leat__plan_source_take(planner,
                                  leat__callback_open(&planner->plan->source, callbacks, &guard, err));
}

static int plan_stream(leat__planner *planner, const leat__use *use, leat_error *err) {
    LEAT_TRY(leat__plan_source_begin(planner, use, err));
    leat__plan *plan = planner->plan;
    if (!planner->spec->stream)
        return leat__plan_fail(use, err, LEAT_ERR_ARGUMENT,
                               "the records come from the program: call leat_spec_stream");
    LEAT_TRY(leat__stream_plan_new(&plan->stream, err));
    return leat__plan_source_take(
        planner, leat__shards_open_program(&plan->stream->shards, &plan->source, planner->spec->stream, err));
}

const leat__op leat__ops_sources[] = {
    {.name = "folder",
     .kind = LEAT_OP_SOURCE,
     .help = "Images in a directory tree; the label is the number of the top-level sub-directory in sorted "
             "order.",
     .like = "keras.utils.image_dataset_from_directory, keras ImageDataGenerator.flow_from_directory, "
             "torchvision datasets.ImageFolder",
     .plan = plan_folder,
     .arg = {{.name = "path", .kind = LEAT_ARG_TEXT, .help = "the directory"},
             {.name = "labels",
              .kind = LEAT_ARG_WORD,
              .fallback = "auto",
              .words = "auto|dir|none",
              .named = true,
              .help = "auto: labels if there are sub-directories with images"},
             {.name = "follow_links",
              .kind = LEAT_ARG_BOOL,
              .fallback = "false",
              .named = true,
              .help = "enter directories that are symbolic links"},
             LEAT_ARG_CLASSES("sub-directories to take, in the order of their labels")}},
    {.name = "tfrecord",
     .kind = LEAT_OP_SOURCE,
     .help =
         "Records of TFRecord files; both checksums are checked. GZIP and ZLIB are detected and streamed.",
     .like = "tf.data.TFRecordDataset",
     .plan = plan_tfrecord,
     .arg = {{.name = "files", .kind = LEAT_ARG_TEXTS, .help = "names and patterns such as train-*.tfrecord"},
             {.name = "max_bytes",
              .kind = LEAT_ARG_INT,
              .fallback = "0",
              .max = 256 << 20,
              .named = true,
              .help =
                  "compressed files: bytes of the largest record, when undecoded bytes go into the batch"}}},
    {.name = "webdataset",
     .kind = LEAT_OP_SOURCE,
     .help =
         "Samples of tar archives: members with the same name up to the first dot; extensions become fields.",
     .like = "webdataset.WebDataset",
     .plan = plan_webdataset,
     .arg = {{.name = "files",
              .kind = LEAT_ARG_TEXTS,
              .pairs = true,
              .help = "names and patterns such as train-*.tar; fields and their extensions, such as "
                      "image=jpg,png label=cls"}}},
    {.name = "arrays",
     .kind = LEAT_OP_SOURCE,
     .help = "Slices along axis 0 of memory that the program gives with leat_spec_arrays.",
     .like =
         "tf.data.Dataset.from_tensor_slices, keras ImageDataGenerator.flow, torch.utils.data.TensorDataset",
     .flags = LEAT_OP_PROGRAM,
     .plan = plan_arrays},
    {.name = "synth",
     .kind = LEAT_OP_SOURCE,
     .help = "Pictures made up on the spot, with labels: for tests and measurements.",
     .like = "torchvision datasets.FakeData",
     .plan = plan_synth,
     .arg =
         {{.name = "n", .kind = LEAT_ARG_INT, .fallback = "1000", .min = 1, .max = 1e15, .help = "how many"},
          {.name = "height",
           .kind = LEAT_ARG_INT,
           .fallback = "64",
           .min = 1,
           .max = 65535,
           .help = "in pixels"},
          {.name = "width",
           .kind = LEAT_ARG_INT,
           .fallback = "64",
           .min = 1,
           .max = 65535,
           .help = "in pixels"},
          {.name = "channels",
           .kind = LEAT_ARG_INT,
           .fallback = "3",
           .min = 1,
           .max = 4,
           .help = "of a pixel"},
          {.name = "classes",
           .kind = LEAT_ARG_INT,
           .fallback = "10",
           .min = 1,
           .max = 1000000,
           .named = true,
           .help = "number of labels"},
          LEAT_ARG_SEED}},
    {.name = "cifar",
     .kind = LEAT_OP_SOURCE,
     .help = "Binary files of CIFAR-10 or CIFAR-100: pictures of 32x32x3 bytes with one or two labels.",
     .like = "keras.datasets.cifar10.load_data, keras.datasets.cifar100.load_data, torchvision "
             "datasets.CIFAR10, torchvision datasets.CIFAR100",
     .plan = plan_cifar,
     .arg = {{.name = "files", .kind = LEAT_ARG_TEXTS, .help = "names and patterns such as data_batch_*.bin"},
             {.name = "kind",
              .kind = LEAT_ARG_WORD,
              .fallback = "10",
              .words = "10|100",
              .named = true,
              .help = "10: label; 100: coarse and fine"}}},
    {.name = "fixed",
     .kind = LEAT_OP_SOURCE,
     .help = "Records of one length in files, between a header and a footer.",
     .like = "tf.data.FixedLengthRecordDataset",
     .plan = plan_fixed,
     .arg = {{.name = "files", .kind = LEAT_ARG_TEXTS, .help = "names and patterns"},
             {.name = "bytes",
              .kind = LEAT_ARG_INT,
              .min = 1,
              .max = 256 << 20,
              .named = true,
              .help = "of a record"},
             {.name = "header",
              .kind = LEAT_ARG_INT,
              .fallback = "0",
              .max = 1e18,
              .named = true,
              .help = "bytes at the beginning of each file that are no records"},
             {.name = "footer",
              .kind = LEAT_ARG_INT,
              .fallback = "0",
              .max = 1e18,
              .named = true,
              .help = "bytes at its end"}}},
    {.name = "npy",
     .kind = LEAT_OP_SOURCE,
     .help = "Slices along axis 0 of arrays in .npy and .npz files; each array is a field.",
     .like =
         "tf.data.Dataset.from_tensor_slices, keras ImageDataGenerator.flow, torch.utils.data.TensorDataset",
     .plan = plan_npy,
     .arg = {{.name = "files",
              .kind = LEAT_ARG_TEXTS,
              .pairs = true,
              .help = "such as image=x.npy label=y.npy, data.npz, or image=data.npz:x"},
             LEAT_ARG_SOURCE_LAYOUT}},
    {.name = "source",
     .kind = LEAT_OP_SOURCE,
     .help = "Samples that the program reads itself, by callbacks that it gives with leat_spec_source.",
     .like = "keras.utils.PyDataset, torch.utils.data.Dataset",
     .flags = LEAT_OP_PROGRAM,
     .plan = plan_source},
    {.name = "stream",
     .kind = LEAT_OP_SOURCE,
     .help = "Records that the program reads one after the other, by callbacks that it gives with "
             "leat_spec_stream.",
     .like = "tf.data.Dataset.from_generator, torch.utils.data.IterableDataset",
     .flags = LEAT_OP_PROGRAM,
     .plan = plan_stream},
    {0},
};
