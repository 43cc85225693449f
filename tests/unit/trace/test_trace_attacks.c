/* Traces that are torn, altered, or made to hurt: each is refused in one line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "trace/trace.h"
#include "support/check.h"
#include "support/scratch.h"

enum { LARGEST = 512, DIGEST = 16 };

static void put_digest(unsigned char *file, size_t bytes)
{
    XXH128_canonical_t digest;
    XXH128_canonicalFromHash(&digest, XXH3_128bits(file, bytes));
    memcpy(file + bytes, &digest, sizeof digest);
}

/* A small trace of two owners; returns its size. */
static size_t small_trace(unsigned char file[LARGEST])
{
    struct hr_trace_recording recording;
    struct hr_trace_log log;
    size_t bytes;
    const char *path = scratch("run.trace");
    CHECK_OK(hr_trace_begin(&recording, path, 2));
    for (uint32_t owner = 0; owner < 2; owner++) {
        CHECK_OK(hr_trace_log_open(&log, NULL, path, owner, 4));
        for (uint32_t i = 0; i < 5; i++)
            hr_trace_append(&log, &(struct hr_trace_entry){i, i % 4, i * owner * 100, i, 1000000});
        CHECK_OK(hr_trace_log_close(&log));
    }
    CHECK_OK(hr_trace_assemble(&recording, "{\"seed\": 1}", "{\"digest\": 7}"));
    unsigned char *content = scratch_read("run.trace", &bytes);
    assert_true(bytes <= LARGEST);
    memcpy(file, content, bytes);
    free(content);
    return bytes;
}

/* From a block of its own size, so that a sanitizer sees what is read beyond it. */
static enum hr_status parse_exact(const unsigned char *file, size_t bytes)
{
    struct hr_trace trace;
    unsigned char *exact = malloc(bytes ? bytes : 1);
    memcpy(exact, file, bytes);
    const enum hr_status status = hr_trace_parse("t", exact, bytes, &trace);
    if (status != HR_OK)
        assert_true(!trace.owner && !trace.header && !trace.trailer && trace.nowners == 0);
    hr_trace_fini(&trace);
    free(exact);
    return status;
}

static void every_flipped_bit_is_refused(void **state)
{
    (void)state;
    unsigned char file[LARGEST];
    const size_t bytes = small_trace(file);
    CHECK_OK(parse_exact(file, bytes));
    for (size_t bit = 0; bit < 8 * bytes; bit++) {
        file[bit / 8] ^= (unsigned char)(1u << bit % 8);
        CHECK_FAILS(parse_exact(file, bytes), HR_E_FORMAT);
        CHECK_MESSAGE(bit / 8 < 8    ? "t: is no trace: expected it to begin with HOGTRACE"
                      : bit / 8 < 12 ? "t: is a trace of version"
                                     : "t: this trace is torn or was altered");
        file[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    CHECK_OK(parse_exact(file, bytes));
}

static void every_shorter_and_longer_file_is_refused(void **state)
{
    (void)state;
    unsigned char file[LARGEST + 1] = {0};
    const size_t bytes = small_trace(file);
    for (size_t n = 0; n < bytes; n++) {
        CHECK_FAILS(parse_exact(file, n), HR_E_FORMAT);
        CHECK_MESSAGE(n < 8 ? "is no trace" : "t: this trace is torn");
    }
    CHECK_FAILS(parse_exact(file, bytes + 1), HR_E_FORMAT);
    CHECK_MESSAGE("torn or was altered");
}

/* As above with a digest that fits: sizes and entries are checked by themselves. */
static void every_shorter_file_is_refused_even_with_a_right_digest(void **state)
{
    (void)state;
    unsigned char file[LARGEST + DIGEST], cut[LARGEST + DIGEST];
    const size_t bytes = small_trace(file);
    for (size_t n = 0; n < bytes - DIGEST; n++) {
        memcpy(cut, file, n);
        put_digest(cut, n);
        CHECK_FAILS(parse_exact(cut, n + DIGEST), HR_E_FORMAT);
    }
    memcpy(cut, file, bytes);
    cut[bytes - DIGEST] = 'x';
    put_digest(cut, bytes - DIGEST + 1);
    CHECK_FAILS(parse_exact(cut, bytes + 1), HR_E_FORMAT);
    CHECK_MESSAGE("1 bytes behind the trailer");
}

/* --- made to hurt: one owner, two ranks, and what the case changes */

struct attack {
    uint32_t nowners, owner, nranks;
    uint64_t header_bytes, trailer_bytes, entries, bytes;
    const char *log; /* (log_bytes) */
    size_t log_bytes;
    const char *message;
};

#define HUGE_NUMBER ((uint64_t)1 << 63)
#define LOG(text) text, sizeof text - 1

static size_t make_file(const struct attack *attack, unsigned char file[LARGEST])
{
    unsigned char *at = file;
    const uint32_t start[2] = {1, attack->nowners}, log[2] = {attack->owner, attack->nranks};
    const uint64_t texts[2] = {attack->header_bytes, attack->trailer_bytes};
    const uint64_t counts[2] = {attack->entries, attack->bytes};
    memcpy(at, "HOGTRACE", 8);
    memcpy(at + 8, start, 8);
    memcpy(at + 16, texts, 16);
    memcpy(at + 32, "{}", 2);
    memcpy(at + 34, log, 8);
    memcpy(at + 42, counts, 16);
    memcpy(at + 58, attack->log, attack->log_bytes);
    memcpy(at + 58 + attack->log_bytes, "!", 1);
    put_digest(file, 59 + attack->log_bytes);
    return 59 + attack->log_bytes + DIGEST;
}

static const struct attack attacks[] = {
    {0, 0, 2, 2, 1, 0, 0, LOG(""), "0 owners, expected 1 to 4096"},
    {4097, 0, 2, 2, 1, 0, 0, LOG(""), "4097 owners, expected 1 to 4096"},
    {UINT32_MAX, 0, 2, 2, 1, 0, 0, LOG(""), "4294967295 owners"},
    {2, 0, 2, 2, 1, 0, 0, LOG(""), "expected the log of owner 1"},
    {1, 1, 2, 2, 1, 0, 0, LOG(""), "a log of owner 1 with 2 ranks, expected owner 0"},
    {1, 0, 0, 2, 1, 0, 0, LOG(""), "with 0 ranks"},
    {1, 0, 4097, 2, 1, 0, 0, LOG(""), "with 4097 ranks"},
    {1, 0, 2, HUGE_NUMBER, 1, 0, 0, LOG(""), "byte 32: a header of 9223372036854775808 bytes"},
    {1, 0, 2, UINT64_MAX, 1, 0, 0, LOG(""), "a header of 18446744073709551615 bytes"},
    {1, 0, 2, 10, 1, 0, 0, LOG(""), "byte 32: the header holds a zero byte"},
    {1, 0, 2, 2, 2, 0, 0, LOG(""), "byte 58: a trailer of 2 bytes, expected at most 1"},
    {1, 0, 2, 2, 0, 0, 0, LOG(""), "byte 58: 1 bytes behind the trailer"},
    {1, 0, 2, 2, 1, 0, HUGE_NUMBER, LOG(""), "byte 34: a log of 9223372036854775808 bytes"},
    {1, 0, 2, 2, 1, 1, 0, LOG(""), "byte 58: no entry, expected number 0 of 1"},
    {1, 0, 2, 2, 1, UINT64_MAX, 4, LOG("\5\0\0\0"), "expected number 1 of 18446744073709551615"},
    {1, 0, 2, 2, 1, 0, 4, LOG("\5\0\0\0"), "expected no more than 0 entries"},
    {1, 0, 2, 2, 1, 1, 4, LOG("\5\2\0\0"), "no entry"}, /* rank 2 of 2 */
    {1, 0, 2, 2, 1, 1, 4, LOG("\7\0\0\0"), "no entry"}, /* steps written in a fourth way */
    {1, 0, 2, 2, 1, 1, 4, LOG("\6\0\0\0"), "no entry"}, /* the step is missing */
    {1, 0, 2, 2, 1, 1, 4, LOG("\5\0\0\x80"), "no entry"},
    {1, 0, 2, 2, 1, 1, 8, LOG("\x80\x80\x80\x80\x40\0\0\0"), "no entry"}, /* kind 2^32 */
    {1, 0, 2, 2, 1, 1, 13, LOG("\5\0\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\2"), "no entry"},
    {1, 0, 2, 2, 1, 1, 14, LOG("\5\0\0\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\0"), "no entry"},
};

static void what_is_made_to_hurt_is_refused(void **state)
{
    (void)state;
    static const struct attack good[] = {
        {1, 0, 2, 2, 1, 1, 4, LOG("\5\1\0\0"), ""},
        {1, 0, 2, 2, 1, 1, 8, LOG("\xfd\xff\xff\xff\x3f\0\0\0"), ""},
        {1, 0, 2, 2, 1, 1, 13, LOG("\5\0\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\1"), ""},
    };
    unsigned char file[LARGEST];
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        CHECK_OK(parse_exact(file, make_file(&good[i], file)));
    for (size_t i = 0; i < sizeof attacks / sizeof *attacks; i++) {
        CHECK_FAILS(parse_exact(file, make_file(&attacks[i], file)), HR_E_FORMAT);
        CHECK_MESSAGE(attacks[i].message);
    }
}

static void what_is_no_file_is_refused(void **state)
{
    (void)state;
    struct hr_trace trace;
    CHECK_FAILS(hr_trace_open(scratch("none"), &trace), HR_E_IO);
    CHECK_FAILS(hr_trace_open(scratch(""), &trace), HR_E_IO);
    scratch_write("text", "# not a trace\n", 14);
    CHECK_FAILS(hr_trace_open(scratch("text"), &trace), HR_E_FORMAT);
    CHECK_MESSAGE("text: is no trace");
    hr_trace_fini(&trace);
}

#define WITH_SCRATCH(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SCRATCH(every_flipped_bit_is_refused),
        WITH_SCRATCH(every_shorter_and_longer_file_is_refused),
        WITH_SCRATCH(every_shorter_file_is_refused_even_with_a_right_digest),
        WITH_SCRATCH(what_is_made_to_hurt_is_refused),
        WITH_SCRATCH(what_is_no_file_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
