#include "shm/control.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

size_t hr_control_bytes(size_t nranks)
{
    return sizeof(struct hr_control) +
           nranks * (sizeof(struct hr_rank_status) + sizeof(struct hr_flight));
}

struct hr_flight *hr_control_flight(struct hr_control *control, size_t rank)
{
    HR_ASSERT(rank < control->nranks);
    return (struct hr_flight *)(void *)&control->rank[control->nranks] + rank;
}

void hr_control_init(struct hr_control *control, size_t nranks)
{
    HR_ASSERT((uintptr_t)control % HR_LINE == 0);
    memcpy(control->magic, "HOGRING", 8);
    control->version = HR_CONTROL_VERSION;
    control->nranks = (uint32_t)nranks;
    control->launcher_pid = (uint64_t)getpid();
    hr_about_fill(&control->about);
    hr_control_publish_clock(control);
    hr_course_store(&control->course.train_loss, NAN);
    hr_course_store(&control->course.loss, NAN);
    hr_course_store(&control->course.accuracy, NAN);
}

void hr_control_place(struct hr_control *control, size_t rank, const char *host)
{
    HR_ASSERT(rank < control->nranks);
    snprintf(control->rank[rank].host, sizeof control->rank[rank].host, "%s", host);
}

bool hr_control_is_elsewhere(const struct hr_control *control, size_t rank)
{
    return control->rank[rank].host[0];
}

struct hr_rank_text hr_control_rank_text(const struct hr_control *control, size_t rank)
{
    struct hr_rank_text said;
    const char *host = control->rank[rank].host;
    snprintf(said.text, sizeof said.text, "rank %zu%s%s%s", rank, host[0] ? " (on " : "", host,
             host[0] ? ")" : "");
    return said;
}

bool hr_control_claim(struct hr_control *control, size_t rank)
{
    /* Relaxed: it only says who writes the record; `abort` publishes the record. */
    return hr_atom32_replace_relaxed(&control->abort_claimed, 0, (uint32_t)rank + 1);
}

/* Has this rank claimed the record and not published it? Asked by the rank itself, or after its
 * death, so both words are up to date where the answer can be yes. */
static bool owes(const struct hr_control *control, size_t rank)
{
    return hr_atom32_load_relaxed(&control->abort_claimed) == rank + 1 && /* partner: claim */
           !hr_atom32_load_relaxed(&control->abort);                      /* partner: abort */
}

void hr_control_abort(struct hr_control *control, size_t rank, enum hr_status status,
                      const char *message)
{
    if (!hr_control_claim(control, rank) && !owes(control, rank))
        return;
    control->failure.status = status;
    control->failure.rank = (uint32_t)rank;
    snprintf(control->failure.message, sizeof control->failure.message, "%s", message);
    if (status == HR_E_TIMEOUT)
        hr_control_blame_stopped(control, &control->failure, message);
    hr_atom32_store_release(&control->abort, 1); /* partner: every wait, hr_control_failure */
    hr_abort_wake(&control->abort);
    for (size_t r = 0; r < control->nranks; r++)
        hr_bell_ring(&control->rank[r].bell);
    hr_bell_ring(&control->launcher_bell);
}

enum hr_status hr_control_failure(const struct hr_control *control)
{
    if (!hr_atom32_load_acquire(&control->abort)) /* partner: hr_control_abort */
        return HR_OK;
    const struct hr_failure *failure = &control->failure;
    if (failure->rank >= control->nranks)
        return hr_fail(failure->status, "%s", failure->message);
    const uint64_t step = hr_atom64_load_relaxed(&control->rank[failure->rank].step);
    const struct hr_rank_text who = hr_control_rank_text(control, failure->rank);
    if (!step) /* ranks that only communicate count none */
        return hr_fail(failure->status, "%s: %s", who.text, failure->message);
    return hr_fail(failure->status, "%s, step %llu: %s", who.text, (unsigned long long)step,
                   failure->message);
}
