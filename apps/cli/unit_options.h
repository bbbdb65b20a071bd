/* How align and hear cut a text into units: options, and what they need to be open. */
#ifndef CLI_UNIT_OPTIONS_H
#define CLI_UNIT_OPTIONS_H

#include <parley/asr.h>

#include "buffer.h"
#include "mecab.h"
#include "options.h"

typedef struct cli_unit_fields {
    cli_int units_by; /* CLI_UNITS_ */
    cli_text lexicon;
} cli_unit_fields;

enum { CLI_UNITS_AUTO, CLI_UNITS_MECAB, CLI_UNITS_SCRIPTS };
extern const char *const cli_units_by_choices[];

#define CLI_ROW_UNITS_BY(type, member)                                                                                                          \
    {                                                                                                                                           \
        .name = "--units-by", .kind = CLI_CHOICE, .offset = offsetof(type, member.units_by), .value = "NAME",                                   \
        .help = "how Japanese text is cut into words; default auto: mecab where it is installed, else scripts", .choices = cli_units_by_choices \
    }
#define CLI_ROW_LEXICON(type, member)                                                                     \
    {                                                                                                     \
        .name = "--lexicon", .kind = CLI_TEXT, .offset = offsetof(type, member.lexicon), .value = "FILE", \
        .help = "Korean words, one a line, behind which particles are cut off; default: words stay whole" \
    }

typedef struct cli_unit_rules {
    cli_mecab *mecab;
    cli_buffer lexicon;
    bool has_lexicon;
} cli_unit_rules;

/* MeCab that is not there is an error only where it is asked for by name. Close it after an error too. */
parley_status cli_unit_rules_open(const cli_unit_fields *fields, cli_unit_rules *rules, parley_error *error);
void cli_unit_rules_close(cli_unit_rules *rules);

/* Sets the options; what they point to lives as long as the rules. */
void cli_unit_rules_apply(const cli_unit_rules *rules, parley_align_options *options);

/* "given", "blanks", "scripts", "mecab", "lexicon". */
const char *cli_unit_rule_name(parley_unit_rule rule);

#endif
