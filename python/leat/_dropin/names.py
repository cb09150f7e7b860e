# SPDX-License-Identifier: Apache-2.0
"""The names that are leat's own in the drop-in modules. All others are the library's.

A row is the name of a module, and for each own name where it is: "module:attribute". It is imported when a program
first asks for the name. Another own name is one more line here.
"""
from __future__ import annotations

LIBRARIES = {  # what a drop-in module stands for, and the words that install it
    "leat.tf": ("tensorflow", "pip install tensorflow"),
    "leat.keras": ("keras", "pip install keras"),
    "leat.datasets": ("tensorflow_datasets", "pip install tensorflow-datasets"),
}

FOLDER = {"image_dataset_from_directory": "leat._kerasdata.folder:image_dataset_from_directory"}
GENERATOR = {name: f"leat._dropin.generator_names:{name}" for name in (
    "DataFrameIterator", "DirectoryIterator", "ImageDataGenerator", "Iterator", "NumpyArrayIterator", "apply_affine_transform",
    "apply_brightness_shift", "apply_channel_shift", "random_brightness", "random_channel_shift", "random_rotation",
    "random_shear", "random_shift", "random_zoom")}

OWN: dict[str, dict[str, str]] = {
    "leat.tf.data": {
        "AUTOTUNE": "leat._tfdata:AUTOTUNE",
        "Dataset": "leat._tfdata:Dataset",
        "FixedLengthRecordDataset": "leat._tfdata:FixedLengthRecordDataset",
        "INFINITE_CARDINALITY": "leat._tfdata:INFINITE_CARDINALITY",
        "TFRecordDataset": "leat._tfdata:TFRecordDataset",
        "TextLineDataset": "leat._tfdata:TextLineDataset",
        "UNKNOWN_CARDINALITY": "leat._tfdata:UNKNOWN_CARDINALITY",
    },
    "leat.tf.data.experimental": {
        name: f"leat._tfdata.experimental:{name}"
        for name in ("assert_cardinality", "cardinality", "map_and_batch", "parallel_interleave", "sample_from_datasets",
                     "shuffle_and_repeat")
    },
    "leat.tf.keras.preprocessing.image": GENERATOR,
    "leat.keras.preprocessing.image": GENERATOR,
    "leat.keras.src.legacy.preprocessing.image": GENERATOR,
    "leat.keras": {
        "Adapter": "leat._frameworks.keras:Adapter",
        "Doctor": "leat._doctor.keras_doctor:Doctor",
        "Resume": "leat._frameworks.resume:Resume",
        "lift": "leat._kerasdata.lift:lift",
    },
    "leat.datasets": {
        "as_numpy": "leat._prepared.load:as_numpy",
        "load": "leat._prepared.load:load",
    },
    "leat.keras.preprocessing": FOLDER,
    "leat.keras.utils": FOLDER,
    "leat.tf.keras.preprocessing": FOLDER,
    "leat.tf.keras.utils": FOLDER,
}
