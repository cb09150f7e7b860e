# SPDX-License-Identifier: Apache-2.0
"""Runs programs one after the other in this process and writes down what each found.

    run_tutorials.py --data FOLDER --out FILE [--leat [--write]] [--rounds N] [-v] [PROGRAM]...

A program is run as a script: fresh globals, `__name__ == "__main__"`, FOLDER as its working directory. Seeds, the state of
Keras and its policy are set back in between. With --leat, `import leat.auto` comes first and that is all: the programs are
the same. Without it, tensorflow_datasets is that of stand_in/. FILE is a pickle of plain values, {program: {"results", "error", "seconds", "cpu", "where", "notices"}}.
--write writes where.txt anew, which tells for each program where its data sets are read.
"""
import argparse
import contextlib
import gc
import io
import os
import pickle
import runpy
import sys
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
ROOMS = ("guide", "folders", "generators", "records", "training", "questions")
WHERE = """\
# SPDX-License-Identifier: Apache-2.0
# Where data sets of each program are read under leat, and how many. A data set of the engine with a map of TensorFlow behind it
# counts for both. Written by run_tutorials.py --leat --write.
"""
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")


def programs() -> list[str]:
    """Names of all programs, such as guide/arrays_into_fit."""
    return [f"{room}/{path.stem}" for room in ROOMS for path in sorted((HERE / room).glob("*.py"))]


def plain(value: Any) -> Any:
    """Without anything of TensorFlow, so that results of two processes can be compared."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (np.ndarray, str, bytes, int, float, type(None))):
        return value
    if type(value).__name__ == "TensorShape":
        return list(value)
    if type(value).__name__ == "DType":
        return value.name
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return np.array(value)


class Watch:
    """Which data sets a program read from the engine, and which from TensorFlow, each counted once.

    Graphs and Keras read the engine through a data set of TensorFlow that does nothing but hand over batches: `fed`."""

    def __init__(self) -> None:
        self.engine: dict[int, Any] = {}  # data sets are kept, so that no other gets the same id
        self.theirs: dict[int, Any] = {}
        self.fed: dict[int, Any] = {}

    def install(self) -> None:
        from leat._data import run as _run
        from leat._tfdata.dataset import Dataset
        from leat._tfdata.reading import Reader
        from tensorflow.python.data.ops import iterator_ops

        begin, begin_reader, begin_theirs = _run.Iterator.__init__, Reader.__init__, iterator_ops.OwnedIterator.__init__
        generated = Dataset._generated

        def noted(iterator: Any, dataset: Any, *args: Any, **kwargs: Any) -> None:
            self.engine[id(dataset)] = dataset
            begin(iterator, dataset, *args, **kwargs)

        def noted_reader(reader: Any, chain: Any, built: Any, *args: Any, **kwargs: Any) -> None:
            self.engine[id(built)] = built
            begin_reader(reader, chain, built, *args, **kwargs)

        def noted_theirs(iterator: Any, dataset: Any = None, *args: Any, **kwargs: Any) -> None:
            if dataset is not None and id(dataset) not in self.fed and not inside("_tftrace"):
                self.theirs[id(dataset)] = dataset
            begin_theirs(iterator, dataset, *args, **kwargs)

        def noted_fed(dataset: Any) -> Any:
            made = generated(dataset)
            for each in (made, getattr(made, "direct", made)):
                self.fed[id(each)] = each
            return made

        _run.Iterator.__init__, iterator_ops.OwnedIterator.__init__ = noted, noted_theirs
        Reader.__init__, Dataset._generated = noted_reader, noted_fed

    def words(self) -> str:
        """Numbers of data sets, such as `engine 2, TensorFlow 1`. The watch begins anew."""
        found = [f"{name} {len(seen)}" for name, seen in (("engine", self.engine), ("TensorFlow", self.theirs)) if seen]
        for seen in (self.engine, self.theirs, self.fed):
            seen.clear()
        return ", ".join(found) or "none 0"


def inside(folder: str) -> bool:
    """Whether leat itself, in this folder of the package, asks TensorFlow for values."""
    frame: Any = sys._getframe()
    while frame is not None:
        if f"leat/{folder}/" in frame.f_code.co_filename:
            return True
        frame = frame.f_back
    return False


def run(path: Path) -> dict[str, Any]:
    import keras
    found: dict[str, Any] = {"results": None, "error": ""}
    keras.backend.clear_session()
    keras.utils.set_random_seed(1)
    keras.config.set_dtype_policy("float32")
    gc.collect()
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        begun, begun_cpu = time.perf_counter(), time.process_time()
        names: dict[str, Any] = {}
        try:
            names = runpy.run_path(str(path), run_name="__main__")
        except Exception:  # noqa: BLE001  a program may raise anything
            found["error"] = traceback.format_exc()
        found["seconds"] = time.perf_counter() - begun
        found["cpu"] = time.process_time() - begun_cpu
        if names:
            found["results"] = plain(names["results"])
    found["notices"] = [str(each.message) for each in caught if each.category.__name__ == "LeatWarning"]
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--leat", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("-v", action="store_true")
    parser.add_argument("programs", nargs="*", default=programs())
    options = parser.parse_args()
    watch = Watch()
    if options.leat:
        import leat.auto  # noqa: F401
        watch.install()
    else:
        sys.path.append(str(HERE / "stand_in"))
    out = options.out.resolve()
    os.chdir(options.data)
    everything: dict[str, Any] = {}
    for name in options.programs:
        for _ in range(options.rounds):
            found = run(HERE / f"{name}.py")
            first = everything.setdefault(name, {**found, "seconds": [], "cpu": [], "where": watch.words()})
            first["seconds"].append(found["seconds"])
            first["cpu"].append(found["cpu"])
        watch.words()
        if options.v:
            print(f"{name}: {first['seconds'][-1]:.2f} s {first['where'] if options.leat else ''}"
                  f"{' ERROR' if first['error'] else ''}", flush=True)
    out.write_bytes(pickle.dumps(everything))
    if options.write:
        (HERE / "where.txt").write_text(WHERE + "".join(f"{name} {everything[name]['where']}\n" for name in programs()))


if __name__ == "__main__":
    main()
