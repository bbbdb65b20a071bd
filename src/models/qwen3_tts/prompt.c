#include "models/qwen3_tts/prompt.h"

#include <string.h>

/* ------------------------------------------------------------------ templates */

/* <|im_start|> by id, then "role\n" and the text as one piece, since the reference tokenises them together: line ends at the start of a text join the
 * one behind the role. */
static parley_status push_turn(const tts_prompt_input *in, pl_arena *arena, const char *role, pl_span text, pl_ids *ids, parley_error *error)
{
    size_t role_length = strlen(role);
    char *piece = pl_arena_alloc_raw(arena, role_length + text.length, 1);
    if (!piece)
        return pl_fail_memory(error, "a prompt");
    memcpy(piece, role, role_length);
    if (text.length)
        memcpy(piece + role_length, text.text, text.length);
    PL_TRY(pl_ids_push(ids, in->config->im_start, error));
    return pl_tokenize(in->tokenizer, (pl_span){piece, role_length + text.length}, in->tokenizing, ids, error);
}

static parley_status push_end(const tts_prompt_input *in, pl_ids *ids, parley_error *error)
{
    PL_TRY(pl_ids_push(ids, in->config->im_end, error));
    return pl_tokenize(in->tokenizer, (pl_span){"\n", 1}, in->tokenizing, ids, error);
}

static const char assistant[] = "assistant\n", user[] = "user\n";
enum { ROLE_IDS = 3, TEXT_TAIL = 5, REF_TAIL = 2 }; /* ids that the template puts in front of and behind a text */

/* Before a role is put in front, so that the byte is one of the caller's text. */
static parley_status check_utf8(const char *what, pl_span text, parley_error *error)
{
    size_t valid = pl_utf8_check(text.text, text.length);
    if (valid == text.length)
        return PARLEY_OK;
    return pl_fail_at(error, PARLEY_FORMAT, valid, "%s is not valid UTF-8 at byte %zu", what, valid);
}

static parley_status tokenize_all(pl_arena *arena, const tts_prompt_input *in, tts_prompt *p, parley_error *error)
{
    pl_span instruct = {in->instruct, in->instruct ? strlen(in->instruct) : 0};
    pl_span ref_text = {in->voice.ref_text, in->voice.ref_text ? strlen(in->voice.ref_text) : 0};
    PL_TRY(check_utf8("the text", in->text, error));
    PL_TRY(check_utf8("the instruction", instruct, error));
    PL_TRY(check_utf8("the transcript", ref_text, error));
    PL_TRY(push_turn(in, arena, assistant, in->text, &p->text_ids, error));
    PL_TRY(push_end(in, &p->text_ids, error));
    PL_TRY(push_turn(in, arena, assistant, (pl_span){"", 0}, &p->text_ids, error));
    if (in->instruct) {
        PL_TRY(push_turn(in, arena, user, instruct, &p->instruct_ids, error));
        PL_TRY(push_end(in, &p->instruct_ids, error));
    }
    if (in->voice.ref_text) {
        PL_TRY(push_turn(in, arena, assistant, ref_text, &p->ref_ids, error));
        PL_TRY(push_end(in, &p->ref_ids, error));
    }
    if (p->text_ids.count < ROLE_IDS + TEXT_TAIL)
        return pl_fail(error, PARLEY_FORMAT, "the template gives %zu ids, expected at least %d: the vocabulary has no usable \"assistant\"",
                       p->text_ids.count, ROLE_IDS + TEXT_TAIL);
    p->text_length = (int32_t)p->text_ids.count - ROLE_IDS - TEXT_TAIL;
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ positions */

typedef struct builder {
    const tts_prompt_input *in;
    tts_prompt *p;
    parley_error *error;
    parley_status status;
} builder;

static int32_t project(builder *b, int32_t id)
{
    if (b->status == PARLEY_OK)
        b->status = pl_ids_push(&b->p->projected, id, b->error);
    return (int32_t)b->p->projected.count - 1;
}

static void put(builder *b, int32_t text, int32_t codec)
{
    b->p->positions[b->p->length++] = (tts_position){text, codec};
}

/* Optional instruction, role, codec prefix; the last codec row (bos) is held back for what follows. */
static void put_header(builder *b)
{
    const tts_config *c = b->in->config;
    for (size_t i = 0; i < b->p->instruct_ids.count; i++)
        put(b, project(b, b->p->instruct_ids.ids[i]), TTS_NO_CODEC);
    for (int i = 0; i < ROLE_IDS; i++)
        put(b, project(b, b->p->text_ids.ids[i]), TTS_NO_CODEC);
    if (b->in->language < 0) {
        put(b, TTS_PAD, c->nothink);
        put(b, TTS_PAD, c->think_bos);
    } else {
        put(b, TTS_PAD, c->think);
        put(b, TTS_PAD, c->think_bos);
        put(b, TTS_PAD, b->in->language);
    }
    put(b, TTS_PAD, c->think_eos);
    if (b->in->voice.xvector)
        put(b, TTS_PAD, TTS_XVECTOR);
    else if (b->in->voice.speaker)
        put(b, TTS_PAD, b->in->voice.speaker->id);
    put(b, TTS_BOS, c->codec_pad);
}

static void put_streaming(builder *b)
{
    const int32_t *ids = b->p->text_ids.ids + ROLE_IDS; /* an empty text takes the <|im_end|> behind it, as the reference does */
    put(b, project(b, ids[0]), b->in->config->codec_bos);
    for (int32_t i = 1; i < b->p->text_length; i++)
        b->p->trailing[b->p->n_trailing++] = project(b, ids[i]);
    b->p->trailing[b->p->n_trailing++] = TTS_EOS;
}

static void put_full(builder *b)
{
    const tts_config *c = b->in->config;
    for (int32_t i = 0; i < b->p->text_length; i++)
        put(b, project(b, b->p->text_ids.ids[ROLE_IDS + i]), c->codec_pad);
    put(b, TTS_EOS, c->codec_pad);
    put(b, TTS_PAD, c->codec_bos);
    b->p->trailing[b->p->n_trailing++] = TTS_PAD;
}

/* Text stream of a clone with reference codes: the reference's text, the text, the end; `x` holds indices into projected. */
static int64_t reference_text(builder *b, int32_t *x)
{
    int64_t n = 0;
    for (size_t i = ROLE_IDS; i + REF_TAIL < b->p->ref_ids.count; i++)
        x[n++] = project(b, b->p->ref_ids.ids[i]);
    for (int32_t i = 0; i < b->p->text_length; i++)
        x[n++] = project(b, b->p->text_ids.ids[ROLE_IDS + i]);
    x[n++] = TTS_EOS;
    return n;
}

static int32_t reference_codec(const builder *b, int64_t j)
{
    return j == 0 ? b->in->config->codec_bos : TTS_FIRST_REF - (int32_t)(j - 1);
}

static void put_reference(builder *b, int32_t *x)
{
    int64_t n_text = reference_text(b, x), n_codec = 1 + b->in->voice.ref_frames;
    bool full = b->in->layout == PARLEY_LAYOUT_FULL;
    if (full)
        for (int64_t j = 0; j < n_text; j++)
            put(b, x[j], b->in->config->codec_pad);
    for (int64_t j = 0; j < n_codec; j++)
        put(b, full || j >= n_text ? TTS_PAD : x[j], reference_codec(b, j));
    for (int64_t j = n_codec; !full && j < n_text; j++)
        b->p->trailing[b->p->n_trailing++] = x[j];
    if (full || n_text <= n_codec)
        b->p->trailing[b->p->n_trailing++] = TTS_PAD;
}

parley_status pl_tts_prompt_build(pl_arena *arena, const tts_prompt_input *in, tts_prompt *p, parley_error *error)
{
    enum { MOST_HEADER = 16 };
    *p = (tts_prompt){0};
    p->text_ids.allocator = p->instruct_ids.allocator = p->ref_ids.allocator = p->projected.allocator = arena->allocator;
    PL_TRY(tokenize_all(arena, in, p, error));
    size_t ids = p->text_ids.count + p->instruct_ids.count + p->ref_ids.count + MOST_HEADER;
    p->positions = PL_NEW_ARRAY(arena, tts_position, ids + (size_t)in->voice.ref_frames);
    p->trailing = PL_NEW_ARRAY(arena, int32_t, ids);
    int32_t *x = PL_NEW_ARRAY(arena, int32_t, ids);
    if (!p->positions || !p->trailing || !x)
        return pl_fail_memory(error, "a prompt");
    builder b = {in, p, error, PARLEY_OK};
    project(&b, in->config->tts_pad);
    project(&b, in->config->tts_bos);
    project(&b, in->config->tts_eos);
    put_header(&b);
    if (in->voice.ref_codes)
        put_reference(&b, x);
    else if (in->layout == PARLEY_LAYOUT_STREAMING)
        put_streaming(&b);
    else
        put_full(&b);
    return b.status;
}

void pl_tts_prompt_free(tts_prompt *prompt)
{
    pl_ids_free(&prompt->text_ids);
    pl_ids_free(&prompt->instruct_ids);
    pl_ids_free(&prompt->ref_ids);
    pl_ids_free(&prompt->projected);
}

/* ------------------------------------------------------------------ embedding */

enum { PROJECT_AT_ONCE = 256 }; /* rows; bounds the work space of long texts */

static void embed_text(pl_compute *compute, const tts_network *network, int width, const int32_t *ids, int count, float *x)
{
    const pl_tensor *table = &network->text_embedding;
    for (int i = 0; i < count; i++)
        pl_embed_sum(compute->k, &table, &ids[i], 1, width, x + (int64_t)i * width);
}

static parley_status project_some(pl_compute *compute, const tts_network *network, const tts_config *config, const int32_t *ids, int count,
                                  float *out, parley_error *error)
{
    int width = config->text_width;
    float *x = pl_step_floats(compute, (int64_t)count * width), *h = pl_step_floats(compute, (int64_t)count * width);
    if (!x || !h)
        return pl_fail_memory(error, "text embeddings");
    embed_text(compute, network, width, ids, count, x);
    pl_linear_job fc1 = {&network->fc1, h, width};
    PL_TRY(pl_linear_run(compute, &fc1, 1, x, width, count, error));
    compute->k->silu(h, (int64_t)count * width);
    pl_linear_job fc2 = {&network->fc2, out, config->talker.width};
    return pl_linear_run(compute, &fc2, 1, h, width, count, error);
}

parley_status pl_tts_project_text(pl_compute *compute, const tts_network *network, const tts_config *config, const int32_t *ids, int64_t count,
                                  float *out, parley_error *error)
{
    parley_status status = PARLEY_OK;
    if (!network->fc1.w.data) {
        embed_text(compute, network, config->talker.width, ids, (int)count, out);
        return PARLEY_OK;
    }
    for (int64_t i = 0; i < count && status == PARLEY_OK; i += PROJECT_AT_ONCE) {
        pl_arena_mark mark = pl_arena_save(&compute->step);
        int some = (int)(count - i < PROJECT_AT_ONCE ? count - i : PROJECT_AT_ONCE);
        status = project_some(compute, network, config, ids + i, some, out + i * config->talker.width, error);
        pl_arena_restore(&compute->step, mark);
    }
    return status;
}

/* Sum of the code embeddings of one frame: first group from the talker's table, the others from the predictor's. */
void pl_tts_embed_frame(const pl_kernels *k, const tts_network *network, const tts_config *config, const int32_t *codes, float *y)
{
    const pl_tensor *first = &network->codec_embedding;
    int width = config->talker.width;
    pl_embed_sum(k, &first, codes, 1, width, y);
    for (int g = 1; g < config->groups; g++) {
        const pl_tensor *table = &network->predictor_embeddings[g - 1];
        k->add_row(table->type, (const uint8_t *)table->data + (size_t)codes[g] * pl_row_bytes(table->type, width), width, y);
    }
}

static void embed_codec(const pl_kernels *k, const tts_network *network, const tts_config *config, const tts_voice *voice, int32_t codec, float *y)
{
    const pl_tensor *table = &network->codec_embedding;
    size_t bytes = (size_t)config->talker.width * sizeof *y;
    if (codec == TTS_NO_CODEC)
        memset(y, 0, bytes);
    else if (codec == TTS_XVECTOR)
        memcpy(y, voice->xvector, bytes);
    else if (codec <= TTS_FIRST_REF)
        pl_tts_embed_frame(k, network, config, voice->ref_codes + (int64_t)(TTS_FIRST_REF - codec) * config->groups, y);
    else
        pl_embed_sum(k, &table, &codec, 1, config->talker.width, y);
}

void pl_tts_prompt_embed(const pl_kernels *k, const tts_network *network, const tts_config *config, const tts_prompt *prompt, const tts_voice *voice,
                         const float *projected, float *out)
{
    int width = config->talker.width;
    for (int32_t i = 0; i < prompt->length; i++) {
        const tts_position *p = &prompt->positions[i];
        float *y = out + (int64_t)i * width;
        embed_codec(k, network, config, voice, p->codec, y);
        if (p->text != TTS_NO_TEXT)
            k->add(y, projected + (int64_t)p->text * width, width);
    }
}
