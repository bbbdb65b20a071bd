/* A regular file read from front to back. */
#ifndef PL_BASE_FILE_H
#define PL_BASE_FILE_H

#include "base/status.h"

/* Directories, pipes, devices and sockets are UNSUPPORTED and never waited for. Other errors: MISSING, IO. */
parley_status pl_file_open(const char *path, int *file, parley_error *error);
/* As parley_audio_stream's `read`, with a pointer to the file as context. */
int64_t pl_file_read(void *file, void *data, size_t size);
void pl_file_close(int file);

#endif
