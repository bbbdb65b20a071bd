#!/usr/bin/env python3
"""Hearing and aligning, end to end: bad input, many files, formats, dumps, cancelling.

    hear.py PARLEY GOLDEN [--only REGEX]

GOLDEN holds models/asr_a, models/align_a, models/tts_a_base and the sounds asr_clip_*. Every case runs in a fresh folder. Exit status 0 when all
pass.
"""
import argparse
import array
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import wave

ARGUMENT, IO, FORMAT, MISSING, UNSUPPORTED, FAMILY, VALUE, LIMIT, CANCELLED = 2, 4, 5, 6, 8, 9, 10, 12, 130
SEGMENT_KEYS = ["end", "finish_reason", "language", "logprobs", "no_speech", "start", "text", "token_ids", "words"]
FILE_KEYS = ["audio_seconds", "file", "finish_reason", "kv_bytes", "language", "peak_memory_bytes", "real_time_factor", "segments", "text", "times"]


class Fail(Exception):
    pass


def want(name, wanted, got):
    if wanted != got:
        raise Fail(f"{name}: {got!r}, wanted {wanted!r}")


# ------------------------------------------------------------------ files for the cases

def write_wav(path, samples, rate=16000):
    with wave.open(path, "wb") as w:
        w.setparams((1, 2, rate, 0, "NONE", ""))
        w.writeframes(samples)


def clip(golden, name):
    with wave.open(os.path.join(golden, "asr_clip_" + name, "audio.wav"), "rb") as w:
        return w.readframes(w.getnframes())


def prepare(here, golden):
    os.symlink(os.path.join(golden, "models"), os.path.join(here, "m"))
    for name in ("chirp", "bursts", "hum", "bells"):
        write_wav(os.path.join(here, name + ".wav"), clip(golden, name))
    write_wav(os.path.join(here, "none.wav"), b"")
    write_wav(os.path.join(here, "tiny.wav"), b"\1\0" * 200)
    write_wav(os.path.join(here, "long.wav"), (clip(golden, "chirp") + clip(golden, "bursts")) * 3)
    put = {"text.wav": b"This is no sound.\n", "empty.wav": b"", "nul.txt": b"hello\0world\n", "latin1.txt": b"caf\xe9\n", "blank.txt": b"",
           "dots.txt": b"...\n", "units.txt": b"hello\nworld\n", "gap.txt": b"hello\n\nworld\n", "hello.txt": b"hello world\n",
           "endless.txt": b"far too much " * 8000}
    for name, data in put.items():
        with open(os.path.join(here, name), "wb") as f:
            f.write(data)
    nan = array.array("f", [0.0] * 500 + [float("nan")] + [0.0] * 500)
    with open(os.path.join(here, "nan.raw"), "wb") as f:
        f.write(nan.tobytes())


def snapshot(here):
    return {os.path.relpath(os.path.join(folder, name), here): os.path.getsize(os.path.join(folder, name)) if name in files else None
            for folder, folders, files in os.walk(here) for name in folders + files}


def run(parley, here, args, stdin=b"", **settings):
    p = subprocess.run([parley, *args], cwd=here, input=stdin, env={**os.environ, **settings}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
    return p.returncode, p.stdout, p.stderr.decode("utf-8", "backslashreplace")


def expect(told, code, says):
    status, _, error = told
    if status != code:
        raise Fail(f"exit code {status}, wanted {code}: {error.strip()[-300:]}")
    for word in [says] if isinstance(says, str) else says:
        if word.lower() not in error.lower():
            raise Fail(f"the message does not say {word!r}: {error.strip()[-300:]}")


def done(told):
    expect(told, 0, "")
    return told[1]


# ------------------------------------------------------------------ cases that leave nothing: arguments, exit code, words of the message

HEAR = ["hear", "-m", "m/asr_a", "-o", "out.txt"]
ALIGN = ["align", "-m", "m/align_a", "-o", "out.json"]
SAYS = ["--text", "hello world"]

PLAIN = {
    # the command line
    "no sound": (HEAR, ARGUMENT, "sound file"),
    "no model": (["hear", "chirp.wav"], ARGUMENT, ["-m MODEL", "no model that hears"]),
    "unknown language": ([*HEAR, "--language", "klingon", "chirp.wav"], ARGUMENT, ["klingon", "English", "zh"]),
    "unknown format": ([*HEAR, "--format", "doc", "chirp.wav"], ARGUMENT, ["txt", "srt", "vtt", "tsv", "lrc", "json"]),
    "unknown attention": ([*HEAR, "--attention", "some", "chirp.wav"], ARGUMENT, ["windowed", "full"]),
    "max-tokens 0": ([*HEAR, "--max-tokens", "0", "chirp.wav"], ARGUMENT, "1 or more"),
    "segment too long": ([*HEAR, "--segment", "1201", "chirp.wav"], ARGUMENT, "1 to 1200"),
    "segment nan": ([*HEAR, "--segment", "nan", "chirp.wav"], ARGUMENT, "1 to 1200"),
    "segment with words": ([*HEAR, "--segment", "181", "--timestamps", "word", "--aligner", "m/align_a", "chirp.wav"], ARGUMENT, "180"),
    "words without aligner": ([*HEAR, "--timestamps", "word", "chirp.wav"], ARGUMENT, "--aligner"),
    "aligner without words": ([*HEAR, "--aligner", "m/align_a", "chirp.wav"], ARGUMENT, "--timestamps"),
    "two contexts": ([*HEAR, "--context", "a", "--context-file", "hello.txt", "chirp.wav"], ARGUMENT, "exclude"),
    "file and folder": ([*HEAR, "--output-dir", "d", "chirp.wav"], ARGUMENT, "exclude"),
    "subtitles of many": ([*HEAR, "--format", "srt", "chirp.wav", "bursts.wav"], ARGUMENT, "--output-dir"),
    "one name twice": (["hear", "-m", "m/asr_a", "--output-dir", "d", "chirp.wav", "./chirp.wav"], ARGUMENT, ["both", "d/chirp.txt"]),
    "standard input twice": ([*HEAR, "-", "-"], ARGUMENT, "once"),
    "rate without raw": ([*HEAR, "--rate", "16000", "chirp.wav"], ARGUMENT, "--raw"),
    "stream of many": ([*HEAR, "--stream", "chirp.wav", "bursts.wav"], ARGUMENT, "one sound"),
    "stream with words": ([*HEAR, "--stream", "--timestamps", "word", "--aligner", "m/align_a", "chirp.wav"], ARGUMENT, "exclude"),
    "stream with dump": ([*HEAR, "--stream", "--dump", "d", "chirp.wav"], ARGUMENT, "exclude"),
    "stream to a folder": (["hear", "-m", "m/asr_a", "--stream", "--output-dir", "d", "chirp.wav"], ARGUMENT, "exclude"),
    "stream of subtitles": ([*HEAR, "--stream", "--format", "srt", "chirp.wav"], ARGUMENT, "json or txt"),
    "stream with full attention": ([*HEAR, "--stream", "--attention", "full", "chirp.wav"], ARGUMENT, "windowed"),
    "stream, short segments": ([*HEAR, "--stream", "--segment", "3", "chirp.wav"], ARGUMENT, "two chunks"),
    "stream at another rate": ([*HEAR, "--stream", "--raw", "s16le", "--rate", "8000", "nan.raw"], UNSUPPORTED, ["16000", "8000"]),
    "stream at the default rate": ([*HEAR, "--stream", "--raw", "s16le", "nan.raw"], UNSUPPORTED, ["16000", "24000"]),
    "stream of nothing": ([*HEAR, "--stream", "none.wav"], ARGUMENT, "no samples"),
    "stream of no bytes": ([*HEAR, "--stream", "empty.wav"], FORMAT, "empty.wav"),
    "stream, not finite": ([*HEAR, "--stream", "--raw", "f32le", "--rate", "16000", "nan.raw"], VALUE, "500"),
    "stream, no such sound": ([*HEAR, "--stream", "nowhere.wav"], MISSING, "nowhere.wav"),
    "stream of a folder": ([*HEAR, "--stream", "m"], UNSUPPORTED, "directory"),
    "stream with an aligner": (["hear", "-m", "m/align_a", "--stream", "-o", "out.txt", "chirp.wav"], FAMILY, "aligner"),
    # sounds
    "no such sound": ([*HEAR, "nowhere.wav"], MISSING, "nowhere.wav"),
    "address": ([*HEAR, "http://example.org/a.wav"], MISSING, "not fetched"),
    "a folder": ([*HEAR, "m"], UNSUPPORTED, "directory"),
    "no bytes": ([*HEAR, "empty.wav"], FORMAT, "empty.wav"),
    "no samples": ([*HEAR, "none.wav"], ARGUMENT, "no samples"),
    "not finite": ([*HEAR, "--raw", "f32le", "--rate", "16000", "nan.raw"], VALUE, "500"),
    # texts
    "context with NUL": ([*HEAR, "--context-file", "nul.txt", "chirp.wav"], FORMAT, ["nul.txt", "NUL"]),
    "context latin1": ([*HEAR, "--context-file", "latin1.txt", "chirp.wav"], FORMAT, "UTF-8"),
    "no such context": ([*HEAR, "--context-file", "nowhere.txt", "chirp.wav"], MISSING, "nowhere.txt"),
    # models
    "no such model": (["hear", "-m", "nowhere", "chirp.wav"], MISSING, "nowhere"),
    "a model that speaks": (["hear", "-m", "m/tts_a_base", "-o", "out.txt", "chirp.wav"], FAMILY, ["qwen3_tts", "does not hear"]),
    "an aligner": (["hear", "-m", "m/align_a", "-o", "out.txt", "chirp.wav"], FAMILY, "aligner"),
    "recogniser as aligner": ([*HEAR, "--timestamps", "word", "--aligner", "m/asr_a", "chirp.wav"], FAMILY, "no aligner"),
    "speaking as aligner": ([*HEAR, "--timestamps", "word", "--aligner", "m/tts_a_base", "chirp.wav"], FAMILY, ["no aligner", "qwen3_tts"]),
    "saying with a recogniser": (["say", "-m", "m/asr_a", "-o", "out.wav", "x"], FAMILY, "speak"),
    "lexicon without words": ([*HEAR, "--lexicon", "hello.txt", "chirp.wav"], ARGUMENT, "--timestamps"),
    "units-by without words": ([*HEAR, "--units-by", "scripts", "chirp.wav"], ARGUMENT, "--timestamps"),
    "lexicon and sound of standard input": ([*HEAR, "--timestamps", "word", "--aligner", "m/align_a", "--lexicon", "-", "-"], ARGUMENT, "once"),
    "lexicon that is not there": ([*HEAR, "--timestamps", "word", "--aligner", "m/align_a", "--lexicon", "nowhere.txt", "chirp.wav"], MISSING, "nowhere.txt"),
    # outputs
    "folder that is not there": (["hear", "-m", "m/asr_a", "-o", "no/out.txt", "chirp.wav"], IO, "no/out.txt"),
    "output-dir is a file": (["hear", "-m", "m/asr_a", "--output-dir", "hello.txt", "chirp.wav"], IO, "hello.txt"),
    "dump is a file": ([*HEAR, "--dump", "hello.txt", "chirp.wav"], IO, "hello.txt"),
    # align
    "align without sound": ([*ALIGN, *SAYS], ARGUMENT, "sound file"),
    "align without model": (["align", *SAYS, "chirp.wav"], ARGUMENT, "-m ALIGNER"),
    "align without text": ([*ALIGN, "chirp.wav"], ARGUMENT, ["--text", "--units"]),
    "align two texts": ([*ALIGN, *SAYS, "--units", "units.txt", "chirp.wav"], ARGUMENT, "one of"),
    "align empty text": ([*ALIGN, "--text", "", "chirp.wav"], ARGUMENT, "nothing to align"),
    "align dots": ([*ALIGN, "--text-file", "dots.txt", "chirp.wav"], ARGUMENT, "nothing to align"),
    "align blank file": ([*ALIGN, "--text-file", "blank.txt", "chirp.wav"], ARGUMENT, "nothing to align"),
    "align NUL": ([*ALIGN, "--text-file", "nul.txt", "chirp.wav"], FORMAT, ["nul.txt", "byte 5"]),
    "align latin1": ([*ALIGN, "--text-file", "latin1.txt", "chirp.wav"], FORMAT, "UTF-8"),
    "align units with a gap": ([*ALIGN, "--units", "gap.txt", "chirp.wav"], ARGUMENT, "line 2"),
    "align no units": ([*ALIGN, "--units", "blank.txt", "chirp.wav"], ARGUMENT, "empty"),
    "align unknown language": ([*ALIGN, *SAYS, "--language", "klingon", "chirp.wav"], ARGUMENT, ["klingon", "English", "zh"]),
    "align Japanese rule for others": ([*ALIGN, *SAYS, "--units-by", "scripts", "chirp.wav"], ARGUMENT, ["--units-by", "Japanese"]),
    "align lexicon for others": ([*ALIGN, *SAYS, "--language", "fr", "--lexicon", "hello.txt", "chirp.wav"], ARGUMENT, ["--lexicon", "Korean"]),
    "align lexicon of units": ([*ALIGN, "--units", "units.txt", "--language", "ko", "--lexicon", "hello.txt", "chirp.wav"], ARGUMENT, "exclude"),
    "align rule of units": ([*ALIGN, "--units", "units.txt", "--language", "ja", "--units-by", "mecab", "chirp.wav"], ARGUMENT, "exclude"),
    "align unknown rule": ([*ALIGN, *SAYS, "--language", "ja", "--units-by", "nagisa", "chirp.wav"], ARGUMENT, ["auto", "mecab", "scripts"]),
    "align no such lexicon": ([*ALIGN, *SAYS, "--language", "ko", "--lexicon", "nowhere.txt", "chirp.wav"], MISSING, "nowhere.txt"),
    "align lexicon NUL": ([*ALIGN, *SAYS, "--language", "ko", "--lexicon", "nul.txt", "chirp.wav"], FORMAT, ["--lexicon", "byte 5"]),
    "align lexicon latin1": ([*ALIGN, *SAYS, "--language", "Korean", "--lexicon", "latin1.txt", "chirp.wav"], FORMAT, "UTF-8"),
    "align standard input twice": ([*ALIGN, *SAYS, "--language", "ko", "--lexicon", "-", "-"], ARGUMENT, "once"),
    "align far too long": ([*ALIGN, "--text-file", "endless.txt", "chirp.wav"], LIMIT, "far more text than sound"),
    "align unknown format": ([*ALIGN, *SAYS, "--format", "txt", "chirp.wav"], ARGUMENT, ["json", "srt"]),
    "align no such sound": ([*ALIGN, *SAYS, "nowhere.wav"], MISSING, "nowhere.wav"),
    "align no samples": ([*ALIGN, *SAYS, "none.wav"], ARGUMENT, "no samples"),
    "align tiny": ([*ALIGN, *SAYS, "tiny.wav"], ARGUMENT, "201"),
    "align not finite": ([*ALIGN, *SAYS, "--raw", "f32le", "--rate", "16000", "nan.raw"], VALUE, "500"),
    "align with a recogniser": (["align", "-m", "m/asr_a", "-o", "out.json", *SAYS, "chirp.wav"], FAMILY, ["no aligner", "recogniser"]),
    "align with a model that speaks": (["align", "-m", "m/tts_a_base", "-o", "out.json", *SAYS, "chirp.wav"], FAMILY, "no aligner"),
}


# ------------------------------------------------------------------ cases of their own

def heard(parley, here, *args, stdin=b""):
    return json.loads(done(run(parley, here, ["hear", "-m", "m/asr_a", "--kv", "f32", "--activations", "f32", "--format", "json", *args], stdin)))


def members(parley, here):
    told = heard(parley, here, "chirp.wav")
    want("members", FILE_KEYS, sorted(told))
    want("members of a segment", SEGMENT_KEYS, sorted(told["segments"][0]))
    want("text", ("hello world", "English", "stop"), (told["text"], told["language"], told["finish_reason"]))
    s = told["segments"][0]
    want("one logprob each", len(s["token_ids"]), len(s["logprobs"]))
    if not s["token_ids"] or any(not -100 < p <= 0 for p in s["logprobs"]) or s["words"] or s["no_speech"]:
        raise Fail(f"segment {s}")
    hum = heard(parley, here, "hum.wav")
    want("no speech", ("", "", True), (hum["text"], hum["language"], hum["segments"][0]["no_speech"]))


def silence(parley, here):
    """What is steady has no text, whole and streamed; nothing stands before the model when it is looked into."""
    seed, noise = 1, []
    for _ in range(48000):
        seed = (seed * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        noise.append((seed >> 33) % 3001 - 1500)
    path = os.path.join(here, "steady.wav")
    for name, values in {"zeros": [0] * 48000, "noise": noise, "square": [600 if i // 160 % 2 else -600 for i in range(48000)]}.items():
        write_wav(path, array.array("h", values).tobytes())
        told = heard(parley, here, "--context", "hello world", "steady.wav")
        segment = told["segments"][0]
        want(name, ("", "", "stop", 1), (told["text"], told["language"], told["finish_reason"], len(told["segments"])))
        want(name, ("", [], [], True, "stop"), (segment["text"], segment["token_ids"], segment["logprobs"], segment["no_speech"], segment["finish_reason"]))
        want(name + " streamed", [("partial", ""), ("final", "")], [(r["type"], r["text"]) for r in streamed(parley, here, "steady.wav")])
        for more in (["--max-tokens", "4"], ["--dump", "d"], ["--gate", "off"]):
            if not heard(parley, here, *more, "steady.wav")["segments"][0]["token_ids"]:
                raise Fail(f"{name}, {more[0]}: the model was not asked")
        want("dump", True, os.path.exists(os.path.join(here, "d", "logits.npy")))
        subprocess.run(["rm", "-r", os.path.join(here, "d"), path], check=True)


def echoes(parley, here):
    """A word of the context that is said alone stays, and is told."""
    told = run(parley, here, ["hear", "-m", "m/asr_a", "--format", "json", "--context", "hello world", "chirp.wav"])
    expect(told, 0, ["piece of the context", "kept"])
    result = json.loads(told[1])
    want("text", ("hello world", True), (result["text"], result["segments"][0].get("echoed")))
    want("no member otherwise", False, "echoed" in heard(parley, here, "chirp.wav")["segments"][0])


def tiny_sound(parley, here):
    told = heard(parley, here, "tiny.wav")
    want("result", ("", "stop", 1, []), (told["text"], told["finish_reason"], len(told["segments"]), told["segments"][0]["token_ids"]))


def standard_input(parley, here):
    with open(os.path.join(here, "chirp.wav"), "rb") as f:
        data = f.read()
    want("a file", "hello world", heard(parley, here, "-", stdin=data)["text"])
    raw = ["--raw", "s16le", "--rate", "16000", "-"]
    want("raw samples", "hello world", heard(parley, here, *raw, stdin=data[44:])["text"])


def many_are_as_alone(parley, here):
    files = ["chirp.wav", "hum.wav", "long.wav", "bursts.wav", "tiny.wav"] * 3
    names = [f"{i}{f}" for i, f in enumerate(files)]
    for name, file in zip(names, files):
        os.link(os.path.join(here, file), os.path.join(here, name))
    alone = {f: heard(parley, here, "--segment", "2", f) for f in set(files)}
    for name, file, told in zip(names, files, heard(parley, here, "--segment", "2", *names)):
        want("file", name, told["file"])
        want(name, alone[file]["segments"], told["segments"])
        want(name, alone[file]["text"], told["text"])
        os.unlink(os.path.join(here, name))
    if len(alone["long.wav"]["segments"]) < 4:
        raise Fail("long.wav was not cut")


def segments_cover(parley, here):
    told = heard(parley, here, "--segment", "1.5", "long.wav")
    want("start", 0, told["segments"][0]["start"])
    for a, b in zip(told["segments"], told["segments"][1:]):
        want("no gap", a["end"], b["start"])
    want("end", told["audio_seconds"], told["segments"][-1]["end"])
    want("none between", "".join(s["text"] for s in told["segments"]), heard(parley, here, "--segment", "1.5", "--join", "none", "long.wav")["text"])


def one_of_many_is_bad(parley, here):
    told = run(parley, here, ["hear", "-m", "m/asr_a", "--format", "json", "-o", "out.json", "chirp.wav", "nowhere.wav", "text.wav", "bursts.wav"])
    expect(told, MISSING, ["sound 2", "nowhere.wav", "sound 3", "2 of 4"])
    with open(os.path.join(here, "out.json"), encoding="utf-8") as f:
        rows = json.load(f)
    want("files", ["chirp.wav", "nowhere.wav", "text.wav", "bursts.wav"], [r["file"] for r in rows])
    want("errors", [None, "missing", None, None], [r.get("error", {}).get("kind") if r["file"] != "text.wav" else None for r in rows])
    want("texts", [True, False, False, True], ["text" in r for r in rows])
    os.unlink(os.path.join(here, "out.json"))
    expect(run(parley, here, ["hear", "-m", "m/asr_a", "--output-dir", "d", "nowhere.wav", "chirp.wav"]), MISSING, "1 of 2")
    want("folder", ["chirp.txt"], os.listdir(os.path.join(here, "d")))
    os.unlink(os.path.join(here, "d", "chirp.txt"))
    os.rmdir(os.path.join(here, "d"))


def not_a_sound(parley, here):
    status, _, error = run(parley, here, [*HEAR, "text.wav"])      # with or without ffmpeg in PATH
    if status not in (FORMAT, UNSUPPORTED) or "text.wav" not in error:
        raise Fail(f"exit code {status}: {error}")


def cut_text(parley, here):
    told = run(parley, here, ["hear", "-m", "m/asr_a", "--format", "json", "--max-tokens", "3", "chirp.wav"])
    expect(told, 0, "cut off")
    want("finish", "length", json.loads(told[1])["finish_reason"])
    quiet = run(parley, here, ["hear", "-q", "-m", "m/asr_a", "--max-tokens", "3", "chirp.wav"])
    want("quiet", "", quiet[2])


def formats(parley, here):
    words = ["--timestamps", "word", "--aligner", "m/align_a"]
    heads = {"txt": b"hello world\n", "srt": b"1\n00:00:00,", "vtt": b"WEBVTT\n", "tsv": b"start\tend\ttext\n", "lrc": b"[00:00."}
    for name, head in heads.items():
        out = os.path.join(here, "out." + name)
        done(run(parley, here, ["hear", "-m", "m/asr_a", *words, "-o", out, "chirp.wav"]))      # the format by the ending
        with open(out, "rb") as f:
            if not f.read().startswith(head):
                raise Fail(f"{name}: does not begin with {head}")
        os.unlink(out)
    heads = {"srt": b"1\n00:00:00,080 --> 00:00:01,120\nHello, world!\n", "vtt": b"WEBVTT\n\n00:00:00.080 --> 00:00:01.120\nHello, world!\n",
             "tsv": b"start\tend\ttext\n80\t480\tHello\n560\t1120\tworld\n", "lrc": b"[00:00.08]Hello, world!\n"}
    for name, head in heads.items():
        out = done(run(parley, here, ["align", "-m", "m/align_a", "--kv", "f32", "--text", "Hello, world!", "--format", name, "chirp.wav"]))
        want(name, head.rstrip(), out.rstrip())


def words_of_segments(parley, here):
    told = heard(parley, here, "--segment", "2", "--timestamps", "word", "--aligner", "m/align_a", "long.wav")
    for s in told["segments"]:
        want("flag", True, isinstance(s["words_reliable"], bool))
        for w in s["words"]:
            if not s["start"] - 1e-9 <= w["start"] <= w["end"]:
                raise Fail(f"{w} in {s['start']}..{s['end']}")
            want("whole ms", round(w["start"], 3), w["start"])
    if not any(s["words"] for s in told["segments"][1:]):
        raise Fail("no words behind the first segment")


def dumps(parley, here):
    def dump(*files):
        done(run(parley, here, ["hear", "-m", "m/asr_a", "--max-tokens", "1", "--dump", "d", *files]))
        top = os.path.join(here, "d")
        found = sorted(os.path.relpath(os.path.join(f, n), top) for f, _, names in os.walk(top) for n in names)
        subprocess.run(["rm", "-r", top], check=True)
        return [p for p in found if p.endswith("mel.npy")]
    want("one", ["mel.npy"], dump("chirp.wav"))
    want("files", ["1/mel.npy", "2/mel.npy"], dump("chirp.wav", "bursts.wav"))
    want("files, one too short", ["2/mel.npy"], dump("tiny.wav", "bursts.wav"))
    several = dump("--segment", "2", "long.wav")
    want("segments", [f"{i + 1}/mel.npy" for i in range(len(several))], several)
    if len(several) < 4:
        raise Fail("long.wav was not cut")


def aligned(parley, here, *args, **settings):
    return json.loads(done(run(parley, here, ["align", "-q", "-m", "m/align_a", "--kv", "f32", "--activations", "f32", *args], **settings)))


def wrong_texts(parley, here):
    """Another text than what is said: an error, or a flag; times that look like such are in order at least, and equal ones are never believed."""
    texts = {"ten times too long": ["--text", "hello world " * 10], "far too long": ["--text", "a " * 200], "of another language": ["--text", "你好世界你好世界你好世界"],
             "of another script": ["--text", "Всем привет, это совсем другой текст", "--language", "ru"], "Japanese": ["--text", "今日はいい天気ですね。" * 3, "--language", "ja"],
             "Korean": ["--text", "안녕하세요 여러분 반갑습니다 오늘은 날씨가 좋네요", "--language", "ko"]}
    told = {name: aligned(parley, here, *text, "chirp.wav") for name, text in texts.items()}
    for name in ("ten times too long", "far too long"):
        want(name, False, told[name]["reliable"])
    for name, t in told.items():
        stamps = [x for w in t["words"] for x in (w["start"], w["end"])]
        want(name + ", order", sorted(stamps), stamps)
        if t["reliable"] and (max(stamps.count(x) for x in stamps) > len(stamps) / 2 or stamps[-1] > t["audio_seconds"] + 0.5):
            raise Fail(f"{name}: believed {stamps}")
    expect(run(parley, here, ["align", "-m", "m/align_a", "--format", "srt", *texts["far too long"], "bursts.wav"]), VALUE, "contradict")
    warned = run(parley, here, ["align", "-m", "m/align_a", *texts["far too long"], "bursts.wav"])
    expect(warned, 0, "not reliable")


def japanese_units(parley, here):
    text = ["--language", "ja", "--text", "今日はいい天気ですね。", "chirp.wav"]
    runs, words = ["今日", "はいい", "天気", "ですね"], ["今日", "は", "いい", "天気", "です", "ね"]

    def check(by, units, told):
        want("rule and units", (by, units), (told["units_by"], [w["text"] for w in told["words"]]))
    nothing = {"MECABRC": "/dev/null"}
    check("scripts", runs, aligned(parley, here, "--units-by", "scripts", *text))
    check("scripts", runs, aligned(parley, here, *text, **nothing))
    expect(run(parley, here, ["align", "-m", "m/align_a", "--units-by", "mecab", *text], **nothing), MISSING, ["--units-by mecab", "mecab-ipadic-utf8"])
    there = run(parley, here, ["align", "-m", "m/align_a", "--units-by", "mecab", *text])
    if there[0] == MISSING:                                        # not installed
        return
    check("mecab", words, json.loads(done(there)))
    check("mecab", words, aligned(parley, here, *text))
    heard_words = ["hear", "-q", "-m", "m/asr_b", "--timestamps", "word", "--aligner", "m/align_a", "--format", "json", "bells.wav"]
    for args, by in (([], "mecab"), (["--units-by", "scripts"], "scripts")):
        s = json.loads(done(run(parley, here, [*heard_words, *args])))["segments"][0]
        want("heard", ("こんにちは", "Japanese", by), (s["text"], s["language"], s["units_by"]))


def korean_units(parley, here):
    text = ["--language", "Korean", "--text", "안녕하세요 나는 학교에 갔다", "chirp.wav"]
    with open(os.path.join(here, "ko.txt"), "w", encoding="utf-8") as f:
        f.write("안녕 3 NNG\n\n학교\t1\r\n나는\n갔\n")
    told = aligned(parley, here, *text)
    want("whole", ("blanks", ["안녕하세요", "나는", "학교에", "갔다"]), (told["units_by"], [w["text"] for w in told["words"]]))
    told = aligned(parley, here, "--lexicon", "ko.txt", *text)
    want("cut", ("lexicon", ["안녕", "하세요", "나는", "학교", "에", "갔다"]), (told["units_by"], [w["text"] for w in told["words"]]))
    told = aligned(parley, here, "--lexicon", "blank.txt", *text)
    want("empty", ("lexicon", 4), (told["units_by"], len(told["words"])))
    os.unlink(os.path.join(here, "ko.txt"))


def windows(parley, here):
    """The small aligner takes 13.04 s at once."""
    with wave.open(os.path.join(here, "long.wav"), "rb") as w:
        write_wav(os.path.join(here, "minute.wav"), w.readframes(w.getnframes()) * 7)
    text = ["--text", " ".join(f"word{i}" for i in range(60)), "minute.wav"]
    told = aligned(parley, here, *text)
    want("words", [f"word{i}" for i in range(60)], [w["text"] for w in told["words"]])
    stamps = [x for w in told["words"] for x in (w["start"], w["end"])]
    want("order", sorted(stamps), stamps)
    if told["windows"] < 4:
        raise Fail(f"{told['windows']} windows")
    want("threads", told["words"], aligned(parley, here, "--threads", "1", *text)["words"])
    dumped = aligned(parley, here, "--dump", "d", *text)
    want("dump", told["words"], dumped["words"])
    if "logits.npy" not in os.listdir(os.path.join(here, "d")):
        raise Fail("nothing dumped")
    subprocess.run(["rm", "-r", os.path.join(here, "d"), os.path.join(here, "minute.wav")], check=True)


def align_inputs(parley, here):
    def words(*args, stdin=b""):
        return json.loads(done(run(parley, here, ["align", "-m", "m/align_a", *args], stdin)))["words"]
    a = words("--text", "hello world", "--language", "en", "chirp.wav")
    want("texts", ["hello", "world"], [w["text"] for w in a])
    want("file", a, words("--text-file", "hello.txt", "--language", "English", "chirp.wav"))
    want("units", a, words("--units", "units.txt", "chirp.wav"))
    want("standard input", a, words("--text-file", "-", "chirp.wav", stdin=b"hello world\n"))


def streamed(parley, here, *args, stdin=b""):
    out = done(run(parley, here, ["hear", "-m", "m/asr_a", "--kv", "f32", "--activations", "f32", "--stream", "-q", *args], stdin)).decode()
    rows = [json.loads(line) for line in out.splitlines()]
    start, stable = 0, b""
    for r in rows:
        want("keys", ["end", "stable", "start", "text", "type"], sorted(r))
        text = r["text"].encode()
        want("start", start, r["start"])
        want("what stood", stable, text[:len(stable)])
        if not len(stable) <= r["stable"] <= len(text) or r["type"] not in ("partial", "final"):
            raise Fail(f"row {r}")
        stable = text[:r["stable"]]
        if r["type"] == "final":
            want("all of it", len(text), r["stable"])
            start, stable = r["end"], b""
    want("last", "final", rows[-1]["type"])
    return rows


def streams(parley, here):
    chirp = [{"type": "final", "start": 0, "end": 1.3, "stable": 11, "text": "hello world"}]
    want("a file", chirp, streamed(parley, here, "chirp.wav"))
    with open(os.path.join(here, "long.wav"), "rb") as f:
        data = f.read()
    rows = streamed(parley, here, "--segment", "4", "long.wav")
    if len(rows) < 4 or [r["type"] for r in rows].count("final") < 2:
        raise Fail(f"{len(rows)} rows")
    length = (len(data) - 44) / 32000
    want("end", length, rows[-1]["end"])
    want("a pipe", rows, streamed(parley, here, "--segment", "4", "-", stdin=data))
    want("open end", rows, streamed(parley, here, "--segment", "4", "-", stdin=data[:40] + b"\xff" * 4 + data[44:]))
    raw = ["--segment", "4", "--raw", "s16le", "--rate", "16000"]
    want("raw", rows, streamed(parley, here, *raw, "-", stdin=data[44:]))
    values = array.array("h", data[44:])
    double = array.array("f", [v / 32768 for v in values for _ in range(2)]).tobytes()
    want("raw floats of two channels", rows, streamed(parley, here, "--segment", "4", "--raw", "f32le", "--rate", "16000", "--channels", "2", "-", stdin=double))
    expect(run(parley, here, ["hear", "-m", "m/asr_a", "--stream", *raw, "-"], data[44:-1]), FORMAT, "inside sample")
    text = done(run(parley, here, ["hear", "-m", "m/asr_a", "--kv", "f32", "--activations", "f32", "--stream", "-q", "--format", "txt", "--segment", "4", "long.wav"]))
    want("text", "".join(r["text"] + "\n" for r in rows if r["type"] == "final" and r["text"]), text.decode())
    write_wav(os.path.join(here, "fast.wav"), data[44:], 32000)         # another rate: read whole
    fast = streamed(parley, here, "fast.wav")
    want("resampled", length / 2, fast[-1]["end"])
    with open(os.path.join(here, "fast.wav"), "rb") as f:
        want("resampled from a pipe", fast, streamed(parley, here, "-", stdin=f.read()))
    os.unlink(os.path.join(here, "fast.wav"))


def stream_is_live(parley, here):
    with open(os.path.join(here, "long.wav"), "rb") as f:
        data = f.read()[44:]
    p = subprocess.Popen([parley, "hear", "-m", "m/asr_a", "--stream", "--raw", "s16le", "--rate", "16000", "-"], cwd=here, stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    p.stdin.write(data[:32000 * 5])
    p.stdin.flush()
    want("first rows", [2, 4], [json.loads(p.stdout.readline())["end"] for _ in range(2)])     # while the pipe is open
    p.send_signal(signal.SIGINT)
    out, error = p.communicate(timeout=60)
    expect((p.returncode, out, error.decode()), CANCELLED, "cancelled")
    last = json.loads(out)
    want("last row", ("final", 4), (last["type"], last["end"]))


def cancelled(parley, here):
    """What is done stays whole, what runs keeps the text so far."""
    with wave.open(os.path.join(here, "long.wav"), "rb") as w:
        data = w.readframes(w.getnframes())
    write_wav(os.path.join(here, "hour.wav"), data * (3600 * 32000 // len(data)))
    p = subprocess.Popen([parley, "hear", "-m", "m/asr_a", "--segment", "5", "--format", "json", "--output-dir", "d", "chirp.wav", "hour.wav"],
                         cwd=here, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    end = time.time() + 60
    while time.time() < end and p.poll() is None and not os.path.exists(os.path.join(here, "d", "chirp.json")):
        time.sleep(0.01)
    p.send_signal(signal.SIGINT)
    _, error = p.communicate(timeout=60)
    expect((p.returncode, b"", error.decode()), CANCELLED, "cancelled")
    finish = []
    for name in ("chirp.json", "hour.json"):
        with open(os.path.join(here, "d", name), encoding="utf-8") as f:
            finish.append(json.load(f)["finish_reason"])
    want("finish", ["stop", "cancelled"], finish)
    subprocess.run(["rm", "-r", os.path.join(here, "d"), os.path.join(here, "hour.wav")], check=True)


def help_of_both(parley, here):
    for name in ("hear", "align"):
        out = done(run(parley, here, [name, "--help"]))
        if f"usage: parley {name}".encode() not in out:
            raise Fail("no usage on standard output")


OWN = {f.__name__: f for f in (members, silence, echoes, tiny_sound, standard_input, many_are_as_alone, segments_cover, one_of_many_is_bad, not_a_sound, cut_text,
                               formats, words_of_segments, dumps, wrong_texts, japanese_units, korean_units, windows, align_inputs, streams,
                               stream_is_live, cancelled, help_of_both)}


def one(case, parley, golden):
    with tempfile.TemporaryDirectory() as here:
        prepare(here, golden)
        before = snapshot(here)
        if callable(case):
            case(parley, here)
        else:
            args, code, says = case
            expect(run(parley, here, args), code, says)
        after = snapshot(here)
        if after != before:
            raise Fail(f"left behind or changed: {sorted(k for k in set(before) | set(after) if before.get(k, 0) != after.get(k, 0))}")


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("parley")
    ap.add_argument("golden")
    ap.add_argument("--only", default="")
    a = ap.parse_args()
    parley, golden = os.path.abspath(a.parley), os.path.abspath(a.golden)
    cases = {name: case for name, case in {**PLAIN, **OWN}.items() if re.search(a.only, name)}
    failed = 0
    for name, case in cases.items():
        try:
            one(case, parley, golden)
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
