#include "drive/rest.h"

#include "server/server.h"

struct round {
    const struct hr_rest *rest;
    uint32_t number;
};

/* Rounds only grow. A worker is awaited in the next one, too; a server, which rests only when it is
 * recalled, is not: the workers may have gone through another before it looks. */
static bool has_passed(void *arg)
{
    const struct round *round = arg;
    const struct hr_roster *roster = &round->rest->control->roster;
    const uint32_t rounds = hr_atom32_load_acquire(&roster->rounds); /* partner: release */
    return (int32_t)(rounds - round->number) >= 0;
}

bool hr_rest_is_over(const struct hr_rest *rest)
{
    return hr_atom32_load_acquire(&rest->control->roster.over); /* partner: hr_roster_end */
}

static bool is_welcome(void *arg)
{
    const struct hr_rest *rest = arg;
    return !hr_roster_is_gone(rest->control, rest->rank) || hr_rest_is_over(rest);
}

void hr_rest_open(struct hr_rest *rest, struct hr_control *control, struct hr_waiter *waiter,
                  size_t rank)
{
    *rest = (struct hr_rest){
        .control = control,
        .waiter = waiter,
        .rank = rank,
        .term = hr_atom32_load_acquire(&control->roster.term),      /* partner: begin_term */
        .recalls = hr_atom32_load_acquire(&control->roster.called), /* partner: begin_term */
    };
    waiter->recall = &control->roster.recall;
    waiter->recall_seen = rest->recalls;
}

static void say_stage(const struct hr_rest *rest, enum hr_rest_stage stage)
{
    /* Partner: the launcher, which reads it behind `rest`, or by itself of one that joins. */
    hr_atom32_store_release(&rest->control->rank[rest->rank].stage, stage);
}

/* Waiting for all is not waiting for a loss: no recall ends it, for whoever rests is recalled. */
static enum hr_status wait_for(struct hr_rest *rest, hr_ready_fn ready, void *arg)
{
    const struct hr_atom32 *recall = rest->waiter->recall;
    rest->waiter->recall = NULL;
    const enum hr_status status = hr_wait_until(rest->waiter, &rest->control->rank[rest->rank].bell,
                                                ready, arg, "all others to come to rest");
    rest->waiter->recall = recall;
    return status;
}

enum hr_status hr_rest_at(struct hr_rest *rest, enum hr_rest_stage stage)
{
    const struct hr_roster *roster = &rest->control->roster;
    struct round round = {rest, hr_atom32_load_acquire(&roster->rounds) + 1};
    say_stage(rest, stage);
    hr_atom32_store_release(&rest->control->rank[rest->rank].rest, round.number); /* partner: the
                                                                                     launcher */
    hr_bell_ring(&rest->control->launcher_bell);
    HR_TRY(wait_for(rest, has_passed, &round));
    const uint32_t term = hr_atom32_load_relaxed(&roster->term); /* published by rounds */
    const uint32_t recalls = hr_atom32_load_relaxed(&roster->called);
    rest->waiter->recall_seen = recalls;
    if (term == rest->term)
        return HR_OK;
    rest->recalled = recalls != rest->recalls;
    rest->begins = hr_atom32_load_relaxed(&roster->begins);
    rest->recalls = recalls;
    rest->term = term;
    rest->new_term = true;
    return hr_fail(HR_E_RECALLED, "a new term has begun");
}

enum hr_status hr_rest_join(struct hr_rest *rest, bool *over)
{
    say_stage(rest, HR_STAGE_JOINS);
    hr_bell_ring(&rest->control->launcher_bell);
    HR_TRY(wait_for(rest, is_welcome, rest));
    *over = hr_roster_is_gone(rest->control, rest->rank);
    return HR_OK;
}

bool hr_rest_may_join(void *arg)
{
    struct hr_worker *nobody = arg;
    return hr_server_may_join(nobody) || hr_roster_recalls(nobody->shared->control);
}
