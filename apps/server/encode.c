#include "encode.h"

#include "wav.h"

#include <lame/lame.h>
#include <opusenc.h>
#include <sndfile.h>
#include <stdlib.h>
#include <string.h>

enum {
    PIECE = 4096,      /* samples converted at once */
    MP3_KILOBITS = 64, /* of one channel at 24 kHz: transparent for speech */
    MP3_SLACK = 7200,  /* lame.h: an encoded piece takes at most 1.25 * samples + 7200 bytes */
    OPUS_PAGE = 3840,  /* samples at 48 kHz that a page may hold back: 80 ms, a frame of speech */
    OPUS_BLOCK = 480,  /* samples given to Opus at once: 20 ms at 24 kHz, one of its frames */
    OPUS_SERIAL = 1    /* of the Ogg stream: the same speech is the same bytes */
};

struct srv_encoder {
    srv_format format;
    int32_t rate;
    bool begun; /* WAV: the header is out */
    lame_t lame;
    OggOpusEnc *opus;
    OggOpusComments *comments;
    float waiting[OPUS_BLOCK]; /* Opus: [n_waiting], less than a block */
    size_t n_waiting;
    SNDFILE *flac;
    cli_buffer begun_with; /* FLAC: the header, which the library writes when it opens */
    cli_buffer *out;       /* of the call that runs */
    sf_count_t at, end;    /* FLAC: where the library would write, how much it has written */
};

static const struct {
    const char *name, *type;
} formats[SRV_FORMATS] = {
    {"mp3", "audio/mpeg"}, {"opus", "audio/ogg"}, {"flac", "audio/flac"}, {"wav", "audio/wav"}, {"pcm", "audio/pcm"},
};

const char *srv_format_name(srv_format format)
{
    return formats[format].name;
}

const char *srv_format_type(srv_format format)
{
    return formats[format].type;
}

bool srv_format_find(const char *name, srv_format *format)
{
    for (int i = 0; i < SRV_FORMATS; i++) {
        if (!strcmp(name, formats[i].name)) {
            *format = (srv_format)i;
            return true;
        }
    }
    return false;
}

/* ------------------------------------------------------------------ WAV and PCM */

static void encode_s16(const float *pcm, size_t samples, cli_buffer *out)
{
    if (!cli_buffer_reserve(out, 2 * samples))
        return;
    for (size_t i = 0; i < samples; i++) {
        uint16_t value = (uint16_t)cli_wav_s16(pcm[i]);
        uint8_t bytes[2] = {(uint8_t)value, (uint8_t)(value >> 8)};
        cli_append(out, bytes, 2);
    }
}

static void wav_header(int32_t rate, uint64_t samples, cli_buffer *out)
{
    uint8_t header[CLI_WAV_HEADER_MAX];
    cli_append(out, header, cli_wav_header(header, CLI_WAV_S16, rate, samples));
}

void srv_encode_patch(srv_format format, int32_t rate, cli_buffer *whole)
{
    uint8_t header[CLI_WAV_HEADER_MAX];
    size_t size = cli_wav_header(header, CLI_WAV_S16, rate, 0);
    if (format != SRV_WAV || whole->failed || whole->size < size)
        return;
    size = cli_wav_header(header, CLI_WAV_S16, rate, (whole->size - size) / 2);
    memcpy(whole->data, header, size);
}

/* ------------------------------------------------------------------ MP3 */

static parley_status open_mp3(srv_encoder *e, parley_error *error)
{
    e->lame = lame_init();
    bool good = e->lame && lame_set_in_samplerate(e->lame, e->rate) == 0 && lame_set_out_samplerate(e->lame, e->rate) == 0
                && lame_set_num_channels(e->lame, 1) == 0 && lame_set_mode(e->lame, MONO) == 0 && lame_set_brate(e->lame, MP3_KILOBITS) == 0
                && lame_set_bWriteVbrTag(e->lame, 0) == 0 && lame_init_params(e->lame) >= 0;
    return good ? PARLEY_OK : cli_fail(error, PARLEY_UNSUPPORTED, "mp3 cannot hold speech at %d Hz", (int)e->rate);
}

static parley_status encode_mp3(srv_encoder *e, const float *pcm, size_t samples, cli_buffer *out, parley_error *error)
{
    size_t room = samples + samples / 4 + 1 + MP3_SLACK;
    if (!cli_buffer_reserve(out, room))
        return cli_fail_memory(error);
    unsigned char *to = (unsigned char *)out->data + out->size;
    int n = samples ? lame_encode_buffer_ieee_float(e->lame, pcm, NULL, (int)samples, to, (int)room) : lame_encode_flush(e->lame, to, (int)room);
    if (n < 0)
        return cli_fail(error, PARLEY_INTERNAL, "the mp3 encoder failed (%d)", n);
    out->size += (size_t)n;
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ Opus */

static parley_status open_opus(srv_encoder *e, parley_error *error)
{
    int failure = 0;
    e->comments = ope_comments_create();
    e->opus = e->comments ? ope_encoder_create_pull(e->comments, e->rate, 1, 0, &failure) : NULL;
    if (e->opus && ope_encoder_ctl(e->opus, OPE_SET_DECISION_DELAY(0)) == OPE_OK
        && ope_encoder_ctl(e->opus, OPE_SET_MUXING_DELAY(OPUS_PAGE)) == OPE_OK && ope_encoder_ctl(e->opus, OPE_SET_SERIALNO(OPUS_SERIAL)) == OPE_OK)
        return PARLEY_OK;
    return cli_fail(error, PARLEY_INTERNAL, "the opus encoder cannot start: %s", ope_strerror(failure));
}

static parley_status take_pages(srv_encoder *e, bool all, cli_buffer *out)
{
    unsigned char *page = NULL;
    opus_int32 size = 0;
    while (ope_encoder_get_page(e->opus, &page, &size, all))
        cli_append(out, page, (size_t)size);
    return PARLEY_OK;
}

static parley_status write_block(srv_encoder *e, cli_buffer *out, parley_error *error)
{
    int failure = ope_encoder_write_float(e->opus, e->waiting, (int)e->n_waiting);
    e->n_waiting = 0;
    if (failure != OPE_OK)
        return cli_fail(error, PARLEY_INTERNAL, "the opus encoder failed: %s", ope_strerror(failure));
    return take_pages(e, false, out);
}

/* Opus looks ahead as far as it is given samples: always equally far, so that the bytes do not depend on how the sound came. */
static parley_status encode_opus(srv_encoder *e, const float *pcm, size_t samples, cli_buffer *out, parley_error *error)
{
    for (size_t n; samples > 0; pcm += n, samples -= n) {
        size_t room = OPUS_BLOCK - e->n_waiting;
        n = samples < room ? samples : room;
        memcpy(e->waiting + e->n_waiting, pcm, n * sizeof *pcm);
        e->n_waiting += n;
        if (e->n_waiting == OPUS_BLOCK)
            CLI_TRY(write_block(e, out, error));
    }
    return PARLEY_OK;
}

static parley_status end_opus(srv_encoder *e, cli_buffer *out, parley_error *error)
{
    if (e->n_waiting)
        CLI_TRY(write_block(e, out, error));
    int failure = ope_encoder_drain(e->opus);
    if (failure != OPE_OK)
        return cli_fail(error, PARLEY_INTERNAL, "the opus encoder failed: %s", ope_strerror(failure));
    return take_pages(e, true, out);
}

/* ------------------------------------------------------------------ FLAC */

static sf_count_t flac_length(void *context)
{
    return ((srv_encoder *)context)->end;
}

static sf_count_t flac_seek(sf_count_t offset, int from, void *context)
{
    srv_encoder *e = context;
    e->at = offset + (from == SEEK_CUR ? e->at : from == SEEK_END ? e->end : 0);
    return e->at;
}

static sf_count_t flac_tell(void *context)
{
    return ((srv_encoder *)context)->at;
}

static sf_count_t flac_read(void *to, sf_count_t size, void *context)
{
    (void)to;
    (void)size;
    (void)context;
    return 0;
}

/* The header is written again at the end; it has been sent by then and stays one of unknown length. */
static sf_count_t flac_write(const void *bytes, sf_count_t size, void *context)
{
    srv_encoder *e = context;
    if (e->at == e->end && e->out) {
        cli_append(e->out, bytes, (size_t)size);
        e->end += size;
    }
    e->at += size;
    return size;
}

static parley_status open_flac(srv_encoder *e, parley_error *error)
{
    static SF_VIRTUAL_IO io = {flac_length, flac_seek, flac_read, flac_write, flac_tell};
    SF_INFO info = {.samplerate = e->rate, .channels = 1, .format = SF_FORMAT_FLAC | SF_FORMAT_PCM_16};
    e->out = &e->begun_with;
    e->flac = sf_open_virtual(&io, SFM_WRITE, &info, e);
    e->out = NULL;
    if (!e->flac)
        return cli_fail(error, PARLEY_INTERNAL, "the flac encoder cannot start: %s", sf_strerror(e->flac));
    return PARLEY_OK;
}

static parley_status encode_flac(srv_encoder *e, const float *pcm, size_t samples, cli_buffer *out, parley_error *error)
{
    short piece[PIECE];
    cli_append(out, e->begun_with.data, e->begun_with.size);
    out->failed = out->failed || e->begun_with.failed;
    e->begun_with.size = 0;
    e->out = out;
    for (size_t at = 0; at < samples; at += PIECE) {
        size_t n = samples - at < PIECE ? samples - at : PIECE;
        for (size_t i = 0; i < n; i++)
            piece[i] = cli_wav_s16(pcm[at + i]);
        if (sf_write_short(e->flac, piece, (sf_count_t)n) != (sf_count_t)n)
            return cli_fail(error, PARLEY_INTERNAL, "the flac encoder failed: %s", sf_strerror(e->flac));
    }
    if (samples == 0) {
        sf_close(e->flac);
        e->flac = NULL;
    }
    e->out = NULL;
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ all of them */

parley_status srv_encoder_open(srv_encoder **encoder, srv_format format, int32_t rate, parley_error *error)
{
    srv_encoder *e = calloc(1, sizeof *e);
    if (!e)
        return cli_fail_memory(error);
    *e = (srv_encoder){.format = format, .rate = rate};
    parley_status status = PARLEY_OK;
    if (format == SRV_MP3)
        status = open_mp3(e, error);
    else if (format == SRV_OPUS)
        status = open_opus(e, error);
    else if (format == SRV_FLAC)
        status = open_flac(e, error);
    if (status == PARLEY_OK)
        *encoder = e;
    else
        srv_encoder_close(e);
    return status;
}

void srv_encoder_close(srv_encoder *e)
{
    if (!e)
        return;
    if (e->lame)
        lame_close(e->lame);
    if (e->opus)
        ope_encoder_destroy(e->opus);
    if (e->comments)
        ope_comments_destroy(e->comments);
    if (e->flac)
        sf_close(e->flac);
    cli_buffer_free(&e->begun_with);
    free(e);
}

parley_status srv_encode(srv_encoder *e, const float *pcm, size_t samples, cli_buffer *out, parley_error *error)
{
    if (samples == 0)
        return PARLEY_OK;
    switch (e->format) {
    case SRV_MP3: return encode_mp3(e, pcm, samples, out, error);
    case SRV_OPUS: return encode_opus(e, pcm, samples, out, error);
    case SRV_FLAC: return encode_flac(e, pcm, samples, out, error);
    case SRV_WAV:
        if (!e->begun)
            wav_header(e->rate, CLI_WAV_OPEN_END, out);
        e->begun = true;
        break;
    default: break;
    }
    encode_s16(pcm, samples, out);
    return out->failed ? cli_fail_memory(error) : PARLEY_OK;
}

parley_status srv_encode_end(srv_encoder *e, cli_buffer *out, parley_error *error)
{
    switch (e->format) {
    case SRV_MP3: return encode_mp3(e, NULL, 0, out, error);
    case SRV_OPUS: return end_opus(e, out, error);
    case SRV_FLAC: return encode_flac(e, NULL, 0, out, error);
    case SRV_WAV:
        if (!e->begun)
            wav_header(e->rate, CLI_WAV_OPEN_END, out);
        e->begun = true;
        return PARLEY_OK;
    default: return PARLEY_OK;
    }
}
