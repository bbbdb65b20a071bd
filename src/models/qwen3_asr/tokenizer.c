/* The tokenizer of a checkpoint, and the ids that are known by spelling. */
#include "models/parley.h"
#include "models/qwen3_asr/internal.h"
#include "models/vocabulary.h"

#include <string.h>

typedef struct spelling {
    size_t field;
    const char *text;
    enum { NEEDED, BY_RECOGNISER, BY_ALIGNER, UNKNOWN /* to the configuration */ } when;
} spelling;

#define ID(name) offsetof(asr_config, name)

static const spelling spellings[] = {
    {ID(im_start), "<|im_start|>", NEEDED},     {ID(im_end), "<|im_end|>", NEEDED},          {ID(asr_text), "<asr_text>", BY_RECOGNISER},
    {ID(timestamp), "<timestamp>", BY_ALIGNER}, {ID(audio_token), "<|audio_pad|>", UNKNOWN}, {ID(audio_start), "<|audio_start|>", UNKNOWN},
    {ID(audio_end), "<|audio_end|>", UNKNOWN},
};

static bool is_needed(const asr_config *config, const spelling *s, int32_t id)
{
    switch (s->when) {
    case NEEDED: return true;
    case BY_RECOGNISER: return !config->aligner;
    case BY_ALIGNER: return config->aligner;
    case UNKNOWN: return id < 0;
    }
    return false;
}

/* Where the configuration has an id of its own, the two must agree: the prompt is spelt, the audio put in by id. */
static parley_status find_id(const asr_files *files, const pl_tokenizer *tokenizer, const spelling *s, asr_config *config, parley_error *error)
{
    int32_t *id = (int32_t *)(void *)((char *)config + s->field);
    int32_t found = pl_tokenizer_find(tokenizer, (pl_span){s->text, strlen(s->text)});
    const char *where = pl_source_name(files->source);
    if (found < 0 && is_needed(config, s, *id))
        return pl_fail(error, PARLEY_MISSING, "%s: the tokenizer has no token '%s'", where, s->text);
    if (found >= 0 && *id >= 0 && found != *id)
        return pl_fail(error, PARLEY_FORMAT, "%s: '%s' is token %d of the tokenizer, but %d in the configuration", where, s->text, found, *id);
    if (found >= 0)
        *id = found;
    return PARLEY_OK;
}

/* llama files name one end alone; the reference stops at this token, too. */
static parley_status add_end(const asr_files *files, const pl_tokenizer *tokenizer, asr_config *config, parley_error *error)
{
    static const char text[] = "<|endoftext|>";
    int32_t id = pl_tokenizer_find(tokenizer, (pl_span){text, sizeof text - 1});
    if (files->part[ASR_TEXT]->dialect != ASR_LLAMA)
        return PARLEY_OK;
    if (id < 0)
        return pl_fail(error, PARLEY_MISSING, "%s: the tokenizer has no token '%s'", pl_source_name(files->source), text);
    for (int i = 0; i < config->n_end_ids; i++)
        if (config->end_ids[i] == id)
            return PARLEY_OK;
    config->end_ids[config->n_end_ids++] = id; /* the files' keys make two at most */
    return PARLEY_OK;
}

static parley_status find_ids(const asr_files *files, const pl_tokenizer *tokenizer, asr_config *config, parley_error *error)
{
    int32_t size = pl_tokenizer_size(tokenizer);
    if (size > config->vocabulary)
        return pl_fail(error, PARLEY_FORMAT, "%s: the tokenizer has %d ids, but the model only %d", pl_source_name(files->source), size,
                       config->vocabulary);
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++)
        PL_TRY(find_id(files, tokenizer, &spellings[i], config, error));
    return add_end(files, tokenizer, config, error);
}

static parley_status open_part(const parley_allocator *allocator, const asr_files *files, pl_tokenizer **tokenizer, parley_error *error)
{
    const asr_container *c = files->part[ASR_TOKENIZER];
    if (c->dialect == ASR_HF)
        return pl_model_tokenizer_files(allocator, files->source, "", tokenizer, error);
    if (c->dialect == ASR_PARLEY)
        return pl_parley_tokenizer(allocator, &c->container, pl_source_name(files->source), tokenizer, error);
    return pl_model_tokenizer_gguf(allocator, c->source, &c->container, c->dialect == ASR_LLAMA ? PL_GGUF_TYPED : PL_GGUF_ADDED_BEHIND, 0, tokenizer,
                                   error);
}

parley_status pl_asr_tokenizer_open(const parley_allocator *allocator, asr_files *files, asr_config *config, pl_tokenizer **tokenizer,
                                    parley_error *error)
{
    *tokenizer = NULL;
    if (!files->part[ASR_TOKENIZER])
        return pl_fail(error, PARLEY_MISSING, "%s: no tokenizer is there", pl_source_name(files->source));
    PL_TRY(open_part(allocator, files, tokenizer, error));
    parley_status status = files->part[ASR_TEXT] ? find_ids(files, *tokenizer, config, error) : PARLEY_OK;
    if (status == PARLEY_OK)
        return PARLEY_OK;
    pl_tokenizer_close(*tokenizer);
    *tokenizer = NULL;
    return status;
}
