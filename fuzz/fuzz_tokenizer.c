/* Fuzz target: the files of a tokenizer, and text. The first byte of the input says what the rest is:
 *   'f'  vocab.json, merges.txt and tokenizer_config.json with a byte 0x1E between them
 *   'v'  the same, where vocab.json goes on behind the 256 tokens of single bytes (so that small inputs can be whole vocabularies)
 *   'q' 'm'  text for a small fixed vocabulary with the splitter of qwen2 or mistral
 *   'Q' 'M'  the same, text that comes piece by piece
 *   'c'  a byte, the length of pieces, and a text that is cut into them
 * What must hold is checked with __builtin_trap.
 *
 *   clang -g -O1 -fsanitize=fuzzer,address,undefined -D_POSIX_C_SOURCE=200809L -Iinclude -Isrc fuzz/fuzz_tokenizer.c src/text/[a-z]*.c \
 *         src/base/arena.c src/base/status.c -lutf8proc -o build/fuzz_tokenizer && build/fuzz_tokenizer fuzz/corpus/tokenizer */
#include <stdlib.h>
#include <string.h>

#include "text/bytemap.h"
#include "text/normalise.h"
#include "text/sentences.h"
#include "text/split.h"
#include "text/utf8.h"
#include "text/vocabulary.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HOLDS(condition)      \
    do {                      \
        if (!(condition))     \
            __builtin_trap(); \
    } while (0)

/* {"!": 0, .. without the closing brace; returns the length. */
static size_t write_byte_tokens(char *out)
{
    size_t length = 0;
    unsigned id = 0;
    for (uint32_t point = 0; point < 324; point++) {
        if (pl_byte_of(point) < 0)
            continue;
        memcpy(out + length, id ? ",\"" : "{\"", 2);
        length += 2;
        if (point == '"' || point == '\\')
            out[length++] = '\\';
        length += pl_utf8_put(point, out + length);
        memcpy(out + length, "\":", 2);
        length += 2;
        if (id >= 100)
            out[length++] = (char)('0' + id / 100);
        if (id >= 10)
            out[length++] = (char)('0' + id / 10 % 10);
        out[length++] = (char)('0' + id++ % 10);
    }
    return length;
}

static void check_ids(const pl_tokenizer *tokenizer, const pl_ids *ids, pl_span expected)
{
    size_t at = 0;
    for (size_t i = 0; i < ids->count; i++) {
        HOLDS(ids->ids[i] >= 0 && ids->ids[i] < pl_tokenizer_size(tokenizer));
        pl_span bytes = pl_token_bytes(tokenizer, ids->ids[i]);
        HOLDS(bytes.length > 0 && bytes.length <= expected.length - at);
        HOLDS(memcmp(bytes.text, expected.text + at, bytes.length) == 0);
        at += bytes.length;
    }
    HOLDS(at == expected.length);
}

/* The tokens of a text, with no added ones, are the bytes of its NFC, and the pieces cover it. */
static void check_plain(const pl_tokenizer *tokenizer, pl_span text, parley_splitter splitter, const pl_ids *ids)
{
    parley_allocator allocator = pl_default_allocator();
    pl_normaliser normaliser;
    pl_span normal;
    pl_normaliser_init(&normaliser, &allocator);
    HOLDS(pl_nfc(&normaliser, text, &normal, NULL) == PARLEY_OK);
    HOLDS(pl_utf8_check(normal.text, normal.length) == normal.length);
    check_ids(tokenizer, ids, normal);
    for (size_t at = 0, end; at < normal.length; at = end) {
        end = pl_split_next(splitter, normal, at);
        HOLDS(end > at && end <= normal.length);
        HOLDS(end == normal.length || (normal.text[end] & 0xC0) != 0x80);
    }
    pl_normaliser_free(&normaliser);
}

static void check_text(const pl_tokenizer *tokenizer, pl_span text, parley_splitter splitter)
{
    for (int added = 0; added < 2; added++) {
        parley_error error = {0};
        pl_ids ids = {.allocator = pl_default_allocator()};
        size_t valid = pl_utf8_check(text.text, text.length);
        parley_status status = pl_tokenize(tokenizer, text, (pl_tokenize_options){added, splitter}, &ids, &error);
        HOLDS(status == (valid == text.length ? PARLEY_OK : PARLEY_FORMAT));
        HOLDS(status == PARLEY_OK || (error.position == valid && ids.count == 0));
        if (status == PARLEY_OK && !added)
            check_plain(tokenizer, text, splitter, &ids);
        pl_ids_free(&ids);
    }
}

static void check_files(pl_span vocab, pl_span merges, pl_span config)
{
    static const char text[] = "It's caf\xC3\xA9 e\xCC\x81 12 ##\n\n aab abab <x><xy>";
    parley_error error = {0};
    pl_tokenizer *tokenizer = NULL;
    parley_status status = pl_tokenizer_parse(NULL, vocab, merges, config, &tokenizer, &error);
    HOLDS(status == PARLEY_OK || status == PARLEY_FORMAT || status == PARLEY_UNSUPPORTED);
    HOLDS((status == PARLEY_OK) == (tokenizer != NULL));
    HOLDS(status == PARLEY_OK || error.text[0]);
    if (!tokenizer)
        return;
    check_text(tokenizer, (pl_span){text, sizeof text - 1}, PARLEY_SPLITTER_QWEN2);
    pl_tokenizer_find(tokenizer, merges);
    pl_tokenizer_close(tokenizer);
}

/* A copy of its own size, so that the sanitizer sees every step beyond it. */
static pl_span copy_of(const char *first, size_t first_length, pl_span second)
{
    char *copy = malloc(first_length + second.length + 1);
    HOLDS(copy != NULL);
    memcpy(copy, first, first_length);
    if (second.length)
        memcpy(copy + first_length, second.text, second.length);
    char *exact = realloc(copy, first_length + second.length + (first_length + second.length == 0));
    return (pl_span){exact ? exact : copy, first_length + second.length};
}

static pl_span part_of(pl_span text, int index)
{
    const char *begin = text.text, *end = text.text + text.length;
    for (int i = 0;; i++) {
        const char *mark = begin < end ? memchr(begin, 0x1E, (size_t)(end - begin)) : NULL;
        if (i == index)
            return (pl_span){begin, (size_t)((mark ? mark : end) - begin)};
        if (!mark)
            return (pl_span){end, 0};
        begin = mark + 1;
    }
}

static void fuzz_files(pl_span input, bool behind_bytes)
{
    char bytes[4096];
    size_t length = behind_bytes ? write_byte_tokens(bytes) : 0;
    pl_span vocab = copy_of(bytes, length, part_of(input, 0)), merges = copy_of(bytes, 0, part_of(input, 1)),
            config = copy_of(bytes, 0, part_of(input, 2));
    check_files(vocab, merges, config);
    free((void *)(uintptr_t)vocab.text);
    free((void *)(uintptr_t)merges.text);
    free((void *)(uintptr_t)config.text);
}

static pl_tokenizer *fixed_tokenizer(void)
{
    static const char rest[] = ",\"ab\":256,\"aba\":257,\"\xC4\xA0\xC4\xA0\":258,\"\xC4\xA0\xC4\xA0\xC4\xA0\xC4\xA0\":259,\"th\":260,\"the\":261,"
                               "\"\xC3\x8C\xC4\xA3\":262,\"aa\":263,\"aaaa\":264}";
    static const char merges[] = "a b\nab a\n\xC4\xA0 \xC4\xA0\n\xC4\xA0\xC4\xA0 \xC4\xA0\xC4\xA0\nt h\nth e\n\xC3\x8C \xC4\xA3\na a\naa aa\n";
    static const char config[] =
        "{\"added_tokens_decoder\": {\"265\": {\"content\": \"<x>\", \"special\": true}, \"266\": {\"content\": \"<x><xy>\", \"special\": true},"
        " \"267\": {\"content\": \"\xCC\x81\", \"special\": true}}}";
    char bytes[4096];
    pl_span vocab = copy_of(bytes, write_byte_tokens(bytes), (pl_span){rest, sizeof rest - 1});
    pl_tokenizer *tokenizer = NULL;
    HOLDS(pl_tokenizer_parse(NULL, vocab, (pl_span){merges, sizeof merges - 1}, (pl_span){config, sizeof config - 1}, &tokenizer, NULL) == PARLEY_OK);
    free((void *)(uintptr_t)vocab.text);
    return tokenizer;
}

/* ------------------------------------------------------------------ text that comes piece by piece */

enum { BEGINNINGS = 64 }; /* of a text that are looked at, so that long ones stay quick */

/* The byte behind the next of the beginnings that are looked at: never inside a character. */
static size_t next_beginning(pl_span text, size_t at)
{
    size_t end = at + 1 + text.length / BEGINNINGS;
    while (end < text.length && (text.text[end] & 0xC0) == 0x80)
        end++;
    return end < text.length ? end : text.length;
}

/* What is known of the ids of a beginning are the first ids of the whole. */
static void check_open(const pl_tokenizer *tokenizer, pl_span text, parley_splitter splitter)
{
    pl_ids whole = {.allocator = pl_default_allocator()}, open = {.allocator = pl_default_allocator()};
    parley_status status = pl_tokenize(tokenizer, text, (pl_tokenize_options){.splitter = splitter}, &whole, NULL);
    HOLDS(pl_tokenize_open(tokenizer, text, splitter, &open, NULL) == status);
    for (size_t at = 0; at < text.length && status == PARLEY_OK;) {
        at = next_beginning(text, at);
        open.count = 0;
        HOLDS(pl_tokenize_open(tokenizer, (pl_span){text.text, at}, splitter, &open, NULL) == PARLEY_OK);
        HOLDS(open.count <= whole.count);
        HOLDS(open.count == 0 || memcmp(open.ids, whole.ids, open.count * sizeof *open.ids) == 0);
    }
    pl_ids_free(&whole);
    pl_ids_free(&open);
}

/* A beginning has the cut of the whole, or none yet. */
static void check_beginnings(pl_span text, int32_t length, const pl_piece *whole)
{
    for (size_t at = 0; at < text.length;) {
        pl_piece piece;
        at = next_beginning(text, at);
        if (pl_piece_find((pl_span){text.text, at}, length, &piece))
            HOLDS(whole && piece.end == whole->end && piece.next == whole->next);
    }
}

static void check_cuts(pl_span text, int32_t length)
{
    pl_piece piece;
    for (int i = 0; i < BEGINNINGS && pl_piece_find(text, length, &piece); i++) {
        HOLDS(piece.end > 0 && piece.end <= piece.next && piece.next < text.length);
        HOLDS((text.text[piece.end] & 0xC0) != 0x80 && (text.text[piece.next] & 0xC0) != 0x80);
        check_beginnings(text, length, &piece);
        text = (pl_span){text.text + piece.next, text.length - piece.next};
    }
    if (!pl_piece_find(text, length, &piece))
        check_beginnings(text, length, NULL);
}

static void fuzz_cuts(pl_span input)
{
    if (input.length < 2 || input.text[0] == 0)
        return;
    /* The function asks for valid UTF-8. */
    pl_span text = copy_of("", 0, (pl_span){input.text + 1, pl_utf8_check(input.text + 1, input.length - 1)});
    check_cuts(text, (uint8_t)input.text[0]);
    free((void *)(uintptr_t)text.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static pl_tokenizer *fixed; /* for the life of the process */
    if (!fixed)
        fixed = fixed_tokenizer();
    if (size == 0)
        return 0;
    pl_span input = {(const char *)data + 1, size - 1};
    if (data[0] == 'f' || data[0] == 'v')
        fuzz_files(input, data[0] == 'v');
    if (data[0] == 'q' || data[0] == 'm') {
        pl_span text = copy_of("", 0, input);
        check_text(fixed, text, data[0] == 'q' ? PARLEY_SPLITTER_QWEN2 : PARLEY_SPLITTER_MISTRAL);
        free((void *)(uintptr_t)text.text);
    }
    if (data[0] == 'Q' || data[0] == 'M') {
        pl_span text = copy_of("", 0, input);
        check_open(fixed, text, data[0] == 'Q' ? PARLEY_SPLITTER_QWEN2 : PARLEY_SPLITTER_MISTRAL);
        free((void *)(uintptr_t)text.text);
    }
    if (data[0] == 'c')
        fuzz_cuts(input);
    return 0;
}
