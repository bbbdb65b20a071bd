/* What a catalogue of tensors needs, whatever the family: names from patterns, sizes, and one way of telling what is missing, misshapen, of a wrong
 * type, not finite or unused. */
#ifndef PL_MODELS_CATALOGUE_H
#define PL_MODELS_CATALOGUE_H

#include "models/family.h"
#include "models/json.h"
#include "nn/linear.h"
#include "weights/container.h"

/* ------------------------------------------------------------------ findings */

/* Set `report` (or not), `context`, `values` and `arena`, the rest zero. A copy is a state to return to. */
typedef struct pl_findings {
    pl_report_finding report; /* NULL: faults are counted and kept as text */
    void *context;
    bool values;     /* with a report: values that are not finite are findings */
    pl_arena *arena; /* work space for that */
    size_t faults;
    parley_status status; /* of the first fault */
    char text[400];       /* the faults that fit */
    size_t length, told;
} pl_findings;

void pl_findings_add(pl_findings *findings, parley_finding_kind kind, const char *name, const char *format, ...) PL_PRINTF(4, 5);

/* Entries that nothing used, but those whose names begin with one of `without_effect`. */
void pl_findings_add_unused(pl_findings *findings, const pl_container *container, const char *const *without_effect, size_t count);

/* The faults as an error. */
parley_status pl_findings_fail(const pl_findings *findings, parley_error *error);

/* ------------------------------------------------------------------ tensors by name */

/* In names {i} and {j} are indices, {r} and {e} numbers of the family's choice, all with a factor before and an addition behind: {3i+1}. '|'
 * separates names that mean the same. */
typedef struct pl_name_values {
    int64_t i, j, r, e;
} pl_name_values;

/* The entry of a name + suffix that is there; NULL when there is none, or no container. `name`: the one that was found, else the first. */
pl_entry *pl_catalogue_find(const pl_container *container, const char *names, pl_name_values values, const char *suffix, char name[PL_MODEL_NAME]);

/* The first of the names, in full. */
void pl_catalogue_name(const char *names, pl_name_values values, const char *suffix, char name[PL_MODEL_NAME]);

/* Size of axis `axis` of a tensor of `rank` axes, whose leading axes of 1 may be absent; 0 when there is no such tensor. */
int64_t pl_catalogue_dim(const pl_container *container, const char *name, int rank, int axis);

/* How a tensor is used: what it becomes, which says in which panels a file may hold it. */
typedef struct pl_use {
    pl_form form;
    int stride; /* of a transposed convolution */
} pl_use;

/* Takes an entry as a tensor of this shape: axes of 1 come and go in files. It is marked as used; faults of type, shape and (with report and values)
 * values go to the findings. `out` is set when type and shape are right. */
void pl_catalogue_take(pl_findings *findings, pl_entry *entry, const int64_t *shape, int rank, pl_use use, pl_tensor *out);

/* That a tensor of this shape is missing. */
void pl_catalogue_missing(pl_findings *findings, const char *name, const int64_t *shape, int rank);

#endif
