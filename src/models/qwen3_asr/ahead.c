/* Segments are encoded one after the other, as many as there is room for. Beside the steps of the others one more is encoded ahead: it waits for
 * room then. */
#include "base/clock.h"
#include "models/qwen3_asr/session.h"

int pl_asr_running(const asr_session *s)
{
    int n = 0;
    for (int i = s->oldest; i < s->begun; i++)
        n += pl_asr_is_running(&s->segments[i]);
    return n;
}

uint64_t pl_asr_cached(const asr_session *s)
{
    uint64_t bytes = 0;
    for (int i = s->oldest; i < s->begun && s->state == ASR_STATE_RUNNING; i++)
        bytes += pl_asr_is_running(&s->segments[i]) ? pl_asr_appetite(s, &s->segments[i]) : 0;
    return bytes;
}

/* The first of this stage; n_segments: none. */
static int find(const asr_session *s, asr_stage stage)
{
    int i = s->oldest;
    while (i < s->n_segments && s->segments[i].stage != stage)
        i++;
    return i;
}

/* Whether segment `i` has room in the session's batch and, beside `cached` bytes, in memory. */
static bool has_room(const asr_session *s, int i, uint64_t cached)
{
    int most = s->tap.call ? 1 : s->options.batch;
    if (s->state != ASR_STATE_RUNNING || i == s->n_segments || pl_asr_running(s) >= most)
        return false;
    return !cached || cached + pl_asr_appetite(s, &s->segments[i]) <= s->most_cached;
}

static void pick(asr_session *s, int i)
{
    s->begun = i < s->begun ? s->begun : i + 1;
    s->segments[i].stage = ASR_ENCODING;
    s->ahead.segment = s->segments[i];
    s->ahead.picked = true;
    s->ahead.encoded = false;
    s->ahead.status = PARLEY_OK;
}

void pl_asr_run_ahead(asr_session *s, pl_compute *compute)
{
    asr_ahead *a = &s->ahead;
    double clock = pl_seconds();
    a->status = pl_asr_encode_segment(s, compute, &a->segment, &a->silent, &a->error);
    a->seconds = pl_seconds() - clock;
    a->encoded = true;
}

/* What was encoded is the session's again. */
static asr_segment *put_back(asr_session *s, asr_stage stage)
{
    asr_segment *g = &s->segments[find(s, ASR_ENCODING)];
    *g = s->ahead.segment;
    g->stage = stage;
    s->ahead.picked = false;
    return g;
}

static void install(asr_session *s)
{
    parley_status status = s->ahead.status;
    parley_error error = s->ahead.error;
    asr_segment *g = put_back(s, ASR_READY);
    s->times.encode += s->ahead.seconds;
    if (status == PARLEY_OK && s->ahead.silent) {
        g->result.no_speech = true;
        status = pl_asr_end(s, g, PARLEY_FINISH_STOP, &error);
    }
    if (status == PARLEY_CANCELLED)
        pl_asr_cancel_segments(s);
    else if (status != PARLEY_OK)
        pl_asr_fail(s, status, &error);
}

void pl_asr_drop_ahead(asr_session *s)
{
    if (s->ahead.picked)
        (void)put_back(s, ASR_READY);
}

static void let_in(asr_session *s, uint64_t *cached)
{
    for (int i; has_room(s, i = find(s, ASR_READY), *cached);) {
        *cached += pl_asr_appetite(s, &s->segments[i]);
        s->segments[i].stage = ASR_PROMPT;
    }
}

void pl_asr_begin_segments(asr_session *s, uint64_t *cached)
{
    let_in(s, cached);
    for (int i; !s->ahead.picked && has_room(s, i = find(s, ASR_WAITING), *cached); let_in(s, cached)) {
        pick(s, i);
        pl_asr_run_ahead(s, &s->compute);
        install(s);
    }
}

/* Of those that wait for room there is one: what it holds is small beside a cache, but adds up. Taps see one segment after the other. */
static bool has_room_ahead(const asr_session *s, int i, uint64_t cached)
{
    bool may_wait = !s->tap.call && s->state == ASR_STATE_RUNNING && i < s->n_segments && find(s, ASR_READY) == s->n_segments;
    return may_wait || has_room(s, i, cached);
}

bool pl_asr_pick(asr_session *s)
{
    if (s->ahead.picked && !s->ahead.encoded)
        return true;
    if (s->ahead.picked)
        install(s);
    uint64_t cached = pl_asr_cached(s);
    let_in(s, &cached);
    int next = find(s, ASR_WAITING);
    if (!has_room_ahead(s, next, cached))
        return false;
    pick(s, next);
    return true;
}
