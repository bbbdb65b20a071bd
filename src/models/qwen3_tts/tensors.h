/* The files and tensors of a Qwen3-TTS checkpoint: which file holds which part in which dialect, and one catalogue of canonical tensors. */
#ifndef PL_MODELS_QWEN3_TTS_TENSORS_H
#define PL_MODELS_QWEN3_TTS_TENSORS_H

#include "lm/load.h"
#include "models/files.h"
#include "models/quantize.h"
#include "models/qwen3_tts/config.h"
#include "text/tokenizer.h"

typedef enum tts_dialect { TTS_HF, TTS_QWENTTS, TTS_QTS, TTS_LLAMA, TTS_PARLEY, TTS_DIALECTS } tts_dialect;
typedef enum tts_part { TTS_TALKER, TTS_PREDICTOR, TTS_SPEAKER, TTS_CODEC, TTS_TOKENIZER, TTS_PARTS } tts_part;

typedef pl_part_file tts_container;
typedef pl_model_files tts_files;
typedef pl_files_request tts_open;

/* Finds the parts of a checkpoint: see pl_model_files_open(). A bare speech_tokenizer directory is a codec. */
parley_status pl_tts_files_open(const parley_allocator *allocator, const tts_open *what, tts_files *files, parley_error *error);
void pl_tts_files_close(tts_files *files);

/* Whether the path looks like this family at all (for the registry): a directory or GGUF of it. Errors are left to pl_tts_files_open(). */
bool pl_tts_probe(const parley_allocator *allocator, pl_source *source);

/* Reads the configuration of all parts that are there. Required keys that are missing are MISSING naming file and key; wrong kinds FORMAT; values out
 * of range or contradictory FORMAT; generation settings inside sub-configurations that are not neutral UNSUPPORTED (spec 1.4). Texts live in
 * files->arena. */
parley_status pl_tts_config_read(tts_files *files, tts_config *config, parley_error *error);

/* The configuration as keys of the dialect `parley`. MEMORY. */
parley_status pl_tts_config_write(const tts_files *files, const tts_config *config, pl_arena *arena, pl_gguf_head *head, parley_error *error);

/* The tokenizer of the files. */
parley_status pl_tts_tokenizer_open(const parley_allocator *allocator, tts_files *files, const tts_config *config, pl_tokenizer **tokenizer,
                                    parley_error *error);

/* ------------------------------------------------------------------ canonical tensors, in upstream's shapes */

typedef struct tts_tensors {
    pl_tensor text_embedding;        /* [text_vocabulary, text_width] */
    pl_conv_tensors fc1, fc2;        /* [text_width, text_width], [width, text_width]; of no use when the embedding is projected already */
    pl_tensor codec_embedding;       /* [codec_vocabulary, width] */
    pl_tensor codec_head;            /* [codec_vocabulary, width] */
    pl_tensor norm;                  /* [width] */
    pl_lm_block_tensors *blocks;     /* [talker.layers] */
    pl_tensor *predictor_embeddings; /* [groups - 1] of [codebook_size, talker width] */
    pl_tensor *predictor_heads;      /* [groups - 1] of [codebook_size, predictor width] */
    pl_conv_tensors projection;      /* [predictor width, talker width]; data NULL: identity */
    pl_tensor predictor_norm;
    pl_lm_block_tensors *predictor_blocks;
    pl_codec_tensors codec;
    pl_speaker_tensors speaker; /* data NULL throughout when there is none */
    pl_encoder_tensors encoder; /* likewise */
} tts_tensors;

/* Looks every tensor of the wanted parts up, checks type and shape (sizes of 1 may be absent or added) and gives it its canonical shape. Findings of
 * all parts that are there go to `report` when it is set (then also unused tensors, and with `values` those that are not finite; tensors of the
 * speaker encoder and the codec's encoder belong to the catalogue too and count as used). Without report: the error lists missing and misshapen
 * tensors (the first few by name, and how many more). Returns MISSING or SHAPE when a needed tensor is absent or wrong; with report set PARLEY_OK and
 * *faults. */
typedef struct tts_resolve {
    parley_parts needed;
    void (*report)(void *context, const parley_finding *finding);
    void *context;
    bool values;
    size_t *faults;
} tts_resolve;

parley_status pl_tts_tensors_resolve(tts_files *files, const tts_config *config, const tts_resolve *how, tts_tensors *tensors, parley_error *error);

/* Every tensor that was resolved, under its name in the dialect `parley`, with what it is used as. MEMORY. */
parley_status pl_tts_tensors_list(tts_files *files, const tts_config *config, tts_tensors *tensors, pl_quantization *list, parley_error *error);

/* File and position of a tensor's values, for messages; and to tell the system that its pages are not needed soon. */
void pl_tts_tensor_drop(tts_files *files, const pl_tensor *tensor);

#endif
