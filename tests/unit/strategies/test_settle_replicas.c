/* Settling local-sgd: wherever a worker dies, all go on with the mean of replicas that were left
 * for one averaging, each sample counts once or is lost, and who is left goes on from there. */
#include "strategies/local_sgd_losses.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/vec.h"
#include "strategies/strategies.h"
#include "support/check.h"
#include "support/death.h"
#include "support/term_play.h"

enum { MOST_PARAMS = 70, MOST_STATES = 2 };

/* --- the same run, by hand --- */

struct twin {
    float weights[PLAY_WORKERS][MOST_PARAMS];
    float state[PLAY_WORKERS][MOST_STATES * MOST_PARAMS];
    uint64_t applied[PLAY_WORKERS];
    size_t seats, worker[PLAY_WORKERS];
    uint64_t index;
    uint64_t began; /* the averaging before */
};

/* As workers with seats begin, at `index`, from the snapshot. */
static void twin_begin(struct twin *twin, const struct play *play, uint64_t index)
{
    const struct hr_shared_state *shared = &play->shared;
    const struct hr_snapshot *snapshot = &shared->snapshot;
    const size_t floats = hr_state_floats(shared);
    twin->seats = shared->seats->n;
    twin->index = twin->began = index;
    for (size_t s = 0; s < twin->seats; s++) {
        const size_t w = twin->worker[s] = shared->seats->rank[s];
        memcpy(twin->weights[s], snapshot->weights, shared->params * sizeof(float));
        memcpy(twin->state[s], snapshot->state + w * floats, floats * sizeof(float));
        twin->applied[s] = snapshot->applied[w];
    }
}

static uint64_t share_of(const struct twin *twin, size_t s)
{
    return hr_split_begin(PLAY_BATCH, twin->seats, s + 1) -
           hr_split_begin(PLAY_BATCH, twin->seats, s);
}

static void twin_step(struct twin *twin, const struct hr_shared_state *shared, size_t s)
{
    float g[MOST_PARAMS], ratio[PLAY_KEYS];
    for (size_t i = 0; i < shared->params; i++)
        g[i] = play_gradient(twin->index, s, twin->seats, i);
    struct hr_step step = hr_step_for(shared, twin->index, share_of(twin, s), ++twin->applied[s]);
    hr_step_measure(&step, twin->weights[s], twin->state[s], g, ratio);
    hr_step_update(&step, 0, shared->params, twin->weights[s], twin->state[s], g);
}

/* The mean of those in `set`, a bit each. */
static void mean_of(const struct twin *twin, const struct hr_shared_state *shared, unsigned set,
                    float *out)
{
    const float *in[PLAY_WORKERS];
    size_t n = 0;
    for (size_t s = 0; s < twin->seats; s++)
        if (set >> s & 1)
            in[n++] = twin->weights[s];
    hr_vec()->tree_sum(&out, 1, in, n, shared->params);
    hr_vec()->scale(out, 1.0f / (float)n, shared->params);
}

static void average(struct twin *twin, const struct hr_shared_state *shared)
{
    float mean[MOST_PARAMS];
    mean_of(twin, shared, (1u << twin->seats) - 1, mean);
    for (size_t s = 0; s < twin->seats; s++)
        memcpy(twin->weights[s], mean, sizeof mean);
    twin->began = twin->index;
}

/* Up to index, where replicas have still to be averaged. */
static void twin_advance(struct twin *twin, const struct play *play, uint64_t index)
{
    const struct hr_shared_state *shared = &play->shared;
    while (twin->index < index) {
        if (twin->index == twin->began + play->plan.sync_every) /* cuts do not count */
            average(twin, shared);
        for (size_t s = 0; s < twin->seats; s++)
            twin_step(twin, shared, s);
        twin->index++;
    }
}

/* --- what a settled state has to be --- */

/* The set of seats whose mean the snapshot has; it is one of them. */
static unsigned set_of(const struct twin *twin, const struct play *play)
{
    const struct hr_shared_state *shared = &play->shared;
    float mean[MOST_PARAMS];
    for (unsigned set = (1u << twin->seats) - 1; set > 0; set--) {
        mean_of(twin, shared, set, mean);
        if (!memcmp(mean, shared->snapshot.weights, shared->params * sizeof *mean))
            return set;
    }
    print_error("at %llu of %llu\n", (unsigned long long)twin->index,
                (unsigned long long)twin->began);
    fail();
    return 0;
}

static void check_states(const struct twin *twin, const struct play *play, unsigned set)
{
    const struct hr_shared_state *shared = &play->shared;
    const size_t floats = hr_state_floats(shared);
    for (size_t s = 0; s < twin->seats; s++) {
        const size_t w = twin->worker[s];
        if (play->gone[w] || !(set >> s & 1))
            continue;
        CHECK_SAME_FLOATS(shared->snapshot.state + w * floats, twin->state[s], floats);
        assert_int_equal(shared->snapshot.applied[w], twin->applied[s]);
    }
}

struct account {
    uint64_t lost, trained;
};

static struct account account_of(const struct play *play)
{
    struct account sum = {0, 0};
    for (size_t w = 0; w < play->shared.workers; w++) {
        sum.lost += hr_fate_of(play->shared.fates, w)->lost_samples;
        sum.trained += play->shared.stats[w].samples;
    }
    return sum;
}

/* All rest: the state between two batches, and the account of it. behind: who could not come to
 * the averaging, a bit each, though they live. Returns the index. */
static uint64_t settle_and_check(struct play *play, struct twin *twin, unsigned behind)
{
    const struct account before = account_of(play);
    const uint64_t index = play_settle(play), from = twin->index;
    twin_advance(twin, play, index);
    const unsigned set = index > from ? set_of(twin, play) : (1u << twin->seats) - 1;
    uint64_t lost = 0;
    if (index == from)
        CHECK_SAME_FLOATS(play->shared.snapshot.weights, twin->weights[0], play->shared.params);
    check_states(twin, play, set);
    for (size_t s = 0; s < twin->seats; s++) {
        assert_true(play->gone[twin->worker[s]] || ((set ^ behind) >> s & 1));
        lost += set >> s & 1 ? 0 : share_of(twin, s) * (index - twin->began);
    }
    play_take_back(play, index);
    const struct account after = account_of(play);
    assert_int_equal(after.lost, before.lost + lost);
    assert_int_equal(after.trained + after.lost, PLAY_BATCH * index);
    return index;
}

/* --- deaths --- */

/* The others hear of it at once, or late. They rest where they wait. */
static void look(void *it)
{
    const struct play_death *death = it;
    struct play *play = death->play;
    struct play_copy *copy = play_save(play);
    for (int late = 0; late < 2; late++) {
        struct hr_picker picker = {.kind = HR_PICK_FREE};
        struct twin twin = *(const struct twin *)death->twin;
        play_die(play, death->victim);
        while (late && play_any(play, &picker)) {
        }
        play_lose(play, death->victim);
        while (play_any(play, &picker)) {
        }
        settle_and_check(play, &twin, 0);
        play_restore(play, copy);
    }
    play_forget(copy);
}

static void check_deaths(const struct play_plan *plan, uint64_t seed)
{
    struct twin began;
    struct play play;
    play_open(&play, plan);
    twin_begin(&began, &play, 0);
    play_deaths(&play, seed, look, &began);
    assert_int_equal(play.index[0], plan->batches);
    play_close(&play);
}

static void a_death_takes_its_replica_and_nothing_else(void **state)
{
    (void)state;
    struct play_plan plan = {.strategy = &hr_strategy_local_sgd,
                             .workers = 2,
                             .params = 40,
                             .span = 3,
                             .batches = 3,
                             .sync_every = 2,
                             .optimizer = "sgd"};
    if (!death_can_be_played())
        skip();
    for (uint64_t seed = 0; seed < check_count(1, 20); seed++)
        check_deaths(&plan, seed);
    plan.span = 2; /* a cut in the middle of a period */
    plan.sync_every = 3;
    for (uint64_t seed = 0; seed < check_count(1, 20); seed++)
        check_deaths(&plan, seed);
    plan.workers = 3;
    plan.optimizer = "adam";
    for (uint64_t seed = 0; seed < check_count(0, 20); seed++)
        check_deaths(&plan, seed);
}

/* --- going on --- */

static void check_going_on(const struct play_plan *plan, uint64_t seed, bool dies)
{
    struct hr_picker picker = {.kind = HR_PICK_EXPLORE, .seed = seed};
    struct twin twin;
    struct play play;
    play_open(&play, plan);
    twin_begin(&twin, &play, 0);
    for (size_t round = 1; round < plan->workers; round++) {
        const size_t victim = (seed + round) % plan->workers;
        play_on(&play, &picker, 1 + (seed * 7) % 60);
        if (dies && !play.gone[victim])
            play_lose(&play, victim);
        else
            play_recall(&play);
        play_on(&play, &picker, UINT64_MAX);
        const uint64_t index = settle_and_check(&play, &twin, 0);
        play_begin_term(&play, index);
        twin_begin(&twin, &play, index);
    }
    play_on(&play, &picker, UINT64_MAX);
    twin_advance(&twin, &play, plan->batches);
    assert_int_equal(set_of(&twin, &play), (1u << twin.seats) - 1);
    check_states(&twin, &play, UINT32_MAX);
    const struct account account = account_of(&play);
    assert_int_equal(account.trained + account.lost, PLAY_BATCH * plan->batches);
    assert_true(dies || account.lost == 0);
    play_close(&play);
}

static void who_is_left_goes_on_with_the_mean(void **state)
{
    (void)state;
    for (size_t rule = 0; hr_rule_at(rule); rule++)
        for (uint64_t seed = 0; seed < check_count(200, 3000); seed++) {
            const struct play_plan plan = {.strategy = &hr_strategy_local_sgd,
                                           .workers = 2 + seed % 3,
                                           .params = 70,
                                           .span = 5,
                                           .batches = 11,
                                           .sync_every = 1 + seed % 4,
                                           .optimizer = hr_rule_at(rule)->name};
            check_going_on(&plan, seed, seed % 4 != 0);
        }
}

/* --- averagings that end for some and not for others --- */

static void play_until(struct play *play, size_t w, enum play_state state, uint64_t index)
{
    while (play->state[w] != state || play->index[w] != index)
        if (!play_act(play, w))
            fail();
}

/* Three workers on the way to the averaging before batch 2; all have left their replicas. */
static void open_at_an_averaging(struct play *play, struct twin *twin)
{
    static const struct play_plan plan = {.strategy = &hr_strategy_local_sgd,
                                          .workers = 3,
                                          .params = 40,
                                          .span = 6,
                                          .batches = 6,
                                          .sync_every = 2,
                                          .optimizer = "adam"};
    play_open(play, &plan);
    twin_begin(twin, play, 0);
    for (size_t w = 0; w < 3; w++)
        play_until(play, w, PLAY_ASKED, 1);
}

/* Worker 2 alone ends it, goes on as far as that, and dies. The mean is over all three. */
static void who_has_ended_it_alone_and_dies_has_lost_nothing(void **state)
{
    (void)state;
    static const enum play_state where[] = {PLAY_HAS, PLAY_ASKED};
    for (size_t i = 0; i < 4; i++) {
        struct twin twin;
        struct play play;
        open_at_an_averaging(&play, &twin);
        play.state[0] = play.state[1] = PLAY_RESTS;
        play_until(&play, 2, where[i % 2], 2 + i / 2);
        play_lose(&play, 2);
        assert_int_equal(settle_and_check(&play, &twin, 0), 2);
        assert_int_equal(hr_fate_of(play.shared.fates, 2)->again_samples,
                         PLAY_BATCH / 3 * (i / 2 + i % 2));
        play_close(&play);
    }
}

/* Worker 1 ends it, too, and comes to the next; worker 0 cannot follow. */
static void who_cannot_end_it_has_no_part_in_the_next(void **state)
{
    (void)state;
    for (int also_left = 0; also_left < 2; also_left++) {
        struct twin twin;
        struct play play;
        open_at_an_averaging(&play, &twin);
        play.state[0] = PLAY_RESTS;
        play_until(&play, 1, PLAY_ASKED, 3);
        play_until(&play, 2, also_left ? PLAY_ASKED : PLAY_HAS, 3);
        play_lose(&play, 2);
        assert_int_equal(settle_and_check(&play, &twin, 1), 4);
        assert_int_equal(hr_fate_of(play.shared.fates, 2)->lost_samples,
                         PLAY_BATCH / 3 * 2 * (also_left ? 1 : 2));
        assert_int_equal(hr_fate_of(play.shared.fates, 0)->lost_samples, 0);
        play_close(&play);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_death_takes_its_replica_and_nothing_else),
        cmocka_unit_test(who_is_left_goes_on_with_the_mean),
        cmocka_unit_test(who_has_ended_it_alone_and_dies_has_lost_nothing),
        cmocka_unit_test(who_cannot_end_it_has_no_part_in_the_next),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
