# SPDX-License-Identifier: Apache-2.0
"""leat.auto, `python -m leat` and `%load_ext leat`, over a library that stands in for TensorFlow, see test_dropin."""
import os
import subprocess
import sys

import pytest
from conftest import LIMIT, PACKAGE
from test_dropin import BEGIN, libraries  # noqa: F401

IMPORTS = """
import tensorflow as tf
import tensorflow.data
import tensorflow.keras.layers as layers
import tensorflow.compat.v1 as v1
from tensorflow import keras, data
from tensorflow.data import Dataset
from tensorflow.keras.layers import Dense
import keras as other
import importlib
module = importlib.import_module("tensorflow.data")
"""
SHOW = """
print(__name__, tf.__name__, tensorflow.__name__, data.__name__, keras.__name__, Dataset.__module__, Dense.__module__,
      other.__name__, module.__name__, layers.__name__, v1.__name__)
"""
LEAT = ("leat.tf leat.tf leat.tf.data leat.tf.keras ours keras.layers leat.keras leat.tf.data "
        "keras._tf_keras.keras.layers "
        "tensorflow._api.v2.compat.v1")
REAL = ("tensorflow tensorflow tensorflow.data tensorflow.keras tensorflow.python.dataset keras.layers keras "
        "tensorflow.data "
        "tensorflow.keras.layers tensorflow.compat.v1")


@pytest.fixture
def project(tmp_path, libraries):  # noqa: F811
    """A script with modules beside it, a virtual environment inside of its directory, and an installed package."""
    (libraries / "installed.py").write_text("import tensorflow as tf, keras, importlib\n"
                                            "from tensorflow.data import Dataset\n"
                                            "print('installed', tf.__name__, keras.__name__, Dataset.__module__,"
                                            "importlib.import_module('tensorflow').__name__)\n")
    inner = tmp_path / "project/venv/lib/site-packages"
    for folder in (inner, tmp_path / "project/package", tmp_path / "elsewhere", tmp_path / "project/.env/lib"):
        folder.mkdir(parents=True)
    (inner / "inner.py").write_text("import tensorflow as tf\nprint('inner', tf.__name__)\n")
    (tmp_path / "project/.env/pyvenv.cfg").write_text("")
    (tmp_path / "project/.env/lib/another.py").write_text("import tensorflow as tf\nprint('another', tf.__name__)\n")
    (tmp_path / "project/package/__init__.py").write_text("")
    (tmp_path / "project/package/module.py").write_text("import sys\n" + IMPORTS + SHOW)
    (tmp_path / "elsewhere/far.py").write_text("import tensorflow as tf\nprint('far', tf.__name__)\n")
    main = "import sys\nimport package.module, installed, inner, another, far\n" + IMPORTS + SHOW
    main += "print(sys.argv[1:])\n"
    (tmp_path / "project/plain.py").write_text(main)
    (tmp_path / "project/auto.py").write_text(BEGIN + "import leat.auto\n" + main)
    script = "import sys\n" + IMPORTS + SHOW + "print(sys.argv[1:], __package__)\n"
    (tmp_path / "project/package/run.py").write_text(script)
    path = [PACKAGE, str(libraries), str(inner), str(tmp_path / "project/.env/lib"), str(tmp_path / "elsewhere")]

    def call(*arguments: str, cwd: str = ".", returncode: int = 0) -> str:
        done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=LIMIT,
                              cwd=tmp_path / cwd, env={**os.environ, "PYTHONPATH": ":".join(path)},
                              stdin=subprocess.DEVNULL)
        assert done.returncode == returncode, done.stdout + done.stderr
        return done.stdout + done.stderr

    return call


def as_leat(*arguments: str) -> str:
    """What `python -m leat` does, with the own names of these tests."""
    words = ["leat", *arguments]
    return BEGIN + f"import runpy, sys\nsys.argv = {words}\nrunpy.run_module('leat', run_name='__main__')"


@pytest.mark.parametrize("how", [("project/auto.py", "a", "--b"), ("-c", as_leat("project/plain.py", "a", "--b"))],
                         ids=["leat.auto", "-m leat"])
def test_script_and_its_modules_get_leat_and_installed_packages_do_not(project, how):
    assert project(*how).splitlines() == [
        f"package.module {LEAT}", "installed tensorflow keras tensorflow.python.dataset tensorflow", "inner tensorflow",
        "another tensorflow", "far tensorflow", f"__main__ {LEAT}", "['a', '--b']"]


def test_without_leat_the_same_script_is_tensorflows(project):
    assert f"__main__ {REAL}" in project("project/plain.py")


def test_module_of_a_package(project):
    said = project("-c", as_leat("-m", "package.run", "a"), cwd="project").splitlines()
    assert said == [f"__main__ {LEAT}", "['a'] package"]


def test_script_runs_as_with_python(project, tmp_path):
    script = tmp_path / "project/look.py"
    script.write_text("""
import os, pickle, sys, threading
class Kept: pass
assert type(pickle.loads(pickle.dumps(Kept()))) is Kept and sys.modules["__main__"].Kept is Kept
print(__name__, __file__, __package__, __spec__, __doc__, sys.argv, os.path.relpath(sys.path[0]), __builtins__.__name__)
threading.Timer(0.1, lambda: print("later", Kept.__name__)).start()
if sys.argv[1:] == ["raise"]:
    raise ValueError("of the script")
sys.exit(7)
""")
    plain = project("project/look.py", "x", returncode=7)
    assert plain == project("-m", "leat", "project/look.py", "x", returncode=7) and "later Kept" in plain
    assert "ValueError: of the script" in project("-m", "leat", "project/look.py", "raise", returncode=1)


def test_help_verbs_and_wrong_words(project, tmp_path, command):
    assert "python -m leat train.py" in project("-m", "leat") == project("-m", "leat", "--help")
    assert "no file nothing.py" in project("-m", "leat", "nothing.py", returncode=1)
    assert "needs the name" in project("-m", "leat", "-m", returncode=1)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/leat").symlink_to(command)
    code = f"import os\nos.environ['PATH'] = {str(tmp_path / 'bin')!r}\n" + as_leat("--version")
    assert project("-c", code).startswith("leat ")
    code = code.replace("/bin'", "/none'").replace("--version", "bench")
    assert "is no file here" in project("-c", code, returncode=1)


def test_late_line_changes_names_that_are_there(project, tmp_path):
    (tmp_path / "project/late.py").write_text("""
import tensorflow as tf, package.early
from tensorflow.data import Dataset
from tensorflow import keras, constant
kept = Dataset
number = -1  # as AUTOTUNE, and not of the library
""" + BEGIN + """
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import leat.auto
print(caught[0].message, caught[0].category.__name__, caught[0].filename.endswith("late.py"))
print(tf.__name__, Dataset.__module__, kept.__module__, keras.__name__, constant is tf.constant)
print(package.early.tf.__name__)
""")
    (tmp_path / "project/package/early.py").write_text("import tensorflow as tf")
    said = project("project/late.py").splitlines()
    assert "leat's from now on: Dataset, kept, keras, tf." in said[0]
    assert "put leat.auto first LeatWarning True" in said[0]
    assert said[1:] == ["leat.tf ours ours leat.tf.keras True", "leat.tf"]


def test_notebook(project):
    """IPython calls the function of the extension, and the cells are the module __main__, which has no file."""
    said = project("-c", BEGIN + """
import sys, types, leat
main = types.ModuleType("__main__")
sys.modules["__main__"] = main
leat.load_ipython_extension(None)
exec("import tensorflow as tf, package.module, installed", main.__dict__)
print(main.tf.__name__)
leat.unload_ipython_extension(None)
exec("import tensorflow as tf", main.__dict__)
print(main.tf.__name__)
""", cwd="project").splitlines()
    assert said == [f"package.module {LEAT}", "installed tensorflow keras tensorflow.python.dataset tensorflow",
                    "leat.tf", "tensorflow"]


def test_a_test_that_imports_it(project, tmp_path):
    """The program is pytest then; the folder of the module that says `import leat.auto` counts."""
    (tmp_path / "project/test_it.py").write_text(
        "import leat.auto\nimport tensorflow as tf\ndef test_it():\n    import installed\n"
        "    assert tf.__name__ == 'leat.tf'\n")
    assert "1 passed" in project("-m", "pytest", "-q", "-p", "no:cacheprovider", "project/test_it.py")


def test_notebook_with_ipython(project):
    pytest.importorskip("IPython")
    said = project("-c", BEGIN + """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
for cell in ("%load_ext leat", "import tensorflow as tf, package.module", "print(tf.__name__)", "%unload_ext leat",
             "import tensorflow as tf", "print(tf.__name__)"):
    shell.run_cell(cell).raise_error()
""", cwd="project").splitlines()
    said = [line for line in said if "tensor" in line or "leat" in line]
    assert said == [f"package.module {LEAT}", "leat.tf", "tensorflow"]
