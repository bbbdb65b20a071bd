#include "session_config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { INPUT_RATE = 24000, OUTPUT_RATE = 24000 };

typedef enum setting { TEXT, ONE_OF, RATE, FIXED_RATE, SPEED, SEED, NOTHING } setting;

static const struct {
    const char *path; /* members, separated by dots */
    setting kind;
    size_t offset;     /* of a cli_buffer */
    const char *value; /* the one that is possible */
} settings[] = {
    {"voice", TEXT, offsetof(srv_config, voice), NULL},
    {"audio.output.voice", TEXT, offsetof(srv_config, voice), NULL},
    {"speed", SPEED, 0, NULL},
    {"audio.output.speed", SPEED, 0, NULL},
    {"instructions", TEXT, offsetof(srv_config, instructions), NULL},
    {"language", TEXT, offsetof(srv_config, language), NULL},
    {"seed", SEED, 0, NULL},
    {"input_audio_transcription.language", TEXT, offsetof(srv_config, heard_language), NULL},
    {"input_audio_transcription.prompt", TEXT, offsetof(srv_config, prompt), NULL},
    {"audio.input.transcription.language", TEXT, offsetof(srv_config, heard_language), NULL},
    {"audio.input.transcription.prompt", TEXT, offsetof(srv_config, prompt), NULL},
    {"audio.input.format.rate", RATE, 0, NULL},
    {"audio.input.format.type", ONE_OF, 0, "audio/pcm"},
    {"audio.output.format.type", ONE_OF, 0, "audio/pcm"},
    {"audio.output.format.rate", FIXED_RATE, 0, NULL},
    {"input_audio_format", ONE_OF, 0, "pcm16"},
    {"output_audio_format", ONE_OF, 0, "pcm16"},
    {"type", ONE_OF, 0, "realtime"},
    {"turn_detection", NOTHING, 0, NULL},
    {"audio.input.turn_detection", NOTHING, 0, NULL},
};

void srv_config_init(srv_config *config)
{
    *config = (srv_config){.speed = 1, .input_rate = INPUT_RATE};
}

void srv_config_free(srv_config *c)
{
    cli_buffer *const buffers[] = {&c->voice, &c->instructions, &c->language, &c->heard_language, &c->prompt};
    for (size_t i = 0; i < CLI_COUNT(buffers); i++)
        cli_buffer_free(buffers[i]);
}

static parley_status set_text(srv_config *c, size_t offset, const cJSON *value, const char *path, parley_error *error)
{
    cli_buffer *to = (cli_buffer *)(void *)((char *)c + offset);
    if (!cJSON_IsString(value))
        return cli_fail(error, PARLEY_ARGUMENT, "session.%s must be a string", path);
    to->size = 0;
    cli_append_text(to, value->valuestring);
    return to->failed ? cli_fail_memory(error) : PARLEY_OK;
}

static parley_status set(srv_config *c, size_t row, const cJSON *value, parley_error *error)
{
    const char *path = settings[row].path, *one = settings[row].value;
    double number = cJSON_IsNumber(value) ? value->valuedouble : NAN;
    switch (settings[row].kind) {
    case TEXT: return set_text(c, settings[row].offset, value, path, error);
    case ONE_OF:
        if (!cJSON_IsString(value) || strcmp(value->valuestring, one) != 0)
            return cli_fail(error, PARLEY_ARGUMENT, "session.%s can be \"%s\" only", path, one);
        return PARLEY_OK;
    case RATE:
        if (!(number >= 8000 && number <= 48000 && number == floor(number)))
            return cli_fail(error, PARLEY_ARGUMENT, "session.%s must be a whole number from 8000 to 48000", path);
        c->input_rate = number;
        return PARLEY_OK;
    case FIXED_RATE: return number == OUTPUT_RATE ? PARLEY_OK : cli_fail(error, PARLEY_ARGUMENT, "session.%s can be %d only", path, (int)OUTPUT_RATE);
    case SPEED:
        if (!(number >= PARLEY_SPEED_LEAST && number <= PARLEY_SPEED_MOST))
            return cli_fail(error, PARLEY_ARGUMENT, "session.%s must be a number from %g to %g", path, PARLEY_SPEED_LEAST, PARLEY_SPEED_MOST);
        c->speed = number;
        return PARLEY_OK;
    case SEED:
        if (!(number >= 0 && number <= 9007199254740992.0 && number == floor(number)))
            return cli_fail(error, PARLEY_ARGUMENT, "session.%s must be a whole number from 0 to 9007199254740992", path);
        c->seeded = true;
        c->seed = (uint64_t)number;
        return PARLEY_OK;
    default: return cli_fail(error, PARLEY_ARGUMENT, "session.%s can be null only: the client says where a turn ends", path);
    }
}

static size_t find(const char *path)
{
    size_t i = 0;
    while (i < CLI_COUNT(settings) && strcmp(settings[i].path, path) != 0)
        i++;
    return i;
}

static bool is_inner(const char *path)
{
    size_t length = strlen(path);
    for (size_t i = 0; i < CLI_COUNT(settings); i++) {
        if (!strncmp(settings[i].path, path, length) && settings[i].path[length] == '.')
            return true;
    }
    return false;
}

/* Objects within objects, down to the settings; the list of these bounds the depth. */
static parley_status update(srv_config *c, const cJSON *object, const char *above, parley_error *error)
{
    for (const cJSON *item = object->child; item; item = item->next) {
        char path[100];
        int length = snprintf(path, sizeof path, "%s%s%.60s", above, *above ? "." : "", item->string ? item->string : "");
        size_t row = length < (int)sizeof path ? find(path) : CLI_COUNT(settings);
        if (cJSON_IsNull(item))
            continue;
        if (row < CLI_COUNT(settings))
            CLI_TRY(set(c, row, item, error));
        else if (cJSON_IsObject(item) && is_inner(path))
            CLI_TRY(update(c, item, path, error));
        else
            return cli_fail(error, PARLEY_ARGUMENT, "session.%.90s cannot be set", path);
    }
    return PARLEY_OK;
}

parley_status srv_config_update(srv_config *config, const cJSON *session, parley_error *error)
{
    if (!cJSON_IsObject(session))
        return cli_fail(error, PARLEY_ARGUMENT, "\"session\" must be an object");
    return update(config, session, "", error);
}

static const char *text(const cli_buffer *buffer)
{
    return buffer->size ? buffer->data : "";
}

static void format_member(cli_json *json, double rate)
{
    cli_json_open(json, "format", '{');
    cli_json_string(json, "type", "audio/pcm");
    cli_json_real(json, "rate", rate);
    cli_json_close(json, '}');
}

void srv_config_members(const srv_config *c, cli_json *json)
{
    cli_json_string(json, "type", "realtime");
    cli_json_string(json, "instructions", text(&c->instructions));
    cli_json_string(json, "language", c->language.size ? text(&c->language) : "auto");
    cli_json_open(json, "audio", '{');
    cli_json_open(json, "input", '{');
    format_member(json, c->input_rate);
    cli_json_open(json, "transcription", '{');
    cli_json_string(json, "language", c->heard_language.size ? text(&c->heard_language) : "auto");
    cli_json_string(json, "prompt", text(&c->prompt));
    cli_json_close(json, '}');
    cli_json_nothing(json, "turn_detection");
    cli_json_close(json, '}');
    cli_json_open(json, "output", '{');
    format_member(json, OUTPUT_RATE);
    cli_json_string(json, "voice", c->voice.size ? text(&c->voice) : "default");
    cli_json_real(json, "speed", c->speed);
    cli_json_close(json, '}');
    cli_json_close(json, '}');
}
