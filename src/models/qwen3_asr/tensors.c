/* Resolves the catalogue: one loop over its rows. */
#include "models/qwen3_asr/catalogue.h"

#include "models/catalogue.h"

#include <string.h>

#define COUNT(rows) (sizeof(rows) / sizeof *(rows))

typedef struct resolver resolver;

/* What is done with each tensor of the catalogue. */
typedef void (*visit_tensor)(resolver *r, const tensor_row *row, int64_t i, const char *suffix, const int64_t *shape, int rank, pl_tensor *out);

struct resolver {
    visit_tensor visit;
    asr_files *files;
    const asr_config *config;
    asr_tensors *tensors;
    parley_error *error;
    int64_t sizes[SYMBOLS - FIRST_SYMBOL];
    pl_findings findings;
    pl_quantization *list; /* that tensors are added to */
};

/* ------------------------------------------------------------------ sizes */

static int64_t size_of(const resolver *r, int symbol)
{
    return symbol < FIRST_SYMBOL ? symbol : r->sizes[symbol - FIRST_SYMBOL];
}

static void set_sizes(resolver *r)
{
    enum { STRIDE = 1 << PL_TOWER_CONVS };
    const asr_config *c = r->config;
    const struct {
        int symbol;
        int64_t size;
    } rows[] = {
        {VOCABULARY, c->vocabulary},
        {HEAD_ROWS, c->head_rows},
        {WIDTH, c->text.width},
        {Q, (int64_t)c->text.heads * c->text.head},
        {KV, (int64_t)c->text.kv_heads * c->text.head},
        {HEAD, c->text.head},
        {FFN, c->text.ffn},
        {LAYERS, c->text.layers},
        {CHANNELS, c->tower.channels},
        {STEM, (int64_t)c->tower.channels * (c->tower.mels / STRIDE)},
        {A_WIDTH, c->tower.width},
        {A_FFN, c->tower.ffn},
        {A_OUT, c->tower.out},
        {A_LAYERS, c->tower.layers},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        r->sizes[rows[i].symbol - FIRST_SYMBOL] = rows[i].size;
}

/* ------------------------------------------------------------------ one row */

static const char *names_in(const tensor_row *row, int dialect)
{
    return row->names[dialect == ASR_HF ? 0 : dialect == ASR_LLAMA ? 2 : 1];
}

/* A tied table is the head's matrix. Kernels over images are loaded in parts. */
static pl_use use_of(const resolver *r, const tensor_row *row, int rank)
{
    bool rows = rank != 2 || (row->kind == TABLE && !r->config->tied);
    return (pl_use){rows ? PL_FORM_ROWS : PL_FORM_LINEAR, 1};
}

static void resolve_one(resolver *r, const tensor_row *row, int64_t i, const char *suffix, const int64_t *shape, int rank, pl_tensor *out)
{
    char name[PL_MODEL_NAME];
    const asr_container *c = r->files->part[groups[row->group].part];
    const pl_container *container = c->has_weights ? &c->container : NULL;
    pl_entry *entry = pl_catalogue_find(container, names_in(row, c->dialect), (pl_name_values){.i = i}, suffix, name);
    if (entry)
        pl_catalogue_take(&r->findings, entry, shape, rank, use_of(r, row, rank), out);
    else if (row->when != WITHOUT_TIE || !r->config->tied)
        pl_catalogue_missing(&r->findings, name, shape, rank);
}

static void visit_members(resolver *r, const tensor_row *row, int64_t i, pl_tensor *out)
{
    int64_t shape[PL_MAX_RANK] = {0};
    int rank = 0;
    for (; rank < PL_MAX_RANK && row->shape[rank]; rank++)
        shape[rank] = size_of(r, row->shape[rank]);
    bool pair = row->kind == PAIR || row->kind == KERNEL;
    r->visit(r, row, i, pair ? ".weight" : "", shape, rank, out);
    if (pair)
        r->visit(r, row, i, ".bias", shape, 1, out + 1);
}

static void visit_row(resolver *r, const tensor_row *row)
{
    const group *g = &groups[row->group];
    char *base = (char *)r->tensors + g->base, *list;
    int64_t count = g->count ? size_of(r, g->count) : 1;
    if (g->count) {
        memcpy(&list, base, sizeof list);
        base = list;
    }
    for (int64_t i = 0; i < count; i++)
        visit_members(r, row, i, (pl_tensor *)(void *)(base + row->field + (size_t)i * g->stride));
}

/* ------------------------------------------------------------------ all rows */

static parley_status make_lists(resolver *r)
{
    asr_tensors *t = r->tensors;
    t->blocks = PL_NEW_ARRAY(&r->files->arena, pl_lm_block_tensors, r->config->text.layers);
    t->tower.blocks = PL_NEW_ARRAY(&r->files->arena, struct pl_tower_block_tensors, r->config->tower.layers);
    return t->blocks && t->tower.blocks ? PARLEY_OK : pl_fail_memory(r->error, "the list of tensors");
}

/* Compared in pieces whose pages are given back: a copy is of the size of the whole table. */
static bool is_copy(asr_files *files, const pl_tensor *a, const pl_tensor *b)
{
    enum { PIECE = 1 << 22 };
    if (!a->data || !b->data || a->type != b->type || a->bytes != b->bytes)
        return false;
    bool equal = true;
    for (size_t at = 0; at < a->bytes && equal; at += PIECE) {
        pl_tensor piece = *a, other = *b;
        piece.bytes = other.bytes = a->bytes - at < PIECE ? a->bytes - at : PIECE;
        piece.data = (const uint8_t *)a->data + at;
        other.data = (const uint8_t *)b->data + at;
        equal = memcmp(piece.data, other.data, piece.bytes) == 0;
        pl_asr_tensor_drop(files, &piece);
        pl_asr_tensor_drop(files, &other);
    }
    return equal;
}

/* The reference ties by the configuration, whatever the stored copy holds, so that it is not even read. Otherwise a copy is still not packed twice;
 * heads that are none differ in their first bytes. */
static void tie(asr_files *files, const asr_config *config, asr_tensors *tensors)
{
    if (config->tied || is_copy(files, &tensors->head, &tensors->token_embedding))
        tensors->head = (pl_tensor){0};
}

static void report_unused(resolver *r)
{
    for (int i = 0; i < r->files->n_containers; i++)
        if (r->files->containers[i].has_weights)
            pl_findings_add_unused(&r->findings, &r->files->containers[i].container, without_effect, COUNT(without_effect));
}

parley_status pl_asr_tensors_resolve(asr_files *files, const asr_config *config, const asr_resolve *how, asr_tensors *tensors, parley_error *error)
{
    resolver r = {.visit = resolve_one, .files = files, .config = config, .tensors = tensors, .error = error};
    r.findings = (pl_findings){.report = how->report, .context = how->context, .values = how->values, .arena = &files->arena};
    *tensors = (asr_tensors){0};
    PL_TRY(make_lists(&r));
    set_sizes(&r);
    for (size_t i = 0; i < COUNT(tensor_rows); i++)
        if (files->part[groups[tensor_rows[i].group].part])
            visit_row(&r, &tensor_rows[i]);
    tie(files, config, tensors);
    if (how->report)
        report_unused(&r);
    if (how->faults)
        *how->faults = r.findings.faults;
    return r.findings.faults && !how->report ? pl_findings_fail(&r.findings, error) : PARLEY_OK;
}

/* ------------------------------------------------------------------ listing */

static pl_quantized_role role_of(const tensor_row *row, pl_use use)
{
    if (row->kind == SCORES || (row->kind == TABLE && use.form == PL_FORM_LINEAR))
        return PL_ROLE_HEAD;
    if (row->kind == TABLE)
        return PL_ROLE_TABLE;
    if (use.form == PL_FORM_LINEAR)
        return PL_ROLE_LAYER;
    return row->kind == KERNEL ? PL_ROLE_KERNEL : PL_ROLE_VALUES;
}

static void list_one(resolver *r, const tensor_row *row, int64_t i, const char *suffix, const int64_t *shape, int rank, pl_tensor *out)
{
    char name[PL_MODEL_NAME];
    (void)shape;
    if (!out->data)
        return;
    pl_use use = use_of(r, row, rank);
    pl_quantized_role role = rank == 1 ? PL_ROLE_VALUES : role_of(row, use);
    pl_catalogue_name(names_in(row, ASR_PARLEY), (pl_name_values){.i = i}, suffix, name);
    pl_quantization_add(r->list, name, out, NULL, use, groups[row->group].part == ASR_TOWER ? PL_PART_ENCODER : PL_PART_TALKER, role);
}

parley_status pl_asr_tensors_list(asr_files *files, const asr_config *config, asr_tensors *tensors, pl_quantization *list, parley_error *error)
{
    resolver r = {.visit = list_one, .files = files, .config = config, .tensors = tensors, .list = list, .error = error};
    set_sizes(&r);
    for (size_t i = 0; i < COUNT(tensor_rows); i++)
        if (files->part[groups[tensor_rows[i].group].part])
            visit_row(&r, &tensor_rows[i]);
    return list->failed ? pl_fail_memory(error, "the list of tensors") : PARLEY_OK;
}

void pl_asr_tensor_drop(asr_files *files, const pl_tensor *tensor)
{
    pl_model_files_drop(files, tensor);
}
