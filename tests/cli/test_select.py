# SPDX-License-Identifier: Apache-2.0
"""Verbs that choose samples, through the command: what comes out is what Python's own filters give."""
import numpy
import pytest


@pytest.fixture
def chosen(leat, tmp_path):
    """The fields of all batches of a pipeline, joined."""

    def run(text: str, *words) -> dict:
        folder = tmp_path / f"out{len(list(tmp_path.glob('out*')))}"
        leat("run", text, "--sink", f"npy:{folder}", *words)
        fields = {}
        for path in sorted(folder.glob("*.npy")):
            fields.setdefault(path.stem.split("_", 1)[1], []).append(numpy.load(path))
        return {name: numpy.concatenate(parts) for name, parts in fields.items()}

    return run


@pytest.fixture
def table(records):
    """Rows of (id, label, width, weight) as TFRecords, plain and compressed."""
    rows = [{"id": i, "label": i * i % 7, "width": 90 + 5 * (i % 11), "weight": [i / 8]} for i in range(50)]
    parse = "parse id:int64 label:int64 width:int64 weight:float"
    texts = [f"tfrecord {records('a.tfrecord', rows)} | {parse}", f"tfrecord {records('a.gz', rows, 'GZIP')} | {parse}"]
    return rows, texts


CONDITIONS = [
    ("label == 4", lambda r: r["label"] == 4),
    ("label in 1,2 and width < 120", lambda r: r["label"] in (1, 2) and r["width"] < 120),
    ("not (label == 0 or weight[0] > 3)", None),
    ("weight >= 2.5 or width == 90", lambda r: r["weight"][0] >= 2.5 or r["width"] == 90),
    ("label not in (0, 1, 2) and not weight > 4", lambda r: r["label"] not in (0, 1, 2) and not r["weight"][0] > 4),
]


@pytest.mark.parametrize("condition, python", CONDITIONS)
def test_filter(chosen, leat, table, condition, python):
    rows, texts = table
    for text in texts:
        if python is None:
            assert "filter" in leat("plan", f'{text} | filter "{condition}"', code=1).stderr
            continue
        out = chosen(f'{text} | filter "{condition}" | batch 6')
        assert out["id"].tolist() == [r["id"] for r in rows if python(r)]


def test_filter_by_the_last_of_many_columns(leat, tmp_path):
    columns = [f"c{i}" for i in range(31)]  # with the path as many fields as a sample can have
    rows = [f"{k}.png," + ",".join(str(k * i % 7) for i in range(31)) for k in range(20)]
    (tmp_path / "wide.csv").write_text("\n".join(["path," + ",".join(columns), *rows]) + "\n")
    text = f"list wide.csv label={','.join(columns)} max_bytes=9 | filter c30==2 | select c30 | batch 20 | options on_error=skip"
    assert f"{len([k for k in range(20) if k * 30 % 7 == 2])} chosen of 20" in leat("plan", text).stdout


def test_filter_by_class(chosen, pictures):
    out = chosen(f"folder {pictures} | filter \"label == 'bee' or label > 1\" | decode | resize 8 8 | batch 5")
    assert set(out["label"].tolist()) == {1, 2} and len(out["label"]) == 15


def test_enumerate_and_label_map(chosen, table):
    rows, texts = table
    for text in texts:
        out = chosen(f"{text} | label_map 0=10,1=11 default=-1 | shuffle 8 seed=2 | enumerate | enumerate n of=sample | batch 7")
        assert out["index"].tolist() == list(range(50))
        assert out["n"].tolist() == out["id"].tolist() and sorted(out["id"]) == list(range(50))
        assert out["label"].tolist() == [{0: 10, 1: 11}.get(rows[i]["label"], -1) for i in out["id"]]


def test_balance(chosen, table):
    rows, texts = table
    counts = numpy.bincount([r["label"] for r in rows])
    labels = numpy.flatnonzero(counts)
    out = chosen(f"{texts[0]} | balance | batch 10", "--epochs", "2")
    assert len(out["id"]) == 2 * counts.max() * len(labels)
    assert all((out["label"] == c).sum() == 2 * counts.max() for c in labels)
    for block in out["label"].reshape(-1, len(labels)):
        assert sorted(block) == labels.tolist()
    out = chosen(f"{texts[0]} | oversample | batch 10")
    assert all((out["label"] == c).sum() == counts.max() for c in labels) and set(out["id"]) == set(range(50))
    out = chosen(f"{texts[0]} | rejection_resample | batch 10")
    assert all((out["label"] == c).sum() == counts[labels].min() for c in labels) and len(set(out["id"])) == len(out["id"])


def test_the_same_with_any_threads(leat, table):
    text = table[1][0] + " | filter label!=2 | balance n=80 seed=3 | batch 7"
    digests = {leat("run", text, "--sink", "digest", "--threads", n).stdout for n in (1, 2, 4)}
    assert len(digests) == 1


def test_a_mistake_is_pointed_at(leat):
    done = leat("plan", 'synth | filter "label == 3 and lable > 2" | batch 4', code=1)
    lines = done.stderr.splitlines()
    assert "did you mean 'label'" in lines[0]
    assert lines[2].index("^") == lines[1].index("lable")
