/* Uploaded recordings to samples. */
#include "call.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static const char name[] = "the uploaded file";

/* The library says so by naming no format. */
static bool is_unknown(parley_status status, const parley_audio *audio)
{
    return (status == PARLEY_FORMAT || status == PARLEY_UNSUPPORTED) && !audio->source_format[0];
}

static bool client_left(void *context)
{
    return srv_watch_gone(context);
}

/* False: as many run as requests may. */
static bool take_place(srv_server *server)
{
    pthread_mutex_lock(&server->lock);
    bool free = server->decoders < server->options->limits.active;
    server->decoders += free;
    pthread_mutex_unlock(&server->lock);
    return free;
}

static void leave_place(srv_server *server)
{
    pthread_mutex_lock(&server->lock);
    server->decoders--;
    pthread_mutex_unlock(&server->lock);
}

/* By way of a file without a name, which other requests' programs do not inherit. */
static parley_status decode_in_file(srv_call *call, const cli_buffer *bytes, const parley_audio_options *options, parley_audio *audio)
{
    FILE *file = tmpfile();
    if (!file || fcntl(fileno(file), F_SETFD, FD_CLOEXEC) != 0 || fwrite(bytes->data, 1, bytes->size, file) != bytes->size || fflush(file) != 0) {
        if (file)
            fclose(file);
        return cli_fail(&call->error, PARLEY_IO, "%s cannot be kept in a temporary file for ffmpeg", name);
    }
    const cli_stop stop = {.wanted = client_left, .context = call->watched};
    parley_status status = call->server->options->decode(name, fileno(file), options, &stop, audio, &call->error);
    fclose(file);
    return status;
}

static parley_status decode_elsewhere(srv_call *call, const cli_buffer *bytes, const parley_audio_options *options, parley_audio *audio)
{
    if (!take_place(call->server))
        return srv_fail(call, 503, "busy", NULL, "%d uploads are being decoded by ffmpeg, as many as may be at once",
                        (int)call->server->options->limits.active);
    parley_status status = decode_in_file(call, bytes, options, audio);
    leave_place(call->server);
    return status;
}

parley_status srv_read_sound(srv_call *call, const srv_field *file, const parley_audio_options *options, parley_audio *audio)
{
    const cli_buffer *bytes = &file->value;
    parley_status status = parley_audio_read_memory(name, bytes->data ? bytes->data : "", bytes->size, options, audio, &call->error);
    if (is_unknown(status, audio) && bytes->size && call->server->options->decode)
        status = decode_elsewhere(call, bytes, options, audio);
    if (status == PARLEY_OK && audio->count == 0)
        status = srv_fail(call, 400, "empty_audio", call->param, "%s holds no samples", name);
    if (status == PARLEY_FORMAT || status == PARLEY_UNSUPPORTED)
        call->http = 400;
    return status;
}
