/* A leader may die anywhere while it decides or concludes a cut: who does so in its place leaves
 * behind what the leader would have left, to the last byte. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "drive/leader.h"
#include "session/carve.h"
#include "strategies/strategies.h"
#include "strategy/shared.h"
#include "support/death.h"
#include "support/runs.h"

enum { WORKERS = 2, PARAMS = 5, SAMPLES = 64, BATCH = 8, ROOM = 4 };

/* A run at a cut that all have come to, in memory that children share. */
struct stage {
    struct hr_shared_state shared;
    struct hr_train_job job;
    struct hr_leader leader;
    struct hr_eval_cell cell;
    struct hr_model *model;
    uint32_t *answers;
    unsigned char *memory, *wanted;
    size_t bytes; /* of what has to be the same: all but the bells */
    uint64_t concluded;
};

static void lay_out(struct stage *stage, struct hr_carver *to)
{
    struct hr_shared_state *shared = &stage->shared;
    struct hr_snapshot kept = {0};
    stage->leader.cuts.cut = hr_carve(to, "", sizeof *stage->leader.cuts.cut);
    stage->leader.cuts.curve = hr_carve(to, "", ROOM * sizeof *stage->leader.cuts.curve);
    shared->stats = hr_carve(to, "", WORKERS * sizeof *shared->stats);
    shared->dispenser = hr_carve(to, "", sizeof *shared->dispenser);
    shared->returned = hr_carve(to, "", hr_returned_bytes(hr_returned_room(shared)));
    shared->lost_work = hr_carve(to, "", WORKERS * sizeof *shared->lost_work);
    shared->snapshot.weights = hr_carve_arena(to, "", PARAMS);
    shared->snapshot.state = hr_carve_arena(to, "", hr_state_floats(shared));
    shared->snapshot.applied = hr_carve(to, "", sizeof(uint64_t));
    shared->snapshot.apart = hr_carve(to, "", sizeof(uint64_t));
    shared->snapshot.losses = hr_carve(to, "", sizeof *shared->snapshot.losses);
    shared->snapshot.shares = hr_carve(to, "", WORKERS * sizeof *shared->snapshot.shares);
    shared->last_cut = hr_carve(to, "", sizeof *shared->last_cut);
    kept.weights = hr_carve_arena(to, "", PARAMS);
    kept.state = hr_carve_arena(to, "", hr_state_floats(shared));
    kept.applied = hr_carve(to, "", sizeof(uint64_t));
    kept.apart = hr_carve(to, "", sizeof(uint64_t));
    if (shared->last_cut)
        *shared->last_cut = kept;
    stage->bytes = to->used;
    shared->control = hr_carve(to, "", hr_control_bytes(WORKERS));
    stage->leader.cuts.control = shared->control;
}

static void open_stage(struct stage *stage, const struct hr_train_options *options)
{
    struct hr_carver count = {0};
    *stage = (struct stage){
        .shared = {.strategy = &hr_strategy_hogwild,
                   .options = options,
                   .workers = WORKERS,
                   .params = PARAMS,
                   .outlives = true,
                   .snapshot = {.copied = true, .state_copies = 1},
                   .schedule = {.samples = SAMPLES,
                                .pass = SAMPLES,
                                .batch = BATCH,
                                .batches_per_epoch = SAMPLES / BATCH,
                                .end = 2 * SAMPLES / BATCH}},
        .cell = {.loss_sum = 3, .correct = 2},
    };
    stage->job = (struct hr_train_job){.shared = &stage->shared,
                                       .dataset = run_digits(),
                                       .tested = {.cells = &stage->cell, .nblocks = 1}};
    CHECK_OK(hr_model_create("flatten, dense 10", stage->job.dataset->shape, 10, &stage->model));
    stage->answers = calloc(stage->job.dataset->test.count, sizeof *stage->answers);
    assert_non_null(stage->answers);
    stage->job.model = stage->model;
    stage->job.tested.answers = stage->answers;
    stage->leader = (struct hr_leader){
        .cuts = {.schedule = &stage->shared.schedule, .curve_room = ROOM, .saves = true},
        .job = &stage->job};
    stage->shared.optimizer.params = PARAMS;
    CHECK_OK(hr_rule_find("adam", &stage->shared.optimizer.rule));
    lay_out(stage, &count);
    stage->memory =
        mmap(NULL, count.used, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(stage->memory != MAP_FAILED);
    lay_out(stage, &(struct hr_carver){.base = stage->memory});
    stage->wanted = malloc(stage->bytes);
    hr_control_init(stage->shared.control, WORKERS);
    stage->shared.returned->room = hr_returned_room(&stage->shared);
    hr_atom64_store_relaxed(&stage->shared.dispenser->cut, SAMPLES / BATCH);
}

static void close_stage(struct stage *stage)
{
    free(stage->wanted);
    free(stage->answers);
    hr_model_destroy(stage->model);
    munmap(stage->memory, stage->bytes);
}

/* Every batch up to the end of an epoch is trained on. */
static void train_and_decide(struct stage *stage, uint64_t epoch)
{
    struct hr_shared_state *shared = &stage->shared;
    for (size_t w = 0; w < WORKERS; w++) {
        struct hr_worker_stats *stats = &shared->stats[w];
        hr_stats_begin(stats, epoch * SAMPLES / BATCH - 1);
        stats->samples += SAMPLES / WORKERS;
        stats->epoch_samples += SAMPLES / WORKERS;
        stats->epoch_loss += 10.0 + (double)epoch + (double)w;
        stats->steps += SAMPLES / WORKERS / BATCH;
        stats->updates = stats->steps;
        hr_stats_end(stats);
    }
    for (size_t i = 0; i < PARAMS; i++)
        shared->snapshot.weights[i] = (float)epoch;
    shared->snapshot.applied[0] = epoch;
    hr_atom64_store_relaxed(&shared->dispenser->next, epoch * SAMPLES / BATCH + 1);
    stage->leader.cuts.cut->span_began_ns = (int64_t)epoch * 1000 - 900;
    stage->leader.cuts.cut->span_ended_ns = (int64_t)epoch * 1000;
    hr_leader_decide(&stage->leader);
    assert_true(stage->leader.cuts.cut->evaluate && stage->leader.cuts.cut->save);
}

static void conclude(void *arg)
{
    const struct stage *stage = arg;
    hr_leader_conclude(&stage->leader);
}

/* The leader is dead: as the launcher does where the cut is not concluded. */
static void look(void *arg)
{
    struct stage *stage = arg;
    if (stage->leader.cuts.cut->concluded == stage->concluded)
        hr_leader_conclude(&stage->leader);
    assert_memory_equal(stage->memory, stage->wanted, stage->bytes);
}

static void wherever_the_leader_dies_a_cut_is_concluded_once(void **state)
{
    (void)state;
    struct hr_train_options options = run_options("hogwild", WORKERS);
    static struct stage stage;
    if (!death_can_be_played())
        SKIP("no death can be played under a sanitizer");
    open_stage(&stage, &options);
    const struct hr_cut *cut = stage.leader.cuts.cut;
    unsigned char *before = malloc(stage.bytes);
    for (uint64_t epoch = 1; epoch <= 2; epoch++) {
        train_and_decide(&stage, epoch);
        stage.concluded = cut->concluded;
        memcpy(before, stage.memory, stage.bytes);
        conclude(&stage);
        memcpy(stage.wanted, stage.memory, stage.bytes);
        memcpy(stage.memory, before, stage.bytes);
        const struct death death = {.act = conclude,
                                    .look = look,
                                    .arg = &stage,
                                    .memory = stage.memory,
                                    .bytes = stage.bytes};
        assert_true(death_everywhere(&death) > 10);
        memcpy(stage.memory, stage.wanted, stage.bytes);
        assert_int_equal(hr_atom64_load_relaxed(&cut->ncurve), epoch);
        assert_int_equal(hr_atom64_load_relaxed(&cut->saves_asked), epoch);
    }
    assert_true(cut->halt);
    free(before);
    close_stage(&stage);
}

static void decide(void *arg)
{
    const struct stage *stage = arg;
    hr_leader_decide(&stage->leader);
}

/* The leader is dead: the others come to the end of the span again. */
static void decide_again(void *arg)
{
    struct stage *stage = arg;
    hr_leader_decide(&stage->leader);
    assert_memory_equal(stage->memory, stage->wanted, stage->bytes);
}

static void wherever_the_leader_dies_a_cut_is_decided_alike(void **state)
{
    (void)state;
    struct hr_train_options options = run_options("hogwild", WORKERS);
    static struct stage stage;
    if (!death_can_be_played())
        SKIP("no death can be played under a sanitizer");
    open_stage(&stage, &options);
    struct hr_cut *cut = stage.leader.cuts.cut;
    unsigned char *before = malloc(stage.bytes);
    train_and_decide(&stage, 1);
    conclude(&stage);
    cut->rests = true; /* as behind a save alone */
    cut->span_began_ns = 1100, cut->span_ended_ns = 2000;
    memcpy(before, stage.memory, stage.bytes);
    decide(&stage);
    memcpy(stage.wanted, stage.memory, stage.bytes);
    memcpy(stage.memory, before, stage.bytes);
    const struct death death = {.act = decide,
                                .look = decide_again,
                                .arg = &stage,
                                .memory = stage.memory,
                                .bytes = stage.bytes};
    assert_true(death_everywhere(&death) > 3);
    decide(&stage);
    assert_int_equal(cut->rest_ns, 100);
    assert_int_equal(cut->train_ns, 1800);
    free(before);
    close_stage(&stage);
}

/* All are back at the last cut, or have not begun: it has been measured already. */
static void a_run_that_stops_where_it_was_measured_adds_no_point(void **state)
{
    (void)state;
    struct hr_train_options options = run_options("hogwild", WORKERS);
    static struct stage stage;
    open_stage(&stage, &options);
    const struct hr_cut *cut = stage.leader.cuts.cut;
    train_and_decide(&stage, 1);
    conclude(&stage);
    hr_cut_decide(&stage.leader.cuts, cut->index, HR_STOP_DONE);
    assert_true(cut->halt && cut->save && !cut->evaluate);
    hr_cut_decide(&stage.leader.cuts, cut->index + 1, HR_STOP_DONE);
    assert_true(cut->halt && cut->evaluate);
    close_stage(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wherever_the_leader_dies_a_cut_is_decided_alike),
        cmocka_unit_test(wherever_the_leader_dies_a_cut_is_concluded_once),
        cmocka_unit_test(a_run_that_stops_where_it_was_measured_adds_no_point),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
