/* Fuzz target of what the server reads itself: any bytes as frames of a WebSocket, whole and byte by byte with the same result; as JSON, and as the
 * settings of a session. libmicrohttpd reads HTTP and forms. */
#include "json_body.h"
#include "session_config.h"
#include "websocket.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 14 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* All messages, one after the other, each with its kind and size in front; the failure at the end. */
static void read_frames(const uint8_t *data, size_t size, size_t step, cli_buffer *out)
{
    srv_ws ws;
    srv_ws_init(&ws, MOST);
    for (size_t at = 0; at < size; at += step) {
        srv_ws_message message;
        srv_ws_feed(&ws, data + at, size - at < step ? size - at : step);
        while ((message = srv_ws_next(&ws)).kind != SRV_WS_NONE) {
            cli_appendf(out, "%d %zu ", (int)message.kind, message.size);
            cli_append(out, message.bytes, message.size);
        }
    }
    cli_appendf(out, "%d %d", ws.failure, (int)srv_ws_halfway(&ws));
    srv_ws_free(&ws);
}

static void check_frames(const uint8_t *data, size_t size)
{
    cli_buffer whole = {0}, pieces = {0};
    read_frames(data, size, size ? size : 1, &whole);
    read_frames(data, size, 1, &pieces);
    if (whole.size != pieces.size || memcmp(whole.data, pieces.data, whole.size) != 0)
        abort();
    cli_buffer_free(&whole);
    cli_buffer_free(&pieces);
}

/* With the NUL behind it that bodies have. */
static void check_json(const uint8_t *data, size_t size)
{
    cli_buffer text = {0};
    cJSON *json = NULL;
    srv_config config;
    parley_error error = {.status = PARLEY_OK};
    cli_append(&text, data, size);
    srv_config_init(&config);
    if (srv_json_parse(text.data, text.size, &json, &error) == PARLEY_OK && srv_config_update(&config, json, &error) == PARLEY_OK) {
        cli_buffer out = {0};
        cli_json members = {.out = &out};
        srv_config_members(&config, &members);
        cli_buffer_free(&out);
    }
    srv_config_free(&config);
    cJSON_Delete(json);
    cli_buffer_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_frames(data, size);
    check_json(data, size);
    return 0;
}
