# SPDX-License-Identifier: Apache-2.0
"""TFRecords of tf.train.Examples as their formats say, independent of leat: for tests that write and read them."""
import gzip
import struct
import zlib

TABLE = []
for value in range(256):
    for _ in range(8):
        value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    TABLE.append(value)


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def masked(data: bytes) -> bytes:
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def record(data: bytes) -> bytes:
    length = struct.pack("<Q", len(data))
    return length + masked(length) + data + masked(data)


def varint(n: int) -> bytes:
    n &= (1 << 64) - 1
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def delimited(field: int, data: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(data)) + data


def feature(value) -> bytes:
    """bytes, an int, or a list of one of them or of floats."""
    values = value if isinstance(value, (list, tuple)) else [value]
    if values and isinstance(values[0], bytes):
        return delimited(1, b"".join(delimited(1, v) for v in values))
    if values and isinstance(values[0], float):
        return delimited(2, delimited(1, struct.pack(f"<{len(values)}f", *values)))
    return delimited(3, delimited(1, b"".join(map(varint, values))))


def example(features: dict) -> bytes:
    entries = (delimited(1, key.encode()) + delimited(2, feature(value)) for key, value in features.items())
    return delimited(1, b"".join(delimited(1, entry) for entry in entries))


def compress(data: bytes, how: str) -> bytes:
    return gzip.compress(data, mtime=0) if how == "gzip" else zlib.compress(data) if how == "zlib" else data
