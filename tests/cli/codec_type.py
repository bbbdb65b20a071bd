#!/usr/bin/env python3
"""The int8 codec as a user meets it: codec decode, say, bench, and the key of a GGUF file that asks for it.

    codec_type.py PARLEY GOLDEN SMALL_MODEL

Exit status 0 when all pass.
"""
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

ARGUMENT, UNSUPPORTED = 2, 8
BOUND = 35.0  # decibels, docs/QUALITY.md


def run(program, *arguments, expect=0):
    done = subprocess.run([program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=120)
    errors = done.stderr.decode()
    assert done.returncode == expect, f"{arguments}: exit {done.returncode}, expected {expect}: {errors}"
    return done.stdout, errors


def read(path):
    with open(path, "rb") as f:
        return f.read()


def text(value):
    return struct.pack("<Q", len(value)) + value


def with_key(gguf, value):
    """The file with parley.codec.type in front of its keys. A key without meaning fills up to 64 bytes, so that the data stays aligned."""
    key = text(b"parley.codec.type") + value
    filler = b"f" * (64 - len(key) - 8 - 4 - 1)
    magic, version, tensors, keys = struct.unpack_from("<4sIQQ", gguf)
    return struct.pack("<4sIQQ", magic, version, tensors, keys + 2) + key + text(filler) + struct.pack("<IB", 0, 1) + gguf[24:]


def codec_rows(program, *arguments):
    out, _ = run(program, "bench", "--runs", "1", "--prompt", "4", "--frames", "2", "--json", "-", *arguments)
    return {row["stage"] + ", " + row["shape"]: row["type"] for row in json.loads(out) if row["stage"].startswith("codec frame")}


def decodes(program, golden, small, folder):
    codes = os.path.join(golden, "parley_small", "full", "codes.npy")
    exact, rounded = os.path.join(folder, "f32.wav"), os.path.join(folder, "int8.wav")
    _, said = run(program, "codec", "decode", "-q", "-m", small, "--snr", "-o", exact, codes)
    assert "the samples are equal" in said, said
    _, said = run(program, "codec", "decode", "-q", "-m", small, "--codec-type", "int8", "--snr", "-o", rounded, codes)
    ratio = float(re.search(r"ratio against f32: ([0-9.]+) dB", said).group(1))
    assert ratio >= BOUND, said
    assert len(read(exact)) == len(read(rounded)) and read(exact) != read(rounded)
    _, said = run(program, "codec", "decode", "--codec-type", "int4", codes, expect=ARGUMENT)
    assert "int4" in said, said


def speaks(program, golden, small, folder):
    made = {}
    for kind in ("f32", "int8"):
        wav, codes = os.path.join(folder, kind + ".wav"), os.path.join(folder, kind + ".json")
        run(program, "say", "-q", "-m", small, "--seed", "3", "--max-frames", "9", "--codec-type", kind, "--codes", codes, "-o", wav, "Good morning.")
        made[kind] = read(codes), read(wav)
    assert made["f32"][0] == made["int8"][0], "the codec's type changed the codes"
    assert made["f32"][1] != made["int8"][1] and len(made["f32"][1]) == len(made["int8"][1])


def is_measured(program, golden, small, folder):
    rows = codec_rows(program, "-m", small)
    assert len(rows) == 2 and "q8_0" not in rows.values(), rows
    rows = codec_rows(program, "-m", small, "--codec-type", "int8")
    assert sorted(rows.values()) == ["f32", "q8_0", "q8_0"], rows
    assert any(re.search(r"int8 at [0-9.]+ dB", row) for row in rows), rows


def follows_the_file(program, golden, small, folder):
    pair = os.path.join(golden, "gguf_qwentts_a_custom")
    talker, plain, made = os.path.join(pair, "talker-q8_0.gguf"), read(os.path.join(pair, "codec-f32.gguf")), os.path.join(folder, "codec.gguf")

    def file_with(value):
        with open(made, "wb") as f:
            f.write(with_key(plain, value))
        return ["-m", talker, "--codec", made]

    string = struct.pack("<I", 8)
    assert "q8_0" not in codec_rows(program, *file_with(string + text(b"f32"))).values()
    assert "q8_0" in codec_rows(program, *file_with(string + text(b"int8"))).values()
    assert "q8_0" not in codec_rows(program, *file_with(string + text(b"int8")), "--codec-type", "f32").values()
    _, said = run(program, "bench", *file_with(string + text(b"int4")), expect=UNSUPPORTED)
    assert "parley.codec.type" in said and "int4" in said, said
    _, said = run(program, "bench", *file_with(struct.pack("<II", 4, 8)), expect=UNSUPPORTED)
    assert "parley.codec.type" in said, said


def main():
    failed = 0
    for case in (decodes, speaks, is_measured, follows_the_file):
        with tempfile.TemporaryDirectory() as folder:
            try:
                case(*sys.argv[1:4], folder)
                print("ok  ", case.__name__)
            except AssertionError as error:
                failed += 1
                print("FAIL", case.__name__, error)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
