/* Resolves the catalogue: one loop over its rows, one way of telling what is missing, misshapen, of a wrong type, not finite or unused. */
#include "models/qwen3_tts/catalogue.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define COUNT(rows) (sizeof(rows) / sizeof *(rows))

typedef struct resolver {
    tts_files *files;
    const tts_config *config;
    const tts_resolve *how;
    tts_tensors *tensors;
    parley_error *error;
    int64_t sizes[SYMBOLS - FIRST_SYMBOL];
    size_t faults;
    parley_status status; /* of the first fault */
    char text[400];       /* the faults that fit */
    size_t length, told;
} resolver;

/* ------------------------------------------------------------------ names */

/* One {3i+1} of a pattern; returns what follows it. */
static const char *expand_index(const char *pattern, const int64_t value[4], int64_t *result)
{
    static const char letters[] = "ijre";
    int64_t factor = 0, addition = 0;
    const char *p = pattern;
    while (*p >= '0' && *p <= '9')
        factor = 10 * factor + (*p++ - '0');
    int64_t base = value[strchr(letters, *p) - letters];
    for (p += p[1] == '+' ? 2 : 1; *p != '}'; p++)
        addition = 10 * addition + (*p - '0');
    *result = (factor ? factor : 1) * base + addition;
    return p + 1;
}

/* The first `length` characters of a pattern with a suffix. Names of the catalogue fit. */
static void expand(const char *pattern, size_t length, const int64_t value[4], const char *suffix, char name[TTS_NAME])
{
    size_t at = 0;
    for (const char *p = pattern; p < pattern + length && at < TTS_NAME;) {
        int64_t index;
        if (*p != '{') {
            name[at++] = *p++;
            continue;
        }
        p = expand_index(p + 1, value, &index);
        at += (size_t)snprintf(name + at, TTS_NAME - at, "%d", (int)index);
    }
    snprintf(name + at, at < TTS_NAME ? TTS_NAME - at : 0, "%s", suffix);
}

static pl_entry *lookup(const tts_container *container, const char *name)
{
    return container && container->has_weights ? pl_container_find(&container->container, name) : NULL;
}

/* `name`: the one that was found, else the first. */
static pl_entry *find(const tts_container *container, const char *names, const int64_t value[4], const char *suffix, char name[TTS_NAME])
{
    for (const char *p = names; *p;) {
        size_t length = strcspn(p, "|");
        expand(p, length, value, suffix, name);
        pl_entry *entry = lookup(container, name);
        if (entry)
            return entry;
        p += length + (p[length] == '|');
    }
    expand(names, strcspn(names, "|"), value, suffix, name);
    return NULL;
}

pl_entry *pl_tts_find(const tts_container *container, const char *names, const char *suffix)
{
    static const int64_t none[4] = {0};
    char name[TTS_NAME];
    return find(container, names, none, suffix, name);
}

const char *pl_tts_projection_names(tts_dialect dialect)
{
    return dialect == TTS_HF ? HF_PROJECTION : GGML_PROJECTION;
}

int64_t pl_tts_dim(const tts_container *container, const char *name, int rank, int axis)
{
    const pl_entry *entry = lookup(container, name);
    if (!entry)
        return 0;
    int at = axis - (rank - entry->tensor.rank);
    return at < 0 ? 1 : at < entry->tensor.rank ? entry->tensor.shape[at] : 0;
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
    set(r, TEXT_VOCABULARY, c->text_vocabulary);
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

/* ------------------------------------------------------------------ findings */

static void note(resolver *r, const char *name, const char *text)
{
    char item[TTS_NAME + 160];
    int length = snprintf(item, sizeof item, "%s%s (%s)", r->told ? ", " : "", name, text);
    if (length < 0 || r->told == 3 || r->length + (size_t)length >= sizeof r->text)
        return;
    memcpy(r->text + r->length, item, (size_t)length + 1);
    r->length += (size_t)length;
    r->told++;
}

static void finding(resolver *r, parley_finding_kind kind, const char *name, const char *format, ...) PL_PRINTF(4, 5);

static void finding(resolver *r, parley_finding_kind kind, const char *name, const char *format, ...)
{
    static const parley_status statuses[] = {
        [PARLEY_FINDING_MISSING] = PARLEY_MISSING, [PARLEY_FINDING_SHAPE] = PARLEY_SHAPE, [PARLEY_FINDING_TYPE] = PARLEY_UNSUPPORTED,
        [PARLEY_FINDING_VALUE] = PARLEY_VALUE,     [PARLEY_FINDING_UNUSED] = PARLEY_OK,
    };
    char text[160];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (r->how->report)
        r->how->report(r->how->context, &(parley_finding){kind, name, text});
    if (kind == PARLEY_FINDING_UNUSED)
        return;
    if (r->faults++ == 0)
        r->status = statuses[kind];
    note(r, name, text);
}

/* ------------------------------------------------------------------ one tensor */

static int without_ones(const int64_t *shape, int rank, int64_t out[PL_MAX_RANK])
{
    int n = 0;
    for (int i = 0; i < rank; i++)
        if (shape[i] != 1)
            out[n++] = shape[i];
    return n;
}

/* Axes of 1 come and go in files. */
static bool same_shape(const pl_tensor *tensor, const int64_t *shape, int rank)
{
    int64_t a[PL_MAX_RANK], b[PL_MAX_RANK];
    int n = without_ones(tensor->shape, tensor->rank, a);
    return n == without_ones(shape, rank, b) && memcmp(a, b, (size_t)n * sizeof *a) == 0;
}

/* Whether the tensor can be used; it then gets its canonical shape. */
static bool accept(resolver *r, const pl_entry *entry, const int64_t *shape, int rank, pl_tensor *out)
{
    char expected[96], got[96];
    const pl_tensor *t = &entry->tensor;
    if (t->type == PL_OTHER || t->type == PL_I32) {
        finding(r, PARLEY_FINDING_TYPE, entry->name, "type %s, numbers with a fraction are expected", entry->stored);
        return false;
    }
    if (!same_shape(t, shape, rank)) {
        pl_shape_text(shape, rank, expected, sizeof expected);
        pl_shape_text(t->shape, t->rank, got, sizeof got);
        finding(r, PARLEY_FINDING_SHAPE, entry->name, "%s is expected, %s found", expected, got);
        return false;
    }
    if (shape[rank - 1] % pl_type_info(t->type)->values) {
        finding(r, PARLEY_FINDING_TYPE, entry->name, "rows of %lld values in blocks of type %s", (long long)shape[rank - 1], entry->stored);
        return false;
    }
    *out = *t;
    out->rank = rank;
    memcpy(out->shape, shape, (size_t)rank * sizeof *shape);
    return true;
}

static void check_values(resolver *r, const pl_entry *entry)
{
    if (!r->how->report || !r->how->values)
        return;
    int64_t at = pl_first_not_finite(&entry->tensor);
    if (at >= 0)
        finding(r, PARLEY_FINDING_VALUE, entry->name, "value %lld is not finite", (long long)at);
}

/* In which files a tensor may lie. */
static int places(const resolver *r, const tensor_row *row, const tts_container *out[2])
{
    tts_part part = groups[row->group].part;
    out[0] = r->files->part[part];
    out[1] = row->when == WITH_PROJECTION ? r->files->part[TTS_TALKER] : NULL;
    return out[1] && out[1] != out[0] ? 2 : 1;
}

static bool is_needed(const resolver *r, const tensor_row *row, const tts_container *container)
{
    switch (row->when) {
    case NEEDED: return true;
    case NOT_IN_QTS: return container->dialect != TTS_QTS;
    case WITH_PROJECTION: return r->config->has_projection;
    }
    return true;
}

static void resolve_one(resolver *r, const tensor_row *row, const int64_t value[4], const char *suffix, const int64_t *shape, int rank,
                        pl_tensor *out)
{
    const tts_container *place[2];
    char name[TTS_NAME], other[TTS_NAME], expected[96];
    pl_entry *entry = NULL;
    int n = places(r, row, place);
    const char *names = place[0]->dialect == TTS_HF ? row->hf : row->ggml;
    if (!names)
        return;
    entry = find(place[0], names, value, suffix, name);
    if (!entry && n == 2)
        entry = find(place[1], place[1]->dialect == TTS_HF ? row->hf : row->ggml, value, suffix, other);
    if (entry) {
        entry->used = true;
        if (accept(r, entry, shape, rank, out))
            check_values(r, entry);
    } else if (is_needed(r, row, place[0])) {
        pl_shape_text(shape, rank, expected, sizeof expected);
        finding(r, PARLEY_FINDING_MISSING, name, "missing, %s is expected", expected);
    }
}

/* ------------------------------------------------------------------ one row */

static void resolve_pair(resolver *r, const tensor_row *row, const int64_t value[4], pl_tensor *out)
{
    int64_t shape[PL_MAX_RANK] = {0};
    int rank = 0;
    while (rank < PL_MAX_RANK && row->shape[rank]) {
        shape[rank] = get(r, row->shape[rank]);
        rank++;
    }
    const int64_t bias = shape[row->kind == TRANSPOSED ? 1 : 0];
    resolve_one(r, row, value, members[row->kind].suffix[0], shape, rank, &out[0]);
    if (members[row->kind].count == 2)
        resolve_one(r, row, value, members[row->kind].suffix[1], &bias, 1, &out[1]);
}

static void resolve_row(resolver *r, const tensor_row *row)
{
    const group *g = &groups[row->group];
    char *base = (char *)r->tensors + g->base, *list;
    if (g->list) {
        memcpy(&list, base, sizeof list);
        base = list;
    }
    int64_t count_i = g->count_i ? get(r, g->count_i) : 1, count_j = g->count_j ? get(r, g->count_j) : 1;
    for (int64_t i = 0; i < count_i; i++) {
        set_stage(r, i);
        for (int64_t j = 0; j < count_j; j++) {
            const int64_t value[4] = {i, j, r->config->codec.n_rates, r->config->encoder.n_ratios};
            resolve_pair(r, row, value, (pl_tensor *)(void *)(base + row->field + (size_t)i * g->stride_i + (size_t)j * g->stride_j));
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

/* Faults of tensors that are there but not wanted are forgotten: whoever needs them sees that their data is NULL. */
static void resolve_rows(resolver *r)
{
    for (size_t i = 0; i < COUNT(tensor_rows); i++) {
        const group *g = &groups[tensor_rows[i].group];
        if (!is_there(r, g))
            continue;
        resolver before = *r;
        resolve_row(r, &tensor_rows[i]);
        if (!is_wanted(r, g))
            *r = before;
    }
}

static bool has_no_effect(const char *name)
{
    for (size_t i = 0; i < COUNT(without_effect); i++)
        if (strncmp(name, without_effect[i], strlen(without_effect[i])) == 0)
            return true;
    return false;
}

static void report_unused(resolver *r)
{
    char shape[96];
    for (int k = 0; k < r->files->n_containers; k++) {
        const tts_container *c = &r->files->containers[k];
        for (size_t i = 0; c->has_weights && i < c->container.n_entries; i++) {
            const pl_entry *entry = &c->container.entries[i];
            if (entry->used || has_no_effect(entry->name))
                continue;
            pl_shape_text(entry->tensor.shape, entry->tensor.rank, shape, sizeof shape);
            finding(r, PARLEY_FINDING_UNUSED, entry->name, "unused, %s %s", entry->stored, shape);
        }
    }
}

static parley_status fail(const resolver *r)
{
    char more[48] = "";
    if (r->faults > r->told)
        snprintf(more, sizeof more, " and %zu more", r->faults - r->told);
    return pl_fail(r->error, r->status, "%zu tensor%s missing or wrong: %s%s", r->faults, r->faults == 1 ? " is" : "s are", r->text, more);
}

parley_status pl_tts_tensors_resolve(tts_files *files, const tts_config *config, const tts_resolve *how, tts_tensors *tensors, parley_error *error)
{
    resolver r = {.files = files, .config = config, .how = how, .tensors = tensors, .error = error};
    *tensors = (tts_tensors){0};
    PL_TRY(make_lists(&r));
    set_model(&r);
    set_codec(&r);
    resolve_rows(&r);
    if (how->report)
        report_unused(&r);
    if (how->faults)
        *how->faults = r.faults;
    return r.faults && !how->report ? fail(&r) : PARLEY_OK;
}

void pl_tts_tensor_drop(tts_files *files, const pl_tensor *tensor)
{
    pl_source *const sources[] = {files->source, files->codec_source, files->beside};
    for (size_t i = 0; i < COUNT(sources); i++)
        if (sources[i])
            pl_source_drop(sources[i], tensor->data, tensor->bytes);
}
