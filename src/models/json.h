/* JSON documents of a checkpoint's folder. */
#ifndef PL_MODELS_JSON_H
#define PL_MODELS_JSON_H

#include "base/source.h"

#include <cjson/cJSON.h>

/* Longest name of a file or tensor in an error text. */
enum { PL_MODEL_WHERE = 240, PL_MODEL_NAME = 128 };

/* Parses a JSON object of a source's folder ("" or a prefix that ends in '/'). Errors: MISSING, FORMAT, IO, MEMORY. Release with cJSON_Delete(). */
parley_status pl_model_json(pl_source *source, const char *folder, const char *name, cJSON **json, parley_error *error);

/* The value at "a.b.c"; NULL when it is not there or null. A key that occurs twice, and a step into what is no object, are FORMAT. */
parley_status pl_model_json_find(const cJSON *json, const char *path, const char *where, const cJSON **value, parley_error *error);

/* The text there, "" when there is none. Another kind is FORMAT. Lives as long as the document. */
parley_status pl_model_json_text(const cJSON *json, const char *path, const char *where, const char **text, parley_error *error);

#endif
