# SPDX-License-Identifier: Apache-2.0
"""The table of operations, and a method for each.

Written by scripts/python_ops.py; change the table of the engine, not this file.
"""

from typing import Any, NamedTuple

class Arg(NamedTuple):
    name: str
    type: str
    default: str | None  # None = must be given
    words: tuple[str, ...] = ()
    low: float = 0
    high: float = 0  # both 0 = any
    named: bool = False
    also: tuple[str, ...] = ()  # other names that are taken
    help: str = ""


class Op(NamedTuple):
    kind: str
    help: str
    args: tuple[Arg, ...] = ()
    first: tuple[str, ...] = ()  # arguments that may be given without a name; a list takes the rest
    lead: str = ""  # a field that may stand in front of them


FIELD = Arg("field", "field", "image", (), 0, 0, True, (), "which field")

# fmt: off
OPS: dict[str, Op] = {
    "folder": Op("source", "Images in a directory tree; the label is the number of the top-level sub-directory in sorted order.", (
        Arg("path", "text", None, (), 0, 0, False, (), "the directory"),
        Arg("labels", "word", "auto", ("auto", "dir", "none"), 0, 0, True, (), "auto: labels if there are sub-directories with images"),
        Arg("follow_links", "bool", "false", (), 0, 0, True, (), "enter directories that are symbolic links"),
        Arg("classes", "text", "", (), 0, 0, True, (), "sub-directories to take, in the order of their labels: cat,dog, or ';cat;dog' where names hold commas"),
    ), ("path",)),
    "tfrecord": Op("source", "Records of TFRecord files; both checksums are checked. GZIP and ZLIB are detected and streamed.", (
        Arg("files", "texts", None, (), 0, 0, False, (), "names and patterns such as train-*.tfrecord"),
        Arg("max_bytes", "int", "0", (), 0, 268435456, True, (), "compressed files: bytes of the largest record, when undecoded bytes go into the batch"),
    ), ("files",)),
    "webdataset": Op("source", "Samples of tar archives: members with the same name up to the first dot; extensions become fields.", (
        Arg("files", "texts", None, (), 0, 0, False, (), "names and patterns such as train-*.tar; fields and their extensions, such as image=jpg,png label=cls"),
    ), ("files",)),
    "arrays": Op("source", "Slices along axis 0 of memory that the program gives with leat_spec_arrays.", (
    ), ()),
    "synth": Op("source", "Pictures made up on the spot, with labels: for tests and measurements.", (
        Arg("n", "int", "1000", (), 1, 1000000000000000, False, (), "how many"),
        Arg("height", "int", "64", (), 1, 65535, False, (), "in pixels"),
        Arg("width", "int", "64", (), 1, 65535, False, (), "in pixels"),
        Arg("channels", "int", "3", (), 1, 4, False, (), "of a pixel"),
        Arg("classes", "int", "10", (), 1, 1000000, True, (), "number of labels"),
        Arg("seed", "int", "", (), 0, 0, True, (), "its own seed; without it the pipeline's"),
    ), ("n", "height", "width", "channels")),
    "cifar": Op("source", "Binary files of CIFAR-10 or CIFAR-100: pictures of 32x32x3 bytes with one or two labels.", (
        Arg("files", "texts", None, (), 0, 0, False, (), "names and patterns such as data_batch_*.bin"),
        Arg("kind", "word", "10", ("10", "100"), 0, 0, True, (), "10: label; 100: coarse and fine"),
    ), ("files",)),
    "fixed": Op("source", "Records of one length in files, between a header and a footer.", (
        Arg("files", "texts", None, (), 0, 0, False, (), "names and patterns"),
        Arg("bytes", "int", None, (), 1, 268435456, True, (), "of a record"),
        Arg("header", "int", "0", (), 0, 1000000000000000000, True, (), "bytes at the beginning of each file that are no records"),
        Arg("footer", "int", "0", (), 0, 1000000000000000000, True, (), "bytes at its end"),
    ), ("files",)),
    "npy": Op("source", "Slices along axis 0 of arrays in .npy and .npz files; each array is a field.", (
        Arg("files", "texts", None, (), 0, 0, False, (), "such as image=x.npy label=y.npy, data.npz, or image=data.npz:x"),
        Arg("layout", "word", "", ("nhwc", "nchw"), 0, 0, True, (), "nchw: three axes are a picture with channels first, and become (height, width, channels)"),
    ), ("files",)),
    "source": Op("source", "Samples that the program reads itself, by callbacks that it gives with leat_spec_source.", (
    ), ()),
    "stream": Op("source", "Records that the program reads one after the other, by callbacks that it gives with leat_spec_stream.", (
    ), ()),
    "list": Op("source", "Files that a CSV table names, one row a sample, with columns of labels and weights.", (
        Arg("file", "text", "", (), 0, 0, False, (), "the table; without it, that of leat_spec_table"),
        Arg("path", "text", "", (), 0, 0, True, (), "column of the paths, by name or number from 0; else path, file, filename, image or the first"),
        Arg("label", "text", "", (), 0, 0, True, (), "columns of labels, separated by commas, or none; else label or class, without a header the second"),
        Arg("vector", "bool", "false", (), 0, 0, True, (), "the columns of labels are one field, label, with a value for each"),
        Arg("classes", "text", "", (), 0, 0, True, (), "names of the classes in the order of their labels; else words are sorted: cat,dog, or ';cat;dog' where names hold commas"),
        Arg("weight", "text", "", (), 0, 0, True, (), "column of weights, numbers"),
        Arg("root", "text", "", (), 0, 0, True, (), "where relative paths begin; else the folder of the table"),
        Arg("header", "word", "auto", ("auto", "true", "false"), 0, 0, True, (), "whether the first row holds names; auto: if columns are named, or its path is no file name"),
        Arg("separator", "text", ",", (), 0, 0, True, (), "of cells: one character, or tab"),
        Arg("check", "bool", "false", (), 0, 0, True, (), "look for every file when the pipeline is opened"),
        Arg("max_bytes", "int", "0", (), 0, 268435456, True, (), "bytes of the largest file, when undecoded bytes go into the batch; check=true finds out"),
    ), ("file",)),
    "csv": Op("source", "Rows of a CSV table of numbers and words: columns become fields, or the values of one field.", (
        Arg("file", "text", None, (), 0, 0, False, (), "the table"),
        Arg("fields", "texts", "", (), 0, 0, False, (), "columns, such as age, age:f32, x=age,income (one field), x:f32=* (all that no other names); else all"),
        Arg("classes", "text", "", (), 0, 0, True, (), "words of the field label in the order of their numbers: cat,dog, or ';cat;dog' where names hold commas"),
        Arg("categories", "text", "", (), 0, 0, True, (), "words of columns in the order of their numbers: 'city=Rome,Oslo;size=S,M,L'; else sorted"),
        Arg("missing", "text", "", (), 0, 0, True, (), "what a missing cell counts as: 0, 'age=0;city=none', or error; else numbers are NaN"),
        Arg("header", "word", "auto", ("auto", "true", "false"), 0, 0, True, (), "whether the first row holds names; auto: if no cell of it is a number"),
        Arg("separator", "text", ",", (), 0, 0, True, (), "of cells: one character, or tab"),
    ), ("file", "fields")),
    "concatenate": Op("source", "Several data sets with the same fields, one after the other.", (
        Arg("texts", "texts", None, (), 0, 0, False, (), "pipelines in quotes, such as 'folder a | take 100', or parts of the program: @NAME"),
    ), ("texts",)),
    "sample_from": Op("source", "Several data sets mixed by drawing, each with its weight and in its own order.", (
        Arg("texts", "texts", None, (), 0, 0, False, (), "pipelines in quotes, such as 'folder a | take 100', or parts of the program: @NAME"),
        Arg("weights", "text", "", (), 0, 0, True, (), "one number for each, such as 0.7,0.3; else all alike"),
        Arg("stop_on_empty", "bool", "false", (), 0, 0, True, (), "true: the end is where one that has no more would come; else the others go on alone"),
        Arg("rerandomize", "bool", "false", (), 0, 0, True, (), "true: other choices in every epoch"),
        Arg("seed", "int", "", (), 0, 0, True, (), "its own seed; without it the pipeline's"),
    ), ("texts",)),
    "choose_from": Op("source", "Several data sets mixed by a pattern, each in its own order.", (
        Arg("texts", "texts", None, (), 0, 0, False, (), "pipelines in quotes, such as 'folder a | take 100', or parts of the program: @NAME"),
        Arg("pattern", "text", None, (), 0, 0, True, (), "numbers of data sets from 0 on, such as 0,0,1, again and again"),
        Arg("stop_on_empty", "bool", "true", (), 0, 0, True, (), "true: the end is where one that has no more would come; else the others go on alone"),
    ), ("texts",)),
    "zip": Op("source", "Samples made of one sample of each of several data sets, such as pictures and their masks.", (
        Arg("texts", "texts", None, (), 0, 0, False, (), "such as image='folder images' mask='folder masks', or image=@NAME for a part of the program"),
        Arg("stop", "word", "equal", ("equal", "shortest"), 0, 0, True, (), "equal: lengths must be; shortest: what others have more is left out"),
    ), ("texts",)),
    "shuffle": Op("order", "Another order in every epoch: of all samples, within windows of consecutive ones, or by blocks; behind batch, of batches.", (
        Arg("window", "int", "0", (), 0, 1000000000000000, False, (), "0: all samples at once (streams: 4096); else this many at a time"),
        Arg("block", "int", "0", (), 0, 1000000000000000, True, (), "for storage that wants to be read in order: bytes of consecutive samples that stay together, such as 4MiB; 0: none do"),
        Arg("group", "int", "16", (), 1, 1000000000, True, (), "with block: so many blocks are shuffled together"),
        Arg("buffer_size", "int", "0", (), 0, 1000000000000000, True, (), "of tf.data: the window of a stream, and behind a repeat without end; elsewhere taken and not needed, since all samples are shuffled"),
        Arg("seed", "int", "", (), 0, 0, True, (), "its own seed; without it the pipeline's"),
        Arg("reshuffle", "bool", "true", (), 0, 0, True, ("reshuffle_each_iteration",), "false: the same order in every epoch"),
    ), ("buffer_size", "seed")),
    "take": Op("order", "The first samples only.", (
        Arg("count", "int", None, (), -1, 1000000000000000000, False, (), "how many; -1: all"),
    ), ("count",)),
    "skip": Op("order", "All but the first samples.", (
        Arg("count", "int", None, (), -1, 1000000000000000000, False, (), "how many to leave out; -1: all"),
    ), ("count",)),
    "shard": Op("order", "Every n-th sample, beginning with number i: shard i/n; shard auto: this rank's part of each batch.", (
        Arg("part", "text", None, (), 0, 0, False, (), "such as 0/4; auto: as the launcher's environment says"),
    ), ("part",)),
    "repeat": Op("order", "Begins again, count times or without end.", (
        Arg("count", "int", "-1", (), -1, 1000000000000000, False, (), "-1: without end"),
    ), ("count",)),
    "interleave": Op("order", "Records of several shards in turn: so many shards at a time, so many records of each.", (
        Arg("cycle", "int", "16", (), 1, 65536, False, ("cycle_length",), "shards at a time"),
        Arg("block", "int", "1", (), 1, 1000000000, False, ("block_length",), "records of each in turn"),
    ), ("cycle", "block")),
    "flat_map": Op("order", "Shards one after the other, which is the order without it: interleave cycle=1.", (
    ), ()),
    "filter": Op("order", "Keeps the samples for which a condition on their numbers holds.", (
        Arg("where", "texts", "", (), 0, 0, False, (), "such as label == 3, \"label in 1,2,5\", \"width >= 200 and not (label == 0 or label == cats)\""),
        Arg("callback", "text", "", (), 0, 0, True, (), "a function that the program gave with leat_spec_filter, instead of a condition"),
    ), ("where",)),
    "balance": Op("order", "Every class equally often, or by weights, each going through its own samples in its own drawn order.", (
        Arg("field", "field", "label", (), 0, 0, False, (), "the field whose values are the classes"),
        Arg("weights", "text", "", (), 0, 0, True, (), "how often each class comes, by rising label: 0.5,0.3,0.2"),
        Arg("n", "int", "0", (), 0, 1000000000000000, True, (), "samples in an epoch; 0: the size of the largest class times the number of classes"),
        Arg("seed", "int", "", (), 0, 0, True, (), "its own seed; without it the pipeline's"),
    ), ("field",)),
    "oversample": Op("order", "Classes in turn, each repeated up to the size of the largest.", (
        Arg("field", "field", "label", (), 0, 0, False, (), "the field whose values are the classes"),
    ), ("field",)),
    "rejection_resample": Op("order", "Leaves out samples so that classes come in the proportions of target.", (
        Arg("field", "field", "label", (), 0, 0, False, (), "the field whose values are the classes"),
        Arg("target", "text", "", (), 0, 0, True, (), "proportions by rising label, such as 0.5,0.5; left out: all equal"),
        Arg("initial", "text", "", (), 0, 0, True, (), "streams need it, others count and refuse it: the proportions that are there, for labels from 0"),
        Arg("seed", "int", "", (), 0, 0, True, (), "its own seed; without it the pipeline's"),
    ), ("field",)),
    "split": Op("order", "One part of the samples; the same text with another part gives the rest.", (
        Arg("part", "word", None, ("train", "validation", "test"), 0, 0, False, (), "which one"),
        Arg("fractions", "text", "0.8,0.2", (), 0, 0, True, (), "shares of train, validation and test"),
        Arg("fold", "text", "", (), 0, 0, True, (), "instead of fractions: 0/5 to 4/5 are five folds, of which one is for validation"),
        Arg("by", "word", "random", ("random", "hash", "order", "keras_first", "keras_last"), 0, 0, True, (), "hash: of the path or the record, stable when files are added; order: the first are for train"),
        Arg("stratify", "bool", "false", (), 0, 0, True, (), "keep the shares in every class"),
        Arg("group", "text", "", (), 0, 0, True, (), "a field whose equal values stay together; dir: files of one folder do"),
        Arg("field", "field", "label", (), 0, 0, True, (), "the classes of stratify"),
        Arg("seed", "int", "", (), 0, 0, True, (), "its own seed, 0 if left out: the pipeline's seed does not count"),
    ), ("part",)),
    "window": Op("order", "Consecutive samples stacked to one, with a new first axis: windows over a time series.", (
        Arg("size", "int", None, (), 1, 1000000, False, (), "samples in a window"),
        Arg("shift", "int", "0", (), 0, 1000000000000, True, (), "samples from one window to the next; 0: the size, so that windows do not overlap"),
        Arg("stride", "int", "1", (), 1, 1000000, True, (), "samples from one of a window to the next of it"),
        Arg("targets", "text", "", (), 0, 0, True, (), "fields that are not stacked but taken from one sample, separated by commas"),
        Arg("at", "text", "last", (), 0, 0, True, (), "that sample: last, first, or a number: so many behind the last"),
    ), ("size",)),
    "parse": Op("sample", "Features of a tf.train.Example: name:type, name:type[shape], name:type[*] (any number), with =default.", (
        Arg("features", "texts", None, (), 0, 0, False, (), "such as image:bytes label:int64 box:float[4] ids:int64[*100] weight:float=1"),
        Arg("from", "field", "record", (), 0, 0, True, (), "the field that is parsed"),
    ), ("features",)),
    "reshape": Op("sample", "Gives a field another shape with as many values; one -1 means what is left.", (
        Arg("field", "field", "image", (), 0, 0, False, (), "which field"),
        Arg("shape", "ints", None, (), -1, 1000000000000, False, (), "sizes of the axes"),
        Arg("layout", "word", "", ("nhwc", "nchw"), 0, 0, True, (), "nchw: three axes are a picture with channels first, and become (height, width, channels)"),
    ), ("shape",), "field"),
    "select": Op("sample", "Keeps these fields, in this order.", (
        Arg("fields", "texts", None, (), 0, 0, False, (), "their names"),
    ), ("fields",)),
    "copy": Op("sample", "Another field with what a field is at this point: both go on by themselves.", (
        Arg("field", "field", None, (), 0, 0, False, (), "what is copied"),
        Arg("name", "text", None, (), 0, 0, False, (), "of the new field"),
    ), ("field", "name")),
    "enumerate": Op("sample", "Adds a field with the place of the sample in the epoch, or with its number in the data set.", (
        Arg("name", "text", "index", (), 0, 0, False, (), "of the new field, i64"),
        Arg("of", "word", "position", ("position", "sample"), 0, 0, True, (), "position: in the finished order, from 0; sample: in the data set"),
    ), ("name",)),
    "stack": Op("sample", "Fields of equal length side by side, as one field: numbers to a vector, rows (n) to (n, k).", (
        Arg("name", "text", None, (), 0, 0, False, (), "of the new field"),
        Arg("fields", "texts", None, (), 0, 0, False, (), "its columns, which are gone behind it"),
    ), ("name", "fields")),
    "with_path": Op("sample", "Adds a field with the path of the sample's file, as bytes.", (
        Arg("name", "text", "path", (), 0, 0, False, (), "of the new field"),
        Arg("of", "word", "file", ("file", "name"), 0, 0, True, (), "file: a path that can be opened; name: relative to the folder, or as the table has it"),
    ), ("name",)),
    "map": Op("sample", "Fields that a function of the program makes of the sample: name:type or name:type[sizes].", (
        Arg("fields", "texts", None, (), 0, 0, False, (), "what it makes, such as score:f32 image:u8[*,*,3], where * is a size that differs; * alone: what one call shows. A field that is there already is replaced"),
        Arg("callback", "text", None, (), 0, 0, True, (), "the function that the program gave with leat_spec_map"),
    ), ("fields",)),
    "eval": Op("sample", "Arithmetic on fields: FIELD='EXPRESSION' pairs, which all see the fields as they were before.", (
        Arg("expressions", "texts", None, (), 0, 0, False, (), "such as image='(image / 127.5 - 1) * 0.5' bright='mean(image) > 100'; a field that is not there yet is made"),
    ), ("expressions",)),
    "label_map": Op("sample", "Other numbers for labels: FROM=TO pairs, or a file of them.", (
        Arg("map", "text", "", (), 0, 0, False, (), "such as 3=0,5=1; with names of classes in quotes: 'cats=0,dogs=1'"),
        Arg("file", "text", "", (), 0, 0, True, (), "a text file with a pair in each line"),
        Arg("default", "text", "", (), 0, 0, True, (), "for labels that are not in the map; else they are errors"),
        Arg("field", "field", "label", (), 0, 0, True, (), "which field"),
    ), ("map",)),
    "one_hot": Op("sample", "A label to f32 numbers, one for each class: 1 for its own, 0 for the others; smoothed if asked.", (
        Arg("field", "field", "label", (), 0, 0, False, (), "which field"),
        Arg("classes", "int", "0", (), 0, 16777216, False, ("num_classes", "depth"), "how many; 0: as many as the source knows"),
        Arg("smoothing", "number", "0", (), 0, 1, True, (), "share that is spread over all classes"),
        Arg("off", "number", "0", (), 0, 0, True, (), "for other classes"),
        Arg("on", "number", "1", (), 0, 0, True, (), "for its own class"),
    ), ("classes",), "field"),
    "decode": Op("image", "An image file (JPEG, PNG, WebP, GIF, BMP, told by content) to u8 or u16 pixels.", (
        Arg("field", "field", "image", (), 0, 0, False, (), "which field"),
        Arg("channels", "int", "3", (), 0, 4, True, (), "1 gray, 3 RGB, 4 RGBA, 0 as stored"),
        Arg("orient", "bool", "false", (), 0, 0, True, (), "turn the picture as its EXIF data says"),
        Arg("depth", "word", "8", ("8", "16"), 0, 0, True, (), "16: u16 pixels; files of 8 bits are multiplied by 257"),
        Arg("palette", "word", "colour", ("colour", "index"), 0, 0, True, (), "index: the numbers that a PNG with a palette stores, one channel; for masks"),
        Arg("scale", "word", "1", ("1", "auto"), 0, 0, True, (), "auto: JPEGs at 1/2, 1/4 or 1/8 where the crop and the resize behind it leave no more; other pixels than exact decoding"),
    ), ("field",)),
    "decode_raw": Op("sample", "Takes bytes as values of a type, little-endian.", (
        Arg("field", "field", "image", (), 0, 0, False, (), "which field"),
        Arg("dtype", "dtype", None, (), 0, 0, False, (), "type of the values"),
    ), ("dtype",), "field"),
    "adjust_jpeg_quality": Op("image", "Encodes as JPEG and decodes again, for the noise that this leaves.", (
        Arg("quality", "int", None, (), 0, 100, False, (), "0 to 100"), FIELD,
    ), ("quality",)),
    "random_jpeg_quality": Op("image", "The same with a whole number drawn from [lower, upper).", (
        Arg("lower", "int", None, (), 0, 100, False, (), "least quality"),
        Arg("upper", "int", None, (), 0, 100, False, (), "above the best quality"), FIELD,
        Arg("seed", "int", "", (), 0, 0, True, (), "operations with equal seeds draw equally; left out: each has its own draws"),
    ), ("lower", "upper")),
    "resize": Op("image", "Another size; flavour tf gives f32 (nearest keeps the type), flavour pil is antialiased and gives u8.", (
        Arg("height", "int", None, (), 1, 65535, False, (), "in pixels"),
        Arg("width", "int", "", (), 1, 65535, False, (), "in pixels; as the height if left out"),
        Arg("method", "word", "bilinear", ("bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic", "box", "hamming", "lanczos"), 0, 0, True, ("interpolation",), "interpolation; pil has nearest, box, bilinear, hamming, bicubic, lanczos; tf all but the last three"),
        Arg("flavour", "word", "tf", ("tf", "pil", "keras"), 0, 0, True, (), "whose arithmetic: tf.image.resize, Pillow, or tf rounded back to u8"),
        Arg("antialias", "bool", "false", (), 0, 0, True, (), "widen the filter when the picture shrinks; pil always does"),
        Arg("crop_to_aspect_ratio", "bool", "false", (), 0, 0, True, (), "only the largest part in the middle that has the shape of the result"),
        Arg("pad_to_aspect_ratio", "bool", "false", (), 0, 0, True, (), "with a border first that gives it the shape of the result"),
        Arg("fill", "text", "0", (), 0, 0, True, (), "of a constant border: one number, or one a channel, in the picture's units"),
        FIELD,
    ), ("height", "width")),
    "resize_with_crop_or_pad": Op("image", "This size by cutting off or adding zeros, the same on both sides; values stay as they are.", (
        Arg("height", "int", None, (), 1, 65535, False, (), "in pixels"),
        Arg("width", "int", "", (), 1, 65535, False, (), "in pixels; as the height if left out"), FIELD,
    ), ("height", "width")),
    "resize_with_pad": Op("image", "Resized to fit into this size with its aspect ratio, with zeros around it.", (
        Arg("height", "int", None, (), 1, 65535, False, (), "in pixels"),
        Arg("width", "int", "", (), 1, 65535, False, (), "in pixels; as the height if left out"),
        Arg("method", "word", "bilinear", ("bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic"), 0, 0, True, ("interpolation",), "interpolation of tf.image.resize"),
        Arg("antialias", "bool", "false", (), 0, 0, True, (), "widen the filter when the picture shrinks"), FIELD,
    ), ("height", "width")),
    "resize_shorter": Op("image", "Resized with its aspect ratio so that the shorter side has this length; a crop usually follows.", (
        Arg("size", "int", None, (), 1, 65535, False, (), "of the shorter side, in pixels"),
        Arg("max_size", "int", "0", (), 0, 65535, True, (), "most pixels of the longer side; 0: any"),
        Arg("method", "word", "bilinear", ("bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic", "box", "hamming", "lanczos"), 0, 0, True, ("interpolation",), "interpolation; pil has nearest, box, bilinear, hamming, bicubic, lanczos; tf all but the last three"),
        Arg("flavour", "word", "pil", ("pil", "tf"), 0, 0, True, (), "whose resize: Pillow's, antialiased, u8; or tf.image.resize, f32"),
        Arg("antialias", "bool", "false", (), 0, 0, True, (), "widen the filter when the picture shrinks"), FIELD,
    ), ("size",)),
    "resize_to_bucket": Op("image", "The size that bucket_by_aspect_ratio gives to the batch of the picture.", (
        Arg("method", "word", "bilinear", ("bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic", "box", "hamming", "lanczos"), 0, 0, True, ("interpolation",), "interpolation; pil has nearest, box, bilinear, hamming, bicubic, lanczos; tf all but the last three"),
        Arg("flavour", "word", "pil", ("pil", "tf"), 0, 0, True, (), "whose resize: Pillow's, antialiased, u8; or tf.image.resize, f32"),
        Arg("antialias", "bool", "false", (), 0, 0, True, (), "widen the filter when the picture shrinks"),
        Arg("crop_to_aspect_ratio", "bool", "false", (), 0, 0, True, (), "only the largest part in the middle that has the shape of the result"),
        Arg("pad_to_aspect_ratio", "bool", "false", (), 0, 0, True, (), "with a border first that gives it the shape of the result"),
        Arg("fill", "text", "0", (), 0, 0, True, (), "of a constant border: one number, or one a channel, in the picture's units"),
        FIELD,
    ), ()),
    "crop_to_bounding_box": Op("image", "The part of a given size at a given place; only that part is decoded.", (
        Arg("y", "int", None, (), 0, 65535, False, (), "rows above it"),
        Arg("x", "int", None, (), 0, 65535, False, (), "columns to its left"),
        Arg("height", "int", None, (), 1, 65535, False, (), "in pixels"),
        Arg("width", "int", "", (), 1, 65535, False, (), "in pixels; as the height if left out"), FIELD,
    ), ("y", "x", "height", "width")),
    "central_crop": Op("image", "The middle part, a share of each side; only that part is decoded.", (
        Arg("fraction", "number", None, (), 0, 1, False, (), "of height and of width"), FIELD,
    ), ("fraction",)),
    "center_crop": Op("image", "The middle part, of a given size; only that part is decoded.", (
        Arg("height", "int", None, (), 1, 65535, False, (), "in pixels"),
        Arg("width", "int", "", (), 1, 65535, False, (), "in pixels; as the height if left out"),
        Arg("flavour", "word", "keras", ("keras", "torch"), 0, 0, True, (), "where an odd number is left over: keras begins half a pixel before the middle, torch at the even number"),
        FIELD,
    ), ("height", "width")),
    "random_crop": Op("image", "A part of a given size at a drawn place; only that part is decoded.", (
        Arg("height", "int", None, (), 1, 65535, False, (), "in pixels"),
        Arg("width", "int", "", (), 1, 65535, False, (), "in pixels; as the height if left out"),
        Arg("padding", "int", "0", (), 0, 30000, True, (), "a border of so many pixels first"),
        Arg("mode", "word", "constant", ("constant", "edge", "reflect", "symmetric"), 0, 0, True, ("padding_mode",), "what the border shows"),
        Arg("fill", "text", "0", (), 0, 0, True, (), "of a constant border: one number, or one a channel, in the picture's units"),
        FIELD,
        Arg("seed", "int", "", (), 0, 0, True, (), "operations with equal seeds draw equally; left out: each has its own draws"),
    ), ("height", "width")),
    "random_resized_crop": Op("image", "A part of drawn area, aspect ratio and place, resized; only that part is decoded.", (
        Arg("height", "int", None, (), 1, 65535, False, (), "in pixels"),
        Arg("width", "int", "", (), 1, 65535, False, (), "in pixels; as the height if left out"),
        Arg("scale", "text", "0.08,1", (), 0, 0, True, (), "share of the area, from,to"),
        Arg("ratio", "text", "3/4,4/3", (), 0, 0, True, (), "width over height, from,to"),
        Arg("method", "word", "bilinear", ("bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic", "box", "hamming", "lanczos"), 0, 0, True, ("interpolation",), "interpolation; pil has nearest, box, bilinear, hamming, bicubic, lanczos; tf all but the last three"),
        Arg("flavour", "word", "pil", ("pil", "tf"), 0, 0, True, (), "whose resize: Pillow's, antialiased, u8; or tf.image.resize, f32"),
        FIELD,
        Arg("seed", "int", "", (), 0, 0, True, (), "operations with equal seeds draw equally; left out: each has its own draws"),
    ), ("height", "width")),
    "sample_distorted_bounding_box": Op("image", "A part of drawn height, aspect ratio and place as TensorFlow draws it, resized; only that part is decoded.", (
        Arg("height", "int", None, (), 1, 65535, False, (), "in pixels"),
        Arg("width", "int", "", (), 1, 65535, False, (), "in pixels; as the height if left out"),
        Arg("area", "text", "0.05,1", (), 0, 0, True, (), "share of the picture's area, from,to"),
        Arg("ratio", "text", "0.75,1.33", (), 0, 0, True, (), "width over height, from,to"),
        Arg("attempts", "int", "100", (), 1, 10000, True, (), "then the whole picture is taken"),
        Arg("covered", "number", "0.1", (), 0, 1, True, (), "least share of the picture, or of one of its boxes, as min_object_covered"),
        Arg("box_field", "field", "", (), 0, 0, True, (), "boxes of which at least one is covered; without it the whole picture"),
        Arg("method", "word", "bilinear", ("bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic"), 0, 0, True, ("interpolation",), "interpolation of tf.image.resize"),
        Arg("antialias", "bool", "false", (), 0, 0, True, (), "widen the filter when the picture shrinks"), FIELD,
        Arg("seed", "int", "", (), 0, 0, True, (), "operations with equal seeds draw equally; left out: each has its own draws"),
    ), ("height", "width")),
    "pad": Op("image", "A border around the picture.", (
        Arg("top", "int", None, (), 0, 65535, False, (), "rows"),
        Arg("bottom", "int", "", (), 0, 65535, False, (), "rows; as top if left out"),
        Arg("left", "int", "", (), 0, 65535, False, (), "columns; as top if left out"),
        Arg("right", "int", "", (), 0, 65535, False, (), "columns; as left if left out"),
        Arg("mode", "word", "constant", ("constant", "edge", "reflect", "symmetric"), 0, 0, True, ("padding_mode",), "what the border shows"),
        Arg("fill", "text", "0", (), 0, 0, True, (), "of a constant border: one number, or one a channel, in the picture's units"),
        FIELD,
    ), ("top", "bottom", "left", "right")),
    "random_flip_left_right": Op("image", "Mirrors left and right, by chance.", (
        Arg("p", "number", "0.5", (), 0, 1, False, (), "how likely"), FIELD,
        Arg("seed", "int", "", (), 0, 0, True, (), "operations with equal seeds draw equally; left out: each has its own draws"),
    ), ("p",)),
    "random_flip_up_down": Op("image", "Mirrors top and bottom, by chance.", (
        Arg("p", "number", "0.5", (), 0, 1, False, (), "how likely"), FIELD,
        Arg("seed", "int", "", (), 0, 0, True, (), "operations with equal seeds draw equally; left out: each has its own draws"),
    ), ("p",)),
    "random_flip": Op("image", "Mirrors half of the pictures; with both directions, one coin decides about both.", (
        Arg("mode", "word", "horizontal_and_vertical", ("horizontal_and_vertical", "horizontal", "vertical"), 0, 0, False, (), "which way"),
        FIELD,
        Arg("seed", "int", "", (), 0, 0, True, (), "operations with equal seeds draw equally; left out: each has its own draws"),
    ), ("mode",)),
    "rot90": Op("image", "Turned counter-clockwise by quarters.", (
        Arg("k", "int", "1", (), -1000, 1000, False, (), "how many quarters; below 0: clockwise"), FIELD,
    ), ("k",)),
    "transpose": Op("image", "Rows become columns.", (
        FIELD,
    ), ()),
    "random_rotation": Op("image", "Turns the picture about its middle, counter-clockwise for positive numbers.", (
        Arg("factor", "text", None, (), 0, 0, False, (), "share of a full turn: 0.1 is up to 36 degrees either way; or low,high"),
        Arg("fill", "word", "reflect", ("constant", "nearest", "reflect", "wrap"), 0, 0, True, ("fill_mode",), "what lies beyond the edge"),
        Arg("interpolation", "word", "bilinear", ("nearest", "bilinear"), 0, 0, True, (), "nearest keeps the type, bilinear gives f32"),
        Arg("value", "text", "0", (), 0, 0, True, ("fill_value",), "of fill=constant: one number, or one a channel"),
        FIELD,
        Arg("seed", "int", "", (), 0, 0, True, (), "operations with equal seeds draw equally; left out: each has its own draws"),
    ), ("factor",)),
    "random_zoom": Op("image", "Shrinks (positive numbers) or enlarges (negative ones) the picture about its middle.", (
        Arg("height_factor", "text", None, (), 0, 0, False, (), "change of the height: 0.2 is -20 % to +20 %; or low,high"),
        Arg("width_factor", "text", "", (), 0, 0, False, (), "the same for the width; without it both change alike"),
        Arg("fill", "word", "reflect", ("constant", "nearest", "reflect", "wrap"), 0, 0, True, ("fill_mode",), "what lies beyond the edge"),
        Arg("interpolation", "word", "bilinear", ("nearest", "bilinear"), 0, 0, True, (), "nearest keeps the type, bilinear gives f32"),
        Arg("value", "text", "0", (), 0, 0, True, ("fill_value",), "of fill=constant: one number, or one a channel"),
        FIELD,
        Arg("seed", "int", "", (), 0, 0, True, (), "operations with equal seeds draw equally; left out: each has its own draws"),
    ), ("height_factor", "width_factor")),
    "random_translation": Op("image", "Moves the picture, down and to the right for positive numbers.", (
        Arg("height_factor", "text", None, (), 0, 0, False, (), "share of the height; 0.2 is up to 20 % either way; or low,high"),
        Arg("width_factor", "text", None, (), 0, 0, False, (), "share of the width"),
        Arg("fill", "word", "reflect", ("constant", "nearest", "reflect", "wrap"), 0, 0, True, ("fill_mode",), "what lies beyond the edge"),
        Arg("interpolation", "word", "bilinear", ("nearest", "bilinear"), 0, 0, True, (), "nearest keeps the type, bilinear gives f32"),
        Arg("value", "text", "0", (), 0, 0, True, ("fill_value",), "of fill=constant: one number, or one a channel"),
        FIELD,
        Arg("seed", "int", "", (), 0, 0, True, (), "operations with equal seeds draw equally; left out: each has its own draws"),
    ), ("height_factor", "width_factor")),
    "random_shear": Op("image", "Slants the picture about its upper left corner; both directions have the same drawn sign.", (
        Arg("x_factor", "text", "0", (), 0, 0, False, (), "pixels to the side for each one down, 0 to 1; or low,high"),
        Arg("y_factor", "text", "0", (), 0, 0, False, (), "pixels down for each one to the side"),
        Arg("fill", "word", "reflect", ("constant", "nearest", "reflect", "wrap"), 0, 0, True, ("fill_mode",), "what lies beyond the edge"),
        Arg("interpolation", "word", "bilinear", ("nearest", "bilinear"), 0, 0, True, (), "nearest keeps the type, bilinear gives f32"),
        Arg("value", "text", "0", (), 0, 0, True, ("fill_value",), "of fill=constant: one number, or one a channel"),
        FIELD,
        Arg("seed", "int", "", (), 0, 0, True, (), "operations with equal seeds draw equally; left out: each has its own draws"),
    ), ("x_factor", "y_factor")),
    "random_perspective": Op("image", "Moves the corners of the picture but the upper left one; outside lies a constant.", (
        Arg("factor", "text", "1", (), 0, 0, False, (), "how likely, drawn from 0,factor or low,high"),
        Arg("scale", "number", "1", (), 0, 1, False, (), "how far corners move"),
        Arg("interpolation", "word", "bilinear", ("nearest", "bilinear"), 0, 0, True, (), "nearest keeps the type, bilinear gives f32"),
        Arg("value", "text", "0", (), 0, 0, True, ("fill_value",), "of fill=constant: one number, or one a channel"),
        FIELD,
        Arg("seed", "int", "", (), 0, 0, True, (), "operations with equal seeds draw equally; left out: each has its own draws"),
    ), ("factor", "scale")),
    "random_elastic_transform": Op("image", "Pulls the picture about as if it were of rubber.", (
        Arg("factor", "text", "1", (), 0, 0, False, (), "how likely, drawn from 0,factor or low,high"),
        Arg("scale", "text", "1", (), 0, 0, False, (), "how strong, drawn from 0,scale or low,high"),
        Arg("range", "text", "0,255", (), 0, 0, True, (), "what f32 results are clipped to"),
        Arg("flavour", "word", "keras", ("keras", "fixed"), 0, 0, True, (), "keras moves both axes by the same noise, fixed each by its own"),
        Arg("fill", "word", "reflect", ("constant", "nearest", "reflect", "wrap"), 0, 0, True, ("fill_mode",), "what lies beyond the edge"),
        Arg("interpolation", "word", "bilinear", ("nearest", "bilinear"), 0, 0, True, (), "nearest keeps the type, bilinear gives f32"),
        Arg("value", "text", "0", (), 0, 0, True, ("fill_value",), "of fill=constant: one number, or one a channel"),
        FIELD,
        Arg("seed", "int", "", (), 0, 0, True, (), "operations with equal seeds draw equally; left out: each has its own draws"),
    ), ("factor", "scale")),
    "affine": Op("image", "Any mix of flips, zoom, shear, rotation, shift and perspective about the middle, in one sampling.", (
        Arg("rotate", "text", "0", (), 0, 0, True, (), "degrees counter-clockwise: 20 is -20 to 20; or low,high"),
        Arg("shear_x", "text", "0", (), 0, 0, True, (), "degrees: the lower half goes to the right"),
        Arg("shear_y", "text", "0", (), 0, 0, True, (), "degrees: the right half goes down"),
        Arg("zoom", "text", "0", (), 0, 0, True, (), "0.2 is a factor from 0.8 to 1.2, above 1 enlarges; or low,high"),
        Arg("zoom_x", "text", "0", (), 0, 0, True, (), "the same for the width alone"),
        Arg("zoom_y", "text", "0", (), 0, 0, True, (), "the same for the height alone"),
        Arg("shift_x", "text", "0", (), 0, 0, True, (), "share of the width, to the right"),
        Arg("shift_y", "text", "0", (), 0, 0, True, (), "share of the height, down"),
        Arg("flip_x", "number", "0", (), 0, 1, True, (), "how likely left and right change places"),
        Arg("flip_y", "number", "0", (), 0, 1, True, (), "how likely top and bottom change places"),
        Arg("perspective", "number", "0", (), 0, 1, True, (), "corners move by up to half this share of the sides"),
        Arg("order", "word", "1", ("1", "0", "3"), 0, 0, True, (), "of the spline: 0 takes the nearest pixel and keeps the type, 1 is linear, 3 cubic"),
        Arg("fill", "word", "reflect", ("constant", "nearest", "reflect", "wrap"), 0, 0, True, ("fill_mode",), "what lies beyond the edge"),
        Arg("value", "text", "0", (), 0, 0, True, ("fill_value",), "of fill=constant: one number, or one a channel"),
        FIELD,
        Arg("seed", "int", "", (), 0, 0, True, (), "operations with equal seeds draw equally; left out: each has its own draws"),
    ), ()),
    "random_affine": Op("image", "Rotation, shift, scale and shear of a u8 picture in one sampling, as Pillow does it.", (
        Arg("degrees", "text", None, (), 0, 0, False, (), "clockwise: 20 is -20 to 20; or low,high"),
        Arg("translate", "text", "0,0", (), 0, 0, True, (), "largest shift x,y as shares of width and height"),
        Arg("scale", "text", "1,1", (), 0, 0, True, (), "from,to; above 1 enlarges"),
        Arg("shear", "text", "0,0", (), 0, 0, True, (), "degrees: one number, low,high or x_low,x_high,y_low,y_high"),
        Arg("interpolation", "word", "nearest", ("nearest", "bilinear"), 0, 0, True, (), "both give u8"),
        Arg("value", "text", "0", (), 0, 0, True, ("fill_value",), "of fill=constant: one number, or one a channel"),
        FIELD,
        Arg("seed", "int", "", (), 0, 0, True, (), "operations with equal seeds draw equally; left out: each has its own draws"),
    ), ("degrees",)),
    "adjust_brightness": Op("image", "Adds a number to all values; u8 counts as 0 to 1 and is clipped.", (
        Arg("delta", "number", None, (), -1000000, 1000000, False, (), "what is added; keras: a share of the range; pil: a factor"),
        Arg("flavour", "word", "tf", ("tf", "keras", "pil"), 0, 0, True, (), "tf keeps the type; keras gives f32 as the layer; pil works on u8 as Pillow, torchvision"),
        Arg("range", "text", "0,255", (), 0, 0, True, (), "flavour=keras: the values that pictures have, low,high"),
        FIELD,
    ), ("delta",)),
    "random_brightness": Op("image", "Adds one number drawn from [-max_delta, max_delta) to all values; u8 counts as 0 to 1 and is clipped.", (
        Arg("max_delta", "number", None, (), 0, 1000000, False, (), "largest change"),
        Arg("flavour", "word", "tf", ("tf", "keras"), 0, 0, True, (), "tf keeps the type; keras gives f32, changes by a share of the range and clips"),
        Arg("range", "text", "0,255", (), 0, 0, True, (), "flavour=keras: the values that pictures have, low,high"),
        FIELD,
        Arg("seed", "int", "", (), 0, 0, True, (), "operations with equal seeds draw equally; left out: each has its own draws"),
    ), ("max_delta",)),
    "adjust_contrast": Op("image", "Moves values away from their mean, or toward it with a factor below 1.", (
        Arg("factor", "number", None, (), -1000000, 1000000, False, (), "1 changes nothing"),
        Arg("flavour", "word", "tf", ("tf", "keras", "pil"), 0, 0, True, (), "tf keeps the type; keras gives f32 and clips; pil works on u8 around the gray mean"),
        Arg("range", "text", "0,255", (), 0, 0, True, (), "flavour=keras: the values that pictures have, low,high"),
        FIELD,
    ), ("factor",)),
    "random_contrast": Op("image", "The same with a factor drawn from [lower, upper).", (
        Arg("lower", "number", None, (), 0, 1000000, False, (), "smallest factor"),
        Arg("upper", "number", "", (), 0, 1000000, False, (), "largest factor; with flavour=keras they are 1 - lower and 1 + upper"),
        Arg("flavour", "word", "tf", ("tf", "keras", "pil"), 0, 0, True, (), "tf keeps the type; keras gives f32 and clips; pil works on u8 around the gray mean"),
        Arg("range", "text", "0,255", (), 0, 0, True, (), "flavour=keras: the values that pictures have, low,high"),
        FIELD,
        Arg("seed", "int", "", (), 0, 0, True, (), "operations with equal seeds draw equally; left out: each has its own draws"),
    ), ("lower", "upper")),
    "autocontrast": Op("image", "Stretches each channel from its smallest and largest value to 0 and 255.", (
        Arg("flavour", "word", "pil", ("pil", "keras", "torch"), 0, 0, True, (), "pil as Pillow; keras gives f32; torch as torchvision does tensors"),
        Arg("range", "text", "0,255", (), 0, 0, True, (), "flavour=keras: the values that pictures have, low,high"),
        FIELD,
    ), ()),
    "random_autocontrast": Op("image", "The same, by chance.", (
        Arg("p", "number", "0.5", (), 0, 1, False, (), "how likely"),
        Arg("flavour", "word", "pil", ("pil", "keras", "torch"), 0, 0, True, (), "pil as Pillow; keras gives f32; torch as torchvision does tensors"),
        Arg("range", "text", "0,255", (), 0, 0, True, (), "flavour=keras: the values that pictures have, low,high"),
        FIELD,
        Arg("seed", "int", "", (), 0, 0, True, (), "operations with equal seeds draw equally; left out: each has its own draws"),
    ), ("p",)),
    "equalize": Op("image", "Spreads the u8 values of each channel so that all are about equally frequent.", (
        Arg("flavour", "word", "pil", ("pil", "keras"), 0, 0, True, (), "whose arithmetic"), FIELD,
    ), ()),
    "random_equalize": Op("image", "The same, by chance.", (
        Arg("p", "number", "0.5", (), 0, 1, False, (), "how likely"),
        Arg("flavour", "word", "pil", ("pil", "keras"), 0, 0, True, (), "whose arithmetic"), FIELD,
        Arg("seed", "int", "", (), 0, 0, True, (), "operations with equal seeds draw equally; left out: each has its own draws"),
    ), ("p",)),
    "adjust_saturation": Op("image", "Multiplies the saturation of colours.", (
        Arg("factor", "number", None, (), 0, 1000000, False, (), "0 gives gray, 1 changes nothing; keras: 0.5 changes nothing"),
        Arg("flavour", "word", "tf", ("tf", "keras", "pil"), 0, 0, True, (), "tf keeps the type; keras gives f32 as the layer; pil works on u8 as Pillow, torchvision"),
        Arg("range", "text", "0,255", (), 0, 0, True, (), "flavour=keras: the values that pictures have, low,high"),
        FIELD,
    ), ("factor",)),
    "random_saturation": Op("image", "The same with a factor drawn from [lower, upper).", (
        Arg("lower", "number", None, (), -1, 1000000, False, (), "smallest factor"),
        Arg("upper", "number", "", (), -1, 1000000, False, (), "largest factor; keras: without it -lower to lower, as the layer"),
        Arg("flavour", "word", "tf", ("tf", "keras", "pil"), 0, 0, True, (), "tf keeps the type; keras gives f32 as the layer; pil works on u8 as Pillow, torchvision"),
        Arg("range", "text", "0,255", (), 0, 0, True, (), "flavour=keras: the values that pictures have, low,high"),
        FIELD,
        Arg("seed", "int", "", (), 0, 0, True, (), "operations with equal seeds draw equally; left out: each has its own draws"),
    ), ("lower", "upper")),
    "adjust_hue": Op("image", "Turns the hue of colours by a part of the circle.", (
        Arg("delta", "number", None, (), -1, 1, False, (), "part of a turn"),
        Arg("flavour", "word", "tf", ("tf", "keras", "pil"), 0, 0, True, (), "tf keeps the type; keras gives f32 as the layer; pil works on u8 as Pillow, torchvision"),
        Arg("range", "text", "0,255", (), 0, 0, True, (), "flavour=keras: the values that pictures have, low,high"),
        FIELD,
    ), ("delta",)),
    "random_hue": Op("image", "The same by a part drawn from [-max_delta, max_delta).", (
        Arg("max_delta", "text", None, (), 0, 0, False, (), "0 to 0.5, or low,high; keras: the layer's factor, twice as large"),
        Arg("flavour", "word", "tf", ("tf", "keras", "pil"), 0, 0, True, (), "tf keeps the type; keras gives f32 as the layer; pil works on u8 as Pillow, torchvision"),
        Arg("range", "text", "0,255", (), 0, 0, True, (), "flavour=keras: the values that pictures have, low,high"),
        FIELD,
        Arg("seed", "int", "", (), 0, 0, True, (), "operations with equal seeds draw equally; left out: each has its own draws"),
    ), ("max_delta",)),
    "rgb_to_grayscale": Op("image", "Colours to gray, as one channel or as three equal ones.", (
        Arg("channels", "int", "1", (), 1, 3, True, (), "1, or 3 equal ones"),
        Arg("flavour", "word", "tf", ("tf", "pil"), 0, 0, True, (), "whose weights: tf.image on u8 and f32, or Pillow and torchvision on u8"),
        FIELD,
    ), ()),
    "random_grayscale": Op("image", "Makes three equal channels of colours, by chance.", (
        Arg("p", "number", "0.1", (), 0, 1, False, (), "how likely"),
        Arg("flavour", "word", "tf", ("tf", "pil"), 0, 0, True, (), "whose weights: tf.image on u8 and f32, or Pillow and torchvision on u8"),
        FIELD,
        Arg("seed", "int", "", (), 0, 0, True, (), "operations with equal seeds draw equally; left out: each has its own draws"),
    ), ("p",)),
    "random_color_degeneration": Op("image", "Moves colours toward their gray by a drawn share, as f32.", (
        Arg("factor", "text", None, (), 0, 0, False, (), "largest share, either way, or low,high"),
        Arg("range", "text", "0,255", (), 0, 0, True, (), "flavour=keras: the values that pictures have, low,high"),
        FIELD,
        Arg("seed", "int", "", (), 0, 0, True, (), "operations with equal seeds draw equally; left out: each has its own draws"),
    ), ("factor",)),
    "color_jitter": Op("image", "Brightness, contrast, saturation and hue by drawn amounts, in a drawn order.", (
        Arg("brightness", "text", "0", (), 0, 0, False, (), "factor from 1 - x to 1 + x, or low,high"),
        Arg("contrast", "text", "0", (), 0, 0, False, (), "the same"),
        Arg("saturation", "text", "0", (), 0, 0, False, (), "the same"),
        Arg("hue", "text", "0", (), 0, 0, False, (), "part of a turn from -x to x, or low,high; at most 0.5"),
        Arg("flavour", "word", "pil", ("pil", "keras"), 0, 0, True, (), "pil: u8 as torchvision on Pillow's images; keras: f32, in this order, the layers' factors"),
        Arg("range", "text", "0,255", (), 0, 0, True, (), "flavour=keras: the values that pictures have, low,high"),
        FIELD,
        Arg("seed", "int", "", (), 0, 0, True, (), "operations with equal seeds draw equally; left out: each has its own draws"),
    ), ("brightness", "contrast", "saturation", "hue")),
    "adjust_gamma": Op("image", "gain times each value to the power gamma; u8 counts as 0 to 1.", (
        Arg("gamma", "number", None, (), 0, 1000, False, (), "above 1 darkens"),
        Arg("gain", "number", "1", (), -1000000, 1000000, True, (), "factor afterwards"), FIELD,
    ), ("gamma",)),
    "random_gamma": Op("image", "The same with gamma drawn from [lower, upper).", (
        Arg("lower", "number", None, (), 0, 1000, False, (), "smallest gamma"),
        Arg("upper", "number", None, (), 0, 1000, False, (), "largest gamma"),
        Arg("gain", "number", "1", (), -1000000, 1000000, True, (), "factor afterwards"), FIELD,
        Arg("seed", "int", "", (), 0, 0, True, (), "operations with equal seeds draw equally; left out: each has its own draws"),
    ), ("lower", "upper")),
    "invert": Op("image", "The largest value minus each value.", (
        Arg("max", "number", "", (), -1000000000, 1000000000, True, (), "f32: the largest value of a pixel, such as 1 or 255"),
        FIELD,
    ), ()),
    "random_invert": Op("image", "The same, by chance.", (
        Arg("p", "number", "0.5", (), 0, 1, False, (), "how likely"),
        Arg("max", "number", "", (), -1000000000, 1000000000, True, (), "f32: the largest value of a pixel, such as 1 or 255"),
        FIELD,
        Arg("seed", "int", "", (), 0, 0, True, (), "operations with equal seeds draw equally; left out: each has its own draws"),
    ), ("p",)),
    "posterize": Op("image", "Keeps the highest bits of u8 values.", (
        Arg("bits", "text", None, (), 0, 0, False, (), "how many to keep, 0 to 8"), FIELD,
    ), ("bits",)),
    "random_posterize": Op("image", "The same, by chance, and with a drawn number of bits if two are given.", (
        Arg("bits", "text", None, (), 0, 0, False, (), "how many to keep, 0 to 8"),
        Arg("p", "number", "0.5", (), 0, 1, False, (), "how likely"), FIELD,
        Arg("seed", "int", "", (), 0, 0, True, (), "operations with equal seeds draw equally; left out: each has its own draws"),
    ), ("bits", "p")),
    "solarize": Op("image", "Inverts u8 values that are not below a threshold.", (
        Arg("threshold", "text", "128", (), 0, 0, False, (), "values from here on are inverted"),
        Arg("addition", "text", "0", (), 0, 0, True, (), "added and clipped before, -255 to 255"), FIELD,
    ), ("threshold",)),
    "random_solarize": Op("image", "The same, by chance, and with drawn numbers where two are given.", (
        Arg("threshold", "text", "128", (), 0, 0, False, (), "values from here on are inverted"),
        Arg("p", "number", "0.5", (), 0, 1, False, (), "how likely"),
        Arg("addition", "text", "0", (), 0, 0, True, (), "added and clipped before, -255 to 255"), FIELD,
        Arg("seed", "int", "", (), 0, 0, True, (), "operations with equal seeds draw equally; left out: each has its own draws"),
    ), ("threshold", "p")),
    "channel_shift": Op("image", "Adds one drawn number to all values and clips them to the range the picture had, as f32.", (
        Arg("range", "text", None, (), 0, 0, False, (), "largest change, or low,high"), FIELD,
        Arg("seed", "int", "", (), 0, 0, True, (), "operations with equal seeds draw equally; left out: each has its own draws"),
    ), ("range",)),
    "gaussian_blur": Op("image", "Blurs with a Gaussian of drawn width.", (
        Arg("kernel", "int", None, (), 1, 255, False, ("kernel_size",), "pixels along each axis, an odd number"),
        Arg("sigma", "text", "0.1,2", (), 0, 0, False, (), "standard deviation, from,to"),
        Arg("p", "number", "1", (), 0, 1, True, (), "how likely"),
        Arg("flavour", "word", "torch", ("torch", "keras"), 0, 0, True, (), "torch: reflects at the border, keeps the type; keras: zeros there, gives f32, clips"),
        Arg("range", "text", "0,255", (), 0, 0, True, (), "flavour=keras: the values that pictures have, low,high"),
        FIELD,
        Arg("seed", "int", "", (), 0, 0, True, (), "operations with equal seeds draw equally; left out: each has its own draws"),
    ), ("kernel", "sigma")),
    "adjust_sharpness": Op("image", "Blends with the smoothed picture, or away from it.", (
        Arg("factor", "number", None, (), -1000000, 1000000, False, (), "0 is smooth"),
        Arg("flavour", "word", "pil", ("pil", "keras"), 0, 0, True, (), "pil: u8, 1 changes nothing, the border stays; keras: gives f32, 0.5 changes nothing, clips"),
        Arg("range", "text", "0,255", (), 0, 0, True, (), "flavour=keras: the values that pictures have, low,high"),
        FIELD,
    ), ("factor",)),
    "random_sharpness": Op("image", "The same with a factor drawn from [lower, upper).", (
        Arg("lower", "number", None, (), -1000000, 1000000, False, (), "least factor"),
        Arg("upper", "number", None, (), -1000000, 1000000, False, (), "largest factor"),
        Arg("p", "number", "1", (), 0, 1, True, (), "how likely"),
        Arg("flavour", "word", "pil", ("pil", "keras"), 0, 0, True, (), "pil: u8, 1 changes nothing, the border stays; keras: gives f32, 0.5 changes nothing, clips"),
        Arg("range", "text", "0,255", (), 0, 0, True, (), "flavour=keras: the values that pictures have, low,high"),
        FIELD,
        Arg("seed", "int", "", (), 0, 0, True, (), "operations with equal seeds draw equally; left out: each has its own draws"),
    ), ("lower", "upper")),
    "gaussian_noise": Op("image", "Adds normal noise to every value; u8 counts as 0 to 1 and is clipped.", (
        Arg("stddev", "number", None, (), 0, 1000000, False, (), "its standard deviation"),
        Arg("mean", "number", "0", (), -1000000, 1000000, True, (), "of the noise"),
        Arg("clip", "bool", "false", (), 0, 0, True, (), "f32: keep values within 0 to 1, as torchvision"), FIELD,
        Arg("seed", "int", "", (), 0, 0, True, (), "operations with equal seeds draw equally; left out: each has its own draws"),
    ), ("stddev",)),
    "random_erasing": Op("image", "Fills a part of drawn area, shape and place.", (
        Arg("p", "number", "0.5", (), 0, 1, False, (), "how likely"),
        Arg("scale", "text", "0.02,0.33", (), 0, 0, True, (), "share of the area, from,to"),
        Arg("ratio", "text", "0.3,3.3", (), 0, 0, True, (), "flavour=torch: height over width, from,to"),
        Arg("value", "text", "0", (), 0, 0, True, (), "a number, one a channel, or random for noise, as flavour=keras has it unless told"),
        Arg("flavour", "word", "torch", ("torch", "keras"), 0, 0, True, (), "whose draws and noise; keras gives f32"),
        Arg("range", "text", "0,255", (), 0, 0, True, (), "flavour=keras: the values that pictures have, low,high"),
        FIELD,
        Arg("seed", "int", "", (), 0, 0, True, (), "operations with equal seeds draw equally; left out: each has its own draws"),
    ), ("p",)),
    "cutout": Op("image", "Fills a square whose middle lies anywhere in the picture.", (
        Arg("size", "int", None, (), 1, 65535, False, (), "of a side, in pixels"),
        Arg("p", "number", "1", (), 0, 1, True, (), "how likely"),
        Arg("value", "text", "0", (), 0, 0, True, (), "what fills it, in the picture's units: a number, or one a channel"),
        FIELD,
        Arg("seed", "int", "", (), 0, 0, True, (), "operations with equal seeds draw equally; left out: each has its own draws"),
    ), ("size",)),
    "normalize": Op("image", "(x * scale - mean) / std for each channel, as f32; imagenet gives the usual means, stds and scale 1/255.", (
        Arg("name", "word", "given", ("given", "imagenet"), 0, 0, False, (), "known numbers"),
        Arg("mean", "text", "0", (), 0, 0, True, (), "one number, or one a channel: 0.5,0.4,0.3"),
        Arg("std", "text", "1", (), 0, 0, True, (), "the same"),
        Arg("scale", "number", "1", (), 0, 0, True, (), "factor before, such as 1/255"),
        Arg("dtype", "word", "f32", ("f32", "f16", "bf16"), 0, 0, True, (), "of the result; f16 and bf16 are made of f32 when it is stored"),
        Arg("layout", "word", "nhwc", ("nhwc", "nchw"), 0, 0, True, (), "channels last or channels first"), FIELD,
    ), ("name",)),
    "cast": Op("sample", "Another type, and x * scale + offset on the way; to whole numbers it truncates and saturates.", (
        Arg("field", "field", "image", (), 0, 0, False, (), "which field"),
        Arg("dtype", "dtype", None, (), 0, 0, False, (), "the type"),
        Arg("scale", "number", "1", (), 0, 0, True, (), "factor, such as 1/255"),
        Arg("offset", "number", "0", (), 0, 0, True, (), "added afterwards"),
        Arg("layout", "word", "nhwc", ("nhwc", "nchw"), 0, 0, True, (), "channels last or channels first"),
    ), ("dtype",), "field"),
    "rescale": Op("image", "x * scale + offset, as f32.", (
        Arg("scale", "number", None, (), 0, 0, False, (), "factor, such as 1/255"),
        Arg("offset", "number", "0", (), 0, 0, False, (), "added afterwards"), FIELD,
    ), ("scale", "offset")),
    "per_image_standardization": Op("image", "Mean 0 and standard deviation 1 for each picture, as f32.", (
        FIELD,
    ), ()),
    "samplewise": Op("image", "Minus the picture's mean, divided by its standard deviation, as f32.", (
        Arg("center", "bool", "true", (), 0, 0, True, (), "subtract the mean; std does so in any case"),
        Arg("std", "bool", "true", (), 0, 0, True, (), "divide by the standard deviation + 1e-6"), FIELD,
    ), ()),
    "featurewise": Op("image", "(x - mean) / (std + 1e-6) with numbers that were fitted on a data set, as f32.", (
        Arg("mean", "text", None, (), 0, 0, True, (), "one number, or one a channel: 120.7,113.9,103.1"),
        Arg("std", "text", "", (), 0, 0, True, (), "the same; without it the values are centred only"), FIELD,
    ), ()),
    "zca": Op("image", "A small picture as one row of values, times a matrix from an .npy file, as f32.", (
        Arg("file", "text", None, (), 0, 0, True, (), "square matrix of float32 or float64, at most 4096 x 4096"),
        FIELD,
    ), ()),
    "rand_augment": Op("image", "Some of fourteen operations, drawn, all at one strength.", (
        Arg("num_ops", "int", "2", (), 0, 32, False, (), "how many of them, one after the other"),
        Arg("magnitude", "int", "9", (), 0, 999, False, (), "their strength, a step below bins"),
        Arg("bins", "int", "31", (), 2, 1000, True, ("num_magnitude_bins",), "steps from no to full strength"),
        Arg("interpolation", "word", "nearest", ("nearest", "bilinear"), 0, 0, True, (), "how shears, moves and turns sample"),
        Arg("fill", "text", "0", (), 0, 0, True, (), "what they show outside of the picture: a number from 0 to 255, or one a channel"),
        FIELD,
        Arg("seed", "int", "", (), 0, 0, True, (), "operations with equal seeds draw equally; left out: each has its own draws"),
    ), ("num_ops", "magnitude")),
    "trivial_augment_wide": Op("image", "One of fourteen operations at a strength from a wide range, both drawn.", (
        Arg("bins", "int", "31", (), 2, 1000, True, ("num_magnitude_bins",), "steps from no to full strength"),
        Arg("interpolation", "word", "nearest", ("nearest", "bilinear"), 0, 0, True, (), "how shears, moves and turns sample"),
        Arg("fill", "text", "0", (), 0, 0, True, (), "what they show outside of the picture: a number from 0 to 255, or one a channel"),
        FIELD,
        Arg("seed", "int", "", (), 0, 0, True, (), "operations with equal seeds draw equally; left out: each has its own draws"),
    ), ()),
    "auto_augment": Op("image", "One of 25 pairs of operations that were found for a data set.", (
        Arg("policy", "word", "imagenet", ("imagenet", "cifar10", "svhn"), 0, 0, False, (), "which data set"),
        Arg("interpolation", "word", "nearest", ("nearest", "bilinear"), 0, 0, True, (), "how shears, moves and turns sample"),
        Arg("fill", "text", "0", (), 0, 0, True, (), "what they show outside of the picture: a number from 0 to 255, or one a channel"),
        FIELD,
        Arg("seed", "int", "", (), 0, 0, True, (), "operations with equal seeds draw equally; left out: each has its own draws"),
    ), ("policy",)),
    "augmix": Op("image", "Mixes the picture with others that chains of operations make of it, in drawn shares.", (
        Arg("severity", "int", "3", (), 1, 10, True, (), "how many of ten steps of strength are drawn from"),
        Arg("width", "int", "3", (), 1, 16, True, ("mixture_width",), "chains"),
        Arg("depth", "int", "-1", (), -1, 32, True, ("chain_depth",), "operations in a chain; below 1: 1 to 3, drawn"),
        Arg("alpha", "number", "1", (), 0, 1000000, True, (), "of the distributions that the shares are drawn from"),
        Arg("all_ops", "bool", "true", (), 0, 0, True, (), "also brightness, color, contrast and sharpness"),
        Arg("interpolation", "word", "bilinear", ("nearest", "bilinear"), 0, 0, True, (), "how shears, moves and turns sample"),
        Arg("fill", "text", "0", (), 0, 0, True, (), "what they show outside of the picture: a number from 0 to 255, or one a channel"),
        FIELD,
        Arg("seed", "int", "", (), 0, 0, True, (), "operations with equal seeds draw equally; left out: each has its own draws"),
    ), ()),
    "random_apply": Op("image", "Applies the image operations of a text to some samples, drawn one by one; the others stay as they are.", (
        Arg("p", "number", None, (), 0, 1, False, (), "how likely"),
        Arg("text", "text", None, (), 0, 0, False, (), "operations on pictures that keep size and type, in quotes: 'gaussian_blur 3 | invert'"),
        Arg("seed", "int", "", (), 0, 0, True, (), "operations with equal seeds draw equally; left out: each has its own draws"),
    ), ("p", "text")),
    "random_choice": Op("image", "Applies the image operations of one of several texts, drawn for each sample.", (
        Arg("texts", "texts", None, (), 0, 0, False, (), "operations on pictures that keep size and type, each in quotes: 'gaussian_blur 3' 'invert'"),
        Arg("weights", "text", "", (), 0, 0, True, (), "how likely each of them is, such as 2,1; left out: all alike"),
        Arg("seed", "int", "", (), 0, 0, True, (), "operations with equal seeds draw equally; left out: each has its own draws"),
    ), ("texts",)),
    "image_data_generator": Op("image", "All that Keras' ImageDataGenerator does to a picture, in its order, with one sampling; gives f32.", (
        Arg("rotation", "text", "0", (), 0, 0, True, ("rotation_range",), "degrees: 20 is -20 to 20; or low,high"),
        Arg("width_shift", "text", "0", (), 0, 0, True, ("width_shift_range",), "share of the width below 1, else pixels; or a list to choose from"),
        Arg("height_shift", "text", "0", (), 0, 0, True, ("height_shift_range",), "the same for the height"),
        Arg("shear", "text", "0", (), 0, 0, True, ("shear_range",), "degrees: 10 is -10 to 10; or low,high"),
        Arg("zoom", "text", "0", (), 0, 0, True, ("zoom_range",), "0.2 is 0.8 to 1.2 for each side, above 1 shrinks; or low,high"),
        Arg("channel_shift", "text", "0", (), 0, 0, True, ("channel_shift_range",), "added to all channels, clipped to the picture's own range"),
        Arg("horizontal_flip", "bool", "false", (), 0, 0, True, (), "mirror half of the pictures"),
        Arg("vertical_flip", "bool", "false", (), 0, 0, True, (), "turn half of them upside down"),
        Arg("brightness", "text", "", (), 0, 0, True, ("brightness_range",), "factor low,high, by way of 8-bit values"),
        Arg("fill", "word", "nearest", ("constant", "nearest", "reflect", "wrap"), 0, 0, True, ("fill_mode",), "what lies beyond the edge"),
        Arg("cval", "text", "0", (), 0, 0, True, ("fill_value",), "of fill=constant: one number, or one a channel"),
        Arg("order", "word", "1", ("1", "0", "3"), 0, 0, True, ("interpolation_order",), "interpolation_order: 0 nearest, 1 linear, 3 cubic"),
        Arg("rescale", "number", "0", (), -1000000000, 1000000000, True, (), "factor, 0 for none"),
        Arg("samplewise_center", "bool", "false", (), 0, 0, True, (), "minus the picture's mean"),
        Arg("samplewise_std", "bool", "false", (), 0, 0, True, ("samplewise_std_normalization",), "divided by the picture's deviation, and centred"),
        Arg("mean", "text", "", (), 0, 0, True, (), "featurewise: subtracted, one number or one a channel"),
        Arg("std", "text", "", (), 0, 0, True, (), "featurewise: divided by it + 1e-6"),
        Arg("flavour", "word", "keras3", ("keras3", "keras28", "fixed"), 0, 0, True, (), "which axes and which middle, see the reference"),
        FIELD,
        Arg("seed", "int", "", (), 0, 0, True, (), "operations with equal seeds draw equally; left out: each has its own draws"),
    ), ()),
    "mask": Op("sample", "From here on this field moves with a picture, by nearest values: classes of pixels stay what they are.", (
        Arg("field", "field", None, (), 0, 0, False, (), "the mask, decoded"),
        Arg("image", "field", "image", (), 0, 0, True, (), "the picture that it belongs to"),
        Arg("fill", "number", "0", (), 0, 0, True, (), "its value where a border or a warp shows nothing of the picture"),
    ), ("field",)),
    "boxes": Op("sample", "From here on these boxes move with a picture; those that leave it are taken out, or become zeros.", (
        Arg("field", "field", None, (), 0, 0, False, (), "four numbers a box"),
        Arg("format", "word", "xyxy", ("xyxy", "xywh", "yxyx", "cxcywh"), 0, 0, True, (), "two corners, a corner and the size, TensorFlow's order, the middle and the size"),
        Arg("normalized", "bool", "false", (), 0, 0, True, (), "relative to the size of the picture, before and behind"),
        Arg("image", "field", "image", (), 0, 0, True, (), "the picture that it belongs to"),
        Arg("min_area", "number", "0", (), 0, 1000000000000000000, True, (), "in pixels of the result; what is smaller is lost"),
        Arg("min_visible", "number", "0", (), 0, 1, True, (), "share of a box; if less of it is left, it is lost"),
        Arg("labels", "text", "", (), 0, 0, True, (), "fields with values for each of them, which go with those that are taken out"),
        Arg("of", "text", "", (), 0, 0, True, (), "four fields that the boxes are made of, in the order of format: xmin,ymin,xmax,ymax"),
    ), ("field",)),
    "keypoints": Op("sample", "From here on these places move with a picture.", (
        Arg("field", "field", None, (), 0, 0, False, (), "two or three numbers a place"),
        Arg("format", "word", "xy", ("xy", "yx", "xyv"), 0, 0, True, (), "xyv: with a number that becomes 0 when the place leaves the picture, as COCO has it"),
        Arg("normalized", "bool", "false", (), 0, 0, True, (), "relative to the size of the picture, before and behind"),
        Arg("origin", "word", "corner", ("corner", "centre"), 0, 0, True, (), "where 0,0 lies in the first pixel; centre: whole numbers are pixels"),
        Arg("outside", "word", "keep", ("keep", "zero", "remove"), 0, 0, True, (), "those that leave the picture: as they come, zeros, or taken out"),
        Arg("image", "field", "image", (), 0, 0, True, (), "the picture that it belongs to"),
        Arg("labels", "text", "", (), 0, 0, True, (), "fields with values for each of them, which go with those that are taken out"),
    ), ("field",)),
    "mixup": Op("batch", "Blends each sample of a batch with the next one of its group, labels too.", (
        Arg("alpha", "number", "0.2", (), 0, 1000000, False, (), "of Beta(alpha, alpha), from which the own share is drawn"),
        Arg("group", "int", "0", (), 0, 65536, True, (), "samples among which partners are taken, a divisor of the batch; 0: the largest up to 16"),
        Arg("p", "number", "1", (), 0, 1, True, (), "how likely"),
        Arg("labels", "field", "label", (), 0, 0, True, (), "f32 labels that are mixed with the same shares; none: there are none"),
        FIELD,
        Arg("seed", "int", "", (), 0, 0, True, (), "operations with equal seeds draw equally; left out: each has its own draws"),
    ), ("alpha",)),
    "cutmix": Op("batch", "Pastes a box of the next sample of the group into each sample of a batch; labels are mixed by area.", (
        Arg("alpha", "number", "1", (), 0, 1000000, False, (), "of Beta(alpha, alpha), from which the own share is drawn"),
        Arg("group", "int", "0", (), 0, 65536, True, (), "samples among which partners are taken, a divisor of the batch; 0: the largest up to 16"),
        Arg("p", "number", "1", (), 0, 1, True, (), "how likely"),
        Arg("labels", "field", "label", (), 0, 0, True, (), "f32 labels that are mixed with the same shares; none: there are none"),
        FIELD,
        Arg("seed", "int", "", (), 0, 0, True, (), "operations with equal seeds draw equally; left out: each has its own draws"),
    ), ("alpha",)),
    "batch": Op("batch", "Puts consecutive samples together.", (
        Arg("size", "int", "", (), 1, 16777216, False, ("batch_size",), "samples in a batch, of one rank"),
        Arg("drop_remainder", "bool", "false", (), 0, 0, False, ("drop_last",), "leave out a last batch that is not full"),
        Arg("pad_remainder", "bool", "false", (), 0, 0, True, (), "fill it up with repeated samples; so with several ranks in any case"),
        Arg("valid", "text", "", (), 0, 0, True, (), "name of a field that is true for real samples and false for those that fill up"),
        Arg("global_size", "int", "", (), 1, 16777216, True, ("global_batch_size",), "in place of size: samples in a batch of all ranks together, which they divide among them"),
    ), ("size", "drop_remainder")),
    "padded_batch": Op("batch", "A batch of fields that differ in size, filled up to the largest of the batch or to a given size.", (
        Arg("size", "int", "", (), 1, 16777216, False, ("batch_size",), "samples in a batch, of one rank"),
        Arg("shapes", "texts", "", (), 0, 0, False, ("padded_shapes",), "fields of one size in all batches: image=640x640x3; * is the largest of the batch"),
        Arg("padding", "text", "0", (), 0, 0, True, ("padding_values",), "what fills up: a number, or such as image:255,ids:-1"),
        Arg("max", "text", "", (), 0, 0, True, (), "the largest size there can be, where neither text nor index tells it: 2000x2000x3, or image:2000x2000x3"),
        Arg("drop_remainder", "bool", "false", (), 0, 0, True, ("drop_last",), "leave out a last batch that is not full"),
        Arg("pad_remainder", "bool", "false", (), 0, 0, True, (), "fill it up with repeated samples; so with several ranks in any case"),
        Arg("valid", "text", "", (), 0, 0, True, (), "name of a field that is true for real samples and false for those that fill up"),
        Arg("global_size", "int", "", (), 1, 16777216, True, ("global_batch_size",), "in place of size: samples in a batch of all ranks together, which they divide among them"),
    ), ("size", "shapes")),
    "unbatch": Op("batch", "Takes batches apart into samples.", (
    ), ()),
    "rebatch": Op("batch", "The samples of batches in batches of another size.", (
        Arg("size", "int", None, (), 1, 16777216, False, ("batch_size",), "samples in a batch, of one rank"),
        Arg("drop_remainder", "bool", "false", (), 0, 0, False, ("drop_last",), "leave out a last batch that is not full"),
        Arg("pad_remainder", "bool", "false", (), 0, 0, True, (), "fill it up with repeated samples; so with several ranks in any case"),
        Arg("valid", "text", "", (), 0, 0, True, (), "name of a field that is true for real samples and false for those that fill up"),
    ), ("size", "drop_remainder")),
    "bucket_by_aspect_ratio": Op("order", "Batches of pictures of like shape: buckets by width over height, batches as they become full.", (
        Arg("edges", "text", None, (), 0, 0, False, (), "width over height between buckets: 0.75,1.33"),
        Arg("sizes", "text", "", (), 0, 0, True, (), "for resize_to_bucket, height x width of each: 480x320,384x384,320x480"),
        FIELD,
    ), ("edges",)),
    "prefetch": Op("batch", "How many finished batches may wait; auto follows the consumer.", (
        Arg("count", "text", "auto", (), 0, 0, False, ("buffer_size",), "a number, or auto; -1 is auto"),
    ), ("count",)),
    "on_device": Op("batch", "What follows for the picture is drawn but not done: the u8 picture goes out with a field `drawn` that tells another device what to do.", (
        FIELD,
    ), ()),
    "cache": Op("batch", "Keeps the samples as they are here, by their numbers, in memory or in a directory; later epochs take them from there.", (
        Arg("path", "text", "", (), 0, 0, False, ("filename",), "a directory, which is made; left out: in memory"),
        Arg("max", "int", "0", (), 0, 1000000000000000000, True, (), "bytes, such as 4GiB; 0: half of the memory budget, or as much as the disk has"),
        Arg("freeze", "bool", "false", (), 0, 0, True, (), "true: random operations may stand before it; they draw once for each sample, for ever"),
    ), ("path",)),
    "options": Op("batch", "Settings of the whole pipeline; may stand anywhere.", (
        Arg("on_error", "word", "", ("raise", "skip", "replace"), 0, 0, True, (), "what a bad sample does"),
        Arg("max_bad", "int", "", (), 0, 1000000000000000, True, (), "bad samples of an epoch after which it fails all the same; 0: any number"),
        Arg("seed", "int", "", (), 0, 0, True, (), "its own seed; without it the pipeline's"),
        Arg("fuse", "bool", "true", (), 0, 0, True, (), "off: every operation by itself, with the same results"),
        Arg("positions", "bool", "true", (), 0, 0, True, (), "off: where rows of a JPEG begin is not remembered for its next crop; same results"),
        Arg("accuracy", "word", "exact", ("exact", "fast"), 0, 0, True, (), "fast: libjpeg's fast IDCT, as TensorFlow decodes by default"),
        Arg("layout", "word", "nhwc", ("nhwc", "nchw"), 0, 0, True, (), "nchw: pictures and masks leave with channels first, whatever the operations before"),
        Arg("unit", "word", "off", ("off", "f32", "f16", "bf16"), 0, 0, True, (), "pictures of bytes, 0 to 255, leave as this type from 0 to 1; not masks, nor what cast, rescale or normalize has made"),
        Arg("read_ahead", "text", "auto", (), 0, 0, True, (), "threads that read what comes next; auto: when storage is slow; off: none"),
        Arg("tune", "text", "auto", (), 0, 0, True, (), "off: nothing changes during the run; 'threads=2 slots=6 read_ahead=0': what a run before has found, see leat_pipeline_tuning"),
    ), ()),
}
# fmt: on


def _operation(declared: Any) -> Any:
    name = declared.__name__

    def method(self: "Operations", *args: object, **kwargs: object) -> Any:
        return self._add(name, args, kwargs)

    method.__name__, method.__qualname__, method.__doc__ = name, f"Dataset.{name}", declared.__doc__
    method.__wrapped__ = declared  # type: ignore[attr-defined]
    return method


class Operations:
    """Each operation of the table as a method that gives a new dataset."""

    def _add(self, name: str, args: tuple[object, ...], kwargs: dict[str, object]) -> Any:
        raise NotImplementedError

    @_operation
    def shuffle(
        self, buffer_size=0, seed=None, *, window=0, block=0, group=16, reshuffle=True,
    ):
        """Another order in every epoch: of all samples, within windows of consecutive ones, or by blocks;
        behind batch, of batches.

            ds.shuffle(seed=7)

        window: 0: all samples at once (streams: 4096); else this many at a time
        block: for storage that wants to be read in order: bytes of consecutive samples that stay together,
            such as 4MiB; 0: none do
        group: with block: so many blocks are shuffled together
        buffer_size: of tf.data: the window of a stream, and behind a repeat without end; elsewhere taken and
            not needed, since all samples are shuffled
        seed: its own seed; without it the pipeline's
        reshuffle: false: the same order in every epoch (also called reshuffle_each_iteration)
        """

    @_operation
    def take(
        self, count,
    ):
        """The first samples only.

            ds.take(10000)

        count: how many; -1: all
        """

    @_operation
    def skip(
        self, count,
    ):
        """All but the first samples.

            ds.skip(8000)

        count: how many to leave out; -1: all
        """

    @_operation
    def repeat(
        self, count=-1,
    ):
        """Begins again, count times or without end.

            ds.repeat()

        count: -1: without end
        """

    @_operation
    def interleave(
        self, cycle=16, block=1,
    ):
        """Records of several shards in turn: so many shards at a time, so many records of each.

            ds.interleave(cycle=4, block=2)

        cycle: shards at a time (also called cycle_length)
        block: records of each in turn (also called block_length)
        """

    @_operation
    def flat_map(
        self,
    ):
        """Shards one after the other, which is the order without it: interleave cycle=1.

            ds.flat_map()
        """

    @_operation
    def balance(
        self, field="label", *, weights=None, n=0, seed=None,
    ):
        """Every class equally often, or by weights, each going through its own samples in its own drawn
        order.

            ds.balance()

        field: the field whose values are the classes
        weights: how often each class comes, by rising label: 0.5,0.3,0.2
        n: samples in an epoch; 0: the size of the largest class times the number of classes
        seed: its own seed; without it the pipeline's
        """

    @_operation
    def oversample(
        self, field="label",
    ):
        """Classes in turn, each repeated up to the size of the largest.

            ds.oversample()

        field: the field whose values are the classes
        """

    @_operation
    def rejection_resample(
        self, field="label", *, target=None, initial=None, seed=None,
    ):
        """Leaves out samples so that classes come in the proportions of target.

            ds.rejection_resample(target=(0.9, 0.1))

        field: the field whose values are the classes
        target: proportions by rising label, such as 0.5,0.5; left out: all equal
        initial: streams need it, others count and refuse it: the proportions that are there, for labels from
            0
        seed: its own seed; without it the pipeline's
        """

    @_operation
    def window(
        self, size, *, shift=0, stride=1, targets=None, at="last",
    ):
        """Consecutive samples stacked to one, with a new first axis: windows over a time series.

            ds.window(24, shift=1, targets="y", at=1)

        size: samples in a window
        shift: samples from one window to the next; 0: the size, so that windows do not overlap
        stride: samples from one of a window to the next of it
        targets: fields that are not stacked but taken from one sample, separated by commas
        at: that sample: last, first, or a number: so many behind the last
        """

    @_operation
    def parse(
        self, *features, from_="record",
    ):
        """Features of a tf.train.Example: name:type, name:type[shape], name:type[*] (any number), with
        =default.

            ds.parse("features:float[16]", "label:int64")

        features: such as image:bytes label:int64 box:float[4] ids:int64[*100] weight:float=1
        from_: the field that is parsed
        """

    @_operation
    def reshape(
        self, *shape, field="image", layout=None,
    ):
        """Gives a field another shape with as many values; one -1 means what is left.

            ds.reshape(256, 256, 3)

        field: which field
        shape: sizes of the axes
        layout: nchw: three axes are a picture with channels first, and become (height, width, channels)
            (nhwc, nchw)
        """

    @_operation
    def select(
        self, *fields,
    ):
        """Keeps these fields, in this order.

            ds.select("label", "image")

        fields: their names
        """

    @_operation
    def copy(
        self, field, name,
    ):
        """Another field with what a field is at this point: both go on by themselves.

            ds.copy("image", "original")

        field: what is copied
        name: of the new field
        """

    @_operation
    def enumerate(
        self, name="index", *, of="position",
    ):
        """Adds a field with the place of the sample in the epoch, or with its number in the data set.

            ds.enumerate()

        name: of the new field, i64
        of: position: in the finished order, from 0; sample: in the data set (position, sample)
        """

    @_operation
    def stack(
        self, name, *fields,
    ):
        """Fields of equal length side by side, as one field: numbers to a vector, rows (n) to (n, k).

            ds.stack("x", "age", "income")

        name: of the new field
        fields: its columns, which are gone behind it
        """

    @_operation
    def with_path(
        self, name="path", *, of="file",
    ):
        """Adds a field with the path of the sample's file, as bytes.

            ds.with_path()

        name: of the new field
        of: file: a path that can be opened; name: relative to the folder, or as the table has it (file, name)
        """

    @_operation
    def label_map(
        self, map=None, *, file=None, default=None, field="label",
    ):
        """Other numbers for labels: FROM=TO pairs, or a file of them.

            ds.label_map("0=1,1=1,2=1", default=0)

        map: such as 3=0,5=1; with names of classes in quotes: 'cats=0,dogs=1'
        file: a text file with a pair in each line
        default: for labels that are not in the map; else they are errors
        field: which field
        """

    @_operation
    def one_hot(
        self, classes=0, *, field="label", smoothing=0, off=0, on=1,
    ):
        """A label to f32 numbers, one for each class: 1 for its own, 0 for the others; smoothed if asked.

            ds.one_hot(smoothing=0.1)

        field: which field
        classes: how many; 0: as many as the source knows (also called num_classes, depth)
        smoothing: share that is spread over all classes
        off: for other classes
        on: for its own class
        """

    @_operation
    def decode(
        self, field="image", *, channels=3, orient=False, depth="8", palette="colour", scale="1",
    ):
        """An image file (JPEG, PNG, WebP, GIF, BMP, told by content) to u8 or u16 pixels.

            ds.decode(orient=True)

        field: which field
        channels: 1 gray, 3 RGB, 4 RGBA, 0 as stored
        orient: turn the picture as its EXIF data says
        depth: 16: u16 pixels; files of 8 bits are multiplied by 257 (8, 16)
        palette: index: the numbers that a PNG with a palette stores, one channel; for masks (colour, index)
        scale: auto: JPEGs at 1/2, 1/4 or 1/8 where the crop and the resize behind it leave no more; other
            pixels than exact decoding (1, auto)
        """

    @_operation
    def decode_raw(
        self, dtype, *, field="image",
    ):
        """Takes bytes as values of a type, little-endian.

            ds.decode_raw("record", "u8")

        field: which field
        dtype: type of the values
        """

    @_operation
    def adjust_jpeg_quality(
        self, quality, *, field="image",
    ):
        """Encodes as JPEG and decodes again, for the noise that this leaves.

            ds.adjust_jpeg_quality(75)

        quality: 0 to 100
        field: which field
        """

    @_operation
    def random_jpeg_quality(
        self, lower, upper, *, field="image", seed=None,
    ):
        """The same with a whole number drawn from [lower, upper).

            ds.random_jpeg_quality(40, 96)

        lower: least quality
        upper: above the best quality
        field: which field
        seed: operations with equal seeds draw equally; left out: each has its own draws
        """

    @_operation
    def resize(
        self, height, width=None, *, method="bilinear", flavour="tf", antialias=False, crop_to_aspect_ratio=False,
        pad_to_aspect_ratio=False, fill=0, field="image",
    ):
        """Another size; flavour tf gives f32 (nearest keeps the type), flavour pil is antialiased and gives
        u8.

            ds.resize(224, 224, flavour="pil")

        height: in pixels
        width: in pixels; as the height if left out
        method: interpolation; pil has nearest, box, bilinear, hamming, bicubic, lanczos; tf all but the last
            three (bilinear, nearest, bicubic, area, lanczos3, lanczos5, gaussian, mitchellcubic, box,
            hamming, lanczos) (also called interpolation)
        flavour: whose arithmetic: tf.image.resize, Pillow, or tf rounded back to u8 (tf, pil, keras)
        antialias: widen the filter when the picture shrinks; pil always does
        crop_to_aspect_ratio: only the largest part in the middle that has the shape of the result
        pad_to_aspect_ratio: with a border first that gives it the shape of the result
        fill: of a constant border: one number, or one a channel, in the picture's units
        field: which field
        """

    @_operation
    def resize_with_crop_or_pad(
        self, height, width=None, *, field="image",
    ):
        """This size by cutting off or adding zeros, the same on both sides; values stay as they are.

            ds.resize_with_crop_or_pad(32)

        height: in pixels
        width: in pixels; as the height if left out
        field: which field
        """

    @_operation
    def resize_with_pad(
        self, height, width=None, *, method="bilinear", antialias=False, field="image",
    ):
        """Resized to fit into this size with its aspect ratio, with zeros around it.

            ds.resize_with_pad(224)

        height: in pixels
        width: in pixels; as the height if left out
        method: interpolation of tf.image.resize (bilinear, nearest, bicubic, area, lanczos3, lanczos5,
            gaussian, mitchellcubic) (also called interpolation)
        antialias: widen the filter when the picture shrinks
        field: which field
        """

    @_operation
    def resize_shorter(
        self, size, *, max_size=0, method="bilinear", flavour="pil", antialias=False, field="image",
    ):
        """Resized with its aspect ratio so that the shorter side has this length; a crop usually follows.

            ds.resize_shorter(256)

        size: of the shorter side, in pixels
        max_size: most pixels of the longer side; 0: any
        method: interpolation; pil has nearest, box, bilinear, hamming, bicubic, lanczos; tf all but the last
            three (bilinear, nearest, bicubic, area, lanczos3, lanczos5, gaussian, mitchellcubic, box,
            hamming, lanczos) (also called interpolation)
        flavour: whose resize: Pillow's, antialiased, u8; or tf.image.resize, f32 (pil, tf)
        antialias: widen the filter when the picture shrinks
        field: which field
        """

    @_operation
    def resize_to_bucket(
        self, *, method="bilinear", flavour="pil", antialias=False, crop_to_aspect_ratio=False,
        pad_to_aspect_ratio=False, fill=0, field="image",
    ):
        """The size that bucket_by_aspect_ratio gives to the batch of the picture.

            ds.resize_to_bucket(crop_to_aspect_ratio=True)

        method: interpolation; pil has nearest, box, bilinear, hamming, bicubic, lanczos; tf all but the last
            three (bilinear, nearest, bicubic, area, lanczos3, lanczos5, gaussian, mitchellcubic, box,
            hamming, lanczos) (also called interpolation)
        flavour: whose resize: Pillow's, antialiased, u8; or tf.image.resize, f32 (pil, tf)
        antialias: widen the filter when the picture shrinks
        crop_to_aspect_ratio: only the largest part in the middle that has the shape of the result
        pad_to_aspect_ratio: with a border first that gives it the shape of the result
        fill: of a constant border: one number, or one a channel, in the picture's units
        field: which field
        """

    @_operation
    def crop_to_bounding_box(
        self, y, x, height, width=None, *, field="image",
    ):
        """The part of a given size at a given place; only that part is decoded.

            ds.crop_to_bounding_box(4, 8, 32, 24)

        y: rows above it
        x: columns to its left
        height: in pixels
        width: in pixels; as the height if left out
        field: which field
        """

    @_operation
    def central_crop(
        self, fraction, *, field="image",
    ):
        """The middle part, a share of each side; only that part is decoded.

            ds.central_crop(0.875)

        fraction: of height and of width
        field: which field
        """

    @_operation
    def center_crop(
        self, height, width=None, *, flavour="keras", field="image",
    ):
        """The middle part, of a given size; only that part is decoded.

            ds.center_crop(32, 24)

        height: in pixels
        width: in pixels; as the height if left out
        flavour: where an odd number is left over: keras begins half a pixel before the middle, torch at the
            even number (keras, torch)
        field: which field
        """

    @_operation
    def random_crop(
        self, height, width=None, *, padding=0, mode="constant", fill=0, field="image", seed=None,
    ):
        """A part of a given size at a drawn place; only that part is decoded.

            ds.random_crop(32, padding=4)

        height: in pixels
        width: in pixels; as the height if left out
        padding: a border of so many pixels first
        mode: what the border shows (constant, edge, reflect, symmetric) (also called padding_mode)
        fill: of a constant border: one number, or one a channel, in the picture's units
        field: which field
        seed: operations with equal seeds draw equally; left out: each has its own draws
        """

    @_operation
    def random_resized_crop(
        self, height, width=None, *, scale=(0.08, 1), ratio=(3 / 4, 4 / 3), method="bilinear", flavour="pil",
        field="image", seed=None,
    ):
        """A part of drawn area, aspect ratio and place, resized; only that part is decoded.

            ds.random_resized_crop(64)

        height: in pixels
        width: in pixels; as the height if left out
        scale: share of the area, from,to
        ratio: width over height, from,to
        method: interpolation; pil has nearest, box, bilinear, hamming, bicubic, lanczos; tf all but the last
            three (bilinear, nearest, bicubic, area, lanczos3, lanczos5, gaussian, mitchellcubic, box,
            hamming, lanczos) (also called interpolation)
        flavour: whose resize: Pillow's, antialiased, u8; or tf.image.resize, f32 (pil, tf)
        field: which field
        seed: operations with equal seeds draw equally; left out: each has its own draws
        """

    @_operation
    def sample_distorted_bounding_box(
        self, height, width=None, *, area=(0.05, 1), ratio=(0.75, 1.33), attempts=100, covered=0.1, box_field=None,
        method="bilinear", antialias=False, field="image", seed=None,
    ):
        """A part of drawn height, aspect ratio and place as TensorFlow draws it, resized; only that part is
        decoded.

            ds.sample_distorted_bounding_box(224)

        height: in pixels
        width: in pixels; as the height if left out
        area: share of the picture's area, from,to
        ratio: width over height, from,to
        attempts: then the whole picture is taken
        covered: least share of the picture, or of one of its boxes, as min_object_covered
        box_field: boxes of which at least one is covered; without it the whole picture
        method: interpolation of tf.image.resize (bilinear, nearest, bicubic, area, lanczos3, lanczos5,
            gaussian, mitchellcubic) (also called interpolation)
        antialias: widen the filter when the picture shrinks
        field: which field
        seed: operations with equal seeds draw equally; left out: each has its own draws
        """

    @_operation
    def pad(
        self, top, bottom=None, left=None, right=None, *, mode="constant", fill=0, field="image",
    ):
        """A border around the picture.

            ds.pad(4, mode="reflect")

        top: rows
        bottom: rows; as top if left out
        left: columns; as top if left out
        right: columns; as left if left out
        mode: what the border shows (constant, edge, reflect, symmetric) (also called padding_mode)
        fill: of a constant border: one number, or one a channel, in the picture's units
        field: which field
        """

    @_operation
    def random_flip_left_right(
        self, p=0.5, *, field="image", seed=None,
    ):
        """Mirrors left and right, by chance.

            ds.random_flip_left_right()

        p: how likely
        field: which field
        seed: operations with equal seeds draw equally; left out: each has its own draws
        """

    @_operation
    def random_flip_up_down(
        self, p=0.5, *, field="image", seed=None,
    ):
        """Mirrors top and bottom, by chance.

            ds.random_flip_up_down(p=0.1)

        p: how likely
        field: which field
        seed: operations with equal seeds draw equally; left out: each has its own draws
        """

    @_operation
    def random_flip(
        self, mode="horizontal_and_vertical", *, field="image", seed=None,
    ):
        """Mirrors half of the pictures; with both directions, one coin decides about both.

            ds.random_flip("horizontal")

        mode: which way (horizontal_and_vertical, horizontal, vertical)
        field: which field
        seed: operations with equal seeds draw equally; left out: each has its own draws
        """

    @_operation
    def rot90(
        self, k=1, *, field="image",
    ):
        """Turned counter-clockwise by quarters.

            ds.rot90(3)

        k: how many quarters; below 0: clockwise
        field: which field
        """

    @_operation
    def transpose(
        self, *, field="image",
    ):
        """Rows become columns.

            ds.transpose()

        field: which field
        """

    @_operation
    def random_rotation(
        self, factor, *, fill="reflect", interpolation="bilinear", value=0, field="image", seed=None,
    ):
        """Turns the picture about its middle, counter-clockwise for positive numbers.

            ds.random_rotation(0.1)

        factor: share of a full turn: 0.1 is up to 36 degrees either way; or low,high
        fill: what lies beyond the edge (constant, nearest, reflect, wrap) (also called fill_mode)
        interpolation: nearest keeps the type, bilinear gives f32 (nearest, bilinear)
        value: of fill=constant: one number, or one a channel (also called fill_value)
        field: which field
        seed: operations with equal seeds draw equally; left out: each has its own draws
        """

    @_operation
    def random_zoom(
        self, height_factor, width_factor=None, *, fill="reflect", interpolation="bilinear", value=0, field="image",
        seed=None,
    ):
        """Shrinks (positive numbers) or enlarges (negative ones) the picture about its middle.

            ds.random_zoom(0.2, fill="constant", value=128)

        height_factor: change of the height: 0.2 is -20 % to +20 %; or low,high
        width_factor: the same for the width; without it both change alike
        fill: what lies beyond the edge (constant, nearest, reflect, wrap) (also called fill_mode)
        interpolation: nearest keeps the type, bilinear gives f32 (nearest, bilinear)
        value: of fill=constant: one number, or one a channel (also called fill_value)
        field: which field
        seed: operations with equal seeds draw equally; left out: each has its own draws
        """

    @_operation
    def random_translation(
        self, height_factor, width_factor, *, fill="reflect", interpolation="bilinear", value=0, field="image",
        seed=None,
    ):
        """Moves the picture, down and to the right for positive numbers.

            ds.random_translation(0.1, 0.2)

        height_factor: share of the height; 0.2 is up to 20 % either way; or low,high
        width_factor: share of the width
        fill: what lies beyond the edge (constant, nearest, reflect, wrap) (also called fill_mode)
        interpolation: nearest keeps the type, bilinear gives f32 (nearest, bilinear)
        value: of fill=constant: one number, or one a channel (also called fill_value)
        field: which field
        seed: operations with equal seeds draw equally; left out: each has its own draws
        """

    @_operation
    def random_shear(
        self, x_factor=0, y_factor=0, *, fill="reflect", interpolation="bilinear", value=0, field="image", seed=None,
    ):
        """Slants the picture about its upper left corner; both directions have the same drawn sign.

            ds.random_shear(0.2)

        x_factor: pixels to the side for each one down, 0 to 1; or low,high
        y_factor: pixels down for each one to the side
        fill: what lies beyond the edge (constant, nearest, reflect, wrap) (also called fill_mode)
        interpolation: nearest keeps the type, bilinear gives f32 (nearest, bilinear)
        value: of fill=constant: one number, or one a channel (also called fill_value)
        field: which field
        seed: operations with equal seeds draw equally; left out: each has its own draws
        """

    @_operation
    def random_perspective(
        self, factor=1, scale=1, *, interpolation="bilinear", value=0, field="image", seed=None,
    ):
        """Moves the corners of the picture but the upper left one; outside lies a constant.

            ds.random_perspective(0.5, 0.3)

        factor: how likely, drawn from 0,factor or low,high
        scale: how far corners move
        interpolation: nearest keeps the type, bilinear gives f32 (nearest, bilinear)
        value: of fill=constant: one number, or one a channel (also called fill_value)
        field: which field
        seed: operations with equal seeds draw equally; left out: each has its own draws
        """

    @_operation
    def random_elastic_transform(
        self, factor=1, scale=1, *, range=(0, 255), flavour="keras", fill="reflect", interpolation="bilinear", value=0,
        field="image", seed=None,
    ):
        """Pulls the picture about as if it were of rubber.

            ds.random_elastic_transform(1, 0.4, flavour="fixed")

        factor: how likely, drawn from 0,factor or low,high
        scale: how strong, drawn from 0,scale or low,high
        range: what f32 results are clipped to
        flavour: keras moves both axes by the same noise, fixed each by its own (keras, fixed)
        fill: what lies beyond the edge (constant, nearest, reflect, wrap) (also called fill_mode)
        interpolation: nearest keeps the type, bilinear gives f32 (nearest, bilinear)
        value: of fill=constant: one number, or one a channel (also called fill_value)
        field: which field
        seed: operations with equal seeds draw equally; left out: each has its own draws
        """

    @_operation
    def affine(
        self, *, rotate=0, shear_x=0, shear_y=0, zoom=0, zoom_x=0, zoom_y=0, shift_x=0, shift_y=0, flip_x=0, flip_y=0,
        perspective=0, order="1", fill="reflect", value=0, field="image", seed=None,
    ):
        """Any mix of flips, zoom, shear, rotation, shift and perspective about the middle, in one sampling.

            ds.affine(rotate=20, zoom=(0.8, 1.2), shift_x=0.1, shift_y=0.1, flip_x=0.5)

        rotate: degrees counter-clockwise: 20 is -20 to 20; or low,high
        shear_x: degrees: the lower half goes to the right
        shear_y: degrees: the right half goes down
        zoom: 0.2 is a factor from 0.8 to 1.2, above 1 enlarges; or low,high
        zoom_x: the same for the width alone
        zoom_y: the same for the height alone
        shift_x: share of the width, to the right
        shift_y: share of the height, down
        flip_x: how likely left and right change places
        flip_y: how likely top and bottom change places
        perspective: corners move by up to half this share of the sides
        order: of the spline: 0 takes the nearest pixel and keeps the type, 1 is linear, 3 cubic (1, 0, 3)
        fill: what lies beyond the edge (constant, nearest, reflect, wrap) (also called fill_mode)
        value: of fill=constant: one number, or one a channel (also called fill_value)
        field: which field
        seed: operations with equal seeds draw equally; left out: each has its own draws
        """

    @_operation
    def random_affine(
        self, degrees, *, translate=(0, 0), scale=(1, 1), shear=(0, 0), interpolation="nearest", value=0, field="image",
        seed=None,
    ):
        """Rotation, shift, scale and shear of a u8 picture in one sampling, as Pillow does it.

            ds.random_affine(15, translate=(0.1, 0.1), scale=(0.8, 1.2), interpolation="bilinear")

        degrees: clockwise: 20 is -20 to 20; or low,high
        translate: largest shift x,y as shares of width and height
        scale: from,to; above 1 enlarges
        shear: degrees: one number, low,high or x_low,x_high,y_low,y_high
        interpolation: both give u8 (nearest, bilinear)
        value: of fill=constant: one number, or one a channel (also called fill_value)
        field: which field
        seed: operations with equal seeds draw equally; left out: each has its own draws
        """

    @_operation
    def adjust_brightness(
        self, delta, *, flavour="tf", range=(0, 255), field="image",
    ):
        """Adds a number to all values; u8 counts as 0 to 1 and is clipped.

            ds.adjust_brightness(0.1)

        delta: what is added; keras: a share of the range; pil: a factor
        flavour: tf keeps the type; keras gives f32 as the layer; pil works on u8 as Pillow, torchvision (tf,
            keras, pil)
        range: flavour=keras: the values that pictures have, low,high
        field: which field
        """

    @_operation
    def random_brightness(
        self, max_delta, *, flavour="tf", range=(0, 255), field="image", seed=None,
    ):
        """Adds one number drawn from [-max_delta, max_delta) to all values; u8 counts as 0 to 1 and is
        clipped.

            ds.random_brightness(0.2)

        max_delta: largest change
        flavour: tf keeps the type; keras gives f32, changes by a share of the range and clips (tf, keras)
        range: flavour=keras: the values that pictures have, low,high
        field: which field
        seed: operations with equal seeds draw equally; left out: each has its own draws
        """

    @_operation
    def adjust_contrast(
        self, factor, *, flavour="tf", range=(0, 255), field="image",
    ):
        """Moves values away from their mean, or toward it with a factor below 1.

            ds.adjust_contrast(1.5, flavour="pil")

        factor: 1 changes nothing
        flavour: tf keeps the type; keras gives f32 and clips; pil works on u8 around the gray mean (tf,
            keras, pil)
        range: flavour=keras: the values that pictures have, low,high
        field: which field
        """

    @_operation
    def random_contrast(
        self, lower, upper=None, *, flavour="tf", range=(0, 255), field="image", seed=None,
    ):
        """The same with a factor drawn from [lower, upper).

            ds.random_contrast(0.8, 1.2)

        lower: smallest factor
        upper: largest factor; with flavour=keras they are 1 - lower and 1 + upper
        flavour: tf keeps the type; keras gives f32 and clips; pil works on u8 around the gray mean (tf,
            keras, pil)
        range: flavour=keras: the values that pictures have, low,high
        field: which field
        seed: operations with equal seeds draw equally; left out: each has its own draws
        """

    @_operation
    def autocontrast(
        self, *, flavour="pil", range=(0, 255), field="image",
    ):
        """Stretches each channel from its smallest and largest value to 0 and 255.

            ds.autocontrast(flavour="keras", range=(0, 1))

        flavour: pil as Pillow; keras gives f32; torch as torchvision does tensors (pil, keras, torch)
        range: flavour=keras: the values that pictures have, low,high
        field: which field
        """

    @_operation
    def random_autocontrast(
        self, p=0.5, *, flavour="pil", range=(0, 255), field="image", seed=None,
    ):
        """The same, by chance.

            ds.random_autocontrast()

        p: how likely
        flavour: pil as Pillow; keras gives f32; torch as torchvision does tensors (pil, keras, torch)
        range: flavour=keras: the values that pictures have, low,high
        field: which field
        seed: operations with equal seeds draw equally; left out: each has its own draws
        """

    @_operation
    def equalize(
        self, *, flavour="pil", field="image",
    ):
        """Spreads the u8 values of each channel so that all are about equally frequent.

            ds.equalize()

        flavour: whose arithmetic (pil, keras)
        field: which field
        """

    @_operation
    def random_equalize(
        self, p=0.5, *, flavour="pil", field="image", seed=None,
    ):
        """The same, by chance.

            ds.random_equalize(0.25)

        p: how likely
        flavour: whose arithmetic (pil, keras)
        field: which field
        seed: operations with equal seeds draw equally; left out: each has its own draws
        """

    @_operation
    def adjust_saturation(
        self, factor, *, flavour="tf", range=(0, 255), field="image",
    ):
        """Multiplies the saturation of colours.

            ds.adjust_saturation(1.5, flavour="pil")

        factor: 0 gives gray, 1 changes nothing; keras: 0.5 changes nothing
        flavour: tf keeps the type; keras gives f32 as the layer; pil works on u8 as Pillow, torchvision (tf,
            keras, pil)
        range: flavour=keras: the values that pictures have, low,high
        field: which field
        """

    @_operation
    def random_saturation(
        self, lower, upper=None, *, flavour="tf", range=(0, 255), field="image", seed=None,
    ):
        """The same with a factor drawn from [lower, upper).

            ds.random_saturation(0.6, 1.4)

        lower: smallest factor
        upper: largest factor; keras: without it -lower to lower, as the layer
        flavour: tf keeps the type; keras gives f32 as the layer; pil works on u8 as Pillow, torchvision (tf,
            keras, pil)
        range: flavour=keras: the values that pictures have, low,high
        field: which field
        seed: operations with equal seeds draw equally; left out: each has its own draws
        """

    @_operation
    def adjust_hue(
        self, delta, *, flavour="tf", range=(0, 255), field="image",
    ):
        """Turns the hue of colours by a part of the circle.

            ds.adjust_hue(0.05)

        delta: part of a turn
        flavour: tf keeps the type; keras gives f32 as the layer; pil works on u8 as Pillow, torchvision (tf,
            keras, pil)
        range: flavour=keras: the values that pictures have, low,high
        field: which field
        """

    @_operation
    def random_hue(
        self, max_delta, *, flavour="tf", range=(0, 255), field="image", seed=None,
    ):
        """The same by a part drawn from [-max_delta, max_delta).

            ds.random_hue(0.05)

        max_delta: 0 to 0.5, or low,high; keras: the layer's factor, twice as large
        flavour: tf keeps the type; keras gives f32 as the layer; pil works on u8 as Pillow, torchvision (tf,
            keras, pil)
        range: flavour=keras: the values that pictures have, low,high
        field: which field
        seed: operations with equal seeds draw equally; left out: each has its own draws
        """

    @_operation
    def rgb_to_grayscale(
        self, *, channels=1, flavour="tf", field="image",
    ):
        """Colours to gray, as one channel or as three equal ones.

            ds.rgb_to_grayscale()

        channels: 1, or 3 equal ones
        flavour: whose weights: tf.image on u8 and f32, or Pillow and torchvision on u8 (tf, pil)
        field: which field
        """

    @_operation
    def random_grayscale(
        self, p=0.1, *, flavour="tf", field="image", seed=None,
    ):
        """Makes three equal channels of colours, by chance.

            ds.random_grayscale(0.2)

        p: how likely
        flavour: whose weights: tf.image on u8 and f32, or Pillow and torchvision on u8 (tf, pil)
        field: which field
        seed: operations with equal seeds draw equally; left out: each has its own draws
        """

    @_operation
    def random_color_degeneration(
        self, factor, *, range=(0, 255), field="image", seed=None,
    ):
        """Moves colours toward their gray by a drawn share, as f32.

            ds.random_color_degeneration((0, 0.5))

        factor: largest share, either way, or low,high
        range: flavour=keras: the values that pictures have, low,high
        field: which field
        seed: operations with equal seeds draw equally; left out: each has its own draws
        """

    @_operation
    def color_jitter(
        self, brightness=0, contrast=0, saturation=0, hue=0, *, flavour="pil", range=(0, 255), field="image", seed=None,
    ):
        """Brightness, contrast, saturation and hue by drawn amounts, in a drawn order.

            ds.color_jitter(0.4, 0.4, 0.4, 0.1)

        brightness: factor from 1 - x to 1 + x, or low,high
        contrast: the same
        saturation: the same
        hue: part of a turn from -x to x, or low,high; at most 0.5
        flavour: pil: u8 as torchvision on Pillow's images; keras: f32, in this order, the layers' factors
            (pil, keras)
        range: flavour=keras: the values that pictures have, low,high
        field: which field
        seed: operations with equal seeds draw equally; left out: each has its own draws
        """

    @_operation
    def adjust_gamma(
        self, gamma, *, gain=1, field="image",
    ):
        """gain times each value to the power gamma; u8 counts as 0 to 1.

            ds.adjust_gamma(0.8)

        gamma: above 1 darkens
        gain: factor afterwards
        field: which field
        """

    @_operation
    def random_gamma(
        self, lower, upper, *, gain=1, field="image", seed=None,
    ):
        """The same with gamma drawn from [lower, upper).

            ds.random_gamma(0.8, 1.25)

        lower: smallest gamma
        upper: largest gamma
        gain: factor afterwards
        field: which field
        seed: operations with equal seeds draw equally; left out: each has its own draws
        """

    @_operation
    def invert(
        self, *, max=None, field="image",
    ):
        """The largest value minus each value.

            ds.invert(max=1)

        max: f32: the largest value of a pixel, such as 1 or 255
        field: which field
        """

    @_operation
    def random_invert(
        self, p=0.5, *, max=None, field="image", seed=None,
    ):
        """The same, by chance.

            ds.random_invert(0.3)

        p: how likely
        max: f32: the largest value of a pixel, such as 1 or 255
        field: which field
        seed: operations with equal seeds draw equally; left out: each has its own draws
        """

    @_operation
    def posterize(
        self, bits, *, field="image",
    ):
        """Keeps the highest bits of u8 values.

            ds.posterize(4)

        bits: how many to keep, 0 to 8
        field: which field
        """

    @_operation
    def random_posterize(
        self, bits, p=0.5, *, field="image", seed=None,
    ):
        """The same, by chance, and with a drawn number of bits if two are given.

            ds.random_posterize(bits=(3, 5), p=0.5)

        bits: how many to keep, 0 to 8
        p: how likely
        field: which field
        seed: operations with equal seeds draw equally; left out: each has its own draws
        """

    @_operation
    def solarize(
        self, threshold=128, *, addition=0, field="image",
    ):
        """Inverts u8 values that are not below a threshold.

            ds.solarize()

        threshold: values from here on are inverted
        addition: added and clipped before, -255 to 255
        field: which field
        """

    @_operation
    def random_solarize(
        self, threshold=128, p=0.5, *, addition=0, field="image", seed=None,
    ):
        """The same, by chance, and with drawn numbers where two are given.

            ds.random_solarize(192, p=0.2)

        threshold: values from here on are inverted
        p: how likely
        addition: added and clipped before, -255 to 255
        field: which field
        seed: operations with equal seeds draw equally; left out: each has its own draws
        """

    @_operation
    def channel_shift(
        self, range, *, field="image", seed=None,
    ):
        """Adds one drawn number to all values and clips them to the range the picture had, as f32.

            ds.channel_shift(20)

        range: largest change, or low,high
        field: which field
        seed: operations with equal seeds draw equally; left out: each has its own draws
        """

    @_operation
    def gaussian_blur(
        self, kernel, sigma=(0.1, 2), *, p=1, flavour="torch", range=(0, 255), field="image", seed=None,
    ):
        """Blurs with a Gaussian of drawn width.

            ds.gaussian_blur(5, (0.1, 2), p=0.5)

        kernel: pixels along each axis, an odd number (also called kernel_size)
        sigma: standard deviation, from,to
        p: how likely
        flavour: torch: reflects at the border, keeps the type; keras: zeros there, gives f32, clips (torch,
            keras)
        range: flavour=keras: the values that pictures have, low,high
        field: which field
        seed: operations with equal seeds draw equally; left out: each has its own draws
        """

    @_operation
    def adjust_sharpness(
        self, factor, *, flavour="pil", range=(0, 255), field="image",
    ):
        """Blends with the smoothed picture, or away from it.

            ds.adjust_sharpness(1.8)

        factor: 0 is smooth
        flavour: pil: u8, 1 changes nothing, the border stays; keras: gives f32, 0.5 changes nothing, clips
            (pil, keras)
        range: flavour=keras: the values that pictures have, low,high
        field: which field
        """

    @_operation
    def random_sharpness(
        self, lower, upper, *, p=1, flavour="pil", range=(0, 255), field="image", seed=None,
    ):
        """The same with a factor drawn from [lower, upper).

            ds.random_sharpness(2, 2, p=0.5)

        lower: least factor
        upper: largest factor
        p: how likely
        flavour: pil: u8, 1 changes nothing, the border stays; keras: gives f32, 0.5 changes nothing, clips
            (pil, keras)
        range: flavour=keras: the values that pictures have, low,high
        field: which field
        seed: operations with equal seeds draw equally; left out: each has its own draws
        """

    @_operation
    def gaussian_noise(
        self, stddev, *, mean=0, clip=False, field="image", seed=None,
    ):
        """Adds normal noise to every value; u8 counts as 0 to 1 and is clipped.

            ds.gaussian_noise(0.05)

        stddev: its standard deviation
        mean: of the noise
        clip: f32: keep values within 0 to 1, as torchvision
        field: which field
        seed: operations with equal seeds draw equally; left out: each has its own draws
        """

    @_operation
    def random_erasing(
        self, p=0.5, *, scale=(0.02, 0.33), ratio=(0.3, 3.3), value=0, flavour="torch", range=(0, 255), field="image",
        seed=None,
    ):
        """Fills a part of drawn area, shape and place.

            ds.random_erasing()

        p: how likely
        scale: share of the area, from,to
        ratio: flavour=torch: height over width, from,to
        value: a number, one a channel, or random for noise, as flavour=keras has it unless told
        flavour: whose draws and noise; keras gives f32 (torch, keras)
        range: flavour=keras: the values that pictures have, low,high
        field: which field
        seed: operations with equal seeds draw equally; left out: each has its own draws
        """

    @_operation
    def cutout(
        self, size, *, p=1, value=0, field="image", seed=None,
    ):
        """Fills a square whose middle lies anywhere in the picture.

            ds.cutout(16, value=(125, 123, 114))

        size: of a side, in pixels
        p: how likely
        value: what fills it, in the picture's units: a number, or one a channel
        field: which field
        seed: operations with equal seeds draw equally; left out: each has its own draws
        """

    @_operation
    def cast(
        self, dtype, *, field="image", scale=1, offset=0, layout="nhwc",
    ):
        """Another type, and x * scale + offset on the way; to whole numbers it truncates and saturates.

            ds.cast("f32", scale=1 / 255, layout="nchw")

        field: which field
        dtype: the type
        scale: factor, such as 1/255
        offset: added afterwards
        layout: channels last or channels first (nhwc, nchw)
        """

    @_operation
    def rescale(
        self, scale, offset=0, *, field="image",
    ):
        """x * scale + offset, as f32.

            ds.rescale(1 / 127.5, -1)

        scale: factor, such as 1/255
        offset: added afterwards
        field: which field
        """

    @_operation
    def per_image_standardization(
        self, *, field="image",
    ):
        """Mean 0 and standard deviation 1 for each picture, as f32.

            ds.per_image_standardization()

        field: which field
        """

    @_operation
    def samplewise(
        self, *, center=True, std=True, field="image",
    ):
        """Minus the picture's mean, divided by its standard deviation, as f32.

            ds.samplewise()

        center: subtract the mean; std does so in any case
        std: divide by the standard deviation + 1e-6
        field: which field
        """

    @_operation
    def featurewise(
        self, *, mean, std=None, field="image",
    ):
        """(x - mean) / (std + 1e-6) with numbers that were fitted on a data set, as f32.

            ds.featurewise(mean=(120.7, 113.9, 103.1), std=(70.5, 65.2, 68))

        mean: one number, or one a channel: 120.7,113.9,103.1
        std: the same; without it the values are centred only
        field: which field
        """

    @_operation
    def zca(
        self, *, file, field="image",
    ):
        """A small picture as one row of values, times a matrix from an .npy file, as f32.

            ds.zca(file="zca.npy")

        file: square matrix of float32 or float64, at most 4096 x 4096
        field: which field
        """

    @_operation
    def rand_augment(
        self, num_ops=2, magnitude=9, *, bins=31, interpolation="nearest", fill=0, field="image", seed=None,
    ):
        """Some of fourteen operations, drawn, all at one strength.

            ds.rand_augment()

        num_ops: how many of them, one after the other
        magnitude: their strength, a step below bins
        bins: steps from no to full strength (also called num_magnitude_bins)
        interpolation: how shears, moves and turns sample (nearest, bilinear)
        fill: what they show outside of the picture: a number from 0 to 255, or one a channel
        field: which field
        seed: operations with equal seeds draw equally; left out: each has its own draws
        """

    @_operation
    def trivial_augment_wide(
        self, *, bins=31, interpolation="nearest", fill=0, field="image", seed=None,
    ):
        """One of fourteen operations at a strength from a wide range, both drawn.

            ds.trivial_augment_wide(fill=128)

        bins: steps from no to full strength (also called num_magnitude_bins)
        interpolation: how shears, moves and turns sample (nearest, bilinear)
        fill: what they show outside of the picture: a number from 0 to 255, or one a channel
        field: which field
        seed: operations with equal seeds draw equally; left out: each has its own draws
        """

    @_operation
    def auto_augment(
        self, policy="imagenet", *, interpolation="nearest", fill=0, field="image", seed=None,
    ):
        """One of 25 pairs of operations that were found for a data set.

            ds.auto_augment("cifar10")

        policy: which data set (imagenet, cifar10, svhn)
        interpolation: how shears, moves and turns sample (nearest, bilinear)
        fill: what they show outside of the picture: a number from 0 to 255, or one a channel
        field: which field
        seed: operations with equal seeds draw equally; left out: each has its own draws
        """

    @_operation
    def augmix(
        self, *, severity=3, width=3, depth=-1, alpha=1, all_ops=True, interpolation="bilinear", fill=0, field="image",
        seed=None,
    ):
        """Mixes the picture with others that chains of operations make of it, in drawn shares.

            ds.augmix(severity=5)

        severity: how many of ten steps of strength are drawn from
        width: chains (also called mixture_width)
        depth: operations in a chain; below 1: 1 to 3, drawn (also called chain_depth)
        alpha: of the distributions that the shares are drawn from
        all_ops: also brightness, color, contrast and sharpness
        interpolation: how shears, moves and turns sample (nearest, bilinear)
        fill: what they show outside of the picture: a number from 0 to 255, or one a channel
        field: which field
        seed: operations with equal seeds draw equally; left out: each has its own draws
        """

    @_operation
    def image_data_generator(
        self, *, rotation=0, width_shift=0, height_shift=0, shear=0, zoom=0, channel_shift=0, horizontal_flip=False,
        vertical_flip=False, brightness=None, fill="nearest", cval=0, order="1", rescale=0, samplewise_center=False,
        samplewise_std=False, mean=None, std=None, flavour="keras3", field="image", seed=None,
    ):
        """All that Keras' ImageDataGenerator does to a picture, in its order, with one sampling; gives f32.

            ds.image_data_generator(rotation=20, width_shift=0.2, height_shift=0.2, shear=0.2, zoom=0.2)

        rotation: degrees: 20 is -20 to 20; or low,high (also called rotation_range)
        width_shift: share of the width below 1, else pixels; or a list to choose from (also called
            width_shift_range)
        height_shift: the same for the height (also called height_shift_range)
        shear: degrees: 10 is -10 to 10; or low,high (also called shear_range)
        zoom: 0.2 is 0.8 to 1.2 for each side, above 1 shrinks; or low,high (also called zoom_range)
        channel_shift: added to all channels, clipped to the picture's own range (also called
            channel_shift_range)
        horizontal_flip: mirror half of the pictures
        vertical_flip: turn half of them upside down
        brightness: factor low,high, by way of 8-bit values (also called brightness_range)
        fill: what lies beyond the edge (constant, nearest, reflect, wrap) (also called fill_mode)
        cval: of fill=constant: one number, or one a channel (also called fill_value)
        order: interpolation_order: 0 nearest, 1 linear, 3 cubic (1, 0, 3) (also called interpolation_order)
        rescale: factor, 0 for none
        samplewise_center: minus the picture's mean
        samplewise_std: divided by the picture's deviation, and centred (also called
            samplewise_std_normalization)
        mean: featurewise: subtracted, one number or one a channel
        std: featurewise: divided by it + 1e-6
        flavour: which axes and which middle, see the reference (keras3, keras28, fixed)
        field: which field
        seed: operations with equal seeds draw equally; left out: each has its own draws
        """

    @_operation
    def mask(
        self, field, *, image="image", fill=0,
    ):
        """From here on this field moves with a picture, by nearest values: classes of pixels stay what they
        are.

            ds.mask("mask", fill=255)

        field: the mask, decoded
        image: the picture that it belongs to
        fill: its value where a border or a warp shows nothing of the picture
        """

    @_operation
    def boxes(
        self, field, *, format="xyxy", normalized=False, image="image", min_area=0, min_visible=0, labels=None, of=None,
    ):
        """From here on these boxes move with a picture; those that leave it are taken out, or become zeros.

            ds.boxes("box", format="yxyx", normalized=True, labels="class", min_visible=0.2)

        field: four numbers a box
        format: two corners, a corner and the size, TensorFlow's order, the middle and the size (xyxy, xywh,
            yxyx, cxcywh)
        normalized: relative to the size of the picture, before and behind
        image: the picture that it belongs to
        min_area: in pixels of the result; what is smaller is lost
        min_visible: share of a box; if less of it is left, it is lost
        labels: fields with values for each of them, which go with those that are taken out
        of: four fields that the boxes are made of, in the order of format: xmin,ymin,xmax,ymax
        """

    @_operation
    def keypoints(
        self, field, *, format="xy", normalized=False, origin="corner", outside="keep", image="image", labels=None,
    ):
        """From here on these places move with a picture.

            ds.keypoints("joint", format="xyv", origin="centre")

        field: two or three numbers a place
        format: xyv: with a number that becomes 0 when the place leaves the picture, as COCO has it (xy, yx,
            xyv)
        normalized: relative to the size of the picture, before and behind
        origin: where 0,0 lies in the first pixel; centre: whole numbers are pixels (corner, centre)
        outside: those that leave the picture: as they come, zeros, or taken out (keep, zero, remove)
        image: the picture that it belongs to
        labels: fields with values for each of them, which go with those that are taken out
        """

    @_operation
    def mixup(
        self, alpha=0.2, *, group=0, p=1, labels="label", field="image", seed=None,
    ):
        """Blends each sample of a batch with the next one of its group, labels too.

            ds.mixup(0.2)

        alpha: of Beta(alpha, alpha), from which the own share is drawn
        group: samples among which partners are taken, a divisor of the batch; 0: the largest up to 16
        p: how likely
        labels: f32 labels that are mixed with the same shares; none: there are none
        field: which field
        seed: operations with equal seeds draw equally; left out: each has its own draws
        """

    @_operation
    def cutmix(
        self, alpha=1, *, group=0, p=1, labels="label", field="image", seed=None,
    ):
        """Pastes a box of the next sample of the group into each sample of a batch; labels are mixed by area.

            ds.cutmix(p=0.5)

        alpha: of Beta(alpha, alpha), from which the own share is drawn
        group: samples among which partners are taken, a divisor of the batch; 0: the largest up to 16
        p: how likely
        labels: f32 labels that are mixed with the same shares; none: there are none
        field: which field
        seed: operations with equal seeds draw equally; left out: each has its own draws
        """

    @_operation
    def batch(
        self, size=None, drop_remainder=False, *, pad_remainder=False, valid=None, global_size=None,
    ):
        """Puts consecutive samples together.

            ds.batch(128, drop_remainder=True)

        size: samples in a batch, of one rank (also called batch_size)
        drop_remainder: leave out a last batch that is not full (also called drop_last)
        pad_remainder: fill it up with repeated samples; so with several ranks in any case
        valid: name of a field that is true for real samples and false for those that fill up
        global_size: in place of size: samples in a batch of all ranks together, which they divide among them
            (also called global_batch_size)
        """

    @_operation
    def padded_batch(
        self, size=None, *shapes, padding=0, max=None, drop_remainder=False, pad_remainder=False, valid=None,
        global_size=None,
    ):
        """A batch of fields that differ in size, filled up to the largest of the batch or to a given size.

            ds.padded_batch(8, max="2000x2000", padding=114)

        size: samples in a batch, of one rank (also called batch_size)
        shapes: fields of one size in all batches: image=640x640x3; * is the largest of the batch (also called
            padded_shapes)
        padding: what fills up: a number, or such as image:255,ids:-1 (also called padding_values)
        max: the largest size there can be, where neither text nor index tells it: 2000x2000x3, or
            image:2000x2000x3
        drop_remainder: leave out a last batch that is not full (also called drop_last)
        pad_remainder: fill it up with repeated samples; so with several ranks in any case
        valid: name of a field that is true for real samples and false for those that fill up
        global_size: in place of size: samples in a batch of all ranks together, which they divide among them
            (also called global_batch_size)
        """

    @_operation
    def unbatch(
        self,
    ):
        """Takes batches apart into samples.

            ds.unbatch()
        """

    @_operation
    def rebatch(
        self, size, drop_remainder=False, *, pad_remainder=False, valid=None,
    ):
        """The samples of batches in batches of another size.

            ds.rebatch(10)

        size: samples in a batch, of one rank (also called batch_size)
        drop_remainder: leave out a last batch that is not full (also called drop_last)
        pad_remainder: fill it up with repeated samples; so with several ranks in any case
        valid: name of a field that is true for real samples and false for those that fill up
        """

    @_operation
    def bucket_by_aspect_ratio(
        self, edges, *, sizes=None, field="image",
    ):
        """Batches of pictures of like shape: buckets by width over height, batches as they become full.

            ds.bucket_by_aspect_ratio((0.75, 1.33), sizes="480x320,384x384,320x480")

        edges: width over height between buckets: 0.75,1.33
        sizes: for resize_to_bucket, height x width of each: 480x320,384x384,320x480
        field: which field
        """

    @_operation
    def prefetch(
        self, count="auto",
    ):
        """How many finished batches may wait; auto follows the consumer.

            ds.prefetch(4)

        count: a number, or auto; -1 is auto (also called buffer_size)
        """

    @_operation
    def on_device(
        self, *, field="image",
    ):
        """What follows for the picture is drawn but not done: the u8 picture goes out with a field `drawn`
        that tells another device what to do.

            ds.on_device()

        field: which field
        """

    @_operation
    def cache(
        self, path=None, *, max=0, freeze=False,
    ):
        """Keeps the samples as they are here, by their numbers, in memory or in a directory; later epochs
        take them from there.

            ds.cache()

        path: a directory, which is made; left out: in memory (also called filename)
        max: bytes, such as 4GiB; 0: half of the memory budget, or as much as the disk has
        freeze: true: random operations may stand before it; they draw once for each sample, for ever
        """

    @_operation
    def options(
        self, *, on_error=None, max_bad=None, seed=None, fuse=True, positions=True, accuracy="exact", layout="nhwc",
        unit="off", read_ahead="auto", tune="auto",
    ):
        """Settings of the whole pipeline; may stand anywhere.

            ds.options(on_error="skip", seed=3)

        on_error: what a bad sample does (raise, skip, replace)
        max_bad: bad samples of an epoch after which it fails all the same; 0: any number
        seed: its own seed; without it the pipeline's
        fuse: off: every operation by itself, with the same results
        positions: off: where rows of a JPEG begin is not remembered for its next crop; same results
        accuracy: fast: libjpeg's fast IDCT, as TensorFlow decodes by default (exact, fast)
        layout: nchw: pictures and masks leave with channels first, whatever the operations before (nhwc,
            nchw)
        unit: pictures of bytes, 0 to 255, leave as this type from 0 to 1; not masks, nor what cast, rescale
            or normalize has made (off, f32, f16, bf16)
        read_ahead: threads that read what comes next; auto: when storage is slow; off: none
        tune: off: nothing changes during the run; 'threads=2 slots=6 read_ahead=0': what a run before has
            found, see leat_pipeline_tuning
        """
