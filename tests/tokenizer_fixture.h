/* The vocabularies and text vectors that several tests read. A test that cannot find its data fails. */
#ifndef TESTS_TOKENIZER_FIXTURE_H
#define TESTS_TOKENIZER_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/bytemap.h"
#include "text/json.h"
#include "text/utf8.h"
#include "text/vocabulary.h"

typedef struct vocabulary_files {
    pl_span vocab, merges, config;
} vocabulary_files;

static inline pl_span read_data(const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", TEST_DATA, name);
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("cannot open %s", path);
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    assert_true(size >= 0);
    rewind(file);
    char *text = malloc((size_t)size + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, (size_t)size, file), size);
    text[size] = '\0';
    fclose(file);
    return (pl_span){text, (size_t)size};
}

static inline void free_span(pl_span span)
{
    free((void *)(uintptr_t)span.text);
}

typedef struct writer {
    char *text;
    size_t length;
    unsigned id;
} writer;

static inline void write_json_token(writer *w, const char *parts[2], const size_t lengths[2])
{
    w->length += (size_t)sprintf(w->text + w->length, "%s\"", w->id ? ", " : "{");
    for (int p = 0; p < 2; p++)
        for (size_t i = 0; i < lengths[p]; i++) {
            if (parts[p][i] == '"' || parts[p][i] == '\\')
                w->text[w->length++] = '\\';
            w->text[w->length++] = parts[p][i];
        }
    w->length += (size_t)sprintf(w->text + w->length, "\": %u", w->id++);
}

/* vocab.json of the published tokenizer from its merges.txt: see tests/golden/tokenizer/README.md. */
static inline pl_span published_vocab(pl_span merges)
{
    writer w = {.text = malloc(merges.length * 4)};
    assert_non_null(w.text);
    for (uint32_t point = 0; point < 324; point++) {
        char text[4];
        if (pl_byte_of(point) >= 0)
            write_json_token(&w, (const char *[]){text, ""}, (size_t[]){pl_utf8_put(point, text), 0});
    }
    const char *line = memchr(merges.text, '\n', merges.length);
    for (line++; line < merges.text + merges.length;) {
        const char *space = strchr(line, ' '), *end = strchr(line, '\n');
        write_json_token(&w, (const char *[]){line, space + 1}, (size_t[]){(size_t)(space - line), (size_t)(end - space - 1)});
        line = end + 1;
    }
    w.text[w.length++] = '}';
    return (pl_span){w.text, w.length};
}

static inline vocabulary_files published_files(void)
{
    vocabulary_files files = {.merges = read_data("tokenizer/merges.txt"), .config = read_data("tokenizer/tokenizer_config.json")};
    files.vocab = published_vocab(files.merges);
    return files;
}

static inline vocabulary_files small_files(void)
{
    return (vocabulary_files){read_data("models/tts_a_custom/vocab.json"), read_data("models/tts_a_custom/merges.txt"),
                              read_data("models/tts_a_custom/tokenizer_config.json")};
}

static inline void free_files(vocabulary_files files)
{
    free_span(files.vocab);
    free_span(files.merges);
    free_span(files.config);
}

static inline pl_tokenizer *open_files(vocabulary_files files)
{
    pl_tokenizer *tokenizer = NULL;
    parley_error error = {0};
    if (pl_tokenizer_parse(NULL, files.vocab, files.merges, files.config, &tokenizer, &error) != PARLEY_OK)
        fail_msg("%s", error.text);
    return tokenizer;
}

/* ------------------------------------------------------------------ vectors: [{"text": .., "ids": [..], ..}, ..] */

enum { IDS, PLAIN, BARE, OTHER, LISTS };

typedef struct text_vector {
    pl_span text;
    pl_ids lists[LISTS]; /* ids, plain, bare, ids_other_regex; capacity 0 = not given */
} text_vector;

typedef struct text_vectors {
    pl_arena arena;
    pl_span file;
    text_vector *items;
    size_t count;
} text_vectors;

static inline void read_list(pl_json *json, pl_ids *list)
{
    bool first = true, more;
    list->allocator = pl_default_allocator();
    assert_int_equal(pl_json_enter(json, '['), PARLEY_OK);
    for (uint32_t id;;) {
        assert_int_equal(pl_json_next(json, ']', &first, &more), PARLEY_OK);
        if (!more)
            break;
        assert_int_equal(pl_json_whole(json, 1000000, &id), PARLEY_OK);
        assert_int_equal(pl_ids_push(list, (int32_t)id, NULL), PARLEY_OK);
    }
    if (!list->capacity) { /* given, but empty */
        assert_int_equal(pl_ids_push(list, 0, NULL), PARLEY_OK);
        list->count = 0;
    }
}

static inline void read_vector(pl_json *json, text_vector *vector)
{
    static const char *const names[LISTS] = {"ids", "plain", "bare", "ids_other_regex"};
    bool first = true, more;
    pl_span key;
    assert_int_equal(pl_json_enter(json, '{'), PARLEY_OK);
    for (;;) {
        assert_int_equal(pl_json_next(json, '}', &first, &more), PARLEY_OK);
        if (!more)
            return;
        assert_int_equal(pl_json_key(json, &key), PARLEY_OK);
        int list = 0;
        while (list < LISTS && !pl_span_is(key, names[list]))
            list++;
        if (list < LISTS)
            read_list(json, &vector->lists[list]);
        else if (pl_span_is(key, "text"))
            assert_int_equal(pl_json_string(json, &vector->text), PARLEY_OK);
        else
            fail_msg("unknown key in the vectors");
    }
}

static inline text_vectors read_vectors(const char *name)
{
    enum { MOST = 1000 };
    text_vectors v = {.file = read_data(name), .items = calloc(MOST, sizeof(text_vector))};
    pl_json json;
    bool first = true, more;
    assert_non_null(v.items);
    pl_arena_init(&v.arena, NULL, 4096);
    assert_int_equal(pl_json_start(&json, name, v.file, &v.arena, NULL), PARLEY_OK);
    assert_int_equal(pl_json_enter(&json, '['), PARLEY_OK);
    for (;;) {
        assert_int_equal(pl_json_next(&json, ']', &first, &more), PARLEY_OK);
        if (!more)
            return v;
        assert_true(v.count < MOST);
        read_vector(&json, &v.items[v.count++]);
    }
}

static inline void free_vectors(text_vectors *v)
{
    for (size_t i = 0; i < v->count; i++)
        for (int k = 0; k < LISTS; k++)
            if (v->items[i].lists[k].capacity)
                pl_ids_free(&v->items[i].lists[k]);
    free(v->items);
    free_span(v->file);
    pl_arena_free(&v->arena);
}

/* ------------------------------------------------------------------ running */

static inline pl_ids ids_of(const pl_tokenizer *tokenizer, pl_span text, bool added_tokens, parley_splitter splitter)
{
    pl_ids ids = {.allocator = pl_default_allocator()};
    parley_error error = {0};
    if (pl_tokenize(tokenizer, text, (pl_tokenize_options){added_tokens, splitter}, &ids, &error) != PARLEY_OK)
        fail_msg("%s", error.text);
    return ids;
}

static inline bool same_ids(const pl_ids *a, const pl_ids *b)
{
    return a->count == b->count && (a->count == 0 || memcmp(a->ids, b->ids, a->count * sizeof(int32_t)) == 0);
}

static inline void expect_ids(const pl_tokenizer *tokenizer, pl_span text, bool added_tokens, parley_splitter splitter, const pl_ids *expected)
{
    pl_ids ids = ids_of(tokenizer, text, added_tokens, splitter);
    if (!same_ids(&ids, expected)) {
        for (size_t i = 0; i < ids.count || i < expected->count; i++)
            print_error("%zu: got %d, expected %d\n", i, i < ids.count ? (int)ids.ids[i] : -1, i < expected->count ? (int)expected->ids[i] : -1);
        fail_msg("ids of '%.*s' differ", (int)text.length, text.text);
    }
    pl_ids_free(&ids);
}

#endif
