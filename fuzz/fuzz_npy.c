/* Fuzz target of the program's readers: any bytes as .npy, as codes in both forms, as JSON lines and as a JSON text. */
#include "codes.h"
#include "jobs.h"
#include "npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cli_npy array;
    cli_codes codes;
    cli_jobs jobs;
    parley_error error = {0};
    if (cli_npy_parse("fuzz", data, size, &array, &error) == PARLEY_OK)
        cli_npy_free(&array);
    if (cli_codes_parse_npy("fuzz", data, size, &codes, &error) == PARLEY_OK)
        cli_codes_free(&codes);
    if (cli_codes_parse_json("fuzz", (const char *)data, size, &codes, &error) == PARLEY_OK)
        cli_codes_free(&codes);
    if (cli_jobs_parse("fuzz", (const char *)data, size, &jobs, &error) == PARLEY_OK)
        cli_jobs_free(&jobs);
    if (cli_jobs_lines("fuzz", (const char *)data, size, &jobs, &error) == PARLEY_OK)
        cli_jobs_free(&jobs);
    return 0;
}
