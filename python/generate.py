#!/usr/bin/env python3
"""Writes parley/_abi.py from the public headers: structures, constants, prototypes.

    generate.py [--check]

The headers are plain C in one style, so a few patterns read them; what they do not understand ends the script. tests/python compares the result with
what a C compiler says. --check writes nothing and fails when the file is not what it would write.
"""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
HEADERS = os.path.join(HERE, "..", "include", "parley")
ORDER = ("core.h", "tts.h", "audio.h", "asr.h", "voice.h", "engine.h")
OUTPUT = os.path.join(HERE, "parley", "_abi.py")
PLAIN = {"int32_t": "c_int32", "int64_t": "c_int64", "uint64_t": "c_uint64", "size_t": "c_size_t", "double": "c_double", "float": "c_float",
         "bool": "c_bool", "char": "c_char", "unsigned char": "c_ubyte", "int": "c_int", "void": "None"}
STATEMENT = re.compile(r"typedef enum (?P<enum>\w+) \{(?P<values>.*?)\} \w+;"
                       r"|enum \{(?P<constants>.*?)\};"
                       r"|typedef struct (?P<struct>\w+) \{(?P<fields>.*?)\} \w+;"
                       r"|typedef struct (?P<opaque>\w+) \w+;"
                       r"|typedef (?P<result>[\w ]+?[ *]+)\(\*(?P<callback>\w+)\)\((?P<taken>.*?)\);"
                       r"|PARLEY_API (?:PARLEY_MUST_USE )?(?P<returns>[\w ]+?[ *]+)(?P<function>\w+)\((?P<arguments>[^;]*)\);", re.S)


def split(text, mark):
    """Parts of text between marks that stand in no parenthesis."""
    parts, depth = [""], 0
    for c in text:
        depth += (c in "({") - (c in ")}")
        if c == mark and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [p.strip() for p in parts if p.strip()]


class Abi:
    def __init__(self):
        self.constants, self.structs, self.types, self.opaque, self.functions = {}, {}, dict(PLAIN), set(), {}

    def value(self, text):
        return int(text) if text.lstrip("-").isdigit() else self.constants[text]

    def pointer(self, base, stars):
        """ctypes expression of a base type behind some stars."""
        if stars and (base == "void" or base in self.opaque):
            inner, stars = "c_void_p", stars - 1
        elif stars and base == "char":
            inner, stars = "c_char_p", stars - 1
        else:
            inner = self.types[base]
        return "POINTER(" * stars + inner + ")" * stars

    def callback(self, result, taken):
        base, stars = self.base(result)
        return "CFUNCTYPE(" + ", ".join([self.pointer(base, stars)] + [t for _, t in self.arguments(taken)]) + ")"

    @staticmethod
    def base(text):
        """("char", 2) of "const char *const *"."""
        words = re.sub(r"\b(const|struct)\b", " ", text.replace("*", " * ")).split()
        return " ".join(w for w in words if w != "*"), words.count("*")

    def declarators(self, text):
        """(name, ctypes expression) of each name that `const char *a, b[2]` or `bool (*f)(void *)` declares."""
        function = re.fullmatch(r"(.*?)\(\*(\w+)\)\((.*)\)", text, re.S)
        if function:
            return [(function[2], self.callback(function[1], function[3]))]
        first, *others = split(text, ",")
        head = re.fullmatch(r"(.*?[\s*])(\w+(?:\[\w+\])?)", first, re.S)
        base, stars = self.base(head[1])
        found = [(head[2], stars)] + [(o.lstrip("* "), o.count("*")) for o in others]
        result = []
        for name, depth in found:
            array = re.fullmatch(r"(\w+)\[(\w+)\]", name)
            if array:
                result.append((array[1], f"{self.pointer(base, depth)} * {self.value(array[2])}"))
            else:
                result.append((name, self.pointer(base, depth)))
        return result

    def arguments(self, text):
        """As declarators of a prototype: arrays are pointers."""
        if text.strip() in ("", "void"):
            return []
        result = []
        for part in split(text, ","):
            part = re.sub(r"(\w+)\[\w*\]$", r"*\1", part)
            result += self.declarators(part)
        return result

    def enum(self, text):
        following = 0
        for item in split(text, ","):
            name, _, value = (p.strip() for p in item.partition("="))
            self.constants[name] = self.value(value) if value else following
            following = self.constants[name] + 1

    def statement(self, found):
        if found["enum"]:
            self.types[found["enum"]] = "c_int"
            self.enum(found["values"])
        elif found["constants"]:
            self.enum(found["constants"])
        elif found["struct"]:
            self.structs[found["struct"]] = [d for line in split(found["fields"], ";") for d in self.declarators(line)]
            self.types[found["struct"]] = found["struct"]
        elif found["opaque"]:
            self.opaque.add(found["opaque"])
        elif found["callback"]:
            self.types[found["callback"]] = self.callback(found["result"], found["taken"])
        else:
            base, stars = self.base(found["returns"])
            self.functions[found["function"]] = (self.pointer(base, stars), [t for _, t in self.arguments(found["arguments"])])

    def read(self, name):
        with open(os.path.join(HEADERS, name), encoding="utf-8") as file:
            text = re.sub(r"/\*.*?\*/", " ", file.read(), flags=re.S)
        for name, value in re.findall(r"#define (PARLEY_VERSION_\w+) (\d+)", text):
            self.constants[name] = int(value)
        for number, name in enumerate(re.findall(r"^ +X\((\w+),", text, re.M)):
            self.constants["PARLEY_" + name] = number
        text = text.replace("\\\n", " ")
        text = re.sub(r"typedef enum parley_status \{.*?\} parley_status;", "", text, flags=re.S)
        text = re.sub(r"^\s*#.*$|extern \"C\" \{", "", text, flags=re.M)
        self.types["parley_status"] = "c_int"
        rest = STATEMENT.sub(lambda found: self.statement(found) or "", text)
        if rest.replace("}", "").strip():
            sys.exit(f"generate.py: {name}: not understood: {rest.strip()[:200]}")


def text_of(abi):
    lines = ['"""The C interface as ctypes sees it. Made by generate.py from include/parley: do not edit."""',
             "from ctypes import (CFUNCTYPE, POINTER, Structure, c_bool, c_char, c_char_p, c_double, c_float, c_int, c_int32, c_int64, c_size_t, c_ubyte,",
             "                    c_uint64, c_void_p)", ""]
    lines += [f"{name} = {value}" for name, value in abi.constants.items()]
    for name, fields in abi.structs.items():
        lines += ["", "", f"class {name}(Structure):", "    _fields_ = ["] + [f'        ("{f}", {t}),' for f, t in fields] + ["    ]"]
    lines += ["", "", "FUNCTIONS = {"]
    for name, (result, arguments) in abi.functions.items():
        lines.append(f'    "{name}": ({result}, [{", ".join(arguments)}]),')
    return "\n".join(lines + ["}", ""])


def main():
    abi = Abi()
    for name in ORDER:
        abi.read(name)
    made = text_of(abi)
    if sys.argv[1:] == ["--check"]:
        with open(OUTPUT, encoding="utf-8") as file:
            if file.read() != made:
                sys.exit("python/parley/_abi.py does not fit the headers: run python/generate.py")
        return
    with open(OUTPUT, "w", encoding="utf-8") as file:
        file.write(made)


if __name__ == "__main__":
    main()
