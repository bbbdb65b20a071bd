/* A codec's fingerprint: the same in all types that its codebooks are stored in, another for another codec. */
#include "models/qwen3_tts/fingerprint.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { GROUPS = 16, ROWS = 512, WIDTH = 64, VALUES = ROWS * WIDTH, BLOCK = 32 };

static const pl_codec_shape shape = {.groups = GROUPS, .codebook_size = ROWS, .codebook_width = WIDTH};

typedef struct books {
    float rows[GROUPS * VALUES];
    float usage[GROUPS * ROWS];
    uint8_t blocks[GROUPS][VALUES / BLOCK * 34];
    pl_tensor codebooks[GROUPS], usages[GROUPS];
    pl_codec_tensors tensors;
} books;

/* Sums of three uniform values: near enough to a bell. */
static books *make(uint32_t seed)
{
    books *b = calloc(1, sizeof *b);
    assert_non_null(b);
    for (int i = 0; i < GROUPS * VALUES; i++) {
        for (int k = 0; k < 3; k++) {
            seed = seed * 1664525u + 1013904223u;
            b->rows[i] += (float)(seed >> 8) * 0x1p-24f - 0.5f;
        }
    }
    for (int g = 0; g < GROUPS; g++)
        b->codebooks[g] =
            (pl_tensor){.type = PL_F32, .rank = 2, .shape = {ROWS, WIDTH}, .data = b->rows + g * VALUES, .bytes = VALUES * sizeof(float)};
    b->tensors = (pl_codec_tensors){.codebooks = b->codebooks, .usages = b->usages};
    return b;
}

/* Rows as sums and how many they are of; every ninth is of a code that nothing chose. */
static void as_sums(books *b)
{
    for (int i = 0; i < GROUPS * ROWS; i++) {
        b->usage[i] = i % 9 == 0 ? 0.0f : (float)(1 + i % 200);
        for (int k = 0; k < WIDTH; k++)
            b->rows[i * WIDTH + k] *= i % 9 == 0 ? 1e-5f : b->usage[i];
    }
    for (int g = 0; g < GROUPS; g++)
        b->usages[g] = (pl_tensor){.type = PL_F32, .rank = 1, .shape = {ROWS}, .data = b->usage + g * ROWS, .bytes = ROWS * sizeof(float)};
}

static void put_half(uint8_t *to, float value)
{
    int exponent;
    float fraction = frexpf(value, &exponent); /* 0.5 .. 1; values here are normal halves */
    uint32_t bits = value == 0.0f ? 0 : (uint32_t)(exponent + 14) << 10 | ((uint32_t)lrintf(fraction * 2048.0f) & 1023u);
    to[0] = (uint8_t)bits;
    to[1] = (uint8_t)(bits >> 8);
}

/* Blocks of whole numbers with a common factor, of 8 bits or of 4. */
static void as_blocks(books *b, pl_type type)
{
    int most = type == PL_Q8_0 ? 127 : 7, bytes = pl_type_info(type)->bytes;
    for (int i = 0; i < GROUPS * VALUES / BLOCK; i++) {
        const float *x = b->rows + i * BLOCK;
        uint8_t *to = b->blocks[i / (VALUES / BLOCK)] + i % (VALUES / BLOCK) * bytes;
        float largest = 0.0f;
        for (int k = 0; k < BLOCK; k++)
            largest = fabsf(x[k]) > largest ? fabsf(x[k]) : largest;
        float factor = largest / (float)most;
        put_half(to, factor);
        for (int k = 0; k < BLOCK; k++) {
            int q = (int)lrintf(x[k] / factor);
            if (type == PL_Q8_0)
                to[2 + k] = (uint8_t)q;
            else
                to[2 + k % 16] |= (uint8_t)((q + 8) << (k < 16 ? 0 : 4));
        }
    }
    for (int g = 0; g < GROUPS; g++)
        b->codebooks[g] =
            (pl_tensor){.type = type, .rank = 2, .shape = {ROWS, WIDTH}, .data = b->blocks[g], .bytes = (size_t)(VALUES / BLOCK * bytes)};
}

typedef struct print {
    char text[65];
} print;

static print print_of(const books *b)
{
    print p;
    const char *text;
    pl_arena arena;
    pl_arena_init(&arena, NULL, 256);
    assert_int_equal(pl_codec_fingerprint(&arena, &shape, &b->tensors, &text, NULL), PARLEY_OK);
    assert_true(pl_codec_fingerprint_is(text, strlen(text)));
    memcpy(p.text, text, sizeof p.text);
    pl_arena_free(&arena);
    return p;
}

static int digits_apart(const print *a, const print *b)
{
    int n = 0;
    for (int i = 0; i < 64; i++)
        n += a->text[i] != b->text[i];
    return n;
}

static void test_types(void **state)
{
    (void)state;
    books *b = make(1), *sums = make(1), *eight = make(1), *four = make(1);
    as_sums(sums);
    as_blocks(eight, PL_Q8_0);
    as_blocks(four, PL_Q4_0);
    print own = print_of(b), divided = print_of(sums), q8 = print_of(eight), q4 = print_of(four);
    assert_true(pl_codec_fingerprints_agree(own.text, own.text));
    assert_in_range(digits_apart(&own, &divided), 0, 1);
    assert_in_range(digits_apart(&own, &q8), 0, 4);
    assert_in_range(digits_apart(&own, &q4), 1, 24);
    assert_true(pl_codec_fingerprints_agree(own.text, divided.text));
    assert_true(pl_codec_fingerprints_agree(own.text, q8.text));
    assert_true(pl_codec_fingerprints_agree(own.text, q4.text));
    free(b), free(sums), free(eight), free(four);
}

static void test_others(void **state)
{
    (void)state;
    print all[24];
    for (uint32_t i = 0; i < 24; i++) {
        books *b = make(i * 7919 + 2);
        all[i] = print_of(b);
        free(b);
        for (uint32_t k = 0; k < i; k++)
            assert_false(pl_codec_fingerprints_agree(all[i].text, all[k].text));
    }
}

/* A part that is not there has no fingerprint. */
static void test_absent(void **state)
{
    (void)state;
    books *b = make(3);
    const char *text = NULL;
    pl_arena arena;
    pl_arena_init(&arena, NULL, 256);
    b->codebooks[GROUPS - 1].data = NULL;
    assert_int_equal(pl_codec_fingerprint(&arena, &shape, &b->tensors, &text, NULL), PARLEY_OK);
    assert_string_equal(text, "");
    assert_int_equal(pl_codec_fingerprint(&arena, &(pl_codec_shape){0}, &(pl_codec_tensors){0}, &text, NULL), PARLEY_OK);
    assert_string_equal(text, "");
    pl_arena_free(&arena);
    free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_others),
        cmocka_unit_test(test_absent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
