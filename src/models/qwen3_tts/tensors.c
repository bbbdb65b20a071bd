/* Resolves the catalogue: one loop over its rows. */
#include "models/qwen3_tts/catalogue.h"

#include <string.h>

#define COUNT(rows) (sizeof(rows) / sizeof *(rows))

typedef struct resolver resolver;

/* What is done with each tensor of the catalogue. */
typedef void (*visit_tensor)(resolver *r, const tensor_row *row, pl_name_values values, const char *suffix, const int64_t *shape, int rank,
                             pl_tensor *out);

struct resolver {
    visit_tensor visit;
    tts_files *files;
    const tts_config *config;
    const tts_resolve *how;
    tts_tensors *tensors;
    parley_error *error;
    int64_t sizes[SYMBOLS - FIRST_SYMBOL];
    pl_findings findings;
    pl_quantization *list; /* that tensors are added to */
};

/* ------------------------------------------------------------------ names */

static const pl_container *weights(const tts_container *container)
{
    return container && container->has_weights ? &container->container : NULL;
}

pl_entry *pl_tts_find(const tts_container *container, const char *names, const char *suffix)
{
    char name[PL_MODEL_NAME];
    return pl_catalogue_find(weights(container), names, (pl_name_values){0}, suffix, name);
}

int64_t pl_tts_dim(const tts_container *container, const char *name, int rank, int axis)
{
    return pl_catalogue_dim(weights(container), name, rank, axis);
}

const char *pl_tts_projection_names(int dialect)
{
    return dialect == TTS_HF ? HF_PROJECTION : dialect == TTS_LLAMA ? LLAMA_PROJECTION : GGML_PROJECTION;
}

static const char *names_in(const tensor_row *row, int dialect)
{
    return dialect == TTS_HF ? row->hf : dialect == TTS_LLAMA ? row->llama : row->ggml;
}

/* ------------------------------------------------------------------ sizes */

static void set(resolver *r, int symbol, int64_t size)
{
    r->sizes[symbol - FIRST_SYMBOL] = size;
}

static int64_t get(const resolver *r, int symbol)
{
    return symbol < FIRST_SYMBOL ? symbol : r->sizes[symbol - FIRST_SYMBOL];
}

/* q, kv, head, ffn, layers follow the width in the order of the symbols; 0 for those that are not asked for. */
static void set_transformer(resolver *r, const pl_transformer_shape *s, const int symbol[6])
{
    const int64_t sizes[6] = {s->width, (int64_t)s->heads * s->head, (int64_t)s->kv_heads * s->head, s->head, s->ffn, s->layers};
    for (int i = 0; i < 6; i++)
        if (symbol[i])
            set(r, symbol[i], sizes[i]);
}

static void set_model(resolver *r)
{
    const tts_config *c = r->config;
    bool joined = r->files->part[TTS_TALKER] && r->files->part[TTS_TALKER]->dialect == TTS_LLAMA;
    set(r, TEXT_ROWS, (int64_t)c->text_vocabulary + (joined ? c->codec_vocabulary : 0));
    set(r, TEXT_WIDTH, c->text_width);
    set(r, CODEC_VOCABULARY, c->codec_vocabulary);
    set(r, REST, c->groups - 1);
    set(r, BOOK, c->codebook_size);
    set_transformer(r, &c->talker, (const int[6]){T_WIDTH, T_Q, T_KV, T_HEAD, T_FFN, T_LAYERS});
    set_transformer(r, &c->predictor, (const int[6]){P_WIDTH, P_Q, P_KV, P_HEAD, P_FFN, P_LAYERS});
    const pl_speaker_shape *s = &c->speaker;
    int scale = s->scale > 0 ? s->scale : 1;
    set(r, S_CHANNELS, s->channels);
    set(r, S_MELS, s->mels);
    set(r, S_GROUP, s->channels / scale);
    set(r, S_GROUPS, scale - 1);
    set(r, S_SE, s->se_channels);
    set(r, S_MFA, s->mfa_channels);
    set(r, S_MFA2, (int64_t)2 * s->mfa_channels);
    set(r, S_MFA3, (int64_t)3 * s->mfa_channels);
    set(r, S_BLOCKS3, (int64_t)PL_SPEAKER_BLOCKS * s->channels);
    set(r, S_ATTENTION, s->attention_channels);
    const tts_container *speaker = r->files->part[TTS_SPEAKER];
    set(r, S_VECTOR, c->xvector_length || !speaker ? c->xvector_length : c->talker.width);
}

static void set_codec(resolver *r)
{
    const pl_codec_shape *s = &r->config->codec;
    set(r, C_GROUPS_REST, s->groups - 1);
    set(r, C_BOOK, s->codebook_size);
    set(r, C_ROW, s->codebook_width);
    set(r, C_RVQ, s->rvq_width);
    set(r, C_LATENT, s->latent);
    set(r, C_LATENT4, (int64_t)4 * s->latent);
    set_transformer(r, &s->transformer, (const int[6]){C_WIDTH, C_Q, C_KV, 0, C_FFN, C_LAYERS});
    set(r, C_UPS, s->n_ratios);
    set(r, C_STAGES, s->n_rates);
    set(r, C_FIRST, s->decoder_dim);
    set(r, C_LAST, s->decoder_dim >> s->n_rates);
    const pl_encoder_shape *e = &r->config->encoder;
    set(r, E_GROUPS_REST, e->groups - 1);
    set(r, E_BOOK, e->codebook_size);
    set(r, E_ROW, e->codebook_width);
    set(r, E_FILTERS, e->filters);
    set_transformer(r, &e->transformer, (const int[6]){E_WIDTH, E_Q, E_KV, 0, E_FFN, E_LAYERS});
    set(r, E_STAGES, e->n_ratios);
    set(r, E_LAST, (int64_t)e->filters << e->n_ratios);
}

/* Sizes that depend on the stage; a group without stages asks for none of them. */
static void set_stage(resolver *r, int64_t i)
{
    const pl_codec_shape *s = &r->config->codec;
    const pl_encoder_shape *e = &r->config->encoder;
    if (i >= PL_CODEC_MAX_RATES)
        return;
    set(r, C_RATIO, s->ratios[i]);
    set(r, C_IN, s->decoder_dim >> i);
    set(r, C_OUT, s->decoder_dim >> (i + 1));
    set(r, C_TAPS, 2 * s->rates[i]);
    set(r, E_IN, (int64_t)e->filters << i);
    set(r, E_HALF, (int64_t)e->filters << i >> 1);
    set(r, E_OUT, (int64_t)e->filters << (i + 1));
    set(r, E_TAPS, 2 * e->ratios[i]);
}

/* ------------------------------------------------------------------ one tensor */

/* In which files a tensor may lie; none when the other file of a pair is not there. */
static int places(const resolver *r, const tensor_row *row, const tts_container *out[2])
{
    const tts_files *files = r->files;
    out[0] = files->part[groups[row->group].part];
    out[1] = row->when == WITH_PROJECTION ? files->part[TTS_TALKER] : NULL;
    if (row->when == WITH_REST && out[0]->dialect == TTS_LLAMA)
        out[0] = files->part[TTS_PREDICTOR];
    return !out[0] ? 0 : out[1] && out[1] != out[0] ? 2 : 1;
}

static bool is_needed(const resolver *r, const tensor_row *row, const tts_container *container)
{
    switch (row->when) {
    case NEEDED:
    case WITH_REST: return true;
    case NOT_IN_QTS: return container->dialect != TTS_QTS && container->dialect != TTS_PARLEY;
    case WITH_TEXT_PROJECTION: return !r->config->text_is_projected;
    case WITH_PROJECTION: return r->config->has_projection;
    }
    return true;
}

/* Vectors, tables and what stays in float32 are rows; so is the speaker encoder, which is never packed in files. */
static pl_use use_of(const tensor_row *row, const int64_t *shape, int rank)
{
    bool rows = row->kind == TABLE || row->kind == BOOK_ROWS || row->kind == DEPTHWISE || groups[row->group].part == TTS_SPEAKER;
    if (rank == 1 || rows)
        return (pl_use){PL_FORM_ROWS, 1};
    if (row->kind == TRANSPOSED)
        return (pl_use){PL_FORM_TRANSPOSED, (int)(row->group == CODEC_STAGE ? shape[2] / 2 : shape[2])};
    return (pl_use){rank == 3 ? PL_FORM_CONV : PL_FORM_LINEAR, 1};
}

static void resolve_one(resolver *r, const tensor_row *row, pl_name_values values, const char *suffix, const int64_t *shape, int rank, pl_tensor *out)
{
    const tts_container *place[2];
    char name[PL_MODEL_NAME], other[PL_MODEL_NAME];
    pl_entry *entry = NULL;
    int n = places(r, row, place);
    const char *names = n ? names_in(row, place[0]->dialect) : NULL;
    if (!names)
        return;
    entry = pl_catalogue_find(weights(place[0]), names, values, suffix, name);
    if (!entry && n == 2 && names_in(row, place[1]->dialect))
        entry = pl_catalogue_find(weights(place[1]), names_in(row, place[1]->dialect), values, suffix, other);
    if (entry)
        pl_catalogue_take(&r->findings, entry, shape, rank, use_of(row, shape, rank), out);
    else if (is_needed(r, row, place[0]))
        pl_catalogue_missing(&r->findings, name, shape, rank);
}

/* ------------------------------------------------------------------ one row */

static int shape_of(const resolver *r, const tensor_row *row, int64_t shape[PL_MAX_RANK])
{
    int rank = 0;
    for (; rank < PL_MAX_RANK && row->shape[rank]; rank++)
        shape[rank] = get(r, row->shape[rank]);
    return rank;
}

static void visit_pair(resolver *r, const tensor_row *row, pl_name_values values, pl_tensor *out)
{
    int64_t shape[PL_MAX_RANK] = {0};
    int rank = shape_of(r, row, shape);
    const int64_t bias = shape[row->kind == TRANSPOSED ? 1 : 0];
    r->visit(r, row, values, members[row->kind].suffix[0], shape, rank, &out[0]);
    if (members[row->kind].count == 2)
        r->visit(r, row, values, members[row->kind].suffix[1], &bias, 1, &out[1]);
}

/* Whether the row's list is to be made of the pages of one tensor. When tensors are listed, pages are tensors like any other. */
static bool is_paged(const resolver *r, const tensor_row *row)
{
    const tts_container *c = r->files->part[groups[row->group].part];
    return !r->list && c->dialect == TTS_LLAMA && row->llama && groups[row->group].list && groups[row->group].count_i && !strchr(row->llama, '{');
}

/* Rows lie one behind the other, so that a page is a view like any other. */
static void resolve_pages(resolver *r, const tensor_row *row, int64_t count, char *base, size_t stride)
{
    int64_t shape[PL_MAX_RANK] = {count};
    int rank = 1;
    pl_tensor all = {0};
    for (; rank < PL_MAX_RANK && row->shape[rank - 1]; rank++)
        shape[rank] = get(r, row->shape[rank - 1]);
    resolve_one(r, row, (pl_name_values){0}, "", shape, rank, &all);
    for (int64_t i = 0; i < count && all.data; i++) {
        pl_tensor page = all;
        page.rank = rank - 1;
        memcpy(page.shape, shape + 1, (size_t)page.rank * sizeof *shape);
        page.bytes = all.bytes / (size_t)count;
        page.data = (const uint8_t *)all.data + (size_t)i * page.bytes;
        memcpy(base + (size_t)i * stride, &page, sizeof page);
    }
}

static void visit_row(resolver *r, const tensor_row *row)
{
    const group *g = &groups[row->group];
    char *base = (char *)r->tensors + g->base, *list;
    if (g->list) {
        memcpy(&list, base, sizeof list);
        base = list;
    }
    int64_t count_i = g->count_i ? get(r, g->count_i) : 1, count_j = g->count_j ? get(r, g->count_j) : 1;
    if (is_paged(r, row)) {
        resolve_pages(r, row, count_i, base + row->field, g->stride_i);
        return;
    }
    for (int64_t i = 0; i < count_i; i++) {
        set_stage(r, i);
        for (int64_t j = 0; j < count_j; j++) {
            const pl_name_values values = {i, j, r->config->codec.n_rates, r->config->encoder.n_ratios};
            visit_pair(r, row, values, (pl_tensor *)(void *)(base + row->field + (size_t)i * g->stride_i + (size_t)j * g->stride_j));
        }
    }
}

/* ------------------------------------------------------------------ all rows */

static parley_status make_lists(resolver *r)
{
    tts_tensors *t = r->tensors;
    const tts_config *c = r->config;
    pl_arena *arena = &r->files->arena;
    size_t rest = c->groups > 0 ? (size_t)c->groups - 1 : 0;
    t->blocks = PL_NEW_ARRAY(arena, pl_lm_block_tensors, c->talker.layers);
    t->predictor_blocks = PL_NEW_ARRAY(arena, pl_lm_block_tensors, c->predictor.layers);
    t->predictor_embeddings = PL_NEW_ARRAY(arena, pl_tensor, rest);
    t->predictor_heads = PL_NEW_ARRAY(arena, pl_tensor, rest);
    t->codec.codebooks = PL_NEW_ARRAY(arena, pl_tensor, c->codec.groups);
    t->codec.usages = PL_NEW_ARRAY(arena, pl_tensor, c->codec.groups);
    t->codec.blocks = PL_NEW_ARRAY(arena, struct pl_codec_block_tensors, c->codec.transformer.layers);
    t->encoder.codebooks = PL_NEW_ARRAY(arena, pl_tensor, c->encoder.groups);
    t->encoder.usages = PL_NEW_ARRAY(arena, pl_tensor, c->encoder.groups);
    t->encoder.blocks = PL_NEW_ARRAY(arena, struct pl_encoder_block_tensors, c->encoder.transformer.layers);
    bool made = t->blocks && t->predictor_blocks && t->predictor_embeddings && t->predictor_heads && t->codec.codebooks && t->codec.usages
                && t->codec.blocks && t->encoder.codebooks && t->encoder.usages && t->encoder.blocks;
    return made ? PARLEY_OK : pl_fail_memory(r->error, "the list of tensors");
}

static bool is_there(const resolver *r, const group *g)
{
    return r->files->part[g->part] && (!g->encoder || r->config->has_encoder);
}

/* What a use of the model cannot do without; with a report everything that is there counts. */
static bool is_wanted(const resolver *r, const group *g)
{
    if (r->how->report)
        return true;
    switch (r->how->needed) {
    case PARLEY_PARTS_ALL: return g->part != TTS_SPEAKER && !g->encoder;
    case PARLEY_PARTS_CLONE: return true;
    case PARLEY_PARTS_CODEC: return g->part == TTS_CODEC && !g->encoder;
    case PARLEY_PARTS_CODEC_ENCODER: return g->part == TTS_CODEC && g->encoder;
    case PARLEY_PARTS_SPEAKER: return g->part == TTS_SPEAKER;
    case PARLEY_PARTS_TEXT: break;
    }
    return false;
}

/* What llama files hold otherwise. The table's rows behind the text are those of the codec embedding, which the mmproj file has again. */
static void undo_llama(const tts_files *files, const tts_config *config, tts_tensors *t)
{
    pl_tensor *table = &t->text_embedding;
    if (!files->part[TTS_TALKER] || files->part[TTS_TALKER]->dialect != TTS_LLAMA || !table->data)
        return;
    table->bytes = table->bytes / (size_t)table->shape[0] * (size_t)config->text_vocabulary;
    table->shape[0] = config->text_vocabulary;
}

/* Faults of tensors that are there but not wanted are forgotten: whoever needs them sees that their data is NULL. */
static void resolve_rows(resolver *r)
{
    for (size_t i = 0; i < COUNT(tensor_rows); i++) {
        const group *g = &groups[tensor_rows[i].group];
        if (!is_there(r, g))
            continue;
        resolver before = *r;
        visit_row(r, &tensor_rows[i]);
        if (!is_wanted(r, g))
            *r = before;
    }
}

/* A codec that another one replaces is none of our business. */
static void report_unused(resolver *r)
{
    static const char *const replaced[] = {WAV};
    const tts_container *codec = r->files->part[TTS_CODEC];
    for (int k = 0; k < r->files->n_containers; k++) {
        const tts_container *c = &r->files->containers[k];
        bool apart = r->files->codec_source && c->dialect == TTS_LLAMA && c != codec;
        if (weights(c))
            pl_findings_add_unused(&r->findings, weights(c), apart ? replaced : without_effect, apart ? COUNT(replaced) : COUNT(without_effect));
    }
}

parley_status pl_tts_tensors_resolve(tts_files *files, const tts_config *config, const tts_resolve *how, tts_tensors *tensors, parley_error *error)
{
    resolver r = {.visit = resolve_one, .files = files, .config = config, .how = how, .tensors = tensors, .error = error};
    r.findings = (pl_findings){.report = how->report, .context = how->context, .values = how->values, .arena = &files->arena};
    *tensors = (tts_tensors){0};
    PL_TRY(make_lists(&r));
    set_model(&r);
    set_codec(&r);
    resolve_rows(&r);
    tensors->codec.snake_is_final = config->snake_is_final;
    undo_llama(files, config, tensors);
    if (how->report)
        report_unused(&r);
    if (how->faults)
        *how->faults = r.findings.faults;
    return r.findings.faults && !how->report ? pl_findings_fail(&r.findings, error) : PARLEY_OK;
}

/* ------------------------------------------------------------------ listing */

static pl_quantized_part part_of(const group *g)
{
    switch (g->part) {
    case TTS_TALKER: return PL_PART_TALKER;
    case TTS_PREDICTOR: return PL_PART_PREDICTOR;
    case TTS_CODEC: return g->encoder ? PL_PART_ENCODER : PL_PART_CODEC;
    default: return PL_PART_KEPT;
    }
}

static pl_quantized_role role_of(const tensor_row *row, pl_use use)
{
    if (row->kind == TABLE)
        return PL_ROLE_TABLE;
    if (row->kind == BOOK_PROJECTION)
        return PL_ROLE_KEPT;
    if (use.form == PL_FORM_ROWS)
        return PL_ROLE_VALUES;
    return row->kind == HEAD || row->kind == HEAD_PAIR ? PL_ROLE_HEAD : PL_ROLE_LAYER;
}

/* Codebooks of upstream's are sums, to be divided by counts. */
static const pl_tensor *divisor_of(const resolver *r, const tensor_row *row, const pl_tensor *book)
{
    const tts_tensors *t = r->tensors;
    if (row->group == CODEC_BOOK || row->group == CODEC_BOOKS)
        return &t->codec.usages[book - t->codec.codebooks];
    if (row->group == ENCODER_BOOK || row->group == ENCODER_BOOKS)
        return &t->encoder.usages[book - t->encoder.codebooks];
    return NULL;
}

/* Upstream's files may hold projections that nobody reads. */
static bool is_used(const resolver *r, const tensor_row *row)
{
    switch (row->when) {
    case WITH_PROJECTION: return r->config->has_projection;
    case WITH_TEXT_PROJECTION: return !r->config->text_is_projected;
    default: return true;
    }
}

static void list_one(resolver *r, const tensor_row *row, pl_name_values values, const char *suffix, const int64_t *shape, int rank, pl_tensor *out)
{
    char name[PL_MODEL_NAME];
    if (!out->data || !row->ggml || !is_used(r, row))
        return;
    pl_use use = use_of(row, shape, rank);
    const pl_tensor *divisor = divisor_of(r, row, out);
    pl_catalogue_name(row->ggml, values, suffix, name);
    pl_quantization_add(r->list, name, out, divisor && divisor->data ? divisor : NULL, use, part_of(&groups[row->group]), role_of(row, use));
}

parley_status pl_tts_tensors_list(tts_files *files, const tts_config *config, tts_tensors *tensors, pl_quantization *list, parley_error *error)
{
    resolver r = {.visit = list_one, .files = files, .config = config, .tensors = tensors, .list = list, .error = error};
    set_model(&r);
    set_codec(&r);
    for (size_t i = 0; i < COUNT(tensor_rows); i++)
        if (is_there(&r, &groups[tensor_rows[i].group]))
            visit_row(&r, &tensor_rows[i]);
    return list->failed ? pl_fail_memory(error, "the list of tensors") : PARLEY_OK;
}

void pl_tts_tensor_drop(tts_files *files, const pl_tensor *tensor)
{
    pl_model_files_drop(files, tensor);
}
