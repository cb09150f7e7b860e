# SPDX-License-Identifier: Apache-2.0
"""leat.tf and leat.keras over the real TensorFlow and Keras."""
import os
import pickle
import subprocess
import sys
from importlib import import_module

import leat.keras
import leat.tf as tf
import leat.tf.keras.applications.vgg16 as vgg16
import numpy
import pytest
from leat._dropin.names import OWN
from leat.keras.layers import Dense as KerasDense
from leat.tf.keras.layers import Dense
from leat.tf.keras.utils import to_categorical

tf.data.Dataset, tf.data.TFRecordDataset, tf.image.resize, tf.keras.preprocessing.image.load_img, dir(tf), dir(tf.keras)
# Every own name, too: TensorFlow refuses this once its runtime runs.
for own, names in OWN.items():
    for name in names:
        getattr(import_module(own), name)
tf.config.threading.set_intra_op_parallelism_threads(2)
tf.config.set_visible_devices([], "GPU")

import keras  # noqa: E402
import tensorflow  # noqa: E402


def test_names_are_the_very_objects_of_the_library():
    assert tf.constant is tensorflow.constant and tf.Tensor is tensorflow.Tensor
    assert tf.__version__ == tensorflow.__version__
    assert tf.image is tensorflow.image and tf.data.Options is tensorflow.data.Options
    assert Dense is KerasDense is keras.layers.Dense is tensorflow.keras.layers.Dense is tf.keras.layers.Dense
    assert vgg16.VGG16 is keras.applications.VGG16 and vgg16 is tf.keras.applications.vgg16
    assert to_categorical is keras.utils.to_categorical and leat.keras.Model is keras.Model
    assert sys.modules["tensorflow"] is tensorflow is not tf
    assert tf.keras.backend.mean is tensorflow.keras.backend.mean  # tf.keras has it, keras has not
    assert not hasattr(leat.keras.backend, "mean")
    from leat.tf.compat import v1
    from leat.tf.python.framework import ops
    assert v1 is tensorflow.compat.v1 and ops.Graph is tensorflow.Graph


def test_every_public_name():
    """A name is there exactly if the library has it, and is the same object if leat does not have it."""
    pairs = [("leat.tf", tensorflow), ("leat.tf.data", tensorflow.data), ("leat.tf.keras", tensorflow.keras),
             ("leat.keras", keras), ("leat.tf.keras.preprocessing.image", tensorflow.keras.preprocessing.image)]
    for name, library in pairs:
        module = sys.modules[name] if name in sys.modules else eval(name)
        assert set(dir(library)) - {"__builtins__", "__cached__", "__file__"} <= set(dir(module))
        below = {each.split(".")[name.count(".") + 1] for each in OWN if each.startswith(name + ".")}
        for each in dir(library):
            if not each.startswith("_") and each not in OWN.get(name, {}) and each not in below:
                assert getattr(module, each) is getattr(library, each), f"{name}.{each}"
    names = {}
    exec("from leat.tf import *", names)
    assert set(tensorflow.__all__) <= set(names)
    assert names["Variable"] is tensorflow.Variable and names["keras"] is tf.keras


def test_models_pickles_and_functions_are_untouched(tmp_path):
    model = tf.keras.Sequential([tf.keras.Input((4,)), Dense(3), leat.keras.layers.ReLU()])
    assert isinstance(model, keras.Model) and type(model).__module__.startswith("keras.src")
    assert pickle.loads(pickle.dumps(tf.float32)) is tensorflow.float32
    assert b"leat" not in pickle.dumps(tf.keras.losses.MeanSquaredError)
    path = tmp_path / "model.keras"
    model.save(path)
    x = numpy.ones((2, 4), "f4")
    assert numpy.array_equal(tensorflow.keras.models.load_model(path)(x), model(x)) and b"leat" not in path.read_bytes()

    @tf.function
    def choose(value):
        if tf.reduce_sum(value) > 1:  # autograph sees through the module
            value = tf.cast(value, tf.int32)
            return value * 2
        return tf.zeros_like(value, tf.int32)

    assert choose(tf.constant([1.5, 2.5])).numpy().tolist() == [2, 4]


def test_errors_are_those_of_the_library():
    with pytest.raises(AttributeError, match="module 'tensorflow' has no attribute 'imag'"):
        tf.imag
    with pytest.raises(ImportError, match="cannot import name 'Dens'"):
        exec("from leat.tf.keras.layers import Dens")
    with pytest.raises(ModuleNotFoundError, match="leat.tf.nothing"):
        import leat.tf.nothing  # noqa: F401


def test_keras_on_another_backend_needs_no_tensorflow(tmp_path):
    code = """
import sys
sys.modules["tensorflow"] = None
import leat, numpy
from leat.keras.layers import Dense
model = leat.keras.Sequential([leat.keras.Input((4,)), Dense(3)])
model.compile("sgd", "mse")
ds = leat.from_arrays((numpy.ones((8, 4), "f4"), numpy.ones((8, 3), "f4"))).batch(4)
model.fit(ds, verbose=0, callbacks=[leat.keras.Resume(sys.argv[1])])
print(leat.keras.backend.backend())
"""
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "run.resume")], capture_output=True, text=True,
                          timeout=120, env={**os.environ, "KERAS_BACKEND": "jax"})
    assert done.stdout == "jax\n", done.stderr


def test_script_with_its_imports_as_they_are(tmp_path):
    """The libraries see nothing of it: Keras imports TensorFlow itself, while the script trains."""
    (tmp_path / "train.py").write_text("""
import sys
import tensorflow as tf
import tensorflow.compat.v1 as v1
from tensorflow import keras
from tensorflow.keras import layers
from tensorflow.keras.layers import Dense
import keras as other
import beside
assert (tf.__name__, other.__name__, beside.tf) == ("leat.tf", "leat.keras", tf)
real = sys.modules["tensorflow"]
assert real.__name__ == "tensorflow" and v1 is real.compat.v1 and layers.Dense is Dense is other.layers.Dense
model = keras.Sequential([layers.Input((4,)), Dense(3)])
model.compile("sgd", "mse")
model.fit(tf.data.Dataset.from_tensor_slices((tf.ones((8, 4)), tf.ones((8, 3)))).batch(4), verbose=0)
print("trained", sys.argv)
""")
    (tmp_path / "beside.py").write_text("import tensorflow as tf")
    done = subprocess.run([sys.executable, "-m", "leat", "train.py", "x"], capture_output=True, text=True, timeout=120,
                          cwd=tmp_path)
    assert done.stdout == "trained ['train.py', 'x']\n", done.stderr
