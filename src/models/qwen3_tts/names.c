/* The tables of languages and speakers, in the four forms that they have: JSON objects, parallel arrays, one key a name, names of tokens. */
#include "models/qwen3_tts/internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define Q "qwen3-tts."

/* Far more than any model has; keeps the search for doubles short. */
enum { MAX_NAMES = 1024 };

typedef struct row {
    pl_span name;
    int64_t id;
    pl_span dialect;
} row;

typedef struct table {
    const char *what; /* "language", "speaker" */
    row rows[MAX_NAMES];
    size_t count;
} table;

static parley_status add(const pl_values *from, table *t, pl_span name, int64_t id)
{
    if (t->count == MAX_NAMES)
        return pl_fail(from->error, PARLEY_FORMAT, "%s: more than %d %ss", from->where, MAX_NAMES, t->what);
    t->rows[t->count++] = (row){name, id, {"", 0}};
    return PARLEY_OK;
}

static row *find(table *t, pl_span name)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->rows[i].name.length == name.length && memcmp(t->rows[i].name.text, name.text, name.length) == 0)
            return &t->rows[i];
    return NULL;
}

static pl_span span_of(const char *text)
{
    return (pl_span){text, strlen(text)};
}

/* ------------------------------------------------------------------ JSON */

static parley_status json_ids(const pl_values *from, const char *path, bool needed, table *t)
{
    const cJSON *object;
    PL_TRY(pl_model_json_find(from->json, path, from->where, &object, from->error));
    if (!object && needed)
        return pl_fail(from->error, PARLEY_MISSING, "%s: '%s' is not there", from->where, path);
    if (object && !cJSON_IsObject(object))
        return pl_fail(from->error, PARLEY_FORMAT, "%s: '%s' is to be an object of names and ids", from->where, path);
    for (const cJSON *item = object ? object->child : NULL; item; item = item->next) {
        if (!cJSON_IsNumber(item) || item->valuedouble != floor(item->valuedouble) || fabs(item->valuedouble) > 1e9)
            return pl_fail(from->error, PARLEY_FORMAT, "%s: the id of %s '%s' is no id", from->where, t->what, item->string);
        PL_TRY(add(from, t, span_of(item->string), (int64_t)item->valuedouble));
    }
    return PARLEY_OK;
}

static parley_status json_dialects(const pl_values *from, const char *path, table *speakers)
{
    const cJSON *object;
    PL_TRY(pl_model_json_find(from->json, path, from->where, &object, from->error));
    if (object && !cJSON_IsObject(object))
        return pl_fail(from->error, PARLEY_FORMAT, "%s: '%s' is to be an object of names and dialects", from->where, path);
    for (const cJSON *item = object ? object->child : NULL; item; item = item->next) {
        row *speaker = find(speakers, span_of(item->string));
        if (!cJSON_IsString(item) && !cJSON_IsFalse(item) && !cJSON_IsNull(item))
            return pl_fail(from->error, PARLEY_FORMAT, "%s: the dialect of speaker '%s' is to be false or a text", from->where, item->string);
        if (speaker && cJSON_IsString(item))
            speaker->dialect = span_of(item->valuestring);
    }
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ GGUF: arrays */

static parley_status texts(const pl_values *from, const char *key, size_t expected, pl_gguf_text **items, size_t *count)
{
    parley_status status;
    *items = NULL;
    *count = 0;
    if (!pl_gguf_strings(from->places[0], key, items, count, from->arena, &status, from->error))
        return status;
    if (expected != SIZE_MAX && *count != expected)
        return pl_fail(from->error, PARLEY_FORMAT, "%s: '%s' has %zu items, %zu are expected", from->where, key, *count, expected);
    return PARLEY_OK;
}

static parley_status array_ids(const pl_values *from, const char *names_key, const char *ids_key, table *t)
{
    parley_status status;
    pl_gguf_text *names;
    int64_t *ids = NULL;
    size_t n, n_ids = 0;
    PL_TRY(texts(from, names_key, SIZE_MAX, &names, &n));
    if (!names)
        return PARLEY_OK;
    if (!pl_gguf_ints(from->places[0], ids_key, n, &ids, &n_ids, from->arena, &status, from->error) && status != PARLEY_OK)
        return status;
    if (n != n_ids)
        return pl_fail(from->error, PARLEY_FORMAT, "%s: '%s' has %zu items but '%s' %zu", from->where, names_key, n, ids_key, n_ids);
    for (size_t i = 0; i < n; i++)
        PL_TRY(add(from, t, (pl_span){names[i].text, names[i].length}, ids[i]));
    return PARLEY_OK;
}

static parley_status array_dialects(const pl_values *from, const char *key, table *speakers)
{
    pl_gguf_text *names;
    size_t n;
    PL_TRY(texts(from, key, speakers->count, &names, &n));
    for (size_t i = 0; i < n; i++)
        speakers->rows[i].dialect = (pl_span){names[i].text, names[i].length};
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ GGUF: one key a name */

typedef struct visit {
    const pl_values *from;
    table *t;
    parley_status status;
} visit;

static void visit_id(void *context, pl_gguf_text rest, const char *key)
{
    visit *v = context;
    int64_t id;
    if (v->status == PARLEY_OK && pl_gguf_int(v->from->places[0], key, &id, &v->status, v->from->error))
        v->status = add(v->from, v->t, (pl_span){rest.text, rest.length}, id);
}

static void visit_dialect(void *context, pl_gguf_text rest, const char *key)
{
    visit *v = context;
    pl_gguf_text dialect;
    row *speaker = find(v->t, (pl_span){rest.text, rest.length});
    if (v->status == PARLEY_OK && speaker && pl_gguf_string(v->from->places[0], key, &dialect, &v->status, v->from->error))
        speaker->dialect = (pl_span){dialect.text, dialect.length};
}

static parley_status each(const pl_values *from, const char *prefix, void (*function)(void *, pl_gguf_text, const char *), table *t)
{
    visit v = {from, t, PARLEY_OK};
    pl_gguf_each(from->places[0], prefix, function, &v);
    return v.status;
}

/* What the qts family assumes where a file does not say. */
static parley_status default_languages(const pl_values *from, int32_t codec_vocabulary, table *t)
{
    static const char *const english_keys[] = {Q "language.english_id", Q "codec.language.english_id", Q "language_id"};
    parley_status status = PARLEY_OK;
    int64_t english = 2050;
    for (size_t i = 0; i < sizeof english_keys / sizeof *english_keys; i++) {
        if (pl_gguf_int(from->places[0], english_keys[i], &english, &status, from->error))
            break;
        PL_TRY(status);
    }
    if (!find(t, span_of("english")) && english < codec_vocabulary)
        PL_TRY(add(from, t, span_of("english"), english));
    if (!find(t, span_of("chinese")) && 2055 < codec_vocabulary)
        PL_TRY(add(from, t, span_of("chinese"), 2055));
    return PARLEY_OK;
}

static parley_status gguf_languages(const pl_values *from, int32_t codec_vocabulary, table *t)
{
    PL_TRY(array_ids(from, Q "codec.language_names", Q "codec.language_ids", t));
    if (t->count == 0)
        PL_TRY(each(from, Q "talker.codec_language_id.", visit_id, t));
    return from->dialect == TTS_QTS ? default_languages(from, codec_vocabulary, t) : PARLEY_OK;
}

static parley_status gguf_speakers(const pl_values *from, table *t)
{
    PL_TRY(array_ids(from, Q "codec.speaker_names", Q "codec.speaker_ids", t));
    if (t->count > 0)
        return array_dialects(from, Q "codec.speaker_dialects", t);
    PL_TRY(each(from, Q "talker.spk_id.", visit_id, t));
    return each(from, Q "talker.spk_is_dialect.", visit_dialect, t);
}

/* ------------------------------------------------------------------ GGUF: names of tokens */

/* The rows that are named prefix + name + "|>". */
static parley_status joined_ids(const pl_values *from, const tts_joined *joined, const char *prefix, table *t)
{
    static const char end[] = "|>";
    const size_t before = strlen(prefix), after = sizeof end - 1;
    for (size_t i = 0; i < joined->n_codec; i++) {
        const pl_gguf_text *name = &joined->codec[i];
        if (name->length > before + after && memcmp(name->text, prefix, before) == 0 && memcmp(name->text + name->length - after, end, after) == 0)
            PL_TRY(add(from, t, (pl_span){name->text + before, name->length - before - after}, (int64_t)i));
    }
    return PARLEY_OK;
}

/* These files do not say which speakers have a dialect: the published ones that do, where the model has it (spec/gguf_dialects.md D.2). */
static void joined_dialects(const tts_config *config, table *speakers)
{
    static const char *const pairs[][2] = {{"eric", "sichuan_dialect"}, {"dylan", "beijing_dialect"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        row *speaker = find(speakers, span_of(pairs[i][0]));
        for (int k = 0; speaker && k < config->n_languages; k++)
            if (strcmp(config->languages[k].name, pairs[i][1]) == 0)
                speaker->dialect = span_of(pairs[i][1]);
    }
}

/* ------------------------------------------------------------------ checking and keeping */

/* Names are compared in lower case, as the reference compares them. */
static parley_status lower(const pl_values *from, pl_span text, const char *what, const char **name)
{
    if (memchr(text.text, 0, text.length) || pl_utf8_check(text.text, text.length) != text.length)
        return pl_fail(from->error, PARLEY_FORMAT, "%s: the name of a %s is no UTF-8 text", from->where, what);
    char *copy = pl_arena_text(from->arena, text.text, text.length);
    if (!copy)
        return pl_fail_memory(from->error, "the configuration");
    for (char *c = copy; *c; c++)
        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c + ('a' - 'A'));
    *name = copy;
    return PARLEY_OK;
}

static parley_status check_id(const pl_values *from, const table *t, const row *r, int32_t codec_vocabulary)
{
    if (r->id >= 0 && r->id < codec_vocabulary)
        return PARLEY_OK;
    return pl_fail(from->error, PARLEY_FORMAT, "%s: %s '%.*s' has id %lld, 0 to %d is expected", from->where, t->what,
                   r->name.length < 80 ? (int)r->name.length : 80, r->name.text, (long long)r->id, codec_vocabulary - 1);
}

static parley_status keep_languages(const pl_values *from, const table *t, tts_config *config)
{
    tts_language *list = PL_NEW_ARRAY(from->arena, tts_language, t->count);
    if (!list)
        return pl_fail_memory(from->error, "the configuration");
    for (size_t i = 0; i < t->count; i++) {
        PL_TRY(check_id(from, t, &t->rows[i], config->codec_vocabulary));
        PL_TRY(lower(from, t->rows[i].name, t->what, &list[i].name));
        list[i].id = (int32_t)t->rows[i].id;
        list[i].dialect = strstr(list[i].name, "dialect") != NULL;
        for (size_t k = 0; k < i; k++)
            if (strcmp(list[k].name, list[i].name) == 0)
                return pl_fail(from->error, PARLEY_FORMAT, "%s: language '%s' is there twice", from->where, list[i].name);
    }
    config->languages = list;
    config->n_languages = (int)t->count;
    return PARLEY_OK;
}

static parley_status check_dialect(const pl_values *from, const tts_config *config, const tts_speaker *speaker)
{
    bool known = !*speaker->dialect;
    for (int i = 0; i < config->n_languages && !known; i++)
        known = strcmp(config->languages[i].name, speaker->dialect) == 0;
    if (known)
        return PARLEY_OK;
    return pl_fail(from->error, PARLEY_FORMAT, "%s: speaker '%.80s' has the dialect '%.80s', which is none of the languages", from->where,
                   speaker->name, speaker->dialect);
}

static parley_status keep_speakers(const pl_values *from, const table *t, tts_config *config)
{
    tts_speaker *list = PL_NEW_ARRAY(from->arena, tts_speaker, t->count);
    if (!list)
        return pl_fail_memory(from->error, "the configuration");
    for (size_t i = 0; i < t->count; i++) {
        PL_TRY(check_id(from, t, &t->rows[i], config->codec_vocabulary));
        PL_TRY(lower(from, t->rows[i].name, t->what, &list[i].name));
        PL_TRY(lower(from, t->rows[i].dialect, t->what, &list[i].dialect));
        PL_TRY(check_dialect(from, config, &list[i]));
        list[i].id = (int32_t)t->rows[i].id;
        for (size_t k = 0; k < i; k++)
            if (strcmp(list[k].name, list[i].name) == 0)
                return pl_fail(from->error, PARLEY_FORMAT, "%s: speaker '%s' is there twice", from->where, list[i].name);
    }
    config->speakers = list;
    config->n_speakers = (int)t->count;
    return PARLEY_OK;
}

static parley_status read_languages(const pl_values *from, const tts_joined *joined, tts_config *config, table *t)
{
    *t = (table){.what = "language"};
    if (from->json)
        PL_TRY(json_ids(from, "talker_config.codec_language_id", true, t));
    else
        PL_TRY(joined ? joined_ids(from, joined, "<|codec_language_", t) : gguf_languages(from, config->codec_vocabulary, t));
    return keep_languages(from, t, config);
}

static parley_status read_speakers(const pl_values *from, const tts_joined *joined, tts_config *config, table *t)
{
    *t = (table){.what = "speaker"};
    if (from->json) {
        PL_TRY(json_ids(from, "talker_config.spk_id", false, t));
        PL_TRY(json_dialects(from, "talker_config.spk_is_dialect", t));
    } else if (joined) {
        PL_TRY(joined_ids(from, joined, "<|spk_", t));
        joined_dialects(config, t);
    } else {
        PL_TRY(gguf_speakers(from, t));
    }
    return keep_speakers(from, t, config);
}

parley_status pl_tts_names_read(const pl_values *from, const tts_joined *joined, tts_config *config)
{
    table *t = PL_NEW(from->arena, table);
    if (!t)
        return pl_fail_memory(from->error, "the configuration");
    PL_TRY(read_languages(from, joined, config, t));
    return read_speakers(from, joined, config, t);
}

/* ------------------------------------------------------------------ writing */

static int32_t *ids_of(pl_arena *arena, int count)
{
    return PL_NEW_ARRAY(arena, int32_t, count);
}

parley_status pl_tts_names_write(const tts_config *config, pl_arena *arena, pl_gguf_head *head, parley_error *error)
{
    size_t n_languages = (size_t)config->n_languages, n_speakers = (size_t)config->n_speakers;
    int32_t *languages = ids_of(arena, config->n_languages), *speakers = ids_of(arena, config->n_speakers);
    if (!languages || !speakers)
        return pl_fail_memory(error, "languages and speakers");
    pl_gguf_put_texts(head, Q "codec.language_names", n_languages);
    for (size_t i = 0; i < n_languages; i++) {
        pl_gguf_put_item(head, config->languages[i].name);
        languages[i] = config->languages[i].id;
    }
    pl_gguf_put_ints(head, Q "codec.language_ids", languages, n_languages);
    pl_gguf_put_texts(head, Q "codec.speaker_names", n_speakers);
    for (size_t i = 0; i < n_speakers; i++) {
        pl_gguf_put_item(head, config->speakers[i].name);
        speakers[i] = config->speakers[i].id;
    }
    pl_gguf_put_ints(head, Q "codec.speaker_ids", speakers, n_speakers);
    pl_gguf_put_texts(head, Q "codec.speaker_dialects", n_speakers);
    for (size_t i = 0; i < n_speakers; i++)
        pl_gguf_put_item(head, config->speakers[i].dialect);
    return PARLEY_OK;
}
