/* Settling: wherever a worker dies, the snapshot becomes the state between two batches, to the bit,
 * and whoever is left goes on from there as a run would that was resumed there. */
#include "strategy/settle.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/vec.h"
#include "strategies/strategies.h"
#include "support/check.h"
#include "support/death.h"
#include "support/script.h"
#include "support/term_play.h"

enum { MOST_BATCHES = 16, MOST_STATES = 2 };

/* --- what one worker alone would have, before each batch --- */

struct twin {
    float *weights, *state; /* of batch `index` */
    float *ratio, *sum;
    uint64_t index;
};

/* A run of one owner from the snapshot, which is at `index`. */
static struct twin twin_of(const struct play *play, uint64_t index)
{
    const struct hr_shared_state *shared = &play->shared;
    const size_t floats = hr_state_floats(shared);
    struct twin twin = {.weights = malloc(2 * shared->params * sizeof(float)),
                        .state = malloc(floats * sizeof(float) + 1),
                        .ratio = malloc(hr_ratio_floats(shared) * sizeof(float)),
                        .index = index};
    twin.sum = twin.weights + shared->params;
    memcpy(twin.weights, shared->snapshot.weights, shared->params * sizeof(float));
    memcpy(twin.state, shared->snapshot.state, floats * sizeof(float));
    return twin;
}

static void twin_free(struct twin *twin)
{
    free(twin->weights);
    free(twin->state);
    free(twin->ratio);
}

/* Up to `index`, with gradients of so many seats. */
static void twin_advance(const struct play *play, struct twin *twin, size_t seats, uint64_t index)
{
    const struct hr_shared_state *shared = &play->shared;
    for (; twin->index < index; twin->index++) {
        for (size_t i = 0; i < shared->params; i++) {
            float g[PLAY_WORKERS], *sum = &twin->sum[i];
            const float *in[PLAY_WORKERS];
            for (size_t s = 0; s < seats; s++) {
                g[s] = play_gradient(twin->index, s, seats, i);
                in[s] = &g[s];
            }
            hr_vec()->tree_sum(&sum, 1, in, seats, 1);
        }
        struct hr_step step = hr_step_for(shared, twin->index, PLAY_BATCH, twin->index + 1);
        hr_step_measure(&step, twin->weights, twin->state, twin->sum, twin->ratio);
        hr_step_update(&step, 0, shared->params, twin->weights, twin->state, twin->sum);
    }
}

static void check_snapshot(const struct play *play, const struct twin *twin)
{
    const struct hr_snapshot *snapshot = &play->shared.snapshot;
    CHECK_SAME_FLOATS(snapshot->weights, twin->weights, play->shared.params);
    CHECK_SAME_FLOATS(snapshot->state, twin->state, hr_state_floats(&play->shared));
    assert_int_equal(snapshot->applied[0], twin->index);
}

/* --- deaths --- */

static uint64_t farthest(const struct play *play)
{
    uint64_t most = 0;
    for (size_t w = 0; w < play->shared.workers; w++)
        most = play->index[w] > most ? play->index[w] : most;
    return most;
}

static void settle_and_check(const struct play_death *death)
{
    struct play *play = death->play;
    uint64_t updates = 0;
    const uint64_t most = farthest(play), index = play_settle(play);
    assert_in_range(index, most, most + 1);
    const struct twin *twin = death->twin;
    check_snapshot(play, &twin[index]);
    for (size_t w = 0; w < play->shared.workers; w++)
        updates += play->shared.stats[w].updates;
    assert_int_equal(updates, index);
}

/* The victim is dead. The others rest at once; or go on as far as they can. */
static void look(void *it)
{
    const struct play_death *death = it;
    struct play *play = death->play;
    struct play_copy *copy = play_save(play);
    play_lose(play, death->victim);
    settle_and_check(death);
    play_restore(play, copy);
    struct hr_picker picker = {.kind = HR_PICK_FREE};
    play_die(play, death->victim);
    if (death->act >= play->shared.workers)
        play_halt(play, death->act / play->shared.workers - 1);
    play_on(play, &picker, UINT64_MAX);
    play_lose(play, death->victim);
    settle_and_check(death);
    play_restore(play, copy);
    play_forget(copy);
}

static void check_deaths(const struct play_plan *plan, size_t seeds)
{
    struct play play;
    for (uint64_t seed = 0; seed < seeds; seed++) {
        struct twin twin[MOST_BATCHES];
        play_open(&play, plan);
        for (uint64_t k = 0; k <= plan->batches; k++) {
            twin[k] = twin_of(&play, 0);
            twin_advance(&play, &twin[k], plan->workers, k);
        }
        play_deaths(&play, seed, look, twin);
        assert_int_equal(farthest(&play), plan->batches);
        for (uint64_t k = 0; k <= plan->batches; k++)
            twin_free(&twin[k]);
        play_close(&play);
    }
}

/* The update of a block is fused with its sum, or (norms) each worker updates its own replica. */
static void a_step_that_a_death_tears_is_undone(void **state)
{
    (void)state;
    struct play_plan plan = {
        .strategy = &hr_strategy_allreduce, .workers = 2, .params = 70, .span = 3, .batches = 4};
    if (!death_can_be_played())
        skip();
    plan.optimizer = "sgd";
    check_deaths(&plan, check_count(1, 20));
    plan.batches = 3;
    plan.optimizer = "lamb";
    check_deaths(&plan, check_count(1, 20));
    plan.optimizer = "adam";
    plan.workers = 3;
    plan.batches = 2;
    plan.overlaps = true;
    check_deaths(&plan, check_count(1, 20));
}

/* --- going on --- */

/* Each sample of each batch counts once, whoever computed its gradient. */
static void check_samples(const struct play *play)
{
    uint64_t samples = 0, updates = 0;
    for (size_t w = 0; w < play->shared.workers; w++) {
        samples += play->shared.stats[w].samples;
        updates += play->shared.stats[w].updates;
    }
    assert_int_equal(samples, PLAY_BATCH * play->plan.batches);
    assert_int_equal(updates, play->plan.batches);
}

/* After so many acts `victim` dies (none: all are recalled for nothing), and again after as many.
 * Who is left has, in the end, what one worker has that goes on from the settled state. */
static void check_going_on(const struct play_plan *plan, uint64_t seed, bool dies)
{
    struct hr_picker picker = {.kind = HR_PICK_EXPLORE, .seed = seed};
    struct play play;
    play_open(&play, plan);
    struct twin twin = twin_of(&play, 0);
    for (size_t seats = plan->workers; seats > 1; seats--) {
        const size_t victim = (seed + seats) % plan->workers;
        play_on(&play, &picker, 1 + (seed * 7) % 40);
        if (dies && !play.gone[victim])
            play_lose(&play, victim);
        else
            play_recall(&play);
        play_on(&play, &picker, UINT64_MAX);
        const size_t before = play.shared.seats->n;
        const uint64_t index = play_settle(&play);
        twin_advance(&play, &twin, before, index);
        check_snapshot(&play, &twin);
        play_begin_term(&play, index);
    }
    play_on(&play, &picker, UINT64_MAX);
    twin_advance(&play, &twin, play.shared.seats->n, plan->batches);
    assert_int_equal(farthest(&play), plan->batches);
    check_snapshot(&play, &twin);
    check_samples(&play);
    twin_free(&twin);
    play_close(&play);
}

static void check_all_going_on(struct play_plan plan)
{
    for (size_t rule = 0; hr_rule_at(rule); rule++)
        for (uint64_t seed = 0; seed < check_count(60, 1000); seed++) {
            plan.optimizer = hr_rule_at(rule)->name;
            plan.workers = 2 + seed % 3;
            plan.overlaps = seed % 2;
            check_going_on(&plan, seed, seed % 4 != 0);
        }
}

/* A push that reached some shards; or a shard in the middle of its update. */
static void shards_that_differ_by_a_step_agree_again(void **state)
{
    (void)state;
    struct play_plan plan = {.strategy = &hr_strategy_ps_sync,
                             .workers = 2,
                             .servers = 2,
                             .params = 70,
                             .span = 3,
                             .batches = 3,
                             .optimizer = "adam"};
    if (!death_can_be_played())
        skip();
    check_deaths(&plan, check_count(1, 20));
    plan.workers = 3;
    plan.servers = 3;
    plan.batches = 2;
    plan.optimizer = "sgd";
    check_deaths(&plan, check_count(0, 20));
}

static void who_is_left_goes_on_from_there(void **state)
{
    (void)state;
    check_all_going_on((struct play_plan){
        .strategy = &hr_strategy_ps_sync, .servers = 1, .params = 70, .span = 3, .batches = 7});
    check_all_going_on((struct play_plan){
        .strategy = &hr_strategy_allreduce, .params = 70, .span = 3, .batches = 7});
    check_going_on(&(struct play_plan){.strategy = &hr_strategy_allreduce,
                                       .workers = 3,
                                       .params = 9001, /* blocks that any rank may sum */
                                       .span = 3,
                                       .batches = 4,
                                       .optimizer = "adam"},
                   3, true);
}

/* It dies when the last cut has passed, and tells its server nothing. */
static void a_server_waits_for_no_worker_that_died_at_the_end(void **state)
{
    (void)state;
    struct script script;
    script_open(&script, &hr_strategy_ps_sync,
                (struct script_plan){.workers = 2, .servers = 1, .batches = 3, .outlives = true});
    const struct hr_shared_state *shared = &script.shared;
    shared->strategy->leave(&script.worker[1]);
    script_serve(&script, 0, 1);
    hr_roster_lose(shared->control, 0, false);
    assert_false(shared->strategy->over(&script.shard[0])); /* the launcher may yet recall all */
    hr_roster_end(shared->control);
    assert_true(shared->strategy->over(&script.shard[0]));
    script_close(&script);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_that_a_death_tears_is_undone),
        cmocka_unit_test(shards_that_differ_by_a_step_agree_again),
        cmocka_unit_test(who_is_left_goes_on_from_there),
        cmocka_unit_test(a_server_waits_for_no_worker_that_died_at_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
