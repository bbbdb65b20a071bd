/* Files of voices: Parley's own (docs/VOICES.md), and those of qwentts.cpp, which have no header. */
#ifndef PL_MODELS_QWEN3_TTS_VOICE_FILE_H
#define PL_MODELS_QWEN3_TTS_VOICE_FILE_H

#include "models/family.h"

/* See parley/voice.h for each. Blocks are made by the default allocator, codes of a `.rvq` by the one given. */
extern const pl_voice_file_ops pl_voice_files_qwen3;

/* The reader behind the check of the hash: `size` counts neither the hash nor what follows it. For the fuzz target. */
parley_status pl_voice_parse(const void *bytes, size_t size, parley_voice **voice, parley_error *error);

#endif
