#!/usr/bin/env python3
"""parley quantize, end to end: files that say and hear what their source does, and what is refused.

    quantize.py PARLEY GOLDEN SMALL_MODEL VERIFY [--only REGEX]

GOLDEN is tests/golden, SMALL_MODEL parley-small-tts, VERIFY the golden cases' verify.py: it is run on a copy of the cases whose models are the files
that were made. Exit status 0 when all pass.
"""
import argparse
import json
import os
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile

ARGUMENT, IO, MISSING, VALUE = 2, 4, 6, 10
CASES = ("tts_", "asr_text", "asr_tower", "asr_clip", "align_case", "align_pipeline", "voice_")
EXACT = ["--kv", "f32", "--activations", "f32"]


class Fail(Exception):
    pass


class Run:
    """The program in a folder of its own."""

    def __init__(self, parley, golden, small, verify, folder):
        self.parley, self.golden, self.small, self.verify, self.folder = parley, golden, small, verify, folder

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def model(self, name):
        return os.path.join(self.golden, "models", name)

    def start(self, *args, limit=0):
        def shrink():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        return subprocess.run([self.parley, *args], stdin=subprocess.DEVNULL, capture_output=True, cwd=self.folder, timeout=300,
                              preexec_fn=shrink if limit else None)

    def ok(self, *args):
        p = self.start(*args)
        if p.returncode:
            raise Fail(f"{' '.join(args)}: exit code {p.returncode}: {p.stderr.decode().strip()}")
        return p.stdout

    def fails(self, code, text, *args, limit=0):
        p = self.start(*args, limit=limit)
        err = p.stderr.decode()
        if p.returncode != code or text not in err or err.count("\n") != 1:
            raise Fail(f"{' '.join(args)}: exit code {p.returncode}, wanted {code}; wanted {text!r} in one line: {err.strip()!r}")

    def names(self):
        return sorted(os.listdir(self.folder))


def equal(what, want, got):
    if want != got:
        raise Fail(f"{what}: {got!r}, wanted {want!r}")


# ------------------------------------------------------------------ what the files say and hear

def golden_cases(run, parts, weight):
    """Every golden case of every checkpoint, from files in which layers have a type that holds them exactly: ids, codes and stages must be the
    reference's."""
    root = run.path("root")
    os.makedirs(os.path.join(root, "models"))
    for name in os.listdir(run.golden):
        if name.startswith(CASES):
            shutil.copytree(os.path.join(run.golden, name), os.path.join(root, name))
    for name in os.listdir(os.path.join(run.golden, "models")):
        run.ok("quantize", "-q", *[x for part in parts for x in ("--" + part, weight)], run.model(name),
               os.path.join(root, "models", name))
    p = subprocess.run([sys.executable, run.verify, run.parley, "--root", root, "--stages", "--brief"], capture_output=True, timeout=280,
                       env={**os.environ, "XDG_CACHE_HOME": run.path("cache")})
    said = p.stdout.decode().strip().splitlines()
    passed = re.fullmatch(r"(\d+) passed, 0 failed", said[-1] if said else "")
    if p.returncode or not passed or int(passed.group(1)) < 100:
        raise Fail("\n".join(said[-5:]))


def cases_f32(run):
    golden_cases(run, ("talker", "predictor", "codec", "encoder"), "f32")


def cases_bf16(run):
    golden_cases(run, ("talker", "predictor"), "bf16")


def codes_of(run, model, *more):
    run.ok("say", "-q", "-m", model, *EXACT, "--greedy", "--max-frames", "12", "--codes", "codes.npy", "-o", "out.wav", *more, "Well, at home.")
    with open(run.path("codes.npy"), "rb") as codes, open(run.path("out.wav"), "rb") as wav:
        return codes.read(), wav.read()


def gguf_sources(run):
    """From files of other engines: kept as they are, they say the same to the last sample."""
    talker = os.path.join(run.golden, "gguf_qwentts_a_custom")
    pairs = [[os.path.join(talker, f"talker-{t}.gguf"), os.path.join(talker, f"codec-{c}.gguf")] for t, c in (("bf16", "f32"), ("q8_0", "q8_0"))]
    pairs.append([os.path.join(run.golden, "gguf_qts_a_base", "model-bf16.gguf"), os.path.join(run.model("tts_a_base"), "speech_tokenizer")])
    for model, codec in pairs:
        run.ok("quantize", "-q", "--with-codec", codec, model, "made.gguf")
        equal(model, codes_of(run, model, "--codec", codec), codes_of(run, "made.gguf"))
        run.ok("quantize", "-q", "made.gguf", "again.gguf")
        with open(run.path("made.gguf"), "rb") as a, open(run.path("again.gguf"), "rb") as b:
            equal("a copy of a copy", a.read() == b.read(), True)
    asr = os.path.join(run.golden, "gguf_asr_a", "asr-q8_0.gguf")
    clip = os.path.join(run.golden, "asr_clip_chirp", "audio.wav")
    run.ok("quantize", "-q", asr, "asr.gguf")
    hear = ["hear", *EXACT, "--format", "json", clip, "-m"]
    first, second = (json.loads(run.ok(*hear, m))["segments"][0]["token_ids"] for m in (asr, "asr.gguf"))
    equal("tokens", first, second)


def vector_of(run, model, sound):
    run.ok("voice", "vector", "-m", model, sound, "-o", "v.npy")
    with open(run.path("v.npy"), "rb") as f:
        return f.read()


def llama_pairs(run):
    """A model in two files becomes one, whichever half is named, and says the same: text that is projected already, the second form of snake, pages,
    ids and speakers of the vocabulary. Without a codec encoder in the source there is none in the file."""
    pair, base = (os.path.join(run.golden, f"gguf_llama_tts_{x}") for x in ("l", "a_base"))
    codec = os.path.join(run.model("tts_a_base"), "speech_tokenizer")
    short = os.path.join(run.golden, "tts_ref", "short.wav")
    f32 = [x for part in ("talker", "predictor", "codec", "encoder") for x in ("--" + part, "f32")]
    shown = ("model_type", "groups", "sample_rate", "languages", "speakers", "has_codec", "has_codec_encoder", "has_speaker_encoder")
    for folder, more in ((pair, []), (base, ["--codec", codec])):
        wanted = codes_of(run, folder, *more)
        with_codec = ["--with-codec", codec] if more else []
        for name, types in (("model-bf16.gguf", []), ("mmproj-bf16.gguf", f32)):
            run.ok("quantize", "-q", *types, *with_codec, os.path.join(folder, name), "made.gguf")
            equal(name, wanted, codes_of(run, "made.gguf"))
            run.ok("info", "--check", "made.gguf")
            run.ok("quantize", "-q", "made.gguf", "again.gguf")
            with open(run.path("made.gguf"), "rb") as a, open(run.path("again.gguf"), "rb") as b:
                equal("a copy of a copy", a.read() == b.read(), True)
        first, second = (json.loads(run.ok("info", "--json", *x)) for x in ([folder, *more], ["made.gguf"]))
        equal("facts", {k: first[k] for k in shown}, {k: second[k] for k in shown})
        equal("a voice", *(vector_of(run, model, short) for model in (folder, "made.gguf")))


def second_files(run):
    """-m2 names the other half; a codec of llama's goes with another talker; neither half is written over."""
    pair = os.path.join(run.golden, "gguf_llama_tts_l")
    for folder, name in (("one", "model-bf16.gguf"), ("two", "mmproj-bf16.gguf")):
        os.mkdir(run.path(folder))
        shutil.copy(os.path.join(pair, name), run.path(folder))
    halves = ["one/model-bf16.gguf", "two/mmproj-bf16.gguf"]
    wanted = codes_of(run, pair)
    for a, b in (halves, halves[::-1]):
        run.ok("quantize", "-q", "-m2", b, a, "made.gguf")
        equal(a, wanted, codes_of(run, "made.gguf"))
        run.fails(ARGUMENT, "is or lies in the model that is read", "quantize", "-m2", b, a, b)
    run.fails(MISSING, "its mmproj file is not there", "quantize", halves[0], "made.gguf")
    shutil.copy(os.path.join(pair, "model-bf16.gguf"), run.path("two", "model-bf16.gguf"))
    os.chmod(run.path("two", "model-bf16.gguf"), 0o644)
    run.fails(ARGUMENT, "is or lies in the model that is read", "quantize", "two/mmproj-bf16.gguf", "two/model-bf16.gguf")
    report = json.loads(run.ok("quantize", "-q", "-m2", halves[1], "--report", "-", halves[0], "made.gguf"))
    equal("errors of a copy", [0] * 7, [s["relative_error"] for s in report["stages"]])
    run.fails(ARGUMENT, "lies in the model that is read", "quantize", "-q", "-m2", halves[1], "--report", halves[1], halves[0], "made.gguf")


def llama_hearing(run):
    folder = os.path.join(run.golden, "gguf_llama_asr_a")
    clips = [os.path.join(run.golden, f"asr_clip_{name}", "audio.wav") for name in ("chirp", "bells", "bursts")]
    for types in ([], ["--talker", "f32", "--encoder", "f32"]):
        run.ok("quantize", "-q", *types, os.path.join(folder, "mmproj-bf16.gguf"), "made.gguf")
        run.ok("info", "--check", "made.gguf")
        for clip in clips:
            first, second = (json.loads(run.ok("hear", *EXACT, "--format", "json", clip, "-m", m))["segments"] for m in (folder, "made.gguf"))
            equal(clip, [s["token_ids"] for s in first], [s["token_ids"] for s in second])


def same_blocks(run):
    """q8_0 out of the checkpoint is what the other engine's quantiser made of it."""
    folder = os.path.join(run.golden, "gguf_qwentts_a_custom")
    talker, codec = os.path.join(folder, "talker-q8_0.gguf"), os.path.join(folder, "codec-f32.gguf")
    told = json.loads(run.ok("quantize", "--json", "--talker", "q8_0", "--predictor", "q8_0", "--with-codec", codec, run.model("tts_a_custom"), "own.gguf"))
    run.ok("quantize", "-q", "--with-codec", codec, talker, "theirs.gguf")
    equal("what is said", codes_of(run, "theirs.gguf"), codes_of(run, "own.gguf"))
    data = [open(run.path(name), "rb").read() for name in ("own.gguf", "theirs.gguf")]
    weights = sum(t["bytes"] for t in told["tensors"])      # they come last; before them the other engine marks fewer added tokens as special
    equal("sizes", *map(len, data))
    equal("the weights are equal", True, data[0][-weights:] == data[1][-weights:])


def lower_types(run):
    """All types write files that open whole and speak; errors grow as bits go."""
    errors = []
    for weight in ("f16", "q8_0", "q4_0"):
        force = ["--force"] if weight == "q4_0" else []
        told = json.loads(run.ok("quantize", "--json", *force, "--talker", weight, "--predictor", weight, run.small, f"{weight}.gguf"))
        run.ok("info", "--check", f"{weight}.gguf")
        codes_of(run, f"{weight}.gguf")
        parts = {p["part"]: p for p in told["parts"]}
        errors.append(parts["talker"]["relative_error"])
        equal("the codec's error", 0, parts["codec"]["relative_error"])
        types = {t["name"]: t["to"] for t in told["tensors"]}
        equal("a layer", weight, types["talker.blk.0.ffn_up.weight"])
        equal("a norm", "f32", types["talker.blk.0.attn_norm.weight"])
        equal("a head", weight if weight == "f16" else "q8_0", types["talker.codec_head.weight"])
        equal("a codebook", "f32", types["tok_dec.vq_first.0.codebook"])
        equal("the size", told["bytes"], os.path.getsize(run.path(f"{weight}.gguf")))
    equal("errors", errors, sorted(errors))
    if not errors[0] < 1e-3 < errors[1] < 1e-2 < errors[2] < 0.12:
        raise Fail(f"errors {errors}")


def int8_codec(run):
    """A codec in q8_0 holds its kernels in blocks, too, and stays near the exact one."""
    told = json.loads(run.ok("quantize", "--json", "--codec", "q8_0", "--encoder", "q8_0", run.small, "made.gguf"))
    kernels = [t for t in told["tensors"] if t["part"] == "codec" and t["name"].endswith(".conv1.weight") and t["to"] == "q8_0" and t["packed"]]
    if len(kernels) < 3:
        raise Fail(f"{len(kernels)} kernels in q8_0")
    (first, wav), (second, other) = codes_of(run, run.small), codes_of(run, "made.gguf")
    equal("codes", first, second)
    a, b = ([v[0] for v in struct.iter_unpack("<h", w[44:])] for w in (wav, other))
    noise, power = sum((x - y) ** 2 for x, y in zip(a, b)), sum(x * x for x in a)
    if not 0 < noise < power * 10 ** -2.5:
        raise Fail(f"noise {noise}, power {power}")


# ------------------------------------------------------------------ the report

def reports(run):
    same = json.loads(run.ok("quantize", "-q", "--report", "-", run.small, "same.gguf"))
    equal("errors of a copy", [0] * 7, [s["relative_error"] for s in same["stages"]])
    equal("agreement of a copy", (1, 1), (same["taught"]["first_code_agreement"], same["taught"]["other_code_agreement"]))
    equal("durations of a copy", (1, 3), (same["free"]["duration_ratio"], same["free"]["equal"]))
    with open(run.path("texts.txt"), "w", encoding="utf-8") as f:
        f.write("One.\n\nTwo, and more.\n")
    run.ok("quantize", "-q", "--talker", "q4_0", "--report", "report.json", "--texts", "texts.txt", run.small, "lower.gguf")
    with open(run.path("report.json"), encoding="utf-8") as f:
        told = json.load(f)
    errors = {s["stage"]: s["relative_error"] for s in told["stages"]}
    equal("texts", 2, told["texts"])
    if not (0.001 < errors["hidden"] < 0.5 and errors["pcm"] == 0 and 0.5 < told["taught"]["first_code_agreement"] <= 1):
        raise Fail(json.dumps(told))


def hearing_reports(run):
    clips = [os.path.join(run.golden, f"asr_clip_{name}", "audio.wav") for name in ("chirp", "bursts")]
    with open(run.path("clips.txt"), "w", encoding="utf-8") as f:
        f.write("\n".join(clips))
    more = ["--report", "-", "--clips", "clips.txt", run.model("asr_a")]
    same = json.loads(run.ok("quantize", "-q", *more, "same.gguf"))
    equal("errors of a copy", [0] * 3, [s["relative_error"] for s in same["stages"]])
    equal("agreement of a copy", (1, 1, 2), (same["taught"]["token_agreement"], same["free"]["length_ratio"], same["free"]["equal"]))
    lower = json.loads(run.ok("quantize", "-q", "--talker", "q4_0", "--encoder", "q8_0", *more, "lower.gguf"))
    errors = [s["relative_error"] for s in lower["stages"]]
    if not all(0.0001 < e < 0.7 for e in errors) or lower["taught"]["tokens"] != same["taught"]["tokens"]:
        raise Fail(json.dumps(lower))
    run.fails(ARGUMENT, "needs --clips", "quantize", "-q", "--report", "-", run.model("asr_a"), "a.gguf")
    run.fails(ARGUMENT, "an aligner does neither", "quantize", "-q", "--report", "-", "--clips", "clips.txt", run.model("align_a"), "b.gguf")


def report_places(run):
    """What is wrong with --report is said before the work."""
    shutil.copytree(run.model("tts_a_custom"), run.path("model"))
    for name in ("model", "model/speech_tokenizer"):
        os.chmod(run.path(name), 0o755)
    os.mkdir(run.path("folder"))
    for path, code, text in (("model/config.json", ARGUMENT, "lies in the model"), ("model/speech_tokenizer/new.json", ARGUMENT, "lies in the model"),
                             ("made.gguf", ARGUMENT, "is the new model's file"), ("./folder/../made.gguf", ARGUMENT, "is the new model's file"),
                             ("folder", IO, "is a directory"), ("nowhere/report.json", IO, "No such file"), ("", IO, "without a name")):
        run.fails(code, text, "quantize", "--report", path, "model", "made.gguf")
    run.fails(MISSING, "no such file", "quantize", "--report", "r.json", "--texts", "nothing.txt", "model", "made.gguf")
    run.fails(ARGUMENT, "for models that hear", "quantize", "--report", "r.json", "--clips", "nothing.txt", "model", "made.gguf")
    equal("files", (["folder", "model"], []), (run.names(), os.listdir(run.path("folder"))))
    with open(os.path.join(run.model("tts_a_custom"), "config.json"), "rb") as a, open(run.path("model", "config.json"), "rb") as b:
        equal("the model's file", a.read(), b.read())


# ------------------------------------------------------------------ what is refused

def places(run):
    """Never over or into what is read, nor where nothing can be written; and nothing is left behind."""
    shutil.copytree(run.model("tts_a_custom"), run.path("model"))
    shutil.copytree(os.path.join(run.golden, "gguf_qwentts_a_custom"), run.path("pair"), ignore=lambda _, names: [n for n in names if not n.endswith("-q8_0.gguf")])
    os.mkdir(run.path("folder"))
    os.chmod(run.path("pair"), 0o755)
    for name in ("model", "model/speech_tokenizer"):
        os.chmod(run.path(name), 0o755)
    os.symlink("pair/talker-q8_0.gguf", run.path("link"))
    os.link(run.path("pair", "talker-q8_0.gguf"), run.path("hard"))
    reads = "is or lies in the model that is read"
    for source, target in (("model", "model/made.gguf"), ("model", "model/model.safetensors"), ("model", "model/speech_tokenizer/made.gguf"),
                           ("model", "./model/../model/x"), ("pair", "pair/made.gguf"), ("pair/talker-q8_0.gguf", "pair/talker-q8_0.gguf"),
                           ("pair/talker-q8_0.gguf", "link"),
                           ("pair/talker-q8_0.gguf", "hard"), ("link", "pair/talker-q8_0.gguf"), ("hard", "hard"), (run.path("hard"), "./hard"),
                           ("pair/talker-q8_0.gguf", "pair/codec-q8_0.gguf"), ("model", "model")):
        run.fails(ARGUMENT, reads, "quantize", source, target)
    run.fails(ARGUMENT, reads, "quantize", "--with-codec", "pair/codec-q8_0.gguf", "model", "pair/codec-q8_0.gguf")
    run.fails(IO, "is a directory", "quantize", "model", "folder")
    run.fails(IO, "No such file", "quantize", "model", "nowhere/made.gguf")
    run.fails(ARGUMENT, "a model and the file", "quantize", "model")
    run.fails(ARGUMENT, "standard output is not", "quantize", "--report", "-", "model", "-")
    run.fails(ARGUMENT, "with --report alone", "quantize", "--texts", "t", "model", "a.gguf")
    run.fails(MISSING, "no codec is there", "quantize", os.path.join(run.golden, "gguf_qts_a_base", "model-bf16.gguf"), "made.gguf")
    run.fails(ARGUMENT, "has none", "quantize", "--with-codec", "pair/codec-q8_0.gguf", run.model("asr_a"), "made.gguf")
    run.fails(MISSING, "no talker is there", "quantize", "model/speech_tokenizer", "made.gguf")
    run.fails(MISSING, "no such file", "quantize", "nothing", "made.gguf")
    equal("files", ["folder", "hard", "link", "model", "pair"], run.names())
    run.ok("quantize", "-q", "pair/talker-q8_0.gguf", "pair/made.gguf")


def full_disk(run):
    """No room: an error, nothing under the name, and what was there before stays."""
    size = os.path.getsize(os.path.join(run.small, "model.safetensors"))
    for limit in (100, size // 2, size):
        run.fails(IO, "File too large", "quantize", run.small, "made.gguf", limit=limit)
        equal("files", [], run.names())
    with open(run.path("made.gguf"), "w", encoding="utf-8") as f:
        f.write("before")
    run.fails(IO, "File too large", "quantize", run.small, "made.gguf", limit=size // 2)
    with open(run.path("made.gguf"), encoding="utf-8") as f:
        equal("what was there", "before", f.read())


def interrupted(run):
    """Ended in the midst: nothing is left, under no name."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        for _ in range(100):
            with subprocess.Popen([run.parley, "quantize", "-q", "--threads", "1", "--talker", "q4_0", run.small, "made.gguf"], stdin=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, cwd=run.folder) as p:
                while p.poll() is None and not run.names():
                    pass
                p.send_signal(number)
                p.communicate(timeout=60)
            if p.returncode:
                break
            os.unlink(run.path("made.gguf"))  # it was quicker
        if p.returncode not in (-number, 128 + number):
            raise Fail(f"signal {number}: exit code {p.returncode}")
        equal("files", [], run.names())


def truncated(run):
    """Of files that end early nothing is made."""
    shutil.copytree(run.small, run.path("model"))
    pair = os.path.join(run.golden, "gguf_qwentts_a_custom", "talker-q8_0.gguf")
    os.mkdir(run.path("pair"))
    for source, copy in ((os.path.join(run.small, "model.safetensors"), "model/model.safetensors"), (pair, "pair/talker-q8_0.gguf")):
        with open(source, "rb") as f:
            data = f.read()
        for size in (0, 7, 5000, len(data) // 2, len(data) - 1):
            os.chmod(os.path.dirname(run.path(copy)), 0o755)
            if os.path.exists(run.path(copy)):
                os.unlink(run.path(copy))
            with open(run.path(copy), "wb") as f:
                f.write(data[:size])
            p = run.start("quantize", "--talker", "q8_0", os.path.dirname(copy), "made.gguf")
            if p.returncode <= 0 or p.stderr.count(b"\n") != 1 or os.path.dirname(copy).encode() not in p.stderr:
                raise Fail(f"{copy} of {size} bytes: exit code {p.returncode}: {p.stderr!r}")
    equal("files", ["model", "pair"], run.names())


def types(run):
    run.fails(ARGUMENT, "below 8 bits", "quantize", "--predictor", "q4_0", run.small, "made.gguf")
    run.fails(ARGUMENT, "takes multiples of 256; q8_0 and q4_0", "quantize", "--talker", "q4_k", run.model("tts_a_custom"), "made.gguf")
    run.ok("quantize", "-q", "--talker", "q4_0", run.small, "low.gguf")
    run.fails(ARGUMENT, "as q8_0 it would be rounded twice", "quantize", "--talker", "q8_0", "low.gguf", "up.gguf")
    run.fails(ARGUMENT, "take more room and gain nothing", "quantize", "--talker", "f32", "low.gguf", "up.gguf")
    run.ok("quantize", "-q", "--force", "--talker", "q8_0", "low.gguf", "up.gguf")
    run.ok("quantize", "-q", "--talker", "q4_0", "low.gguf", "same.gguf")
    with open(run.path("low.gguf"), "rb") as a, open(run.path("same.gguf"), "rb") as b:
        equal("the same type again", a.read() == b.read(), True)
    run.ok("quantize", "-q", "--talker", "q8_0", run.small, "high.gguf")
    run.fails(ARGUMENT, "as q4_0 it would be rounded twice", "quantize", "--talker", "q4_0", "high.gguf", "down.gguf")
    run.ok("quantize", "-q", "--force", "--talker", "q4_0", "high.gguf", "down.gguf")
    for name in ("up.gguf", "down.gguf"):
        codes_of(run, name)
    equal("files", ["down.gguf", "high.gguf", "low.gguf", "same.gguf", "up.gguf"], [n for n in run.names() if n.endswith(".gguf")])


def poisoned(run):
    """A weight that is not finite is named, whatever the type; one beyond half precision as f16 alone."""
    shutil.copytree(run.model("tts_a_custom"), run.path("model"))
    for folder, _, files in os.walk(run.path("model")):
        for name in [folder] + [os.path.join(folder, f) for f in files]:
            os.chmod(name, 0o755)
    weights = run.path("model", "model.safetensors")
    with open(weights, "rb") as f:
        data = bytearray(f.read())
    head = json.loads(data[8:8 + struct.unpack("<Q", data[:8])[0]])
    entry = head["talker.model.layers.0.mlp.up_proj.weight"]
    equal("the type", "BF16", entry["dtype"])
    at = 8 + struct.unpack("<Q", data[:8])[0] + entry["data_offsets"][0] + 2 * 5
    for bits, type_, text in ((0x7F80, "keep", "value 5 is not finite"), (0x7FC0, "q8_0", "value 5 is not finite"), (0x4B00, "f16", "value 5 is not finite as f16")):
        data[at:at + 2] = struct.pack("<H", bits)
        with open(weights, "wb") as f:
            f.write(data)
        run.fails(VALUE, "'talker.blk.0.ffn_up.weight': " + text, "quantize", "--talker", type_, "model", "made.gguf")
    equal("files", ["model"], run.names())


TESTS = [cases_f32, cases_bf16, gguf_sources, llama_pairs, second_files, llama_hearing, same_blocks, lower_types, int8_codec, reports, hearing_reports, report_places, places, full_disk,
         interrupted, truncated, types, poisoned]


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("parley", "golden", "small", "verify"):
        ap.add_argument(name)
    ap.add_argument("--only", default="")
    a = ap.parse_args()
    failed = 0
    for test in TESTS:
        if not re.search(a.only, test.__name__):
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                test(Run(os.path.abspath(a.parley), os.path.abspath(a.golden), os.path.abspath(a.small), os.path.abspath(a.verify), folder))
                print(f"ok    {test.__name__}", flush=True)
            except Fail as e:
                failed += 1
                print(f"FAIL  {test.__name__}: {e}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
