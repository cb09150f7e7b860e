# SPDX-License-Identifier: Apache-2.0
"""What leat signs is what botocore signs: every request to an object storage, signed again with the same date, has the same
Authorization. Keys with all kinds of characters, parts of objects, lists page by page, and sessions."""
import datetime
import sys
import urllib.parse
from pathlib import Path
from unittest import mock

import leat
import numpy
import pytest
from botocore import auth, awsrequest, credentials

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "remote"))
from server import Server  # noqa: E402

KEYS = ["plain.npy", "with space.npy", "a+b=c&d.npy", "ü/ñ~_-.npy", "deep/er/(1)'!*.npy", "per%20cent.npy"]


@pytest.mark.parametrize("token", ["", "IQoJb3JpZ2luX2Vj//////////wEaCXVzLWVhc3QtMSJH+=="])
@pytest.mark.parametrize("region", ["us-east-1", "eu-central-1"])
def test_signatures(tmp_path, monkeypatch, token, region):
    for key in KEYS:
        path = tmp_path / "bucket" / key
        path.parent.mkdir(parents=True, exist_ok=True)
        numpy.save(path, numpy.arange(3 << 20, dtype="float32").reshape(-1, 1024))
    with Server(tmp_path) as server:
        server.s3, server.page, server.keys = True, 2, {"AKIDEXAMPLE": ("wJalrXUtnFEMI/K7MDENG+bPx", token)}
        for name, value in {"LEAT_S3_ENDPOINT": server.url, "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_REGION": region,
                            "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG+bPx", "AWS_SESSION_TOKEN": token, "HOME": str(tmp_path)}.items():
            monkeypatch.setenv(name, value)
        for key in KEYS:
            assert sum(len(batch) for batch in leat.from_npy(x=f"s3://bucket/{key}").batch(500)) > 0
        with pytest.raises(leat.Error):  # listed, and no TFRecords
            list(leat.from_tfrecord("s3://bucket/*p*.npy").batch(2))
        assert len(server.requests) > 3 * len(KEYS) and any("continuation-token" in query for _, _, query, _ in server.requests)
        for method, path, query, headers in server.requests:
            assert headers["authorization"].split("Signature=")[1] == again(server, method, path, query, headers, token, region)


def again(server, method: str, path: str, query: str, headers: dict, token: str, region: str) -> str:
    """The signature that botocore gives to the same request at the same time."""
    request = awsrequest.AWSRequest(method=method, url=server.url + path, params=urllib.parse.parse_qsl(query, keep_blank_values=True),
                                    headers={name: headers[name] for name in ("range",) if name in headers})
    now = datetime.datetime.strptime(headers["x-amz-date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=datetime.timezone.utc)
    signer = auth.S3SigV4Auth(credentials.Credentials("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPx", token or None), "s3", region)
    with mock.patch.object(auth, "get_current_datetime", lambda *_, **__: now.replace(tzinfo=None)):
        signer.add_auth(request)
    return request.headers["Authorization"].split("Signature=")[1]
