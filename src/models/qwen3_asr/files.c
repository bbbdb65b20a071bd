/* Finds the parts of a checkpoint: which file holds which, told by content. */
#include "models/parley.h"
#include "models/qwen3_asr/internal.h"

#include <string.h>

enum { ALL_PARTS = (1 << ASR_PARTS) - 1 };

#define COUNT(list) (sizeof(list) / sizeof *(list))

static const char *const part_names[ASR_PARTS] = {[ASR_TEXT] = "text model", [ASR_TOWER] = "audio tower", [ASR_TOKENIZER] = "tokenizer"};

/* ------------------------------------------------------------------ upstream's directories */

static parley_status identify(pl_source *source, parley_error *error)
{
    char where[PL_MODEL_WHERE];
    const char *type = "";
    cJSON *json;
    pl_source_describe(source, "config.json", where, sizeof where);
    PL_TRY(pl_model_json(source, "", "config.json", &json, error));
    parley_status status = pl_model_json_text(json, "model_type", where, &type, error);
    if (status == PARLEY_OK && strcmp(type, "qwen3_asr") != 0)
        status = pl_fail(error, PARLEY_FAMILY, "%s: 'model_type' is '%.100s', qwen3_asr is expected", where, type);
    cJSON_Delete(json);
    return status;
}

static parley_status scan_hf(pl_opening *o, pl_source *source, unsigned wanted)
{
    static const char *const names[] = {"config.json", "generation_config.json", "preprocessor_config.json", "vocab.json",
                                        "merges.txt",  "tokenizer_config.json"};
    asr_container c = {.source = source, .dialect = ASR_HF, .folder = ""};
    unsigned parts = PL_PART(ASR_TEXT) | PL_PART(ASR_TOWER);
    PL_TRY(identify(source, o->error));
    if (pl_source_has(source, "vocab.json") || pl_source_has(source, "merges.txt"))
        parts |= PL_PART(ASR_TOKENIZER);
    if (wanted & PL_PART(ASR_TEXT))
        PL_TRY(pl_files_open_weights(o, &c));
    PL_TRY(pl_files_keep(o, &c, parts & wanted));
    pl_files_count(o, source, "", names, COUNT(names));
    return PARLEY_OK;
}

static bool is_hf(const parley_allocator *allocator, pl_source *source)
{
    (void)allocator;
    return identify(source, NULL) == PARLEY_OK;
}

/* ------------------------------------------------------------------ GGUF files */

/* A Qwen3-VL has the architecture too, but none of these tokens. */
static parley_status hears(const parley_allocator *allocator, const pl_container *c, bool *result, parley_error *error)
{
    static const char *const marks[] = {"<asr_text>", "<timestamp>"};
    parley_status status;
    pl_gguf_text *tokens;
    size_t count = 0;
    pl_arena arena;
    pl_arena_init(&arena, allocator, 65536);
    if (!pl_gguf_strings(c, "tokenizer.ggml.tokens", &tokens, &count, &arena, &status, error))
        count = 0;
    for (size_t i = 0; i < count && !*result; i++)
        for (size_t k = 0; k < COUNT(marks); k++)
            *result = *result || (tokens[i].length == strlen(marks[k]) && memcmp(tokens[i].text, marks[k], tokens[i].length) == 0);
    pl_arena_free(&arena);
    return status;
}

static parley_status classify_text(const parley_allocator *allocator, const pl_container *c, const char *where, pl_file_kind *kind,
                                   parley_error *error)
{
    static const char *const widths[] = {"qwen3vl.embedding_length"};
    PL_TRY(hears(allocator, c, &kind->family, error));
    if (!kind->family)
        return PARLEY_OK;
    kind->parts = PL_PART(ASR_TEXT) | PL_PART(ASR_TOKENIZER);
    kind->half = PL_TEXT_HALF;
    return pl_file_width(c, where, widths, COUNT(widths), kind, error);
}

static parley_status classify(const parley_allocator *allocator, const pl_container *c, const char *where, pl_file_kind *kind, parley_error *error)
{
    static const char *const widths[] = {"clip.audio.projection_dim"};
    char architecture[64];
    PL_TRY(pl_file_architecture(c, where, kind, architecture, sizeof architecture, error));
    kind->dialect = ASR_LLAMA;
    bool own = pl_parley_is(c, "qwen3_asr");
    if (own || strcmp(architecture, "qwen3_asr") == 0) {
        kind->dialect = own ? ASR_PARLEY : ASR_TRANSCRIBE;
        kind->family = true;
        kind->parts = ALL_PARTS;
    } else if (strcmp(architecture, "qwen3vl") == 0) {
        return classify_text(allocator, c, where, kind, error);
    } else if (strcmp(architecture, "clip") == 0 && pl_file_says(c, "clip.audio.projector_type", "qwen3a")) {
        kind->family = true;
        kind->parts = PL_PART(ASR_TOWER);
        kind->half = PL_REST_HALF;
        return pl_file_width(c, where, widths, COUNT(widths), kind, error);
    }
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ opening */

static const pl_file_rules rules = {
    .part_names = part_names,
    .n_parts = ASR_PARTS,
    .first = ASR_TEXT,
    .codec = -1,
    .packed_dialect = ASR_PARLEY,
    .expected = "qwen3_asr, qwen3vl with <asr_text> or 'clip' with qwen3a",
    .classify = classify,
    .scan_directory = scan_hf,
    .is_directory = is_hf,
};

parley_status pl_asr_files_open(const parley_allocator *allocator, const asr_open *what, asr_files *files, parley_error *error)
{
    unsigned needed = what->needed == PARLEY_PARTS_TEXT ? PL_PART(ASR_TOKENIZER) : ALL_PARTS;
    return pl_model_files_open(allocator, &rules, what, what->any ? ALL_PARTS : needed, needed, files, error);
}

void pl_asr_files_close(asr_files *files)
{
    pl_model_files_close(files);
}

bool pl_asr_probe(const parley_allocator *allocator, pl_source *source)
{
    return pl_model_files_probe(allocator, &rules, source);
}
