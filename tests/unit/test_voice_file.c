/* labels: sanitize */
/* Voice files: SHA-256, round trips, every byte flipped or cut, limits; `.spk` and `.rvq`. */
#include "base/hash.h"
#include "models/qwen3_tts/voice_file.h"

#include <parley/voice.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { LENGTH = 6, FRAMES = 3, GROUPS = 2, CODEBOOK = 2048, HASH = PL_HASH_SIZE };

static const float vector[LENGTH] = {0.5f, -1.25f, 3e-30f, 1e30f, 0.0f, -0.0f};
static const int32_t codes[FRAMES * GROUPS] = {0, 2047, 1, 1024, 77, 5};

static parley_voice sample_voice(void)
{
    return (parley_voice){.name = "Anna",
                          .model = "qwen3_tts-base-0b6-v6-g2-c2048",
                          .text = "At home. \xE4\xBD\xA0\xE5\xA5\xBD",
                          .vector = vector,
                          .vector_length = LENGTH,
                          .codes = codes,
                          .frames = FRAMES,
                          .groups = GROUPS,
                          .codebook_size = CODEBOOK};
}

static uint8_t *written(const parley_voice *voice, size_t *size)
{
    void *bytes = NULL;
    parley_error error = {0};
    assert_int_equal(parley_voice_write(voice, &bytes, size, &error), PARLEY_OK);
    uint8_t *copy = malloc(*size);
    assert_non_null(copy);
    memcpy(copy, bytes, *size);
    parley_voice_bytes_free(bytes, *size);
    return copy;
}

static void same_voice(const parley_voice *a, const parley_voice *b)
{
    assert_string_equal(a->name, b->name);
    assert_string_equal(a->model, b->model);
    assert_string_equal(a->text, b->text);
    assert_int_equal(a->vector_length, b->vector_length);
    assert_memory_equal(a->vector, b->vector, a->vector_length * sizeof(float));
    assert_int_equal(a->frames, b->frames);
    assert_int_equal(a->groups, b->groups);
    assert_int_equal(a->codebook_size, b->codebook_size);
    if (b->codes)
        assert_memory_equal(a->codes, b->codes, b->frames * (size_t)b->groups * sizeof(int32_t));
    else
        assert_null(a->codes);
}

/* ------------------------------------------------------------------ SHA-256 */

static void check_hash(const char *text, size_t size, const char *digest)
{
    char hex[PARLEY_VOICE_HASH_TEXT];
    parley_voice_hash(text, size, hex);
    assert_string_equal(hex, digest);
}

/* FIPS 180-4's examples, and the lengths around the end of a block. */
static void hash_vectors(void **state)
{
    (void)state;
    check_hash("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check_hash("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    check_hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    check_hash("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu", 112,
               "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
    char *million = malloc(1000000);
    assert_non_null(million);
    memset(million, 'a', 1000000);
    check_hash(million, 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(million);
}

static void hash_in_pieces(void **state)
{
    (void)state;
    uint8_t bytes[300], whole[HASH], pieces[HASH];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 7);
    for (size_t size = 0; size <= sizeof bytes; size++) {
        pl_hash_of(bytes, size, whole);
        for (size_t cut = 0; cut <= size; cut += 13) {
            pl_hash hash;
            pl_hash_begin(&hash);
            pl_hash_add(&hash, bytes, cut);
            pl_hash_add(&hash, bytes + cut, size - cut);
            pl_hash_end(&hash, pieces);
            assert_memory_equal(whole, pieces, HASH);
        }
    }
}

/* ------------------------------------------------------------------ voice files */

static void round_trip(void **state)
{
    (void)state;
    parley_voice forms[3] = {sample_voice(), sample_voice(), sample_voice()}, *back;
    parley_error error = {0};
    forms[1].codes = NULL;
    forms[1].frames = 0;
    forms[1].groups = forms[1].codebook_size = 0;
    forms[2] = forms[1];
    forms[2].name = forms[2].model = forms[2].text = "";
    for (int i = 0; i < 3; i++) {
        size_t size;
        uint8_t *bytes = written(&forms[i], &size);
        assert_int_equal(parley_voice_read(bytes, size, &back, &error), PARLEY_OK);
        same_voice(back, &forms[i]);
        parley_voice_free(back);
        free(bytes);
    }
}

/* The bytes themselves, so that another reader can be written from docs/VOICES.md. */
static void layout(void **state)
{
    (void)state;
    const float one[1] = {1.0f};
    const int32_t code[1] = {258};
    parley_voice voice = {
        .name = "n", .model = "m", .text = "t", .vector = one, .vector_length = 1, .codes = code, .frames = 1, .groups = 1, .codebook_size = 300};
    static const uint8_t expected[] = {0x89, 'P', 'V', 'O', 'I', 'C', 'E', '\n', 1,   0,   0,   0,   5,   0,   0,   0, 117, 0,    0,    0,   0,   0,
                                       0,    0,   'n', 'a', 'm', 'e', 1,   0,    0,   0,   'n', 'm', 'o', 'd', 'l', 1, 0,   0,    0,    'm', 't', 'e',
                                       'x',  't', 1,   0,   0,   0,   't', 'v',  'e', 'c', 't', 4,   0,   0,   0,   0, 0,   0x80, 0x3F, 'c', 'o', 'd',
                                       'e',  14,  0,   0,   0,   1,   0,   0,    0,   1,   0,   0,   0,   44,  1,   0, 0,   2,    1};
    size_t size;
    uint8_t *bytes = written(&voice, &size), digest[HASH];
    assert_int_equal(size, sizeof expected + HASH);
    assert_memory_equal(bytes, expected, sizeof expected);
    pl_hash_of(expected, sizeof expected, digest);
    assert_memory_equal(bytes + sizeof expected, digest, HASH);
    free(bytes);
}

static void every_byte(void **state)
{
    (void)state;
    parley_voice voice = sample_voice(), *back = NULL;
    size_t size;
    uint8_t *bytes = written(&voice, &size);
    for (size_t cut = 0; cut < size; cut++) {
        uint8_t *copy = malloc(cut ? cut : 1); /* of its own size: sanitizers see reads beyond it */
        parley_error error = {0};
        assert_non_null(copy);
        memcpy(copy, bytes, cut);
        assert_int_equal(parley_voice_read(copy, cut, &back, &error), PARLEY_FORMAT);
        assert_true(error.text[0]);
        free(copy);
    }
    for (size_t at = 0; at < size; at++)
        for (int bit = 0; bit < 8; bit++) {
            parley_error error = {0};
            bytes[at] = (uint8_t)(bytes[at] ^ 1 << bit);
            parley_status status = parley_voice_read(bytes, size, &back, &error);
            assert_true(status == PARLEY_FORMAT || (status == PARLEY_UNSUPPORTED && at >= 8 && at < 12));
            bytes[at] = (uint8_t)(bytes[at] ^ 1 << bit);
        }
    uint8_t *longer = malloc(size + 1);
    parley_error error = {0};
    assert_non_null(longer);
    memcpy(longer, bytes, size);
    longer[size] = 0;
    assert_int_equal(parley_voice_read(longer, size + 1, &back, &error), PARLEY_FORMAT);
    free(longer);
    free(bytes);
}

/* Behind a hash that fits: each change is found by the parser alone, or makes another voice that is valid. */
static void every_byte_parsed(void **state)
{
    (void)state;
    parley_voice voice = sample_voice(), *back = NULL;
    size_t size, inner, refused = 0;
    uint8_t *bytes = written(&voice, &size);
    inner = size - HASH;
    for (size_t at = 0; at < inner; at++)
        for (int change = 1; change < 256; change += change < 8 ? 1 : 31) {
            parley_error error = {0};
            bytes[at] = (uint8_t)(bytes[at] ^ change);
            parley_status status = pl_voice_parse(bytes, inner, &back, &error);
            assert_true(status == PARLEY_OK || status == PARLEY_FORMAT || status == PARLEY_UNSUPPORTED);
            refused += status != PARLEY_OK;
            if (status == PARLEY_OK)
                parley_voice_free(back);
            bytes[at] = (uint8_t)(bytes[at] ^ change);
        }
    assert_true(refused > inner);
    free(bytes);
}

typedef struct built {
    uint8_t bytes[512];
    size_t size;
    uint32_t sections;
} built;

static void put32(uint8_t *to, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}

static void add_section(built *b, const char *tag, const void *data, uint32_t length)
{
    memcpy(b->bytes + b->size, tag, 4);
    put32(b->bytes + b->size + 4, length);
    memcpy(b->bytes + b->size + 8, data, length);
    b->size += 8 + length;
    b->sections++;
}

static built start(void)
{
    built b = {.size = 24};
    memcpy(b.bytes, "\x89PVOICE\n", 8);
    put32(b.bytes + 8, 1);
    return b;
}

static parley_status outcome(built *b, const char *says)
{
    parley_voice *voice = NULL;
    parley_error error = {0};
    put32(b->bytes + 12, b->sections);
    put32(b->bytes + 16, (uint32_t)b->size + HASH);
    pl_hash_of(b->bytes, b->size, b->bytes + b->size);
    parley_status status = parley_voice_read(b->bytes, b->size + HASH, &voice, &error);
    if (status == PARLEY_OK)
        parley_voice_free(voice);
    else if (!strstr(error.text, says))
        fail_msg("\"%s\" does not say \"%s\"", error.text, says);
    return status;
}

static const uint8_t float_one[4] = {0, 0, 0x80, 0x3F};
static const uint8_t one_code[14] = {1, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 3, 0};

static built plain(void)
{
    built b = start();
    add_section(&b, "name", "n", 1);
    add_section(&b, "modl", "m", 1);
    add_section(&b, "text", "t", 1);
    add_section(&b, "vect", float_one, 4);
    return b;
}

static void section_rules(void **state)
{
    (void)state;
    built b = plain();
    assert_int_equal(outcome(&b, ""), PARLEY_OK);
    add_section(&b, "xtra", "anything", 8);
    add_section(&b, "xtra", "", 0);
    add_section(&b, "code", one_code, 14);
    assert_int_equal(outcome(&b, ""), PARLEY_OK);
    add_section(&b, "code", one_code, 14);
    assert_int_equal(outcome(&b, "twice"), PARLEY_FORMAT);
    b = plain();
    add_section(&b, "name", "n", 1);
    assert_int_equal(outcome(&b, "twice"), PARLEY_FORMAT);
    b = start();
    add_section(&b, "modl", "m", 1);
    add_section(&b, "name", "n", 1);
    assert_int_equal(outcome(&b, "order"), PARLEY_FORMAT);
    b = plain();
    add_section(&b, "next", "", 0);
    assert_int_equal(outcome(&b, "next"), PARLEY_UNSUPPORTED);
    b = start();
    add_section(&b, "name", "n", 1);
    assert_int_equal(outcome(&b, "no section \"modl\""), PARLEY_FORMAT);
    b = plain();
    b.sections--;
    assert_int_equal(outcome(&b, "behind the last"), PARLEY_FORMAT);
    b = plain();
    b.sections++;
    assert_int_equal(outcome(&b, "ends within"), PARLEY_FORMAT);
    b.sections = 65;
    assert_int_equal(outcome(&b, "65 sections"), PARLEY_FORMAT);
    b = plain();
    put32(b.bytes + 28, 0xFFFFFFFF);
    assert_int_equal(outcome(&b, "are left"), PARLEY_FORMAT);
}

static parley_status with(const char *tag, const void *data, uint32_t length, const char *says)
{
    static const char *const order[] = {"name", "modl", "text", "vect", "code"};
    built b = start();
    for (int i = 0; i < 5; i++) {
        if (!strcmp(tag, order[i]))
            add_section(&b, tag, data, length);
        else if (i < 4)
            add_section(&b, order[i], i == 3 ? float_one : (const uint8_t *)"abc", i == 3 ? 4 : 3);
    }
    return outcome(&b, says);
}

static void payload_rules(void **state)
{
    (void)state;
    static const uint8_t nan_value[4] = {0, 0, 0xC0, 0x7F}, infinite[4] = {0, 0, 0x80, 0xFF}, high[14] = {1, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 4, 0};
    static const uint8_t no_frames[12] = {0, 0, 0, 0, 1, 0, 0, 0, 4}, no_groups[12] = {1, 0, 0, 0, 0, 0, 0, 0, 4},
                         many[12] = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 4};
    assert_int_equal(with("name", "a\nb", 3, "control"), PARLEY_FORMAT);
    assert_int_equal(with("name", "a\xFF", 2, "UTF-8"), PARLEY_FORMAT);
    assert_int_equal(with("modl", "a\x00", 2, "control"), PARLEY_FORMAT);
    assert_int_equal(with("text", "a\x00", 2, "control"), PARLEY_FORMAT);
    assert_int_equal(with("text", "a\nb\n", 4, ""), PARLEY_OK);
    assert_int_equal(with("text", "\xED\xA0\x80", 3, "UTF-8"), PARLEY_FORMAT);
    assert_int_equal(with("vect", "", 0, "0 bytes"), PARLEY_FORMAT);
    assert_int_equal(with("vect", float_one, 3, "3 bytes"), PARLEY_FORMAT);
    assert_int_equal(with("vect", nan_value, 4, "not finite"), PARLEY_FORMAT);
    assert_int_equal(with("vect", infinite, 4, "not finite"), PARLEY_FORMAT);
    assert_int_equal(with("code", one_code, 14, ""), PARLEY_OK);
    assert_int_equal(with("code", one_code, 11, "11 bytes"), PARLEY_FORMAT);
    assert_int_equal(with("code", one_code, 12, "expected 14"), PARLEY_FORMAT);
    assert_int_equal(with("code", high, 14, "code 4"), PARLEY_FORMAT);
    assert_int_equal(with("code", no_frames, 12, "0 frames"), PARLEY_FORMAT);
    assert_int_equal(with("code", no_groups, 12, "0 groups"), PARLEY_FORMAT);
    assert_int_equal(with("code", many, 12, "4294967295 frames"), PARLEY_FORMAT);
    built b = start();
    add_section(&b, "name", "", 0);
    add_section(&b, "modl", "", 0);
    add_section(&b, "text", "", 0);
    add_section(&b, "vect", float_one, 4);
    add_section(&b, "code", one_code, 14);
    assert_int_equal(outcome(&b, "transcript"), PARLEY_FORMAT);
}

static void refuse(parley_voice voice, const char *says)
{
    void *bytes = NULL;
    size_t size = 0;
    parley_error error = {0};
    assert_int_equal(parley_voice_write(&voice, &bytes, &size, &error), PARLEY_ARGUMENT);
    if (!strstr(error.text, says))
        fail_msg("\"%s\" does not say \"%s\"", error.text, says);
}

#define REFUSE(change, says)             \
    do {                                 \
        parley_voice v = sample_voice(); \
        change;                          \
        refuse(v, says);                 \
    } while (0)

static void write_limits(void **state)
{
    (void)state;
    static const float bad[2] = {1.0f, NAN};
    static const int32_t negative[2] = {0, -1};
    char *name = malloc(257), *text = malloc((1 << 20) + 2);
    assert_true(name && text);
    memset(name, 'a', 256);
    name[256] = 0;
    memset(text, 'a', (1 << 20) + 1);
    text[(1 << 20) + 1] = 0;
    REFUSE(v.name = name, "256 bytes");
    REFUSE(v.model = name, "256 bytes");
    REFUSE(v.text = text, "1048577 bytes");
    REFUSE(v.name = "a\tb", "control");
    REFUSE(v.text = "\xC0\x80", "UTF-8");
    REFUSE(v.vector = NULL, "vector");
    REFUSE(v.vector_length = 0, "vector");
    REFUSE(v.vector_length = 65537, "65537");
    REFUSE((v.vector = bad, v.vector_length = 2), "index 1");
    REFUSE(v.text = "", "transcript");
    REFUSE(v.text = NULL, "transcript");
    REFUSE(v.frames = 0, "0 frames");
    REFUSE(v.groups = -1, "0 groups");
    REFUSE(v.codebook_size = 65537, "65537");
    REFUSE(v.codebook_size = 2047, "code 2047");
    REFUSE((v.codes = negative, v.frames = 1), "code -1");
    name[255] = text[1 << 20] = 0;
    parley_voice v = sample_voice();
    size_t size;
    v.name = v.model = name;
    v.text = text;
    free(written(&v, &size));
    free(name);
    free(text);
}

/* ------------------------------------------------------------------ .spk and .rvq */

static const parley_info info = {.xvector_length = LENGTH, .groups = GROUPS, .codebook_size = CODEBOOK, .model_type = "base"};

static void spk(void **state)
{
    (void)state;
    float back[LENGTH];
    uint8_t bytes[LENGTH * 4 + 4] = {0};
    parley_error error = {0};
    memcpy(bytes, vector, sizeof vector); /* the tests run on little-endian machines */
    assert_int_equal(pl_voice_files_qwen3.read_spk(&info, bytes, sizeof vector, back, &error), PARLEY_OK);
    assert_memory_equal(back, vector, sizeof vector);
    for (size_t size = 0; size < sizeof bytes; size++)
        if (size != sizeof vector)
            assert_int_equal(pl_voice_files_qwen3.read_spk(&info, bytes, size, back, &error), PARLEY_FORMAT);
    bytes[7] = 0x7F;
    bytes[6] = 0xC0;
    assert_int_equal(pl_voice_files_qwen3.read_spk(&info, bytes, sizeof vector, back, &error), PARLEY_FORMAT);
    assert_int_equal(error.position, 4);
}

/* Codes by codebook, 11 bits each, least significant bit first: worked out by hand for the first frame's. */
static void rvq_bits(void **state)
{
    (void)state;
    static const int32_t two[2] = {1, 2047};
    static const uint8_t expected[3] = {0x01, 0xF8, 0x3F};
    void *bytes = NULL;
    size_t size = 0;
    parley_error error = {0};
    assert_int_equal(parley_voice_write_rvq(two, 1, 2, 2048, &bytes, &size, &error), PARLEY_OK);
    assert_int_equal(size, 3);
    assert_memory_equal(bytes, expected, 3);
    parley_voice_bytes_free(bytes, size);
}

static void rvq_of(int32_t groups, int32_t codebook, size_t frames)
{
    int32_t *values = malloc(frames * (size_t)groups * sizeof *values), *back = NULL;
    void *bytes = NULL;
    size_t size = 0, count = 0;
    parley_error error = {0};
    parley_info shape = info;
    parley_allocator allocator = pl_default_allocator();
    assert_non_null(values);
    shape.groups = groups;
    shape.codebook_size = codebook;
    for (size_t i = 0; i < frames * (size_t)groups; i++)
        values[i] = (int32_t)(i * 7919 % (size_t)codebook);
    values[0] = codebook - 1;
    assert_int_equal(parley_voice_write_rvq(values, frames, groups, codebook, &bytes, &size, &error), PARLEY_OK);
    assert_int_equal(pl_voice_files_qwen3.read_rvq(&allocator, &shape, bytes, size, &back, &count, &error), PARLEY_OK);
    assert_int_equal(count, frames);
    assert_memory_equal(back, values, frames * (size_t)groups * sizeof *values);
    pl_release(&allocator, back, count * (size_t)groups, sizeof *back);
    parley_voice_bytes_free(bytes, size);
    free(values);
}

static void rvq_round_trips(void **state)
{
    (void)state;
    for (size_t frames = 1; frames < 12; frames++) {
        rvq_of(16, 2048, frames);
        rvq_of(16, 64, frames);
        rvq_of(8, 512, frames);
        rvq_of(3, 2048, frames);
        rvq_of(5, 1000, frames);
        rvq_of(16, 2, frames);
    }
}

static void rvq_bad(void **state)
{
    (void)state;
    parley_error error = {0};
    parley_allocator allocator = pl_default_allocator();
    int32_t *back = NULL;
    size_t count = 0;
    uint8_t bytes[6] = {0};
    parley_info small = info;
    small.codebook_size = 1500;
    for (size_t size = 0; size <= 5; size++) { /* a frame is 22 bits: 3 bytes, two frames are 6 */
        parley_status status = pl_voice_files_qwen3.read_rvq(&allocator, &info, bytes, size, &back, &count, &error);
        assert_int_equal(status, size == 3 ? PARLEY_OK : PARLEY_FORMAT);
        if (status == PARLEY_OK)
            pl_release(&allocator, back, count * GROUPS, sizeof *back);
    }
    bytes[2] = 0x40;
    assert_int_equal(pl_voice_files_qwen3.read_rvq(&allocator, &info, bytes, 3, &back, &count, &error), PARLEY_FORMAT);
    bytes[2] = 0;
    bytes[0] = 0xFF;
    bytes[1] = 0x07;
    assert_int_equal(pl_voice_files_qwen3.read_rvq(&allocator, &small, bytes, 3, &back, &count, &error), PARLEY_FORMAT);
    assert_non_null(strstr(error.text, "2047"));
    assert_int_equal(parley_voice_write_rvq(codes, FRAMES, GROUPS, 2047, (void **)&back, &count, &error), PARLEY_ARGUMENT);
}

static void null_arguments(void **state)
{
    (void)state;
    parley_error error = {0};
    parley_voice *voice = NULL, v = sample_voice();
    void *bytes = NULL;
    size_t size = 0;
    assert_int_equal(parley_voice_read(NULL, 0, &voice, &error), PARLEY_FORMAT);
    assert_int_equal(parley_voice_read(NULL, 5, &voice, &error), PARLEY_ARGUMENT);
    assert_int_equal(parley_voice_write(&v, NULL, &size, &error), PARLEY_ARGUMENT);
    assert_int_equal(parley_voice_write(NULL, &bytes, &size, &error), PARLEY_ARGUMENT);
    assert_int_equal(parley_voice_read_spk(NULL, "", 0, NULL, &error), PARLEY_ARGUMENT);
    parley_voice_free(NULL);
    parley_voice_bytes_free(NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hash_vectors),  cmocka_unit_test(hash_in_pieces), cmocka_unit_test(round_trip),
        cmocka_unit_test(layout),        cmocka_unit_test(every_byte),     cmocka_unit_test(every_byte_parsed),
        cmocka_unit_test(section_rules), cmocka_unit_test(payload_rules),  cmocka_unit_test(write_limits),
        cmocka_unit_test(spk),           cmocka_unit_test(rvq_bits),       cmocka_unit_test(rvq_round_trips),
        cmocka_unit_test(rvq_bad),       cmocka_unit_test(null_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
