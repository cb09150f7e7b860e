# SPDX-License-Identifier: Apache-2.0
"""What a person sees: a dataset in a notebook, contact sheets with boxes and masks, progress."""
import base64
import io
import re
import sys
import types

import leat
import numpy
import pytest
from leat._base import progress as _progress
from PIL import Image


def annotated() -> leat.Dataset:
    """Gray pictures with a mask in the upper left quarter and a box in the lower right one."""
    image = numpy.full((4, 40, 40, 3), 128, "uint8")
    mask = numpy.zeros((4, 40, 40, 1), "uint8")
    mask[:, :20, :20] = 1
    box = numpy.tile(numpy.array([[25, 25, 35, 35], [0, 0, 0, 0]], "float32"), (4, 1, 1))
    kind = numpy.tile(numpy.array([1, 0]), (4, 1))
    ds = leat.from_arrays({"image": image, "mask": mask, "box": box, "kind": kind, "label": numpy.arange(4)})
    return ds.mask("mask").boxes("box", labels="kind")


def pixels(png: bytes) -> numpy.ndarray:
    return numpy.asarray(Image.open(io.BytesIO(png)).convert("RGB")).astype(int)


def strip_of(html: str) -> numpy.ndarray:
    return pixels(base64.b64decode(re.search(r'src="data:image/png;base64,([^"]+)"', html)[1]))


def test_a_sheet_has_boxes_and_masks():
    sheet = pixels(annotated().batch(2).show(1, versions=1, size=40).png)
    rows, columns = numpy.where((sheet == 128).all(-1))  # what is left of the picture
    top, left = rows.min(), columns.min()
    picture = sheet[top:top + 40, left:left + 40]
    assert (picture[:20, :20] == picture[0, 0]).all() and (picture[0, 0] != 128).any(), "the mask tints"
    assert (picture[25, 25:35] == (230, 97, 0)).all() and (picture[25:35, 35] == (230, 97, 0)).all(), "the box is a frame"
    assert (picture[27:33, 28:33] == 128).all() and (picture[30, 5:15] == 128).all(), "and nothing else is changed"


def test_boxes_move_with_their_picture():
    flipped = strip_of(annotated().random_flip_left_right(1).batch(2)._repr_html_())
    plain = strip_of(annotated().batch(2)._repr_html_())
    orange = (flipped == (230, 97, 0)).all(-1)
    columns = numpy.where(orange)[1]
    before = numpy.where((plain == (230, 97, 0)).all(-1))[1]
    assert columns.min() < 40 < before.min()


def test_a_dataset_shows_itself(pictures):
    html = leat.from_directory(pictures).resize(16, 16).batch(4)._repr_html_()
    assert "<code>resize height=16 width=16</code>" in html and "24 samples, 6 batches" in html
    assert "3 classes: ant, bee, big cat" in html and "<td>float32&emsp;</td><td>(4, 16, 16, 3)&emsp;</td>" in html
    assert strip_of(html).shape[0] > 96


def test_a_notebook_shows_no_pictures_where_there_are_none_or_it_would_take_long(monkeypatch, pictures):
    table = leat.from_arrays({"x": numpy.zeros((5, 3)), "name": list("abcde")}).batch(2)
    assert "<img" not in table._repr_html_() and "<code>name</code>" in table._repr_html_()
    from leat._data import html as _html

    monkeypatch.setattr(_html, "QUICK", 0)
    html = leat.from_directory(pictures).resize(16, 16).batch(4)._repr_html_()
    assert "<img" not in html and "float32" in html


def test_looking_runs_no_code_of_the_user():
    def never():
        raise AssertionError("was run")

    assert "not opened yet" in leat.from_generator(never)._repr_html_()
    assert "not opened yet" in leat.synthetic(4).filter(lambda sample: never())._repr_html_()


def test_what_is_shown_is_escaped(tmp_path):
    html = leat.from_directory(tmp_path / "<script>")._repr_html_()
    assert "<script>" not in html and "&lt;script&gt;" in html and "cannot be opened" in html


# ------------------------------------------------------------------------------------------------- progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setattr(_progress, "AFTER", 0)
    monkeypatch.setattr(_progress, "BETWEEN", 0)


def use(progress) -> None:
    for done in (1, 50, 100):
        progress.say(done)


def test_nothing_is_shown_where_no_person_looks(at_once, monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    progress = _progress.Progress("reading", 100)
    use(progress)
    progress.end()
    assert sys.stderr.getvalue() == ""


def test_a_line_without_tqdm(at_once, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    monkeypatch.setattr(sys, "stderr", Terminal())
    progress = _progress.Progress("reading", 100)
    use(progress)
    assert "\rleat: reading  50 % " in sys.stderr.getvalue()
    progress.end()
    assert sys.stderr.getvalue().endswith("\r\033[K")


def test_a_bar_of_tqdm(at_once, monkeypatch):
    class Bar:
        made: list = []

        def __init__(self, **how) -> None:
            self.how, self.start_t, self.seen, self.closed = how, 0.0, [], False
            Bar.made.append(self)

        def refresh(self) -> None:
            self.seen.append((self.n, self.total))

        def close(self) -> None:
            self.closed = True

    module = types.ModuleType("tqdm.auto")
    module.tqdm = Bar
    monkeypatch.setitem(sys.modules, "tqdm", types.ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", module)
    monkeypatch.setattr(sys, "stderr", Terminal())
    progress = _progress.Progress("reading", 100)
    use(progress)
    progress.report("counting", 3, 0)
    progress.end()
    first, second = Bar.made
    assert first.how["desc"] == "leat: reading" and first.seen == [(1, 100), (50, 100), (100, 100)] and first.closed
    assert second.how["desc"] == "leat: counting" and second.seen == [(3, None)] and second.closed
    assert sys.stderr.getvalue() == ""


def test_a_notebook_has_a_bar_though_it_is_no_terminal(at_once, monkeypatch):
    shell = type("ZMQInteractiveShell", (), {})()
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    use(_progress.Progress("reading", 100))
    assert "reading" in sys.stderr.getvalue()
