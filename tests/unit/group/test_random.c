/* Random calls of every public operation, compared to the last bit, guards and inputs included. A
 * case that fails prints how to have it again:
 *
 *     HOGRING_SEED=1 HOGRING_CASE=1234 build/release/tests/group/test_random
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "support/cases.h"
#include "support/check.h"
#include "support/ranks.h"
#include "support/region.h"

enum { GUARD = 64, ARENA = 512 << 10, STACK = 4096, IN = 0, OUT = 1 };

/* One rank of a world. */
struct player {
    struct hr_group *group[MOST_CASE_GROUPS]; /* NULL: it is not in there */
    unsigned char *arena[2];
    unsigned char *stack[2];
};

/* Memory for one side of a case: an arena's, the stack's, or NULL: the heap's. */
static unsigned char *memory_for(const struct player *me, enum case_memory memory, size_t side,
                                 struct draws *draws, size_t bytes)
{
    const uint32_t coin = draw(draws, 2), toss = draw(draws, 2);
    const bool in_arena = memory == IN_ARENAS || (memory == IN_ANY_MEMORY && coin);
    if (in_arena && bytes <= ARENA)
        return me->arena[side];
    return toss && bytes <= STACK ? me->stack[side] : NULL;
}

/* --- collectives --- */

/* What one rank passes to a call, and where in its regions it lies. */
struct sides {
    struct region region[2];
    size_t have[2]; /* elements */
    size_t at[2];   /* of the first of them, in bytes */
    bool in_place;  /* all of it is in the first region */
    unsigned char *pointer[2];
};

static void sides_open(struct sides *sides, const struct player *me, const struct random_case *c,
                       size_t rank)
{
    struct draws draws = random_case_of_rank(c, rank);
    const size_t size = hr_type_bytes(c->kind.type);
    const size_t in = random_case_in(c, rank), out = random_case_out(c, rank);
    const bool want = draw(&draws, 2) || c->operation == HR_OP_BROADCAST;
    *sides = (struct sides){.have = {in, out}, .in_place = want && in && out};
    for (size_t side = IN; side <= OUT; side++) {
        const size_t all = sides->in_place && in > out ? in : sides->in_place ? out : 0;
        const size_t most = all ? all : sides->have[side];
        const size_t first = GUARD + size * draw(&draws, 17), bytes = first + most * size + GUARD;
        struct region *region = &sides->region[side];
        region_open(region, memory_for(me, c->memory, side, &draws, bytes), bytes, c->number);
        sides->at[side] = first;
        if (draw(&draws, 2) || sides->have[side])
            sides->pointer[side] = region->memory + first;
    }
    if (!sides->in_place)
        return;
    /* One block of all blocks is one's own. */
    sides->at[OUT] = sides->at[IN] + (out < in ? rank * out * size : 0);
    sides->at[IN] += in < out ? rank * in * size : 0;
    for (size_t side = IN; side <= OUT; side++)
        sides->pointer[side] = sides->region[IN].memory + sides->at[side];
}

static void sides_fill(struct sides *sides, const struct random_case *c, size_t rank)
{
    const size_t size = hr_type_bytes(c->kind.type);
    struct region *out = &sides->region[sides->in_place ? IN : OUT];
    unsigned char element[8];
    for (size_t i = 0; i < sides->have[IN]; i++) {
        random_case_input(c, c->kind.type, rank, i, element);
        region_put(&sides->region[IN], sides->at[IN] + i * size, element, size);
    }
    for (size_t i = 0; i < sides->have[OUT]; i++) {
        random_case_output(c, rank, i, element);
        region_expect(out, sides->at[OUT] + i * size, element, size);
    }
}

static enum hr_status call(struct hr_group *group, const struct random_case *c, const void *in,
                           void *out)
{
    const enum hr_type type = c->kind.type;
    const enum hr_redop redop = c->kind.redop;
    switch (c->operation) {
    case HR_OP_BARRIER:
        return hr_barrier(group);
    case HR_OP_BROADCAST:
        return hr_broadcast(group, out, c->count, type, c->root);
    case HR_OP_ALL_REDUCE:
        return hr_all_reduce(group, in, out, c->count, type, redop);
    case HR_OP_REDUCE:
        return hr_reduce(group, in, out, c->count, type, redop, c->root);
    case HR_OP_REDUCE_SCATTER:
        return hr_reduce_scatter(group, in, out, c->count, type, redop);
    case HR_OP_ALL_GATHER:
        return hr_all_gather(group, in, out, c->count, type);
    case HR_OP_GATHER:
        return hr_gather(group, in, out, c->count, type, c->root);
    case HR_OP_SCATTER:
        return hr_scatter(group, in, out, c->count, type, c->root);
    case HR_OP_ALL_TO_ALL:
        return hr_all_to_all(group, in, out, c->count, type);
    default:
        return hr_fail(HR_E_FAILED, "there is no such call");
    }
}

static enum hr_status check_regions(struct region *region, enum hr_status status)
{
    for (size_t side = IN; side <= OUT; side++) {
        if (status == HR_OK)
            status = region_check(&region[side], side == IN ? "input" : "output");
        region_close(&region[side]);
    }
    return status;
}

static enum hr_status run_collective(const struct player *me, const struct random_case *c,
                                     size_t rank)
{
    struct sides sides;
    sides_open(&sides, me, c, rank);
    sides_fill(&sides, c, rank);
    const enum hr_status status =
        call(me->group[c->group], c, sides.pointer[IN], sides.pointer[OUT]);
    return check_regions(sides.region, status);
}

/* --- messages --- */

/* One end of a message. */
struct end {
    size_t message;
    bool sends, waits; /* or is begun, and waited for later */
    struct hr_request *request;
};

struct post {
    const struct random_case *c;
    size_t rank, nends;
    struct draws draws;
    struct end end[2 * MOST_MESSAGES];
    struct region region[2];
    size_t at[2][MOST_MESSAGES]; /* of each message's data, by side */
};

static bool has_end(const struct post *post, size_t m, bool sends)
{
    const struct random_message *message = &post->c->message[m];
    return (sends ? message->from : message->to) == post->rank;
}

static void lay_out_messages(struct post *post, const struct player *me)
{
    const struct random_case *c = post->c;
    for (size_t side = IN; side <= OUT; side++) {
        size_t bytes = GUARD;
        for (size_t m = 0; m < c->nmessages; m++) {
            const size_t size = hr_type_bytes(c->message[m].type);
            bytes = hr_round_up(bytes, size) + size * draw(&post->draws, 9);
            post->at[side][m] = bytes;
            bytes += (has_end(post, m, side == IN) ? c->message[m].count * size : 0) + 16;
        }
        bytes += GUARD;
        region_open(&post->region[side], memory_for(me, c->memory, side, &post->draws, bytes),
                    bytes, c->number);
    }
}

static void fill_messages(struct post *post)
{
    const struct random_case *c = post->c;
    unsigned char element[8];
    for (size_t m = 0; m < c->nmessages; m++) {
        const struct random_message *message = &c->message[m];
        const size_t size = hr_type_bytes(message->type);
        for (size_t i = 0; i < message->count; i++) {
            random_case_input(c, message->type, m, i, element);
            if (has_end(post, m, true))
                region_put(&post->region[IN], post->at[IN][m] + i * size, element, size);
            if (has_end(post, m, false))
                region_expect(&post->region[OUT], post->at[OUT][m] + i * size, element, size);
        }
    }
}

static bool same_way(const struct post *post, const struct end *a, const struct end *b)
{
    const struct random_message *x = &post->c->message[a->message],
                                *y = &post->c->message[b->message];
    return a->sends == b->sends && (a->sends ? x->to == y->to : x->from == y->from);
}

/* Any order, but between two ranks messages of one way keep theirs. */
static void shuffle(struct post *post)
{
    for (size_t i = 0; i < post->nends; i++) {
        const size_t j = i + draw(&post->draws, post->nends - i);
        const struct end end = post->end[i];
        post->end[i] = post->end[j];
        post->end[j] = end;
    }
    for (size_t i = 0; i < post->nends; i++)
        for (size_t j = i + 1; j < post->nends; j++)
            if (same_way(post, &post->end[i], &post->end[j]) &&
                post->end[j].message < post->end[i].message) {
                const struct end end = post->end[i];
                post->end[i] = post->end[j];
                post->end[j] = end;
            }
}

/* Ends in the order in which this rank comes to them. Where some are waited for at once, all ranks
 * keep to the messages' own order, in which nobody waits in a circle. */
static void line_up(struct post *post)
{
    const struct random_case *c = post->c;
    for (size_t m = 0; m < c->nmessages; m++)
        for (int sends = 0; sends < 2; sends++)
            if (has_end(post, m, sends))
                post->end[post->nends++] =
                    (struct end){.message = m,
                                 .sends = sends,
                                 .waits = draw(&post->draws, 2) && !c->shuffled &&
                                          c->message[m].from != c->message[m].to};
    if (c->shuffled)
        shuffle(post);
}

static enum hr_status begin(struct post *post, struct hr_group *group, struct end *end)
{
    const struct random_message *m = &post->c->message[end->message];
    const size_t side = end->sends ? IN : OUT;
    unsigned char *buffer = post->region[side].memory + post->at[side][end->message];
    if (end->waits)
        return end->sends ? hr_send(group, buffer, m->count, m->type, m->to)
                          : hr_recv(group, buffer, m->count, m->type, m->from);
    return end->sends ? hr_isend(group, buffer, m->count, m->type, m->to, &end->request)
                      : hr_irecv(group, buffer, m->count, m->type, m->from, &end->request);
}

/* What has been sent is the sender's again: it is changed before anybody can do anything else. */
static void reuse(struct post *post, const struct end *end)
{
    const struct random_message *m = &post->c->message[end->message];
    if (end->sends)
        region_flip(&post->region[IN], post->at[IN][end->message],
                    m->count * hr_type_bytes(m->type));
}

static enum hr_status exchange(struct post *post, struct hr_group *group)
{
    size_t begun = 0;
    for (size_t i = 0; i < post->nends; i++) {
        HR_TRY(begin(post, group, &post->end[i]));
        if (post->end[i].waits)
            reuse(post, &post->end[i]);
        else
            post->end[begun++] = post->end[i];
    }
    while (begun) {
        const size_t i = draw(&post->draws, begun);
        const struct end end = post->end[i];
        post->end[i] = post->end[--begun];
        HR_TRY(hr_wait(end.request));
        reuse(post, &end);
    }
    return HR_OK;
}

static enum hr_status run_messages(const struct player *me, const struct random_case *c,
                                   size_t rank)
{
    struct post post = {.c = c, .rank = rank, .draws = random_case_of_rank(c, rank)};
    lay_out_messages(&post, me);
    fill_messages(&post);
    line_up(&post);
    return check_regions(post.region, exchange(&post, me->group[c->group]));
}

/* --- worlds --- */

struct run {
    struct random_world world;
    uint64_t first, last;
};

static enum hr_status run_case(const struct player *me, const struct random_case *c)
{
    char words[300], why[400];
    if (!me->group[c->group])
        return HR_OK;
    const size_t rank = hr_group_rank(me->group[c->group]);
    const enum hr_status status =
        c->operation == HR_OP_SEND ? run_messages(me, c, rank) : run_collective(me, c, rank);
    if (status == HR_OK || status == HR_E_ABORTED)
        return status;
    random_case_describe(words, sizeof words, c);
    snprintf(why, sizeof why, "%s", hr_error_message());
    return hr_fail(status, "%s: rank %zu of the group: %s", words, rank, why);
}

static enum hr_status play_world(struct hr_group *world, void *arg)
{
    const struct run *run = arg;
    unsigned char stack[2][STACK];
    struct player me = {.group = {world}, .stack = {stack[IN], stack[OUT]}};
    struct random_case c;
    for (size_t side = IN; side <= OUT; side++)
        HR_TRY(hr_group_alloc(world, ARENA, (void **)&me.arena[side]));
    for (size_t g = 1; g < run->world.ngroups; g++)
        HR_TRY(hr_group_new(world, run->world.group[g].rank, run->world.group[g].n, &me.group[g]));
    for (uint64_t number = run->first; number <= run->last; number++) {
        random_case_draw(&c, &run->world, number);
        HR_TRY(run_case(&me, &c));
    }
    for (size_t g = 1; g < run->world.ngroups; g++)
        hr_group_free(me.group[g]);
    return HR_OK;
}

/* Cases first to last, which are of one world. */
static void run_cases(uint64_t first, uint64_t last)
{
    struct run run = {.first = first, .last = last};
    random_world_draw(&run.world, check_seed(), first / CASES_A_WORLD);
    const struct hr_world_options options = {
        .nranks = run.world.nranks,
        .launch = run.world.process && ranks_can_fork() ? "process" : "thread",
        .algorithm = run.world.algorithm,
        .transport = run.world.transport,
        .group_size = run.world.group_size,
        .arena_bytes = 2 * ARENA,
        .timeout = 20,
    };
    const enum hr_status status = hr_world_run(&options, play_world, &run);
    if (status == HR_OK)
        return;
    print_error("%s\n", hr_error_message());
    fail();
}

static void every_call_gives_the_right_bits(void **state)
{
    (void)state;
    const uint64_t cases = CHECK_SANITIZED ? check_count(500, 5000) : check_count(2000, 100000);
    const char *only = getenv("HOGRING_CASE");
    if (only) {
        const uint64_t number = strtoull(only, NULL, 10);
        run_cases(number, number);
        run_cases(number / CASES_A_WORLD * CASES_A_WORLD, number); /* what came before may matter */
        return;
    }
    for (uint64_t first = 0; first < cases; first += CASES_A_WORLD)
        run_cases(first, first + CASES_A_WORLD - 1);
    assert_true(no_children_left());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_gives_the_right_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
