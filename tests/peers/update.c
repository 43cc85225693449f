/* Fused reduce and update beside an all-reduce with an update of every replica behind it (P4).
 *
 *   update RANKS ROUNDS BYTES,BYTES...    BYTES of parameters a rank; SGD, momentum 0.9
 *
 * The fused side is what src/strategies/allreduce.c does: whoever sums a block updates it, with the
 * one state there is, and writes it into all replicas. Apart: everybody gets the sum, and updates
 * its own replica with a state of its own. Ranks are threads, as many as asked for; with more of
 * them than processors both sides wait as training does then.
 *
 * A round is some calls of one side and as many of the other, which side first changes by round.
 * Before each call every rank rewrites its gradients, the same for both sides, untimed. A call lasts
 * from the first rank's begin to the last one's end; of a round the median counts. At the end all
 * replicas of both sides must have the same bits. One JSON line a size: ms of each side, a round.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/cpus.h"
#include "base/size.h"
#include "base/vec.h"
#include "group/group.h"
#include "launch/launch.h"
#include "optim/optimizer.h"
#include "shm/segment.h"
#include "shm/wait.h"

enum { MOST_RANKS = 16, MOST_ROUNDS = 64, MOST_CALLS = 64, WARMUP = 2, SKEW_LINES = 9 };
enum { PAST_CACHES_BYTES = 16 << 20 }; /* as in strategies/allreduce.c */
enum side { FUSED, APART };

struct runs {
    size_t nranks, rounds, calls, count; /* calls of a side in a round; count: parameters */
    struct hr_group_options options;
    struct hr_optimizer optimizer;
    struct hr_param_segment whole;
    struct hr_segment control_segment, segment;
    void *group;
    float *grads[MOST_RANKS];                   /* (count) both sides' */
    float *weights[2][MOST_RANKS];              /* (count) by side */
    float *state[2][MOST_RANKS];                /* (count) the momentum; FUSED: one for all */
    int64_t begin[MOST_RANKS], end[MOST_RANKS]; /* of the last call */
    double ms[2][MOST_ROUNDS];
};

struct rank {
    struct runs *runs;
    size_t rank;
    struct hr_waiter waiter;
    struct hr_member member;
    struct hr_step step;
    uint64_t updates[2];
};

/* As in strategies/allreduce.c. */
static void apply(void *arg, size_t begin, size_t count, const float *sum)
{
    const struct rank *me = arg;
    const struct runs *c = me->runs;
    float *first = c->weights[FUSED][0] + begin;
    hr_step_update(&me->step, begin, count, first, c->state[FUSED][0], sum);
    float *out[MOST_RANKS];
    for (size_t w = 1; w < c->nranks; w++)
        out[w - 1] = c->weights[FUSED][w] + begin;
    if (c->nranks * c->count * sizeof *first >= PAST_CACHES_BYTES)
        hr_vec()->copy_past(out, c->nranks - 1, first, count);
    else
        for (size_t w = 0; w + 1 < c->nranks; w++)
            memcpy(out[w], first, count * sizeof *first);
}

static enum hr_status call(struct rank *me, enum side side)
{
    struct runs *c = me->runs;
    float *grads = c->grads[me->rank];
    me->step = hr_step_of(&c->optimizer, 0.02, 64 * c->nranks, ++me->updates[side]);
    if (side == FUSED) {
        hr_member_reduce_apply_start(&me->member, grads, 0, c->count, apply, me);
        return hr_member_wait(&me->member);
    }
    hr_member_all_reduce_start(&me->member, grads, 0, c->count);
    HR_TRY(hr_member_wait(&me->member));
    hr_step_update(&me->step, 0, c->count, c->weights[APART][me->rank], c->state[APART][me->rank],
                   grads);
    return HR_OK;
}

static void rewrite(struct rank *me, enum side side)
{
    float *grads = me->runs->grads[me->rank];
    const float step = (float)(me->updates[side] % 7 + me->rank) / 128.0f;
    for (size_t i = 0; i < me->runs->count; i++)
        grads[i] = step + (float)(i % 1021) / 512.0f;
}

static enum hr_status timed_call(struct rank *me, enum side side, double *ms)
{
    struct runs *c = me->runs;
    rewrite(me, side);
    HR_TRY(hr_member_barrier(&me->member));
    c->begin[me->rank] = hr_clock_ns();
    HR_TRY(call(me, side));
    c->end[me->rank] = hr_clock_ns();
    HR_TRY(hr_member_barrier(&me->member));
    int64_t begin = c->begin[0], end = c->end[0];
    for (size_t r = 1; r < c->nranks; r++) {
        begin = c->begin[r] < begin ? c->begin[r] : begin;
        end = c->end[r] > end ? c->end[r] : end;
    }
    *ms = 1e3 * hr_seconds(end - begin);
    return hr_member_barrier(&me->member); /* nobody writes times that others still read */
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static enum hr_status play(struct rank *me)
{
    struct runs *c = me->runs;
    double ms[MOST_CALLS];
    for (size_t k = 0; k < WARMUP + c->rounds; k++)
        for (size_t turn = 0; turn < 2; turn++) {
            const enum side side = (k + turn) % 2 ? APART : FUSED;
            for (size_t i = 0; i < c->calls; i++)
                HR_TRY(timed_call(me, side, &ms[i]));
            qsort(ms, c->calls, sizeof *ms, compare_doubles);
            if (k >= WARMUP && me->rank == 0)
                c->ms[side][k - WARMUP] = ms[c->calls / 2];
        }
    return HR_OK;
}

static enum hr_status rank_main(void *arg, size_t number)
{
    struct runs *c = arg;
    struct rank *me = calloc(1, sizeof *me);
    struct hr_control *control = c->control_segment.base;
    if (!me)
        return hr_fail(HR_E_NOMEM, "no memory for a rank");
    me->runs = c;
    me->rank = number;
    me->waiter = (struct hr_waiter){.abort = &control->abort,
                                    .spin_ns = hr_spin_budget_ns(c->nranks),
                                    .yield_ns = hr_yield_budget_ns(c->nranks),
                                    .timeout_ns = 30 * HR_NS_PER_SECOND};
    const struct hr_place place = {
        .group = c->group, .segment = c->segment.base, .control = control, .waiter = &me->waiter};
    hr_cpus_pin(number);
    enum hr_status status = hr_member_init(&me->member, &c->options, &place, number);
    if (status == HR_OK) {
        status = play(me);
        hr_member_fini(&me->member);
    }
    free(me);
    return status;
}

/* --- memory --- */

/* `bytes` of the segment; arenas lie as those of training do (train/run.c). */
static float *carve(struct runs *c, size_t *used, size_t bytes)
{
    unsigned char *at = (unsigned char *)c->segment.base + *used;
    *used += hr_round_up(bytes, 4096) + SKEW_LINES * HR_LINE;
    return (float *)(void *)at;
}

static enum hr_status open_contest(struct runs *c)
{
    const size_t n = c->nranks, bytes = c->count * sizeof(float);
    size_t group_bytes, used = 0;
    HR_TRY(hr_group_bytes(&c->options, &group_bytes));
    const size_t arenas = 4 * n + 1;
    HR_TRY(hr_segment_create(hr_control_bytes(n), true, &c->control_segment));
    HR_TRY(hr_segment_create(group_bytes + (arenas + 1) * (bytes + 8192), false, &c->segment));
    hr_control_init(c->control_segment.base, n);
    c->group = carve(c, &used, group_bytes);
    HR_TRY(hr_group_init(c->group, &c->options));
    c->state[FUSED][0] = carve(c, &used, bytes);
    for (size_t r = 0; r < n; r++) {
        c->grads[r] = carve(c, &used, bytes);
        c->weights[FUSED][r] = carve(c, &used, bytes);
        c->weights[APART][r] = carve(c, &used, bytes);
        c->state[APART][r] = carve(c, &used, bytes);
    }
    return HR_OK;
}

static bool all_replicas_agree(const struct runs *c)
{
    for (size_t r = 0; r < c->nranks; r++)
        for (enum side side = FUSED; side <= APART; side++)
            if (memcmp(c->weights[side][r], c->weights[FUSED][0], c->count * sizeof(float)) != 0)
                return false;
    return c->weights[FUSED][0][0] < 0; /* and something has moved */
}

static void print_side(const char *name, const double *ms, size_t rounds)
{
    printf(", \"%s_ms\": [", name);
    for (size_t k = 0; k < rounds; k++)
        printf("%s%.4f", k ? ", " : "", ms[k]);
    printf("]");
}

static enum hr_status measure(size_t nranks, size_t rounds, size_t bytes)
{
    static struct runs runs;
    struct runs *c = &runs;
    bool stuck;
    const size_t calls = ((size_t)64 << 20) / bytes;
    *c = (struct runs){.nranks = nranks, .rounds = rounds, .count = bytes / sizeof(float)};
    c->calls = calls < 1 ? 1 : hr_min_size(calls, MOST_CALLS);
    c->options = (struct hr_group_options){.nranks = nranks,
                                           .algorithm = &hr_allreduce_direct,
                                           .crowded = nranks > hr_cpus_allowed(),
                                           .helpers = hr_cpus_allowed() - 1};
    c->whole = (struct hr_param_segment){0, c->count, HR_SEGMENT_TRAINED};
    c->optimizer = (struct hr_optimizer){
        .momentum = 0.9, .segments = &c->whole, .nsegments = 1, .params = c->count};
    HR_TRY(hr_rule_find("sgd", &c->optimizer.rule));
    HR_TRY(open_contest(c));
    const struct hr_launch_options launch = {.launch = HR_LAUNCH_THREAD,
                                             .nranks = nranks,
                                             .control = c->control_segment.base,
                                             .main = rank_main,
                                             .arg = c};
    HR_TRY(hr_launch_run(&launch, &stuck));
    printf("{\"op\": \"update\", \"ranks\": %zu, \"bytes\": %zu, \"crowded\": %s, \"same\": %s",
           nranks, bytes, c->options.crowded ? "true" : "false",
           all_replicas_agree(c) ? "true" : "false");
    print_side("fused", c->ms[FUSED], rounds);
    print_side("apart", c->ms[APART], rounds);
    printf("}\n");
    fflush(stdout);
    hr_segment_destroy(&c->segment);
    hr_segment_destroy(&c->control_segment);
    return HR_OK;
}

int main(int argc, char **argv)
{
    const size_t nranks = argc == 4 ? strtoul(argv[1], NULL, 10) : 0;
    const size_t rounds = argc == 4 ? strtoul(argv[2], NULL, 10) : 0;
    if (nranks < 1 || nranks > MOST_RANKS || rounds < 1 || rounds > MOST_ROUNDS) {
        fprintf(stderr, "update RANKS ROUNDS BYTES,BYTES...    at most %d ranks, %d rounds\n",
                MOST_RANKS, MOST_ROUNDS);
        return 2;
    }
    for (char *at = strtok(argv[3], ","); at; at = strtok(NULL, ",")) {
        if (measure(nranks, rounds, strtoul(at, NULL, 10)) != HR_OK) {
            fprintf(stderr, "update: %s\n", hr_error_message());
            return 1;
        }
    }
    return 0;
}
