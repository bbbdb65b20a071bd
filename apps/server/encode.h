/* PCM to the bytes of a format, piece by piece: one header, then sound as it comes. */
#ifndef SERVER_ENCODE_H
#define SERVER_ENCODE_H

#include "buffer.h"

typedef enum srv_format { SRV_MP3, SRV_OPUS, SRV_FLAC, SRV_WAV, SRV_PCM, SRV_FORMATS } srv_format;

typedef struct srv_encoder srv_encoder;

const char *srv_format_name(srv_format format);
const char *srv_format_type(srv_format format); /* of media */
bool srv_format_find(const char *name, srv_format *format);

/* `rate` in Hz, one channel. Streams have no length in their headers. */
parley_status srv_encoder_open(srv_encoder **encoder, srv_format format, int32_t rate, parley_error *error);
void srv_encoder_close(srv_encoder *encoder);

/* Appends what `samples` more give, which may be nothing yet. */
parley_status srv_encode(srv_encoder *encoder, const float *pcm, size_t samples, cli_buffer *out, parley_error *error);
parley_status srv_encode_end(srv_encoder *encoder, cli_buffer *out, parley_error *error);

/* Puts the length into the header of a whole file of these bytes, where the format has one there. */
void srv_encode_patch(srv_format format, int32_t rate, cli_buffer *whole);

#endif
