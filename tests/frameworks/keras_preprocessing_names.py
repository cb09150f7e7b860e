# SPDX-License-Identifier: Apache-2.0
"""The names of keras-preprocessing, answered by leat or by Keras itself: what its tests import.

    names("leat")      keras_preprocessing.image.* are leat's modules
    names("keras")     ... Keras's own module of the same functions
"""
import importlib
import os
import sys
import types

import numpy

PARTS = {"iterator": "iterator", "numpy_array_iterator": "array_iterator", "directory_iterator": "file_iterators",
         "dataframe_iterator": "file_iterators", "image_data_generator": "generator", "affine_transformations": "transforms"}
LEGACY = "keras.src.legacy.preprocessing.image"


def names(library: str) -> None:
    """Fills sys.modules; utils is Keras's either way."""
    package, image = types.ModuleType("keras_preprocessing"), types.ModuleType("keras_preprocessing.image")
    utils = importlib.import_module("keras.src.utils.image_utils")
    modules = {part: importlib.import_module(f"leat._idg.{own}" if library == "leat" else LEGACY)
               for part, own in PARTS.items()}
    modules["utils"] = utils
    for part, module in modules.items():
        sys.modules[f"keras_preprocessing.image.{part}"] = module
        setattr(image, part, module)
    for source in (utils, *modules.values()):
        vars(image).update({name: value for name, value in vars(source).items() if not name.startswith("_")})
    package.image = image
    sys.modules.update({"keras_preprocessing": package, "keras_preprocessing.image": image})
    numpy.alltrue = numpy.all  # of NumPy 1, as the tests write it


if "LEAT_NAMES_OF" in os.environ:  # as a plugin of pytest: -p keras_preprocessing_names
    names(os.environ["LEAT_NAMES_OF"])
