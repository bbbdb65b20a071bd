#include "mecab.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const library_names[] = {"libmecab.so.2", "libmecab.2.dylib", "libmecab.so"};

/* The beginning of mecab_dictionary_info_t (mecab.h of 0.98 to 0.996). */
typedef struct dictionary_info {
    const char *file, *charset;
} dictionary_info;

struct cli_mecab {
    void *library, *tagger;
    void *(*create)(int argc, char **argv);
    void (*destroy)(void *tagger);
    const char *(*explain)(void *tagger);
    const char *(*words)(void *tagger, const char *text, size_t length);
    const dictionary_info *(*dictionary)(void *tagger);
};

/* ------------------------------------------------------------------ loading */

static parley_status load(cli_mecab *m, parley_error *error)
{
    static const struct {
        const char *name;
        size_t offset;
    } functions[] = {{"mecab_new", offsetof(cli_mecab, create)},
                     {"mecab_destroy", offsetof(cli_mecab, destroy)},
                     {"mecab_strerror", offsetof(cli_mecab, explain)},
                     {"mecab_sparse_tostr2", offsetof(cli_mecab, words)},
                     {"mecab_dictionary_info", offsetof(cli_mecab, dictionary)}};
    for (size_t i = 0; i < CLI_COUNT(library_names) && !m->library; i++)
        m->library = dlopen(library_names[i], RTLD_NOW | RTLD_LOCAL);
    if (!m->library)
        return cli_fail(error, PARLEY_MISSING, "MeCab is not installed: no %s (Debian: libmecab2 and mecab-ipadic-utf8)", library_names[0]);
    for (size_t i = 0; i < CLI_COUNT(functions); i++) {
        void *function = dlsym(m->library, functions[i].name);
        if (!function)
            return cli_fail(error, PARLEY_UNSUPPORTED, "MeCab: the library has no function %s", functions[i].name);
        memcpy((char *)m + functions[i].offset, &function, sizeof function);
    }
    return PARLEY_OK;
}

static parley_status open_tagger(cli_mecab *m, parley_error *error)
{
    char name[] = "parley", format[] = "-Owakati", *arguments[] = {name, format, NULL}; /* words with a space behind each */
    m->tagger = m->create(2, arguments);
    if (!m->tagger) {
        const char *why = m->explain(NULL);
        return cli_fail(error, PARLEY_MISSING, "MeCab cannot open its dictionary: %.300s (Debian: mecab-ipadic-utf8)",
                        why && *why ? why : "its configuration names none");
    }
    const dictionary_info *info = m->dictionary(m->tagger);
    if (!info || !info->charset || (strcasecmp(info->charset, "utf8") != 0 && strcasecmp(info->charset, "utf-8") != 0))
        return cli_fail(error, PARLEY_UNSUPPORTED, "MeCab's dictionary \"%.200s\" is in %.40s, expected UTF-8", info && info->file ? info->file : "",
                        info && info->charset ? info->charset : "an unknown encoding");
    return PARLEY_OK;
}

parley_status cli_mecab_open(cli_mecab **mecab, parley_error *error)
{
    cli_mecab *m = calloc(1, sizeof *m);
    if (!m)
        return cli_fail_memory(error);
    parley_status status = load(m, error);
    if (status == PARLEY_OK)
        status = open_tagger(m, error);
    if (status == PARLEY_OK)
        *mecab = m;
    else
        cli_mecab_close(m);
    return status;
}

void cli_mecab_close(cli_mecab *mecab)
{
    if (!mecab)
        return;
    if (mecab->tagger)
        mecab->destroy(mecab->tagger);
    if (mecab->library)
        dlclose(mecab->library);
    free(mecab);
}

/* ------------------------------------------------------------------ words */

static bool is_separator(char byte)
{
    return (unsigned char)byte <= ' ' || byte == 0x7F;
}

/* Bytes of the next piece: to a blank or behind the end of a sentence, and not too many, since MeCab counts the bytes of a word in 16 bits. */
static size_t piece_length(const char *text, size_t length)
{
    static const char *const ends[] = {"\xE3\x80\x82", "\xEF\xBC\x81", "\xEF\xBC\x9F"}; /* full stop, exclamation mark, question mark */
    enum { MOST = 3000, MARK = 3 };
    size_t most = length < MOST ? length : MOST;
    for (size_t i = 0; i < most; i++) {
        if (is_separator(text[i]))
            return i;
        for (size_t k = 0; k < CLI_COUNT(ends); k++)
            if (i + MARK <= most && memcmp(text + i, ends[k], MARK) == 0)
                return i + MARK;
    }
    while (most < length && most > 1 && ((unsigned char)text[most] & 0xC0) == 0x80)
        most--;
    return most;
}

/* ASCII, or the wide form U+FF10 .. U+FF19. The reference's analyser makes each digit a word. */
static bool is_digit(const char *text, size_t length)
{
    bool wide = length >= 3 && memcmp(text, "\xEF\xBC", 2) == 0 && (unsigned char)text[2] >= 0x90 && (unsigned char)text[2] <= 0x99;
    return wide || (*text >= '0' && *text <= '9');
}

/* A piece has no blanks, so that its words, one behind the other, are the piece. */
static parley_status split_piece(cli_mecab *m, const char *text, size_t length, unsigned char *begins, parley_error *error)
{
    const char *words = m->words(m->tagger, text, length);
    size_t at = 0;
    if (!words)
        return cli_fail(error, PARLEY_INTERNAL, "MeCab failed: %.300s", m->explain(m->tagger));
    for (bool begin = true; *words; words++) {
        if (is_separator(*words)) {
            begin = true;
            continue;
        }
        if (at == length || text[at] != *words)
            break;
        begins[at] = begin || is_digit(text + at, length - at);
        at++;
        begin = false;
    }
    return at == length && !*words ? PARLEY_OK : cli_fail(error, PARLEY_INTERNAL, "MeCab's words are not those of the text");
}

parley_status cli_mecab_split(void *mecab, const char *text, size_t length, unsigned char *begins, parley_error *error)
{
    for (size_t at = 0, piece; at < length; at += piece) {
        piece = piece_length(text + at, length - at);
        if (!piece) {
            piece = 1;
            continue;
        }
        CLI_TRY(split_piece(mecab, text + at, piece, begins + at, error));
    }
    return PARLEY_OK;
}
