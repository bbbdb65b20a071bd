/* A realtime session: events of the OpenAI Realtime API in, events out. It knows no socket: what it sends is appended to a buffer. */
#ifndef SERVER_SESSION_H
#define SERVER_SESSION_H

#include "call.h"

typedef struct srv_session srv_session;

/* `notify` is called, on any thread, when srv_session_poll() has something to do. The session is told of its beginning in `out`. `out` holds frames
 * of a WebSocket. NULL: no memory. */
srv_session *srv_session_open(srv_server *server, const srv_model *tts, const srv_model *asr, void (*notify)(void *context), void *context,
                              cli_buffer *out);
/* Cancels what runs. */
void srv_session_close(srv_session *session);

/* A message of the client: JSON, or with `binary` sound to append. */
void srv_session_take(srv_session *session, const char *bytes, size_t size, bool binary);
/* Hands on what the engines have made. */
void srv_session_poll(srv_session *session);
/* Whether something is being spoken or written down. */
bool srv_session_busy(const srv_session *session);

#endif
