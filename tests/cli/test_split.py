# SPDX-License-Identifier: Apache-2.0
"""leat split: counts, lists that are complements, and leaks."""
import csv
import json
import shutil


def parts(leat, *words, code: int = 0) -> dict:
    return json.loads(leat("split", *words, "--json", code=code).stdout)


def test_counts(leat, pictures):
    done = leat("split", pictures, "--fractions", "0.5,0.25,0.25", "--stratify")
    rows = [line.split() for line in done.stdout.splitlines()]
    assert rows[0] == ["train", "validation", "test"]
    assert rows[1] == ["ant", "4", "2", "2"] and rows[3][0] == "cat" and rows[4][0] == "all"
    assert "no content lies on more than one side" in done.stdout
    out = parts(leat, pictures, "--fractions", "0.5,0.25,0.25", "--stratify")
    assert out["classes"][1]["name"] == "bee" and sum(out["parts"].values()) == 23 and out["leaks"] == []


def test_lists_are_what_the_operation_gives(leat, pictures, tmp_path):
    out = parts(leat, pictures, "--by", "hash", "--seed", "4", "--write", "lists")
    seen = []
    for part in ("train", "validation"):
        with open(tmp_path / "lists" / f"{part}.csv", newline="") as f:
            rows = list(csv.DictReader(f))
        assert len(rows) == out["parts"][part]
        seen += [row["path"] for row in rows]
        tail = "decode | resize 8 8 | batch 4"
        split = leat("run", f"folder {pictures} | split {part} by=hash seed=4 | {tail}", "--sink", "digest").stdout
        listed = leat("run", f"list lists/{part}.csv | {tail}", "--sink", "digest").stdout
        assert split == listed
    assert sorted(seen) == sorted(str(p) for p in pictures.rglob("*.*"))
    assert not list((tmp_path / "lists").glob("test*"))


def test_leaks(leat, pictures):
    one = next(iter(sorted((pictures / "ant").iterdir())))
    for i in range(12):
        shutil.copy(one, pictures / "bee" / f"copy, {i}{one.suffix}")
    out = parts(leat, pictures, code=1)
    assert len(out["leaks"]) == 1 and len(out["leaks"][0]) == 13
    assert {leak["part"] for leak in out["leaks"][0]} == {"train", "validation"}
    assert f"ant/{one.name}" in {leak["name"] for leak in out["leaks"][0]}
    text = leat("split", pictures, code=1).stdout
    assert "1 content lies on more than one side, 13 samples" in text and "bee/copy, 3" in text
    assert parts(leat, pictures, "--no-leaks")["leaks"] == []
    assert parts(leat, pictures, "--fractions", "1,0")["leaks"] == []
    # Lists with such names are read again.
    leat("split", pictures, "--write", "lists", code=1)
    assert "no content" in leat("split", "lists/train.csv", "--fractions", "1,0").stdout


def test_records_and_groups(leat, records):
    rows = [{"image": b"%d" % (i // 2), "label": i % 3, "patient": b"p%d" % (i // 4)} for i in range(40)]
    path = records("a.tfrecord", rows)
    assert len(parts(leat, path, code=1)["leaks"]) > 3
    text = f"tfrecord {path} | parse image:bytes label:int64 patient:bytes"
    for by in ("random", "hash", "order"):
        out = parts(leat, text, "--group", "patient", "--by", by)
        assert out["leaks"] == [] and sum(out["parts"].values()) == 40
    assert parts(leat, text, "--image", "patient", code=1)["leaks"]


def test_mistakes(leat, pictures, records):
    assert "which data set" in leat("split", code=2).stderr
    assert "more than 1" in leat("split", pictures, "--fractions", "0.8,0.8", code=1).stderr
    assert "random|hash" in leat("split", pictures, "--by", "luck", code=2).stderr
    assert "no field 'patient'" in leat("split", pictures, "--group", "patient", code=1).stderr
    assert "nowhere" in leat("split", "nowhere", code=1).stderr
    done = leat("split", records("a.tfrecord", [{"image": b"x", "label": 1}] * 3), "--write", "lists", code=1)
    assert "a list names files" in done.stderr
    assert "unpack" in leat("split", records("a.gz", [{"image": b"x", "label": 1}] * 3, "gzip"), code=1).stderr


def test_folds(leat, pictures):
    """Folds are disjoint and cover everything; they differ by one sample at the most, in every class too."""

    def ids(text: str) -> list[str]:
        return leat("run", text, "--sink", "ids").stdout.partition(":")[2].split()

    everything = ids(f"folder {pictures} | decode | resize 8 8 | batch 23")
    for more in ("", " stratify=true", " by=hash", " by=order", " seed=3"):
        seen: list[str] = []
        sizes = []
        for i in range(5):
            text = f"folder {pictures} | split %s fold={i}/5{more} | decode | resize 8 8 | batch 23"
            train, validation = ids(text % "train"), ids(text % "validation")
            assert not set(train) & set(validation) and len(train) + len(validation) == len(everything)
            seen += validation
            sizes.append(len(validation))
        assert sorted(seen) == sorted(everything)
        assert more == " by=hash" or max(sizes) - min(sizes) <= 1, (more, sizes)
    for wrong, what in (("fold=5/5", "fold must be"), ("fold=1", "fold must be"), ("fold=0/1", "2 to 64"),
                        ("fold=0/5 fractions=0.5,0.5", "leave out fractions"), ("fold=0/5 by=keras_first", "no folds")):
        assert what in leat("run", f"folder {pictures} | split train {wrong} | batch 2", code=1).stderr
    assert "no test part" in leat("run", f"folder {pictures} | split test fold=0/5 | batch 2", code=1).stderr
