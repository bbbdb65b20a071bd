#include "models/halves.h"

#include <stdio.h>
#include <string.h>

static const char *const half_names[] = {[PL_TEXT_HALF] = "text model", [PL_REST_HALF] = "mmproj file"};

static void describe(const pl_half_file *half, char *text, size_t size)
{
    pl_source_describe(half->source, half->name, text, size);
}

parley_status pl_halves_add(pl_opening *o, pl_source *source, const char *name, const pl_file_kind *kind)
{
    if (o->n_halves == PL_MAX_HALVES)
        return pl_fail(o->error, PARLEY_LIMIT, "%s: more than %d text models and mmproj files are there", pl_source_name(source), PL_MAX_HALVES);
    o->halves[o->n_halves++] = (pl_half_file){source, name, *kind};
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ faults that name both files */

parley_status pl_halves_along_name(pl_opening *o, parley_status status, const char *other)
{
    char text[sizeof o->error->text];
    if (status == PARLEY_MEMORY || !o->error)
        return status;
    memcpy(text, o->error->text, sizeof text);
    return pl_fail_at(o->error, status, o->error->position, "%.300s (was to go with %.170s)", text, other);
}

parley_status pl_halves_along(pl_opening *o, parley_status status, const pl_half_file *other)
{
    char name[PL_MODEL_WHERE];
    describe(other, name, sizeof name);
    return pl_halves_along_name(o, status, name);
}

static parley_status several(pl_opening *o, const pl_half_file *a, const pl_half_file *b)
{
    char first[PL_MODEL_WHERE], second[PL_MODEL_WHERE];
    describe(a, first, sizeof first);
    describe(b, second, sizeof second);
    return pl_fail(o->error, PARLEY_ARGUMENT, "the %s is there twice, %.180s and %.180s; name one text model and one mmproj file with -m and -m2",
                   half_names[a->kind.half], first, second);
}

static parley_status misfit(pl_opening *o, const pl_half_file *a, const pl_half_file *b)
{
    char first[PL_MODEL_WHERE], second[PL_MODEL_WHERE];
    describe(a, first, sizeof first);
    describe(b, second, sizeof second);
    return pl_fail(o->error, PARLEY_FORMAT, "%.160s and %.160s are of two models: the %s is of width %lld, the %s of %lld", first, second,
                   half_names[a->kind.half], (long long)a->kind.width, half_names[b->kind.half], (long long)b->kind.width);
}

static void pass_over(pl_opening *o, bool rest, const pl_passed_over *file)
{
    if (!*o->passed[rest].name)
        o->passed[rest] = *file;
}

void pl_halves_pass_over(pl_opening *o, const pl_passed_over *foreign)
{
    static const char clip[] = "'clip'";
    pass_over(o, strncmp(foreign->is, clip, sizeof clip - 1) == 0, foreign);
}

void pl_halves_pass_over_broken(pl_opening *o, pl_source *source, const char *name)
{
    static const char ending[] = ".gguf";
    size_t length = strlen(name), n = sizeof ending - 1;
    pl_passed_over file = {"", "no GGUF file"};
    if (length <= n || strcmp(name + length - n, ending) != 0)
        return;
    pl_source_describe(source, name, file.name, sizeof file.name);
    pass_over(o, false, &file);
    pass_over(o, true, &file);
}

static parley_status alone(pl_opening *o, const pl_half_file *half)
{
    char name[PL_MODEL_WHERE];
    bool text = half->kind.half == PL_TEXT_HALF;
    const pl_passed_over *passed = &o->passed[text];
    const char *other = half_names[text ? PL_REST_HALF : PL_TEXT_HALF];
    describe(half, name, sizeof name);
    if (*passed->name)
        return pl_fail(o->error, PARLEY_MISSING, "%.130s: its %s is not there (%.130s is %s); name it with -m2", name, other, passed->name,
                       passed->is);
    return pl_fail(o->error, PARLEY_MISSING, "%s: this is the %s of a model in two files, its %s is not there; name it with -m2", name,
                   half_names[half->kind.half], other);
}

/* ------------------------------------------------------------------ beside a half */

typedef struct search {
    const pl_half_file *half;
    pl_half_file fits[2], other; /* the first two that fit, the first that does not */
    int n_fits;
    bool has_other;
    parley_status fault; /* of the first file that cannot be read */
    parley_error error;
} search;

static parley_status look(pl_opening *o, search *s, const char *name)
{
    pl_bytes bytes;
    pl_part_file file;
    pl_half_file candidate = {o->files->beside, name, {0}};
    if (pl_source_map(candidate.source, name, &bytes, NULL) != PARLEY_OK || !pl_is_gguf(bytes)) {
        pl_halves_pass_over_broken(o, candidate.source, name);
        return PARLEY_OK;
    }
    parley_status status = pl_opening_gguf(o, candidate.source, name, &file, &candidate.kind);
    if (status == PARLEY_MEMORY)
        return status;
    if (status != PARLEY_OK) {
        if (s->fault == PARLEY_OK && o->error)
            s->error = *o->error;
        s->fault = s->fault == PARLEY_OK ? status : s->fault;
        return PARLEY_OK;
    }
    if (candidate.kind.half != PL_WHOLE && candidate.kind.half != s->half->kind.half) {
        if (candidate.kind.width == s->half->kind.width && s->n_fits < 2)
            s->fits[s->n_fits++] = candidate;
        else if (candidate.kind.width != s->half->kind.width && !s->has_other)
            s->other = candidate, s->has_other = true;
    } else if (!candidate.kind.family) {
        pl_passed_over foreign = {"", ""};
        describe(&candidate, foreign.name, sizeof foreign.name);
        memcpy(foreign.is, candidate.kind.what, sizeof foreign.is);
        pl_halves_pass_over(o, &foreign);
    }
    pl_container_close(&file.container);
    return PARLEY_OK;
}

static parley_status judge(pl_opening *o, search *s)
{
    if (s->n_fits == 1)
        return pl_halves_add(o, s->fits[0].source, s->fits[0].name, &s->fits[0].kind);
    if (o->any)
        return PARLEY_OK;
    if (s->n_fits > 1)
        return several(o, &s->fits[0], &s->fits[1]);
    if (s->has_other)
        return misfit(o, s->half, &s->other);
    if (s->fault == PARLEY_OK)
        return alone(o, s->half);
    if (o->error)
        *o->error = s->error;
    return pl_halves_along(o, s->fault, s->half);
}

parley_status pl_halves_complete(pl_opening *o, const pl_files_request *what, unsigned needed)
{
    const char *const *names;
    size_t count;
    parley_status status;
    unsigned missing = pl_opening_missing(o, needed);
    if (o->n_halves != 1 || !(missing & ~o->halves[0].kind.parts))
        return PARLEY_OK;
    if (what->second_path && !o->any)
        return pl_halves_along_name(o, alone(o, &o->halves[0]), what->second_path);
    if (!what->path || what->second_path || pl_source_is_directory(o->files->source))
        return o->any ? PARLEY_OK : alone(o, &o->halves[0]);
    search s = {.half = &o->halves[0]};
    const char *own = pl_opening_folder(o, what->path, &status);
    PL_TRY(status);
    PL_TRY(pl_source_list(o->files->beside, &names, &count, o->error));
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], own) != 0)
            PL_TRY(look(o, &s, names[i]));
    return judge(o, &s);
}

/* ------------------------------------------------------------------ the pair */

static parley_status take(pl_opening *o, const pl_half_file *half, unsigned wanted)
{
    pl_part_file file;
    pl_file_kind kind;
    if (!(half->kind.parts & wanted))
        return PARLEY_OK;
    PL_TRY(pl_opening_gguf(o, half->source, half->name, &file, &kind));
    return pl_files_keep(o, &file, kind.parts & wanted);
}

/* Two pairs that fit differ in one of their halves at least. */
static parley_status several_pairs(pl_opening *o, const pl_half_file *const a[2], const pl_half_file *const b[2])
{
    int differ = a[0] == b[0];
    return several(o, a[differ], b[differ]);
}

static bool is_pair(const pl_half_file *text, const pl_half_file *rest)
{
    return text->kind.half == PL_TEXT_HALF && rest->kind.half == PL_REST_HALF;
}

parley_status pl_halves_take(pl_opening *o, unsigned wanted)
{
    const pl_half_file *pair[2] = {NULL, NULL}, *unlike[2] = {NULL, NULL};
    for (size_t i = 0; i < o->n_halves; i++)
        for (size_t k = 0; k < o->n_halves; k++) {
            const pl_half_file *const here[2] = {&o->halves[i], &o->halves[k]};
            bool fits = here[0]->kind.width == here[1]->kind.width;
            if (!is_pair(here[0], here[1]))
                continue;
            if (fits && pair[0])
                return several_pairs(o, pair, here);
            memcpy(fits ? pair : unlike, here, sizeof here);
        }
    if (pair[0]) {
        PL_TRY(take(o, pair[0], wanted));
        return take(o, pair[1], wanted);
    }
    if (unlike[0])
        return misfit(o, unlike[0], unlike[1]);
    if (o->n_halves > 1)
        return several(o, &o->halves[0], &o->halves[1]);
    return o->n_halves ? take(o, &o->halves[0], wanted) : PARLEY_OK;
}
