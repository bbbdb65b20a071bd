"""What the tests of `parley serve` share: a server of their own, requests, a small WebSocket client. Loopback only."""
import base64
import http.client
import json
import os
import re
import select
import signal
import socket
import ssl
import struct
import subprocess
import time

TIMEOUT = 60  # seconds that anything may take
# Self-signed, for 127.0.0.1, made with openssl req -x509 for these tests alone; valid until 2126.
CERTIFICATE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tls", "cert.pem")
KEY = os.path.join(os.path.dirname(CERTIFICATE), "key.pem")


class Fail(Exception):
    pass


def want(name, wanted, got):
    if wanted != got:
        raise Fail(f"{name}: {got!r}, wanted {wanted!r}")


def ensure(condition, text):
    if not condition:
        raise Fail(text)


class Server:
    """`parley serve` on a free port, ready when the constructor returns."""

    def __init__(self, parley, *options, voices, wait=True):
        env = {"PATH": os.environ.get("PATH", ""), "HOME": voices}
        self.process = subprocess.Popen([parley, "serve", "--port", "0", "--voices", voices, *options], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, env=env)
        line = self.process.stdout.readline().decode()
        found = re.fullmatch(r"listening on (https?)://(127\.0\.0\.1):(\d+)\n", line)
        if not found:
            raise Fail(f"the server said {line!r} and {self.process.stderr.read()!r}")
        self.host, self.port = found.group(2), int(found.group(3))
        self.tls = ssl.create_default_context(cafile=CERTIFICATE) if found.group(1) == "https" else None
        if wait:
            self.wait_ready()

    def wait_ready(self):
        end = time.monotonic() + TIMEOUT
        while time.monotonic() < end:
            status, _, body = self.get("/health")
            if status == 200:
                return
            want("health while loading", (503, "loading"), (status, json.loads(body)["status"]))
            time.sleep(0.05)
        raise Fail("not ready")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(TIMEOUT)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise Fail("the server does not end") from None
        self.process.stdout.close()
        errors = self.process.stderr.read().decode("utf-8", "backslashreplace")
        self.process.stderr.close()
        if self.process.returncode:
            raise Fail(f"the server ended with {self.process.returncode}: {errors[-2000:]}")

    def alive(self):
        if self.process.poll() is not None:
            raise Fail(f"the server has ended with {self.process.returncode}: {self.process.stderr.read()!r}")

    def connect(self):
        if self.tls:
            return http.client.HTTPSConnection(self.host, self.port, timeout=TIMEOUT, context=self.tls)
        return http.client.HTTPConnection(self.host, self.port, timeout=TIMEOUT)

    def request(self, method, path, body=None, headers=None):
        connection = self.connect()
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return response.status, dict(response.getheaders()), response.read()
        finally:
            connection.close()

    def get(self, path, headers=None):
        return self.request("GET", path, None, headers)

    def post_json(self, path, value, headers=None):
        return self.request("POST", path, json.dumps(value), {"Content-Type": "application/json", **(headers or {})})

    def speak(self, text, **fields):
        """The bytes of a speech."""
        status, headers, body = self.post_json("/v1/audio/speech", {"input": text, "response_format": "pcm", **fields})
        want("status of speech", 200, status if status == 200 else (status, body))
        return body

    def form(self, path, fields, headers=None):
        """`fields`: (name, value) or (name, (file name, bytes))."""
        kind, body = multipart(fields)
        return self.request("POST", path, body, {"Content-Type": kind, **(headers or {})})

    def metric(self, name, **labels):
        wanted = "".join(sorted(f'{k}="{v}"' for k, v in labels.items()))
        for line in self.get("/metrics")[2].decode().splitlines():
            found = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)", line)
            if found and found.group(1) == name and "".join(sorted((found.group(2) or "").split(","))) == wanted:
                return float(found.group(3))
        raise Fail(f"no metric {name} {labels}")

    def memory(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as f:
            return int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1))


def multipart(fields):
    boundary = "----parley7MA4YWxk"
    parts = b""
    for name, value in fields:
        if isinstance(value, tuple):
            parts += (f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"; filename="{value[0]}"\r\n'
                      "Content-Type: application/octet-stream\r\n\r\n").encode() + value[1] + b"\r\n"
        else:
            parts += f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
    return f"multipart/form-data; boundary={boundary}", parts + f"--{boundary}--\r\n".encode()


def error_of(told, status, code=None, param=None):
    """Checks an answer to be an error in the API's shape; its message."""
    ensure(told[0] == status, f"status {told[0]}, wanted {status}: {told[2][:300]!r}")
    want("content type of an error", "application/json", told[1].get("Content-Type"))
    error = json.loads(told[2])["error"]
    want("members of an error", ["code", "message", "param", "type"], sorted(error))
    if code:
        want("code", code, error["code"])
    if param:
        want("param", param, error["param"])
    return error["message"]


def events(body):
    """Server-sent events of a body."""
    return [json.loads(part[len("data: "):]) for part in body.decode().split("\n\n") if part]


class Socket:
    """A WebSocket, just enough of it."""

    def __init__(self, server, path="/v1/realtime", headers=()):
        self.socket = socket.create_connection((server.host, server.port), TIMEOUT)
        if server.tls:
            self.socket = server.tls.wrap_socket(self.socket, server_hostname=server.host)
        lines = [f"GET {path} HTTP/1.1", f"Host: {server.host}:{server.port}", "Upgrade: websocket", "Connection: Upgrade",
                 "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", *headers]
        self.socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        self.bytes = b""
        self.fragments = b""
        head = self.until(b"\r\n\r\n").decode()
        self.head = head
        self.status = int(head.split(" ")[1])
        if self.status == 101:
            ensure("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in head, "wrong Sec-WebSocket-Accept: " + head)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def more(self):
        data = self.socket.recv(65536)
        if not data:
            raise EOFError
        self.bytes += data

    def until(self, end):
        while end not in self.bytes:
            self.more()
        head, _, self.bytes = self.bytes.partition(end)
        return head

    def take(self, size):
        while len(self.bytes) < size:
            self.more()
        data, self.bytes = self.bytes[:size], self.bytes[size:]
        return data

    def frame(self):
        first, second = self.take(2)
        size = second & 127
        if size == 126:
            size = struct.unpack(">H", self.take(2))[0]
        elif size == 127:
            size = struct.unpack(">Q", self.take(8))[0]
        ensure(not second & 128, "a server's frame is masked")
        return first, self.take(size)

    def send_frame(self, first, payload, mask=b"\x12\x34\x56\x78"):
        size = len(payload)
        head = bytes([first, 128 | size]) if size < 126 else bytes([first, 254]) + struct.pack(">H", size) if size < 65536 else \
            bytes([first, 255]) + struct.pack(">Q", size)
        self.socket.sendall(head + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(payload)))

    def send(self, kind, **members):
        self.send_frame(0x81, json.dumps({"type": kind, **members}).encode())

    def event(self, kind=None):
        """The next event; with `kind` it must be one of that."""
        first, payload = self.frame()
        ensure(first == 0x81, f"a frame {first:#x} with {payload!r}")
        event = json.loads(payload)
        if kind and event["type"] != kind:
            raise Fail(f"event {event}, wanted {kind}")
        return event

    def events_until(self, kind):
        found = [self.event()]
        while found[-1]["type"] != kind:
            found.append(self.event())
        return found

    def error(self, code):
        want("code of the error", code, self.event("error")["error"]["code"])

    def close_code(self):
        while True:
            first, payload = self.frame()
            if first == 0x88:
                return struct.unpack(">H", payload[:2])[0]

    def silent(self, seconds):
        """Whether nothing comes for so long."""
        return not self.bytes and not select.select([self.socket], [], [], seconds)[0]

    def append(self, pcm):
        self.send("input_audio_buffer.append", audio=base64.b64encode(pcm).decode())
