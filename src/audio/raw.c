#include "audio/parts.h"

#include <stdio.h>

/* Two or four bytes, little-endian, whatever the machine. */
static float value_s16(const uint8_t *b)
{
    uint16_t bits = (uint16_t)(b[0] | b[1] << 8);
    return (float)(bits >= 0x8000 ? (int)bits - 0x10000 : (int)bits) / 32768.0f;
}

static float value_f32(const uint8_t *b)
{
    union {
        uint32_t bits;
        float value;
    } u = {(uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24};
    return u.value;
}

typedef struct raw_form {
    const char *name;
    size_t width; /* bytes a value */
    float (*value)(const uint8_t *bytes);
} raw_form;

static const raw_form forms[] = {
    [PARLEY_AUDIO_RAW_S16LE] = {"raw s16le", 2, value_s16},
    [PARLEY_AUDIO_RAW_F32LE] = {"raw f32le", 4, value_f32},
};

/* Frames until the end of the stream. */
static parley_status read_frames(pl_intake *intake, const raw_form *form, const parley_audio_stream *stream, uint8_t *bytes, parley_error *error)
{
    size_t channels = (size_t)intake->audio->source_channels, frame = channels * form->width;
    size_t wanted = PL_INTAKE_VALUES / channels * frame, got;
    do {
        PL_TRY(pl_audio_fill(intake->name, stream, bytes, wanted, &got, error));
        for (size_t i = 0; i < got / frame * channels; i++)
            intake->values[i] = form->value(bytes + i * form->width);
        PL_TRY(pl_intake_add(intake, got / frame, error));
        if (got % frame)
            return pl_fail_at(error, PARLEY_FORMAT, intake->audio->source_frames,
                              "%s: ends inside sample %llu: %zu bytes, expected %zu (%s, %zu channels)", intake->name,
                              (unsigned long long)intake->audio->source_frames, got % frame, frame, form->name, channels);
    } while (got == wanted);
    return PARLEY_OK;
}

parley_status pl_audio_read_raw(const char *name, const parley_audio_stream *stream, const parley_audio_options *options, parley_audio *audio,
                                parley_error *error)
{
    const raw_form *form = &forms[options->form];
    pl_intake intake;
    snprintf(audio->source_format, sizeof audio->source_format, "%s", form->name);
    parley_status status = pl_intake_open(&intake, name, options, options->raw_rate, options->raw_channels, audio, error);
    uint8_t *bytes = pl_alloc(&audio->allocator, PL_INTAKE_VALUES, form->width);
    if (status == PARLEY_OK && !bytes)
        status = pl_fail_memory(error, "raw samples");
    if (status == PARLEY_OK)
        status = read_frames(&intake, form, stream, bytes, error);
    if (status == PARLEY_OK)
        status = pl_intake_finish(&intake, error);
    pl_release(&audio->allocator, bytes, PL_INTAKE_VALUES, form->width);
    pl_intake_close(&intake);
    return status;
}
