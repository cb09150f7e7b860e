#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the seeds of the fuzz targets: small good inputs of every kind, which the tests then damage.

    python3 tests/fuzz/make_corpus.py        with Pillow and NumPy
"""
import gzip
import io
import struct
import zlib
from pathlib import Path

import numpy as np
from PIL import Image

CORPUS = Path(__file__).parent / "corpus"


def put(target: str, name: str, data: bytes) -> None:
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data: bytes) -> bytes:
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def record(data: bytes) -> bytes:
    length = struct.pack("<Q", len(data))
    return length + masked(length) + data + masked(data)


def varint(value: int) -> bytes:
    out = bytearray()
    value &= 2**64 - 1
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


def field(number: int, data: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(data)) + data


def example(packed: bool) -> bytes:
    ints = b"".join(varint(v) for v in (7, -1, 300))
    floats = [struct.pack("<f", v) for v in (0.5, -2.0)]
    int_list = field(1, ints) if packed else b"".join(varint(8) + varint(v) for v in (7, -1, 300))
    float_list = field(1, b"".join(floats)) if packed else b"".join(b"\x0d" + f for f in floats)
    features = {b"image": field(1, field(1, b"pixels")), b"label": field(3, int_list), b"box": field(2, float_list)}
    return field(1, b"".join(field(1, field(1, key) + field(2, value)) for key, value in sorted(features.items())))


def images() -> None:
    y, x = np.mgrid[0:23, 0:31]
    rgb = np.stack([x * 8, y * 11, (x * y) % 256], axis=-1).astype(np.uint8)
    picture = Image.fromarray(rgb)
    kinds = [
        ("jpeg420", picture, "JPEG", {"quality": 80}),
        ("jpeg444", picture, "JPEG", {"quality": 95, "subsampling": 0}),
        ("jpeg_progressive", picture, "JPEG", {"progressive": True}),
        ("jpeg_gray", picture.convert("L"), "JPEG", {}),
        ("jpeg_cmyk", picture.convert("CMYK"), "JPEG", {}),
        ("png", picture, "PNG", {}),
        ("png_palette", picture.convert("P"), "PNG", {}),
        ("png_alpha", picture.convert("RGBA"), "PNG", {}),
        ("gif", picture.convert("P"), "GIF", {}),
        ("bmp", picture, "BMP", {}),
        ("bmp8", picture.convert("P"), "BMP", {}),
        ("webp", picture, "WEBP", {"quality": 70}),
        ("webp_lossless", picture, "WEBP", {"lossless": True}),
    ]
    for name, image, form, options in kinds:
        out = io.BytesIO()
        image.save(out, form, **options)
        put("decode", name, b"\x02" + out.getvalue())  # the first byte chooses options: three channels
    deep = io.BytesIO()
    Image.fromarray((x * 2000 + y * 311).astype(np.int32), "I").save(deep, "PNG")
    put("decode", "png_deep", b"\x82" + deep.getvalue())  # gray of 16 bits as such


def main() -> None:
    images()
    shard = b"".join(record(example(i % 2 == 0)) for i in range(4)) + record(b"")
    # The first byte of these is for the target to choose by.
    put("tfrecord", "shard", b"\0" + shard)
    put("example", "packed", example(True))
    put("example", "unpacked", example(False))
    put("inflate", "gzip", b"\x08" + gzip.compress(shard, mtime=0))
    put("inflate", "zlib", b"\x09" + zlib.compress(shard))
    put("inflate", "members", b"\x46" + gzip.compress(shard[:100], mtime=0) + gzip.compress(shard[100:], mtime=0))
    for name, data in (("plain", shard), ("gzip", gzip.compress(shard, mtime=0)), ("zlib", zlib.compress(shard))):
        put("records", name, data)
    put("records", "cut", shard[:-7])
    put("sidefile", "payload", bytes(range(64)))
    for name, array in (("image", np.zeros((2, 3, 4, 3), "f4")), ("label", np.zeros(5, "i8")), ("one", np.uint8(3)),
                        ("columns", np.asfortranarray(np.zeros((2, 3), "f2")))):
        out = io.BytesIO()
        np.save(out, array)
        put("npy", name, out.getvalue())
    texts = [
        "folder photos/train | shuffle seed=7 | decode | random_resized_crop 224 | random_flip_left_right"
        " | normalize imagenet layout=nchw | batch 64 drop_remainder=true | prefetch auto",
        "tfrecord 'a b-*.tfrecord' \"c|d\" | parse image:bytes label:int64=3 box:float[4] ids:int64[*100] | decode_raw image u8"
        " | reshape image 256 256 3 | cast image f32 scale=1/255 offset=-0.5 | random_brightness 0.2 | batch 32",
        "synth 100 8 8 classes=3 | take 50 | skip 3 | shard 1/2 | repeat 2 | select label image | options on_error=skip fuse=off",
    ]
    for i, text in enumerate(texts):
        put("spec", f"text{i}", text.encode())


if __name__ == "__main__":
    main()
