#include "live_text.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "signals.h"
#include "text_input.h"

enum { READ_AT_ONCE = 4096, LOOK_MS = 100 };

/* Whether standard input has something, its end included. */
static bool has_input(bool wait)
{
    struct pollfd in = {.fd = 0, .events = POLLIN};
    int ready;
    do
        ready = poll(&in, 1, wait ? LOOK_MS : 0);
    while (wait && (ready == 0 || (ready < 0 && errno == EINTR)) && !cli_signals_cancelled());
    return ready > 0;
}

static parley_status read_some(cli_live *live, parley_error *error)
{
    char bytes[READ_AT_ONCE];
    ssize_t got = read(0, bytes, sizeof bytes);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return PARLEY_OK;
    if (got < 0)
        return cli_fail(error, PARLEY_IO, "standard input cannot be read: %s", strerror(errno));
    live->ended = got == 0;
    live->read += (size_t)got;
    if (live->read > CLI_TEXT_MAX)
        return cli_fail(error, PARLEY_LIMIT, "the text is longer than %d bytes, the most that is read", (int)CLI_TEXT_MAX);
    cli_append(&live->pending, bytes, (size_t)got);
    return live->pending.failed ? cli_fail_memory(error) : PARLEY_OK;
}

static void drop_front(cli_buffer *b, size_t count)
{
    b->size -= count;
    memmove(b->data, b->data + count, b->size);
}

/* False: it could still be one. */
static bool passed_mark(cli_live *live)
{
    static const char mark[] = "\xEF\xBB\xBF";
    size_t size = sizeof mark - 1, there = live->pending.size < size ? live->pending.size : size;
    bool alike = there > 0 && memcmp(live->pending.data, mark, there) == 0;
    if (alike && there < size && !live->ended)
        return false;
    if (alike && there == size)
        drop_front(&live->pending, size);
    return true;
}

/* Bytes of a line end at the end: CR alone may become one. */
static size_t line_end(const cli_live *live)
{
    const cli_buffer *b = &live->pending;
    size_t n = 0;
    if (b->size && b->data[b->size - 1] == '\n')
        n++;
    if (b->size > n && b->data[b->size - 1 - n] == '\r' && (n || !live->ended))
        n++;
    return n;
}

parley_status cli_live_feed(cli_live *live, parley_tts *session, bool wait, parley_error *error)
{
    while (!live->ended && has_input(wait)) {
        CLI_TRY(read_some(live, error));
        wait = false;
    }
    live->begun = live->begun || passed_mark(live);
    size_t count = live->begun ? live->pending.size - line_end(live) : 0;
    if (count) {
        CLI_TRY(parley_tts_push_text(session, live->pending.data, count, error));
        drop_front(&live->pending, count);
    }
    return live->ended ? parley_tts_finish_text(session, error) : PARLEY_OK;
}
