#include "clone.h"

#include "notice.h"
#include "signals.h"
#include "text_input.h"
#include "voice_cache.h"

#include <stdlib.h>
#include <string.h>

/* The codec's first frames of new speech see the reference's last ones: without a pause between them, its last sound can be heard again at the
 * start of the speech. */
static const double default_silence = 0.5;

parley_status cli_read_sound(const char *path, const cli_sound_fields *fields, parley_audio *audio, parley_error *error)
{
    parley_audio_options options;
    CLI_TRY(cli_audio_options(&fields->audio, &options, error));
    options.rate = CLI_SOUND_RATE;
    options.max_seconds = fields->max_audio.given ? fields->max_audio.value : CLI_MAX_AUDIO_DEFAULT;
    CLI_TRY(cli_read_audio(path, &options, audio, error));
    if (audio->count > 0)
        return PARLEY_OK;
    parley_audio_free(audio);
    return cli_fail(error, PARLEY_ARGUMENT, "\"%.300s\": there is no sound in it (0 samples)", path);
}

bool cli_is_silence(const parley_audio *audio)
{
    size_t i = 0;
    while (i < audio->count && audio->samples[i] == 0.0f)
        i++;
    return i == audio->count;
}

static uint32_t code_point(const unsigned char **at)
{
    const unsigned char *s = *at;
    size_t more = s[0] >= 0xF0 ? 3 : s[0] >= 0xE0 ? 2 : s[0] >= 0xC0 ? 1 : 0;
    uint32_t point = more == 3 ? s[0] & 7u : more == 2 ? s[0] & 15u : more == 1 ? s[0] & 31u : s[0];
    for (size_t i = 1; i <= more && (s[i] & 0xC0) == 0x80; i++)
        point = point << 6 | (s[i] & 63u);
    for ((*at)++; (**at & 0xC0) == 0x80;)
        (*at)++;
    return point;
}

/* Unicode's White_Space, and characters of no width. */
static bool is_blank(const char *text)
{
    static const struct {
        uint32_t first, last;
    } spaces[] = {{0x09, 0x0D},     {0x20, 0x20},     {0x85, 0x85},     {0xA0, 0xA0},     {0x1680, 0x1680}, {0x2000, 0x200D},
                  {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x2060}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
    for (const unsigned char *at = (const unsigned char *)text; *at;) {
        uint32_t point = code_point(&at);
        size_t i = 0;
        while (i < CLI_COUNT(spaces) && (point < spaces[i].first || point > spaces[i].last))
            i++;
        if (i == CLI_COUNT(spaces))
            return false;
    }
    return true;
}

parley_status cli_reference_text(const char *option, const char *text, const char *file, cli_buffer *transcript, parley_error *error)
{
    if (!text && !file)
        return PARLEY_OK;
    if (text && file)
        return cli_fail(error, PARLEY_ARGUMENT, "%s and %s-file exclude each other", option, option);
    CLI_TRY(cli_text_input(text, file, transcript, error));
    if (transcript->data && memchr(transcript->data, 0, transcript->size))
        return cli_fail(error, PARLEY_FORMAT, "%s%s: the transcript holds a NUL", option, file ? "-file" : "");
    if (!transcript->data || is_blank(transcript->data))
        return cli_fail(error, PARLEY_ARGUMENT, "%s%s: the transcript is empty", option, file ? "-file" : "");
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ remarks */

/* Chinese and Japanese characters and Korean syllables, of which fewer are spoken in a second. */
static bool is_wide(uint32_t point)
{
    return (point >= 0x3040 && point <= 0x30FF) || (point >= 0x3400 && point <= 0x9FFF) || (point >= 0xAC00 && point <= 0xD7A3)
           || (point >= 0xF900 && point <= 0xFAFF) || (point >= 0x20000 && point <= 0x3FFFF);
}

/* With the transcript of another recording, or of a part of it, the model babbles. */
static void warn_of_length(const char *reference, const char *text, double seconds)
{
    size_t count = 0, wide = 0;
    for (const unsigned char *at = (const unsigned char *)text; *at; count++)
        wide += is_wide(code_point(&at));
    bool cjk = 2 * wide > count;
    double least = cjk ? 1 : 2, most = cjk ? 15 : 40, rate = (double)count / seconds;
    if (rate < least || rate > most)
        cli_notice("warning: the transcript (%zu characters) hardly is what \"%.200s\" says (%.2f s): %.1f characters a second, usual are %g to %g",
                   count, reference, seconds, rate, least, most);
}

/* What a voice may not be called or say, before minutes of encoding and not behind them. */
static parley_status check_texts(const cli_clone_request *r, parley_error *error)
{
    const float nothing = 0.0f;
    const parley_voice voice = {.name = r->name, .text = r->text, .vector = &nothing, .vector_length = 1};
    void *bytes = NULL;
    size_t size = 0;
    CLI_TRY(parley_voice_write(&voice, &bytes, &size, error));
    parley_voice_bytes_free(bytes, size);
    return PARLEY_OK;
}

static parley_status check_sound(const cli_clone_request *r, const parley_audio *audio, parley_error *error)
{
    if (r->text && r->codes)
        warn_of_length(r->reference, r->text, (double)audio->count / CLI_SOUND_RATE);
    if (!cli_is_silence(audio))
        return PARLEY_OK;
    if (r->refuse_silence)
        return cli_fail(error, PARLEY_ARGUMENT, "\"%.300s\": all samples are 0, there is no voice in it", r->reference);
    cli_notice("warning: \"%.300s\": all samples are 0, there is no voice in it", r->reference);
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ encoding */

static bool is_cancelled(void *context)
{
    (void)context;
    return cli_signals_cancelled();
}

void cli_encoder_options(cli_dump *dump, parley_voice_options *options)
{
    parley_voice_options_init(options);
    options->cancelled = is_cancelled;
    if (dump && dump->directory) {
        options->tap = cli_dump_tap;
        options->tap_context = dump;
    }
}

static parley_status encode_vector(const cli_clone_request *r, const parley_audio *audio, parley_voice *voice, float **vector, parley_error *error)
{
    parley_model *model = NULL;
    parley_voice_options options;
    cli_encoder_options(r->dump, &options);
    parley_status status = cli_open_model(r->model, PARLEY_PARTS_SPEAKER, &model, NULL, error);
    if (status == PARLEY_OK) {
        voice->vector_length = (size_t)parley_model_info(model)->xvector_length;
        *vector = calloc(voice->vector_length + 1, sizeof **vector);
        status = *vector ? cli_in_file(parley_voice_vector(model, audio->samples, audio->count, &options, *vector, error), r->reference, error)
                         : cli_fail_memory(error);
        voice->vector = *vector;
    }
    parley_model_close(model);
    return status;
}

/* The recording with the silence behind it. */
static parley_status pad(const parley_audio *audio, size_t silence, float **padded, parley_error *error)
{
    *padded = calloc(audio->count + silence, sizeof **padded);
    if (!*padded)
        return cli_fail_memory(error);
    memcpy(*padded, audio->samples, audio->count * sizeof **padded);
    return PARLEY_OK;
}

static parley_status copy_codes(const parley_model *model, const int32_t *codes, parley_voice *voice, int32_t **copy, parley_error *error)
{
    const parley_info *info = parley_model_info(model);
    size_t bytes = voice->frames * (size_t)info->groups * sizeof **copy;
    *copy = malloc(bytes);
    if (!*copy)
        return cli_fail_memory(error);
    memcpy(*copy, codes, bytes);
    voice->codes = *copy;
    voice->groups = info->groups;
    voice->codebook_size = info->codebook_size;
    return PARLEY_OK;
}

static parley_status encode_codes(const cli_clone_request *r, const parley_audio *audio, size_t silence, parley_voice *voice, int32_t **copy,
                                  parley_error *error)
{
    parley_model *model = NULL;
    parley_voice_options options;
    float *padded = NULL;
    int32_t *codes = NULL;
    cli_encoder_options(r->dump, &options);
    CLI_TRY(pad(audio, silence, &padded, error));
    parley_status status = cli_open_model(r->model, PARLEY_PARTS_CODEC_ENCODER, &model, NULL, error);
    if (status == PARLEY_OK)
        status =
            cli_in_file(parley_codec_encode(model, padded, audio->count + silence, &options, &codes, &voice->frames, error), r->reference, error);
    if (status == PARLEY_OK) {
        status = copy_codes(model, codes, voice, copy, error);
        parley_free_ids(model, codes, voice->frames * (size_t)parley_model_info(model)->groups);
    }
    parley_model_close(model);
    free(padded);
    return status;
}

/* Both into a voice of its own memory, by way of a voice file's bytes, whose checks it thus passes. */
static parley_status encode(const cli_clone_request *r, const parley_audio *audio, size_t silence, const char *name, const parley_info *info,
                            parley_voice **made, parley_error *error)
{
    parley_voice voice = {.name = name, .model = info->identity, .text = r->text ? r->text : "", .codec = r->codes ? info->codec_identity : ""};
    float *vector = NULL;
    int32_t *codes = NULL;
    void *bytes = NULL;
    size_t size = 0;
    parley_status status = encode_vector(r, audio, &voice, &vector, error);
    if (status == PARLEY_OK && r->codes)
        status = encode_codes(r, audio, silence, &voice, &codes, error);
    if (status == PARLEY_OK)
        status = parley_voice_write(&voice, &bytes, &size, error);
    if (status == PARLEY_OK)
        status = parley_voice_read(bytes, size, made, error);
    parley_voice_bytes_free(bytes, size);
    free(vector);
    free(codes);
    return status;
}

static parley_status cached_or_encoded(const cli_clone_request *r, const parley_audio *audio, const char *path, const parley_info *info,
                                       cli_clone *clone, parley_error *error)
{
    char key[PARLEY_VOICE_HASH_TEXT] = "";
    size_t silence = r->codes ? (size_t)((r->silence.given ? r->silence.value : default_silence) * CLI_SOUND_RATE + 0.5) : 0;
    cli_voice_source source = {audio->samples, audio->count, r->model, path, info, silence, r->codes};
    if (r->cache)
        CLI_TRY(cli_voice_cache_key(&source, key, error));
    if (r->cache && !(r->dump && r->dump->directory))
        clone->voice = cli_voice_cache_get(key, info, r->codes);
    clone->cached = clone->voice != NULL;
    if (clone->cached)
        return PARLEY_OK;
    CLI_TRY(encode(r, audio, silence, r->name ? r->name : key, info, &clone->voice, error));
    if (r->cache)
        cli_voice_cache_put(key, clone->voice);
    return PARLEY_OK;
}

/* The model is only looked at, which costs little: what it is belongs to the voice and to the key. */
static parley_status clone_sound(const cli_clone_request *r, const parley_audio *audio, cli_clone *clone, parley_error *error)
{
    parley_open_options options;
    parley_info *info = NULL;
    cli_buffer path = {0};
    CLI_TRY(cli_open_options(r->model, PARLEY_PARTS_CLONE, &options, error));
    parley_status status = cli_model_path(r->model, &path, error);
    if (status == PARLEY_OK)
        status = parley_inspect(path.data, &options, &info, error);
    if (status == PARLEY_OK && !info->has_speaker_encoder)
        status = cli_fail(error, PARLEY_ARGUMENT, "\"%.200s\" (%.60s) has no speaker encoder; cloning needs a Base model", path.data,
                          info->model_type[0] ? info->model_type : info->family);
    if (status == PARLEY_OK && r->codes && !info->has_codec_encoder)
        status = cli_fail(error, PARLEY_MISSING,
                          "\"%.200s\" has no codec encoder, which in-context cloning needs: name a codec that has one with --codec, or clone by the "
                          "voice vector alone, without a transcript",
                          path.data);
    if (status == PARLEY_OK)
        status = cached_or_encoded(r, audio, path.data, info, clone, error);
    parley_info_free(info);
    cli_buffer_free(&path);
    return status;
}

parley_status cli_clone_run(const cli_clone_request *request, cli_clone *clone, parley_error *error)
{
    parley_audio audio = {.samples = NULL};
    double start = cli_seconds();
    *clone = (cli_clone){.voice = NULL};
    CLI_TRY(check_texts(request, error));
    CLI_TRY(cli_read_sound(request->reference, request->sound, &audio, error));
    parley_status status = check_sound(request, &audio, error);
    cli_signals_graceful(true);
    if (status == PARLEY_OK)
        status = clone_sound(request, &audio, clone, error);
    if (cli_signals_graceful(false) && status == PARLEY_OK)
        status = cli_fail(error, PARLEY_CANCELLED, "cancelled while a voice was made");
    parley_audio_free(&audio);
    clone->seconds = cli_seconds() - start;
    return status;
}

/* ------------------------------------------------------------------ using a voice */

parley_status cli_voice_fits(const parley_voice *voice, const char *name, const parley_info *info, parley_error *error)
{
    parley_error inner = {0};
    parley_status status = parley_voice_check(voice, info, &inner);
    if (status != PARLEY_OK)
        return cli_fail(error, status, "voice \"%.100s\": %s", name, inner.text);
    if (strcmp(voice->model, info->identity) != 0)
        cli_notice("warning: voice \"%.100s\" was made by another model (%.100s) than this one (%.100s) and may sound otherwise", name,
                   voice->model[0] ? voice->model : "unnamed", info->identity);
    if (voice->codes && !voice->codec[0])
        cli_notice("warning: voice \"%.100s\" does not tell the codec that its codes are of; with another one than this model's it speaks otherwise",
                   name);
    return PARLEY_OK;
}
