# SPDX-License-Identifier: Apache-2.0
"""The programs of examples/everyday.md run with the real libraries, and none of leat's is longer than the one beside it."""
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import leat
import numpy
import pytest
from PIL import Image

PAGE = (Path(__file__).resolve().parents[2] / "examples/everyday.md").read_text()
BLOCK = re.compile(r"^```python ([\w ]+)\n(.*?)^```$", re.M | re.S)
SHARED = {words.split()[1]: code for words, code in BLOCK.findall(PAGE) if words.startswith("shared")}
PROGRAMS = {}  # number -> [(words, code)]
for heading in re.split(r"^## ", PAGE, flags=re.M)[1:]:
    PROGRAMS[int(heading.split(".")[0])] = BLOCK.findall(heading)
CASES = [(number, words, code) for number, blocks in PROGRAMS.items() for words, code in blocks]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("everyday")
    rng = numpy.random.default_rng(1)

    def picture(path, height, width, channels=3):
        path.parent.mkdir(parents=True, exist_ok=True)
        pixels = rng.integers(0, 256, (height, width, 3), "uint8") if channels == 3 else \
            rng.integers(0, 2, (height, width), "uint8")
        Image.fromarray(pixels).save(path)

    for place, n in (("photos/train", 30), ("photos/val", 6), ("more", 9)):
        for i in range(n):
            picture(folder / place / ("ant", "bee", "cat")[i % 3] / f"{i:02}.jpg", 60 + i, 100 - i)
    annotations = []
    for i in range(8):
        picture(folder / "images" / f"{i}.jpg", 70 + i, 80)
        picture(folder / "masks" / f"{i}.png", 70 + i, 80, 1)
        annotations += [{"image_id": i, "bbox": [5 + k, 6, 20, 30], "category_id": 1 + k, "iscrowd": 0, "id": 10 * i + k}
                        for k in range(1 + i % 2)]
    (folder / "coco.json").write_text(json.dumps({
        "images": [{"id": i, "file_name": f"{i}.jpg", "height": 70 + i, "width": 80} for i in range(8)],
        "annotations": annotations, "categories": [{"id": 1, "name": "cup"}, {"id": 2, "name": "pen"}]}))
    with leat.TFRecordWriter(folder / "raw.tfrecord") as writer:
        for i in range(40):
            writer.write({"image": rng.integers(0, 256, (64, 64, 3), "uint8"), "label": i % 3})
    with leat.TFRecordWriter(folder / "boxes.tfrecord") as writer:
        for i in range(8):
            boxes = numpy.tile(numpy.array([0.1, 0.2, 0.5, 0.6], "float32"), 1 + i % 3)
            writer.write({"image": (folder / "images" / f"{i}.jpg").read_bytes(), "boxes": boxes})
    rows = [f"{20 + i},{1000 * i if i % 7 else ''},{('Rome', 'Oslo', 'Bonn')[i % 3]},{i % 2}" for i in range(50)]
    (folder / "table.csv").write_text("age,income,city,bought\n" + "\n".join(rows) + "\n")
    numpy.savez(folder / "cifar.npz", x=rng.integers(0, 256, (100, 32, 32, 3), "uint8"),
                y=numpy.sort(rng.integers(0, 10, 100)))
    return folder


def lines(code):
    return sum(1 for line in code.splitlines() if line.strip())


@pytest.mark.parametrize("number", [number for number, blocks in PROGRAMS.items() if blocks])
def test_none_is_longer(number):
    theirs = [lines(code) for words, code in PROGRAMS[number] if not words.startswith("leat")]
    ours = [lines(code) for words, code in PROGRAMS[number] if words.startswith("leat")]
    assert len(theirs) == len(ours) == 1 and ours[0] <= theirs[0]


def test_there_are_fifteen():
    assert list(PROGRAMS) == list(range(1, 16))


# Importing a framework takes longer than a program does: all programs of one library share a process.
RUNNER = """
import json, runpy, sys, traceback
for number, words, code in json.load(open(sys.argv[1])):
    path = f"program_{number}_{words.replace(' ', '_')}.py"  # TensorFlow reads the source of functions
    with open(path, "w") as file:
        file.write(code)
    try:
        runpy.run_path(path, run_name="__main__")
        said = "ok"
    except BaseException:
        said = traceback.format_exc()
    print("RESULT " + json.dumps([number, words, said]), flush=True)
"""


def whole(kind, code):
    """With what is shared; a network of torch must learn something, so its weights stay numbers."""
    end = "\nassert torch.isfinite(loss) and all(torch.isfinite(p).all() for p in net.parameters())\n"
    return SHARED.get(kind, "") + "\n" + code + (end if kind == "torch" else "")


@pytest.fixture(scope="module")
def results(data):
    found = {}
    for kind in ("keras", "torch"):
        mine = [(number, words, whole(kind if kind in words.split() else "", code)) for number, words, code in CASES
                if kind in words.split() or (kind == "keras" and words == "leat")]
        (data / f"{kind}.json").write_text(json.dumps(mine))
        done = subprocess.run([sys.executable, "-c", RUNNER, f"{kind}.json"], cwd=data, capture_output=True, text=True,
                              timeout=600, stdin=subprocess.DEVNULL,
                              env={**os.environ, "OMP_WAIT_POLICY": "passive", "TF_CPP_MIN_LOG_LEVEL": "3",
                                   "KERAS_BACKEND": "tensorflow"})
        for line in done.stdout.splitlines():
            if line.startswith("RESULT "):
                number, words, said = json.loads(line[7:])
                found[number, words] = said
        for number, words, _ in mine:
            found.setdefault((number, words), f"the process ended before it came to this:\n{done.stdout}{done.stderr}")
    return found


@pytest.mark.parametrize(("number", "words"), [case[:2] for case in CASES])
def test_program(results, number, words):
    assert results[number, words] == "ok", results[number, words]
