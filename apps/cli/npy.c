#include "npy.h"

#include "bytes.h"

#include <stdlib.h>

enum { MAX_HEADER = 65536, MAX_FILE = 1 << 30 };

/* The header: a Python dictionary with the three keys in any order. */
typedef struct header {
    const char *name; /* of the file */
    const char *text;
    size_t size, at;
    size_t start; /* of the text in the file */
    char type[8];
    bool has_type, has_order, has_shape, column_major;
} header;

static parley_status fail_header(const header *h, const char *what, parley_error *error)
{
    cli_fail(error, PARLEY_FORMAT, "%.200s: .npy header, byte %zu: %s", h->name, h->start + h->at, what);
    error->position = h->start + h->at;
    return PARLEY_FORMAT;
}

static void skip_space(header *h)
{
    while (h->at < h->size && (h->text[h->at] == ' ' || h->text[h->at] == '\t' || h->text[h->at] == '\n' || h->text[h->at] == '\r'))
        h->at++;
}

static bool accept(header *h, const char *text)
{
    skip_space(h);
    size_t length = strlen(text);
    if (h->size - h->at < length || memcmp(h->text + h->at, text, length) != 0)
        return false;
    h->at += length;
    return true;
}

/* A quoted word without escapes. */
static parley_status read_word(header *h, char *word, size_t capacity, parley_error *error)
{
    skip_space(h);
    char quote = h->at < h->size ? h->text[h->at] : 0;
    if (quote != '\'' && quote != '"')
        return fail_header(h, "a quoted word expected", error);
    size_t end = h->at + 1;
    while (end < h->size && h->text[end] != quote)
        end++;
    size_t length = end - h->at - 1;
    if (end == h->size || length >= capacity)
        return fail_header(h, "a quoted word without an end, or too long", error);
    memcpy(word, h->text + h->at + 1, length);
    word[length] = 0;
    h->at = end + 1;
    return PARLEY_OK;
}

static parley_status read_dimension(header *h, int64_t *dimension, parley_error *error)
{
    skip_space(h);
    int64_t value = 0;
    size_t start = h->at;
    for (; h->at < h->size && h->text[h->at] >= '0' && h->text[h->at] <= '9'; h->at++) {
        if (value > (INT64_MAX - 9) / 10)
            return fail_header(h, "a dimension that is too large", error);
        value = value * 10 + (h->text[h->at] - '0');
    }
    *dimension = value;
    return h->at > start ? PARLEY_OK : fail_header(h, "a dimension expected", error);
}

static parley_status read_shape(header *h, cli_npy *array, parley_error *error)
{
    if (!accept(h, "("))
        return fail_header(h, "\"(\" of the shape expected", error);
    while (!accept(h, ")")) {
        if (array->rank == CLI_NPY_MAX_RANK)
            return fail_header(h, "more than 8 dimensions", error);
        CLI_TRY(read_dimension(h, &array->shape[array->rank], error));
        array->rank++;
        if (accept(h, ","))
            continue;
        if (!accept(h, ")"))
            return fail_header(h, "\",\" or \")\" expected", error);
        break;
    }
    return PARLEY_OK;
}

static parley_status read_value(header *h, const char *key, cli_npy *array, parley_error *error)
{
    if (!strcmp(key, "descr") && !h->has_type) {
        h->has_type = true;
        return read_word(h, h->type, sizeof h->type, error);
    }
    if (!strcmp(key, "fortran_order") && !h->has_order) {
        h->has_order = true;
        h->column_major = accept(h, "True");
        return h->column_major || accept(h, "False") ? PARLEY_OK : fail_header(h, "True or False expected", error);
    }
    if (!strcmp(key, "shape") && !h->has_shape) {
        h->has_shape = true;
        return read_shape(h, array, error);
    }
    return fail_header(h, "a key that is unknown or there twice", error);
}

static parley_status read_dictionary(header *h, cli_npy *array, parley_error *error)
{
    if (!accept(h, "{"))
        return fail_header(h, "\"{\" expected", error);
    while (!accept(h, "}")) {
        char key[24];
        CLI_TRY(read_word(h, key, sizeof key, error));
        if (!accept(h, ":"))
            return fail_header(h, "\":\" expected", error);
        CLI_TRY(read_value(h, key, array, error));
        if (accept(h, ","))
            continue;
        if (!accept(h, "}"))
            return fail_header(h, "\",\" or \"}\" expected", error);
        break;
    }
    skip_space(h);
    if (h->at != h->size)
        return fail_header(h, "something behind the dictionary", error);
    return h->has_type && h->has_order && h->has_shape ? PARLEY_OK : fail_header(h, "descr, fortran_order or shape is missing", error);
}

/* Finds the header's text behind the magic bytes and the version. */
static parley_status find_header(header *h, const uint8_t *data, size_t size, parley_error *error)
{
    if (size < 10 || memcmp(data, "\x93NUMPY", 6) != 0)
        return cli_fail(error, PARLEY_FORMAT, "%.200s: not a .npy file", h->name);
    unsigned major = data[6];
    if (major < 1 || major > 3)
        return cli_fail(error, PARLEY_UNSUPPORTED, "%.200s: .npy version %u, 1 to 3 are read", h->name, major);
    h->start = major == 1 ? 10 : 12;
    if (size < h->start)
        return cli_fail(error, PARLEY_FORMAT, "%.200s: the .npy header is cut off", h->name);
    uint32_t length = major == 1 ? (uint32_t)data[8] | (uint32_t)data[9] << 8 : cli_get32(data + 8);
    if (length > MAX_HEADER || length > size - h->start)
        return cli_fail(error, PARLEY_FORMAT, "%.200s: the .npy header says %u bytes, %zu are there", h->name, length, size - h->start);
    h->text = (const char *)data + h->start;
    h->size = length;
    return PARLEY_OK;
}

static parley_status count_elements(const header *h, cli_npy *array, size_t width, size_t bytes, parley_error *error)
{
    uint64_t count = 1;
    bool overflow = false, zero = false;
    for (int i = 0; i < array->rank; i++) {
        zero = zero || array->shape[i] == 0;
        overflow = __builtin_mul_overflow(count, (uint64_t)array->shape[i], &count) || overflow;
    }
    if (zero) {
        count = 0;
        overflow = false;
    }
    if (overflow || count > bytes / width || count * width != bytes)
        return cli_fail(error, PARLEY_FORMAT, "%.200s: %zu bytes of elements do not fit the shape, which needs %s%llu elements of %zu", h->name,
                        bytes, overflow ? "more than " : "", overflow ? UINT64_MAX : (unsigned long long)count, width);
    array->count = (size_t)count;
    return PARLEY_OK;
}

static parley_status read_floats(cli_npy *array, const uint8_t *from, parley_error *error)
{
    array->floats = malloc((array->count + 1) * sizeof *array->floats);
    if (!array->floats)
        return cli_fail_memory(error);
    for (size_t i = 0; i < array->count; i++)
        array->floats[i] = cli_bits_float(cli_get32(from + 4 * i));
    return PARLEY_OK;
}

static parley_status read_ints(const header *h, cli_npy *array, const uint8_t *from, size_t width, parley_error *error)
{
    array->ints = malloc((array->count + 1) * sizeof *array->ints);
    if (!array->ints)
        return cli_fail_memory(error);
    for (size_t i = 0; i < array->count; i++) {
        int64_t value = width == 4 ? (int32_t)cli_get32(from + 4 * i) : (int64_t)cli_get64(from + 8 * i);
        if (value < INT32_MIN || value > INT32_MAX)
            return cli_fail(error, PARLEY_FORMAT, "%.200s: element %zu is %lld, beyond 32 bits", h->name, i, (long long)value);
        array->ints[i] = (int32_t)value;
    }
    return PARLEY_OK;
}

static parley_status parse(header *h, const uint8_t *data, size_t size, cli_npy *array, parley_error *error)
{
    CLI_TRY(find_header(h, data, size, error));
    CLI_TRY(read_dictionary(h, array, error));
    bool is_float = !strcmp(h->type, "<f4"), is_long = !strcmp(h->type, "<i8");
    if (!is_float && !is_long && strcmp(h->type, "<i4") != 0)
        return cli_fail(error, PARLEY_UNSUPPORTED, "%.200s: element type \"%s\", only <f4, <i4 and <i8 are read", h->name, h->type);
    if (h->column_major && array->rank > 1)
        return cli_fail(error, PARLEY_UNSUPPORTED, "%.200s: column-major order, only row-major is read", h->name);
    size_t width = is_long ? 8 : 4;
    const uint8_t *elements = data + h->start + h->size;
    CLI_TRY(count_elements(h, array, width, size - h->start - h->size, error));
    array->type = is_float ? 'f' : 'i';
    return is_float ? read_floats(array, elements, error) : read_ints(h, array, elements, width, error);
}

parley_status cli_npy_parse(const char *name, const void *data, size_t size, cli_npy *array, parley_error *error)
{
    *array = (cli_npy){0};
    header h = {.name = name};
    parley_status status = parse(&h, data, size, array, error);
    if (status != PARLEY_OK)
        cli_npy_free(array);
    return status;
}

parley_status cli_npy_read(const char *path, const char *what, cli_npy *array, parley_error *error)
{
    *array = (cli_npy){0};
    cli_buffer bytes = {0};
    parley_status status = cli_read_file(path, what, MAX_FILE, &bytes, error);
    if (status == PARLEY_OK)
        status = cli_npy_parse(path, bytes.data, bytes.size, array, error);
    cli_buffer_free(&bytes);
    return status;
}

void cli_npy_free(cli_npy *array)
{
    free(array->floats);
    free(array->ints);
    *array = (cli_npy){0};
}

void cli_npy_header(cli_buffer *out, char type, const int64_t *shape, int rank)
{
    cli_buffer text = {0};
    cli_appendf(&text, "{'descr': '%s', 'fortran_order': False, 'shape': (", type == 'f' ? "<f4" : "<i4");
    for (int i = 0; i < rank; i++)
        cli_appendf(&text, "%s%lld", i ? ", " : "", (long long)shape[i]);
    cli_append_text(&text, rank == 1 ? ",), }" : "), }");
    while ((text.size + 11) % 64 != 0 && !text.failed) /* elements begin at a multiple of 64 */
        cli_append(&text, " ", 1);
    cli_append(&text, "\n", 1);
    uint8_t start[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
    cli_put16(start + 8, (uint16_t)text.size);
    cli_append(out, start, sizeof start);
    cli_append(out, text.data, text.failed ? 0 : text.size);
    out->failed = out->failed || text.failed;
    cli_buffer_free(&text);
}

void cli_npy_elements(cli_buffer *out, char type, const void *elements, size_t count)
{
    const float *floats = elements;
    const int32_t *ints = elements;
    if (count > SIZE_MAX / 16 || !cli_buffer_reserve(out, count * 4)) {
        out->failed = true;
        return;
    }
    uint8_t *to = (uint8_t *)out->data + out->size;
    for (size_t i = 0; i < count; i++)
        cli_put32(to + 4 * i, type == 'f' ? cli_float_bits(floats[i]) : (uint32_t)ints[i]);
    out->size += count * 4;
    out->data[out->size] = 0;
}
