/* Faster or slower speech at the same pitch, while it is made: WSOLA (W. Verhelst, M. Roelands, "An overlap-add technique based on waveform
 * similarity (WSOLA) for high quality time-scale modification of speech", ICASSP 1993). Samples are mono float32 and finite; they come in any pieces.
 *
 * The output is made in hops of 10 ms. Hop m goes on where hop m - 1 left the input and fades into the place near m * hop * speed that resembles what
 * it leaves most. Places are counted from the beginning, so that nothing drifts, and what comes out depends on the samples alone.
 *
 * Length: exactly floor(samples / speed + 0.5). Latency: a hop is made once the input is 25 + 10 * max(1, speed) ms beyond the place where it begins,
 * 840 to 1,560 samples at 24 kHz. Memory: 26 kB at 24 kHz, whatever comes. */
#ifndef PL_AUDIO_STRETCH_H
#define PL_AUDIO_STRETCH_H

#include "base/arena.h"

typedef struct pl_stretch pl_stretch; /* lives as long as its arena */

/* ARGUMENT: not within PARLEY_SPEED_LEAST and PARLEY_SPEED_MOST, or not a number. */
parley_status pl_stretch_check(double speed, parley_error *error);

/* `sample_rate`: Hz, 1,000 to 192,000. ARGUMENT, MEMORY. */
parley_status pl_stretch_open(pl_arena *arena, int sample_rate, double speed, pl_stretch **stretch, parley_error *error);

/* Samples that a push of `count` gives, with `last` the rest too. */
size_t pl_stretch_gives(const pl_stretch *stretch, size_t count, bool last);

/* Takes `count` samples; `last`: nothing comes behind them. `out` has room for what pl_stretch_gives() says. */
void pl_stretch_push(pl_stretch *stretch, const float *pcm, size_t count, bool last, float *out);

#endif
