/* Models that are two files: see pl_half. Of use to files.c alone. */
#ifndef PL_MODELS_HALVES_H
#define PL_MODELS_HALVES_H

#include "models/files.h"

/* Notes a half that was seen. LIMIT: too many. */
parley_status pl_halves_add(pl_opening *o, pl_source *source, const char *name, const pl_file_kind *kind);

/* Looks beside a half that was named alone for the other, when it holds a part of `needed`. Candidates that do not fit, or several that do, are
 * errors naming both files; with `any` they are passed over. */
parley_status pl_halves_complete(pl_opening *o, const pl_files_request *what, unsigned needed);

/* Of the halves that were noted: opens and keeps the one pair that fits, or a half without any counterpart. ARGUMENT: several fit; FORMAT: none does.
 */
parley_status pl_halves_take(pl_opening *o, unsigned wanted);

/* Notes a file of another family, or one that is named .gguf and is no GGUF file: should a half of the kind be missing, the error names it. */
void pl_halves_pass_over(pl_opening *o, const pl_passed_over *foreign);
void pl_halves_pass_over_broken(pl_opening *o, pl_source *source, const char *name);

/* Adds to the error's text which file the faulty one was to go with. */
parley_status pl_halves_along(pl_opening *o, parley_status status, const pl_half_file *other);
parley_status pl_halves_along_name(pl_opening *o, parley_status status, const char *other);

/* ------------------------------------------------------------------ files.c */

/* Opens a GGUF file and tells what it is. */
parley_status pl_opening_gguf(pl_opening *o, pl_source *source, const char *name, pl_part_file *file, pl_file_kind *kind);

/* Opens the folder of a path as files->beside; the path's last component. */
const char *pl_opening_folder(pl_opening *o, const char *path, parley_status *status);

/* Those of the parts `needed` that are not there. */
unsigned pl_opening_missing(const pl_opening *o, unsigned needed);

#endif
