/* The files of apps/server/page, as bytes in the program (made by cmake/embed_page.cmake). */
#ifndef SERVER_PAGE_H
#define SERVER_PAGE_H

#include <stddef.h>

typedef struct srv_file {
    const char *name; /* "app.js" */
    const unsigned char *bytes;
    size_t size;
    const char *hash; /* SHA-256, hexadecimal */
} srv_file;

extern const srv_file srv_files[];
extern const size_t srv_n_files;

#endif
