#!/bin/bash
# exports.sh SHARED STATIC               the shared library exports parley_* only, the archive's global symbols are parley_* or pl_*
# exports.sh --complete SHARED HEADERS   every PARLEY_API function of the headers in this folder is exported, and no own symbol is left undefined
set -euo pipefail

fail() { printf '%s\n' "$*" >&2; exit 1; }

exported() { nm -D --defined-only "$1" | awk '{ print $NF }' | sed 's/@.*//' | sort -u; }

declared()
{
    cat "$1"/*.h | grep -v '^#' | tr '\n' ' ' | grep -o 'PARLEY_API [^;(]*(' | sed 's/ *($//; s/.*[ *]//' | sort -u
}

complete()
{
    local names missing
    names=$(declared "$2")
    [ "$(printf '%s\n' "$names" | wc -l)" -ge 10 ] || fail "only these functions found in $2: $names"
    missing=$(comm -23 <(printf '%s\n' "$names") <(exported "$1"))
    [ -z "$missing" ] || fail "declared in the headers and not exported by $1: $missing"
    missing=$(nm -D --undefined-only "$1" | awk '{ print $NF }' | grep -E '^(parley|pl)_' || true)
    [ -z "$missing" ] || fail "used by $1 and defined nowhere: $missing"
    printf '%s functions, all exported\n' "$(printf '%s\n' "$names" | wc -l)"
}

foreign()
{
    local names other
    names=$(exported "$1")
    [ -n "$names" ] || fail "$1 exports nothing"
    other=$(printf '%s\n' "$names" | grep -v '^parley_' || true)
    [ -z "$other" ] || fail "$1 exports: $other"
    other=$(nm -g --defined-only "$2" 2>/dev/null | awk 'NF == 3 { print $3 }' | sort -u | grep -vE '^(parley|pl)_' || true)
    [ -z "$other" ] || fail "$2 has global symbols that do not begin with parley_ or pl_: $other"
    printf '%s exported functions\n' "$(printf '%s\n' "$names" | wc -l)"
}

if [ "$1" = --complete ]; then
    complete "$2" "$3"
else
    foreign "$1" "$2"
fi
