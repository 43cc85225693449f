/* What an index means: batches, cuts and learning rates, worked out by hand. */
#include "strategy/batch_schedule.h"
#include "support/check.h"

/* 10 samples in batches of 4: an epoch is 4 + 4 + 2. */
static struct hr_batch_schedule schedule_of_ten(void)
{
    return (struct hr_batch_schedule){
        .samples = 10,
        .pass = 10,
        .batch = 4,
        .batches_per_epoch = 3,
        .end = 8,
        .lr = {.kind = HR_LR_CONSTANT, .peak = 1, .epochs = 3},
        .lr_factor = 1,
    };
}

static void batches_cover_each_epoch_and_the_last_is_short(void **state)
{
    (void)state;
    static const struct hr_batch want[] = {{0, 0, 4}, {0, 4, 4}, {0, 8, 2}, {1, 0, 4}, {1, 4, 4}};
    const struct hr_batch_schedule schedule = schedule_of_ten();
    for (uint64_t index = 0; index < sizeof want / sizeof *want; index++) {
        const struct hr_batch got = hr_batch_schedule_batch(&schedule, index);
        assert_memory_equal(&got, &want[index], sizeof got);
    }
}

/* Epochs of 10 over passes of 7: batch 1 straddles the first two passes, batch 4 the next. */
static void a_batch_may_straddle_passes(void **state)
{
    (void)state;
    static const struct hr_piece want[] = {{0, 0, 4}, {0, 4, 3}, {1, 0, 1}, {1, 1, 2},
                                           {1, 3, 4}, {2, 0, 4}, {2, 4, 2}};
    struct hr_batch_schedule schedule = schedule_of_ten();
    schedule.pass = 7;
    size_t n = 0;
    for (uint64_t index = 0; index < 6; index++) {
        const struct hr_batch batch = hr_batch_schedule_batch(&schedule, index);
        for (uint64_t done = 0; done < batch.count; n++) {
            const struct hr_piece got = hr_batch_schedule_piece(&schedule, &batch, done);
            assert_memory_equal(&got, &want[n], sizeof got);
            done += got.count;
        }
    }
    assert_int_equal(n, sizeof want / sizeof *want);
}

static void cuts_are_ends_of_epochs_saves_and_the_end(void **state)
{
    (void)state;
    struct hr_batch_schedule schedule = schedule_of_ten();
    static const uint64_t plain[] = {3, 3, 3, 6, 6, 6, 8, 8}, saving[] = {2, 2, 3, 4, 6, 6, 8, 8};
    for (uint64_t index = 0; index < schedule.end; index++)
        assert_int_equal(hr_batch_schedule_next_cut(&schedule, index), plain[index]);
    schedule.checkpoint_every = 2;
    for (uint64_t index = 0; index < schedule.end; index++)
        assert_int_equal(hr_batch_schedule_next_cut(&schedule, index), saving[index]);
    assert_true(hr_batch_schedule_saves(&schedule, 4));
    assert_false(hr_batch_schedule_saves(&schedule, 3));
    assert_true(hr_batch_schedule_ends_epoch(&schedule, 3));
    assert_false(hr_batch_schedule_ends_epoch(&schedule, 4));
}

static void a_replay_has_the_cuts_that_were_asked_for(void **state)
{
    (void)state;
    static const uint64_t rests[] = {1, 4, 5}, cuts[] = {1, 3, 3, 4, 5, 6, 8, 8};
    struct hr_batch_schedule schedule = schedule_of_ten();
    schedule.requested_cuts = rests;
    schedule.nrequested_cuts = 3;
    for (uint64_t index = 0; index < schedule.end; index++)
        assert_int_equal(hr_batch_schedule_next_cut(&schedule, index), cuts[index]);
}

static void saves_come_by_steps_epochs_or_time(void **state)
{
    (void)state;
    const struct hr_batch_schedule schedule = schedule_of_ten(); /* an epoch is three batches */
    const struct hr_every never = {0}, steps = {.steps = 7}, epochs = {.epochs = 2},
                          many = {.epochs = UINT64_MAX / 2}, time = {.seconds = 0.5};
    assert_int_equal(hr_batch_schedule_every(&schedule, &never), 0);
    assert_int_equal(hr_batch_schedule_every(&schedule, &steps), 7);
    assert_int_equal(hr_batch_schedule_every(&schedule, &epochs), 6);
    assert_int_equal(hr_batch_schedule_every(&schedule, &many), HR_NO_INDEX);
    assert_int_equal(hr_batch_schedule_every(&schedule, &time), HR_NO_INDEX);
}

static void strategies_act_at_the_ends_of_epochs_alone(void **state)
{
    (void)state;
    struct hr_batch_schedule schedule = schedule_of_ten();
    static const uint64_t ends[] = {3, 3, 3, 6, 6, 6, 9, 9};
    static const bool only_quiesces[] = {false, true, true, false, true, true, false, true, true};
    schedule.checkpoint_every = 2;
    for (uint64_t index = 0; index < schedule.end; index++)
        assert_int_equal(hr_batch_schedule_next_end(&schedule, index), ends[index]);
    for (uint64_t index = 0; index <= schedule.end; index++)
        assert_int_equal(hr_batch_schedule_only_quiesces(&schedule, index), only_quiesces[index]);
}

/* Warm-up over one epoch from position and share of the batch: 4/10, 8/10, 10/10 of the peak. */
static void the_rate_follows_the_samples_seen(void **state)
{
    (void)state;
    struct hr_batch_schedule schedule = schedule_of_ten();
    schedule.lr.warmup_epochs = 1;
    CHECK_NEAR((double)hr_batch_schedule_lr(&schedule, 0), 0.4, 1e-6, 0);
    CHECK_NEAR((double)hr_batch_schedule_lr(&schedule, 1), 0.8, 1e-6, 0);
    CHECK_NEAR((double)hr_batch_schedule_lr(&schedule, 2), 1.0, 1e-6, 0);
    schedule.lr_factor = 0.25;
    CHECK_NEAR((double)hr_batch_schedule_lr(&schedule, 5), 0.25, 1e-6, 0);
    schedule.lr = (struct hr_lr_schedule){.kind = HR_LR_COSINE, .peak = 1, .epochs = 2};
    schedule.lr_factor = 1;
    CHECK_NEAR((double)hr_batch_schedule_lr(&schedule, 3), 0.5, 1e-6, 0); /* half of the way */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_cover_each_epoch_and_the_last_is_short),
        cmocka_unit_test(a_batch_may_straddle_passes),
        cmocka_unit_test(cuts_are_ends_of_epochs_saves_and_the_end),
        cmocka_unit_test(a_replay_has_the_cuts_that_were_asked_for),
        cmocka_unit_test(saves_come_by_steps_epochs_or_time),
        cmocka_unit_test(strategies_act_at_the_ends_of_epochs_alone),
        cmocka_unit_test(the_rate_follows_the_samples_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
