#include "metrics.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 128, BUCKETS = 8 };

/* Seconds until an answer begins. */
static const double bounds[BUCKETS] = {0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30};

typedef struct row {
    const char *path; /* of the route, which lives as long as the program */
    int http;
    uint64_t count;
} row;

struct srv_metrics {
    pthread_mutex_t lock;
    row rows[ROWS];
    size_t n_rows;
    uint64_t buckets[BUCKETS], count;
    double seconds;
};

srv_metrics *srv_metrics_open(void)
{
    srv_metrics *m = calloc(1, sizeof *m);
    if (m)
        pthread_mutex_init(&m->lock, NULL);
    return m;
}

void srv_metrics_close(srv_metrics *m)
{
    if (!m)
        return;
    pthread_mutex_destroy(&m->lock);
    free(m);
}

static row *find_row(srv_metrics *m, const char *path, int http)
{
    for (size_t i = 0; i < m->n_rows; i++) {
        if (m->rows[i].http == http && !strcmp(m->rows[i].path, path))
            return &m->rows[i];
    }
    if (m->n_rows == ROWS)
        return &m->rows[ROWS - 1];
    m->rows[m->n_rows] = (row){.path = path, .http = http};
    return &m->rows[m->n_rows++];
}

void srv_metrics_count(srv_metrics *m, const char *path, int http, double seconds)
{
    pthread_mutex_lock(&m->lock);
    find_row(m, path ? path : "other", http)->count++;
    for (size_t i = 0; i < BUCKETS; i++)
        m->buckets[i] += seconds <= bounds[i];
    m->seconds += seconds;
    m->count++;
    pthread_mutex_unlock(&m->lock);
}

void srv_metrics_write(srv_metrics *m, cli_buffer *out)
{
    pthread_mutex_lock(&m->lock);
    cli_append_text(out, "# HELP parley_http_requests_total Answers by endpoint and status.\n# TYPE parley_http_requests_total counter\n");
    for (size_t i = 0; i < m->n_rows; i++)
        cli_appendf(out, "parley_http_requests_total{path=\"%s\",status=\"%d\"} %llu\n", m->rows[i].path, m->rows[i].http,
                    (unsigned long long)m->rows[i].count);
    cli_append_text(out, "# HELP parley_http_answer_seconds From a request's headers to the beginning of its answer.\n"
                         "# TYPE parley_http_answer_seconds histogram\n");
    for (size_t i = 0; i < BUCKETS; i++)
        cli_appendf(out, "parley_http_answer_seconds_bucket{le=\"%g\"} %llu\n", bounds[i], (unsigned long long)m->buckets[i]);
    cli_appendf(out,
                "parley_http_answer_seconds_bucket{le=\"+Inf\"} %llu\nparley_http_answer_seconds_sum %.9g\nparley_http_answer_seconds_count %llu\n",
                (unsigned long long)m->count, m->seconds, (unsigned long long)m->count);
    pthread_mutex_unlock(&m->lock);
}
