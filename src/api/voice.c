#include "base/hash.h"
#include "engine/model.h"

#include <string.h>

static parley_status is_null(const char *what, parley_error *error)
{
    return pl_fail(error, PARLEY_ARGUMENT, "%s is NULL", what);
}

/* Of the model's family, for files that are read against a model. */
static parley_status files_of(const parley_model *model, const pl_voice_file_ops **files, parley_error *error)
{
    if (!model)
        return is_null("model", error);
    *files = model->family->tts ? model->family->tts->voice_files : NULL;
    return *files ? PARLEY_OK : pl_fail(error, PARLEY_STATE, "a model of the family %s makes no voices", model->family->name);
}

parley_status parley_voice_write(const parley_voice *voice, void **bytes, size_t *size, parley_error *error)
{
    if (!voice || !bytes || !size)
        return is_null(!voice ? "voice" : !bytes ? "bytes" : "size", error);
    return pl_voice_files()->write(voice, bytes, size, error);
}

void parley_voice_bytes_free(void *bytes, size_t size)
{
    if (bytes)
        pl_voice_files()->bytes_free(bytes, size);
}

parley_status parley_voice_read(const void *bytes, size_t size, parley_voice **voice, parley_error *error)
{
    if (!voice || (!bytes && size))
        return is_null(!voice ? "voice" : "bytes", error);
    return pl_voice_files()->read(bytes ? bytes : "", size, voice, error);
}

void parley_voice_free(parley_voice *voice)
{
    if (voice)
        pl_voice_files()->free(voice);
}

parley_status parley_voice_check(const parley_voice *voice, const parley_info *info, parley_error *error)
{
    if (!voice || !info)
        return is_null(!voice ? "voice" : "info", error);
    return pl_voice_files()->check(voice, info, error);
}

parley_status parley_voice_read_spk(const parley_model *model, const void *bytes, size_t size, float *vector, parley_error *error)
{
    const pl_voice_file_ops *files;
    PL_TRY(files_of(model, &files, error));
    if (!vector || (!bytes && size))
        return is_null(!vector ? "vector" : "bytes", error);
    return files->read_spk(model->family->info(model->state), bytes, size, vector, error);
}

parley_status parley_voice_read_rvq(const parley_model *model, const void *bytes, size_t size, int32_t **codes, size_t *frames, parley_error *error)
{
    const pl_voice_file_ops *files;
    PL_TRY(files_of(model, &files, error));
    if (!codes || !frames || (!bytes && size))
        return is_null(!codes ? "codes" : !frames ? "frames" : "bytes", error);
    return files->read_rvq(&model->env.allocator, model->family->info(model->state), bytes, size, codes, frames, error);
}

parley_status parley_voice_write_rvq(const int32_t *codes, size_t frames, int32_t groups, int32_t codebook_size, void **bytes, size_t *size,
                                     parley_error *error)
{
    if (!codes || !bytes || !size)
        return is_null(!codes ? "codes" : !bytes ? "bytes" : "size", error);
    return pl_voice_files()->write_rvq(codes, frames, groups, codebook_size, bytes, size, error);
}

void parley_voice_hash(const void *bytes, size_t size, char text[PARLEY_VOICE_HASH_TEXT])
{
    static const char digits[] = "0123456789abcdef";
    uint8_t digest[PL_HASH_SIZE];
    pl_hash_of(bytes ? bytes : "", bytes ? size : 0, digest);
    for (size_t i = 0; i < PL_HASH_SIZE; i++) {
        text[2 * i] = digits[digest[i] >> 4];
        text[2 * i + 1] = digits[digest[i] & 15];
    }
    text[2 * PL_HASH_SIZE] = '\0';
}
