/* What `parley serve` is asked for. */
#ifndef CLI_SERVE_OPTIONS_H
#define CLI_SERVE_OPTIONS_H

#include "model_options.h"
#include "server.h"

typedef struct serve_fields {
    cli_texts models, codecs, aliases;
    cli_model_fields model; /* threads, level and type of the codec alone */
    cli_text aligner, voices, host, api_key_file, tls_cert, tls_key;
    cli_int kv, activations, port, max_active, max_queued, max_connections, max_body, max_text, max_kv, rate, piece_length;
    cli_real max_audio, stall, deadline, drain;
    cli_flag allow_ffmpeg;
} serve_fields;

extern const cli_command serve_command;

/* The options of the server and what they point to. */
typedef struct serve_setup {
    srv_options options;
    srv_source models[CLI_MOST_TEXTS];
    srv_alias aliases[CLI_MOST_TEXTS];
    cli_buffer default_model, key, certificate, private_key;
    cli_buffer names[3 * CLI_MOST_TEXTS]; /* the parts in front of '=' */
    size_t n_names;
    parley_kv kv;
    parley_activations activations;
} serve_setup;

/* Reads the files that the options name. ARGUMENT: what contradicts itself. */
parley_status serve_prepare(const serve_fields *fields, serve_setup *setup, parley_error *error);
void serve_release(serve_setup *setup);

#endif
