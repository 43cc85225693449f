#include "support/stage.h"

#include <stdlib.h>

#include "base/size.h"
#include "support/check.h"

static void *room(struct stage *stage, size_t bytes)
{
    void *memory = aligned_alloc(4096, hr_round_up(bytes + 1, 4096));
    assert_non_null(memory);
    assert_true(stage->nmemory < sizeof stage->memory / sizeof *stage->memory);
    memset(memory, 0, bytes);
    return stage->memory[stage->nmemory++] = memory;
}

static void cut_into_keys(struct stage *stage, const size_t *begins, size_t nkeys, size_t params)
{
    struct hr_optimizer *optimizer = &stage->world.optimizer;
    for (size_t i = 0; i < nkeys; i++) {
        const size_t end = i + 1 < nkeys ? begins[i + 1] : params;
        stage->keys[i] = (struct hr_param_segment){.begin = begins[i], .count = end - begins[i]};
    }
    *optimizer = (struct hr_optimizer){.segments = stage->keys, .nsegments = nkeys};
    optimizer->params = params;
    CHECK_OK(hr_rule_find("sgd", &optimizer->rule));
}

static void take_memory(struct stage *stage)
{
    struct hr_world *world = &stage->world;
    const size_t bytes = world->params * sizeof(float), ranks = world->workers + world->servers;
    world->control = room(stage, hr_control_bytes(ranks));
    hr_control_init(world->control, ranks);
    world->weights = stage->arrays;
    world->grads = stage->arrays + world->workers;
    for (size_t i = 0; i < 2 * world->workers; i++)
        stage->arrays[i] = room(stage, bytes);
    world->stats = room(stage, world->workers * sizeof *world->stats);
    world->dispenser = room(stage, sizeof *world->dispenser);
    hr_atom64_store_relaxed(&world->dispenser->cut, UINT64_MAX);
    world->snapshot.state_copies = world->strategy->private_state ? world->workers : 1;
    world->snapshot.weights = room(stage, bytes);
    world->snapshot.state = room(stage, bytes * world->snapshot.state_copies);
    world->snapshot.applied = room(stage, world->workers * sizeof *world->snapshot.applied);
    world->own = room(stage, world->strategy->bytes(world));
    world->staleness = room(stage, hr_staleness_bytes(world));
}

void stage_set(struct stage *stage, const char *strategy, size_t workers, size_t servers,
               size_t params, const size_t *begins, size_t nkeys)
{
    struct hr_world *world = &stage->world;
    assert_true(workers <= STAGE_MAX && servers <= STAGE_MAX && nkeys <= STAGE_MAX);
    memset(stage, 0, sizeof *stage);
    world->workers = workers;
    world->servers = servers;
    world->params = params;
    world->options.staleness = 3;
    CHECK_OK(hr_strategy_find(strategy, world->options.staleness, &world->strategy));
    world->course = (struct hr_course){
        .samples = 1, .pass = 1, .batch = 1, .batches_per_epoch = 1, .end = UINT64_MAX};
    world->course.lr.epochs = world->course.lr.peak = 1;
    world->course.lr_factor = 1;
    cut_into_keys(stage, begins, nkeys, params);
    take_memory(stage);
    world->strategy->init(world);
    hr_staleness_init(world);
    for (size_t s = 0; s < servers; s++)
        CHECK_OK(world->strategy->shard_start(&stage->shard[s], world, s));
    for (size_t w = 0; w < workers; w++) {
        stage->worker[w] = (struct hr_worker){.world = world,
                                              .rank = w,
                                              .samples = 1,
                                              .stats = &world->stats[w],
                                              .weights = world->weights[w],
                                              .grads = world->grads[w]};
        CHECK_OK(world->strategy->start(&stage->worker[w]));
    }
}

void stage_strike(struct stage *stage)
{
    const struct hr_strategy *strategy = stage->world.strategy;
    for (size_t w = 0; strategy->private_state && w < stage->world.workers; w++)
        strategy->stop(&stage->worker[w]);
    for (size_t s = 0; s < stage->world.servers; s++)
        strategy->shard_stop(&stage->shard[s]);
    for (size_t i = 0; i < stage->nmemory; i++)
        free(stage->memory[i]);
}

void stage_pull(struct stage *stage, size_t worker)
{
    const struct hr_strategy *strategy = stage->world.strategy;
    struct hr_task task;
    strategy->request(&stage->worker[worker]);
    for (size_t s = 0; s < stage->world.servers; s++)
        stage_take(stage, s, worker);
    assert_true(strategy->ready(&stage->worker[worker]));
    CHECK_OK(strategy->accept(&stage->worker[worker], &task));
    assert_int_equal(task.kind, HR_TASK_BATCH);
}

void stage_push(struct stage *stage, size_t worker)
{
    stage->world.strategy->offer(&stage->worker[worker]);
}

void stage_take(struct stage *stage, size_t shard, size_t worker)
{
    unsigned char enabled[STAGE_MAX];
    stage->world.strategy->enabled(&stage->shard[shard], enabled);
    assert_true(enabled[worker]);
    stage->world.strategy->take(&stage->shard[shard], worker);
}
