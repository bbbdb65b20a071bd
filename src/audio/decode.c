#include "audio/container.h"

#include <sndfile.h>
#include <stdio.h>
#include <string.h>

/* Numbers of libsndfile that its header does not name. */
enum { SNDFILE_OUT_OF_MEMORY = 17, SNDFILE_UNIMPLEMENTED = 18 };

/* ------------------------------------------------------------------ bytes as libsndfile asks for them */

typedef struct reader {
    const pl_audio_bytes *bytes;
    uint64_t at; /* may lie behind the end */
    pl_audio_chunk chunk;
} reader;

static sf_count_t io_length(void *context)
{
    const reader *c = context;
    return (sf_count_t)c->bytes->size;
}

static sf_count_t io_tell(void *context)
{
    const reader *c = context;
    return (sf_count_t)c->at;
}

static sf_count_t io_seek(sf_count_t offset, int whence, void *context)
{
    reader *c = context;
    int64_t base = whence == SEEK_CUR ? (int64_t)c->at : whence == SEEK_END ? (int64_t)c->bytes->size : 0;
    if (offset < -base || offset > INT64_MAX - base)
        return -1;
    c->at = (uint64_t)(base + offset);
    return (sf_count_t)c->at;
}

static sf_count_t io_read(void *data, sf_count_t count, void *context)
{
    reader *c = context;
    if (count <= 0)
        return 0;
    size_t got = pl_audio_bytes_copy(c->bytes, c->at, data, (size_t)count);
    for (unsigned i = 0; i < c->chunk.patch_size; i++) {
        uint64_t at = c->chunk.patch_at + i;
        if (at >= c->at && at - c->at < got)
            ((uint8_t *)data)[at - c->at] = c->chunk.patch[i];
    }
    c->at += got;
    return (sf_count_t)got;
}

static sf_count_t io_write(const void *data, sf_count_t count, void *context)
{
    (void)data, (void)count, (void)context;
    return 0;
}

/* ------------------------------------------------------------------ opening */

/* sf_error(NULL) is the last failure of the process, another thread's perhaps: it decides between texts that are near to each other, no more. */
static parley_status fail_open(const char *name, const reader *cursor, parley_audio *audio, parley_error *error)
{
    int number = sf_error(NULL);
    const char *kind = pl_audio_kind(cursor->bytes);
    if (number == SNDFILE_OUT_OF_MEMORY)
        return pl_fail_memory(error, "a decoder of sound");
    if (number == SF_ERR_UNSUPPORTED_ENCODING || number == SNDFILE_UNIMPLEMENTED)
        return pl_fail(error, PARLEY_UNSUPPORTED, "%s: a sound file%s%s whose encoding is not known", name, kind ? " of the kind " : "",
                       kind ? kind : "");
    if (!kind || number == SF_ERR_UNRECOGNISED_FORMAT)
        return pl_fail(error, PARLEY_FORMAT, "%s: no sound file of a known kind", name);
    snprintf(audio->source_format, sizeof audio->source_format, "%s", kind);
    uint64_t at = cursor->at < cursor->bytes->size ? cursor->at : cursor->bytes->size;
    return pl_fail_at(error, PARLEY_FORMAT, at, "%s: damaged %s file: its header cannot be understood, up to byte %llu of %llu", name, kind,
                      (unsigned long long)at, (unsigned long long)cursor->bytes->size);
}

/* "WAV, signed 16 bit PCM" of "WAV (Microsoft)" and "Signed 16 bit PCM". */
static void describe(int format, char *text, size_t size)
{
    SF_FORMAT_INFO major = {.format = format & SF_FORMAT_TYPEMASK}, minor = {.format = format & SF_FORMAT_SUBMASK};
    if (sf_command(NULL, SFC_GET_FORMAT_INFO, &major, sizeof major) != 0 || !major.name)
        major.name = "sound file";
    if (sf_command(NULL, SFC_GET_FORMAT_INFO, &minor, sizeof minor) != 0 || !minor.name)
        minor.name = "unknown encoding";
    bool word = !strncmp(minor.name, "Signed", 6) || !strncmp(minor.name, "Unsigned", 8);
    int length = (int)(strstr(major.name, " (") ? (size_t)(strstr(major.name, " (") - major.name) : strlen(major.name));
    snprintf(text, size, "%.*s, %c%s", length, major.name, word ? minor.name[0] - 'A' + 'a' : minor.name[0], minor.name + 1);
}

/* ------------------------------------------------------------------ decoding */

/* Whether `frames` of the header is a number that a whole file reaches: of MP3 it is an estimate, of Ogg it counts from the stream's start. */
static bool length_is_exact(const SF_INFO *info)
{
    int major = info->format & SF_FORMAT_TYPEMASK;
    return major != SF_FORMAT_MPEG && major != SF_FORMAT_OGG && info->frames < SF_COUNT_MAX;
}

static parley_status fail_short(const pl_intake *intake, const SF_INFO *info, uint64_t lacks, parley_error *error)
{
    uint64_t frames = intake->audio->source_frames;
    if (lacks > 0)
        return pl_fail_at(error, PARLEY_FORMAT, frames, "%s: damaged %s: ends at sample %llu, %llu bytes before the end that its header promises",
                          intake->name, intake->audio->source_format, (unsigned long long)frames, (unsigned long long)lacks);
    return pl_fail_at(error, PARLEY_FORMAT, frames, "%s: damaged %s: ends at sample %llu, its header promises %llu", intake->name,
                      intake->audio->source_format, (unsigned long long)frames, (unsigned long long)info->frames);
}

/* "flac decoder lost sync." of "Error : flac decoder lost sync." */
static const char *reason(int number)
{
    const char *text = sf_error_number(number);
    return strncmp(text, "Error : ", 8) == 0 ? text + 8 : text;
}

static parley_status read_frames(pl_intake *intake, SNDFILE *file, parley_error *error)
{
    sf_count_t got, piece = PL_INTAKE_VALUES / intake->audio->source_channels;
    do {
        got = sf_readf_float(file, intake->values, piece);
        if (got < 0 || got > piece)
            return pl_fail(error, PARLEY_INTERNAL, "%s: the decoder gave %lld samples of %lld", intake->name, (long long)got, (long long)piece);
        PL_TRY(pl_intake_add(intake, (size_t)got, error));
        int number = sf_error(file);
        uint64_t frames = intake->audio->source_frames;
        if (number != SF_ERR_NO_ERROR)
            return pl_fail_at(error, PARLEY_FORMAT, frames, "%s: damaged %s: decoding stopped behind sample %llu: %s", intake->name,
                              intake->audio->source_format, (unsigned long long)frames, reason(number));
    } while (got > 0);
    return PARLEY_OK;
}

/* libsndfile reads as many samples as it estimates from the first frame of an MP3 stream that has no index. With changing bit rates that may be a
 * part only, which must not pass for the whole. */
static parley_status check_mp3_end(const pl_intake *intake, const SF_INFO *info, const reader *r, parley_error *error)
{
    uint64_t frames = intake->audio->source_frames, left = r->at < r->bytes->size ? r->bytes->size - r->at : 0;
    if ((info->format & SF_FORMAT_TYPEMASK) != SF_FORMAT_MPEG || left <= r->bytes->size / 4)
        return PARLEY_OK;
    intake->audio->source_format[0] = 0;
    return pl_fail_at(error, PARLEY_UNSUPPORTED, frames,
                      "%s: MP3 of changing bit rate without an index: decoding stopped at sample %llu, %llu bytes early", intake->name,
                      (unsigned long long)frames, (unsigned long long)left);
}

static parley_status decode(pl_intake *intake, SNDFILE *file, const SF_INFO *info, const reader *r, parley_error *error)
{
    uint64_t lacks = r->chunk.lacks;
    PL_TRY(read_frames(intake, file, error));
    PL_TRY(check_mp3_end(intake, info, r, error));
    if (lacks > 0 || (length_is_exact(info) && info->frames > 0 && intake->audio->source_frames < (uint64_t)info->frames))
        return fail_short(intake, info, lacks, error);
    return pl_intake_finish(intake, error);
}

/* Before libsndfile sees them: it loses memory on some damaged headers of Ogg streams. */
static parley_status check_pages(const char *name, const pl_audio_bytes *bytes, parley_audio *audio, parley_error *error)
{
    parley_status status = pl_audio_check_pages(name, bytes, error);
    if (status != PARLEY_OK)
        snprintf(audio->source_format, sizeof audio->source_format, "Ogg");
    return status;
}

parley_status pl_audio_decode(const char *name, const pl_audio_bytes *bytes, const parley_audio_options *options, parley_audio *audio,
                              parley_error *error)
{
    SF_VIRTUAL_IO io = {io_length, io_seek, io_read, io_write, io_tell};
    reader cursor = {.bytes = bytes, .chunk = pl_audio_sound_chunk(bytes)};
    SF_INFO info = {0};
    pl_intake intake;
    if (bytes->size == 0) {
        snprintf(audio->source_format, sizeof audio->source_format, "empty");
        return pl_fail(error, PARLEY_FORMAT, "%s: no sound file: it is empty", name);
    }
    PL_TRY(check_pages(name, bytes, audio, error));
    SNDFILE *file = sf_open_virtual(&io, SFM_READ, &info, &cursor);
    if (!file)
        return fail_open(name, &cursor, audio, error);
    describe(info.format, audio->source_format, sizeof audio->source_format);
    parley_status status = pl_intake_open(&intake, name, options, info.samplerate, info.channels, audio, error);
    if (status == PARLEY_OK)
        status = decode(&intake, file, &info, &cursor, error);
    pl_intake_close(&intake);
    sf_close(file);
    return status;
}
