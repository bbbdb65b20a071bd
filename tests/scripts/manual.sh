#!/bin/bash
# mandoc finds no fault in the man page, and the exit codes in it are those of parley/core.h.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."
command -v mandoc >/dev/null || { echo "mandoc is not installed"; exit 77; }
mandoc -Tlint -Wwarning man/parley.1

# "X(FORMAT, "format", 422, 5, "..")" of the header against ".It 5 Pq format" of the page.
header=$(sed -n 's/^ *X([A-Z]*, "\([a-z]*\)", [0-9]*, \([0-9]*\),.*/\2 \1/p' include/parley/core.h | sort -n)
page=$(sed -n 's/^\.It \([0-9]*\) Pq \([a-z]*\).*/\1 \2/p' man/parley.1 | sort -n)
[ -n "$header" ] || { echo "no status found in include/parley/core.h"; exit 1; }
diff <(printf '%s\n' "$header") <(printf '%s\n' "$page") || { echo "exit codes: < include/parley/core.h, > man/parley.1"; exit 1; }
