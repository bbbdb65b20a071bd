/* Finds the parts of a checkpoint: which file holds which, told by content. */
#include "models/parley.h"
#include "models/qwen3_tts/internal.h"

#include <stdio.h>
#include <string.h>

#define BIT(part) (1u << (part))

enum { ALL_PARTS = (1 << TTS_PARTS) - 1, MAX_BESIDE = 256 };

static const char *const part_names[TTS_PARTS] = {
    [TTS_TALKER] = "talker", [TTS_PREDICTOR] = "code predictor", [TTS_SPEAKER] = "speaker encoder",
    [TTS_CODEC] = "codec",   [TTS_TOKENIZER] = "tokenizer",
};

/* An opening in progress. `foreign` is a GGUF file of another family that was passed over. */
typedef struct opening {
    const parley_allocator *allocator;
    tts_files *files;
    bool any;
    char foreign[PL_MODEL_WHERE], architecture[64];
    parley_error *error;
} opening;

static void describe(const tts_container *c, char *text, size_t size)
{
    char path[PL_MODEL_WHERE];
    const char *file = c->container.file;
    snprintf(path, sizeof path, "%s%s", file ? "" : c->folder, file ? file : "config.json");
    pl_source_describe(c->source, path, text, size);
}

/* ------------------------------------------------------------------ keeping parts */

static parley_status twice(opening *o, tts_part part, const tts_container *second)
{
    char a[PL_MODEL_WHERE], b[PL_MODEL_WHERE];
    describe(o->files->part[part], a, sizeof a);
    describe(second, b, sizeof b);
    return pl_fail(o->error, PARLEY_ARGUMENT, "the %s is there twice, in %.200s and in %.200s", part_names[part], a, b);
}

/* Takes the container over: it is closed here when it is not kept. */
static parley_status keep(opening *o, tts_container *c, unsigned parts)
{
    tts_files *files = o->files;
    parley_status status = PARLEY_OK;
    for (int p = 0; p < TTS_PARTS && status == PARLEY_OK; p++)
        if ((parts & BIT(p)) && files->part[p])
            status = twice(o, (tts_part)p, c);
    if (status != PARLEY_OK || !parts) {
        if (c->has_weights)
            pl_container_close(&c->container);
        return status;
    }
    /* Each container holds a part that no other one has, so that there are never more than there are parts. */
    tts_container *kept = &files->containers[files->n_containers++];
    *kept = *c;
    for (int p = 0; p < TTS_PARTS; p++)
        if (parts & BIT(p))
            files->part[p] = kept;
    if (c->has_weights)
        files->file_bytes += c->container.file_bytes;
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ upstream's directories */

static bool has(pl_source *source, const char *folder, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "%s%s", folder, name);
    return pl_source_has(source, path);
}

static bool has_weights(pl_source *source, const char *folder)
{
    return has(source, folder, "model.safetensors") || has(source, folder, "model.safetensors.index.json");
}

/* Files beside the weights count too; that one cannot be mapped is told when it is read. */
static void count_bytes(opening *o, pl_source *source, const char *folder, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char path[64];
        pl_bytes bytes;
        snprintf(path, sizeof path, "%s%s", folder, names[i]);
        if (pl_source_has(source, path) && pl_source_map(source, path, &bytes, NULL) == PARLEY_OK)
            o->files->file_bytes += bytes.size;
    }
}

/* Inspection goes on without weights, anything else says what is missing. */
static parley_status open_weights(opening *o, tts_container *c)
{
    if (o->any && !has_weights(c->source, c->folder))
        return PARLEY_OK;
    PL_TRY(pl_safetensors_open(o->allocator, c->source, c->folder, &c->container, o->error));
    c->has_weights = true;
    return PARLEY_OK;
}

static parley_status open_hf_codec(opening *o, pl_source *source, const char *folder)
{
    static const char *const names[] = {"config.json"};
    tts_container c = {.source = source, .dialect = TTS_HF, .folder = folder};
    PL_TRY(open_weights(o, &c));
    PL_TRY(keep(o, &c, BIT(TTS_CODEC)));
    count_bytes(o, source, folder, names, 1);
    return PARLEY_OK;
}

/* What config.json tells of a directory. */
typedef struct identity {
    bool model, codec; /* one of them */
    bool talker, base, has_speaker;
} identity;

static parley_status identify(opening *o, const cJSON *json, const char *where, identity *id)
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

static parley_status read_identity(opening *o, pl_source *source, const char *folder, identity *id)
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

static parley_status open_hf_model(opening *o, pl_source *source, const identity *id, unsigned wanted)
{
    static const char *const names[] = {"config.json", "generation_config.json", "vocab.json", "merges.txt", "tokenizer_config.json"};
    const unsigned weights = BIT(TTS_TALKER) | BIT(TTS_PREDICTOR) | BIT(TTS_SPEAKER);
    tts_container c = {.source = source, .dialect = TTS_HF, .folder = ""};
    unsigned parts = id->talker ? BIT(TTS_TALKER) | BIT(TTS_PREDICTOR) : 0;
    if (has(source, "", "vocab.json") || has(source, "", "merges.txt"))
        parts |= BIT(TTS_TOKENIZER);
    if (wanted & weights)
        PL_TRY(open_weights(o, &c));
    /* The reference builds a speaker encoder for base alone. */
    if (id->base && (id->has_speaker || (c.has_weights && pl_container_find(&c.container, "speaker_encoder.fc.weight"))))
        parts |= BIT(TTS_SPEAKER);
    PL_TRY(keep(o, &c, parts & wanted));
    count_bytes(o, source, "", names, sizeof names / sizeof *names);
    return PARLEY_OK;
}

static parley_status scan_hf(opening *o, pl_source *source, unsigned wanted)
{
    static const char codec_folder[] = "speech_tokenizer/";
    identity id;
    PL_TRY(read_identity(o, source, "", &id));
    if (id.codec)
        return wanted & BIT(TTS_CODEC) ? open_hf_codec(o, source, "") : PARLEY_OK;
    if (wanted & ~BIT(TTS_CODEC))
        PL_TRY(open_hf_model(o, source, &id, wanted));
    if (!(wanted & BIT(TTS_CODEC)) || (!has(source, codec_folder, "config.json") && !has_weights(source, codec_folder)))
        return PARLEY_OK;
    PL_TRY(read_identity(o, source, codec_folder, &id));
    if (!id.codec)
        return pl_fail(o->error, PARLEY_FAMILY, "%s: speech_tokenizer/config.json is not that of a codec", pl_source_name(source));
    return open_hf_codec(o, source, codec_folder);
}

/* ------------------------------------------------------------------ GGUF files */

/* Both dialects' talkers name most tensors alike; the projection, which may lie in the talker's or the predictor's file, tells nothing. */
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
    unsigned parts = pl_gguf_has(c, "tokenizer.ggml.tokens") ? BIT(TTS_TOKENIZER) : 0;
    for (size_t i = 0; i < c->n_entries; i++)
        for (size_t k = 0; k < sizeof content / sizeof *content; k++)
            if (strncmp(c->entries[i].name, content[k].prefix, strlen(content[k].prefix)) == 0)
                parts |= BIT(content[k].part);
    return parts;
}

/* Parts of an open container; `family` false when it is another family's. */
static parley_status classify(const pl_container *c, const char *where, tts_dialect *dialect, unsigned *parts, bool *family, char *architecture,
                              size_t size, parley_error *error)
{
    pl_gguf_text text;
    parley_status status;
    *parts = 0;
    if (!pl_gguf_string(c, "general.architecture", &text, &status, error))
        return status != PARLEY_OK ? status : pl_fail(error, PARLEY_MISSING, "%s: 'general.architecture' is not there", where);
    snprintf(architecture, size, "%.*s", text.length < size ? (int)text.length : (int)size - 1, text.text);
    bool codec = strcmp(architecture, "qwen3-tts-tokenizer") == 0, own = pl_parley_is(c, "qwen3_tts");
    *family = own || codec || strcmp(architecture, "qwen3-tts") == 0;
    *dialect = own ? TTS_PARLEY : codec || pl_gguf_has(c, "qwen3-tts.text.im_start_id") ? TTS_QWENTTS : TTS_QTS;
    if (*family)
        *parts = codec ? BIT(TTS_CODEC) : content_of(c);
    return PARLEY_OK;
}

static parley_status scan_gguf(opening *o, pl_source *source, const char *name, unsigned wanted)
{
    tts_container c = {.source = source, .has_weights = true, .folder = ""};
    char where[PL_MODEL_WHERE], architecture[64];
    unsigned parts;
    bool family;
    pl_source_describe(source, name, where, sizeof where);
    PL_TRY(pl_gguf_open(o->allocator, source, name, &c.container, o->error));
    parley_status status = classify(&c.container, where, &c.dialect, &parts, &family, architecture, sizeof architecture, o->error);
    if (status == PARLEY_OK && family && c.dialect == TTS_PARLEY)
        status = pl_parley_prepare(&c.container, where, o->error);
    if (status != PARLEY_OK) {
        pl_container_close(&c.container);
        return status;
    }
    if (!family && !*o->foreign) {
        memcpy(o->foreign, where, sizeof where);
        memcpy(o->architecture, architecture, sizeof architecture);
    }
    return keep(o, &c, parts & wanted);
}

static parley_status foreign(opening *o)
{
    return pl_fail(o->error, PARLEY_FAMILY, "%s: the architecture is '%s', qwen3-tts or qwen3-tts-tokenizer is expected", o->foreign,
                   o->architecture);
}

/* ------------------------------------------------------------------ one source */

static parley_status scan_folder(opening *o, pl_source *source, unsigned wanted)
{
    const char *const *names;
    size_t count, found = 0;
    PL_TRY(pl_source_list(source, &names, &count, o->error));
    for (size_t i = 0; i < count; i++) {
        pl_bytes bytes;
        if (pl_source_map(source, names[i], &bytes, NULL) != PARLEY_OK || !pl_is_gguf(bytes))
            continue;
        found++;
        PL_TRY(scan_gguf(o, source, names[i], wanted));
    }
    bool codec = has(source, "speech_tokenizer/", "config.json");
    if (codec && (wanted & BIT(TTS_CODEC)))
        PL_TRY(open_hf_codec(o, source, "speech_tokenizer/"));
    /* A model whose config.json is missing is not taken for the codec that lies in it. */
    bool model = (wanted & ~BIT(TTS_CODEC)) && (has_weights(source, "") || has(source, "", "vocab.json"));
    if (!found && (!codec || model))
        return pl_fail(o->error, PARLEY_MISSING, "%s: neither config.json nor a GGUF file is there", pl_source_name(source));
    return PARLEY_OK;
}

static parley_status scan(opening *o, pl_source *source, unsigned wanted)
{
    const char *const *names;
    size_t count;
    *o->foreign = '\0';
    int before = o->files->n_containers;
    if (pl_source_has(source, "config.json"))
        return scan_hf(o, source, wanted);
    if (pl_source_is_directory(source)) {
        PL_TRY(scan_folder(o, source, wanted));
    } else {
        PL_TRY(pl_source_list(source, &names, &count, o->error));
        if (count == 0)
            return pl_fail(o->error, PARLEY_MISSING, "%s: neither config.json nor a GGUF file is there", pl_source_name(source));
        PL_TRY(scan_gguf(o, source, names[0], wanted));
    }
    return o->files->n_containers == before && *o->foreign ? foreign(o) : PARLEY_OK;
}

/* ------------------------------------------------------------------ beside a GGUF file */

typedef struct beside {
    const char *names[MAX_BESIDE]; /* NULL: the folder speech_tokenizer */
    unsigned parts[MAX_BESIDE];
    size_t count;
} beside;

/* Files beside it were not asked for: those that cannot be read are passed over. One with a talker is another model's. */
static parley_status look(opening *o, pl_source *source, const char *name, beside *list)
{
    pl_bytes bytes;
    pl_container c;
    tts_dialect dialect;
    unsigned parts;
    bool family;
    char architecture[64];
    if (list->count == MAX_BESIDE || pl_source_map(source, name, &bytes, NULL) != PARLEY_OK || !pl_is_gguf(bytes))
        return PARLEY_OK;
    parley_status status = pl_gguf_open(o->allocator, source, name, &c, o->error);
    if (status != PARLEY_OK)
        return status == PARLEY_MEMORY ? status : PARLEY_OK;
    if (classify(&c, name, &dialect, &parts, &family, architecture, sizeof architecture, NULL) == PARLEY_OK && parts && !(parts & BIT(TTS_TALKER))) {
        list->names[list->count] = name;
        list->parts[list->count++] = parts;
    }
    pl_container_close(&c);
    return PARLEY_OK;
}

static parley_status list_beside(opening *o, const char *own, beside *list)
{
    pl_source *source = o->files->beside;
    const char *const *names;
    size_t count;
    PL_TRY(pl_source_list(source, &names, &count, o->error));
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], own) != 0)
            PL_TRY(look(o, source, names[i], list));
    if (has(source, "speech_tokenizer/", "config.json") && list->count < MAX_BESIDE)
        list->parts[list->count++] = BIT(TTS_CODEC);
    return PARLEY_OK;
}

/* The parts of `missing` that each candidate is to give; one that several have is an error. */
static parley_status choose(opening *o, const beside *list, unsigned missing, unsigned *take)
{
    for (int p = 0; p < TTS_PARTS; p++) {
        const char *name = NULL;
        bool found = false;
        for (size_t i = 0; i < list->count; i++) {
            if (!(missing & list->parts[i] & BIT(p)))
                continue;
            const char *here = list->names[i] ? list->names[i] : "speech_tokenizer";
            if (found)
                return pl_fail(o->error, p == TTS_CODEC ? PARLEY_MISSING : PARLEY_ARGUMENT, "%s: several %ss are there, %.100s and %.100s%s",
                               pl_source_name(o->files->beside), part_names[p], name, here, p == TTS_CODEC ? "; name one with --codec" : "");
            found = true;
            name = here;
            take[i] |= BIT(p);
        }
    }
    return PARLEY_OK;
}

static parley_status take_beside(opening *o, const char *own, unsigned missing, beside *list)
{
    unsigned take[MAX_BESIDE] = {0};
    PL_TRY(list_beside(o, own, list));
    PL_TRY(choose(o, list, missing, take));
    for (size_t i = 0; i < list->count; i++) {
        if (!take[i])
            continue;
        PL_TRY(list->names[i] ? scan_gguf(o, o->files->beside, list->names[i], take[i]) : open_hf_codec(o, o->files->beside, "speech_tokenizer/"));
    }
    return PARLEY_OK;
}

static parley_status open_folder_of(opening *o, const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) : 0;
    const char *folder = !slash ? "." : length == 0 ? "/" : pl_arena_text(&o->files->arena, path, length);
    if (!folder)
        return pl_fail_memory(o->error, "the names of files");
    return pl_source_open(o->allocator, folder, &o->files->beside, o->error);
}

static parley_status search_beside(opening *o, const char *path, unsigned missing)
{
    const char *slash = strrchr(path, '/');
    beside *list = PL_NEW(&o->files->arena, beside);
    if (!list)
        return pl_fail_memory(o->error, "the names of files");
    PL_TRY(open_folder_of(o, path));
    return take_beside(o, slash ? slash + 1 : path, missing, list);
}

/* ------------------------------------------------------------------ opening */

/* The parts that each use cannot do without. */
static const unsigned parts_of_use[] = {
    [PARLEY_PARTS_ALL] = ALL_PARTS & ~BIT(TTS_SPEAKER),
    [PARLEY_PARTS_TEXT] = BIT(TTS_TOKENIZER),
    [PARLEY_PARTS_CODEC] = BIT(TTS_CODEC),
    [PARLEY_PARTS_SPEAKER] = BIT(TTS_SPEAKER),
    [PARLEY_PARTS_CODEC_ENCODER] = BIT(TTS_CODEC),
    [PARLEY_PARTS_CLONE] = ALL_PARTS & ~BIT(TTS_SPEAKER),
};

static unsigned wanted_parts(const tts_open *what)
{
    bool speech = what->needed == PARLEY_PARTS_ALL || what->needed == PARLEY_PARTS_CLONE;
    return what->any || speech ? ALL_PARTS : parts_of_use[what->needed];
}

static unsigned missing_parts(const tts_files *files, unsigned needed)
{
    unsigned missing = 0;
    for (int p = 0; p < TTS_PARTS; p++)
        if ((needed & BIT(p)) && !files->part[p])
            missing |= BIT(p);
    return missing;
}

static parley_status open_codec(opening *o, const char *path)
{
    PL_TRY(pl_source_open(o->allocator, path, &o->files->codec_source, o->error));
    PL_TRY(scan(o, o->files->codec_source, BIT(TTS_CODEC)));
    if (!o->files->part[TTS_CODEC])
        return pl_fail(o->error, PARLEY_MISSING, "%s: no codec is there", path);
    return PARLEY_OK;
}

/* The talker's file first: what is beside it belongs to it. */
static parley_status complete(opening *o, const tts_open *what, unsigned needed)
{
    const tts_files *files = o->files;
    unsigned missing = missing_parts(files, needed);
    bool lone_file = what->path && !pl_source_is_directory(files->source);
    if (missing && lone_file && (files->part[TTS_TALKER] || what->needed != PARLEY_PARTS_ALL))
        PL_TRY(search_beside(o, what->path, missing));
    missing = missing_parts(files, needed);
    for (int p = 0; p < TTS_PARTS; p++)
        if (missing & BIT(p))
            return pl_fail(o->error, PARLEY_MISSING, "%s: no %s is there%s%s", pl_source_name(files->source), part_names[p],
                           lone_file ? " or beside it" : "", p == TTS_CODEC ? "; name one with --codec" : "");
    return PARLEY_OK;
}

static parley_status open_all(opening *o, const tts_open *what)
{
    tts_files *files = o->files;
    unsigned wanted = wanted_parts(what);
    PL_TRY(what->path ? pl_source_open(o->allocator, what->path, &files->source, o->error)
                      : pl_source_open_memory(o->allocator, what->memory, what->n_memory, &files->source, o->error));
    bool codec_apart = what->codec_path && (wanted & BIT(TTS_CODEC));
    PL_TRY(scan(o, files->source, codec_apart ? wanted & ~BIT(TTS_CODEC) : wanted));
    if (codec_apart)
        PL_TRY(open_codec(o, what->codec_path));
    return what->any ? PARLEY_OK : complete(o, what, parts_of_use[what->needed]);
}

parley_status pl_tts_files_open(const parley_allocator *allocator, const tts_open *what, tts_files *files, parley_error *error)
{
    parley_allocator by_default = pl_default_allocator();
    opening o = {.allocator = allocator ? allocator : &by_default, .files = files, .any = what->any, .error = error};
    *files = (tts_files){0};
    pl_arena_init(&files->arena, o.allocator, 16384);
    parley_status status = open_all(&o, what);
    if (status != PARLEY_OK)
        pl_tts_files_close(files);
    return status;
}

void pl_tts_files_close(tts_files *files)
{
    for (int i = 0; i < files->n_containers; i++)
        if (files->containers[i].has_weights)
            pl_container_close(&files->containers[i].container);
    pl_source_close(files->beside);
    pl_source_close(files->codec_source);
    pl_source_close(files->source);
    pl_arena_free(&files->arena);
    *files = (tts_files){0};
}

/* ------------------------------------------------------------------ probing */

static bool is_family(const parley_allocator *allocator, pl_source *source, const char *name)
{
    pl_bytes bytes;
    pl_container c;
    tts_dialect dialect;
    unsigned parts;
    bool family = false;
    char architecture[64];
    if (pl_source_map(source, name, &bytes, NULL) != PARLEY_OK || !pl_is_gguf(bytes) || pl_gguf_open(allocator, source, name, &c, NULL) != PARLEY_OK)
        return false;
    parley_status status = classify(&c, name, &dialect, &parts, &family, architecture, sizeof architecture, NULL);
    pl_container_close(&c);
    return status == PARLEY_OK && family;
}

bool pl_tts_probe(const parley_allocator *allocator, pl_source *source)
{
    const char *const *names;
    size_t count;
    identity id;
    tts_files none = {0};
    opening o = {.allocator = allocator, .files = &none};
    if (pl_source_has(source, "config.json"))
        return read_identity(&o, source, "", &id) == PARLEY_OK;
    if (pl_source_list(source, &names, &count, NULL) != PARLEY_OK)
        return false;
    for (size_t i = 0; i < count; i++)
        if (is_family(allocator, source, names[i]))
            return true;
    return false;
}
