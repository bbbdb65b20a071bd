#include "buffer.h"

#include "inputs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool cli_buffer_reserve(cli_buffer *buffer, size_t size)
{
    if (buffer->failed || size > SIZE_MAX / 4 || buffer->size > SIZE_MAX / 4) {
        buffer->failed = true;
        return false;
    }
    size_t wanted = buffer->size + size + 1;
    if (wanted <= buffer->capacity)
        return true;
    size_t capacity = buffer->capacity * 2 > wanted ? buffer->capacity * 2 : wanted;
    if (capacity < 256)
        capacity = 256;
    char *data = realloc(buffer->data, capacity);
    if (!data) {
        buffer->failed = true;
        return false;
    }
    buffer->data = data;
    buffer->capacity = capacity;
    buffer->data[buffer->size] = 0;
    return true;
}

void cli_append(cli_buffer *buffer, const void *bytes, size_t size)
{
    if (!cli_buffer_reserve(buffer, size))
        return;
    if (size)
        memcpy(buffer->data + buffer->size, bytes, size);
    buffer->size += size;
    buffer->data[buffer->size] = 0;
}

void cli_append_text(cli_buffer *buffer, const char *text)
{
    cli_append(buffer, text, strlen(text));
}

void cli_appendf(cli_buffer *buffer, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0 || !cli_buffer_reserve(buffer, (size_t)length)) {
        buffer->failed = true;
        return;
    }
    va_start(args, format);
    vsnprintf(buffer->data + buffer->size, (size_t)length + 1, format, args);
    va_end(args);
    buffer->size += (size_t)length;
}

void cli_buffer_free(cli_buffer *buffer)
{
    free(buffer->data);
    *buffer = (cli_buffer){0};
}

static parley_status read_descriptor(int fd, const char *path, const char *what, size_t limit, cli_buffer *bytes, parley_error *error)
{
    CLI_TRY(cli_input(path, fd, error));
    for (;;) {
        if (!cli_buffer_reserve(bytes, 65536))
            return cli_fail_memory(error);
        ssize_t got = read(fd, bytes->data + bytes->size, bytes->capacity - bytes->size - 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return cli_fail(error, PARLEY_IO, "cannot read %s \"%.200s\": %s", what, path, strerror(errno));
        bytes->size += (size_t)got;
        bytes->data[bytes->size] = 0;
        if (bytes->size > limit)
            return cli_fail(error, PARLEY_LIMIT, "%s \"%.200s\" is longer than %zu bytes, the most that is read", what, path, limit);
        if (got == 0)
            return PARLEY_OK;
    }
}

parley_status cli_read_file(const char *path, const char *what, size_t limit, cli_buffer *bytes, parley_error *error)
{
    if (!strcmp(path, "-"))
        return read_descriptor(0, "standard input", what, limit, bytes, error);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return cli_fail(error, PARLEY_MISSING, "%s \"%.200s\": no such file", what, path);
    if (fd < 0)
        return cli_fail(error, PARLEY_IO, "cannot open %s \"%.200s\": %s", what, path, strerror(errno));
    parley_status status = read_descriptor(fd, path, what, limit, bytes, error);
    close(fd);
    return status;
}
