#!/usr/bin/env python3
"""Long texts of `parley say`: pieces are texts of their own with the next seed, with silence between; a file is what a pipe gets, at any speed.

    pieces.py PARLEY MODEL

MODEL speaks without a reference. Exit status 0 when all hold.
"""
import json
import os
import struct
import subprocess
import sys
import tempfile

PIECES = ["One day a man came to town.", "He said nothing, which was strange!", "Nobody knew him, not even Dr. Brown."]
FRAMES, RATE = 12, 24000


def run(program, *arguments, text=None, status=0):
    done = subprocess.run([program, "say", "--quiet", *arguments], input=text, capture_output=True, timeout=120)
    if done.returncode != status:
        sys.exit(f"{arguments}: exit status {done.returncode}, wanted {status}: {done.stderr.decode()}")
    return done


def samples(wav):
    return list(struct.unpack(f"<{(len(wav) - 44) // 2}h", wav[44:]))


def live(program, base):
    """Text in parts over a pipe: sound comes before the text has ended, and is that of the whole text."""
    options = [*base, "--seed", "5", "--layout", "streaming", "--max-frames", "60", "-o", "-"]
    text = "\ufeffOne day a man came to town, and he said: gr\u00fc\u00df Gott. It was all that he said\n"
    whole = run(program, *options, "-f", "-", text=text.encode()).stdout
    process = subprocess.Popen([program, "say", "--quiet", *options, "--live"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    head, tail = text.encode()[:40], text.encode()[40:]
    for byte in head:
        process.stdin.write(bytes([byte]))
        process.stdin.flush()
    early = process.stdout.read(44 + 2 * 1920)  # a header and a frame, while the rest of the text is still here
    process.stdin.write(tail)
    process.stdin.close()
    late = process.stdout.read()
    if process.wait() != 0 or early + late != whole:
        sys.exit("a live text is spoken in another way")
    if run(program, *options, "--live", text=b" \n ", status=2).stdout[44:]:
        sys.exit("a blank live text gives sound")


def speed(program, cut, whole, codes):
    """The codes stay; the length of the sound, pauses and all, follows; a file, a pipe and one of many texts are the same."""
    for x in ("0.25", "0.8", "1.5", "4"):
        run(program, *cut, "--speed", x, "-o", "s.wav", "--json", "s.json", "--codes", "s.codes.json")
        with open("s.wav", "rb") as f:
            wav = f.read()
        with open("s.json", encoding="utf-8") as f:
            seconds = json.load(f)["audio_seconds"]
        with open("s.codes.json", encoding="utf-8") as f:
            same = json.load(f) == codes
        if not same or len(samples(wav)) != int(len(whole) / float(x) + 0.5) or abs(seconds * RATE - len(samples(wav))) > 0.01:
            sys.exit(f"speed {x}: {len(samples(wav))} samples of {len(whole)}, {seconds} s reported, codes {'kept' if same else 'changed'}")
        if samples(run(program, *cut, "--speed", x, "-o", "-").stdout) != samples(wav):
            sys.exit(f"speed {x}: standard output is not what the file holds")
        options = [o for o in cut if o not in ("-f", "long.txt")]
        run(program, *options, "--speed", x, "--jobs", "jobs.jsonl", "--output-dir", "out" + x)
        with open(f"out{x}/0001.wav", "rb") as f:
            if f.read() != wav:
                sys.exit(f"speed {x}: one text among many is spoken in another way")
    if samples(run(program, *cut, "--speed", "1", "-o", "-").stdout) != whole:
        sys.exit("speed 1 is a change")


def main():
    program, model = sys.argv[1:]
    base = ["-m", model, "--max-frames", str(FRAMES), "--temperature", "0.8"]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with open("long.txt", "w", encoding="utf-8") as f:
            f.write(" ".join(PIECES))
        cut = [*base, "--seed", "5", "--split", "20", "--pause", "0.25", "-f", "long.txt"]
        run(program, *cut, "-o", "long.wav", "--json", "long.json", "--codes", "long.codes.json")
        with open("long.wav", "rb") as f:
            whole = samples(f.read())
        if samples(run(program, *cut, "-o", "-").stdout) != whole:
            sys.exit("standard output is not what the file holds")
        with open("long.json", encoding="utf-8") as f:
            report = json.load(f)
        with open("long.codes.json", encoding="utf-8") as f:
            codes = json.load(f)
        wanted, made = [], []
        for i, piece in enumerate(PIECES):
            run(program, *base, "--seed", str(5 + i), "-o", f"{i}.wav", "--codes", f"{i}.json", piece)
            with open(f"{i}.wav", "rb") as f:
                wanted += [0] * (RATE // 4 if i else 0) + samples(f.read())
            with open(f"{i}.json", encoding="utf-8") as f:
                made += json.load(f)
        if whole != wanted or codes != made:
            sys.exit("the pieces are not the speech of their texts")
        if report["pieces"] != len(PIECES) or report["frames"] != len(codes):
            sys.exit(f"the report says {report['pieces']} pieces and {report['frames']} frames")
        run(program, *base, "--seed", "5", "-o", "plain.wav", PIECES[0])
        run(program, *base, "--seed", "5", "--split", "27", "-o", "short.wav", PIECES[0])
        with open("plain.wav", "rb") as a, open("short.wav", "rb") as b:
            if a.read() != b.read():
                sys.exit("a text that is no longer than a piece is spoken in another way")
        with open("jobs.jsonl", "w", encoding="utf-8") as f:
            f.write(json.dumps({"text": " ".join(PIECES), "seed": 5}) + "\n" + json.dumps({"text": PIECES[0], "seed": 5}) + "\n")
        run(program, *base, "--split", "20", "--pause", "0.25", "--jobs", "jobs.jsonl", "--output-dir", "out")
        with open("out/0001.wav", "rb") as a, open("out/0002.wav", "rb") as b, open("plain.wav", "rb") as c:
            if samples(a.read()) != whole or b.read() != c.read():
                sys.exit("one text among many is spoken in another way")
        live(program, base[:2] + base[4:])
        live(program, [*base[:2], *base[4:], "--speed", "0.5"])
        speed(program, cut, whole, codes)
        for wrong in (["--live", "--dump", "d"], ["--live", "--special-tokens"], ["--live", "--jobs", "jobs.jsonl", "--output-dir", "o"],
                      ["--split", "19"], ["--split", "-1"], ["--split", "100001"], ["--pause", "11"], ["--split", "20", "--dump", "d"]):
            run(program, *base, *wrong, "-o", "x.wav", "hello", status=2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
