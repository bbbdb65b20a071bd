/* The page at / and its files. */
#include "page.h"

#include "call.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *ending, *type;
} types[] = {
    {".html", "text/html; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".svg", "image/svg+xml"},
    {".png", "image/png"},
    {".ico", "image/x-icon"},
    {".webmanifest", "application/manifest+json"},
};

/* Nothing from elsewhere, no scripts in the text; sound that the page has made itself is played from blobs. */
static const char policy[] = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src 'self' blob:; "
                             "connect-src 'self'; manifest-src 'self'; worker-src 'self' blob:; base-uri 'none'; form-action 'none'; "
                             "frame-ancestors 'none'";

static const char *type_of(const char *name)
{
    for (size_t i = 0; i < CLI_COUNT(types); i++) {
        if (cli_ends_with(name, types[i].ending))
            return types[i].type;
    }
    return "application/octet-stream";
}

/* A browser asks again each time and is told that nothing has changed. */
parley_status srv_page(srv_call *call)
{
    const char *name = *call->rest ? call->rest : "index.html", *known = srv_request_header(call, MHD_HTTP_HEADER_IF_NONE_MATCH);
    char tag[80];
    size_t i = 0;
    while (i < srv_n_files && strcmp(srv_files[i].name, name) != 0)
        i++;
    if (i == srv_n_files)
        return srv_fail(call, 404, "not_found", NULL, "there is no \"/%.200s\"", call->rest);
    snprintf(tag, sizeof tag, "\"%.64s\"", srv_files[i].hash);
    const srv_header headers[] = {{"Content-Security-Policy", policy}, {"ETag", tag}, {"Cache-Control", "no-cache"}};
    bool same = known && strstr(known, tag);
    return srv_reply_static(call, same ? 304 : 200, type_of(name), headers, CLI_COUNT(headers), srv_files[i].bytes, same ? 0 : srv_files[i].size);
}
