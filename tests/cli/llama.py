#!/usr/bin/env python3
"""Models in two files (llama.cpp), end to end: how they are named, what they lack, names in the vocabulary, one checkpoint in two dialects.

    llama.py PARLEY GOLDEN [--only REGEX]

GOLDEN holds gguf_llama_tts_l, gguf_llama_tts_a_base (of models/tts_a_base), gguf_llama_asr_a (of models/asr_a) and clips. Every case runs in a fresh
folder. Exit status 0 when all pass.
"""
import argparse
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

ARGUMENT, FORMAT, MISSING, FAMILY = 2, 5, 6, 9
EXACT = ["--greedy", "--kv", "f32", "--activations", "f32"]
SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
STRING, ARRAY = 8, 9


class Fail(Exception):
    pass


def check(holds, what):
    if not holds:
        raise Fail(what)


# ------------------------------------------------------------------ writing a vocabulary anew

def string_at(data, at):
    n = struct.unpack_from("<Q", data, at)[0]
    return data[at + 8:at + 8 + n], at + 8 + n


def end_of_value(data, at, kind):
    if kind == STRING:
        return string_at(data, at)[1]
    if kind != ARRAY:
        return at + SIZES[kind]
    item, count = struct.unpack_from("<IQ", data, at)
    at += 12
    for _ in range(count):
        at = end_of_value(data, at, item)
    return at


def renamed(data, names):
    """The GGUF file with other token names: {old: new} of any length."""
    names = {a.encode(): b.encode() for a, b in names.items()}
    n_tensors, n_keys = struct.unpack_from("<QQ", data, 8)
    at, out, done = 24, [data[:24]], 0
    for _ in range(n_keys):
        begin = at
        key, at = string_at(data, at)
        kind, value = struct.unpack_from("<I", data, at)[0], at + 4
        at = end_of_value(data, value, kind)
        if key != b"tokenizer.ggml.tokens":
            out.append(data[begin:at])
            continue
        count, item = struct.unpack_from("<Q", data, value + 4)[0], value + 12
        out.append(data[begin:item])
        for _ in range(count):
            token, item = string_at(data, item)
            done += token in names
            token = names.get(token, token)
            out.append(struct.pack("<Q", len(token)) + token)
    check(done == len(names), f"{done} of {len(names)} tokens were found")
    begin = at
    for _ in range(n_tensors):
        at = string_at(data, at)[1]
        at += 4 + 8 * struct.unpack_from("<I", data, at)[0] + 12
    out.append(data[begin:at])
    head = b"".join(out)
    return head + bytes(-len(head) % 32) + data[(at + 31) // 32 * 32:]


# ------------------------------------------------------------------ running

class World:
    def __init__(self, parley, golden, here):
        self.parley, self.golden, self.here = parley, golden, here
        self.l, self.a, self.h = (os.path.join(golden, "gguf_llama_" + n) for n in ("tts_l", "tts_a_base", "asr_a"))
        self.base, self.asr = os.path.join(golden, "models", "tts_a_base"), os.path.join(golden, "models", "asr_a")
        self.codec = os.path.join(self.base, "speech_tokenizer")
        self.short = os.path.join(golden, "tts_ref", "short.wav")
        self.clips = [os.path.join(golden, "asr_clip_" + n, "audio.wav") for n in ("chirp", "bells", "bursts")]
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("XDG_")} | {"HOME": here}

    def at(self, name):
        return os.path.join(self.here, name)

    def read(self, name):
        with open(self.at(name), "rb") as f:
            return f.read()

    def run(self, *args, code=0, says=()):
        p = subprocess.run([self.parley, *args], cwd=self.here, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           timeout=120)
        error = p.stderr.decode("utf-8", "backslashreplace")
        check(p.returncode == code, f"{' '.join(args)}: exit code {p.returncode}, wanted {code}: {error.strip()[-300:]}")
        for word in [says] if isinstance(says, str) else says:
            check(word in error, f"{' '.join(args)}: the message does not say {word!r}: {error.strip()[-300:]}")
        self.error = error
        return p.stdout.decode()

    def say(self, *args, **how):
        self.run("say", *EXACT, "--max-frames", "6", "--codes", "codes.npy", "-o", "out.wav", *args, "--", "Two files, ## one voice.", **how)
        if how.get("code", 0):
            return None
        codes = self.read("codes.npy"), self.read("out.wav")
        os.remove(self.at("out.wav"))
        return codes

    def info(self, *args):
        return json.loads(self.run("info", "--json", *args))


def files(folder):
    return [os.path.join(folder, n + "-bf16.gguf") for n in ("model", "mmproj")]


# ------------------------------------------------------------------ cases

def case_named(w):
    """A folder, either file, both in either order: the same speech."""
    text, rest = files(w.l)
    want = w.say("-m", w.l)
    for args in (["-m", text], ["-m", rest], ["-m", text, "-m2", rest], ["-m", rest, "-m2", text], ["-m", rest, "--model2", text],
                 ["-m", text, "--model2=" + rest]):
        check(w.say(*args) == want, f"{args}: other speech")
    want = w.run("hear", "-q", "-m", w.h, w.clips[0])
    text, rest = files(w.h)
    for args in (["-m", text], ["-m", rest], ["-m", text, "-m2", rest], ["-m", rest, "-m2", text]):
        check(w.run("hear", "-q", *args, w.clips[0]) == want, f"{args}: another text")


def case_every_subcommand(w):
    text, rest = files(w.l)
    pair = ["-m", rest, "-m2", text]
    w.run("tokenize", *pair, "Hello")
    w.run("voice", "vector", *pair, w.short, "-o", "v.npy")
    w.run("voice", "make", *pair, w.short, "-o", "v.voice")
    w.say(*pair, "--voice", "./v.voice")
    w.say(*pair)
    w.run("codec", "decode", *pair, "codes.npy", "-o", "back.wav")
    w.run("codec", "encode", *pair, w.short, "-o", "x.npy", code=MISSING, says=["no codec encoder", rest])
    w.run("voice", "import", *pair, "nothing.spk", "-o", "i.voice", code=MISSING, says="nothing.spk")
    w.run("bench", *pair, "--runs", "1", "--frames", "2", "--prompt", "8")
    check(w.info(*pair)["dialect"] == "llama", "info: another dialect")
    text, rest = files(w.h)
    w.run("align", "-m", rest, "-m2", text, "--text", "a", w.clips[0], code=FAMILY, says="is no aligner")
    w.run("say", "-m2", text, "hi", code=ARGUMENT, says="needs -m")
    for command in (["say"], ["hear"], ["align"], ["tokenize"], ["info"], ["bench"], ["codec", "decode"], ["codec", "encode"], ["voice", "make"],
                    ["voice", "import"], ["voice", "vector"]):
        check("-m2, --model2 FILE" in w.run(*command, "--help"), f"{command}: --help does not name -m2")


def case_one_checkpoint(w):
    """The directory and its two files: equal codes, and equal sound with one codec."""
    want = w.say("-m", w.base)
    check(w.say("-m", w.a, "--codec", w.codec) == want, "speech of the two dialects differs")
    clone = ["--clone", w.short, "--ref-text", "At home.", "--no-cache"]
    want = w.say("-m", w.base, *clone)
    check(w.say("-m", w.a, "--codec", w.codec, *clone) == want, "cloned speech of the two dialects differs")
    ids = [w.run("tokenize", "--special-tokens", "-m", m, "# ## Naïve <|im_start|> <|codec_3|> <think>") for m in (w.base, w.a)]
    check(ids[0] == ids[1], f"ids {ids}")
    heard = [w.run("hear", "-q", "--kv", "f32", "--activations", "f32", "--format", "json", "-m", m, *w.clips[:1]) for m in (w.asr, w.h)]
    tokens = [json.loads(h)["segments"][0]["text"] for h in heard]
    check(tokens[0] == tokens[1] and tokens[0], f"texts {tokens}")


def case_lacking(w):
    """What is not there is told, and asked for by name."""
    told = w.info(w.l)
    check(told["has_codec"] and told["has_speaker_encoder"] and not told["has_codec_encoder"] and told["speakers"] == [], f"info: {told}")
    check(re.search(r"^not there +preset speakers, codec encoder$", w.run("info", w.l), re.M), "info does not tell what is not there")
    check(w.info(w.a, "--codec", w.codec)["has_codec_encoder"], "info: the codec that was named has an encoder")
    needs = ["codec encoder", "--codec"]
    w.say("-m", w.l, "--clone", w.short, "--ref-text", "At home.", code=MISSING, says=needs)
    w.run("voice", "make", "-m", w.l, "--text", "At home.", w.short, "-o", "v.voice", code=MISSING, says=needs)
    w.say("-m", w.l, "--clone", w.short, "--no-cache")
    w.say("-m", w.l, "--voice", "ryan", code=ARGUMENT, says=["ryan", "no speakers"])


def case_replaced_codec(w):
    """A codec that is named takes the place of the mmproj's, which may be anything."""
    for name, path in zip(("model", "mmproj"), files(w.a)):
        with open(path, "rb") as f:
            data = f.read()
        with open(w.at(name + ".gguf"), "wb") as f:
            f.write(data.replace(b"a.gen.wav.", b"a.gen.wax."))
    w.say("-m", ".", code=MISSING, says=["a.gen.wav.", "model.gguf", "mmproj.gguf"])
    want = w.say("-m", w.a, "--codec", w.codec)
    check(w.say("-m", ".", "--codec", w.codec) == want, "other speech")


def case_speakers(w):
    """Names in the vocabulary: speakers, the dialects of two of them, ids that another key took over."""
    text, rest = files(w.l)
    with open(text, "rb") as f:
        data = f.read()
    with open(w.at("model.gguf"), "wb") as f:
        f.write(renamed(data, {"<|codec_1000|>": "<|spk_eric|>", "<|codec_1001|>": "<|spk_dylan|>", "<|codec_1002|>": "<|spk_Uncle_Fu|>",
                               "<|codec_1003|>": "<|codec_language_sichuan_dialect|>"}))
    told = w.info("-m", "model.gguf", "-m2", rest)
    check(told["model_type"] == "custom_voice" and told["xvector_length"] == 0, f"info: {told}")
    check(told["speakers"] == [{"name": "eric", "dialect": "sichuan_dialect"}, {"name": "dylan", "dialect": ""}, {"name": "uncle_fu", "dialect": ""}],
          f"speakers: {told['speakers']}")
    check("sichuan_dialect" not in told["languages"] and len(told["languages"]) == 10, f"languages: {told['languages']}")
    w.say("-m", "model.gguf", "-m2", rest, "--voice", "uncle_fu", "--language", "german", says=["warning", "model.gguf", rest])
    with open(w.at("other.gguf"), "wb") as f:
        f.write(renamed(data, {"<|codec_pad|>": "<|pad_token|>"}))
    w.say("-m", "other.gguf", "-m2", rest, code=MISSING, says="'<|codec_pad|>'")


def case_mixed_up(w):
    """Errors name both files."""
    text, rest = files(w.l)
    other_text, other_rest = files(w.h)
    for first, second, code in ((text, files(w.a)[0], ARGUMENT), (rest, files(w.a)[1], ARGUMENT), (text, other_rest, FAMILY),
                                (rest, other_text, FAMILY), (text, text, ARGUMENT)):
        w.run("say", "-m", first, "-m2", second, "hi", code=code, says=[first, second])
    w.run("hear", "-m", other_text, "-m2", rest, w.clips[0], code=FAMILY, says=[other_text, rest])
    with open(rest, "rb") as f:
        data = f.read()
    with open(w.at("cut.gguf"), "wb") as f:
        f.write(data[:len(data) // 2])
    shutil.copy(text, w.at("text.gguf"))
    for args in (["-m", "."], ["-m", "text.gguf"], ["-m", "text.gguf", "-m2", "cut.gguf"], ["-m", "cut.gguf", "-m2", "text.gguf"]):
        w.run("say", *args, "hi", code=FORMAT, says=["cut.gguf", "text.gguf"])


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("parley")
    ap.add_argument("golden")
    ap.add_argument("--only", default="")
    a = ap.parse_args()
    failed = 0
    for name, case in sorted(globals().items()):
        if not name.startswith("case_") or not re.search(a.only, name):
            continue
        with tempfile.TemporaryDirectory() as here:
            try:
                case(World(os.path.abspath(a.parley), os.path.abspath(a.golden), here))
                print(f"ok    {name[5:]}")
            except Fail as e:
                failed += 1
                print(f"FAIL  {name[5:]}: {e}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
