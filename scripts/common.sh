# Sourced by ./quickstart, ./check and fuzz/run.sh: the package lists (their only place), and how a build folder is set up.
# Debian 12; bash.

export DEBIAN_FRONTEND=noninteractive

# To build and run the program and the library.
# shellcheck disable=SC2034
BUILD_PACKAGES=(gcc libc6-dev cmake ninja-build pkg-config libcjson-dev libutf8proc-dev libsndfile1-dev libsoxr-dev
    libmicrohttpd-dev libgnutls28-dev libmp3lame-dev libopusenc-dev)

# To run all tests as well: unit tests (cmocka, pcre2 as the oracle of the word splitter), the Python package (numpy), structure tests (python3, binutils,
# clang-format, g++ for headers read as C++), sanitizers and fuzzing (clang), NEON under emulation (cross compiler, qemu), prose and scripts, MeCab (Japanese words).
# shellcheck disable=SC2034
TEST_PACKAGES=(libcmocka-dev libpcre2-dev python3 python3-numpy binutils g++ clang clang-format-14 libclang-rt-14-dev llvm-14
    gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user xz-utils bsdextrautils mandoc shellcheck libmecab2 mecab-ipadic-utf8)

say() { printf '%s: %s\n' "${0##*/}" "$*"; }
die() { say "$*" >&2; exit 1; }

missing_packages()
{
    local package
    for package in "$@"; do
        # shellcheck disable=SC2016 # dpkg expands it
        [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || printf '%s\n' "$package"
    done
}

# Installs what is missing of the packages named; asks nothing. Needs root or password-less sudo only when something is missing.
need_packages()
{
    local missing as_root=()
    command -v dpkg-query >/dev/null || die "this needs Debian packages (no dpkg-query here); install the counterparts of: $*"
    mapfile -t missing < <(missing_packages "$@")
    [ ${#missing[@]} -gt 0 ] || return 0
    if [ "$(id -u)" -ne 0 ]; then
        as_root=(sudo -n env DEBIAN_FRONTEND=noninteractive)
        if ! command -v sudo >/dev/null || ! sudo -n true 2>/dev/null; then
            die "missing packages, and neither root nor sudo without a password to install them. Run: apt-get install ${missing[*]}"
        fi
    fi
    say "installing ${missing[*]}"
    "${as_root[@]}" apt-get -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 -q update </dev/null || die "apt-get update failed"
    "${as_root[@]}" apt-get -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 -q install -y --no-install-recommends "${missing[@]}" </dev/null \
        || die "apt-get install failed for: ${missing[*]}"
}

# known VARIABLE FILE: the value in a CMake cache.
known() { sed -n "s/^$1:[A-Z]*=//p" "$2"; }

# configure SOURCE BUILD COMPILER OPTION..: sets up a build folder; one that was made elsewhere (a copied tree), by another generator or with
# another compiler is made anew.
configure()
{
    local source=$1 build=$2 compiler cache=$2/CMakeCache.txt fresh=()
    compiler=$(command -v "$3") || die "no compiler $3"
    shift 3
    if [ -f "$cache" ] && ! { [ "$(known CMAKE_HOME_DIRECTORY "$cache")" = "$source" ] && [ "$(known CMAKE_CACHEFILE_DIR "$cache")" = "$build" ] \
        && [ "$(known CMAKE_GENERATOR "$cache")" = Ninja ] && [ "$(known CMAKE_C_COMPILER "$cache")" = "$compiler" ]; }; then
        fresh=(--fresh)
    fi
    cmake "${fresh[@]}" -G Ninja -S "$source" -B "$build" -DCMAKE_C_COMPILER="$compiler" "$@"
}
