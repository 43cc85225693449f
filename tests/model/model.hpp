/* model.hpp - runs one primitive under Relacy: as it stands, and with each order weakened.
 *
 * A model is a file with one or more *suites* (what 2 to 4 threads do) and a main() that hands them
 * to hr_model_main. It includes the real text of the primitive, after this header. Its own calls of
 * the wrappers stand in static functions (sites of inline members and templates would not do).
 *
 *   as it stands    random schedules, then every schedule with at most so many preemptions; nothing
 *                   may be reported: no data race, wrong value, deadlock or livelock
 *   weakened        each acquire and each release of the subject in turn becomes relaxed (acq_rel:
 *                   loses one half); some suite must report something, or the half is not needed
 *                   and has to go. There is no list of exceptions.
 *
 * `make model` does it within a minute; HOGRING_LONG=1 make model takes 1e6 schedules a suite and
 * more preemptions.
 *
 * Loads see stale values: Relacy keeps the last three stores of a word. What it does not model: a
 * load that moves behind a later store, stores that reach memory in another order than they ran.
 * Schedules are numbered, and a number stands for the same schedule on every machine.
 */
#ifndef HR_MODEL_HPP
#define HR_MODEL_HPP

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "shm/atom.h"

#include "base/error.h"

/* Report unless so. */
#define HR_MODEL_CHECK(condition)                                                                  \
    do {                                                                                           \
        if (!(condition))                                                                          \
            rl::ctx().fail_test(#condition, rl::test_result_user_assert_failed, $);                \
    } while (0)

/* Do sleepers look up by themselves? If not, a ring that is lost is a deadlock. For setup(). */
extern bool hr_model_timed;

long hr_model_syscall(long number, const void *address, int operation, uint32_t value, ...);
#define syscall hr_model_syscall

/* What `threads` threads do; made anew for each schedule, as what Relacy watches must be. */
struct hr_story {
    virtual void setup() {} /* before the threads start */
    virtual void thread(unsigned index) = 0;
    virtual void finish() {} /* when all are done */
    virtual ~hr_story() {}
};

template <int threads> struct hr_suite : hr_story {
    enum { THREADS = threads };
};

enum { HR_RANDOM_ONLY = 1000 }; /* preemptions: no full search, it would take too long */

struct hr_entry {
    const char *name;
    hr_story *(*make)(void *place, size_t size);
    int threads;
    unsigned preemptions, preemptions_long; /* of the full search */
};

template <typename suite> hr_story *hr_make(void *place, size_t size)
{
    if (sizeof(suite) > size)
        abort();
    return new (place) suite;
}

#define HR_SUITE(name, preemptions, preemptions_long)                                              \
    {#name, hr_make<name>, name::THREADS, preemptions, preemptions_long}

/* Run it all; the exit code. Sites of files whose name ends in `subject` are weakened. */
int hr_model_main(const char *title, const char *subject, const hr_entry *entries, size_t n);

#endif
