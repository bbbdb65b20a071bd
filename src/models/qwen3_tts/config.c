/* Reads the configuration of the parts that are there: defaults, then the tables, then what the values must be to each other. */
#include "models/qwen3_tts/config_tables.h"

#include <stdio.h>
#include <string.h>

#define COUNT(rows) (sizeof(rows) / sizeof *(rows))

/* ------------------------------------------------------------------ where values come from */

typedef struct reader {
    tts_files *files;
    tts_config *config;
    parley_error *error;
    cJSON *json;
    char where[PL_MODEL_WHERE];
    pl_values values;
} reader;

/* Values of `part`; GGUF keys that its file lacks are sought in the file of `next`. */
static parley_status begin(reader *r, tts_part part, tts_part next, const char *file)
{
    const tts_container *c = r->files->part[part], *second = r->files->part[next];
    char path[64];
    r->json = NULL;
    r->values = (pl_values){
        .arena = &r->files->arena, .dialect = (unsigned)c->dialect, .last = c->dialect == TTS_LLAMA, .where = r->where, .error = r->error};
    if (c->dialect == TTS_HF) {
        snprintf(path, sizeof path, "%s%s", c->folder, file);
        pl_source_describe(c->source, path, r->where, sizeof r->where);
        PL_TRY(pl_model_json(c->source, c->folder, file, &r->json, r->error));
        r->values.json = r->json;
        return PARLEY_OK;
    }
    pl_source_describe(c->source, c->container.file, r->where, sizeof r->where);
    r->values.places[0] = &c->container;
    if (second && second != c && second->dialect != TTS_HF)
        r->values.places[1] = &second->container;
    return PARLEY_OK;
}

static parley_status end(reader *r, parley_status status)
{
    cJSON_Delete(r->json);
    r->json = NULL;
    return status;
}

static parley_status contradiction(reader *r, const char *text)
{
    return pl_fail(r->error, PARLEY_FORMAT, "%s: %s", r->where, text);
}

static int shape_or(int64_t size, int otherwise)
{
    return size > 0 && size < 1 << 24 ? (int)size : otherwise;
}

/* ------------------------------------------------------------------ checks */

static parley_status check_transformer(reader *r, const pl_transformer_shape *shape, const char *what)
{
    char text[160];
    if (shape->heads % shape->kv_heads) {
        snprintf(text, sizeof text, "the %s's %d heads are no multiple of its %d KV heads", what, shape->heads, shape->kv_heads);
        return contradiction(r, text);
    }
    if (shape->head % 2) {
        snprintf(text, sizeof text, "the %s's heads have %d values, an even number is expected", what, shape->head);
        return contradiction(r, text);
    }
    return PARLEY_OK;
}

typedef struct id_row {
    size_t field;
    const char *name;
} id_row;

static const id_row codec_ids[] = {
    {FIELD(codec_pad), "pad"},   {FIELD(codec_bos), "bos"},       {FIELD(codec_eos), "eos"},       {FIELD(think), "think"},
    {FIELD(nothink), "nothink"}, {FIELD(think_bos), "think_bos"}, {FIELD(think_eos), "think_eos"},
};

static const id_row text_ids[] = {
    {FIELD(im_start), "im_start"}, {FIELD(im_end), "im_end"}, {FIELD(tts_pad), "tts_pad"}, {FIELD(tts_bos), "tts_bos"}, {FIELD(tts_eos), "tts_eos"},
};

static parley_status check_ids(reader *r, const id_row *rows, size_t count, int32_t limit, const char *what)
{
    for (size_t i = 0; i < count; i++) {
        int32_t id = *(const int32_t *)(const void *)((const char *)r->config + rows[i].field);
        if (id < 0 || id >= limit)
            return pl_fail(r->error, PARLEY_FORMAT, "%s: the %s id %s is %d, 0 to %d is expected", r->where, what, rows[i].name, id, limit - 1);
    }
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ talker */

/* What the qts family takes for granted (spec/gguf_dialects.md C); in other dialects the tables ask for every value. */
static void talker_defaults(reader *r)
{
    tts_config *c = r->config;
    const tts_container *files = r->files->part[TTS_TALKER];
    c->text_vocabulary = 151936;
    c->text_width = 2048;
    c->codec_vocabulary = 3072;
    c->context_length = 32768;
    c->groups = 16;
    c->talker = (pl_transformer_shape){.layers = 28, .heads = 16, .kv_heads = 8, .head = 128, .ffn = 3072, .eps = 1e-6F, .theta = 1e6};
    c->talker.width = shape_or(pl_tts_dim(files, "talker.output_norm.weight", 1, 0), 1024);
    c->im_start = 151644, c->im_end = 151645;
    c->tts_pad = 151671, c->tts_bos = 151672, c->tts_eos = 151673;
    c->codec_pad = 2148, c->codec_bos = 2149, c->codec_eos = 2150;
    c->think = 2154, c->nothink = 2155, c->think_bos = 2156, c->think_eos = 2157;
}

/* qts and llama files hold neither type nor size: speakers make custom_voice, a speaker encoder makes base. The size matters for instructions alone,
 * and only the small model has a predictor as wide as its talker. */
static void deduce_kind(tts_config *config, const tts_files *files)
{
    const int dialect = files->part[TTS_TALKER]->dialect;
    const bool says = dialect == TTS_HF || dialect == TTS_PARLEY;
    if (says && *config->model_type) /* an empty size has a meaning of its own there: it takes no instructions */
        return;
    /* Whether there is a speaker encoder tells the mmproj file alone. */
    if (dialect == TTS_LLAMA && !config->n_speakers && !files->part[TTS_PREDICTOR])
        return;
    if (!*config->model_type)
        config->model_type = config->n_speakers > 0 ? "custom_voice" : config->has_speaker_encoder ? "base" : "voice_design";
    if (!*config->model_size && config->predictor.width > 0)
        config->model_size = config->predictor.width != config->talker.width ? "1b7" : "0b6";
}

static parley_status read_joined_names(reader *r, const tts_joined *joined)
{
    PL_TRY(pl_tts_joined_ids(&r->values, joined, r->config));
    return pl_tts_names_read(&r->values, joined, r->config);
}

/* llama: the text is as wide as the talker, since it is projected already; ids and names are those of the vocabulary. */
static parley_status read_joined(reader *r)
{
    tts_config *c = r->config;
    tts_joined joined = {0};
    c->text_width = c->talker.width;
    c->text_is_projected = true;
    PL_TRY(pl_tts_joined_sizes(r->files->part[TTS_TALKER], &c->text_vocabulary, &c->codec_vocabulary, r->error));
    parley_status status = pl_tts_joined_open(&r->values, c, &joined);
    if (status == PARLEY_OK)
        status = read_joined_names(r, &joined);
    pl_tts_joined_close(&joined);
    return status;
}

static parley_status read_ids(reader *r)
{
    PL_TRY(pl_values_read(&r->values, id_rows, COUNT(id_rows), r->config));
    PL_TRY(check_ids(r, codec_ids, COUNT(codec_ids), r->config->codec_vocabulary, "codec"));
    PL_TRY(check_ids(r, text_ids, COUNT(text_ids), r->config->text_vocabulary, "text"));
    return pl_tts_names_read(&r->values, NULL, r->config);
}

/* Files of ours say in what form they hold some values. */
static parley_status read_form(reader *r, const pl_value_row *rows, size_t count)
{
    return r->values.dialect == TTS_PARLEY ? pl_values_read(&r->values, rows, count, r->config) : PARLEY_OK;
}

static parley_status read_talker_values(reader *r)
{
    tts_config *c = r->config;
    PL_TRY(pl_values_only(&r->values, talker_only, COUNT(talker_only)));
    PL_TRY(pl_values_read(&r->values, talker_rows, COUNT(talker_rows), c));
    PL_TRY(read_form(r, talker_form_rows, COUNT(talker_form_rows)));
    PL_TRY(check_transformer(r, &c->talker, "talker"));
    if (c->text_is_projected && c->text_width != c->talker.width)
        return contradiction(r, "the text table is projected already, but not as wide as the talker");
    return r->values.dialect == TTS_LLAMA ? read_joined(r) : read_ids(r);
}

static parley_status read_generation(reader *r)
{
    tts_generation *g = &r->config->generation;
    bool hf = r->files->part[TTS_TALKER]->dialect == TTS_HF;
    *g = (tts_generation){true, true, 0.9F, 1.0F, 1.05F, 0.9F, 1.0F, 50, 50, 8192};
    if (hf)
        g->max_new_tokens = 2048; /* the reference's own value where the file is silent */
    PL_TRY(begin(r, TTS_TALKER, TTS_TALKER, "generation_config.json"));
    return end(r, pl_values_read(&r->values, generation_rows, COUNT(generation_rows), r->config));
}

static parley_status read_talker(reader *r)
{
    if (!r->files->part[TTS_TALKER])
        return PARLEY_OK;
    talker_defaults(r);
    PL_TRY(begin(r, TTS_TALKER, TTS_TOKENIZER, "config.json"));
    PL_TRY(end(r, read_talker_values(r)));
    return read_generation(r);
}

/* ------------------------------------------------------------------ predictor */

typedef struct predictor_names {
    const char *norm, *q_norm, *q, *k, *gate, *embedding;
    int embedding_rank; /* 3: the tables of all groups are one tensor */
} predictor_names;

static const predictor_names ggml_predictor = {"code_pred.output_norm.weight",
                                               "code_pred.blk.0.attn_q_norm.weight",
                                               "code_pred.blk.0.attn_q.weight",
                                               "code_pred.blk.0.attn_k.weight",
                                               "code_pred.blk.0.ffn_gate.weight",
                                               "code_pred.codec_embd.0.weight",
                                               2};
static const predictor_names llama_predictor = {"a.gen.code.output_norm.weight",
                                                "a.gen.code.blk.0.attn_q_norm.weight",
                                                "a.gen.code.blk.0.attn_q.weight",
                                                "a.gen.code.blk.0.attn_k.weight",
                                                "a.gen.code.blk.0.ffn_gate.weight",
                                                "a.gen.code.embd.weight",
                                                3};

static const predictor_names *names_of(const tts_container *c)
{
    return c->dialect == TTS_LLAMA ? &llama_predictor : &ggml_predictor;
}

static void predictor_defaults(reader *r)
{
    tts_config *c = r->config;
    const tts_container *f = r->files->part[TTS_PREDICTOR];
    const predictor_names *n = names_of(f);
    pl_transformer_shape *p = &c->predictor;
    *p = c->talker;
    p->layers = 5;
    c->codebook_size = 2048;
    p->width = shape_or(pl_tts_dim(f, n->norm, 1, 0), c->talker.width);
    p->head = shape_or(pl_tts_dim(f, n->q_norm, 1, 0), p->head);
    if (p->head > 0) {
        p->heads = shape_or(pl_tts_dim(f, n->q, 2, 0) / p->head, p->heads);
        p->kv_heads = shape_or(pl_tts_dim(f, n->k, 2, 0) / p->head, p->kv_heads);
    }
    p->ffn = shape_or(pl_tts_dim(f, n->gate, 2, 0), p->ffn);
}

/* llama files have no keys for these; the base of the rotation is the published one, whatever the talker's. */
static parley_status llama_groups(reader *r)
{
    static const char head[] = "a.gen.code.head.weight";
    tts_config *c = r->config;
    const tts_container *f = r->files->part[TTS_PREDICTOR];
    const tts_container *talker = r->files->part[TTS_TALKER];
    int64_t pages = pl_tts_dim(f, head, 3, 0), rows = pl_tts_dim(f, head, 3, 1);
    c->predictor.theta = 1e6;
    if (!pages)
        return pl_fail(r->error, PARLEY_MISSING, "%s: the tensor %s is not there", r->where, head);
    if (pages > 63 || rows < 1 || rows > 1 << 24)
        return pl_fail(r->error, PARLEY_FORMAT, "%s: %s has %lld pages of %lld rows, 1 to 63 pages are expected", r->where, head, (long long)pages,
                       (long long)rows);
    if (talker && talker->dialect != TTS_LLAMA && c->groups != (int)pages + 1)
        return contradiction(r, "the talker and the code predictor differ in the number of code groups");
    c->groups = (int)pages + 1;
    c->codebook_size = (int)rows;
    return PARLEY_OK;
}

static bool find_projection(const tts_files *files)
{
    static const tts_part parts[] = {TTS_PREDICTOR, TTS_TALKER};
    for (size_t i = 0; i < COUNT(parts); i++) {
        const tts_container *c = files->part[parts[i]];
        if (c && pl_tts_find(c, pl_tts_projection_names(c->dialect), ".weight"))
            return true;
    }
    return false;
}

/* Older exports of the small Base model have predictor keys that are wrong: the talker's geometry holds. */
static void legacy_geometry(reader *r)
{
    tts_config *c = r->config;
    const tts_container *f = r->files->part[TTS_PREDICTOR];
    int layers = c->predictor.layers;
    if (f->dialect != TTS_QTS || !r->files->part[TTS_TALKER] || c->talker.width != 1024 || c->predictor.width != 1024 || c->has_projection
        || pl_tts_dim(f, "code_pred.output_norm.weight", 1, 0) != 1024)
        return;
    c->predictor = c->talker;
    c->predictor.layers = layers;
}

/* Of a predictor alone: the width of its embeddings and how many there are. */
static parley_status lone_predictor(reader *r)
{
    tts_config *c = r->config;
    const tts_container *f = r->files->part[TTS_PREDICTOR];
    c->talker = (pl_transformer_shape){.heads = 16, .kv_heads = 8, .head = 128, .ffn = 3072, .eps = 1e-6F, .theta = 1e6};
    c->talker.width = shape_or(pl_tts_dim(f, names_of(f)->embedding, names_of(f)->embedding_rank, names_of(f)->embedding_rank - 1), 1024);
    c->groups = 16;
    return pl_values_read(&r->values, lone_predictor_rows, COUNT(lone_predictor_rows), c);
}

static parley_status read_predictor_values(reader *r)
{
    static const pl_value_row groups_row = {0, PL_INT, TTS_OPTIONAL, GROUPS, PREDICTOR("num_code_groups"), {Q "code_pred.num_code_groups"}};
    tts_config *c = r->config;
    if (!r->files->part[TTS_TALKER])
        PL_TRY(lone_predictor(r));
    predictor_defaults(r);
    if (r->values.dialect == TTS_LLAMA)
        PL_TRY(llama_groups(r));
    int32_t groups = c->groups;
    PL_TRY(pl_values_only(&r->values, predictor_only, COUNT(predictor_only)));
    PL_TRY(pl_values_read(&r->values, &groups_row, 1, &groups));
    if (groups != c->groups)
        return contradiction(r, "the talker and the code predictor differ in the number of code groups");
    PL_TRY(pl_values_read(&r->values, predictor_rows, COUNT(predictor_rows), c));
    /* The official class builds no projection for equal widths, whatever an upstream directory holds. */
    bool stored = r->files->part[TTS_PREDICTOR]->dialect != TTS_HF && find_projection(r->files);
    c->has_projection = stored || c->predictor.width != c->talker.width;
    legacy_geometry(r);
    PL_TRY(check_transformer(r, &c->predictor, "code predictor"));
    if (r->files->part[TTS_TALKER] && c->codebook_size > c->codec_vocabulary)
        return contradiction(r, "the codebook has more rows than the codec vocabulary");
    return PARLEY_OK;
}

static parley_status read_predictor(reader *r)
{
    if (!r->files->part[TTS_PREDICTOR])
        return PARLEY_OK;
    PL_TRY(begin(r, TTS_PREDICTOR, TTS_TALKER, "config.json"));
    return end(r, read_predictor_values(r));
}

/* ------------------------------------------------------------------ speaker encoder */

typedef struct speaker_names {
    const char *first, *se, *res, *mfa, *asp, *fc;
} speaker_names;

static const speaker_names speaker_names_of[TTS_DIALECTS] = {
    [TTS_HF] = {"speaker_encoder.blocks.0.conv.weight", "speaker_encoder.blocks.1.se_block.conv1.weight",
                "speaker_encoder.blocks.1.res2net_block.blocks.0.conv.weight", "speaker_encoder.mfa.conv.weight",
                "speaker_encoder.asp.tdnn.conv.weight", "speaker_encoder.fc.weight"},
    [TTS_QWENTTS] = {"spk_enc.conv0.weight", "spk_enc.blk.1.se.conv1.weight", "spk_enc.blk.1.res2net.0.weight", "spk_enc.mfa.weight",
                     "spk_enc.asp.tdnn.weight", "spk_enc.fc.weight"},
    [TTS_QTS] = {"spk_enc.conv0.weight", "spk_enc.blk.1.se.conv1.weight", "spk_enc.blk.1.res2net.0.weight", "spk_enc.mfa.weight",
                 "spk_enc.asp.tdnn.weight", "spk_enc.fc.weight"},
    [TTS_LLAMA] = {"a.conv1d.0.weight", "a.blk.1.se_conv1.weight", "a.blk.1.res2.0.weight", "a.conv_out.weight", "a.asp_tdnn.weight",
                   "mm.a.fc.weight"},
    [TTS_PARLEY] = {"spk_enc.conv0.weight", "spk_enc.blk.1.se.conv1.weight", "spk_enc.blk.1.res2net.0.weight", "spk_enc.mfa.weight",
                    "spk_enc.asp.tdnn.weight", "spk_enc.fc.weight"},
};

/* Published files name one size of the encoder alone: the others are those of the tensors. */
static void speaker_defaults(reader *r)
{
    const tts_container *c = r->files->part[TTS_SPEAKER];
    const speaker_names *n = &speaker_names_of[c->dialect];
    pl_speaker_shape *s = &r->config->speaker;
    s->channels = shape_or(pl_tts_dim(c, n->first, 3, 0), 512);
    s->mels = shape_or(pl_tts_dim(c, n->first, 3, 1), 128);
    s->se_channels = shape_or(pl_tts_dim(c, n->se, 3, 0), 128);
    s->mfa_channels = shape_or(pl_tts_dim(c, n->mfa, 3, 0), 1536);
    s->attention_channels = shape_or(pl_tts_dim(c, n->asp, 3, 0), 128);
    int64_t group = pl_tts_dim(c, n->res, 3, 0);
    s->scale = group > 0 && s->channels / group >= 2 && s->channels / group <= PL_SPEAKER_MAX_SCALE ? (int)(s->channels / group) : 8;
    r->config->xvector_length = shape_or(pl_tts_dim(c, n->fc, 3, 0), 1024);
}

static parley_status read_channels(reader *r)
{
    static const pl_value_row row = {0, PL_INTS, TTS_OPTIONAL, WIDTH, SPEAKER("enc_channels"), {NULL}};
    struct {
        int count, channels[PL_MAX_VALUES];
    } list = {0};
    PL_TRY(pl_values_read(&r->values, &row, 1, &list));
    if (list.count == 0)
        return PARLEY_OK;
    for (int i = 1; i < 4; i++)
        if (list.count != 5 || list.channels[i] != list.channels[0])
            return contradiction(r, "'speaker_encoder_config.enc_channels' is to be four equal numbers and another");
    r->config->speaker.channels = list.channels[0];
    r->config->speaker.mfa_channels = list.channels[4];
    return PARLEY_OK;
}

static parley_status read_speaker_values(reader *r)
{
    tts_config *c = r->config;
    speaker_defaults(r);
    PL_TRY(pl_values_only(&r->values, speaker_only, COUNT(speaker_only)));
    PL_TRY(pl_values_read(&r->values, speaker_rows, COUNT(speaker_rows), c));
    PL_TRY(read_channels(r));
    if (c->speaker.channels % c->speaker.scale)
        return contradiction(r, "the speaker encoder's channels are no multiple of its scale");
    if (r->files->part[TTS_TALKER] && c->xvector_length != c->talker.width)
        return contradiction(r, "the speaker vector is not as long as the talker is wide");
    c->has_speaker_encoder = true;
    return PARLEY_OK;
}

static parley_status read_speaker(reader *r)
{
    if (!r->files->part[TTS_SPEAKER])
        return PARLEY_OK;
    PL_TRY(begin(r, TTS_SPEAKER, TTS_SPEAKER, "config.json"));
    return end(r, read_speaker_values(r));
}

/* ------------------------------------------------------------------ codec */

static parley_status check_codec(reader *r)
{
    static const pl_value_row row = {0, PL_INT, TTS_OPTIONAL, 1, 1 << 24, "decode_upsample_rate", {C "decode_upsample_rate"}};
    pl_codec_shape *s = &r->config->codec;
    int64_t samples = 1;
    PL_TRY(check_transformer(r, &s->transformer, "codec"));
    for (int i = 0; i < s->n_ratios; i++)
        samples *= s->ratios[i];
    for (int i = 0; i < s->n_rates && samples < 1 << 24; i++)
        samples *= s->rates[i];
    int32_t stated = samples < 1 << 24 ? (int32_t)samples : 0;
    PL_TRY(pl_values_read(&r->values, &row, 1, &stated));
    if (stated != samples)
        return contradiction(r, "the codec's upsampling rates do not make its samples a frame");
    if (s->decoder_dim % (1 << s->n_rates))
        return contradiction(r, "the vocoder's channels cannot be halved by each of its blocks");
    return PARLEY_OK;
}

static parley_status read_encoder(reader *r)
{
    pl_encoder_shape *e = &r->config->encoder;
    PL_TRY(pl_values_only(&r->values, encoder_only, COUNT(encoder_only)));
    PL_TRY(pl_values_read(&r->values, encoder_rows, COUNT(encoder_rows), r->config));
    PL_TRY(check_transformer(r, &e->transformer, "codec encoder"));
    e->transformer.kind = PL_BLOCK_PLAIN;
    e->transformer.width = e->width;
    for (int i = 0, k = e->n_ratios - 1; i < k; i++, k--) {
        int swapped = e->ratios[i];
        e->ratios[i] = e->ratios[k], e->ratios[k] = swapped;
    }
    if (e->filters % 2)
        return contradiction(r, "the codec encoder's filters are no even number");
    r->config->has_encoder = true;
    return PARLEY_OK;
}

/* One more than the highest index behind the prefix. A gap is found when its tensors are looked up. */
static int count_blocks(const tts_container *c, const char *prefix)
{
    int count = 0;
    for (size_t i = 0; i < c->container.n_entries; i++) {
        const char *name = c->container.entries[i].name, *digits = name + strlen(prefix);
        if (strncmp(name, prefix, strlen(prefix)) != 0)
            continue;
        int index = 0;
        while (*digits >= '0' && *digits <= '9' && index < 100000)
            index = 10 * index + (*digits++ - '0');
        count = index >= count ? index + 1 : count;
    }
    return count;
}

/* The size of an axis of a tensor, which tells a value that the file has no key for. */
static parley_status size_of(reader *r, const char *name, int rank, int axis, int64_t most, int *size)
{
    int64_t found = pl_tts_dim(r->files->part[TTS_CODEC], name, rank, axis);
    if (!found)
        return pl_fail(r->error, PARLEY_MISSING, "%s: the tensor %s is not there", r->where, name);
    if (found > most)
        return pl_fail(r->error, PARLEY_FORMAT, "%s: axis %d of %s is %lld, 1 to %lld is expected", r->where, axis, name, (long long)found,
                       (long long)most);
    *size = (int)found;
    return PARLEY_OK;
}

/* Strides of the blocks' transposed convolutions, whose kernels are `factor` strides long. */
static parley_status read_strides(reader *r, const char *prefix, int factor, int *count, int strides[PL_CODEC_MAX_RATES])
{
    *count = count_blocks(r->files->part[TTS_CODEC], prefix);
    if (*count < 1 || *count > PL_CODEC_MAX_RATES)
        return pl_fail(r->error, *count ? PARLEY_FORMAT : PARLEY_MISSING, "%s: there are %d blocks %sN, 1 to %d are expected", r->where, *count,
                       prefix, PL_CODEC_MAX_RATES);
    for (int i = 0; i < *count; i++) {
        char name[PL_MODEL_NAME];
        snprintf(name, sizeof name, "%s%d.conv.weight", prefix, i);
        PL_TRY(size_of(r, name, 3, 2, 64 * factor, &strides[i]));
        if (strides[i] % factor)
            return pl_fail(r->error, PARLEY_FORMAT, "%s: the kernel of %s has %d values, a multiple of %d is expected", r->where, name, strides[i],
                           factor);
        strides[i] /= factor;
    }
    return PARLEY_OK;
}

/* The mmproj file of llama: sizes from shapes, the rest are constants of that engine and of the published codec (spec/gguf_dialects.md D.4). */
static parley_status codec_of_shapes(reader *r)
{
    enum { HEADS_OF_LLAMA = 16 };
    pl_codec_shape *s = &r->config->codec;
    for (size_t i = 0; i < COUNT(codec_shape_rows); i++) {
        const shape_row *row = &codec_shape_rows[i];
        PL_TRY(size_of(r, row->name, row->rank, row->axis, row->most, (int *)(void *)((char *)r->config + row->field)));
    }
    if (s->transformer.head % HEADS_OF_LLAMA)
        return contradiction(r, "the rows of " WAV "tfm.blk.0.attn_q.weight are no multiple of 16 heads");
    s->groups++;
    s->transformer.heads = s->transformer.kv_heads = HEADS_OF_LLAMA;
    s->transformer.head /= HEADS_OF_LLAMA;
    s->transformer.layers = count_blocks(r->files->part[TTS_CODEC], WAV "tfm.blk.");
    s->transformer.eps = 1e-5F;
    s->transformer.theta = 1e4;
    s->transformer.window = 72;
    s->sample_rate = 24000;
    r->config->snake_is_final = true;
    if (s->transformer.layers > 512)
        return contradiction(r, "the codec's transformer has more than 512 layers");
    PL_TRY(read_strides(r, WAV "up.blk.", 1, &s->n_ratios, s->ratios));
    return read_strides(r, WAV "dac.blk.", 2, &s->n_rates, s->rates);
}

typedef struct codec_names {
    const char *codebook, *encoder; /* tensors; NULL: the dialect has none */
} codec_names;

static const codec_names codec_names_of[TTS_DIALECTS] = {
    [TTS_HF] = {"decoder.quantizer.rvq_first.vq.layers.0._codebook.embedding_sum", "encoder.encoder.layers.0.conv.weight"},
    [TTS_QWENTTS] = {"tok_dec.vq_first.0.codebook", "tok_enc.conv.0.weight"},
    [TTS_QTS] = {"tok_dec.vq_first.0.codebook", "tok_enc.conv.0.weight"},
    [TTS_LLAMA] = {WAV "quant.first.codebook.weight", NULL},
    [TTS_PARLEY] = {"tok_dec.vq_first.0.codebook", "tok_enc.conv.0.weight"},
};

static parley_status read_codec_values(reader *r)
{
    const tts_container *c = r->files->part[TTS_CODEC];
    const codec_names *names = &codec_names_of[c->dialect];
    pl_codec_shape *s = &r->config->codec;
    if (c->dialect == TTS_LLAMA)
        PL_TRY(codec_of_shapes(r));
    PL_TRY(pl_values_only(&r->values, codec_only, COUNT(codec_only)));
    PL_TRY(pl_values_read(&r->values, codec_rows, COUNT(codec_rows), r->config));
    PL_TRY(read_form(r, codec_form_rows, COUNT(codec_form_rows)));
    /* The keys name the width behind the projection; upstream's class halves it for the rows inside. */
    s->codebook_width = shape_or(pl_tts_dim(c, names->codebook, 2, 1), s->rvq_width / 2);
    PL_TRY(check_codec(r));
    r->config->has_codec = true;
    return names->encoder && pl_tts_find(c, names->encoder, "") ? read_encoder(r) : PARLEY_OK;
}

static parley_status read_codec(reader *r)
{
    if (!r->files->part[TTS_CODEC])
        return PARLEY_OK;
    PL_TRY(begin(r, TTS_CODEC, TTS_CODEC, "config.json"));
    return end(r, read_codec_values(r));
}

/* A codec may come from elsewhere: it must speak the talker's codes. */
static parley_status check_pair(reader *r)
{
    const tts_config *c = r->config;
    if (!r->files->part[TTS_PREDICTOR] || !r->files->part[TTS_CODEC] || (c->groups == c->codec.groups && c->codebook_size == c->codec.codebook_size))
        return PARLEY_OK;
    return pl_fail(r->error, PARLEY_FORMAT, "%s: this codec takes %d codes of %d a frame, but the model makes %d of %d", r->where, c->codec.groups,
                   c->codec.codebook_size, c->groups, c->codebook_size);
}

parley_status pl_tts_config_read(tts_files *files, tts_config *config, parley_error *error)
{
    reader r = {.files = files, .config = config, .error = error};
    *config = (tts_config){.model_type = "", .model_size = "", .codec_type = "f32"};
    PL_TRY(read_talker(&r));
    PL_TRY(read_predictor(&r));
    PL_TRY(read_speaker(&r));
    PL_TRY(read_codec(&r));
    PL_TRY(check_pair(&r));
    if (!files->part[TTS_TALKER])
        return PARLEY_OK;
    deduce_kind(config, files);
    config->xvector_length = strcmp(config->model_type, "base") == 0 ? config->talker.width : 0;
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ writing */

/* Files have the rates of the encoder from the last stage to the first. */
static tts_config as_stored(const tts_config *config)
{
    tts_config c = *config;
    for (int i = 0; i < c.encoder.n_ratios; i++)
        c.encoder.ratios[i] = config->encoder.ratios[c.encoder.n_ratios - 1 - i];
    return c;
}

parley_status pl_tts_config_write(const tts_files *files, const tts_config *config, pl_arena *arena, pl_gguf_head *head, parley_error *error)
{
    const tts_config c = as_stored(config);
    if (files->part[TTS_TALKER]) {
        pl_values_write(talker_rows, COUNT(talker_rows), &c, head);
        pl_values_write(talker_form_rows, COUNT(talker_form_rows), &c, head);
        pl_values_write(id_rows, COUNT(id_rows), &c, head);
        pl_values_write(generation_rows, COUNT(generation_rows), &c, head);
        PL_TRY(pl_tts_names_write(&c, arena, head, error));
    }
    if (files->part[TTS_PREDICTOR])
        pl_values_write(predictor_rows, COUNT(predictor_rows), &c, head);
    if (c.has_speaker_encoder)
        pl_values_write(speaker_rows, COUNT(speaker_rows), &c, head);
    if (c.has_codec) {
        pl_values_write(codec_rows, COUNT(codec_rows), &c, head);
        pl_values_write(codec_form_rows, COUNT(codec_form_rows), &c, head);
    }
    if (c.has_encoder)
        pl_values_write(encoder_rows, COUNT(encoder_rows), &c, head);
    return PARLEY_OK;
}
