/* Sums among ranks, and beside them the orders in which algorithms add, stated anew: nothing
 * there uses what it judges, no plans, no vector kernels. */
#include "verify/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/size.h"
#include "group/world.h"

/* --- the orders, stated anew --- */

enum { RUN = 16384, MOST_ORDERED = 64 }; /* elements that are dealt out together; ranks */

/* T(n): of the first numbers, as many as the largest power of two below n, and of the rest. */
static float tree_sum(const float *x, size_t n)
{
    size_t first = 1;
    if (n == 1)
        return x[0];
    while (2 * first < n)
        first *= 2;
    const float left = tree_sum(x, first), right = tree_sum(x + first, n - first);
    return left + right;
}

/* From rank `first`, n times one on (or, backward, one back). */
static float round_the_ring(const float *x, size_t n, size_t first, int backward)
{
    float sum = x[first];
    for (size_t k = 1; k < n; k++) {
        const float next = x[(first + (backward ? n - k : k)) % n];
        sum = sum + next;
    }
    return sum;
}

static float from_the_last(const float *x, size_t n)
{
    float reversed[MOST_ORDERED];
    for (size_t i = 0; i < n; i++)
        reversed[i] = x[n - 1 - i];
    return tree_sum(reversed, n);
}

/* Leaves x_r + x_(r+p), p the largest power of two up to n. */
static float halved(const float *x, size_t n)
{
    float leaf[MOST_ORDERED];
    size_t p = 1;
    while (2 * p <= n)
        p *= 2;
    for (size_t r = 0; r < p; r++)
        leaf[r] = r + p < n ? x[r] + x[r + p] : x[r];
    return tree_sum(leaf, p);
}

static float by_nodes(const float *x, size_t n, size_t size)
{
    float node[MOST_ORDERED];
    size_t nodes = 0;
    for (size_t first = 0; first < n; first += size)
        node[nodes++] = tree_sum(x + first, hr_min_size(size, n - first));
    return tree_sum(node, nodes);
}

float hr_order_sum(const char *algorithm, const float *x, size_t n, size_t index, size_t group_size)
{
    const size_t run = index / RUN;
    if (!strcmp(algorithm, "ring"))
        return round_the_ring(x, n, run % n, 0);
    if (!strcmp(algorithm, "bidirectional-ring")) {
        const size_t chunk = run % (2 * n), half = chunk / 2;
        return chunk % 2 ? round_the_ring(x, n, n - 1 - half, 1) : round_the_ring(x, n, half, 0);
    }
    if (!strcmp(algorithm, "double-tree") && run % 2)
        return from_the_last(x, n);
    if (!strcmp(algorithm, "halving-doubling"))
        return halved(x, n);
    if (!strcmp(algorithm, "hierarchical"))
        return by_nodes(x, n, group_size);
    return tree_sum(x, n);
}

/* --- sums among ranks ---
 * Sums among real ranks against the order in which their algorithm says that it adds,
 * element by element and to the bit: over algorithms, numbers of ranks, threads and processes,
 * sizes about the borders of chunks and runs, buckets, ranks that come late, slow links, and a
 * group of some of them in another order. */

enum { MOST_RANKS = 8, SUMS = 4, MOST_PARTS = 5, MOST = 70000 };

static const char *const algorithms[] = {
    "direct",      "one-shot",         "ring",          "bidirectional-ring", "tree",
    "double-tree", "halving-doubling", "master-worker", "hierarchical",       NULL};
static const char *const launches[] = {"thread", "process", NULL};
static const size_t borders[] = {0, 1, 31, 32, 33, 1000, 16383, 16384, 16385, 32769, 65537};

struct sum {
    size_t count, parts, cut[MOST_PARTS + 1]; /* part p is elements cut[p] to cut[p + 1] - 1 */
    uint32_t salt;                            /* of values and delays */
};

/* Drawn before the ranks are started; read by all. */
struct play {
    struct hr_world_options world;
    struct sum sum[SUMS];
    size_t member[MOST_RANKS], members; /* of the group */
    bool late;                          /* ranks come when they want */
};

/* --- what is drawn --- */

static int by_value(const void *a, const void *b)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

static void draw_sum(struct hr_trial *trial, struct sum *sum, size_t n)
{
    const size_t kinds = sizeof borders / sizeof *borders, kind = hr_trial_draw(trial, kinds + 2);
    sum->count = kind < kinds    ? borders[kind]
                 : kind == kinds ? n - 1 + hr_trial_draw(trial, 3)
                                 : hr_trial_draw(trial, MOST);
    sum->salt = (uint32_t)hr_trial_draw(trial, 1 << 30);
    sum->parts = 1 + hr_trial_draw(trial, MOST_PARTS);
    for (size_t p = 1; p < sum->parts; p++)
        sum->cut[p] = hr_trial_draw(trial, sum->count + 1);
    sum->cut[sum->parts] = sum->count;
    qsort(sum->cut, sum->parts + 1, sizeof *sum->cut, by_value);
}

static void draw_play(struct hr_trial *trial, const char *algorithm, struct play *play)
{
    const size_t n = 1 + hr_trial_draw(trial, MOST_RANKS);
    const bool copies = hr_trial_draw(trial, 3) == 0;
    play->world = (struct hr_world_options){.nranks = n,
                                            .launch = hr_trial_pick(trial, launches),
                                            .algorithm = algorithm,
                                            .transport = copies ? "copy" : "zero-copy",
                                            .group_size = 2 + hr_trial_draw(trial, 3),
                                            .arena_bytes = 1 << 20,
                                            .timeout = 60};
    if (copies && hr_trial_draw(trial, 2))
        play->world.link = "2GB/s,20us";
    play->late = hr_trial_draw(trial, 2);
    for (size_t i = 0; i < SUMS; i++)
        draw_sum(trial, &play->sum[i], n);
    for (size_t r = 0; r < n; r++)
        play->member[r] = r;
    for (size_t r = 0; r + 1 < n; r++) {
        const size_t other = r + hr_trial_draw(trial, n - r), was = play->member[r];
        play->member[r] = play->member[other];
        play->member[other] = was;
    }
    play->members = 1 + hr_trial_draw(trial, n);
}

/* --- in a rank --- */

static uint32_t mix(uint32_t x)
{
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}

/* Of some ten orders of magnitude, so that the order of addition tells. */
static float value_of(uint32_t salt, size_t rank, size_t i)
{
    const uint32_t bits = mix(salt ^ mix((uint32_t)i * 67u + (uint32_t)rank));
    const float unit = (float)(bits >> 8) * 0x1p-23f - 1;
    return bits & 1 ? unit : unit * 1000.0f;
}

static void come_late(const struct play *play, uint32_t salt, size_t rank)
{
    const uint32_t bits = mix(salt + 977u * (uint32_t)rank);
    if (play->late && bits % 3 == 0)
        nanosleep(&(struct timespec){.tv_nsec = 1000 * (long)(bits >> 8 & 511)}, NULL);
}

static enum hr_status check_sum(const struct play *play, const struct sum *sum, size_t n,
                                const float *got, const char *algorithm)
{
    float x[MOST_RANKS];
    for (size_t i = 0; i < sum->count; i++) {
        for (size_t r = 0; r < n; r++)
            x[r] = value_of(sum->salt, r, i);
        const float want = hr_order_sum(algorithm, x, n, i, play->world.group_size);
        if (memcmp(&want, &got[i], sizeof want) != 0)
            return hr_fail(
                HR_E_FAILED,
                "%s, %zu ranks (%s, %s), element %zu of %zu in %zu buckets: %.9g, in its "
                "order %.9g",
                algorithm, n, play->world.launch, play->world.transport, i, sum->count, sum->parts,
                (double)got[i], (double)want);
    }
    return HR_OK;
}

static enum hr_status all_reduce_parts(struct hr_group *group, const struct sum *sum, float *buffer)
{
    for (size_t p = 0; p < sum->parts; p++) {
        hr_member_all_reduce_start(&group->member, buffer + sum->cut[p], sum->cut[p],
                                   sum->cut[p + 1] - sum->cut[p]);
        HR_TRY(hr_member_wait(&group->member));
    }
    return HR_OK;
}

static void fill(const struct sum *sum, size_t rank, float *buffer)
{
    for (size_t i = 0; i < sum->count; i++)
        buffer[i] = value_of(sum->salt, rank, i);
}

/* reduce and reduce_scatter add in T(n), whatever the algorithm of all_reduce. */
static enum hr_status check_others(struct hr_group *group, const struct play *play, float *buffer)
{
    const size_t rank = hr_group_rank(group), n = hr_group_size(group), root = n - 1;
    struct sum sum = play->sum[0];
    sum.parts = 1;
    sum.count = hr_min_size(sum.count, 5000);
    fill(&sum, rank, buffer);
    HR_TRY(hr_reduce(group, buffer, buffer, sum.count, HR_FLOAT32, HR_SUM, root));
    if (rank == root)
        HR_TRY(check_sum(play, &sum, n, buffer, "reduce"));
    HR_TRY(hr_broadcast(group, buffer, sum.count, HR_FLOAT32, root));
    return check_sum(play, &sum, n, buffer, "broadcast");
}

static enum hr_status among_some(struct hr_group *world, const struct play *play, float *buffer)
{
    struct hr_group *group;
    const struct sum *sum = &play->sum[1];
    enum hr_status status = HR_OK;
    HR_TRY(hr_group_new(world, play->member, play->members, &group));
    if (!group)
        return HR_OK;
    fill(sum, hr_group_rank(group), buffer);
    status = hr_all_reduce(group, buffer, buffer, sum->count, HR_FLOAT32, HR_SUM);
    if (status == HR_OK)
        status = check_sum(play, sum, play->members, buffer, play->world.algorithm);
    hr_group_free(group);
    return status;
}

static enum hr_status play_rank(struct hr_group *world, void *arg)
{
    const struct play *play = arg;
    const size_t rank = hr_group_rank(world), n = hr_group_size(world);
    float *buffer;
    HR_TRY(hr_group_alloc(world, MOST * sizeof *buffer, (void **)&buffer));
    for (size_t i = 0; i < SUMS; i++) {
        fill(&play->sum[i], rank, buffer);
        come_late(play, play->sum[i].salt, rank);
        HR_TRY(all_reduce_parts(world, &play->sum[i], buffer));
        HR_TRY(check_sum(play, &play->sum[i], n, buffer, play->world.algorithm));
    }
    HR_TRY(among_some(world, play, buffer));
    return check_others(world, play, buffer);
}

static enum hr_status try_collectives(struct hr_trial *trial)
{
    for (size_t a = 0; algorithms[a]; a++) {
        struct play play = {0};
        draw_play(trial, algorithms[a], &play);
        HR_TRY(hr_world_run(&play.world, play_rank, &play));
        for (size_t i = 0; i < SUMS; i++)
            trial->compared += play.sum[i].count * play.world.nranks;
    }
    return HR_OK;
}

const struct hr_check hr_check_collectives = {
    .name = "collectives",
    .claim = "sums in their stated order",
    .story = "all_reduce by every algorithm, reduce and broadcast among 1 to 8 threads or "
             "processes: sizes about every border, buckets, late ranks, slow links, groups of some "
             "ranks. Every element has the bits of a plain loop in the stated order.",
    .what = "numbers",
    .run = try_collectives,
};
