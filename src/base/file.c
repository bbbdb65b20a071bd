#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static parley_status fail_errno(const char *path, int number, parley_error *error)
{
    char reason[128] = "unknown error";
    if (number == ENOENT || number == ENOTDIR)
        return pl_fail(error, PARLEY_MISSING, "%s: no such file", path);
    (void)strerror_r(number, reason, sizeof reason);
    return pl_fail(error, PARLEY_IO, "%s: %s", path, reason);
}

/* O_NONBLOCK: opening a pipe that nobody writes to would wait; regular files are not affected. */
parley_status pl_file_open(const char *path, int *file, parley_error *error)
{
    struct stat facts;
    *file = -1;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return fail_errno(path, errno, error);
    int number = fstat(fd, &facts) != 0 ? errno : 0;
    if (number == 0 && S_ISREG(facts.st_mode)) {
        *file = fd;
        return PARLEY_OK;
    }
    close(fd);
    if (number != 0)
        return fail_errno(path, number, error);
    return pl_fail(error, PARLEY_UNSUPPORTED, "%s: a file is expected, this is a %s", path,
                   S_ISDIR(facts.st_mode) ? "directory" : "device, pipe or socket");
}

int64_t pl_file_read(void *file, void *data, size_t size)
{
    const int *fd = file;
    for (;;) {
        ssize_t got = read(*fd, data, size);
        if (got >= 0 || errno != EINTR)
            return got;
    }
}

void pl_file_close(int file)
{
    if (file >= 0)
        close(file);
}
