#include "api/options.h"
#include "engine/model.h"

void parley_quantize_options_init(parley_quantize_options *options)
{
    *options = (parley_quantize_options){.size = sizeof *options};
}

static parley_status check_weight(const char *name, parley_weight weight, parley_error *error)
{
    if (weight <= PARLEY_WEIGHT_Q4_0)
        return PARLEY_OK;
    return pl_fail(error, PARLEY_ARGUMENT, "%s: %d is no parley_weight", name, (int)weight);
}

static parley_status complete(const parley_quantize_options *given, parley_quantize_options *options, parley_error *error)
{
    parley_quantize_options_init(options);
    if (!given)
        return PARLEY_OK;
    if (given->size != sizeof *options)
        return pl_fail(error, PARLEY_ARGUMENT, "quantize options of %zu bytes, expected %zu: parley_quantize_options_init() was not called",
                       given->size, sizeof *options);
    *options = *given;
    PL_TRY(check_weight("talker", options->talker, error));
    PL_TRY(check_weight("predictor", options->predictor, error));
    PL_TRY(check_weight("codec", options->codec, error));
    return check_weight("encoder", options->encoder, error);
}

parley_status parley_quantize(const char *path, const parley_open_options *open, const parley_quantize_options *options, parley_write_fn write,
                              void *context, parley_quantized_fn report, void *report_context, parley_error *error)
{
    parley_open_options o;
    parley_quantize_options types;
    if (!path || !write)
        return pl_fail(error, PARLEY_ARGUMENT, "%s is NULL", !path ? "path" : "write");
    PL_TRY(pl_open_options_complete(open, &o, error));
    PL_TRY(complete(options, &types, error));
    pl_location location = {.path = path, .second_path = o.second_path, .codec_path = o.codec_path, .parts = PARLEY_PARTS_CLONE};
    pl_sink sink = {write, context, report, report_context};
    return pl_model_quantize(&location, &o, &types, &sink, error);
}
