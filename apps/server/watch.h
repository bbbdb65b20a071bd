/* The connections, watched by one thread: a client that hangs up ends its request, one that sends or takes nothing for too long is cut off. */
#ifndef SERVER_WATCH_H
#define SERVER_WATCH_H

#include <parley/engine.h>

#include "common.h"

typedef struct srv_watch srv_watch;
typedef struct srv_watched srv_watched; /* a connection */

parley_status srv_watch_open(srv_watch **watch, parley_error *error);
void srv_watch_close(srv_watch *watch); /* all connections have been removed */

/* From the connection's first byte to its last; NULL: no memory. `seconds` as below. */
srv_watched *srv_watch_add(srv_watch *watch, int fd, double seconds);
void srv_watch_remove(srv_watched *watched);

/* The client must have sent or taken something within so many seconds; 0: the server works, it need not. NULL is allowed for `watched`. */
void srv_watch_deadline(srv_watched *watched, double seconds);

/* No deadlines for this connection any more, whatever is set: whoever has taken it over sees to them. */
void srv_watch_hand_over(srv_watched *watched);

/* The request to cancel when the client hangs up; NULL: none any more. Must be taken back before the request is released. */
void srv_watch_request(srv_watched *watched, parley_request *request);

/* Whether the client has hung up, also while no request is watched. For the thread of the connection. */
bool srv_watch_gone(srv_watched *watched);

/* Cancels the requests of all connections and shuts these down. */
void srv_watch_hang_up(srv_watch *watch);

/* Connections that are open. */
size_t srv_watch_count(srv_watch *watch);

/* A pipe that wakes a thread from poll(): never blocks, not inherited. */
bool srv_pipe_open(int fds[2]);
void srv_pipe_wake(const int fds[2]);

#endif
