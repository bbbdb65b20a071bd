#include "upload.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { PARSER_BYTES = 4096 }; /* of a part's headers */

static srv_field *begin_field(srv_upload *u, const char *name, bool is_file)
{
    if (u->count == SRV_MOST_FIELDS) {
        cli_fail(&u->failure, PARLEY_LIMIT, "the form has more than %d fields", (int)SRV_MOST_FIELDS);
        return NULL;
    }
    if (!name || !*name || strlen(name) >= sizeof u->fields[0].name) {
        cli_fail(&u->failure, PARLEY_ARGUMENT, "a field of the form has no name, or one of more than %zu bytes", sizeof u->fields[0].name - 1);
        return NULL;
    }
    srv_field *field = &u->fields[u->count++];
    strcpy(field->name, name);
    field->is_file = is_file;
    return field;
}

/* A part whose headers end with a piece of the body is told twice: without bytes first, at the same place. */
static srv_field *field_of(srv_upload *u, const char *name, bool is_file, uint64_t offset)
{
    srv_field *last = u->count ? &u->fields[u->count - 1] : NULL;
    bool told = last && last->value.size == 0 && last->is_file == is_file && name && !strcmp(last->name, name);
    return offset > 0 || told ? last : begin_field(u, name, is_file);
}

static enum MHD_Result take_value(void *context, enum MHD_ValueKind kind, const char *name, const char *file, const char *type, const char *encoding,
                                  const char *bytes, uint64_t offset, size_t size)
{
    srv_upload *u = context;
    (void)kind;
    (void)type;
    (void)encoding;
    srv_field *field = field_of(u, name, file != NULL, offset);
    if (!field)
        return MHD_NO;
    if (!field->is_file && field->value.size + size > u->text_bytes) {
        cli_fail(&u->failure, PARLEY_LIMIT, "the field \"%s\" is longer than %zu bytes", field->name, u->text_bytes);
        return MHD_NO;
    }
    cli_append(&field->value, bytes, size);
    if (!field->is_file && size && memchr(bytes, 0, size))
        cli_fail(&u->failure, PARLEY_ARGUMENT, "the field \"%s\" holds a NUL", field->name);
    if (field->value.failed)
        cli_fail_memory(&u->failure);
    return u->failure.status == PARLEY_OK ? MHD_YES : MHD_NO;
}

parley_status srv_upload_open(srv_upload **upload, struct MHD_Connection *connection, size_t text_bytes, parley_error *error)
{
    srv_upload *u = calloc(1, sizeof *u);
    const char *type = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_TYPE);
    static const char form[] = "multipart/form-data";
    if (!u)
        return cli_fail_memory(error);
    *upload = u;
    u->text_bytes = text_bytes;
    if (type && !strncasecmp(type, form, sizeof form - 1))
        u->parser = MHD_create_post_processor(connection, PARSER_BYTES, take_value, u);
    if (!u->parser)
        return cli_fail(error, PARLEY_ARGUMENT, "the body must be multipart/form-data with a boundary, the content type is \"%.100s\"",
                        type ? type : "not given");
    return PARLEY_OK;
}

void srv_upload_take(srv_upload *u, const char *bytes, size_t size)
{
    if (u->failure.status == PARLEY_OK && MHD_post_process(u->parser, bytes, size) != MHD_YES && u->failure.status == PARLEY_OK)
        cli_fail(&u->failure, PARLEY_ARGUMENT, "the body is no well-formed multipart/form-data");
}

parley_status srv_upload_end(srv_upload *u, parley_error *error)
{
    enum MHD_Result whole = MHD_destroy_post_processor(u->parser);
    u->parser = NULL;
    if (u->failure.status == PARLEY_OK && whole != MHD_YES)
        cli_fail(&u->failure, PARLEY_ARGUMENT, "the multipart/form-data ends before its last boundary");
    if (u->failure.status != PARLEY_OK)
        *error = u->failure;
    return u->failure.status;
}

void srv_upload_close(srv_upload *u)
{
    if (!u)
        return;
    if (u->parser)
        MHD_destroy_post_processor(u->parser);
    for (size_t i = 0; i < u->count; i++)
        cli_buffer_free(&u->fields[i].value);
    free(u);
}

const srv_field *srv_upload_next(const srv_upload *u, const char *name, size_t *at)
{
    while (*at < u->count) {
        const srv_field *field = &u->fields[(*at)++];
        if (!strcmp(field->name, name))
            return field;
    }
    return NULL;
}

const char *srv_upload_text(const srv_upload *u, const char *name)
{
    size_t at = 0;
    const srv_field *field = srv_upload_next(u, name, &at);
    return !field ? NULL : field->value.data ? field->value.data : "";
}

static parley_status fail_unknown(const char *name, const char *const *names, parley_error *error)
{
    cli_buffer list = {0};
    for (size_t i = 0; names[i]; i++)
        cli_appendf(&list, "%s%s", i ? ", " : "", names[i]);
    cli_fail(error, PARLEY_ARGUMENT, "unknown field \"%.60s\"; there are %.300s", name, list.failed ? "" : list.data);
    cli_buffer_free(&list);
    return PARLEY_ARGUMENT;
}

parley_status srv_upload_check(const srv_upload *u, const char *const *names, parley_error *error)
{
    for (size_t i = 0; i < u->count; i++) {
        const char *name = u->fields[i].name;
        size_t k = 0, at = 0;
        while (names[k] && strcmp(names[k], name) != 0)
            k++;
        if (!names[k])
            return fail_unknown(name, names, error);
        if (!cli_ends_with(name, "[]") && srv_upload_next(u, name, &at) != &u->fields[i])
            return cli_fail(error, PARLEY_ARGUMENT, "the field \"%.60s\" is given twice", name);
    }
    return PARLEY_OK;
}
