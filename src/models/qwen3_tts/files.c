/* Finds the parts of a checkpoint: which file holds which part, told by content. */
#include "models/parley.h"
#include "models/qwen3_tts/internal.h"

#include <stdio.h>
#include <string.h>

enum { ALL_PARTS = (1 << TTS_PARTS) - 1 };

#define COUNT(list) (sizeof(list) / sizeof *(list))

static const char *const part_names[TTS_PARTS] = {
    [TTS_TALKER] = "talker", [TTS_PREDICTOR] = "code predictor", [TTS_SPEAKER] = "speaker encoder",
    [TTS_CODEC] = "codec",   [TTS_TOKENIZER] = "tokenizer",
};

static const char codec_folder[] = "speech_tokenizer/";

/* ------------------------------------------------------------------ upstream's directories */

static parley_status open_hf_codec(pl_opening *o, pl_source *source, const char *folder)
{
    static const char *const names[] = {"config.json"};
    tts_container c = {.source = source, .dialect = TTS_HF, .folder = folder};
    PL_TRY(pl_files_open_weights(o, &c));
    PL_TRY(pl_files_keep(o, &c, PL_PART(TTS_CODEC)));
    pl_files_count(o, source, folder, names, COUNT(names));
    return PARLEY_OK;
}

/* What config.json tells of a directory. */
typedef struct identity {
    bool model, codec; /* one of them */
    bool talker, base, has_speaker;
} identity;

static parley_status identify(pl_opening *o, const cJSON *json, const char *where, identity *id)
{
    const char *type = "", *kind = "";
    const cJSON *talker = NULL, *speaker = NULL;
    *id = (identity){0};
    PL_TRY(pl_model_json_text(json, "model_type", where, &type, o->error));
    id->model = strcmp(type, "qwen3_tts") == 0;
    id->codec = strcmp(type, "qwen3_tts_tokenizer_12hz") == 0;
    if (strcmp(type, "qwen3_tts_tokenizer_25hz") == 0)
        return pl_fail(o->error, PARLEY_UNSUPPORTED, "%s: 'model_type' is %s, only qwen3_tts_tokenizer_12hz is supported", where, type);
    if (!id->model && !id->codec)
        return pl_fail(o->error, PARLEY_FAMILY, "%s: 'model_type' is '%.100s', qwen3_tts or qwen3_tts_tokenizer_12hz is expected", where, type);
    PL_TRY(pl_model_json_text(json, "tts_model_type", where, &kind, o->error));
    PL_TRY(pl_model_json_find(json, "talker_config", where, &talker, o->error));
    PL_TRY(pl_model_json_find(json, "speaker_encoder_config", where, &speaker, o->error));
    id->base = strcmp(kind, "base") == 0;
    id->talker = talker != NULL;
    id->has_speaker = speaker != NULL;
    return PARLEY_OK;
}

static parley_status read_identity(pl_opening *o, pl_source *source, const char *folder, identity *id)
{
    char path[64], where[PL_MODEL_WHERE];
    cJSON *json;
    snprintf(path, sizeof path, "%sconfig.json", folder);
    pl_source_describe(source, path, where, sizeof where);
    PL_TRY(pl_model_json(source, folder, "config.json", &json, o->error));
    parley_status status = identify(o, json, where, id);
    cJSON_Delete(json);
    return status;
}

static parley_status open_hf_model(pl_opening *o, pl_source *source, const identity *id, unsigned wanted)
{
    static const char *const names[] = {"config.json", "generation_config.json", "vocab.json", "merges.txt", "tokenizer_config.json"};
    const unsigned weights = PL_PART(TTS_TALKER) | PL_PART(TTS_PREDICTOR) | PL_PART(TTS_SPEAKER);
    tts_container c = {.source = source, .dialect = TTS_HF, .folder = ""};
    unsigned parts = id->talker ? PL_PART(TTS_TALKER) | PL_PART(TTS_PREDICTOR) : 0;
    if (pl_source_has(source, "vocab.json") || pl_source_has(source, "merges.txt"))
        parts |= PL_PART(TTS_TOKENIZER);
    if (wanted & weights)
        PL_TRY(pl_files_open_weights(o, &c));
    /* The reference builds a speaker encoder for base alone. */
    if (id->base && (id->has_speaker || (c.has_weights && pl_container_find(&c.container, "speaker_encoder.fc.weight"))))
        parts |= PL_PART(TTS_SPEAKER);
    PL_TRY(pl_files_keep(o, &c, parts & wanted));
    pl_files_count(o, source, "", names, COUNT(names));
    return PARLEY_OK;
}

static parley_status scan_hf(pl_opening *o, pl_source *source, unsigned wanted)
{
    identity id;
    PL_TRY(read_identity(o, source, "", &id));
    if (id.codec)
        return wanted & PL_PART(TTS_CODEC) ? open_hf_codec(o, source, "") : PARLEY_OK;
    if (wanted & ~PL_PART(TTS_CODEC))
        PL_TRY(open_hf_model(o, source, &id, wanted));
    if (!(wanted & PL_PART(TTS_CODEC)) || (!pl_files_has(source, codec_folder, "config.json") && !pl_files_has_weights(source, codec_folder)))
        return PARLEY_OK;
    PL_TRY(read_identity(o, source, codec_folder, &id));
    if (!id.codec)
        return pl_fail(o->error, PARLEY_FAMILY, "%s: speech_tokenizer/config.json is not that of a codec", pl_source_name(source));
    return open_hf_codec(o, source, codec_folder);
}

static bool is_hf(const parley_allocator *allocator, pl_source *source)
{
    identity id;
    pl_opening o = {.allocator = allocator};
    return read_identity(&o, source, "", &id) == PARLEY_OK;
}

/* ------------------------------------------------------------------ GGUF files */

/* The talkers of qwentts and qts name most tensors alike; the projection, which may lie in the talker's or the predictor's file, tells nothing. */
static const struct {
    const char *prefix;
    tts_part part;
} content[] = {
    {"talker.text_", TTS_TALKER},
    {"talker.codec_", TTS_TALKER},
    {"talker.blk.", TTS_TALKER},
    {"talker.output_norm.", TTS_TALKER},
    {"code_pred.blk.", TTS_PREDICTOR},
    {"code_pred.lm_head.", TTS_PREDICTOR},
    {"code_pred.codec_embd.", TTS_PREDICTOR},
    {"code_pred.output_norm.", TTS_PREDICTOR},
    {"spk_enc.", TTS_SPEAKER},
    {"tok_dec.", TTS_CODEC},
    {PL_PARLEY_TOKENIZER, TTS_TOKENIZER},
};

static unsigned content_of(const pl_container *c)
{
    unsigned parts = pl_gguf_has(c, "tokenizer.ggml.tokens") ? PL_PART(TTS_TOKENIZER) : 0;
    for (size_t i = 0; i < c->n_entries; i++)
        for (size_t k = 0; k < COUNT(content); k++)
            if (strncmp(c->entries[i].name, content[k].prefix, strlen(content[k].prefix)) == 0)
                parts |= PL_PART(content[k].part);
    return parts;
}

/* The two files of llama: a text model always has talker and vocabulary, an mmproj file always predictor and codec. */
static parley_status classify_text(const pl_container *c, const char *where, pl_file_kind *kind, parley_error *error)
{
    static const char *const widths[] = {"qwen3tts.embedding_length"};
    kind->parts = PL_PART(TTS_TALKER) | PL_PART(TTS_TOKENIZER);
    kind->half = PL_TEXT_HALF;
    return pl_file_width(c, where, widths, COUNT(widths), kind, error);
}

static parley_status classify_rest(const pl_container *c, const char *where, pl_file_kind *kind, parley_error *error)
{
    static const char *const widths[] = {"clip.gen.audio.projection_dim", "clip.audio.projection_dim"};
    bool speaker = false;
    parley_status status;
    if (!pl_gguf_bool(c, "clip.has_audio_encoder", &speaker, &status, error))
        PL_TRY(status);
    kind->parts = PL_PART(TTS_PREDICTOR) | PL_PART(TTS_CODEC);
    if (speaker || pl_container_find(c, "a.conv1d.0.weight"))
        kind->parts |= PL_PART(TTS_SPEAKER);
    kind->half = PL_REST_HALF;
    PL_TRY(pl_file_width(c, where, widths, COUNT(widths), kind, error));
    int64_t other = kind->width;
    if (!pl_gguf_int(c, widths[1], &other, &status, error))
        PL_TRY(status);
    if (other == kind->width)
        return PARLEY_OK;
    return pl_fail(error, PARLEY_FORMAT, "%s: '%s' is %lld, but '%s' %lld", where, widths[0], (long long)kind->width, widths[1], (long long)other);
}

static parley_status classify(const parley_allocator *allocator, const pl_container *c, const char *where, pl_file_kind *kind, parley_error *error)
{
    char architecture[64];
    (void)allocator;
    PL_TRY(pl_file_architecture(c, where, kind, architecture, sizeof architecture, error));
    bool codec = strcmp(architecture, "qwen3-tts-tokenizer") == 0, text = strcmp(architecture, "qwen3tts") == 0;
    bool rest = strcmp(architecture, "clip") == 0 && pl_file_says(c, "clip.gen.audio.projector_type", "qwen3tts_gen");
    bool own = pl_parley_is(c, "qwen3_tts"), whole = own || codec || strcmp(architecture, "qwen3-tts") == 0;
    kind->family = whole || text || rest;
    kind->dialect = own ? TTS_PARLEY : text || rest ? TTS_LLAMA : codec || pl_gguf_has(c, "qwen3-tts.text.im_start_id") ? TTS_QWENTTS : TTS_QTS;
    if (whole)
        kind->parts = codec ? PL_PART(TTS_CODEC) : content_of(c);
    return text ? classify_text(c, where, kind, error) : rest ? classify_rest(c, where, kind, error) : PARLEY_OK;
}

/* ------------------------------------------------------------------ opening */

static const pl_file_rules rules = {
    .part_names = part_names,
    .n_parts = TTS_PARTS,
    .first = TTS_TALKER,
    .codec = TTS_CODEC,
    .inner = codec_folder,
    .inner_dialect = TTS_HF,
    .packed_dialect = TTS_PARLEY,
    .expected = "qwen3-tts, qwen3-tts-tokenizer, qwen3tts or 'clip' with qwen3tts_gen",
    .classify = classify,
    .scan_directory = scan_hf,
    .is_directory = is_hf,
};

/* The parts that each use cannot do without. */
static const unsigned parts_of_use[] = {
    [PARLEY_PARTS_ALL] = ALL_PARTS & ~PL_PART(TTS_SPEAKER),
    [PARLEY_PARTS_TEXT] = PL_PART(TTS_TOKENIZER),
    [PARLEY_PARTS_CODEC] = PL_PART(TTS_CODEC),
    [PARLEY_PARTS_SPEAKER] = PL_PART(TTS_SPEAKER),
    [PARLEY_PARTS_CODEC_ENCODER] = PL_PART(TTS_CODEC),
    [PARLEY_PARTS_CLONE] = ALL_PARTS & ~PL_PART(TTS_SPEAKER),
};

parley_status pl_tts_files_open(const parley_allocator *allocator, const tts_open *what, tts_files *files, parley_error *error)
{
    bool speech = what->needed == PARLEY_PARTS_ALL || what->needed == PARLEY_PARTS_CLONE;
    unsigned needed = parts_of_use[what->needed];
    return pl_model_files_open(allocator, &rules, what, what->any || speech ? ALL_PARTS : needed, needed, files, error);
}

void pl_tts_files_close(tts_files *files)
{
    pl_model_files_close(files);
}

bool pl_tts_probe(const parley_allocator *allocator, pl_source *source)
{
    return pl_model_files_probe(allocator, &rules, source);
}
