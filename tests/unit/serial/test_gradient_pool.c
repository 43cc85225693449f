/* Jobs of a pool: each is computed once, whoever does it, and failures say why. */
#include <stdio.h>

#include "serial/gradient_pool.h"
#include "state/model_file.h"
#include "support/runs.h"
#include "worker/job.h"

enum { JOBS = 200 };

struct counts {
    size_t of[JOBS]; /* how often each was computed; each has one writer at a time */
};

static enum hr_status count_one(void *arg, size_t rank, struct hr_compute_buffers *device)
{
    struct counts *counts = arg;
    assert_non_null(device->workspace);
    counts->of[rank]++;
    if (rank % 7 == 3)
        return hr_fail(HR_E_DIVERGED, "job %zu fails", rank);
    return HR_OK;
}

static void start(struct hr_train_job *job, struct hr_shared_state *shared,
                  struct hr_train_options *options, size_t threads, struct hr_pool **pool)
{
    *options = run_options("allreduce", 1);
    CHECK_OK(hr_train_complete(options));
    *job = (struct hr_train_job){
        .options = options, .dataset = run_digits(), .batch_size = 4, .shared = shared};
    CHECK_OK(hr_run_model(options, job->dataset, &job->values, &job->model));
    job->shared->workers = JOBS;
    CHECK_OK(hr_pool_start(job, threads, pool));
}

static void every_job_is_computed_once_and_says_how_it_went(void **state)
{
    (void)state;
    for (size_t threads = 1; threads <= 3; threads++) {
        struct hr_train_options options;
        struct hr_train_job job;
        struct hr_shared_state shared = {0};
        struct hr_pool *pool;
        struct counts counts = {{0}};
        char message[32];
        start(&job, &shared, &options, threads, &pool);
        for (size_t r = 0; r < JOBS; r++)
            CHECK_OK(hr_pool_submit(pool, count_one, &counts, r, (int64_t)(JOBS - r)));
        for (size_t r = 0; r < JOBS; r++) {
            assert_true(hr_pool_has(pool, r));
            snprintf(message, sizeof message, "job %zu fails", r);
            if (r % 7 == 3) {
                CHECK_FAILS(hr_pool_join(pool, r), HR_E_DIVERGED);
                CHECK_MESSAGE(message);
            } else
                CHECK_OK(hr_pool_join(pool, r));
            assert_false(hr_pool_has(pool, r));
            assert_int_equal(counts.of[r], 1);
        }
        hr_pool_stop(pool);
        hr_model_destroy(job.model);
    }
}

/* Jobs that nobody joins are forgotten, or finished, but not left running. */
static void a_pool_stops_with_jobs_in_hand(void **state)
{
    (void)state;
    struct hr_train_options options;
    struct hr_train_job job;
    struct hr_shared_state shared = {0};
    struct hr_pool *pool;
    struct counts counts = {{0}};
    start(&job, &shared, &options, 3, &pool);
    for (size_t r = 0; r < JOBS; r++)
        CHECK_OK(hr_pool_submit(pool, count_one, &counts, r, 0));
    CHECK_OK(hr_pool_join(pool, 0));
    hr_pool_stop(pool);
    hr_model_destroy(job.model);
    for (size_t r = 0; r < JOBS; r++)
        assert_true(counts.of[r] <= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_job_is_computed_once_and_says_how_it_went),
        cmocka_unit_test(a_pool_stops_with_jobs_in_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
