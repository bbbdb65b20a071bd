/* The framing of WebSockets (RFC 6455), the server's side: bytes in, messages out. No extensions. */
#ifndef SERVER_WEBSOCKET_H
#define SERVER_WEBSOCKET_H

#include "buffer.h"

typedef enum srv_ws_kind { SRV_WS_NONE = -1, SRV_WS_TEXT = 1, SRV_WS_BINARY = 2, SRV_WS_CLOSE = 8, SRV_WS_PING = 9, SRV_WS_PONG = 10 } srv_ws_kind;

/* Codes of a close. */
enum {
    SRV_WS_NORMAL = 1000,
    SRV_WS_GOING_AWAY = 1001,
    SRV_WS_PROTOCOL = 1002,
    SRV_WS_NO_UTF8 = 1007,
    SRV_WS_POLICY = 1008,
    SRV_WS_TOO_BIG = 1009,
    SRV_WS_FAULT = 1011
};

typedef struct srv_ws {
    size_t most;        /* bytes of a message */
    cli_buffer in;      /* not taken apart yet */
    size_t at;          /* taken from `in` */
    cli_buffer message; /* fragments so far */
    srv_ws_kind kind;   /* of the message that is being put together; NONE: none */
    int failure;        /* code to close with, 0: none */
} srv_ws;

typedef struct srv_ws_message {
    srv_ws_kind kind;
    const char *bytes; /* until the next call; a NUL stands behind them */
    size_t size;
} srv_ws_message;

void srv_ws_init(srv_ws *ws, size_t most);
void srv_ws_free(srv_ws *ws);

void srv_ws_feed(srv_ws *ws, const void *bytes, size_t size);
/* The next message; kind NONE: more bytes are needed, or ws->failure is set. */
srv_ws_message srv_ws_next(srv_ws *ws);
/* Whether a message has begun and not ended. */
bool srv_ws_halfway(const srv_ws *ws);

/* Appends a whole frame. */
void srv_ws_frame(cli_buffer *out, srv_ws_kind kind, const void *bytes, size_t size);
void srv_ws_close_frame(cli_buffer *out, int code, const char *reason);

enum { SRV_WS_ACCEPT = 29 };
/* Sec-WebSocket-Accept of a Sec-WebSocket-Key; false: the key is none. */
bool srv_ws_accept(const char *key, char accept[SRV_WS_ACCEPT]);

#endif
