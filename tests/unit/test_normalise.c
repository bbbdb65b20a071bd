/* UTF-8 checks and NFC against utf8proc. */
#include "tokenizer_fixture.h"

#include <utf8proc.h>

#include "text/normalise.h"

static bool is_surrogate(uint32_t point)
{
    return point >= 0xD800 && point < 0xE000;
}

static void check_nfc(pl_normaliser *normaliser, pl_span text)
{
    pl_span out;
    utf8proc_uint8_t *expected;
    assert_int_equal(pl_nfc(normaliser, text, &out, NULL), PARLEY_OK);
    utf8proc_ssize_t length = utf8proc_map((const utf8proc_uint8_t *)text.text, (utf8proc_ssize_t)text.length, &expected,
                                           (utf8proc_option_t)(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
    assert_true(length >= 0);
    assert_int_equal(out.length, length);
    assert_memory_equal(out.text, expected, (size_t)length);
    free(expected);
}

static void code_points(void **state)
{
    (void)state;
    pl_normaliser normaliser;
    parley_allocator allocator = pl_default_allocator();
    pl_normaliser_init(&normaliser, &allocator);
    for (uint32_t point = 0; point < 0x110000; point++) {
        char text[2 + PL_UTF8_MAX] = "e";
        if (is_surrogate(point) || pl_nfc_late_mark(point))
            continue;
        size_t length = 1 + pl_utf8_put(point, text + 1);
        check_nfc(&normaliser, (pl_span){text, length});
        check_nfc(&normaliser, (pl_span){text + 1, length - 1});
    }
    pl_normaliser_free(&normaliser);
}

static uint32_t next_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33);
}

static void random_strings(void **state)
{
    (void)state;
    static const uint32_t points[] = {0,      'a',    'e',    'q',    ' ',    0xE9,    0x1E9B,  0x300,   0x301,   0x307,  0x316,  0x323,  0x327,
                                      0x334,  0x338,  0x345,  0x3B1,  0x1F80, 0x390,   0x340,   0x344,   0x37E,   0x915,  0x93C,  0x958,  0x9C7,
                                      0x9BE,  0xB47,  0xB56,  0x1100, 0x1161, 0x11A8,  0xAC00,  0xAC01,  0x304B,  0x3099, 0x309A, 0x212A, 0x212B,
                                      0x2126, 0x2329, 0xF900, 0x4E2D, 0xFB1D, 0x1D15E, 0x110BA, 0x11099, 0x2F801, 0xF71,  0xF72,  0xF73,  0xF74,
                                      0xF81,  0xFB1E, 0x5B0,  0x5BC,  0x64B,  0x651,   0x627,   0x653,   0x1F600, 0x3C};
    enum { ROUNDS = 40000, LONGEST = 60 };
    pl_normaliser normaliser;
    parley_allocator allocator = pl_default_allocator();
    pl_normaliser_init(&normaliser, &allocator);
    uint64_t seed = 7;
    for (int round = 0; round < ROUNDS; round++) {
        char text[LONGEST * PL_UTF8_MAX];
        size_t length = 0, characters = 1 + next_random(&seed) % (round % 8 ? 10 : LONGEST);
        size_t first = round % 4 ? 0 : 7, span = round % 4 ? sizeof points / sizeof points[0] : 9; /* a fourth is marks alone: long runs to sort */
        for (size_t i = 0; i < characters; i++)
            length += pl_utf8_put(points[first + next_random(&seed) % span], text + length);
        check_nfc(&normaliser, (pl_span){text, length});
    }
    pl_normaliser_free(&normaliser);
}

/* No code point that is called inert may be the second half of a composition, have a class, or change. */
static void inert_characters(void **state)
{
    (void)state;
    static bool second[0x110000];
    for (int32_t point = 0x1161; point < 0x1176; point++)
        second[point] = true;
    for (int32_t point = 0x11A8; point < 0x11C3; point++)
        second[point] = true;
    for (int32_t point = 0; point < 0x110000; point++) {
        int32_t parts[18];
        int boundclass = 0;
        utf8proc_ssize_t n = is_surrogate((uint32_t)point)
                                 ? 0
                                 : utf8proc_decompose_char(point, parts, 18, (utf8proc_option_t)(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE), &boundclass);
        for (utf8proc_ssize_t i = 1; i < n && (point < 0xAC00 || point > 0xD7A3); i++)
            second[parts[i]] = true;
    }
    int inert = 0, late = 0;
    for (int32_t point = 0; point < 0x110000; point++) {
        const utf8proc_property_t *property = utf8proc_get_property(point);
        if (!pl_nfc_inert((uint32_t)point))
            continue;
        inert++;
        assert_false(is_surrogate((uint32_t)point));
        assert_false(second[point]);
        late += pl_nfc_late_mark((uint32_t)point);
        assert_int_equal(property->combining_class != 0, pl_nfc_late_mark((uint32_t)point));
        int32_t composed[18];
        int boundclass = 0;
        utf8proc_ssize_t n = utf8proc_decompose_char(point, composed, 18, (utf8proc_option_t)(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE), &boundclass);
        assert_int_equal(utf8proc_normalize_utf32(composed, n, (utf8proc_option_t)(UTF8PROC_STABLE | UTF8PROC_COMPOSE)), 1);
        assert_int_equal(composed[0], point);
    }
    assert_true(inert > 80000);
    assert_int_equal(late, 108);
}

static void what_is_normal_is_not_copied(void **state)
{
    (void)state;
    static const char text[] = "Gr\xC3\xBC\xC3\x9F"
                               "e \xE4\xBD\xA0\xE5\xA5\xBD \0 \xEA\xB0\x80 \xF0\x9F\x98\x80";
    parley_allocator allocator = pl_default_allocator();
    pl_normaliser normaliser;
    pl_span out;
    pl_normaliser_init(&normaliser, &allocator);
    assert_int_equal(pl_nfc(&normaliser, (pl_span){text, sizeof text - 1}, &out, NULL), PARLEY_OK);
    assert_ptr_equal(out.text, text);
    assert_int_equal(out.length, sizeof text - 1);
    assert_int_equal(normaliser.text.capacity, 0);
    pl_normaliser_free(&normaliser);
}

/* Three bytes of (nearly) every value and a continuation byte, against the reader of utf8proc. */
static void utf8_of_all_short_sequences(void **state)
{
    (void)state;
    for (uint32_t bits = 0; bits < 1u << 24; bits += bits % 7 + 1) {
        char text[4] = {(char)(bits >> 16), (char)(bits >> 8), (char)bits, (char)(0x80 | (bits & 0x3F))};
        utf8proc_int32_t point;
        utf8proc_ssize_t length = utf8proc_iterate((const utf8proc_uint8_t *)text, 4, &point);
        size_t checked = pl_utf8_check(text, length > 0 ? (size_t)length : 4);
        if (length > 0)
            assert_int_equal(checked, length);
        else
            assert_int_equal(checked, 0);
    }
}

static void utf8_round_trip(void **state)
{
    (void)state;
    for (uint32_t point = 0; point < 0x110000; point++) {
        char text[PL_UTF8_MAX];
        size_t length = pl_utf8_put(point, text), read;
        assert_int_equal(pl_utf8_get(text, &read), point);
        assert_int_equal(read, length);
        assert_int_equal(pl_utf8_check(text, length), is_surrogate(point) ? 0 : length);
        if (length > 1)
            assert_int_equal(pl_utf8_check(text, length - 1), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_points),
        cmocka_unit_test(random_strings),
        cmocka_unit_test(inert_characters),
        cmocka_unit_test(what_is_normal_is_not_copied),
        cmocka_unit_test(utf8_of_all_short_sequences),
        cmocka_unit_test(utf8_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
