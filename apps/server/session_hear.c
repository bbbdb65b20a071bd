#include "session_hear.h"

#include "call.h"
#include "transcript_out.h"

#include <math.h>
#include <soxr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 4096, OUT_PIECE = 3 * PIECE }; /* samples; 8 kHz, the lowest rate, is doubled, and the resampler may hand out what it held back */

struct srv_hearing {
    parley_request *request;
    soxr_t resampler; /* NULL: the sound has the rate already */
    bool committed;
    char item[24];
    cli_buffer text; /* sent so far; the engine keeps no text of a stream */
    size_t sent;     /* bytes of the current segment's text */
};

static parley_status open_resampler(srv_hearing *h, double rate, parley_error *error)
{
    soxr_error_t failure = NULL;
    soxr_io_spec_t io = soxr_io_spec(SOXR_FLOAT32_I, SOXR_FLOAT32_I);
    soxr_quality_spec_t quality = soxr_quality_spec(SOXR_HQ, 0);
    soxr_runtime_spec_t threads = soxr_runtime_spec(1);
    if (rate == PARLEY_ASR_RATE)
        return PARLEY_OK;
    h->resampler = soxr_create(rate, PARLEY_ASR_RATE, 1, &failure, &io, &quality, &threads);
    return h->resampler ? PARLEY_OK : cli_fail(error, PARLEY_MEMORY, "cannot change the sample rate: %s", failure ? failure : "no memory");
}

static parley_status open_request(srv_hearing *h, const srv_hearing_setup *setup, parley_error *error)
{
    const srv_options *o = setup->server->options;
    parley_asr_options options;
    parley_request_options request_options;
    parley_asr_options_init(setup->model->model, &options);
    options.stream = true;
    if (setup->config->heard_language.size)
        options.language = setup->config->heard_language.data;
    if (setup->config->prompt.size)
        options.context = setup->config->prompt.data;
    if (o->kv)
        options.kv = *o->kv;
    if (o->activations)
        options.activations = *o->activations;
    srv_request_options(setup->server, &request_options);
    request_options.notify = setup->notify;
    request_options.notify_context = setup->context;
    return parley_engine_hear(setup->model->engine, &options, &request_options, &h->request, error);
}

parley_status srv_hearing_open(const srv_hearing_setup *setup, srv_hearing **hearing, parley_error *error)
{
    srv_hearing *h = calloc(1, sizeof *h);
    if (!h)
        return cli_fail_memory(error);
    snprintf(h->item, sizeof h->item, "%s", setup->item);
    parley_status status = open_resampler(h, setup->config->input_rate, error);
    if (status == PARLEY_OK)
        status = open_request(h, setup, error);
    if (status == PARLEY_OK)
        *hearing = h;
    else
        srv_hearing_close(h);
    return status;
}

void srv_hearing_close(srv_hearing *h)
{
    if (!h)
        return;
    parley_request_release(h->request);
    if (h->resampler)
        soxr_delete(h->resampler);
    cli_buffer_free(&h->text);
    free(h);
}

/* `pcm` NULL: the end, what the resampler holds back comes out. */
static parley_status push_resampled(srv_hearing *h, const float *pcm, size_t samples, parley_error *error)
{
    float out[OUT_PIECE];
    size_t taken = 0, made = 0;
    do {
        soxr_error_t failure = soxr_process(h->resampler, pcm, samples, &taken, out, OUT_PIECE, &made);
        if (failure)
            return cli_fail(error, PARLEY_INTERNAL, "the sample rate could not be changed: %s", failure);
        CLI_TRY(parley_request_push_sound(h->request, out, made, error));
        pcm = pcm ? pcm + taken : NULL;
        samples -= taken;
    } while (samples > 0 || (!pcm && made == OUT_PIECE));
    return PARLEY_OK;
}

parley_status srv_hearing_push(srv_hearing *h, const uint8_t *bytes, size_t samples, parley_error *error)
{
    float pcm[PIECE];
    while (samples > 0) {
        size_t n = samples < PIECE ? samples : PIECE;
        for (size_t i = 0; i < n; i++)
            pcm[i] = (float)(int16_t)(uint16_t)(bytes[2 * i] | bytes[2 * i + 1] << 8) / 32768.0f;
        CLI_TRY(h->resampler ? push_resampled(h, pcm, n, error) : parley_request_push_sound(h->request, pcm, n, error));
        bytes += 2 * n;
        samples -= n;
    }
    return PARLEY_OK;
}

parley_status srv_hearing_commit(srv_hearing *h, parley_error *error)
{
    h->committed = true;
    if (h->resampler)
        CLI_TRY(push_resampled(h, NULL, 0, error));
    return parley_request_finish_sound(h->request, error);
}

/* What stands of the segment, and all of it once it has ended. */
static void take_update(srv_hearing *h, const parley_asr_update *update, cli_buffer *delta)
{
    size_t stands = update->final ? update->length : update->stable;
    if (stands > h->sent) {
        size_t before = delta->size;
        if (h->sent == 0 && update->spaced)
            cli_append(delta, " ", 1);
        cli_append(delta, update->text + h->sent, stands - h->sent);
        if (!delta->failed)
            cli_append(&h->text, delta->data + before, delta->size - before);
        h->sent = stands;
    }
    if (update->final)
        h->sent = 0;
}

parley_status srv_hearing_poll(srv_hearing *h, cli_buffer *delta, const char **whole, bool *ended, parley_error *error)
{
    parley_event event = {.size = sizeof event};
    *ended = false;
    while (!*ended) {
        parley_event_kind kind = parley_request_next(h->request, 0, &event);
        if (kind == PARLEY_EVENT_NONE)
            return PARLEY_OK;
        if (kind == PARLEY_EVENT_UPDATE)
            take_update(h, &event.update, delta);
        *ended = kind == PARLEY_EVENT_END;
    }
    *whole = h->text.size ? h->text.data : "";
    if (event.status != PARLEY_OK)
        *error = *event.error;
    return event.status;
}

bool srv_hearing_committed(const srv_hearing *h)
{
    return h->committed;
}

const char *srv_hearing_item(const srv_hearing *h)
{
    return h->item;
}
