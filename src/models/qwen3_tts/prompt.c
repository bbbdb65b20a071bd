#include "models/qwen3_tts/prompt.h"

#include <string.h>

/* ------------------------------------------------------------------ templates */

/* <|im_start|> by id, then "role\n" and the text as one piece, since the reference tokenises them together: line ends at the start of a text join the
 * one behind the role. */
static parley_status push_open(const tts_prompt_input *in, pl_arena *arena, const char *role, pl_span text, bool open, pl_ids *ids,
                               parley_error *error)
{
    size_t role_length = strlen(role);
    pl_arena_mark mark = pl_arena_save(arena);
    char *piece = pl_arena_alloc_raw(arena, role_length + text.length, 1);
    if (!piece)
        return pl_fail_memory(error, "a prompt");
    memcpy(piece, role, role_length);
    if (text.length)
        memcpy(piece + role_length, text.text, text.length);
    pl_span turn = {piece, role_length + text.length};
    PL_TRY(pl_ids_push(ids, in->config->im_start, error));
    parley_status status = open ? pl_tokenize_open(in->tokenizer, turn, in->tokenizing.splitter, ids, error)
                                : pl_tokenize(in->tokenizer, turn, in->tokenizing, ids, error);
    pl_arena_restore(arena, mark);
    return status;
}

static parley_status push_turn(const tts_prompt_input *in, pl_arena *arena, const char *role, pl_span text, pl_ids *ids, parley_error *error)
{
    return push_open(in, arena, role, text, false, ids, error);
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

/* Of an open text the ids known so far, nothing behind them. */
static parley_status tokenize_text(pl_arena *arena, const tts_prompt_input *in, tts_prompt *p, parley_error *error)
{
    p->text_ids.count = 0;
    PL_TRY(push_open(in, arena, assistant, in->text, in->open, &p->text_ids, error));
    if (in->open) {
        p->text_length = p->text_ids.count > ROLE_IDS ? (int32_t)p->text_ids.count - ROLE_IDS : 0;
        return PARLEY_OK;
    }
    PL_TRY(push_end(in, &p->text_ids, error));
    PL_TRY(push_turn(in, arena, assistant, (pl_span){"", 0}, &p->text_ids, error));
    if (p->text_ids.count < ROLE_IDS + TEXT_TAIL)
        return pl_fail(error, PARLEY_FORMAT, "the template gives %zu ids, expected at least %d: the vocabulary has no usable \"assistant\"",
                       p->text_ids.count, ROLE_IDS + TEXT_TAIL);
    p->text_length = (int32_t)p->text_ids.count - ROLE_IDS - TEXT_TAIL;
    return PARLEY_OK;
}

static parley_status tokenize_all(pl_arena *arena, const tts_prompt_input *in, tts_prompt *p, parley_error *error)
{
    pl_span instruct = {in->instruct, in->instruct ? strlen(in->instruct) : 0};
    pl_span ref_text = {in->voice.ref_text, in->voice.ref_text ? strlen(in->voice.ref_text) : 0};
    PL_TRY(check_utf8("the text", in->text, error));
    PL_TRY(check_utf8("the instruction", instruct, error));
    PL_TRY(check_utf8("the transcript", ref_text, error));
    PL_TRY(tokenize_text(arena, in, p, error));
    if (in->instruct) {
        PL_TRY(push_turn(in, arena, user, instruct, &p->instruct_ids, error));
        PL_TRY(push_end(in, &p->instruct_ids, error));
    }
    if (in->voice.ref_text) {
        PL_TRY(push_turn(in, arena, assistant, ref_text, &p->ref_ids, error));
        PL_TRY(push_end(in, &p->ref_ids, error));
    }
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

static void trail(builder *b, int32_t row)
{
    if (b->status == PARLEY_OK)
        b->status = pl_ids_push(&b->p->trailing, row, b->error);
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

/* Ids of the text from `first` on, fed along with the frames, and the end if it has come. */
static void put_trailing(builder *b, int32_t first)
{
    for (int32_t i = first; i < b->p->text_length; i++)
        trail(b, project(b, b->p->text_ids.ids[ROLE_IDS + i]));
    if (!b->in->open)
        trail(b, TTS_EOS);
}

static void put_streaming(builder *b)
{
    /* An empty text takes the <|im_end|> behind it, as the reference does. */
    put(b, project(b, b->p->text_ids.ids[ROLE_IDS]), b->in->config->codec_bos);
    put_trailing(b, 1);
}

static void put_full(builder *b)
{
    const tts_config *c = b->in->config;
    for (int32_t i = 0; i < b->p->text_length; i++)
        put(b, project(b, b->p->text_ids.ids[ROLE_IDS + i]), c->codec_pad);
    put(b, TTS_EOS, c->codec_pad);
    put(b, TTS_PAD, c->codec_bos);
    trail(b, TTS_PAD);
}

/* Text stream of a clone with reference codes: the reference's text, the text, the end; `x` holds indices into projected. */
static int64_t reference_text(builder *b, int32_t *x)
{
    int64_t n = 0;
    for (size_t i = ROLE_IDS; i + REF_TAIL < b->p->ref_ids.count; i++)
        x[n++] = project(b, b->p->ref_ids.ids[i]);
    for (int32_t i = 0; i < b->p->text_length; i++)
        x[n++] = project(b, b->p->text_ids.ids[ROLE_IDS + i]);
    if (!b->in->open)
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
        trail(b, x[j]);
    if (full || (n_text <= n_codec && !b->in->open))
        trail(b, TTS_PAD);
}

/* Whether the rows of the prompt are known. */
static bool is_enough(const tts_prompt_input *in, const tts_prompt *p)
{
    if (!in->open)
        return true;
    int64_t reference = (int64_t)p->ref_ids.count - ROLE_IDS - REF_TAIL, wanted = in->voice.ref_codes ? 1 + in->voice.ref_frames - reference : 1;
    return in->layout == PARLEY_LAYOUT_STREAMING && p->text_length >= 1 && p->text_length >= wanted;
}

static parley_status put_all(builder *b, pl_arena *arena, parley_error *error)
{
    enum { MOST_HEADER = 16 };
    size_t ids = b->p->text_ids.count + b->p->instruct_ids.count + b->p->ref_ids.count + MOST_HEADER;
    b->p->positions = PL_NEW_ARRAY(arena, tts_position, ids + (size_t)b->in->voice.ref_frames);
    int32_t *x = PL_NEW_ARRAY(arena, int32_t, ids);
    if (!b->p->positions || !x)
        return pl_fail_memory(error, "a prompt");
    project(b, b->in->config->tts_pad);
    project(b, b->in->config->tts_bos);
    project(b, b->in->config->tts_eos);
    put_header(b);
    if (b->in->voice.ref_codes)
        put_reference(b, x);
    else if (b->in->layout == PARLEY_LAYOUT_STREAMING)
        put_streaming(b);
    else
        put_full(b);
    return b->status;
}

parley_status pl_tts_prompt_build(pl_arena *arena, const tts_prompt_input *in, tts_prompt *p, parley_error *error)
{
    pl_ids none = {.allocator = arena->allocator};
    *p = (tts_prompt){.text_ids = none, .instruct_ids = none, .ref_ids = none, .projected = none, .trailing = none};
    PL_TRY(tokenize_all(arena, in, p, error));
    builder b = {in, p, error, PARLEY_OK};
    return is_enough(in, p) ? put_all(&b, arena, error) : PARLEY_OK;
}

parley_status pl_tts_prompt_extend(pl_arena *arena, const tts_prompt_input *in, tts_prompt *p, parley_error *error)
{
    int32_t known = p->text_length;
    builder b = {in, p, error, PARLEY_OK};
    PL_TRY(check_utf8("the text", in->text, error));
    PL_TRY(tokenize_text(arena, in, p, error));
    put_trailing(&b, known);
    return b.status;
}

void pl_tts_prompt_free(tts_prompt *prompt)
{
    pl_ids_free(&prompt->text_ids);
    pl_ids_free(&prompt->instruct_ids);
    pl_ids_free(&prompt->ref_ids);
    pl_ids_free(&prompt->projected);
    pl_ids_free(&prompt->trailing);
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
    pl_linear_job fc1 = {.layer = &network->fc1, .y = h, .y_stride = width};
    PL_TRY(pl_linear_run(compute, &fc1, 1, x, width, count, error));
    compute->k->silu(h, (int64_t)count * width);
    pl_linear_job fc2 = {.layer = &network->fc2, .y = out, .y_stride = config->talker.width};
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

void pl_tts_prompt_embed(const pl_kernels *k, const tts_prompt_rows *rows, int32_t first, int32_t count, float *out)
{
    int width = rows->config->talker.width;
    for (int32_t i = 0; i < count; i++) {
        const tts_position *p = &rows->prompt->positions[first + i];
        float *y = out + (int64_t)i * width;
        embed_codec(k, rows->network, rows->config, rows->voice, p->codec, y);
        if (p->text != TTS_NO_TEXT)
            k->add(y, rows->projected + (int64_t)p->text * width, width);
    }
}
