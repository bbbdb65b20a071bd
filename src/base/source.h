/* Where the files of a model come from: a directory, one file, or buffers in memory. Files are mapped when first asked for and stay until close. */
#ifndef PL_BASE_SOURCE_H
#define PL_BASE_SOURCE_H

#include "base/arena.h"

typedef struct pl_bytes {
    const uint8_t *data;
    size_t size;
} pl_bytes;

typedef struct pl_source pl_source;

/* `path`: a directory or a regular file (then the source has that one file, under its last path component). Errors: IO (naming path and reason),
 * MISSING (no such file or directory), UNSUPPORTED (neither file nor directory), MEMORY. */
parley_status pl_source_open(const parley_allocator *allocator, const char *path, pl_source **source, parley_error *error);
/* Errors: ARGUMENT (no files, a name that is NULL, empty or there twice, no bytes), MEMORY. Names are copied, bytes are not. */
parley_status pl_source_open_memory(const parley_allocator *allocator, const parley_memory_file *files, size_t count, pl_source **source,
                                    parley_error *error);
void pl_source_close(pl_source *source);

/* True for a directory and for more than one buffer in memory. */
bool pl_source_is_directory(const pl_source *source);

/* What error texts call the source: its path, or "memory". pl_source_describe gives what they call a file in it: "path/name" for a directory, the
 * path for a file, the name in memory. */
const char *pl_source_name(const pl_source *source);
void pl_source_describe(const pl_source *source, const char *name, char *text, size_t size);

/* Names of all regular files directly inside (not in folders), sorted bytewise. In memory: names without '/'. Links are followed. The list is made
 * at the first call and stays until close. */
parley_status pl_source_list(pl_source *source, const char *const **names, size_t *count, parley_error *error);

/* Whether a file of this name is there (regular, after following links); `name` may hold '/' ("speech_tokenizer/config.json"). */
bool pl_source_has(pl_source *source, const char *name);

/* Maps the file read-only. Names that are absolute or hold ".." components are ARGUMENT: a checkpoint never reaches outside its folder by name.
 * An empty file gives size 0 (and a valid pointer). Mapping a file twice gives the same bytes. Errors: MISSING, UNSUPPORTED (no regular file: a
 * folder, device or pipe is not opened), IO, MEMORY. */
parley_status pl_source_map(pl_source *source, const char *name, pl_bytes *bytes, parley_error *error);

/* Tells the system that the pages of this range of a mapped file are not needed soon (they stay readable). Memory sources ignore it. */
void pl_source_drop(pl_source *source, const void *data, size_t size);

#endif
