#!/bin/sh
# Builds the kernels for 64-bit Arm and runs their checks under emulation. Exit code 77: a tool is missing.
# Usage: run_neon.sh [further compiler options]
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
cc=${CROSS_CC:-aarch64-linux-gnu-gcc}
qemu=${QEMU:-qemu-aarch64}
for tool in "$cc" "$qemu"; do
    if ! command -v "$tool" >/dev/null 2>&1; then
        echo "skipped: $tool is not installed"
        exit 77
    fi
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# compile NAME SOURCE OPTIONS: one object
compile() {
    name=$1
    source=$2
    shift 2
    "$cc" -std=c11 -D_POSIX_C_SOURCE=200809L -O2 -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wcast-qual -Wundef -Wconversion \
        -Werror -fno-math-errno -fno-trapping-math -ffp-contract=off -I"$root/include" -I"$root/src" -I"$root/tests" "$@" -c "$root/$source" -o "$work/$name.o"
}
for name in status arena cpu tensor; do
    compile "base_$name" "src/base/$name.c" "$@"
done
compile pack src/kernels/pack.c "$@"
compile pack_blocks src/kernels/pack_blocks.c "$@"
compile select src/kernels/select.c "$@"
compile blocks src/kernels/ref/blocks.c "$@"
compile scalar src/kernels/ref/scalar.c "$@"
compile neon src/kernels/arm/neon.c "$@"
compile dotprod src/kernels/arm/dotprod.c -march=armv8.2-a+dotprod "$@"
compile i8mm src/kernels/arm/i8mm.c -march=armv8.2-a+dotprod+i8mm "$@"
compile checks tests/cross/neon_kernels.c "$@"
"$cc" -static "$@" "$work"/*.o -lm -o "$work/checks"
"$qemu" -cpu max "$work/checks"
