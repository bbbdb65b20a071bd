#!/usr/bin/env python3
"""Compares the structures of python/parley/_abi.py with what a C compiler makes of the headers.

    layout.py PACKAGE INCLUDE CC [--self-test]

Each structure that ctypes mirrors is measured in C: its size, the place and size of each field; each constant by value. --self-test changes one field
first and wants to see it found.
"""
import ctypes
import importlib.util
import os
import subprocess
import sys
import tempfile


def load(package):
    spec = importlib.util.spec_from_file_location("_abi", os.path.join(package, "parley", "_abi.py"))
    abi = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(abi)
    return abi


def mirrored(abi):
    """What Python believes: {name: number}."""
    found = {name: value for name, value in vars(abi).items() if name.startswith("PARLEY_")}
    for name, kind in vars(abi).items():
        if not (isinstance(kind, type) and issubclass(kind, ctypes.Structure)) or not name.startswith("parley_"):
            continue
        found[f"sizeof({name})"] = ctypes.sizeof(kind)
        for field, _ in kind._fields_:
            at = getattr(kind, field)
            found[f"offsetof({name}, {field})"] = at.offset
            found[f"sizeof((({name} *)0)->{field})"] = at.size
    return found


def compiled(names, include, cc):
    """What the compiler says of the same names."""
    lines = "\n".join(f'    printf("%lld\\n", (long long)({name}));' for name in names)
    with tempfile.TemporaryDirectory() as here:
        source, program = os.path.join(here, "layout.c"), os.path.join(here, "layout")
        with open(source, "w", encoding="utf-8") as file:
            file.write(f"#include <parley/parley.h>\n#include <stdio.h>\nint main(void)\n{{\n{lines}\n    return 0;\n}}\n")
        subprocess.run([cc, "-std=c11", "-I", include, source, "-o", program], check=True)
        output = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    return dict(zip(names, map(int, output.split())))


def main():
    package, include, cc = sys.argv[1:4]
    abi = load(package)
    if sys.argv[4:] == ["--self-test"]:
        fields = [(n, ctypes.c_int32 if n == "pause_seconds" else t) for n, t in abi.parley_tts_options._fields_]
        abi.parley_tts_options = type("parley_tts_options", (ctypes.Structure,), {"_fields_": fields})
    ours = mirrored(abi)
    theirs = compiled(list(ours), include, cc)
    wrong = [f"{name}: {ours[name]} in python/parley/_abi.py, {theirs[name]} in C (run python/generate.py)" for name in ours if ours[name] != theirs[name]]
    if sys.argv[4:] == ["--self-test"]:
        sys.exit(0 if any("pause_seconds" in w for w in wrong) else "the changed field was not found")
    print(f"{len(ours)} numbers compared")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
