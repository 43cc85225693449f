/* The launcher's clock of training, where a cut's span has more than one end. */
#include "drive/quiesce.h"

#include <stdlib.h>
#include <string.h>

#include "drive/driver.h"
#include "strategy/shared.h"
#include "support/check.h"

enum { WORKERS = 2 };

/* A run of threads, as its launcher sees it. */
struct stage {
    struct hr_train_options options;
    struct hr_strategy strategy;
    struct hr_shared_state shared;
    struct hr_train_job job;
    struct hr_cut cut;
    struct hr_leader leader;
    struct hr_drive drive;
    struct hr_worker_stats stats[WORKERS];
    struct hr_lost_work lost_work[WORKERS];
    struct hr_snapshot last_cut;
    uint64_t words[4];
};

static int64_t now_ns(const void *drive)
{
    (void)drive;
    return 0;
}

static const struct hr_driver driver = {.now_ns = now_ns};

static struct stage *open_stage(void)
{
    static struct hr_returned none;
    struct stage *stage = aligned_alloc(HR_LINE, sizeof *stage);
    struct hr_control *control = aligned_alloc(HR_LINE, hr_control_bytes(WORKERS));
    assert_true(stage && control);
    memset(stage, 0, sizeof *stage);
    memset(control, 0, hr_control_bytes(WORKERS));
    hr_control_init(control, WORKERS);
    stage->shared = (struct hr_shared_state){
        .strategy = &stage->strategy,
        .workers = WORKERS,
        .control = control,
        .stats = stage->stats,
        .returned = &none,
        .lost_work = stage->lost_work,
        .snapshot = {.applied = &stage->words[0], .apart = &stage->words[1]},
        .last_cut = &stage->last_cut,
        .outlives = true};
    CHECK_OK(hr_rule_find("sgd", &stage->shared.optimizer.rule));
    stage->last_cut = (struct hr_snapshot){.applied = &stage->words[2], .apart = &stage->words[3]};
    stage->job = (struct hr_train_job){
        .shared = &stage->shared, .options = &stage->options, .nranks = WORKERS};
    stage->leader = (struct hr_leader){.job = &stage->job, .cuts = {.cut = &stage->cut}};
    stage->drive =
        (struct hr_drive){.job = &stage->job, .leader = &stage->leader, .driver = &driver};
    stage->drive.losses =
        (struct hr_losses){.leader = &stage->leader, .drive = &stage->drive, .in_span = true};
    return stage;
}

static void close_stage(struct stage *stage)
{
    free(stage->shared.control);
    free(stage);
}

/* All are quiescent at that stage, and are let go. */
static void quiesce_and_go(struct stage *stage, enum hr_quiesce_stage at)
{
    struct hr_control *control = stage->shared.control;
    const uint32_t rounds = hr_atom32_load_relaxed(&control->roster.rounds);
    for (size_t r = 0; r < WORKERS; r++) {
        hr_atom32_store_relaxed(&control->rank[r].stage, at);
        hr_atom32_store_release(&control->rank[r].quiescent, rounds + 1);
    }
    CHECK_OK(hr_quiesce_release(&stage->drive.losses));
    assert_int_equal(hr_atom32_load_relaxed(&control->roster.rounds), rounds + 1);
}

/* Of two workers: when each came to the end of the span. */
static void end_span(struct stage *stage, int64_t first, int64_t second)
{
    stage->stats[0].came_ns = first;
    stage->stats[1].came_ns = second;
    quiesce_and_go(stage, HR_STAGE_ENDED);
}

static void begin_span(struct stage *stage, int64_t at)
{
    stage->cut.concluded = stage->drive.losses.concludes; /* as the leader does */
    stage->stats[0].began_ns = stage->stats[1].began_ns = at;
    quiesce_and_go(stage, HR_STAGE_BEGINS);
}

/* Worker 1 was lost in the cut and came back, and trained on until 7000. */
static void what_is_between_two_ends_of_a_span_is_trained(void **state)
{
    (void)state;
    struct stage *stage = open_stage();
    const struct hr_losses *losses = &stage->drive.losses;
    begin_span(stage, 1000);
    end_span(stage, 2000, 3000);
    assert_int_equal(losses->trained_ns, 2000);
    quiesce_and_go(stage, HR_STAGE_EXPORTED);
    end_span(stage, 2000, 7000);
    assert_int_equal(losses->trained_ns, 6000);
    end_span(stage, 2000, 7000); /* once more, of which nothing is trained */
    assert_int_equal(losses->trained_ns, 6000);
    assert_int_equal(stage->cut.span_ended_ns, 7000);
    quiesce_and_go(stage, HR_STAGE_EVALUATED);
    begin_span(stage, 9000);
    end_span(stage, 9500, 9400);
    assert_int_equal(losses->trained_ns, 6500);
    close_stage(stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_between_two_ends_of_a_span_is_trained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
