#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the seeds of the fuzz targets: small good inputs of every kind, which the tests then damage.

    python3 tests/fuzz/make_corpus.py        with Pillow and NumPy

It leaves what else is there: corpus/jpeg/found_* are the small inputs that an hour of libFuzzer kept because each reaches
something new (-set_cover_merge=1 -max_len=700), region_fails is one that it found, and scans_each, _refined, _restart and _rough
have orders of scans that Pillow does not write. corpus/png/found_* are those of half an hour.
"""
import gzip
import io
import struct
import tarfile
import zipfile
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


def undated(archive: bytes) -> bytes:
    """The same archive without the time of its making, so that corpora are equal wherever they are made."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(out, "w") as new:
        for member in old.infolist():
            fresh = zipfile.ZipInfo(member.filename)
            fresh.compress_type = member.compress_type
            new.writestr(fresh, old.read(member))
    return out.getvalue()


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
    jpegs = [("420", picture, {"quality": 75}), ("422", picture, {"quality": 60, "subsampling": 1}),
             ("444", picture, {"quality": 92, "subsampling": 0}), ("gray", picture.convert("L"), {"quality": 85}),
             ("optimised", picture, {"quality": 30, "optimize": True}), ("coarse", picture, {"quality": 1}),
             ("scans_420", picture, {"quality": 85, "progressive": True}),
             ("scans_444", picture, {"quality": 96, "subsampling": 0, "progressive": True}),
             ("scans_gray", picture.convert("L"), {"quality": 70, "progressive": True})]
    for i, (name, image, options) in enumerate(jpegs):
        out = io.BytesIO()
        image.save(out, "JPEG", **options)
        put("jpeg", name, bytes([2 + 8 * i % 32, 40, 60, 128, 200]) + out.getvalue())  # three channels, rows per call
        put("jpeg", name + "_part", bytes([6 + 8 * i % 32, 40 * i % 256, 60, 128, 200]) + out.getvalue())
        put("jpeg", name + "_fast", bytes([66 + 4 * (i % 2), 40 * i % 256, 60, 128, 200]) + out.getvalue())
    deep = io.BytesIO()
    Image.fromarray((x * 2000 + y * 311).astype(np.int32), "I").save(deep, "PNG")
    put("decode", "png_deep", b"\x82" + deep.getvalue())  # gray of 16 bits as such


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def pngs() -> None:
    """Every colour type and depth, all filters in turn; in front of each, options and a part of the picture."""
    palette, samples = chunk(b"PLTE", bytes(range(48))), {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
    for name, head, colour, bits, width, height, extra, pieces in [
            ("rgb", [0, 0, 0, 0, 0], 2, 8, 9, 7, b"", 1), ("rgb_part", [6, 50, 60, 130, 120], 2, 8, 11, 9, b"", 3),
            ("rgb_key", [3, 0, 0, 0, 0], 2, 8, 7, 6, chunk(b"tRNS", bytes([0, 1, 0, 4, 0, 7])), 1),
            ("rgba", [11, 0, 0, 0, 0], 6, 8, 6, 6, b"", 4), ("gray", [1, 0, 0, 0, 0], 0, 8, 13, 8, b"", 1),
            ("gray_alpha", [16, 0, 0, 0, 0], 4, 8, 6, 9, b"", 1),
            ("gray_1_key", [3, 0, 0, 0, 0], 0, 1, 19, 5, chunk(b"tRNS", b"\0\1"), 1),
            ("gray_2_part", [4, 90, 30, 200, 90], 0, 2, 14, 9, b"", 1), ("palette", [2, 0, 0, 0, 0], 3, 8, 8, 8, palette, 1),
            ("palette_4_alpha", [0, 0, 0, 0, 0], 3, 4, 9, 8, palette + chunk(b"tRNS", b"\0\x80\xff"), 1),
            ("palette_indices", [32, 0, 0, 0, 0], 3, 4, 9, 8, palette, 1), ("rgb_deep", [66, 0, 0, 0, 0], 2, 16, 5, 6, b"", 1),
            ("gray_16_key_part", [79, 20, 20, 200, 200], 0, 16, 8, 7, chunk(b"tRNS", b"\1\2"), 1),
            ("rgba_16", [3, 0, 0, 0, 0], 6, 16, 4, 5, b"", 2),
            ("text", [128, 0, 0, 0, 0], 2, 8, 5, 5, chunk(b"tEXt", b"a\0b") + chunk(b"gAMA", b"\0\1\x86\xa0"), 1)]:
        row = (width * samples[colour] * bits + 7) // 8
        packed = zlib.compress(b"".join(bytes([y % 5] + [(x * 3 + y * 2 + x * y % 4) & 255 for x in range(row)])
                                        for y in range(height)), 9)
        step = -(-len(packed) // pieces)
        header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, 0))
        pixels = b"".join(chunk(b"IDAT", packed[i:i + step]) for i in range(0, len(packed), step))
        put("png", name, bytes(head) + b"\x89PNG\r\n\x1a\n" + header + extra + pixels + chunk(b"IEND", b""))


def webps() -> None:
    """Frames of several qualities, filters and segments, as Pillow's encoder makes them, and files; in front of each, options."""
    y, x = np.mgrid[0:37, 0:45]
    smooth = np.stack([x * 5, y * 6, (x * y) % 256], axis=-1).astype(np.uint8)
    rough = (np.arange(37 * 45 * 3) * 2654435761 % 4294967296 >> 21).astype(np.uint8).reshape(37, 45, 3)
    for i, (name, pixels, options) in enumerate([
            ("smooth", smooth, {"quality": 70}), ("coarse", smooth, {"quality": 0, "method": 6}), ("fine", smooth, {"quality": 100}),
            ("rough", rough, {"quality": 30, "method": 0}), ("rough_fine", rough, {"quality": 98, "method": 4}),
            ("alpha", np.dstack([smooth, smooth[:, :, 0]]), {"quality": 50}), ("small", rough[:5, :3], {"quality": 60})]):
        out = io.BytesIO()
        Image.fromarray(pixels).save(out, "WEBP", **options)
        data = out.getvalue()
        put("webp", name + "_file", bytes([130 + 8 * i % 32, 0, 0, 0, 0]) + data)
        at = data.index(b"VP8 ") + 8
        put("webp", name, bytes([2 + 8 * i % 32, 0, 0, 0, 0]) + data[at:])
        put("webp", name + "_part", bytes([6 + 8 * i % 32, 40 * i % 256, 60, 128, 200]) + data[at:])


def segment() -> bytes:
    """A complete segment of two samples: a picture of 5x7x3, a label, two rows of floats, some bytes."""
    def head(sample: int, payload: bytes) -> bytes:
        fields = struct.pack("<QQQ", sample, len(payload), 0) + b"ENTR"
        return fields + masked(fields)

    def bundle(height: int, width: int) -> bytes:
        axes = struct.pack("<6q", height, width, 3, 2, 4, 9)
        text = axes.ljust(64, b"\0") + bytes(height * width * 3)
        text = text.ljust((len(text) + 7) // 8 * 8, b"\0") + struct.pack("<q", 3) + bytes(32)
        return text + b"some text"

    header = b"LEATSEG1" + struct.pack("<II", 0x01020304, 0) + b"0123456789abcdef" + bytes(28)
    body, table = header + masked(header), b""
    for sample, payload in ((7, bundle(5, 7)), (3, bundle(4, 6))):
        table += struct.pack("<III", sample, len(body) // 32, len(payload))
        body += head(sample, payload) + payload
        body = body.ljust((len(body) + 31) // 32 * 32, b"\0")
    trailer = b"LEATSEND" + struct.pack("<QQI", 2, 0, 0)
    return body + table + trailer + masked(trailer)


def main() -> None:
    images()
    pngs()
    webps()
    put("segment", "two", b"\1" + segment())  # the first byte: checksums are put right
    put("segment", "open", b"\1" + segment()[:600])
    shard = b"".join(record(example(i % 2 == 0)) for i in range(4)) + record(b"")
    # The first byte of these is for the target to choose by.
    put("tfrecord", "shard", b"\0" + shard)
    put("example", "packed", example(True))
    put("example", "unpacked", example(False))
    raw = zlib.compressobj(9, wbits=-15)
    put("deflate", "dynamic", b"\x3f" + raw.compress(shard) + raw.flush())
    raw = zlib.compressobj(9, wbits=-15, strategy=zlib.Z_FIXED)
    put("deflate", "fixed", b"\x52" + raw.compress(shard) + raw.flush())
    raw = zlib.compressobj(0, wbits=-15)
    put("deflate", "stored", b"\x1b" + raw.compress(shard[:300]) + raw.flush())
    put("inflate", "gzip", b"\x08" + gzip.compress(shard, mtime=0))
    put("inflate", "zlib", b"\x09" + zlib.compress(shard))
    put("inflate", "members", b"\x46" + gzip.compress(shard[:100], mtime=0) + gzip.compress(shard[100:], mtime=0))
    for name, data in (("plain", shard), ("gzip", gzip.compress(shard, mtime=0)), ("zlib", zlib.compress(shard))):
        put("records", name, data)
    put("records", "cut", shard[:-7])
    for pipeline in range(8):  # its own state after some batches: as it is, with three edits, and with a fresh checksum too
        put("state", f"pipeline{pipeline}", bytes([pipeline | 3 << 3]))
        put("state", f"edited{pipeline}", bytes([pipeline | 2 << 3, 22, 0, 5, 35, 0x80, 9, 40, 0x40, 0]))
        put("state", f"sealed{pipeline}", bytes([pipeline | 2 << 3 | 0x80, 42, 0, 5, 61, 0, 9, 62, 0x40, 0]))
    put("state", "raw", b"\x40leat-state 2 check=0123456789abcdef epoch=0 position=9 seed=0")
    put("sidefile", "payload", bytes(range(64)))
    spots = b"".join(struct.pack("<I3h", 8000 * i, i, 2 * i, -i) for i in range(24))
    block = struct.pack("<Q4H2I", 0, 13, 6, 4, 0, 24, 0) + spots
    entry = struct.pack("<QQQ4sI", 7, 8 + len(block), 0, b"ENTR", 0) + struct.pack("<II", len(block), 0) + block
    entry += bytes(-len(entry) % 32)
    for choice in (0, 1, 3, 4, 7):
        put("jpeg_store", f"entries{choice}", bytes([choice, 90, 70]) + 2 * entry)
    for name, array in (("image", np.zeros((2, 3, 4, 3), "f4")), ("label", np.zeros(5, "i8")), ("one", np.uint8(3)),
                        ("columns", np.asfortranarray(np.zeros((2, 3), "f2")))):
        out = io.BytesIO()
        np.save(out, array)
        put("npy", name, out.getvalue())
    tables = [
        "path,label,w\na.jpg,cat,1\nb/c.png,dog,0.5\n",
        "\ufeffpath;label;a;b\r\n\"x;y.jpg\";\"two\nlines\";1;-2.5\r\n\r\nz.jpg;\"a \"\"b\"\"\";3;1e-3\r\n",
        "a.jpg,1,2,w\rb.jpg,-9223372036854775808,3,x\r",
        "a,b,label\n1,x,cat\n2.5,NA,dog\n,\"y \"\"z\"\"\",cat\n",
        "label,a,b\ncat,1,2\ndog,nan,-4.5e-3\n",
    ]
    for i, table in enumerate(tables):
        put("csv", f"table{i}", bytes([(0x04, 0x9d, 0x63, 0x20, 0x31)[i]]) + table.encode())  # the first byte chooses columns
    clusters = [
        '{"cluster": {"chief": ["a:1"], "worker": ["b:1", "b:2"], "ps": ["c:1"]}, "task": {"type": "worker", "index": 1}}',
        ' {"task":{"index":"0","type":"chief"},"cluster":{"worker":[],"chief":["h\\"o\\/st:22"]},"more":[true,null,-1.5e3]}\n',
        '{"cluster": {"worker": ["a"]}, "task": {"type": "evaluator"}}',
    ]
    for i, cluster in enumerate(clusters):
        put("json", f"cluster{i}", cluster.encode())
    for name, save in (("stored", np.savez), ("deflated", np.savez_compressed)):
        out = io.BytesIO()
        save(out, image=np.arange(96, dtype="u1").reshape(4, 2, 4, 3), label=np.arange(4))
        put("zip", name, undated(out.getvalue()))
    for kind, name in ((tarfile.USTAR_FORMAT, "ustar"), (tarfile.GNU_FORMAT, "gnu"), (tarfile.PAX_FORMAT, "pax")):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=kind) as archive:
            for i, key in enumerate(("a", "dir/b", "long/" + "n" * (90 if kind == tarfile.USTAR_FORMAT else 120))):
                for extension, data in (("jpg", b"x" * 600 * i), ("cls", b"%d" % i), ("json", b"{}")):
                    member = tarfile.TarInfo(f"{key}.{extension}")
                    member.size = len(data)
                    archive.addfile(member, io.BytesIO(data))
        for forged in (0, 40):
            put("tar", f"{name}{forged}", bytes([forged]) + out.getvalue().rstrip(b"\0") + bytes(1024))
    texts = [
        "folder photos/train | shuffle seed=7 | decode | random_resized_crop 224 | random_flip_left_right"
        " | normalize imagenet layout=nchw | batch 64 drop_remainder=true | prefetch auto",
        "tfrecord 'a b-*.tfrecord' \"c|d\" | parse image:bytes label:int64=3 box:float[4] ids:int64[*100] | decode_raw image u8"
        " | reshape image 256 256 3 | cast image f32 scale=1/255 offset=-0.5 | random_brightness 0.2 | batch 32",
        "synth 100 8 8 classes=3 | take 50 | skip 3 | shard 1/2 | repeat 2 | select label image | options on_error=skip fuse=off",
        "npy image=x.npy 'label=a b.npz:y' z.npz | list a.csv path=p label=a,b separator=';' | fixed a b bytes=4KiB header=1",
    ]
    texts.append("synth 60 4 4 | filter \"label in 1,2 or not (label >= 5)\" | split train by=order | oversample | shuffle"
                 " | label_map 1=0,2=1 default=2 | enumerate n of=sample | balance weights=1,2,3 n=40 | batch 7")
    texts += [
        "concatenate 'synth 9 4 4 | shuffle | take 5' \"synth 7 4 4 | label_map 0=3 default=1\" | filter label!=2 | shuffle | batch 4",
        "sample_from 'synth 9 4 4 | repeat 2' 'synth 5 4 4' 'synth 3 4 4 | shuffle' weights=0.5,0.3,0.2 rerandomize=true seed=3 | batch 5",
        "choose_from 'synth 9 4 4' \"concatenate 'synth 5 4 4' 'synth 6 4 4'\" pattern=0,1,1 stop_on_empty=false | batch 3",
        "zip image='synth 9 4 4 | shuffle' mask='synth 12 4 4 | select image label' stop=shortest | cast mask f32 | batch 4",
        "tfrecord a-* | interleave cycle=4 block=2 | parse x:float[3] | batch 4",
        "zip image='synth 9 8 8' mask='synth 9 8 8' | mask mask fill=3 | random_crop 5 | random_flip field=image | cast mask f32 | batch 4",
        "synth 9 8 6 | enumerate p | cast p f32 | reshape p 1 | boxes p format=cxcywh min_visible=0.1 labels=label | batch 2",
        "synth 30 8 6 | shuffle | bucket_by_aspect_ratio 0.5,1 sizes=9x3,5x5,3x9 | resize_to_bucket crop_to_aspect_ratio=true | batch 4",
    ]
    for i, text in enumerate(texts):
        put("spec", f"text{i}", text.encode())
    put("spec", "webdataset", b"webdataset train-*.tar image=jpg,png label=cls | shuffle | decode | resize 8 8 | batch 4")
    for i, text in enumerate(("a == 3", "a in 1, 2,x1 and b<=1/2 or not (c != 'x y' and a not in (4,-5))", "((b>0.5)or(c<7))and a!=0")):
        put("predicate", f"condition{i}", text.encode())
    for i, text in enumerate(("x - mean(x, 0, 1)", "select(image > 9, image[::-1, 1:], 3)", "concat(0, row, -row)", "one_hot(label, 4)",
                              "stack(0, sum(x), size(image, 0) * 0.5)", "reshape(transpose(x, 2, 0, 1), 3, -1)", "argmax(x, 2) % 2",
                              "clip(cast(x * 99, u8) ** 2, 1, 9)", "uniform(0, 1, like=x, seed=3) + normal(0, 1)", "gather(row, [1, 0])",
                              "any((x < 1) & ~(x == x))[None]", "round(exp(x)) // sqrt(x + 1e-3)", "broadcast(row[0], 2, 3)")):
        put("expression", f"expression{i}", bytes([i % 2]) + text.encode())
    head = struct.pack("=8sIIQQQQ", b"LEATTOP1", 0x01020304, 1800, 0, 1, 2, 3)
    put("top_record", "wrong_sum", b"\0" + head + bytes(1752))
    put("top_record", "cut", b"\0" + head)
    put("top_record", "numbers", b"\1" + struct.pack("=qQQdddQQq", 4711, 7, 3, 0.5, 12.5, 5.0, 3, 4000, 50000) + b"train.py")
    put("top_record", "odd_numbers", b"\1" + struct.pack("=qQQdddQQq", -1, 0, 0, float("nan"), -1.0, float("inf"), 0, 0, -9))
    put("top_record", "long_texts", b"\1" + b"\xff\x1b[2J" * 300)
    mounts = "25 1 0:23 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n"
    old_mounts = "30 25 0:26 / /sys/fs/cgroup rw - cgroup cgroup rw,memory,cpu\n"
    values = ["104857600\n", "5000\n", "inactive_file 300\n", "max\n", "50000 100000\n", "throttled_usec 70\n", "some avg10=1.50 avg60=0.00\n"]
    put("limits", "version2", "\0".join(["0::/a\n", mounts, *values]).encode())
    put("limits", "version1", "\0".join(["4:cpu,memory:/a\n", old_mounts, *values]).encode())
    put("limits", "odd", "\0".join(["0::/a/../a\n\n:::", "1 2 3\n - \n" + mounts, "-1", "99999999999999999999", "inactive_file"]).encode())


if __name__ == "__main__":
    main()
