#!/usr/bin/env python3
"""Who includes whom (docs/ARCHITECTURE.md): reads every #include under src/ and apps/ and fails on an edge that is not allowed.

    layering.py ROOT          names each wrong edge with file and line; exit status 1 when there is one
    layering.py --self-test   made-up trees with one wrong edge each, all of which must be found
"""
import os
import re
import sys
import tempfile

# What a folder of src/ may see directly; it sees what that sees as well, and itself.
BELOW = {
    "base": [],
    "kernels": ["base"],
    "nn": ["kernels"],
    "text": ["base"],
    "weights": ["base"],
    "audio": ["kernels"],
    "sample": ["kernels"],
    "encoder": ["nn"],
    "lm": ["nn"],
    "codec": ["nn"],
    "voice": ["nn"],
    "models": ["audio", "text", "encoder", "lm", "codec", "voice", "sample", "weights"],
    "engine": ["models"],
    "api": ["engine"],
}
# What a folder of apps/ may see beside itself and <parley/..>.
APPS = {"common": [], "server": ["common"], "cli": ["common", "server"]}
# The public headers: their types (statuses, errors, sampling, taps) are everybody's, the umbrella is for callers.
PUBLIC = {f"parley/{name}.h": set(BELOW) for name in ("core", "audio", "tts", "voice", "asr", "quantize")} | {"parley/parley.h": {"api"}, "parley/engine.h": {"engine", "api"}}

# System headers that only one folder may use: the operating system is base's, intrinsics are the kernels'.
RESERVED = [
    (re.compile(r"^(pthread|unistd|fcntl|dirent|sched|signal|time|dlfcn)\.h$|^sys/"), {"base"}),
    (re.compile(r"^(.*mmintrin|immintrin|x86intrin|arm_\w+)\.h$"), {"kernels"}),
]
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def closure(folder):
    seen, queue = {folder}, [folder]
    while queue:
        for below in BELOW[queue.pop()]:
            if below not in seen:
                seen.add(below)
                queue.append(below)
    return seen


def split(path):
    """('models', 'qwen3_tts') of models/qwen3_tts/config.h; the family is '' outside a family's folder."""
    parts = path.split("/")
    return parts[0], parts[1] if parts[0] == "models" and len(parts) > 2 else ""


def wrong_in_library(root, file, quote, target):
    """Why a file of src/ (path from there) may not include this, or None."""
    folder, family = split(file)
    if folder not in BELOW:
        return f"the folder {folder} is in no layer"
    if quote == "<":
        if target.startswith("parley/"):
            return None if folder in PUBLIC.get(target, ()) else f"{folder} may not see {target}"
        for pattern, users in RESERVED:
            if pattern.search(target) and folder not in users:
                return f"<{target}> is for {', '.join(sorted(users))} only"
        return None
    if not os.path.isfile(os.path.join(root, "src", target)):
        return f'"{target}" is no path from src/'
    to, to_family = split(target)
    if to not in closure(folder):
        return f"{folder} -> {to}"
    if to_family and family and to_family != family:
        return f"models/{family} -> models/{to_family}"
    return None


def wrong_in_apps(root, file, quote, target):
    """Why a file of apps/ (path from there) may not include this, or None."""
    if quote == "<":
        return None
    folder = file.split("/")[0]
    if folder not in APPS:
        return f"the folder apps/{folder} is in no layer"
    if any(os.path.isfile(os.path.join(root, "apps", seen, target)) for seen in [folder, *APPS[folder]]):
        return None
    return f'apps/{folder} sees <parley/..> and {", ".join(["itself", *APPS[folder]])}, not "{target}"'


def includes(path):
    with open(path, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            found = INCLUDE.match(line)
            if found:
                yield number, found.group(1), found.group(2)


def sources(folder):
    for at, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            if name.endswith((".c", ".h", ".inc", ".cu", ".cuh")):
                yield os.path.relpath(os.path.join(at, name), folder)


def faults(root):
    for top, wrong in (("src", wrong_in_library), ("apps", wrong_in_apps)):
        for file in sources(os.path.join(root, top)):
            for number, quote, target in includes(os.path.join(root, top, file)):
                why = "'..' in a path" if ".." in target.split("/") else wrong(root, file, quote, target)
                if why:
                    yield f"{top}/{file}:{number}: {why}"


def edges(root):
    """All edges between folders of src/, for the reader of the test's output."""
    found = set()
    for file in sources(os.path.join(root, "src")):
        for _, quote, target in includes(os.path.join(root, "src", file)):
            if quote == '"' and split(target)[0] != split(file)[0]:
                found.add(f"{split(file)[0]} -> {split(target)[0]}")
    return sorted(found)


# (file, line, what the report must hold or None when the edge is allowed)
SAMPLES = [
    ("src/base/a.c", '#include "base/a.h"', None),
    ("src/nn/a.c", '#include "base/a.h"', None),
    ("src/nn/a.c", '#include "kernels/a.h"', None),
    ("src/models/qwen3_tts/a.c", '#include "kernels/a.h"', None),
    ("src/models/qwen3_tts/a.c", '#include <parley/tts.h>', None),
    ("src/models/registry.c", '#include "models/qwen3_tts/a.h"', None),
    ("apps/cli/a.c", '#include <parley/parley.h>', None),
    ("apps/cli/a.c", '#include "cli.h"', None),
    ("apps/cli/a.c", '#include "shared.h"', None),
    ("apps/cli/a.c", '#include "server.h"', None),
    ("apps/server/a.c", '#include "shared.h"', None),
    ("src/base/a.c", '#include "nn/a.h"', "base -> nn"),
    ("src/kernels/a.c", '# include "nn/a.h"', "kernels -> nn"),
    ("src/lm/a.c", '#include "codec/a.h"', "lm -> codec"),
    ("src/nn/a.h", '#include "weights/a.h"', "nn -> weights"),
    ("src/sample/a.c", '#include "nn/a.h"', "sample -> nn"),
    ("src/engine/a.c", '#include "api/a.h"', "engine -> api"),
    ("src/models/qwen3_tts/a.c", '#include "models/qwen3_asr/a.h"', "models/qwen3_tts -> models/qwen3_asr"),
    ("src/nn/a.c", '#include "../base/a.h"', "'..'"),
    ("src/nn/a.c", '#include "a.h"', "no path from src/"),
    ("src/lm/a.c", '#include <parley/parley.h>', "may not see"),
    ("src/lm/a.c", '#include <pthread.h>', "only"),
    ("src/nn/a.c", '#include <immintrin.h>', "only"),
    ("src/helpers/a.c", '#include "base/a.h"', "in no layer"),
    ("apps/cli/a.c", '#include "base/a.h"', "apps/cli sees"),
    ("apps/server/a.c", '#include "cli.h"', "apps/server sees"),
    ("apps/common/a.c", '#include "server.h"', "apps/common sees"),
    ("apps/other/a.c", '#include "a.h"', "in no layer"),
    ("apps/cli/a.c", '#include "../../src/base/a.h"', "'..'"),
]


def write(root, path, text):
    os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
    with open(os.path.join(root, path), "w", encoding="utf-8") as f:
        f.write(text + "\n")


def self_test():
    for file, line, want in SAMPLES:
        with tempfile.TemporaryDirectory() as root:
            for folder in [*BELOW, "models/qwen3_tts", "models/qwen3_asr"]:
                write(root, f"src/{folder}/a.h", "")
            for header in ("cli/cli.h", "server/server.h", "common/shared.h"):
                write(root, f"apps/{header}", "")
            write(root, file, "\n" + line)
            got = list(faults(root))
            good = not got if want is None else len(got) == 1 and got[0].startswith(f"{file}:2: ") and want in got[0]
            if not good:
                sys.exit(f"{file}: {line}: reported {got}, wanted {want}")
    print(f"{len(SAMPLES)} samples judged rightly")


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    found = list(faults(sys.argv[1]))
    print("\n".join(edges(sys.argv[1])))
    if found:
        sys.exit("wrong edges:\n" + "\n".join(found))


main()
