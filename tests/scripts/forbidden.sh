#!/bin/bash
# forbidden.sh ARCHIVE          no object of the library prints, exits, aborts, asserts, reads the environment or has mutable file-scope data
# forbidden.sh --self-test CC   made-up objects, each of which must be reported
set -euo pipefail

# What an object may not refer to. The second column is what a compiler or a checked libc makes of the first.
CALLS='printf|vprintf|fprintf|vfprintf|dprintf|vdprintf|puts|fputs|putchar|putc|fputc|perror|psignal|syslog
__printf_chk|__vprintf_chk|__fprintf_chk|__vfprintf_chk|__dprintf_chk|stdout|stderr
exit|_exit|_Exit|quick_exit|abort|__assert_fail|__assert|err|errx|warn|warnx|raise|kill
getenv|secure_getenv|setenv|putenv|environ|setlocale|rand|srand|random|srandom|strtok|signal|sigaction|system|popen'

calls() { nm -A -u "$1" | grep -E "[ :]U ($(printf '%s' "$CALLS" | tr '\n' '|'))(@.*)?\$" || true; }

# Objects in sections that are written to at run time. .data.rel.ro holds constant tables of pointers: read-only once loaded.
mutable()
{
    objdump -t "$1" | awk '
        /file format/ { file = $1; next }
        {
            at = 0
            for (i = 2; i <= NF; i++) if ($i ~ /^(\.data|\.bss|\.tdata|\.tbss|\.ldata|\.lbss|\*COM\*)/) { at = i; break }
            if (at == 0 || $at ~ /^\.data\.rel\.ro/ || $NF ~ /^\./) next
            print file " " $NF " in " $at
        }'
}

check()
{
    local found
    found=$(calls "$1")
    [ -z "$found" ] || { printf 'calls that the library may not make:\n%s\n' "$found"; return 1; }
    found=$(mutable "$1")
    [ -z "$found" ] || { printf 'mutable data at file scope:\n%s\n' "$found"; return 1; }
}

sample()
{
    local want=$1 text=$2 folder said
    folder=$(mktemp -d)
    printf '%s\n' "$text" >"$folder/a.c"
    "$CC" -O2 -fPIC -c "$folder/a.c" -o "$folder/a.o"
    if said=$(check "$folder/a.o"); then said=good; fi
    rm -r "$folder"
    case $said in
    *"$want"*) ;;
    *) printf '%s\nreported "%s", wanted "%s"\n' "$text" "$said" "$want"; exit 1 ;;
    esac
}

self_test()
{
    sample good 'int f(int a) { return a + 1; }'
    sample good 'static const char *const names[] = {"a", "b"}; const char *f(int i) { return names[i]; }'
    sample good 'typedef int fn(void); int a(void), b(void); fn *f(int i) { static fn *const t[] = {a, b}; return t[i]; }'
    sample printf '#include <stdio.h>
void f(int a) { printf("%d", a); }'
    sample puts '#include <stdio.h>
void f(void) { printf("a\n"); }'
    sample stderr '#include <stdio.h>
void f(void) { fputc(1, stderr); }'
    sample abort '#include <stdlib.h>
void f(int a) { if (a) abort(); }'
    sample getenv '#include <stdlib.h>
char *f(void) { return getenv("HOME"); }'
    sample __assert_fail '#include <assert.h>
void f(int a) { assert(a); }'
    sample counter 'static int counter; int f(void) { return ++counter; }'
    sample start 'int f(void) { static int start = 7; return ++start; }'
    sample own 'static _Thread_local int own; int f(void) { return ++own; }'
    sample names 'static const char *names[] = {"a", "b"}; const char *f(int i, const char *t) { const char *was = names[i]; names[i] = t; return was; }'
}

if [ "$1" = --self-test ]; then
    CC=$2
    self_test
else
    check "$1"
fi
