/* The files and tensors of a Qwen3-ASR checkpoint: which file holds which part in which dialect, and one catalogue of canonical tensors. */
#ifndef PL_MODELS_QWEN3_ASR_TENSORS_H
#define PL_MODELS_QWEN3_ASR_TENSORS_H

#include "lm/load.h"
#include "models/files.h"
#include "models/family.h"
#include "models/quantize.h"
#include "models/qwen3_asr/config.h"
#include "text/tokenizer.h"

typedef enum asr_dialect { ASR_HF, ASR_TRANSCRIBE, ASR_LLAMA, ASR_PARLEY, ASR_DIALECTS } asr_dialect;
typedef enum asr_part { ASR_TEXT, ASR_TOWER, ASR_TOKENIZER, ASR_PARTS } asr_part;

typedef pl_part_file asr_container;
typedef pl_model_files asr_files;
typedef pl_files_request asr_open;

/* Finds the parts: see pl_model_files_open(). `needed`: TEXT is the tokenizer alone, anything else the whole model. */
parley_status pl_asr_files_open(const parley_allocator *allocator, const asr_open *what, asr_files *files, parley_error *error);
void pl_asr_files_close(asr_files *files);

/* Whether the path looks like this family at all (for the registry). Errors are left to pl_asr_files_open(). */
bool pl_asr_probe(const parley_allocator *allocator, pl_source *source);

/* Reads the configuration; all zero, with ids of -1, when the tokenizer alone was opened. Keys that are missing are MISSING naming file and key, for
 * the defaults of upstream's classes are not the published values; wrong kinds, values out of range and contradictions are FORMAT; what no code here
 * does is UNSUPPORTED. Lists live in files->arena. */
parley_status pl_asr_config_read(asr_files *files, asr_config *config, parley_error *error);

/* The tokenizer of the files. Fills in the ids of the configuration that are known by spelling. MISSING: a token that the prompt needs is not there;
 * FORMAT: the tokenizer has more ids than the model, or another id than the configuration for a spelling. */
parley_status pl_asr_tokenizer_open(const parley_allocator *allocator, asr_files *files, asr_config *config, pl_tokenizer **tokenizer,
                                    parley_error *error);

/* ------------------------------------------------------------------ canonical tensors, in upstream's shapes */

typedef struct asr_tensors {
    pl_tensor token_embedding;   /* [vocabulary, text.width] */
    pl_tensor head;              /* [head_rows, text.width]; data NULL: the embedding, because the configuration says so or the bytes are equal */
    pl_tensor norm;              /* [text.width] */
    pl_lm_block_tensors *blocks; /* [text.layers] */
    pl_tower_tensors tower;
} asr_tensors;

/* Looks every tensor up, checks type and shape (axes of 1 may be absent or added) and gives it its canonical shape. Findings go to `report` when it
 * is set: then also unused tensors, and with `values` those that are not finite; the result is PARLEY_OK and *faults (may be NULL). Without report:
 * the error lists missing and misshapen tensors (the first few by name, and how many more), MISSING, SHAPE or UNSUPPORTED after the first. */
typedef struct asr_resolve {
    pl_report_finding report;
    void *context;
    bool values;
    size_t *faults;
} asr_resolve;

parley_status pl_asr_tensors_resolve(asr_files *files, const asr_config *config, const asr_resolve *how, asr_tensors *tensors, parley_error *error);

/* The configuration as keys of the dialect `parley`. */
void pl_asr_config_write(const asr_config *config, pl_gguf_head *head);

/* Every tensor that was resolved, under its name in the dialect `parley`, with what it is used as. MEMORY. */
parley_status pl_asr_tensors_list(asr_files *files, const asr_config *config, asr_tensors *tensors, pl_quantization *list, parley_error *error);

/* Tells the system that the pages of a tensor are not needed soon. */
void pl_asr_tensor_drop(asr_files *files, const pl_tensor *tensor);

#endif
