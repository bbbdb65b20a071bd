/* labels: sanitize */
/* Encoders of the server: the same sound is the same bytes, whole or in pieces of any length. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "encode.h"

#include "support/random.h"

#include <math.h>
#include <string.h>

enum { RATE = 24000, SAMPLES = 3 * RATE + 17 };

/* Tones that come and go under noise, so that the encoders' choices differ from one place to the next. */
static const float *sound(void)
{
    static float pcm[SAMPLES];
    test_random r = {3};
    for (int i = 0; i < SAMPLES; i++) {
        float t = (float)i / RATE;
        pcm[i] = 0.4f * sinf(6.2832f * 170.0f * t * (1.0f + t)) * (fmodf(t, 0.3f) < 0.2f) + test_float(&r, 0.1f);
    }
    return pcm;
}

/* In pieces of `first` samples, then ever longer ones by `more`. */
static cli_buffer encode(srv_format format, size_t first, size_t more)
{
    const float *pcm = sound();
    cli_buffer out = {0};
    srv_encoder *encoder = NULL;
    parley_error error;
    assert_int_equal(srv_encoder_open(&encoder, format, RATE, &error), PARLEY_OK);
    for (size_t at = 0, n = first; at < SAMPLES; at += n, n += more) {
        n = n < SAMPLES - at ? n : SAMPLES - at;
        assert_int_equal(srv_encode(encoder, pcm + at, n, &out, &error), PARLEY_OK);
    }
    assert_int_equal(srv_encode_end(encoder, &out, &error), PARLEY_OK);
    srv_encoder_close(encoder);
    assert_false(out.failed);
    return out;
}

static void test_bytes_do_not_depend_on_pieces(void **state)
{
    static const size_t pieces[][2] = {{1920, 0}, {1920, 1920}, {480, 0}, {1, 7}, {RATE + 1, 0}, {3840, 480}};
    (void)state;
    for (int format = 0; format < SRV_FORMATS; format++) {
        cli_buffer whole = encode((srv_format)format, SAMPLES, 0);
        assert_true(whole.size > 1000);
        for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
            cli_buffer got = encode((srv_format)format, pieces[i][0], pieces[i][1]);
            if (got.size != whole.size || memcmp(got.data, whole.data, whole.size) != 0)
                fail_msg("%s in pieces of %zu and %zu more each differs from the whole", srv_format_name((srv_format)format), pieces[i][0],
                         pieces[i][1]);
            cli_buffer_free(&got);
        }
        cli_buffer_free(&whole);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_do_not_depend_on_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
