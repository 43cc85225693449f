#include "bench/compute_roof.h"

#include <sys/mman.h>

#include "hogring/group.h"
#include "kernels/team.h"
#include "products/ready.h"

#define SECONDS 0.02

struct roof {
    enum hr_roof_kind kind;
    size_t threads;
    double flops;
};

static enum hr_status measure(struct hr_group *world, void *arg)
{
    struct roof *roof = arg;
    (void)world;
    HR_TRY(hr_kernels_init_process(1));
    roof->flops = hr_tile_roof(roof->kind, roof->threads, SECONDS);
    return HR_OK;
}

enum hr_status hr_compute_roof(const struct hr_train_options *options, enum hr_roof_kind kind,
                               double *flops)
{
    const struct hr_world_options world = {.nranks = 1,
                                           .launch = "process",
                                           .arena_bytes = 1,
                                           .timeout = options->timeout > 0 ? options->timeout : -1};
    struct roof *roof =
        mmap(NULL, sizeof *roof, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (roof == MAP_FAILED)
        return hr_fail_errno(HR_E_NOMEM, "no memory to measure the machine in");
    roof->kind = kind;
    roof->threads = options->workers * options->threads_per_worker;
    if (roof->threads > HR_TEAM_MAX) /* the processors are all busy with fewer */
        roof->threads = HR_TEAM_MAX;
    const enum hr_status status = hr_world_run(&world, measure, roof);
    *flops = roof->flops;
    munmap(roof, sizeof *roof);
    return status;
}
