/* Languages: English names in upstream's files, codes in GGUF files. */
#include "models/qwen3_asr/internal.h"

#include <string.h>

/* Far more than any model has. */
enum { MAX_LANGUAGES = 256 };

static const asr_language known[] = {
    {"Chinese", "zh"},   {"English", "en"},    {"Cantonese", "yue"}, {"Arabic", "ar"},   {"German", "de"},    {"French", "fr"},
    {"Spanish", "es"},   {"Portuguese", "pt"}, {"Indonesian", "id"}, {"Italian", "it"},  {"Korean", "ko"},    {"Russian", "ru"},
    {"Thai", "th"},      {"Vietnamese", "vi"}, {"Japanese", "ja"},   {"Turkish", "tr"},  {"Hindi", "hi"},     {"Malay", "ms"},
    {"Dutch", "nl"},     {"Swedish", "sv"},    {"Danish", "da"},     {"Finnish", "fi"},  {"Polish", "pl"},    {"Czech", "cs"},
    {"Filipino", "fil"}, {"Persian", "fa"},    {"Greek", "el"},      {"Romanian", "ro"}, {"Hungarian", "hu"}, {"Macedonian", "mk"},
};

enum { KNOWN = sizeof known / sizeof *known };

const asr_language *pl_asr_languages(int *count)
{
    *count = KNOWN;
    return known;
}

static bool equals(const char *text, pl_span span)
{
    return strlen(text) == span.length && memcmp(text, span.text, span.length) == 0;
}

static const asr_language *find(pl_span name_or_code)
{
    for (size_t i = 0; i < KNOWN; i++)
        if (equals(known[i].name, name_or_code) || equals(known[i].code, name_or_code))
            return &known[i];
    return NULL;
}

static parley_status make_list(const pl_values *from, size_t count, asr_language **list)
{
    if (count > MAX_LANGUAGES)
        return pl_fail(from->error, PARLEY_FORMAT, "%s: %zu languages, at most %d are expected", from->where, count, MAX_LANGUAGES);
    *list = PL_NEW_ARRAY(from->arena, asr_language, count);
    return *list ? PARLEY_OK : pl_fail_memory(from->error, "the languages");
}

/* ------------------------------------------------------------------ JSON */

/* A name that is not known here may still be asked for by that name. */
static parley_status add_name(const pl_values *from, const cJSON *item, asr_language *language)
{
    if (!cJSON_IsString(item) || !*item->valuestring)
        return pl_fail(from->error, PARLEY_FORMAT, "%s: 'support_languages' is to be a list of names", from->where);
    size_t length = strlen(item->valuestring);
    const asr_language *own = find((pl_span){item->valuestring, length});
    *language = (asr_language){pl_arena_text(from->arena, item->valuestring, length), own ? own->code : ""};
    return language->name ? PARLEY_OK : pl_fail_memory(from->error, "the languages");
}

static parley_status read_names(const pl_values *from, asr_config *config)
{
    const cJSON *array;
    asr_language *list;
    PL_TRY(pl_model_json_find(from->json, "support_languages", from->where, &array, from->error));
    if (!array)
        return pl_fail(from->error, PARLEY_MISSING, "%s: 'support_languages' is not there", from->where);
    if (!cJSON_IsArray(array))
        return pl_fail(from->error, PARLEY_FORMAT, "%s: 'support_languages' is to be a list of names", from->where);
    PL_TRY(make_list(from, (size_t)cJSON_GetArraySize(array), &list));
    for (const cJSON *item = array->child; item; item = item->next)
        PL_TRY(add_name(from, item, &list[config->n_languages++]));
    config->languages = list;
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ GGUF */

/* Codes that are not known are passed over: no prompt could name the language. */
static parley_status read_codes(const pl_values *from, asr_config *config)
{
    parley_status status;
    pl_gguf_text *codes;
    asr_language *list;
    size_t count;
    if (!pl_gguf_strings(from->places[0], "general.languages", &codes, &count, from->arena, &status, from->error)) {
        config->languages = pl_asr_languages(&config->n_languages);
        return status;
    }
    PL_TRY(make_list(from, count, &list));
    for (size_t i = 0; i < count; i++) {
        const asr_language *own = find((pl_span){codes[i].text, codes[i].length});
        if (own)
            list[config->n_languages++] = *own;
    }
    config->languages = list;
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ the dialect parley: names, whatever code they have */

static const char own_names[] = "stt.qwen3_asr.language_names";

static parley_status read_own(const pl_values *from, asr_config *config)
{
    parley_status status;
    pl_gguf_text *names;
    asr_language *list;
    size_t count;
    if (!pl_gguf_strings(from->places[0], own_names, &names, &count, from->arena, &status, from->error))
        return status != PARLEY_OK ? status : pl_fail(from->error, PARLEY_MISSING, "%s: '%s' is not there", from->where, own_names);
    PL_TRY(make_list(from, count, &list));
    for (size_t i = 0; i < count; i++) {
        const pl_span name = {names[i].text, names[i].length};
        const asr_language *own = find(name);
        if (name.length == 0 || memchr(name.text, 0, name.length) || pl_utf8_check(name.text, name.length) != name.length)
            return pl_fail(from->error, PARLEY_FORMAT, "%s: item %zu of '%s' is no name", from->where, i, own_names);
        list[i] = (asr_language){pl_arena_text(from->arena, name.text, name.length), own ? own->code : ""};
        if (!list[i].name)
            return pl_fail_memory(from->error, "the languages");
    }
    config->languages = list;
    config->n_languages = (int)count;
    return PARLEY_OK;
}

void pl_asr_languages_write(const asr_config *config, pl_gguf_head *head)
{
    pl_gguf_put_texts(head, own_names, (size_t)config->n_languages);
    for (int i = 0; i < config->n_languages; i++)
        pl_gguf_put_item(head, config->languages[i].name);
}

parley_status pl_asr_languages_read(const pl_values *from, asr_config *config)
{
    if (from->json)
        return read_names(from, config);
    return from->dialect == ASR_PARLEY ? read_own(from, config) : read_codes(from, config);
}
