/* Two processes hand a word to and fro, and park on a futex in between: nobody sleeps through what
 * he waits for. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "shm/segment.h"
#include "shm/wait.h"
#include "verify/check.h"

enum { ROUNDS = 2000 };

struct gate {
    struct hr_atom32 abort;
    struct {
        struct hr_atom64 count;
        struct hr_bell bell;
    } side[2];
};

struct goal {
    const struct gate *gate;
    size_t side;
    uint64_t count;
};

static bool is_reached(void *arg)
{
    const struct goal *goal = arg;
    /* partner: the store in play */
    return hr_atom64_load_acquire(&goal->gate->side[goal->side].count) >= goal->count;
}

/* Side 0 begins. */
static enum hr_status play(struct gate *gate, size_t side, uint64_t *missed)
{
    struct hr_waiter waiter = {.abort = &gate->abort, .timeout_ns = 60 * HR_NS_PER_SECOND};
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        struct goal goal = {gate, 1 - side, side ? round : round - 1};
        HR_TRY(hr_wait_until(&waiter, &gate->side[goal.side].bell, is_reached, &goal, "its turn"));
        hr_atom64_store_release(&gate->side[side].count, round); /* partner: is_reached */
        hr_bell_ring(&gate->side[side].bell);
    }
    *missed = waiter.missed;
    return HR_OK;
}

static _Noreturn void play_apart(struct gate *gate)
{
    uint64_t missed;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    _exit(play(gate, 1, &missed) == HR_OK ? 0 : 1);
}

/* Asleep for 50 ms though it was rung: on a busy machine now and then, of a lost ring always. */
static enum hr_status judge(uint64_t missed)
{
    return missed <= ROUNDS / 20
               ? HR_OK
               : hr_fail(HR_E_FAILED, "in %llu of %d rounds a parked process was not woken",
                         (unsigned long long)missed, ROUNDS);
}

static enum hr_status run(struct hr_trial *trial)
{
    struct hr_segment segment;
    uint64_t missed = 0;
    HR_TRY(hr_segment_create(sizeof(struct gate), false, &segment));
    const pid_t child = fork();
    if (child == 0)
        play_apart(segment.base);
    enum hr_status status =
        child > 0 ? play(segment.base, 0, &missed) : hr_fail_errno(HR_E_NOMEM, "no second process");
    if (status == HR_E_TIMEOUT)
        status = hr_fail(HR_E_FAILED, "a parked process was not woken within 60 s");
    if (child > 0 && status != HR_OK)
        kill(child, SIGKILL);
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
        continue;
    hr_segment_destroy(&segment);
    trial->compared += ROUNDS;
    return status == HR_OK ? judge(missed) : status;
}

const struct hr_check hr_check_parking = {
    .name = "parking",
    .claim = "who waits is woken",
    .story = "Two processes hand a word to and fro 2,000 times and park on a futex in between; at "
             "most 1 in 20 wakes by itself after 50 ms.",
    .what = "rounds",
    .run = run,
};
