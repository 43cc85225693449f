/* bell.cpp - model of shm/wait.c: bells, parking and waking.
 *
 * The text of wait.c is the real one, down to its system calls; futex(2) is modelled (model.hpp).
 * Nobody looks up by himself here, so a ring that is lost is a deadlock. A spin is one poll.
 * Suites:
 *   one_each      one waits, one rings; twice, so that the bell's second use is covered
 *   two_parked    two wait on one bell, one rings
 *   two_ringers   two wait on one bell for different things, each told by another
 *   some          ring_some wakes at most one of two, a later ring wakes all
 *   listener      one who spins listens to the bell, and waits as long as something moves
 *   unasked       work that does not wait sees that the run is aborted, or (revoked) revoked
 *   calibration   the hand-off between two threads by which spinning is measured
 */
#include "model.hpp"

#include "shm/wait.h"
#define hr_cpu_relax() break
#include "shm/wait.c"

enum hr_status hr_fail(enum hr_status status, const char *, ...)
{
    return status;
}

struct cell {
    struct hr_bell bell;
    struct hr_atom32 word[2], never;
    struct hr_atom64 beat;
};

struct asked {
    struct cell *cell;
    unsigned word, value;
};

static bool is_told(void *arg)
{
    const struct asked *asked = (const struct asked *)arg;
    return hr_atom32_load_acquire(&asked->cell->word[asked->word]) >= asked->value;
}

static void say(struct hr_atom32 *word, unsigned value)
{
    hr_atom32_store_release(word, value);
}

/* What most suites share: words to wait for, and data behind each. */
template <int threads> struct bell_suite : hr_suite<threads> {
    struct cell cell;
    rl::var<unsigned> data[2];

    void setup()
    {
        memset(&cell, 0, sizeof cell);
        hr_model_share(cell.bell.word, cell.word[0], cell.word[1], cell.never, cell.beat);
    }

    void tell(unsigned word, unsigned value)
    {
        data[word]($) = value;
        say(&cell.word[word], value);
    }

    void wait(unsigned word, unsigned value)
    {
        struct asked asked = {&cell, word, value};
        struct hr_waiter waiter = {&cell.never, 0, 0, 0, 0, 0};
        HR_MODEL_CHECK(hr_wait_until(&waiter, &cell.bell, is_told, &asked, "word") == HR_OK);
    }

    void hear(unsigned word, unsigned value)
    {
        wait(word, value);
        HR_MODEL_CHECK(data[word]($) == value);
    }
};

struct one_each : bell_suite<2> {
    void thread(unsigned index)
    {
        if (index) {
            hear(0, 1);
            tell(1, 1);
            hr_bell_ring(&cell.bell);
            hear(0, 2);
        } else {
            tell(0, 1);
            hr_bell_ring(&cell.bell);
            hear(1, 1);
            tell(0, 2);
            hr_bell_ring(&cell.bell);
        }
    }
};

struct two_parked : bell_suite<3> {
    void thread(unsigned index)
    {
        if (index) {
            hear(0, 1);
        } else {
            tell(0, 1);
            hr_bell_ring(&cell.bell);
        }
    }
};

struct two_ringers : bell_suite<4> {
    void thread(unsigned index)
    {
        if (index < 2) {
            hear(index, 1);
        } else {
            tell(index - 2, 1);
            hr_bell_ring(&cell.bell);
        }
    }
};

struct some : bell_suite<3> {
    void thread(unsigned index)
    {
        if (index) {
            hear(1, 1);
        } else {
            tell(0, 1);
            hr_bell_ring_some(&cell.bell, 1);
            tell(1, 1);
            hr_bell_ring(&cell.bell);
        }
    }
};

/* ring_some alone wakes the one who sleeps. */
struct some_one : bell_suite<2> {
    void thread(unsigned index)
    {
        if (index) {
            hear(0, 1);
        } else {
            tell(0, 1);
            hr_bell_ring_some(&cell.bell, 1);
        }
    }
};

struct listener : bell_suite<2> {
    void thread(unsigned index)
    {
        if (index) {
            struct asked asked = {&cell, 0, 1};
            struct hr_waiter waiter = {&cell.never, 1, 0, 0, 0, 0};
            waiter.beat = &cell.beat;
            HR_MODEL_CHECK(hr_wait_until(&waiter, &cell.bell, is_told, &asked, "word") == HR_OK);
            HR_MODEL_CHECK(data[0]($) == 1);
        } else {
            tell(0, 1);
            hr_bell_ring(&cell.bell);
        }
    }
};

struct calibration : hr_suite<2> {
    struct hr_atom32 whose;

    void setup()
    {
        memset(&whose, 0, sizeof whose);
        hr_model_share(whose);
    }

    void thread(unsigned index)
    {
        play(&whose, index);
    }
};

/* Work that never waits sees the abort word by itself. */
struct unasked : bell_suite<2> {
    void thread(unsigned index)
    {
        if (index) {
            const struct hr_waiter waiter = {&cell.never, 0, 0, 0, 0, 0};
            while (hr_wait_check(&waiter) == HR_OK)
                rl::yield(1, $);
        } else {
            say(&cell.never, 1);
        }
    }
};

/* The same of the word that revokes. */
struct revoked : bell_suite<2> {
    void thread(unsigned index)
    {
        if (index) {
            struct hr_waiter waiter = {&cell.never, 0, 0, 0, 0, 0};
            waiter.revoke = &cell.word[0];
            while (!hr_wait_is_recalled(&waiter))
                rl::yield(1, $);
        } else {
            say(&cell.word[0], 1);
        }
    }
};

int main(void)
{
    static const hr_entry entries[] = {HR_SUITE(one_each, 4, 6),    HR_SUITE(two_parked, 3, 4),
                                       HR_SUITE(two_ringers, 2, 3), HR_SUITE(some, 3, 4),
                                       HR_SUITE(some_one, 5, 9),    HR_SUITE(listener, 2, 3),
                                       HR_SUITE(unasked, 3, 5),     HR_SUITE(revoked, 3, 5),
                                       HR_SUITE(calibration, 0, 1)};
    return hr_model_main("bell: wait and wake", "shm/wait.c", entries, 9);
}
