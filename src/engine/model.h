/* Lifetime of a model: processor level, threads, files, family. */
#ifndef PL_ENGINE_MODEL_H
#define PL_ENGINE_MODEL_H

#include "models/family.h"
#include "models/quantize.h"

struct parley_model {
    pl_environment env;
    const pl_family *family;
    void *state; /* the family's */
};

/* `options` complete and checked. `location.path` or `.memory` set. */
parley_status pl_model_open(const pl_location *location, const parley_open_options *options, parley_model **model, parley_error *error);
void pl_model_close(parley_model *model);

/* Without opening weights. */
parley_status pl_model_inspect(const pl_location *location, const parley_open_options *options, parley_info **info, parley_error *error);
parley_status pl_model_check(const pl_location *location, const parley_open_options *options, pl_report_finding report, void *context, size_t *faults,
                             parley_error *error);

/* Everything of a model to one file; weights are read and not kept. */
parley_status pl_model_quantize(const pl_location *location, const parley_open_options *options, const parley_quantize_options *types,
                                const pl_sink *sink, parley_error *error);

/* See parley_codec_reference_cut(): the rule of the family that speaks. */
uint64_t pl_reference_cut(uint64_t ref_frames, uint64_t total_frames, uint64_t samples);

/* Voice files without a model: those of the family that speaks. */
const pl_voice_file_ops *pl_voice_files(void);

#endif
