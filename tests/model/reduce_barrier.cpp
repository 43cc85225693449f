/* reduce_barrier.cpp - model of group/reduce_barrier.c: arrival, claims, closing, entries.
 *
 * The text of reduce_barrier.c and wait.c is the real one. Relacy watches a variable for each
 * entry's call and offset (one line, one writer) and one for each block of each rank's buffer,
 * which the vector kernel reads and writes; no floats are stored. Values tell a block summed
 * twice, or never. Suites, each of several barriers in a row, so that arrived, claim and done are
 * used again:
 *   barrier_of_2/3  what was written before a barrier is read by all behind it
 *   sum_of_2/3      blocks are claimed, one a chunk; the second sum is handed to `apply`
 *   sum_crowded     3 ranks, 3 blocks a chunk, one sleeper woken to help
 *   sum_by_last     a small sum, by the last to arrive
 *   entry            a rank says three calls in a row while another asks for each
 */
#include "model.hpp"

#include "shm/wait.h"
#define hr_cpu_relax() break
#include "shm/wait.c"

#define hr_call_equal hr_call_equal_unwatched
#include "plan/layout.h"
#undef hr_call_equal
static bool hr_call_equal(const struct hr_call *a, const struct hr_call *b);

#include "group/reduce_barrier.h"

enum { MOST_RANKS = 3, MOST_BLOCKS = 9, BUFFER = 1 << 18 };

static unsigned char segment[MOST_RANKS * BUFFER]; /* addresses alone are used */

/* What Relacy watches, of this schedule. */
static struct watched {
    rl::var<unsigned> entry[MOST_RANKS];
    rl::var<unsigned> buffer[MOST_RANKS][MOST_BLOCKS];
    rl::var<unsigned> applied[MOST_BLOCKS];
} * watched;

static struct hr_barrier_entry *first_entry;

static size_t entry_of(const struct hr_call *call)
{
    /* it is the first in its entry */
    return (size_t)((const struct hr_barrier_entry *)call - first_entry);
}

static bool hr_call_equal(const struct hr_call *a, const struct hr_call *b)
{
    watched->entry[entry_of(a)]($).load();
    watched->entry[entry_of(b)]($).load();
    return hr_call_equal_unwatched(a, b);
}

#include "group/reduce_barrier.c"

enum { BLOCK = BLOCK_BYTES / sizeof(float) };

enum hr_status hr_fail(enum hr_status status, const char *, ...)
{
    return status;
}

/* Of the method, which no suite takes. */
enum hr_status hr_member_mismatch(const struct hr_member *, const struct hr_call *, size_t,
                                  const struct hr_call *)
{
    return HR_E_MISMATCH;
}

void hr_member_account_direct(struct hr_member *, size_t)
{
}

size_t hr_type_bytes(enum hr_type)
{
    return sizeof(float);
}

size_t hr_chunk_begin(size_t count, size_t, size_t nchunks, size_t chunk)
{
    return count / nchunks * chunk; /* whole blocks, in these suites */
}

static rl::var<unsigned> &block_at(const void *at)
{
    const size_t offset = (size_t)((const unsigned char *)at - segment);
    return watched->buffer[offset / BUFFER][offset % BUFFER / BLOCK_BYTES];
}

void hr_element_tree(struct hr_kind, void *const *out, size_t nout, const void *const *in, size_t n,
                     size_t)
{
    unsigned sum = 0;
    for (size_t r = 0; r < n; r++) {
        watched->entry[r]($).load(); /* offsets were read */
        sum += block_at(in[r])($);
    }
    if (nout == 1) {
        *(float *)out[0] = (float)sum; /* private to who sums it */
        return;
    }
    for (size_t r = 0; r < nout; r++)
        block_at(out[r])($) = sum;
}

static void apply(void *, size_t begin, size_t, const float *sum)
{
    watched->applied[begin / BLOCK]($) = (unsigned)*sum;
}

static bool is_over(void *view)
{
    return hr_reduce_barrier_test((struct hr_barrier_view *)view);
}

template <int RANKS> struct barrier_suite : hr_suite<RANKS> {
    struct watched vars;
    struct hr_reduce_barrier *shared;
    struct hr_atom32 abort;

    void setup()
    {
        alignas(HR_LINE) static unsigned char memory[4096];
        memset(memory, 0, sizeof memory);
        memset(&abort, 0, sizeof abort);
        shared = (struct hr_reduce_barrier *)memory;
        watched = &vars;
        first_entry = shared->entry;
        hr_model_share(shared->arrived, shared->closed, shared->open, shared->done,
                       shared->bell.word, abort);
        for (size_t r = 0; r < RANKS; r++)
            hr_model_share(shared->entry[r].claim, shared->entry[r].said[0],
                           shared->entry[r].said[1], shared->entry[r].said[2]);
    }

    void attend(struct hr_barrier_view *a, size_t count)
    {
        struct hr_waiter waiter = {&abort, 0, 0, 0, 0, 0};
        const struct hr_call call = {a->number + 1, count, 1, 0};
        vars.entry[a->rank]($) = (unsigned)call.sequence; /* takes the entry */
        a->count = count;
        void *buffer = count ? segment + a->rank * BUFFER : NULL;
        HR_MODEL_CHECK(hr_reduce_barrier_enter(a, &call, buffer, buffer));
        HR_MODEL_CHECK(hr_wait_until(&waiter, &shared->bell, is_over, a, "barrier") == HR_OK);
    }

    struct hr_barrier_view view(unsigned rank)
    {
        struct hr_barrier_view a;
        memset(&a, 0, sizeof a);
        a.shared = shared;
        a.segment = segment;
        a.rank = rank;
        a.nranks = RANKS;
        return a;
    }

    static unsigned input(unsigned rank, unsigned block, unsigned round)
    {
        return 1000 * round + 100 * block + (1u << rank);
    }

    void fill(unsigned rank, unsigned blocks, unsigned round)
    {
        for (unsigned b = 0; b < blocks; b++)
            vars.buffer[rank][b]($) = input(rank, b, round);
    }

    static unsigned sum(unsigned block, unsigned round)
    {
        unsigned all = 0;
        for (unsigned r = 0; r < RANKS; r++)
            all += input(r, block, round);
        return all;
    }

    void expect_sums(unsigned rank, unsigned blocks, unsigned round)
    {
        for (unsigned b = 0; b < blocks; b++)
            HR_MODEL_CHECK(vars.buffer[rank][b]($) == sum(b, round));
    }

    void expect_applied(unsigned blocks, unsigned round)
    {
        for (unsigned b = 0; b < blocks; b++)
            HR_MODEL_CHECK(vars.applied[b]($) == sum(b, round));
    }

    void barriers(unsigned rank)
    {
        struct hr_barrier_view a = view(rank);
        for (unsigned round = 1; round <= 2; round++) {
            fill(rank, 1, round);
            attend(&a, 0);
            for (unsigned r = 0; r < RANKS; r++)
                HR_MODEL_CHECK(vars.buffer[r][0]($) == input(r, 0, round));
            if (round == 1)
                attend(&a, 0);
        }
    }

    /* A sum in place, then one that is applied. */
    void sums(unsigned rank, unsigned blocks, size_t count, bool crowded)
    {
        struct hr_barrier_view a = view(rank);
        a.crowded = crowded;
        a.helpers = 1;
        fill(rank, blocks, 1);
        attend(&a, count);
        expect_sums(rank, blocks, 1);
        fill(rank, blocks, 2);
        a.apply = apply;
        attend(&a, count);
        expect_applied(blocks, 2);
    }
};

struct barrier_of_2 : barrier_suite<2> {
    void thread(unsigned rank)
    {
        barriers(rank);
    }
};

struct barrier_of_3 : barrier_suite<3> {
    void thread(unsigned rank)
    {
        barriers(rank);
    }
};

struct sum_of_2 : barrier_suite<2> {
    void thread(unsigned rank)
    {
        sums(rank, 2, 2 * BLOCK, false);
    }
};

struct sum_of_3 : barrier_suite<3> {
    void thread(unsigned rank)
    {
        sums(rank, 3, 3 * BLOCK, false);
    }
};

struct sum_crowded : barrier_suite<3> {
    void thread(unsigned rank)
    {
        sums(rank, 9, 9 * BLOCK, true);
    }
};

struct sum_by_last : barrier_suite<3> {
    void thread(unsigned rank)
    {
        sums(rank, 1, ALONE / sizeof(float), false);
    }
};

struct entry : barrier_suite<2> {
    enum { CALLS = 3 };

    void thread(unsigned rank)
    {
        struct hr_call call;
        for (uint64_t k = 1; k <= CALLS; k++)
            if (rank == 0) {
                call = {k, 10 * k + 1, (uint32_t)(10 * k + 2), (uint32_t)(10 * k + 3)};
                hr_barrier_entry_write(&shared->entry[0], &call);
            } else if (hr_barrier_entry_read(&shared->entry[0], k, &call)) {
                HR_MODEL_CHECK(call.sequence == k && call.count == 10 * k + 1);
                HR_MODEL_CHECK(call.kind == 10 * k + 2 && call.root == 10 * k + 3);
            }
    }
};

int main(void)
{
    static const hr_entry entries[] = {HR_SUITE(entry, 5, 8),      HR_SUITE(barrier_of_2, 4, 5),
                                       HR_SUITE(sum_of_2, 3, 4),   HR_SUITE(barrier_of_3, 1, 2),
                                       HR_SUITE(sum_of_3, 1, 2),   HR_SUITE(sum_by_last, 1, 2),
                                       HR_SUITE(sum_crowded, 1, 1)};
    return hr_model_main("reduce barrier: claimed sum, entry", "group/reduce_barrier.c", entries,
                         7);
}
