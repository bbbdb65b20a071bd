/* Reads the configuration: the tables, then what the values must be to each other. */
#include "models/qwen3_asr/config_tables.h"

#include "models/catalogue.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* ------------------------------------------------------------------ where values come from */

typedef struct reader {
    asr_files *files;
    asr_config *config;
    parley_error *error;
    cJSON *json;
    char where[PL_MODEL_WHERE];
    pl_values values;
} reader;

/* Values of the file of `part`: of `file` in a directory of upstream's. */
static parley_status begin(reader *r, asr_part part, const char *file)
{
    const asr_container *c = r->files->part[part];
    bool hf = c->dialect == ASR_HF;
    r->values = (pl_values){
        .arena = &r->files->arena, .dialect = (unsigned)c->dialect, .last = c->dialect == ASR_LLAMA, .where = r->where, .error = r->error};
    pl_source_describe(c->source, hf ? file : c->container.file, r->where, sizeof r->where);
    if (hf)
        PL_TRY(pl_model_json(c->source, "", file, &r->json, r->error));
    else
        r->values.places[0] = &c->container;
    r->values.json = r->json;
    return PARLEY_OK;
}

static parley_status end(reader *r, parley_status status)
{
    cJSON_Delete(r->json);
    r->json = NULL;
    return status;
}

/* ------------------------------------------------------------------ what values must be to each other */

typedef struct relation {
    bool holds;
    const char *text;
} relation;

static parley_status check_sizes(const reader *r)
{
    const asr_config *c = r->config;
    const relation relations[] = {
        {!c->text.width || c->text.heads % c->text.kv_heads == 0, "the text model's heads are no multiple of its KV heads"},
        {c->text.head % 2 == 0, "the text model's heads have an odd number of values"},
        {!c->tower.width || c->tower.width % c->tower.heads == 0, "the audio tower's width is no multiple of its heads"},
        {c->tower.width % 2 == 0, "the audio tower's width is odd"},
        {!c->tower.width || !c->text.width || c->tower.out == c->text.width, "the audio tower's output is not as wide as the text model"},
        {c->tower.window_infer >= 2 * c->tower.window, "the attention window of the audio tower is below its chunk"},
        {!c->aligner || !c->tied, "an aligner's head cannot be tied to the embedding"},
    };
    for (size_t i = 0; i < COUNT(relations); i++)
        if (!relations[i].holds)
            return pl_fail(r->error, PARLEY_FORMAT, "%s: %s", r->where, relations[i].text);
    return PARLEY_OK;
}

static parley_status check_id(const reader *r, const char *name, int32_t id)
{
    if (id < r->config->vocabulary)
        return PARLEY_OK;
    return pl_fail(r->error, PARLEY_FORMAT, "%s: the id %s is %d, 0 to %d is expected", r->where, name, id, r->config->vocabulary - 1);
}

static parley_status check_ids(const reader *r)
{
    const asr_config *c = r->config;
    PL_TRY(check_id(r, "audio_token", c->audio_token));
    PL_TRY(check_id(r, "audio_start", c->audio_start));
    PL_TRY(check_id(r, "audio_end", c->audio_end));
    return check_id(r, "timestamp", c->timestamp);
}

/* ------------------------------------------------------------------ the model */

/* Either mark of a directory is enough; files of the transcribe dialect are never aligners. */
static parley_status find_kind(reader *r)
{
    const char *type = "";
    const cJSON *classes = NULL;
    r->config->aligner = !r->json && pl_gguf_has(r->values.places[0], ALIGNER_CLASSES);
    if (!r->json)
        return PARLEY_OK;
    PL_TRY(pl_model_json_text(r->json, THINKER "model_type", r->where, &type, r->error));
    PL_TRY(pl_model_json_find(r->json, THINKER "classify_num", r->where, &classes, r->error));
    r->config->aligner = classes || strcmp(type, "qwen3_forced_aligner") == 0;
    return PARLEY_OK;
}

/* llama files have no keys for these: sizes from shapes; a head of other rows than the vocabulary is that of an aligner, whose classes are 80 ms
 * (spec/gguf_dialects.md D.7, D.8). */
static parley_status text_of_shapes(reader *r)
{
    asr_config *c = r->config;
    const pl_container *file = r->values.places[0];
    const char *const names[] = {"token_embd.weight", "output.weight"};
    int64_t rows[2];
    for (int i = 0; i < 2; i++) {
        rows[i] = pl_catalogue_dim(file, names[i], 2, 0);
        if (rows[i] > 1 << 24)
            return pl_fail(r->error, PARLEY_FORMAT, "%s: %s has %lld rows", r->where, names[i], (long long)rows[i]);
    }
    if (!rows[0])
        return pl_fail(r->error, PARLEY_MISSING, "%s: the tensor %s is not there", r->where, names[0]);
    c->vocabulary = (int32_t)rows[0];
    c->tied = !rows[1];
    c->head_rows = c->tied ? c->vocabulary : (int32_t)rows[1];
    c->aligner = c->head_rows != c->vocabulary;
    c->timestamp_ms = c->aligner ? 80 : 0;
    return PARLEY_OK;
}

static parley_status read_head(reader *r)
{
    asr_config *c = r->config;
    if (r->values.dialect == ASR_LLAMA)
        return text_of_shapes(r);
    c->head_rows = c->vocabulary;
    return c->aligner ? pl_values_read(&r->values, aligner_rows, COUNT(aligner_rows), c) : PARLEY_OK;
}

static parley_status read_text(reader *r)
{
    asr_config *c = r->config;
    const pl_container *file = r->values.places[0];
    PL_TRY(find_kind(r));
    /* The converter leaves a head away, so that a file without the key is tied. */
    c->tied = file && !pl_container_find(file, "dec.output.weight");
    PL_TRY(pl_values_only(&r->values, text_only, COUNT(text_only)));
    PL_TRY(pl_values_read(&r->values, text_rows, COUNT(text_rows), c));
    PL_TRY(read_head(r));
    PL_TRY(check_sizes(r));
    PL_TRY(check_ids(r));
    return pl_asr_languages_read(&r->values, c);
}

static parley_status read_tower(reader *r)
{
    asr_config *c = r->config;
    if (r->values.dialect == ASR_LLAMA) {
        int64_t channels = pl_catalogue_dim(r->values.places[0], "a.conv2d.1.weight", 4, 0);
        if (channels < 1 || channels > 1 << 13)
            return pl_fail(r->error, channels ? PARLEY_FORMAT : PARLEY_MISSING, "%s: the tensor a.conv2d.1.weight has %lld channels", r->where,
                           (long long)channels);
        c->tower.channels = (int)channels;
        c->tower.window = 50;
        c->tower.window_infer = 800;
    }
    PL_TRY(pl_values_only(&r->values, tower_only, COUNT(tower_only)));
    return pl_values_read(&r->values, tower_rows, COUNT(tower_rows), c);
}

static parley_status read_front(reader *r)
{
    if (r->values.dialect == ASR_LLAMA)
        r->config->front = (asr_front){.sample_rate = 16000, .fft = 400, .hop = 160, .mels = 128};
    PL_TRY(pl_values_only(&r->values, front_only, COUNT(front_only)));
    return pl_values_read(&r->values, front_rows, COUNT(front_rows), r->config);
}

/* ------------------------------------------------------------------ end ids */

static parley_status add_end_id(reader *r, const char *name, double id)
{
    asr_config *c = r->config;
    if (c->n_end_ids == ASR_MAX_END_IDS)
        return pl_fail(r->error, PARLEY_FORMAT, "%s: '%s' has more than %d ids", r->where, name, ASR_MAX_END_IDS);
    if (!(id >= 0 && id < c->vocabulary && id == floor(id)))
        return pl_fail(r->error, PARLEY_FORMAT, "%s: '%s' is %.9g, 0 to %d is expected", r->where, name, id, c->vocabulary - 1);
    c->end_ids[c->n_end_ids++] = (int32_t)id;
    return PARLEY_OK;
}

/* One id or a list of them. */
static parley_status end_ids_of_json(reader *r)
{
    static const char name[] = "eos_token_id";
    const cJSON *value;
    PL_TRY(pl_model_json_find(r->json, name, r->where, &value, r->error));
    if (!value)
        return pl_fail(r->error, PARLEY_MISSING, "%s: '%s' is not there", r->where, name);
    if (cJSON_IsNumber(value))
        return add_end_id(r, name, value->valuedouble);
    for (const cJSON *item = value->child; item; item = item->next) {
        if (!cJSON_IsNumber(item))
            break;
        PL_TRY(add_end_id(r, name, item->valuedouble));
    }
    if (cJSON_IsArray(value) && r->config->n_end_ids > 0 && cJSON_GetArraySize(value) == r->config->n_end_ids)
        return PARLEY_OK;
    return pl_fail(r->error, PARLEY_FORMAT, "%s: '%s' is to be an id or a list of ids", r->where, name);
}

static const char own_end_ids[] = G "end_ids"; /* of files of the dialect parley: all there are */

static parley_status end_ids_of_parley(reader *r)
{
    int64_t *ids;
    size_t count;
    parley_status status;
    if (!pl_gguf_ints(r->values.places[0], own_end_ids, ASR_MAX_END_IDS, &ids, &count, r->values.arena, &status, r->error))
        return status != PARLEY_OK ? status : pl_fail(r->error, PARLEY_MISSING, "%s: '%s' is not there", r->where, own_end_ids);
    for (size_t i = 0; i < count; i++)
        PL_TRY(add_end_id(r, own_end_ids, (double)ids[i]));
    if (count || r->config->aligner)
        return PARLEY_OK;
    return pl_fail(r->error, PARLEY_FORMAT, "%s: '%s' is empty", r->where, own_end_ids);
}

static parley_status end_ids_of_gguf(reader *r)
{
    static const char *const names[] = {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.padding_token_id"};
    for (size_t i = 0; i < COUNT(names); i++) {
        int64_t id;
        parley_status status;
        if (pl_gguf_int(r->values.places[0], names[i], &id, &status, r->error))
            PL_TRY(add_end_id(r, names[i], (double)id));
        PL_TRY(status);
    }
    if (r->config->n_end_ids)
        return PARLEY_OK;
    return pl_fail(r->error, PARLEY_MISSING, "%s: '%s' is not there", r->where, names[0]);
}

/* ------------------------------------------------------------------ all of it */

static parley_status read_file(reader *r, asr_part part, const char *file, parley_status (*read)(reader *r))
{
    PL_TRY(begin(r, part, file));
    return end(r, read(r));
}

static parley_status read_end_ids(reader *r)
{
    static const char file[] = "generation_config.json";
    const int dialect = r->files->part[ASR_TEXT]->dialect;
    bool hf = dialect == ASR_HF;
    /* An aligner answers in one pass. */
    if (hf && r->config->aligner && !pl_source_has(r->files->source, file))
        return PARLEY_OK;
    return read_file(r, ASR_TEXT, file, hf ? end_ids_of_json : dialect == ASR_PARLEY ? end_ids_of_parley : end_ids_of_gguf);
}

parley_status pl_asr_config_read(asr_files *files, asr_config *config, parley_error *error)
{
    reader r = {.files = files, .config = config, .error = error};
    *config = (asr_config){.audio_token = -1, .audio_start = -1, .audio_end = -1, .im_start = -1, .im_end = -1, .asr_text = -1, .timestamp = -1};
    config->text.kind = PL_BLOCK_GATED;
    if (files->part[ASR_TOWER])
        PL_TRY(read_file(&r, ASR_TOWER, "config.json", read_tower));
    if (!files->part[ASR_TEXT])
        return PARLEY_OK;
    PL_TRY(read_file(&r, ASR_TEXT, "config.json", read_text));
    PL_TRY(read_file(&r, ASR_TEXT, "preprocessor_config.json", read_front));
    return read_end_ids(&r);
}

/* ------------------------------------------------------------------ writing */

void pl_asr_config_write(const asr_config *config, pl_gguf_head *head)
{
    pl_values_write(tower_rows, COUNT(tower_rows), config, head);
    pl_values_write(text_rows, COUNT(text_rows), config, head);
    if (config->aligner)
        pl_values_write(aligner_rows, COUNT(aligner_rows), config, head);
    pl_values_write(front_rows, COUNT(front_rows), config, head);
    pl_gguf_put_ints(head, own_end_ids, config->end_ids, (size_t)config->n_end_ids);
    pl_asr_languages_write(config, head);
}
