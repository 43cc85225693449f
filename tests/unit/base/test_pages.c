/* Larger pages change nothing that can be read, whether the kernel gives them or not. */
#include <errno.h>
#include <stdlib.h>

#include "base/memory.h"
#include "support/check.h"

static void what_memory_holds_stays(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 4096, (2 << 20) - 1, (4 << 20) + 12345, 9 << 20};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        unsigned char *memory = malloc(sizes[s]);
        assert_non_null(memory);
        errno = 7;
        hr_pages_ask_large(memory, sizes[s]);
        assert_int_equal(errno, 7);
        for (size_t i = 0; i < sizes[s]; i++)
            memory[i] = (unsigned char)(i % 251);
        errno = 7;
        hr_pages_enlarge(memory, sizes[s]);
        assert_int_equal(errno, 7);
        for (size_t i = 0; i < sizes[s]; i++)
            if (memory[i] != i % 251)
                fail_msg("byte %zu of %zu has changed", i, sizes[s]);
        free(memory);
    }
    hr_pages_ask_large(NULL, 0);
    hr_pages_enlarge(NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_memory_holds_stays)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
