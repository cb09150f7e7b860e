# SPDX-License-Identifier: Apache-2.0
"""The hook for Keras, with modules that stand in for it; tests/frameworks has the real one."""
import pytest

LEGACY = '''
def select_data_adapter(x, y):
    if isinstance(x, list):
        return "list"
    raise ValueError("Failed to find data adapter")
'''


@pytest.fixture
def stand_in(tmp_path):
    """A package with the module of tf_keras that chooses by type."""
    for folder in ("tf_keras", "tf_keras/src", "tf_keras/src/engine"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").touch()
    (tmp_path / "tf_keras/src/engine/data_adapter.py").write_text(LEGACY)
    return f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\n"


@pytest.mark.parametrize("first, second", [("leat", "tf_keras.src.engine.data_adapter"),
                                           ("tf_keras.src.engine.data_adapter", "leat")])
def test_legacy_keras_is_told_what_to_use(stand_in, run, first, second):
    out = run(stand_in + f"""
import {first}
import {second}
from tf_keras.src.engine import data_adapter
print(data_adapter.select_data_adapter([1], None))
for thing in (leat.synthetic(4, 8, 8), 5):
    try:
        data_adapter.select_data_adapter(thing, None)
    except Exception as error:
        print(type(error).__name__, error)
""")
    assert out.splitlines()[0] == "list"
    assert out.splitlines()[1].startswith("UnsupportedError this is tf_keras") and "ds.to_tf()" in out
    assert out.splitlines()[2] == "ValueError Failed to find data adapter"


def test_it_is_there_once_and_answers_for_nothing_else(stand_in, run):
    assert run(stand_in + """
import importlib.util, leat, leat._frameworks.hook
watches = lambda: [finder for finder in sys.meta_path if type(finder).__module__ == "leat._frameworks.hook"]
leat._frameworks.hook.install()
print(len(watches()), watches()[0].find_spec("json", None), importlib.util.find_spec("tf_keras.src") is not None)
from tf_keras.src.engine import data_adapter
wrapped = data_adapter.select_data_adapter
leat._frameworks.hook.install()
print(data_adapter.select_data_adapter is wrapped, data_adapter.__spec__.loader.get_source(data_adapter.__name__) != "")
""") == "1 None True\nTrue True\n"


def test_without_keras(run):
    """Of a Keras that is not there, or that is too old, the message says what is wanted."""
    out = run("""
import sys
sys.modules["keras"] = None
import leat
for what in (lambda: leat.keras.Resume, lambda: leat.synthetic(4, 8, 8).batch(2).to_keras()):
    try:
        what()
    except ImportError as error:
        print(error)
""")
    assert out.count("leat.keras needs Keras 3: pip install") == 2
