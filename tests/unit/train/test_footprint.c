/* A step takes no memory: runs of n and of 4 n steps allocate about equally often, and the longer
 * touches no more pages. Allocations are counted by standing in for malloc, so not under
 * sanitizers, which do the same. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "support/runs.h"

/* A new thread takes memory or a left-over stack, as it happens: a few allocations a run. */
enum { SHORT_RUN = 50, LONG_RUN = 200, THREADS_OWN = 15 };

#if defined(__GLIBC__) && !CHECK_SANITIZED

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);

static const char *const all[] = {"allreduce", "ps-sync", "ps-async", "ssp", "hogwild"};

static atomic_size_t allocations;

void *malloc(size_t bytes)
{
    atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
    return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
    return __libc_calloc(count, bytes);
}

void *realloc(void *memory, size_t bytes)
{
    atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
    return __libc_realloc(memory, bytes);
}

struct cost {
    size_t allocations;
    long faults;
};

static struct cost cost_of(const char *strategy, size_t prefetch, uint64_t steps)
{
    struct rusage before, after;
    struct hr_train_options options = run_options(strategy, 2);
    snprintf(options.augment, sizeof options.augment, "flip,crop:1");
    options.normalize = true;
    options.prefetch = prefetch;
    options.epoch_size = 1 << 20; /* no end of an epoch on the way */
    options.max_steps = steps;
    getrusage(RUSAGE_SELF, &before);
    const size_t allocated = atomic_load(&allocations);
    struct hr_run_result result = run_train(&options);
    const size_t now = atomic_load(&allocations);
    getrusage(RUSAGE_SELF, &after);
    assert_int_equal(result.steps, steps);
    hr_run_result_free(&result);
    return (struct cost){now - allocated, after.ru_minflt - before.ru_minflt};
}

static void a_step_allocates_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (size_t prefetch = 0; prefetch <= 2; prefetch += 2) {
            cost_of(all[i], prefetch, SHORT_RUN); /* first uses of libraries */
            const struct cost few = cost_of(all[i], prefetch, SHORT_RUN),
                              many = cost_of(all[i], prefetch, LONG_RUN);
            if (many.allocations > few.allocations + THREADS_OWN)
                print_error("%s, prefetch %zu\n", all[i], prefetch);
            assert_true(many.allocations <= few.allocations + THREADS_OWN);
            assert_in_range(few.allocations, 1, 100000); /* or nothing was counted */
        }
}

/* 150 steps more may not cost a page each, nor even one in three steps. Where the kernel places
 * stacks and arenas changes from run to run, so the least of some runs is compared. */
static void a_step_touches_no_new_page(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        long few = 1 << 30, many = 1 << 30;
        for (size_t repeat = 0; repeat < 5; repeat++) {
            const long a = cost_of(all[i], 2, SHORT_RUN).faults,
                       b = cost_of(all[i], 2, LONG_RUN).faults;
            few = a < few ? a : few;
            many = b < many ? b : many;
        }
        if (many - few >= (LONG_RUN - SHORT_RUN) / 3)
            print_error("%s: %ld faults in %d steps, %ld in %d\n", all[i], few, SHORT_RUN, many,
                        LONG_RUN);
        assert_true(many - few < (LONG_RUN - SHORT_RUN) / 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_allocates_nothing),
        cmocka_unit_test(a_step_touches_no_new_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    return 77;
}

#endif
