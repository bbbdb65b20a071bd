/* How many requests an address may make: a bucket a minute's worth deep for each, in a table of fixed size. */
#ifndef SERVER_RATES_H
#define SERVER_RATES_H

#include <sys/socket.h>

#include "common.h"

typedef struct srv_rates srv_rates;

/* NULL: no memory. */
srv_rates *srv_rates_open(int32_t a_minute);
void srv_rates_close(srv_rates *rates);

/* Whether one more is allowed now. */
bool srv_rates_take(srv_rates *rates, const struct sockaddr *address);

#endif
