/* Fuzz target: two GGUF files as a model of any family, as far as its configuration, vocabulary and tensors: an error that says something, or a model
 * whose tensors lie inside the files. The input is the first file's size (u32, little endian), that file, and the other one, which may be empty. */
#include "models/qwen3_asr/tensors.h"
#include "models/qwen3_tts/tensors.h"

#include "../tests/limit_allocator.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HOLDS(condition)  \
    do {                  \
        if (!(condition)) \
            abort();      \
    } while (0)

enum { MEMORY = 64 << 20 };

typedef struct input {
    parley_allocator allocator;
    parley_memory_file files[2];
    parley_parts needed;
    bool any;
} input;

/* What a status may be, and that it is told. */
static void judge(parley_status status, const parley_error *error)
{
    HOLDS(status != PARLEY_INTERNAL && status != PARLEY_STATE && status != PARLEY_DEVICE && status != PARLEY_IO);
    HOLDS(status == PARLEY_OK || (error->status == status && error->text[0]));
}

static void found(void *context, const parley_finding *finding)
{
    *(size_t *)context += strlen(finding->tensor) + strlen(finding->text);
}

static pl_files_request request_of(const input *in)
{
    size_t count = in->files[1].size ? 2 : 1;
    return (pl_files_request){.memory = in->files, .n_memory = count, .needed = in->needed, .any = in->any};
}

/* Sums the first and last byte, so that a view that leaves its file is seen. */
static size_t touch(const pl_tensor *t)
{
    const uint8_t *bytes = t->data;
    return t->data && t->bytes ? (size_t)bytes[0] + bytes[t->bytes - 1] : 0;
}

static parley_status use_tts(const input *in, tts_files *files, size_t *sum, parley_error *error)
{
    tts_config config;
    tts_tensors t;
    pl_tokenizer *tokenizer = NULL;
    const tts_resolve how = {.needed = in->needed, .report = in->any ? found : NULL, .context = sum, .values = true};
    PL_TRY(pl_tts_config_read(files, &config, error));
    if (files->part[TTS_TOKENIZER])
        PL_TRY(pl_tts_tokenizer_open(&in->allocator, files, &config, &tokenizer, error));
    pl_tokenizer_close(tokenizer);
    PL_TRY(pl_tts_tensors_resolve(files, &config, &how, &t, error));
    *sum += touch(&t.text_embedding) + touch(&t.codec_embedding) + touch(&t.codec_head) + touch(&t.speaker.fc.weight);
    for (int i = 0; i + 1 < config.groups; i++)
        *sum += touch(&t.predictor_embeddings[i]) + touch(&t.predictor_heads[i]);
    for (int i = 0; i < config.codec.groups; i++)
        *sum += touch(&t.codec.codebooks[i]);
    return PARLEY_OK;
}

static parley_status use_asr(const input *in, asr_files *files, size_t *sum, parley_error *error)
{
    asr_config config;
    asr_tensors t;
    pl_tokenizer *tokenizer = NULL;
    const asr_resolve how = {.report = in->any ? found : NULL, .context = sum, .values = true};
    PL_TRY(pl_asr_config_read(files, &config, error));
    if (files->part[ASR_TOKENIZER])
        PL_TRY(pl_asr_tokenizer_open(&in->allocator, files, &config, &tokenizer, error));
    pl_tokenizer_close(tokenizer);
    PL_TRY(pl_asr_tensors_resolve(files, &config, &how, &t, error));
    *sum += touch(&t.token_embedding) + touch(&t.head) + touch(&t.tower.conv_out);
    return PARLEY_OK;
}

static void run(const input *in, size_t *sum)
{
    pl_model_files files;
    parley_error error = {0};
    pl_files_request what = request_of(in);
    parley_status status = pl_tts_files_open(&in->allocator, &what, &files, &error);
    if (status == PARLEY_OK) {
        status = use_tts(in, &files, sum, &error);
        pl_tts_files_close(&files);
    }
    judge(status, &error);
    error = (parley_error){0};
    status = pl_asr_files_open(&in->allocator, &what, &files, &error);
    if (status == PARLEY_OK) {
        status = use_asr(in, &files, sum, &error);
        pl_asr_files_close(&files);
    }
    judge(status, &error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const parley_parts needed[] = {PARLEY_PARTS_ALL, PARLEY_PARTS_CLONE, PARLEY_PARTS_CODEC, PARLEY_PARTS_TEXT};
    limit_allocator memory = {.limit = MEMORY, .left = SIZE_MAX};
    size_t first = 0, sum = 0;
    if (size < 5)
        return 0;
    for (int i = 0; i < 4; i++)
        first |= (size_t)data[i] << (8 * i);
    if (first == 0 || first > size - 4)
        first = size - 4;
    input in = {.allocator = limit_interface(&memory), .files = {{"a", data + 4, first}, {"b", data + 4 + first, size - 4 - first}}};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        in.needed = needed[i];
        run(&in, &sum);
    }
    in.any = true;
    run(&in, &sum);
    HOLDS(memory.held == 0 && !memory.exceeded);
    return (int)(sum & 0);
}
