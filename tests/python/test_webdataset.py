# SPDX-License-Identifier: Apache-2.0
"""from_webdataset, on archives that tarfile writes."""
import io
import tarfile

import leat
import numpy
import pytest
from PIL import Image


@pytest.fixture
def archives(tmp_path):
    for shard in range(12):
        with tarfile.open(tmp_path / f"set={shard:02d}.tar", "w") as archive:
            for i in range(shard * 3, shard * 3 + 3):
                file = io.BytesIO()
                Image.fromarray(numpy.full((5, 6 + i, 3), i, "uint8")).save(file, "PNG")
                for extension, data in (("png", file.getvalue()), ("cls", b"%d" % i), ("txt", b"sample %d" % i)):
                    member = tarfile.TarInfo(f"{i:03d}.{extension}")
                    member.size = len(data)
                    archive.addfile(member, io.BytesIO(data))
    return tmp_path


def test_pictures_and_labels(archives):
    images, labels = next(iter(leat.from_webdataset(archives / "*.tar").shuffle(seed=1).resize(4, 4).batch(36)))
    assert sorted(labels.tolist()) == list(range(36)) and labels.tolist() != list(range(36))
    assert (images == labels[:, None, None, None]).all()


def test_ranges_and_fields(archives, monkeypatch):
    monkeypatch.chdir(archives)  # a name that looks like name=value is a file all the same
    ds = leat.from_webdataset("set={09..10}.tar", text=".txt", n="cls")
    assert ds.samples == 6 and "decode" not in ds.text
    batch = next(iter(ds.batch(6)))
    assert batch["n"].tolist() == list(range(27, 33)) and batch["text"][0] == b"sample 27"
    assert leat.from_webdataset(["set=00.tar", "set=0{1,2}.tar"], image="jpg;png").samples == 9
    with pytest.raises(ValueError, match="has no number"):
        leat.from_webdataset("set={5..4}.tar")
    with pytest.raises(TypeError, match="from_webdataset.* needs a path"):
        leat.from_webdataset(3)
    with pytest.raises(leat.FormatError, match="the sample '000' has no member jpg for the field image: it has png, cls, txt"):
        list(leat.from_webdataset("set=0*.tar", image="jpg").batch(2))
