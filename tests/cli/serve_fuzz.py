#!/usr/bin/env python3
"""1,000 malformed requests from a seed: HTTP, JSON, forms, WebSockets. The server answers with an error's status or closes, goes on, and does not grow.

    serve_fuzz.py PARLEY GOLDEN [--seed N] [--count N]
"""
import argparse
import json
import os
import random
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


def exchange(server, data, whole=False, seconds=TIMEOUT):
    """What the server says to these bytes: a status, or None when it closes without one. Bytes that are not `whole` end with the client's side; who
    waits for more than `seconds` then has said enough."""
    told = b""
    with socket.create_connection((server.host, server.port), TIMEOUT) as s:
        try:
            s.sendall(data)
            if not whole:
                s.shutdown(socket.SHUT_WR)
            s.settimeout(seconds)
            while part := s.recv(65536):
                told += part
        except (ConnectionResetError, BrokenPipeError):
            return None
        except TimeoutError:
            ensure(seconds < TIMEOUT, "no answer")
    if not told:
        return None
    ensure(told.startswith(b"HTTP/1."), f"no HTTP: {told[:60]!r}")
    return int(told.split(b" ", 2)[1])


def post(path, kind, body):
    return (f"POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n").encode() + body


def fuzz_http(server, rng, _):
    return exchange(server, damage(rng, GOOD_HTTP))


def fuzz_json(server, rng, _):
    fields = dict(JSON)
    name = rng.choice(list(fields))
    fields[name] = rng.choice([None, [], {}, -1, 1e308, "", "x" * 3000, True, {"id": None}, [[[[]]]], "\u0000", "default"])
    body = json.dumps(fields).encode()
    return exchange(server, post("/v1/audio/speech", "application/json", damage(rng, body) if rng.random() < 0.8 else body), whole=True)


def fuzz_form(server, rng, clip):
    kind, body = multipart([("file", ("a.wav", clip)), ("model", "asr"), ("language", "en"), ("response_format", "json")])
    if rng.random() < 0.3:
        kind = damage(rng, kind.encode()).decode("latin-1").replace("\r", "").replace("\n", "").replace("\0", "")
    head = (f"POST /v1/audio/transcriptions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: {kind}\r\n").encode("latin-1", "replace")
    body = damage(rng, body) if rng.random() < 0.8 else body
    return exchange(server, head + f"Content-Length: {len(body)}\r\n\r\n".encode() + body, whole=True)


def fuzz_socket(server, rng, _):
    hello = (b"GET /v1/realtime HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
             b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
    frames = b""
    for _ in range(rng.randint(1, 5)):
        payload = json.dumps(rng.choice(EVENTS)).encode()
        payload = damage(rng, payload) if rng.random() < 0.5 else payload
        size = bytes([128 | len(payload)]) if len(payload) < 126 else b"\xfe" + struct.pack(">H", len(payload) & 0xFFFF)
        frames += bytes([rng.choice([0x81, 0x81, 0x82, 0x01, 0x80])]) + size + b"\0\0\0\0" + payload
    close = b"\x88\x82\0\0\0\0\x03\xe8"
    return exchange(server, hello + (damage(rng, frames) if rng.random() < 0.7 else frames) + close, whole=True, seconds=0.2)


KINDS = [fuzz_http, fuzz_json, fuzz_form, fuzz_socket]


def run(server, clip, seed, count):
    rng = random.Random(seed)
    statuses = {}
    for i in range(count):
        kind = KINDS[i % len(KINDS)]
        status = kind(server, rng, clip)
        server.alive()
        statuses.setdefault(kind.__name__, {}).setdefault(status, 0)
        statuses[kind.__name__][status] += 1
        ensure(status is None or status < 500 or status in (501, 503, 505), f"request {i} ({kind.__name__}): status {status}")
        if i == count // 4:
            warm = server.memory()
    return statuses, warm, server.memory()


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("parley")
    arguments.add_argument("golden")
    arguments.add_argument("--seed", type=int, default=7)
    arguments.add_argument("--count", type=int, default=1000)
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
            ensure(any(400 <= (s or 0) < 500 for s in statuses["fuzz_json"]), "no request was wrong")
            ensure(memory < warm * 1.3 + 20000, "the server grows")
            want("health", 200, server.get("/health")[0])
            want("speech as before", True, before == server.speak("A", seed=1))
            for name in ("parley_kv_bytes", "parley_active", "parley_queued"):
                want(name, 0.0, server.metric(name, model="tts"))


try:
    main()
except Fail as fault:
    sys.exit(str(fault))
