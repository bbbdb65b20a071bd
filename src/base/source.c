/* madvise: the posix_madvise of glibc does nothing for MADV_DONTNEED. */
#define _DEFAULT_SOURCE

#include "base/source.h"

#include "base/sort.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct mapping mapping;

struct mapping {
    mapping *next;
    const char *name;
    pl_bytes bytes;
};

struct pl_source {
    parley_allocator allocator;
    pl_arena arena; /* names, mappings, the list of files */
    const char *path;
    const char *file;                /* the only file's name, NULL for a directory */
    const parley_memory_file *files; /* NULL: on disk */
    size_t n_files;
    int folder; /* descriptor of the directory, -1 */
    mapping *mappings;
    const char **names; /* made by pl_source_list */
    size_t n_names;
};

static const uint8_t nothing[1];

/* ------------------------------------------------------------------ opening */

static parley_status new_source(const parley_allocator *allocator, const char *path, pl_source **source, parley_error *error)
{
    parley_allocator memory = allocator ? *allocator : pl_default_allocator();
    pl_source *s = pl_alloc(&memory, 1, sizeof *s);
    if (!s)
        return pl_fail_memory(error, "a source of files");
    *s = (pl_source){.allocator = memory, .folder = -1};
    pl_arena_init(&s->arena, &memory, 4096);
    s->path = pl_arena_text(&s->arena, path, strlen(path));
    if (!s->path) {
        pl_source_close(s);
        return pl_fail_memory(error, "a source of files");
    }
    *source = s;
    return PARLEY_OK;
}

void pl_source_close(pl_source *source)
{
    if (!source)
        return;
    for (mapping *m = source->mappings; m; m = m->next)
        if (!source->files && m->bytes.size > 0)
            munmap((void *)(uintptr_t)m->bytes.data, m->bytes.size);
    if (source->folder >= 0)
        close(source->folder);
    pl_arena_free(&source->arena);
    parley_allocator allocator = source->allocator;
    pl_release(&allocator, source, 1, sizeof *source);
}

static parley_status fail_errno(parley_error *error, const char *what, int number)
{
    char reason[128] = "unknown error";
    if (number == ENOENT || number == ENOTDIR)
        return pl_fail(error, PARLEY_MISSING, "%s: no such file or directory", what);
    (void)strerror_r(number, reason, sizeof reason);
    return pl_fail(error, PARLEY_IO, "%s: %s", what, reason);
}

/* The status of what the path names, known before anything is opened: opening a pipe would wait, opening a device may act. */
static parley_status look(pl_source *s, parley_error *error)
{
    struct stat facts;
    if (stat(s->path, &facts) != 0)
        return fail_errno(error, s->path, errno);
    if (S_ISREG(facts.st_mode)) {
        const char *slash = strrchr(s->path, '/');
        s->file = slash ? slash + 1 : s->path;
        return PARLEY_OK;
    }
    if (!S_ISDIR(facts.st_mode))
        return pl_fail(error, PARLEY_UNSUPPORTED, "%s: a file or directory is expected, this is a device, pipe or socket", s->path);
    s->folder = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return s->folder < 0 ? fail_errno(error, s->path, errno) : PARLEY_OK;
}

parley_status pl_source_open(const parley_allocator *allocator, const char *path, pl_source **source, parley_error *error)
{
    *source = NULL;
    if (!path)
        return pl_fail(error, PARLEY_ARGUMENT, "the path of a model is NULL");
    pl_source *s;
    PL_TRY(new_source(allocator, path, &s, error));
    parley_status status = look(s, error);
    if (status != PARLEY_OK)
        pl_source_close(s);
    else
        *source = s;
    return status;
}

static parley_status check_memory_file(const parley_memory_file *files, size_t i, parley_error *error)
{
    const parley_memory_file *file = &files[i];
    if (!file->name || !*file->name)
        return pl_fail(error, PARLEY_ARGUMENT, "file %zu in memory has no name", i);
    if (!file->data && file->size > 0)
        return pl_fail(error, PARLEY_ARGUMENT, "file '%s' in memory: %zu bytes at NULL", file->name, file->size);
    for (size_t k = 0; k < i; k++)
        if (strcmp(files[k].name, file->name) == 0)
            return pl_fail(error, PARLEY_ARGUMENT, "two files in memory have the name '%s'", file->name);
    return PARLEY_OK;
}

static parley_status copy_files(pl_source *s, const parley_memory_file *files, size_t count, parley_error *error)
{
    parley_memory_file *copies = PL_NEW_ARRAY(&s->arena, parley_memory_file, count);
    if (!copies)
        return pl_fail_memory(error, "a list of files");
    for (size_t i = 0; i < count; i++) {
        copies[i] = files[i];
        copies[i].name = pl_arena_text(&s->arena, files[i].name, strlen(files[i].name));
        if (!copies[i].name)
            return pl_fail_memory(error, "a list of files");
    }
    s->files = copies;
    s->n_files = count;
    s->file = count == 1 ? copies[0].name : NULL;
    return PARLEY_OK;
}

parley_status pl_source_open_memory(const parley_allocator *allocator, const parley_memory_file *files, size_t count, pl_source **source,
                                    parley_error *error)
{
    *source = NULL;
    if (!files || count == 0)
        return pl_fail(error, PARLEY_ARGUMENT, "no files in memory");
    for (size_t i = 0; i < count; i++)
        PL_TRY(check_memory_file(files, i, error));
    pl_source *s;
    PL_TRY(new_source(allocator, "memory", &s, error));
    parley_status status = copy_files(s, files, count, error);
    if (status != PARLEY_OK)
        pl_source_close(s);
    else
        *source = s;
    return status;
}

bool pl_source_is_directory(const pl_source *source)
{
    return !source->file;
}

const char *pl_source_name(const pl_source *source)
{
    return source->path;
}

void pl_source_describe(const pl_source *source, const char *name, char *text, size_t size)
{
    if (source->files)
        snprintf(text, size, "%s", name);
    else if (source->file)
        snprintf(text, size, "%s", source->path);
    else
        snprintf(text, size, "%s/%s", source->path, name);
}

/* ------------------------------------------------------------------ names */

static bool stays_inside(const char *name)
{
    if (*name == '\0' || *name == '/')
        return false;
    for (const char *part = name; part; part = strchr(part, '/')) {
        part += *part == '/';
        if (strncmp(part, "..", 2) == 0 && (part[2] == '\0' || part[2] == '/'))
            return false;
    }
    return true;
}

static const parley_memory_file *memory_file(const pl_source *source, const char *name)
{
    for (size_t i = 0; i < source->n_files; i++)
        if (strcmp(source->files[i].name, name) == 0)
            return &source->files[i];
    return NULL;
}

static bool is_file_at(int folder, const char *name)
{
    struct stat facts;
    return fstatat(folder, name, &facts, 0) == 0 && S_ISREG(facts.st_mode);
}

bool pl_source_has(pl_source *source, const char *name)
{
    if (source->files)
        return memory_file(source, name) != NULL;
    if (source->file)
        return strcmp(name, source->file) == 0;
    return stays_inside(name) && is_file_at(source->folder, name);
}

/* ------------------------------------------------------------------ list */

typedef struct name_list {
    const char **names;
    size_t count, room;
} name_list;

static bool add_name(pl_arena *arena, name_list *list, const char *name)
{
    if (list->count == list->room) {
        size_t room = list->room ? 2 * list->room : 32;
        const char **names = PL_NEW_ARRAY(arena, const char *, room);
        if (!names)
            return false;
        if (list->count)
            memcpy(names, list->names, list->count * sizeof *names);
        list->names = names;
        list->room = room;
    }
    list->names[list->count] = pl_arena_text(arena, name, strlen(name));
    return list->names[list->count++] != NULL;
}

static parley_status list_memory(pl_source *s, name_list *list, parley_error *error)
{
    for (size_t i = 0; i < s->n_files; i++)
        if (!strchr(s->files[i].name, '/') && !add_name(&s->arena, list, s->files[i].name))
            return pl_fail_memory(error, "a list of files");
    return PARLEY_OK;
}

static parley_status list_folder(pl_source *s, name_list *list, parley_error *error)
{
    /* A descriptor of its own: the directory stream moves and closes it. */
    int copy = openat(s->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (copy < 0)
        return fail_errno(error, s->path, errno);
    DIR *stream = fdopendir(copy);
    if (!stream) {
        int number = errno;
        close(copy);
        return fail_errno(error, s->path, number);
    }
    bool enough = true;
    errno = 0;
    for (struct dirent *d = readdir(stream); d && enough; errno = 0, d = readdir(stream))
        if (is_file_at(s->folder, d->d_name))
            enough = add_name(&s->arena, list, d->d_name);
    int number = errno;
    closedir(stream);
    if (!enough)
        return pl_fail_memory(error, "a list of files");
    return number ? fail_errno(error, s->path, number) : PARLEY_OK;
}

static int compare_names(const void *context, uint32_t a, uint32_t b)
{
    const name_list *list = context;
    return strcmp(list->names[a], list->names[b]);
}

static parley_status sort_names(pl_source *s, const name_list *list, parley_error *error)
{
    uint32_t *order = PL_NEW_ARRAY(&s->arena, uint32_t, list->count);
    const char **names = PL_NEW_ARRAY(&s->arena, const char *, list->count);
    if (!order || !names)
        return pl_fail_memory(error, "a list of files");
    pl_sort(order, list->count, compare_names, list);
    for (size_t i = 0; i < list->count; i++)
        names[i] = list->names[order[i]];
    s->names = names;
    s->n_names = list->count;
    return PARLEY_OK;
}

parley_status pl_source_list(pl_source *source, const char *const **names, size_t *count, parley_error *error)
{
    if (!source->names) {
        name_list list = {0};
        if (source->files)
            PL_TRY(list_memory(source, &list, error));
        else if (!source->file)
            PL_TRY(list_folder(source, &list, error));
        else if (!add_name(&source->arena, &list, source->file))
            return pl_fail_memory(error, "a list of files");
        PL_TRY(sort_names(source, &list, error));
    }
    *names = source->names;
    *count = source->n_names;
    return PARLEY_OK;
}

/* ------------------------------------------------------------------ mapping */

enum { TEXT = 300 };

static parley_status map_descriptor(int file, const char *what, pl_bytes *bytes, parley_error *error)
{
    struct stat facts;
    if (fstat(file, &facts) != 0)
        return fail_errno(error, what, errno);
    if (!S_ISREG(facts.st_mode))
        return pl_fail(error, PARLEY_UNSUPPORTED, "%s: a regular file is expected", what);
    if (facts.st_size < 0 || (uintmax_t)facts.st_size > SIZE_MAX / 2)
        return pl_fail(error, PARLEY_UNSUPPORTED, "%s: too large to map", what);
    *bytes = (pl_bytes){nothing, (size_t)facts.st_size};
    if (bytes->size == 0)
        return PARLEY_OK;
    void *memory = mmap(NULL, bytes->size, PROT_READ, MAP_PRIVATE, file, 0);
    if (memory == MAP_FAILED)
        return fail_errno(error, what, errno);
    bytes->data = memory;
    return PARLEY_OK;
}

static parley_status map_file(pl_source *s, const char *name, pl_bytes *bytes, parley_error *error)
{
    char what[TEXT];
    pl_source_describe(s, name, what, sizeof what);
    int folder = s->file ? AT_FDCWD : s->folder;
    const char *path = s->file ? s->path : name;
    struct stat facts;
    if (fstatat(folder, path, &facts, 0) != 0)
        return fail_errno(error, what, errno);
    if (!S_ISREG(facts.st_mode))
        return pl_fail(error, PARLEY_UNSUPPORTED, "%s: a regular file is expected", what);
    /* Not blocking: the file may have become a pipe meanwhile. */
    int file = openat(folder, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0)
        return fail_errno(error, what, errno);
    parley_status status = map_descriptor(file, what, bytes, error);
    close(file);
    return status;
}

static parley_status find_bytes(pl_source *s, const char *name, pl_bytes *bytes, parley_error *error)
{
    if (s->files) {
        const parley_memory_file *file = memory_file(s, name);
        if (file)
            *bytes = (pl_bytes){file->size ? file->data : nothing, file->size};
        return file ? PARLEY_OK : pl_fail(error, PARLEY_MISSING, "%s: no such file in memory", name);
    }
    if (s->file && strcmp(name, s->file) != 0)
        return pl_fail(error, PARLEY_MISSING, "%s: not there, the model is the one file %s", name, s->path);
    return map_file(s, name, bytes, error);
}

parley_status pl_source_map(pl_source *source, const char *name, pl_bytes *bytes, parley_error *error)
{
    for (mapping *m = source->mappings; m; m = m->next) {
        if (strcmp(m->name, name) == 0) {
            *bytes = m->bytes;
            return PARLEY_OK;
        }
    }
    if (!(source->files && memory_file(source, name)) && !stays_inside(name))
        return pl_fail(error, PARLEY_ARGUMENT, "'%s': a name of a file inside the model is expected", name);
    mapping *m = PL_NEW(&source->arena, mapping);
    if (!m || !(m->name = pl_arena_text(&source->arena, name, strlen(name))))
        return pl_fail_memory(error, "a mapping of a file");
    PL_TRY(find_bytes(source, name, &m->bytes, error));
    m->next = source->mappings;
    source->mappings = m;
    *bytes = m->bytes;
    return PARLEY_OK;
}

static bool is_mapped(const pl_source *source, uintptr_t first, size_t size)
{
    for (const mapping *m = source->mappings; m; m = m->next) {
        uintptr_t begin = (uintptr_t)m->bytes.data;
        if (first >= begin && first - begin <= m->bytes.size && size <= m->bytes.size - (first - begin))
            return true;
    }
    return false;
}

void pl_source_drop(pl_source *source, const void *data, size_t size)
{
    uintptr_t first = (uintptr_t)data;
    if (source->files || !is_mapped(source, first, size))
        return;
    /* Whole pages inside the range alone: their neighbours may be in use. */
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = (first + page - 1) / page * page, end = (first + size) / page * page;
    if (begin < end)
        (void)madvise((void *)begin, end - begin, MADV_DONTNEED);
}
