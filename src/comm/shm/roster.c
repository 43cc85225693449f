#include "shm/roster.h"

#include "shm/control.h"

uint32_t hr_roster_lost(const struct hr_control *control, size_t rank)
{
    return hr_atom32_load_acquire(&control->rank[rank].presence.lost); /* partner: lose */
}

bool hr_roster_is_gone(const struct hr_control *control, size_t rank)
{
    const struct hr_presence *presence = &control->rank[rank].presence;
    return hr_atom32_load_acquire(&presence->lost) != hr_atom32_load_acquire(&presence->back);
}

bool hr_roster_is_revoked(const struct hr_control *control)
{
    const struct hr_roster *roster = &control->roster;
    return hr_atom32_load_acquire(&roster->revoke) != /* partners: changed, begin_term */
           hr_atom32_load_acquire(&roster->called);
}

static void add_one(struct hr_atom32 *word)
{
    hr_atom32_store_release(word, hr_atom32_load_relaxed(word) + 1); /* the launcher's own */
}

static void ring_all(struct hr_control *control)
{
    hr_abort_wake(&control->roster.revoke);
    for (size_t r = 0; r < control->nranks; r++)
        hr_bell_ring(&control->rank[r].bell);
}

static void changed(struct hr_control *control, bool revoke)
{
    add_one(&control->roster.view);
    if (revoke)
        add_one(&control->roster.revoke);
    ring_all(control);
}

/* A rank that died quiescent is not so when it is back. Relaxed: it is dead, its word is ours.
 * */
static void forget_quiescence(struct hr_control *control, size_t rank)
{
    hr_atom32_store_relaxed(&control->rank[rank].quiescent,
                            hr_atom32_load_relaxed(&control->roster.rounds));
}

void hr_roster_lose(struct hr_control *control, size_t rank, bool revoke)
{
    forget_quiescence(control, rank);
    add_one(&control->rank[rank].presence.lost);
    changed(control, revoke);
}

void hr_roster_welcome(struct hr_control *control, size_t rank)
{
    struct hr_presence *presence = &control->rank[rank].presence;
    hr_atom32_store_release(&presence->back, hr_atom32_load_relaxed(&presence->lost));
    changed(control, false);
}

void hr_roster_end(struct hr_control *control)
{
    hr_atom32_store_release(&control->roster.over, 1); /* partner: who would join */
    ring_all(control);
}

bool hr_roster_is_quiescent(const struct hr_control *control, size_t rank)
{
    const uint32_t rounds = hr_atom32_load_relaxed(&control->roster.rounds); /* our own */
    return hr_atom32_load_acquire(&control->rank[rank].quiescent) ==
           rounds + 1; /* partner: quiesce */
}

void hr_roster_begin_term(struct hr_control *control, uint32_t called, bool begins)
{
    add_one(&control->roster.term);
    hr_atom32_store_relaxed(&control->roster.called, called);
    hr_atom32_store_relaxed(&control->roster.begins, begins);
    hr_roster_release(control);
}

void hr_roster_release(struct hr_control *control)
{
    add_one(&control->roster.rounds);
    ring_all(control);
}
