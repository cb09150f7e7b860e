# SPDX-License-Identifier: Apache-2.0
"""Remote files: the bytes of local runs, whatever network and server do, or one line that says what is wrong and what to do."""
import re
import resource
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import numpy
import pytest
from PIL import Image

from conftest import ROOT, paint

sys.path.insert(0, str(ROOT / "tests/remote"))
from server import Fault, Server  # noqa: E402

PARSE = "| parse image:bytes label:int64 | shuffle seed=3 | decode | resize 24 24 | batch 4"


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    """Thirty pictures as files, as a table, and as records in three shards with their indexes."""
    folder = tmp_path_factory.mktemp("remote")
    rows = ["path,label"]
    for number in range(30):
        path = folder / "pictures" / f"class {number % 3}" / f"{number:02}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(paint(30 + number, 60 - number, number)).save(path, quality=90)
        rows.append(f"{path.relative_to(folder)},{number % 3}")
    (folder / "list.csv").write_text("\n".join(rows) + "\n")
    numpy.save(folder / "numbers.npy", numpy.arange(6000 * 300, dtype="float32").reshape(6000, 300))
    numpy.savez(folder / "both.npz", x=numpy.arange(40, dtype="float32").reshape(10, 4), y=numpy.arange(10))
    return folder


@pytest.fixture
def served(data, leat):
    if not (data / "records").is_dir():
        leat("pack", data / "pictures", data / "records", "--shards", 3, "-q")
    with Server(data) as server:
        yield server


@pytest.fixture
def digest(leat):
    def digest(text: str, *more, **how) -> str:
        done = leat("run", text, "--sink", "digest", *more, **how)
        return re.search("digest ([0-9a-f]+)", done.stdout + done.stderr)[1]

    return digest


def complaint(done) -> str:
    lines = [line for line in done.stderr.splitlines() if re.match("leat [a-z]+: ", line)]
    assert len(lines) == 1, done.stderr
    return lines[0]


def shards(server, folder: str = "records") -> str:
    return " ".join(f"{server.url}/{folder}/{path.name}" for path in sorted((server.folder / folder).glob("data-*.tfrecord")))


# ---------------------------------------------------------------------------------------- the same bytes


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("order", ["shuffle seed=3 |", "", "shuffle seed=5 block=2KiB |"])
def test_records_with_indexes_are_those_of_a_local_run(served, digest, data, threads, order):
    rest = f"| parse image:bytes label:int64 | {order} decode | resize 24 24 | batch 4"
    assert digest(f"tfrecord {shards(served)} {rest}", "-t", threads) == digest(f"tfrecord {data}/records/*.tfrecord {rest}")


def test_neighbours_are_read_with_one_request(served, digest, data):
    served.latency = 0.05  # so that the threads that read ahead are there before the workers are through
    text = "| parse image:bytes | decode | resize 24 24 | batch 30"
    assert digest(f"tfrecord {shards(served)} {text}") == digest(f"tfrecord {data}/records/*.tfrecord {text}")
    parts = [path for _, path, _, _ in served.requests if path.endswith(".tfrecord")]
    assert len(parts) < 30, "thirty records of three shards, one behind the other"


def test_records_without_an_index_are_a_stream_with_a_notice(served, digest, leat, data):
    plain = data / "plain"
    plain.mkdir(exist_ok=True)
    for path in (data / "records").glob("data-*.tfrecord"):
        shutil.copy(path, plain)
    text = "| parse image:bytes label:int64 | decode | resize 24 24 | batch 4"
    assert digest(f"tfrecord {shards(served, 'plain')} {text}") == digest(f"tfrecord {data}/records/*.tfrecord {text}")
    said = leat("run", f"tfrecord {shards(served, 'plain')} {text}", "--sink", "null").stderr
    assert "leat index --beside" in said and "stream" in said


def test_a_table_and_its_files(served, digest, data):
    rest = "| shuffle seed=3 | decode | resize 24 24 | batch 4"
    assert digest(f"list {served.url}/list.csv {rest}") == digest(f"list {data}/list.csv {rest}")
    asked = [path for _, path, _, _ in served.requests if path.endswith(".jpg")]
    assert len(asked) <= 30 + 8 and "/pictures/class%200/00.jpg" in asked, "one request for each file, some looked at before"


def test_a_local_table_of_addresses(served, digest, data, tmp_path):
    rows = (data / "list.csv").read_text().replace("pictures/", f"{served.url}/pictures/")
    (tmp_path / "far.csv").write_text(rows)
    rest = "| decode | resize 24 24 | batch 4"
    assert digest(f"list {tmp_path}/far.csv {rest}") == digest(f"list {data}/list.csv {rest}")


@pytest.mark.parametrize("name", ["numbers.npy", "both.npz:x"])
def test_arrays(served, digest, data, name):
    assert digest(f"npy x={served.url}/{name} | shuffle seed=1 | batch 100") == digest(f"npy x={data}/{name} | shuffle seed=1 | batch 100")


def test_tars_with_an_index(served, digest, leat, data):
    subprocess.run(["tar", "cf", data / "set.tar", "-C", data / "pictures/class 0", "--sort=name", "."], check=True)
    leat("index", "--beside", data / "set.tar")
    rest = "image=jpg | shuffle seed=2 | decode | resize 24 24 | batch 4"
    assert digest(f"webdataset {served.url}/set.tar {rest}") == digest(f"webdataset {data}/set.tar {rest}")


def test_a_run_goes_on_after_a_restart_elsewhere(served, leat, data, tmp_path):
    """The state of a local run serves a remote one: names and sizes are the same."""
    local, far = f"tfrecord {data}/records/*.tfrecord {PARSE}", f"tfrecord {shards(served)} {PARSE}"
    leat("run", local, "--sink", "null", "--batches", 3, "--state", tmp_path / "state")
    rest = leat("run", far, "--sink", "samples", "--state", tmp_path / "state").stdout
    whole = leat("run", local, "--sink", "samples").stdout
    assert rest.splitlines()[-3:] == whole.splitlines()[-3:] and len(rest.splitlines()) < len(whole.splitlines())


@pytest.mark.parametrize("limit, kept", [("", True), ("max=16KiB", False)])
def test_a_cache_in_front_of_decode_keeps_remote_bytes(served, digest, data, tmp_path, limit, kept):
    """If the set fits, a second run asks for nothing but what opening takes; if it does not, nothing is evicted for it."""
    text = f"| parse image:bytes label:int64 | cache {tmp_path}/kept {limit} | shuffle seed=3 | decode | resize 24 24 | batch 4"
    local = digest(f"tfrecord {data}/records/*.tfrecord {PARSE}")
    counts = []
    for _ in range(3):
        served.requests.clear()
        assert digest(f"tfrecord {shards(served)} {text}") == local
        counts.append(len(served.requests))
    assert counts[1:] == [9, 9] if kept else min(counts) > 9


def test_positions_inside_of_remote_jpegs_are_kept(served, digest, leat, data, tmp_path):
    """On this machine, under the address without its query and password; the next run finds them."""
    text = "| parse image:bytes label:int64 | shuffle seed=3 | decode | random_crop 16 16 | batch 4"
    secret = shards(served).replace("http://", "http://someone:password@").split()
    signed = " ".join(f"'{address}?sig=secret'" for address in secret)
    local = digest(f"tfrecord {data}/records/*.tfrecord {text}")
    (kept,) = (tmp_path / "cache").rglob("positions.leatseg")
    local_positions = kept.stat().st_size
    leat("cache", "--clear")
    written = []
    for _ in range(2):
        assert digest(f"tfrecord {signed} {text}") == local
        (kept,) = (tmp_path / "cache").rglob("positions.leatseg")
        assert kept.stat().st_size == local_positions
        written.append(kept.stat().st_mtime_ns)
    assert written[0] == written[1], "all positions are known: there is nothing to write"
    said = leat("cache").stdout
    assert f"{served.url}/records" in said and "secret" not in said and "password" not in said
    about = kept.with_name("about.txt").read_text()
    assert about == f"leat data set 1\n{served.url}/records\n"


@pytest.mark.parametrize("memory, files", [("16MiB", 1024), ("1GiB", 64)])
def test_readers_are_as_many_as_memory_and_files_allow(served, digest, data, memory, files):
    """Hundreds of threads may read ahead, each with a connection and buffers of its own."""
    served.latency = 0.05
    text = f"{PARSE} | options read_ahead=400"
    local = digest(f"tfrecord {data}/records/*.tfrecord {text}", "-e", 3)
    assert digest(f"tfrecord {shards(served)} {text}", "-e", 3, "--memory", memory,
                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))) == local


# --------------------------------------------------------------------------------- what passes by itself

PASSING = [Fault("status", 503, times=3), Fault("status", 429, times=2), Fault("status", 500, times=2), Fault("reset", times=3),
           Fault("cut", times=3), Fault("short", times=2), Fault("shifted", times=1, after=12)]


@pytest.mark.parametrize("fault", PASSING, ids=lambda fault: f"{fault.kind}-{fault.value}")
def test_a_fault_that_passes_costs_time_only(served, digest, data, leat, fault):
    text = f"| parse image:bytes label:int64 | shuffle seed=3 | decode | resize 24 24 | batch 4"
    served.fail(Fault(fault.kind, fault.value, fault.times, fault.after))
    assert digest(f"tfrecord {shards(served)} {text}") == digest(f"tfrecord {data}/records/*.tfrecord {text}")


def test_retries_are_counted(served, leat):
    served.fail(Fault("status", 503, times=2, after=15))
    said = leat("run", f"tfrecord {shards(served)} {PARSE}", "--sink", "null", "--json").stdout
    assert re.search(r'"retries": 2\b', said), said


def test_a_server_that_does_not_answer_for_a_while(served, digest, data):
    served.fail(Fault("hang", times=1, after=10))
    text = PARSE
    assert digest(f"tfrecord {shards(served)} {text}", env={"LEAT_REMOTE_TIMEOUT": "3"}) == digest(f"tfrecord {data}/records/*.tfrecord {text}")


# ------------------------------------------------------------------------------------------- what does not


@pytest.mark.parametrize("fault, words", [
    (Fault("status", 503), "503 Service Unavailable: Please reduce your request rate.: .*tried [0-9] times"),
    (Fault("status", 403), "403 Forbidden: .*login, or a signed address"),
    (Fault("reset"), "tried [0-9] times"),
    (Fault("hang"), "does not answer .*LEAT_REMOTE_TIMEOUT"),
    (Fault("drip"), "does not answer|too slow"),
    (Fault("etag", after=9), "has changed since it was opened"),
    (Fault("size", after=9), "has changed since it was opened"),
    (Fault("long", after=9), "more bytes than were asked for"),
    (Fault("whole"), "whole files only"),
    (Fault("page"), "a web page where a file is expected"),
], ids=lambda one: one.kind if isinstance(one, Fault) else None)
@pytest.mark.parametrize("policy", ["raise", "skip"])
def test_a_fault_that_stays_is_the_machines(served, leat, fault, words, policy):
    """on_error does not apply: what a run trains on must not depend on a network."""
    served.fail(Fault(fault.kind, fault.value, 10**9, fault.after, ".tfrecord" if fault.kind != "page" else ""))
    done = leat("run", f"tfrecord {shards(served)} {PARSE}", "--sink", "null", "--on-error", policy, code=None,
                env={"LEAT_REMOTE_TIMEOUT": "1" if fault.kind == "hang" else "3"})
    assert done.returncode not in (0, -6, -11)
    said = complaint(done)
    assert re.search(words, said) and served.url in said, said


def test_a_file_that_is_not_there_is_a_bad_sample(served, leat, data):
    (data / "gap.csv").write_text((data / "list.csv").read_text().replace("/04.jpg", "/none.jpg"))
    text = f"list {served.url}/gap.csv | decode | resize 24 24 | batch 5"
    assert "404 Not Found" in complaint(leat("run", text, "--sink", "null", code=None))
    assert "1 bad" in (done := leat("run", text, "--sink", "null", "--on-error", "skip", code=None)).stderr + done.stdout


@pytest.mark.parametrize("text, words", [
    ("tfrecord {url}/none.tfrecord", "cannot read .*/none.tfrecord: 404 Not Found"),
    ("tfrecord {url}/a*.tfrecord", "a web server does not tell what files it has"),
    ("tfrecord http://127.0.0.1:{closed}/a.tfrecord", "check host and port"),
    ("tfrecord http://nowhere.invalid/a.tfrecord", "check the name of the host"),
    ("folder {url}/pictures | decode", "leat pack"),
    ("folder s3://bucket/pictures | decode", "leat pack"),
    ("tfrecord {url}/records", "404|web page"),
])
def test_a_wrong_address(served, leat, text, words):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        text = text.format(url=served.url, closed=unused.getsockname()[1])
    said = complaint(leat("run", f"{text} | batch 2", "--sink", "null", code=None))
    assert re.search(words, said), said


def test_no_secret_in_a_message(served, leat):
    """Neither the query of a signed address nor a password in front of the host."""
    address = served.url.replace("http://", "http://someone:password@") + "/none.tfrecord?X-Amz-Signature=secret"
    said = complaint(leat("run", f"tfrecord '{address}' | batch 2", "--sink", "null", code=None))
    assert "none.tfrecord: 404" in said and "secret" not in said and "password" not in said
    assert all(query == "X-Amz-Signature=secret" for _, _, query, _ in served.requests)


def test_the_query_of_an_address_is_no_part_of_its_name(served, digest, data):
    signed = " ".join(f"'{address}?sig=1'" for address in shards(served).split())
    assert digest(f"tfrecord {signed} {PARSE}") == digest(f"tfrecord {data}/records/*.tfrecord {PARSE}")


# ------------------------------------------------------------------------------------------- redirections


def test_redirections_stay_on_the_host_or_go_to_https(served, digest, leat, data):
    there = sorted((data / "records").glob("data-*.tfrecord"))[0].name
    served.fail(Fault("redirect", (302, f"/records/{there}"), path="/moved.tfrecord"),
                Fault("redirect", (301, f"/records/.{there}.leatidx"), path="/.moved.tfrecord.leatidx"))
    text = "| parse image:bytes | decode | resize 8 8 | batch 4"
    assert digest(f"tfrecord {served.url}/moved.tfrecord {text}") == digest(f"tfrecord {data}/records/{there} {text}")
    with Server(data) as other:
        served.fail(Fault("redirect", (302, f"{other.url}/records/{there}")))
        said = complaint(leat("run", f"tfrecord {served.url}/moved.tfrecord {text}", "--sink", "null", code=None))
        assert "not https" in said and not other.requests
    served.fail(Fault("redirect", (302, "/again")))
    said = complaint(leat("run", f"tfrecord {served.url}/moved.tfrecord {text}", "--sink", "null", code=None))
    assert "sends us on and on" in said


def test_certificates_are_checked(data, digest, leat, tmp_path):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1", "-addext",
                    "subjectAltName=IP:127.0.0.1", "-keyout", tmp_path / "key.pem", "-out", tmp_path / "cert.pem"],
                   check=True, capture_output=True)
    text = "| decode | resize 24 24 | batch 4"
    with Server(data, certificate=(tmp_path / "cert.pem", tmp_path / "key.pem")) as server:
        said = complaint(leat("run", f"list {server.url}/list.csv {text}", "--sink", "null", code=None))
        assert "SSL_CERT_FILE" in said and "certificate" in said
        local = digest(f"list {data}/list.csv {text}")
        assert digest(f"list {server.url}/list.csv {text}", env={"CURL_CA_BUNDLE": "", "SSL_CERT_FILE": str(tmp_path / "cert.pem")}) == local
        assert digest(f"list {server.url}/list.csv {text}", env={"CURL_CA_BUNDLE": str(tmp_path / "cert.pem")}) == local


def test_without_libcurl_one_line_names_the_package(served, leat):
    said = complaint(leat("run", f"list {served.url}/list.csv | batch 2", "--sink", "null", code=None, env={"LEAT_LIBCURL": "/none.so"}))
    assert "libcurl4" in said and "install" in said


OLD_LIBCURL = """
static struct { int age; const char *text; unsigned number; } version = {0, "7.60.0", 0x073c00};
void *curl_version_info(int age) { return &version; }
void curl_global_init(void) {} void curl_easy_init(void) {} void curl_easy_cleanup(void) {} void curl_easy_setopt(void) {}
void curl_easy_getinfo(void) {} void curl_easy_perform(void) {} void curl_easy_strerror(void) {} void curl_slist_append(void) {}
void curl_slist_free_all(void) {}
"""


def test_an_old_libcurl_is_told_from_a_good_one(served, leat, tmp_path):
    library = tmp_path / "libcurl.so.4"
    subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", library], input=OLD_LIBCURL, text=True, check=True)
    for words, name in (("libcurl 7.60.0 is too old.*7.61.0 or later.*LEAT_LIBCURL", str(library)), ("lacks functions", "libm.so.6")):
        said = complaint(leat("run", f"list {served.url}/list.csv | batch 2", "--sink", "null", code=None, env={"LEAT_LIBCURL": name}))
        assert re.search(words, said) and not served.requests, said


def test_a_proxy_by_the_usual_variables(served, leat):
    said = complaint(leat("run", "list http://far.invalid/list.csv | batch 2", "--sink", "null", code=None,
                          env={"http_proxy": served.url, "no_proxy": ""}))
    assert "404" in said and served.requests[0][1] == "http://far.invalid/list.csv"
