#!/usr/bin/env python3
"""Lengths of functions and files under src/ and apps/: no function over 90 lines, median at most 15, 9 of 10 at most 45; no file over 800.

    functions.py ROOT          prints the figures; exit status 1 when a rule is broken
    functions.py --self-test

Relies on the format (clang-format, Linux braces): a function's body is what stands between a line "{" and a line "}".
"""
import os
import re
import sys
import tempfile

LONGEST, MEDIAN, P90, FILE = 90, 15, 45, 800
NAME = re.compile(r"(\w+)\s*\(")


def functions(lines):
    """(name, first line, lines) of each function, signature and braces counted."""
    start = opened = 0
    for number, line in enumerate(lines, 1):
        if line == "{":
            opened = number
            start = number
            while start > 1 and lines[start - 2] and not lines[start - 2].startswith(("#", "}")) and not lines[start - 2].endswith((";", "*/")):
                start -= 1
        elif line == "}" and opened:
            named = NAME.search(" ".join(lines[start - 1:opened]))
            yield (named.group(1) if named else "?"), start, number - start + 1
            opened = 0


def sources(root):
    for top in ("src", "apps"):
        for at, folders, files in os.walk(os.path.join(root, top)):
            folders.sort()
            for name in sorted(files):
                if name.endswith((".c", ".h", ".inc", ".cu")):
                    yield os.path.relpath(os.path.join(at, name), root)


def rank(sizes, share):
    return sorted(sizes)[min(len(sizes) - 1, int(share * len(sizes)))] if sizes else 0


def report(root):
    """The figures as text, and the broken rules."""
    wrong, sizes, files = [], [], 0
    for file in sources(root):
        with open(os.path.join(root, file), encoding="utf-8") as f:
            lines = f.read().split("\n")
        files += 1
        if len(lines) - 1 > FILE:
            wrong.append(f"{file}: {len(lines) - 1} lines, at most {FILE}")
        for name, start, size in functions(lines):
            sizes.append(size)
            if size > LONGEST:
                wrong.append(f"{file}:{start}: {name} has {size} lines, at most {LONGEST}")
    median, p90 = rank(sizes, 0.5), rank(sizes, 0.9)
    if median > MEDIAN:
        wrong.append(f"the median function has {median} lines, at most {MEDIAN}")
    if p90 > P90:
        wrong.append(f"one function in ten has more than {p90} lines, at most {P90}")
    return f"{files} files, {len(sizes)} functions: median {median}, 90 % within {p90}, longest {max(sizes, default=0)} lines", wrong


def body(size):
    return ["static int f(int a)", "{"] + ["    a++;"] * (size - 3) + ["}", ""]


SAMPLES = [
    (body(15) * 10, []),
    (body(90) + body(5) * 20, []),
    (body(91) + body(5) * 20, ["f has 91 lines"]),
    (body(16) * 10, ["median function has 16"]),
    (body(5) * 16 + body(46) * 4, ["more than 46"]),
    (["int table[] = {"] + ["    1,"] * 200 + ["};"], []),
    (["int a;"] * 801, ["801 lines, at most 800"]),
    (["static int f(int a,", "             int b)", "{"] + ["    a++;"] * 86 + ["}"] + body(5) * 20, []),
    (["static int f(int a,", "             int b)", "{"] + ["    a++;"] * 87 + ["}"] + body(5) * 20, ["f has 91 lines"]),
]


def self_test():
    for lines, want in SAMPLES:
        with tempfile.TemporaryDirectory() as root:
            os.makedirs(os.path.join(root, "src"))
            with open(os.path.join(root, "src", "a.c"), "w", encoding="utf-8") as f:
                f.write("\n".join(lines) + "\n" * (lines[-1] != ""))
            _, got = report(root)
            if len(got) != len(want) or not all(w in g for w, g in zip(want, got)):
                sys.exit(f"reported {got}, wanted {want}")
    print(f"{len(SAMPLES)} samples judged rightly")


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    figures, wrong = report(sys.argv[1])
    print(figures)
    if wrong:
        sys.exit("\n".join(wrong))


main()
