#include "jobs.h"

#include "json_in.h"

#include <stdlib.h>
#include <string.h>

static void free_job(cli_job *job)
{
    cli_buffer_free(&job->text);
    cli_buffer_free(&job->voice);
    cli_buffer_free(&job->language);
    cli_buffer_free(&job->instruct);
}

void cli_jobs_free(cli_jobs *jobs)
{
    for (size_t i = 0; i < jobs->count; i++)
        free_job(&jobs->rows[i]);
    free(jobs->rows);
    *jobs = (cli_jobs){0};
}

/* A new row at the end; the array grows by doubling. */
static cli_job *add_job(cli_jobs *jobs)
{
    bool full = (jobs->count & (jobs->count - 1)) == 0;
    if (full) {
        size_t capacity = jobs->count ? jobs->count * 2 : 1;
        cli_job *rows = realloc(jobs->rows, capacity * sizeof *rows);
        if (!rows)
            return NULL;
        jobs->rows = rows;
    }
    cli_job *job = &jobs->rows[jobs->count++];
    *job = (cli_job){0};
    return job;
}

static cli_buffer *text_field(cli_job *job, const char *key)
{
    return !strcmp(key, "text")       ? &job->text
           : !strcmp(key, "voice")    ? &job->voice
           : !strcmp(key, "language") ? &job->language
           : !strcmp(key, "instruct") ? &job->instruct
                                      : NULL;
}

/* Names and instructions go to the library as C strings: a NUL would cut them silently. */
static parley_status read_text(cli_json_in *in, const char *key, bool may_hold_nul, cli_buffer *text, parley_error *error)
{
    if (text->data)
        return cli_json_fail(in, error, PARLEY_FORMAT, "\"%s\" is there twice", key);
    CLI_TRY(cli_json_text(in, text, error));
    if (!may_hold_nul && memchr(text->data, 0, text->size))
        return cli_json_fail(in, error, PARLEY_FORMAT, "\"%s\" holds a NUL", key);
    return PARLEY_OK;
}

static parley_status read_member(cli_json_in *in, cli_job *job, const cli_buffer *key, parley_error *error)
{
    cli_buffer *text = strlen(key->data) == key->size ? text_field(job, key->data) : NULL;
    bool is_seed = !strcmp(key->data, "seed") && key->size == 4;
    CLI_TRY(cli_json_expect(in, ':', error));
    if (!text && !is_seed)
        return cli_json_fail(in, error, PARLEY_ARGUMENT, "unknown key \"%.60s\"; there are text, voice, language, instruct, seed", key->data);
    if (text != &job->text && cli_json_null(in))
        return PARLEY_OK;
    if (text)
        return read_text(in, key->data, text == &job->text, text, error);
    if (job->has_seed)
        return cli_json_fail(in, error, PARLEY_FORMAT, "\"seed\" is there twice");
    job->has_seed = true;
    return cli_json_uint64(in, &job->seed, error);
}

static parley_status read_members(cli_json_in *in, cli_job *job, cli_buffer *key, parley_error *error)
{
    CLI_TRY(cli_json_expect(in, '{', error));
    for (bool first = true; !cli_json_accept(in, '}'); first = false) {
        if (!first)
            CLI_TRY(cli_json_expect(in, ',', error));
        key->size = 0;
        CLI_TRY(cli_json_text(in, key, error));
        CLI_TRY(read_member(in, job, key, error));
    }
    CLI_TRY(cli_json_end(in, error));
    return job->text.data ? PARLEY_OK : cli_json_fail(in, error, PARLEY_ARGUMENT, "no \"text\"");
}

static parley_status read_object(const char *name, size_t line, const char *data, size_t size, cli_jobs *jobs, parley_error *error)
{
    cli_json_in in = {.name = name, .data = data, .size = size, .line = line};
    if (!cli_json_peek(&in) && in.at == in.size)
        return PARLEY_OK;
    cli_job *job = add_job(jobs);
    if (!job)
        return cli_fail_memory(error);
    cli_buffer key = {0};
    parley_status status = read_members(&in, job, &key, error);
    cli_buffer_free(&key);
    return status;
}

static parley_status read_line(const char *name, size_t line, const char *data, size_t size, cli_jobs *jobs, parley_error *error)
{
    (void)name;
    (void)line;
    if (size && data[size - 1] == '\r')
        size--;
    if (size == 0)
        return PARLEY_OK;
    cli_job *job = add_job(jobs);
    if (job)
        cli_append(&job->text, data, size);
    return job && !job->text.failed ? PARLEY_OK : cli_fail_memory(error);
}

static parley_status each_line(const char *name, const char *data, size_t size, cli_jobs *jobs,
                               parley_status (*read)(const char *, size_t, const char *, size_t, cli_jobs *, parley_error *), parley_error *error)
{
    *jobs = (cli_jobs){0};
    parley_status status = PARLEY_OK;
    size_t line = 1;
    for (size_t at = 0; at < size && status == PARLEY_OK; line++) {
        const char *end = memchr(data + at, '\n', size - at);
        size_t length = end ? (size_t)(end - data) - at : size - at;
        status = read(name, line, data + at, length, jobs, error);
        at += length + 1;
    }
    if (status == PARLEY_OK && jobs->count == 0)
        status = cli_fail(error, PARLEY_ARGUMENT, "%.200s: no text in it", name);
    if (status != PARLEY_OK)
        cli_jobs_free(jobs);
    return status;
}

parley_status cli_jobs_parse(const char *name, const char *data, size_t size, cli_jobs *jobs, parley_error *error)
{
    return each_line(name, data, size, jobs, read_object, error);
}

parley_status cli_jobs_lines(const char *name, const char *data, size_t size, cli_jobs *jobs, parley_error *error)
{
    return each_line(name, data, size, jobs, read_line, error);
}
