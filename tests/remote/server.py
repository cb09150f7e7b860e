# SPDX-License-Identifier: Apache-2.0
"""A web server and object storage that fails when it is told to, on 127.0.0.1 unless it gets another host.

    with Server(folder) as server:
        server.url + "/a.tfrecord"             any file below the folder, whole or in parts
        server.s3 = True                       the first part of a path is a bucket: lists, and messages as S3 has them
        server.keys = {"id": ("secret", "")}   then requests must be signed; the second is a session's token
        server.fail(Fault("status", 503, times=2))
        server.requests                        what was asked for: (method, path, query, headers)

As a program it serves until it is killed, and prints its address first:

    python3 tests/remote/server.py FOLDER [--latency 0.02] [--rate BYTES_PER_S]

It speaks as much HTTP/1.1 as leat needs and parses no more, so that it takes little of the cores that it is measured on."""
import argparse
import asyncio
import hashlib
import hmac
import re
import ssl
import sys
import threading
import urllib.parse
from dataclasses import dataclass
from email.utils import formatdate
from pathlib import Path
from xml.sax.saxutils import escape

STATUS = {200: "OK", 206: "Partial Content", 301: "Moved Permanently", 302: "Found", 307: "Temporary Redirect", 400: "Bad Request",
          401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 408: "Request Timeout", 416: "Range Not Satisfiable",
          429: "Too Many Requests", 500: "Internal Server Error", 503: "Service Unavailable"}


@dataclass
class Fault:
    """What goes wrong with requests whose path ends in `path`, the first `times` of them after `after` good ones.

    status   the answer has status `value`             cut      half of the body, then the end of the connection
    reset    the connection is reset                   hang     no answer at all
    drip     a byte every fifth of a second            short    Content-Length and body are a byte less than asked for
    long     a byte more than asked for                etag     another ETag
    size     another size in Content-Range             shifted  another part of the file
    whole    Range is ignored                          page     a web page with status 200
    redirect to the address `value`                    region   the bucket is in another region, `value`"""
    kind: str
    value: object = None
    times: int = 10**9
    after: int = 0
    path: str = ""


class Connection(asyncio.Protocol):
    def __init__(self, server: "Server"):
        self.server, self.rest = server, b""

    def connection_made(self, transport):
        self.transport = transport
        self.server.connections += 1

    def data_received(self, data):
        self.rest += data
        while (end := self.rest.find(b"\r\n\r\n")) >= 0:
            head, self.rest = self.rest[:end].decode("latin1"), self.rest[end + 4:]
            first, *lines = head.split("\r\n")
            method, target, _ = first.split(" ", 2)
            headers = {}
            for line in lines:
                name, _, value = line.partition(":")
                headers[name.strip().lower()] = value.strip()
            asyncio.get_running_loop().call_later(self.server.latency, self.answer, method, target, headers)

    def answer(self, method: str, target: str, headers: dict):
        if self.transport.is_closing():
            return
        server = self.server
        path, _, query = target.partition("?")
        server.requests.append((method, path, query, headers))
        fault = server.fault_of(urllib.parse.unquote(path))
        kind = fault.kind if fault else ""
        if kind == "hang":
            return
        if kind == "reset":
            self.transport.abort()
            return
        if kind == "redirect":
            self.send(fault.value[0], b"", {"Location": fault.value[1]})
        elif kind == "region":
            self.refuse(301, "PermanentRedirect", "The bucket you are attempting to access must be addressed using the specified endpoint.",
                        {"x-amz-bucket-region": fault.value})
        elif kind == "status":
            self.refuse(fault.value, "SlowDown", "Please reduce your request rate.")
        elif kind == "page":
            self.send(200, b"<html><head><title>Sign in</title></head></html>", {"Content-Type": "text/html; charset=utf-8"})
        elif (wrong := server.check_signature(method, target, headers)) is not None:
            self.refuse(403 if wrong[0] != "ExpiredToken" else 400, *wrong)
        elif server.s3 and "list-type=2" in query:
            self.list_bucket(path, query)
        else:
            self.send_file(path, headers.get("range"), kind)

    def send_file(self, path: str, wanted: str | None, kind: str):
        found = self.server.read(urllib.parse.unquote(path))
        if found is None:
            self.refuse(404, "NoSuchKey", "The specified key does not exist.")
            return
        content, etag, changed = found
        size, begin, end, status = len(content), 0, len(content), 200
        more = {"ETag": etag if kind != "etag" else '"other"', "Last-Modified": changed, "Accept-Ranges": "bytes"}
        part = re.fullmatch(r"bytes=(\d+)-(\d*)", wanted or "")
        if part and kind != "whole":
            begin, end = int(part[1]), min(int(part[2] or size) + 1, size)
            if begin >= size:
                self.send(416, b"", {"Content-Range": f"bytes */{size}"})
                return
            status = 206
            begin += kind == "shifted"
            more["Content-Range"] = f"bytes {begin}-{end - 1}/{size + (kind == 'size')}"
        body = content[begin:end - (kind == "short")] + (b"!" if kind == "long" else b"")
        self.send(status, body, more, cut=kind == "cut", drip=kind == "drip")

    def send(self, status: int, body: bytes, more: dict | None = None, cut: bool = False, drip: bool = False):
        head = f"HTTP/1.1 {status} {STATUS.get(status, 'Odd')}\r\nContent-Length: {len(body)}\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in (more or {}).items())
        self.transport.write(head.encode() + b"\r\n")
        if cut:
            self.transport.write(body[:len(body) // 2])
            self.transport.close()
        elif drip:
            self.drip(body)
        elif self.server.rate:
            asyncio.get_running_loop().call_later(len(body) / self.server.rate, self.transport.write, body)
        else:
            self.transport.write(body)

    def drip(self, body: bytes):
        if body and not self.transport.is_closing():
            self.transport.write(body[:1])
            asyncio.get_running_loop().call_later(0.2, self.drip, body[1:])

    def refuse(self, status: int, code: str, message: str, more: dict | None = None):
        if self.server.s3:
            body = f'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>{code}</Code><Message>{message}</Message></Error>'
            self.send(status, body.encode(), {"Content-Type": "application/xml", **(more or {})})
        else:
            self.send(status, f"{message}\n".encode(), {"Content-Type": "text/plain"})

    def list_bucket(self, path: str, query: str):
        wanted = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        bucket = self.server.folder / path.strip("/")
        if not bucket.is_dir():
            self.refuse(404, "NoSuchBucket", "The specified bucket does not exist")
            return
        keys = sorted((str(file.relative_to(bucket)) for file in bucket.rglob("*") if file.is_file()), key=str.encode)
        keys = [key for key in keys if key.startswith(wanted.get("prefix", ""))]
        begin = int(wanted.get("continuation-token", "0=").rstrip("="))
        page = keys[begin:begin + self.server.page]
        more = begin + len(page) < len(keys)
        body = '<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
        body += f"<Name>{bucket.name}</Name><IsTruncated>{str(more).lower()}</IsTruncated>"
        body += "".join(f"<Contents><Key>{escape(key)}</Key><Size>1</Size></Contents>" for key in page)
        body += f"<NextContinuationToken>{begin + len(page)}=</NextContinuationToken>" if more else ""
        self.send(200, (body + "</ListBucketResult>").encode(), {"Content-Type": "application/xml"})


class Server:
    def __init__(self, folder: Path, latency: float = 0, rate: float = 0, certificate: tuple | None = None, port: int = 0,
                 host: str = "127.0.0.1"):
        self.folder, self.latency, self.rate, self.host, self.port = Path(folder), latency, rate, host, port
        self.s3, self.page, self.keys, self.expired = False, 1000, {}, ()
        self.requests, self.faults, self.connections = [], [], 0
        self.held: dict = {}
        self.scheme, self.context = "http", None
        if certificate:
            self.scheme, self.context = "https", ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(*certificate)

    async def listen(self):
        loop = asyncio.get_running_loop()
        listening = await loop.create_server(lambda: Connection(self), self.host, self.port, ssl=self.context, backlog=512)
        self.port = listening.sockets[0].getsockname()[1]
        self.url = f"{self.scheme}://{self.host}:{self.port}"
        return listening

    def __enter__(self) -> "Server":
        ready = threading.Event()

        async def serve():
            self.loop, self.stop = asyncio.get_running_loop(), asyncio.Event()
            listening = await self.listen()
            ready.set()
            await self.stop.wait()
            listening.close()

        self.thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
        self.thread.start()
        ready.wait()
        return self

    def __exit__(self, *_):
        self.loop.call_soon_threadsafe(self.stop.set)
        self.thread.join(10)

    def fail(self, *faults: Fault):
        self.faults = list(faults)

    def fault_of(self, path: str) -> Fault | None:
        for fault in self.faults:
            if not path.endswith(fault.path):
                continue
            fault.after -= 1
            if fault.after < 0 and fault.times > 0:
                fault.times -= 1
                return fault
        return None

    def read(self, path: str) -> tuple | None:
        file = self.folder / path.lstrip("/")
        try:
            about = file.stat()
        except OSError:
            return None
        known = self.held.get(path)
        if known is None or known[0] != about.st_mtime_ns:
            if not file.is_file():
                return None
            content = file.read_bytes()
            etag = f'"{hashlib.md5(content).hexdigest()}"'
            known = self.held[path] = (about.st_mtime_ns, (content, etag, formatdate(about.st_mtime, usegmt=True)))
        return known[1]

    def check_signature(self, method: str, target: str, headers: dict) -> tuple | None:
        """Code and message of what is wrong with it; None if nothing is."""
        if not self.keys:
            return None
        sent = re.fullmatch(r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d+)/([^/]+)/s3/aws4_request,\s*SignedHeaders=([^,]+),\s*"
                            r"Signature=([0-9a-f]{64})", headers.get("authorization", ""))
        if not sent:
            return "AccessDenied", "Access Denied"
        identity, day, region, names, signature = sent.groups()
        if identity not in self.keys:
            return "InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records."
        if identity in self.expired:
            return "ExpiredToken", "The provided token has expired."
        secret, token = self.keys[identity]
        if headers.get("x-amz-security-token", "") != token:
            return "InvalidToken", "The provided token is malformed or otherwise invalid."
        path, _, query = target.partition("?")
        pairs = sorted(tuple(part.partition("=")[::2]) for part in query.split("&")) if query else []
        canonical = "\n".join([method, path, "&".join("=".join(pair) for pair in pairs),
                               *(f"{name}:{headers.get(name, '')}" for name in names.split(";")), "", names,
                               headers.get("x-amz-content-sha256", "")])
        scope = f"{day}/{region}/s3/aws4_request"
        text = "\n".join(["AWS4-HMAC-SHA256", headers.get("x-amz-date", ""), scope, hashlib.sha256(canonical.encode()).hexdigest()])
        key = b"AWS4" + secret.encode()
        for word in (day, region, "s3", "aws4_request"):
            key = hmac.new(key, word.encode(), hashlib.sha256).digest()
        if hmac.new(key, text.encode(), hashlib.sha256).hexdigest() != signature:
            return "SignatureDoesNotMatch", "The request signature we calculated does not match the signature you provided."
        return None


def main() -> int:
    parser = argparse.ArgumentParser(description="a web server for measuring")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--latency", type=float, default=0, help="seconds to the first byte")
    parser.add_argument("--rate", type=float, default=0, help="bytes a second of each connection; 0: no limit")
    options = parser.parse_args()
    server = Server(options.folder, options.latency, options.rate)

    async def serve():
        listening = await server.listen()
        print(server.url, flush=True)
        await listening.serve_forever()

    asyncio.run(serve())
    return 0


if __name__ == "__main__":
    sys.exit(main())
