#!/usr/bin/env python3
"""2,000 damaged requests from a seed, of which more than half are surely malformed: HTTP, JSON, forms, WebSockets. The server answers each with a status
that is right for it (what is surely broken never succeeds, a WebSocket is closed with the code of RFC 6455), goes on, and does not grow.

    serve_fuzz.py PARLEY GOLDEN [--seed N] [--count N]
"""
import argparse
import json
import os
import random
import re
import socket
import struct
import sys
import tempfile

from serving import Fail, Server, TIMEOUT, ensure, multipart, want

GOOD_HTTP = b"GET /v1/models HTTP/1.1\r\nHost: x\r\nAccept: */*\r\nConnection: close\r\n\r\n"
JSON = {"model": "tts", "input": "a", "voice": {"id": "default"}, "instructions": "x", "response_format": "wav", "speed": 1.0, "stream_format": "audio",
        "seed": 5, "language": "auto", "stream": True}
EVENTS = [{"type": "session.update", "session": {"voice": "default", "audio": {"input": {"format": {"rate": 16000}}}}},
          {"type": "conversation.item.create", "item": {"type": "message", "content": [{"type": "input_text", "text": "a"}]}},
          {"type": "response.create", "response": {"input": []}}, {"type": "response.cancel"}, {"type": "input_audio_buffer.append", "audio": "AAAA"},
          {"type": "input_audio_buffer.commit"}, {"type": "input_text_buffer.append", "text": "a"}, {"type": "input_text_buffer.commit"}]
MOST = 1 << 20  # bytes of a message
NASTY = [b"\0", b"\r\n", b"\xff\xfe", b"%00", b"../", b"A" * 5000, b"{", b"]", b'"', b"\\u0000", b"-1", b"99999999999999999999", b"1e999", b"\x80",
         b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n", b";boundary=", b"--"]


def damage(rng, data):
    """A few cuts, flips, insertions and repetitions."""
    data = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(5)
        if kind == 0:
            del data[at:]
        elif kind == 1 and data:
            data[at % len(data)] ^= 1 << rng.randrange(8)
        elif kind == 2:
            data[at:at] = rng.choice(NASTY)
        elif kind == 3:
            del data[at:at + rng.randint(1, 20)]
        else:
            data[at:at] = data[at:at + rng.randint(1, 40)]
    return bytes(data)


def exchange(server, data, whole=False):
    """What the server says to these bytes: its status, None when it closes without one, and what stands behind its headers. Bytes that are not `whole`
    end with the client's side."""
    told = b""
    with socket.create_connection((server.host, server.port), TIMEOUT) as s:
        try:
            s.sendall(data)
            if not whole:
                s.shutdown(socket.SHUT_WR)
            while part := s.recv(65536):
                told += part
        except (ConnectionResetError, BrokenPipeError):
            pass
        except TimeoutError:
            raise Fail("no answer") from None
    if not told:
        return None, b""
    ensure(told.startswith(b"HTTP/1."), f"no HTTP: {told[:60]!r}")
    head, _, rest = told.partition(b"\r\n\r\n")
    status = int(told.split(b" ", 2)[1])
    if status >= 400 and b"application/json" in head:
        error = json.JSONDecoder().raw_decode(rest.decode())[0]["error"]  # another request may lie behind this one
        ensure(error["message"] and error["code"] and error["type"], f"no error in the API's shape: {rest!r}")
    return status, rest


def post(path, kind, body):
    return (f"POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n").encode() + body


# Each kind gives the statuses that are right, the one that came, and what was damaged. What is surely broken must not succeed; of the rest only an error of the server's
# own is wrong.
REFUSED = {400, 403, 404, 405, 413, 414, 415, 417, 422, 426, 431, 501, 505}


def fuzz_http(server, rng, _):
    data = damage(rng, GOOD_HTTP)
    sound = re.match(rb"[\r\n]*GET +/\S* +HTTP/1\.\d[ \t]*\r?\n", data) and re.search(rb"\n\r?\n", data)
    return REFUSED | {None} | ({200} if sound else set()), exchange(server, data)[0], data


def is_json(body, twice=False):
    """Whether it is an object; one in which a name stands twice is none unless `twice`."""
    def members(pairs):
        if not twice and len({k for k, _ in pairs}) < len(pairs):
            raise ValueError
        return dict(pairs)

    def number(_):
        raise ValueError

    try:
        return isinstance(json.loads(body.decode(), object_pairs_hook=members, parse_constant=number), dict)
    except (ValueError, RecursionError):
        return False


def fuzz_json(server, rng, _):
    fields = dict(JSON)
    name = rng.choice(list(fields))
    fields[name] = rng.choice([None, [], {}, -1, 1e308, "", "x" * 3000, True, {"id": None}, [[[[]]]], "\u0000", "default"])
    body = json.dumps(fields).encode()
    body = damage(rng, body) if rng.random() < 0.8 else body
    right = {200, 400, 404, 413, 422} if is_json(body) else {400, 413}
    return right, exchange(server, post("/v1/audio/speech", "application/json", body), whole=True)[0], body


def fuzz_form(server, rng, clip):
    kind, body = multipart([("file", ("a.wav", clip)), ("model", "asr"), ("language", "en"), ("response_format", "json")])
    if rng.random() < 0.3:
        kind = damage(rng, kind.encode()).decode("latin-1").replace("\r", "").replace("\n", "").replace("\0", "")
    head = (f"POST /v1/audio/transcriptions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: {kind}\r\n").encode("latin-1", "replace")
    body = damage(rng, body) if rng.random() < 0.8 else body
    boundary = kind.partition("boundary=")[2].split(";")[0].strip('" \t').encode("latin-1")
    sound = boundary and kind.lower().startswith("multipart/form-data") and b"--" + boundary + b"--" in body and b'name="file"' in body
    status = exchange(server, head + f"Content-Length: {len(body)}\r\n\r\n".encode() + body, whole=True)[0]
    return {400, 404, 413, 414, 415, 422, 431} | ({200} if sound else set()), status, body


def unpack(data, at):
    """Head of a frame: its first two bytes, size, where the payload begins; None when it is not all there."""
    if len(data) - at < 2:
        return None
    length = data[at + 1] & 127
    extra = {126: 2, 127: 8}.get(length, 0)
    begin = at + 2 + extra + (4 if data[at + 1] & 128 else 0)
    size = int.from_bytes(data[at + 2:at + 2 + extra], "big") if extra else length
    return (data[at], data[at + 1], size, begin) if begin <= len(data) else None


def expect(data):
    """What RFC 6455 makes of a client's frames: the code that the server closes with, None when it need not, and how many messages are no JSON object."""
    at, kind, message, broken = 0, None, b"", 0
    while len(data) - at >= 6 and (head := unpack(data, at)):
        first, second, size, begin = head
        opcode, fin = first & 15, first & 128
        if first & 0x70 or not second & 128 or opcode not in (0, 1, 2, 8, 9, 10) or (opcode > 7 and (not fin or size > 125)):
            return 1002, broken
        if size > MOST or (opcode < 8 and size + len(message) > MOST):
            return 1009, broken
        if begin + size > len(data):
            return None, broken
        payload = bytes(b ^ data[begin - 4 + i % 4] for i, b in enumerate(data[begin:begin + size]))
        at = begin + size
        if opcode == 8:
            return 1000, broken
        if opcode > 7:
            continue
        if (opcode == 0) == (kind is None):
            return 1002, broken
        kind, message = kind or opcode, message + payload
        if fin:
            if kind == 1:
                try:
                    message.decode()
                except ValueError:
                    return 1007, broken
                broken += not is_json(message, twice=True)
            kind, message = None, b""
    return None, broken


def said(data):
    """The server's frames: events, and the code of its close."""
    events, at = [], 0
    while at < len(data):
        head = unpack(data, at)
        ensure(head, f"half a frame: {data[at:at + 40]!r}")
        first, second, size, begin = head
        ensure(first in (0x81, 0x88, 0x8A) and not second & 128 and begin + size <= len(data), f"a wrong frame: {data[at:at + 40]!r}")
        payload, at = data[begin:begin + size], begin + size
        if first == 0x81:
            events.append(json.loads(payload)["type"])
        if first == 0x88:
            return events, int.from_bytes(payload[:2], "big")
    return events, None


def fuzz_socket(server, rng, _):
    hello = (b"GET /v1/realtime HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
             b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
    if rng.random() < 0.2:
        hello = damage(rng, hello)
        return REFUSED | {None, 101, 200}, exchange(server, hello)[0], hello
    frames = b""
    for _ in range(rng.randint(1, 5)):
        payload = json.dumps(rng.choice(EVENTS)).encode()
        payload = damage(rng, payload) if rng.random() < 0.5 else payload
        size = bytes([128 | len(payload)]) if len(payload) < 126 else b"\xfe" + struct.pack(">H", len(payload) & 0xFFFF)
        frames += bytes([rng.choice([0x81, 0x81, 0x82, 0x01, 0x80])]) + size + b"\0\0\0\0" + payload
    frames = (damage(rng, frames) if rng.random() < 0.7 else frames) + rng.choice([b"\x88\x82\0\0\0\0\x03\xe8", b"\x88\x02\x03\xe8", b""])
    code, broken = expect(frames)
    status, rest = exchange(server, hello + frames)
    if status == 101:
        events, closed = said(rest)
        want(f"code of the close after {frames!r}", code, closed)
        ensure(events.count("error") >= broken, f"{broken} messages are no JSON, {events.count('error')} errors: {frames!r}")
    return {101}, status, frames


KINDS = [fuzz_http, fuzz_json, fuzz_form, fuzz_socket]


def run(server, clip, seed, count):
    rng = random.Random(seed)
    statuses = {}
    for i in range(count):
        kind = KINDS[i % len(KINDS)]
        try:
            right, status, data = kind(server, rng, clip)
        except Fail as fault:
            raise Fail(f"request {i} ({kind.__name__}): {fault}") from None
        server.alive()
        statuses.setdefault(kind.__name__, {}).setdefault(status, 0)
        statuses[kind.__name__][status] += 1
        ensure(status in right, f"request {i} ({kind.__name__}): status {status}, right are {right}: {data[:400]!r}")
        if i == count // 4:
            warm = server.memory()
    return statuses, warm, server.memory()


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("parley")
    arguments.add_argument("golden")
    arguments.add_argument("--seed", type=int, default=7)
    arguments.add_argument("--count", type=int, default=2000)
    given = arguments.parse_args()
    golden = os.path.abspath(given.golden)
    with open(os.path.join(golden, "asr_clip_chirp", "audio.wav"), "rb") as f:
        clip = f.read()
    models = ["-m", "tts=" + os.path.join(golden, "models", "tts_a_base"), "-m", "asr=" + os.path.join(golden, "models", "asr_a")]
    with tempfile.TemporaryDirectory() as here:
        with Server(os.path.abspath(given.parley), *models, voices=here) as server:
            before = server.speak("A", seed=1)
            statuses, warm, memory = run(server, clip, given.seed, given.count)
            for name, counts in statuses.items():
                print(name, counts)
            print(f"resident memory {warm} kB after a quarter, {memory} kB at the end")
            refused = sum(n for counts in statuses.values() for status, n in counts.items() if status not in (200, 101))
            ensure(refused >= given.count // 2, f"only {refused} requests were refused")
            for name, counts in statuses.items():
                ensure(any(400 <= (s or 0) < 500 for s in counts), name + ": no request was wrong")
            ensure(memory < warm * 1.3 + 20000, "the server grows")
            want("health", 200, server.get("/health")[0])
            want("speech as before", True, before == server.speak("A", seed=1))
            for name in ("parley_kv_bytes", "parley_active", "parley_queued"):
                want(name, 0.0, server.metric(name, model="tts"))


try:
    main()
except Fail as fault:
    sys.exit(str(fault))
