#!/usr/bin/env python3
"""Voices and cloning, end to end: recordings, voice files, the directory of voices, the cache.

    voices.py PARLEY GOLDEN SMALL_MODEL [--only REGEX]

GOLDEN holds models/tts_a_base and tts_b_base (Base) and tts_ref/short.wav; SMALL_MODEL is parley-small-tts (custom voice). Every case runs in a fresh
folder, with a home of its own. Exit status 0 when all pass.
"""
import argparse
import ctypes
import ctypes.util
import hashlib
import json
import math
import os
import random
import re
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import time
import wave

ARGUMENT, IO, FORMAT, MISSING, UNSUPPORTED, VALUE, LIMIT, CANCELLED = 2, 4, 5, 6, 8, 10, 12, 130
TEXT = "Hello there."
RATE = 24000


class Fail(Exception):
    pass


# ------------------------------------------------------------------ files

def wav_bytes(samples, channels=1, rate=RATE):
    data = struct.pack(f"<{len(samples)}h", *samples)
    return (b"RIFF" + struct.pack("<I", 36 + len(data)) + b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, channels, rate, rate * 2 * channels, 2 * channels, 16)
            + b"data" + struct.pack("<I", len(data)) + data)


def float_wav(samples, rate=RATE):
    data = struct.pack(f"<{len(samples)}f", *samples)
    return (b"RIFF" + struct.pack("<I", 50 + len(data)) + b"WAVEfmt " + struct.pack("<IHHIIHHH", 18, 3, 1, rate, rate * 4, 4, 32, 0)
            + b"fact" + struct.pack("<II", 4, len(samples)) + b"data" + struct.pack("<I", len(data)) + data)


def voice_bytes(model, vector, name=b"made", text=b"", codes=b"", version=1, codec=b""):
    """A voice file, written from docs/VOICES.md alone."""
    sections = [(b"name", name), (b"modl", model), (b"text", text), (b"vect", struct.pack(f"<{len(vector)}f", *vector))]
    if codes:
        sections.append((b"code", codes))
    if codec:
        sections.append((b"cdec", codec))
    body = b"".join(tag + struct.pack("<I", len(data)) + data for tag, data in sections)
    head = b"\x89PVOICE\n" + struct.pack("<IIQ", version, len(sections), 24 + len(body) + 32) + body
    return head + hashlib.sha256(head).digest()


def tensors_changed(data, change):
    """A safetensors file whose float32 tensors went through change(name, values), which returns a type and bytes, or None to leave them."""
    head = json.loads(data[8:8 + struct.unpack_from("<Q", data)[0]])
    start, body = 8 + struct.unpack_from("<Q", data)[0], b""
    for name, entry in head.items():
        if name == "__metadata__":
            continue
        piece = data[start + entry["data_offsets"][0]:start + entry["data_offsets"][1]]
        changed = change(name, struct.unpack(f"<{len(piece) // 4}f", piece)) if entry["dtype"] == "F32" else None
        if changed:
            entry["dtype"], piece = changed
        entry["data_offsets"] = [len(body), len(body) + len(piece)]
        body += piece
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + body


def halves(values, kind):
    """Of float32: F16, or BF16 (rounded to nearest)."""
    if kind == "F16":
        return kind, struct.pack(f"<{len(values)}e", *values)
    bits = struct.unpack(f"<{len(values)}I", struct.pack(f"<{len(values)}f", *values))
    return kind, struct.pack(f"<{len(values)}H", *((b + 0x7FFF + (b >> 16 & 1)) >> 16 for b in bits))


def write(path, data):
    with open(path, "wb") as f:
        f.write(data)
    return path


def read(path):
    with open(path, "rb") as f:
        return f.read()


class World:
    """A folder with a home in it, the program, the models."""

    def __init__(self, parley, golden, small, here):
        self.parley, self.small, self.here = parley, small, here
        self.base, self.other = (os.path.join(golden, "models", name) for name in ("tts_a_base", "tts_b_base"))
        self.gguf = ["-m", os.path.join(golden, "gguf_qts_a_base", "model-bf16.gguf"), "--codec", os.path.join(self.base, "speech_tokenizer")]
        self.short = os.path.join(golden, "tts_ref", "short.wav")
        with wave.open(self.short, "rb") as w:
            if (w.getframerate(), w.getnchannels(), w.getsampwidth()) != (RATE, 1, 2):
                raise Fail("tts_ref/short.wav is another kind of file")
            self.samples = struct.unpack(f"<{w.getnframes()}h", w.readframes(w.getnframes()))
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("XDG_")}
        self.env["HOME"] = os.path.join(here, "home")
        os.mkdir(self.env["HOME"])
        self.cache = os.path.join(self.env["HOME"], ".cache", "parley", "voices")
        self.voices = os.path.join(self.env["HOME"], ".local", "share", "parley", "voices")

    def at(self, name):
        return os.path.join(self.here, name)

    def run(self, *args, code=0, says=(), stdin=b"", umask=0o022):
        p = subprocess.run([self.parley, *args], cwd=self.here, env=self.env, input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120,
                           preexec_fn=lambda: os.umask(umask))
        error = p.stderr.decode("utf-8", "backslashreplace")
        if p.returncode != code:
            raise Fail(f"{' '.join(args)}: exit code {p.returncode}, wanted {code}: {error.strip()[-300:]}")
        for word in [says] if isinstance(says, str) else says:
            if word.lower() not in error.lower():
                raise Fail(f"{' '.join(args)}: the message does not say {word!r}: {error.strip()[-300:]}")
        self.error = error
        return p.stdout

    def say(self, *args, out="out.wav", **how):
        self.run("say", "-m", self.base, "--greedy", "--max-frames", "4", "-o", out, "--json", "say.json", *args, "--", TEXT, **how)
        if how.get("code", 0) == 0:
            with open(self.at("say.json"), encoding="utf-8") as f:
                self.told = json.load(f)
            return read(self.at(out))
        return None

    def clone(self, *args, **how):
        return self.say("--clone", self.short, "--ref-text", "At home.", *args, **how)

    def kept(self):
        return sorted(os.listdir(self.cache)) if os.path.isdir(self.cache) else []


def equal(what, got, wanted):
    if got != wanted:
        raise Fail(f"{what}: {got!r}, wanted {wanted!r}" if len(repr(got)) < 300 else f"{what} differs")


# ------------------------------------------------------------------ cases

def sample_types(w):
    """One sound in several containers and from a pipe: one vector."""
    first = None
    stereo = [s for s in w.samples for _ in range(2)]
    raw = struct.pack(f"<{len(w.samples)}h", *w.samples)
    forms = {"mono": (wav_bytes(w.samples), []), "stereo": (wav_bytes(stereo, 2), []), "float": (float_wav([s / 32768 for s in w.samples]), []),
             "raw": (raw, ["--raw", "s16le"]), "raw_stereo": (struct.pack(f"<{len(stereo)}h", *stereo), ["--raw", "s16le", "--channels", "2", "--rate", "24000"])}
    for name, (data, options) in forms.items():
        write(w.at(name), data)
        w.run("voice", "vector", "-m", w.base, *options, name, "-o", "v.npy")
        first = first or read(w.at("v.npy"))
        equal(name, read(w.at("v.npy")), first)
        w.run("voice", "vector", "-m", w.base, *options, "-", "-o", "v.npy", stdin=data)
        equal(name + " from a pipe", read(w.at("v.npy")), first)
    if len(first) != 128 + 4 * 32:
        raise Fail(f"{len(first)} bytes of vector")


class SndInfo(ctypes.Structure):
    _fields_ = [("frames", ctypes.c_int64)] + [(n, ctypes.c_int) for n in ("samplerate", "channels", "format", "sections", "seekable")]


def sound_file(path, form, values, rate=RATE):
    """A file of libsndfile's format `form`, from values in -1..1 or, for whole-number formats, from integers of 32 bits. `values`: a list a channel."""
    lib = ctypes.CDLL(ctypes.util.find_library("sndfile") or "libsndfile.so.1")
    lib.sf_open.restype, lib.sf_open.argtypes = ctypes.c_void_p, [ctypes.c_char_p, ctypes.c_int, ctypes.POINTER(SndInfo)]
    info = SndInfo(samplerate=rate, channels=len(values), format=form)
    file = lib.sf_open(path.encode(), 0x20, ctypes.byref(info))
    if not file:
        return False
    kind, write_frames = (ctypes.c_int, lib.sf_writef_int) if isinstance(values[0][0], int) else (ctypes.c_double, lib.sf_writef_double)
    write_frames.restype, write_frames.argtypes = ctypes.c_int64, [ctypes.c_void_p, ctypes.POINTER(kind), ctypes.c_int64]
    flat = [v for frame in zip(*values) for v in frame]
    wrote = write_frames(file, (kind * len(flat))(*flat), len(values[0]))
    lib.sf_close.argtypes = [ctypes.c_void_p]
    lib.sf_close(file)
    equal(path + ": frames written", wrote, len(values[0]))
    return True


def vector_of(w, path, *options):
    w.run("voice", "vector", "-m", w.base, *options, path, "-o", "v.npy", "-q")
    return read(w.at("v.npy"))


def single(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def every_sample_type(w):
    """24 kHz in every sample type and several channel counts: bit for bit the vector of the same values as mono float32."""
    wav, aiff, au, flac, caf = 0x010000, 0x020000, 0x030000, 0x170000, 0x180000
    s8, s16, s24, s32, u8, f32, f64 = range(1, 8)
    alac16, alac20, alac24, alac32 = range(0x70, 0x74)
    whole = [(wav, u8, 8), (wav, s16, 16), (wav, s24, 24), (wav, s32, 32), (au, s8, 8), (au, s16, 16), (au, s24, 24), (au, s32, 32), (aiff, s8, 8),
             (aiff, s16, 16), (aiff, s24, 24), (aiff, s32, 32), (flac, s8, 8), (flac, s16, 16), (flac, s24, 24), (caf, alac16, 16), (caf, alac20, 20),
             (caf, alac24, 24), (caf, alac32, 32)]
    real = [(wav, f32), (wav, f64), (au, f32), (au, f64), (aiff, f32), (aiff, f64), (caf, f32), (caf, f64)]
    noise = random.Random(5)
    n = 6000
    tone = [0.6 * math.sin(0.05 * i + 3 * math.sin(0.001 * i)) + 0.1 * noise.uniform(-1, 1) for i in range(n)]
    expected, tried = {}, 0
    for bits in (8, 16, 20, 24, 32):
        steps = [int(x * (1 << 31)) >> (32 - bits) << (32 - bits) for x in tone]
        write(w.at("float"), float_wav([s / (1 << 31) for s in steps]))         # what float32 cannot hold of 32 bits is rounded here as there
        expected[bits] = (steps, vector_of(w, "float"))
    equal("vectors that differ", len({v for _, v in expected.values()}), 5)
    for container, subtype, bits in whole:
        steps, vector = expected[bits]
        for channels in (1, 2 + tried % 7):
            if sound_file(w.at("sound"), container | subtype, [steps] * channels):
                tried += 1
                equal(f"{container:x} {subtype:x}, {bits} bits, {channels} channels", vector_of(w, "sound"), vector)
    for container, subtype in real:
        for bits in (24, 32):
            steps, vector = expected[bits]
            for channels in (1, 2 + tried % 7):
                values = [single(s / (1 << 31)) for s in steps]
                if sound_file(w.at("sound"), container | subtype, [values] * channels):
                    tried += 1
                    equal(f"{container:x} {subtype:x}, {channels} channels", vector_of(w, "sound"), vector)
    if tried < 60:
        raise Fail(f"only {tried} files were tried")
    # channels that differ: their mean; 255 of them at most
    left, right = [single(0.5 * x) for x in tone], [single(0.25 * x) for x in reversed(tone)]
    write(w.at("float"), float_wav([(a + b) / 2 for a, b in zip(left, right)]))
    sound_file(w.at("sound"), wav | f32, [left, right])
    equal("two that differ", vector_of(w, "sound"), vector_of(w, "float"))
    steps, vector = expected[16]
    sound_file(w.at("sound"), wav | s16, [steps[:3000]] * 255)
    write(w.at("float"), float_wav([s / (1 << 31) for s in steps[:3000]]))
    equal("255 channels", vector_of(w, "sound"), vector_of(w, "float"))
    loud = [single(3 * x) for x in tone]
    write(w.at("float"), float_wav(loud))
    sound_file(w.at("sound"), au | f64, [loud] * 2)
    equal("beyond 1", vector_of(w, "sound"), vector_of(w, "float"))


def other_rates(w):
    """One sound, written down at several rates, has one vector but for what the resampler changes."""
    def sound(rate):        # four seconds of tones that every rate holds, swelling and fading, so that no edge rings
        return [0.2 * (1 - math.cos(2 * math.pi * i / (4 * rate))) * sum(math.sin(2 * math.pi * f * i / rate + f) for f in (110, 470, 1210, 2300, 3100)) / 3
                for i in range(4 * rate)]

    def numbers(data):
        return struct.unpack("<32f", data[-128:])

    write(w.at("sound"), float_wav(sound(RATE)))
    own = numbers(vector_of(w, "sound"))
    write(w.at("sound"), float_wav([x for x in sound(RATE)][RATE // 2:]))
    far = max(abs(a - b) for a, b in zip(own, numbers(vector_of(w, "sound"))))
    size = max(abs(a) for a in own)
    worst = 0.0
    for rate in (8000, 11025, 16000, 22050, 32000, 44100, 48000, 96000, 192000):
        write(w.at("sound"), float_wav(sound(rate), rate))
        apart = max(abs(a - b) for a, b in zip(own, numbers(vector_of(w, "sound"))))
        worst = max(worst, apart)
    if not 0 < worst < 1e-5 * size < far / 100:     # measured: 2e-6 of 3.3; a piece of the sound is 0.06 off
        raise Fail(f"vectors of other rates are {worst:g} apart, of a part {far:g}, of values up to {size:g}")


def make_and_use(w):
    w.run("voice", "make", w.short, "-m", w.base, "--text", "At home.", "-o", "anna.voice", says="12 frames")
    w.run("voice", "make", w.short, "-m", w.base, "--text", "At home.", "--name", "anna", says="anna.voice")
    equal("the two files", read(os.path.join(w.voices, "anna.voice")), read(w.at("anna.voice")))
    from_clone = w.clone()
    equal("mode", w.told["clone"]["mode"], "icl")
    equal("frames", w.told["clone"]["frames"], -(-(len(w.samples) + RATE // 2) // 1920))
    for value in ("anna.voice", "./anna.voice", w.at("anna.voice"), "anna"):
        equal(value, w.say("--voice", value), from_clone)
    w.run("voice", "make", w.short, "-m", w.base, "-o", "plain.voice", says="0 frames")
    equal("vector alone", w.say("--voice", "plain.voice"), w.say("--clone", w.short))
    equal("mode", w.told["clone"]["mode"], "xvector")
    equal("vector alone, with a transcript", w.say("--clone", w.short, "--ref-text", "At home.", "--clone-mode", "xvector"), read(w.at("out.wav")))
    if w.say("--voice", "none") == from_clone:
        raise Fail("the voice makes no difference")


def directory(w):
    equal("list of nothing", w.run("voice", "list"), b"")
    equal("list of nothing", w.run("voice", "list", "--json"), b"[]\n")
    for name in ("beth", "anna_2"):
        w.run("voice", "make", w.short, "-m", w.base, "--name", name)
    w.run("voice", "make", w.short, "-m", w.base, "--name", "beth", code=IO, says=["exists", "-o"])
    lines = w.run("voice", "list").decode().splitlines()
    equal("list", [line.split()[0] for line in lines], ["anna_2", "beth"])
    told = json.loads(w.run("voice", "show", "beth", "--json"))
    equal("show", (told["name"], told["vector_length"], told["frames"], told["text"]), ("beth", 32, 0, ""))
    if b"32 values" not in w.run("voice", "show", os.path.join(w.voices, "beth.voice")):
        raise Fail("voice show")
    write(os.path.join(w.voices, "bad.voice"), b"rubbish")
    write(os.path.join(w.voices, "not a name.voice"), b"rubbish")
    equal("list", len(w.run("voice", "list").decode().splitlines()), 2)
    if "bad" not in w.error:
        raise Fail("the bad voice is not told")
    w.say("--voice", "bad", code=FORMAT, says=["bad.voice", "not a voice"])
    w.say("--voice", "nobody", code=ARGUMENT, says=["nobody", "anna_2", "beth", "no speakers"])
    w.run("voice", "show", "nobody", code=MISSING, says=["nobody", "beth"])
    w.run("voice", "remove", "beth")
    w.run("voice", "remove", "beth", code=MISSING, says="beth")
    w.run("voice", "make", w.short, "-m", w.base, "--name", "carl", "--voices", "mine/deep")
    equal("another directory", os.listdir(w.at("mine/deep")), ["carl.voice"])
    w.say("--voices", "mine/deep", "--voice", "carl")
    w.env["XDG_DATA_HOME"] = w.at("data")
    w.run("voice", "make", w.short, "-m", w.base, "--name", "dora")
    equal("XDG_DATA_HOME", os.listdir(w.at("data/parley/voices")), ["dora.voice"])
    del w.env["XDG_DATA_HOME"], w.env["HOME"]
    w.run("voice", "list", code=ARGUMENT, says="--voices")


def names(w):
    w.run("voice", "make", w.short, "-m", w.base, "-o", "outside.voice")
    os.makedirs(w.voices)
    for name in ("../x", "a/b", "a.b", ".", "..", "", "a b", "caf\u00e9", "a" * 101, "/etc/passwd", "x\n"):
        w.run("voice", "make", w.short, "-m", w.base, f"--name={name}", code=ARGUMENT, says="no name of a voice")
        w.run("voice", "remove", "--", name, code=ARGUMENT, says="no name of a voice")
    w.run("voice", "remove", "--voices", w.here, "outside.voice", code=ARGUMENT)
    w.say("--voice", "../outside", code=MISSING, says="../outside")
    w.say("--voice", "a.b", code=ARGUMENT, says="unknown")
    equal("left behind", (os.listdir(w.voices), os.path.exists(w.at("outside.voice"))), ([], True))


def cache(w):
    first = w.clone(says="encoded")
    equal("cached", w.told["clone"]["cached"], False)
    equal("second call", w.clone(says="from the cache"), first)
    equal("cached", w.told["clone"]["cached"], True)
    equal("files", len(w.kept()), 1)
    equal("mode of the directory", stat.S_IMODE(os.stat(w.cache).st_mode), 0o700)
    equal("mode of the file", stat.S_IMODE(os.stat(os.path.join(w.cache, w.kept()[0])).st_mode), 0o600)
    write(w.at("same.wav"), float_wav([s / 32768 for s in w.samples]))
    equal("the same sound in another file", w.say("--clone", "same.wav", "--ref-text", "At home.", says="from the cache"), first)
    w.clone("--clone-silence", "0", says="encoded")
    w.say("--clone", w.short, says="encoded")
    w.say("--clone", w.short, says="from the cache")
    equal("files", len(w.kept()), 3)
    w.clone("--cpu", "scalar", says="encoded")
    os.symlink(w.base, w.at("link"))
    w.run("say", "-m", "link", "--clone", w.short, "--ref-text", "At home.", "--max-frames", "1", "-o", "out.wav", TEXT, says="from the cache")
    shutil.copytree(w.base, w.at("copy"))
    w.run("say", "-m", "copy", "--clone", w.short, "--ref-text", "At home.", "--max-frames", "1", "-o", "out.wav", TEXT, says="encoded")
    w.env["XDG_CACHE_HOME"] = w.at("elsewhere")
    w.clone(says="encoded")
    equal("XDG_CACHE_HOME", len(os.listdir(w.at("elsewhere/parley/voices"))), 1)


def cache_stays_out(w):
    first = w.clone("--no-cache", says="encoded")
    equal("files with --no-cache", w.kept(), [])
    w.clone()
    equal("--no-cache", w.clone("--no-cache", says="encoded"), first)
    w.clone("--dump", "dump", says="encoded")
    for name in ("x_vector", "ref_codes", "mel"):
        if not os.path.exists(w.at(f"dump/{name}.npy")):
            raise Fail(f"{name} is not dumped")
    w.clone("--dump", "dump", "--no-cache", says="encoded")
    w.run("voice", "make", w.short, "-m", w.base, "-o", "v.voice")
    equal("files", len(w.kept()), 1)


def cache_damaged(w):
    first = w.clone()
    path = os.path.join(w.cache, w.kept()[0])
    good = read(path)
    for bad in (b"", good[:-1], good[:40] + bytes([good[40] ^ 1]) + good[41:], b"rubbish", voice_bytes(b"m", [1.0] * 32)):
        write(path, bad)
        equal("damaged", w.clone(says="encoded"), first)
        equal("replaced", read(path), good)
    os.rename(path, os.path.join(w.cache, "0" * 64 + ".voice"))     # under another key
    w.clone(says="encoded")
    os.unlink(path)
    os.symlink(w.at("target"), path)
    w.clone(says=["encoded", "warning"])
    equal("a link is not followed", os.path.exists(w.at("target")), False)


def cache_open_to_others(w):
    os.makedirs(w.cache)
    os.chmod(w.cache, 0o777)
    w.clone(umask=0)
    equal("mode of the directory", stat.S_IMODE(os.stat(w.cache).st_mode), 0o700)
    equal("mode of the file", stat.S_IMODE(os.stat(os.path.join(w.cache, w.kept()[0])).st_mode), 0o600)
    shutil.rmtree(w.cache)
    os.mkdir(w.at("target"))
    os.symlink(w.at("target"), w.cache)
    w.clone(says=["encoded", "warning"])
    equal("a link is not followed", os.listdir(w.at("target")), [])
    os.unlink(w.cache)
    write(w.cache, b"a file")
    w.clone(says=["encoded", "warning"])
    for place in ("/proc", "/dev/null"):
        w.env["XDG_CACHE_HOME"] = place
        w.clone(says=["encoded", "warning"])
    del w.env["XDG_CACHE_HOME"], w.env["HOME"]
    w.clone(says="encoded")


def cache_limit(w):
    w.clone()
    (own,) = w.kept()
    dummies = [c * 64 + ".voice" for c in "1234"]
    for i, name in enumerate(dummies):
        path = write(os.path.join(w.cache, name), b"")
        os.truncate(path, 80 << 20)
        os.utime(path, (1000 + i, 1000 + i))
    for name in ("notes.txt", "short.voice", "Z" * 64 + ".voice"):
        os.truncate(write(os.path.join(w.cache, name), b""), 200 << 20)
    write(os.path.join(w.cache, ".parley-0123456789abcdef.tmp"), b"left by a process that was killed")
    os.utime(os.path.join(w.cache, ".parley-0123456789abcdef.tmp"), (1000, 1000))
    w.clone("--clone-silence", "1")
    kept = w.kept()
    equal("the oldest", [name in kept for name in dummies], [False, True, True, True])
    equal("others' files", [n in kept for n in ("notes.txt", "short.voice", "Z" * 64 + ".voice")], [True] * 3)
    equal("a temporary file of long ago", any(n.endswith(".tmp") for n in kept), False)
    equal("own", own in kept, True)
    os.utime(os.path.join(w.cache, own), (500, 500))
    w.clone(says="from the cache")                                  # used now, so no longer the oldest
    os.truncate(os.path.join(w.cache, dummies[1]), 100 << 20)
    os.utime(os.path.join(w.cache, dummies[1]), (1001, 1001))
    w.clone("--clone-silence", "2")
    equal("what was used is kept", [n in w.kept() for n in (own, dummies[1])], [True, False])


def unwritable(w):
    w.run("voice", "make", w.short, "-m", w.base, "--name", "a", "--voices", "/proc/voices", code=IO, says="/proc/voices")
    write(w.at("file"), b"")
    w.run("voice", "make", w.short, "-m", w.base, "--name", "a", "--voices", "file", code=IO, says="file")
    w.run("voice", "list", "--voices", "file", code=IO, says="file")
    w.run("voice", "make", w.short, "-m", w.base, "-o", "none/a.voice", code=IO, says="none/a.voice")
    w.run("voice", "vector", w.short, "-m", w.base, "-o", "/dev/full", code=IO, says="space")
    w.run("codec", "encode", w.short, "-m", w.base, "-o", "none/x.npy", code=IO, says="none/x.npy")


def exchange(w):
    w.run("voice", "make", w.short, "-m", w.base, "--text", "At home.", "-o", "a.voice", "--name", "anna")
    w.run("voice", "export", "a.voice", "-o", "x.spk")
    told = json.loads(w.run("voice", "show", "./a.voice", "--json"))
    equal("size of .spk", os.path.getsize(w.at("x.spk")), 4 * 32)
    equal("size of .rvq", os.path.getsize(w.at("x.rvq")), told["frames"] * 16 * 6 // 8)        # 64 entries: 6 bits
    equal("transcript", read(w.at("x.txt")), b"At home.")
    w.run("voice", "import", "-m", w.base, "x.spk", "x.rvq", "--text-file", "x.txt", "-o", "b.voice", "--name", "anna")
    equal("there and back", read(w.at("b.voice")), read(w.at("a.voice")))
    w.run("codec", "encode", w.short, "-m", w.base, "-o", "c.json", "-q")
    w.run("voice", "import", "-m", w.base, "x.spk", "--name", "alone")
    equal("vector alone", json.loads(w.run("voice", "show", "alone", "--json"))["frames"], 0)
    w.run("voice", "export", "alone", "-o", "y.spk")
    equal("no codes, no files", (read(w.at("y.spk")), os.path.exists(w.at("y.rvq"))), (read(w.at("x.spk")), False))
    write(w.at("cut.spk"), read(w.at("x.spk"))[:-1])
    write(w.at("nan.spk"), b"\0\0\xc0\x7f" * 32)
    write(w.at("cut.rvq"), read(w.at("x.rvq"))[:-1])
    write(w.at("empty.rvq"), b"")
    importing = ["voice", "import", "-m", w.base, "-o", "c.voice"]
    w.run(*importing, "cut.spk", code=FORMAT, says=["cut.spk", "127", "128"])
    w.run(*importing, "nan.spk", code=FORMAT, says=["nan.spk", "finite"])
    w.run(*importing, "x.spk", "cut.rvq", "--text", "x", code=FORMAT, says="cut.rvq")
    w.run(*importing, "x.spk", "empty.rvq", "--text", "x", code=FORMAT, says="empty.rvq")
    w.run(*importing, "x.spk", "x.rvq", code=ARGUMENT, says="--text")
    w.run(*importing, "x.spk", "--text", "x", code=ARGUMENT, says=".rvq")
    w.run("voice", "import", "-m", w.small, "-o", "c.voice", "x.spk", code=3, says="no voice vectors")
    w.run("voice", "export", "a.voice", "-o", "x.bin", code=ARGUMENT, says=".spk")
    equal("nothing made", os.path.exists(w.at("c.voice")), False)


def other_models(w):
    w.run("voice", "make", w.short, "-m", w.base, "-o", "a.voice")
    identity = json.loads(w.run("voice", "show", "./a.voice", "--json"))["model"]
    w.run("voice", "make", w.short, "-m", w.other, "-o", "b.voice")
    other = json.loads(w.run("voice", "show", "./b.voice", "--json"))["model"]
    if identity == other:
        raise Fail("the two models have one identity")
    w.say("--voice", "b.voice", code=ARGUMENT, says=[identity, other, "values"])
    write(w.at("named.voice"), voice_bytes(b"some-other-model", [0.25] * 32))
    w.say("--voice", "named.voice", says=["warning", "some-other-model", identity])
    codes = struct.pack("<3I", 1, 8, 64) + struct.pack("<8H", *range(8))
    write(w.at("codec.voice"), voice_bytes(identity.encode(), [0.25] * 32, text=b"x", codes=codes))
    w.say("--voice", "codec.voice", code=ARGUMENT, says=["8 groups of 64", "16 of 64"])
    write(w.at("later.voice"), voice_bytes(identity.encode(), [0.25] * 32, version=3))
    w.say("--voice", "later.voice", code=UNSUPPORTED, says="version 3")
    w.run("say", "--clone", w.short, "-o", "out.wav", TEXT, code=ARGUMENT, says=["speaker encoder", "Base"])
    w.run("say", "--voice", "./a.voice", "-o", "out.wav", TEXT, code=ARGUMENT, says="no voice vectors")
    w.run("voice", "make", w.short, "-o", "c.voice", code=ARGUMENT, says="speaker encoder")


def dialects(w):
    """A voice of one dialect in another of the same model, without a warning; and the same voice from both."""
    make = ["voice", "make", w.short, "--text", "At home.", "--name", "anna", "-o"]
    w.run(*make, "a.voice", "-m", w.base)
    w.run(*make, "b.voice", *w.gguf)
    equal("voice of the other dialect", read(w.at("b.voice")), read(w.at("a.voice")))
    w.run("say", *w.gguf, "--greedy", "--max-frames", "4", "--voice", "a.voice", "-o", "a.wav", TEXT)
    if "warning" in w.error:
        raise Fail(w.error)
    w.run("voice", "vector", *w.gguf[:2], w.short, "-o", "v.npy")       # a file without a codec


def changed_codec(w, name, change):
    """A codec directory beside the model's own, with other tensors."""
    os.mkdir(w.at(name))
    own = os.path.join(w.base, "speech_tokenizer")
    for file in os.listdir(own):
        data = read(os.path.join(own, file))
        write(w.at(f"{name}/{file}"), tensors_changed(data, change) if file == "model.safetensors" else data)
    return ["-m", w.base, "--codec", name]


def codecs(w):
    """Codes go with the codec, whatever types it is stored in, and with no other of the same sizes; a vector goes with any."""
    books = re.compile(r"codebook\.(embedding_sum|embed_sum)$")
    usages = re.compile(r"codebook\.cluster_usage$")
    same = {
        "bf16": changed_codec(w, "bf16", lambda name, v: halves(v, "BF16") if books.search(name) else None),
        "f16": changed_codec(w, "f16", lambda name, v: halves(v, "F16") if books.search(name) or usages.search(name) else None),
    }
    other = changed_codec(w, "other", lambda name, v: ("F32", struct.pack(f"<{len(v)}f", *(-x for x in v))) if books.search(name) else None)
    make = ["voice", "make", w.short, "--text", "At home.", "--name", "anna"]
    speak = ["say", "--greedy", "--max-frames", "4", "-o", "out.wav", TEXT]
    w.run(*make, "-m", w.base, "-o", "a.voice")
    own = json.loads(w.run("voice", "show", "./a.voice", "--json"))
    equal("codec", own["codec"], json.loads(w.run("info", w.base, "--json"))["codec_identity"])
    w.run(*make, *other, "-o", "other.voice")
    theirs = json.loads(w.run("voice", "show", "./other.voice", "--json"))
    for name, model in same.items():
        w.run(*make, *model, "-o", f"{name}.voice")
        w.run(*speak, *model, "--voice", "a.voice")
        equal(f"{name}: warnings", "warning" in w.error, False)
        w.run(*speak, "-m", w.base, "--voice", f"{name}.voice")
        equal(f"{name}: warnings", "warning" in w.error, False)
    named = [own["codec"][:12], theirs["codec"][:12], own["model"]]
    w.run(*speak, *other, "--voice", "a.voice", code=ARGUMENT, says=["a.voice", "another codec", *named])
    w.run(*speak, "-m", w.base, "--voice", "other.voice", code=ARGUMENT, says=["other.voice", "another codec", *named])
    w.run("voice", "make", w.short, *other, "-o", "vector.voice")
    equal("codec of a vector", json.loads(w.run("voice", "show", "./vector.voice", "--json"))["codec"], "")
    w.run(*speak, "-m", w.base, "--voice", "vector.voice")
    equal("vector: warnings", "warning" in w.error, False)
    w.run("voice", "export", "a.voice", "-o", "a.spk")
    w.run("voice", "import", *other, "a.spk", "a.rvq", "--text-file", "a.txt", "-o", "in.voice")
    equal("imported", json.loads(w.run("voice", "show", "./in.voice", "--json"))["codec"], theirs["codec"])
    w.run(*speak, "--clone", w.short, "--ref-text", "At home.", "-m", w.base)
    w.run(*speak, "--clone", w.short, "--ref-text", "At home.", *other, says="encoded")         # the cache tells the two apart


def older_voice(w):
    """Version 1 has no codec: it is read, and the doubt is told. A fingerprint of another form is none."""
    w.run("voice", "make", w.short, "-m", w.base, "--text", "At home.", "--name", "anna", "-o", "a.voice")
    told = json.loads(w.run("voice", "show", "./a.voice", "--json"))
    codes = struct.pack("<3I", 1, told["groups"], told["codebook_size"]) + struct.pack(f"<{told['groups']}H", *range(told["groups"]))
    parts = {"model": told["model"].encode(), "vector": [0.25] * told["vector_length"], "text": b"x"}
    write(w.at("old.voice"), voice_bytes(codes=codes, **parts))
    w.say("--voice", "old.voice", says=["warning", "old.voice", "codec"])
    write(w.at("new.voice"), voice_bytes(codes=codes, codec=told["codec"].encode(), version=2, **parts))
    w.say("--voice", "new.voice")
    equal("warnings", "warning" in w.error, False)
    for name, code, says, how in (("v1", UNSUPPORTED, "cdec", {"codec": told["codec"].encode(), "codes": codes}),
                                  ("none", FORMAT, "cdec", {"version": 2, "codes": codes}),
                                  ("alone", FORMAT, "code", {"version": 2, "codec": told["codec"].encode()}),
                                  ("short", FORMAT, "64 digits", {"version": 2, "codes": codes, "codec": told["codec"][1:].encode()}),
                                  ("upper", FORMAT, "64 digits", {"version": 2, "codes": codes, "codec": b"F" * 64})):
        write(w.at(f"{name}.voice"), voice_bytes(**parts, **how))
        w.say("--voice", f"{name}.voice", code=code, says=[f"{name}.voice", says])


def damaged_voice(w):
    w.run("voice", "make", w.short, "-m", w.base, "--text", "At home.", "-o", "a.voice")
    whole = read(w.at("a.voice"))
    for cut in [*range(0, len(whole), 23), len(whole) - 1]:
        write(w.at("b.voice"), whole[:cut])
        w.run("voice", "show", "b.voice", code=FORMAT, says="b.voice")
    write(w.at("b.voice"), whole[:60] + bytes([whole[60] ^ 4]) + whole[61:])
    w.say("--voice", "b.voice", code=FORMAT, says="damaged")
    w.say("--voice", "none.voice", code=MISSING, says="none.voice")
    os.mkdir(w.at("dir.voice"))
    w.say("--voice", "dir.voice", code=IO, says="dir.voice")


def bad_sound(w):
    vector = ["voice", "vector", "-m", w.base, "-o", "v.npy"]
    make = ["voice", "make", "-m", w.base, "-o", "v.voice"]
    encode = ["codec", "encode", "-m", w.base, "-o", "c.npy"]
    write(w.at("empty.wav"), wav_bytes([]))
    write(w.at("few.wav"), wav_bytes([1000] * 1279))
    write(w.at("zeros.wav"), wav_bytes([0] * 4000))
    write(w.at("nan.wav"), float_wav([0.1] * 2000 + [float("nan")] + [0.1] * 2000))
    write(w.at("inf.wav"), float_wav([0.1] * 2000 + [float("inf")] + [0.1] * 2000))
    write(w.at("long.wav"), wav_bytes([1000, -1000] * RATE))
    write(w.at("text.txt"), b"This is no sound.\n" * 100)
    os.mkdir(w.at("folder"))
    for command in (vector, make, encode):
        w.run(*command, code=ARGUMENT, says="recording")
        w.run(*command, "none.wav", code=MISSING, says="none.wav")
        w.run(*command, "http://127.0.0.1:1/a.wav", code=MISSING, says="http")
        w.run(*command, "folder", code=UNSUPPORTED, says="folder")
        w.run(*command, "empty.wav", code=ARGUMENT, says="0 samples")
        w.run(*command, "nan.wav", code=VALUE, says="2000")
        w.run(*command, "inf.wav", code=VALUE, says="2000")
        w.run(*command, "--max-audio", "1.5", "long.wav", code=LIMIT, says="1.5")
        w.run(*command, "--rate", "8000", "long.wav", code=ARGUMENT, says="--raw")
    w.run(*vector, "few.wav", code=ARGUMENT, says=["few.wav", "1280", "1279"])
    w.run(*make, "few.wav", code=ARGUMENT, says=["few.wav", "1280", "1279"])
    w.run(*vector, "zeros.wav")
    w.run(*make, "zeros.wav", code=ARGUMENT, says="samples are 0")
    w.run(*encode, "few.wav")
    w.say("--clone", "zeros.wav", says="warning")
    w.say("--clone", "few.wav", code=ARGUMENT, says="1280")
    equal("left behind", os.path.exists(w.at("v.voice")), False)
    status = subprocess.run([w.parley, *vector, "text.txt"], cwd=w.here, env=w.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE).returncode
    if status not in (FORMAT, UNSUPPORTED):
        raise Fail(f"a text as sound: {status}")


def recording_as_output(w):
    """A recording is not written over by what is made of it, under whatever name."""
    write(w.at("in.wav"), wav_bytes(w.samples))
    write(w.at("in.npy"), wav_bytes(w.samples))
    os.link(w.at("in.wav"), w.at("hard.wav"))
    os.symlink("in.wav", w.at("soft.wav"))
    kept = read(w.at("in.wav"))
    for out in ("in.wav", "./in.wav", "hard.wav", "soft.wav"):
        w.say("--clone", "in.wav", out=out, code=ARGUMENT, says=["in.wav", "overwritten"])
        w.run("voice", "vector", "-m", w.base, "in.wav", "-o", out, code=ARGUMENT, says="overwritten")
        w.run("voice", "make", "-m", w.base, "in.wav", "-o", out, code=ARGUMENT, says="overwritten")
    w.run("codec", "encode", "-m", w.base, "in.npy", "-o", "in.npy", code=ARGUMENT, says="overwritten")
    equal("the recording", (read(w.at("in.wav")), read(w.at("in.npy"))), (kept, kept))
    equal("left behind", [n for n in os.listdir(w.here) if n.startswith(".parley")], [])


def read_and_written(w):
    """No file that is read is written over by what is made of it: texts, codes, vectors, voices, models."""
    w.run("voice", "make", w.short, "-m", w.base, "--text", "At home.", "-o", "a.voice")
    w.run("voice", "export", "a.voice", "-o", "a.spk")
    w.run("voice", "vector", w.short, "-m", w.base, "-o", "x.npy")
    w.run("codec", "encode", w.short, "-m", w.base, "-o", "c.npy")
    write(w.at("t.txt"), b"Hello there.\n")
    write(w.at("w.wav"), wav_bytes(w.samples))
    write(w.at("u.json"), b'["a", "b"]')
    write(w.at("jobs.jsonl"), b'{"text": "Hello."}\n')
    shutil.copytree(w.base, w.at("model"))
    subprocess.run(["chmod", "-R", "u+w", w.at("model")], check=True)
    os.symlink("model/model.safetensors", w.at("link.wav"))
    os.link(w.at("t.txt"), w.at("hard.txt"))
    say, codec = ["say", "-m", "model", "--greedy", "--max-frames", "2"], ["codec", "decode", "-m", "model"]
    asr = ["-m", os.path.join(os.path.dirname(w.base), "asr_a")]
    aligner = ["-m", os.path.join(os.path.dirname(w.base), "align_a")]
    cases = [
        ("t.txt", [*say, "-f", "t.txt", "-o", "t.txt"]), ("t.txt", [*say, "-f", "t.txt", "-o", "hard.txt"]),
        ("t.txt", [*say, "-f", "t.txt", "-o", "o.wav", "--json", "t.txt"]),
        ("t.txt", [*say, "--clone", "w.wav", "--ref-text-file", "t.txt", "-o", "t.txt", TEXT]),
        ("a.voice", [*say, "--voice", "a.voice", "-o", "a.voice", TEXT]), ("x.npy", [*say, "--xvector", "x.npy", "-o", "x.npy", TEXT]),
        ("c.npy", [*say, "--xvector", "x.npy", "--ref-codes", "c.npy", "--ref-text", "At home.", "-o", "o.wav", "--codes", "c.npy", TEXT]),
        ("c.npy", [*say, "--teacher", "c.npy", "-o", "o.wav", "--codes", "c.npy", TEXT]),
        ("jobs.jsonl", [*say, "--jobs", "jobs.jsonl", "--output-dir", "d", "--json", "jobs.jsonl"]),
        ("model/model.safetensors", [*say, "-o", "link.wav", TEXT]), ("model/config.json", [*say, "-o", "o.wav", "--json", "model/config.json", TEXT]),
        ("model/speech_tokenizer/model.safetensors", [*say, "-o", "model/speech_tokenizer/model.safetensors", TEXT]),
        ("model/config.json", ["say", "-m", w.base, "--codec", "model", "-o", "model/config.json", TEXT]),
        ("c.npy", [*codec, "c.npy", "-o", "c.npy"]), ("c.npy", [*codec, "a.json", "--ref-codes", "c.npy", "-o", "c.npy"]),
        ("model/config.json", [*codec, "c.npy", "-o", "model/config.json"]),
        ("model/config.json", ["codec", "encode", "-m", "model", "w.wav", "-o", "model/config.json"]),
        ("model/config.json", ["voice", "vector", "-m", "model", "w.wav", "-o", "model/config.json"]),
        ("model/config.json", ["voice", "make", "-m", "model", "w.wav", "-o", "model/config.json"]),
        ("t.txt", ["voice", "make", "-m", "model", "w.wav", "--text-file", "t.txt", "-o", "t.txt"]),
        ("a.spk", ["voice", "import", "-m", "model", "a.spk", "-o", "a.spk"]),
        ("a.rvq", ["voice", "import", "-m", "model", "a.spk", "a.rvq", "--text-file", "t.txt", "-o", "a.rvq"]),
        ("t.txt", ["hear", *asr, "--context-file", "t.txt", "w.wav", "-o", "t.txt"]), ("w.wav", ["hear", *asr, "w.wav", "-o", "w.wav"]),
        ("w.wav", ["hear", *asr, "--stream", "w.wav", "-o", "w.wav"]), ("t.txt", ["align", *aligner, "--text-file", "t.txt", "w.wav", "-o", "t.txt"]),
        ("w.wav", ["align", *aligner, "--text", "x", "w.wav", "-o", "w.wav"]), ("u.json", ["align", *aligner, "--units", "u.json", "w.wav", "-o", "u.json"]),
        ("model/config.json", ["bench", "-m", "model", "--runs", "1", "--json", "model/config.json"]),
    ]
    os.mkdir(w.at("dumped"))
    write(w.at("dumped/x_vector.npy"), read(w.at("x.npy")))
    cases.append(("dumped/x_vector.npy", [*say, "--xvector", "dumped/x_vector.npy", "--dump", "dumped", "-o", "o.wav", TEXT]))
    write(w.at("a.json"), json.dumps([[1] * 16] * 2).encode())
    os.symlink(w.at("a.spk"), w.at("b.spk"))
    before = {os.path.join(d, f): read(os.path.join(d, f)) for d, _, files in os.walk(w.here) for f in files}
    for name, args in cases:
        w.run(*args, code=ARGUMENT, says=[name, "overwritten"])
    after = {os.path.join(d, f): read(os.path.join(d, f)) for d, _, files in os.walk(w.here) for f in files}
    equal("files", [n for n in after if before.get(n) != after[n]] + [n for n in before if n not in after], [])
    w.run("say", *say[1:], "-o", "t2.txt", "-", stdin=b"Hello.")
    w.run("say", *say[1:], "-f", "t.txt", "-o", "t2.txt")               # one that is not read is replaced as ever


def maps_model(pid):
    try:
        with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
            return "safetensors" in f.read()
    except OSError:             # it has ended
        return True


def cancelled(w):
    """The first Ctrl-C ends an encoder in good order: its own exit code, nothing left behind. It comes once the model is open, behind the reading."""
    if not os.path.isdir("/proc/self"):
        return
    sound = struct.pack("<4800h", *([3000, -3000] * 2400)) * 750   # two minutes and a half
    write(w.at("sound.raw"), sound)
    raw = ["-m", w.base, "--raw", "s16le", "--threads", "1", "--cpu", "scalar"]
    commands = {"make": ["voice", "make", *raw, "--text", "x", "-o", "out.voice", "sound.raw"],
                "vector": ["voice", "vector", *raw, "-o", "out.npy", "sound.raw"],
                "encode": ["codec", "encode", *raw, "-o", "out.npy", "sound.raw"],
                "say": ["say", *raw, "--clone", "sound.raw", "-o", "out.wav", TEXT]}
    for name, args in commands.items():
        before = sorted(os.listdir(w.here))
        p = subprocess.Popen([w.parley, *args], cwd=w.here, env=w.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while p.poll() is None and not maps_model(p.pid):
            time.sleep(0.002)
        p.send_signal(signal.SIGINT)
        error = p.communicate(timeout=60)[1].decode()
        equal(name + ": exit code", (p.returncode, "cancelled" in error), (CANCELLED, True))
        equal(name + ": left behind", sorted(os.listdir(w.here)), before)


def transcripts(w):
    w.say("--clone", w.short, "--ref-text", "At home, " * 12, says=["warning", "characters a second"])
    w.run("voice", "make", w.short, "-m", w.base, "--text", "\u4f60\u597d" * 6, "-o", "a.voice", says=["warning", "1 to 15"])
    w.clone()
    if "warning" in w.error:
        raise Fail(f"a transcript that fits is warned of: {w.error}")
    write(w.at("text.txt"), b"At home.\n")
    equal("from a file", w.say("--clone", w.short, "--ref-text-file", "text.txt"), w.clone())
    write(w.at("blank.txt"), b" \n")
    write(w.at("latin1.txt"), b"caf\xe9\n")
    write(w.at("wide.txt"), "\u3000\u00a0\u2003\ufeff \n".encode())
    w.say("--clone", w.short, "--ref-text-file", "blank.txt", code=ARGUMENT, says="empty")
    for option in (["--text-file", "wide.txt"], ["--text-file", "blank.txt"], ["--text", ""], ["--text", " \t"], ["--text", "\u3000\u2028"]):
        w.run("voice", "make", w.short, "-m", w.base, *option, "-o", "none.voice", code=ARGUMENT, says="empty")
    for name in ("", " "):
        w.run("voice", "make", w.short, "-m", w.base, "--name", name, "-o", "none.voice", code=ARGUMENT, says="no name of a voice")
        w.run("voice", "import", "-m", w.base, "x.spk", "--name", name, "-o", "none.voice", code=ARGUMENT, says="no name of a voice")
    w.run("voice", "make", w.short, "-m", w.base, "--text-file", "latin1.txt", "-o", "none.voice", code=ARGUMENT, says="UTF-8")
    w.run("voice", "make", "not read yet", "-m", w.base, "--text-file", "latin1.txt", "-o", "none.voice", code=ARGUMENT, says="UTF-8")
    write(w.at("endless.txt"), b"a" * ((1 << 20) + 1))
    w.run("voice", "make", w.short, "-m", w.base, "--text-file", "endless.txt", "-o", "none.voice", code=ARGUMENT, says=["transcript", "1048576"])
    w.say("--clone", w.short, "--ref-text", "", code=ARGUMENT, says="empty")
    w.say("--clone", w.short, "--no-cache", "--ref-text-file", "latin1.txt", code=ARGUMENT, says="UTF-8")
    w.say("--clone", w.short, "--clone-mode", "icl", code=ARGUMENT, says="--ref-text")


def options(w):
    pairs = [(["--clone", "a", "--voice", "b"], "--voice"), (["--clone", "a", "--xvector", "b"], "--xvector"), (["--ref-text", "a"], "--clone"),
             (["--ref-text-file", "a"], "--clone"), (["--clone-mode", "icl"], "--clone"), (["--clone-silence", "0"], "--clone"), (["--no-cache"], "--clone"),
             (["--raw", "s16le"], "--clone"), (["--max-audio", "5"], "--clone"), (["--clone", "a", "--ref-text", "b", "--ref-text-file", "c"], "exclude"),
             (["--clone", "a", "--clone-silence", "11"], "0 to 10"), (["--clone", "a", "--clone-silence", "-1"], "0 to 10"),
             (["--clone", "a", "--clone-mode", "both"], "xvector")]
    for args, says in pairs:
        w.say(*args, code=ARGUMENT, says=says)
    w.run("say", "-m", w.base, "--clone", "-", "-o", "out.wav", code=ARGUMENT, says="standard input", stdin=b"x")
    first = w.say("--clone", "-", stdin=wav_bytes(w.samples))
    equal("from a pipe", first, w.say("--clone", w.short))
    w.run("voice", code=ARGUMENT, says=["make", "export"])
    w.run("voice", "sing", code=ARGUMENT, says=["sing", "make"])
    w.run("voice", "make", w.short, "-m", w.base, code=ARGUMENT, says=["-o", "--name"])
    w.run("voice", "make", w.short, "-m", w.base, "-o", "a.voice", "--clone-silence", "1", code=ARGUMENT, says="--text")
    w.run("voice", "vector", w.short, "-m", w.base, code=ARGUMENT, says="-o")
    w.run("codec", "encode", w.short, "-m", w.base, "-o", "c.txt", code=ARGUMENT, says=".npy")
    for part in ([], ["make"], ["list"], ["show"], ["remove"], ["import"], ["export"], ["vector"]):
        if b"usage: parley voice" not in w.run("voice", *part, "--help"):
            raise Fail(f"help of {part}")
    if b"usage: parley codec encode" not in w.run("codec", "encode", "--help"):
        raise Fail("help of codec encode")


def encode(w):
    w.run("codec", "encode", w.short, "-m", w.base, "-o", "a.json", "--snr", says=["dB", "5 frames"])
    w.run("codec", "encode", w.short, "-m", os.path.join(w.base, "speech_tokenizer"), "-o", "b.json")
    equal("a bare codec", read(w.at("b.json")), read(w.at("a.json")))
    rows = json.loads(read(w.at("a.json")))
    equal("shape", (len(rows), len(rows[0])), (-(-len(w.samples) // 1920), 16))
    w.run("codec", "decode", "-m", w.base, "a.json", "-o", "back.wav")


def jobs(w):
    w.run("voice", "make", w.short, "-m", w.base, "--text", "At home.", "--name", "anna")
    w.run("voice", "make", w.short, "-m", w.base, "-o", "plain.voice")
    rows = ["anna", "plain.voice", "none", None, "nobody", "../x"]
    with open(w.at("jobs.jsonl"), "w", encoding="utf-8") as f:
        for voice in rows:
            f.write(json.dumps({"text": TEXT, **({} if voice is None else {"voice": voice})}) + "\n")
    many = ["say", "-m", w.base, "--greedy", "--max-frames", "4", "--jobs", "jobs.jsonl", "--output-dir", "d", "--batch", "3"]
    w.run(*many, "--clone", w.short, "--ref-text", "At home.", "--clone-silence", "0.25", "--json", "r.json", code=ARGUMENT,
          says=["text 5", "nobody", "anna", "text 6"])
    for row, args in enumerate((["--voice", "anna"], ["--voice", "plain.voice"], ["--voice", "none"],
                                ["--clone", w.short, "--ref-text", "At home.", "--clone-silence", "0.25"])):
        equal(f"row {row + 1}", read(w.at(f"d/{row + 1:04d}.wav")), w.say(*args))
    told = json.loads(read(w.at("r.json")))
    equal("report", ["error" in r for r in told], [False] * 4 + [True] * 2)


CASES = {f.__name__: f for f in (sample_types, every_sample_type, other_rates, make_and_use, directory, names, cache, cache_stays_out, cache_damaged, cache_open_to_others, cache_limit,
                                 unwritable, exchange, other_models, dialects, codecs, older_voice, damaged_voice, bad_sound, recording_as_output, read_and_written, cancelled, transcripts, options, encode, jobs)}


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("parley")
    ap.add_argument("golden")
    ap.add_argument("small")
    ap.add_argument("--only", default="")
    a = ap.parse_args()
    cases = {name: case for name, case in CASES.items() if re.search(a.only, name)}
    failed = 0
    for name, case in cases.items():
        with tempfile.TemporaryDirectory() as here:
            try:
                case(World(os.path.abspath(a.parley), os.path.abspath(a.golden), os.path.abspath(a.small), here))
            except Fail as e:
                failed += 1
                print(f"FAIL  {name}: {e}", flush=True)
            except Exception as e:              # a hang, or output that is no JSON
                failed += 1
                print(f"FAIL  {name}: {type(e).__name__}: {e}", flush=True)
    print(f"{len(cases) - failed} passed, {failed} failed")
    return 1 if failed or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
