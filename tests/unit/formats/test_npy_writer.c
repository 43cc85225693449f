/* A matrix as NumPy saves it: its header to the byte, its values, and errors that name the path. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/npy.h"
#include "support/check.h"

static void the_file_is_as_numpy_writes_it(void **state)
{
    (void)state;
    static const float values[] = {1, -2.5f, 3e-9f, 0, 5, 6};
    static const char dict[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }";
    char path[] = "/tmp/hogring-npy-XXXXXX";
    unsigned char bytes[200];
    close(mkstemp(path));
    const struct hr_npy npy = hr_npy_of_floats(values, 3, 2);
    CHECK_OK(hr_npy_write(path, &npy));
    FILE *file = fopen(path, "rb");
    assert_int_equal(fread(bytes, 1, sizeof bytes, file), 128 + sizeof values);
    fclose(file);
    unlink(path);
    assert_memory_equal(bytes, "\x93NUMPY\x01\x00\x76\x00", 10); /* 118 */
    assert_memory_equal(bytes + 10, dict, strlen(dict));
    for (size_t i = 10 + strlen(dict); i < 127; i++)
        assert_int_equal(bytes[i], ' ');
    assert_int_equal(bytes[127], '\n');
    assert_memory_equal(bytes + 128, values, sizeof values);
}

static void errors_name_the_path(void **state)
{
    (void)state;
    static const float value = 1;
    const struct hr_npy npy = hr_npy_of_floats(&value, 1, 1);
    CHECK_FAILS(hr_npy_write("/nowhere/at/all.npy", &npy), HR_E_IO);
    CHECK_MESSAGE("/nowhere/at/all.npy");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_file_is_as_numpy_writes_it),
        cmocka_unit_test(errors_name_the_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
