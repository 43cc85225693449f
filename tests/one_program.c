/* The unit tests of a folder, one program: it is the test by whose name it is called (ln -s). */
#include <stdio.h>
#include <string.h>

/* TESTS(X): X(test_ring) X(test_wait) ..., from Makefile, which names their mains. */
#define DECLARE(test) int test##_main(void);
#define NAME(test) {#test, test##_main},
TESTS(DECLARE)

static const struct {
    const char *name;
    int (*main)(void);
} all[] = {TESTS(NAME)};

int main(int argc, char **argv)
{
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
    for (size_t i = 0; slash && i < sizeof all / sizeof *all; i++)
        if (!strcmp(all[i].name, slash + 1))
            return all[i].main();
    fprintf(stderr, "call it by the name of a test:\n");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        fprintf(stderr, "  %s\n", all[i].name);
    return 2;
}
