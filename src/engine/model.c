#include "engine/model.h"

#include "base/cpu.h"

/* The family that recognises the files; NULL when none does. */
static parley_status recognise(const parley_allocator *allocator, const pl_location *location, const char *path, const pl_family **family,
                               parley_error *error)
{
    pl_source *source;
    PL_TRY(path ? pl_source_open(allocator, path, &source, error)
                : pl_source_open_memory(allocator, location->memory, location->n_memory, &source, error));
    const pl_family *const *families = pl_families();
    *family = NULL;
    for (size_t i = 0; families[i] && !*family; i++)
        if (families[i]->probe(allocator, source))
            *family = families[i];
    pl_source_close(source);
    return PARLEY_OK;
}

/* Where none recognises them, the first one's reader says what is wrong with the files. */
static parley_status find_family(const parley_allocator *allocator, const pl_location *location, const pl_family **family, parley_error *error)
{
    PL_TRY(recognise(allocator, location, location->path, family, error));
    if (!*family && location->second_path)
        PL_TRY(recognise(allocator, location, location->second_path, family, error));
    if (!*family)
        *family = pl_families()[0];
    return PARLEY_OK;
}

static pl_environment plain_environment(const parley_open_options *options)
{
    return (pl_environment){.allocator = options->allocator ? *options->allocator : pl_default_allocator(),
                            .logger = options->logger ? *options->logger : (parley_logger){NULL, NULL},
                            .splitter = options->splitter};
}

static parley_status set_up(const parley_open_options *options, pl_environment *env, parley_error *error)
{
    parley_cpu level;
    *env = plain_environment(options);
    PL_TRY(pl_cpu_choose(options->cpu, &level, error));
    env->kernels = pl_kernels_for(level);
    if (!env->kernels)
        return pl_fail(error, PARLEY_DEVICE, "this build has no level \"%s\"", parley_cpu_name(level));
    return pl_pool_open(&env->allocator, options->threads, &env->pool, error);
}

parley_status pl_model_open(const pl_location *location, const parley_open_options *options, parley_model **model, parley_error *error)
{
    pl_environment env;
    PL_TRY(set_up(options, &env, error));
    parley_model *m = pl_alloc(&env.allocator, 1, sizeof *m);
    parley_status status = m ? PARLEY_OK : pl_fail_memory(error, "a model");
    if (status == PARLEY_OK) {
        *m = (parley_model){.env = env};
        status = find_family(&env.allocator, location, &m->family, error);
    }
    if (status == PARLEY_OK)
        status = m->family->open(&m->env, location, &m->state, error);
    if (status == PARLEY_OK) {
        *model = m;
        return PARLEY_OK;
    }
    pl_release(&env.allocator, m, 1, sizeof *m);
    pl_pool_close(env.pool);
    return status;
}

void pl_model_close(parley_model *model)
{
    if (!model)
        return;
    pl_environment env = model->env;
    model->family->close(model->state);
    pl_release(&env.allocator, model, 1, sizeof *model);
    pl_pool_close(env.pool);
}

parley_status pl_model_inspect(const pl_location *location, const parley_open_options *options, parley_info **info, parley_error *error)
{
    pl_environment env = plain_environment(options);
    const pl_family *family;
    PL_TRY(find_family(&env.allocator, location, &family, error));
    return family->inspect(&env, location, info, error);
}

parley_status pl_model_check(const pl_location *location, const parley_open_options *options, pl_report_finding report, void *context, size_t *faults,
                             parley_error *error)
{
    pl_environment env = plain_environment(options);
    const pl_family *family;
    PL_TRY(find_family(&env.allocator, location, &family, error));
    return family->check(&env, location, report, context, faults, error);
}

parley_status pl_model_quantize(const pl_location *location, const parley_open_options *options, const parley_quantize_options *types,
                                const pl_sink *sink, parley_error *error)
{
    pl_environment env;
    const pl_family *family;
    PL_TRY(set_up(options, &env, error));
    parley_status status = find_family(&env.allocator, location, &family, error);
    if (status == PARLEY_OK)
        status = family->quantize(&env, location, types, sink, error);
    pl_pool_close(env.pool);
    return status;
}

static const pl_tts_ops *speaking_family(void)
{
    const pl_family *const *family = pl_families();
    while (!(*family)->tts)
        family++;
    return (*family)->tts;
}

uint64_t pl_reference_cut(uint64_t ref_frames, uint64_t total_frames, uint64_t samples)
{
    return speaking_family()->reference_cut(ref_frames, total_frames, samples);
}

const pl_voice_file_ops *pl_voice_files(void)
{
    return speaking_family()->voice_files;
}
