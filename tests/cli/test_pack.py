# SPDX-License-Identifier: Apache-2.0
"""leat pack: what is in the shards, read by an independent reader and compared with Pillow; and what goes wrong."""
import fcntl
import io
import os
import random
import re
import shutil
import struct
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from PIL import Image, JpegImagePlugin

from packs import LEAT, content, environment, examples, leat, leftovers, records, shards

CLASSES = ["Zebra", "ant", "bee"]  # as sorted bytewise


def picture(rng, width, height, mode="RGB"):
    """Smooth and rough parts, so that resizing and JPEG have something to do."""
    small = Image.frombytes(mode, (5, 4), rng.randbytes(20 * len(mode)) if mode != "L" else rng.randbytes(20))
    noise = Image.frombytes(mode, (width, height), rng.randbytes(width * height * len(small.getbands())))
    return Image.blend(small.resize((width, height), Image.BICUBIC), noise, 0.2)


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    """Images of every kind that Pillow writes, in three classes, one of them nested."""
    root = tmp_path_factory.mktemp("pack") / "photos"
    rng = random.Random(1)
    for name in CLASSES:
        (root / name).mkdir(parents=True)
    (root / "bee/nested").mkdir()
    (root / "notes.txt").write_text("not an image")
    for i in range(9):
        picture(rng, 40 + 9 * i, 70 - 5 * i).save(root / "ant" / f"{i}.jpg", quality=80 + i, subsampling=i % 3)
    picture(rng, 33, 44, "L").save(root / "Zebra/gray.jpg")
    picture(rng, 61, 50).save(root / "Zebra/progressive.JPEG", progressive=True)
    picture(rng, 24, 24).save(root / "Zebra/exact.png")
    picture(rng, 30, 20, "RGBA").save(root / "bee/alpha.png")
    picture(rng, 30, 20).quantize(40).save(root / "bee/palette.png")
    picture(rng, 21, 35).save(root / "bee/plain.bmp")
    picture(rng, 1, 1).save(root / "bee/nested/one.png")
    picture(rng, 300, 7).save(root / "bee/nested/wide.webp", lossless=True)
    return root


def files(root):
    """In the order of the folder's index: directories sorted, then names."""
    found = [path for path in root.rglob("*") if path.suffix.lower() in (".jpg", ".jpeg", ".png", ".bmp", ".webp")]
    return sorted(found, key=lambda path: (str(path.parent.relative_to(root)).encode(), path.name.encode()))


def label_of(root, path):
    return CLASSES.index(path.relative_to(root).parts[0])


def resized(path, width, height):
    with Image.open(path) as image:
        return image.convert("RGB").resize((width, height), Image.BILINEAR)


# ------------------------------------------------------------------------------------------- what is inside


def test_as_they_are(photos, tmp_path):
    done = leat("pack", photos, tmp_path / "out", "--shards", 3, cache=tmp_path)
    assert "17 images" in done.stdout and "3 shards" in done.stdout
    found = examples(tmp_path / "out")
    assert len(shards(tmp_path / "out")) == 3 and len(found) == len(files(photos)) == 17
    for sample, path in zip(found, files(photos)):
        assert sample == {"image": [path.read_bytes()], "label": [label_of(photos, path)]}
    assert (tmp_path / "out/data-classes.txt").read_text() == "Zebra\nant\nbee\n"
    assert not leftovers(tmp_path / "out")


def test_raw_is_pillow(photos, tmp_path):
    for height, width in ((24, 24), (17, 63), (100, 3)):
        out = tmp_path / f"{height}x{width}"
        leat("pack", photos, out, "--size", f"{height}x{width}", "--raw", cache=tmp_path)
        for sample, path in zip(examples(out), files(photos)):
            assert sorted(sample) == ["channels", "height", "image", "label", "width"]
            assert (sample["height"], sample["width"], sample["channels"]) == ([height], [width], [3])
            assert sample["image"][0] == resized(path, width, height).tobytes(), path
            assert sample["label"] == [label_of(photos, path)]


@pytest.mark.parametrize("quality, sampling", [(None, 0), (95, 0), (94, 2), (40, 2)])
def test_jpeg_is_pillow(photos, tmp_path, quality, sampling):
    leat("pack", photos, tmp_path / "out", "--size", "40", *(["--quality", quality] if quality else []), cache=tmp_path)
    for sample, path in zip(examples(tmp_path / "out"), files(photos)):
        image = Image.open(io.BytesIO(sample["image"][0]))
        assert image.format == "JPEG" and image.size == (40, 40) and not image.info.get("progressive")
        assert JpegImagePlugin.get_sampling(image) == sampling
        own = io.BytesIO()
        resized(path, 40, 40).save(own, "JPEG", quality=quality or 95, subsampling=sampling)
        assert image.tobytes() == Image.open(own).tobytes(), path


def test_keys_and_prefix(photos, tmp_path):
    done = leat("pack", photos, tmp_path / "out", "--prefix", "train", "--image-key", "jpeg/encoded", "--label-key", "y",
                cache=tmp_path)
    assert [sorted(sample) for sample in examples(tmp_path / "out", "train")] == [["jpeg/encoded", "y"]] * 17
    assert (tmp_path / "out/train-classes.txt").exists()
    assert "jpeg/encoded:bytes y:int64" in done.stdout
    leat("pack", photos, tmp_path / "out", "--prefix", "val", "--raw", "--size", "8", cache=tmp_path)  # side by side
    assert len(examples(tmp_path / "out", "val")) == len(examples(tmp_path / "out", "train")) == 17


def test_no_labels(photos, tmp_path):
    leat("pack", photos / "ant", tmp_path / "out", cache=tmp_path)
    assert [sorted(sample) for sample in examples(tmp_path / "out")] == [["image"]] * 9
    assert not (tmp_path / "out/data-classes.txt").exists()


def test_shuffle(photos, tmp_path):
    label = {path.read_bytes(): label_of(photos, path) for path in files(photos)}
    orders = []
    for name, args in (("a", ["--seed", 3]), ("b", ["--seed", 3, "--threads", 1]), ("c", ["--seed", 4])):
        leat("pack", photos, tmp_path / name, "--shuffle", "--shards", 2, *args, cache=tmp_path)
        found = examples(tmp_path / name)
        assert all(sample["label"] == [label[sample["image"][0]]] for sample in found)
        orders.append([sample["image"][0] for sample in found])
    assert orders[0] == orders[1] != orders[2] != list(label)
    assert sorted(orders[0]) == sorted(orders[2]) == sorted(label)


@pytest.mark.parametrize("args", [[], ["--size", "20"], ["--size", "20", "--raw", "--shuffle"]])
def test_same_for_any_threads(photos, tmp_path, args):
    for threads in (1, 2, 7):
        leat("pack", photos, tmp_path / str(threads), "--shards", 4, "--threads", threads, *args, cache=tmp_path)
    assert content(tmp_path / "1") == content(tmp_path / "2") == content(tmp_path / "7")


def test_balance(tmp_path):
    """Shards have about the same bytes, however uneven the images are."""
    rng = random.Random(2)
    for i in range(60):
        path = tmp_path / f"in/{i % 3}/{i:02d}.bmp"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (rng.choice((10, 50, 200)), 40)).save(path)
    leat("pack", tmp_path / "in", tmp_path / "out", "--shards", 5, cache=tmp_path)
    sizes = [path.stat().st_size for path in shards(tmp_path / "out")]
    largest = 200 * 40 * 3 + 200
    assert max(sizes) - min(sizes) <= 2 * largest and len(examples(tmp_path / "out")) == 60


def test_default_shards(tmp_path):
    for i in range(40):
        path = tmp_path / f"in/{i % 2}/{i:02d}.bmp"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (1000, 200)).save(path)  # 600 KB each
    leat("pack", tmp_path / "in", tmp_path / "a", cache=tmp_path)
    assert len(shards(tmp_path / "a")) == 5  # of about 4 MB: never fewer, up to 16
    leat("pack", tmp_path / "in", tmp_path / "b", "--shard-mb", 9, cache=tmp_path)
    assert len(shards(tmp_path / "b")) == 3
    done = leat("pack", tmp_path / "in", tmp_path / "c", "--shards", 41, code=1, cache=tmp_path)
    assert "too few" in done.stderr and not (tmp_path / "c").exists()


def test_read_back(photos, tmp_path):
    """A pipeline cannot tell the pack from the folder, and the command that is recommended works."""
    tail = "decode | resize 16 16 | batch 5"
    done = leat("pack", photos, tmp_path / "out", "--shards", 3, cache=tmp_path)
    digest = [leat("run", source + tail, "--sink", "digest", cache=tmp_path).stdout.split()[-1]
              for source in (f"folder {photos} | ", f"tfrecord {tmp_path}/out/data-*.tfrecord | parse image:bytes label:int64 | ")]
    assert digest[0] == digest[1]
    assert all((tmp_path / "out" / f".data-{i:05d}-of-00003.tfrecord.leatidx").exists() for i in range(3))
    for args in ([], ["--size", "20x30"], ["--size", "20x30", "--raw"]):
        done = leat("pack", photos, tmp_path / "next", "--force", *args, cache=tmp_path)
        spec = done.stdout.split('leat bench "')[1].split('"')[0]
        leat("run", spec, cache=tmp_path)


def test_index_is_as_documented(photos, tmp_path):
    leat("pack", photos, tmp_path / "out", "--shards", 2, cache=tmp_path)
    for path in shards(tmp_path / "out"):
        data = (path.parent / f".{path.name}.leatidx").read_bytes()
        magic, kind, order, length, _ = struct.unpack("<8sIIQQ", data[:32])
        assert (magic, kind, length) == (b"LEATIDX1", 2, len(data) - 32)
        native = "<" if order == 0x01020304 else ">"
        version, size, time_ns, change_ns, inode, digest, *borders = struct.unpack(f"{native}{length // 8}Q", data[32:])
        st = path.stat()
        assert (version, size, time_ns, change_ns, inode) == (2, st.st_size, st.st_mtime_ns, st.st_ctime_ns, st.st_ino)
        assert digest
        expected = [0]
        for payload in records(path):
            expected.append(expected[-1] + 16 + len(payload))
        assert borders == expected


def test_plain_code_gives_the_same(photos, tmp_path):
    for mask in ("0", "3", "7"):
        environ = {**environment(tmp_path), "LEAT_CPU_MASK": mask}
        subprocess.run([LEAT, "pack", photos, tmp_path / mask, "--size", "21x34", "-q"], env=environ, check=True)
    assert content(tmp_path / "0") == content(tmp_path / "3") == content(tmp_path / "7")


def test_no_side_files(photos, tmp_path):
    leat("pack", photos, tmp_path / "out", "--no-side-files", cache=tmp_path / "cache")
    assert not list((tmp_path / "out").glob(".*leatidx")) and not (tmp_path / "cache").exists()


# ---------------------------------------------------------------------------------------------- bad samples


@pytest.fixture
def damaged(photos, tmp_path):
    root = tmp_path / "damaged"
    shutil.copytree(photos, root)
    (root / "ant/3.jpg").write_bytes((root / "ant/3.jpg").read_bytes()[:900])  # ends too early
    (root / "ant/5.jpg").write_text("this is no image")
    (root / "bee/empty.png").write_bytes(b"")
    return root


def test_raise_names_the_first(damaged, tmp_path):
    for threads in (1, 2, 5):
        done = leat("pack", damaged, tmp_path / "out", "--size", "16", "--threads", threads, code=1, cache=tmp_path)
        assert "ant/3.jpg" in done.stderr and "skip" in done.stderr and done.stderr.count("\n") == 1
        assert not (tmp_path / "out").exists()  # not one shard was finished


def test_skip_counts(damaged, photos, tmp_path):
    done = leat("pack", damaged, tmp_path / "out", "--size", "16", "--raw", "--on-error", "skip", cache=tmp_path)
    assert "15 images" in done.stdout and "left out 3 images" in done.stdout
    assert [name in done.stderr for name in ("ant/3.jpg", "ant/5.jpg", "bee/empty.png")] == [True] * 3
    good = [path for path in files(photos) if path.name not in ("3.jpg", "5.jpg")]
    assert [sample["image"][0] for sample in examples(tmp_path / "out")] == [resized(path, 16, 16).tobytes() for path in good]
    # Files as they are must have a header that makes sense and their end, as a training run wants them.
    leat("pack", damaged, tmp_path / "as", "--on-error", "skip", cache=tmp_path)
    assert len(examples(tmp_path / "as")) == 15
    again = leat("pack", damaged, tmp_path / "out", "--size", "16", "--raw", "--on-error", "skip", cache=tmp_path)
    assert "already" in again.stdout and "left out 3 images" in again.stdout


def test_raise_then_skip_goes_on(damaged, tmp_path):
    """What was finished before the bad image is kept."""
    args = ["pack", damaged, tmp_path / "out", "--size", "16", "--shards", 6, "--threads", 1]
    leat(*args, code=1, cache=tmp_path)
    before = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "out").glob("*.tfrecord")}
    assert before
    done = leat(*args, "--on-error", "skip", cache=tmp_path)
    assert f"{len(before)} of them were there already" in done.stdout
    assert all((tmp_path / "out" / name).stat().st_mtime_ns == time for name, time in before.items())
    leat("pack", damaged, tmp_path / "whole", "--size", "16", "--shards", 6, "--on-error", "skip", cache=tmp_path)
    assert content(tmp_path / "out") == content(tmp_path / "whole")


def test_nothing_usable(tmp_path):
    (tmp_path / "in/a").mkdir(parents=True)
    (tmp_path / "in/a/1.jpg").write_text("no")
    for policy in ("skip", "raise"):
        done = leat("pack", tmp_path / "in", tmp_path / "out", "--on-error", policy, code=1, cache=tmp_path)
        assert ("not one of the 1 images" if policy == "skip" else "1.jpg") in done.stderr
        assert not (tmp_path / "out").exists()
    (tmp_path / "out").mkdir()
    (tmp_path / "out/notes.txt").write_text("mine")
    leat("pack", tmp_path / "in", tmp_path / "out", "--on-error", "skip", code=1, cache=tmp_path)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["notes.txt"]


# ------------------------------------------------------------------------------------------------- trouble


@pytest.mark.parametrize("args, word", [
    (["--size", "0"], "--size"), (["--size", "4x"], "--size"), (["--size", "4x4x4"], "--size"), (["--raw"], "--size"),
    (["--quality", "90"], "--size"), (["--shards", "0"], "--shards"), (["--shards", "2", "--shard-mb", "5"], "--shard-mb"),
    (["--on-error", "replace"], "--on-error"), (["more"], "needed"), (["--wat"], "--wat"), (["--quality", "200"], "--quality")])
def test_usage(photos, tmp_path, args, word):
    done = leat("pack", photos, tmp_path / "out", *args, code=2, cache=tmp_path)
    assert word in done.stderr and done.stderr.count("\n") == 1 and not (tmp_path / "out").exists()


@pytest.mark.parametrize("args, word", [
    (["--prefix", "a/b"], "prefix"), (["--prefix", ""], "prefix"), (["--prefix", ".x"], "prefix"), (["--image-key", ""], "key"),
    (["--image-key", "x", "--label-key", "x"], "'x'"), (["--raw", "--size", "4", "--label-key", "width"], "'width'"),
    (["--features", "wat"], "'wat'"), (["--features", "tfds image="], "empty"), (["--store", "wat"], "'wat'"),
    (["--image-key", b"\xff\xfe"], "UTF-8")])
def test_wrong_words(photos, tmp_path, args, word):
    done = subprocess.run([LEAT, "pack", photos, tmp_path / "out", *args], env=environment(tmp_path), capture_output=True,
                          text=True, errors="replace")
    assert done.returncode == 1 and word in done.stderr and done.stderr.count("\n") == 1
    assert not shards(tmp_path / "out")


def test_sources(photos, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    for source, word in (("missing", "missing"), ("empty", "no images"), ("file", "file")):
        done = leat("pack", tmp_path / source, tmp_path / "out", code=1, cache=tmp_path)
        assert word in done.stderr and done.stderr.count("\n") == 1 and not (tmp_path / "out").exists()
    done = leat("pack", photos, tmp_path / "file", code=1, cache=tmp_path)
    assert "file" in done.stderr and done.stderr.count("\n") == 1
    for inside in (photos, photos / "packed", photos / "bee/nested/x/y"):
        done = leat("pack", photos, inside, code=1, cache=tmp_path)
        assert "inside" in done.stderr and done.stderr.count("\n") == 1
    assert not (photos / "packed").exists()


def as_nobody():
    os.setgid(65534)
    os.setuid(65534)


@pytest.fixture
def open_path():
    """A folder that others may enter, which those of pytest are not."""
    if os.getuid() != 0:
        pytest.skip("needs root, to be somebody else for a while")
    folder = Path(tempfile.mkdtemp(prefix="leat-test-"))
    folder.chmod(0o755)
    for path in (folder, *folder.parents, *Path(LEAT).resolve().parents):
        if path.stat().st_mode & 0o005 != 0o005:
            folder.rmdir()
            pytest.skip(f"{path} is not open to others")
    yield folder
    shutil.rmtree(folder)


def test_permissions(photos, open_path):
    if "coverage" in LEAT:
        pytest.skip("another user may not write the counters of lines, and that is said too")
    tmp_path = open_path
    (tmp_path / "cache").mkdir(mode=0o777)
    (tmp_path / "cache").chmod(0o777)
    (tmp_path / "closed").mkdir()
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    shutil.copytree(photos, tmp_path / "in")
    done = leat("pack", tmp_path / "in", tmp_path / "closed/out", code=1, cache=tmp_path / "cache", preexec_fn=as_nobody)
    assert "closed/out" in done.stderr and "Permission denied" in done.stderr and done.stderr.count("\n") == 1
    done = leat("pack", tmp_path / "in", tmp_path / "closed", code=1, cache=tmp_path / "cache", preexec_fn=as_nobody)
    assert "closed/" in done.stderr and "Permission denied" in done.stderr and done.stderr.count("\n") == 1
    (tmp_path / "in/ant/4.jpg").chmod(0)
    done = leat("pack", tmp_path / "in", tmp_path / "open/a", code=1, cache=tmp_path / "cache", preexec_fn=as_nobody)
    assert "ant/4.jpg" in done.stderr and "Permission denied" in done.stderr and done.stderr.count("\n") == 1
    done = leat("pack", tmp_path / "in", tmp_path / "open/a", "--on-error", "skip", cache=tmp_path / "cache",
                preexec_fn=as_nobody)
    assert "left out 1 image" in done.stdout and len(examples(tmp_path / "open/a")) == 16


@pytest.fixture
def small_disk(tmp_path):
    if os.getuid() != 0:
        pytest.skip("needs root, to mount a small disk")
    folder = tmp_path / "disk"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)], capture_output=True).returncode != 0:
        pytest.skip("mounting is not allowed here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_disk_full(tmp_path, small_disk):
    for i in range(40):
        path = tmp_path / f"in/{i % 2}/{i:02d}.bmp"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (200, 200), (i, i, i)).save(path)  # 120 KB each
    args = ["pack", tmp_path / "in", small_disk / "out", "--shards", 8]

    def missing(*more):
        done = leat(*args, *more, code=1, cache=tmp_path)
        *warned, said = done.stderr.splitlines()
        assert "No space left" in said and "run it again" in said
        assert not warned or (len(warned) == 1 and "the index of 1 shards could not be kept" in warned[0])
        assert not leftovers(small_disk / "out")
        return int(re.search(r"about (\d+) bytes \(\d+\.\d MB\) are missing for the \d of 8 shards", said)[1])

    def resize(size):
        subprocess.run(["mount", "-o", f"remount,size={size}", str(small_disk)], check=True)

    first = missing()
    for path in (small_disk / "out").glob("*.tfrecord"):
        assert len(records(path)) == 5
    assert missing("--threads", 1) <= first + 100_000  # less, if more shards came to their end
    resize((3 << 20) + first // 2)
    assert missing() < 0.6 * first
    resize((3 << 20) + first + 4096)  # files are as long as the index says: what is told is enough, and not by much
    done = leat(*args, cache=tmp_path)
    assert os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_frsize < 300_000
    assert "were there already" in done.stdout
    leat("pack", tmp_path / "in", tmp_path / "whole", "--shards", 8, cache=tmp_path)
    assert content(small_disk / "out") == content(tmp_path / "whole")


# ---------------------------------------------------------------------------------------- what is there already


def test_again_does_nothing(photos, tmp_path):
    leat("pack", photos, tmp_path / "out", "--shards", 3, cache=tmp_path)
    times = {path.name: path.stat().st_mtime_ns for path in shards(tmp_path / "out")}
    done = leat("pack", photos, tmp_path / "out", "--shards", 3, "--threads", 1, cache=tmp_path)
    assert "all 3 shards were there already" in done.stdout
    assert {path.name: path.stat().st_mtime_ns for path in shards(tmp_path / "out")} == times


def test_lost_and_damaged_shards_are_made_again(photos, tmp_path):
    leat("pack", photos, tmp_path / "out", "--shards", 4, cache=tmp_path)
    whole = content(tmp_path / "out")
    (tmp_path / "out/data-00001-of-00004.tfrecord").unlink()
    with open(tmp_path / "out/data-00003-of-00004.tfrecord", "r+b") as file:
        file.truncate(100)
    (tmp_path / "out/data-classes.txt").unlink()
    with open(tmp_path / "out/.data.leatpack", "a") as file:
        file.write("done 1 4 0")  # as a killed process leaves it
    for name in (".data-00001-of-00004.tfrecord.tmp-77-0", "..data-00001-of-00004.tfrecord.leatidx.tmp-77-1",
                 ".data-classes.txt.tmp-77-2"):
        (tmp_path / "out" / name).write_text("half")
    others = [".data2-00001-of-00004.tfrecord.tmp-77-0", ".data-00001-of-00004.tfrecord.tmp-", "data-00001-of-00004.tfrecord.tmp-7-0"]
    for name in others:
        (tmp_path / "out" / name).write_text("not ours")
    done = leat("pack", photos, tmp_path / "out", "--shards", 4, cache=tmp_path)
    assert "2 of them were there already" in done.stdout
    assert sorted(leftovers(tmp_path / "out")) == sorted(others)
    for name in others:
        (tmp_path / "out" / name).unlink()
    assert content(tmp_path / "out") == whole
    assert "all 4 shards were there already" in leat("pack", photos, tmp_path / "out", "--shards", 4, cache=tmp_path).stdout


def test_another_pack_is_refused(photos, tmp_path):
    leat("pack", photos, tmp_path / "out", "--shards", 3, cache=tmp_path)
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    for args in (["--shards", 2], ["--shards", 3, "--size", "8"], ["--shards", 3, "--shuffle"], ["--shards", 3, "--label-key", "y"]):
        done = leat("pack", photos, tmp_path / "out", *args, code=1, cache=tmp_path)
        assert "other options" in done.stderr and "force" in done.stderr and done.stderr.count("\n") == 1
    shutil.copytree(photos, tmp_path / "photos")
    (tmp_path / "photos/ant/0.jpg").unlink()
    done = leat("pack", tmp_path / "photos", tmp_path / "out", "--shards", 3, code=1, cache=tmp_path)
    assert "other images" in done.stderr and "17 images" in done.stderr and "16 images" in done.stderr
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before
    leat("pack", tmp_path / "photos", tmp_path / "out", "--shards", 2, "--force", cache=tmp_path)
    assert len(shards(tmp_path / "out")) == 2 and len(examples(tmp_path / "out")) == 16
    assert len(list((tmp_path / "out").glob(".*leatidx"))) == 2
    # The same data elsewhere is the same data.
    shutil.copytree(tmp_path / "photos", tmp_path / "moved")
    done = leat("pack", tmp_path / "moved", tmp_path / "out", "--shards", 2, cache=tmp_path)
    assert "already" in done.stdout


def test_shards_of_others_are_refused(photos, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out/data-00000-of-00009.tfrecord").write_text("precious")
    done = leat("pack", photos, tmp_path / "out", code=1, cache=tmp_path)
    assert "force" in done.stderr and done.stderr.count("\n") == 1
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["data-00000-of-00009.tfrecord"]
    leat("pack", photos, tmp_path / "out", "--prefix", "mine", cache=tmp_path)
    leat("pack", photos, tmp_path / "out", "--force", cache=tmp_path)
    assert len(examples(tmp_path / "out")) == len(examples(tmp_path / "out", "mine")) == 17


def test_two_packers(photos, tmp_path):
    (tmp_path / "out").mkdir()
    with open(tmp_path / "out/.data.leatpack", "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        for args in ([], ["--force"]):
            done = leat("pack", photos, tmp_path / "out", *args, code=1, cache=tmp_path)
            assert "another process is packing" in done.stderr and done.stderr.count("\n") == 1
        leat("pack", photos, tmp_path / "out", "--prefix", "other", cache=tmp_path)
    leat("pack", photos, tmp_path / "out", cache=tmp_path)
    assert content(tmp_path / "out")


def test_interrupt(tmp_path):
    leat("synth", tmp_path / "in", "--images", 200, "--size", "300x200", "-q", cache=tmp_path)
    args = ["pack", str(tmp_path / "in"), str(tmp_path / "out"), "--size", "64", "--shards", "10"]
    leat(*args[:2], tmp_path / "whole", *args[3:], cache=tmp_path)
    with subprocess.Popen([LEAT, *args], env=environment(tmp_path), stderr=subprocess.PIPE) as process:
        while process.poll() is None and not list((tmp_path / "out").glob("*.tfrecord")):
            time.sleep(0.002)
        process.send_signal(2)
        began = time.monotonic()
        _, said = process.communicate(timeout=20)
    if process.returncode != 0:  # else it was done already
        assert process.returncode == 130 and b"goes on" in said and time.monotonic() - began < 5
    assert not leftovers(tmp_path / "out")
    leat(*args, cache=tmp_path)
    assert content(tmp_path / "out") == content(tmp_path / "whole")


def test_report_fits_a_terminal(photos, tmp_path):
    done = leat("pack", photos, "out", cache=tmp_path, cwd=tmp_path)
    assert all(len(line) <= 100 for line in done.stdout.splitlines() if not line.startswith("try"))
    assert leat("pack", photos, "quiet", "-q", cache=tmp_path, cwd=tmp_path).stdout == ""
    assert all(len(line) <= 100 for line in leat("pack", "--help", cache=tmp_path).stdout.splitlines())
