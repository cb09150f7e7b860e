# SPDX-License-Identifier: Apache-2.0
"""leat bench: what it prints, not how fast it is."""
import json
import re

import pytest

from conftest import paint

KEYS = {
    "samples_per_s": float, "bytes_per_s": float, "wall_s": float, "cpu_s": float, "wait_s": float, "samples": int,
    "batches": int, "threads": int, "slots": int, "first_batch_s": float, "peak_rss_bytes": int, "bytes_read": int,
    "bytes_out": int, "bad_samples": int, "memory_bytes": int, "memory_max_bytes": int, "stages": dict,
}
ROOF_KEYS = {"roofline_samples_per_s": float, "roofline_what": str, "ratio": float}


def measure(leat, text: str, *words) -> dict:
    done = leat("bench", text, "--json", "--seconds", 0.2, *words)
    result = json.loads(done.stdout)
    for key, kind in {**KEYS, **(ROOF_KEYS if "--roofline" in words else {})}.items():
        assert isinstance(result[key], (int, float) if kind is float else kind), key
    assert set(result["stages"]) == {"read", "parse", "decode", "transform", "store", "call"}
    assert all(seconds >= 0 for seconds in result["stages"].values())
    assert result["samples"] > 0 and result["samples_per_s"] > 0 and result["wall_s"] >= 0.2
    assert 0 < result["first_batch_s"] < 60 and result["peak_rss_bytes"] > 1e6
    counters = result["counters"]
    assert set(counters["stages"]) == set(result["stages"]) and len(counters["workers"]) == result["threads"]
    # The workers run on between the question for all counters and the question for each worker's.
    assert sum(each["samples"] for each in counters["workers"]) >= counters["samples_made"] >= counters["samples"]
    assert sum(n for _, n in counters["latency"]["below_s"]) == counters["batches"] >= result["batches"]
    assert counters["tuning"].startswith(f"threads={result['threads']} slots=")
    if "--roofline" in words:
        assert result["ratio"] > 0 and result["roofline_samples_per_s"] > 0
    else:
        assert "ratio" not in result
    return result


def test_json(leat):
    result = measure(leat, "synth 50 8 8 | batch 4", "--threads", 2)
    assert result["threads"] == 2
    assert result["bytes_out"] == result["samples"] * (8 * 8 * 3 + 8)
    assert result["samples"] <= result["batches"] * 4 and result["bytes_read"] == 0


def test_a_paced_consumer(leat):
    result = measure(leat, "synth 50 8 8 | batch 4", "--threads", 1, "--step-ms", 20)
    assert result["wall_s"] / result["batches"] >= 0.02 and result["wait_s"] < 0.5 * result["wall_s"]
    assert result["counters"]["slots_full_s"] > 0.1  # the workers were ahead, and slept


def test_the_ceiling_of_images(leat, pictures):
    text = f"folder {pictures} | decode | resize 16 16 | batch 4"
    result = measure(leat, text, "--roofline")
    assert result["roofline_what"].startswith("libjpeg-turbo and other codecs decoding 23 files in full, from memory")
    assert result["bytes_read"] > 0 and result["stages"]["decode"] > 0
    for path in pictures.rglob("*.[pwb]*"):
        path.unlink()
    result = measure(leat, text, "--roofline", "--threads", 1)
    assert result["roofline_what"] == "libjpeg-turbo decoding 9 files in full, from memory"
    result = measure(leat, text + " | options accuracy=fast", "--roofline", "--threads", 1)
    assert result["roofline_what"] == "libjpeg-turbo decoding 9 files in full, from memory, with the fast IDCT"


@pytest.mark.parametrize("kept, library", [(".webp", "libwebp"), (".png", "libpng"), (".bmp", "the bare codecs")])
def test_the_ceiling_is_named_after_its_library(leat, pictures, kept, library):
    for path in [path for path in pictures.rglob("*.*") if path.suffix != kept]:
        path.unlink()
    result = measure(leat, f"folder {pictures} | decode | resize 16 16 | batch 4", "--roofline", "--threads", 1)
    assert re.fullmatch(rf"{library} decoding \d files in full, from memory", result["roofline_what"])


def test_the_ceiling_of_records(leat, records):
    path = records("a.tfrecord", [{"image": paint(8, 8, i).tobytes(), "label": i} for i in range(9)])
    text = f"tfrecord {path} | parse image:bytes label:int64 | decode_raw image u8 | reshape image 8 8 3 | cast image f32 | batch 4"
    assert measure(leat, text, "--roofline")["roofline_what"].startswith("memcpy of 776 bytes a sample out of ")
    jpegs = records("b.tfrecord", [{"image": b"\xff\xd8 no picture", "label": 1}])
    line = leat("bench", f"tfrecord {jpegs} | parse image:bytes | decode | resize 4 4 | batch 2", "--roofline", code=1).stderr
    assert "b.tfrecord: record 0 at byte 0: decode" in line


def test_the_ceiling_reads_what_the_source_has(leat):
    for shuffle in ("", "| shuffle "):
        result = measure(leat, f"synth 20 32 32 {shuffle}| cast image f32 | batch 4", "--roofline")
        assert result["roofline_what"].startswith("memcpy of 3072 to 12296 bytes a sample out of 0.1 MB into a ring of ")


def test_the_ceiling_of_a_stream(leat, records):
    path = records("a.tfrecord.gz", [{"x": [1.0, 2.0], "label": i} for i in range(50)], "gzip")
    result = measure(leat, f"tfrecord {path} | parse x:float[2] label:int64 | batch 4", "--roofline")
    assert result["roofline_what"].startswith("memcpy of 16 bytes")


def test_the_report(leat, pictures, records):
    out = leat("bench", f"folder {pictures} | decode | resize 16 16 | batch 4", "--seconds", 0.2, "--roofline").stdout
    assert re.match(r"[\d,.]+ images/s   [\d.]+ [KMG]?B/s read   [\d.]+ [KMG]?B/s into batches\n"
                    r"\d+\.\d\d of the ceiling: libjpeg-turbo .* \([\d,.]+ images/s\)\n", out)
    for word in ("read", "decode", "transform", "store", "consumer", "first batch", "memory", "tuning"):
        assert re.search(rf"^  {word} ", out, re.M), word
    assert re.search(r"(is|are) the bottleneck|has the cores", out) and re.search(r"^Try ", out, re.M)
    assert all(len(line) <= 110 for line in out.splitlines())
    path = records("a.tfrecord", [{"x": [1.0, 2.0]} for i in range(50)])
    out = leat("bench", f"tfrecord {path} | parse x:float[2] | batch 4", "--seconds", 0.1).stdout
    assert re.match(r"[\d,.]+ samples/s", out)


def test_bad_samples(leat, pictures):
    (pictures / "ant/zz.jpg").write_bytes(b"no picture")
    text = f"folder {pictures} | decode | resize 16 16 | batch 4"
    assert "ant/zz.jpg: decode" in leat("bench", text, "--seconds", 0.1, code=1).stderr
    assert "'leat run' names them" in leat("bench", text, "--seconds", 0.1, "--on-error", "skip").stdout
    assert measure(leat, text, "--on-error", "skip", "--roofline")["bad_samples"] > 0


def test_what_cannot_be_measured(leat):
    assert "must be a number" in leat("bench", "synth", "--seconds", "soon", code=2).stderr
    assert "Example:" in leat("bench", "--help").stdout
    assert "ended" in leat("bench", "synth 4 4 4 | batch 4", "--epochs", 1, code=1).stderr


@pytest.mark.parametrize("threads", [1, 3])
def test_a_batch_that_is_larger_than_the_data(leat, threads):
    result = measure(leat, "synth 3 8 8 | batch 64", "--threads", threads, "--roofline")
    assert result["samples"] == result["batches"] * 3
