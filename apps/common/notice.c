#include "notice.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINE = 1400 };

static bool line_drawn;

static void erase_line(void)
{
    if (line_drawn)
        fputs("\r\033[K", stderr);
    line_drawn = false;
}

void cli_notice(const char *format, ...)
{
    char text[LINE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    for (char *c = text; *c; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7F)
            *c = '?';
    }
    erase_line();
    fprintf(stderr, "parley: %s\n", text);
}

void cli_notice_raw(const char *text)
{
    erase_line();
    fputs(text, stderr);
}

static void log_line(void *context, parley_log_level level, const char *text)
{
    (void)context;
    if (level == PARLEY_LOG_WARNING)
        cli_notice("warning: %s", text);
    else if (level == PARLEY_LOG_ERROR)
        cli_notice("error: %s", text);
}

const parley_logger cli_logger = {.log = log_line};

void cli_progress_start(cli_progress *progress, bool quiet)
{
    *progress = (cli_progress){.on = !quiet && isatty(2), .started = cli_seconds()};
}

void cli_progress_draw(cli_progress *progress, uint64_t frames, double audio_seconds, size_t done, size_t total)
{
    double now = progress->on ? cli_seconds() : 0.0;
    if (!progress->on || now - progress->drawn < 0.1)
        return;
    char texts[64] = "";
    if (total > 1)
        snprintf(texts, sizeof texts, "%zu of %zu texts, ", done, total);
    progress->drawn = now;
    double elapsed = now - progress->started;
    fprintf(stderr, "\r%s%llu frames, %.1f s of speech, %.2f x real time\033[K", texts, (unsigned long long)frames, audio_seconds,
            elapsed > 0.0 ? audio_seconds / elapsed : 0.0);
    fflush(stderr);
    line_drawn = true;
}

void cli_progress_draw_heard(cli_progress *progress, double heard, double known, size_t done, size_t total)
{
    double now = progress->on ? cli_seconds() : 0.0;
    if (!progress->on || now - progress->drawn < 0.1)
        return;
    char files[64] = "", of[32] = "";
    if (total > 1)
        snprintf(files, sizeof files, "%zu of %zu sounds, ", done, total);
    if (known > 0.0)
        snprintf(of, sizeof of, " of %.1f", known);
    progress->drawn = now;
    double elapsed = now - progress->started;
    fprintf(stderr, "\r%s%.1f%s s heard, %.2f x real time\033[K", files, heard, of, elapsed > 0.0 ? heard / elapsed : 0.0);
    fflush(stderr);
    line_drawn = true;
}

void cli_progress_end(cli_progress *progress)
{
    if (progress->on)
        erase_line();
}
