#!/bin/bash
# run.sh [SECONDS [NAME]]: builds the fuzz targets (clang, address and undefined behaviour sanitizers) into build/fuzz and runs each, or the one
# named, for SECONDS (default 60). fuzz/corpus/NAME/ holds the seeds; what is found on the way stays in build/fuzz/corpus/NAME, and an input that
# fails in build/fuzz/failed/. 0 seconds runs the seeds once.
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
# shellcheck source=scripts/common.sh
. "$root/scripts/common.sh"

seconds=${1:-60} only=${2:-}
build=$root/build/fuzz
[[ $seconds =~ ^[0-9]+$ ]] || die "seconds: expected a whole number, got \"$seconds\""
configure "$root" "$build" clang -DCMAKE_BUILD_TYPE=RelWithDebInfo -DPARLEY_FUZZ=ON -DPARLEY_TESTS=OFF --log-level=WARNING
cmake --build "$build"

fuzz()
{
    local name=$1 corpus=$build/corpus/$1 seeds=$root/fuzz/corpus/$1 limit=(-max_total_time="$seconds")
    mkdir -p "$corpus" "$build/failed"
    local folders=("$corpus")
    [ ! -d "$seeds" ] || folders+=("$seeds")
    [ "$seconds" -gt 0 ] || limit=(-runs=0)
    say "$name for $seconds s"
    # The working folder holds what others of this run may write; artifact_prefix is where a failing input goes.
    "$build/fuzz_$name" "${limit[@]}" -timeout=20 -rss_limit_mb=2560 -print_final_stats=1 -artifact_prefix="$build/failed/$name-" "${folders[@]}"
}

run=0
for source in "$root"/fuzz/fuzz_*.c; do
    [ -e "$source" ] || continue
    name=$(basename "$source" .c)
    name=${name#fuzz_}
    if [ -z "$only" ] || [ "$only" = "$name" ]; then
        fuzz "$name" || die "$name failed; its input is in $build/failed/"
        run=$((run + 1))
    fi
done
[ "$run" -gt 0 ] || die "no fuzz target${only:+ named $only} in fuzz/"
say "$run targets ran without a finding"
