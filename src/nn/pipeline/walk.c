/* A list schedule: an action starts at the latest of its rank's last end and of its inputs'. Ranks
 * at work stand in a tournament; the one that ends first leaves its results, and begins its next
 * action if it can, as do the ranks that what it sent may let go on. So what happens is walked in
 * order of time, and when it is over, nobody is at work. */
#include "pipeline/walk.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"

enum { NEVER = -1, TOLD = 4 };
static const int64_t IDLE = INT64_MAX;

/* What an action leaves: a result of a part and a micro-batch. */
enum result { OUTPUT, DX, DW, RESULTS };

static const char *const names[RESULTS] = {"forward", "backward", "backward for the weights"};

struct walker {
    const struct hr_pipeline_schedule *schedule;
    const struct hr_pipeline_shape *shape;
    const struct hr_pipeline_costs *costs;
    struct hr_pipeline_walk *walk;
    int64_t *ended; /* (RESULTS, K * V, M) when; NEVER: not yet */
    int64_t *there; /* (DW, K * V, M) the same, when it has come to the part that needs it */
    size_t *next;   /* (K) the action that a rank does, or does next */
    size_t *last;   /* (K * V) the micro-batch that a part computed last */
    size_t leaves;  /* of the tournament: a power of two */
    int64_t *until; /* (2 leaves) leaf: when a rank's action ends, or IDLE; node: the first below */
};

/* What an action waits for: results of its micro-batch. */
struct needs {
    size_t n;
    struct need {
        enum result result;
        size_t part;
    } of[2];
};

static size_t part_of(const struct hr_pipeline_shape *shape, size_t rank,
                      const struct hr_stage_action *action)
{
    return action->chunk * shape->stages + rank;
}

static struct needs needs_of(const struct hr_pipeline_shape *shape, size_t rank,
                             const struct hr_stage_action *action)
{
    const size_t part = part_of(shape, rank, action), last = shape->stages * shape->chunks - 1;
    switch (action->work) {
    case HR_FORWARD:
        return (struct needs){part > 0, {{OUTPUT, part - 1}}};
    case HR_BACKWARD_WEIGHTS:
        return (struct needs){1, {{DX, part}}};
    default:
        return (struct needs){part < last ? 2 : 1, {{OUTPUT, part}, {DX, part + 1}}};
    }
}

static size_t place(const struct walker *walker, enum result result, size_t part, size_t micro)
{
    const size_t M = walker->shape->micro_batches;
    const size_t parts = walker->shape->stages * walker->shape->chunks;
    return (result * parts + part) * M + micro;
}

/* --- who ends first --- */

static void set_until(struct walker *walker, size_t rank, int64_t time)
{
    size_t node = walker->leaves + rank;
    walker->until[node] = time;
    while (node /= 2) {
        const int64_t left = walker->until[2 * node], right = walker->until[2 * node + 1];
        walker->until[node] = left <= right ? left : right;
    }
}

/* False: nobody is at work. */
static bool first_to_end(const struct walker *walker, size_t *rank)
{
    size_t node = 1;
    if (walker->until[1] == IDLE)
        return false;
    while (node < walker->leaves)
        node = 2 * node + (walker->until[2 * node] != walker->until[node]);
    *rank = node - walker->leaves;
    return true;
}

/* --- one action --- */

static int64_t cost_of(const struct hr_part_cost *part, enum hr_stage_work work)
{
    switch (work) {
    case HR_FORWARD:
        return part->forward;
    case HR_BACKWARD_DATA:
        return part->backward_data;
    case HR_BACKWARD_WEIGHTS:
        return part->backward_weights;
    default:
        return part->backward_data + part->backward_weights;
    }
}

/* The time of forward once more, for activations that others took the place of. */
static int64_t again_cost(const struct walker *walker, size_t part,
                          const struct hr_stage_action *action)
{
    const bool others = walker->last[part] != action->micro;
    return walker->costs->recompute && action->work != HR_FORWARD && others
               ? walker->costs->part[part].forward
               : 0;
}

/* When all inputs are there; NEVER: *missing is not. */
static int64_t inputs_ready(const struct walker *walker, size_t rank,
                            const struct hr_stage_action *action, struct need *missing)
{
    const size_t part = part_of(walker->shape, rank, action);
    const struct needs needs = needs_of(walker->shape, rank, action);
    int64_t ready = 0;
    for (size_t i = 0; i < needs.n; i++) {
        const struct need *need = &needs.of[i];
        const int64_t *when = need->part == part ? walker->ended : walker->there;
        const int64_t time = when[place(walker, need->result, need->part, action->micro)];
        *missing = *need;
        if (time == NEVER)
            return NEVER;
        ready = time > ready ? time : ready;
    }
    return ready;
}

static enum hr_status mark(struct walker *walker, size_t rank, const struct hr_pipeline_span *span)
{
    const struct hr_stage_action *action = &span->action;
    const enum hr_stage_work work = action->work;
    const size_t part = part_of(walker->shape, rank, action);
    const bool leaves[RESULTS] = {work == HR_FORWARD,
                                  work == HR_BACKWARD || work == HR_BACKWARD_DATA,
                                  work == HR_BACKWARD || work == HR_BACKWARD_WEIGHTS};
    for (enum result result = OUTPUT; result < RESULTS; result++) {
        int64_t *when = &walker->ended[place(walker, result, part, action->micro)];
        if (leaves[result] && *when != NEVER)
            return hr_fail(
                HR_E_FAILED, "%s: rank %zu does the %s of micro-batch %u, chunk %u twice",
                walker->schedule->name, rank, names[result], action->micro, action->chunk);
        if (leaves[result])
            *when = span->end;
    }
    return HR_OK;
}

/* An action's output, or dx, goes to the part beside it, unless it is at an end of the model. Out:
 * which part, and false where nothing goes anywhere. */
static bool hand_over(struct walker *walker, size_t rank, const struct hr_pipeline_span *span,
                      size_t *to)
{
    const size_t K = walker->shape->stages, from = part_of(walker->shape, rank, &span->action);
    const bool forward = span->action.work == HR_FORWARD;
    const struct hr_pipeline_costs *costs = walker->costs;
    if (span->action.work == HR_BACKWARD_WEIGHTS ||
        from == (forward ? K * walker->shape->chunks - 1 : 0))
        return false;
    *to = forward ? from + 1 : from - 1;
    walker->there[place(walker, forward ? OUTPUT : DX, from, span->action.micro)] =
        K > 1 && costs->arrival ? costs->arrival(costs->arg, from, *to, span->end) : span->end;
    walker->walk->messages += K > 1;
    return true;
}

/* --- all of them --- */

/* A rank that is not at work begins its next action, if its inputs are known. */
static void begin(struct walker *walker, size_t r)
{
    struct hr_rank_walk *rank = &walker->walk->rank[r];
    const size_t i = walker->next[r];
    struct need missing;
    if (i == rank->count || walker->until[walker->leaves + r] != IDLE)
        return;
    struct hr_pipeline_span *span = &rank->span[i];
    const size_t part = part_of(walker->shape, r, &span->action);
    const int64_t ready = inputs_ready(walker, r, &span->action, &missing);
    const int64_t free_at = i > 0 ? rank->span[i - 1].end : 0;
    if (ready == NEVER)
        return;
    const int64_t again = again_cost(walker, part, &span->action);
    span->start = ready > free_at ? ready : free_at;
    span->end = span->start + again + cost_of(&walker->costs->part[part], span->action.work);
    walker->last[part] = span->action.micro;
    rank->again += again;
    set_until(walker, r, span->end);
}

static enum hr_status end(struct walker *walker, size_t r)
{
    const struct hr_pipeline_span *span = &walker->walk->rank[r].span[walker->next[r]++];
    size_t to = 0;
    HR_TRY(mark(walker, r, span));
    set_until(walker, r, IDLE);
    const bool sent = hand_over(walker, r, span, &to);
    begin(walker, r);
    if (sent)
        begin(walker, to % walker->shape->stages);
    return HR_OK;
}

/* "rank 0 waits for rank 1 (backward of micro-batch 0), rank 1 waits for rank 0 (...)" */
static enum hr_status fail_stuck(const struct walker *walker)
{
    char text[512] = "";
    size_t told = 0, used = 0;
    for (size_t r = 0; r < walker->shape->stages && told < TOLD; r++) {
        const struct hr_rank_walk *rank = &walker->walk->rank[r];
        struct need missing = {OUTPUT, 0};
        if (walker->next[r] == rank->count)
            continue;
        const struct hr_stage_action *action = &rank->span[walker->next[r]].action;
        (void)inputs_ready(walker, r, action, &missing);
        used += (size_t)snprintf(text + used, sizeof text - used,
                                 "%srank %zu waits for rank %zu (%s of micro-batch %u)",
                                 told++ ? ", " : "", r, missing.part % walker->shape->stages,
                                 names[missing.result], action->micro);
    }
    return hr_fail(HR_E_FAILED, "%s never ends: %s", walker->schedule->name, text);
}

/* Every result is there; so every message was taken, by the one action that needs it. */
static enum hr_status check_complete(const struct walker *walker)
{
    const size_t K = walker->shape->stages, M = walker->shape->micro_batches;
    for (enum result result = OUTPUT; result < RESULTS; result++)
        for (size_t part = 0; part < K * walker->shape->chunks; part++)
            for (size_t m = 0; m < M; m++)
                if (walker->ended[place(walker, result, part, m)] == NEVER)
                    return hr_fail(HR_E_FAILED,
                                   "%s: rank %zu never does the %s of micro-batch %zu, chunk %zu",
                                   walker->schedule->name, part % K, names[result], m, part / K);
    return HR_OK;
}

static enum hr_status walk_all(struct walker *walker)
{
    const size_t K = walker->shape->stages;
    size_t r;
    for (r = 0; r < K; r++)
        begin(walker, r);
    while (first_to_end(walker, &r))
        HR_TRY(end(walker, r));
    for (r = 0; r < K; r++)
        if (walker->next[r] < walker->walk->rank[r].count)
            return fail_stuck(walker);
    return check_complete(walker);
}

/* --- figures --- */

static size_t most_stored(const struct hr_pipeline_schedule *schedule,
                          const struct hr_rank_walk *rank)
{
    const enum hr_stage_work frees = schedule->splits_backward ? HR_BACKWARD_WEIGHTS : HR_BACKWARD;
    size_t stored = 0, most = 0;
    for (size_t i = 0; i < rank->count; i++) {
        stored += rank->span[i].action.work == HR_FORWARD;
        most = stored > most ? stored : most;
        stored -= rank->span[i].action.work == frees;
    }
    return most;
}

static void count_figures(const struct hr_pipeline_schedule *schedule,
                          struct hr_pipeline_walk *walk)
{
    const size_t K = walk->shape.stages;
    double idle = 0;
    for (size_t r = 0; r < K; r++) {
        const struct hr_rank_walk *rank = &walk->rank[r];
        const int64_t end = rank->count ? rank->span[rank->count - 1].end : 0;
        walk->makespan = end > walk->makespan ? end : walk->makespan;
    }
    for (size_t r = 0; r < K; r++) {
        struct hr_rank_walk *rank = &walk->rank[r];
        rank->idle = walk->makespan;
        for (size_t i = 0; i < rank->count; i++)
            rank->idle -= rank->span[i].end - rank->span[i].start;
        rank->stored = most_stored(schedule, rank);
        idle += (double)rank->idle;
    }
    walk->bubble = walk->makespan ? idle / ((double)K * (double)walk->makespan) : 0;
}

/* --- memory --- */

static enum hr_status take_lists(struct walker *walker)
{
    const struct hr_pipeline_shape *shape = walker->shape;
    struct hr_pipeline_walk *walk = walker->walk;
    struct hr_stage_action *list = NULL;
    size_t total = 0, most = 0;
    walk->rank = calloc(shape->stages, sizeof *walk->rank);
    for (size_t r = 0; walk->rank && r < shape->stages; r++) {
        walk->rank[r].count = walker->schedule->actions(shape, r, NULL);
        most = walk->rank[r].count > most ? walk->rank[r].count : most;
        total += walk->rank[r].count;
    }
    walk->span = calloc(total + 1, sizeof *walk->span);
    list = calloc(most + 1, sizeof *list);
    if (!walk->rank || !walk->span || !list) {
        free(list);
        return hr_fail(HR_E_NOMEM, "no memory to walk a pipeline of %zu actions", total);
    }
    struct hr_pipeline_span *span = walk->span;
    for (size_t r = 0; r < shape->stages; r++) {
        walk->rank[r].span = span;
        (void)walker->schedule->actions(shape, r, list);
        for (size_t i = 0; i < walk->rank[r].count; i++) {
            HR_ASSERT(list[i].micro < shape->micro_batches && list[i].chunk < shape->chunks);
            span++->action = list[i];
        }
    }
    free(list);
    return HR_OK;
}

static enum hr_status take_memory(struct walker *walker)
{
    const struct hr_pipeline_shape *shape = walker->shape;
    const size_t results = shape->stages * shape->chunks * shape->micro_batches;
    const size_t times = (RESULTS + DW) * results;
    HR_TRY(hr_memory_ask("a pipeline on paper",
                         times * sizeof *walker->ended +
                             RESULTS * results * sizeof(struct hr_pipeline_span)));
    for (walker->leaves = 1; walker->leaves < shape->stages;)
        walker->leaves *= 2;
    walker->ended = malloc(times * sizeof *walker->ended);
    walker->until = malloc(2 * walker->leaves * sizeof *walker->until);
    walker->next = calloc(shape->stages, sizeof *walker->next);
    walker->last = calloc(shape->stages * shape->chunks, sizeof *walker->last);
    if (!walker->ended || !walker->until || !walker->next || !walker->last)
        return hr_fail(HR_E_NOMEM, "no memory to walk a pipeline of %zu results", results);
    walker->there = walker->ended + RESULTS * results;
    for (size_t i = 0; i < times; i++)
        walker->ended[i] = NEVER;
    for (size_t i = 0; i < 2 * walker->leaves; i++)
        walker->until[i] = IDLE;
    return take_lists(walker);
}

enum hr_status hr_pipeline_walk(const struct hr_pipeline_schedule *schedule,
                                const struct hr_pipeline_shape *shape,
                                const struct hr_pipeline_costs *costs, struct hr_pipeline_walk *out)
{
    struct walker walker = {.schedule = schedule, .shape = shape, .costs = costs, .walk = out};
    *out = (struct hr_pipeline_walk){.shape = *shape};
    enum hr_status status = take_memory(&walker);
    if (status == HR_OK)
        status = walk_all(&walker);
    if (status == HR_OK)
        count_figures(schedule, out);
    else
        hr_pipeline_walk_fini(out);
    free(walker.ended);
    free(walker.until);
    free(walker.next);
    free(walker.last);
    return status;
}

void hr_pipeline_walk_fini(struct hr_pipeline_walk *walk)
{
    free(walk->rank);
    free(walk->span);
    *walk = (struct hr_pipeline_walk){0};
}
