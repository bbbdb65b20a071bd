/* Command lines from tables: a row declares an option once, for parsing, range checks and --help alike. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "buffer.h"

/* What an option stores. `given` tells an option from its absence: no value has a second meaning. */
typedef struct cli_flag {
    bool given;
} cli_flag;
typedef struct cli_text {
    bool given;
    const char *value;
} cli_text;
enum { CLI_MOST_TEXTS = 64 };
typedef struct cli_texts {
    bool given;
    size_t count;
    const char *values[CLI_MOST_TEXTS]; /* of an option that may be given again, in order */
} cli_texts;
typedef struct cli_int {
    bool given;
    int32_t value; /* of a choice: its index */
} cli_int;
typedef struct cli_seed {
    bool given;
    uint64_t value;
} cli_seed;
typedef struct cli_real {
    bool given;
    double value;
} cli_real;

typedef enum cli_kind { CLI_FLAG, CLI_TEXT, CLI_TEXTS, CLI_INT, CLI_SEED, CLI_REAL, CLI_CHOICE } cli_kind;

typedef struct cli_option {
    const char *name;  /* "--voice" */
    char letter;       /* 'm' for "-m", 0: none */
    const char *alias; /* a whole word with one dash, such as "-m2"; NULL: none */
    cli_kind kind;
    size_t offset;              /* of the field, a struct of the kind above */
    const char *value;          /* what --help calls the value */
    const char *help;           /* with default and unit */
    double low, high;           /* of numbers, inclusive */
    bool above;                 /* low itself is excluded */
    const char *const *choices; /* of a choice, NULL at the end */
} cli_option;

typedef struct cli_command {
    const char *name;  /* "codec decode" */
    const char *usage; /* behind the name */
    const char *about;
    const cli_option *options;
    size_t n_options;
    size_t max_arguments;
} cli_command;

typedef struct cli_arguments {
    char **values; /* what is no option: the front of argv, whose words are moved there */
    size_t count;
    bool help; /* --help: nothing else is checked */
} cli_arguments;

/* Fills `fields`, a structure of zeros that the rows' offsets point into. "--name value", "--name=value", "-n value", "-nvalue"; "--" ends the
 * options, "-" alone is none. Errors: ARGUMENT; where the text is empty, the message (with the list of options) is printed already. */
parley_status cli_parse(const cli_command *command, int argc, char **argv, void *fields, cli_arguments *arguments, parley_error *error);

void cli_help(const cli_command *command, cli_buffer *text);
/* The same on standard output. */
parley_status cli_print_help(const cli_command *command, parley_error *error);

#endif
