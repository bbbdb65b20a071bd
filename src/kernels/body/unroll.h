/* UNROLL(n) before a loop of at most n rounds known at compile time: its arrays become registers. SPECIAL before a function that is compiled once for
 * each set of its constant arguments. Sanitizers check every access, so that all those tiles would take minutes to compile: such builds keep the
 * loops and one function for all arguments. */
#ifndef PL_KERNELS_UNROLL_H
#define PL_KERNELS_UNROLL_H

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(undefined_behavior_sanitizer) || __has_feature(thread_sanitizer)
#define PL_KEEP_LOOPS 1
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PL_KEEP_LOOPS 1
#endif

#define PL_PRAGMA(text) _Pragma(#text)
#if defined(PL_KEEP_LOOPS)
#define UNROLL(n) PL_PRAGMA(GCC unroll 1)
#define SPECIAL   static __attribute__((noinline, unused))
#else
#define UNROLL(n) PL_PRAGMA(GCC unroll n)
#define SPECIAL   static inline __attribute__((always_inline))
#endif

#endif
