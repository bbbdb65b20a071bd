#define _GNU_SOURCE /* sched_getaffinity, syscall */
#include "base/cpu.h"

#include <sched.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

static const struct {
    parley_cpu level;
    const char *name;
} names[] = {
    {PARLEY_CPU_BEST, "best"},     {PARLEY_CPU_SCALAR, "scalar"},         {PARLEY_CPU_AVX2, "avx2"},
    {PARLEY_CPU_AVX512, "avx512"}, {PARLEY_CPU_AVX512VNNI, "avx512vnni"}, {PARLEY_CPU_AMX, "amx"},
    {PARLEY_CPU_NEON, "neon"},     {PARLEY_CPU_DOTPROD, "dotprod"},       {PARLEY_CPU_I8MM, "i8mm"},
};

const char *parley_cpu_name(parley_cpu level)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].level == level)
            return names[i].name;
    return "unknown";
}

bool parley_cpu_from_name(const char *name, parley_cpu *level)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i].name, name) == 0) {
            *level = names[i].level;
            return true;
        }
    return false;
}

#if defined(__x86_64__)
/* clang 14 does not know this feature by name. */
static bool has_f16c(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

/* Linux hands out the tiles of AMX on request, to a whole process (Documentation/arch/x86/xstate.rst of the kernel). */
enum { GET_PERMISSIONS = 0x1022, REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };

/* Tiles, their byte products, and a system that saves them: state components 17 and 18. */
static bool has_tiles(void)
{
    enum { AMX_TILE_BIT = 1 << 24, AMX_INT8_BIT = 1 << 25, OSXSAVE_BIT = 1 << 27 };
    unsigned a, b, c, d, low, high;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & OSXSAVE_BIT) || !__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d & AMX_TILE_BIT)
        || !(d & AMX_INT8_BIT))
        return false;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    (void)high;
    return (low >> 17 & 3) == 3;
}

static void request_tiles(void)
{
    if (has_tiles())
        (void)syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA); /* refusal shows below */
}

static bool tiles_are_granted(void)
{
    uint64_t permitted = 0;
    return has_tiles() && syscall(SYS_arch_prctl, GET_PERMISSIONS, &permitted) == 0 && (permitted >> TILE_DATA & 1) != 0;
}

static bool has_level(parley_cpu level)
{
    __builtin_cpu_init(); /* also asks the system whether it saves the wide registers */
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
    bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")
                  && __builtin_cpu_supports("avx512dq");
    switch (level) {
    case PARLEY_CPU_AVX2: return avx2;
    case PARLEY_CPU_AVX512: return avx512;
    case PARLEY_CPU_AVX512VNNI: return avx512 && __builtin_cpu_supports("avx512vnni");
    case PARLEY_CPU_AMX: return avx512 && __builtin_cpu_supports("avx512vnni") && tiles_are_granted();
    default: return false;
    }
}
#elif defined(__aarch64__)
static void request_tiles(void)
{
}

static bool has_level(parley_cpu level)
{
    enum { DOTPROD_BIT = 1 << 20, I8MM_BIT = 1 << 13 }; /* HWCAP_ASIMDDP, HWCAP2_I8MM of the Linux ABI */
    switch (level) {
    case PARLEY_CPU_NEON: return true;
    case PARLEY_CPU_DOTPROD: return (getauxval(AT_HWCAP) & DOTPROD_BIT) != 0;
    case PARLEY_CPU_I8MM: return (getauxval(AT_HWCAP) & DOTPROD_BIT) != 0 && (getauxval(AT_HWCAP2) & I8MM_BIT) != 0;
    default: return false;
    }
}
#else
static void request_tiles(void)
{
}

static bool has_level(parley_cpu level)
{
    (void)level;
    return false;
}
#endif

bool pl_cpu_has(parley_cpu level)
{
    return level == PARLEY_CPU_BEST || level == PARLEY_CPU_SCALAR || has_level(level);
}

parley_status pl_cpu_choose(parley_cpu cap, parley_cpu *level, parley_error *error)
{
    if (cap == PARLEY_CPU_BEST || cap == PARLEY_CPU_AMX)
        request_tiles();
    if (!pl_cpu_has(cap))
        return pl_fail(error, PARLEY_DEVICE, "this processor has no level \"%s\"", parley_cpu_name(cap));
    *level = cap;
    if (cap != PARLEY_CPU_BEST)
        return PARLEY_OK;
    *level = PARLEY_CPU_SCALAR;
    for (parley_cpu l = PARLEY_CPU_AVX2; l <= PARLEY_CPU_I8MM; l = (parley_cpu)(l + 1))
        if (pl_cpu_has(l))
            *level = l;
    return PARLEY_OK;
}

int pl_cpu_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return CPU_COUNT(&set) > 0 ? CPU_COUNT(&set) : 1;
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}
