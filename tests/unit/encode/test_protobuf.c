/* Every kind of field has the bytes that the format says; messages nest, and their lengths are
 * right where they take another byte; a call that fails is told at the end. */
#include <stdlib.h>
#include <string.h>

#include "encode/protobuf.h"
#include "support/check.h"
#include "support/memory_calls.h"

#define CHECK_BYTES(p, text)                                                                       \
    do {                                                                                           \
        CHECK_OK(hr_protobuf_finish(p));                                                           \
        assert_int_equal((p)->length, sizeof(text) - 1);                                           \
        assert_memory_equal((p)->bytes, text, sizeof(text) - 1);                                   \
        hr_protobuf_clear(p);                                                                      \
    } while (0)

static void numbers_have_the_bytes_of_the_format(void **state)
{
    (void)state;
    struct hr_protobuf p = {0};
    hr_protobuf_varint(&p, 1, 150);
    CHECK_BYTES(&p, "\x08\x96\x01"); /* the documentation's own example */
    hr_protobuf_varint(&p, 2, (uint64_t)-2);
    CHECK_BYTES(&p, "\x10\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01");
    hr_protobuf_varint(&p, 16, 127);
    CHECK_BYTES(&p, "\x80\x01\x7f");
    hr_protobuf_float(&p, 2, 0.5f);
    CHECK_BYTES(&p, "\x15\0\0\0\x3f");
    hr_protobuf_double(&p, 1, 1.0);
    CHECK_BYTES(&p, "\x09\0\0\0\0\0\0\xf0\x3f");
    hr_protobuf_free(&p);
}

static void texts_and_packed_numbers_have_their_length_before_them(void **state)
{
    (void)state;
    struct hr_protobuf p = {0};
    hr_protobuf_string(&p, 2, "testing");
    CHECK_BYTES(&p, "\x12\x07testing");
    hr_protobuf_bytes(&p, 2, NULL, 0);
    CHECK_BYTES(&p, "\x12\0");
    hr_protobuf_packed(&p, 6, (int64_t[]){3, 270, 86942}, 3);
    CHECK_BYTES(&p, "\x32\x06\x03\x8e\x02\x9e\xa7\x05"); /* the documentation's own example */
    hr_protobuf_packed(&p, 1, (int64_t[]){-1}, 1);
    CHECK_BYTES(&p, "\x0a\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
    hr_protobuf_packed_doubles(&p, 7, (double[]){2}, 1);
    CHECK_BYTES(&p, "\x3a\x08\0\0\0\0\0\0\0\x40");
    memcpy(hr_protobuf_reserve(&p, 9, 4), "here", 4);
    CHECK_BYTES(&p, "\x4a\x04here");
    hr_protobuf_free(&p);
}

static void a_message_in_a_message_is_as_long_as_it_says(void **state)
{
    (void)state;
    struct hr_protobuf p = {0};
    const size_t outer = hr_protobuf_begin(&p, 3);
    const size_t inner = hr_protobuf_begin(&p, 1);
    hr_protobuf_varint(&p, 1, 150);
    hr_protobuf_end(&p, inner);
    hr_protobuf_end(&p, hr_protobuf_begin(&p, 2)); /* empty */
    hr_protobuf_end(&p, outer);
    hr_protobuf_varint(&p, 4, 7);
    CHECK_BYTES(&p, "\x1a\x07\x0a\x03\x08\x96\x01\x12\0\x20\x07");
    hr_protobuf_free(&p);
}

/* The varint at *at, which moves behind it. */
static uint64_t read_varint(const unsigned char **at)
{
    uint64_t value = 0;
    unsigned shift = 0;
    do
        value |= (uint64_t)(**at & 0x7f) << shift;
    while (shift += 7, *(*at)++ & 0x80);
    return value;
}

/* Where a length takes another byte, what stands in the message is moved whole. */
static void lengths_of_any_size_are_right(void **state)
{
    (void)state;
    const size_t sizes[] = {0,   1,     123,   124,   125,   126,    127,
                            128, 16379, 16380, 16381, 16384, 2097200};
    struct hr_protobuf p = {0};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const size_t n = sizes[i], outer = hr_protobuf_begin(&p, 1),
                     inner = hr_protobuf_begin(&p, 2);
        unsigned char *data = hr_protobuf_reserve(&p, 3, n);
        for (size_t k = 0; k < n; k++)
            data[k] = (unsigned char)(k * 7);
        hr_protobuf_end(&p, inner);
        hr_protobuf_end(&p, outer);
        CHECK_OK(hr_protobuf_finish(&p));
        const unsigned char *at = p.bytes, *end = p.bytes + p.length;
        for (unsigned char key = 0x0a; key <= 0x1a; key += 8) {
            assert_int_equal(*at++, key);
            const uint64_t length = read_varint(&at);
            assert_int_equal(length, end - at);
        }
        for (size_t k = 0; k < n; k++)
            assert_int_equal(at[k], (unsigned char)(k * 7));
        hr_protobuf_clear(&p);
    }
    hr_protobuf_free(&p);
}

static void what_does_not_fit_is_told_at_the_end(void **state)
{
    (void)state;
    struct hr_protobuf p = {0};
    hr_protobuf_varint(&p, 1, 1);
    fault_plan(&(struct fault){.kinds = OF_MEMORY, .error = ENOMEM, .nth = 1, .stays = true});
    const size_t begun = hr_protobuf_begin(&p, 2);
    assert_null(hr_protobuf_reserve(&p, 3, 1 << 20));
    fault_end(&(size_t){0}, &(const char *){NULL});
    hr_protobuf_string(&p, 4, "after it nothing is written");
    hr_protobuf_end(&p, begun);
    CHECK_FAILS(hr_protobuf_finish(&p), HR_E_NOMEM);
    CHECK_MESSAGE("no memory for a message of");
    hr_protobuf_clear(&p);
    assert_null(hr_protobuf_reserve(&p, 3, HR_PROTOBUF_MAX));
    CHECK_FAILS(hr_protobuf_finish(&p), HR_E_FAILED);
    CHECK_MESSAGE("2 GiB");
    hr_protobuf_clear(&p);
    hr_protobuf_varint(&p, 1, 1);
    CHECK_BYTES(&p, "\x08\x01");
    hr_protobuf_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_have_the_bytes_of_the_format),
        cmocka_unit_test(texts_and_packed_numbers_have_their_length_before_them),
        cmocka_unit_test(a_message_in_a_message_is_as_long_as_it_says),
        cmocka_unit_test(lengths_of_any_size_are_right),
        cmocka_unit_test(what_does_not_fit_is_told_at_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
