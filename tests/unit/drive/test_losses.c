/* What the launcher writes down of a rank that is lost. */
#include "drive/losses.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "drive/driver.h"
#include "strategy/shared.h"
#include "support/check.h"

enum { WORKERS = 2 };

/* A run of hogwild's, as its launcher sees it. */
struct stage {
    struct hr_train_options options;
    struct hr_shared_state shared;
    struct hr_train_job job;
    struct hr_leader leader;
    struct hr_drive drive;
    struct hr_launcher launcher;
    struct hr_cut cut;
    struct hr_resumptions resumptions;
    struct hr_worker_stats stats[WORKERS];
    struct hr_lost_work lost_work[WORKERS];
    int64_t again_ns[WORKERS];
    bool comes[WORKERS];
    struct hr_reported_work reported[WORKERS];
};

static int64_t now_ns(const void *clock)
{
    (void)clock;
    return 5000;
}

static struct stage *open_stage(void)
{
    static const struct hr_observer nobody;
    static const struct hr_driver driver = {.now_ns = now_ns};
    struct stage *stage = aligned_alloc(HR_LINE, sizeof *stage);
    struct hr_strategy *strategy = calloc(1, sizeof *strategy);
    struct hr_control *control = aligned_alloc(HR_LINE, hr_control_bytes(WORKERS));
    assert_true(stage && strategy && control);
    strategy->synchronous = true; /* a loss ends the term */
    memset(stage, 0, sizeof *stage);
    memset(control, 0, hr_control_bytes(WORKERS));
    hr_control_init(control, WORKERS);
    snprintf(stage->options.on_loss, sizeof stage->options.on_loss, "continue");
    stage->shared = (struct hr_shared_state){.strategy = strategy,
                                             .workers = WORKERS,
                                             .control = control,
                                             .lost_work = stage->lost_work,
                                             .stats = stage->stats,
                                             .outlives = true};
    stage->job = (struct hr_train_job){
        .shared = &stage->shared, .options = &stage->options, .nranks = WORKERS};
    stage->leader.job = &stage->job;
    stage->leader.cuts.cut = &stage->cut;
    stage->launcher.observer = &nobody;
    stage->launcher.cuts = &stage->leader.cuts;
    stage->drive = (struct hr_drive){.driver = &driver,
                                     .job = &stage->job,
                                     .leader = &stage->leader,
                                     .launcher = &stage->launcher};
    stage->drive.losses = (struct hr_losses){.leader = &stage->leader,
                                             .drive = &stage->drive,
                                             .resumptions = &stage->resumptions,
                                             .again_ns = stage->again_ns,
                                             .comes = stage->comes,
                                             .reported = stage->reported};
    return stage;
}

static void close_stage(struct stage *stage)
{
    hr_losses_end(&stage->drive.losses);
    free(stage->shared.control);
    free((void *)(uintptr_t)stage->shared.strategy);
    free(stage);
}

static int64_t spent_ns(const struct stage *stage, size_t worker)
{
    int64_t sum = 0;
    for (size_t a = 0; a < HR_ACTIVITIES; a++)
        sum += stage->stats[worker].account.spent_ns[a];
    return sum;
}

static void a_lost_workers_time_ends_with_it(void **state)
{
    (void)state;
    struct stage *stage = open_stage();
    stage->drive.losses.span_ns = 1000;
    hr_account_open(&stage->stats[1].account, 1000);
    assert_true(hr_losses_lost(&stage->drive.losses, 1, "killed"));
    assert_int_equal(spent_ns(stage, 1), 4000);
    assert_int_equal(stage->stats[1].came_ns, 5000);
    close_stage(stage);
}

/* It has opened its account for a span that is not begun yet, or (halted) never. */
static void where_no_span_runs_it_has_no_more_time(void **state)
{
    (void)state;
    for (size_t halted = 0; halted < 2; halted++) {
        struct stage *stage = open_stage();
        stage->drive.losses.halted = halted;
        hr_account_open(&stage->stats[1].account, 1000);
        assert_true(hr_losses_lost(&stage->drive.losses, 1, "killed"));
        assert_int_equal(spent_ns(stage, 1), 0);
        close_stage(stage);
    }
}

/* Owners take the first loss of worker 1 before its second, or after it. */
static void who_dies_while_it_is_started_again_has_nothing_to_lose(void **state)
{
    (void)state;
    for (size_t late = 0; late < 2; late++) {
        struct stage *stage = open_stage();
        struct hr_losses *losses = &stage->drive.losses;
        struct hr_run_result result = {0};
        stage->stats[1].steps = 31;
        assert_true(hr_losses_lost(losses, 1, "killed"));
        for (size_t i = 0; i < 2; i++)
            if (i == late) {
                stage->lost_work[1].lost_samples = 8;
                stage->stats[1].steps = 30;
            } else {
                assert_true(hr_losses_lost(losses, 1, "killed"));
            }
        hr_losses_report(losses, &result);
        assert_int_equal(result.nlosses, 2);
        assert_int_equal(result.losses[0].lost_samples, 8);
        assert_int_equal(result.losses[1].lost_samples, 0);
        assert_int_equal(result.losses[1].step, 31);
        hr_run_result_free(&result);
        close_stage(stage);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lost_workers_time_ends_with_it),
        cmocka_unit_test(where_no_span_runs_it_has_no_more_time),
        cmocka_unit_test(who_dies_while_it_is_started_again_has_nothing_to_lose),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
