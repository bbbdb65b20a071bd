/* Whether a sound could hold speech: the gate before a recogniser, which would write something down for silence, hum and noise, too.
 *
 * Speech changes: every syllable raises the level of several bands of the spectrum over what it is between syllables, whether voiced, whispered, far
 * away or sung. Silence, hum and steady noise of any colour and level do not. The rule asks for nothing else, so that no quiet, no noise and no
 * length of a pause hides a word; sounds that change and are no speech (clicks, music, traffic) are left to the recogniser. */
#ifndef PL_AUDIO_ACTIVITY_H
#define PL_AUDIO_ACTIVITY_H

#include "base/arena.h"
#include "base/pool.h"

/* A shorter sound is judged better together with what stands around it. */
enum { PL_ACTIVITY_RATE = 16000, PL_ACTIVITY_LEAST = 3 * PL_ACTIVITY_RATE };

typedef struct pl_activity pl_activity; /* tables; immutable */

parley_status pl_activity_open(const parley_allocator *allocator, pl_activity **activity, parley_error *error);
void pl_activity_close(pl_activity *activity);

/* `pcm`: mono float32 at 16 kHz. `*found`: something changes in the sound as speech does; in less than a second of it: something can be heard. Work
 * space and results do not depend on the length or on the pool. MEMORY. */
parley_status pl_activity_find(const pl_activity *activity, pl_pool *pool, pl_arena *scratch, const float *pcm, int64_t samples, bool *found,
                               parley_error *error);

#endif
