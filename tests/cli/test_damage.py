# SPDX-License-Identifier: Apache-2.0
"""One verdict on damaged files: fused or not, with any number of threads, in plain C, at later visits, and by `leat check`."""
import io
import json
import random

import pytest
from PIL import Image

from conftest import paint

WAYS = [("", {}, ()), ("options fuse=off | ", {}, ("--threads", 4)), ("", {"LEAT_CPU_MASK": "0"}, ("--threads", 1)),
        ("options positions=off | ", {}, ("--synchronous",)), ("options fuse=off | ", {"LEAT_CPU_MASK": "0"}, ("--threads", 1))]


def encode(format: str, seed: int = 1, size=(120, 160), **how) -> bytes:
    out = io.BytesIO()
    Image.fromarray(paint(*size, seed)).save(out, format, **how)
    return out.getvalue()


def animated(format: str) -> bytes:
    out = io.BytesIO()
    frames = [Image.fromarray(paint(120, 160, seed)) for seed in range(3)]
    frames[0].save(out, format, save_all=True, append_images=frames[1:])
    return out.getvalue()


def thumbnail_inside() -> bytes:
    """A JPEG whose EXIF block holds a whole JPEG."""
    small = b"Exif\0\0" + encode("JPEG", size=(16, 16))
    photo = encode("JPEG", quality=90)
    return photo[:2] + b"\xff\xe1" + (len(small) + 2).to_bytes(2, "big") + small + photo[2:]


KINDS = {"jpeg": lambda: encode("JPEG", quality=90), "progressive": lambda: encode("JPEG", progressive=True),
         "gray": lambda: Image.fromarray(paint(120, 160, 1)).convert("L"), "thumbnail": thumbnail_inside,
         "png": lambda: encode("PNG"), "webp": lambda: encode("WEBP"), "lossless": lambda: encode("WEBP", lossless=True),
         "frames": lambda: animated("WEBP"), "gif": lambda: encode("GIF"), "animation": lambda: animated("GIF"),
         "bmp": lambda: encode("BMP")}


def file_of(kind: str) -> bytes:
    made = KINDS[kind]()
    if isinstance(made, bytes):
        return made
    out = io.BytesIO()
    made.save(out, "JPEG")
    return out.getvalue()


def verdicts(leat, folder, text: str, accuracy: str = "exact", epochs: int = 2) -> list[str]:
    """A line for every good sample, with a digest of its bytes, which all ways must agree on."""
    seen = []
    for options, env, words in WAYS:
        done = leat("run", f"{options}options accuracy={accuracy} | folder {folder} labels=none | decode | {text} | batch 1", "-q",
                    "--on-error", "skip", "--sink", "samples", "--epochs", epochs, *words, env=env, code=None)
        seen.append(done.stdout)
        assert seen[0] == seen[-1], f"{text}: {options} {env} {words}\n{done.stderr}"
    return seen[0].splitlines()


def bad_of(leat, folder) -> int:
    return json.loads(leat("check", "--json", folder, code=None).stdout)["bad"]


@pytest.mark.parametrize("accuracy", ["exact", "fast"])
def test_forty_cut_photos(leat, tmp_path, accuracy):
    (tmp_path / "cut").mkdir()
    for number in range(40):
        photo = encode("JPEG", number, (150 + 2 * number, 200 - number), quality=90)
        (tmp_path / "cut" / f"{number:02}.jpg").write_bytes(photo[:-1000])
    assert bad_of(leat, tmp_path / "cut") == 40
    for text in ("resize 32 32", "crop_to_bounding_box 0 0 8 8", "random_resized_crop 16 scale=0.01,0.1"):
        assert verdicts(leat, tmp_path / "cut", text, accuracy) == []
    done = leat("run", f"folder {tmp_path}/cut labels=none | decode | resize 32 32 | batch 4", code=1)
    assert "00.jpg" in done.stderr and "truncated" in done.stderr


def test_every_format_is_cut(leat, tmp_path):
    """By one byte, or by many; and each is good with something behind its end."""
    for name in ("cut", "whole"):
        (tmp_path / name).mkdir()
    for kind in KINDS:
        data = file_of(kind)
        for n in (2, 5, 9, len(data) // 3):  # a GIF may lack its last byte
            (tmp_path / "cut" / f"{kind}-{n}").with_suffix(".jpg").write_bytes(data[:-n])
        for number, tail in enumerate((b"", bytes(70), b"\0\0\0\x18ftypmp42" + bytes(range(256)) * 20, data[:500])):
            (tmp_path / "whole" / f"{kind}-{number}").with_suffix(".jpg").write_bytes(data + tail)
    n = 4 * len(KINDS)
    assert bad_of(leat, tmp_path / "cut") == n and bad_of(leat, tmp_path / "whole") == 0
    for text in ("resize 8 8", "crop_to_bounding_box 2 3 8 8"):
        assert verdicts(leat, tmp_path / "cut", text) == []
        assert len(verdicts(leat, tmp_path / "whole", text)) == 2 * n


def test_random_damage(leat, tmp_path):
    chance = random.Random(4)
    folder = tmp_path / "spoiled"
    folder.mkdir()
    for kind in KINDS:
        whole = file_of(kind)
        for number in range(24):
            data = bytearray(whole)
            for _ in range(number % 3):
                at = chance.randrange(len(data) // 8, len(data))
                data[at] = chance.choice((data[at] ^ 1 << chance.randrange(8), 0, 255, 0xD9))
            if number % 8 == 7:
                at = chance.randrange(len(data) // 8, len(data))
                del data[at:at + chance.randrange(1, 40)]
            (folder / f"{kind}-{number:02}.jpg").write_bytes(data)
    n = 24 * len(KINDS)
    good = n - bad_of(leat, folder)
    assert n // 3 < good < n
    assert len(verdicts(leat, folder, "resize 8 8")) == 2 * good  # whole pictures: what `leat check` says
    for text in ("crop_to_bounding_box 20 30 40 50", "random_crop 30 40", "random_resized_crop 16 scale=0.05,0.3",
                 "random_crop 50 padding=11 | cast f32"):
        assert len(verdicts(leat, folder, text, "fast" if "30" in text else "exact")) >= 2 * good


def test_positions_from_an_earlier_run(leat, tmp_path):
    """Positions made by `leat index` and by epochs before change no verdict."""
    folder = tmp_path / "spoiled"
    folder.mkdir()
    whole = encode("JPEG", size=(240, 320), quality=90)
    for number in range(30):
        data = bytearray(whole)
        if number % 3:
            at = len(data) * (number + 5) // 40
            data[at:at + 2] = b"\xff\xfe"  # a marker inside of the scan
        (folder / f"{number:02}.jpg").write_bytes(data)
    cold = verdicts(leat, folder, "random_crop 48 48", epochs=3)
    leat("index", "--positions", folder)
    assert verdicts(leat, folder, "random_crop 48 48", epochs=3) == cold
    numbers = [int(line.split()[1]) for line in cold]
    assert sum(number % 3 == 0 for number in numbers) == 30 and 30 < len(numbers) < 90
