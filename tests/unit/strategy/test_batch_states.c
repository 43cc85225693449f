/* Hogwild's lost workers: whatever they had done when they died, each batch is trained on once, or
 * counted. Deaths are played by not calling what would have come next. */
#include <stdio.h>

#include "strategies/hogwild.h"
#include "strategies/strategies.h"
#include "strategy/lost_batches.h"
#include "support/check.h"
#include "support/script.h"

enum { BATCHES = 20, PARAMS = 3000 /* several blocks */ };

static struct script script;

static void open_world(bool recorded, size_t workers, bool reissues)
{
    static struct hr_train_options options;
    hr_train_defaults(&options);
    snprintf(options.record_block, sizeof options.record_block, "4K");
    if (recorded)
        snprintf(options.record, sizeof options.record, "x.trace");
    script_open(&script, &hr_strategy_hogwild,
                (struct script_plan){.workers = workers,
                                     .batches = BATCHES,
                                     .params = PARAMS,
                                     .options = &options,
                                     .outlives = true,
                                     .reissues = reissues});
}

/* --- where a worker dies; each is played up to there --- */

enum death {
    HAS_TOLD_NOBODY, /* it has drawn an index */
    HAS_DRAWN,
    IS_COUNTING,
    HAS_COUNTED,
    IS_PUSHING,
    HAS_PUSHED, /* and written so, but still says that it pushes */
    HAS_ENDED,
    DEATHS
};

static void play_up_to(size_t w, enum death death)
{
    struct hr_shared_state *shared = &script.shared;
    uint64_t index;
    if (death == HAS_TOLD_NOBODY) {
        if (!hr_returned_take(shared->returned, &index))
            hr_atom64_fetch_add_acq_rel(&shared->dispenser->next, 1);
        return;
    }
    index = script_read(&script, w).index;
    if (death == IS_COUNTING) {
        hr_stats_begin(&shared->stats[w], index);
        shared->stats[w].samples++;
    }
    if (death >= HAS_COUNTED && death <= IS_PUSHING) {
        script_compute(&script, w, 1);
        hr_stale_count(&shared->stats[w].stale, 0);
    }
    if (death > IS_PUSHING)
        script_give(&script, w, 1);
    if (death == IS_PUSHING || death == HAS_PUSHED)
        hr_batch_states_begin_push(shared, w, index);
}

static bool has_trained(enum death death)
{
    return death >= IS_PUSHING;
}

static struct hr_lost_work fate_of(size_t w)
{
    return script.shared.lost_work[w];
}

static struct hr_lost_work all_fates(void)
{
    struct hr_lost_work sum = {0};
    for (size_t w = 0; w < script.shared.workers; w++) {
        sum.lost_batches += fate_of(w).lost_batches;
        sum.lost_samples += fate_of(w).lost_samples;
        sum.again_batches += fate_of(w).again_batches;
        sum.again_samples += fate_of(w).again_samples;
        sum.partial += fate_of(w).partial;
    }
    return sum;
}

static uint64_t samples_of(size_t w)
{
    const struct hr_worker_stats *stats = &script.shared.stats[w];
    assert_int_equal(stats->samples, stats->epoch_samples);
    assert_int_equal(stats->samples, stats->steps);
    assert_int_equal(stats->samples, stats->updates);
    assert_int_equal(stats->samples, stats->stale.updates);
    assert_int_equal(stats->samples, hr_atom64_load_relaxed(&stats->seen));
    return stats->samples;
}

static uint64_t samples(void)
{
    uint64_t sum = 0;
    for (size_t w = 0; w < script.shared.workers; w++)
        sum += samples_of(w);
    return sum;
}

/* Worker w works until no batch is left; returns how many it had. */
static size_t work(size_t w)
{
    size_t n = 0;
    for (; script_read(&script, w).kind == HR_TASK_BATCH; n++)
        script_give(&script, w, 1);
    return n;
}

static void miss(void)
{
    hr_batch_states_missing(&script.shared);
}

/* Worker 1 dies, worker 0 does the rest. */
static void check_death(bool recorded, enum death death, bool reissues)
{
    open_world(recorded, 2, reissues);
    script_read(&script, 1);
    script_give(&script, 1, 1); /* that one is whole */
    play_up_to(1, death);
    script_lose(&script, 1);
    assert_int_equal(work(0), BATCHES - 2);
    const size_t left = !has_trained(death), again = left && reissues;
    miss();
    miss(); /* repeated at the cut */
    assert_int_equal(fate_of(1).again_batches, again);
    assert_int_equal(fate_of(1).again_samples, again);
    assert_int_equal(fate_of(1).lost_batches, left - again);
    assert_int_equal(fate_of(1).lost_samples, left - again);
    assert_int_equal(fate_of(1).partial, death == IS_PUSHING);
    assert_int_equal(hr_returned_any(script.shared.returned), again);
    assert_int_equal(work(0), again);
    miss();
    miss();
    assert_false(hr_returned_any(script.shared.returned));
    assert_int_equal(samples_of(1), 1 + has_trained(death));
    assert_int_equal(samples() + fate_of(1).lost_samples, BATCHES);
    assert_int_equal(fate_of(0).again_batches + fate_of(0).lost_batches + fate_of(0).partial, 0);
    script_close(&script);
}

static void every_batch_is_trained_on_once_or_counted(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++)
        for (enum death death = 0; death < DEATHS; death++)
            for (int reissues = 0; reissues < 2; reissues++)
                check_death(i, death, reissues);
}

/* Three workers die of one batch each, the first of them without a word, and so does who takes the
 * first of them again. */
static void batches_are_put_down_to_those_who_had_them(void **state)
{
    (void)state;
    open_world(false, 5, true);
    for (size_t w = 1; w <= 3; w++) {
        play_up_to(w, w == 1 ? HAS_TOLD_NOBODY : HAS_COUNTED);
        script_lose(&script, w);
    }
    assert_int_equal(work(0), BATCHES - 3);
    miss();
    assert_int_equal(hr_returned_any(script.shared.returned), 1);
    for (size_t w = 1; w <= 3; w++)
        assert_int_equal(fate_of(w).again_batches, 1);
    play_up_to(4, HAS_TOLD_NOBODY);
    script_lose(&script, 4);
    assert_int_equal(work(0), 2);
    miss();
    assert_int_equal(all_fates().again_batches, 4);
    assert_int_equal(work(0), 1);
    miss();
    assert_int_equal(samples(), BATCHES);
    script_close(&script);
}

/* More batches than the queue holds: they come in several rounds. */
static void more_are_missing_than_can_wait(void **state)
{
    (void)state;
    open_world(false, 6, true);
    script.shared.returned->room = 2;
    for (size_t w = 1; w < 6; w++) {
        play_up_to(w, w % 2 ? HAS_DRAWN : HAS_TOLD_NOBODY);
        script_lose(&script, w);
    }
    assert_int_equal(work(0), BATCHES - 5);
    for (size_t left = 5; left > 0; left -= left < 2 ? left : 2) {
        miss();
        assert_int_equal(work(0), left < 2 ? left : 2);
    }
    miss();
    assert_int_equal(work(0), 0);
    assert_int_equal(samples(), BATCHES);
    assert_int_equal(all_fates().again_batches, 5);
    script_close(&script);
}

/* What the leader does at a cut before the end. */
static void pass_a_cut(uint64_t index, uint64_t next)
{
    struct hr_dispenser *dispenser = script.shared.dispenser;
    hr_atom64_store_release(&dispenser->next, index);
    hr_atom64_store_release(&dispenser->cut, next);
}

static void a_span_begins_with_no_batch_drawn(void **state)
{
    (void)state;
    open_world(false, 3, true);
    pass_a_cut(0, 8);
    play_up_to(1, HAS_COUNTED);
    script_lose(&script, 1);
    assert_int_equal(work(0), 7);
    miss();
    assert_int_equal(work(0), 1);
    miss();
    pass_a_cut(8, BATCHES);
    play_up_to(2, HAS_DRAWN);
    script_lose(&script, 2);
    assert_int_equal(work(0), BATCHES - 9);
    miss();
    assert_int_equal(fate_of(1).again_batches, 1);
    assert_int_equal(fate_of(2).again_batches, 1);
    assert_int_equal(work(0), 1);
    miss();
    assert_int_equal(samples(), BATCHES);
    script_close(&script);
}

/* A worker dies when it has passed a cut and drawn nothing: its last gradient was before it. */
static void what_was_pushed_before_the_cut_stays(void **state)
{
    (void)state;
    open_world(false, 2, true);
    pass_a_cut(0, 8);
    assert_int_equal(work(1), 8);
    assert_int_equal(work(0), 0);
    miss();
    pass_a_cut(8, BATCHES);
    script_lose(&script, 1);
    assert_int_equal(samples_of(1), 8);
    assert_int_equal(work(0), BATCHES - 8);
    miss();
    assert_int_equal(samples(), BATCHES);
    script_close(&script);
}

/* Else they would be missing in the model that is saved. */
static void what_was_lost_is_trained_on_before_a_stop(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        open_world(i, 2, true);
        play_up_to(1, HAS_DRAWN);
        script_lose(&script, 1);
        script_read(&script, 0);
        script_give(&script, 0, 1);
        hr_atom32_store_release(&script.shared.dispenser->stop, 1);
        assert_int_equal(work(0), 0);
        miss();
        assert_int_equal(script_read(&script, 0).index, 0);
        script_give(&script, 0, 1);
        assert_int_equal(work(0), 0);
        miss();
        assert_int_equal(samples(), 2);
        script_close(&script);
    }
}

/* The skew is to those who still push; one who comes back has not fallen behind. */
static void nobody_is_ahead_of_the_dead(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        open_world(i, 3, true);
        for (size_t w = 1; w < 3; w++)
            for (size_t n = 0; n < 3; n++) {
                script_read(&script, w);
                script_give(&script, w, 1);
            }
        assert_int_equal(hr_pushes_skew(&script.worker[1]), 3);
        script_lose(&script, 0);
        assert_int_equal(hr_pushes_skew(&script.worker[1]), 0);
        script_return(&script, 0);
        assert_int_equal(hr_pushes_skew(&script.worker[1]), 0);
        assert_int_equal(hr_pushes_skew(&script.worker[0]), 0);
        script_read(&script, 0);
        for (size_t p = 0; p < PARAMS; p++)
            assert_true(script.worker[0].weights[p] == -6); /* the weights as they are */
        script_give(&script, 0, 1);
        assert_int_equal(hr_pushes_skew(&script.worker[0]), 1);
        script_close(&script);
    }
}

/* --- any order, any deaths --- */

static uint64_t draw(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

static void die_and_perhaps_return(uint64_t *seed, size_t w, size_t *left)
{
    const bool returns = draw(seed) % 2;
    if (*left == 1 && !returns)
        return;
    play_up_to(w, (enum death)(draw(seed) % DEATHS));
    script_lose(&script, w);
    if (returns)
        script_return(&script, w);
    *left -= !returns;
}

/* All come to the cut, each in its own time; some die on their way. */
static void come_to_the_cut(uint64_t *seed, size_t *left)
{
    const struct hr_dispenser *dispenser = script.shared.dispenser;
    const uint64_t cut = hr_atom64_load_relaxed(&dispenser->cut);
    while (hr_returned_any(script.shared.returned) ||
           hr_atom64_load_relaxed(&dispenser->next) < cut) {
        const size_t w = draw(seed) % script.shared.workers;
        if (script.gone[w])
            continue;
        if (draw(seed) % 8 == 0) {
            die_and_perhaps_return(seed, w, left);
            continue;
        }
        if (script_read(&script, w).kind == HR_TASK_BATCH)
            script_give(&script, w, 1);
    }
}

static void no_sample_is_unaccounted(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < check_count(300, 20000); number++) {
        uint64_t seed = number;
        const bool reissues = number % 2;
        size_t left = 1 + draw(&seed) % 5;
        open_world(draw(&seed) % 2, left, reissues);
        for (uint64_t from = 0; from < BATCHES;) {
            const uint64_t to = from + 1 + draw(&seed) % (BATCHES - from);
            pass_a_cut(from, to);
            do {
                come_to_the_cut(&seed, &left);
                miss();
            } while (hr_returned_any(script.shared.returned));
            from = to;
        }
        const struct hr_lost_work sum = all_fates();
        assert_int_equal(samples() + sum.lost_samples, BATCHES);
        assert_int_equal(reissues ? sum.lost_batches : sum.again_batches, 0);
        script_close(&script);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_batch_is_trained_on_once_or_counted),
        cmocka_unit_test(batches_are_put_down_to_those_who_had_them),
        cmocka_unit_test(more_are_missing_than_can_wait),
        cmocka_unit_test(a_span_begins_with_no_batch_drawn),
        cmocka_unit_test(what_was_pushed_before_the_cut_stays),
        cmocka_unit_test(what_was_lost_is_trained_on_before_a_stop),
        cmocka_unit_test(nobody_is_ahead_of_the_dead),
        cmocka_unit_test(no_sample_is_unaccounted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
