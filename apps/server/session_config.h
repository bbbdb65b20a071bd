/* What a session.update may set, in the flat form of the beta API and the nested one of the present. */
#ifndef SERVER_SESSION_CONFIG_H
#define SERVER_SESSION_CONFIG_H

#include <cjson/cJSON.h>
#include <parley/tts.h>

#include "buffer.h"
#include "json_out.h"

typedef struct srv_config {
    cli_buffer voice, instructions, language; /* of speech; empty: defaults */
    cli_buffer heard_language, prompt;        /* of what is heard */
    double speed;                             /* of speech */
    double input_rate;                        /* Hz of the sound that comes in */
    bool seeded;
    uint64_t seed;
} srv_config;

void srv_config_init(srv_config *config);
void srv_config_free(srv_config *config);

/* Sets what the object has. ARGUMENT: what cannot be set, or not to that. */
parley_status srv_config_update(srv_config *config, const cJSON *session, parley_error *error);

/* The members of the session's object. */
void srv_config_members(const srv_config *config, cli_json *json);

#endif
