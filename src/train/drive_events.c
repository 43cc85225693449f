/* The driver in which one thread plays all ranks. Everything that could happen next is listed,
 * pick() chooses, its effect runs to the end: so a seed is a schedule, every strategy can be run in
 * any number of orders, and a run is repeated bit for bit. No rank ever waits here.
 *
 *   worker r's events:  request -> look, until ready -> accept -> gradient -> offer -> request ...
 *                       at a cut: arrive -> (when arrived) stand still until all workers do
 *   shard s's events:   take worker w's oldest message (when enabled)
 *
 * (A heap of times and a trace are further answers of pick; computing threads that run ahead belong
 * to the gradient event.)
 */
#include <stdlib.h>

#include "base/clock.h"
#include "base/fpenv.h"
#include "train/run.h"

enum state {
    WANTS,    /* next: request */
    ASKED,    /* next: look, which may bring a collective on; accept, when ready */
    HAS,      /* next: gradient and offer */
    AT_CUT,   /* next: arrive, when the snapshot may be overwritten */
    ARRIVING, /* next: arrived, when its owners say so */
    ARRIVED,  /* nothing, until all are here */
};

struct play {
    struct hr_run *run;
    struct hr_trainee *trainee; /* (workers) owned */
    struct hr_shard *shard;     /* (servers) owned */
    enum state state[HR_MAX_RANKS];
    struct hr_task task[HR_MAX_RANKS];
    struct hr_picker picker;
    size_t started;
    size_t idle; /* looks in a row after which nothing else had happened */
};

/* A look brings a collective at least one row on or does nothing, and plans have fewer rows than
 * this: after so many idle looks a worker the run is stuck. */
enum { IDLE_LOOKS = 4 * HR_MAX_RANKS };

static bool worker_is_enabled(struct play *play, size_t rank)
{
    struct hr_worker *worker = &play->trainee[rank].worker;
    const struct hr_strategy *strategy = play->run->world.strategy;
    switch (play->state[rank]) {
    case WANTS:
    case ASKED:
    case HAS:
        return true;
    case AT_CUT:
        return hr_cut_may_arrive(play->run);
    case ARRIVING:
        return strategy->arrived(worker);
    case ARRIVED:
        return false;
    }
    return false;
}

static enum hr_status compute(struct hr_trainee *trainee, const struct hr_task *task)
{
    const enum hr_status status = hr_trainee_gradient(trainee, task);
    if (status == HR_OK)
        return HR_OK;
    return hr_fail_within(status, "rank %zu, step %llu", trainee->worker.rank,
                          (unsigned long long)task->index);
}

static enum hr_status worker_event(struct play *play, size_t rank)
{
    struct hr_trainee *trainee = &play->trainee[rank];
    struct hr_worker *worker = &trainee->worker;
    const struct hr_strategy *strategy = play->run->world.strategy;
    if (play->state[rank] == ASKED && !strategy->ready(worker)) {
        play->idle++;
        return HR_OK;
    }
    play->idle = 0;
    switch (play->state[rank]) {
    case WANTS:
        strategy->request(worker);
        play->state[rank] = ASKED;
        break;
    case ASKED:
        HR_TRY(strategy->accept(worker, &play->task[rank]));
        play->state[rank] = play->task[rank].kind == HR_TASK_CUT ? AT_CUT : HAS;
        break;
    case HAS:
        hr_control_step(play->run->world.control, rank, play->task[rank].index);
        HR_TRY(compute(trainee, &play->task[rank]));
        strategy->offer(worker);
        play->state[rank] = WANTS;
        break;
    case AT_CUT:
        strategy->arrive(worker);
        play->state[rank] = ARRIVING;
        break;
    case ARRIVING:
        play->state[rank] = ARRIVED;
        break;
    case ARRIVED:
        break;
    }
    return HR_OK;
}

/* Events in a fixed list: one a worker, then one for each shard and worker. */
static size_t list_events(struct play *play, unsigned char *enabled)
{
    const struct hr_world *world = &play->run->world;
    size_t n = 0;
    for (size_t r = 0; r < world->workers; r++)
        enabled[n++] = worker_is_enabled(play, r);
    for (size_t s = 0; s < world->servers; s++, n += world->workers)
        world->strategy->enabled(&play->shard[s], enabled + n);
    return n;
}

static bool all_arrived(const struct play *play)
{
    for (size_t r = 0; r < play->run->world.workers; r++)
        if (play->state[r] != ARRIVED)
            return false;
    return true;
}

/* The steps of run.h, one rank after another where threads have barriers. */
static enum hr_status at_cut(struct play *play)
{
    struct hr_run *run = play->run;
    const size_t workers = run->world.workers;
    hr_cut_decide(run);
    for (size_t r = 0; r < workers; r++)
        run->world.strategy->export_part(&play->trainee[r].worker);
    for (size_t r = 0; r < workers; r++) {
        HR_TRY(run->world.strategy->verify(&play->trainee[r].worker));
        if (run->board->evaluate)
            hr_trainee_evaluate(&play->trainee[r]);
    }
    hr_cut_conclude(run);
    for (size_t r = 0; r < workers; r++) {
        hr_cut_leave(&play->trainee[r]);
        play->state[r] = WANTS;
    }
    return hr_launcher_tick(run);
}

static enum hr_status one_event(struct play *play)
{
    unsigned char enabled[HR_MAX_RANKS + HR_MAX_RANKS * HR_MAX_RANKS];
    const struct hr_world *world = &play->run->world;
    const size_t n = list_events(play, enabled);
    const size_t event = hr_pick(&play->picker, enabled, n);
    if (event == n || play->idle > IDLE_LOOKS * world->workers)
        return hr_fail(HR_E_FAILED, "nothing can happen any more, and the run is not over");
    if (event < world->workers)
        return worker_event(play, event);
    const size_t input = event - world->workers;
    play->idle = 0;
    world->strategy->take(&play->shard[input / world->workers], input % world->workers);
    return HR_OK;
}

static enum hr_status play_all(struct play *play)
{
    struct hr_run *run = play->run;
    int64_t ticked = hr_clock_ns();
    run->board->span_began_ns = ticked;
    for (;;) {
        if (all_arrived(play)) {
            HR_TRY(at_cut(play));
            if (run->board->halt)
                return HR_OK;
            continue;
        }
        HR_TRY(one_event(play));
        if (hr_clock_ns() - ticked > HR_NS_PER_SECOND / 10) {
            HR_TRY(hr_launcher_tick(run));
            ticked = hr_clock_ns();
        }
    }
}

static enum hr_status set_up(struct play *play)
{
    struct hr_run *run = play->run;
    play->trainee = calloc(run->world.workers, sizeof *play->trainee);
    play->shard = calloc(run->world.servers + 1, sizeof *play->shard);
    if (!play->trainee || !play->shard)
        return hr_fail(HR_E_NOMEM, "no memory for %zu ranks", run->nranks);
    for (size_t s = 0; s < run->world.servers; s++)
        HR_TRY(run->world.strategy->shard_start(&play->shard[s], &run->world, s));
    for (; play->started < run->world.workers; play->started++)
        HR_TRY(hr_trainee_start(&play->trainee[play->started], run, play->started));
    return HR_OK;
}

enum hr_status hr_drive_events(struct hr_run *run)
{
    struct play play = {
        .run = run,
        .picker = {.kind = HR_PICK_EXPLORE, .seed = run->explore_seed},
    };
    enum hr_status status;
    hr_fp_flush_denormals();
    HR_TRY_GOTO(set_up(&play), status, out);
    status = play_all(&play);
out:
    for (size_t r = 0; r < play.started; r++)
        hr_trainee_stop(&play.trainee[r]);
    free(play.trainee);
    free(play.shard);
    return status;
}
