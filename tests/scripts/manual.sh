#!/bin/bash
# manual.sh [PROGRAM]: mandoc finds no fault in the man page, the exit codes in it are those of parley/core.h, and every option that the
# program's --help names is explained there.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."
command -v mandoc >/dev/null || { echo "mandoc is not installed"; exit 77; }
mandoc -Tlint -Wwarning man/parley.1

# "X(FORMAT, "format", 422, 5, "..")" of the header against ".It 5 Pq format" of the page.
header=$(sed -n 's/^ *X([A-Z]*, "\([a-z]*\)", [0-9]*, \([0-9]*\),.*/\2 \1/p' include/parley/core.h | sort -n)
page=$(sed -n 's/^\.It \([0-9]*\) Pq \([a-z]*\).*/\1 \2/p' man/parley.1 | sort -n)
[ -n "$header" ] || { echo "no status found in include/parley/core.h"; exit 1; }
diff <(printf '%s\n' "$header") <(printf '%s\n' "$page") || { echo "exit codes: < include/parley/core.h, > man/parley.1"; exit 1; }

# options SUBCOMMAND..: the long options of its help.
options() { "$program" "$@" --help </dev/null | grep -oE '(^|[ ,|(\[])--[a-z][a-z0-9-]+' | grep -oE -e '--[a-z0-9-]+' | sort -u; }

[ $# -gt 0 ] || exit 0
program=$1
text=$(mandoc -Tascii man/parley.1 | col -bx)
for subcommand in say 'codec decode' 'codec encode' 'voice make' 'voice list' 'voice show' 'voice remove' 'voice import' 'voice export' 'voice vector' hear align serve tokenize info quantize bench; do
    read -ra words <<<"$subcommand"
    found=$(options "${words[@]}")
    [ "$(wc -l <<<"$found")" -ge 2 ] || { echo "parley $subcommand --help names no options"; exit 1; }
    while read -r option; do
        [ "$option" = --help ] || grep -qE -e "(^|[^a-z-])$option([^a-z0-9-]|\$)" <<<"$text" \
            || { echo "man/parley.1 does not explain $option of parley $subcommand"; exit 1; }
    done <<<"$found"
done
