# SPDX-License-Identifier: Apache-2.0
"""What the documents say about names, arguments, files and texts is true of this build."""
import json
import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LEAT = os.environ.get("LEAT", ROOT / "build/release/cli/leat")
REFERENCE = (ROOT / "docs/operations.md").read_text()
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "src/README.md", *sorted(ROOT.glob("docs/*.md")),
         *sorted(ROOT.glob("src/*/README.md"))]


def leat(*words: str) -> str:
    done = subprocess.run([LEAT, *words], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_the_reference_is_as_the_table_says():
    done = subprocess.run([ROOT / "scripts/operations.py"], capture_output=True, text=True, env={**os.environ, "LEAT": str(LEAT)})
    assert done.returncode == 0, done.stderr


def test_the_file_of_every_operation_is_told():
    def where(*words: str) -> subprocess.CompletedProcess:
        return subprocess.run([ROOT / "scripts/operations.py", "--where", *words], capture_output=True, text=True)

    told = dict(line.split() for line in where().stdout.splitlines())
    assert set(told) == {op["name"] for op in json.loads(leat("ops", "--json"))}
    for op, place in told.items():
        file, line = place.split(":")
        assert f'.name = "{op}",' in (ROOT / file).read_text().splitlines()[int(line) - 1]
    assert where("rot90").stdout.strip() == told["rot90"]
    unknown = where("rot91")
    assert unknown.returncode == 1 and unknown.stdout == "" and "did you mean rot90?" in unknown.stderr


def test_the_map_of_the_operations_names_every_one():
    rows = re.findall(r"^\| `((?:\w+/)?ops_\w+\.c)` \| .+ \| (.+) \|$", (ROOT / "src/ops/README.md").read_text(), re.M)
    room = ROOT / "src/ops"
    assert {file for file, _ in rows} == {path.relative_to(room).as_posix() for path in room.rglob("ops_*.c")}
    named = [op for _, names in rows for op in re.findall(r"`(\w+)`", names)]
    assert sorted(named) == sorted(op["name"] for op in json.loads(leat("ops", "--json")))


def texts_of_operations() -> dict[str, str]:
    """What is written by hand behind the heading of each operation; headings without any share the next one's."""
    found, waiting = {}, []
    for part in re.split(r"(?m)^(?=##)", REFERENCE):
        head = re.match(r"### (\w+)\n.*?<!-- \1: end -->\n", part, re.S)
        if head:
            waiting.append(head[1])
            words = part[head.end():]
            if words.strip():
                found |= dict.fromkeys(waiting, words)
                waiting = []
    return found


def test_every_operation_is_explained_and_says_what_differs():
    texts = texts_of_operations()
    for op in json.loads(leat("ops", "--json")):
        assert op["name"] in texts, f"docs/operations.md does not explain {op['name']}"
        if op["like"]:
            words = texts[op["name"]]
            assert words.count("\n\n*Differs:* ") == 1, f"{op['name']}: docs/operations.md must say once what *Differs:*"
            before_examples = re.split(r"\n\n {4}", words)[0]
            assert "*Differs:*" in before_examples, f"{op['name']}: examples come last"


def test_names_elsewhere_begin_with_their_library():
    name = r"(?:(?:tf|keras|torch\.utils\.data|PIL|webdataset)\.[\w.]+|(?:torchvision|keras|albumentations) [\w.]+)(?:\(\w+(?:=\"\w+\")?\))?"
    for op in json.loads(leat("ops", "--json")):
        assert re.fullmatch(rf"(?:{name}(?:, {name})*)?", op["like"]), f"{op['name']}: {op['like']}"


def example_texts() -> list[str]:
    """Indented lines that begin with a source, with the lines after them that begin with a bar."""
    words = "\n".join(page.read_text() for page in PAGES)
    found = re.findall(r"^ {4}((?:synth|folder|tfrecord|webdataset|list|cifar|fixed|npy|concatenate|sample_from|choose_from|zip)\b.*\|.*(?:\n {6}\| .*)*)", words, re.M)
    return [" ".join(text.split()) for text in found]


@pytest.mark.parametrize("text", example_texts())
def test_every_text_can_be_read(text, tmp_path):
    """Those on made-up pictures are planned; of the others only the files may be missing."""
    done = subprocess.run([LEAT, "plan", "--no-side-files", text], capture_output=True, text=True, cwd=tmp_path,
                          env={**os.environ, "LEAT_LIBCURL": "/none"})  # no test asks another machine for anything
    missing = re.search("cannot find|cannot open|no file|No such file|remote files are read by libcurl", done.stderr)
    files = re.search(r"(?:^|['\"])(?:folder|tfrecord|webdataset|list|cifar|fixed|npy)\b", text)
    assert missing if files else done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_file_that_is_named_exists(page):
    words = page.read_text()
    links = re.findall(r"\]\((?!http)([^)#]+)\)", words)
    named = re.findall(r"`([\w./]+\.(?:c|h|py|md))`", words)
    for path in links + [path for path in named if path != "Python.h"]:
        found = any((folder / path).exists() for folder in (ROOT, page.parent, ROOT / "include/leat", ROOT / "src"))
        found = found or any(any(ROOT.glob(f"{folder}/**/{path}")) for folder in ("src", "tests", "cli", "python"))
        assert found, f"{name(page)} names {path}"


def test_every_file_of_a_room_is_in_its_readme():
    for readme in ROOT.glob("src/*/README.md"):
        words = readme.read_text()
        for path in sorted(readme.parent.rglob("*.[ch]")):
            inside = path.relative_to(readme.parent).as_posix()
            vector = path.parent.name == "x86" and "`x86/`" in words
            assert vector or f"`{inside}`" in words, f"{name(readme)} lacks {inside}"


def test_every_promise_has_its_test():
    """What README says under "What you can rely on" stands in docs/reliability.md, sentence by sentence, beside tests that exist."""
    promised = re.search(r"## What you can rely on\n(.*?)\n## ", (ROOT / "README.md").read_text(), re.S)[1]
    promised = " ".join(promised.replace("**", "").replace("\n- ", "\n").split())
    table = re.search(r"<!-- promises: begin -->(.*?)<!-- promises: end -->", (ROOT / "docs/reliability.md").read_text(), re.S)[1]
    rows = re.findall(r"^\| (.+) \| (`tests/.+) \|$", table, re.M)
    for sentence, tests in rows:
        assert sentence in promised, f"docs/reliability.md has a row that README does not say: {sentence}"
        promised = promised.replace(sentence, "", 1)
        for file, names in re.findall(r"`(tests/[\w./]+)`(?: \(([^)]+)\))?", tests):
            source = (ROOT / file).read_text()
            for wanted in re.findall(r"`(\w+)`", names):
                assert re.search(rf"\b{wanted}\(", source), f"{file} has no {wanted}"
    assert not promised.strip(), f"docs/reliability.md has no row for: {promised.strip()}"
