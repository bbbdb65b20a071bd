#include "stages.h"

#include <math.h>
#include <string.h>

void cli_stages_tap(void *context, const char *name, char type, const void *data, const int64_t *shape, int rank)
{
    cli_stages *s = context;
    size_t count = 1;
    for (int i = 0; i < rank; i++)
        count *= (size_t)shape[i];
    for (int i = 0; s->names[i] && type == 'f'; i++)
        if (!strcmp(s->names[i], name))
            cli_append(&s->values[i], data, count * sizeof(float));
}

static void add_values(const cli_buffer *source, const cli_buffer *made, double *squares, double *difference)
{
    for (size_t at = 0; at < source->size; at += sizeof(float)) {
        float a, b;
        memcpy(&a, source->data + at, sizeof a);
        memcpy(&b, made->data + at, sizeof b);
        *squares += (double)a * (double)a;
        *difference += ((double)a - (double)b) * ((double)a - (double)b);
    }
}

void cli_stages_add(cli_stage_sums *sums, const cli_stages *source, const cli_stages *made)
{
    for (int i = 0; source->names[i]; i++) {
        const cli_buffer *a = &source->values[i], *b = &made->values[i];
        if (a->failed || b->failed || a->size != b->size)
            sums->other_size[i] = true;
        else
            add_values(a, b, &sums->squares[i], &sums->difference[i]);
    }
}

void cli_stages_free(cli_stages *stages)
{
    for (int i = 0; i < CLI_MOST_STAGES; i++)
        cli_buffer_free(&stages->values[i]);
}

static double relative(const cli_stage_sums *sums, int i)
{
    if (sums->other_size[i])
        return NAN;
    return sums->squares[i] > 0.0 ? sqrt(sums->difference[i] / sums->squares[i]) : 0.0;
}

void cli_stages_json(cli_json *json, const char *const *names, const cli_stage_sums *sums)
{
    cli_json_open(json, "stages", '[');
    for (int i = 0; names[i]; i++) {
        cli_json_open(json, NULL, '{');
        cli_json_string(json, "stage", names[i]);
        cli_json_real(json, "relative_error", relative(sums, i));
        cli_json_close(json, '}');
    }
    cli_json_close(json, ']');
}
