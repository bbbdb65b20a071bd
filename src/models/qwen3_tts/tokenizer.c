/* The tokenizer of a checkpoint. */
#include "models/parley.h"
#include "models/qwen3_tts/internal.h"
#include "models/vocabulary.h"

/* Of llama's joined vocabulary the text alone: the codec's rows have spellings that no text may hit. */
static parley_status open_joined(const parley_allocator *allocator, const tts_container *c, pl_tokenizer **tokenizer, parley_error *error)
{
    int32_t text, codec;
    PL_TRY(pl_tts_joined_sizes(c, &text, &codec, error));
    return pl_model_tokenizer_gguf(allocator, c->source, &c->container, PL_GGUF_TYPED, (size_t)text, tokenizer, error);
}

static parley_status open_part(const parley_allocator *allocator, const tts_container *c, pl_tokenizer **tokenizer, parley_error *error)
{
    if (c->dialect == TTS_HF)
        return pl_model_tokenizer_files(allocator, c->source, c->folder, tokenizer, error);
    if (c->dialect == TTS_LLAMA)
        return open_joined(allocator, c, tokenizer, error);
    if (c->dialect == TTS_PARLEY)
        return pl_parley_tokenizer(allocator, &c->container, pl_source_name(c->source), tokenizer, error);
    return pl_model_tokenizer_gguf(allocator, c->source, &c->container, PL_GGUF_LOST_MERGES, 0, tokenizer, error);
}

parley_status pl_tts_tokenizer_open(const parley_allocator *allocator, tts_files *files, const tts_config *config, pl_tokenizer **tokenizer,
                                    parley_error *error)
{
    const tts_container *c = files->part[TTS_TOKENIZER];
    *tokenizer = NULL;
    if (!c)
        return pl_fail(error, PARLEY_MISSING, "%s: no tokenizer is there", pl_source_name(files->source));
    PL_TRY(open_part(allocator, c, tokenizer, error));
    int32_t size = pl_tokenizer_size(*tokenizer);
    if (!files->part[TTS_TALKER] || size <= config->text_vocabulary)
        return PARLEY_OK;
    pl_tokenizer_close(*tokenizer);
    *tokenizer = NULL;
    return pl_fail(error, PARLEY_FORMAT, "%s: the tokenizer has %d ids, but the model only %d", pl_source_name(files->source), size,
                   config->text_vocabulary);
}
