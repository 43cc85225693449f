/* OpenBLAS is loaded without threads of its own, and fails where it would ask for ever. */
#include "products/blas.h"

#include "support/check.h"

#ifdef HR_NO_BLAS

static void this_build_has_none(void **state)
{
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(this_build_has_none)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

static size_t count_threads(void)
{
    size_t n = 0;
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    for (struct dirent *task = readdir(tasks); task; task = readdir(tasks))
        n += task->d_name[0] != '.';
    closedir(tasks);
    return n;
}

static void loading_it_starts_no_thread(void **state)
{
    (void)state;
    const size_t before = count_threads();
    CHECK_OK(hr_blas_open());
    CHECK_OK(hr_blas_prepare(2));
    assert_int_equal(count_threads(), before);
    assert_memory_equal(hr_blas_name(), "OpenBLAS ", 9);
    assert_memory_equal(hr_blas_config(), "OpenBLAS", 8);
}

/* Who links OpenBLAS as well, beside the library, shares it. */
static void somebody_elses_threads_are_put_aside(void **state)
{
    (void)state;
    void *const library = dlopen("libopenblas.so.0", RTLD_NOW);
    void (*set)(int);
    int (*get)(void);
    assert_non_null(library);
    *(void **)(&set) = dlsym(library, "openblas_set_num_threads");
    *(void **)(&get) = dlsym(library, "openblas_get_num_threads");
    set(2);
    CHECK_OK(hr_blas_prepare(1));
    assert_int_equal(get(), 1);
    dlclose(library);
}

static void limit_addresses(size_t more)
{
    struct rlimit limit;
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lu", &pages), 1);
    fclose(file);
    assert_int_equal(getrlimit(RLIMIT_AS, &limit), 0);
    limit.rlim_cur = more ? pages * 4096 + more : limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
}

static void products_without_room_are_refused_before_they_begin(void **state)
{
    (void)state;
    const float a[4] = {1, 2, 3, 4}, b[4] = {5, 6, 7, 8};
    float c[4];
    CHECK_OK(hr_blas_prepare(2));
    limit_addresses(200 << 20);
    CHECK_OK(hr_blas_prepare(3));
    CHECK_FAILS(hr_blas_prepare(64), HR_E_NOMEM);
    CHECK_MESSAGE("no room for OpenBLAS, which takes 128 MiB of addresses for each of 64 threads");
    hr_blas_multiply(
        &(struct hr_gemm){.form = HR_GEMM_NN, .M = 2, .N = 2, .K = 2, .a = a, .b = b, .c = c});
    limit_addresses(0);
    assert_true(c[0] == 19 && c[1] == 22 && c[2] == 43 && c[3] == 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loading_it_starts_no_thread),
        cmocka_unit_test(products_without_room_are_refused_before_they_begin),
        cmocka_unit_test(somebody_elses_threads_are_put_aside), /* which take room, some time */
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
