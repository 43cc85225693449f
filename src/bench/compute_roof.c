#include "bench/compute_roof.h"

#include <sys/mman.h>

#include "hogring/group.h"
#include "kernels/gemm.h"
#include "report/layers.h"

enum { ROOF_ROUNDS = 5 };

struct roof {
    size_t threads;
    double flops;
};

static enum hr_status measure(struct hr_group *world, void *arg)
{
    struct roof *roof = arg;
    struct hr_roof_meter *meter;
    (void)world;
    HR_TRY(hr_kernels_init_process(roof->threads));
    HR_TRY(hr_roof_meter_create(roof->threads, ROOF_ROUNDS, false, &meter));
    for (int i = 0; i < ROOF_ROUNDS; i++)
        hr_roof_meter_round(meter);
    const struct hr_roofs roofs = hr_roof_meter_read(meter);
    roof->flops = hr_roofs_flops(&roofs);
    hr_roof_meter_destroy(meter);
    return HR_OK;
}

enum hr_status hr_compute_roof(const struct hr_train_options *options, double *flops)
{
    const struct hr_world_options world = {.nranks = 1,
                                           .launch = "process",
                                           .arena_bytes = 1,
                                           .timeout = options->timeout > 0 ? options->timeout : -1};
    struct roof *roof =
        mmap(NULL, sizeof *roof, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (roof == MAP_FAILED)
        return hr_fail_errno(HR_E_NOMEM, "no memory to measure the machine in");
    roof->threads = options->workers * options->threads_per_worker;
    const enum hr_status status = hr_world_run(&world, measure, roof);
    *flops = roof->flops;
    munmap(roof, sizeof *roof);
    return status;
}
