/* parley - the program. Finds the subcommand, prints the error, turns its kind into the exit code. */
#include "commands.h"
#include "notice.h"
#include "output.h"
#include "signals.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

typedef struct subcommand {
    const char *name;
    const char *about;
    parley_status (*run)(int argc, char **argv, parley_error *error);
} subcommand;

static const subcommand subcommands[] = {
    {"say", "speak a text into a WAV file, or many texts into many", cli_say},
    {"voice", "voices from recordings, and the directory of voices", cli_voice},
    {"codec", "codes to sound and back (codec decode, codec encode)", cli_codec},
    {"hear", "sound files to text, subtitles or JSON", cli_hear},
    {"align", "times of the words of a text in a sound", cli_align},
    {"serve", "models over HTTP in the shapes of the OpenAI API, and a page", cli_serve},
    {"tokenize", "ids of a text", cli_tokenize},
    {"info", "what a model is; --check reads all of it", cli_info},
    {"quantize", "one file out of a model, in smaller types", cli_quantize},
    {"bench", "time the stages of a model", cli_bench},
};

static void usage(cli_buffer *text)
{
    cli_append_text(text, "usage: parley SUBCOMMAND [options]\n\n");
    for (size_t i = 0; i < CLI_COUNT(subcommands); i++)
        cli_appendf(text, "  %-10s %s\n", subcommands[i].name, subcommands[i].about);
    cli_append_text(text, "\n  parley SUBCOMMAND --help   its options\n  parley --version\n\n"
                          "Example: parley say -o hello.wav \"Good morning.\"\n\nExit codes:");
#define EXIT_CODE(constant, name, http, exit_code, meaning) cli_appendf(text, "\n  %3d  %s", exit_code, meaning);
    PARLEY_STATUS_LIST(EXIT_CODE)
#undef EXIT_CODE
    cli_append_text(text, "\n");
}

static parley_status fail_subcommand(const char *name, parley_error *error)
{
    cli_buffer names = {0};
    for (size_t i = 0; i < CLI_COUNT(subcommands); i++)
        cli_appendf(&names, "%s%s", i ? ", " : "", subcommands[i].name);
    cli_fail(error, PARLEY_ARGUMENT, "unknown subcommand \"%.100s\"; there are %s (and --help, --version)", name, names.failed ? "" : names.data);
    cli_buffer_free(&names);
    return PARLEY_ARGUMENT;
}

static parley_status print_usage(parley_error *error)
{
    cli_buffer text = {0};
    usage(&text);
    parley_status status = cli_output_whole("-", &text, error);
    cli_buffer_free(&text);
    return status;
}

static parley_status print_version(parley_error *error)
{
    cli_buffer text = {0};
    cli_appendf(&text, "parley %s\n", parley_version());
    parley_status status = cli_output_whole("-", &text, error);
    cli_buffer_free(&text);
    return status;
}

static parley_status dispatch(int argc, char **argv, parley_error *error)
{
    if (argc < 2) {
        cli_buffer text = {0};
        usage(&text);
        cli_notice_raw(text.failed ? "" : text.data);
        cli_buffer_free(&text);
        return cli_fail(error, PARLEY_ARGUMENT, "no subcommand");
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
        return print_usage(error);
    if (!strcmp(argv[1], "--version"))
        return print_version(error);
    for (size_t i = 0; i < CLI_COUNT(subcommands); i++) {
        if (!strcmp(subcommands[i].name, argv[1]))
            return subcommands[i].run(argc - 2, argv + 2, error);
    }
    return fail_subcommand(argv[1], error);
}

/* A descriptor of the first three that the parent closed would be given to the next file opened, and messages would land in it. Reading and
 * writing the stand-ins fails, as it does with closed ones. */
static void occupy_descriptors(void)
{
    for (int fd = 0; fd < 3; fd++) {
        if (fcntl(fd, F_GETFD) == -1 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd)
            _exit(parley_status_exit_code(PARLEY_IO));
    }
}

int main(int argc, char **argv)
{
    parley_error error = {0};
    occupy_descriptors();
    parley_status status = cli_signals_start(&error);
    if (status == PARLEY_OK)
        status = dispatch(argc, argv, &error);
    if (status != PARLEY_OK && error.text[0])
        cli_notice("%s", error.text);
    return parley_status_exit_code(status);
}
