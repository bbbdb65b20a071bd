/* Which file of a checkpoint holds which part: what is the same in every family. A family brings rules that tell a file by its content; a part is a
 * number of the family's below PL_MAX_PARTS, a set of parts is a sum of PL_PART(). */
#ifndef PL_MODELS_FILES_H
#define PL_MODELS_FILES_H

#include "models/family.h"
#include "models/json.h"
#include "weights/container.h"

enum { PL_MAX_PARTS = 5, PL_MAX_HALVES = 64 };

#define PL_PART(part) (1u << (part))

typedef struct pl_part_file {
    pl_container container;
    pl_source *source;
    int dialect;        /* of the family's */
    bool has_weights;   /* false: only JSON and text files were there, or were needed */
    const char *folder; /* prefix inside the source: "" or "speech_tokenizer/" */
} pl_part_file;

/* Everything that was opened. `part[p]` NULL: that part is not there, or was not needed. Parts share a container where they share a file. */
typedef struct pl_model_files {
    pl_arena arena;
    pl_source *source, *second; /* what the caller named; the second only with a second path */
    pl_source *codec_source;    /* only with a codec path */
    pl_source *beside;          /* the folder of a GGUF file, when parts were taken from beside it */
    pl_part_file containers[PL_MAX_PARTS];
    int n_containers;
    pl_part_file *part[PL_MAX_PARTS];
    uint64_t file_bytes;
} pl_model_files;

/* What is to be opened. With `any` parts and weights may be missing (inspection). `codec_path`: replaces a codec that is there, which is then neither
 * read nor checked. `second_path`: another file of the same model. */
typedef struct pl_files_request {
    const char *path;
    const parley_memory_file *memory; /* files in memory in place of a path */
    size_t n_memory;
    const char *second_path, *codec_path;
    parley_parts needed;
    bool any;
} pl_files_request;

pl_files_request pl_files_of(const pl_location *location, bool any);

/* ------------------------------------------------------------------ rules of a family */

/* llama.cpp cuts a model into a text model and an mmproj file (spec/gguf_dialects.md D), which both hold the width of the model and fit when these
 * are equal. */
typedef enum pl_half { PL_WHOLE, PL_TEXT_HALF, PL_REST_HALF } pl_half;

typedef struct pl_file_kind {
    bool family; /* false: another family's */
    int dialect;
    unsigned parts;
    pl_half half;
    int64_t width;  /* of a half */
    char what[100]; /* what it says of itself: "'llama'", "'clip' with the projector 'ldp'" */
} pl_file_kind;

typedef struct pl_opening pl_opening;

typedef struct pl_file_rules {
    const char *const *part_names;
    int n_parts;
    int first;            /* the part whose file may take others from beside it */
    int codec;            /* the part that a codec path replaces, -1: none */
    const char *inner;    /* a folder "name/" inside a folder of GGUF files that may hold the codec, NULL: none */
    int inner_dialect;    /* its dialect */
    int packed_dialect;   /* the one whose files hold packed tensors (parley.h) */
    const char *expected; /* architectures, for messages */
    /* Tells an open GGUF file by its content; `kind` is zero before. `where` is its name in messages. MISSING, FORMAT, MEMORY. */
    parley_status (*classify)(const parley_allocator *allocator, const pl_container *c, const char *where, pl_file_kind *kind, parley_error *error);
    /* A directory with config.json: keeps what it holds of the parts `wanted`. */
    parley_status (*scan_directory)(pl_opening *o, pl_source *source, unsigned wanted);
    /* Whether that directory is the family's. */
    bool (*is_directory)(const parley_allocator *allocator, pl_source *source);
} pl_file_rules;

typedef struct pl_half_file {
    pl_source *source;
    const char *name;
    pl_file_kind kind;
} pl_half_file;

/* A file that was seen and is none of the family's; `name` empty: none was. */
typedef struct pl_passed_over {
    char name[PL_MODEL_WHERE], is[100];
} pl_passed_over;

/* An opening in progress. */
struct pl_opening {
    const parley_allocator *allocator;
    const pl_file_rules *rules;
    pl_model_files *files;
    bool any;
    pl_passed_over foreign;             /* a GGUF file of another family */
    pl_passed_over passed[2];           /* what a missing half might have been: a text model, an mmproj file */
    pl_half_file halves[PL_MAX_HALVES]; /* seen, and not open */
    size_t n_halves;
    parley_error *error;
};

/* Finds the parts by content, never by file name: a directory with config.json, GGUF files named one by one, or a folder of GGUF files, in which
 * those of other families are passed over. A part that is there twice is an error naming both files. Of halves the one pair that fits is taken; a
 * half that was named alone takes the other from beside it. A file of the family's takes what else it lacks from beside it in its folder, where each
 * part must be there once; with `any` only halves look there. Parts that are not `wanted` are not opened; that one of `needed` is missing is MISSING,
 * saying where it was sought. Errors: MISSING, FAMILY, FORMAT, UNSUPPORTED, ARGUMENT (doubles), LIMIT, IO, MEMORY; nothing is open after one. */
parley_status pl_model_files_open(const parley_allocator *allocator, const pl_file_rules *rules, const pl_files_request *what, unsigned wanted,
                                  unsigned needed, pl_model_files *files, parley_error *error);
void pl_model_files_close(pl_model_files *files);

/* Whether the source looks like the family's at all (for the registry). Errors are left to pl_model_files_open(). */
bool pl_model_files_probe(const parley_allocator *allocator, const pl_file_rules *rules, pl_source *source);

/* Tells the system that the pages of a tensor are not needed soon. */
void pl_model_files_drop(pl_model_files *files, const pl_tensor *tensor);

/* Adds the names of both files to the error when the model is two files of this dialect: it may be either that is wrong. */
parley_status pl_model_files_blame(const pl_model_files *files, int dialect, parley_status status, parley_error *error);

/* What error texts call a file. */
void pl_part_file_describe(const pl_part_file *file, char *text, size_t size);

/* ------------------------------------------------------------------ for the rules */

/* Takes the container over for these parts: it is closed when there are none, or when one is there already (ARGUMENT). */
parley_status pl_files_keep(pl_opening *o, pl_part_file *file, unsigned parts);

/* Opens the safetensors of file->source and file->folder. Inspection goes on without weights, anything else says what is missing. */
parley_status pl_files_open_weights(pl_opening *o, pl_part_file *file);

/* Files beside the weights count too; that one cannot be mapped is told when it is read. */
void pl_files_count(pl_opening *o, pl_source *source, const char *folder, const char *const *names, size_t count);

/* Whether folder + name is there; whether there are weights. */
bool pl_files_has(pl_source *source, const char *folder, const char *name);
bool pl_files_has_weights(pl_source *source, const char *folder);

/* kind->what of a file: its architecture, and of a clip file the projectors. FORMAT, MISSING. */
parley_status pl_file_architecture(const pl_container *c, const char *where, pl_file_kind *kind, char *architecture, size_t size,
                                   parley_error *error);
/* Whether the text key is there with this value. */
bool pl_file_says(const pl_container *c, const char *key, const char *value);
/* The first of the keys that is there: the width of a half. MISSING, FORMAT. */
parley_status pl_file_width(const pl_container *c, const char *where, const char *const *keys, size_t count, pl_file_kind *kind, parley_error *error);

#endif
