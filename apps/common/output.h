/* Files that are written. A regular file is written beside its final name and renamed when complete, so that nothing half stands under the final
 * name; devices, pipes and standard output ("-") are written directly. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "buffer.h"

typedef struct cli_output {
    int fd;                  /* -1: not open */
    bool regular;            /* goes through a temporary, may be patched */
    bool exclusive;          /* the final name must not exist */
    char *path;              /* final name with links resolved, or what messages call it */
    char *temporary;         /* NULL: written directly */
    struct cli_output *next; /* of the open ones that have a temporary */
} cli_output;

#define CLI_OUTPUT_NONE ((cli_output){.fd = -1})

/* Whether `path` means standard output. */
bool cli_is_stdout(const char *path);

/* Opens for writing, so that an output which cannot be written is known before the work. A file that is read (inputs.h) is not replaced. With
 * `exclusive` an existing file is an error that names `option`. The structure must stay where it is until it is committed or discarded. Errors: IO,
 * ARGUMENT, MEMORY. */
parley_status cli_output_open(cli_output *output, const char *path, bool exclusive, const char *option, parley_error *error);
parley_status cli_output_write(cli_output *output, const void *bytes, size_t size, parley_error *error);
/* Overwrites bytes of a regular file. */
parley_status cli_output_patch(cli_output *output, uint64_t offset, const void *bytes, size_t size, parley_error *error);
/* Fails when one of the open outputs will take the place of a file that is read (inputs.h). Errors: ARGUMENT. */
parley_status cli_outputs_check(parley_error *error);
/* Waits until a regular file's bytes are on the disk, so that a crash after the commit does not leave the name without them. */
parley_status cli_output_sync(cli_output *output, parley_error *error);
/* Puts the file under its final name and closes it; on failure nothing stays. */
parley_status cli_output_commit(cli_output *output, parley_error *error);
/* Closes and removes what is not committed. Any number of calls. */
void cli_output_discard(cli_output *output);

/* Removes the temporaries of all open outputs: for a process that is about to be ended by a signal. */
void cli_output_remove_temporaries(void);

/* Opens, writes and commits a whole file; a buffer that failed is MEMORY. */
parley_status cli_output_whole(const char *path, const cli_buffer *bytes, parley_error *error);

/* Makes a directory when it is missing (`*made` tells) and checks that files can be made in it. */
parley_status cli_output_directory(const char *path, bool *made, parley_error *error);

#endif
