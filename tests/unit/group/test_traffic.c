/* The accounts of every operation and of messages, between any two ranks, against formulas. */
#include "support/worlds.h"

enum { N = 8, COUNT = 2 * N * HR_RUN_ELEMS, BYTES = COUNT * 4, MOST_LEVELS = 3 };

/* What rank `from` sends to rank `to`. */
struct crossing {
    uint64_t bytes, messages;
};

typedef struct crossing (*formula_fn)(size_t from, size_t to);

struct account {
    const char *algorithm;
    enum hr_status (*work)(struct hr_group *world, float *in, float *out);
    formula_fn formula;
};

/* An account, and the bytes that are read, and that are written. */
struct case_of {
    const struct account *account;
    size_t bytes;
};

enum { ROOT = 3 };

/* --- formulas --- */

static struct crossing nothing(size_t from, size_t to)
{
    (void)from, (void)to;
    return (struct crossing){0};
}

static struct crossing once_if(bool sends)
{
    return (struct crossing){sends ? BYTES : 0, sends};
}

static struct crossing from_root(size_t from, size_t to)
{
    return once_if(from == ROOT && to != ROOT);
}

static struct crossing to_root(size_t from, size_t to)
{
    return from_root(to, from);
}

static struct crossing to_all(size_t from, size_t to)
{
    return once_if(from != to);
}

/* Owners' parts there, and the sums back. */
static struct crossing direct(size_t from, size_t to)
{
    return from == to ? (struct crossing){0} : (struct crossing){2 * BYTES / N, 2};
}

static struct crossing ring(size_t from, size_t to)
{
    return to == (from + 1) % N ? (struct crossing){2 * (N - 1) * (BYTES / N), 2 * (N - 1)}
                                : (struct crossing){0};
}

static struct crossing both_rings(size_t from, size_t to)
{
    return to == (from + 1) % N || from == (to + 1) % N
               ? (struct crossing){(N - 1) * (BYTES / N), 2 * (N - 1)}
               : (struct crossing){0};
}

/* A binomial tree: an edge joins a rank and itself without its lowest bit. */
static bool joined(size_t a, size_t b)
{
    return (a && (a & (a - 1)) == b) || (b && (b & (b - 1)) == a);
}

static struct crossing tree(size_t from, size_t to)
{
    return once_if(joined(from, to));
}

static struct crossing two_trees(size_t from, size_t to)
{
    const uint64_t edges = joined(from, to) + joined(N - 1 - from, N - 1 - to);
    return (struct crossing){edges * BYTES / 2, edges};
}

/* Peers at distance 2^l exchange a half of what is left, twice. */
static struct crossing halves(size_t from, size_t to)
{
    for (size_t level = 0; level < MOST_LEVELS; level++)
        if ((from ^ to) == (size_t)1 << level)
            return (struct crossing){2 * (BYTES >> (level + 1)), 2};
    return (struct crossing){0};
}

static struct crossing master(size_t from, size_t to)
{
    return once_if((from == 0) != (to == 0));
}

/* Nodes of two: a tree among the even ranks, and each has its neighbour. */
static struct crossing nodes(size_t from, size_t to)
{
    const bool neighbours = from / 2 == to / 2 && from != to;
    return once_if(neighbours || (from % 2 == 0 && to % 2 == 0 && joined(from / 2, to / 2)));
}

/* Rank r sends r + 1 messages of BYTES / 8 to r / 2; so rank 0 to itself. */
static struct crossing mail(size_t from, size_t to)
{
    return to == from / 2 ? (struct crossing){(from + 1) * (BYTES / 8), from + 1}
                          : (struct crossing){0};
}

/* --- operations; of blocks, each is of COUNT elements --- */

static enum hr_status do_barrier(struct hr_group *world, float *in, float *out)
{
    (void)in, (void)out;
    return hr_barrier(world);
}

static enum hr_status do_broadcast(struct hr_group *world, float *in, float *out)
{
    (void)out;
    return hr_broadcast(world, in, COUNT, HR_FLOAT32, ROOT);
}

static enum hr_status do_all_reduce(struct hr_group *world, float *in, float *out)
{
    return hr_all_reduce(world, in, out, COUNT, HR_FLOAT32, HR_SUM);
}

static enum hr_status do_reduce(struct hr_group *world, float *in, float *out)
{
    return hr_reduce(world, in, out, COUNT, HR_FLOAT32, HR_MEAN, ROOT);
}

static enum hr_status do_reduce_scatter(struct hr_group *world, float *in, float *out)
{
    return hr_reduce_scatter(world, in, out, COUNT / 2, HR_FLOAT64, HR_MAX);
}

static enum hr_status do_all_gather(struct hr_group *world, float *in, float *out)
{
    return hr_all_gather(world, in, out, COUNT, HR_INT32);
}

static enum hr_status do_gather(struct hr_group *world, float *in, float *out)
{
    return hr_gather(world, in, out, COUNT / 2, HR_INT64, ROOT);
}

static enum hr_status do_scatter(struct hr_group *world, float *in, float *out)
{
    return hr_scatter(world, in, out, COUNT, HR_FLOAT32, ROOT);
}

static enum hr_status do_all_to_all(struct hr_group *world, float *in, float *out)
{
    (void)out;
    return hr_all_to_all(world, in, in, COUNT, HR_FLOAT32);
}

static enum hr_status do_messages(struct hr_group *world, float *in, float *out)
{
    const size_t me = hr_group_rank(world);
    struct hr_request *sent[N], *got[2 * N + 1];
    size_t ngot = 0;
    for (size_t m = 0; m <= me; m++)
        HR_TRY(hr_isend(world, in, COUNT / 8, HR_FLOAT32, me / 2, &sent[m]));
    for (size_t from = 2 * me; from < N && from <= 2 * me + 1; from++)
        for (size_t m = 0; m <= from; m++)
            HR_TRY(hr_irecv(world, out, COUNT / 8, HR_FLOAT32, from, &got[ngot++]));
    for (size_t m = 0; m < ngot; m++)
        HR_TRY(hr_wait(got[m]));
    for (size_t m = 0; m <= me; m++)
        HR_TRY(hr_wait(sent[m]));
    return HR_OK;
}

/* --- tests --- */

static enum hr_status check_accounts(struct hr_group *world, const struct account *account)
{
    const size_t me = hr_group_rank(world);
    for (size_t peer = 0; peer < N; peer++) {
        const struct hr_traffic traffic = hr_group_traffic(world, peer);
        const struct crossing to = account->formula(me, peer), from = account->formula(peer, me);
        RANK_CHECK(traffic.bytes_sent == to.bytes && traffic.messages_sent == to.messages,
                   "rank %zu to %zu: %llu bytes in %llu messages, not %llu in %llu", me, peer,
                   (unsigned long long)traffic.bytes_sent,
                   (unsigned long long)traffic.messages_sent, (unsigned long long)to.bytes,
                   (unsigned long long)to.messages);
        RANK_CHECK(traffic.bytes_received == from.bytes &&
                       traffic.messages_received == from.messages,
                   "rank %zu from %zu: %llu bytes in %llu messages, not %llu in %llu", me, peer,
                   (unsigned long long)traffic.bytes_received,
                   (unsigned long long)traffic.messages_received, (unsigned long long)from.bytes,
                   (unsigned long long)from.messages);
    }
    return HR_OK;
}

static enum hr_status work_and_check(struct hr_group *world, void *arg)
{
    const struct case_of *of = arg;
    void *in, *out;
    HR_TRY(hr_group_alloc(world, of->bytes, &in));
    HR_TRY(hr_group_alloc(world, of->bytes, &out));
    HR_TRY(of->account->work(world, in, out));
    return check_accounts(world, of->account);
}

static void check_each(const struct account *accounts, size_t n, size_t bytes)
{
    static const char *const transports[] = {"zero-copy", "copy"};
    for (size_t i = 0; i < n; i++)
        for (size_t t = 0; t < 2; t++) {
            struct case_of of = {&accounts[i], bytes};
            print_message("operation %zu, %s\n", i, transports[t]);
            worlds_pass((struct hr_world_options){.nranks = N,
                                                  .algorithm = accounts[i].algorithm,
                                                  .transport = transports[t],
                                                  .arena_bytes = 2 * bytes},
                        work_and_check, &of);
        }
}

static void all_reduces_send_what_their_formulas_say(void **state)
{
    (void)state;
    static const struct account accounts[] = {
        {"auto", do_all_reduce, direct},
        {"direct", do_all_reduce, direct},
        {"one-shot", do_all_reduce, to_all},
        {"ring", do_all_reduce, ring},
        {"bidirectional-ring", do_all_reduce, both_rings},
        {"tree", do_all_reduce, tree},
        {"double-tree", do_all_reduce, two_trees},
        {"halving-doubling", do_all_reduce, halves},
        {"master-worker", do_all_reduce, master},
        {"hierarchical", do_all_reduce, nodes},
    };
    check_each(accounts, sizeof accounts / sizeof *accounts, BYTES);
}

static void other_operations_send_what_they_have_to(void **state)
{
    (void)state;
    static const struct account accounts[] = {
        {NULL, do_barrier, nothing},   {NULL, do_broadcast, from_root},
        {NULL, do_reduce, to_root},    {NULL, do_reduce_scatter, to_all},
        {NULL, do_all_gather, to_all}, {NULL, do_gather, to_root},
        {NULL, do_scatter, from_root}, {NULL, do_all_to_all, to_all},
        {NULL, do_messages, mail},
    };
    check_each(accounts, sizeof accounts / sizeof *accounts, (size_t)N * BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_reduces_send_what_their_formulas_say),
        cmocka_unit_test(other_operations_send_what_they_have_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
