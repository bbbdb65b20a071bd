#!/usr/bin/env python3
"""`parley serve` under mixed traffic for as long as is asked for: nothing is lost, nothing differs, nothing grows. Loopback only.

    soak.py PARLEY GOLDEN [--seconds 180 | --requests N] [--workers 4] [--kinds REGEX] [--seed N] [--growth PERCENT] [--speaks MODEL]

Every case is first asked alone, and each answer under load must be that one. The time is cut into 18 rounds, the first 6 of which warm the server up.
Between two rounds the server rests: then its memory, descriptors, threads and metrics are compared with those before and with what the clients have
seen. --growth is how much more resident memory than after the warm-up there may be; below 0 it is not judged (sanitizers keep what is freed). Most
speech comes from the embedded model, or from that of --speaks.
"""
import argparse
import base64
import ctypes
import dataclasses
import io
import json
import os
import random
import re
import socket
import struct
import sys
import tempfile
import threading
import time
import wave

from serving import Fail, Server, Socket, TIMEOUT, ensure, error_of, events, want

ROUNDS, WARM = 18, 6
REST = 2  # seconds; the server tidies up after one
PAUSE = 0.01  # seconds of a worker between two requests, so that the client is not what is measured
SMALL, CLONES, HEARS = "small", "clones", "hears"
TEXTS = ["Yes.", "Good morning, this is a test of the server.", "What? No! Then another sentence follows, and one more. "]
LONG = "One more sentence follows. " * 20
SPEECH, HEARING, VOICES = "/v1/audio/speech", "/v1/audio/transcriptions", "/v1/audio/voices"


class Tally(Server):
    """A server, and how often each of its endpoints has answered what."""

    def __init__(self, *arguments, **named):
        self.lock = threading.Lock()
        self.seen = {}      # (endpoint, status): answers
        self.unsure = {}    # endpoint: requests of clients that left before they could know
        super().__init__(*arguments, **named)

    def saw(self, path, status):
        path = "other" if status == 405 else VOICES + "/*" if path.startswith(VOICES + "/") else path
        with self.lock:
            self.seen[path, status] = self.seen.get((path, status), 0) + 1

    def may_have_seen(self, path):
        with self.lock:
            self.unsure[path] = self.unsure.get(path, 0) + 1

    def request(self, method, path, body=None, headers=None):
        told = super().request(method, path, body, headers)
        self.saw(path, told[0])
        return told

    def socket(self):
        found = Socket(self, "/v1/realtime?model=" + SMALL)
        self.saw("/v1/realtime", found.status)
        found.event("session.created")
        return found

    def figures(self):
        """name: [(labels, value)] of /metrics."""
        found = {}
        for name, labels, value in re.findall(r"^(\w+)(?:\{(.*)\})? (\S+)$", self.get("/metrics")[2].decode(), re.M):
            found.setdefault(name, []).append((dict(re.findall(r'(\w+)="([^"]*)"', labels)), float(value)))
        return found


class World:
    def __init__(self, server, golden):
        self.server, self.golden = server, golden
        self.alone, self.learning = {}, True  # what each case gives alone
        self.lock = threading.Lock()
        self.times, self.firsts = {}, {}  # kind: seconds until the end, until the first byte
        self.failures = []
        self.left = 0.0  # requests of this round, or the clock at its end
        with wave.open(self.clip_path("bursts"), "rb") as f:
            self.samples = f.readframes(f.getnframes())
        with open(self.clip_path("chirp"), "rb") as f:
            self.clip = f.read()

    def clip_path(self, name):
        return os.path.join(self.golden, "asr_clip_" + name, "audio.wav")

    def same(self, key, value):
        """That under load a case gives what it gave alone."""
        if self.learning:
            ensure(value, f"{key}: nothing alone")
            want(f"{key}, again", value, self.alone.setdefault(key, value))
        else:
            ensure(self.alone[key] == value, f"{key}: {len(value)} bytes that differ from the {len(self.alone[key])} alone")

    def note(self, table, kind, seconds):
        with self.lock:
            table.setdefault(kind, []).append(seconds)


# ------------------------------------------------------------------ what is asked

def speech_body(text, **fields):
    return json.dumps({"input": text, "model": SMALL, "seed": 7, "response_format": "pcm", **fields})


def open_speech(w, body):
    connection = w.server.connect()
    connection.request("POST", SPEECH, body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    w.server.saw(SPEECH, response.status)
    want("status of speech", 200, response.status)
    return connection, response


def streamed(w, case, _):
    text, form = case
    began = time.monotonic()
    connection, response = open_speech(w, speech_body(text, response_format=form))
    first = response.read(1)
    w.note(w.firsts, "streamed", time.monotonic() - began)
    w.same(("speech", form, text), first + response.read())
    connection.close()


def whole(w, text, _):
    w.same(("speech", "pcm", text), w.server.speak(text, model=SMALL, seed=7, stream=False))


def short(w, form, _):
    w.same(("speech", form, TEXTS[0]), w.server.speak(TEXTS[0], model=SMALL, seed=7, response_format=form))


def other_model(w, text, _):
    w.same(("other", text), w.server.speak(text, model=CLONES, seed=7))


def sse(w, text, _):
    found = events(w.server.speak(text, model=SMALL, seed=7, stream_format="sse"))
    want("last event", "speech.audio.done", found[-1]["type"])
    w.same(("speech", "pcm", text), b"".join(base64.b64decode(e["audio"]) for e in found[:-1]))


def slowly(w, text, _):
    connection, response = open_speech(w, speech_body(text))
    told = b""
    while part := response.read(3000):
        told += part
        time.sleep(0.005)
    w.same(("speech", "pcm", text), told)
    connection.close()


def transcription(w, fields, _):
    status, _, body = w.server.form(HEARING, [("file", ("a.wav", w.clip)), *fields])
    want(f"status of a transcription {fields}", 200, status)
    w.same(("heard", fields), body)


def voice(w, step, serial):
    name = f"v{serial}"
    sound = io.BytesIO()
    with wave.open(io.BytesIO(w.clip), "rb") as f, wave.open(sound, "wb") as out:
        out.setparams((1, 2, 16000 + 900 * step, 0, "NONE", ""))  # at another rate it is another voice
        out.writeframes(f.readframes(f.getnframes()))
    fields = [("name", name), ("model", CLONES), ("file", ("a.wav", sound.getvalue()))]
    want("status of an upload", 200, w.server.form(VOICES, fields + ([("text", "hello world")] if step % 2 else []))[0])
    w.same(("voice", step), w.server.speak(TEXTS[1], model=CLONES, seed=7, voice=name))
    ensure(name in [v["id"] for v in json.loads(w.server.get(VOICES)[2])["data"]], "an uploaded voice is not listed")
    want("status of a deletion", 200, w.server.request("DELETE", f"{VOICES}/{name}")[0])


def seeded(w):
    s = w.server.socket()
    s.send("session.update", session={"seed": 7, "audio": {"input": {"format": {"type": "audio/pcm", "rate": 16000}}}})
    s.event("session.updated")
    return s


def item(text):
    return {"input": [{"type": "message", "content": [{"type": "input_text", "text": text}]}]}


def deltas(found):
    return b"".join(base64.b64decode(e["delta"]) for e in found if e["type"] == "response.output_audio.delta")


def realtime_speaks(w, text, _):
    with seeded(w) as s:
        for _ in range(2):
            s.send("response.create", response=item(text))
            w.same(("speech", "pcm", text), deltas(s.events_until("response.done")))


def realtime_live(w, text, _):
    with seeded(w) as s:
        for word in re.findall(r"\S+\s*", text):
            s.send("input_text_buffer.append", text=word)
        s.send("input_text_buffer.commit")
        w.same(("speech", "pcm", text), deltas(s.events_until("response.done")))


def realtime_hears(w, size, _):
    with seeded(w) as s:
        for at in range(0, len(w.samples), size):
            s.append(w.samples[at:at + size])
        s.send("input_audio_buffer.commit")
        found = s.events_until("conversation.item.input_audio_transcription.completed")
        w.same("streamed sound", found[-1]["transcript"])


def realtime_cancels(w, _, __):
    with seeded(w) as s:
        s.send("response.create", response=item(LONG))
        s.event("response.created")
        s.event("response.output_audio.delta")
        s.send("response.cancel")
        status = s.events_until("response.done")[-1]["response"]["status"]
        ensure(status in ("cancelled", "completed"), f"status {status}")  # the second when the news came late


def realtime_leaves(w, _, __):
    with seeded(w) as s:
        s.send("response.create", response=item(LONG))
        s.events_until("response.output_audio.delta")


def reset(s):
    """Closes so that the other side is told of an error rather than of an end."""
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def leaves_half_way(w, abruptly, _):
    connection, response = open_speech(w, speech_body(LONG))
    response.read(5000)
    if abruptly:
        reset(connection.sock or response.fp.raw._sock)
    connection.close()
    response.close()


def leaves_at_once(w, size, _):
    """After the whole request (`size` 0), or after so many bytes of it."""
    body = speech_body(LONG, stream=False).encode()
    data = f"POST {SPEECH} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
    w.server.may_have_seen(SPEECH)
    with socket.create_connection((w.server.host, w.server.port), TIMEOUT) as s:
        s.sendall(data[:size or len(data)])


def wrong_speech(w, case, _):
    fields, status = case
    error_of(w.server.post_json(SPEECH, json.loads(speech_body("x")) | fields), status)


def wrong_requests(w, case, _):
    method, path, body, kind, status = case
    error_of(w.server.request(method, path, body, {"Content-Type": kind}), status)


def no_http(w, data, _):
    with socket.create_connection((w.server.host, w.server.port), TIMEOUT) as s:
        try:
            s.sendall(data)
            while s.recv(4096):
                pass
        except ConnectionError:
            pass  # told no more than that


def pages(w, path, _):
    want("status of " + path, 200, w.server.get(path)[0])


@dataclasses.dataclass
class Kind:
    run: object
    weight: int
    cases: list


KINDS = [
    Kind(streamed, 30, [(t, f) for t in TEXTS for f in ("pcm", "wav", "flac", "opus", "mp3")]),
    Kind(whole, 4, TEXTS),
    Kind(short, 4, ["pcm", "mp3"]),
    Kind(other_model, 4, TEXTS),
    Kind(sse, 6, TEXTS),
    Kind(slowly, 4, TEXTS[:2]),
    Kind(transcription, 16, [(), (("response_format", "srt"),), (("stream", "true"),),
                             (("response_format", "verbose_json"), ("timestamp_granularities[]", "word"))]),
    Kind(voice, 4, [0, 1, 2, 3]),
    Kind(realtime_speaks, 4, TEXTS),
    Kind(realtime_live, 4, TEXTS[:2]),
    Kind(realtime_hears, 4, [3000, 12800]),
    Kind(realtime_cancels, 2, [None]),
    Kind(realtime_leaves, 2, [None]),
    Kind(leaves_half_way, 4, [False, True]),
    Kind(leaves_at_once, 4, [0, 40, 150]),
    Kind(wrong_speech, 6, [({"voice": "nobody"}, 400), ({"model": "none"}, 404), ({"input": "a" * 70000}, 413), ({"response_format": "aac"}, 400)]),
    Kind(wrong_requests, 6, [("POST", SPEECH, "{", "application/json", 400), ("POST", SPEECH, "x", "text/plain", 415),
                             ("POST", HEARING, "x", "application/json", 400), ("PUT", SPEECH, "x", "text/plain", 405),
                             ("DELETE", VOICES + "/none", None, "text/plain", 404), ("GET", "/v1/realtime", None, "text/plain", 426)]),
    Kind(no_http, 2, [b"\xff\xfe\r\n\r\n", b"GET\r\n\r\n", b"GET /" + b"a" * 40000 + b" HTTP/1.1\r\n\r\n"]),
    Kind(pages, 4, ["/health", "/metrics", "/v1/models", VOICES]),
]


# ------------------------------------------------------------------ load

def next_one(w, by_count):
    with w.lock:
        if not by_count:
            return time.monotonic() < w.left
        w.left -= 1
        return w.left >= 0


def work(w, kinds, rng, number, by_count):
    serial = number
    while not w.failures and next_one(w, by_count):
        kind = rng.choices(kinds, [k.weight for k in kinds])[0]
        case = rng.choice(kind.cases)
        serial += 1000  # no other worker has it
        began = time.monotonic()
        try:
            kind.run(w, case, serial)
        except (Fail, OSError, EOFError, ValueError, KeyError) as fault:
            w.failures.append(f"{kind.run.__name__} {str(case)[:200]}: {type(fault).__name__} {str(fault)[:1000]}")
            return
        w.note(w.times, kind.run.__name__, time.monotonic() - began)
        time.sleep(PAUSE)


def learn(w, kinds):
    serial = 0
    for kind in kinds:
        for case in kind.cases:
            serial += 1
            kind.run(w, case, serial)
    w.learning = False


# ------------------------------------------------------------------ rest

def forbid_huge_pages():
    """For this process and the server that it starts. Where the system uses them for all memory, it fills holes of the heap at moments of its own choice,
    and memory that was given back is resident again."""
    set_thp_disable = 41
    ensure(ctypes.CDLL(None).prctl(set_thp_disable, 1, 0, 0, 0) == 0, "prctl(PR_SET_THP_DISABLE) fails")


@dataclasses.dataclass
class Held:
    memory: int  # KiB
    descriptors: int
    threads: int


def held(server):
    folder = f"/proc/{server.process.pid}/"
    return Held(server.memory(), len(os.listdir(folder + "fd")), len(os.listdir(folder + "task")))


def at_start(server):
    """The least within a second, in which the connection that asked whether the server is ready goes."""
    found = []
    for _ in range(50):
        time.sleep(0.02)
        found.append(held(server))
    return Held(*(min(getattr(f, name.name) for f in found) for name in dataclasses.fields(Held)))


def rest(server, start, most):
    """Once nobody is served: what is held. Descriptors and threads must come back to what they were at the start; memory has a moment, and on a busy
    machine some more, to come back below `most` KiB."""
    time.sleep(REST)
    begun = time.monotonic()
    end, patience = begun + TIMEOUT, begun + 5 * REST
    while True:
        now = held(server)
        if (now.descriptors, now.threads) == (start.descriptors, start.threads) and (now.memory <= most or time.monotonic() > patience):
            return now
        ensure(time.monotonic() < end, f"at rest the server holds {now}, at the start {start}")
        time.sleep(0.01)


def check_metrics(server):
    """Every request that was begun has ended, and each answer that a client has seen was counted, no other."""
    seen, unsure = dict(server.seen), dict(server.unsure)
    figures = server.figures()
    for name in ("active", "queued", "jobs", "kv_bytes", "requests_failed_total", "requests_late_total", "requests_refused_total"):
        want(name, [], [(labels, value) for labels, value in figures["parley_" + name] if value])
    for labels, accepted in figures["parley_requests_accepted_total"]:
        ends = sum(value for name in ("done", "cut", "cancelled") for l, value in figures[f"parley_requests_{name}_total"] if l == labels)
        want(f"ends of requests to {labels}", accepted, ends)
    counted = {(labels["path"], int(labels["status"])): value for labels, value in figures["parley_http_requests_total"]}
    for path, status in counted.keys() | seen.keys():
        got, least = counted.get((path, status), 0), seen.get((path, status), 0)
        ensure(least <= got <= least + unsure.get(path, 0), f"{got} answers {status} of {path} are counted, {least} were seen")


def most_memory(rounds, growth):
    """KiB: so much more than after the warm-up."""
    return min(r.memory for r in rounds[WARM - 2:WARM]) * (1 + growth / 100) if growth >= 0 and len(rounds) >= WARM else float("inf")


def judge_memory(rounds, growth):
    warm = rounds[WARM - 1].memory
    most = max(r.memory for r in rounds[WARM:])
    text = f"resident memory: {warm} KiB after the warm-up, {rounds[-1].memory} at the end, at most {most} between: {100 * most / warm - 100:+.2f} %"
    print(text, flush=True)
    ensure(most <= most_memory(rounds, growth), text)


def quantile(values, q):
    return 1e3 * sorted(values)[min(len(values) - 1, int(q * len(values)))]


def processor_seconds(server):
    with open(f"/proc/{server.process.pid}/stat", encoding="ascii") as f:
        fields = f.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def report(w, seconds):
    total = sum(len(v) for v in w.times.values())
    print(f"{total} requests in {seconds:.0f} s, {processor_seconds(w.server):.0f} s of processor time, no failure; milliseconds until the end: median, "
          "99 %, most")
    for table, what in ((w.times, ""), (w.firsts, ", first byte")):
        for kind, values in sorted(table.items()):
            print(f"  {kind + what:24} {len(values):8} {quantile(values, 0.5):8.1f} {quantile(values, 0.99):8.1f} {quantile(values, 1):8.1f}")
    sys.stdout.flush()


def soak(w, kinds, given):
    start = at_start(w.server)
    learn(w, kinds)
    w.times.clear()
    w.firsts.clear()
    rng = random.Random(given.seed)
    rounds, began = [], time.monotonic()
    for i in range(ROUNDS):
        w.left = given.requests * (i + 1) // ROUNDS - given.requests * i // ROUNDS if given.requests else time.monotonic() + given.seconds / ROUNDS
        threads = [threading.Thread(target=work, args=(w, kinds, random.Random(rng.random()), n + 1 + 100000000 * (i + 1), bool(given.requests)))
                   for n in range(given.workers)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        w.server.alive()
        ensure(not w.failures, "; ".join(w.failures))
        rounds.append(rest(w.server, start, most_memory(rounds, given.growth)))
        check_metrics(w.server)
        print(f"round {i + 1}: {sum(len(v) for v in w.times.values())} requests, {rounds[-1]}", flush=True)
    learned = dict(w.alone)
    w.alone, w.learning = {}, True
    learn(w, kinds)
    want("cases that differ alone, afterwards", [], [key for key in learned if learned[key] != w.alone[key]])
    report(w, time.monotonic() - began)
    judge_memory(rounds, given.growth)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("parley")
    arguments.add_argument("golden")
    arguments.add_argument("--seconds", type=float, default=180)
    arguments.add_argument("--requests", type=int, default=0)
    arguments.add_argument("--workers", type=int, default=4)
    arguments.add_argument("--kinds", default="")
    arguments.add_argument("--seed", type=int, default=7)
    arguments.add_argument("--growth", type=float, default=2)
    arguments.add_argument("--speaks")
    given = arguments.parse_args()
    golden = os.path.abspath(given.golden)
    models = os.path.join(golden, "models")
    speaks = given.speaks or os.path.join(golden, "..", "..", "models", "parley-small-tts")
    kinds = [k for k in KINDS if re.search(given.kinds, k.run.__name__)]
    forbid_huge_pages()
    options = ["-m", f"{SMALL}={speaks}", "-m", f"{CLONES}={os.path.join(models, 'tts_a_base')}",
               "-m", f"{HEARS}={os.path.join(models, 'asr_a')}", "--aligner", os.path.join(models, "align_a")]
    with tempfile.TemporaryDirectory() as here, Tally(os.path.abspath(given.parley), *options, voices=here) as server:
        soak(World(server, golden), kinds, given)


try:
    main()
except (Fail, OSError, EOFError) as fault:
    sys.exit(f"{type(fault).__name__}: {fault}")
