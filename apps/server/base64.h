/* Base64 (RFC 4648). */
#ifndef SERVER_BASE64_H
#define SERVER_BASE64_H

#include "buffer.h"

/* Appends the digits. */
void srv_base64(cli_buffer *out, const void *bytes, size_t size);

#endif
