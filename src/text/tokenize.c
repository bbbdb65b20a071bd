#include "text/bytemap.h"
#include "text/normalise.h"
#include "text/split.h"
#include "text/utf8.h"
#include "text/vocabulary.h"

#include <string.h>

/* What reading one text needs; the tokenizer itself stays as it is. */
typedef struct reader {
    const pl_tokenizer *t;
    pl_tokenize_options options;
    pl_normaliser normaliser;
    pl_buffer symbols, scratch;
    pl_ids *ids;
    parley_error *error;
    bool open; /* more text may follow */
} reader;

enum { HELD_BACK = 2 };

static parley_status read_word(reader *r, pl_span word)
{
    PL_TRY(pl_buffer_reserve(&r->symbols, word.length, sizeof(uint32_t), 0, r->error));
    uint32_t *symbols = r->symbols.data;
    size_t count = word.length;
    for (size_t i = 0; i < count; i++)
        symbols[i] = r->t->byte_tokens[(unsigned char)word.text[i]];
    PL_TRY(pl_bpe(&r->t->merges, PL_NO_RANK, symbols, &count, &r->scratch, r->error));
    for (size_t i = 0; i < count; i++)
        PL_TRY(pl_ids_push(r->ids, (int32_t)symbols[i], r->error));
    return PARLEY_OK;
}

/* Text between added tokens. Of an open text the last two words are held back: the last can grow, and white space (which may come in two words at
 * the end) or a character and the marks on it can become others. */
static parley_status read_plain(reader *r, pl_span text)
{
    pl_span held[HELD_BACK] = {{text.text, 0}, {text.text, 0}};
    PL_TRY(pl_nfc(&r->normaliser, text, &text, r->error));
    for (size_t at = 0, end; at < text.length; at = end) {
        end = pl_split_next(r->options.splitter, text, at);
        pl_span word = {text.text + at, end - at};
        if (r->open) {
            pl_span oldest = held[0];
            held[0] = held[1];
            held[1] = word;
            word = oldest;
        }
        if (word.length)
            PL_TRY(read_word(r, word));
    }
    return PARLEY_OK;
}

static parley_status read_text(reader *r, pl_span text)
{
    size_t at = 0;
    pl_added_match match;
    while (r->options.added_tokens && pl_added_next(&r->t->added, text, at, &match)) {
        PL_TRY(read_plain(r, (pl_span){text.text + at, match.start - at}));
        PL_TRY(pl_ids_push(r->ids, match.id, r->error));
        at = match.end;
    }
    return read_plain(r, (pl_span){text.text + at, text.length - at});
}

static parley_status tokenize(const pl_tokenizer *tokenizer, pl_span text, pl_tokenize_options options, bool open, pl_ids *ids, parley_error *error)
{
    size_t valid = pl_utf8_check(text.text, text.length), before = ids->count;
    if (valid != text.length)
        return pl_fail_at(error, PARLEY_FORMAT, valid, "the text is not valid UTF-8 at byte %zu", valid);
    if (text.length == 0)
        return PARLEY_OK;
    pl_buffer empty = {.allocator = ids->allocator};
    reader r = {.t = tokenizer, .options = options, .symbols = empty, .scratch = empty, .ids = ids, .error = error, .open = open};
    pl_normaliser_init(&r.normaliser, &ids->allocator);
    parley_status status = read_text(&r, text);
    if (status != PARLEY_OK)
        ids->count = before;
    pl_normaliser_free(&r.normaliser);
    pl_buffer_free(&r.symbols);
    pl_buffer_free(&r.scratch);
    return status;
}

parley_status pl_tokenize(const pl_tokenizer *tokenizer, pl_span text, pl_tokenize_options options, pl_ids *ids, parley_error *error)
{
    return tokenize(tokenizer, text, options, false, ids, error);
}

parley_status pl_tokenize_open(const pl_tokenizer *tokenizer, pl_span text, parley_splitter splitter, pl_ids *ids, parley_error *error)
{
    return tokenize(tokenizer, text, (pl_tokenize_options){.splitter = splitter}, true, ids, error);
}
