# SPDX-License-Identifier: Apache-2.0
"""leat doctor --html FILE: the page is sound, loads nothing, shows nothing that it should not, and a browser draws it.

The browser is Debian's Chromium; without it the test of the browser is skipped (`apt-get install chromium`).
"""
import os
import re
import shutil
import subprocess
from html.parser import HTMLParser

import numpy
import pytest
from PIL import Image

from conftest import ROOT, paint

QUICK = ("--seconds", 0.3, "--quiet")
VOID = {"meta", "img"}
TAGS = {"html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "p", "pre", "b", "div", "span", "section", "table", "tr",
        "th", "td", "ol", "li", "svg", "rect", "path", "text", "figure", "figcaption", "img", "details", "summary", "footer"}


class Page(HTMLParser):
    """Checks that tags are balanced and known, that nothing is loaded or run; collects text by tag."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: dict[str, list[str]] = {}
        self.images: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list) -> None:
        assert tag in TAGS, tag
        for name, value in attrs:
            assert not name.startswith("on") and name not in ("href", "style", "srcset", "action", "id"), (tag, name)
            assert "url(" not in (value or "")
            if name == "src":
                assert tag == "img" and re.fullmatch(r"data:image/jpeg;base64,[A-Za-z0-9+/]+=*", value)
                self.images.append(value)
        if tag not in VOID:
            self.open.append(tag)
            self.text.setdefault(tag, []).append("")

    def handle_startendtag(self, tag: str, attrs: list) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        for tag in set(self.open):
            self.text[tag][-1] += data


def load(path) -> tuple[str, Page]:
    html = path.read_text(encoding="utf-8")  # strict: the page is UTF-8
    assert html.startswith("<!DOCTYPE html>") and "@import" not in html
    assert not re.search(r"(https?|ftp|file):", html) and "//" not in re.sub(r"base64,[A-Za-z0-9+/=]+", "", html)
    return html, Page(html)


def examine(command: str, folder, *words) -> tuple[str, str]:
    """(What is printed, the path of the page) of a folder of pictures."""
    text = f'folder "{folder}" | shuffle | decode | resize 16 16 | random_flip_left_right | batch 4'
    place = folder.parent / "r.html"
    done = subprocess.run([command, "doctor", text, *map(str, QUICK), "--html", place, *words], text=True, timeout=120,
                          capture_output=True, env={**os.environ, "XDG_CACHE_HOME": str(folder.parent / "cache")})
    assert done.returncode == 0, done.stderr
    return done.stdout, place


@pytest.fixture(scope="module")
def examined(tmp_path_factory):
    """(What leat doctor printed, the path of its page)."""
    folder = tmp_path_factory.mktemp("report") / "pictures"
    for i in range(8):
        (folder / "ab"[i % 2]).mkdir(parents=True, exist_ok=True)
        Image.fromarray(paint(60 + i, 80, i)).save(folder / "ab"[i % 2] / f"{i}.jpg")
    return examine(os.environ.get("LEAT", str(ROOT / "build/release/cli/leat")), folder, "--step-ms", "1")


def test_a_page(examined):
    out, place = examined
    html, page = load(place)
    assert page.text["h1"][0].split(" images/s. ")[1] in " ".join(out.split())
    for title in ("Where the time goes", "Ceilings", "Remedies", "Waiting over time", "How long a batch is waited for",
                  "What the threads did"):
        assert title in page.text["h2"], title
    assert page.text["pre"][0] == "folder \"pictures\" | shuffle | decode | resize 16 16 | random_flip_left_right | batch 4"
    assert str(place.parent) not in html and not page.images and "Samples before and after" not in html
    assert "prefers-color-scheme:dark" in html and 'name="viewport"' in html and len(html) < 400_000
    for ceiling in re.findall(r"^  (\S.{13}) +[\d,.]+ █", out, re.M):
        assert ceiling.strip() in " ".join(page.text["div"])
    assert re.search(r'<path class="s3" d="M\d+ 0h\d+', html)  # samples that were decoded


def test_hostile_names_and_images(command, tmp_path):
    folder = tmp_path / "<img src=x onerror=alert(1)>&'"
    for label in ("<script>alert(1)<b>", "\u202egnp.exe", "x\"y"):
        (folder / label).mkdir(parents=True)
        Image.fromarray(paint(20, 30, 1)).save(folder / label / "<svg onload=x>&amp;.png")
    (folder / os.fsdecode(b"\xff\xfe")).mkdir()
    Image.fromarray(paint(20, 30, 2)).save(folder / os.fsdecode(b"\xff\xfe") / "a\nb\x1b[31m.png")
    _, place = examine(command, folder, "--images")
    html, page = load(place)
    assert "\u202e" not in html and "\x1b" not in html and "alert(1)>" not in html
    assert "<img src=x onerror=alert(1)>&'" in page.text["pre"][0]
    assert str(folder) in page.text["pre"][0]  # with pictures, paths are whole
    assert len(page.images) == len(page.text["figure"]) == 4 * 6 and "Samples before and after" in page.text["h2"]
    captions = " ".join(page.text["figcaption"])
    assert "<script>alert(1)<b>" in captions and "\ufffd" in captions and "flip=1" in captions


def test_samples_that_are_no_pictures(leat, records, tmp_path):
    path = records("a.tfrecord", [{"x": [1.0, 2.0]} for _ in range(50)])
    text = f"tfrecord {path} | parse x:float[2] | batch 4"
    assert "no picture" in leat("doctor", text, *QUICK, "--html", tmp_path / "s.html", "--images", code=1).stderr
    assert not (tmp_path / "s.html").exists()


def test_what_is_refused(leat, tmp_path):
    assert "--html FILE" in leat("doctor", "synth 9 | batch 2", "--images", code=2).stderr
    for path in ("none/r.html", ".", "/dev/null"):
        line = leat("doctor", "synth 9 | batch 2", "--html", path, code=1).stderr
        assert line.startswith(f"leat doctor: cannot write {path}: ") and line.count("\n") == 1


@pytest.mark.skipif(not shutil.which("chromium"), reason="chromium is not installed")
def test_in_a_browser(examined, tmp_path):
    """Light, dark and on a phone: something is drawn in every part of the page, and nothing is cut off at its side."""
    _, place = examined

    def shot(name: str, width: int, *words: str) -> numpy.ndarray:
        subprocess.run(["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                        f"--user-data-dir={tmp_path / 'profile'}", f"--window-size={width},3000",
                        f"--screenshot={tmp_path / name}", *words, f"file://{place}"],
                       check=True, capture_output=True, timeout=60, env={**os.environ, "HOME": str(tmp_path)})
        return numpy.asarray(Image.open(tmp_path / name).convert("RGB")).astype(int)

    light, dark = (shot(f"{i}.png", 1000, f"--blink-settings=preferredColorScheme={i}") for i in (1, 0))
    phone = shot("phone.png", 390)
    assert light.shape == (3000, 1000, 3) and phone.shape == (3000, 390, 3)
    assert light[1, 1].min() > 200 and dark[1, 1].max() < 60
    orange, red = [200, 99, 42], [179, 64, 47]  # decode, and the ceiling that binds
    for picture in (light, phone):
        assert (abs(picture - orange).max(-1) < 3).sum() > 500 or (abs(picture - red).max(-1) < 3).sum() > 500
        edge = picture[:, -6:]
        assert (abs(edge - picture[1, 1]).max(-1) < 3).all()  # the margin is empty: nothing is wider than the page
