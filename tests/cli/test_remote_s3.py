# SPDX-License-Identifier: Apache-2.0
"""s3://: signed requests, credentials and their places, patterns, and what a wrong one of these is told."""
import re
import sys
from pathlib import Path

import pytest
from PIL import Image

from conftest import ROOT, paint

sys.path.insert(0, str(ROOT / "tests/remote"))
from server import Fault, Server  # noqa: E402

KEYS = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}
PARSE = "| parse image:bytes label:int64 | shuffle seed=3 | decode | resize 24 24 | batch 4"


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("s3")
    for number in range(12):
        path = folder / "pictures" / f"c{number % 3}" / f"{number:02}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(paint(30 + number, 60 - number, number)).save(path, quality=90)
    odd = folder / "bucket/odd name & more+" / "ü=1.jpg"
    odd.parent.mkdir(parents=True)
    odd.write_bytes(path.read_bytes())
    return folder


@pytest.fixture
def storage(data, leat):
    if not (data / "bucket/train").is_dir():
        leat("pack", data / "pictures", data / "bucket/train", "--shards", 5, "-q")
    with Server(data) as server:
        server.s3, server.page, server.keys = True, 3, {"AKIDEXAMPLE": (KEYS["AWS_SECRET_ACCESS_KEY"], "")}
        yield server


@pytest.fixture
def run(leat, storage, tmp_path):
    """The digest of a run, or the one line that it ends with."""

    def run(text: str, env: dict | None = None) -> str:
        none = {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_SESSION_TOKEN": "", "AWS_PROFILE": "", "AWS_REGION": "",
                "AWS_DEFAULT_REGION": "", "HOME": str(tmp_path)}
        done = leat("run", text, "--sink", "digest", code=None, env={**none, "LEAT_S3_ENDPOINT": storage.url, **(KEYS if env is None else env)})
        said = re.search("digest ([0-9a-f]+)", done.stdout + done.stderr)
        lines = [line for line in done.stderr.splitlines() if line.startswith("leat run: ")]
        assert done.returncode >= 0 and (said is not None) != bool(lines) and len(lines) < 2, done.stderr
        assert "wJalr" not in done.stderr
        return said[1] if said else lines[0]

    return run


@pytest.mark.parametrize("pattern", ["train/*.tfrecord", "train/data-0000[0-9]-of-00005.tfrecord", "tr*/data-?????-*.tfrecord"])
def test_patterns_are_listed_page_by_page(run, storage, data, pattern):
    assert run(f"tfrecord s3://bucket/{pattern} {PARSE}") == run(f"tfrecord {data}/bucket/train/*.tfrecord {PARSE}")
    pages = [query for _, path, query, _ in storage.requests if "list-type" in query]
    assert len(pages) > 2 and all(query == "&".join(sorted(query.split("&"))) for query in pages)


def test_all_below_a_prefix(run, data):
    """Indexes, the manifest and the names of classes lie there too."""
    assert {"data-classes.txt", "manifest.json", "rejects.tsv"} <= {path.name for path in (data / "bucket/train").iterdir()}
    assert run(f"tfrecord s3://bucket/train/ {PARSE}") == run(f"tfrecord {data}/bucket/train/*.tfrecord {PARSE}")


def test_keys_with_any_characters(run, tmp_path):
    (tmp_path / "one.csv").write_text("path,label\ns3://bucket/odd name & more+/ü=1.jpg,1\n")
    assert len(run(f"list {tmp_path}/one.csv | decode | resize 8 8 | batch 1")) == 32


def test_a_session(run, storage):
    storage.keys = {"ASIAEXAMPLE": ("secret", "a/long+token==")}
    session = {"AWS_ACCESS_KEY_ID": "ASIAEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret"}
    assert len(run(f"tfrecord s3://bucket/train/*.tfrecord {PARSE}", {**session, "AWS_SESSION_TOKEN": "a/long+token=="})) == 32
    said = run(f"tfrecord s3://bucket/train/*.tfrecord {PARSE}", session)
    assert "InvalidToken" in said
    storage.expired = ("ASIAEXAMPLE",)
    said = run(f"tfrecord s3://bucket/train/*.tfrecord {PARSE}", {**session, "AWS_SESSION_TOKEN": "a/long+token=="})
    assert "ExpiredToken" in said and "get new credentials" in said and "long+token" not in said


def test_credentials_from_the_shared_files(run, tmp_path):
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws/credentials").write_text(
        "[default]\naws_access_key_id = wrong\naws_secret_access_key = wrong\n\n# a comment\n[work]\n"
        f"aws_access_key_id={KEYS['AWS_ACCESS_KEY_ID']}\n aws_session_token = nested\naws_secret_access_key =  {KEYS['AWS_SECRET_ACCESS_KEY']} \r\n")
    (tmp_path / ".aws/config").write_text("[profile work]\nregion = eu-central-1\ns3 =\n  region = none\n")
    text = f"tfrecord s3://bucket/train/*.tfrecord {PARSE}"
    assert len(run(text, {"AWS_PROFILE": "work"})) == 32
    assert "InvalidAccessKeyId" in run(text, {})
    (tmp_path / ".aws/credentials").rename(tmp_path / "elsewhere")
    assert len(run(text, {"AWS_PROFILE": "work", "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "elsewhere")})) == 32


def test_the_region_of_a_profile_is_signed(run, storage, tmp_path):
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws/config").write_text("[default]\nregion = eu-central-1\n")
    assert len(run(f"tfrecord s3://bucket/train/*.tfrecord {PARSE}")) == 32
    assert all("/eu-central-1/s3/" in headers["authorization"] for *_, headers in storage.requests)


@pytest.mark.parametrize("text, env, words", [
    ("tfrecord s3://nothing/*.tfrecord", None, "NoSuchBucket.*check the name of the bucket"),
    ("tfrecord s3://bucket/train/none-*.tfrecord", None, "no file matches s3://bucket/train/none"),
    ("tfrecord s3://bucket/none.tfrecord", None, "404 Not Found: NoSuchKey.*upper and lower case"),
    ("tfrecord s3:///none", None, "no name of a bucket"),
    ("tfrecord s3://bucket/train/*.tfrecord", {}, "403 .*AccessDenied.*no credentials.*profile 'default'"),
    ("tfrecord s3://bucket/train/*.tfrecord", {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "wrong"},
     "403 .*SignatureDoesNotMatch.*check the credentials"),
])
def test_what_is_wrong_is_said(run, text, env, words):
    said = run(f"{text} | batch 2", env)
    assert re.search(words, said), said


def test_a_bucket_in_another_region_is_named(run, storage):
    storage.fail(Fault("region", "eu-west-3"))
    said = run(f"tfrecord s3://bucket/train/*.tfrecord {PARSE}")
    assert re.search("s3://bucket.*301 .*PermanentRedirect.*set AWS_REGION=eu-west-3", said), said


def test_a_web_page_in_place_of_a_listing(run, storage):
    storage.fail(Fault("page"))
    assert re.search("s3://bucket.*web page where a file is expected", run(f"tfrecord s3://bucket/train/*.tfrecord {PARSE}"))


def test_no_credentials_means_not_signed(run, storage):
    storage.keys = {}
    assert len(run(f"tfrecord s3://bucket/train/*.tfrecord {PARSE}", {})) == 32
    assert all("authorization" not in headers for *_, headers in storage.requests)
