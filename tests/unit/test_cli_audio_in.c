/* labels: sanitize */
/* Sound for the program: files, pipes, what is none, and the ffmpeg program with all its ways to fail. */
#include "audio_in.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static char folder[] = "/tmp/parley-test-audio-XXXXXX";
static char *path_before;

/* A WAV file of `frames` samples of 1000 / 32768. */
static size_t make_wav(uint8_t *file, size_t frames)
{
    static const uint8_t head[44] = "RIFF\xFF\xFF\xFF\xFFWAVEfmt \x10\0\0\0\1\0\1\0\xC0\x5D\0\0\x80\xBB\0\0\2\0\x10\0"
                                    "data\xFF\xFF\xFF\xFF";
    memcpy(file, head, 44);
    for (size_t i = 0; i < frames; i++) {
        file[44 + 2 * i] = 1000 % 256;
        file[45 + 2 * i] = 1000 / 256;
    }
    return 44 + 2 * frames;
}

static const char *in_folder(const char *name)
{
    static char paths[64][128]; /* more than a test names */
    static int next;
    next = (next + 1) % 64;
    snprintf(paths[next], sizeof paths[next], "%s/%s", folder, name);
    return paths[next];
}

static const char *put(const char *name, const void *bytes, size_t size)
{
    const char *path = in_folder(name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    return path;
}

/* A program named ffmpeg that does this, the only one in PATH. */
static void fake_ffmpeg(const char *script)
{
    char text[1024];
    int length = snprintf(text, sizeof text, "#!/bin/sh\nPATH=/usr/bin:/bin\n%s\n", script);
    assert_int_equal(chmod(put("ffmpeg", text, (size_t)length), 0700), 0);
    assert_int_equal(setenv("PATH", folder, 1), 0);
}

static void restore_path(void)
{
    (void)unlink(in_folder("ffmpeg"));
    setenv("PATH", path_before, 1);
}

static parley_status read_path(const char *path, double max_seconds, parley_audio *audio, parley_error *error)
{
    parley_audio_options options;
    cli_audio_fields fields = {0};
    assert_int_equal(cli_audio_options(&fields, &options, error), PARLEY_OK);
    options.max_seconds = max_seconds;
    *error = (parley_error){0};
    parley_status status = cli_read_audio(path, &options, audio, error);
    /* No child is left, whatever happened. */
    assert_true(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
    return status;
}

static void test_options(void **state)
{
    (void)state;
    parley_audio_options o;
    parley_error error = {0};
    cli_audio_fields fields = {.raw = {true, 1}, .rate = {true, 8000}, .channels = {true, 2}};
    assert_int_equal(cli_audio_options(&fields, &o, &error), PARLEY_OK);
    assert_true(o.form == PARLEY_AUDIO_RAW_F32LE && o.raw_rate == 8000 && o.raw_channels == 2 && o.rate == 24000);
    fields.raw.given = false;
    assert_int_equal(cli_audio_options(&fields, &o, &error), PARLEY_ARGUMENT);
    assert_non_null(strstr(error.text, "--raw"));
}

static void test_files(void **state)
{
    (void)state;
    static uint8_t wav[4000];
    parley_audio a;
    parley_error error;
    size_t size = make_wav(wav, 1000);
    assert_int_equal(read_path(put("a.wav", wav, size), 10, &a, &error), PARLEY_OK);
    assert_int_equal(a.count, 1000);
    assert_true(a.samples[999] == 1000.0f / 32768.0f);
    parley_audio_free(&a);
    assert_int_equal(read_path(folder, 10, &a, &error), PARLEY_UNSUPPORTED);
    assert_non_null(strstr(error.text, "directory"));
    assert_int_equal(read_path(in_folder("no.wav"), 10, &a, &error), PARLEY_MISSING);
    assert_int_equal(read_path("https://example.com/a.wav", 10, &a, &error), PARLEY_MISSING);
    assert_non_null(strstr(error.text, "not fetched"));
}

/* A child writes the file to the pipe's name, or to what is standard input here. */
static void write_from_child(const char *path, int fd, const uint8_t *bytes, size_t size)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid > 0)
        return;
    fd = path ? open(path, O_WRONLY) : fd;
    while (size > 0) {
        ssize_t done = write(fd, bytes, size < 777 ? size : 777);
        if (done <= 0)
            break;
        bytes += done;
        size -= (size_t)done;
    }
    _exit(0);
}

static parley_status read_fifo(const void *bytes, size_t size, parley_audio *audio, parley_error *error)
{
    parley_audio_options options;
    const char *path = in_folder("fifo");
    assert_int_equal(mkfifo(path, 0600), 0);
    parley_audio_options_init(&options);
    *error = (parley_error){0};
    write_from_child(path, -1, bytes, size);
    parley_status status = cli_read_audio(path, &options, audio, error);
    assert_true(wait(NULL) > 0 && waitpid(-1, NULL, WNOHANG) < 0);
    assert_int_equal(unlink(path), 0);
    return status;
}

static void test_pipes(void **state)
{
    (void)state;
    static uint8_t wav[100044];
    parley_audio a;
    parley_error error = {0};
    size_t size = make_wav(wav, 50000);
    assert_int_equal(read_fifo(wav, size, &a, &error), PARLEY_OK);
    assert_int_equal(a.count, 50000);
    parley_audio_free(&a);
    /* An endless device: raw samples end at the limit of seconds. */
    parley_audio_options options;
    parley_audio_options_init(&options);
    options.form = PARLEY_AUDIO_RAW_S16LE;
    options.max_seconds = 1.0;
    assert_int_equal(cli_read_audio("/dev/zero", &options, &a, &error), PARLEY_LIMIT);
}

static void test_standard_input(void **state)
{
    (void)state;
    static uint8_t wav[4000];
    parley_audio a;
    parley_error error;
    int ends[2], before = dup(0);
    size_t size = make_wav(wav, 1000);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], wav, size), size);
    close(ends[1]);
    assert_int_equal(dup2(ends[0], 0), 0);
    close(ends[0]);
    assert_int_equal(read_path("-", 10, &a, &error), PARLEY_OK);
    assert_int_equal(a.count, 1000);
    parley_audio_free(&a);
    assert_int_equal(dup2(before, 0), 0);
    close(before);
}

static void test_no_ffmpeg(void **state)
{
    (void)state;
    static const char *const paths[] = {"", "/nothing", ".:", "relative:/nothing"};
    parley_audio a;
    parley_error error;
    const char *path = put("a.txt", "Good morning.\n", 14);
    fake_ffmpeg("exit 0");
    assert_int_equal(chdir(folder), 0); /* an ffmpeg here is not found through "." */
    for (size_t i = 0; i < CLI_COUNT(paths); i++) {
        setenv("PATH", paths[i], 1);
        assert_int_equal(read_path(path, 10, &a, &error), PARLEY_UNSUPPORTED);
        assert_non_null(strstr(error.text, "ffmpeg"));
        assert_non_null(strstr(error.text, "not in PATH"));
    }
    unsetenv("PATH");
    assert_int_equal(read_path(path, 10, &a, &error), PARLEY_UNSUPPORTED);
    assert_int_equal(chdir("/"), 0);
    restore_path();
}

/* What the program does with a child that behaves in this way or that. */
static void test_fake_ffmpeg(void **state)
{
    (void)state;
    static uint8_t wav[4000];
    char script[512];
    parley_audio a;
    parley_error error;
    const char *text = put("a.txt", "Good morning.\n", 14);
    size_t size = make_wav(wav, 1000);
    /* -nostdin: bytes of the file on standard input are no keys pressed. */
    snprintf(script, sizeof script, "case \"$*\" in *' -nostdin '*) ;; *) exit 1 ;; esac; read line; [ \"$line\" = 'Good morning.' ] && cat %s",
             put("sound", wav, size));
    fake_ffmpeg(script);
    if (read_path(text, 10, &a, &error) != PARLEY_OK)
        fail_msg("%s", error.text);
    assert_int_equal(a.count, 1000);
    assert_string_equal(a.source_format, "decoded by ffmpeg");
    parley_audio_free(&a);
    assert_int_equal(read_fifo("Good morning.\n", 14, &a, &error), PARLEY_OK);
    assert_int_equal(a.count, 1000);
    parley_audio_free(&a);

    snprintf(script, sizeof script, "cat %s; echo first line >&2; echo it broke >&2; exit 1", in_folder("sound"));
    fake_ffmpeg(script); /* sound, but a failure: not taken */
    assert_int_equal(read_path(text, 10, &a, &error), PARLEY_FORMAT);
    assert_non_null(strstr(error.text, "it broke"));
    assert_null(a.samples);
    fake_ffmpeg("kill -9 $$");
    assert_int_equal(read_path(text, 10, &a, &error), PARLEY_FORMAT);
    fake_ffmpeg("exit 0"); /* nothing at all */
    assert_int_equal(read_path(text, 10, &a, &error), PARLEY_FORMAT);
    fake_ffmpeg("i=0; while [ $i -lt 900 ]; do echo more and more >&2; i=$((i + 1)); done; exit 3"); /* more words than are kept */
    assert_int_equal(read_path(text, 10, &a, &error), PARLEY_FORMAT);
    assert_non_null(strstr(error.text, "more and more"));
    snprintf(script, sizeof script, "cat %s; exec cat /dev/zero", in_folder("sound"));
    fake_ffmpeg(script); /* endless: the limit of bytes ends it */
    assert_int_equal(read_path(text, 0.5, &a, &error), PARLEY_LIMIT);
    restore_path();
}

/* Damaged files of a known kind are not handed on: ffmpeg would hide the damage. */
static void test_damaged_is_not_converted(void **state)
{
    (void)state;
    static uint8_t wav[4000];
    parley_audio a;
    parley_error error;
    size_t size = make_wav(wav, 1000);
    memcpy(wav + 40, "\0\0\1\0", 4);
    const char *path = put("damaged.wav", wav, size);
    fake_ffmpeg("touch \"$(dirname \"$0\")/was-run\"; exit 0");
    assert_int_equal(read_path(path, 10, &a, &error), PARLEY_FORMAT);
    assert_non_null(strstr(error.text, "ends at sample 1000"));
    assert_int_not_equal(access(in_folder("was-run"), F_OK), 0);
    restore_path();
}

static bool shell(const char *command)
{
    return system(command) == 0;
}

static void test_real_ffmpeg(void **state)
{
    (void)state;
    static const char *const names[] = {"b.m4a", "b.mkv", "b.aac", "b.wma"};
    static uint8_t wav[96044];
    char command[600];
    parley_audio a;
    parley_error error;
    if (!shell("ffmpeg -version >/dev/null 2>&1"))
        skip();
    const char *source = put("b.wav", wav, make_wav(wav, 48000));
    for (size_t i = 0; i < CLI_COUNT(names); i++) {
        snprintf(command, sizeof command, "ffmpeg -v error -y -i %s %s/%s </dev/null", source, folder, names[i]);
        if (!shell(command)) /* without this encoder */
            continue;
        if (read_path(in_folder(names[i]), 10, &a, &error) != PARLEY_OK)
            fail_msg("%s: %s", names[i], error.text);
        assert_in_range(a.count, 46000, 54000);
        assert_true(a.samples[24000] > 0.02f && a.samples[24000] < 0.04f);
        parley_audio_free(&a);
        assert_int_equal(read_path(in_folder(names[i]), 1, &a, &error), PARLEY_LIMIT);
    }
    assert_int_equal(read_path(put("t.txt", "Good morning, this is a text.\n", 30), 10, &a, &error), PARLEY_FORMAT);
    /* Playlists name other files: none is opened, though ffmpeg knows these formats. */
    static const char *const lists[] = {"#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:2,\nb.aac\n#EXT-X-ENDLIST\n",
                                        "ffconcat version 1.0\nfile 'b.wav'\n", "v=0\nm=audio 5004 RTP/AVP 0\nc=IN IP4 127.0.0.1\n",
                                        "<?xml version=\"1.0\"?><MPD></MPD>\n"};
    for (size_t i = 0; i < CLI_COUNT(lists); i++)
        assert_int_equal(read_path(put("list.m3u8", lists[i], strlen(lists[i])), 10, &a, &error), PARLEY_FORMAT);
}

static int make_folder(void **state)
{
    (void)state;
    const char *path = getenv("PATH");
    path_before = strdup(path ? path : "/usr/bin:/bin");
    return path_before && mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[100];
    free(path_before);
    snprintf(command, sizeof command, "rm -r %s", folder);
    return shell(command) ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_pipes),
        cmocka_unit_test(test_standard_input),
        cmocka_unit_test(test_no_ffmpeg),
        cmocka_unit_test(test_fake_ffmpeg),
        cmocka_unit_test(test_damaged_is_not_converted),
        cmocka_unit_test(test_real_ffmpeg),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
