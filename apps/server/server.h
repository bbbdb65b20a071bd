/* parley serve: models behind HTTP, in the shapes of the OpenAI API, and a realtime WebSocket. docs/SERVER.md describes endpoints and limits.
 *
 * Every connection has a thread that may wait for its request; the engines batch the requests of all of them. */
#ifndef SERVER_H
#define SERVER_H

#include <parley/audio.h>
#include <parley/engine.h>

#include "common.h"

typedef struct srv_server srv_server;

typedef struct srv_source {
    const char *name;  /* the id in the API */
    const char *path;  /* directory, GGUF file or folder of GGUF files */
    const char *codec; /* NULL: the one that lies with the model */
} srv_source;

typedef struct srv_alias {
    const char *name, *target;
} srv_alias;

typedef struct srv_limits {
    size_t body_bytes, text_bytes;
    double audio_seconds;   /* of one recording */
    int32_t active, queued; /* requests of a model that run, and that wait */
    uint64_t kv_bytes;      /* caches of a model's running requests; 0: no limit */
    int32_t connections;    /* at once */
    int32_t rate;           /* requests a minute that one address may make, 0: no limit */
    double stall_seconds;   /* for a client to send its request, or to take something of the answer */
    double request_seconds; /* for a request from its arrival to its end; 0: no limit */
} srv_limits;

typedef struct srv_options {
    const srv_source *models; /* [n_models]; the first of a kind is the default */
    size_t n_models;
    const char *aligner; /* path; NULL: none */
    const char *voices;  /* directory of voices; NULL: the user's */
    const srv_alias *aliases;
    size_t n_aliases;
    parley_open_options open; /* of every model */
    const parley_kv *kv;      /* NULL: the defaults of the model */
    const parley_activations *activations;
    int32_t piece_length;                  /* of texts, see parley_tts_options */
    const char *host;                      /* address to listen on */
    uint16_t port;                         /* 0: any that is free */
    const char *api_key;                   /* NULL: none */
    const char *certificate, *private_key; /* PEM; NULL: no TLS */
    /* Decodes a sound that the library does not know from a regular file; NULL: such sounds are refused. */
    parley_status (*decode)(const char *name, int fd, const parley_audio_options *options, const cli_stop *stop, parley_audio *audio,
                            parley_error *error);
    srv_limits limits;
} srv_options;

void srv_limits_init(srv_limits *limits);

/* Listens, and opens the models on a thread of its own; /health tells how far that is. The options and all they point to must stay until the server
 * is closed. Errors: IO (the address is in use, ..), ARGUMENT (address, certificate), MEMORY. */
parley_status srv_open(const srv_options *options, srv_server **server, parley_error *error);

/* "http://127.0.0.1:8080" */
const char *srv_url(const srv_server *server);

/* True: still loading, or all models are open. False: one could not be opened, which `error` tells. */
bool srv_good(srv_server *server, parley_error *error);

/* When (cli_seconds()) the last request or session ended; 0 while one runs, or before the first. */
double srv_idle_since(srv_server *server);

/* Accepts no more requests and waits up to so many seconds for the others. */
void srv_drain(srv_server *server, double seconds);

/* Cancels what runs and frees all. NULL is allowed. */
void srv_close(srv_server *server);

#endif
