#!/bin/bash
# The linter has nothing to say about the shell scripts.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."
command -v shellcheck >/dev/null || { echo "shellcheck is not installed"; exit 77; }
mapfile -d '' -t files < <(find scripts tests fuzz -name '*.sh' -not -path 'tests/golden/*' -print0 | sort -z)
shellcheck -s bash -x quickstart check .ci/run "${files[@]}"
echo "$((${#files[@]} + 3)) files"
