/* multipart/form-data, as it arrives: named texts and one file. */
#ifndef SERVER_UPLOAD_H
#define SERVER_UPLOAD_H

#include <microhttpd.h>

#include "buffer.h"

enum { SRV_MOST_FIELDS = 32 };

typedef struct srv_field {
    char name[64];
    cli_buffer value;
    bool is_file;
} srv_field;

typedef struct srv_upload {
    struct MHD_PostProcessor *parser;
    srv_field fields[SRV_MOST_FIELDS];
    size_t count;
    size_t text_bytes;    /* most of a field that is no file */
    parley_error failure; /* status OK: none */
} srv_upload;

/* ARGUMENT: the content type is none of a form. */
parley_status srv_upload_open(srv_upload **upload, struct MHD_Connection *connection, size_t text_bytes, parley_error *error);
/* Takes a piece of the body. */
void srv_upload_take(srv_upload *upload, const char *bytes, size_t size);
/* The body has ended. Errors: ARGUMENT (malformed), LIMIT (fields too long or too many), MEMORY. */
parley_status srv_upload_end(srv_upload *upload, parley_error *error);
void srv_upload_close(srv_upload *upload);

/* The first field of this name from index `*at` on, which moves behind it; NULL: none. */
const srv_field *srv_upload_next(const srv_upload *upload, const char *name, size_t *at);
/* The text of the field of this name, NULL: none. */
const char *srv_upload_text(const srv_upload *upload, const char *name);
/* Every field must be in the list (NULL at its end), and there once, unless its name ends in "[]". Errors: ARGUMENT. */
parley_status srv_upload_check(const srv_upload *upload, const char *const *names, parley_error *error);

#endif
