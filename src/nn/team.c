#include "nn/team.h"

#ifdef _OPENMP
#include <omp.h>
#endif

static void run_alone(size_t ntasks, hr_team_fn fn, void *arg)
{
    for (size_t task = 0; task < ntasks; task++)
        fn(arg, task, 0);
}

void hr_team_run(size_t threads, size_t ntasks, hr_team_fn fn, void *arg)
{
#ifdef _OPENMP
    if (threads > 1 && ntasks > 1) {
#pragma omp parallel for num_threads((int)threads) schedule(static)
        for (size_t task = 0; task < ntasks; task++)
            fn(arg, task, (size_t)omp_get_thread_num());
        return;
    }
#endif
    (void)threads;
    run_alone(ntasks, fn, arg);
}
