/* Findings, and tensors by name and shape. */
#include "models/catalogue.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------ findings */

static void note(pl_findings *f, const char *name, const char *text)
{
    char item[PL_MODEL_NAME + 160];
    int length = snprintf(item, sizeof item, "%s%s (%s)", f->told ? ", " : "", name, text);
    if (length < 0 || f->told == 3 || f->length + (size_t)length >= sizeof f->text)
        return;
    memcpy(f->text + f->length, item, (size_t)length + 1);
    f->length += (size_t)length;
    f->told++;
}

void pl_findings_add(pl_findings *f, parley_finding_kind kind, const char *name, const char *format, ...)
{
    static const parley_status statuses[] = {
        [PARLEY_FINDING_MISSING] = PARLEY_MISSING, [PARLEY_FINDING_SHAPE] = PARLEY_SHAPE, [PARLEY_FINDING_TYPE] = PARLEY_UNSUPPORTED,
        [PARLEY_FINDING_VALUE] = PARLEY_VALUE,     [PARLEY_FINDING_UNUSED] = PARLEY_OK,
    };
    char text[160];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (f->report)
        f->report(f->context, &(parley_finding){kind, name, text});
    if (kind == PARLEY_FINDING_UNUSED)
        return;
    if (f->faults++ == 0)
        f->status = statuses[kind];
    note(f, name, text);
}

static bool begins_with_one_of(const char *name, const char *const *prefixes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

void pl_findings_add_unused(pl_findings *f, const pl_container *container, const char *const *without_effect, size_t count)
{
    char shape[96];
    for (size_t i = 0; i < container->n_entries; i++) {
        const pl_entry *entry = &container->entries[i];
        if (entry->used || begins_with_one_of(entry->name, without_effect, count))
            continue;
        pl_shape_text(entry->tensor.shape, entry->tensor.rank, shape, sizeof shape);
        pl_findings_add(f, PARLEY_FINDING_UNUSED, entry->name, "unused, %s %s", entry->stored, shape);
    }
}

parley_status pl_findings_fail(const pl_findings *f, parley_error *error)
{
    char more[48] = "";
    if (f->faults > f->told)
        snprintf(more, sizeof more, " and %zu more", f->faults - f->told);
    return pl_fail(error, f->status, "%zu tensor%s missing or wrong: %s%s", f->faults, f->faults == 1 ? " is" : "s are", f->text, more);
}

/* ------------------------------------------------------------------ names */

/* One {3i+1} of a pattern; returns what follows it. */
static const char *expand_index(const char *pattern, pl_name_values values, int64_t *result)
{
    static const char letters[] = "ijre";
    const int64_t value[] = {values.i, values.j, values.r, values.e};
    int64_t factor = 0, addition = 0;
    const char *p = pattern;
    while (*p >= '0' && *p <= '9')
        factor = 10 * factor + (*p++ - '0');
    int64_t base = value[strchr(letters, *p) - letters];
    for (p += p[1] == '+' ? 2 : 1; *p != '}'; p++)
        addition = 10 * addition + (*p - '0');
    *result = (factor ? factor : 1) * base + addition;
    return p + 1;
}

/* The first `length` characters of a pattern with a suffix. Names of the catalogue fit. */
static void expand(const char *pattern, size_t length, pl_name_values values, const char *suffix, char name[PL_MODEL_NAME])
{
    size_t at = 0;
    for (const char *p = pattern; p < pattern + length && at < PL_MODEL_NAME;) {
        int64_t index;
        if (*p != '{') {
            name[at++] = *p++;
            continue;
        }
        p = expand_index(p + 1, values, &index);
        at += (size_t)snprintf(name + at, PL_MODEL_NAME - at, "%d", (int)index);
    }
    snprintf(name + at, at < PL_MODEL_NAME ? PL_MODEL_NAME - at : 0, "%s", suffix);
}

pl_entry *pl_catalogue_find(const pl_container *container, const char *names, pl_name_values values, const char *suffix, char name[PL_MODEL_NAME])
{
    for (const char *p = names; *p;) {
        size_t length = strcspn(p, "|");
        expand(p, length, values, suffix, name);
        pl_entry *entry = container ? pl_container_find(container, name) : NULL;
        if (entry)
            return entry;
        p += length + (p[length] == '|');
    }
    pl_catalogue_name(names, values, suffix, name);
    return NULL;
}

void pl_catalogue_name(const char *names, pl_name_values values, const char *suffix, char name[PL_MODEL_NAME])
{
    expand(names, strcspn(names, "|"), values, suffix, name);
}

/* ------------------------------------------------------------------ shapes */

int64_t pl_catalogue_dim(const pl_container *container, const char *name, int rank, int axis)
{
    const pl_entry *entry = container ? pl_container_find(container, name) : NULL;
    if (!entry)
        return 0;
    int at = axis - (rank - entry->tensor.rank);
    return at < 0 ? 1 : at < entry->tensor.rank ? entry->tensor.shape[at] : 0;
}

static int without_ones(const int64_t *shape, int rank, int64_t out[PL_MAX_RANK])
{
    int n = 0;
    for (int i = 0; i < rank; i++)
        if (shape[i] != 1)
            out[n++] = shape[i];
    return n;
}

static bool same_shape(const pl_tensor *tensor, const int64_t *shape, int rank)
{
    int64_t a[PL_MAX_RANK], b[PL_MAX_RANK];
    int n = without_ones(tensor->shape, tensor->rank, a);
    return n == without_ones(shape, rank, b) && memcmp(a, b, (size_t)n * sizeof *a) == 0;
}

static pl_matrix matrix_of(const pl_tensor *t, const int64_t *shape, int rank, pl_use use, pl_pack_map *map)
{
    int64_t full[PL_MAX_RANK] = {1, 1, 1, 1};
    memcpy(full, shape, (size_t)rank * sizeof *shape);
    pl_matrix matrix = {.type = t->type, .rows = pl_form_map(use.form, full, use.stride, map), .data = t->data};
    int64_t cols = (int64_t)map->taps * map->width;
    matrix.cols = cols <= INT32_MAX && map->width % pl_type_info(t->type)->values == 0 ? (int)cols : 0;
    matrix.panel_bytes = pl_panel_bytes(t->type, matrix.cols);
    return matrix;
}

/* Panels are read without further checks: they must be those of the matrix that the tensor is used as, all of them. */
static bool panels_fit(pl_findings *f, const pl_entry *entry, const int64_t *shape, int rank, pl_use use)
{
    const pl_tensor *t = &entry->tensor;
    if (!t->packed)
        return true;
    if (use.form == PL_FORM_ROWS) {
        pl_findings_add(f, PARLEY_FINDING_TYPE, entry->name, "packed, but it is no matrix of a layer");
        return false;
    }
    pl_pack_map map;
    pl_matrix matrix = matrix_of(t, shape, rank, use, &map);
    int block = pl_type_info(t->type)->values;
    if (map.width % block) {
        pl_findings_add(f, PARLEY_FINDING_SHAPE, entry->name, "rows of %d values in %s: a multiple of %d is expected", map.width,
                        pl_type_info(t->type)->name, block);
        return false;
    }
    size_t expected = (size_t)pl_panels(&matrix) * matrix.panel_bytes;
    if (matrix.cols > 0 && expected == t->bytes)
        return true;
    pl_findings_add(f, PARLEY_FINDING_SHAPE, entry->name, "%zu bytes of panels are expected, %zu found", expected, t->bytes);
    return false;
}

/* As pl_first_not_finite(), of panels; -1 too where there is no memory for a row. */
static int64_t first_not_finite_packed(pl_findings *f, const pl_tensor *t, pl_use use)
{
    pl_pack_map map;
    pl_matrix matrix = matrix_of(t, t->shape, t->rank, use, &map);
    pl_arena_mark mark = pl_arena_save(f->arena);
    float *row = pl_arena_alloc_raw(f->arena, (size_t)matrix.cols, sizeof *row);
    pl_tensor values = {.type = PL_F32, .rank = 1, .shape = {matrix.cols}, .data = row, .bytes = (size_t)matrix.cols * sizeof *row};
    int64_t found = -1;
    for (int r = 0; row && r < matrix.rows && found < 0; r++) {
        pl_matrix_row(&matrix, r, row);
        int64_t at = pl_first_not_finite(&values);
        found = at < 0 ? -1 : (int64_t)r * matrix.cols + at;
    }
    pl_arena_restore(f->arena, mark);
    return found;
}

/* Whether the tensor can be used; it then gets its canonical shape. */
static bool accept(pl_findings *f, const pl_entry *entry, const int64_t *shape, int rank, pl_use use, pl_tensor *out)
{
    char expected[96], got[96];
    const pl_tensor *t = &entry->tensor;
    if (t->type == PL_OTHER || t->type == PL_I32) {
        pl_findings_add(f, PARLEY_FINDING_TYPE, entry->name, "type %s, numbers with a fraction are expected", entry->stored);
        return false;
    }
    if (!same_shape(t, shape, rank)) {
        pl_shape_text(shape, rank, expected, sizeof expected);
        pl_shape_text(t->shape, t->rank, got, sizeof got);
        pl_findings_add(f, PARLEY_FINDING_SHAPE, entry->name, "%s is expected, %s found", expected, got);
        return false;
    }
    if (!panels_fit(f, entry, shape, rank, use))
        return false;
    if (!t->packed && shape[rank - 1] % pl_type_info(t->type)->values) {
        pl_findings_add(f, PARLEY_FINDING_TYPE, entry->name, "rows of %lld values in blocks of type %s", (long long)shape[rank - 1], entry->stored);
        return false;
    }
    *out = *t;
    out->rank = rank;
    memcpy(out->shape, shape, (size_t)rank * sizeof *shape);
    return true;
}

void pl_catalogue_take(pl_findings *f, pl_entry *entry, const int64_t *shape, int rank, pl_use use, pl_tensor *out)
{
    entry->used = true;
    if (!accept(f, entry, shape, rank, use, out) || !f->report || !f->values)
        return;
    int64_t at = out->packed ? first_not_finite_packed(f, out, use) : pl_first_not_finite(out);
    if (at >= 0)
        pl_findings_add(f, PARLEY_FINDING_VALUE, entry->name, "value %lld is not finite", (long long)at);
}

void pl_catalogue_missing(pl_findings *f, const char *name, const int64_t *shape, int rank)
{
    char expected[96];
    pl_shape_text(shape, rank, expected, sizeof expected);
    pl_findings_add(f, PARLEY_FINDING_MISSING, name, "missing, %s is expected", expected);
}
