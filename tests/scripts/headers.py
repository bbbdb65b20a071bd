#!/usr/bin/env python3
"""The public headers: each compiles alone as C11 and as C++17 without a warning, and every function is explained.

    headers.py ROOT          exit status 1 with file and line of what is wrong
    headers.py --self-test

A PARLEY_API function is explained by the comment right above it or above its group, which is what stands together without an empty line.
"""
import glob
import os
import shutil
import subprocess
import sys
import tempfile

STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wundef", "-Wconversion", "-Werror", "-fsyntax-only"]
C_ONLY = ["-Wstrict-prototypes", "-Wmissing-prototypes"]
COMPILERS = [("gcc", ["-x", "c", "-std=c11", *C_ONLY]), ("g++", ["-x", "c++", "-std=c++17"]),
             ("clang", ["-x", "c", "-std=c11", *C_ONLY]), ("clang++", ["-x", "c++", "-std=c++17"])]


def unexplained(text):
    """Line numbers of functions without a comment."""
    lines, explained, inside, missing = text.split("\n"), False, False, []
    for number, line in enumerate(lines, 1):
        if inside or line.lstrip().startswith("/*"):
            inside = "*/" not in line
            explained = True
        elif not line.strip():
            explained = False
        elif line.startswith("PARLEY_API") and not explained:
            missing.append(number)
    return missing


def compile_alone(include, name):
    """What the compilers say about a file that includes this header twice and nothing else."""
    said = []
    for compiler, options in COMPILERS:
        if not shutil.which(compiler):
            continue
        done = subprocess.run([compiler, *options, *STRICT, "-I", include, "-"], input=f"#include <{name}>\n#include <{name}>\n", text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if done.returncode != 0:
            said.append(f"{name} alone with {compiler}:\n{done.stdout}")
    return said


def faults(root):
    include = os.path.join(root, "include")
    for path in sorted(glob.glob(os.path.join(glob.escape(include), "parley", "*.h"))):
        name = os.path.relpath(path, include)
        with open(path, encoding="utf-8") as f:
            for number in unexplained(f.read()):
                yield f"include/{name}:{number}: a function without a comment above it or its group"
        yield from compile_alone(include, name)


GUARD = "#ifndef X\n#define X\n#define PARLEY_API\n%s\n#endif\n"
SAMPLES = [
    (GUARD % "/* Why. */\nPARLEY_API int parley_a(void);\nPARLEY_API int parley_b(void);", 0),
    (GUARD % "/* Why,\n * at length. */\nPARLEY_API int parley_a(void);", 0),
    (GUARD % "\nPARLEY_API int parley_a(void);", 1),
    (GUARD % "/* Why. */\nPARLEY_API int parley_a(void);\n\nPARLEY_API int parley_b(void);", 1),
    (GUARD % "/* Why. */\nPARLEY_API size_t parley_a(void);", len([c for c, _ in COMPILERS if shutil.which(c)])),
    (GUARD % "/* Why. */\nPARLEY_API int parley_a(int class);", len([c for c, _ in COMPILERS if shutil.which(c) and c.endswith("++")])),
]


def self_test():
    for text, want in SAMPLES:
        with tempfile.TemporaryDirectory() as root:
            os.makedirs(os.path.join(root, "include", "parley"))
            with open(os.path.join(root, "include", "parley", "a.h"), "w", encoding="utf-8") as f:
                f.write(text)
            got = list(faults(root))
            if len(got) != want:
                sys.exit(f"{text}\nreported {got}, wanted {want}")
    print(f"{len(SAMPLES)} samples judged rightly")


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    found = list(faults(sys.argv[1]))
    if found:
        sys.exit("\n".join(found))


main()
