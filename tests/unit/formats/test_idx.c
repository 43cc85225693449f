/* IDX files: what is right is read, and each way of being wrong is refused in bounded memory. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/idx.h"
#include "support/check.h"
#include "support/idx_files.h"

enum { U8 = 0x08, MIB_IN_KIB = 1024 };

static const uint32_t small_dims[] = {3, 2, 5};
enum { SMALL = 3 * 2 * 5 };

/* Read from memory and from a file; both must end alike. *out is written on success. */
static enum hr_status read_both(void **state, struct blob blob, size_t ndim, struct hr_idx *out)
{
    const char *path = path_in(*state, "file");
    write_file(path, blob.data, blob.size);
    struct hr_idx from_file = {0}, from_memory = {0};
    const enum hr_status memory =
        hr_idx_read_memory(path, blob.data, blob.size, ndim, &from_memory);
    char message[512];
    snprintf(message, sizeof message, "%s", hr_error_message());
    const enum hr_status file = hr_idx_read_file(path, ndim, &from_file);
    assert_int_equal(file, memory);
    if (file == HR_OK)
        assert_memory_equal(from_file.data, from_memory.data, from_file.bytes);
    else
        assert_string_equal(hr_error_message(), message);
    hr_idx_free(&from_memory);
    if (out)
        *out = from_file;
    else
        hr_idx_free(&from_file);
    return file;
}

/* Refused, both plain and packed, with a line that names the file and holds `text`. */
static void refuses(void **state, struct blob blob, size_t ndim, const char *text)
{
    const struct blob packed = blob_gzip(blob.data, blob.size), both[] = {blob, packed};
    for (size_t i = 0; i < 2; i++) {
        CHECK_FAILS(read_both(state, both[i], ndim, NULL), HR_E_FORMAT);
        CHECK_MESSAGE(text);
        CHECK_MESSAGE(*state);
    }
    free(packed.data);
    free(blob.data);
}

static void check_small(struct hr_idx *idx)
{
    assert_int_equal(idx->ndim, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(idx->dims[i], small_dims[i]);
    assert_int_equal(idx->bytes, SMALL);
    for (size_t i = 0; i < SMALL; i++)
        assert_int_equal(idx->data[i], i);
    hr_idx_free(idx);
}

/* First in main: the peak of a process only grows. */
static void a_lying_header_takes_no_memory(void **state)
{
    const struct blob lie = blob_idx(U8, 3, (uint32_t[]){1 << 20, 64, 64}, 30);
    const struct blob packed = blob_gzip(lie.data, lie.size);
    assert_true(packed.size < 80);
    free(packed.data);
    const size_t before = process_kib("VmPeak");
    refuses(state, lie, 3, "holds 30 bytes after the header, expected 1048576x64x64 = 4294967296");
    /* Of 4 GiB; other threads of the process (a BLAS library's) may map some for themselves. */
    assert_true(process_kib("VmPeak") - before < 1024 * MIB_IN_KIB);
}

/* Eight members of 128 MiB of zeros each: 1 GiB in 1 MiB. */
static void a_gzip_bomb_is_refused_in_bounded_memory(void **state)
{
    const size_t block = (size_t)128 << 20;
    const struct blob lie = blob_idx(U8, 1, (uint32_t[]){1000}, 0);
    const struct blob head = blob_gzip(lie.data, lie.size);
    uint8_t *zeros = calloc(1, block);
    const struct blob member = blob_gzip(zeros, block);
    free(zeros);
    struct blob bomb = head;
    for (int i = 0; i < 8; i++) {
        const struct blob longer = blob_join(bomb, member);
        if (i)
            free(bomb.data);
        bomb = longer;
    }
    write_file(path_in(*state, "bomb"), bomb.data, bomb.size);
    const size_t before = process_kib("VmHWM");
    struct hr_idx idx;
    CHECK_FAILS(hr_idx_read_file(path_in(*state, "bomb"), 1, &idx), HR_E_FORMAT);
    CHECK_MESSAGE("goes on after the elements, expected 1000 = 1000 bytes");
    assert_true(process_kib("VmHWM") - before < 16 * MIB_IN_KIB);
    free(bomb.data);
    free(member.data);
    free(head.data);
    free(lie.data);
}

static void plain_and_gzip_give_the_same_elements(void **state)
{
    const struct blob plain = blob_idx(U8, 3, small_dims, SMALL);
    const struct blob packed = blob_gzip(plain.data, plain.size);
    struct hr_idx idx;
    CHECK_OK(read_both(state, plain, 3, &idx));
    check_small(&idx);
    CHECK_OK(read_both(state, packed, 3, &idx));
    check_small(&idx);
    free(packed.data);
    free(plain.data);
}

/* More than the buffer and more than the first steps of the allocation. */
static void large_gzip_files_grow_to_their_size(void **state)
{
    for (uint32_t count = 65535; count < 600000; count = count * 2 + 1) {
        const struct blob plain = blob_idx(U8, 1, &count, count);
        const struct blob packed = blob_gzip(plain.data, plain.size);
        struct hr_idx idx;
        CHECK_OK(read_both(state, packed, 1, &idx));
        assert_int_equal(idx.bytes, count);
        assert_memory_equal(idx.data, plain.data + 8, count);
        hr_idx_free(&idx);
        free(packed.data);
        free(plain.data);
    }
}

static void concatenated_members_are_one_content(void **state)
{
    const struct blob plain = blob_idx(U8, 3, small_dims, SMALL);
    for (size_t cut = 0; cut <= plain.size; cut++) {
        const struct blob a = blob_gzip(plain.data, cut);
        const struct blob b = blob_gzip(plain.data + cut, plain.size - cut);
        const struct blob both = blob_join(a, b);
        struct hr_idx idx;
        CHECK_OK(read_both(state, both, 3, &idx));
        check_small(&idx);
        free(both.data);
        free(b.data);
        free(a.data);
    }
    free(plain.data);
}

static void every_truncation_is_refused(void **state)
{
    const struct blob plain = blob_idx(U8, 3, small_dims, SMALL);
    const struct blob packed = blob_gzip(plain.data, plain.size);
    for (size_t size = 0; size < plain.size; size++)
        CHECK_FAILS(read_both(state, (struct blob){plain.data, size}, 3, NULL), HR_E_FORMAT);
    for (size_t size = 0; size < packed.size; size++)
        CHECK_FAILS(read_both(state, (struct blob){packed.data, size}, 3, NULL), HR_E_FORMAT);
    CHECK_MESSAGE("cut off after");
    free(packed.data);
    free(plain.data);
}

static void trailing_bytes_are_refused(void **state)
{
    refuses(state, blob_idx(U8, 3, small_dims, SMALL + 1), 3, "expected 3x2x5 = 30");
    const struct blob plain = blob_idx(U8, 3, small_dims, SMALL);
    const struct blob packed = blob_gzip(plain.data, plain.size);
    static const uint8_t tails[][2] = {{0x00}, {0x1f}, {'P', 'K'}};
    for (size_t i = 0; i < 3; i++) {
        const struct blob tail = {(uint8_t *)tails[i], i == 2 ? 2 : 1};
        const struct blob both = blob_join(packed, tail);
        CHECK_FAILS(read_both(state, both, 3, NULL), HR_E_FORMAT);
        CHECK_MESSAGE(i == 1 ? "cut off after" : "follows the gzip data");
        free(both.data);
    }
    free(packed.data);
    free(plain.data);
}

/* Flags, time, extra flags and system of the gzip header are no content and may hold anything. */
static void flipped_bits_in_gzip_are_refused(void **state)
{
    const struct blob plain = blob_idx(U8, 3, small_dims, SMALL);
    const struct blob packed = blob_gzip(plain.data, plain.size);
    for (size_t at = 10; at < packed.size; at++) {
        if (at == packed.size - 9) /* ends in padding, which may hold anything too */
            continue;
        packed.data[at] ^= 0x10;
        CHECK_FAILS(read_both(state, packed, 3, NULL), HR_E_FORMAT);
        packed.data[at] ^= 0x10;
    }
    packed.data[packed.size - 8] ^= 1;
    CHECK_FAILS(read_both(state, packed, 3, NULL), HR_E_FORMAT);
    CHECK_MESSAGE("the gzip data is damaged (incorrect data check)");
    packed.data[packed.size - 8] ^= 1;
    packed.data[packed.size - 4] ^= 1;
    CHECK_FAILS(read_both(state, packed, 3, NULL), HR_E_FORMAT);
    CHECK_MESSAGE("the gzip data is damaged (incorrect length check)");
    free(packed.data);
    free(plain.data);
}

static void every_type_but_unsigned_bytes_is_refused_by_name(void **state)
{
    static const char *const names[] = {[0x09] = "signed byte",
                                        [0x0b] = "short",
                                        [0x0c] = "int",
                                        [0x0d] = "float",
                                        [0x0e] = "double"};
    for (unsigned type = 0; type < 256; type++) {
        if (type == U8)
            continue;
        const bool known = type < sizeof names / sizeof *names && names[type];
        char text[80];
        snprintf(text, sizeof text, "type %02x (%s), expected 08 (unsigned byte)", type,
                 known ? names[type] : "unknown");
        refuses(state, blob_idx((uint8_t)type, 3, small_dims, SMALL), 3, text);
    }
}

static void other_magic_and_dimensions_are_refused(void **state)
{
    struct blob page = blob_idx(U8, 3, small_dims, SMALL);
    memcpy(page.data, "<!DO", 4);
    refuses(state, page, 3, "starts with 3c21444f, expected 00000803");
    refuses(state, blob_idx(U8, 1, small_dims, 3), 3, "number of dimensions is 1, expected 3");
    refuses(state, blob_idx(U8, 3, small_dims, 30), 1, "number of dimensions is 3, expected 1");
    refuses(state, blob_idx(U8, 0, small_dims, 0), 1, "number of dimensions is 0, expected 1");
}

static void sizes_beyond_the_limits_are_refused(void **state)
{
    const uint32_t most = UINT32_MAX, count = INT32_MAX;
    refuses(state, blob_idx(U8, 3, (uint32_t[]){count, most, most}, 9), 3,
            "declares 2147483647x4294967295x4294967295 bytes, expected at most 8 GiB");
    refuses(state, blob_idx(U8, 3, (uint32_t[]){1 << 16, 1 << 16, 1 << 16}, 9), 3, "at most 8 GiB");
    refuses(state, blob_idx(U8, 3, (uint32_t[]){1 << 30, 8, 1}, 9), 3, "holds 9 bytes");
    refuses(state, blob_idx(U8, 3, (uint32_t[]){(1 << 30) + 1, 8, 1}, 9), 3, "at most 8 GiB");
    refuses(state, blob_idx(U8, 1, (uint32_t[]){1u << 31}, 9), 1,
            "declares 2147483648 samples, expected fewer than 2147483648");
    refuses(state, blob_idx(U8, 1, &count, 9), 1, "holds 9 bytes");
    /* 2^32 * 2^32 is 0 in 64 bits: a product that wraps must not look small. */
    refuses(state, blob_idx(U8, 4, (uint32_t[]){1 << 16, 1 << 16, 1 << 16, 1 << 16}, 0), 4,
            "at most 8 GiB");
}

static void nothing_is_a_legal_size(void **state)
{
    const struct blob none = blob_idx(U8, 3, (uint32_t[]){0, UINT32_MAX, UINT32_MAX}, 0);
    struct hr_idx idx;
    CHECK_OK(read_both(state, none, 3, &idx));
    assert_int_equal(idx.bytes, 0);
    assert_non_null(idx.data);
    hr_idx_free(&idx);
    free(none.data);
}

static void what_is_not_a_file_is_an_io_error(void **state)
{
    struct hr_idx idx;
    CHECK_FAILS(hr_idx_read_file(path_in(*state, "absent"), 1, &idx), HR_E_IO);
    CHECK_MESSAGE("absent: cannot be opened: No such file");
    CHECK_FAILS(hr_idx_read_file(*state, 1, &idx), HR_E_IO);
    CHECK_MESSAGE("is not a regular file");
    assert_int_equal(mkfifo(path_in(*state, "fifo"), 0600), 0);
    CHECK_FAILS(hr_idx_read_file(path_in(*state, "fifo"), 1, &idx), HR_E_IO);
    CHECK_MESSAGE("fifo: is not a regular file");
}

/* A sparse file of 4 GiB that tells the truth, in a process that may not have that much. */
static void no_memory_is_a_status(void **state)
{
#if CHECK_SANITIZED
    (void)state;
    SKIP("sanitizers need more address space than any limit leaves");
#else
    const struct blob head = blob_idx(U8, 3, (uint32_t[]){1 << 20, 64, 64}, 0);
    const char *path = path_in(*state, "sparse");
    write_file(path, head.data, head.size);
    free(head.data);
    assert_int_equal(truncate(path, ((off_t)4 << 30) + 16), 0);
    struct rlimit old, tight;
    assert_int_equal(getrlimit(RLIMIT_AS, &old), 0);
    tight = (struct rlimit){(rlim_t)1 << 30, old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_AS, &tight), 0);
    struct hr_idx idx;
    const enum hr_status st = hr_idx_read_file(path, 3, &idx);
    setrlimit(RLIMIT_AS, &old);
    assert_int_equal(st, HR_E_NOMEM);
    CHECK_MESSAGE("sparse: needs 4.0 GiB of memory, and there is");
#endif
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(a_lying_header_takes_no_memory),
        IN_FOLDER(plain_and_gzip_give_the_same_elements),
        IN_FOLDER(large_gzip_files_grow_to_their_size),
        IN_FOLDER(concatenated_members_are_one_content),
        IN_FOLDER(every_truncation_is_refused),
        IN_FOLDER(trailing_bytes_are_refused),
        IN_FOLDER(flipped_bits_in_gzip_are_refused),
        IN_FOLDER(every_type_but_unsigned_bytes_is_refused_by_name),
        IN_FOLDER(other_magic_and_dimensions_are_refused),
        IN_FOLDER(sizes_beyond_the_limits_are_refused),
        IN_FOLDER(nothing_is_a_legal_size),
        IN_FOLDER(what_is_not_a_file_is_an_io_error),
        IN_FOLDER(no_memory_is_a_status),
        IN_FOLDER(a_gzip_bomb_is_refused_in_bounded_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
