/* Counts of answers by endpoint and status, and how long they took to begin. */
#ifndef SERVER_METRICS_H
#define SERVER_METRICS_H

#include "buffer.h"

typedef struct srv_metrics srv_metrics;

srv_metrics *srv_metrics_open(void); /* NULL: no memory */
void srv_metrics_close(srv_metrics *metrics);

/* An answer of this status begins; `path` is that of a route, NULL: none fits. */
void srv_metrics_count(srv_metrics *metrics, const char *path, int http, double seconds);
void srv_metrics_write(srv_metrics *metrics, cli_buffer *out);

#endif
