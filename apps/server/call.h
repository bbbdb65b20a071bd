/* A request while it is answered, and what handlers use of it. */
#ifndef SERVER_CALL_H
#define SERVER_CALL_H

#include <microhttpd.h>
#include <parley/audio.h>
#include <pthread.h>

#include "buffer.h"
#include "metrics.h"
#include "models.h"
#include "upload.h"
#include "watch.h"

struct srv_server {
    const srv_options *options;
    struct MHD_Daemon *daemon;
    srv_models *models;
    srv_watch *watch;
    srv_metrics *metrics;
    struct srv_rates *rates;
    pthread_mutex_t store; /* over the directory of voices */
    pthread_mutex_t lock;  /* over what follows */
    pthread_cond_t idle;   /* a call has ended */
    size_t calls;          /* being answered, sockets included */
    int32_t decoders;      /* programs that decode uploads */
    double idle_since;     /* clock: when the last of them ended */
    bool draining;
    struct srv_socket *sockets; /* realtime sessions */
    char url[128];
};

typedef enum srv_body { SRV_NO_BODY, SRV_JSON, SRV_FORM } srv_body;

typedef struct srv_call {
    srv_server *server;
    struct MHD_Connection *connection;
    srv_watched *watched;
    const struct srv_route *route;
    const char *rest;   /* of the path, behind a route that ends in '*' */
    cli_buffer body;    /* of SRV_JSON */
    size_t taken;       /* bytes of a body of any kind */
    srv_upload *upload; /* of SRV_FORM */
    double started;
    bool answered;
    parley_status refused; /* by the headers already; said when the body is through */
    /* of a failure: where it is, what the status of the library does not tell */
    int http;         /* 0: that of the parley_status */
    const char *code; /* NULL: the name of the parley_status */
    const char *param;
    parley_error error;
    cli_buffer message; /* longer than `error` can hold, for it; empty: there is none */
    char allowed[32];   /* methods of the path, of a 405 */
} srv_call;

typedef struct srv_route {
    const char *method, *path;
    srv_body body;
    bool open;   /* needs no key */
    bool counts; /* against the limit of requests a minute */
    parley_status (*answer)(srv_call *call);
} srv_route;

/* Notes a failure; the handler returns the status, and an error in the API's shape is sent. `code` and `param` may be NULL. */
parley_status srv_fail(srv_call *call, int http, const char *code, const char *param, const char *format, ...) CLI_PRINTF(5, 6);

/* Answers. MEMORY when that cannot be. */
parley_status srv_reply(srv_call *call, int http, const char *type, cli_buffer *bytes); /* takes the bytes */
parley_status srv_reply_error(srv_call *call, parley_status status);
/* The object of an error, as events carry it too. */
void srv_error_json(cli_buffer *out, int http, const char *code, const char *param, const char *message);

typedef struct srv_header {
    const char *name, *value;
} srv_header;

/* A body that is made while it is sent, in chunks: `make` appends to an empty buffer what there is next, waiting for it, or nothing at the end. A
 * failure cuts the connection, so that no client takes the part for the whole. `context` is released in any case, by `release`. */
typedef struct srv_stream {
    const char *type;
    const srv_header *headers; /* [n_headers] */
    size_t n_headers;
    parley_status (*make)(void *context, cli_buffer *out, parley_error *error);
    void (*release)(void *context);
    void *context;
} srv_stream;
parley_status srv_reply_stream(srv_call *call, const srv_stream *stream);
/* The same kind of headers on a whole body. */
parley_status srv_reply_whole(srv_call *call, const char *type, const srv_header *headers, size_t n_headers, cli_buffer *bytes);

/* Bytes that stay as long as the program. */
parley_status srv_reply_static(srv_call *call, int http, const char *type, const srv_header *headers, size_t n_headers, const void *bytes,
                               size_t size);

/* A response of libmicrohttpd that hands the connection over. */
parley_status srv_reply_upgrade(srv_call *call, const srv_header *headers, size_t n_headers, struct MHD_Response *response);

const char *srv_request_header(srv_call *call, const char *name);
const char *srv_query(srv_call *call, const char *name);

/* The model a request names, or the first of its kind. NULL: the failure is noted. */
srv_model *srv_call_model(srv_call *call, srv_kind kind, const char *name);

/* Decodes an uploaded file; one that is no sound, or holds none, is the client's fault. */
parley_status srv_read_sound(srv_call *call, const srv_field *file, const parley_audio_options *options, parley_audio *audio);

/* Options of an engine's request: deadline. */
void srv_request_options(const srv_server *server, parley_request_options *options);

/* Waits for a request's end, or for the client to leave, which ends it too. */
parley_status srv_wait_end(srv_watched *watched, parley_request *request, parley_error *error);

/* Calls that end later than their handler (streams, sockets) count on their own. */
void srv_count_in(srv_server *server);
void srv_count_out(srv_server *server);

/* The handlers. */
parley_status srv_health(srv_call *call);
parley_status srv_metrics_page(srv_call *call);
parley_status srv_list_models(srv_call *call);
parley_status srv_show_model(srv_call *call);
parley_status srv_speech(srv_call *call);
parley_status srv_transcriptions(srv_call *call);
parley_status srv_list_voices(srv_call *call);
parley_status srv_add_voice(srv_call *call);
parley_status srv_delete_voice(srv_call *call);
parley_status srv_realtime(srv_call *call);
parley_status srv_page(srv_call *call);

#endif
