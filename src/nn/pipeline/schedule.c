#include "pipeline/schedule.h"

#include "base/size.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

/* A list of actions as it grows. */
struct action_list {
    struct hr_stage_action *out; /* NULL: they are counted */
    size_t count;
};

static void put(struct action_list *list, enum hr_stage_work work, size_t micro, size_t chunk)
{
    if (list->out)
        list->out[list->count] = (struct hr_stage_action){work, (uint32_t)micro, (uint32_t)chunk};
    list->count++;
}

static enum hr_status check_size(const char *option, size_t size, size_t most)
{
    if (size >= 1 && size <= most)
        return HR_OK;
    return hr_fail(HR_E_USAGE, "%s%zu: expected 1 to %zu", option, size, most);
}

/* Sizes in their limits. */
static enum hr_status pipeline_check_sizes(const struct hr_pipeline_shape *shape)
{
    HR_TRY(check_size("--pipeline ", shape->stages, HR_PIPELINE_STAGES));
    HR_TRY(
        check_size("--pipeline micro-batches=", shape->micro_batches, HR_PIPELINE_MICRO_BATCHES));
    return check_size("--pipeline schedule=interleaved:", shape->chunks, HR_PIPELINE_CHUNKS);
}

/* The same, and one chunk a rank. */
static enum hr_status pipeline_check_one_chunk(const struct hr_pipeline_shape *shape)
{
    HR_TRY(pipeline_check_sizes(shape));
    if (shape->chunks == 1)
        return HR_OK;
    return hr_fail(HR_E_USAGE,
                   "--pipeline schedule=interleaved:%zu: no other has more than one part per stage",
                   shape->chunks);
}

/* Of GPipe and 1F1B: K - 1 slots idle of M + K - 1. */
static double whole_bubble(const struct hr_pipeline_shape *shape)
{
    const double K = (double)shape->stages, M = (double)shape->micro_batches;
    return (K - 1) / (M + K - 1);
}

/* --- GPipe: all forward, then all backward (Huang et al., arXiv 1811.06965) ---
 *
 *   Story    a rank does the forward of all micro-batches, then the backward of all
 *   Bubble   K - 1 slots of M + K - 1 while the pipeline fills, and as many while it drains
 *   Stored   all M micro-batches, on every rank
 *   Order    the paper goes backward from the last micro-batch; here it is from the first, as
 *            everywhere, and takes as long */

static size_t gpipe_actions(const struct hr_pipeline_shape *shape, size_t rank,
                            struct hr_stage_action *out)
{
    struct action_list list = {.out = out};
    (void)rank;
    for (size_t m = 0; m < shape->micro_batches; m++)
        put(&list, HR_FORWARD, m, 0);
    for (size_t m = 0; m < shape->micro_batches; m++)
        put(&list, HR_BACKWARD, m, 0);
    return list.count;
}

static size_t gpipe_stored(const struct hr_pipeline_shape *shape, size_t rank)
{
    (void)rank;
    return shape->micro_batches;
}

const struct hr_pipeline_schedule hr_schedule_gpipe = {
    .name = "gpipe",
    .about = "all forward, then all backward; stores every micro-batch",
    .synchronous = true,
    .check = pipeline_check_one_chunk,
    .actions = gpipe_actions,
    .bubble = whole_bubble,
    .stored = gpipe_stored,
};

/* --- 1F1B: one forward, one backward (PipeDream-flush, arXiv 2006.09503; Megatron-LM) ---
 *
 *   Story    rank k begins with the forward of K - 1 - k micro-batches, as many as are on their
 *            way to the last rank and back; then it does one forward and one backward in turn, and
 *            at last the backward that is left
 *   Bubble   as GPipe's: K - 1 slots of M + K - 1
 *   Stored   no more than K - k micro-batches, however many there are */

static size_t one_by_one_actions(const struct hr_pipeline_shape *shape, size_t rank,
                                 struct hr_stage_action *out)
{
    struct action_list list = {.out = out};
    const size_t M = shape->micro_batches, ahead = hr_min_size(M, shape->stages - 1 - rank);
    for (size_t m = 0; m < ahead; m++)
        put(&list, HR_FORWARD, m, 0);
    for (size_t m = 0; m < M; m++) {
        if (m + ahead < M)
            put(&list, HR_FORWARD, m + ahead, 0);
        put(&list, HR_BACKWARD, m, 0);
    }
    return list.count;
}

static size_t one_by_one_stored(const struct hr_pipeline_shape *shape, size_t rank)
{
    return hr_min_size(shape->micro_batches, shape->stages - rank);
}

const struct hr_pipeline_schedule hr_schedule_1f1b = {
    .name = "1f1b",
    .about = "one forward, one backward; stores at most as many micro-batches as stages",
    .synchronous = true,
    .check = pipeline_check_one_chunk,
    .actions = one_by_one_actions,
    .bubble = whole_bubble,
    .stored = one_by_one_stored,
};

/* --- interleaved ---
 * Interleaved 1F1B: a rank has V parts of the model (Narayanan et al., arXiv 2104.04473).
 *
 *   Words    T = M * V passes a rank each way. Pass n belongs to a group of K micro-batches that go
 *            through all chunks one after the other: micro-batch n / (K V) * K + n % K, chunk
 *            n % (K V) / K; backward the chunks come from the last.
 *   Story    as 1F1B over passes. Rank k begins with (V - 1) K + 2 (K - 1 - k) forward passes: what
 *            is on its way through its other chunks, and to the last rank and back. Half of the 2
 *            would do where messages take no time: the other half lets them travel meanwhile.
 *   Bubble   K - 1 slots of V M + K - 1, a V-th of 1F1B's; V times as many messages
 *   Stored   those forward passes and one, each of a V-th of the rank's layers */

static enum hr_status interleaved_check(const struct hr_pipeline_shape *shape)
{
    const size_t K = shape->stages, M = shape->micro_batches;
    HR_TRY(pipeline_check_sizes(shape));
    if (M % K == 0)
        return HR_OK;
    const size_t below = M / K * K;
    if (below == 0)
        return hr_fail(
            HR_E_USAGE,
            "--pipeline micro-batches=%zu: interleaved wants a multiple of the %zu stages, as %zu",
            M, K, K);
    return hr_fail(
        HR_E_USAGE,
        "--pipeline micro-batches=%zu: interleaved wants a multiple of the %zu stages, as %zu or "
        "%zu",
        M, K, below, below + K);
}

static size_t passes(const struct hr_pipeline_shape *shape)
{
    return shape->micro_batches * shape->chunks;
}

/* Forward passes before the first backward. */
static size_t passes_ahead(const struct hr_pipeline_shape *shape, size_t rank)
{
    const size_t K = shape->stages, ahead = (shape->chunks - 1) * K + 2 * (K - 1 - rank);
    return ahead < passes(shape) ? ahead : passes(shape);
}

static void put_pass(struct action_list *list, const struct hr_pipeline_shape *shape,
                     enum hr_stage_work work, size_t n)
{
    const size_t K = shape->stages, V = shape->chunks;
    const size_t micro = n / (K * V) * K + n % K, chunk = n % (K * V) / K;
    put(list, work, micro, work == HR_FORWARD ? chunk : V - 1 - chunk);
}

static size_t interleaved_actions(const struct hr_pipeline_shape *shape, size_t rank,
                                  struct hr_stage_action *out)
{
    struct action_list list = {.out = out};
    const size_t T = passes(shape), ahead = passes_ahead(shape, rank);
    for (size_t n = 0; n < ahead; n++)
        put_pass(&list, shape, HR_FORWARD, n);
    for (size_t n = 0; n < T; n++) {
        if (n + ahead < T)
            put_pass(&list, shape, HR_FORWARD, n + ahead);
        put_pass(&list, shape, HR_BACKWARD, n);
    }
    return list.count;
}

static double interleaved_bubble(const struct hr_pipeline_shape *shape)
{
    const double K = (double)shape->stages, T = (double)passes(shape);
    return (K - 1) / (T + K - 1);
}

static size_t interleaved_stored(const struct hr_pipeline_shape *shape, size_t rank)
{
    const size_t T = passes(shape), ahead = passes_ahead(shape, rank);
    return ahead < T ? ahead + 1 : T;
}

const struct hr_pipeline_schedule hr_schedule_interleaved = {
    .name = "interleaved",
    .about = "1f1b with several parts of the model a stage; stages divide micro-batches",
    .synchronous = true,
    .check = interleaved_check,
    .actions = interleaved_actions,
    .bubble = interleaved_bubble,
    .stored = interleaved_stored,
};

/* --- ZB-H1: backward for the data and for the weights apart (Qi et al., arXiv 2401.10241) ---
 *
 *   Story    1F1B, but a rank's backward is for the data alone, so that the rank before may go on;
 *            that for the weights, which nobody waits for, comes k micro-batches later on rank k,
 *            where 1F1B has less to store, and fills the end, where 1F1B idles
 *   Bubble   K - 1 slots of 3 M + K - 1 where M >= K: a third of 1F1B's idle time. With fewer
 *            micro-batches there are too few gradients of weights to fill with: K - M slots more.
 *   Stored   min(M, K) micro-batches on every rank: what rank 0 stores under 1F1B */

static size_t zero_bubble_actions(const struct hr_pipeline_shape *shape, size_t rank,
                                  struct hr_stage_action *out)
{
    struct action_list list = {.out = out};
    const size_t M = shape->micro_batches, ahead = shape->stages - 1 - rank;
    for (size_t m = 0; m < ahead && m < M; m++)
        put(&list, HR_FORWARD, m, 0);
    for (size_t m = 0; m < M; m++) {
        if (m + ahead < M)
            put(&list, HR_FORWARD, m + ahead, 0);
        put(&list, HR_BACKWARD_DATA, m, 0);
        if (m >= rank)
            put(&list, HR_BACKWARD_WEIGHTS, m - rank, 0);
    }
    for (size_t m = M > rank ? M - rank : 0; m < M; m++)
        put(&list, HR_BACKWARD_WEIGHTS, m, 0);
    return list.count;
}

static double zero_bubble_bubble(const struct hr_pipeline_shape *shape)
{
    const double K = (double)shape->stages, M = (double)shape->micro_batches;
    const double idle = K - 1 + (K > M ? K - M : 0);
    return idle / (3 * M + idle);
}

static size_t zero_bubble_stored(const struct hr_pipeline_shape *shape, size_t rank)
{
    (void)rank;
    return shape->micro_batches < shape->stages ? shape->micro_batches : shape->stages;
}

const struct hr_pipeline_schedule hr_schedule_zero_bubble = {
    .name = "zero-bubble",
    .about = "1f1b with the backward for the weights apart, where a stage would idle (ZB-H1)",
    .synchronous = true,
    .splits_backward = true,
    .check = pipeline_check_one_chunk,
    .actions = zero_bubble_actions,
    .bubble = zero_bubble_bubble,
    .stored = zero_bubble_stored,
};

/* --- PipeDream: no flush, stashed weights (Narayanan et al., arXiv 1806.03377) ---
 *
 *   Story    every minibatch goes through the stages in 1F1B's order, and a stage applies its
 *            gradient at once. While a minibatch is on its way the stage makes K - 1 - k updates;
 *            its backward takes the weights that its forward read, which the stage has stashed.
 *   Bubble   only while a run of M minibatches fills and drains: K - 1 slots of M + K - 1
 *   Stored   activations as 1F1B, and as many versions of the weights
 *   Stale    forward and backward by K - 1 - k of the stage's own updates */

static size_t pipedream_versions(const struct hr_pipeline_shape *shape, size_t rank)
{
    return shape->stages - rank;
}

static size_t pipedream_staleness(const struct hr_pipeline_shape *shape, size_t rank,
                                  enum hr_stage_work work)
{
    (void)work;
    return shape->stages - 1 - rank;
}

const struct hr_pipeline_schedule hr_schedule_pipedream = {
    .name = "pipedream",
    .about = "1f1b without a flush: one update per minibatch, by gradients of stashed weights",
    .check = pipeline_check_one_chunk,
    .actions = one_by_one_actions,
    .bubble = whole_bubble,
    .stored = one_by_one_stored,
    .versions = pipedream_versions,
    .staleness = pipedream_staleness,
};

/* --- PipeDream without its stash of weights: what that is for ---
 *
 *   Story    as pipedream, but the backward takes the weights as they are by then: not those that
 *            its forward read, so the gradient is of no single state of the weights
 *   Stored   activations as 1F1B, and one version of the weights
 *   Stale    forward by K - 1 - k of the stage's own updates, backward by none */

static size_t unstashed_versions(const struct hr_pipeline_shape *shape, size_t rank)
{
    (void)shape;
    (void)rank;
    return 1;
}

static size_t unstashed_staleness(const struct hr_pipeline_shape *shape, size_t rank,
                                  enum hr_stage_work work)
{
    return work == HR_FORWARD ? shape->stages - 1 - rank : 0;
}

const struct hr_pipeline_schedule hr_schedule_unstashed = {
    .name = "unstashed",
    .about = "pipedream without the stash: backward takes other weights than its forward",
    .check = pipeline_check_one_chunk,
    .actions = one_by_one_actions,
    .bubble = whole_bubble,
    .stored = one_by_one_stored,
    .versions = unstashed_versions,
    .staleness = unstashed_staleness,
};

/* --- the list --- */

#define ADDRESS(name) &hr_schedule_##name,
static const struct hr_pipeline_schedule *const schedules[] = {HR_PIPELINE_SCHEDULES(ADDRESS)};

enum { NSCHEDULES = sizeof schedules / sizeof *schedules };

const struct hr_pipeline_schedule *hr_pipeline_schedule_at(size_t i)
{
    return i < NSCHEDULES ? schedules[i] : NULL;
}

enum hr_status hr_pipeline_schedule_find(const char *name, const struct hr_pipeline_schedule **out)
{
    char known[256] = "";
    for (size_t i = 0; i < NSCHEDULES; i++) {
        if (!strcmp(name, schedules[i]->name)) {
            *out = schedules[i];
            return HR_OK;
        }
        hr_append(known, sizeof known, "%s%s", i ? ", " : "", schedules[i]->name);
    }
    return hr_fail(HR_E_USAGE, "--pipeline schedule=%s: there is no such schedule (there are: %s)",
                   name, known);
}
