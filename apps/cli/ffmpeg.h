/* The ffmpeg program as a decoder of what the library cannot read: a child process without a shell, a network or any file but the one it is given. */
#ifndef CLI_FFMPEG_H
#define CLI_FFMPEG_H

#include "common.h"

#include <parley/audio.h>

/* Decodes the first sound track of `fd`, a regular file open for reading, until `stop` wants no more. `name` is for error texts. The child is gone
 * when this returns. Errors: UNSUPPORTED (no ffmpeg in PATH),
 * FORMAT (what ffmpeg says), LIMIT (longer than max_seconds, or more than two minutes of work), CANCELLED, and those of parley_audio_read(). */
parley_status cli_ffmpeg_read(const char *name, int fd, const parley_audio_options *options, const cli_stop *stop, parley_audio *audio,
                              parley_error *error);

#endif
