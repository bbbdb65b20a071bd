/* Finds the parts of a checkpoint by the rules of its family. */
#include "models/files.h"

#include "models/halves.h"
#include "models/parley.h"

#include <stdio.h>
#include <string.h>

enum { MAX_BESIDE = 256 };

void pl_part_file_describe(const pl_part_file *file, char *text, size_t size)
{
    char path[PL_MODEL_WHERE];
    const char *name = file->container.file;
    snprintf(path, sizeof path, "%s%s", name ? "" : file->folder, name ? name : "config.json");
    pl_source_describe(file->source, path, text, size);
}

pl_files_request pl_files_of(const pl_location *location, bool any)
{
    return (pl_files_request){.path = location->path,
                              .memory = location->memory,
                              .n_memory = location->n_memory,
                              .second_path = location->second_path,
                              .codec_path = location->codec_path,
                              .needed = location->parts,
                              .any = any};
}

/* ------------------------------------------------------------------ keeping parts */

static const char *codec_hint(const pl_opening *o, int part)
{
    return part == o->rules->codec ? "; name one with --codec" : "";
}

static parley_status twice(pl_opening *o, int part, const pl_part_file *second)
{
    char a[PL_MODEL_WHERE], b[PL_MODEL_WHERE];
    pl_part_file_describe(o->files->part[part], a, sizeof a);
    pl_part_file_describe(second, b, sizeof b);
    return pl_fail(o->error, PARLEY_ARGUMENT, "the %s is there twice, in %.180s and in %.180s%s", o->rules->part_names[part], a, b,
                   codec_hint(o, part));
}

parley_status pl_files_keep(pl_opening *o, pl_part_file *file, unsigned parts)
{
    pl_model_files *files = o->files;
    parley_status status = PARLEY_OK;
    for (int p = 0; p < o->rules->n_parts && status == PARLEY_OK; p++)
        if ((parts & PL_PART(p)) && files->part[p])
            status = twice(o, p, file);
    if (status != PARLEY_OK || !parts) {
        if (file->has_weights)
            pl_container_close(&file->container);
        return status;
    }
    /* Each container holds a part that no other one has, so that there are never more than there are parts. */
    pl_part_file *kept = &files->containers[files->n_containers++];
    *kept = *file;
    for (int p = 0; p < o->rules->n_parts; p++)
        if (parts & PL_PART(p))
            files->part[p] = kept;
    if (file->has_weights)
        files->file_bytes += file->container.file_bytes;
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ upstream's directories */

bool pl_files_has(pl_source *source, const char *folder, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "%s%s", folder, name);
    return pl_source_has(source, path);
}

bool pl_files_has_weights(pl_source *source, const char *folder)
{
    return pl_files_has(source, folder, "model.safetensors") || pl_files_has(source, folder, "model.safetensors.index.json");
}

void pl_files_count(pl_opening *o, pl_source *source, const char *folder, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char path[64];
        pl_bytes bytes;
        snprintf(path, sizeof path, "%s%s", folder, names[i]);
        if (pl_source_has(source, path) && pl_source_map(source, path, &bytes, NULL) == PARLEY_OK)
            o->files->file_bytes += bytes.size;
    }
}

parley_status pl_files_open_weights(pl_opening *o, pl_part_file *file)
{
    if (o->any && !pl_files_has_weights(file->source, file->folder))
        return PARLEY_OK;
    PL_TRY(pl_safetensors_open(o->allocator, file->source, file->folder, &file->container, o->error));
    file->has_weights = true;
    return PARLEY_OK;
}

static bool has_inner(const pl_opening *o, pl_source *source)
{
    return o->rules->inner && pl_files_has(source, o->rules->inner, "config.json");
}

static parley_status keep_inner(pl_opening *o, pl_source *source)
{
    static const char *const names[] = {"config.json"};
    pl_part_file file = {.source = source, .dialect = o->rules->inner_dialect, .folder = o->rules->inner};
    PL_TRY(pl_files_open_weights(o, &file));
    PL_TRY(pl_files_keep(o, &file, PL_PART(o->rules->codec)));
    pl_files_count(o, source, o->rules->inner, names, 1);
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ GGUF files */

bool pl_file_says(const pl_container *c, const char *key, const char *value)
{
    parley_status status;
    pl_gguf_text text;
    return pl_gguf_string(c, key, &text, &status, NULL) && text.length == strlen(value) && memcmp(text.text, value, text.length) == 0;
}

static void copy_text(pl_gguf_text from, char *text, size_t size)
{
    snprintf(text, size, "%.*s", from.length < size ? (int)from.length : (int)size - 1, from.text);
}

parley_status pl_file_architecture(const pl_container *c, const char *where, pl_file_kind *kind, char *architecture, size_t size, parley_error *error)
{
    static const char *const projectors[] = {"clip.gen.audio.projector_type", "clip.audio.projector_type", "clip.vision.projector_type",
                                             "clip.projector_type"};
    pl_gguf_text text;
    parley_status status;
    char projector[40];
    if (!pl_gguf_string(c, "general.architecture", &text, &status, error))
        return status != PARLEY_OK ? status : pl_fail(error, PARLEY_MISSING, "%s: 'general.architecture' is not there", where);
    copy_text(text, architecture, size);
    snprintf(kind->what, sizeof kind->what, "'%.60s'", architecture);
    if (strcmp(architecture, "clip") != 0)
        return PARLEY_OK;
    for (size_t i = 0; i < sizeof projectors / sizeof *projectors; i++)
        if (pl_gguf_string(c, projectors[i], &text, &status, NULL)) {
            copy_text(text, projector, sizeof projector);
            snprintf(kind->what, sizeof kind->what, "'clip' with the projector '%s'", projector);
            break;
        }
    return PARLEY_OK;
}

parley_status pl_file_width(const pl_container *c, const char *where, const char *const *keys, size_t count, pl_file_kind *kind, parley_error *error)
{
    parley_status status = PARLEY_OK;
    for (size_t i = 0; i < count; i++) {
        if (pl_gguf_int(c, keys[i], &kind->width, &status, error))
            return PARLEY_OK;
        PL_TRY(status);
    }
    return pl_fail(error, PARLEY_MISSING, "%s: '%s' is not there", where, keys[0]);
}

parley_status pl_opening_gguf(pl_opening *o, pl_source *source, const char *name, pl_part_file *file, pl_file_kind *kind)
{
    char where[PL_MODEL_WHERE];
    *file = (pl_part_file){.source = source, .has_weights = true, .folder = ""};
    *kind = (pl_file_kind){0};
    pl_source_describe(source, name, where, sizeof where);
    PL_TRY(pl_gguf_open(o->allocator, source, name, &file->container, o->error));
    parley_status status = o->rules->classify(o->allocator, &file->container, where, kind, o->error);
    if (status != PARLEY_OK)
        pl_container_close(&file->container);
    file->dialect = kind->dialect;
    return status;
}

/* Packed tensors get their shapes; a container with a fault is closed. */
static parley_status prepare(pl_opening *o, pl_part_file *file)
{
    char where[PL_MODEL_WHERE];
    pl_part_file_describe(file, where, sizeof where);
    parley_status status = pl_parley_prepare(&file->container, where, o->error);
    if (status != PARLEY_OK)
        pl_container_close(&file->container);
    return status;
}

static parley_status scan_gguf(pl_opening *o, pl_source *source, const char *name, unsigned wanted)
{
    pl_part_file file;
    pl_file_kind kind;
    PL_TRY(pl_opening_gguf(o, source, name, &file, &kind));
    if (kind.half != PL_WHOLE) {
        pl_container_close(&file.container);
        return pl_halves_add(o, source, name, &kind);
    }
    if (!kind.family) {
        pl_passed_over foreign = {"", ""};
        pl_part_file_describe(&file, foreign.name, sizeof foreign.name);
        memcpy(foreign.is, kind.what, sizeof kind.what);
        pl_halves_pass_over(o, &foreign);
        if (!*o->foreign.name)
            o->foreign = foreign;
    }
    if (kind.family && kind.dialect == o->rules->packed_dialect)
        PL_TRY(prepare(o, &file));
    return pl_files_keep(o, &file, kind.parts & wanted);
}

/* ------------------------------------------------------------------ one source */

static parley_status nothing(const pl_opening *o, const pl_source *source)
{
    return pl_fail(o->error, PARLEY_MISSING, "%s: neither config.json nor a GGUF file is there", pl_source_name(source));
}

/* The first fault counts; the others are looked at so that a half's fault names what it was to go with. */
static parley_status scan_names(pl_opening *o, pl_source *source, const char *const *names, size_t count, unsigned wanted, size_t *found)
{
    parley_status first = PARLEY_OK;
    parley_error fault = {0};
    for (size_t i = 0; i < count; i++) {
        pl_bytes bytes;
        if (pl_source_map(source, names[i], &bytes, NULL) != PARLEY_OK || !pl_is_gguf(bytes)) {
            pl_halves_pass_over_broken(o, source, names[i]);
            continue;
        }
        ++*found;
        parley_status status = scan_gguf(o, source, names[i], wanted);
        if (status == PARLEY_MEMORY)
            return status;
        if (status == PARLEY_OK || first != PARLEY_OK)
            continue;
        first = status;
        if (o->error)
            fault = *o->error;
    }
    if (first == PARLEY_OK)
        return PARLEY_OK;
    if (o->error)
        *o->error = fault;
    return o->n_halves ? pl_halves_along(o, first, &o->halves[0]) : first;
}

static parley_status scan_folder(pl_opening *o, pl_source *source, unsigned wanted)
{
    const char *const *names;
    const unsigned codec_part = o->rules->codec < 0 ? 0 : PL_PART(o->rules->codec);
    size_t count, found = 0;
    PL_TRY(pl_source_list(source, &names, &count, o->error));
    PL_TRY(scan_names(o, source, names, count, wanted, &found));
    bool codec = has_inner(o, source);
    if (codec && (wanted & codec_part))
        PL_TRY(keep_inner(o, source));
    /* A model whose config.json is missing is not taken for the codec that lies in it. */
    bool model = (wanted & ~codec_part) && (pl_files_has_weights(source, "") || pl_source_has(source, "vocab.json"));
    return !found && (!codec || model) ? nothing(o, source) : PARLEY_OK;
}

static parley_status scan_file(pl_opening *o, pl_source *source, unsigned wanted)
{
    const char *const *names;
    size_t count;
    PL_TRY(pl_source_list(source, &names, &count, o->error));
    return count ? scan_gguf(o, source, names[0], wanted) : nothing(o, source);
}

static parley_status scan(pl_opening *o, pl_source *source, unsigned wanted)
{
    *o->foreign.name = '\0';
    size_t before = (size_t)o->files->n_containers + o->n_halves;
    if (pl_source_has(source, "config.json"))
        return o->rules->scan_directory(o, source, wanted);
    PL_TRY(pl_source_is_directory(source) ? scan_folder(o, source, wanted) : scan_file(o, source, wanted));
    if ((size_t)o->files->n_containers + o->n_halves > before || !*o->foreign.name)
        return PARLEY_OK;
    return pl_fail(o->error, PARLEY_FAMILY, "%s: the architecture is %s, %s is expected", o->foreign.name, o->foreign.is, o->rules->expected);
}

/* ------------------------------------------------------------------ beside a GGUF file */

typedef struct beside {
    const char *names[MAX_BESIDE]; /* NULL: the inner folder */
    unsigned parts[MAX_BESIDE];
    size_t count;
} beside;

/* Files beside it were not asked for: those that cannot be read are passed over. One with the first part is another model's, as are halves. */
static parley_status look(pl_opening *o, pl_source *source, const char *name, beside *list)
{
    pl_bytes bytes;
    pl_part_file file;
    pl_file_kind kind;
    if (list->count == MAX_BESIDE || pl_source_map(source, name, &bytes, NULL) != PARLEY_OK || !pl_is_gguf(bytes))
        return PARLEY_OK;
    parley_status status = pl_opening_gguf(o, source, name, &file, &kind);
    if (status != PARLEY_OK)
        return status == PARLEY_MEMORY ? status : PARLEY_OK;
    if (kind.half == PL_WHOLE && kind.parts && !(kind.parts & PL_PART(o->rules->first))) {
        list->names[list->count] = name;
        list->parts[list->count++] = kind.parts;
    }
    pl_container_close(&file.container);
    return PARLEY_OK;
}

static parley_status list_beside(pl_opening *o, const char *own, beside *list)
{
    pl_source *source = o->files->beside;
    const char *const *names;
    size_t count;
    PL_TRY(pl_source_list(source, &names, &count, o->error));
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], own) != 0)
            PL_TRY(look(o, source, names[i], list));
    if (has_inner(o, source) && list->count < MAX_BESIDE)
        list->parts[list->count++] = PL_PART(o->rules->codec);
    return PARLEY_OK;
}

/* The parts of `missing` that each candidate is to give; one that several have is an error. */
static parley_status choose(pl_opening *o, const beside *list, unsigned missing, unsigned *take)
{
    for (int p = 0; p < o->rules->n_parts; p++) {
        const char *name = NULL;
        bool found = false;
        for (size_t i = 0; i < list->count; i++) {
            if (!(missing & list->parts[i] & PL_PART(p)))
                continue;
            const char *here = list->names[i] ? list->names[i] : "speech_tokenizer";
            if (found)
                return pl_fail(o->error, p == o->rules->codec ? PARLEY_MISSING : PARLEY_ARGUMENT, "%s: several %ss are there, %.100s and %.100s%s",
                               pl_source_name(o->files->beside), o->rules->part_names[p], name, here, codec_hint(o, p));
            found = true;
            name = here;
            take[i] |= PL_PART(p);
        }
    }
    return PARLEY_OK;
}

static parley_status take_beside(pl_opening *o, const char *own, unsigned missing, beside *list)
{
    unsigned take[MAX_BESIDE] = {0};
    PL_TRY(list_beside(o, own, list));
    PL_TRY(choose(o, list, missing, take));
    for (size_t i = 0; i < list->count; i++) {
        if (!take[i])
            continue;
        PL_TRY(list->names[i] ? scan_gguf(o, o->files->beside, list->names[i], take[i]) : keep_inner(o, o->files->beside));
    }
    return PARLEY_OK;
}

const char *pl_opening_folder(pl_opening *o, const char *path, parley_status *status)
{
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) : 0;
    const char *folder = !slash ? "." : length == 0 ? "/" : pl_arena_text(&o->files->arena, path, length);
    *status = PARLEY_OK;
    if (!folder)
        *status = pl_fail_memory(o->error, "the names of files");
    else if (!o->files->beside)
        *status = pl_source_open(o->allocator, folder, &o->files->beside, o->error);
    return slash ? slash + 1 : path;
}

static parley_status search_beside(pl_opening *o, const char *path, unsigned missing)
{
    parley_status status;
    beside *list = PL_NEW(&o->files->arena, beside);
    if (!list)
        return pl_fail_memory(o->error, "the names of files");
    const char *own = pl_opening_folder(o, path, &status);
    return status == PARLEY_OK ? take_beside(o, own, missing, list) : status;
}

/* ------------------------------------------------------------------ opening */

unsigned pl_opening_missing(const pl_opening *o, unsigned needed)
{
    unsigned missing = 0;
    for (int p = 0; p < o->rules->n_parts; p++)
        if ((needed & PL_PART(p)) && !o->files->part[p])
            missing |= PL_PART(p);
    return missing;
}

static parley_status open_codec(pl_opening *o, const char *path)
{
    const unsigned codec = PL_PART(o->rules->codec);
    PL_TRY(pl_source_open(o->allocator, path, &o->files->codec_source, o->error));
    o->n_halves = 0;
    PL_TRY(scan(o, o->files->codec_source, codec));
    PL_TRY(pl_halves_take(o, codec));
    if (!o->files->part[o->rules->codec])
        return pl_fail(o->error, PARLEY_MISSING, "%s: no codec is there", path);
    return PARLEY_OK;
}

/* The first part's file: what is beside it belongs to it. */
static parley_status complete(pl_opening *o, const pl_files_request *what, unsigned needed)
{
    const pl_model_files *files = o->files;
    unsigned missing = pl_opening_missing(o, needed);
    bool lone_file = what->path && !what->second_path && !pl_source_is_directory(files->source);
    if (missing && lone_file && (files->part[o->rules->first] || what->needed != PARLEY_PARTS_ALL))
        PL_TRY(search_beside(o, what->path, missing));
    missing = pl_opening_missing(o, needed);
    for (int p = 0; p < o->rules->n_parts; p++)
        if (missing & PL_PART(p))
            return pl_fail(o->error, PARLEY_MISSING, "%s: no %s is there%s%s", pl_source_name(files->source), o->rules->part_names[p],
                           lone_file ? " or beside it" : "", codec_hint(o, p));
    return PARLEY_OK;
}

static parley_status scan_path(pl_opening *o, const char *path, pl_source **source, unsigned wanted)
{
    PL_TRY(pl_source_open(o->allocator, path, source, o->error));
    return scan(o, *source, wanted);
}

/* With two paths a fault names both files: they were to be one model. */
static parley_status scan_named(pl_opening *o, const pl_files_request *what, unsigned wanted)
{
    pl_model_files *files = o->files;
    if (!what->path) {
        PL_TRY(pl_source_open_memory(o->allocator, what->memory, what->n_memory, &files->source, o->error));
        return scan(o, files->source, wanted);
    }
    parley_status status = scan_path(o, what->path, &files->source, wanted);
    if (!what->second_path)
        return status;
    if (status != PARLEY_OK)
        return pl_halves_along_name(o, status, what->second_path);
    status = scan_path(o, what->second_path, &files->second, wanted);
    return status == PARLEY_OK ? status : pl_halves_along_name(o, status, what->path);
}

static parley_status open_all(pl_opening *o, const pl_files_request *what, unsigned wanted, unsigned needed)
{
    bool codec_apart = what->codec_path && o->rules->codec >= 0 && (wanted & PL_PART(o->rules->codec));
    unsigned here = codec_apart ? wanted & ~PL_PART(o->rules->codec) : wanted;
    PL_TRY(scan_named(o, what, here));
    PL_TRY(pl_halves_complete(o, what, what->any ? here : needed & here));
    PL_TRY(pl_halves_take(o, here));
    if (codec_apart)
        PL_TRY(open_codec(o, what->codec_path));
    return what->any ? PARLEY_OK : complete(o, what, needed);
}

parley_status pl_model_files_open(const parley_allocator *allocator, const pl_file_rules *rules, const pl_files_request *what, unsigned wanted,
                                  unsigned needed, pl_model_files *files, parley_error *error)
{
    parley_allocator by_default = pl_default_allocator();
    pl_opening o = {.allocator = allocator ? allocator : &by_default, .rules = rules, .files = files, .any = what->any, .error = error};
    *files = (pl_model_files){0};
    pl_arena_init(&files->arena, o.allocator, 16384);
    parley_status status = open_all(&o, what, wanted, needed);
    if (status != PARLEY_OK)
        pl_model_files_close(files);
    return status;
}

void pl_model_files_close(pl_model_files *files)
{
    for (int i = 0; i < files->n_containers; i++)
        if (files->containers[i].has_weights)
            pl_container_close(&files->containers[i].container);
    pl_source_close(files->beside);
    pl_source_close(files->codec_source);
    pl_source_close(files->second);
    pl_source_close(files->source);
    pl_arena_free(&files->arena);
    *files = (pl_model_files){0};
}

parley_status pl_model_files_blame(const pl_model_files *files, int dialect, parley_status status, parley_error *error)
{
    char names[2][PL_MODEL_WHERE], text[sizeof error->text];
    int count = 0;
    for (int i = 0; i < files->n_containers; i++)
        if (files->containers[i].dialect == dialect && count++ < 2)
            pl_part_file_describe(&files->containers[i], names[count - 1], sizeof names[0]);
    if (count != 2 || status == PARLEY_OK || status == PARLEY_MEMORY || status == PARLEY_IO || !error)
        return status;
    memcpy(text, error->text, sizeof text);
    return pl_fail_at(error, status, error->position, "%.280s (of %.100s and %.100s)", text, names[0], names[1]);
}

void pl_model_files_drop(pl_model_files *files, const pl_tensor *tensor)
{
    pl_source *const sources[] = {files->source, files->second, files->codec_source, files->beside};
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        if (sources[i])
            pl_source_drop(sources[i], tensor->data, tensor->bytes);
}

/* ------------------------------------------------------------------ probing */

static bool is_family(pl_opening *o, pl_source *source, const char *name)
{
    pl_bytes bytes;
    pl_part_file file;
    pl_file_kind kind;
    if (pl_source_map(source, name, &bytes, NULL) != PARLEY_OK || !pl_is_gguf(bytes) || pl_opening_gguf(o, source, name, &file, &kind) != PARLEY_OK)
        return false;
    pl_container_close(&file.container);
    return kind.family;
}

bool pl_model_files_probe(const parley_allocator *allocator, const pl_file_rules *rules, pl_source *source)
{
    pl_opening o = {.allocator = allocator, .rules = rules};
    const char *const *names;
    size_t count;
    if (pl_source_has(source, "config.json"))
        return rules->is_directory(allocator, source);
    if (pl_source_list(source, &names, &count, NULL) != PARLEY_OK)
        return false;
    for (size_t i = 0; i < count; i++)
        if (is_family(&o, source, names[i]))
            return true;
    return false;
}
