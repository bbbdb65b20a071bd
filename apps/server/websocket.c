#include "websocket.h"

#include "base64.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <string.h>

enum {
    FIN = 0x80,
    RESERVED = 0x70,
    OPCODE = 0x0F,
    MASKED = 0x80,
    LENGTH = 0x7F,
    LENGTH_16 = 126,
    LENGTH_64 = 127,
    CONTROL = 0x8,
    CONTROL_MOST = 125
};

typedef struct frame {
    uint8_t opcode;
    bool fin;
    size_t size, head; /* of the payload, of what stands before it */
    uint8_t mask[4];
} frame;

void srv_ws_init(srv_ws *ws, size_t most)
{
    *ws = (srv_ws){.most = most, .kind = SRV_WS_NONE};
}

void srv_ws_free(srv_ws *ws)
{
    cli_buffer_free(&ws->in);
    cli_buffer_free(&ws->message);
}

void srv_ws_feed(srv_ws *ws, const void *bytes, size_t size)
{
    if (ws->at > 0) {
        memmove(ws->in.data, ws->in.data + ws->at, ws->in.size - ws->at);
        ws->in.size -= ws->at;
        ws->at = 0;
    }
    cli_append(&ws->in, bytes, size);
    if (ws->in.failed && !ws->failure)
        ws->failure = SRV_WS_FAULT;
}

bool srv_ws_halfway(const srv_ws *ws)
{
    return ws->kind != SRV_WS_NONE || ws->at < ws->in.size;
}

/* ------------------------------------------------------------------ frames */

static uint64_t big_endian(const uint8_t *from, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value = value << 8 | from[i];
    return value;
}

/* False: not all there, or a failure. */
static bool read_head(srv_ws *ws, frame *f)
{
    const uint8_t *from = (const uint8_t *)ws->in.data + ws->at;
    size_t left = ws->in.size - ws->at;
    if (left < 2)
        return false;
    int extra = (from[1] & LENGTH) == LENGTH_16 ? 2 : (from[1] & LENGTH) == LENGTH_64 ? 8 : 0;
    if (left < 2 + (size_t)extra + 4)
        return false;
    uint64_t size = extra ? big_endian(from + 2, extra) : from[1] & LENGTH;
    *f = (frame){.opcode = from[0] & OPCODE, .fin = from[0] & FIN, .head = 2 + (size_t)extra + 4};
    memcpy(f->mask, from + 2 + extra, 4);
    bool control = f->opcode & CONTROL;
    bool known = f->opcode <= SRV_WS_BINARY || (f->opcode >= SRV_WS_CLOSE && f->opcode <= SRV_WS_PONG);
    if ((from[0] & RESERVED) || !(from[1] & MASKED) || !known || (control && (!f->fin || size > CONTROL_MOST)))
        ws->failure = SRV_WS_PROTOCOL;
    else if (size > ws->most || (!control && size > ws->most - ws->message.size))
        ws->failure = SRV_WS_TOO_BIG;
    f->size = ws->failure ? 0 : (size_t)size;
    return !ws->failure;
}

/* Begins or goes on with a message, as the opcode says. */
static bool place_frame(srv_ws *ws, const frame *f)
{
    bool begins = f->opcode != 0;
    if (begins == (ws->kind != SRV_WS_NONE)) {
        ws->failure = SRV_WS_PROTOCOL;
        return false;
    }
    if (begins) {
        ws->kind = (srv_ws_kind)f->opcode;
        ws->message.size = 0;
    }
    return true;
}

static void unmask(char *bytes, const frame *f)
{
    for (size_t i = 0; i < f->size; i++)
        bytes[i] = (char)((uint8_t)bytes[i] ^ f->mask[i % 4]);
}

static srv_ws_message whole_message(srv_ws *ws)
{
    srv_ws_message message = {.kind = ws->kind, .bytes = ws->message.data ? ws->message.data : "", .size = ws->message.size};
    ws->kind = SRV_WS_NONE;
    if (ws->message.failed)
        ws->failure = SRV_WS_FAULT;
    else if (message.kind == SRV_WS_TEXT && cli_utf8_valid(message.bytes, message.size) < message.size)
        ws->failure = SRV_WS_NO_UTF8;
    ws->message.size = 0;
    if (ws->failure)
        message.kind = SRV_WS_NONE;
    return message;
}

srv_ws_message srv_ws_next(srv_ws *ws)
{
    static const srv_ws_message none = {.kind = SRV_WS_NONE};
    frame f;
    while (!ws->failure && read_head(ws, &f)) {
        if (ws->in.size - ws->at - f.head < f.size)
            return none;
        char *payload = ws->in.data + ws->at + f.head;
        unmask(payload, &f);
        ws->at += f.head + f.size;
        if (f.opcode & CONTROL) /* comes between fragments and stays where it lies: what follows is not unmasked yet */
            return (srv_ws_message){.kind = (srv_ws_kind)f.opcode, .bytes = payload, .size = f.size};
        if (!place_frame(ws, &f))
            return none;
        cli_append(&ws->message, payload, f.size);
        if (f.fin)
            return whole_message(ws);
    }
    return none;
}

/* ------------------------------------------------------------------ writing */

void srv_ws_frame(cli_buffer *out, srv_ws_kind kind, const void *bytes, size_t size)
{
    uint8_t head[10] = {(uint8_t)(FIN | kind), (uint8_t)size};
    size_t length = 2;
    if (size > CONTROL_MOST) {
        int extra = size > UINT16_MAX ? 8 : 2;
        head[1] = extra == 8 ? LENGTH_64 : LENGTH_16;
        for (int i = 0; i < extra; i++)
            head[2 + i] = (uint8_t)((uint64_t)size >> 8 * (extra - 1 - i));
        length += (size_t)extra;
    }
    cli_append(out, head, length);
    cli_append(out, bytes, size);
}

void srv_ws_close_frame(cli_buffer *out, int code, const char *reason)
{
    char payload[CONTROL_MOST] = {(char)(code >> 8), (char)code};
    size_t length = strlen(reason) < sizeof payload - 2 ? strlen(reason) : sizeof payload - 2;
    memcpy(payload + 2, reason, length);
    srv_ws_frame(out, SRV_WS_CLOSE, payload, length + 2);
}

bool srv_ws_accept(const char *key, char accept[SRV_WS_ACCEPT])
{
    static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"; /* RFC 6455, 1.3 */
    char joined[24 + sizeof guid];
    uint8_t hash[20];
    cli_buffer text = {0};
    if (!key || strlen(key) != 24) /* 16 bytes in base64 */
        return false;
    memcpy(joined, key, 24);
    memcpy(joined + 24, guid, sizeof guid);
    if (gnutls_hash_fast(GNUTLS_DIG_SHA1, joined, strlen(joined), hash) != 0)
        return false;
    srv_base64(&text, hash, sizeof hash);
    bool good = !text.failed && text.size == SRV_WS_ACCEPT - 1;
    if (good)
        memcpy(accept, text.data, SRV_WS_ACCEPT);
    cli_buffer_free(&text);
    return good;
}
