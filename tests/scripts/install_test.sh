#!/bin/bash
# install_test.sh BUILD CC: installs the built project below DESTDIR, moves the tree to a path with a space and a letter outside ASCII, builds
# examples/speak.c against it in four ways (pkg-config and find_package, shared and static) and runs each; the other examples in one way.
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
build=$1 cc=$2
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
prefix="$work/in stallé/parley"

fail() { printf '%s\n' "$*" >&2; exit 1; }

# Installed for /opt/parley and then moved: nothing in the tree may hold the prefix.
DESTDIR="$work/stage" cmake --install "$build" --prefix /opt/parley >/dev/null
mkdir -p "$(dirname "$prefix")"
mv "$work/stage/opt/parley" "$prefix"
cd "$work"

lib=$(dirname "$(find "$prefix" -name libparley.a)")
if grep -rlF -e /opt/parley -e "$root" "$lib/cmake" "$lib/pkgconfig"; then
    fail "these files hold the prefix or the source folder"
fi
[ -f "$prefix/share/man/man1/parley.1" ] || fail "no man page"
export PKG_CONFIG_PATH="$lib/pkgconfig" LD_LIBRARY_PATH="$lib"

# with_pkg_config SOURCE NAME SED OPTION..: pkg-config quotes for a shell, hence eval.
with_pkg_config()
{
    local source=$1 name=$2 edit=$3 flags
    shift 3
    flags=$(pkg-config "$@" --cflags --libs parley | sed "$edit")
    eval "\"\$cc\" -std=c11 -Wall -Wextra -Werror \"\$root/examples/$source.c\" $flags -o $name"
}

with_pkg_config speak pc_shared ''
with_pkg_config speak pc_static 's/-lparley/-l:libparley.a/' --static
with_pkg_config hear hear ''
with_pkg_config streams streams ''
cmake -G Ninja -S "$root/tests/install" -B consumer -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" \
    -DSPEAK_SOURCE="$root/examples/speak.c" >consumer.log || fail "$(cat consumer.log)"
cmake --build consumer >consumer.log || fail "$(cat consumer.log)"

# linked PROGRAM yes|no: whether it needs the shared library at run time.
linked()
{
    local needs=no
    if readelf -d "$1" | grep -q 'NEEDED.*libparley\.so'; then needs=yes; fi
    [ "$needs" = "$2" ] || fail "$1 needs libparley.so: $needs, wanted $2"
}

runs()
{
    local program=$1 model=$2
    if "$program" "$work/none" out.wav text 2>said; then fail "$program spoke without a model"; fi
    grep -q "none" said || fail "$program: the error does not name the model: $(cat said)"
    [ -d "$model" ] || return 0
    "$program" "$model" "$(basename "$program").wav" "Good morning." || fail "$program failed"
    [ "$(stat -c %s "$(basename "$program").wav")" -gt 10000 ] || fail "$program wrote next to nothing"
}

model="$prefix/share/parley/models/parley-small-tts"
[ -d "$model" ] || [ ! -d "$root/models/parley-small-tts" ] || fail "the model is not installed"
for way in "$work/pc_shared yes" "$work/pc_static no" "$work/consumer/speak_shared yes" "$work/consumer/speak_static no"; do
    linked "${way% *}" "${way##* }"
    runs "${way% *}" "$model"
done

# The four programs speak the same.
if [ -d "$model" ]; then
    for name in pc_static speak_shared speak_static; do
        cmp pc_shared.wav "$name.wav" || fail "$name speaks differently"
    done
    ./pc_shared "$model" slow.wav "Good morning." wren 0.5 || fail "speak at speed 0.5 failed"
    [ "$(($(stat -c %s slow.wav) - 44))" = "$((2 * ($(stat -c %s pc_shared.wav) - 44)))" ] || fail "speed 0.5 is not twice as long"
    if ./pc_shared "$model" wrong.wav "Good morning." wren fast 2>said; then fail "speed \"fast\" was taken"; fi
    grep -q "0.25 to 4" said || fail "the range of speeds is not told: $(cat said)"
fi

# The examples that hear, and those that stream: text comes line by line, sound in pieces.
golden="$root/tests/golden"
said=$(./hear "$golden/models/asr_a" "$golden/asr_clip_chirp/audio.wav")
[ "${said#* * }" = "hello world" ] || fail "hear: $said"
python3 - "$golden/asr_clip_chirp/audio.wav" >chirp.f32 <<'PYTHON'
import array, sys, wave
with wave.open(sys.argv[1]) as w:
    pcm = array.array("h", w.readframes(w.getnframes()))
sys.stdout.buffer.write(array.array("f", [v / 32768 for v in pcm]).tobytes())
PYTHON
./streams hear "$golden/models/asr_a" <chirp.f32 >heard.txt 2>/dev/null || fail "streams hear failed"
[ -s heard.txt ] || fail "streams hear wrote nothing"
if [ -d "$model" ]; then
    printf 'Good\nmorning.\n' | ./streams say "$model" >said.f32 || fail "streams say failed"
    [ "$(stat -c %s said.f32)" -gt 20000 ] || fail "streams say wrote next to nothing"
fi

# The installed program finds its model from anywhere.
if [ -x "$prefix/bin/parley" ] && [ -d "$model" ]; then
    mkdir empty
    (cd empty && env -u LD_LIBRARY_PATH "$prefix/bin/parley" say --max-frames 3 -o spoken.wav "Good morning." </dev/null) || fail "the installed program failed"
    [ -s empty/spoken.wav ] || fail "the installed program wrote nothing"
fi
