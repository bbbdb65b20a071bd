#!/usr/bin/env python3
"""The tables of docs/QUALITY.md: each preset of each model against its source.

    bench/quality.py PARLEY MODEL.. [--texts FILE] [--clips FILE] [--only REGEX] [--threads N]

MODEL that speaks: the texts of FILE, a line each, else three; MODEL that hears: the clips named in FILE. Presets whose types do not fit a model's rows are told as such.
"""
import argparse
import json
import os
import re
import subprocess
import tempfile

SPEECH = {
    "q8_0": ["--talker", "q8_0", "--predictor", "q8_0"],
    "q8_0, codec q8_0": ["--talker", "q8_0", "--predictor", "q8_0", "--codec", "q8_0"],
    "codec q8_0 alone": ["--codec", "q8_0"],
    "q6_k, predictor q8_0": ["--talker", "q6_k", "--predictor", "q8_0"],
    "q4_k, predictor q8_0": ["--talker", "q4_k", "--predictor", "q8_0"],
    "q4_0, predictor q8_0": ["--talker", "q4_0", "--predictor", "q8_0"],
    "q4_0, all forced": ["--talker", "q4_0", "--predictor", "q4_0", "--force"],
}
HEARING = {
    "q8_0": ["--talker", "q8_0", "--encoder", "q8_0"],
    "q6_k, tower q8_0": ["--talker", "q6_k", "--encoder", "q8_0"],
    "q4_k, tower q8_0": ["--talker", "q4_k", "--encoder", "q8_0"],
    "q4_0, tower q8_0": ["--talker", "q4_0", "--encoder", "q8_0"],
}


def run(parley, options, model, out):
    p = subprocess.run([parley, "quantize", "-q", "--report", "-", *options, model, out], capture_output=True, check=False)
    return json.loads(p.stdout) if p.returncode == 0 else p.stderr.decode().strip()


def number(x):
    return "-" if x is None else f"{x:.2g}" if x < 0.1 else f"{x:.3f}".rstrip("0").rstrip(".")


def row(name, size, told):
    if isinstance(told, str):
        return f"| {name} | - | {told.split(': ')[-1]} |"
    errors = " ".join(number(s["relative_error"]) for s in told["stages"])
    taught, free = told["taught"], told["free"]
    shares = [number(taught[k]) for k in ("first_code_agreement", "other_code_agreement", "token_agreement") if k in taught]
    ratio = free.get("duration_ratio", free.get("length_ratio"))
    return f"| {name} | {size / 1e6:.1f} | {errors} | {', '.join(shares)} | {number(ratio)} |"


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("parley")
    ap.add_argument("models", nargs="+")
    ap.add_argument("--texts")
    ap.add_argument("--clips")
    ap.add_argument("--threads")
    ap.add_argument("--only", default="")
    a = ap.parse_args()
    for model in a.models:
        info = json.loads(subprocess.run([a.parley, "info", "--json", model], capture_output=True, check=True).stdout)
        speaks = info["family"] == "qwen3_tts"
        more = (["--texts", a.texts] if a.texts else []) if speaks else ["--clips", a.clips]
        more += ["--threads", a.threads] if a.threads else []
        print(f"\n{os.path.basename(model)}\n", flush=True)
        for name, options in (SPEECH if speaks else HEARING).items():
            if not re.search(a.only, name):
                continue
            with tempfile.TemporaryDirectory() as folder:
                out = os.path.join(folder, "made.gguf")
                told = run(a.parley, options + more, model, out)
                print(row(name, os.path.getsize(out) if os.path.exists(out) else 0, told), flush=True)


if __name__ == "__main__":
    main()
