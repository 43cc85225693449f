/* Ranks whose process is stopped, and that a timeout is put down to them. And a run of which nobody
 * runs (Ctrl-Z, kill -STOP of all, docker pause): its clock stands still.
 *
 *   One word, shared by the run's processes, holds when somebody has last read the clock, and how
 *   long it has stood still. The launcher reads it every 50 ms, whatever the ranks do. Whoever
 *   finds that nobody did for PAUSE was stopped with all the others, and books that time; all of
 *   them read the word before the clock, so that no time runs backwards.
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shm/control.h"
#include "shm/process.h"

bool hr_control_stopped(const struct hr_control *control, size_t rank, char *text, size_t size)
{
    const struct hr_rank_status *line = &control->rank[rank];
    const long pid = (long)hr_atom64_load_acquire(&line->pid); /* partner: who starts the rank */
    if (!pid || pid == (long)getpid() ||
        hr_atom32_load_acquire(&line->result) != HR_RUNNING || /* partner: the rank, at its end */
        !hr_process_is_stopped(pid))
        return false;
    snprintf(text, size, "pid %ld is stopped, while %s", pid,
             hr_phase_str((enum hr_phase)hr_atom32_load_relaxed(&line->phase)));
    return true;
}

void hr_control_blame_stopped(const struct hr_control *control, struct hr_failure *failure,
                              const char *message)
{
    const uint32_t waiter = failure->rank;
    char said[240] = "", text[100];
    size_t used = 0;
    for (uint32_t r = 0; r < control->nranks && used < sizeof said / 2; r++) {
        if (!hr_control_stopped(control, r, text, sizeof text))
            continue;
        if (used)
            used += (size_t)snprintf(said + used, sizeof said - used, "; rank %u: %s", r, text);
        else
            used = (size_t)snprintf(said, sizeof said, "%s", text);
        failure->rank = failure->rank == waiter ? r : failure->rank;
    }
    if (used && waiter < control->nranks)
        snprintf(failure->message, sizeof failure->message, "%s; rank %u %s", said, waiter,
                 message);
    else if (used)
        snprintf(failure->message, sizeof failure->message, "%s; %s", said, message);
}

/* --- a run that stands still --- */

/* Times in units of 17 ms: the clock's low 32 bits of them below, and what it stood still above. */
enum { UNIT_BITS = 24, PAUSE = 30 };

static struct standstill {
    struct hr_atom64 word;  /* read and written by all; it orders nothing else */
    struct hr_atom32 begun; /* runs that go on, of the process that made it */
} * standstill;             /* of that process and its children; never unmapped */
static pid_t maker;
static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;

static int64_t stood_ns(uint64_t word)
{
    return (int64_t)(word >> 32 << UNIT_BITS);
}

static int64_t clock_of_run(clockid_t clock)
{
    uint64_t seen = hr_atom64_load_acquire(&standstill->word);
    const int64_t own = hr_clock_read(clock);
    const uint32_t now = (uint32_t)(own >> UNIT_BITS);
    while (hr_atom32_load_relaxed(&standstill->begun)) { /* partner: hr_standstill_begin */
        const int32_t passed = (int32_t)(now - (uint32_t)seen);
        const uint64_t stood = (seen >> 32) + (passed > PAUSE ? (uint64_t)passed - 1 : 0);
        const uint64_t next = stood << 32 | now;
        if (passed <= 0)
            break;
        if (hr_atom64_replace_acq_rel(&standstill->word, seen, next))
            return own - stood_ns(next);
        if (passed <= PAUSE) /* what another has booked since came behind this time */
            break;
        seen = hr_atom64_load_acquire(&standstill->word);
    }
    return own - stood_ns(seen);
}

void hr_standstill_begin(void)
{
    pthread_mutex_lock(&making);
    if (maker != getpid()) { /* a child has a clock of its own, which goes on as its parent's did */
        struct standstill *own =
            mmap(NULL, sizeof *own, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (own != MAP_FAILED) { /* else its clock is the machine's, or its parent's */
            const uint64_t stood =
                standstill ? hr_atom64_load_acquire(&standstill->word) >> 32 << 32 : 0;
            hr_atom64_store_release(&own->word, stood);
            standstill = own;
            maker = getpid();
        }
    }
    if (maker == getpid() && !hr_atom32_load_relaxed(&standstill->begun)) {
        const uint64_t word = hr_atom64_load_acquire(&standstill->word);
        hr_atom64_store_release(&standstill->word, /* nobody was asked to read it until now */
                                word >> 32 << 32 | (uint32_t)(hr_clock_own_ns() >> UNIT_BITS));
        hr_clock_of_run = clock_of_run;
    }
    if (maker == getpid())
        hr_atom32_fetch_add_release(&standstill->begun, 1);
    pthread_mutex_unlock(&making);
}

void hr_standstill_end(void)
{
    if (maker == getpid())
        hr_atom32_fetch_add_release(&standstill->begun, UINT32_MAX);
}
