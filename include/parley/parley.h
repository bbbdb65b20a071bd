/* parley/parley.h - everything. Speak a text:
 *
 *     #include <parley/parley.h>
 *
 *     parley_error error;
 *     parley_model *model;
 *     if (parley_model_open("Qwen3-TTS-12Hz-0.6B-CustomVoice", NULL, &model, &error) != PARLEY_OK)
 *         return fail(error.text);
 *     parley_tts_options options;
 *     parley_tts_options_init(model, &options);
 *     options.language = "english";
 *     parley_tts *session;
 *     if (parley_tts_open(model, &options, &session, &error) != PARLEY_OK
 *         || parley_tts_push_text(session, "Good morning.", 13, &error) != PARLEY_OK
 *         || parley_tts_finish_text(session, &error) != PARLEY_OK)
 *         return fail(error.text);
 *     float pcm[4096];
 *     size_t count;
 *     do {
 *         if (parley_tts_pull(session, pcm, 4096, &count, &error) != PARLEY_OK)
 *             return fail(error.text);
 *         play(pcm, count);
 *     } while (count > 0);
 *     parley_tts_close(session);
 *     parley_model_close(model);
 */
#ifndef PARLEY_H
#define PARLEY_H

#include <parley/asr.h>
#include <parley/audio.h>
#include <parley/core.h>
#include <parley/engine.h>
#include <parley/quantize.h>
#include <parley/tts.h>
#include <parley/voice.h>

#endif
