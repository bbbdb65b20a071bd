/* The realtime sockets that are open. */
#ifndef SERVER_REALTIME_H
#define SERVER_REALTIME_H

#include "server.h"

/* Sockets close when nothing is in the works any more. */
void srv_sockets_drain(srv_server *server);
/* Closes all of them and waits for that. */
void srv_sockets_close(srv_server *server);

#endif
