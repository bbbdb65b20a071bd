#!/usr/bin/env python3
"""`parley serve`, end to end: every endpoint, every error, streams, batches, cancelling, limits, ending.

    serve.py PARLEY GOLDEN [--only REGEX]

GOLDEN holds models/tts_a_base, models/asr_a, models/align_a and the sounds asr_clip_*. Exit status 0 when all pass.
"""
import argparse
import base64
import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import wave

from serving import CERTIFICATE, KEY, Fail, Server, Socket, TIMEOUT, ensure, error_of, events, multipart, want

TEXT = "Good morning, this is a test of the server."
OTHER = "Something else is said here."
LONG = "One more sentence follows. " * 20


class World:
    """The servers that most cases share, and what they read."""

    def __init__(self, parley, golden, here):
        self.parley, self.golden, self.here = parley, golden, here
        with open(self.clip_path("chirp"), "rb") as f:
            self.clip = f.read()
        models = os.path.join(golden, "models")
        self.models = models
        self.small = Server(parley, "--alias", "alloy=wren", "--alias", "tts-1=parley-tts", voices=os.path.join(here, "small"))
        self.full = Server(parley, "-m", "tts=" + os.path.join(models, "tts_a_base"), "-m", "asr=" + os.path.join(models, "asr_a"), "--aligner",
                           os.path.join(models, "align_a"), voices=os.path.join(here, "full"))

    def clip_path(self, name):
        return os.path.join(self.golden, "asr_clip_" + name, "audio.wav")

    def close(self):
        for server in (self.small, self.full):
            with server:
                server.alive()


def pcm_of(wav):
    with wave.open(io.BytesIO(wav), "rb") as w:
        want("WAV", (1, 2, 24000), (w.getnchannels(), w.getsampwidth(), w.getframerate()))
        return w.readframes(w.getnframes())


# ------------------------------------------------------------------ status

def status_pages(w):
    want("health", {"status": "ready"}, {k: v for k, v in json.loads(w.full.get("/health")[2]).items() if k == "status"})
    models = json.loads(w.full.get("/v1/models")[2])
    want("models", [("tts", "tts"), ("asr", "asr"), ("aligner", "aligner")], [(m["id"], m["kind"]) for m in models["data"]])
    want("one model", "asr", json.loads(w.full.get("/v1/models/asr")[2])["id"])
    want("a model by its alias", "parley-tts", json.loads(w.small.get("/v1/models/tts-1")[2])["id"])
    error_of(w.full.get("/v1/models/none"), 404, "model_not_found")
    before = w.small.metric("parley_requests_done_total", model="parley-tts")
    w.small.speak("One", seed=1)
    want("done", before + 1, w.small.metric("parley_requests_done_total", model="parley-tts"))
    ensure(w.small.metric("parley_frames_total", model="parley-tts") > 0, "no frames are counted")
    ensure(w.small.metric("parley_http_requests_total", path="/v1/audio/speech", status="200") >= 1, "no answer is counted")


def health_checks_itself(w):
    """A model that cannot be opened is told by /health, and ends the program."""
    broken = os.path.join(w.here, "broken")
    os.makedirs(broken, exist_ok=True)
    with open(os.path.join(broken, "config.json"), "w", encoding="ascii") as f:
        f.write("{}")
    done = subprocess.run([w.parley, "serve", "--port", "0", "-m", broken], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIMEOUT)
    ensure(done.returncode not in (0, 1) and b"broken" in done.stderr, f"{done.returncode}: {done.stderr!r}")


def page(w):
    status, headers, body = w.small.get("/")
    want("page", (200, "text/html; charset=utf-8"), (status, headers["Content-Type"]))
    ensure("default-src 'none'" in headers["Content-Security-Policy"], "no policy")
    ensure(b"<html" in body, "no page")
    want("page again", 304, w.small.get("/", {"If-None-Match": headers["ETag"]})[0])
    for path in ("/nothing.js", "/../server.c", "/%2e%2e/server.c", "/index.html/"):
        error_of(w.small.get(path), 404, "not_found")
    want("HEAD", (200, b""), w.small.request("HEAD", "/")[::2])


def wrong_requests(w):
    error_of(w.small.request("POST", "/health", "x"), 405, "method_not_allowed")
    told = w.small.request("PUT", "/v1/audio/voices", "x")
    error_of(told, 405, "method_not_allowed")
    want("methods", "GET, POST", told[1]["Allow"])
    error_of(w.small.request("POST", "/v1/audio/speech", "{}", {"Content-Type": "application/jsonp"}), 415, "unsupported_media_type")
    told = w.small.get("/v1/realtime")
    error_of(told, 426, "upgrade_required")
    want("protocol", "websocket", told[1]["Upgrade"])
    error_of(w.small.request("POST", "/v1/audio/other", "x"), 404, "not_found")
    error_of(w.small.request("POST", "/v1/audio/speech", "{}", {"Content-Type": "text/plain"}), 415, "unsupported_media_type")
    error_of(w.small.request("POST", "/v1/audio/speech", "{}"), 415, "unsupported_media_type")
    error_of(w.small.post_json("/v1/audio/speech", {"input": "x"}, {"Origin": "http://elsewhere.example"}), 403, "wrong_origin")
    error_of(w.full.request("POST", "/v1/audio/transcriptions", "x", {"Content-Type": "application/json"}), 400)
    kind, body = multipart([("file", ("a.wav", w.clip))])
    want("a media type in capitals", 200, w.full.request("POST", "/v1/audio/transcriptions", body, {"Content-Type": "Multipart/Form-Data" + kind[19:]})[0])
    origin = {"Origin": f"http://127.0.0.1:{w.small.port}"}
    for host in ("elsewhere.example", "elsewhere.example:80", "127.0.0.1.elsewhere.example", "1.2.3", "local", "x" * 300 + ".local"):
        same = {"Host": host, "Origin": "http://" + host}
        told = w.small.post_json("/v1/audio/speech", {"input": "x", "response_format": "pcm"}, same)
        if "." in host:
            error_of(told, 403, "wrong_host")
        else:
            want(host, 200, told[0])
    for host in ("localhost:8080", "127.0.0.1", "[::1]:80", "parley", "box.local", "parley.localhost"):
        want(host, 200, w.small.get("/v1/models", {"Host": host})[0])
    want("own page", 200, w.small.post_json("/v1/audio/speech", {"input": "x", "seed": 1}, origin)[0])
    want("any key without one set", 200, w.small.get("/v1/models", {"Authorization": "Bearer anything"})[0])


# ------------------------------------------------------------------ speech

def speech_is_that_of_say(w):
    path = os.path.join(w.here, "say.wav")
    subprocess.run([w.parley, "say", "-q", "--seed", "7", "-o", path, TEXT], check=True, timeout=TIMEOUT)
    with open(path, "rb") as f:
        said = pcm_of(f.read())
    want("PCM in chunks", said, w.small.speak(TEXT, seed=7))
    want("PCM whole", said, w.small.speak(TEXT, seed=7, stream=False))
    want("WAV whole", said, pcm_of(w.small.speak(TEXT, seed=7, stream=False, response_format="wav")))
    streamed = w.small.speak(TEXT, seed=7, response_format="wav")
    want("one header", (0, -1), (streamed.find(b"RIFF"), streamed.find(b"RIFF", 1)))
    want("WAV in chunks", said, streamed[44:])
    found = events(w.small.speak(TEXT, seed=7, stream_format="sse"))
    want("events", {"speech.audio.delta", "speech.audio.done"}, {e["type"] for e in found})
    want("sound in events", said, b"".join(base64.b64decode(e["audio"]) for e in found[:-1]))
    want("seed and end", (7, "stop"), (found[-1]["seed"], found[-1]["finish_reason"]))


def first_sound_is_early(w):
    """The first PCM leaves before the third frame is made; the header tells how many there were."""
    connection = w.small.connect()
    connection.request("POST", "/v1/audio/speech", json.dumps({"input": TEXT, "response_format": "pcm", "seed": 3}), {"Content-Type": "application/json"})
    response = connection.getresponse()
    want("chunked", "chunked", response.getheader("Transfer-Encoding"))
    first = int(response.getheader("X-Parley-First-Frames"))
    ensure(1 <= first < 3, f"{first} frames were made before the first sound")
    ensure(len(response.read()) > 3 * 3840, "too short to tell")
    connection.close()


def formats(w):
    marks = {"mp3": (b"\xff\xf3", b"\xff\xf2"), "opus": (b"OggS",), "flac": (b"fLaC",), "wav": (b"RIFF",)}
    types = {"mp3": "audio/mpeg", "opus": "audio/ogg", "flac": "audio/flac", "wav": "audio/wav", "pcm": "audio/pcm"}
    for name, kind in types.items():
        status, headers, body = w.small.post_json("/v1/audio/speech", {"input": TEXT, "seed": 7, "response_format": name})
        want(name, (200, kind), (status, headers["Content-Type"]))
        ensure(name == "pcm" or body.startswith(marks[name]), f"{name} begins with {body[:8]!r}")
        want(name + " again", body, w.small.speak(TEXT, seed=7, response_format=name))
    default = w.small.post_json("/v1/audio/speech", {"input": TEXT, "seed": 7})
    want("default format", "audio/mpeg", default[1]["Content-Type"])
    # what was encoded is heard as a sound of the right length by the other endpoint
    seconds = len(w.small.speak(TEXT, seed=7)) / 48000
    for name in ("mp3", "opus", "flac", "wav"):
        told = w.full.form("/v1/audio/transcriptions", [("file", ("a." + name, w.small.speak(TEXT, seed=7, response_format=name))),
                                                        ("response_format", "verbose_json")])
        want("status for " + name, 200, told[0])
        ensure(abs(json.loads(told[2])["duration"] - seconds) < 0.15, f"{name}: {json.loads(told[2])['duration']} s, wanted {seconds}")


def flac_is_lossless(w):
    body = w.small.speak(TEXT, seed=7, response_format="flac")
    path = os.path.join(w.here, "a.flac")
    with open(path, "wb") as f:
        f.write(body)
    ensure(len(body) < len(w.small.speak(TEXT, seed=7)), "no smaller than PCM")


def speech_at_other_speeds(w):
    """As `parley say --speed`, in chunks, whole and in events; every format has the length."""
    plain = len(w.small.speak(TEXT, seed=7))
    for speed in (0.25, 0.8, 1.5, 4):
        path = os.path.join(w.here, "speed.wav")
        subprocess.run([w.parley, "say", "-q", "--seed", "7", "--speed", str(speed), "-o", path, TEXT], check=True, timeout=TIMEOUT)
        with open(path, "rb") as f:
            said = pcm_of(f.read())
        want("length", int(plain / 2 / speed + 0.5), len(said) // 2)
        want("PCM in chunks", said, w.small.speak(TEXT, seed=7, speed=speed))
        want("PCM whole", said, w.small.speak(TEXT, seed=7, speed=speed, stream=False))
        want("WAV in chunks", said, w.small.speak(TEXT, seed=7, speed=speed, response_format="wav")[44:])
        found = events(w.small.speak(TEXT, seed=7, speed=speed, stream_format="sse"))
        want("sound in events", said, b"".join(base64.b64decode(e["audio"]) for e in found[:-1]))
    for name in ("mp3", "opus", "flac"):
        sound = w.small.speak(TEXT, seed=7, speed=0.5, response_format=name)
        told = w.full.form("/v1/audio/transcriptions", [("file", ("a." + name, sound)), ("response_format", "verbose_json")])
        ensure(abs(json.loads(told[2])["duration"] - plain / 24000) < 0.15, f"{name}: {json.loads(told[2])['duration']} s, wanted {plain / 24000}")


def speech_errors(w):
    def bad(status, code, param, **fields):
        error = w.small.post_json("/v1/audio/speech", {k: v for k, v in {"input": TEXT, **fields}.items() if v != "absent"})
        return error_of(error, status, code, param)

    message = bad(400, "unknown_voice", "voice", voice="nobody")
    ensure("wren" in message and "default" in message and "alloy" in message, "the voices are not listed: " + message)
    bad(400, "unknown_voice", "voice", voice="../../etc/passwd")
    bad(400, "unknown_voice", "voice", voice="/tmp/x.voice")
    bad(400, "unknown_voice", "voice", voice="http://127.0.0.1/voice")
    bad(400, "invalid_voice", "voice", voice=5)
    bad(400, "invalid_voice", "voice", voice={"id": "wren", "path": "/x"})
    bad(404, "model_not_found", "model", model="tts-9")
    bad(400, "missing_field", "input", input="absent")
    bad(400, None, "input", input=5)
    bad(400, "argument", None, input="")
    bad(400, "unsupported_format", "response_format", response_format="aac")
    bad(400, "unsupported_format", "stream_format", stream_format="tape")
    for speed in (0, -1, 0.24, 4.1, 1e300):
        ensure("0.25 to 4" in bad(400, "invalid_speed", "speed", speed=speed), "the range is not told")
    bad(400, None, "speed", speed="fast")
    bad(400, None, "seed", seed=-1)
    bad(400, None, "seed", seed=1.5)
    bad(400, "argument", None, language="klingon")
    bad(400, "argument", None, unknown_field=1)
    bad(400, "contradiction", "stream", stream_format="sse", stream=False)
    bad(413, "text_too_long", "input", input="a" * 70000)
    for body in ("", "{", "[]", "null", '{"input": "\\u0000"}', '{"input": "a", "input": "b"}', "[" * 100000, '{"a":' * 50 + "1" + "}" * 50, "\xff\xfe",
                 '{"input": "a"} x', json.dumps({"input": "a", "voice": list(range(5000))}), '{"input": "a\0"}', '{"input": "a\n"}', '{"input": "a\1"}', '{"input": "a", "seed": 01}', '{"input": "a", "speed": 1.}',
                 '{"input": "a", "speed": +1}', '{"input": "a\\uzzzz"}', '{"input": "a\\x"}', '{\v"input": "a"}', '{"input": "\xc3("}', '{"input": "\\ud800"}'):
        error_of(w.small.request("POST", "/v1/audio/speech", body.encode("latin-1"), {"Content-Type": "application/json"}), 400)
    want("speed 1 is no change", w.small.speak(TEXT, seed=7), w.small.speak(TEXT, seed=7, speed=1.0))
    want("alias", w.small.speak(TEXT, seed=7), w.small.speak(TEXT, seed=7, voice="alloy", model="tts-1"))
    want("voice as an object", w.small.speak(TEXT, seed=7), w.small.speak(TEXT, seed=7, voice={"id": "WREN"}))
    want("default voice", w.small.speak(TEXT, seed=7), w.small.speak(TEXT, seed=7, voice="default"))
    ensure(w.small.speak(TEXT) != w.small.speak(TEXT), "without a seed every speech is the same")


def again_and_again(w):
    """A, B, A: both As are equal. Short after long is short alone."""
    first = w.small.speak(TEXT, seed=11)
    other = w.small.speak(OTHER, seed=11)
    ensure(first != other, "two texts, one speech")
    want("A after B", first, w.small.speak(TEXT, seed=11))
    short = w.small.speak("Yes.", seed=5)
    w.small.speak(LONG, seed=5)
    want("short after long", short, w.small.speak("Yes.", seed=5))


def eight_voices_at_once(w):
    """Eight stored voices at once, each equal to its solo run."""
    names = [f"eight{i}" for i in range(8)]
    for i, name in enumerate(names):
        samples = pcm_shift(w.clip, i)
        want("status of upload", 200, w.full.form("/v1/audio/voices", [("name", name), ("file", ("a.wav", samples))])[0])
    solo = [w.full.speak(TEXT, voice=name, seed=20 + i) for i, name in enumerate(names)]
    ensure(len(set(solo)) == 8, "voices sound alike")
    got = [None] * 8

    def run(i):
        got[i] = w.full.speak(TEXT, voice=names[i], seed=20 + i)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    want("voices that differ", [], [names[i] for i in range(8) if got[i] != solo[i]])
    rows, turns = (w.full.metric(f"parley_{n}_total", model="tts") for n in ("turn_rows", "turns"))
    ensure(rows > turns, "nothing was ever batched")
    for name in names:
        want("status of deletion", 200, w.full.request("DELETE", "/v1/audio/voices/" + name)[0])


def silence(samples):
    out = io.BytesIO()
    with wave.open(out, "wb") as f:
        f.setparams((1, 2, 16000, 0, "NONE", ""))
        f.writeframes(bytes(2 * samples))
    return out.getvalue()


def pcm_shift(wav, step):
    """The recording from a little later on, louder or softer: another voice."""
    with wave.open(io.BytesIO(wav), "rb") as f:
        samples = f.readframes(f.getnframes())
    out = io.BytesIO()
    with wave.open(out, "wb") as f:
        f.setparams((1, 2, 16000 + 900 * step, 0, "NONE", ""))
        f.writeframes(samples)
    return out.getvalue()


def client_leaves(w):
    """A speech that nobody takes any more ends within a frame of the news, whether it streams or is made whole."""
    for stream in (True, False):
        before = w.small.metric("parley_requests_cancelled_total", model="parley-tts")
        body = json.dumps({"input": LONG * 10, "response_format": "pcm", "seed": 1, "stream": stream}).encode()
        s = socket.create_connection((w.small.host, w.small.port), TIMEOUT)
        s.sendall(b"POST /v1/audio/speech HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        if stream:
            s.recv(4096)
        else:
            wait_for(lambda: w.small.metric("parley_active", model="parley-tts") == 1, "the request to run")
        s.close()
        frames = w.small.metric("parley_frames_total", model="parley-tts")
        wait_for(lambda: w.small.metric("parley_requests_cancelled_total", model="parley-tts") == before + 1, "the cancellation")
        after = w.small.metric("parley_frames_total", model="parley-tts")
        ensure(after - frames <= 3, f"{after - frames} frames were made after the client had left")
        want("caches", 0.0, w.small.metric("parley_kv_bytes", model="parley-tts"))


def wait_for(condition, what):
    end = time.monotonic() + TIMEOUT
    while not condition():
        if time.monotonic() > end:
            raise Fail("waited in vain for " + what)
        time.sleep(0.005)


def slow_client(w):
    """Who takes nothing holds its own speech up, not the server's memory, and is cut off in the end."""
    with Server(w.parley, "--stall", "2", "--max-text", "1000000", voices=os.path.join(w.here, "slow")) as server:
        body = json.dumps({"input": LONG * 40, "response_format": "pcm", "seed": 1}).encode()
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.settimeout(TIMEOUT)
        s.connect((server.host, server.port))
        s.sendall(b"POST /v1/audio/speech HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        wait_for(lambda: server.metric("parley_requests_cancelled_total", model="parley-tts") == 1, "the slow client's end")
        s.close()
        want("others", 200, server.post_json("/v1/audio/speech", {"input": "Yes.", "seed": 1})[0])


def slow_senders(w):
    with Server(w.parley, "--stall", "1", voices=os.path.join(w.here, "loris")) as server:
        heads = [b"", b"GET /hea", b"POST /v1/audio/speech HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"]
        sockets = [socket.create_connection((server.host, server.port), TIMEOUT) for _ in heads]
        for s, head in zip(sockets, heads):
            s.sendall(head)
        for s in sockets:
            while s.recv(4096):
                pass
            s.close()
        # A large body may take longer, at 64 KiB a second.
        part = b"\0" * (32 << 10)
        with socket.create_connection((server.host, server.port), TIMEOUT) as s:
            s.sendall(f"POST /v1/audio/voices HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=xx\r\nContent-Length: {8 * len(part)}"
                      "\r\n\r\n".encode())
            for _ in range(8):
                s.sendall(part)
                time.sleep(0.25)
            ensure(s.recv(4096).startswith(b"HTTP/1.1 400 "), "a body that goes on is cut off")
        with Socket(server) as s:  # a session may be idle, a half message may not
            s.event("session.created")
            ensure(s.silent(2.5), "an idle session is ended")
            s.send("response.create")
            s.error("empty_text")
            s.socket.sendall(b"\x81\xfe\x01")
            try:
                s.close_code()
                raise Fail("half a message is waited for without end")
            except EOFError:
                pass
        wait_for(lambda: server.metric("parley_connections") <= 1, "the connections to go")


# ------------------------------------------------------------------ transcriptions

def hear(w, *fields, file=None):
    return w.full.form("/v1/audio/transcriptions", [("file", ("a.wav", file if file is not None else w.clip)), *fields])


def transcriptions(w):
    heard = subprocess.run([w.parley, "hear", "-q", "-m", os.path.join(w.models, "asr_a"), w.clip_path("chirp")], check=True, stdout=subprocess.PIPE,
                           timeout=TIMEOUT).stdout.decode()
    ensure(heard.strip(), "nothing is heard")
    want("json", heard.strip(), json.loads(hear(w)[2])["text"])
    want("text", heard, hear(w, ("response_format", "text"))[2].decode())
    verbose = json.loads(hear(w, ("response_format", "verbose_json"), ("temperature", "0"), ("model", "asr"))[2])
    want("verbose", (heard.strip(), "english", False), (verbose["text"], verbose["language"], "words" in verbose))
    want("segments", heard.strip(), " ".join(s["text"] for s in verbose["segments"]))
    srt, vtt = hear(w, ("response_format", "srt")), hear(w, ("response_format", "vtt"))
    ensure(re.match(rb"1\n00:00:0\d,\d{3} --> ", srt[2]), f"no SRT: {srt[2]!r}")
    ensure(re.match(rb"WEBVTT\n\n00:00:0\d\.\d{3} --> ", vtt[2]), f"no VTT: {vtt[2]!r}")
    words = json.loads(hear(w, ("response_format", "verbose_json"), ("timestamp_granularities[]", "word"))[2])
    want("words", (heard.split(), False), ([x["word"] for x in words["words"]], "segments" in words))
    both = json.loads(hear(w, ("response_format", "verbose_json"), ("timestamp_granularities[]", "word"), ("timestamp_granularities[]", "segment"))[2])
    want("both", (words["words"], verbose["segments"]), (both["words"], both["segments"]))


def transcription_events(w):
    told = hear(w, ("stream", "true"))
    want("type", "text/event-stream", told[1]["Content-Type"])
    found = events(told[2])
    want("last", "transcript.text.done", found[-1]["type"])
    want("deltas", found[-1]["text"], "".join(e["delta"] for e in found[:-1]))
    want("text", json.loads(hear(w)[2])["text"], found[-1]["text"])


def prompt_reaches_the_model(w):
    """The golden case with a context: its text is that of `hear --context`."""
    path = w.clip_path("bursts")
    with open(path, "rb") as f:
        sound = f.read()
    context = "the quick brown fox"
    heard = subprocess.run([w.parley, "hear", "-q", "-m", os.path.join(w.models, "asr_a"), "--context", context, "--language", "French", path],
                           check=True, stdout=subprocess.PIPE, timeout=TIMEOUT).stdout.decode()
    told = json.loads(hear(w, ("prompt", context), ("language", "French"), ("response_format", "verbose_json"), file=sound)[2])
    want("text and language", (heard.strip(), "french"), (told["text"].strip(), told["language"]))


def transcription_errors(w):
    error_of(hear(w, ("temperature", "0.3")), 400, "unsupported_temperature", "temperature")
    error_of(hear(w, ("temperature", "hot")), 400, "invalid_value", "temperature")
    error_of(hear(w, ("language", "klingon")), 400, "argument")
    error_of(hear(w, ("response_format", "xml")), 400, "unsupported_format", "response_format")
    error_of(hear(w, ("stream", "yes")), 400, "invalid_value", "stream")
    error_of(hear(w, ("stream", "true"), ("response_format", "srt")), 400, "contradiction", "stream")
    error_of(hear(w, ("timestamp_granularities[]", "word")), 400, "contradiction")
    error_of(hear(w, ("response_format", "verbose_json"), ("timestamp_granularities[]", "line")), 400, "invalid_value")
    error_of(hear(w, ("model", "whisper-9")), 404, "model_not_found", "model")
    for field in (("url", "http://127.0.0.1/a.wav"), ("include[]", "logprobs")):
        ensure("unknown field" in error_of(hear(w, field), 400, "argument"), "another fault")
    ensure("given twice" in error_of(hear(w, ("model", "asr"), ("model", "tts")), 400, "argument"), "the second model is dropped")
    error_of(hear(w, file=b""), 400, param="file")
    error_of(hear(w, file=b"This is no sound."), 400, param="file")
    error_of(hear(w, file=w.clip[:44]), 400, param="file")
    error_of(hear(w, file=silence(0)), 400, "empty_audio", "file")
    error_of(w.full.form("/v1/audio/transcriptions", [("model", "asr")]), 400, "missing_field", "file")
    error_of(w.full.form("/v1/audio/transcriptions", [("file", "a text")]), 400, "missing_field", "file")
    error_of(w.small.form("/v1/audio/transcriptions", [("file", ("a.wav", w.clip))]), 404, "model_not_found", "model")
    error_of(w.full.form("/v1/audio/transcriptions", [(f"field{i}", "x") for i in range(40)]), 413, "limit")
    error_of(hear(w, ("prompt", "x" * 70000)), 413, "limit")


# ------------------------------------------------------------------ voices

def voices(w):
    def names():
        return [v["id"] for v in json.loads(w.full.get("/v1/audio/voices")[2])["data"]]

    def add(*fields, file=w.clip):
        return w.full.form("/v1/audio/voices", [("file", ("a.wav", file)), *fields])

    want("none at first", [], names())
    want("vector", 200, add(("name", "plain"))[0])
    want("in context", 200, add(("name", "ctx"), ("text", "hello world"))[0])
    want("names", ["ctx", "plain"], names())
    folder = os.path.join(w.here, "full")
    want("files", ["ctx.voice", "plain.voice"], sorted(f for f in os.listdir(folder) if not f.startswith(".")))
    for name, more in (("plain", []), ("ctx", ["--text", "hello world"])):
        path = os.path.join(w.here, name + ".voice")
        subprocess.run([w.parley, "voice", "make", "-q", "-m", os.path.join(w.models, "tts_a_base"), *more, "-o", path, w.clip_path("chirp")], check=True,
                       timeout=TIMEOUT, stderr=subprocess.PIPE)
        said = os.path.join(w.here, "said.wav")
        subprocess.run([w.parley, "say", "-q", "-m", os.path.join(w.models, "tts_a_base"), "--voice", path, "--seed", "4", "-o", said, OTHER], check=True,
                       timeout=TIMEOUT)
        with open(said, "rb") as f:
            spoken = pcm_of(f.read())
        served = w.full.speak(OTHER, voice=name, seed=4)
        want(f"length with the voice {name}", True, abs(len(spoken) - len(served)) <= 2)
        want(f"speech with the voice {name}", True, served in (spoken, spoken[2:]) or spoken == served)
    error_of(add(("name", "plain")), 409, "voice_exists", "name")
    for name in ("", "a/b", "..", "a b", "ä", "x" * 101, "a.voice"):
        error_of(add(("name", name)), 400, "argument", "name")
    error_of(add(("name", "default")), 409, "voice_exists")
    error_of(add(), 400, "missing_field", "name")
    error_of(add(("name", "t"), ("text", "  ")), 400, "empty_text", "text")
    error_of(add(("name", "t"), ("consent", "x")), 400, "argument")
    error_of(add(("name", "t"), file=b"no sound"), 400, param="file")
    error_of(w.small.form("/v1/audio/voices", [("name", "t"), ("file", ("a.wav", w.clip))]), 400, "no_cloning", "model")
    with Server(w.parley, "-m", os.path.join(w.models, "tts_a_base"), voices=folder) as second:
        want("kept", w.full.speak(TEXT, voice="plain", seed=2), second.speak(TEXT, voice="plain", seed=2))
    for name in ("plain", "ctx"):
        want("deleted", 200, w.full.request("DELETE", "/v1/audio/voices/" + name)[0])
    error_of(w.full.request("DELETE", "/v1/audio/voices/plain"), 404, "voice_not_found")
    error_of(w.full.request("DELETE", "/v1/audio/voices/..%2fplain"), 400)
    error_of(w.full.request("DELETE", "/v1/audio/voices/"), 400)
    want("none at last", [], names())
    error_of(w.full.post_json("/v1/audio/speech", {"input": "x", "voice": "plain"}), 400, "unknown_voice", "voice")


def odd_directory_of_voices(w):
    """What others have put there: the client is told what it may ask for, and no path; nothing waits for ever."""
    folder = os.path.join(w.here, "odd")
    with Server(w.parley, "-m", "tts=" + os.path.join(w.models, "tts_a_base"), "--alias", "alloy=default", "--alias", "tts-1=tts", voices=folder) as server:
        def speak(voice):
            return server.post_json("/v1/audio/speech", {"input": "x", "voice": voice, "response_format": "pcm"})

        os.makedirs(os.path.join(folder, "folder.voice"))
        os.mkfifo(os.path.join(folder, "pipe.voice"))
        with open(os.path.join(folder, "broken.voice"), "wb") as f:
            f.write(b"no voice")
        for name in ("folder", "pipe"):
            error_of(speak(name), 400, "unknown_voice", "voice")
        error_of(server.request("DELETE", "/v1/audio/voices/folder"), 404, "voice_not_found")
        ensure(folder not in error_of(speak("broken"), 500, "broken_voice", "voice"), "a path is told")
        error_of(server.form("/v1/audio/voices", [("name", "alloy"), ("file", ("a.wav", w.clip))]), 409, "voice_exists", "name")
        names = [f"a-voice-with-a-long-name-{i}" for i in range(40)]
        for name in names:
            with open(os.path.join(folder, name + ".voice"), "wb") as f:
                f.write(b"no voice")
        message = error_of(speak("nobody"), 400, "unknown_voice", "voice")
        want("voices that are not listed", [], [n for n in ["default", "alloy", *names] if n not in message])
        ensure("tts-1" not in message, "the name of a model is among the voices")


# ------------------------------------------------------------------ realtime

def realtime_speaks(w):
    with Socket(w.small) as s:
        want("first", "session.created", s.event()["type"])
        s.send("session.update", session={"type": "realtime", "seed": 7, "voice": "wren"})
        s.event("session.updated")
        s.send("conversation.item.create", item={"type": "message", "role": "user", "content": [{"type": "input_text", "text": TEXT}]})
        s.event("conversation.item.added")
        s.send("response.create")
        s.event("response.created")
        found = s.events_until("response.done")
        want("status", "completed", found[-1]["response"]["status"])
        want("sound", w.small.speak(TEXT, seed=7), b"".join(base64.b64decode(e["delta"]) for e in found if e["type"] == "response.output_audio.delta"))
        s.send("response.create", response={"input": [{"type": "message", "content": [{"type": "input_text", "text": OTHER}]}]})
        found = s.events_until("response.done")
        want("second sound", w.small.speak(OTHER, seed=7),
             b"".join(base64.b64decode(e["delta"]) for e in found if e["type"] == "response.output_audio.delta"))


def realtime_item_is_whole_or_nothing(w):
    with Socket(w.small) as s:
        s.event("session.created")
        good, bad = {"type": "input_text", "text": "Not to be said."}, {"type": "input_audio", "audio": "AAAA"}
        s.send("conversation.item.create", item={"type": "message", "content": [good, bad]})
        s.error("invalid_value")
        s.send("response.create", response={"input": [{"type": "message", "content": [good]}, {"type": "message", "content": [bad]}]})
        s.error("invalid_value")
        s.send("response.create", response={"input": [{"type": "message", "content": [good]}], "voice": "wren"})
        s.error("unknown_parameter")
        s.send("response.create")
        s.error("empty_text")


def realtime_speed(w):
    """Of the next response, in both forms; live text too."""
    with Socket(w.small) as s:
        want("at first", 1, s.event("session.created")["session"]["audio"]["output"]["speed"])
        for speed, session in ((1.5, {"speed": 1.5, "seed": 7}), (0.5, {"audio": {"output": {"speed": 0.5}}})):
            s.send("session.update", session=session)
            want("told", speed, s.event("session.updated")["session"]["audio"]["output"]["speed"])
            s.send("input_text_buffer.append", text=TEXT)
            s.send("input_text_buffer.commit")
            found = s.events_until("response.done")
            want("sound", w.small.speak(TEXT, seed=7, speed=speed),
                 b"".join(base64.b64decode(e["delta"]) for e in found if e["type"] == "response.output_audio.delta"))
        for wrong in (0.2, 5, "1"):
            s.send("session.update", session={"speed": wrong})
            ensure("0.25 to 4" in s.event("error")["error"]["message"], "the range is not told")


def realtime_live_text(w):
    with Socket(w.small) as s:
        s.event("session.created")
        s.send("session.update", session={"seed": 7})
        s.event("session.updated")
        for word in re.findall(r"\S+\s*", TEXT):
            s.send("input_text_buffer.append", text=word)
        s.send("input_text_buffer.commit")
        found = s.events_until("response.done")
        want("status", "completed", found[-1]["response"]["status"])
        want("sound", w.small.speak(TEXT, seed=7), b"".join(base64.b64decode(e["delta"]) for e in found if e["type"] == "response.output_audio.delta"))
        s.send("input_text_buffer.commit")
        s.error("input_text_buffer_commit_empty")


def realtime_cancel(w):
    with Socket(w.small) as s:
        s.event("session.created")
        s.send("response.cancel", event_id="mine")
        error = s.event("error")["error"]
        want("error", ("response_cancel_not_active", "mine"), (error["code"], error["event_id"]))
        item = {"type": "message", "content": [{"type": "input_text", "text": LONG}]}
        s.send("response.create", response={"input": [item]})
        s.event("response.created")
        s.event("response.output_audio.delta")
        s.send("response.create", response={"input": [item]})
        s.send("response.cancel")
        found = s.events_until("response.done")
        want("status", "cancelled", found[-1]["response"]["status"])
        ensure(any(e["type"] == "error" and e["error"]["code"] == "conversation_already_has_active_response" for e in found), "two at once")
        ensure(s.silent(0.3), "something comes after the end of a cancelled response")
        s.send("response.create", response={"input": [{"type": "message", "content": [{"type": "input_text", "text": "Yes."}]}]})
        want("after it", "completed", s.events_until("response.done")[-1]["response"]["status"])


def realtime_hears(w):
    with wave.open(w.clip_path("bursts"), "rb") as f:
        pcm = f.readframes(f.getnframes())
    lines = subprocess.run([w.parley, "hear", "-q", "--stream", "-m", os.path.join(w.models, "asr_a"), w.clip_path("bursts")], check=True,
                           stdout=subprocess.PIPE, timeout=TIMEOUT).stdout.decode().splitlines()
    heard = json.loads(lines[-1])["text"]
    ensure(heard, "nothing is heard")
    with Socket(w.full, "/v1/realtime?model=asr") as s:
        s.event("session.created")
        s.send("input_audio_buffer.commit")
        s.error("input_audio_buffer_commit_empty")
        s.send("session.update", session={"audio": {"input": {"format": {"type": "audio/pcm", "rate": 16000}, "transcription": {"prompt": ""}}}})
        s.event("session.updated")
        s.append(b"\0\0\0")
        s.error("invalid_audio")
        s.send("input_audio_buffer.append", audio="@@@")
        s.error("invalid_audio")
        for rounds in range(2):
            for at in range(0, len(pcm), 6002):
                if rounds:
                    s.send_frame(0x82, pcm[at:at + 6002])
                else:
                    s.append(pcm[at:at + 6002])
            s.send("input_audio_buffer.commit")
            found = s.events_until("conversation.item.input_audio_transcription.completed")
            want("transcript", heard, found[-1]["transcript"])
            deltas = [e["delta"] for e in found if e["type"] == "conversation.item.input_audio_transcription.delta"]
            want("deltas", heard, "".join(deltas))
        s.append(pcm)
        s.send("input_audio_buffer.clear")
        s.event("input_audio_buffer.cleared")
        s.send("input_audio_buffer.commit")
        s.error("input_audio_buffer_commit_empty")
        s.send("session.update", session={"audio": {"input": {"format": {"type": "audio/pcm", "rate": 24000}}}})
        s.event("session.updated")
        s.append(pcm_shift_rate(pcm))
        s.send("input_audio_buffer.commit")
        s.events_until("conversation.item.input_audio_transcription.completed")


def pcm_shift_rate(pcm):
    """16 kHz to 24 kHz, each second sample twice."""
    return b"".join(pcm[i:i + 2] + pcm[i + 2:i + 4] * 2 for i in range(0, len(pcm) - 3, 4))


def realtime_protocol(w):
    error_of(w.small.get("/v1/realtime"), 426, "upgrade_required")
    error_of(w.small.get("/v1/realtime", {"Upgrade": "websocket", "Connection": "Upgrade"}), 400, "invalid_handshake")
    want("unknown model", 404, Socket(w.small, "/v1/realtime?model=none").status)
    want("wrong origin", 403, Socket(w.small, headers=["Origin: http://elsewhere.example"]).status)
    ensure("Sec-WebSocket-Protocol: realtime" in Socket(w.small, headers=["Sec-WebSocket-Protocol: realtime"]).head, "no subprotocol")
    with Socket(w.small) as s:
        s.event("session.created")
        s.send_frame(0x89, b"ping")
        want("pong", (0x8A, b"ping"), s.frame())
        s.send_frame(0x01, b'{"type": ')
        s.send_frame(0x89, b"")
        s.send_frame(0x80, b'"session.update", "session": {}}')
        want("pong between fragments", (0x8A, b""), s.frame())
        s.event("session.updated")
        s.send("nothing.known")
        s.error("unknown_event")
        s.send_frame(0x81, b"{")
        s.error("invalid_json")
        s.send("session.update", session={"turn_detection": {"type": "server_vad"}})
        s.error("invalid_value")
        s.send("session.update", session={"tools": []})
        s.error("invalid_value")
        s.send("response.create")
        s.error("empty_text")
        s.send("conversation.item.create", item={"type": "function_call"})
        s.error("invalid_value")
        s.send_frame(0x88, b"\x03\xe8")
        want("close", 1000, s.close_code())
    bad = {"no mask": (b"\x81\x02{}", 1002), "reserved": (b"\xc1\x80\0\0\0\0", 1002), "opcode": (b"\x83\x80\0\0\0\0", 1002),
           "long ping": (b"\x89\xfe\0\x7e\0\0\0\0", 1002), "fragment of nothing": (b"\x80\x80\0\0\0\0", 1002),
           "huge": (b"\x81\xff" + b"\x7f" + b"\xff" * 7 + b"\0\0\0\0", 1009), "no UTF-8": (b"\x81\x81\0\0\0\0\xff", 1007)}
    for name, (data, code) in bad.items():
        with Socket(w.small) as s:
            s.event("session.created")
            s.socket.sendall(data + b"\0" * 4)
            want(name, code, s.close_code())


# ------------------------------------------------------------------ keys, limits, ending

def keys(w):
    path = os.path.join(w.here, "key")
    with open(path, "w", encoding="ascii") as f:
        f.write("secret-key-1\n")
    with Server(w.parley, "--api-key-file", path, voices=os.path.join(w.here, "keys")) as server:
        want("health needs none", 200, server.get("/health")[0])
        want("the page needs none", 200, server.get("/")[0])
        for key in (None, "", "Bearer", "Bearer wrong", "Bearer secret-key-", "Bearer secret-key-11", "Basic secret-key-1"):
            headers = {} if key is None else {"Authorization": key}
            for path_ in ("/v1/models", "/metrics", "/v1/audio/voices"):
                told = server.get(path_, headers)
                error_of(told, 401, "invalid_api_key")
                want("scheme", "Bearer", told[1]["WWW-Authenticate"])
            error_of(server.post_json("/v1/audio/speech", {"input": "x"}, headers), 401, "invalid_api_key")
        want("a name with a key", 200, server.get("/v1/models", {"Authorization": "Bearer secret-key-1", "Host": "speech.example"})[0])
        want("key", 200, server.get("/v1/models", {"Authorization": "Bearer secret-key-1"})[0])
        want("socket without", 401, Socket(server).status)
        want("socket with a header", 101, Socket(server, headers=["Authorization: Bearer secret-key-1"]).status)
        want("socket with a protocol", 101,
             Socket(server, headers=["Sec-WebSocket-Protocol: realtime, openai-insecure-api-key.secret-key-1"]).status)


def tls(w):
    with Server(w.parley, "--tls-cert", CERTIFICATE, "--tls-key", KEY, voices=os.path.join(w.here, "tls")) as server:
        ensure(server.tls, "no https")
        want("speech", w.small.speak(TEXT, seed=7), server.speak(TEXT, seed=7))
        with Socket(server) as s:
            s.event("session.created")
            s.send("session.update", session={"seed": 7})
            s.event("session.updated")
            s.send("response.create", response={"input": [{"type": "message", "content": [{"type": "input_text", "text": TEXT}]}]})
            found = s.events_until("response.done")
            want("sound", w.small.speak(TEXT, seed=7),
                 b"".join(base64.b64decode(e["delta"]) for e in found if e["type"] == "response.output_audio.delta"))
        with socket.create_connection((server.host, server.port), TIMEOUT) as plain:
            plain.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
            ensure(b"200" not in plain.recv(4096), "it speaks without TLS")
        before = server.metric("parley_requests_cancelled_total", model="parley-tts")
        connection = server.connect()
        connection.request("POST", "/v1/audio/speech", json.dumps({"input": LONG * 10, "response_format": "pcm"}), {"Content-Type": "application/json"})
        connection.getresponse().read(10)
        connection.sock.close()
        connection.close()
        wait_for(lambda: server.metric("parley_requests_cancelled_total", model="parley-tts") == before + 1, "the cancellation")
    done = subprocess.run([w.parley, "serve", "--port", "0", "--tls-cert", KEY, "--tls-key", CERTIFICATE], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=TIMEOUT)
    ensure(done.returncode == 4 and b"PEM" in done.stderr, f"a wrong certificate: {done.returncode} {done.stderr!r}")


def limits(w):
    with Server(w.parley, "--max-active", "1", "--max-queued", "0", "--max-body", "1", "--max-text", "3000", "--max-audio", "1", "-m",
                os.path.join(w.models, "asr_a"), "-m", "tts=" + os.path.join(w.golden, "..", "..", "models", "parley-small-tts"),
                voices=os.path.join(w.here, "limits")) as server:
        error_of(server.post_json("/v1/audio/speech", {"input": "a" * 3001}), 413, "text_too_long", "input")
        error_of(server.form("/v1/audio/transcriptions", [("file", ("a.wav", w.clip))]), 413, "limit", "file")
        told = server.form("/v1/audio/transcriptions", [("file", ("a.wav", b"\0" * (2 << 20)))])
        error_of(told, 413, "body_too_large")
        connection = server.connect()
        connection.request("POST", "/v1/audio/speech", json.dumps({"input": LONG * 5, "response_format": "pcm"}), {"Content-Type": "application/json"})
        response = connection.getresponse()
        want("first", 200, response.status)
        busy = server.post_json("/v1/audio/speech", {"input": "x"})
        error_of(busy, 503, "busy")
        ensure("Retry-After" in busy[1], "no Retry-After")
        connection.close()
    with Server(w.parley, "--rate", "3", voices=os.path.join(w.here, "rate")) as server:
        told = [server.post_json("/v1/audio/speech", {"input": "x", "seed": 1}) for _ in range(4)]
        want("statuses", [200, 200, 200, 429], [t[0] for t in told])
        error_of(told[3], 429, "rate_limit_exceeded")
        want("others are not counted", 200, server.get("/v1/models")[0])


def deadline(w):
    with Server(w.parley, "--deadline", "1", "--max-text", "1000000", voices=os.path.join(w.here, "late")) as server:
        error_of(server.post_json("/v1/audio/speech", {"input": LONG * 300, "stream": False}), 504, "late")


def drains(w):
    """SIGTERM: what runs comes to its end, nothing new is taken, the program ends with 0."""
    with Server(w.parley, voices=os.path.join(w.here, "drain")) as server:
        wanted = server.speak(LONG, seed=1)
        connection = server.connect()
        connection.request("POST", "/v1/audio/speech", json.dumps({"input": LONG, "response_format": "pcm", "seed": 1}),
                           {"Content-Type": "application/json"})
        response = connection.getresponse()
        first = response.read(1000)
        idle = Socket(server)
        idle.event("session.created")
        server.process.send_signal(signal.SIGTERM)
        want("an idle socket is told", 1001, idle.close_code())
        want("the whole speech", wanted, first + response.read())
        want("exit code", 0, server.process.wait(TIMEOUT))
        try:
            server.get("/health")
            raise Fail("it still answers")
        except OSError:
            pass


def ends_at_once(w):
    with Server(w.parley, "--drain", "0", voices=os.path.join(w.here, "ends")) as server:
        connection = server.connect()
        connection.request("POST", "/v1/audio/speech", json.dumps({"input": LONG * 10, "response_format": "pcm"}), {"Content-Type": "application/json"})
        connection.getresponse().read(10)
        server.process.send_signal(signal.SIGTERM)
        want("exit code", 0, server.process.wait(TIMEOUT))
        connection.close()


def options(w):
    def bad(*arguments):
        done = subprocess.run([w.parley, "serve", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIMEOUT)
        ensure(done.returncode in (2, 4, 6) and done.stdout == b"", f"{arguments}: {done.returncode} {done.stderr!r}")

    bad("--port", "70000")
    bad("--host", "no.such.host.invalid")
    bad("--alias", "x")
    bad("--codec", "nobody=x")
    bad("--tls-cert", "x")
    bad("--api-key-file", os.path.join(w.here, "none"))
    bad("-m", "a=x", "-m", "a=y")
    bad("--piece-length", "5")
    bad("--port", str(w.small.port))


CASES = [status_pages, health_checks_itself, page, wrong_requests, speech_is_that_of_say, first_sound_is_early, formats, flac_is_lossless,
         speech_errors, speech_at_other_speeds, again_and_again, eight_voices_at_once, client_leaves, slow_client, slow_senders, transcriptions,
         transcription_events, prompt_reaches_the_model, transcription_errors, voices, odd_directory_of_voices, realtime_speaks,
         realtime_item_is_whole_or_nothing, realtime_speed, realtime_live_text, realtime_cancel, realtime_hears, realtime_protocol, keys, tls, limits,
         deadline, drains, ends_at_once, options]


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("parley")
    arguments.add_argument("golden")
    arguments.add_argument("--only", default="")
    given = arguments.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as here:
        world = World(os.path.abspath(given.parley), os.path.abspath(given.golden), here)
        for case in CASES:
            if not re.search(given.only, case.__name__):
                continue
            try:
                case(world)
                print("ok", case.__name__, flush=True)
            except (Fail, OSError, EOFError, ValueError, KeyError, subprocess.SubprocessError) as fault:
                failed += 1
                print("FAILED", case.__name__, type(fault).__name__, str(fault)[:1000], flush=True)
        world.close()
    sys.exit(1 if failed else 0)


main()
