/* Who writes what, as those do who write it: named where it is listed.
 *
 *   each worker      its counters and times, what others cost it; what it exports
 *   first machine    (rank 0's) what the leader decides and counts; behind a loss all that a term
 *                    begins with
 *   active workers   each a stripe of what all have, each some blocks of an evaluation
 *   servers          each its slice
 *
 * Plain memory that is not listed is its machine's own, or goes along with messages. */
#include "train/areas.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "drive/quiesce.h"
#include "server/server.h"
#include "server/staleness.h"
#include "strategy/compression.h"
#include "strategy/shared.h"
#include "strategy/stragglers.h"
#include "worker/staged.h"
#include "worker/worker.h"

/* Sets of stages. */
#define AT(stage) (UINT32_C(1) << (stage))
#define ALWAYS UINT32_MAX

struct listing {
    const struct hr_run *run;
    const struct hr_shared_state *shared;
    struct hr_areas *areas;
    bool for_first, failed; /* for_first: those that come */
};

static void add(struct listing *to, const void *at, size_t bytes, size_t writer, uint32_t stages)
{
    struct hr_areas *areas = to->areas;
    if (areas->n == areas->room) {
        const size_t room = areas->room ? 2 * areas->room : 64;
        struct hr_area *area = realloc(areas->area, room * sizeof *area);
        to->failed |= !area;
        if (!area)
            return;
        areas->area = area;
        areas->room = room;
    }
    if (!bytes)
        return;
    memset(&areas->area[areas->n], 0, sizeof *areas->area); /* machines compare digests of it */
    areas->area[areas->n].offset = (uintptr_t)at - (uintptr_t)to->shared->segment;
    areas->area[areas->n].bytes = bytes;
    areas->area[areas->n].writer = writer;
    areas->area[areas->n].stages = stages;
    areas->area[areas->n++].for_first = to->for_first;
}

/* --- counters --- */

/* A worker's counters become the leader's to write when it has concluded the cut
 * (drive/leader.c), and behind a loss; its times stay its own, who goes on booking them. What was
 * dropped the one shard counts where it is read, on the first machine. */
static void list_stats(struct listing *to, size_t w)
{
    const struct hr_shared_state *shared = to->shared;
    const struct hr_worker_stats *stats = &shared->stats[w];
    const size_t counters = offsetof(struct hr_worker_stats, account),
                 dropped = offsetof(struct hr_worker_stats, dropped);
    const uint32_t leaders = AT(HR_STAGE_BEGINS) | AT(HR_STAGE_BACK);
    add(to, stats, counters, w, ~leaders);
    add(to, stats, counters, 0, leaders);
    add(to, &stats->account, dropped - counters, w, ~(AT(HR_STAGE_SPAN) | AT(HR_STAGE_BACK)));
}

/* What is decided: next and stop_at go along with messages. */
static void list_decisions(struct listing *to)
{
    const struct hr_dispenser *dispenser = to->shared->dispenser;
    add(to, to->run->job.cut, offsetof(struct hr_cut, saves_done), 0, ALWAYS);
    add(to, &dispenser->cut, sizeof dispenser->cut, 0, ALWAYS);
    add(to, &dispenser->begins, sizeof dispenser->begins, 0, ALWAYS);
}

/* Each machine's count of how stale pushes were (server/staleness.h): its workers' first writes. */
static void list_staleness(struct listing *to)
{
    const struct hr_shared_state *shared = to->shared;
    const struct hr_range copies = hr_staleness_copies(shared);
    const size_t each = copies.count / shared->hosts.machines;
    const unsigned char *first = (const unsigned char *)shared->staleness + copies.begin;
    for (size_t w = 0; w < shared->workers; w++)
        if (!w || !hr_hosts_same(&shared->hosts, w - 1, w))
            add(to, first + shared->hosts.machine[w] * each, each, w, AT(HR_STAGE_OVER));
}

/* --- the snapshot (strategy/rows.c, compression.c, server_shard.c) --- */

/* Arrays of (params) floats, of which active workers write stripes, or servers slices. */
static void list_stripes(struct listing *to, const float *array, size_t n, bool served)
{
    const struct hr_shared_state *shared = to->shared;
    const size_t parts = served ? shared->servers : shared->active->n;
    for (size_t i = 0; array && i < parts * n; i++) {
        const size_t p = i % parts,
                     begin = served ? hr_slice_begin(shared, p)
                                    : hr_stripe_begin(shared->params, parts, p),
                     end = served ? hr_slice_begin(shared, p + 1)
                                  : hr_stripe_begin(shared->params, parts, p + 1);
        add(to, array + i / parts * shared->params + begin, (end - begin) * sizeof *array,
            served ? hr_shard_rank(shared, p) : shared->active->rank[p], AT(HR_STAGE_EXPORTED));
    }
}

static bool is_active(const struct hr_shared_state *shared, size_t worker)
{
    size_t s = 0;
    while (s < shared->active->n && shared->active->rank[s] != worker)
        s++;
    return s < shared->active->n;
}

/* What each worker has of its own: `floats` of each. Of who is not active in a mean the active ones
 * write stripes. */
static void list_own(struct listing *to, const float *array, size_t floats, uint32_t stages)
{
    const struct hr_shared_state *shared = to->shared;
    const bool mean = hr_rows_mean(&shared->strategy->rows);
    for (size_t w = 0; array && w < shared->workers; w++)
        if (!mean || is_active(shared, w))
            add(to, array + w * floats, floats * sizeof *array, w, stages);
        else
            list_stripes(to, array + w * floats, floats / shared->params, false);
}

static void list_snapshot(struct listing *to)
{
    const struct hr_shared_state *shared = to->shared;
    const struct hr_snapshot *it = &shared->snapshot;
    const struct hr_rows *rows = &shared->strategy->rows;
    const bool own = rows->state == HR_KEPT_OWN, mean = hr_rows_mean(rows);
    to->for_first = false; /* what evaluation reads, and means are made of */
    list_stripes(to, it->weights, 1, rows->weights == HR_KEPT_SERVED);
    add(to, it->apart, sizeof *it->apart, 0, AT(HR_STAGE_EXPORTED));
    if (mean)
        list_own(to, it->replicas, shared->params, AT(HR_STAGE_COMBINED));
    to->for_first = true; /* what checkpoints hold */
    if (!mean)            /* they begin again as the cut is checked */
        list_own(to, it->replicas, shared->params, AT(HR_STAGE_EVALUATED));
    if (own)
        list_own(to, it->state, hr_state_floats(shared), AT(HR_STAGE_EXPORTED));
    else
        list_stripes(to, it->state, shared->optimizer.rule->nstates, rows->state == HR_KEPT_SERVED);
    for (size_t w = 0; w < it->state_copies; w++)
        add(to, it->applied + w, sizeof *it->applied, is_active(shared, w) ? w : 0,
            AT(HR_STAGE_EXPORTED));
    for (size_t w = 0; it->since && w < shared->workers; w++)
        add(to, it->since + w, sizeof *it->since, w, AT(HR_STAGE_EVALUATED));
    list_stripes(to, it->more, hr_rows_more(rows), false);
    for (size_t w = 0; it->errors && w < shared->workers; w++)
        add(to, it->errors + w * hr_compression_state_floats(shared),
            hr_compression_state_floats(shared) * sizeof(float), w, AT(HR_STAGE_EXPORTED));
}

/* --- an evaluation (worker/worker.c), of which machine 0 makes a point of the curve --- */

/* Blocks [begin, end). */
static void list_blocks(struct listing *to, size_t begin, size_t end, size_t writer,
                        enum hr_quiesce_stage stage)
{
    const struct hr_train_job *job = &to->run->job;
    const struct hr_tested *it = &job->tested;
    const size_t tests = job->dataset->test.count, sums = 2 * job->values.count,
                 first = hr_min_size(begin * HR_EVAL_BLOCK, tests),
                 count = hr_min_size(end * HR_EVAL_BLOCK, tests) - first;
    const unsigned char *outputs = (const unsigned char *)it->outputs;
    add(to, it->cells + begin, (end - begin) * sizeof *it->cells, writer, AT(stage));
    add(to, it->answers + first, count * it->answer_bytes, writer, AT(stage));
    add(to, outputs + first * it->output_bytes, count * it->output_bytes, writer, AT(stage));
    add(to, it->errors + begin * sums, (end - begin) * sums * sizeof *it->errors, writer,
        AT(stage));
}

static void list_evaluation(struct listing *to)
{
    const struct hr_active *active = to->shared->active;
    const size_t blocks = to->run->job.tested.nblocks;
    for (size_t g = 0; g < active->n; g++)
        list_blocks(to, hr_split_begin(blocks, active->n, g),
                    hr_split_begin(blocks, active->n, g + 1), active->rank[g], HR_STAGE_EVALUATED);
}

/* Behind a loss all begin with what machine 0 has gone back to. Other workers will say what it has
 * of the last evaluation, if they make none. */
static void list_term(struct listing *to)
{
    const struct hr_snapshot *it = &to->shared->snapshot;
    struct hr_snapshot_part part[HR_SNAPSHOT_PARTS];
    const size_t n = hr_snapshot_parts(to->shared, it, part);
    to->for_first = false;
    for (size_t i = 0; i < n; i++) {
        const void *at;
        memcpy(&at, (const unsigned char *)it + part[i].field, sizeof at);
        add(to, at, part[i].bytes * part[i].copies, 0, AT(HR_STAGE_BACK));
    }
    list_blocks(to, 0, to->run->job.tested.nblocks, 0, HR_STAGE_BACK);
}

/* --- what is read when all has ended --- */

static void list_stages(struct listing *to)
{
    const struct hr_train_job *job = &to->run->job;
    const size_t members = job->pipeline->members, team = job->pipeline->team,
                 spans = hr_spans_of_a_stage(job->pipeline);
    for (size_t i = 0; i < to->shared->workers * members; i++)
        add(to, &job->stage_accounts[i], sizeof *job->stage_accounts,
            hr_staged_rank(job, i / members, i % members), AT(HR_STAGE_OVER));
    for (size_t k = 0; job->when && k < job->pipeline->ranks; k++)
        add(to, &job->when[k * spans], spans * sizeof *job->when, hr_staged_rank(job, 0, k * team),
            AT(HR_STAGE_OVER));
}

static void list_calibration(struct listing *to)
{
    const struct hr_calibration *calibration = &to->run->drive.calibration;
    const struct hr_shared_state *shared = to->shared;
    const size_t each = sizeof *calibration->compute;
    for (size_t w = 0; w < shared->workers; w++) {
        add(to, &calibration->compute[w], each, w, AT(HR_STAGE_OVER));
        add(to, &calibration->idle[w], each, w, AT(HR_STAGE_OVER));
        add(to, &calibration->came[w], each, w, AT(HR_STAGE_OVER));
    }
    for (size_t r = 0; r < to->run->job.nranks; r++)
        add(to, &calibration->noticed[r], each, r, AT(HR_STAGE_OVER));
    for (size_t s = 0; s < shared->servers; s++)
        add(to, &calibration->served[s * HR_SENT_REPLY], HR_SENT_REPLY * each,
            hr_shard_rank(shared, s), AT(HR_STAGE_OVER));
}

enum hr_status hr_areas_list(const struct hr_run *run, struct hr_areas *areas)
{
    const struct hr_shared_state *shared = &run->shared;
    struct listing to = {.run = run, .shared = shared, .areas = areas};
    areas->n = 0;
    list_decisions(&to);
    for (size_t w = 0; w < shared->workers; w++)
        list_stats(&to, w);
    list_snapshot(&to);
    if (shared->outlives)
        list_term(&to);
    to.for_first = true;
    list_evaluation(&to);
    for (size_t w = 0; w < shared->workers; w++)
        add(&to, hr_stragglers_cost(shared, w, 0),
            shared->workers * HR_LATES * sizeof *hr_stragglers_cost(shared, w, 0), w,
            AT(HR_STAGE_ENDED) | AT(HR_STAGE_OVER));
    list_staleness(&to);
    if (run->job.pipeline)
        list_stages(&to);
    if (run->drive.calibration.compute)
        list_calibration(&to);
    return to.failed ? hr_fail(HR_E_NOMEM, "no memory to list what machines share") : HR_OK;
}

void hr_areas_free(struct hr_areas *areas)
{
    free(areas->area);
    *areas = (struct hr_areas){0};
}
