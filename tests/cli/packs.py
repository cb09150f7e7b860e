# SPDX-License-Identifier: Apache-2.0
"""What the tests of pack and synth share: running the command, and a reader of TFRecord files of its own, written from
the description of the formats and nothing else."""
from __future__ import annotations

import os
import re
import struct
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
LEAT = os.environ.get("LEAT", str(ROOT / "build/release/cli/leat"))


def environment(cache: Path) -> dict[str, str]:
    """Indexes go to a folder of the test; no colours."""
    return {**os.environ, "XDG_CACHE_HOME": str(cache), "NO_COLOR": "1"}


def leat(*args: object, cache: Path, code: int | None = 0, **more) -> subprocess.CompletedProcess:
    done = subprocess.run([LEAT, *map(str, args)], env=environment(cache), capture_output=True, text=True, timeout=120,
                          errors="replace", **more)
    if code is not None:
        assert done.returncode == code, f"exit {done.returncode}, not {code}\n{done.stdout}{done.stderr}"
    return done


# --------------------------------------------------------------------------------------- TFRecord, Example


def crc_table() -> list[int]:
    table = []
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
        table.append(n)
    return table


TABLE = crc_table()


def masked_crc(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 255] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return (crc >> 15 | crc << 17) + 0xA282EAD8 & 0xFFFFFFFF


def records(path: Path, checksums: bool = True) -> list[bytes]:
    """The payloads of a file; fails at the first byte that is not as it should be."""
    data = path.read_bytes()
    found, at = [], 0
    while at < len(data):
        assert len(data) - at >= 16, f"{path}: {len(data) - at} bytes are left at {at}"
        length, length_crc = struct.unpack_from("<QI", data, at)
        assert length_crc == masked_crc(data[at:at + 8]), f"{path}: checksum of the length at {at}"
        assert at + 16 + length <= len(data), f"{path}: the record at {at} is cut off"
        payload = data[at + 12:at + 12 + length]
        (payload_crc,) = struct.unpack_from("<I", data, at + 12 + length)
        if checksums:
            assert payload_crc == masked_crc(payload), f"{path}: checksum of the payload at {at}"
        found.append(payload)
        at += 16 + length
    return found


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data: bytes):
    """(number, value) of each field of a protobuf message; only the wire types that an Example has."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 2:
            n, at = varint(data, at)
            assert at + n <= len(data)
            yield tag >> 3, data[at:at + n]
            at += n
        else:
            assert tag & 7 == 0, f"wire type {tag & 7}"
            value, at = varint(data, at)
            yield tag >> 3, value


def example(payload: bytes) -> dict[str, list]:
    """An Example as {key: values}."""
    result: dict[str, list] = {}
    for number, features in fields(payload):
        assert number == 1
        for number, entry in fields(features):
            assert number == 1
            parts = dict(fields(entry))
            key = parts[1].decode()
            assert key not in result
            (kind, message), = fields(parts[2])
            values: list = []
            for number, value in fields(message):
                assert number == 1
                if kind == 1:
                    values.append(value)
                elif kind == 3:
                    at = 0
                    while at < len(value):
                        item, at = varint(value, at)
                        values.append(item - (1 << 64) if item >> 63 else item)
                else:
                    raise AssertionError(f"a list of kind {kind}")
            result[key] = values
    return result


def shards(out: Path, prefix: str = "data") -> list[Path]:
    """All shards, in order; their names must be complete."""
    found = sorted(out.glob(f"{prefix}-*-of-*.tfrecord"))
    for i, path in enumerate(found):
        assert path.name == f"{prefix}-{i:05d}-of-{len(found):05d}.tfrecord"
    return found


def examples(out: Path, prefix: str = "data") -> list[dict[str, list]]:
    return [example(payload) for path in shards(out, prefix) for payload in records(path)]


def content(out: Path) -> dict[str, bytes]:
    """What every run must leave alike: shards and names of classes."""
    return {path.name: path.read_bytes() for path in sorted(out.iterdir()) if not path.name.startswith(".")}


def leftovers(out: Path) -> list[str]:
    return [path.name for path in out.iterdir() if re.search(r"\.tmp-", path.name)]
