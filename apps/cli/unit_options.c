#include "unit_options.h"

#include "hear_options.h"

const char *const cli_units_by_choices[] = {[CLI_UNITS_AUTO] = "auto", [CLI_UNITS_MECAB] = "mecab", [CLI_UNITS_SCRIPTS] = "scripts", NULL};

static const char *const rule_names[] = {
    [PARLEY_UNITS_GIVEN] = "given",    [PARLEY_UNITS_BLANKS] = "blanks",   [PARLEY_UNITS_SCRIPTS] = "scripts",
    [PARLEY_UNITS_SPLITTER] = "mecab", [PARLEY_UNITS_LEXICON] = "lexicon",
};

const char *cli_unit_rule_name(parley_unit_rule rule)
{
    return rule_names[rule];
}

parley_status cli_unit_rules_open(const cli_unit_fields *fields, cli_unit_rules *rules, parley_error *error)
{
    int32_t by = fields->units_by.given ? fields->units_by.value : CLI_UNITS_AUTO;
    parley_error why = {0};
    *rules = (cli_unit_rules){0};
    if (fields->lexicon.given) {
        CLI_TRY(hear_read_text(fields->lexicon.value, "--lexicon", &rules->lexicon, error));
        rules->has_lexicon = true;
    }
    if (by == CLI_UNITS_SCRIPTS || cli_mecab_open(&rules->mecab, &why) == PARLEY_OK || by == CLI_UNITS_AUTO)
        return PARLEY_OK;
    return cli_fail(error, why.status, "--units-by mecab: %.400s", why.text);
}

void cli_unit_rules_close(cli_unit_rules *rules)
{
    cli_mecab_close(rules->mecab);
    cli_buffer_free(&rules->lexicon);
    *rules = (cli_unit_rules){0};
}

void cli_unit_rules_apply(const cli_unit_rules *rules, parley_align_options *options)
{
    if (rules->mecab) {
        options->split_japanese = cli_mecab_split;
        options->split_context = rules->mecab;
    }
    if (rules->has_lexicon) {
        options->lexicon = rules->lexicon.size ? rules->lexicon.data : "";
        options->lexicon_length = rules->lexicon.size;
    }
}
