/* The known answers of CRC-32C, and a text in pieces is the text. */
#include <string.h>

#include "encode/crc32c.h"
#include "support/check.h"

static void the_known_answers_are_given(void **state)
{
    (void)state;
    unsigned char zeros[32] = {0}, ones[32], rising[32];
    memset(ones, 0xff, sizeof ones);
    for (unsigned i = 0; i < sizeof rising; i++)
        rising[i] = (unsigned char)i;
    assert_int_equal(hr_crc32c(0, "123456789", 9), 0xe3069283);
    assert_int_equal(hr_crc32c(0, NULL, 0), 0);
    assert_int_equal(hr_crc32c(0, zeros, 32), 0x8a9136aa); /* RFC 3720, B.4 */
    assert_int_equal(hr_crc32c(0, ones, 32), 0x62a8ab43);
    assert_int_equal(hr_crc32c(0, rising, 32), 0x46dd794e);
}

static void a_text_in_pieces_has_the_sum_of_the_whole(void **state)
{
    (void)state;
    for (size_t cut = 0; cut <= 9; cut++)
        assert_int_equal(hr_crc32c(hr_crc32c(0, "123456789", cut), &"123456789"[cut], 9 - cut),
                         0xe3069283);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_known_answers_are_given),
        cmocka_unit_test(a_text_in_pieces_has_the_sum_of_the_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
