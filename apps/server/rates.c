#include "rates.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { ADDRESSES = 1024, ADDRESS_BYTES = 16, WAYS = 4 };

typedef struct bucket {
    uint8_t address[ADDRESS_BYTES];
    double left, at; /* requests; when they were counted. 0: unused */
} bucket;

struct srv_rates {
    pthread_mutex_t lock;
    double depth;
    bucket buckets[ADDRESSES];
};

srv_rates *srv_rates_open(int32_t a_minute)
{
    srv_rates *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->depth = a_minute;
    pthread_mutex_init(&r->lock, NULL);
    return r;
}

void srv_rates_close(srv_rates *r)
{
    if (!r)
        return;
    pthread_mutex_destroy(&r->lock);
    free(r);
}

static void bytes_of(const struct sockaddr *address, uint8_t bytes[ADDRESS_BYTES])
{
    memset(bytes, 0, ADDRESS_BYTES);
    if (address && address->sa_family == AF_INET)
        memcpy(bytes, &((const struct sockaddr_in *)(const void *)address)->sin_addr, 4);
    else if (address && address->sa_family == AF_INET6)
        memcpy(bytes, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, 8); /* a network: its hosts are one */
}

/* The address's bucket; in a full row the one that was used longest ago is given up. */
static bucket *find(srv_rates *r, const uint8_t bytes[ADDRESS_BYTES])
{
    uint32_t hash = 2166136261U; /* FNV-1a */
    for (int i = 0; i < ADDRESS_BYTES; i++)
        hash = (hash ^ bytes[i]) * 16777619U;
    bucket *row = &r->buckets[hash % (ADDRESSES / WAYS) * WAYS], *oldest = row;
    for (int i = 0; i < WAYS; i++) {
        if (row[i].at > 0 && !memcmp(row[i].address, bytes, ADDRESS_BYTES))
            return &row[i];
        if (row[i].at < oldest->at)
            oldest = &row[i];
    }
    memcpy(oldest->address, bytes, ADDRESS_BYTES);
    oldest->left = r->depth;
    oldest->at = cli_seconds();
    return oldest;
}

bool srv_rates_take(srv_rates *r, const struct sockaddr *address)
{
    uint8_t bytes[ADDRESS_BYTES];
    bytes_of(address, bytes);
    pthread_mutex_lock(&r->lock);
    bucket *b = find(r, bytes);
    double now = cli_seconds();
    b->left += (now - b->at) * r->depth / 60.0;
    b->at = now;
    if (b->left > r->depth)
        b->left = r->depth;
    bool allowed = b->left >= 1;
    if (allowed)
        b->left -= 1;
    pthread_mutex_unlock(&r->lock);
    return allowed;
}
