# SPDX-License-Identifier: Apache-2.0
"""The loader of drop-in modules, over a library that stands in for TensorFlow; tests/frameworks has the real one."""
import os
import re
import subprocess
import sys
from importlib.util import find_spec

import pytest
from conftest import LIMIT, PACKAGE
from leat._dropin.names import OWN

# As in TensorFlow, modules lie in folders of other names, and keras is an object that loads another package when asked.
FILES = {
    "tensorflow/__init__.py": """
import os, types, keras as _keras
from tensorflow._api.v2 import compat, data, image
__version__ = "2.99"
constant = object()
class Lazy(types.ModuleType):
    def __getattr__(self, name):
        import keras._tf_keras.keras
        return getattr(keras._tf_keras.keras, name)
    def __dir__(self):
        import keras._tf_keras.keras
        return dir(keras._tf_keras.keras)
keras = Lazy("keras")
del keras.__dict__["__name__"]
__path__ = [os.path.dirname(_keras.__file__) + "/_tf_keras", *__path__, __path__[0] + "/_api/v2"]
__all__ = ["compat", "constant", "data", "image", "keras", "__version__"]
""",
    "tensorflow/_api/__init__.py": "",
    "tensorflow/_api/v2/__init__.py": "",
    "tensorflow/_api/v2/data.py": "from tensorflow.python.dataset import Dataset, Options\nAUTOTUNE = -1",
    "tensorflow/_api/v2/image.py": "from tensorflow.python.tools import resize",
    "tensorflow/_api/v2/compat/__init__.py": "from tensorflow._api.v2.compat import v1",
    "tensorflow/_api/v2/compat/v1.py": "",
    "tensorflow/python/__init__.py": "",
    "tensorflow/python/dataset.py": "class Dataset: pass\nclass Options: pass",
    "tensorflow/python/tools.py": "def resize(): pass",
    "tensorflow/broken.py": "import not_to_be_found",
    "keras/__init__.py": "class Model: pass\nfrom keras import layers",
    "keras/layers.py": "class Dense: pass",
    "keras/_tf_keras/__init__.py": "",
    "keras/_tf_keras/keras/__init__.py":
        "from keras import Model\nfrom keras._tf_keras.keras import layers, preprocessing",
    "keras/_tf_keras/keras/layers.py": "from keras.layers import Dense",
    "keras/_tf_keras/keras/preprocessing/__init__.py": "from keras._tf_keras.keras.preprocessing import image",
    "keras/_tf_keras/keras/preprocessing/image.py":
        "from keras._tf_keras.generator import ImageDataGenerator\nload_img = 1",
    "keras/_tf_keras/generator.py": "class ImageDataGenerator: pass",
    "ours.py": "AUTOTUNE = -1\nclass Dataset: pass\nclass ImageDataGenerator: pass",
}
BEGIN = """
import sys
from leat._dropin import names
names.OWN = {"leat.tf.data": {"Dataset": "ours:Dataset", "AUTOTUNE": "ours:AUTOTUNE"},
             "leat.keras": {"Resume": "leat._frameworks.resume:Resume"},
             "leat.tf.keras.preprocessing.image": {"ImageDataGenerator": "ours:ImageDataGenerator"}}
"""


def test_own_names_are_there():
    places = [place.partition(":") for names in OWN.values() for place in names.values()]
    for module, _, attribute in places:  # which may import a framework
        spec = find_spec(module)
        assert spec is not None, module
        assert re.search(rf"\b{attribute}\b", spec.loader.get_source(module)), f"{module}:{attribute}"


@pytest.fixture(scope="session")
def libraries(tmp_path_factory):
    folder = tmp_path_factory.mktemp("libraries")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def over(libraries):
    """Runs code with the libraries that stand in, and with own names in modules of them."""
    def call(code: str) -> str:
        done = subprocess.run([sys.executable, "-c", BEGIN + code], capture_output=True, text=True, timeout=LIMIT,
                              env={**os.environ, "PYTHONPATH": f"{PACKAGE}:{libraries}"}, stdin=subprocess.DEVNULL)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return call


def test_own_names_first_and_the_very_objects_of_the_library_second(over):
    assert over("""
import leat.tf as tf
assert "tensorflow" not in sys.modules  # it is imported when it is needed
import ours
assert tf.data.Dataset is ours.Dataset
import tensorflow, keras
assert tf.constant is tensorflow.constant and tf.__version__ == "2.99" and tf.data.Options is tensorflow.data.Options
assert tf.image is tensorflow.image and tf.keras.layers is keras._tf_keras.keras.layers
assert tf.keras.Model is keras.Model
assert tf.keras.preprocessing.image.ImageDataGenerator is ours.ImageDataGenerator
assert tf.keras.preprocessing.image.load_img == 1
assert tensorflow.data.Dataset is not ours.Dataset and sys.modules["tensorflow"] is tensorflow
print(tf, tf.keras.preprocessing)
""") == ("<module 'leat.tf' over 'tensorflow'> "
         "<module 'leat.tf.keras.preprocessing' over 'tensorflow.keras.preprocessing'>\n")


def test_every_way_of_importing(over):
    over("""
from leat.tf.keras.layers import Dense
import leat.tf.keras.layers as layers
import leat.tf.keras.preprocessing.image as image
from leat.tf.keras.preprocessing.image import ImageDataGenerator, load_img
from leat.tf import keras, data
from leat.tf.python import tools
import leat.tf.python.tools
import leat.keras
from leat.keras import layers as others
import ours, tensorflow, importlib
assert layers is tensorflow.keras.layers is leat.tf.keras.layers
assert Dense is layers.Dense is others.Dense is leat.keras.layers.Dense
assert ImageDataGenerator is ours.ImageDataGenerator and image is keras.preprocessing.image and load_img == 1
assert keras is leat.tf.keras and data is leat.tf.data and tools is tensorflow.python.tools
for name in ("leat.tf", "leat.tf.keras", "leat.tf.data", "leat.keras"):
    module = sys.modules[name]
    assert module.__spec__.name == name == module.__name__ and module.__path__ == []
    assert importlib.import_module(name) is module
assert "leat.tf.keras.layers" in sys.modules and layers.__spec__.name == "keras._tf_keras.keras.layers"  # untouched
names = {}
exec("from leat.tf import *", names)
assert names["keras"] is keras and names["constant"] is tensorflow.constant and names["data"] is data
exec("from leat.tf.keras.preprocessing.image import *", names)  # the library has no __all__ here
assert names["ImageDataGenerator"] is ImageDataGenerator and names["load_img"] == 1
""")


def test_dir_is_merged(over):
    over("""
import leat.tf as tf, leat.keras
assert {"Dataset", "Options"} <= set(dir(tf.data)) and {"constant", "keras", "data", "image"} <= set(dir(tf))
assert {"Model", "layers", "Resume"} <= set(dir(leat.keras)) and "_become" not in dir(tf)
assert {"preprocessing", "layers", "Model"} <= set(dir(tf.keras))
""")


def test_what_is_set_is_set_in_the_library(over):
    over("""
import leat.tf as tf, tensorflow
tf.data.verbose = 3
assert tensorflow.data.verbose == 3
del tf.data.verbose
assert not hasattr(tensorflow.data, "verbose")
tensorflow.constant = 5  # what the library replaces is replaced here too
assert tf.constant == 5
tf.data.Dataset = 7
assert tf.data.Dataset == 7 and tensorflow.data.Dataset != 7
""")


def test_errors_are_those_of_the_library(over):
    said = over("""
import leat.tf as tf
for code in ("tf.nothing", "import leat.tf.nothing", "from leat.tf import nothing",
             "from leat.tf.keras.layers import Dens",
             "import leat.tf.constant", "import leat.tf.broken", "tf.data.__file__"):
    try:
        exec(code)
    except Exception as error:
        print(type(error).__name__, error)
""").splitlines()
    assert said[:3] == ["AttributeError module 'tensorflow' has no attribute 'nothing'",
                        "ModuleNotFoundError No module named 'leat.tf.nothing'",
                        f"ImportError cannot import name 'nothing' from 'leat.tf' ({PACKAGE}/leat/tf.py)"]
    assert said[3].startswith("ImportError cannot import name 'Dens' from 'keras._tf_keras.keras.layers'")
    assert said[4:] == ["ModuleNotFoundError No module named 'leat.tf.constant'",
                        "ModuleNotFoundError No module named 'not_to_be_found'",
                        "AttributeError module 'leat.tf.data' has no attribute '__file__'"]


def test_without_the_library_own_names_work_and_others_say_what_to_install(over):
    said = over("""
sys.modules["tensorflow"] = sys.modules["keras"] = None
import leat, ours
from leat.tf.data import Dataset
from leat.tf.keras.preprocessing.image import ImageDataGenerator
assert Dataset is leat.tf.data.Dataset is ours.Dataset and "Dataset" in dir(leat.tf.data)
assert "data" in dir(leat.tf) and not hasattr(leat.tf, "constant")
for code in ("leat.tf.constant", "from leat.tf import constant", "import leat.tf.image", "leat.tf.data.Options",
             "from leat.keras.layers import Dense"):
    try:
        exec(code)
    except Exception as error:
        print(type(error).__name__, error)
""")
    words = "leat.tf takes this from tensorflow, which is not installed: pip install tensorflow"
    assert said.splitlines() == [f"AttributeError module 'leat.tf' has no attribute 'constant': {words}",
                                 f"ImportError {words}", f"ImportError {words}",
                                 f"AttributeError module 'leat.tf.data' has no attribute 'Options': {words}",
                                 "ImportError leat.keras takes this from keras, which is not installed: pip install "
                                 "keras"]
