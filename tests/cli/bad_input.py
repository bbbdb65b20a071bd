#!/usr/bin/env python3
"""Bad input, end to end: exit codes by kind, what the message says, and that nothing is left behind.

    bad_input.py PARLEY GOLDEN SMALL_MODEL [--only REGEX]

GOLDEN holds models/tts_a_base (Base, 16 groups of 64 codes); SMALL_MODEL is parley-small-tts (custom voice `wren`, 8 groups of 512). Every case
runs in a fresh folder. Exit status 0 when all pass.
"""
import argparse
import fcntl
import json
import os
import platform
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import wave

ARGUMENT, IO, FORMAT, MISSING, UNSUPPORTED, FAMILY, VALUE, LIMIT, DEVICE, CANCELLED = 2, 4, 5, 6, 8, 9, 10, 12, 13, 130
FOREIGN_LEVEL = "avx2" if platform.machine() in ("aarch64", "arm64") else "neon"
SHORT = ["--greedy", "--max-frames", "3"]       # what runs at all shall be short
LONG_TEXT = "How long have you been learning to swim in the cold sea behind the old harbour with all your friends?"


class Fail(Exception):
    pass


# ------------------------------------------------------------------ files for the cases

def npy(shape, values, kind):
    text = repr({"descr": "<" + kind, "fortran_order": False, "shape": tuple(shape)})
    text += " " * (-(len(text) + 11) % 64) + "\n"
    form = {"f4": "f", "i4": "i", "i8": "q"}[kind]
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + struct.pack(f"<{len(values)}{form}", *values)


def link_model(source, target, leave_out=()):
    """A folder of links to a model's files."""
    os.makedirs(target)
    for name in os.listdir(source):
        if name not in leave_out:
            os.symlink(os.path.join(source, name), os.path.join(target, name))
    return target


def damaged(source, target, name, change):
    """The same with one file changed."""
    link_model(source, target, [name])
    with open(os.path.join(source, name), "rb") as f:
        data = change(f.read())
    with open(os.path.join(target, name), "wb") as f:
        f.write(data)


def nan_at_end(data):
    return data[:-2] + b"\xc0\x7f"              # bfloat16


def damage(model, small):
    """Models with one fault each, made once for all cases."""
    link_model(small, os.path.join(model, "no_weights"), ["model.safetensors"])
    link_model(small, os.path.join(model, "no_codec"), ["speech_tokenizer"])
    link_model(small, os.path.join(model, "no_vocabulary"), ["vocab.json"])
    os.makedirs(os.path.join(model, "nothing"))
    damaged(small, os.path.join(model, "truncated"), "model.safetensors", lambda d: d[:len(d) // 2])
    damaged(small, os.path.join(model, "corrupt"), "model.safetensors", lambda d: b"\xff" * 8 + d[8:])
    damaged(small, os.path.join(model, "config"), "config.json", lambda d: d[:len(d) // 2])
    damaged(small, os.path.join(model, "family"), "config.json", lambda d: d.replace(b'"qwen3_tts"', b'"some_other"'))
    damaged(small, os.path.join(model, "nan"), "model.safetensors", nan_at_end)


def prepare(here, models):
    """Files of one case's folder; `bad` leads to the damaged models."""
    put = {
        "codes8.npy": npy((4, 8), [i % 512 for i in range(32)], "i4"),
        "codes8.json": json.dumps([[1] * 8] * 3).encode(),
        "codes16.npy": npy((4, 16), [i % 64 for i in range(64)], "i4"),
        "high.json": json.dumps([[1] * 8, [1] * 7 + [512]]).encode(),
        "negative.json": json.dumps([[1] * 8, [-1] + [1] * 7]).encode(),
        "ragged.json": json.dumps([[1] * 8, [1] * 7]).encode(),
        "empty.json": b"[]",
        "empty.npy": npy((0, 8), [], "i4"),
        "real.json": b"[[1.5, 1, 1, 1, 1, 1, 1, 1]]",
        "huge.json": b"[[4294967296, 1, 1, 1, 1, 1, 1, 1]]",
        "float.npy": npy((1, 8), [0.0] * 8, "f4"),
        "flat.npy": npy((8,), [0] * 8, "i4"),
        "cut.npy": npy((4, 8), [0] * 32, "i4")[:-1],
        "codes.txt": b"1 2 3",
        "vector3.npy": npy((3,), [0.0] * 3, "f4"),
        "vector_i.npy": npy((32,), [0] * 32, "i4"),
        "vector_nan.npy": npy((32,), [float("nan")] * 32, "f4"),
        "text.txt": b"Hello.\n",
        "latin1.txt": b"caf\xe9\n",
        "blank.txt": b" \n\t\n",
        "nothing.txt": b"",
        "jobs_key.jsonl": b'{"text": "a"}\n{"text": "b", "speed": 2}\n',
        "jobs_line.jsonl": b'{"text": "a"}\n\n{"text": \n',
        "jobs_type.jsonl": b'{"text": 5}\n',
        "jobs_row.jsonl": b'{"text": "Yes."}\n{"text": "No.", "voice": "nobody"}\n{"text": " "}\n{"text": "Well."}\n',
    }
    for name, data in put.items():
        with open(os.path.join(here, name), "wb") as f:
            f.write(data)
    os.symlink(models, os.path.join(here, "bad"))
    with open(os.path.join(here, "rubbish.gguf"), "wb") as f:
        f.write(b"GGUF\x03\0\0\0" + b"\xff" * 100)


# ------------------------------------------------------------------ running

def snapshot(here):
    found = {}
    for folder, folders, files in os.walk(here):
        for name in folders + files:
            path = os.path.join(folder, name)
            is_file = os.path.isfile(path) and not os.path.islink(path)
            found[os.path.relpath(path, here)] = open(path, "rb").read() if is_file else None
    return found


def run(parley, here, args, stdin=b"", stdout=subprocess.PIPE, before=None):
    p = subprocess.run([parley, *args], cwd=here, input=stdin, stdout=stdout, stderr=subprocess.PIPE, timeout=120, preexec_fn=before)
    return p.returncode, p.stdout or b"", p.stderr.decode("utf-8", "backslashreplace")


def expect(told, code, says):
    status, _, error = told
    if status != code:
        raise Fail(f"exit code {status}, wanted {code}: {error.strip()[-300:]}")
    for word in [says] if isinstance(says, str) else says:
        if word.lower() not in error.lower():
            raise Fail(f"the message does not say {word!r}: {error.strip()[-300:]}")


def check_wav(path):
    with wave.open(path, "rb") as w:
        data = w.readframes(w.getnframes())
        if len(data) != 2 * w.getnframes() or os.path.getsize(path) != 44 + len(data):
            raise Fail(f"{path}: sizes in the header are wrong")
        return w.getnframes()


# ------------------------------------------------------------------ cases that leave nothing: arguments, exit code, words of the message

def plain_cases(base):
    say = ["say", *SHORT, "-o", "out.wav"]
    decode = ["codec", "decode", "-o", "out.wav"]
    tiny = [*say, "-m", base]
    return {
        # the command line
        "no subcommand": ([], ARGUMENT, "subcommand"),
        "unknown subcommand": (["sing"], ARGUMENT, ["sing", "say", "codec", "info"]),
        "unknown option": (["say", "--loud", "x"], ARGUMENT, ["--loud", "--voice", "--seed"]),
        "missing value": (["say", "--voice"], ARGUMENT, "--voice needs a value"),
        "option twice": (["say", "--seed", "1", "--seed=2", "x"], ARGUMENT, "twice"),
        "two texts": (["say", "a", "b"], ARGUMENT, "argument too many"),
        "unknown kv": (["say", "--kv", "q4", "x"], ARGUMENT, ["f16", "q8_0"]),
        "unknown layout": (["say", "--layout", "half", "x"], ARGUMENT, ["streaming", "full"]),
        "unknown splitter": (["tokenize", "--splitter", "gpt2", "x"], ARGUMENT, ["qwen2", "mistral"]),
        "unknown level": (["say", "--cpu", "sse9", "x"], ARGUMENT, ["scalar", "avx2"]),
        "level of another processor": ([*say, "--cpu", FOREIGN_LEVEL, "x"], DEVICE, FOREIGN_LEVEL),
        "threads 0": (["say", "--threads", "0", "x"], ARGUMENT, "1 to 256"),
        "temperature too high": (["say", "--temperature", "10.5", "x"], ARGUMENT, "0 to 10"),
        "temperature negative": (["say", "--temperature", "-1", "x"], ARGUMENT, "0 to 10"),
        "speed too low": (["say", "--speed", "0.24", "x"], ARGUMENT, ["--speed", "0.25 to 4"]),
        "speed too high": (["say", "--speed", "4.1", "x"], ARGUMENT, "0.25 to 4"),
        "speed nan": (["say", "--speed", "nan", "x"], ARGUMENT, "0.25 to 4"),
        "speed no number": (["say", "--speed", "fast", "x"], ARGUMENT, "fast"),
        "temperature nan": (["say", "--temperature", "nan", "x"], ARGUMENT, "0 to 10"),
        "temperature text": (["say", "--sub-temperature", "warm", "x"], ARGUMENT, "warm"),
        "top-p 0": (["say", "--top-p", "0", "x"], ARGUMENT, "above 0"),
        "top-p 1.5": (["say", "--sub-top-p", "1.5", "x"], ARGUMENT, "up to 1"),
        "top-p nan": (["say", "--top-p", "NaN", "x"], ARGUMENT, "up to 1"),
        "top-k negative": (["say", "--top-k", "-1", "x"], ARGUMENT, "0 or more"),
        "penalty 0": (["say", "--repetition-penalty", "0", "x"], ARGUMENT, "above 0"),
        "max-frames 0": (["say", "--max-frames", "0", "x"], ARGUMENT, "1 or more"),
        "seed negative": (["say", "--seed", "-1", "x"], ARGUMENT, "--seed"),
        "greedy and temperature": (["say", "--greedy", "--temperature", "1", "x"], ARGUMENT, "exclude"),
        "text and file": (["say", "-f", "text.txt", "x"], ARGUMENT, "exclude"),
        "two on standard output": (["say", "-o", "-", "--json", "-", "x"], ARGUMENT, ["-o", "--json"]),
        "codes by name": (["say", "--codes", "codes.txt", "x"], ARGUMENT, ".npy"),
        "jobs without folder": (["say", "--jobs", "jobs_row.jsonl"], ARGUMENT, "--output-dir"),
        "folder without jobs": (["say", "--output-dir", "d", "x"], ARGUMENT, "--jobs"),
        "encode": (["codec", "encode", "x.wav", "-o", "x.npy"], MISSING, "x.wav"),
        "codec alone": (["codec"], ARGUMENT, ["decode", "encode"]),
        "voice alone": (["voice"], ARGUMENT, ["make", "list"]),
        # models
        "no such model": ([*say, "-m", "nowhere", "x"], MISSING, "nowhere"),
        "empty folder": ([*say, "-m", "bad/nothing", "x"], MISSING, "bad/nothing"),
        "no weights": ([*say, "-m", "bad/no_weights", "x"], MISSING, "safetensors"),
        "no codec": ([*say, "-m", "bad/no_codec", "x"], MISSING, "codec"),
        "no vocabulary": ([*say, "-m", "bad/no_vocabulary", "x"], MISSING, "vocab.json"),
        "no such codec": ([*say, "--codec", "nowhere", "x"], MISSING, "nowhere"),
        "truncated weights": ([*say, "-m", "bad/truncated", "x"], FORMAT, "safetensors"),
        "corrupt weights": ([*say, "-m", "bad/corrupt", "x"], FORMAT, "safetensors"),
        "broken config": ([*say, "-m", "bad/config", "x"], FORMAT, "config.json"),
        "another family": ([*say, "-m", "bad/family", "x"], FAMILY, "some_other"),
        "rubbish gguf": ([*say, "-m", "rubbish.gguf", "x"], FORMAT, "rubbish.gguf"),
        "not finite": (["info", "--check", "bad/nan"], VALUE, ""),
        "info of nothing": (["info", "nowhere"], MISSING, "nowhere"),
        # voice and language
        "unknown language": ([*say, "--language", "klingon", "x"], ARGUMENT, ["klingon", "english"]),
        "unknown voice": ([*say, "--voice", "nobody", "x"], ARGUMENT, ["nobody", "wren"]),
        "speaker without speakers": ([*tiny, "--voice", "wren", "x"], ARGUMENT, "speaker"),
        "vector, not Base": ([*say, "--xvector", "vector3.npy", "x"], ARGUMENT, ""),
        "vector too short": ([*tiny, "--xvector", "vector3.npy", "x"], ARGUMENT, "3"),
        "vector of int32": ([*tiny, "--xvector", "vector_i.npy", "x"], FORMAT, "float32"),
        "no such vector": ([*tiny, "--xvector", "none.npy", "x"], MISSING, "none.npy"),
        "vector is no npy": ([*tiny, "--xvector", "text.txt", "x"], FORMAT, "not a .npy file"),
        "voice and vector": ([*tiny, "--voice", "a", "--xvector", "vector3.npy", "x"], ARGUMENT, "exclude"),
        "reference without text": ([*tiny, "--ref-codes", "codes16.npy", "--xvector", "vector3.npy", "x"], ARGUMENT, "--ref-text"),
        "reference without vector": ([*tiny, "--ref-codes", "codes16.npy", "--ref-text", "y", "x"], ARGUMENT, "--xvector"),
        "reference of other groups": ([*tiny, "--ref-codes", "codes8.npy", "--ref-text", "y", "--xvector", "vector3.npy", "x"], ARGUMENT, "8 codes"),
        "teacher of other groups": ([*say, "--teacher", "codes16.npy", "x"], ARGUMENT, "16 codes"),
        "teacher out of range": ([*say, "--teacher", "high.json", "x"], ARGUMENT, "512"),
        # text
        "empty text": ([*say, ""], ARGUMENT, "empty"),
        "blank text": ([*say, " \n\t "], ARGUMENT, "empty"),
        "wide blanks": ([*say, "\u3000\u00a0"], ARGUMENT, "empty"),
        "blank file": ([*say, "-f", "blank.txt"], ARGUMENT, "empty"),
        "empty file": ([*say, "-f", "nothing.txt"], ARGUMENT, "empty"),
        "empty standard input": (say, ARGUMENT, "empty"),
        "no such text": ([*say, "-f", "none.txt"], MISSING, "none.txt"),
        "a folder as text": ([*say, "-f", "bad"], IO, "bad"),
        "latin-1 file": ([*say, "-f", "latin1.txt"], FORMAT, "UTF-8"),
        "invalid argument": ([*say, b"ab\xff"], FORMAT, "UTF-8 at byte 2"),
        "invalid tokenize": (["tokenize", b"\xc3("], FORMAT, "UTF-8"),
        "beyond the positions": (["say", "-o", "out.wav", "--max-frames", "40000", "x"], LIMIT, ["40000", "32768"]),
        # codes
        "no codes file": (decode, ARGUMENT, "codes"),
        "no such codes": ([*decode, "none.npy"], MISSING, "none.npy"),
        "codes of a strange name": ([*decode, "codes.txt"], ARGUMENT, ".json"),
        "ragged codes": ([*decode, "ragged.json"], FORMAT, ["ragged", "row 1"]),
        "empty codes": ([*decode, "empty.json"], ARGUMENT, "no codes"),
        "empty array": ([*decode, "empty.npy"], ARGUMENT, "no codes"),
        "code too high": ([*decode, "high.json"], ARGUMENT, "512"),
        "code negative": ([*decode, "negative.json"], ARGUMENT, "-1"),
        "codes with fractions": ([*decode, "real.json"], FORMAT, "whole number"),
        "codes beyond 32 bits": ([*decode, "huge.json"], FORMAT, "32 bits"),
        "codes of float": ([*decode, "float.npy"], FORMAT, "int32"),
        "codes of one dimension": ([*decode, "flat.npy"], FORMAT, "two dimensions"),
        "codes cut off": ([*decode, "cut.npy"], FORMAT, "shape"),
        "codes of other groups": ([*decode, "codes16.npy"], ARGUMENT, "16 codes"),
        "reference of other groups, decode": ([*decode, "codes8.npy", "--ref-codes", "codes16.npy"], ARGUMENT, "--ref-codes"),
        # outputs
        "no such folder": (["say", *SHORT, "-o", "none/out.wav", "x"], IO, "none/out.wav"),
        "a folder as output": (["say", *SHORT, "-o", "bad", "x"], IO, "directory"),
        "unwritable": (["say", *SHORT, "-o", "/proc/parley.wav", "x"], IO, "/proc/parley.wav"),
        "unwritable json": ([*say, "--json", "none/x.json", "x"], IO, "none/x.json"),
        "unwritable codes": ([*say, "--codes", "none/x.npy", "x"], IO, "none/x.npy"),
        "unwritable dump": ([*say, "--dump", "text.txt", "x"], IO, "text.txt"),
        "full disk": (["say", *SHORT, "-o", "/dev/full", "x"], IO, "space"),
        "full disk, decode": (["codec", "decode", "codes8.npy", "-o", "/dev/full"], IO, "space"),
        # many texts
        "no such jobs": (["say", "--jobs", "none.jsonl", "--output-dir", "d"], MISSING, "none.jsonl"),
        "jobs with a strange key": (["say", "--jobs", "jobs_key.jsonl", "--output-dir", "d"], ARGUMENT, ["line 2", "speed", "voice"]),
        "jobs with a broken line": (["say", "--jobs", "jobs_line.jsonl", "--output-dir", "d"], FORMAT, "line 3"),
        "jobs with a number": (["say", "--jobs", "jobs_type.jsonl", "--output-dir", "d"], FORMAT, "line 1"),
        "no lines": (["say", "-f", "nothing.txt", "--lines", "--output-dir", "d"], ARGUMENT, "no text"),
        "jobs and output": (["say", "--jobs", "jobs_row.jsonl", "--output-dir", "d", "-o", "x.wav"], ARGUMENT, "-o"),
    }


# ------------------------------------------------------------------ cases of their own

def existing_speech(parley, here, base):
    path = os.path.join(here, "speech.wav")
    with open(path, "wb") as f:
        f.write(b"mine")
    expect(run(parley, here, ["say", *SHORT, "x"]), IO, ["speech.wav", "-o"])
    if open(path, "rb").read() != b"mine":
        raise Fail("speech.wav was overwritten")
    expect(run(parley, here, ["say", *SHORT, "-o", "speech.wav", "Yes."]), 0, "speech.wav")
    check_wav(path)


def full_disk(parley, here, base):
    """A limit on the size of files stands for a disk that fills up in the middle."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
    expect(run(parley, here, ["say", "--greedy", "--max-frames", "20", "-o", "out.wav", LONG_TEXT], before=limit), IO, "out.wav")
    expect(run(parley, here, ["codec", "decode", "codes8.npy", "-o", "out.wav"], before=limit), IO, "out.wav")


def full_standard_output(parley, here, base):
    for args in (["--help"], ["say", "--help"], ["tokenize", "x"], ["info"], ["say", *SHORT, "-q", "-o", "out.wav", "--json", "-", "Yes."]):
        with open("/dev/full", "wb") as full:
            expect(run(parley, here, args, stdout=full), IO, "space")
        if os.path.exists(os.path.join(here, "out.wav")):
            check_wav(os.path.join(here, "out.wav"))
            os.unlink(os.path.join(here, "out.wav"))


def closed_pipe(parley, here, base):
    for args in (["say", *SHORT, "-o", "-", "Yes."], ["codec", "decode", "codes8.npy", "-o", "-"], ["info", "--json"]):
        read, write = os.pipe()
        os.close(read)
        told = run(parley, here, args, stdout=write)
        os.close(write)
        expect(told, IO, "pipe")


def closed_descriptors(parley, here, base):
    expect(run(parley, here, ["tokenize", "x"], before=lambda: os.close(1)), IO, "standard output")


def pipe_header(parley, here, base):
    status, data, error = run(parley, here, ["say", *SHORT, "-o", "-", "Yes."])
    expect((status, data, error), 0, "")
    if data[:4] != b"RIFF" or data[4:8] != b"\xff" * 4 or data[40:44] != b"\xff" * 4 or len(data) != 44 + 2 * 1920 * 3:
        raise Fail(f"WAV on a pipe: {len(data)} bytes, {data[:44].hex()}")


def instruct_without_effect(parley, here, base):
    expect(run(parley, here, ["say", *SHORT, "--instruct", "Whisper.", "-o", "out.wav", "Yes."]), 0, "warning")
    check_wav(os.path.join(here, "out.wav"))
    os.unlink(os.path.join(here, "out.wav"))


def punctuation(parley, here, base):
    expect(run(parley, here, ["say", "--seed", "1", "-o", "out.wav", "--json", "out.json", "?!..."]), 0, "")
    told = json.load(open(os.path.join(here, "out.json"), encoding="utf-8"))
    if told["frames"] > told["frame_budget"] or check_wav(os.path.join(here, "out.wav")) != 1920 * told["frames"]:
        raise Fail(f"frames {told['frames']}, budget {told['frame_budget']}")
    for name in ("out.wav", "out.json"):
        os.unlink(os.path.join(here, name))


def too_long_text(parley, here, base):
    expect(run(parley, here, ["say", *SHORT, "-o", "out.wav"], stdin=b"a" * ((16 << 20) + 1)), LIMIT, "16777216")


def failing_rows(parley, here, base):
    told = run(parley, here, ["say", *SHORT, "--jobs", "jobs_row.jsonl", "--output-dir", "d", "--batch", "2", "--codes", "json", "--json", "r.json"])
    expect(told, ARGUMENT, ["text 2", "nobody", "text 3", "empty"])
    if sorted(os.listdir(os.path.join(here, "d"))) != ["0001.json", "0001.wav", "0004.json", "0004.wav"]:
        raise Fail(f"files: {sorted(os.listdir(os.path.join(here, 'd')))}")
    rows = json.load(open(os.path.join(here, "r.json"), encoding="utf-8"))
    if [r["row"] for r in rows] != [1, 2, 3, 4] or ["error" in r for r in rows] != [False, True, True, False]:
        raise Fail(f"report: {rows}")
    for name in ("0001", "0004"):
        check_wav(os.path.join(here, "d", name + ".wav"))
        if len(json.load(open(os.path.join(here, "d", name + ".json"), encoding="utf-8"))[0]) != 8:
            raise Fail("codes of the rows")
    shutil.rmtree(os.path.join(here, "d"))
    os.unlink(os.path.join(here, "r.json"))


def cancelled_on_a_pipe(parley, here, base):
    """The program stands in a write to a full pipe when Ctrl-C comes; what was made until then is finished, and it says so."""
    p = subprocess.Popen([parley, "say", "--greedy", "--wav-format", "f32", "--max-frames", "200", "-o", "-", LONG_TEXT], cwd=here,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    end = time.time() + 60
    while time.time() < end and p.poll() is None and pending(p.stdout) < 40000:     # the pipe takes 65536, some 0.7 s of speech
        time.sleep(0.01)
    p.send_signal(signal.SIGINT)
    time.sleep(0.1)
    data, error = p.communicate(timeout=60)
    expect((p.returncode, data, error.decode()), CANCELLED, "cancelled")
    if (len(data) - 58) % (4 * 1920) != 0 or len(data) <= 58:
        raise Fail(f"{len(data)} bytes are no whole frames")


def pending(pipe):
    return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0\0\0\0"))[0]


def cancelled_batch(parley, here, base):
    with open(os.path.join(here, "many.jsonl"), "w", encoding="utf-8") as f:
        f.write((json.dumps({"text": LONG_TEXT}) + "\n") * 400)
    p = subprocess.Popen([parley, "say", "--seed", "1", "--jobs", "many.jsonl", "--output-dir", "d", "--batch", "4"], cwd=here, stdout=subprocess.DEVNULL,
                         stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    end = time.time() + 60
    while time.time() < end and p.poll() is None and not os.path.exists(os.path.join(here, "d", "0002.wav")):
        time.sleep(0.01)
    p.send_signal(signal.SIGTERM)
    _, error = p.communicate(timeout=60)
    expect((p.returncode, b"", error.decode()), CANCELLED, "cancelled")
    files = os.listdir(os.path.join(here, "d"))
    if not files or len(files) >= 400 or any(not re.fullmatch(r"\d{4}\.wav", name) for name in files):
        raise Fail(f"{len(files)} files, {sorted(files)[:3]}")
    for name in files:
        check_wav(os.path.join(here, "d", name))
    shutil.rmtree(os.path.join(here, "d"))
    os.unlink(os.path.join(here, "many.jsonl"))


def help_everywhere(parley, here, base):
    for args in ([], ["say"], ["codec"], ["codec", "decode"], ["codec", "encode"], ["voice"], ["voice", "make"], ["hear"], ["align"],
                 ["tokenize"], ["info"], ["quantize"], ["bench"]):
        status, out, error = run(parley, here, [*args, "--help"])
        expect((status, out, error), 0, "")
        if b"usage: parley" not in out or error:
            raise Fail(f"{args}: no usage on standard output")
    status, out, _ = run(parley, here, ["--version"])
    if status or not re.fullmatch(rb"parley \d+\.\d+\.\d+\n", out):
        raise Fail(f"--version: {out}")


OWN = {f.__name__: f for f in (existing_speech, full_disk, full_standard_output, closed_pipe, closed_descriptors, pipe_header, instruct_without_effect,
                               punctuation, too_long_text, failing_rows, cancelled_on_a_pipe, cancelled_batch, help_everywhere)}


def one(name, case, parley, base, models):
    with tempfile.TemporaryDirectory() as here:
        prepare(here, models)
        before = snapshot(here)
        if callable(case):
            case(parley, here, base)
        else:
            args, code, says = case
            expect(run(parley, here, args), code, says)
        after = snapshot(here)
        after.pop("speech.wav", None) if name == "existing_speech" else None
        if after != before:
            raise Fail(f"left behind or changed: {sorted(k for k in set(before) | set(after) if before.get(k, 0) != after.get(k, 0))}")


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("parley")
    ap.add_argument("golden")
    ap.add_argument("small")
    ap.add_argument("--only", default="")
    a = ap.parse_args()
    parley, small = os.path.abspath(a.parley), os.path.abspath(a.small)
    base = os.path.join(os.path.abspath(a.golden), "models", "tts_a_base")
    cases = {name: case for name, case in {**plain_cases(base), **OWN}.items() if re.search(a.only, name)}
    failed = 0
    with tempfile.TemporaryDirectory() as models:
        damage(models, small)
        for name, case in cases.items():
            try:
                one(name, case, parley, base, models)
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
