# SPDX-License-Identifier: Apache-2.0
"""The table of operations: what methods there are, and what they take.

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
    help: str = ""


class Op(NamedTuple):
    kind: str
    help: str
    like: str
    args: tuple[Arg, ...] = ()


FIELD = Arg("field", "field", "image", (), 0, 0, True, "which field")

# fmt: off
OPS: dict[str, Op] = {
    "folder": Op("source", "Images in a directory tree; the label is the number of the top-level sub-directory in sorted order.",
        "keras.utils.image_dataset_from_directory, keras ImageDataGenerator.flow_from_directory, torchvision datasets.ImageFolder", (
            Arg("path", "text", None, (), 0, 0, False, "the directory"),
            Arg("labels", "word", "auto", ("auto", "dir", "none"), 0, 0, True, "auto: labels if there are sub-directories with images"),
            Arg("follow_links", "bool", "false", (), 0, 0, True, "enter directories that are symbolic links"),
        )),
    "tfrecord": Op("source", "Records of TFRecord files; both checksums are checked. GZIP and ZLIB are detected and streamed.",
        "tf.data.TFRecordDataset", (
            Arg("files", "texts", None, (), 0, 0, False, "names and patterns such as train-*.tfrecord"),
            Arg("max_bytes", "int", "0", (), 0, 268435456, True, "compressed files: bytes of the largest record, when undecoded bytes go into the batch"),
        )),
    "arrays": Op("source", "Slices along axis 0 of memory that the program gives with leat_spec_arrays.",
        "tf.data.Dataset.from_tensor_slices, keras ImageDataGenerator.flow, torch.utils.data.TensorDataset", (
        )),
    "synth": Op("source", "Pictures made up on the spot, with labels: for tests and measurements.",
        "torchvision datasets.FakeData", (
            Arg("n", "int", "1000", (), 1, 1000000000000000, False, "how many"),
            Arg("height", "int", "64", (), 1, 65535, False, "in pixels"),
            Arg("width", "int", "64", (), 1, 65535, False, "in pixels"),
            Arg("channels", "int", "3", (), 1, 4, False, "of a pixel"),
            Arg("classes", "int", "10", (), 1, 1000000, True, "number of labels"),
            Arg("seed", "int", "", (), 0, 0, True, "its own seed; without it the pipeline's"),
        )),
    "list": Op("source", "Files that a CSV table names, one row a sample, with columns of labels and weights.",
        "keras ImageDataGenerator.flow_from_dataframe, tf.data.experimental.make_csv_dataset, tf.data.experimental.CsvDataset", (
            Arg("file", "text", None, (), 0, 0, False, "the table"),
            Arg("path", "text", "", (), 0, 0, True, "column of the paths, by name or number from 0; else path, file, filename, image or the first"),
            Arg("label", "text", "", (), 0, 0, True, "columns of labels, separated by commas, or none; else label or class, without a header the second"),
            Arg("weight", "text", "", (), 0, 0, True, "column of weights, numbers"),
            Arg("root", "text", "", (), 0, 0, True, "where relative paths begin; else the folder of the table"),
            Arg("header", "word", "auto", ("auto", "true", "false"), 0, 0, True, "whether the first row holds names; auto: if columns are named, or its path is no file name"),
            Arg("separator", "text", ",", (), 0, 0, True, "of cells: one character, or tab"),
            Arg("check", "bool", "false", (), 0, 0, True, "look for every file when the pipeline is opened"),
            Arg("max_bytes", "int", "0", (), 0, 268435456, True, "bytes of the largest file, when undecoded bytes go into the batch; check=true finds out"),
        )),
    "cifar": Op("source", "Binary files of CIFAR-10 or CIFAR-100: pictures of 32x32x3 bytes with one or two labels.",
        "keras.datasets.cifar10.load_data, keras.datasets.cifar100.load_data, torchvision datasets.CIFAR10, torchvision datasets.CIFAR100", (
            Arg("files", "texts", None, (), 0, 0, False, "names and patterns such as data_batch_*.bin"),
            Arg("kind", "word", "10", ("10", "100"), 0, 0, True, "10: label; 100: coarse and fine"),
        )),
    "fixed": Op("source", "Records of one length in files, between a header and a footer.",
        "tf.data.FixedLengthRecordDataset", (
            Arg("files", "texts", None, (), 0, 0, False, "names and patterns"),
            Arg("bytes", "int", None, (), 1, 268435456, True, "of a record"),
            Arg("header", "int", "0", (), 0, 1000000000000000000, True, "bytes at the beginning of each file that are no records"),
            Arg("footer", "int", "0", (), 0, 1000000000000000000, True, "bytes at its end"),
        )),
    "npy": Op("source", "Slices along axis 0 of arrays in .npy and .npz files; each array is a field.",
        "tf.data.Dataset.from_tensor_slices, keras ImageDataGenerator.flow, torch.utils.data.TensorDataset", (
            Arg("files", "texts", None, (), 0, 0, False, "such as image=x.npy label=y.npy, data.npz, or image=data.npz:x"),
        )),
    "source": Op("source", "Samples that the program reads itself, by callbacks that it gives with leat_spec_source.",
        "keras.utils.PyDataset, torch.utils.data.Dataset", (
        )),
    "stream": Op("source", "Records that the program reads one after the other, by callbacks that it gives with leat_spec_stream.",
        "tf.data.Dataset.from_generator, torch.utils.data.IterableDataset", (
        )),
    "concatenate": Op("source", "Several data sets with the same fields, one after the other.",
        "tf.data.Dataset.concatenate, torch.utils.data.ConcatDataset", (
            Arg("texts", "texts", None, (), 0, 0, False, "pipelines in quotes, such as 'folder a | take 100'"),
        )),
    "sample_from": Op("source", "Several data sets mixed by drawing, each with its weight and in its own order.",
        "tf.data.Dataset.sample_from_datasets", (
            Arg("texts", "texts", None, (), 0, 0, False, "pipelines in quotes, such as 'folder a | take 100'"),
            Arg("weights", "text", "", (), 0, 0, True, "one number for each, such as 0.7,0.3; else all alike"),
            Arg("stop_on_empty", "bool", "false", (), 0, 0, True, "true: the end is where one that has no more would come; else the others go on alone"),
            Arg("rerandomize", "bool", "false", (), 0, 0, True, "true: other choices in every epoch"),
            Arg("seed", "int", "", (), 0, 0, True, "its own seed; without it the pipeline's"),
        )),
    "choose_from": Op("source", "Several data sets mixed by a pattern, each in its own order.",
        "tf.data.Dataset.choose_from_datasets", (
            Arg("texts", "texts", None, (), 0, 0, False, "pipelines in quotes, such as 'folder a | take 100'"),
            Arg("pattern", "text", None, (), 0, 0, True, "numbers of data sets from 0 on, such as 0,0,1, again and again"),
            Arg("stop_on_empty", "bool", "true", (), 0, 0, True, "true: the end is where one that has no more would come; else the others go on alone"),
        )),
    "zip": Op("source", "Samples made of one sample of each of several data sets, such as pictures and their masks.",
        "tf.data.Dataset.zip, torch.utils.data.StackDataset", (
            Arg("texts", "texts", None, (), 0, 0, False, "such as image='folder images' mask='folder masks'"),
            Arg("stop", "word", "equal", ("equal", "shortest"), 0, 0, True, "equal: lengths must be; shortest: what others have more is left out"),
        )),
    "shuffle": Op("order", "Another order in every epoch: of all samples, within windows of consecutive ones, or by blocks.",
        "tf.data.Dataset.shuffle, keras.utils.image_dataset_from_directory(shuffle), keras ImageDataGenerator.flow(shuffle), torch.utils.data.RandomSampler, torch.utils.data.DataLoader(shuffle)", (
            Arg("window", "int", "0", (), 0, 1000000000000000, False, "0: all samples at once (streams: 4096); else this many at a time"),
            Arg("block", "int", "0", (), 0, 1000000000000000, True, "for storage that wants to be read in order: bytes of consecutive samples that stay together, such as 4MiB; 0: none do"),
            Arg("group", "int", "16", (), 1, 1000000000, True, "with block: so many blocks are shuffled together"),
            Arg("seed", "int", "", (), 0, 0, True, "its own seed; without it the pipeline's"),
            Arg("reshuffle", "bool", "true", (), 0, 0, True, "false: the same order in every epoch"),
        )),
    "take": Op("order", "The first samples only.",
        "tf.data.Dataset.take, torch.utils.data.Subset", (
            Arg("count", "int", None, (), -1, 1000000000000000000, False, "how many; -1: all"),
        )),
    "skip": Op("order", "All but the first samples.",
        "tf.data.Dataset.skip, torch.utils.data.Subset", (
            Arg("count", "int", None, (), -1, 1000000000000000000, False, "how many to leave out; -1: all"),
        )),
    "shard": Op("order", "Every n-th sample, beginning with number i: shard i/n; shard auto: this rank's part of each batch.",
        "tf.data.Dataset.shard, torch.utils.data.DistributedSampler", (
            Arg("part", "text", None, (), 0, 0, False, "such as 0/4; auto: as the launcher's environment says"),
        )),
    "repeat": Op("order", "Begins again, count times or without end.",
        "tf.data.Dataset.repeat", (
            Arg("count", "int", "-1", (), -1, 1000000000000000, False, "-1: without end"),
        )),
    "interleave": Op("order", "Records of several shards in turn: so many shards at a time, so many records of each.",
        "tf.data.Dataset.interleave, tf.data.TFRecordDataset(num_parallel_reads)", (
            Arg("cycle", "int", "16", (), 1, 65536, False, "shards at a time"),
            Arg("block", "int", "1", (), 1, 1000000000, False, "records of each in turn"),
        )),
    "flat_map": Op("order", "Shards one after the other, which is the order without it: interleave cycle=1.",
        "tf.data.Dataset.flat_map, torch.utils.data.ChainDataset", (
        )),
    "filter": Op("order", "Keeps the samples for which a condition on their numbers holds.",
        "tf.data.Dataset.filter, torch.utils.data.Subset", (
            Arg("where", "texts", "", (), 0, 0, False, "such as label == 3, \"label in 1,2,5\", \"width >= 200 and not (label == 0 or label == cats)\""),
            Arg("callback", "text", "", (), 0, 0, True, "a function that the program gave with leat_spec_filter, instead of a condition"),
        )),
    "balance": Op("order", "Every class equally often, or by weights, each going through its own samples in its own drawn order.",
        "torch.utils.data.WeightedRandomSampler", (
            Arg("field", "field", "label", (), 0, 0, False, "the field whose values are the classes"),
            Arg("weights", "text", "", (), 0, 0, True, "how often each class comes, by rising label: 0.5,0.3,0.2"),
            Arg("n", "int", "0", (), 0, 1000000000000000, True, "samples in an epoch; 0: the size of the largest class times the number of classes"),
            Arg("seed", "int", "", (), 0, 0, True, "its own seed; without it the pipeline's"),
        )),
    "oversample": Op("order", "Classes in turn, each repeated up to the size of the largest.",
        "", (
            Arg("field", "field", "label", (), 0, 0, False, "the field whose values are the classes"),
        )),
    "rejection_resample": Op("order", "Leaves out samples so that classes come in the proportions of target.",
        "tf.data.Dataset.rejection_resample", (
            Arg("field", "field", "label", (), 0, 0, False, "the field whose values are the classes"),
            Arg("target", "text", "", (), 0, 0, True, "proportions by rising label, such as 0.5,0.5; left out: all equal"),
            Arg("initial", "text", "", (), 0, 0, True, "streams need it, others count and refuse it: the proportions that are there, for labels from 0"),
            Arg("seed", "int", "", (), 0, 0, True, "its own seed; without it the pipeline's"),
        )),
    "split": Op("order", "One part of the samples; the same text with another part gives the rest.",
        "keras.utils.split_dataset, keras.utils.image_dataset_from_directory(validation_split), keras ImageDataGenerator(validation_split), torch.utils.data.random_split", (
            Arg("part", "word", None, ("train", "validation", "test"), 0, 0, False, "which one"),
            Arg("fractions", "text", "0.8,0.2", (), 0, 0, True, "shares of train, validation and test"),
            Arg("by", "word", "random", ("random", "hash", "order", "keras_first", "keras_last"), 0, 0, True, "hash: of the path or the record, stable when files are added; order: the first are for train"),
            Arg("stratify", "bool", "false", (), 0, 0, True, "keep the shares in every class"),
            Arg("group", "text", "", (), 0, 0, True, "a field whose equal values stay together; dir: files of one folder do"),
            Arg("field", "field", "label", (), 0, 0, True, "the classes of stratify"),
            Arg("seed", "int", "", (), 0, 0, True, "its own seed, 0 if left out: the pipeline's seed does not count"),
        )),
    "parse": Op("sample", "Features of a tf.train.Example: name:type, name:type[shape], name:type[*] (any number), with =default.",
        "tf.io.parse_single_example, tf.io.parse_example, tf.io.FixedLenFeature, tf.io.VarLenFeature, tf.io.RaggedFeature", (
            Arg("features", "texts", None, (), 0, 0, False, "such as image:bytes label:int64 box:float[4] ids:int64[*100] weight:float=1"),
            Arg("from", "field", "record", (), 0, 0, True, "the field that is parsed"),
        )),
    "reshape": Op("sample", "Gives a field another shape with as many values; one -1 means what is left.",
        "tf.reshape, keras.ops.reshape, keras.layers.Reshape", (
            Arg("field", "field", "image", (), 0, 0, False, "which field"),
            Arg("shape", "ints", None, (), -1, 1000000000000, False, "sizes of the axes"),
        )),
    "select": Op("sample", "Keeps these fields, in this order.",
        "", (
            Arg("fields", "texts", None, (), 0, 0, False, "their names"),
        )),
    "enumerate": Op("sample", "Adds a field with the place of the sample in the epoch, or with its number in the data set.",
        "tf.data.Dataset.enumerate", (
            Arg("name", "text", "index", (), 0, 0, False, "of the new field, i64"),
            Arg("of", "word", "position", ("position", "sample"), 0, 0, True, "position: in the finished order, from 0; sample: in the data set"),
        )),
    "map": Op("sample", "Fields that a function of the program makes of the sample: name:type or name:type[sizes].",
        "tf.data.Dataset.map, keras.layers.Lambda, keras ImageDataGenerator(preprocessing_function), torchvision Lambda", (
            Arg("fields", "texts", None, (), 0, 0, False, "what it makes, such as score:f32 image:u8[32,32,3]; one that is there already is replaced"),
            Arg("callback", "text", None, (), 0, 0, True, "the function that the program gave with leat_spec_map"),
        )),
    "label_map": Op("sample", "Other numbers for labels: FROM=TO pairs, or a file of them.",
        "tf.lookup.StaticHashTable, keras.layers.IntegerLookup, keras.layers.StringLookup, torchvision datasets.ImageFolder(target_transform)", (
            Arg("map", "text", "", (), 0, 0, False, "such as 3=0,5=1; with names of classes in quotes: 'cats=0,dogs=1'"),
            Arg("file", "text", "", (), 0, 0, True, "a text file with a pair in each line"),
            Arg("default", "text", "", (), 0, 0, True, "for labels that are not in the map; else they are errors"),
            Arg("field", "field", "label", (), 0, 0, True, "which field"),
        )),
    "one_hot": Op("sample", "A label to f32 numbers, one for each class: 1 for its own, 0 for the others; smoothed if asked.",
        "tf.one_hot, keras.ops.one_hot, keras.utils.to_categorical, keras.layers.CategoryEncoding(output_mode=\"one_hot\"), keras.losses.CategoricalCrossentropy(label_smoothing)", (
            Arg("field", "field", "label", (), 0, 0, False, "which field"),
            Arg("classes", "int", "0", (), 0, 16777216, False, "how many; 0: as many as the source knows"),
            Arg("smoothing", "number", "0", (), 0, 1, True, "share that is spread over all classes"),
            Arg("off", "number", "0", (), 0, 0, True, "for other classes"),
            Arg("on", "number", "1", (), 0, 0, True, "for its own class"),
        )),
    "decode": Op("image", "An image file (JPEG, PNG, WebP, GIF, BMP, told by content) to u8 or u16 pixels.",
        "tf.io.decode_image, tf.io.decode_jpeg, tf.io.decode_png, tf.io.decode_gif, tf.io.decode_bmp, tf.io.decode_webp, tf.io.decode_and_crop_jpeg, keras.utils.load_img, torchvision io.decode_image, PIL.Image.open", (
            Arg("field", "field", "image", (), 0, 0, False, "which field"),
            Arg("channels", "int", "3", (), 0, 4, True, "1 gray, 3 RGB, 4 RGBA, 0 as stored"),
            Arg("orient", "bool", "false", (), 0, 0, True, "turn the picture as its EXIF data says"),
            Arg("depth", "word", "8", ("8", "16"), 0, 0, True, "16: u16 pixels; files of 8 bits are multiplied by 257"),
            Arg("palette", "word", "colour", ("colour", "index"), 0, 0, True, "index: the numbers that a PNG with a palette stores, one channel; for masks"),
        )),
    "decode_raw": Op("sample", "Takes bytes as values of a type, little-endian.",
        "tf.io.decode_raw", (
            Arg("field", "field", "image", (), 0, 0, False, "which field"),
            Arg("dtype", "dtype", None, (), 0, 0, False, "type of the values"),
        )),
    "adjust_jpeg_quality": Op("image", "Encodes as JPEG and decodes again, for the noise that this leaves.",
        "tf.image.adjust_jpeg_quality, torchvision functional.jpeg", (
            Arg("quality", "int", None, (), 0, 100, False, "0 to 100"), FIELD,
        )),
    "random_jpeg_quality": Op("image", "The same with a whole number drawn from [lower, upper).",
        "tf.image.random_jpeg_quality, tf.image.stateless_random_jpeg_quality, torchvision JPEG", (
            Arg("lower", "int", None, (), 0, 100, False, "least quality"),
            Arg("upper", "int", None, (), 0, 100, False, "above the best quality"), FIELD,
        )),
    "resize": Op("image", "Another size; flavour tf gives f32 (nearest keeps the type), flavour pil is antialiased and gives u8.",
        "tf.image.resize, keras.layers.Resizing, keras.ops.image.resize, keras.preprocessing.image.smart_resize, torchvision Resize, PIL.Image.Image.resize", (
            Arg("height", "int", None, (), 1, 65535, False, "in pixels"),
            Arg("width", "int", "", (), 1, 65535, False, "in pixels; as the height if left out"),
            Arg("method", "word", "bilinear", ("bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic", "box", "hamming", "lanczos"), 0, 0, True, "interpolation; pil has nearest, box, bilinear, hamming, bicubic, lanczos; tf all but the last three"),
            Arg("flavour", "word", "tf", ("tf", "pil", "keras"), 0, 0, True, "whose arithmetic: tf.image.resize, Pillow, or tf rounded back to u8"),
            Arg("antialias", "bool", "false", (), 0, 0, True, "widen the filter when the picture shrinks; pil always does"),
            Arg("crop_to_aspect_ratio", "bool", "false", (), 0, 0, True, "only the largest part in the middle that has the shape of the result"),
            Arg("pad_to_aspect_ratio", "bool", "false", (), 0, 0, True, "with a border first that gives it the shape of the result"),
            Arg("fill", "text", "0", (), 0, 0, True, "of a constant border: one number, or one a channel, in the picture's units"),
            FIELD,
        )),
    "resize_with_crop_or_pad": Op("image", "This size by cutting off or adding zeros, the same on both sides; values stay as they are.",
        "tf.image.resize_with_crop_or_pad, torchvision CenterCrop", (
            Arg("height", "int", None, (), 1, 65535, False, "in pixels"),
            Arg("width", "int", "", (), 1, 65535, False, "in pixels; as the height if left out"), FIELD,
        )),
    "resize_with_pad": Op("image", "Resized to fit into this size with its aspect ratio, with zeros around it.",
        "tf.image.resize_with_pad, keras.utils.image_dataset_from_directory(pad_to_aspect_ratio), PIL.ImageOps.pad", (
            Arg("height", "int", None, (), 1, 65535, False, "in pixels"),
            Arg("width", "int", "", (), 1, 65535, False, "in pixels; as the height if left out"),
            Arg("method", "word", "bilinear", ("bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic"), 0, 0, True, "interpolation of tf.image.resize"),
            Arg("antialias", "bool", "false", (), 0, 0, True, "widen the filter when the picture shrinks"), FIELD,
        )),
    "resize_shorter": Op("image", "Resized with its aspect ratio so that the shorter side has this length; a crop usually follows.",
        "torchvision Resize", (
            Arg("size", "int", None, (), 1, 65535, False, "of the shorter side, in pixels"),
            Arg("max_size", "int", "0", (), 0, 65535, True, "most pixels of the longer side; 0: any"),
            Arg("method", "word", "bilinear", ("bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic", "box", "hamming", "lanczos"), 0, 0, True, "interpolation; pil has nearest, box, bilinear, hamming, bicubic, lanczos; tf all but the last three"),
            Arg("flavour", "word", "pil", ("pil", "tf"), 0, 0, True, "whose resize: Pillow's, antialiased, u8; or tf.image.resize, f32"),
            Arg("antialias", "bool", "false", (), 0, 0, True, "widen the filter when the picture shrinks"), FIELD,
        )),
    "resize_to_bucket": Op("image", "The size that bucket_by_aspect_ratio gives to the batch of the picture.",
        "", (
            Arg("method", "word", "bilinear", ("bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic", "box", "hamming", "lanczos"), 0, 0, True, "interpolation; pil has nearest, box, bilinear, hamming, bicubic, lanczos; tf all but the last three"),
            Arg("flavour", "word", "pil", ("pil", "tf"), 0, 0, True, "whose resize: Pillow's, antialiased, u8; or tf.image.resize, f32"),
            Arg("antialias", "bool", "false", (), 0, 0, True, "widen the filter when the picture shrinks"),
            Arg("crop_to_aspect_ratio", "bool", "false", (), 0, 0, True, "only the largest part in the middle that has the shape of the result"),
            Arg("pad_to_aspect_ratio", "bool", "false", (), 0, 0, True, "with a border first that gives it the shape of the result"),
            Arg("fill", "text", "0", (), 0, 0, True, "of a constant border: one number, or one a channel, in the picture's units"),
            FIELD,
        )),
    "crop_to_bounding_box": Op("image", "The part of a given size at a given place; only that part is decoded.",
        "tf.image.crop_to_bounding_box, keras.ops.image.crop_images, keras.layers.Cropping2D, torchvision functional.crop, PIL.Image.Image.crop", (
            Arg("y", "int", None, (), 0, 65535, False, "rows above it"),
            Arg("x", "int", None, (), 0, 65535, False, "columns to its left"),
            Arg("height", "int", None, (), 1, 65535, False, "in pixels"),
            Arg("width", "int", "", (), 1, 65535, False, "in pixels; as the height if left out"), FIELD,
        )),
    "central_crop": Op("image", "The middle part, a share of each side; only that part is decoded.",
        "tf.image.central_crop", (
            Arg("fraction", "number", None, (), 0, 1, False, "of height and of width"), FIELD,
        )),
    "center_crop": Op("image", "The middle part, of a given size; only that part is decoded.",
        "keras.layers.CenterCrop, torchvision CenterCrop", (
            Arg("height", "int", None, (), 1, 65535, False, "in pixels"),
            Arg("width", "int", "", (), 1, 65535, False, "in pixels; as the height if left out"), FIELD,
        )),
    "random_crop": Op("image", "A part of a given size at a drawn place; only that part is decoded.",
        "tf.image.random_crop, tf.image.stateless_random_crop, keras.layers.RandomCrop, torchvision RandomCrop", (
            Arg("height", "int", None, (), 1, 65535, False, "in pixels"),
            Arg("width", "int", "", (), 1, 65535, False, "in pixels; as the height if left out"),
            Arg("padding", "int", "0", (), 0, 30000, True, "a border of so many pixels first"),
            Arg("mode", "word", "constant", ("constant", "edge", "reflect", "symmetric"), 0, 0, True, "what the border shows"),
            Arg("fill", "text", "0", (), 0, 0, True, "of a constant border: one number, or one a channel, in the picture's units"),
            FIELD,
        )),
    "random_resized_crop": Op("image", "A part of drawn area, aspect ratio and place, resized; only that part is decoded.",
        "torchvision RandomResizedCrop", (
            Arg("height", "int", None, (), 1, 65535, False, "in pixels"),
            Arg("width", "int", "", (), 1, 65535, False, "in pixels; as the height if left out"),
            Arg("scale", "text", "0.08,1", (), 0, 0, True, "share of the area, from,to"),
            Arg("ratio", "text", "3/4,4/3", (), 0, 0, True, "width over height, from,to"),
            Arg("method", "word", "bilinear", ("bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic", "box", "hamming", "lanczos"), 0, 0, True, "interpolation; pil has nearest, box, bilinear, hamming, bicubic, lanczos; tf all but the last three"),
            Arg("flavour", "word", "pil", ("pil", "tf"), 0, 0, True, "whose resize: Pillow's, antialiased, u8; or tf.image.resize, f32"),
            FIELD,
        )),
    "sample_distorted_bounding_box": Op("image", "A part of drawn height, aspect ratio and place as TensorFlow draws it, resized; only that part is decoded.",
        "tf.image.sample_distorted_bounding_box, tf.image.stateless_sample_distorted_bounding_box", (
            Arg("height", "int", None, (), 1, 65535, False, "in pixels"),
            Arg("width", "int", "", (), 1, 65535, False, "in pixels; as the height if left out"),
            Arg("area", "text", "0.05,1", (), 0, 0, True, "share of the picture's area, from,to"),
            Arg("ratio", "text", "0.75,1.33", (), 0, 0, True, "width over height, from,to"),
            Arg("attempts", "int", "100", (), 1, 10000, True, "then the whole picture is taken"),
            Arg("covered", "number", "0.1", (), 0, 1, True, "least share of the picture, or of one of its boxes, as min_object_covered"),
            Arg("box_field", "field", "", (), 0, 0, True, "boxes of which at least one is covered; without it the whole picture"),
            Arg("method", "word", "bilinear", ("bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic"), 0, 0, True, "interpolation of tf.image.resize"),
            Arg("antialias", "bool", "false", (), 0, 0, True, "widen the filter when the picture shrinks"), FIELD,
        )),
    "pad": Op("image", "A border around the picture.",
        "tf.image.pad_to_bounding_box, tf.pad, keras.ops.image.pad_images, keras.layers.ZeroPadding2D, torchvision Pad, PIL.ImageOps.expand", (
            Arg("top", "int", None, (), 0, 65535, False, "rows"),
            Arg("bottom", "int", "", (), 0, 65535, False, "rows; as top if left out"),
            Arg("left", "int", "", (), 0, 65535, False, "columns; as top if left out"),
            Arg("right", "int", "", (), 0, 65535, False, "columns; as left if left out"),
            Arg("mode", "word", "constant", ("constant", "edge", "reflect", "symmetric"), 0, 0, True, "what the border shows"),
            Arg("fill", "text", "0", (), 0, 0, True, "of a constant border: one number, or one a channel, in the picture's units"),
            FIELD,
        )),
    "random_flip_left_right": Op("image", "Mirrors left and right, by chance.",
        "tf.image.random_flip_left_right, tf.image.stateless_random_flip_left_right, tf.image.flip_left_right, keras.layers.RandomFlip(mode=\"horizontal\"), keras ImageDataGenerator(horizontal_flip), torchvision RandomHorizontalFlip", (
            Arg("p", "number", "0.5", (), 0, 1, False, "how likely"), FIELD,
        )),
    "random_flip_up_down": Op("image", "Mirrors top and bottom, by chance.",
        "tf.image.random_flip_up_down, tf.image.stateless_random_flip_up_down, tf.image.flip_up_down, keras.layers.RandomFlip(mode=\"vertical\"), keras ImageDataGenerator(vertical_flip), torchvision RandomVerticalFlip", (
            Arg("p", "number", "0.5", (), 0, 1, False, "how likely"), FIELD,
        )),
    "random_flip": Op("image", "Mirrors half of the pictures; with both directions, one coin decides about both.",
        "keras.layers.RandomFlip", (
            Arg("mode", "word", "horizontal_and_vertical", ("horizontal_and_vertical", "horizontal", "vertical"), 0, 0, False, "which way"),
            FIELD,
        )),
    "rot90": Op("image", "Turned counter-clockwise by quarters.",
        "tf.image.rot90, keras.ops.rot90, PIL.Image.Image.transpose", (
            Arg("k", "int", "1", (), -1000, 1000, False, "how many quarters; below 0: clockwise"), FIELD,
        )),
    "transpose": Op("image", "Rows become columns.",
        "tf.image.transpose, PIL.Image.Image.transpose", (
            FIELD,
        )),
    "random_rotation": Op("image", "Turns the picture about its middle, counter-clockwise for positive numbers.",
        "keras.layers.RandomRotation", (
            Arg("factor", "text", None, (), 0, 0, False, "share of a full turn: 0.1 is up to 36 degrees either way; or low,high"),
            Arg("fill", "word", "reflect", ("constant", "nearest", "reflect", "wrap"), 0, 0, True, "what lies beyond the edge"),
            Arg("interpolation", "word", "bilinear", ("nearest", "bilinear"), 0, 0, True, "nearest keeps the type, bilinear gives f32"),
            Arg("value", "text", "0", (), 0, 0, True, "of fill=constant: one number, or one a channel"), FIELD,
        )),
    "random_zoom": Op("image", "Shrinks (positive numbers) or enlarges (negative ones) the picture about its middle.",
        "keras.layers.RandomZoom", (
            Arg("height_factor", "text", None, (), 0, 0, False, "change of the height: 0.2 is -20 % to +20 %; or low,high"),
            Arg("width_factor", "text", "", (), 0, 0, False, "the same for the width; without it both change alike"),
            Arg("fill", "word", "reflect", ("constant", "nearest", "reflect", "wrap"), 0, 0, True, "what lies beyond the edge"),
            Arg("interpolation", "word", "bilinear", ("nearest", "bilinear"), 0, 0, True, "nearest keeps the type, bilinear gives f32"),
            Arg("value", "text", "0", (), 0, 0, True, "of fill=constant: one number, or one a channel"), FIELD,
        )),
    "random_translation": Op("image", "Moves the picture, down and to the right for positive numbers.",
        "keras.layers.RandomTranslation", (
            Arg("height_factor", "text", None, (), 0, 0, False, "share of the height; 0.2 is up to 20 % either way; or low,high"),
            Arg("width_factor", "text", None, (), 0, 0, False, "share of the width"),
            Arg("fill", "word", "reflect", ("constant", "nearest", "reflect", "wrap"), 0, 0, True, "what lies beyond the edge"),
            Arg("interpolation", "word", "bilinear", ("nearest", "bilinear"), 0, 0, True, "nearest keeps the type, bilinear gives f32"),
            Arg("value", "text", "0", (), 0, 0, True, "of fill=constant: one number, or one a channel"), FIELD,
        )),
    "random_shear": Op("image", "Slants the picture about its upper left corner; both directions have the same drawn sign.",
        "keras.layers.RandomShear", (
            Arg("x_factor", "text", "0", (), 0, 0, False, "pixels to the side for each one down, 0 to 1; or low,high"),
            Arg("y_factor", "text", "0", (), 0, 0, False, "pixels down for each one to the side"),
            Arg("fill", "word", "reflect", ("constant", "nearest", "reflect", "wrap"), 0, 0, True, "what lies beyond the edge"),
            Arg("interpolation", "word", "bilinear", ("nearest", "bilinear"), 0, 0, True, "nearest keeps the type, bilinear gives f32"),
            Arg("value", "text", "0", (), 0, 0, True, "of fill=constant: one number, or one a channel"), FIELD,
        )),
    "random_perspective": Op("image", "Moves the corners of the picture but the upper left one; outside lies a constant.",
        "keras.layers.RandomPerspective", (
            Arg("factor", "text", "1", (), 0, 0, False, "how likely, drawn from 0,factor or low,high"),
            Arg("scale", "number", "1", (), 0, 1, False, "how far corners move"),
            Arg("interpolation", "word", "bilinear", ("nearest", "bilinear"), 0, 0, True, "nearest keeps the type, bilinear gives f32"),
            Arg("value", "text", "0", (), 0, 0, True, "of fill=constant: one number, or one a channel"), FIELD,
        )),
    "random_elastic_transform": Op("image", "Pulls the picture about as if it were of rubber.",
        "keras.layers.RandomElasticTransform", (
            Arg("factor", "text", "1", (), 0, 0, False, "how likely, drawn from 0,factor or low,high"),
            Arg("scale", "text", "1", (), 0, 0, False, "how strong, drawn from 0,scale or low,high"),
            Arg("range", "text", "0,255", (), 0, 0, True, "what f32 results are clipped to"),
            Arg("flavour", "word", "keras", ("keras", "fixed"), 0, 0, True, "keras moves both axes by the same noise, fixed each by its own"),
            Arg("fill", "word", "reflect", ("constant", "nearest", "reflect", "wrap"), 0, 0, True, "what lies beyond the edge"),
            Arg("interpolation", "word", "bilinear", ("nearest", "bilinear"), 0, 0, True, "nearest keeps the type, bilinear gives f32"),
            Arg("value", "text", "0", (), 0, 0, True, "of fill=constant: one number, or one a channel"), FIELD,
        )),
    "affine": Op("image", "Any mix of flips, zoom, shear, rotation, shift and perspective about the middle, in one sampling.",
        "", (
            Arg("rotate", "text", "0", (), 0, 0, True, "degrees counter-clockwise: 20 is -20 to 20; or low,high"),
            Arg("shear_x", "text", "0", (), 0, 0, True, "degrees: the lower half goes to the right"),
            Arg("shear_y", "text", "0", (), 0, 0, True, "degrees: the right half goes down"),
            Arg("zoom", "text", "0", (), 0, 0, True, "0.2 is a factor from 0.8 to 1.2, above 1 enlarges; or low,high"),
            Arg("zoom_x", "text", "0", (), 0, 0, True, "the same for the width alone"),
            Arg("zoom_y", "text", "0", (), 0, 0, True, "the same for the height alone"),
            Arg("shift_x", "text", "0", (), 0, 0, True, "share of the width, to the right"),
            Arg("shift_y", "text", "0", (), 0, 0, True, "share of the height, down"),
            Arg("flip_x", "number", "0", (), 0, 1, True, "how likely left and right change places"),
            Arg("flip_y", "number", "0", (), 0, 1, True, "how likely top and bottom change places"),
            Arg("perspective", "number", "0", (), 0, 1, True, "corners move by up to half this share of the sides"),
            Arg("order", "word", "1", ("1", "0", "3"), 0, 0, True, "of the spline: 0 takes the nearest pixel and keeps the type, 1 is linear, 3 cubic"),
            Arg("fill", "word", "reflect", ("constant", "nearest", "reflect", "wrap"), 0, 0, True, "what lies beyond the edge"),
            Arg("value", "text", "0", (), 0, 0, True, "of fill=constant: one number, or one a channel"), FIELD,
        )),
    "random_affine": Op("image", "Rotation, shift, scale and shear of a u8 picture in one sampling, as Pillow does it.",
        "torchvision RandomAffine", (
            Arg("degrees", "text", None, (), 0, 0, False, "clockwise: 20 is -20 to 20; or low,high"),
            Arg("translate", "text", "0,0", (), 0, 0, True, "largest shift x,y as shares of width and height"),
            Arg("scale", "text", "1,1", (), 0, 0, True, "from,to; above 1 enlarges"),
            Arg("shear", "text", "0,0", (), 0, 0, True, "degrees: one number, low,high or x_low,x_high,y_low,y_high"),
            Arg("interpolation", "word", "nearest", ("nearest", "bilinear"), 0, 0, True, "both give u8"),
            Arg("value", "text", "0", (), 0, 0, True, "of fill=constant: one number, or one a channel"), FIELD,
        )),
    "adjust_brightness": Op("image", "Adds a number to all values; u8 counts as 0 to 1 and is clipped.",
        "tf.image.adjust_brightness, torchvision functional.adjust_brightness, PIL.ImageEnhance.Brightness", (
            Arg("delta", "number", None, (), -1000000, 1000000, False, "what is added; keras: a share of the range; pil: a factor"),
            Arg("flavour", "word", "tf", ("tf", "keras", "pil"), 0, 0, True, "tf keeps the type; keras gives f32 as the layer; pil works on u8 as Pillow, torchvision"),
            Arg("range", "text", "0,255", (), 0, 0, True, "flavour=keras: the values that pictures have, low,high"),
            FIELD,
        )),
    "random_brightness": Op("image", "Adds one number drawn from [-max_delta, max_delta) to all values; u8 counts as 0 to 1 and is clipped.",
        "tf.image.random_brightness, tf.image.stateless_random_brightness, keras.layers.RandomBrightness", (
            Arg("max_delta", "number", None, (), 0, 1000000, False, "largest change"),
            Arg("flavour", "word", "tf", ("tf", "keras"), 0, 0, True, "tf keeps the type; keras gives f32, changes by a share of the range and clips"),
            Arg("range", "text", "0,255", (), 0, 0, True, "flavour=keras: the values that pictures have, low,high"),
            FIELD,
        )),
    "adjust_contrast": Op("image", "Moves values away from their mean, or toward it with a factor below 1.",
        "tf.image.adjust_contrast, torchvision functional.adjust_contrast, PIL.ImageEnhance.Contrast", (
            Arg("factor", "number", None, (), -1000000, 1000000, False, "1 changes nothing"),
            Arg("flavour", "word", "tf", ("tf", "keras", "pil"), 0, 0, True, "tf keeps the type; keras gives f32 and clips; pil works on u8 around the gray mean"),
            Arg("range", "text", "0,255", (), 0, 0, True, "flavour=keras: the values that pictures have, low,high"),
            FIELD,
        )),
    "random_contrast": Op("image", "The same with a factor drawn from [lower, upper).",
        "tf.image.random_contrast, tf.image.stateless_random_contrast, keras.layers.RandomContrast, torchvision ColorJitter(contrast)", (
            Arg("lower", "number", None, (), 0, 1000000, False, "smallest factor"),
            Arg("upper", "number", "", (), 0, 1000000, False, "largest factor; with flavour=keras they are 1 - lower and 1 + upper"),
            Arg("flavour", "word", "tf", ("tf", "keras", "pil"), 0, 0, True, "tf keeps the type; keras gives f32 and clips; pil works on u8 around the gray mean"),
            Arg("range", "text", "0,255", (), 0, 0, True, "flavour=keras: the values that pictures have, low,high"),
            FIELD,
        )),
    "autocontrast": Op("image", "Stretches each channel from its smallest and largest value to 0 and 255.",
        "keras.layers.AutoContrast, torchvision functional.autocontrast, PIL.ImageOps.autocontrast", (
            Arg("flavour", "word", "pil", ("pil", "keras", "torch"), 0, 0, True, "pil as Pillow; keras gives f32; torch as torchvision does tensors"),
            Arg("range", "text", "0,255", (), 0, 0, True, "flavour=keras: the values that pictures have, low,high"),
            FIELD,
        )),
    "random_autocontrast": Op("image", "The same, by chance.",
        "torchvision RandomAutocontrast", (
            Arg("p", "number", "0.5", (), 0, 1, False, "how likely"),
            Arg("flavour", "word", "pil", ("pil", "keras", "torch"), 0, 0, True, "pil as Pillow; keras gives f32; torch as torchvision does tensors"),
            Arg("range", "text", "0,255", (), 0, 0, True, "flavour=keras: the values that pictures have, low,high"),
            FIELD,
        )),
    "equalize": Op("image", "Spreads the u8 values of each channel so that all are about equally frequent.",
        "keras.layers.Equalization, torchvision functional.equalize, PIL.ImageOps.equalize", (
            Arg("flavour", "word", "pil", ("pil", "keras"), 0, 0, True, "whose arithmetic"), FIELD,
        )),
    "random_equalize": Op("image", "The same, by chance.",
        "torchvision RandomEqualize", (
            Arg("p", "number", "0.5", (), 0, 1, False, "how likely"),
            Arg("flavour", "word", "pil", ("pil", "keras"), 0, 0, True, "whose arithmetic"), FIELD,
        )),
    "adjust_saturation": Op("image", "Multiplies the saturation of colours.",
        "tf.image.adjust_saturation, torchvision functional.adjust_saturation, PIL.ImageEnhance.Color", (
            Arg("factor", "number", None, (), 0, 1000000, False, "0 gives gray, 1 changes nothing; keras: 0.5 changes nothing"),
            Arg("flavour", "word", "tf", ("tf", "keras", "pil"), 0, 0, True, "tf keeps the type; keras gives f32 as the layer; pil works on u8 as Pillow, torchvision"),
            Arg("range", "text", "0,255", (), 0, 0, True, "flavour=keras: the values that pictures have, low,high"),
            FIELD,
        )),
    "random_saturation": Op("image", "The same with a factor drawn from [lower, upper).",
        "tf.image.random_saturation, tf.image.stateless_random_saturation, keras.layers.RandomSaturation, torchvision ColorJitter(saturation)", (
            Arg("lower", "number", None, (), -1, 1000000, False, "smallest factor"),
            Arg("upper", "number", "", (), -1, 1000000, False, "largest factor; keras: without it -lower to lower, as the layer"),
            Arg("flavour", "word", "tf", ("tf", "keras", "pil"), 0, 0, True, "tf keeps the type; keras gives f32 as the layer; pil works on u8 as Pillow, torchvision"),
            Arg("range", "text", "0,255", (), 0, 0, True, "flavour=keras: the values that pictures have, low,high"),
            FIELD,
        )),
    "adjust_hue": Op("image", "Turns the hue of colours by a part of the circle.",
        "tf.image.adjust_hue, torchvision functional.adjust_hue", (
            Arg("delta", "number", None, (), -1, 1, False, "part of a turn"),
            Arg("flavour", "word", "tf", ("tf", "keras", "pil"), 0, 0, True, "tf keeps the type; keras gives f32 as the layer; pil works on u8 as Pillow, torchvision"),
            Arg("range", "text", "0,255", (), 0, 0, True, "flavour=keras: the values that pictures have, low,high"),
            FIELD,
        )),
    "random_hue": Op("image", "The same by a part drawn from [-max_delta, max_delta).",
        "tf.image.random_hue, tf.image.stateless_random_hue, keras.layers.RandomHue, torchvision ColorJitter(hue)", (
            Arg("max_delta", "text", None, (), 0, 0, False, "0 to 0.5, or low,high; keras: the layer's factor, twice as large"),
            Arg("flavour", "word", "tf", ("tf", "keras", "pil"), 0, 0, True, "tf keeps the type; keras gives f32 as the layer; pil works on u8 as Pillow, torchvision"),
            Arg("range", "text", "0,255", (), 0, 0, True, "flavour=keras: the values that pictures have, low,high"),
            FIELD,
        )),
    "rgb_to_grayscale": Op("image", "Colours to gray, as one channel or as three equal ones.",
        "tf.image.rgb_to_grayscale, keras.ops.image.rgb_to_grayscale, torchvision Grayscale, PIL.Image.Image.convert", (
            Arg("channels", "int", "1", (), 1, 3, True, "1, or 3 equal ones"),
            Arg("flavour", "word", "tf", ("tf", "pil"), 0, 0, True, "whose weights: tf.image on u8 and f32, or Pillow and torchvision on u8"),
            FIELD,
        )),
    "random_grayscale": Op("image", "Makes three equal channels of colours, by chance.",
        "keras.layers.RandomGrayscale, torchvision RandomGrayscale", (
            Arg("p", "number", "0.1", (), 0, 1, False, "how likely"),
            Arg("flavour", "word", "tf", ("tf", "pil"), 0, 0, True, "whose weights: tf.image on u8 and f32, or Pillow and torchvision on u8"),
            FIELD,
        )),
    "random_color_degeneration": Op("image", "Moves colours toward their gray by a drawn share, as f32.",
        "keras.layers.RandomColorDegeneration", (
            Arg("factor", "text", None, (), 0, 0, False, "largest share, either way, or low,high"),
            Arg("range", "text", "0,255", (), 0, 0, True, "flavour=keras: the values that pictures have, low,high"),
            FIELD,
        )),
    "color_jitter": Op("image", "Brightness, contrast, saturation and hue by drawn amounts, in a drawn order.",
        "keras.layers.RandomColorJitter, torchvision ColorJitter", (
            Arg("brightness", "text", "0", (), 0, 0, False, "factor from 1 - x to 1 + x, or low,high"),
            Arg("contrast", "text", "0", (), 0, 0, False, "the same"),
            Arg("saturation", "text", "0", (), 0, 0, False, "the same"),
            Arg("hue", "text", "0", (), 0, 0, False, "part of a turn from -x to x, or low,high; at most 0.5"),
            Arg("flavour", "word", "pil", ("pil", "keras"), 0, 0, True, "pil: u8 as torchvision on Pillow's images; keras: f32, in this order, the layers' factors"),
            Arg("range", "text", "0,255", (), 0, 0, True, "flavour=keras: the values that pictures have, low,high"),
            FIELD,
        )),
    "adjust_gamma": Op("image", "gain times each value to the power gamma; u8 counts as 0 to 1.",
        "tf.image.adjust_gamma, torchvision functional.adjust_gamma", (
            Arg("gamma", "number", None, (), 0, 1000, False, "above 1 darkens"),
            Arg("gain", "number", "1", (), -1000000, 1000000, True, "factor afterwards"), FIELD,
        )),
    "random_gamma": Op("image", "The same with gamma drawn from [lower, upper).",
        "tf.image.adjust_gamma, torchvision functional.adjust_gamma", (
            Arg("lower", "number", None, (), 0, 1000, False, "smallest gamma"),
            Arg("upper", "number", None, (), 0, 1000, False, "largest gamma"),
            Arg("gain", "number", "1", (), -1000000, 1000000, True, "factor afterwards"), FIELD,
        )),
    "invert": Op("image", "The largest value minus each value.",
        "torchvision functional.invert, PIL.ImageOps.invert", (
            Arg("max", "number", "", (), -1000000000, 1000000000, True, "f32: the largest value of a pixel, such as 1 or 255"),
            FIELD,
        )),
    "random_invert": Op("image", "The same, by chance.",
        "keras.layers.RandomInvert, torchvision RandomInvert", (
            Arg("p", "number", "0.5", (), 0, 1, False, "how likely"),
            Arg("max", "number", "", (), -1000000000, 1000000000, True, "f32: the largest value of a pixel, such as 1 or 255"),
            FIELD,
        )),
    "posterize": Op("image", "Keeps the highest bits of u8 values.",
        "torchvision functional.posterize, PIL.ImageOps.posterize", (
            Arg("bits", "text", None, (), 0, 0, False, "how many to keep, 0 to 8"), FIELD,
        )),
    "random_posterize": Op("image", "The same, by chance, and with a drawn number of bits if two are given.",
        "keras.layers.RandomPosterization, torchvision RandomPosterize", (
            Arg("bits", "text", None, (), 0, 0, False, "how many to keep, 0 to 8"),
            Arg("p", "number", "0.5", (), 0, 1, False, "how likely"), FIELD,
        )),
    "solarize": Op("image", "Inverts u8 values that are not below a threshold.",
        "keras.layers.Solarization, torchvision functional.solarize, PIL.ImageOps.solarize", (
            Arg("threshold", "text", "128", (), 0, 0, False, "values from here on are inverted"),
            Arg("addition", "text", "0", (), 0, 0, True, "added and clipped before, -255 to 255"), FIELD,
        )),
    "random_solarize": Op("image", "The same, by chance, and with drawn numbers where two are given.",
        "keras.layers.Solarization, torchvision RandomSolarize", (
            Arg("threshold", "text", "128", (), 0, 0, False, "values from here on are inverted"),
            Arg("p", "number", "0.5", (), 0, 1, False, "how likely"),
            Arg("addition", "text", "0", (), 0, 0, True, "added and clipped before, -255 to 255"), FIELD,
        )),
    "channel_shift": Op("image", "Adds one drawn number to all values and clips them to the range the picture had, as f32.",
        "keras ImageDataGenerator(channel_shift_range)", (
            Arg("range", "text", None, (), 0, 0, False, "largest change, or low,high"), FIELD,
        )),
    "gaussian_blur": Op("image", "Blurs with a Gaussian of drawn width.",
        "keras.layers.RandomGaussianBlur, keras.ops.image.gaussian_blur, torchvision GaussianBlur", (
            Arg("kernel", "int", None, (), 1, 255, False, "pixels along each axis, an odd number"),
            Arg("sigma", "text", "0.1,2", (), 0, 0, False, "standard deviation, from,to"),
            Arg("p", "number", "1", (), 0, 1, True, "how likely"),
            Arg("flavour", "word", "torch", ("torch", "keras"), 0, 0, True, "torch: reflects at the border, keeps the type; keras: zeros there, gives f32, clips"),
            Arg("range", "text", "0,255", (), 0, 0, True, "flavour=keras: the values that pictures have, low,high"),
            FIELD,
        )),
    "adjust_sharpness": Op("image", "Blends with the smoothed picture, or away from it.",
        "torchvision functional.adjust_sharpness, PIL.ImageEnhance.Sharpness", (
            Arg("factor", "number", None, (), -1000000, 1000000, False, "0 is smooth"),
            Arg("flavour", "word", "pil", ("pil", "keras"), 0, 0, True, "pil: u8, 1 changes nothing, the border stays; keras: gives f32, 0.5 changes nothing, clips"),
            Arg("range", "text", "0,255", (), 0, 0, True, "flavour=keras: the values that pictures have, low,high"),
            FIELD,
        )),
    "random_sharpness": Op("image", "The same with a factor drawn from [lower, upper).",
        "keras.layers.RandomSharpness, torchvision RandomAdjustSharpness", (
            Arg("lower", "number", None, (), -1000000, 1000000, False, "least factor"),
            Arg("upper", "number", None, (), -1000000, 1000000, False, "largest factor"),
            Arg("p", "number", "1", (), 0, 1, True, "how likely"),
            Arg("flavour", "word", "pil", ("pil", "keras"), 0, 0, True, "pil: u8, 1 changes nothing, the border stays; keras: gives f32, 0.5 changes nothing, clips"),
            Arg("range", "text", "0,255", (), 0, 0, True, "flavour=keras: the values that pictures have, low,high"),
            FIELD,
        )),
    "gaussian_noise": Op("image", "Adds normal noise to every value; u8 counts as 0 to 1 and is clipped.",
        "keras.layers.GaussianNoise, torchvision GaussianNoise", (
            Arg("stddev", "number", None, (), 0, 1000000, False, "its standard deviation"),
            Arg("mean", "number", "0", (), -1000000, 1000000, True, "of the noise"),
            Arg("clip", "bool", "false", (), 0, 0, True, "f32: keep values within 0 to 1, as torchvision"), FIELD,
        )),
    "random_erasing": Op("image", "Fills a part of drawn area, shape and place.",
        "keras.layers.RandomErasing, torchvision RandomErasing", (
            Arg("p", "number", "0.5", (), 0, 1, False, "how likely"),
            Arg("scale", "text", "0.02,0.33", (), 0, 0, True, "share of the area, from,to"),
            Arg("ratio", "text", "0.3,3.3", (), 0, 0, True, "flavour=torch: height over width, from,to"),
            Arg("value", "text", "0", (), 0, 0, True, "a number, one a channel, or random for noise, as flavour=keras has it unless told"),
            Arg("flavour", "word", "torch", ("torch", "keras"), 0, 0, True, "whose draws and noise; keras gives f32"),
            Arg("range", "text", "0,255", (), 0, 0, True, "flavour=keras: the values that pictures have, low,high"),
            FIELD,
        )),
    "cutout": Op("image", "Fills a square whose middle lies anywhere in the picture.",
        "", (
            Arg("size", "int", None, (), 1, 65535, False, "of a side, in pixels"),
            Arg("p", "number", "1", (), 0, 1, True, "how likely"),
            Arg("value", "text", "0", (), 0, 0, True, "what fills it, in the picture's units: a number, or one a channel"),
            FIELD,
        )),
    "normalize": Op("image", "(x * scale - mean) / std for each channel, as f32; imagenet gives the usual means, stds and scale 1/255.",
        "keras.layers.Normalization, keras.applications.imagenet_utils.preprocess_input(mode=\"torch\"), torchvision Normalize", (
            Arg("name", "word", "given", ("given", "imagenet"), 0, 0, False, "known numbers"),
            Arg("mean", "text", "0", (), 0, 0, True, "one number, or one a channel: 0.5,0.4,0.3"),
            Arg("std", "text", "1", (), 0, 0, True, "the same"),
            Arg("scale", "number", "1", (), 0, 0, True, "factor before, such as 1/255"),
            Arg("dtype", "word", "f32", ("f32", "f16", "bf16"), 0, 0, True, "of the result; f16 and bf16 are made of f32 when it is stored"),
            Arg("layout", "word", "nhwc", ("nhwc", "nchw"), 0, 0, True, "channels last or channels first"), FIELD,
        )),
    "cast": Op("sample", "Another type, and x * scale + offset on the way; to whole numbers it truncates and saturates.",
        "tf.cast, tf.image.convert_image_dtype, keras.ops.cast, keras.layers.Rescaling, torchvision ToDtype, torchvision ToTensor", (
            Arg("field", "field", "image", (), 0, 0, False, "which field"),
            Arg("dtype", "dtype", None, (), 0, 0, False, "the type"),
            Arg("scale", "number", "1", (), 0, 0, True, "factor, such as 1/255"),
            Arg("offset", "number", "0", (), 0, 0, True, "added afterwards"),
            Arg("layout", "word", "nhwc", ("nhwc", "nchw"), 0, 0, True, "channels last or channels first"),
        )),
    "rescale": Op("image", "x * scale + offset, as f32.",
        "keras.layers.Rescaling, keras ImageDataGenerator(rescale)", (
            Arg("scale", "number", None, (), 0, 0, False, "factor, such as 1/255"),
            Arg("offset", "number", "0", (), 0, 0, False, "added afterwards"), FIELD,
        )),
    "per_image_standardization": Op("image", "Mean 0 and standard deviation 1 for each picture, as f32.",
        "tf.image.per_image_standardization", (
            FIELD,
        )),
    "samplewise": Op("image", "Minus the picture's mean, divided by its standard deviation, as f32.",
        "keras ImageDataGenerator(samplewise_center), keras ImageDataGenerator(samplewise_std_normalization)", (
            Arg("center", "bool", "true", (), 0, 0, True, "subtract the mean; std does so in any case"),
            Arg("std", "bool", "true", (), 0, 0, True, "divide by the standard deviation + 1e-6"), FIELD,
        )),
    "featurewise": Op("image", "(x - mean) / (std + 1e-6) with numbers that were fitted on a data set, as f32.",
        "keras ImageDataGenerator(featurewise_center), keras ImageDataGenerator(featurewise_std_normalization)", (
            Arg("mean", "text", None, (), 0, 0, True, "one number, or one a channel: 120.7,113.9,103.1"),
            Arg("std", "text", "", (), 0, 0, True, "the same; without it the values are centred only"), FIELD,
        )),
    "zca": Op("image", "A small picture as one row of values, times a matrix from an .npy file, as f32.",
        "keras ImageDataGenerator(zca_whitening), torchvision LinearTransformation", (
            Arg("file", "text", None, (), 0, 0, True, "square matrix of float32 or float64, at most 4096 x 4096"),
            FIELD,
        )),
    "rand_augment": Op("image", "Some of fourteen operations, drawn, all at one strength.",
        "keras.layers.RandAugment, torchvision RandAugment", (
            Arg("num_ops", "int", "2", (), 0, 32, False, "how many of them, one after the other"),
            Arg("magnitude", "int", "9", (), 0, 999, False, "their strength, a step below bins"),
            Arg("bins", "int", "31", (), 2, 1000, True, "steps from no to full strength"),
            Arg("interpolation", "word", "nearest", ("nearest", "bilinear"), 0, 0, True, "how shears, moves and turns sample"),
            Arg("fill", "text", "0", (), 0, 0, True, "what they show outside of the picture: a number from 0 to 255, or one a channel"),
            FIELD,
        )),
    "trivial_augment_wide": Op("image", "One of fourteen operations at a strength from a wide range, both drawn.",
        "torchvision TrivialAugmentWide", (
            Arg("bins", "int", "31", (), 2, 1000, True, "steps from no to full strength"),
            Arg("interpolation", "word", "nearest", ("nearest", "bilinear"), 0, 0, True, "how shears, moves and turns sample"),
            Arg("fill", "text", "0", (), 0, 0, True, "what they show outside of the picture: a number from 0 to 255, or one a channel"),
            FIELD,
        )),
    "auto_augment": Op("image", "One of 25 pairs of operations that were found for a data set.",
        "torchvision AutoAugment", (
            Arg("policy", "word", "imagenet", ("imagenet", "cifar10", "svhn"), 0, 0, False, "which data set"),
            Arg("interpolation", "word", "nearest", ("nearest", "bilinear"), 0, 0, True, "how shears, moves and turns sample"),
            Arg("fill", "text", "0", (), 0, 0, True, "what they show outside of the picture: a number from 0 to 255, or one a channel"),
            FIELD,
        )),
    "augmix": Op("image", "Mixes the picture with others that chains of operations make of it, in drawn shares.",
        "keras.layers.AugMix, torchvision AugMix", (
            Arg("severity", "int", "3", (), 1, 10, True, "how many of ten steps of strength are drawn from"),
            Arg("width", "int", "3", (), 1, 16, True, "chains"),
            Arg("depth", "int", "-1", (), -1, 32, True, "operations in a chain; below 1: 1 to 3, drawn"),
            Arg("alpha", "number", "1", (), 0, 1000000, True, "of the distributions that the shares are drawn from"),
            Arg("all_ops", "bool", "true", (), 0, 0, True, "also brightness, color, contrast and sharpness"),
            Arg("interpolation", "word", "bilinear", ("nearest", "bilinear"), 0, 0, True, "how shears, moves and turns sample"),
            Arg("fill", "text", "0", (), 0, 0, True, "what they show outside of the picture: a number from 0 to 255, or one a channel"),
            FIELD,
        )),
    "image_data_generator": Op("image", "All that Keras' ImageDataGenerator does to a picture, in its order, with one sampling; gives f32.",
        "keras ImageDataGenerator", (
            Arg("rotation", "text", "0", (), 0, 0, True, "degrees: 20 is -20 to 20; or low,high"),
            Arg("width_shift", "text", "0", (), 0, 0, True, "share of the width below 1, else pixels; or a list to choose from"),
            Arg("height_shift", "text", "0", (), 0, 0, True, "the same for the height"),
            Arg("shear", "text", "0", (), 0, 0, True, "degrees: 10 is -10 to 10; or low,high"),
            Arg("zoom", "text", "0", (), 0, 0, True, "0.2 is 0.8 to 1.2 for each side, above 1 shrinks; or low,high"),
            Arg("channel_shift", "text", "0", (), 0, 0, True, "added to all channels, clipped to the picture's own range"),
            Arg("horizontal_flip", "bool", "false", (), 0, 0, True, "mirror half of the pictures"),
            Arg("vertical_flip", "bool", "false", (), 0, 0, True, "turn half of them upside down"),
            Arg("brightness", "text", "", (), 0, 0, True, "factor low,high, by way of 8-bit values"),
            Arg("fill", "word", "nearest", ("constant", "nearest", "reflect", "wrap"), 0, 0, True, "what lies beyond the edge"),
            Arg("cval", "text", "0", (), 0, 0, True, "of fill=constant: one number, or one a channel"),
            Arg("order", "word", "1", ("1", "0", "3"), 0, 0, True, "interpolation_order: 0 nearest, 1 linear, 3 cubic"),
            Arg("rescale", "number", "0", (), -1000000000, 1000000000, True, "factor, 0 for none"),
            Arg("samplewise_center", "bool", "false", (), 0, 0, True, "minus the picture's mean"),
            Arg("samplewise_std", "bool", "false", (), 0, 0, True, "divided by the picture's deviation, and centred"),
            Arg("mean", "text", "", (), 0, 0, True, "featurewise: subtracted, one number or one a channel"),
            Arg("std", "text", "", (), 0, 0, True, "featurewise: divided by it + 1e-6"),
            Arg("flavour", "word", "keras3", ("keras3", "keras28", "fixed"), 0, 0, True, "which axes and which middle, see the reference"),
            FIELD,
        )),
    "mask": Op("sample", "From here on this field moves with a picture, by nearest values: classes of pixels stay what they are.",
        "torchvision tv_tensors.Mask", (
            Arg("field", "field", None, (), 0, 0, False, "the mask, decoded"),
            Arg("image", "field", "image", (), 0, 0, True, "the picture that it belongs to"),
            Arg("fill", "number", "0", (), 0, 0, True, "its value where a border or a warp shows nothing of the picture"),
        )),
    "boxes": Op("sample", "From here on these boxes move with a picture; those that leave it are taken out, or become zeros.",
        "torchvision tv_tensors.BoundingBoxes, torchvision SanitizeBoundingBoxes", (
            Arg("field", "field", None, (), 0, 0, False, "four numbers a box"),
            Arg("format", "word", "xyxy", ("xyxy", "xywh", "yxyx", "cxcywh"), 0, 0, True, "two corners, a corner and the size, TensorFlow's order, the middle and the size"),
            Arg("normalized", "bool", "false", (), 0, 0, True, "relative to the size of the picture, before and behind"),
            Arg("image", "field", "image", (), 0, 0, True, "the picture that it belongs to"),
            Arg("min_area", "number", "0", (), 0, 1000000000000000000, True, "in pixels of the result; what is smaller is lost"),
            Arg("min_visible", "number", "0", (), 0, 1, True, "share of a box; if less of it is left, it is lost"),
            Arg("labels", "text", "", (), 0, 0, True, "fields with values for each of them, which go with those that are taken out"),
        )),
    "keypoints": Op("sample", "From here on these places move with a picture.",
        "torchvision tv_tensors.KeyPoints", (
            Arg("field", "field", None, (), 0, 0, False, "two or three numbers a place"),
            Arg("format", "word", "xy", ("xy", "yx", "xyv"), 0, 0, True, "xyv: with a number that becomes 0 when the place leaves the picture, as COCO has it"),
            Arg("normalized", "bool", "false", (), 0, 0, True, "relative to the size of the picture, before and behind"),
            Arg("origin", "word", "corner", ("corner", "centre"), 0, 0, True, "where 0,0 lies in the first pixel; centre: whole numbers are pixels"),
            Arg("outside", "word", "keep", ("keep", "zero", "remove"), 0, 0, True, "those that leave the picture: as they come, zeros, or taken out"),
            Arg("image", "field", "image", (), 0, 0, True, "the picture that it belongs to"),
            Arg("labels", "text", "", (), 0, 0, True, "fields with values for each of them, which go with those that are taken out"),
        )),
    "mixup": Op("batch", "Blends each sample of a batch with the next one of its group, labels too.",
        "keras.layers.MixUp, torchvision MixUp", (
            Arg("alpha", "number", "0.2", (), 0, 1000000, False, "of Beta(alpha, alpha), from which the own share is drawn"),
            Arg("group", "int", "16", (), 2, 65536, True, "samples among which partners are taken; the batch is a multiple of it"),
            Arg("p", "number", "1", (), 0, 1, True, "how likely"),
            Arg("labels", "field", "label", (), 0, 0, True, "f32 labels that are mixed with the same shares; none: there are none"),
            FIELD,
        )),
    "cutmix": Op("batch", "Pastes a box of the next sample of the group into each sample of a batch; labels are mixed by area.",
        "keras.layers.CutMix, torchvision CutMix", (
            Arg("alpha", "number", "1", (), 0, 1000000, False, "of Beta(alpha, alpha), from which the own share is drawn"),
            Arg("group", "int", "16", (), 2, 65536, True, "samples among which partners are taken; the batch is a multiple of it"),
            Arg("p", "number", "1", (), 0, 1, True, "how likely"),
            Arg("labels", "field", "label", (), 0, 0, True, "f32 labels that are mixed with the same shares; none: there are none"),
            FIELD,
        )),
    "batch": Op("batch", "Puts consecutive samples together.",
        "tf.data.Dataset.batch, tf.data.Dataset.ragged_batch, keras.utils.image_dataset_from_directory(batch_size), torch.utils.data.BatchSampler, torch.utils.data.DataLoader(batch_size)", (
            Arg("size", "int", None, (), 1, 16777216, False, "samples in a batch, of one rank"),
            Arg("drop_remainder", "bool", "false", (), 0, 0, True, "leave out a last batch that is not full"),
            Arg("pad_remainder", "bool", "false", (), 0, 0, True, "fill it up with repeated samples; so with several ranks in any case"),
        )),
    "padded_batch": Op("batch", "A batch of fields that differ in size, filled up to the largest of the batch or to a given size.",
        "tf.data.Dataset.padded_batch", (
            Arg("size", "int", None, (), 1, 16777216, False, "samples in a batch, of one rank"),
            Arg("shapes", "texts", "", (), 0, 0, False, "fields of one size in all batches: image=640x640x3; * is the largest of the batch"),
            Arg("padding", "text", "0", (), 0, 0, True, "what fills up: a number, or such as image:255,ids:-1"),
            Arg("max", "text", "", (), 0, 0, True, "the largest size there can be, where neither text nor index tells it: 2000x2000x3, or image:2000x2000x3"),
            Arg("drop_remainder", "bool", "false", (), 0, 0, True, "leave out a last batch that is not full"),
            Arg("pad_remainder", "bool", "false", (), 0, 0, True, "fill it up with repeated samples; so with several ranks in any case"),
        )),
    "unbatch": Op("batch", "Takes batches apart into samples.",
        "tf.data.Dataset.unbatch", (
        )),
    "rebatch": Op("batch", "The samples of batches in batches of another size.",
        "tf.data.Dataset.rebatch", (
            Arg("size", "int", None, (), 1, 16777216, False, "samples in a batch, of one rank"),
            Arg("drop_remainder", "bool", "false", (), 0, 0, True, "leave out a last batch that is not full"),
            Arg("pad_remainder", "bool", "false", (), 0, 0, True, "fill it up with repeated samples; so with several ranks in any case"),
        )),
    "bucket_by_aspect_ratio": Op("order", "Batches of pictures of like shape: buckets by width over height, batches as they become full.",
        "tf.data.Dataset.bucket_by_sequence_length", (
            Arg("edges", "text", None, (), 0, 0, False, "width over height between buckets: 0.75,1.33"),
            Arg("sizes", "text", "", (), 0, 0, True, "for resize_to_bucket, height x width of each: 480x320,384x384,320x480"),
            FIELD,
        )),
    "prefetch": Op("batch", "How many finished batches may wait; auto follows the consumer.",
        "tf.data.Dataset.prefetch, torch.utils.data.DataLoader(prefetch_factor)", (
            Arg("count", "text", "auto", (), 0, 0, False, "a number, or auto"),
        )),
    "on_device": Op("batch", "What follows for the picture is drawn but not done: the u8 picture goes out with a field `drawn` that tells another device what to do.",
        "", (
            FIELD,
        )),
    "cache": Op("batch", "Keeps the samples as they are here, by their numbers, in memory or in a directory; later epochs take them from there.",
        "tf.data.Dataset.cache, tf.data.Dataset.snapshot", (
            Arg("path", "text", "", (), 0, 0, False, "a directory, which is made; left out: in memory"),
            Arg("max", "int", "0", (), 0, 1000000000000000000, True, "bytes, such as 4GiB; 0: half of the memory budget, or as much as the disk has"),
            Arg("freeze", "bool", "false", (), 0, 0, True, "true: random operations may stand before it; they draw once for each sample, for ever"),
        )),
    "options": Op("batch", "Settings of the whole pipeline; may stand anywhere.",
        "tf.data.Options, tf.data.Dataset.ignore_errors, tf.random.set_seed, keras.utils.set_random_seed", (
            Arg("on_error", "word", "", ("raise", "skip", "replace"), 0, 0, True, "what a bad sample does"),
            Arg("max_bad", "int", "", (), 0, 1000000000000000, True, "bad samples of an epoch after which it fails all the same; 0: any number"),
            Arg("seed", "int", "", (), 0, 0, True, "its own seed; without it the pipeline's"),
            Arg("fuse", "bool", "true", (), 0, 0, True, "off: every operation by itself, with the same results"),
            Arg("positions", "bool", "true", (), 0, 0, True, "off: where rows of a JPEG begin is not remembered for its next crop; same results"),
            Arg("accuracy", "word", "exact", ("exact", "fast"), 0, 0, True, "fast: libjpeg's fast IDCT, as TensorFlow decodes by default"),
            Arg("read_ahead", "text", "auto", (), 0, 0, True, "threads that read what comes next; auto: when storage is slow; off: none"),
        )),
}
# fmt: on


class Operations:
    """Each operation of the table as a method that gives a new dataset."""

    def _add(self, name: str, args: tuple[object, ...], kwargs: dict[str, object]) -> Any:
        raise NotImplementedError


def _method(name: str, op: Op) -> Any:
    def method(self: Operations, *args: object, **kwargs: object) -> Any:
        return self._add(name, args, kwargs)

    method.__name__, method.__qualname__ = name, f"Dataset.{name}"
    notes = [f"{arg.name}: {arg.help}" + (f" (default {arg.default})" if arg.default else "") for arg in op.args]
    method.__doc__ = "\n".join([op.help, "", *notes])
    return method


for _name, _op in OPS.items():
    if _op.kind != "source" and _name not in ("filter", "map", "normalize", "shard"):
        setattr(Operations, _name, _method(_name, _op))
