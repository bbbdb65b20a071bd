/* llama files join the text's vocabulary and the codec's; the names of the codec's rows carry what upstream has in config.json
 * (spec/gguf_dialects.md D.2). */
#include "models/qwen3_tts/internal.h"

#include <string.h>

static const char tokens_key[] = "tokenizer.ggml.tokens";

static parley_status rows_of(const tts_container *c, const char *name, const char *where, int64_t *rows, parley_error *error)
{
    *rows = pl_tts_dim(c, name, 2, 0);
    return *rows ? PARLEY_OK : pl_fail(error, PARLEY_MISSING, "%s: the tensor %s is not there", where, name);
}

parley_status pl_tts_joined_sizes(const tts_container *c, int32_t *text, int32_t *codec, parley_error *error)
{
    enum { MOST = 1 << 24 };
    char where[PL_MODEL_WHERE];
    int64_t all, last;
    pl_part_file_describe(c, where, sizeof where);
    PL_TRY(rows_of(c, "token_embd.weight", where, &all, error));
    PL_TRY(rows_of(c, "output.weight", where, &last, error));
    if (last >= all || all > MOST)
        return pl_fail(error, PARLEY_FORMAT,
                       "%s: token_embd.weight has %lld rows and output.weight %lld, those of text and codec and those of the codec are expected",
                       where, (long long)all, (long long)last);
    *text = (int32_t)(all - last);
    *codec = (int32_t)last;
    return PARLEY_OK;
}

parley_status pl_tts_joined_open(const pl_values *from, const tts_config *config, tts_joined *joined)
{
    parley_status status;
    pl_gguf_text *tokens;
    size_t count, expected = (size_t)config->text_vocabulary + (size_t)config->codec_vocabulary;
    pl_arena_init(&joined->arena, &from->arena->allocator, 65536);
    if (!pl_gguf_strings(from->places[0], tokens_key, &tokens, &count, &joined->arena, &status, from->error))
        return status != PARLEY_OK ? status : pl_fail(from->error, PARLEY_MISSING, "%s: '%s' is not there", from->where, tokens_key);
    if (count != expected)
        return pl_fail(from->error, PARLEY_FORMAT, "%s: '%s' has %zu items, but token_embd.weight %zu rows", from->where, tokens_key, count,
                       expected);
    joined->text = tokens;
    joined->n_text = (size_t)config->text_vocabulary;
    joined->codec = tokens + joined->n_text;
    joined->n_codec = (size_t)config->codec_vocabulary;
    return PARLEY_OK;
}

void pl_tts_joined_close(tts_joined *joined)
{
    pl_arena_free(&joined->arena);
}

/* ------------------------------------------------------------------ ids */

static const struct {
    size_t field;
    bool codec; /* a row of the codec's, else a text id */
    const char *name;
    int32_t otherwise; /* the published row, when another key has taken the name's place; -1: the name is needed */
} ids[] = {
    {offsetof(tts_config, im_start), false, "<|im_start|>", -1},
    {offsetof(tts_config, im_end), false, "<|im_end|>", -1},
    {offsetof(tts_config, tts_pad), false, "<tts_pad>", -1},
    {offsetof(tts_config, tts_bos), false, "<tts_text_bos>", -1},
    {offsetof(tts_config, tts_eos), false, "<tts_text_eod>", -1},
    {offsetof(tts_config, codec_pad), true, "<|codec_pad|>", 2148},
    {offsetof(tts_config, codec_bos), true, "<|codec_bos|>", 2149},
    {offsetof(tts_config, codec_eos), true, "<|codec_eos_token|>", 2150},
    {offsetof(tts_config, think), true, "<|codec_think|>", 2154},
    {offsetof(tts_config, nothink), true, "<|codec_nothink|>", 2155},
    {offsetof(tts_config, think_bos), true, "<|codec_think_bos|>", 2156},
    {offsetof(tts_config, think_eos), true, "<|codec_think_eos|>", 2157},
};

static int32_t find(const pl_gguf_text *names, size_t count, const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < count; i++)
        if (names[i].length == length && memcmp(names[i].text, name, length) == 0)
            return (int32_t)i;
    return -1;
}

parley_status pl_tts_joined_ids(const pl_values *from, const tts_joined *joined, tts_config *config)
{
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        bool codec = ids[i].codec;
        int32_t id = find(codec ? joined->codec : joined->text, codec ? joined->n_codec : joined->n_text, ids[i].name);
        if (id < 0 && codec && ids[i].otherwise < config->codec_vocabulary)
            id = ids[i].otherwise;
        if (id < 0)
            return pl_fail(from->error, PARLEY_MISSING, "%s: the vocabulary has no token '%s'", from->where, ids[i].name);
        memcpy((char *)config + ids[i].field, &id, sizeof id);
    }
    return PARLEY_OK;
}
