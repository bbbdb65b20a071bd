/* Requests to handlers: routes, keys, limits. */
#ifndef SERVER_HTTP_H
#define SERVER_HTTP_H

#include "call.h"

/* Callbacks of libmicrohttpd; `context` is the srv_server. */
enum MHD_Result srv_on_request(void *context, struct MHD_Connection *connection, const char *url, const char *method, const char *version,
                               const char *bytes, size_t *size, void **call);
void srv_on_completed(void *context, struct MHD_Connection *connection, void **call, enum MHD_RequestTerminationCode code);
void srv_on_connection(void *context, struct MHD_Connection *connection, void **watched, enum MHD_ConnectionNotificationCode code);

#endif
