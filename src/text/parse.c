#include "text/json.h"
#include "text/vocabulary.h"

#include <string.h>

enum { HIGHEST_ID = (1 << 22) - 1, HOLES = 1 << 16 };

static const char vocab_name[] = "vocab.json", merges_name[] = "merges.txt", config_name[] = "tokenizer_config.json";

typedef struct parser {
    const parley_allocator *allocator;
    pl_arena strings; /* those with escapes */
    pl_span *tokens;  /* [capacity], by id */
    size_t n_tokens, capacity;
    uint32_t highest_id; /* that the size of the file can be worth, with some holes: a short file must not make us take much memory */
    pl_span *merges;
    size_t n_merges, merges_capacity;
    pl_added_token *added;
    size_t n_added, added_capacity;
    parley_error *error;
} parser;

static parley_status no_memory(const parser *p)
{
    return pl_fail_memory(p->error, "the tokenizer's files");
}

/* Room for one more than `index` entries, new ones zeroed. */
static bool grow(const parley_allocator *allocator, void **entries, size_t *capacity, size_t index, size_t size)
{
    if (index < *capacity)
        return true;
    size_t wanted = *capacity * 2 > index + 1 ? *capacity * 2 : index + 1;
    wanted = wanted < 1024 ? 1024 : wanted;
    char *larger = pl_alloc(allocator, wanted, size);
    if (!larger)
        return false;
    if (*capacity)
        memcpy(larger, *entries, *capacity * size);
    memset(larger + *capacity * size, 0, (wanted - *capacity) * size);
    pl_release(allocator, *entries, *capacity, size);
    *entries = larger;
    *capacity = wanted;
    return true;
}

/* ------------------------------------------------------------------ vocab.json: {"spelling": id, ..} */

static parley_status take_token(parser *p, pl_json *json)
{
    pl_span spelling;
    uint32_t id;
    PL_TRY(pl_json_key(json, &spelling));
    size_t at = json->at;
    PL_TRY(pl_json_whole(json, p->highest_id, &id));
    void *tokens = p->tokens;
    if (!grow(p->allocator, &tokens, &p->capacity, id, sizeof(pl_span)))
        return no_memory(p);
    p->tokens = tokens;
    if (p->tokens[id].length || spelling.length == 0)
        return pl_fail_at(p->error, PARLEY_FORMAT, at, "%s: %s id %u at byte %zu", vocab_name,
                          spelling.length ? "two tokens with" : "empty spelling for", (unsigned)id, at);
    p->tokens[id] = spelling;
    if (id >= p->n_tokens)
        p->n_tokens = (size_t)id + 1;
    return PARLEY_OK;
}

static parley_status parse_vocab(parser *p, pl_span text)
{
    pl_json json;
    bool first = true, more;
    PL_TRY(pl_json_start(&json, vocab_name, text, &p->strings, p->error));
    PL_TRY(pl_json_enter(&json, '{'));
    p->highest_id = text.length < HIGHEST_ID - HOLES ? (uint32_t)text.length + HOLES : HIGHEST_ID;
    for (;;) {
        PL_TRY(pl_json_next(&json, '}', &first, &more));
        if (!more)
            return pl_json_end(&json);
        PL_TRY(take_token(p, &json));
    }
}

/* ------------------------------------------------------------------ merges.txt: a line a merge */

static pl_span line_at(pl_span text, size_t at, size_t *next)
{
    const char *begin = text.text + at, *end = memchr(begin, '\n', text.length - at);
    size_t length = end ? (size_t)(end - begin) : text.length - at;
    *next = at + length + (end ? 1 : 0);
    if (length && begin[length - 1] == '\r')
        length--;
    return (pl_span){begin, length};
}

static parley_status parse_merges(parser *p, pl_span text)
{
    static const char header[] = "#version";
    size_t valid = pl_utf8_check(text.text, text.length);
    if (valid != text.length)
        return pl_fail_at(p->error, PARLEY_FORMAT, valid, "%s: no valid UTF-8 at byte %zu", merges_name, valid);
    for (size_t at = 0, next; at < text.length; at = next) {
        pl_span line = line_at(text, at, &next);
        bool is_header = at == 0 && line.length >= sizeof header - 1 && memcmp(line.text, header, sizeof header - 1) == 0;
        if (is_header || line.length == 0)
            continue;
        void *merges = p->merges;
        if (!grow(p->allocator, &merges, &p->merges_capacity, p->n_merges, sizeof(pl_span)))
            return no_memory(p);
        p->merges = merges;
        p->merges[p->n_merges++] = line;
    }
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ tokenizer_config.json: added_tokens_decoder {"id": {..}, ..} */

/* What an added token may be besides its content; absent means false, but `normalized` is then true for tokens that are not special. */
typedef struct added_flags {
    bool special, lstrip, rstrip, single_word, normalized, has_normalized;
} added_flags;

static parley_status take_flag(pl_json *json, pl_span key, added_flags *flags)
{
    const struct {
        const char *name;
        bool *flag;
    } rows[] = {{"special", &flags->special},
                {"lstrip", &flags->lstrip},
                {"rstrip", &flags->rstrip},
                {"single_word", &flags->single_word},
                {"normalized", &flags->normalized}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (!pl_span_is(key, rows[i].name))
            continue;
        flags->has_normalized |= rows[i].flag == &flags->normalized;
        return pl_json_bool(json, rows[i].flag);
    }
    return pl_json_skip(json);
}

static parley_status parse_id(const pl_json *json, pl_span key, int32_t *id)
{
    int64_t value = 0;
    bool good = key.length > 0 && key.length <= 9 && (key.length == 1 || key.text[0] != '0');
    for (size_t i = 0; good && i < key.length; i++) {
        good = key.text[i] >= '0' && key.text[i] <= '9';
        value = value * 10 + (key.text[i] - '0');
    }
    if (!good || value > HIGHEST_ID)
        return pl_json_fail(json, "an id as the key of an added token before this");
    *id = (int32_t)value;
    return PARLEY_OK;
}

static parley_status check_flags(const pl_json *json, const pl_added_token *token, const added_flags *flags)
{
    bool normalized = flags->has_normalized ? flags->normalized : !flags->special;
    const char *unsupported = flags->lstrip        ? "lstrip"
                              : flags->rstrip      ? "rstrip"
                              : flags->single_word ? "single_word"
                              : normalized         ? "normalized"
                                                   : NULL;
    if (unsupported)
        return pl_fail_at(json->error, PARLEY_UNSUPPORTED, json->at, "%s: added token %d '%.*s' has %s true, expected false", config_name,
                          (int)token->id, pl_shown(token->content), token->content.text, unsupported);
    return PARLEY_OK;
}

static parley_status parse_added(pl_json *json, pl_added_token *token)
{
    bool first = true, more;
    added_flags flags = {0};
    pl_span key;
    PL_TRY(pl_json_enter(json, '{'));
    for (;;) {
        PL_TRY(pl_json_next(json, '}', &first, &more));
        if (!more)
            break;
        PL_TRY(pl_json_key(json, &key));
        if (pl_span_is(key, "content"))
            PL_TRY(pl_json_string(json, &token->content));
        else
            PL_TRY(take_flag(json, key, &flags));
    }
    if (token->content.length == 0)
        return pl_json_fail(json, "a \"content\" in the added token before this");
    token->special = flags.special;
    return check_flags(json, token, &flags);
}

static parley_status parse_decoder(parser *p, pl_json *json)
{
    bool first = true, more;
    pl_span key;
    PL_TRY(pl_json_enter(json, '{'));
    for (;;) {
        PL_TRY(pl_json_next(json, '}', &first, &more));
        if (!more)
            return PARLEY_OK;
        void *added = p->added;
        if (!grow(p->allocator, &added, &p->added_capacity, p->n_added, sizeof(pl_added_token)))
            return no_memory(p);
        p->added = added;
        pl_added_token *token = &p->added[p->n_added];
        PL_TRY(pl_json_key(json, &key));
        PL_TRY(parse_id(json, key, &token->id));
        PL_TRY(parse_added(json, token));
        p->n_added++;
    }
}

/* Settings that would change every text. */
static parley_status refuse_true(pl_json *json, pl_span key)
{
    bool value;
    size_t at = json->at;
    PL_TRY(pl_json_bool(json, &value));
    if (value)
        return pl_fail_at(json->error, PARLEY_UNSUPPORTED, at, "%s: %.*s is true, expected false", config_name, (int)key.length, key.text);
    return PARLEY_OK;
}

static parley_status parse_config(parser *p, pl_span text)
{
    pl_json json;
    pl_span key;
    bool first = true, more, seen = false;
    PL_TRY(pl_json_start(&json, config_name, text, &p->strings, p->error));
    PL_TRY(pl_json_enter(&json, '{'));
    for (;;) {
        PL_TRY(pl_json_next(&json, '}', &first, &more));
        if (!more)
            return pl_json_end(&json);
        PL_TRY(pl_json_key(&json, &key));
        if (pl_span_is(key, "added_tokens_decoder")) {
            if (seen)
                return pl_json_fail(&json, "one added_tokens_decoder, not two,");
            seen = true;
            PL_TRY(parse_decoder(p, &json));
        } else if (pl_span_is(key, "add_prefix_space") || pl_span_is(key, "add_bos_token") || pl_span_is(key, "add_eos_token")) {
            PL_TRY(refuse_true(&json, key));
        } else {
            PL_TRY(pl_json_skip(&json));
        }
    }
}

/* ------------------------------------------------------------------ all three */

static parley_status parse(parser *p, pl_span vocab_json, pl_span merges_txt, pl_span tokenizer_config_json, pl_tokenizer **tokenizer)
{
    PL_TRY(parse_vocab(p, vocab_json));
    PL_TRY(parse_merges(p, merges_txt));
    if (tokenizer_config_json.length)
        PL_TRY(parse_config(p, tokenizer_config_json));
    pl_vocabulary vocabulary = {
        .tokens = p->tokens, .n_tokens = p->n_tokens, .merges = p->merges, .n_merges = p->n_merges, .added = p->added, .n_added = p->n_added};
    return pl_vocabulary_build(p->allocator, &vocabulary, (pl_text_file){vocab_name, vocab_json}, (pl_text_file){merges_name, merges_txt}, tokenizer,
                               p->error);
}

parley_status pl_tokenizer_parse(const parley_allocator *allocator, pl_span vocab_json, pl_span merges_txt, pl_span tokenizer_config_json,
                                 pl_tokenizer **tokenizer, parley_error *error)
{
    enum { CHUNK = 16384 };
    parley_allocator used = allocator ? *allocator : pl_default_allocator();
    parser p = {.allocator = &used, .error = error};
    pl_arena_init(&p.strings, &used, CHUNK);
    parley_status status = parse(&p, vocab_json, merges_txt, tokenizer_config_json, tokenizer);
    pl_release(&used, p.tokens, p.capacity, sizeof(pl_span));
    pl_release(&used, p.merges, p.merges_capacity, sizeof(pl_span));
    pl_release(&used, p.added, p.added_capacity, sizeof(pl_added_token));
    pl_arena_free(&p.strings);
    return status;
}
