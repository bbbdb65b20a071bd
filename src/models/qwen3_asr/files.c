/* Finds the parts of a checkpoint: which file holds which, told by content. */
#include "models/parley.h"
#include "models/qwen3_asr/internal.h"

#include <stdio.h>
#include <string.h>

#define BIT(part) (1u << (part))

enum { ALL_PARTS = (1 << ASR_PARTS) - 1 };

static const char *const part_names[ASR_PARTS] = {[ASR_TEXT] = "text model", [ASR_TOWER] = "audio tower", [ASR_TOKENIZER] = "tokenizer"};

/* An opening in progress. `foreign` is a GGUF file of another family that was passed over. */
typedef struct opening {
    const parley_allocator *allocator;
    asr_files *files;
    bool any;
    char foreign[PL_MODEL_WHERE], architecture[64];
    parley_error *error;
} opening;

/* ------------------------------------------------------------------ keeping parts */

static void describe(const opening *o, const asr_container *c, char *text, size_t size)
{
    pl_source_describe(o->files->source, c->dialect == ASR_HF ? "config.json" : c->container.file, text, size);
}

static parley_status twice(opening *o, asr_part part, const asr_container *second)
{
    char a[PL_MODEL_WHERE], b[PL_MODEL_WHERE];
    describe(o, o->files->part[part], a, sizeof a);
    describe(o, second, b, sizeof b);
    return pl_fail(o->error, PARLEY_ARGUMENT, "the %s is there twice, in %.200s and in %.200s", part_names[part], a, b);
}

/* Takes the container over: it is closed here when it is not kept. */
static parley_status keep(opening *o, asr_container *c, unsigned parts)
{
    asr_files *files = o->files;
    parley_status status = PARLEY_OK;
    for (int p = 0; p < ASR_PARTS && status == PARLEY_OK; p++)
        if ((parts & BIT(p)) && files->part[p])
            status = twice(o, (asr_part)p, c);
    if (status != PARLEY_OK || !parts) {
        if (c->has_weights)
            pl_container_close(&c->container);
        return status;
    }
    /* Each container holds a part that no other one has, so that there are never more than there are parts. */
    asr_container *kept = &files->containers[files->n_containers++];
    *kept = *c;
    for (int p = 0; p < ASR_PARTS; p++)
        if (parts & BIT(p))
            files->part[p] = kept;
    if (c->has_weights)
        files->file_bytes += c->container.file_bytes;
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ upstream's directories */

static parley_status identify(opening *o)
{
    char where[PL_MODEL_WHERE];
    const char *type = "";
    cJSON *json;
    pl_source *source = o->files->source;
    pl_source_describe(source, "config.json", where, sizeof where);
    PL_TRY(pl_model_json(source, "", "config.json", &json, o->error));
    parley_status status = pl_model_json_text(json, "model_type", where, &type, o->error);
    if (status == PARLEY_OK && strcmp(type, "qwen3_asr") != 0)
        status = pl_fail(o->error, PARLEY_FAMILY, "%s: 'model_type' is '%.100s', qwen3_asr is expected", where, type);
    cJSON_Delete(json);
    return status;
}

static bool has_weights(pl_source *source)
{
    return pl_source_has(source, "model.safetensors") || pl_source_has(source, "model.safetensors.index.json");
}

/* Files beside the weights count too; that one cannot be mapped is told when it is read. */
static void count_bytes(asr_files *files)
{
    static const char *const names[] = {"config.json", "generation_config.json", "preprocessor_config.json", "vocab.json",
                                        "merges.txt",  "tokenizer_config.json"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        pl_bytes bytes;
        if (pl_source_has(files->source, names[i]) && pl_source_map(files->source, names[i], &bytes, NULL) == PARLEY_OK)
            files->file_bytes += bytes.size;
    }
}

/* Inspection goes on without weights, anything else says what is missing. */
static parley_status scan_hf(opening *o, unsigned wanted)
{
    asr_container c = {.dialect = ASR_HF};
    pl_source *source = o->files->source;
    unsigned parts = BIT(ASR_TEXT) | BIT(ASR_TOWER);
    PL_TRY(identify(o));
    if (pl_source_has(source, "vocab.json") || pl_source_has(source, "merges.txt"))
        parts |= BIT(ASR_TOKENIZER);
    if ((wanted & BIT(ASR_TEXT)) && (!o->any || has_weights(source))) {
        PL_TRY(pl_safetensors_open(o->allocator, source, "", &c.container, o->error));
        c.has_weights = true;
    }
    PL_TRY(keep(o, &c, parts & wanted));
    count_bytes(o->files);
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ GGUF files */

/* Parts of an open container: none when it is another family's. */
static parley_status classify(const pl_container *c, const char *where, asr_dialect *dialect, unsigned *parts, char *architecture, size_t size,
                              parley_error *error)
{
    pl_gguf_text text;
    parley_status status;
    *parts = 0;
    if (!pl_gguf_string(c, "general.architecture", &text, &status, error))
        return status != PARLEY_OK ? status : pl_fail(error, PARLEY_MISSING, "%s: 'general.architecture' is not there", where);
    snprintf(architecture, size, "%.*s", text.length < size ? (int)text.length : (int)size - 1, text.text);
    bool own = pl_parley_is(c, "qwen3_asr");
    *dialect = own ? ASR_PARLEY : ASR_TRANSCRIBE;
    if (own || strcmp(architecture, "qwen3_asr") == 0)
        *parts = ALL_PARTS;
    return PARLEY_OK;
}

static parley_status scan_gguf(opening *o, const char *name, unsigned wanted)
{
    asr_container c = {.has_weights = true};
    char where[PL_MODEL_WHERE], architecture[64];
    unsigned parts;
    pl_source_describe(o->files->source, name, where, sizeof where);
    PL_TRY(pl_gguf_open(o->allocator, o->files->source, name, &c.container, o->error));
    parley_status status = classify(&c.container, where, &c.dialect, &parts, architecture, sizeof architecture, o->error);
    if (status == PARLEY_OK && parts && c.dialect == ASR_PARLEY)
        status = pl_parley_prepare(&c.container, where, o->error);
    if (status != PARLEY_OK) {
        pl_container_close(&c.container);
        return status;
    }
    if (!parts && !*o->foreign) {
        memcpy(o->foreign, where, sizeof where);
        memcpy(o->architecture, architecture, sizeof architecture);
    }
    return keep(o, &c, parts & wanted);
}

/* ------------------------------------------------------------------ one source */

static parley_status nothing(const opening *o)
{
    return pl_fail(o->error, PARLEY_MISSING, "%s: neither config.json nor a GGUF file is there", pl_source_name(o->files->source));
}

static parley_status scan_folder(opening *o, unsigned wanted)
{
    const char *const *names;
    size_t count, found = 0;
    PL_TRY(pl_source_list(o->files->source, &names, &count, o->error));
    for (size_t i = 0; i < count; i++) {
        pl_bytes bytes;
        if (pl_source_map(o->files->source, names[i], &bytes, NULL) != PARLEY_OK || !pl_is_gguf(bytes))
            continue;
        found++;
        PL_TRY(scan_gguf(o, names[i], wanted));
    }
    return found ? PARLEY_OK : nothing(o);
}

static parley_status scan_file(opening *o, unsigned wanted)
{
    const char *const *names;
    size_t count;
    PL_TRY(pl_source_list(o->files->source, &names, &count, o->error));
    return count ? scan_gguf(o, names[0], wanted) : nothing(o);
}

static parley_status scan(opening *o, unsigned wanted)
{
    if (pl_source_has(o->files->source, "config.json"))
        return scan_hf(o, wanted);
    PL_TRY(pl_source_is_directory(o->files->source) ? scan_folder(o, wanted) : scan_file(o, wanted));
    if (o->files->n_containers || !*o->foreign)
        return PARLEY_OK;
    return pl_fail(o->error, PARLEY_FAMILY, "%s: the architecture is '%s', qwen3_asr is expected", o->foreign, o->architecture);
}

/* ------------------------------------------------------------------ opening */

static parley_status open_all(opening *o, const asr_open *what)
{
    asr_files *files = o->files;
    unsigned wanted = !what->any && what->needed == PARLEY_PARTS_TEXT ? BIT(ASR_TOKENIZER) : ALL_PARTS;
    PL_TRY(what->path ? pl_source_open(o->allocator, what->path, &files->source, o->error)
                      : pl_source_open_memory(o->allocator, what->memory, what->n_memory, &files->source, o->error));
    PL_TRY(scan(o, wanted));
    for (int p = 0; p < ASR_PARTS && !what->any; p++)
        if ((wanted & BIT(p)) && !files->part[p])
            return pl_fail(o->error, PARLEY_MISSING, "%s: no %s is there", pl_source_name(files->source), part_names[p]);
    return PARLEY_OK;
}

parley_status pl_asr_files_open(const parley_allocator *allocator, const asr_open *what, asr_files *files, parley_error *error)
{
    parley_allocator by_default = pl_default_allocator();
    opening o = {.allocator = allocator ? allocator : &by_default, .files = files, .any = what->any, .error = error};
    *files = (asr_files){0};
    pl_arena_init(&files->arena, o.allocator, 16384);
    parley_status status = open_all(&o, what);
    if (status != PARLEY_OK)
        pl_asr_files_close(files);
    return status;
}

void pl_asr_files_close(asr_files *files)
{
    for (int i = 0; i < files->n_containers; i++)
        if (files->containers[i].has_weights)
            pl_container_close(&files->containers[i].container);
    pl_source_close(files->source);
    pl_arena_free(&files->arena);
    *files = (asr_files){0};
}

/* ------------------------------------------------------------------ probing */

static bool is_family(const parley_allocator *allocator, pl_source *source, const char *name)
{
    pl_bytes bytes;
    pl_container c;
    asr_dialect dialect;
    unsigned parts;
    char architecture[64];
    if (pl_source_map(source, name, &bytes, NULL) != PARLEY_OK || !pl_is_gguf(bytes) || pl_gguf_open(allocator, source, name, &c, NULL) != PARLEY_OK)
        return false;
    parley_status status = classify(&c, name, &dialect, &parts, architecture, sizeof architecture, NULL);
    pl_container_close(&c);
    return status == PARLEY_OK && parts;
}

bool pl_asr_probe(const parley_allocator *allocator, pl_source *source)
{
    const char *const *names;
    size_t count;
    asr_files files = {.source = source};
    opening o = {.allocator = allocator, .files = &files};
    if (pl_source_has(source, "config.json"))
        return identify(&o) == PARLEY_OK;
    if (pl_source_list(source, &names, &count, NULL) != PARLEY_OK)
        return false;
    for (size_t i = 0; i < count; i++)
        if (is_family(allocator, source, names[i]))
            return true;
    return false;
}
