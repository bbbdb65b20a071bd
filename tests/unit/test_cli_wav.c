/* WAV headers byte by byte, 16-bit rounding, and output files: temporaries, links, exclusive names. */
#include "wav.h"

#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static void test_headers(void **state)
{
    (void)state;
    static const uint8_t s16[44] = {'R', 'I', 'F',  'F',  0x2A, 0, 0,    0,    'W', 'A', 'V', 'E', 'f', 'm', 't', ' ', 16,  0,   0, 0, 1, 0,
                                    1,   0,   0xC0, 0x5D, 0,    0, 0x80, 0xBB, 0,   0,   2,   0,   16,  0,   'd', 'a', 't', 'a', 6, 0, 0, 0};
    static const uint8_t f32[58] = {'R', 'I', 'F', 'F', 62,   0,    0, 0, 'W', 'A',  'V', 'E', 'f', 'm', 't', ' ', 18, 0, 0,   0,
                                    3,   0,   1,   0,   0xC0, 0x5D, 0, 0, 0,   0x77, 1,   0,   4,   0,   32,  0,   0,  0, 'f', 'a',
                                    'c', 't', 4,   0,   0,    0,    3, 0, 0,   0,    'd', 'a', 't', 'a', 12,  0,   0,  0};
    uint8_t header[CLI_WAV_HEADER_MAX];
    assert_int_equal(cli_wav_header(header, CLI_WAV_S16, 24000, 3), 44);
    assert_memory_equal(header, s16, 44);
    assert_int_equal(cli_wav_header(header, CLI_WAV_F32, 24000, 3), 58);
    assert_memory_equal(header, f32, 4);
    assert_int_equal(header[4], 62); /* 50 + 12 */
    assert_memory_equal(header + 8, f32 + 8, 50);
    assert_int_equal(cli_wav_header(header, CLI_WAV_S16, 24000, CLI_WAV_OPEN_END), 44);
    assert_memory_equal(header + 4, "\xFF\xFF\xFF\xFF", 4);
    assert_memory_equal(header + 40, "\xFF\xFF\xFF\xFF", 4);
    cli_wav_header(header, CLI_WAV_S16, 24000, 0x80000000u); /* 4 GiB of samples do not fit the header */
    assert_memory_equal(header + 40, "\xFF\xFF\xFF\xFF", 4);
}

static void test_rounding(void **state)
{
    (void)state;
    assert_int_equal(cli_wav_s16(0.0f), 0);
    assert_int_equal(cli_wav_s16(1.0f), 32767);
    assert_int_equal(cli_wav_s16(-1.0f), -32767);
    assert_int_equal(cli_wav_s16(7.0f), 32767);
    assert_int_equal(cli_wav_s16(-7.0f), -32768);
    assert_int_equal(cli_wav_s16(INFINITY), 32767);
    assert_int_equal(cli_wav_s16(-INFINITY), -32768);
    assert_int_equal(cli_wav_s16(NAN), 0);
    for (int i = -40000; i <= 40000; i += 7) {
        float x = (float)i / 40000.0f;
        assert_true(fabsf((float)cli_wav_s16(x) - x * 32767.0f) <= 0.51f);
    }
}

static char folder[] = "/tmp/parley_test_XXXXXX";

static void in_folder(char *path, size_t size, const char *name)
{
    snprintf(path, size, "%s/%s", folder, name);
}

static size_t read_back(const char *path, char *bytes, size_t size)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t got = fread(bytes, 1, size, f);
    fclose(f);
    return got;
}

static int count_files(void)
{
    char command[100], text[20] = "";
    snprintf(command, sizeof command, "ls -A %s | wc -l", folder);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    assert_non_null(fgets(text, sizeof text, f));
    pclose(f);
    return atoi(text);
}

static void test_file_appears_when_complete(void **state)
{
    (void)state;
    char path[200], bytes[100];
    const float pcm[3] = {0.0f, 1.0f, -0.5f};
    cli_output output;
    cli_wav wav;
    parley_error error = {0};
    in_folder(path, sizeof path, "a.wav");
    assert_int_equal(cli_output_open(&output, path, true, "-o", &error), PARLEY_OK);
    assert_true(output.regular);
    assert_int_equal(cli_wav_begin(&wav, &output, CLI_WAV_S16, 24000, &error), PARLEY_OK);
    assert_int_equal(cli_wav_write(&wav, pcm, 3, &error), PARLEY_OK);
    assert_int_equal(cli_wav_end(&wav, &error), PARLEY_OK);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(count_files(), 1);
    assert_int_equal(cli_output_commit(&output, &error), PARLEY_OK);
    assert_int_equal(count_files(), 1);
    assert_int_equal(read_back(path, bytes, sizeof bytes), 50);
    assert_memory_equal(bytes + 40, "\6\0\0\0\0\0\xFF\x7F\x00\xC0", 10); /* -16383.5 rounds to the even -16384 */
    assert_int_equal(cli_output_open(&output, path, true, "-o", &error), PARLEY_IO);
    assert_non_null(strstr(error.text, "-o"));
    unlink(path);
}

static void test_discard_leaves_nothing(void **state)
{
    (void)state;
    char path[200], bytes[10];
    cli_output output;
    parley_error error = {0};
    in_folder(path, sizeof path, "b");
    assert_int_equal(cli_output_whole(path, &(cli_buffer){.data = (char[]){"old"}, .size = 3}, &error), PARLEY_OK);
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(cli_output_open(&output, path, false, "", &error), PARLEY_OK);
    assert_int_equal(cli_output_write(&output, "new", 3, &error), PARLEY_OK);
    cli_output_discard(&output);
    cli_output_discard(&output);
    assert_int_equal(count_files(), 1);
    assert_int_equal(read_back(path, bytes, sizeof bytes), 3);
    assert_memory_equal(bytes, "old", 3);
    assert_int_equal(cli_output_whole(path, &(cli_buffer){.data = (char[]){"newer"}, .size = 5}, &error), PARLEY_OK);
    struct stat is;
    assert_int_equal(stat(path, &is), 0);
    assert_int_equal(is.st_mode & 0777, 0600); /* what was replaced keeps its permissions */
    assert_int_equal(is.st_size, 5);
    unlink(path);
}

static void test_exclusive_name_taken_meanwhile(void **state)
{
    (void)state;
    char path[200], bytes[10];
    cli_output output;
    parley_error error = {0};
    in_folder(path, sizeof path, "c");
    assert_int_equal(cli_output_open(&output, path, true, "-o", &error), PARLEY_OK);
    assert_int_equal(cli_output_write(&output, "mine", 4, &error), PARLEY_OK);
    assert_int_equal(cli_output_whole(path, &(cli_buffer){.data = (char[]){"theirs"}, .size = 6}, &error), PARLEY_OK);
    assert_int_equal(cli_output_commit(&output, &error), PARLEY_IO);
    assert_int_equal(count_files(), 1);
    assert_int_equal(read_back(path, bytes, sizeof bytes), 6);
    unlink(path);
}

static void test_links_stay(void **state)
{
    (void)state;
    char link_path[200], target[200], bytes[10];
    struct stat is;
    parley_error error = {0};
    in_folder(link_path, sizeof link_path, "link");
    in_folder(target, sizeof target, "target");
    assert_int_equal(symlink("target", link_path), 0);
    for (int round = 0; round < 2; round++) { /* a dangling link first, then one to a file */
        assert_int_equal(cli_output_whole(link_path, &(cli_buffer){.data = (char[]){"data"}, .size = 4}, &error), PARLEY_OK);
        assert_int_equal(lstat(link_path, &is), 0);
        assert_true(S_ISLNK(is.st_mode));
        assert_int_equal(read_back(target, bytes, sizeof bytes), 4);
    }
    unlink(link_path);
    unlink(target);
    assert_int_equal(symlink("link", link_path), 0);
    assert_int_equal(cli_output_whole(link_path, &(cli_buffer){.data = (char[]){"data"}, .size = 4}, &error), PARLEY_IO);
    unlink(link_path);
}

static void test_unwritable(void **state)
{
    (void)state;
    char path[200];
    cli_output output;
    bool made;
    parley_error error = {0};
    assert_int_equal(cli_output_open(&output, folder, false, "", &error), PARLEY_IO);
    assert_int_equal(cli_output_open(&output, "", false, "", &error), PARLEY_IO);
    in_folder(path, sizeof path, "none/x");
    assert_int_equal(cli_output_open(&output, path, false, "", &error), PARLEY_IO);
    assert_non_null(strstr(error.text, "none/x"));
    assert_int_equal(cli_output_directory(path, &made, &error), PARLEY_IO);
    assert_int_equal(cli_output_open(&output, "/dev/full", false, "", &error), PARLEY_OK);
    assert_false(output.regular);
    assert_int_equal(cli_output_write(&output, "x", 1, &error), PARLEY_IO);
    assert_non_null(strstr(error.text, "No space"));
    cli_output_discard(&output);
    assert_int_equal(count_files(), 0);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_headers),
        cmocka_unit_test(test_rounding),
        cmocka_unit_test(test_file_appears_when_complete),
        cmocka_unit_test(test_discard_leaves_nothing),
        cmocka_unit_test(test_exclusive_name_taken_meanwhile),
        cmocka_unit_test(test_links_stay),
        cmocka_unit_test(test_unwritable),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
