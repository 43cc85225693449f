/* board.cpp - model of the one-shot board: each rank publishes, the others read, once an operation.
 *
 *   slot[parity of the operation][rank] = { bell, payload }
 *   publish   write the payload, then ring the slot's bell: its count of rings is the number of
 *             times that the slot was published
 *   read      wait until the count has reached the operation's number, then read the payload
 *
 * Two parities are enough: a rank publishes operation k + 2 into the slot of operation k when it
 * has read everybody's k + 1, and each published that when done reading k.
 * The bells are the real ones (shm/wait.{h,c}); publish and read are written down here.
 * Bounds: 2 and 3 ranks, 3 operations in a row; 3 ranks by random schedules alone, as they make
 * 5e7 schedules without one preemption.
 */
#include "model.hpp"

#include "shm/wait.h"
#define hr_cpu_relax() break
#include "shm/wait.c"

enum hr_status hr_fail(enum hr_status status, const char *, ...)
{
    return status;
}

enum { OPERATIONS = 3, PARITIES = 2 };

struct awaited {
    struct hr_bell *bell;
    uint32_t number; /* of publications of that slot */
};

static bool is_published(void *arg)
{
    const struct awaited *awaited = (const struct awaited *)arg;
    return hr_bell_has_rung(awaited->bell, awaited->number);
}

template <int RANKS> struct board_suite : hr_suite<RANKS> {
    struct hr_bell bell[PARITIES][RANKS];
    struct hr_atom32 abort;
    rl::var<unsigned> payload[PARITIES][RANKS];

    void setup()
    {
        memset(bell, 0, sizeof bell);
        memset(&abort, 0, sizeof abort);
        hr_model_share(abort);
        for (unsigned parity = 0; parity < PARITIES; parity++)
            for (unsigned rank = 0; rank < RANKS; rank++)
                hr_model_share(bell[parity][rank].word);
    }

    static unsigned value(unsigned operation, unsigned rank)
    {
        return 10 * operation + rank;
    }

    void publish(unsigned operation, unsigned rank)
    {
        payload[operation % PARITIES][rank]($) = value(operation, rank);
        hr_bell_ring(&bell[operation % PARITIES][rank]);
    }

    void read(unsigned operation, unsigned peer)
    {
        struct hr_bell *rung = &bell[operation % PARITIES][peer];
        struct awaited awaited = {rung, operation / PARITIES + 1};
        struct hr_waiter waiter = {&abort, 0, 0, 0, 0, 0};
        HR_MODEL_CHECK(hr_wait_until(&waiter, rung, is_published, &awaited, "peer") == HR_OK);
        HR_MODEL_CHECK(payload[operation % PARITIES][peer]($) == value(operation, peer));
    }

    void thread(unsigned rank)
    {
        for (unsigned operation = 0; operation < OPERATIONS; operation++) {
            publish(operation, rank);
            for (unsigned hop = 1; hop < RANKS; hop++)
                read(operation, (rank + hop) % RANKS);
        }
    }
};

struct board_of_2 : board_suite<2> {};
struct board_of_3 : board_suite<3> {};

int main(void)
{
    static const hr_entry entries[] = {HR_SUITE(board_of_2, 2, 4),
                                       HR_SUITE(board_of_3, HR_RANDOM_ONLY, HR_RANDOM_ONLY)};
    return hr_model_main("board: published once, read by all", "shm/wait.h", entries, 2);
}
