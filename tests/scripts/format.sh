#!/bin/bash
# All C files are as clang-format 14 writes them (.clang-format). With --fix they are made so.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."
command -v clang-format-14 >/dev/null || { echo "clang-format-14 is not installed"; exit 77; }
folders=()
for folder in src apps include tests fuzz examples; do
    [ ! -d "$folder" ] || folders+=("$folder")
done
mapfile -d '' -t files < <(find "${folders[@]}" -name '*.[ch]' -not -path 'tests/golden/*' -print0 | sort -z)
if [ "${1:-}" = --fix ]; then
    exec clang-format-14 -i "${files[@]}"
fi
clang-format-14 --dry-run -Werror --ferror-limit=5 "${files[@]}"
echo "${#files[@]} files"
