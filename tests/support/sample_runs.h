/* sample_runs.h - made-up runs for the tests of report/. */
#ifndef HR_TESTS_SUPPORT_SAMPLE_RUNS_H
#define HR_TESTS_SUPPORT_SAMPLE_RUNS_H

#include <stdio.h>
#include <string.h>

#include "hogring/train.h"

/* A run that ended well: 10 % of the time is communication, 15 % waiting. */
static inline struct hr_run_result sample_run(const char *strategy, uint64_t seed, double accuracy)
{
    struct hr_run_result run = {
        .launch = "thread",
        .placement = "colocated",
        .order = "as gradients arrive",
        .kernels = "OpenBLAS 0.3.21 Haswell",
        .precision = "bf16",
        .model = "flatten, dense 10",
        .optimizer = "lamb",
        .loss = "cross-entropy",
        .workers = 2,
        .servers = 1,
        .batch_size = 32,
        .global_batch = 64,
        .params = 650,
        .seed = seed,
        .bounded = !strcmp(strategy, "ssp"),
        .staleness_bound = 3,
        .steps = 460,
        .updates = 460,
        .samples = 14700,
        .seconds = 1.5,
        .samples_per_s = 9800,
        .train_loss = 0.125,
        .test_loss = 0.25,
        .test_accuracy = accuracy,
        .lr = 0.05,
        .target_seconds = -1,
        .load_s = 0.15,
        .compute_s = 2.1,
        .forward_s = 0.5,
        .backward_s = 0.75,
        .communicate_s = 0.3,
        .wait_s = 0.45,
    };
    snprintf(run.strategy, sizeof run.strategy, "%s", strategy);
    if (!strcmp(strategy, "allreduce")) {
        run.servers = 0;
        snprintf(run.algorithm, sizeof run.algorithm, "direct");
    }
    return run;
}

#endif
