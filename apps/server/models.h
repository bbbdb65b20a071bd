/* The models that are served: each with its engine. They are opened one after the other on a thread of their own. */
#ifndef SERVER_MODELS_H
#define SERVER_MODELS_H

#include "server.h"

typedef enum srv_kind { SRV_TTS, SRV_ASR, SRV_ALIGNER, SRV_KINDS } srv_kind;
typedef enum srv_state { SRV_LOADING, SRV_READY, SRV_FAILING } srv_state;

typedef struct srv_model {
    const char *name;
    srv_kind kind;
    parley_model *model;
    parley_engine *engine;
    const parley_info *info;
    /* of the self-check, under the lock of the models */
    bool checking;
    double checked_at;    /* clock; 0: never */
    uint64_t turns;       /* when it was looked at last */
    double moved_at;      /* when they last were others */
    parley_error failure; /* status OK: it passed */
} srv_model;

typedef struct srv_models srv_models;

parley_status srv_models_open(const srv_options *options, srv_models **models, parley_error *error);
void srv_models_close(srv_models *models);

/* Loading, or how it went; `error` then tells why it failed. Does not look at the models that are open. */
srv_state srv_models_state(srv_models *models, parley_error *error);

/* Runs the self-checks that are due (in turn with others that ask) and tells how things stand: each idle model has done a small piece of work within
 * the last seconds, each busy one takes turns. */
srv_state srv_models_check(srv_models *models, parley_error *error);

/* Those that are open, in the order of the command line. None while they load. */
size_t srv_models_list(srv_models *models, srv_model *const **list);

/* The model of this name (aliases count), or the first of its kind where `name` is NULL; NULL where there is none. */
srv_model *srv_models_find(srv_models *models, srv_kind kind, const char *name);

/* What an alias stands for, or the name itself. */
const char *srv_unalias(const srv_options *options, const char *name);

const char *srv_kind_name(srv_kind kind);

/* Stops accepting, and waits for what runs. */
void srv_models_drain(srv_models *models, double seconds);

#endif
