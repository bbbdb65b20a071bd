/* parley/quantize.h - one file out of a model, with weights in the types that one asks for, in the layout in which they are computed with.
 *
 * The file is a GGUF of the architecture "parley" (docs/GGUF.md) and holds all that the model has. It is opened like any other model. */
#ifndef PARLEY_QUANTIZE_H
#define PARLEY_QUANTIZE_H

#include <parley/core.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Types of weights, most exact first. KEEP: each tensor as it is in the source. */
typedef enum parley_weight {
    PARLEY_WEIGHT_KEEP,
    PARLEY_WEIGHT_F32,
    PARLEY_WEIGHT_F16,
    PARLEY_WEIGHT_BF16,
    PARLEY_WEIGHT_Q8_0,
    PARLEY_WEIGHT_Q6_K,
    PARLEY_WEIGHT_Q4_K,
    PARLEY_WEIGHT_Q4_0
} parley_weight;

/* Types of the layers of each part; docs/GGUF.md says what stays above them. */
typedef struct parley_quantize_options {
    size_t size;             /* sizeof(parley_quantize_options) */
    parley_weight talker;    /* of the talker, or the text decoder of a model that hears */
    parley_weight predictor; /* of the code predictor; below 8 bits with `force` alone */
    parley_weight codec;     /* of the codec's decoder */
    parley_weight encoder;   /* of the codec's encoder, or the audio tower; below 8 bits with `force` alone */
    bool force;              /* take types below those floors, and quantise again what is quantised already */
} parley_quantize_options;

/* Fills in the defaults: KEEP everywhere. */
PARLEY_API void parley_quantize_options_init(parley_quantize_options *options);

/* Takes the next bytes of the file. Anything but PARLEY_OK ends the work and is returned, with the error as the function filled it. */
typedef parley_status (*parley_write_fn)(void *context, const void *bytes, size_t size, parley_error *error);

/* A tensor that is written. The texts are valid during the call only. */
typedef struct parley_quantized {
    const char *name;           /* in the new file */
    const char *part;           /* "talker", "predictor", "codec", "encoder", "kept" */
    const char *from, *to;      /* types: "bf16", "q4_k" */
    bool packed;                /* in the layout of the kernels */
    uint64_t values, bytes;     /* bytes: in the new file */
    double relative_error;      /* root of the summed squares of differences, over that of the values */
    double squares, difference; /* these two sums, for totals */
} parley_quantized;

typedef void (*parley_quantized_fn)(void *context, const parley_quantized *tensor);

/* Writes the file from front to back. `open`: NULL or as for parley_model_open(), of which `codec_path`, `cpu`, `threads` and `allocator` count;
 * `report`: NULL or called for each tensor once it is written. Errors: those of opening; ARGUMENT (a type below a floor, a source that is quantised
 * already, a type whose blocks do not fit the rows of a tensor, naming it), VALUE (a weight that is not finite or becomes so), what `write` returns.
 */
PARLEY_API PARLEY_MUST_USE parley_status parley_quantize(const char *path, const parley_open_options *open, const parley_quantize_options *options,
                                                         parley_write_fn write, void *context, parley_quantized_fn report, void *report_context,
                                                         parley_error *error);

#ifdef __cplusplus
}
#endif
#endif
