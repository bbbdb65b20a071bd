#!/bin/bash
# subbuild.sh BUILD LABELS COMPILER OPTION..: configures, builds and tests the project in a build folder of its own; LABELS is the regular
# expression of the test labels to run; those labelled `long` are left to the plain build. One CTest entry of the main build is one call.
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
# shellcheck source=scripts/common.sh
. "$root/scripts/common.sh"

build=$1 labels=$2 compiler=$3
shift 3
configure "$root" "$build" "$compiler" -DPARLEY_TESTS=ON -DPARLEY_SUBBUILDS=OFF -DPARLEY_WERROR=ON "$@"
cmake --build "$build"

# ThreadSanitizer of clang 14 knows the usual memory layout only: randomise addresses less where that is allowed.
plain=()
if setarch -R true 2>/dev/null; then
    plain=(setarch -R)
fi
export ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1
export UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1
exec "${plain[@]}" ctest --test-dir "$build" --output-on-failure --no-tests=error -j "$(nproc)" -L "$labels" -LE long
