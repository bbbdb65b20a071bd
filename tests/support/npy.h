/* Reads stored test data: NumPy arrays (format 1.0, C order, "<f4" or "<i4"), and whole files. Faults end the test program with a message. */
#ifndef TESTS_SUPPORT_NPY_H
#define TESTS_SUPPORT_NPY_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NPY_MOST_DIMENSIONS = 8 };

typedef struct npy_array {
    char type; /* 'f' (float) or 'i' (int32_t) */
    int rank;
    int64_t shape[NPY_MOST_DIMENSIONS];
    size_t count; /* product of shape; 1 for rank 0 */
    void *memory; /* the whole file */
    union {
        const void *data;
        const float *f;   /* type 'f' */
        const int32_t *i; /* type 'i' */
    };
} npy_array;

static inline void npy_stop(const char *path, const char *why)
{
    fprintf(stderr, "%s: %s\n", path, why);
    exit(2);
}

/* The file's bytes and a NUL behind them; free() it. `size` may be NULL. */
static inline char *npy_read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        npy_stop(path, "cannot be opened");
    if (fseek(file, 0, SEEK_END) != 0)
        npy_stop(path, "cannot be measured");
    long length = ftell(file);
    if (length < 0 || fseek(file, 0, SEEK_SET) != 0)
        npy_stop(path, "cannot be measured");
    char *bytes = malloc((size_t)length + 1);
    if (!bytes)
        npy_stop(path, "out of memory");
    if (fread(bytes, 1, (size_t)length, file) != (size_t)length)
        npy_stop(path, "cannot be read");
    fclose(file);
    bytes[length] = '\0';
    if (size)
        *size = (size_t)length;
    return bytes;
}

/* "(8, 3072)", "(5,)", "()" */
static inline void npy_read_shape(const char *text, const char *path, npy_array *array)
{
    array->rank = 0;
    array->count = 1;
    for (text++; *text && *text != ')';) {
        char *end;
        long long size = strtoll(text, &end, 10);
        if (end == text || size < 0 || array->rank == NPY_MOST_DIMENSIONS)
            npy_stop(path, "shape not understood");
        array->shape[array->rank++] = size;
        array->count *= (size_t)size;
        text = end + strspn(end, ", ");
    }
}

static inline void npy_read_header(const char *header, const char *path, npy_array *array)
{
    const char *shape = strstr(header, "'shape': (");
    if (!shape || !strstr(header, "'fortran_order': False"))
        npy_stop(path, "header not understood");
    if (strstr(header, "'<f4'"))
        array->type = 'f';
    else if (strstr(header, "'<i4'"))
        array->type = 'i';
    else
        npy_stop(path, "element type is neither <f4 nor <i4");
    npy_read_shape(strchr(shape, '('), path, array);
}

static inline npy_array npy_load(const char *path)
{
    npy_array array = {0};
    size_t size;
    char *bytes = npy_read_file(path, &size);
    array.memory = bytes;
    if (size < 10 || memcmp(bytes, "\x93NUMPY\x01\x00", 8) != 0)
        npy_stop(path, "not an array of format 1.0");
    size_t header = (size_t)(unsigned char)bytes[8] | (size_t)(unsigned char)bytes[9] << 8;
    if (header == 0 || 10 + header > size)
        npy_stop(path, "header is cut off");
    bytes[10 + header - 1] = '\0'; /* the line end */
    npy_read_header(bytes + 10, path, &array);
    if (size - 10 - header != array.count * 4)
        npy_stop(path, "data and shape differ in size");
    array.data = memmove(bytes, bytes + 10 + header, array.count * 4); /* malloc's alignment */
    return array;
}

static inline void npy_free(npy_array *array)
{
    free(array->memory);
    *array = (npy_array){0};
}

#endif
