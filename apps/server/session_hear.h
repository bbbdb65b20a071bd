/* One recording of a realtime session, from its first sample to its text. */
#ifndef SERVER_SESSION_HEAR_H
#define SERVER_SESSION_HEAR_H

#include "models.h"
#include "session_config.h"

typedef struct srv_hearing srv_hearing;

typedef struct srv_hearing_setup {
    srv_server *server;
    const srv_model *model;
    const srv_config *config;
    void (*notify)(void *context);
    void *context;
    const char *item; /* id */
} srv_hearing_setup;

parley_status srv_hearing_open(const srv_hearing_setup *setup, srv_hearing **hearing, parley_error *error);
void srv_hearing_close(srv_hearing *hearing);

/* Adds 16-bit little-endian samples at the rate of the configuration. */
parley_status srv_hearing_push(srv_hearing *hearing, const uint8_t *bytes, size_t samples, parley_error *error);
parley_status srv_hearing_commit(srv_hearing *hearing, parley_error *error);

/* Appends the text that stands since the last call. `*ended`: nothing follows; `*whole` is the text of all then, until the close. */
parley_status srv_hearing_poll(srv_hearing *hearing, cli_buffer *delta, const char **whole, bool *ended, parley_error *error);

bool srv_hearing_committed(const srv_hearing *hearing);
const char *srv_hearing_item(const srv_hearing *hearing);

#endif
