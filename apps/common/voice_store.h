/* Voice files, and the directory of them that --voice finds by name. */
#ifndef CLI_VOICE_STORE_H
#define CLI_VOICE_STORE_H

#include <parley/voice.h>

#include "output.h"

enum { CLI_VOICE_NAME_MAX = 100 };

/* A row of an option table; `field` is a cli_text. */
#define CLI_ROW_VOICES(type, field)                                                            \
    {                                                                                          \
        .name = "--voices", .kind = CLI_TEXT, .offset = offsetof(type, field), .value = "DIR", \
        .help = "directory of voices; default: the user's data directory"                      \
    }

typedef struct cli_names {
    char **names; /* sorted */
    size_t count;
} cli_names;

/* Whether --voice means a file: a value that ends in .voice or holds a slash. */
bool cli_voice_is_file(const char *value);

/* 1 to 100 of A-Z a-z 0-9 _ -: no name leads out of the directory. The error says so. */
parley_status cli_voice_check_name(const char *name, parley_error *error);

/* `given`, or the default directory where it is NULL. ARGUMENT: there is no default. The directory need not exist. */
parley_status cli_voice_folder(const char *given, cli_buffer *path, parley_error *error);

/* FOLDER/NAME.voice; the name is checked. */
parley_status cli_voice_path(const char *given_folder, const char *name, cli_buffer *path, parley_error *error);

/* Names of the voices in the directory; none where it does not exist. */
parley_status cli_voice_names(const char *given_folder, cli_names *names, parley_error *error);
void cli_names_free(cli_names *names);

/* Reads a voice file; errors name it. */
parley_status cli_voice_load(const char *path, parley_voice **voice, parley_error *error);

/* The voice that `value` means, a file or a name of the directory. MISSING names the voices that are there. */
parley_status cli_voice_find(const char *given_folder, const char *value, parley_voice **voice, parley_error *error);

/* Opens `path`, or `name` in the directory, which is made when it is missing; there an existing voice is an error. */
parley_status cli_voice_open(cli_output *output, const char *path, const char *given_folder, const char *name, parley_error *error);
/* Writes the voice and commits the file. */
parley_status cli_voice_save(const parley_voice *voice, cli_output *output, parley_error *error);

#endif
